//! What the product is about, as plain values and pure rules. Nothing here reads a clock, a file or a socket.

pub mod actor;
pub mod approval;
pub mod bot;
pub mod card;
pub mod interaction;
pub mod message;
pub mod object;
pub mod power;
pub mod reasoning;
pub mod receipt;
pub mod reply;
pub mod run;
pub mod settings;
pub mod tap;
pub mod task;

//! The host: builds the loops from their parts, owns every task, and lets in the CLI.

pub mod build;
pub mod deeds;
pub mod hand;
pub mod lock;
pub mod report;
pub mod socket;
pub mod supervise;

//! Small things that every room stands on: ids, time, hashes, secrets, text, money, waking and stopping.

pub mod bell;
pub mod clock;
pub mod crash;
pub mod entropy;
pub mod failure;
pub mod hash;
pub mod ids;
pub mod money;
pub mod redact;
pub mod secret;
pub mod split;
pub mod stop;
pub mod text;

//! Relay: makes Discord look like the ledger. Mirrors show the latest state; outbox rows are said once.

pub mod cards;
pub mod split;

//! discord-os: Discord is the screen, this program is the computer, a phone is the remote.
//!
//! The ledger is in the middle. Three loops stand around it and never call each other:
//!
//! ```text
//!    taps, messages, CLI                 claims queued work,
//!          │                             reports what happened
//!  Discord ──▶ INTAKE ── decide ──▶ ┌────────┐ ◀──▶ WORK ──▶ compute backends
//!     ▲        (one transaction)    │ LEDGER │
//!     │                             └────────┘
//!     └────────── RELAY ◀── mirrors (latest state) and outbox (each fact once)
//! ```
//!
//! Rooms, from the ground up. Imports go down only (`tests/architecture.rs`):
//!
//! | level | rooms |
//! |---|---|
//! | 8 | [`cli`] |
//! | 7 | [`host`] |
//! | 5 | [`intake`] |
//! | 4 | [`verbs`] · [`work`] · [`relay`] |
//! | 3 | [`objects`] · [`sim`] |
//! | 2 | [`discord`] · [`ledger`] · [`compute`] · [`vault`] · [`config`] |
//! | 1 | [`model`] · [`exec`] |
//! | 0 | [`base`] |

pub mod base;
pub mod cli;
pub mod compute;
pub mod config;
pub mod discord;
pub mod exec;
pub mod host;
pub mod intake;
pub mod ledger;
pub mod model;
pub mod objects;
pub mod relay;
pub mod sim;
pub mod vault;
pub mod verbs;
pub mod work;

//! The integration tests: one binary, one module a subject.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod backend_contract;
mod discord_contract;
mod exec;
mod gateway;
mod gateway_sim;
mod intake;
mod intake_sim;
mod relay;
mod rest;
mod sim;
mod stub;

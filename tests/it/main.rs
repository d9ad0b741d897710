//! The integration tests: one binary, one module a subject.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::disallowed_methods, reason = "tests start the real binary, with the environment of the runner")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they counted")]

mod agent;
mod attack;
mod backend_contract;
mod cli;
mod crash;
mod desk;
mod discord_contract;
mod docs;
mod doors;
mod exec;
mod faults;
mod gateway;
mod gateway_sim;
mod intake;
mod intake_sim;
mod matrix;
mod phone;
mod relay;
mod rest;
mod secrets;
mod sim;
mod socket;
mod story;
mod stub;
mod truth;

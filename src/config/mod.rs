//! Settings: defaults < `config.toml` < `.env` < environment < flags. The only reader of the environment.

pub mod dotenv;
mod layers;
pub mod names;
pub mod settings;
pub mod workspace;

use std::ffi::OsString;

pub use layers::Source;
pub use settings::{Ask, Loaded, Shown, load};

/// Folder for the files of a run, as its backend was told (DESIGN 6). Asked by the agents that this program is itself.
#[allow(clippy::disallowed_methods, reason = "the one room that reads the environment")]
pub fn run_artifacts() -> Option<OsString> {
    std::env::var_os("DISCORD_OS_ARTIFACTS")
}

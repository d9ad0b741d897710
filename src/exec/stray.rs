//! Leaves a process behind on purpose, so that a test or the fake backend can show that it is found.

use std::io;
use std::process::{Command, Stdio};

/// Starts `sleep SECONDS` as an orphan in a session of its own, the hardest kind to find. Needs
/// `sh` and `setsid`, which every Linux has.
///
/// # Errors
/// When the shell cannot be started or fails.
#[allow(clippy::disallowed_methods, reason = "a child that a run leaves behind on purpose")]
pub fn leave(seconds: u32) -> io::Result<()> {
    let script = format!("setsid sleep {seconds} </dev/null >/dev/null 2>&1 &");
    let status = Command::new("sh").arg("-c").arg(script).stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("the shell failed")) }
}

//! The program: parse, run, exit code.

use std::process::ExitCode;

#[allow(clippy::disallowed_methods, reason = "a child's contract with its parent, not a setting")]
fn main() -> ExitCode {
    let code = match std::env::args_os().nth(1).as_ref().and_then(|word| word.to_str()) {
        Some("warden") => discord_os::exec::warden::main(),
        Some("demo-agent") => discord_os::compute::demo_agent::main(std::env::var_os("DISCORD_OS_ARTIFACTS")),
        Some("fake-agent") => discord_os::compute::fake_agent::main(std::env::var_os("DISCORD_OS_ARTIFACTS")),
        _ => 2,
    };
    ExitCode::from(code)
}

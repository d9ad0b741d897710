//! The program: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    discord_os::cli::main(std::env::args_os())
}

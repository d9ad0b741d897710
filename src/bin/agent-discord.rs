//! The same program under the name that the Python program had.

use std::process::ExitCode;

fn main() -> ExitCode {
    discord_os::cli::main(std::env::args_os())
}

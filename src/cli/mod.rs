//! The command line: argument parsing and printing, one file per command.

pub mod args;
pub mod bootstrap;
pub mod check;
pub mod config;
pub mod demo;
pub mod follow;
pub mod get;
pub mod host;
pub mod invite;
pub mod jobs;
mod log;
pub mod ls;
pub mod pair;
pub mod print;
pub mod put;
pub mod run;
pub mod signals;
pub mod sim;
pub mod spend;
pub mod status;
pub mod wire;
pub mod world;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::base::failure::Failure;
use crate::compute::{demo_agent, fake_agent};
use crate::exec::warden;

use args::{Cli, Command};
use print::Out;
use wire::Shell;

/// Runs a command line and gives its exit code (docs/cli.md).
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // What the host starts of itself is no command for people: nothing is parsed, and no thread is made.
    match args.get(1).and_then(|word| word.to_str()) {
        Some("warden") => return warden::main().into(),
        Some("demo-agent") => return demo_agent::main(crate::config::run_artifacts()).into(),
        Some("fake-agent") => return fake_agent::main(crate::config::run_artifacts()).into(),
        _ => {}
    }
    let as_json = args.iter().any(|word| word == "--json");
    match Cli::try_parse_from(args) {
        Ok(cli) => run(cli),
        Err(error) => refuse(&error, as_json),
    }
}

/// Help and version are results; the rest is wrong usage, which is told like every other failure.
fn refuse(error: &clap::Error, as_json: bool) -> ExitCode {
    let shown = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let good = shown && error.exit_code() == 0;
    if good || !as_json {
        return match error.print() {
            Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => print::unheard(&why),
            _ if good => ExitCode::SUCCESS,
            _ => ExitCode::from(2),
        };
    }
    if shown {
        let failure = Failure::usage("No command is given.").hint("`discord-os help` lists them.");
        return print::end(Err(failure), true);
    }
    let text = error.to_string();
    // What is missing stands on lines of its own, up to an empty one.
    let first: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    let first = first.trim_start_matches("error: ").trim_end_matches('.');
    let failure = Failure::usage(format!("{first}.")).hint("`discord-os help` tells what can be said.");
    print::end(Err(failure), true)
}

fn run(cli: Cli) -> ExitCode {
    log::start(&cli.global);
    let as_json = cli.global.json;
    // Both ring and aws-lc could be linked in one day; naming one decides. A second call would be a bug of ours.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed already");
    }
    let shell = Shell::new(cli.global);
    // Commands that only read the ledger need no runtime, and answer in a few milliseconds.
    let result = match &cli.command {
        Command::Status(args) => status::run(&shell, args),
        Command::Config(args) => config::run(&shell, args),
        Command::Invite(args) => invite::run(&shell, args),
        command => in_runtime(&shell, command),
    };
    print::end(result, as_json)
}

fn in_runtime(shell: &Shell, command: &Command) -> Result<Out, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| {
        Failure::failed(format!("Threads cannot be started: {e}.")).hint("Check the limits of this session (ulimit).")
    })?;
    let _full = runtime.block_on(async { signals::outgrow() });
    // Boxed: each command's future is large, and only one of them runs.
    let result = runtime.block_on(Box::pin(dispatch(shell, command)));
    // A blocking read of a terminal must not keep the process from ending.
    runtime.shutdown_background();
    result
}

async fn dispatch(shell: &Shell, command: &Command) -> Result<Out, Failure> {
    match command {
        Command::Demo(args) => demo::run(shell, args).await,
        Command::Run(args) => run::run(shell, args).await,
        Command::Host(args) => host::run(shell, args).await,
        Command::Put(args) => put::run(shell, args).await,
        Command::Get(args) => get::run(shell, args).await,
        Command::Jobs(args) => jobs::run(shell, args).await,
        Command::Spend(args) => spend::run(shell, args).await,
        Command::Pair(args) => pair::run(shell, args).await,
        Command::Bootstrap(args) => bootstrap::run(shell, args).await,
        Command::Check(args) => check::run(shell, args).await,
        Command::Sim(args) => sim::run(shell, args).await,
        Command::Ls(args) => ls::run(shell, args).await,
        Command::Status(args) => status::run(shell, args),
        Command::Config(args) => config::run(shell, args),
        Command::Invite(args) => invite::run(shell, args),
    }
}

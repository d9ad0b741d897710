//! `status`: tell how the host is.

use clap::Args;
use serde_json::json;

use super::print::{Out, table};
use super::wire::{Shell, reader};
use crate::base::failure::Failure;
use crate::base::ids::BotKey;
use crate::host::hand::BOT;
use crate::host::{lock, report};
use crate::vault;

/// Tell how the host is. Reads the ledger alone and waits for nobody.
#[derive(Debug, Args)]
pub struct Status {
    /// Of the simulator's workspace.
    #[arg(long)]
    pub fake: bool,
}

/// Does it.
pub fn run(shell: &Shell, args: &Status) -> Result<Out, Failure> {
    let loaded = shell.load(args.fake, vec![])?;
    let pid = lock::holder(loaded.workspace.root()).map(|holder| holder.pid);
    let known = vault::known_host(loaded.workspace.root())?;
    let status = match (known, reader(&loaded)?) {
        (Some(host), Some(ledger)) => {
            ledger.read_now(|read| report::status(read, &host, &BotKey(BOT.to_owned()), pid))?
        }
        _ => report::nothing(pid),
    };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let running = pid.map_or_else(|| "not running".to_owned(), |pid| format!("running (process {pid})"));
    let halted = if status.halted { ", halted" } else { "" };
    let jobs = &status.jobs;
    let mut rows = vec![
        row("host", running),
        row("power", format!("{}{halted}", status.power.as_str())),
        row(
            "discord",
            status.link.why.clone().map_or_else(|| status.link.state.into(), |w| format!("{}: {w}", status.link.state)),
        ),
        row("jobs", format!("{} live, {} queued, {} waiting", jobs.live, jobs.queued, jobs.waiting)),
        row("missed", status.missed.to_string()),
        row("unsent", format!("{} held, {} failed", status.held, status.failed)),
        row("people", status.people.to_string()),
    ];
    if let Some(spend) = &status.spend {
        let about = if spend.estimated { " (estimated)" } else { "" };
        rows.push(row("spent", format!("${:.2} of ${:.2}{about}", spend.spent_usd, spend.cap_usd)));
    }
    Ok(Out::new(json!(status), table(&rows)))
}

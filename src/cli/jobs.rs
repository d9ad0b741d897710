//! `jobs`: list them, show one, cancel it or run it again.

use std::sync::Arc;

use clap::Subcommand;
use serde_json::json;

use super::print::{Out, cell, table};
use super::wire::{Shell, reader};
use crate::base::failure::{Failure, Kind};
use crate::base::ids::{RunId, TaskCode};
use crate::config::Loaded;
use crate::host::deeds::{Deed, Done};
use crate::host::hand::{Hand, unexpected};
use crate::host::report;
use crate::ledger::{Ledger, runs, tasks};
use crate::verbs::{Outcome, Verb};

/// Most jobs that are listed (I-17).
const MOST: u64 = 1000;

/// List jobs, show one, cancel it or run it again.
#[derive(Debug, Subcommand)]
pub enum Jobs {
    /// List the newest jobs.
    List {
        /// Most jobs to list.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=MOST))]
        limit: u64,
        /// Of the simulator's workspace.
        #[arg(long)]
        fake: bool,
    },
    /// Show the newest run of a job.
    Show(One),
    /// End a job's run.
    Cancel(One),
    /// Run a job again.
    Retry(One),
}

/// One job.
#[derive(Debug, clap::Args)]
pub struct One {
    /// Code, such as DOS-12.
    pub code: TaskCode,
    /// Of the simulator's workspace.
    #[arg(long)]
    pub fake: bool,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Jobs) -> Result<Out, Failure> {
    match args {
        Jobs::List { limit, fake } => list(&shell.load(*fake, vec![])?, *limit as usize),
        Jobs::Show(one) => show(&shell.load(one.fake, vec![])?, one.code),
        Jobs::Cancel(one) => order(shell, one, |run| Verb::Cancel { run }).await,
        Jobs::Retry(one) => order(shell, one, |run| Verb::Retry { run }).await,
    }
}

fn list(loaded: &Loaded, most: usize) -> Result<Out, Failure> {
    let Some(ledger) = reader(loaded)? else { return Ok(Out::new(json!([]), "")) };
    let found = ledger.read_now(|read| {
        let tasks = tasks::recent(read, most)?;
        tasks.into_iter().map(|task| Ok((runs::latest(read, &task.id)?, task))).collect::<Result<Vec<_>, _>>()
    })?;
    let json: Vec<_> = found
        .iter()
        .map(|(run, task)| {
            json!({ "task_id": task.id, "code": task.code, "text": task.text, "asker": task.asker_name,
                    "created_at": task.at.rfc3339(), "run_id": run.as_ref().map(|run| &run.id),
                    "status": run.as_ref().map(|run| run.state) })
        })
        .collect();
    let rows = found.iter().map(|(run, task)| {
        let state = run.as_ref().map_or("-", |run| run.state.as_str());
        vec![task.code.to_string(), state.to_owned(), crate::base::text::cut(&cell(&task.text), 60)]
    });
    Ok(Out::new(json!(json), table(&rows.collect::<Vec<_>>())))
}

fn find(ledger: Option<Ledger>, code: TaskCode) -> Result<(Ledger, RunId), Failure> {
    let missing = || Failure::not_found(format!("There is no job {code}.")).hint("`discord-os jobs list` lists them.");
    let ledger = ledger.ok_or_else(missing)?;
    let run = ledger.read_now(|read| report::newest_of(read, code))?.ok_or_else(missing)?;
    Ok((ledger, run))
}

fn show(loaded: &Loaded, code: TaskCode) -> Result<Out, Failure> {
    let (ledger, run) = find(reader(loaded)?, code)?;
    let run = ledger.read_now(|read| report::run(read, &run))?;
    let run = run.ok_or_else(|| Failure::new(Kind::Integrity, format!("{code} has no run.")))?;
    let human = super::follow::receipt(&run);
    Ok(Out::new(json!(run), human))
}

async fn order(shell: &Shell, one: &One, verb: impl FnOnce(RunId) -> Verb) -> Result<Out, Failure> {
    let loaded = shell.load(one.fake, vec![])?;
    let (ledger, run) = find(reader(&loaded)?, one.code)?;
    let task = ledger.read_now(|read| tasks::by_code(read, one.code))?;
    let task = task.ok_or_else(|| Failure::not_found(format!("There is no job {}.", one.code)))?;
    let hand = Hand::on(&loaded, Arc::clone(&shell.clock), Arc::clone(&shell.entropy)).await?;
    let deed = Deed::Order { verb: verb(run), channel: task.thread.unwrap_or(task.channel), guild: task.guild };
    match hand.perform(deed).await? {
        Done::Order { outcome: Outcome::Done, text, about } => {
            Ok(Out::new(json!({ "outcome": "done", "text": text, "run_id": about.map(|a| a.run) }), text))
        }
        Done::Order { outcome: Outcome::Unknown, text, .. } => {
            Err(Failure::not_found(text).hint("`discord-os jobs list` lists them."))
        }
        Done::Order { text, .. } => Err(Failure::refused(text).hint(super::run::CARD)),
        other => Err(unexpected(&other)),
    }
}

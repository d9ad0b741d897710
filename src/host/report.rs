//! What the CLI tells about the host and its jobs, read from the ledger in one snapshot. The shapes are in docs/json.md.

use serde::Serialize;

use crate::base::ids::{BotKey, HostId, RunId, TaskCode};
use crate::base::money::MicroUsd;
use crate::ledger::views::{self, HostView, LinkState};
use crate::ledger::{self, Read, objects, runs, spend, tasks};
use crate::model::message::jump_url;
use crate::model::object::ObjectJson;
use crate::model::power::Power;
use crate::model::receipt::{Basis, MoneyJson, RunJson};

/// The host, as `status` shows it.
#[derive(Debug, Serialize)]
pub struct StatusJson {
    /// Whether its process runs.
    pub running: bool,
    /// Which.
    pub pid: Option<i32>,
    /// Host id; none before its first start.
    pub host_id: Option<HostId>,
    /// Power.
    pub power: Power,
    /// Whether new work is halted.
    pub halted: bool,
    /// Connection to Discord.
    pub link: LinkJson,
    /// Jobs.
    pub jobs: JobsJson,
    /// Orders that came late or while off, and wait.
    pub missed: usize,
    /// Posts that may or may not have been sent, and are held.
    pub held: usize,
    /// Posts that could not be sent.
    pub failed: usize,
    /// Money.
    pub spend: Option<SpendJson>,
    /// Paired people.
    pub people: usize,
}

/// The connection.
#[derive(Debug, Serialize)]
pub struct LinkJson {
    /// `down`, `connecting`, `up` or `fatal`.
    pub state: &'static str,
    /// Why it is not up.
    pub why: Option<String>,
    /// Last heartbeat, in coarse steps; RFC 3339.
    pub heartbeat_at: Option<String>,
}

/// Jobs by what they are doing.
#[derive(Debug, Default, Serialize)]
pub struct JobsJson {
    /// Live.
    pub live: usize,
    /// Queued.
    pub queued: usize,
    /// Waiting for a yes.
    pub waiting: usize,
}

/// The open meter.
#[derive(Debug, Serialize)]
pub struct SpendJson {
    /// Spent and settled.
    pub spent_usd: f64,
    /// Reserved by runs that have not settled.
    pub reserved_usd: f64,
    /// Cap.
    pub cap_usd: f64,
    /// Whether some of it is only estimated or unknown.
    pub estimated: bool,
}

impl From<&spend::Meter> for SpendJson {
    fn from(meter: &spend::Meter) -> Self {
        Self {
            spent_usd: meter.spent.as_f64(),
            reserved_usd: meter.reserved.as_f64(),
            cap_usd: meter.cap.as_f64(),
            estimated: meter.estimated,
        }
    }
}

/// The status of a workspace. `pid` is the host's process, where one runs.
///
/// # Errors
/// The ledger's own.
pub fn status(read: &Read<'_>, host: &HostId, bot: &BotKey, pid: Option<i32>) -> ledger::Result<StatusJson> {
    let view = views::host_view(read, host, bot)?;
    Ok(view.map_or_else(|| nothing(pid), |view| told(&view, pid)))
}

/// The status of a workspace in which nothing has happened yet.
pub fn nothing(pid: Option<i32>) -> StatusJson {
    StatusJson {
        running: pid.is_some(),
        pid,
        host_id: None,
        power: Power::Off,
        halted: false,
        link: LinkJson { state: "down", why: None, heartbeat_at: None },
        jobs: JobsJson::default(),
        missed: 0,
        held: 0,
        failed: 0,
        spend: None,
        people: 0,
    }
}

fn told(view: &HostView, pid: Option<i32>) -> StatusJson {
    // What the ledger says of the connection was true when its host ended.
    let state = match (pid, view.link.state) {
        (None, LinkState::Fatal) | (Some(_), LinkState::Fatal) => "fatal",
        (None, _) | (_, LinkState::Down) => "down",
        (_, LinkState::Connecting) => "connecting",
        (_, LinkState::Up) => "up",
    };
    let counts = view.counts;
    StatusJson {
        running: pid.is_some(),
        pid,
        host_id: Some(view.host.clone()),
        power: view.power,
        halted: view.halt.is_some(),
        link: LinkJson {
            state,
            why: view.link.why.clone(),
            heartbeat_at: view.link.heartbeat.map(crate::base::clock::Millis::rfc3339),
        },
        jobs: JobsJson { live: counts.live, queued: counts.queued, waiting: counts.waiting },
        missed: view.missed,
        held: view.held,
        failed: view.failed,
        spend: view.meter.as_ref().map(SpendJson::from),
        people: view.people.len(),
    }
}

/// A run, as `run` and `jobs` show it. `None`: there is no such run.
///
/// # Errors
/// The ledger's own.
pub fn run(read: &Read<'_>, id: &RunId) -> ledger::Result<Option<RunJson>> {
    let Some(run) = runs::get(read, id)? else { return Ok(None) };
    let Some(task) = tasks::get(read, &run.task)? else { return Ok(None) };
    // Nothing was reserved, so nothing was started and nothing can have been spent.
    let (amount, basis) = spend::of_run(read, id)?.unwrap_or((MicroUsd(0), Basis::Exact));
    let artifacts = objects::of_run(read, id)?;
    Ok(Some(RunJson {
        task_id: task.id,
        run_id: run.id,
        code: task.code,
        status: run.state,
        summary: run.summary,
        error: run.error,
        usage: run.usage,
        money: MoneyJson { amount_usd: amount.as_f64(), basis },
        artifacts: artifacts.iter().map(ObjectJson::from).collect(),
        // The asking message: its thread hangs on it, with the card inside.
        jump_url: task.ask_message.map(|message| jump_url(task.guild, task.channel, message)),
    }))
}

/// The newest run of a job by the code that people see.
///
/// # Errors
/// The ledger's own.
pub fn newest_of(read: &Read<'_>, code: TaskCode) -> ledger::Result<Option<RunId>> {
    let Some(task) = tasks::by_code(read, code)? else { return Ok(None) };
    Ok(runs::latest(read, &task.id)?.map(|run| run.id))
}

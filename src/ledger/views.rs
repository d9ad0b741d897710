//! Views: what cards show, each read in one snapshot. Everything here is found by an index.

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, runs, spend, steps, tasks};
use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{ApprovalId, BotKey, ChannelId, GuildId, HostId, MessageId, RunId, TaskCode, TaskId, UserId};
use crate::base::money::MicroUsd;
use crate::model::actor::Role;
use crate::model::object::ObjectKind;
use crate::model::power::Power;
use crate::model::receipt::Basis;
use crate::model::run::RunState;

/// Jobs that the HOST card offers; a phone shows about as many without scrolling.
pub const RECENT: usize = 10;

/// People that the HOST card names; more are counted.
pub const PEOPLE: usize = 12;

/// Steps that a job card shows.
pub const STEPS: usize = 5;

/// Artifacts that a card or receipt can name; more are counted by the reader of the thread.
pub const ARTIFACTS: usize = 25;

/// Earlier turns that a card names.
pub const TURNS: usize = 8;

/// Steps of time on the HOST card, in milliseconds: so that heartbeats alone do not change the card.
const COARSE: i64 = 5 * 60 * 1000;

/// The start of the step of time that holds `at`. Whoever records a heartbeat or a last message touches the HOST
/// cards only when this changes.
pub fn coarse(at: Millis) -> Millis {
    Millis(at.0.div_euclid(COARSE) * COARSE)
}

/// State of the connection to Discord, as the ledger keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Not connected.
    Down,
    /// Trying.
    Connecting,
    /// Connected.
    Up,
    /// Ended for good.
    Fatal,
}

/// The connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkView {
    /// State.
    pub state: LinkState,
    /// Why it is not up: a sentence.
    pub why: Option<String>,
    /// Last heartbeat, in [`coarse`] steps.
    pub heartbeat: Option<Millis>,
    /// Last message that was heard, in [`coarse`] steps.
    pub last_message: Option<Millis>,
}

/// Jobs by what they are doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Live.
    pub live: usize,
    /// Queued.
    pub queued: usize,
    /// Waiting for a yes.
    pub waiting: usize,
}

/// A paired person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Account.
    pub user: UserId,
    /// Role.
    pub role: Role,
    /// Name, where it was heard.
    pub name: Option<String>,
}

/// A recent job, a line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLine {
    /// Its newest run.
    pub run: RunId,
    /// Code.
    pub code: TaskCode,
    /// What was asked.
    pub text: String,
    /// State of that run.
    pub state: RunState,
}

/// The halt latch, where it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Actor label of who halted.
    pub by: Option<String>,
    /// When.
    pub at: Option<Millis>,
}

/// What the HOST card shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    /// The host.
    pub host: HostId,
    /// Power.
    pub power: Power,
    /// Actor label of who set it.
    pub power_by: String,
    /// Why, where a reason was given.
    pub power_why: Option<String>,
    /// Since when.
    pub power_at: Millis,
    /// The halt, if there is one.
    pub halt: Option<Halt>,
    /// Connection.
    pub link: LinkView,
    /// Jobs.
    pub counts: Counts,
    /// Orders that came late or while off, and wait.
    pub missed: usize,
    /// Posts that may or may not have been sent, and are held.
    pub held: usize,
    /// Money.
    pub meter: Option<spend::Meter>,
    /// Paired people, owner first; at most [`PEOPLE`].
    pub people: Vec<Person>,
    /// Newest jobs first; at most [`RECENT`].
    pub jobs: Vec<JobLine>,
}

const HOST: &str = "SELECT h.power, h.power_by, h.power_why, h.power_at, h.halted, h.halted_by, h.halted_at,
    b.link, b.link_why, b.link_at, b.last_message_at
    FROM hosts h LEFT JOIN bots b ON b.bot_key = ?2 WHERE h.host_id = ?1";

const COUNTS: &str = "SELECT state, count(*) FROM runs WHERE host_id = ?1
    AND state IN ('waiting', 'queued', 'claimed', 'started', 'cancelling', 'finishing') GROUP BY state";

const MISSED: &str = "SELECT count(*) FROM inbox WHERE bot_key = ?1 AND state = 'held'";

const HELD: &str = "SELECT count(*) FROM outbox WHERE bot_key = ?1 AND state = 'held'";

const PAIRED: &str = "SELECT user_id, role, name FROM people WHERE bot_key = ?1
    ORDER BY role <> 'owner', at, user_id LIMIT ?2";

const JOBS: &str = "SELECT r.run_id, t.code, t.text, r.state FROM tasks t
    JOIN runs r ON r.task_id = t.task_id AND r.turn = (SELECT max(turn) FROM runs WHERE task_id = t.task_id)
    WHERE t.bot_key = ?1 ORDER BY t.at DESC, t.rowid DESC LIMIT ?2";

/// What the HOST card of a host shows through a bot; `None` before the host is recorded.
pub fn host_view(read: &Read<'_>, host: &HostId, bot: &BotKey) -> Result<Option<HostView>> {
    let found = read.db.prepare_cached(HOST)?.query_row(params![host.as_str(), bot.as_str()], host_row).optional()?;
    let Some((power, link, view)) = found else { return Ok(None) };
    let counted = |sql: &str| -> Result<usize> {
        let n: i64 = read.db.prepare_cached(sql)?.query_row(params![bot.as_str()], |row| row.get(0))?;
        Ok(n as usize)
    };
    Ok(Some(HostView {
        host: host.clone(),
        power: Power::parse(&power).ok_or_else(|| corrupt("power", &power))?,
        link: LinkView { state: link_state(link.as_deref())?, ..view.link },
        counts: counts(read, host)?,
        missed: counted(MISSED)?,
        held: counted(HELD)?,
        meter: spend::meter(read, host)?,
        people: people(read, bot)?,
        jobs: jobs(read, bot)?,
        ..view
    }))
}

fn host_row(row: &Row<'_>) -> rusqlite::Result<(String, Option<String>, HostView)> {
    let time = |at: Option<i64>| at.map(Millis);
    let halted: bool = row.get(4)?;
    let halt = Halt { by: row.get(5)?, at: time(row.get(6)?) };
    let view = HostView {
        host: HostId(String::new()),
        power: Power::Off,
        power_by: row.get(1)?,
        power_why: row.get(2)?,
        power_at: Millis(row.get(3)?),
        halt: halted.then_some(halt),
        link: LinkView {
            state: LinkState::Down,
            why: row.get(8)?,
            heartbeat: time(row.get(9)?).map(coarse),
            last_message: time(row.get(10)?).map(coarse),
        },
        counts: Counts::default(),
        missed: 0,
        held: 0,
        meter: None,
        people: Vec::new(),
        jobs: Vec::new(),
    };
    Ok((row.get(0)?, row.get(7)?, view))
}

fn link_state(text: Option<&str>) -> Result<LinkState> {
    match text {
        None | Some("down") => Ok(LinkState::Down),
        Some("connecting") => Ok(LinkState::Connecting),
        Some("up") => Ok(LinkState::Up),
        Some("fatal") => Ok(LinkState::Fatal),
        Some(other) => Err(corrupt("link", other)),
    }
}

fn counts(read: &Read<'_>, host: &HostId) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut found = read.db.prepare_cached(COUNTS)?;
    let rows = found.query_map(params![host.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    for row in rows {
        let (state, n) = row?;
        match run_state(&state)? {
            RunState::Waiting => counts.waiting += n as usize,
            RunState::Queued => counts.queued += n as usize,
            _ => counts.live += n as usize,
        }
    }
    Ok(counts)
}

fn people(read: &Read<'_>, bot: &BotKey) -> Result<Vec<Person>> {
    let mut found = read.db.prepare_cached(PAIRED)?;
    let rows = found.query_map(params![bot.as_str(), PEOPLE as i64], |row| {
        Ok((UserId::from_sql(row.get(0)?), row.get::<_, String>(1)?, row.get(2)?))
    })?;
    rows.map(|row| {
        let (user, role, name) = row?;
        Ok(Person { user, role: Role::parse(&role).ok_or_else(|| corrupt("role", &role))?, name })
    })
    .collect()
}

fn jobs(read: &Read<'_>, bot: &BotKey) -> Result<Vec<JobLine>> {
    let mut found = read.db.prepare_cached(JOBS)?;
    let rows = found.query_map(params![bot.as_str(), RECENT as i64], |row| {
        Ok((RunId(row.get(0)?), TaskCode(row.get(1)?), row.get(2)?, row.get::<_, String>(3)?))
    })?;
    rows.map(|row| {
        let (run, code, text, state) = row?;
        Ok(JobLine { run, code, text, state: run_state(&state)? })
    })
    .collect()
}

/// An approval that nobody decided yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// Id.
    pub id: ApprovalId,
    /// Digest of its action; custom ids are bound to it.
    pub digest: Sha256,
    /// What would be done.
    pub action: String,
}

/// Money of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Reserved before it started.
    pub reserved: MicroUsd,
    /// Spent; 0 until settled.
    pub spent: MicroUsd,
    /// How it is known.
    pub basis: Basis,
    /// Whether it is settled.
    pub settled: bool,
}

/// Something that a run made: where it lies, never a link to its bytes (I-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// True name.
    pub name: String,
    /// Kind.
    pub kind: ObjectKind,
    /// Bytes.
    pub size: u64,
    /// Guild, where there is one.
    pub guild: Option<GuildId>,
    /// Channel or thread.
    pub channel: ChannelId,
    /// Message.
    pub message: MessageId,
}

/// What a job card, or a receipt, shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// The task.
    pub task: tasks::Task,
    /// The run: the newest one for a card, the one it is about for a receipt.
    pub run: runs::Run,
    /// Its last steps, oldest first; at most [`STEPS`].
    pub steps: Vec<String>,
    /// The approval that it waits for.
    pub approval: Option<PendingApproval>,
    /// Its money.
    pub cost: Option<Cost>,
    /// What it made; at most [`ARTIFACTS`].
    pub artifacts: Vec<Artifact>,
    /// Turns before it, newest first; at most [`TURNS`].
    pub earlier: Vec<(u32, RunState)>,
}

const APPROVAL: &str =
    "SELECT approval_id, digest, action FROM approvals WHERE run_id = ?1 AND state = 'pending' LIMIT 1";

const COST: &str = "SELECT reserved, spent, basis, settled FROM spend WHERE run_id = ?1";

const MADE: &str = "SELECT name, kind, size, guild_id, channel_id, message_id FROM objects WHERE run_id = ?1
    ORDER BY rowid LIMIT ?2";

const EARLIER: &str = "SELECT turn, state FROM runs WHERE task_id = ?1 AND turn < ?2 ORDER BY turn DESC LIMIT ?3";

/// What the job card of a task shows; `None` for a task that is not there or has no run yet.
pub fn job_view(read: &Read<'_>, task: &TaskId) -> Result<Option<JobView>> {
    let Some(run) = runs::latest(read, task)? else { return Ok(None) };
    view_of(read, run)
}

/// What the receipt of a run shows; `None` for a run that is not there.
pub fn receipt_view(read: &Read<'_>, run: &RunId) -> Result<Option<JobView>> {
    let Some(run) = runs::get(read, run)? else { return Ok(None) };
    view_of(read, run)
}

fn view_of(read: &Read<'_>, run: runs::Run) -> Result<Option<JobView>> {
    let Some(task) = tasks::get(read, &run.task)? else { return Ok(None) };
    Ok(Some(JobView {
        steps: steps::last(read, &run.id, STEPS)?,
        approval: approval(read, &run.id)?,
        cost: cost(read, &run.id)?,
        artifacts: artifacts(read, &run.id)?,
        earlier: earlier(read, &run)?,
        task,
        run,
    }))
}

fn approval(read: &Read<'_>, run: &RunId) -> Result<Option<PendingApproval>> {
    let found: Option<(String, String, String)> = read
        .db
        .prepare_cached(APPROVAL)?
        .query_row(params![run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((id, digest, action)) = found else { return Ok(None) };
    let digest = digest.parse().map_err(|_| corrupt("digest", &digest))?;
    Ok(Some(PendingApproval { id: ApprovalId(id), digest, action }))
}

fn cost(read: &Read<'_>, run: &RunId) -> Result<Option<Cost>> {
    let found: Option<(i64, i64, String, bool)> = read
        .db
        .prepare_cached(COST)?
        .query_row(params![run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((reserved, spent, basis, settled)) = found else { return Ok(None) };
    let basis = Basis::parse(&basis).ok_or_else(|| corrupt("basis", &basis))?;
    Ok(Some(Cost { reserved: MicroUsd(reserved), spent: MicroUsd(spent), basis, settled }))
}

fn artifacts(read: &Read<'_>, run: &RunId) -> Result<Vec<Artifact>> {
    let mut found = read.db.prepare_cached(MADE)?;
    let rows = found.query_map(params![run.as_str(), ARTIFACTS as i64], |row| {
        let artifact = Artifact {
            name: row.get(0)?,
            kind: ObjectKind::Blob,
            size: row.get::<_, i64>(2)? as u64,
            guild: row.get::<_, Option<i64>>(3)?.map(GuildId::from_sql),
            channel: ChannelId::from_sql(row.get(4)?),
            message: MessageId::from_sql(row.get(5)?),
        };
        Ok((row.get::<_, String>(1)?, artifact))
    })?;
    rows.map(|row| {
        let (kind, artifact) = row?;
        Ok(Artifact { kind: ObjectKind::parse(&kind).ok_or_else(|| corrupt("kind", &kind))?, ..artifact })
    })
    .collect()
}

fn earlier(read: &Read<'_>, run: &runs::Run) -> Result<Vec<(u32, RunState)>> {
    let mut found = read.db.prepare_cached(EARLIER)?;
    let rows = found.query_map(params![run.task.as_str(), run.turn, TURNS as i64], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?))
    })?;
    rows.map(|row| row.map_err(LedgerError::from).and_then(|(turn, state)| Ok((turn, run_state(&state)?)))).collect()
}

fn run_state(text: &str) -> Result<RunState> {
    RunState::parse(text).ok_or_else(|| corrupt("run state", text))
}

fn corrupt(what: &str, text: &str) -> LedgerError {
    LedgerError::Corrupt(format!("{what} {text:?}"))
}

#[cfg(test)]
mod tests;

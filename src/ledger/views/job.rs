//! What a job card, or a receipt, shows.

use rusqlite::{OptionalExtension, params};

use super::{corrupt, run_state};
use crate::base::hash::Sha256;
use crate::base::ids::{ApprovalId, ChannelId, GuildId, MessageId, RunId, TaskId};
use crate::base::money::MicroUsd;
use crate::ledger::{LedgerError, Read, Result, runs, steps, tasks};
use crate::model::object::ObjectKind;
use crate::model::receipt::Basis;
use crate::model::run::RunState;

/// Steps that a job card shows.
pub const STEPS: usize = 5;

/// Artifacts that a card or receipt can name; more are counted by the reader of the thread.
pub const ARTIFACTS: usize = 25;

/// Earlier turns that a card names.
pub const TURNS: usize = 8;

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

pub(super) const APPROVAL: &str =
    "SELECT approval_id, digest, action FROM approvals WHERE run_id = ?1 AND state = 'pending' LIMIT 1";

pub(super) const COST: &str = "SELECT reserved, spent, basis, settled FROM spend WHERE run_id = ?1";

pub(super) const MADE: &str = "SELECT name, kind, size, guild_id, channel_id, message_id FROM objects WHERE run_id = ?1
    ORDER BY rowid LIMIT ?2";

pub(super) const EARLIER: &str =
    "SELECT turn, state FROM runs WHERE task_id = ?1 AND turn < ?2 ORDER BY turn DESC LIMIT ?3";

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

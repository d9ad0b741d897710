//! Runs: attempts at tasks. Their state changes through [`apply`] alone (I-6).

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write, mirrors, outbox};
use crate::base::clock::Millis;
use crate::base::ids::{HostId, RunId, TaskId};
use crate::exec::ProcessId;
use crate::model::receipt::Usage;
use crate::model::run::{self, RunEvent, RunState};

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Id.
    pub id: RunId,
    /// Task it is a turn of.
    pub task: TaskId,
    /// 1 for the first attempt.
    pub turn: u32,
    /// What the backend is told.
    pub prompt: String,
    /// Name of the backend.
    pub backend: String,
    /// State.
    pub state: RunState,
    /// Host that it belongs to.
    pub host: HostId,
    /// Mark that its processes carry.
    pub mark: String,
    /// Its warden, once recorded.
    pub warden: Option<ProcessId>,
    /// What keeps it from the machine; `None`: nothing.
    pub confinement: Option<String>,
    /// Tail of what it said so far.
    pub answer: String,
    /// What it said at the end.
    pub summary: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Tokens and model.
    pub usage: Usage,
    /// Processes that had to be ended.
    pub ended_processes: Option<u32>,
    /// Who cancelled it.
    pub cancel_by: Option<String>,
    /// When it was made.
    pub created: Millis,
    /// When it was told to go.
    pub started: Option<Millis>,
    /// When it ended.
    pub ended: Option<Millis>,
}

/// What makes a run.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Id.
    pub id: RunId,
    /// Task.
    pub task: TaskId,
    /// What the backend is told.
    pub prompt: String,
    /// Name of the backend.
    pub backend: String,
    /// [`RunState::Waiting`] or [`RunState::Queued`].
    pub state: RunState,
    /// Host.
    pub host: HostId,
    /// Mark for its processes, unique.
    pub mark: String,
}

/// Records a run as the next turn of its task. Gives its turn.
pub fn create(tx: &Write<'_>, new: &NewRun, now: Millis) -> Result<u32> {
    let turn: u32 = tx.db.query_row(
        "SELECT coalesce(max(turn), 0) + 1 FROM runs WHERE task_id = ?1",
        params![new.task.as_str()],
        |row| row.get(0),
    )?;
    tx.db.execute(
        "INSERT INTO runs (run_id, task_id, turn, prompt, backend, state, host_id, mark, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            new.id.as_str(),
            new.task.as_str(),
            turn,
            new.prompt,
            new.backend,
            new.state.as_str(),
            new.host.as_str(),
            new.mark,
            now.0
        ],
    )?;
    touch(tx, &new.id)?;
    Ok(turn)
}

/// Moves a run on, or says that it cannot. Cards that show it are marked. A run that ends gets its receipt, once.
///
/// # Errors
/// [`LedgerError::Illegal`] where the state takes no such event; nothing is changed then.
pub fn apply(tx: &Write<'_>, id: &RunId, event: RunEvent, now: Millis) -> Result<RunState> {
    let state = state(tx, id)?.ok_or_else(|| LedgerError::Corrupt(format!("there is no run {id}")))?;
    let next = run::next(state, event)?;
    let stamp = match next {
        RunState::Claimed => "claimed_at = ?3",
        RunState::Started => "started_at = ?3",
        RunState::Queued => "claimed_at = NULL, created_at = coalesce(created_at, ?3)",
        RunState::Finishing => "ended_at = ?3",
        _ if next.ended() => "ended_at = coalesce(ended_at, ?3)",
        _ => "created_at = coalesce(created_at, ?3)",
    };
    let sql = format!("UPDATE runs SET state = ?2, {stamp} WHERE run_id = ?1");
    tx.db.prepare_cached(&sql)?.execute(params![id.as_str(), next.as_str(), now.0])?;
    if next.ended() {
        // Nobody may decide any more on what will not happen (I-7).
        tx.db.execute(
            "UPDATE approvals SET state = 'lapsed' WHERE run_id = ?1 AND state = 'pending'",
            params![id.as_str()],
        )?;
        // Whoever ends a run owes its receipt in the same transaction, so that none is forgotten.
        outbox::receipt(tx, id, now)?;
    }
    touch(tx, id)?;
    Ok(next)
}

/// Marks every card that shows the run.
pub fn touch(tx: &Write<'_>, id: &RunId) -> Result<()> {
    let task: String =
        tx.db.query_row("SELECT task_id FROM runs WHERE run_id = ?1", params![id.as_str()], |row| row.get(0))?;
    mirrors::touch_job(tx, &TaskId(task))?;
    mirrors::touch_hosts(tx)
}

/// State of a run.
pub fn state(read: &Read<'_>, id: &RunId) -> Result<Option<RunState>> {
    let text: Option<String> = read
        .db
        .query_row("SELECT state FROM runs WHERE run_id = ?1", params![id.as_str()], |row| row.get(0))
        .optional()?;
    text.map(|t| parse(&t)).transpose()
}

fn parse(text: &str) -> Result<RunState> {
    RunState::parse(text).ok_or_else(|| LedgerError::Corrupt(format!("run state {text:?}")))
}

const COLUMNS: &str = "run_id, task_id, turn, prompt, backend, state, host_id, mark, warden_pid, warden_start,
    confinement, answer, summary, error, model, input_tokens, output_tokens, ended_processes, cancel_by,
    created_at, started_at, ended_at";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Run, String)> {
    let pid: Option<i32> = row.get(8)?;
    let start: Option<i64> = row.get(9)?;
    let run = Run {
        id: RunId(row.get(0)?),
        task: TaskId(row.get(1)?),
        turn: row.get(2)?,
        prompt: row.get(3)?,
        backend: row.get(4)?,
        state: RunState::Queued,
        host: HostId(row.get(6)?),
        mark: row.get(7)?,
        warden: pid.zip(start).map(|(pid, start)| ProcessId { pid, start: start as u64 }),
        confinement: row.get(10)?,
        answer: row.get(11)?,
        summary: row.get(12)?,
        error: row.get(13)?,
        usage: Usage {
            model: row.get(14)?,
            input_tokens: row.get::<_, Option<i64>>(15)?.map(|n| n as u64),
            output_tokens: row.get::<_, Option<i64>>(16)?.map(|n| n as u64),
        },
        ended_processes: row.get(17)?,
        cancel_by: row.get(18)?,
        created: Millis(row.get(19)?),
        started: row.get::<_, Option<i64>>(20)?.map(Millis),
        ended: row.get::<_, Option<i64>>(21)?.map(Millis),
    };
    Ok((run, row.get(5)?))
}

fn finish((run, state): (Run, String)) -> Result<Run> {
    Ok(Run { state: parse(&state)?, ..run })
}

/// A run by id.
pub fn get(read: &Read<'_>, id: &RunId) -> Result<Option<Run>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE run_id = ?1");
    read.db.prepare_cached(&sql)?.query_row(params![id.as_str()], from_row).optional()?.map(finish).transpose()
}

/// The newest run of a task.
pub fn latest(read: &Read<'_>, task: &TaskId) -> Result<Option<Run>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE task_id = ?1 ORDER BY turn DESC LIMIT 1");
    read.db.prepare_cached(&sql)?.query_row(params![task.as_str()], from_row).optional()?.map(finish).transpose()
}

/// Runs of a host in a state, oldest first.
pub fn in_state(read: &Read<'_>, host: &HostId, state: RunState, most: usize) -> Result<Vec<Run>> {
    let sql =
        format!("SELECT {COLUMNS} FROM runs WHERE host_id = ?1 AND state = ?2 ORDER BY created_at, rowid LIMIT ?3");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![host.as_str(), state.as_str(), most as i64], from_row)?;
    rows.map(|row| finish(row?)).collect()
}

/// Live runs of a host (I-17).
pub fn count_live(read: &Read<'_>, host: &HostId) -> Result<usize> {
    let sql =
        "SELECT count(*) FROM runs WHERE host_id = ?1 AND state IN ('claimed', 'started', 'cancelling', 'finishing')";
    let n: i64 = read.db.prepare_cached(sql)?.query_row(params![host.as_str()], |row| row.get(0))?;
    Ok(n as usize)
}

/// Records the warden before anything starts: a claimed run becomes started.
pub fn record_warden(tx: &Write<'_>, id: &RunId, warden: ProcessId, now: Millis) -> Result<RunState> {
    tx.db.execute(
        "UPDATE runs SET warden_pid = ?2, warden_start = ?3 WHERE run_id = ?1",
        params![id.as_str(), warden.pid, warden.start as i64],
    )?;
    apply(tx, id, RunEvent::Record, now)
}

/// Asks for the end of a run, in whatever state it can be ended. Gives the new state.
///
/// # Errors
/// [`LedgerError::Illegal`] where it has ended.
pub fn cancel(tx: &Write<'_>, id: &RunId, by: &str, now: Millis) -> Result<RunState> {
    let next = apply(tx, id, RunEvent::Cancel, now)?;
    tx.db.execute("UPDATE runs SET cancel_by = ?2 WHERE run_id = ?1", params![id.as_str(), by])?;
    Ok(next)
}

/// What a run told since the last time: replaces the tail of its answer.
pub fn set_answer(tx: &Write<'_>, id: &RunId, answer: &str) -> Result<()> {
    tx.db.prepare_cached("UPDATE runs SET answer = ?2 WHERE run_id = ?1")?.execute(params![id.as_str(), answer])?;
    touch(tx, id)
}

/// What a run left behind, besides its state.
#[derive(Debug, Clone, Default)]
pub struct Left {
    /// What it said at the end.
    pub summary: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Processes that had to be ended.
    pub ended_processes: Option<u32>,
}

/// Records what a run left behind.
pub fn leave(tx: &Write<'_>, id: &RunId, left: &Left) -> Result<()> {
    tx.db.execute(
        "UPDATE runs SET summary = coalesce(?2, summary), error = coalesce(?3, error),
                ended_processes = coalesce(?4, ended_processes) WHERE run_id = ?1",
        params![id.as_str(), left.summary, left.error, left.ended_processes],
    )?;
    Ok(())
}

/// Records tokens and model.
pub fn set_usage(tx: &Write<'_>, id: &RunId, usage: &Usage) -> Result<()> {
    tx.db.execute(
        "UPDATE runs SET model = coalesce(?2, model), input_tokens = coalesce(?3, input_tokens),
                output_tokens = coalesce(?4, output_tokens) WHERE run_id = ?1",
        params![id.as_str(), usage.model, usage.input_tokens.map(|n| n as i64), usage.output_tokens.map(|n| n as i64)],
    )?;
    Ok(())
}

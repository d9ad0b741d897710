//! Views: what cards show, each read in one snapshot. Everything here is found by an index.

mod job;

use rusqlite::{OptionalExtension, Row, params};

use super::people::Subject;
use super::{LedgerError, Read, Result, spend};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, HostId, RoleId, RunId, TaskCode, UserId};
use crate::model::actor::Role;
use crate::model::power::Power;
use crate::model::run::RunState;
pub use job::{ARTIFACTS, Artifact, Cost, JobView, PendingApproval, STEPS, TURNS, job_view, receipt_view};

/// Jobs that the HOST card offers; a phone shows about as many without scrolling.
pub const RECENT: usize = 10;

/// People that the HOST card names; more are counted.
pub const PEOPLE: usize = 12;

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
    /// Why it is not up, or what it lacks: a sentence.
    pub why: Option<String>,
    /// Last heartbeat that was noted; the ledger keeps it in coarse steps.
    pub heartbeat: Option<Millis>,
    /// Last message that was heard; the ledger keeps it in coarse steps.
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
    /// Whom the row names.
    pub subject: Subject,
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
    /// Posts that could not be sent.
    pub failed: usize,
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

const FAILED: &str = "SELECT count(*) FROM outbox WHERE bot_key = ?1 AND state = 'failed'";

const PAIRED: &str = "SELECT user_id, role, name, kind FROM people WHERE bot_key = ?1
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
        failed: counted(FAILED)?,
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
            heartbeat: time(row.get(9)?),
            last_message: time(row.get(10)?),
        },
        counts: Counts::default(),
        missed: 0,
        held: 0,
        failed: 0,
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
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get::<_, String>(3)?))
    })?;
    rows.map(|row| {
        let (id, role, name, kind) = row?;
        let one = kind == "user";
        let subject = if one { Subject::User(UserId::from_sql(id)) } else { Subject::GuildRole(RoleId::from_sql(id)) };
        Ok(Person { subject, role: Role::parse(&role).ok_or_else(|| corrupt("role", &role))?, name })
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

fn run_state(text: &str) -> Result<RunState> {
    RunState::parse(text).ok_or_else(|| corrupt("run state", text))
}

fn corrupt(what: &str, text: &str) -> LedgerError {
    LedgerError::Corrupt(format!("{what} {text:?}"))
}

#[cfg(test)]
mod tests;

/// How much is still to be shown on Discord: mirrors that lag, sayings and errands that are due or will be.
pub fn to_show(read: &Read<'_>, bot: &BotKey) -> Result<usize> {
    let sql =
        "SELECT (SELECT count(*) FROM mirrors WHERE bot_key = ?1 AND shown_rev < wanted_rev AND state <> 'closed')
                   + (SELECT count(*) FROM outbox WHERE bot_key = ?1 AND state IN ('queued', 'sending'))
                   + (SELECT count(*) FROM errands WHERE state = 'due')";
    let n: i64 = read.db.prepare_cached(sql)?.query_row(params![bot.as_str()], |row| row.get(0))?;
    Ok(n as usize)
}

//! Mirrors: Discord messages that reflect state. Whoever changes a subject raises the revision that is wanted; relay
//! renders the view, edits when the hash differs, and notes the revision that it showed (I-13).

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, HostId, MessageId, MirrorId, TaskId};

/// Wants a HOST card in a channel. One that is there already is touched.
pub fn want_host(tx: &Write<'_>, bot: &BotKey, host: &HostId, channel: ChannelId) -> Result<()> {
    want(tx, bot, "host", host.as_str(), ("channel", &channel.to_string()))
}

/// Wants a job card in the task's thread.
pub fn want_job(tx: &Write<'_>, bot: &BotKey, task: &TaskId) -> Result<()> {
    want(tx, bot, "job", task.as_str(), ("thread", task.as_str()))
}

fn want(tx: &Write<'_>, bot: &BotKey, kind: &str, subject: &str, target: (&str, &str)) -> Result<()> {
    // The nonce is short (Discord takes 25 characters) and the same after a crash: it names the row's own random id.
    tx.db.execute(
        "INSERT INTO mirrors (bot_key, kind, subject, target_kind, target_id, state, nonce)
         VALUES (?1, ?2, ?3, ?4, ?5, 'wanted', 'm' || lower(hex(randomblob(11))))
         ON CONFLICT (bot_key, kind, subject, copy) DO UPDATE SET wanted_rev = wanted_rev + 1",
        params![bot.as_str(), kind, subject, target.0, target.1],
    )?;
    Ok(())
}

pub(super) const TOUCHES: [&str; 2] = [
    "UPDATE mirrors SET wanted_rev = wanted_rev + 1 WHERE kind = 'host' AND state <> 'closed'",
    "UPDATE mirrors SET wanted_rev = wanted_rev + 1 WHERE kind = 'job' AND subject = ?1 AND state <> 'closed'",
];

/// The HOST cards show something that changed.
pub fn touch_hosts(tx: &Write<'_>) -> Result<()> {
    tx.db.prepare_cached(TOUCHES[0])?.execute([])?;
    Ok(())
}

/// The job cards of a task show something that changed.
pub fn touch_job(tx: &Write<'_>, task: &TaskId) -> Result<()> {
    tx.db.prepare_cached(TOUCHES[1])?.execute(params![task.as_str()])?;
    Ok(())
}

/// What a mirror reflects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A host, on its HOST card.
    Host(HostId),
    /// A task, on its job card.
    Job(TaskId),
}

/// How far a mirror has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorState {
    /// There is no message yet.
    Wanted,
    /// A first post was about to be sent; whether it was is to be looked up.
    Posting,
    /// Its message is there.
    Shown,
}

/// A mirror that is not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Row.
    pub id: MirrorId,
    /// What it reflects.
    pub subject: Subject,
    /// How far it has come.
    pub state: MirrorState,
    /// Where it stands, or would stand now; `None` while its thread is not open.
    pub channel: Option<ChannelId>,
    /// Its message.
    pub message: Option<MessageId>,
    /// Hash of what its message says.
    pub shown_hash: Option<String>,
    /// Nonce of its first post.
    pub nonce: String,
    /// When that post was begun, where it was.
    pub posting_at: Option<Millis>,
    /// Revision that is wanted.
    pub wanted_rev: i64,
    /// Revision that is shown.
    pub shown_rev: i64,
    /// Tries that failed since the last success.
    pub tries: u32,
}

/// A thread that could not be opened leaves what was meant for it to the channel of the ask.
const FROM: &str = "SELECT m.mirror_id, m.kind, m.subject, m.state, m.message_id, m.shown_hash, m.nonce, m.wanted_rev,
    m.shown_rev, m.tries, m.channel_id, CASE WHEN m.target_kind = 'channel' THEN CAST(m.target_id AS INTEGER)
        ELSE coalesce(t.thread_id, CASE e.state WHEN 'failed' THEN t.channel_id END) END AS place, m.posting_at
    FROM mirrors m
    LEFT JOIN tasks t ON m.target_kind = 'thread' AND t.task_id = m.target_id
    LEFT JOIN errands e ON e.kind = 'open_thread' AND e.subject = t.task_id";

pub(super) fn due_sql() -> String {
    format!(
        "{FROM} WHERE m.bot_key = ?1 AND m.shown_rev < m.wanted_rev AND m.state <> 'closed' AND m.next_at <= ?2
         AND (m.message_id IS NOT NULL OR place IS NOT NULL) ORDER BY m.next_at LIMIT ?3"
    )
}

pub(super) fn one_sql() -> String {
    format!("{FROM} WHERE m.mirror_id = ?1 AND m.state <> 'closed'")
}

pub(super) const NEXT: &str = "SELECT min(next_at) FROM mirrors
    WHERE bot_key = ?1 AND shown_rev < wanted_rev AND state <> 'closed' AND next_at > ?2";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(String, Mirror)> {
    let (kind, subject): (String, String) = (row.get(1)?, row.get(2)?);
    let message = row.get::<_, Option<i64>>(4)?.map(MessageId::from_sql);
    let stands: Option<i64> = row.get(10)?;
    let place: Option<i64> = row.get(11)?;
    let mirror = Mirror {
        id: MirrorId(row.get(0)?),
        subject: if kind == "host" { Subject::Host(HostId(subject)) } else { Subject::Job(TaskId(subject)) },
        state: MirrorState::Wanted,
        channel: if message.is_some() { stands } else { place }.map(ChannelId::from_sql),
        message,
        shown_hash: row.get(5)?,
        nonce: row.get(6)?,
        posting_at: row.get::<_, Option<i64>>(12)?.map(Millis),
        wanted_rev: row.get(7)?,
        shown_rev: row.get(8)?,
        tries: row.get(9)?,
    };
    Ok((row.get(3)?, mirror))
}

fn with_state((state, mirror): (String, Mirror)) -> Result<Mirror> {
    let state = match state.as_str() {
        "wanted" => MirrorState::Wanted,
        "posting" => MirrorState::Posting,
        "shown" => MirrorState::Shown,
        other => return Err(LedgerError::Corrupt(format!("mirror state {other:?}"))),
    };
    Ok(Mirror { state, ..mirror })
}

/// Mirrors that show an older revision than is wanted and have a place to stand, longest due first.
pub fn due(read: &Read<'_>, bot: &BotKey, now: Millis, most: usize) -> Result<Vec<Mirror>> {
    let mut found = read.db.prepare_cached(&due_sql())?;
    let rows = found.query_map(params![bot.as_str(), now.0, most as i64], from_row)?;
    rows.map(|row| with_state(row?)).collect()
}

/// A mirror by its row, unless it is closed.
pub fn get(read: &Read<'_>, id: MirrorId) -> Result<Option<Mirror>> {
    read.db.prepare_cached(&one_sql())?.query_row(params![id.0], from_row).optional()?.map(with_state).transpose()
}

/// Every mirror of a bot that is not closed. For checks and the doctor: it reads them all.
pub fn all(read: &Read<'_>, bot: &BotKey) -> Result<Vec<Mirror>> {
    let sql = format!("{FROM} WHERE m.bot_key = ?1 AND m.state <> 'closed' ORDER BY m.mirror_id");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![bot.as_str()], from_row)?;
    rows.map(|row| with_state(row?)).collect()
}

/// When the next mirror that was put off comes due.
pub fn next_at(read: &Read<'_>, bot: &BotKey, now: Millis) -> Result<Option<Millis>> {
    let at: Option<i64> = read.db.prepare_cached(NEXT)?.query_row(params![bot.as_str(), now.0], |row| row.get(0))?;
    Ok(at.map(Millis))
}

/// The first post is about to be sent, for the first time or once more.
pub fn posting(tx: &Write<'_>, id: MirrorId, channel: ChannelId, now: Millis) -> Result<()> {
    tx.db.execute(
        "UPDATE mirrors SET state = 'posting', channel_id = ?2, posting_at = min(coalesce(posting_at, ?3), ?3)
         WHERE mirror_id = ?1 AND state <> 'closed'",
        params![id.0, channel.sql(), now.0],
    )?;
    Ok(())
}

/// What a mirror's message says now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where.
    pub channel: ChannelId,
    /// Its message.
    pub message: MessageId,
    /// Hash of what it says; `None` where a message was found again and that is not known.
    pub hash: Option<String>,
    /// Revision that this is.
    pub rev: i64,
}

/// The message is there and says this.
pub fn shown(tx: &Write<'_>, id: MirrorId, shown: &Shown) -> Result<()> {
    tx.db.execute(
        "UPDATE mirrors SET state = 'shown', channel_id = ?2, message_id = ?3, shown_hash = ?4,
                shown_rev = max(shown_rev, ?5), posting_at = NULL, tries = 0, next_at = 0, why = NULL
         WHERE mirror_id = ?1 AND state <> 'closed'",
        params![id.0, shown.channel.sql(), shown.message.sql(), shown.hash, shown.rev],
    )?;
    Ok(())
}

/// Nothing of it changed up to this revision.
pub fn same(tx: &Write<'_>, id: MirrorId, rev: i64) -> Result<()> {
    tx.db.execute(
        "UPDATE mirrors SET shown_rev = max(shown_rev, ?2), tries = 0 WHERE mirror_id = ?1",
        params![id.0, rev],
    )?;
    Ok(())
}

/// Its message is gone or takes no more edits: a new one is wanted, under a new nonce.
pub fn again(tx: &Write<'_>, id: MirrorId) -> Result<()> {
    tx.db.execute(&again_sql("mirror_id = ?1"), params![id.0])?;
    Ok(())
}

/// Messages were deleted on Discord: those that were mirrors are wanted anew.
pub fn deleted(tx: &Write<'_>, channel: ChannelId, messages: &[MessageId]) -> Result<()> {
    for message in messages {
        tx.db
            .prepare_cached(&again_sql("message_id = ?1 AND channel_id = ?2"))?
            .execute(params![message.sql(), channel.sql()])?;
    }
    Ok(())
}

fn again_sql(which: &str) -> String {
    format!(
        "UPDATE mirrors SET state = 'wanted', message_id = NULL, channel_id = NULL, shown_hash = NULL, posting_at = NULL,
                nonce = 'm' || lower(hex(randomblob(11))), wanted_rev = wanted_rev + 1
         WHERE {which} AND state <> 'closed'"
    )
}

/// It did not work now; it is tried again from `next_at` on.
pub fn put_off(tx: &Write<'_>, id: MirrorId, next_at: Millis, why: &str) -> Result<()> {
    tx.db.execute(
        "UPDATE mirrors SET tries = tries + 1, next_at = ?2, why = ?3 WHERE mirror_id = ?1",
        params![id.0, next_at.0, why],
    )?;
    Ok(())
}

/// There is nowhere left to show it.
pub fn close(tx: &Write<'_>, id: MirrorId, why: &str) -> Result<()> {
    tx.db.execute("UPDATE mirrors SET state = 'closed', why = ?2 WHERE mirror_id = ?1", params![id.0, why])?;
    Ok(())
}

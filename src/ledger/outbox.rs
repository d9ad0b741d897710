//! Outbox: facts that are said once, in order for each target (I-12).

use rusqlite::{Row, params};

use super::{LedgerError, Read, Result, Write, mirrors, tasks};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, MessageId, OutboxId, RunId, TaskCode, TaskId, UserId};
use crate::model::card::Post;

/// Where a fact is said. Resolved when it is sent, since a thread may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A channel or thread that is there.
    Channel(ChannelId),
    /// The thread of a task.
    Thread(TaskId),
    /// A person's direct messages.
    Dm(UserId),
}

/// What kind of fact it is. A starter or receipt is said at most once for its subject, whoever asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Message that stands for an ask by form, so that a thread can hang on it.
    Starter(TaskId),
    /// Receipt of a run.
    Receipt(RunId),
    /// Answer to somebody's message.
    Reply,
    /// Something that people should know.
    Notice,
}

/// Records a fact to be said. Gives its row, or `None` where it was recorded before.
#[allow(clippy::too_many_arguments, reason = "the transaction is a witness, not a choice of the caller")]
pub fn say(
    tx: &Write<'_>,
    bot: &BotKey,
    target: &Target,
    said: &Said,
    post: &Post,
    now: Millis,
) -> Result<Option<OutboxId>> {
    let (target_kind, target_id) = match target {
        Target::Channel(id) => ("channel", id.to_string()),
        Target::Thread(task) => ("thread", task.to_string()),
        Target::Dm(user) => ("dm", user.to_string()),
    };
    let (kind, subject) = match said {
        Said::Starter(task) => ("starter", Some(task.to_string())),
        Said::Receipt(run) => ("receipt", Some(run.to_string())),
        Said::Reply => ("reply", None),
        Said::Notice => ("notice", None),
    };
    let body = serde_json::to_string(post).map_err(|e| LedgerError::Corrupt(e.to_string()))?;
    let sql = "INSERT INTO outbox (bot_key, target_kind, target_id, kind, subject, reply_to, body, nonce, state, at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'o' || lower(hex(randomblob(11))), 'queued', ?8)
               ON CONFLICT DO NOTHING RETURNING row_id";
    let mut insert = tx.db.prepare_cached(sql)?;
    let mut rows = insert.query(params![
        bot.as_str(),
        target_kind,
        target_id,
        kind,
        subject,
        post.reply_to.map(MessageId::sql),
        body,
        now.0
    ])?;
    let row = rows.next()?;
    Ok(row.map(|r| r.get(0)).transpose()?.map(OutboxId))
}

/// Records the receipt of a run that has ended, for its task's thread. Relay writes its text from the ledger when it
/// sends it. A second call changes nothing; a task that is never shown gets none.
pub fn receipt(tx: &Write<'_>, run: &RunId, now: Millis) -> Result<()> {
    let (bot, task, code, turn) = tx.db.query_row(
        "SELECT t.bot_key, t.task_id, t.code, r.turn FROM runs r JOIN tasks t ON t.task_id = r.task_id
         WHERE r.run_id = ?1",
        params![run.as_str()],
        |row| Ok((BotKey(row.get(0)?), TaskId(row.get(1)?), TaskCode(row.get(2)?), row.get::<_, u32>(3)?)),
    )?;
    if !tasks::is_shown(tx, &task)? {
        return Ok(());
    }
    let post = Post::text(format!("Receipt of {code}, turn {turn}."));
    say(tx, &bot, &Target::Thread(task), &Said::Receipt(run.clone()), &post, now)?;
    Ok(())
}

/// A recorded fact that is not said yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    /// Row.
    pub id: OutboxId,
    /// Where; a thread is resolved in [`Saying::channel`].
    pub target: Target,
    /// What kind of fact.
    pub said: Said,
    /// What to say, as it was recorded. A receipt is rendered when it is sent.
    pub post: Post,
    /// Nonce of its first message.
    pub nonce: String,
    /// Whether a send was begun and may have happened.
    pub begun: bool,
    /// The channel or thread; `None` for direct messages, which are resolved on Discord.
    pub channel: Option<ChannelId>,
    /// Tries that failed.
    pub tries: u32,
    /// When it was recorded.
    pub at: Millis,
}

/// The oldest open row of each target, if it is due and has a place. A thread that could not be opened leaves its
/// rows to the channel of the ask.
pub(super) const DUE: &str = "SELECT o.row_id, o.target_kind, o.target_id, o.kind, o.subject, o.body, o.nonce, o.state,
    o.tries, o.at, CASE o.target_kind WHEN 'channel' THEN CAST(o.target_id AS INTEGER)
        ELSE coalesce(t.thread_id, CASE e.state WHEN 'failed' THEN t.channel_id END) END AS place
    FROM outbox o
    LEFT JOIN tasks t ON o.target_kind = 'thread' AND t.task_id = o.target_id
    LEFT JOIN errands e ON e.kind = 'open_thread' AND e.subject = t.task_id
    WHERE o.row_id IN (SELECT min(row_id) FROM outbox WHERE bot_key = ?1 AND state IN ('queued', 'sending')
                       GROUP BY target_kind, target_id)
      AND o.next_at <= ?2 AND o.target_kind <> 'reaction' AND (o.target_kind = 'dm' OR place IS NOT NULL)
    ORDER BY o.row_id LIMIT ?3";

pub(super) const NEXT: &str =
    "SELECT min(next_at) FROM outbox WHERE bot_key = ?1 AND state IN ('queued', 'sending') AND next_at > ?2";

/// What can be said now: the oldest open row of each target, so that each target keeps its order.
pub fn due(read: &Read<'_>, bot: &BotKey, now: Millis, most: usize) -> Result<Vec<Saying>> {
    let mut found = read.db.prepare_cached(DUE)?;
    let rows = found.query_map(params![bot.as_str(), now.0, most as i64], from_row)?;
    rows.map(|row| {
        let (told, saying) = row?;
        let lacks = || LedgerError::Corrupt(format!("outbox row {} ({} {})", saying.id.0, told.kind, told.target.0));
        Ok(Saying {
            target: target(&told.target).ok_or_else(lacks)?,
            said: said(&told.kind, told.subject.as_deref()).ok_or_else(lacks)?,
            post: serde_json::from_str(&told.body).map_err(|_| lacks())?,
            ..saying
        })
    })
    .collect()
}

struct Told {
    target: (String, String),
    kind: String,
    subject: Option<String>,
    body: String,
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Told, Saying)> {
    let told = Told { target: (row.get(1)?, row.get(2)?), kind: row.get(3)?, subject: row.get(4)?, body: row.get(5)? };
    let saying = Saying {
        id: OutboxId(row.get(0)?),
        target: Target::Channel(ChannelId(0)),
        said: Said::Notice,
        post: Post::text(""),
        nonce: row.get(6)?,
        begun: row.get::<_, String>(7)? == "sending",
        channel: row.get::<_, Option<i64>>(10)?.map(ChannelId::from_sql),
        tries: row.get(8)?,
        at: Millis(row.get(9)?),
    };
    Ok((told, saying))
}

fn target((kind, id): &(String, String)) -> Option<Target> {
    match kind.as_str() {
        "channel" => id.parse().ok().map(Target::Channel),
        "thread" => Some(Target::Thread(TaskId(id.clone()))),
        "dm" => id.parse().ok().map(Target::Dm),
        _ => None,
    }
}

fn said(kind: &str, subject: Option<&str>) -> Option<Said> {
    match (kind, subject) {
        ("starter", Some(task)) => Some(Said::Starter(TaskId(task.to_owned()))),
        ("receipt", Some(run)) => Some(Said::Receipt(RunId(run.to_owned()))),
        ("reply", _) => Some(Said::Reply),
        ("notice", _) => Some(Said::Notice),
        _ => None,
    }
}

/// When the next row that was put off comes due.
pub fn next_at(read: &Read<'_>, bot: &BotKey, now: Millis) -> Result<Option<Millis>> {
    let at: Option<i64> = read.db.prepare_cached(NEXT)?.query_row(params![bot.as_str(), now.0], |row| row.get(0))?;
    Ok(at.map(Millis))
}

/// A send is about to begin.
pub fn sending(tx: &Write<'_>, id: OutboxId, channel: ChannelId) -> Result<()> {
    tx.db.execute(
        "UPDATE outbox SET state = 'sending', channel_id = ?2 WHERE row_id = ?1 AND state IN ('queued', 'sending')",
        params![id.0, channel.sql()],
    )?;
    Ok(())
}

/// It is said. A starter becomes the message that its task's thread hangs on.
pub fn sent(tx: &Write<'_>, saying: &Saying, channel: ChannelId, message: MessageId, now: Millis) -> Result<()> {
    tx.db.execute(
        "UPDATE outbox SET state = 'sent', channel_id = ?2, message_id = ?3, sent_at = ?4, why = NULL
         WHERE row_id = ?1",
        params![saying.id.0, channel.sql(), message.sql(), now.0],
    )?;
    if let Said::Starter(task) = &saying.said {
        tasks::set_ask_message(tx, task, message)?;
    }
    Ok(())
}

/// Whether it was said cannot be found out: it is kept and shown, not doubled.
pub fn held(tx: &Write<'_>, id: OutboxId, why: &str) -> Result<()> {
    close(tx, id, "held", why)
}

/// It cannot be said.
pub fn failed(tx: &Write<'_>, id: OutboxId, why: &str) -> Result<()> {
    close(tx, id, "failed", why)
}

fn close(tx: &Write<'_>, id: OutboxId, state: &str, why: &str) -> Result<()> {
    tx.db.execute("UPDATE outbox SET state = ?2, why = ?3 WHERE row_id = ?1", params![id.0, state, why])?;
    mirrors::touch_hosts(tx)
}

/// It did not work now; it is tried again from `next_at` on. `begun`: the send may have happened after all.
pub fn put_off(tx: &Write<'_>, id: OutboxId, begun: bool, next_at: Millis, why: &str) -> Result<()> {
    let state = if begun { "sending" } else { "queued" };
    tx.db.execute(
        "UPDATE outbox SET state = ?2, tries = tries + 1, next_at = ?3, why = ?4 WHERE row_id = ?1",
        params![id.0, state, next_at.0, why],
    )?;
    Ok(())
}

/// A starter that was said and then deleted by somebody is said once more, under a new nonce.
pub fn say_anew(tx: &Write<'_>, said: &Said) -> Result<()> {
    let Said::Starter(task) = said else { return Ok(()) };
    tx.db.execute(
        "UPDATE outbox SET state = 'queued', nonce = 'o' || lower(hex(randomblob(11))), tries = 0, next_at = 0
         WHERE kind = 'starter' AND subject = ?1 AND state NOT IN ('queued', 'sending')",
        params![task.as_str()],
    )?;
    Ok(())
}

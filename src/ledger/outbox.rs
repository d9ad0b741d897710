//! Outbox: facts that are said once, in order for each target (I-12).

use rusqlite::params;

use super::{Result, Write};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, MessageId, OutboxId, RunId, TaskId, UserId};
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
    let body = serde_json::to_string(post).map_err(|e| super::LedgerError::Corrupt(e.to_string()))?;
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

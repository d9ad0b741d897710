//! Inbox: every message that was heard, once (I-1).

use rusqlite::params;

use super::{Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, MessageId, UserId};
use crate::model::actor::AccountKind;

/// How a message came to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// As it was written.
    Gateway,
    /// Found by reading the channel.
    Rest,
}

impl Via {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Rest => "rest",
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It made a task or a turn.
    Acted,
    /// Kept until somebody decides.
    Held,
    /// Not meant for us.
    Ignored,
    /// Its author may not.
    Refused,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::Held => "held",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
        }
    }
}

/// A message to note.
#[derive(Debug, Clone, Copy)]
pub struct Noted {
    /// Message.
    pub message: MessageId,
    /// Where.
    pub channel: ChannelId,
    /// Who wrote it.
    pub author: UserId,
    /// What kind of account that is.
    pub kind: AccountKind,
    /// How it came.
    pub via: Via,
}

/// What became of a message, with what has to be kept of it.
#[derive(Debug, Clone, Default)]
pub struct Fate {
    /// Why, for people and for the log.
    pub why: Option<String>,
    /// Its text, kept only while it is held.
    pub text: Option<String>,
}

/// Takes a message, once: gives `false` where it was heard before (I-1). Until [`settle`], it is ignored.
pub fn take(tx: &Write<'_>, bot: &BotKey, noted: &Noted, now: Millis) -> Result<bool> {
    let sql = "INSERT INTO inbox (bot_key, message_id, channel_id, author_id, author_kind, lane, state, via, heard_at)
               VALUES (?1, ?2, ?3, ?4, ?5, 'none', 'ignored', ?6, ?7) ON CONFLICT DO NOTHING";
    let taken = tx.db.prepare_cached(sql)?.execute(params![
        bot.as_str(),
        noted.message.sql(),
        noted.channel.sql(),
        noted.author.sql(),
        noted.kind.as_str(),
        noted.via.as_str(),
        now.0
    ])?;
    Ok(taken == 1)
}

/// Records what became of a message, in the transaction that took it.
pub fn settle(tx: &Write<'_>, bot: &BotKey, message: MessageId, state: State, fate: &Fate) -> Result<()> {
    let lane = if state == State::Ignored { "none" } else { "work" };
    tx.db
        .prepare_cached(
            "UPDATE inbox SET state = ?3, lane = ?4, why = ?5, text = ?6 WHERE bot_key = ?1 AND message_id = ?2",
        )?
        .execute(params![bot.as_str(), message.sql(), state.as_str(), lane, fate.why, fate.text])?;
    if state == State::Held {
        mirrors::touch_hosts(tx)?;
    }
    Ok(())
}

/// Whether a message was heard before.
pub fn has(read: &Read<'_>, bot: &BotKey, message: MessageId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE bot_key = ?1 AND message_id = ?2)";
    Ok(read.db.prepare_cached(sql)?.query_row(params![bot.as_str(), message.sql()], |row| row.get(0))?)
}

/// Messages that wait for somebody's decision, for the HOST card.
pub fn held_count(read: &Read<'_>, bot: &BotKey) -> Result<usize> {
    let sql = "SELECT count(*) FROM inbox WHERE bot_key = ?1 AND state = 'held'";
    let n: i64 = read.db.prepare_cached(sql)?.query_row(params![bot.as_str()], |row| row.get(0))?;
    Ok(usize::try_from(n).unwrap_or(0))
}

/// Messages by state, for tests and `status`: (state, how many).
pub fn counts(read: &Read<'_>, bot: &BotKey) -> Result<Vec<(String, usize)>> {
    let mut found =
        read.db.prepare("SELECT state, count(*) FROM inbox WHERE bot_key = ?1 GROUP BY state ORDER BY state")?;
    let rows = found.query_map(params![bot.as_str()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

//! Interactions: every press, choice and form that was heard, once (I-1).
//!
//! The first answer is sent as soon as the row is there, and its token is never stored: nothing here is answered
//! later, and a token that is not kept cannot leak.

use rusqlite::params;

use super::{Result, Write};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, InteractionId, UserId};

/// An interaction to note.
#[derive(Debug, Clone, Copy)]
pub struct Noted {
    /// Id.
    pub id: InteractionId,
    /// Who did it.
    pub user: UserId,
    /// Where.
    pub channel: ChannelId,
}

/// Takes an interaction, once: gives `false` where it was heard before. Until [`settle`], it is unknown.
pub fn take(tx: &Write<'_>, bot: &BotKey, noted: &Noted, now: Millis) -> Result<bool> {
    let sql = "INSERT INTO interactions (bot_key, interaction_id, user_id, channel_id, verb, outcome, at)
               VALUES (?1, ?2, ?3, ?4, 'unknown', 'unknown', ?5) ON CONFLICT DO NOTHING";
    let taken = tx.db.prepare_cached(sql)?.execute(params![
        bot.as_str(),
        noted.id.sql(),
        noted.user.sql(),
        noted.channel.sql(),
        now.0
    ])?;
    Ok(taken == 1)
}

/// What an interaction was and how it ended.
#[derive(Debug, Clone)]
pub struct Ended<'a> {
    /// Verb of the tap.
    pub verb: &'a str,
    /// What it was about.
    pub subject: Option<&'a str>,
    /// `done`, `refused`, `stale` or `unknown`.
    pub outcome: &'static str,
}

/// Records how an interaction ended, in the transaction that took it.
pub fn settle(tx: &Write<'_>, bot: &BotKey, id: InteractionId, ended: &Ended<'_>) -> Result<()> {
    tx.db
        .prepare_cached(
            "UPDATE interactions SET verb = ?3, subject = ?4, outcome = ?5 WHERE bot_key = ?1 AND interaction_id = ?2",
        )?
        .execute(params![bot.as_str(), id.sql(), ended.verb, ended.subject, ended.outcome])?;
    Ok(())
}

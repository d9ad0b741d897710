//! Mirrors: Discord messages that reflect state. Whoever changes a subject raises the revision that is wanted; relay
//! renders the view, edits when the hash differs, and notes the revision that it showed (I-13).

use rusqlite::params;

use super::{Result, Write};
use crate::base::ids::{BotKey, ChannelId, HostId, TaskId};

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

/// The HOST cards show something that changed.
pub fn touch_hosts(tx: &Write<'_>) -> Result<()> {
    tx.db
        .prepare_cached("UPDATE mirrors SET wanted_rev = wanted_rev + 1 WHERE kind = 'host' AND state <> 'closed'")?
        .execute([])?;
    Ok(())
}

/// The job cards of a task show something that changed.
pub fn touch_job(tx: &Write<'_>, task: &TaskId) -> Result<()> {
    tx.db
        .prepare_cached(
            "UPDATE mirrors SET wanted_rev = wanted_rev + 1 WHERE kind = 'job' AND subject = ?1 AND state <> 'closed'",
        )?
        .execute(params![task.as_str()])?;
    Ok(())
}

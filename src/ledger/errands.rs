//! Errands: something to be done once on Discord for a subject. So far: the thread of a task.

use rusqlite::params;

use super::{LedgerError, Read, Result, Write, channels, mirrors, outbox, tasks};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, MessageId, TaskId};
use crate::model::card::Post;

/// A task whose thread is to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// The task.
    pub task: tasks::Task,
    /// Tries that failed.
    pub tries: u32,
}

pub(super) const DUE: &str = "SELECT e.subject, e.tries FROM errands e JOIN tasks t ON t.task_id = e.subject
    WHERE e.state = 'due' AND e.next_at <= ?2 AND t.bot_key = ?1 AND t.ask_message_id IS NOT NULL
    ORDER BY e.next_at LIMIT ?3";

pub(super) const NEXT: &str = "SELECT min(next_at) FROM errands WHERE state = 'due' AND next_at > ?1";

/// Errands that can be done now: the message that the thread hangs on is there.
pub fn due(read: &Read<'_>, bot: &BotKey, now: Millis, most: usize) -> Result<Vec<Errand>> {
    let mut found = read.db.prepare_cached(DUE)?;
    let rows = found
        .query_map(params![bot.as_str(), now.0, most as i64], |row| Ok((TaskId(row.get(0)?), row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(TaskId, u32)>>>()?;
    let errand = |(id, tries)| {
        let task = tasks::get(read, &id)?.ok_or_else(|| LedgerError::Corrupt(format!("there is no task {id}")))?;
        Ok(Errand { task, tries })
    };
    rows.into_iter().map(errand).collect()
}

/// When the next errand that was put off comes due.
pub fn next_at(read: &Read<'_>, now: Millis) -> Result<Option<Millis>> {
    let at: Option<i64> = read.db.prepare_cached(NEXT)?.query_row(params![now.0], |row| row.get(0))?;
    Ok(at.map(Millis))
}

/// The thread of a task is there: its errand is done, and from now on it is listened to.
pub fn opened(tx: &Write<'_>, task: &tasks::Task, thread: ChannelId, now: Millis) -> Result<()> {
    channels::ensure_thread(tx, &task.bot, thread, task.channel, task.guild)?;
    // A thread's id is that of the message it hangs on, so every message in it comes after (facts.md section 7).
    channels::advance(tx, &task.bot, thread, MessageId(thread.0), now)?;
    tasks::set_thread(tx, &task.id, thread)
}

/// The message that the thread was to hang on is gone: `post` will stand in for it.
pub fn stand_in(tx: &Write<'_>, task: &tasks::Task, post: &Post, now: Millis) -> Result<()> {
    tx.db.execute("UPDATE tasks SET ask_message_id = NULL WHERE task_id = ?1", params![task.id.as_str()])?;
    tx.db.execute(
        "UPDATE errands SET tries = tries + 1 WHERE kind = 'open_thread' AND subject = ?1",
        params![task.id.as_str()],
    )?;
    let said = outbox::Said::Starter(task.id.clone());
    if outbox::say(tx, &task.bot, &outbox::Target::Channel(task.channel), &said, post, now)?.is_none() {
        outbox::say_anew(tx, &said)?;
    }
    Ok(())
}

/// No thread can be opened. What was meant for it goes to the channel of the ask.
pub fn failed(tx: &Write<'_>, task: &TaskId, why: &str) -> Result<()> {
    tx.db.execute(
        "UPDATE errands SET state = 'failed', why = ?2 WHERE kind = 'open_thread' AND subject = ?1",
        params![task.as_str(), why],
    )?;
    mirrors::touch_job(tx, task)
}

/// Whether it is certain that a task gets no thread.
pub fn has_failed(read: &Read<'_>, task: &TaskId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM errands WHERE kind = 'open_thread' AND subject = ?1 AND state = 'failed')";
    Ok(read.db.prepare_cached(sql)?.query_row(params![task.as_str()], |row| row.get(0))?)
}

/// It did not work now; it is tried again from `next_at` on.
pub fn put_off(tx: &Write<'_>, task: &TaskId, next_at: Millis, why: &str) -> Result<()> {
    tx.db.execute(
        "UPDATE errands SET tries = tries + 1, next_at = ?2, why = ?3
         WHERE kind = 'open_thread' AND subject = ?1 AND state = 'due'",
        params![task.as_str(), next_at.0, why],
    )?;
    Ok(())
}

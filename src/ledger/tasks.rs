//! Tasks: what people asked for.

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write, mirrors, numbers};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, GuildId, MessageId, TaskCode, TaskId};
use crate::model::task::Mode;

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Id.
    pub id: TaskId,
    /// Code that people see.
    pub code: TaskCode,
    /// Bot that it came through.
    pub bot: BotKey,
    /// Channel it was asked in.
    pub channel: ChannelId,
    /// Guild of that channel.
    pub guild: Option<GuildId>,
    /// Message that asked; a starter message stands in where a form asked.
    pub ask_message: Option<MessageId>,
    /// Its thread, once opened.
    pub thread: Option<ChannelId>,
    /// [`crate::model::actor::Actor::label`] of who asked.
    pub asker: String,
    /// Name of who asked, for people.
    pub asker_name: String,
    /// What was asked.
    pub text: String,
    /// What it may do.
    pub mode: Mode,
    /// When.
    pub at: Millis,
}

/// What makes a task, besides its id and code.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Id.
    pub id: TaskId,
    /// Bot that it came through.
    pub bot: BotKey,
    /// Channel it was asked in.
    pub channel: ChannelId,
    /// Guild of that channel.
    pub guild: Option<GuildId>,
    /// Message that asked, where one did.
    pub ask_message: Option<MessageId>,
    /// Who asked.
    pub asker: String,
    /// Name of who asked.
    pub asker_name: String,
    /// What was asked.
    pub text: String,
    /// What it may do.
    pub mode: Mode,
}

/// Records a task, the errand that opens its thread, and the wish for its job card.
pub fn create(tx: &Write<'_>, new: &NewTask, now: Millis) -> Result<TaskCode> {
    let code = TaskCode(numbers::take(tx, "task")?);
    tx.db.execute(
        "INSERT INTO tasks (task_id, code, bot_key, channel_id, guild_id, ask_message_id, asker, asker_name, text, mode, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            new.id.as_str(),
            code.0,
            new.bot.as_str(),
            new.channel.sql(),
            new.guild.map(GuildId::sql),
            new.ask_message.map(MessageId::sql),
            new.asker,
            new.asker_name,
            new.text,
            new.mode.as_str(),
            now.0
        ],
    )?;
    tx.db.execute(
        "INSERT INTO errands (kind, subject, state) VALUES ('open_thread', ?1, 'due')",
        params![new.id.as_str()],
    )?;
    mirrors::want_job(tx, &new.bot, &new.id)?;
    Ok(code)
}

/// Takes back the thread and the job card that [`create`] wished for, in the same transaction: nothing of the task is
/// ever posted, by no later host either.
pub fn never_show(tx: &Write<'_>, id: &TaskId) -> Result<()> {
    tx.db.execute("DELETE FROM errands WHERE kind = 'open_thread' AND subject = ?1", params![id.as_str()])?;
    tx.db.execute("DELETE FROM mirrors WHERE kind = 'job' AND subject = ?1", params![id.as_str()])?;
    Ok(())
}

/// Whether a task is shown in Discord, now or once it can be.
pub fn is_shown(read: &Read<'_>, id: &TaskId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM mirrors WHERE kind = 'job' AND subject = ?1)";
    Ok(read.db.prepare_cached(sql)?.query_row(params![id.as_str()], |row| row.get(0))?)
}

const COLUMNS: &str =
    "task_id, code, bot_key, channel_id, guild_id, ask_message_id, thread_id, asker, asker_name, text, mode, at";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Task, String)> {
    let task = Task {
        id: TaskId(row.get(0)?),
        code: TaskCode(row.get(1)?),
        bot: BotKey(row.get(2)?),
        channel: ChannelId::from_sql(row.get(3)?),
        guild: row.get::<_, Option<i64>>(4)?.map(GuildId::from_sql),
        ask_message: row.get::<_, Option<i64>>(5)?.map(MessageId::from_sql),
        thread: row.get::<_, Option<i64>>(6)?.map(ChannelId::from_sql),
        asker: row.get(7)?,
        asker_name: row.get(8)?,
        text: row.get(9)?,
        mode: Mode::Unsure,
        at: Millis(row.get(11)?),
    };
    Ok((task, row.get(10)?))
}

fn one(found: Option<(Task, String)>) -> Result<Option<Task>> {
    let Some((task, mode)) = found else { return Ok(None) };
    let mode = Mode::parse(&mode).ok_or_else(|| LedgerError::Corrupt(format!("task mode {mode:?}")))?;
    Ok(Some(Task { mode, ..task }))
}

/// A task by id.
pub fn get(read: &Read<'_>, id: &TaskId) -> Result<Option<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE task_id = ?1");
    one(read.db.prepare_cached(&sql)?.query_row(params![id.as_str()], from_row).optional()?)
}

/// The task whose thread this is.
pub fn of_thread(read: &Read<'_>, thread: ChannelId) -> Result<Option<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE thread_id = ?1");
    one(read.db.prepare_cached(&sql)?.query_row(params![thread.sql()], from_row).optional()?)
}

/// A task by the code that people see.
pub fn by_code(read: &Read<'_>, code: TaskCode) -> Result<Option<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks WHERE code = ?1");
    one(read.db.prepare_cached(&sql)?.query_row(params![code.0], from_row).optional()?)
}

/// The newest tasks, newest first.
pub fn recent(read: &Read<'_>, most: usize) -> Result<Vec<Task>> {
    let sql = format!("SELECT {COLUMNS} FROM tasks ORDER BY code DESC LIMIT ?1");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![most as i64], from_row)?;
    rows.filter_map(|row| row.map_err(LedgerError::from).and_then(|row| one(Some(row))).transpose()).collect()
}

/// The starter message that stands in for an ask by form; recorded once.
pub fn set_ask_message(tx: &Write<'_>, id: &TaskId, message: MessageId) -> Result<()> {
    tx.db.execute(
        "UPDATE tasks SET ask_message_id = ?2 WHERE task_id = ?1 AND ask_message_id IS NULL",
        params![id.as_str(), message.sql()],
    )?;
    Ok(())
}

/// The thread that was opened for a task; its errand is done.
pub fn set_thread(tx: &Write<'_>, id: &TaskId, thread: ChannelId) -> Result<()> {
    tx.db.execute("UPDATE tasks SET thread_id = ?2 WHERE task_id = ?1", params![id.as_str(), thread.sql()])?;
    tx.db.execute(
        "UPDATE errands SET state = 'done' WHERE kind = 'open_thread' AND subject = ?1",
        params![id.as_str()],
    )?;
    mirrors::touch_job(tx, id)
}

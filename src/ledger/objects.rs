//! Objects: where stored bytes lie. No link is ever kept (I-10).

use rusqlite::{OptionalExtension, Params, Row, params};

use super::{LedgerError, Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{ArtifactId, AttachmentId, BotKey, ChannelId, GuildId, MessageId, RunId, TaskId};
use crate::model::object::{Object, ObjectKind};

/// Records where an object lies. A second call for the same attachment changes nothing.
pub fn insert(tx: &Write<'_>, bot: &BotKey, object: &Object) -> Result<()> {
    tx.db.execute(
        "INSERT INTO objects (artifact_id, bot_key, channel_id, parent_id, guild_id, message_id, attachment_id, name, kind,
                              sha256, size, content_type, run_id, overflow, encrypted, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         ON CONFLICT DO NOTHING",
        params![
            object.artifact.as_str(),
            bot.as_str(),
            object.channel.sql(),
            object.parent.map(ChannelId::sql),
            object.guild.map(GuildId::sql),
            object.message.sql(),
            object.attachment.sql(),
            object.name,
            object.kind.as_str(),
            object.sha256.to_string(),
            object.size as i64,
            object.content_type,
            object.run.as_ref().map(RunId::as_str),
            object.overflow,
            object.encrypted,
            object.created.0
        ],
    )?;
    match &object.run {
        Some(run) => touch_card(tx, run),
        None => Ok(()),
    }
}

/// Marks the card of the task that a run belongs to. A run of another machine has no row here, and no card.
fn touch_card(tx: &Write<'_>, run: &RunId) -> Result<()> {
    let task: Option<String> = tx
        .db
        .query_row("SELECT task_id FROM runs WHERE run_id = ?1", params![run.as_str()], |row| row.get(0))
        .optional()?;
    task.map_or(Ok(()), |task| mirrors::touch_job(tx, &TaskId(task)))
}

const COLUMNS: &str =
    "artifact_id, channel_id, parent_id, guild_id, message_id, attachment_id, name, kind, sha256, size,
    content_type, run_id, overflow, encrypted, at";

type Raw = (Object, String, String);

fn from_row(row: &Row<'_>) -> rusqlite::Result<Raw> {
    let object = Object {
        artifact: ArtifactId(row.get(0)?),
        channel: ChannelId::from_sql(row.get(1)?),
        parent: row.get::<_, Option<i64>>(2)?.map(ChannelId::from_sql),
        guild: row.get::<_, Option<i64>>(3)?.map(GuildId::from_sql),
        message: MessageId::from_sql(row.get(4)?),
        attachment: AttachmentId::from_sql(row.get(5)?),
        name: row.get(6)?,
        kind: ObjectKind::Blob,
        sha256: Sha256([0; 32]),
        size: row.get::<_, i64>(9)? as u64,
        content_type: row.get(10)?,
        run: row.get::<_, Option<String>>(11)?.map(RunId),
        overflow: row.get(12)?,
        encrypted: row.get(13)?,
        created: Millis(row.get(14)?),
    };
    Ok((object, row.get(7)?, row.get(8)?))
}

fn finish((object, kind, sha256): Raw) -> Result<Object> {
    let kind = ObjectKind::parse(&kind).ok_or_else(|| LedgerError::Corrupt(format!("object kind {kind:?}")))?;
    let sha256 = sha256.parse().map_err(|_| LedgerError::Corrupt(format!("hash {sha256:?}")))?;
    Ok(Object { kind, sha256, ..object })
}

fn query(read: &Read<'_>, rest: &str, key: impl Params) -> Result<Vec<Object>> {
    let sql = format!("SELECT {COLUMNS} FROM objects {rest}");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(key, from_row)?;
    rows.map(|row| finish(row?)).collect()
}

/// An object by our id.
pub fn get(read: &Read<'_>, artifact: &ArtifactId) -> Result<Option<Object>> {
    Ok(query(read, "WHERE artifact_id = ?1", params![artifact.as_str()])?.pop())
}

/// Objects on a message, in the order they were stored.
pub fn on_message(read: &Read<'_>, message: MessageId) -> Result<Vec<Object>> {
    query(read, "WHERE message_id = ?1 ORDER BY artifact_id", params![message.sql()])
}

/// What a run made, in the order it was stored.
pub fn of_run(read: &Read<'_>, run: &RunId) -> Result<Vec<Object>> {
    query(read, "WHERE run_id = ?1 ORDER BY artifact_id", params![run.as_str()])
}

/// Objects of a channel and its threads, newest first, at most `most`, older than `before` where it is given.
pub fn page(read: &Read<'_>, channel: ChannelId, before: Option<&ArtifactId>, most: usize) -> Result<Vec<Object>> {
    // Two index walks, each cut short, so that the time does not grow with the channel.
    let half = |column: &str| {
        format!(
            "SELECT * FROM (SELECT {COLUMNS} FROM objects WHERE {column} = ?1 AND artifact_id < ?2
             ORDER BY artifact_id DESC LIMIT ?3)"
        )
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM ({} UNION ALL {}) ORDER BY artifact_id DESC LIMIT ?3",
        half("channel_id"),
        half("parent_id")
    );
    // "~" sorts after every id, which are lower-case hexadecimal.
    let before = before.map_or("~", ArtifactId::as_str);
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![channel.sql(), before, most as i64], from_row)?;
    rows.map(|row| finish(row?)).collect()
}

/// Newest objects of a channel and its threads with this true name, at most `most`.
pub fn by_name(read: &Read<'_>, channel: ChannelId, name: &str, most: usize) -> Result<Vec<Object>> {
    let rest = "WHERE (channel_id = ?1 OR parent_id = ?1) AND name = ?2 ORDER BY artifact_id DESC LIMIT ?3";
    query(read, rest, params![channel.sql(), name, most as i64])
}

/// Newest objects of a channel and its threads whose hash begins with `prefix` (lower-case hexadecimal), at most `most`.
pub fn by_hash(read: &Read<'_>, channel: ChannelId, prefix: &str, most: usize) -> Result<Vec<Object>> {
    let rest = "WHERE sha256 >= ?2 AND sha256 < ?2 || 'g' AND (channel_id = ?1 OR parent_id = ?1)
                ORDER BY artifact_id DESC LIMIT ?3";
    query(read, rest, params![channel.sql(), prefix, most as i64])
}

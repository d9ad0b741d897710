//! Uploads that are meant to happen: recorded before any byte leaves (I-9).

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write, objects};
use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{BotKey, ChannelId, HostId, MessageId, PutId, RunId};
use crate::model::object::{Intent, Object, ObjectKind};

/// Makes sure that the rows which an object hangs on are there, for a command on a workspace whose host never ran.
pub fn ensure_bot(tx: &Write<'_>, host: &HostId, bot: &BotKey, now: Millis) -> Result<()> {
    tx.db.execute(
        "INSERT INTO hosts (host_id, boot_id, power, power_by, power_at, started_at) VALUES (?1, '', 'off', 'host', ?2, ?2)
         ON CONFLICT DO NOTHING",
        params![host.as_str(), now.0],
    )?;
    tx.db.execute(
        "INSERT INTO bots (bot_key, host_id, kind) VALUES (?1, ?2, 'host') ON CONFLICT DO NOTHING",
        params![bot.as_str(), host.as_str()],
    )?;
    Ok(())
}

/// Records an intent, or gives the unfinished one that means the same: same place, same run, same bytes, same name.
/// So a repeated command, and a run that is finished after a crash, go on with the nonce that may have been sent.
pub fn intend(tx: &Write<'_>, bot: &BotKey, new: &Intent) -> Result<Intent> {
    if let Some(open) = open_like(tx, bot, new)? {
        return Ok(open);
    }
    tx.db.execute(
        "INSERT INTO puts (put_id, bot_key, channel_id, parent_id, run_id, path, name, kind, sha256, size, nonce, state, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'intended', ?12)",
        params![
            new.put.as_str(),
            bot.as_str(),
            new.channel.sql(),
            new.parent.map(ChannelId::sql),
            new.run.as_ref().map(RunId::as_str),
            new.path,
            new.name,
            new.kind.as_str(),
            new.sha256.to_string(),
            new.size as i64,
            new.nonce,
            new.at.0
        ],
    )?;
    Ok(new.clone())
}

const COLUMNS: &str = "put_id, channel_id, parent_id, run_id, path, name, kind, sha256, size, nonce, at";

fn open_like(read: &Read<'_>, bot: &BotKey, new: &Intent) -> Result<Option<Intent>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM puts WHERE state = 'intended' AND bot_key = ?1 AND channel_id = ?2 AND sha256 = ?3
             AND name = ?4 AND run_id IS ?5 ORDER BY at DESC LIMIT 1"
    );
    let key =
        params![bot.as_str(), new.channel.sql(), new.sha256.to_string(), new.name, new.run.as_ref().map(RunId::as_str)];
    read.db.prepare_cached(&sql)?.query_row(key, from_row).optional()?.map(finish).transpose()
}

/// Unfinished intents of a run, oldest first.
pub fn open_of_run(read: &Read<'_>, run: &RunId) -> Result<Vec<Intent>> {
    let sql = format!("SELECT {COLUMNS} FROM puts WHERE run_id = ?1 AND state = 'intended' ORDER BY put_id");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![run.as_str()], from_row)?;
    rows.map(|row| finish(row?)).collect()
}

type Raw = (Intent, String, String);

fn from_row(row: &Row<'_>) -> rusqlite::Result<Raw> {
    let intent = Intent {
        put: PutId(row.get(0)?),
        channel: ChannelId::from_sql(row.get(1)?),
        parent: row.get::<_, Option<i64>>(2)?.map(ChannelId::from_sql),
        run: row.get::<_, Option<String>>(3)?.map(RunId),
        path: row.get(4)?,
        name: row.get(5)?,
        kind: ObjectKind::Blob,
        sha256: Sha256([0; 32]),
        size: row.get::<_, i64>(8)? as u64,
        nonce: row.get(9)?,
        at: Millis(row.get(10)?),
    };
    Ok((intent, row.get(6)?, row.get(7)?))
}

fn finish((intent, kind, sha256): Raw) -> Result<Intent> {
    let kind = ObjectKind::parse(&kind).ok_or_else(|| LedgerError::Corrupt(format!("object kind {kind:?}")))?;
    let sha256 = sha256.parse().map_err(|_| LedgerError::Corrupt(format!("hash {sha256:?}")))?;
    Ok(Intent { kind, sha256, ..intent })
}

/// The bytes lie in Discord and were read back: the intent is done and the object's row is there, in one transaction.
/// A second call changes nothing.
pub fn stored(tx: &Write<'_>, bot: &BotKey, put: &PutId, object: &Object) -> Result<()> {
    tx.db.execute(
        "UPDATE puts SET state = 'stored', message_id = ?2, why = NULL WHERE put_id = ?1",
        params![put.as_str(), object.message.sql()],
    )?;
    objects::insert(tx, bot, object)
}

/// The upload was refused for good; nothing lies in Discord.
pub fn failed(tx: &Write<'_>, put: &PutId, why: &str) -> Result<()> {
    tx.db.execute(
        "UPDATE puts SET state = 'failed', why = ?2 WHERE put_id = ?1 AND state = 'intended'",
        params![put.as_str(), why],
    )?;
    Ok(())
}

/// Message of a put that was stored.
pub fn message(read: &Read<'_>, put: &PutId) -> Result<Option<MessageId>> {
    let found: Option<Option<i64>> = read
        .db
        .query_row("SELECT message_id FROM puts WHERE put_id = ?1 AND state = 'stored'", params![put.as_str()], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.flatten().map(MessageId::from_sql))
}

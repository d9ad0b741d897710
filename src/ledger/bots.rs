//! Bots: the accounts that we speak through, their gateway sessions and their IDENTIFY budget.

use rusqlite::{OptionalExtension, params};

use super::{Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::ids::{ApplicationId, BotKey, HostId, UserId};

/// A bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bot {
    /// Key of ours.
    pub key: BotKey,
    /// Host that runs it.
    pub host: HostId,
    /// Account, once Discord told.
    pub user: Option<UserId>,
    /// Application, once Discord told.
    pub application: Option<ApplicationId>,
    /// Name, once Discord told.
    pub name: Option<String>,
    /// `down`, `connecting`, `up` or `fatal`.
    pub link: String,
    /// Why it is not up, or what is missing: sentences.
    pub link_why: Option<String>,
    /// Last sign of life, in coarse steps.
    pub link_at: Option<Millis>,
    /// Last message of a person, in coarse steps.
    pub last_message_at: Option<Millis>,
    /// IDENTIFYs left today, as Discord said last.
    pub identifies_left: Option<i64>,
}

/// A gateway session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Session.
    pub id: String,
    /// Where to resume it.
    pub resume_url: String,
    /// Last sequence number that was taken.
    pub seq: u64,
}

/// Makes the row of the host's own bot.
pub fn ensure(tx: &Write<'_>, key: &BotKey, host: &HostId) -> Result<()> {
    tx.db.execute(
        "INSERT INTO bots (bot_key, host_id, kind) VALUES (?1, ?2, 'host')
         ON CONFLICT (bot_key) DO UPDATE SET host_id = excluded.host_id",
        params![key.as_str(), host.as_str()],
    )?;
    Ok(())
}

/// A bot by key.
pub fn get(read: &Read<'_>, key: &BotKey) -> Result<Option<Bot>> {
    let sql = "SELECT host_id, user_id, application_id, name, link, link_why, link_at, last_message_at, identifies_left
               FROM bots WHERE bot_key = ?1";
    let found = read.db.prepare_cached(sql)?.query_row(params![key.as_str()], |row| {
        Ok(Bot {
            key: key.clone(),
            host: HostId(row.get(0)?),
            user: row.get::<_, Option<i64>>(1)?.map(UserId::from_sql),
            application: row.get::<_, Option<i64>>(2)?.map(ApplicationId::from_sql),
            name: row.get(3)?,
            link: row.get(4)?,
            link_why: row.get(5)?,
            link_at: row.get::<_, Option<i64>>(6)?.map(Millis),
            last_message_at: row.get::<_, Option<i64>>(7)?.map(Millis),
            identifies_left: row.get(8)?,
        })
    });
    Ok(found.optional()?)
}

/// What Discord says we are.
pub fn set_account(tx: &Write<'_>, key: &BotKey, user: UserId, application: ApplicationId, name: &str) -> Result<()> {
    tx.db.execute(
        "UPDATE bots SET user_id = ?2, application_id = ?3, name = ?4 WHERE bot_key = ?1",
        params![key.as_str(), user.sql(), application.sql(), name],
    )?;
    Ok(())
}

/// The connection's state, for the HOST card. A state without a reason keeps the reason that is there.
pub fn set_link(tx: &Write<'_>, key: &BotKey, link: &str, why: Option<&str>, now: Millis) -> Result<()> {
    tx.db.execute(
        "UPDATE bots SET link = ?2, link_why = coalesce(?3, link_why), link_at = ?4 WHERE bot_key = ?1",
        params![key.as_str(), link, why, now.0],
    )?;
    mirrors::touch_hosts(tx)
}

/// Says, or no longer says, what is missing.
pub fn set_link_why(tx: &Write<'_>, key: &BotKey, why: Option<&str>) -> Result<()> {
    let changed = tx.db.execute(
        "UPDATE bots SET link_why = ?2 WHERE bot_key = ?1 AND link_why IS NOT ?2",
        params![key.as_str(), why],
    )?;
    if changed > 0 {
        mirrors::touch_hosts(tx)?;
    }
    Ok(())
}

/// A person wrote. The card is marked only when it is `step` milliseconds newer than what it shows.
pub fn note_message(tx: &Write<'_>, key: &BotKey, at: Millis, step: i64) -> Result<()> {
    let changed = tx
        .db
        .prepare_cached(
            "UPDATE bots SET last_message_at = ?2 WHERE bot_key = ?1 AND coalesce(last_message_at, 0) <= ?2 - ?3",
        )?
        .execute(params![key.as_str(), at.0, step])?;
    if changed > 0 {
        mirrors::touch_hosts(tx)?;
    }
    Ok(())
}

/// The gateway session to resume.
pub fn session(read: &Read<'_>, key: &BotKey) -> Result<Option<Session>> {
    let sql = "SELECT session_id, resume_url, seq FROM gateway WHERE bot_key = ?1";
    let found = read.db.query_row(sql, params![key.as_str()], |row| {
        Ok(Session { id: row.get(0)?, resume_url: row.get(1)?, seq: row.get::<_, i64>(2)? as u64 })
    });
    Ok(found.optional()?)
}

/// Keeps a session, or forgets the one that is kept.
pub fn keep_session(tx: &Write<'_>, key: &BotKey, session: Option<&Session>, now: Millis) -> Result<()> {
    let Some(saved) = session else {
        tx.db.execute("DELETE FROM gateway WHERE bot_key = ?1", params![key.as_str()])?;
        return Ok(());
    };
    tx.db.execute(
        "INSERT INTO gateway (bot_key, session_id, resume_url, seq, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (bot_key) DO UPDATE SET session_id = excluded.session_id, resume_url = excluded.resume_url,
             seq = excluded.seq, at = excluded.at",
        params![key.as_str(), saved.id, saved.resume_url, saved.seq as i64, now.0],
    )?;
    Ok(())
}

/// Moves the sequence number of the kept session forward, in the transaction that took its event.
pub fn save_seq(tx: &Write<'_>, key: &BotKey, session_id: &str, seq: u64) -> Result<()> {
    tx.db
        .prepare_cached("UPDATE gateway SET seq = max(seq, ?3) WHERE bot_key = ?1 AND session_id = ?2")?
        .execute(params![key.as_str(), session_id, seq as i64])?;
    Ok(())
}

/// IDENTIFYs since `since`: how many, and when the first and last of them were.
pub fn identifies(read: &Read<'_>, key: &BotKey, since: Millis) -> Result<(u64, Option<Millis>, Option<Millis>)> {
    let sql = "SELECT count(*), min(at), max(at) FROM identifies WHERE bot_key = ?1 AND at > ?2";
    Ok(read.db.query_row(sql, params![key.as_str(), since.0], |row| {
        let n: i64 = row.get(0)?;
        Ok((n as u64, row.get::<_, Option<i64>>(1)?.map(Millis), row.get::<_, Option<i64>>(2)?.map(Millis)))
    })?)
}

/// Counts one IDENTIFY and forgets those from before `since`.
pub fn count_identify(tx: &Write<'_>, key: &BotKey, left: u64, since: Millis, now: Millis) -> Result<()> {
    tx.db.execute("DELETE FROM identifies WHERE bot_key = ?1 AND at <= ?2", params![key.as_str(), since.0])?;
    tx.db.execute("INSERT INTO identifies (bot_key, at) VALUES (?1, ?2)", params![key.as_str(), now.0])?;
    let left = i64::try_from(left).unwrap_or(i64::MAX);
    tx.db.execute("UPDATE bots SET identifies_left = ?2 WHERE bot_key = ?1", params![key.as_str(), left])?;
    Ok(())
}

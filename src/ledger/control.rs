//! The host itself: power and the Halt latch.

use rusqlite::{OptionalExtension, params};

use super::{LedgerError, Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, HostId, MessageId};
use crate::model::power::Power;

/// A host, as people control it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Id.
    pub id: HostId,
    /// Power.
    pub power: Power,
    /// [`crate::model::actor::Actor::label`] of who set it last.
    pub power_by: String,
    /// Why, where the host turned itself off.
    pub power_why: Option<String>,
    /// When it was set.
    pub power_at: Millis,
    /// Whether new work is stopped for money's sake.
    pub halted: bool,
    /// Who halted it.
    pub halted_by: Option<String>,
}

/// Who changes something, why and when.
#[derive(Debug, Clone, Copy)]
pub struct By<'a> {
    /// [`crate::model::actor::Actor::label`].
    pub who: &'a str,
    /// Why, where nobody asked for it: a sentence.
    pub why: Option<&'a str>,
    /// When.
    pub at: Millis,
}

/// Records a start of the host and gives its power: kept within one boot of the machine, Off after a new one.
pub fn start_host(tx: &Write<'_>, id: &HostId, boot_id: &str, now: Millis) -> Result<Power> {
    let before: Option<(String, String)> = tx
        .db
        .query_row("SELECT boot_id, power FROM hosts WHERE host_id = ?1", params![id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((boot, power)) = before else {
        tx.db.execute(
            "INSERT INTO hosts (host_id, boot_id, power, power_by, power_at, started_at)
             VALUES (?1, ?2, 'off', 'host', ?3, ?3)",
            params![id.as_str(), boot_id, now.0],
        )?;
        return Ok(Power::Off);
    };
    tx.db.execute(
        "UPDATE hosts SET boot_id = ?2, started_at = ?3 WHERE host_id = ?1",
        params![id.as_str(), boot_id, now.0],
    )?;
    let was = parse(&power)?;
    let power = was.at_start(boot == boot_id);
    if power != was {
        let why = Some("The machine was restarted; tap On to go on.");
        set_power(tx, id, power, &By { who: "host", why, at: now })?;
    }
    mirrors::touch_hosts(tx)?;
    Ok(power)
}

fn parse(text: &str) -> Result<Power> {
    Power::parse(text).ok_or_else(|| LedgerError::Corrupt(format!("power {text:?}")))
}

/// A host by id.
pub fn host(read: &Read<'_>, id: &HostId) -> Result<Option<Host>> {
    let sql = "SELECT power, power_by, power_why, power_at, halted, halted_by FROM hosts WHERE host_id = ?1";
    let found = read
        .db
        .prepare_cached(sql)?
        .query_row(params![id.as_str()], |row| {
            let power: String = row.get(0)?;
            let host = Host {
                id: id.clone(),
                power: Power::Off,
                power_by: row.get(1)?,
                power_why: row.get(2)?,
                power_at: Millis(row.get(3)?),
                halted: row.get(4)?,
                halted_by: row.get(5)?,
            };
            Ok((host, power))
        })
        .optional()?;
    found.map(|(host, power)| Ok(Host { power: parse(&power)?, ..host })).transpose()
}

/// Sets the power. Gives whether it was another before.
pub fn set_power(tx: &Write<'_>, id: &HostId, power: Power, by: &By<'_>) -> Result<bool> {
    let changed = tx.db.execute(
        "UPDATE hosts SET power = ?2, power_by = ?3, power_why = ?4, power_at = ?5
         WHERE host_id = ?1 AND power <> ?2",
        params![id.as_str(), power.as_str(), by.who, by.why, by.at.0],
    )?;
    if changed == 0 && by.why.is_some() {
        // Off already, but now for a reason that people must see.
        tx.db.execute("UPDATE hosts SET power_why = ?2 WHERE host_id = ?1", params![id.as_str(), by.why])?;
    }
    mirrors::touch_hosts(tx)?;
    Ok(changed > 0)
}

/// Latches or releases the halt. Gives whether it was the other way before.
pub fn set_halted(tx: &Write<'_>, id: &HostId, halted: bool, by: &By<'_>) -> Result<bool> {
    let changed = tx.db.execute(
        "UPDATE hosts SET halted = ?2, halted_by = ?3, halted_at = ?4 WHERE host_id = ?1 AND halted <> ?2",
        params![id.as_str(), halted, by.who, by.at.0],
    )?;
    if changed > 0 {
        mirrors::touch_hosts(tx)?;
    }
    Ok(changed > 0)
}

/// Whether a message is a HOST card of this host as it stands now, not one that was replaced (I-5).
pub fn is_current_card(read: &Read<'_>, bot: &BotKey, host: &HostId, message: MessageId) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM mirrors WHERE message_id = ?1 AND bot_key = ?2 AND kind = 'host'
                   AND subject = ?3 AND state = 'shown')";
    let mut found = read.db.prepare_cached(sql)?;
    Ok(found.query_row(params![message.sql(), bot.as_str(), host.as_str()], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    #[tokio::test]
    async fn power_lasts_one_boot() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let (first, same, next, why) = ledger
            .write("test", |tx| {
                let id = HostId("h1".into());
                let first = start_host(tx, &id, "boot-1", Millis(1))?;
                set_power(tx, &id, Power::On, &By { who: "local", why: None, at: Millis(2) })?;
                let same = start_host(tx, &id, "boot-1", Millis(3))?;
                let next = start_host(tx, &id, "boot-2", Millis(4))?;
                Ok((first, same, next, host(tx, &id)?.unwrap().power_why))
            })
            .await
            .unwrap();
        assert_eq!((first, same, next), (Power::Off, Power::On, Power::Off));
        assert!(why.unwrap().contains("restarted"));
    }

    #[tokio::test]
    async fn halt_latches_over_a_boot() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let (first, second, halted) = ledger
            .write("test", |tx| {
                let id = HostId("h1".into());
                start_host(tx, &id, "boot-1", Millis(1))?;
                let by = By { who: "user:1", why: None, at: Millis(2) };
                let first = set_halted(tx, &id, true, &by)?;
                let second = set_halted(tx, &id, true, &by)?;
                start_host(tx, &id, "boot-2", Millis(4))?;
                Ok((first, second, host(tx, &id)?.unwrap().halted))
            })
            .await
            .unwrap();
        assert_eq!((first, second, halted), (true, false, true));
    }
}

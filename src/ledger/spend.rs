//! Money: meters, reservations and what was spent (I-8).

use rusqlite::{OptionalExtension, params};

use super::{LedgerError, Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::ids::{HostId, MeterId, RunId};
use crate::base::money::MicroUsd;
use crate::model::receipt::Basis;

/// The open meter of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    /// Id.
    pub id: MeterId,
    /// Cap.
    pub cap: MicroUsd,
    /// Spent and settled.
    pub spent: MicroUsd,
    /// Reserved by runs that have not settled.
    pub reserved: MicroUsd,
    /// Whether some of it is only estimated or unknown.
    pub estimated: bool,
}

/// The open meter, if one was opened.
pub fn meter(read: &Read<'_>, host: &HostId) -> Result<Option<Meter>> {
    let open: Option<(String, i64)> = read
        .db
        .query_row(
            "SELECT meter_id, cap FROM meters WHERE host_id = ?1 AND closed_at IS NULL",
            params![host.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((id, cap)) = open else { return Ok(None) };
    let (spent, reserved, unsure): (i64, i64, i64) = read.db.query_row(
        "SELECT coalesce(sum(spent), 0), coalesce(sum(CASE settled WHEN 0 THEN reserved ELSE 0 END), 0),
                coalesce(sum(basis IN ('unknown', 'estimated') AND settled = 1 AND spent > 0), 0)
         FROM spend WHERE meter_id = ?1",
        params![id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    Ok(Some(Meter {
        id: MeterId(id),
        cap: MicroUsd(cap),
        spent: MicroUsd(spent),
        reserved: MicroUsd(reserved),
        estimated: unsure > 0,
    }))
}

/// Opens a meter where none is open.
pub fn open(tx: &Write<'_>, host: &HostId, id: &MeterId, cap: MicroUsd, now: Millis) -> Result<()> {
    tx.db.execute(
        "INSERT INTO meters (meter_id, host_id, cap, opened_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        params![id.as_str(), host.as_str(), cap.0, now.0],
    )?;
    mirrors::touch_hosts(tx)
}

/// Sets the cap of the open meter. Gives the meter, if one is open.
pub fn set_cap(tx: &Write<'_>, host: &HostId, cap: MicroUsd) -> Result<Option<Meter>> {
    tx.db.execute(
        "UPDATE meters SET cap = ?2 WHERE host_id = ?1 AND closed_at IS NULL",
        params![host.as_str(), cap.0.max(0)],
    )?;
    mirrors::touch_hosts(tx)?;
    meter(tx, host)
}

/// Closes the open meter, if there is one, and gives its cap. What was spent on it stays in the history.
pub fn close(tx: &Write<'_>, host: &HostId, now: Millis) -> Result<Option<MicroUsd>> {
    let cap: Option<i64> = tx
        .db
        .query_row(
            "UPDATE meters SET closed_at = ?2 WHERE host_id = ?1 AND closed_at IS NULL RETURNING cap",
            params![host.as_str(), now.0],
            |row| row.get(0),
        )
        .optional()?;
    mirrors::touch_hosts(tx)?;
    Ok(cap.map(MicroUsd))
}

/// Whether a reservation was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It was; the run may start.
    Yes,
    /// It would pass the cap; nothing was changed.
    OverCap,
}

/// Reserves for a run before it starts: never so that `spent + reserved > cap`.
#[allow(clippy::too_many_arguments, reason = "the transaction is a witness, not a choice of the caller")]
pub fn reserve(
    tx: &Write<'_>,
    host: &HostId,
    run: &RunId,
    amount: MicroUsd,
    basis: Basis,
    now: Millis,
) -> Result<Reserved> {
    let meter = meter(tx, host)?.ok_or_else(|| LedgerError::Corrupt("no meter is open".into()))?;
    if meter.spent + meter.reserved + amount > meter.cap {
        return Ok(Reserved::OverCap);
    }
    tx.db.execute(
        "INSERT INTO spend (run_id, meter_id, reserved, basis, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (run_id) DO UPDATE SET meter_id = excluded.meter_id, reserved = excluded.reserved,
             basis = excluded.basis WHERE settled = 0",
        params![run.as_str(), meter.id.as_str(), amount.0, basis.as_str(), now.0],
    )?;
    mirrors::touch_hosts(tx)?;
    Ok(Reserved::Yes)
}

/// Gives back what is reserved for a run that did not start after all.
pub fn release(tx: &Write<'_>, run: &RunId) -> Result<()> {
    tx.db.execute("DELETE FROM spend WHERE run_id = ?1 AND settled = 0", params![run.as_str()])?;
    mirrors::touch_hosts(tx)
}

/// Settles a run: what it cost replaces what was reserved. A second call changes nothing.
pub fn settle(tx: &Write<'_>, run: &RunId, cost: MicroUsd, basis: Basis) -> Result<()> {
    tx.db.execute(
        "UPDATE spend SET settled = 1, spent = ?2, basis = ?3, overshoot = max(0, ?2 - reserved)
         WHERE run_id = ?1 AND settled = 0",
        params![run.as_str(), cost.0.max(0), basis.as_str()],
    )?;
    mirrors::touch_hosts(tx)
}

/// What a run cost, or has reserved, and how that is known.
pub fn of_run(read: &Read<'_>, run: &RunId) -> Result<Option<(MicroUsd, Basis)>> {
    let found: Option<(i64, String)> = read
        .db
        .query_row("SELECT spent, basis FROM spend WHERE run_id = ?1", params![run.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((spent, basis)) = found else { return Ok(None) };
    let basis = Basis::parse(&basis).ok_or_else(|| LedgerError::Corrupt(format!("basis {basis:?}")))?;
    Ok(Some((MicroUsd(spent), basis)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{BotKey, ChannelId, TaskId};
    use crate::ledger::{Ledger, bots, control, runs, tasks};
    use crate::model::run::RunState;
    use crate::model::task::Mode;

    fn a_run(tx: &Write<'_>, host: &HostId, name: &str) -> Result<RunId> {
        let (bot, id, task) = (BotKey("main".into()), RunId(name.into()), TaskId(format!("task {name}")));
        bots::ensure(tx, &bot, host)?;
        let new = tasks::NewTask {
            id: task.clone(),
            bot,
            channel: ChannelId(1),
            guild: None,
            ask_message: None,
            asker: "local".into(),
            asker_name: "me".into(),
            text: "what?".into(),
            mode: Mode::Question,
        };
        tasks::create(tx, &new, Millis(1))?;
        let run = runs::NewRun {
            id: id.clone(),
            task,
            prompt: "what?".into(),
            backend: "fake".into(),
            state: RunState::Queued,
            host: host.clone(),
            mark: name.into(),
        };
        runs::create(tx, &run, Millis(1))?;
        Ok(id)
    }

    #[tokio::test]
    async fn i_8_nothing_is_reserved_over_the_cap_and_what_is_not_spent_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let host = HostId("h".into());
        let work = move |tx: &Write<'_>| {
            control::start_host(tx, &host, "boot", Millis(1))?;
            open(tx, &host, &MeterId("m".into()), MicroUsd(100), Millis(1))?;
            let (one, two) = (a_run(tx, &host, "one")?, a_run(tx, &host, "two")?);
            assert_eq!(reserve(tx, &host, &one, MicroUsd(60), Basis::Unknown, Millis(2))?, Reserved::Yes);
            assert_eq!(reserve(tx, &host, &two, MicroUsd(41), Basis::Unknown, Millis(2))?, Reserved::OverCap);
            release(tx, &one)?;
            assert_eq!(reserve(tx, &host, &two, MicroUsd(41), Basis::Unknown, Millis(3))?, Reserved::Yes);
            settle(tx, &two, MicroUsd(70), Basis::Exact)?;
            // Settled once, for ever.
            settle(tx, &two, MicroUsd(0), Basis::Exact)?;
            release(tx, &two)?;
            let meter = meter(tx, &host)?.unwrap();
            assert_eq!((meter.spent, meter.reserved), (MicroUsd(70), MicroUsd(0)));
            assert_eq!(reserve(tx, &host, &one, MicroUsd(31), Basis::Unknown, Millis(4))?, Reserved::OverCap);
            Ok(())
        };
        ledger.write("test", work).await.unwrap();
    }
}

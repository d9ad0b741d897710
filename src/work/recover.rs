//! What an earlier process left behind: runs that were live when it died.

use crate::base::failure::Failure;
use crate::base::ids::RunId;
use crate::exec::{ProcessId, sweep};
use crate::ledger::{runs, spend};
use crate::model::receipt::Basis;
use crate::model::run::{RunEvent, RunState};

use super::{WorkParts, claim};

/// Ends every process of an earlier host, then settles the runs it left: what never started is queued again, what
/// had started is interrupted and offers Retry. What had ended keeps its state and gets its receipt.
pub async fn recover(parts: &WorkParts) -> Result<(), Failure> {
    let host = parts.host.clone();
    let most = parts.limits.max_live.max(1000);
    let left = parts
        .ledger
        .read(move |read| {
            let mut left = Vec::new();
            for state in [RunState::Claimed, RunState::Started, RunState::Cancelling] {
                left.extend(runs::in_state(read, &host, state, most)?);
            }
            Ok(left)
        })
        .await?;
    if left.is_empty() {
        return Ok(());
    }
    let swept = sweep_all(&left).await?;
    for run in left {
        let found = swept.iter().find(|s| s.mark == run.mark).map(|s| (s.ended, s.gone));
        settle(parts, run, found).await?;
    }
    Ok(())
}

async fn sweep_all(left: &[runs::Run]) -> Result<Vec<sweep::Swept>, Failure> {
    // A claimed run's warden may stand without being recorded; it is found by its mark.
    const NONE: ProcessId = ProcessId { pid: 0, start: 0 };
    let records: Vec<(ProcessId, String)> =
        left.iter().map(|run| (run.warden.unwrap_or(NONE), run.mark.clone())).collect();
    tokio::task::spawn_blocking(move || sweep::sweep(&records))
        .await
        .map_err(|e| Failure::failed(format!("The sweep of earlier runs broke off: {e}.")))
}

/// A run that the stopping host ended: it may have run, so it is interrupted and offers Retry.
pub async fn interrupt(parts: &WorkParts, run: &RunId, found: (u32, bool)) -> Result<(), Failure> {
    let id = run.clone();
    match parts.ledger.read(move |read| runs::get(read, &id)).await? {
        Some(run) if run.state.live() => settle(parts, run, Some(found)).await,
        _ => Ok(()),
    }
}

async fn settle(parts: &WorkParts, run: runs::Run, found: Option<(u32, bool)>) -> Result<(), Failure> {
    let (bot, now) = (parts.bot.clone(), parts.clock.now());
    let (ended, gone) = found.unwrap_or((0, true));
    let unknown = parts.limits.unknown_run.min(parts.limits.run_max);
    parts
        .ledger
        .write("recover", move |tx| {
            // Recorded means that it may have run; only what was never recorded may run again (I-6).
            let never_started = run.state == RunState::Claimed && run.warden.is_none();
            if never_started && gone {
                runs::apply(tx, &run.id, RunEvent::Requeue, now)?;
                return Ok(());
            }
            let why = if gone {
                "The host stopped while this job ran. What it had started is ended; tap Retry to run it again."
            } else {
                "The host stopped while this job ran, and some of its processes could not be ended. Look at them on \
                 the machine before you tap Retry."
            };
            let left =
                runs::Left { error: Some(why.to_owned()), ended_processes: Some(ended), ..runs::Left::default() };
            runs::leave(tx, &run.id, &left)?;
            runs::apply(tx, &run.id, RunEvent::Interrupt, now)?;
            if let Some((_, basis)) = spend::of_run(tx, &run.id)? {
                // What it spent before it was cut off is not known (I-8).
                let cost = if basis == Basis::Free { crate::base::money::MicroUsd(0) } else { unknown };
                let basis = if basis == Basis::Free { basis } else { Basis::Unknown };
                spend::settle(tx, &run.id, cost, basis)?;
            }
            claim::receipt(tx, &bot, &run, now)
        })
        .await?;
    Ok(())
}

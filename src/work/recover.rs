//! Runs that nobody follows any more: their host died, or what followed them broke off.

use crate::base::failure::Failure;
use crate::base::ids::RunId;
use crate::base::money::MicroUsd;
use crate::exec::{ProcessId, sweep};
use crate::ledger::{runs, spend};
use crate::model::receipt::Basis;
use crate::model::run::{RunEvent, RunState};

use super::WorkParts;

/// States in which a run must be followed, or its processes must be ended.
const FOLLOWED: [RunState; 3] = [RunState::Claimed, RunState::Started, RunState::Cancelling];

/// Ends every process of an earlier host, then settles the runs it left: what never started is queued again, what
/// had started is interrupted and offers Retry, what was being cancelled is cancelled. What had ended keeps its state
/// and gets its receipt.
pub async fn recover(parts: &WorkParts) -> Result<(), Failure> {
    let (host, most) = (parts.host.clone(), parts.limits.max_live);
    loop {
        let host = host.clone();
        let left = parts.ledger.read(move |read| {
            let mut left = Vec::new();
            for state in FOLLOWED {
                left.extend(runs::in_state(read, &host, state, most)?);
            }
            Ok(left)
        });
        let left = left.await?;
        if left.is_empty() {
            return Ok(());
        }
        settle_all(parts, left).await?;
    }
}

/// The same for single runs of this process.
pub async fn lost(parts: &WorkParts, ids: Vec<RunId>) -> Result<(), Failure> {
    let left = parts.ledger.read(move |read| {
        let found = ids.iter().map(|id| runs::get(read, id)).collect::<Result<Vec<_>, _>>()?;
        Ok(found.into_iter().flatten().filter(|run| FOLLOWED.contains(&run.state)).collect::<Vec<_>>())
    });
    let left = left.await?;
    if left.is_empty() { Ok(()) } else { settle_all(parts, left).await }
}

async fn settle_all(parts: &WorkParts, left: Vec<runs::Run>) -> Result<(), Failure> {
    let swept = end_all(&left).await?;
    for run in left {
        // What was not looked at is not proved gone.
        let found = swept.iter().find(|s| s.mark == run.mark).map_or((0, false), |s| (s.ended, s.gone));
        settle(parts, run, found, None).await?;
    }
    Ok(())
}

/// Ends everything that belongs to some runs, and looks whether it is gone.
pub(super) async fn end_all(left: &[runs::Run]) -> Result<Vec<sweep::Swept>, Failure> {
    // A claimed run's warden may stand without being recorded; it is found by its mark.
    const NONE: ProcessId = ProcessId { pid: 0, start: 0 };
    let records: Vec<(ProcessId, String)> =
        left.iter().map(|run| (run.warden.unwrap_or(NONE), run.mark.clone())).collect();
    tokio::task::spawn_blocking(move || sweep::sweep(&records))
        .await
        .map_err(|e| Failure::failed(format!("The sweep of earlier runs broke off: {e}.")))
}

/// A run that the stopping host ended: it may have run, so it is interrupted and offers Retry. `cost` is what it had
/// told of its cost until then.
pub async fn interrupt(
    parts: &WorkParts,
    run: &RunId,
    found: (u32, bool),
    cost: Option<MicroUsd>,
) -> Result<(), Failure> {
    let id = run.clone();
    match parts.ledger.read(move |read| runs::get(read, &id)).await? {
        Some(run) if FOLLOWED.contains(&run.state) => settle(parts, run, found, cost).await,
        _ => Ok(()),
    }
}

/// The one event that an unfollowed run takes, and what is to be said about it.
fn decide(run: &runs::Run, gone: bool) -> (RunEvent, Option<&'static str>) {
    const LEFT: &str = "The host stopped while this job ran, and some of its processes could not be ended. Look at \
                        them on the machine before you tap Retry.";
    match (run.state, gone) {
        // Somebody asked for its end before that, and it is reached.
        (RunState::Cancelling, true) => (RunEvent::Gone, None),
        (RunState::Cancelling, false) => (RunEvent::NotGone, Some(LEFT)),
        // Recorded means that it may have run; only what was never recorded may run again (I-6).
        (RunState::Claimed, true) if run.warden.is_none() => (RunEvent::Requeue, None),
        (_, true) => (
            RunEvent::Interrupt,
            Some("The host stopped while this job ran. What it had started is ended; tap Retry to run it again."),
        ),
        (_, false) => (RunEvent::Interrupt, Some(LEFT)),
    }
}

async fn settle(
    parts: &WorkParts,
    run: runs::Run,
    (ended, gone): (u32, bool),
    cost: Option<MicroUsd>,
) -> Result<(), Failure> {
    let now = parts.clock.now();
    let unknown = parts.limits.unknown_run.min(parts.limits.run_max).max(cost.unwrap_or_default());
    let written = parts.ledger.write("recover", move |tx| {
        // What it is now decides: a person may have cancelled it meanwhile.
        let Some(run) = runs::get(tx, &run.id)?.filter(|run| FOLLOWED.contains(&run.state)) else { return Ok(()) };
        let (event, why) = decide(&run, gone);
        if event == RunEvent::Requeue {
            // It reserves anew when it is claimed anew.
            spend::release(tx, &run.id)?;
            return runs::apply(tx, &run.id, event, now).map(drop);
        }
        let left = runs::Left { error: why.map(str::to_owned), ended_processes: Some(ended), ..runs::Left::default() };
        runs::leave(tx, &run.id, &left)?;
        if let Some((_, basis)) = spend::of_run(tx, &run.id)? {
            // What it spent before it was cut off is not known (I-8).
            let free = basis == Basis::Free;
            let (cost, basis) = if free { (MicroUsd(0), basis) } else { (unknown, Basis::Unknown) };
            spend::settle(tx, &run.id, cost, basis)?;
        }
        runs::apply(tx, &run.id, event, now).map(drop)
    });
    Ok(written.await?)
}

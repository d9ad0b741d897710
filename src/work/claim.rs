//! Claiming: the next queued run becomes ours, if there is a place, power and money for it.

use crate::base::clock::Millis;
use crate::base::failure::Failure;
use crate::base::ids::RunId;
use crate::base::money::MicroUsd;
use crate::ledger::spend::{self, Reserved};
use crate::ledger::{Result, Write, control, runs};
use crate::model::power::Power;
use crate::model::receipt::Basis;
use crate::model::run::{RunEvent, RunState};

use super::WorkParts;

/// Claims the oldest queued run, or none where nothing may start now.
pub async fn next(parts: &WorkParts) -> std::result::Result<Option<runs::Run>, Failure> {
    let (host, limits) = (parts.host.clone(), parts.limits.clone());
    // A look without the write lock first: most looks find nothing.
    let waiting = {
        let host = host.clone();
        parts.ledger.read(move |read| Ok(!runs::in_state(read, &host, RunState::Queued, 1)?.is_empty())).await?
    };
    if !waiting {
        return Ok(None);
    }
    let basis = parts.backend.basis();
    let worst = match basis {
        Basis::Free => MicroUsd(0),
        _ => limits.unknown_run.min(limits.run_max),
    };
    let now = parts.clock.now();
    let claimed = parts
        .ledger
        .write("claim", move |tx| {
            let open = control::host(tx, &host)?.is_some_and(|h| h.power == Power::On && !h.halted);
            if !open || runs::count_live(tx, &host)? >= limits.max_live {
                return Ok(None);
            }
            let Some(run) = runs::in_state(tx, &host, RunState::Queued, 1)?.into_iter().next() else { return Ok(None) };
            if spend::reserve(tx, &host, &run.id, worst, basis, now)? == Reserved::OverCap {
                refuse(tx, &run.id, now)?;
                return Ok(None);
            }
            let state = runs::apply(tx, &run.id, RunEvent::Claim, now)?;
            Ok(Some(runs::Run { state, ..run }))
        })
        .await?;
    Ok(claimed)
}

// Money is refused, not waited for: the person should know now, and Retry is there once the cap allows it (I-8).
fn refuse(tx: &Write<'_>, run: &RunId, now: Millis) -> Result<()> {
    let error =
        "The spend cap leaves no room for this run. Raise the cap with `discord-os spend --cap`, then tap Retry.";
    runs::leave(tx, run, &runs::Left { error: Some(error.to_owned()), ..runs::Left::default() })?;
    runs::apply(tx, run, RunEvent::Claim, now)?;
    runs::apply(tx, run, RunEvent::Fail, now)?;
    Ok(())
}

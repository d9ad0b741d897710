//! A run: one attempt at a task, and the only way its state may change (I-6).

use serde::{Deserialize, Serialize};

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Waits for a person to approve it (I-7).
    Waiting,
    /// May start; waits for a place.
    Queued,
    /// Taken by the work loop; its warden is not recorded, so nothing can have started.
    Claimed,
    /// Its warden is recorded and may have been told to go.
    Started,
    /// Cancel was asked for; its processes are being ended.
    Cancelling,
    /// Ended well; artifacts and receipt are on their way.
    Finishing,
    /// Ended well, with its receipt.
    Done,
    /// Ended badly.
    Failed,
    /// Cancelled, and every process proved gone.
    Cancelled,
    /// Cancelled, but some process could not be proved gone.
    CancelUnconfirmed,
    /// The host stopped while it ran. Offers Retry.
    Interrupted,
    /// A person said no.
    Denied,
}

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunEvent {
    /// Approved by a person.
    Approve,
    /// Denied by a person.
    Deny,
    /// Taken by the work loop.
    Claim,
    /// The warden's identity is recorded.
    Record,
    /// The host stopped before the warden was recorded: nothing ran, so it may run again.
    Requeue,
    /// A person asked for an end.
    Cancel,
    /// Every process of the run is proved gone after Cancel.
    Gone,
    /// Some process could not be proved gone after Cancel.
    NotGone,
    /// The backend ended well.
    Succeed,
    /// The backend ended badly, or could not start.
    Fail,
    /// Artifacts are settled and the receipt is recorded.
    Settle,
    /// The host found it running at its start.
    Interrupt,
}

/// A pair of state and event that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {state:?} cannot take {event:?}")]
pub struct Illegal {
    /// State it was in.
    pub state: RunState,
    /// Event that does not fit.
    pub event: RunEvent,
}

/// The state after `event`. Used live and on recovery; every pair not listed is an error.
pub fn next(state: RunState, event: RunEvent) -> Result<RunState, Illegal> {
    use RunEvent as E;
    use RunState as S;
    Ok(match (state, event) {
        (S::Waiting, E::Approve) => S::Queued,
        (S::Waiting, E::Deny) => S::Denied,
        (S::Queued, E::Claim) => S::Claimed,
        (S::Claimed, E::Record) => S::Started,
        (S::Claimed, E::Requeue) => S::Queued,
        (S::Claimed | S::Started | S::Cancelling, E::Fail) => S::Failed,
        (S::Claimed | S::Started | S::Cancelling, E::Interrupt) => S::Interrupted,
        (S::Waiting | S::Queued, E::Cancel) => S::Cancelled,
        (S::Claimed | S::Started, E::Cancel) => S::Cancelling,
        (S::Cancelling, E::Gone) => S::Cancelled,
        (S::Cancelling, E::NotGone) => S::CancelUnconfirmed,
        // It ended by itself before the kill reached it: what it did is done, and is said.
        (S::Started | S::Cancelling, E::Succeed) => S::Finishing,
        (S::Finishing, E::Settle) => S::Done,
        (S::Finishing, E::Fail) => S::Failed,
        _ => return Err(Illegal { state, event }),
    })
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Waiting,
        Self::Queued,
        Self::Claimed,
        Self::Started,
        Self::Cancelling,
        Self::Finishing,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::CancelUnconfirmed,
        Self::Interrupted,
        Self::Denied,
    ];

    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Started => "started",
            Self::Cancelling => "cancelling",
            Self::Finishing => "finishing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::CancelUnconfirmed => "cancel_unconfirmed",
            Self::Interrupted => "interrupted",
            Self::Denied => "denied",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// Whether nothing more happens to the run.
    pub fn ended(self) -> bool {
        matches!(
            self,
            Self::Done | Self::Failed | Self::Cancelled | Self::CancelUnconfirmed | Self::Interrupted | Self::Denied
        )
    }

    /// Whether it holds one of the places for live runs (I-17).
    pub fn live(self) -> bool {
        matches!(self, Self::Claimed | Self::Started | Self::Cancelling | Self::Finishing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [RunEvent; 12] = [
        RunEvent::Approve,
        RunEvent::Deny,
        RunEvent::Claim,
        RunEvent::Record,
        RunEvent::Requeue,
        RunEvent::Cancel,
        RunEvent::Gone,
        RunEvent::NotGone,
        RunEvent::Succeed,
        RunEvent::Fail,
        RunEvent::Settle,
        RunEvent::Interrupt,
    ];

    #[test]
    fn i_6_every_pair_is_listed_or_illegal() {
        let legal: usize = RunState::ALL.iter().map(|s| EVENTS.iter().filter(|e| next(*s, **e).is_ok()).count()).sum();
        assert_eq!(legal, 21);
    }

    #[test]
    fn i_6_an_ended_run_takes_nothing() {
        for state in RunState::ALL.into_iter().filter(|s| s.ended()) {
            for event in EVENTS {
                assert_eq!(next(state, event), Err(Illegal { state, event }));
            }
        }
    }

    #[test]
    fn i_6_cancelled_comes_only_before_a_start_or_after_proof() {
        for state in RunState::ALL {
            for event in EVENTS {
                if next(state, event) == Ok(RunState::Cancelled) {
                    let before_start =
                        matches!(state, RunState::Waiting | RunState::Queued) && event == RunEvent::Cancel;
                    assert!(before_start || event == RunEvent::Gone, "{state:?} {event:?}");
                }
            }
        }
    }

    #[test]
    fn i_7_a_waiting_run_is_queued_by_approve_alone() {
        for event in EVENTS {
            assert_eq!(next(RunState::Waiting, event) == Ok(RunState::Queued), event == RunEvent::Approve);
        }
    }

    #[test]
    fn states_round_trip_through_the_ledger() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.as_str()), Some(state));
        }
    }
}

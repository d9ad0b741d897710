//! When a request is sent again. Pure.

use std::time::Duration;

use super::super::error::ErrorKind;

/// Attempts of one call. Five outlast the usual blip; what lasts longer is for the loops above, which back off further.
const ATTEMPTS: u32 = 5;

/// A nonce is trusted to be remembered so long; Discord says «the past few minutes» (facts.md section 4).
const NONCE_WINDOW: Duration = Duration::from_secs(100);

/// Back-off of the second attempt at most; each further one may take twice as long, up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

/// Whether a request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Doing it twice is the same as doing it once.
    Harmless,
    /// It carries an enforced nonce: twice is once, for a while.
    SameNonce,
    /// Never, whatever happened (I-12).
    Never,
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    /// The request cannot have been carried out.
    Unsent,
    /// It was sent and no answer came.
    Unanswered,
    /// Discord failed (5xx). It may have been carried out.
    Server,
}

/// What is known about the attempts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tries {
    /// May it be sent again?
    pub(super) repeat: Repeat,
    /// Attempts that failed.
    pub(super) failed: u32,
    /// Time since an attempt may first have been carried out.
    pub(super) since_effect: Option<Duration>,
    /// How long the last attempt took, and so about how long the next one will.
    pub(super) took: Duration,
}

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Wait up to this (full jitter), then send again.
    Again(Duration),
    /// Tell the caller.
    GiveUp(ErrorKind),
}

/// What to do now. `tries.failed` counts this failure already.
pub(super) fn next(tries: Tries, failed: Failed) -> Next {
    let in_time = tries.since_effect.is_none_or(|since| since + tries.took < NONCE_WINDOW);
    let may = match tries.repeat {
        Repeat::Harmless => true,
        Repeat::SameNonce => in_time,
        Repeat::Never => false,
    };
    if may && tries.failed < ATTEMPTS {
        let longest = SHORTEST * 2u32.pow(tries.failed.saturating_sub(1).min(8));
        return Next::Again(longest.min(LONGEST));
    }
    Next::GiveUp(match (tries.repeat, failed) {
        (Repeat::Harmless, Failed::Server) => ErrorKind::Server,
        (Repeat::Harmless, _) => ErrorKind::Unreachable,
        _ if tries.since_effect.is_some() => ErrorKind::Unknown,
        _ => ErrorKind::Unreachable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn who_is_sent_again_and_what_is_said_at_the_end() {
        use ErrorKind::{Server, Unknown, Unreachable};
        use Failed as F;
        use Repeat::{Harmless, Never, SameNonce};
        // repeat, how it failed, failures so far, seconds since it may have been done; again, or what is said
        for (repeat, how, failed, since, give_up) in [
            (Harmless, F::Server, 1, Some(1), None),
            (Harmless, F::Unanswered, 4, Some(500), None),
            (Harmless, F::Server, 5, Some(1), Some(Server)),
            (Harmless, F::Unanswered, 5, Some(1), Some(Unreachable)),
            (Harmless, F::Unsent, 5, None, Some(Unreachable)),
            (SameNonce, F::Server, 1, Some(1), None),
            (SameNonce, F::Unsent, 1, None, None),
            (SameNonce, F::Unanswered, 4, Some(98), None),
            (SameNonce, F::Unanswered, 2, Some(99), Some(Unknown)),
            (SameNonce, F::Unanswered, 5, Some(1), Some(Unknown)),
            (SameNonce, F::Unsent, 5, Some(9), Some(Unknown)),
            (SameNonce, F::Unsent, 5, None, Some(Unreachable)),
            (Never, F::Unsent, 1, None, Some(Unreachable)),
            (Never, F::Unanswered, 1, Some(0), Some(Unknown)),
            (Never, F::Server, 1, Some(0), Some(Unknown)),
        ] {
            let tries = Tries { repeat, failed, since_effect: since.map(|s| S * s), took: S };
            let next = next(tries, how);
            match give_up {
                Some(kind) => assert_eq!(next, Next::GiveUp(kind), "{tries:?} {how:?}"),
                None => assert!(matches!(next, Next::Again(_)), "{tries:?} {how:?}: {next:?}"),
            }
        }
    }

    #[test]
    fn a_long_upload_is_not_repeated_past_the_nonce() {
        let slow = Tries { repeat: Repeat::SameNonce, failed: 1, since_effect: Some(S), took: S * 120 };
        assert_eq!(next(slow, Failed::Server), Next::GiveUp(ErrorKind::Unknown));
        assert!(matches!(next(Tries { since_effect: None, ..slow }, Failed::Unanswered), Next::Again(_)));
    }

    #[test]
    fn back_off_grows_and_ends() {
        let at = |failed| Tries { repeat: Repeat::Harmless, failed, since_effect: None, took: S };
        let waits: Vec<Next> = (1..=4).map(|n| next(at(n), Failed::Unsent)).collect();
        assert_eq!(waits, [250, 500, 1000, 2000].map(|n| Next::Again(Duration::from_millis(n))));
    }
}

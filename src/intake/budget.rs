//! When an IDENTIFY may be sent. A thousand a day resets the bot's token (discord/facts.md section 1).

use std::time::Duration;

use crate::base::clock::Millis;
use crate::discord::gateway::Budget;

/// IDENTIFYs that Discord allows a day.
pub const A_DAY: u64 = 1000;

/// IDENTIFYs that are left alone: for a person who restarts the host by hand, and for another program on the token.
pub const RESERVE: u64 = 100;

/// Span of the day's count.
pub const DAY: Duration = Duration::from_secs(24 * 3600);

/// Least time between two IDENTIFYs.
const SPACING: Duration = Duration::from_secs(5);

/// Longest wait before it is asked again, so that a budget which was filled up early is noticed.
const LONGEST: Duration = Duration::from_secs(3600);

/// What was used within the last [`DAY`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Option<Millis>,
    /// The last of them.
    pub last: Option<Millis>,
}

/// Whether an IDENTIFY may be sent now, with `left` more that Discord allows today.
pub fn may_identify(now: Millis, used: Used, left: u64) -> Budget {
    if left <= RESERVE {
        return Budget::Wait(LONGEST);
    }
    if used.count >= A_DAY - RESERVE {
        let free = used.first.map_or(now, |first| first.plus(DAY));
        return Budget::Wait(free.since(now).clamp(SPACING, LONGEST));
    }
    match used.last {
        // A last one in the future means that the clock was set back; waiting for it could take for ever.
        Some(last) if last <= now && now.since(last) < SPACING => Budget::Wait(SPACING - now.since(last)),
        _ => Budget::Go,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_a_bound_and_a_spacing() {
        let now = Millis(1_800_000_000_000);
        let ago = |s| Some(now.minus(Duration::from_secs(s)));
        let used = |count, first, last| Used { count, first, last };
        let secs = |s| Budget::Wait(Duration::from_secs(s));
        for (used, left, budget) in [
            (Used::default(), 1000, Budget::Go),
            (used(1, ago(5), ago(5)), 999, Budget::Go),
            (used(1, ago(2), ago(2)), 999, secs(3)),
            (used(1, Some(now.plus(DAY)), Some(now.plus(DAY))), 999, Budget::Go),
            (used(900, ago(24 * 3600 - 60), ago(60)), 999, secs(60)),
            (used(900, ago(3600), ago(60)), 999, secs(3600)),
            (Used::default(), RESERVE, secs(3600)),
        ] {
            assert_eq!(may_identify(now, used, left), budget, "{used:?} {left}");
        }
    }
}

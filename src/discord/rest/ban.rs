//! Counts refused requests, so that we stop before Discord blocks the address (facts.md section 9).

use std::time::Duration;

/// Discord blocks an address after 10,000 refusals (401, 403, 429) in ten minutes. We stop at half: another program
/// of the same household may have made some too.
const STOP_AT: u32 = 5_000;

/// One minute a slot; ten of them are the window.
const SLOT: Duration = Duration::from_secs(60);
const SLOTS: usize = 10;

/// Refusals of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    counts: [u32; SLOTS],
    newest: u64,
}

impl Refusals {
    /// Counts one.
    pub(super) fn add(&mut self, now: Duration) {
        let slot = self.turn(now);
        self.counts[slot] = self.counts[slot].saturating_add(1);
    }

    /// How long to send nothing; `None` if all is well.
    pub(super) fn pause(&mut self, now: Duration) -> Option<Duration> {
        self.turn(now);
        let total: u32 = self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n));
        (total >= STOP_AT).then_some(SLOT)
    }

    fn turn(&mut self, now: Duration) -> usize {
        let minute = now.as_secs() / SLOT.as_secs();
        let passed = minute.saturating_sub(self.newest).min(SLOTS as u64);
        for step in 1..=passed {
            let old = (self.newest + step) % SLOTS as u64;
            self.counts[old as usize] = 0;
        }
        if passed == SLOTS as u64 {
            self.counts = [0; SLOTS];
        }
        self.newest = self.newest.max(minute);
        (self.newest % SLOTS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_stop_well_before_the_block_and_go_on_after_it() {
        let mut refusals = Refusals::default();
        let at = |minute: u64| Duration::from_secs(minute * 60);
        for n in 0..STOP_AT {
            assert_eq!(refusals.pause(at(u64::from(n / 1000))), None, "{n}");
            refusals.add(at(u64::from(n / 1000)));
        }
        assert!(refusals.pause(at(4)).is_some());
        assert!(refusals.pause(at(9)).is_some());
        assert_eq!(refusals.pause(at(10)), None, "the first thousand are ten minutes old");
        assert_eq!(refusals.pause(at(1000)), None);
    }
}

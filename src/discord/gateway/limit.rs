//! How much may be sent: Discord closes with 4008 past 120 frames in 60 s of a connection, heartbeats counted.

use std::collections::VecDeque;
use std::time::Duration;

use crate::base::secret::Secret;

/// Length of Discord's window.
const WINDOW: Duration = Duration::from_secs(60);

/// Frames a window that heartbeats may fill: two under Discord's limit, since its clock is not ours.
const BEATS: usize = 118;

/// Frames a window that all else may fill, so that a heartbeat always finds room.
const OTHERS: usize = 110;

/// What was sent on this connection within the window, and what waits for room.
#[derive(Debug, Default)]
pub struct Sends {
    sent: VecDeque<Duration>,
    waiting: VecDeque<Secret>,
    beat_owed: bool,
}

impl Sends {
    /// Counts a heartbeat that is due, if there is room; else it is owed.
    pub fn beat(&mut self, now: Duration) -> bool {
        let room = self.count(now, BEATS);
        self.beat_owed = !room;
        room
    }

    /// Counts a heartbeat that the server asked for. Without room it is owed, once, however often it was asked for.
    pub fn asked_beat(&mut self, now: Duration) -> bool {
        let room = self.count(now, OTHERS);
        self.beat_owed |= !room;
        room
    }

    /// Puts a frame behind those that wait.
    pub fn push(&mut self, frame: Secret) {
        self.waiting.push_back(frame);
    }

    /// Whether an owed heartbeat may go now.
    pub fn owed_beat(&mut self, now: Duration) -> bool {
        let go = self.beat_owed && self.count(now, OTHERS);
        self.beat_owed &= !go;
        go
    }

    /// The next frame that may go now.
    pub fn pop(&mut self, now: Duration) -> Option<Secret> {
        if self.waiting.is_empty() || !self.count(now, OTHERS) {
            return None;
        }
        self.waiting.pop_front()
    }

    /// When there is room again for what waits.
    pub fn due(&self) -> Option<Duration> {
        let waits = self.beat_owed || !self.waiting.is_empty();
        let over = self.sent.len().checked_sub(OTHERS)?;
        if waits { self.sent.get(over).map(|at| *at + WINDOW) } else { None }
    }

    fn count(&mut self, now: Duration, ceiling: usize) -> bool {
        while self.sent.front().is_some_and(|at| *at + WINDOW <= now) {
            self.sent.pop_front();
        }
        let room = self.sent.len() < ceiling;
        if room {
            self.sent.push_back(now);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_keep_their_room_and_what_waits_goes_when_the_window_moves() {
        let at = Duration::from_secs;
        let mut sends = Sends::default();
        let asked = (0..300).filter(|_| sends.asked_beat(at(1))).count();
        assert_eq!(asked, OTHERS);
        assert!(sends.beat(at(2)), "a due heartbeat finds room");
        assert!(!sends.asked_beat(at(2)));
        sends.push(Secret::new("resume"));
        assert_eq!(sends.pop(at(3)), None);
        assert_eq!(sends.due(), Some(at(61)));
        assert!(sends.owed_beat(at(61)));
        assert!(!sends.owed_beat(at(61)), "it is owed once");
        assert_eq!(sends.pop(at(61)), Some(Secret::new("resume")));
        assert_eq!(sends.due(), None);
    }

    #[test]
    fn a_minute_never_holds_more_than_discord_takes() {
        let mut sends = Sends::default();
        let sent = (0..60_000u64).filter(|ms| {
            let now = Duration::from_millis(*ms);
            sends.beat(now) || sends.asked_beat(now)
        });
        assert!(sent.count() <= BEATS);
    }
}

//! Lanes: one per channel, so that each keeps its order and none waits for another; and the pace of each.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::Id;

use super::hands::Took;
use crate::base::ids::{ChannelId, UserId};

/// One edit per channel in this time: Discord gives about five in five seconds, and others edit there too.
pub(super) const EDIT_GAP: Duration = Duration::from_millis(1200);

/// Where things are kept in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// A channel or thread.
    Channel(ChannelId),
    /// A person's direct messages.
    Person(UserId),
}

/// Moments of steady time before which a lane rests.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    edits: Duration,
    all: Duration,
}

/// Which lanes are busy and which rest.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    busy: HashMap<Id, Lane>,
    rest: HashMap<Lane, Rest>,
}

impl Lanes {
    pub(super) fn is_busy(&self, lane: Lane) -> bool {
        self.busy.values().any(|l| *l == lane)
    }

    pub(super) fn begin(&mut self, lane: Lane, task: Id) {
        self.busy.insert(task, lane);
    }

    pub(super) fn end(&mut self, task: Id, took: Took, now: Duration) {
        let Some(lane) = self.busy.remove(&task) else { return };
        let rest = self.rest.entry(lane).or_default();
        match took {
            Took::Nothing => {}
            Took::Edit => rest.edits = now + EDIT_GAP,
            Took::Wait(time) => rest.all = now + time,
        }
    }

    /// How long the lane must still rest; `None` if it may go now.
    pub(super) fn wait(&self, lane: Lane, edit: bool, now: Duration) -> Option<Duration> {
        let rest = self.rest.get(&lane)?;
        let until = if edit { rest.all.max(rest.edits) } else { rest.all };
        (until > now).then(|| until - now)
    }

    /// Forgets rests that are over, so that the table does not grow with the channels ever seen.
    pub(super) fn forget_past(&mut self, now: Duration) {
        self.rest.retain(|_, rest| rest.all.max(rest.edits) > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn edits_rest_and_posts_do_not_and_lanes_do_not_share() {
        let mut set = tokio::task::JoinSet::new();
        let (a, b) = (Lane::Channel(ChannelId(1)), Lane::Channel(ChannelId(2)));
        let mut lanes = Lanes::default();
        let id = set.spawn(async {}).id();
        lanes.begin(a, id);
        assert!(lanes.is_busy(a) && !lanes.is_busy(b));
        let now = Duration::from_secs(10);
        lanes.end(id, Took::Edit, now);
        assert_eq!(lanes.wait(a, true, now), Some(EDIT_GAP));
        assert_eq!(lanes.wait(a, false, now), None);
        assert_eq!(lanes.wait(b, true, now), None);
        lanes.forget_past(now + EDIT_GAP);
        assert!(lanes.rest.is_empty());
    }
}

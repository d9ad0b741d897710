//! Boot-time sweep: ends what an earlier host left behind, by recorded warden and mark.

use std::time::Duration;

use super::{ProcessId, tree, warden};
use crate::base::clock::{Clock, SystemClock};

/// How long a warden is left to end its tree itself: it noticed the end of its host, and knows its
/// tree better than anybody else. An ordinary end takes no longer than the grace.
const PATIENCE: Duration = Duration::from_secs(3).saturating_add(warden::GRACE);

/// What became of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Mark of the run.
    pub mark: String,
    /// Processes that the sweep itself had to end, the warden included.
    pub ended: u32,
    /// Whether nothing of the run is left.
    pub gone: bool,
}

/// Ends recorded wardens that are still the same processes, all they own, and everything that
/// carries their mark. Blocks, for some seconds at most, all records together for the first part.
pub fn sweep(records: &[(ProcessId, String)]) -> Vec<Swept> {
    let clock = SystemClock::new();
    while clock.steady() < PATIENCE && records.iter().any(|(id, mark)| is_warden(*id, mark)) {
        tree::pause();
    }
    records.iter().map(|(id, mark)| sweep_one(*id, mark)).collect()
}

fn sweep_one(id: ProcessId, mark: &str) -> Swept {
    let look = || {
        if !is_warden(id, mark) {
            return tree::marked(mark);
        }
        let mut found = tree::of_run(id.pid, mark);
        found.push(id);
        found
    };
    let ended = tree::end(&look, Duration::ZERO);
    Swept { mark: mark.to_owned(), ended: u32::try_from(ended.processes.len()).unwrap_or(u32::MAX), gone: ended.gone }
}

/// Number and start time could fit a stranger after a reboot; the mark cannot.
fn is_warden(id: ProcessId, mark: &str) -> bool {
    tree::alive(id) && tree::carries(id.pid, mark)
}

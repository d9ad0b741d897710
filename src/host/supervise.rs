//! Owns the loops: starts them in order, restarts the one that fails, stops them in reverse order.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::{Id, JoinError, JoinSet};

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, Kind};
use crate::base::stop::Stop;

/// First wait before a failed loop is started again; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Longest wait before a failed loop is started again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Time for the cards to say why the host ends, before what shows them is stopped too.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A loop that ran this long was well: its next failure counts as the first.
const WELL: Duration = Duration::from_secs(120);

/// Failures in a row after which a person must look (about four minutes of trying).
const MOST_FAILURES: u32 = 12;

/// Starts a loop; called again for each restart.
type Start = Box<dyn Fn(Stop) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// A loop and how it is kept.
pub struct Member {
    name: &'static str,
    patience: Duration,
    start: Arc<Start>,
}

impl Member {
    /// A loop. `patience` is how long its stop may take before it is cut off.
    pub fn new(
        name: &'static str,
        patience: Duration,
        start: impl Fn(Stop) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync + 'static,
    ) -> Self {
        Self { name, patience, start: Arc::new(Box::new(start)) }
    }
}

/// How failures are taken.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// First wait before a failed loop is started again; doubled each time.
    pub first: Duration,
    /// Longest wait.
    pub longest: Duration,
    /// Time for the other loops to show why the host ends.
    pub last_words: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { first: FIRST_WAIT, longest: LONGEST_WAIT, last_words: LAST_WORDS }
    }
}

/// Runs loops.
pub struct Supervisor {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub entropy: Arc<Entropy>,
    /// How failures are taken.
    pub pace: Pace,
}

impl Supervisor {
    /// Runs `members` until `stop`, then stops the last first, each within its patience.
    ///
    /// # Errors
    /// A failure that trying again cannot mend, or one that came too often in a row. All others are stopped then.
    pub async fn run(&self, members: Vec<Member>, stop: Stop) -> Result<(), Failure> {
        let clock = Arc::clone(&self.clock);
        let mut house = House { tasks: JoinSet::new(), running: HashMap::new(), members, clock };
        let stops: Vec<Stop> = house.members.iter().map(|_| Stop::new()).collect();
        for (index, stop) in stops.iter().enumerate() {
            house.start(index, stop.clone(), 0, Duration::ZERO);
        }
        let outcome = loop {
            let ended = tokio::select! {
                () = stop.wait() => break Ok(()),
                ended = house.tasks.join_next_with_id() => ended,
            };
            let Some(ended) = ended else { break Ok(()) };
            let (index, failures, why) = house.judge(ended);
            if let Some(fatal) = fatal(why, failures) {
                tokio::select! {
                    () = stop.wait() => {}
                    () = tokio::time::sleep(self.pace.last_words) => {}
                }
                break Err(fatal);
            }
            let wait = back_off(&self.pace, failures, self.entropy.fraction());
            house.start(index, stops[index].clone(), failures, wait);
        };
        house.stop(&stops).await;
        outcome
    }
}

struct House {
    tasks: JoinSet<Result<(), Failure>>,
    /// Which member a task is, its failures in a row before it, and when it was started.
    running: HashMap<Id, (usize, u32, Duration)>,
    members: Vec<Member>,
    clock: Arc<dyn Clock>,
}

impl House {
    fn start(&mut self, index: usize, stop: Stop, failures: u32, wait: Duration) {
        let start = Arc::clone(&self.members[index].start);
        let handle = self.tasks.spawn(async move {
            tokio::select! {
                () = stop.wait() => return Ok(()),
                () = tokio::time::sleep(wait) => {}
            }
            start(stop).await
        });
        self.running.insert(handle.id(), (index, failures, self.clock.steady() + wait));
    }

    fn judge(&mut self, ended: Result<(Id, Result<(), Failure>), JoinError>) -> (usize, u32, Failure) {
        let (id, why) = match ended {
            Ok((id, Ok(()))) => (id, Failure::failed("It ended without being told to.")),
            Ok((id, Err(failure))) => (id, failure),
            Err(error) => (error.id(), Failure::failed(format!("It fell over: {error}."))),
        };
        let (index, before, since) = self.running.remove(&id).unwrap_or((0, MOST_FAILURES, Duration::ZERO));
        let well = self.clock.steady().saturating_sub(since) >= WELL;
        let failures = if well { 1 } else { before + 1 };
        tracing::warn!("{} failed ({failures} in a row): {why}", self.members[index].name);
        (index, failures, why)
    }

    /// Tells the last to stop first and waits for it before the next is told: what hears stops before what works, and
    /// what works before what shows.
    async fn stop(&mut self, stops: &[Stop]) {
        for index in (0..self.members.len()).rev() {
            stops[index].stop();
            let patience = self.members[index].patience;
            if tokio::time::timeout(patience, self.wait_for(index)).await.is_err() {
                tracing::warn!("{} did not stop within {patience:?} and is cut off", self.members[index].name);
            }
        }
        self.tasks.shutdown().await;
    }

    async fn wait_for(&mut self, index: usize) {
        while self.running.values().any(|(i, ..)| *i == index) {
            let Some(ended) = self.tasks.join_next_with_id().await else { return };
            let id = match &ended {
                Ok((id, _)) => *id,
                Err(error) => error.id(),
            };
            self.running.remove(&id);
        }
    }
}

/// Failures that a restart would only repeat. Loops try Discord again by themselves where that helps, so what they give
/// back is Discord's last word: a wrong token must not be tried again and again.
fn fatal(why: Failure, failures: u32) -> Option<Failure> {
    let hopeless = matches!(why.kind, Kind::Usage | Kind::Refused | Kind::AlreadyRunning | Kind::Discord);
    (hopeless || failures >= MOST_FAILURES).then_some(why)
}

/// Doubling with jitter in its upper half, so that loops which failed together do not come back together.
fn back_off(pace: &Pace, failures: u32, fraction: f64) -> Duration {
    let whole = pace.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(pace.longest);
    whole.mul_f64(0.5 + fraction / 2.0)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::base::clock::SystemClock;

    type Log = Arc<Mutex<Vec<String>>>;

    fn supervisor() -> Supervisor {
        let pace = Pace {
            first: Duration::from_millis(1),
            longest: Duration::from_millis(4),
            last_words: Duration::from_millis(1),
        };
        Supervisor { clock: SystemClock::shared(), entropy: Arc::new(Entropy::seeded(1)), pace }
    }

    fn obedient(name: &'static str, log: &Log) -> Member {
        let log = Arc::clone(log);
        Member::new(name, Duration::from_secs(5), move |stop| {
            let log = Arc::clone(&log);
            Box::pin(async move {
                log.lock().unwrap().push(format!("+{name}"));
                stop.wait().await;
                log.lock().unwrap().push(format!("-{name}"));
                Ok(())
            })
        })
    }

    #[tokio::test]
    async fn the_last_stops_first() {
        let log = Log::default();
        let members = ["show", "do", "hear"].map(|name| obedient(name, &log)).into();
        let stop = Stop::new();
        let wanted = Arc::clone(&log);
        let told = stop.clone();
        let watch = async move {
            while wanted.lock().unwrap().len() < 3 {
                tokio::task::yield_now().await;
            }
            told.stop();
        };
        let supervisor = supervisor();
        let (outcome, ()) = tokio::join!(supervisor.run(members, stop), watch);
        outcome.unwrap();
        assert_eq!(log.lock().unwrap()[3..], ["-hear", "-do", "-show"]);
    }

    #[tokio::test]
    async fn a_loop_that_fails_is_started_again_and_one_that_hangs_is_cut_off() {
        let tries = Arc::new(AtomicU32::new(0));
        let stop = Stop::new();
        let (count, told) = (Arc::clone(&tries), stop.clone());
        let failing = Member::new("failing", Duration::from_secs(5), move |_| {
            let (n, told) = (count.fetch_add(1, Ordering::SeqCst), told.clone());
            Box::pin(async move {
                match n {
                    0 => Err(Failure::failed("No.")),
                    1 => panic!("a loop fell over"),
                    _ => {
                        told.stop();
                        std::future::pending().await
                    }
                }
            })
        });
        supervisor().run(vec![failing], stop).await.unwrap();
        assert_eq!(tries.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_failure_that_cannot_mend_ends_the_host() {
        let log = Log::default();
        let hopeless = Member::new("hear", Duration::from_secs(5), |_| {
            Box::pin(async { Err(Failure::usage("The token is wrong.")) })
        });
        let members = vec![obedient("show", &log), hopeless];
        let failure = supervisor().run(members, Stop::new()).await.unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        assert!(!log.lock().unwrap().iter().any(|line| line == "-hear"));
    }

    #[tokio::test]
    async fn failing_for_ever_ends_the_host() {
        let bad = Member::new("bad", Duration::from_secs(5), |_| Box::pin(async { Err(Failure::failed("No.")) }));
        let failure = supervisor().run(vec![bad], Stop::new()).await.unwrap_err();
        assert_eq!(failure.message, "No.");
    }

    #[test]
    fn waits_grow_and_are_bounded() {
        assert_eq!(back_off(&Pace::default(), 1, 0.0), Duration::from_millis(125));
        assert_eq!(back_off(&Pace::default(), 3, 1.0), Duration::from_secs(1));
        assert!(back_off(&Pace::default(), 99, 1.0) <= LONGEST_WAIT);
    }
}

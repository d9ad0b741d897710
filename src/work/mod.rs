//! The work loop: claims queued runs, has a backend do them, records what happened. Never speaks to Discord itself,
//! but for artifacts, whose bytes go up before their row (I-9).
//!
//! Start-up is not special: the loop's first look at the ledger finds what an earlier process left behind
//! ([`recover`]).

mod answer;
pub mod artifacts;
pub mod claim;
pub mod recover;
pub mod run;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinSet};

use crate::base::bell::Bell;
use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::ids::{BotKey, HostId, RunId};
use crate::base::stop::Stop;
use crate::compute::Backend;
use crate::discord::Discord;
use crate::ledger::{Ledger, runs};
use crate::model::run::RunState;
use crate::model::settings::Limits;

/// Longest the loop sleeps without a ring; a ring is lost only with the process, so this is a safety net.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// After Stop, runs have this long to be ended and recorded.
const FAREWELL: Duration = Duration::from_secs(10);

/// Pause before a run is picked up again that could not be followed.
const AFTER_TROUBLE: Duration = Duration::from_secs(2);

/// What the work loop is made of.
pub struct WorkParts {
    /// Facts.
    pub ledger: Ledger,
    /// Who does the work.
    pub backend: Arc<dyn Backend>,
    /// For artifacts.
    pub discord: Arc<dyn Discord>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub entropy: Arc<Entropy>,
    /// This host.
    pub host: HostId,
    /// Bot that artifacts are posted by.
    pub bot: BotKey,
    /// Bounds.
    pub limits: Limits,
    /// Folder that runs work in.
    pub cwd: PathBuf,
    /// Folder for the runs' artifact folders.
    pub artifacts: PathBuf,
}

/// The work loop.
pub struct Work {
    parts: Arc<WorkParts>,
    bell: Bell,
    live: JoinSet<()>,
    /// What each task of `live` follows.
    follows: HashMap<Id, RunId>,
    stops: HashMap<RunId, Stop>,
    /// Runs whose task is over. Those that have not ended are picked up again.
    left: Vec<RunId>,
}

impl Work {
    /// The loop, not yet running.
    pub fn new(parts: WorkParts) -> Self {
        let bell = parts.ledger.bell();
        let (live, follows, stops) = (JoinSet::new(), HashMap::new(), HashMap::new());
        Self { parts: Arc::new(parts), bell, live, follows, stops, left: Vec::new() }
    }

    /// Recovers, then claims and follows runs until `stop`.
    ///
    /// # Errors
    /// Where the ledger fails; the supervisor starts the loop again.
    pub async fn run(mut self, stop: Stop) -> Result<(), Failure> {
        recover::recover(&self.parts).await?;
        while !stop.stopped() {
            self.take_back_ended();
            self.pick_up_left().await?;
            self.pass_on_cancels().await?;
            self.start_what_may(&stop).await?;
            tokio::select! {
                () = stop.wait() => break,
                () = self.bell.wait(LONGEST_SLEEP) => {}
                Some(ended) = self.live.join_next_with_id(), if !self.live.is_empty() => self.forget(ended),
            }
        }
        self.wait_for_live().await;
        Ok(())
    }

    async fn start_what_may(&mut self, stop: &Stop) -> Result<(), Failure> {
        // What was ended before this process started still has its artifacts and receipt to come.
        for run in self.in_state(RunState::Finishing).await? {
            if !self.stops.contains_key(&run.id) {
                let parts = Arc::clone(&self.parts);
                self.follow(run.id.clone(), stop, async move |tokens| run::finish(parts, run, &tokens).await);
            }
        }
        while let Some(run) = claim::next(&self.parts).await? {
            let parts = Arc::clone(&self.parts);
            self.follow(run.id.clone(), stop, move |tokens| run::carry_out(parts, run, tokens));
        }
        Ok(())
    }

    fn follow<F, W>(&mut self, id: RunId, stop: &Stop, work: F)
    where
        F: FnOnce(run::Tokens) -> W,
        W: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let cancel = Stop::new();
        self.stops.insert(id.clone(), cancel.clone());
        let stop = stop.child();
        let work = work(run::Tokens { cancel, stop: stop.clone() });
        let task = self.live.spawn(async move {
            if work.await.log_and_go_on("a run could not be followed to its end").is_none() {
                // It is picked up again; not at once, since what failed would fail again.
                tokio::select! {
                    () = stop.wait() => {}
                    () = tokio::time::sleep(AFTER_TROUBLE) => {}
                }
            }
        });
        self.follows.insert(task.id(), id);
    }

    async fn pass_on_cancels(&self) -> Result<(), Failure> {
        for run in self.in_state(RunState::Cancelling).await? {
            if let Some(cancel) = self.stops.get(&run.id) {
                cancel.stop();
            }
        }
        Ok(())
    }

    async fn in_state(&self, state: RunState) -> Result<Vec<runs::Run>, Failure> {
        let (host, most) = (self.parts.host.clone(), self.parts.limits.max_live);
        Ok(self.parts.ledger.read(move |read| runs::in_state(read, &host, state, most)).await?)
    }

    fn take_back_ended(&mut self) {
        while let Some(ended) = self.live.try_join_next_with_id() {
            self.forget(ended);
        }
    }

    fn forget(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let task = match ended {
            Ok((task, ())) => task,
            Err(error) => {
                tracing::error!("a run's task broke off: {error}");
                error.id()
            }
        };
        if let Some(run) = self.follows.remove(&task) {
            self.stops.remove(&run);
            self.left.push(run);
        }
    }

    /// A run whose task is over but whose row lives on would hold its place for ever.
    async fn pick_up_left(&mut self) -> Result<(), Failure> {
        match std::mem::take(&mut self.left) {
            left if left.is_empty() => Ok(()),
            left => recover::lost(&self.parts, left).await,
        }
    }

    async fn wait_for_live(&mut self) {
        let all = async { while self.live.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            // Dropped, each run's control pipe closes, and its warden ends everything it started.
            self.live.abort_all();
        }
    }
}

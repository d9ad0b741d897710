//! What was heard waits here in order until the ears have taken it, so that slow ears do not stop the heartbeats.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Ears, Heard, Saved};
use crate::base::failure::Failure;

/// Events that may wait: a burst of 500 with room to spare. Beyond it frames stay unread in the socket.
const MAX_WAITING: usize = 1_024;

/// One thing for the ears.
#[derive(Debug)]
pub(super) enum Job {
    /// Keep a session, or forget the kept one.
    Keep(Option<Saved>),
    /// Take an event.
    Take(Heard),
}

/// Session and sequence number of an event that was taken.
pub(super) type Taken = Option<(String, u64)>;

/// How a taker ended.
struct Ended {
    taken: Taken,
    failure: Option<Failure>,
}

/// What the line reports.
#[derive(Debug)]
pub(super) enum Report {
    /// There is room again.
    Room,
    /// Something could not be taken, and all behind it was dropped.
    NotTaken(Taken, String),
}

/// The line itself. Its taker is stopped when it is dropped.
pub(super) struct Line {
    ears: Arc<dyn Ears>,
    jobs: mpsc::Sender<Job>,
    /// What found no room.
    over: VecDeque<Job>,
    taker: JoinSet<Ended>,
}

impl Line {
    /// An empty line; `taken` is what a former process took last.
    pub(super) fn new(ears: Arc<dyn Ears>, taken: Taken) -> Self {
        let (jobs, inbox) = mpsc::channel(MAX_WAITING);
        let mut taker = JoinSet::new();
        taker.spawn(take_in_order(Arc::clone(&ears), inbox, taken));
        Self { ears, jobs, over: VecDeque::new(), taker }
    }

    /// Puts something at the end.
    pub(super) fn push(&mut self, job: Job) {
        if !self.over.is_empty() {
            return self.over.push_back(job);
        }
        match self.jobs.try_send(job) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(job)) => self.over.push_back(job),
            // The taker has failed: what it leaves is dropped and replayed, and `next` is about to say so.
            Err(mpsc::error::TrySendError::Closed(_)) => {}
        }
    }

    /// Whether no more should be heard for now.
    pub(super) fn is_full(&self) -> bool {
        !self.over.is_empty()
    }

    /// The next report. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Report {
        loop {
            let ended = tokio::select! {
                biased;
                Some(ended) = self.taker.join_next() => Some(ended),
                Ok(room) = self.jobs.reserve(), if !self.over.is_empty() => {
                    if let Some(job) = self.over.pop_front() {
                        room.send(job);
                    }
                    None
                }
            };
            match ended {
                Some(ended) => return self.restart(ended),
                None if self.over.is_empty() => return Report::Room,
                None => {}
            }
        }
    }

    /// Lets the ears take what waits, for at most this long.
    pub(super) async fn end(mut self, within: Duration) {
        drop(self.jobs);
        if tokio::time::timeout(within, self.taker.join_next()).await.is_err() {
            tracing::warn!("Some events were not taken before the stop; Discord will send them again.");
        }
    }

    fn restart(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> Report {
        let (taken, why) = match ended {
            Ok(Ended { taken, failure }) => (taken, failure.map(|f| f.message)),
            // A panic in the ears; what was taken is unknown, so the session is given up.
            Err(error) => (None, Some(format!("Taking an event ended with a panic: {error}."))),
        };
        *self = Self::new(Arc::clone(&self.ears), taken.clone());
        Report::NotTaken(taken, why.unwrap_or_else(|| "Events are no longer taken.".to_owned()))
    }
}

async fn take_in_order(ears: Arc<dyn Ears>, mut inbox: mpsc::Receiver<Job>, mut taken: Taken) -> Ended {
    while let Some(job) = inbox.recv().await {
        let done = match job {
            Job::Keep(session) => ears.keep(session).await,
            Job::Take(heard) => {
                let place = (heard.session_id.clone(), heard.seq);
                ears.take(heard).await.map(|()| taken = Some(place))
            }
        };
        if let Err(failure) = done {
            return Ended { taken, failure: Some(failure) };
        }
    }
    Ended { taken, failure: None }
}

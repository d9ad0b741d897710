//! Owner of tasks that carry a run's output: dropped, it stops them, and so ends their runs.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;

/// Holds tasks; the last clone dropped aborts them. A task must not hold a clone itself.
#[derive(Debug, Clone, Default)]
pub struct Nursery(Arc<Mutex<JoinSet<()>>>);

impl Nursery {
    /// Starts a task. Needs a tokio runtime.
    pub fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is let go here, so that the set is never larger than what runs at once.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

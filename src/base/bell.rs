//! A bell wakes a loop and carries no data: a lost ring delays, never loses.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

/// Wakes whoever waits. Rings that nobody waits for are kept as one.
#[derive(Debug, Clone, Default)]
pub struct Bell(Arc<Notify>);

impl Bell {
    /// A bell of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes the loop that waits, or the next one that comes to wait.
    pub fn ring(&self) {
        self.0.notify_one();
    }

    /// Whether anybody else holds this bell.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Waits for a ring, at most `longest`.
    pub async fn wait(&self, longest: Duration) {
        // Which of the two ended the wait does not matter: the loop looks at the ledger either way.
        drop(tokio::time::timeout(longest, self.0.notified()).await);
    }
}

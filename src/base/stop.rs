//! Stopping: one tree of tokens, so that a parent's stop reaches every child.

use tokio_util::sync::CancellationToken;

/// Told once, for ever. Children stop with their parent, not the other way.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// The root of a tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that stops when this one does, and can be stopped alone.
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Says stop.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Whether stop was said.
    pub fn stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until stop is said.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }
}

//! Discord's clock, as far as its answers have told it. Ages of messages are never measured by ours (I-2).

use std::sync::Mutex;
use std::time::Duration;

use crate::base::clock::{Clock, Millis};

/// Discord's time at a moment of our steady clock.
#[derive(Debug, Default)]
pub(super) struct ServerTime(Mutex<Option<(Millis, Duration)>>);

impl ServerTime {
    /// Discord said that it is `server`.
    pub(super) fn learn(&self, server: Millis, clock: &dyn Clock) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((server, clock.steady()));
    }

    /// Discord's time now; `None` before it was told once.
    pub(super) fn now(&self, clock: &dyn Clock) -> Option<Millis> {
        let (server, at) = (*self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))?;
        Some(server.plus(clock.steady().saturating_sub(at)))
    }
}

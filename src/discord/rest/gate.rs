//! The door that every request of the bot passes: buckets, the global limit, and when to send nothing at all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::super::error::{DiscordError, ErrorKind};
use super::ban::Refusals;
use super::buckets::{Back, Buckets, Gate, Scope, Slot};
use super::route::Route;
use crate::base::clock::Clock;

/// Lets requests through when Discord would take them.
pub(super) struct Door {
    state: Mutex<State>,
    bell: Notify,
    clock: Arc<dyn Clock>,
    patience: Duration,
}

#[derive(Default)]
struct State {
    buckets: Buckets,
    refusals: Refusals,
    blocked_until: Duration,
    unauthorized: bool,
}

/// A request that may go. Dropping it without [`Permit::back`] gives the place back, also when a caller goes away.
pub(super) struct Permit<'a> {
    door: &'a Door,
    slot: Option<Slot>,
}

impl Door {
    /// A door whose callers wait at most `patience` each. `clock` must move on while they do.
    pub(super) fn new(clock: Arc<dyn Clock>, patience: Duration) -> Self {
        Self { state: Mutex::default(), bell: Notify::new(), clock, patience }
    }

    /// Waits for a place. `waited` adds up over the attempts of one call.
    ///
    /// # Errors
    /// `RateLimited` if the wait would be longer than our patience; what [`Door::check`] says.
    pub(super) async fn enter(&self, route: &Route, waited: &mut Duration) -> Result<Permit<'_>, DiscordError> {
        loop {
            // Listening starts before the look, so that a place freed in between is not missed.
            let mut freed = std::pin::pin!(self.bell.notified());
            freed.as_mut().enable();
            let now = self.clock.steady();
            let gate = {
                let mut state = self.lock();
                state.refusal(now)?;
                state.buckets.decide(route, now)
            };
            match gate {
                Gate::Go(slot) => return Ok(Permit { door: self, slot: Some(slot) }),
                Gate::Wait(by) if *waited + by > self.patience => return Err(impatient(by)),
                Gate::Wait(by) => {
                    sleep(by).await;
                    *waited += by;
                }
                Gate::Busy => {
                    let left = self.patience.saturating_sub(*waited);
                    if timeout(left, freed).await.is_err() {
                        return Err(impatient(Duration::from_secs(1)));
                    }
                    *waited += self.clock.steady().saturating_sub(now);
                }
            }
        }
    }

    /// # Errors
    /// `Unauthorized` once Discord has refused the token; `Blocked` while a pause lasts.
    pub(super) fn check(&self) -> Result<(), DiscordError> {
        self.lock().refusal(self.clock.steady())
    }

    /// Counts an answer that brings us nearer to a block (401, 403, 429).
    pub(super) fn count_refusal(&self) {
        self.lock().refusals.add(self.clock.steady());
    }

    /// Discord refused the token: nothing is sent any more.
    pub(super) fn close(&self) {
        self.lock().unauthorized = true;
    }

    /// Nothing is sent for this long.
    pub(super) fn block(&self, by: Duration) {
        let until = self.clock.steady() + by;
        let mut state = self.lock();
        state.blocked_until = state.blocked_until.max(until);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn refusal(&mut self, now: Duration) -> Result<(), DiscordError> {
        if self.unauthorized {
            let said = "Discord refused the bot token, so nothing is sent until the program starts with a new one.";
            return Err(DiscordError::new(ErrorKind::Unauthorized, said));
        }
        let blocked = self.blocked_until.checked_sub(now).filter(|left| !left.is_zero());
        let Some(left) = blocked.or_else(|| self.refusals.pause(now)) else { return Ok(()) };
        let said = "Discord has refused too much from this address, so nothing is sent for a while.";
        Err(DiscordError { after: Some(left), ..DiscordError::new(ErrorKind::Blocked, said) })
    }
}

fn impatient(after: Duration) -> DiscordError {
    let said = format!("Discord takes no more of this for {}.", crate::base::text::span(after));
    DiscordError { after: Some(after), ..DiscordError::new(ErrorKind::RateLimited, said) }
}

impl Permit<'_> {
    /// The answer is there; learns from it and lets the next one through.
    pub(super) fn back(mut self, back: Back) {
        self.finish(back);
    }

    /// The answer was a 429.
    pub(super) fn limited(mut self, scope: Scope, after: Duration, back: Back) {
        if let Some(slot) = self.slot.clone() {
            self.finish(back);
            let now = self.door.clock.steady();
            self.door.lock().buckets.limited(&slot, scope, after, now);
        }
    }

    fn finish(&mut self, back: Back) {
        if let Some(slot) = self.slot.take() {
            let now = self.door.clock.steady();
            self.door.lock().buckets.finish(&slot, back, now);
            self.door.bell.notify_waiters();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.finish(Back::Nothing);
    }
}

//! Time. Everything asks a [`Clock`], so that a test can hold the clock in its hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// A moment: milliseconds since the Unix epoch, as the ledger stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The moment `by` later.
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.as_millis().min(i64::MAX as u128) as i64))
    }

    /// The moment `by` earlier.
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by.as_millis().min(i64::MAX as u128) as i64))
    }

    /// Time since `earlier`; zero if that lies in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0).max(0) as u64)
    }

    /// Whole seconds since the Unix epoch, as Discord's `<t:…>` marks want them.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// RFC 3339 in UTC with milliseconds, the form of every time in our JSON.
    pub fn rfc3339(self) -> String {
        DateTime::<Utc>::from_timestamp_millis(self.0)
            .unwrap_or(DateTime::<Utc>::UNIX_EPOCH)
            .to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// Reads an ISO 8601 / RFC 3339 time, as Discord writes them.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|t| Self(t.timestamp_millis()))
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Millis;

    /// Time since some fixed moment, which never goes back.
    fn steady(&self) -> Duration;
}

/// The machine's own clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose steady time starts now.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the machine's clocks")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }

    /// The same, ready to be shared.
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self::new())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the machine's clocks")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(since.as_millis() as i64)
    }

    fn steady(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicI64,
    start: i64,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Millis) -> Self {
        Self { now: AtomicI64::new(now.0), start: now.0 }
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::SeqCst).saturating_sub(self.start).max(0) as u64)
    }
}

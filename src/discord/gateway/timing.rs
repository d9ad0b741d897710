//! How long the gateway's reader waits for what. Tests take shorter times.

use std::time::Duration;

/// Waits of a connection. The defaults are for Discord itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// To ask Discord where the gateway is; the REST client repeats inside of it.
    pub lookup: Duration,
    /// To open TCP, TLS and the WebSocket; a phone's hotspot needs several seconds for it.
    pub connect: Duration,
    /// From the open socket to HELLO, which Discord sends at once.
    pub hello: Duration,
    /// From IDENTIFY to READY; Discord may take long with many servers.
    pub ready: Duration,
    /// From RESUME, or the last replayed event, to the next one or RESUMED.
    pub resumed: Duration,
    /// To get one frame out; longer means that the network is stuck.
    pub send: Duration,
    /// To say goodbye, and to let the events that were heard be taken. A stopping host waits for both.
    pub close: Duration,
    /// Ceiling of the wait before the first reconnect; it doubles with every failure.
    pub backoff_base: Duration,
    /// Ceiling that the doubling stops at.
    pub backoff_cap: Duration,
    /// Least wait after op 9 (discord/facts.md section 2: a random 1 to 5 s).
    pub refused_min: Duration,
    /// Greatest wait after op 9.
    pub refused_max: Duration,
    /// How long a session must have lived for the failures before it to be forgotten.
    pub lasted: Duration,
    /// Longest wait for the IDENTIFY budget that is spent on an open connection; for a longer one it is closed.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self {
            lookup: s(30),
            connect: s(15),
            hello: s(20),
            ready: s(30),
            resumed: s(30),
            send: s(5),
            close: s(2),
            backoff_base: s(1),
            backoff_cap: s(60),
            refused_min: s(1),
            refused_max: s(5),
            lasted: s(60),
            patience: s(10),
        }
    }
}

impl Timing {
    /// Full jitter: anything between nothing and the ceiling, which doubles with every failure. `fraction` is a random
    /// number in `0.0..1.0`.
    pub fn backoff(&self, failures: u32, fraction: f64) -> Duration {
        let doubled = self.backoff_base.saturating_mul(2u32.saturating_pow(failures));
        doubled.min(self.backoff_cap).mul_f64(fraction)
    }

    /// The wait after op 9, by a random number in `0.0..1.0`.
    pub fn refused(&self, fraction: f64) -> Duration {
        self.refused_min + self.refused_max.saturating_sub(self.refused_min).mul_f64(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_minute_and_never_overflows() {
        let timing = Timing::default();
        let ceilings: Vec<u64> = (0..9).map(|n| timing.backoff(n, 1.0).as_secs()).collect();
        assert_eq!(ceilings, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(timing.backoff(u32::MAX, 1.0), timing.backoff_cap);
        assert_eq!(timing.backoff(5, 0.0), Duration::ZERO);
        assert_eq!(timing.refused(0.0).as_secs(), 1);
        assert_eq!(timing.refused(1.0).as_secs(), 5);
    }
}

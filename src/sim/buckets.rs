//! Rate limits (discord/facts.md section 9): buckets per route and channel, and 50 requests a second in all.

use std::collections::HashMap;

use crate::base::clock::Millis;
use crate::base::hash::Sha256;

/// Windows kept before the ended ones are forgotten: interaction tokens make new ones for ever.
const WINDOWS: usize = 1000;
/// Requests a second for one bot, over all routes.
const GLOBAL: u32 = 50;

/// A bucket's size: so many requests in so many ms. Discord publishes none; these are the ones seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Requests.
    pub limit: u32,
    /// Per this many ms.
    pub per_ms: i64,
}

/// What a request meets.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Name that is equal over channels.
    pub bucket: String,
    /// Size.
    pub size: Size,
    /// Requests left.
    pub remaining: u32,
    /// When it is full again.
    pub reset: Millis,
    /// Wait before trying again, in ms, when it was refused; and whether all routes are meant.
    pub refused: Option<(i64, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    used: u32,
    ends: i64,
}

/// All buckets.
#[derive(Debug, Default)]
pub struct Buckets {
    windows: HashMap<(String, String), Window>,
    global: Option<Window>,
    /// Switched off by a test that wants to go fast.
    pub off: bool,
}

/// Size by the route's name.
pub fn size(route: &str) -> Size {
    let (limit, per_ms) = match route {
        "create_message" | "update_message" | "typing" => (5, 5000),
        "list_messages" => (5, 1000),
        "delete_message" => (5, 1000),
        "add_reaction" => (1, 250),
        "webhook" => (5, 2000),
        "rename_channel" => (2, 600_000),
        "create_thread" | "create_dm" => (10, 10_000),
        _ => (20, 1000),
    };
    Size { limit, per_ms }
}

impl Buckets {
    /// Counts a request. `global` is whether the route counts towards the 50 a second.
    pub fn take(&mut self, route: &str, major: &str, global: bool, now: Millis) -> Verdict {
        let size = size(route);
        let bucket = Sha256::of(format!("bucket {route}")).to_string()[..32].to_owned();
        if self.windows.len() >= WINDOWS {
            self.windows.retain(|_, w| now.0 < w.ends);
        }
        let window = self.windows.entry((route.to_owned(), major.to_owned())).or_insert(Window { used: 0, ends: 0 });
        if now.0 >= window.ends {
            *window = Window { used: 0, ends: now.0 + size.per_ms };
        }
        let mut verdict = Verdict { bucket, size, remaining: 0, reset: Millis(window.ends), refused: None };
        if self.off {
            verdict.remaining = size.limit;
            return verdict;
        }
        if global {
            let all = self.global.get_or_insert(Window { used: 0, ends: 0 });
            if now.0 >= all.ends {
                *all = Window { used: 0, ends: now.0 + 1000 };
            }
            if all.used >= GLOBAL {
                verdict.refused = Some((all.ends - now.0, true));
                return verdict;
            }
            all.used += 1;
        }
        if window.used >= size.limit {
            verdict.refused = Some((window.ends - now.0, false));
            return verdict;
        }
        window.used += 1;
        verdict.remaining = size.limit - window.used;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_and_empties_per_channel() {
        let mut buckets = Buckets::default();
        let now = Millis(1000);
        for left in (0..5).rev() {
            assert_eq!(buckets.take("create_message", "1", true, now).remaining, left);
        }
        assert_eq!(buckets.take("create_message", "1", true, now).refused, Some((5000, false)));
        assert_eq!(buckets.take("create_message", "2", true, now).refused, None);
        assert_eq!(buckets.take("create_message", "1", true, Millis(6000)).refused, None);
    }

    #[test]
    fn fifty_a_second_in_all() {
        let mut buckets = Buckets::default();
        for n in 0..50 {
            assert_eq!(buckets.take("get_message", &n.to_string(), true, Millis(1)).refused, None);
        }
        assert_eq!(buckets.take("get_message", "x", true, Millis(1)).refused, Some((1000, true)));
        assert_eq!(buckets.take("callback", "x", false, Millis(1)).refused, None);
    }
}

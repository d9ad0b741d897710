//! How much may be asked now: Discord's buckets, learnt from its headers (facts.md section 9). Pure: time comes in.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::route::{Route, RouteKey};

/// Requests a second that Discord takes from one bot over all routes.
const GLOBAL_PER_SECOND: usize = 50;

/// Buckets kept before idle ones are thrown away: every thread is one, and a host lives for months.
const MOST_BUCKETS: usize = 1024;

/// Whether a request may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gate {
    /// Now. The slot must be given back by [`Buckets::finish`].
    Go(Slot),
    /// Not before this has passed.
    Wait(Duration),
    /// Another request is just finding out what the limit is; ask again when it is back.
    Busy,
}

/// A place taken in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    place: Place,
    route: RouteKey,
    top: u64,
}

/// What the headers of an answer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// `X-RateLimit-Bucket`.
    pub(super) bucket: String,
    /// `X-RateLimit-Limit`.
    pub(super) limit: u32,
    /// `X-RateLimit-Remaining`.
    pub(super) remaining: u32,
    /// `X-RateLimit-Reset-After`: relative, so that a clock that is off does no harm.
    pub(super) reset_after: Duration,
}

/// What a request came back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Back {
    /// An answer with the headers of a bucket.
    Headers(Seen),
    /// A good answer without them: the route has no limit of its own.
    Free,
    /// Nothing to learn from.
    Nothing,
}

/// Whom a 429 is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// This bot, on this bucket.
    User,
    /// This bot, everywhere.
    Global,
    /// Everybody who uses that resource.
    Shared,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    /// Discord's name for it.
    Hash(String),
    /// A route that has none, or whose name is not known yet.
    Route(RouteKey),
}

/// A bucket's name and top-level id.
type Place = (Name, u64);

#[derive(Debug, Default)]
struct Bucket {
    /// Unknown limits are found out by one request at a time.
    known: bool,
    limit: u32,
    remaining: u32,
    in_flight: u32,
    reset_at: Duration,
    window: Duration,
    blocked_until: Duration,
}

/// Every bucket, and the global limit.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// What a route's bucket is called; `None` where it has no limit of its own.
    names: HashMap<RouteKey, Option<String>>,
    buckets: HashMap<Place, Bucket>,
    sent: VecDeque<Duration>,
    global_until: Duration,
}

impl Buckets {
    /// Whether a request may go at `now`; if so, it is counted.
    pub(super) fn decide(&mut self, route: &Route, now: Duration) -> Gate {
        self.forget_idle(now);
        let global = self.global_wait(now);
        let place = self.place(route);
        let free = matches!(self.names.get(&route.key), Some(None));
        let bucket = self.buckets.entry(place.clone()).or_default();
        if free {
            (bucket.known, bucket.limit) = (true, u32::MAX);
        }
        if bucket.blocked_until > now {
            return Gate::Wait(bucket.blocked_until - now);
        }
        if bucket.known && now >= bucket.reset_at {
            bucket.remaining = bucket.limit;
            bucket.reset_at = now + bucket.window;
        }
        if !bucket.known && bucket.in_flight > 0 {
            return Gate::Busy;
        }
        if bucket.known && bucket.remaining == 0 {
            return Gate::Wait(bucket.reset_at - now);
        }
        if !global.is_zero() {
            return Gate::Wait(global);
        }
        bucket.remaining = bucket.remaining.saturating_sub(1);
        bucket.in_flight += 1;
        self.sent.push_back(now);
        Gate::Go(Slot { place, route: route.key.clone(), top: route.top })
    }

    /// Gives a slot back and learns from what came.
    pub(super) fn finish(&mut self, slot: &Slot, back: Back, now: Duration) {
        if let Some(bucket) = self.buckets.get_mut(&slot.place) {
            bucket.in_flight = bucket.in_flight.saturating_sub(1);
        }
        match back {
            Back::Headers(seen) => {
                let bucket = self.buckets.entry((Name::Hash(seen.bucket.clone()), slot.top)).or_default();
                bucket.known = true;
                bucket.limit = seen.limit.max(1);
                // What is still under way was not counted by Discord when it answered this one.
                bucket.remaining = seen.remaining.saturating_sub(bucket.in_flight);
                bucket.reset_at = now + seen.reset_after;
                bucket.window = bucket.window.max(seen.reset_after);
                self.names.insert(slot.route.clone(), Some(seen.bucket));
            }
            Back::Free => {
                self.names.entry(slot.route.clone()).or_insert(None);
            }
            Back::Nothing => {}
        }
    }

    /// Discord said 429 to a request of this slot.
    pub(super) fn limited(&mut self, slot: &Slot, scope: Scope, after: Duration, now: Duration) {
        let until = now + after;
        if scope == Scope::Global {
            self.global_until = self.global_until.max(until);
            return;
        }
        let place = match self.names.get(&slot.route) {
            Some(Some(hash)) => (Name::Hash(hash.clone()), slot.top),
            _ => slot.place.clone(),
        };
        let bucket = self.buckets.entry(place).or_default();
        bucket.blocked_until = bucket.blocked_until.max(until);
    }

    fn place(&self, route: &Route) -> Place {
        match self.names.get(&route.key) {
            Some(Some(hash)) => (Name::Hash(hash.clone()), route.top),
            Some(None) => (Name::Route(route.key.clone()), route.top),
            // The name is learnt for the route as a whole, so all its ids wait for the first answer.
            None => (Name::Route(route.key.clone()), 0),
        }
    }

    fn global_wait(&mut self, now: Duration) -> Duration {
        const SECOND: Duration = Duration::from_secs(1);
        while self.sent.front().is_some_and(|at| *at + SECOND <= now) {
            self.sent.pop_front();
        }
        let window = match self.sent.front() {
            Some(first) if self.sent.len() >= GLOBAL_PER_SECOND => *first + SECOND - now,
            _ => Duration::ZERO,
        };
        window.max(self.global_until.saturating_sub(now))
    }

    fn forget_idle(&mut self, now: Duration) {
        if self.buckets.len() > MOST_BUCKETS {
            self.buckets.retain(|_, b| b.in_flight > 0 || b.reset_at > now || b.blocked_until > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Method;

    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn send(channel: u64) -> Route {
        Route::new(Method::POST, "/channels/{}/messages", channel, &[&channel])
    }

    fn seen(remaining: u32, reset_after: u64) -> Back {
        Back::Headers(Seen { bucket: "b".into(), limit: 5, remaining, reset_after: ms(reset_after) })
    }

    fn go(buckets: &mut Buckets, channel: u64, now: Duration) -> Slot {
        match buckets.decide(&send(channel), now) {
            Gate::Go(slot) => slot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_request_of_a_route_goes_alone() {
        let mut buckets = Buckets::default();
        let first = go(&mut buckets, 1, ms(0));
        assert_eq!(buckets.decide(&send(1), ms(1)), Gate::Busy);
        assert_eq!(buckets.decide(&send(2), ms(1)), Gate::Busy, "another channel does not know the name either");
        buckets.finish(&first, seen(4, 5000), ms(10));
        for _ in 0..4 {
            go(&mut buckets, 1, ms(20));
        }
        assert_eq!(buckets.decide(&send(1), ms(20)), Gate::Wait(ms(4990)));
        go(&mut buckets, 2, ms(20));
    }

    #[test]
    fn a_bucket_fills_up_again_when_its_time_has_come() {
        let mut buckets = Buckets::default();
        let slot = go(&mut buckets, 1, ms(0));
        buckets.finish(&slot, seen(0, 5000), ms(0));
        assert_eq!(buckets.decide(&send(1), ms(4999)), Gate::Wait(ms(1)));
        for _ in 0..5 {
            go(&mut buckets, 1, ms(5000));
        }
        assert_eq!(buckets.decide(&send(1), ms(5000)), Gate::Wait(ms(5000)));
    }

    #[test]
    fn what_is_under_way_counts_too() {
        let mut buckets = Buckets::default();
        let slot = go(&mut buckets, 1, ms(0));
        buckets.finish(&slot, seen(4, 5000), ms(0));
        let slots: Vec<Slot> = (0..4).map(|_| go(&mut buckets, 1, ms(1))).collect();
        buckets.finish(&slots[0], seen(3, 4999), ms(2));
        assert_eq!(buckets.decide(&send(1), ms(2)), Gate::Wait(ms(4999)), "three are still on their way");
    }

    #[test]
    fn a_request_that_never_came_back_frees_its_place() {
        let mut buckets = Buckets::default();
        let slot = go(&mut buckets, 1, ms(0));
        buckets.finish(&slot, Back::Nothing, ms(1));
        go(&mut buckets, 1, ms(2));
    }

    #[test]
    fn a_route_without_headers_is_free() {
        let mut buckets = Buckets::default();
        let slot = go(&mut buckets, 1, ms(0));
        buckets.finish(&slot, Back::Free, ms(0));
        for _ in 0..30 {
            go(&mut buckets, 1, ms(0));
        }
        buckets.limited(&slot, Scope::Shared, ms(700), ms(0));
        assert!(matches!(buckets.decide(&send(7), ms(0)), Gate::Go(_)), "another channel goes on");
    }

    #[test]
    fn each_scope_stops_what_it_is_about() {
        for (scope, other_channel_waits) in [(Scope::User, false), (Scope::Shared, false), (Scope::Global, true)] {
            let mut buckets = Buckets::default();
            let first = go(&mut buckets, 1, ms(0));
            buckets.finish(&first, seen(4, 5000), ms(0));
            buckets.limited(&first, scope, ms(700), ms(0));
            assert_eq!(buckets.decide(&send(1), ms(0)), Gate::Wait(ms(700)), "{scope:?}");
            let other = buckets.decide(&send(2), ms(0));
            assert_eq!(matches!(other, Gate::Wait(_)), other_channel_waits, "{scope:?}");
        }
    }

    #[test]
    fn fifty_a_second_and_no_more() {
        let mut buckets = Buckets::default();
        let slot = go(&mut buckets, 0, ms(0));
        buckets.finish(&slot, Back::Free, ms(0));
        for channel in 1..50 {
            go(&mut buckets, channel, ms(channel));
        }
        assert_eq!(buckets.decide(&send(99), ms(60)), Gate::Wait(ms(940)));
        go(&mut buckets, 99, ms(1000));
        assert_eq!(buckets.decide(&send(99), ms(1000)), Gate::Wait(ms(1)));
    }

    #[test]
    fn idle_buckets_are_forgotten() {
        let mut buckets = Buckets::default();
        for channel in 0..3000 {
            let now = Duration::from_secs(channel);
            let slot = go(&mut buckets, channel, now);
            buckets.finish(&slot, seen(4, 500), now);
        }
        assert!(buckets.buckets.len() <= MOST_BUCKETS + 1, "{}", buckets.buckets.len());
    }
}

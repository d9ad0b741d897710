//! Named places where a test may kill the process, as a power cut would.
//!
//! Without the cargo feature `crash-points` a call compiles to nothing, so a release build has none.

/// Ends the process here and now when the test asked for it.
///
/// `DISCORD_OS_CRASH_AT=name` ends it the first time `name` is reached, `name:3` the third time.
#[cfg(feature = "crash-points")]
#[allow(clippy::disallowed_methods, reason = "a test's switch, absent from release builds")]
pub fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    static PLAN: OnceLock<Option<(String, u32)>> = OnceLock::new();
    static HITS: AtomicU32 = AtomicU32::new(0);
    let plan = PLAN.get_or_init(|| {
        let text = std::env::var("DISCORD_OS_CRASH_AT").ok()?;
        let (name, nth) = text.split_once(':').unwrap_or((text.as_str(), "1"));
        Some((name.to_owned(), nth.parse().unwrap_or(1)))
    });
    if let Some((wanted, nth)) = plan
        && wanted == name
        && HITS.fetch_add(1, Ordering::SeqCst) + 1 == *nth
    {
        // SIGKILL to itself: no destructor, no flush, no exit handler runs.
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).ok();
        std::process::abort();
    }
}

/// Does nothing: this build has no crash points.
#[cfg(not(feature = "crash-points"))]
#[inline(always)]
pub fn point(_name: &str) {}

//! What the shard remembers.

use std::time::Duration;

/// Where a connection stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// Not connected; the next try is due then.
    Resting { until: Duration },
    /// The pump opens a connection.
    Opening,
    /// HELLO must come until then.
    Greeting { until: Duration },
    /// The ears were asked whether an IDENTIFY may be sent.
    Asking,
    /// They are asked again then.
    Holding { until: Duration },
    /// READY must come until then.
    Identifying { until: Duration },
    /// RESUMED, or an event before it, must come until then.
    Resuming { until: Duration },
    /// READY or RESUMED came.
    Live { since: Duration },
    /// Nothing more is done.
    Ended,
}

/// The session, as far as it was heard.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// Where to resume it, with its intents behind it.
    pub(super) url: String,
    /// Last sequence number that was heard; what was heard and not yet taken waits in the pump.
    pub(super) seq: u64,
}

/// Heartbeats of one connection.
#[derive(Debug)]
pub(super) struct Beat {
    pub(super) interval: Duration,
    pub(super) next: Duration,
    pub(super) acked: bool,
}

/// Failures in a row, each forgotten by its own success.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// Connections that did not last; decides the wait before the next.
    pub(super) connections: u32,
    /// RESUMEs that were not answered by RESUMED.
    pub(super) resumes: u32,
    /// Connections that never came to HELLO.
    pub(super) unreached: u32,
}

/// Who gave a connection up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The other side, or the network: there is nothing left to close.
    Them,
    /// We, because of what the other side did.
    Us,
    /// We, because what was heard could not be taken: says nothing about the session.
    Ears,
}

/// A connection that is given up.
#[derive(Debug)]
pub(super) struct Loss {
    pub(super) why: String,
    pub(super) resume: bool,
    pub(super) at_least: Duration,
    pub(super) by: By,
}

impl Loss {
    /// The session goes on at the next connection.
    pub(super) fn resume(why: impl Into<String>) -> Self {
        Self { why: why.into(), resume: true, at_least: Duration::ZERO, by: By::Us }
    }

    /// The session is over.
    pub(super) fn identify(why: impl Into<String>) -> Self {
        Self { resume: false, ..Self::resume(why) }
    }

    /// The next connection is not tried before this has passed.
    pub(super) fn not_before(self, at_least: Duration) -> Self {
        Self { at_least, ..self }
    }

    /// Who gave it up.
    pub(super) fn by(self, by: By) -> Self {
        Self { by, ..self }
    }
}

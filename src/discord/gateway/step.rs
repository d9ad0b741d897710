//! What the shard is told, and what it tells the pump to do.

use std::time::Duration;

use serde_json::Value;

use super::{Budget, Saved};
use crate::base::failure::Failure;
use crate::base::secret::Secret;

/// What happened.
#[derive(Debug)]
pub enum In {
    /// Time has passed.
    Tick,
    /// The connection is open.
    Opened,
    /// The connection could not be opened.
    Unreached {
        /// Why: a sentence.
        why: String,
        /// Wait that Discord asked for.
        after: Option<Duration>,
    },
    /// A text frame came.
    Frame(String),
    /// Something came that cannot be a frame.
    Garbled,
    /// The other side closed, or the connection broke (`None`).
    Closed(Option<u16>),
    /// Answer to [`Out::AskIdentify`].
    Budget(Budget),
    /// [`Out::AskIdentify`] could not be answered: a sentence.
    NotCounted(String),
    /// What was heard could not be taken, and all that waited behind it was dropped.
    NotTaken {
        /// Last event that was taken: its session and sequence number.
        taken: Option<(String, u64)>,
        /// Why: a sentence.
        why: String,
    },
    /// Whether so much waits to be taken that frames are left unread for now.
    Full(bool),
    /// REST said that going on makes no sense.
    Refused(Failure),
    /// Stop, and leave the session resumable.
    Stop,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Where `GET /gateway/bot` says.
    Main,
    /// Where the session is to be resumed.
    At(String),
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Out {
    /// Open a connection.
    Connect(Place),
    /// Send a text frame. It may hold the token.
    Send(Secret),
    /// Close the connection with this code and forget it.
    Close(u16),
    /// Ask the ears whether an IDENTIFY may be sent.
    AskIdentify,
    /// Keep this session, or forget the kept one.
    Keep(Option<Saved>),
    /// Hand an event over.
    Deliver {
        /// Its session.
        session_id: String,
        /// Its sequence number.
        seq: u64,
        /// Its name.
        name: String,
        /// Its data.
        data: Value,
    },
    /// Tell that a connection is tried, and how many failed before.
    Connecting(u32),
    /// Tell that the connection lives.
    Up,
    /// Tell why it does not.
    Lost(String),
    /// The end, on request.
    Stopped,
    /// The end, until a person has done something.
    Fatal(Failure),
}

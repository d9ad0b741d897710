//! The gateway: what Discord tells us as it happens. Our own reader (docs/adr/0002).
//!
//! `shard` decides (frame in, actions out, no socket), `pump` does. What is heard goes to [`Ears`], which takes it
//! in a transaction together with its sequence number; so a restarted process resumes without losing a tap.

mod address;
pub mod close;
mod frames;
mod limit;
mod line;
pub mod parse;
pub mod pump;
pub mod shard;
mod state;
pub mod step;
pub mod timing;

use std::time::Duration;

use async_trait::async_trait;

use crate::base::clock::Millis;
use crate::base::failure::Failure;
use crate::base::ids::{ApplicationId, ChannelId, GuildId, MessageId, UserId};
use crate::model::interaction::Interaction;
use crate::model::message::Message;

/// A session that can be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Session.
    pub session_id: String,
    /// Where to resume it.
    pub resume_url: String,
    /// Last sequence number that intake has taken.
    pub seq: u64,
}

/// What Discord told us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A new session began.
    Ready {
        /// Our account.
        user: UserId,
        /// Our name.
        name: String,
        /// Our application.
        application: ApplicationId,
        /// Guilds that we are in.
        guilds: Vec<GuildId>,
    },
    /// The old session goes on; what was missed has been replayed.
    Resumed,
    /// A message was written.
    Message(Box<Message>),
    /// A message changed (not always an edit).
    MessageChanged(Box<Message>),
    /// Messages were deleted.
    MessagesDeleted(ChannelId, Vec<MessageId>),
    /// Somebody pressed, chose or filled in something.
    Interaction(Box<Interaction>),
    /// A thread changed: archived or not.
    Thread {
        /// The thread.
        id: ChannelId,
        /// Its channel.
        parent: Option<ChannelId>,
        /// Whether it is archived now.
        archived: bool,
    },
    /// A channel or thread is gone.
    ChannelGone(ChannelId),
    /// We are in a guild (or it is back after an outage).
    GuildHere(GuildId),
    /// We were removed from a guild, or it has an outage (`true`).
    GuildGone(GuildId, bool),
    /// Something we do not use, or could not read: its name.
    Other(String),
}

/// An event with its place in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Session it belongs to.
    pub session_id: String,
    /// Sequence number within it.
    pub seq: u64,
    /// What happened.
    pub event: Event,
}

/// State of the connection, for the HOST card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Trying; how often without success.
    Connecting {
        /// Failures since the last success.
        attempt: u32,
    },
    /// Connected and heard within the last heartbeats.
    Up {
        /// When the last heartbeat was acknowledged.
        heartbeat: Millis,
    },
    /// Lost; will be tried again.
    Lost {
        /// Why: a sentence.
        why: String,
    },
    /// Ended for good: what to do.
    Fatal {
        /// Why and what to do: sentences.
        why: String,
    },
}

/// Whether an IDENTIFY may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Yes; it has been counted on disk.
    Go,
    /// Not before this.
    Wait(Duration),
}

/// Who listens. Implemented by intake over the ledger.
#[async_trait]
pub trait Ears: Send + Sync {
    /// The session to resume, if one is kept.
    async fn saved(&self) -> Result<Option<Saved>, Failure>;

    /// Keeps a new session (on READY), or forgets the old one (`None`).
    async fn keep(&self, session: Option<Saved>) -> Result<(), Failure>;

    /// Takes one event and its sequence number in one transaction. Returns when it is durable; an error ends the
    /// connection so that the event is replayed.
    async fn take(&self, heard: Heard) -> Result<(), Failure>;

    /// Counts an IDENTIFY on disk, if the day's budget (facts.md section 1) and the 5 s spacing allow it.
    async fn identify(&self, remaining: u64) -> Result<Budget, Failure>;

    /// The connection's state changed.
    async fn link(&self, link: Link);
}

/// What a connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intents(pub u64);

impl Intents {
    /// GUILDS, GUILD_MESSAGES, GUILD_MESSAGE_REACTIONS, DIRECT_MESSAGES, DIRECT_MESSAGE_REACTIONS (facts.md 2.1).
    pub const BASE: Self = Self(13_825);
    /// The same with MESSAGE_CONTENT.
    pub const WITH_CONTENT: Self = Self(46_593);
}

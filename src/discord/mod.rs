//! Discord's wire: REST, gateway and CDN, behind one trait that names no library's type.

pub mod cdn;
pub mod error;
pub mod gateway;
pub mod limits;
pub mod rest;
pub mod wire;

use std::path::PathBuf;

use async_trait::async_trait;

use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{AttachmentId, ChannelId, GuildId, InteractionId, MessageId, RoleId, UserId};
use crate::base::secret::Secret;
use crate::model::bot::Me;
use crate::model::card::{Body, Post};
use crate::model::message::{CdnUrl, Message};
use crate::model::reply::Reply;

use error::DiscordError;

/// What a call to Discord gives.
pub type Result<T> = std::result::Result<T, DiscordError>;

/// Text of at most 25 characters that makes a repeated send the same message (`enforce_nonce`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(pub String);

/// What `GET /gateway/bot` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayInfo {
    /// Where to connect; `ws://` on loopback only.
    pub url: String,
    /// IDENTIFYs left today.
    pub remaining: u64,
    /// IDENTIFYs a day.
    pub total: u64,
    /// When `remaining` is filled up again.
    pub reset_after: std::time::Duration,
}

/// A channel or thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Id.
    pub id: ChannelId,
    /// Discord's channel type (discord/facts.md 2.2).
    pub kind: u64,
    /// Name, where it has one.
    pub name: Option<String>,
    /// Guild, where it has one.
    pub guild: Option<GuildId>,
    /// Parent of a thread (or category of a channel).
    pub parent: Option<ChannelId>,
    /// Newest message that was ever sent to it.
    pub last_message: Option<MessageId>,
    /// Whether a thread is archived.
    pub archived: bool,
}

impl Channel {
    /// Whether it is a thread (types 10, 11 and 12).
    pub fn is_thread(&self) -> bool {
        matches!(self.kind, 10..=12)
    }
}

/// Roles of a person in a guild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub user: UserId,
    /// Roles.
    pub roles: Vec<RoleId>,
}

/// Messages after a point, oldest first, with Discord's own time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Discord's clock, from the answer's `Date` header (whole seconds).
    pub server_time: Option<Millis>,
}

/// A file to upload, streamed from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Where the bytes are.
    pub path: PathBuf,
    /// True name; Discord will rewrite it.
    pub name: String,
    /// Bytes that must be there; an upload of another length fails and posts nothing.
    pub size: u64,
    /// Media type.
    pub content_type: Option<String>,
    /// Index entry, at most 1,024 characters.
    pub description: Option<String>,
}

/// Told how many more bytes went out.
pub type Progress<'a> = &'a (dyn Fn(u64) + Send + Sync);

/// A file that came down: its length and hash, counted while it passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes.
    pub size: u64,
    /// Hash.
    pub sha256: Sha256,
}

/// What is needed to answer an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answerable {
    /// Id.
    pub id: InteractionId,
    /// Token, good for 15 minutes.
    pub token: Secret,
}

/// Discord, as far as this product speaks to it. Every implementation passes `tests/it/discord_contract.rs`.
///
/// Reads are retried inside; writes only when they are idempotent or carry a [`Nonce`].
#[async_trait]
pub trait Discord: Send + Sync {
    /// Our own account and application.
    async fn me(&self) -> Result<Me>;

    /// Where the gateway is and how many IDENTIFYs are left.
    async fn gateway(&self) -> Result<GatewayInfo>;

    /// A channel or thread.
    async fn channel(&self, channel: ChannelId) -> Result<Channel>;

    /// A person's roles in a guild.
    async fn member(&self, guild: GuildId, user: UserId) -> Result<Member>;

    /// One message, with fresh links.
    async fn message(&self, channel: ChannelId, message: MessageId) -> Result<Message>;

    /// The page of messages that follows `after`, oldest first; empty at the end. `limit` is 1 to 100.
    async fn after(&self, channel: ChannelId, after: MessageId, limit: u8) -> Result<Page>;

    /// The newest messages, newest first. `limit` is 1 to 100.
    async fn newest(&self, channel: ChannelId, limit: u8) -> Result<Page>;

    /// Sends a message; the same nonce within about two minutes gives the same message.
    async fn send(&self, channel: ChannelId, post: &Post, nonce: &Nonce) -> Result<Message>;

    /// Replaces what one of our messages says.
    async fn edit(&self, channel: ChannelId, message: MessageId, body: &Body) -> Result<Message>;

    /// Deletes one of our messages. A message that is gone already is a success.
    async fn delete(&self, channel: ChannelId, message: MessageId) -> Result<()>;

    /// Opens the thread of a message; its id equals the message's. One that is there already is a success.
    async fn open_thread(&self, channel: ChannelId, message: MessageId, name: &str) -> Result<ChannelId>;

    /// Adds our reaction.
    async fn react(&self, channel: ChannelId, message: MessageId, emoji: &str) -> Result<()>;

    /// Shows «is typing» for 10 s.
    async fn typing(&self, channel: ChannelId) -> Result<()>;

    /// The direct-message channel with a person.
    async fn dm(&self, user: UserId) -> Result<ChannelId>;

    /// The first answer to an interaction. Never repeated blindly (I-12).
    async fn respond(&self, to: &Answerable, reply: &Reply) -> Result<()>;

    /// Sends a message with 1 to 10 files.
    #[allow(clippy::too_many_arguments, reason = "a send, with its files and who watches them go")]
    async fn upload(
        &self,
        channel: ChannelId,
        post: &Post,
        files: &[Upload],
        nonce: &Nonce,
        progress: Progress<'_>,
    ) -> Result<Message>;

    /// Streams a file to `to`, which must not exist; at most `limit` bytes. The token is not sent along (I-11).
    /// On an error nothing is left at `to`.
    async fn download(&self, url: &CdnUrl, to: &std::path::Path, limit: u64) -> Result<Downloaded>;

    /// A fresh link for an attachment: the message is fetched again.
    async fn link(&self, channel: ChannelId, message: MessageId, attachment: AttachmentId) -> Result<(CdnUrl, u64)>;
}

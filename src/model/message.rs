//! A message as we hear or fetch it.

use std::fmt;

use super::actor::AccountKind;
use crate::base::clock::Millis;
use crate::base::ids::{AttachmentId, ChannelId, GuildId, MessageId, RoleId, UserId};

/// A signed link to a file. It expires, so it is used at once and never stored, logged or printed (I-10).
#[derive(Clone, PartialEq, Eq)]
pub struct CdnUrl(String);

impl CdnUrl {
    /// Wraps a link that Discord gave.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The link, for the download itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CdnUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CdnUrl([hidden])")
    }
}

/// A file on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Id.
    pub id: AttachmentId,
    /// Name after Discord's rewriting; never the true one (discord/facts.md section 5).
    pub filename: String,
    /// Stem that Discord kept of the name it rewrote.
    pub title: Option<String>,
    /// Our own index entry stands here (DESIGN "Object caption").
    pub description: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Media type, where Discord knows one.
    pub content_type: Option<String>,
    /// Fresh link, good for a while.
    pub url: CdnUrl,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Id.
    pub id: MessageId,
    /// Channel or thread it stands in.
    pub channel: ChannelId,
    /// Guild; absent in direct messages and in most REST answers.
    pub guild: Option<GuildId>,
    /// Who wrote it.
    pub author: UserId,
    /// What kind of account wrote it.
    pub author_kind: AccountKind,
    /// Name shown for the author.
    pub author_name: String,
    /// Author's roles, where the event carried them; `None` must be fetched before a decision.
    pub roles: Option<Vec<RoleId>>,
    /// Discord's message type: 0 and 19 are what people write (discord/facts.md section 4).
    pub kind: u64,
    /// All flag bits, also those we do not know.
    pub flags: u64,
    /// Content; empty without the Message Content Intent.
    pub content: String,
    /// Files.
    pub attachments: Vec<Attachment>,
    /// Message it answers.
    pub reply_to: Option<MessageId>,
    /// Custom ids of every component, nested ones included, in order.
    pub custom_ids: Vec<String>,
    /// Text of every Text Display, nested ones included, in order.
    pub component_text: Vec<String>,
    /// Nonce, on our own messages.
    pub nonce: Option<String>,
    /// When it was edited last.
    pub edited: Option<Millis>,
    /// Whether a thread hangs on it (its id equals the message's).
    pub has_thread: bool,
}

impl Message {
    /// Whether a person could have meant it as an order: written content or a reply, by a person.
    pub fn is_order(&self) -> bool {
        self.author_kind == AccountKind::Human && matches!(self.kind, 0 | 19)
    }
}

/// Link that opens a message in Discord. `@me` stands for a guild where there is none.
pub fn jump_url(guild: Option<GuildId>, channel: ChannelId, message: MessageId) -> String {
    match guild {
        Some(guild) => format!("https://discord.com/channels/{guild}/{channel}/{message}"),
        None => format!("https://discord.com/channels/@me/{channel}/{message}"),
    }
}

//! What the world is made of. Kept as it is in the journal; shown to clients by `show`, to the page by `control::view`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::{ApplicationId, AttachmentId, ChannelId, GuildId, InteractionId, MessageId, UserId};

/// Message flag: its link previews are hidden.
pub const SUPPRESS_EMBEDS: u64 = 4;
/// Message flag: a thread hangs on it.
pub const HAS_THREAD: u64 = 32;
/// Message flag: only one person sees it.
pub const EPHEMERAL: u64 = 64;
/// Message flag: the bot is thinking (a deferred answer).
pub const LOADING: u64 = 128;
/// Message flag: sent without a notification.
pub const SUPPRESS_NOTIFICATIONS: u64 = 4096;
/// Message flag: components v2.
pub const COMPONENTS_V2: u64 = 1 << 15;

/// Permission bits (discord/facts.md section 8).
pub mod permission {
    /// Add a reaction.
    pub const ADD_REACTIONS: u64 = 1 << 6;
    /// See the channel.
    pub const VIEW_CHANNEL: u64 = 1 << 10;
    /// Send to a channel.
    pub const SEND_MESSAGES: u64 = 1 << 11;
    /// Delete what others wrote.
    pub const MANAGE_MESSAGES: u64 = 1 << 13;
    /// Attach files.
    pub const ATTACH_FILES: u64 = 1 << 15;
    /// Read what was written before.
    pub const READ_MESSAGE_HISTORY: u64 = 1 << 16;
    /// Lock threads and change those of others.
    pub const MANAGE_THREADS: u64 = 1 << 34;
    /// Open a thread.
    pub const CREATE_PUBLIC_THREADS: u64 = 1 << 35;
    /// Send to a thread.
    pub const SEND_MESSAGES_IN_THREADS: u64 = 1 << 38;
    /// Change a channel.
    pub const MANAGE_CHANNELS: u64 = 1 << 4;
    /// What the invite link of this product asks for at most (facts.md section 8, "everything").
    pub const BOT: u64 = 2_322_563_694_980_160;
    /// What everybody in the guild has.
    pub const EVERYONE: u64 = 70_677_981_940_800;
}

/// Part that a person plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Owns the guild.
    Owner,
    /// A member.
    Teammate,
    /// In the guild, but nobody's friend.
    Stranger,
    /// A bot.
    Bot,
}

/// A person or bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// Part.
    pub role: Role,
    /// Colour on the page, `#rrggbb`.
    pub color: String,
}

impl Person {
    /// Whether it is a bot account.
    pub fn bot(&self) -> bool {
        self.role == Role::Bot
    }
}

/// What a world keeps for ever: ids, names and keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The guild.
    pub guild: GuildId,
    /// Its name.
    pub guild_name: String,
    /// The staff channel.
    pub channel: ChannelId,
    /// The host's bot.
    pub bot: UserId,
    /// Its application.
    pub application: ApplicationId,
    /// Its token.
    pub bot_token: String,
    /// What the control API demands.
    pub control_token: String,
    /// Key of the links' signatures, hexadecimal.
    pub signing_key: String,
    /// Everybody, the host's bot included.
    pub people: Vec<Person>,
}

/// Kind of channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A text channel of the guild.
    Text,
    /// A direct-message channel with the host's bot.
    Dm,
    /// A public thread.
    Thread,
}

impl Kind {
    /// Discord's number for it (facts.md 2.2).
    pub fn number(self) -> u64 {
        match self {
            Self::Text => 0,
            Self::Dm => 1,
            Self::Thread => 11,
        }
    }
}

/// A channel, thread or direct-message channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Id; a thread's equals its starter message's.
    pub id: ChannelId,
    /// Kind.
    pub kind: Kind,
    /// Name; empty for direct messages.
    pub name: String,
    /// Parent of a thread.
    pub parent: Option<ChannelId>,
    /// Who opened the thread, or the person of a direct-message channel.
    pub person: Option<UserId>,
    /// A thread's state.
    pub archived: bool,
    /// Whether only moderators may unarchive it.
    pub locked: bool,
    /// Minutes without messages until Discord archives it.
    pub auto_archive: u64,
    /// When `archived` changed last, in ms.
    pub archive_ms: i64,
    /// Newest message that was ever sent.
    pub last_message: Option<MessageId>,
    /// Messages ever sent, the starter left out.
    pub sent: u64,
    /// Permission bits that the host's bot lacks here.
    pub denied: u64,
}

/// A file on a message. Its bytes lie in the world's folder under its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Id.
    pub id: AttachmentId,
    /// Name after rewriting.
    pub filename: String,
    /// Stem of the name that was rewritten.
    pub title: Option<String>,
    /// Alternative text.
    pub description: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
}

/// A reaction and who gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// The characters.
    pub emoji: String,
    /// Who.
    pub by: Vec<UserId>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Id.
    pub id: MessageId,
    /// Where it stands.
    pub channel: ChannelId,
    /// Who wrote it.
    pub author: UserId,
    /// Discord's message type.
    pub kind: u64,
    /// Flags.
    pub flags: u64,
    /// Content.
    pub content: String,
    /// When it was sent, in ms.
    pub at_ms: i64,
    /// When it was edited last, in ms.
    pub edited_ms: Option<i64>,
    /// What it answers.
    pub reply_to: Option<MessageId>,
    /// People it mentions.
    pub mentions: Vec<UserId>,
    /// Files.
    pub files: Vec<File>,
    /// Embeds, as they were sent.
    pub embeds: Vec<Value>,
    /// Components, as they were sent, numbered.
    pub components: Vec<Value>,
    /// Reactions.
    pub reactions: Vec<Reaction>,
    /// Nonce, as it was sent.
    pub nonce: Option<Value>,
    /// Interaction that it answers.
    pub interaction: Option<InteractionId>,
    /// The only person who sees it.
    pub only_for: Option<UserId>,
}

impl Message {
    /// Files and all that a person without the Message Content Intent does not see, by anyone else's leave.
    pub fn mentions_or_is_by(&self, user: UserId) -> bool {
        self.author == user || self.mentions.contains(&user)
    }
}

impl Channel {
    /// A channel in which nothing has happened yet.
    pub fn new(id: ChannelId, kind: Kind, name: &str) -> Self {
        Self {
            id,
            kind,
            name: name.to_owned(),
            parent: None,
            person: None,
            archived: false,
            locked: false,
            auto_archive: 4320,
            archive_ms: 0,
            last_message: None,
            sent: 0,
            denied: 0,
        }
    }
}

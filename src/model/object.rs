//! An object: bytes that lie in Discord under a durable key (DESIGN "Object caption").

use serde::{Deserialize, Serialize};

use super::message::jump_url;
use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{ArtifactId, AttachmentId, ChannelId, GuildId, MessageId, PutId, RunId};

/// What an object is, in the field's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// Any bytes.
    Blob,
    /// A patch.
    Diff,
    /// A log.
    Log,
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// Readable text.
    Text,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Blob, Self::Diff, Self::Log, Self::Image, Self::Audio, Self::Text];

    /// As the ledger, the caption and the CLI write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Text => "text",
        }
    }

    /// From what was written.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == text)
    }

    /// Kind of a file by the ending of its name.
    pub fn of_name(name: &str) -> Self {
        let ending = name.rsplit_once('.').map_or(String::new(), |(_, e)| e.to_lowercase());
        match ending.as_str() {
            "diff" | "patch" => Self::Diff,
            "log" => Self::Log,
            "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "bmp" => Self::Image,
            "mp3" | "ogg" | "opus" | "wav" | "flac" | "m4a" => Self::Audio,
            "txt" | "md" | "json" | "csv" | "toml" | "yaml" | "yml" | "html" | "rs" | "py" | "js" => Self::Text,
            _ => Self::Blob,
        }
    }
}

/// An upload that is meant to happen (I-9). Its id becomes the object's [`ArtifactId`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Id.
    pub put: PutId,
    /// Channel or thread.
    pub channel: ChannelId,
    /// Channel of the thread, where `channel` is one.
    pub parent: Option<ChannelId>,
    /// Run that made the file.
    pub run: Option<RunId>,
    /// Where the bytes are, for people.
    pub path: String,
    /// True name.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Hash of the bytes.
    pub sha256: Sha256,
    /// Bytes.
    pub size: u64,
    /// Nonce that makes a repeated post the same message.
    pub nonce: String,
    /// When it was first meant.
    pub at: Millis,
}

/// A row of the index: where the bytes are and what they must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Our id.
    pub artifact: ArtifactId,
    /// What it is.
    pub kind: ObjectKind,
    /// Channel or thread the message stands in.
    pub channel: ChannelId,
    /// Channel that the thread belongs to, where `channel` is a thread.
    pub parent: Option<ChannelId>,
    /// Guild, where there is one.
    pub guild: Option<GuildId>,
    /// Message.
    pub message: MessageId,
    /// Attachment on it.
    pub attachment: AttachmentId,
    /// True name, in Unicode, as the person or the run gave it.
    pub name: String,
    /// Hash of the bytes.
    pub sha256: Sha256,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: Option<String>,
    /// Run that made it.
    pub run: Option<RunId>,
    /// Whether the message is only a pointer to a local stash.
    pub overflow: bool,
    /// Whether the bytes are encrypted.
    pub encrypted: bool,
    /// When it was stored.
    pub created: Millis,
}

/// An object as JSON shows it (docs/json.md). Never carries a link to the bytes (I-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectJson {
    /// Our id.
    pub artifact_id: ArtifactId,
    /// What it is.
    pub kind: ObjectKind,
    /// The channel that it belongs to (the parent, for a thread's object).
    pub channel_id: ChannelId,
    /// Message.
    pub message_id: MessageId,
    /// Attachment.
    pub attachment_id: AttachmentId,
    /// Thread, where it lies in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ChannelId>,
    /// Guild, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guild_id: Option<GuildId>,
    /// True name.
    pub filename: String,
    /// Hash.
    pub sha256: Sha256,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: Option<String>,
    /// Opens the message in Discord.
    pub jump_url: String,
    /// Pointer to a local stash.
    pub overflow: bool,
    /// Encrypted bytes.
    pub encrypted: bool,
    /// RFC 3339.
    pub created_at: String,
}

impl From<&Object> for ObjectJson {
    fn from(o: &Object) -> Self {
        Self {
            artifact_id: o.artifact.clone(),
            kind: o.kind,
            channel_id: o.parent.unwrap_or(o.channel),
            message_id: o.message,
            attachment_id: o.attachment,
            thread_id: o.parent.map(|_| o.channel),
            guild_id: o.guild,
            filename: o.name.clone(),
            sha256: o.sha256,
            size: o.size,
            content_type: o.content_type.clone(),
            jump_url: jump_url(o.guild, o.channel, o.message),
            overflow: o.overflow,
            encrypted: o.encrypted,
            created_at: o.created.rfc3339(),
        }
    }
}

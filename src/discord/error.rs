//! What can go wrong between us and Discord, and what to do then (discord/facts.md section 11).

use std::time::Duration;

use crate::base::failure::{Failure, Kind};

/// Kind of trouble, by what there is to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No answer came; nothing can have happened, or repeating is harmless.
    Unreachable,
    /// No answer came to a write that may have happened and cannot be repeated blindly.
    Unknown,
    /// Discord failed on its side (5xx) and retries did not help.
    Server,
    /// Rate limited for longer than it is sensible to wait inside a call.
    RateLimited,
    /// Blocked before Discord itself (Cloudflare): pause for long.
    Blocked,
    /// The token is wrong: stop everything.
    Unauthorized,
    /// The channel, message or other thing is gone or never visible.
    NotFound,
    /// No access to the channel (50001).
    NoAccess,
    /// A permission is missing (50013 and kin).
    NoPermission,
    /// The thread is archived or locked (50083, 160005).
    Archived,
    /// Too big (413).
    TooLarge,
    /// Old messages may be edited no further for now (30046): post anew.
    OldEdit,
    /// The interaction was answered already (40060).
    Answered,
    /// The interaction is unknown or too old (10062, 50027).
    Expired,
    /// The person takes no direct messages (50007, 50278).
    NoDirectMessages,
    /// Discord refuses the content (AutoMod and kin): do not send it again.
    RefusedContent,
    /// We sent something malformed: a bug.
    Invalid,
    /// The bytes that came are not what they should be.
    Integrity,
    /// A file of ours could not be read or written.
    File,
    /// Discord answered something that cannot be understood.
    Protocol,
}

/// When it makes sense to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never as it is.
    Never,
    /// Soon, with back-off.
    Soon,
    /// Not before this.
    After(Duration),
}

/// An error of a call to Discord. Its texts are redacted when it is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DiscordError {
    /// Kind.
    pub kind: ErrorKind,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// Discord's error code, where it gave one.
    pub code: Option<i64>,
    /// What happened: a sentence, redacted.
    pub message: String,
    /// Wait that was asked for.
    pub after: Option<Duration>,
}

impl DiscordError {
    /// An error without status or code; the message is redacted here.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self { kind, status: None, code: None, message: crate::base::redact::redact(message.as_ref()), after: None }
    }

    /// When to try again.
    pub fn retry(&self) -> Retry {
        match (self.kind, self.after) {
            (ErrorKind::RateLimited | ErrorKind::Blocked, Some(after)) => Retry::After(after),
            (ErrorKind::RateLimited | ErrorKind::Unreachable | ErrorKind::Server, _) => Retry::Soon,
            (ErrorKind::Blocked, None) => Retry::After(Duration::from_secs(600)),
            (ErrorKind::OldEdit, _) => Retry::Never,
            _ => Retry::Never,
        }
    }
}

impl From<DiscordError> for Failure {
    fn from(error: DiscordError) -> Self {
        let kind = match error.kind {
            ErrorKind::NotFound => Kind::NotFound,
            ErrorKind::Integrity => Kind::Integrity,
            ErrorKind::File => Kind::Failed,
            _ => Kind::Discord,
        };
        let hint = match error.kind {
            ErrorKind::Unauthorized => {
                Some("Reset the bot token in the Developer Portal and set DISCORD_BOT_TOKEN anew.")
            }
            ErrorKind::NoAccess => Some("Give the bot View Channel in that channel, or check the channel id."),
            ErrorKind::NoPermission => Some("Give the bot the missing permission in that channel."),
            ErrorKind::NotFound => Some("Check the ids; the message or channel may have been deleted."),
            ErrorKind::Unreachable | ErrorKind::Server => Some("Check the network and try again."),
            ErrorKind::File => Some("Check the folder and the room on its disk."),
            ErrorKind::TooLarge => Some("Send a smaller file."),
            _ => None,
        };
        Self { kind, message: error.message, hint: hint.map(str::to_owned) }
    }
}

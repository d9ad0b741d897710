//! Ids as types: Discord's snowflakes (integers inside, strings on the wire) and our own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::clock::Millis;

/// Milliseconds between the Unix epoch and Discord's epoch (discord/facts.md section 1).
pub const DISCORD_EPOCH_MS: i64 = 1_420_070_400_000;

/// A text that is not the id it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {kind}")]
pub struct BadId {
    /// Kind of id that was wanted, for people.
    pub kind: &'static str,
    /// Start of the text that was given (at most 40 characters).
    pub text: String,
}

impl BadId {
    fn new(kind: &'static str, text: &str) -> Self {
        Self { kind, text: text.chars().take(40).collect() }
    }
}

macro_rules! snowflake {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// Time at which Discord made the id, by Discord's clock.
            pub fn created(self) -> Millis {
                Millis((self.0 >> 22) as i64 + DISCORD_EPOCH_MS)
            }

            /// The smallest id that Discord could have made at `time`; 0 before Discord's epoch.
            pub fn at(time: Millis) -> Self {
                Self((time.0.saturating_sub(DISCORD_EPOCH_MS).max(0) as u64) << 22)
            }

            /// As SQLite stores it. Snowflakes stay below 2^63 until the year 2084.
            pub fn sql(self) -> i64 {
                self.0 as i64
            }

            /// From the integer that SQLite stored.
            pub fn from_sql(value: i64) -> Self {
                Self(value as u64)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let digits = !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
                match text.parse::<u64>() {
                    Ok(n) if digits && n <= i64::MAX as u64 => Ok(Self(n)),
                    _ => Err(BadId::new($kind, text)),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

snowflake!(
    /// A channel, thread or direct-message channel.
    ChannelId,
    "channel id"
);
snowflake!(
    /// A message.
    MessageId,
    "message id"
);
snowflake!(
    /// A person or bot account.
    UserId,
    "user id"
);
snowflake!(
    /// A guild (a server, in Discord's own windows).
    GuildId,
    "guild id"
);
snowflake!(
    /// A file attached to a message.
    AttachmentId,
    "attachment id"
);
snowflake!(
    /// One press, choice or submitted form.
    InteractionId,
    "interaction id"
);
snowflake!(
    /// An application (the bot's owner object on Discord).
    ApplicationId,
    "application id"
);
snowflake!(
    /// A role of a guild.
    RoleId,
    "role id"
);

macro_rules! local_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let fits = (1..=36).contains(&text.len());
                let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
                if fits && plain { Ok(Self(text.to_owned())) } else { Err(BadId::new($kind, text)) }
            }
        }
    };
}

local_id!(
    /// A host: one installation of the program in one workspace.
    HostId,
    "host id"
);
local_id!(
    /// Local key of a bot. Its Discord id is unknown before READY, so rows hang on this.
    BotKey,
    "bot key"
);
local_id!(
    /// A task: one thing that a person asked for.
    TaskId,
    "task id"
);
local_id!(
    /// A run: one attempt (turn) at a task.
    RunId,
    "run id"
);
local_id!(
    /// An approval that a person is asked for.
    ApprovalId,
    "approval id"
);
local_id!(
    /// An object (artifact) in the store.
    ArtifactId,
    "artifact id"
);
local_id!(
    /// A spend meter: the span between two `spend --resume`.
    MeterId,
    "meter id"
);
local_id!(
    /// An intended upload, recorded before any byte leaves.
    PutId,
    "put id"
);
local_id!(
    /// Key that a custom id's MAC was made with.
    KeyId,
    "key id"
);

/// Row of the `mirrors` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MirrorId(pub i64);

/// Row of the `outbox` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxId(pub i64);

/// Number in the code that people see, as in `DOS-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct TaskCode(pub i64);

impl fmt::Display for TaskCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DOS-{}", self.0)
    }
}

impl From<TaskCode> for String {
    fn from(code: TaskCode) -> Self {
        code.to_string()
    }
}

impl FromStr for TaskCode {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let number = text.strip_prefix("DOS-").or_else(|| text.strip_prefix("dos-"));
        match number.and_then(|n| n.parse::<u32>().ok()) {
            Some(n) if n > 0 => Ok(Self(i64::from(n))),
            _ => Err(BadId::new("job code (such as DOS-12)", text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snowflakes_are_strings_on_the_wire() {
        let id: ChannelId = serde_json::from_str("\"123456789012345678\"").unwrap();
        assert_eq!(id, ChannelId(123_456_789_012_345_678));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"123456789012345678\"");
    }

    #[test]
    fn snowflakes_refuse_what_is_no_number() {
        for text in ["", "-1", "+1", "1.0", "0x10", " 1", "99999999999999999999", "18446744073709551615", "abc"] {
            assert!(text.parse::<ChannelId>().is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn snowflake_time_round_trips() {
        let time = Millis(1_800_000_000_123);
        assert_eq!(MessageId::at(time).created(), time);
        assert_eq!(MessageId::at(Millis(0)), MessageId(0));
    }

    #[test]
    fn task_codes_parse_as_people_write_them() {
        assert_eq!("DOS-12".parse::<TaskCode>().unwrap(), TaskCode(12));
        assert_eq!("dos-12".parse::<TaskCode>().unwrap(), TaskCode(12));
        for text in ["DOS-0", "DOS-", "DOS--1", "12", "DOS-99999999999"] {
            assert!(text.parse::<TaskCode>().is_err(), "{text:?} was taken");
        }
    }
}

//! What a person did to one of our messages: pressed, chose, or filled in a form.

use std::collections::BTreeMap;

use super::actor::AccountKind;
use crate::base::ids::{ApplicationId, ChannelId, GuildId, InteractionId, MessageId, RoleId, UserId};
use crate::base::secret::Secret;

/// Kind of interaction that a host takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A button or select of a message.
    Component {
        /// The message it stands on.
        message: MessageId,
        /// Its custom id.
        custom_id: String,
        /// What was chosen; empty for a button.
        values: Vec<String>,
    },
    /// A form that came back.
    Form {
        /// Its custom id.
        custom_id: String,
        /// Values by the fields' custom ids, from Label and from ActionRow forms alike.
        fields: BTreeMap<String, String>,
        /// The message whose button opened it, if any.
        message: Option<MessageId>,
    },
    /// Anything else (slash commands, autocomplete, ping): number of its type.
    Other(u64),
}

/// One interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// Id; answered once (I-1).
    pub id: InteractionId,
    /// Application it was sent to.
    pub application: ApplicationId,
    /// Token that answers it, good for 15 minutes. Never logged.
    pub token: Secret,
    /// Who did it.
    pub user: UserId,
    /// What kind of account that is.
    pub kind: AccountKind,
    /// Name shown for the person.
    pub user_name: String,
    /// Roles the person has in the guild; empty in direct messages.
    pub roles: Vec<RoleId>,
    /// Guild, where there is one.
    pub guild: Option<GuildId>,
    /// Channel or thread it happened in.
    pub channel: ChannelId,
    /// What was done.
    pub act: Act,
    /// Largest file this place takes, in bytes, as Discord said with the interaction.
    pub attachment_size_limit: Option<u64>,
}

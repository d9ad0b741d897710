//! Who does something, and through which face.

use serde::{Deserialize, Serialize};

use crate::base::ids::{RoleId, UserId};

/// What a person is to this host (DESIGN "Who may do what").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Answers lane only.
    Member,
    /// May decide approvals.
    Approver,
    /// May turn the host on and off, give tasks, approve, cancel, retry, halt and resume.
    Operator,
    /// May do everything.
    Owner,
}

impl Role {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Approver => "approver",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Member, Self::Approver, Self::Operator, Self::Owner].into_iter().find(|r| r.as_str() == text)
    }
}

/// Kind of account that an event came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A person.
    Human,
    /// Another bot (or our own).
    Bot,
    /// A webhook.
    Webhook,
}

impl AccountKind {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Bot => "bot",
            Self::Webhook => "webhook",
        }
    }
}

/// Who asks for a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// An account on Discord, with the roles that this event carried or that were fetched for it.
    Discord {
        /// The account.
        user: UserId,
        /// What kind of account.
        kind: AccountKind,
        /// Its roles in the guild; empty in direct messages.
        roles: Vec<RoleId>,
    },
    /// The person at the machine, through the CLI or the host's socket (same user id, checked by the kernel).
    Local,
    /// The host itself: schedules, recovery.
    Host,
}

impl Actor {
    /// The Discord account, where there is one.
    pub fn user(&self) -> Option<UserId> {
        match self {
            Self::Discord { user, .. } => Some(*user),
            Self::Local | Self::Host => None,
        }
    }

    /// How the ledger names the actor: `user:123`, `local` or `host`.
    pub fn label(&self) -> String {
        match self {
            Self::Discord { user, .. } => format!("user:{user}"),
            Self::Local => "local".to_owned(),
            Self::Host => "host".to_owned(),
        }
    }
}

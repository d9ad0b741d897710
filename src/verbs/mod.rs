//! Every way in becomes the same [`Verb`]. `policy` alone can make an `Allowed`, and only that is carried out (I-4).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::ids::{ApprovalId, BotKey, ChannelId, GuildId, HostId, MessageId, RunId, TaskCode, TaskId};
use crate::model::actor::Actor;
use crate::model::reply::Reply;
use crate::model::settings::Limits;
use crate::model::tap::Signer;

/// One thing that a person can ask for, whatever the face.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// Accept work.
    On,
    /// Ask whether to stop accepting work.
    Off,
    /// Stop accepting work; live runs are cancelled.
    OffConfirm,
    /// Keep it on after all.
    OffCancel,
    /// Open the form to type an ask into.
    AskForm,
    /// An ask: a task. By form, message or CLI.
    Ask {
        /// What is asked.
        text: String,
    },
    /// Become the owner where there is none; else tell how to be added.
    Pair,
    /// Stop new work for money's sake.
    Halt,
    /// End the halt.
    Resume,
    /// End a run.
    Cancel {
        /// Which.
        run: RunId,
    },
    /// Run a task again, as the next turn.
    Retry {
        /// Its run.
        run: RunId,
    },
    /// Yes to an approval.
    Approve {
        /// Which.
        approval: ApprovalId,
    },
    /// No to an approval.
    Deny {
        /// Which.
        approval: ApprovalId,
    },
    /// Show a run's receipt, privately.
    Receipt {
        /// Which.
        run: RunId,
    },
}

/// Where something is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Channel or thread.
    pub channel: ChannelId,
    /// Guild, where there is one.
    pub guild: Option<GuildId>,
    /// For a message: itself. For a tap: the card it stands on.
    pub message: Option<MessageId>,
}

/// One verb asked for by one actor at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What.
    pub verb: Verb,
    /// Who, with the roles that this event carried or that were fetched for it.
    pub actor: Actor,
    /// Name of who, for people.
    pub name: String,
    /// Where.
    pub place: Place,
}

/// What deciding needs besides the ledger.
#[derive(Clone)]
pub struct Tools {
    /// This host.
    pub host: HostId,
    /// Bot that the order came through.
    pub bot: BotKey,
    /// Signs custom ids of private answers.
    pub signer: Signer,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub entropy: Arc<Entropy>,
    /// Bounds.
    pub limits: Limits,
    /// Name of the backend that new runs get.
    pub backend: String,
    /// Whether the pinned-owner setting turns pairing by tap off (I-5).
    pub owner_pinned: bool,
}

/// How an order ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It took effect (or had already).
    Done,
    /// Policy said no.
    Refused,
    /// It came too late: the card was old, the run had ended, another was first.
    Stale,
    /// What it names does not exist.
    Unknown,
}

/// What an order led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// What the person is told: privately for a tap, on the terminal for the CLI.
    pub reply: Reply,
    /// The task and run that it made or concerns.
    pub task: Option<(TaskId, TaskCode, RunId)>,
}

//! Every way in becomes the same [`Verb`]. `policy` alone can make an `Allowed`, and only that is carried out (I-4).

mod approve;
pub mod ask;
mod cancel;
mod halt;
mod pair;
pub mod policy;
mod power;
mod receipt;
mod retry;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::ids::{ApprovalId, BotKey, ChannelId, GuildId, HostId, MessageId, RunId, TaskCode, TaskId};
use crate::ledger::{self, Write};
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
    /// For a message: itself. For a tap: the card it stands on. For a form that came back: nothing, so that the
    /// card which opened it is not taken for the message that asks.
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
    /// Whether tasks asked for with these tools are never shown in Discord.
    pub silent: bool,
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

impl Outcome {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
    }
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

impl Answer {
    fn new(outcome: Outcome, reply: Reply) -> Self {
        Self { outcome, reply, task: None }
    }

    fn done(text: impl Into<String>) -> Self {
        Self::new(Outcome::Done, Reply::private(text))
    }

    fn refused(text: impl Into<String>) -> Self {
        Self::new(Outcome::Refused, Reply::private(text))
    }

    fn stale(text: impl Into<String>) -> Self {
        Self::new(Outcome::Stale, Reply::private(text))
    }

    fn unknown(text: impl Into<String>) -> Self {
        Self::new(Outcome::Unknown, Reply::private(text))
    }

    /// It took effect. On Discord the cards tell, so that no private line piles up; a terminal has no cards.
    fn shown(order: &Order, text: impl Into<String>) -> Self {
        match order.actor {
            Actor::Discord { .. } => Self::new(Outcome::Done, Reply::Seen),
            Actor::Local | Actor::Host => Self::done(text),
        }
    }

    fn about(mut self, task: &TaskId, code: TaskCode, run: &RunId) -> Self {
        self.task = Some((task.clone(), code, run.clone()));
        self
    }
}

/// Decides an order and records what follows from it, in the caller's transaction. The one way to do it (I-4).
///
/// # Errors
/// Only the ledger's own. A refusal, or an order that came too late, is an [`Answer`].
pub fn carry_out(tx: &Write<'_>, order: &Order, tools: &Tools) -> ledger::Result<Answer> {
    let allowed = match policy::allow(tx, order, tools)? {
        Ok(allowed) => allowed,
        Err(refusal) => return Ok(Answer::refused(refusal.why)),
    };
    match &order.verb {
        Verb::On => power::on(tx, &allowed),
        Verb::Off => power::off(tx, &allowed),
        Verb::OffConfirm => power::off_confirm(tx, &allowed),
        Verb::OffCancel => power::off_cancel(tx, &allowed),
        Verb::AskForm => ask::form(tx, &allowed),
        Verb::Ask { text } => ask::ask(tx, &allowed, text),
        Verb::Pair => pair::pair(tx, &allowed),
        Verb::Halt => halt::set(tx, &allowed, true),
        Verb::Resume => halt::set(tx, &allowed, false),
        Verb::Cancel { run } => cancel::cancel(tx, &allowed, run),
        Verb::Retry { run } => retry::retry(tx, &allowed, run),
        Verb::Approve { approval } => approve::decide(tx, &allowed, approval, true),
        Verb::Deny { approval } => approve::decide(tx, &allowed, approval, false),
        Verb::Receipt { run } => receipt::receipt(tx, &allowed, run),
    }
}

/// An actor's label for people: a mention (which pings nobody, I-20) or words.
fn person(label: &str) -> String {
    match (label, label.strip_prefix("user:")) {
        (_, Some(id)) => format!("<@{id}>"),
        ("local", _) => "the person at the machine".to_owned(),
        _ => "the host".to_owned(),
    }
}

#[cfg(test)]
mod tests;

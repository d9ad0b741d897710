//! What the CLI can have done on a workspace: by the host that runs there, over its socket, or by itself where none
//! does. Either way the same function does it.

use serde::{Deserialize, Serialize};

use crate::base::failure::Failure;
use crate::base::ids::{ChannelId, GuildId, MeterId, PutId, RunId, TaskCode, TaskId, UserId};
use crate::base::money::MicroUsd;
use crate::ledger::people::{Person, Subject};
use crate::ledger::{Ledger, control, people, puts, spend};
use crate::model::actor::{Actor, Role};
use crate::model::card::{Block, Body};
use crate::model::object::{Intent, Object};
use crate::model::reply::Reply;
use crate::verbs::{self, Answer, Order, Outcome, Place, Tools, Verb};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Deed {
    /// Tell who you are.
    Status,
    /// What a person could ask for in Discord, by the person at the machine.
    Order {
        /// What.
        verb: Verb,
        /// Where.
        channel: ChannelId,
        /// Its guild.
        guild: Option<GuildId>,
    },
    /// Record an upload that is meant to happen (I-9).
    Intend {
        /// The intent.
        intent: Intent,
    },
    /// Record where the bytes lie.
    Stored {
        /// Which intent.
        put: PutId,
        /// The object.
        object: Object,
    },
    /// Nothing was stored.
    Failed {
        /// Which intent.
        put: PutId,
        /// Why.
        why: String,
    },
    /// Add a person.
    Pair {
        /// Account.
        user: UserId,
        /// As what.
        role: Role,
        /// Name, for people.
        name: Option<String>,
    },
    /// Set the cap of the meter.
    Cap {
        /// In millionths of a US dollar.
        micro_usd: i64,
    },
    /// Close the meter and open a new one; the history stays.
    NewMeter {
        /// Cap of the new one, where it is not the old one's.
        micro_usd: Option<i64>,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    /// Who answers.
    Status {
        /// Process.
        pid: u32,
        /// Host id.
        host: String,
    },
    /// How an order ended.
    Order {
        /// How.
        outcome: Outcome,
        /// What the person is told.
        text: String,
        /// Task and run that it made or concerns.
        about: Option<About>,
    },
    /// The intent to go on with.
    Intent {
        /// The intent.
        intent: Intent,
    },
    /// It changed something, or was so already.
    Changed {
        /// Whether something changed.
        changed: bool,
    },
}

/// A task and its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Task.
    pub task: TaskId,
    /// Number in its code.
    pub code: i64,
    /// Run.
    pub run: RunId,
}

impl About {
    /// Code that people see.
    pub fn code(&self) -> TaskCode {
        TaskCode(self.code)
    }
}

/// Does a deed on the ledger.
///
/// # Errors
/// The ledger's own.
pub async fn carry(ledger: &Ledger, tools: &Tools, deed: Deed) -> Result<Done, Failure> {
    let now = tools.clock.now();
    let tools = tools.clone();
    Ok(match deed {
        Deed::Status => Done::Status { pid: std::process::id(), host: tools.host.0 },
        Deed::Order { verb, channel, guild } => {
            let place = Place { channel, guild, message: None };
            let order = Order { verb, actor: Actor::Local, name: "the person at the machine".to_owned(), place };
            told(ledger.write("order.local", move |tx| verbs::carry_out(tx, &order, &tools)).await?)
        }
        Deed::Intend { intent } => {
            let intent = ledger.write("put.intend", move |tx| puts::intend(tx, &tools.bot, &intent)).await?;
            Done::Intent { intent }
        }
        Deed::Stored { put, object } => {
            ledger.write("put.stored", move |tx| puts::stored(tx, &tools.bot, &put, &object)).await?;
            Done::Changed { changed: true }
        }
        Deed::Failed { put, why } => {
            ledger.write("put.failed", move |tx| puts::failed(tx, &put, &why)).await?;
            Done::Changed { changed: true }
        }
        Deed::Pair { user, role, name } => {
            let added_by = Actor::Local.label();
            let person = Person { subject: Subject::User(user), role, name, added_by, at: now };
            let changed = ledger.write("pair.local", move |tx| people::add(tx, &tools.bot, &person)).await?;
            Done::Changed { changed }
        }
        Deed::Cap { micro_usd } => {
            let by = Actor::Local.label();
            let write = ledger.write("spend.cap", move |tx| {
                let meter = spend::set_cap(tx, &tools.host, MicroUsd(micro_usd))?;
                // A cap below what is spent means: no more (I-8).
                if meter.is_some_and(|meter| meter.spent > meter.cap) {
                    control::set_halted(tx, &tools.host, true, &control::By { who: &by, why: None, at: now })?;
                }
                Ok(())
            });
            write.await?;
            Done::Changed { changed: true }
        }
        Deed::NewMeter { micro_usd } => {
            let id = MeterId(tools.entropy.id(now));
            let usual = tools.limits.spend_cap;
            let write = ledger.write("spend.resume", move |tx| {
                let old = spend::close(tx, &tools.host, now)?;
                let cap = micro_usd.map(MicroUsd).or(old).unwrap_or(usual);
                spend::open(tx, &tools.host, &id, cap, now)
            });
            write.await?;
            Done::Changed { changed: true }
        }
    })
}

fn told(answer: Answer) -> Done {
    let text = match &answer.reply {
        Reply::Private(body) | Reply::Replace(body) => plain(body),
        Reply::Seen => "Done.".to_owned(),
        Reply::Form(form) => form.title.clone(),
    };
    let about = answer.task.map(|(task, code, run)| About { task, code: code.0, run });
    Done::Order { outcome: answer.outcome, text, about }
}

fn plain(body: &Body) -> String {
    match body {
        Body::Text(text) => text.clone(),
        Body::Card(card) => {
            let texts = card.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                Block::Divider | Block::Buttons(_) | Block::Menu(_) => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

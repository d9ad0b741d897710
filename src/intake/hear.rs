//! What becomes of a message, decided in the transaction that takes it (I-1).

use crate::base::ids::RoleId;
use crate::base::redact::redact;
use crate::base::text;
use crate::ledger::inbox::{self, Fate, Noted, State, Via};
use crate::ledger::outbox::{self, Said, Target};
use crate::ledger::{self, LedgerError, Write, bots, channels};
use crate::model::actor::{AccountKind, Actor};
use crate::model::card::{Body, Post};
use crate::model::message::Message;
use crate::model::reply::Reply;
use crate::verbs::{self, Order, Outcome, Place, Tools, Verb, ask, policy};

/// The card says when a person wrote last in steps this coarse (milliseconds), so that a lively channel does not cost
/// an edit for each message.
const SEEN_STEP_MS: i64 = 60_000;

/// Most code points of a person's name that are kept: Discord allows 32.
const NAME: usize = 80;

/// A message with what was fetched for its decision.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub(super) message: Message,
    pub(super) via: Via,
    /// Roles of its author; `None` where they matter and could not be fetched.
    pub(super) roles: Option<Vec<RoleId>>,
    /// Too old to be acted on without asking (DESIGN "Missed while off or away").
    pub(super) late: bool,
}

/// Takes a message, once, and decides on it.
pub(super) fn hear(tx: &Write<'_>, tools: &Tools, incoming: &Incoming) -> ledger::Result<()> {
    let message = &incoming.message;
    let Some(channel) = channels::get(tx, &tools.bot, message.channel)? else { return Ok(()) };
    let own = bots::get(tx, &tools.bot)?.and_then(|bot| bot.user);
    if own == Some(message.author) || !take(tx, tools, incoming)? {
        return Ok(());
    }
    if channel.retired && incoming.via == Via::Gateway {
        channels::retire(tx, &tools.bot, channel.id, false)?;
    }
    let (state, fate) = decide(tx, tools, incoming)?;
    inbox::settle(tx, &tools.bot, message.id, state, &fate)?;
    if message.is_order() {
        bots::note_message(tx, &tools.bot, message.id.created(), SEEN_STEP_MS)?;
    }
    Ok(())
}

/// Keeps a message that could not be decided, so that it holds up neither the gateway nor the cursor.
pub(super) fn hold(tx: &Write<'_>, tools: &Tools, incoming: &Incoming, error: &LedgerError) -> ledger::Result<()> {
    if !take(tx, tools, incoming)? {
        return Ok(());
    }
    let fate = kept(incoming, format!("It could not be decided: {error}."));
    inbox::settle(tx, &tools.bot, incoming.message.id, State::Held, &fate)
}

fn take(tx: &Write<'_>, tools: &Tools, incoming: &Incoming) -> ledger::Result<bool> {
    let message = &incoming.message;
    let noted = Noted {
        message: message.id,
        channel: message.channel,
        author: message.author,
        kind: message.author_kind,
        via: incoming.via,
    };
    inbox::take(tx, &tools.bot, &noted, tools.clock.now())
}

fn decide(tx: &Write<'_>, tools: &Tools, incoming: &Incoming) -> ledger::Result<(State, Fate)> {
    let message = &incoming.message;
    if let Some(why) = no_order(message) {
        return Ok((State::Ignored, because(why)));
    }
    let order = order(incoming);
    if let Err(refusal) = policy::allow(tx, &order, tools)? {
        return Ok(match incoming.roles {
            Some(_) => (State::Refused, because(refusal.why)),
            // Refusing for good what a role might have allowed would lose an order.
            None => (State::Held, kept(incoming, "The author's roles could not be fetched.")),
        });
    }
    if names_a_key(&message.content) {
        answer(tx, tools, message, "Keys are not taken in chat. Delete your message, since it may show one.")?;
        return Ok((State::Ignored, because("it may hold a key, so its text is not kept")));
    }
    if incoming.late {
        return Ok((State::Held, kept(incoming, "It was found late.")));
    }
    if let Some(closed) = ask::closed_in(tx, tools, message.channel)? {
        let why = closed.sentence();
        answer(tx, tools, message, &format!("{why} Your order is kept; the HOST card counts it."))?;
        return Ok((State::Held, kept(incoming, why)));
    }
    let done = verbs::carry_out(tx, &order, tools)?;
    if done.outcome == Outcome::Done {
        return Ok((State::Acted, Fate::default()));
    }
    let why = match done.reply {
        Reply::Private(Body::Text(text)) => text,
        _ => "It could not be taken.".to_owned(),
    };
    answer(tx, tools, message, &why)?;
    Ok((State::Refused, because(why)))
}

fn order(incoming: &Incoming) -> Order {
    let message = &incoming.message;
    Order {
        verb: Verb::Ask { text: message.content.trim().to_owned() },
        actor: Actor::Discord {
            user: message.author,
            kind: message.author_kind,
            roles: incoming.roles.clone().unwrap_or_default(),
        },
        name: text::cut(&text::one_line(&message.author_name), NAME),
        place: Place { channel: message.channel, guild: message.guild, message: Some(message.id) },
    }
}

/// Why a message cannot be an order, whoever wrote it.
fn no_order(message: &Message) -> Option<&'static str> {
    if message.author_kind != AccountKind::Human {
        Some("a bot or webhook wrote it")
    } else if !message.is_order() {
        Some("it is not a written message")
    } else if message.content.trim().is_empty() {
        Some("it has no text that could be read")
    } else {
        None
    }
}

/// Whether a message looks like a key that is handed over: its text must not reach the ledger or a prompt.
fn names_a_key(content: &str) -> bool {
    let first = content.split_whitespace().next().unwrap_or_default();
    ["/connect", "!connect"].iter().any(|verb| first.eq_ignore_ascii_case(verb))
}

fn answer(tx: &Write<'_>, tools: &Tools, message: &Message, say: &str) -> ledger::Result<()> {
    let post = Post::text(say).replying(message.id);
    let target = Target::Channel(message.channel);
    outbox::say(tx, &tools.bot, &target, &Said::Reply, &post, tools.clock.now())?;
    Ok(())
}

fn because(why: impl Into<String>) -> Fate {
    Fate { why: Some(why.into()), text: None }
}

fn kept(incoming: &Incoming, why: impl Into<String>) -> Fate {
    Fate { why: Some(why.into()), text: Some(redact(&incoming.message.content)) }
}

//! What a press, a choice or a form means, decided in the transaction that takes it (I-1, I-4).

use crate::base::hash::Sha256;
use crate::base::ids::{ApprovalId, RunId};
use crate::base::text;
use crate::ledger::interactions::{self, Ended, Noted};
use crate::ledger::{self, Read, Write, approvals};
use crate::model::actor::Actor;
use crate::model::interaction::{Act, Interaction};
use crate::model::reply::Reply;
use crate::model::tap::{BadTap, Signed, TapVerb};
use crate::verbs::{self, Answer, Order, Outcome, Place, Tools, Verb, ask};

/// Interaction type of a slash command (discord/facts.md section 3).
const COMMAND: u64 = 2;

/// Most code points of a person's name that are kept: Discord allows 32.
const NAME: usize = 80;

/// Takes an interaction, once, and decides on it. `None`: nothing is to be answered.
pub(super) fn tap(tx: &Write<'_>, tools: &Tools, interaction: &Interaction) -> ledger::Result<Option<Reply>> {
    let noted = Noted { id: interaction.id, user: interaction.user, channel: interaction.channel };
    if !interactions::take(tx, &tools.bot, &noted, tools.clock.now())? {
        return Ok(None);
    }
    let (signed, answer) = match read(tx, tools, interaction)? {
        Ok((signed, verb)) => {
            let answer = match verb {
                Some(verb) => verbs::carry_out(tx, &order(interaction, verb), tools)?,
                None => Answer { outcome: Outcome::Done, reply: Reply::Seen, task: None },
            };
            (Some(signed), Some(answer))
        }
        Err(answer) => (None, answer.map(|answer| *answer)),
    };
    let ended = Ended {
        verb: signed.as_ref().map_or("unknown", |signed| signed.tap.verb.as_str()),
        subject: signed.as_ref().map(|signed| signed.tap.id.as_str()),
        outcome: answer.as_ref().map_or(Outcome::Unknown, |answer| answer.outcome).as_str(),
    };
    interactions::settle(tx, &tools.bot, interaction.id, &ended)?;
    Ok(answer.map(|answer| answer.reply))
}

fn order(interaction: &Interaction, verb: Verb) -> Order {
    // The card that opened a form is not the message that asks (see `Place`).
    let message = match &interaction.act {
        Act::Component { message, .. } => Some(*message),
        Act::Form { .. } | Act::Other(_) => None,
    };
    Order {
        verb,
        actor: Actor::Discord { user: interaction.user, kind: interaction.kind, roles: interaction.roles.clone() },
        name: text::cut(&text::one_line(&interaction.user_name), NAME),
        place: Place { channel: interaction.channel, guild: interaction.guild, message },
    }
}

/// A believed custom id and what it asks for (`None`: nothing), or what is answered instead.
type Understood = std::result::Result<(Signed, Option<Verb>), Option<Box<Answer>>>;

fn read(read: &Read<'_>, tools: &Tools, interaction: &Interaction) -> ledger::Result<Understood> {
    let custom_id = match &interaction.act {
        Act::Component { custom_id, .. } | Act::Form { custom_id, .. } => custom_id,
        Act::Other(COMMAND) => {
            return Ok(no(Outcome::Unknown, "This host takes no commands. Use its card, or write a sentence."));
        }
        Act::Other(_) => return Ok(Err(None)),
    };
    let Ok(signed) = custom_id.parse::<Signed>() else {
        return Ok(no(Outcome::Unknown, "That is not a button of this host. Use the newest card."));
    };
    let Some(action) = action(read, &signed)? else {
        return Ok(no(Outcome::Stale, "There is nothing of that kind to decide. Use the newest card."));
    };
    match tools.signer.check(&signed, interaction.channel, action.as_ref()) {
        Ok(()) => {}
        Err(BadTap::Key) => return Ok(no(Outcome::Stale, "This card is from an older key; use the newest card.")),
        Err(BadTap::Mac | BadTap::Form) => {
            return Ok(no(Outcome::Refused, "That button was not made for this place. Use the newest card."));
        }
    }
    if names_host(signed.tap.verb) && signed.tap.id != tools.host.as_str() {
        return Ok(no(Outcome::Stale, "That card belongs to another host. Use the newest card."));
    }
    Ok(match verb(&signed, &interaction.act) {
        Some(verb) => Ok((signed, verb)),
        None => no(Outcome::Unknown, "That cannot be understood. Use the newest card."),
    })
}

fn no(outcome: Outcome, text: &str) -> Understood {
    Err(Some(Box::new(Answer { outcome, reply: Reply::private(text), task: None })))
}

/// The digest that the proof must cover. The outer `None`: what is to be decided does not exist.
fn action(read: &Read<'_>, signed: &Signed) -> ledger::Result<Option<Option<Sha256>>> {
    if !matches!(signed.tap.verb, TapVerb::Approve | TapVerb::Deny) {
        return Ok(Some(None));
    }
    let found = approvals::get(read, &ApprovalId(signed.tap.id.clone()))?;
    Ok(found.map(|approval| Some(approval.digest)))
}

fn names_host(verb: TapVerb) -> bool {
    !matches!(
        verb,
        TapVerb::Cancel | TapVerb::Retry | TapVerb::Approve | TapVerb::Deny | TapVerb::Receipt | TapVerb::Mark
    )
}

/// What is asked for: the outer `None` means that it makes no sense, the inner one that nothing is.
fn verb(signed: &Signed, act: &Act) -> Option<Option<Verb>> {
    let id = &signed.tap.id;
    if let Act::Form { fields, .. } = act {
        let text = fields.get(ask::FIELD)?.clone();
        return (signed.tap.verb == TapVerb::Ask).then_some(Some(Verb::Ask { text }));
    }
    let run = || RunId(id.clone());
    let approval = || ApprovalId(id.clone());
    Some(Some(match signed.tap.verb {
        TapVerb::On => Verb::On,
        TapVerb::Off => Verb::Off,
        TapVerb::OffConfirm => Verb::OffConfirm,
        TapVerb::OffCancel => Verb::OffCancel,
        TapVerb::Ask => Verb::AskForm,
        TapVerb::Pair => Verb::Pair,
        TapVerb::Halt => Verb::Halt,
        TapVerb::Resume => Verb::Resume,
        TapVerb::Cancel => Verb::Cancel { run: run() },
        TapVerb::Retry => Verb::Retry { run: run() },
        TapVerb::Approve => Verb::Approve { approval: approval() },
        TapVerb::Deny => Verb::Deny { approval: approval() },
        TapVerb::Receipt => Verb::Receipt { run: run() },
        TapVerb::Jobs => match act {
            Act::Component { values, .. } => Verb::Receipt { run: values.first()?.parse().ok()? },
            Act::Form { .. } | Act::Other(_) => return None,
        },
        TapVerb::Mark => return Some(None),
    }))
}

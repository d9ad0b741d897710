//! On and Off. Off asks first, privately, since it cancels what runs.

use super::pair;
use super::policy::Allowed;
use super::{Answer, Outcome};
use crate::base::ids::RunId;
use crate::ledger::control::{self, By};
use crate::ledger::{self, Read, Write, runs};
use crate::model::actor::Actor;
use crate::model::card::{Block, Body, Button, ButtonStyle, Card};
use crate::model::power::Power;
use crate::model::reply::Reply;
use crate::model::run::RunState;
use crate::model::tap::{Tap, TapVerb};

/// Runs that one Off may cancel: more than can be live or wait to start in any sane use, and a bound (I-17).
const MOST_CANCELLED: usize = 10_000;

const OFF_ALREADY: &str = "The host is off already.";

pub(super) fn on(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    let owns = pair::own(tx, allowed)?;
    let order = allowed.order();
    let by = By { who: &order.actor.label(), why: None, at: allowed.tools().clock.now() };
    let changed = control::set_power(tx, &allowed.tools().host, Power::On, &by)?;
    if owns {
        return Ok(Answer::done("You own this host now, and it is on. Write here what you want done, or tap Ask."));
    }
    Ok(if changed { Answer::shown(order, "The host is on.") } else { Answer::done("The host is on already.") })
}

pub(super) fn off(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    let (order, tools) = (allowed.order(), allowed.tools());
    if power(tx, allowed)? == Power::Off {
        return Ok(Answer::done(OFF_ALREADY));
    }
    // Who types a command at the machine has said it in full; only a thumb can slip.
    if !matches!(order.actor, Actor::Discord { .. }) {
        return off_confirm(tx, allowed);
    }
    let press = |verb, style, label: &str| Button::Press {
        style,
        label: label.to_owned(),
        custom_id: tools.signer.sign(&Tap::new(verb, tools.host.as_str(), ""), order.place.channel, None),
        disabled: false,
    };
    let stops = match to_cancel(tx, allowed)?.len() {
        0 => "No job runs or waits to start.".to_owned(),
        1 => "1 job that runs or waits to start is cancelled.".to_owned(),
        n => format!("{n} jobs that run or wait to start are cancelled."),
    };
    let card = Card {
        accent: None,
        blocks: vec![
            Block::Text(format!("**Turn this host off?**\n{stops} Buttons go on answering.")),
            Block::Buttons(vec![
                press(TapVerb::OffConfirm, ButtonStyle::Danger, "Turn off"),
                press(TapVerb::OffCancel, ButtonStyle::Secondary, "Keep on"),
            ]),
        ],
    };
    Ok(Answer::new(Outcome::Done, Reply::Private(Body::Card(card))))
}

pub(super) fn off_confirm(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    if power(tx, allowed)? == Power::Off {
        return Ok(replace(allowed, OFF_ALREADY));
    }
    let now = allowed.tools().clock.now();
    let who = allowed.order().actor.label();
    control::set_power(tx, &allowed.tools().host, Power::Off, &By { who: &who, why: None, at: now })?;
    let cancelled = to_cancel(tx, allowed)?;
    for run in &cancelled {
        runs::cancel(tx, run, &who, now)?;
    }
    Ok(replace(
        allowed,
        match cancelled.len() {
            0 => "The host is off.".to_owned(),
            1 => "The host is off. 1 job is being cancelled.".to_owned(),
            n => format!("The host is off. {n} jobs are being cancelled."),
        },
    ))
}

pub(super) fn off_cancel(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    Ok(match power(tx, allowed)? {
        Power::On => replace(allowed, "The host stays on."),
        Power::Off => replace(allowed, OFF_ALREADY),
    })
}

/// The question is replaced by its outcome, so that its buttons cannot be pressed again.
fn replace(allowed: &Allowed<'_>, text: impl Into<String>) -> Answer {
    let text = text.into();
    match allowed.order().actor {
        // The question is a card, and a card cannot become plain text (discord/facts.md 3.2).
        Actor::Discord { .. } => {
            let card = Card { accent: None, blocks: vec![Block::Text(text)] };
            Answer::new(Outcome::Done, Reply::Replace(Body::Card(card)))
        }
        Actor::Local | Actor::Host => Answer::done(text),
    }
}

fn power(read: &Read<'_>, allowed: &Allowed<'_>) -> ledger::Result<Power> {
    Ok(control::host(read, &allowed.tools().host)?.map_or(Power::Off, |host| host.power))
}

/// What runs or would start by itself. A job that waits for a person's yes goes on waiting.
fn to_cancel(read: &Read<'_>, allowed: &Allowed<'_>) -> ledger::Result<Vec<RunId>> {
    let mut found = Vec::new();
    for state in [RunState::Queued, RunState::Claimed, RunState::Started] {
        let some = runs::in_state(read, &allowed.tools().host, state, MOST_CANCELLED)?;
        found.extend(some.into_iter().map(|run| run.id));
    }
    Ok(found)
}

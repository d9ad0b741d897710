//! Pair: become the owner where there is none; else tell how one is added.

use super::Answer;
use super::policy::Allowed;
use crate::ledger::people::{self, Person, Subject};
use crate::ledger::{self, Write};
use crate::model::actor::{Actor, Role};

pub(super) fn pair(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    if own(tx, allowed)? {
        return Ok(Answer::done("You own this host now. Tap On, then write here what you want done."));
    }
    Ok(match allowed.order().actor {
        Actor::Discord { .. } => Answer::done(format!("You are paired already, as {}.", allowed.role().as_str())),
        // Nobody to pair: the machine's own user has no account on Discord that we could know.
        Actor::Local | Actor::Host => Answer::refused(FROM_THE_MACHINE),
    })
}

const FROM_THE_MACHINE: &str =
    "Pairing needs an account on Discord. Tap Pair on the HOST card, or set DISCORD_OWNER_ID and start the host again.";

/// Makes the actor the owner where policy said so. Gives whether it did.
pub(super) fn own(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<bool> {
    let order = allowed.order();
    let (true, Some(user)) = (allowed.makes_owner(), order.actor.user()) else { return Ok(false) };
    let person = Person {
        subject: Subject::User(user),
        role: Role::Owner,
        name: Some(order.name.clone()),
        added_by: order.actor.label(),
        at: allowed.tools().clock.now(),
    };
    people::add(tx, &allowed.tools().bot, &person)
}

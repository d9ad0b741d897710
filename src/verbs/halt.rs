//! Halt and Resume: the latch that stops new work for money's sake. What runs goes on.

use super::Answer;
use super::policy::Allowed;
use crate::ledger::control::{self, By};
use crate::ledger::{self, Write};

pub(super) fn set(tx: &Write<'_>, allowed: &Allowed<'_>, halted: bool) -> ledger::Result<Answer> {
    let order = allowed.order();
    let by = By { who: &order.actor.label(), why: None, at: allowed.tools().clock.now() };
    let changed = control::set_halted(tx, &allowed.tools().host, halted, &by)?;
    Ok(match (changed, halted) {
        (true, true) => Answer::shown(order, "Halted: no new work starts until Resume."),
        (true, false) => Answer::shown(order, "Resumed: new work may start."),
        (false, true) => Answer::done("New work is halted already."),
        (false, false) => Answer::done("New work is not halted."),
    })
}

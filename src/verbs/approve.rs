//! Approve and Deny: decided once, by whoever is first (I-7).

use super::policy::Allowed;
use super::{Answer, ask, person};
use crate::base::ids::ApprovalId;
use crate::ledger::approvals::{self, Approval};
use crate::ledger::{self, Write, runs, tasks};
use crate::model::approval::ApprovalState;
use crate::model::run::{RunEvent, RunState};

pub(super) fn decide(tx: &Write<'_>, allowed: &Allowed<'_>, id: &ApprovalId, yes: bool) -> ledger::Result<Answer> {
    const NONE: &str = "There is nothing of that kind to decide. Use the newest card.";
    let Some(approval) = approvals::get(tx, id)? else { return Ok(Answer::unknown(NONE)) };
    let Some(run) = runs::get(tx, &approval.run)? else { return Ok(Answer::unknown(NONE)) };
    let Some(task) = tasks::get(tx, &run.task)? else { return Ok(Answer::unknown(NONE)) };
    let about = |answer: Answer| Ok(answer.about(&task.id, task.code, &run.id));
    let (to, event) = match yes {
        true => (ApprovalState::Approved, RunEvent::Approve),
        false => (ApprovalState::Denied, RunEvent::Deny),
    };
    let (order, now) = (allowed.order(), allowed.tools().clock.now());
    let waits = run.state == RunState::Waiting;
    if !waits || !approvals::decide(tx, id, to, &order.actor.label(), now)? {
        return about(Answer::stale(too_late(&approval)));
    }
    runs::apply(tx, &run.id, event, now)?;
    if !yes {
        return about(Answer::shown(order, format!("{} is denied; nothing ran.", task.code)));
    }
    about(match ask::closed(tx, allowed.tools())? {
        Some(closed) => Answer::done(format!("{} is approved, and starts later. {}", task.code, closed.sentence())),
        None => Answer::shown(order, format!("{} is approved.", task.code)),
    })
}

fn too_late(approval: &Approval) -> String {
    let by = approval.decided_by.as_deref().map_or("somebody".to_owned(), person);
    match approval.state {
        ApprovalState::Approved => format!("Already approved by {by}."),
        ApprovalState::Denied => format!("Already denied by {by}."),
        ApprovalState::Pending | ApprovalState::Lapsed => "That job no longer waits for a decision.".to_owned(),
    }
}

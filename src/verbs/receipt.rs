//! Receipt: a job, shown to one person, with the buttons that its state allows.

use super::policy::Allowed;
use super::{Answer, Outcome};
use crate::base::hash::Sha256;
use crate::base::ids::RunId;
use crate::base::text;
use crate::ledger::runs::Run;
use crate::ledger::tasks::Task;
use crate::ledger::{self, Read, Write, approvals, runs, spend, tasks};
use crate::model::actor::Actor;
use crate::model::card::{Block, Body, Button, ButtonStyle, Card};
use crate::model::message::jump_url;
use crate::model::reply::Reply;
use crate::model::run::RunState;
use crate::model::tap::{Tap, TapVerb};

/// Code points of an ask and of an answer that the private view shows; the thread has the rest.
const ASK_SHOWS: usize = 300;
const ANSWER_SHOWS: usize = 1200;

pub(super) fn receipt(tx: &Write<'_>, allowed: &Allowed<'_>, id: &RunId) -> ledger::Result<Answer> {
    let Some(run) = runs::get(tx, id)? else { return Ok(Answer::unknown("There is no such job.")) };
    let Some(task) = tasks::get(tx, &run.task)? else { return Ok(Answer::unknown("There is no such job.")) };
    let words = describe(tx, &task, &run)?;
    let reply = match allowed.order().actor {
        Actor::Local | Actor::Host => Reply::private(words),
        Actor::Discord { .. } => {
            let mut blocks = vec![Block::Text(words)];
            let buttons = buttons(tx, allowed, &task, &run)?;
            if !buttons.is_empty() {
                blocks.push(Block::Buttons(buttons));
            }
            Reply::Private(Body::Card(Card { accent: None, blocks }))
        }
    };
    Ok(Answer::new(Outcome::Done, reply).about(&task.id, task.code, id))
}

fn describe(read: &Read<'_>, task: &Task, run: &Run) -> ledger::Result<String> {
    let shown = |s: &str, most| text::plain(&text::cut(s, most));
    let mut lines = vec![
        format!("**{}** · {} · turn {}", task.code, state_words(run.state), run.turn),
        format!("Asked by {}: {}", shown(&task.asker_name, 80), shown(&text::one_line(&run.prompt), ASK_SHOWS)),
    ];
    if let Some(summary) = &run.summary {
        lines.push(shown(summary, ANSWER_SHOWS));
    }
    if let Some(error) = &run.error {
        lines.push(format!("Error: {}", shown(error, ASK_SHOWS)));
    }
    if let (Some(from), Some(to)) = (run.started, run.ended) {
        lines.push(format!("Took {}.", text::span(to.since(from))));
    }
    if let Some((spent, basis)) = spend::of_run(read, &run.id)? {
        lines.push(format!("Money: {spent} ({}).", basis.as_str()));
    }
    if let Some(ended) = run.ended_processes {
        lines.push(format!("Processes ended: {ended}."));
    }
    Ok(lines.join("\n"))
}

fn state_words(state: RunState) -> &'static str {
    match state {
        RunState::Waiting => "waits for Approve",
        RunState::Queued => "queued",
        RunState::Claimed | RunState::Started => "running",
        RunState::Cancelling => "being cancelled",
        RunState::Finishing => "finishing",
        RunState::Done => "done",
        RunState::Failed => "failed",
        RunState::Cancelled => "cancelled",
        RunState::CancelUnconfirmed => "cancelled, not every process proved gone",
        RunState::Interrupted => "interrupted",
        RunState::Denied => "denied",
    }
}

fn buttons(read: &Read<'_>, allowed: &Allowed<'_>, task: &Task, run: &Run) -> ledger::Result<Vec<Button>> {
    let press = |verb: TapVerb, (style, label): (ButtonStyle, &str), id: &str, action: Option<&Sha256>| Button::Press {
        style,
        label: label.to_owned(),
        custom_id: allowed.tools().signer.sign(&Tap::new(verb, id, ""), allowed.order().place.channel, action),
        disabled: false,
    };
    let mut all = Vec::new();
    if let Some(approval) = approvals::pending_of(read, &run.id)? {
        let (id, digest) = (approval.id.as_str(), Some(&approval.digest));
        all.push(press(TapVerb::Approve, (ButtonStyle::Success, "Approve"), id, digest));
        all.push(press(TapVerb::Deny, (ButtonStyle::Danger, "Deny"), id, digest));
    }
    if matches!(run.state, RunState::Waiting | RunState::Queued | RunState::Claimed | RunState::Started) {
        all.push(press(TapVerb::Cancel, (ButtonStyle::Secondary, "Cancel"), run.id.as_str(), None));
    }
    if run.state.ended() {
        all.push(press(TapVerb::Retry, (ButtonStyle::Primary, "Retry"), run.id.as_str(), None));
    }
    if let Some(message) = task.ask_message {
        all.push(Button::Link { label: "Open".to_owned(), url: jump_url(task.guild, task.channel, message) });
    }
    Ok(all)
}

//! The job card: one task, its newest run, and what can be done about it now.

use super::{ASK, Stamp, ago, artifacts, asked, clean, confinement, ending, fit, money, phase, plain, trouble};
use crate::base::split;
use crate::base::text::{one_line, span};
use crate::ledger::views::JobView;
use crate::model::card::{Block, Button, ButtonStyle, Card};
use crate::model::run::RunState;
use crate::model::tap::TapVerb;
use crate::model::task::Mode;

/// Code points of the answer that the card shows; the receipt has the rest.
const ANSWER: usize = 1_400;

/// Code points of a step.
const STEP: usize = 110;

/// Draws the card.
pub fn card(view: &JobView, stamp: &Stamp<'_>) -> Card {
    let (words, accent) = phase(view.run.state);
    let mut blocks = vec![Block::Text(head(view, words))];
    blocks.extend(middle(view).into_iter().map(Block::Text));
    blocks.push(Block::Text(foot(view)));
    blocks.push(Block::Buttons(buttons(view, stamp)));
    fit(Card { accent: Some(accent), blocks })
}

fn head(view: &JobView, words: &str) -> String {
    let run = &view.run;
    let time = match (run.started, run.ended) {
        (Some(from), Some(to)) => format!(" · took {}", span(to.since(from))),
        (Some(from), None) => format!(" · started {}", ago(from)),
        (None, _) => format!(" · asked {}", ago(run.created)),
    };
    let turn = if run.turn > 1 { format!(" · turn {}", run.turn) } else { String::new() };
    let name = plain(&view.task.asker_name, 40);
    format!("### {} · {words}\n{}\nby {name}{time}{turn}", view.task.code, asked(&view.task.text))
}

/// Steps, approval, answer, error and artifacts: as many of them as there are.
fn middle(view: &JobView) -> Vec<String> {
    let run = &view.run;
    let mut out = Vec::new();
    if let Some(approval) = &view.approval {
        out.push(waiting(&approval.action, &view.task.text));
    }
    if let Some(meaning) = ending(run.state, run.ended_processes) {
        out.push(meaning);
    }
    out.extend(trouble(run));
    if !view.steps.is_empty() && !run.state.ended() {
        let step = |s: &String| format!("- {}", plain(&one_line(s), STEP));
        out.push(view.steps.iter().map(step).collect::<Vec<_>>().join("\n"));
    }
    let said = run.summary.as_deref().filter(|_| run.state.ended()).unwrap_or(&run.answer);
    let said = clean(said);
    if !said.trim().is_empty() {
        out.push(split::tail(said.trim(), ANSWER));
    }
    out.extend(artifacts(&view.artifacts));
    out
}

/// What a yes would start. An action is its mode, its backend and its prompt, a line each.
fn waiting(action: &str, asked: &str) -> String {
    let mut lines = action.splitn(3, '\n');
    let (Some(mode), Some(backend), Some(prompt)) = (lines.next(), lines.next(), lines.next()) else {
        return format!("Nothing has started. Approve lets it do this, once: {}", plain(action, 300));
    };
    let work = Mode::parse(mode) == Some(Mode::Work);
    let why = if work { "It may change files" } else { "It may be more than a question" };
    let backend = plain(backend, 40);
    // What the card quotes already is not said twice; a retry or a later turn can have another prompt.
    let said = prompt == asked && prompt.chars().count() <= ASK;
    let what = if said { ".".to_owned() } else { format!(": {}", plain(prompt, 300)) };
    format!("Nothing has started. {why}, so it waits for you. Approve lets {backend} do it, once{what}")
}

fn foot(view: &JobView) -> String {
    let run = &view.run;
    let mut lines = vec![format!("-# {} · {}", plain(&run.backend, 40), money(view.cost.as_ref()))];
    let by = run.cancel_by.as_deref().filter(|_| !matches!(run.state, RunState::Done | RunState::Failed));
    if let Some(by) = by.and_then(|by| by.strip_prefix("user:")) {
        lines.push(format!("-# Cancelled by <@{by}>."));
    }
    if !view.earlier.is_empty() {
        let turn = |(turn, state): &(u32, RunState)| format!("turn {turn} {}", phase(*state).0.to_lowercase());
        lines.push(format!("-# Before: {}.", view.earlier.iter().map(turn).collect::<Vec<_>>().join(", ")));
    }
    // A run that never started was neither confined nor free.
    if run.started.is_some() || !run.state.ended() {
        lines.push(confinement(run.confinement.as_deref()));
    }
    lines.join("\n")
}

fn buttons(view: &JobView, stamp: &Stamp<'_>) -> Vec<Button> {
    let run = &view.run;
    let id = run.id.as_str();
    let mark = |label| vec![stamp.button((ButtonStyle::Secondary, label), TapVerb::Mark, id, false)];
    match run.state {
        RunState::Waiting => {
            let Some(approval) = &view.approval else { return mark("Waiting") };
            let button = |style, label: &str, verb| Button::Press {
                style,
                label: label.to_owned(),
                custom_id: stamp.custom_id(verb, approval.id.as_str(), Some(&approval.digest)),
                disabled: false,
            };
            vec![
                button(ButtonStyle::Success, "Approve", TapVerb::Approve),
                button(ButtonStyle::Danger, "Deny", TapVerb::Deny),
            ]
        }
        RunState::Queued | RunState::Claimed | RunState::Started => {
            vec![stamp.button((ButtonStyle::Danger, "Cancel"), TapVerb::Cancel, id, true)]
        }
        RunState::Cancelling => mark("Stopping"),
        RunState::Finishing => mark("Finishing"),
        state if state.ended() => vec![
            stamp.button((ButtonStyle::Primary, "Retry"), TapVerb::Retry, id, true),
            stamp.button((ButtonStyle::Secondary, "Receipt"), TapVerb::Receipt, id, true),
        ],
        _ => mark("Working"),
    }
}

//! The receipt: what remains of a run. Said once in its thread, and shown privately on request.

use super::{artifacts, asked, confinement, ending, fit, money, phase, plain, trouble};
use crate::base::split;
use crate::base::text::{self, span};
use crate::ledger::views::JobView;
use crate::model::card::{Block, Body, Card};
use crate::model::reasoning;
use crate::model::receipt::{PARTS, parts};
use crate::model::run::RunState;

/// Code points of the summary that fit the receipt itself.
pub const SUMMARY: usize = 1_500;

/// What is said when a run ended: a long answer in parts first, the receipt last.
pub fn bodies(view: &JobView) -> Vec<Body> {
    let answer = answer(view);
    let mut out = Vec::new();
    if answer.chars().count() > SUMMARY {
        let parts = parts(&answer);
        let left_out = parts.len().saturating_sub(PARTS);
        out.extend(parts.into_iter().take(PARTS).map(Body::Text));
        if left_out > 0 {
            // Work makes a file of such an answer; this is what remains where it could not.
            out.push(Body::Text("The answer goes on; its end is below.".to_owned()));
        }
    }
    out.push(Body::Card(card(view)));
    out
}

fn answer(view: &JobView) -> String {
    let said = view.run.summary.as_deref().unwrap_or(&view.run.answer);
    reasoning::showable(said).trim().to_owned()
}

/// The receipt alone, in one card.
pub fn card(view: &JobView) -> Card {
    let run = &view.run;
    let (words, accent) = phase(run.state);
    let mut texts = vec![format!("### Receipt {} · {words}\n{}", view.task.code, asked(&view.task.text))];
    texts.extend(ending(run.state, run.ended_processes));
    texts.extend(trouble(run));
    let answer = answer(view);
    if !answer.is_empty() {
        texts.push(split::tail(&text::unpinging(&answer), SUMMARY));
    }
    texts.extend(artifacts(&view.artifacts));
    texts.push(facts(view));
    texts.push(confinement(run.confinement.as_deref()));
    fit(Card { accent: Some(accent), blocks: texts.into_iter().map(Block::Text).collect() })
}

fn facts(view: &JobView) -> String {
    let run = &view.run;
    let model = run.usage.model.as_deref().map_or("not reported".to_owned(), |model| plain(model, 80));
    let time = run.started.zip(run.ended).map_or("never started".to_owned(), |(from, to)| span(to.since(from)));
    let ended = run.ended_processes.map_or("not counted".to_owned(), |n| n.to_string());
    let mut lines = vec![
        format!("**Backend** {} · **model** {model}", plain(&run.backend, 40)),
        format!("**Tokens** {}", tokens(run.usage.input_tokens, run.usage.output_tokens)),
        format!("**Money** {}", money(view.cost.as_ref())),
        format!("**Time** {time} · **processes ended** {ended}"),
        format!("**Asked by** {} · **turn** {}{}", plain(&view.task.asker_name, 40), run.turn, lineage(view)),
    ];
    lines.push(format!("-# run {}", run.id));
    lines.join("\n")
}

fn tokens(read: Option<u64>, written: Option<u64>) -> String {
    let count = |n: Option<u64>| n.map_or("unknown".to_owned(), |n| n.to_string());
    if read.or(written).is_none() {
        return "not reported".to_owned();
    }
    format!("{} in, {} out", count(read), count(written))
}

fn lineage(view: &JobView) -> String {
    let turn = |(turn, state): &(u32, RunState)| format!("turn {turn} {}", phase(*state).0.to_lowercase());
    if view.earlier.is_empty() {
        return String::new();
    }
    format!(", after {}", view.earlier.iter().map(turn).collect::<Vec<_>>().join(", "))
}

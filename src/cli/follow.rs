//! Watches a run through the ledger and tells it on the terminal: steps as talk, the answer as it streams.

use std::time::Duration;

use super::print;
use crate::base::failure::{Failure, Kind};
use crate::base::ids::RunId;
use crate::base::text;
use crate::ledger::runs::Run;
use crate::ledger::{Ledger, runs, steps};
use crate::model::receipt::{Basis, RunJson};
use crate::model::run::RunState;

/// Time between two looks: fast enough to read along, slow enough to cost nothing.
const LOOK: Duration = Duration::from_millis(80);

/// Steps looked at each time; more between two looks are shown by the last ones.
const STEPS: usize = 100;

/// End of what was shown by which the next tail is joined on, in characters.
const OVERLAP: usize = 60;

/// Tells a run on the terminal.
pub struct Follow {
    ledger: Ledger,
    run: RunId,
    streams: bool,
    steps: Vec<String>,
    shown: String,
}

impl Follow {
    /// A follower. `streams` shows the answer on stdout as it comes.
    pub fn new(ledger: Ledger, run: RunId, streams: bool) -> Self {
        Self { ledger, run, streams, steps: Vec::new(), shown: String::new() }
    }

    /// Tells until the run is in a state that `enough` takes.
    ///
    /// # Errors
    /// The ledger's own; the run is gone.
    pub async fn until(&mut self, say: &dyn Fn(&str), enough: impl Fn(RunState) -> bool) -> Result<RunState, Failure> {
        loop {
            let id = self.run.clone();
            let (run, steps) =
                self.ledger.read(move |read| Ok((runs::get(read, &id)?, steps::last(read, &id, STEPS)?))).await?;
            let run = run.ok_or_else(|| Failure::new(Kind::Integrity, "The run is gone from the ledger."))?;
            self.tell(&run, steps, say);
            if enough(run.state) {
                return Ok(run.state);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn tell(&mut self, run: &Run, steps: Vec<String>, say: &dyn Fn(&str)) {
        for step in news(&self.steps, &steps) {
            say(&format!("· {}", print::cell(step)));
        }
        self.steps = steps;
        if self.streams {
            let more = continued(&self.shown, &run.answer).to_owned();
            print::piece(&visible(&more));
            self.shown.push_str(&more);
        }
    }

    /// Whether anything of the answer was shown, and whether it ended its last line.
    pub fn needs_line_end(&self) -> bool {
        !self.shown.is_empty() && !self.shown.ends_with('\n')
    }

    /// Whether anything of the answer was shown.
    pub fn showed(&self) -> bool {
        !self.shown.trim().is_empty()
    }
}

/// Steps of `now` that come after those of `before`, where both are tails of one list.
fn news<'a>(before: &[String], now: &'a [String]) -> &'a [String] {
    let most = before.len().min(now.len());
    let same = (0..=most).rev().find(|n| before[before.len() - n..] == now[..*n]).unwrap_or(0);
    &now[same..]
}

/// What a tail of the answer adds to what was shown.
fn continued<'a>(shown: &str, tail: &'a str) -> &'a str {
    if let Some(more) = tail.strip_prefix(shown) {
        return more;
    }
    let from = shown.char_indices().rev().nth(OVERLAP - 1).map_or(0, |(at, _)| at);
    let end = &shown[from..];
    if end.is_empty() {
        return tail;
    }
    // A tail that does not hold the end of what was shown has gone on by more than itself.
    tail.rfind(end).map_or(tail, |at| &tail[at + end.len()..])
}

/// Text without what steers a terminal.
fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// A run for people, when it has ended.
pub fn receipt(run: &RunJson) -> String {
    let mut out = format!("{} {}", run.code, run.status.as_str());
    if let Some(error) = &run.error {
        out.push_str(&format!(": {}", visible(error)));
    }
    if let Some(summary) = run.summary.as_deref().filter(|summary| !summary.trim().is_empty()) {
        out.push_str(&format!("\n{}", visible(summary.trim_end())));
    }
    out.push_str(&tail(run));
    out
}

/// What a run made and cost.
pub fn tail(run: &RunJson) -> String {
    let mut out = String::new();
    for artifact in &run.artifacts {
        out.push_str(&format!(
            "\n  {}  {}  {}",
            text::size(artifact.size),
            print::cell(&artifact.filename),
            artifact.jump_url
        ));
    }
    let basis = match run.money.basis {
        Basis::Exact => "",
        Basis::Estimated => " (estimated)",
        Basis::Unknown => " (price unknown: the worst case is counted)",
        Basis::Free => " (free)",
    };
    out.push_str(&format!("\n  ${:.2}{basis}", run.money.amount_usd));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_joined_together_from_its_tails() {
        assert_eq!(continued("", "Hello"), "Hello");
        assert_eq!(continued("Hello", "Hello world"), " world");
        assert_eq!(continued("Hello world", "Hello world"), "");
        let long = "0123456789".repeat(10);
        let tail = format!("…{}and more", &long[30..]);
        assert_eq!(continued(&long, &tail), "and more");
    }

    #[test]
    fn only_new_steps_are_told() {
        let steps = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(news(&steps(&[]), &steps(&["a"])), ["a"]);
        assert_eq!(news(&steps(&["a", "b"]), &steps(&["a", "b", "c"])), ["c"]);
        assert_eq!(news(&steps(&["a", "b"]), &steps(&["b", "c"])), ["c"]);
        assert!(news(&steps(&["a", "a"]), &steps(&["a", "a"])).is_empty());
    }

    #[test]
    fn an_answer_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\n\tc\r"), "a[2Jb\n\tc");
    }
}

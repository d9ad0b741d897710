//! What an agent says: kept whole up to a bound, made fit to be shown as a whole, and laid down as a file where it is
//! too long for messages (DESIGN 5).

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::base::failure::LogAndGoOn;
use crate::base::{split, text};
use crate::compute::MOST_ANSWER;
use crate::model::{reasoning, receipt};

/// Characters of it that are recorded while it grows: a card shows less, and each record rewrites them.
const SHOWN: usize = 12_000;

/// Characters of its end that stand for an answer which became a file; with the note they fit one receipt.
const TAIL: usize = 1_300;

/// Names that are tried for the file: an agent may have made a file of the same name itself.
const NAMES: usize = 9;

/// An answer under way.
#[derive(Debug, Default, Clone)]
pub(super) struct Answer {
    said: String,
    cut: bool,
}

impl Answer {
    /// Takes what was said next. Past the bound nothing more is kept; the beginning is, since without it a block of
    /// hidden reasoning could not be told from the answer.
    pub(super) fn push(&mut self, more: &str) {
        if self.cut {
            return;
        }
        let room = MOST_ANSWER.saturating_sub(self.said.len());
        self.cut = more.len() > room;
        self.said.push_str(text::first_bytes(more, room));
    }

    /// Whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// The end of what can be shown while more may follow.
    pub(super) fn so_far(&self) -> String {
        text::tail(&reasoning::showable_so_far(&self.said), SHOWN)
    }

    /// All that can be shown at the end.
    pub(super) fn whole(&self) -> String {
        if !self.cut {
            return reasoning::showable(&self.said).trim().to_owned();
        }
        let kept = reasoning::showable_so_far(&self.said);
        format!(
            "{}\n\n(The answer was longer than {}; the rest was not kept.)",
            kept.trim(),
            text::size(self.said.len() as u64)
        )
    }
}

/// An answer as it is recorded.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    /// The answer, or its end.
    text: String,
    /// Name of the file that holds all of it.
    file: Option<String>,
}

impl Recorded {
    /// The same as the run's summary. `posted`: its files go to Discord.
    pub(super) fn summary(&self, posted: bool) -> String {
        match (&self.file, posted) {
            (None, _) => self.text.clone(),
            (Some(name), true) => format!("{}\n\nThe whole answer is the file {name}.", self.text),
            (Some(name), false) => {
                format!("{}\n\nThe whole answer is the file {name} in the run's folder on the machine.", self.text)
            }
        }
    }

    /// The end of it, for the card.
    pub(super) fn shown(&self) -> String {
        text::tail(&self.text, SHOWN)
    }
}

/// Makes a file in `folder` of an answer that is too long for messages. Blocks.
pub(super) fn lay_down(folder: &Path, whole: String) -> Recorded {
    if receipt::parts(&whole).len() <= receipt::PARTS {
        return Recorded { text: whole, file: None };
    }
    let end = split::tail(&whole, TAIL);
    match write(folder, &whole).log_and_go_on("a long answer could not be made a file") {
        Some(name) => Recorded { text: end, file: Some(name) },
        None => {
            Recorded { text: format!("{end}\n\nThe rest could not be kept as a file; the log says why."), file: None }
        }
    }
}

/// Whether a file of a run's folder is such an answer: it is stored before all others.
pub(super) fn is_answer(name: &str) -> bool {
    (0..NAMES).any(|n| self::name(n) == name)
}

fn name(n: usize) -> String {
    if n == 0 { "answer.md".to_owned() } else { format!("answer-{}.md", n + 1) }
}

fn write(folder: &Path, whole: &str) -> std::io::Result<String> {
    // The run may have put a link in place of its folder (I-16).
    if !std::fs::symlink_metadata(folder)?.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    let mut last = std::io::ErrorKind::AlreadyExists.into();
    for n in 0..NAMES {
        let path: PathBuf = folder.join(name(n));
        // Only a file that is not there yet: an agent's own file, or a link that it laid, is left alone (I-16).
        let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made.and_then(|mut file| file.write_all(whole.as_bytes()).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(name(n)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&str]) -> Answer {
        let mut answer = Answer::default();
        pieces.iter().for_each(|piece| answer.push(piece));
        answer
    }

    #[test]
    fn hidden_reasoning_is_shown_at_no_moment_however_it_is_cut() {
        let text = "Hello. <thinking>the secret plan\nof it</thinking> The answer is 4.";
        for at in 0..text.len() {
            let mut answer = said(&[&text[..at]]);
            assert!(!answer.so_far().contains("secret") && !answer.so_far().contains('<'), "{}", answer.so_far());
            assert!(!answer.whole().contains("secret"), "{}", answer.whole());
            answer.push(&text[at..]);
            assert_eq!(answer.whole(), "Hello.  The answer is 4.");
        }
    }

    #[test]
    fn i_11_a_key_is_never_recorded_in_part() {
        let key = "sk-or-v1-0123456789abcdef0123";
        let text = format!("The key is {key} and that is all.");
        for at in 0..text.len() {
            let shown = said(&[&text[..at]]).so_far();
            assert!(!shown.contains("sk-or"), "{shown}");
        }
        assert_eq!(said(&[&text]).whole(), "The key is [redacted] and that is all.");
    }

    #[test]
    fn i_17_an_answer_is_bounded_and_says_that_it_was_cut() {
        let mut answer = said(&["<think>never shown "]);
        for _ in 0..40 {
            answer.push(&"ü".repeat(20_000));
        }
        assert!(answer.said.len() <= MOST_ANSWER);
        assert_eq!(answer.whole(), "\n\n(The answer was longer than 1.0 MB; the rest was not kept.)");
        assert_eq!(answer.so_far(), "");
    }

    #[test]
    fn only_what_is_too_long_for_messages_becomes_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let short = "word ".repeat(1_200);
        assert_eq!(lay_down(dir.path(), short.clone()), Recorded { text: short, file: None });
        // What the agent made itself is kept.
        std::fs::write(dir.path().join("answer.md"), "mine").unwrap();
        let long = "word ".repeat(4_000);
        let laid = lay_down(dir.path(), long.clone());
        assert_eq!(laid.file.as_deref(), Some("answer-2.md"));
        assert_eq!(std::fs::read_to_string(dir.path().join("answer-2.md")).unwrap(), long);
        assert_eq!(std::fs::read_to_string(dir.path().join("answer.md")).unwrap(), "mine");
        let summary = laid.summary(true);
        assert!(summary.ends_with("The whole answer is the file answer-2.md."), "{summary}");
        assert!(summary.chars().count() < 1_500 && is_answer("answer-2.md") && !is_answer("answers.md"));
    }
}

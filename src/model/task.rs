//! A task: one thing that a person asked for. It has one run a turn.

use serde::{Deserialize, Serialize};

/// What a task may do to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A question: nothing is to be changed.
    Question,
    /// File work: something is to be changed; waits for Approve.
    Work,
    /// Not certainly either: treated as file work until a person says otherwise.
    Unsure,
}

impl Mode {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Work => "work",
            Self::Unsure => "unsure",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Question, Self::Work, Self::Unsure].into_iter().find(|m| m.as_str() == text)
    }

    /// Whether a person has to approve before anything starts (I-7).
    pub fn waits_for_approval(self) -> bool {
        !matches!(self, Self::Question)
    }
}

/// Words that start a question. A sentence that starts otherwise is never certainly one.
const ASKS: &[&str] = &[
    "what",
    "why",
    "how",
    "when",
    "where",
    "who",
    "whom",
    "whose",
    "which",
    "is",
    "are",
    "was",
    "were",
    "does",
    "do",
    "did",
    "has",
    "have",
    "had",
    "explain",
    "describe",
    "summarize",
    "summarise",
    "list",
    "count",
    "show",
    "tell",
    "compare",
    "look",
    "read",
    "report",
    "inspect",
];

/// Words that name a change. One of them anywhere, and the sentence is not certainly a question.
const CHANGES: &[&str] = &[
    "add",
    "append",
    "apply",
    "build",
    "change",
    "clean",
    "commit",
    "configure",
    "convert",
    "copy",
    "create",
    "delete",
    "deploy",
    "disable",
    "download",
    "drop",
    "edit",
    "enable",
    "erase",
    "execute",
    "fix",
    "format",
    "generate",
    "implement",
    "import",
    "insert",
    "install",
    "kill",
    "make",
    "merge",
    "migrate",
    "modify",
    "move",
    "overwrite",
    "patch",
    "post",
    "publish",
    "push",
    "put",
    "refactor",
    "release",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "restore",
    "revert",
    "rewrite",
    "rm",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "sync",
    "turn",
    "uninstall",
    "update",
    "upgrade",
    "upload",
    "wipe",
    "write",
];

/// Decides conservatively: a question only when it certainly is one.
///
/// It asks (first word, or a question mark at the end) and names no change. A wrong «unsure» costs a tap;
/// a wrong «question» would cost the approval.
pub fn guess(text: &str) -> Mode {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect();
    let names_change = words.iter().any(|w| CHANGES.iter().any(|c| is_form_of(w, c)));
    let asks = words.first().is_some_and(|w| ASKS.contains(&w.as_str())) || text.trim_end().ends_with('?');
    // Text in another script names changes in words that this table does not know.
    let readable = words.iter().all(|w| w.is_ascii());
    match (asks && readable, names_change) {
        (true, false) => Mode::Question,
        (false, true) => Mode::Work,
        _ => Mode::Unsure,
    }
}

/// Whether `word` is `verb` with one of the endings that verbs wear: deletes, deleted, deleting, running.
fn is_form_of(word: &str, verb: &str) -> bool {
    const ENDINGS: [&str; 6] = ["", "s", "es", "d", "ed", "ing"];
    let doubled = verb.chars().last().map(|last| format!("{verb}{last}"));
    let roots = [Some(verb), verb.strip_suffix('e'), doubled.as_deref()];
    roots.into_iter().flatten().any(|root| word.strip_prefix(root).is_some_and(|end| ENDINGS.contains(&end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_certain_question_is_one() {
        for (text, mode) in [
            ("What is in this folder?", Mode::Question),
            ("count the lines of every file", Mode::Question),
            ("Report on this folder", Mode::Question),
            ("how do I write a good test?", Mode::Unsure),
            ("rm -rf build and push to prod", Mode::Work),
            ("delete the old logs", Mode::Work),
            ("upgrade all dependencies", Mode::Work),
            ("can you fixes this?", Mode::Unsure),
            ("the tests", Mode::Unsure),
            ("", Mode::Unsure),
            ("为什么删除文件?", Mode::Unsure),
            ("what if you deleted everything?", Mode::Unsure),
        ] {
            assert_eq!(guess(text), mode, "{text:?}");
        }
    }
}

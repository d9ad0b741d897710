//! stdout carries results, stderr talk. One place turns a failure into text and an exit code.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::base::failure::{Failure, Kind};
use crate::base::redact::redact;

/// A result: the same for people and as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Out {
    /// For `--json`; null prints nothing.
    pub json: Value,
    /// For people; empty prints nothing.
    pub human: String,
    /// Exit code, 0 unless the result itself is bad news.
    pub code: u8,
}

impl Out {
    /// A good result.
    pub fn new(json: Value, human: impl Into<String>) -> Self {
        Self { json, human: human.into(), code: 0 }
    }

    /// Nothing more to say: it was said while it happened.
    pub fn none() -> Self {
        Self::new(Value::Null, "")
    }

    /// The same with another exit code.
    #[must_use]
    pub fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

/// Prints how a command ended and gives its exit code.
pub fn end(result: Result<Out, Failure>, as_json: bool) -> ExitCode {
    match result {
        Ok(out) => {
            let text = match (as_json, &out.json) {
                (true, Value::Null) => String::new(),
                (true, json) => serde_json::to_string_pretty(json).unwrap_or_default(),
                (false, _) => out.human,
            };
            match write_line(text.trim_end_matches('\n')) {
                Ok(()) => ExitCode::from(out.code),
                Err(error) => unheard(&error),
            }
        }
        Err(failure) => {
            if as_json {
                let json = json!({ "error": { "kind": failure.kind, "message": redact(&failure.message),
                                              "hint": failure.hint.as_deref().map(redact) } });
                line(&serde_json::to_string_pretty(&json).unwrap_or_default());
            } else {
                let hint = failure.hint.as_deref().map_or(String::new(), |hint| format!("\nhint: {hint}"));
                talk(&redact(&format!("error: {}{hint}", failure.message)));
            }
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

/// One line of results while the command goes on.
pub fn line(text: &str) {
    if let Err(error) = write_line(text) {
        tracing::warn!("stdout takes nothing: {error}");
    }
}

/// A reader that went away (`| head`) has heard enough; a full disk has not.
fn write_line(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// The command was done, but nobody can read what came of it.
pub fn unheard(error: &io::Error) -> ExitCode {
    talk(&format!("error: The result could not be written to stdout: {error}.\nhint: Send stdout elsewhere."));
    ExitCode::from(Kind::Failed.exit_code())
}

/// Part of a result that goes on: an answer while it streams.
pub fn piece(text: &str) {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}

/// One line of talk.
pub fn talk(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Copies a file to stdout.
///
/// # Errors
/// It cannot be read, or nobody takes it.
pub fn copy(path: &std::path::Path) -> io::Result<u64> {
    let mut file = std::fs::File::open(path)?;
    io::copy(&mut file, &mut io::stdout().lock())
}

/// Whether a person sees stdout.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person can be asked: they see what we say and we hear what they type.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question on the terminal. No is the default.
pub fn ask(question: &str) -> bool {
    write!(io::stderr().lock(), "{question} [y/N] ").and_then(|()| io::stderr().flush()).ok();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// A table with columns as wide as their widest cell.
pub fn table(rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(cell);
            text.push_str(&" ".repeat(width - cell.width() + 2));
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// A cell of a table: one line, nothing that steers a terminal.
pub fn cell(text: &str) -> String {
    crate::base::text::one_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_in_every_script() {
        let rows = [vec!["报告".to_owned(), "1".to_owned()], vec!["a".to_owned(), "2".to_owned()]];
        assert_eq!(table(&rows), "报告  1\na     2\n");
        assert_eq!(cell("a\u{1b}[31m\nb"), "a [31m b");
    }
}

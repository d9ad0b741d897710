//! Reads what a program prints: bytes in, events out. Pure.

use super::{Event, MOST_ANSWER};
use crate::base::text;

/// Start of a line that tells a step instead of text.
pub const STEP: &str = "::step ";

/// Longest line that is held back to see whether it becomes a step, in bytes.
const MAX_STEP: usize = 1000;

/// What is kept of stderr, in bytes: enough for its last line.
const KEPT_STDERR: usize = 8 << 10;

/// Turns chunks of bytes into text, so that a character cut in two by a chunk's end stays whole.
/// What is no UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub struct Decoder {
    rest: Vec<u8>,
}

impl Decoder {
    /// The text of all bytes but a last, unfinished character.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut out = String::new();
        let mut at = 0;
        for chunk in self.rest.utf8_chunks() {
            out.push_str(chunk.valid());
            at += chunk.valid().len();
            let bad = chunk.invalid();
            if bad.is_empty() {
                continue;
            }
            let last = at + bad.len() == self.rest.len();
            if last && std::str::from_utf8(bad).is_err_and(|e| e.error_len().is_none()) {
                break;
            }
            out.push(char::REPLACEMENT_CHARACTER);
            at += bad.len();
        }
        self.rest.drain(..at);
        out
    }

    /// What is left at the end of the stream.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

/// Reads stdout: lines that start with [`STEP`] are steps, all else is text.
#[derive(Debug, Default)]
pub struct Stdout {
    decoder: Decoder,
    /// Start of a line that may still become a step.
    held: String,
    /// Whether the line under way is text already.
    in_text: bool,
    answer: String,
}

impl Stdout {
    /// Events for the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let text = self.decoder.push(bytes);
        self.take(&text)
    }

    /// Events for what is left at the end.
    pub fn finish(&mut self) -> Vec<Event> {
        let text = self.decoder.finish();
        let mut events = self.take(&text);
        let held = std::mem::take(&mut self.held);
        match held.strip_prefix(STEP) {
            Some(step) => events.push(Event::Step(step.trim().to_owned())),
            None if held.is_empty() => {}
            None => self.say(&held, &mut events),
        }
        events
    }

    /// The answer so far: the first part of it when it is long.
    pub fn answer(&self) -> &str {
        self.answer.trim()
    }

    fn take(&mut self, text: &str) -> Vec<Event> {
        let mut events = Vec::new();
        for piece in text.split_inclusive('\n') {
            if self.in_text {
                self.in_text = !piece.ends_with('\n');
                self.say(piece, &mut events);
                continue;
            }
            self.held.push_str(piece);
            let ends = self.held.ends_with('\n');
            let undecided = STEP.starts_with(self.held.as_str()) || self.held.starts_with(STEP);
            if undecided && !ends && self.held.len() < MAX_STEP {
                continue;
            }
            let held = std::mem::take(&mut self.held);
            match held.strip_prefix(STEP) {
                Some(step) => events.push(Event::Step(step.trim().to_owned())),
                None => {
                    self.in_text = !ends;
                    self.say(&held, &mut events);
                }
            }
        }
        events
    }

    /// Pieces of text become one event, so that a line costs no more than a word.
    fn say(&mut self, said: &str, events: &mut Vec<Event>) {
        // The beginning is kept: hidden reasoning can be told from the answer only where its opening is there.
        let room = MOST_ANSWER.saturating_sub(self.answer.len());
        self.answer.push_str(text::first_bytes(said, room));
        match events.last_mut() {
            Some(Event::Text(last)) => last.push_str(said),
            _ => events.push(Event::Text(said.to_owned())),
        }
    }
}

/// The end of stderr, for the sentence that says why a program failed.
#[derive(Debug, Default)]
pub struct Stderr {
    decoder: Decoder,
    tail: String,
}

impl Stderr {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let text = self.decoder.push(bytes);
        self.tail.push_str(&text);
        keep_last(&mut self.tail, KEPT_STDERR);
    }

    /// The last line that is not empty.
    pub fn last_line(&self) -> Option<&str> {
        self.tail.lines().rev().map(str::trim).find(|line| !line.is_empty())
    }
}

/// Longest word that a cut makes room for, in bytes: half a secret would not be known as one.
const MAX_WORD: usize = 1024;

/// Cuts the start of a text that has grown past twice `max`, so that cutting is rare; between two words if it can.
fn keep_last(text: &mut String, max: usize) {
    if text.len() > 2 * max {
        let mut from = text.len() - max;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let word = text[from..].char_indices().take_while(|(at, _)| *at < MAX_WORD).find(|(_, c)| c.is_whitespace());
        from += word.map_or(0, |(at, _)| at);
        text.replace_range(..from, "…");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> (Vec<Event>, String) {
        let mut stdout = Stdout::default();
        let mut events: Vec<Event> = chunks.iter().flat_map(|chunk| stdout.push(chunk)).collect();
        events.extend(stdout.finish());
        (events, stdout.answer().to_owned())
    }

    fn joined(events: &[Event]) -> (Vec<String>, String) {
        let mut steps = Vec::new();
        let mut text = String::new();
        for event in events {
            match event {
                Event::Step(step) => steps.push(step.clone()),
                Event::Text(more) => text.push_str(more),
                other => panic!("{other:?}"),
            }
        }
        (steps, text)
    }

    #[test]
    fn text_streams_before_its_line_ends_and_steps_do_not_leak_into_it() {
        let mut stdout = Stdout::default();
        assert_eq!(stdout.push(b"thinki"), [Event::Text("thinki".into())]);
        assert_eq!(stdout.push(b"ng ::step no\n::st"), [Event::Text("ng ::step no\n".into())]);
        assert_eq!(stdout.push(b"ep Reading"), []);
        assert_eq!(stdout.push(b" files\n::"), [Event::Step("Reading files".into())]);
        assert_eq!(stdout.push(b"x"), [Event::Text("::x".into())]);
        assert_eq!(stdout.finish(), []);
        assert_eq!(stdout.answer(), "thinking ::step no\n::x");
    }

    #[test]
    fn an_unfinished_line_is_told_at_the_end() {
        assert_eq!(read(&[b"::step last"]).0, [Event::Step("last".into())]);
        assert_eq!(read(&[b"::ste"]).0, [Event::Text("::ste".into())]);
        assert_eq!(read(&[b"a\xc3"]).0, [Event::Text("a".into()), Event::Text("\u{fffd}".into())]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_it() {
        let (_, text) = joined(&read(&[b"a\xffb\xf0\x9f", b"\x98\x80c\xe2\x28"]).0);
        assert_eq!(text, "a\u{fffd}b😀c\u{fffd}(");
    }

    #[test]
    fn memory_is_bounded() {
        let mut stdout = Stdout::default();
        let mut stderr = Stderr::default();
        for _ in 0..200 {
            stdout.push(&[b'x'; 10_000]);
            stderr.push("ü".repeat(1000).as_bytes());
        }
        assert_eq!(stdout.answer().len(), MOST_ANSWER);
        assert!(stderr.tail.len() <= 2 * KEPT_STDERR);
        stderr.push(b"\nno such file\n\n");
        assert_eq!(stderr.last_line(), Some("no such file"));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_changes_nothing(
            text in "(::step [a-zé]{0,5}\n|[a-z:é😀]{0,8}\n|::st|ep |\n){0,12}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.insert(0, 0);
            cuts.push(bytes.len());
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            let (cut, whole) = (read(&chunks), read(&[bytes]));
            prop_assert_eq!(joined(&cut.0), joined(&whole.0));
            prop_assert_eq!(cut.1, whole.1);
        }
    }
}

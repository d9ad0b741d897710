//! The one splitter: long text becomes messages at paragraphs, else at lines, else at words, else anywhere. A code
//! fence that a cut falls into is closed there and reopened, with its language, in the next part.
//!
//! Fences are seen as Discord sees them: each «```» toggles, wherever in a line it stands.

/// What toggles a code block.
const FENCE: &str = "```";

/// What closes an open fence at the end of a part, in code points.
const CLOSING: usize = 4;

/// Longest name of a language that a reopened fence repeats.
const LANGUAGE: usize = 20;

/// Shortest part that can hold an opening, a closing and some text.
pub const LEAST: usize = 64;

/// Where a fence stands open, its language (maybe empty).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Fence(Option<String>);

/// One part before it is put together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    before: String,
    body: String,
    closed: bool,
}

impl Piece {
    fn text(&self) -> String {
        let close = if self.closed { "\n```" } else { "" };
        format!("{}{}{close}", self.before, self.body)
    }
}

/// Parts of at most `max` code points (at least [`LEAST`]), in order. Only white space at the cuts is left out.
pub fn split(text: &str, max: usize) -> Vec<String> {
    pieces(text, max.max(LEAST)).iter().map(Piece::text).collect()
}

/// The end of a text in at most `max` code points, begun at a line where that is possible, fences kept in order.
pub fn tail(text: &str, max: usize) -> String {
    let max = max.max(LEAST);
    let count = text.chars().count();
    let room = max - CLOSING - FENCE.len() - LANGUAGE - 3;
    if count <= max - CLOSING {
        return close(text, &Fence::default());
    }
    let hard = byte_at(text, count - room);
    let line = text[hard..].find('\n').map_or(hard, |n| hard + n + 1);
    let from = if text.len() - line >= (text.len() - hard) / 2 { line } else { hard };
    let from = out_of_ticks(text, from);
    let fence = after(&text[..from], &Fence::default());
    let kept = text[from..].trim_matches('\n');
    format!("…\n{}{}", opening(&fence), close(kept, &fence))
}

/// `text`, closed where it leaves a fence open.
fn close(text: &str, fence: &Fence) -> String {
    let open = after(text, fence).0.is_some();
    format!("{text}{}", if open { "\n```" } else { "" })
}

/// Moves a place out of a run of backticks, forward.
fn out_of_ticks(text: &str, at: usize) -> usize {
    let within = text[..at].ends_with('`');
    at + if within { text[at..].bytes().take_while(|b| *b == b'`').count() } else { 0 }
}

fn pieces(text: &str, max: usize) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut fence = Fence::default();
    while !rest.is_empty() {
        let before = opening(&fence);
        let room = max - before.chars().count() - CLOSING;
        let (body, next) = cut(rest, room, &fence);
        let then = after(body, &fence);
        // A part of white space alone would be refused as empty.
        if !body.trim().is_empty() {
            out.push(Piece { before, body: body.to_owned(), closed: then.0.is_some() });
        }
        fence = then;
        rest = next;
    }
    out
}

/// What reopens a fence at the start of a part.
fn opening(fence: &Fence) -> String {
    fence.0.as_ref().map_or(String::new(), |language| format!("{FENCE}{language}\n"))
}

/// State after `text`, when it was `fence` before.
fn after(text: &str, fence: &Fence) -> Fence {
    let mut state = fence.clone();
    let mut rest = text;
    while let Some(at) = rest.find(FENCE) {
        rest = &rest[at + FENCE.len()..];
        state = Fence(if state.0.is_some() { None } else { Some(language(rest)) });
    }
    state
}

/// The language that stands right behind an opening fence, on the same line and alone.
fn language(rest: &str) -> String {
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '#');
    let word = rest.split('\n').next().unwrap_or_default();
    let alone = rest.contains('\n') && !word.is_empty() && word.len() <= LANGUAGE && word.chars().all(named);
    if alone { word.to_owned() } else { String::new() }
}

/// Takes the next body of at most `room` code points; gives it and what follows the white space of the cut.
fn cut<'a>(text: &'a str, room: usize, fence: &Fence) -> (&'a str, &'a str) {
    if text.chars().count() <= room {
        return (text, "");
    }
    let window = &text[..byte_at(text, room)];
    let half = byte_at(text, room / 2);
    if let Some(at) = paragraph(window, half, fence) {
        return (&text[..at], text[at..].trim_start_matches('\n'));
    }
    if let Some(at) = window.rfind('\n').filter(|at| *at >= half.min(window.len() / 4).max(1)) {
        return (&text[..at], &text[at + 1..]);
    }
    if let Some((at, space)) = window.char_indices().rfind(|(at, c)| c.is_whitespace() && *at >= half) {
        return (&text[..at], &text[at + space.len_utf8()..]);
    }
    let at = between_ticks(text, window.len());
    (&text[..at], &text[at..])
}

/// The last end of a paragraph outside of a fence, in the second half of the window.
fn paragraph(window: &str, half: usize, fence: &Fence) -> Option<usize> {
    let mut end = window.len();
    while let Some(at) = window[..end].rfind("\n\n").filter(|at| *at >= half) {
        if after(&window[..at], fence).0.is_none() {
            return Some(at);
        }
        end = at + 1;
    }
    None
}

/// A place at or before `at` that does not tear a fence apart.
fn between_ticks(text: &str, at: usize) -> usize {
    let ticks = text[..at].bytes().rev().take_while(|b| *b == b'`').count();
    if ticks == 0 || !text[at..].starts_with('`') {
        return at;
    }
    // A run that fills the part is cut between two fences, counted from its start.
    if at == ticks { at - at % FENCE.len() } else { at - ticks }
}

/// Byte at which the code point number `n` begins.
fn byte_at(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn solid(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    #[test]
    fn short_text_stays_as_it_is() {
        assert_eq!(split("hello", 2000), ["hello"]);
        assert!(split("", 2000).is_empty());
        assert!(split(" \n ", 2000).is_empty());
    }

    #[test]
    fn paragraphs_come_before_lines_and_lines_before_words() {
        let text = format!("{}\n\n{}\n{}", "a".repeat(50), "b".repeat(30), "c".repeat(30));
        assert_eq!(split(&text, 100), ["a".repeat(50), format!("{}\n{}", "b".repeat(30), "c".repeat(30))]);
        let text = format!("{}\n{}", "a b ".repeat(20).trim(), "c".repeat(60));
        assert_eq!(split(&text, 100), ["a b ".repeat(20).trim().to_owned(), "c".repeat(60)]);
    }

    #[test]
    fn a_fence_is_closed_and_reopened_with_its_language() {
        let code: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let parts = split(&format!("before\n```rust\n{code}```\nafter"), 120);
        assert!(parts.len() > 2);
        for part in &parts {
            assert!(part.chars().count() <= 120, "{part}");
            assert_eq!(part.matches(FENCE).count() % 2, 0, "{part}");
        }
        assert!(parts[1].starts_with("```rust\nline"), "{}", parts[1]);
        assert!(parts[1].ends_with("\n```"), "{}", parts[1]);
    }

    #[test]
    fn a_fence_without_a_line_break_stays_within_bounds() {
        for part in split(&format!("```{}```", "x".repeat(9000)), 2000) {
            assert!(part.chars().count() <= 2000);
            assert_eq!(part.matches(FENCE).count() % 2, 0);
        }
    }

    #[test]
    fn a_tail_begins_at_a_line_and_keeps_its_fence() {
        let code: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let end = tail(&format!("```py\n{code}"), 100);
        assert!(end.starts_with("…\n```py\nline"), "{end}");
        assert!(end.ends_with("line 39\n```"), "{end}");
        assert!(end.chars().count() <= 100);
        assert_eq!(tail("short", 100), "short");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_long(
            words in prop::collection::vec("(```(rust|py)?|`{1,7}|[a-zäöü漢😀]{1,30}|x{40,90}|\n|\n\n| )", 0..120),
            max in LEAST..300usize,
        ) {
            let text = words.concat();
            let pieces = pieces(&text, max);
            let bodies: String = pieces.iter().map(|p| p.body.as_str()).collect();
            prop_assert_eq!(solid(&bodies), solid(&text));
            for piece in &pieces {
                let part = piece.text();
                prop_assert!(part.chars().count() <= max, "{} of {max}", part.chars().count());
                prop_assert!(!part.trim().is_empty());
            }
            for part in pieces.iter().rev().skip(1).map(Piece::text) {
                prop_assert!(after(&part, &Fence::default()).0.is_none(), "left open: {part}");
            }
            prop_assert!(tail(&text, max).chars().count() <= max);
        }
    }
}

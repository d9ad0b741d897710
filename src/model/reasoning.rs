//! Hidden reasoning: what a model says to itself is shown nowhere.

use crate::base::redact::redact;
use crate::base::text::visible;

/// Names of the blocks that models think in.
const BLOCKS: [&str; 7] = ["thinking", "think", "reasoning", "reflection", "scratchpad", "antthinking", "analysis"];

/// Characters in which the attributes of an opening tag must end; what goes on for longer is no tag.
const LONGEST_TAG: usize = 200;

/// What an agent wrote, fit to be recorded and shown: nothing for a terminal, no hidden reasoning, no secrets, no
/// signed links. Needs the whole text, since a block or a key can stand across two pieces of it.
pub fn showable(text: &str) -> String {
    // What steers a terminal goes first: it could stand in the middle of a tag or a key.
    redact(&strip(&visible(text)))
}

/// The same of a text that is still being written: what may be the beginning of a tag or of a key waits for its end.
pub fn showable_so_far(text: &str) -> String {
    // Keys and tags are ASCII; scripts that put no spaces between words are not held back.
    let last = text.char_indices().rfind(|(_, c)| c.is_whitespace() || !c.is_ascii());
    let word = last.map_or(0, |(at, c)| at + c.len_utf8());
    let tag = text[..word].rfind('<').filter(|at| {
        let open = &text[*at..word];
        !open.contains(['>', '\n']) && open.chars().count() <= LONGEST_TAG
    });
    showable(&text[..tag.unwrap_or(word)])
}

/// The text without blocks of reasoning. A block that never ends is cut to the end; a block whose beginning lies
/// before the text (a tail of an answer) is cut from the start.
pub fn strip(text: &str) -> String {
    let mut out = text.to_owned();
    for name in BLOCKS {
        out = without(&out, name);
    }
    out
}

fn without(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    // ASCII lower case keeps every byte's place, so that what is found there can be cut here.
    let lower = text.to_ascii_lowercase();
    if !lower.contains(&open) && !lower.contains(&close) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut depth = 0usize;
    let mut at = 0;
    let mut kept = 0;
    // Only at an angle bracket can something begin or end.
    while let Some(step) = lower[at..].find('<') {
        at += step;
        if lower[at..].starts_with(&close) {
            if depth == 0 {
                out.clear();
            }
            depth = depth.saturating_sub(1);
            at += close.len();
            kept = at;
        } else if let Some(length) = opening(&lower[at..], &open) {
            if depth == 0 {
                out.push_str(&text[kept..at]);
            }
            depth += 1;
            at += length;
        } else {
            at += 1;
        }
    }
    if depth == 0 {
        out.push_str(&text[kept..]);
    }
    out
}

/// Length of an opening tag, attributes included, where `rest` begins with one.
fn opening(rest: &str, open: &str) -> Option<usize> {
    let after = rest.strip_prefix(open)?;
    let fits = after.starts_with('>') || after.starts_with(char::is_whitespace);
    // A tag that is not closed within a line of sensible length is no tag.
    let end = after.char_indices().take(LONGEST_TAG).find(|(_, c)| *c == '>' || *c == '\n')?;
    (fits && end.1 == '>').then_some(open.len() + end.0 + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_are_cut_whatever_their_form() {
        for (text, shown) in [
            ("a <thinking>secret</thinking> b", "a  b"),
            ("<THINK>x\n</Think>done", "done"),
            ("a<think>b<think>c</think>d</think>e", "ae"),
            ("a <reasoning kind=\"x\">b</reasoning>c", "a c"),
            ("never ends <thinking>b", "never ends "),
            ("the tail of it</think> answer", " answer"),
            ("a < b and <thinker> stays", "a < b and <thinker> stays"),
            ("ä<think>ö</think>ü", "äü"),
            ("", ""),
        ] {
            assert_eq!(strip(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_without_blocks_stays(text in "[a-z<>/ äö\n]{0,80}") {
            prop_assume!(!BLOCKS.iter().any(|b| text.contains(b)));
            prop_assert_eq!(strip(&text), text);
        }

        #[test]
        fn what_is_inside_is_never_shown(before in "[a-z \n]{0,20}", inside in "[A-Z<>/ \n]{1,20}", after in "[a-z \n]{0,20}") {
            let shown = strip(&format!("{before}<think>{inside}</think>{after}"));
            prop_assert_eq!(shown, format!("{before}{after}"));
        }
    }
}

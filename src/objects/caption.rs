//! What Discord keeps beside the bytes: one line for people, and the index entry in each attachment's description.
//!
//! An entry is one line of `key value` pairs that also reads well aloud, the name last:
//!
//! ```text
//! discord-os object 1; id 0198…; sha256 9f86…; size 4 bytes; kind text; created 2026-11-30T18:00:00.000Z; name "notes.txt"
//! ```

use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{ArtifactId, RunId};
use crate::base::text;
use crate::model::object::ObjectKind;

use super::names;

/// Discord's bound on a description, in characters (discord/facts.md section 5).
pub const MAX_DESCRIPTION: usize = 1024;

/// What every entry starts with, its version included.
const START: &str = "discord-os object 1; ";

/// Longest name shown on the line for people, in characters.
const SHOWN_NAME: usize = 200;

/// What the channel keeps of an object: everything that the index cannot learn from the message itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Our id.
    pub artifact: ArtifactId,
    /// Hash of the bytes.
    pub sha256: Sha256,
    /// Bytes.
    pub size: u64,
    /// What it is.
    pub kind: ObjectKind,
    /// Run that made it.
    pub run: Option<RunId>,
    /// Whether the bytes are encrypted.
    pub encrypted: bool,
    /// When it was stored.
    pub created: Millis,
    /// True name.
    pub name: String,
}

/// The line for people.
pub fn line(name: &str, size: u64, kind: ObjectKind) -> String {
    let name = text::cut(&text::one_line(name), SHOWN_NAME);
    format!("**{}** · {} · {}", text::plain(&name), text::size(size), kind.as_str())
}

/// The entry as a description. A name that does not fit is cut, which its end shows.
pub fn write(entry: &Entry) -> String {
    let mut out = format!(
        "{START}id {}; sha256 {}; size {} bytes; kind {}; ",
        entry.artifact,
        entry.sha256,
        entry.size,
        entry.kind.as_str()
    );
    if let Some(run) = &entry.run {
        out.push_str(&format!("run {run}; "));
    }
    if entry.encrypted {
        out.push_str("encrypted yes; ");
    }
    out.push_str(&format!("created {}; name \"", entry.created.rfc3339()));
    let room = MAX_DESCRIPTION - out.chars().count() - 1;
    out.push_str(&quoted(&entry.name, room));
    out.push('"');
    out
}

/// Escapes what Discord might strip and what would end the quote. At most `room` characters.
fn quoted(name: &str, room: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    let pieces: Vec<String> = name.chars().map(escaped).collect();
    let whole: usize = pieces.iter().map(|piece| piece.chars().count()).sum();
    let room = if whole <= room { room } else { room.saturating_sub(1) };
    for piece in &pieces {
        let long = piece.chars().count();
        if used + long > room {
            out.push('…');
            return out;
        }
        used += long;
        out.push_str(piece);
    }
    out
}

fn escaped(c: char) -> String {
    let odd_space = c.is_whitespace() && c != ' ';
    match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() || odd_space || names::is_format(c) => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    }
}

/// Reads an entry back. `None` for every text that [`write`] did not make.
pub fn parse(description: &str) -> Option<Entry> {
    let rest = description.trim().strip_prefix(START)?;
    let (rest, artifact) = field(rest, "id ")?;
    let (rest, sha256) = field(rest, "sha256 ")?;
    let (rest, size) = field(rest, "size ")?;
    let (rest, kind) = field(rest, "kind ")?;
    let (rest, run) = optional(rest, "run ");
    let (rest, encrypted) = optional(rest, "encrypted ");
    let (rest, created) = field(rest, "created ")?;
    let quoted = rest.strip_prefix("name \"")?.strip_suffix('"')?;
    Some(Entry {
        artifact: artifact.parse().ok()?,
        sha256: sha256.parse().ok()?,
        size: size.strip_suffix(" bytes")?.parse().ok()?,
        kind: ObjectKind::parse(kind)?,
        run: run.map(str::parse).transpose().ok()?,
        encrypted: match encrypted {
            None => false,
            Some("yes") => true,
            Some(_) => return None,
        },
        created: Millis::parse(created)?,
        name: unquoted(quoted)?,
    })
}

fn field<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let (value, rest) = text.strip_prefix(key)?.split_once("; ")?;
    Some((rest, value))
}

fn optional<'a>(text: &'a str, key: &str) -> (&'a str, Option<&'a str>) {
    match field(text, key) {
        Some((rest, value)) => (rest, Some(value)),
        None => (text, None),
    }
}

fn unquoted(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '"']) {
        out.push_str(&rest[..at]);
        let tail = rest[at..].strip_prefix('\\')?;
        if let Some(code) = tail.strip_prefix("u{") {
            let (digits, after) = code.split_once('}')?;
            out.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
            rest = after;
        } else {
            let c = tail.chars().next().filter(|c| matches!(c, '"' | '\\'))?;
            out.push(c);
            rest = &tail[1..];
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            artifact: ArtifactId("0198c0ffee".into()),
            sha256: Sha256::of(name),
            size: 70_000,
            kind: ObjectKind::Text,
            run: None,
            encrypted: false,
            created: Millis(1_800_000_000_123),
            name: name.into(),
        }
    }

    #[test]
    fn an_entry_reads_well() {
        let text = write(&entry("报告 \"x\".txt"));
        assert_eq!(
            text,
            format!(
                "discord-os object 1; id 0198c0ffee; sha256 {}; size 70000 bytes; kind text; \
                 created 2027-01-15T08:00:00.123Z; name \"报告 \\\"x\\\".txt\"",
                Sha256::of("报告 \"x\".txt")
            )
        );
        assert_eq!(line("a_b*.txt", 1, ObjectKind::Blob), "**a\\_b\\*.txt** · 1 B · blob");
    }

    #[test]
    fn a_name_that_does_not_fit_is_cut() {
        let text = write(&entry(&"\u{1}".repeat(400)));
        assert!(text.chars().count() <= MAX_DESCRIPTION);
        assert!(parse(&text).unwrap().name.ends_with('…'));
        let fits = "x".repeat(255);
        assert_eq!(parse(&write(&entry(&fits))).unwrap().name, fits);
    }

    #[test]
    fn other_texts_are_no_entries() {
        let good = write(&entry("a"));
        for bad in [
            "",
            "discord-os object 1; ",
            "a picture of a cat",
            &good.replace("object 1", "object 2"),
            &good[..good.len() - 1],
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&good.replace("name \"a\"", "name \"a\"b\"")), None);
    }

    proptest! {
        #[test]
        fn entries_round_trip(
            name in "\\PC{0,80}|.{0,80}|[\\x00-\\x1f\"\\\\u{}; a]{0,80}",
            size in any::<u64>(),
            kind in 0..ObjectKind::ALL.len(),
            run in proptest::option::of("[a-z0-9-]{1,36}"),
            encrypted in any::<bool>(),
            ms in 0i64..4_000_000_000_000,
        ) {
            let run = run.map(RunId);
            let entry = Entry { size, kind: ObjectKind::ALL[kind], run, encrypted, created: Millis(ms), ..entry(&name) };
            let text = write(&entry);
            prop_assert!(text.chars().count() <= MAX_DESCRIPTION);
            prop_assert!(!text.chars().any(|c| c.is_control() || names::is_format(c)));
            prop_assert_eq!(parse(&text), Some(entry));
        }

        #[test]
        fn no_text_makes_the_parser_fall(text in ".{0,200}") {
            parse(&text);
            parse(&format!("{START}{text}"));
        }
    }
}

//! Names of files: the true one is kept; the one that is written is safe on every platform.

use std::path::Path;

/// Longest name that every common file system takes, in bytes.
const MAX_BYTES: usize = 255;

/// Longest ending that is kept when a name is cut, in bytes: `.tar.zst` and kin, not a sentence after a dot.
const MAX_ENDING: usize = 16;

/// Names that Windows reserves, whatever their ending.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// What stands where a name has nothing left.
const NAMELESS: &str = "object";

/// True name of a file by its path.
pub fn of_path(path: &Path) -> String {
    path.file_name().map_or_else(|| NAMELESS.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Whether a character could steer a path, a terminal or a reader's eye rather than name something.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_format(c) || matches!(c, '/' | '\\' | '<' | '>' | ':' | '"' | '|' | '?' | '*')
}

/// Invisible characters: joiners, direction marks, line separators, tags, and what is no character.
pub fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

/// A name that can be written on every platform and stays inside its folder (I-16). Letters of every script stay.
pub fn safe(name: &str) -> String {
    let replaced: String = name.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect();
    let trimmed = replaced.trim_start().trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    let trimmed = if trimmed.chars().all(|c| c == '.' || c == '_') { NAMELESS } else { trimmed };
    let stem = trimmed.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let reserved = RESERVED.contains(&stem.as_str());
    cut(&if reserved { format!("_{trimmed}") } else { trimmed.to_owned() })
}

fn cut(name: &str) -> String {
    if name.len() <= MAX_BYTES {
        return name.to_owned();
    }
    let ending = name.rfind('.').map(|at| &name[at..]).filter(|e| e.len() <= MAX_ENDING).unwrap_or_default();
    let mut stem = String::new();
    for c in name.chars() {
        if stem.len() + c.len_utf8() + ending.len() > MAX_BYTES {
            break;
        }
        stem.push(c);
    }
    let stem = stem.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    format!("{stem}{ending}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn written_names_are_safe() {
        for (name, written) in [
            ("notes.bin", "notes.bin"),
            ("报告 2026.txt", "报告 2026.txt"),
            ("a \"b\" 'c'.txt", "a _b_ 'c'.txt"),
            ("../../etc/passwd", ".._.._etc_passwd"),
            ("..", "object"),
            (".", "object"),
            ("", "object"),
            ("///", "object"),
            (".env", ".env"),
            ("CON", "_CON"),
            ("con.txt", "_con.txt"),
            ("console.txt", "console.txt"),
            ("trail. . ", "trail"),
            ("a\u{0}b\nc", "a_b_c"),
            ("exe\u{202e}txt.scr", "exe_txt.scr"),
            ("C:\\x", "C__x"),
        ] {
            assert_eq!(safe(name), written, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let name = format!("{}.txt", "报".repeat(200));
        let written = safe(&name);
        assert!(written.len() <= 255 && written.ends_with("报.txt"));
    }

    proptest! {
        #[test]
        fn i_16_a_written_name_is_one_plain_component(name in "\\PC*|.{0,300}") {
            let written = safe(&name);
            prop_assert!(!written.is_empty() && written.len() <= 255);
            prop_assert!(!written.chars().any(is_unsafe));
            let components: Vec<_> = Path::new(&written).components().collect();
            prop_assert!(matches!(components[..], [std::path::Component::Normal(_)]), "{written:?}");
            prop_assert_eq!(safe(&written), written.clone());
        }
    }
}

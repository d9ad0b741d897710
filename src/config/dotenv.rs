//! `.env` files: `KEY=VALUE` lines, comments, quotes, `export`. Nothing is expanded.

/// A line that cannot be read: its number (from 1) and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Line, from 1.
    pub line: usize,
    /// Why: the rest of a sentence.
    pub why: &'static str,
}

/// Reads the text of a `.env` file. A name that stands twice has its last value.
///
/// # Errors
/// A line that is neither empty, a comment, nor `KEY=VALUE`; a quote that does not end.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, BadLine> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let bad = |why| BadLine { line: index + 1, why };
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (key, rest) = line.split_once('=').ok_or(bad("has no `=`"))?;
        let key = key.trim_end();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) || !key.chars().all(fits) {
            return Err(bad("has a name that is not letters, digits and `_`"));
        }
        found.push((key.to_owned(), value(rest.trim_start()).map_err(bad)?));
    }
    Ok(found)
}

fn value(text: &str) -> Result<String, &'static str> {
    match text.chars().next() {
        Some('\'') => {
            let (inside, rest) = text[1..].split_once('\'').ok_or("has a quote that does not end")?;
            only_comment(rest).map(|()| inside.to_owned())
        }
        Some('"') => double_quoted(&text[1..]),
        // A `#` begins a comment only after white space, so that a value may hold one.
        _ => Ok(cut_comment(text).trim_end().to_owned()),
    }
}

fn double_quoted(text: &str) -> Result<String, &'static str> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return only_comment(&text[at + 1..]).map(|()| out),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c @ ('"' | '\\' | '$' | '`')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err("has a quote that does not end")
}

fn cut_comment(text: &str) -> &str {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == '#' && before.is_whitespace() {
            return &text[..at];
        }
        before = c;
    }
    text
}

fn only_comment(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') { Ok(()) } else { Err("has text after its quote") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_people_write_them() {
        for (line, want) in [
            ("A=1", "1"),
            ("A = 1 ", "1"),
            ("export A=1", "1"),
            ("A=", ""),
            ("A=a b", "a b"),
            ("A=a#b", "a#b"),
            ("A=a # b", "a"),
            ("A=#b", ""),
            ("A='a # b' # c", "a # b"),
            (r#"A="a \"b\" \n\\ \x""#, "a \"b\" \n\\ \\x"),
            ("A=x=y", "x=y"),
            ("\u{feff}A=1", "1"),
        ] {
            assert_eq!(parse(line), Ok(vec![("A".to_owned(), want.to_owned())]), "{line}");
        }
        assert_eq!(parse("# a\n\n  # b\n"), Ok(vec![]));
    }

    #[test]
    fn lines_that_cannot_be_read_are_named() {
        for line in ["A", "=1", "A B=1", "1A=1", "A='x", "A=\"x", "A='x'y"] {
            assert_eq!(parse(&format!("OK=1\n{line}")).map_err(|e| e.line), Err(2), "{line}");
        }
    }
}

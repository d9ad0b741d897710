//! Text by Discord's measure: code points, not bytes (discord/facts.md section 4).

/// At most `max` code points; a cut is marked by an ellipsis that counts.
pub fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// The last `max` code points; a cut is marked by an ellipsis that counts.
pub fn tail(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let mut out = String::from("…");
    out.extend(text.chars().skip(count - max.saturating_sub(1)));
    out
}

/// The beginning of a text, at most `max` bytes of it; no character is torn apart.
pub fn first_bytes(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// One line: every run of white space and control characters becomes one space.
pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text without what steers a terminal: escape sequences and control characters, but for line ends and tabs.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.extend((!c.is_control() || matches!(c, '\n' | '\t')).then_some(c));
        } else if chars.next_if_eq(&'[').is_some() {
            // A colour or a move: parameters, then one character that says what (ECMA-48 5.4).
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
    }
    out
}

/// Text that Discord shows as it is: markdown and mentions lose their meaning.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '#' | '[' | ']' | '(' | ')' | '<' | '@' | ':' | '-') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Text in which no mention keeps its meaning: a zero-width space stands behind each sign, so that Discord sees none
/// and nobody can be pinged (I-20). Markdown stays.
pub fn unpinging(text: &str) -> String {
    text.replace('@', "@\u{200b}")
}

/// Size in bytes for people: `1 B`, `70.0 kB`, `10.5 MB` (decimal units).
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Length of time for people: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn span(time: std::time::Duration) -> String {
    let s = time.as_secs();
    match s {
        0..=9 => format!("{:.1} s", time.as_secs_f64()),
        10..=59 => format!("{s} s"),
        60..=3599 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_count_code_points() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(tail("äöüß", 3), "…üß");
        assert_eq!(one_line(" a\n\tb\u{0}c "), "a b c");
    }

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        for (text, seen) in [
            ("\u{1b}[31mred\u{1b}[0m\u{7}", "red"),
            ("a\tb\r\nc\u{0}", "a\tb\nc"),
            ("\u{1b}[1;38;5;2mok", "ok"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("[31m stays", "[31m stays"),
        ] {
            assert_eq!(visible(text), seen);
        }
    }

    #[test]
    fn sizes_read_well() {
        for (bytes, shown) in
            [(0, "0 B"), (1, "1 B"), (999, "999 B"), (70_000, "70.0 kB"), (10_485_760, "10.5 MB"), (999_999, "1.0 MB")]
        {
            assert_eq!(size(bytes), shown);
        }
    }
}

//! A bar chart as a standalone SVG. Pure.

/// Bars in a chart; more would not be read on a phone.
pub const MAX_BARS: usize = 10;

/// Code points of a bar's name; more would run into the bars.
const MAX_NAME: usize = 12;

const WIDTH: u64 = 640;
const BAR_LEFT: u64 = 130;
const BAR_MAX: u64 = 400;
const ROW: u64 = 34;
const TOP: u64 = 56;

/// Draws bars, longest first as given, with their names and values. The colours have contrast on a
/// light and on a dark page alike, since the chart has no background of its own.
pub fn bars(title: &str, values: &[(String, u64)]) -> String {
    let shown = &values[..values.len().min(MAX_BARS)];
    let most = shown.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let height = TOP + ROW * shown.len().max(1) as u64 + 10;
    let title = escape(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" fill=\"#7d828c\">\n\
         <title>{title}</title>\n<text x=\"16\" y=\"32\" font-size=\"18\" font-weight=\"600\">{title}</text>\n"
    );
    for (index, (name, value)) in shown.iter().enumerate() {
        let y = TOP + ROW * index as u64;
        let width = (u128::from(*value) * u128::from(BAR_MAX) / u128::from(most)).max(2);
        let (middle, right) = (y + 17, u128::from(BAR_LEFT) + width + 8);
        let name = escape(&crate::base::text::cut(name, MAX_NAME));
        svg.push_str(&format!(
            "<text x=\"{}\" y=\"{middle}\" font-size=\"14\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{BAR_LEFT}\" y=\"{y}\" width=\"{width}\" height=\"24\" rx=\"4\" fill=\"#5865f2\"/>\
             <text x=\"{right}\" y=\"{middle}\" font-size=\"14\">{value}</text>\n",
            BAR_LEFT - 10
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Text as XML holds it. Control characters are not allowed in XML at all.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out() {
        let svg = bars("a \"b\" & c", &[("</text><script>".into(), 3), ("\u{1}x".into(), 0)]);
        assert!(!svg.contains("<script") && svg.contains("&lt;/text&gt;"), "{svg}");
        assert!(svg.contains("<title>a &quot;b&quot; &amp; c</title>"));
        assert!(!svg.contains('\u{1}'));
    }

    #[test]
    fn the_longest_bar_fills_the_room() {
        let svg = bars("t", &[("rs".into(), u64::MAX), ("md".into(), u64::MAX / 2)]);
        assert!(svg.contains("width=\"400\"") && svg.contains("width=\"199\""), "{svg}");
        assert_eq!(bars("t", &[]).matches("<rect").count(), 0);
        let many: Vec<(String, u64)> = (0..50).map(|n| (n.to_string(), n)).collect();
        assert_eq!(bars("t", &many).matches("<rect").count(), MAX_BARS);
    }
}

//! What `discord-os demo-agent` (hidden) does: honest work that needs no network and no model.
//!
//! It reads the folder that it was started in, tells what it finds while it finds it, and leaves
//! `report.md` and `chart.svg` as artifacts. A word in quotes (`"…"`, `“…”` or `` `…` ``) in the
//! prompt is looked for. It changes nothing.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::chart;
use super::reading::STEP;
use super::survey::{self, Count, Survey};
use crate::base::text;

/// Pause after a step, so that a person can watch it on the card. Ten steps take a second.
const PAUSE: Duration = Duration::from_millis(100);

/// Folders that get a step of their own; the rest go by without, so that pauses stay short.
const MAX_STEPS: usize = 12;

/// Kinds in the table of the report; the rest are one row.
const MAX_KINDS: usize = 30;

/// Largest prompt that is read, in bytes.
const MAX_PROMPT: u64 = 1 << 20;

/// Runs the agent on this process's stdin, stdout and current folder; returns its exit code.
pub fn main(artifacts: Option<OsString>) -> u8 {
    let mut prompt = Vec::new();
    let outcome = match artifacts {
        None => Err("DISCORD_OS_ARTIFACTS is not set. Run it through the command backend.".to_owned()),
        Some(artifacts) => io::stdin()
            .lock()
            .take(MAX_PROMPT)
            .read_to_end(&mut prompt)
            .map_err(|error| format!("The prompt could not be read: {error}."))
            .and_then(|_| {
                let prompt = String::from_utf8_lossy(&prompt);
                run(&prompt, Path::new("."), Path::new(&artifacts), &mut io::stdout().lock())
            }),
    };
    match outcome {
        Ok(()) => 0,
        Err(sentence) => {
            // The reader of stderr may be gone as well.
            drop(writeln!(io::stderr(), "{sentence}"));
            1
        }
    }
}

/// Surveys `folder`, tells about it on `out`, and writes the report and the chart to `artifacts`.
///
/// # Errors
/// A sentence, when the folder cannot be read or something cannot be written.
pub fn run(prompt: &str, folder: &Path, artifacts: &Path, out: &mut dyn Write) -> Result<(), String> {
    work(prompt, folder, artifacts, out).map_err(|error| format!("The folder could not be surveyed: {error}."))
}

fn work(prompt: &str, folder: &Path, artifacts: &Path, out: &mut dyn Write) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    let title = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    let word = quoted(prompt);
    step(out, &format!("Reading {title}"))?;
    writeln!(out, "I am the demo agent and use no model: I count what is in **{}**.\n", text::plain(&title))?;
    let mut told = 0;
    let found = survey::survey(&folder, artifacts, word, &mut |name, so_far| {
        told += 1;
        if told > MAX_STEPS {
            return Ok(());
        }
        step(out, &format!("Read {name}: {} so far", files(so_far.total.files)))
    })?;
    say(out, &found)?;
    step(out, "Drawing the chart")?;
    let lines: Vec<(String, u64)> = by_lines(&found).into_iter().map(|(kind, count)| (kind, count.lines)).collect();
    std::fs::write(artifacts.join("chart.svg"), chart::bars(&format!("Lines by kind of file in {title}"), &lines))?;
    step(out, "Writing the report")?;
    std::fs::write(artifacts.join("report.md"), report(&title, &found))?;
    writeln!(out, "\nThe report and a chart are attached.")?;
    out.flush()
}

fn step(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{STEP}{}", text::cut(&text::one_line(text), 120))?;
    out.flush()?;
    // So that a person can watch it; nothing waits for this.
    std::thread::sleep(PAUSE);
    Ok(())
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// The first word in quotes, if any.
fn quoted(prompt: &str) -> Option<&str> {
    let first = [('"', '"'), ('“', '”'), ('`', '`')]
        .into_iter()
        .filter_map(|(open, close)| {
            let start = prompt.find(open)? + open.len_utf8();
            let end = start + prompt[start..].find(close)?;
            Some((start, &prompt[start..end]))
        })
        .min_by_key(|(start, _)| *start)?;
    Some(first.1.trim()).filter(|word| !word.is_empty())
}

/// Kinds, most lines first; equal ones by name.
fn by_lines(found: &Survey) -> Vec<(String, Count)> {
    let mut kinds: Vec<(String, Count)> = found.kinds.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
    kinds.sort_by(|a, b| b.1.lines.cmp(&a.1.lines).then_with(|| b.1.files.cmp(&a.1.files)).then(a.0.cmp(&b.0)));
    kinds
}

/// The answer in the thread: a few lines, each a fact.
fn say(out: &mut dyn Write, found: &Survey) -> io::Result<()> {
    let Count { files: count, lines, bytes } = found.total;
    writeln!(out, "**{}**, **{lines} lines** of text, {}.", files(count), text::size(bytes))?;
    for (kind, count) in by_lines(found).iter().take(5) {
        writeln!(out, "- {}: {}, {} lines", text::plain(kind), files(count.files), count.lines)?;
    }
    if let Some((bytes, name)) = found.largest.first() {
        writeln!(out, "Largest: {} ({}).", text::plain(name), text::size(*bytes))?;
    }
    if let Some((time, name)) = &found.newest {
        writeln!(out, "Changed last: {} (<t:{}:R>).", text::plain(name), time.seconds())?;
    }
    if let Some(search) = &found.search {
        let lines = if search.lines == 1 { "line" } else { "lines" };
        writeln!(out, "“{}” stands in {} {lines}.", text::plain(&search.word), search.lines)?;
        for (name, line) in search.hits.iter().take(3) {
            writeln!(out, "- {}, line {line}", text::plain(name))?;
        }
    }
    for note in notes(found) {
        writeln!(out, "{note}")?;
    }
    out.flush()
}

/// What a reader must know to trust the figures.
fn notes(found: &Survey) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(why) = &found.stopped {
        notes.push(format!("I stopped {why}, so these figures are too small."));
    }
    if found.unreadable > 0 {
        notes.push(format!("{} could not be read and are not counted.", files(found.unreadable)));
    }
    notes
}

/// The report. The lines `Files:`, `Lines:` and `Bytes:` are for programs as much as for people.
fn report(title: &str, found: &Survey) -> String {
    let Count { files, lines, bytes } = found.total;
    let mut out = format!(
        "# Report on {}\n\nFiles: {files}\nLines: {lines}\nBytes: {bytes}\n\n\
         Passed by: {}, and symbolic links. A file with a NUL byte near its start is binary and has no lines.\n",
        text::one_line(title),
        survey::PASSED_BY.join(", "),
    );
    for note in notes(found) {
        push(&mut out, format_args!("\n**{note}**"));
    }
    push(&mut out, format_args!("\n## By kind\n\n| kind | files | lines | bytes |\n|---|---:|---:|---:|"));
    let kinds = by_lines(found);
    for (kind, count) in kinds.iter().take(MAX_KINDS) {
        push(&mut out, format_args!("| {} | {} | {} | {} |", cell(kind), count.files, count.lines, count.bytes));
    }
    if kinds.len() > MAX_KINDS {
        let rest = kinds[MAX_KINDS..].iter().fold(Count::default(), |sum, (_, count)| Count {
            files: sum.files + count.files,
            lines: sum.lines + count.lines,
            bytes: sum.bytes + count.bytes,
        });
        push(&mut out, format_args!("| (others) | {} | {} | {} |", rest.files, rest.lines, rest.bytes));
    }
    push(&mut out, format_args!("\n## Largest files\n\n| file | bytes |\n|---|---:|"));
    for (bytes, name) in &found.largest {
        push(&mut out, format_args!("| {} | {bytes} |", cell(name)));
    }
    if let Some((time, name)) = &found.newest {
        push(&mut out, format_args!("\nChanged last: {} ({}).", cell(name), time.rfc3339()));
    }
    if let Some(search) = &found.search {
        push(&mut out, format_args!("\n## Lines with “{}”: {}\n", cell(&search.word), search.lines));
        for (name, line) in &search.hits {
            push(&mut out, format_args!("- {}, line {line}", cell(name)));
        }
    }
    out
}

fn push(out: &mut String, line: std::fmt::Arguments<'_>) {
    out.push_str(&line.to_string());
    out.push('\n');
}

/// A name that cannot break a table.
fn cell(text: &str) -> String {
    text::one_line(text).replace('\\', "\\\\").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts as `find` and `wc` would, with none of the code under test.
    fn independent(folder: &Path) -> (u64, u64) {
        let mut sum = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (files, lines) = if entry.file_type().unwrap().is_dir() {
                independent(&entry.path())
            } else {
                let bytes = std::fs::read(entry.path()).unwrap();
                let binary = bytes.iter().take(8192).any(|b| *b == 0);
                (1, if binary { 0 } else { bytes.split_inclusive(|b| *b == b'\n').count() as u64 })
            };
            sum = (sum.0 + files, sum.1 + lines);
        }
        sum
    }

    fn generate(folder: &Path) {
        let mut seed = 7u64;
        for n in 0..60 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = folder.join(format!("d{}/e{}", n % 3, n % 5));
            std::fs::create_dir_all(&place).unwrap();
            let kind = ["rs", "MD", "bin", "a|b"][n % 4];
            let mut body = "text with ünïcode\n".repeat((seed >> 33) as usize % 40);
            if n % 4 == 2 {
                body.insert(0, '\0');
            }
            if n % 7 == 0 {
                body.push_str("no newline at the end");
            }
            std::fs::write(place.join(format!("f{n}.{kind}")), body).unwrap();
        }
    }

    fn figures(folder: &Path, prompt: &str) -> (u64, u64, String) {
        let artifacts = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        run(prompt, folder, artifacts.path(), &mut out).unwrap();
        let report = std::fs::read_to_string(artifacts.path().join("report.md")).unwrap();
        let line = |name: &str| report.lines().find_map(|l| l.strip_prefix(name)).unwrap().parse().unwrap();
        let svg = std::fs::read_to_string(artifacts.path().join("chart.svg")).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        let table = report.lines().filter(|l| l.starts_with("| a\\|b | 15 |")).count();
        assert!(table <= 1);
        (line("Files: "), line("Lines: "), String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_figures_equal_an_independent_count_and_follow_a_removal() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path());
        let (files, lines, said) = figures(folder.path(), "What is here?");
        assert_eq!((files, lines), independent(folder.path()));
        assert!(said.contains("**60 files**") && said.contains("::step Read d0: 20 files so far"), "{said}");
        std::fs::remove_file(folder.path().join("d0/e0/f0.rs")).unwrap();
        let after = figures(folder.path(), "What is here?");
        assert_eq!((after.0, after.1), independent(folder.path()));
        assert_eq!(after.0, files - 1);
        assert!(after.1 < lines);
    }

    #[test]
    fn a_quoted_word_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\nTwo words\n").unwrap();
        let (_, _, said) = figures(folder.path(), "Where is \"two\"?");
        assert!(said.contains("“two” stands in 1 line.") && said.contains("line 2"), "{said}");
        assert_eq!(quoted("say `it` or \"this\""), Some("it"));
        assert_eq!(quoted("a “curly one” here"), Some("curly one"));
        assert_eq!(quoted("it's 5\" wide"), None);
        assert_eq!(quoted("\"\""), None);
    }

    #[test]
    fn a_folder_that_is_not_there_is_a_sentence() {
        let error = run("", Path::new("/nowhere/at/all"), Path::new("/tmp"), &mut Vec::new()).unwrap_err();
        assert!(error.starts_with("The folder could not be surveyed: ") && error.ends_with('.'));
    }
}

//! What `discord-os fake-agent` (hidden) does: the same for the same prompt, always.
//!
//! It repeats the prompt's first line, writes `fake.txt`, and obeys orders. Orders stand alone, or
//! between `;` or line ends; anything else in a prompt is no order:
//!
//! | order | does |
//! |---|---|
//! | `sleep 1.5` | waits that many seconds (at most an hour) |
//! | `lines 100` | prints that many numbered lines (at most 100,000) |
//! | `step TEXT` | tells a step |
//! | `file NAME BYTES` | writes an artifact of that size (at most 64 MiB) |
//! | `fork` | leaves a process in a session of its own behind |
//! | `stderr TEXT` | says it on stderr |
//! | `fail`, `fail 3` | ends here with code 1, or that code |

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::reading::STEP;
use crate::base::text;
use crate::exec::stray;

/// Longest `sleep`, in seconds; the run's deadline usually comes sooner.
const MAX_SLEEP: f64 = 3600.0;
/// Most `lines`.
const MAX_LINES: u32 = 100_000;
/// Largest `file`, in bytes.
const MAX_FILE: usize = 64 << 20;
/// Life of a stray, in seconds, should nobody end it.
const STRAY_LIFE: u32 = 3600;
/// Largest prompt that is read, in bytes.
const MAX_PROMPT: u64 = 16 << 20;

/// One order in a prompt.
#[derive(Debug, Clone, PartialEq)]
enum Order {
    Sleep(Duration),
    Lines(u32),
    Step(String),
    File(String, usize),
    Fork,
    Stderr(String),
    Fail(u8),
}

/// Runs the agent on this process's stdin and stdout; returns its exit code.
pub fn main(artifacts: Option<OsString>) -> u8 {
    let mut prompt = String::new();
    let read = io::stdin().lock().take(MAX_PROMPT).read_to_string(&mut prompt);
    let artifacts = artifacts.unwrap_or_default();
    match read.and_then(|_| run(&prompt, Path::new(&artifacts), &mut io::stdout().lock(), &mut io::stderr())) {
        Ok(code) => code,
        Err(error) => {
            // The reader of stderr may be gone as well.
            drop(writeln!(io::stderr(), "{error}."));
            1
        }
    }
}

/// Answers a prompt; returns the exit code.
///
/// # Errors
/// When output or artifacts cannot be written.
pub fn run(prompt: &str, artifacts: &Path, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let first = text::cut(prompt.trim().lines().next().unwrap_or_default(), 200);
    writeln!(out, "{STEP}Reading the prompt")?;
    writeln!(out, "Fake answer to: {first}")?;
    out.flush()?;
    for order in orders(prompt) {
        if let Some(code) = obey(order, artifacts, out, err)? {
            return Ok(code);
        }
        out.flush()?;
    }
    std::fs::write(artifacts.join("fake.txt"), format!("Fake answer to: {first}\n"))?;
    writeln!(out, "Done.")?;
    Ok(0)
}

fn obey(order: Order, artifacts: &Path, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Option<u8>> {
    match order {
        // To take time is what was ordered.
        Order::Sleep(time) => std::thread::sleep(time),
        Order::Lines(count) => {
            for number in 1..=count {
                writeln!(out, "line {number}")?;
            }
        }
        Order::Step(text) => writeln!(out, "{STEP}{text}")?,
        Order::File(name, size) => std::fs::write(artifacts.join(name), vec![b'x'; size])?,
        Order::Fork => stray::leave(STRAY_LIFE)?,
        Order::Stderr(text) => writeln!(err, "{text}")?,
        Order::Fail(code) => {
            writeln!(err, "The prompt ordered a failure.")?;
            return Ok(Some(code));
        }
    }
    Ok(None)
}

fn orders(prompt: &str) -> Vec<Order> {
    prompt.split(['\n', ';']).filter_map(|part| order(part.trim())).collect()
}

fn order(part: &str) -> Option<Order> {
    let (word, rest) = part.split_once(' ').map_or((part, ""), |(word, rest)| (word, rest.trim()));
    match word {
        "sleep" => {
            let seconds = rest.parse::<f64>().ok()?.clamp(0.0, MAX_SLEEP);
            Duration::try_from_secs_f64(seconds).ok().map(Order::Sleep)
        }
        "lines" => rest.parse::<u32>().ok().map(|count| Order::Lines(count.min(MAX_LINES))),
        "step" if !rest.is_empty() => Some(Order::Step(rest.to_owned())),
        "file" => {
            let (name, size) = rest.rsplit_once(' ')?;
            // A name, not a path: it stays inside the folder (I-16).
            let plain = !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
            let size = size.parse::<usize>().ok()?.min(MAX_FILE);
            plain.then(|| Order::File(name.to_owned(), size))
        }
        "fork" if rest.is_empty() => Some(Order::Fork),
        "stderr" if !rest.is_empty() => Some(Order::Stderr(rest.to_owned())),
        "fail" if rest.is_empty() => Some(Order::Fail(1)),
        "fail" => rest.parse().ok().filter(|code| *code != 0).map(Order::Fail),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_stand_alone() {
        assert_eq!(
            orders("Do it; sleep 0.5; lines 2\nfile my notes.txt 10; fork;fail 3"),
            [
                Order::Sleep(Duration::from_millis(500)),
                Order::Lines(2),
                Order::File("my notes.txt".into(), 10),
                Order::Fork,
                Order::Fail(3),
            ]
        );
        for no_order in ["please sleep 5", "sleep well", "sleep NaN", "fork it", "file ../x 1", "fail 0", "fail me", ""]
        {
            assert_eq!(orders(no_order), [], "{no_order}");
        }
    }

    #[test]
    fn the_same_prompt_gets_the_same_answer() {
        let answer = || {
            let folder = tempfile::tempdir().unwrap();
            let mut out = Vec::new();
            let code = run("Hello\nlines 2; step On it", folder.path(), &mut out, &mut Vec::new()).unwrap();
            (code, String::from_utf8(out).unwrap(), std::fs::read_to_string(folder.path().join("fake.txt")).unwrap())
        };
        let first = answer();
        assert_eq!(first, answer());
        assert_eq!(first.0, 0);
        assert_eq!(first.1, "::step Reading the prompt\nFake answer to: Hello\nline 1\nline 2\n::step On it\nDone.\n");
    }
}

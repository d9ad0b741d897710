//! The process tree of a run, read from /proc, and its end with proof.
//!
//! A process belongs to a run when its chain of parents leads to the run's warden, or when its
//! environment carries the run's mark. The warden is a subreaper, so a chain breaks only where the
//! warden itself dies; the mark then still finds all but those that cleared their environment.
//!
//! Needs Linux's /proc. Elsewhere nothing is found and nothing is ever said to be proved
//! ([`SUPPORTED`]).

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{MARK, ProcessId};
use crate::base::clock::{Clock, SystemClock};

/// Whether this system can be asked for its processes.
pub const SUPPORTED: bool = cfg!(target_os = "linux");

/// Pause between two looks. Short, since a killed process is gone within microseconds to a few
/// milliseconds, and one look at a few hundred processes costs about as much.
const PAUSE: Duration = Duration::from_millis(10);

/// How long KILL is tried before a tree counts as one that cannot be ended. Only a process that
/// hangs inside the kernel lives longer.
pub const KILL_WAIT: Duration = Duration::from_secs(4);

/// Looks in one freeze. A fork storm loses: who is stopped forks no more.
const FREEZE_LOOKS: u32 = 50;

/// Longest chain of parents that is followed, so that a /proc that changes under the reader cannot
/// make a ring.
const MAX_DEPTH: usize = 4096;

/// One row of /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    id: ProcessId,
    parent: i32,
    zombie: bool,
}

/// What was ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Every process that had to be ended.
    pub processes: HashSet<ProcessId>,
    /// Whether two looks in a row found none of them.
    pub gone: bool,
}

/// Start time of a process in clock ticks since boot; `None` when there is no such process.
pub fn start_time(pid: i32) -> Option<u64> {
    row(pid).map(|row| row.id.start)
}

/// Whether this very process still runs. A zombie does not: it can do nothing any more.
pub fn alive(id: ProcessId) -> bool {
    row(id.pid).is_some_and(|row| row.id == id && !row.zombie)
}

/// Living descendants of a process, without itself.
pub fn descendants(root: i32) -> Vec<ProcessId> {
    let rows = rows();
    let below = Below::new(root, &rows);
    rows.iter().filter(|row| !row.zombie && below.holds(row.id.pid)).map(|row| row.id).collect()
}

/// Living processes whose environment carries the mark.
pub fn marked(mark: &str) -> Vec<ProcessId> {
    rows().into_iter().filter(|row| !row.zombie && carries(row.id.pid, mark)).map(|row| row.id).collect()
}

/// Living processes of a run, without its warden: descendants and carriers of the mark.
pub fn of_run(warden: i32, mark: &str) -> Vec<ProcessId> {
    let rows = rows();
    let below = Below::new(warden, &rows);
    let belongs = |pid: i32| pid != warden && (below.holds(pid) || carries(pid, mark));
    rows.iter().filter(|row| !row.zombie && belongs(row.id.pid)).map(|row| row.id).collect()
}

/// Tells who descends from a process.
struct Below {
    root: i32,
    parents: HashMap<i32, i32>,
}

impl Below {
    fn new(root: i32, rows: &[Row]) -> Self {
        Self { root, parents: rows.iter().map(|row| (row.id.pid, row.parent)).collect() }
    }

    fn holds(&self, pid: i32) -> bool {
        let mut at = pid;
        for _ in 0..MAX_DEPTH {
            match self.parents.get(&at) {
                Some(&parent) if parent == self.root => return true,
                Some(&parent) if parent > 1 => at = parent,
                _ => return false,
            }
        }
        false
    }
}

/// Whether a process belongs to some run: it, or one of its parents, carries a mark (I-18). The
/// warden at the top of each run carries it, so clearing an own environment does not help.
pub fn in_a_run(pid: i32) -> bool {
    let mut at = pid;
    for _ in 0..MAX_DEPTH {
        if mark_of(at).is_some() {
            return true;
        }
        match row(at) {
            Some(row) if row.parent > 1 => at = row.parent,
            _ => return false,
        }
    }
    false
}

/// Whether the environment of a process carries this mark.
pub fn carries(pid: i32, mark: &str) -> bool {
    mark_of(pid).is_some_and(|found| found == mark.as_bytes())
}

/// Ends every process that `look` finds: TERM, up to `grace` to end by itself, then STOP and KILL
/// until two looks in a row find none. Blocks; bounded by `grace` and [`KILL_WAIT`].
pub fn end(look: &dyn Fn() -> Vec<ProcessId>, grace: Duration) -> Ended {
    let clock = SystemClock::new();
    let mut ended = Ended::default();
    let first = look();
    if !grace.is_zero() && !first.is_empty() {
        ended.processes.extend(&first);
        for id in &first {
            signal(*id, Signal::SIGTERM);
            // A stopped process hears TERM only once it goes on.
            signal(*id, Signal::SIGCONT);
        }
        while clock.steady() < grace && !look().is_empty() {
            pause();
        }
    }
    let mut empty = 0;
    let until = clock.steady() + KILL_WAIT;
    while clock.steady() < until {
        let found = freeze(look);
        empty = if found.is_empty() { empty + 1 } else { 0 };
        if empty == 2 {
            ended.gone = SUPPORTED;
            break;
        }
        for id in &found {
            signal(*id, Signal::SIGKILL);
        }
        ended.processes.extend(found);
        pause();
    }
    ended
}

/// Ends at once whatever carries the mark, the warden too.
pub fn end_marked(mark: &str) -> Ended {
    end(&|| marked(mark), Duration::ZERO)
}

/// Stops whom `look` finds, until it finds nobody new: who is stopped cannot fork away.
fn freeze(look: &dyn Fn() -> Vec<ProcessId>) -> HashSet<ProcessId> {
    let mut frozen = HashSet::new();
    for _ in 0..FREEZE_LOOKS {
        let fresh: Vec<ProcessId> = look().into_iter().filter(|id| !frozen.contains(id)).collect();
        if fresh.is_empty() {
            break;
        }
        for id in fresh {
            signal(id, Signal::SIGSTOP);
            frozen.insert(id);
        }
    }
    frozen
}

/// Sends a signal, unless the number belongs to another process by now.
pub(super) fn signal(id: ProcessId, signal: Signal) {
    if id.pid > 1 && start_time(id.pid) == Some(id.start) {
        // It may have ended in between, or belong to another user: the next look tells.
        kill(Pid::from_raw(id.pid), signal).ok();
    }
}

/// Waits a little: the kernel tells no one when a process that is not a child ends.
pub(super) fn pause() {
    std::thread::sleep(PAUSE);
}

fn mark_of(pid: i32) -> Option<Vec<u8>> {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = [MARK.as_bytes(), b"="].concat();
    environ.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(prefix.as_slice())).map(<[u8]>::to_vec)
}

fn rows() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse::<i32>().ok())
        .filter_map(row)
        .collect()
}

fn row(pid: i32) -> Option<Row> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// Reads a line of /proc/PID/stat (proc(5)): the name in brackets may itself hold brackets and
/// spaces, so fields count from the last closing one.
fn parse(pid: i32, stat: &str) -> Option<Row> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Row {
        id: ProcessId { pid, start: fields.get(19)?.parse().ok()? },
        parent: fields.get(1)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str) -> String {
        format!("7 ({name}) {state} 3 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1")
    }

    #[test]
    fn a_name_cannot_forge_the_fields() {
        let row = parse(7, &stat("a) Z 1 (b", "S")).unwrap();
        assert_eq!(row, Row { id: ProcessId { pid: 7, start: 987_654 }, parent: 3, zombie: false });
        assert!(parse(7, &stat("sh", "Z")).unwrap().zombie);
        assert_eq!(parse(7, "7 (sh) S"), None);
    }

    #[test]
    fn this_process_is_alive_and_its_number_alone_is_not_enough() {
        let pid = std::process::id() as i32;
        let me = ProcessId { pid, start: start_time(pid).unwrap() };
        assert!(alive(me));
        assert!(!alive(ProcessId { start: me.start + 1, ..me }));
        assert!(!alive(ProcessId { pid: i32::MAX, start: 1 }));
    }

    #[test]
    fn ending_nothing_is_proved_by_two_looks() {
        let looks = std::cell::Cell::new(0);
        let ended = end(
            &|| {
                looks.set(looks.get() + 1);
                Vec::new()
            },
            Duration::from_secs(60),
        );
        assert!(ended.gone && ended.processes.is_empty());
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn what_stays_is_told_as_not_gone() {
        // A number that no process has: it can be looked at for ever and never ends.
        let ghost = ProcessId { pid: i32::MAX, start: 1 };
        let ended = end(&|| vec![ghost], Duration::ZERO);
        assert!(!ended.gone);
        assert_eq!(ended.processes, HashSet::from([ghost]));
    }
}

//! The warden: a small process of the same binary that owns everything a run starts (DESIGN 6).
//!
//! The host starts `discord-os warden` with one end of a socket as its stdin and speaks frames
//! (`wire`) over it: spec, go, kill. Stdout and stderr are the program's own; the warden
//! writes to neither. It leaves the host's session and is subreaper of all that the run makes, so
//! that no double fork gets away. When the socket closes the host is gone: before the go nothing
//! ran and nothing will; after it, the whole tree is ended.
//!
//! Known limits: a program may send SIGKILL to its own warden, since both belong to one user, or
//! another signal in its first milliseconds, before the warden holds them back (held back earlier, the
//! program would inherit the mask); the host then ends the run by its mark and never says that it is
//! proved gone. And what a program
//! has another service do (cron, systemd, a container daemon) is that service's child, not the run's.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};

use super::wire::{self, ExitWire, Order, Report};
use super::{Exit, MARK, ProcessId, Spec, tree};
use crate::base::clock::{Clock, SystemClock};

/// How long a tree may take to end by itself after TERM. Long enough to write a file out, short
/// enough for a person who watches a card.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to hand over the last zombies once no process lives.
const LAST_REAP: Duration = Duration::from_secs(1);

/// What wakes the warden.
enum Wake {
    /// The program ended.
    Program(WaitStatus),
    /// No child is left: with a subreaper that means no descendant either.
    Childless,
    /// The host wants the end, or is gone.
    End,
}

/// Why the tree is ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The program ended by itself; what it left behind goes too.
    Over,
    /// The host wants it, or is gone.
    Told,
    /// It took too long.
    Late,
}

/// Runs the warden on this process; returns its exit code.
pub fn main() -> u8 {
    match serve() {
        Ok(()) => 0,
        // Whoever could read the reason is gone, or never was there: the code is all that is left.
        Err(_) => 1,
    }
}

fn serve() -> io::Result<()> {
    // A copy of stdin, so that it closes on exec as every descriptor of Rust's does.
    let mut host = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let Order::Spec(spec) = wire::read(&mut host)? else { return Err(io::ErrorKind::InvalidData.into()) };
    let spec = Spec::try_from(spec)?;
    setsid()?;
    become_subreaper()?;
    wire::write(&mut host, &Report::Ready)?;
    match wire::read(&mut host) {
        Ok(Order::Go) => {}
        // Killed, or the host is gone: nothing ran.
        _ => return Ok(()),
    }
    match start(&spec) {
        Ok(child) => {
            let exit = guard(child, &spec, &host)?;
            wire::write(&mut host, &Report::Exited(ExitWire::from(exit)))
        }
        Err(error) => wire::write(&mut host, &Report::Failed(format!("The program could not be started: {error}."))),
    }
}

#[cfg(target_os = "linux")]
fn become_subreaper() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[allow(clippy::disallowed_methods, reason = "the one place that starts a program of a run")]
fn start(spec: &Spec) -> io::Result<Child> {
    let [program, arguments @ ..] = spec.argv.as_slice() else { return Err(io::ErrorKind::InvalidInput.into()) };
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(spec.env.iter().map(|(key, value)| (key, value)))
        .env(MARK, &spec.mark)
        .current_dir(&spec.cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
}

/// Watches the program until it is over, by itself or not, and ends whatever is left.
fn guard(mut child: Child, spec: &Spec, host: &UnixStream) -> io::Result<Exit> {
    let clock = SystemClock::new();
    let pid = child.id() as i32;
    // The program, started before this, has its own mask. No signal but KILL and STOP, which cannot
    // be held back, takes the warden from its tree.
    SigSet::all().thread_block()?;
    // Not reaped yet, so it has a start time, dead or alive.
    let program = ProcessId { pid, start: tree::start_time(pid).unwrap_or_default() };
    let mut stdin = child.stdin.take();
    let bytes = spec.stdin.clone();
    // These threads end with the process; each blocks on something that only the end may resolve.
    std::thread::spawn(move || {
        if let Some(pipe) = &mut stdin {
            // A program need not read what it is given.
            drop(io::Write::write_all(pipe, &bytes));
        }
    });
    let (wakes, woken) = channel();
    let reaps = wakes.clone();
    let mut orders = host.try_clone()?;
    wire::write(&mut orders, &Report::Started(program.pid, program.start)).or_else(host_gone)?;
    std::thread::spawn(move || listen(&mut orders, &wakes));
    std::thread::spawn(move || reap(program, &reaps));

    let (why, status) = watch(&clock, spec.deadline, &woken);
    let ended = end(spec, program);
    Ok(conclude(why, status, ended, &woken))
}

/// A host that is gone is no reason to leave the tree alone: the listener hears of it too.
fn host_gone(_: io::Error) -> io::Result<()> {
    Ok(())
}

/// Waits for the first reason to end.
fn watch(clock: &dyn Clock, deadline: Duration, woken: &Receiver<Wake>) -> (Why, Option<WaitStatus>) {
    loop {
        match woken.recv_timeout(deadline.saturating_sub(clock.steady())) {
            Ok(Wake::Program(status)) => return (Why::Over, Some(status)),
            Ok(Wake::Childless) => {}
            Ok(Wake::End) | Err(RecvTimeoutError::Disconnected) => return (Why::Told, None),
            Err(RecvTimeoutError::Timeout) => return (Why::Late, None),
        }
    }
}

/// Ends the tree; the program itself is not among those that are counted.
fn end(spec: &Spec, program: ProcessId) -> tree::Ended {
    let me = std::process::id() as i32;
    let mut ended = tree::end(&|| tree::of_run(me, &spec.mark), GRACE);
    ended.processes.remove(&program);
    ended
}

/// Collects the proof: the kernel says that no child is left, and so no descendant.
fn conclude(why: Why, mut status: Option<WaitStatus>, ended: tree::Ended, woken: &Receiver<Wake>) -> Exit {
    let mut childless = false;
    while !childless {
        match woken.recv_timeout(LAST_REAP) {
            Ok(Wake::Program(last)) => status = Some(last),
            Ok(Wake::Childless) => childless = true,
            Ok(Wake::End) => {}
            Err(_) => break,
        }
    }
    let (code, signal) = match status {
        Some(WaitStatus::Exited(_, code)) => (Some(code), None),
        Some(WaitStatus::Signaled(_, signal, _)) => (None, Some(signal as i32)),
        _ => (None, None),
    };
    let by_itself = why == Why::Over;
    Exit {
        // A program that answers TERM with an orderly exit did not end by itself.
        code: code.filter(|_| by_itself),
        signal: signal.or(code.filter(|_| !by_itself).map(|_| Signal::SIGTERM as i32)),
        late: why == Why::Late,
        ended: u32::try_from(ended.processes.len()).unwrap_or(u32::MAX),
        gone: ended.gone && childless,
    }
}

/// Hears the host. Anything but silence is the end: kill, a broken frame, or a host that is gone.
fn listen(orders: &mut UnixStream, wakes: &Sender<Wake>) {
    drop(wire::read::<Order>(orders));
    // Nobody hears it once all is over.
    drop(wakes.send(Wake::End));
}

/// Takes in every child, adopted ones too, until none is left.
fn reap(program: ProcessId, wakes: &Sender<Wake>) {
    let mut seen = false;
    loop {
        match waitpid(None::<Pid>, None) {
            Ok(status) if status.pid() == Some(Pid::from_raw(program.pid)) && !seen => {
                seen = true;
                drop(wakes.send(Wake::Program(status)));
            }
            Err(Errno::ECHILD) => break,
            // A child that a real-time signal ended is taken in, but has no status that nix knows.
            Err(Errno::EINVAL) if !seen && tree::start_time(program.pid) != Some(program.start) => {
                seen = true;
                drop(wakes.send(Wake::Program(WaitStatus::StillAlive)));
            }
            _ => {}
        }
    }
    drop(wakes.send(Wake::Childless));
}

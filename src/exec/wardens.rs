//! The host's side of a warden: starts it, hears it, passes the program's output on, and looks for
//! itself whether a run is gone.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use nix::sys::signal::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child as Process, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::nursery::Nursery;
use super::wire::{self, Order, Report, SpecWire};
use super::{Child, Exec, ExecError, Exit, Kill, MARK, Output, Prepared, ProcessId, Spec, tree, warden};

/// This very program, also after an update has replaced its file. Meant as the first word of a
/// command line that runs one of the hidden subcommands.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Longest wait for a warden that starts: milliseconds on an idle machine, seconds on a busy one.
const READY_WAIT: Duration = Duration::from_secs(20);

/// Longest wait for a warden's last word after it was told to end: its grace, its KILL, and room
/// for a busy machine. Whoever is silent for longer hangs.
const PATIENCE: Duration = Duration::from_secs(8).saturating_add(warden::GRACE).saturating_add(tree::KILL_WAIT);

/// Longest wait for output from a pipe that something which could not be ended still holds open.
const DRAIN_WAIT: Duration = Duration::from_secs(1);

/// Bytes in one [`Output`]: the size of a pipe's own buffer on Linux.
const CHUNK: usize = 64 << 10;

/// Outputs in flight. With [`CHUNK`] at most 1 MiB a run; after that the program waits.
const IN_FLIGHT: usize = 16;

/// Starts programs, each under its own warden. Dropped, it ends them all.
#[derive(Debug)]
pub struct Wardens {
    program: PathBuf,
    nursery: Nursery,
}

impl Wardens {
    /// Wardens made of this very program.
    pub fn new() -> Self {
        Self::of(OWN_PROGRAM)
    }

    /// Wardens made of another program that knows `warden` (a test is not discord-os itself).
    pub fn of(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), nursery: Nursery::default() }
    }
}

impl Default for Wardens {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Exec for Wardens {
    async fn prepare(&self, spec: Spec) -> Result<Box<dyn Prepared>, ExecError> {
        if !tree::SUPPORTED {
            let sentence = "Running programs is not supported on this system yet. Use Linux.";
            return Err(ExecError(sentence.into()));
        }
        let (socket, theirs) = pair().map_err(no_warden)?;
        let process = self.spawn(theirs, &spec.mark).map_err(no_warden)?;
        let mut link = Link { socket, process, warden: ProcessId { pid: 0, start: 0 } };
        link.tell(&Order::Spec(SpecWire::from(&spec))).await?;
        match link.hear(READY_WAIT).await? {
            Report::Ready => {}
            other => return Err(ExecError(format!("The warden said {other:?} when it should be ready."))),
        }
        let pid = link.process.id().and_then(|pid| i32::try_from(pid).ok());
        let id = pid.and_then(|pid| Some(ProcessId { pid, start: tree::start_time(pid)? }));
        link.warden = id.ok_or_else(|| ExecError("The warden ended before the run could start. Try again.".into()))?;
        Ok(Box::new(Waiting { link, mark: spec.mark, deadline: spec.deadline, nursery: self.nursery.clone() }))
    }
}

impl Wardens {
    #[allow(clippy::disallowed_methods, reason = "the one place that starts a warden")]
    fn spawn(&self, socket: OwnedFd, mark: &str) -> std::io::Result<Process> {
        Command::new(&self.program)
            .arg0("discord-os")
            .arg("warden")
            .env_clear()
            .env(MARK, mark)
            // Its own folder matters to nothing, and must not keep one busy.
            .current_dir("/")
            .stdin(Stdio::from(socket))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

/// Both ends of a socket: ours for tokio, theirs to become the stdin of the warden.
fn pair() -> std::io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, OwnedFd::from(theirs)))
}

fn no_warden(error: std::io::Error) -> ExecError {
    ExecError(format!("The run's warden could not be started: {error}. Check the limits on processes and open files."))
}

/// A warden and the socket to it. Dropped, the socket closes and the warden ends its tree.
struct Link {
    socket: UnixStream,
    process: Process,
    warden: ProcessId,
}

impl Link {
    async fn tell(&mut self, order: &Order) -> Result<(), ExecError> {
        let frame = wire::frame(order).map_err(lost)?;
        self.socket.write_all(&frame).await.map_err(lost)
    }

    async fn hear(&mut self, longest: Duration) -> Result<Report, ExecError> {
        match timeout(longest, report(&mut self.socket)).await {
            Ok(heard) => heard.map_err(lost),
            Err(_) => Err(ExecError("The run's warden did not answer in time. Try again.".into())),
        }
    }
}

fn lost(error: std::io::Error) -> ExecError {
    ExecError(format!("The run's warden was lost: {error}. Try again."))
}

async fn report(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Report> {
    let mut head = [0; 4];
    from.read_exact(&mut head).await?;
    let mut json = vec![0; wire::length(head)?];
    from.read_exact(&mut json).await?;
    wire::value(&json)
}

/// A warden that waits for the go.
struct Waiting {
    link: Link,
    mark: String,
    deadline: Duration,
    nursery: Nursery,
}

#[async_trait]
impl Prepared for Waiting {
    fn warden(&self) -> ProcessId {
        self.link.warden
    }

    async fn go(self: Box<Self>) -> Result<Child, ExecError> {
        let Self { mut link, mark, deadline, nursery } = *self;
        link.tell(&Order::Go).await?;
        let program = match link.hear(READY_WAIT).await? {
            Report::Started(pid, start) => ProcessId { pid, start },
            Report::Failed(sentence) => return Err(ExecError(sentence)),
            other => return Err(ExecError(format!("The warden said {other:?} when the program should start."))),
        };
        let (out, output) = mpsc::channel(IN_FLIGHT);
        let (kill, kills) = mpsc::channel(1);
        nursery.start(Running { link, mark, deadline, program, out }.follow(kills));
        Ok(Child { output, kill: Kill(kill) })
    }
}

/// A program that runs.
struct Running {
    link: Link,
    mark: String,
    deadline: Duration,
    program: ProcessId,
    out: mpsc::Sender<Output>,
}

impl Running {
    /// Passes output on until the run is over, and looks that it is.
    async fn follow(mut self, kills: mpsc::Receiver<()>) {
        // Owned here: if this future is dropped, so are they.
        let mut pumps = JoinSet::new();
        if let Some(pipe) = self.link.process.stdout.take() {
            pumps.spawn(pump(pipe, self.out.clone(), Output::Out));
        }
        if let Some(pipe) = self.link.process.stderr.take() {
            pumps.spawn(pump(pipe, self.out.clone(), Output::Err));
        }
        let told = self.wait(kills).await;
        let out = self.out.clone();
        let exit = self.verify(told).await;
        let drained = async { while pumps.join_next().await.is_some() {} };
        if exit.gone {
            // Nothing holds the pipes any more, so their end is certain; the reader sets the pace.
            drained.await;
        } else {
            // What was read by then is told; whoever lives on may hold the pipes for ever.
            drop(timeout(DRAIN_WAIT, drained).await);
        }
        // A reader that is gone wants no answer.
        drop(out.send(Output::Exited(exit)).await);
    }

    /// The warden's last word; `None` when it is lost.
    async fn wait(&mut self, mut kills: mpsc::Receiver<()>) -> Option<Exit> {
        let (mut reader, mut writer) = self.link.socket.split();
        let word = report(&mut reader);
        tokio::pin!(word);
        let told = tokio::select! {
            word = &mut word => Some(word),
            Some(()) = kills.recv() => None,
            // Nobody listens any more: the run has no purpose.
            () = self.out.closed() => None,
            // The warden keeps the deadline; this is for one that hangs.
            () = tokio::time::sleep(self.deadline.saturating_add(PATIENCE)) => None,
        };
        let word = match told {
            Some(word) => word,
            None => {
                // Its own child may have stopped it, to live on.
                tree::signal(self.link.warden, Signal::SIGCONT);
                let frame = wire::frame(&Order::Kill).ok()?;
                // A warden that is gone shows in the answer that follows.
                drop(writer.write_all(&frame).await);
                timeout(PATIENCE, word).await.ok()?
            }
        };
        match word {
            Ok(Report::Exited(exit)) => Some(Exit::from(exit)),
            _ => None,
        }
    }

    /// Looks from outside: the warden must be gone, and nothing may carry the mark.
    async fn verify(self, told: Option<Exit>) -> Exit {
        let Self { mut link, mark, program, .. } = self;
        if told.is_none() {
            // It hangs or is gone already; its children are found by their mark.
            drop(link.process.start_kill());
        }
        let reaped = timeout(PATIENCE, link.process.wait()).await.is_ok();
        let warden = link.warden;
        let looked = tokio::task::spawn_blocking(move || {
            let mut ended = tree::end_marked(&mark);
            ended.processes.remove(&program);
            ended.processes.remove(&warden);
            ended
        });
        let found = looked.await.unwrap_or_default();
        let more = u32::try_from(found.processes.len()).unwrap_or(u32::MAX);
        match told {
            Some(exit) => {
                Exit { ended: exit.ended.saturating_add(more), gone: exit.gone && reaped && found.gone, ..exit }
            }
            // Without its warden a run is ended as far as its mark shows, which is no proof.
            None => Exit { code: None, signal: None, late: false, ended: more, gone: false },
        }
    }
}

/// Reads a pipe to its end. A full channel holds it back, and with it the program.
async fn pump(mut pipe: impl AsyncRead + Unpin, out: mpsc::Sender<Output>, kind: fn(Vec<u8>) -> Output) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        if out.send(kind(buffer[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

//! Children: spawn under a warden, confine, and kill the whole tree with proof.

pub mod nursery;
pub mod stray;
pub mod sweep;
pub mod tree;
pub mod warden;
pub mod wardens;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

/// Variable that marks every process of a run, so that none can hide by changing its parent.
pub const MARK: &str = "DISCORD_OS_RUN";

/// A program to run.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Program and arguments. Never holds a secret (I-11).
    pub argv: Vec<OsString>,
    /// The whole environment of the child, besides [`MARK`]; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// What it reads on stdin before end of file.
    pub stdin: Vec<u8>,
    /// Value of [`MARK`]; unique to the run.
    pub mark: String,
    /// Longest it may take.
    pub deadline: Duration,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// Number.
    pub pid: i32,
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub start: u64,
}

/// What a child did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Bytes on stdout.
    Out(Vec<u8>),
    /// Bytes on stderr.
    Err(Vec<u8>),
    /// It ended, and so did everything that it started, as far as could be proved.
    Exited(Exit),
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Exit code, where it ended by itself.
    pub code: Option<i32>,
    /// Signal, where one ended it.
    pub signal: Option<i32>,
    /// Whether the deadline ended it.
    pub late: bool,
    /// Processes of the run that had to be ended besides the program itself.
    pub ended: u32,
    /// Whether every process of the run is proved gone.
    pub gone: bool,
}

/// Trouble before a program runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExecError(pub String);

/// Starts programs. Every implementation passes the same contract tests.
#[async_trait]
pub trait Exec: Send + Sync {
    /// Starts the warden and waits until it is ready; the program itself does not start yet.
    async fn prepare(&self, spec: Spec) -> Result<Box<dyn Prepared>, ExecError>;
}

/// A warden that waits for the go. Dropped, it ends and nothing ran.
#[async_trait]
pub trait Prepared: Send {
    /// The warden, to be recorded before [`Prepared::go`].
    fn warden(&self) -> ProcessId;

    /// Lets the program start.
    async fn go(self: Box<Self>) -> Result<Child, ExecError>;
}

/// A running program.
pub struct Child {
    /// What it does; ends after [`Output::Exited`]. Bounded: a slow reader slows the program down.
    pub output: mpsc::Receiver<Output>,
    /// Ends it.
    pub kill: Kill,
}

/// Ends a run's whole tree: TERM, wait, KILL, look. The result comes as [`Output::Exited`].
#[derive(Debug, Clone)]
pub struct Kill(pub mpsc::Sender<()>);

impl Kill {
    /// Asks for the end. Asking twice is harmless.
    pub fn now(&self) {
        // A full channel means that it was asked for already; a closed one that it has ended.
        self.0.try_send(()).ok();
    }
}

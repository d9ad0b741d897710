//! Compute backends: who does the work. Each passes `tests/it/backend_contract.rs`.

mod chart;
pub mod command;
pub mod demo_agent;
pub mod fake;
pub mod fake_agent;
mod program;
mod reading;
mod survey;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::base::ids::RunId;
use crate::base::money::MicroUsd;
use crate::exec::ProcessId;
use crate::model::receipt::{Basis, Usage};
use crate::model::task::Mode;

/// Bytes of a run's answer that are kept, from its beginning: far more than anybody reads in a chat, and little for the
/// few runs that are live (I-17).
pub const MOST_ANSWER: usize = 1 << 20;

/// What a backend can do. A value, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "five independent facts, read one by one")]
pub struct Capabilities {
    /// Tells text while it works.
    pub streams: bool,
    /// Takes more text while it works.
    pub steers: bool,
    /// Asks before it acts.
    pub asks_permission: bool,
    /// Says what it cost.
    pub reports_cost: bool,
    /// Can go on in an earlier session.
    pub resumes: bool,
}

/// One turn of work.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// Mark that its processes carry.
    pub mark: String,
    /// What the person asked.
    pub prompt: String,
    /// What it may do.
    pub mode: Mode,
    /// Folder it works in.
    pub cwd: PathBuf,
    /// Empty folder; every file in it at the end becomes an artifact.
    pub artifacts: PathBuf,
    /// Longest it may take.
    pub deadline: Duration,
}

/// What a backend tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It runs.
    Started,
    /// A step, in a few words.
    Step(String),
    /// More text of its answer.
    Text(String),
    /// It uses a tool: name and what for.
    Tool(String, String),
    /// It asks for permission: id and what for.
    Permission(String, String),
    /// Counted so far.
    Usage(Usage, Option<MicroUsd>),
    /// It is over; always the last.
    Ended(Ending),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Well or badly.
    pub outcome: Outcome,
    /// The answer, or what there is of it; at most [`MOST_ANSWER`] bytes, the beginning of a longer one.
    pub summary: String,
    /// Processes that had to be ended.
    pub ended: u32,
    /// Whether every process is proved gone.
    pub gone: bool,
}

/// Well or badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// Badly: a sentence that says why.
    Failed(String),
    /// Ended by [`Job::cancel`].
    Cancelled,
}

/// Trouble before anything ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ComputeError(pub String);

/// A way to get work done.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Name, as in `AGENT_DISCORD_BACKEND`.
    fn name(&self) -> &'static str;

    /// What the card says about it, where it must say something (the fake one must).
    fn label(&self) -> Option<&'static str>;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// How its runs are priced when it reports no cost: `Free` or `Unknown`.
    fn basis(&self) -> Basis;

    /// Gets ready: the warden stands, nothing runs yet.
    async fn prepare(&self, request: Request) -> Result<Box<dyn Prepared>, ComputeError>;
}

/// Ready to start. Dropped, nothing ran.
#[async_trait]
pub trait Prepared: Send {
    /// The warden, to be recorded before [`Prepared::go`].
    fn warden(&self) -> ProcessId;

    /// Starts.
    async fn go(self: Box<Self>) -> Result<Job, ComputeError>;
}

/// Work in progress.
pub struct Job {
    /// What it tells, bounded; the last is [`Event::Ended`].
    pub events: mpsc::Receiver<Event>,
    /// What can be told to it.
    pub handle: Box<dyn Handle>,
}

/// What can be told to a running job.
#[async_trait]
pub trait Handle: Send + Sync {
    /// Asks for the end of the whole tree; [`Event::Ended`] tells when it is reached.
    fn cancel(&self);

    /// Gives it more text. An error where the backend does not steer.
    async fn steer(&self, text: &str) -> Result<(), ComputeError>;

    /// Answers a permission. An error where the backend does not ask.
    async fn answer(&self, permission: &str, yes: bool) -> Result<(), ComputeError>;
}

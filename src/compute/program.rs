//! A backend's turn as one program under a warden: what `command` and `fake` have in common.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::reading::{Stderr, Stdout};
use super::{ComputeError, Ending, Event, Handle, Job, Outcome, Prepared, Request};
use crate::base::{redact, text};
use crate::exec::nursery::Nursery;
use crate::exec::{self, Exec, Exit, Kill, Output, ProcessId, Spec};

/// Events in flight. A reader that is slower holds the program back.
const IN_FLIGHT: usize = 64;

/// Code points of stderr's last line in a failure.
const MAX_REASON: usize = 300;

/// Folder whose files become artifacts.
pub const ARTIFACTS: &str = "DISCORD_OS_ARTIFACTS";
/// Id of the run.
pub const RUN_ID: &str = "DISCORD_OS_RUN_ID";
/// `question`, `work` or `unsure`.
pub const MODE: &str = "DISCORD_OS_MODE";

/// Runs programs as turns of work.
pub struct Programs {
    exec: Arc<dyn Exec>,
    nursery: Nursery,
}

/// One program.
pub struct Program {
    /// What people call it.
    pub title: String,
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Its environment besides what the contract adds.
    pub env: Vec<(OsString, OsString)>,
}

impl Programs {
    /// Programs that `exec` starts.
    pub fn new(exec: Arc<dyn Exec>) -> Self {
        Self { exec, nursery: Nursery::default() }
    }

    /// Gets a program ready for a request: the prompt and a newline will be on its stdin.
    pub async fn prepare(&self, program: Program, request: Request) -> Result<Box<dyn Prepared>, ComputeError> {
        if !request.cwd.is_dir() {
            let folder = request.cwd.display();
            return Err(ComputeError(format!("The folder {folder} does not exist. Set one that does.")));
        }
        std::fs::create_dir_all(&request.artifacts).map_err(|error| {
            ComputeError(format!("The folder for artifacts could not be made: {error}. Check the workspace."))
        })?;
        let mut env = program.env;
        env.push((ARTIFACTS.into(), request.artifacts.into()));
        env.push((RUN_ID.into(), request.run.as_str().into()));
        env.push((MODE.into(), request.mode.as_str().into()));
        let spec = Spec {
            argv: program.argv,
            env,
            cwd: request.cwd,
            stdin: format!("{}\n", request.prompt).into_bytes(),
            mark: request.mark,
            deadline: request.deadline,
        };
        let prepared = self.exec.prepare(spec).await.map_err(|error| ComputeError(error.0))?;
        let (nursery, deadline) = (self.nursery.clone(), request.deadline);
        Ok(Box::new(Ready { prepared, title: program.title, deadline, nursery }))
    }
}

struct Ready {
    prepared: Box<dyn exec::Prepared>,
    title: String,
    deadline: Duration,
    nursery: Nursery,
}

#[async_trait]
impl Prepared for Ready {
    fn warden(&self) -> ProcessId {
        self.prepared.warden()
    }

    async fn go(self: Box<Self>) -> Result<Job, ComputeError> {
        let Self { prepared, title, deadline, nursery } = *self;
        let child = prepared.go().await.map_err(|error| ComputeError(error.0))?;
        let (tell, events) = mpsc::channel(IN_FLIGHT);
        let cancelled = Arc::new(AtomicBool::new(false));
        let handle = Running { kill: child.kill.clone(), cancelled: cancelled.clone(), title: title.clone() };
        nursery.start(async move {
            let ending = follow(child.output, &tell, &child.kill).await;
            let ended = ending.conclude(&title, deadline, cancelled.load(Ordering::SeqCst));
            // A reader that is gone wants no answer.
            drop(tell.send(Event::Ended(ended)).await);
        });
        Ok(Job { events, handle: Box::new(handle) })
    }
}

/// All that is known when a program is over.
struct Over {
    exit: Exit,
    answer: String,
    reason: Option<String>,
}

async fn follow(mut output: mpsc::Receiver<Output>, tell: &mpsc::Sender<Event>, kill: &Kill) -> Over {
    let mut stdout = Stdout::default();
    let mut stderr = Stderr::default();
    // Without a last word nothing is known, and nothing proved.
    let mut exit = Exit { code: None, signal: None, late: false, ended: 0, gone: false };
    let mut abandoned = false;
    send(vec![Event::Started], tell).await;
    loop {
        let more = tokio::select! {
            more = output.recv() => more,
            () = tell.closed(), if !abandoned => {
                // Nobody listens any more, so the run has no purpose; its end is still waited for.
                abandoned = true;
                kill.now();
                continue;
            }
        };
        let Some(more) = more else { break };
        match more {
            Output::Out(bytes) => send(stdout.push(&bytes), tell).await,
            Output::Err(bytes) => stderr.push(&bytes),
            Output::Exited(last) => exit = last,
        }
    }
    send(stdout.finish(), tell).await;
    let reason = stderr.last_line().map(|line| text::cut(&redact::redact(&text::one_line(line)), MAX_REASON));
    Over { exit, answer: stdout.answer().to_owned(), reason }
}

async fn send(events: Vec<Event>, tell: &mpsc::Sender<Event>) {
    for event in events {
        // That nobody listens any more is noticed where the next output is waited for.
        drop(tell.send(event).await);
    }
}

impl Over {
    fn conclude(self, title: &str, deadline: Duration, cancelled: bool) -> Ending {
        let Self { exit, answer, reason } = self;
        let why = reason.map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
        let outcome = match (exit.code, exit.signal) {
            (Some(0), _) => Outcome::Done,
            (Some(code), _) => Outcome::Failed(format!("{title} exited with code {code}{why}.")),
            (None, _) if exit.late => {
                let span = text::span(deadline);
                Outcome::Failed(format!("{title} was ended at its deadline of {span}. Ask for less, or raise it."))
            }
            // A cancel that came after the end changes nothing; before it, the code is missing.
            (None, _) if cancelled => Outcome::Cancelled,
            (None, Some(signal)) => Outcome::Failed(format!("{title} was ended by {}{why}.", signal_name(signal))),
            (None, None) => Outcome::Failed(format!("{title} was lost together with its warden{why}.")),
        };
        Ending { outcome, summary: answer, ended: exit.ended, gone: exit.gone }
    }
}

fn signal_name(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => format!("signal {number} ({})", signal.as_str()),
        Err(_) => format!("signal {number}"),
    }
}

struct Running {
    kill: Kill,
    cancelled: Arc<AtomicBool>,
    title: String,
}

#[async_trait]
impl Handle for Running {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.kill.now();
    }

    async fn steer(&self, _text: &str) -> Result<(), ComputeError> {
        let title = &self.title;
        Err(ComputeError(format!("{title} takes no text while it works. Wait for its end, then ask again.")))
    }

    async fn answer(&self, _permission: &str, _yes: bool) -> Result<(), ComputeError> {
        Err(ComputeError(format!("{} asks for no permission, so there is nothing to answer.", self.title)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(exit: Exit, reason: Option<&str>, cancelled: bool) -> Outcome {
        let over = Over { exit, answer: String::new(), reason: reason.map(str::to_owned) };
        over.conclude("`agent`", Duration::from_secs(90), cancelled).outcome
    }

    #[test]
    fn every_end_has_its_sentence() {
        let well = Exit { code: Some(0), signal: None, late: false, ended: 0, gone: true };
        let cases = [
            (well, None, false, Outcome::Done),
            // It ended well before the cancel reached it.
            (well, None, true, Outcome::Done),
            (
                Exit { code: Some(3), ..well },
                Some("no such file."),
                false,
                Outcome::Failed("`agent` exited with code 3: no such file.".into()),
            ),
            (Exit { code: Some(3), ..well }, None, true, Outcome::Failed("`agent` exited with code 3.".into())),
            (
                Exit { code: None, signal: Some(9), ..well },
                None,
                false,
                Outcome::Failed("`agent` was ended by signal 9 (SIGKILL).".into()),
            ),
            (Exit { code: None, signal: Some(15), ..well }, None, true, Outcome::Cancelled),
            (
                Exit { code: None, signal: Some(15), late: true, ..well },
                None,
                true,
                Outcome::Failed("`agent` was ended at its deadline of 1 min 30 s. Ask for less, or raise it.".into()),
            ),
            (
                Exit { code: None, signal: None, gone: false, ..well },
                None,
                false,
                Outcome::Failed("`agent` was lost together with its warden.".into()),
            ),
        ];
        for (exit, reason, cancelled, wanted) in cases {
            assert_eq!(outcome(exit, reason, cancelled), wanted);
        }
    }
}

//! A deterministic backend for tests and first steps. Says so on its card.
//!
//! It runs a real process under a real warden (`discord-os fake-agent`, hidden), so that all but the
//! work is as it is with a real agent. What a prompt can order is listed in [`super::fake_agent`].

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::program::{Program, Programs};
use super::{Backend, Capabilities, ComputeError, Prepared, Request};
use crate::exec::{Exec, wardens};
use crate::model::receipt::Basis;

/// What the card says.
pub const LABEL: &str = "Fake backend: no real work is done.";

/// Where the agent's own helpers (`sh`, `sleep`, `setsid`) are on every Linux.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The fake backend.
pub struct Fake {
    programs: Programs,
    program: PathBuf,
}

impl Fake {
    /// A fake whose agent is this very program.
    pub fn new(exec: Arc<dyn Exec>) -> Self {
        Self::of(exec, wardens::OWN_PROGRAM)
    }

    /// A fake whose agent is another program that knows `fake-agent`.
    pub fn of(exec: Arc<dyn Exec>, program: impl Into<PathBuf>) -> Self {
        Self { programs: Programs::new(exec), program: program.into() }
    }
}

#[async_trait]
impl Backend for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn label(&self) -> Option<&'static str> {
        Some(LABEL)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { streams: true, ..Capabilities::default() }
    }

    fn basis(&self) -> Basis {
        Basis::Free
    }

    async fn prepare(&self, request: Request) -> Result<Box<dyn Prepared>, ComputeError> {
        let program = Program {
            title: "The fake agent".into(),
            argv: vec![self.program.clone().into_os_string(), OsString::from("fake-agent")],
            env: vec![("PATH".into(), PATH.into())],
        };
        self.programs.prepare(program, request).await
    }
}

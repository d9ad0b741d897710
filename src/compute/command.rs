//! Any program as a backend: prompt on stdin, text on stdout, files in a folder (DESIGN 6).
//!
//! The contract with the program:
//! - stdin: the prompt, a newline, end of file. It may be left unread.
//! - stdout: the answer, as UTF-8 (anything else is replaced). A line that begins with `::step ` is
//!   a step for the card and no part of the answer.
//! - stderr: its last line explains a failure.
//! - exit code 0 is success, anything else failure.
//! - `$DISCORD_OS_ARTIFACTS` is an empty folder; the files in it at the end become artifacts.
//! - `$DISCORD_OS_RUN_ID` and `$DISCORD_OS_MODE` (`question`, `work`, `unsure`) say what it is for.
//! - Of the host's environment it sees [`PASSED`] and `LC_*`; the bot token and keys never (I-11).
//! - TERM is followed by KILL after two seconds, for it and for all that it started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;

use super::program::{Program, Programs};
use super::{Backend, Capabilities, ComputeError, Prepared, Request};
use crate::exec::Exec;
use crate::exec::wardens::OWN_PROGRAM;
use crate::model::receipt::Basis;
use crate::model::settings::CommandCost;

/// Variables of the host that a program sees, where they are set, besides `LC_*`.
pub const PASSED: [&str; 10] = ["HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ", "TERM", "TMPDIR", "NO_COLOR"];

/// What stands on cards for our own agent, so that nobody takes it for a model.
const DEMO: &str = "demo agent (a real program that reads and counts; no model)";

/// A backend made of a command line.
pub struct Command {
    programs: Programs,
    words: Vec<String>,
    env: Vec<(OsString, OsString)>,
    cost: CommandCost,
}

impl Command {
    /// A backend that runs `words`. Of `env`, the host's environment, only what may be passed is kept.
    pub fn new(
        exec: Arc<dyn Exec>,
        words: Vec<String>,
        env: impl IntoIterator<Item = (OsString, OsString)>,
        cost: CommandCost,
    ) -> Self {
        let env = env.into_iter().filter(|(name, _)| may_pass(name)).collect();
        Self { programs: Programs::new(exec), words, env, cost }
    }

    fn find(&self, request: &Request) -> Result<PathBuf, ComputeError> {
        let Some(word) = self.words.first() else {
            return Err(ComputeError("No command is set. Set DISCORD_OS_COMMAND to the program to run.".into()));
        };
        let path = self.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        which::which_in(word, path, &request.cwd).map_err(|_| {
            ComputeError(format!("The program `{word}` was not found. Check DISCORD_OS_COMMAND and PATH."))
        })
    }
}

/// Whether a variable of the host may reach a program.
fn may_pass(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

#[async_trait]
impl Backend for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn label(&self) -> Option<&'static str> {
        let own = self.words.first().is_some_and(|word| word == OWN_PROGRAM);
        (own && self.words.get(1).is_some_and(|word| word == "demo-agent")).then_some(DEMO)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { streams: true, ..Capabilities::default() }
    }

    fn basis(&self) -> Basis {
        match self.cost {
            CommandCost::Free => Basis::Free,
            CommandCost::Unknown => Basis::Unknown,
        }
    }

    async fn prepare(&self, request: Request) -> Result<Box<dyn Prepared>, ComputeError> {
        let found = self.find(&request)?;
        let title = found.file_name().unwrap_or(found.as_os_str()).to_string_lossy().into_owned();
        let mut argv = vec![found.into_os_string()];
        argv.extend(self.words.iter().skip(1).map(OsString::from));
        let program = Program { title: format!("`{title}`"), argv, env: self.env.clone() };
        self.programs.prepare(program, request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_agent_is_called_the_demo() {
        let label = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let exec = Arc::new(crate::exec::wardens::Wardens::new());
            Command::new(exec, words, [], CommandCost::Free).label()
        };
        assert_eq!(label(&[OWN_PROGRAM, "demo-agent"]), Some(DEMO));
        for words in [&["demo-agent"][..], &["sh", "demo-agent"], &[OWN_PROGRAM], &[]] {
            assert_eq!(label(words), None, "{words:?}");
        }
    }

    #[test]
    fn i_11_only_listed_variables_pass() {
        for name in ["PATH", "HOME", "LC_ALL", "NO_COLOR"] {
            assert!(may_pass(OsStr::new(name)), "{name}");
        }
        for name in ["DISCORD_BOT_TOKEN", "OPENROUTER_API_KEY", "DISCORD_OS_RUN", "PATHS", "LD_PRELOAD", "LC", ""] {
            assert!(!may_pass(OsStr::new(name)), "{name}");
        }
    }
}

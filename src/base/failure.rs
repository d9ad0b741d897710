//! What a person is told when something went wrong: one sentence, then what to do next.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kind of failure; decides the exit code (documented in docs/cli.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The work was tried and failed.
    Failed,
    /// Wrong usage or settings.
    Usage,
    /// Policy said no.
    Refused,
    /// No such thing.
    NotFound,
    /// Bytes are not what they should be.
    Integrity,
    /// Discord could not be reached, or refused.
    Discord,
    /// Another process already does this.
    AlreadyRunning,
}

impl Kind {
    /// Exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotFound => 4,
            Self::Integrity => 5,
            Self::Discord => 6,
            Self::AlreadyRunning => 7,
        }
    }
}

/// An error as people see it. Both texts are sentences that end with a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind, which decides the exit code.
    pub kind: Kind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The work failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// Wrong usage or settings.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Refused by policy.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message)
    }

    /// No such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Results that may be dropped on purpose, with the reason said in the log.
pub trait LogAndGoOn<T> {
    /// Logs an error under `what` and goes on without it.
    fn log_and_go_on(self, what: &str) -> Option<T>;
}

impl<T, E: fmt::Display> LogAndGoOn<T> for Result<T, E> {
    fn log_and_go_on(self, what: &str) -> Option<T> {
        match self {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!("{what}: {}", super::redact::redact(&error.to_string()));
                None
            }
        }
    }
}

//! What can go wrong with the ledger.

use crate::base::failure::{Failure, Kind};
use crate::model::run::Illegal;

/// An error of a read or write.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// SQLite refused.
    #[error("the ledger refused: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A row holds something that no version of this program wrote.
    #[error("the ledger holds a value that cannot be: {0}")]
    Corrupt(String),
    /// A state change that does not exist (I-6).
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// A closure panicked; its changes are rolled back.
    #[error("a step of the ledger failed unexpectedly: {0}")]
    Panicked(String),
    /// A group of writes could not be committed; none of it is there.
    #[error("the ledger could not be written: {0}")]
    Commit(String),
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

impl LedgerError {
    /// Whether the same write would fail in the same way each time. Others may work later: the file was busy, the disk
    /// was full.
    pub fn comes_again(&self) -> bool {
        use rusqlite::ErrorCode as E;
        match self {
            Self::Corrupt(_) | Self::Illegal(_) | Self::Panicked(_) => true,
            Self::Sql(rusqlite::Error::SqliteFailure(e, _)) => {
                matches!(e.code, E::ConstraintViolation | E::TypeMismatch | E::TooBig | E::ParameterOutOfRange)
            }
            Self::Sql(_) => true,
            Self::Commit(_) | Self::Closed => false,
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let kind = if matches!(error, LedgerError::Corrupt(_)) { Kind::Integrity } else { Kind::Failed };
        let failure = Failure::new(kind, format!("{}.", first_upper(&error.to_string())));
        failure.hint("Check that the disk has room and that the workspace is yours, then try again.")
    }
}

fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

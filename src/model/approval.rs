//! An approval: a person's yes to one action of one run, given once (I-7).

use serde::{Deserialize, Serialize};

use crate::base::hash::Sha256;
use crate::base::ids::RunId;

/// State of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody decided yet.
    Pending,
    /// Yes.
    Approved,
    /// No.
    Denied,
    /// The run ended before anybody decided.
    Lapsed,
}

impl ApprovalState {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Lapsed => "lapsed",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pending, Self::Approved, Self::Denied, Self::Lapsed].into_iter().find(|s| s.as_str() == text)
    }
}

/// Digest of what is approved: another prompt, folder or backend is another action.
pub fn digest(run: &RunId, action: &str) -> Sha256 {
    Sha256::of(format!("approval 1\n{run}\n{action}"))
}

//! What remains of a run: counted, priced, linked. The same values go to the card, the receipt and JSON.

use serde::{Deserialize, Serialize};

use super::object::ObjectJson;
use super::run::RunState;
use crate::base::ids::{RunId, TaskCode, TaskId};
use crate::base::{split, text};

/// Messages that a long answer may take before its receipt; what needs more becomes a file (DESIGN 5).
pub const PARTS: usize = 4;

/// Code points of such a message: Discord's 2,000 less room for the mark of an outbox row.
pub const PART: usize = 1_960;

/// The messages that an answer takes. Nobody is pinged by them.
pub fn parts(answer: &str) -> Vec<String> {
    split::split(&text::unpinging(answer), PART)
}

/// How an amount of money is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counted by the provider or the meter.
    Exact,
    /// Priced by table from counted tokens.
    Estimated,
    /// Not known: the configured worst case is counted (I-8).
    Unknown,
    /// Declared free by the settings.
    Free,
}

impl Basis {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
            Self::Free => "free",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Exact, Self::Estimated, Self::Unknown, Self::Free].into_iter().find(|b| b.as_str() == text)
    }
}

/// Tokens and model of a run, as far as the backend told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Model, in the provider's words.
    pub model: Option<String>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
}

/// Money of a run as JSON shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoneyJson {
    /// US dollars.
    pub amount_usd: f64,
    /// How it is known.
    pub basis: Basis,
}

/// A run as JSON shows it (docs/json.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunJson {
    /// Task.
    pub task_id: TaskId,
    /// Run.
    pub run_id: RunId,
    /// Code that people see.
    pub code: TaskCode,
    /// State.
    pub status: RunState,
    /// What the backend said at the end.
    pub summary: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Tokens and model.
    pub usage: Usage,
    /// Money.
    pub money: MoneyJson,
    /// What it made.
    pub artifacts: Vec<ObjectJson>,
    /// Opens its card in Discord, once there is one.
    pub jump_url: Option<String>,
}

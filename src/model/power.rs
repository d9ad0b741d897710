//! Power of the host: Off, On, or asked to confirm Off; and the Halt latch beside it.

use serde::{Deserialize, Serialize};

/// Whether work is accepted. Belongs to the host, not to a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// No work starts; buttons still answer.
    Off,
    /// Work is accepted.
    On,
}

impl Power {
    /// As the ledger stores it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }

    /// From what the ledger stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Off, Self::On].into_iter().find(|p| p.as_str() == text)
    }

    /// Power at a start of the host: kept within one boot of the machine, Off after a new one.
    pub fn at_start(self, same_boot: bool) -> Self {
        if same_boot { self } else { Self::Off }
    }
}

//! Frames of the gateway: read from Discord's text, and written as Discord wants them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Intents;
use crate::base::secret::Secret;

/// Operating system, as IDENTIFY wants it.
const OS: &str = if cfg!(target_os = "macos") {
    "macos"
} else if cfg!(windows) {
    "windows"
} else {
    "linux"
};

/// Name under which we identify.
const NAME: &str = "discord-os";

/// One frame from Discord.
#[derive(Debug, Deserialize)]
pub struct Frame {
    /// Opcode.
    pub op: u64,
    /// Data.
    #[serde(default)]
    pub d: Value,
    /// Sequence number of an event.
    #[serde(default)]
    pub s: Option<u64>,
    /// Name of an event.
    #[serde(default)]
    pub t: Option<String>,
}

/// Reads a frame; `None` for a text that is none.
pub fn read(text: &str) -> Option<Frame> {
    serde_json::from_str(text).ok()
}

/// A heartbeat with the last sequence number that was heard.
pub fn heartbeat(seq: Option<u64>) -> Secret {
    Secret::new(json!({"op": 1, "d": seq}).to_string())
}

/// Begins a session.
pub fn identify(token: &Secret, intents: Intents) -> Secret {
    let properties = json!({"os": OS, "browser": NAME, "device": NAME});
    let d = json!({"token": token.expose(), "intents": intents.0, "properties": properties});
    Secret::new(json!({"op": 2, "d": d}).to_string())
}

/// Goes on with a session after `seq`.
pub fn resume(token: &Secret, session_id: &str, seq: u64) -> Secret {
    let d = json!({"token": token.expose(), "session_id": session_id, "seq": seq});
    Secret::new(json!({"op": 6, "d": d}).to_string())
}

//! What was asked of the simulator: a log, the violations, and counters for tests to end on.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::base::clock::Millis;

/// Log lines kept: enough for the longest test, small enough for a demo that runs for days.
const LOG: usize = 20_000;
/// Violations kept: the first ones tell the cause.
const VIOLATIONS: usize = 1000;

/// Kind of log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// An HTTP request.
    Request,
    /// A gateway frame from a client.
    FrameIn,
    /// A gateway frame to a client.
    FrameOut,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number, counted from 1.
    pub n: u64,
    /// When, in ms.
    pub at_ms: i64,
    /// Kind.
    pub kind: Line,
    /// HTTP method, or `op N`.
    pub method: String,
    /// Path, or the event's name.
    pub path: String,
    /// HTTP status; 0 for frames and for requests that were never answered.
    pub status: u16,
    /// Who asked: the bot's id, where it was proved.
    pub bot: Option<String>,
    /// A few words.
    pub summary: String,
}

/// Something that must not have been sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// When, in ms.
    pub at_ms: i64,
    /// What: a sentence.
    pub what: String,
    /// HTTP method.
    pub method: String,
    /// Path.
    pub path: String,
}

/// Counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// IDENTIFYs that made a session.
    pub identifies: u64,
    /// RESUMEs that found theirs.
    pub resumes: u64,
    /// Gateway connections opened.
    pub connections: u64,
    /// REST requests.
    pub requests: u64,
    /// Answers with 401.
    pub status_401: u64,
    /// Answers with 403.
    pub status_403: u64,
    /// Answers with 429.
    pub status_429: u64,
    /// Messages that the bot made.
    pub messages_created: u64,
    /// Edits by the bot.
    pub edits: u64,
    /// Sends that an enforced nonce made the same message.
    pub nonce_hits: u64,
    /// Gateway sends over 120 in 60 s, or over 4096 bytes.
    pub gateway_sends_over_limit: u64,
}

/// All three.
#[derive(Debug, Default)]
pub struct Truth {
    log: VecDeque<Entry>,
    next: u64,
    /// Violations, first ones first.
    pub violations: Vec<Violation>,
    /// Counters.
    pub counters: Counters,
}

impl Truth {
    /// Adds a line; its number is set here.
    pub fn log(&mut self, mut entry: Entry) {
        self.next += 1;
        entry.n = self.next;
        match entry.status {
            401 => self.counters.status_401 += 1,
            403 => self.counters.status_403 += 1,
            429 => self.counters.status_429 += 1,
            _ => {}
        }
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back(entry);
    }

    /// Adds a frame.
    pub fn frame(&mut self, now: Millis, kind: Line, op: u64, name: &str) {
        self.log(Entry {
            n: 0,
            at_ms: now.0,
            kind,
            method: format!("op {op}"),
            path: name.to_owned(),
            status: 0,
            bot: None,
            summary: String::new(),
        });
    }

    /// Adds a violation.
    pub fn violation(&mut self, now: Millis, what: &str, method: &str, path: &str) {
        if self.violations.len() < VIOLATIONS {
            self.violations.push(Violation {
                at_ms: now.0,
                what: what.to_owned(),
                method: method.to_owned(),
                path: path.to_owned(),
            });
        }
    }

    /// Lines after number `since`, and the number to ask with next.
    pub fn since(&self, since: u64) -> (Vec<Entry>, u64) {
        (self.log.iter().filter(|e| e.n > since).cloned().collect(), self.next)
    }
}

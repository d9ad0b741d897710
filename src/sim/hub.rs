//! Gateway sessions and connections, without sockets: sequence numbers, replay, intents (discord/facts.md section 2).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::base::clock::Millis;

/// Intent: guilds, channels, threads.
pub const GUILDS: u64 = 1;
/// Intent: messages in guilds.
pub const GUILD_MESSAGES: u64 = 1 << 9;
/// Intent: reactions in guilds.
pub const GUILD_REACTIONS: u64 = 1 << 10;
/// Intent: typing in guilds.
pub const GUILD_TYPING: u64 = 1 << 11;
/// Intent: direct messages.
pub const DIRECT_MESSAGES: u64 = 1 << 12;
/// Intent: reactions in direct messages.
pub const DIRECT_REACTIONS: u64 = 1 << 13;
/// Intent: typing in direct messages.
pub const DIRECT_TYPING: u64 = 1 << 14;
/// Intent: what others wrote; privileged.
pub const MESSAGE_CONTENT: u64 = 1 << 15;
/// The other privileged intents: members and presences, which this application has not.
pub const PRIVILEGED: u64 = 1 << 1 | 1 << 8;
/// Every intent there is (facts.md 2.1).
pub const KNOWN: u64 = 0x1_FFFF | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25;

/// How long a session without a connection can be resumed, in ms ("a few minutes").
pub const SESSION_MS: i64 = 180_000;
/// Events kept for a replay; Discord bounds them by count too.
const REPLAY: usize = 2000;
/// IDENTIFYs a day.
pub const IDENTIFIES: usize = 1000;
/// Least time between IDENTIFYs, in ms (`max_concurrency` 1).
const IDENTIFY_MS: i64 = 5000;
/// Orders that wait for a connection: more than one order at a time is a test's doing.
const ORDERS: usize = 64;

/// What a connection is told to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Cut the connection without a close frame.
    Drop,
    /// Close with a code.
    Close(u16),
    /// Send a frame that is no dispatch.
    Send(Value),
}

/// A session.
#[derive(Debug)]
pub struct Session {
    /// What was asked for.
    pub intents: u64,
    /// Last sequence number given.
    pub seq: u64,
    events: VecDeque<(u64, Arc<str>)>,
    /// Connection that it has.
    pub conn: Option<u64>,
    lost: Option<Millis>,
}

#[derive(Debug)]
struct Conn {
    orders: mpsc::Sender<Order>,
    bell: Arc<Notify>,
    session: Option<String>,
}

/// What a new connection holds.
#[derive(Debug)]
pub struct Joined {
    /// Its number.
    pub id: u64,
    /// Orders for it.
    pub orders: mpsc::Receiver<Order>,
    /// Rings when there are events.
    pub bell: Arc<Notify>,
}

/// An event on its way to the sessions.
#[derive(Debug)]
pub struct Dispatch {
    /// Name.
    pub name: &'static str,
    /// Intent it needs, or 0.
    pub intent: u64,
    /// Body.
    pub data: Value,
    /// Body for sessions without the Message Content Intent, where it differs.
    pub blank: Option<Value>,
}

/// All sessions and connections.
#[derive(Debug, Default)]
pub struct Hub {
    sessions: BTreeMap<String, Session>,
    conns: BTreeMap<u64, Conn>,
    connected: u64,
    identifies: VecDeque<Millis>,
    /// Until then heartbeats are acknowledged and no event is given to any session: they are lost.
    pub deaf_until: Millis,
    /// Until then connections say nothing at all.
    pub silent_until: Millis,
}

impl Hub {
    /// A new connection.
    pub fn join(&mut self) -> Joined {
        self.connected += 1;
        let (sender, orders) = mpsc::channel(ORDERS);
        let bell = Arc::new(Notify::new());
        let conn = Conn { orders: sender, bell: bell.clone(), session: None };
        self.conns.insert(self.connected, conn);
        Joined { id: self.connected, orders, bell }
    }

    /// A connection is gone. `ends` is whether its session ends with it (client closed with 1000 or 1001).
    pub fn leave(&mut self, conn: u64, ends: bool, now: Millis) {
        let Some(gone) = self.conns.remove(&conn) else { return };
        let Some(id) = gone.session else { return };
        if let Some(session) = self.sessions.get_mut(&id)
            && session.conn == Some(conn)
        {
            session.conn = None;
            session.lost = Some(now);
            if ends {
                self.sessions.remove(&id);
            }
        }
    }

    /// IDENTIFYs left today.
    pub fn remaining(&mut self, now: Millis) -> usize {
        self.identifies.retain(|at| now.0 - at.0 < 86_400_000);
        IDENTIFIES.saturating_sub(self.identifies.len())
    }

    /// Whether an IDENTIFY may be taken now; counts it if so.
    pub fn may_identify(&mut self, now: Millis) -> bool {
        let soon = self.identifies.back().is_some_and(|at| now.0 - at.0 < IDENTIFY_MS);
        if soon || self.remaining(now) == 0 {
            return false;
        }
        self.identifies.push_back(now);
        true
    }

    /// A new session for a connection.
    pub fn identify(&mut self, conn: u64, id: String, intents: u64) {
        let session = Session { intents, seq: 0, events: VecDeque::new(), conn: Some(conn), lost: None };
        self.sessions.insert(id.clone(), session);
        if let Some(conn) = self.conns.get_mut(&conn) {
            conn.session = Some(id);
        }
    }

    /// Gives an old session to a connection; its older connection is closed. The error is what to answer.
    pub fn resume(&mut self, conn: u64, id: &str, seq: u64) -> Result<(), Order> {
        let invalid = Order::Send(json!({"op": 9, "d": false, "s": null, "t": null}));
        let session = self.sessions.get_mut(id).ok_or(invalid.clone())?;
        if seq > session.seq {
            return Err(Order::Close(4007));
        }
        let oldest = session.events.front().map_or(session.seq + 1, |(n, _)| *n);
        if seq + 1 < oldest {
            return Err(invalid);
        }
        let older = session.conn.replace(conn);
        session.lost = None;
        if let Some(older) = older.and_then(|c| self.conns.get_mut(&c)) {
            older.session = None;
            drop(older.orders.try_send(Order::Close(4000)));
        }
        if let Some(conn) = self.conns.get_mut(&conn) {
            conn.session = Some(id.to_owned());
        }
        Ok(())
    }

    /// An event for one session, such as READY.
    pub fn tell(&mut self, id: &str, name: &str, data: &Value) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.seq += 1;
        let frame = json!({"op": 0, "t": name, "s": session.seq, "d": data}).to_string();
        session.events.push_back((session.seq, frame.into()));
        if session.events.len() > REPLAY {
            session.events.pop_front();
        }
        if let Some(conn) = session.conn.and_then(|c| self.conns.get(&c)) {
            conn.bell.notify_one();
        }
    }

    /// An event for all sessions that asked for it.
    pub fn dispatch(&mut self, event: Dispatch, now: Millis) {
        if now < self.deaf_until {
            return;
        }
        let takers: Vec<(String, u64)> = self.sessions.iter().map(|(id, s)| (id.clone(), s.intents)).collect();
        for (id, intents) in takers {
            if event.intent != 0 && intents & event.intent == 0 {
                continue;
            }
            let blank = event.blank.as_ref().filter(|_| intents & MESSAGE_CONTENT == 0);
            self.tell(&id, event.name, blank.unwrap_or(&event.data));
        }
    }

    /// Frames of a connection's session after `seq`, with their numbers.
    pub fn after(&self, conn: u64, seq: u64) -> Vec<(u64, Arc<str>)> {
        let session = self.conns.get(&conn).and_then(|c| c.session.as_ref()).and_then(|id| self.sessions.get(id));
        session.map_or_else(Vec::new, |s| s.events.iter().filter(|(n, _)| *n > seq).cloned().collect())
    }

    /// Gives an order to every connection; how many took it.
    pub fn order(&mut self, order: &Order) -> usize {
        self.conns.values().filter(|c| c.orders.try_send(order.clone()).is_ok()).count()
    }

    /// Ends all sessions, so that no resume finds one.
    pub fn forget(&mut self) -> usize {
        let count = self.sessions.len();
        self.sessions.clear();
        for conn in self.conns.values_mut() {
            conn.session = None;
        }
        count
    }

    /// Forgets sessions that were without a connection for too long.
    pub fn sweep(&mut self, now: Millis) {
        self.sessions.retain(|_, s| s.lost.is_none_or(|at| now.0 - at.0 < SESSION_MS));
    }

    /// Whether the bot is shown online.
    pub fn online(&self) -> bool {
        self.conns.values().any(|c| c.session.is_some())
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.conns.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(hub: &mut Hub) {
        let data = json!({"content": "x"});
        let blank = Some(json!({"content": ""}));
        hub.dispatch(Dispatch { name: "MESSAGE_CREATE", intent: GUILD_MESSAGES, data, blank }, Millis(1));
    }

    #[test]
    fn resume_replays_what_was_missed() {
        let mut hub = Hub::default();
        let first = hub.join();
        hub.identify(first.id, "s".into(), GUILD_MESSAGES);
        message(&mut hub);
        hub.leave(first.id, false, Millis(10));
        message(&mut hub);
        let second = hub.join();
        assert_eq!(hub.resume(second.id, "s", 1), Ok(()));
        let missed = hub.after(second.id, 1);
        assert_eq!(missed.len(), 1);
        assert_eq!(missed[0].0, 2);
        assert!(missed[0].1.contains("\"content\":\"\""), "the intent is off");
        assert_eq!(hub.resume(second.id, "s", 9), Err(Order::Close(4007)));
        assert!(matches!(hub.resume(second.id, "t", 0), Err(Order::Send(_))));
    }

    #[test]
    fn a_clean_close_ends_the_session_and_time_does() {
        let mut hub = Hub::default();
        let conn = hub.join();
        hub.identify(conn.id, "s".into(), 0);
        hub.leave(conn.id, true, Millis(0));
        let conn = hub.join();
        assert!(hub.resume(conn.id, "s", 0).is_err());
        hub.identify(conn.id, "t".into(), 0);
        hub.leave(conn.id, false, Millis(0));
        hub.sweep(Millis(SESSION_MS - 1));
        let conn = hub.join();
        assert!(hub.resume(conn.id, "t", 0).is_ok());
        hub.leave(conn.id, false, Millis(0));
        hub.sweep(Millis(SESSION_MS));
        assert!(hub.resume(conn.id, "t", 0).is_err());
    }

    #[test]
    fn identify_is_spaced_and_counted() {
        let mut hub = Hub::default();
        assert!(hub.may_identify(Millis(0)));
        assert!(!hub.may_identify(Millis(4999)));
        assert!(hub.may_identify(Millis(5000)));
        assert_eq!(hub.remaining(Millis(5000)), IDENTIFIES - 2);
    }

    #[test]
    fn a_deaf_session_loses_events_without_a_gap_in_numbers() {
        let mut hub = Hub { deaf_until: Millis(5), ..Hub::default() };
        let conn = hub.join();
        hub.identify(conn.id, "s".into(), GUILD_MESSAGES);
        message(&mut hub);
        assert!(hub.after(conn.id, 0).is_empty());
        hub.deaf_until = Millis(0);
        message(&mut hub);
        assert_eq!(hub.after(conn.id, 0)[0].0, 1);
    }
}

//! The gateway's rules as a state machine: what happened goes in, what to do comes out. No socket, no clock.
//!
//! The pump carries out what comes out, in order, and calls [`Shard::step`] with [`In::Tick`] when [`Shard::due`] says.
//! Facts: discord/facts.md section 2.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::close::{self, Next};
use super::frames::{self, Frame};
use super::limit::Sends;
use super::timing::Timing;
use super::{Budget, Intents, Saved, address};
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::secret::Secret;

/// Resumes in a row that may fail before the session counts as broken (discord/facts.md section 2).
const MAX_FAILED_RESUMES: u32 = 3;

/// Connections in a row that may fail at the session's own address before the main one is tried instead: that host
/// may have been taken away, and RESUME is heard at the main address too.
const MAX_UNREACHED: u32 = 3;

/// Least heartbeat interval that is followed: a HELLO of 0 must not become a hot loop.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// Greatest heartbeat interval that is followed: a broken connection must be noticed within minutes.
const MAX_INTERVAL: Duration = Duration::from_secs(120);

/// What happened.
#[derive(Debug)]
pub enum In {
    /// Time has passed.
    Tick,
    /// The connection is open.
    Opened,
    /// The connection could not be opened.
    Unreached {
        /// Why: a sentence.
        why: String,
        /// Wait that Discord asked for.
        after: Option<Duration>,
    },
    /// A text frame came.
    Frame(String),
    /// Something came that cannot be a frame.
    Garbled,
    /// The other side closed, or the connection broke (`None`).
    Closed(Option<u16>),
    /// Answer to [`Out::AskIdentify`].
    Budget(Budget),
    /// [`Out::AskIdentify`] could not be answered: a sentence.
    NotCounted(String),
    /// What was heard could not be taken, and all that waited behind it was dropped.
    NotTaken {
        /// Last event that was taken: its session and sequence number.
        taken: Option<(String, u64)>,
        /// Why: a sentence.
        why: String,
    },
    /// Whether so much waits to be taken that frames are left unread for now.
    Full(bool),
    /// REST said that going on makes no sense.
    Refused(Failure),
    /// Stop, and leave the session resumable.
    Stop,
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Where `GET /gateway/bot` says.
    Main,
    /// Where the session is to be resumed.
    At(String),
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Out {
    /// Open a connection.
    Connect(Place),
    /// Send a text frame. It may hold the token.
    Send(Secret),
    /// Close the connection with this code and forget it.
    Close(u16),
    /// Ask the ears whether an IDENTIFY may be sent.
    AskIdentify,
    /// Keep this session, or forget the kept one.
    Keep(Option<Saved>),
    /// Hand an event over.
    Deliver {
        /// Its session.
        session_id: String,
        /// Its sequence number.
        seq: u64,
        /// Its name.
        name: String,
        /// Its data.
        data: Value,
    },
    /// Tell that a connection is tried, and how many failed before.
    Connecting(u32),
    /// Tell that the connection lives.
    Up,
    /// Tell why it does not.
    Lost(String),
    /// The end, on request.
    Stopped,
    /// The end, until a person has done something.
    Fatal(Failure),
}

#[derive(Debug)]
enum Phase {
    Resting { until: Duration },
    Opening,
    Greeting { until: Duration },
    Asking,
    Holding { until: Duration },
    Identifying { until: Duration },
    Resuming { until: Duration },
    Live { since: Duration },
    Ended,
}

#[derive(Debug)]
struct Session {
    id: String,
    url: String,
    /// Last sequence number that was heard; the pump keeps what was heard and not yet taken.
    seq: u64,
}

#[derive(Debug)]
struct Beat {
    interval: Duration,
    next: Duration,
    acked: bool,
}

/// Failures in a row, each forgotten by its own success.
#[derive(Debug, Default)]
struct Failures {
    /// Connections that did not last; decides the wait before the next.
    connections: u32,
    /// RESUMEs that were not answered by RESUMED.
    resumes: u32,
    /// Connections that never came to HELLO.
    unreached: u32,
}

/// A connection that is given up.
struct Loss {
    why: String,
    resume: bool,
    at_least: Duration,
    closed_already: bool,
}

impl Loss {
    fn resume(why: impl Into<String>) -> Self {
        Self { why: why.into(), resume: true, at_least: Duration::ZERO, closed_already: false }
    }

    fn identify(why: impl Into<String>) -> Self {
        Self { resume: false, ..Self::resume(why) }
    }

    fn not_before(self, at_least: Duration) -> Self {
        Self { at_least, ..self }
    }

    fn closed(self) -> Self {
        Self { closed_already: true, ..self }
    }
}

/// What a shard is made of.
#[derive(Debug)]
pub struct ShardConfig {
    /// Bot token, without `Bot `.
    pub token: Secret,
    /// What a new session asks for.
    pub intents: Intents,
    /// Waits.
    pub timing: Timing,
    /// Jitter.
    pub entropy: Arc<Entropy>,
}

/// One connection to the gateway after the other.
#[derive(Debug)]
pub struct Shard {
    config: ShardConfig,
    phase: Phase,
    session: Option<Session>,
    beat: Option<Beat>,
    sends: Sends,
    failures: Failures,
    full: bool,
    outs: Vec<Out>,
}

impl Shard {
    /// A shard that will connect at its first tick, and resume `saved` unless that session began with other intents.
    pub fn new(config: ShardConfig, saved: Option<Saved>) -> Self {
        let fitting = saved.filter(|s| address::fits(s, config.intents));
        Self {
            session: fitting.map(|s| Session { id: s.session_id, url: s.resume_url, seq: s.seq }),
            config,
            phase: Phase::Resting { until: Duration::ZERO },
            beat: None,
            sends: Sends::default(),
            failures: Failures::default(),
            full: false,
            outs: Vec::new(),
        }
    }

    /// When the next [`In::Tick`] is wanted, in the time that `step` is told.
    pub fn due(&self) -> Option<Duration> {
        let phase = match self.phase {
            Phase::Resting { until } | Phase::Greeting { until } | Phase::Holding { until } => Some(until),
            Phase::Identifying { until } | Phase::Resuming { until } if !self.full => Some(until),
            _ => None,
        };
        let beat = self.beat.as_ref().map(|b| b.next);
        [phase, beat, self.sends.due()].into_iter().flatten().min()
    }

    /// Takes what happened at `now` (time that never goes back) and gives what to do, in order.
    pub fn step(&mut self, now: Duration, input: In) -> Vec<Out> {
        if !matches!(self.phase, Phase::Ended) {
            self.take(now, input);
            self.flush(now);
        }
        std::mem::take(&mut self.outs)
    }

    fn take(&mut self, now: Duration, input: In) {
        match input {
            In::Tick => self.tick(now),
            In::Opened => self.phase = Phase::Greeting { until: now + self.config.timing.hello },
            In::Unreached { why, after } => {
                self.lose(now, Loss::resume(why).closed().not_before(after.unwrap_or_default()));
            }
            In::Frame(text) => match frames::read(&text) {
                Some(frame) => self.frame(now, frame),
                None => self.garbled(now),
            },
            In::Garbled => self.garbled(now),
            In::Closed(code) => self.closed(now, code),
            In::Budget(budget) => self.budget(now, budget),
            In::NotCounted(why) => self.lose(now, Loss::resume(why)),
            In::NotTaken { taken, why } => self.not_taken(now, taken, why),
            In::Full(full) => self.set_full(now, full),
            In::Refused(failure) => self.end(Out::Fatal(failure)),
            In::Stop => self.end(Out::Stopped),
        }
    }

    fn tick(&mut self, now: Duration) {
        let timing = self.config.timing;
        match self.phase {
            Phase::Resting { until } if until <= now => self.connect(),
            Phase::Greeting { until } if until <= now => {
                self.lose(now, Loss::resume(late("HELLO", timing.hello)));
            }
            Phase::Holding { until } if until <= now => self.ask(),
            Phase::Identifying { until } if until <= now && !self.full => {
                self.lose(now, Loss::identify(late("READY", timing.ready)));
            }
            Phase::Resuming { until } if until <= now && !self.full => {
                self.lose(now, Loss::resume(late("RESUMED", timing.resumed)));
            }
            _ => {}
        }
        self.beat(now);
    }

    fn beat(&mut self, now: Duration) {
        let Some(beat) = self.beat.as_mut().filter(|b| b.next <= now) else { return };
        // While frames are left unread the ACK may be among them.
        if !beat.acked && !self.full {
            return self.lose(now, Loss::resume("Discord did not answer a heartbeat."));
        }
        beat.next = now + beat.interval;
        if self.sends.beat(now) {
            beat.acked = false;
            self.send_beat();
        }
    }

    fn frame(&mut self, now: Duration, frame: Frame) {
        if !self.is_open() {
            return;
        }
        match frame.op {
            0 => self.dispatch(now, frame),
            1 if self.sends.asked_beat(now) => self.send_beat(),
            7 => self.lose(now, Loss::resume("Discord asked for a new connection.")),
            9 => self.invalid_session(now, &frame.d),
            10 => self.hello(now, &frame.d),
            11 => self.acked(),
            // Opcodes that are not for us, and those that Discord may add.
            _ => {}
        }
    }

    fn hello(&mut self, now: Duration, data: &Value) {
        let Some(millis) = data.get("heartbeat_interval").and_then(Value::as_u64) else { return self.garbled(now) };
        let interval = Duration::from_millis(millis).clamp(MIN_INTERVAL, MAX_INTERVAL);
        let first = interval.mul_f64(self.config.entropy.fraction());
        self.beat = Some(Beat { interval, next: now + first, acked: true });
        if !matches!(self.phase, Phase::Greeting { .. }) {
            return;
        }
        self.failures.unreached = 0;
        match &self.session {
            Some(session) => {
                self.sends.push(frames::resume(&self.config.token, &session.id, session.seq));
                self.phase = Phase::Resuming { until: now + self.config.timing.resumed };
            }
            None => self.ask(),
        }
    }

    fn acked(&mut self) {
        if let Some(beat) = &mut self.beat {
            beat.acked = true;
            if matches!(self.phase, Phase::Live { .. }) {
                self.outs.push(Out::Up);
            }
        }
    }

    fn invalid_session(&mut self, now: Duration, data: &Value) {
        let wait = self.config.timing.refused(self.config.entropy.fraction());
        let loss = match data.as_bool() {
            Some(true) => Loss::resume("Discord asked to resume the session."),
            _ => Loss::identify("Discord no longer knows the session."),
        };
        self.lose(now, loss.not_before(wait));
    }

    fn dispatch(&mut self, now: Duration, frame: Frame) {
        let Frame { d: data, s: seq, t: Some(name), .. } = frame else { return self.garbled(now) };
        if name == "READY" && !self.ready(now, &data, seq) {
            return self.lose(now, Loss::identify("Discord sent a READY that cannot be understood."));
        }
        let Some(session) = &mut self.session else { return };
        // Never back: what is kept on disk is the event's number, and all below it counts as taken.
        session.seq = session.seq.max(seq.unwrap_or_default());
        let (session_id, seq) = (session.id.clone(), session.seq);
        match (&mut self.phase, name.as_str()) {
            (Phase::Resuming { .. }, "RESUMED") => {
                self.failures.resumes = 0;
                self.phase = Phase::Live { since: now };
                self.outs.push(Out::Up);
            }
            (Phase::Resuming { until }, _) => *until = now + self.config.timing.resumed,
            _ => {}
        }
        self.outs.push(Out::Deliver { session_id, seq, name, data });
    }

    /// Begins the session that READY tells of. False if it tells of none.
    fn ready(&mut self, now: Duration, data: &Value, seq: Option<u64>) -> bool {
        let text = |key: &str| data.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
        let (Some(id), Some(url)) = (text("session_id"), text("resume_gateway_url")) else { return false };
        let seq = seq.unwrap_or_default();
        let session = Session { id: id.to_owned(), url: address::keep(url, self.config.intents), seq };
        self.outs.push(Out::Keep(Some(Saved { session_id: session.id.clone(), resume_url: session.url.clone(), seq })));
        self.session = Some(session);
        self.failures.resumes = 0;
        self.phase = Phase::Live { since: now };
        self.outs.push(Out::Up);
        true
    }

    fn budget(&mut self, now: Duration, budget: Budget) {
        if !matches!(self.phase, Phase::Asking) {
            return;
        }
        match budget {
            Budget::Go => {
                self.sends.push(frames::identify(&self.config.token, self.config.intents));
                self.phase = Phase::Identifying { until: now + self.config.timing.ready };
            }
            Budget::Wait(wait) if wait <= self.config.timing.patience => {
                self.phase = Phase::Holding { until: now + wait };
            }
            Budget::Wait(wait) => {
                let why = format!("No new session may begin for {} s: the day's budget is used up.", wait.as_secs());
                self.lose(now, Loss::identify(why).not_before(wait));
            }
        }
    }

    fn closed(&mut self, now: Duration, code: Option<u16>) {
        let why = match code {
            Some(code) => format!("Discord closed the connection with code {code}."),
            None => "The connection broke.".to_owned(),
        };
        match close::after(code) {
            Next::Resume => self.lose(now, Loss::resume(why).closed()),
            Next::Identify => self.lose(now, Loss::identify(why).closed()),
            Next::Stop(failure) => {
                self.session = None;
                self.beat = None;
                self.outs.push(Out::Keep(None));
                self.phase = Phase::Ended;
                self.outs.push(Out::Fatal(failure));
            }
        }
    }

    /// Goes back to the last event that was taken, so that the rest is replayed. A session of which nothing was taken
    /// is given up: READY itself is never replayed.
    fn not_taken(&mut self, now: Duration, taken: Option<(String, u64)>, why: String) {
        let seq = match (&mut self.session, taken) {
            (Some(session), Some((id, seq))) if session.id == id => Some((session, seq)),
            _ => None,
        };
        let resume = seq.is_some();
        if let Some((session, seq)) = seq {
            session.seq = seq;
        }
        match self.phase {
            Phase::Resting { .. } | Phase::Opening if resume => {}
            Phase::Resting { .. } | Phase::Opening => self.forget(),
            _ if resume => self.lose(now, Loss::resume(why)),
            _ => self.lose(now, Loss::identify(why)),
        }
    }

    fn set_full(&mut self, now: Duration, full: bool) {
        self.full = full;
        // What waited unread in the socket gets its time again.
        match &mut self.phase {
            Phase::Identifying { until } => *until = now + self.config.timing.ready,
            Phase::Resuming { until } => *until = now + self.config.timing.resumed,
            _ => {}
        }
        if let Some(beat) = &mut self.beat {
            beat.acked = true;
        }
    }

    fn garbled(&mut self, now: Duration) {
        if self.is_open() {
            self.lose(now, Loss::resume("Discord sent something that cannot be understood."));
        }
    }

    fn connect(&mut self) {
        self.outs.push(Out::Connecting(self.failures.connections));
        let place = match &self.session {
            Some(session) if self.failures.unreached < MAX_UNREACHED => Place::At(session.url.clone()),
            _ => Place::Main,
        };
        self.outs.push(Out::Connect(place));
        self.sends = Sends::default();
        self.phase = Phase::Opening;
    }

    fn ask(&mut self) {
        self.phase = Phase::Asking;
        self.outs.push(Out::AskIdentify);
    }

    fn lose(&mut self, now: Duration, loss: Loss) {
        match self.phase {
            Phase::Opening | Phase::Greeting { .. } => self.failures.unreached += 1,
            Phase::Resuming { .. } => self.failures.resumes += 1,
            Phase::Live { since } if now.saturating_sub(since) >= self.config.timing.lasted => {
                self.failures.connections = 0;
            }
            _ => {}
        }
        if !loss.closed_already && self.is_open() {
            self.outs.push(Out::Close(close::RESUMABLE));
        }
        if !loss.resume || self.failures.resumes >= MAX_FAILED_RESUMES {
            self.forget();
        }
        let wait = self.config.timing.backoff(self.failures.connections, self.config.entropy.fraction());
        self.failures.connections = self.failures.connections.saturating_add(1);
        self.beat = None;
        self.phase = Phase::Resting { until: now + wait.max(loss.at_least) };
        self.outs.push(Out::Lost(loss.why));
    }

    fn forget(&mut self) {
        self.failures.resumes = 0;
        if self.session.take().is_some() {
            self.outs.push(Out::Keep(None));
        }
    }

    fn end(&mut self, with: Out) {
        if self.is_open() {
            self.outs.push(Out::Close(close::RESUMABLE));
        }
        self.beat = None;
        self.phase = Phase::Ended;
        self.outs.push(with);
    }

    fn flush(&mut self, now: Duration) {
        if !self.is_open() {
            return;
        }
        if self.sends.owed_beat(now) {
            self.send_beat();
        }
        while let Some(frame) = self.sends.pop(now) {
            self.outs.push(Out::Send(frame));
        }
    }

    fn send_beat(&mut self) {
        self.outs.push(Out::Send(frames::heartbeat(self.session.as_ref().map(|s| s.seq))));
    }

    fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Resting { .. } | Phase::Opening | Phase::Ended)
    }
}

fn late(what: &str, within: Duration) -> String {
    format!("Discord did not send {what} within {} s.", within.as_secs())
}

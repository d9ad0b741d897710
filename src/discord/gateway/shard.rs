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
use super::state::{Beat, By, Failures, Loss, Phase, Session};
use super::step::{In, Out, Place};
use super::timing::Timing;
use super::{Budget, Intents, Saved, address};
use crate::base::entropy::Entropy;
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
            Phase::Resting { until } | Phase::Holding { until } => Some(until),
            Phase::Greeting { until } | Phase::Identifying { until } | Phase::Resuming { until } if !self.full => {
                Some(until)
            }
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
            In::Opened => self.opened(now),
            In::Unreached { why, after } if matches!(self.phase, Phase::Opening) => {
                self.lose(now, Loss::resume(why).by(By::Them).not_before(after.unwrap_or_default()));
            }
            In::Unreached { .. } => {}
            In::Frame(text) => match frames::read(&text) {
                Some(frame) => self.frame(now, frame),
                None => self.garbled(now),
            },
            In::Garbled => self.garbled(now),
            In::Closed(code) => self.closed(now, code),
            In::Budget(budget) => self.budget(now, budget),
            In::NotCounted(why) if matches!(self.phase, Phase::Asking) => self.lose(now, Loss::identify(why)),
            In::NotCounted(_) => {}
            In::NotTaken { taken, why } => self.not_taken(now, taken, why),
            In::Full(full) => self.set_full(now, full),
            In::Refused(failure) => self.end(Out::Fatal(failure), By::Us),
            In::Stop => self.end(Out::Stopped, By::Us),
        }
    }

    fn opened(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Opening) {
            self.phase = Phase::Greeting { until: now + self.config.timing.hello };
        }
    }

    fn tick(&mut self, now: Duration) {
        let timing = self.config.timing;
        match self.phase {
            Phase::Resting { until } if until <= now => self.connect(),
            Phase::Holding { until } if until <= now => self.ask(),
            Phase::Greeting { until } if until <= now && !self.full => {
                self.lose(now, Loss::resume(late("HELLO", timing.hello)));
            }
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
        if !self.is_open() {
            return;
        }
        let why = match code {
            Some(code) => format!("Discord closed the connection with code {code}."),
            None => "The connection broke.".to_owned(),
        };
        match close::after(code) {
            Next::Resume => self.lose(now, Loss::resume(why).by(By::Them)),
            Next::Identify => self.lose(now, Loss::identify(why).by(By::Them)),
            Next::Stop(failure) => {
                self.forget();
                self.end(Out::Fatal(failure), By::Them);
            }
        }
    }

    /// Goes back to the last event that was taken, so that the rest is replayed. A session of which nothing was taken
    /// is given up: READY itself is never replayed.
    fn not_taken(&mut self, now: Duration, taken: Option<(String, u64)>, why: String) {
        self.full = false;
        let Some(session) = &mut self.session else { return };
        match taken {
            Some((id, seq)) if id == session.id => session.seq = seq,
            _ => return self.lose(now, Loss::identify(why).by(By::Ears)),
        }
        // Before RESUME was sent the number alone decides what is replayed.
        if !matches!(self.phase, Phase::Resting { .. } | Phase::Opening | Phase::Greeting { .. }) {
            self.lose(now, Loss::resume(why).by(By::Ears));
        }
    }

    fn set_full(&mut self, now: Duration, full: bool) {
        self.full = full;
        // What waited unread in the socket gets its time again.
        match &mut self.phase {
            Phase::Greeting { until } => *until = now + self.config.timing.hello,
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
        self.phase = Phase::Opening;
    }

    fn ask(&mut self) {
        self.phase = Phase::Asking;
        self.outs.push(Out::AskIdentify);
    }

    fn lose(&mut self, now: Duration, loss: Loss) {
        match self.phase {
            Phase::Opening | Phase::Greeting { .. } => self.failures.unreached += 1,
            Phase::Resuming { .. } if loss.by != By::Ears => self.failures.resumes += 1,
            Phase::Live { since } if now.saturating_sub(since) >= self.config.timing.lasted => {
                self.failures.connections = 0;
            }
            _ => {}
        }
        if loss.by != By::Them {
            self.outs.push(Out::Close(close::RESUMABLE));
        }
        if !loss.resume || self.failures.resumes >= MAX_FAILED_RESUMES {
            self.forget();
        }
        let wait = self.config.timing.backoff(self.failures.connections, self.config.entropy.fraction());
        self.failures.connections = self.failures.connections.saturating_add(1);
        self.beat = None;
        self.sends = Sends::default();
        self.phase = Phase::Resting { until: now + wait.max(loss.at_least) };
        self.outs.push(Out::Lost(loss.why));
    }

    fn forget(&mut self) {
        self.failures.resumes = 0;
        if self.session.take().is_some() {
            self.outs.push(Out::Keep(None));
        }
    }

    fn end(&mut self, with: Out, by: By) {
        if by == By::Us && self.is_open() {
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

#[cfg(test)]
mod tests;

//! The gateway's sockets: HELLO, IDENTIFY, RESUME, heartbeats, and every close code that a client can earn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frame, WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, State as Shared};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::core::Core;
use super::hub::{Joined, KNOWN, MESSAGE_CONTENT, Order, PRIVILEGED};
use super::rest::route::query;
use super::truth::Line;
use crate::base::clock::Millis;

/// Largest payload that a client may send, in bytes (4002).
const PAYLOAD: usize = 4096;
/// Payloads that a client may send in [`SENDS_MS`] (4008).
const SENDS: usize = 120;
/// Window of [`SENDS`], in ms.
const SENDS_MS: i64 = 60_000;
/// Heartbeat intervals without a heartbeat after which the connection is closed.
const PATIENCE: f64 = 1.5;

/// Why a connection ends.
enum End {
    /// The client closed: with this code, or without any.
    Client(Option<u16>),
    /// We close with this code.
    Close(u16),
    /// Cut without a close frame.
    Drop,
}

struct Link {
    core: Arc<Core>,
    socket: WebSocket,
    joined: Joined,
    session: Option<String>,
    sent: u64,
    sends: VecDeque<Millis>,
    alive_until: Instant,
}

/// Takes a gateway connection.
pub async fn connect(Shared(core): Shared<Arc<Core>>, RawQuery(text): RawQuery, upgrade: WebSocketUpgrade) -> Response {
    let asked = query(text.as_deref());
    let get = |key: &str| asked.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    let version = get("v").is_some_and(|v| v == "10" || v == "9");
    let plain = get("encoding").is_none_or(|e| e == "json") && get("compress").is_none();
    let refused = if version { (!plain).then_some(4002) } else { Some(4012) };
    // One frame may be larger than Discord takes: it is answered with 4002 rather than by a broken socket.
    upgrade.max_message_size(1 << 20).on_upgrade(move |socket| async move {
        let joined = core.with(|state, _| {
            state.truth.counters.connections += 1;
            state.hub.join()
        });
        let id = joined.id;
        let alive_until = Instant::now() + patience(&core);
        let link =
            Link { core: core.clone(), socket, joined, session: None, sent: 0, sends: VecDeque::new(), alive_until };
        let ends = link.run(refused).await;
        core.with(|state, now| state.hub.leave(id, ends, now));
    })
}

fn patience(core: &Core) -> Duration {
    Duration::from_millis((core.settings.heartbeat_ms as f64 * PATIENCE) as u64)
}

impl Link {
    /// Runs until the connection ends; whether its session ends with it.
    async fn run(mut self, refused: Option<u16>) -> bool {
        let hello = json!({"op": 10, "d": {"heartbeat_interval": self.core.settings.heartbeat_ms, "_trace": ["sim"]}, "s": null, "t": null});
        let mut end = match refused {
            Some(code) => Some(End::Close(code)),
            None => self.send(&hello).await,
        };
        while end.is_none() {
            end = self.turn().await;
        }
        match end {
            Some(End::Close(code)) => {
                let frame = CloseFrame { code, reason: "".into() };
                drop(self.socket.send(Frame::Close(Some(frame))).await);
                false
            }
            Some(End::Client(code)) => matches!(code, Some(1000 | 1001)),
            _ => false,
        }
    }

    async fn turn(&mut self) -> Option<End> {
        let core = self.core.clone();
        let bell = self.joined.bell.clone();
        tokio::select! {
            () = core.stop.wait() => Some(End::Close(1001)),
            order = self.joined.orders.recv() => match order {
                Some(Order::Send(frame)) => self.send(&frame).await,
                Some(Order::Close(code)) => Some(End::Close(code)),
                Some(Order::Drop) | None => Some(End::Drop),
            },
            frame = self.socket.recv() => match frame {
                Some(Ok(Frame::Text(text))) => self.heard(text.as_str()).await,
                Some(Ok(Frame::Binary(_))) => Some(End::Close(4002)),
                Some(Ok(Frame::Close(frame))) => Some(End::Client(frame.map(|f| f.code))),
                Some(Ok(_)) => None,
                Some(Err(_)) | None => Some(End::Client(None)),
            },
            () = bell.notified() => self.flush().await,
            () = sleep_until(self.alive_until) => Some(End::Close(4000)),
        }
    }

    fn silent(&self) -> bool {
        self.core.with(|state, now| now < state.hub.silent_until)
    }

    async fn send(&mut self, frame: &Value) -> Option<End> {
        if self.silent() {
            return None;
        }
        let name = frame["t"].as_str().unwrap_or_default().to_owned();
        let op = frame["op"].as_u64().unwrap_or(0);
        self.core.with(|state, now| state.truth.frame(now, Line::FrameOut, op, &name));
        self.raw(frame.to_string()).await
    }

    async fn raw(&mut self, text: String) -> Option<End> {
        self.socket.send(Frame::Text(text.into())).await.is_err().then_some(End::Client(None))
    }

    /// Sends what the session has that was not sent on this connection.
    async fn flush(&mut self) -> Option<End> {
        if self.silent() {
            return None;
        }
        let frames = self.core.with(|state, now| {
            let frames = state.hub.after(self.joined.id, self.sent);
            for (_, text) in &frames {
                let name = serde_json::from_str::<Value>(text).ok().and_then(|v| v["t"].as_str().map(str::to_owned));
                state.truth.frame(now, Line::FrameOut, 0, &name.unwrap_or_default());
            }
            frames
        });
        // An event that others can see on the wire must not be lost by a crash of the simulator.
        drop(self.core.settle().await);
        for (seq, text) in frames {
            if let Some(end) = self.raw(text.to_string()).await {
                return Some(end);
            }
            self.sent = seq;
        }
        None
    }

    async fn heard(&mut self, text: &str) -> Option<End> {
        let frame: Option<Value> = serde_json::from_str(text).ok();
        let op = frame.as_ref().and_then(|f| f["op"].as_u64());
        let over = self.core.with(|state, now| {
            state.truth.frame(now, Line::FrameIn, op.unwrap_or(99), "");
            self.sends.retain(|at| now.0 - at.0 < SENDS_MS);
            self.sends.push_back(now);
            let over = self.sends.len() > SENDS || text.len() > PAYLOAD;
            if over {
                state.truth.counters.gateway_sends_over_limit += 1;
            }
            over
        });
        if over {
            return Some(End::Close(if text.len() > PAYLOAD { 4002 } else { 4008 }));
        }
        let (Some(frame), Some(op)) = (frame, op) else { return Some(End::Close(4002)) };
        let data = &frame["d"];
        match op {
            1 => {
                self.alive_until = Instant::now() + patience(&self.core);
                self.send(&json!({"op": 11, "d": null, "s": null, "t": null})).await
            }
            2 if self.session.is_some() => Some(End::Close(4005)),
            2 => self.identify(data).await,
            6 if self.session.is_some() => Some(End::Close(4005)),
            6 => self.resume(data).await,
            3 | 4 | 8 | 31 | 43 if self.session.is_none() => Some(End::Close(4003)),
            3 | 4 | 8 | 31 | 43 => None,
            _ => Some(End::Close(4001)),
        }
    }

    fn token_fits(&self, data: &Value) -> bool {
        let token = data["token"].as_str().unwrap_or_default();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        self.core.with(|state, _| state.world.meta.bot_token == token)
    }

    async fn identify(&mut self, data: &Value) -> Option<End> {
        if !self.token_fits(data) {
            return Some(End::Close(4004));
        }
        let Some(intents) = data["intents"].as_u64() else { return Some(End::Close(4002)) };
        if !["os", "browser", "device"].iter().all(|k| data["properties"][k].is_string()) {
            return Some(End::Close(4002));
        }
        if let Some(shard) = data.get("shard").filter(|s| !s.is_null()) {
            let pair = shard.as_array().filter(|s| s.len() == 2);
            let number = |n: usize| pair.and_then(|s| s[n].as_u64());
            match (number(0), number(1)) {
                (Some(id), Some(count)) if id < count => {}
                _ => return Some(End::Close(4010)),
            }
        }
        if intents & !KNOWN != 0 {
            return Some(End::Close(4013));
        }
        let closed = PRIVILEGED | if self.core.settings.message_content { 0 } else { MESSAGE_CONTENT };
        if intents & closed != 0 {
            return Some(End::Close(4014));
        }
        if !self.core.with(|state, now| state.hub.may_identify(now)) {
            return self.send(&json!({"op": 9, "d": false, "s": null, "t": null})).await;
        }
        let id = self.core.token();
        self.core.with(|state, now| {
            state.truth.counters.identifies += 1;
            state.hub.identify(self.joined.id, id.clone(), intents);
            let show = self.core.show(&state.world, now);
            let meta = &state.world.meta;
            let ready = json!({
                "v": 10, "user": super::rest::me(&show), "guilds": [{"id": meta.guild, "unavailable": true}],
                "session_id": id, "resume_gateway_url": format!("ws://{}/gateway/resume", self.core.api_host),
                "shard": [0, 1], "session_type": "normal", "private_channels": [], "presences": [], "relationships": [],
                "application": {"id": meta.application, "flags": super::rest::application_flags(&self.core)},
                "_trace": ["sim"],
            });
            let guild = (intents & super::hub::GUILDS != 0).then(|| show.guild_create());
            state.hub.tell(&id, "READY", &ready);
            if let Some(guild) = guild {
                state.hub.tell(&id, "GUILD_CREATE", &guild);
            }
        });
        self.session = Some(id);
        self.flush().await
    }

    async fn resume(&mut self, data: &Value) -> Option<End> {
        if !self.token_fits(data) {
            return Some(End::Close(4004));
        }
        let (Some(id), Some(seq)) = (data["session_id"].as_str(), data["seq"].as_u64()) else {
            return Some(End::Close(4002));
        };
        let resumed = self.core.with(|state, _| {
            let resumed = state.hub.resume(self.joined.id, id, seq);
            if resumed.is_ok() {
                state.truth.counters.resumes += 1;
                state.hub.tell(id, "RESUMED", &json!({"_trace": ["sim"]}));
            }
            resumed
        });
        match resumed {
            Ok(()) => {
                self.sent = seq;
                self.session = Some(id.to_owned());
                self.flush().await
            }
            Err(Order::Close(code)) => Some(End::Close(code)),
            Err(Order::Send(frame)) => self.send(&frame).await,
            Err(Order::Drop) => Some(End::Drop),
        }
    }
}

//! The control API from the other side, typed: what tests play people with, and what `--fake` joins a simulator by.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Endpoints;
pub use super::control::view::{
    AuthorView, ChannelView, FileView, InteractionView, MessageView, ModalView, PageView, PersonView, StateView,
};
pub use super::faults::{Do, On, Rule, Scope};
pub use super::thing::{Kind as ChannelKind, Role};
pub use super::truth::{Counters, Entry, Line, Violation};
use crate::base::failure::Failure;
use crate::base::ids::{AttachmentId, ChannelId, InteractionId, MessageId, UserId};

/// Longest wait for an answer: everything is on this machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Speaks to a running simulator.
#[derive(Debug, Clone)]
pub struct Control {
    http: reqwest::Client,
    base: String,
    token: String,
}

/// Lines of the log, and the number to ask with next.
#[derive(Debug, Clone, Deserialize)]
pub struct Log {
    /// Lines.
    pub entries: Vec<Entry>,
    /// Number of the newest.
    pub next: u64,
}

/// What to do to the bot's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayAct {
    /// Cut it without a close frame.
    Drop,
    /// Close it with a code.
    Close(u16),
    /// Opcode 7.
    Reconnect,
    /// Opcode 9, resumable or not.
    Invalid(bool),
    /// For so many ms heartbeats are acknowledged, but events are lost.
    Deaf(u64),
    /// For so many ms nothing is said at all.
    Silent(u64),
    /// Cut it, and its session cannot be resumed.
    Forget,
}

/// Server-sent events of one viewer.
pub struct Events {
    body: futures_util::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    rest: Vec<u8>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

fn lost(error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("The simulator does not answer: {error}.")).hint("Start it again.")
}

impl Control {
    /// Speaks to the simulator behind these endpoints.
    pub fn new(endpoints: &Endpoints) -> Result<Self, Failure> {
        let http = reqwest::Client::builder().connect_timeout(PATIENCE).no_proxy().build().map_err(lost)?;
        Ok(Self { http, base: endpoints.control_base.clone(), token: endpoints.control_token.clone() })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/control/{path}", self.base)).bearer_auth(&self.token)
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = request.timeout(PATIENCE).send().await.map_err(|e| lost(e.without_url()))?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|e| lost(e.without_url()))?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(lost);
        }
        let error: Option<Value> = serde_json::from_slice(&bytes).ok();
        let what =
            error.and_then(|e| e["error"].as_str().map(str::to_owned)).unwrap_or_else(|| format!("It said {status}."));
        Err(match status.as_u16() {
            403 => Failure::refused(what),
            404 => Failure::not_found(what),
            400 => Failure::usage(what),
            _ => Failure::failed(what),
        })
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T, Failure> {
        self.send(self.request(Method::GET, path).query(query)).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: Value) -> Result<T, Failure> {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    async fn id<T: DeserializeOwned>(&self, path: &str, body: Value, key: &str) -> Result<T, Failure> {
        let mut answer: Value = self.post(path, body).await?;
        serde_json::from_value(answer[key].take()).map_err(lost)
    }

    /// Guild, people and channels as somebody sees them.
    pub async fn state(&self, who: UserId) -> Result<StateView, Failure> {
        self.get("state", &[("as", who.to_string())]).await
    }

    /// The newest messages of a channel as somebody sees them, newest last.
    pub async fn messages(&self, who: UserId, channel: ChannelId) -> Result<Vec<MessageView>, Failure> {
        let query = [("as", who.to_string()), ("channel", channel.to_string())];
        Ok(self.get::<PageView>("messages", &query).await?.messages)
    }

    /// Every message of a channel as somebody sees them, newest last.
    pub async fn all_messages(&self, who: UserId, channel: ChannelId) -> Result<Vec<MessageView>, Failure> {
        let mut all: Vec<MessageView> = Vec::new();
        loop {
            let mut query = vec![("as", who.to_string()), ("channel", channel.to_string())];
            query.extend(all.first().map(|m| ("before", m.id.to_string())));
            let page: PageView = self.get("messages", &query).await?;
            all.splice(0..0, page.messages);
            if !page.has_more {
                return Ok(all);
            }
        }
    }

    /// Events as somebody sees them. The first is `hello`: from then on nothing is missed.
    pub async fn events(&self, who: UserId) -> Result<Events, Failure> {
        let request = self.request(Method::GET, "events").query(&[("as", who.to_string())]);
        let response = request.send().await.map_err(|e| lost(e.without_url()))?;
        if !response.status().is_success() {
            return Err(lost(format!("it said {}", response.status())));
        }
        Ok(Events { body: response.bytes_stream().boxed(), rest: Vec::new() })
    }

    /// Writes a message.
    pub async fn say(&self, who: UserId, channel: ChannelId, content: &str) -> Result<MessageId, Failure> {
        self.id("say", json!({"as": who, "channel": channel, "content": content}), "message_id").await
    }

    /// Answers a message.
    pub async fn reply(
        &self,
        who: UserId,
        channel: ChannelId,
        to: MessageId,
        content: &str,
    ) -> Result<MessageId, Failure> {
        let body = json!({"as": who, "channel": channel, "content": content, "reply_to": to});
        self.id("say", body, "message_id").await
    }

    /// Sends a file.
    pub async fn upload(
        &self,
        who: UserId,
        channel: ChannelId,
        filename: &str,
        bytes: Vec<u8>,
    ) -> Result<(MessageId, AttachmentId), Failure> {
        #[derive(Deserialize)]
        struct Sent {
            message_id: MessageId,
            attachment_id: AttachmentId,
        }
        let query = [("as", who.to_string()), ("channel", channel.to_string()), ("filename", filename.to_owned())];
        let sent: Sent = self.send(self.request(Method::POST, "upload").query(&query).body(bytes)).await?;
        Ok((sent.message_id, sent.attachment_id))
    }

    /// Edits an own message.
    pub async fn edit(
        &self,
        who: UserId,
        channel: ChannelId,
        message: MessageId,
        content: &str,
    ) -> Result<(), Failure> {
        let body = json!({"as": who, "channel": channel, "message": message, "content": content});
        self.post::<Value>("edit", body).await.map(drop)
    }

    /// Deletes a message.
    pub async fn delete(&self, who: UserId, channel: ChannelId, message: MessageId) -> Result<(), Failure> {
        self.post::<Value>("delete", json!({"as": who, "channel": channel, "message": message})).await.map(drop)
    }

    /// Reacts to a message.
    pub async fn react(&self, who: UserId, channel: ChannelId, message: MessageId, emoji: &str) -> Result<(), Failure> {
        let body = json!({"as": who, "channel": channel, "message": message, "emoji": emoji});
        self.post::<Value>("react", body).await.map(drop)
    }

    /// Presses a button.
    pub async fn tap(&self, who: UserId, message: &MessageView, custom_id: &str) -> Result<InteractionId, Failure> {
        self.pick(who, message, custom_id, &[]).await
    }

    /// Chooses from a select.
    pub async fn pick(
        &self,
        who: UserId,
        message: &MessageView,
        custom_id: &str,
        values: &[&str],
    ) -> Result<InteractionId, Failure> {
        let body = json!({
            "as": who, "channel": message.channel_id, "message": message.id, "custom_id": custom_id, "values": values,
        });
        self.id("tap", body, "interaction_id").await
    }

    /// Sends a form that a press brought.
    pub async fn submit(
        &self,
        who: UserId,
        press: InteractionId,
        fields: &BTreeMap<String, String>,
    ) -> Result<InteractionId, Failure> {
        self.id("submit", json!({"as": who, "interaction_id": press, "fields": fields}), "interaction_id").await
    }

    /// What became of a press or form.
    pub async fn interaction(&self, id: InteractionId) -> Result<InteractionView, Failure> {
        self.get("interaction", &[("id", id.to_string())]).await
    }

    /// Makes a text channel; one that exists already (by its id) is a success.
    pub async fn channel(&self, name: &str, id: Option<ChannelId>) -> Result<ChannelId, Failure> {
        let mut body = json!({"name": name});
        if let Some(id) = id {
            body["id"] = id.to_string().into();
        }
        self.id("channel", body, "channel_id").await
    }

    /// The direct-message channel between somebody and the host's bot.
    pub async fn dm(&self, who: UserId) -> Result<ChannelId, Failure> {
        self.id("channel", json!({"kind": "dm", "as": who}), "channel_id").await
    }

    /// Archives a thread, or takes it out of the archive.
    pub async fn archive(&self, thread: ChannelId, archived: bool) -> Result<(), Failure> {
        self.post::<Value>("archive", json!({"channel": thread, "archived": archived})).await.map(drop)
    }

    /// Denies the host's bot permission bits in a channel; 0 gives all back.
    pub async fn deny(&self, channel: ChannelId, bits: u64) -> Result<(), Failure> {
        self.post::<Value>("permissions", json!({"channel": channel, "deny": bits.to_string()})).await.map(drop)
    }

    /// Adds fault rules, in the JSON of docs/simulator.md.
    pub async fn faults(&self, rules: Value) -> Result<Vec<u64>, Failure> {
        self.id("faults", json!({"rules": rules}), "ids").await
    }

    /// Takes all fault rules away.
    pub async fn clear_faults(&self) -> Result<(), Failure> {
        self.send::<Value>(self.request(Method::DELETE, "faults")).await.map(drop)
    }

    /// Switches rate limits off or on.
    pub async fn rate_limits(&self, on: bool) -> Result<(), Failure> {
        self.post::<Value>("limits", json!({"rate_limits": on})).await.map(drop)
    }

    /// Does something to the bot's connection; gives how many connections there were.
    pub async fn gateway(&self, act: GatewayAct) -> Result<u64, Failure> {
        let body = match act {
            GatewayAct::Drop => json!({"do": "drop"}),
            GatewayAct::Close(code) => json!({"do": "close", "code": code}),
            GatewayAct::Reconnect => json!({"do": "reconnect"}),
            GatewayAct::Invalid(resumable) => json!({"do": "invalid", "resumable": resumable}),
            GatewayAct::Deaf(ms) => json!({"do": "deaf", "for_ms": ms}),
            GatewayAct::Silent(ms) => json!({"do": "silent", "for_ms": ms}),
            GatewayAct::Forget => json!({"do": "forget"}),
        };
        self.id("gateway", body, "connections").await
    }

    /// Moves the simulator's clock on.
    pub async fn advance(&self, ms: u64) -> Result<i64, Failure> {
        self.id("clock", json!({"advance_ms": ms}), "now_ms").await
    }

    /// The log after a number.
    pub async fn log(&self, since: u64) -> Result<Log, Failure> {
        self.get("log", &[("since", since.to_string())]).await
    }

    /// What must not have been sent. A test ends by asking for none.
    pub async fn violations(&self) -> Result<Vec<Violation>, Failure> {
        let mut answer: Value = self.get("violations", &[]).await?;
        serde_json::from_value(answer["violations"].take()).map_err(lost)
    }

    /// Counters.
    pub async fn counters(&self) -> Result<Counters, Failure> {
        self.get("counters", &[]).await
    }
}

impl Events {
    /// The next event; `None` when the simulator ended.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|w| w == b"\n\n") {
                let block: Vec<u8> = self.rest.drain(..end + 2).collect();
                let text = String::from_utf8_lossy(&block).into_owned();
                let data: String = text.lines().filter_map(|l| l.strip_prefix("data:")).map(str::trim_start).collect();
                if let Ok(event) = serde_json::from_str(&data) {
                    return Some(event);
                }
                continue;
            }
            self.rest.extend(self.body.next().await?.ok()?);
        }
    }
}

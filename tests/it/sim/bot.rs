//! A client with no manners of its own: says what it is told, shows what came.

use std::sync::Arc;

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::base::ids::{ChannelId, UserId};
use discord_os::sim::client::Control;
use discord_os::sim::{Endpoints, Options, Sim};
use futures_util::{SinkExt, StreamExt};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub const AGENT: &str = "DiscordBot (https://example.org/bot, 1.0)";
pub const INTENTS: u64 = 46_593;

/// A simulator, its people, and a bot's REST client.
pub struct Box {
    pub sim: Sim,
    pub at: Endpoints,
    pub control: Control,
    pub http: reqwest::Client,
}

pub struct Said {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub json: Value,
    pub text: String,
}

impl Said {
    pub fn code(&self) -> i64 {
        self.json["code"].as_i64().unwrap_or(-1)
    }
}

pub async fn start(options: Options) -> Box {
    let sim = Sim::start(options, SystemClock::shared(), Arc::new(Entropy::seeded(7))).await.unwrap();
    let at = sim.endpoints().clone();
    let control = Control::new(&at).unwrap();
    Box { sim, at, control, http: reqwest::Client::new() }
}

impl Box {
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}/api/v10{path}", self.at.api_base))
            .header("Authorization", format!("Bot {}", self.at.bot_token))
            .header("User-Agent", AGENT)
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Said {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Said { status, headers, json, text }
    }

    pub async fn get(&self, path: &str) -> Said {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Said {
        self.send(self.request(method, path).json(&body)).await
    }

    pub async fn post(&self, body: Value) -> Said {
        self.call(Method::POST, &format!("/channels/{}/messages", self.at.channel), body).await
    }

    pub fn channel(&self) -> ChannelId {
        self.at.channel
    }

    pub fn owner(&self) -> UserId {
        self.at.people.owner
    }

    pub async fn no_violations(&self) {
        assert_eq!(self.control.violations().await.unwrap(), []);
    }

    /// A file sent by multipart with a caption.
    pub async fn upload(&self, name: &str, bytes: Vec<u8>, payload: Value) -> Said {
        let part = reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned());
        let form = reqwest::multipart::Form::new().text("payload_json", payload.to_string()).part("files[0]", part);
        let path = format!("/channels/{}/messages", self.at.channel);
        self.send(self.request(Method::POST, &path).multipart(form)).await
    }

    pub async fn gateway(&self) -> Socket {
        let url = self.get("/gateway/bot").await.json["url"].as_str().unwrap().to_owned();
        Socket::open(&format!("{url}/?v=10&encoding=json")).await
    }

    /// A gateway connection that has seen READY and GUILD_CREATE.
    pub async fn ready(&self, intents: u64) -> (Socket, Value) {
        let mut socket = self.gateway().await;
        assert_eq!(socket.frame().await["op"], 10);
        socket.identify(&self.at.bot_token, intents).await;
        let ready = socket.event("READY").await;
        socket.event("GUILD_CREATE").await;
        (socket, ready)
    }
}

pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn open(url: &str) -> Self {
        Self(tokio_tungstenite::connect_async(url).await.unwrap().0)
    }

    pub async fn say(&mut self, frame: Value) {
        self.0.send(Frame::Text(frame.to_string().into())).await.unwrap();
    }

    pub async fn raw(&mut self, text: String) {
        self.0.send(Frame::Text(text.into())).await.unwrap();
    }

    pub async fn close(mut self, code: u16) {
        let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame { code: code.into(), reason: "".into() };
        self.0.close(Some(frame)).await.unwrap();
        while let Some(Ok(_)) = self.0.next().await {}
    }

    pub async fn identify(&mut self, token: &str, intents: u64) {
        let properties = json!({"os": "linux", "browser": "test", "device": "test"});
        self.say(json!({"op": 2, "d": {"token": token, "intents": intents, "properties": properties}})).await;
    }

    pub async fn resume(&mut self, token: &str, session: &str, seq: u64) {
        self.say(json!({"op": 6, "d": {"token": token, "session_id": session, "seq": seq}})).await;
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Value {
        match self.0.next().await {
            Some(Ok(Frame::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("no frame but {other:?}"),
        }
    }

    /// The next event, which must have this name.
    pub async fn event(&mut self, name: &str) -> Value {
        let frame = self.frame().await;
        assert_eq!(frame["t"], name, "{frame}");
        frame
    }

    /// The close code that comes next; `None` when the connection breaks without one.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.0.next().await {
                Some(Ok(Frame::Close(frame))) => return frame.map(|f| f.code.into()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

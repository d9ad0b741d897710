//! A stand-in for Discord that does to a client what no well-behaved server does: cuts, stalls, lies about lengths.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::base::secret::Secret;
use discord_os::discord::rest::{Rest, RestConfig, Timing};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What is done with one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// Answers so.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Does what was asked, then answers this status with a page.
    EffectThen(u16),
    /// Does what was asked, then closes without an answer.
    EffectThenReset,
    /// Closes without an answer.
    Reset,
    /// Never answers.
    Silence,
    /// Announces so many bytes and sends these.
    Cut(usize, Vec<u8>),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// Whether all the announced bytes came.
    pub(crate) whole: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The JSON of the body, or of its `payload_json` part.
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| {
            let (_, rest) = text.split_once("name=\"payload_json\"").expect("a payload");
            let (_, rest) = rest.split_once("\r\n\r\n").expect("a part");
            serde_json::from_str(rest.split_once("\r\n--").expect("an end").0).expect("JSON")
        })
    }
}

#[derive(Default)]
struct World {
    log: Vec<Request>,
    plays: VecDeque<Play>,
    /// Message ids by nonce.
    messages: BTreeMap<String, u64>,
}

/// The server. Ends when dropped.
pub(crate) struct Stub {
    pub(crate) addr: SocketAddr,
    world: Arc<Mutex<World>>,
    _tasks: JoinSet<()>,
}

impl Stub {
    pub(crate) async fn start(plays: impl IntoIterator<Item = Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let world = Arc::new(Mutex::new(World { plays: plays.into_iter().collect(), ..World::default() }));
        let mut tasks = JoinSet::new();
        let shared = world.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, shared.clone()));
            }
        });
        Self { addr, world, _tasks: tasks }
    }

    /// A client of this server with short waits.
    pub(crate) fn client(&self) -> Rest {
        let timing = Timing {
            deadline: Duration::from_millis(400),
            callback: Duration::from_millis(400),
            idle: Duration::from_millis(400),
            patience: Duration::from_secs(3),
        };
        let (clock, entropy) = (SystemClock::shared(), Arc::new(Entropy::seeded(1)));
        let config = RestConfig::new(format!("http://{}", self.addr), Secret::new(TOKEN), clock, entropy);
        Rest::new(RestConfig { timing, ..config }).unwrap()
    }

    pub(crate) fn log(&self) -> Vec<Request> {
        self.world.lock().unwrap().log.clone()
    }

    pub(crate) fn play(&self, play: Play) {
        self.world.lock().unwrap().plays.push_back(play);
    }

    /// Messages that were made.
    pub(crate) fn made(&self) -> usize {
        self.world.lock().unwrap().messages.len()
    }
}

pub(crate) const TOKEN: &str = "stub-token-that-must-not-leak";

/// A message as Discord would show it.
pub(crate) fn message(id: u64) -> Value {
    json!({"id": id.to_string(), "channel_id": "20", "author": {"id": "30", "username": "dos", "bot": true},
           "content": "x", "type": 0, "attachments": [], "flags": 0})
}

async fn serve(mut stream: TcpStream, world: Arc<Mutex<World>>) {
    let Some(request) = read(&mut stream).await else { return };
    let play = {
        let mut world = world.lock().unwrap();
        world.log.push(request.clone());
        if !request.whole {
            return;
        }
        world.plays.pop_front()
    };
    let effect = || carry_out(&request, &mut world.lock().unwrap());
    let (status, headers, body) = match play {
        None => (200, vec![], effect().to_string().into_bytes()),
        Some(Play::Answer(status, headers, body)) => (status, headers, body.into_bytes()),
        Some(Play::EffectThen(status)) => {
            effect();
            (status, vec![], b"<html>bad gateway</html>".to_vec())
        }
        Some(Play::EffectThenReset) => {
            effect();
            return;
        }
        Some(Play::Reset) => return,
        Some(Play::Silence) => return std::future::pending().await,
        Some(Play::Cut(announced, bytes)) => (200, vec![("content-length", announced.to_string())], bytes),
    };
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "content-length") {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The client may have gone away; that is its right.
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(&body).await);
    drop(stream.shutdown().await);
}

fn carry_out(request: &Request, world: &mut World) -> Value {
    if !request.line.starts_with("POST") || !request.line.contains("/messages ") {
        return json!({});
    }
    let json = request.json();
    let next = world.messages.len() as u64 + 1000;
    let nonce = json["nonce"].as_str().expect("a nonce").to_owned();
    assert_eq!(json["enforce_nonce"], true);
    message(*world.messages.entry(nonce).or_insert(next))
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        let mut chunk = [0u8; 4096];
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<String, String> =
        lines.filter_map(|l| l.split_once(": ")).map(|(k, v)| (k.to_lowercase(), v.to_owned())).collect();
    let length: usize = headers.get("content-length").map_or(0, |l| l.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    let mut chunk = vec![0u8; 65536];
    while body.len() < length {
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => body.extend_from_slice(&chunk[..n]),
            _ => break,
        }
    }
    let whole = body.len() == length;
    Some(Request { line, headers, body, whole })
}

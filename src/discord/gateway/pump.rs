//! Carries out what the shard decides, over a WebSocket.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, coding::CloseCode};
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use super::line::{Job, Line, Report};
use super::shard::{Shard, ShardConfig};
use super::step::{In, Out, Place};
use super::timing::Timing;
use super::{Budget, Ears, Heard, Intents, Link, address, parse};
use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::redact::redact;
use crate::base::secret::Secret;
use crate::base::stop::Stop;
use crate::discord::error::{DiscordError, ErrorKind, Retry};
use crate::discord::{Discord, GatewayInfo};

/// Largest frame that is read: a READY or GUILD_CREATE of 5 MiB was seen and must pass; more is no use to us.
const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What a pump is built from.
pub struct PumpConfig {
    /// Tells where the gateway is.
    pub discord: Arc<dyn Discord>,
    /// Take what is heard.
    pub ears: Arc<dyn Ears>,
    /// Bot token, without `Bot `.
    pub token: Secret,
    /// What a session asks for.
    pub intents: Intents,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub entropy: Arc<Entropy>,
}

/// Keeps one session with the gateway alive.
pub struct Pump {
    config: PumpConfig,
    timing: Timing,
}

impl Pump {
    /// A pump with the waits that suit Discord.
    pub fn new(config: PumpConfig) -> Self {
        Self { config, timing: Timing::default() }
    }

    /// The same with other waits.
    #[must_use]
    pub fn timing(self, timing: Timing) -> Self {
        Self { timing, ..self }
    }

    /// Hears until `stop`, then closes so that the session stays resumable.
    ///
    /// # Errors
    /// When going on makes no sense until a person has done something (the hint says what), or the kept session cannot
    /// be read. After close code 4014 [`super::close::lacks_intent`] is true of the failure.
    pub async fn run(self, stop: Stop) -> Result<(), Failure> {
        let saved = self.config.ears.saved().await?;
        let taken = saved.as_ref().map(|s| (s.session_id.clone(), s.seq));
        let shard = ShardConfig {
            token: self.config.token.clone(),
            intents: self.config.intents,
            timing: self.timing,
            entropy: Arc::clone(&self.config.entropy),
        };
        let mut teller = JoinSet::new();
        let (link, links) = watch::channel(Link::Connecting { attempt: 0 });
        teller.spawn(tell(Arc::clone(&self.config.ears), links));
        let line = Line::new(Arc::clone(&self.config.ears), taken);
        let mut driver = Driver {
            shard: Shard::new(shard, saved),
            config: self.config,
            timing: self.timing,
            stop,
            socket: None,
            opening: None,
            asking: None,
            remaining: 0,
            line,
            link,
        };
        let result = driver.drive().await;
        driver.line.end(self.timing.close).await;
        drop(driver.link);
        if timeout(self.timing.close, teller.join_next()).await.is_err() {
            tracing::warn!("The last state of the gateway was not recorded in time.");
        }
        result
    }
}

/// Hands states of the connection over; states that follow each other faster than they are taken are left out.
async fn tell(ears: Arc<dyn Ears>, mut links: watch::Receiver<Link>) {
    while links.changed().await.is_ok() {
        let link = links.borrow_and_update().clone();
        ears.link(link).await;
    }
}

struct Driver {
    shard: Shard,
    config: PumpConfig,
    timing: Timing,
    stop: Stop,
    socket: Option<Socket>,
    opening: Option<BoxFuture<'static, Result<Opened, In>>>,
    asking: Option<BoxFuture<'static, Result<Budget, Failure>>>,
    /// IDENTIFYs left, as Discord said when the connection for one was opened.
    remaining: u64,
    line: Line,
    link: watch::Sender<Link>,
}

/// An open connection, and the IDENTIFYs left if Discord was asked.
struct Opened {
    socket: Box<Socket>,
    remaining: Option<u64>,
}

/// What carrying out a step led to.
enum Done {
    Nothing,
    Happened(In),
    Ended(Result<(), Failure>),
}

impl Driver {
    async fn drive(&mut self) -> Result<(), Failure> {
        loop {
            let mut happened = VecDeque::from([self.next().await]);
            while let Some(input) = happened.pop_front() {
                for out in self.shard.step(self.config.clock.steady(), input) {
                    match self.act(out).await {
                        Done::Nothing => {}
                        Done::Happened(input) => happened.push_back(input),
                        Done::Ended(result) => return result,
                    }
                }
            }
        }
    }

    async fn next(&mut self) -> In {
        let due = self.shard.due().map(|due| due.saturating_sub(self.config.clock.steady()));
        let full = self.line.is_full();
        tokio::select! {
            biased;
            () = self.stop.wait() => In::Stop,
            report = self.line.next() => match report {
                Report::Room => In::Full(false),
                Report::NotTaken(taken, why) => In::NotTaken { taken, why },
            },
            () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => In::Tick,
            opened = pending(&mut self.opening) => {
                self.opening = None;
                match opened {
                    Ok(opened) => {
                        self.socket = Some(*opened.socket);
                        self.remaining = opened.remaining.unwrap_or(self.remaining);
                        In::Opened
                    }
                    Err(why) => why,
                }
            }
            answer = pending(&mut self.asking) => {
                self.asking = None;
                answer.map_or_else(|failure| In::NotCounted(failure.message), In::Budget)
            }
            frame = read(&mut self.socket), if !full => {
                if matches!(frame, In::Closed(_)) {
                    self.let_go();
                }
                frame
            }
        }
    }

    async fn act(&mut self, out: Out) -> Done {
        match out {
            Out::Connect(place) => self.opening = Some(self.open(place)),
            Out::Send(text) => return self.send(text).await,
            Out::Close(code) => self.close(code).await,
            Out::AskIdentify => {
                let (ears, remaining) = (Arc::clone(&self.config.ears), self.remaining);
                self.asking = Some(Box::pin(async move { ears.identify(remaining).await }));
            }
            Out::Keep(session) => self.line.push(Job::Keep(session)),
            Out::Deliver { session_id, seq, name, data } => {
                let event = parse::event(&name, &data);
                let was_full = self.line.is_full();
                self.line.push(Job::Take(Heard { session_id, seq, event }));
                if !was_full && self.line.is_full() {
                    return Done::Happened(In::Full(true));
                }
            }
            Out::Connecting(attempt) => self.tell(Link::Connecting { attempt }),
            Out::Up => self.tell(Link::Up { heartbeat: self.config.clock.now() }),
            Out::Lost(why) => {
                let why = redact(&why);
                tracing::info!("gateway lost: {why}");
                self.tell(Link::Lost { why });
            }
            Out::Stopped => return Done::Ended(Ok(())),
            Out::Fatal(failure) => {
                let why = [Some(failure.message.as_str()), failure.hint.as_deref()];
                self.tell(Link::Fatal { why: why.into_iter().flatten().collect::<Vec<_>>().join(" ") });
                return Done::Ended(Err(failure));
            }
        }
        Done::Nothing
    }

    fn tell(&self, link: Link) {
        self.link.send_replace(link);
    }

    fn open(&self, place: Place) -> BoxFuture<'static, Result<Opened, In>> {
        let (discord, timing) = (Arc::clone(&self.config.discord), self.timing);
        Box::pin(async move {
            let (url, remaining) = match place {
                Place::At(url) => (url, None),
                Place::Main => match timeout(timing.lookup, discord.gateway()).await {
                    Ok(Ok(GatewayInfo { url, remaining, .. })) => (url, Some(remaining)),
                    Ok(Err(error)) => return Err(not_told(error)),
                    Err(_) => return Err(unreached("Discord did not say in time where its gateway is.")),
                },
            };
            let url = address::open_at(&url).map_err(unreached)?;
            match timeout(timing.connect, connect(&url)).await {
                Ok(Ok(socket)) => Ok(Opened { socket: Box::new(socket), remaining }),
                Ok(Err(why)) => Err(unreached(why)),
                Err(_) => Err(unreached("Discord's gateway did not answer in time.")),
            }
        })
    }

    async fn send(&mut self, text: Secret) -> Done {
        let Some(socket) = &mut self.socket else { return Done::Nothing };
        let frame = Message::text(text.expose());
        let closed = match timeout(self.timing.send, socket.send(frame)).await {
            Ok(Ok(())) => return Done::Nothing,
            // The other side may have said why it closed; a fatal code must not be taken for a broken line.
            Ok(Err(_)) => timeout(self.timing.close, last_words(&mut self.socket)).await.unwrap_or(In::Closed(None)),
            Err(_) => In::Closed(None),
        };
        self.let_go();
        Done::Happened(closed)
    }

    /// Says goodbye, and waits a moment for the answer: a socket that is dropped with unread frames in it resets the
    /// connection, and the goodbye may never be read.
    async fn close(&mut self, code: u16) {
        let socket = self.socket.take();
        self.let_go();
        let Some(mut socket) = socket else { return };
        let goodbye = async {
            let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
            if socket.close(Some(frame)).await.is_ok() {
                while let Some(Ok(_)) = socket.next().await {}
            }
        };
        if timeout(self.timing.close, goodbye).await.is_err() {
            tracing::debug!("The gateway did not answer the goodbye.");
        }
    }

    /// Drops the connection and all that was going on for it.
    fn let_go(&mut self) {
        self.socket = None;
        self.opening = None;
        self.asking = None;
    }
}

/// What a future gives, once there is one.
async fn pending<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// The next thing that the shard must know of. Nothing, for ever, without a socket.
async fn read(socket: &mut Option<Socket>) -> In {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return In::Frame(text.as_str().to_owned()),
            Some(Ok(Message::Binary(_))) => return In::Garbled,
            Some(Ok(Message::Close(frame))) => return In::Closed(frame.map(|f| f.code.into())),
            // Pings are answered by the library; pongs and raw frames are not for us.
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return In::Closed(None),
        }
    }
}

/// How the connection ended; events before it are not heard, so they are replayed.
async fn last_words(socket: &mut Option<Socket>) -> In {
    loop {
        if let closed @ In::Closed(_) = read(socket).await {
            return closed;
        }
    }
}

async fn connect(url: &str) -> Result<Socket, String> {
    use rustls::crypto::{CryptoProvider, ring};
    // Only the first call of a process installs one, so a second is no error.
    if CryptoProvider::get_default().is_none() && ring::default_provider().install_default().is_err() {
        tracing::debug!("Another part chose the cryptography.");
    }
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_FRAME_BYTES)).max_frame_size(Some(MAX_FRAME_BYTES));
    // Without Nagle's delay: heartbeats and IDENTIFY are small and someone waits for them.
    match connect_async_tls_with_config(url, Some(config), true, None).await {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(format!("Discord's gateway could not be reached: {}.", redact(&error.to_string()))),
    }
}

fn unreached(why: impl Into<String>) -> In {
    In::Unreached { why: why.into(), after: None }
}

fn not_told(error: DiscordError) -> In {
    if error.kind == ErrorKind::Unauthorized {
        return In::Refused(error.into());
    }
    let after = match error.retry() {
        Retry::After(wait) => Some(wait),
        Retry::Soon | Retry::Never => None,
    };
    In::Unreached { why: error.message, after }
}

//! The gateway's pump against a server that does what each test tells it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use discord_os::base::clock::{Clock, SystemClock};
use discord_os::base::entropy::Entropy;
use discord_os::base::failure::Failure;
use discord_os::base::ids::{AttachmentId, ChannelId, GuildId, MessageId, UserId};
use discord_os::base::secret::Secret;
use discord_os::base::stop::Stop;
use discord_os::discord::gateway::close::lacks_intent;
use discord_os::discord::gateway::pump::{Pump, PumpConfig};
use discord_os::discord::gateway::timing::Timing;
use discord_os::discord::gateway::{Budget, Ears, Event, Heard, Intents, Link, Saved};
use discord_os::discord::{
    Answerable, Channel, Discord, Downloaded, GatewayInfo, Member, Nonce, Page, Progress, Result as Said, Upload,
};
use discord_os::model::bot::Me;
use discord_os::model::card::{Body, Post};
use discord_os::model::message::{CdnUrl, Message};
use discord_os::model::reply::Reply;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, coding::CloseCode};
use tokio_tungstenite::tungstenite::protocol::{Message as Frame, WebSocketConfig};

const TOKEN: &str = "a-bot-token";

/// Heartbeats that do not get in a test's way.
const CALM: u64 = 30_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Waits that a test need not wait for, with room for a busy machine.
pub(crate) fn quick() -> Timing {
    Timing {
        backoff_base: ms(10),
        backoff_cap: ms(100),
        refused_min: ms(20),
        refused_max: ms(60),
        close: ms(500),
        patience: ms(1_000),
        ..Timing::default()
    }
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.unwrap_or_else(|_| panic!("waited too long: {what}"))
}

/// Plays Discord's gateway.
struct Server {
    listener: TcpListener,
    base: String,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("ws://{}", listener.local_addr().unwrap());
        Self { listener, base }
    }

    fn door(&self) -> Arc<Door> {
        Arc::new(Door { url: format!("{}/main", self.base) })
    }

    async fn accept(&self) -> Conn {
        let (stream, _) = soon("a connection", self.listener.accept()).await.unwrap();
        let mut path = String::new();
        #[allow(clippy::result_large_err, reason = "the library's own signature")]
        let look = |request: &Request, response: Response| {
            path = request.uri().to_string();
            Ok(response)
        };
        let wide = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let ws = tokio_tungstenite::accept_hdr_async_with_config(stream, look, Some(wide)).await.unwrap();
        Conn { ws, path, deaf: false, resume: format!("{}/resume", self.base) }
    }

    /// Accepts, says HELLO and hears IDENTIFY, then READY.
    async fn identified(&self, interval: u64) -> Conn {
        let mut conn = self.accept().await;
        assert_eq!(conn.path, "/main?v=10&encoding=json");
        conn.hello(interval).await;
        let d = conn.expect(2).await;
        assert_eq!(d["token"], TOKEN);
        assert_eq!(d["intents"], Intents::WITH_CONTENT.0);
        conn.ready("s").await;
        conn
    }

    /// Accepts, says HELLO and hears RESUME.
    async fn resumed(&self, interval: u64) -> (Conn, u64) {
        let mut conn = self.accept().await;
        assert_eq!(conn.path, "/resume?v=10&encoding=json");
        conn.hello(interval).await;
        let d = conn.expect(6).await;
        assert_eq!((&d["token"], &d["session_id"]), (&json!(TOKEN), &json!("s")));
        let seq = d["seq"].as_u64().unwrap();
        (conn, seq)
    }
}

/// One connection, from the server's side.
struct Conn {
    ws: WebSocketStream<TcpStream>,
    path: String,
    deaf: bool,
    resume: String,
}

impl Conn {
    async fn say(&mut self, frame: Value) {
        self.ws.send(Frame::text(frame.to_string())).await.unwrap();
    }

    async fn hello(&mut self, interval: u64) {
        self.say(json!({"op": 10, "d": {"heartbeat_interval": interval}})).await;
    }

    async fn ready(&mut self, session: &str) {
        let d = json!({"v": 10, "session_id": session, "resume_gateway_url": self.resume, "guilds": [],
            "user": {"id": "1", "username": "host"}, "application": {"id": "2", "flags": 0}});
        self.event(1, "READY", d).await;
    }

    async fn event(&mut self, seq: u64, name: &str, d: Value) {
        self.say(json!({"op": 0, "s": seq, "t": name, "d": d})).await;
    }

    async fn message(&mut self, seq: u64) {
        let d = json!({"id": seq.to_string(), "channel_id": "20", "type": 0, "content": format!("number {seq}"),
            "author": {"id": "30", "username": "ann"}});
        self.event(seq, "MESSAGE_CREATE", d).await;
    }

    /// The next frame; heartbeats are answered. The code, once it is closed.
    async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            match soon("a frame", self.ws.next()).await {
                Some(Ok(Frame::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["op"] == 1 && !self.deaf {
                        self.say(json!({"op": 11})).await;
                    }
                    return Ok(frame);
                }
                Some(Ok(Frame::Close(code))) => return Err(code.map(|c| c.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    async fn expect(&mut self, op: u64) -> Value {
        loop {
            let frame = self.next().await.expect("the connection is open");
            match frame["op"].as_u64() {
                Some(found) if found == op => return frame["d"].clone(),
                Some(1) => {}
                _ => panic!("op {op} was expected, not {frame}"),
            }
        }
    }

    async fn until_closed(&mut self) -> Option<u16> {
        loop {
            if let Err(code) = self.next().await {
                return code;
            }
        }
    }

    async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        self.ws.close(Some(frame)).await.unwrap();
        self.until_closed().await;
    }
}

/// Knows where the gateway is, and nothing else.
struct Door {
    url: String,
}

#[async_trait]
impl Discord for Door {
    async fn gateway(&self) -> Said<GatewayInfo> {
        Ok(GatewayInfo { url: self.url.clone(), remaining: 900, total: 1_000, reset_after: ms(1) })
    }
    async fn me(&self) -> Said<Me> {
        unreachable!()
    }
    async fn channel(&self, _: ChannelId) -> Said<Channel> {
        unreachable!()
    }
    async fn member(&self, _: GuildId, _: UserId) -> Said<Member> {
        unreachable!()
    }
    async fn message(&self, _: ChannelId, _: MessageId) -> Said<Message> {
        unreachable!()
    }
    async fn after(&self, _: ChannelId, _: MessageId, _: u8) -> Said<Page> {
        unreachable!()
    }
    async fn newest(&self, _: ChannelId, _: u8) -> Said<Page> {
        unreachable!()
    }
    async fn send(&self, _: ChannelId, _: &Post, _: &Nonce) -> Said<Message> {
        unreachable!()
    }
    async fn edit(&self, _: ChannelId, _: MessageId, _: &Body) -> Said<Message> {
        unreachable!()
    }
    async fn delete(&self, _: ChannelId, _: MessageId) -> Said<()> {
        unreachable!()
    }
    async fn open_thread(&self, _: ChannelId, _: MessageId, _: &str) -> Said<ChannelId> {
        unreachable!()
    }
    async fn react(&self, _: ChannelId, _: MessageId, _: &str) -> Said<()> {
        unreachable!()
    }
    async fn typing(&self, _: ChannelId) -> Said<()> {
        unreachable!()
    }
    async fn dm(&self, _: UserId) -> Said<ChannelId> {
        unreachable!()
    }
    async fn respond(&self, _: &Answerable, _: &Reply) -> Said<()> {
        unreachable!()
    }
    async fn upload(&self, _: ChannelId, _: &Post, _: &[Upload], _: &Nonce, _: Progress<'_>) -> Said<Message> {
        unreachable!()
    }
    async fn download(&self, _: &CdnUrl, _: &Path, _: u64) -> Said<Downloaded> {
        unreachable!()
    }
    async fn link(&self, _: ChannelId, _: MessageId, _: AttachmentId) -> Said<(CdnUrl, u64)> {
        unreachable!()
    }
}

/// What the ears know.
#[derive(Default)]
pub(crate) struct Known {
    saved: Option<Saved>,
    pub(crate) taken: Vec<Heard>,
    links: Vec<Link>,
    identifies: u32,
    /// What Discord said is left, each time it was asked for.
    remaining: Vec<u64>,
    waits: VecDeque<Budget>,
    /// Sequence number at which the next take fails, once.
    fails_at: Option<u64>,
    /// Whether takes wait.
    held: bool,
}

impl Known {
    fn seqs(&self) -> Vec<u64> {
        self.taken.iter().map(|h| h.seq).collect()
    }

    fn is_up(&self) -> bool {
        matches!(self.links.last(), Some(Link::Up { .. }))
    }

    fn fatal(&self) -> Option<&str> {
        match self.links.last() {
            Some(Link::Fatal { why }) => Some(why),
            _ => None,
        }
    }
}

/// Ears that keep in memory what a ledger would keep on disk.
#[derive(Clone)]
pub(crate) struct Memory(pub(crate) watch::Sender<Known>);

impl Memory {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Known::default()))
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        self.0.send_modify(change);
    }

    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Known) -> bool) {
        let mut known = self.0.subscribe();
        soon(what, known.wait_for(is_so)).await.unwrap();
    }

    async fn until_taken(&self, seqs: &[u64]) {
        let mut known = self.0.subscribe();
        soon("events taken", known.wait_for(|k| k.taken.len() >= seqs.len())).await.unwrap();
        assert_eq!(self.0.borrow().seqs(), seqs);
    }

    fn identifies(&self) -> u32 {
        self.0.borrow().identifies
    }

    fn kept_seq(&self) -> Option<u64> {
        self.0.borrow().saved.as_ref().map(|s| s.seq)
    }
}

#[async_trait]
impl Ears for Memory {
    async fn saved(&self) -> Result<Option<Saved>, Failure> {
        Ok(self.0.borrow().saved.clone())
    }

    async fn keep(&self, session: Option<Saved>) -> Result<(), Failure> {
        self.change(|k| k.saved = session);
        Ok(())
    }

    async fn take(&self, heard: Heard) -> Result<(), Failure> {
        let mut known = self.0.subscribe();
        known.wait_for(|k| !k.held).await.unwrap();
        if known.borrow().fails_at == Some(heard.seq) {
            self.change(|k| k.fails_at = None);
            return Err(Failure::failed("The disk is full."));
        }
        self.change(|k| {
            if let Some(saved) = k.saved.as_mut().filter(|s| s.session_id == heard.session_id) {
                saved.seq = heard.seq;
            }
            k.taken.push(heard);
        });
        Ok(())
    }

    async fn identify(&self, remaining: u64) -> Result<Budget, Failure> {
        self.change(|k| k.remaining.push(remaining));
        let mut answer = Budget::Go;
        self.change(|k| match k.waits.pop_front() {
            Some(wait) => answer = wait,
            None => k.identifies += 1,
        });
        Ok(answer)
    }

    async fn link(&self, link: Link) {
        self.change(|k| k.links.push(link));
    }
}

/// A pump that runs.
pub(crate) struct Running {
    stop: Stop,
    task: JoinSet<Result<(), Failure>>,
}

impl Running {
    fn start(door: Arc<Door>, ears: &Memory, timing: Timing) -> Self {
        Self::with(door, Secret::new(TOKEN), ears, timing)
    }

    pub(crate) fn with(discord: Arc<dyn Discord>, token: Secret, ears: &Memory, timing: Timing) -> Self {
        let config = PumpConfig {
            discord,
            ears: Arc::new(ears.clone()),
            token,
            intents: Intents::WITH_CONTENT,
            clock: SystemClock::shared(),
            entropy: Arc::new(Entropy::seeded(7)),
        };
        let stop = Stop::new();
        let mut task = JoinSet::new();
        task.spawn(Pump::new(config).timing(timing).run(stop.clone()));
        Self { stop, task }
    }

    async fn ended(mut self) -> Result<(), Failure> {
        soon("the pump's end", self.task.join_next()).await.unwrap().unwrap()
    }

    pub(crate) async fn stop(self) {
        self.stop.stop();
        self.ended().await.expect("a stop is no failure");
    }
}

#[tokio::test]
async fn a_dropped_connection_is_resumed_at_its_own_address_where_it_was_left() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(CALM).await;
    conn.message(2).await;
    ears.until_taken(&[1, 2]).await;
    drop(conn);

    let (mut conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 2);
    conn.message(3).await;
    conn.event(4, "RESUMED", json!({})).await;
    ears.until_taken(&[1, 2, 3, 4]).await;
    ears.until("up again", Known::is_up).await;
    {
        let known = ears.0.borrow();
        assert!(matches!(&known.taken[0].event, Event::Ready { user: UserId(1), .. }));
        assert!(matches!(&known.taken[2].event, Event::Message(m) if m.content == "number 3"));
        assert_eq!(known.taken[3].event, Event::Resumed);
        assert_eq!(known.saved.as_ref().map(|s| s.seq), Some(4));
    }
    assert_eq!(ears.identifies(), 1);
    assert_eq!(ears.0.borrow().remaining, [900]);
    pump.stop().await;
}

#[tokio::test]
async fn op_7_op_9_and_close_codes_are_followed() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(CALM).await;
    ears.until_taken(&[1]).await;
    for round in 0..4 {
        match round {
            0 => conn.close(4000).await,
            1 => conn.close(1001).await,
            2 => {
                conn.say(json!({"op": 7, "d": null})).await;
                assert_eq!(conn.until_closed().await, Some(4000));
            }
            _ => {
                conn.say(json!({"op": 9, "d": true})).await;
                assert_eq!(conn.until_closed().await, Some(4000));
            }
        }
        conn = server.resumed(CALM).await.0;
        conn.event(2 + round, "RESUMED", json!({})).await;
    }
    ears.until_taken(&[1, 2, 3, 4, 5]).await;
    assert_eq!(ears.identifies(), 1);

    conn.say(json!({"op": 9, "d": false})).await;
    conn.until_closed().await;
    let conn = server.identified(CALM).await;
    ears.until_taken(&[1, 2, 3, 4, 5, 1]).await;
    assert_eq!(ears.identifies(), 2);

    conn.close(4009).await;
    let _conn = server.identified(CALM).await;
    ears.until_taken(&[1, 2, 3, 4, 5, 1, 1]).await;
    assert_eq!(ears.identifies(), 3);
    pump.stop().await;
}

#[tokio::test]
async fn silence_after_a_heartbeat_ends_the_connection_and_the_session_is_resumed() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(50).await;
    for _ in 0..3 {
        conn.expect(1).await;
    }
    conn.deaf = true;
    assert_eq!(conn.until_closed().await, Some(4000));
    let (mut conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 1);
    conn.event(2, "RESUMED", json!({})).await;
    ears.until_taken(&[1, 2]).await;
    pump.stop().await;
}

#[tokio::test]
async fn refused_connects_are_repeated_with_growing_waits() {
    let (server, ears) = (Server::start().await, Memory::new());
    let door = server.door();
    drop(server);
    let start = SystemClock::new();
    let pump = Running::start(door, &ears, quick());
    let tries = |k: &Known| k.links.iter().filter(|l| matches!(l, Link::Lost { .. })).count();
    ears.until("eight refusals", |k| tries(k) >= 8).await;
    let passed = start.steady();

    let dice = Entropy::seeded(7);
    let waits: Duration = (0..7).map(|n| quick().backoff(n, dice.fraction())).sum();
    assert!(waits > ms(100), "the seed gives waits that can be seen: {waits:?}");
    assert!(passed >= waits, "{passed:?} is less than {waits:?}");
    assert!(matches!(&ears.0.borrow().links[1], Link::Lost { why } if why.contains("could not be reached")));
    pump.stop().await;
    assert_eq!(ears.identifies(), 0, "a connection that never opened costs no IDENTIFY");
}

#[tokio::test]
async fn a_resume_that_is_never_answered_is_given_up_and_after_three_a_new_session_begins() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, Timing { resumed: ms(100), ..quick() });
    let conn = server.identified(CALM).await;
    ears.until_taken(&[1]).await;
    drop(conn);
    for _ in 0..3 {
        let (mut conn, _) = server.resumed(CALM).await;
        assert_eq!(conn.until_closed().await, Some(4000));
    }
    let _conn = server.identified(CALM).await;
    ears.until_taken(&[1, 1]).await;
    pump.stop().await;
}

#[tokio::test]
async fn fatal_closes_end_with_the_step_to_take() {
    for (code, step) in [(4004, "Reset the token"), (4014, "Message Content Intent")] {
        let (server, ears) = (Server::start().await, Memory::new());
        let saved = Saved { session_id: "s".into(), resume_url: format!("{}/resume", server.base), seq: 9 };
        ears.change(|k| k.saved = Some(saved));
        let pump = Running::start(server.door(), &ears, quick());
        let (conn, _) = server.resumed(CALM).await;
        conn.close(code).await;
        let failure = pump.ended().await.expect_err("it is fatal");
        assert!(failure.to_string().contains(step), "{failure}");
        assert_eq!(lacks_intent(&failure), code == 4014);
        let known = ears.0.borrow();
        assert!(known.fatal().is_some_and(|why| why.contains(step)));
        assert_eq!(known.saved, None, "the next start begins anew");
    }
}

#[tokio::test]
async fn what_could_not_be_taken_is_replayed() {
    let (server, ears) = (Server::start().await, Memory::new());
    ears.change(|k| k.fails_at = Some(3));
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(CALM).await;
    for seq in 2..=5 {
        conn.message(seq).await;
    }
    assert_eq!(conn.until_closed().await, Some(4000));
    let (mut conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 2);
    for seq in 3..=5 {
        conn.message(seq).await;
    }
    ears.until_taken(&[1, 2, 3, 4, 5]).await;
    pump.stop().await;
}

#[tokio::test]
async fn a_ready_that_could_not_be_taken_begins_anew() {
    let (server, ears) = (Server::start().await, Memory::new());
    ears.change(|k| k.fails_at = Some(1));
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(CALM).await;
    assert_eq!(conn.until_closed().await, Some(4000));
    let _conn = server.identified(CALM).await;
    ears.until_taken(&[1]).await;
    pump.stop().await;
}

#[tokio::test]
async fn a_stop_is_quick_and_the_next_process_hears_what_was_sent_meanwhile() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(CALM).await;
    conn.message(2).await;
    ears.until_taken(&[1, 2]).await;
    let start = SystemClock::new();
    pump.stop.stop();
    assert_eq!(conn.until_closed().await, Some(4000));
    drop(conn);
    pump.ended().await.expect("a stop is no failure");
    assert!(start.steady() < Duration::from_secs(1), "{:?}", start.steady());

    let pump = Running::start(server.door(), &ears, quick());
    let (mut conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 2);
    conn.message(3).await;
    conn.event(4, "RESUMED", json!({})).await;
    ears.until_taken(&[1, 2, 3, 4]).await;
    assert_eq!(ears.identifies(), 1);
    pump.stop().await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_server_that_says_nothing() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let _silent = soon("a connection", server.listener.accept()).await.unwrap();
    let start = SystemClock::new();
    pump.stop().await;
    assert!(start.steady() < Duration::from_secs(2), "{:?}", start.steady());
}

#[tokio::test]
async fn a_kept_session_that_discord_no_longer_knows_is_forgotten() {
    let (server, ears) = (Server::start().await, Memory::new());
    let saved = Saved { session_id: "s".into(), resume_url: format!("{}/resume", server.base), seq: 9 };
    ears.change(|k| k.saved = Some(saved));
    let pump = Running::start(server.door(), &ears, quick());
    let (mut conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 9);
    conn.say(json!({"op": 9, "d": false})).await;
    conn.until_closed().await;
    let _conn = server.identified(CALM).await;
    ears.until_taken(&[1]).await;
    assert_eq!(ears.kept_seq(), Some(1));
    pump.stop().await;
}

#[tokio::test]
async fn an_identify_is_sent_only_when_its_budget_allows() {
    let (server, ears) = (Server::start().await, Memory::new());
    ears.change(|k| k.waits = VecDeque::from([Budget::Wait(ms(150)), Budget::Wait(ms(1_500))]));
    let start = SystemClock::new();
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.accept().await;
    conn.hello(CALM).await;
    assert_eq!(conn.until_closed().await, Some(4000), "the long wait is not spent on an open connection");
    assert!(start.steady() >= ms(150));
    let _conn = server.identified(CALM).await;
    assert!(start.steady() >= ms(1_650), "{:?}", start.steady());
    ears.until_taken(&[1]).await;
    assert_eq!(ears.identifies(), 1);
    pump.stop().await;
}

#[tokio::test]
async fn heartbeats_go_on_while_the_ears_are_slow_and_a_burst_stays_in_order() {
    /// More than may wait in line.
    const BURST: u64 = 1_500;
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.identified(500).await;
    ears.until_taken(&[1]).await;
    ears.change(|k| k.held = true);
    for seq in 2..=BURST {
        conn.message(seq).await;
    }
    for _ in 0..4 {
        conn.expect(1).await;
    }
    assert_eq!(ears.0.borrow().taken.len(), 1);
    ears.change(|k| k.held = false);
    ears.until("the whole burst", |k| k.taken.len() as u64 == BURST).await;
    assert_eq!(ears.0.borrow().seqs(), (1..=BURST).collect::<Vec<_>>());
    conn.expect(1).await;
    assert_eq!(ears.identifies(), 1);
    pump.stop().await;
}

#[tokio::test]
async fn a_ready_of_five_mebibytes_passes_and_so_does_what_we_do_not_know() {
    let (server, ears) = (Server::start().await, Memory::new());
    let pump = Running::start(server.door(), &ears, quick());
    let mut conn = server.accept().await;
    conn.hello(CALM).await;
    conn.expect(2).await;
    let d = json!({"session_id": "s", "resume_gateway_url": conn.resume, "padding": "x".repeat(5 << 20),
        "user": {"id": "1", "username": "host"}, "application": {"id": "2"}, "guilds": []});
    conn.event(1, "READY", d).await;
    conn.say(json!({"op": 99, "d": {"new": true}})).await;
    conn.event(2, "SOMETHING_NEW", json!({"x": [1]})).await;
    conn.event(3, "MESSAGE_CREATE", json!("not a message")).await;
    ears.until_taken(&[1, 2, 3]).await;
    {
        let known = ears.0.borrow();
        assert!(matches!(&known.taken[0].event, Event::Ready { .. }));
        assert_eq!(known.taken[1].event, Event::Other("SOMETHING_NEW".into()));
        assert_eq!(known.taken[2].event, Event::Other("MESSAGE_CREATE".into()));
    }
    conn.ws.send(Frame::text("this is not JSON")).await.unwrap();
    assert_eq!(conn.until_closed().await, Some(4000));
    let (_conn, seq) = server.resumed(CALM).await;
    assert_eq!(seq, 3);
    pump.stop().await;
}

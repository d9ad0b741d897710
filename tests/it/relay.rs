//! Relay against the simulator: after every single fault the channel shows what the ledger says, each thing once.

use std::sync::Arc;
use std::time::Duration;

use discord_os::base::clock::{Clock, SystemClock};
use discord_os::base::entropy::Entropy;
use discord_os::base::ids::{BotKey, ChannelId, HostId, KeyId, RunId, TaskId};
use discord_os::base::secret::Secret;
use discord_os::base::stop::Stop;
use discord_os::discord::rest::{Rest, RestConfig};
use discord_os::ledger::outbox::{Said, Target, say};
use discord_os::ledger::runs::{self, NewRun};
use discord_os::ledger::tasks::{self, NewTask};
use discord_os::ledger::{Ledger, bots, control, mirrors};
use discord_os::model::card::Post;
use discord_os::model::run::{RunEvent, RunState};
use discord_os::model::tap::Signer;
use discord_os::model::task::Mode;
use discord_os::relay::cards::host::Face;
use discord_os::relay::{Painter, Relay, RelayParts, mirror};
use discord_os::sim::client::{Control, MessageView};
use discord_os::sim::{Options, Sim};
use serde_json::{Value, json};

struct Desk {
    _dir: tempfile::TempDir,
    sim: Sim,
    control: Control,
    ledger: Ledger,
    painter: Painter,
    stop: Stop,
    relay: tokio::task::JoinHandle<()>,
}

fn names() -> (HostId, BotKey, TaskId, RunId) {
    (HostId("h1".into()), BotKey("main".into()), TaskId("t1".into()), RunId("r1".into()))
}

impl Desk {
    /// A desk whose Discord has these faults before relay begins.
    async fn start(faults: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (clock, entropy) = (SystemClock::shared(), Arc::new(Entropy::seeded(3)));
        let sim = Sim::start(Options::default(), Arc::clone(&clock), Arc::clone(&entropy)).await.unwrap();
        let control = Control::new(sim.endpoints()).unwrap();
        control.faults(faults).await.unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let token = Secret::new(sim.endpoints().bot_token.clone());
        let rest = RestConfig::new(&sim.endpoints().api_base, token, Arc::clone(&clock), Arc::clone(&entropy));
        let signer = Signer::new(KeyId("k1".into()), [7; 32]);
        let face = Face { backend: "fake".into(), folder: "here".into() };
        let bot = names().1;
        let discord = Arc::new(Rest::new(rest).unwrap());
        let painter = Painter::new(signer.clone(), bot.clone(), face.clone());
        let parts = RelayParts { ledger: ledger.clone(), discord, clock, entropy, signer, bot, face };
        let stop = Stop::new();
        let relay = tokio::spawn(Relay::new(parts).run(stop.clone()));
        Self { _dir: dir, sim, control, ledger, painter, stop, relay }
    }

    fn staff(&self) -> ChannelId {
        self.sim.endpoints().channel
    }

    async fn messages(&self, channel: ChannelId) -> Vec<MessageView> {
        self.control.all_messages(self.sim.endpoints().people.owner, channel).await.unwrap_or_default()
    }

    /// A person asks; the task, its run and the HOST card are recorded.
    async fn ask(&self) -> ChannelId {
        let (staff, guild) = (self.staff(), self.sim.endpoints().guild);
        let ask = self.control.say(self.sim.endpoints().people.owner, staff, "what is here?").await.unwrap();
        self.ledger
            .write("test", move |tx| {
                let (host, bot, task, run) = names();
                let now = SystemClock::new().now();
                control::start_host(tx, &host, "boot", now)?;
                bots::ensure(tx, &bot, &host)?;
                mirrors::want_host(tx, &bot, &host, staff)?;
                let new = NewTask {
                    id: task.clone(),
                    bot: bot.clone(),
                    channel: staff,
                    guild: Some(guild),
                    ask_message: Some(ask),
                    asker: "user:5".into(),
                    asker_name: "Olive".into(),
                    text: "what is here? @everyone".into(),
                    mode: Mode::Question,
                };
                tasks::create(tx, &new, now)?;
                let run = NewRun {
                    id: run,
                    task,
                    prompt: "what is here?".into(),
                    backend: "fake".into(),
                    state: RunState::Queued,
                    host,
                    mark: "mark".into(),
                };
                runs::create(tx, &run, now)
            })
            .await
            .unwrap();
        ChannelId(ask.0)
    }

    /// The run is cancelled before it starts, and its receipt is recorded.
    async fn end(&self) {
        self.ledger
            .write("test", |tx| {
                let (_, bot, task, run) = names();
                let now = SystemClock::new().now();
                runs::apply(tx, &run, RunEvent::Cancel, now)?;
                say(tx, &bot, &Target::Thread(task), &Said::Receipt(run), &Post::text(""), now)
            })
            .await
            .unwrap();
    }

    fn amiss(&self) -> Vec<String> {
        self.ledger.read_now(|read| mirror::check(read, &self.painter)).unwrap()
    }

    async fn until(&self, what: &str, thread: ChannelId, so: impl Fn(&str) -> bool) {
        let bell = self.ledger.bell();
        let wait = async {
            while !self.amiss().is_empty() || !so(&text(&self.messages(thread).await)) {
                bell.wait(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(40), wait).await.is_err() {
            panic!("never: {what}; {:?}\n{}", self.amiss(), text(&self.messages(thread).await));
        }
    }

    async fn finish(self) {
        self.stop.stop();
        self.relay.await.unwrap();
        let violations = self.control.violations().await.unwrap();
        assert!(violations.is_empty(), "{violations:?}");
        self.sim.stop().await;
    }
}

fn text(messages: &[MessageView]) -> String {
    messages.iter().map(|m| format!("{}\n{}\n", m.content, json!(m.components))).collect()
}

/// One run of the whole story under these faults.
async fn story(faults: Value) {
    let desk = Desk::start(faults.clone()).await;
    let thread = desk.ask().await;
    desk.until("the job card", thread, |t| t.contains("Queued")).await;
    desk.end().await;
    desk.until("the receipt", thread, |t| t.contains("Receipt DOS-1") && t.contains("DOS-1 · Cancelled")).await;
    let staff = desk.messages(desk.staff()).await;
    let cards = staff.iter().filter(|m| !m.components.is_empty()).count();
    assert_eq!(cards, 1, "HOST cards after {faults}");
    let inside = text(&desk.messages(thread).await);
    assert_eq!(inside.matches("### DOS-1").count(), 1, "job cards after {faults}: {inside}");
    assert_eq!(inside.matches("### Receipt").count(), 1, "receipts after {faults}: {inside}");
    assert!(!inside.contains("@everyone"));
    desk.finish().await;
}

#[tokio::test]
async fn i_12_i_13_the_story_shows_each_thing_once() {
    story(json!([])).await;
}

#[tokio::test]
async fn i_12_i_13_each_thing_is_shown_once_after_any_single_fault() {
    let points = [
        ("POST", "/channels/*/messages", 1),
        ("POST", "/channels/*/messages", 2),
        ("POST", "/channels/*/messages", 3),
        ("PATCH", "/channels/*/messages/*", 1),
        ("POST", "/channels/*/messages/*/threads", 1),
    ];
    let faults = [
        json!({"kind": "status", "status": 502, "effect": true}),
        json!({"kind": "reset", "effect": true}),
        json!({"kind": "reset", "effect": false}),
        json!({"kind": "rate_limit", "scope": "user", "retry_after": 0.3}),
        json!({"kind": "rate_limit", "scope": "shared", "retry_after": 0.3}),
    ];
    let each = points.iter().flat_map(|point| faults.iter().map(move |fault| (point, fault)));
    let stories = each.map(|((method, path, nth), fault)| {
        // A client that tries again inside a call meets the fault once; the outage of the whole call is next.
        story(json!([{"on": {"method": method, "path": path}, "nth": nth, "do": fault}]))
    });
    futures_util::future::join_all(stories).await;
}

#[tokio::test]
async fn i_12_a_send_whose_every_answer_is_lost_is_found_by_its_mark() {
    // Every try of the client is carried out and answered by a cut, so only a read-back can tell.
    let lost = json!({"kind": "reset", "effect": true});
    story(json!([{"on": {"method": "POST", "path": "/channels/*/messages"}, "nth": 1, "times": 12, "do": lost}])).await;
}

//! The short flow of the product once per (request kind, single fault) and once per (crash point, side): afterwards
//! nothing is lost or doubled, every run has its one receipt, and the cards tell what the ledger tells.
//!
//! By default every third case is run, so that the file stays quick; `DISCORD_OS_MATRIX=all` runs them all, and
//! `DISCORD_OS_MATRIX=text` those whose name contains the text.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use discord_os::sim::client::{Line, MessageView};
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};

use super::desk::Desk;
use super::phone::{self, Phone, until};
use super::{agent, truth};

/// Cases at a time: most of a case is waiting.
const AT_ONCE: usize = 4;

/// Of so many cases one is run by default.
const STRIDE: usize = 3;

/// Tries of a tap whose answer or effect does not come: a person would press again, too.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(4);

/// Presses of one button before a case counts as failed.
const MOST_PRESSES: usize = 10;

/// Writes of the ledger that the flow comes by: each is a place before its commit and one after it.
const WRITES: [&str; 20] = [
    "host.start",
    "link",
    "seq",
    "identify",
    "catchup",
    "message",
    "tap",
    "claim",
    "warden",
    "progress",
    "ended",
    "receipt",
    "thread-opened",
    "outbox-sending",
    "outbox-sent",
    "mirror-post",
    "mirror-shown",
    "mirror-same",
    "put.intend",
    "put.stored",
];

/// Places between an effect and its row, and later turns at the writes that come often.
const PLACES: [&str; 8] = [
    "put.intended",
    "put.posted",
    "put.read_back",
    "tap.before:3",
    "outbox-sending.after:2",
    "outbox-sent.before:2",
    "mirror-shown.before:4",
    "ended.before:3",
];

/// What goes wrong in one case.
#[derive(Clone)]
enum Wrong {
    Nothing,
    Fault { on: Value, nth: u64, act: Value },
    Crash(String),
}

/// How a case went.
struct Went {
    counts: truth::Counts,
    /// Requests by method and path pattern.
    requests: BTreeMap<(String, String), u64>,
    /// Whether the host died.
    died: bool,
}

/// One person's afternoon: pairs, turns the host on, asks, approves, cancels.
struct Flow {
    owner: Phone,
    folder: PathBuf,
}

impl Flow {
    async fn live(self) {
        self.press_until("pair", "on", |card| !phone::text_of(card).contains("nobody is paired")).await;
        self.press_until("on", "off", |card| phone::text_of(card).contains("Running")).await;
        self.job("What is in this folder?").await;
        self.job("Delete the old logs").await;
        self.job("What takes so long?").await;
    }

    /// Presses a button of the HOST card until the card shows what it shall bring.
    async fn press_until(&self, verb: &str, or: &str, done: impl Fn(&MessageView) -> bool) {
        for _ in 0..MOST_PRESSES {
            let seen = |m: &MessageView| {
                phone::is_host_card(m) && (phone::button(m, verb).is_some() || phone::button(m, or).is_some())
            };
            let card = self.owner.sees(&format!("a HOST card with {verb}"), seen).await;
            if done(&card) {
                return;
            }
            self.press(&self.owner, &card, verb).await;
            let look = async || self.owner.all().await.into_iter().rev().find(phone::is_host_card).filter(&done);
            let brought = until_at_most(AGAIN, async || look().await.map(drop)).await;
            if brought.is_some() {
                return;
            }
        }
        panic!("{verb} was pressed {MOST_PRESSES} times in vain");
    }

    async fn press(&self, at: &Phone, card: &MessageView, verb: &str) {
        let Some(custom_id) = phone::button(card, verb) else { return };
        // The card may have changed under the finger.
        if let Ok(press) = at.control.tap(at.who, card, &custom_id).await {
            at.answer(press).await;
        }
    }

    /// Asks, and does what its card wants until there is a receipt.
    async fn job(&self, text: &str) {
        let asked = self.owner.say(text).await;
        let thread = self.owner.thread_of(asked).await;
        let mut pressed: Option<tokio::time::Instant> = None;
        until(&format!("{text:?} has its receipt"), async || {
            let all = thread.all().await;
            if all.iter().any(|m| phone::text_of(m).contains("### Receipt")) {
                return Some(());
            }
            let verb = if text.contains("long") { "cancel" } else { "approve" };
            let card = all.iter().rev().find(|m| phone::button(m, verb).is_some())?;
            let ready = verb == "approve" || agent::starts(&self.folder).len() >= 3;
            if ready && pressed.is_none_or(|at| at.elapsed() > AGAIN) {
                pressed = Some(tokio::time::Instant::now());
                self.press(&thread, card, verb).await;
            }
            None
        })
        .await;
    }
}

async fn until_at_most<T>(most: std::time::Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = tokio::time::Instant::now() + most;
    while tokio::time::Instant::now() < deadline {
        if let Some(found) = look().await {
            return Some(found);
        }
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    None
}

async fn lives_through(wrong: &Wrong) -> Went {
    let mut desk = Desk::with("true").await;
    let command = agent::command(desk.folder(), "case \"$prompt\" in *long*) sleep 300;; esac");
    desk.set("DISCORD_OS_COMMAND", &command);
    let owner = desk.owner();
    owner.control.rate_limits(false).await.unwrap();
    match wrong {
        Wrong::Nothing => {}
        Wrong::Fault { on, nth, act } => {
            owner.control.faults(json!([{"on": on, "nth": nth, "times": 1, "do": act}])).await.unwrap();
        }
        Wrong::Crash(at) => desk.set("DISCORD_OS_CRASH_AT", at),
    }
    desk.start();
    let flow = Flow { owner: owner.clone(), folder: desk.folder().to_owned() };
    let mut died = false;
    let keep = async {
        loop {
            until_at_most(std::time::Duration::from_secs(600), async || (!desk.is_running()).then_some(())).await;
            assert!(matches!(wrong, Wrong::Crash(_)) && !died, "the host died\n{}", desk.log());
            died = true;
            desk.crash();
            desk.unset("DISCORD_OS_CRASH_AT");
            desk.start();
        }
    };
    tokio::select! {
        () = async { flow.live().await } => {}
        () = keep => {}
    }
    if !desk.is_running() {
        died = true;
        desk.crash();
        desk.unset("DISCORD_OS_CRASH_AT");
        desk.start();
    }
    truth::rest(&desk).await;
    let counts = truth::check(&desk).await;
    cards_tell_the_ledger(&desk).await;
    let folder: &Path = desk.folder();
    for (run, times) in agent::starts(folder) {
        assert_eq!(times, 1, "run {run} was started {times} times");
    }
    assert_eq!(counts.tasks, 3, "{counts:?}");
    assert_eq!(desk.count("SELECT count(*) FROM runs"), 3);
    assert_eq!(counts.done + counts.interrupted + counts.cancelled, 3, "{counts:?}");
    assert_eq!(desk.count("SELECT count(*) FROM approvals WHERE state = 'approved'"), 1);
    assert_eq!(desk.count("SELECT count(*) FROM people"), 1);
    // Each run that was done left one file, stored once.
    assert_eq!(desk.count("SELECT count(*) FROM objects"), counts.done);
    let files: usize = truth::everything(&desk).await.iter().map(|m| m.attachments.len()).sum();
    assert_eq!(files as i64, counts.done, "files that stand in the channel");
    let log = owner.control.log(0).await.unwrap();
    let mut requests = BTreeMap::new();
    for entry in log.entries.iter().filter(|e| e.kind == Line::Request && e.bot.is_some()) {
        *requests.entry((entry.method.clone(), pattern(&entry.path))).or_default() += 1;
    }
    Went { counts, requests, died }
}

/// I-13, as a person sees it: every job card says how its newest run ended, and one HOST card says Running.
async fn cards_tell_the_ledger(desk: &Desk) {
    let all = truth::everything(desk).await;
    assert_eq!(all.iter().filter(|m| phone::is_host_card(m)).count(), 1, "HOST cards");
    let db = desk.ledger().unwrap();
    let mut rows = db.prepare("SELECT t.thread_id, r.state FROM tasks t JOIN runs r USING (task_id)").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (thread, state) in rows.map(Result::unwrap) {
        let cards: Vec<_> = all
            .iter()
            .filter(|m| m.channel_id.sql() == thread && phone::button(m, "retry").is_some())
            .map(|m| phone::text_of(m).to_lowercase())
            .collect();
        assert!(cards.len() == 1 && cards[0].contains(&state), "{state}: {cards:?}");
    }
}

/// A path with its ids and tokens as `*`.
fn pattern(path: &str) -> String {
    let word = |part: &str| {
        let plain = part.len() < 15 && !part.bytes().any(|b| b.is_ascii_digit()) || part.starts_with('@');
        if plain { part.to_owned() } else { "*".to_owned() }
    };
    path.split('/').map(word).collect::<Vec<_>>().join("/")
}

/// Every single fault of every kind of request; a kind that comes often fails early in one case, later in another.
fn fault_cases(requests: &BTreeMap<(String, String), u64>) -> Vec<(String, Wrong)> {
    let acts = [
        ("lost reply", json!({"kind": "reset", "effect": true})),
        ("reset", json!({"kind": "reset", "effect": false})),
        ("429", json!({"kind": "rate_limit", "scope": "user", "retry_after": 0.3})),
        ("500", json!({"kind": "status", "status": 500, "effect": false})),
        ("502 with effect", json!({"kind": "status", "status": 502, "effect": true})),
    ];
    let mut cases = Vec::new();
    for ((method, path), times) in requests {
        for nth in [1, times / 2].into_iter().filter(|n| *n == 1 || *n > 2) {
            for (name, act) in &acts {
                let on = json!({"method": method, "path": path});
                let wrong = Wrong::Fault { on, nth, act: act.clone() };
                cases.push((format!("{method} {path} #{nth}: {name}"), wrong));
            }
        }
    }
    cases
}

fn crash_cases() -> Vec<(String, Wrong)> {
    let writes = WRITES.iter().flat_map(|name| [format!("{name}.before"), format!("{name}.after")]);
    let all = writes.chain(PLACES.map(str::to_owned));
    all.map(|at| (format!("crash at {at}"), Wrong::Crash(at))).collect()
}

fn chosen(cases: Vec<(String, Wrong)>) -> Vec<(String, Wrong)> {
    match std::env::var("DISCORD_OS_MATRIX").ok().as_deref() {
        Some("all") => cases,
        Some(text) => cases.into_iter().filter(|(name, _)| name.contains(text)).collect(),
        None => cases.into_iter().step_by(STRIDE).collect(),
    }
}

/// Runs cases, tells of each, and fails with the names of those that failed.
async fn run(cases: Vec<(String, Wrong)>, all: usize) {
    println!("{} of {all} cases", cases.len());
    let one = |(name, wrong): (String, Wrong)| async move {
        let went = AssertUnwindSafe(lives_through(&wrong)).catch_unwind().await;
        match went {
            Ok(went) => {
                let died = if went.died { ", after a crash" } else { "" };
                println!("{name}: {:?}{died}", went.counts);
                None
            }
            Err(_) => {
                println!("{name}: FAILED");
                Some(name)
            }
        }
    };
    let failed: Vec<String> =
        stream::iter(cases.into_iter().map(one)).buffer_unordered(AT_ONCE).filter_map(async |f| f).collect().await;
    assert!(failed.is_empty(), "these cases failed: {failed:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_survives_every_single_fault() {
    let plain = lives_through(&Wrong::Nothing).await;
    println!("{:?}\n{:#?}", plain.counts, plain.requests);
    assert_eq!((plain.counts.done, plain.counts.cancelled), (2, 1));
    let cases = fault_cases(&plain.requests);
    let all = cases.len();
    run(chosen(cases), all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_crash_point_is_survived() {
    let cases = crash_cases();
    let all = cases.len();
    run(chosen(cases), all).await;
}

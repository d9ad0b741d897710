//! What must hold once everything has come to rest: the channel, the ledger and the machine tell the same story.

use std::collections::BTreeMap;

use discord_os::sim::client::{ChannelKind, MessageView};

use super::desk::Desk;
use super::phone::{self, until};

/// Counts that a test prints.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub tasks: i64,
    pub done: i64,
    pub interrupted: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub messages: usize,
    pub marks: usize,
}

const ENDED: &str = "('done','failed','cancelled','cancel_unconfirmed','interrupted','denied')";

/// Waits until nothing is left to do or to show.
pub async fn rest(desk: &Desk) {
    desk.counts(0, &format!("SELECT count(*) FROM runs WHERE state NOT IN {ENDED} AND state <> 'waiting'")).await;
    desk.counts(0, "SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending')").await;
    desk.counts(0, "SELECT count(*) FROM errands WHERE state = 'due'").await;
    desk.counts(0, "SELECT count(*) FROM mirrors WHERE shown_rev < wanted_rev AND state <> 'closed'").await;
}

/// Every message of every channel, as the owner sees it.
pub async fn everything(desk: &Desk) -> Vec<MessageView> {
    let owner = desk.owner();
    let state = owner.control.state(owner.who).await.unwrap();
    let mut all = Vec::new();
    for channel in state.channels.iter().filter(|c| c.kind != ChannelKind::Dm) {
        all.extend(owner.at(channel.id).all().await);
    }
    all
}

/// Checks that nothing was said twice, that every ended run has its one receipt, and that no process is left.
pub async fn check(desk: &Desk) -> Counts {
    let all = everything(desk).await;
    let mut marks: BTreeMap<String, u32> = BTreeMap::new();
    for message in all.iter().filter(|m| m.author.id == desk.endpoints().bot) {
        for mark in marks_of(message) {
            *marks.entry(mark).or_default() += 1;
        }
    }
    for (mark, times) in &marks {
        assert_eq!(*times, 1, "{mark} stands on {times} messages");
    }
    let facts = marks.keys().filter(|mark| mark.starts_with('r') && !mark.contains('.')).count() as i64;
    assert_eq!(
        facts,
        desk.count("SELECT count(*) FROM outbox WHERE state = 'sent'"),
        "facts that stand in the channel"
    );
    let cards = marks.keys().filter(|mark| mark.starts_with('m')).count() as i64;
    assert_eq!(
        cards,
        desk.count("SELECT count(*) FROM mirrors WHERE state = 'shown'"),
        "cards that stand in the channel"
    );
    let ended = desk.count(&format!("SELECT count(*) FROM runs WHERE state IN {ENDED}"));
    let receipts = desk.count("SELECT count(*) FROM outbox WHERE kind = 'receipt' AND state = 'sent'");
    assert_eq!(receipts, ended, "receipts that were sent, against runs that have ended");
    let held = desk.count("SELECT count(*) FROM outbox WHERE state IN ('held', 'failed')");
    assert_eq!(held, 0, "facts that could not be said");
    until("every process of every run is gone", async || desk.marked_processes().is_empty().then_some(())).await;
    let of = |state: &str| desk.count(&format!("SELECT count(*) FROM runs WHERE state = '{state}'"));
    Counts {
        tasks: desk.count("SELECT count(*) FROM tasks"),
        done: of("done"),
        interrupted: of("interrupted"),
        failed: of("failed"),
        cancelled: of("cancelled"),
        messages: all.len(),
        marks: marks.len(),
    }
}

/// Marks of rows that a message carries: `r12-3fa9` (`.2` for a second part) for an outbox row, `m3` for a mirror.
fn marks_of(message: &MessageView) -> Vec<String> {
    let mut marks = Vec::new();
    let text = phone::text_of(message);
    for line in text.lines().filter(|l| l.starts_with("-# ")) {
        let mark = line.rsplit('·').next().unwrap_or_default().trim();
        if mark.strip_prefix('r').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()) && !n.contains(' ')) {
            marks.push(mark.to_owned());
        }
    }
    let json = serde_json::to_string(&message.components).unwrap();
    for id in json.split('"').filter(|part| part.starts_with("dos1:")) {
        if let Some(mirror) = id.split(':').nth(4).filter(|arg| arg.starts_with('m') && arg.len() > 1) {
            marks.push(mirror.to_owned());
        }
    }
    marks.sort();
    marks.dedup();
    marks
}

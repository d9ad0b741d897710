use super::*;
use crate::base::clock::{ManualClock, Millis};
use crate::base::ids::{KeyId, UserId};
use crate::ledger::people::{Person, Subject};
use crate::ledger::{Ledger, approvals, bots, channels, control, inbox, people, runs, tasks};
use crate::model::actor::{AccountKind, Role};
use crate::model::card::{Block, Body, Button};
use crate::model::power::Power;
use crate::model::run::{RunEvent, RunState};

const STAFF: ChannelId = ChannelId(100);
const OWNER: UserId = UserId(1);
const MATE: UserId = UserId(2);

struct Desk {
    _dir: tempfile::TempDir,
    ledger: Ledger,
    tools: Tools,
}

async fn desk() -> Desk {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
    let tools = Tools {
        host: HostId("h1".into()),
        bot: BotKey("main".into()),
        signer: Signer::new(KeyId("k1".into()), [1; 32]),
        clock: Arc::new(ManualClock::at(Millis(1_800_000_000_000))),
        entropy: Arc::new(Entropy::seeded(1)),
        limits: Limits::default(),
        backend: "command".into(),
        owner_pinned: false,
        silent: false,
    };
    let t = tools.clone();
    ledger
        .write("setup", move |tx| {
            control::start_host(tx, &t.host, "boot", t.clock.now())?;
            bots::ensure(tx, &t.bot, &t.host)?;
            channels::ensure_staff(tx, &t.bot, STAFF, Some(GuildId(9)))?;
            for (user, role) in [(OWNER, Role::Owner), (MATE, Role::Operator), (UserId(3), Role::Approver)] {
                let subject = Subject::User(user);
                let person = Person { subject, role, name: None, added_by: "local".into(), at: Millis(1) };
                people::add(tx, &t.bot, &person)?;
            }
            Ok(())
        })
        .await
        .unwrap();
    Desk { _dir: dir, ledger, tools }
}

fn order(user: UserId, verb: Verb) -> Order {
    let actor = Actor::Discord { user, kind: AccountKind::Human, roles: vec![] };
    Order { verb, actor, name: "Olive".into(), place: Place { channel: STAFF, guild: None, message: None } }
}

impl Desk {
    async fn give(&self, order: Order) -> Answer {
        let tools = self.tools.clone();
        self.ledger.write("test", move |tx| carry_out(tx, &order, &tools)).await.unwrap()
    }

    async fn on(&self) {
        assert_eq!(self.give(order(OWNER, Verb::On)).await.outcome, Outcome::Done);
    }

    async fn ask(&self, text: &str) -> Answer {
        self.give(order(OWNER, Verb::Ask { text: text.into() })).await
    }

    async fn state(&self, run: &RunId) -> RunState {
        let run = run.clone();
        self.ledger.read(move |r| runs::state(r, &run)).await.unwrap().unwrap()
    }

    async fn apply(&self, run: &RunId, event: RunEvent) {
        let run = run.clone();
        self.ledger.write("test", move |tx| runs::apply(tx, &run, event, Millis(5))).await.unwrap();
    }

    async fn approval(&self, run: &RunId) -> ApprovalId {
        let run = run.clone();
        self.ledger.read(move |r| approvals::pending_of(r, &run)).await.unwrap().unwrap().id
    }
}

fn words(answer: &Answer) -> String {
    match &answer.reply {
        Reply::Private(Body::Text(text)) => text.clone(),
        Reply::Private(Body::Card(card)) | Reply::Replace(Body::Card(card)) => {
            card.blocks.iter().filter_map(|b| if let Block::Text(t) = b { Some(t.as_str()) } else { None }).collect()
        }
        other => format!("{other:?}"),
    }
}

fn run_of(answer: &Answer) -> RunId {
    answer.task.clone().unwrap().2
}

#[tokio::test]
async fn an_ask_is_refused_while_off_and_nothing_is_made() {
    let desk = desk().await;
    let answer = desk.ask("what is here?").await;
    assert_eq!(answer.outcome, Outcome::Refused);
    assert!(words(&answer).contains("tap On"), "{answer:?}");
    assert!(desk.ledger.read(|r| tasks::by_code(r, TaskCode(1))).await.unwrap().is_none());
}

#[tokio::test]
async fn i_7_a_question_is_queued_and_all_else_waits_with_an_approval() {
    let desk = desk().await;
    desk.on().await;
    let question = desk.ask("what is in this folder?").await;
    assert_eq!(desk.state(&run_of(&question)).await, RunState::Queued);
    for text in ["delete the old logs", "the tests"] {
        let answer = desk.ask(text).await;
        assert_eq!(desk.state(&run_of(&answer)).await, RunState::Waiting, "{text}");
        desk.approval(&run_of(&answer)).await;
    }
    for text in ["  ".to_owned(), "x".repeat(ask::MAX_ASK + 1)] {
        assert_eq!(desk.ask(&text).await.outcome, Outcome::Refused);
    }
}

#[tokio::test]
async fn i_7_an_approval_is_decided_once() {
    let desk = desk().await;
    desk.on().await;
    let run = run_of(&desk.ask("delete the old logs").await);
    let approval = desk.approval(&run).await;
    let yes = desk.give(order(OWNER, Verb::Approve { approval: approval.clone() }));
    let no = desk.give(order(UserId(3), Verb::Deny { approval: approval.clone() }));
    let (yes, no) = tokio::join!(yes, no);
    let outcomes = [yes.outcome, no.outcome];
    assert!(outcomes.contains(&Outcome::Done) && outcomes.contains(&Outcome::Stale), "{outcomes:?}");
    let loser = if yes.outcome == Outcome::Stale { &yes } else { &no };
    assert!(words(loser).starts_with("Already"), "{}", words(loser));
    let again = desk.give(order(MATE, Verb::Approve { approval })).await;
    assert_eq!(again.outcome, Outcome::Stale);
}

#[tokio::test]
async fn a_cancelled_run_cannot_be_approved() {
    let desk = desk().await;
    desk.on().await;
    let run = run_of(&desk.ask("delete the old logs").await);
    let approval = desk.approval(&run).await;
    assert_eq!(desk.give(order(OWNER, Verb::Cancel { run: run.clone() })).await.outcome, Outcome::Done);
    assert_eq!(desk.give(order(OWNER, Verb::Approve { approval })).await.outcome, Outcome::Stale);
    assert_eq!(desk.state(&run).await, RunState::Cancelled);
    assert_eq!(desk.give(order(OWNER, Verb::Cancel { run })).await.outcome, Outcome::Stale);
}

#[tokio::test]
async fn off_asks_first_and_then_cancels_what_runs_and_what_is_queued() {
    let desk = desk().await;
    desk.on().await;
    let live = run_of(&desk.ask("what is here?").await);
    desk.apply(&live, RunEvent::Claim).await;
    let queued = run_of(&desk.ask("who wrote this?").await);
    let waiting = run_of(&desk.ask("delete the old logs").await);
    let asked = desk.give(order(MATE, Verb::Off)).await;
    let Reply::Private(Body::Card(card)) = &asked.reply else { panic!("{asked:?}") };
    assert!(words(&asked).contains("2 jobs"), "{}", words(&asked));
    let Some(Block::Buttons(buttons)) = card.blocks.last() else { panic!("{card:?}") };
    assert!(buttons.iter().all(|b| matches!(b, Button::Press { custom_id, .. } if custom_id.contains(":off-c"))));
    assert_eq!(desk.state(&live).await, RunState::Claimed);
    let off = desk.give(order(MATE, Verb::OffConfirm)).await;
    assert!(matches!(off.reply, Reply::Replace(_)));
    assert_eq!(desk.state(&live).await, RunState::Cancelling);
    assert_eq!(desk.state(&queued).await, RunState::Cancelled);
    assert_eq!(desk.state(&waiting).await, RunState::Waiting);
    let again = desk.give(order(MATE, Verb::OffConfirm)).await;
    assert!(words(&again).contains("already"), "{}", words(&again));
    let host = desk.tools.host.clone();
    let host = desk.ledger.read(move |r| control::host(r, &host)).await.unwrap().unwrap();
    assert_eq!((host.power, host.power_by.as_str()), (Power::Off, "user:2"));
}

#[tokio::test]
async fn halt_stops_new_work_until_resume() {
    let desk = desk().await;
    desk.on().await;
    let waiting = run_of(&desk.ask("delete the old logs").await);
    assert_eq!(desk.give(order(MATE, Verb::Halt)).await.reply, Reply::Seen);
    let refused = desk.ask("what is here?").await;
    assert!(refused.outcome == Outcome::Refused && words(&refused).contains("Resume"), "{refused:?}");
    let approval = desk.approval(&waiting).await;
    let approved = desk.give(order(OWNER, Verb::Approve { approval })).await;
    assert!(words(&approved).contains("starts later"), "{approved:?}");
    assert_eq!(desk.give(order(MATE, Verb::Resume)).await.reply, Reply::Seen);
    assert_eq!(desk.ask("what is here?").await.outcome, Outcome::Done);
}

#[tokio::test]
async fn retry_is_the_next_turn_and_only_once() {
    let desk = desk().await;
    desk.on().await;
    let first = desk.ask("what is here?").await;
    let run = run_of(&first);
    let early = desk.give(order(OWNER, Verb::Retry { run: run.clone() })).await;
    assert_eq!(early.outcome, Outcome::Stale);
    for event in [RunEvent::Claim, RunEvent::Fail] {
        desk.apply(&run, event).await;
    }
    let second = desk.give(order(OWNER, Verb::Retry { run: run.clone() })).await;
    assert_eq!(second.task.as_ref().unwrap().0, first.task.as_ref().unwrap().0);
    let turn = run_of(&second);
    let made = desk.ledger.read(move |r| runs::get(r, &turn)).await.unwrap().unwrap();
    assert_eq!((made.turn, made.prompt.as_str(), made.state), (2, "what is here?", RunState::Queued));
    assert_eq!(desk.give(order(OWNER, Verb::Retry { run })).await.outcome, Outcome::Stale);
}

#[tokio::test]
async fn the_form_and_the_receipt_answer_privately() {
    let desk = desk().await;
    assert_eq!(desk.give(order(OWNER, Verb::AskForm)).await.outcome, Outcome::Refused);
    desk.on().await;
    let Reply::Form(form) = desk.give(order(OWNER, Verb::AskForm)).await.reply else { panic!("no form") };
    assert!(form.custom_id.len() <= 100 && form.fields[0].custom_id == ask::FIELD);
    let run = run_of(&desk.ask("delete the old logs").await);
    let receipt = desk.give(order(UserId(3), Verb::Receipt { run })).await;
    assert!(words(&receipt).contains("DOS"), "{}", words(&receipt));
    let Reply::Private(Body::Card(card)) = receipt.reply else { panic!("no card") };
    let Some(Block::Buttons(buttons)) = card.blocks.last() else { panic!("{card:?}") };
    assert_eq!(buttons.len(), 3);
    let unknown = desk.give(order(OWNER, Verb::Receipt { run: RunId("none".into()) })).await;
    assert_eq!(unknown.outcome, Outcome::Unknown);
}

#[tokio::test]
async fn the_person_at_the_machine_has_the_owners_power_and_reads_words() {
    let desk = desk().await;
    let local = |verb| Order { actor: Actor::Local, ..order(OWNER, verb) };
    assert_eq!(words(&desk.give(local(Verb::On)).await), "The host is on.");
    let asked = desk.give(local(Verb::Ask { text: "what is here?".into() })).await;
    assert_eq!(asked.outcome, Outcome::Done);
    assert!(words(&desk.give(local(Verb::Off)).await).contains("off"));
    assert_eq!(desk.state(&run_of(&asked)).await, RunState::Cancelled);
    let held = desk.ledger.read(|r| inbox::held_count(r, &BotKey("main".into()))).await.unwrap();
    assert_eq!(held, 0);
}

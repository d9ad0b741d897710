//! The loop against a Discord in memory, fault by fault.

mod boxed;

use std::time::Duration;

use super::mirror::check;
use super::*;
use crate::base::clock::{Millis, SystemClock};
use crate::base::ids::*;
use crate::discord::error::{DiscordError, ErrorKind};
use crate::ledger::outbox::{Said, Target, say};
use crate::ledger::runs::{self, NewRun};
use crate::ledger::tasks::{self, NewTask};
use crate::ledger::{Write, bots, control, steps};
use crate::model::card::Post;
use crate::model::run::{RunEvent, RunState};
use crate::model::task::Mode;
use boxed::{Boxed, Fault, limited};

const STAFF: ChannelId = ChannelId(500);
const OTHER: ChannelId = ChannelId(501);
const PERSON: UserId = UserId(9);

struct Desk {
    _dir: tempfile::TempDir,
    ledger: Ledger,
    discord: Arc<Boxed>,
    running: Option<(Stop, tokio::task::JoinSet<()>)>,
}

fn ids() -> (HostId, BotKey) {
    (HostId("h1".into()), BotKey("main".into()))
}

fn signer() -> Signer {
    Signer::new(KeyId("k1".into()), [7; 32])
}

fn face() -> Face {
    Face { backend: "fake".into(), folder: "here".into() }
}

impl Desk {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        ledger
            .write("rows", |tx| {
                let (host, bot) = ids();
                control::start_host(tx, &host, "boot", Millis(1))?;
                bots::ensure(tx, &bot, &host)
            })
            .await
            .unwrap();
        Self { _dir: dir, ledger, discord: Arc::default(), running: None }
    }

    /// Starts relay, as a process would.
    fn start(&mut self) {
        let relay = Relay::new(RelayParts {
            ledger: self.ledger.clone(),
            discord: Arc::clone(&self.discord) as Arc<dyn Discord>,
            clock: SystemClock::shared(),
            entropy: Arc::new(Entropy::seeded(1)),
            signer: signer(),
            bot: ids().1,
            face: face(),
        });
        let stop = Stop::new();
        let mut task = tokio::task::JoinSet::new();
        task.spawn(relay.run(stop.clone()));
        self.running = Some((stop, task));
    }

    /// Ends relay as a power cut would: nothing of it runs on.
    async fn crash(&mut self) {
        let (_, mut task) = self.running.take().unwrap();
        task.abort_all();
        assert!(task.join_next().await.unwrap().unwrap_err().is_cancelled());
    }

    async fn write<T: Send + 'static>(&self, work: impl FnOnce(&Write<'_>) -> ledger::Result<T> + Send + 'static) -> T {
        self.ledger.write("test", work).await.unwrap()
    }

    /// Waits until it is so, looking whenever something is committed.
    async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let bell = self.ledger.bell();
        let wait = async {
            while !so(self) {
                bell.wait(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(20), wait).await.is_err() {
            panic!("never: {what}; {:?}", self.amiss());
        }
    }

    fn amiss(&self) -> Vec<String> {
        let painter = Painter::new(signer(), ids().1, face());
        self.ledger.read_now(|r| check(r, &painter)).unwrap()
    }

    async fn settled(&self) {
        self.until("every mirror shows its view", |d| d.amiss().is_empty()).await;
    }

    async fn want_host(&self) {
        self.write(|tx| mirrors::want_host(tx, &ids().1, &ids().0, STAFF)).await;
    }

    async fn say(&self, target: Target, text: &'static str) -> OutboxId {
        self.write(move |tx| say(tx, &ids().1, &target, &Said::Notice, &Post::text(text), now())).await.unwrap()
    }

    fn texts(&self, channel: ChannelId) -> Vec<String> {
        let first = |m: crate::model::message::Message| m.content.lines().next().unwrap_or_default().to_owned();
        self.discord.messages(channel).into_iter().map(first).filter(|t| !t.is_empty()).collect()
    }

    /// A task with one run, asked by a message in the staff channel.
    async fn ask(&self, text: &'static str) -> (TaskId, RunId, MessageId) {
        let message = self.discord.add(STAFF, PERSON, text);
        let (task, run) = (TaskId(format!("t{message}", message = message.0)), RunId(format!("r{}", message.0)));
        let (t, r) = (task.clone(), run.clone());
        self.write(move |tx| {
            let (host, bot) = ids();
            let new = NewTask {
                id: t.clone(),
                bot,
                channel: STAFF,
                guild: None,
                ask_message: Some(message),
                asker: format!("user:{PERSON}"),
                asker_name: "Olive".into(),
                text: text.into(),
                mode: Mode::Question,
            };
            tasks::create(tx, &new, now())?;
            let run = NewRun {
                id: r.clone(),
                task: t,
                prompt: text.into(),
                backend: "fake".into(),
                state: RunState::Queued,
                host,
                mark: r.to_string(),
            };
            runs::create(tx, &run, now())
        })
        .await;
        (task, run, message)
    }
}

fn now() -> Millis {
    SystemClock::new().now()
}

fn thread(message: MessageId) -> ChannelId {
    ChannelId(message.0)
}

#[tokio::test]
async fn i_13_a_first_post_whose_answer_was_lost_is_one_card() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Ghost);
    desk.want_host().await;
    desk.start();
    desk.settled().await;
    assert_eq!(desk.discord.messages(STAFF).len(), 1);
    assert_eq!(desk.discord.calls("send"), 1, "it was found, not sent again");
}

#[tokio::test]
async fn i_13_a_crash_between_post_and_commit_leaves_one_card() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Hang);
    desk.want_host().await;
    desk.start();
    desk.until("the card is there", |d| d.discord.messages(STAFF).len() == 1).await;
    desk.crash().await;
    desk.start();
    desk.settled().await;
    assert_eq!(desk.discord.messages(STAFF).len(), 1);
}

#[tokio::test]
async fn i_13_a_crash_before_the_post_still_leads_to_a_card() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Stuck);
    desk.want_host().await;
    desk.start();
    desk.until("the send was begun", |d| d.discord.calls("send") == 1).await;
    desk.crash().await;
    desk.start();
    desk.settled().await;
    assert_eq!(desk.discord.messages(STAFF).len(), 1);
}

#[tokio::test]
async fn a_deleted_card_is_posted_anew() {
    let mut desk = Desk::new().await;
    desk.want_host().await;
    desk.start();
    desk.settled().await;
    let old = desk.discord.messages(STAFF)[0].id;
    desk.discord.remove(STAFF, old);
    desk.write(move |tx| mirrors::deleted(tx, STAFF, &[old])).await;
    desk.until("a new card", |d| d.discord.messages(STAFF).len() == 1).await;
    desk.settled().await;
    assert_ne!(desk.discord.messages(STAFF)[0].id, old);
}

#[tokio::test]
async fn a_card_that_takes_no_edit_is_posted_anew_and_the_old_one_goes() {
    for kind in [ErrorKind::OldEdit, ErrorKind::Archived, ErrorKind::NotFound] {
        let mut desk = Desk::new().await;
        let (_, run, message) = desk.ask("what is here?").await;
        desk.start();
        desk.settled().await;
        let old = desk.discord.messages(thread(message))[0].id;
        desk.discord.fault("edit", None, Fault::Refuse(DiscordError::new(kind, "No.")));
        desk.write(move |tx| runs::apply(tx, &run, RunEvent::Claim, now())).await;
        desk.settled().await;
        let cards = desk.discord.messages(thread(message));
        assert!(cards.iter().any(|c| c.id != old && c.component_text[0].contains("Starting")), "{kind:?}");
        assert_eq!(cards.len(), if kind == ErrorKind::NotFound { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_hundred_changes_cost_a_few_edits() {
    let mut desk = Desk::new().await;
    let (_, run, message) = desk.ask("what is here?").await;
    desk.start();
    desk.settled().await;
    for n in 0..100 {
        let run = run.clone();
        desk.write(move |tx| {
            steps::add(tx, &run, &format!("step {n}"), now())?;
            runs::touch(tx, &run)
        })
        .await;
    }
    desk.settled().await;
    assert!(desk.discord.calls("edit") <= 4, "{} edits", desk.discord.calls("edit"));
    assert!(desk.discord.messages(thread(message))[0].component_text.concat().contains("step 99"));
}

#[tokio::test]
async fn a_rate_limit_is_waited_out() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Refuse(limited(Duration::from_millis(300))));
    desk.want_host().await;
    desk.say(Target::Channel(STAFF), "hello").await;
    desk.start();
    desk.settled().await;
    desk.until("it is said", |d| d.texts(STAFF) == ["hello"]).await;
    assert_eq!(desk.discord.messages(STAFF).len(), 2);
}

#[tokio::test]
async fn a_thread_is_opened_once_and_the_card_stands_in_it() {
    let mut desk = Desk::new().await;
    desk.discord.fault("open_thread", None, Fault::Ghost);
    let (task, _, message) = desk.ask("what is here?").await;
    desk.start();
    desk.settled().await;
    let found = desk.ledger.read_now(|r| tasks::get(r, &task)).unwrap().unwrap();
    assert_eq!(found.thread, Some(thread(message)));
    let heard = desk.ledger.read_now(|r| crate::ledger::channels::get(r, &ids().1, thread(message))).unwrap().unwrap();
    assert_eq!(heard.cursor, Some(message));
    assert_eq!(desk.discord.messages(thread(message)).len(), 1);
}

#[tokio::test]
async fn an_ask_that_was_deleted_gets_a_stand_in() {
    let mut desk = Desk::new().await;
    let (task, _, message) = desk.ask("what is here?").await;
    desk.discord.remove(STAFF, message);
    desk.start();
    desk.settled().await;
    let found = desk.ledger.read_now(|r| tasks::get(r, &task)).unwrap().unwrap();
    let starter = desk.discord.messages(STAFF)[0].clone();
    assert!(starter.content.contains("Olive asked"), "{}", starter.content);
    assert_eq!(found.thread, Some(thread(starter.id)));
}

#[tokio::test]
async fn a_job_without_a_thread_shows_where_it_was_asked() {
    let mut desk = Desk::new().await;
    desk.discord.fault("open_thread", None, Fault::Refuse(DiscordError::new(ErrorKind::NoPermission, "No.")));
    desk.ask("what is here?").await;
    desk.start();
    desk.settled().await;
    assert_eq!(desk.discord.messages(STAFF).len(), 2);
}

#[tokio::test]
async fn i_12_a_message_whose_answer_was_lost_is_said_once() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Ghost);
    desk.say(Target::Channel(STAFF), "hello").await;
    desk.say(Target::Channel(STAFF), "again").await;
    desk.start();
    desk.until("both are said", |d| d.texts(STAFF).len() == 2).await;
    assert_eq!(desk.texts(STAFF), ["hello", "again"]);
    assert_eq!(desk.discord.calls("send"), 2);
}

#[tokio::test]
async fn i_12_a_crash_between_send_and_commit_says_it_once() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Hang);
    desk.say(Target::Dm(PERSON), "hello").await;
    desk.start();
    let dm = ChannelId(PERSON.0 + 1_000);
    desk.until("it is there", |d| d.discord.messages(dm).len() == 1).await;
    desk.crash().await;
    desk.say(Target::Dm(PERSON), "next").await;
    desk.start();
    desk.until("the next is said", |d| d.texts(dm).len() == 2).await;
    assert_eq!(desk.texts(dm), ["hello", "next"]);
}

#[tokio::test]
async fn i_12_where_a_read_back_cannot_decide_the_row_is_held_and_shown() {
    let mut desk = Desk::new().await;
    desk.want_host().await;
    desk.discord.add(STAFF, PERSON, "hi");
    desk.discord.fault("send", Some(STAFF), Fault::Ghost);
    desk.say(Target::Channel(STAFF), "hello").await;
    desk.discord.unreadable(true);
    desk.start();
    desk.say(Target::Channel(STAFF), "next").await;
    desk.until("the successor is said", |d| d.texts(STAFF).contains(&"next".to_owned())).await;
    desk.settled().await;
    assert_eq!(desk.texts(STAFF).iter().filter(|t| *t == "hello").count(), 1);
    let card = desk.discord.messages(STAFF).into_iter().find(|m| !m.custom_ids.is_empty()).unwrap();
    assert!(card.component_text.concat().contains("held rather than doubled"));
}

#[tokio::test]
async fn i_12_a_long_text_broken_off_goes_on_where_it_stopped() {
    let mut desk = Desk::new().await;
    let text = format!("{}\n\n{}\n\nend", "a".repeat(1900), "b".repeat(1900));
    desk.write(move |tx| say(tx, &ids().1, &Target::Channel(STAFF), &Said::Reply, &Post::text(text), now())).await;
    desk.discord.fault("send", None, Fault::Ghost);
    desk.start();
    desk.until("all parts", |d| d.discord.messages(STAFF).len() == 2).await;
    desk.say(Target::Channel(STAFF), "next").await;
    desk.until("the next", |d| d.texts(STAFF).len() == 3).await;
    let lengths: Vec<usize> = desk.texts(STAFF).iter().map(String::len).collect();
    assert_eq!(lengths, [1900, 1900, 4]);
    assert!(desk.discord.messages(STAFF).iter().all(|m| m.content.chars().count() <= 2000));
}

#[tokio::test]
async fn a_stuck_channel_does_not_hold_up_another() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", Some(STAFF), Fault::Stuck);
    desk.say(Target::Channel(STAFF), "stuck").await;
    desk.start();
    desk.until("it is stuck", |d| d.discord.calls("send") == 1).await;
    desk.say(Target::Channel(OTHER), "hello").await;
    desk.until("the other is said", |d| d.texts(OTHER) == ["hello"]).await;
}

#[tokio::test]
async fn what_waits_for_a_thread_does_not_hold_up_others_and_comes_in_order() {
    let mut desk = Desk::new().await;
    desk.discord.fault("open_thread", None, Fault::Refuse(limited(Duration::from_millis(400))));
    let (task, run, message) = desk.ask("what is here?").await;
    desk.say(Target::Thread(task.clone()), "one").await;
    let said = Said::Receipt(run.clone());
    let target = Target::Thread(task);
    desk.write(move |tx| say(tx, &ids().1, &target, &said, &Post::text(""), now())).await;
    desk.say(Target::Channel(OTHER), "elsewhere").await;
    desk.start();
    desk.until("elsewhere", |d| d.texts(OTHER) == ["elsewhere"]).await;
    let receipt = |d: &Desk| {
        let texts: Vec<String> =
            d.discord.messages(thread(message)).iter().map(|m| m.component_text.concat()).collect();
        texts.iter().any(|t| t.contains("Receipt DOS-1"))
    };
    desk.until("the receipt", receipt).await;
    let all = desk.discord.messages(thread(message));
    let one = all.iter().position(|m| m.content.starts_with("one")).unwrap();
    let receipt = all.iter().position(|m| m.component_text.concat().contains("Receipt")).unwrap();
    assert!(one < receipt);
    assert!(all[receipt].component_text.last().unwrap().starts_with("-# · r"));
}

#[tokio::test]
async fn what_is_refused_fails_with_a_reason_and_the_next_goes_on() {
    let mut desk = Desk::new().await;
    desk.discord.fault("send", None, Fault::Refuse(DiscordError::new(ErrorKind::RefusedContent, "Blocked.")));
    desk.say(Target::Channel(STAFF), "bad").await;
    desk.say(Target::Channel(STAFF), "good").await;
    desk.start();
    desk.until("the next", |d| d.texts(STAFF) == ["good"]).await;
    desk.want_host().await;
    desk.settled().await;
    let card = desk.discord.messages(STAFF).into_iter().find(|m| !m.custom_ids.is_empty()).unwrap();
    assert!(card.component_text.concat().contains("1 message could not be sent"));
}

#[tokio::test]
async fn i_12_in_a_lively_channel_a_first_post_that_broke_off_makes_no_second_card() {
    let mut desk = Desk::new().await;
    desk.want_host().await;
    desk.discord.fault("send", Some(STAFF), Fault::Hang);
    desk.start();
    desk.until("it is there", |d| d.discord.messages(STAFF).len() == 1).await;
    desk.crash().await;
    for n in 0..250 {
        desk.discord.add(STAFF, PERSON, &format!("chatter {n}"));
    }
    desk.start();
    desk.settled().await;
    assert_eq!(desk.discord.messages(STAFF).iter().filter(|m| !m.custom_ids.is_empty()).count(), 1);
}

#[tokio::test]
async fn a_stop_lets_a_send_end() {
    let mut desk = Desk::new().await;
    desk.want_host().await;
    desk.start();
    desk.settled().await;
    let (stop, mut task) = desk.running.take().unwrap();
    stop.stop();
    tokio::time::timeout(Duration::from_secs(10), task.join_next()).await.unwrap().unwrap().unwrap();
}

//! Intake over a real ledger and a small hand-made Discord: once each, in order, nobody gets in.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use discord_os::base::clock::{ManualClock, Millis};
use discord_os::base::entropy::Entropy;
use discord_os::base::hash::Sha256;
use discord_os::base::ids::{
    ApplicationId, AttachmentId, BotKey, ChannelId, GuildId, HostId, InteractionId, KeyId, MessageId, RoleId, RunId,
    TaskCode, UserId,
};
use discord_os::base::secret::Secret;
use discord_os::discord::error::{DiscordError, ErrorKind};
use discord_os::discord::gateway::{Budget, Ears, Event, Heard, Link, Saved};
use discord_os::discord::{
    Answerable, Channel, Discord, Downloaded, GatewayInfo, Member, Nonce, Page, Progress, Result, Upload,
};
use discord_os::intake::catchup::Catchup;
use discord_os::intake::door::{Door, Pending};
use discord_os::intake::ears::LedgerEars;
use discord_os::intake::lacks::Lack;
use discord_os::ledger::inbox::Via;
use discord_os::ledger::mirrors::{self, Shown};
use discord_os::ledger::people::{Person, Subject};
use discord_os::ledger::{Ledger, approvals, bots, channels, control, inbox, people, runs, tasks};
use discord_os::model::actor::{AccountKind, Role};
use discord_os::model::bot::Me;
use discord_os::model::card::{Body, Post};
use discord_os::model::interaction::{Act, Interaction};
use discord_os::model::message::{CdnUrl, Message};
use discord_os::model::power::Power;
use discord_os::model::reply::Reply;
use discord_os::model::run::RunState;
use discord_os::model::settings::Limits;
use discord_os::model::tap::{Signer, Tap, TapVerb};
use discord_os::verbs::Tools;

const STAFF: ChannelId = ChannelId(1_000);
const OLIVE: UserId = UserId(11);
const STRANGER: UserId = UserId(33);
const BOT: UserId = UserId(99);
const CARD: MessageId = MessageId(2_000);
const KEY: [u8; 32] = [5; 32];

/// Discord's time at the start of each test. The host's own clock is a day ahead, so that nothing may lean on it.
const SERVER_NOW: Millis = Millis(1_800_000_000_000);

/// A channel's messages, Discord's time, and what was answered.
#[derive(Default)]
struct Paper {
    messages: Mutex<BTreeMap<(ChannelId, MessageId), Message>>,
    now: Mutex<Option<Millis>>,
    answers: Mutex<Vec<(InteractionId, Reply)>>,
    roles: Mutex<Option<Vec<RoleId>>>,
    refuse: Mutex<Option<ErrorKind>>,
    reads: Mutex<Vec<MessageId>>,
}

fn none<T>() -> Result<T> {
    Err(DiscordError::new(ErrorKind::Invalid, "This Discord is made of paper."))
}

impl Paper {
    fn put(&self, message: Message) {
        self.messages.lock().unwrap().insert((message.channel, message.id), message);
    }

    fn answered(&self) -> Vec<Reply> {
        self.answers.lock().unwrap().iter().map(|(_, reply)| reply.clone()).collect()
    }

    fn read(&self, pick: impl Fn(&Message) -> bool) -> Result<Page> {
        if let Some(kind) = *self.refuse.lock().unwrap() {
            return Err(DiscordError::new(kind, "Refused on purpose."));
        }
        let messages = self.messages.lock().unwrap().values().filter(|m| pick(m)).cloned().collect();
        Ok(Page { messages, server_time: *self.now.lock().unwrap() })
    }
}

#[async_trait]
impl Discord for Paper {
    async fn me(&self) -> Result<Me> {
        none()
    }
    async fn gateway(&self) -> Result<GatewayInfo> {
        let reset_after = Duration::from_secs(60);
        Ok(GatewayInfo { url: "ws://127.0.0.1:1".into(), remaining: 500, total: 1000, reset_after })
    }
    async fn channel(&self, _: ChannelId) -> Result<Channel> {
        none()
    }
    async fn member(&self, _: GuildId, user: UserId) -> Result<Member> {
        let roles = self.roles.lock().unwrap().clone();
        roles.map_or_else(none, |roles| Ok(Member { user, roles }))
    }
    async fn message(&self, _: ChannelId, _: MessageId) -> Result<Message> {
        none()
    }
    async fn after(&self, channel: ChannelId, after: MessageId, limit: u8) -> Result<Page> {
        self.reads.lock().unwrap().push(after);
        let mut page = self.read(|m| m.channel == channel && m.id > after)?;
        page.messages.truncate(usize::from(limit));
        Ok(page)
    }
    async fn newest(&self, channel: ChannelId, limit: u8) -> Result<Page> {
        let mut page = self.read(|m| m.channel == channel)?;
        page.messages.reverse();
        page.messages.truncate(usize::from(limit));
        Ok(page)
    }
    async fn send(&self, _: ChannelId, _: &Post, _: &Nonce) -> Result<Message> {
        none()
    }
    async fn edit(&self, _: ChannelId, _: MessageId, _: &Body) -> Result<Message> {
        none()
    }
    async fn delete(&self, _: ChannelId, _: MessageId) -> Result<()> {
        none()
    }
    async fn open_thread(&self, _: ChannelId, _: MessageId, _: &str) -> Result<ChannelId> {
        none()
    }
    async fn react(&self, _: ChannelId, _: MessageId, _: &str) -> Result<()> {
        none()
    }
    async fn typing(&self, _: ChannelId) -> Result<()> {
        none()
    }
    async fn dm(&self, _: UserId) -> Result<ChannelId> {
        none()
    }
    async fn respond(&self, to: &Answerable, reply: &Reply) -> Result<()> {
        self.answers.lock().unwrap().push((to.id, reply.clone()));
        Ok(())
    }
    async fn upload(&self, _: ChannelId, _: &Post, _: &[Upload], _: &Nonce, _: Progress<'_>) -> Result<Message> {
        none()
    }
    async fn download(&self, _: &CdnUrl, _: &Path, _: u64) -> Result<Downloaded> {
        none()
    }
    async fn link(&self, _: ChannelId, _: MessageId, _: AttachmentId) -> Result<(CdnUrl, u64)> {
        none()
    }
}

struct House {
    _dir: tempfile::TempDir,
    ledger: Ledger,
    discord: Arc<Paper>,
    tools: Tools,
    door: Arc<Door>,
}

impl House {
    async fn new(owner: Option<UserId>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let discord = Arc::new(Paper::default());
        *discord.now.lock().unwrap() = Some(SERVER_NOW);
        let tools = Tools {
            host: HostId("h1".into()),
            bot: BotKey("main".into()),
            signer: Signer::new(KeyId("k1".into()), KEY),
            clock: Arc::new(ManualClock::at(SERVER_NOW.plus(Duration::from_secs(86_400)))),
            entropy: Arc::new(Entropy::seeded(1)),
            limits: Limits::default(),
            backend: "command".into(),
            owner_pinned: false,
            silent: false,
        };
        let t = tools.clone();
        ledger
            .write("setup", move |tx| {
                control::start_host(tx, &t.host, "boot", Millis(1))?;
                bots::ensure(tx, &t.bot, &t.host)?;
                bots::set_account(tx, &t.bot, BOT, ApplicationId(1), "discord-os")?;
                channels::ensure_staff(tx, &t.bot, STAFF, Some(GuildId(9)))?;
                mirrors::want_host(tx, &t.bot, &t.host, STAFF)?;
                let card = mirrors::all(tx, &t.bot)?.remove(0);
                let shown = Shown { channel: STAFF, message: CARD, hash: None, rev: 1 };
                mirrors::shown(tx, card.id, &shown)?;
                if let Some(owner) = owner {
                    people::add(tx, &t.bot, &person(Subject::User(owner), Role::Owner))?;
                }
                Ok(())
            })
            .await
            .unwrap();
        let door = Arc::new(Door::new(ledger.clone(), Arc::clone(&discord) as _, tools.clone()));
        Self { _dir: dir, ledger, discord, tools, door }
    }

    /// A house that is owned and on.
    async fn on() -> Self {
        let house = Self::new(Some(OLIVE)).await;
        house.door.interaction(&house.tap(1, OLIVE, TapVerb::On)).await.unwrap();
        assert_eq!(house.power().await, Power::On);
        house
    }

    fn tap(&self, n: u64, user: UserId, verb: TapVerb) -> Interaction {
        let custom_id = self.tools.signer.sign(&Tap::new(verb, "h1", "m1"), STAFF, None);
        press(n, user, custom_id)
    }

    fn ears(&self) -> (LedgerEars, mpsc::Receiver<Pending>, Catchup) {
        let (answers, pending) = mpsc::channel(64);
        let catchup = Catchup::new(Arc::clone(&self.door));
        (LedgerEars::new(Arc::clone(&self.door), answers, catchup.bell()), pending, catchup)
    }

    async fn look(&self) {
        Catchup::new(Arc::clone(&self.door)).look(100).await.unwrap();
    }

    async fn power(&self) -> Power {
        let host = self.tools.host.clone();
        self.ledger.read(move |r| control::host(r, &host)).await.unwrap().unwrap().power
    }

    async fn tasks(&self) -> usize {
        let read = |r: &discord_os::ledger::Read<'_>| {
            let mut n = 0;
            while tasks::by_code(r, TaskCode(n + 1))?.is_some() {
                n += 1;
            }
            Ok(n as usize)
        };
        self.ledger.read(read).await.unwrap()
    }

    async fn inbox(&self) -> BTreeMap<String, usize> {
        let bot = self.tools.bot.clone();
        self.ledger.read(move |r| inbox::counts(r, &bot)).await.unwrap().into_iter().collect()
    }

    async fn states(&self, state: &str) -> usize {
        self.inbox().await.get(state).copied().unwrap_or(0)
    }

    async fn cursor(&self) -> Option<MessageId> {
        let bot = self.tools.bot.clone();
        self.ledger.read(move |r| channels::get(r, &bot, STAFF)).await.unwrap().unwrap().cursor
    }

    async fn owner(&self) -> Option<Subject> {
        let bot = self.tools.bot.clone();
        self.ledger.read(move |r| people::owner(r, &bot)).await.unwrap().map(|p| p.subject)
    }

    async fn waiting_run(&self) -> (RunId, approvals::Approval) {
        let host = self.tools.host.clone();
        let found = self.ledger.read(move |r| {
            let run = runs::in_state(r, &host, RunState::Waiting, 1)?.remove(0).id;
            let approval = approvals::pending_of(r, &run)?.unwrap();
            Ok((run, approval))
        });
        found.await.unwrap()
    }
}

fn person(subject: Subject, role: Role) -> Person {
    Person { subject, role, name: None, added_by: "local".into(), at: Millis(1) }
}

/// A message that Discord made `ago` seconds before its now.
fn message(n: u64, user: UserId, content: &str, ago: u64) -> Message {
    Message {
        id: MessageId(MessageId::at(SERVER_NOW.minus(Duration::from_secs(ago))).0 + n),
        channel: STAFF,
        guild: None,
        author: user,
        author_kind: AccountKind::Human,
        author_name: "Somebody".into(),
        roles: None,
        kind: 0,
        flags: 0,
        content: content.into(),
        attachments: vec![],
        reply_to: None,
        custom_ids: vec![],
        component_text: vec![],
        nonce: None,
        edited: None,
        has_thread: false,
    }
}

fn press(n: u64, user: UserId, custom_id: String) -> Interaction {
    Interaction {
        id: InteractionId(n),
        application: ApplicationId(1),
        token: Secret::new(format!("token-{n}")),
        user,
        kind: AccountKind::Human,
        user_name: "Somebody".into(),
        roles: vec![],
        guild: Some(GuildId(9)),
        channel: STAFF,
        act: Act::Component { message: CARD, custom_id, values: vec![] },
        attachment_size_limit: None,
    }
}

fn heard(seq: u64, event: Event) -> Heard {
    Heard { session_id: "s1".into(), seq, event }
}

#[tokio::test]
async fn i_1_a_message_heard_twice_acts_once() {
    let house = House::on().await;
    let said = message(1, OLIVE, "what is here?", 1);
    house.discord.put(said.clone());
    let (by_gateway, by_gateway_again) =
        tokio::join!(house.door.message(&said, Via::Gateway), house.door.message(&said, Via::Gateway));
    by_gateway.unwrap();
    by_gateway_again.unwrap();
    house.look().await;
    house.look().await;
    assert_eq!((house.tasks().await, house.states("acted").await), (1, 1));
}

#[tokio::test]
async fn i_1_an_interaction_heard_twice_acts_and_answers_once() {
    let house = House::on().await;
    let ask = Interaction {
        act: Act::Form {
            custom_id: house.tools.signer.sign(&Tap::new(TapVerb::Ask, "h1", ""), STAFF, None),
            fields: [("text".to_owned(), "what is here?".to_owned())].into(),
            message: Some(CARD),
        },
        ..press(50, OLIVE, String::new())
    };
    let before = house.discord.answered().len();
    for _ in 0..2 {
        house.door.interaction(&ask).await.unwrap();
    }
    assert_eq!((house.tasks().await, house.discord.answered().len() - before), (1, 1));
    let made = house.ledger.read(|r| tasks::by_code(r, TaskCode(1))).await.unwrap().unwrap();
    assert_eq!(made.ask_message, None, "the card is not the message that asks");
}

#[tokio::test]
async fn i_2_the_gateway_never_moves_the_cursor_and_reading_does() {
    let house = House::on().await;
    house.discord.put(message(0, BOT, "card", 60));
    house.look().await;
    let start = house.cursor().await.unwrap();
    let said = message(5, OLIVE, "what is here?", 0);
    house.door.message(&said, Via::Gateway).await.unwrap();
    assert_eq!(house.cursor().await, Some(start));
    house.discord.put(said.clone());
    house.look().await;
    assert_eq!(house.cursor().await, Some(said.id));
    assert_eq!(house.tasks().await, 1);
}

#[tokio::test]
async fn i_2_the_first_cursor_is_discords_now_whatever_our_clock_says() {
    let house = House::on().await;
    assert_eq!(house.tools.clock.now().since(SERVER_NOW), Duration::from_secs(86_400));
    house.look().await;
    let first = house.cursor().await.unwrap();
    assert_eq!(SERVER_NOW.since(first.created()), Duration::from_secs(15));

    // Without Discord's clock, its newest message stands for it.
    let blind = House::on().await;
    *blind.discord.now.lock().unwrap() = None;
    let old = message(1, BOT, "card", 500);
    blind.discord.put(old.clone());
    let read = blind.discord.reads.lock().unwrap().len();
    blind.look().await;
    let from = blind.discord.reads.lock().unwrap()[read];
    assert!(from < old.id && old.id.created().since(from.created()) >= Duration::from_secs(15), "{from}");
}

#[tokio::test]
async fn i_3_a_hole_is_found_at_ready_and_every_page_is_read() {
    let house = House::on().await;
    house.look().await;
    let (ears, _pending, catchup) = house.ears();
    ears.keep(Some(Saved { session_id: "s1".into(), resume_url: "ws://x".into(), seq: 1 })).await.unwrap();
    for n in 0..250 {
        let said = message(n, OLIVE, "what is here?", 1);
        house.discord.put(said.clone());
        // Every seventh is heard as it happens, the last one too: the holes are before and between.
        if n % 7 == 0 || n == 249 {
            ears.take(heard(n + 2, Event::Message(Box::new(said)))).await.unwrap();
        }
    }
    let ready = Event::Ready { user: BOT, name: "discord-os".into(), application: ApplicationId(1), guilds: vec![] };
    ears.take(heard(300, ready)).await.unwrap();
    assert_eq!(ears.saved().await.unwrap().unwrap().seq, 300);
    tokio::time::timeout(Duration::from_secs(1), catchup.bell().wait(Duration::from_secs(3600))).await.unwrap();
    catchup.look(100).await.unwrap();
    assert_eq!((house.tasks().await, house.states("acted").await), (250, 250));
}

#[tokio::test]
async fn i_1_an_event_and_its_place_in_the_session_are_saved_together() {
    let house = House::on().await;
    let (ears, mut pending, _catchup) = house.ears();
    ears.keep(Some(Saved { session_id: "s1".into(), resume_url: "ws://x".into(), seq: 1 })).await.unwrap();
    ears.take(heard(2, Event::Message(Box::new(message(1, OLIVE, "what is here?", 0))))).await.unwrap();
    assert_eq!(ears.saved().await.unwrap().unwrap().seq, 2);
    ears.take(heard(3, Event::Interaction(Box::new(house.tap(70, OLIVE, TapVerb::Off))))).await.unwrap();
    assert_eq!(ears.saved().await.unwrap().unwrap().seq, 3);
    house.door.answer(pending.recv().await.unwrap()).await;
    // Of another session, and not worth a commit of its own.
    let other = Heard { session_id: "s0".into(), seq: 900, event: Event::Resumed };
    ears.take(other).await.unwrap();
    ears.take(heard(4, Event::Other("TYPING_START".into()))).await.unwrap();
    assert_eq!(ears.saved().await.unwrap().unwrap().seq, 3);
    ears.keep(None).await.unwrap();
    assert_eq!(ears.saved().await.unwrap(), None);
}

#[tokio::test]
async fn i_4_strangers_bots_webhooks_and_what_is_no_order_run_nothing() {
    let house = House::on().await;
    let odd = |n, kind, author_kind, content: &str| Message { kind, author_kind, ..message(n, OLIVE, content, 0) };
    for said in [
        message(1, STRANGER, "what is here?", 0),
        odd(2, 0, AccountKind::Bot, "what is here?"),
        odd(3, 0, AccountKind::Webhook, "what is here?"),
        odd(4, 7, AccountKind::Human, "what is here?"),
        odd(5, 0, AccountKind::Human, "  "),
        message(6, BOT, "what is here?", 0),
        Message { channel: ChannelId(77), ..message(7, OLIVE, "what is here?", 0) },
        message(8, OLIVE, "/connect sk-or-v1-0123456789abcdef", 0),
    ] {
        house.door.message(&said, Via::Gateway).await.unwrap();
    }
    assert_eq!(house.tasks().await, 0);
    assert_eq!(house.inbox().await, [("ignored".to_owned(), 5), ("refused".to_owned(), 1)].into());
    for verb in TapVerb::ALL {
        let tap = house.tap(100 + verb as u64, STRANGER, verb);
        house.door.interaction(&tap).await.unwrap();
        let bot = Interaction { kind: AccountKind::Bot, ..house.tap(200 + verb as u64, OLIVE, verb) };
        house.door.interaction(&bot).await.unwrap();
    }
    assert_eq!((house.power().await, house.tasks().await), (Power::On, 0));
    assert_eq!(house.owner().await, Some(Subject::User(OLIVE)));
}

#[tokio::test]
async fn i_4_a_guild_role_that_was_added_counts_and_is_fetched_when_it_matters() {
    let house = House::on().await;
    let bot = house.tools.bot.clone();
    let role = person(Subject::GuildRole(RoleId(8)), Role::Operator);
    house.ledger.write("test", move |tx| people::add(tx, &bot, &role)).await.unwrap();
    // Not to be fetched now: the order is kept rather than refused for good.
    house.door.message(&message(1, STRANGER, "what is here?", 0), Via::Gateway).await.unwrap();
    assert_eq!((house.tasks().await, house.states("held").await), (0, 1));
    *house.discord.roles.lock().unwrap() = Some(vec![RoleId(8)]);
    house.door.message(&message(2, STRANGER, "what is here?", 0), Via::Gateway).await.unwrap();
    *house.discord.roles.lock().unwrap() = Some(vec![RoleId(7)]);
    house.door.message(&message(3, STRANGER, "what is here?", 0), Via::Gateway).await.unwrap();
    assert_eq!((house.tasks().await, house.states("refused").await), (1, 1));
}

#[tokio::test]
async fn i_5_only_a_human_on_the_current_card_becomes_the_owner() {
    let house = House::new(None).await;
    house.door.message(&message(1, STRANGER, "On", 0), Via::Gateway).await.unwrap();
    house.door.message(&message(2, STRANGER, "pair me", 0), Via::Gateway).await.unwrap();
    let mut n = 10;
    for verb in TapVerb::ALL {
        let custom_id = house.tools.signer.sign(&Tap::new(verb, "h1", "m1"), STAFF, None);
        let old_card = Act::Component { message: MessageId(1_999), custom_id: custom_id.clone(), values: vec![] };
        let form = Act::Form {
            custom_id: custom_id.clone(),
            fields: [("text".into(), "x".into())].into(),
            message: Some(CARD),
        };
        let elsewhere = ChannelId(STAFF.0 + 1);
        let forged = format!("{}AAAAAAAAAAAAAAAA", &custom_id[..custom_id.len() - 16]);
        let other_key = Signer::new(KeyId("k2".into()), KEY).sign(&Tap::new(verb, "h1", ""), STAFF, None);
        let other_host = house.tools.signer.sign(&Tap::new(verb, "h2", ""), STAFF, None);
        let mut bad = vec![
            Interaction { act: old_card, ..press(0, STRANGER, String::new()) },
            Interaction { act: form, ..press(0, STRANGER, String::new()) },
            Interaction { channel: elsewhere, ..press(0, STRANGER, custom_id.clone()) },
            Interaction { kind: AccountKind::Bot, ..press(0, STRANGER, custom_id.clone()) },
            Interaction { kind: AccountKind::Webhook, ..press(0, STRANGER, custom_id.clone()) },
            press(0, STRANGER, forged),
            press(0, STRANGER, other_key),
            press(0, STRANGER, other_host),
            press(0, STRANGER, "discord-os:on".into()),
        ];
        if !matches!(verb, TapVerb::On | TapVerb::Pair) {
            bad.push(press(0, STRANGER, custom_id));
        }
        for interaction in bad {
            n += 1;
            house.door.interaction(&Interaction { id: InteractionId(n), ..interaction }).await.unwrap();
            assert_eq!((house.owner().await, house.power().await), (None, Power::Off), "{verb:?} {n}");
        }
    }
    assert_eq!(house.tasks().await, 0);
    house.door.interaction(&house.tap(5, OLIVE, TapVerb::Pair)).await.unwrap();
    house.door.interaction(&house.tap(6, STRANGER, TapVerb::Pair)).await.unwrap();
    assert_eq!(house.owner().await, Some(Subject::User(OLIVE)));
}

#[tokio::test]
async fn i_5_a_pinned_owner_turns_pairing_by_tap_off() {
    let house = House::new(None).await;
    let tools = Tools { owner_pinned: true, ..house.tools.clone() };
    let door = Door::new(house.ledger.clone(), Arc::clone(&house.discord) as _, tools);
    door.interaction(&house.tap(1, STRANGER, TapVerb::Pair)).await.unwrap();
    door.interaction(&house.tap(2, STRANGER, TapVerb::On)).await.unwrap();
    assert_eq!((house.owner().await, house.power().await), (None, Power::Off));
}

#[tokio::test]
async fn i_7_twenty_presses_on_approve_and_deny_decide_once() {
    let house = House::on().await;
    house.door.message(&message(1, OLIVE, "delete the old logs", 0), Via::Gateway).await.unwrap();
    let (run, approval) = house.waiting_run().await;
    let sign = |verb, digest: Option<&Sha256>| {
        house.tools.signer.sign(&Tap::new(verb, approval.id.as_str(), ""), STAFF, digest)
    };
    let unbound = sign(TapVerb::Approve, None);
    let another = sign(TapVerb::Approve, Some(&Sha256::of("another action")));
    for (n, custom_id) in [unbound, another].into_iter().enumerate() {
        house.door.interaction(&press(300 + n as u64, OLIVE, custom_id)).await.unwrap();
    }
    let read = run.clone();
    assert_eq!(house.ledger.read(move |r| runs::state(r, &read)).await.unwrap(), Some(RunState::Waiting));
    let before = house.discord.answered().len();
    let presses = (0..20u64).map(|n| {
        let verb = if n % 2 == 0 { TapVerb::Approve } else { TapVerb::Deny };
        let tap = press(400 + n, OLIVE, sign(verb, Some(&approval.digest)));
        let door = Arc::clone(&house.door);
        async move { door.interaction(&tap).await.unwrap() }
    });
    futures_util::future::join_all(presses).await;
    let answers = house.discord.answered().split_off(before);
    assert_eq!(answers.iter().filter(|reply| **reply == Reply::Seen).count(), 1);
    let told = |r: &&Reply| matches!(r, Reply::Private(Body::Text(text)) if text.starts_with("Already"));
    assert_eq!(answers.iter().filter(told).count(), 19);
}

#[tokio::test]
async fn an_order_while_off_is_kept_and_answered_and_a_late_one_is_kept() {
    let house = House::new(Some(OLIVE)).await;
    house.look().await;
    let off = message(1, OLIVE, "what is here?", 0);
    house.door.message(&off, Via::Gateway).await.unwrap();
    assert_eq!((house.tasks().await, house.states("held").await), (0, 1));
    house.door.interaction(&house.tap(1, OLIVE, TapVerb::On)).await.unwrap();
    // Found by reading, three minutes old; and one that is young enough.
    let bot = house.tools.bot.clone();
    house.discord.put(message(2, OLIVE, "who wrote this?", 180));
    house.discord.put(message(3, OLIVE, "why is it so?", 5));
    let cursor = MessageId::at(SERVER_NOW.minus(Duration::from_secs(600)));
    house
        .ledger
        .write("test", move |tx| {
            channels::ensure_thread(tx, &bot, ChannelId(4), STAFF, None)?;
            channels::advance(tx, &bot, ChannelId(4), cursor, Millis(1))
        })
        .await
        .unwrap();
    let said: Vec<Message> = house.discord.messages.lock().unwrap().values().cloned().collect();
    for said in said {
        house.discord.put(Message { channel: ChannelId(4), id: MessageId(said.id.0 + 10), ..said });
    }
    house.look().await;
    assert_eq!((house.tasks().await, house.states("held").await), (2, 2));
    let bot = house.tools.bot.clone();
    assert_eq!(house.ledger.read(move |r| inbox::held_count(r, &bot)).await.unwrap(), 2);
}

#[tokio::test]
async fn a_channel_that_is_closed_to_us_is_said_and_a_wrong_token_is_fatal() {
    let house = House::on().await;
    *house.discord.refuse.lock().unwrap() = Some(ErrorKind::NoAccess);
    house.look().await;
    let bot = house.tools.bot.clone();
    let why = house.ledger.read(move |r| bots::get(r, &bot)).await.unwrap().unwrap().link_why.unwrap();
    assert!(why.contains("View Channel"), "{why}");
    *house.discord.refuse.lock().unwrap() = None;
    house.look().await;
    let bot = house.tools.bot.clone();
    let why = house.ledger.read(move |r| bots::get(r, &bot)).await.unwrap().unwrap().link_why;
    assert_eq!(why, None, "access is back, and the card still complains");
    *house.discord.refuse.lock().unwrap() = Some(ErrorKind::Unauthorized);
    assert!(Catchup::new(Arc::clone(&house.door)).look(1).await.is_err());
}

#[tokio::test]
async fn identifies_are_counted_on_disk_and_spaced() {
    let house = House::on().await;
    let (ears, _pending, _catchup) = house.ears();
    assert_eq!(ears.identify(1000).await.unwrap(), Budget::Go);
    assert_eq!(ears.identify(999).await.unwrap(), Budget::Wait(Duration::from_secs(5)));
    // 0 stands for «not asked», so Discord is asked.
    assert_eq!(ears.identify(0).await.unwrap(), Budget::Wait(Duration::from_secs(5)));
}

#[tokio::test]
async fn the_connections_state_is_on_the_bots_row() {
    let house = House::on().await;
    let (ears, _pending, _catchup) = house.ears();
    let row = || {
        let bot = house.tools.bot.clone();
        async { house.ledger.read(move |r| bots::get(r, &bot)).await.unwrap().unwrap() }
    };
    ears.link(Link::Lost { why: "The line broke.".into() }).await;
    let bot = row().await;
    assert_eq!((bot.link.as_str(), bot.link_why.as_deref()), ("down", Some("The line broke.")));
    ears.lacks(Lack::Content, Some("No content.".into())).await;
    ears.link(Link::Up { heartbeat: Millis(1_000_000) }).await;
    ears.link(Link::Up { heartbeat: Millis(1_000_001) }).await;
    let bot = row().await;
    assert_eq!((bot.link.as_str(), bot.link_why.as_deref()), ("up", Some("No content.")));
    assert_eq!(bot.link_at, Some(Millis(1_000_000)));
}

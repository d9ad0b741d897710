//! What every implementation of `Discord` does, whatever stands behind it (docs: discord/facts.md).
//!
//! The channel must be one in which the bot may do all that it is invited for, and nobody else may write meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::base::hash::Sha256;
use discord_os::base::ids::{AttachmentId, ChannelId, GuildId, InteractionId, MessageId, UserId};
use discord_os::base::secret::Secret;
use discord_os::discord::error::ErrorKind;
use discord_os::discord::{Answerable, Discord, Nonce, Upload};
use discord_os::model::actor::AccountKind;
use discord_os::model::card::{Block, Body, Button, ButtonStyle, Card, Choice, Post, Select};
use discord_os::model::message::Message;
use discord_os::model::reply::Reply;

/// Where the contract is tried.
pub(crate) struct Place {
    pub(crate) channel: ChannelId,
    pub(crate) guild: GuildId,
    /// A person in the guild who takes direct messages.
    pub(crate) person: UserId,
}

/// A nonce that no other call of this process has.
fn nonce() -> Nonce {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let start = Entropy::system().hex::<6>();
    Nonce(format!("c{start}{}", NEXT.fetch_add(1, Ordering::SeqCst)))
}

async fn send(discord: &dyn Discord, channel: ChannelId, text: &str) -> Message {
    discord.send(channel, &Post::text(text), &nonce()).await.unwrap()
}

/// Everything that is asked of an implementation.
pub(crate) async fn contract(discord: &dyn Discord, place: &Place) {
    who_and_where(discord, place).await;
    messages_are_sent_once_and_read_back(discord, place).await;
    pages_run_forward(discord, place).await;
    cards_keep_their_parts(discord, place).await;
    what_is_gone_is_gone(discord, place).await;
    threads_have_the_id_of_their_message(discord, place).await;
    people_are_reached_directly(discord, place).await;
    files_come_back_as_they_went(discord, place).await;
    a_wrong_file_posts_nothing(discord, place).await;
}

async fn who_and_where(discord: &dyn Discord, place: &Place) {
    let me = discord.me().await.unwrap();
    assert!(me.user.0 > 0 && me.application.0 > 0 && !me.name.is_empty());
    let channel = discord.channel(place.channel).await.unwrap();
    assert_eq!((channel.id, channel.guild), (place.channel, Some(place.guild)));
    assert!(!channel.is_thread() && !channel.archived);
    assert_eq!(discord.member(place.guild, me.user).await.unwrap().user, me.user);
    assert_eq!(discord.member(place.guild, place.person).await.unwrap().user, place.person);
    assert_eq!(discord.member(place.guild, UserId(5)).await.unwrap_err().kind, ErrorKind::NotFound);
    let gateway = discord.gateway().await.unwrap();
    assert!(gateway.url.starts_with("ws") && gateway.total > 0 && gateway.remaining <= gateway.total);
    let unknown = discord.channel(ChannelId(5)).await.unwrap_err().kind;
    assert!(matches!(unknown, ErrorKind::NotFound | ErrorKind::NoAccess), "{unknown:?}");
}

async fn messages_are_sent_once_and_read_back(discord: &dyn Discord, place: &Place) {
    let (me, nonce) = (discord.me().await.unwrap(), nonce());
    let post = Post::text("hello **there**");
    let sent = discord.send(place.channel, &post, &nonce).await.unwrap();
    assert_eq!((sent.content.as_str(), sent.author, sent.author_kind), ("hello **there**", me.user, AccountKind::Bot));
    assert_eq!((sent.channel, sent.nonce.as_deref()), (place.channel, Some(nonce.0.as_str())));
    let again = discord.send(place.channel, &post, &nonce).await.unwrap();
    assert_eq!(again.id, sent.id, "the same nonce is the same message");
    let newest = discord.newest(place.channel, 2).await.unwrap();
    assert_eq!(newest.messages[0].id, sent.id);
    assert!(newest.messages.get(1).is_none_or(|m| m.id < sent.id));
    assert!(newest.server_time.is_some());
    let answer = discord.send(place.channel, &Post::text("yes").replying(sent.id), &self::nonce()).await.unwrap();
    assert_eq!(answer.reply_to, Some(sent.id));
    let edited = discord.edit(place.channel, sent.id, &Body::Text("bye".into())).await.unwrap();
    assert!(edited.content == "bye" && edited.edited.is_some());
    assert_eq!(discord.message(place.channel, sent.id).await.unwrap().content, "bye");
    discord.react(place.channel, sent.id, "👀").await.unwrap();
    discord.react(place.channel, sent.id, "👀").await.unwrap();
    discord.typing(place.channel).await.unwrap();
}

async fn pages_run_forward(discord: &dyn Discord, place: &Place) {
    let start = send(discord, place.channel, "start").await.id;
    let mut sent = Vec::new();
    for n in 0..5 {
        sent.push(send(discord, place.channel, &n.to_string()).await.id);
    }
    let (mut cursor, mut seen) = (start, Vec::new());
    loop {
        let page = discord.after(place.channel, cursor, 2).await.unwrap();
        assert!(page.messages.len() <= 2);
        let Some(last) = page.messages.last() else { break };
        cursor = last.id;
        seen.extend(page.messages.iter().map(|m| m.id));
    }
    assert_eq!(seen, sent, "the page that follows the cursor, oldest first, and nothing left out");
}

fn card() -> Card {
    let press = |id: &str| Button::Press {
        style: ButtonStyle::Primary,
        label: "Go".into(),
        custom_id: id.into(),
        disabled: false,
    };
    let choice = |n: u8| Choice { label: format!("DOS-{n}"), value: n.to_string(), description: Some("a job".into()) };
    let link = Button::Link { label: "See".into(), url: "https://discord.com/channels/@me/1/2".into() };
    Card {
        accent: Some(0x0033_66FF),
        blocks: vec![
            Block::Text("## One".into()),
            Block::Divider,
            Block::Buttons(vec![press("contract:a"), press("contract:b"), link]),
            Block::Menu(Select {
                custom_id: "contract:c".into(),
                placeholder: "Jobs".into(),
                choices: vec![choice(1), choice(2)],
            }),
        ],
    }
}

async fn cards_keep_their_parts(discord: &dyn Discord, place: &Place) {
    let sent = discord.send(place.channel, &Post::card(card()), &nonce()).await.unwrap();
    let read = discord.message(place.channel, sent.id).await.unwrap();
    assert_eq!(read.custom_ids, ["contract:a", "contract:b", "contract:c"]);
    assert_eq!(read.component_text, ["## One"]);
    assert_ne!(read.flags & (1 << 15), 0);
    let other = Card { accent: None, blocks: vec![Block::Text("two".into())] };
    let edited = discord.edit(place.channel, sent.id, &Body::Card(other)).await.unwrap();
    assert!(edited.component_text == ["two"] && edited.custom_ids.is_empty());
    let text = send(discord, place.channel, "was text").await;
    let turned = discord.edit(place.channel, text.id, &Body::Card(card())).await.unwrap();
    assert!(turned.content.is_empty() && turned.custom_ids.len() == 3, "a text can become a card");
}

async fn what_is_gone_is_gone(discord: &dyn Discord, place: &Place) {
    let nonce = nonce();
    let sent = discord.send(place.channel, &Post::text("gone soon"), &nonce).await.unwrap();
    discord.delete(place.channel, sent.id).await.unwrap();
    discord.delete(place.channel, sent.id).await.unwrap();
    assert_eq!(discord.message(place.channel, sent.id).await.unwrap_err().kind, ErrorKind::NotFound);
    let again = discord.send(place.channel, &Post::text("gone soon"), &nonce).await.unwrap_err();
    assert_eq!(again.kind, ErrorKind::NotFound, "the nonce of a message that was deleted");
    let edit = discord.edit(place.channel, sent.id, &Body::Text("x".into())).await.unwrap_err();
    assert_eq!(edit.kind, ErrorKind::NotFound);
    let orphan = discord.send(place.channel, &Post::text("late").replying(sent.id), &self::nonce()).await.unwrap();
    assert_eq!(orphan.content, "late", "a reply to nothing is a plain message");
    let late = Answerable { id: InteractionId(5), token: Secret::new("bm8tc3VjaC1pbnRlcmFjdGlvbg") };
    assert_eq!(discord.respond(&late, &Reply::Seen).await.unwrap_err().kind, ErrorKind::Expired);
}

async fn threads_have_the_id_of_their_message(discord: &dyn Discord, place: &Place) {
    let starter = send(discord, place.channel, "a job").await;
    let thread = discord.open_thread(place.channel, starter.id, "DOS-1 a job").await.unwrap();
    assert_eq!(thread.0, starter.id.0);
    assert_eq!(discord.open_thread(place.channel, starter.id, "DOS-1 a job").await.unwrap(), thread);
    assert!(discord.message(place.channel, starter.id).await.unwrap().has_thread);
    let found = discord.channel(thread).await.unwrap();
    assert!(found.is_thread() && found.parent == Some(place.channel) && !found.archived);
    let inside = send(discord, thread, "inside").await;
    assert_eq!(inside.channel, thread);
    let page = discord.after(thread, MessageId(0), 100).await.unwrap();
    assert!(page.messages.iter().any(|m| m.id == inside.id));
}

async fn people_are_reached_directly(discord: &dyn Discord, place: &Place) {
    let channel = discord.dm(place.person).await.unwrap();
    assert_eq!(discord.dm(place.person).await.unwrap(), channel, "the same one each time");
    let sent = send(discord, channel, "psst").await;
    assert_eq!((sent.channel, sent.guild), (channel, None));
}

fn upload(dir: &Path, name: &str, bytes: &[u8]) -> Upload {
    let path = dir.join("to-send");
    std::fs::write(&path, bytes).unwrap();
    let description = Some(format!("discord-os object 1 · sha256 {}", Sha256::of(bytes)));
    Upload { path, name: name.into(), size: bytes.len() as u64, content_type: None, description }
}

async fn files_come_back_as_they_went(discord: &dyn Discord, place: &Place) {
    let dir = tempfile::tempdir().unwrap();
    let long: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8).collect();
    for (name, bytes) in
        [("a.txt", b"x".as_slice()), ("数据 报告.bin", &long), ("it's \"quoted\" & spaced.log", b"log\n")]
    {
        let file = upload(dir.path(), name, bytes);
        let told = AtomicU64::new(0);
        let count = |n: u64| {
            told.fetch_add(n, Ordering::SeqCst);
        };
        let (post, nonce) = (Post::text("one file"), nonce());
        let sent = discord.upload(place.channel, &post, std::slice::from_ref(&file), &nonce, &count).await.unwrap();
        assert_eq!(told.load(Ordering::SeqCst), file.size);
        let read = discord.message(place.channel, sent.id).await.unwrap();
        assert_eq!(read.content, "one file");
        assert_eq!((read.attachments.len(), read.attachments[0].size), (1, file.size), "{name}");
        assert_eq!(read.attachments[0].description, file.description, "{name}");
        let (link, size) = discord.link(place.channel, sent.id, read.attachments[0].id).await.unwrap();
        let to = dir.path().join("came");
        let down = discord.download(&link, &to, size).await.unwrap();
        assert_eq!((down.size, down.sha256), (file.size, Sha256::of(bytes)), "{name}");
        assert_eq!(std::fs::read(&to).unwrap(), bytes);
        assert_eq!(discord.download(&link, &to, size).await.unwrap_err().kind, ErrorKind::File, "it is there already");
        std::fs::remove_file(&to).unwrap();
        if size > 1 {
            assert_eq!(discord.download(&link, &to, size - 1).await.unwrap_err().kind, ErrorKind::Integrity);
            assert!(!to.exists());
        }
        let missing = discord.link(place.channel, sent.id, AttachmentId(5)).await.unwrap_err();
        assert_eq!(missing.kind, ErrorKind::NotFound);
    }
    let files = [upload(dir.path(), "1.txt", b"same"), upload(dir.path(), "2.txt", b"same")];
    let sent = discord.upload(place.channel, &Post::card(card()), &files, &nonce(), &|_| ()).await.unwrap();
    assert_eq!((sent.attachments.len(), sent.custom_ids.len()), (2, 3), "a card with files");
}

async fn a_wrong_file_posts_nothing(discord: &dyn Discord, place: &Place) {
    let dir = tempfile::tempdir().unwrap();
    let before = send(discord, place.channel, "before").await;
    let file = upload(dir.path(), "a.txt", b"four");
    for wrong in [Upload { size: 3, ..file.clone() }, Upload { size: 5, ..file.clone() }] {
        let sent = discord.upload(place.channel, &Post::text("x"), &[wrong], &nonce(), &|_| ()).await;
        assert_eq!(sent.unwrap_err().kind, ErrorKind::File);
    }
    let after = discord.after(place.channel, before.id, 10).await.unwrap();
    assert!(after.messages.is_empty(), "{:?}", after.messages);
}

mod simulator {
    use super::*;
    use discord_os::discord::rest::{Rest, RestConfig};
    use discord_os::sim::client::Control;
    use discord_os::sim::{Options, Sim};
    use serde_json::json;

    async fn start() -> (Sim, Rest, Control, Place) {
        let (clock, entropy) = (SystemClock::shared(), Arc::new(Entropy::seeded(7)));
        let sim = Sim::start(Options::default(), clock.clone(), entropy.clone()).await.unwrap();
        let at = sim.endpoints().clone();
        let config = RestConfig::new(at.api_base.clone(), Secret::new(at.bot_token.clone()), clock, entropy);
        let place = Place { channel: at.channel, guild: at.guild, person: at.people.owner };
        (sim, Rest::new(config).unwrap(), Control::new(&at).unwrap(), place)
    }

    async fn end(sim: Sim, control: &Control) {
        let violations = control.violations().await.unwrap();
        assert!(violations.is_empty(), "{violations:?}");
        sim.stop().await;
    }

    #[tokio::test]
    async fn the_rest_client_keeps_the_contract_on_the_simulator() {
        let (sim, rest, control, place) = start().await;
        control.rate_limits(false).await.unwrap();
        contract(&rest, &place).await;
        end(sim, &control).await;
    }

    #[tokio::test]
    async fn a_burst_is_never_told_to_wait() {
        let (sim, rest, control, place) = start().await;
        let sends = (0..8).map(|n| {
            let rest = &rest;
            async move { send(rest, place.channel, &n.to_string()).await.id }
        });
        let mut sent = futures_util::future::join_all(sends).await;
        sent.sort_unstable();
        sent.dedup();
        let counters = control.counters().await.unwrap();
        assert_eq!((sent.len(), counters.messages_created, counters.status_429), (8, 8, 0), "{counters:?}");
        end(sim, &control).await;
    }

    /// Every way in which one answer can be lost or refused for a moment.
    fn faults() -> Vec<serde_json::Value> {
        let limit = |scope: &str| json!({"kind": "rate_limit", "scope": scope, "retry_after": 0.05});
        let status = |status: u16, effect: bool| json!({"kind": "status", "status": status, "effect": effect});
        let reset = |effect: bool| json!({"kind": "reset", "effect": effect});
        vec![
            limit("user"),
            limit("global"),
            limit("shared"),
            status(502, true),
            status(502, false),
            status(500, true),
            reset(true),
            reset(false),
        ]
    }

    #[tokio::test]
    async fn i_12_no_fault_loses_or_doubles_a_message() {
        let (sim, rest, control, place) = start().await;
        control.rate_limits(false).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        for (n, fault) in faults().into_iter().enumerate() {
            let on = json!({"method": "POST", "path": "/channels/*/messages"});
            let rule = |nth: u64| json!({"on": on, "nth": nth, "times": 1, "do": fault});
            control.faults(json!([rule(2), rule(5), rule(6), rule(11)])).await.unwrap();
            for m in 0..6 {
                let text = format!("{n}.{m}");
                send(&rest, place.channel, &text).await;
                expected.push(text);
            }
            let file = upload(dir.path(), "a.bin", &vec![n as u8; 200_000]);
            let post = Post::text(format!("{n} file"));
            for _ in 0..2 {
                let files = std::slice::from_ref(&file);
                rest.upload(place.channel, &post, files, &nonce(), &|_| ()).await.unwrap();
                expected.push(format!("{n} file"));
            }
            control.clear_faults().await.unwrap();
        }
        let shown = control.all_messages(place.person, place.channel).await.unwrap();
        let shown: Vec<String> = shown.into_iter().map(|m| m.content).collect();
        assert_eq!(shown, expected);
        assert!(control.counters().await.unwrap().nonce_hits > 0, "some answers were lost after the effect");
        end(sim, &control).await;
    }

    #[tokio::test]
    async fn reads_edits_and_downloads_outlive_a_fault() {
        let (sim, rest, control, place) = start().await;
        control.rate_limits(false).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = upload(dir.path(), "a.bin", &[9; 300_000]);
        let sent = rest.upload(place.channel, &Post::text("f"), &[file], &nonce(), &|_| ()).await.unwrap();
        for fault in faults() {
            control.faults(json!([{"do": fault, "times": 2}])).await.unwrap();
            let (link, size) = rest.link(place.channel, sent.id, sent.attachments[0].id).await.unwrap();
            assert_eq!(size, 300_000);
            let edited = rest.edit(place.channel, sent.id, &Body::Text("g".into())).await.unwrap();
            assert_eq!(edited.attachments.len(), 1, "an edit keeps the files");
            control.clear_faults().await.unwrap();
            for broken in [json!({"kind": "cut", "bytes": 1000}), json!({"kind": "status", "status": 503})] {
                control.faults(json!([{"on": {"cdn": true}, "do": broken}])).await.unwrap();
                let to = dir.path().join("came");
                let down = rest.download(&link, &to, size).await.unwrap();
                assert_eq!(down.sha256, Sha256::of([9; 300_000]));
                std::fs::remove_file(&to).unwrap();
                control.clear_faults().await.unwrap();
            }
        }
        end(sim, &control).await;
    }
}

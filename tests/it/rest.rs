//! The REST client against a server that misbehaves.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use discord_os::base::clock::{Clock, Millis, SystemClock};
use discord_os::base::hash::Sha256;
use discord_os::base::ids::{ChannelId, GuildId, InteractionId, MessageId, UserId};
use discord_os::base::secret::Secret;
use discord_os::discord::error::ErrorKind;
use discord_os::discord::rest::Rest;
use discord_os::discord::{Answerable, Discord, Nonce, Upload};
use discord_os::model::card::{Body, Post};
use discord_os::model::message::CdnUrl;
use discord_os::model::reply::Reply;
use serde_json::json;

use super::stub::{Play, Stub, TOKEN, message};

const CHANNEL: ChannelId = ChannelId(20);

fn nonce(text: &str) -> Nonce {
    Nonce(text.to_owned())
}

fn answerable() -> Answerable {
    Answerable { id: InteractionId(5), token: Secret::new("interaction-token") }
}

fn answer(status: u16, body: impl ToString) -> Play {
    Play::Answer(status, vec![("via", "1.1 google".into())], body.to_string())
}

fn limited(scope: &'static str, seconds: f64) -> Play {
    let headers = vec![("via", "1.1 google".into()), ("x-ratelimit-scope", scope.into()), ("retry-after", "1".into())];
    Play::Answer(
        429,
        headers,
        json!({"message": "slow", "retry_after": seconds, "global": scope == "global"}).to_string(),
    )
}

async fn say(rest: &Rest, n: &str) -> Result<MessageId, ErrorKind> {
    rest.send(CHANNEL, &Post::text("hi"), &nonce(n)).await.map(|m| m.id).map_err(|e| e.kind)
}

#[tokio::test]
async fn a_429_of_any_scope_is_sat_out() {
    for scope in ["user", "global", "shared"] {
        let stub = Stub::start([limited(scope, 0.2), limited(scope, 0.1)]).await;
        let (rest, clock) = (stub.client(), SystemClock::new());
        say(&rest, "n").await.unwrap();
        assert!(clock.steady() >= Duration::from_millis(300), "{scope}: {:?}", clock.steady());
        assert_eq!((stub.log().len(), stub.made()), (3, 1), "{scope}");
    }
}

#[tokio::test]
async fn a_429_without_any_number_is_not_answered_with_haste() {
    let stub = Stub::start([answer(429, "{}")]).await;
    let error = stub.client().channel(CHANNEL).await.unwrap_err();
    assert_eq!((error.kind, error.after), (ErrorKind::RateLimited, Some(Duration::from_secs(5))));
    assert_eq!(stub.log().len(), 1);
}

#[tokio::test]
async fn a_long_wait_is_the_callers_to_plan() {
    let stub = Stub::start([limited("user", 60.0)]).await;
    let rest = stub.client();
    let error = rest.send(CHANNEL, &Post::text("hi"), &nonce("n")).await.unwrap_err();
    assert_eq!((error.kind, error.after), (ErrorKind::RateLimited, Some(Duration::from_secs(60))));
    assert_eq!(say(&rest, "n").await, Err(ErrorKind::RateLimited), "the wait is kept in mind");
    assert_eq!(stub.log().len(), 1);
}

#[tokio::test]
async fn a_page_of_cloudflare_stops_everything_for_long() {
    let stub = Stub::start([Play::Answer(429, vec![], "<html>blocked</html>".into())]).await;
    let rest = stub.client();
    let error = rest.channel(CHANNEL).await.unwrap_err();
    assert_eq!((error.kind, error.after), (ErrorKind::Blocked, Some(Duration::from_secs(600))));
    assert_eq!(say(&rest, "n").await, Err(ErrorKind::Blocked));
    assert_eq!(rest.respond(&answerable(), &Reply::Seen).await.unwrap_err().kind, ErrorKind::Blocked);
    assert_eq!(stub.log().len(), 1);
}

#[tokio::test]
async fn i_12_a_send_whose_answer_was_lost_makes_one_message() {
    for play in [Play::EffectThen(502), Play::EffectThenReset, Play::Reset, Play::Silence] {
        let stub = Stub::start([play.clone()]).await;
        let first = say(&stub.client(), "n").await.unwrap();
        let log = stub.log();
        assert_eq!((log.len(), stub.made(), first), (2, 1, MessageId(1000)), "{play:?}");
        assert_eq!(log[0].body, log[1].body, "the same nonce");
    }
}

#[tokio::test]
async fn a_send_that_never_gets_an_answer_says_that_it_does_not_know() {
    let stub = Stub::start(std::iter::repeat_n(Play::EffectThen(503), 5)).await;
    let error = stub.client().send(CHANNEL, &Post::text("hi"), &nonce("n")).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Unknown, Some(503)));
    assert_eq!((stub.log().len(), stub.made()), (5, 1));
}

#[tokio::test]
async fn a_wait_after_a_lost_answer_does_not_hide_that_it_may_have_worked() {
    let stub = Stub::start([Play::EffectThenReset, limited("user", 60.0)]).await;
    assert_eq!(say(&stub.client(), "n").await, Err(ErrorKind::Unknown));
}

#[tokio::test]
async fn i_12_an_answer_to_an_interaction_is_never_repeated() {
    for play in [Play::EffectThen(502), Play::Reset, Play::Silence, limited("user", 0.1)] {
        let stub = Stub::start([play.clone()]).await;
        let kind = stub.client().respond(&answerable(), &Reply::Seen).await.unwrap_err().kind;
        let limited = matches!(play, Play::Answer(..));
        assert_eq!(kind, if limited { ErrorKind::RateLimited } else { ErrorKind::Unknown }, "{play:?}");
        assert_eq!(stub.log().len(), 1, "{play:?}");
    }
}

#[tokio::test]
async fn answers_of_interactions_do_not_wait_for_each_other() {
    let stub = Stub::start([Play::Silence]).await;
    let rest = stub.client();
    let (to, other) = (answerable(), Answerable { id: InteractionId(6), ..answerable() });
    let first = rest.respond(&to, &Reply::Seen);
    let second = async {
        while stub.log().is_empty() {
            tokio::task::yield_now().await;
        }
        rest.respond(&other, &Reply::Seen).await
    };
    tokio::pin!(first);
    tokio::select! {
        _ = &mut first => panic!("the silent one came first"),
        answered = second => answered.unwrap(),
    }
}

#[tokio::test]
async fn reads_outlive_a_stall_and_a_reset() {
    let channel = json!({"id": "20", "type": 0}).to_string();
    let stub = Stub::start([Play::Silence, Play::Reset, Play::EffectThen(500), answer(200, channel)]).await;
    assert_eq!(stub.client().channel(CHANNEL).await.unwrap().id, CHANNEL);
    let stub = Stub::start(std::iter::repeat_n(Play::Reset, 5)).await;
    assert_eq!(stub.client().channel(CHANNEL).await.unwrap_err().kind, ErrorKind::Unreachable);
    let stub = Stub::start(std::iter::repeat_n(Play::EffectThen(500), 5)).await;
    assert_eq!(stub.client().channel(CHANNEL).await.unwrap_err().kind, ErrorKind::Server);
}

#[tokio::test]
async fn a_refused_token_is_not_shown_again() {
    let stub = Stub::start([answer(401, json!({"message": "401: Unauthorized", "code": 0}))]).await;
    let rest = stub.client();
    assert_eq!(rest.channel(CHANNEL).await.unwrap_err().kind, ErrorKind::Unauthorized);
    assert_eq!(say(&rest, "n").await, Err(ErrorKind::Unauthorized));
    assert_eq!(stub.log().len(), 1);
}

#[tokio::test]
async fn i_11_the_token_goes_to_the_api_alone() {
    let stub = Stub::start([]).await;
    let (rest, dir) = (stub.client(), tempfile::tempdir().unwrap());
    say(&rest, "n").await.unwrap();
    rest.respond(&answerable(), &Reply::Seen).await.unwrap();
    let link = CdnUrl::new(format!("http://{}/attachments/1/2/a.txt?ex=1&is=2&hm=3&", stub.addr));
    rest.download(&link, &dir.path().join("a"), 100).await.unwrap();
    let log = stub.log();
    assert_eq!(log[0].header("authorization"), Some(format!("Bot {TOKEN}").as_str()));
    assert!(log[0].header("user-agent").unwrap().starts_with("DiscordBot (https://"));
    for request in &log[1..] {
        assert!(!request.headers.values().any(|v| v.contains(TOKEN)), "{}", request.line);
    }
    assert!(log[1].line.starts_with("POST /api/v10/interactions/5/interaction-token/callback "));
}

#[tokio::test]
async fn no_error_shows_a_token() {
    let stub = Stub::start([Play::Reset]).await;
    let error = stub.client().respond(&answerable(), &Reply::Seen).await.unwrap_err();
    assert!(!error.message.contains("interaction-token"), "{}", error.message);
    let echo = json!({"message": format!("bad Bot {TOKEN}"), "code": 50035});
    let stub = Stub::start([answer(400, echo)]).await;
    let error = stub.client().channel(CHANNEL).await.unwrap_err();
    assert!(!error.message.contains(TOKEN), "{}", error.message);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let to = || Play::Answer(302, vec![("location", "http://127.0.0.1:1/elsewhere".into())], String::new());
    let stub = Stub::start([to(), to()]).await;
    let (rest, dir) = (stub.client(), tempfile::tempdir().unwrap());
    assert_eq!(rest.channel(CHANNEL).await.unwrap_err().kind, ErrorKind::Protocol);
    let link = CdnUrl::new(format!("http://{}/attachments/1/2/a", stub.addr));
    let error = rest.download(&link, &dir.path().join("a"), 100).await.unwrap_err();
    assert_eq!((error.kind, stub.log().len()), (ErrorKind::Protocol, 2));
    assert!(!dir.path().join("a").exists());
}

#[tokio::test]
async fn what_is_so_already_is_a_success() {
    let stub = Stub::start([
        answer(404, json!({"code": 10008, "message": "Unknown Message"})),
        answer(400, json!({"code": 160004, "message": "A thread has already been created for this message"})),
        answer(404, json!({"code": 10008, "message": "Unknown Message"})),
        answer(404, json!({"code": 10003, "message": "Unknown Channel"})),
    ])
    .await;
    let rest = stub.client();
    rest.delete(CHANNEL, MessageId(1)).await.unwrap();
    assert_eq!(rest.open_thread(CHANNEL, MessageId(7), "DOS-1").await.unwrap(), ChannelId(7));
    assert_eq!(say(&rest, "n").await, Err(ErrorKind::NotFound), "the nonce of a message that was deleted");
    assert_eq!(rest.delete(CHANNEL, MessageId(1)).await.unwrap_err().kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn what_discord_would_refuse_is_not_sent() {
    let stub = Stub::start([]).await;
    let rest = stub.client();
    let long = "a".repeat(2001);
    assert_eq!(rest.send(CHANNEL, &Post::text(&long), &nonce("n")).await.unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(rest.edit(CHANNEL, MessageId(1), &Body::Text(long)).await.unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(say(&rest, &"n".repeat(26)).await, Err(ErrorKind::Invalid));
    assert_eq!(rest.open_thread(CHANNEL, MessageId(1), "").await.unwrap_err().kind, ErrorKind::Invalid);
    assert!(stub.log().is_empty());
}

#[tokio::test]
async fn pages_come_in_order_with_discords_own_time() {
    let list = json!([message(30), {"id": "what"}, message(40), message(20)]).to_string();
    let date = ("date", "Tue, 15 Nov 1994 08:12:31 GMT".to_owned());
    let page = Play::Answer(200, vec![date], list);
    let stub = Stub::start([page.clone(), page]).await;
    let rest = stub.client();
    let ids = |page: &discord_os::discord::Page| page.messages.iter().map(|m| m.id.0).collect::<Vec<_>>();
    let after = rest.after(CHANNEL, MessageId(10), 100).await.unwrap();
    assert_eq!((ids(&after), after.server_time), (vec![20, 30, 40], Some(Millis(784_887_151_000))));
    assert_eq!(ids(&rest.newest(CHANNEL, 3).await.unwrap()), [40, 30, 20]);
    assert!(stub.log()[0].line.contains("?after=10&limit=100 "));
}

#[tokio::test]
async fn a_burst_stays_within_the_bucket_that_it_learns() {
    // Five a window; the first answer teaches, the other four go, the sixth waits for the reset.
    let head = |remaining: u32| {
        let pairs = [("x-ratelimit-bucket", "b".into()), ("x-ratelimit-limit", "5".into())];
        let more = [("x-ratelimit-remaining", remaining.to_string()), ("x-ratelimit-reset-after", "0.5".into())];
        Play::Answer(200, pairs.into_iter().chain(more).collect(), message(1).to_string())
    };
    let stub = Stub::start((0..6).map(|n| head(4 - n % 5))).await;
    let (rest, clock) = (stub.client(), SystemClock::new());
    let done: Mutex<Vec<Duration>> = Mutex::default();
    let names: Vec<String> = (0..6).map(|n| n.to_string()).collect();
    let one = |n: String| {
        let (rest, clock, done) = (&rest, &clock, &done);
        async move {
            say(rest, &n).await.unwrap();
            done.lock().unwrap().push(clock.steady());
        }
    };
    futures_util::future::join_all(names.into_iter().map(one)).await;
    let done = done.into_inner().unwrap();
    assert!(done[5] >= Duration::from_millis(500) && done[4] < done[5], "{done:?}");
}

fn file(size: usize) -> (tempfile::TempDir, Upload) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, vec![7u8; size]).unwrap();
    let (name, size, description) = ("名 a.bin".to_owned(), size as u64, Some("what".to_owned()));
    (dir, Upload { path, name, size, content_type: Some("text/plain".into()), description })
}

async fn put(rest: &Rest, file: &Upload, progress: &(dyn Fn(u64) + Send + Sync)) -> Result<MessageId, ErrorKind> {
    let sent = rest.upload(CHANNEL, &Post::text("a file"), std::slice::from_ref(file), &nonce("n"), progress).await;
    sent.map(|m| m.id).map_err(|e| e.kind)
}

#[tokio::test]
async fn a_file_goes_out_whole_with_its_length_announced() {
    for size in [0, 1, 70_000, 3_000_000] {
        let stub = Stub::start([]).await;
        let ((_dir, file), sent) = (file(size), AtomicU64::new(0));
        put(&stub.client(), &file, &|n| {
            sent.fetch_add(n, Ordering::SeqCst);
        })
        .await
        .unwrap();
        assert_eq!(sent.load(Ordering::SeqCst), size as u64);
        let log = stub.log();
        assert!(log[0].header("content-length").is_some() && log[0].header("transfer-encoding").is_none());
        let text = String::from_utf8_lossy(&log[0].body).into_owned();
        assert!(text.contains("name=\"files[0]\"; filename=\"名 a.bin\"\r\n"), "{}", text.split('7').next().unwrap());
        assert_eq!(log[0].json()["attachments"], json!([{"id": 0, "filename": "名 a.bin", "description": "what"}]));
        assert_eq!(log[0].body.iter().filter(|b| **b == 7).count(), size);
    }
}

#[tokio::test]
async fn no_name_of_a_file_breaks_out_of_its_header() {
    let stub = Stub::start([]).await;
    let (_dir, file) = file(1);
    let sly = Upload { name: "a\r\nX-Sly: 1\"b".into(), ..file.clone() };
    put(&stub.client(), &sly, &|_| ()).await.unwrap();
    let text = String::from_utf8_lossy(&stub.log()[0].body).into_owned();
    assert!(text.contains("filename=\"a X-Sly: 1\\\"b\"\r\n"), "{text}");
    let blank = Upload { name: " \n".into(), ..file };
    put(&stub.client(), &blank, &|_| ()).await.unwrap();
    assert_eq!(stub.log()[1].json()["attachments"][0]["filename"], "file");
}

#[tokio::test]
async fn an_upload_whose_answer_was_lost_is_repeated_with_its_nonce() {
    for play in [Play::EffectThen(502), Play::EffectThenReset] {
        let stub = Stub::start([play]).await;
        let ((_dir, file), sent) = (file(500_000), AtomicU64::new(0));
        put(&stub.client(), &file, &|n| {
            sent.fetch_add(n, Ordering::SeqCst);
        })
        .await
        .unwrap();
        assert_eq!((stub.log().len(), stub.made()), (2, 1));
        assert_eq!(sent.load(Ordering::SeqCst), 500_000, "the bar does not start over");
    }
}

#[tokio::test]
async fn a_file_that_changes_posts_nothing() {
    let size = 24_000_000;
    let shrink = |path: &PathBuf| std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap();
    let grow = |path: &PathBuf| {
        use std::io::Write;
        std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
    };
    let changes: [&(dyn Fn(&PathBuf) + Send + Sync); 2] = [&shrink, &grow];
    for change in changes {
        let stub = Stub::start([]).await;
        let ((_dir, file), once) = (file(size), std::sync::Once::new());
        let path = file.path.clone();
        let put = put(&stub.client(), &file, &|_| once.call_once(|| change(&path))).await;
        assert_eq!((put, stub.made()), (Err(ErrorKind::File), 0));
        assert!(stub.log().iter().all(|request| !request.whole));
    }
    let stub = Stub::start([]).await;
    let (_dir, file) = file(10);
    let other = Upload { size: 11, ..file.clone() };
    assert_eq!(put(&stub.client(), &other, &|_| ()).await, Err(ErrorKind::File));
    let gone = Upload { path: "/nowhere/at/all".into(), ..file };
    assert_eq!(put(&stub.client(), &gone, &|_| ()).await, Err(ErrorKind::File));
    assert!(stub.log().is_empty());
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_sent_twice() {
    let stub = Stub::start([answer(413, json!({"message": "Request entity too large", "code": 40005}))]).await;
    let (_dir, file) = file(1000);
    assert_eq!(put(&stub.client(), &file, &|_| ()).await, Err(ErrorKind::TooLarge));
    assert_eq!(stub.log().len(), 1);
}

async fn get(stub: &Stub, limit: u64) -> (Result<u64, ErrorKind>, bool) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("down");
    let link = CdnUrl::new(format!("http://{}/attachments/1/2/a?ex=1&is=2&hm=3&", stub.addr));
    let got = stub.client().download(&link, &to, limit).await;
    let right = got.as_ref().is_ok_and(|d| Sha256::of(std::fs::read(&to).unwrap()) == d.sha256);
    (got.map(|d| d.size).map_err(|e| e.kind), if right { true } else { to.exists() })
}

#[tokio::test]
async fn a_download_is_all_of_the_file_or_nothing() {
    let body = || "x".repeat(70_000);
    let cut = || Play::Cut(70_000, vec![b'x'; 1000]);
    for (plays, limit, expected) in [
        (vec![answer(200, body())], 70_000, Ok(70_000)),
        (vec![answer(200, "")], 0, Ok(0)),
        (vec![cut(), Play::EffectThen(503), answer(200, body())], 70_000, Ok(70_000)),
        (vec![cut(), Play::Reset, Play::Silence, answer(200, body())], 70_000, Ok(70_000)),
        (vec![cut(); 5], 70_000, Err(ErrorKind::Integrity)),
        (vec![answer(200, body())], 69_999, Err(ErrorKind::Integrity)),
        (vec![answer(404, "This content is no longer available.")], 70_000, Err(ErrorKind::NotFound)),
        (vec![answer(206, body())], 70_000, Err(ErrorKind::Protocol)),
        (vec![answer(429, "")], 70_000, Err(ErrorKind::RateLimited)),
        (vec![Play::EffectThen(500); 5], 70_000, Err(ErrorKind::Server)),
    ] {
        let stub = Stub::start(plays.clone()).await;
        let (got, there) = get(&stub, limit).await;
        assert_eq!((got, there), (expected, expected.is_ok()), "{limit} {:?}", plays.len());
        assert_eq!(stub.log().len(), plays.len());
    }
}

#[tokio::test]
async fn a_download_touches_no_file_that_is_there_and_no_host_that_is_not_discords() {
    let stub = Stub::start([]).await;
    let (rest, dir) = (stub.client(), tempfile::tempdir().unwrap());
    let to = dir.path().join("mine");
    std::fs::write(&to, "mine").unwrap();
    let link = CdnUrl::new(format!("http://{}/attachments/1/2/a", stub.addr));
    assert_eq!(rest.download(&link, &to, 100).await.unwrap_err().kind, ErrorKind::File);
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "mine");
    let elsewhere = CdnUrl::new("https://example.com/a");
    let other = dir.path().join("other");
    assert_eq!(rest.download(&elsewhere, &other, 100).await.unwrap_err().kind, ErrorKind::Invalid);
    assert!(!other.exists() && stub.log().is_empty());
}

#[tokio::test]
async fn a_missing_attachment_and_an_unreadable_answer_are_told_apart() {
    let stub = Stub::start([answer(200, message(7)), answer(200, "<html>"), answer(200, "{}")]).await;
    let rest = stub.client();
    let attachment = discord_os::base::ids::AttachmentId(1);
    assert_eq!(rest.link(CHANNEL, MessageId(7), attachment).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(say(&rest, "n").await, Err(ErrorKind::Unknown), "the message may well be there");
    assert_eq!(rest.member(GuildId(1), UserId(2)).await.unwrap_err().kind, ErrorKind::Protocol);
    stub.play(answer(200, json!({"url": "wss://g", "shards": 1})));
    assert_eq!(rest.gateway().await.unwrap_err().kind, ErrorKind::Protocol);
}

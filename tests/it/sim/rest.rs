use discord_os::sim::Options;
use reqwest::Method;
use serde_json::{Value, json};

use super::bot::{AGENT, start};

#[tokio::test]
async fn who_and_where() {
    let b = start(Options::default()).await;
    let me = b.get("/users/@me").await;
    assert_eq!(me.status, 200);
    assert_eq!(me.headers["content-type"], "application/json");
    assert_eq!(me.json["id"], b.at.bot.to_string());
    assert!(me.headers.contains_key("x-ratelimit-bucket"));
    assert!(me.headers["date"].to_str().unwrap().ends_with(" GMT"));
    let app = b.get("/applications/@me").await;
    assert_eq!(app.json["id"], b.at.application.to_string());
    let guild = b.at.guild;
    assert_eq!(b.get(&format!("/guilds/{guild}")).await.json["name"], "Workshop");
    let roles = b.get(&format!("/guilds/{guild}/roles")).await.json;
    assert_eq!(roles[0]["id"], guild.to_string(), "@everyone has the guild's id");
    assert_eq!(b.get(&format!("/guilds/{guild}/channels")).await.json[0]["id"], b.at.channel.to_string());
    let member = b.get(&format!("/guilds/{guild}/members/{}", b.owner())).await.json;
    assert_eq!(member["user"]["global_name"], "Olive");
    assert_eq!(b.get(&format!("/guilds/{guild}/members/5")).await.code(), 10_007);
    assert_eq!(b.get(&format!("/channels/{}", b.at.channel)).await.json["type"], 0);
    assert_eq!(b.get("/channels/5").await.code(), 10_003);
    b.no_violations().await;
    b.sim.stop().await;
}

#[tokio::test]
async fn identity_is_checked_first() {
    let b = start(Options::default()).await;
    let url = format!("{}/api/v10/users/@me", b.at.api_base);
    for token in [None, Some("Bot wrong"), Some(b.at.bot_token.as_str())] {
        let mut request = b.http.get(&url).header("User-Agent", AGENT);
        if let Some(token) = token {
            request = request.header("Authorization", token);
        }
        let said = b.send(request).await;
        assert_eq!((said.status.as_u16(), said.code()), (401, 0));
    }
    for agent in [None, Some("Mozilla/5.0")] {
        let mut request = b.http.get(&url).header("Authorization", format!("Bot {}", b.at.bot_token));
        if let Some(agent) = agent {
            request = request.header("User-Agent", agent);
        }
        let said = b.send(request).await;
        assert_eq!((said.status.as_u16(), said.code()), (403, 40_333));
    }
    let counters = b.control.counters().await.unwrap();
    assert_eq!(counters.status_401, 3);
    b.sim.stop().await;
}

#[tokio::test]
async fn what_is_unknown_is_a_violation() {
    let b = start(Options::default()).await;
    assert_eq!(b.get("/voice/regions").await.status, 404);
    assert_eq!(b.call(Method::PUT, "/users/@me", json!({})).await.status, 404);
    let said = b.post(json!({"content": "x", "colour": 1})).await;
    assert_eq!((said.status.as_u16(), said.code()), (400, 50_035));
    assert_eq!(said.json["errors"]["colour"]["_errors"][0]["code"], "UNKNOWN_FIELD");
    assert_eq!(b.get(&format!("/channels/{}/messages?foo=1", b.at.channel)).await.code(), 50_035);
    let path = format!("/channels/{}/messages", b.at.channel);
    let said = b.send(b.request(Method::POST, &path).header("Content-Type", "text/plain").body("{}")).await;
    assert_eq!(said.code(), 50_035);
    assert_eq!(b.post(json!({})).await.code(), 50_006);
    assert_eq!(b.control.violations().await.unwrap().len(), 6);
    b.sim.stop().await;
}

#[tokio::test]
async fn a_message_lives() {
    let b = start(Options::default()).await;
    let said = b.post(json!({"content": " hello \u{7}", "allowed_mentions": {"parse": []}})).await;
    assert_eq!(said.status, 200);
    let id = said.json["id"].as_str().unwrap().to_owned();
    assert_eq!(said.json["content"], "hello", "stored text is not sent text");
    let path = format!("/channels/{}/messages/{id}", b.at.channel);
    assert_eq!(b.get(&path).await.json["author"]["id"], b.at.bot.to_string());
    let edited = b.call(Method::PATCH, &path, json!({"content": "bye"})).await.json;
    assert_eq!(edited["content"], "bye");
    assert!(edited["edited_timestamp"].as_str().unwrap().ends_with("000+00:00"));
    let react = format!("{path}/reactions/%F0%9F%91%80/@me");
    assert_eq!(b.send(b.request(Method::PUT, &react)).await.status, 204);
    assert_eq!(b.get(&path).await.json["reactions"][0]["me"], true);
    assert_eq!(b.send(b.request(Method::DELETE, &path)).await.status, 204);
    assert_eq!(b.get(&path).await.code(), 10_008);
    assert_eq!(b.send(b.request(Method::DELETE, &path)).await.code(), 10_008);
    b.no_violations().await;
    b.sim.stop().await;
}

#[tokio::test]
async fn only_own_messages_are_edited() {
    let b = start(Options::default()).await;
    let id = b.control.say(b.owner(), b.channel(), "mine").await.unwrap();
    let path = format!("/channels/{}/messages/{id}", b.at.channel);
    let said = b.call(Method::PATCH, &path, json!({"content": "yours"})).await;
    assert_eq!((said.status.as_u16(), said.code()), (403, 50_005));
    b.sim.stop().await;
}

#[tokio::test]
async fn replies_need_their_message() {
    let b = start(Options::default()).await;
    let id = b.control.say(b.owner(), b.channel(), "question").await.unwrap();
    let reply = |to: &str, must: bool| json!({"content": "a", "message_reference": {"message_id": to, "fail_if_not_exists": must}});
    let said = b.post(reply(&id.to_string(), true)).await.json;
    assert_eq!(said["type"], 19);
    assert_eq!(said["referenced_message"]["content"], "question");
    let said = b.post(reply("5", true)).await;
    assert_eq!(said.code(), 50_035);
    assert_eq!(said.json["errors"]["message_reference"]["_errors"][0]["code"], "MESSAGE_REFERENCE_UNKNOWN_MESSAGE");
    assert_eq!(b.post(reply("5", false)).await.json["type"], 0);
    b.no_violations().await;
    b.sim.stop().await;
}

#[tokio::test]
async fn a_nonce_makes_one_message() {
    let b = start(Options::default()).await;
    let body = json!({"content": "once", "nonce": "n-1", "enforce_nonce": true});
    let first = b.post(body.clone()).await.json;
    assert_eq!(first["nonce"], "n-1");
    let second = b.post(body.clone()).await;
    assert_eq!((second.status.as_u16(), &second.json["id"]), (200, &first["id"]));
    assert_eq!(b.control.messages(b.owner(), b.channel()).await.unwrap().len(), 1);
    let path = format!("/channels/{}/messages/{}", b.at.channel, first["id"].as_str().unwrap());
    assert_eq!(b.get(&path).await.json.get("nonce"), None, "a fetch does not tell the nonce");
    b.send(b.request(Method::DELETE, &path)).await;
    assert_eq!(b.post(body.clone()).await.code(), 10_008);
    b.control.advance(120_000).await.unwrap();
    assert_eq!(b.post(body).await.status, 200, "the window is over");
    assert_eq!(b.control.counters().await.unwrap().nonce_hits, 1);
    b.sim.stop().await;
}

#[tokio::test]
async fn pages_go_both_ways() {
    let b = start(Options::default()).await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(b.control.say(b.owner(), b.channel(), &n.to_string()).await.unwrap().to_string());
    }
    let page = |query: String| {
        let path = format!("/channels/{}/messages?{query}", b.at.channel);
        let b = &b;
        async move {
            let list = b.get(&path).await.json;
            list.as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(page("limit=2".into()).await, [ids[4].clone(), ids[3].clone()]);
    assert_eq!(page(format!("limit=2&after={}", ids[0])).await, [ids[2].clone(), ids[1].clone()]);
    assert_eq!(page(format!("limit=2&before={}", ids[2])).await, [ids[1].clone(), ids[0].clone()]);
    assert_eq!(page(format!("after={}", ids[4])).await, Vec::<String>::new());
    assert_eq!(page("after=0&limit=1".into()).await, [ids[0].clone()]);
    b.control.advance(2000).await.unwrap();
    let bad = b.get(&format!("/channels/{}/messages?limit=101", b.at.channel)).await;
    assert_eq!(bad.code(), 50_035);
    b.sim.stop().await;
}

#[tokio::test]
async fn threads_hang_on_their_message() {
    let b = start(Options::default()).await;
    let id = b.control.say(b.owner(), b.channel(), "job").await.unwrap();
    let path = format!("/channels/{}/messages/{id}/threads", b.at.channel);
    let thread = b.call(Method::POST, &path, json!({"name": "DOS-1", "auto_archive_duration": 1440})).await;
    assert_eq!(thread.status, 201);
    assert_eq!(thread.json["id"], id.to_string());
    assert_eq!(b.call(Method::POST, &path, json!({"name": "again"})).await.code(), 160_004);
    let name = json!({"name": "x".repeat(101)});
    assert_eq!(b.call(Method::POST, &path, name).await.code(), 50_035);
    let inside = format!("/channels/{id}/messages");
    let posted =
        b.call(Method::POST, &inside, json!({"content": "work"})).await.json["id"].as_str().unwrap().to_owned();
    let active = b.get(&format!("/guilds/{}/threads/active", b.at.guild)).await.json;
    assert_eq!(active["threads"][0]["id"], id.to_string());
    let closed = b.call(Method::PATCH, &format!("/channels/{id}"), json!({"archived": true})).await.json;
    assert_eq!(closed["thread_metadata"]["archived"], true);
    let edit = b.call(Method::PATCH, &format!("{inside}/{posted}"), json!({"content": "more"})).await;
    assert_eq!((edit.status.as_u16(), edit.code()), (403, 50_083));
    let react = b.send(b.request(Method::PUT, &format!("{inside}/{posted}/reactions/%F0%9F%91%80/@me"))).await;
    assert_eq!(react.code(), 50_083);
    assert_eq!(b.call(Method::POST, &inside, json!({"content": "wake"})).await.status, 200);
    let open = b.get(&format!("/channels/{id}")).await.json;
    assert_eq!(open["thread_metadata"]["archived"], false, "sending takes it out of the archive");
    b.sim.stop().await;
}

#[tokio::test]
async fn direct_messages_open_once() {
    let b = start(Options::default()).await;
    let open = |who: String| b.call(Method::POST, "/users/@me/channels", json!({"recipient_id": who}));
    let first = open(b.owner().to_string()).await.json;
    assert_eq!(first["type"], 1);
    assert_eq!(open(b.owner().to_string()).await.json["id"], first["id"]);
    assert_eq!(open(b.at.people.other_bot.to_string()).await.code(), 50_007);
    assert_eq!(open("5".into()).await.code(), 10_013);
    let path = format!("/channels/{}/messages", first["id"].as_str().unwrap());
    assert_eq!(b.call(Method::POST, &path, json!({"content": "psst"})).await.status, 200);
    let state = b.control.state(b.at.people.teammate).await.unwrap();
    assert!(state.channels.iter().all(|c| c.id.to_string() != first["id"].as_str().unwrap()), "others do not see it");
    b.sim.stop().await;
}

#[tokio::test]
async fn permissions_are_looked_at() {
    let b = start(Options::default()).await;
    let id = b.control.say(b.owner(), b.channel(), "hi").await.unwrap();
    b.control.deny(b.channel(), 1 << 16).await.unwrap();
    assert_eq!(b.get(&format!("/channels/{}/messages", b.at.channel)).await.json, json!([]));
    let reply = json!({"content": "x", "message_reference": {"message_id": id}});
    assert_eq!(b.post(reply).await.code(), 160_002);
    b.control.deny(b.channel(), 1 << 11).await.unwrap();
    assert_eq!(b.post(json!({"content": "x"})).await.code(), 50_013);
    b.control.deny(b.channel(), 1 << 10).await.unwrap();
    assert_eq!(b.post(json!({"content": "x"})).await.code(), 50_001);
    assert_eq!(b.get(&format!("/channels/{}", b.at.channel)).await.code(), 50_001);
    b.control.deny(b.channel(), 0).await.unwrap();
    assert_eq!(b.post(json!({"content": "x"})).await.status, 200);
    b.sim.stop().await;
}

#[tokio::test]
async fn buckets_answer_429() {
    let b = start(Options::default()).await;
    for left in (0..5).rev() {
        let said = b.post(json!({"content": "x"})).await;
        assert_eq!(said.headers["x-ratelimit-remaining"], left.to_string().as_str());
        assert_eq!(said.headers["x-ratelimit-limit"], "5");
    }
    let said = b.post(json!({"content": "x"})).await;
    assert_eq!(said.status, 429);
    assert_eq!(said.headers["via"], "1.1 google");
    assert_eq!(said.headers["x-ratelimit-scope"], "user");
    assert!(said.headers["retry-after"].to_str().unwrap().parse::<u64>().is_ok(), "whole seconds");
    assert!(said.json["retry_after"].as_f64().unwrap() <= 5.0);
    b.control.advance(5000).await.unwrap();
    assert_eq!(b.post(json!({"content": "x"})).await.status, 200);
    b.sim.stop().await;
}

#[tokio::test]
async fn without_the_intent_rest_is_blank_too() {
    let b = start(Options { message_content: Some(false), ..Options::default() }).await;
    b.control.say(b.owner(), b.channel(), "secret").await.unwrap();
    b.control.say(b.owner(), b.channel(), &format!("<@{}> hi", b.at.bot)).await.unwrap();
    b.post(json!({"content": "own"})).await;
    let list = b.get(&format!("/channels/{}/messages", b.at.channel)).await.json;
    let contents: Vec<&str> = list.as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["own", &format!("<@{}> hi", b.at.bot), ""]);
    b.sim.stop().await;
}

#[tokio::test]
async fn faults_happen_as_ordered() {
    let b = start(Options::default()).await;
    let on = json!({"method": "POST", "path": "/channels/*/messages"});
    let rules: Vec<Value> = vec![
        json!({"on": on, "nth": 1, "do": {"kind": "rate_limit", "scope": "global", "retry_after": 0.3}}),
        json!({"on": on, "nth": 2, "do": {"kind": "status", "status": 502, "effect": true}}),
        json!({"on": on, "nth": 3, "do": {"kind": "reset", "effect": true}}),
        json!({"on": on, "nth": 4, "do": {"kind": "reset"}}),
        json!({"on": on, "nth": 5, "do": {"kind": "error", "status": 403, "code": 50013, "message": "Missing Permissions"}}),
        json!({"on": on, "nth": 6, "do": {"kind": "rate_limit", "scope": "shared", "retry_after": 1.5}}),
    ];
    assert_eq!(b.control.faults(json!(rules)).await.unwrap(), [1, 2, 3, 4, 5, 6]);
    let said = b.post(json!({"content": "1"})).await;
    assert_eq!((said.status.as_u16(), &said.json["global"]), (429, &json!(true)));
    let said = b.post(json!({"content": "2"})).await;
    assert_eq!((said.status.as_u16(), said.json), (502, Value::Null));
    let path = format!("/channels/{}/messages", b.at.channel);
    for n in ["3", "4"] {
        assert!(b.request(Method::POST, &path).json(&json!({"content": n})).send().await.is_err());
    }
    assert_eq!(b.post(json!({"content": "5"})).await.code(), 50_013);
    let said = b.post(json!({"content": "6"})).await;
    assert_eq!(
        (said.headers["x-ratelimit-scope"].to_str().unwrap(), &said.headers["retry-after"]),
        ("shared", &"2".parse().unwrap())
    );
    let there = b.control.messages(b.owner(), b.channel()).await.unwrap();
    let contents: Vec<&str> = there.iter().map(|m| m.content.as_str()).collect();
    assert_eq!(contents, ["2", "3"], "with effect it was carried out, without it was not");
    b.sim.stop().await;
}

#[tokio::test]
async fn too_many_or_too_large_files_are_refused() {
    let b = start(Options { upload_limit: Some(1000), ..Options::default() }).await;
    assert_eq!(b.upload("a.bin", vec![1; 1000], json!({})).await.status, 200);
    let said = b.upload("a.bin", vec![1; 1001], json!({})).await;
    assert_eq!((said.status.as_u16(), said.code()), (413, 40_005));
    let mut form = reqwest::multipart::Form::new();
    for n in 0..11 {
        form = form.part(format!("files[{n}]"), reqwest::multipart::Part::bytes(vec![1]).file_name("a.txt"));
    }
    let path = format!("/channels/{}/messages", b.at.channel);
    assert_eq!(b.send(b.request(Method::POST, &path).multipart(form)).await.code(), 30_015);
    b.sim.stop().await;
}

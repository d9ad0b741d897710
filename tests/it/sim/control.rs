use std::collections::BTreeMap;

use discord_os::sim::Options;
use discord_os::sim::client::MessageView;
use reqwest::Method;
use serde_json::{Value, json};

use super::bot::{Box, INTENTS, Socket, start};

async fn card(b: &Box) -> MessageView {
    let row = json!([
        {"type": 2, "style": 1, "label": "On", "custom_id": "on"},
        {"type": 2, "style": 4, "label": "Never", "custom_id": "never", "disabled": true},
    ]);
    let select = json!([{"type": 3, "custom_id": "jobs", "options": [{"label": "a", "value": "a"}]}]);
    let body = json!({"flags": 32768, "components": [{"type": 17, "components": [
        {"type": 10, "content": "# HOST"}, {"type": 1, "components": row}, {"type": 1, "components": select}]}]});
    assert_eq!(b.post(body).await.status, 200);
    b.control.messages(b.owner(), b.channel()).await.unwrap().pop().unwrap()
}

async fn tapped(socket: &mut Socket) -> Value {
    socket.event("INTERACTION_CREATE").await["d"].clone()
}

async fn answer(b: &Box, event: &Value, body: Value) -> super::bot::Said {
    let path = format!("/interactions/{}/{}/callback", event["id"].as_str().unwrap(), event["token"].as_str().unwrap());
    b.call(Method::POST, &path, body).await
}

#[tokio::test]
async fn only_the_printed_address_opens_it() {
    let b = start(Options::default()).await;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = format!("{}/control/state?as={}", b.at.control_base, b.owner());
    let status = |request: reqwest::RequestBuilder| async move { request.send().await.unwrap().status().as_u16() };
    assert_eq!(status(http.get(&url)).await, 403);
    let with = || http.get(&url).bearer_auth(&b.at.control_token);
    assert_eq!(status(with()).await, 200);
    assert_eq!(status(with().header("Origin", "http://evil.example")).await, 403);
    assert_eq!(status(with().header("Host", "evil.example")).await, 403);
    assert_eq!(status(with().header("Origin", &b.at.control_base)).await, 200);
    let opened = http.get(&b.at.page_url).send().await.unwrap();
    assert_eq!((opened.status().as_u16(), opened.headers()["location"].to_str().unwrap()), (303, "/"));
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(status(http.get(&url).header("Cookie", pair)).await, 200);
    assert_eq!(status(http.get(format!("{}/?t=wrong", b.at.control_base))).await, 403);
    b.sim.stop().await;
}

#[tokio::test]
async fn a_tap_is_answered_privately() {
    let b = start(Options::default()).await;
    let message = card(&b).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    let mut events = b.control.events(b.owner()).await.unwrap();
    assert_eq!(events.next().await.unwrap()["type"], "hello");
    let id = b.control.tap(b.owner(), &message, "on").await.unwrap();
    assert_eq!(b.control.interaction(id).await.unwrap().state, "waiting");
    let event = tapped(&mut socket).await;
    assert_eq!((&event["data"]["custom_id"], &event["data"]["component_type"]), (&json!("on"), &json!(2)));
    let _parsed: serenity::model::application::ComponentInteraction = serde_json::from_value(event.clone()).unwrap();
    assert_eq!(event["message"]["id"], message.id.to_string());
    let said = answer(&b, &event, json!({"type": 4, "data": {"content": "done", "flags": 64}})).await;
    assert_eq!(said.status, 204, "{}", said.text);
    let said = answer(&b, &event, json!({"type": 6})).await;
    assert_eq!((said.status.as_u16(), said.code()), (400, 40_060));
    let seen = b.control.interaction(id).await.unwrap();
    assert_eq!((seen.state.as_str(), seen.kind), ("answered", Some(4)));
    assert_eq!(seen.reply.unwrap().content, "done");
    assert_eq!(events.next().await.unwrap()["message"]["ephemeral"], true);
    assert_eq!(events.next().await.unwrap()["state"], "answered");
    let theirs = b.control.messages(b.at.people.teammate, b.channel()).await.unwrap();
    assert!(theirs.iter().all(|m| m.content != "done"), "others do not see it");
    let list = b.get(&format!("/channels/{}/messages", b.at.channel)).await.json;
    assert!(list.as_array().unwrap().iter().all(|m| m["content"] != "done"), "channel routes do not see it");
    let original = format!("/webhooks/{}/{}/messages/@original", b.at.application, event["token"].as_str().unwrap());
    let edited = b.call(Method::PATCH, &original, json!({"content": "changed"})).await;
    assert_eq!((edited.status.as_u16(), &edited.json["flags"]), (200, &json!(64)));
    assert_eq!(b.send(b.request(Method::DELETE, &original)).await.status, 204);
    assert_eq!(b.get(&original).await.code(), 10_008);
    b.control.advance(900_001).await.unwrap();
    assert_eq!(b.get(&original).await.code(), 50_027);
    b.no_violations().await;
    b.sim.stop().await;
}

#[tokio::test]
async fn three_seconds_are_all_there_is() {
    let b = start(Options::default()).await;
    let message = card(&b).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    let id = b.control.tap(b.owner(), &message, "on").await.unwrap();
    let event = tapped(&mut socket).await;
    b.control.advance(3100).await.unwrap();
    assert_eq!(b.control.interaction(id).await.unwrap().state, "failed");
    let said = answer(&b, &event, json!({"type": 6})).await;
    assert_eq!((said.status.as_u16(), said.code()), (404, 10_062));
    b.sim.stop().await;
}

#[tokio::test]
async fn deferred_answers_are_filled_in_later() {
    let b = start(Options::default()).await;
    let message = card(&b).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    b.control.pick(b.owner(), &message, "jobs", &["a"]).await.unwrap();
    let event = tapped(&mut socket).await;
    assert_eq!(event["data"]["values"], json!(["a"]));
    assert_eq!(answer(&b, &event, json!({"type": 5, "data": {"flags": 64}})).await.status, 204);
    let hook = format!("/webhooks/{}/{}", b.at.application, event["token"].as_str().unwrap());
    let filled = b.call(Method::POST, &hook, json!({"content": "late"})).await.json;
    assert_eq!(
        (&filled["content"], &filled["flags"]),
        (&json!("late"), &json!(64)),
        "a follow-up right after fills it in"
    );
    let more = b.call(Method::POST, &hook, json!({"content": "more"})).await.json;
    assert_ne!(more["id"], filled["id"]);
    b.sim.stop().await;
}

#[tokio::test]
async fn a_form_comes_and_goes_back() {
    let b = start(Options::default()).await;
    let message = card(&b).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    let press = b.control.tap(b.owner(), &message, "on").await.unwrap();
    let event = tapped(&mut socket).await;
    let form = json!({"custom_id": "ask", "title": "Ask", "components": [
        {"type": 18, "label": "What", "component": {"type": 4, "custom_id": "what", "style": 2, "max_length": 20}},
        {"type": 1, "components": [{"type": 4, "custom_id": "old", "label": "Old", "style": 1, "required": false}]}]});
    let said = answer(&b, &event, json!({"type": 9, "data": form})).await;
    assert_eq!(said.status, 204, "{}", said.text);
    assert_eq!(b.control.interaction(press).await.unwrap().modal.unwrap().title, "Ask");
    let fields = |text: &str| BTreeMap::from([("what".to_owned(), text.to_owned())]);
    assert!(b.control.submit(b.owner(), press, &fields(&"x".repeat(21))).await.is_err());
    assert!(b.control.submit(b.at.people.stranger, press, &fields("x")).await.is_err());
    b.control.submit(b.owner(), press, &fields("count")).await.unwrap();
    let event = tapped(&mut socket).await;
    assert_eq!(event["type"], 5);
    assert_eq!(event["data"]["components"][0]["component"]["value"], "count");
    assert_eq!(event["data"]["components"][1]["components"][0]["value"], "");
    assert_eq!(answer(&b, &event, json!({"type": 9, "data": {}})).await.code(), 50_035, "no form on a form");
    assert_eq!(answer(&b, &event, json!({"type": 6})).await.status, 204);
    b.sim.stop().await;
}

#[tokio::test]
async fn people_can_only_do_what_people_can() {
    let b = start(Options::default()).await;
    let message = card(&b).await;
    assert!(b.control.tap(b.owner(), &message, "never").await.is_err(), "disabled");
    assert!(b.control.tap(b.owner(), &message, "other").await.is_err(), "not there");
    assert!(b.control.pick(b.owner(), &message, "jobs", &["z"]).await.is_err(), "no such choice");
    assert!(b.control.say(b.at.bot, b.channel(), "x").await.is_err(), "the host's bot is not played");
    assert!(b.control.edit(b.owner(), b.channel(), message.id, "x").await.is_err(), "not the author");
    assert!(b.control.delete(b.at.people.stranger, b.channel(), message.id).await.is_err());
    let id = b.control.say(b.at.people.other_bot, b.channel(), "rain").await.unwrap();
    let said = b.get(&format!("/channels/{}/messages/{id}", b.at.channel)).await.json;
    assert_eq!(said["author"]["bot"], true);
    b.control.delete(b.owner(), b.channel(), message.id).await.unwrap();
    b.sim.stop().await;
}

#[tokio::test]
async fn the_page_sees_what_happens() {
    let b = start(Options::default()).await;
    let mut events = b.control.events(b.at.people.stranger).await.unwrap();
    events.next().await.unwrap();
    let id = b.control.say(b.owner(), b.channel(), "one").await.unwrap();
    assert_eq!(events.next().await.unwrap()["message"]["content"], "one");
    b.control.edit(b.owner(), b.channel(), id, "two").await.unwrap();
    let event = events.next().await.unwrap();
    assert_eq!((&event["type"], &event["message"]["content"]), (&json!("message_update"), &json!("two")));
    assert_eq!(b.send(b.request(Method::POST, &format!("/channels/{}/typing", b.at.channel))).await.status, 204);
    assert_eq!(events.next().await.unwrap()["name"], "discord-os");
    b.control.delete(b.owner(), b.channel(), id).await.unwrap();
    assert_eq!(events.next().await.unwrap()["message_ids"], json!([id]));
    let (_socket, _) = b.ready(INTENTS).await;
    assert_eq!(events.next().await.unwrap(), json!({"type": "bot", "online": true}));
    let dm = b.control.dm(b.owner()).await.unwrap();
    b.control.say(b.owner(), dm, "psst").await.unwrap();
    let (message, attachment) = b.control.upload(b.owner(), b.channel(), "a b.txt", b"abc".to_vec()).await.unwrap();
    let event = events.next().await.unwrap();
    assert_eq!(event["message"]["id"], json!(message), "nothing of others' direct messages");
    assert_eq!(event["message"]["attachments"][0]["id"], json!(attachment));
    let url = event["message"]["attachments"][0]["url"].as_str().unwrap();
    assert_eq!(b.http.get(url).send().await.unwrap().text().await.unwrap(), "abc");
    b.sim.stop().await;
}

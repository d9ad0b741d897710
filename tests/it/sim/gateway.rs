use discord_os::sim::Options;
use discord_os::sim::client::GatewayAct;
use serde_json::json;

use super::bot::{INTENTS, Socket, start};

#[tokio::test]
async fn ready_then_the_guild_then_what_happens() {
    let b = start(Options::default()).await;
    let mut socket = b.gateway().await;
    let hello = socket.frame().await;
    assert_eq!((&hello["op"], &hello["d"]["heartbeat_interval"]), (&json!(10), &json!(41_250)));
    socket.say(json!({"op": 1, "d": null})).await;
    assert_eq!(socket.frame().await["op"], 11, "a heartbeat before IDENTIFY is acknowledged");
    socket.identify(&format!("Bot {}", b.at.bot_token), INTENTS).await;
    let ready = socket.event("READY").await;
    assert_eq!(ready["s"], 1);
    assert!(ready["d"]["resume_gateway_url"].as_str().unwrap().ends_with("/gateway/resume"));
    assert_eq!(ready["d"]["guilds"][0]["unavailable"], true);
    let guild = socket.event("GUILD_CREATE").await["d"].clone();
    // The floor that strict clients ask for.
    let parsed: Result<serenity::model::guild::Guild, _> = serde_json::from_value(guild);
    assert_eq!(parsed.unwrap().name, "Workshop");
    let id = b.control.say(b.owner(), b.channel(), "hello").await.unwrap();
    let event = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&event["d"]["id"], &event["d"]["content"]), (&json!(id), &json!("hello")));
    assert_eq!(event["s"], 3);
    assert!(event["d"]["member"].is_object());
    let _message: serenity::model::channel::Message = serde_json::from_value(event["d"].clone()).unwrap();
    b.post(json!({"content": "own", "nonce": "n"})).await;
    let own = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&own["d"]["content"], &own["d"]["nonce"]), (&json!("own"), &json!("n")), "own acts echo");
    assert_eq!(b.control.counters().await.unwrap().identifies, 1);
    b.sim.stop().await;
}

#[tokio::test]
async fn what_a_client_does_wrong_has_its_code() {
    let b = start(Options { message_content: Some(false), ..Options::default() }).await;
    let properties = json!({"os": "l", "browser": "b", "device": "d"});
    let identify = |token: &str, intents: u64| json!({"op": 2, "d": {"token": token, "intents": intents, "properties": properties}});
    let token = b.at.bot_token.clone();
    let mut shard = identify(&token, 0);
    shard["d"]["shard"] = json!([1, 1]);
    for (frame, code) in [
        (identify("wrong", 0), 4004),
        (identify(&token, 1 << 17), 4013),
        (identify(&token, INTENTS), 4014),
        (shard, 4010),
        (json!({"op": 3, "d": {}}), 4003),
        (json!({"op": 99, "d": {}}), 4001),
        (json!({"no": "op"}), 4002),
        (json!({"op": 1, "d": "x".repeat(5000)}), 4002),
        (json!({"op": 6, "d": {"token": "wrong", "session_id": "s", "seq": 1}}), 4004),
    ] {
        let mut socket = b.gateway().await;
        socket.frame().await;
        let shown = frame.to_string();
        socket.say(frame).await;
        assert_eq!(socket.closed().await, Some(code), "{:.80}", shown);
    }
    let mut socket = b.gateway().await;
    socket.frame().await;
    socket.raw("no json".into()).await;
    assert_eq!(socket.closed().await, Some(4002));
    let mut socket = Socket::open(&format!("{}/gateway/?v=3&encoding=json", b.at.api_base.replace("http", "ws"))).await;
    assert_eq!(socket.closed().await, Some(4012));
    let (mut socket, _) = b.ready(13_825).await;
    socket.identify(&token, 13_825).await;
    assert_eq!(socket.closed().await, Some(4005));
    b.sim.stop().await;
}

#[tokio::test]
async fn too_many_sends_and_too_quick_identifies() {
    let b = start(Options::default()).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    for _ in 0..119 {
        socket.say(json!({"op": 1, "d": null})).await;
    }
    socket.say(json!({"op": 1, "d": null})).await;
    assert_eq!(socket.closed().await, Some(4008));
    assert_eq!(b.control.counters().await.unwrap().gateway_sends_over_limit, 1);
    let mut socket = b.gateway().await;
    socket.frame().await;
    socket.identify(&b.at.bot_token, INTENTS).await;
    let invalid = socket.frame().await;
    assert_eq!((&invalid["op"], &invalid["d"]), (&json!(9), &json!(false)));
    b.control.advance(5000).await.unwrap();
    socket.identify(&b.at.bot_token, INTENTS).await;
    socket.event("READY").await;
    b.sim.stop().await;
}

#[tokio::test]
async fn a_session_is_resumed_where_it_was() {
    let b = start(Options::default()).await;
    let (socket, ready) = b.ready(INTENTS).await;
    let session = ready["d"]["session_id"].as_str().unwrap().to_owned();
    let url = ready["d"]["resume_gateway_url"].as_str().unwrap().to_owned();
    socket.close(4900).await;
    b.control.say(b.owner(), b.channel(), "missed").await.unwrap();
    let mut socket = Socket::open(&format!("{url}/?v=10&encoding=json")).await;
    socket.frame().await;
    socket.resume(&b.at.bot_token, &session, 2).await;
    assert_eq!(socket.event("MESSAGE_CREATE").await["d"]["content"], "missed");
    let resumed = socket.event("RESUMED").await;
    assert!(resumed["d"].is_object());
    assert_eq!(resumed["s"], 4);
    // One client per session: a second resume closes the first socket.
    let mut second = b.gateway().await;
    second.frame().await;
    second.resume(&b.at.bot_token, &session, 4).await;
    second.event("RESUMED").await;
    assert_eq!(socket.closed().await, Some(4000));
    let mut bad = b.gateway().await;
    bad.frame().await;
    bad.resume(&b.at.bot_token, &session, 99).await;
    assert_eq!(bad.closed().await, Some(4007));
    second.close(1000).await;
    let mut late = b.gateway().await;
    late.frame().await;
    late.resume(&b.at.bot_token, &session, 4).await;
    let invalid = late.frame().await;
    assert_eq!((&invalid["op"], &invalid["d"]), (&json!(9), &json!(false)), "1000 ended it");
    b.sim.stop().await;
}

#[tokio::test]
async fn intents_choose_and_blank() {
    let b = start(Options::default()).await;
    let (mut socket, _) = b.ready(1 | 1 << 9).await;
    let id = b.control.say(b.owner(), b.channel(), "secret").await.unwrap();
    let event = socket.event("MESSAGE_CREATE").await;
    assert_eq!((&event["d"]["content"], &event["d"]["attachments"]), (&json!(""), &json!([])));
    b.control.react(b.owner(), b.channel(), id, "👀").await.unwrap();
    let dm = b.control.dm(b.owner()).await.unwrap();
    b.control.say(b.owner(), dm, "direct").await.unwrap();
    b.control.say(b.owner(), b.channel(), &format!("<@{}> hear", b.at.bot)).await.unwrap();
    let event = socket.event("MESSAGE_CREATE").await;
    assert!(event["d"]["content"].as_str().unwrap().ends_with("hear"), "neither reaction nor direct message came");
    b.sim.stop().await;
}

#[tokio::test]
async fn gateway_faults_on_order() {
    let b = start(Options { heartbeat_ms: Some(60_000), ..Options::default() }).await;
    let (mut socket, _) = b.ready(INTENTS).await;
    assert_eq!(b.control.gateway(GatewayAct::Reconnect).await.unwrap(), 1);
    assert_eq!(socket.frame().await["op"], 7);
    b.control.gateway(GatewayAct::Invalid(true)).await.unwrap();
    assert_eq!(socket.frame().await["d"], true);
    b.control.gateway(GatewayAct::Deaf(30_000)).await.unwrap();
    b.control.say(b.owner(), b.channel(), "unheard").await.unwrap();
    socket.say(json!({"op": 1, "d": 2})).await;
    assert_eq!(socket.frame().await["op"], 11, "deaf, not dead");
    b.control.advance(30_000).await.unwrap();
    b.control.say(b.owner(), b.channel(), "heard").await.unwrap();
    assert_eq!(socket.event("MESSAGE_CREATE").await["d"]["content"], "heard");
    b.control.gateway(GatewayAct::Close(4000)).await.unwrap();
    assert_eq!(socket.closed().await, Some(4000));
    b.control.advance(5000).await.unwrap();
    let (mut socket, _) = b.ready(INTENTS).await;
    b.control.gateway(GatewayAct::Drop).await.unwrap();
    assert_eq!(socket.closed().await, None, "no close frame");
    b.sim.stop().await;
}

#[tokio::test]
async fn silence_is_cut_off() {
    let b = start(Options { heartbeat_ms: Some(100), ..Options::default() }).await;
    let mut socket = b.gateway().await;
    assert_eq!(socket.frame().await["d"]["heartbeat_interval"], 100);
    assert_eq!(socket.closed().await, Some(4000));
    b.sim.stop().await;
}

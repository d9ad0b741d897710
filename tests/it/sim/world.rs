use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::base::failure::Kind;
use discord_os::sim::{Options, Sim, running};
use serde_json::json;

use super::bot::start;

#[tokio::test]
async fn a_world_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let world = folder.path().join("sim");
    let options = Options { world: Some(world.clone()), ..Options::default() };
    let b = start(options.clone()).await;
    let first = b.at.clone();
    let said = b.upload("a.txt", b"abc".to_vec(), json!({"content": "kept"})).await.json;
    let gone = b.control.say(b.owner(), b.channel(), "gone").await.unwrap();
    b.control.delete(b.owner(), b.channel(), gone).await.unwrap();
    b.control.channel("second", None).await.unwrap();
    let url = said["attachments"][0]["url"].as_str().unwrap().to_owned();
    b.sim.stop().await;
    assert!(!world.join("endpoint.json").exists());
    // A crash in mid-write tears the last line.
    std::fs::OpenOptions::new().append(true).open(world.join("journal.jsonl")).unwrap().write_all(b"{\"rec").unwrap();
    let b = start(options).await;
    assert_eq!((&b.at.bot_token, b.at.channel, b.at.bot), (&first.bot_token, first.channel, first.bot));
    let messages = b.control.messages(b.owner(), b.channel()).await.unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].content, "kept");
    let moved = url.replace(&first.cdn_base, &b.at.cdn_base);
    assert_eq!(
        b.http.get(moved).send().await.unwrap().text().await.unwrap(),
        "abc",
        "old links verify until they expire"
    );
    let state = b.control.state(b.owner()).await.unwrap();
    assert_eq!(state.channels.len(), 2);
    let next = b.control.say(b.owner(), b.channel(), "new").await.unwrap();
    assert!(next > gone, "no id is given twice");
    b.sim.stop().await;
}

#[tokio::test]
async fn a_world_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let world = folder.path().join("sim");
    assert_eq!(running(&world), None);
    let options = Options { world: Some(world.clone()), ..Options::default() };
    let b = start(options.clone()).await;
    assert_eq!(running(&world).as_ref(), Some(&b.at));
    let mode = std::fs::metadata(world.join("endpoint.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = Sim::start(options.clone(), SystemClock::shared(), Arc::new(Entropy::system())).await;
    assert_eq!(second.unwrap_err().kind, Kind::AlreadyRunning);
    b.sim.stop().await;
    assert_eq!(running(&world), None);
    start(options).await.sim.stop().await;
}

#[tokio::test]
async fn what_was_answered_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let world = folder.path().join("sim");
    let b = start(Options { world: Some(world.clone()), ..Options::default() }).await;
    for n in 0..5 {
        let id = b.post(json!({"content": n.to_string()})).await.json["id"].as_str().unwrap().to_owned();
        let journal = std::fs::read_to_string(world.join("journal.jsonl")).unwrap();
        assert!(journal.contains(&format!("\"id\":\"{id}\"")), "an answered message is in the journal");
    }
    b.sim.stop().await;
}

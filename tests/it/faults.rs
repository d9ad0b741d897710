//! One fault of Discord's at a time, a hundred messages: none lost, none doubled.

use discord_os::sim::client::GatewayAct;
use serde_json::{Value, json};

use super::desk::Desk;
use super::{agent, truth};

const MESSAGES: usize = 100;

/// What goes wrong while the messages come.
enum Fault {
    Rules(Value),
    Gateway(GatewayAct),
}

async fn hundred_messages_through(label: &str, fault: Fault) {
    let mut desk = Desk::with("true").await;
    let command = agent::command(desk.folder(), "");
    desk.set("DISCORD_OS_COMMAND", &command);
    desk.set("DISCORD_OS_MAX_LIVE", "4");
    let owner = desk.owner();
    owner.control.rate_limits(false).await.unwrap();
    desk.start();
    owner.pair_and_turn_on().await;
    let mut said = Vec::new();
    for n in 0..MESSAGES {
        if n == MESSAGES / 4 {
            match &fault {
                Fault::Rules(rules) => drop(owner.control.faults(rules.clone()).await.unwrap()),
                Fault::Gateway(act) => drop(owner.control.gateway(*act).await.unwrap()),
            }
        }
        said.push(owner.say(&format!("What is number {n}?")).await);
    }
    desk.counts(MESSAGES as i64, "SELECT count(*) FROM tasks").await;
    truth::rest(&desk).await;
    let counts = truth::check(&desk).await;
    println!("{label}: {counts:?}");
    let acted = desk.count("SELECT count(*) FROM inbox WHERE state = 'acted'");
    assert_eq!((counts.tasks, counts.done, acted), (MESSAGES as i64, MESSAGES as i64, MESSAGES as i64), "{label}");
    for message in said {
        let rows = desk
            .count(&format!("SELECT count(*) FROM tasks WHERE ask_message_id = {message} AND thread_id = {message}"));
        assert_eq!(rows, 1, "{label}: message {message} has its one task and thread");
    }
    assert!(agent::starts(desk.folder()).values().all(|times| *times == 1), "{label}: a run was started twice");
    let counters = owner.control.counters().await.unwrap();
    assert!(counters.identifies <= 3, "{label}: {counters:?}");
}

fn rule(on: Value, times: u32, act: Value) -> Fault {
    Fault::Rules(json!([{"on": on, "nth": 1, "times": times, "do": act}]))
}

macro_rules! cases {
    ($($name:ident: $fault:expr;)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            hundred_messages_through(stringify!($name), $fault).await;
        })*
    };
}

cases! {
    a_429_of_the_user: rule(json!({"method": "POST"}), 5, json!({"kind": "rate_limit", "scope": "user", "retry_after": 0.3}));
    a_429_of_all: rule(json!({}), 2, json!({"kind": "rate_limit", "scope": "global", "retry_after": 0.5}));
    a_429_that_is_shared: rule(json!({"method": "POST"}), 5, json!({"kind": "rate_limit", "scope": "shared", "retry_after": 0.3}));
    a_502_with_the_effect_done: rule(json!({"method": "POST", "path": "/channels/*/messages"}), 10, json!({"kind": "status", "status": 502, "effect": true}));
    a_reset_before_the_answer: rule(json!({"method": "POST", "path": "/channels/*/messages"}), 10, json!({"kind": "reset", "effect": true}));
    a_gateway_close_4000: Fault::Gateway(GatewayAct::Close(4000));
    a_gateway_drop_1006: Fault::Gateway(GatewayAct::Drop);
    op_7: Fault::Gateway(GatewayAct::Reconnect);
    op_9_resumable: Fault::Gateway(GatewayAct::Invalid(true));
    op_9_not_resumable: Fault::Gateway(GatewayAct::Invalid(false));
    thirty_seconds_of_deafness: Fault::Gateway(GatewayAct::Deaf(30_000));
}

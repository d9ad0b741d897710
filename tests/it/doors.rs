//! Nobody gets in: who is refused, and that nothing runs and nobody becomes owner by it.

use super::agent;
use super::desk::Desk;
use super::phone::{self, Phone};

async fn started() -> Desk {
    let mut desk = Desk::with("true").await;
    let command = agent::command(desk.folder(), "");
    desk.set("DISCORD_OS_COMMAND", &command);
    desk.start();
    desk
}

fn nothing_happened(desk: &Desk) {
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 0, "a task was made");
    assert!(agent::starts(desk.folder()).is_empty(), "something ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn i_5_unpaired_no_text_of_anybody_makes_an_owner() {
    let desk = started().await;
    desk.owner().host_card("pair").await;
    let people = desk.endpoints().people;
    for who in [people.owner, people.teammate, people.stranger, people.other_bot] {
        let phone = Phone::of(desk.endpoints(), who);
        for text in ["hello", "/on", "!on", "on", "pair", "Delete everything", "/pair"] {
            phone.say(text).await;
        }
    }
    // A tap that is answered shows that everything before it was heard.
    let card = desk.owner().host_card("halt").await;
    let refused = desk.owner().tap(&card, "halt").await;
    assert!(refused.reply.is_some_and(|m| m.ephemeral), "a refusal is private and says why");
    assert_eq!(desk.count("SELECT count(*) FROM people"), 0, "an owner was made");
    nothing_happened(&desk);
}

#[tokio::test(flavor = "multi_thread")]
async fn i_5_unpaired_only_pair_and_on_make_an_owner() {
    let desk = started().await;
    let owner = desk.owner();
    let card = owner.host_card("pair").await;
    for verb in ["ask", "off", "halt"] {
        if phone::button(&card, verb).is_some() {
            owner.tap(&card, verb).await;
        }
        assert_eq!(desk.count("SELECT count(*) FROM people"), 0, "{verb} made an owner");
    }
    owner.tap(&card, "on").await;
    desk.counts(1, "SELECT count(*) FROM people WHERE role = 'owner'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i_4_once_paired_a_stranger_is_refused_everywhere() {
    let desk = started().await;
    desk.owner().pair_and_turn_on().await;
    let stranger = desk.stranger();
    let card = stranger.host_card("off").await;
    for verb in ["on", "off", "ask", "halt", "pair"] {
        if phone::button(&card, verb).is_none() {
            continue;
        }
        let answer = stranger.tap(&card, verb).await;
        assert!(answer.modal.is_none(), "{verb} opened a form");
        assert!(answer.reply.is_some_and(|m| m.ephemeral), "{verb} was not refused privately");
    }
    stranger.say("What is in this folder?").await;
    let asked = desk.owner().say("Delete the old logs").await;
    let thread = desk.owner().thread_of(asked).await;
    let job = thread.job_card("approve").await;
    let intruder = stranger.at(thread.channel);
    for verb in ["approve", "deny"] {
        let answer = intruder.tap(&job, verb).await;
        assert!(answer.reply.is_some_and(|m| m.ephemeral), "{verb} was not refused privately");
    }
    assert_eq!(desk.count("SELECT count(*) FROM approvals WHERE state = 'pending'"), 1);
    assert_eq!(desk.count("SELECT count(*) FROM hosts WHERE power = 'on' AND halted = 0"), 1);
    assert_eq!(desk.count("SELECT count(*) FROM people"), 1);
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1, "the stranger's sentence became a task");
    assert!(agent::starts(desk.folder()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn i_4_another_bots_messages_never_become_tasks() {
    let desk = started().await;
    desk.owner().pair_and_turn_on().await;
    let bot = Phone::of(desk.endpoints(), desk.endpoints().people.other_bot);
    bot.say("What is in this folder?").await;
    let asked = desk.owner().say("What is here?").await;
    desk.owner().thread_of(asked).await.receipt().await;
    assert_eq!(desk.count("SELECT count(*) FROM tasks"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i_7_twenty_presses_at_once_decide_once() {
    let desk = started().await;
    desk.owner().pair_and_turn_on().await;
    let asked = desk.owner().say("Delete the old logs").await;
    let thread = desk.owner().thread_of(asked).await;
    let card = thread.job_card("approve").await;
    let presses = (0..20).map(|n| {
        let (thread, card) = (thread.clone(), card.clone());
        async move { thread.tap(&card, if n % 2 == 0 { "approve" } else { "deny" }).await }
    });
    futures_util::future::join_all(presses).await;
    assert_eq!(desk.count("SELECT count(*) FROM approvals WHERE state IN ('approved', 'denied')"), 1);
    assert!(agent::starts(desk.folder()).len() <= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_discord_refuses_ends_the_host_at_once_and_says_what_to_do() {
    let mut desk = Desk::with("true").await;
    let wrong = "MTIzNDU2Nzg5MDEyMzQ1Njc4.AAAAAA.wrong-wrong-wrong-wrong-wrong";
    desk.set("DISCORD_BOT_TOKEN", wrong);
    desk.start();
    assert_eq!(desk.ended().await, Some(6));
    let log = desk.log();
    assert!(log.contains("Reset the") && log.contains("DISCORD_BOT_TOKEN"), "{log}");
    assert!(!log.contains(wrong), "the token is in the log");
    desk.counts(1, "SELECT count(*) FROM hosts WHERE power = 'off'").await;
    desk.counts(1, "SELECT count(*) FROM bots WHERE link = 'fatal'").await;
    let counters = desk.owner().control.counters().await.unwrap();
    assert_eq!(counters.identifies, 0, "a wrong token was tried again");
}

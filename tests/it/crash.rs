//! `kill -9`, at named places and at random ones: nothing is lost, nothing runs twice.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::desk::Desk;
use super::phone::until;
use super::{agent, truth};

/// Tasks that wait while the host is killed again and again.
const TASKS: usize = 20;

async fn prepared(work: &str) -> Desk {
    let mut desk = Desk::with("true").await;
    let command = agent::command(desk.folder(), work);
    desk.set("DISCORD_OS_COMMAND", &command);
    desk.owner().control.rate_limits(false).await.unwrap();
    desk.start();
    desk.owner().pair_and_turn_on().await;
    desk
}

async fn finish(desk: &mut Desk, label: &str) -> truth::Counts {
    desk.unset("DISCORD_OS_CRASH_AT");
    desk.start();
    truth::rest(desk).await;
    let counts = truth::check(desk).await;
    for (run, times) in agent::starts(desk.folder()) {
        assert_eq!(times, 1, "run {run} was started {times} times");
    }
    println!("{label}: {counts:?}");
    counts
}

/// The host dies at `point` while it does one task, and is started again.
async fn killed_at(point: &str) -> (Desk, truth::Counts) {
    let mut desk = prepared("sleep 0.2").await;
    desk.stop().await;
    desk.set("DISCORD_OS_CRASH_AT", point);
    desk.start();
    desk.owner().say("What is in this folder?").await;
    desk.wait_for_end().await;
    let counts = finish(&mut desk, point).await;
    assert_eq!(counts.tasks, 1, "one message is one task");
    (desk, counts)
}

#[tokio::test(flavor = "multi_thread")]
async fn i_6_killed_after_the_claim_it_runs_once_later() {
    let (desk, counts) = killed_at("claim.after").await;
    assert_eq!((counts.done, agent::starts(desk.folder()).len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn i_6_killed_after_the_warden_is_recorded_it_is_interrupted_and_offers_retry() {
    let (desk, counts) = killed_at("warden.after").await;
    assert_eq!(counts.interrupted, 1);
    let owner = desk.owner();
    let asked = owner.all().await.into_iter().find(|m| m.content.starts_with("What is")).unwrap();
    let thread = owner.thread_of(asked.id).await;
    let card = thread.job_card("retry").await;
    thread.tap(&card, "retry").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'done'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i_12_killed_after_a_post_before_its_commit_it_is_said_once() {
    killed_at("outbox-sent.before").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i_13_killed_after_a_card_is_posted_before_its_commit_there_is_one_card() {
    killed_at("mirror-shown.before:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i_9_killed_between_upload_and_row_the_file_is_stored_once() {
    let (desk, _) = killed_at("put.stored.before").await;
    let files = truth::everything(&desk).await.iter().map(|m| m.attachments.len()).sum::<usize>();
    assert_eq!(files, 1);
    assert_eq!(desk.count("SELECT count(*) FROM objects"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_receipt_is_recorded_it_is_sent_once() {
    let (_desk, counts) = killed_at("receipt.after").await;
    assert_eq!(counts.done, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i_1_killed_before_a_message_is_committed_it_is_taken_once_later() {
    killed_at("message.before").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_mid_run_its_processes_are_ended() {
    let mut desk = prepared("setsid sleep 300 & sleep 300").await;
    desk.owner().say("What takes so long?").await;
    let folder = desk.folder().to_owned();
    until("the agent has started", async || (!agent::starts(&folder).is_empty()).then_some(())).await;
    desk.crash();
    let counts = finish(&mut desk, "in mid-run").await;
    assert_eq!((counts.interrupted, counts.done), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_during_twenty_queued_tasks_nothing_is_lost_or_doubled() {
    for seed in [1, 2] {
        let mut desk = prepared("sleep 0.1").await;
        let mut random = StdRng::seed_from_u64(seed);
        for n in 0..TASKS {
            desk.owner().say(&format!("What is number {n}?")).await;
        }
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_millis(random.random_range(50..1500))).await;
            desk.crash();
            desk.start();
        }
        desk.crash();
        let counts = finish(&mut desk, &format!("seed {seed}")).await;
        assert_eq!(counts.tasks, TASKS as i64, "every message is one task");
        assert_eq!(counts.done + counts.interrupted, TASKS as i64, "every task is done or interrupted");
        assert!(counts.done >= 10, "at least ten are done");
    }
}

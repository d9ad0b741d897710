//! The main job, as a person lives it.

use discord_os::base::hash::Sha256;

use super::desk::Desk;
use super::phone::{self, until};
use super::{agent, truth};

async fn at_work(work: &str) -> Desk {
    let mut desk = Desk::with("true").await;
    let command = agent::command(desk.folder(), work);
    desk.set("DISCORD_OS_COMMAND", &command);
    desk.start();
    desk.owner().pair_and_turn_on().await;
    desk
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_becomes_a_task_a_thread_a_receipt_and_a_file_with_the_same_bytes() {
    let desk = at_work("sleep 0.1").await;
    let owner = desk.owner();
    let asked = owner.say("What is in this folder?").await;
    let thread = owner.thread_of(asked).await;
    let receipt = thread.receipt().await;
    assert!(phone::text_of(&receipt).contains("asked.txt"), "{}", phone::text_of(&receipt));
    let file = thread.sees("the artifact", |m| !m.attachments.is_empty()).await;
    let out = desk.folder().join("got.txt");
    let channel = desk.endpoints().channel.to_string();
    let got = desk
        .command(&["get", &file.id.to_string(), "--channel-id", &channel, "--out", out.to_str().unwrap(), "--json"])
        .output()
        .unwrap();
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!(bytes, b"What is in this folder?\n");
    let json: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
    assert_eq!(json["sha256"], Sha256::of(&bytes).to_string());
    assert!(json.get("url").is_none());
    truth::rest(&desk).await;
    assert_eq!(truth::check(&desk).await.done, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn file_work_waits_for_approve_and_runs_after_it() {
    let desk = at_work("sleep 0.1").await;
    let owner = desk.owner();
    let asked = owner.say("Delete the old logs").await;
    let thread = owner.thread_of(asked).await;
    let card = thread.job_card("approve").await;
    assert!(agent::starts(desk.folder()).is_empty(), "it started before it was approved");
    thread.tap(&card, "approve").await;
    thread.receipt().await;
    assert_eq!(agent::starts(desk.folder()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_job_never_starts() {
    let desk = at_work("sleep 0.1").await;
    let owner = desk.owner();
    let asked = owner.say("Delete the old logs").await;
    let thread = owner.thread_of(asked).await;
    let card = thread.job_card("deny").await;
    thread.tap(&card, "deny").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'denied'").await;
    truth::rest(&desk).await;
    assert!(agent::starts(desk.folder()).is_empty());
    let receipt = thread.receipt().await;
    assert!(phone::text_of(&receipt).contains("Nothing was started"), "{}", phone::text_of(&receipt));
    truth::check(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_cancelled_while_it_waits_has_its_receipt_too() {
    let desk = at_work("sleep 0.1").await;
    let owner = desk.owner();
    let asked = owner.say("Delete the old logs").await;
    let thread = owner.thread_of(asked).await;
    thread.job_card("approve").await;
    let out = desk.command(&["jobs", "cancel", "DOS-1"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'cancelled'").await;
    truth::rest(&desk).await;
    assert!(agent::starts(desk.folder()).is_empty());
    let receipt = thread.receipt().await;
    assert!(phone::text_of(&receipt).contains("before anything started"), "{}", phone::text_of(&receipt));
    truth::check(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_very_long_answer_becomes_a_file_and_hidden_reasoning_is_recorded_nowhere() {
    let work = "echo '<thinking>the secret plan'; sleep 0.7; echo 'goes on</thinking>'; \
                for n in $(seq 3000); do echo \"line $n of the answer\"; done";
    let desk = at_work(work).await;
    let owner = desk.owner();
    let asked = owner.say("What is in this folder?").await;
    let thread = owner.thread_of(asked).await;
    let receipt = thread.receipt().await;
    let text = phone::text_of(&receipt);
    assert!(text.contains("line 3000 of the answer") && text.contains("file answer.md"), "{text}");
    truth::rest(&desk).await;
    truth::check(&desk).await;
    let run: String = desk.ledger().unwrap().query_row("SELECT run_id FROM runs", [], |row| row.get(0)).unwrap();
    let file = std::fs::read_to_string(desk.workspace().join("artifacts").join(run).join("answer.md")).unwrap();
    assert!(file.contains("line 1 of the answer") && file.contains("line 3000 of the answer"));
    assert!(!file.contains("secret plan") && !file.contains("goes on"));
    let stored = thread.all().await.into_iter().flat_map(|m| m.attachments).map(|a| a.filename).collect::<Vec<_>>();
    assert!(stored.contains(&"answer.md".to_owned()), "{stored:?}");
    let leaks = "SELECT count(*) FROM runs WHERE answer || coalesce(summary, '') LIKE '%secret plan%'";
    assert_eq!(desk.count(leaks), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_ends_every_process_and_only_then_says_so() {
    let desk = at_work("trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300 & sleep 300' & sleep 300").await;
    let owner = desk.owner();
    let asked = owner.say("What takes so long?").await;
    let thread = owner.thread_of(asked).await;
    until("several processes of the run live", async || (desk.marked_processes().len() >= 3).then_some(())).await;
    let card = thread.job_card("cancel").await;
    thread.tap(&card, "cancel").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'cancelled'").await;
    assert!(desk.marked_processes().is_empty(), "Cancelled was written while processes lived");
    let receipt = thread.receipt().await;
    assert!(phone::text_of(&receipt).to_lowercase().contains("cancelled"), "{}", phone::text_of(&receipt));
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_by_form_opens_a_thread_of_its_own() {
    let desk = at_work("sleep 0.1").await;
    let owner = desk.owner();
    owner.ask("What is in this folder?").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'done'").await;
    truth::rest(&desk).await;
    assert_eq!(desk.count("SELECT count(*) FROM tasks WHERE thread_id IS NOT NULL"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn off_asks_first_and_then_ends_what_runs() {
    let desk = at_work("sleep 300").await;
    let owner = desk.owner();
    owner.say("What takes so long?").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'started'").await;
    let card = owner.host_card("off").await;
    let asked = owner.tap(&card, "off").await;
    let question = asked.reply.expect("Off is answered privately");
    assert!(question.ephemeral);
    assert_eq!(desk.count("SELECT count(*) FROM hosts WHERE power = 'on'"), 1, "it went off before Confirm");
    owner.tap(&question, "off-confirm").await;
    desk.counts(1, "SELECT count(*) FROM hosts WHERE power = 'off'").await;
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'cancelled'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_still_there_after_a_planned_restart() {
    let mut desk = at_work("sleep 0.1").await;
    let asked = desk.owner().say("What is in this folder?").await;
    desk.owner().thread_of(asked).await.receipt().await;
    assert_eq!(desk.stop().await, Some(0));
    desk.start();
    let again = desk.owner().say("What is in it now?").await;
    desk.owner().thread_of(again).await.receipt().await;
    let counters = desk.owner().control.counters().await.unwrap();
    assert_eq!(counters.identifies, 1, "a planned restart resumes its session");
    truth::rest(&desk).await;
    assert_eq!(truth::check(&desk).await.done, 2);
}

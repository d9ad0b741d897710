use super::job::{APPROVAL, COST, EARLIER, MADE};
use super::*;
use crate::base::hash::Sha256;
use crate::base::ids::TaskId;
use crate::base::money::MicroUsd;
use crate::ledger::{Ledger, Write, errands, mirrors, outbox};

/// Tables that grow with use: none of them is ever looked through as a whole.
const BIG: [&str; 10] =
    ["runs", "tasks", "inbox", "objects", "outbox", "mirrors", "spend", "steps", "approvals", "errands"];

fn open() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
    (dir, ledger)
}

fn plan(read: &Read<'_>, sql: &str) -> Vec<String> {
    let mut found = read.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let none = rusqlite::params_from_iter((0..found.parameter_count()).map(|_| rusqlite::types::Null));
    let rows = found.query_map(none, |row| row.get::<_, String>(3)).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

/// The table that a step of a plan scans, aliases resolved by the query's own text.
fn scanned<'a>(sql: &'a str, step: &str) -> Option<&'a str> {
    let name = step.strip_prefix("SCAN ")?.split(' ').next()?.to_owned();
    let words: Vec<&str> = sql.split_whitespace().collect();
    let table = words.windows(2).find(|w| w[1].trim_end_matches(',') == name).map(|w| w[0]);
    table.filter(|t| BIG.contains(t)).or_else(|| words.iter().copied().find(|w| *w == name))
}

#[test]
fn every_query_of_views_and_loops_goes_by_an_index() {
    let (_dir, ledger) = open();
    let all = [HOST, COUNTS, MISSED, HELD, FAILED, PAIRED, JOBS, APPROVAL, COST, MADE, EARLIER].map(str::to_owned);
    let moving =
        [mirrors::due_sql(), mirrors::one_sql(), mirrors::NEXT.into(), outbox::DUE.into(), outbox::NEXT.into()];
    let errand = [errands::DUE.to_owned(), errands::NEXT.to_owned()];
    let touches = mirrors::TOUCHES.map(str::to_owned);
    ledger
        .read_now(|read| {
            for sql in all.iter().chain(&moving).chain(&errand).chain(&touches) {
                for step in plan(read, sql) {
                    // A walk along an index in its order is bounded by LIMIT or by a partial index of open rows.
                    let bounded = step.contains("USING INDEX") || step.contains("USING COVERING INDEX");
                    let table = scanned(sql, &step).filter(|t| BIG.contains(t));
                    assert!(table.is_none() || bounded, "{step}\n{sql}");
                    let partial =
                        ["outbox_open", "mirrors_due", "errands_due", "inbox_held", "outbox_held", "outbox_failed"];
                    let short = sql.contains("LIMIT") || partial.iter().any(|p| step.contains(p));
                    assert!(table.is_none() || short, "unbounded: {step}\n{sql}");
                }
            }
            Ok(())
        })
        .unwrap();
}

fn host(tx: &Write<'_>) -> Result<()> {
    tx.db.execute_batch(
        "INSERT INTO hosts (host_id, boot_id, power, power_by, power_at, started_at) VALUES ('h', 'b', 'on', 'user:5', 7, 7);
         INSERT INTO bots (bot_key, host_id, kind, link, link_at) VALUES ('k', 'h', 'host', 'up', 299999);
         INSERT INTO people (bot_key, user_id, role, name, added_by, at)
             VALUES ('k', 6, 'operator', NULL, 'user:5', 1), ('k', 5, 'owner', 'Olive', 'self', 2);
         INSERT INTO inbox VALUES ('k', 1, 9, 5, 'human', 'work', 'held', NULL, 'x', 'rest', 1),
                                  ('k', 2, 9, 5, 'human', 'work', 'acted', NULL, 'x', 'rest', 1);
         INSERT INTO tasks (task_id, code, bot_key, channel_id, asker, asker_name, text, mode, at)
             VALUES ('t1', 1, 'k', 9, 'user:5', 'Olive', 'first', 'work', 1), ('t2', 2, 'k', 9, 'user:5', 'Olive', 'second', 'work', 2);
         INSERT INTO runs (run_id, task_id, turn, prompt, backend, state, host_id, mark, created_at)
             VALUES ('r1', 't1', 1, 'x', 'fake', 'failed', 'h', 'm1', 1), ('r2', 't1', 2, 'x', 'fake', 'started', 'h', 'm2', 2),
                    ('r3', 't2', 1, 'x', 'fake', 'waiting', 'h', 'm3', 3);
         INSERT INTO steps VALUES ('r2', 1, 'one', 1), ('r2', 2, 'two', 2);
         INSERT INTO meters VALUES ('m', 'h', 10000000, 1, NULL);
         INSERT INTO spend (run_id, meter_id, reserved, spent, basis, settled, at) VALUES ('r2', 'm', 5, 0, 'unknown', 0, 1);
         INSERT INTO objects (artifact_id, bot_key, channel_id, message_id, attachment_id, name, kind, sha256, size, run_id, at)
             VALUES ('o1', 'k', 77, 99, 1, 'a.txt', 'text', 'x', 3, 'r2', 1);",
    )?;
    let digest = Sha256::of("x").to_string();
    tx.db.execute(
        "INSERT INTO approvals (approval_id, run_id, action, digest, approvers, state, at)
         VALUES ('a', 'r3', 'do it', ?1, 'approver', 'pending', 1)",
        params![digest],
    )?;
    Ok(())
}

#[tokio::test]
async fn the_host_view_counts_and_names() {
    let (_dir, ledger) = open();
    ledger.write("rows", host).await.unwrap();
    let view = ledger.read(|r| host_view(r, &HostId("h".into()), &BotKey("k".into()))).await.unwrap().unwrap();
    assert_eq!(view.power, Power::On);
    assert_eq!(view.counts, Counts { live: 1, queued: 0, waiting: 1 });
    assert_eq!((view.missed, view.held, view.failed), (1, 0, 0));
    assert_eq!(view.people[0].role, Role::Owner);
    assert_eq!(
        view.link.heartbeat,
        Some(Millis(299_999)),
        "as it was noted: a rounded one would tell of a time before the host began"
    );
    let jobs: Vec<(i64, &str)> = view.jobs.iter().map(|j| (j.code.0, j.run.as_str())).collect();
    assert_eq!(jobs, [(2, "r3"), (1, "r2")]);
    let none = ledger.read(|r| host_view(r, &HostId("x".into()), &BotKey("k".into()))).await.unwrap();
    assert_eq!(none, None);
}

#[tokio::test]
async fn the_job_view_is_of_the_newest_run_and_the_receipt_of_its_own() {
    let (_dir, ledger) = open();
    ledger.write("rows", host).await.unwrap();
    let view = ledger.read(|r| job_view(r, &TaskId("t1".into()))).await.unwrap().unwrap();
    assert_eq!((view.run.id.as_str(), view.run.turn), ("r2", 2));
    assert_eq!(view.steps, ["one", "two"]);
    assert_eq!(view.earlier, [(1, RunState::Failed)]);
    assert_eq!(view.artifacts[0].name, "a.txt");
    assert_eq!(view.cost.unwrap().reserved, MicroUsd(5));
    let receipt = ledger.read(|r| receipt_view(r, &RunId("r1".into()))).await.unwrap().unwrap();
    assert_eq!((receipt.run.state, receipt.earlier.len()), (RunState::Failed, 0));
    let waiting = ledger.read(|r| job_view(r, &TaskId("t2".into()))).await.unwrap().unwrap();
    assert_eq!(waiting.approval.unwrap().digest, Sha256::of("x"));
}

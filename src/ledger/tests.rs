use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;

use super::*;
use crate::base::failure::Kind;

fn open() -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
    (dir, ledger)
}

#[tokio::test]
async fn a_failed_write_rolls_back_alone() {
    let (_dir, ledger) = open();
    let good = ledger.write("good", |tx| numbers::take(tx, "a"));
    let bad = ledger.write("bad", |tx| {
        numbers::take(tx, "a")?;
        Err::<(), _>(LedgerError::Corrupt("on purpose".into()))
    });
    let panics = ledger.write("panics", |_| -> Result<()> { panic!("on purpose") });
    let (good, bad, panics) = tokio::join!(good, bad, panics);
    assert_eq!(good.unwrap(), 1);
    assert!(matches!(bad, Err(LedgerError::Corrupt(_))));
    assert!(matches!(panics, Err(LedgerError::Panicked(_))));
    assert_eq!(ledger.write("next", |tx| numbers::take(tx, "a")).await.unwrap(), 2);
}

#[tokio::test]
async fn i_19_a_thousand_waiting_writes_all_land_once() {
    let (_dir, ledger) = open();
    let writes = (0..1000).map(|_| ledger.write("count", |tx| numbers::take(tx, "n")));
    let mut got: Vec<i64> = futures_util::future::join_all(writes).await.into_iter().map(|n| n.unwrap()).collect();
    got.sort_unstable();
    assert_eq!(got, (1..=1000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_rings_the_bell() {
    let (_dir, ledger) = open();
    let bell = ledger.bell();
    ledger.write("ring", |tx| numbers::take(tx, "n")).await.unwrap();
    bell.wait(std::time::Duration::from_secs(3600)).await;
}

#[test]
fn a_newer_file_is_refused_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    drop(Ledger::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = Ledger::open(&path).err().unwrap();
    assert_eq!(refused.kind, Kind::Usage);
    assert!(refused.message.contains("999") && refused.hint.is_some(), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    std::fs::write(&path, "not a database, but long enough to look at".repeat(50)).unwrap();
    assert_eq!(Ledger::open(&path).err().unwrap().kind, Kind::Integrity);
}

#[test]
fn the_file_is_private_and_durable() {
    let (dir, ledger) = open();
    let path = dir.path().join("ledger.db");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(ledger);
    let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let mode: String = db.query_row("PRAGMA journal_mode", [], |r| r.get(0)).unwrap();
    let sync: i64 = db.query_row("PRAGMA synchronous", [], |r| r.get(0)).unwrap();
    assert_eq!((mode.as_str(), sync), ("wal", 2));
}

#[tokio::test]
async fn a_reader_never_waits_for_a_writer() {
    let (dir, ledger) = open();
    let other = Connection::open(dir.path().join("ledger.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let reader = Ledger::open_read_only(&dir.path().join("ledger.db")).unwrap();
    assert!(reader.read_now(|r| r.data_version()).is_ok());
    other.execute_batch("ROLLBACK").unwrap();
    drop(ledger);
}

/// Every object of the schema, as SQLite keeps its text.
fn schema(path: &Path) -> String {
    let db = Connection::open(path).unwrap();
    let mut found = db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name").unwrap();
    let texts = found.query_map([], |row| row.get::<_, String>(0)).unwrap().map(|text| text.unwrap() + ";\n");
    texts.collect()
}

#[test]
fn a_ledger_of_every_kept_version_opens_as_the_newest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/db");
    let fresh = tempfile::tempdir().unwrap();
    drop(Ledger::open(&fresh.path().join("ledger.db")).unwrap());
    let newest = schema(&fresh.path().join("ledger.db"));
    for version in 1..=migrate::NEWEST {
        let kept = folder.join(format!("v{version}.sql"));
        let sql = std::fs::read_to_string(&kept).unwrap_or_else(|e| panic!("{}: {e}", kept.display()));
        let old = tempfile::tempdir().unwrap();
        let path = old.path().join("ledger.db");
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
        drop(Ledger::open(&path).unwrap());
        assert_eq!(schema(&path), newest, "a ledger of version {version} differs once it is upgraded");
        let backup = old.path().join(format!("ledger.db.v{version}.bak"));
        assert_eq!(backup.exists(), version < migrate::NEWEST, "a copy is kept exactly where something was upgraded");
    }
}

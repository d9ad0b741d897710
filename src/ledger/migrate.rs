//! Schema versions: numbered files, never edited, each applied in one transaction.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::base::failure::{Failure, Kind};

/// Every version in order; the position plus one is the number that `user_version` holds.
const VERSIONS: [&str; 1] = [include_str!("migrations/0001_first.sql")];

/// Newest version that this program knows.
pub const NEWEST: u32 = VERSIONS.len() as u32;

/// Brings a file to the newest version. A copy of an older file is kept beside it first.
///
/// # Errors
/// Refuses a file of a newer version and leaves it as it was.
pub fn migrate(db: &mut Connection, path: &Path) -> Result<(), Failure> {
    let at = version(db, path)?;
    if at == NEWEST {
        return Ok(());
    }
    if at > 0 {
        back_up(db, path, at)?;
    }
    for (index, sql) in VERSIONS.iter().enumerate().skip(at as usize) {
        apply(db, index as u32, sql).map_err(|e| {
            Failure::failed(format!(
                "The ledger {} could not be brought to version {}: {e}.",
                path.display(),
                index + 1
            ))
            .hint("Nothing was changed. Check the disk, or restore the copy beside the file.")
        })?;
    }
    Ok(())
}

/// Refuses a file that a newer program wrote. Returns the version of any other.
///
/// # Errors
/// Also when the file is no database.
pub fn version(db: &Connection, path: &Path) -> Result<u32, Failure> {
    let at: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| {
        Failure::new(Kind::Integrity, format!("The ledger {} cannot be read: {e}.", path.display()))
            .hint("Move the file away to start anew, or restore a backup.")
    })?;
    match u32::try_from(at) {
        Ok(at) if at <= NEWEST => Ok(at),
        _ => Err(Failure::usage(format!(
            "The ledger {} has version {at}; this program knows versions up to {NEWEST}.",
            path.display()
        ))
        .hint("Install the newer discord-os that wrote it, or use another workspace.")),
    }
}

// One process may have migrated while another waited for the lock, so the version is read again inside.
fn apply(db: &mut Connection, from: u32, sql: &str) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let at: u32 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if at == from {
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", from + 1)?;
    }
    tx.commit()
}

fn back_up(db: &Connection, path: &Path, at: u32) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{at}.bak"));
    let to = PathBuf::from(name);
    db.backup("main", &to, None::<fn(rusqlite::backup::Progress)>).map_err(|e| {
        Failure::failed(format!("The ledger could not be copied to {} before its upgrade: {e}.", to.display()))
            .hint("Make room on the disk and try again; nothing was changed.")
    })
}

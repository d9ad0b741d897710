//! Steps: what a run did, a line each.

use rusqlite::params;

use super::{Read, Result, Write};
use crate::base::clock::Millis;
use crate::base::ids::RunId;

/// Steps that are kept of one run; a run that makes more keeps its newest (I-17).
pub const KEPT: i64 = 500;

/// Adds a step.
pub fn add(tx: &Write<'_>, run: &RunId, text: &str, now: Millis) -> Result<()> {
    tx.db
        .prepare_cached(
            "INSERT INTO steps (run_id, n, text, at)
         SELECT ?1, coalesce(max(n), 0) + 1, ?2, ?3 FROM steps WHERE run_id = ?1",
        )?
        .execute(params![run.as_str(), text, now.0])?;
    tx.db
        .prepare_cached(
            "DELETE FROM steps WHERE run_id = ?1 AND n <= (SELECT max(n) FROM steps WHERE run_id = ?1) - ?2",
        )?
        .execute(params![run.as_str(), KEPT])?;
    Ok(())
}

/// The newest steps of a run, oldest first.
pub fn last(read: &Read<'_>, run: &RunId, most: usize) -> Result<Vec<String>> {
    let sql = "SELECT text FROM steps WHERE run_id = ?1 ORDER BY n DESC LIMIT ?2";
    let mut found = read.db.prepare_cached(sql)?;
    let rows = found.query_map(params![run.as_str(), most as i64], |row| row.get(0))?;
    let mut steps = rows.collect::<rusqlite::Result<Vec<String>>>()?;
    steps.reverse();
    Ok(steps)
}

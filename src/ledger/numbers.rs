//! Counters, such as the one behind `DOS-n`.

use rusqlite::params;

use super::{Result, Write};

/// Takes the next number of a counter; the first is 1.
pub fn take(tx: &Write<'_>, name: &str) -> Result<i64> {
    let sql = "INSERT INTO numbers (name, next) VALUES (?1, 2)
               ON CONFLICT (name) DO UPDATE SET next = next + 1 RETURNING next - 1";
    Ok(tx.db.query_row(sql, params![name], |row| row.get(0))?)
}

/// Raises a counter so that its next number is above `met`.
pub fn raise(tx: &Write<'_>, name: &str, met: i64) -> Result<()> {
    let sql = "INSERT INTO numbers (name, next) VALUES (?1, ?2 + 1)
               ON CONFLICT (name) DO UPDATE SET next = max(next, excluded.next)";
    tx.db.execute(sql, params![name, met.max(0)])?;
    Ok(())
}

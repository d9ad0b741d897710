//! The ledger: every fact, in SQLite. One writer thread, a few readers, all SQL of the product.
//!
//! A write is a closure that runs in an IMMEDIATE transaction. Writes that wait together share one commit, each under
//! a savepoint of its own, so that one failure rolls back alone (I-19).

pub mod approvals;
pub mod bots;
pub mod channels;
pub mod control;
pub mod errands;
pub mod error;
pub mod inbox;
pub mod interactions;
pub mod migrate;
pub mod mirrors;
pub mod numbers;
pub mod objects;
pub mod outbox;
pub mod people;
pub mod puts;
pub mod runs;
pub mod spend;
pub mod steps;
pub mod tasks;
pub mod views;
mod writer;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, oneshot};

use crate::base::bell::Bell;
use crate::base::failure::{Failure, Kind};
pub use error::LedgerError;

/// Readers at a time: as many as loops that look at once, with room for the CLI.
const READERS: usize = 4;

/// Another process may hold the write lock this long (a CLI's upload row, a backup) before we give up.
const BUSY: Duration = Duration::from_secs(10);

/// Result of ledger calls.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// Proof that one is inside a read.
pub struct Read<'a> {
    db: &'a Connection,
}

/// Proof that one is inside a write. Can do all that a [`Read`] can.
pub struct Write<'a> {
    read: Read<'a>,
}

impl<'a> Deref for Write<'a> {
    type Target = Read<'a>;

    fn deref(&self) -> &Read<'a> {
        &self.read
    }
}

impl Read<'_> {
    /// Changes when another connection changed the file: a loop's sign to look again.
    pub fn data_version(&self) -> Result<i64> {
        Ok(self.db.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

/// The ledger of one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    writer: Option<writer::Writer>,
    readers: Mutex<Vec<Connection>>,
    places: Semaphore,
}

impl Ledger {
    /// Opens or makes the file (mode 0600) and brings it to the newest version. Blocks.
    ///
    /// # Errors
    /// A newer file, a file that is no database, a folder that cannot be written.
    pub fn open(path: &Path) -> std::result::Result<Self, Failure> {
        make_private(path)?;
        let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        migrate::migrate(&mut db, path)?;
        let writer =
            writer::Writer::start(db).map_err(|e| Failure::failed(format!("A thread could not be started: {e}.")))?;
        Ok(Self::with(path, Some(writer)))
    }

    /// Opens an existing file for reading only. Never waits for a writer.
    ///
    /// # Errors
    /// No such file, or one of another version.
    pub fn open_read_only(path: &Path) -> std::result::Result<Self, Failure> {
        if !path.exists() {
            return Err(Failure::not_found(format!("There is no ledger at {}.", path.display()))
                .hint("Run `discord-os bootstrap` first."));
        }
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if migrate::version(&db, path)? < migrate::NEWEST {
            return Err(Failure::usage(format!("The ledger {} is of an older version.", path.display()))
                .hint("Run `discord-os bootstrap` once to upgrade it."));
        }
        Ok(Self::with(path, None))
    }

    fn with(path: &Path, writer: Option<writer::Writer>) -> Self {
        let inner =
            Inner { path: path.to_owned(), writer, readers: Mutex::new(Vec::new()), places: Semaphore::new(READERS) };
        Self { inner: Arc::new(inner) }
    }

    /// A bell that rings after every commit of this process.
    pub fn bell(&self) -> Bell {
        self.inner.writer.as_ref().map_or_else(Bell::new, writer::Writer::bell)
    }

    /// Runs `work` in a write transaction and returns when it is durable.
    ///
    /// `name` says what is written; tests crash before (`NAME.before`) and after (`NAME.after`) its commit.
    ///
    /// # Errors
    /// What `work` returned (its changes are then undone), or a failed commit.
    pub async fn write<T, F>(&self, name: &'static str, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Write<'_>) -> Result<T> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let writer = self.inner.writer.as_ref().ok_or(LedgerError::Closed)?;
        writer.queue(writer::job(name, work, tell)).await?;
        told.await.map_err(|_| LedgerError::Closed)?
    }

    /// Runs `work` on a reader. It sees everything that was committed before.
    ///
    /// # Errors
    /// What `work` returned, or SQLite's own.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Read<'_>) -> Result<T> + Send + 'static,
    {
        let place = self.inner.places.acquire().await.map_err(|_| LedgerError::Closed)?;
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || inner.read(work)).await;
        drop(place);
        done.map_err(|e| LedgerError::Panicked(e.to_string()))?
    }

    /// The same for code that is not async (short commands).
    ///
    /// # Errors
    /// What `work` returned, or SQLite's own.
    pub fn read_now<T>(&self, work: impl FnOnce(&Read<'_>) -> Result<T>) -> Result<T> {
        self.inner.read(work)
    }
}

impl Inner {
    fn read<T>(&self, work: impl FnOnce(&Read<'_>) -> Result<T>) -> Result<T> {
        let kept = self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let db = match kept {
            Some(db) => db,
            None => {
                connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|f| LedgerError::Commit(f.message))?
            }
        };
        // One snapshot for all that the closure reads.
        db.execute_batch("BEGIN DEFERRED")?;
        let result = work(&Read { db: &db });
        db.execute_batch("COMMIT")?;
        self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(db);
        result
    }
}

fn make_private(path: &Path) -> std::result::Result<(), Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    made.map(drop).map_err(|e| {
        Failure::failed(format!("The ledger {} cannot be opened: {e}.", path.display()))
            .hint("Check that the workspace folder exists and is yours.")
    })
}

fn connect(path: &Path, access: OpenFlags) -> std::result::Result<Connection, Failure> {
    let fail = |e: rusqlite::Error| {
        Failure::new(Kind::Integrity, format!("The ledger {} cannot be opened: {e}.", path.display()))
            .hint("Check that the file is a discord-os ledger and that the disk has room.")
    };
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(fail)?;
    db.busy_timeout(BUSY).map_err(fail)?;
    if access.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
        db.pragma_update(None, "journal_mode", "WAL").map_err(fail)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    }
    db.pragma_update(None, "foreign_keys", "ON").map_err(fail)?;
    db.set_prepared_statement_cache_capacity(128);
    Ok(db)
}

#[cfg(test)]
mod tests;

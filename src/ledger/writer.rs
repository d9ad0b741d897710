//! The one writer: a thread with a queue. What waits together is committed together.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{LedgerError, Read, Result, Write};
use crate::base::bell::Bell;
use crate::base::crash;

/// Writes that may wait. Beyond it, callers wait to queue (I-17).
const QUEUE: usize = 1024;

/// Most writes in one commit, so that the first of them does not wait long for its answer.
const GROUP: usize = 256;

/// Told after the commit how it went.
type Tell = Box<dyn FnOnce(std::result::Result<(), String>) + Send>;

/// A caller's closure, wrapped: gets the connection, or nothing where there is no transaction.
type Run = Box<dyn FnOnce(Option<&Connection>) -> Tell + Send>;

/// One write: runs under its savepoint (or, where there is no transaction, not at all), then hands back how to tell
/// its caller.
pub(super) struct Job {
    name: &'static str,
    run: Run,
}

/// Wraps a caller's closure.
pub(super) fn job<T, F>(name: &'static str, work: F, tell: oneshot::Sender<Result<T>>) -> Job
where
    T: Send + 'static,
    F: FnOnce(&Write<'_>) -> Result<T> + Send + 'static,
{
    let run = move |db: Option<&Connection>| -> Tell {
        let result = db.map_or(Err(LedgerError::Commit("the transaction is gone".into())), |db| guarded(db, work));
        Box::new(move |committed| {
            let result = match committed {
                Ok(()) => result,
                Err(why) => Err(LedgerError::Commit(why)),
            };
            // A caller that went away does not need to know.
            drop(tell.send(result));
        })
    };
    Job { name, run: Box::new(run) }
}

fn guarded<T>(db: &Connection, work: impl FnOnce(&Write<'_>) -> Result<T>) -> Result<T> {
    db.execute_batch("SAVEPOINT one")?;
    let done = catch_unwind(AssertUnwindSafe(|| work(&Write { read: Read { db } })));
    let result = done.unwrap_or_else(|panic| Err(LedgerError::Panicked(panic_text(panic.as_ref()))));
    match result {
        Ok(value) => db.execute_batch("RELEASE one").map(|()| value).map_err(LedgerError::from),
        Err(error) => {
            db.execute_batch("ROLLBACK TO one; RELEASE one")?;
            Err(error)
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panic").to_owned()
}

/// The thread and its queue. Dropped, it finishes what waits and ends.
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Job>>,
    bells: Arc<Mutex<Vec<Bell>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(db: Connection) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let bells: Arc<Mutex<Vec<Bell>>> = Arc::default();
        let ring = Arc::clone(&bells);
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(move || serve(&db, jobs, &ring))?;
        Ok(Self { queue: Some(queue), bells, thread: Some(thread) })
    }

    pub(super) fn bell(&self) -> Bell {
        let bell = Bell::new();
        let mut bells = self.bells.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Nobody waits for a bell that is only ours any more; kept, they would grow with every run (I-17).
        bells.retain(Bell::is_shared);
        bells.push(bell.clone());
        bell
    }

    pub(super) async fn queue(&self, job: Job) -> Result<()> {
        let queue = self.queue.as_ref().ok_or(LedgerError::Closed)?;
        queue.send(job).await.map_err(|_| LedgerError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread catches panics of its jobs, so a join error has nothing left to say.
            drop(thread.join());
        }
    }
}

fn serve(db: &Connection, mut jobs: mpsc::Receiver<Job>, bells: &Mutex<Vec<Bell>>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(next) = jobs.try_recv()
        {
            group.push(next);
        }
        let names: Vec<&'static str> = group.iter().map(|job| job.name).collect();
        let (tells, committed) = commit(db, group);
        if committed.is_ok() {
            names.iter().for_each(|name| point(name, "after"));
        }
        for tell in tells {
            tell(committed.clone());
        }
        for bell in bells.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            bell.ring();
        }
    }
}

fn commit(db: &Connection, group: Vec<Job>) -> (Vec<Tell>, std::result::Result<(), String>) {
    let begun = db.execute_batch("BEGIN IMMEDIATE").map_err(|e| e.to_string());
    let mut tells = Vec::with_capacity(group.len());
    for job in group {
        // A full disk makes SQLite undo the whole transaction; what follows must not run outside of one.
        let open = begun.is_ok() && !db.is_autocommit();
        tells.push((job.run)(open.then_some(db)));
        point(job.name, "before");
    }
    if let Err(refused) = begun {
        return (tells, Err(refused));
    }
    if db.is_autocommit() {
        return (tells, Err("SQLite undid the transaction; is the disk full?".into()));
    }
    let committed = db.execute_batch("COMMIT").map_err(|e| e.to_string());
    if committed.is_err() && !db.is_autocommit() {
        drop(db.execute_batch("ROLLBACK"));
    }
    (tells, committed)
}

fn point(name: &str, when: &str) {
    if cfg!(feature = "crash-points") {
        crash::point(&format!("{name}.{when}"));
    }
}

//! The world on disk: a journal of records, the files' bytes, the lock, and `endpoint.json`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::sync::watch;

use super::Endpoints;
use super::world::{Record, World};
use crate::base::failure::{Failure, Kind, LogAndGoOn};
use crate::base::ids::AttachmentId;

const JOURNAL: &str = "journal.jsonl";
const ENDPOINT: &str = "endpoint.json";
const LOCK: &str = "lock";
/// Attempts to take the lock, 20 ms apart: somebody who only looks holds it for a moment.
const LOCK_TRIES: u32 = 10;

type Batch = (u64, Vec<u8>);

/// The folder of a world.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// Whether the world outlives the process.
    kept: bool,
    /// Held while the world is owned.
    lock: Mutex<Option<File>>,
    queue: Mutex<Option<mpsc::Sender<Batch>>>,
    queued: AtomicU64,
    done: watch::Receiver<u64>,
}

/// Writes what the store queues; runs on a thread of its own.
#[derive(Debug)]
pub struct Writer {
    file: File,
    queue: mpsc::Receiver<Batch>,
    done: watch::Sender<u64>,
}

fn failed(what: &str, error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!("{what}: {error}.")).hint("Check the folder's permissions and free space, then try again.")
}

/// Makes a folder that only its owner can read.
fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    drop(fs::remove_file(&fresh));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Takes the world's lock, or says who has it.
fn own(folder: &Path) -> Result<File, Failure> {
    let path = folder.join(LOCK);
    let open = OpenOptions::new().create(true).truncate(false).write(true).read(true).mode(0o600).open(&path);
    let file = open.map_err(|e| failed("The simulator's lock cannot be opened", e))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(20)),
            Err(TryLockError::Error(e)) => return Err(failed("The simulator's lock cannot be taken", e)),
        }
    }
    Err(Failure::new(Kind::AlreadyRunning, "Another process runs the simulator on this world.")
        .hint("Stop the other one, or let this command join it."))
}

/// The simulator that runs on a world now, if one does.
pub fn running(folder: &Path) -> Option<Endpoints> {
    let bytes = fs::read(folder.join(ENDPOINT)).ok()?;
    let endpoints: Endpoints = serde_json::from_slice(&bytes).ok()?;
    let lock = OpenOptions::new().read(true).open(folder.join(LOCK)).ok()?;
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(endpoints),
        _ => None,
    }
}

/// Start time of a process in clock ticks since boot; 0 where `/proc` is missing.
pub fn process_start(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces, so fields are counted after the last one.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after.split_whitespace().nth(19).and_then(|t| t.parse().ok()).unwrap_or(0)
}

impl Store {
    /// A world that ends with the process: files in `folder`, no journal.
    pub fn temporary(folder: PathBuf) -> Result<Self, Failure> {
        private_folder(&folder.join("files")).map_err(|e| failed("The simulator's folder cannot be made", e))?;
        let (_, done) = watch::channel(0);
        Ok(Self {
            folder,
            kept: false,
            lock: Mutex::new(None),
            queue: Mutex::new(None),
            queued: AtomicU64::new(0),
            done,
        })
    }

    /// Opens a world's folder and takes it. `found` gets every record of the journal in order.
    pub fn open(folder: &Path, mut found: impl FnMut(Record)) -> Result<Self, Failure> {
        private_folder(&folder.join("files")).map_err(|e| failed("The simulator's folder cannot be made", e))?;
        let lock = own(folder)?;
        let text = match fs::read_to_string(folder.join(JOURNAL)) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(failed("The simulator's journal cannot be read", e)),
        };
        let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
        for (n, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(record) => found(record),
                // A crash in mid-write tears the last line only; its request was never answered.
                Err(_) if n + 1 == lines.len() => break,
                Err(e) => return Err(failed(&format!("Line {} of the simulator's journal is damaged", n + 1), e)),
            }
        }
        let (_, done) = watch::channel(0);
        let folder = folder.to_path_buf();
        let lock = Mutex::new(Some(lock));
        Ok(Self { folder, kept: true, lock, queue: Mutex::new(None), queued: AtomicU64::new(0), done })
    }

    /// Compacts the journal to what the world is now, and sweeps bytes that no message holds. Gives the writer.
    pub fn begin(&mut self, world: &World) -> Result<Option<Writer>, Failure> {
        if !self.kept {
            return Ok(None);
        }
        let path = self.folder.join(JOURNAL);
        write_private(&path, &lines(&world.records()))
            .map_err(|e| failed("The simulator's journal cannot be written", e))?;
        self.sweep(world);
        let file =
            OpenOptions::new().append(true).open(&path).map_err(|e| failed("The journal cannot be opened", e))?;
        let (sender, queue) = mpsc::channel();
        let (done, watched) = watch::channel(0);
        self.done = watched;
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        Ok(Some(Writer { file, queue, done }))
    }

    fn sweep(&self, world: &World) {
        let kept: std::collections::HashSet<String> = world
            .channels
            .keys()
            .flat_map(|c| world.all(*c))
            .flat_map(|m| m.files.iter().map(|f| f.id.to_string()))
            .collect();
        let Some(entries) = fs::read_dir(self.folder.join("files")).log_and_go_on("look at the simulator's files")
        else {
            return;
        };
        for entry in entries.flatten() {
            if !kept.contains(entry.file_name().to_string_lossy().as_ref()) {
                fs::remove_file(entry.path()).log_and_go_on("remove a file that no message holds");
            }
        }
    }

    /// Queues records. Must be called in the order in which they happened.
    pub fn append(&self, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        if let Some(queue) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            let ticket = self.queued.fetch_add(1, Ordering::SeqCst) + 1;
            queue.send((ticket, lines(records))).log_and_go_on("queue records of the simulator");
        }
    }

    /// Waits until all that was queued is on disk. An error: it never will be.
    pub async fn settle(&self) -> Result<(), Failure> {
        if !self.kept {
            return Ok(());
        }
        let wanted = self.queued.load(Ordering::SeqCst);
        let mut done = self.done.clone();
        // `wait_for` looks at the value before it minds that the writer is gone.
        match done.wait_for(|n| *n >= wanted).await {
            Ok(_) => Ok(()),
            Err(_) => Err(failed("The simulator's world cannot be written", "its journal failed")),
        }
    }

    /// Ends the writer once it has written everything.
    pub fn end(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Where a file's bytes lie.
    pub fn file(&self, id: AttachmentId) -> PathBuf {
        self.folder.join("files").join(id.to_string())
    }

    /// Gives the world up: others may own it from now on. A world in memory is gone.
    pub fn close(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if lock.is_some() {
            fs::remove_file(self.folder.join(ENDPOINT)).log_and_go_on("remove the simulator's endpoint");
        } else if !self.kept && self.folder.exists() {
            fs::remove_dir_all(&self.folder).log_and_go_on("remove the simulator's folder");
        }
    }

    /// Tells others how to join.
    pub fn announce(&self, endpoints: &Endpoints) -> Result<(), Failure> {
        if !self.kept {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(endpoints).map_err(|e| failed("The endpoint cannot be written", e))?;
        write_private(&self.folder.join(ENDPOINT), &bytes).map_err(|e| failed("The endpoint cannot be written", e))
    }
}

impl Writer {
    /// Writes until the store ends or the disk fails. What waits together is synced together.
    pub fn run(mut self) {
        while let Ok((mut ticket, mut bytes)) = self.queue.recv() {
            while let Ok((later, more)) = self.queue.try_recv() {
                ticket = later;
                bytes.extend(more);
            }
            if self
                .file
                .write_all(&bytes)
                .and_then(|()| self.file.sync_data())
                .log_and_go_on("write the world")
                .is_none()
            {
                return;
            }
            self.done.send_replace(ticket);
        }
    }
}

fn lines(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        if let Some(line) = serde_json::to_vec(record).log_and_go_on("write a record") {
            out.extend(line);
            out.push(b'\n');
        }
    }
    out
}

//! One host at a time: for a workspace, and on this machine for a bot token (I-15).
//!
//! The kernel's file lock decides, and is gone with its process, however that ended. What the file says is for people
//! and for the CLI: who holds it, and where its socket is.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::base::failure::{Failure, Kind};
use crate::config::workspace::private_folder;
use crate::exec::{ProcessId, tree};

/// Longest lock file that is read (I-17): ours have a few hundred bytes.
const MAX_FILE: u64 = 4096;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process.
    pub pid: i32,
    /// Its start time in clock ticks since boot, so that a later process with the same number is not taken for it.
    pub start: u64,
    /// Where it listens for the CLI.
    pub socket: Option<PathBuf>,
}

/// A held lock; given back when dropped.
#[derive(Debug)]
pub struct Lock(Vec<Flock<File>>);

impl Lock {
    /// Takes a workspace, and the bot token where `token` names one.
    ///
    /// # Errors
    /// [`Kind::AlreadyRunning`], naming the process that holds one of them.
    pub fn take(workspace: &Path, socket: &Path, token: Option<&TokenLock>) -> Result<Self, Failure> {
        let pid = std::process::id() as i32;
        let holder = Holder { pid, start: tree::start_time(pid).unwrap_or(0), socket: Some(socket.to_owned()) };
        let mut held = vec![take(&file(workspace), &holder, "this workspace")?];
        if let Some(token) = token {
            private_folder(&token.folder)?;
            let path = token.folder.join(format!("bot-{}.lock", token.fingerprint));
            held.push(take(&path, &Holder { socket: None, ..holder }, "this bot token")?);
        }
        Ok(Self(held))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        for lock in &mut self.0 {
            // Emptied, so that nobody reads about a host that has ended; the kernel's lock is what counts.
            lock.set_len(0).ok();
        }
    }
}

/// Where a token is locked, for all workspaces of one person on this machine.
#[derive(Debug, Clone)]
pub struct TokenLock {
    /// Folder for its owner alone.
    pub folder: PathBuf,
    /// [`crate::base::secret::Secret::fingerprint`] of the token.
    pub fingerprint: String,
}

fn file(workspace: &Path) -> PathBuf {
    workspace.join("host.lock")
}

fn take(path: &Path, holder: &Holder, what: &str) -> Result<Flock<File>, Failure> {
    let fail = |e: std::io::Error| {
        Failure::failed(format!("The lock {} cannot be made: {e}.", path.display()))
            .hint("Check that the workspace is yours and that the disk has room.")
    };
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path).map_err(fail)?;
    let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(file, errno)| match errno {
        nix::errno::Errno::EWOULDBLOCK => held_by(file, what),
        errno => fail(errno.into()),
    })?;
    let text = serde_json::to_vec(holder).map_err(|e| fail(e.into()))?;
    let written = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(&text));
    written.map_err(fail)?;
    Ok(lock)
}

fn held_by(file: File, what: &str) -> Failure {
    let who = read(file).map_or_else(|| "another process".to_owned(), |holder| format!("process {}", holder.pid));
    Failure::new(Kind::AlreadyRunning, format!("A host runs on {what} already ({who})."))
        .hint("Use that one, or stop it first; `discord-os host status` tells about it.")
}

fn read(file: File) -> Option<Holder> {
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The host that runs on a workspace now. Takes no lock, so that looking never stands in a starting host's way.
pub fn holder(workspace: &Path) -> Option<Holder> {
    let holder = read(File::open(file(workspace)).ok()?)?;
    tree::alive(ProcessId { pid: holder.pid, start: holder.start }).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i_15_a_second_host_is_told_who_runs() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("host.sock");
        assert_eq!(holder(dir.path()), None);
        let first = Lock::take(dir.path(), &socket, None).unwrap();
        let refused = Lock::take(dir.path(), &socket, None).unwrap_err();
        assert_eq!(refused.kind, Kind::AlreadyRunning);
        assert!(refused.message.contains(&std::process::id().to_string()), "{refused}");
        assert_eq!(holder(dir.path()).unwrap().socket, Some(socket.clone()));
        drop(first);
        assert_eq!(holder(dir.path()), None);
        drop(Lock::take(dir.path(), &socket, None).unwrap());
    }

    #[test]
    fn i_15_one_token_has_one_host_whatever_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let token = |fingerprint: &str| TokenLock { folder: dir.path().join("run"), fingerprint: fingerprint.into() };
        let workspace = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (a, b, c) = (workspace("a"), workspace("b"), workspace("c"));
        let _first = Lock::take(&a, &a.join("s"), Some(&token("1"))).unwrap();
        let refused = Lock::take(&b, &b.join("s"), Some(&token("1"))).unwrap_err();
        assert!(refused.kind == Kind::AlreadyRunning && refused.message.contains("token"), "{refused}");
        assert!(Lock::take(&c, &c.join("s"), Some(&token("2"))).is_ok());
    }

    #[test]
    fn i_15_a_lock_file_of_a_dead_process_counts_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let stale = Holder { pid: std::process::id() as i32, start: 1, socket: None };
        std::fs::write(file(dir.path()), serde_json::to_vec(&stale).unwrap()).unwrap();
        assert_eq!(holder(dir.path()), None);
        assert!(Lock::take(dir.path(), Path::new("/x"), None).is_ok());
    }
}

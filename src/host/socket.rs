//! The host's own door: a Unix socket through which the CLI has its deeds done (I-18).
//!
//! One line of JSON in, one out, as often as the caller likes. The kernel tells who calls: only the same user, and no
//! process of a run.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::deeds::{self, Deed, Done};
use crate::base::failure::{Failure, Kind, LogAndGoOn};
use crate::base::hash::Sha256;
use crate::base::stop::Stop;
use crate::config::workspace::private_folder;
use crate::exec::tree;
use crate::ledger::Ledger;
use crate::verbs::Tools;

/// Longest path that a Unix socket can have on every system (`sun_path` has 104 bytes on macOS, 108 on Linux).
const MAX_PATH: usize = 100;

/// Callers at a time; more wait to be taken (I-17).
const MOST_CALLERS: usize = 32;

/// Longest line of either side: an ask has at most 4,000 characters, an object's row much less.
const MAX_LINE: u64 = 256 << 10;

/// Longest that a caller may say nothing: the CLI asks at once.
const SILENCE: Duration = Duration::from_secs(30);

/// Longest wait for the host's answer: a write waits at most 10 s for the lock, and its commit for a slow disk.
const ANSWER: Duration = Duration::from_secs(60);

/// Tries to reach a host that holds its workspace but does not listen yet: 5 s, its start-up on a busy machine.
const CONNECT_TRIES: u32 = 100;

/// Time between two tries.
const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// Where the socket of a workspace lies: inside it, or, where that path is too long, in a folder of the same user.
pub fn path(workspace: &Path, runtime_dir: Option<&Path>) -> PathBuf {
    let usual = workspace.join("host.sock");
    if usual.as_os_str().len() <= MAX_PATH {
        return usual;
    }
    let name = Sha256::of(workspace.as_os_str().as_encoded_bytes()).to_string();
    short_folder(runtime_dir).join(format!("{}.sock", &name[..16]))
}

/// Folder for short paths: of the session where there is one, else in `/tmp`.
pub fn short_folder(runtime_dir: Option<&Path>) -> PathBuf {
    match runtime_dir {
        Some(dir) if dir.as_os_str().len() < MAX_PATH - 40 => dir.join("discord-os"),
        _ => PathBuf::from(format!("/tmp/discord-os-{}", nix::unistd::Uid::effective())),
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Ok(Done),
    Error(Failure),
}

/// Listens until `stop`. Whoever calls this holds the host's lock, so a socket that lies there is a dead host's.
///
/// # Errors
/// The socket cannot be made.
pub async fn serve(path: PathBuf, ledger: Ledger, tools: Tools, stop: Stop) -> Result<(), Failure> {
    let listener = bind(&path)?;
    let places = Arc::new(Semaphore::new(MOST_CALLERS));
    let mut callers = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.wait() => break,
            Some(_) = callers.join_next(), if !callers.is_empty() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (ledger, tools) = (ledger.clone(), tools.clone());
        callers.spawn(async move {
            talk(stream, &ledger, &tools).await.log_and_go_on("a caller of the host's socket went away");
            drop(place);
        });
    }
    std::fs::remove_file(&path).log_and_go_on("the host's socket could not be removed");
    callers.shutdown().await;
    Ok(())
}

async fn accept(
    listener: &UnixListener,
    places: &Arc<Semaphore>,
) -> Option<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            // Too many open files, most likely: waiting is all that helps.
            tracing::warn!("a caller of the host's socket could not be taken: {error}");
            tokio::time::sleep(Duration::from_millis(200)).await;
            None
        }
    }
}

fn bind(path: &Path) -> Result<UnixListener, Failure> {
    let fail = |e: io::Error| {
        Failure::failed(format!("The host's socket {} cannot be made: {e}.", path.display()))
            .hint("Check that the folder is yours, or choose a workspace with a shorter path.")
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    private_folder(folder)?;
    // In /tmp anybody could have made the folder first.
    let owner = std::fs::metadata(folder).map_err(fail)?.uid();
    if owner != nix::unistd::Uid::effective().as_raw() {
        return Err(fail(io::ErrorKind::PermissionDenied.into()));
    }
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fail(e)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(fail)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(fail)?;
    Ok(listener)
}

async fn talk(stream: UnixStream, ledger: &Ledger, tools: &Tools) -> io::Result<()> {
    let caller = tokio::task::spawn_blocking({
        let peer = stream.peer_cred()?;
        move || may_call(peer.uid(), peer.pid())
    });
    let allowed = caller.await.map_err(io::Error::other)?;
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from);
    loop {
        let mut text = Vec::new();
        let mut bounded = (&mut from).take(MAX_LINE);
        let read = tokio::time::timeout(SILENCE, bounded.read_until(b'\n', &mut text)).await;
        if !matches!(read, Ok(Ok(n)) if n > 0 && text.ends_with(b"\n")) {
            return Ok(());
        }
        let result = match (&allowed, serde_json::from_slice::<Deed>(&text)) {
            (Err(refusal), _) => Err(refusal.clone()),
            (Ok(()), Err(error)) => Err(Failure::usage(format!("The host does not know that deed: {error}."))
                .hint("Use the same version of discord-os for the host and the command.")),
            (Ok(()), Ok(deed)) => deeds::carry(ledger, tools, deed).await,
        };
        let line = result.map_or_else(Line::Error, Line::Ok);
        let mut text = serde_json::to_vec(&line).map_err(io::Error::other)?;
        text.push(b'\n');
        to.write_all(&text).await?;
    }
}

/// Whether a caller may have deeds done: the same user, alive, and no process of a run (I-18).
fn may_call(uid: u32, pid: Option<i32>) -> Result<(), Failure> {
    let refused = |why: &str| Failure::refused(why).hint("Ask for it in Discord, or on a terminal of your own.");
    if uid != nix::unistd::Uid::effective().as_raw() {
        return Err(refused("Only the user that the host runs as may use its socket."));
    }
    let Some(pid) = pid.filter(|pid| *pid > 0) else {
        return Err(refused("The kernel does not say which process is calling."));
    };
    // The start time is asked for last: a process that has ended meanwhile cannot be told from one of a run.
    if tree::in_a_run(pid) || tree::start_time(pid).is_none() {
        return Err(refused("A run cannot act as its owner."));
    }
    Ok(())
}

/// Speaks to a running host.
#[derive(Debug, Clone)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// A client for a socket.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Has one deed done.
    ///
    /// # Errors
    /// The host's own, or that it did not answer.
    pub async fn perform(&self, deed: &Deed) -> Result<Done, Failure> {
        let lost = |why: String| {
            Failure::new(Kind::Failed, format!("The host did not answer: {why}."))
                .hint("Look at `discord-os host status`, and at its log.")
        };
        let call = tokio::time::timeout(ANSWER, self.call(deed)).await;
        let line = call.map_err(|_| lost("it took too long".into()))?.map_err(|e| lost(e.to_string()))?;
        match line {
            Line::Ok(done) => Ok(done),
            Line::Error(failure) => Err(failure),
        }
    }

    /// A host that has just taken its workspace listens a moment later.
    async fn connect(&self) -> io::Result<UnixStream> {
        let mut last = io::ErrorKind::NotFound.into();
        for _ in 0..CONNECT_TRIES {
            match UnixStream::connect(&self.path).await {
                Ok(stream) => return Ok(stream),
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => last = e,
                Err(e) => return Err(e),
            }
            tokio::time::sleep(CONNECT_PAUSE).await;
        }
        Err(last)
    }

    async fn call(&self, deed: &Deed) -> io::Result<Line> {
        let mut stream = self.connect().await?;
        let mut text = serde_json::to_vec(deed).map_err(io::Error::other)?;
        text.push(b'\n');
        stream.write_all(&text).await?;
        let mut answer = Vec::new();
        BufReader::new(stream.take(MAX_LINE)).read_until(b'\n', &mut answer).await?;
        if answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_slice(&answer).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_gets_a_short_socket() {
        let short = PathBuf::from("/home/a/.agent-discord");
        assert_eq!(path(&short, None), short.join("host.sock"));
        let long = PathBuf::from(format!("/home/{}", "a".repeat(120)));
        for runtime in [None, Some(Path::new("/run/user/1000")), Some(Path::new(long.to_str().unwrap()))] {
            let found = path(&long, runtime);
            assert!(found.as_os_str().len() <= MAX_PATH, "{found:?}");
            assert_ne!(found, path(&long.join("b"), runtime));
        }
    }

    #[test]
    fn i_18_another_user_or_a_process_that_is_gone_may_not_call() {
        let own = nix::unistd::Uid::effective().as_raw();
        let pid = Some(std::process::id() as i32);
        assert!(may_call(own, pid).is_ok());
        assert_eq!(may_call(own + 1, pid).unwrap_err().kind, Kind::Refused);
        assert_eq!(may_call(own, None).unwrap_err().kind, Kind::Refused);
        assert_eq!(may_call(own, Some(i32::MAX)).unwrap_err().kind, Kind::Refused);
    }
}

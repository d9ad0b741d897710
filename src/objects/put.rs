//! `put`: bytes first, then the pointer (I-9).
//!
//! Hash, record the intent, post with the intent's nonce, read the message back, record the object. Cut off anywhere,
//! the same call again goes on: the intent is found, and with it the message, if it was posted.

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::caption::{self, Entry};
use super::index::Index;
use super::names;
use super::place::Place;
use crate::base::clock::Clock;
use crate::base::crash;
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, Kind, LogAndGoOn};
use crate::base::hash::{Hasher, Sha256};
use crate::base::ids::{ArtifactId, MessageId, PutId, RunId};
use crate::base::text;
use crate::discord::error::{DiscordError, ErrorKind};
use crate::discord::{Discord, Nonce, Progress, Upload};
use crate::model::card::Post;
use crate::model::message::{Attachment, Message};
use crate::model::object::{Intent, Object, ObjectKind};

/// Bytes read at a time while hashing.
const CHUNK: usize = 256 << 10;

/// How far Discord's clock may be behind ours when we look for a post of ours from its intent on.
const CLOCK_SLACK: Duration = Duration::from_secs(300);

/// Pages looked through for a post that may have happened: 10,000 messages since the intent (I-17).
const MOST_PAGES: usize = 100;

/// What storing needs.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// Discord.
    pub discord: &'a dyn Discord,
    /// Where the rows go.
    pub index: &'a dyn Index,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Ids and nonces.
    pub entropy: &'a Entropy,
    /// Largest object, in bytes.
    pub max_bytes: u64,
}

/// A file to store.
#[derive(Debug, Clone)]
pub struct Item {
    /// Where the bytes are.
    pub path: PathBuf,
    /// True name; `None`: that of the file.
    pub name: Option<String>,
    /// What it is; `None`: by the ending of its name.
    pub kind: Option<ObjectKind>,
    /// Where it shall lie.
    pub place: Place,
    /// Run that made it.
    pub run: Option<RunId>,
}

/// Stores one file and gives its index row. `progress` is told how many more bytes went out.
///
/// # Errors
/// A file that cannot be stored, or that changed meanwhile; Discord's refusal. Where Discord's answer was lost the
/// intent stays open, and the same call again finds what was stored.
pub async fn put(parts: &Parts<'_>, item: &Item, progress: Progress<'_>) -> Result<Object, Failure> {
    let (path, most) = (item.path.clone(), parts.max_bytes);
    let read = tokio::task::spawn_blocking(move || hash(&path, most)).await;
    let (before, sha256) = read.map_err(|e| Failure::failed(format!("The file could not be read: {e}.")))??;
    let new = intent(parts, item, &before, sha256);
    let intent = parts.index.intend(new.clone()).await?;
    crash::point("put.intended");
    // An intent of an earlier call may have been posted; one of this call cannot.
    let posted = if intent.put == new.put { None } else { search(parts.discord, &intent).await? };
    let message = match posted {
        Some(found) => found,
        None => post(parts, item, &intent, progress).await?,
    };
    crash::point("put.posted");
    if let Err(failure) = unchanged(&item.path, &before) {
        take_back(parts, &intent, &message).await;
        return Err(failure);
    }
    let object = read_back(parts.discord, item, &intent, message.id).await?;
    crash::point("put.read_back");
    parts.index.stored(&intent.put, &object).await?;
    Ok(object)
}

/// Checks that a file can be stored and hashes it, without holding more than [`CHUNK`] of it.
fn hash(path: &Path, most: u64) -> Result<(Metadata, Sha256), Failure> {
    let fail = |e: std::io::Error| {
        let kind = if e.kind() == std::io::ErrorKind::NotFound { Kind::NotFound } else { Kind::Failed };
        Failure::new(kind, format!("{} cannot be read: {e}.", path.display()))
            .hint("Check the path and its permissions.")
    };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        return Err(Failure::usage(format!("{} is not a regular file.", path.display()))
            .hint("Name one file; pack a folder into an archive first."));
    }
    fits(path, meta.len(), most)?;
    let mut file = std::fs::File::open(path).map_err(fail)?;
    let opened = file.metadata().map_err(fail)?;
    let mut hasher = Hasher::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = file.read(&mut chunk).map_err(fail)?;
        if n == 0 {
            break;
        }
        hasher.update(&chunk[..n]);
        fits(path, hasher.size(), most)?;
    }
    if hasher.size() != opened.len() {
        return Err(changed(path));
    }
    Ok((opened, hasher.finish()))
}

fn fits(path: &Path, size: u64, most: u64) -> Result<(), Failure> {
    if size == 0 {
        return Err(Failure::usage(format!("{} is empty, and Discord takes no empty files.", path.display()))
            .hint("Store a file that has at least one byte."));
    }
    if size > most {
        return Err(Failure::usage(format!(
            "{} has {size} bytes; the largest object has {most} bytes ({}).",
            path.display(),
            text::size(most)
        ))
        .hint("Split or compress it, or raise DISCORD_MAX_OBJECT_BYTES where Discord takes more. Keeping larger files locally comes in a later version."));
    }
    Ok(())
}

fn changed(path: &Path) -> Failure {
    Failure::new(Kind::Integrity, format!("{} changed while it was being stored.", path.display()))
        .hint("Nothing was kept. Try again when nothing writes to it any more.")
}

/// Whether the file is still the one that was hashed: same file, length and time of change.
fn unchanged(path: &Path, before: &Metadata) -> Result<(), Failure> {
    let now = std::fs::metadata(path).map_err(|_| changed(path))?;
    let traits = |meta: &Metadata| (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
    if traits(&now) == traits(before) { Ok(()) } else { Err(changed(path)) }
}

fn intent(parts: &Parts<'_>, item: &Item, meta: &Metadata, sha256: Sha256) -> Intent {
    let now = parts.clock.now();
    let name = item.name.clone().unwrap_or_else(|| names::of_path(&item.path));
    Intent {
        put: PutId(parts.entropy.id(now)),
        channel: item.place.channel,
        parent: item.place.parent,
        run: item.run.clone(),
        path: item.path.display().to_string(),
        kind: item.kind.unwrap_or_else(|| ObjectKind::of_name(&name)),
        name,
        sha256,
        size: meta.len(),
        // "p" and 24 hexadecimal digits: exactly Discord's 25 characters.
        nonce: format!("p{}", parts.entropy.hex::<12>()),
        at: now,
    }
}

fn entry(intent: &Intent) -> Entry {
    Entry {
        artifact: ArtifactId(intent.put.0.clone()),
        sha256: intent.sha256,
        size: intent.size,
        kind: intent.kind,
        run: intent.run.clone(),
        encrypted: false,
        created: intent.at,
        name: intent.name.clone(),
    }
}

async fn post(parts: &Parts<'_>, item: &Item, intent: &Intent, progress: Progress<'_>) -> Result<Message, Failure> {
    let file = Upload {
        path: item.path.clone(),
        name: intent.name.clone(),
        size: intent.size,
        content_type: None,
        description: Some(caption::write(&entry(intent))),
    };
    let post = Post::text(caption::line(&intent.name, intent.size, intent.kind));
    let nonce = Nonce(intent.nonce.clone());
    let sent = parts.discord.upload(intent.channel, &post, std::slice::from_ref(&file), &nonce, progress).await;
    let error = match sent {
        Ok(message) => return Ok(message),
        Err(error) => error,
    };
    if may_have_happened(&error) {
        // Its answer was lost, not necessarily the message.
        if let Ok(Some(message)) = search(parts.discord, intent).await {
            return Ok(message);
        }
        return Err(Failure::from(error).hint("Run the same command again: it finds what was stored, if anything was."));
    }
    let why = error.message.clone();
    parts.index.failed(&intent.put, &why).await.log_and_go_on("a refused upload could not be recorded");
    Err(error.into())
}

fn may_have_happened(error: &DiscordError) -> bool {
    matches!(error.kind, ErrorKind::Unknown | ErrorKind::Unreachable | ErrorKind::Server | ErrorKind::Protocol)
}

/// The post of an intent, if it happened.
async fn search(discord: &dyn Discord, intent: &Intent) -> Result<Option<Message>, DiscordError> {
    let mut after = MessageId::at(intent.at.minus(CLOCK_SLACK));
    for _ in 0..MOST_PAGES {
        let page = discord.after(intent.channel, after, 100).await?;
        let Some(last) = page.messages.last() else { return Ok(None) };
        after = last.id;
        let found = page.messages.into_iter().find(|message| attachment(message, intent).is_some());
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn attachment<'a>(message: &'a Message, intent: &Intent) -> Option<&'a Attachment> {
    let wanted = entry(intent).artifact;
    message.attachments.iter().find(|file| {
        let entry = file.description.as_deref().and_then(caption::parse);
        entry.is_some_and(|entry| entry.artifact == wanted && entry.sha256 == intent.sha256)
    })
}

/// Reads the message back: only what Discord shows is recorded.
async fn read_back(discord: &dyn Discord, item: &Item, intent: &Intent, message: MessageId) -> Result<Object, Failure> {
    let message = discord.message(intent.channel, message).await?;
    let file = attachment(&message, intent).filter(|file| file.size == intent.size).ok_or_else(|| {
        Failure::new(Kind::Integrity, "Discord does not show the file as it was sent.")
            .hint("Nothing was recorded. Run the same command again.")
    })?;
    Ok(Object {
        artifact: entry(intent).artifact,
        kind: intent.kind,
        channel: intent.channel,
        parent: intent.parent,
        guild: item.place.guild,
        message: message.id,
        attachment: file.id,
        name: intent.name.clone(),
        sha256: intent.sha256,
        size: intent.size,
        content_type: file.content_type.clone(),
        run: intent.run.clone(),
        overflow: false,
        encrypted: false,
        created: intent.at,
    })
}

/// Removes a message whose bytes are not the ones that its entry names.
async fn take_back(parts: &Parts<'_>, intent: &Intent, message: &Message) {
    let deleted = parts.discord.delete(intent.channel, message.id).await;
    if deleted.log_and_go_on("a message with changed bytes could not be deleted").is_some() {
        let failed = parts.index.failed(&intent.put, "The file changed while it was being stored.").await;
        failed.log_and_go_on("a changed upload could not be recorded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_fits_is_hashed() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, size: usize| {
            let path = dir.path().join(name);
            std::fs::write(&path, vec![7; size]).unwrap();
            path
        };
        let (meta, sha256) = hash(&file("cap", 100), 100).unwrap();
        assert_eq!((meta.len(), sha256), (100, Sha256::of(vec![7; 100])));
        for (path, kind) in [
            (file("empty", 0), Kind::Usage),
            (file("over", 101), Kind::Usage),
            (dir.path().to_owned(), Kind::Usage),
            (PathBuf::from("/dev/null"), Kind::Usage),
            (dir.path().join("missing"), Kind::NotFound),
        ] {
            let failure = hash(&path, 100).unwrap_err();
            assert!(failure.kind == kind && failure.hint.is_some(), "{failure}");
        }
    }

    #[test]
    fn a_file_that_changed_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let (before, _) = hash(&path, 100).unwrap();
        assert!(unchanged(&path, &before).is_ok());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "four").unwrap();
        assert_eq!(unchanged(&path, &before).unwrap_err().kind, Kind::Integrity);
    }
}

//! `get`: the same bytes, or nothing. A fresh link, a temporary file beside the target, hash and length checked, then
//! one rename.

use std::path::{Path, PathBuf};

use super::names;
use super::{caption, place};
use crate::base::crash;
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, Kind};
use crate::base::hash::Sha256;
use crate::base::ids::{ArtifactId, AttachmentId, ChannelId, MessageId};
use crate::discord::Discord;
use crate::ledger::{Ledger, LedgerError, Read, objects};
use crate::model::object::Object;

/// Digits of a hash that are enough to ask by it.
const MIN_HASH_PREFIX: usize = 6;

/// Objects looked at when one is asked for by name or hash; more of them cannot be told apart by people either.
const MOST_ALIKE: usize = 50;

/// What an object is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// Message that it lies on.
    Message(MessageId),
    /// Our id.
    Artifact(ArtifactId),
    /// Start of its hash, lower case.
    Hash(String),
    /// True name; the newest of several.
    Name(String),
}

impl Key {
    /// Reads a key as people give it: `123456789012345678`, 32 hexadecimal digits, `sha256:9f86d0`, or a name.
    ///
    /// # Errors
    /// A `sha256:` that is no start of a hash.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if let Some(prefix) = text.strip_prefix("sha256:") {
            let prefix = prefix.to_lowercase();
            let fits = (MIN_HASH_PREFIX..=64).contains(&prefix.len()) && prefix.bytes().all(|b| b.is_ascii_hexdigit());
            return if fits { Ok(Self::Hash(prefix)) } else { Err(bad_hash(text)) };
        }
        if text.len() >= 15
            && let Ok(message) = text.parse()
        {
            return Ok(Self::Message(message));
        }
        if text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self::Artifact(ArtifactId(text.to_lowercase())));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

fn bad_hash(text: &str) -> Failure {
    Failure::usage(format!("{:?} is not the start of a SHA-256.", crate::base::text::cut(text, 80)))
        .hint("Give 6 to 64 hexadecimal digits after sha256:.")
}

/// An object that somebody asks for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// By what.
    pub key: Key,
    /// Channel of whoever asks (I-10).
    pub caller: ChannelId,
    /// Which file of a message that has several.
    pub attachment: Option<AttachmentId>,
}

/// Finds an object: in the ledger, else, for a message, by what Discord keeps beside the bytes. `ledger` is `None` on
/// a machine that has none yet.
///
/// # Errors
/// Not found; of another channel (refused); several that fit.
pub async fn find(ledger: Option<&Ledger>, discord: &dyn Discord, wanted: &Wanted) -> Result<Object, Failure> {
    let known = match ledger {
        Some(ledger) => {
            let wanted = wanted.clone();
            ledger.read(move |read| candidates(read, &wanted)).await?
        }
        None => Vec::new(),
    };
    let found = match &wanted.key {
        Key::Message(message) if known.is_empty() => on_message(discord, wanted.caller, *message).await?,
        _ => known,
    };
    let object = choose(found, wanted)?;
    place::same_channel(&object, wanted.caller)?;
    Ok(object)
}

fn candidates(read: &Read<'_>, wanted: &Wanted) -> Result<Vec<Object>, LedgerError> {
    match &wanted.key {
        Key::Message(message) => objects::on_message(read, *message),
        Key::Artifact(artifact) => Ok(objects::get(read, artifact)?.into_iter().collect()),
        Key::Hash(prefix) => objects::by_hash(read, wanted.caller, prefix, MOST_ALIKE),
        Key::Name(name) => objects::by_name(read, wanted.caller, name, MOST_ALIKE),
    }
}

fn choose(mut found: Vec<Object>, wanted: &Wanted) -> Result<Object, Failure> {
    if let Some(attachment) = wanted.attachment {
        found.retain(|object| object.attachment == attachment);
    }
    let Some(first) = found.first().cloned() else {
        return Err(Failure::not_found("There is no such object in this channel.").hint(
            "`discord-os ls` lists what there is; a message id and the right --channel-id find it from any machine.",
        ));
    };
    let several = match wanted.key {
        Key::Message(_) => found.len() > 1,
        Key::Hash(_) => found.iter().any(|object| object.sha256 != first.sha256),
        // The newest of several with one name is what people mean.
        Key::Artifact(_) | Key::Name(_) => false,
    };
    if !several {
        return Ok(first);
    }
    // Checked first, so that the names of another channel's files are not listed.
    place::same_channel(&first, wanted.caller)?;
    let list: Vec<String> =
        found.iter().take(10).map(|object| format!("{} ({})", object.attachment, object.name)).collect();
    let hint = match wanted.key {
        Key::Hash(_) => "Give more digits.".to_owned(),
        _ => format!("Choose one with --attachment-id: {}.", list.join(", ")),
    };
    Err(Failure::usage("Several objects fit.").hint(hint))
}

/// Objects of a message by what Discord keeps, for a ledger that does not know it.
async fn on_message(discord: &dyn Discord, channel: ChannelId, message: MessageId) -> Result<Vec<Object>, Failure> {
    let place = place::look_up(discord, channel).await?;
    let message = discord.message(channel, message).await?;
    let entries = message.attachments.iter().filter_map(|file| {
        let entry = caption::parse(file.description.as_deref()?)?;
        Some(Object {
            artifact: entry.artifact,
            kind: entry.kind,
            channel: place.channel,
            parent: place.parent,
            guild: place.guild,
            message: message.id,
            attachment: file.id,
            name: entry.name,
            sha256: entry.sha256,
            size: entry.size,
            content_type: file.content_type.clone(),
            run: entry.run,
            overflow: false,
            encrypted: entry.encrypted,
            created: entry.created,
        })
    });
    Ok(entries.collect())
}

/// Where the bytes go.
#[derive(Debug, Clone)]
pub struct Target {
    /// File, or an existing folder that the file is written into under its true name, made safe.
    pub path: PathBuf,
    /// Whether a file that is there may be replaced.
    pub replace: bool,
}

/// Downloads an object and gives the path it was written to.
///
/// # Errors
/// [`Kind::Integrity`] where the bytes are not the ones that were stored; nothing is left then.
pub async fn fetch(
    discord: &dyn Discord,
    object: &Object,
    target: &Target,
    entropy: &Entropy,
) -> Result<PathBuf, Failure> {
    let path = if target.path.is_dir() { target.path.join(names::safe(&object.name)) } else { target.path.clone() };
    match path.symlink_metadata() {
        Ok(_) if !target.replace => return Err(exists(&path)),
        // A rename would take a device or a pipe away from everybody.
        Ok(meta) if !meta.is_file() && !meta.is_symlink() => {
            return Err(Failure::usage(format!("{} is not a regular file.", path.display()))
                .hint("Choose another path with --out; without --out the bytes go to stdout."));
        }
        _ => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = Temporary(folder.join(format!(".discord-os-{}.part", entropy.hex::<8>())));
    let (link, size) = discord.link(object.channel, object.message, object.attachment).await?;
    if size != object.size {
        return Err(wrong(object, &format!("Discord says {size} bytes, {} were stored", object.size)));
    }
    let down = discord.download(&link, &temporary.0, object.size).await?;
    if down.size != object.size || down.sha256 != object.sha256 {
        return Err(wrong(object, "the bytes that came have another hash"));
    }
    crash::point("get.downloaded");
    let (from, to, replace, sha256) = (temporary.0.clone(), path.clone(), target.replace, object.sha256);
    let kept = tokio::task::spawn_blocking(move || keep(&from, &to, replace, sha256)).await;
    kept.map_err(|e| Failure::failed(format!("The file could not be written: {e}.")))??;
    crash::point("get.kept");
    Ok(path)
}

fn wrong(object: &Object, why: &str) -> Failure {
    Failure::new(Kind::Integrity, format!("{:?} is not what was stored: {why}.", object.name))
        .hint("Nothing was written. Try again; if it stays so, the message was changed on Discord.")
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists already.", path.display()))
        .hint("Choose another path with --out, or replace it with --force.")
}

/// Makes the bytes durable, then gives them their name in one step.
fn keep(from: &Path, to: &Path, replace: bool, sha256: Sha256) -> Result<(), Failure> {
    let fail = |e: std::io::Error| {
        Failure::failed(format!("{} cannot be written: {e}.", to.display()))
            .hint("Check the folder and the room on its disk.")
    };
    std::fs::File::open(from).and_then(|file| file.sync_all()).map_err(fail)?;
    if replace {
        std::fs::rename(from, to).map_err(fail)?;
    } else {
        name_new(from, to)
            .map_err(|e| if e.kind() == std::io::ErrorKind::AlreadyExists { exists(to) } else { fail(e) })?;
    }
    tracing::debug!("{} holds {sha256}", to.display());
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
}

/// Gives a file a name that nobody has. A link does not replace; where the file system knows no links, the gap
/// between look and rename is one that only the owner of the folder could use.
fn name_new(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(e),
        Err(_) if to.symlink_metadata().is_ok() => Err(std::io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// Removed when dropped, whatever happened.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Gone already where it was given its final name.
        std::fs::remove_file(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Millis;
    use crate::model::object::ObjectKind;

    #[test]
    fn keys_read_as_people_give_them() {
        let message = Key::Message(MessageId(123_456_789_012_345_678));
        for (text, key) in [
            ("123456789012345678", message),
            ("0198C0FFEE00112233445566778899AA", Key::Artifact(ArtifactId("0198c0ffee00112233445566778899aa".into()))),
            ("sha256:9F86D0", Key::Hash("9f86d0".into())),
            ("notes.bin", Key::Name("notes.bin".into())),
            ("2026", Key::Name("2026".into())),
        ] {
            assert_eq!(Key::parse(text).unwrap(), key);
        }
        for text in ["sha256:", "sha256:9f86d", "sha256:xyzxyz"] {
            assert_eq!(Key::parse(text).unwrap_err().kind, Kind::Usage);
        }
    }

    fn object(n: u64, channel: u64, parent: Option<u64>) -> Object {
        Object {
            artifact: ArtifactId(format!("a{n}")),
            kind: ObjectKind::Blob,
            channel: ChannelId(channel),
            parent: parent.map(ChannelId),
            guild: None,
            message: MessageId(1),
            attachment: AttachmentId(n),
            name: format!("f{n}"),
            sha256: Sha256::of(n.to_string()),
            size: 1,
            content_type: None,
            run: None,
            overflow: false,
            encrypted: false,
            created: Millis(0),
        }
    }

    #[test]
    fn one_of_several_must_be_chosen() {
        let wanted = |attachment: Option<u64>| Wanted {
            key: Key::Message(MessageId(1)),
            caller: ChannelId(5),
            attachment: attachment.map(AttachmentId),
        };
        let two = vec![object(1, 5, None), object(2, 5, None)];
        assert_eq!(choose(two.clone(), &wanted(None)).unwrap_err().kind, Kind::Usage);
        assert_eq!(choose(two.clone(), &wanted(Some(2))).unwrap(), two[1]);
        assert_eq!(choose(two.clone(), &wanted(Some(3))).unwrap_err().kind, Kind::NotFound);
        let elsewhere = vec![object(1, 6, None), object(2, 6, None)];
        assert_eq!(choose(elsewhere, &wanted(None)).unwrap_err().kind, Kind::Refused);
    }

    #[test]
    fn i_10_only_the_same_channel_or_the_parent_may_have_it() {
        assert!(place::same_channel(&object(1, 5, None), ChannelId(5)).is_ok());
        assert!(place::same_channel(&object(1, 6, Some(5)), ChannelId(5)).is_ok());
        for (o, caller) in [(object(1, 6, None), 5), (object(1, 5, None), 6), (object(1, 5, Some(7)), 6)] {
            assert_eq!(place::same_channel(&o, ChannelId(caller)).unwrap_err().kind, Kind::Refused);
        }
    }

    #[test]
    fn a_file_that_is_there_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::write(&from, "new").unwrap();
        std::fs::write(&to, "old").unwrap();
        let sha = Sha256::of("new");
        assert_eq!(keep(&from, &to, false, sha).unwrap_err().kind, Kind::Usage);
        assert_eq!(std::fs::read(&to).unwrap(), b"old");
        keep(&from, &to, true, sha).unwrap();
        assert_eq!((std::fs::read(&to).unwrap(), from.exists()), (b"new".to_vec(), false));
    }
}

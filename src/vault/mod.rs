//! Keys at rest: files for their owner alone, made once and never half.

use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::base::clock::Millis;
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::hash::{Sha256, hex};
use crate::base::ids::{HostId, KeyId};
use crate::model::tap::Signer;

/// Longest key file that is read (I-17): ours have at most 65 bytes.
const MAX_KEY_FILE: u64 = 4096;

/// Characters of a key id: enough to tell keys apart, few enough for a custom id.
const KEY_ID_LEN: usize = 8;

/// The signer of custom ids, made at the first call and kept in `keys/tap.key` of the workspace.
///
/// # Errors
/// The key file can be read by others, is not a key, or cannot be made.
pub fn signer(workspace: &Path, entropy: &Entropy) -> Result<Signer, Failure> {
    let path = workspace.join("keys/tap.key");
    let text = once(&path, entropy, || entropy.hex::<32>())?;
    let secret = from_hex(text.trim()).ok_or_else(|| not_a_key(&path))?;
    let mut named = b"discord-os key id\n".to_vec();
    named.extend_from_slice(&secret);
    let id = Sha256::of(named).to_string();
    Ok(Signer::new(KeyId(id[..KEY_ID_LEN].to_owned()), secret))
}

/// Id of this host, made at the first call and kept in `keys/host` of the workspace.
///
/// # Errors
/// As [`signer`].
pub fn host_id(workspace: &Path, entropy: &Entropy, now: Millis) -> Result<HostId, Failure> {
    let path = workspace.join("keys/host");
    let text = once(&path, entropy, || entropy.id(now))?;
    a_host_id(&path, &text)
}

/// Id of this host, where one was made. Makes nothing, so that a look at an empty workspace leaves it empty.
///
/// # Errors
/// The file can be read by others, or is not what was written.
pub fn known_host(workspace: &Path) -> Result<Option<HostId>, Failure> {
    let path = workspace.join("keys/host");
    match read_private(&path) {
        Ok(text) => a_host_id(&path, &text).map(Some),
        Err(ReadError::Missing) => Ok(None),
        Err(ReadError::Refused(failure)) => Err(failure),
    }
}

fn a_host_id(path: &Path, text: &str) -> Result<HostId, Failure> {
    let id = text.trim();
    let fits = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    if fits { Ok(HostId(id.to_owned())) } else { Err(not_a_key(path)) }
}

fn not_a_key(path: &Path) -> Failure {
    Failure::usage(format!("{} is not what this program wrote there.", path.display())).hint(
        "Restore it from a backup, or move it away to have a new one made; buttons of old cards stop working then.",
    )
}

/// The text of a private file; made with `make` where there is none. Two processes that make it at once end with
/// the same one: a link, unlike a rename, does not replace.
fn once(path: &Path, entropy: &Entropy, make: impl FnOnce() -> String) -> Result<String, Failure> {
    match read_private(path) {
        Ok(text) => return Ok(text),
        Err(ReadError::Missing) => {}
        Err(ReadError::Refused(failure)) => return Err(failure),
    }
    let fail = |e: std::io::Error| {
        Failure::failed(format!("The key file {} cannot be made: {e}.", path.display()))
            .hint("Check that the workspace is yours and that the disk has room.")
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let temporary = temporary_beside(path, entropy);
    let written = write_new(&temporary, make().as_bytes()).and_then(|()| std::fs::hard_link(&temporary, path));
    // The temporary name has served, whether the link was made or another process was first.
    std::fs::remove_file(&temporary).ok();
    match written {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(fail(e)),
        _ => {}
    }
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)?;
    read_private(path).map_err(|error| match error {
        ReadError::Missing => fail(std::io::ErrorKind::NotFound.into()),
        ReadError::Refused(failure) => failure,
    })
}

fn temporary_beside(path: &Path, entropy: &Entropy) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", entropy.hex::<6>()));
    PathBuf::from(name)
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

enum ReadError {
    Missing,
    Refused(Failure),
}

fn read_private(path: &Path) -> Result<String, ReadError> {
    let refused = |why: String, hint: String| ReadError::Refused(Failure::usage(why).hint(hint));
    let unreadable = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => ReadError::Missing,
        _ => refused(
            format!("The key file {} cannot be read: {e}.", path.display()),
            "Check that the workspace is yours.".to_owned(),
        ),
    };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(refused(
            format!("The key file {} is not a regular file.", path.display()),
            "Move it away to have a new one made.".to_owned(),
        ));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if meta.permissions().mode() & 0o077 != 0 || meta.uid() != nix::unistd::Uid::effective().as_raw() {
        return Err(refused(
            format!("The key file {} can be read by others.", path.display()),
            format!(
                "Run `chmod 600 {}`; if others use this machine, move it away to have a new one made.",
                path.display()
            ),
        ));
    }
    let mut text = String::new();
    file.take(MAX_KEY_FILE).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digest: Sha256 = text.parse().ok()?;
    // Reading is strict, so that a cut-off or edited file is never half believed.
    (hex(&digest.0) == text).then_some(digest.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::failure::Kind;
    use crate::base::ids::ChannelId;
    use crate::model::tap::{Tap, TapVerb};

    fn workspace() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("keys")).unwrap();
        dir
    }

    #[test]
    fn the_key_is_made_once_and_kept_private() {
        let dir = workspace();
        let sign = || {
            let signer = signer(dir.path(), &Entropy::system()).unwrap();
            signer.sign(&Tap::new(TapVerb::On, "h1", ""), ChannelId(5), None)
        };
        assert_eq!(sign(), sign());
        let mode = std::fs::metadata(dir.path().join("keys/tap.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path().join("keys")).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let dir = workspace();
        signer(dir.path(), &Entropy::system()).unwrap();
        let path = dir.path().join("keys/tap.key");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = signer(dir.path(), &Entropy::system()).unwrap_err();
        assert!(refused.kind == Kind::Usage && refused.hint.unwrap().contains("chmod 600"));
    }

    #[test]
    fn a_damaged_key_is_refused_and_left_as_it_is() {
        let dir = workspace();
        let path = dir.path().join("keys/tap.key");
        write_new(&path, b"abc").unwrap();
        assert_eq!(signer(dir.path(), &Entropy::system()).unwrap_err().kind, Kind::Usage);
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    }

    #[test]
    fn many_at_once_end_with_one_key() {
        let dir = workspace();
        let ids: std::collections::HashSet<String> = std::thread::scope(|scope| {
            let ask = || host_id(dir.path(), &Entropy::system(), Millis(1)).unwrap().0;
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asked.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1);
    }
}

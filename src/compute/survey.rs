//! Reads a folder and counts what is in it. Follows no symbolic link, so it never leaves the folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::base::clock::Millis;

/// Folders that are passed by: made by tools, or private to this program.
pub const PASSED_BY: [&str; 4] = [".git", "target", "node_modules", ".agent-discord"];

/// Most files that are read. A home folder has more; a checkout that a person asks about has not.
pub const MAX_FILES: u64 = 20_000;

/// Most bytes that are read: about ten seconds of an ordinary disk.
pub const MAX_BYTES: u64 = 2 << 30;

/// Deepest folder that is entered.
const MAX_DEPTH: usize = 64;

/// Bytes looked at to tell text from binary, as `grep` and `git` do.
const HEAD: usize = 8 << 10;

/// Largest file that a word is looked for in; it is read into memory whole.
const MAX_SEARCHED: u64 = 8 << 20;

/// Largest files that are listed.
pub const LARGEST: usize = 5;

/// Lines with the word that are listed.
pub const MAX_HITS: usize = 10;

/// Files, lines and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Files, binary ones too.
    pub files: u64,
    /// Lines of text files: newlines, plus one for a last line without.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, lines: u64, bytes: u64) {
        self.files += 1;
        self.lines += lines;
        self.bytes += bytes;
    }
}

/// What was found of a word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// The word, as it was asked for.
    pub word: String,
    /// Lines that hold it, in any case of letters.
    pub lines: u64,
    /// The first of them: file and line number.
    pub hits: Vec<(String, u64)>,
}

/// What was found in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// All together.
    pub total: Count,
    /// By kind: the extension in lower case, or `(none)`.
    pub kinds: BTreeMap<String, Count>,
    /// The largest files, largest first.
    pub largest: Vec<(u64, String)>,
    /// The file that was changed last, and when.
    pub newest: Option<(Millis, String)>,
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Why it stopped before the end, if it did.
    pub stopped: Option<String>,
    /// The word that was looked for.
    pub search: Option<Search>,
}

/// Kind of a file: its extension in lower case, or `(none)`.
fn kind(path: &Path) -> String {
    path.extension().map_or_else(|| "(none)".into(), |ext| ext.to_string_lossy().to_lowercase())
}

/// A folder's own entries in the order of their names, without what is passed by.
struct Entries {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

fn entries(folder: &Path, apart: &Path) -> io::Result<Entries> {
    let mut found = Entries { files: Vec::new(), folders: Vec::new() };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_file() {
            found.files.push(entry.path());
        } else if kind.is_dir() {
            let passed_by = PASSED_BY.iter().any(|name| entry.file_name() == *name);
            let path = entry.path();
            if !passed_by && fs::canonicalize(&path).ok().as_deref() != Some(apart) {
                found.folders.push(path);
            }
        }
    }
    found.files.sort();
    found.folders.sort();
    Ok(found)
}

/// Surveys a folder; `apart` (where the report goes) is passed by. `tell` hears of each folder
/// directly below when it is done: its name and what was counted so far.
///
/// # Errors
/// When the folder itself cannot be read, or `tell` fails.
pub fn survey(
    root: &Path,
    apart: &Path,
    word: Option<&str>,
    tell: &mut dyn FnMut(&str, &Survey) -> io::Result<()>,
) -> io::Result<Survey> {
    let apart = fs::canonicalize(apart).unwrap_or_else(|_| apart.to_owned());
    let mut found =
        Survey { search: word.map(|word| Search { word: word.to_owned(), ..Search::default() }), ..Survey::default() };
    let top = entries(root, &apart)?;
    for file in &top.files {
        found.read(root, file);
    }
    for folder in &top.folders {
        found.walk(root, folder, &apart, 1);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        tell(&name, &found)?;
    }
    Ok(found)
}

impl Survey {
    fn walk(&mut self, root: &Path, folder: &Path, apart: &Path, depth: usize) {
        if self.stopped.is_some() {
            return;
        }
        if depth > MAX_DEPTH {
            self.stopped = Some(format!("after {MAX_DEPTH} folders in one another"));
            return;
        }
        let Ok(entries) = entries(folder, apart) else {
            self.unreadable += 1;
            return;
        };
        for file in &entries.files {
            self.read(root, file);
        }
        for folder in &entries.folders {
            self.walk(root, folder, apart, depth + 1);
        }
    }

    fn read(&mut self, root: &Path, path: &Path) {
        if self.stopped.is_none() {
            self.stopped = self.full();
        }
        if self.stopped.is_some() {
            return;
        }
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        if self.count(path, &name).is_err() {
            self.unreadable += 1;
        }
    }

    fn full(&self) -> Option<String> {
        if self.total.files >= MAX_FILES {
            return Some(format!("after {MAX_FILES} files"));
        }
        (self.total.bytes >= MAX_BYTES).then(|| "after 2 GiB".to_owned())
    }

    fn count(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        let whole = self.search.is_some() && about.len() <= MAX_SEARCHED;
        let (lines, bytes, text) = measure(&mut file, whole)?;
        if let (Some(search), Some(text)) = (&mut self.search, text) {
            search.look(name, &String::from_utf8_lossy(&text));
        }
        self.total.add(lines, bytes);
        self.kinds.entry(kind(path)).or_default().add(lines, bytes);
        self.largest.push((bytes, name.to_owned()));
        self.largest.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        self.largest.truncate(LARGEST);
        if let Some(changed) = about.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()) {
            let changed = Millis::default().plus(changed);
            if self.newest.as_ref().is_none_or(|(time, _)| changed > *time) {
                self.newest = Some((changed, name.to_owned()));
            }
        }
        Ok(())
    }
}

impl Search {
    fn look(&mut self, name: &str, text: &str) {
        let word = self.word.to_lowercase();
        for (index, line) in text.lines().enumerate() {
            if line.to_lowercase().contains(&word) {
                self.lines += 1;
                if self.hits.len() < MAX_HITS {
                    self.hits.push((name.to_owned(), index as u64 + 1));
                }
            }
        }
    }
}

/// Lines and bytes of a file, and its text when the whole of it is wanted. A NUL byte near the
/// start makes it binary: no lines, no text.
fn measure(file: &mut impl Read, whole: bool) -> io::Result<(u64, u64, Option<Vec<u8>>)> {
    let mut buffer = vec![0; 64 << 10];
    let mut text = whole.then(Vec::new);
    let (mut lines, mut bytes, mut last) = (0, 0, b'\n');
    let mut binary = false;
    loop {
        let count = file.read(&mut buffer)?;
        let chunk = &buffer[..count];
        if chunk.is_empty() {
            break;
        }
        // A regular file fills the buffer, so the first chunk holds the whole head.
        if bytes == 0 && chunk[..count.min(HEAD)].contains(&0) {
            binary = true;
            text = None;
        }
        bytes += count as u64;
        last = chunk[count - 1];
        lines += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Some(text) = &mut text {
            text.extend_from_slice(chunk);
        }
    }
    let lines = if binary { 0 } else { lines + u64::from(last != b'\n') };
    Ok((lines, bytes, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(_: &str, _: &Survey) -> io::Result<()> {
        Ok(())
    }

    #[test]
    fn lines_are_counted_with_a_last_one_that_has_no_end() {
        for (text, lines) in [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\nb\n", 3)] {
            assert_eq!(measure(&mut text.as_bytes(), false).unwrap(), (lines, text.len() as u64, None), "{text:?}");
        }
        assert_eq!(measure(&mut b"a\n\0\nb".as_slice(), true).unwrap(), (0, 5, None));
    }

    #[test]
    fn links_and_the_folders_of_tools_are_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["src", ".git", "target/debug", "node_modules/x", "out"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("a.rs"), "one\ntwo\n").unwrap();
        }
        fs::write(root.join("README"), "Needle\nneedle in a haystack").unwrap();
        std::os::unix::fs::symlink("/", root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("README"), root.join("again")).unwrap();
        let found = survey(root, &root.join("out"), Some("NEEDLE"), &mut quiet).unwrap();
        assert_eq!(found.total, Count { files: 2, lines: 4, bytes: 8 + 27 });
        assert_eq!(found.kinds.keys().collect::<Vec<_>>(), ["(none)", "rs"]);
        let search = found.search.unwrap();
        assert_eq!((search.lines, search.hits), (2, vec![("README".into(), 1), ("README".into(), 2)]));
        assert_eq!(found.largest, [(27, "README".to_owned()), (8, "src/a.rs".to_owned())]);
        assert_eq!((found.unreadable, found.stopped), (0, None));
    }
}

//! What a run made: files in its folder become objects in its thread, then its receipt is due.

use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::base::failure::{Failure, Kind, LogAndGoOn};
use crate::base::redact::{holds_secret, redact};
use crate::base::stop::Stop;
use crate::base::text;
use crate::ledger::{errands, objects as rows, runs, steps, tasks};
use crate::model::reasoning;
use crate::model::run::RunEvent;
use crate::objects::index::InLedger;
use crate::objects::place::Place;
use crate::objects::put::{self, Item};

use super::{WorkParts, answer};

/// Most files of one run that are stored; more are counted on the receipt and stay in the folder (I-17).
const MOST_FILES: usize = 50;

/// Entries of a run's folder that are looked at; a run that makes more has its files on the machine (I-17).
const MOST_LOOKED: usize = 10_000;

/// Bytes read at a time while a file is searched for secrets.
const CHUNK: usize = 256 << 10;

/// Bytes of a chunk that are looked at again with the next one: longer than any secret.
const OVERLAP: usize = 1024;

/// Longest sleep while the thread is not open yet or an upload is to be tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// Characters of what the receipt says about files that could not be stored.
const AMISS: usize = 1_000;

/// Tries for a file before the receipt goes out without it; the file stays in the folder.
const TRIES: u32 = 5;

/// Makes the empty folder for a run's files (0700).
pub async fn make_folder(parts: &WorkParts, run: &runs::Run) -> Result<PathBuf, String> {
    let folder = folder(parts, run);
    let made = folder.clone();
    let make = move || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&made);
    tokio::task::spawn_blocking(make)
        .await
        .map_err(|e| e.to_string())?
        .map_err(|e| format!("The folder for its files could not be made: {e}."))?;
    Ok(folder)
}

pub(super) fn folder(parts: &WorkParts, run: &runs::Run) -> PathBuf {
    parts.artifacts.join(run.id.as_str())
}

/// Stores the files of a run that ended well, and records that it is done. Can be done again after a crash: what is
/// stored is not stored twice.
pub async fn and_receipt(parts: &Arc<WorkParts>, run: &runs::Run, stop: &Stop) -> Result<(), Failure> {
    let folder = folder(parts, run);
    let (files, more) = list(folder.clone()).await?;
    let task = run.task.clone();
    if !parts.ledger.read(move |read| tasks::is_shown(read, &task)).await? {
        return keep(parts, run, (files.len() + more, &folder)).await;
    }
    let mut amiss = Vec::new();
    if !files.is_empty() {
        let Some(place) = place(parts, run, stop).await? else { return Ok(()) };
        for (file, name) in &named(files, &folder) {
            match store(parts, run, (place, file, name), stop).await? {
                Stored::Yes => {}
                Stored::No(why) => amiss.push(format!("{name} could not be stored: {why}")),
                Stored::Stopped => return Ok(()),
            }
        }
    }
    if more > 0 {
        amiss.push(format!("{more} more files were made; they stay in the run's folder on the machine."));
    }
    done(parts, run, amiss).await
}

/// Ends a run of a task that is never shown: its files stay where they are, and its summary names the folder.
async fn keep(parts: &WorkParts, run: &runs::Run, (count, folder): (usize, &Path)) -> Result<(), Failure> {
    let note = match count {
        0 => return done(parts, run, Vec::new()).await,
        1 => format!("1 file is kept in {}.", folder.display()),
        n => format!("{n} files are kept in {}.", folder.display()),
    };
    let (id, now) = (run.id.clone(), parts.clock.now());
    parts
        .ledger
        .write("kept", move |tx| {
            let said = runs::get(tx, &id)?.and_then(|run| run.summary).unwrap_or_default();
            let summary = format!("{}\n\n{note}", said.trim_end()).trim_start().to_owned();
            runs::leave(tx, &id, &runs::Left { summary: Some(summary), ..runs::Left::default() })?;
            steps::add(tx, &id, &note, now)?;
            runs::apply(tx, &id, RunEvent::Settle, now)
        })
        .await?;
    Ok(())
}

async fn done(parts: &WorkParts, run: &runs::Run, amiss: Vec<String>) -> Result<(), Failure> {
    let (id, before, now) = (run.id.clone(), run.error.clone(), parts.clock.now());
    parts
        .ledger
        .write("receipt", move |tx| {
            if !amiss.is_empty() {
                let all: Vec<String> = before.into_iter().chain(amiss).collect();
                let error = Some(reasoning::showable(&text::cut(&all.join(" "), AMISS)));
                runs::leave(tx, &id, &runs::Left { error, ..runs::Left::default() })?;
            }
            runs::apply(tx, &id, RunEvent::Settle, now)
        })
        .await?;
    Ok(())
}

/// Regular files of the folder, a long answer first, then in order of their names; and how many were left out. Links
/// are not followed (I-16).
async fn list(folder: PathBuf) -> Result<(Vec<PathBuf>, usize), Failure> {
    let found = tokio::task::spawn_blocking(move || {
        let mut files = Vec::new();
        let top = folder.clone();
        // The run may have put a link in place of its folder.
        let is_folder = std::fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir());
        let mut folders = if is_folder { vec![folder] } else { Vec::new() };
        let mut looked = 0;
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten().take(MOST_LOOKED - looked) {
                looked += 1;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => files.push(entry.path()),
                    _ => {}
                }
            }
        }
        files.sort_by_cached_key(|file| (!answer::is_answer(&name_of(file, &top)), file.clone()));
        let more = files.len().saturating_sub(MOST_FILES);
        files.truncate(MOST_FILES);
        (files, more)
    });
    found.await.map_err(|e| Failure::failed(format!("The run's folder could not be read: {e}.")))
}

/// Path below the run's folder, on one level: `plots/a.svg` is stored as `plots_a.svg`.
fn name_of(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('/', "_")
}

/// Files with the names that they are stored by, each name once.
fn named(files: Vec<PathBuf>, folder: &Path) -> Vec<(PathBuf, String)> {
    let mut taken = std::collections::HashSet::new();
    let one = |file: PathBuf| {
        let plain = name_of(&file, folder);
        let again = (2..).map(|n| format!("{n}_{plain}"));
        let name = std::iter::once(plain.clone()).chain(again).find(|name| taken.insert(name.clone()));
        (file, name.unwrap_or(plain))
    };
    files.into_iter().map(one).collect()
}

/// Whether a file holds a secret of this host, in its name or in its bytes (I-11).
async fn is_secret(file: &Path, name: &str) -> std::io::Result<bool> {
    if redact(name) != name {
        return Ok(true);
    }
    let file = file.to_owned();
    let search = tokio::task::spawn_blocking(move || {
        let mut file = std::fs::File::open(file)?;
        let mut bytes = Vec::new();
        loop {
            let kept = bytes.len().min(OVERLAP);
            bytes.drain(..bytes.len() - kept);
            if std::io::Read::by_ref(&mut file).take(CHUNK as u64).read_to_end(&mut bytes)? == 0 {
                return Ok(false);
            }
            if holds_secret(&bytes) {
                return Ok(true);
            }
        }
    });
    search.await.map_err(std::io::Error::other)?
}

/// Where a run's files go: its thread, once it is open; the channel of the ask, once it is certain that no thread can be
/// opened. `None`: the host stops.
async fn place(parts: &WorkParts, run: &runs::Run, stop: &Stop) -> Result<Option<Place>, Failure> {
    let bell = parts.ledger.bell();
    loop {
        let id = run.task.clone();
        let (task, never) =
            parts.ledger.read(move |read| Ok((tasks::get(read, &id)?, errands::has_failed(read, &id)?))).await?;
        let task = task.ok_or_else(|| Failure::failed("The run's task is gone."))?;
        if let Some(thread) = task.thread {
            return Ok(Some(Place { channel: thread, parent: Some(task.channel), guild: task.guild }));
        }
        if never {
            return Ok(Some(Place { channel: task.channel, parent: None, guild: task.guild }));
        }
        tokio::select! {
            () = stop.wait() => return Ok(None),
            () = bell.wait(PAUSE) => {}
        }
    }
}

enum Stored {
    Yes,
    No(String),
    Stopped,
}

async fn store(
    parts: &WorkParts,
    run: &runs::Run,
    (place, file, name): (Place, &Path, &str),
    stop: &Stop,
) -> Result<Stored, Failure> {
    let id = run.id.clone();
    let stored = parts.ledger.read(move |read| rows::of_run(read, &id)).await?;
    let size = std::fs::metadata(file).map(|m| m.len()).ok();
    if stored.iter().any(|object| object.name == name && Some(object.size) == size) {
        return Ok(Stored::Yes);
    }
    if size.is_some_and(|size| size <= parts.limits.max_object_bytes) && is_secret(file, name).await.unwrap_or(true) {
        return Ok(Stored::No("it holds a key of this host, or cannot be read".to_owned()));
    }
    let name = Some(name.to_owned());
    let item = Item { path: file.to_owned(), name, kind: None, place, run: Some(run.id.clone()) };
    let index = InLedger::new(parts.ledger.clone(), parts.bot.clone());
    let put = put::Parts {
        discord: parts.discord.as_ref(),
        index: &index,
        clock: parts.clock.as_ref(),
        entropy: &parts.entropy,
        max_bytes: parts.limits.max_object_bytes,
    };
    for attempt in 1.. {
        // Cut off it is like after a crash: the intent is recorded, and what was stored is found (I-9).
        let done = tokio::select! {
            () = stop.wait() => return Ok(Stored::Stopped),
            done = put::put(&put, &item, &|_| {}) => done,
        };
        match done {
            Ok(_) => return Ok(Stored::Yes),
            Err(failure) if attempt >= TRIES || !worth_another(&failure) => return Ok(Stored::No(failure.message)),
            Err(failure) => drop(Err::<(), _>(failure).log_and_go_on("a file of a run could not be stored yet")),
        }
        tokio::select! {
            () = stop.wait() => return Ok(Stored::Stopped),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    Ok(Stored::Stopped)
}

fn worth_another(failure: &Failure) -> bool {
    failure.kind == Kind::Discord
}

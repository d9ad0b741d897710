//! Files on their way out: streamed from disk, counted, and given up when they are not what they were said to be.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::io::ReaderStream;

use super::super::error::{DiscordError, ErrorKind};
use super::super::{Progress, Upload, limits};
use super::call::{Answer, Broken};
use super::retry::Failed;
use crate::base::clock::Clock;

/// Bytes read from disk at a time.
const CHUNK: usize = 64 * 1024;

/// Component that shows a file of the same message (facts.md 3.2); without it a card hides its files.
const FILE_COMPONENT: u64 = 13;

/// Files to send, with the JSON of their message.
pub(super) struct Files<'a> {
    json: Value,
    files: &'a [Upload],
    progress: Progress<'a>,
    /// Most bytes that were reported: a second attempt starts over, the bar does not.
    reported: AtomicU64,
}

/// What one attempt did. Shared with the streams that the request owns.
pub(super) struct Tally {
    clock: Arc<dyn Clock>,
    sent: AtomicU64,
    ended: AtomicUsize,
    complete_at: Mutex<Option<Duration>>,
    fault: Mutex<Option<String>>,
    bell: Notify,
}

impl Tally {
    /// An empty one.
    pub(super) fn shared(clock: Arc<dyn Clock>) -> Arc<Self> {
        let (complete_at, fault) = (Mutex::new(None), Mutex::new(None));
        Arc::new(Self { clock, sent: 0.into(), ended: 0.into(), complete_at, fault, bell: Notify::new() })
    }

    /// When the last byte of the last file went out, if it did.
    pub(super) fn complete_at(&self) -> Option<Duration> {
        *self.complete_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was wrong with a file, if something was.
    pub(super) fn fault(&self) -> Option<DiscordError> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map(|said| DiscordError::new(ErrorKind::File, said))
    }

    fn fail(&self, said: String) -> io::Error {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        io::Error::other("the file is not as it was")
    }

    fn went_out(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        self.bell.notify_one();
    }

    fn one_ended(&self, of: usize) {
        if self.ended.fetch_add(1, Ordering::SeqCst) + 1 == of {
            *self.complete_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clock.steady());
        }
    }
}

impl<'a> Files<'a> {
    /// Files for a message whose JSON is `json`.
    ///
    /// # Errors
    /// `Invalid` if there are none or more than 10, or if a description is too long.
    pub(super) fn new(mut json: Value, files: &'a [Upload], progress: Progress<'a>) -> Result<Self, DiscordError> {
        if files.is_empty() || files.len() > limits::FILES {
            let said = format!("A message takes 1 to {} files and not {}.", limits::FILES, files.len());
            return Err(DiscordError::new(ErrorKind::Invalid, said));
        }
        let too_long = |f: &&Upload| f.description.as_deref().unwrap_or("").chars().count() > limits::DESCRIPTION;
        if let Some(file) = files.iter().find(too_long) {
            let said = format!("The description of «{}» is longer than {}.", file.name, limits::DESCRIPTION);
            return Err(DiscordError::new(ErrorKind::Invalid, said));
        }
        json["attachments"] = files.iter().enumerate().map(|(n, file)| entry(n, file)).collect();
        if let Some(components) = json.get_mut("components").and_then(Value::as_array_mut) {
            components.extend(files.iter().map(
                |file| json!({"type": FILE_COMPONENT, "file": {"url": format!("attachment://{}", shown(&file.name))}}),
            ));
        }
        Ok(Self { json, files, progress, reported: AtomicU64::new(0) })
    }

    fn report(&self, sent: u64) {
        let before = self.reported.fetch_max(sent, Ordering::SeqCst);
        if sent > before {
            (self.progress)(sent - before);
        }
    }
}

fn entry(n: usize, file: &Upload) -> Value {
    let mut entry = json!({"id": n, "filename": shown(&file.name)});
    if let Some(description) = &file.description {
        entry["description"] = json!(description);
    }
    entry
}

/// A name that fits into a header: reqwest leaves control characters in, and a line break would start another header.
fn shown(name: &str) -> String {
    let name = crate::base::text::one_line(name);
    if name.is_empty() { "file".to_owned() } else { name }
}

/// The form of one attempt; every file is opened anew. Part names are literally `files[0]`: reqwest would encode
/// neither bracket, and Discord knows no other spelling.
pub(super) async fn form(files: &Files<'_>, tally: &Arc<Tally>) -> Result<Form, Broken> {
    let mut form = Form::new();
    let payload = Part::text(files.json.to_string()).mime_str("application/json").map_err(super::call::broken)?;
    form = form.part("payload_json", payload);
    for (n, file) in files.files.iter().enumerate() {
        let open = open(file).await.map_err(|said| {
            tally.fail(said);
            Broken { failed: Failed::Unsent, why: "a file could not be read".to_owned() }
        })?;
        let body = Body::wrap_stream(counted(open, file, files.files.len(), tally.clone()));
        let part = |body, mime| Part::stream_with_length(body, file.size).file_name(shown(&file.name)).mime_str(mime);
        let mime = file.content_type.as_deref().filter(|mime| is_media_type(mime));
        let part = part(body, mime.unwrap_or("application/octet-stream")).map_err(super::call::broken)?;
        form = form.part(format!("files[{n}]"), part);
    }
    Ok(form)
}

/// Whether a media type is of the plain form `type/subtype`, perhaps with parameters; others are not worth an error.
fn is_media_type(mime: &str) -> bool {
    let token = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    let bare = mime.split(';').next().unwrap_or("").trim();
    mime.is_ascii() && bare.split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub)) && bare == mime
}

async fn open(file: &Upload) -> Result<File, String> {
    let unreadable = |error: io::Error| format!("«{}» could not be read: {error}.", file.name);
    let open = File::open(&file.path).await.map_err(unreadable)?;
    let there = open.metadata().await.map_err(unreadable)?;
    match there.is_file() && there.len() == file.size {
        true => Ok(open),
        false => Err(changed(&file.name)),
    }
}

fn changed(name: &str) -> String {
    format!("«{name}» changed while it was to be sent, so nothing was posted; send it again.")
}

/// The bytes of a file, as many as were announced. Its end is looked for before the closing boundary of the form goes
/// out, so a file that grew or shrank ends the request before it is whole, and nothing is posted.
fn counted(open: File, file: &Upload, of: usize, tally: Arc<Tally>) -> impl Stream<Item = io::Result<Bytes>> + use<> {
    let (size, name) = (file.size, file.name.clone());
    let reader = ReaderStream::with_capacity(open, CHUNK);
    stream::try_unfold((reader, 0u64), move |(mut reader, sent)| {
        let (tally, name) = (tally.clone(), name.clone());
        async move {
            match reader.next().await {
                Some(Ok(chunk)) if sent + chunk.len() as u64 <= size => {
                    tally.went_out(chunk.len() as u64);
                    let sent = sent + chunk.len() as u64;
                    Ok(Some((chunk, (reader, sent))))
                }
                Some(Err(error)) => Err(tally.fail(format!("«{name}» could not be read: {error}."))),
                None if sent == size => {
                    tally.one_ended(of);
                    Ok(None)
                }
                Some(Ok(_)) | None => Err(tally.fail(changed(&name))),
            }
        }
    })
}

/// Waits for an answer as long as bytes go out; `idle` without one more byte ends it.
pub(super) async fn watched(
    work: impl Future<Output = Result<Answer, Broken>>,
    files: &Files<'_>,
    tally: &Tally,
    idle: Duration,
) -> Result<Answer, Broken> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            answer = &mut work => {
                files.report(tally.sent.load(Ordering::Relaxed));
                return answer;
            }
            () = tally.bell.notified() => files.report(tally.sent.load(Ordering::Relaxed)),
            () = sleep(idle) => {
                let why = format!("no byte went out for {}", crate::base::text::span(idle));
                return Err(Broken { failed: Failed::Unanswered, why });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_media_types_do_not_cost_the_upload() {
        for (mime, ok) in
            [("text/plain", true), ("image/svg+xml", true), ("text", false), ("a/b\r\nx: y", false), ("", false)]
        {
            assert_eq!(is_media_type(mime), ok, "{mime:?}");
        }
    }

    #[test]
    fn a_card_shows_the_files_that_come_with_it() {
        let upload = |name: &str| Upload {
            path: "x".into(),
            name: name.into(),
            size: 1,
            content_type: None,
            description: Some("what".into()),
        };
        let files = [upload("a.txt"), upload("b.txt")];
        let made = Files::new(json!({"components": [{"type": 17}]}), &files, &|_| {}).ok().unwrap();
        assert_eq!(made.json["attachments"][1], json!({"id": 1, "filename": "b.txt", "description": "what"}));
        assert_eq!(made.json["components"][2], json!({"type": 13, "file": {"url": "attachment://b.txt"}}));
        assert!(Files::new(json!({}), &[], &|_| {}).is_err());
    }
}

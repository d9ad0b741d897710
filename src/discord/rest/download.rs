//! Files on their way in: from Discord's file servers only, without the token, bounded, hashed while they pass.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt, BufWriter};
use tokio::time::{sleep, timeout};

use super::super::error::{DiscordError, ErrorKind};
use super::super::{Downloaded, cdn};
use super::Rest;
use super::call::broken;
use super::refusal;
use super::retry::{self, Failed, Next, Repeat, Tries};
use crate::base::hash::Hasher;
use crate::base::text;
use crate::model::message::CdnUrl;

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Why an attempt brought no file.
enum Missed {
    /// For good.
    Refused(DiscordError),
    /// Perhaps the next attempt does.
    Failed(Failed, DiscordError),
}

/// A file that is removed unless it is kept.
struct Partial {
    path: PathBuf,
    keep: bool,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!("a file that came down in part could not be removed: {error}");
        }
    }
}

impl Rest {
    /// Streams the file at `link` to `to`, which must not exist.
    ///
    /// # Errors
    /// `Integrity` if fewer or more bytes came than should, `NotFound` if the link has ended, `File` if `to` cannot be
    /// written. Nothing is left at `to` then.
    pub(super) async fn fetch(&self, link: &CdnUrl, to: &Path, limit: u64) -> Result<Downloaded, DiscordError> {
        let Some(url) = cdn::fetchable(link, self.loopback) else {
            let said = "The link does not lead to Discord's file servers, so it is not followed.";
            return Err(DiscordError::new(ErrorKind::Invalid, said));
        };
        let mut file = OpenOptions::new().write(true).create_new(true).open(to).await.map_err(unwritable)?;
        let mut partial = Partial { path: to.to_owned(), keep: false };
        let mut tries = Tries { repeat: Repeat::Harmless, failed: 0, since_effect: None, took: Duration::ZERO };
        loop {
            let (failed, error) = match self.fetch_once(&url, &mut file, limit).await {
                Ok(downloaded) => {
                    partial.keep = true;
                    return Ok(downloaded);
                }
                Err(Missed::Refused(error)) => return Err(error),
                Err(Missed::Failed(failed, error)) => (failed, error),
            };
            tries.failed += 1;
            match retry::next(tries, failed) {
                Next::Again(longest) => sleep(longest.mul_f64(self.entropy.fraction())).await,
                Next::GiveUp(_) => return Err(error),
            }
        }
    }

    async fn fetch_once(&self, url: &Url, file: &mut File, limit: u64) -> Result<Downloaded, Missed> {
        let idle = self.timing.idle;
        let mut response = match timeout(idle, self.client.get(url.clone()).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&broken(error).why)),
            Err(_) => return Err(unreachable(&silent(idle))),
        };
        if let Some(missed) = missed_by_status(response.status().as_u16(), response.headers()) {
            return Err(missed);
        }
        let announced = response.content_length();
        if announced.is_some_and(|size| size > limit) {
            return Err(Missed::Refused(too_much(limit)));
        }
        // An earlier attempt may have left its bytes.
        file.set_len(0).await.map_err(|e| Missed::Refused(unwritable(e)))?;
        file.rewind().await.map_err(|e| Missed::Refused(unwritable(e)))?;
        let mut out = BufWriter::with_capacity(BUFFER, file);
        let mut hasher = Hasher::default();
        loop {
            let chunk = match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(short(hasher.size(), announced, &broken(error).why)),
                Err(_) => return Err(unreachable(&silent(idle))),
            };
            if hasher.size() + chunk.len() as u64 > limit {
                return Err(Missed::Refused(too_much(limit)));
            }
            hasher.update(&chunk);
            out.write_all(&chunk).await.map_err(|e| Missed::Refused(unwritable(e)))?;
        }
        if announced.is_some_and(|size| size != hasher.size()) {
            return Err(short(hasher.size(), announced, "it ended early"));
        }
        out.flush().await.map_err(|e| Missed::Refused(unwritable(e)))?;
        out.into_inner().sync_all().await.map_err(|e| Missed::Refused(unwritable(e)))?;
        Ok(Downloaded { size: hasher.size(), sha256: hasher.finish() })
    }
}

/// Only 200 is a file. The text that comes with a 404 is none (facts.md section 5).
fn missed_by_status(status: u16, headers: &reqwest::header::HeaderMap) -> Option<Missed> {
    let error = |kind, said: &str| DiscordError { status: Some(status), ..DiscordError::new(kind, said) };
    Some(match status {
        200 => return None,
        404 => Missed::Refused(error(ErrorKind::NotFound, "The file is gone, or its link has ended.")),
        403 => Missed::Refused(error(ErrorKind::NoAccess, "Discord's file servers refuse this address.")),
        429 => {
            let header = headers.get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
            let after = header.and_then(refusal::seconds);
            let limited = error(ErrorKind::RateLimited, "Discord's file servers ask to wait.");
            Missed::Refused(DiscordError { after, ..limited })
        }
        500..=599 => Missed::Failed(
            Failed::Server,
            error(ErrorKind::Server, &format!("Discord's file servers failed (HTTP {status}).")),
        ),
        _ => {
            let said = format!("Discord's file servers gave an unexpected answer (HTTP {status}).");
            Missed::Refused(error(ErrorKind::Protocol, &said))
        }
    })
}

fn silent(idle: Duration) -> String {
    format!("nothing was heard for {}", text::span(idle))
}

fn unreachable(why: &str) -> Missed {
    let said = format!("The file could not be fetched: {why}.");
    Missed::Failed(Failed::Unanswered, DiscordError::new(ErrorKind::Unreachable, said))
}

fn short(got: u64, announced: Option<u64>, why: &str) -> Missed {
    let of = announced.map_or(String::new(), |size| format!(" of {size}"));
    let said = format!("The file stopped after {got}{of} bytes: {why}.");
    Missed::Failed(Failed::Unanswered, DiscordError::new(ErrorKind::Integrity, said))
}

fn too_much(limit: u64) -> DiscordError {
    let said = format!("The file is longer than the {limit} bytes that were expected, so it was not kept.");
    DiscordError::new(ErrorKind::Integrity, said)
}

fn unwritable(error: std::io::Error) -> DiscordError {
    DiscordError::new(ErrorKind::File, format!("The file could not be written: {error}."))
}

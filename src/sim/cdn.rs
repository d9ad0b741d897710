//! Files: signed links that expire, ranges, and headers that keep a file from scripting.

use std::io::SeekFrom;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use super::core::Core;
use super::faults::Do;
use super::guard::own_origin;
use super::rest::http_date;
use super::rest::route::decode;
use super::thing::File;
use super::truth::{Entry, Line};
use super::wire::Cut;
use crate::base::ids::{AttachmentId, ChannelId};

/// What Discord says of a link that is expired, altered or dead.
const GONE: &str = "This content is no longer available.";

fn text(status: u16, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::NOT_FOUND);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

fn put(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Serves one file.
pub async fn serve(
    Shared(core): Shared<Arc<Core>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    request: Request,
) -> Response<Body> {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let fault = core.with(|s, _| s.faults.hit(true, method.as_str(), &path));
    if let Some(Do::Stall { ms }) = fault {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
    }
    let asked = Asked {
        head: method == Method::HEAD,
        known: method == Method::HEAD || method == Method::GET,
        query: request.uri().query().unwrap_or_default().to_owned(),
        range: request.headers().get(header::RANGE).and_then(|v| v.to_str().ok()).map(str::to_owned),
    };
    let reader = own_origin(&core.control_host, request.headers());
    let reader = reader.unwrap_or_else(|| format!("http://{}", core.control_host));
    let leaked = request.headers().contains_key(header::AUTHORIZATION);
    let mut response = match &fault {
        Some(Do::Status { status, .. }) => text(*status, "<html>cloudflare</html>"),
        Some(Do::Body { status, text: body }) => text(*status, body.clone()),
        Some(Do::Error { status, message, .. }) => text(*status, message.clone()),
        Some(Do::RateLimit { retry_after, .. }) => {
            let mut response = text(429, "");
            put(response.headers_mut(), header::RETRY_AFTER, &retry_after.ceil().to_string());
            response
        }
        Some(Do::Reset { .. }) => {
            cut.cut();
            text(500, "")
        }
        _ => file(&core, &path, asked, (fault.as_ref(), &cut)).await,
    };
    let headers = response.headers_mut();
    put(headers, header::DATE, &http_date(core.now()));
    // The page, under the name that it was opened under, may read a file, and no other page may.
    put(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, &reader);
    put(headers, header::VARY, "Origin");
    let status = response.status().as_u16();
    core.with(|state, now| {
        if leaked {
            // I-11: the bot token goes to the API only.
            state.truth.violation(now, "A download carried an Authorization header.", method.as_str(), &path);
        }
        let method = method.to_string();
        let summary = "cdn".to_owned();
        state.truth.log(Entry { n: 0, at_ms: now.0, kind: Line::Request, method, path, status, bot: None, summary });
    });
    response
}

/// The file behind a path, if its message is still there.
fn find(core: &Core, path: &str) -> Option<File> {
    let mut parts = path.strip_prefix("/attachments/")?.split('/');
    let channel: ChannelId = parts.next()?.parse().ok()?;
    let id: AttachmentId = parts.next()?.parse().ok()?;
    let name = decode(parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    core.with(|state, _| {
        let mut files = state.world.all(channel).flat_map(|m| m.files.iter());
        files.find(|f| f.id == id && f.filename == name).cloned()
    })
}

/// What of a request matters to a file.
struct Asked {
    head: bool,
    known: bool,
    query: String,
    range: Option<String>,
}

async fn file(core: &Core, path: &str, asked: Asked, (fault, cut): (Option<&Do>, &Cut)) -> Response<Body> {
    if !asked.known {
        return text(405, "");
    }
    let good = core.signer.good(path, &asked.query, core.now());
    let Some(found) = find(core, path).filter(|_| good) else { return text(404, GONE) };
    let Ok(mut disk) = tokio::fs::File::open(core.store.file(found.id)).await else { return text(404, GONE) };
    let (from, to, status) = match asked.range.map(|r| bounds(&r, found.size)) {
        None | Some(Bounds::Ignored) => (0, found.size, 200),
        Some(Bounds::Part(from, to)) => (from, to, 206),
        Some(Bounds::Outside) => {
            let mut response = text(416, "");
            put(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{}", found.size));
            return response;
        }
    };
    if disk.seek(SeekFrom::Start(from)).await.is_err() {
        return text(500, "");
    }
    let body = if asked.head {
        Body::empty()
    } else {
        let stream = ReaderStream::with_capacity(disk.take(to - from), 64 * 1024);
        let (fault, cut) = (fault.cloned(), cut.clone());
        let mut seen = 0u64;
        Body::from_stream(stream.map(move |chunk| chunk.and_then(|c| spoil(c, fault.as_ref(), &cut, &mut seen))))
    };
    let mut response = text(status, body);
    let headers = response.headers_mut();
    put(headers, header::CONTENT_TYPE, &found.content_type);
    put(headers, header::CONTENT_LENGTH, &(to - from).to_string());
    put(headers, header::ACCEPT_RANGES, "bytes");
    put(headers, header::ETAG, &format!("\"{:x}\"", found.id.0));
    put(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(
        headers,
        header::CONTENT_SECURITY_POLICY,
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    );
    if status == 206 {
        put(headers, header::CONTENT_RANGE, &format!("bytes {from}-{}/{}", to - 1, found.size));
    }
    response
}

/// Faults that happen to the bytes on their way.
fn spoil(chunk: Bytes, fault: Option<&Do>, cut: &Cut, seen: &mut u64) -> std::io::Result<Bytes> {
    let before = *seen;
    *seen += chunk.len() as u64;
    match fault {
        Some(Do::Flip) if before == 0 && !chunk.is_empty() => {
            let mut bytes = chunk.to_vec();
            bytes[0] ^= 1;
            Ok(bytes.into())
        }
        Some(Do::Cut { bytes }) if before >= *bytes => {
            cut.cut();
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
        Some(Do::Cut { bytes }) if *seen > *bytes => Ok(chunk.slice(..(*bytes - before) as usize)),
        _ => Ok(chunk),
    }
}

enum Bounds {
    /// From, and the first byte that is not wanted.
    Part(u64, u64),
    /// Nothing of it is there.
    Outside,
    /// No form that we know: the whole file is a legal answer.
    Ignored,
}

fn bounds(range: &str, size: u64) -> Bounds {
    let Some((from, to)) = range.strip_prefix("bytes=").and_then(|r| r.split_once('-')) else { return Bounds::Ignored };
    let (from, to) = match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(from), Ok(to)) => (from, to.saturating_add(1).min(size)),
        (Ok(from), Err(_)) if to.is_empty() => (from, size),
        (Err(_), Ok(last)) if from.is_empty() => (size.saturating_sub(last), size),
        _ => return Bounds::Ignored,
    };
    if from >= to { Bounds::Outside } else { Bounds::Part(from, to) }
}

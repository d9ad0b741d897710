//! Request bodies: JSON, or multipart with files that go straight to disk.

use std::path::Path;

use axum::body::to_bytes;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;

use super::super::core::Core;
use super::super::rules::Refusal;
use crate::base::failure::LogAndGoOn;
use crate::base::ids::AttachmentId;

/// Largest JSON body; a message with all its components stays far below.
const JSON: usize = 1 << 20;
/// Largest request by Discord's documents (facts.md section 5), where the file limit is not set higher by a test.
const REQUEST: u64 = 26_214_400;

/// A file that was uploaded; its bytes lie in the store already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// `n` of `files[n]`.
    pub index: usize,
    /// Id that it will have.
    pub id: AttachmentId,
    /// Name that was sent.
    pub filename: String,
    /// Media type that was sent.
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
}

/// A body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// JSON; null where there was none.
    pub json: Value,
    /// Files.
    pub parts: Vec<Part>,
}

impl Body {
    /// Takes the files off the disk again: the request came to nothing.
    pub async fn discard(&self, core: &Core) {
        for part in &self.parts {
            tokio::fs::remove_file(core.store.file(part.id)).await.log_and_go_on("remove an upload");
        }
    }
}

fn bad_type() -> Refusal {
    Refusal::field(
        "",
        "CONTENT_TYPE_INVALID",
        "Expected \"Content-Type\" header to be one of {'application/json', 'multipart/form-data'}.",
    )
}

fn bad_json() -> Refusal {
    Refusal::new(400, 50_109, "The request body contains invalid JSON.").violating("A body is not JSON.")
}

/// Reads a request's body.
pub async fn read(core: &Core, request: Request) -> Result<Body, Refusal> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    if kind.starts_with("multipart/form-data") {
        return multipart(core, request).await;
    }
    let bytes = to_bytes(request.into_body(), JSON).await.map_err(|_| Refusal::too_large())?;
    if bytes.is_empty() {
        return Ok(Body::default());
    }
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(bad_type());
    }
    let json = serde_json::from_slice(&bytes).map_err(|_| bad_json())?;
    Ok(Body { json, parts: Vec::new() })
}

async fn multipart(core: &Core, request: Request) -> Result<Body, Refusal> {
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|_| bad_type())?;
    let mut body = Body::default();
    match fields(core, &mut multipart, &mut body).await {
        Ok(()) => Ok(body),
        Err(refusal) => {
            body.discard(core).await;
            // What is still on its way is read, so that the client gets the answer instead of a broken pipe.
            while let Ok(Some(mut field)) = multipart.next_field().await {
                while let Ok(Some(_)) = field.chunk().await {}
            }
            Err(refusal)
        }
    }
}

async fn fields(core: &Core, multipart: &mut Multipart, body: &mut Body) -> Result<(), Refusal> {
    let broken = |_| Refusal::new(400, 50_035, "Invalid Form Body").violating("A multipart body is broken.");
    let mut plain = Map::new();
    let mut total = 0;
    while let Some(mut field) = multipart.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        let index = name.strip_prefix("files[").and_then(|n| n.strip_suffix(']')).and_then(|n| n.parse().ok());
        if let Some(index) = index {
            let filename = field.file_name().unwrap_or_default().to_owned();
            let content_type = field.content_type().map(str::to_owned);
            let id = AttachmentId(core.id());
            // Known before its bytes are, so that a failure in mid-upload leaves nothing behind.
            body.parts.push(Part { index, id, filename, content_type, size: 0 });
            let mut size = 0;
            let path = core.store.file(id);
            let mut file = tokio::fs::File::create(&path).await.map_err(|e| disk(&path, &e))?;
            while let Some(chunk) = field.chunk().await.map_err(broken)? {
                size += chunk.len() as u64;
                total += chunk.len() as u64;
                if size > core.settings.upload_limit || total > REQUEST.max(core.settings.upload_limit) {
                    return drain(field).await;
                }
                file.write_all(&chunk).await.map_err(|e| disk(&path, &e))?;
            }
            file.flush().await.map_err(|e| disk(&path, &e))?;
            file.sync_data().await.map_err(|e| disk(&path, &e))?;
            if let Some(part) = body.parts.last_mut() {
                part.size = size;
            }
        } else if name == "payload_json" {
            let text = field.text().await.map_err(broken)?;
            body.json = serde_json::from_str(&text).map_err(|_| bad_json())?;
        } else {
            plain.insert(name, field.text().await.map_err(broken)?.into());
        }
    }
    if body.json.is_null() && (!plain.is_empty() || !body.parts.is_empty()) {
        body.json = Value::Object(plain);
    } else if let Some(name) = plain.keys().next() {
        return Err(Refusal::field(name, "UNKNOWN_FIELD", "The simulator does not know this part."));
    }
    Ok(())
}

async fn drain(mut field: axum::extract::multipart::Field<'_>) -> Result<(), Refusal> {
    while let Ok(Some(_)) = field.chunk().await {}
    Err(Refusal::too_large())
}

fn disk(path: &Path, error: &std::io::Error) -> Refusal {
    tracing::warn!("the simulator cannot write {}: {error}", path.display());
    Refusal::new(500, 0, "500: Internal Server Error")
}

/// Media type by a name's ending, where the client gave none that says more.
pub fn media_type(filename: &str, sent: Option<&str>) -> String {
    let ending = filename.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default();
    let known = match ending.as_str() {
        "txt" | "log" => "text/plain; charset=utf-8",
        "md" => "text/markdown; charset=utf-8",
        "json" => "application/json; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "ogg" => "audio/ogg",
        _ => return sent.unwrap_or("application/octet-stream").to_owned(),
    };
    known.to_owned()
}

//! A person's file, streamed to disk.

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::super::core::Core;
use super::super::rest::body::media_type;
use super::super::rules::stored_name;
use super::super::thing::File;
use super::{Refused, act, asked, needed, player};
use crate::base::failure::LogAndGoOn;
use crate::base::ids::{AttachmentId, ChannelId, UserId};

/// `POST /control/upload`.
pub async fn upload(core: &Core, query: &[(String, String)], request: Request) -> Result<Value, Refused> {
    let who: UserId = needed(query, "as")?;
    let channel: ChannelId = needed(query, "channel")?;
    let name: String = needed(query, "filename")?;
    let content: String = asked(query, "content")?.unwrap_or_default();
    core.with(|state, _| player(state, who).and_then(|()| act::place(state, who, channel).map(|_| ())))?;
    if name.is_empty() {
        return Err(Refused::new(400, "A file needs a name."));
    }
    let sent = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let id = AttachmentId(core.id());
    let path = core.store.file(id);
    let size = match save(core, &path, request).await {
        Ok(size) => size,
        Err(refused) => {
            tokio::fs::remove_file(&path).await.log_and_go_on("remove a broken upload");
            return Err(refused);
        }
    };
    let (filename, title) = stored_name(&name);
    let content_type = media_type(&filename, sent.as_deref());
    let file = File { id, filename, title, description: None, size, content_type };
    let written = core.with(|state, now| act::write(core, state, now, (who, channel, None), (&content, vec![file])));
    match written {
        Ok(message) => Ok(json!({"message_id": message, "attachment_id": id})),
        Err(refused) => {
            tokio::fs::remove_file(&path).await.log_and_go_on("remove a refused upload");
            Err(refused)
        }
    }
}

async fn save(core: &Core, path: &std::path::Path, request: Request) -> Result<u64, Refused> {
    let broken = |e: &dyn std::fmt::Display| Refused::new(400, &format!("The file did not arrive: {e}."));
    let mut file = tokio::fs::File::create(path).await.map_err(|e| broken(&e))?;
    let mut body = request.into_body().into_data_stream();
    let mut size = 0;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|e| broken(&e))?;
        size += chunk.len() as u64;
        if size > core.settings.upload_limit {
            return Err(Refused::new(400, "The file is larger than this server takes."));
        }
        file.write_all(&chunk).await.map_err(|e| broken(&e))?;
    }
    file.flush().await.map_err(|e| broken(&e))?;
    file.sync_data().await.map_err(|e| broken(&e))?;
    Ok(size)
}

//! Messages in channels: send, read, edit, delete, react.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::core::{Core, State, extend};
use super::super::deeds::mentioned;
use super::super::draft::{Draft, FILES, FileNote, Way, read};
use super::super::rules::{Refusal, stored_name};
use super::super::show;
use super::super::thing::{COMPONENTS_V2, Channel, File, Kind, LOADING, Message, permission};
use super::super::world::{Nonce, PAGE, Pivot};
use super::body::{Body, Part, media_type};
use super::looks::{permissions, visible};
use super::{Answer, Outcome};
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, MessageId, UserId};

fn need(state: &State, channel: &Channel, bits: u64) -> Result<(), Refusal> {
    if permissions(state, channel) & bits == bits { Ok(()) } else { Err(Refusal::no_permission()) }
}

/// Whether the bot may send there: permissions, and locked threads.
fn may_send(state: &State, channel: &Channel, files: bool) -> Result<(), Refusal> {
    let send = match channel.kind {
        Kind::Thread => permission::SEND_MESSAGES_IN_THREADS,
        _ => permission::SEND_MESSAGES,
    };
    need(state, channel, send | if files { permission::ATTACH_FILES } else { 0 })?;
    if channel.locked && permissions(state, channel) & permission::MANAGE_THREADS == 0 {
        return Err(Refusal::new(403, 160_005, "Thread is locked"));
    }
    Ok(())
}

/// Files of a new message: what was uploaded, with what the `attachments` entries say of it.
pub fn new_files(parts: &[Part], notes: Option<&[FileNote]>) -> Result<Vec<File>, Refusal> {
    if parts.len() > FILES {
        return Err(Refusal::new(400, 30_015, "Maximum number of attachments in a message reached (10)")
            .violating("Over 10 files."));
    }
    let mut files = Vec::new();
    for part in parts {
        let note = notes.and_then(|n| n.iter().find(|n| n.id == part.index.to_string()));
        let sent = note.and_then(|n| n.filename.as_deref()).unwrap_or(&part.filename);
        if sent.is_empty() {
            return Err(Refusal::field("files", "BASE_TYPE_REQUIRED", "A file needs a name."));
        }
        let (filename, stem) = stored_name(sent);
        files.push(File {
            id: part.id,
            content_type: media_type(&filename, part.content_type.as_deref()),
            title: note.and_then(|n| n.title.clone()).or(stem),
            description: note.and_then(|n| n.description.clone()),
            size: part.size,
            filename,
        });
    }
    Ok(files)
}

/// Refuses `attachment://` names that no file has.
pub fn check_referred(draft: &Draft, files: &[File]) -> Result<(), Refusal> {
    match draft.referred.iter().find(|name| !files.iter().any(|f| f.filename == stored_name(name).0)) {
        Some(_) => Err(Refusal::field(
            "components",
            "UNFURLED_MEDIA_ITEM_REFERENCED_ATTACHMENT_NOT_FOUND",
            "The referenced attachment was not found",
        )),
        None => Ok(()),
    }
}

/// A message of the bot that has no id of its history yet.
pub fn compose(state: &mut State, now: Millis, channel: ChannelId, draft: &Draft, files: Vec<File>) -> Message {
    let content = draft.content.clone().unwrap_or_default();
    let reply = draft.reply_to.map(|(id, _)| id);
    let target = reply.and_then(|id| state.world.open_message(channel, id));
    let replied_author = target.map(|m| m.author);
    let people: Vec<UserId> = mentioned(&content).into_iter().filter(|u| state.world.person(*u).is_some()).collect();
    Message {
        id: MessageId(state.world.id(now)),
        channel,
        author: state.world.meta.bot,
        kind: if replied_author.is_some() { 19 } else { 0 },
        flags: draft.flags,
        content,
        at_ms: now.0,
        edited_ms: None,
        reply_to: reply.filter(|_| replied_author.is_some()),
        mentions: draft.pinged(&people, replied_author),
        files,
        embeds: draft.embeds.clone().unwrap_or_default(),
        components: draft.components.clone().unwrap_or_default(),
        reactions: Vec::new(),
        nonce: draft.nonce.clone(),
        interaction: None,
        only_for: None,
    }
}

/// POST /channels/{id}/messages
pub fn create(core: &Arc<Core>, id: ChannelId, body: &Body) -> Outcome {
    core.with(|state, now| {
        let channel = visible(state, id)?;
        let draft = read(&body.json, Way::Create, false, body.parts.len())?;
        may_send(state, &channel, !body.parts.is_empty())?;
        let files = new_files(&body.parts, draft.attachments.as_deref())?;
        if draft.empty(files.len()) {
            return Err(Refusal::empty_message());
        }
        check_referred(&draft, &files)?;
        if let Some((target, must)) = draft.reply_to {
            check_reply(state, &channel, target, must)?;
        }
        if let Some(nonce) = draft.nonce.as_ref().filter(|_| draft.enforce_nonce) {
            match state.world.nonce(state.world.meta.bot, nonce, now) {
                Nonce::New => {}
                Nonce::Deleted => return Err(Refusal::unknown_message()),
                Nonce::Same(message) => {
                    state.truth.counters.nonce_hits += 1;
                    let answer = created(core, state, now, &message);
                    // The bytes came a second time; the message holds the first ones.
                    for part in &body.parts {
                        drop(std::fs::remove_file(core.store.file(part.id)));
                    }
                    return Ok(answer);
                }
            }
        }
        let message = compose(state, now, id, &draft, files);
        state.truth.counters.messages_created += 1;
        core.post(state, now, message.clone());
        Ok(created(core, state, now, &message))
    })
}

fn created(core: &Core, state: &State, now: Millis, message: &Message) -> Answer {
    let mut body = core.show(&state.world, now).message(message);
    if let Some(nonce) = &message.nonce {
        extend(&mut body, "nonce", nonce.clone());
    }
    Answer::ok(body)
}

fn check_reply(state: &State, channel: &Channel, target: MessageId, must: bool) -> Result<(), Refusal> {
    if permissions(state, channel) & permission::READ_MESSAGE_HISTORY == 0 {
        return Err(Refusal::new(403, 160_002, "Cannot reply without permission to read message history"));
    }
    if must && state.world.open_message(channel.id, target).is_none() {
        let mut refusal = Refusal::field("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message");
        // A message can be deleted while it is being answered: no fault of the sender.
        refusal.violation = None;
        return Err(refusal);
    }
    Ok(())
}

/// The message as the bot may see it over REST.
fn seen(core: &Core, state: &State, now: Millis, message: &Message) -> Value {
    let show = core.show(&state.world, now);
    let full = show.message(message);
    if core.settings.message_content || show.exempt(message) { full } else { show::blank(full) }
}

/// GET /channels/{id}/messages
pub fn list(core: &Arc<Core>, id: ChannelId, query: &[(String, String)]) -> Outcome {
    let mut pivot = Pivot::Newest;
    let mut limit = 50;
    for (key, value) in query {
        let number = value.parse::<u64>();
        let Ok(number) = number else {
            return Err(Refusal::field(key, "NUMBER_TYPE_COERCE", &format!("Value {value:?} is not int.")));
        };
        match key.as_str() {
            "limit" if (1..=PAGE as u64).contains(&number) => limit = number as usize,
            "limit" => {
                return Err(Refusal::field("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100."));
            }
            _ if pivot != Pivot::Newest => {
                return Err(Refusal::field(key, "MUTUALLY_EXCLUSIVE", "before, after and around exclude each other."));
            }
            "before" => pivot = Pivot::Before(MessageId(number)),
            "after" => pivot = Pivot::After(MessageId(number)),
            _ => pivot = Pivot::Around(MessageId(number)),
        }
    }
    core.with(|state, now| {
        let channel = visible(state, id)?;
        if permissions(state, &channel) & permission::READ_MESSAGE_HISTORY == 0 {
            return Ok(Answer::ok(json!([])));
        }
        let page = state.world.page(id, pivot, limit);
        Ok(Answer::ok(page.into_iter().map(|m| seen(core, state, now, m)).collect()))
    })
}

fn find(state: &State, channel: ChannelId, id: MessageId) -> Result<Message, Refusal> {
    state.world.open_message(channel, id).cloned().ok_or_else(Refusal::unknown_message)
}

/// GET /channels/{id}/messages/{id}
pub fn get(core: &Arc<Core>, channel: ChannelId, id: MessageId) -> Outcome {
    core.with(|state, now| {
        let place = visible(state, channel)?;
        need(state, &place, permission::READ_MESSAGE_HISTORY)?;
        let message = find(state, channel, id)?;
        Ok(Answer::ok(seen(core, state, now, &message)))
    })
}

/// Applies an edit's draft to a message.
pub fn apply(message: &mut Message, draft: &Draft, new: Vec<File>, now: Millis) -> Result<(), Refusal> {
    if let Some(notes) = &draft.attachments {
        let kept: Vec<File> = message
            .files
            .iter()
            .filter_map(|f| notes.iter().find(|n| n.id == f.id.to_string()).map(|n| (f, n)))
            .map(|(f, n)| File { description: n.description.clone().or_else(|| f.description.clone()), ..f.clone() })
            .collect();
        message.files = kept;
    }
    message.files.extend(new);
    if message.files.len() > FILES {
        return Err(Refusal::new(400, 30_015, "Maximum number of attachments in a message reached (10)")
            .violating("Over 10 files."));
    }
    check_referred(draft, &message.files)?;
    if let Some(content) = &draft.content {
        message.content.clone_from(content);
    }
    if let Some(embeds) = &draft.embeds {
        message.embeds.clone_from(embeds);
    }
    if let Some(components) = &draft.components {
        message.components.clone_from(components);
    }
    message.flags |= draft.flags & COMPONENTS_V2;
    message.flags &= !LOADING;
    let v2 = message.flags & COMPONENTS_V2 != 0;
    if v2 && !(message.content.is_empty() && message.embeds.is_empty()) {
        return Err(Refusal::field(
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
        ));
    }
    if message.content.is_empty()
        && message.embeds.is_empty()
        && message.components.is_empty()
        && message.files.is_empty()
    {
        return Err(Refusal::empty_message());
    }
    message.edited_ms = Some(now.0);
    Ok(())
}

/// PATCH /channels/{id}/messages/{id}
pub fn edit(core: &Arc<Core>, channel: ChannelId, id: MessageId, body: &Body) -> Outcome {
    core.with(|state, now| {
        let place = visible(state, channel)?;
        let mut message = find(state, channel, id)?;
        if message.author != state.world.meta.bot {
            return Err(Refusal::new(403, 50_005, "Cannot edit a message authored by another user"));
        }
        if place.archived {
            return Err(Refusal::archived());
        }
        let draft = read(&body.json, Way::Edit, message.flags & COMPONENTS_V2 != 0, body.parts.len())?;
        let new = new_files(&body.parts, draft.attachments.as_deref())?;
        apply(&mut message, &draft, new, now)?;
        state.truth.counters.edits += 1;
        core.change(state, now, message.clone());
        Ok(Answer::ok(core.show(&state.world, now).message(&message)))
    })
}

/// DELETE /channels/{id}/messages/{id}
pub fn delete(core: &Arc<Core>, channel: ChannelId, id: MessageId) -> Outcome {
    core.with(|state, now| {
        let place = visible(state, channel)?;
        let message = find(state, channel, id)?;
        if message.author != state.world.meta.bot {
            if place.kind == Kind::Dm {
                return Err(Refusal::new(403, 50_003, "Cannot execute action on a DM channel"));
            }
            need(state, &place, permission::MANAGE_MESSAGES)?;
        }
        if place.archived && place.locked {
            return Err(Refusal::archived());
        }
        core.remove(state, now, channel, id);
        Ok(Answer::nothing())
    })
}

/// PUT /channels/{id}/messages/{id}/reactions/{emoji}/@me
pub fn react(core: &Arc<Core>, channel: ChannelId, id: MessageId, emoji: &str) -> Outcome {
    core.with(|state, now| {
        let place = visible(state, channel)?;
        need(state, &place, permission::READ_MESSAGE_HISTORY)?;
        let message = find(state, channel, id)?;
        if emoji.is_empty() || emoji.is_ascii() || emoji.chars().count() > 10 {
            return Err(Refusal::new(400, 10_014, "Unknown Emoji").violating("An emoji is unknown."));
        }
        if place.archived {
            return Err(Refusal::archived());
        }
        if !message.reactions.iter().any(|r| r.emoji == emoji) {
            need(state, &place, permission::ADD_REACTIONS)?;
            if message.reactions.len() >= 20 {
                return Err(Refusal::new(400, 30_010, "Maximum number of reactions reached (20)"));
            }
        }
        core.react(state, now, &message, (state.world.meta.bot, emoji));
        Ok(Answer::nothing())
    })
}

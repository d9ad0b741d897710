//! Answers to interactions: the callback, `@original`, follow-ups (discord/facts.md section 3).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::components;
use super::super::core::{Core, State, Told};
use super::super::draft::{Draft, Way, read};
use super::super::rules::{Form, Refusal};
use super::super::thing::{COMPONENTS_V2, EPHEMERAL, LOADING, Message};
use super::body::Body;
use super::messages::{apply, check_referred, compose, new_files};
use super::{Answer, Outcome};
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, InteractionId, MessageId, UserId};

/// POST /interactions/{id}/{token}/callback
pub fn callback(core: &Arc<Core>, id: InteractionId, token: &str, with_response: bool, body: &Body) -> Outcome {
    core.with(|state, now| {
        let kind = check(&body.json)?;
        let call = state.calls.answerable(id, token, now)?.clone();
        if (call.message.is_none() && matches!(kind, 6 | 7)) || (call.kind == 5 && kind == 9) {
            return Err(Refusal::field("type", "BASE_TYPE_CHOICES", "This answer does not fit the interaction."));
        }
        let data = body.json.get("data").cloned().unwrap_or(json!({}));
        let original = answer(core, state, now, (&call.clone(), kind), (&data, body))?;
        let call = state.calls.answerable(id, token, now)?;
        call.answered = Some((kind, now));
        call.original = original.as_ref().map(|m| m.id).or(call.message);
        call.private = original.as_ref().is_some_and(|m| m.only_for.is_some());
        if kind == 9 {
            call.modal = Some(data);
            core.tell(Told::Modal(call.user, id));
        }
        core.tell(Told::Interaction(call.user, id, true));
        if !with_response {
            return Ok(Answer::nothing());
        }
        let message = original.map(|m| core.show(&state.world, now).message(&m));
        let interaction = json!({"id": id, "type": state.calls.get(id).map(|c| c.kind)});
        Ok(Answer::ok(json!({"interaction": interaction, "resource": {"type": kind, "message": message}})))
    })
}

fn check(json: &Value) -> Result<u64, Refusal> {
    let mut form = Form::default();
    let empty = Map::new();
    let object = json.as_object().unwrap_or(&empty);
    form.only("", object, &["type", "data"]);
    let kind = form.number("", object, "type").unwrap_or(0);
    let data = object.get("data").and_then(Value::as_object).unwrap_or(&empty);
    match kind {
        4 | 7 => {}
        5 => {
            form.only("data", data, &["flags"]);
            if form.number("data", data, "flags").unwrap_or(0) & !EPHEMERAL != 0 {
                form.add(
                    "data.flags",
                    "BITFIELD_TYPE_BITS_NOT_ALLOWED",
                    "Only EPHEMERAL can be set on a deferred answer.",
                );
            }
        }
        6 => form.only("data", data, &[]),
        9 => components::modal(&mut form, data),
        _ => form.add("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7, 9}."),
    }
    form.done()?;
    Ok(kind)
}

/// Makes or changes the message that an answer means.
fn answer(
    core: &Core,
    state: &mut State,
    now: Millis,
    (call, kind): (&super::super::calls::Call, u64),
    (data, body): (&Value, &Body),
) -> Result<Option<Message>, Refusal> {
    match kind {
        4 => {
            let draft = read(data, Way::Answer, false, body.parts.len())?;
            let files = new_files(&body.parts, draft.attachments.as_deref())?;
            if draft.empty(files.len()) {
                return Err(Refusal::empty_message());
            }
            check_referred(&draft, &files)?;
            Ok(Some(publish(core, state, now, call, (&draft, files))))
        }
        5 => {
            let flags = data["flags"].as_u64().unwrap_or(0) | LOADING;
            let draft = Draft { flags, ..Draft::default() };
            Ok(Some(publish(core, state, now, call, (&draft, Vec::new()))))
        }
        7 => {
            let id = call.message.ok_or_else(Refusal::unknown_message)?;
            change(core, state, now, (call.channel, id), (data, body)).map(Some)
        }
        _ => Ok(None),
    }
}

/// A message that answers an interaction; private when the flag says so.
fn publish(
    core: &Core,
    state: &mut State,
    now: Millis,
    call: &super::super::calls::Call,
    (draft, files): (&Draft, Vec<super::super::thing::File>),
) -> Message {
    let mut message = compose(state, now, call.channel, draft, files);
    message.kind = if call.message.is_some() { 19 } else { 0 };
    message.reply_to = call.message.filter(|_| draft.flags & EPHEMERAL == 0);
    message.interaction = Some(call.id);
    message.only_for = (draft.flags & EPHEMERAL != 0).then_some(call.user);
    if message.only_for.is_none() {
        state.truth.counters.messages_created += 1;
    }
    core.post(state, now, message.clone());
    message
}

fn change(
    core: &Core,
    state: &mut State,
    now: Millis,
    (channel, id): (ChannelId, MessageId),
    (json, body): (&Value, &Body),
) -> Result<Message, Refusal> {
    let mut message = state.world.message(channel, id).cloned().ok_or_else(Refusal::unknown_message)?;
    if state.world.channels.get(&channel).is_some_and(|c| c.archived) && message.only_for.is_none() {
        return Err(Refusal::archived());
    }
    let mut json = json.clone();
    if let Some(object) = json.as_object_mut() {
        // Whether an answer is private was fixed when it was first sent; a repeated flag changes nothing.
        if let Some(flags) = object.get("flags").and_then(Value::as_u64) {
            object.insert("flags".to_owned(), Value::from(flags & !EPHEMERAL));
        }
    }
    let draft = read(&json, Way::Edit, message.flags & COMPONENTS_V2 != 0, body.parts.len())?;
    let new = new_files(&body.parts, draft.attachments.as_deref())?;
    apply(&mut message, &draft, new, now)?;
    state.truth.counters.edits += 1;
    core.change(state, now, message.clone());
    Ok(message)
}

fn original(state: &mut State, app: UserId, token: &str, now: Millis) -> Result<(ChannelId, MessageId), Refusal> {
    let (channel, id) = {
        let call = by_token(state, app, token, now)?;
        (call.channel, call.original)
    };
    let id = id.ok_or_else(Refusal::unknown_message)?;
    state.world.message(channel, id).ok_or_else(Refusal::unknown_message)?;
    Ok((channel, id))
}

fn by_token<'a>(
    state: &'a mut State,
    app: UserId,
    token: &str,
    now: Millis,
) -> Result<&'a mut super::super::calls::Call, Refusal> {
    if app.0 != state.world.meta.application.0 {
        return Err(Refusal::new(404, 10_015, "Unknown Webhook"));
    }
    state.calls.by_token(token, now)
}

/// GET /webhooks/{application}/{token}/messages/@original
pub fn get_original(core: &Arc<Core>, app: UserId, token: &str) -> Outcome {
    core.with(|state, now| {
        let (channel, id) = original(state, app, token, now)?;
        let message = state.world.message(channel, id).ok_or_else(Refusal::unknown_message)?;
        Ok(Answer::ok(core.show(&state.world, now).message(message)))
    })
}

/// PATCH /webhooks/{application}/{token}/messages/@original
pub fn edit_original(core: &Arc<Core>, app: UserId, token: &str, body: &Body) -> Outcome {
    core.with(|state, now| {
        let at = original(state, app, token, now)?;
        let message = change(core, state, now, at, (&body.json, body))?;
        Ok(Answer::ok(core.show(&state.world, now).message(&message)))
    })
}

/// DELETE /webhooks/{application}/{token}/messages/@original
pub fn delete_original(core: &Arc<Core>, app: UserId, token: &str) -> Outcome {
    core.with(|state, now| {
        let (channel, id) = original(state, app, token, now)?;
        core.remove(state, now, channel, id);
        Ok(Answer::nothing())
    })
}

/// POST /webhooks/{application}/{token}. Right after a deferred answer it fills that one in.
pub fn follow_up(core: &Arc<Core>, app: UserId, token: &str, body: &Body) -> Outcome {
    core.with(|state, now| {
        let call = by_token(state, app, token, now)?.clone();
        let loading =
            call.original.and_then(|id| state.world.message(call.channel, id)).filter(|m| m.flags & LOADING != 0);
        if let Some(id) = loading.map(|m| m.id) {
            let message = change(core, state, now, (call.channel, id), (&body.json, body))?;
            return Ok(Answer::ok(core.show(&state.world, now).message(&message)));
        }
        let draft = read(&body.json, Way::Answer, false, body.parts.len())?;
        let files = new_files(&body.parts, draft.attachments.as_deref())?;
        if draft.empty(files.len()) {
            return Err(Refusal::empty_message());
        }
        check_referred(&draft, &files)?;
        let message = publish(core, state, now, &call, (&draft, files));
        Ok(Answer::ok(core.show(&state.world, now).message(&message)))
    })
}

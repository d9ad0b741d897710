//! Channels: direct messages, threads, changes, typing.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::core::Core;
use super::super::rules::{Form, Refusal};
use super::super::thing::{Channel, Kind, permission};
use super::looks::{permissions, visible};
use super::{Answer, Outcome};
use crate::base::ids::{ChannelId, MessageId, UserId};

/// Minutes after which Discord archives a thread.
const AUTO_ARCHIVE: [u64; 4] = [60, 1440, 4320, 10_080];

fn object(json: &Value) -> Result<&Map<String, Value>, Refusal> {
    json.as_object().ok_or_else(|| {
        Refusal::new(400, 50_109, "The request body contains invalid JSON.").violating("A body is no object.")
    })
}

/// POST /users/@me/channels
pub fn open_dm(core: &Arc<Core>, json: &Value) -> Outcome {
    let object = object(json)?;
    let mut form = Form::default();
    form.only("", object, &["recipient_id"]);
    let id = form.text("", object, "recipient_id").and_then(|t| t.parse::<UserId>().ok());
    if id.is_none() {
        form.add("recipient_id", "BASE_TYPE_REQUIRED", "This field is required");
    }
    form.done()?;
    let id = id.unwrap_or(UserId(0));
    core.with(|state, now| {
        let person = state.world.person(id).ok_or_else(|| Refusal::new(404, 10_013, "Unknown User"))?;
        if person.bot() {
            return Err(Refusal::new(400, 50_007, "Cannot send messages to this user"));
        }
        let channel = dm_with(core, state, now, id);
        Ok(Answer::ok(core.show(&state.world, now).channel(&channel)))
    })
}

/// The direct-message channel between a person and the host's bot.
pub fn dm_with(
    core: &Core,
    state: &mut super::super::core::State,
    now: crate::base::clock::Millis,
    person: UserId,
) -> Channel {
    let there = state.world.channels.values().find(|c| c.kind == Kind::Dm && c.person == Some(person)).cloned();
    there.unwrap_or_else(|| {
        let id = ChannelId(state.world.id(now));
        let channel = Channel { person: Some(person), ..Channel::new(id, Kind::Dm, "") };
        core.new_channel(state, now, channel.clone());
        channel
    })
}

/// PATCH /channels/{id}
pub fn change(core: &Arc<Core>, id: ChannelId, json: &Value) -> Outcome {
    let object = object(json)?;
    core.with(|state, now| {
        let mut channel = visible(state, id)?;
        let thread = channel.kind == Kind::Thread;
        let mut form = Form::default();
        let known: &[&str] = if thread { &["name", "archived", "locked", "auto_archive_duration"] } else { &["name"] };
        form.only("", object, known);
        let name = form.text("", object, "name").map(str::to_owned);
        if let Some(name) = &name {
            form.length("name", name, 1..=100);
        }
        let archived = form.flag("", object, "archived");
        let locked = form.flag("", object, "locked");
        let minutes = form.number("", object, "auto_archive_duration");
        if minutes.is_some_and(|m| !AUTO_ARCHIVE.contains(&m)) {
            form.add("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).");
        }
        form.done()?;
        let bits = permissions(state, &channel);
        let own = channel.person == Some(state.world.meta.bot);
        let needed = if thread { permission::MANAGE_THREADS } else { permission::MANAGE_CHANNELS };
        let unarchives = thread && archived == Some(false) && name.is_none() && locked.is_none() && !channel.locked;
        let may = bits & needed != 0 || (thread && own && locked.is_none()) || unarchives;
        if !may {
            return Err(Refusal::no_permission());
        }
        if channel.archived && archived != Some(false) && (name.is_some() || locked.is_some()) {
            return Err(Refusal::archived());
        }
        channel.name = name.unwrap_or(channel.name);
        channel.locked = locked.unwrap_or(channel.locked);
        channel.auto_archive = minutes.unwrap_or(channel.auto_archive);
        if let Some(archived) = archived {
            channel.archived = archived;
            channel.archive_ms = now.0;
        }
        core.change_channel(state, now, channel.clone());
        Ok(Answer::ok(core.show(&state.world, now).channel(&channel)))
    })
}

/// POST /channels/{id}/typing
pub fn typing(core: &Arc<Core>, id: ChannelId) -> Outcome {
    core.with(|state, now| {
        let channel = visible(state, id)?;
        let send =
            if channel.kind == Kind::Thread { permission::SEND_MESSAGES_IN_THREADS } else { permission::SEND_MESSAGES };
        if permissions(state, &channel) & send == 0 {
            return Err(Refusal::no_permission());
        }
        core.typing(state, now, &channel, state.world.meta.bot);
        Ok(Answer::nothing())
    })
}

/// POST /channels/{id}/messages/{id}/threads
pub fn thread(core: &Arc<Core>, id: ChannelId, starter: MessageId, json: &Value) -> Outcome {
    let object = object(json)?;
    core.with(|state, now| {
        let parent = visible(state, id)?;
        let mut form = Form::default();
        form.only("", object, &["name", "auto_archive_duration", "rate_limit_per_user"]);
        let name = form.text("", object, "name").unwrap_or_default().trim().to_owned();
        form.length("name", &name, 1..=100);
        let minutes = form.number("", object, "auto_archive_duration").unwrap_or(4320);
        if !AUTO_ARCHIVE.contains(&minutes) {
            form.add("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).");
        }
        form.done()?;
        if parent.kind != Kind::Text {
            return Err(Refusal::new(400, 50_024, "Cannot execute action on this channel type"));
        }
        if permissions(state, &parent) & permission::CREATE_PUBLIC_THREADS == 0 {
            return Err(Refusal::no_permission());
        }
        state.world.open_message(id, starter).ok_or_else(Refusal::unknown_message)?;
        if state.world.thread_of(starter).is_some() {
            return Err(Refusal::new(400, 160_004, "A thread has already been created for this message"));
        }
        let thread = Channel {
            parent: Some(id),
            person: Some(state.world.meta.bot),
            auto_archive: minutes,
            archive_ms: now.0,
            ..Channel::new(ChannelId(starter.0), Kind::Thread, &name)
        };
        core.thread(state, now, thread.clone(), starter);
        Ok(Answer { status: 201, body: Some(core.show(&state.world, now).channel(&thread)) })
    })
}

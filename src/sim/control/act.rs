//! What people do: write, edit, delete, react, open channels. Refused where Discord would refuse the person.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::core::{Core, State};
use super::super::deeds::mentioned;
use super::super::draft::CONTENT;
use super::super::rest::dm_with;
use super::super::rules::stored_text;
use super::super::thing::{Channel, File, Kind, Message};
use super::{Refused, player};
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, MessageId, UserId};

/// `POST /control/say`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    r#as: UserId,
    channel: ChannelId,
    content: String,
    reply_to: Option<MessageId>,
}

/// `POST /control/edit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    r#as: UserId,
    channel: ChannelId,
    message: MessageId,
    content: String,
}

/// `POST /control/delete`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    r#as: UserId,
    channel: ChannelId,
    message: MessageId,
}

/// `POST /control/react`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct React {
    r#as: UserId,
    channel: ChannelId,
    message: MessageId,
    emoji: String,
}

/// `POST /control/channel`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewChannel {
    #[serde(default)]
    name: String,
    id: Option<ChannelId>,
    kind: Option<String>,
    r#as: Option<UserId>,
}

/// `POST /control/archive`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    channel: ChannelId,
    archived: bool,
}

/// `POST /control/permissions`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    channel: ChannelId,
    deny: String,
}

/// A channel that a player sees.
pub fn place(state: &State, who: UserId, id: ChannelId) -> Result<Channel, Refused> {
    let channel = state.world.channels.get(&id).filter(|c| state.world.sees(who, c));
    channel.cloned().ok_or_else(|| Refused::gone("There is no such channel for this person."))
}

/// A message that a player sees.
pub fn find(state: &State, who: UserId, channel: ChannelId, id: MessageId) -> Result<Message, Refused> {
    place(state, who, channel)?;
    let message = state.world.message(channel, id).filter(|m| m.only_for.is_none_or(|u| u == who));
    message.cloned().ok_or_else(|| Refused::gone("There is no such message for this person."))
}

/// A person's new message.
pub fn write(
    core: &Core,
    state: &mut State,
    now: Millis,
    (who, channel, reply_to): (UserId, ChannelId, Option<MessageId>),
    (content, files): (&str, Vec<File>),
) -> Result<MessageId, Refused> {
    player(state, who)?;
    let there = place(state, who, channel)?;
    if there.locked {
        return Err(Refused::new(403, "This thread is locked."));
    }
    let content = stored_text(content);
    if content.chars().count() > CONTENT {
        return Err(Refused::new(400, "A message has at most 2000 characters."));
    }
    if content.is_empty() && files.is_empty() {
        return Err(Refused::new(400, "A message needs text or a file."));
    }
    let replied = match reply_to {
        Some(id) => Some(find(state, who, channel, id)?),
        None => None,
    };
    let mut mentions: Vec<UserId> =
        mentioned(&content).into_iter().filter(|u| state.world.person(*u).is_some()).collect();
    mentions.extend(replied.as_ref().map(|m| m.author));
    mentions.sort_unstable();
    mentions.dedup();
    let message = Message {
        id: MessageId(state.world.id(now)),
        channel,
        author: who,
        kind: if replied.is_some() { 19 } else { 0 },
        flags: 0,
        content,
        at_ms: now.0,
        edited_ms: None,
        reply_to,
        mentions,
        files,
        embeds: Vec::new(),
        components: Vec::new(),
        reactions: Vec::new(),
        nonce: None,
        interaction: None,
        only_for: None,
    };
    let id = message.id;
    core.post(state, now, message);
    Ok(id)
}

/// Writes.
pub fn say(core: &Core, say: Say) -> Result<Value, Refused> {
    core.with(|state, now| {
        let to = (say.r#as, say.channel, say.reply_to);
        let id = write(core, state, now, to, (&say.content, Vec::new()))?;
        Ok(json!({"message_id": id}))
    })
}

/// Edits an own message.
pub fn edit(core: &Core, edit: Edit) -> Result<Value, Refused> {
    core.with(|state, now| {
        player(state, edit.r#as)?;
        let mut message = find(state, edit.r#as, edit.channel, edit.message)?;
        if message.author != edit.r#as {
            return Err(Refused::new(403, "Only the author edits a message."));
        }
        message.content = stored_text(&edit.content);
        if message.content.chars().count() > CONTENT {
            return Err(Refused::new(400, "A message has at most 2000 characters."));
        }
        message.edited_ms = Some(now.0);
        core.change(state, now, message);
        Ok(json!({}))
    })
}

/// Deletes an own message; the guild's owner deletes any; everybody dismisses what only they see.
pub fn delete(core: &Core, delete: Delete) -> Result<Value, Refused> {
    core.with(|state, now| {
        player(state, delete.r#as)?;
        let message = find(state, delete.r#as, delete.channel, delete.message)?;
        let owner = state.world.person(delete.r#as).is_some_and(|p| p.role == super::super::thing::Role::Owner);
        let dm = state.world.channels.get(&delete.channel).is_some_and(|c| c.kind == Kind::Dm);
        let own = message.author == delete.r#as || message.only_for == Some(delete.r#as);
        if !own && (!owner || dm) {
            return Err(Refused::new(403, "This person may not delete that message."));
        }
        core.remove(state, now, delete.channel, delete.message);
        Ok(json!({}))
    })
}

/// Reacts.
pub fn react(core: &Core, react: React) -> Result<Value, Refused> {
    core.with(|state, now| {
        player(state, react.r#as)?;
        let message = find(state, react.r#as, react.channel, react.message)?;
        if react.emoji.is_empty() || react.emoji.is_ascii() || message.only_for.is_some() {
            return Err(Refused::new(400, "That is no emoji, or no message to react to."));
        }
        core.react(state, now, &message, (react.r#as, &react.emoji));
        Ok(json!({}))
    })
}

/// Makes a channel. One that exists already is a success.
pub fn channel(core: &Core, new: NewChannel) -> Result<Value, Refused> {
    core.with(|state, now| {
        if let Some(id) = new.id.filter(|id| state.world.channels.contains_key(id)) {
            return Ok(json!({"channel_id": id}));
        }
        match new.kind.as_deref().unwrap_or("text") {
            "text" if !new.name.is_empty() && new.name.chars().count() <= 100 => {
                let id = new.id.unwrap_or_else(|| ChannelId(state.world.id(now)));
                core.new_channel(state, now, Channel::new(id, Kind::Text, &new.name));
                Ok(json!({"channel_id": id}))
            }
            "text" => Err(Refused::new(400, "A channel's name has 1 to 100 characters.")),
            "dm" => {
                let who = new.r#as.ok_or_else(|| Refused::new(400, "A dm needs \"as\": whose it is."))?;
                player(state, who)?;
                Ok(json!({"channel_id": dm_with(core, state, now, who).id}))
            }
            _ => Err(Refused::new(400, "A channel is a text or a dm.")),
        }
    })
}

/// Archives a thread or takes it out of the archive.
pub fn archive(core: &Core, archive: Archive) -> Result<Value, Refused> {
    core.with(|state, now| {
        let channel = state.world.channels.get(&archive.channel).filter(|c| c.kind == Kind::Thread);
        let channel = channel.cloned().ok_or_else(|| Refused::gone("There is no such thread."))?;
        core.change_channel(state, now, Channel { archived: archive.archived, archive_ms: now.0, ..channel });
        Ok(json!({}))
    })
}

/// Denies the host's bot permissions in a channel.
pub fn permissions(core: &Core, change: Permissions) -> Result<Value, Refused> {
    let denied = change.deny.parse().map_err(|_| Refused::new(400, "\"deny\" is a number of bits, as a string."))?;
    core.with(|state, now| {
        let channel = state.world.channels.get(&change.channel).cloned();
        let channel = channel.ok_or_else(|| Refused::gone("There is no such channel."))?;
        core.change_channel(state, now, Channel { denied, ..channel });
        Ok(json!({}))
    })
}

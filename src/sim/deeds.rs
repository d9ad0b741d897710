//! What people and the bot do to the world, with all that follows: gateway events, and what the pages are told.

use serde_json::{Value, json};

use super::core::{Core, State, Told, extend};
use super::hub::{
    DIRECT_MESSAGES, DIRECT_REACTIONS, DIRECT_TYPING, Dispatch, GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING, GUILDS,
};
use super::show;
use super::thing::{Channel, Kind, Message, Reaction};
use crate::base::clock::Millis;
use crate::base::failure::LogAndGoOn;
use crate::base::ids::{ChannelId, MessageId, UserId};

/// People whose `<@id>` stands in a text.
pub fn mentioned(text: &str) -> Vec<UserId> {
    let mut out: Vec<UserId> = text
        .split("<@")
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .filter_map(|(id, _)| id.trim_start_matches('!').parse().ok())
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

impl Core {
    fn heard(&self, state: &State, now: Millis, message: &Message, name: &'static str) -> Option<Dispatch> {
        let channel = state.world.channels.get(&message.channel)?;
        if !state.world.sees(state.world.meta.bot, channel) {
            return None;
        }
        let show = self.show(&state.world, now);
        let mut data = show.message(message);
        let direct = channel.kind == Kind::Dm || message.only_for.is_some();
        if !direct {
            extend(&mut data, "guild_id", state.world.meta.guild.to_string().into());
            extend(&mut data, "member", show.member(message.author, false));
            if let Some(mentions) = data["mentions"].as_array_mut() {
                for (mention, id) in mentions.iter_mut().zip(&message.mentions) {
                    extend(mention, "member", show.member(*id, false));
                }
            }
        }
        extend(&mut data, "channel_type", channel.kind.number().into());
        if let Some(nonce) = message.nonce.as_ref().filter(|_| name == "MESSAGE_CREATE") {
            extend(&mut data, "nonce", nonce.clone());
        }
        let blank = (!show.exempt(message)).then(|| show::blank(data.clone()));
        Some(Dispatch { name, intent: if direct { DIRECT_MESSAGES } else { GUILD_MESSAGES }, data, blank })
    }

    /// A new message: kept, told, and the thread it stands in comes out of the archive.
    pub fn post(&self, state: &mut State, now: Millis, message: Message) {
        if message.only_for.is_none() {
            self.unarchive(state, now, message.channel);
        }
        state.world.post(message.clone());
        if let Some(event) = self.heard(state, now, &message, "MESSAGE_CREATE") {
            state.hub.dispatch(event, now);
        }
        self.tell(Told::Message(message.channel, message.id));
    }

    fn unarchive(&self, state: &mut State, now: Millis, id: ChannelId) {
        if let Some(channel) = state.world.channels.get(&id).filter(|c| c.archived) {
            let open = Channel { archived: false, archive_ms: now.0, ..channel.clone() };
            self.change_channel(state, now, open);
        }
    }

    /// A message that changed.
    pub fn change(&self, state: &mut State, now: Millis, message: Message) {
        state.world.put(message.clone());
        if let Some(event) = self.heard(state, now, &message, "MESSAGE_UPDATE") {
            state.hub.dispatch(event, now);
        }
        self.tell(Told::Changed(message.channel, message.id));
    }

    /// A message that is deleted, with its files.
    pub fn remove(&self, state: &mut State, now: Millis, channel: ChannelId, id: MessageId) -> bool {
        let Some(gone) = state.world.delete(channel, id) else { return false };
        for file in &gone.files {
            std::fs::remove_file(self.store.file(file.id)).log_and_go_on("remove a deleted file");
        }
        let direct = state.world.channels.get(&channel).is_some_and(|c| c.kind == Kind::Dm) || gone.only_for.is_some();
        let mut data = json!({"id": id, "channel_id": channel});
        if !direct {
            extend(&mut data, "guild_id", state.world.meta.guild.to_string().into());
        }
        let intent = if direct { DIRECT_MESSAGES } else { GUILD_MESSAGES };
        state.hub.dispatch(Dispatch { name: "MESSAGE_DELETE", intent, data, blank: None }, now);
        self.tell(Told::Deleted(channel, vec![id], gone.only_for));
        true
    }

    /// A reaction. Giving it twice is the same as once.
    pub fn react(&self, state: &mut State, now: Millis, message: &Message, (by, emoji): (UserId, &str)) {
        let mut message = message.clone();
        match message.reactions.iter_mut().find(|r| r.emoji == emoji) {
            Some(reaction) if reaction.by.contains(&by) => return,
            Some(reaction) => reaction.by.push(by),
            None => message.reactions.push(Reaction { emoji: emoji.to_owned(), by: vec![by] }),
        }
        let dm = state.world.channels.get(&message.channel).is_some_and(|c| c.kind == Kind::Dm);
        let mut data = json!({
            "user_id": by, "channel_id": message.channel, "message_id": message.id, "message_author_id": message.author,
            "emoji": {"id": null, "name": emoji}, "burst": false, "type": 0,
        });
        if !dm {
            extend(&mut data, "guild_id", state.world.meta.guild.to_string().into());
            let member = self.show(&state.world, now).member(by, true);
            extend(&mut data, "member", member);
        }
        let intent = if dm { DIRECT_REACTIONS } else { GUILD_REACTIONS };
        state.world.put(message.clone());
        state.hub.dispatch(Dispatch { name: "MESSAGE_REACTION_ADD", intent, data, blank: None }, now);
        self.tell(Told::Changed(message.channel, message.id));
    }

    /// A new thread on a message.
    pub fn thread(&self, state: &mut State, now: Millis, thread: Channel, starter: MessageId) {
        let id = thread.id;
        if let Some(message) = state.world.open_thread(thread, starter) {
            self.announce_channel(state, now, id, "THREAD_CREATE");
            if let Some(event) = self.heard(state, now, &message, "MESSAGE_UPDATE") {
                state.hub.dispatch(event, now);
            }
            self.tell(Told::Channel(id));
            self.tell(Told::Changed(message.channel, message.id));
        }
    }

    /// A new text or direct-message channel. Bots hear nothing of new direct-message channels.
    pub fn new_channel(&self, state: &mut State, now: Millis, channel: Channel) {
        let (id, kind) = (channel.id, channel.kind);
        state.world.put_channel(channel);
        if kind == Kind::Text {
            self.announce_channel(state, now, id, "CHANNEL_CREATE");
        }
        self.tell(Told::Channel(id));
    }

    /// A channel or thread that changed.
    pub fn change_channel(&self, state: &mut State, now: Millis, channel: Channel) {
        let (id, kind) = (channel.id, channel.kind);
        state.world.put_channel(channel);
        match kind {
            Kind::Thread => self.announce_channel(state, now, id, "THREAD_UPDATE"),
            Kind::Text => self.announce_channel(state, now, id, "CHANNEL_UPDATE"),
            Kind::Dm => {}
        }
        self.tell(Told::Channel(id));
    }

    fn announce_channel(&self, state: &mut State, now: Millis, id: ChannelId, name: &'static str) {
        let Some(channel) = state.world.channels.get(&id) else { return };
        if !state.world.sees(state.world.meta.bot, channel) {
            return;
        }
        let mut data = self.show(&state.world, now).channel(channel);
        if name == "THREAD_CREATE" {
            extend(&mut data, "newly_created", Value::Bool(true));
        }
        state.hub.dispatch(Dispatch { name, intent: GUILDS, data, blank: None }, now);
    }

    /// Somebody types.
    pub fn typing(&self, state: &mut State, now: Millis, channel: &Channel, by: UserId) {
        let mut data = json!({"channel_id": channel.id, "user_id": by, "timestamp": now.seconds()});
        let dm = channel.kind == Kind::Dm;
        if !dm {
            extend(&mut data, "guild_id", state.world.meta.guild.to_string().into());
            let member = self.show(&state.world, now).member(by, true);
            extend(&mut data, "member", member);
        }
        let intent = if dm { DIRECT_TYPING } else { GUILD_TYPING };
        state.hub.dispatch(Dispatch { name: "TYPING_START", intent, data, blank: None }, now);
        self.tell(Told::Typing(channel.id, by));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_found_once() {
        assert_eq!(mentioned("hi <@12> and <@!7>, <@12> <@x> <@&5>"), vec![UserId(7), UserId(12)]);
    }
}

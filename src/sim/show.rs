//! Discord's JSON of people, channels and messages: every field that strict clients ask for.

use chrono::DateTime;
use serde_json::{Value, json};

use super::sign::Signer;
use super::thing::{Channel, File, Kind, Message, Person, permission};
use super::world::World;
use crate::base::clock::Millis;
use crate::base::ids::UserId;

/// Shows the world at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Show<'a> {
    /// The world.
    pub world: &'a World,
    /// Signs links.
    pub signer: &'a Signer,
    /// Now.
    pub now: Millis,
}

/// Discord's form of a time: microseconds and `+00:00`.
pub fn time(ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// A user.
pub fn user(person: &Person) -> Value {
    let mut user = json!({
        "id": person.id, "username": person.name.to_lowercase(), "discriminator": if person.bot() { "0001" } else { "0" },
        "global_name": if person.bot() { Value::Null } else { person.name.clone().into() },
        "avatar": null, "banner": null, "accent_color": null, "public_flags": 0, "flags": 0, "avatar_decoration_data": null,
        "primary_guild": null,
    });
    if person.bot() {
        user["bot"] = true.into();
    }
    user
}

impl Show<'_> {
    /// A user by id; one that is unknown looks like a deleted account.
    pub fn user(&self, id: UserId) -> Value {
        match self.world.person(id) {
            Some(person) => user(person),
            None => {
                json!({"id": id, "username": "deleted_user", "discriminator": "0", "global_name": null, "avatar": null})
            }
        }
    }

    /// A guild member, with or without its user.
    pub fn member(&self, id: UserId, with_user: bool) -> Value {
        let roles = if id == self.world.meta.bot { vec![self.bot_role_id()] } else { Vec::new() };
        let mut member = json!({
            "nick": null, "avatar": null, "banner": null, "roles": roles, "joined_at": time(id.created().0),
            "premium_since": null, "deaf": false, "mute": false, "flags": 0, "pending": false,
            "communication_disabled_until": null,
        });
        if with_user {
            member["user"] = self.user(id);
        }
        member
    }

    /// The managed role that a bot's invite makes: one above the application's id.
    fn bot_role_id(&self) -> String {
        (self.world.meta.application.0 + 1).to_string()
    }

    /// The guild's roles.
    pub fn roles(&self) -> Value {
        let role = |id: String, name: &str, permissions: u64, position: u64, managed: bool| {
            json!({
                "id": id, "name": name, "description": null, "permissions": permissions.to_string(), "position": position,
                "color": 0, "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
                "hoist": false, "managed": managed, "mentionable": false, "icon": null, "unicode_emoji": null, "flags": 0,
            })
        };
        let mut bot = role(self.bot_role_id(), "discord-os", permission::BOT, 1, true);
        bot["tags"] = json!({"bot_id": self.world.meta.bot});
        json!([role(self.world.meta.guild.to_string(), "@everyone", permission::EVERYONE, 0, false), bot])
    }

    /// The guild as REST gives it.
    pub fn guild(&self) -> Value {
        let meta = &self.world.meta;
        let owner = meta.people.iter().find(|p| p.role == super::thing::Role::Owner).map(|p| p.id);
        json!({
            "id": meta.guild, "name": meta.guild_name, "owner_id": owner, "icon": null, "splash": null,
            "discovery_splash": null, "afk_channel_id": null, "afk_timeout": 300, "verification_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0, "roles": self.roles(), "emojis": [],
            "features": [], "mfa_level": 0, "application_id": null, "system_channel_id": null, "system_channel_flags": 0,
            "rules_channel_id": null, "vanity_url_code": null, "description": null, "banner": null, "premium_tier": 0,
            "premium_subscription_count": 0, "preferred_locale": "en-US", "public_updates_channel_id": null,
            "nsfw_level": 0, "nsfw": false, "stickers": [], "premium_progress_bar_enabled": false,
            "safety_alerts_channel_id": null, "incidents_data": null, "region": "deprecated", "home_header": null,
            "max_members": 500_000, "max_presences": null, "max_video_channel_users": 25, "max_stage_video_channel_users": 50,
        })
    }

    /// The guild as GUILD_CREATE gives it.
    pub fn guild_create(&self) -> Value {
        let mut guild = self.guild();
        let bot = self.world.meta.bot;
        let mut channels = Vec::new();
        let mut threads = Vec::new();
        for channel in self.world.channels.values().filter(|c| self.world.sees(bot, c)) {
            match channel.kind {
                Kind::Text => channels.push(self.channel(channel)),
                Kind::Thread if !channel.archived => threads.push(self.channel(channel)),
                _ => {}
            }
        }
        let more = json!({
            "joined_at": time(bot.created().0), "large": false, "unavailable": false, "member_count": self.world.meta.people.len(),
            "voice_states": [], "members": [self.member(bot, true)], "channels": channels, "threads": threads,
            "presences": [], "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
            "a_field_that_no_client_knows": {"nested": [1]},
        });
        if let (Some(guild), Value::Object(more)) = (guild.as_object_mut(), more) {
            guild.extend(more);
        }
        guild
    }

    /// A channel or thread.
    pub fn channel(&self, channel: &Channel) -> Value {
        let mut out = json!({"id": channel.id, "type": channel.kind.number(), "last_message_id": channel.last_message, "flags": 0});
        let more = match channel.kind {
            Kind::Dm => json!({"recipients": channel.person.map(|p| self.user(p)).into_iter().collect::<Vec<_>>()}),
            Kind::Text => {
                let bot = self.world.meta.bot;
                let denied = json!({"id": bot, "type": 1, "allow": "0", "deny": channel.denied.to_string()});
                let overwrites = if channel.denied == 0 { json!([]) } else { json!([denied]) };
                json!({
                    "guild_id": self.world.meta.guild, "name": channel.name, "position": 0, "topic": null, "nsfw": false,
                    "permission_overwrites": overwrites, "rate_limit_per_user": 0, "parent_id": null,
                    "last_pin_timestamp": null, "application_id": null,
                })
            }
            Kind::Thread => json!({
                "guild_id": self.world.meta.guild, "name": channel.name, "parent_id": channel.parent,
                "owner_id": channel.person, "rate_limit_per_user": 0, "message_count": self.message_count(channel),
                "total_message_sent": channel.sent, "member_count": 2,
                "thread_metadata": {
                    "archived": channel.archived, "auto_archive_duration": channel.auto_archive,
                    "archive_timestamp": time(channel.archive_ms), "locked": channel.locked,
                    "create_timestamp": time(channel.id.created().0),
                },
            }),
        };
        if let (Some(out), Value::Object(more)) = (out.as_object_mut(), more) {
            out.extend(more);
        }
        out
    }

    /// Messages of a channel that are there now.
    pub fn message_count(&self, channel: &Channel) -> usize {
        self.world.all(channel.id).filter(|m| m.only_for.is_none()).count()
    }

    /// A file, with a fresh link.
    pub fn file(&self, message: &Message, file: &File) -> Value {
        let url = self.signer.link(message.channel, file.id, &file.filename, self.now);
        // Discord's proxy is another host than its CDN; here it is another name of the same port.
        let proxy = url.replacen("127.0.0.1", "localhost", 1);
        let mut out = json!({
            "id": file.id, "filename": file.filename, "size": file.size, "url": url, "proxy_url": proxy,
            "content_type": file.content_type, "content_scan_version": 0,
        });
        if let Some(title) = &file.title {
            out["title"] = title.clone().into();
        }
        if let Some(description) = &file.description {
            out["description"] = description.clone().into();
        }
        if message.only_for.is_some() {
            out["ephemeral"] = true.into();
        }
        out
    }

    /// A message as the bot sees it with the Message Content Intent.
    pub fn message(&self, message: &Message) -> Value {
        let mut out = self.bare(message);
        if let Some(replied) = message.reply_to {
            let mut reference = json!({"type": 0, "message_id": replied, "channel_id": message.channel});
            if self.world.channels.get(&message.channel).is_some_and(|c| c.kind != Kind::Dm) {
                reference["guild_id"] = self.world.meta.guild.to_string().into();
            }
            out["message_reference"] = reference;
            let target = self.world.open_message(message.channel, replied);
            out["referenced_message"] = target.map_or(Value::Null, |m| self.bare(m));
        }
        out
    }

    fn bare(&self, message: &Message) -> Value {
        let files: Vec<Value> = message.files.iter().map(|f| self.file(message, f)).collect();
        let mentions: Vec<Value> = message.mentions.iter().map(|u| self.user(*u)).collect();
        let mut out = json!({
            "id": message.id, "channel_id": message.channel, "author": self.user(message.author),
            "content": message.content, "timestamp": time(message.at_ms),
            "edited_timestamp": message.edited_ms.map(time), "tts": false, "mention_everyone": false,
            "mentions": mentions, "mention_roles": [], "attachments": files, "embeds": message.embeds,
            "components": message.components, "pinned": false, "type": message.kind, "flags": message.flags,
        });
        if !message.reactions.is_empty() {
            out["reactions"] = self.reactions(message);
        }
        if let Some(thread) = self.world.thread_of(message.id) {
            out["thread"] = self.channel(thread);
        }
        if message.author == self.world.meta.bot {
            out["application_id"] = self.world.meta.application.to_string().into();
        }
        if let Some(interaction) = message.interaction {
            out["interaction_metadata"] = json!({
                "id": interaction, "type": 3, "user": message.only_for.map_or(Value::Null, |u| self.user(u)),
                "authorizing_integration_owners": {"0": self.world.meta.guild},
            });
            out["webhook_id"] = self.world.meta.application.to_string().into();
        }
        out
    }

    fn reactions(&self, message: &Message) -> Value {
        let bot = self.world.meta.bot;
        let one = |r: &super::thing::Reaction| {
            json!({
                "emoji": {"id": null, "name": r.emoji}, "count": r.by.len(), "me": r.by.contains(&bot), "me_burst": false,
                "count_details": {"burst": 0, "normal": r.by.len()}, "burst_colors": [],
            })
        };
        message.reactions.iter().map(one).collect()
    }

    /// Whether the bot sees it all without the intent: its own, direct messages, and those that mention it.
    pub fn exempt(&self, message: &Message) -> bool {
        let dm = self.world.channels.get(&message.channel).is_some_and(|c| c.kind == Kind::Dm);
        dm || message.mentions_or_is_by(self.world.meta.bot)
    }
}

/// Empties what is hidden without the Message Content Intent (facts.md 2.1).
pub fn blank(mut message: Value) -> Value {
    message["content"] = "".into();
    for key in ["embeds", "attachments", "components"] {
        message[key] = json!([]);
    }
    if let Some(replied) = message.get_mut("referenced_message").filter(|m| m.is_object()) {
        *replied = blank(replied.take());
    }
    message
}

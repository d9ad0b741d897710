//! What the page sees, in the shapes of docs/simulator.md. Client and server share them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::core::State;
use super::super::show::Show;
use super::super::thing::{Channel, File, Kind, Message, Person, Role};
use crate::base::ids::{AttachmentId, ChannelId, GuildId, InteractionId, MessageId, UserId};

/// Characters of a replied-to message that are shown.
const QUOTE: usize = 100;

/// The guild.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuildView {
    /// Id.
    pub id: GuildId,
    /// Name.
    pub name: String,
}

/// The host's bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotView {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
}

/// Somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonView {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// Part.
    pub role: Role,
    /// Whether it is a bot.
    pub bot: bool,
    /// Colour, `#rrggbb`.
    pub color: String,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    /// Id.
    pub id: ChannelId,
    /// Name; for direct messages the bot's.
    pub name: String,
    /// `text`, `thread` or `dm`.
    pub kind: Kind,
    /// Parent of a thread.
    pub parent_id: Option<ChannelId>,
    /// Whether a thread is archived.
    pub archived: bool,
    /// Newest message.
    pub last_message_id: Option<MessageId>,
    /// Messages that are there.
    pub message_count: usize,
    /// Message that a thread hangs on.
    pub starter_message_id: Option<MessageId>,
}

/// `GET /control/state`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateView {
    /// Guild.
    pub guild: GuildView,
    /// The host's bot.
    pub bot: BotView,
    /// Everybody.
    pub people: Vec<PersonView>,
    /// Channels that the viewer sees.
    pub channels: Vec<ChannelView>,
    /// Whether the bot is connected.
    pub bot_online: bool,
    /// Now, in ms.
    pub now_ms: i64,
}

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorView {
    /// Id.
    pub id: UserId,
    /// Name.
    pub name: String,
    /// Whether it is a bot.
    pub bot: bool,
    /// Colour.
    pub color: String,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteView {
    /// Id.
    pub id: MessageId,
    /// Who wrote it.
    pub author_name: String,
    /// Its start.
    pub content: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileView {
    /// Id.
    pub id: AttachmentId,
    /// Name.
    pub filename: String,
    /// Stem of the true name.
    pub title: Option<String>,
    /// Alternative text.
    pub description: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: String,
    /// Fresh link.
    pub url: String,
}

/// A reaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionView {
    /// The characters.
    pub emoji: String,
    /// How many gave it.
    pub count: usize,
    /// Whether the viewer did.
    pub me: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    /// Id.
    pub id: MessageId,
    /// Where.
    pub channel_id: ChannelId,
    /// Who.
    pub author: AuthorView,
    /// When, in ms.
    pub timestamp_ms: i64,
    /// When it was edited, in ms.
    pub edited_ms: Option<i64>,
    /// Markdown.
    pub content: String,
    /// Discord's message type.
    #[serde(rename = "type")]
    pub kind: u64,
    /// Flags.
    pub flags: u64,
    /// Whether only one person sees it.
    pub ephemeral: bool,
    /// That person.
    pub for_user: Option<UserId>,
    /// What it answers.
    pub reply_to: Option<QuoteView>,
    /// Files.
    pub attachments: Vec<FileView>,
    /// Discord's component objects.
    pub components: Vec<Value>,
    /// Reactions.
    pub reactions: Vec<ReactionView>,
    /// Thread that hangs on it.
    pub thread_id: Option<ChannelId>,
    /// People it mentions.
    pub mentions: Vec<UserId>,
}

/// `GET /control/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageView {
    /// Newest last.
    pub messages: Vec<MessageView>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModalView {
    /// Custom id.
    pub custom_id: String,
    /// Title.
    pub title: String,
    /// Discord's component objects.
    pub components: Vec<Value>,
}

/// `GET /control/interaction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InteractionView {
    /// `waiting`, `answered` or `failed`.
    pub state: String,
    /// Kind of the answer.
    pub kind: Option<u64>,
    /// Time it took, in ms.
    pub answered_after_ms: Option<i64>,
    /// The form that was the answer.
    pub modal: Option<ModalView>,
    /// The message that was the answer.
    pub reply: Option<MessageView>,
}

/// Shows the world to somebody.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// Signs links and knows the time.
    pub show: Show<'a>,
    /// Who looks.
    pub who: UserId,
}

fn person(person: &Person) -> PersonView {
    PersonView {
        id: person.id,
        name: person.name.clone(),
        role: person.role,
        bot: person.bot(),
        color: person.color.clone(),
    }
}

impl Viewer<'_> {
    /// Everything but messages.
    pub fn state(&self, state: &State) -> StateView {
        let meta = &state.world.meta;
        let seen = state.world.channels.values().filter(|c| state.world.sees(self.who, c));
        StateView {
            guild: GuildView { id: meta.guild, name: meta.guild_name.clone() },
            bot: BotView { id: meta.bot, name: self.author(meta.bot).name },
            people: meta.people.iter().map(person).collect(),
            channels: seen.map(|c| self.channel(c)).collect(),
            bot_online: state.hub.online(),
            now_ms: self.show.now.0,
        }
    }

    /// A channel.
    pub fn channel(&self, channel: &Channel) -> ChannelView {
        let other = || self.author(self.show.world.meta.bot).name;
        ChannelView {
            id: channel.id,
            name: if channel.kind == Kind::Dm { other() } else { channel.name.clone() },
            kind: channel.kind,
            parent_id: channel.parent,
            archived: channel.archived,
            last_message_id: channel.last_message,
            message_count: self.show.message_count(channel),
            starter_message_id: (channel.kind == Kind::Thread).then_some(MessageId(channel.id.0)),
        }
    }

    fn author(&self, id: UserId) -> AuthorView {
        match self.show.world.person(id) {
            Some(p) => AuthorView { id, name: p.name.clone(), bot: p.bot(), color: p.color.clone() },
            None => AuthorView { id, name: "somebody".to_owned(), bot: false, color: "#808080".to_owned() },
        }
    }

    /// Whether the viewer may see a message.
    pub fn sees(&self, message: &Message) -> bool {
        let channel = self.show.world.channels.get(&message.channel);
        channel.is_some_and(|c| self.show.world.sees(self.who, c)) && message.only_for.is_none_or(|u| u == self.who)
    }

    /// A message.
    pub fn message(&self, message: &Message) -> MessageView {
        let world = self.show.world;
        let quoted = message.reply_to.and_then(|id| world.message(message.channel, id)).filter(|m| self.sees(m));
        let reply_to = quoted.map(|m| QuoteView {
            id: m.id,
            author_name: self.author(m.author).name,
            content: m.content.chars().take(QUOTE).collect(),
        });
        let reaction = |r: &super::super::thing::Reaction| ReactionView {
            emoji: r.emoji.clone(),
            count: r.by.len(),
            me: r.by.contains(&self.who),
        };
        MessageView {
            id: message.id,
            channel_id: message.channel,
            author: self.author(message.author),
            timestamp_ms: message.at_ms,
            edited_ms: message.edited_ms,
            content: message.content.clone(),
            kind: message.kind,
            flags: message.flags,
            ephemeral: message.only_for.is_some(),
            for_user: message.only_for,
            reply_to,
            attachments: message.files.iter().map(|f| self.file(message, f)).collect(),
            components: message.components.clone(),
            reactions: message.reactions.iter().map(reaction).collect(),
            thread_id: world.thread_of(message.id).map(|t| t.id),
            mentions: message.mentions.clone(),
        }
    }

    fn file(&self, message: &Message, file: &File) -> FileView {
        FileView {
            id: file.id,
            filename: file.filename.clone(),
            title: file.title.clone(),
            description: file.description.clone(),
            size: file.size,
            content_type: file.content_type.clone(),
            url: self.show.signer.link(message.channel, file.id, &file.filename, self.show.now),
        }
    }

    /// A page of messages, newest last.
    pub fn page(&self, channel: ChannelId, before: Option<MessageId>, limit: usize) -> PageView {
        let world = self.show.world;
        let mut older = world.all(channel).rev().filter(|m| before.is_none_or(|b| m.id < b) && self.sees(m));
        let mut messages: Vec<MessageView> = older.by_ref().take(limit).map(|m| self.message(m)).collect();
        messages.reverse();
        PageView { messages, has_more: older.next().is_some() }
    }

    /// What became of a press.
    pub fn interaction(&self, state: &State, id: InteractionId) -> Option<InteractionView> {
        let call = state.calls.get(id)?;
        let answered = call.answered;
        // `@original` of a deferred update is the pressed message itself, which is no reply.
        let reply = call.original.filter(|_| matches!(answered, Some((4 | 5 | 7, _))));
        let reply = reply.and_then(|m| state.world.message(call.channel, m)).filter(|m| self.sees(m));
        Some(InteractionView {
            state: call.state().to_owned(),
            kind: answered.map(|(kind, _)| kind),
            answered_after_ms: answered.map(|(_, at)| at.0 - call.at.0),
            modal: call.modal.as_ref().map(modal),
            reply: reply.map(|m| self.message(m)),
        })
    }
}

/// A form.
pub fn modal(data: &Value) -> ModalView {
    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    let components = data["components"].as_array().cloned().unwrap_or_default();
    ModalView { custom_id: text("custom_id"), title: text("title"), components }
}

//! The world: people, channels and messages, and what changes them. No socket and no clock: the time comes in.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::thing::{Channel, HAS_THREAD, Kind, Message, Meta, Person, permission};
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, MessageId, UserId};

/// How long an enforced nonce finds its message again, in ms (facts.md section 4: "past few minutes", so ≤ 2 min).
pub const NONCE_MS: i64 = 120_000;

/// Most messages that one page holds (facts.md section 6).
pub const PAGE: usize = 100;

/// One line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// First line: what never changes.
    World {
        /// The rest of it.
        meta: Meta,
    },
    /// A channel as it is now.
    Channel {
        /// The channel.
        channel: Channel,
    },
    /// A message as it is now.
    Message {
        /// The message.
        message: Box<Message>,
    },
    /// A message that was deleted.
    Gone {
        /// Where.
        channel: ChannelId,
        /// Which.
        message: MessageId,
    },
    /// Highest id given so far, kept at compaction so that ids of deleted messages are not given again.
    Highest {
        /// The id.
        id: u64,
    },
}

/// The world.
#[derive(Debug)]
pub struct World {
    /// What never changes.
    pub meta: Meta,
    /// Channels of every kind.
    pub channels: BTreeMap<ChannelId, Channel>,
    messages: BTreeMap<ChannelId, BTreeMap<MessageId, Message>>,
    nonces: HashMap<String, (ChannelId, MessageId, i64)>,
    highest: u64,
    pending: Vec<Record>,
}

/// What an enforced nonce finds.
#[derive(Debug, Clone, PartialEq)]
pub enum Nonce {
    /// Nothing: it is new.
    New,
    /// The message that was sent with it.
    Same(Box<Message>),
    /// A message that is deleted.
    Deleted,
}

/// Which messages a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pivot {
    /// The newest.
    Newest,
    /// Those before an id.
    Before(MessageId),
    /// Those after an id, nearest first.
    After(MessageId),
    /// Those on both sides of an id.
    Around(MessageId),
}

impl World {
    /// An empty world.
    pub fn new(meta: Meta) -> Self {
        let world = Self {
            meta,
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            nonces: HashMap::new(),
            highest: 0,
            pending: Vec::new(),
        };
        let highest = world.meta.people.iter().map(|p| p.id.0).max().unwrap_or(0);
        Self { highest, ..world }
    }

    /// Takes a record of the journal, without writing it again.
    pub fn replay(&mut self, record: Record) {
        match record {
            Record::World { meta } => self.meta = meta,
            Record::Channel { channel } => {
                self.highest = self.highest.max(channel.id.0);
                self.channels.insert(channel.id, channel);
            }
            Record::Message { message } => {
                let files = message.files.iter().map(|f| f.id.0).max().unwrap_or(0);
                self.highest = self.highest.max(message.id.0).max(files);
                self.remember_nonce(&message);
                self.messages.entry(message.channel).or_default().insert(message.id, *message);
            }
            Record::Gone { channel, message } => {
                self.messages.entry(channel).or_default().remove(&message);
            }
            Record::Highest { id } => self.highest = self.highest.max(id),
        }
    }

    /// All that a compacted journal needs.
    pub fn records(&self) -> Vec<Record> {
        let mut out = vec![Record::World { meta: self.meta.clone() }, Record::Highest { id: self.highest }];
        out.extend(self.channels.values().map(|c| Record::Channel { channel: c.clone() }));
        let lasting = self.messages.values().flat_map(BTreeMap::values).filter(|m| m.only_for.is_none());
        out.extend(lasting.map(|m| Record::Message { message: Box::new(m.clone()) }));
        out
    }

    /// Changes since the last call, for the journal.
    pub fn take_pending(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.pending)
    }

    /// A new id: by the clock, but never one that was given or passed already.
    pub fn id(&mut self, now: Millis) -> u64 {
        self.highest = (self.highest + 1).max(MessageId::at(now).0);
        self.highest
    }

    /// Keeps a channel.
    pub fn put_channel(&mut self, channel: Channel) {
        self.highest = self.highest.max(channel.id.0);
        self.pending.push(Record::Channel { channel: channel.clone() });
        self.channels.insert(channel.id, channel);
    }

    /// Keeps a new message: its channel's newest one, and its nonce.
    pub fn post(&mut self, message: Message) {
        if let Some(channel) = self.channels.get_mut(&message.channel)
            && message.only_for.is_none()
        {
            channel.last_message = Some(message.id);
            channel.sent += 1;
            self.pending.push(Record::Channel { channel: channel.clone() });
        }
        self.remember_nonce(&message);
        self.put(message);
    }

    /// Keeps a message as it is now.
    pub fn put(&mut self, message: Message) {
        if message.only_for.is_none() {
            self.pending.push(Record::Message { message: Box::new(message.clone()) });
        }
        self.messages.entry(message.channel).or_default().insert(message.id, message);
    }

    /// Deletes a message; gives what it was.
    pub fn delete(&mut self, channel: ChannelId, message: MessageId) -> Option<Message> {
        let gone = self.messages.get_mut(&channel)?.remove(&message)?;
        if gone.only_for.is_none() {
            self.pending.push(Record::Gone { channel, message });
        }
        Some(gone)
    }

    fn remember_nonce(&mut self, message: &Message) {
        if let Some(key) = message.nonce.as_ref().map(|n| nonce_key(message.author, n)) {
            self.nonces.insert(key, (message.channel, message.id, message.at_ms));
        }
    }

    /// What an enforced nonce finds.
    pub fn nonce(&mut self, author: UserId, nonce: &serde_json::Value, now: Millis) -> Nonce {
        self.nonces.retain(|_, (_, _, at)| now.0 - *at < NONCE_MS);
        match self.nonces.get(&nonce_key(author, nonce)) {
            None => Nonce::New,
            Some((channel, id, _)) => match self.message(*channel, *id) {
                Some(message) => Nonce::Same(Box::new(message.clone())),
                None => Nonce::Deleted,
            },
        }
    }

    /// A person or bot.
    pub fn person(&self, id: UserId) -> Option<&Person> {
        self.meta.people.iter().find(|p| p.id == id)
    }

    /// A message, private ones included.
    pub fn message(&self, channel: ChannelId, id: MessageId) -> Option<&Message> {
        self.messages.get(&channel)?.get(&id)
    }

    /// A message that channel routes can see.
    pub fn open_message(&self, channel: ChannelId, id: MessageId) -> Option<&Message> {
        self.message(channel, id).filter(|m| m.only_for.is_none())
    }

    /// All messages of a channel, oldest first, private ones included.
    pub fn all(&self, channel: ChannelId) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.get(&channel).into_iter().flat_map(BTreeMap::values)
    }

    /// A page as REST gives it: newest first, nothing private.
    pub fn page(&self, channel: ChannelId, pivot: Pivot, limit: usize) -> Vec<&Message> {
        let open = || self.all(channel).filter(|m| m.only_for.is_none());
        let mut page: Vec<&Message> = match pivot {
            Pivot::Newest => open().rev().take(limit).collect(),
            Pivot::Before(id) => open().rev().filter(|m| m.id < id).take(limit).collect(),
            Pivot::After(id) => open().filter(|m| m.id > id).take(limit).collect(),
            Pivot::Around(id) => {
                let half = limit / 2;
                let before = open().rev().filter(|m| m.id < id).take(half);
                before.chain(open().filter(|m| m.id >= id).take(limit - half)).collect()
            }
        };
        page.sort_by_key(|m| std::cmp::Reverse(m.id));
        page
    }

    /// Where permissions of a channel are set: a thread's parent.
    fn root(&self, channel: &Channel) -> u64 {
        channel.parent.and_then(|p| self.channels.get(&p)).map_or(channel.denied, |p| p.denied | channel.denied)
    }

    /// The host's bot's permissions in a channel. Without VIEW_CHANNEL there are none (facts.md section 8).
    pub fn bot_permissions(&self, channel: &Channel) -> u64 {
        let bits = permission::BOT & !self.root(channel);
        if bits & permission::VIEW_CHANNEL == 0 { 0 } else { bits }
    }

    /// Whether somebody can see a channel. All channels of the guild are open to its members.
    pub fn sees(&self, who: UserId, channel: &Channel) -> bool {
        match channel.kind {
            Kind::Dm => channel.person == Some(who) || who == self.meta.bot,
            Kind::Text | Kind::Thread if who == self.meta.bot => self.bot_permissions(channel) != 0,
            Kind::Text | Kind::Thread => true,
        }
    }

    /// The thread that hangs on a message.
    pub fn thread_of(&self, message: MessageId) -> Option<&Channel> {
        self.channels.get(&ChannelId(message.0)).filter(|c| c.kind == Kind::Thread)
    }

    /// Opens the thread of a message and marks the message.
    pub fn open_thread(&mut self, thread: Channel, starter: MessageId) -> Option<Message> {
        let parent = thread.parent?;
        self.put_channel(thread);
        let mut message = self.message(parent, starter)?.clone();
        message.flags |= HAS_THREAD;
        self.put(message.clone());
        Some(message)
    }
}

fn nonce_key(author: UserId, nonce: &serde_json::Value) -> String {
    match nonce {
        serde_json::Value::String(text) => format!("{author}:{text}"),
        other => format!("{author}:{other}"),
    }
}

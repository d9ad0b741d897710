//! A Discord for these tests: channels in memory, nonces kept, and faults that a test asks for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use crate::base::clock::Millis;
use crate::base::ids::*;
use crate::discord::error::{DiscordError, ErrorKind};
use crate::discord::*;
use crate::model::actor::AccountKind;
use crate::model::bot::Me;
use crate::model::card::{Block, Body, Button, Post};
use crate::model::message::{CdnUrl, Message};
use crate::model::reply::Reply;

pub const ME: UserId = UserId(1);

/// What goes wrong with a call.
#[derive(Clone)]
pub enum Fault {
    /// It is refused, and nothing happens.
    Refuse(DiscordError),
    /// It happens, and the answer is lost.
    Ghost,
    /// It happens, and the call never ends.
    Hang,
    /// The call never ends, and nothing happens.
    Stuck,
}

#[derive(Default)]
struct World {
    next: u64,
    channels: BTreeMap<ChannelId, Vec<Message>>,
    nonces: HashMap<String, MessageId>,
    faults: HashMap<&'static str, VecDeque<(Option<ChannelId>, Fault)>>,
    calls: HashMap<&'static str, usize>,
    unreadable: bool,
}

#[derive(Default)]
pub struct Boxed(Mutex<World>);

impl Boxed {
    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    pub fn fault(&self, call: &'static str, channel: Option<ChannelId>, fault: Fault) {
        self.world().faults.entry(call).or_default().push_back((channel, fault));
    }

    pub fn unreadable(&self, unreadable: bool) {
        self.world().unreadable = unreadable;
    }

    pub fn messages(&self, channel: ChannelId) -> Vec<Message> {
        self.world().channels.get(&channel).cloned().unwrap_or_default()
    }

    pub fn calls(&self, call: &'static str) -> usize {
        self.world().calls.get(call).copied().unwrap_or(0)
    }

    pub fn remove(&self, channel: ChannelId, message: MessageId) {
        self.world().channels.entry(channel).or_default().retain(|m| m.id != message);
    }

    pub fn add(&self, channel: ChannelId, author: UserId, text: &str) -> MessageId {
        let mut world = self.world();
        let message = build(&mut world, channel, author, &Body::Text(text.to_owned()));
        let id = message.id;
        world.channels.entry(channel).or_default().push(message);
        id
    }

    /// The fault for a call, if the next one is for this channel.
    async fn meet(&self, call: &'static str, channel: ChannelId) -> Option<Fault> {
        let fault = {
            let mut world = self.world();
            *world.calls.entry(call).or_default() += 1;
            let queue = world.faults.entry(call).or_default();
            let fits = queue.front().is_some_and(|(only, _)| only.is_none_or(|c| c == channel));
            if fits { queue.pop_front().map(|(_, fault)| fault) } else { None }
        };
        if matches!(fault, Some(Fault::Stuck)) {
            std::future::pending::<()>().await;
        }
        fault
    }
}

fn build(world: &mut World, channel: ChannelId, author: UserId, body: &Body) -> Message {
    world.next += 1;
    let mut message = Message {
        id: MessageId(MessageId::at(Millis(1_800_000_000_000 + world.next as i64 * 1000)).0 + world.next),
        channel,
        guild: None,
        author,
        author_kind: if author == ME { AccountKind::Bot } else { AccountKind::Human },
        author_name: "x".into(),
        roles: None,
        kind: 0,
        flags: 0,
        content: String::new(),
        attachments: Vec::new(),
        reply_to: None,
        custom_ids: Vec::new(),
        component_text: Vec::new(),
        nonce: None,
        edited: None,
        has_thread: false,
    };
    say(&mut message, body);
    message
}

fn say(message: &mut Message, body: &Body) {
    message.custom_ids.clear();
    message.component_text.clear();
    match body {
        Body::Text(text) => message.content.clone_from(text),
        Body::Card(card) => {
            for block in &card.blocks {
                match block {
                    Block::Text(text) => message.component_text.push(text.clone()),
                    Block::Buttons(buttons) => message.custom_ids.extend(buttons.iter().filter_map(|b| match b {
                        Button::Press { custom_id, .. } => Some(custom_id.clone()),
                        Button::Link { .. } => None,
                    })),
                    Block::Menu(menu) => message.custom_ids.push(menu.custom_id.clone()),
                    Block::Divider => {}
                }
            }
        }
    }
}

pub fn gone() -> DiscordError {
    DiscordError { code: Some(10_008), ..DiscordError::new(ErrorKind::NotFound, "Unknown Message.") }
}

async fn after<T>(fault: Option<Fault>, done: T) -> Result<T> {
    match fault {
        Some(Fault::Ghost) => Err(DiscordError::new(ErrorKind::Unknown, "The answer was lost.")),
        Some(Fault::Hang) => std::future::pending().await,
        _ => Ok(done),
    }
}

fn none<T>() -> Result<T> {
    Err(DiscordError::new(ErrorKind::Invalid, "Not part of these tests."))
}

#[async_trait]
impl Discord for Boxed {
    async fn me(&self) -> Result<Me> {
        Ok(Me { user: ME, name: "bot".into(), application: ApplicationId(2), has_avatar: true })
    }

    async fn gateway(&self) -> Result<GatewayInfo> {
        none()
    }

    async fn channel(&self, channel: ChannelId) -> Result<Channel> {
        let last_message = self.messages(channel).last().map(|m| m.id);
        Ok(Channel { id: channel, kind: 0, name: None, guild: None, parent: None, last_message, archived: false })
    }

    async fn member(&self, _: GuildId, _: UserId) -> Result<Member> {
        none()
    }

    async fn message(&self, _: ChannelId, _: MessageId) -> Result<Message> {
        none()
    }

    async fn after(&self, channel: ChannelId, after: MessageId, limit: u8) -> Result<Page> {
        let messages = self.messages(channel).into_iter().filter(|m| m.id > after).take(limit.into()).collect();
        Ok(Page { messages, server_time: None })
    }

    async fn newest(&self, channel: ChannelId, limit: u8) -> Result<Page> {
        if let Some(Fault::Refuse(error)) = self.meet("newest", channel).await {
            return Err(error);
        }
        if self.world().unreadable {
            return Ok(Page { messages: Vec::new(), server_time: None });
        }
        let messages = self.messages(channel).into_iter().rev().take(limit.into()).collect();
        Ok(Page { messages, server_time: None })
    }

    async fn send(&self, channel: ChannelId, post: &Post, nonce: &Nonce) -> Result<Message> {
        let fault = self.meet("send", channel).await;
        if let Some(Fault::Refuse(error)) = fault {
            return Err(error);
        }
        assert!(nonce.0.len() <= 25, "{nonce:?}");
        let message = {
            let mut world = self.world();
            if let Some(id) = world.nonces.get(&nonce.0) {
                let id = *id;
                return world.channels[&channel].iter().find(|m| m.id == id).cloned().ok_or_else(gone);
            }
            let message = build(&mut world, channel, ME, &post.body);
            world.nonces.insert(nonce.0.clone(), message.id);
            world.channels.entry(channel).or_default().push(message.clone());
            message
        };
        after(fault, message).await
    }

    async fn edit(&self, channel: ChannelId, message: MessageId, body: &Body) -> Result<Message> {
        let fault = self.meet("edit", channel).await;
        if let Some(Fault::Refuse(error)) = fault {
            return Err(error);
        }
        let edited = {
            let mut world = self.world();
            let found = world.channels.entry(channel).or_default().iter_mut().find(|m| m.id == message);
            let found = found.ok_or_else(gone)?;
            say(found, body);
            found.clone()
        };
        after(fault, edited).await
    }

    async fn delete(&self, channel: ChannelId, message: MessageId) -> Result<()> {
        self.remove(channel, message);
        Ok(())
    }

    async fn open_thread(&self, channel: ChannelId, message: MessageId, _: &str) -> Result<ChannelId> {
        let fault = self.meet("open_thread", channel).await;
        if let Some(Fault::Refuse(error)) = fault {
            return Err(error);
        }
        if !self.messages(channel).iter().any(|m| m.id == message) {
            return Err(gone());
        }
        self.world().channels.entry(ChannelId(message.0)).or_default();
        after(fault, ChannelId(message.0)).await
    }

    async fn react(&self, _: ChannelId, _: MessageId, _: &str) -> Result<()> {
        none()
    }

    async fn typing(&self, _: ChannelId) -> Result<()> {
        none()
    }

    async fn dm(&self, user: UserId) -> Result<ChannelId> {
        Ok(ChannelId(user.0 + 1_000))
    }

    async fn respond(&self, _: &Answerable, _: &Reply) -> Result<()> {
        none()
    }

    async fn upload(&self, _: ChannelId, _: &Post, _: &[Upload], _: &Nonce, _: Progress<'_>) -> Result<Message> {
        none()
    }

    async fn download(&self, _: &CdnUrl, _: &Path, _: u64) -> Result<Downloaded> {
        none()
    }

    async fn link(&self, _: ChannelId, _: MessageId, _: AttachmentId) -> Result<(CdnUrl, u64)> {
        none()
    }
}

pub fn limited(after: Duration) -> DiscordError {
    DiscordError { after: Some(after), ..DiscordError::new(ErrorKind::RateLimited, "Too fast.") }
}

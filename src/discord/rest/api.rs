//! The calls of [`Discord`], each as one route.

use std::fmt::Display;
use std::path::Path;

use async_trait::async_trait;
use chrono::DateTime;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::error::{DiscordError, ErrorKind};
use super::super::wire::{self, Unreadable};
use super::super::{
    Answerable, Channel, Discord, Downloaded, GatewayInfo, Member, Nonce, Page, Progress, Result, Upload, limits,
};
use super::Rest;
use super::call::{Answer, Call, Face, Payload};
use super::retry::Repeat;
use super::route::Route;
use super::upload::Files;
use crate::base::clock::Millis;
use crate::base::ids::{AttachmentId, ChannelId, GuildId, MessageId, UserId};
use crate::model::bot::Me;
use crate::model::card::{Body, Post};
use crate::model::message::{CdnUrl, Message};
use crate::model::reply::Reply;

const MESSAGES: &str = "/channels/{}/messages";
const ONE_MESSAGE: &str = "/channels/{}/messages/{}";

/// Discord's code for «this message has a thread already».
const THREAD_EXISTS: i64 = 160_004;

impl Rest {
    async fn get(&self, what: &'static str, route: Route) -> Result<Answer> {
        self.bot(what, route, Payload::Empty).await
    }

    /// A call that may be repeated without harm.
    async fn bot(&self, what: &'static str, route: Route, payload: Payload<'_>) -> Result<Answer> {
        self.call(Call { what, route, payload, repeat: Repeat::Harmless, face: Face::Bot }).await
    }

    async fn page(&self, route: Route) -> Result<Page> {
        let what = "reading messages";
        let answer = self.get(what, route).await?;
        let Value::Array(list) = parsed(what, &answer)? else { return Err(odd(what, "without a list of messages")) };
        let mut messages = Vec::with_capacity(list.len());
        for value in &list {
            match wire::message(value) {
                Ok(message) => messages.push(message),
                // One message that cannot be read must not stop every later one from being heard.
                Err(unreadable) => tracing::warn!("a message was passed over: {unreadable}"),
            }
        }
        Ok(Page { messages, server_time: server_time(&answer) })
    }

    /// Reads what a send gave. By then the message is there, so an unreadable answer is no failure of the send.
    fn sent(what: &'static str, answer: &Answer) -> Result<Message> {
        read(what, answer, wire::message).map_err(|error| {
            let said = format!("It is not known whether {what} worked. {}", error.message);
            DiscordError {
                kind: ErrorKind::Unknown,
                status: Some(answer.status),
                ..DiscordError::new(error.kind, said)
            }
        })
    }
}

fn parsed(what: &str, answer: &Answer) -> Result<Value> {
    serde_json::from_slice(&answer.body).map_err(|_| odd(what, "that is no JSON"))
}

fn read<T>(what: &str, answer: &Answer, parse: fn(&Value) -> std::result::Result<T, Unreadable>) -> Result<T> {
    parse(&parsed(what, answer)?).map_err(|unreadable| DiscordError::new(ErrorKind::Protocol, unreadable.to_string()))
}

fn odd(what: &str, how: &str) -> DiscordError {
    DiscordError::new(ErrorKind::Protocol, format!("Discord gave an answer {how} while {what}."))
}

fn invalid(problem: Option<String>) -> Result<()> {
    problem.map_or(Ok(()), |said| Err(DiscordError::new(ErrorKind::Invalid, said)))
}

fn checked(nonce: &Nonce) -> Result<()> {
    let fits = (1..=limits::NONCE).contains(&nonce.0.chars().count());
    invalid((!fits).then(|| format!("A nonce has 1 to {} characters.", limits::NONCE)))
}

fn server_time(answer: &Answer) -> Option<Millis> {
    let date = answer.headers.get("date")?.to_str().ok()?;
    DateTime::parse_from_rfc2822(date).ok().map(|time| Millis(time.timestamp_millis()))
}

fn in_channel(method: Method, template: &'static str, channel: ChannelId, ids: &[&(dyn Display + Sync)]) -> Route {
    Route::new(method, template, channel.0, ids)
}

#[async_trait]
impl Discord for Rest {
    async fn me(&self) -> Result<Me> {
        let what = "asking for our account";
        let user = self.get(what, Route::new(Method::GET, "/users/@me", 0, &[])).await?;
        let application = self.get(what, Route::new(Method::GET, "/applications/@me", 0, &[])).await?;
        let (user, application) = (parsed(what, &user)?, parsed(what, &application)?);
        wire::me(&user, &application).map_err(|e| DiscordError::new(ErrorKind::Protocol, e.to_string()))
    }

    async fn gateway(&self) -> Result<GatewayInfo> {
        let what = "asking for the gateway";
        let answer = self.get(what, Route::new(Method::GET, "/gateway/bot", 0, &[])).await?;
        read(what, &answer, wire::gateway)
    }

    async fn channel(&self, channel: ChannelId) -> Result<Channel> {
        let what = "asking for the channel";
        let answer = self.get(what, in_channel(Method::GET, "/channels/{}", channel, &[&channel])).await?;
        read(what, &answer, wire::channel)
    }

    async fn member(&self, guild: GuildId, user: UserId) -> Result<Member> {
        let what = "asking for a member's roles";
        let route = Route::new(Method::GET, "/guilds/{}/members/{}", guild.0, &[&guild, &user]);
        read(what, &self.get(what, route).await?, wire::member)
    }

    async fn message(&self, channel: ChannelId, message: MessageId) -> Result<Message> {
        let what = "reading the message";
        let route = in_channel(Method::GET, ONE_MESSAGE, channel, &[&channel, &message]);
        read(what, &self.get(what, route).await?, wire::message)
    }

    async fn after(&self, channel: ChannelId, after: MessageId, limit: u8) -> Result<Page> {
        let route = in_channel(Method::GET, MESSAGES, channel, &[&channel]);
        let mut page = self.page(route.with("after", after).with("limit", limit.clamp(1, 100))).await?;
        page.messages.sort_unstable_by_key(|m| m.id);
        Ok(page)
    }

    async fn newest(&self, channel: ChannelId, limit: u8) -> Result<Page> {
        let route = in_channel(Method::GET, MESSAGES, channel, &[&channel]);
        let mut page = self.page(route.with("limit", limit.clamp(1, 100))).await?;
        page.messages.sort_unstable_by_key(|m| std::cmp::Reverse(m.id));
        Ok(page)
    }

    async fn send(&self, channel: ChannelId, post: &Post, nonce: &Nonce) -> Result<Message> {
        invalid(limits::post_problem(post))?;
        checked(nonce)?;
        let what = "sending the message";
        let route = in_channel(Method::POST, MESSAGES, channel, &[&channel]);
        let payload = Payload::Json(wire::post_json(post, Some(nonce)));
        let answer = self.call(Call { what, route, payload, repeat: Repeat::SameNonce, face: Face::Bot }).await?;
        Self::sent(what, &answer)
    }

    async fn edit(&self, channel: ChannelId, message: MessageId, body: &Body) -> Result<Message> {
        invalid(limits::body_problem(body))?;
        let what = "changing the message";
        let route = in_channel(Method::PATCH, ONE_MESSAGE, channel, &[&channel, &message]);
        read(what, &self.bot(what, route, Payload::Json(wire::edit_json(body))).await?, wire::message)
    }

    async fn delete(&self, channel: ChannelId, message: MessageId) -> Result<()> {
        let route = in_channel(Method::DELETE, ONE_MESSAGE, channel, &[&channel, &message]);
        match self.bot("deleting the message", route, Payload::Empty).await {
            // Code 10008 alone: an unknown channel or a bare 404 does not say that the message is gone.
            Err(error) if error.status == Some(404) && error.code == Some(10008) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    async fn open_thread(&self, channel: ChannelId, message: MessageId, name: &str) -> Result<ChannelId> {
        let what = "opening the thread";
        let fits = (1..=limits::THREAD_NAME).contains(&name.chars().count());
        invalid((!fits).then(|| format!("A thread's name has 1 to {} characters.", limits::THREAD_NAME)))?;
        let route = in_channel(Method::POST, "/channels/{}/messages/{}/threads", channel, &[&channel, &message]);
        match self.bot(what, route, Payload::Json(json!({"name": name}))).await {
            Err(error) if error.code == Some(THREAD_EXISTS) => Ok(ChannelId(message.0)),
            other => read(what, &other?, wire::channel).map(|thread| thread.id),
        }
    }

    async fn react(&self, channel: ChannelId, message: MessageId, emoji: &str) -> Result<()> {
        let template = "/channels/{}/messages/{}/reactions/{}/@me";
        let route = in_channel(Method::PUT, template, channel, &[&channel, &message, &emoji]);
        self.bot("adding the reaction", route, Payload::Empty).await.map(|_| ())
    }

    async fn typing(&self, channel: ChannelId) -> Result<()> {
        let route = in_channel(Method::POST, "/channels/{}/typing", channel, &[&channel]);
        self.bot("showing that something is coming", route, Payload::Empty).await.map(|_| ())
    }

    async fn dm(&self, user: UserId) -> Result<ChannelId> {
        let what = "opening the direct messages";
        let route = Route::new(Method::POST, "/users/@me/channels", 0, &[]);
        let answer = self.bot(what, route, Payload::Json(json!({"recipient_id": user}))).await?;
        read(what, &answer, wire::channel).map(|channel| channel.id)
    }

    async fn respond(&self, to: &Answerable, reply: &Reply) -> Result<()> {
        invalid(match reply {
            Reply::Private(body) | Reply::Replace(body) => limits::body_problem(body),
            Reply::Form(form) => limits::form_problem(form),
            Reply::Seen => None,
        })?;
        let token = to.token.expose();
        let route = Route::new(Method::POST, "/interactions/{}/{}/callback", 0, &[&to.id, &token]);
        let payload = Payload::Json(wire::reply_json(reply));
        let what = "answering the interaction";
        self.call(Call { what, route, payload, repeat: Repeat::Never, face: Face::Interaction }).await.map(|_| ())
    }

    async fn upload(
        &self,
        channel: ChannelId,
        post: &Post,
        files: &[Upload],
        nonce: &Nonce,
        progress: Progress<'_>,
    ) -> Result<Message> {
        let mut json = wire::post_json(post, Some(nonce));
        match &post.body {
            // Files alone make a message.
            Body::Text(text) if text.is_empty() => json["content"] = Value::Null,
            _ => invalid(limits::post_problem(post))?,
        }
        checked(nonce)?;
        let what = "sending the files";
        let route = in_channel(Method::POST, MESSAGES, channel, &[&channel]);
        let payload = Payload::Files(Files::new(json, files, progress)?);
        let answer = self.call(Call { what, route, payload, repeat: Repeat::SameNonce, face: Face::Bot }).await?;
        Self::sent(what, &answer)
    }

    async fn download(&self, url: &CdnUrl, to: &Path, limit: u64) -> Result<Downloaded> {
        self.fetch(url, to, limit).await
    }

    async fn link(&self, channel: ChannelId, message: MessageId, attachment: AttachmentId) -> Result<(CdnUrl, u64)> {
        let message = self.message(channel, message).await?;
        let found = message.attachments.into_iter().find(|a| a.id == attachment);
        let said = "The file is not on its message any more.";
        found.map(|a| (a.url, a.size)).ok_or_else(|| DiscordError::new(ErrorKind::NotFound, said))
    }
}

//! Messages, channels, members and accounts, from Discord's JSON.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serenity::model::gateway::BotGateway;

use super::parts;
use super::read::{Unreadable, flag, id, items, number, present, snowflake, text};
use crate::base::clock::Millis;
use crate::base::ids::RoleId;
use crate::discord::{Channel, GatewayInfo, Member};
use crate::model::actor::AccountKind;
use crate::model::bot::Me;
use crate::model::message::{Attachment, CdnUrl, Message};

/// Flag bit of a message that a thread hangs on (facts.md section 4).
const HAS_THREAD: u64 = 32;

/// Kind of a `message_reference` that is a forward, not a reply.
const FORWARD: u64 = 1;

/// A message, from a REST answer or from an event with its extras (`guild_id`, `member`).
///
/// # Errors
/// If it has no id, channel or author.
pub fn message(value: &Value) -> Result<Message, Unreadable> {
    let lacks = |field| Unreadable::new("a message", field);
    let author = value.get("author").ok_or(lacks("author"))?;
    let member = value.get("member").unwrap_or(&Value::Null);
    let flags = number(value, "flags").unwrap_or(0);
    let parts = parts::collect(value);
    Ok(Message {
        id: id(value, "id").ok_or(lacks("id"))?,
        channel: id(value, "channel_id").ok_or(lacks("channel_id"))?,
        guild: id(value, "guild_id"),
        author: id(author, "id").ok_or(lacks("author.id"))?,
        author_kind: if present(value, "webhook_id").is_some() { AccountKind::Webhook } else { account_kind(author) },
        author_name: shown_name(member, author),
        roles: roles(member),
        kind: number(value, "type").unwrap_or(0),
        flags,
        content: text(value, "content").unwrap_or_default(),
        attachments: items(value, "attachments").iter().filter_map(attachment).collect(),
        reply_to: reply_to(value),
        custom_ids: parts.custom_ids,
        component_text: parts.text,
        nonce: nonce(value),
        edited: text(value, "edited_timestamp").and_then(|t| Millis::parse(&t)),
        has_thread: flags & HAS_THREAD != 0 || present(value, "thread").is_some(),
    })
}

/// What kind of account a user object is. Discord's own system account counts as a bot: it gives no orders.
pub(super) fn account_kind(user: &Value) -> AccountKind {
    if flag(user, "bot") || flag(user, "system") { AccountKind::Bot } else { AccountKind::Human }
}

/// The name that Discord shows: nickname, else display name, else user name.
pub(super) fn shown_name(member: &Value, user: &Value) -> String {
    let names = [text(member, "nick"), text(user, "global_name"), text(user, "username")];
    names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default()
}

/// Roles of a member object; `None` if it carries none, so that they are fetched before a decision.
pub(super) fn roles(member: &Value) -> Option<Vec<RoleId>> {
    let list = member.get("roles")?.as_array()?;
    Some(list.iter().filter_map(snowflake).collect())
}

fn reply_to<T: std::str::FromStr>(value: &Value) -> Option<T> {
    let reference = value.get("message_reference")?;
    if number(reference, "type") == Some(FORWARD) {
        return None;
    }
    id(reference, "message_id")
}

fn nonce(value: &Value) -> Option<String> {
    match value.get("nonce")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn attachment(value: &Value) -> Option<Attachment> {
    Some(Attachment {
        id: id(value, "id")?,
        filename: text(value, "filename").unwrap_or_default(),
        title: text(value, "title"),
        description: text(value, "description"),
        size: number(value, "size").unwrap_or(0),
        content_type: text(value, "content_type"),
        url: CdnUrl::new(text(value, "url").unwrap_or_default()),
    })
}

/// A channel or thread.
///
/// # Errors
/// If it has no id or type.
pub fn channel(value: &Value) -> Result<Channel, Unreadable> {
    let lacks = |field| Unreadable::new("a channel", field);
    Ok(Channel {
        id: id(value, "id").ok_or(lacks("id"))?,
        kind: number(value, "type").ok_or(lacks("type"))?,
        name: text(value, "name"),
        guild: id(value, "guild_id"),
        parent: id(value, "parent_id"),
        last_message: id(value, "last_message_id"),
        archived: value.get("thread_metadata").is_some_and(|thread| flag(thread, "archived")),
    })
}

/// A member of a guild, with the user inside.
///
/// # Errors
/// If it has no user id or no list of roles: a member without a known list of roles must not pass for one with none.
pub fn member(value: &Value) -> Result<Member, Unreadable> {
    let lacks = |field| Unreadable::new("a member", field);
    Ok(Member {
        user: value.get("user").and_then(|user| id(user, "id")).ok_or(lacks("user.id"))?,
        roles: roles(value).ok_or(lacks("roles"))?,
    })
}

/// Our own account, from `GET /users/@me` and `GET /applications/@me`.
///
/// # Errors
/// If either has no id.
pub fn me(user: &Value, application: &Value) -> Result<Me, Unreadable> {
    Ok(Me {
        user: id(user, "id").ok_or(Unreadable::new("our account", "id"))?,
        name: shown_name(&Value::Null, user),
        application: id(application, "id").ok_or(Unreadable::new("our application", "id"))?,
        has_avatar: present(user, "avatar").is_some(),
    })
}

/// The answer of `GET /gateway/bot`.
///
/// # Errors
/// If any part of it is missing.
pub fn gateway(value: &Value) -> Result<GatewayInfo, Unreadable> {
    let info =
        BotGateway::deserialize(value).map_err(|_| Unreadable::new("its gateway", "address or session limit"))?;
    let limit = info.session_start_limit;
    Ok(GatewayInfo {
        url: info.url,
        remaining: limit.remaining,
        total: limit.total,
        reset_after: Duration::from_millis(limit.reset_after),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::interaction::interaction;
    use super::*;
    use crate::base::ids::{ChannelId, GuildId, MessageId, UserId};

    /// Any JSON, with the keys that the readers look for.
    pub(in crate::discord::wire) fn hostile() -> impl Strategy<Value = Value> {
        let key = prop::sample::select(vec![
            "id",
            "channel_id",
            "author",
            "user",
            "member",
            "roles",
            "data",
            "components",
            "component",
            "accessory",
            "custom_id",
            "content",
            "type",
            "values",
            "value",
            "message",
            "message_id",
            "token",
            "application_id",
            "attachments",
            "size",
            "url",
            "flags",
            "message_reference",
            "thread_metadata",
            "session_start_limit",
            "nonce",
            "errors",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            "[0-9]{1,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..10)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_makes_a_reader_panic(value in hostile()) {
            drop(message(&value));
            drop(interaction(&value));
            drop(channel(&value));
            drop(member(&value));
            drop(me(&value, &value));
            drop(gateway(&value));
        }

        #[test]
        fn extras_that_we_do_not_know_cost_no_message(extra in hostile()) {
            let heard = message(&json!({
                "id": "10", "channel_id": "20", "author": {"id": "30", "surprise": extra.clone()}, "surprise": extra.clone(),
                "components": [extra.clone()], "attachments": [extra.clone()], "embeds": extra,
            }));
            prop_assert_eq!(heard.map(|m| m.id), Ok(MessageId(10)));
        }
    }

    fn plain() -> Value {
        json!({
            "id": "1301", "channel_id": "20", "guild_id": "40", "type": 0, "content": "hello", "flags": 1_u64 << 40,
            "author": {"id": "30", "username": "olive", "global_name": "Olive", "bot": false},
            "member": {"nick": "Liv", "roles": ["7", "8"]},
            "application_id": null, "edited_timestamp": null, "nonce": 123,
            "attachments": [{"id": "5", "filename": "a.bin", "size": 5_000_000_000_u64, "url": "https://cdn.discordapp.com/x"}],
        })
    }

    #[test]
    fn a_message_of_an_event_keeps_what_we_need() {
        let heard = message(&plain()).unwrap();
        assert_eq!(heard.guild, Some(GuildId(40)));
        assert_eq!(heard.author_name, "Liv");
        assert_eq!(heard.roles, Some(vec![RoleId(7), RoleId(8)]));
        assert_eq!(heard.flags, 1 << 40, "unknown bits stay");
        assert_eq!(heard.attachments[0].size, 5_000_000_000, "more than 4 GiB");
        assert_eq!(heard.nonce.as_deref(), Some("123"));
        assert!(heard.is_order() && !heard.has_thread && heard.edited.is_none());
    }

    #[test]
    fn an_answer_of_rest_has_no_roles_to_decide_by() {
        let mut value = plain();
        value.as_object_mut().unwrap().remove("member");
        let heard = message(&value).unwrap();
        assert_eq!((heard.roles, heard.author_name.as_str()), (None, "Olive"));
    }

    #[test]
    fn i_4_webhooks_and_bots_are_known_as_such() {
        for (key, id, kind) in [
            ("webhook_id", json!("9"), AccountKind::Webhook),
            ("webhook_id", json!(null), AccountKind::Human),
            ("author", json!({"id": "30", "bot": true}), AccountKind::Bot),
            ("author", json!({"id": "30", "system": true}), AccountKind::Bot),
        ] {
            let mut value = plain();
            value[key] = id;
            assert_eq!(message(&value).unwrap().author_kind, kind, "{key}");
        }
    }

    #[test]
    fn a_forward_is_no_reply() {
        let mut value = plain();
        value["message_reference"] = json!({"type": 0, "message_id": "77"});
        assert_eq!(message(&value).unwrap().reply_to, Some(MessageId(77)));
        value["message_reference"] = json!({"type": 1, "message_id": "77"});
        assert_eq!(message(&value).unwrap().reply_to, None);
    }

    #[test]
    fn what_is_needed_is_named_when_it_is_missing() {
        for key in ["id", "channel_id", "author"] {
            let mut value = plain();
            value.as_object_mut().unwrap().remove(key);
            assert_eq!(message(&value).unwrap_err().field, key);
        }
    }

    #[test]
    fn threads_members_accounts_and_gateways_are_read() {
        let thread = channel(&json!({"id": "1", "type": 11, "parent_id": "2", "thread_metadata": {"archived": true}}));
        let thread = thread.unwrap();
        assert!(thread.is_thread() && thread.archived && thread.parent == Some(ChannelId(2)));
        let known = member(&json!({"user": {"id": "3"}, "roles": []})).unwrap();
        assert_eq!((known.user, known.roles), (UserId(3), vec![]));
        assert!(member(&json!({"user": {"id": "3"}})).is_err());
        let ours = me(&json!({"id": "5", "username": "dos", "avatar": null}), &json!({"id": "6"})).unwrap();
        assert!(ours.name == "dos" && !ours.has_avatar && ours.application.0 == 6);
        let limit = json!({"total": 1000, "remaining": 9, "reset_after": 1500, "max_concurrency": 1});
        let found = gateway(&json!({"url": "wss://g", "shards": 1, "session_start_limit": limit})).unwrap();
        assert_eq!((found.remaining, found.reset_after), (9, Duration::from_millis(1500)));
    }
}

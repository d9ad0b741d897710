//! What an event of the gateway means to us. Nothing in here fails: what cannot be read is heard by its name alone, so
//! that its sequence number is taken and the session goes on.

use serde_json::Value;

use super::Event;
use crate::base::ids::{GuildId, MessageId};
use crate::discord::wire;

/// The event of this name with this data.
pub fn event(name: &str, data: &Value) -> Event {
    known(name, data).unwrap_or_else(|| Event::Other(name.to_owned()))
}

fn known(name: &str, data: &Value) -> Option<Event> {
    match name {
        "READY" => ready(data),
        "RESUMED" => Some(Event::Resumed),
        "MESSAGE_CREATE" => wire::message(data).ok().map(|m| Event::Message(Box::new(m))),
        "MESSAGE_UPDATE" => wire::message(data).ok().map(|m| Event::MessageChanged(Box::new(m))),
        "MESSAGE_DELETE" => Some(Event::MessagesDeleted(wire::id(data, "channel_id")?, vec![wire::id(data, "id")?])),
        "MESSAGE_DELETE_BULK" => Some(Event::MessagesDeleted(wire::id(data, "channel_id")?, message_ids(data))),
        "INTERACTION_CREATE" => wire::interaction(data).ok().map(|i| Event::Interaction(Box::new(i))),
        "THREAD_CREATE" | "THREAD_UPDATE" => thread(data),
        "THREAD_DELETE" | "CHANNEL_DELETE" => wire::id(data, "id").map(Event::ChannelGone),
        "GUILD_CREATE" if wire::flag(data, "unavailable") => Some(Event::GuildGone(wire::id(data, "id")?, true)),
        "GUILD_CREATE" => wire::id(data, "id").map(Event::GuildHere),
        "GUILD_DELETE" => Some(Event::GuildGone(wire::id(data, "id")?, wire::flag(data, "unavailable"))),
        _ => None,
    }
}

fn ready(data: &Value) -> Option<Event> {
    let user = data.get("user")?;
    let guilds = data.get("guilds").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(Event::Ready {
        user: wire::id(user, "id")?,
        name: wire::text(user, "username").unwrap_or_default(),
        application: wire::id(data.get("application")?, "id")?,
        guilds: guilds.iter().filter_map(|g| wire::id::<GuildId>(g, "id")).collect(),
    })
}

fn thread(data: &Value) -> Option<Event> {
    let archived = data.get("thread_metadata").is_some_and(|m| wire::flag(m, "archived"));
    Some(Event::Thread { id: wire::id(data, "id")?, parent: wire::id(data, "parent_id"), archived })
}

fn message_ids(data: &Value) -> Vec<MessageId> {
    let ids = data.get("ids").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::ids::{ApplicationId, ChannelId, UserId};

    #[test]
    fn every_event_that_we_use_is_read() {
        let message = json!({"id": "10", "channel_id": "20", "type": 0, "content": "hello",
            "author": {"id": "30", "username": "ann"}});
        let ready = json!({"user": {"id": "1", "username": "host"}, "application": {"id": "2"},
            "guilds": [{"id": "3", "unavailable": true}, {"id": "x"}]});
        let (channel, guild) = (ChannelId(20), GuildId(3));
        let gone = |ids: &[u64]| Event::MessagesDeleted(channel, ids.iter().map(|id| MessageId(*id)).collect());
        let thread = |archived| Event::Thread { id: ChannelId(40), parent: Some(channel), archived };
        let me =
            Event::Ready { user: UserId(1), name: "host".into(), application: ApplicationId(2), guilds: vec![guild] };
        for (name, data, wanted) in [
            ("READY", ready, me),
            ("RESUMED", json!({}), Event::Resumed),
            ("RESUMED", Value::Null, Event::Resumed),
            ("MESSAGE_DELETE", json!({"id": "1", "channel_id": "20"}), gone(&[1])),
            ("MESSAGE_DELETE_BULK", json!({"ids": ["1", "2", "x", 3], "channel_id": "20"}), gone(&[1, 2])),
            ("THREAD_CREATE", json!({"id": "40", "parent_id": "20", "member_count": 300}), thread(false)),
            (
                "THREAD_UPDATE",
                json!({"id": "40", "parent_id": "20", "thread_metadata": {"archived": true}}),
                thread(true),
            ),
            ("THREAD_DELETE", json!({"id": "40"}), Event::ChannelGone(ChannelId(40))),
            ("CHANNEL_DELETE", json!({"id": "20"}), Event::ChannelGone(channel)),
            ("GUILD_CREATE", json!({"id": "3", "name": "home"}), Event::GuildHere(guild)),
            ("GUILD_CREATE", json!({"id": "3", "unavailable": true}), Event::GuildGone(guild, true)),
            ("GUILD_DELETE", json!({"id": "3", "unavailable": true}), Event::GuildGone(guild, true)),
            ("GUILD_DELETE", json!({"id": "3"}), Event::GuildGone(guild, false)),
        ] {
            assert_eq!(event(name, &data), wanted, "{name} {data}");
        }
        assert!(matches!(event("MESSAGE_CREATE", &message), Event::Message(m) if m.content == "hello"));
        assert!(matches!(event("MESSAGE_UPDATE", &message), Event::MessageChanged(m) if m.id == MessageId(10)));
    }

    #[test]
    fn a_press_is_read_and_keeps_its_token_hidden() {
        let data = json!({"id": "1", "application_id": "2", "type": 3, "token": "aw-interaction-token", "version": 1,
            "channel_id": "20", "message": {"id": "9"}, "user": {"id": "30", "username": "ann"},
            "data": {"component_type": 2, "custom_id": "press"}});
        let heard = event("INTERACTION_CREATE", &data);
        assert!(matches!(heard, Event::Interaction(_)));
        assert!(!format!("{heard:?}").contains("aw-interaction-token"));
    }

    #[test]
    fn what_cannot_be_read_is_heard_by_its_name() {
        let names = ["READY", "MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"];
        let more =
            ["INTERACTION_CREATE", "THREAD_CREATE", "THREAD_DELETE", "GUILD_CREATE", "GUILD_DELETE", "TYPING_START"];
        for name in names.into_iter().chain(more) {
            for data in [Value::Null, json!([]), json!("x"), json!({}), json!({"id": {}}), json!({"id": -1})] {
                assert_eq!(event(name, &data), Event::Other(name.to_owned()), "{name} {data}");
            }
        }
    }
}

//! Interactions, from Discord's JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::hear::{account_kind, roles, shown_name};
use super::parts;
use super::read::{Unreadable, id, items, number, text};
use crate::base::secret::Secret;
use crate::model::interaction::{Act, Interaction};

/// Interaction types (facts.md section 3).
const COMPONENT: u64 = 3;
const MODAL_SUBMIT: u64 = 5;

/// An interaction. Its user stands in `member.user` (guild) or in `user` (direct message).
///
/// # Errors
/// If it has no id, application, token, type, user or channel, or if the pressed component or form has no custom id.
pub fn interaction(value: &Value) -> Result<Interaction, Unreadable> {
    let lacks = |field| Unreadable::new("an interaction", field);
    let member = value.get("member").unwrap_or(&Value::Null);
    let user = member.get("user").or_else(|| value.get("user")).ok_or(lacks("user"))?;
    let channel = id(value, "channel_id").or_else(|| value.get("channel").and_then(|channel| id(channel, "id")));
    Ok(Interaction {
        id: id(value, "id").ok_or(lacks("id"))?,
        application: id(value, "application_id").ok_or(lacks("application_id"))?,
        token: text(value, "token").filter(|t| !t.is_empty()).map(Secret::new).ok_or(lacks("token"))?,
        user: id(user, "id").ok_or(lacks("user.id"))?,
        kind: account_kind(user),
        user_name: shown_name(member, user),
        roles: roles(member).unwrap_or_default(),
        guild: id(value, "guild_id"),
        channel: channel.ok_or(lacks("channel_id"))?,
        act: act(value)?,
        attachment_size_limit: number(value, "attachment_size_limit"),
    })
}

fn act(value: &Value) -> Result<Act, Unreadable> {
    let lacks = |field| Unreadable::new("an interaction", field);
    let kind = number(value, "type").ok_or(lacks("type"))?;
    let data = value.get("data").unwrap_or(&Value::Null);
    let custom_id = || text(data, "custom_id").ok_or(lacks("data.custom_id"));
    let message = value.get("message").and_then(|message| id(message, "id"));
    Ok(match kind {
        COMPONENT => Act::Component {
            message: message.ok_or(lacks("message.id"))?,
            custom_id: custom_id()?,
            values: items(data, "values").iter().filter_map(written).collect(),
        },
        MODAL_SUBMIT => Act::Form { custom_id: custom_id()?, fields: fields(data), message },
        other => Act::Other(other),
    })
}

/// Values of a form by the custom ids of its fields, wherever the fields stand. Several chosen values become lines.
fn fields(data: &Value) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    parts::walk(data, &mut |component| {
        let Some(custom_id) = text(component, "custom_id") else { return };
        let chosen = || items(component, "values").iter().filter_map(written).collect::<Vec<_>>().join("\n");
        let value = component.get("value").and_then(written).unwrap_or_else(chosen);
        fields.insert(custom_id, value);
    });
    fields
}

/// A value as text: what was typed, a number, or a checkbox.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(checked) => Some(checked.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::ids::{ChannelId, MessageId, RoleId, UserId};
    use crate::model::actor::AccountKind;

    fn tap() -> Value {
        json!({
            "id": "1", "application_id": "2", "token": "aW50ZXJhY3Rpb24", "type": 3, "guild_id": "3", "channel_id": "4",
            "member": {"roles": ["8"], "nick": null, "user": {"id": "5", "username": "olive", "global_name": "Olive"}},
            "message": {"id": "6"}, "data": {"custom_id": "dos1:x", "component_type": 2, "id": 3},
            "attachment_size_limit": 10_485_760, "app_permissions": "0", "entitlements": [], "version": 1,
        })
    }

    #[test]
    fn a_tap_in_a_guild() {
        let heard = interaction(&tap()).unwrap();
        assert_eq!((heard.user, heard.kind, heard.user_name.as_str()), (UserId(5), AccountKind::Human, "Olive"));
        assert_eq!((heard.roles, heard.attachment_size_limit), (vec![RoleId(8)], Some(10_485_760)));
        let act = Act::Component { message: MessageId(6), custom_id: "dos1:x".into(), values: vec![] };
        assert_eq!(heard.act, act);
        assert!(!format!("{:?}", heard.token).contains("aW50"));
    }

    #[test]
    fn a_choice_in_a_direct_message() {
        let mut value = tap();
        value["user"] = json!({"id": "9", "username": "p"});
        value["data"] = json!({"custom_id": "c", "component_type": 3, "values": ["a", "b"]});
        value["channel"] = json!({"id": "44"});
        for key in ["member", "guild_id", "channel_id"] {
            value.as_object_mut().unwrap().remove(key);
        }
        let heard = interaction(&value).unwrap();
        assert_eq!((heard.user, heard.channel, heard.guild), (UserId(9), ChannelId(44), None));
        assert!(heard.roles.is_empty());
        assert!(matches!(heard.act, Act::Component { values, .. } if values == ["a", "b"]));
    }

    #[test]
    fn both_shapes_of_a_form_give_the_same_values() {
        let label =
            json!([{"type": 18, "id": 1, "component": {"type": 4, "id": 2, "custom_id": "text", "value": "do it"}}]);
        let row = json!([{"type": 1, "components": [{"type": 4, "custom_id": "text", "value": "do it"}]}]);
        for components in [label, row] {
            let mut value = tap();
            value["type"] = json!(5);
            value["data"] = json!({"custom_id": "dos1:ask", "components": components});
            let Act::Form { custom_id, fields, message } = interaction(&value).unwrap().act else { panic!() };
            assert_eq!((custom_id.as_str(), message), ("dos1:ask", Some(MessageId(6))));
            assert_eq!(fields, BTreeMap::from([("text".to_owned(), "do it".to_owned())]));
        }
    }

    #[test]
    fn chosen_and_checked_fields_become_text() {
        let mut value = tap();
        value["type"] = json!(5);
        value["data"] = json!({"custom_id": "f", "components": [
            {"type": 18, "component": {"type": 22, "custom_id": "many", "values": ["a", "b"]}},
            {"type": 18, "component": {"type": 23, "custom_id": "check", "value": true}},
            {"type": 18, "component": {"type": 21, "custom_id": "none", "value": null}},
            {"type": 10, "content": "read me"},
        ]});
        let Act::Form { fields, .. } = interaction(&value).unwrap().act else { panic!() };
        let found: Vec<_> = fields.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(found, [("check", "true"), ("many", "a\nb"), ("none", "")]);
    }

    #[test]
    fn other_types_are_counted_by_number() {
        let mut value = tap();
        value["type"] = json!(2);
        assert_eq!(interaction(&value).unwrap().act, Act::Other(2));
    }
}

//! Presses, choices and forms: what becomes an interaction.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::calls::Call;
use super::super::core::{Core, State, extend};
use super::super::hub::Dispatch;
use super::super::thing::{Kind, Role, permission};
use super::super::tree;
use super::act::find;
use super::{Refused, player};
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, InteractionId, MessageId, UserId};

/// `POST /control/tap`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    r#as: UserId,
    channel: ChannelId,
    message: MessageId,
    custom_id: String,
    #[serde(default)]
    values: Vec<String>,
}

/// `POST /control/submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    r#as: UserId,
    interaction_id: InteractionId,
    fields: BTreeMap<String, String>,
}

/// Presses a button or chooses from a select.
pub fn tap(core: &Core, tap: Tap) -> Result<Value, Refused> {
    core.with(|state, now| {
        player(state, tap.r#as)?;
        let message = find(state, tap.r#as, tap.channel, tap.message)?;
        if message.author != state.world.meta.bot {
            return Err(Refused::gone("That message has nothing to press."));
        }
        let component = tree::find(&message.components, &tap.custom_id);
        let component =
            component.ok_or_else(|| Refused::gone("There is nothing with this custom_id on the message."))?;
        if component["disabled"].as_bool() == Some(true) {
            return Err(Refused::new(409, "It is disabled."));
        }
        let kind = component["type"].as_u64().unwrap_or(0);
        let mut data = json!({"custom_id": tap.custom_id, "component_type": kind, "id": component["id"]});
        if kind != 2 {
            check_choice(component, &tap.values)?;
            extend(&mut data, "values", json!(tap.values));
        }
        let id = open(core, state, now, (tap.r#as, tap.channel, Some(tap.message)), (3, data));
        Ok(json!({"interaction_id": id}))
    })
}

fn check_choice(select: &Value, values: &[String]) -> Result<(), Refused> {
    let least = select["min_values"].as_u64().unwrap_or(1) as usize;
    let most = select["max_values"].as_u64().unwrap_or(1) as usize;
    let known = |v: &String| {
        let options = select["options"].as_array();
        options.is_none_or(|o| o.iter().any(|o| o["value"].as_str() == Some(v)))
    };
    if !(least..=most).contains(&values.len()) || !values.iter().all(known) {
        return Err(Refused::new(400, "These values cannot be chosen here."));
    }
    Ok(())
}

/// Sends a form that was filled in.
pub fn submit(core: &Core, submit: Submit) -> Result<Value, Refused> {
    core.with(|state, now| {
        player(state, submit.r#as)?;
        let call = state.calls.get(submit.interaction_id).filter(|c| c.user == submit.r#as).cloned();
        let call = call.ok_or_else(|| Refused::gone("There is no such press of this person."))?;
        let modal = call.modal.ok_or_else(|| Refused::new(409, "The bot answered with no form."))?;
        let mut list = modal["components"].as_array().cloned().unwrap_or_default();
        tree::number(&mut list);
        if let Some(name) = submit.fields.keys().find(|k| tree::find(&list, k).is_none()) {
            return Err(Refused::new(400, &format!("The form has no field {name:?}.")));
        }
        let filled: Result<Vec<Value>, Refused> = list.iter().map(|c| fill(c, &submit.fields)).collect();
        let data = json!({"custom_id": modal["custom_id"], "components": filled?, "resolved": {}});
        let id = open(core, state, now, (submit.r#as, call.channel, call.message), (5, data));
        Ok(json!({"interaction_id": id}))
    })
}

/// A form's component as it comes back.
fn fill(component: &Value, fields: &BTreeMap<String, String>) -> Result<Value, Refused> {
    let base = json!({"type": component["type"], "id": component["id"]});
    let with = |key: &str, value: Value| {
        let mut out = base.clone();
        extend(&mut out, key, value);
        out
    };
    match component["type"].as_u64() {
        Some(18) => Ok(with("component", fill(&component["component"], fields)?)),
        Some(1) => {
            let children = component["components"].as_array().map(Vec::as_slice).unwrap_or_default();
            let filled: Result<Vec<Value>, Refused> = children.iter().map(|c| fill(c, fields)).collect();
            Ok(with("components", Value::Array(filled?)))
        }
        Some(kind @ (3 | 4)) => {
            let id = component["custom_id"].as_str().unwrap_or_default();
            let preset = component["value"].as_str().unwrap_or_default();
            let value = fields.get(id).map_or(preset, String::as_str);
            let length = value.chars().count() as u64;
            let required = component["required"].as_bool().unwrap_or(true);
            let most = component["max_length"].as_u64().unwrap_or(4000);
            let least = component["min_length"].as_u64().unwrap_or(0);
            if (required && length == 0) || length > most || (length > 0 && length < least) {
                return Err(Refused::new(400, &format!("The field {id:?} is too short or too long.")));
            }
            let mut out = with("custom_id", id.into());
            if kind == 4 {
                extend(&mut out, "value", value.into());
            } else {
                extend(&mut out, "values", json!([value]));
            }
            Ok(out)
        }
        _ => Ok(base),
    }
}

/// Makes an interaction and tells the bot. With nobody connected it fails after 3 s, as on Discord.
fn open(
    core: &Core,
    state: &mut State,
    now: Millis,
    (user, channel, message): (UserId, ChannelId, Option<MessageId>),
    (kind, data): (u64, Value),
) -> InteractionId {
    let id = InteractionId(state.world.id(now));
    let token = format!("aW50ZXJhY3Rpb246{}", core.entropy.hex::<32>());
    let meta = state.world.meta.clone();
    let show = core.show(&state.world, now);
    let place = state.world.channels.get(&channel);
    let dm = place.is_some_and(|c| c.kind == Kind::Dm);
    let permissions = place.map_or(0, |c| state.world.bot_permissions(c));
    let mut event = json!({
        "id": id, "application_id": meta.application, "type": kind, "token": token, "version": 1, "data": data,
        "channel_id": channel, "channel": place.map(|c| show.channel(c)), "app_permissions": permissions.to_string(),
        "locale": "en-US", "entitlements": [], "entitlement_sku_ids": [], "context": u8::from(dm),
        "authorizing_integration_owners": {"0": if dm { "0".to_owned() } else { meta.guild.to_string() }},
        "attachment_size_limit": core.settings.upload_limit,
    });
    if let Some(message) = message.and_then(|m| state.world.message(channel, m)) {
        extend(&mut event, "message", show.message(message));
    }
    if dm {
        extend(&mut event, "user", show.user(user));
    } else {
        let owner = state.world.person(user).is_some_and(|p| p.role == Role::Owner);
        let bits = if owner { (1 << 53) - 1 } else { permission::EVERYONE };
        let mut member = show.member(user, true);
        extend(&mut member, "permissions", bits.to_string().into());
        extend(&mut event, "member", member);
        extend(&mut event, "guild_id", meta.guild.to_string().into());
        extend(&mut event, "guild_locale", "en-US".into());
        extend(&mut event, "guild", json!({"id": meta.guild, "locale": "en-US", "features": []}));
    }
    state.calls.open(Call {
        id,
        token,
        user,
        channel,
        message,
        kind,
        at: now,
        answered: None,
        failed: false,
        modal: None,
        original: None,
        private: false,
    });
    state.hub.dispatch(Dispatch { name: "INTERACTION_CREATE", intent: 0, data: event, blank: None }, now);
    id
}

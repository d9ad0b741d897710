//! Messages, cards, forms and answers, as Discord's JSON.

use serde_json::{Map, Value, json};

use crate::base::ids::UserId;
use crate::discord::Nonce;
use crate::model::card::{Block, Body, Button, ButtonStyle, Card, Post, Select};
use crate::model::reply::{Field, Form, Reply};

/// Only the person who acted sees the message.
const EPHEMERAL: u64 = 64;
/// The message is made of components; never removable from it (facts.md 3.2).
const IS_COMPONENTS_V2: u64 = 1 << 15;

/// Component types (facts.md 3.2).
const ROW: u64 = 1;
const BUTTON: u64 = 2;
const STRING_SELECT: u64 = 3;
const TEXT_INPUT: u64 = 4;
const TEXT_DISPLAY: u64 = 10;
const SEPARATOR: u64 = 14;
const CONTAINER: u64 = 17;
const LABEL: u64 = 18;

/// Callback types (facts.md section 3).
const CHANNEL_MESSAGE: u64 = 4;
const DEFERRED_UPDATE: u64 = 6;
const UPDATE_MESSAGE: u64 = 7;
const MODAL: u64 = 9;

/// A message to create. With a nonce, the same nonce makes no second message. A reply to a message that is gone
/// becomes a plain message.
pub fn post_json(post: &Post, nonce: Option<&Nonce>) -> Value {
    let mut out = body(&post.body);
    out.insert("allowed_mentions".into(), allowed_mentions(&post.pings));
    if let Some(target) = post.reply_to {
        out.insert("message_reference".into(), json!({"message_id": target, "fail_if_not_exists": false}));
    }
    if let Some(Nonce(nonce)) = nonce {
        out.insert("nonce".into(), json!(nonce));
        out.insert("enforce_nonce".into(), json!(true));
    }
    Value::Object(out)
}

/// What a message says, without anything around it.
pub fn body_json(what: &Body) -> Value {
    Value::Object(body(what))
}

/// The change of a message: pings nobody, also where the first post did (mentions are parsed again by an edit).
pub fn edit_json(what: &Body) -> Value {
    let mut out = body(what);
    if matches!(what, Body::Card(_)) {
        // A plain message becomes a card only when its content is taken away in the same edit.
        out.insert("content".into(), Value::Null);
    }
    out.insert("allowed_mentions".into(), allowed_mentions(&[]));
    Value::Object(out)
}

/// The first answer to an interaction.
pub fn reply_json(reply: &Reply) -> Value {
    match reply {
        Reply::Private(what) => {
            let mut data = body(what);
            let flags = data.get("flags").and_then(Value::as_u64).unwrap_or(0);
            data.insert("flags".into(), json!(flags | EPHEMERAL));
            data.insert("allowed_mentions".into(), allowed_mentions(&[]));
            json!({"type": CHANNEL_MESSAGE, "data": data})
        }
        // A message that was a card once must stay one, and a plain one may become one: so a replacement always is.
        Reply::Replace(Body::Text(text)) => {
            let card = Value::Object(component_body(vec![text_display(text)]));
            json!({"type": UPDATE_MESSAGE, "data": replacing(card)})
        }
        Reply::Replace(what) => json!({"type": UPDATE_MESSAGE, "data": replacing(body_json(what))}),
        Reply::Seen => json!({"type": DEFERRED_UPDATE}),
        Reply::Form(what) => json!({"type": MODAL, "data": form(what)}),
    }
}

fn replacing(mut data: Value) -> Value {
    data["content"] = Value::Null;
    data["allowed_mentions"] = allowed_mentions(&[]);
    data
}

/// Nobody is pinged but who is named (I-20).
fn allowed_mentions(pings: &[UserId]) -> Value {
    let mut out = json!({"parse": [], "replied_user": false});
    if !pings.is_empty() {
        let mut once: Vec<UserId> = Vec::new();
        for user in pings {
            if !once.contains(user) {
                once.push(*user);
            }
        }
        out["users"] = json!(once);
    }
    out
}

fn body(what: &Body) -> Map<String, Value> {
    match what {
        Body::Text(text) => Map::from_iter([("content".to_owned(), json!(text))]),
        Body::Card(card) => component_body(vec![container(card)]),
    }
}

fn component_body(components: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([("components".to_owned(), json!(components)), ("flags".to_owned(), json!(IS_COMPONENTS_V2))])
}

fn container(card: &Card) -> Value {
    let mut out = json!({"type": CONTAINER, "components": card.blocks.iter().map(block).collect::<Vec<_>>()});
    if let Some(accent) = card.accent {
        out["accent_color"] = json!(accent & 0x00FF_FFFF);
    }
    out
}

fn block(what: &Block) -> Value {
    match what {
        Block::Text(text) => text_display(text),
        Block::Divider => json!({"type": SEPARATOR, "divider": true, "spacing": 1}),
        Block::Buttons(buttons) => {
            json!({"type": ROW, "components": buttons.iter().map(button).collect::<Vec<_>>()})
        }
        Block::Menu(menu) => json!({"type": ROW, "components": [select(menu)]}),
    }
}

fn text_display(text: &str) -> Value {
    json!({"type": TEXT_DISPLAY, "content": text})
}

fn button(what: &Button) -> Value {
    match what {
        Button::Press { style, label, custom_id, disabled } => {
            let style = match style {
                ButtonStyle::Primary => 1,
                ButtonStyle::Secondary => 2,
                ButtonStyle::Success => 3,
                ButtonStyle::Danger => 4,
            };
            json!({"type": BUTTON, "style": style, "label": label, "custom_id": custom_id, "disabled": disabled})
        }
        Button::Link { label, url } => json!({"type": BUTTON, "style": 5, "label": label, "url": url}),
    }
}

fn select(menu: &Select) -> Value {
    let options: Vec<Value> = menu
        .choices
        .iter()
        .map(|choice| {
            let mut option = json!({"label": choice.label, "value": choice.value});
            if let Some(description) = &choice.description {
                option["description"] = json!(description);
            }
            option
        })
        .collect();
    let mut out = json!({"type": STRING_SELECT, "custom_id": menu.custom_id, "options": options, "min_values": 1, "max_values": 1});
    if !menu.placeholder.is_empty() {
        out["placeholder"] = json!(menu.placeholder);
    }
    out
}

fn form(what: &Form) -> Value {
    let fields: Vec<Value> = what.fields.iter().map(field).collect();
    json!({"custom_id": what.custom_id, "title": what.title, "components": fields})
}

fn field(what: &Field) -> Value {
    let style = if what.paragraph { 2 } else { 1 };
    let mut input = json!({
        "type": TEXT_INPUT, "custom_id": what.custom_id, "style": style, "required": true, "max_length": what.max_length,
    });
    if !what.placeholder.is_empty() {
        input["placeholder"] = json!(what.placeholder);
    }
    json!({"type": LABEL, "label": what.label, "component": input})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::MessageId;
    use crate::discord::wire::message;
    use crate::model::card::Choice;

    fn card() -> Card {
        let press = |custom_id: &str, disabled| Button::Press {
            style: ButtonStyle::Danger,
            label: "Off".into(),
            custom_id: custom_id.into(),
            disabled,
        };
        let choice = Choice { label: "DOS-1".into(), value: "r1".into(), description: None };
        Card {
            accent: Some(0x00AA_FF01),
            blocks: vec![
                Block::Text("one".into()),
                Block::Divider,
                Block::Buttons(vec![
                    press("a", false),
                    press("b", true),
                    Button::Link { label: "Go".into(), url: "https://discord.com/channels/@me/1/2".into() },
                ]),
                Block::Menu(Select { custom_id: "c".into(), placeholder: "Jobs".into(), choices: vec![choice] }),
                Block::Text("two".into()),
            ],
        }
    }

    #[test]
    fn a_card_that_is_sent_reads_back_the_same() {
        let mut sent = post_json(&Post::card(card()), Some(&Nonce("n1".into())));
        assert_eq!(sent["flags"], 32768);
        assert!(sent.get("content").is_none());
        for (key, value) in
            [("id", json!("1")), ("channel_id", json!("2")), ("author", json!({"id": "3", "bot": true}))]
        {
            sent[key] = value;
        }
        let heard = message(&sent).unwrap();
        assert_eq!(heard.custom_ids, ["a", "b", "c"]);
        assert_eq!(heard.component_text, ["one", "two"]);
        assert_eq!(heard.nonce.as_deref(), Some("n1"));
    }

    #[test]
    fn i_20_nobody_is_pinged_unless_named() {
        let quiet = json!({"parse": [], "replied_user": false});
        let text = Body::Text("@everyone".into());
        let named = Post { pings: vec![UserId(5), UserId(5)], ..Post::text("hi") }.replying(MessageId(9));
        let sent = post_json(&named, None);
        assert_eq!(sent["allowed_mentions"], json!({"parse": [], "replied_user": false, "users": ["5"]}));
        assert_eq!(sent["message_reference"], json!({"message_id": "9", "fail_if_not_exists": false}));
        assert!(sent.get("nonce").is_none() && sent.get("enforce_nonce").is_none());
        assert_eq!(post_json(&Post::text("hi"), None)["allowed_mentions"], quiet);
        assert_eq!(edit_json(&text)["allowed_mentions"], quiet);
        for reply in [Reply::Private(text.clone()), Reply::Replace(text), Reply::Replace(Body::Card(card()))] {
            assert_eq!(reply_json(&reply)["data"]["allowed_mentions"], quiet);
        }
    }

    #[test]
    fn every_answer_has_its_callback_type() {
        let text = || Body::Text("done".into());
        let private = reply_json(&Reply::Private(text()));
        assert_eq!((&private["type"], &private["data"]["flags"]), (&json!(4), &json!(64)));
        assert_eq!(reply_json(&Reply::Private(Body::Card(card())))["data"]["flags"], 64 + 32768);
        assert_eq!(reply_json(&Reply::Seen), json!({"type": 6}));
        let replaced = reply_json(&Reply::Replace(text()));
        assert_eq!(replaced["type"], 7);
        assert_eq!(replaced["data"]["components"], json!([{"type": 10, "content": "done"}]));
        assert_eq!((&replaced["data"]["flags"], &replaced["data"]["content"]), (&json!(32768), &Value::Null));
    }

    #[test]
    fn a_form_is_made_of_labels() {
        let field = Field {
            custom_id: "text".into(),
            label: "What is to be done?".into(),
            placeholder: String::new(),
            paragraph: true,
            max_length: 4000,
        };
        let sent = reply_json(&Reply::Form(Form { custom_id: "f".into(), title: "Ask".into(), fields: vec![field] }));
        let input = json!({"type": 4, "custom_id": "text", "style": 2, "required": true, "max_length": 4000});
        let label = json!({"type": 18, "label": "What is to be done?", "component": input});
        assert_eq!(sent, json!({"type": 9, "data": {"custom_id": "f", "title": "Ask", "components": [label]}}));
    }
}

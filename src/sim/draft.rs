//! Message bodies as clients send them: read, checked, and turned into a draft (discord/facts.md sections 3 and 4).

use serde_json::{Map, Value};

use super::components;
use super::rules::{Form, Refusal, join};
use super::thing::{COMPONENTS_V2, EPHEMERAL, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS};
use super::tree;
use crate::base::ids::{MessageId, UserId};

/// Most characters of `content` for a bot.
pub const CONTENT: usize = 2000;
/// Most files of a message (30015).
pub const FILES: usize = 10;
/// Most characters of an embeds' texts together.
const EMBED_TEXT: usize = 6000;

/// Which route a body came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// POST to a channel.
    Create,
    /// PATCH of a message.
    Edit,
    /// First answer to an interaction, or a follow-up.
    Answer,
}

/// Fields of an `attachments` entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileNote {
    /// Index of the uploaded part, or id of a kept file.
    pub id: String,
    /// Name, where it is given.
    pub filename: Option<String>,
    /// Alternative text.
    pub description: Option<String>,
    /// Title.
    pub title: Option<String>,
}

/// A body that passed. Fields that were absent are `None`; null counts as empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    /// Content.
    pub content: Option<String>,
    /// Embeds.
    pub embeds: Option<Vec<Value>>,
    /// Components, numbered.
    pub components: Option<Vec<Value>>,
    /// Flags that may be set.
    pub flags: u64,
    /// Nonce.
    pub nonce: Option<Value>,
    /// Whether the nonce is enforced.
    pub enforce_nonce: bool,
    /// Message it answers, and whether it must exist.
    pub reply_to: Option<(MessageId, bool)>,
    /// Who may be pinged; `None` is the route's default.
    pub pings: Option<Pings>,
    /// Files, in the client's order.
    pub attachments: Option<Vec<FileNote>>,
    /// Names that components refer to.
    pub referred: Vec<String>,
}

/// `allowed_mentions`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pings {
    /// Every user in the text.
    pub all_users: bool,
    /// Just these.
    pub users: Vec<UserId>,
    /// The author of the message that is answered.
    pub replied_user: bool,
}

impl Draft {
    /// Whether it says anything at all (50006).
    pub fn empty(&self, files: usize) -> bool {
        let no_text = self.content.as_deref().is_none_or(|c| c.trim().is_empty());
        let no_embeds = self.embeds.as_ref().is_none_or(Vec::is_empty);
        let no_components = self.components.as_ref().is_none_or(Vec::is_empty);
        no_text && no_embeds && no_components && files == 0
    }

    /// People that a text pings, by what is allowed.
    pub fn pinged(&self, mentioned: &[UserId], replied: Option<UserId>) -> Vec<UserId> {
        let mut out = Vec::new();
        match &self.pings {
            None => {
                out.extend(mentioned);
                out.extend(replied);
            }
            Some(pings) => {
                out.extend(mentioned.iter().filter(|u| pings.all_users || pings.users.contains(u)));
                out.extend(replied.filter(|_| pings.replied_user));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Reads a body. `was_v2` is whether the message that is edited carries the v2 flag already, `files` how many parts
/// were uploaded with it.
pub fn read(body: &Value, way: Way, was_v2: bool, files: usize) -> Result<Draft, Refusal> {
    let Some(object) = body.as_object() else {
        return Err(
            Refusal::new(400, 50_109, "The request body contains invalid JSON.").violating("A body is no object.")
        );
    };
    let mut form = Form::default();
    let mut known = vec!["content", "embeds", "components", "flags", "allowed_mentions", "attachments", "tts"];
    if way == Way::Create {
        known.extend(["nonce", "enforce_nonce", "message_reference", "sticker_ids", "poll"]);
    }
    form.only("", object, &known);
    let mut draft = Draft { flags: flags(&mut form, object, way), ..Draft::default() };
    let v2 = was_v2 || draft.flags & COMPONENTS_V2 != 0;
    content(&mut form, object, &mut draft, v2);
    if object.contains_key("components") {
        let mut list = form.list("", object, "components").unwrap_or_default().to_vec();
        draft.referred = components::message(&mut form, &list, v2).files;
        tree::number(&mut list);
        draft.components = Some(list);
    }
    nonce(&mut form, object, &mut draft);
    draft.reply_to = reference(&mut form, object);
    draft.pings = pings(&mut form, object);
    draft.attachments = attachments(&mut form, object, files);
    if form.flag("", object, "tts") == Some(true) {
        form.add("tts", "UNKNOWN_VALUE", "The simulator does not speak.");
    }
    form.done()?;
    if draft.attachments.as_ref().map_or(0, Vec::len).max(files) > FILES {
        return Err(Refusal::new(400, 30_015, "Maximum number of attachments in a message reached (10)")
            .violating("Over 10 files."));
    }
    Ok(draft)
}

fn flags(form: &mut Form, object: &Map<String, Value>, way: Way) -> u64 {
    let flags = form.number("", object, "flags").unwrap_or(0);
    let allowed = match way {
        Way::Create => SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2,
        Way::Edit => SUPPRESS_EMBEDS | COMPONENTS_V2,
        Way::Answer => SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2 | EPHEMERAL,
    };
    if flags & !allowed != 0 {
        form.add("flags", "BITFIELD_TYPE_BITS_NOT_ALLOWED", "These flags cannot be set here.");
    }
    flags & allowed
}

fn content(form: &mut Form, object: &Map<String, Value>, draft: &mut Draft, v2: bool) {
    if object.contains_key("content") {
        let text = form.text("", object, "content").unwrap_or_default();
        form.length("content", text, 0..=CONTENT);
        if v2 && !text.is_empty() {
            form.add(
                "content",
                "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
            );
        }
        draft.content = Some(super::rules::stored_text(text));
    }
    if object.contains_key("embeds") {
        let list = form.list("", object, "embeds").unwrap_or_default();
        form.count("embeds", list.len(), 0..=10);
        if v2 && !list.is_empty() {
            form.add(
                "embeds",
                "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                "The 'embeds' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
            );
        }
        embeds(form, list);
        draft.embeds = Some(list.to_vec());
    }
    for key in ["poll", "sticker_ids"] {
        if object.get(key).is_some_and(|v| !v.is_null()) {
            form.add(key, "UNKNOWN_FIELD", "The simulator does not know this field yet.");
        }
    }
}

fn embeds(form: &mut Form, list: &[Value]) {
    let mut sum = 0;
    for (n, embed) in list.iter().enumerate() {
        let at = join("embeds", n);
        let Some(object) = embed.as_object() else {
            form.add(&at, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
            continue;
        };
        let known = [
            "title",
            "description",
            "url",
            "timestamp",
            "color",
            "footer",
            "image",
            "thumbnail",
            "author",
            "fields",
            "type",
        ];
        form.only(&at, object, &known);
        for (key, most) in [("title", 256), ("description", 4096)] {
            let text = form.text(&at, object, key).unwrap_or_default().trim();
            form.length(&join(&at, key), text, 0..=most);
            sum += text.chars().count();
        }
        let fields = form.list(&at, object, "fields").unwrap_or_default();
        form.count(&join(&at, "fields"), fields.len(), 0..=25);
        for (k, field) in fields.iter().enumerate() {
            for (key, most) in [("name", 256), ("value", 1024)] {
                let text = field[key].as_str().unwrap_or_default().trim();
                form.length(&format!("{at}.fields.{k}.{key}"), text, 1..=most);
                sum += text.chars().count();
            }
        }
        for (key, inner, most) in [("footer", "text", 2048), ("author", "name", 256)] {
            let text = embed[key][inner].as_str().unwrap_or_default().trim();
            form.length(&format!("{at}.{key}.{inner}"), text, 0..=most);
            sum += text.chars().count();
        }
    }
    if sum > EMBED_TEXT {
        form.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000");
    }
}

fn nonce(form: &mut Form, object: &Map<String, Value>, draft: &mut Draft) {
    match object.get("nonce") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            form.length("nonce", text, 1..=25);
            draft.nonce = Some(Value::String(text.clone()));
        }
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            draft.nonce = Some(Value::Number(number.clone()));
        }
        Some(_) => form.add("nonce", "NONCE_TYPE_CONVERT", "Could not interpret value as nonce."),
    }
    draft.enforce_nonce = form.flag("", object, "enforce_nonce").unwrap_or(false);
}

fn reference(form: &mut Form, object: &Map<String, Value>) -> Option<(MessageId, bool)> {
    let reference = object.get("message_reference").filter(|v| !v.is_null())?;
    let Some(reference) = reference.as_object() else {
        form.add("message_reference", "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
        return None;
    };
    form.only("message_reference", reference, &["type", "message_id", "channel_id", "guild_id", "fail_if_not_exists"]);
    if form.number("message_reference", reference, "type").unwrap_or(0) != 0 {
        form.add("message_reference.type", "UNKNOWN_VALUE", "The simulator does not forward yet.");
    }
    let must = form.flag("message_reference", reference, "fail_if_not_exists").unwrap_or(true);
    match form.text("message_reference", reference, "message_id").map(str::parse::<MessageId>) {
        Some(Ok(id)) => Some((id, must)),
        _ => {
            form.add("message_reference.message_id", "NUMBER_TYPE_COERCE", "Value is not snowflake.");
            None
        }
    }
}

fn pings(form: &mut Form, object: &Map<String, Value>) -> Option<Pings> {
    let allowed = object.get("allowed_mentions").filter(|v| !v.is_null())?;
    let Some(allowed) = allowed.as_object() else {
        form.add("allowed_mentions", "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
        return None;
    };
    form.only("allowed_mentions", allowed, &["parse", "users", "roles", "replied_user"]);
    let parse = form.list("allowed_mentions", allowed, "parse").unwrap_or_default().to_vec();
    if parse.iter().any(|p| !matches!(p.as_str(), Some("users" | "roles" | "everyone"))) {
        form.add("allowed_mentions.parse", "BASE_TYPE_CHOICES", "Value must be one of ('users', 'roles', 'everyone').");
    }
    let mut users = Vec::new();
    for key in ["users", "roles"] {
        let list = form.list("allowed_mentions", allowed, key).unwrap_or_default();
        let at = join("allowed_mentions", key);
        form.count(&at, list.len(), 0..=100);
        if !list.is_empty() && parse.iter().any(|p| p.as_str() == Some(key)) {
            form.add(
                &at,
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                &format!("parse:[\"{key}\"] and {key}: [ids...] are mutually exclusive."),
            );
        }
        for (n, id) in list.iter().enumerate() {
            match id.as_str().map(str::parse::<UserId>) {
                Some(Ok(id)) if key == "users" => users.push(id),
                Some(Ok(_)) => {}
                _ => form.add(&join(&at, n), "NUMBER_TYPE_COERCE", "Value is not snowflake."),
            }
        }
    }
    let replied_user = form.flag("allowed_mentions", allowed, "replied_user").unwrap_or(false);
    Some(Pings { all_users: parse.iter().any(|p| p.as_str() == Some("users")), users, replied_user })
}

fn attachments(form: &mut Form, object: &Map<String, Value>, files: usize) -> Option<Vec<FileNote>> {
    if !object.contains_key("attachments") {
        return None;
    }
    let mut out = Vec::new();
    for (n, entry) in form.list("", object, "attachments").unwrap_or_default().iter().enumerate() {
        let at = join("attachments", n);
        let Some(entry) = entry.as_object() else {
            form.add(&at, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
            continue;
        };
        form.only(&at, entry, &["id", "filename", "description", "title", "is_spoiler"]);
        let id = match entry.get("id") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        match id.parse::<u64>() {
            Ok(index) if index >= FILES as u64 || (index as usize) < files => {}
            _ => form.add(&join(&at, "id"), "ATTACHMENT_NOT_FOUND", "Attachment data not found"),
        }
        let description = form.text(&at, entry, "description").map(str::to_owned);
        form.length(&join(&at, "description"), description.as_deref().unwrap_or_default(), 0..=1024);
        let filename = form.text(&at, entry, "filename").map(str::to_owned);
        let title = form.text(&at, entry, "title").map(str::to_owned);
        out.push(FileNote { id, filename, description, title });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: Value) -> Option<(i64, String)> {
        read(&body, Way::Create, false, 1).err().map(|r| (r.code, r.violation.unwrap_or_default()))
    }

    #[test]
    fn what_discord_takes_passes() {
        for body in [
            json!({"content": "x".repeat(2000), "nonce": "n".repeat(25), "enforce_nonce": true}),
            json!({"content": "hi", "allowed_mentions": {"parse": []}, "message_reference": {"message_id": "5"}}),
            json!({"flags": 32768, "components": [{"type": 17, "accent_color": 255, "components": [
                {"type": 10, "content": "x"}, {"type": 14}, {"type": 1, "components": [
                {"type": 2, "style": 1, "label": "On", "custom_id": "on"}]}]}]}),
            json!({"components": [{"type": 1, "components": [{"type": 3, "custom_id": "s", "options":
                [{"label": "a", "value": "a"}]}]}]}),
            json!({"attachments": [{"id": 0, "filename": "a.txt", "description": "d"}]}),
        ] {
            assert_eq!(refused(body.clone()), None, "{body}");
        }
    }

    #[test]
    fn what_discord_refuses_is_refused() {
        let button = |id: &str| json!({"type": 2, "style": 1, "label": "On", "custom_id": id});
        let row = |buttons: Vec<Value>| json!({"components": [{"type": 1, "components": buttons}]});
        let texts = |n: usize, len: usize| {
            let list: Vec<Value> = (0..n).map(|_| json!({"type": 10, "content": "x".repeat(len)})).collect();
            json!({"flags": 32768, "components": list})
        };
        for (what, body) in [
            ("content", json!({"content": "x".repeat(2001)})),
            ("nonce", json!({"content": "x", "nonce": "n".repeat(26)})),
            ("colour", json!({"content": "x", "colour": 1})),
            ("flags", json!({"content": "x", "flags": 64})),
            ("content", json!({"content": "x", "flags": 32768})),
            (
                "allowed_mentions.users",
                json!({"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}),
            ),
            ("custom_id", row(vec![button("a"), button("a")])),
            ("custom_id", row(vec![button("")])),
            ("custom_id", row(vec![button(&"x".repeat(101))])),
            ("components.0.components", row((0..6).map(|n| button(&n.to_string())).collect())),
            ("label", row(vec![json!({"type": 2, "style": 1, "label": "x".repeat(81), "custom_id": "a"})])),
            ("url", row(vec![json!({"type": 2, "style": 5, "label": "x", "url": "ftp://x"})])),
            ("components", texts(41, 1)),
            ("components", texts(2, 2001)),
            ("components.0.type", json!({"components": [{"type": 10, "content": "x"}]})),
            ("attachments.0.id", json!({"attachments": [{"id": 3}]})),
            ("attachments.0.description", json!({"attachments": [{"id": 0, "description": "x".repeat(1025)}]})),
        ] {
            let (code, words) = refused(body.clone()).unwrap_or_else(|| panic!("{what} passed: {body}"));
            assert_eq!(code, 50_035);
            assert!(words.contains(what), "{what}: {words}");
        }
    }
}

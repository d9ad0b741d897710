//! Rules of message components and modals (discord/facts.md 3.2), checked as strictly as Discord does.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::rules::{Form, join};

/// Most components of a v2 message, nested ones counted.
const MOST: usize = 40;
/// Most characters of all Text Displays of a message.
const MOST_TEXT: usize = 4000;

/// Where a component stands; decides what may stand there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Legacy,
    Top,
    Container,
    Row,
    SectionText,
    Accessory,
    ModalTop,
    LabelChild,
    ModalRow,
}

impl Place {
    fn takes(self, kind: u64) -> bool {
        match self {
            Self::Legacy => kind == 1,
            Self::Top => matches!(kind, 1 | 9 | 10 | 12 | 13 | 14 | 17),
            Self::Container => matches!(kind, 1 | 9 | 10 | 12 | 13 | 14),
            Self::Row => matches!(kind, 2 | 3 | 5..=8),
            Self::SectionText => kind == 10,
            Self::Accessory => matches!(kind, 2 | 11),
            Self::ModalTop => matches!(kind, 1 | 10 | 18),
            Self::LabelChild => matches!(kind, 3..=8 | 19 | 21 | 22 | 23),
            Self::ModalRow => kind == 4,
        }
    }

    fn modal(self) -> bool {
        matches!(self, Self::ModalTop | Self::LabelChild | Self::ModalRow)
    }
}

/// One walk over a message's or modal's components.
struct Walk<'a> {
    form: &'a mut Form,
    count: usize,
    text: usize,
    custom_ids: HashSet<String>,
    ids: HashSet<u64>,
    files: Vec<String>,
}

/// What a walk found.
pub struct Found {
    /// Names behind `attachment://`.
    pub files: Vec<String>,
}

/// Checks a message's components. `v2` is whether the message carries flag 32768.
pub fn message(form: &mut Form, components: &[Value], v2: bool) -> Found {
    let mut walk = Walk::new(form);
    if !v2 {
        walk.form.count("components", components.len(), 0..=5);
    }
    let place = if v2 { Place::Top } else { Place::Legacy };
    walk.list("components", components, place);
    if walk.count > MOST {
        walk.form.add("components", "BASE_TYPE_BAD_LENGTH", "Must be 40 or fewer components in all.");
    }
    if walk.text > MOST_TEXT {
        walk.form.add("components", "BASE_TYPE_MAX_LENGTH", "Text must be 4000 or fewer in length in all.");
    }
    Found { files: walk.files }
}

/// Checks a modal: custom id, title, components.
pub fn modal(form: &mut Form, data: &Map<String, Value>) {
    form.only("data", data, &["custom_id", "title", "components"]);
    let title = form.text("data", data, "title").unwrap_or_default().to_owned();
    form.length("data.title", &title, 1..=45);
    let id = form.text("data", data, "custom_id").unwrap_or_default().to_owned();
    form.length("data.custom_id", &id, 1..=100);
    let list = form.list("data", data, "components").unwrap_or_default();
    form.count("data.components", list.len(), 1..=5);
    Walk::new(form).list("data.components", list, Place::ModalTop);
}

impl<'a> Walk<'a> {
    fn new(form: &'a mut Form) -> Self {
        Self { form, count: 0, text: 0, custom_ids: HashSet::new(), ids: HashSet::new(), files: Vec::new() }
    }

    fn list(&mut self, path: &str, list: &[Value], place: Place) {
        for (n, component) in list.iter().enumerate() {
            self.one(&join(path, n), component, place);
        }
    }

    fn one(&mut self, path: &str, component: &Value, place: Place) {
        self.count += 1;
        let Some(object) = component.as_object() else {
            return self.form.add(path, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
        };
        let Some(kind) = self.form.number(path, object, "type") else {
            return self.form.add(&join(path, "type"), "BASE_TYPE_REQUIRED", "This field is required");
        };
        if !place.takes(kind) {
            return self.form.add(&join(path, "type"), "BASE_TYPE_CHOICES", "This component is not allowed here.");
        }
        if let Some(id) = self.form.number(path, object, "id")
            && id != 0
            && !self.ids.insert(id)
        {
            self.form.add(&join(path, "id"), "COMPONENT_ID_DUPLICATED", "Component id is not unique.");
        }
        match kind {
            1 => self.row(path, object, place),
            2 => self.button(path, object),
            3..=8 if kind != 4 => self.select(path, object, kind, place),
            4 => self.text_input(path, object, place),
            9 => self.section(path, object),
            10 => self.text_display(path, object),
            11 => self.thumbnail(path, object),
            12 => self.gallery(path, object),
            13 => self.file(path, object),
            14 => self.separator(path, object),
            17 => self.container(path, object),
            18 => self.label(path, object),
            _ => self.other_input(path, object),
        }
    }

    fn row(&mut self, path: &str, object: &Map<String, Value>, place: Place) {
        self.form.only(path, object, &["type", "id", "components"]);
        let list = self.form.list(path, object, "components").unwrap_or_default();
        let at = join(path, "components");
        let selects = list.iter().filter(|c| c["type"].as_u64() != Some(2)).count();
        if place.modal() {
            self.form.count(&at, list.len(), 1..=1);
            return self.list(&at, list, Place::ModalRow);
        }
        self.form.count(&at, list.len(), 1..=5);
        if selects > 0 && list.len() > 1 {
            self.form.add(&at, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width");
        }
        self.list(&at, list, Place::Row);
    }

    fn custom_id(&mut self, path: &str, object: &Map<String, Value>) {
        let id = self.form.text(path, object, "custom_id").unwrap_or_default();
        self.form.length(&join(path, "custom_id"), id, 1..=100);
        if !self.custom_ids.insert(id.to_owned()) {
            let what = "Component custom id cannot be duplicated";
            self.form.add(&join(path, "custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", what);
        }
    }

    fn button(&mut self, path: &str, object: &Map<String, Value>) {
        let known = ["type", "id", "style", "label", "emoji", "custom_id", "url", "disabled", "sku_id"];
        self.form.only(path, object, &known);
        let style = self.form.number(path, object, "style").unwrap_or(0);
        let label = self.form.text(path, object, "label").unwrap_or_default();
        self.form.length(&join(path, "label"), label, usize::from(!object.contains_key("emoji"))..=80);
        self.form.flag(path, object, "disabled");
        match style {
            1..=4 => {
                self.custom_id(path, object);
                if object.contains_key("url") {
                    self.form.add(&join(path, "url"), "BUTTON_COMPONENT_INVALID_URL", "Only link buttons have a url.");
                }
            }
            5 => {
                let url = self.form.text(path, object, "url").unwrap_or_default();
                self.form.length(&join(path, "url"), url, 1..=512);
                if !(url.starts_with("https://") || url.starts_with("http://") || url.starts_with("discord://")) {
                    self.form.add(
                        &join(path, "url"),
                        "URL_TYPE_INVALID_SCHEME",
                        "Scheme must be one of http, https, discord.",
                    );
                }
                if object.contains_key("custom_id") {
                    let what = "A custom id and url cannot both be specified";
                    self.form.add(&join(path, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", what);
                }
            }
            _ => self.form.add(&join(path, "style"), "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5}."),
        }
    }

    fn select(&mut self, path: &str, object: &Map<String, Value>, kind: u64, place: Place) {
        let known = [
            "type",
            "id",
            "custom_id",
            "options",
            "placeholder",
            "min_values",
            "max_values",
            "disabled",
            "required",
            "default_values",
            "channel_types",
        ];
        self.form.only(path, object, &known);
        self.custom_id(path, object);
        let placeholder = self.form.text(path, object, "placeholder").unwrap_or_default();
        self.form.length(&join(path, "placeholder"), placeholder, 0..=150);
        if place == Place::LabelChild && object.contains_key("disabled") {
            self.form.add(&join(path, "disabled"), "BASE_TYPE_CHOICES", "Not allowed in a modal.");
        }
        let least = self.form.number(path, object, "min_values").unwrap_or(1);
        let most = self.form.number(path, object, "max_values").unwrap_or(1);
        if least > 25 || !(1..=25).contains(&most) || least > most {
            self.form.add(&join(path, "max_values"), "NUMBER_TYPE_MAX", "min_values 0 to 25, max_values 1 to 25.");
        }
        if kind != 3 {
            return;
        }
        let options = self.form.list(path, object, "options").unwrap_or_default();
        let at = join(path, "options");
        self.form.count(&at, options.len(), 1..=25);
        let mut values = HashSet::new();
        for (n, option) in options.iter().enumerate() {
            let at = join(&at, n);
            let Some(option) = option.as_object() else {
                self.form.add(&at, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType.");
                continue;
            };
            self.form.only(&at, option, &["label", "value", "description", "emoji", "default"]);
            for (key, least) in [("label", 1), ("value", 1), ("description", 0)] {
                let text = self.form.text(&at, option, key).unwrap_or_default();
                self.form.length(&join(&at, key), text, least..=100);
            }
            if !values.insert(option.get("value")) {
                self.form.add(
                    &join(&at, "value"),
                    "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
                    "The specified option value is already used",
                );
            }
        }
    }

    fn text_input(&mut self, path: &str, object: &Map<String, Value>, place: Place) {
        let known = [
            "type",
            "id",
            "custom_id",
            "style",
            "label",
            "min_length",
            "max_length",
            "required",
            "value",
            "placeholder",
        ];
        self.form.only(path, object, &known);
        self.custom_id(path, object);
        if !matches!(self.form.number(path, object, "style"), Some(1 | 2)) {
            self.form.add(&join(path, "style"), "BASE_TYPE_CHOICES", "Value must be one of {1, 2}.");
        }
        let label = self.form.text(path, object, "label");
        match (place, label) {
            (Place::LabelChild, Some(_)) => {
                self.form.add(&join(path, "label"), "BASE_TYPE_CHOICES", "Not allowed inside a label.");
            }
            (Place::LabelChild, None) => {}
            (_, label) => self.form.length(&join(path, "label"), label.unwrap_or_default(), 1..=45),
        }
        let placeholder = self.form.text(path, object, "placeholder").unwrap_or_default();
        self.form.length(&join(path, "placeholder"), placeholder, 0..=100);
        let value = self.form.text(path, object, "value").unwrap_or_default();
        self.form.length(&join(path, "value"), value, 0..=4000);
        let least = self.form.number(path, object, "min_length").unwrap_or(0);
        let most = self.form.number(path, object, "max_length").unwrap_or(4000);
        if least > most || !(1..=4000).contains(&most) {
            self.form.add(&join(path, "max_length"), "NUMBER_TYPE_MAX", "min_length 0 to 4000, max_length 1 to 4000.");
        }
    }

    fn section(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "components", "accessory"]);
        let list = self.form.list(path, object, "components").unwrap_or_default();
        let at = join(path, "components");
        self.form.count(&at, list.len(), 1..=3);
        self.list(&at, list, Place::SectionText);
        match object.get("accessory") {
            Some(accessory) => self.one(&join(path, "accessory"), accessory, Place::Accessory),
            None => self.form.add(&join(path, "accessory"), "BASE_TYPE_REQUIRED", "This field is required"),
        }
    }

    fn text_display(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "content"]);
        let text = self.form.text(path, object, "content").unwrap_or_default();
        self.form.length(&join(path, "content"), text, 1..=MOST_TEXT);
        self.text += text.chars().count();
    }

    fn media(&mut self, path: &str, object: &Map<String, Value>, key: &str, only_own: bool) {
        let at = join(&join(path, key), "url");
        let url = object.get(key).and_then(|m| m.get("url")).and_then(Value::as_str).unwrap_or_default();
        match url.strip_prefix("attachment://") {
            Some(name) => self.files.push(name.to_owned()),
            None if only_own || !url.starts_with("http") => {
                self.form.add(&at, "URL_TYPE_INVALID_SCHEME", "Scheme must be one of attachment.");
            }
            None => {}
        }
    }

    fn thumbnail(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "media", "description", "spoiler"]);
        self.media(path, object, "media", false);
        self.alt_text(path, object);
    }

    fn alt_text(&mut self, path: &str, object: &Map<String, Value>) {
        let text = self.form.text(path, object, "description").unwrap_or_default();
        self.form.length(&join(path, "description"), text, 0..=1024);
    }

    fn gallery(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "items"]);
        let list = self.form.list(path, object, "items").unwrap_or_default();
        let at = join(path, "items");
        self.form.count(&at, list.len(), 1..=10);
        for (n, item) in list.iter().enumerate() {
            let at = join(&at, n);
            if let Some(item) = item.as_object() {
                self.form.only(&at, item, &["media", "description", "spoiler"]);
                self.media(&at, item, "media", false);
                self.alt_text(&at, item);
            }
        }
    }

    fn file(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "file", "spoiler"]);
        self.media(path, object, "file", true);
    }

    fn separator(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "divider", "spacing"]);
        self.form.flag(path, object, "divider");
        if !matches!(self.form.number(path, object, "spacing"), None | Some(1 | 2)) {
            self.form.add(&join(path, "spacing"), "BASE_TYPE_CHOICES", "Value must be one of {1, 2}.");
        }
    }

    fn container(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "components", "accent_color", "spoiler"]);
        if self.form.number(path, object, "accent_color").is_some_and(|c| c > 0xFF_FFFF) {
            self.form.add(&join(path, "accent_color"), "NUMBER_TYPE_MAX", "Value must be at most 16777215.");
        }
        let list = self.form.list(path, object, "components").unwrap_or_default();
        let at = join(path, "components");
        self.form.count(&at, list.len(), 1..=MOST);
        self.list(&at, list, Place::Container);
    }

    fn label(&mut self, path: &str, object: &Map<String, Value>) {
        self.form.only(path, object, &["type", "id", "label", "description", "component"]);
        let label = self.form.text(path, object, "label").unwrap_or_default();
        self.form.length(&join(path, "label"), label, 1..=45);
        let text = self.form.text(path, object, "description").unwrap_or_default();
        self.form.length(&join(path, "description"), text, 0..=100);
        match object.get("component") {
            Some(child) => self.one(&join(path, "component"), child, Place::LabelChild),
            None => self.form.add(&join(path, "component"), "BASE_TYPE_REQUIRED", "This field is required"),
        }
    }

    fn other_input(&mut self, path: &str, object: &Map<String, Value>) {
        self.custom_id(path, object);
    }
}

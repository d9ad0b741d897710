//! What Discord refuses, as values: HTTP status, error code and nested errors (discord/facts.md section 11).

use serde_json::{Map, Value, json};

/// A refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// Discord's error code.
    pub code: i64,
    /// Its text.
    pub message: String,
    /// Nested field errors.
    pub errors: Option<Value>,
    /// Something this product should never send; kept for `/control/violations`.
    pub violation: Option<String>,
}

impl Refusal {
    /// A refusal that a correct client can meet.
    pub fn new(status: u16, code: i64, message: &str) -> Self {
        Self { status, code, message: message.to_owned(), errors: None, violation: None }
    }

    /// The body as Discord writes it.
    pub fn body(&self) -> Value {
        let mut body = json!({"message": self.message, "code": self.code});
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        body
    }

    /// The same, marked as something that must not have been sent.
    #[must_use]
    pub fn violating(mut self, what: impl Into<String>) -> Self {
        self.violation = Some(what.into());
        self
    }

    /// No such route.
    pub fn no_route(method: &str, path: &str) -> Self {
        Self::new(404, 0, "404: Not Found").violating(format!("{method} {path} is no route of the simulator."))
    }

    /// A token that is missing or wrong.
    pub fn unauthorized() -> Self {
        Self::new(401, 0, "401: Unauthorized")
    }

    /// A channel that is gone or was never there.
    pub fn unknown_channel() -> Self {
        Self::new(404, 10_003, "Unknown Channel")
    }

    /// A message that is gone or was never there.
    pub fn unknown_message() -> Self {
        Self::new(404, 10_008, "Unknown Message")
    }

    /// No VIEW_CHANNEL.
    pub fn no_access() -> Self {
        Self::new(403, 50_001, "Missing Access")
    }

    /// Another permission is missing.
    pub fn no_permission() -> Self {
        Self::new(403, 50_013, "Missing Permissions")
    }

    /// A message without anything in it.
    pub fn empty_message() -> Self {
        Self::new(400, 50_006, "Cannot send an empty message").violating("An empty message was sent.")
    }

    /// A thread that is archived.
    pub fn archived() -> Self {
        Self::new(403, 50_083, "Thread is archived")
    }

    /// A file or request that is too big.
    pub fn too_large() -> Self {
        Self::new(413, 40_005, "Request entity too large")
    }

    /// An interaction that is too old or never was.
    pub fn unknown_interaction() -> Self {
        Self::new(404, 10_062, "Unknown interaction")
    }

    /// A webhook token (of an interaction) that has run out or never was.
    pub fn unknown_webhook() -> Self {
        Self::new(401, 50_027, "Invalid Webhook Token")
    }

    /// One wrong field.
    pub fn field(path: &str, code: &str, message: &str) -> Self {
        let mut form = Form::default();
        form.add(path, code, message);
        form.refusal()
    }
}

/// Field errors of one body, collected and then answered together as code 50035.
#[derive(Debug, Default)]
pub struct Form {
    found: Vec<(String, String, String)>,
}

impl Form {
    /// Adds an error at a path such as `components.0.custom_id`; the empty path is the body itself.
    pub fn add(&mut self, path: &str, code: &str, message: &str) {
        self.found.push((path.to_owned(), code.to_owned(), message.to_owned()));
    }

    /// Checks a text's length in code points.
    pub fn length(&mut self, path: &str, text: &str, range: std::ops::RangeInclusive<usize>) {
        let count = text.chars().count();
        if count > *range.end() {
            let what = format!("Must be {} or fewer in length.", range.end());
            self.add(path, "BASE_TYPE_MAX_LENGTH", &what);
        } else if count < *range.start() {
            let what = format!("Must be {} or more in length.", range.start());
            self.add(path, if count == 0 { "BASE_TYPE_REQUIRED" } else { "BASE_TYPE_MIN_LENGTH" }, &what);
        }
    }

    /// Checks a number of things.
    pub fn count(&mut self, path: &str, count: usize, range: std::ops::RangeInclusive<usize>) {
        if !range.contains(&count) {
            let what = format!("Must be between {} and {} in length.", range.start(), range.end());
            self.add(path, "BASE_TYPE_BAD_LENGTH", &what);
        }
    }

    /// Refuses keys that are not known.
    pub fn only(&mut self, path: &str, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|k| !known.contains(&k.as_str())) {
            self.add(&join(path, key), "UNKNOWN_FIELD", "The simulator does not know this field.");
        }
    }

    /// A text field, if it is there and is one.
    pub fn text<'a>(&mut self, path: &str, object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.add(&join(path, key), "STRING_TYPE_CONVERT", "Could not interpret value as string.");
                None
            }
        }
    }

    /// A whole number, if it is there and is one.
    pub fn number(&mut self, path: &str, object: &Map<String, Value>, key: &str) -> Option<u64> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(value) => value.as_u64().or_else(|| {
                self.add(&join(path, key), "NUMBER_TYPE_COERCE", "Value is not a whole number.");
                None
            }),
        }
    }

    /// A yes or no, if it is there and is one.
    pub fn flag(&mut self, path: &str, object: &Map<String, Value>, key: &str) -> Option<bool> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(b)) => Some(*b),
            Some(_) => {
                self.add(&join(path, key), "BOOLEAN_TYPE_CONVERT", "Must be either true or false.");
                None
            }
        }
    }

    /// A list, if it is there and is one.
    pub fn list<'a>(&mut self, path: &str, object: &'a Map<String, Value>, key: &str) -> Option<&'a [Value]> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::Array(list)) => Some(list),
            Some(_) => {
                self.add(&join(path, key), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType.");
                None
            }
        }
    }

    /// Nothing wrong so far.
    pub fn clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Refuses when something was wrong.
    pub fn done(self) -> Result<(), Refusal> {
        if self.clean() { Ok(()) } else { Err(self.refusal()) }
    }

    fn refusal(self) -> Refusal {
        let mut errors = json!({});
        let mut words = Vec::new();
        for (path, code, message) in &self.found {
            let mut at = &mut errors;
            for step in path.split('.').filter(|s| !s.is_empty()) {
                at = &mut at[step];
            }
            let entry = json!({"code": code, "message": message});
            match at["_errors"].as_array_mut() {
                Some(list) => list.push(entry),
                None => at["_errors"] = json!([entry]),
            }
            words.push(format!("{}: {message}", if path.is_empty() { "body" } else { path }));
        }
        let mut refusal = Refusal::new(400, 50_035, "Invalid Form Body").violating(words.join(" "));
        refusal.errors = Some(errors);
        refusal
    }
}

/// A path one step deeper.
pub fn join(path: &str, key: impl std::fmt::Display) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// Whether a User-Agent follows Discord's rule: `DiscordBot (url, version)`, more may follow (facts.md section 1).
pub fn user_agent_fits(agent: Option<&str>) -> bool {
    let Some(rest) = agent.and_then(|a| a.strip_prefix("DiscordBot (")) else { return false };
    let Some((inside, _)) = rest.split_once(')') else { return false };
    inside.split_once(',').is_some_and(|(url, version)| !url.trim().is_empty() && !version.trim().is_empty())
}

/// A file's name as Discord keeps it, and the stem of the true one where it was rewritten (facts.md section 5).
pub fn stored_name(name: &str) -> (String, Option<String>) {
    let spaced: String = name.chars().map(|c| if matches!(c, '/' | '\\') { ' ' } else { c }).collect();
    let joined = spaced.split_whitespace().collect::<Vec<_>>().join("_");
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')).collect()
    };
    let clean = plain(&joined).trim_matches(['.', '_']).to_owned();
    if clean == name {
        return (clean, None);
    }
    let ending = name.rsplit_once('.').map(|(_, e)| e).filter(|e| e.chars().all(|c| c.is_ascii_alphanumeric()));
    let stem = ending.map_or(name, |e| &name[..name.len() - e.len() - 1]);
    let kept = if plain(stem).chars().any(|c| c.is_ascii_alphanumeric()) {
        clean
    } else {
        // Nothing of the stem is left: Discord makes a name up and keeps the ending.
        let digest = crate::base::hash::Sha256::of(name).to_string();
        match ending.filter(|e| !e.is_empty()) {
            Some(ending) => format!("{}.{ending}", &digest[..12]),
            None => digest[..12].to_owned(),
        }
    };
    (kept, Some(stem.to_owned()))
}

/// Text as Discord stores it: edges trimmed, control characters gone (facts.md section 4).
pub fn stored_text(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_errors_have_discords_form() {
        let refusal = Refusal::field("components.0.custom_id", "BASE_TYPE_REQUIRED", "This field is required");
        assert_eq!(
            refusal.body(),
            json!({"code": 50035, "message": "Invalid Form Body", "errors": {"components": {"0": {"custom_id":
                {"_errors": [{"code": "BASE_TYPE_REQUIRED", "message": "This field is required"}]}}}}})
        );
        assert!(refusal.violation.is_some());
    }

    #[test]
    fn user_agents_follow_the_rule() {
        for (agent, fits) in [
            (Some("DiscordBot (https://example.org, 1.0)"), true),
            (Some("DiscordBot (https://example.org, 1.0) rust"), true),
            (Some("DiscordBot"), false),
            (Some("DiscordBot (, )"), false),
            (Some("Mozilla/5.0"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(user_agent_fits(agent), fits, "{agent:?}");
        }
    }

    #[test]
    fn names_are_rewritten_as_discord_does() {
        for (name, stored, title) in [
            ("report.md", "report.md", None),
            ("my report.md", "my_report.md", Some("my report")),
            ("a \"b\" 'c'.txt", "a_b_c.txt", Some("a \"b\" 'c'")),
            ("../../etc/passwd", "etc_passwd", Some("../../etc/passwd")),
            ("_x.txt", "x.txt", Some("_x")),
            ("größe.txt", "gre.txt", Some("größe")),
        ] {
            let (kept, was) = stored_name(name);
            assert_eq!((kept.as_str(), was.as_deref()), (stored, title), "{name}");
        }
        let (kept, title) = stored_name("报告.txt");
        assert!(kept.ends_with(".txt") && kept.len() == 16, "{kept}");
        assert_eq!(title.as_deref(), Some("报告"));
    }

    #[test]
    fn text_is_trimmed_and_cleaned() {
        assert_eq!(stored_text("  a\u{7}b\n c \n"), "ab\n c");
    }
}

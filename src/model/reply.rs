//! The first answer to an interaction: decided in the transaction that took it, sent within 3 s.

use serde::Serialize;

use super::card::Body;

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Name of the value when the form comes back.
    pub custom_id: String,
    /// At most 45 characters.
    pub label: String,
    /// At most 100 characters.
    pub placeholder: String,
    /// Several lines, or one.
    pub paragraph: bool,
    /// Most characters that may be typed, at most 4,000.
    pub max_length: u16,
}

/// A form (Discord's word is modal).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Form {
    /// Made by [`super::tap`].
    pub custom_id: String,
    /// At most 45 characters.
    pub title: String,
    /// 1 to 5.
    pub fields: Vec<Field>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Reply {
    /// A message that only the person sees (callback 4 with EPHEMERAL).
    Private(Body),
    /// The pressed message, changed (callback 7). Only for our own private messages: a mirror is the relay's.
    Replace(Body),
    /// «Seen»: the cards tell the rest (callback 6).
    Seen,
    /// A form to fill in (callback 9).
    Form(Form),
}

impl Reply {
    /// A private sentence.
    pub fn private(text: impl Into<String>) -> Self {
        Self::Private(Body::Text(text.into()))
    }
}

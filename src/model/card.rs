//! What we show, before it is Discord's JSON: text, buttons, a select. Rendered by `discord::wire`.

use serde::{Deserialize, Serialize};

use crate::base::ids::{MessageId, UserId};

/// Look of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ButtonStyle {
    /// Blurple.
    Primary,
    /// Grey.
    Secondary,
    /// Green.
    Success,
    /// Red.
    Danger,
}

/// Something to press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Button {
    /// Sends an interaction.
    Press {
        /// Look.
        style: ButtonStyle,
        /// At most 80 characters.
        label: String,
        /// Made by [`super::tap`]; at most 100 characters.
        custom_id: String,
        /// Shown, but cannot be pressed.
        disabled: bool,
    },
    /// Opens a link.
    Link {
        /// At most 80 characters.
        label: String,
        /// At most 512 characters. A jump link, never a CDN link (I-10).
        url: String,
    },
}

/// One choice of a [`Select`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// At most 100 characters.
    pub label: String,
    /// At most 100 characters.
    pub value: String,
    /// At most 100 characters.
    pub description: Option<String>,
}

/// A menu from which one thing is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {
    /// Made by [`super::tap`].
    pub custom_id: String,
    /// At most 150 characters.
    pub placeholder: String,
    /// 1 to 25.
    pub choices: Vec<Choice>,
}

/// One part of a card, from top to bottom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Block {
    /// Markdown.
    Text(String),
    /// A thin line.
    Divider,
    /// 1 to 5 buttons in a row.
    Buttons(Vec<Button>),
    /// A menu in a row of its own.
    Menu(Select),
}

/// A components-v2 message: one container with blocks in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Colour of the edge, `0xRRGGBB`.
    pub accent: Option<u32>,
    /// At most 40 components and 4,000 characters of text in all (discord/facts.md 3.2).
    pub blocks: Vec<Block>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Body {
    /// Plain content, at most 2,000 code points.
    Text(String),
    /// Components v2.
    Card(Card),
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// What it says.
    pub body: Body,
    /// Message it answers, if that still exists.
    pub reply_to: Option<MessageId>,
    /// People it may ping; nobody else is ever pinged (I-20).
    pub pings: Vec<UserId>,
}

impl Post {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { body: Body::Text(text.into()), reply_to: None, pings: Vec::new() }
    }

    /// A card.
    pub fn card(card: Card) -> Self {
        Self { body: Body::Card(card), reply_to: None, pings: Vec::new() }
    }

    /// The same, as an answer to a message.
    #[must_use]
    pub fn replying(mut self, to: MessageId) -> Self {
        self.reply_to = Some(to);
        self
    }
}

//! Discord's limits on what may be sent (discord/facts.md sections 3.2, 4, 5 and 7). Text is counted in code points.

use crate::model::card::{Block, Body, Button, Card, Post};
use crate::model::reply::Form;

/// Characters of a plain message.
pub const CONTENT: usize = 2000;
/// Characters of all text of a card together.
pub const CARD_TEXT: usize = 4000;
/// Components of a card, nested ones and the container included.
pub const COMPONENTS: usize = 40;
/// Above this sum of UTF-8 bytes plus 12 for each text, Discord answers 500 (#8554).
pub const CARD_TEXT_BYTES: usize = 10_170;
/// Buttons in a row.
pub const ROW_BUTTONS: usize = 5;
/// Choices of a select.
pub const CHOICES: usize = 25;
/// Characters of a custom id.
pub const CUSTOM_ID: usize = 100;
/// Characters of a button's label.
pub const BUTTON_LABEL: usize = 80;
/// Characters of a link button's address.
pub const LINK: usize = 512;
/// Characters of a choice's label, value and description, each.
pub const CHOICE: usize = 100;
/// Characters of a select's placeholder.
pub const PLACEHOLDER: usize = 150;
/// Characters of a form's title and of a field's label.
pub const TITLE: usize = 45;
/// Fields of a form.
pub const FIELDS: usize = 5;
/// Characters of a field's placeholder.
pub const FIELD_PLACEHOLDER: usize = 100;
/// Characters of a nonce.
pub const NONCE: usize = 25;
/// Accounts named in `allowed_mentions.users`.
pub const PINGS: usize = 100;
/// Files of a message.
pub const FILES: usize = 10;
/// Characters of an attachment's description.
pub const DESCRIPTION: usize = 1024;
/// Characters of a thread's name.
pub const THREAD_NAME: usize = 100;
/// Bytes of one file that every place takes: the older documented default, still enforced in some (#8572).
pub const FILE_FLOOR: u64 = 10_485_760;
/// Bytes of one file by the current documented default.
pub const FILE_DEFAULT: u64 = 20_971_520;

/// Why Discord would refuse a message: a sentence. `None` if it would not.
pub fn post_problem(post: &Post) -> Option<String> {
    if post.pings.len() > PINGS {
        return Some(format!("The message names {} people to ping; Discord takes {PINGS}.", post.pings.len()));
    }
    body_problem(&post.body)
}

/// Why Discord would refuse a body: a sentence. `None` if it would not.
pub fn body_problem(body: &Body) -> Option<String> {
    match body {
        Body::Text(text) if text.trim().is_empty() => Some("The message is empty.".to_owned()),
        Body::Text(text) => longer("The message", text, CONTENT),
        Body::Card(card) => card_problem(card),
    }
}

fn card_problem(card: &Card) -> Option<String> {
    let mut components = 1;
    let (mut characters, mut bytes) = (0, 0);
    for block in &card.blocks {
        components += 1;
        match block {
            Block::Text(text) if text.trim().is_empty() => return Some("A text of the card is empty.".to_owned()),
            Block::Text(text) => {
                characters += text.chars().count();
                bytes += text.len() + 12;
            }
            Block::Divider => {}
            Block::Buttons(buttons) => {
                components += buttons.len();
                if buttons.is_empty() || buttons.len() > ROW_BUTTONS {
                    return Some(format!("A row of the card has {} buttons; Discord takes 1 to 5.", buttons.len()));
                }
                if let Some(problem) = buttons.iter().find_map(button_problem) {
                    return Some(problem);
                }
            }
            Block::Menu(select) => {
                components += 1;
                if let Some(problem) = menu_problem(select) {
                    return Some(problem);
                }
            }
        }
    }
    let custom_ids: Vec<&str> = card.blocks.iter().flat_map(custom_ids).collect();
    let unique: std::collections::BTreeSet<&str> = custom_ids.iter().copied().collect();
    if unique.len() != custom_ids.len() {
        return Some("Two parts of the card have the same custom id.".to_owned());
    }
    over("components", components, COMPONENTS)
        .or_else(|| over("characters of text", characters, CARD_TEXT))
        .or_else(|| over("bytes of text", bytes, CARD_TEXT_BYTES))
        .or_else(|| card.blocks.is_empty().then(|| "The card is empty.".to_owned()))
}

fn custom_ids(block: &Block) -> Vec<&str> {
    match block {
        Block::Text(_) | Block::Divider => Vec::new(),
        Block::Menu(select) => vec![&select.custom_id],
        Block::Buttons(buttons) => buttons
            .iter()
            .filter_map(|button| match button {
                Button::Press { custom_id, .. } => Some(custom_id.as_str()),
                Button::Link { .. } => None,
            })
            .collect(),
    }
}

fn button_problem(button: &Button) -> Option<String> {
    match button {
        Button::Press { label, custom_id, .. } => {
            filled("A custom id", custom_id, CUSTOM_ID).or_else(|| filled("A button's label", label, BUTTON_LABEL))
        }
        Button::Link { label, url } => {
            filled("A link", url, LINK).or_else(|| filled("A button's label", label, BUTTON_LABEL))
        }
    }
}

fn menu_problem(select: &crate::model::card::Select) -> Option<String> {
    if select.choices.is_empty() || select.choices.len() > CHOICES {
        return Some(format!("A menu has {} choices; Discord takes 1 to {CHOICES}.", select.choices.len()));
    }
    let choices = select.choices.iter().find_map(|choice| {
        filled("A choice's label", &choice.label, CHOICE)
            .or_else(|| filled("A choice's value", &choice.value, CHOICE))
            .or_else(|| longer("A choice's description", choice.description.as_deref().unwrap_or(""), CHOICE))
    });
    filled("A custom id", &select.custom_id, CUSTOM_ID)
        .or_else(|| longer("A menu's placeholder", &select.placeholder, PLACEHOLDER))
        .or(choices)
}

/// Why Discord would refuse a form: a sentence. `None` if it would not.
pub fn form_problem(form: &Form) -> Option<String> {
    if form.fields.is_empty() || form.fields.len() > FIELDS {
        return Some(format!("The form has {} fields; Discord takes 1 to {FIELDS}.", form.fields.len()));
    }
    let fields = form.fields.iter().find_map(|field| {
        filled("A custom id", &field.custom_id, CUSTOM_ID)
            .or_else(|| filled("A field's label", &field.label, TITLE))
            .or_else(|| longer("A field's placeholder", &field.placeholder, FIELD_PLACEHOLDER))
            .or_else(|| {
                (!(1..=4000).contains(&field.max_length)).then(|| "A field takes 1 to 4000 characters.".to_owned())
            })
    });
    filled("A custom id", &form.custom_id, CUSTOM_ID)
        .or_else(|| filled("The form's title", &form.title, TITLE))
        .or(fields)
}

fn filled(what: &str, text: &str, most: usize) -> Option<String> {
    if text.is_empty() { Some(format!("{what} is empty.")) } else { longer(what, text, most) }
}

fn longer(what: &str, text: &str, most: usize) -> Option<String> {
    let count = text.chars().count();
    (count > most).then(|| format!("{what} has {count} characters; Discord takes {most}."))
}

fn over(what: &str, count: usize, most: usize) -> Option<String> {
    (count > most).then(|| format!("The card has {count} {what}; Discord takes {most}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::card::ButtonStyle;

    fn press(custom_id: &str) -> Button {
        let (label, custom_id) = ("On".to_owned(), custom_id.to_owned());
        Button::Press { style: ButtonStyle::Success, label, custom_id, disabled: false }
    }

    fn card(blocks: Vec<Block>) -> Option<String> {
        body_problem(&Body::Card(Card { accent: None, blocks }))
    }

    #[test]
    fn code_points_count_and_not_bytes() {
        assert_eq!(body_problem(&Body::Text("ä".repeat(2000))), None);
        assert!(body_problem(&Body::Text("ä".repeat(2001))).is_some());
        assert!(body_problem(&Body::Text(" \n".into())).is_some());
    }

    #[test]
    fn cards_are_measured_as_discord_does() {
        assert_eq!(card(vec![Block::Text("a".repeat(4000))]), None);
        assert!(card(vec![Block::Text("a".repeat(2001)), Block::Text("a".repeat(2000))]).is_some());
        assert!(card(vec![Block::Text("語".repeat(3400))]).unwrap().contains("bytes"));
        assert_eq!(card(vec![Block::Divider; 39]), None);
        assert!(card(vec![Block::Divider; 40]).unwrap().contains("41 components"));
        assert!(card(vec![]).is_some());
        assert!(card(vec![Block::Buttons(vec![])]).is_some());
        assert!(card(vec![Block::Buttons(vec![press("a"), press("a")])]).unwrap().contains("same custom id"));
        assert!(card(vec![Block::Buttons(vec![press(&"a".repeat(101))])]).is_some());
        assert_eq!(card(vec![Block::Buttons(vec![press("a"), press("b")])]), None);
    }
}

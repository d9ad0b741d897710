//! Discord's JSON: parsed into the model, and made from it.
//!
//! Reading is tolerant: what Discord adds later, leaves out or spells oddly must not cost us the message. Only what
//! the product cannot do without (ids, mostly) is an error, and nothing in here panics. serenity's types serve where
//! they lose nothing; messages, components and interactions are read from raw JSON, since serenity drops components
//! v2, unknown flag bits and the values of Label forms (discord/facts.md 3.3).

mod hear;
mod interaction;
mod parts;
mod read;
mod say;

pub use hear::{channel, gateway, me, member, message};
pub use interaction::interaction;
pub use read::{Unreadable, flag, id, number, text};
pub use say::{body_json, edit_json, post_json, reply_json};

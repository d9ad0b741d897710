//! Reads back what a channel shows, to find out whether a send that broke off happened (I-12).

use std::time::Duration;

use super::hands::Hands;
use crate::base::ids::{ChannelId, MessageId};
use crate::discord::error::DiscordError;
use crate::model::message::Message;

/// Messages of one page.
const PAGE: u8 = 100;

/// Pages that are read at most (I-17): 10,000 messages since the send was begun are hours of a lively channel.
const PAGES: usize = 100;

/// Clocks of this machine and of Discord may have drifted this far apart while a row waited.
const SKEW: Duration = Duration::from_secs(120);

/// What was found.
pub(super) enum Sight {
    /// Every message of ours since then.
    All(Vec<Message>),
    /// It cannot be told: a sentence that says why.
    Unclear(&'static str),
}

/// Our own messages in a channel, of the last `age` and a little more, and at least the newest hundred.
pub(super) async fn own_since(hands: &Hands, channel: ChannelId, age: Duration) -> Result<Sight, DiscordError> {
    let me = hands.me().await?;
    let newest = hands.discord.newest(channel, PAGE).await?;
    let ours = |messages: Vec<Message>| messages.into_iter().filter(|m| m.author == me).collect::<Vec<_>>();
    let (Some(first), Some(oldest)) = (newest.messages.first(), newest.messages.last()) else {
        // Without Read Message History Discord gives an empty list and no error (facts.md section 6).
        let something = hands.discord.channel(channel).await?.last_message.is_some();
        let unclear = "The channel's history cannot be read. Give the bot Read Message History.";
        return Ok(if something { Sight::Unclear(unclear) } else { Sight::All(Vec::new()) });
    };
    let now = newest.server_time.unwrap_or_else(|| first.id.created());
    let since = MessageId::at(now.minus(age).minus(SKEW));
    let oldest = oldest.id;
    if newest.messages.len() < usize::from(PAGE) || oldest <= since {
        return Ok(Sight::All(ours(newest.messages)));
    }
    let mut found = ours(newest.messages);
    let mut after = since;
    for _ in 0..PAGES {
        let page = hands.discord.after(channel, after, PAGE).await?.messages;
        let Some(last) = page.last().map(|m| m.id) else { return Ok(Sight::All(found)) };
        after = last;
        found.extend(ours(page));
        if after >= oldest {
            return Ok(Sight::All(found));
        }
    }
    Ok(Sight::Unclear("Too much was written since to find it again. Look in the channel."))
}

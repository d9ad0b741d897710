//! Where an object lies, and who may have it: the channel is the key (I-10).

use crate::base::failure::Failure;
use crate::base::ids::{ChannelId, GuildId};
use crate::discord::Discord;
use crate::model::object::Object;

/// A channel or thread with what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Channel or thread.
    pub channel: ChannelId,
    /// Channel of the thread, where `channel` is one.
    pub parent: Option<ChannelId>,
    /// Guild, where there is one.
    pub guild: Option<GuildId>,
}

/// Asks Discord what a channel belongs to.
///
/// # Errors
/// The channel is gone or not visible.
pub async fn look_up(discord: &dyn Discord, channel: ChannelId) -> Result<Place, Failure> {
    let found = discord.channel(channel).await?;
    let parent = if found.is_thread() { found.parent } else { None };
    Ok(Place { channel: found.id, parent, guild: found.guild })
}

/// Refuses a caller whose channel is not the object's own, or the parent of its thread (I-10).
///
/// # Errors
/// A refusal that does not say where the object lies.
pub fn same_channel(object: &Object, caller: ChannelId) -> Result<(), Failure> {
    if object.channel == caller || object.parent == Some(caller) {
        return Ok(());
    }
    Err(Failure::refused("That object belongs to another channel.")
        .hint("Name the channel that it was stored in with --channel-id."))
}

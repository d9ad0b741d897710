//! Mirrors: a Discord message that reflects state. Painted, compared by hash, posted once and edited after that.

use std::time::Duration;

use super::cards::mirror_arg;
use super::find::{Sight, own_since};
use super::hands::{Hands, Took, message_gone, took};
use super::paint::{Painted, Painter};
use crate::base::failure::LogAndGoOn;
use crate::base::ids::{ChannelId, MessageId, MirrorId};
use crate::discord::Nonce;
use crate::discord::error::{DiscordError, ErrorKind};
use crate::ledger::mirrors::{self, Mirror, MirrorState, Shown, Subject};
use crate::ledger::{Read, Result};
use crate::model::card::Post;
use crate::model::message::Message;
use crate::model::tap::Signed;

/// Makes the message of a mirror say what the ledger says.
pub(super) async fn serve(hands: &Hands, due: &Mirror) -> Result<Took> {
    let (painter, id) = (hands.painter.clone(), due.id);
    // Row and view in one snapshot: what is touched after it raises the revision again.
    let found = hands
        .ledger
        .read(move |read| {
            let Some(mirror) = mirrors::get(read, id)? else { return Ok(None) };
            let Some(channel) = mirror.channel else { return Ok(None) };
            let painted = painter.paint(read, &mirror, channel)?;
            Ok(Some((mirror, channel, painted)))
        })
        .await?;
    let Some((mirror, channel, painted)) = found else { return Ok(Took::Nothing) };
    let rev = mirror.wanted_rev;
    let Some(painted) = painted else { return same(hands, id, rev).await };
    match (mirror.state, mirror.message) {
        (MirrorState::Shown, Some(message)) => {
            if mirror.shown_hash.as_deref() == Some(painted.hash.as_str()) {
                return same(hands, id, rev).await;
            }
            edit(hands, &mirror, (channel, message), painted).await
        }
        (MirrorState::Posting, _) => match find_again(hands, &mirror, channel).await {
            Ok(Some(message)) => {
                // What it says is not known, so the revision stays behind and an edit follows.
                let shown = Shown { channel, message, hash: None, rev: mirror.shown_rev };
                hands.ledger.write("mirror-found", move |tx| mirrors::shown(tx, id, &shown)).await?;
                Ok(Took::Nothing)
            }
            Ok(None) => post(hands, &mirror, channel, painted).await,
            Err(error) => trouble(hands, &mirror, &error).await,
        },
        _ => post(hands, &mirror, channel, painted).await,
    }
}

async fn same(hands: &Hands, id: MirrorId, rev: i64) -> Result<Took> {
    hands.ledger.write("mirror-same", move |tx| mirrors::same(tx, id, rev)).await?;
    Ok(Took::Nothing)
}

async fn edit(hands: &Hands, mirror: &Mirror, at: (ChannelId, MessageId), painted: Painted) -> Result<Took> {
    let (channel, message) = at;
    match hands.discord.edit(channel, message, &painted.body).await {
        Ok(_) => note_shown(hands, mirror, at, painted.hash).await,
        Err(error) if message_gone(&error) => anew(hands, mirror.id).await,
        Err(error) if matches!(error.kind, ErrorKind::OldEdit | ErrorKind::Archived) => {
            // The old card goes first: two cards of one mirror could not be told apart after a crash.
            hands.discord.delete(channel, message).await.log_and_go_on("an old card could not be deleted");
            anew(hands, mirror.id).await
        }
        Err(error) => trouble(hands, mirror, &error).await,
    }
}

async fn anew(hands: &Hands, id: MirrorId) -> Result<Took> {
    hands.ledger.write("mirror-again", move |tx| mirrors::again(tx, id)).await?;
    Ok(Took::Nothing)
}

async fn post(hands: &Hands, mirror: &Mirror, channel: ChannelId, painted: Painted) -> Result<Took> {
    let (id, now) = (mirror.id, hands.clock.now());
    hands.ledger.write("mirror-post", move |tx| mirrors::posting(tx, id, channel, now)).await?;
    let post = Post { body: painted.body, reply_to: None, pings: Vec::new() };
    match hands.discord.send(channel, &post, &Nonce(mirror.nonce.clone())).await {
        Ok(sent) => note_shown(hands, mirror, (channel, sent.id), painted.hash).await,
        // The nonce is that of a message that somebody deleted meanwhile (facts.md section 4).
        Err(error) if message_gone(&error) => anew(hands, id).await,
        Err(error) => trouble(hands, mirror, &error).await,
    }
}

async fn note_shown(hands: &Hands, mirror: &Mirror, at: (ChannelId, MessageId), hash: String) -> Result<Took> {
    let (id, rev) = (mirror.id, mirror.wanted_rev);
    let shown = Shown { channel: at.0, message: at.1, hash: Some(hash), rev };
    hands.ledger.write("mirror-shown", move |tx| mirrors::shown(tx, id, &shown)).await?;
    Ok(Took::Edit)
}

async fn trouble(hands: &Hands, mirror: &Mirror, error: &DiscordError) -> Result<Took> {
    let (id, why) = (mirror.id, error.message.clone());
    if error.kind == ErrorKind::NotFound && matches!(mirror.subject, Subject::Job(_)) {
        // Its thread is gone, by somebody's wish.
        hands.ledger.write("mirror-closed", move |tx| mirrors::close(tx, id, &why)).await?;
        return Ok(Took::Nothing);
    }
    let wait = hands.wait(error, mirror.tries);
    tracing::warn!("card m{} waits {} s: {why}", id.0, wait.as_secs());
    let at = hands.at(wait);
    hands.ledger.write("mirror-put-off", move |tx| mirrors::put_off(tx, id, at, &why)).await?;
    Ok(took(error, wait))
}

/// The message of a first post that may have been sent. Everything that was written since then is looked through,
/// however lively the channel is, so that it cannot get a second card.
async fn find_again(
    hands: &Hands,
    mirror: &Mirror,
    channel: ChannelId,
) -> std::result::Result<Option<MessageId>, DiscordError> {
    let age = mirror.posting_at.map_or(Duration::ZERO, |at| hands.clock.now().since(at));
    match own_since(hands, channel, age).await? {
        Sight::All(messages) => Ok(messages.iter().find(|m| carries(m, mirror.id)).map(|m| m.id)),
        // Without the right to read back, a second card that shows nothing wrong is better than none.
        Sight::Unclear(_) => Ok(None),
    }
}

/// Whether a message carries a custom id of the mirror.
fn carries(message: &Message, id: MirrorId) -> bool {
    let arg = mirror_arg(id);
    message.custom_ids.iter().filter_map(|c| c.parse::<Signed>().ok()).any(|signed| signed.tap.arg == arg)
}

/// I-13: what differs between the mirrors' messages, as noted, and the views. Empty when all is shown.
pub fn check(read: &Read<'_>, painter: &Painter) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for mirror in mirrors::all(read, painter.bot())? {
        let name = format!("{} ({:?})", mirror_arg(mirror.id), mirror.subject);
        let Some(channel) = mirror.channel else {
            out.push(format!("{name} has no place yet"));
            continue;
        };
        let Some(painted) = painter.paint(read, &mirror, channel)? else { continue };
        if mirror.state != MirrorState::Shown {
            out.push(format!("{name} is {:?}", mirror.state));
        } else if mirror.shown_hash.as_deref() != Some(painted.hash.as_str()) {
            out.push(format!("{name} shows something else than its view"));
        }
    }
    Ok(out)
}

//! Cards: pure functions from a view to what is shown. Nothing here reads the ledger, the clock or Discord.

pub mod host;
pub mod job;
pub mod notice;
pub mod receipt;

use crate::base::hash::Sha256;
use crate::base::ids::{ChannelId, MirrorId};
use crate::base::money::MicroUsd;
use crate::base::split;
use crate::base::text;
use crate::ledger::runs::Run;
use crate::ledger::views::{Artifact, Cost};
use crate::model::card::{Block, Button, ButtonStyle, Card};
use crate::model::message::jump_url;
use crate::model::reasoning;
use crate::model::receipt::Basis;
use crate::model::run::RunState;
use crate::model::tap::{Signer, Tap, TapVerb};

/// Code points of text in one card: Discord's 4,000 less room for the mark of an outbox row.
pub const MAX_CHARS: usize = 3_900;

/// Bytes of text in one card. Above 10,170, counted with 12 for each text, Discord answers 500 (facts.md 3.2).
pub const MAX_BYTES: usize = 9_500;

/// Characters of what was asked that a card repeats.
const ASK: usize = 240;

/// Artifacts that a card names; the thread has them all.
const NAMED: usize = 8;

/// Edge of a card that runs or went well.
pub const GREEN: u32 = 0x0023_A55A;
/// Edge of a card that waits for a person.
pub const AMBER: u32 = 0x00F0_B232;
/// Edge of a card that tells of trouble.
pub const RED: u32 = 0x00DA_373C;
/// Edge of a card at rest.
pub const GREY: u32 = 0x0080_848E;

/// Makes the custom ids of one mirror: they are bound to the channel that it stands in, and name the mirror.
pub struct Stamp<'a> {
    /// Key.
    pub signer: &'a Signer,
    /// Where the card stands.
    pub channel: ChannelId,
    /// Its row.
    pub mirror: MirrorId,
}

/// How custom ids name a mirror, so that a card whose post was cut off is found again.
pub fn mirror_arg(mirror: MirrorId) -> String {
    format!("m{}", mirror.0)
}

impl Stamp<'_> {
    fn custom_id(&self, verb: TapVerb, id: &str, action: Option<&Sha256>) -> String {
        self.signer.sign(&Tap::new(verb, id, mirror_arg(self.mirror)), self.channel, action)
    }

    fn button(&self, look: (ButtonStyle, &str), verb: TapVerb, id: &str, pressable: bool) -> Button {
        let custom_id = self.custom_id(verb, id, None);
        Button::Press { style: look.0, label: look.1.to_owned(), custom_id, disabled: !pressable }
    }
}

/// What an agent or a person wrote, safe to show: nothing for a terminal, no hidden reasoning, no secrets or signed links,
/// and no mention keeps its meaning. Markdown stays.
pub fn clean(text: &str) -> String {
    text::unpinging(&reasoning::showable(text))
}

/// The same on one line and without markdown, at most `max` code points before escapes.
pub fn plain(text: &str, max: usize) -> String {
    text::plain(&text::cut(&text::one_line(&reasoning::showable(text)), max)).replace("\\@", "@\u{200b}")
}

/// What was asked, as a quote.
fn asked(text: &str) -> String {
    format!("> {}", plain(text, ASK))
}

/// Discord's own mark for a moment, shown as «5 minutes ago» by each phone.
fn ago(at: crate::base::clock::Millis) -> String {
    format!("<t:{}:R>", at.seconds())
}

/// Phase of a run in words, and the colour of its edge.
pub fn phase(state: RunState) -> (&'static str, u32) {
    match state {
        RunState::Waiting => ("Waiting for your yes", AMBER),
        RunState::Queued => ("Queued", GREY),
        RunState::Claimed => ("Starting", GREEN),
        RunState::Started => ("Running", GREEN),
        RunState::Cancelling => ("Stopping", AMBER),
        RunState::Finishing => ("Finishing", GREEN),
        RunState::Done => ("Done", GREEN),
        RunState::Failed => ("Failed", RED),
        RunState::Cancelled => ("Cancelled", GREY),
        RunState::CancelUnconfirmed => ("Cancel unconfirmed", RED),
        RunState::Interrupted => ("Interrupted", AMBER),
        RunState::Denied => ("Denied", GREY),
    }
}

/// What the end of a run means, where its name does not say enough. `None` while it lives or when it went well.
fn ending(state: RunState, ended: Option<u32>) -> Option<String> {
    let count = match ended {
        None => String::new(),
        Some(0) => " No process was left to end.".to_owned(),
        Some(1) => " 1 process was ended.".to_owned(),
        Some(n) => format!(" {n} processes were ended."),
    };
    match state {
        RunState::Cancelled if ended.is_some() => Some(format!("Every process of it is proved gone.{count}")),
        RunState::Cancelled => Some("It was cancelled before anything started.".to_owned()),
        RunState::CancelUnconfirmed => {
            Some(format!("Some process could not be proved gone. Look at the machine before you retry.{count}"))
        }
        RunState::Interrupted => Some(format!("The host stopped while it ran. Retry starts it again.{count}")),
        RunState::Denied => Some("A person said no. Nothing was started.".to_owned()),
        RunState::Done | RunState::Failed if ended.is_some_and(|n| n > 0) => Some(count.trim().to_owned()),
        _ => None,
    }
}

/// What went wrong: why it ended badly, or what is amiss although it went well.
fn trouble(run: &Run) -> Option<String> {
    let lead = if run.state == RunState::Done { "But" } else { "Why" };
    run.error.as_deref().map(|error| format!("**{lead}** {}", plain(error, 400)))
}

/// Money of a run in words, with how it is known.
fn money(cost: Option<&Cost>) -> String {
    let Some(cost) = cost else { return "not counted yet".to_owned() };
    match (cost.settled, cost.basis) {
        (_, Basis::Free) => "free (declared so in the settings)".to_owned(),
        (false, _) => format!("up to {} reserved", cost.reserved),
        (true, Basis::Exact) => format!("{} (exact)", cost.spent),
        (true, Basis::Estimated) => format!("{} (estimated)", cost.spent),
        (true, Basis::Unknown) => format!("unknown, counted as {}", cost.spent),
    }
}

/// A bar of ten cells.
fn bar(part: MicroUsd, whole: MicroUsd) -> String {
    const CELLS: i64 = 10;
    let filled = if whole.0 <= 0 { CELLS } else { (part.0.max(0).saturating_mul(CELLS) / whole.0).min(CELLS) };
    let filled = if part.0 > 0 { filled.max(1) } else { 0 } as usize;
    format!("`{}{}`", "▰".repeat(filled), "▱".repeat(CELLS as usize - filled))
}

/// Lines that name artifacts: kind, size and a link to the message, never to the bytes (I-10).
fn artifacts(made: &[Artifact]) -> Option<String> {
    let line = |a: &Artifact| {
        let link = jump_url(a.guild, a.channel, a.message);
        format!("- {} · {} · [{}]({link})", a.kind.as_str(), text::size(a.size), plain(&a.name, 60))
    };
    let mut lines: Vec<String> = made.iter().take(NAMED).map(line).collect();
    if made.len() > NAMED {
        lines.push(format!("- {} more in this thread.", made.len() - NAMED));
    }
    (!lines.is_empty()).then(|| format!("**Artifacts**\n{}", lines.join("\n")))
}

/// What keeps a run from the machine.
fn confinement(held_by: Option<&str>) -> String {
    match held_by {
        Some(by) => format!("-# Confined by {}.", plain(by, 60)),
        None => "-# Not confined: this run has the power of your account on the machine.".to_owned(),
    }
}

/// Cuts the longest texts until the card fits what Discord takes.
pub fn fit(mut card: Card) -> Card {
    loop {
        let texts = || card.blocks.iter().filter_map(text_of);
        let chars: usize = texts().map(|t| t.chars().count()).sum();
        let bytes: usize = texts().map(|t| t.len() + 12).sum();
        let over = chars.saturating_sub(MAX_CHARS).max(bytes.saturating_sub(MAX_BYTES).div_ceil(4));
        if over == 0 {
            return card;
        }
        let longest = card.blocks.iter_mut().filter(|b| text_of(b).is_some()).max_by_key(|b| text_of(b).map(str::len));
        let Some(Block::Text(text)) = longest else { return card };
        let keep = text.chars().count().saturating_sub(over + FENCE_ROOM);
        // A cut may fall into a fence; the splitter closes it.
        *text = split::split(text, keep.max(split::LEAST)).into_iter().next().unwrap_or_default();
        text.push('…');
    }
}

/// Room for the ellipsis of a cut.
const FENCE_ROOM: usize = 2;

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(text),
        Block::Divider | Block::Buttons(_) | Block::Menu(_) => None,
    }
}

#[cfg(test)]
mod tests;

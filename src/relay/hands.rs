//! What every part of relay works with, and how long to wait after trouble.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::{Painter, RelayParts};
use crate::base::clock::{Clock, Millis};
use crate::base::entropy::Entropy;
use crate::base::ids::{BotKey, UserId};
use crate::discord::Discord;
use crate::discord::error::{DiscordError, ErrorKind, Retry};
use crate::ledger::Ledger;

/// First wait after trouble; doubled each time.
const FIRST: Duration = Duration::from_secs(1);

/// Longest wait while Discord is away: when it is back, cards should follow within minutes.
const MOST: Duration = Duration::from_secs(120);

/// Wait after a refusal that a person has to lift (a permission, a token).
pub(super) const REFUSED: Duration = Duration::from_secs(600);

/// Discord's code for a message that is not there (facts.md section 11).
const UNKNOWN_MESSAGE: i64 = 10_008;

/// What a piece of work took from its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// Nothing that has a budget.
    Nothing,
    /// An edit, or a post that edits will follow.
    Edit,
    /// Trouble: the lane rests.
    Wait(Duration),
}

pub(super) struct Hands {
    pub(super) ledger: Ledger,
    pub(super) discord: Arc<dyn Discord>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bot: BotKey,
    pub(super) painter: Painter,
    entropy: Arc<Entropy>,
    me: OnceCell<UserId>,
}

impl Hands {
    pub(super) fn new(parts: RelayParts) -> Self {
        let RelayParts { ledger, discord, clock, entropy, signer, bot, face } = parts;
        let painter = Painter::new(signer, bot.clone(), face);
        Self { ledger, discord, clock, bot, painter, entropy, me: OnceCell::new() }
    }

    /// Our own account, asked for once.
    pub(super) async fn me(&self) -> Result<UserId, DiscordError> {
        self.me.get_or_try_init(|| async { Ok(self.discord.me().await?.user) }).await.copied()
    }

    /// How long to wait after an error that came for the `tries`-th time in a row.
    pub(super) fn wait(&self, error: &DiscordError, tries: u32) -> Duration {
        match error.retry() {
            Retry::After(time) => time + self.jitter(Duration::from_millis(500)),
            Retry::Soon => {
                let most = FIRST.saturating_mul(1 << tries.min(10)).min(MOST);
                // Full jitter, but never at once: many rows fail together when the network goes.
                most / 4 + self.jitter(most - most / 4)
            }
            // What may have happened is looked up soon.
            Retry::Never if error.kind == ErrorKind::Unknown => FIRST,
            Retry::Never => REFUSED,
        }
    }

    pub(super) fn at(&self, wait: Duration) -> Millis {
        self.clock.now().plus(wait)
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(self.entropy.fraction())
    }
}

/// Whether Discord says that it is the message that is gone, not the channel.
pub(super) fn message_gone(error: &DiscordError) -> bool {
    error.kind == ErrorKind::NotFound && error.code.is_none_or(|code| code == UNKNOWN_MESSAGE)
}

/// Whether a lane should rest after this error: what hit one row would hit the next one too.
pub(super) fn took(error: &DiscordError, wait: Duration) -> Took {
    match error.kind {
        ErrorKind::RateLimited | ErrorKind::Blocked | ErrorKind::Unauthorized | ErrorKind::Unreachable => {
            Took::Wait(wait)
        }
        _ => Took::Nothing,
    }
}

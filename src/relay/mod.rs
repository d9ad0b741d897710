//! Relay: makes Discord look like the ledger. Mirrors show the latest state; outbox rows are said once; errands open
//! the threads that both stand in.
//!
//! One loop looks at the ledger, woken by its bell. What is due runs at once for different channels, and in order
//! within one. Starting anew is not special: the first look finds what a crash left behind.

pub mod cards;
mod find;
mod hands;
mod lanes;
pub mod mirror;
mod outbox;
mod paint;
mod place;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::LogAndGoOn;
use crate::base::ids::BotKey;
use crate::base::stop::Stop;
use crate::discord::Discord;
use crate::ledger::{self, Ledger, errands, mirrors};
use crate::model::tap::Signer;
use cards::host::Face;
use hands::{Hands, Took};
use lanes::{Lane, Lanes};
pub use paint::Painter;

/// Channels that are written to at a time: enough that a stuck one is not felt, few against Discord's 50 requests a
/// second.
const AT_ONCE: usize = 8;

/// Rows of each kind that one look takes; the next look takes the rest.
const LOOK: usize = 64;

/// Longest sleep between looks: another process (the CLI) may have written without ringing.
const LONGEST: Duration = Duration::from_secs(5);

/// Sends in flight may end by themselves this long when the host stops.
const GOODBYE: Duration = Duration::from_secs(5);

/// What relay is made of.
pub struct RelayParts {
    /// Rows.
    pub ledger: Ledger,
    /// Discord.
    pub discord: Arc<dyn Discord>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub entropy: Arc<Entropy>,
    /// Signs custom ids.
    pub signer: Signer,
    /// Bot to speak through.
    pub bot: BotKey,
    /// What the HOST card says of the machine.
    pub face: Face,
}

/// The loop.
pub struct Relay {
    hands: Arc<Hands>,
}

enum Work {
    Errand(Box<errands::Errand>),
    Say(Box<ledger::outbox::Saying>),
    Show(Box<mirrors::Mirror>),
}

impl Work {
    fn lane(&self) -> Option<Lane> {
        match self {
            Self::Errand(errand) => Some(Lane::Channel(errand.task.channel)),
            Self::Say(saying) => match (&saying.target, saying.channel) {
                (ledger::outbox::Target::Dm(user), _) => Some(Lane::Person(*user)),
                (_, channel) => channel.map(Lane::Channel),
            },
            Self::Show(mirror) => mirror.channel.map(Lane::Channel),
        }
    }

    /// Edits have a budget; what is said once has not.
    fn is_edit(&self) -> bool {
        matches!(self, Self::Show(mirror) if mirror.message.is_some())
    }

    async fn serve(self, hands: &Hands) -> ledger::Result<Took> {
        match self {
            Self::Errand(errand) => place::serve(hands, &errand).await,
            Self::Say(saying) => outbox::serve(hands, *saying).await,
            Self::Show(mirror) => mirror::serve(hands, &mirror).await,
        }
    }
}

type Busy = JoinSet<ledger::Result<Took>>;

impl Relay {
    /// A relay that has not begun.
    pub fn new(parts: RelayParts) -> Self {
        Self { hands: Arc::new(Hands::new(parts)) }
    }

    /// Runs until stopped. Sends in flight are then given a moment to end; the rest is found again at the next start.
    pub async fn run(self, stop: Stop) {
        let bell = self.hands.ledger.bell();
        let mut lanes = Lanes::default();
        let mut busy = Busy::new();
        while !stop.stopped() {
            let wait = self.begin(&mut lanes, &mut busy).await;
            tokio::select! {
                () = stop.wait() => break,
                () = bell.wait(wait) => {}
                Some(done) = busy.join_next_with_id(), if !busy.is_empty() => self.ended(&mut lanes, done),
            }
        }
        let ended = async { while busy.join_next().await.is_some() {} };
        tokio::time::timeout(GOODBYE, ended).await.log_and_go_on("posts were cut off at the stop");
    }

    /// Begins what is due and has a free lane. Gives the time until the next look.
    async fn begin(&self, lanes: &mut Lanes, busy: &mut Busy) -> Duration {
        let Some((due, next)) = self.look().await.log_and_go_on("relay could not look at the ledger") else {
            return LONGEST;
        };
        let now = self.hands.clock.steady();
        let mut wait = next.map_or(LONGEST, |at| at.since(self.hands.clock.now())).min(LONGEST);
        lanes.forget_past(now);
        for work in due {
            let Some(lane) = work.lane() else { continue };
            if lanes.is_busy(lane) {
                continue;
            }
            if let Some(later) = lanes.wait(lane, work.is_edit(), now) {
                wait = wait.min(later);
                continue;
            }
            if busy.len() >= AT_ONCE {
                break;
            }
            let hands = Arc::clone(&self.hands);
            let task = busy.spawn(async move { work.serve(&hands).await });
            lanes.begin(lane, task.id());
        }
        wait
    }

    /// Everything that is due, what must come first first, and when something that was put off comes due.
    async fn look(&self) -> ledger::Result<(Vec<Work>, Option<crate::base::clock::Millis>)> {
        let (bot, now) = (self.hands.bot.clone(), self.hands.clock.now());
        self.hands
            .ledger
            .read(move |read| {
                let errands = errands::due(read, &bot, now, LOOK)?.into_iter().map(|e| Work::Errand(Box::new(e)));
                let sayings = ledger::outbox::due(read, &bot, now, LOOK)?.into_iter().map(|s| Work::Say(Box::new(s)));
                let mirrors = mirrors::due(read, &bot, now, LOOK)?.into_iter().map(|m| Work::Show(Box::new(m)));
                let later = [
                    errands::next_at(read, now)?,
                    ledger::outbox::next_at(read, &bot, now)?,
                    mirrors::next_at(read, &bot, now)?,
                ];
                Ok((errands.chain(sayings).chain(mirrors).collect(), later.into_iter().flatten().min()))
            })
            .await
    }

    fn ended(&self, lanes: &mut Lanes, done: Result<(tokio::task::Id, ledger::Result<Took>), tokio::task::JoinError>) {
        let now = self.hands.clock.steady();
        match done {
            Ok((id, took)) => {
                // A ledger that refuses is not asked again at once.
                let took = took.log_and_go_on("relay could not note what it did").unwrap_or(Took::Wait(LONGEST));
                lanes.end(id, took, now);
            }
            Err(error) => {
                lanes.end(error.id(), Took::Wait(LONGEST), now);
                tracing::error!("a post failed unexpectedly: {error}");
            }
        }
    }
}

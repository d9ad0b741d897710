//! Intake: hears, decides and records, in one transaction. The gateway tells as it happens; reading the channels
//! finds what it missed (I-3). Both go through one [`door::Door`].

pub mod budget;
pub mod catchup;
pub mod door;
pub mod ears;
mod hear;
pub mod lacks;
mod server;
mod tap;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::base::failure::{Failure, Kind, LogAndGoOn};
use crate::base::secret::Secret;
use crate::base::stop::Stop;
use crate::discord::Discord;
use crate::discord::gateway::pump::{Pump, PumpConfig};
use crate::discord::gateway::{Intents, close};
use crate::ledger::control::{self, By};
use crate::ledger::{Ledger, bots};
use crate::model::power::Power;
use crate::verbs::Tools;

use catchup::Catchup;
use door::{Door, Pending};
use ears::LedgerEars;
use lacks::Lack;

/// Answers to interactions that may wait to be sent: more than a person can press within 3 s, and a bound (I-17).
const MAX_PENDING: usize = 256;

/// Answers on their way at once. Discord's own limit for a bot is 50 requests a second.
const MAX_ANSWERING: usize = 32;

/// How long answers on their way may take when the host stops: they are void after 3 s anyway.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

const NO_CONTENT: &str = "Messages cannot be read: switch on Message Content Intent in the Discord Developer Portal \
                          under Bot, then restart the host. Buttons and Ask work.";

/// What intake is built from.
pub struct IntakeParts {
    /// Ledger.
    pub ledger: Ledger,
    /// Discord.
    pub discord: Arc<dyn Discord>,
    /// What deciding needs.
    pub tools: Tools,
    /// Bot token.
    pub token: Secret,
    /// Whether to ask for the Message Content Intent.
    pub message_content: bool,
}

/// The intake loop.
pub struct Intake {
    parts: IntakeParts,
    door: Arc<Door>,
}

impl Intake {
    /// An intake that has heard nothing yet. The host and bot rows must be there.
    pub fn new(parts: IntakeParts) -> Self {
        let door = Door::new(parts.ledger.clone(), Arc::clone(&parts.discord), parts.tools.clone());
        Self { parts, door: Arc::new(door) }
    }

    /// The one door, for a face that hears by itself.
    pub fn door(&self) -> Arc<Door> {
        Arc::clone(&self.door)
    }

    /// Hears until `stop`.
    ///
    /// # Errors
    /// [`Kind::Discord`] when Discord refuses us for good (a wrong token, a fatal close); the host is Off then and its
    /// card says why. Else the ledger's own.
    pub async fn run(self, stop: Stop) -> Result<(), Failure> {
        let catchup = Catchup::new(Arc::clone(&self.door));
        let (answers, pending) = mpsc::channel(MAX_PENDING);
        let ears = Arc::new(LedgerEars::new(Arc::clone(&self.door), answers, catchup.bell()));
        let inner = stop.child();
        let mut loops: JoinSet<Result<(), Failure>> = JoinSet::new();
        loops.spawn(answer_all(Arc::clone(&self.door), pending));
        loops.spawn(catchup.run(inner.clone()));
        let result = tokio::select! {
            result = self.pump(ears, inner.clone()) => result,
            // The answering loop ends only after the ears are gone, so this is the catching up.
            Some(ended) = loops.join_next() => ended.unwrap_or_else(|e| Err(Failure::failed(format!("Reading channels ended: {e}.")))),
        };
        inner.stop();
        let wait = async { while loops.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_ANSWERS, wait).await.is_err() {
            tracing::info!("Some answers were not sent in time.");
        }
        // Trouble of our own (a full disk) may pass; only Discord's no turns the host off.
        if let Err(failure) = &result
            && failure.kind == Kind::Discord
        {
            self.door.power_off(failure).await;
        }
        result
    }

    /// Keeps the gateway; without the Message Content Intent where Discord refuses it.
    async fn pump(&self, ears: Arc<LedgerEars>, stop: Stop) -> Result<(), Failure> {
        let asked = if self.parts.message_content { Intents::WITH_CONTENT } else { Intents::BASE };
        if asked == Intents::BASE {
            ears.lacks(Lack::Content, Some(NO_CONTENT.to_owned())).await;
        }
        match self.session(&ears, asked, &stop).await {
            Err(failure) if asked == Intents::WITH_CONTENT && close::lacks_intent(&failure) => {
                ears.lacks(Lack::Content, Some(NO_CONTENT.to_owned())).await;
                self.session(&ears, Intents::BASE, &stop).await
            }
            result => result,
        }
    }

    async fn session(&self, ears: &Arc<LedgerEars>, intents: Intents, stop: &Stop) -> Result<(), Failure> {
        let config = PumpConfig {
            discord: Arc::clone(&self.parts.discord),
            ears: Arc::clone(ears) as _,
            token: self.parts.token.clone(),
            intents,
            clock: Arc::clone(&self.parts.tools.clock),
            entropy: Arc::clone(&self.parts.tools.entropy),
        };
        Pump::new(config).run(stop.clone()).await
    }
}

/// Sends first answers, several at a time, so that a slow one holds up neither the next tap nor the gateway.
async fn answer_all(door: Arc<Door>, mut pending: mpsc::Receiver<Pending>) -> Result<(), Failure> {
    let mut sending = JoinSet::new();
    while let Some(next) = pending.recv().await {
        while sending.len() >= MAX_ANSWERING {
            sending.join_next().await;
        }
        let door = Arc::clone(&door);
        sending.spawn(async move { door.answer(next).await });
        while sending.try_join_next().is_some() {}
    }
    while sending.join_next().await.is_some() {}
    Ok(())
}

impl Door {
    /// Turns the host off because Discord will not have us, and says why on the card's row.
    async fn power_off(&self, failure: &Failure) {
        let why = [Some(failure.message.as_str()), failure.hint.as_deref()];
        let why = why.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let tools = self.tools().clone();
        let done = self.ledger().write("fatal", move |tx| {
            let now = tools.clock.now();
            bots::set_link(tx, &tools.bot, "fatal", Some(&why), now)?;
            control::set_power(tx, &tools.host, Power::Off, &By { who: "host", why: Some(&why), at: now })
        });
        done.await.log_and_go_on("the host could not be turned off in the ledger");
    }
}

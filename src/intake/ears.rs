//! The ears of the gateway, over the ledger: what is heard is taken together with its place in the session.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::budget::{self, Used};
use super::door::{Door, Mark, Pending};
use super::lacks::Lack;
use crate::base::bell::Bell;
use crate::base::clock::Millis;
use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::ids::{ApplicationId, ChannelId, MessageId, UserId};
use crate::discord::gateway::{Budget, Ears, Event, Heard, Link, Saved};
use crate::ledger::bots::{self, Session};
use crate::ledger::inbox::Via;
use crate::ledger::{self, channels, mirrors};

/// The card shows the last heartbeat in steps this coarse, so that an idle host writes nothing in between.
const BEAT_STEP: Duration = Duration::from_secs(300);

/// Events without a row of their own whose place may stay unsaved: a restarted process hears them again, which is
/// harmless, and a busy server does not cost a commit for each.
const LAZY: u32 = 64;

/// Takes what the gateway tells into the ledger.
pub struct LedgerEars {
    door: Arc<Door>,
    answers: mpsc::Sender<Pending>,
    look: Bell,
    unsaved: Mutex<u32>,
    shown: Mutex<Shown>,
}

/// What the bot's row says of the connection.
#[derive(Debug, Default, Clone)]
struct Shown {
    link: Option<&'static str>,
    at: Millis,
}

impl LedgerEars {
    /// Ears that hand answers to `answers` and ring `look` when channels should be read.
    pub fn new(door: Arc<Door>, answers: mpsc::Sender<Pending>, look: Bell) -> Self {
        Self { door, answers, look, unsaved: Mutex::default(), shown: Mutex::default() }
    }

    /// Says on the card that something is missing while everything else works, or (`None`) that it no longer is.
    pub async fn lacks(&self, lack: Lack, what: Option<String>) {
        self.door.lacks(lack, what).await;
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn listens(&self, channel: ChannelId) -> ledger::Result<bool> {
        let bot = self.door.tools().bot.clone();
        self.door.ledger().read(move |read| Ok(channels::get(read, &bot, channel)?.is_some())).await
    }

    async fn later(&self, mark: Mark) -> ledger::Result<()> {
        {
            let mut unsaved = self.unsaved.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *unsaved += 1;
            if *unsaved < LAZY {
                return Ok(());
            }
            *unsaved = 0;
        }
        self.door.save(Some(mark)).await
    }

    async fn ready(
        &self,
        mark: Mark,
        (user, application, name): (UserId, ApplicationId, String),
    ) -> ledger::Result<()> {
        let bot = self.door.tools().bot.clone();
        let done = self.door.ledger().write("seq", move |tx| {
            bots::set_account(tx, &bot, user, application, &name)?;
            bots::save_seq(tx, &bot, &mark.session, mark.seq)
        });
        done.await?;
        self.look.ring();
        Ok(())
    }

    async fn gone(&self, mark: Mark, channel: ChannelId) -> ledger::Result<()> {
        let bot = self.door.tools().bot.clone();
        let done = self.door.ledger().write("seq", move |tx| {
            channels::retire(tx, &bot, channel, true)?;
            bots::save_seq(tx, &bot, &mark.session, mark.seq)
        });
        done.await
    }

    /// Cards that somebody deleted are wanted anew.
    async fn deleted(&self, mark: Mark, channel: ChannelId, messages: Vec<MessageId>) -> ledger::Result<()> {
        if !self.listens(channel).await? {
            return self.later(mark).await;
        }
        let bot = self.door.tools().bot.clone();
        let done = self.door.ledger().write("seq", move |tx| {
            mirrors::deleted(tx, channel, &messages)?;
            bots::save_seq(tx, &bot, &mark.session, mark.seq)
        });
        done.await
    }

    async fn hear(&self, heard: Heard) -> ledger::Result<()> {
        let mark = Mark { session: heard.session_id, seq: heard.seq };
        match heard.event {
            Event::Message(message) if self.listens(message.channel).await? => {
                self.door.message_at(&message, Via::Gateway, Some(mark)).await
            }
            Event::Interaction(interaction) => {
                if let Some(pending) = self.door.decide(&interaction, Some(mark)).await?
                    && self.answers.send(pending).await.is_err()
                {
                    tracing::info!("an interaction is not answered: the host stops");
                }
                Ok(())
            }
            Event::Ready { user, name, application, .. } => self.ready(mark, (user, application, name)).await,
            Event::Resumed => {
                self.door.save(Some(mark)).await?;
                self.look.ring();
                Ok(())
            }
            Event::ChannelGone(channel) => self.gone(mark, channel).await,
            Event::GuildHere(_) => {
                self.look.ring();
                self.later(mark).await
            }
            Event::MessagesDeleted(channel, messages) => self.deleted(mark, channel, messages).await,
            Event::Message(_)
            | Event::MessageChanged(_)
            | Event::Thread { .. }
            | Event::GuildGone(..)
            | Event::Other(_) => self.later(mark).await,
        }
    }
}

#[async_trait]
impl Ears for LedgerEars {
    async fn saved(&self) -> Result<Option<Saved>, Failure> {
        let bot = self.door.tools().bot.clone();
        let session = self.door.ledger().read(move |read| bots::session(read, &bot)).await?;
        Ok(session.map(|s| Saved { session_id: s.id, resume_url: s.resume_url, seq: s.seq }))
    }

    async fn keep(&self, session: Option<Saved>) -> Result<(), Failure> {
        let tools = self.door.tools().clone();
        let session = session.map(|s| Session { id: s.session_id, resume_url: s.resume_url, seq: s.seq });
        let kept = self
            .door
            .ledger()
            .write("seq", move |tx| bots::keep_session(tx, &tools.bot, session.as_ref(), tools.clock.now()));
        Ok(kept.await?)
    }

    async fn take(&self, heard: Heard) -> Result<(), Failure> {
        Ok(self.hear(heard).await?)
    }

    async fn identify(&self, remaining: u64) -> Result<Budget, Failure> {
        // 0 also stands for «not asked»; only Discord's own 0 may make us wait.
        let left = match remaining {
            0 => self.door.discord().gateway().await?.remaining,
            known => known,
        };
        let tools = self.door.tools().clone();
        let decided = self.door.ledger().write("identify", move |tx| {
            let now = tools.clock.now();
            let since = now.minus(budget::DAY);
            let (count, first, last) = bots::identifies(tx, &tools.bot, since)?;
            let budget = budget::may_identify(now, Used { count, first, last }, left);
            if budget == Budget::Go {
                bots::count_identify(tx, &tools.bot, left.saturating_sub(1), since, now)?;
            }
            Ok(budget)
        });
        Ok(decided.await?)
    }

    async fn link(&self, link: Link) {
        let now = self.door.tools().clock.now();
        let (state, why, at) = match link {
            Link::Connecting { .. } => ("connecting", None, now),
            Link::Up { heartbeat } => ("up", None, heartbeat),
            Link::Lost { why } => ("down", Some(why), now),
            Link::Fatal { why } => ("fatal", Some(why), now),
        };
        let why = {
            let mut shown = self.shown();
            let same = shown.link == Some(state) && why.is_none();
            if same && (state != "up" || at.since(shown.at) < BEAT_STEP) {
                return;
            }
            (shown.link, shown.at) = (Some(state), at);
            // Up again, what went wrong before is over; what is missing still is.
            if state == "up" { self.door.missing() } else { why }
        };
        let bot = self.door.tools().bot.clone();
        let done = self.door.ledger().write("link", move |tx| {
            if state == "up" {
                bots::set_link_why(tx, &bot, why.as_deref())?;
            }
            bots::set_link(tx, &bot, state, why.as_deref(), at)
        });
        done.await.log_and_go_on("the state of the connection could not be recorded");
    }
}

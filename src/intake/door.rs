//! The one door: every message and every interaction comes in here, whoever heard it.

use std::sync::Arc;
use std::time::Duration;

use super::hear::{self, Incoming};
use super::lacks::{Lack, Lacks};
use super::server::ServerTime;
use super::tap;
use crate::base::clock::Millis;
use crate::base::failure::LogAndGoOn;
use crate::base::ids::{ChannelId, MessageId, RoleId};
use crate::discord::error::ErrorKind;
use crate::discord::{Answerable, Discord, Page};
use crate::ledger::inbox::Via;
use crate::ledger::{self, Ledger, bots, channels, inbox, people};
use crate::model::interaction::Interaction;
use crate::model::message::Message;
use crate::model::reply::Reply;
use crate::verbs::Tools;

/// Place of an event in the gateway's session, saved in the transaction that took the event.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) session: String,
    pub(super) seq: u64,
}

/// An answer that was decided and has to be sent within 3 s.
#[derive(Debug)]
pub struct Pending {
    to: Answerable,
    reply: Reply,
}

/// The one door.
pub struct Door {
    ledger: Ledger,
    discord: Arc<dyn Discord>,
    tools: Tools,
    server: ServerTime,
    lacks: Lacks,
}

impl Door {
    /// A door to a ledger.
    pub fn new(ledger: Ledger, discord: Arc<dyn Discord>, tools: Tools) -> Self {
        Self { ledger, discord, tools, server: ServerTime::default(), lacks: Lacks::default() }
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn discord(&self) -> &dyn Discord {
        self.discord.as_ref()
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Says on the card that something is missing while everything else works, or (`None`) that it no longer is.
    pub(super) async fn lacks(&self, lack: Lack, what: Option<String>) {
        if !self.lacks.set(lack, what) {
            return;
        }
        let (bot, all) = (self.tools.bot.clone(), self.lacks.text());
        let done = self.ledger.write("link", move |tx| bots::set_link_why(tx, &bot, all.as_deref()));
        done.await.log_and_go_on("what is missing could not be recorded");
    }

    /// All that is missing now, in sentences.
    pub(super) fn missing(&self) -> Option<String> {
        self.lacks.text()
    }

    /// Takes a message. One that was heard before changes nothing (I-1).
    ///
    /// # Errors
    /// The ledger's own: the message was not taken.
    pub async fn message(&self, message: &Message, via: Via) -> ledger::Result<()> {
        self.message_at(message, via, None).await
    }

    pub(super) async fn message_at(&self, message: &Message, via: Via, mark: Option<Mark>) -> ledger::Result<()> {
        let incoming = self.incoming(message, via, self.server.now(self.tools.clock.as_ref())).await?;
        let (tools, first, place) = (self.tools.clone(), incoming.clone(), mark.clone());
        let taken = self.ledger.write("message", move |tx| {
            save(tx, &tools, place.as_ref())?;
            hear::hear(tx, &tools, &first)
        });
        match taken.await {
            Err(error) if error.comes_again() => {
                let tools = self.tools.clone();
                let kept = self.ledger.write("message", move |tx| {
                    save(tx, &tools, mark.as_ref())?;
                    hear::hold(tx, &tools, &incoming, &error)
                });
                kept.await
            }
            result => result,
        }
    }

    /// Takes an interaction and answers it. One that was heard before is not answered again (I-1).
    ///
    /// # Errors
    /// The ledger's own: the interaction was not taken.
    pub async fn interaction(&self, interaction: &Interaction) -> ledger::Result<()> {
        if let Some(pending) = self.decide(interaction, None).await? {
            self.answer(pending).await;
        }
        Ok(())
    }

    /// Takes an interaction; what is to be answered comes back.
    pub(super) async fn decide(
        &self,
        interaction: &Interaction,
        mark: Option<Mark>,
    ) -> ledger::Result<Option<Pending>> {
        let (tools, heard, place) = (self.tools.clone(), interaction.clone(), mark.clone());
        let decided = self.ledger.write("tap", move |tx| {
            save(tx, &tools, place.as_ref())?;
            tap::tap(tx, &tools, &heard)
        });
        let reply = match decided.await {
            Err(error) if error.comes_again() => {
                tracing::error!("an interaction could not be decided: {error}");
                self.save(mark).await?;
                Some(Reply::private("Something went wrong here; nothing was done. The host's log says more."))
            }
            result => result?,
        };
        let to = Answerable { id: interaction.id, token: interaction.token.clone() };
        Ok(reply.map(|reply| Pending { to, reply }))
    }

    /// Sends an answer, once. Whether it arrived or not, it is never repeated (I-12).
    pub async fn answer(&self, pending: Pending) {
        match self.discord.respond(&pending.to, &pending.reply).await {
            Ok(()) => {}
            Err(e) if matches!(e.kind, ErrorKind::Answered | ErrorKind::Expired) => {
                tracing::info!("interaction {}: {e}", pending.to.id);
            }
            Err(e) => tracing::warn!("interaction {} was not answered: {e}", pending.to.id),
        }
    }

    /// Saves a place in the session without an event of ours.
    pub(super) async fn save(&self, mark: Option<Mark>) -> ledger::Result<()> {
        let Some(mark) = mark else { return Ok(()) };
        let tools = self.tools.clone();
        self.ledger.write("seq", move |tx| save(tx, &tools, Some(&mark))).await
    }

    /// Takes a page that was read from the channel's cursor on, and moves the cursor over it, in one transaction (I-2).
    ///
    /// # Errors
    /// The ledger's own: nothing of the page was taken.
    pub(super) async fn page(&self, channel: ChannelId, page: Page, to: MessageId) -> ledger::Result<()> {
        if let Some(time) = page.server_time {
            self.server.learn(time, self.tools.clock.as_ref());
        }
        let mut all = Vec::with_capacity(page.messages.len());
        for message in &page.messages {
            all.push(self.incoming(message, Via::Rest, page.server_time).await?);
        }
        let (tools, whole) = (self.tools.clone(), all.clone());
        let taken = self.ledger.write("catchup", move |tx| {
            for incoming in &whole {
                hear::hear(tx, &tools, incoming)?;
            }
            channels::advance(tx, &tools.bot, channel, to, tools.clock.now())
        });
        match taken.await {
            Err(error) if error.comes_again() => self.page_singly(channel, all, to).await,
            result => result,
        }
    }

    /// One message of the page cannot be decided: it is held, so that it does not hold up the others for ever.
    async fn page_singly(&self, channel: ChannelId, all: Vec<Incoming>, to: MessageId) -> ledger::Result<()> {
        for incoming in all {
            let (tools, first) = (self.tools.clone(), incoming.clone());
            let taken = self.ledger.write("catchup", move |tx| hear::hear(tx, &tools, &first)).await;
            if let Err(error) = taken {
                if !error.comes_again() {
                    return Err(error);
                }
                let tools = self.tools.clone();
                self.ledger.write("catchup", move |tx| hear::hold(tx, &tools, &incoming, &error)).await?;
            }
        }
        let tools = self.tools.clone();
        self.ledger.write("catchup", move |tx| channels::advance(tx, &tools.bot, channel, to, tools.clock.now())).await
    }

    async fn incoming(&self, message: &Message, via: Via, server_now: Option<Millis>) -> ledger::Result<Incoming> {
        let age = server_now.map(|now| now.since(message.id.created()));
        let late = match via {
            // Without Discord's time the age is unknown, and asking is the safe side.
            Via::Rest => age.is_none_or(|age| age > self.tools.limits.catchup_auto),
            // A resumed session replays what it missed, which can be old as well.
            Via::Gateway => age.is_some_and(|age| age > self.tools.limits.catchup_auto.max(Duration::ZERO)),
        };
        Ok(Incoming { message: message.clone(), via, roles: self.roles(message).await?, late })
    }

    /// Roles of the author, fetched only where they can change the decision. Never inside a transaction.
    async fn roles(&self, message: &Message) -> ledger::Result<Option<Vec<RoleId>>> {
        if let (Some(roles), true) = (&message.roles, message.is_order()) {
            return Ok(Some(roles.clone()));
        }
        if !message.is_order() {
            return Ok(Some(Vec::new()));
        }
        let (bot, id, channel, author) = (self.tools.bot.clone(), message.id, message.channel, message.author);
        let guild = self.ledger.read(move |read| {
            let heard = channels::get(read, &bot, channel)?;
            let matters = people::by_guild_role(read, &bot)?
                && people::role_of(read, &bot, author, &[])?.is_none()
                && !inbox::has(read, &bot, id)?;
            Ok(heard.filter(|_| matters).map(|heard| heard.guild))
        });
        let Some(guild) = guild.await?.and_then(|known| message.guild.or(known)) else { return Ok(Some(Vec::new())) };
        Ok(match self.discord.member(guild, author).await {
            Ok(member) => Some(member.roles),
            Err(e) if e.kind == ErrorKind::NotFound => Some(Vec::new()),
            Err(e) => {
                tracing::warn!("the roles of {author} could not be fetched: {e}");
                None
            }
        })
    }
}

fn save(tx: &ledger::Write<'_>, tools: &Tools, mark: Option<&Mark>) -> ledger::Result<()> {
    match mark {
        Some(mark) => bots::save_seq(tx, &tools.bot, &mark.session, mark.seq),
        None => Ok(()),
    }
}

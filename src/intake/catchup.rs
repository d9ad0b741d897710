//! Catching up: reading every channel forward from its cursor until nothing is left (I-2, I-3).

use std::sync::Arc;
use std::time::Duration;

use super::door::Door;
use super::lacks::Lack;
use crate::base::bell::Bell;
use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::ids::{ChannelId, MessageId};
use crate::base::stop::Stop;
use crate::discord::error::{DiscordError, ErrorKind};
use crate::ledger::LedgerError;
use crate::ledger::channels::{self, Heard, Listening};

/// Time between two looks while nothing asks for one: a connection that has gone deaf costs no more than this, which
/// is under the age at which an order is held.
const SLOW: Duration = Duration::from_secs(60);

/// Threads that a slow look reads, the longest unread first; the channels that take orders are read each time. After
/// a READY or RESUMED all of them are.
const THREADS_A_LOOK: usize = 5;

/// Threads that one look after READY reads at most (I-17); the slow looks come round to the rest.
const THREADS_AT_READY: usize = 500;

/// Messages a page: Discord's most.
const PAGE: u8 = 100;

/// How far before the cursor a page starts: Discord may show messages of the same moments out of order.
const OVERLAP: Duration = Duration::from_secs(10);

/// How far before Discord's now the first look at a channel starts.
const FIRST: Duration = Duration::from_secs(15);

/// Why a channel was not read to its end.
enum Trouble {
    Ledger(LedgerError),
    Discord(DiscordError),
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<DiscordError> for Trouble {
    fn from(error: DiscordError) -> Self {
        Self::Discord(error)
    }
}

/// Reads channels, now and then and when its bell rings.
pub struct Catchup {
    door: Arc<Door>,
    bell: Bell,
}

impl Catchup {
    /// A reader that has not looked yet.
    pub fn new(door: Arc<Door>) -> Self {
        Self { door, bell: Bell::new() }
    }

    /// Rings for a look at everything.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Looks at once, then whenever rung, and on a slow timer.
    ///
    /// # Errors
    /// When Discord refuses the token: going on makes no sense.
    pub async fn run(self, stop: Stop) -> Result<(), Failure> {
        let mut threads = THREADS_AT_READY;
        loop {
            tokio::select! {
                () = stop.wait() => return Ok(()),
                looked = self.look(threads) => looked?,
            }
            let rung = tokio::select! {
                () = stop.wait() => return Ok(()),
                rung = self.rung() => rung,
            };
            threads = if rung { THREADS_AT_READY } else { THREADS_A_LOOK };
        }
    }

    /// Waits for the bell or the timer; whether it was the bell.
    async fn rung(&self) -> bool {
        tokio::select! {
            // The bell's own wait is longer, so that it ends first only by a ring.
            () = self.bell.wait(SLOW * 2) => true,
            () = tokio::time::sleep(SLOW) => false,
        }
    }

    /// One look at every channel that takes orders and at most `threads` threads.
    ///
    /// # Errors
    /// When Discord refuses the token.
    pub async fn look(&self, threads: usize) -> Result<(), Failure> {
        let bot = self.door.tools().bot.clone();
        let found = self.door.ledger().read(move |read| channels::to_read(read, &bot, threads)).await;
        let Some(found) = found.log_and_go_on("the channels to read could not be listed") else { return Ok(()) };
        for channel in found {
            match self.read(&channel).await {
                Ok(()) => self.door.lacks(Lack::Channel(channel.id), None).await,
                Err(Trouble::Discord(e)) if e.kind == ErrorKind::Unauthorized => return Err(e.into()),
                Err(Trouble::Discord(e)) => self.unreadable(&channel, &e).await,
                Err(Trouble::Ledger(e)) => tracing::error!("channel {} could not be read: {e}", channel.id),
            }
        }
        Ok(())
    }

    /// Reads one channel from its cursor until nothing is left.
    async fn read(&self, channel: &Heard) -> Result<(), Trouble> {
        let cursor = match channel.cursor {
            Some(cursor) => cursor,
            None => self.first(channel).await?,
        };
        let mut from = MessageId::at(cursor.created().minus(OVERLAP)).min(cursor);
        loop {
            let page = self.door.discord().after(channel.id, from, PAGE).await?;
            let Some(last) = page.messages.iter().map(|m| m.id).max() else { return Ok(()) };
            let whole = page.messages.len() < usize::from(PAGE);
            let news = last > cursor;
            self.door.page(channel.id, page, last).await?;
            // A page that is not full and ends at the cursor was the overlap alone: what follows it is empty.
            if whole && !news {
                return Ok(());
            }
            from = last;
        }
    }

    /// Where reading begins: by Discord's time, never by ours (I-2).
    async fn first(&self, channel: &Heard) -> Result<MessageId, Trouble> {
        let cursor = match channel.listening {
            // All that stands in a thread is younger than the thread, and all of it is ours.
            Listening::Thread => MessageId(channel.id.0),
            Listening::Staff | Listening::Bound => {
                let page = self.door.discord().newest(channel.id, 1).await?;
                let newest = page.messages.first().map(|m| m.id.created());
                let now = page.server_time.or(newest).unwrap_or_else(|| channel.id.created());
                MessageId::at(now.minus(FIRST))
            }
        };
        let (tools, id) = (self.door.tools().clone(), channel.id);
        let moved = self
            .door
            .ledger()
            .write("catchup", move |tx| channels::advance(tx, &tools.bot, id, cursor, tools.clock.now()));
        moved.await?;
        Ok(cursor)
    }

    /// A channel that is gone or closed to us is said on the card, and is not fatal.
    async fn unreadable(&self, channel: &Heard, error: &DiscordError) {
        tracing::warn!("channel {} could not be read: {error}", channel.id);
        let gone = error.kind == ErrorKind::NotFound;
        if !gone && error.kind != ErrorKind::NoAccess && error.kind != ErrorKind::NoPermission {
            return;
        }
        let (bot, id, thread) = (self.door.tools().bot.clone(), channel.id, channel.listening == Listening::Thread);
        if !thread {
            return self.door.lacks(Lack::Channel(id), Some(complaint(id, gone))).await;
        }
        if gone {
            let done = self.door.ledger().write("link", move |tx| channels::retire(tx, &bot, id, true));
            done.await.log_and_go_on("a thread that is gone could not be recorded");
        }
    }
}

fn complaint(id: ChannelId, gone: bool) -> String {
    match gone {
        true => format!("The channel {id} is gone. Start the host with another --channel-id."),
        false => format!("The bot may not read <#{id}>. Give it View Channel and Read Message History there."),
    }
}

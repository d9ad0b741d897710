//! Where an upload's rows go: straight into the ledger, or through the host that runs on it (I-18).

use async_trait::async_trait;

use crate::base::failure::Failure;
use crate::base::ids::{BotKey, PutId};
use crate::ledger::{Ledger, puts};
use crate::model::object::{Intent, Object};

/// Keeps the rows of uploads.
#[async_trait]
pub trait Index: Send + Sync {
    /// Records an intent; gives an unfinished one back where it means the same.
    async fn intend(&self, intent: Intent) -> Result<Intent, Failure>;

    /// The bytes were read back from Discord: records the object.
    async fn stored(&self, put: &PutId, object: &Object) -> Result<(), Failure>;

    /// Nothing was stored and nothing will be.
    async fn failed(&self, put: &PutId, why: &str) -> Result<(), Failure>;
}

/// The ledger itself.
#[derive(Clone)]
pub struct InLedger {
    ledger: Ledger,
    bot: BotKey,
}

impl InLedger {
    /// The index of a bot's objects. The bot's row must be there.
    pub fn new(ledger: Ledger, bot: BotKey) -> Self {
        Self { ledger, bot }
    }
}

#[async_trait]
impl Index for InLedger {
    async fn intend(&self, intent: Intent) -> Result<Intent, Failure> {
        let bot = self.bot.clone();
        Ok(self.ledger.write("put.intend", move |tx| puts::intend(tx, &bot, &intent)).await?)
    }

    async fn stored(&self, put: &PutId, object: &Object) -> Result<(), Failure> {
        let (bot, put, object) = (self.bot.clone(), put.clone(), object.clone());
        Ok(self.ledger.write("put.stored", move |tx| puts::stored(tx, &bot, &put, &object)).await?)
    }

    async fn failed(&self, put: &PutId, why: &str) -> Result<(), Failure> {
        let (put, why) = (put.clone(), why.to_owned());
        Ok(self.ledger.write("put.failed", move |tx| puts::failed(tx, &put, &why)).await?)
    }
}

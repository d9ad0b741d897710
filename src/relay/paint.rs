//! Paints a mirror: from the ledger's rows to what its message says.

use super::cards::host::Face;
use super::cards::{Stamp, host, job};
use crate::base::hash::Sha256;
use crate::base::ids::{BotKey, ChannelId};
use crate::ledger::mirrors::{Mirror, Subject};
use crate::ledger::{LedgerError, Read, Result, views};
use crate::model::card::Body;
use crate::model::tap::Signer;

/// What painting needs besides the rows.
#[derive(Clone)]
pub struct Painter {
    signer: Signer,
    bot: BotKey,
    face: Face,
}

/// A painted mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Painted {
    /// What its message is to say.
    pub body: Body,
    /// Hash of that.
    pub hash: String,
}

impl Painter {
    /// A painter for one bot's mirrors.
    pub fn new(signer: Signer, bot: BotKey, face: Face) -> Self {
        Self { signer, bot, face }
    }

    /// Bot whose mirrors these are.
    pub fn bot(&self) -> &BotKey {
        &self.bot
    }

    /// What the mirror is to say in `channel`; `None` while there is nothing to show.
    pub fn paint(&self, read: &Read<'_>, mirror: &Mirror, channel: ChannelId) -> Result<Option<Painted>> {
        let stamp = Stamp { signer: &self.signer, channel, mirror: mirror.id };
        let card = match &mirror.subject {
            Subject::Host(id) => views::host_view(read, id, &self.bot)?.map(|v| host::card(&v, &self.face, &stamp)),
            Subject::Job(task) => views::job_view(read, task)?.map(|v| job::card(&v, &stamp)),
        };
        let Some(card) = card else { return Ok(None) };
        let body = Body::Card(card);
        let text = serde_json::to_string(&body).map_err(|e| LedgerError::Corrupt(e.to_string()))?;
        Ok(Some(Painted { hash: Sha256::of(text).to_string(), body }))
    }
}

//! The CLI's hand on a workspace: the host that runs there, or the ledger itself where none does.

use std::sync::Arc;

use async_trait::async_trait;

use super::deeds::{self, Deed, Done};
use super::lock;
use super::socket::Client;
use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::ids::{BotKey, PutId};
use crate::config::Loaded;
use crate::ledger::{Ledger, puts, spend};
use crate::model::object::{Intent, Object};
use crate::model::settings::BackendChoice;
use crate::objects::index::Index;
use crate::vault;
use crate::verbs::Tools;

/// Key of the host's own bot. Each workspace has a ledger of its own, so one name serves all.
pub const BOT: &str = "host";

/// Who does what the CLI wants done.
pub enum Hand {
    /// The host that runs on the workspace.
    Host(Client),
    /// Nobody runs there: this process does it.
    Own(Box<(Ledger, Tools)>),
}

impl Hand {
    /// The hand on a workspace. Makes the workspace where there is none.
    ///
    /// # Errors
    /// A workspace that cannot be used.
    pub async fn on(loaded: &Loaded, clock: Arc<dyn Clock>, entropy: Arc<Entropy>) -> Result<Self, Failure> {
        let running = lock::holder(loaded.workspace.root()).and_then(|holder| holder.socket);
        if let Some(socket) = running {
            return Ok(Self::Host(Client::new(socket)));
        }
        let (ledger, tools) = open(loaded, clock, entropy).await?;
        Ok(Self::Own(Box::new((ledger, tools))))
    }

    /// Has a deed done.
    ///
    /// # Errors
    /// Whoever does it says why not.
    pub async fn perform(&self, deed: Deed) -> Result<Done, Failure> {
        match self {
            Self::Host(client) => client.perform(&deed).await,
            Self::Own(own) => deeds::carry(&own.0, &own.1, deed).await,
        }
    }
}

/// Opens a workspace for writing: folders, keys, ledger, and the rows that everything hangs on.
///
/// # Errors
/// A workspace that cannot be used, or one of the Python program beside it.
pub async fn open(loaded: &Loaded, clock: Arc<dyn Clock>, entropy: Arc<Entropy>) -> Result<(Ledger, Tools), Failure> {
    loaded.workspace.make()?;
    let ledger = Ledger::open(&loaded.workspace.ledger())?;
    let tools = tools(loaded, clock, entropy)?;
    let (host, bot, now) = (tools.host.clone(), tools.bot.clone(), tools.clock.now());
    let meter = crate::base::ids::MeterId(tools.entropy.id(now));
    let cap = loaded.settings.limits.spend_cap;
    let rows = ledger.write("workspace.open", move |tx| {
        puts::ensure_bot(tx, &host, &bot, now)?;
        spend::open(tx, &host, &meter, cap, now)
    });
    rows.await?;
    Ok((ledger, tools))
}

/// What deciding needs besides the ledger.
///
/// # Errors
/// Keys that cannot be read or made.
pub fn tools(loaded: &Loaded, clock: Arc<dyn Clock>, entropy: Arc<Entropy>) -> Result<Tools, Failure> {
    let settings = &loaded.settings;
    Ok(Tools {
        host: vault::host_id(&settings.workspace, &entropy, clock.now())?,
        bot: BotKey(BOT.to_owned()),
        signer: vault::signer(&settings.workspace, &entropy)?,
        clock,
        entropy,
        limits: settings.limits.clone(),
        backend: backend_name(&settings.backend).to_owned(),
        owner_pinned: settings.owner.is_some(),
        silent: false,
    })
}

/// Name of a backend, as in `AGENT_DISCORD_BACKEND`.
pub fn backend_name(choice: &BackendChoice) -> &'static str {
    match choice {
        BackendChoice::Puppetmaster => "puppetmaster",
        BackendChoice::Command(_) => "command",
        BackendChoice::Fake => "fake",
    }
}

#[async_trait]
impl Index for Hand {
    async fn intend(&self, intent: Intent) -> Result<Intent, Failure> {
        match self.perform(Deed::Intend { intent }).await? {
            Done::Intent { intent } => Ok(intent),
            other => Err(unexpected(&other)),
        }
    }

    async fn stored(&self, put: &PutId, object: &Object) -> Result<(), Failure> {
        self.perform(Deed::Stored { put: put.clone(), object: object.clone() }).await.map(drop)
    }

    async fn failed(&self, put: &PutId, why: &str) -> Result<(), Failure> {
        self.perform(Deed::Failed { put: put.clone(), why: why.to_owned() }).await.map(drop)
    }
}

/// The failure for an answer that does not belong to its question.
pub fn unexpected(done: &Done) -> Failure {
    Failure::failed(format!("The host answered something else: {done:?}."))
        .hint("Use the same version of discord-os for the host and the command.")
}

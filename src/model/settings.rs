//! Settings as the rooms see them. `config` fills them; nothing else reads the environment.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::ids::{ApplicationId, ChannelId, GuildId, UserId};
use crate::base::money::MicroUsd;
use crate::base::secret::Secret;

/// Backend that does the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendChoice {
    /// The default until it is built: naming it is refused.
    Puppetmaster,
    /// Any program: words of its command line.
    Command(Vec<String>),
    /// Deterministic; says so on its card.
    Fake,
}

/// Whether a `command` backend's runs cost money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandCost {
    /// Declared free.
    Free,
    /// Not known: counted at the worst case (I-8).
    #[default]
    Unknown,
}

/// What a run may spend and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Cap of the current meter.
    pub spend_cap: MicroUsd,
    /// Most that one run may cost.
    pub run_max: MicroUsd,
    /// What a run of unknown price counts as.
    pub unknown_run: MicroUsd,
    /// Most live runs.
    pub max_live: usize,
    /// Longest a run may take.
    pub run_deadline: Duration,
    /// Messages found late and younger than this run at once while On.
    pub catchup_auto: Duration,
    /// Largest object, in bytes.
    pub max_object_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            spend_cap: MicroUsd::dollars(10),
            run_max: MicroUsd::dollars(2),
            unknown_run: MicroUsd(500_000),
            max_live: 8,
            run_deadline: Duration::from_secs(3600),
            catchup_auto: Duration::from_secs(120),
            max_object_bytes: 10_485_760,
        }
    }
}

/// Everything that was set, with defaults filled in.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Workspace folder (DESIGN 5); absolute.
    pub workspace: PathBuf,
    /// Where REST lives, without `/api/v10`; `https://discord.com` or a loopback address.
    pub api_base: String,
    /// Bot token, where one was found.
    pub token: Option<Secret>,
    /// Application.
    pub application: Option<ApplicationId>,
    /// Staff channel.
    pub channel: Option<ChannelId>,
    /// Its guild.
    pub guild: Option<GuildId>,
    /// Pinned owner (I-5).
    pub owner: Option<UserId>,
    /// Backend.
    pub backend: BackendChoice,
    /// Price of a `command` backend.
    pub command_cost: CommandCost,
    /// Folder that runs work in; absolute.
    pub cwd: PathBuf,
    /// Bounds.
    pub limits: Limits,
    /// Whether to ask for the Message Content Intent.
    pub message_content: bool,
}

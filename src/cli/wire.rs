//! What commands are built from: settings, clock, Discord (or the simulator), and the hand on the workspace.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::args::{Global, Where};
use super::print;
use super::world::World;
use crate::base::clock::{Clock, SystemClock};
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, Kind};
use crate::base::ids::{ChannelId, GuildId};
use crate::config::{Ask, Loaded, load, names};
use crate::discord::rest::{Rest, RestConfig};
use crate::host::hand::Hand;
use crate::ledger::Ledger;

/// How soon it shows that a joined simulator has ended, after a call to it failed: it is looked at every 250 ms.
const LOSS_SHOWS: Duration = Duration::from_millis(800);

/// What every command starts with.
#[derive(Clone)]
pub struct Shell {
    /// Global flags.
    pub global: Global,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<Entropy>,
}

impl Shell {
    /// A shell for one command line.
    pub fn new(global: Global) -> Self {
        Self { global, clock: SystemClock::shared(), entropy: Arc::new(Entropy::system()) }
    }

    /// Says something on stderr, unless it is to be quiet.
    pub fn say(&self, text: &str) {
        if !self.global.quiet {
            print::talk(text);
        }
    }

    /// Settings, with flags by name.
    ///
    /// # Errors
    /// A wrong setting.
    pub fn load(&self, fake: bool, flags: Vec<(&'static str, String)>) -> Result<Loaded, Failure> {
        load(&Ask { workspace: self.global.workspace.clone(), flags, fake })
    }

    /// Connects: to Discord, or with `--fake` to the simulator, which is started where none runs.
    ///
    /// # Errors
    /// A wrong setting, no token, no channel.
    pub async fn desk(&self, place: &Where, lasting: bool, backend: Option<&str>) -> Result<Desk, Failure> {
        let mut flags = vec![];
        if let Some(channel) = place.channel_id {
            flags.push((names::DISCORD_CHANNEL_ID, channel.to_string()));
        }
        if let Some(guild) = place.guild_id {
            flags.push((names::DISCORD_GUILD_ID, guild.to_string()));
        }
        if let Some(backend) = backend {
            flags.push((names::AGENT_DISCORD_BACKEND, backend.to_owned()));
        }
        if !place.fake {
            let loaded = self.load(false, flags)?;
            loaded.refuse_foreign()?;
            return self.desk_on(loaded, None);
        }
        let own = self.load(true, vec![])?;
        let world = World::join(&own.workspace, lasting, &self.clock, &self.entropy).await?;
        if let Some(channel) = place.channel_id {
            world.ensure_channel(channel).await?;
        }
        let mut all = world.flags(place.channel_id.is_some());
        if backend.is_none() {
            all.extend(demo_backend());
        }
        all.extend(flags);
        self.desk_on(self.load(true, all)?, Some(world))
    }

    /// The channel that a command acts in, where nothing else of Discord is needed.
    ///
    /// # Errors
    /// None is set.
    pub async fn own_channel(&self, place: &Where) -> Result<ChannelId, Failure> {
        let no_channel =
            || Failure::usage("No channel is named.").hint("Give --channel-id, or set DISCORD_CHANNEL_ID.");
        if !place.fake {
            return Err(no_channel());
        }
        let desk = self.desk(place, false, None).await?;
        let channel = desk.channel();
        desk.close().await;
        channel
    }

    /// A desk for settings that are complete.
    ///
    /// # Errors
    /// No token.
    pub fn desk_on(&self, loaded: Loaded, world: Option<World>) -> Result<Desk, Failure> {
        let token = loaded.settings.token.clone().ok_or_else(no_token)?;
        let config =
            RestConfig::new(&loaded.settings.api_base, token, Arc::clone(&self.clock), Arc::clone(&self.entropy));
        Ok(Desk { discord: Arc::new(Rest::new(config)?), shell: self.clone(), loaded, world })
    }
}

/// The backend of `--fake` and the demo: honest work by this very program, at no cost.
pub fn demo_backend() -> [(&'static str, String); 3] {
    [
        (names::AGENT_DISCORD_BACKEND, "command".to_owned()),
        (names::DISCORD_OS_COMMAND, format!("{} demo-agent", crate::exec::wardens::OWN_PROGRAM)),
        (names::DISCORD_OS_COMMAND_COST, "free".to_owned()),
    ]
}

fn no_token() -> Failure {
    Failure::new(Kind::Usage, "No bot token is set.")
        .hint("Set DISCORD_BOT_TOKEN, or try everything without an account: `discord-os demo`, or --fake.")
}

/// A connected command.
pub struct Desk {
    /// Settings.
    pub loaded: Loaded,
    /// Discord.
    pub discord: Arc<Rest>,
    /// What the command started with.
    pub shell: Shell,
    /// The simulator, with `--fake`.
    pub world: Option<World>,
}

impl Desk {
    /// The channel that the command acts in.
    ///
    /// # Errors
    /// None is set.
    pub fn channel(&self) -> Result<ChannelId, Failure> {
        self.loaded
            .settings
            .channel
            .ok_or_else(|| Failure::usage("No channel is named.").hint("Give --channel-id, or set DISCORD_CHANNEL_ID."))
    }

    /// Its guild, where one is set.
    pub fn guild(&self) -> Option<GuildId> {
        self.loaded.settings.guild
    }

    /// Who writes to the workspace.
    ///
    /// # Errors
    /// A workspace that cannot be used.
    pub async fn hand(&self) -> Result<Hand, Failure> {
        Hand::on(&self.loaded, Arc::clone(&self.shell.clock), Arc::clone(&self.shell.entropy)).await
    }

    /// The ledger for reading; `None` where there is none yet.
    ///
    /// # Errors
    /// One that cannot be read.
    pub fn reader(&self) -> Result<Option<Ledger>, Failure> {
        reader(&self.loaded)
    }

    /// Does something that needs Discord, unless a simulator that was joined ends meanwhile.
    ///
    /// # Errors
    /// Its own, or that the simulator ended.
    pub async fn with_discord<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            done = work => match done {
                // What fails while the simulator goes away fails for that reason.
                Err(failure) if failure.kind == Kind::Discord => {
                    Err(tokio::time::timeout(LOSS_SHOWS, self.lost()).await.unwrap_or(failure))
                }
                done => done,
            },
            lost = self.lost() => Err(lost),
        }
    }

    /// Waits until a simulator that was joined has ended.
    pub async fn lost(&self) -> Failure {
        match &self.world {
            Some(world) => world.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Puts the simulator away, if this command started one.
    pub async fn close(self) {
        if let Some(world) = self.world {
            world.close().await;
        }
    }
}

/// The ledger for reading; `None` where there is none yet.
///
/// # Errors
/// One that cannot be read.
pub fn reader(loaded: &Loaded) -> Result<Option<Ledger>, Failure> {
    let path: PathBuf = loaded.workspace.ledger();
    if !path.exists() {
        return Ok(None);
    }
    Ledger::open_read_only(&path).map(Some)
}

//! The simulator under `--fake`: joined where one runs on the workspace's world, else started for this command.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, Kind};
use crate::base::ids::ChannelId;
use crate::config::names;
use crate::config::workspace::{Workspace, private_folder};
use crate::sim::client::Control;
use crate::sim::{self, Endpoints, Options, Sim};

/// Looks at the world's lock before giving up: half a minute, longer than any `put` of the largest file takes here.
const TRIES: u32 = 300;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Time between two looks at whether a joined simulator is still there.
const LOSS_LOOK: Duration = Duration::from_millis(250);

/// A simulated Discord.
pub struct World {
    /// Where it is.
    pub endpoints: Endpoints,
    folder: PathBuf,
    own: Option<Own>,
}

struct Own {
    sim: Sim,
    /// Held by a command that is soon over, so that another waits for its end instead of joining it.
    _turn: Option<Flock<File>>,
}

impl World {
    /// Joins the simulator that runs on a workspace's world, or starts one. `lasting` says that this command will stay
    /// (demo, host, run), so that others may join it.
    ///
    /// # Errors
    /// A world that cannot be opened.
    pub async fn join(
        workspace: &Workspace,
        lasting: bool,
        clock: &Arc<dyn Clock>,
        entropy: &Arc<Entropy>,
    ) -> Result<Self, Failure> {
        let options = Options { world: Some(workspace.world()), ..Options::default() };
        Self::start(workspace, options, lasting, (clock, entropy)).await
    }

    /// The same with options for the simulator that is started.
    ///
    /// # Errors
    /// A world that cannot be opened, or a port that is taken.
    pub async fn start(
        workspace: &Workspace,
        options: Options,
        lasting: bool,
        (clock, entropy): (&Arc<dyn Clock>, &Arc<Entropy>),
    ) -> Result<Self, Failure> {
        private_folder(workspace.root())?;
        let world = workspace.world();
        private_folder(&world)?;
        for _ in 0..TRIES {
            let Some(turn) = take_turn(workspace)? else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if let Some(endpoints) = sim::running(&world) {
                return Ok(Self { endpoints, folder: world, own: None });
            }
            match Sim::start(options.clone(), Arc::clone(clock), Arc::clone(entropy)).await {
                Ok(sim) => {
                    let endpoints = sim.endpoints().clone();
                    let turn = (!lasting).then_some(turn);
                    return Ok(Self { endpoints, folder: world, own: Some(Own { sim, _turn: turn }) });
                }
                // Its owner has the lock but has not yet said where it listens.
                Err(failure) if failure.kind == Kind::AlreadyRunning => {
                    drop(turn);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::new(Kind::AlreadyRunning, "Another command is using the simulator's world.")
            .hint("Wait for it to end, or use another workspace."))
    }

    /// Waits until the simulator that was joined has ended; for ever where this command started it.
    pub async fn lost(&self) -> Failure {
        if self.is_own() {
            return std::future::pending().await;
        }
        while sim::running(&self.folder).is_some_and(|now| now.pid == self.endpoints.pid) {
            tokio::time::sleep(LOSS_LOOK).await;
        }
        let pid = self.endpoints.pid;
        Failure::new(Kind::Discord, format!("The simulator that this command had joined has ended (process {pid})."))
            .hint("Run the command again: it starts a simulator of its own, with the same world.")
    }

    /// Whether this command started it.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// What the settings must be for this Discord. Its staff channel is left out where another is named.
    pub fn flags(&self, other_channel: bool) -> Vec<(&'static str, String)> {
        let e = &self.endpoints;
        let mut flags = vec![
            (names::DISCORD_API_BASE, e.api_base.clone()),
            (names::DISCORD_BOT_TOKEN, e.bot_token.clone()),
            (names::DISCORD_APPLICATION_ID, e.application.to_string()),
            (names::DISCORD_GUILD_ID, e.guild.to_string()),
        ];
        if !other_channel {
            flags.push((names::DISCORD_CHANNEL_ID, e.channel.to_string()));
        }
        flags
    }

    /// Makes a channel with an id of the person's choice, where it is not there yet. A thread that is there is one.
    ///
    /// # Errors
    /// The simulator refuses.
    pub async fn ensure_channel(&self, channel: ChannelId) -> Result<(), Failure> {
        Control::new(&self.endpoints)?.channel(&format!("channel-{channel}"), Some(channel)).await.map(drop)
    }

    /// Ends the simulator, if this command started it; its world stays.
    pub async fn close(self) {
        if let Some(own) = self.own {
            own.sim.stop().await;
        }
    }
}

/// Takes the turn to look at the world and to start it, unless another command has it.
fn take_turn(workspace: &Workspace) -> Result<Option<Flock<File>>, Failure> {
    let path = workspace.root().join("world.turn");
    let fail = |e: std::io::Error| {
        Failure::failed(format!("{} cannot be locked: {e}.", path.display())).hint("Check that the workspace is yours.")
    };
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(fail)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(turn) => Ok(Some(turn)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(fail(errno.into())),
    }
}

//! `sim`: run the simulator alone.

use clap::Args;
use serde_json::json;

use super::print::{self, Out};
use super::signals;
use super::wire::Shell;
use super::world::World;
use crate::base::failure::{Failure, Kind};
use crate::base::stop::Stop;
use crate::sim::Options;

/// Run the simulator alone until Ctrl-C, for tests of other programs.
///
/// Prints where it listens and the token of its bot, as one JSON object. Its world is the one that --fake uses.
#[derive(Debug, Args)]
pub struct Sim {
    /// Port of the page and the control API [default: a free one].
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Seed for ids and jitter, so that two runs look alike.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Largest file that it takes, in bytes.
    #[arg(long)]
    pub upload_limit: Option<u64>,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Sim) -> Result<Out, Failure> {
    let loaded = shell.load(true, vec![])?;
    let options = Options {
        world: Some(loaded.workspace.world()),
        seed: args.seed,
        page_port: args.port,
        upload_limit: args.upload_limit,
        ..Options::default()
    };
    let world = World::start(&loaded.workspace, options, true, (&shell.clock, &shell.entropy)).await?;
    if !world.is_own() {
        return Err(Failure::new(
            Kind::AlreadyRunning,
            format!("Process {} runs the simulator already.", world.endpoints.pid),
        )
        .hint("Use that one, or another workspace."));
    }
    print::line(&serde_json::to_string_pretty(&json!(world.endpoints)).unwrap_or_default());
    let stop = Stop::new();
    let waiting = stop.clone();
    let waited = signals::heed(&stop, async move {
        waiting.wait().await;
        Ok(())
    });
    let result = waited.await;
    world.close().await;
    result.map(|()| Out::none())
}

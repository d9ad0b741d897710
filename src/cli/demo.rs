//! `demo`: simulator, host and page in one process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::print::{self, Out};
use super::wire::{Desk, Shell, demo_backend};
use super::world::World;
use super::{log, signals};
use crate::base::failure::{Failure, Kind};
use crate::base::stop::Stop;
use crate::config::names;
use crate::host::build::{Duty, Host, Plan};
use crate::sim::Options;

/// Show the whole product in a browser, with no account and no network.
///
/// Discord itself is simulated; the host, its work and everything it remembers are real. Pair, tap On, and write a
/// sentence. Work is done by a small agent that reads the folder and changes nothing. What happened is kept in `sim/`
/// of the workspace and is there again the next time.
#[derive(Debug, Args)]
pub struct Demo {
    /// Do not open the browser.
    #[arg(long)]
    pub no_open: bool,
    /// Who does the work instead of the demo's own agent: command or fake.
    #[arg(long)]
    pub backend: Option<String>,
    /// Port of the page [default: a free one].
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Folder that work reads [default: the current one].
    #[arg(long, value_name = "FOLDER")]
    pub cwd: Option<PathBuf>,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Demo) -> Result<Out, Failure> {
    let own = shell.load(true, vec![])?;
    let options = Options { world: Some(own.workspace.world()), page_port: args.port, ..Options::default() };
    let world = World::start(&own.workspace, options, true, (&shell.clock, &shell.entropy)).await?;
    if !world.is_own() {
        return Err(Failure::new(
            Kind::AlreadyRunning,
            format!("Process {} runs the simulator of this workspace already.", world.endpoints.pid),
        )
        .hint("End that one first, or give another --workspace."));
    }
    let page = world.endpoints.page_url.clone();
    let desk = shell.desk_on(shell.load(true, flags(args, &world)?)?, Some(world))?;
    if shell.global.verbose == 0 {
        desk.loaded.workspace.make()?;
        log::to_file(&desk.loaded.workspace.logs().join("demo.log"));
    }
    let stop = Stop::new();
    let result = signals::heed(&stop, show(&desk, args, &page, &stop)).await;
    desk.close().await;
    result.map(|()| Out::none())
}

fn flags(args: &Demo, world: &World) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut flags = world.flags(false);
    match &args.backend {
        Some(backend) => flags.push((names::AGENT_DISCORD_BACKEND, backend.clone())),
        None => flags.extend(demo_backend()),
    }
    if let Some(cwd) = &args.cwd {
        flags.push((names::PUPPETMASTER_CWD, text(cwd)?));
    }
    Ok(flags)
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!("The folder {} has a name that is not Unicode.", path.display()))
            .hint("Change into it and leave --cwd out.")
    })
}

async fn show(desk: &Desk, args: &Demo, page: &str, stop: &Stop) -> Result<(), Failure> {
    let plan = Plan {
        loaded: desk.loaded.clone(),
        discord: Arc::<crate::discord::rest::Rest>::clone(&desk.discord),
        clock: Arc::clone(&desk.shell.clock),
        entropy: Arc::clone(&desk.shell.entropy),
        staff: (desk.channel()?, desk.guild()),
        duty: Duty::Everything,
    };
    let host = Host::build(plan).await?;
    print::line(page);
    let folder = desk.loaded.settings.cwd.display();
    desk.shell.say(&format!("Open that address: pair, tap On, and ask about {folder}. Ctrl-C ends the demo."));
    if !args.no_open && open::that_detached(page).is_err() {
        desk.shell.say("No browser could be opened; open the address yourself.");
    }
    host.run(stop.clone()).await
}

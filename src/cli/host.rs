//! `host`: run it in the foreground, or ask about it.

use std::sync::Arc;

use clap::Subcommand;

use super::args::Where;
use super::print::Out;
use super::wire::Shell;
use super::{signals, status};
use crate::base::failure::Failure;
use crate::base::stop::Stop;
use crate::config::settings::refuse_later_backend;
use crate::host::build::{Duty, Host as Running, Plan};

/// Run the host, or ask about it.
#[derive(Debug, Subcommand)]
pub enum Host {
    /// Run the host in the foreground until Ctrl-C or SIGTERM. Services start this.
    ///
    /// Work runs in PUPPETMASTER_CWD [default: the current folder].
    Run {
        /// Where.
        #[command(flatten)]
        place: Where,
    },
    /// Tell how the host is.
    Status(status::Status),
}

/// Does it.
pub async fn run(shell: &Shell, args: &Host) -> Result<Out, Failure> {
    match args {
        Host::Run { place } => foreground(shell, place).await,
        Host::Status(args) => status::run(shell, args),
    }
}

async fn foreground(shell: &Shell, place: &Where) -> Result<Out, Failure> {
    if !place.fake {
        // Said before anything is asked of Discord.
        refuse_later_backend(&shell.load(false, vec![])?.settings)?;
    }
    let desk = shell.desk(place, true, None).await?;
    let stop = Stop::new();
    let work = async {
        let plan = Plan {
            loaded: desk.loaded.clone(),
            discord: Arc::<crate::discord::rest::Rest>::clone(&desk.discord),
            clock: Arc::clone(&shell.clock),
            entropy: Arc::clone(&shell.entropy),
            staff: (desk.channel()?, desk.guild()),
            duty: Duty::Everything,
        };
        let host = Running::build(plan).await?;
        shell.say("The host runs. Ctrl-C ends it.");
        if let Some(page) = desk.world.as_ref().map(|world| &world.endpoints.page_url) {
            shell.say(&format!("The page that stands in for a phone: {page}"));
        }
        host.run(stop.clone()).await
    };
    let lost = async {
        let lost = desk.lost().await;
        // Its sockets would be elsewhere the next time, so there is nothing to wait for.
        stop.stop();
        lost
    };
    let work = async {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => done,
            lost = lost => work.await.and(Err(lost)),
        }
    };
    let result = signals::heed(&stop, work).await;
    desk.close().await;
    result.map(|()| Out::none())
}

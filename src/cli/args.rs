//! The command line. The doc comments are its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{bootstrap, check, config, demo, get, host, invite, jobs, ls, pair, put, run, sim, spend, status};
use crate::base::ids::{BadId, ChannelId, GuildId};

/// Discord is the screen, this machine is the computer, your phone is the remote.
#[derive(Debug, Parser)]
#[command(name = "discord-os", version, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Print the result, or the error, as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder that holds everything of this host [default: AGENT_DISCORD_WORKSPACE, else ~/.agent-discord].
    #[arg(long, global = true, value_name = "FOLDER")]
    pub workspace: Option<PathBuf>,
    /// Say nothing but results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Say more; twice for all.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Where a command acts.
#[derive(Debug, Clone, Args)]
pub struct Where {
    /// Channel [default: DISCORD_CHANNEL_ID; with --fake the simulator's].
    #[arg(long, value_name = "ID", value_parser = id::<ChannelId>)]
    pub channel_id: Option<ChannelId>,
    /// Guild of the channel [default: DISCORD_GUILD_ID].
    #[arg(long, value_name = "ID", value_parser = id::<GuildId>)]
    pub guild_id: Option<GuildId>,
    /// Use the simulator instead of Discord: no account, no network.
    #[arg(long)]
    pub fake: bool,
}

/// Reads an id of Discord's, which is never 0.
pub(super) fn id<T: std::str::FromStr<Err = BadId>>(text: &str) -> Result<T, String> {
    let zero = !text.is_empty() && text.bytes().all(|b| b == b'0');
    if zero { Err("0 is nobody's id".to_owned()) } else { text.parse().map_err(|e: BadId| e.to_string()) }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the whole product in a browser, with no account and no network.
    Demo(demo::Demo),
    /// Do one task on the terminal.
    Run(run::Run),
    /// Run the host, or ask about it.
    #[command(subcommand)]
    Host(host::Host),
    /// Store files in a channel.
    Put(put::Put),
    /// Fetch an object back, verified.
    Get(get::Get),
    /// List the objects of a channel and its threads.
    Ls(ls::Ls),
    /// Tell how the host is.
    Status(status::Status),
    /// List jobs, show one, cancel it or run it again.
    #[command(subcommand)]
    Jobs(jobs::Jobs),
    /// Show what was spent; set the cap, halt or resume.
    Spend(spend::Spend),
    /// Add a person who may use the host.
    Pair(pair::Pair),
    /// Make the workspace.
    Bootstrap(bootstrap::Bootstrap),
    /// Look for problems with the settings.
    Check(check::Check),
    /// Print each setting and where it came from.
    Config(config::Config),
    /// Print the link that adds the bot to a server.
    Invite(invite::Invite),
    /// Run the simulator alone, for tests of other programs.
    Sim(sim::Sim),
}

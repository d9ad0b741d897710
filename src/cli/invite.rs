//! `invite`: print the link that adds the bot to a server.

use clap::Args;
use serde_json::json;

use super::print::Out;
use super::wire::Shell;
use crate::base::failure::Failure;
use crate::base::ids::ApplicationId;
use crate::config::names;

/// View Channel, Send Messages, Embed Links, Attach Files, Read Message History, Add Reactions, Create Public Threads
/// and Send Messages in Threads: what the host uses, and no more (discord/facts.md section 8).
const PERMISSIONS: u64 = 1 << 10 | 1 << 11 | 1 << 14 | 1 << 15 | 1 << 16 | 1 << 6 | 1 << 35 | 1 << 38;

/// Print the link that adds the bot to a server, with the permissions that the host uses.
#[derive(Debug, Args)]
pub struct Invite {
    /// Application of the bot [default: DISCORD_APPLICATION_ID].
    #[arg(long, value_name = "ID")]
    pub application_id: Option<ApplicationId>,
}

/// Does it.
pub fn run(shell: &Shell, args: &Invite) -> Result<Out, Failure> {
    let flags = args.application_id.map(|id| (names::DISCORD_APPLICATION_ID, id.to_string()));
    let loaded = shell.load(false, flags.into_iter().collect())?;
    let application = loaded.settings.application.ok_or_else(|| {
        Failure::usage("No application is named.")
            .hint("Give --application-id, or set DISCORD_APPLICATION_ID; the Developer Portal shows it.")
    })?;
    let url = format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    );
    let json = json!({ "application_id": application, "url": url, "scope": "bot applications.commands" });
    Ok(Out::new(json, url))
}

//! `check`: look for problems with the settings.

use clap::Args;
use serde_json::json;

use super::args::Where;
use super::print::Out;
use super::wire::Shell;
use crate::base::failure::Failure;
use crate::config::names;
use crate::config::settings::refuse_later_backend;
use crate::discord::Discord;

/// Look for problems with the settings, and with --live also at Discord itself.
#[derive(Debug, Args)]
pub struct Check {
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Ask Discord whether the token works and the channel can be seen.
    #[arg(long)]
    pub live: bool,
}

/// Does it. Exit code 1 where there are problems.
pub async fn run(shell: &Shell, args: &Check) -> Result<Out, Failure> {
    let flags = args.place.channel_id.map(|channel| (names::DISCORD_CHANNEL_ID, channel.to_string()));
    let loaded = shell.load(args.place.fake, flags.into_iter().collect())?;
    let settings = &loaded.settings;
    let mut problems: Vec<Failure> = Vec::new();
    problems.extend(loaded.refuse_foreign().err().filter(|_| !args.place.fake));
    if settings.token.is_none() && !args.place.fake {
        problems.push(Failure::usage("No bot token is set.").hint("Set DISCORD_BOT_TOKEN."));
    }
    if settings.channel.is_none() && !args.place.fake {
        problems.push(Failure::usage("No channel is set.").hint("Set DISCORD_CHANNEL_ID, or give --channel-id."));
    }
    problems.extend(refuse_later_backend(settings).err().filter(|_| !args.place.fake));
    if args.live && problems.is_empty() {
        problems.extend(live(shell, args).await.err());
    }
    let list: Vec<_> = problems.iter().map(|p| json!({ "message": p.message, "hint": p.hint })).collect();
    let human = match problems.is_empty() {
        true => "No problems were found.".to_owned(),
        false => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    let json = json!({ "workspace": loaded.workspace.root(), "problems": list });
    Ok(Out::new(json, human).code(u8::from(!problems.is_empty())))
}

async fn live(shell: &Shell, args: &Check) -> Result<(), Failure> {
    let desk = shell.desk(&args.place, false, None).await?;
    let asked = async {
        desk.discord.me().await?;
        desk.discord.channel(desk.channel()?).await?;
        Ok(())
    };
    let result = desk.with_discord(asked).await;
    desk.close().await;
    result
}

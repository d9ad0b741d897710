//! `spend`: show what was spent; set the cap, halt or resume.

use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::print::Out;
use super::wire::{Shell, reader};
use crate::base::failure::Failure;
use crate::base::ids::ChannelId;
use crate::base::money::MicroUsd;
use crate::config::Loaded;
use crate::host::deeds::{Deed, Done};
use crate::host::hand::{Hand, unexpected};
use crate::host::report::SpendJson;
use crate::ledger::{control, spend};
use crate::vault;
use crate::verbs::{Outcome, Verb};

/// Show what was spent; set the cap, halt or resume.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct Spend {
    /// Set the cap of the meter, in US dollars. It is kept, and wins over DISCORD_OS_SPEND_CAP_USD.
    #[arg(long, value_name = "USD")]
    pub cap: Option<MicroUsd>,
    /// Stop new work, also after a restart.
    #[arg(long, conflicts_with = "resume")]
    pub halt: bool,
    /// Open a new meter and end the halt; the history is kept.
    #[arg(long)]
    pub resume: bool,
    /// Of the simulator's workspace.
    #[arg(long)]
    pub fake: bool,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Spend) -> Result<Out, Failure> {
    let loaded = shell.load(args.fake, vec![])?;
    if args.cap.is_some() || args.halt || args.resume {
        if !args.fake {
            loaded.refuse_foreign()?;
        }
        change(shell, args, &loaded).await?;
    }
    show(&loaded)
}

async fn change(shell: &Shell, args: &Spend, loaded: &Loaded) -> Result<(), Failure> {
    let hand = Hand::on(loaded, Arc::clone(&shell.clock), Arc::clone(&shell.entropy)).await?;
    if args.resume {
        hand.perform(Deed::NewMeter { micro_usd: args.cap.map(|cap| cap.0) }).await?;
        order(&hand, loaded, Verb::Resume).await?;
    } else if let Some(cap) = args.cap {
        hand.perform(Deed::Cap { micro_usd: cap.0 }).await?;
        shell.say(&format!("The cap is {cap} from now on; it wins over DISCORD_OS_SPEND_CAP_USD."));
    }
    if args.halt {
        order(&hand, loaded, Verb::Halt).await?;
    }
    Ok(())
}

async fn order(hand: &Hand, loaded: &Loaded, verb: Verb) -> Result<(), Failure> {
    // Halt and Resume concern the host, wherever they are asked for.
    let channel = loaded.settings.channel.unwrap_or(ChannelId(0));
    match hand.perform(Deed::Order { verb, channel, guild: loaded.settings.guild }).await? {
        Done::Order { outcome: Outcome::Refused, text, .. } => Err(Failure::refused(text)),
        Done::Order { .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}

fn show(loaded: &Loaded) -> Result<Out, Failure> {
    let found = match (vault::known_host(loaded.workspace.root())?, reader(loaded)?) {
        (Some(host), Some(ledger)) => {
            ledger.read_now(|read| Ok((spend::meter(read, &host)?, control::host(read, &host)?)))?
        }
        _ => (None, None),
    };
    let halted = found.1.is_some_and(|host| host.halted);
    let Some(meter) = found.0 else {
        let cap = loaded.settings.limits.spend_cap;
        return Ok(Out::new(
            json!({ "meter": null, "halted": halted }),
            format!("Nothing was spent; the cap is {cap}."),
        ));
    };
    let about = if meter.estimated { " (estimated)" } else { "" };
    let end = if halted { " New work is halted." } else { "" };
    let human = format!("{} of {} are spent{about}, {} are reserved.{end}", meter.spent, meter.cap, meter.reserved);
    Ok(Out::new(json!({ "meter": SpendJson::from(&meter), "halted": halted }), human))
}

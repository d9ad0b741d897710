//! `ls`: list the objects of a channel and its threads.

use clap::Args;
use serde_json::json;

use super::args::Where;
use super::print::{self, Out};
use super::wire::{Shell, reader};
use crate::base::failure::Failure;
use crate::base::ids::ArtifactId;
use crate::base::text;
use crate::config::names;
use crate::ledger::objects;
use crate::model::object::{Object, ObjectJson};
use crate::objects::MOST_PER_PAGE;

/// List the objects of a channel and its threads, newest first.
///
/// Reads the ledger alone. For the next page give the last `artifact_id` as --cursor.
#[derive(Debug, Args)]
pub struct Ls {
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Most objects to list, from 1 to 100.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=MOST_PER_PAGE as u64))]
    pub limit: u64,
    /// Only objects older than this artifact id.
    #[arg(long, value_name = "ARTIFACT_ID")]
    pub cursor: Option<ArtifactId>,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Ls) -> Result<Out, Failure> {
    let flags = args.place.channel_id.map(|channel| (names::DISCORD_CHANNEL_ID, channel.to_string()));
    let loaded = shell.load(args.place.fake, flags.into_iter().collect())?;
    let channel = match loaded.settings.channel {
        Some(channel) => channel,
        // The world alone knows which channel is its own.
        None => shell.own_channel(&args.place).await?,
    };
    let found: Vec<Object> = match reader(&loaded)? {
        Some(ledger) => {
            ledger.read_now(|read| objects::page(read, channel, args.cursor.as_ref(), args.limit as usize))?
        }
        None => Vec::new(),
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    let json: Vec<ObjectJson> = found.iter().map(ObjectJson::from).collect();
    Ok(Out::new(json!(json), print::table(&rows)))
}

fn row(object: &Object) -> Vec<String> {
    vec![
        object.created.rfc3339()[..16].replace('T', " "),
        object.message.to_string(),
        object.sha256.to_string()[..12].to_owned(),
        text::size(object.size),
        object.kind.as_str().to_owned(),
        print::cell(&object.name),
    ]
}

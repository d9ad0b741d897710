//! `put`: store files in a channel.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::args::Where;
use super::print::{self, Out};
use super::wire::{Desk, Shell};
use crate::base::failure::Failure;
use crate::base::ids::ChannelId;
use crate::base::text;
use crate::model::object::{Object, ObjectJson, ObjectKind};
use crate::objects::put::{Item, Parts, put};
use crate::objects::{names, place};

/// Store files in a channel.
///
/// Prints an array of the objects stored. The bytes are hashed before they go up and the message is read back before
/// the object counts as stored. A command that was cut off can be repeated: it finds what was stored.
#[derive(Debug, Args)]
pub struct Put {
    /// Files to store.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Thread of that channel.
    #[arg(long, value_name = "ID")]
    pub thread_id: Option<ChannelId>,
    /// What it is: blob, diff, log, image, audio or text [default: by the ending of its name].
    #[arg(long, value_parser = kind)]
    pub kind: Option<ObjectKind>,
    /// Name to keep instead of the file's own; for one file.
    #[arg(long)]
    pub name: Option<String>,
}

/// Reads a kind.
fn kind(text: &str) -> Result<ObjectKind, String> {
    ObjectKind::parse(text).ok_or_else(|| "one of blob, diff, log, image, audio, text is needed".to_owned())
}

/// Does it.
pub async fn run(shell: &Shell, args: &Put) -> Result<Out, Failure> {
    if args.name.is_some() && args.paths.len() > 1 {
        return Err(Failure::usage("--name fits one file, but several are named.").hint("Store them one by one."));
    }
    if args.name.as_deref().is_some_and(str::is_empty) {
        return Err(Failure::usage("--name is empty.").hint("Leave it out to keep the file's own name."));
    }
    let desk = shell.desk(&args.place, false, None).await?;
    let stored = desk.with_discord(store(&desk, args)).await;
    desk.close().await;
    let objects: Vec<ObjectJson> = stored?.iter().map(ObjectJson::from).collect();
    let lines = objects.iter().map(|o| {
        format!(
            "{}  {}  {}  {}",
            o.message_id,
            &o.sha256.to_string()[..12],
            text::size(o.size),
            print::cell(&o.filename)
        )
    });
    Ok(Out::new(json!(objects), lines.collect::<Vec<_>>().join("\n")))
}

async fn store(desk: &Desk, args: &Put) -> Result<Vec<Object>, Failure> {
    let channel = desk.channel()?;
    let hand = desk.hand().await?;
    let mut lies = place::look_up(desk.discord.as_ref(), args.thread_id.unwrap_or(channel)).await?;
    if args.thread_id.is_some() && lies.parent != Some(channel) {
        return Err(Failure::usage("That thread does not belong to the channel.")
            .hint("Name the thread's own channel with --channel-id."));
    }
    lies.guild = lies.guild.or(desk.guild());
    let parts = Parts {
        discord: desk.discord.as_ref(),
        index: &hand,
        clock: desk.shell.clock.as_ref(),
        entropy: &desk.shell.entropy,
        max_bytes: desk.loaded.settings.limits.max_object_bytes,
    };
    let mut stored = Vec::new();
    for path in &args.paths {
        let item = Item { path: path.clone(), name: args.name.clone(), kind: args.kind, place: lies, run: None };
        let bar = bar(desk, path);
        let object = put(&parts, &item, &|bytes| bar.inc(bytes)).await;
        bar.finish_and_clear();
        stored.push(object?);
    }
    Ok(stored)
}

/// A bar on a terminal, nothing on a pipe.
fn bar(desk: &Desk, path: &std::path::Path) -> ProgressBar {
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    if desk.shell.global.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let shape = "{msg} [{bar:30}] {decimal_bytes}/{decimal_total_bytes}";
    let bar = ProgressBar::new(size).with_message(print::cell(&names::of_path(path)));
    ProgressStyle::with_template(shape).map_or(bar.clone(), |style| bar.with_style(style))
}

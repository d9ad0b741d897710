//! `get`: fetch an object back, verified.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::args::Where;
use super::print::{self, Out};
use super::wire::{Desk, Shell};
use crate::base::failure::Failure;
use crate::base::ids::AttachmentId;
use crate::model::object::{Object, ObjectJson};
use crate::objects::get::{Key, Target, Wanted, fetch, find};

/// Fetch an object back, verified.
///
/// The file is written under its name only after its length and SHA-256 were checked. An object of another channel is
/// refused; one of a thread is found from the thread's channel.
#[derive(Debug, Args)]
pub struct Get {
    /// Message id, artifact id, `sha256:` and at least 6 digits, or the newest of a name.
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Which file, where the message has several.
    #[arg(long, value_name = "ID")]
    pub attachment_id: Option<AttachmentId>,
    /// File or folder to write to [default: stdout, unless that is a terminal].
    #[arg(long, short, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long)]
    pub force: bool,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Get) -> Result<Out, Failure> {
    if args.out.is_none() && (shell.global.json || print::stdout_is_terminal()) {
        return Err(Failure::usage("There is nowhere to write the bytes to.")
            .hint("Give --out PATH, or send stdout into a file or a pipe (without --json)."));
    }
    let key = Key::parse(&args.key)?;
    let desk = shell.desk(&args.place, false, None).await?;
    let done = desk.with_discord(bring(&desk, args, key)).await;
    desk.close().await;
    let (object, path) = done?;
    let human = path.map_or(String::new(), |path| path.display().to_string());
    Ok(Out::new(json!(ObjectJson::from(&object)), human))
}

async fn bring(desk: &Desk, args: &Get, key: Key) -> Result<(Object, Option<PathBuf>), Failure> {
    let wanted = Wanted { key, caller: desk.channel()?, attachment: args.attachment_id };
    let object = find(desk.reader()?.as_ref(), desk.discord.as_ref(), &wanted).await?;
    let entropy = &desk.shell.entropy;
    if let Some(out) = &args.out {
        let target = Target { path: out.clone(), replace: args.force };
        let path = fetch(desk.discord.as_ref(), &object, &target, entropy).await?;
        return Ok((object, Some(path)));
    }
    // Verified as a whole before the first byte is shown.
    desk.loaded.workspace.make()?;
    let passing = desk.loaded.workspace.artifacts().join(format!(".get-{}", entropy.hex::<8>()));
    let target = Target { path: passing, replace: false };
    let path = fetch(desk.discord.as_ref(), &object, &target, entropy).await?;
    let copied = print::copy(&path);
    std::fs::remove_file(&path).ok();
    // A reader that went away (`| head`) has heard enough.
    let copied = copied.or_else(|e| if e.kind() == std::io::ErrorKind::BrokenPipe { Ok(0) } else { Err(e) });
    copied.map_err(|e| Failure::failed(format!("stdout took not all of it: {e}.")).hint("Use --out PATH."))?;
    Ok((object, None))
}

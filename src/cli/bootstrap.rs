//! `bootstrap`: make the workspace.

use clap::Args;
use serde_json::json;

use super::print::Out;
use super::wire::Shell;
use crate::base::failure::Failure;
use crate::host::hand;
use std::sync::Arc;

/// Make the workspace: its folders, its keys and its ledger, each for its owner alone. Harmless when repeated.
#[derive(Debug, Args)]
pub struct Bootstrap {}

/// Does it.
pub async fn run(shell: &Shell, _args: &Bootstrap) -> Result<Out, Failure> {
    let loaded = shell.load(false, vec![])?;
    loaded.refuse_foreign()?;
    let (ledger, tools) = hand::open(&loaded, Arc::clone(&shell.clock), Arc::clone(&shell.entropy)).await?;
    drop(ledger);
    let root = loaded.workspace.root().display().to_string();
    let human =
        format!("The workspace is {root}. Put DISCORD_BOT_TOKEN and DISCORD_CHANNEL_ID into its .env (mode 0600).");
    Ok(Out::new(json!({ "workspace": root, "host_id": tools.host }), human))
}

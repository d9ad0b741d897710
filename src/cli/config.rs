//! `config`: print each setting and where it came from.

use clap::Args;
use serde_json::json;

use super::print::{Out, cell, table};
use super::wire::Shell;
use crate::base::failure::Failure;

/// Print each setting and where it came from. Secrets are shown as fingerprints.
///
/// The same names work in the environment, in `.env` and in `config.toml` of the workspace; the environment wins over
/// `.env`, and `.env` over `config.toml`.
#[derive(Debug, Args)]
pub struct Config {
    /// The settings of the simulator's workspace instead.
    #[arg(long)]
    pub fake: bool,
}

/// Does it.
pub fn run(shell: &Shell, args: &Config) -> Result<Out, Failure> {
    let loaded = shell.load(args.fake, vec![])?;
    let json: Vec<_> = loaded
        .shown
        .iter()
        .map(|line| json!({ "name": line.name, "value": line.value, "source": line.source.to_string() }))
        .collect();
    let rows: Vec<Vec<String>> = loaded
        .shown
        .iter()
        .map(|line| {
            let value = line.value.as_deref().map_or_else(|| "-".to_owned(), cell);
            vec![line.name.to_owned(), value, line.source.to_string()]
        })
        .collect();
    Ok(Out::new(json!(json), table(&rows)))
}

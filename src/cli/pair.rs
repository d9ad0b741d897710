//! `pair`: add a person who may use the host.

use clap::Args;
use serde_json::json;

use super::print::Out;
use super::wire::{Shell, reader};
use crate::base::failure::Failure;
use crate::base::ids::{BotKey, UserId};
use crate::host::deeds::{Deed, Done};
use crate::host::hand::{BOT, Hand, unexpected};
use crate::ledger::people::{self, Subject};
use crate::model::actor::Role;
use std::sync::Arc;

/// Add a person who may use the host.
#[derive(Debug, Args)]
pub struct Pair {
    /// Their Discord account.
    #[arg(long, value_name = "ID", value_parser = super::args::id::<UserId>)]
    pub user_id: UserId,
    /// What they may do: owner, operator, approver or member.
    #[arg(long, value_parser = role)]
    pub role: Role,
    /// Their name, for people.
    #[arg(long)]
    pub name: Option<String>,
    /// On the simulator's workspace.
    #[arg(long)]
    pub fake: bool,
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "one of owner, operator, approver, member is needed".to_owned())
}

/// Does it.
pub async fn run(shell: &Shell, args: &Pair) -> Result<Out, Failure> {
    let loaded = shell.load(args.fake, vec![])?;
    if !args.fake {
        loaded.refuse_foreign()?;
    }
    let hand = Hand::on(&loaded, Arc::clone(&shell.clock), Arc::clone(&shell.entropy)).await?;
    let deed = Deed::Pair { user: args.user_id, role: args.role, name: args.name.clone() };
    let changed = match hand.perform(deed).await? {
        Done::Changed { changed } => changed,
        other => return Err(unexpected(&other)),
    };
    let bot = BotKey(BOT.to_owned());
    let owner = match reader(&loaded)? {
        Some(ledger) => ledger.read_now(|read| people::owner(read, &bot))?,
        None => None,
    };
    let is_owner = owner.is_some_and(|person| person.subject == Subject::User(args.user_id));
    if args.role == Role::Owner && !is_owner {
        return Err(Failure::refused("There is an owner already.").hint("Add this person as an operator."));
    }
    let role = args.role.as_str();
    let human = match changed {
        true => format!("User {} is {role} now.", args.user_id),
        false => format!("User {} was {role} already.", args.user_id),
    };
    Ok(Out::new(json!({ "user_id": args.user_id, "role": role, "changed": changed }), human))
}

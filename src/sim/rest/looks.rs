//! Reads of who and where: accounts, guild, channels.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::core::{Core, State};
use super::super::hub::IDENTIFIES;
use super::super::rules::Refusal;
use super::super::show::{self, Show};
use super::super::thing::{Channel, Kind};
use super::route::Op;
use super::{Answer, Outcome};
use crate::base::ids::{ChannelId, GuildId};

/// Intents switched on in the portal, as application flags: 1<<19 is the limited message content.
const MESSAGE_CONTENT_LIMITED: u64 = 1 << 19;

/// The application as READY and REST name its flags.
pub fn application_flags(core: &Core) -> u64 {
    if core.settings.message_content { MESSAGE_CONTENT_LIMITED } else { 0 }
}

/// A channel that the bot can see.
pub fn visible(state: &State, id: ChannelId) -> Result<Channel, Refusal> {
    let channel = state.world.channels.get(&id).ok_or_else(Refusal::unknown_channel)?;
    if state.world.sees(state.world.meta.bot, channel) { Ok(channel.clone()) } else { Err(Refusal::no_access()) }
}

/// The bot's permissions there; in direct messages it may do all that there is.
pub fn permissions(state: &State, channel: &Channel) -> u64 {
    if channel.kind == Kind::Dm { u64::MAX } else { state.world.bot_permissions(channel) }
}

/// Carries out a read.
pub fn look(core: &Arc<Core>, op: &Op) -> Outcome {
    core.with(|state, now| {
        if let Op::Guild(guild)
        | Op::Member(guild, _)
        | Op::Roles(guild)
        | Op::Channels(guild)
        | Op::ActiveThreads(guild) = op
        {
            our_guild(state, *guild)?;
        }
        let remaining = state.hub.remaining(now);
        let show = core.show(&state.world, now);
        let url = format!("ws://{}/gateway", core.api_host);
        let body = match op {
            Op::Gateway => json!({"url": url}),
            Op::GatewayBot => json!({"url": url, "shards": 1, "session_start_limit": {
                "total": IDENTIFIES, "remaining": remaining, "reset_after": 86_400_000, "max_concurrency": 1}}),
            Op::Me => me(&show),
            Op::Application => application(core, &show),
            Op::Guild(_) => show.guild(),
            Op::Member(_, user) => match state.world.person(*user) {
                Some(person) => show.member(person.id, true),
                None => return Err(Refusal::new(404, 10_007, "Unknown Member")),
            },
            Op::Roles(_) => show.roles(),
            Op::Channels(_) => channels(&show, |c| c.kind == Kind::Text),
            Op::ActiveThreads(_) => {
                let threads = channels(&show, |c| c.kind == Kind::Thread && !c.archived);
                json!({"threads": threads, "members": []})
            }
            Op::Channel(id) => show.channel(&visible(state, *id)?),
            _ => return Err(Refusal::new(404, 0, "404: Not Found")),
        };
        Ok(Answer::ok(body))
    })
}

fn our_guild(state: &State, guild: GuildId) -> Result<(), Refusal> {
    if state.world.meta.guild == guild { Ok(()) } else { Err(Refusal::new(404, 10_004, "Unknown Guild")) }
}

fn channels(show: &Show<'_>, wanted: impl Fn(&Channel) -> bool) -> Value {
    let bot = show.world.meta.bot;
    let seen = show.world.channels.values().filter(|c| wanted(c) && show.world.sees(bot, c));
    seen.map(|c| show.channel(c)).collect()
}

/// The bot's own account.
pub fn me(show: &Show<'_>) -> Value {
    let mut me = show.user(show.world.meta.bot);
    for (key, value) in [
        ("verified", json!(true)),
        ("mfa_enabled", json!(false)),
        ("email", Value::Null),
        ("locale", json!("en-US")),
        ("premium_type", json!(0)),
        ("bio", json!("")),
    ] {
        super::super::core::extend(&mut me, key, value);
    }
    me
}

fn application(core: &Core, show: &Show<'_>) -> Value {
    let meta = &show.world.meta;
    let owner = meta.people.iter().find(|p| p.role == super::super::thing::Role::Owner).map(show::user);
    json!({
        "id": meta.application, "name": "discord-os", "icon": null, "description": "", "summary": "", "type": null,
        "bot_public": false, "bot_require_code_grant": false, "verify_key": "0".repeat(64), "team": null,
        "flags": application_flags(core), "owner": owner, "bot": show.user(meta.bot), "hook": true,
        "integration_types_config": {"0": {}}, "interactions_endpoint_url": null, "redirect_uris": [],
        "approximate_guild_count": 1, "approximate_user_install_count": 0, "rpc_origins": [],
    })
}

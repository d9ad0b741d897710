//! Discord in a box: REST v10, gateway and CDN on real loopback sockets, people played over a control API, faults as
//! data, and a page that stands in for the phone. Stricter than Discord: what Discord would refuse is refused here,
//! and what this product should never send is counted as a violation.

mod boot;
mod buckets;
mod calls;
mod cdn;
pub mod client;
mod components;
mod control;
mod core;
mod deeds;
mod draft;
mod faults;
mod gateway;
mod guard;
mod hub;
pub mod page;
mod rest;
mod rules;
mod show;
mod sign;
mod store;
mod thing;
mod tree;
mod truth;
mod wire;
mod world;

pub use boot::Sim;
pub use store::running;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::ids::{ApplicationId, ChannelId, GuildId, UserId};

/// Where a running simulator listens, and what opens it. Written to `endpoint.json` in the world's folder (0600).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// For `DISCORD_API_BASE`: `http://127.0.0.1:PORT`.
    pub api_base: String,
    /// Where files come from: another loopback port.
    pub cdn_base: String,
    /// Control API and page: another loopback port.
    pub control_base: String,
    /// What the control API and the page demand.
    pub control_token: String,
    /// The page, token included.
    pub page_url: String,
    /// Token of the host's bot.
    pub bot_token: String,
    /// Account of the host's bot.
    pub bot: UserId,
    /// Its application.
    pub application: ApplicationId,
    /// The guild.
    pub guild: GuildId,
    /// The private staff channel.
    pub channel: ChannelId,
    /// People and other bots that can be played.
    pub people: People,
    /// Process that owns the world, with its start time, so that a stale file is known.
    pub pid: i32,
    /// Start time of that process in clock ticks since boot.
    pub pid_start: u64,
}

/// Who can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct People {
    /// Owns the guild.
    pub owner: UserId,
    /// Member of the staff channel.
    pub teammate: UserId,
    /// In the guild and the channel, but nobody's friend.
    pub stranger: UserId,
    /// Another bot.
    pub other_bot: UserId,
}

/// How to start a simulator.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Folder that keeps the world (journal and file bytes); `None` keeps it in memory and a temporary folder.
    pub world: Option<PathBuf>,
    /// Seed for ids, jitter and faults; `None` takes a random one.
    pub seed: Option<u64>,
    /// Port for page and control API; 0 picks a free one.
    pub page_port: u16,
    /// Largest file, in bytes; `None` is Discord's documented 20 MiB (discord/facts.md section 5).
    pub upload_limit: Option<u64>,
    /// `heartbeat_interval` in ms; `None` is 41,250 as Discord's. Tests set a short one.
    pub heartbeat_ms: Option<u64>,
    /// Whether the Message Content Intent is switched on in the portal; `None` is yes.
    pub message_content: Option<bool>,
}

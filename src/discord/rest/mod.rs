//! Discord's REST API over reqwest: deadlines, buckets, retries, streamed uploads and downloads.
//!
//! `call` carries one call out: through `gate` (when), to the wire, and through `refusal` (what an answer means) and
//! `retry` (whether again). `buckets`, `ban`, `retry` and `refusal` are pure.

mod api;
mod ban;
mod buckets;
mod call;
mod download;
mod gate;
mod refusal;
mod retry;
mod route;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::cdn;
use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::redact;
use crate::base::secret::Secret;

/// Who we are, in the form that Discord demands; others are blocked before Discord itself (facts.md section 1).
const AGENT: &str = concat!("DiscordBot (https://github.com/discord-os/discord-os, ", env!("CARGO_PKG_VERSION"), ")");

/// Time to reach a server.
const CONNECT: Duration = Duration::from_secs(10);

/// An idle connection is closed before the other side does, so that a callback, which is never repeated, does not
/// meet a dead one.
const KEEP: Duration = Duration::from_secs(30);

/// How long things may take. The defaults are for Discord; tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// One request without files, from start to last byte. Discord answers in well under a second; 15 s is a stall.
    pub deadline: Duration,
    /// The answer to an interaction: after 3 s its token is dead anyway (facts.md section 3).
    pub callback: Duration,
    /// A transfer without a single byte moving.
    pub idle: Duration,
    /// Waiting for rate limits within one call; what takes longer is the caller's to plan.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(15),
            callback: Duration::from_secs(4),
            idle: Duration::from_secs(30),
            patience: Duration::from_secs(20),
        }
    }
}

/// What a client needs.
pub struct RestConfig {
    /// `https://…`, or plain http for this machine only.
    pub base: String,
    /// The bot's token, bare.
    pub token: Secret,
    /// Clock; must move while calls wait.
    pub clock: Arc<dyn Clock>,
    /// Randomness for jitter.
    pub entropy: Arc<Entropy>,
    /// How long things may take.
    pub timing: Timing,
}

impl RestConfig {
    /// A configuration with Discord's timing.
    pub fn new(base: impl Into<String>, token: Secret, clock: Arc<dyn Clock>, entropy: Arc<Entropy>) -> Self {
        Self { base: base.into(), token, clock, entropy, timing: Timing::default() }
    }
}

/// Discord's REST API for one bot.
pub struct Rest {
    client: Client,
    base: Url,
    loopback: bool,
    authorization: HeaderValue,
    door: gate::Door,
    clock: Arc<dyn Clock>,
    entropy: Arc<Entropy>,
    timing: Timing,
}

impl Rest {
    /// A client. Nothing is sent yet.
    ///
    /// # Errors
    /// A usage failure if the base address or the token cannot be used.
    pub fn new(config: RestConfig) -> Result<Self, Failure> {
        redact::guard(&config.token);
        let base = base(&config.base)?;
        let loopback = cdn::is_loopback(&base);
        let mut authorization = HeaderValue::from_str(&format!("Bot {}", config.token.expose())).map_err(|_| {
            Failure::usage("The bot token holds characters that no token has.")
                .hint("Copy it again from the Developer Portal and set DISCORD_BOT_TOKEN.")
        })?;
        authorization.set_sensitive(true);
        let headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(AGENT))]);
        let builder = Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(KEEP);
        // A proxy of the environment must not carry what is meant for this machine.
        let builder = if loopback { builder.no_proxy() } else { builder.https_only(true) };
        let client = builder
            .build()
            .map_err(|error| Failure::failed(format!("The HTTP client could not be made: {}.", error.without_url())))?;
        let door = gate::Door::new(config.clock.clone(), config.timing.patience);
        let (clock, entropy, timing) = (config.clock, config.entropy, config.timing);
        Ok(Self { client, base, loopback, authorization, door, clock, entropy, timing })
    }
}

fn base(text: &str) -> Result<Url, Failure> {
    let bad = |why: &str| {
        Failure::usage(format!("DISCORD_API_BASE {why}."))
            .hint("Use https://discord.com, or http://127.0.0.1:PORT for the simulator.")
    };
    let url = Url::parse(text).map_err(|_| bad("is no address"))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match url.scheme() {
        _ if !plain || url.fragment().is_some() || url.host_str().is_none() => Err(bad("is more than an address")),
        "https" => Ok(url),
        "http" if cdn::is_loopback(&url) => Ok(url),
        "http" => Err(bad("is plain http to another machine, which would show the bot token to the network")),
        _ => Err(bad("is neither https nor http")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i_11_plain_http_is_for_this_machine_only() {
        for (text, ok) in [
            ("https://discord.com", true),
            ("http://127.0.0.1:8080", true),
            ("http://localhost:1/", true),
            ("http://[::1]:1", true),
            ("http://discord.com", false),
            ("http://192.168.0.1:80", false),
            ("https://user:pass@discord.com", false),
            ("https://discord.com?x=1", false),
            ("ftp://discord.com", false),
            ("discord.com", false),
        ] {
            assert_eq!(base(text).is_ok(), ok, "{text}");
        }
    }
}

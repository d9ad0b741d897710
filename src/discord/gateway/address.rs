//! Where to open the socket.

use std::net::IpAddr;

use tokio_tungstenite::tungstenite::http::Uri;

use super::{Intents, Saved};

/// What every connection asks for (discord/facts.md section 2).
const QUERY: &str = "v=10&encoding=json";

/// Mark behind a kept resume URL that names the session's intents.
const INTENTS_MARK: &str = "#intents=";

/// The URL to open for the one that Discord gave. Plain `ws://` carries the token in the clear, so it is taken for this
/// machine only. The error is a sentence.
pub fn open_at(url: &str) -> Result<String, String> {
    let bare = url.split('#').next().unwrap_or_default();
    let uri: Uri = bare.parse().map_err(|_| "Discord gave a gateway address that is no URL.".to_owned())?;
    let host = uri.host().unwrap_or_default();
    let authority = uri.authority().map(|a| a.as_str()).unwrap_or_default();
    let scheme = match uri.scheme_str() {
        Some("wss") => "wss",
        Some("ws") if is_loopback(host) => "ws",
        Some("ws") => return Err(format!("The gateway at {host} is not encrypted, so it is not used.")),
        _ => return Err("Discord gave a gateway address that is not a WebSocket's.".to_owned()),
    };
    if host.is_empty() || authority.contains('@') {
        return Err("Discord gave a gateway address without a plain host.".to_owned());
    }
    Ok(format!("{scheme}://{authority}{}?{QUERY}", uri.path()))
}

/// The resume URL as it is kept: the session's intents stand behind it, in the part of a URL that is never sent.
///
/// A session keeps the intents it was begun with, so a host that asks for others must not resume it: after the Message
/// Content Intent was switched on it would go on without content for as long as the session lives.
pub fn keep(url: &str, intents: Intents) -> String {
    format!("{url}{INTENTS_MARK}{}", intents.0)
}

/// Whether a kept session was begun with these intents, as far as is known.
pub fn fits(saved: &Saved, intents: Intents) -> bool {
    match saved.resume_url.split_once(INTENTS_MARK) {
        Some((_, mark)) => mark == intents.0.to_string(),
        None => true,
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_put_behind_whatever_discord_gave() {
        for (given, opened) in [
            ("wss://gateway.discord.gg", "wss://gateway.discord.gg/?v=10&encoding=json"),
            ("wss://gateway-us-east1-b.discord.gg/", "wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json"),
            ("ws://127.0.0.1:9/resume?x=1#intents=5", "ws://127.0.0.1:9/resume?v=10&encoding=json"),
            ("ws://[::1]:9", "ws://[::1]:9/?v=10&encoding=json"),
            ("ws://localhost:9", "ws://localhost:9/?v=10&encoding=json"),
        ] {
            assert_eq!(open_at(given).as_deref(), Ok(opened));
        }
    }

    #[test]
    fn a_token_never_goes_out_in_the_clear() {
        for given in ["ws://gateway.discord.gg", "ws://10.0.0.1:80", "ws://127.0.0.1.example.org", "ws://a@127.0.0.1"] {
            assert!(open_at(given).is_err(), "{given}");
        }
        for given in ["https://discord.com", "gateway.discord.gg", "", "wss://", "wss://a@evil"] {
            assert!(open_at(given).is_err(), "{given}");
        }
    }

    #[test]
    fn a_session_is_resumed_only_with_the_intents_it_began_with() {
        let saved = |url: String| Saved { session_id: "s".into(), resume_url: url, seq: 1 };
        let kept = saved(keep("wss://r", Intents::BASE));
        assert!(fits(&kept, Intents::BASE));
        assert!(!fits(&kept, Intents::WITH_CONTENT));
        assert!(fits(&saved("wss://r".into()), Intents::BASE));
    }
}

//! Links to files: where they may lead, and when they end (facts.md section 5).

use std::net::IpAddr;

use reqwest::Url;

use crate::base::clock::Millis;
use crate::model::message::CdnUrl;

/// Hosts that Discord serves files from. A link in a payload that leads elsewhere is not followed: a message could
/// carry any address, and a host fetches from inside somebody's network.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Whether an address is this machine's own.
pub fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The address of a file, if it may be fetched: Discord's own hosts over https, and with `loopback` this machine too.
pub fn fetchable(link: &CdnUrl, loopback: bool) -> Option<Url> {
    let url = Url::parse(link.expose()).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let discords = url.scheme() == "https" && url.port().is_none() && HOSTS.contains(&url.host_str()?);
    let ours = loopback && matches!(url.scheme(), "http" | "https") && is_loopback(&url);
    (plain && (discords || ours)).then_some(url)
}

/// When a link ends, as it says itself (`ex`, seconds in hexadecimal).
pub fn expires(link: &CdnUrl) -> Option<Millis> {
    let url = Url::parse(link.expose()).ok()?;
    let (_, ex) = url.query_pairs().find(|(key, _)| key == "ex")?;
    i64::from_str_radix(&ex, 16).ok()?.checked_mul(1000).map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_discords_hosts_are_fetched_from() {
        for (link, loopback, ok) in [
            ("https://cdn.discordapp.com/attachments/1/2/a?ex=1&is=2&hm=3&", false, true),
            ("https://media.discordapp.net/attachments/1/2/a", false, true),
            ("http://cdn.discordapp.com/attachments/1/2/a", false, false),
            ("https://cdn.discordapp.com:444/a", false, false),
            ("https://user@cdn.discordapp.com/a", false, false),
            ("https://cdn.discordapp.com.evil.example/a", false, false),
            ("https://169.254.169.254/latest/meta-data", true, false),
            ("http://127.0.0.1:8080/a", false, false),
            ("http://127.0.0.1:8080/a", true, true),
            ("http://[::1]:8080/a", true, true),
            ("http://localhost/a", true, true),
            ("http://127.0.0.1.evil.example/a", true, false),
            ("file:///etc/passwd", true, false),
            ("", true, false),
        ] {
            assert_eq!(fetchable(&CdnUrl::new(link), loopback).is_some(), ok, "{link}");
        }
    }

    #[test]
    fn a_link_says_when_it_ends() {
        let link = CdnUrl::new("https://cdn.discordapp.com/attachments/1/2/a?ex=65d903de&is=1&hm=0&");
        assert_eq!(expires(&link), Some(Millis(1_708_721_118_000)));
        assert_eq!(expires(&CdnUrl::new("https://cdn.discordapp.com/a?ex=zz")), None);
    }
}

//! Signed links: HMAC over path and times, as Discord's CDN has them (discord/facts.md section 5).

use hmac::{Hmac, KeyInit, Mac};

use crate::base::clock::Millis;
use crate::base::hash::hex;
use crate::base::ids::{AttachmentId, ChannelId};

/// How long a link is good, in seconds: Discord's sample is exactly a day.
pub const LIFETIME_S: i64 = 86_400;

/// Makes and checks links.
#[derive(Clone)]
pub struct Signer {
    key: Vec<u8>,
    base: String,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer([hidden])")
    }
}

impl Signer {
    /// A signer for links under `base` (such as `http://127.0.0.1:PORT`).
    pub fn new(key: &str, base: &str) -> Self {
        Self { key: key.as_bytes().to_vec(), base: base.to_owned() }
    }

    /// Where links point: `http://127.0.0.1:PORT`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A fresh link.
    pub fn link(&self, channel: ChannelId, attachment: AttachmentId, filename: &str, now: Millis) -> String {
        let path = format!("/attachments/{channel}/{attachment}/{filename}");
        let is = now.seconds();
        let ex = is + LIFETIME_S;
        let (ex, is) = (format!("{ex:x}"), format!("{is:x}"));
        let hm = self.mac(&path, &ex, &is);
        format!("{}{path}?ex={ex}&is={is}&hm={hm}&", self.base)
    }

    /// Whether a link is ours and still good.
    pub fn good(&self, path: &str, query: &str, now: Millis) -> bool {
        let get =
            |key: &str| query.split('&').find_map(|p| p.split_once('=').filter(|(k, _)| *k == key).map(|(_, v)| v));
        let (Some(ex), Some(is), Some(hm)) = (get("ex"), get("is"), get("hm")) else { return false };
        let fresh = i64::from_str_radix(ex, 16).is_ok_and(|ex| now.seconds() < ex);
        fresh && self.mac(path, ex, is) == hm
    }

    fn mac(&self, path: &str, ex: &str, is: &str) -> String {
        // HMAC takes a key of any length, so this cannot fail; an empty text would match no link.
        let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(&self.key) else { return String::new() };
        mac.update(format!("{path}|{ex}|{is}").as_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_for_a_day_and_only_as_it_is() {
        let signer = Signer::new("key", "http://h");
        let now = Millis(1_800_000_000_000);
        let link = signer.link(ChannelId(1), AttachmentId(2), "a.txt", now);
        let (path, query) = link.strip_prefix("http://h").unwrap().split_once('?').unwrap();
        assert!(query.ends_with('&'));
        assert!(signer.good(path, query, now));
        assert!(signer.good(path, query, Millis(now.0 + 86_399_000)));
        assert!(!signer.good(path, query, Millis(now.0 + 86_400_000)));
        assert!(!signer.good("/attachments/1/2/b.txt", query, now));
        assert!(!signer.good(path, &query.replace("is=", "is=1"), now));
        assert!(!signer.good(path, "", now));
        assert!(!Signer::new("other", "http://h").good(path, query, now));
    }
}

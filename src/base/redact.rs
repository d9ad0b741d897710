//! Takes out of a text what must never be shown: tokens, and links that only work for a while (I-10, I-11).

use std::sync::{OnceLock, RwLock};

use super::secret::Secret;

/// What stands where something was taken out.
pub const REDACTED: &str = "[redacted]";

/// Hosts whose links are signed and expire (discord/facts.md section 5).
const CDN_HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Parameters of a signed link; a link of any host that carries all three is one.
const SIGNATURE: [&str; 3] = ["ex=", "is=", "hm="];

fn known() -> &'static RwLock<Vec<Secret>> {
    static KNOWN: OnceLock<RwLock<Vec<Secret>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

/// Adds a secret of this process to what [`redact`] takes out. Texts under 8 characters are not
/// taken: they would be cut out of ordinary words.
pub fn guard(secret: &Secret) {
    if secret.expose().len() < 8 {
        return;
    }
    let mut known = known().write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !known.contains(secret) {
        known.push(secret.clone());
    }
}

/// The text without known secrets, token-shaped words and signed links.
pub fn redact(text: &str) -> String {
    let mut out = text.to_owned();
    for secret in known().read().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
        if out.contains(secret.expose()) {
            out = out.replace(secret.expose(), REDACTED);
        }
    }
    let mut kept = String::with_capacity(out.len());
    let mut rest = out.as_str();
    while !rest.is_empty() {
        let end = rest.find(is_break).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        kept.push_str(if hides(word) { REDACTED } else { word });
        let gap = tail.find(|c| !is_break(c)).unwrap_or(tail.len());
        kept.push_str(&tail[..gap]);
        rest = &tail[gap..];
    }
    kept
}

/// Whether bytes hold a known secret, so that a file can be kept from going out.
pub fn holds_secret(bytes: &[u8]) -> bool {
    let known = known().read().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.iter().map(|secret| secret.expose().as_bytes()).any(|secret| bytes.windows(secret.len()).any(|w| w == secret))
}

fn is_break(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '`' | '|')
}

fn hides(word: &str) -> bool {
    is_signed_link(word) || word.split(['=', ':', '/']).any(is_token_shaped)
}

fn is_signed_link(word: &str) -> bool {
    word.contains("://")
        && (CDN_HOSTS.iter().any(|host| word.contains(host)) || SIGNATURE.iter().all(|part| word.contains(part)))
}

/// Whether a word looks like a bot token (three base64url parts, the first of them the digits of an id), a JSON web
/// token, or a provider's key. A name with dots in it, such as a module's, does not.
fn is_token_shaped(word: &str) -> bool {
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let parts: Vec<&str> = word.split('.').collect();
    if let [id, stamp, mac] = parts[..] {
        let begins =
            id.starts_with("eyJ") || id.starts_with(['M', 'N', 'O']) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        let long_enough = begins && id.len() >= 18 && stamp.len() >= 5 && mac.len() >= 20;
        if long_enough && parts.iter().all(|p| plain(p)) {
            return true;
        }
    }
    const PREFIXES: [&str; 7] = ["sk-", "ghp_", "gho_", "github_pat_", "xoxb-", "AKIA", "glpat-"];
    PREFIXES.iter().any(|p| word.starts_with(p)) && word.len() >= 20 && plain(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_not_be_shown_is_taken_out() {
        let token = format!("{}.{}.{}", "MTIzNDU2Nzg5MDEyMzQ1Njc4", "GabcDe", "abcdefghijklmnopqrstuvwxyz012345");
        for text in [
            format!("Authorization: Bot {token}"),
            format!("token={token}"),
            format!("see https://cdn.discordapp.com/attachments/1/2/a.txt?x=1 {token}"),
            "http://127.0.0.1:9/attachments/1/2/a?ex=1&is=2&hm=3&".to_owned(),
            "key sk-or-v1-0123456789abcdef0123".to_owned(),
        ] {
            let clean = redact(&text);
            assert!(clean.contains(REDACTED), "{clean}");
            assert!(
                !clean.contains("abcdefghij") && !clean.contains("hm=") && !clean.contains("0123456789abcdef"),
                "{clean}"
            );
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text =
            "Read src/main.rs (3 lines), v1.2.3, https://discord.com/channels/@me/1/2 and 100 % of «it».\n\nDone.";
        assert_eq!(redact(text), text);
    }

    #[test]
    fn a_module_is_no_token() {
        let text = "Run integration_tests_of_all.simulator.gateway_resumes_after_a_drop again.";
        assert_eq!(redact(text), text);
    }

    #[test]
    fn i_11_a_secret_is_found_in_bytes() {
        guard(&Secret::new("hunter4-hunter4"));
        assert!(holds_secret(b"\x00hunter4-hunter4\xff") && !holds_secret(b"hunter4"));
    }

    #[test]
    fn a_guarded_secret_is_found_inside_a_word() {
        guard(&Secret::new("hunter2-hunter2"));
        assert_eq!(redact("xhunter2-hunter2y"), format!("x{REDACTED}y"));
    }
}

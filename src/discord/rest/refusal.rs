//! What an answer that is no success means (facts.md section 11).

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::super::error::{DiscordError, ErrorKind};
use super::buckets::Scope;
use crate::base::redact::redact;
use crate::base::text;

/// Wait after a 429 that says nothing about it.
const UNSAID_WAIT: Duration = Duration::from_secs(5);
/// Longest wait that is believed: a block lasts about a day.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);
/// Pause after a block by Cloudflare: asking more often only lengthens it.
const BLOCK_PAUSE: Duration = Duration::from_secs(600);
/// Pause after «you open direct messages too fast» (40003) or «switched off for now» (40004, 40006).
const SLOW_PAUSE: Duration = Duration::from_secs(600);
/// Characters of Discord's own words that go into a sentence.
const QUOTED: usize = 200;
/// Deepest nesting of `errors` that is looked into.
const DEEPEST: usize = 32;

/// An answer as far as a refusal needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused<'a> {
    /// HTTP status.
    pub(super) status: u16,
    /// Headers.
    pub(super) headers: &'a HeaderMap,
    /// Body.
    pub(super) body: &'a [u8],
}

/// Whom a 429 is about.
pub(super) fn scope(refused: Refused<'_>) -> Scope {
    let header = |name: &str| refused.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("");
    let global = header("x-ratelimit-global").eq_ignore_ascii_case("true")
        || json(refused.body).is_some_and(|body| body.get("global") == Some(&Value::Bool(true)));
    match header("x-ratelimit-scope") {
        "shared" => Scope::Shared,
        "global" => Scope::Global,
        _ if global => Scope::Global,
        _ => Scope::User,
    }
}

/// The error that an answer means. `what` is what was tried, as in «sending the message».
pub(super) fn error(what: &str, refused: Refused<'_>) -> DiscordError {
    let body = json(refused.body);
    let code = body.as_ref().and_then(|b| b.get("code")).and_then(Value::as_i64);
    let kind = kind(refused, code, body.as_ref());
    let after = wait(refused, kind, code, body.as_ref());
    DiscordError {
        kind,
        status: Some(refused.status),
        code: code.filter(|c| *c != 0),
        message: redact(&sentence(what, refused.status, kind, body.as_ref())),
        after,
    }
}

fn json(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok().filter(Value::is_object)
}

fn kind(refused: Refused<'_>, code: Option<i64>, body: Option<&Value>) -> ErrorKind {
    if let Some(kind) = code.and_then(kind_of_code) {
        return kind;
    }
    let says_blocked = body
        .and_then(|b| b.get("message"))
        .and_then(Value::as_str)
        .is_some_and(|message| message.starts_with("You are being blocked"));
    match refused.status {
        429 | 403 if says_blocked => ErrorKind::Blocked,
        429 if body.is_none() && !refused.headers.contains_key("via") => ErrorKind::Blocked,
        403 if body.is_none() => ErrorKind::Blocked,
        429 => ErrorKind::RateLimited,
        400 | 405 | 409 | 415 | 422 => ErrorKind::Invalid,
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::NoPermission,
        404 => ErrorKind::NotFound,
        413 => ErrorKind::TooLarge,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Protocol,
    }
}

/// What Discord's codes mean for us; `None` leaves it to the HTTP status.
fn kind_of_code(code: i64) -> Option<ErrorKind> {
    Some(match code {
        10003 | 10004 | 10007 | 10008 | 10013 | 10063 => ErrorKind::NotFound,
        10015 | 10062 | 50025..=50027 => ErrorKind::Expired,
        20016 | 20022 | 20028 | 20029 | 40003 | 40004 | 40006 | 40062 => ErrorKind::RateLimited,
        30046 => ErrorKind::OldEdit,
        40001 | 50014 => ErrorKind::Unauthorized,
        40005 | 50045 => ErrorKind::TooLarge,
        40060 => ErrorKind::Answered,
        40333 => ErrorKind::Blocked,
        50001 | 160_014 => ErrorKind::NoAccess,
        40002 | 50005 | 50013 | 90001 | 160_002 => ErrorKind::NoPermission,
        50083 | 160_005 => ErrorKind::Archived,
        50007 | 50278 => ErrorKind::NoDirectMessages,
        // A maximum was reached, or the content is not wanted: sending it again changes nothing.
        20009 | 30001..=30060 | 50046 | 50110 | 50123 | 160_006 | 160_007 | 200_000 | 200_001 | 240_000 | 400_001 => {
            ErrorKind::RefusedContent
        }
        10014 | 20012 | 50003 | 50006 | 50008 | 50021 | 50024 | 50035 | 50109 | 50146 | 50159..=50173 | 160_004 => {
            ErrorKind::Invalid
        }
        130_000 => ErrorKind::Server,
        _ => return None,
    })
}

fn wait(refused: Refused<'_>, kind: ErrorKind, code: Option<i64>, body: Option<&Value>) -> Option<Duration> {
    let header = |name: &str| refused.headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let said = body
        .and_then(|b| b.get("retry_after"))
        .and_then(Value::as_f64)
        .or_else(|| header("retry-after"))
        .or_else(|| header("x-ratelimit-reset-after"))
        .and_then(seconds);
    match (kind, code) {
        (ErrorKind::RateLimited, Some(40003 | 40004 | 40006)) => Some(said.unwrap_or_default().max(SLOW_PAUSE)),
        (ErrorKind::RateLimited, _) => Some(said.unwrap_or(UNSAID_WAIT)),
        (ErrorKind::Blocked, _) => Some(said.unwrap_or(BLOCK_PAUSE).max(BLOCK_PAUSE)),
        (ErrorKind::OldEdit, _) => said,
        _ => None,
    }
}

/// Seconds as Discord writes them; nonsense is `None`, too much is cut.
pub(super) fn seconds(value: f64) -> Option<Duration> {
    (value.is_finite() && value >= 0.0).then(|| Duration::from_secs_f64(value.min(LONGEST_WAIT.as_secs_f64())))
}

fn sentence(what: &str, status: u16, kind: ErrorKind, body: Option<&Value>) -> String {
    let said = body.and_then(|b| b.get("message")).and_then(Value::as_str).map(quoted).filter(|s| !s.is_empty());
    let code = body.and_then(|b| b.get("code")).and_then(Value::as_i64).filter(|c| *c != 0);
    let marks = match code {
        Some(code) => format!("code {code}, HTTP {status}"),
        None => format!("HTTP {status}"),
    };
    let nested = body.and_then(|b| b.get("errors")).and_then(|errors| first_error(errors, "errors", 0));
    let lead = match kind {
        ErrorKind::Server => return format!("Discord failed while {what} ({marks})."),
        ErrorKind::Blocked => {
            return format!("Discord blocks this address while {what} ({marks}); it pauses for long.");
        }
        ErrorKind::Protocol => return format!("Discord gave an unexpected answer while {what} ({marks})."),
        ErrorKind::RateLimited => format!("Discord asks to wait while {what}"),
        _ => format!("Discord refused {what}"),
    };
    match (said, nested) {
        (_, Some(nested)) => format!("{lead}: {nested} ({marks})."),
        (Some(said), None) => format!("{lead}: {said} ({marks})."),
        (None, None) => format!("{lead} ({marks})."),
    }
}

fn quoted(said: &str) -> String {
    text::cut(text::one_line(said).trim_end_matches('.'), QUOTED)
}

/// The first nested error with its path: `errors.components.0.content: This field is required`.
fn first_error(value: &Value, path: &str, depth: usize) -> Option<String> {
    let map = value.as_object().filter(|_| depth < DEEPEST)?;
    if let Some(first) = map.get("_errors").and_then(Value::as_array).and_then(|list| list.first()) {
        let part = |key: &str| first.get(key).and_then(Value::as_str).map(quoted);
        let said = part("message").or_else(|| part("code")).unwrap_or_default();
        return Some(format!("{}: {said}", text::cut(path, QUOTED)));
    }
    map.iter().find_map(|(key, inner)| first_error(inner, &format!("{path}.{key}"), depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> DiscordError {
        let headers = headers.iter().map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).collect();
        error("sending the message", Refused { status, headers: &headers, body: body.as_bytes() })
    }

    #[test]
    fn every_code_of_the_table_has_its_kind() {
        use ErrorKind as K;
        for (status, code, kind) in [
            (400, 0, K::Invalid),
            (401, 0, K::Unauthorized),
            (403, 0, K::NoPermission),
            (404, 0, K::NotFound),
            (405, 0, K::Invalid),
            (413, 0, K::TooLarge),
            (500, 0, K::Server),
            (502, 0, K::Server),
            (524, 0, K::Server),
            (302, 0, K::Protocol),
            (404, 10003, K::NotFound),
            (404, 10008, K::NotFound),
            (404, 10015, K::Expired),
            (404, 10062, K::Expired),
            (400, 20009, K::RefusedContent),
            (429, 20016, K::RateLimited),
            (429, 20028, K::RateLimited),
            (400, 30033, K::RefusedContent),
            (429, 30046, K::OldEdit),
            (401, 40001, K::Unauthorized),
            (403, 40003, K::RateLimited),
            (413, 40005, K::TooLarge),
            (400, 40060, K::Answered),
            (429, 40062, K::RateLimited),
            (403, 40333, K::Blocked),
            (403, 50001, K::NoAccess),
            (403, 50005, K::NoPermission),
            (400, 50006, K::Invalid),
            (403, 50007, K::NoDirectMessages),
            (403, 50278, K::NoDirectMessages),
            (403, 50013, K::NoPermission),
            (401, 50014, K::Unauthorized),
            (401, 50027, K::Expired),
            (400, 50035, K::Invalid),
            (403, 50083, K::Archived),
            (400, 50109, K::Invalid),
            (503, 130_000, K::Server),
            (403, 160_002, K::NoPermission),
            (403, 160_005, K::Archived),
            (400, 160_006, K::RefusedContent),
            (400, 200_000, K::RefusedContent),
            (400, 240_000, K::RefusedContent),
            (403, 400_001, K::RefusedContent),
            (403, 999_999, K::NoPermission),
        ] {
            let error = refused(status, &[("via", "1.1 google")], &format!(r#"{{"code":{code},"message":"No"}}"#));
            assert_eq!((error.kind, error.status), (kind, Some(status)), "{status} {code}");
            assert_eq!(error.code, (code != 0).then_some(code));
            assert!(error.message.ends_with('.'), "{}", error.message);
        }
    }

    #[test]
    fn a_429_is_read_wherever_it_says_how_long() {
        let via = ("via", "1.1 google");
        let html = "<html>slow down</html>";
        for (headers, body, kind, after) in [
            (vec![via], r#"{"retry_after":0.3,"global":false}"#, ErrorKind::RateLimited, 300),
            (vec![via, ("retry-after", "7")], r#"{"retry_after":6.5}"#, ErrorKind::RateLimited, 6500),
            (vec![via, ("retry-after", "7")], "{}", ErrorKind::RateLimited, 7000),
            (vec![via, ("retry-after", "7")], html, ErrorKind::RateLimited, 7000),
            (vec![via], "{}", ErrorKind::RateLimited, 5000),
            (vec![via], r#"{"retry_after":-1}"#, ErrorKind::RateLimited, 5000),
            (vec![("retry-after", "7")], html, ErrorKind::Blocked, 600_000),
            (vec![], html, ErrorKind::Blocked, 600_000),
            (vec![via], r#"{"code":0,"message":"You are being blocked from…"}"#, ErrorKind::Blocked, 600_000),
            (vec![via], r#"{"retry_after":1e300}"#, ErrorKind::RateLimited, 86_400_000),
        ] {
            let error = refused(429, &headers, body);
            assert_eq!((error.kind, error.after), (kind, Some(Duration::from_millis(after))), "{headers:?} {body}");
        }
        assert_eq!(refused(403, &[], html).kind, ErrorKind::Blocked);
    }

    #[test]
    fn the_scope_of_a_429_is_read_from_headers_and_body() {
        for (header, body, expected) in [
            (("x-ratelimit-scope", "shared"), "{}", Scope::Shared),
            (("x-ratelimit-scope", "global"), "{}", Scope::Global),
            (("x-ratelimit-scope", "user"), "{}", Scope::User),
            (("x-ratelimit-global", "true"), "{}", Scope::Global),
            (("via", "1.1 google"), r#"{"global":true}"#, Scope::Global),
            (("via", "1.1 google"), "<html>", Scope::User),
        ] {
            let headers = HeaderMap::from_iter([(header.0.parse().unwrap(), header.1.parse().unwrap())]);
            assert_eq!(
                scope(Refused { status: 429, headers: &headers, body: body.as_bytes() }),
                expected,
                "{header:?}"
            );
        }
    }

    #[test]
    fn the_sentence_names_the_first_nested_error_and_hides_secrets() {
        let body = r#"{"code":50035,"message":"Invalid Form Body","errors":{"components":{"0":{"content":
            {"_errors":[{"code":"BASE_TYPE_REQUIRED","message":"This field is required"}]}}}}}"#;
        assert_eq!(
            refused(400, &[], body).message,
            "Discord refused sending the message: errors.components.0.content: This field is required (code 50035, HTTP 400)."
        );
        let top = r#"{"code":50035,"message":"x","errors":{"_errors":[{"code":"C","message":"Top level."}]}}"#;
        assert!(refused(400, &[], top).message.contains("errors: Top level (code"));
        let link = r#"{"code":1,"message":"see https://cdn.discordapp.com/attachments/1/2/a?ex=1&is=2&hm=3&"}"#;
        assert!(!refused(400, &[], link).message.contains("attachments/1"));
    }
}

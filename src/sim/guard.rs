//! Who may speak to the control listener: the token of the printed URL, from this machine's own page (docs/simulator.md).

use axum::http::{HeaderMap, header};

/// Name of the page's cookie.
const COOKIE: &str = "sim";

/// Whether two secrets are equal, in a time that does not tell where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

/// The names that our page is opened under: the printed one, and the one that people type.
fn names(host: &str) -> [String; 2] {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    [host.to_owned(), format!("localhost:{port}")]
}

/// The `Origin` of a request, where it is our own page's under either of its names. `host` is `127.0.0.1:PORT`.
pub fn own_origin(host: &str, headers: &HeaderMap) -> Option<String> {
    let origin = headers.get(header::ORIGIN)?.to_str().ok()?;
    names(host).map(|name| format!("http://{name}")).into_iter().find(|own| own == origin)
}

/// Checks a request's headers. `host` is `127.0.0.1:PORT`.
pub struct Guard<'a> {
    /// Host and port of the control listener.
    pub host: &'a str,
    /// The token.
    pub token: &'a str,
}

impl Guard<'_> {
    /// Whether the request was addressed to us and comes from no other page: a page elsewhere that had our port
    /// resolved to its own name (DNS rebinding) shows itself here.
    pub fn addressed(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|v| v.to_str().ok());
        let host = host.is_some_and(|h| names(self.host).iter().any(|n| n == h));
        host && (!headers.contains_key(header::ORIGIN) || own_origin(self.host, headers).is_some())
    }

    /// Whether the token came along, as a header or a cookie.
    pub fn knows(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let bearer = text(header::AUTHORIZATION).strip_prefix("Bearer ").is_some_and(|t| same(t, self.token));
        // Cookies of one name do not know ports, so the port is in the name: two simulators do not disturb each other.
        let name = self.cookie_name();
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
        let mut pairs = cookies.flat_map(|c| c.split(';')).filter_map(|c| c.trim().split_once('='));
        bearer || pairs.any(|(k, v)| k == name && same(v, self.token))
    }

    /// Whether a token is the right one.
    pub fn fits(&self, token: &str) -> bool {
        same(token, self.token)
    }

    fn cookie_name(&self) -> String {
        let port = self.host.rsplit_once(':').map_or("", |(_, port)| port);
        format!("{COOKIE}{port}")
    }

    /// The cookie that `GET /?t=TOKEN` sets.
    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name(), self.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.clone(), HeaderValue::from_str(v).unwrap())).collect()
    }

    #[test]
    fn only_our_own_page_on_this_machine_speaks() {
        let guard = Guard { host: "127.0.0.1:8000", token: "secret" };
        for (pairs, fits) in [
            (vec![(header::HOST, "127.0.0.1:8000")], true),
            (vec![(header::HOST, "localhost:8000")], true),
            (vec![(header::HOST, "localhost:8000"), (header::ORIGIN, "http://localhost:8000")], true),
            (vec![(header::HOST, "127.0.0.1:8000"), (header::ORIGIN, "http://evil.example")], false),
            (vec![(header::HOST, "127.0.0.1:8000"), (header::ORIGIN, "null")], false),
            (vec![(header::HOST, "evil.example:8000")], false),
            (vec![(header::HOST, "127.0.0.1:8001")], false),
            (vec![], false),
        ] {
            assert_eq!(guard.addressed(&headers(&pairs)), fits, "{pairs:?}");
        }
    }

    #[test]
    fn the_page_is_known_by_both_of_its_names() {
        for (origin, own) in [
            ("http://127.0.0.1:8000", true),
            ("http://localhost:8000", true),
            ("https://localhost:8000", false),
            ("http://localhost:8001", false),
            ("null", false),
        ] {
            let found = own_origin("127.0.0.1:8000", &headers(&[(header::ORIGIN, origin)]));
            assert_eq!(found.as_deref(), own.then_some(origin));
        }
        assert_eq!(own_origin("127.0.0.1:8000", &headers(&[])), None);
    }

    #[test]
    fn the_token_comes_as_header_or_cookie() {
        let guard = Guard { host: "127.0.0.1:8000", token: "secret" };
        for (pairs, fits) in [
            (vec![(header::AUTHORIZATION, "Bearer secret")], true),
            (vec![(header::AUTHORIZATION, "Bearer secre")], false),
            (vec![(header::AUTHORIZATION, "secret")], false),
            (vec![(header::COOKIE, "a=b; sim8000=secret")], true),
            (vec![(header::COOKIE, "sim8001=secret")], false),
            (vec![], false),
        ] {
            assert_eq!(guard.knows(&headers(&pairs)), fits, "{pairs:?}");
        }
    }
}

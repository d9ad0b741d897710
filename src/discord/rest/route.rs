//! Routes: a method, a template and what fills it.

use std::fmt::Display;

use reqwest::{Method, Url};

/// What Discord counts by before it has named a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RouteKey {
    /// HTTP method.
    pub(super) method: Method,
    /// Path after `/api/v10`, ids as `{}`.
    pub(super) template: &'static str,
}

/// One route with its ids.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// Method and template.
    pub(super) key: RouteKey,
    /// Channel or guild id, which a bucket's name leaves out (facts.md section 9); 0 where there is none.
    pub(super) top: u64,
    segments: Vec<String>,
    query: Vec<(&'static str, String)>,
}

impl Route {
    /// Fills a template. `top` is the top-level id.
    pub(super) fn new(method: Method, template: &'static str, top: u64, ids: &[&(dyn Display + Sync)]) -> Self {
        let mut ids = ids.iter();
        let filled = template.split('/').filter(|part| !part.is_empty()).map(|part| match part {
            "{}" => ids.next().map(|id| id.to_string()).unwrap_or_default(),
            plain => plain.to_owned(),
        });
        Self { segments: filled.collect(), key: RouteKey { method, template }, top, query: Vec::new() }
    }

    /// The same with a query parameter.
    pub(super) fn with(mut self, key: &'static str, value: impl Display) -> Self {
        self.query.push((key, value.to_string()));
        self
    }

    /// The address below `base`. Segments are encoded, so that an emoji or a token cannot break out of its place.
    pub(super) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["api", "v10"]).extend(&self.segments);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_filled_and_encoded() {
        let base = Url::parse("http://127.0.0.1:9").unwrap();
        let template = "/channels/{}/messages/{}/reactions/{}/@me";
        let route = Route::new(Method::PUT, template, 1, &[&1, &2, &"🔥"]);
        let url = route.url(&base);
        assert_eq!(url.as_str(), "http://127.0.0.1:9/api/v10/channels/1/messages/2/reactions/%F0%9F%94%A5/@me");
        let sly = Route::new(Method::GET, "/a/{}/b", 0, &[&"../x?y#z"]).with("limit", 5);
        assert_eq!(sly.url(&base).as_str(), "http://127.0.0.1:9/api/v10/a/..%2Fx%3Fy%23z/b?limit=5");
    }
}

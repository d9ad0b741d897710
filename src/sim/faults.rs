//! Faults as data: rules that match requests and say what goes wrong (docs/simulator.md).

use serde::{Deserialize, Serialize};

/// Which requests a rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct On {
    /// HTTP method; any, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path after `/api/v10` (or the CDN's path); `*` is one segment; any, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether downloads are meant rather than REST.
    #[serde(default)]
    pub cdn: bool,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Do {
    /// 429.
    RateLimit {
        /// `user`, `global` or `shared`.
        scope: Scope,
        /// Seconds.
        retry_after: f64,
    },
    /// Another status, with a body that is no JSON.
    Status {
        /// Status.
        status: u16,
        /// Whether the request is carried out first.
        #[serde(default)]
        effect: bool,
    },
    /// The connection is cut before the answer.
    Reset {
        /// Whether the request is carried out first.
        #[serde(default)]
        effect: bool,
    },
    /// The answer comes late.
    Stall {
        /// How late.
        ms: u64,
    },
    /// A download is cut.
    Cut {
        /// After so many bytes.
        bytes: u64,
    },
    /// Another body.
    Body {
        /// Status.
        status: u16,
        /// Text.
        text: String,
    },
    /// One bit of a download is wrong.
    Flip,
    /// An error in Discord's own form.
    Error {
        /// Status.
        status: u16,
        /// Code.
        code: i64,
        /// Text.
        message: String,
    },
}

/// Who a 429 is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This bucket.
    User,
    /// All of the bot's requests.
    Global,
    /// A resource that others use too.
    Shared,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which requests.
    #[serde(default)]
    pub on: On,
    /// First match that it takes, from 1.
    #[serde(default = "one")]
    pub nth: u64,
    /// How many matches it takes.
    #[serde(default = "one")]
    pub times: u64,
    /// What goes wrong.
    #[serde(rename = "do")]
    pub effect: Do,
}

fn one() -> u64 {
    1
}

#[derive(Debug)]
struct Armed {
    rule: Rule,
    seen: u64,
}

/// All rules.
#[derive(Debug, Default)]
pub struct Faults {
    armed: Vec<Armed>,
    added: u64,
}

impl Faults {
    /// Adds a rule; gives its number.
    pub fn add(&mut self, rule: Rule) -> u64 {
        self.armed.push(Armed { rule, seen: 0 });
        self.added += 1;
        self.added
    }

    /// Takes all rules away.
    pub fn clear(&mut self) {
        self.armed.clear();
    }

    /// What goes wrong with this request: the first rule that takes it. Every rule counts what it matches.
    pub fn hit(&mut self, cdn: bool, method: &str, path: &str) -> Option<Do> {
        let mut hit = None;
        for armed in &mut self.armed {
            if !armed.rule.on.matches(cdn, method, path) {
                continue;
            }
            armed.seen += 1;
            let takes = armed.seen >= armed.rule.nth && armed.seen - armed.rule.nth < armed.rule.times;
            if takes && hit.is_none() {
                hit = Some(armed.rule.effect.clone());
            }
        }
        hit
    }
}

impl On {
    fn matches(&self, cdn: bool, method: &str, path: &str) -> bool {
        self.cdn == cdn
            && self.method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(method))
            && self.path.as_ref().is_none_or(|p| glob(p, path))
    }
}

fn glob(pattern: &str, path: &str) -> bool {
    let (mut want, mut have) = (pattern.split('/'), path.split('/'));
    loop {
        match (want.next(), have.next()) {
            (None, None) => return true,
            (Some(w), Some(h)) if w == "*" || w == h => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_match_by_segment() {
        for (pattern, path, fits) in [
            ("/channels/*/messages", "/channels/1/messages", true),
            ("/channels/*/messages", "/channels/1/messages/2", false),
            ("/channels/*/messages/*", "/channels/1/messages/2", true),
            ("/users/@me", "/users/@me", true),
        ] {
            assert_eq!(glob(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn nth_and_times_pick_the_matches() {
        let rule: Rule = serde_json::from_value(
            json!({"on": {"method": "post"}, "nth": 2, "times": 2, "do": {"kind": "status", "status": 502}}),
        )
        .unwrap();
        let mut faults = Faults::default();
        assert_eq!(faults.add(rule), 1);
        let hits: Vec<bool> = (0..5).map(|_| faults.hit(false, "POST", "/x").is_some()).collect();
        assert_eq!(hits, [false, true, true, false, false]);
        assert_eq!(faults.hit(true, "POST", "/x"), None);
    }

    #[test]
    fn a_misspelt_rule_is_an_error() {
        assert!(serde_json::from_value::<Rule>(json!({"do": {"kind": "reset", "efect": true}})).is_err());
    }
}

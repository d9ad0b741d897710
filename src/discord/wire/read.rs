//! Reading single fields out of JSON that may hold anything.

use std::str::FromStr;

use serde_json::Value;

/// A thing that lacks what we cannot do without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Discord sent {what} without a usable {field}.")]
pub struct Unreadable {
    /// What was to be read, with its article: `a message`.
    pub what: &'static str,
    /// The missing or malformed field.
    pub field: &'static str,
}

impl Unreadable {
    /// What lacks which field.
    pub fn new(what: &'static str, field: &'static str) -> Self {
        Self { what, field }
    }
}

/// The snowflake in `value[key]`: a string, or an integer as malformed ids may be echoed (facts.md section 1).
pub fn id<T: FromStr>(value: &Value, key: &str) -> Option<T> {
    snowflake(value.get(key)?)
}

/// A snowflake that stands alone, as in a list of roles.
pub(super) fn snowflake<T: FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// The text in `value[key]`; absent, null and other kinds are `None`.
pub fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// The whole number in `value[key]`; also one that was written as a string or with a zero fraction.
pub fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Floats hold whole numbers exactly up to 2^53; beyond that the number is not what was meant.
fn whole(float: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
}

/// Whether `value[key]` is `true`.
pub fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The items of the list in `value[key]`; none if it is no list.
pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `value[key]`, unless it is absent or null.
pub(super) fn present<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|v| !v.is_null())
}

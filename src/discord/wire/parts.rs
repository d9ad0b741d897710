//! Walking through components, whatever kind they are (facts.md 3.2).

use serde_json::Value;

use super::read::{items, number};

/// Component that shows text.
const TEXT_DISPLAY: u64 = 10;

/// Deepest nesting that is followed. Discord's deepest is row in container in message; the rest is slack for what may
/// come, and a bound for what is hostile.
const DEEPEST: usize = 16;

/// What the components of a message say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Custom ids, in order.
    pub(super) custom_ids: Vec<String>,
    /// Texts of Text Displays, in order.
    pub(super) text: Vec<String>,
}

/// Custom ids and texts of everything under `value.components`.
pub(super) fn collect(value: &Value) -> Parts {
    let mut parts = Parts::default();
    walk(value, &mut |component| {
        parts.custom_ids.extend(component.get("custom_id").and_then(Value::as_str).map(str::to_owned));
        if number(component, "type") == Some(TEXT_DISPLAY) {
            parts.text.extend(component.get("content").and_then(Value::as_str).map(str::to_owned));
        }
    });
    parts
}

/// Visits every component below `value`, from top to bottom: children of rows, containers and sections
/// (`components`), of labels (`component`), and what stands beside a section (`accessory`).
pub(super) fn walk(value: &Value, visit: &mut dyn FnMut(&Value)) {
    below(value, 0, visit);
}

fn below(value: &Value, depth: usize, visit: &mut dyn FnMut(&Value)) {
    if depth >= DEEPEST {
        return;
    }
    let single = ["component", "accessory"].into_iter().filter_map(|key| value.get(key));
    for child in items(value, "components").iter().chain(single) {
        if child.is_object() {
            visit(child);
            below(child, depth + 1, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_component_is_looked_into() {
        let parts = collect(&json!({"components": [
            {"type": 1, "components": [{"type": 2, "custom_id": "a"}]},
            {"type": 17, "components": [
                {"type": 10, "content": "one"},
                {"type": 9, "components": [{"type": 10, "content": "two"}], "accessory": {"type": 2, "custom_id": "b"}},
                {"type": 1, "components": [{"type": 3, "custom_id": "c"}]},
                {"type": 99, "custom_id": "d", "components": [{"type": 98, "components": [{"type": 2, "custom_id": "e"}]}]},
            ]},
            {"type": 18, "component": {"type": 4, "custom_id": "f"}},
            "what", null, 7,
        ]}));
        assert_eq!(parts.custom_ids, ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(parts.text, ["one", "two"]);
    }

    #[test]
    fn nesting_is_followed_so_far_and_no_further() {
        let nested = |depth: usize| {
            (0..depth).fold(json!({"type": 2, "custom_id": "deep"}), |inner, _| json!({"components": [inner]}))
        };
        assert_eq!(collect(&nested(DEEPEST)).custom_ids, ["deep"]);
        assert!(collect(&nested(DEEPEST + 1)).custom_ids.is_empty());
    }
}

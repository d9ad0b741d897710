//! Component trees: numbering, and finding a component by its custom id.

use serde_json::Value;

/// Numbers components that carry no id, as Discord does: depth first, from 1.
pub fn number(components: &mut [Value]) {
    let mut next = 1;
    for component in components {
        number_one(component, &mut next);
    }
}

fn number_one(component: &mut Value, next: &mut u64) {
    let Some(object) = component.as_object_mut() else { return };
    if object.get("id").and_then(Value::as_u64).unwrap_or(0) == 0 {
        object.insert("id".to_owned(), Value::from(*next));
    }
    *next += 1;
    if let Some(list) = object.get_mut("components").and_then(Value::as_array_mut) {
        for child in list {
            number_one(child, next);
        }
    }
    for key in ["accessory", "component"] {
        if let Some(child) = object.get_mut(key) {
            number_one(child, next);
        }
    }
}

/// Finds an interactive component by its custom id.
pub fn find<'a>(components: &'a [Value], custom_id: &str) -> Option<&'a Value> {
    components.iter().find_map(|component| {
        if component["custom_id"].as_str() == Some(custom_id) {
            return Some(component);
        }
        let children = component["components"].as_array().and_then(|list| find(list, custom_id));
        children.or_else(|| {
            ["accessory", "component"].iter().find_map(|key| {
                let child = component.get(key)?;
                find(std::slice::from_ref(child), custom_id)
            })
        })
    })
}

//! Which schemas can be requested as strict. A strict request with any other schema is refused, so keywords that the
//! documentation of structured outputs does not name count as not allowed.

use serde_json::Value;

const DEEPEST: usize = 10;
const MOST_PROPERTIES: usize = 5_000;
const KEYWORDS: [&str; 20] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
];
const FORMATS: [&str; 9] = ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// The root must be an object, and not a choice of several.
pub(in crate::models) fn allows(schema: &Value) -> bool {
    let mut properties = 0;
    schema.get("type").is_some_and(|kind| kind == "object")
        && schema.get("anyOf").is_none()
        && fits(schema, DEEPEST, &mut properties)
        && properties <= MOST_PROPERTIES
}

fn fits(schema: &Value, depth: usize, properties: &mut usize) -> bool {
    let Some(object) = schema.as_object() else { return false };
    if depth == 0
        || !object.keys().all(|key| matches!(key.as_str(), "type" | "title") || KEYWORDS.contains(&key.as_str()))
    {
        return false;
    }
    let mut inner = |schema: &Value| fits(schema, depth - 1, properties);
    let named = |name: &str, inner: &mut dyn FnMut(&Value) -> bool| match object.get(name) {
        None => true,
        Some(named) => named.as_object().is_some_and(|named| named.values().all(inner)),
    };
    let choices = object.get("anyOf").is_none_or(|any| any.as_array().is_some_and(|any| any.iter().all(&mut inner)));
    let items = object.get("items").is_none_or(&mut inner);
    let format = object.get("format").is_none_or(|format| format.as_str().is_some_and(|f| FORMATS.contains(&f)));
    let whole = choices
        && items
        && format
        && named("properties", &mut inner)
        && named("$defs", &mut inner)
        && named("definitions", &mut inner);
    *properties += object.get("properties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    whole && (!is_object(schema) || is_closed(schema))
}

fn is_object(schema: &Value) -> bool {
    schema.get("properties").is_some()
        || schema.get("type").is_some_and(|kind| {
            kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
        })
}

/// Every property is required, and there are no others.
fn is_closed(schema: &Value) -> bool {
    let required: Vec<&Value> = schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|properties| {
            properties.keys().all(|name| required.iter().any(|required| *required == name))
                && required.len() == properties.len()
        })
}

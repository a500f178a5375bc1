//! The subset of JSON Schema that the API documents. The API refuses a request with any other keyword, so those are
//! left out: a looser schema still helps, and the caller checks the reply.

use serde_json::{Map, Value, json};

const KEPT: [&str; 14] = [
    "$id",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "required",
    "propertyOrdering",
];

/// The schema with nothing in it that the API does not document.
pub(super) fn documented(schema: &Value) -> Value {
    let Some(object) = schema.as_object() else { return schema.clone() };
    let mut kept = Map::new();
    for (name, value) in object {
        let value = match name.as_str() {
            "properties" | "$defs" => named(value),
            "items" | "additionalProperties" => documented(value),
            "anyOf" | "oneOf" | "prefixItems" => each(value),
            name if KEPT.contains(&name) => value.clone(),
            // One of one is the same.
            "const" if !object.contains_key("enum") => {
                kept.insert("enum".to_owned(), json!([value]));
                continue;
            }
            _ => continue,
        };
        kept.insert(name.clone(), value);
    }
    Value::Object(kept)
}

fn named(schemas: &Value) -> Value {
    let named = schemas.as_object().into_iter().flatten();
    Value::Object(named.map(|(name, schema)| (name.clone(), documented(schema))).collect())
}

fn each(schemas: &Value) -> Value {
    schemas.as_array().into_iter().flatten().map(documented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_does_not_document_is_left_out_and_names_are_kept() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"pattern": {"type": "string", "pattern": "^a"}, "kind": {"const": "x"}},
            "required": ["pattern"],
            "additionalProperties": false,
            "anyOf": [{"type": "object", "minProperties": 1}],
            "$defs": {"not": {"type": "array", "items": {"type": "string", "minLength": 1}}},
        });
        assert_eq!(
            documented(&schema),
            json!({
                "type": "object",
                "properties": {"pattern": {"type": "string"}, "kind": {"enum": ["x"]}},
                "required": ["pattern"],
                "additionalProperties": false,
                "anyOf": [{"type": "object"}],
                "$defs": {"not": {"type": "array", "items": {"type": "string"}}},
            })
        );
    }
}

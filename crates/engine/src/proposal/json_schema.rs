//! Validates a JSON value against a JSON Schema, for the part of the standard that people write by hand. A schema
//! with anything else is refused before it is used, because an ignored keyword would promise a check that does not
//! happen.

use regex_automata::meta::Regex;
use serde_json::{Map, Value};
use trimtab_vocab::format;

/// Schemas within schemas, and references that lead to references.
const DEEPEST: usize = 64;
/// Errors that are reported at once.
const MOST_ERRORS: usize = 10;
/// Bytes of a value that are quoted.
const LONGEST_QUOTE: usize = 60;

/// They say something about a schema, and nothing about a value.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];
const TYPES: &[&str] = &["null", "boolean", "object", "array", "number", "string", "integer"];

/// What of a schema cannot be checked here, with its place; nothing, if it can be used.
pub fn schema_objection(schema: &Value) -> Option<String> {
    examine(schema, schema, "#", DEEPEST).err()
}

fn examine(root: &Value, schema: &Value, place: &str, depth: usize) -> Result<(), String> {
    let keywords = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(_) if depth == 0 => return Err(format!("{place} is nested too deeply")),
        Value::Object(keywords) => keywords,
        _ => return Err(format!("{place} is neither an object nor true or false")),
    };
    for (keyword, value) in keywords {
        let here = format!("{place}/{keyword}");
        let wrong = |what: &str| Err(format!("{here} takes {what}"));
        let below = |schema: &Value, name: &str| examine(root, schema, &format!("{here}/{name}"), depth - 1);
        match keyword.as_str() {
            name if ANNOTATIONS.contains(&name) => {}
            "const" => {}
            "enum" if value.is_array() => {}
            "enum" => return wrong("a list"),
            "type" => {
                let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                if !names.iter().all(known) {
                    return wrong("the name of a type, or a list of them");
                }
            }
            "properties" | "$defs" | "definitions" => {
                let Some(named) = value.as_object() else { return wrong("an object") };
                named.iter().try_for_each(|(name, schema)| below(schema, name))?;
            }
            "items" | "additionalProperties" | "not" => examine(root, value, &here, depth - 1)?,
            "anyOf" | "oneOf" | "allOf" => {
                let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty()) else {
                    return wrong("a list of schemas");
                };
                schemas.iter().enumerate().try_for_each(|(at, schema)| below(schema, &at.to_string()))?;
            }
            "required" => {
                if !value.as_array().is_some_and(|names| names.iter().all(Value::is_string)) {
                    return wrong("a list of names");
                }
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                if value.as_f64().is_none() {
                    return wrong("a number");
                }
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                if value.as_u64().is_none() {
                    return wrong("a whole number");
                }
            }
            "uniqueItems" if value.is_boolean() => {}
            "uniqueItems" => return wrong("true or false"),
            "pattern" => match value.as_str().map(Regex::new) {
                Some(Ok(_)) => {}
                _ => return wrong("a regular expression without look-around and back-references"),
            },
            "$ref" => match value.as_str().and_then(|name| target(root, name)) {
                Some(Value::Object(_) | Value::Bool(_)) => {}
                _ => return wrong("a reference to a part of the schema itself, like \"#/$defs/name\""),
            },
            _ => return Err(format!("{here} is not supported")),
        }
    }
    Ok(())
}

/// What a local reference leads to.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The errors of a value, a line each with its place; none if it is valid. The schema must have no objections.
pub fn schema_errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    SchemaCheck { root: schema, errors: &mut errors }.value(schema, value, "", DEEPEST);
    errors.truncate(MOST_ERRORS);
    errors
}

struct SchemaCheck<'a> {
    root: &'a Value,
    errors: &'a mut Vec<String>,
}

impl SchemaCheck<'_> {
    fn value(&mut self, schema: &Value, value: &Value, place: &str, depth: usize) {
        if self.errors.len() >= MOST_ERRORS {
            return;
        }
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Object(_) if depth == 0 => {
                return self.complain(place, "is nested too deeply");
            }
            Value::Object(keywords) => keywords,
            _ => return self.complain(place, "is not allowed"),
        };
        if let Some(name) = keywords.get("$ref").and_then(Value::as_str) {
            match target(self.root, name).cloned() {
                Some(schema) => self.value(&schema, value, place, depth - 1),
                None => self.complain(place, "cannot be checked"),
            }
        }
        if let Some(types) = keywords.get("type") {
            let names = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
            if !names.iter().any(|name| is_type(value, name.as_str().unwrap_or_default())) {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                // Other errors would follow from this one.
                return self.complain(place, &format!("is {}, not of type {}", quoted(value), format::choices(&names)));
            }
        }
        if keywords.get("const").is_some_and(|only| !same(only, value)) {
            self.complain(place, &format!("is {}, not {}", quoted(value), quoted(&keywords["const"])));
        }
        if let Some(choices) = keywords.get("enum").and_then(Value::as_array)
            && !choices.iter().any(|choice| same(choice, value))
        {
            let choices: Vec<String> = choices.iter().map(quoted).collect();
            self.complain(place, &format!("is {}, not one of {}", quoted(value), choices.join(", ")));
        }
        match value {
            Value::Object(fields) => self.object(keywords, fields, place, depth),
            Value::Array(items) => self.array(keywords, items, place, depth),
            Value::String(text) => self.text(keywords, text, place),
            Value::Number(_) => self.number(keywords, value.as_f64().unwrap_or_default(), place),
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(keywords, value, place, depth);
    }

    fn object(&mut self, keywords: &Map<String, Value>, fields: &Map<String, Value>, place: &str, depth: usize) {
        for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.complain(place, &format!("lacks {name}"));
            }
        }
        self.count(keywords, ["minProperties", "maxProperties"], fields.len(), place, "properties");
        let known = keywords.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let inside = format!("{place}/{name}");
            match (known.and_then(|known| known.get(name)), keywords.get("additionalProperties")) {
                (Some(schema), _) => self.value(schema, value, &inside, depth - 1),
                (None, Some(Value::Bool(false))) => self.complain(&inside, "is not a property of the schema"),
                (None, Some(schema)) => self.value(schema, value, &inside, depth - 1),
                (None, None) => {}
            }
        }
    }

    fn array(&mut self, keywords: &Map<String, Value>, items: &[Value], place: &str, depth: usize) {
        self.count(keywords, ["minItems", "maxItems"], items.len(), place, "items");
        if let Some(schema) = keywords.get("items") {
            for (at, item) in items.iter().enumerate() {
                self.value(schema, item, &format!("{place}/{at}"), depth - 1);
            }
        }
        let is_unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
        let twice = |(at, item): (usize, &Value)| items[..at].iter().any(|before| same(before, item));
        if is_unique && items.iter().enumerate().any(twice) {
            self.complain(place, "has the same item twice");
        }
    }

    fn text(&mut self, keywords: &Map<String, Value>, text: &str, place: &str) {
        self.count(keywords, ["minLength", "maxLength"], text.chars().count(), place, "characters");
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        if let Some(pattern) = pattern
            && !Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
        {
            self.complain(place, &format!("is {}, which does not match {pattern}", quoted(&text.into())));
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, number: f64, place: &str) {
        let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
        let mut demand = |holds: bool, what: String| {
            if !holds {
                self.complain(place, &format!("is {number}, which is not {what}"));
            }
        };
        bound("minimum").into_iter().for_each(|least| demand(number >= least, format!("at least {least}")));
        bound("maximum").into_iter().for_each(|most| demand(number <= most, format!("at most {most}")));
        bound("exclusiveMinimum").into_iter().for_each(|least| demand(number > least, format!("more than {least}")));
        bound("exclusiveMaximum").into_iter().for_each(|most| demand(number < most, format!("less than {most}")));
    }

    fn combined(&mut self, keywords: &Map<String, Value>, value: &Value, place: &str, depth: usize) {
        let schemas = |name: &str| keywords.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for schema in schemas("allOf") {
            self.value(schema, value, place, depth - 1);
        }
        let fitting = |name: &str| schemas(name).iter().filter(|schema| self.fits(schema, value, depth - 1)).count();
        let (any, one) = (fitting("anyOf"), fitting("oneOf"));
        if any == 0 && !schemas("anyOf").is_empty() {
            self.complain(place, "matches none of the schemas in anyOf");
        }
        if one != 1 && !schemas("oneOf").is_empty() {
            self.complain(place, &format!("matches {one} of the schemas in oneOf, and must match exactly one"));
        }
        if keywords.get("not").is_some_and(|schema| self.fits(schema, value, depth - 1)) {
            self.complain(place, "matches the schema in not");
        }
    }

    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut errors = Vec::new();
        SchemaCheck { root: self.root, errors: &mut errors }.value(schema, value, "", depth);
        errors.is_empty()
    }

    fn count(&mut self, keywords: &Map<String, Value>, names: [&str; 2], count: usize, place: &str, what: &str) {
        let [least, most] = names.map(|name| keywords.get(name).and_then(Value::as_u64));
        let count = count as u64;
        if let Some(least) = least.filter(|least| count < *least) {
            self.complain(place, &format!("has {count} {what}, fewer than {least}"));
        }
        if let Some(most) = most.filter(|most| count > *most) {
            self.complain(place, &format!("has {count} {what}, more than {most}"));
        }
    }

    fn complain(&mut self, place: &str, what: &str) {
        let place = if place.is_empty() { "the value" } else { place };
        self.errors.push(format!("{place} {what}"));
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

/// `1` and `1.0` are the same number, and the order of fields says nothing.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.len() > LONGEST_QUOTE {
        true => format!("{}…", &text[..text.floor_char_boundary(LONGEST_QUOTE)]),
        false => text,
    }
}

/// Every JSON value that a reply may mean, the likeliest first: all of it, the content of its fences from the last to
/// the first, and the text between its first and its last bracket.
pub(crate) fn values_in(reply: &str) -> Vec<Value> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
    let mut found: Vec<Value> = parsed(reply).into_iter().collect();
    let mut fenced: Vec<&str> = reply.split("```").skip(1).step_by(2).collect();
    fenced.reverse();
    let body = |block: &str| block.split_once('\n').and_then(|(_, body)| parsed(body)).or_else(|| parsed(block));
    found.extend(fenced.into_iter().filter_map(body));
    for (open, close) in [('{', '}'), ('[', ']')] {
        if let (Some(start), Some(end)) = (reply.find(open), reply.rfind(close))
            && start < end
        {
            found.extend(parsed(&reply[start..=end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: Value, value: Value) -> String {
        assert_eq!(schema_objection(&schema), None, "{schema}");
        schema_errors(&schema, &value).join("; ")
    }

    #[test]
    fn each_keyword_lets_through_what_fits_and_names_what_does_not() {
        for (schema, good, bad, error) in [
            (json!({"type": "integer"}), json!(3.0), json!(3.5), "the value is 3.5, not of type integer"),
            (json!({"type": ["string", "null"]}), json!(null), json!(1), "the value is 1, not of type string or null"),
            (json!({"enum": ["a", 1]}), json!(1.0), json!("b"), "the value is \"b\", not one of \"a\", 1"),
            (
                json!({"const": {"a": 1, "b": 2}}),
                json!({"b": 2, "a": 1}),
                json!({}),
                "the value is {}, not {\"a\":1,\"b\":2}",
            ),
            (json!({"required": ["a"]}), json!({"a": null}), json!({}), "the value lacks a"),
            (
                json!({"properties": {"a": {"type": "string"}}}),
                json!({"b": 1}),
                json!({"a": 1}),
                "/a is 1, not of type string",
            ),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
                "/b is not a property of the schema",
            ),
            (
                json!({"additionalProperties": {"type": "number"}}),
                json!({"a": 1}),
                json!({"a": "x"}),
                "/a is \"x\", not of type number",
            ),
            (json!({"items": {"type": "number"}}), json!([1, 2]), json!([1, "x"]), "/1 is \"x\", not of type number"),
            (json!({"minItems": 1, "maxItems": 2}), json!([1]), json!([]), "the value has 0 items, fewer than 1"),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0]), "the value has the same item twice"),
            (
                json!({"minLength": 2, "maxLength": 3}),
                json!("äöü"),
                json!("ä"),
                "the value has 1 characters, fewer than 2",
            ),
            (
                json!({"pattern": "^[a-z]+$"}),
                json!("abc"),
                json!("a1"),
                "the value is \"a1\", which does not match ^[a-z]+$",
            ),
            (
                json!({"minimum": 1, "exclusiveMaximum": 3}),
                json!(1),
                json!(3),
                "the value is 3, which is not less than 3",
            ),
            (
                json!({"maxProperties": 1}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
                "the value has 2 properties, more than 1",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}),
                json!(5),
                json!(4),
                "the value matches none of the schemas in anyOf",
            ),
            (
                json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
                json!(7),
                json!(3),
                "the value matches 2 of the schemas in oneOf, and must match exactly one",
            ),
            (
                json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}),
                json!(3),
                json!(7),
                "the value is 7, which is not at most 5",
            ),
            (json!({"not": {"type": "null"}}), json!(1), json!(null), "the value matches the schema in not"),
        ] {
            assert_eq!(errors(schema.clone(), good), "", "{schema}");
            assert_eq!(errors(schema.clone(), bad), error, "{schema}");
        }
    }

    #[test]
    fn references_lead_to_parts_of_the_schema_and_may_lead_back() {
        let tree = json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                "required": ["name"],
            }},
        });
        let good = json!({"name": "a", "children": [{"name": "b", "children": []}]});
        assert_eq!(errors(tree.clone(), good), "");
        assert_eq!(errors(tree, json!({"name": "a", "children": [{}]})), "/children/0 lacks name");
        let endless = json!({"$ref": "#"});
        assert!(errors(endless, json!(1)).contains("nested too deeply"), "it ends");
    }

    #[test]
    fn a_schema_with_anything_else_in_it_is_refused_with_the_place() {
        for (schema, objection) in [
            (
                json!({"properties": {"a": {"patternProperties": {}}}}),
                "#/properties/a/patternProperties is not supported",
            ),
            (json!({"if": {}}), "#/if is not supported"),
            (json!({"type": "text"}), "#/type takes the name of a type, or a list of them"),
            (
                json!({"pattern": "(?=a)"}),
                "#/pattern takes a regular expression without look-around and back-references",
            ),
            (
                json!({"$ref": "https://x.test/schema"}),
                "#/$ref takes a reference to a part of the schema itself, like \"#/$defs/name\"",
            ),
            (
                json!({"$ref": "#/$defs/gone"}),
                "#/$ref takes a reference to a part of the schema itself, like \"#/$defs/name\"",
            ),
            (json!({"items": [{}]}), "#/items is neither an object nor true or false"),
            (json!("string"), "# is neither an object nor true or false"),
        ] {
            assert_eq!(schema_objection(&schema).as_deref(), Some(objection), "{schema}");
        }
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert!(schema_objection(&deep).is_some_and(|objection| objection.contains("too deep")));
    }

    #[test]
    fn a_value_is_found_bare_in_fences_and_between_words() {
        let first = |reply: &str| values_in(reply).first().cloned();
        assert_eq!(first(" {\"a\": 1}\n"), Some(json!({"a": 1})));
        assert_eq!(first("7"), Some(json!(7)));
        assert_eq!(
            first("Draft:\n```json\n{\"a\": 0}\n```\nFinal:\n```json\n{\"a\": 1}\n```\n"),
            Some(json!({"a": 1}))
        );
        assert_eq!(first("Here it is: [1, 2]. Enjoy."), Some(json!([1, 2])));
        assert_eq!(first("I could not do it."), None);
    }
}

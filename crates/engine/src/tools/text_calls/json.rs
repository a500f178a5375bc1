//! JSON as models write it, and the calls in it.
//!
//! Beyond the standard, only unambiguous deviations are accepted: line ends inside a string, trailing commas,
//! Python's literals, and unknown escapes, which keep their backslash.

use std::sync::Arc;

use serde_json::{Map, Value};
use trimtab_vocab::ToolSpec;

use super::{NamedCall, arguments_of, plain_name};

/// Keys under which a call has its name, and its arguments.
const NAMES: &[&str] = &["name", "tool_name", "tool", "function", "action", "function_name"];
const ARGUMENTS: &[&str] = &["arguments", "parameters", "input", "args", "params", "tool_input", "action_input"];
/// Keys that a call may have besides.
const BESIDE: &[&str] = &["type", "id", "tool_call_id", "index", "call_id", "description"];
/// Keys whose value is a call, or a list of them.
const WRAPPERS: &[&str] = &["function", "function_call", "tool_call", "tool_calls", "calls"];

/// The value that a text begins with, and how many bytes it takes.
pub(super) fn value(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = values.next() {
        let length = values.byte_offset();
        return Some((value, length));
    }
    let length = extent(text)?;
    let value = serde_json::from_str(&mended(&text[..length])).ok()?;
    Some((value, length))
}

/// The successive values of a text; none if it has anything else.
pub(super) fn values(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut rest = text.trim_start();
    while rest.starts_with(['{', '[']) {
        let (value, length) = value(rest)?;
        values.push(value);
        rest = rest[length..].trim_start().trim_start_matches([';', ',']).trim_start();
    }
    (rest.is_empty() && !values.is_empty()).then_some(values)
}

/// The length of an object or a list. A text that is cut has no end.
fn extent(text: &str) -> Option<usize> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let (mut depth, mut inside, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The same text as standard JSON.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len() + 16);
    let mut chars = text.char_indices().peekable();
    let mut inside = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                inside = !inside;
                mended.push(c);
            }
            '\\' if inside => match chars.next() {
                Some((_, '\'')) => mended.push('\''),
                Some((_, next)) => {
                    let is_known = matches!(next, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u');
                    mended.push_str(if is_known { "\\" } else { "\\\\" });
                    // A line end behind a backslash continues the text in the next line.
                    mended.push_str(match next {
                        '\n' => "n",
                        _ => "",
                    });
                    if next != '\n' {
                        mended.push(next);
                    }
                }
                None => mended.push('\\'),
            },
            '\n' if inside => mended.push_str("\\n"),
            '\r' if inside => mended.push_str("\\r"),
            '\t' if inside => mended.push_str("\\t"),
            ',' if !inside && text[at + 1..].trim_start().starts_with(['}', ']']) => {}
            'T' | 'F' | 'N' if !inside => {
                let names = [("True", "true"), ("False", "false"), ("None", "null")];
                match names.iter().find(|(name, _)| text[at..].starts_with(name)) {
                    Some((name, json)) => {
                        mended.push_str(json);
                        (1..name.len()).for_each(|_| {
                            chars.next();
                        });
                    }
                    None => mended.push(c),
                }
            }
            _ => mended.push(c),
        }
    }
    mended
}

/// The calls that a value is: one, or several; none if it is anything else.
pub(super) fn calls(value: &Value, offered: &[Arc<ToolSpec>]) -> Option<Vec<NamedCall>> {
    match value {
        Value::Array(list) if !list.is_empty() => {
            let calls: Option<Vec<Vec<NamedCall>>> = list.iter().map(|one| calls(one, offered)).collect();
            calls.map(|calls| calls.concat())
        }
        Value::Object(fields) => object(fields, offered),
        _ => None,
    }
}

fn object(fields: &Map<String, Value>, offered: &[Arc<ToolSpec>]) -> Option<Vec<NamedCall>> {
    let is_offered = |name: &str| offered.iter().any(|spec| spec.name == name);
    let wrapped =
        WRAPPERS.iter().find_map(|key| fields.get(*key).filter(|inner| inner.is_object() || inner.is_array()));
    if let Some(inner) = wrapped {
        return calls(inner, offered);
    }
    // `{"read_file": {"path": "a"}}`
    if let (1, Some((name, inner))) = (fields.len(), fields.iter().next())
        && is_offered(&plain_name(name))
        && inner.is_object()
    {
        return Some(vec![NamedCall { name: plain_name(name), input: inner.clone(), is_plain: false }]);
    }
    let (key, name) = NAMES.iter().find_map(|key| Some((*key, fields.get(*key)?.as_str()?)))?;
    let name = plain_name(name);
    if name.is_empty() || name.len() > 128 || name.contains(char::is_whitespace) {
        return None;
    }
    let found = ARGUMENTS.iter().find(|arguments| fields.contains_key(**arguments) && **arguments != key);
    let known = |field: &String| field == key || found == Some(&field.as_str()) || BESIDE.contains(&field.as_str());
    let is_plain = key == "name" && found.is_some_and(|_| fields.keys().all(known));
    let input = match found {
        Some(arguments) => arguments_of(fields.get(*arguments))?,
        // The arguments stand beside the name.
        None if is_offered(&name) => {
            let rest = fields.iter().filter(|(field, _)| *field != key && *field != "type" && *field != "id");
            Value::Object(rest.map(|(field, value)| (field.clone(), value.clone())).collect())
        }
        None => return None,
    };
    Some(vec![NamedCall { name, input, is_plain }])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_one_reading_is_read_and_the_rest_is_not() {
        let read = |text: &str| value(text).map(|(value, _)| value);
        assert_eq!(read("{\"a\": \"x\ny\", \"b\": [1, 2,],}"), Some(json!({"a": "x\ny", "b": [1, 2]})));
        assert_eq!(
            read(r#"{"a": "\d+\'s", "b": True, "c": None, }"#),
            Some(json!({"a": "\\d+'s", "b": true, "c": null}))
        );
        assert_eq!(read(r#"{"a": "b"#), None, "a cut text has no end");
        assert_eq!(read("{'a': 1}"), None);
        assert_eq!(value(r#"{"a":1} and more"#).map(|(_, length)| length), Some(7));
    }
}

//! Calls whose arguments are between tags, one tag each.

use std::sync::Arc;

use serde_json::{Map, Value};
use trimtab_vocab::ToolSpec;

use super::{NamedCall, json, plain_name};

/// The calls that a text is.
pub(super) fn calls(text: &str, offered: &[Arc<ToolSpec>]) -> Option<Vec<NamedCall>> {
    // DeepSeek marks each tag as its own.
    let plain = text.replace("\u{ff5c}DSML\u{ff5c}", "");
    let text = plain.trim();
    if text.starts_with("<function=") {
        return repeated(text, |text| function(text, offered));
    }
    if text.starts_with("<invoke") {
        return repeated(text, |text| invoke(text, offered));
    }
    if text.starts_with("<name>") {
        let (name, rest) = between(text, "<name>", "</name>")?;
        let (arguments, rest) = between(rest.trim_start(), "<arguments>", "</arguments>")?;
        let (input, _) = json::value(arguments.trim())?;
        let call = NamedCall { name: plain_name(name), input, is_plain: true };
        return rest.trim().is_empty().then(|| vec![call]);
    }
    if text.contains("<arg_key>") {
        return glm(text, offered).map(|call| vec![call]);
    }
    if text.starts_with("call:") {
        return gemma(text).map(|call| vec![call]);
    }
    repeated(text, |text| {
        let (name, input, length) = element(text, offered)?;
        Some((NamedCall { name, input, is_plain: false }, &text[length..]))
    })
}

fn repeated<'t>(text: &'t str, read: impl Fn(&'t str) -> Option<(NamedCall, &'t str)>) -> Option<Vec<NamedCall>> {
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (call, after) = read(rest)?;
        calls.push(call);
        rest = after.trim_start();
    }
    (!calls.is_empty()).then_some(calls)
}

/// The text between two tags, and the text after the second.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(open)?.split_once(close)
}

/// `<function=NAME>{…}</function>`, and `<function=NAME><parameter=KEY>…</parameter></function>`.
fn function<'t>(text: &'t str, offered: &[Arc<ToolSpec>]) -> Option<(NamedCall, &'t str)> {
    let (name, rest) = between(text, "<function=", ">")?;
    let name = plain_name(name);
    let body = rest.trim_start();
    if body.starts_with('{') {
        let (input, length) = json::value(body)?;
        let rest = body[length..].trim_start();
        let rest = rest.strip_prefix("</function>").or_else(|| rest.is_empty().then_some(""))?;
        return Some((NamedCall { name, input, is_plain: true }, rest));
    }
    let mut fields = Map::new();
    let mut rest = body;
    while let Some((key, after)) = between(rest, "<parameter=", ">") {
        let (value, after) = after.split_once("</parameter>")?;
        fields.insert(key.trim().to_owned(), typed(&name, key.trim(), value, offered));
        rest = after.trim_start();
    }
    let rest = rest.strip_prefix("</function>")?;
    Some((NamedCall { name, input: Value::Object(fields), is_plain: true }, rest))
}

/// `<invoke name="NAME"><parameter name="KEY">…</parameter></invoke>`.
fn invoke<'t>(text: &'t str, offered: &[Arc<ToolSpec>]) -> Option<(NamedCall, &'t str)> {
    let (name, mut rest) = between(text, "<invoke name=\"", "\">")?;
    let name = plain_name(name);
    let mut fields = Map::new();
    rest = rest.trim_start();
    while let Some(after) = rest.strip_prefix("<parameter name=\"") {
        let (key, after) = after.split_once('"')?;
        let (_, after) = after.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        fields.insert(key.to_owned(), typed(&name, key, value, offered));
        rest = after.trim_start();
    }
    let rest = rest.strip_prefix("</invoke>")?;
    Some((NamedCall { name, input: Value::Object(fields), is_plain: true }, rest))
}

/// `NAME <arg_key>KEY</arg_key> <arg_value>…</arg_value>`, as GLM writes it.
fn glm(text: &str, offered: &[Arc<ToolSpec>]) -> Option<NamedCall> {
    let at = text.find("<arg_key>")?;
    let name = plain_name(text[..at].trim());
    let mut fields = Map::new();
    let mut rest = &text[at..];
    while let Some((key, after)) = between(rest, "<arg_key>", "</arg_key>") {
        let (value, after) = between(after.trim_start(), "<arg_value>", "</arg_value>")?;
        fields.insert(key.trim().to_owned(), typed(&name, key.trim(), value, offered));
        rest = after.trim_start();
    }
    (rest.is_empty() && !name.contains(char::is_whitespace)).then(|| NamedCall {
        name,
        input: Value::Object(fields),
        is_plain: true,
    })
}

/// `call:NAME{KEY:<escape>…<escape>}`, as FunctionGemma writes it.
fn gemma(text: &str) -> Option<NamedCall> {
    let (name, rest) = text.strip_prefix("call:")?.split_once('{')?;
    let mut fields = Map::new();
    let mut rest = rest.trim_start();
    while !rest.starts_with('}') {
        let (key, after) = rest.split_once(':')?;
        let (value, after) = match after.strip_prefix("<escape>") {
            Some(text) => {
                let (value, after) = text.split_once("<escape>")?;
                (Value::String(value.to_owned()), after)
            }
            None => {
                let end = after.find([',', '}'])?;
                (serde_json::from_str(after[..end].trim()).ok()?, &after[end..])
            }
        };
        fields.insert(key.trim().to_owned(), value);
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    (rest.trim_end() == "}").then(|| NamedCall { name: plain_name(name), input: Value::Object(fields), is_plain: true })
}

/// `<write_file><path>a</path><content>…</content></write_file>`: a tag with the name of an offered tool, and in it
/// tags with the names of its arguments. Returns its length, too.
pub(super) fn element(text: &str, offered: &[Arc<ToolSpec>]) -> Option<(String, Value, usize)> {
    let name = text.strip_prefix('<')?.split('>').next()?;
    let spec = offered.iter().find(|spec| spec.name == name)?;
    let close = format!("</{name}>");
    let body_at = name.len() + 2;
    let end = text.rfind(&close)?;
    let mut rest = text.get(body_at..end)?.trim();
    let mut fields = Map::new();
    while !rest.is_empty() {
        let key = rest.strip_prefix('<')?.split('>').next()?;
        spec.input_schema.get("properties")?.get(key)?;
        let (open, close) = (format!("<{key}>"), format!("</{key}>"));
        let after = rest.strip_prefix(open.as_str())?;
        // The last end counts where it is the only argument of its name: the text may hold the same tag.
        let at = after.rfind(&close)?;
        fields.insert(key.to_owned(), typed(name, key, &after[..at], offered));
        rest = after[at + close.len()..].trim_start();
    }
    Some((name.to_owned(), Value::Object(fields), end + close.len()))
}

/// A value with the type of its schema: a string stays a string, anything else is JSON. The line ends next to the
/// tags are not part of it.
fn typed(tool: &str, key: &str, value: &str, offered: &[Arc<ToolSpec>]) -> Value {
    let value = value.strip_prefix('\n').unwrap_or(value);
    let spec = offered.iter().find(|spec| spec.name == tool);
    let kind = spec.and_then(|spec| spec.input_schema.get("properties")?.get(key)?.get("type")?.as_str());
    match kind {
        // A file's text ends with a line end; other texts do not.
        Some("string") if key == "content" && value.ends_with('\n') => Value::String(value.to_owned()),
        Some("string") | None => Value::String(value.strip_suffix('\n').unwrap_or(value).to_owned()),
        Some(_) => json::value(value.trim())
            .map(|(value, _)| value)
            .or_else(|| serde_json::from_str(value.trim()).ok())
            .unwrap_or_else(|| Value::String(value.trim().to_owned())),
    }
}

//! What servers send, as the rest of the program knows it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::{Map, Value};
use trimtab_vocab::{ServerTool, picture_type};

use super::{
    LARGEST_LIST, LARGEST_SCHEMA, LONGEST_DESCRIPTION, LONGEST_NAME, MOST_PAGES, MOST_TOOLS, ToolAnswer, ToolList,
    plain,
};

/// Bytes of text of one answer that are kept.
pub(super) const LONGEST_TEXT: usize = 4 * 1024 * 1024;
/// Images and sounds of one answer, and bytes of one.
pub(super) const MOST_MEDIA: usize = 10;
const LARGEST_MEDIA: usize = 5 * 1024 * 1024;

/// The tools of a server as they come, up to the bounds of a list.
#[derive(Default)]
pub(super) struct ToolCollector {
    pub(super) list: ToolList,
    bytes: usize,
}

impl ToolCollector {
    /// Adds a tool, or notes why it is left out. False: the list is full.
    pub(super) fn add(&mut self, new: Tool, trusted: bool) -> bool {
        if self.list.tools.len() == MOST_TOOLS {
            self.list.notes.push(format!("Only the first {MOST_TOOLS} tools are used."));
            return false;
        }
        match tool(new, trusted) {
            Ok(tool) => {
                self.bytes += tool.name.len() + tool.description.len() + tool.input_schema.to_string().len();
                if self.bytes > LARGEST_LIST {
                    let count = self.list.tools.len();
                    let limit = LARGEST_LIST / 1024;
                    self.list
                        .notes
                        .push(format!("Only the first {count} tools are used: all have more than {limit} KB."));
                    return false;
                }
                self.list.tools.push(tool);
            }
            Err(note) if self.list.notes.len() < MOST_PAGES => self.list.notes.push(note),
            Err(_) => {}
        }
        true
    }
}

/// A tool, or why it is left out.
fn tool(tool: Tool, trusted: bool) -> Result<ServerTool, String> {
    let name = tool.name.to_string();
    // Rules name tools, and `*` in a rule stands for anything.
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let is_plain = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part);
    if !is_plain {
        return Err(format!("A tool is left out because of its name: {}.", plain(&name, 60)));
    }
    let schema = usual_schema((*tool.input_schema).clone());
    let Some(schema) = schema else {
        return Err(format!("The tool {name} is left out: its arguments are not an object."));
    };
    let size = schema.to_string().len();
    if size > LARGEST_SCHEMA {
        return Err(format!(
            "The tool {name} is left out: its schema has {size} bytes; {LARGEST_SCHEMA} is the limit."
        ));
    }
    let hints = tool.annotations.unwrap_or_default();
    let description = plain(tool.description.as_deref().unwrap_or_default().trim(), LONGEST_DESCRIPTION);
    Ok(ServerTool {
        name,
        description,
        input_schema: schema,
        read_only: trusted && hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true),
        destructive: hints.destructive_hint == Some(true),
    })
}

/// A schema in the form that every provider takes: an object, without choices at the top. One tool that a provider
/// refuses would fail every model call. The server checks the arguments anyway.
fn usual_schema(schema: Map<String, Value>) -> Option<Value> {
    // First, because a name with a hidden character in it could pass the checks below.
    let mut schema = plain_fields(schema);
    for name in ["$schema", "$id", "oneOf", "anyOf", "allOf", "not"] {
        schema.shift_remove(name);
    }
    let kind = schema.entry("type").or_insert_with(|| "object".into());
    if kind != "object" {
        return None;
    }
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    properties.is_object().then_some(Value::Object(schema))
}

/// The same JSON with every text and every name without hidden characters.
pub(super) fn plain_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(&text, usize::MAX)),
        Value::Array(items) => Value::Array(items.into_iter().map(plain_json).collect()),
        Value::Object(fields) => Value::Object(plain_fields(fields)),
        other => other,
    }
}

fn plain_fields(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (plain(&name, usize::MAX), plain_json(value))).collect()
}

/// The answer to a call.
pub(super) fn answer(result: CallToolResult) -> ToolAnswer {
    let mut answer = ToolAnswer { is_error: result.is_error == Some(true), ..ToolAnswer::default() };
    let mut texts: Vec<String> = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => match picture(&image.data) {
                Some(media_type) if answer.images.len() < MOST_MEDIA => {
                    answer.images.push((media_type.to_owned(), image.data));
                }
                _ => texts.push(format!("[An image that cannot be shown: {}]", plain(&image.mime_type, 60))),
            },
            ContentBlock::Audio(audio) => match BASE64.decode(&audio.data) {
                Ok(bytes) if bytes.len() <= LARGEST_MEDIA && answer.audio.len() < MOST_MEDIA => {
                    answer.audio.push((plain(&audio.mime_type, 60), bytes));
                }
                _ => texts.push(format!("[Audio that cannot be kept: {}]", plain(&audio.mime_type, 60))),
            },
            ContentBlock::Resource(embedded) => texts.push(resource(embedded.resource)),
            ContentBlock::ResourceLink(link) => {
                let kind = link.mime_type.map(|kind| format!(", {kind}")).unwrap_or_default();
                let about = link.description.map(|about| format!(": {about}")).unwrap_or_default();
                texts.push(format!("[Resource {} ({}{kind}){about}]", link.name, link.uri));
            }
            _ => texts.push("[Content of an unknown kind]".to_owned()),
        }
    }
    if let Some(structured) = result.structured_content {
        // Most servers send the same thing as text, for clients that do not know this field.
        let is_said = texts.iter().any(|text| serde_json::from_str::<Value>(text).is_ok_and(|said| said == structured));
        if !is_said {
            texts.push(structured.to_string());
        }
    }
    answer.text = plain(&texts.join("\n"), LONGEST_TEXT);
    answer
}

fn picture(data: &str) -> Option<&'static str> {
    let bytes = BASE64.decode(data).ok().filter(|bytes| bytes.len() <= LARGEST_MEDIA)?;
    picture_type(&bytes)
}

fn resource(contents: ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => format!("[Resource {uri}]\n{text}"),
        ResourceContents::BlobResourceContents { uri, blob, .. } => {
            format!("[Resource {uri}: {} bytes that are not text]", blob.len() / 4 * 3)
        }
        _ => "[A resource of an unknown kind]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> ToolAnswer {
        answer(serde_json::from_value(value).expect("a result"))
    }

    #[test]
    fn every_kind_of_content_is_kept_or_named() {
        let png = BASE64.encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        let seen = read(json!({"content": [
            {"type": "text", "text": "a\u{1b}[2J"},
            {"type": "image", "data": png, "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAAAAAA"}},
        ], "structuredContent": {"n": 1}, "isError": true}));
        assert!(seen.is_error);
        assert_eq!((seen.images.len(), seen.images[0].0.as_str()), (1, "image/png"));
        assert_eq!(seen.audio, [("audio/wav".to_owned(), vec![0, 0, 0])]);
        let lines: Vec<&str> = seen.text.lines().collect();
        assert_eq!(
            lines,
            [
                "a[2J",
                "[An image that cannot be shown: image/png]",
                "[Resource a (file:///a, text/plain)]",
                "[Resource file:///b]",
                "inside",
                "[Resource file:///c: 6 bytes that are not text]",
                "{\"n\":1}"
            ]
        );
    }

    #[test]
    fn structured_content_that_is_also_text_is_said_once() {
        let seen = read(json!({"content": [{"type": "text", "text": "{ \"n\": 1 }"}], "structuredContent": {"n": 1}}));
        assert_eq!(seen.text, "{ \"n\": 1 }");
    }

    #[test]
    fn hints_count_only_where_they_are_trusted_and_bad_tools_are_left_out() {
        let described = |value: Value, trusted| tool(serde_json::from_value(value).expect("a tool"), trusted);
        let reader = json!({"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
        assert!(!described(reader.clone(), false).expect("kept").read_only);
        assert!(described(reader, true).expect("kept").read_only);
        let both =
            json!({"name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": true, "destructiveHint": true}});
        let both = described(both, true).expect("kept");
        assert!(both.destructive && !both.read_only, "the stricter hint counts");
        for name in ["", "a\nb", "*", "a:b", "a b"] {
            assert!(described(json!({"name": name, "inputSchema": {}}), false).is_err(), "{name:?}");
        }
        assert!(described(json!({"name": "a", "inputSchema": {"type": "string"}}), false).is_err());
        let odd = json!({"name": "a", "inputSchema": {"$schema": "x", "oneOf": [{}]}});
        let usual = json!({"type": "object", "properties": {}});
        assert_eq!(described(odd, false).expect("kept").input_schema, usual);
        let large = json!({"name": "a", "inputSchema": {"description": "x".repeat(LARGEST_SCHEMA)}});
        assert!(described(large, false).is_err());
        let long = json!({"name": "a", "description": "x".repeat(100_000), "inputSchema": {}});
        assert!(described(long, false).expect("kept").description.len() < LONGEST_DESCRIPTION + 4);
    }

    #[test]
    fn schemas_hide_nothing() {
        let hidden = json!({"name": "a", "inputSchema": {"type": "object", "one\u{200b}Of": [], "properties": {
            "pa\u{e0041}th": {"type": "string", "description": "a\u{202e}b", "enum": ["x\u{1b}[2J"]}}}});
        let tool = tool(serde_json::from_value(hidden).expect("a tool"), false).expect("kept");
        let shown = json!({"type": "object", "properties": {"path": {"type": "string", "description": "ab", "enum": ["x[2J"]}}});
        assert_eq!(tool.input_schema, shown);
    }

    #[test]
    fn a_list_is_bounded_as_a_whole() {
        let mut collector = ToolCollector::default();
        let mut added = 0;
        loop {
            let schema = json!({"type": "object", "description": "x".repeat(15_000)});
            let tool = json!({"name": format!("t{added}"), "inputSchema": schema});
            if !collector.add(serde_json::from_value(tool).expect("a tool"), false) {
                break;
            }
            added += 1;
            assert!(added < MOST_TOOLS, "the bytes count as well");
        }
        let ToolList { tools, notes } = collector.list;
        assert_eq!((tools.len(), notes.len()), (added, 1), "{notes:?}");
        assert!(added * 15_000 <= LARGEST_LIST && (added + 2) * 15_000 > LARGEST_LIST, "{added}");
    }
}

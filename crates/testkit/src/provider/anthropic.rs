//! The Messages API on the wire.
//!
//! The bytes are those of the API's streaming guide: an `event:` line that repeats the `type`, a
//! `data:` line of compact JSON with the keys in the documented order, an empty line; `ping` and
//! `error` have spaces after their colons, as documented. One function per event, so that a test
//! can also put together a stream that no provider should send.

use serde_json::{Value, json};
use trimtab_vocab::Usage;

use super::reply::{Part, Reply};

/// The model that every stream claims to come from.
pub const MODEL: &str = "claude-opus-4-8";

/// Any event: its name and its data.
pub fn event(name: &str, data: impl std::fmt::Display) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// The message begins: what was read, and the first token of what is written.
pub fn message_start(usage: &Usage) -> String {
    let read = usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
    named(json!({
        "type": "message_start",
        "message": {
            "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": read,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cached_tokens,
                "output_tokens": 1,
            },
        },
    }))
}

/// Any block begins.
pub fn block_start(index: u32, content_block: Value) -> String {
    named(json!({"type": "content_block_start", "index": index, "content_block": content_block}))
}

/// A block of text begins.
pub fn text_start(index: u32) -> String {
    block_start(index, json!({"type": "text", "text": ""}))
}

/// A block of thinking begins.
pub fn thinking_start(index: u32) -> String {
    block_start(index, json!({"type": "thinking", "thinking": "", "signature": ""}))
}

/// A tool use begins.
pub fn tool_start(index: u32, id: &str, name: &str) -> String {
    block_start(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

/// More of a block, whatever its kind.
pub fn block_delta(index: u32, delta: Value) -> String {
    named(json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

/// More text.
pub fn text_delta(index: u32, text: &str) -> String {
    block_delta(index, json!({"type": "text_delta", "text": text}))
}

/// More thinking.
pub fn thinking_delta(index: u32, thinking: &str) -> String {
    block_delta(index, json!({"type": "thinking_delta", "thinking": thinking}))
}

/// The signature of the thinking.
pub fn signature_delta(index: u32, signature: &str) -> String {
    block_delta(index, json!({"type": "signature_delta", "signature": signature}))
}

/// More of a tool's input.
pub fn input_json_delta(index: u32, partial_json: &str) -> String {
    block_delta(index, json!({"type": "input_json_delta", "partial_json": partial_json}))
}

/// A block ends.
pub fn block_stop(index: u32) -> String {
    named(json!({"type": "content_block_stop", "index": index}))
}

/// A sign of life.
pub fn ping() -> String {
    event("ping", r#"{"type": "ping"}"#)
}

/// Why the message ends, and what it cost.
pub fn message_delta(stop_reason: Option<&str>, output_tokens: u64) -> String {
    named(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": output_tokens},
    }))
}

/// The message is complete.
pub fn message_stop() -> String {
    named(json!({"type": "message_stop"}))
}

/// The stream fails after it began.
pub fn error(kind: &str, message: &str) -> String {
    let (kind, message) = (json!(kind), json!(message));
    event("error", format!(r#"{{"type": "error", "error": {{"type": {kind}, "message": {message}}}}}"#))
}

/// The body of an HTTP error.
pub fn error_body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// The events of a whole reply.
pub fn stream(reply: &Reply) -> Vec<String> {
    let mut events = vec![message_start(&reply.usage)];
    for (index, part) in (0..).zip(&reply.parts) {
        match part {
            Part::Text(pieces) => {
                events.push(text_start(index));
                events.extend(pieces.iter().map(|piece| text_delta(index, piece)));
            }
            Part::Thinking { pieces, signature } => {
                events.push(thinking_start(index));
                events.extend(pieces.iter().map(|piece| thinking_delta(index, piece)));
                events.push(signature_delta(index, signature));
            }
            Part::Redacted(data) => events.push(block_start(index, json!({"type": "redacted_thinking", "data": data}))),
            Part::Tool { id, name, input } => {
                events.push(tool_start(index, id, name));
                events.push(input_json_delta(index, ""));
                events.extend(input.iter().map(|piece| input_json_delta(index, piece)));
            }
        }
        if index == 0 {
            events.insert(2, ping());
        }
        events.push(block_stop(index));
    }
    events.push(message_delta(Some(reply.stop_reason()), reply.usage.output_tokens));
    events.push(message_stop());
    events
}

fn named(data: Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    event(&name, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"1071 = 2 × 462\n"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Okay"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":","}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"location\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":" \"San\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

    #[test]
    fn a_stream_is_the_documented_one_to_the_byte() {
        let usage =
            Usage { input_tokens: 480, cached_tokens: 5, cache_write_tokens: 3, output_tokens: 89, ..Usage::default() };
        let reply = Reply::new()
            .thinking(["1071 = 2 × 462\n"], "EqQBCgIYAhIM")
            .text(["Okay", ","])
            .redacted("EmwKAhgB")
            .tool("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", ["{\"location\":", " \"San\"}"])
            .usage(usage);
        assert_eq!(stream(&reply).concat(), DOCUMENTED);
    }

    #[test]
    fn an_error_event_is_the_documented_one_to_the_byte() {
        assert_eq!(
            error("overloaded_error", "Overloaded"),
            "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n"
        );
    }
}

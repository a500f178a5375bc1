//! The Chat Completions API on the wire.
//!
//! The bytes are those of the API's reference: a `data:` line of compact JSON with the keys in the
//! documented order, an empty line, and `[DONE]` at the end. With the figures asked for, every chunk
//! says `"usage":null` and one more, without choices, brings them. One function per chunk, so that a
//! test can also put together a stream that no provider should send. The API has no reasoning; what
//! is streamed for it is DeepSeek's `reasoning_content`, which has neither signatures nor secrets.

use serde_json::{Value, json};
use trimtab_vocab::Usage;

use super::reply::{Part, Reply};

/// The model that every stream claims to come from.
pub const MODEL: &str = "gpt-4o-mini";

/// Any event; the API gives them no names.
pub fn event(data: impl std::fmt::Display) -> String {
    format!("data: {data}\n\n")
}

/// Any chunk: its choices and its figures.
pub fn chunk(choices: Value, usage: Value) -> String {
    event(json!({
        "id": "chatcmpl-123",
        "object": "chat.completion.chunk",
        "created": 1694268190,
        "model": MODEL,
        "system_fingerprint": "fp_44709d6fcb",
        "choices": choices,
        "usage": usage,
    }))
}

/// More of the reply, whatever its kind.
pub fn delta(delta: Value) -> String {
    choice(delta, None)
}

/// The reply begins.
pub fn start() -> String {
    delta(json!({"role": "assistant", "content": ""}))
}

/// More text.
pub fn text(text: &str) -> String {
    delta(json!({"content": text}))
}

/// More reasoning.
pub fn reasoning(text: &str) -> String {
    delta(json!({"reasoning_content": text}))
}

/// More of tool calls, whatever their form.
pub fn calls(calls: Value) -> String {
    delta(json!({"tool_calls": calls}))
}

/// A tool call begins.
pub fn call_start(index: u32, id: &str, name: &str) -> String {
    calls(json!([{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]))
}

/// More of a tool's arguments.
pub fn arguments(index: u32, arguments: &str) -> String {
    calls(json!([{"index": index, "function": {"arguments": arguments}}]))
}

/// The reply has ended, and why.
pub fn finish(reason: &str) -> String {
    choice(json!({}), Some(reason))
}

/// What it cost.
pub fn usage(usage: &Usage) -> String {
    chunk(json!([]), figures(usage))
}

/// The figures by themselves.
pub fn figures(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

/// The stream is complete.
pub fn done() -> String {
    event("[DONE]")
}

/// The stream fails after it began.
pub fn error(kind: &str, message: &str) -> String {
    event(error_body(kind, None, message))
}

/// The body of an HTTP error.
pub fn error_body(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The chunks of a whole reply.
pub fn stream(reply: &Reply) -> Vec<String> {
    let mut chunks = vec![start()];
    let mut index = 0;
    for part in &reply.parts {
        match part {
            Part::Text(pieces) => chunks.extend(pieces.iter().map(|piece| text(piece))),
            Part::Thinking { pieces, .. } => chunks.extend(pieces.iter().map(|piece| reasoning(piece))),
            Part::Redacted(_) => {}
            Part::Tool { id, name, input } => {
                chunks.push(call_start(index, id, name));
                chunks.extend(input.iter().map(|piece| arguments(index, piece)));
                index += 1;
            }
        }
    }
    chunks.push(finish(match reply.stop_reason() {
        "end_turn" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "content_filtered" => "content_filter",
        other => other,
    }));
    chunks.extend([usage(&reply.usage), done()]);
    chunks
}

fn choice(delta: Value, finish_reason: Option<&str>) -> String {
    let choices = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}]);
    chunk(choices, Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = r#"data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"reasoning_content":"1071 = 2 × 462\n"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_abc123","type":"function","function":{"name":"get_weather","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"location\":"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" \"San\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_def456","type":"function","function":{"name":"now","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini","system_fingerprint":"fp_44709d6fcb","choices":[],"usage":{"prompt_tokens":480,"completion_tokens":89,"total_tokens":569,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":0}}}

data: [DONE]

"#;

    #[test]
    fn a_stream_is_the_documented_one_to_the_byte() {
        let usage = Usage { input_tokens: 480, cached_tokens: 5, output_tokens: 89, ..Usage::default() };
        let reply = Reply::new()
            .thinking(["1071 = 2 × 462\n"], "of no use here")
            .redacted("nor is this")
            .text(["Hello"])
            .tool("call_abc123", "get_weather", ["{\"location\":", " \"San\"}"])
            .tool("call_def456", "now", [""; 0])
            .usage(usage);
        assert_eq!(stream(&reply).concat(), DOCUMENTED);
    }

    #[test]
    fn each_reason_has_the_name_that_the_api_gives_it() {
        for (reason, name) in [
            ("end_turn", "stop"),
            ("max_tokens", "length"),
            ("tool_use", "tool_calls"),
            ("content_filtered", "content_filter"),
            ("weather", "weather"),
        ] {
            let chunks = stream(&Reply::new().stop(reason));
            assert_eq!(chunks[1], finish(name));
        }
    }
}

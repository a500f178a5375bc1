//! Ollama's API on the wire.
//!
//! One JSON object per line, as compact as the server writes it, with the keys in its order. One
//! function per line, so that a test can also put together a stream that no server should send.

use serde_json::{Value, json};
use trimtab_vocab::Usage;

use super::reply::{Part, Reply};

/// The model that every line claims to come from.
pub const MODEL: &str = "qwen3:8b";
const WHEN: &str = "2025-10-26T17:15:24.097767Z";

pub fn line(data: Value) -> String {
    format!("{data}\n")
}

/// More of a message, whatever is in it.
pub fn message(message: Value) -> String {
    line(json!({"model": MODEL, "created_at": WHEN, "message": message, "done": false}))
}

/// More words.
pub fn content(text: &str) -> String {
    message(json!({"role": "assistant", "content": text}))
}

/// More reasoning.
pub fn thinking(text: &str) -> String {
    message(json!({"role": "assistant", "content": "", "thinking": text}))
}

/// Wishes for tools, whole.
pub fn tool_calls(calls: Value) -> String {
    message(json!({"role": "assistant", "content": "", "tool_calls": calls}))
}

/// One wish for a tool; servers of old give no id.
pub fn tool_call(id: &str, name: &str, arguments: Value) -> String {
    let function = json!({"name": name, "arguments": arguments});
    match id {
        "" => tool_calls(json!([{"function": function}])),
        id => tool_calls(json!([{"id": id, "function": function}])),
    }
}

/// The reply is complete: why, and what it cost.
pub fn done(reason: &str, usage: &Usage) -> String {
    line(json!({
        "model": MODEL,
        "created_at": WHEN,
        "message": {"role": "assistant", "content": ""},
        "done": true,
        "done_reason": reason,
        "total_duration": 4_883_583_458_u64,
        "load_duration": 1_334_875,
        "prompt_eval_count": usage.input_tokens,
        "prompt_eval_duration": 342_546_000,
        "eval_count": usage.output_tokens,
        "eval_duration": 4_535_599_000_u64,
    }))
}

/// The stream fails after it began.
pub fn error(message: &str) -> String {
    line(error_body(message))
}

/// The body of an HTTP error.
pub fn error_body(message: &str) -> Value {
    json!({"error": message})
}

/// The lines of a whole reply. There are no signatures and no hidden reasoning here.
pub fn stream(reply: &Reply) -> Vec<String> {
    let mut lines = Vec::new();
    for part in &reply.parts {
        match part {
            Part::Text(pieces) => lines.extend(pieces.iter().map(|piece| content(piece))),
            Part::Thinking { pieces, .. } => lines.extend(pieces.iter().map(|piece| thinking(piece))),
            Part::Redacted(_) => {}
            Part::Tool { id, name, input } => {
                let input = input.concat();
                let arguments = serde_json::from_str(&input).unwrap_or(Value::String(input));
                lines.push(tool_call(id, name, arguments));
            }
        }
    }
    let reason = match reply.stop_reason() {
        "end_turn" | "tool_use" => "stop",
        "max_tokens" => "length",
        other => other,
    };
    lines.push(done(reason, &reply.usage));
    lines
}

/// What `/api/show` says about a model that can hold so many tokens.
pub fn show(window: u64) -> Value {
    json!({
        "license": "Apache License",
        "parameters": "temperature 0.6",
        "details": {"family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
        "model_info": {
            "general.architecture": "qwen3",
            "general.parameter_count": 8_190_735_360_u64,
            "qwen3.context_length": window,
            "qwen3.embedding_length": 4_096,
            "tokenizer.ggml.tokens": null,
        },
        "capabilities": ["completion", "tools", "thinking"],
        "modified_at": WHEN,
    })
}

/// What `/api/generate` says when it is not to stream.
pub fn generated(response: &str) -> Value {
    json!({
        "model": MODEL,
        "created_at": WHEN,
        "response": response,
        "done": true,
        "done_reason": "stop",
        "prompt_eval_count": 26,
        "eval_count": 12,
    })
}

/// What `/api/tags` says about the models that are there.
pub fn tags(names: &[&str]) -> Value {
    let models: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "model": name, "modified_at": WHEN, "size": 5_225_388_164_u64}))
        .collect();
    json!({"models": models})
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = r#"{"model":"qwen3:8b","created_at":"2025-10-26T17:15:24.097767Z","message":{"role":"assistant","content":"","thinking":"Two × two."},"done":false}
{"model":"qwen3:8b","created_at":"2025-10-26T17:15:24.097767Z","message":{"role":"assistant","content":"Let me "},"done":false}
{"model":"qwen3:8b","created_at":"2025-10-26T17:15:24.097767Z","message":{"role":"assistant","content":"look."},"done":false}
{"model":"qwen3:8b","created_at":"2025-10-26T17:15:24.097767Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_temperature","arguments":{"city":"New York"}}}]},"done":false}
{"model":"qwen3:8b","created_at":"2025-10-26T17:15:24.097767Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,"prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}
"#;

    #[test]
    fn a_stream_is_the_documented_one_to_the_byte() {
        let usage = Usage { input_tokens: 26, output_tokens: 282, ..Usage::default() };
        let reply = Reply::new()
            .thinking(["Two × two."], "")
            .text(["Let me ", "look."])
            .tool("", "get_temperature", ["{\"city\":", "\"New York\"}"])
            .usage(usage);
        assert_eq!(stream(&reply).concat(), DOCUMENTED);
    }

    #[test]
    fn an_error_is_the_documented_one_to_the_byte() {
        assert_eq!(
            error("an error was encountered while running the model"),
            "{\"error\":\"an error was encountered while running the model\"}\n"
        );
    }
}

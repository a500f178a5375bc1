//! Google's Gemini API on the wire.
//!
//! The bytes are those that the API sends for `alt=sse`: a `data:` line of JSON, then an empty line, each ended by CR
//! and LF. There is no last event: the last chunk says why the candidate finished. A signature stands on the part that
//! the thoughts led to. One function per chunk, so that a test can also put together a stream that no provider should
//! send.

use serde_json::{Map, Value, json};
use trimtab_vocab::Usage;

use super::reply::{Part, Reply};

/// The model that every stream claims to come from.
pub const MODEL: &str = "gemini-2.5-flash";

/// A line of data, without a name: the API gives events none.
pub fn event(data: impl std::fmt::Display) -> String {
    format!("data: {data}\r\n\r\n")
}

/// A chunk with these parts.
pub fn parts(parts: Value) -> String {
    let candidates = json!([{"content": {"parts": parts, "role": "model"}, "index": 0}]);
    event(json!({"candidates": candidates, "modelVersion": MODEL, "responseId": "r-1"}))
}

/// More words.
pub fn text(text: &str) -> String {
    parts(json!([{"text": text}]))
}

/// More of a summary of thoughts.
pub fn thought(text: &str) -> String {
    parts(json!([{"text": text, "thought": true}]))
}

/// A function call, whole as they always are.
pub fn call(id: &str, name: &str, args: &Value) -> String {
    parts(json!([{"functionCall": {"id": id, "name": name, "args": args}}]))
}

/// The reply has ended: why, and what it cost.
pub fn finish(reason: &str, usage: &Usage) -> String {
    let candidates =
        json!([{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": reason, "index": 0}]);
    event(
        json!({"candidates": candidates, "usageMetadata": figures(usage), "modelVersion": MODEL, "responseId": "r-1"}),
    )
}

/// The figures by themselves.
pub fn figures(usage: &Usage) -> Value {
    json!({
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    })
}

/// The body of an HTTP error, and of one within a stream.
pub fn error_body(code: u16, status: &str, message: &str, details: Value) -> Value {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}})
}

/// A wait that the API asks for, as a detail of an error.
pub fn retry_info(delay: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
}

/// A list of models.
pub fn models(models: &[(&str, u64, &[&str])], next: Option<&str>) -> Value {
    let model = |(name, window, methods): &(&str, u64, &[&str])| {
        json!({
            "name": format!("models/{name}"),
            "displayName": name,
            "inputTokenLimit": window,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": methods,
        })
    };
    let mut page = json!({"models": models.iter().map(model).collect::<Vec<_>>()});
    if let Some(next) = next {
        page["nextPageToken"] = next.into();
    }
    page
}

/// The chunks of a whole reply.
pub fn stream(reply: &Reply) -> Vec<String> {
    let mut chunks = Vec::new();
    let mut signature = None;
    let signed = |mut part: Value, signature: &mut Option<String>| {
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        parts(json!([part]))
    };
    for part in &reply.parts {
        match part {
            Part::Text(pieces) => {
                chunks.extend(pieces.iter().map(|piece| signed(json!({"text": piece}), &mut signature)));
            }
            Part::Thinking { pieces, signature: proof } => {
                chunks.extend(pieces.iter().map(|piece| thought(piece)));
                signature = Some(proof.clone()).filter(|proof| !proof.is_empty());
            }
            Part::Redacted(data) => signature = Some(data.clone()),
            Part::Tool { id, name, input } => {
                let input = input.concat();
                let args: Map<String, Value> = serde_json::from_str(&input).unwrap_or_default();
                let call = json!({"functionCall": {"id": id, "name": name, "args": args}});
                chunks.push(signed(call, &mut signature));
            }
        }
    }
    let reason = match reply.stop_reason() {
        "end_turn" | "tool_use" => "STOP",
        "max_tokens" => "MAX_TOKENS",
        "content_filtered" => "SAFETY",
        other => other,
    };
    chunks.push(finish(reason, &reply.usage));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":"Look first.","thought":true}],"role":"model"},"index":0}],"modelVersion":"gemini-2.5-flash","responseId":"r-1"}"#,
        "\r\n\r\n",
        r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"get_weather","args":{"location":"Rome"}},"thoughtSignature":"c2ln"}],"role":"model"},"index":0}],"modelVersion":"gemini-2.5-flash","responseId":"r-1"}"#,
        "\r\n\r\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":480,"cachedContentTokenCount":5,"candidatesTokenCount":89,"totalTokenCount":569},"modelVersion":"gemini-2.5-flash","responseId":"r-1"}"#,
        "\r\n\r\n",
    );

    #[test]
    fn a_stream_is_the_documented_one_to_the_byte() {
        let usage = Usage { input_tokens: 480, cached_tokens: 5, output_tokens: 89, ..Usage::default() };
        let reply = Reply::new()
            .thinking(["Look first."], "c2ln")
            .tool("c1", "get_weather", ["{\"location\":", " \"Rome\"}"])
            .usage(usage);
        assert_eq!(stream(&reply).concat(), DOCUMENTED);
    }
}

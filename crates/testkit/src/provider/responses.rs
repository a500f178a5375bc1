//! The Responses API on the wire.
//!
//! The bytes are those of the API's reference: an `event:` line that repeats the `type`, a `data:`
//! line of compact JSON with the keys in the documented order, an empty line. One function per event,
//! so that a test can also put together a stream that no provider should send; [`stream`] numbers the
//! events as the service does.

use serde_json::{Value, json};
use trimtab_vocab::Usage;

use super::reply::{Part, Reply};

/// The model that every stream claims to come from.
pub const MODEL: &str = "gpt-5.2-2025-12-11";

/// Any event: its name and its data.
pub fn event(name: &str, data: impl std::fmt::Display) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A response as it stands, in the events that begin and end one. The service repeats every setting of
/// the request in it; those are left out, because streams are cut at each of their bytes.
pub fn response(status: &str, output: &[Value], usage: Value) -> Value {
    json!({
        "id": "resp_67c9fdce",
        "object": "response",
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": MODEL,
        "output": output,
        "usage": usage,
    })
}

/// The figures of a response.
pub fn figures(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}

/// The response begins.
pub fn created() -> String {
    named(json!({"type": "response.created", "response": response("in_progress", &[], Value::Null)}))
}

/// A sign of life.
pub fn in_progress() -> String {
    named(json!({"type": "response.in_progress", "response": response("in_progress", &[], Value::Null)}))
}

/// An item begins.
pub fn item_added(index: u32, item: Value) -> String {
    named(json!({"type": "response.output_item.added", "output_index": index, "item": item}))
}

/// An item is complete.
pub fn item_done(index: u32, item: Value) -> String {
    named(json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}

/// A message with these parts.
pub fn message(index: u32, status: &str, content: Value) -> Value {
    json!({"id": format!("msg_{index}"), "type": "message", "status": status, "role": "assistant", "content": content})
}

/// Text as a part of a message.
pub fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// A wish to use a tool.
pub fn function_call(index: u32, status: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "id": format!("fc_{index}"),
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": call_id,
        "name": name,
    })
}

/// Reasoning with these paragraphs as its summary.
pub fn reasoning(index: u32, summary: &[&str], encrypted_content: Option<&str>) -> Value {
    let summary: Vec<Value> = summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    let mut item = json!({"id": format!("rs_{index}"), "type": "reasoning", "summary": summary});
    if let Some(content) = encrypted_content {
        item["encrypted_content"] = content.into();
    }
    item
}

/// A part of a message begins.
pub fn part_added(index: u32, part: u32, content: Value) -> String {
    named(json!({
        "type": "response.content_part.added",
        "item_id": format!("msg_{index}"),
        "output_index": index,
        "content_index": part,
        "part": content,
    }))
}

/// A part of a message is complete.
pub fn part_done(index: u32, part: u32, content: Value) -> String {
    named(json!({
        "type": "response.content_part.done",
        "item_id": format!("msg_{index}"),
        "output_index": index,
        "content_index": part,
        "part": content,
    }))
}

/// More text.
pub fn text_delta(index: u32, part: u32, delta: &str) -> String {
    of_message("response.output_text.delta", index, part, "delta", delta)
}

/// All the text of a part.
pub fn text_done(index: u32, part: u32, text: &str) -> String {
    of_message("response.output_text.done", index, part, "text", text)
}

/// More of a refusal.
pub fn refusal_delta(index: u32, part: u32, delta: &str) -> String {
    of_message("response.refusal.delta", index, part, "delta", delta)
}

/// All of a refusal.
pub fn refusal_done(index: u32, part: u32, refusal: &str) -> String {
    of_message("response.refusal.done", index, part, "refusal", refusal)
}

/// A paragraph of a summary begins.
pub fn summary_part_added(index: u32, part: u32) -> String {
    of_summary(
        "response.reasoning_summary_part.added",
        index,
        part,
        "part",
        json!({"type": "summary_text", "text": ""}),
    )
}

/// A paragraph of a summary is complete.
pub fn summary_part_done(index: u32, part: u32, text: &str) -> String {
    of_summary(
        "response.reasoning_summary_part.done",
        index,
        part,
        "part",
        json!({"type": "summary_text", "text": text}),
    )
}

/// More of a summary.
pub fn summary_delta(index: u32, part: u32, delta: &str) -> String {
    of_summary("response.reasoning_summary_text.delta", index, part, "delta", json!(delta))
}

/// All of a paragraph of a summary.
pub fn summary_done(index: u32, part: u32, text: &str) -> String {
    of_summary("response.reasoning_summary_text.done", index, part, "text", json!(text))
}

/// More of the reasoning itself, from models that show it.
pub fn reasoning_delta(index: u32, part: u32, delta: &str) -> String {
    named(json!({
        "type": "response.reasoning_text.delta",
        "item_id": format!("rs_{index}"),
        "output_index": index,
        "content_index": part,
        "delta": delta,
    }))
}

/// More of the arguments of a call.
pub fn arguments_delta(index: u32, delta: &str) -> String {
    named(json!({
        "type": "response.function_call_arguments.delta",
        "item_id": format!("fc_{index}"),
        "output_index": index,
        "delta": delta,
    }))
}

/// All the arguments of a call.
pub fn arguments_done(index: u32, arguments: &str) -> String {
    named(json!({
        "type": "response.function_call_arguments.done",
        "item_id": format!("fc_{index}"),
        "output_index": index,
        "arguments": arguments,
    }))
}

/// The response is complete.
pub fn completed(output: &[Value], usage: &Usage) -> String {
    named(json!({"type": "response.completed", "response": response("completed", output, figures(usage))}))
}

/// The response ends before its end, for this reason.
pub fn incomplete(reason: &str, output: &[Value], usage: &Usage) -> String {
    let mut response = response("incomplete", output, figures(usage));
    response["incomplete_details"] = json!({"reason": reason});
    named(json!({"type": "response.incomplete", "response": response}))
}

/// The response fails after it began.
pub fn failed(code: &str, message: &str) -> String {
    let mut response = response("failed", &[], Value::Null);
    response["error"] = json!({"code": code, "message": message});
    named(json!({"type": "response.failed", "response": response}))
}

/// The stream fails after it began, as the reference has it.
pub fn error(code: &str, message: &str) -> String {
    named(json!({"type": "error", "code": code, "message": message, "param": null}))
}

/// The body of an HTTP error.
pub fn error_body(kind: &str, code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The events of a whole reply, numbered.
pub fn stream(reply: &Reply) -> Vec<String> {
    let mut events = vec![created(), in_progress()];
    let mut output = Vec::new();
    for (index, part) in (0..).zip(&reply.parts) {
        let item = match part {
            Part::Text(pieces) => {
                let text = pieces.concat();
                events.push(item_added(index, message(index, "in_progress", json!([]))));
                events.push(part_added(index, 0, output_text("")));
                events.extend(pieces.iter().map(|piece| text_delta(index, 0, piece)));
                events.push(text_done(index, 0, &text));
                events.push(part_done(index, 0, output_text(&text)));
                message(index, "completed", json!([output_text(&text)]))
            }
            Part::Thinking { pieces, signature } => {
                let text = pieces.concat();
                events.push(item_added(index, reasoning(index, &[], None)));
                events.push(summary_part_added(index, 0));
                events.extend(pieces.iter().map(|piece| summary_delta(index, 0, piece)));
                events.push(summary_done(index, 0, &text));
                events.push(summary_part_done(index, 0, &text));
                reasoning(index, &[&text], Some(signature))
            }
            Part::Redacted(data) => {
                events.push(item_added(index, reasoning(index, &[], None)));
                reasoning(index, &[], Some(data))
            }
            Part::Tool { id, name, input } => {
                let arguments = input.concat();
                events.push(item_added(index, function_call(index, "in_progress", id, name, "")));
                events.extend(input.iter().map(|piece| arguments_delta(index, piece)));
                events.push(arguments_done(index, &arguments));
                function_call(index, "completed", id, name, &arguments)
            }
        };
        events.push(item_done(index, item.clone()));
        output.push(item);
    }
    events.push(match reply.stop_reason() {
        "max_tokens" => incomplete("max_output_tokens", &output, &reply.usage),
        "content_filtered" | "refusal" => incomplete("content_filter", &output, &reply.usage),
        _ => completed(&output, &reply.usage),
    });
    numbered(events)
}

/// The events with their numbers, which the service puts after the type.
pub fn numbered(events: Vec<String>) -> Vec<String> {
    let number = |(number, event): (usize, String)| event.replacen(',', &format!(",\"sequence_number\":{number},"), 1);
    events.into_iter().enumerate().map(number).collect()
}

fn of_message(kind: &str, index: u32, part: u32, name: &str, text: &str) -> String {
    named(json!({
        "type": kind,
        "item_id": format!("msg_{index}"),
        "output_index": index,
        "content_index": part,
        name: text,
    }))
}

fn of_summary(kind: &str, index: u32, part: u32, name: &str, value: Value) -> String {
    named(json!({
        "type": kind,
        "item_id": format!("rs_{index}"),
        "output_index": index,
        "summary_index": part,
        name: value,
    }))
}

fn named(data: Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    event(&name, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTED: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_67c9fdce","object":"response","status":"in_progress","error":null,"incomplete_details":null,"model":"gpt-5.2-2025-12-11","output":[],"usage":null}}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_67c9fdce","object":"response","status":"in_progress","error":null,"incomplete_details":null,"model":"gpt-5.2-2025-12-11","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_0","type":"reasoning","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_0","output_index":0,"summary_index":0,"delta":"**Greeting**"}

event: response.reasoning_summary_text.done
data: {"type":"response.reasoning_summary_text.done","sequence_number":5,"item_id":"rs_0","output_index":0,"summary_index":0,"text":"**Greeting**"}

event: response.reasoning_summary_part.done
data: {"type":"response.reasoning_summary_part.done","sequence_number":6,"item_id":"rs_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"**Greeting**"}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_0","type":"reasoning","summary":[{"type":"summary_text","text":"**Greeting**"}],"encrypted_content":"gAAAAABo"}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":9,"item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hi"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":11,"item_id":"msg_1","output_index":1,"content_index":0,"delta":" there!"}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":12,"item_id":"msg_1","output_index":1,"content_index":0,"text":"Hi there!"}

event: response.content_part.done
data: {"type":"response.content_part.done","sequence_number":13,"item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hi there!","annotations":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":14,"output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi there!","annotations":[]}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":15,"output_index":2,"item":{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_2","name":"get_weather"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":16,"item_id":"fc_2","output_index":2,"delta":"{\"location\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":17,"item_id":"fc_2","output_index":2,"delta":"\"Paris\"}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":18,"item_id":"fc_2","output_index":2,"arguments":"{\"location\":\"Paris\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":19,"output_index":2,"item":{"id":"fc_2","type":"function_call","status":"completed","arguments":"{\"location\":\"Paris\"}","call_id":"call_2","name":"get_weather"}}

event: response.completed
data: {"type":"response.completed","sequence_number":20,"response":{"id":"resp_67c9fdce","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"gpt-5.2-2025-12-11","output":[{"id":"rs_0","type":"reasoning","summary":[{"type":"summary_text","text":"**Greeting**"}],"encrypted_content":"gAAAAABo"},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi there!","annotations":[]}]},{"id":"fc_2","type":"function_call","status":"completed","arguments":"{\"location\":\"Paris\"}","call_id":"call_2","name":"get_weather"}],"usage":{"input_tokens":37,"input_tokens_details":{"cached_tokens":5,"cache_write_tokens":3},"output_tokens":11,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":48}}}

"#;

    #[test]
    fn a_stream_is_the_documented_one_to_the_byte() {
        let usage =
            Usage { input_tokens: 37, cached_tokens: 5, cache_write_tokens: 3, output_tokens: 11, ..Usage::default() };
        let reply = Reply::new()
            .thinking(["**Greeting**"], "gAAAAABo")
            .text(["Hi", " there!"])
            .tool("call_2", "get_weather", ["{\"location\":", "\"Paris\"}"])
            .usage(usage);
        assert_eq!(stream(&reply).concat(), DOCUMENTED);
    }

    #[test]
    fn an_error_event_is_the_documented_one_to_the_byte() {
        assert_eq!(
            error("ERR_SOMETHING", "Something went wrong"),
            "event: error\ndata: {\"type\":\"error\",\"code\":\"ERR_SOMETHING\",\"message\":\"Something went wrong\",\"param\":null}\n\n"
        );
    }
}

//! The Messages dialect over real sockets, against a provider that answers as it should, and as it
//! should not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, Request, anthropic};
use trimtab_testkit::wire::{self, Cuts, IMPATIENT, LATER, Outcome, PATIENT, WORDS, ask};
use trimtab_vocab::{
    Effort, Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolCall, ToolResult,
    ToolSpec, Usage,
};
use trimtab_world::models::{Dialect, Listed, Model, ModelRegistry, Provider, Registry};

const KEY: &str = "sk-ant-api03-0123456789abcdef";

fn registry(url: &str, idle: Duration) -> Registry {
    let provider = Provider {
        dialect: Dialect::Anthropic,
        base_url: url.to_owned(),
        key_env: Some("ANTHROPIC_API_KEY".into()),
        key: Some(KEY.into()),
        extras: Arc::default(),
    };
    Registry { providers: [("anthropic".to_owned(), provider)].into(), idle, record: None }
}

fn model(url: &str, idle: Duration) -> Arc<dyn Model> {
    registry(url, idle).find("anthropic/claude-opus-4-8").expect("a model")
}

fn prompt(messages: Vec<Message>) -> Prompt {
    wire::prompt("anthropic/claude-opus-4-8", messages)
}

fn hello() -> Prompt {
    prompt(vec![Message::user("Hello")])
}

/// One call that is answered like this.
async fn answered(answer: Answer) -> Outcome {
    let provider = FakeProvider::start();
    provider.push(answer);
    ask(&*model(provider.url(), PATIENT), &hello()).await
}

async fn streamed<S: AsRef<str>>(events: impl IntoIterator<Item = S>) -> Outcome {
    answered(Answer::events(events.into_iter().map(|event| event.as_ref().to_owned()))).await
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn nothing_read() -> Usage {
    Usage::default()
}

// ---- what is sent ----

/// What a model of this name is sent for a prompt.
async fn asked(name: &str, prompt: &Prompt) -> Request {
    let provider = FakeProvider::start();
    provider.push(Answer::anthropic("Hi"));
    let model = registry(provider.url(), PATIENT).find(&format!("anthropic/{name}")).expect("a model");
    ask(&*model, prompt).await.reply();
    provider.requests().remove(0)
}

fn shown(request: &Request) -> String {
    let names = ["content-type", "accept", "anthropic-version", "anthropic-beta", "x-api-key", "authorization"];
    let headers: Vec<String> =
        names.iter().map(|name| format!("{name}: {}", request.header(name).unwrap_or("(none)"))).collect();
    let body = serde_json::to_string_pretty(&request.body).expect("writes");
    format!("{} {}\n{}\n\n{body}", request.method, request.path, headers.join("\n"))
}

fn picture(name: &str) -> RefKey {
    name.parse().expect("a key")
}

fn conversation() -> Prompt {
    let said = Message {
        role: Role::Assistant,
        parts: vec![
            Part::Thinking { text: "Look first.".into(), signature: Some("c2ln".into()), by: None },
            Part::Thinking { text: "Unsigned.".into(), signature: None, by: None },
            Part::RedactedThinking { data: "ZGF0YQ".into(), by: Some("anthropic".into()) },
            Part::Thinking { text: "Theirs.".into(), signature: Some("{}".into()), by: Some("responses".into()) },
            Part::RedactedThinking { data: "{}".into(), by: Some("responses".into()) },
            text("Let me look."),
            Part::Image { image: picture("0badf00d"), media_type: "image/png".into() },
            text(" \n"),
            Part::ToolUse(ToolCall { id: "t1".into(), name: "read".into(), input: json!({"path": "a"}), broken: None }),
            Part::ToolUse(ToolCall {
                id: "t2".into(),
                name: "read".into(),
                input: json!(null),
                broken: Some("{".into()),
            }),
        ],
    };
    let results = Message {
        role: Role::User,
        parts: vec![
            Part::ToolResult(ToolResult::success("t1", "über 🦀")),
            Part::Image { image: picture("0badf00d"), media_type: "image/png".into() },
            Part::ToolResult(ToolResult::error("t2", "The arguments are not JSON.")),
            Part::Image { image: picture("lost"), media_type: "image/png".into() },
            text("And this?"),
        ],
    };
    let silence = Message { role: Role::Assistant, parts: vec![text("")] };
    let spec = |name: &str, description: &str, input_schema| {
        Arc::new(ToolSpec { name: name.into(), description: description.into(), input_schema })
    };
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Prompt {
        images: [(picture("0badf00d"), Arc::from("iVBORw0KGgo"))].into(),
        tools: vec![spec("read", "Reads a file.", path), spec("now", "", json!({"type": "object"}))],
        ..prompt(vec![Message::user("Hello"), said, results, silence])
    }
}

#[tokio::test]
async fn the_request_is_the_documented_one() {
    let provider = FakeProvider::start();
    provider.always(Answer::anthropic("Hi"));
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false});
    let prompt = Prompt {
        thinking_tokens: 8_000,
        temperature: Some(0.5),
        format: Some(Format::Schema { name: "reply".into(), schema }),
        ..conversation()
    };
    ask(&*model(&format!("{}/", provider.url()), PATIENT), &prompt).await.reply();
    let request = &provider.requests()[0];
    insta::assert_snapshot!(shown(request), @r#"
    POST /v1/messages
    content-type: application/json
    accept: text/event-stream
    anthropic-version: 2023-06-01
    anthropic-beta: (none)
    x-api-key: sk-ant-api03-0123456789abcdef
    authorization: (none)

    {
      "model": "claude-opus-4-8",
      "tools": [
        {
          "name": "read",
          "description": "Reads a file.",
          "input_schema": {
            "type": "object",
            "properties": {
              "path": {
                "type": "string"
              }
            },
            "required": [
              "path"
            ]
          }
        },
        {
          "name": "now",
          "input_schema": {
            "type": "object"
          },
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "system": [
        {
          "type": "text",
          "text": "Be brief.",
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "Hello",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "thinking",
              "thinking": "Look first.",
              "signature": "c2ln"
            },
            {
              "type": "redacted_thinking",
              "data": "ZGF0YQ"
            },
            {
              "type": "text",
              "text": "Let me look."
            },
            {
              "type": "tool_use",
              "id": "t1",
              "name": "read",
              "input": {
                "path": "a"
              }
            },
            {
              "type": "tool_use",
              "id": "t2",
              "name": "read",
              "input": {}
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "t1",
              "content": "über 🦀"
            },
            {
              "type": "tool_result",
              "tool_use_id": "t2",
              "content": "The arguments are not JSON.",
              "is_error": true
            },
            {
              "type": "image",
              "source": {
                "type": "base64",
                "media_type": "image/png",
                "data": "iVBORw0KGgo"
              }
            },
            {
              "type": "text",
              "text": "[image missing]"
            },
            {
              "type": "text",
              "text": "And this?",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        }
      ],
      "thinking": {
        "type": "adaptive",
        "display": "summarized"
      },
      "output_config": {
        "effort": "medium",
        "format": {
          "type": "json_schema",
          "schema": {
            "type": "object",
            "properties": {
              "ok": {
                "type": "boolean"
              }
            },
            "required": [
              "ok"
            ],
            "additionalProperties": false
          }
        }
      },
      "max_tokens": 256,
      "stream": true
    }
    "#);
    assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("trimtab/")));
}

/// An older model thinks with tokens that are set aside, and knows nothing of the rest.
#[tokio::test]
async fn a_model_is_asked_to_think_in_the_way_that_its_generation_knows() {
    let prompt = Prompt { thinking_tokens: 8_000, max_output_tokens: 16_000, ..hello() };
    let enabled = json!({"type": "enabled", "budget_tokens": 8_000});
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let binding = json!({"prefix_mismatch_behavior": "drop_block"});
    let bound = json!({"type": "adaptive", "display": "summarized", "block_binding": binding});
    for (names, thinking, effort, beta) in [
        (
            &[
                "claude-3-7-sonnet-20250219",
                "claude-sonnet-4-20250514",
                "claude-opus-4-1",
                "claude-haiku-4-5-20251001",
                "deepseek-chat",
            ][..],
            &enabled,
            None,
            None,
        ),
        (
            &[
                "claude-opus-4-6",
                "claude-sonnet-4-6",
                "claude-opus-4-8",
                "claude-sonnet-5",
                "claude-opus-5-20260701",
                "claude-mythos-preview",
                "anthropic/claude-opus-4.7",
            ],
            &adaptive,
            Some("medium"),
            None,
        ),
        (
            &["claude-opus-5-5", "claude-fable-5-1", "claude-haiku-5-5-20261001", "claude-sonnet-6"],
            &bound,
            Some("medium"),
            Some("thinking-binding-controls-2026-08-01"),
        ),
    ] {
        for name in names {
            let request = asked(name, &prompt).await;
            assert_eq!(&request.body["thinking"], thinking, "{name}");
            assert_eq!(request.body["output_config"]["effort"].as_str(), effort, "{name}");
            assert_eq!(request.header("anthropic-beta"), beta, "{name}");
            assert_eq!(request.body["max_tokens"], 16_000, "{name}");
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_to_think_who_need_not() {
    for name in ["claude-sonnet-4-5", "claude-opus-4-8", "claude-sonnet-5"] {
        let body = asked(name, &hello()).await.body;
        assert_eq!((body.get("thinking"), body.get("output_config")), (None, None), "{name}");
    }
    // Those think anyway; what they are told is only what to do with thoughts whose past has changed.
    let body = asked("claude-opus-5-5", &hello()).await.body;
    assert_eq!(body["thinking"]["block_binding"], json!({"prefix_mismatch_behavior": "drop_block"}));
    assert_eq!(body.get("output_config"), None);
}

/// The limit of the reply counts thinking as well, and may be all that there is money for.
#[tokio::test]
async fn thinking_fits_into_the_limit_of_the_reply() {
    for (thinking, limit, budget) in [
        (8_000, 16_000, Some(8_000)),
        (1, 16_000, Some(1_024)),
        (16_000, 16_000, Some(14_976)),
        (100_000, 4_096, Some(3_072)),
        (8_000, 2_048, Some(1_024)),
        (8_000, 2_047, None),
        (8_000, 1, None),
        (0, 16_000, None),
    ] {
        let prompt = Prompt { thinking_tokens: thinking, max_output_tokens: limit, ..hello() };
        let body = asked("claude-sonnet-4-5", &prompt).await.body;
        assert_eq!(body.pointer("/thinking/budget_tokens").and_then(Value::as_u64), budget, "{thinking} of {limit}");
        assert_eq!(body["max_tokens"], limit);
    }
}

#[tokio::test]
async fn a_temperature_is_sent_only_to_those_who_take_it() {
    for (name, thinking_tokens, temperature, expected) in [
        ("claude-sonnet-4-5", 0, Some(0.5), Some(0.5)),
        ("claude-sonnet-4-5", 0, Some(1.7), Some(1.0)),
        ("claude-sonnet-4-5", 0, None, None),
        ("claude-sonnet-4-5", 8_000, Some(0.5), None),
        ("claude-opus-4-6", 0, Some(0.5), Some(0.5)),
        ("claude-opus-4-6", 8_000, Some(0.5), None),
        ("claude-opus-4-7", 0, Some(0.5), None),
        ("claude-sonnet-5", 0, Some(0.5), None),
        ("claude-mythos-preview", 0, Some(0.5), None),
        ("kimi-k2", 0, Some(0.5), Some(0.5)),
    ] {
        let prompt = Prompt { thinking_tokens, temperature, max_output_tokens: 16_000, ..hello() };
        let body = asked(name, &prompt).await.body;
        assert_eq!(body.get("temperature").and_then(Value::as_f64), expected, "{name} {temperature:?}");
    }
}

#[tokio::test]
async fn a_schema_is_sent_only_if_the_api_can_hold_the_model_to_it() {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let inner = object(json!({"b": {"enum": ["x", null]}}), json!(["b"]));
    let held = [
        object(json!({}), json!([])),
        object(json!({"a": {"type": "array", "items": inner}, "c": {"const": 1}}), json!(["a", "c"])),
    ];
    let loose = [
        json!({"type": "object"}),
        json!(true),
        json!({}),
        object(json!({"a": {"type": "string"}}), json!([])),
        object(json!({"a": {"type": "integer", "minimum": 1}}), json!(["a"])),
        object(json!({"a": {"type": "array"}}), json!(["a"])),
        object(json!({"a": {"$ref": "#"}}), json!(["a"])),
        object(json!({"a": {"type": "object", "properties": {}}}), json!(["a"])),
    ];
    let format = |schema: &Value| Prompt {
        format: Some(Format::Schema { name: "reply".into(), schema: schema.clone() }),
        ..hello()
    };
    for schema in &held {
        for name in ["claude-sonnet-4-5", "claude-opus-4-8"] {
            let body = asked(name, &format(schema)).await.body;
            assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": schema}}), "{name}");
        }
        for name in ["claude-opus-4-1", "minimax-m2"] {
            assert_eq!(asked(name, &format(schema)).await.body.get("output_config"), None, "{name}");
        }
    }
    for schema in &loose {
        assert_eq!(asked("claude-opus-4-8", &format(schema)).await.body.get("output_config"), None, "{schema}");
    }
    let json = Prompt { format: Some(Format::Json), ..hello() };
    assert_eq!(asked("claude-opus-4-8", &json).await.body.get("output_config"), None);
}

/// Takes the marks out of a request and says where they were.
fn unmark(value: &mut Value, place: &str, marks: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(mark) = fields.remove("cache_control") {
                assert_eq!(mark, json!({"type": "ephemeral"}));
                marks.push(place.to_owned());
            }
            fields.iter_mut().for_each(|(name, field)| unmark(field, &format!("{place}/{name}"), marks));
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(index, item)| unmark(item, &format!("{place}/{index}"), marks));
        }
        _ => {}
    }
}

#[tokio::test]
async fn each_call_ends_with_a_mark_where_the_next_one_finds_it() {
    let result = |id: &str| Message { role: Role::User, parts: vec![Part::ToolResult(ToolResult::success(id, "a"))] };
    let call = |id: &str| Message {
        role: Role::Assistant,
        parts: vec![Part::ToolUse(ToolCall { id: id.into(), name: "now".into(), input: json!({}), broken: None })],
    };
    let messages = [
        Message::user("Hello"),
        call("t1"),
        result("t1"),
        call("t2"),
        result("t2"),
        Message::assistant("Done."),
        Message::user("Thanks"),
    ];
    let mut earlier: Option<(Value, Vec<String>)> = None;
    for count in [1, 3, 5, 7] {
        let tools = conversation().tools;
        let prompt = Prompt { tools, ..prompt(messages[..count].to_vec()) };
        let mut body = asked("claude-opus-4-8", &prompt).await.body;
        let mut marks = Vec::new();
        unmark(&mut body, "", &mut marks);
        assert!(marks.len() <= 4, "{marks:?}");
        assert!(["/tools/1", "/system/0"].iter().all(|place| marks.iter().any(|mark| mark == place)), "{marks:?}");
        assert!(marks.contains(&format!("/messages/{}/content/0", count - 1)), "{marks:?}");
        if let Some((before, ends)) = &earlier {
            let said = before["messages"].as_array().expect("messages");
            assert_eq!(body["messages"].as_array().expect("messages")[..said.len()], said[..]);
            assert_eq!((&body["tools"], &body["system"]), (&before["tools"], &before["system"]));
            let end = ends.last().expect("a mark");
            assert!(marks.contains(end), "{end} of the call before is not among {marks:?}");
        }
        earlier = Some((body, marks));
    }
}

/// A model that shows nothing of its thoughts still wants them back.
#[tokio::test]
async fn thinking_without_words_goes_back_with_its_signature() {
    let provider = FakeProvider::start();
    provider.push(Answer::anthropic(Reply::new().thinking(Vec::<String>::new(), "c2ln").text(["Hi"])));
    provider.push(Answer::anthropic("Bye"));
    let model = model(provider.url(), PATIENT);
    let said = ask(&*model, &hello()).await.reply().message;
    ask(&*model, &prompt(vec![Message::user("Hello"), said, Message::user("So?")])).await.reply();
    let blocks = &provider.requests()[1].body["messages"][1]["content"];
    assert_eq!(blocks[0], json!({"type": "thinking", "thinking": "", "signature": "c2ln"}));
}

#[tokio::test]
async fn a_request_without_instructions_or_key_names_neither() {
    let provider = FakeProvider::start();
    provider.push(Answer::anthropic("Hi"));
    let mut registry = registry(provider.url(), PATIENT);
    let settings = registry.providers.get_mut("anthropic").expect("the provider");
    (settings.key, settings.key_env) = (None, None);
    let mut prompt = hello();
    prompt.system.clear();
    ask(&*registry.find("anthropic/m").expect("a model"), &prompt).await.reply();
    let request = &provider.requests()[0];
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.body.get("system"), None);
}

// ---- what comes back ----

#[tokio::test]
async fn a_documented_stream_becomes_the_reply_it_says() {
    let usage =
        Usage { input_tokens: 60, cached_tokens: 20, cache_write_tokens: 30, output_tokens: 89, ..Usage::default() };
    let reply = Reply::new()
        .thinking(["Think", "ing."], "EqQBCgIYAhIM")
        .redacted("EmwKAhgB")
        .text(["Okay, ", "let's ", "check 🦀."])
        .tool("toolu_01", "get_weather", ["{\"loc", "ation\": \"S", "an Francisco\"}"])
        .tool("toolu_02", "now", [""])
        .usage(usage);
    for size in [1, 7, 64, 100_000] {
        let outcome = answered(Answer::anthropic(reply.clone()).chunked(size)).await;
        assert_eq!(outcome.words, "Okay, let's check 🦀.");
        let reply = outcome.reply();
        let tool = |id: &str, name: &str, input| {
            Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input, broken: None })
        };
        assert_eq!(
            reply.message.parts,
            [
                Part::Thinking {
                    text: "Thinking.".into(),
                    signature: Some("EqQBCgIYAhIM".into()),
                    by: Some("anthropic".into())
                },
                Part::RedactedThinking { data: "EmwKAhgB".into(), by: Some("anthropic".into()) },
                text("Okay, let's check 🦀."),
                tool("toolu_01", "get_weather", json!({"location": "San Francisco"})),
                tool("toolu_02", "now", json!({})),
            ]
        );
        assert_eq!(
            (reply.message.role, reply.stop_reason, reply.usage),
            (Role::Assistant, Some(StopReason::ToolUse), usage)
        );
    }
}

/// Spaces pad the objects of the real API at random; keys come in any order.
#[tokio::test]
async fn the_padding_and_the_order_of_the_real_service_are_read() {
    let outcome = streamed([
        "event: message_start\ndata: {\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":472,\"output_tokens\":2,\"service_tier\":\"standard\"}},\"type\":\"message_start\"     }\n\n",
        "event: content_block_start\ndata: {\"content_block\":{\"text\":\"\",\"type\":\"text\"},\"index\":0,\"type\":\"content_block_start\"    }\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}               }\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0          }\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"input_tokens\":480,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":8,\"output_tokens\":4}              }\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"     }\n\n",
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!(reply.message, Message::assistant("ok"));
    assert_eq!((reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens), (488, 8, 4));
}

/// LiteLLM's proxy before llama.cpp: nothing is counted at the beginning, and the end counts what was read from the cache
/// beside the rest of the prompt.
#[tokio::test]
async fn a_gateway_counts_only_at_the_end() {
    let none =
        json!({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({
        "id": "msg_9720", "type": "message", "role": "assistant", "content": [], "model": "smol", "stop_reason": null,
        "stop_sequence": null, "usage": none,
    });
    let end = json!({
        "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"input_tokens": 1, "output_tokens": 16, "cache_read_input_tokens": 30},
    });
    let outcome = streamed([
        anthropic::event("message_start", json!({"type": "message_start", "message": message})),
        anthropic::text_start(0),
        anthropic::text_delta(0, "ok"),
        anthropic::block_stop(0),
        anthropic::event("message_delta", end),
        anthropic::message_stop(),
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!((reply.message, reply.stop_reason), (Message::assistant("ok"), Some(StopReason::EndTurn)));
    let usage = Usage { input_tokens: 31, cached_tokens: 30, output_tokens: 16, ..Usage::default() };
    assert_eq!(reply.usage, usage);
}

#[tokio::test]
async fn events_blocks_and_deltas_of_a_newer_version_are_skipped() {
    let outcome = streamed([
        anthropic::event("weather", "{\"type\":\"weather\",\"sky\":[1,2]}"),
        anthropic::event("note", "not even JSON"),
        anthropic::event("silence", ""),
        anthropic::ping(),
        anthropic::message_start(&nothing_read()),
        ": a comment\n\nid: 7\n\nretry: 10\n\n".into(),
        anthropic::block_start(0, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        anthropic::input_json_delta(0, "{\"query\": 1}"),
        anthropic::block_delta(0, json!({"type": "text_delta", "text": "not ours"})),
        anthropic::block_stop(0),
        anthropic::block_start(1, json!({"type": "fallback"})),
        anthropic::block_stop(1),
        anthropic::text_start(2),
        anthropic::block_delta(2, json!({"type": "citations_delta", "citation": {}})),
        anthropic::text_delta(2, "Hi"),
        anthropic::block_stop(2),
        anthropic::message_delta(Some("end_turn"), 1),
        anthropic::message_stop(),
    ])
    .await;
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
}

#[tokio::test]
async fn figures_may_be_missing_or_null() {
    let outcome = streamed([
        anthropic::event(
            "message_start",
            "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_01\",\"usage\":null}}",
        ),
        anthropic::event("message_delta", "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}"),
        anthropic::message_stop(),
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!((reply.usage, reply.stop_reason), (Usage::default(), Some(StopReason::EndTurn)));
}

#[tokio::test]
async fn the_last_stop_reason_that_is_given_counts() {
    let stop = |reason| anthropic::event("message_stop", json!({"type": "message_stop", "stop_reason": reason}));
    let (delta, none) = (anthropic::message_delta(Some("max_tokens"), 1), anthropic::message_delta(None, 1));
    for (events, expected) in [
        (vec![delta.clone(), anthropic::message_stop()], Some(StopReason::MaxTokens)),
        (vec![delta.clone(), stop(json!(null))], Some(StopReason::MaxTokens)),
        (vec![delta.clone(), stop(json!("end_turn"))], Some(StopReason::EndTurn)),
        (vec![delta.clone(), stop(json!(7))], Some(StopReason::MaxTokens)),
        (vec![delta, none.clone(), anthropic::message_stop()], Some(StopReason::MaxTokens)),
        (vec![none.clone(), stop(json!("stop_sequence"))], Some(StopReason::StopSequence)),
        (vec![none, anthropic::message_stop()], None),
        (
            vec![anthropic::message_delta(Some("refusal"), 1), anthropic::message_stop()],
            Some(StopReason::ContentFiltered),
        ),
        (
            vec![anthropic::message_delta(Some("pause_turn"), 1), anthropic::message_stop()],
            Some(StopReason::Other("pause_turn".into())),
        ),
        (
            vec![anthropic::message_delta(Some("model_context_window_exceeded"), 1), anthropic::message_stop()],
            Some(StopReason::MaxTokens),
        ),
        (
            vec![anthropic::message_delta(Some("solar_flare"), 1), anthropic::message_stop()],
            Some(StopReason::Other("solar_flare".into())),
        ),
    ] {
        let outcome = streamed([vec![anthropic::message_start(&nothing_read())], events.clone()].concat()).await;
        assert_eq!(outcome.reply().stop_reason, expected, "{events:?}");
    }
}

#[tokio::test]
async fn a_message_stop_that_cannot_be_read_still_ends_the_message() {
    for data in ["{\"type\":\"message_stop\"", "", "{}", "null"] {
        let outcome = streamed([
            anthropic::message_start(&nothing_read()),
            anthropic::block_start(0, json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}})),
            anthropic::message_delta(Some("tool_use"), 1),
            anthropic::event("message_stop", data),
        ])
        .await;
        let reply = outcome.reply();
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse), "{data}");
        let call = ToolCall { id: "t".into(), name: "read".into(), input: json!({"path": "a"}), broken: None };
        assert_eq!(reply.message.parts, [Part::ToolUse(call)], "{data}");
    }
}

#[tokio::test]
async fn an_input_that_comes_whole_counts_unless_pieces_follow() {
    let whole = |input| anthropic::block_start(0, json!({"type": "tool_use", "id": "t", "name": "n", "input": input}));
    let end = || vec![anthropic::message_delta(Some("tool_use"), 1), anthropic::message_stop()];
    let pieces = vec![anthropic::input_json_delta(0, ""), anthropic::input_json_delta(0, "{\"b\":2}")];
    for (events, input, broken) in [
        (vec![whole(json!({"a": 1}))], json!({"a": 1}), None),
        ([vec![whole(json!({"a": 1}))], pieces].concat(), json!({"b": 2}), None),
        (vec![whole(json!(null))], json!({}), None),
        (vec![whole(json!([1]))], json!(null), Some("[1]".to_owned())),
    ] {
        let reply = streamed([events, end()].concat()).await.reply();
        let call = ToolCall { id: "t".into(), name: "n".into(), input, broken };
        assert_eq!(reply.message.parts, [Part::ToolUse(call)]);
    }
}

#[tokio::test]
async fn tool_input_that_is_not_json_is_kept_as_broken() {
    let reply =
        answered(Answer::anthropic(Reply::new().tool("t", "write", ["{\"path\": \"a", "\", \"te"]))).await.reply();
    let broken = Some("{\"path\": \"a\", \"te".to_owned());
    let call = ToolCall { id: "t".into(), name: "write".into(), input: json!(null), broken };
    assert_eq!(reply.message.parts, [Part::ToolUse(call)]);
}

#[tokio::test]
async fn a_reply_is_complete_with_its_message_stop_whatever_the_connection_does_then() {
    let answer = Answer::anthropic("Hi");
    let all = answer.body_bytes().len();
    for answer in [
        answer.clone().cut_after(all),
        answer.clone().close_after(all),
        answer.clone().stall_after(all),
        answer.then_forever(anthropic::ping()),
    ] {
        assert_eq!(answered(answer).await.reply().message, Message::assistant("Hi"));
    }
}

// ---- encodings ----

#[tokio::test]
async fn a_byte_order_mark_and_other_line_ends_are_read() {
    let stream = String::from_utf8(Answer::anthropic("Hé 🦀").body_bytes()).expect("text");
    for bytes in [
        format!("\u{feff}{stream}"),
        stream.replace('\n', "\r\n"),
        stream.replace('\n', "\r"),
        stream.replace("data: ", "data:"),
    ] {
        for size in [1, 5, 100_000] {
            let outcome = answered(Answer::events([bytes.clone()]).chunked(size)).await;
            assert_eq!(outcome.reply().message, Message::assistant("Hé 🦀"), "{bytes:?} in chunks of {size}");
        }
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_not_guessed() {
    let start = [anthropic::message_start(&nothing_read()), anthropic::text_start(0)].concat();
    let mut bytes = [start, anthropic::text_delta(0, "good"), anthropic::text_delta(0, "b?d")].concat().into_bytes();
    let place = bytes.windows(3).position(|window| window == b"b?d").expect("the word") + 1;
    bytes[place] = 0xff;
    let outcome = answered(Answer::events([bytes])).await;
    assert_eq!(outcome.words, "good");
    let fault = outcome.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

// ---- cut, stalled, endless ----

fn only_words() -> Reply {
    Reply::new().text(WORDS)
}

fn words_and_more() -> Reply {
    Reply::new().thinking(["Hm…"], "c2ln").text(WORDS).tool("toolu_01", "read", ["{\"path\":", "\"ä\"}"])
}

/// Cuts a stream after every byte. `exact`: whatever was sent before the cut also arrives.
async fn every_cut(answer: Answer, exact: bool, cut: fn(Answer, usize) -> Answer) {
    let mut cuts = Cuts::new(answer, "\n\n", |piece| json!({"type": "text_delta", "text": piece}).to_string());
    cuts.exact = exact;
    let provider = FakeProvider::start();
    cuts.try_all(&provider, &*model(provider.url(), PATIENT), cut).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_1() {
    every_cut(Answer::anthropic(only_words()).chunked(1), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_7() {
    every_cut(Answer::anthropic(words_and_more()).chunked(7), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_64() {
    every_cut(Answer::anthropic(words_and_more()).chunked(64), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_close_after_any_byte_is_a_fault() {
    every_cut(Answer::anthropic(words_and_more()).chunked(7), true, Answer::close_after).await;
}

/// The worst of them: nothing in HTTP tells this end from a good one.
#[tokio::test]
async fn a_body_that_ends_in_good_order_after_any_byte_is_a_fault() {
    every_cut(Answer::anthropic(only_words()).until_close().chunked(1), true, Answer::close_after).await;
}

#[tokio::test]
async fn silence_ends_by_the_limit_wherever_it_falls() {
    let answer = Answer::anthropic("Hello there");
    let middle = answer.body_bytes().len() / 2;
    for answer in [Answer::silent(), answer.clone().stall_after(0), answer.stall_after(middle)] {
        let provider = FakeProvider::start();
        provider.push(answer);
        let fault = ask(&*model(provider.url(), IMPATIENT), &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Stalled, LATER));
        provider.closed(0).await;
    }
}

#[tokio::test]
async fn a_provider_that_pings_is_not_silent() {
    let provider = FakeProvider::start();
    let gate = provider.gate();
    let pings = std::iter::repeat_with(anthropic::ping).take(8);
    let reply = anthropic::stream(&"Hi".into());
    provider.push(Answer::events(pings.chain(reply)).gated(&gate));
    let model = model(provider.url(), Duration::from_secs(3));
    let prompt = hello();
    let pinging = async {
        for _ in 0..8 {
            gate.release(1);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        gate.open();
    };
    let (outcome, ()) = tokio::join!(ask(&*model, &prompt), pinging);
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
}

#[tokio::test]
async fn an_event_without_end_is_refused_before_it_fills_the_memory() {
    let provider = FakeProvider::start();
    let start = anthropic::message_start(&nothing_read()) + "event: content_block_delta\ndata: {\"type\":\"";
    provider.push(Answer::events([start]).then_forever("x".repeat(64 * 1024)));
    let fault = ask(&*model(provider.url(), PATIENT), &hello()).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never), "{fault:?}");
    assert!(fault.problem.message.contains("8 MB"), "{}", fault.problem.message);
    provider.closed(0).await;
    // What the sockets hold comes on top of what was read.
    let sent = provider.sent_bytes(0);
    assert!((8 << 20..24 << 20).contains(&sent), "{sent} bytes were taken");
}

#[tokio::test]
async fn a_large_event_within_the_bound_is_read() {
    let words = "0123456789".repeat(400_000);
    let outcome = answered(Answer::anthropic(words.as_str()).chunked(64 * 1024)).await;
    assert_eq!(outcome.reply().message.text().len(), words.len());
}

#[tokio::test]
async fn a_reply_without_end_is_refused_before_it_fills_the_memory() {
    let provider = FakeProvider::start();
    let start = [anthropic::message_start(&nothing_read()), anthropic::text_start(0)];
    let more = anthropic::text_delta(0, &"x".repeat(1 << 20));
    provider.push(Answer::events(start).then_forever(more));
    let outcome = ask(&*model(provider.url(), PATIENT), &hello()).await;
    assert_eq!(outcome.words.len(), 32 << 20);
    assert_eq!(outcome.fault().problem.kind, ProblemKind::Protocol);
}

#[tokio::test]
async fn blocks_without_end_are_refused() {
    let blocks: Vec<String> =
        (0..20_000).map(|index| anthropic::block_start(index, json!({"type": "later_kind"}))).collect();
    let fault = answered(Answer::events([blocks.concat()])).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
}

// ---- refusals ----

#[tokio::test]
async fn each_status_has_its_kind_and_says_whether_to_try_again() {
    let after = |after_ms| Retry::Later { after_ms: Some(after_ms) };
    for (status, kind, expected, retry) in [
        (400, "invalid_request_error", ProblemKind::Refused, Retry::Never),
        (401, "authentication_error", ProblemKind::Auth, Retry::Never),
        (402, "billing_error", ProblemKind::Refused, Retry::Never),
        (403, "permission_error", ProblemKind::Auth, Retry::Never),
        (404, "not_found_error", ProblemKind::NotFound, Retry::Never),
        (413, "request_too_large", ProblemKind::Refused, Retry::Never),
        (429, "rate_limit_error", ProblemKind::RateLimited, after(7_000)),
        (500, "api_error", ProblemKind::Overloaded, after(7_000)),
        (504, "timeout_error", ProblemKind::Overloaded, after(7_000)),
        (529, "overloaded_error", ProblemKind::Overloaded, after(7_000)),
    ] {
        let body = anthropic::error_body(kind, "Because of the tests.");
        let fault = answered(Answer::json(status, body).header("retry-after", "7")).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{status}");
        let message = &fault.problem.message;
        assert!(message.contains(&status.to_string()) && message.contains("Because of the tests."), "{message}");
    }
}

#[tokio::test]
async fn a_wait_may_be_asked_for_by_date_or_not_at_all() {
    let limited = || Answer::json(429, anthropic::error_body("rate_limit_error", "Slowly."));
    assert_eq!(answered(limited()).await.fault().retry, LATER);
    let dated = limited()
        .header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        .header("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
    assert_eq!(answered(dated).await.fault().retry, Retry::Later { after_ms: Some(30_000) });
}

#[tokio::test]
async fn an_error_page_that_never_ends_does_not_hide_the_status() {
    let body = anthropic::error_body("rate_limit_error", "Slowly.");
    for answer in [
        Answer::json(429, body.clone()).stall_after(5),
        Answer::json(429, body).then_forever("x".repeat(1000)),
        Answer::new(429).cut_after(0),
    ] {
        let fault = answered(answer.header("retry-after", "3")).await.fault();
        assert_eq!(fault.problem.kind, ProblemKind::RateLimited, "{fault:?}");
        assert_eq!(fault.retry, Retry::Later { after_ms: Some(3_000) });
        assert!(fault.problem.message.len() < 1000);
    }
}

#[tokio::test]
async fn an_error_within_the_stream_keeps_the_words_and_says_whether_to_try_again() {
    for (kind, expected, retry) in [
        ("overloaded_error", ProblemKind::Overloaded, LATER),
        ("api_error", ProblemKind::Overloaded, LATER),
        ("timeout_error", ProblemKind::Overloaded, LATER),
        ("rate_limit_error", ProblemKind::RateLimited, LATER),
        ("invalid_request_error", ProblemKind::Refused, Retry::Never),
        ("authentication_error", ProblemKind::Auth, Retry::Never),
        ("not_found_error", ProblemKind::NotFound, Retry::Never),
        ("error_of_a_newer_version", ProblemKind::Refused, Retry::Never),
    ] {
        let outcome = streamed([
            anthropic::message_start(&nothing_read()),
            anthropic::text_start(0),
            anthropic::text_delta(0, "So "),
            anthropic::error(kind, "Over\u{1b}[2Jloaded"),
            anthropic::text_delta(0, "far"),
            anthropic::message_stop(),
        ])
        .await;
        assert_eq!((outcome.words.as_str(), &outcome.partial), ("So ", &Message::assistant("So ")));
        let fault = outcome.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{kind}");
        assert_eq!(fault.problem.message, format!("The provider stopped with {kind}: Over [2Jloaded"));
    }
}

#[tokio::test]
async fn an_event_with_content_that_cannot_be_read_is_a_fault_not_a_hole() {
    let start = || vec![anthropic::message_start(&nothing_read()), anthropic::text_start(0)];
    let end = || vec![anthropic::message_delta(Some("end_turn"), 1), anthropic::message_stop()];
    for event in [
        anthropic::event(
            "content_block_delta",
            "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_d",
        ),
        anthropic::block_delta(0, json!({"type": "text_delta", "text": 7})),
        anthropic::event("content_block_delta", "{\"type\":\"content_block_delta\",\"index\":-1,\"delta\":{}}"),
        anthropic::event("message_delta", "{\"type\":\"message_delta\",\"usage\":[]}"),
        anthropic::block_start(1, json!({"type": "tool_use", "name": "n"})),
        anthropic::event("error", "{}"),
        "data: [DONE]\n\n".into(),
    ] {
        let fault = streamed([start(), vec![event.clone()], end()].concat()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, wire::again(&event)), "{event}");
    }
    let stray = anthropic::text_delta(9, "of a part that never began");
    let fault = streamed([start(), vec![stray], end()].concat()).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

#[tokio::test]
async fn two_kinds_of_content_in_one_block_are_a_fault() {
    let outcome = streamed([anthropic::text_start(0), anthropic::input_json_delta(0, "{}"), anthropic::message_stop()]);
    assert_eq!(outcome.await.fault().problem.kind, ProblemKind::Protocol);
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_refused() {
    let page = Answer::new(200).header("content-type", "text/html").body("<html>Sign in to the hotel's network</html>");
    let typeless = Answer::new(200).body(anthropic::message_stop());
    let document = Answer::json(200, json!({"type": "message", "content": []}));
    for answer in [page, typeless, document] {
        let fault = answered(answer).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
        assert!(fault.problem.hint.is_some());
    }
}

#[tokio::test]
async fn the_key_is_never_shown_even_by_a_provider_that_repeats_it() {
    let long = format!("{}{KEY}", "x".repeat(490));
    let unreadable = format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":\"{KEY}\"}}");
    for answer in [
        Answer::json(401, anthropic::error_body("authentication_error", &format!("invalid x-api-key {KEY}"))),
        Answer::json(401, anthropic::error_body("authentication_error", &long)),
        Answer::new(401).header("content-type", "text/html").body(format!("<p>{KEY}</p>")),
        Answer::new(200).header("content-type", format!("text/{KEY}")),
        Answer::events([anthropic::error("api_error", KEY)]),
        Answer::events([anthropic::error(KEY, "no")]),
        Answer::events([anthropic::event("content_block_delta", unreadable)]),
        Answer::new(307).header("location", format!("http://127.0.0.1:1/{KEY}")),
        Answer::raw(format!("{KEY}\r\n\r\n")),
    ] {
        let outcome = answered(answer.clone()).await;
        let shown = format!("{outcome:?}");
        assert!(outcome.end.is_err(), "{shown}");
        assert!(!shown.contains(&KEY[..10]), "{shown}");
    }
    assert!(!format!("{:?}", registry("http://127.0.0.1:1", PATIENT)).contains(KEY));
}

// ---- questions beside the conversation ----

#[tokio::test]
async fn the_models_are_listed_page_by_page() {
    let provider = FakeProvider::start();
    let entry = |id: &str, window: Value| json!({"type": "model", "id": id, "display_name": "M", "created_at": "2026-02-04T00:00:00Z", "max_input_tokens": window});
    provider.push(Answer::json(
        200,
        json!({"data": [entry("claude-opus-4-8", json!(1_000_000)), {"type": "model"}], "has_more": true, "first_id": "a", "last_id": "claude-opus-4-8"}),
    ));
    provider.push(Answer::json(
        200,
        json!({"data": [entry("claude-haiku-4-5", json!(null))], "has_more": false, "last_id": "claude-haiku-4-5"}),
    ));
    let listed = model(provider.url(), PATIENT).list().await.expect("a list");
    let model = |name: &str, window| Listed { name: name.into(), window };
    assert_eq!(listed, [model("claude-opus-4-8", Some(1_000_000)), model("claude-haiku-4-5", None)]);
    let requests = provider.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/v1/models?limit=1000", "/v1/models?limit=1000&after_id=claude-opus-4-8"]);
    for request in &requests {
        assert_eq!(request.method, "GET");
        assert_eq!(request.header("x-api-key"), Some(KEY));
        assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    }
}

#[tokio::test]
async fn a_list_that_never_ends_is_left() {
    let provider = FakeProvider::start();
    provider.always(Answer::json(200, json!({"data": [{"id": "m"}], "has_more": true, "last_id": "m"})));
    assert_eq!(model(provider.url(), PATIENT).list().await.expect("a list").len(), 20);
    for last in [json!(null), json!("a&b=c"), json!("../x")] {
        let provider = FakeProvider::start();
        provider.always(Answer::json(200, json!({"data": [{"id": "m"}], "has_more": true, "last_id": last})));
        assert_eq!(model(provider.url(), PATIENT).list().await.expect("a list").len(), 1);
    }
}

#[tokio::test]
async fn a_list_that_is_none_is_a_fault() {
    for (answer, expected) in [
        (Answer::json(200, json!({"type": "list"})), ProblemKind::Protocol),
        (Answer::json(200, json!({"data": 7})), ProblemKind::Protocol),
        (Answer::new(200).body("<html>"), ProblemKind::Protocol),
        (Answer::json(401, anthropic::error_body("authentication_error", "no")), ProblemKind::Auth),
    ] {
        let provider = FakeProvider::start();
        provider.on_path("/v1/models", answer);
        let fault = model(provider.url(), PATIENT).list().await.expect_err("a fault");
        assert_eq!(fault.problem.kind, expected);
    }
}

#[tokio::test]
async fn the_tokens_of_a_prompt_are_counted_by_whoever_can() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(200, json!({"input_tokens": 2095})));
    let model = model(provider.url(), PATIENT);
    let prompt = Prompt { thinking_tokens: 8_000, temperature: Some(0.5), ..conversation() };
    assert_eq!(model.count_tokens(&prompt).await, Ok(Some(2_095)));
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages/count_tokens"));
    let names: Vec<&String> = request.body.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["model", "tools", "system", "messages", "thinking", "output_config"]);
    provider.push(Answer::new(404));
    assert_eq!(model.count_tokens(&prompt).await, Ok(None));
    provider.push(Answer::new(529));
    assert_eq!(model.count_tokens(&prompt).await.expect_err("a fault").problem.kind, ProblemKind::Overloaded);
}

#[tokio::test]
async fn a_gateway_is_not_asked_for_a_long_cache_and_one_that_is_told_is_counted_apart() {
    let prompt = Prompt { long_cache: true, system: "Be brief.".into(), ..hello() };
    let body = asked("claude-sonnet-4-5", &prompt).await.body;
    let plain = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["cache_control"], plain);
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], plain);
    let usage = json!({
        "input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1_000, "output_tokens": 1,
        "cache_creation": {"ephemeral_5m_input_tokens": 40, "ephemeral_1h_input_tokens": 60},
    });
    let start =
        anthropic::event("message_start", json!({"type": "message_start", "message": {"usage": usage}}).to_string());
    let rest = [
        anthropic::text_start(0),
        anthropic::text_delta(0, "Hi"),
        anthropic::block_stop(0),
        anthropic::message_delta(Some("end_turn"), 1),
        anthropic::message_stop(),
    ];
    let provider = FakeProvider::start();
    provider.push(Answer::events([start].into_iter().chain(rest)));
    let usage = ask(&*model(provider.url(), PATIENT), &hello()).await.reply().usage;
    assert_eq!((usage.input_tokens, usage.cached_tokens), (1_110, 1_000));
    assert_eq!((usage.cache_write_tokens, usage.cache_write_1h_tokens), (100, 60));
}

#[tokio::test]
async fn an_effort_is_told_in_the_way_of_each_generation() {
    for (name, level, thinking, effort) in [
        ("claude-haiku-4-5", Effort::Low, json!({"type": "enabled", "budget_tokens": 4_096}), None),
        ("claude-haiku-4-5", Effort::Off, json!(null), None),
        ("claude-opus-4-8", Effort::Max, json!({"type": "adaptive", "display": "summarized"}), Some("max")),
        ("claude-opus-4-8", Effort::Off, json!(null), None),
        ("claude-opus-5", Effort::Off, json!({"type": "disabled"}), None),
        ("claude-sonnet-5-5", Effort::Off, json!({"type": "between_tools"}), None),
    ] {
        let prompt = Prompt { effort: Some(level), max_output_tokens: 16_000, ..hello() };
        let body = asked(name, &prompt).await.body;
        assert_eq!(body.get("thinking").cloned().unwrap_or_default(), thinking, "{name} {level:?}");
        assert_eq!(body["output_config"]["effort"].as_str(), effort, "{name} {level:?}");
    }
}

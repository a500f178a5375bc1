//! The Chat Completions dialect over real sockets, against servers that answer as they should, as
//! they do, and as they should not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, openai};
use trimtab_testkit::wire::{self, BOUND, Cuts, IMPATIENT, LATER, Outcome, PATIENT, WORDS, ask};
use trimtab_vocab::{
    Effort, Fault, Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolCall, ToolResult,
    ToolSpec, Usage,
};
use trimtab_world::models::{
    Dialect, DrawOrder, DrawnImage, Listed, Model, ModelRegistry, Provider, Registry, ReplyPiece,
};

const KEY: &str = "sk-proj-0123456789abcdef";

fn registry(url: &str, idle: Duration) -> Registry {
    let provider = Provider {
        dialect: Dialect::OpenAi,
        base_url: url.to_owned(),
        key_env: Some("OPENAI_API_KEY".into()),
        key: Some(KEY.into()),
        extras: Arc::default(),
    };
    Registry { providers: [("openai".to_owned(), provider)].into(), idle, record: None }
}

fn model(url: &str, idle: Duration) -> Arc<dyn Model> {
    registry(&format!("{url}/v1"), idle).find("openai/gpt-4o-mini").expect("a model")
}

fn named(url: &str, name: &str) -> Arc<dyn Model> {
    registry(&format!("{url}/v1"), PATIENT).find(&format!("openai/{name}")).expect("a model")
}

fn prompt(messages: Vec<Message>) -> Prompt {
    wire::prompt("openai/gpt-4o-mini", messages)
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

/// A whole stream around these chunks.
async fn finished(chunks: Vec<String>, reason: &str) -> Outcome {
    streamed([vec![openai::start()], chunks, vec![openai::finish(reason), openai::done()]].concat()).await
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn thinking(text: &str, signature: Option<Value>) -> Part {
    Part::Thinking {
        text: text.into(),
        signature: signature.map(|signature| signature.to_string()),
        by: Some("openai".into()),
    }
}

fn call(id: &str, name: &str, input: Value) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input, broken: None })
}

fn broken_call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input: Value::Null, broken: Some(arguments.to_owned()) })
}

// ---- what is sent ----

#[tokio::test]
async fn the_request_is_the_documented_one() {
    let provider = FakeProvider::start();
    provider.always(Answer::openai("Hi"));
    let image: RefKey = "image-r1-0".parse().expect("a key");
    let seen = Message {
        role: Role::User,
        parts: vec![text("What is this?"), Part::Image { image: image.clone(), media_type: "image/png".into() }],
    };
    let said = Message {
        role: Role::Assistant,
        parts: vec![
            thinking("Look first.", None),
            Part::Thinking { text: "Another's.".into(), signature: Some("c2ln".into()), by: Some("anthropic".into()) },
            Part::RedactedThinking { data: "ZGF0YQ".into(), by: Some("anthropic".into()) },
            text("Let me look."),
            text(" \n"),
            call("t1", "read", json!({"path": "a"})),
            broken_call("t2", "read", "{\"path\": \"a"),
        ],
    };
    let results = Message {
        role: Role::User,
        parts: vec![
            text("And then tell me."),
            Part::ToolResult(ToolResult::success("t1", "über 🦀")),
            Part::ToolResult(ToolResult::error("t2", "The arguments are not JSON.")),
        ],
    };
    let silence = Message { role: Role::Assistant, parts: vec![text("")] };
    let asked = Message { role: Role::Assistant, parts: vec![call("t3", "now", json!({}))] };
    let result = Message { role: Role::User, parts: vec![Part::ToolResult(ToolResult::success("t3", "noon"))] };
    let mut prompt = prompt(vec![seen, said, results, silence, asked, result]);
    prompt.images.insert(image, "iVBORw0KGgo=".into());
    prompt.tools = vec![
        Arc::new(ToolSpec {
            name: "read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        }),
        Arc::new(ToolSpec { name: "now".into(), description: String::new(), input_schema: json!({"type": "object"}) }),
    ];
    prompt.temperature = Some(0.5);
    prompt.thinking_tokens = 1024;
    let properties = json!({"answer": {"type": "string"}});
    prompt.format = Some(Format::Schema {
        name: "answer".into(),
        schema: json!({
            "type": "object", "properties": properties, "required": ["answer"], "additionalProperties": false,
        }),
    });
    let url = format!("{}/v1/", provider.url());
    let model = registry(&url, PATIENT).find("openai/openai/gpt-oss-20b").expect("a model");
    ask(&*model, &prompt).await.reply();
    let request = &provider.requests()[0];
    let names = ["content-type", "accept", "authorization", "x-api-key"];
    let headers: Vec<String> =
        names.iter().map(|name| format!("{name}: {}", request.header(name).unwrap_or("(none)"))).collect();
    let body = serde_json::to_string_pretty(&request.body).expect("writes");
    insta::assert_snapshot!(format!("{} {}\n{}\n\n{body}", request.method, request.path, headers.join("\n")), @r#"
    POST /v1/chat/completions
    content-type: application/json
    accept: text/event-stream
    authorization: Bearer sk-proj-0123456789abcdef
    x-api-key: (none)

    {
      "model": "openai/gpt-oss-20b",
      "messages": [
        {
          "role": "system",
          "content": "Be brief."
        },
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "What is this?"
            },
            {
              "type": "image_url",
              "image_url": {
                "url": "data:image/png;base64,iVBORw0KGgo="
              }
            }
          ]
        },
        {
          "role": "assistant",
          "content": "Let me look.",
          "reasoning_content": "Look first.",
          "tool_calls": [
            {
              "id": "t1",
              "type": "function",
              "function": {
                "name": "read",
                "arguments": "{\"path\":\"a\"}"
              }
            },
            {
              "id": "t2",
              "type": "function",
              "function": {
                "name": "read",
                "arguments": "{\"INVALID_JSON\":\"{\\\"path\\\": \\\"a\"}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "t1",
          "content": "über 🦀"
        },
        {
          "role": "tool",
          "tool_call_id": "t2",
          "content": "The arguments are not JSON."
        },
        {
          "role": "user",
          "content": "And then tell me."
        },
        {
          "role": "assistant",
          "content": null,
          "tool_calls": [
            {
              "id": "t3",
              "type": "function",
              "function": {
                "name": "now",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "t3",
          "content": "noon"
        }
      ],
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "read",
            "description": "Reads a file.",
            "parameters": {
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
          }
        },
        {
          "type": "function",
          "function": {
            "name": "now",
            "parameters": {
              "type": "object",
              "properties": {}
            }
          }
        }
      ],
      "max_tokens": 256,
      "temperature": 0.5,
      "reasoning_effort": "low",
      "response_format": {
        "type": "json_schema",
        "json_schema": {
          "name": "answer",
          "schema": {
            "type": "object",
            "properties": {
              "answer": {
                "type": "string"
              }
            },
            "required": [
              "answer"
            ],
            "additionalProperties": false
          },
          "strict": true
        }
      },
      "return_progress": true,
      "stream": true,
      "stream_options": {
        "include_usage": true
      }
    }
    "#);
    assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("trimtab/")));
}

#[tokio::test]
async fn a_request_names_nothing_that_was_not_asked_for() {
    let provider = FakeProvider::start();
    provider.push(Answer::openai("Hi"));
    let mut registry = registry(&format!("{}/v1", provider.url()), PATIENT);
    let settings = registry.providers.get_mut("openai").expect("the provider");
    (settings.key, settings.key_env) = (None, None);
    let mut prompt = hello();
    prompt.system.clear();
    prompt.max_output_tokens = 0;
    ask(&*registry.find("openai/m").expect("a model"), &prompt).await.reply();
    let request = &provider.requests()[0];
    assert_eq!(request.header("authorization"), None);
    assert_eq!(
        request.body,
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "Hello"}],
            "return_progress": true, "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

// ---- what comes back ----

#[tokio::test]
async fn a_documented_stream_becomes_the_reply_it_says() {
    let usage = Usage { input_tokens: 60, cached_tokens: 20, output_tokens: 89, ..Usage::default() };
    let reply = Reply::new()
        .thinking(["Think", "ing."], "")
        .text(["Okay, ", "let's ", "check 🦀."])
        .tool("call_01", "get_weather", ["{\"loc", "ation\": \"S", "an Francisco\"}"])
        .tool("call_02", "now", [""])
        .usage(usage);
    for size in [1, 7, 64, 100_000] {
        let outcome = answered(Answer::openai(reply.clone()).chunked(size)).await;
        assert_eq!(outcome.words, "Okay, let's check 🦀.");
        let reply = outcome.reply();
        assert_eq!(
            reply.message.parts,
            [
                thinking("Thinking.", None),
                text("Okay, let's check 🦀."),
                call("call_01", "get_weather", json!({"location": "San Francisco"})),
                call("call_02", "now", json!({})),
            ]
        );
        assert_eq!(
            (reply.message.role, reply.stop_reason, reply.usage),
            (Role::Assistant, Some(StopReason::ToolUse), usage)
        );
    }
}

/// Chunks of the real services: other orders, other fields, chunks without choices or without a delta.
#[tokio::test]
async fn fields_chunks_and_events_of_other_versions_are_skipped() {
    let outcome = streamed([
        ": OPENROUTER PROCESSING\n\n".to_owned(),
        openai::event(json!({"choices": [], "created": 0, "id": "", "prompt_filter_results": [{"prompt_index": 0}]})),
        openai::event(json!({"object": "chat.completion.chunk", "choices": null, "error": null})),
        "event: weather\ndata: {\"sky\":[1,2]}\n\n".into(),
        "event: note\ndata: not even JSON\n\n".into(),
        "event: ping\ndata:\n\n".into(),
        "id: 7\n\nretry: 10\n\n".into(),
        openai::event(json!({
            "choices": [{"delta": {"role": "assistant", "content": null, "tool_calls": null, "audio": {}}, "logprobs": {}}],
            "service_tier": "default", "obfuscation": "kQ8",
        })),
        openai::event(json!({"choices": [{"index": 1, "delta": {"content": "of another reply"}, "finish_reason": "length"}]})),
        openai::event(json!({"choices": [{"index": 0, "finish_reason": null}]})),
        openai::event(json!({"choices": [{"index": 0, "delta": null, "finish_reason": ""}]})),
        openai::event(json!({"choices": [{"finish_reason": null, "delta": {"content": "Hi", "weather": [1]}, "index": 0}]})),
        openai::delta(json!({"tool_calls": [], "annotations": []})),
        openai::calls(json!([{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}, {"index": 1}])),
        openai::finish("stop"),
        openai::event(json!({"choices": [{"index": 0, "delta": {}, "content_filter_results": {}, "finish_reason": null}]})),
        openai::done(),
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!((reply.message, reply.stop_reason), (Message::assistant("Hi"), Some(StopReason::EndTurn)));
}

#[tokio::test]
async fn reasoning_is_found_in_each_field_that_servers_put_it_in_and_counted_once() {
    let details = |text: &str| json!([{"type": "reasoning.text", "text": text, "index": 0}]);
    for (delta, signature) in [
        (json!({"reasoning_content": "Hm."}), None),
        (json!({"reasoning": "Hm.", "content": ""}), None),
        (json!({"reasoning": "Hm.", "reasoning_content": "Hm."}), None),
        (json!({"reasoning": null, "reasoning_content": "Hm."}), None),
        (json!({"reasoning": "Hm.", "reasoning_details": details("Hm.")}), Some(details("Hm."))),
        (json!({"reasoning": "", "reasoning_details": details("Hm.")}), Some(details("Hm."))),
        (
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": true}]}),
            None,
        ),
        (json!({"content": [{"type": "thinking", "thinking": "Hm."}]}), None),
    ] {
        let reply = finished(vec![openai::delta(delta.clone()), openai::text("Hi")], "stop").await.reply();
        assert_eq!(reply.message.parts, [thinking("Hm.", signature), text("Hi")], "{delta}");
    }
}

/// Servers that do not know how a model thinks pass its tags on.
#[tokio::test]
async fn thoughts_between_tags_are_no_part_of_the_answer() {
    for pieces in [&["<think>Hm.</think>Hi"][..], &["\n<th", "ink>\nHm", ".</thi", "nk>\n\nH", "i"]] {
        let chunks = pieces.iter().map(|piece| openai::text(piece)).collect();
        let reply = finished(chunks, "stop").await.reply();
        assert_eq!(reply.message.parts, [thinking("Hm.", None), text("Hi")], "{pieces:?}");
    }
    let reply = finished(vec![openai::text("Write <think> first.")], "stop").await.reply();
    assert_eq!(reply.message, Message::assistant("Write <think> first."));
}

/// OpenRouter streams the details in pieces and wants them back whole, in their order.
#[tokio::test]
async fn details_of_reasoning_are_kept_whole_for_sending_back() {
    let detail = |detail: Value| openai::delta(json!({"reasoning": "", "reasoning_details": [detail]}));
    let chunks = vec![
        detail(json!({"type": "reasoning.text", "text": "Let ", "format": "anthropic-claude-v1", "index": 0})),
        detail(json!({"type": "reasoning.text", "text": "me see.", "format": "anthropic-claude-v1", "index": 0})),
        detail(json!({"type": "reasoning.text", "signature": "c2ln", "index": 0})),
        detail(json!({"type": "reasoning.encrypted", "data": "eA==", "id": "rs_1", "index": 1})),
        detail(json!({"type": "reasoning.encrypted", "data": "eQ==", "id": "rs_2", "index": 1})),
        detail(json!({"type": "reasoning.text", "text": " More.", "index": 2})),
        detail(json!("not a detail")),
        openai::text("Hi"),
    ];
    let outcome = finished(chunks.clone(), "stop").await;
    let whole = json!([
        {"type": "reasoning.text", "text": "Let me see.", "format": "anthropic-claude-v1", "index": 0, "signature": "c2ln"},
        {"type": "reasoning.encrypted", "data": "eA==", "id": "rs_1", "index": 1},
        {"type": "reasoning.encrypted", "data": "eQ==", "id": "rs_2", "index": 1},
        {"type": "reasoning.text", "text": " More.", "index": 2},
    ]);
    assert_eq!(outcome.reply().message.parts, [thinking("Let me see. More.", Some(whole)), text("Hi")]);
    // A reply that was cut has no proof that may be half of one.
    let partial = streamed(chunks).await.partial;
    assert_eq!(partial.parts, [thinking("Let me see. More.", None), text("Hi")]);
}

#[tokio::test]
async fn content_may_come_in_parts() {
    let parts = json!([
        {"type": "text", "text": "Hel"}, {"type": "reference", "reference_ids": [1]}, {"text": "lo"},
        {"type": "weather", "text": "not ours"},
    ]);
    let reply = finished(vec![openai::delta(json!({"content": parts})), openai::text("!")], "stop").await.reply();
    assert_eq!(reply.message, Message::assistant("Hello!"));
}

#[tokio::test]
async fn a_refusal_is_shown_and_counts_as_one() {
    let chunks = ["I cannot ", "do that."].map(|text| openai::delta(json!({"refusal": text, "content": null})));
    let outcome = finished(chunks.to_vec(), "stop").await;
    assert_eq!(outcome.words, "I cannot do that.");
    let reply = outcome.reply();
    assert_eq!(reply.message, Message::assistant("I cannot do that."));
    assert_eq!(reply.stop_reason, Some(StopReason::ContentFiltered));
}

#[tokio::test]
async fn each_reason_to_stop_has_its_meaning() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("eos", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("model_length", StopReason::MaxTokens),
        ("tool_calls", StopReason::ToolUse),
        ("function_call", StopReason::ToolUse),
        ("content_filter", StopReason::ContentFiltered),
        ("stop_sequence", StopReason::StopSequence),
        ("weather\u{1b}[2J", StopReason::Other("weather [2J".into())),
    ] {
        let reply = finished(vec![openai::text("Hi")], reason).await.reply();
        assert_eq!(reply.stop_reason, Some(expected), "{reason}");
    }
    let called = |reason| finished(vec![openai::call_start(0, "c", "now")], reason);
    assert_eq!(called("stop").await.reply().stop_reason, Some(StopReason::ToolUse));
    assert_eq!(called("length").await.reply().stop_reason, Some(StopReason::MaxTokens));
    let twice = vec![openai::finish("stop"), openai::finish("length")];
    assert_eq!(finished(twice, "content_filter").await.reply().stop_reason, Some(StopReason::ContentFiltered));
}

#[tokio::test]
async fn a_reason_that_says_that_the_reply_broke_off_is_a_fault() {
    for reason in ["error", "abort", "insufficient_system_resource"] {
        let outcome = finished(vec![openai::text("So ")], reason).await;
        assert_eq!(outcome.words, "So ");
        let fault = outcome.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Overloaded, LATER), "{reason}");
        assert!(fault.problem.message.contains(reason), "{}", fault.problem.message);
    }
}

/// LiteLLM's proxy before llama.cpp: the figures come behind the reason, in a chunk of their own with an empty choice, and the
/// price of the call is among them.
#[tokio::test]
async fn a_gateway_puts_the_price_among_the_figures() {
    let figures = json!({
        "completion_tokens": 18, "prompt_tokens": 76, "total_tokens": 94,
        "completion_tokens_details": {"reasoning_tokens": 0, "text_tokens": 18},
        "prompt_tokens_details": {"cached_tokens": 66}, "cost": 0.000_37,
    });
    let last = openai::chunk(json!([{"index": 0, "delta": {}}]), figures);
    let events = vec![openai::start(), openai::text("Hi"), openai::finish("length"), last, openai::done()];
    let reply = streamed(events).await.reply();
    let usage =
        Usage { input_tokens: 76, cached_tokens: 66, output_tokens: 18, cost_usd: Some(0.000_37), ..Usage::default() };
    assert_eq!(
        (reply.message, reply.stop_reason, reply.usage),
        (Message::assistant("Hi"), Some(StopReason::MaxTokens), usage)
    );
}

/// Gateways refuse a name that they do not know with 400 and no code of its own.
#[tokio::test]
async fn a_gateway_that_does_not_know_the_model_is_understood() {
    for (message, kind) in [
        (
            "/chat/completions: Invalid model name passed in model=smoll. Call `/v1/models` for a list.",
            ProblemKind::NotFound,
        ),
        ("The parameter `model` must be a string", ProblemKind::Refused),
    ] {
        let body =
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": "400"}});
        let fault = answered(Answer::json(400, body)).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (kind, Retry::Never), "{message}");
    }
}

#[tokio::test]
async fn figures_are_found_wherever_servers_put_them() {
    let figures = json!({"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40});
    let usage = Usage { input_tokens: 25, output_tokens: 15, ..Usage::default() };
    let at_end = |figures: &Value| openai::chunk(json!([]), figures.clone());
    let with = |changes: Value| {
        let mut figures = figures.clone();
        figures.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
        figures
    };
    let choice = |usage: &Value| json!([{"index": 0, "delta": {"content": ""}, "finish_reason": null, "usage": usage}]);
    for (chunk, expected) in [
        (at_end(&figures), usage),
        (openai::chunk(json!([{"index": 0, "delta": {"content": ""}}]), figures.clone()), usage),
        (openai::chunk(choice(&figures), json!(null)), usage),
        (openai::event(json!({"choices": [], "x_groq": {"id": "req_1", "usage": figures}})), usage),
        (
            at_end(&with(json!({"prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 3}}))),
            Usage { cached_tokens: 20, cache_write_tokens: 3, ..usage },
        ),
        (
            at_end(&with(json!({"prompt_tokens_details": null, "prompt_cache_hit_tokens": 7}))),
            Usage { cached_tokens: 7, ..usage },
        ),
        (at_end(&with(json!({"prompt_tokens_details": {"cached_tokens": 99}}))), Usage { cached_tokens: 25, ..usage }),
        // Thinking is part of the reply, whether or not the server counts it so.
        (at_end(&with(json!({"completion_tokens_details": {"reasoning_tokens": 9}}))), usage),
        (
            at_end(&with(json!({"completion_tokens_details": {"reasoning_tokens": 9}, "total_tokens": 49}))),
            Usage { output_tokens: 24, ..usage },
        ),
        (
            at_end(&with(json!({"cost": 0.25, "is_byok": false, "cost_details": {"upstream_inference_cost": 0.25}}))),
            Usage { cost_usd: Some(0.25), ..usage },
        ),
        (
            at_end(&with(json!({"cost": 0.25, "is_byok": true, "cost_details": {"upstream_inference_cost": 1.0}}))),
            Usage { cost_usd: Some(1.25), ..usage },
        ),
        (at_end(&with(json!({"cost_in_usd_ticks": 37_500_000_000_u64}))), Usage { cost_usd: Some(3.75), ..usage }),
        (at_end(&with(json!({"cost": -1.0}))), usage),
        (at_end(&with(json!({"cost": {"total": 1}, "prompt_tokens_details": 7, "total_tokens": "many"}))), usage),
        (at_end(&json!({"prompt_tokens": 25, "completion_tokens": "15"})), Usage { output_tokens: 0, ..usage }),
        (at_end(&json!(null)), Usage::default()),
        (at_end(&json!([])), Usage::default()),
        (at_end(&json!({})), Usage::default()),
    ] {
        for early in [true, false] {
            let mut events = vec![openai::start(), openai::text("Hi"), openai::finish("stop"), openai::done()];
            events.insert(if early { 1 } else { 3 }, chunk.clone());
            let reply = streamed(events).await.reply();
            assert_eq!((reply.message, reply.usage), (Message::assistant("Hi"), expected), "{chunk}");
        }
    }
}

#[tokio::test]
async fn the_last_figures_count() {
    let with = |n: u64| {
        openai::chunk(
            json!([{"index": 0, "delta": {"content": "x"}}]),
            json!({"prompt_tokens": 9, "completion_tokens": n}),
        )
    };
    let outcome = finished(vec![with(1), with(2), with(3)], "stop").await;
    assert_eq!(outcome.reply().usage.output_tokens, 3);
}

// ---- tool calls ----

fn whole(index: Option<u32>, id: Option<&str>, name: &str, arguments: Value) -> Value {
    let mut call = json!({"type": "function", "function": {"name": name, "arguments": arguments}});
    if let Some(index) = index {
        call["index"] = json!(index);
    }
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    call
}

#[tokio::test]
async fn tool_calls_are_put_together_however_they_come() {
    let piece = |call: Value| openai::calls(json!([call]));
    let (a, b) = (json!({"a": 1}), json!({"b": 2}));
    let both = vec![call("c1", "read", a.clone()), call("c2", "write", b.clone())];
    for (case, chunks, expected) in [
        (
            "interleaved",
            vec![
                openai::call_start(0, "c1", "read"),
                openai::call_start(1, "c2", "write"),
                openai::arguments(1, "{\"b\""),
                openai::arguments(0, "{\"a\""),
                openai::calls(json!([
                    {"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": ":2}"}},
                ])),
            ],
            both.clone(),
        ),
        (
            "ids that come late",
            vec![
                piece(json!({"index": 0, "function": {"name": "read", "arguments": "{\"a\":"}})),
                piece(json!({"index": 0, "id": "c1", "function": {"arguments": "1}"}})),
            ],
            vec![call("c1", "read", a.clone())],
        ),
        (
            "ids and names that come again with each piece",
            vec![
                piece(json!({"index": 0, "id": "c1", "function": {"name": "read", "arguments": "{\"a\":"}})),
                piece(json!({"index": 0, "id": "c1", "function": {"name": "read", "arguments": "1}"}})),
            ],
            vec![call("c1", "read", a.clone())],
        ),
        (
            "another id with each piece",
            vec![
                piece(json!({"index": 0, "id": "c1", "function": {"name": "read", "arguments": "{\"a\":"}})),
                piece(json!({"index": 0, "id": "x9", "function": {"name": null, "arguments": "1}"}})),
            ],
            vec![call("c1", "read", a.clone())],
        ),
        (
            "a name in pieces",
            vec![
                piece(json!({"index": 0, "id": "c1", "function": {"name": "get_"}})),
                piece(json!({"index": 0, "function": {"name": "weather"}})),
                piece(json!({"index": 0, "function": {"arguments": "{\"a\":1}"}})),
            ],
            vec![call("c1", "get_weather", a.clone())],
        ),
        (
            "arguments as an object",
            vec![openai::calls(json!([
                whole(Some(0), Some("c1"), "read", a.clone()),
                whole(Some(1), Some("c2"), "write", b.clone())
            ]))],
            both.clone(),
        ),
        (
            "no index, all at once",
            vec![openai::calls(json!([
                whole(None, Some("c1"), "read", json!("{\"a\":1}")),
                whole(None, Some("c2"), "write", json!("{\"b\":2}"))
            ]))],
            both.clone(),
        ),
        (
            "no index, one after the other",
            vec![
                piece(whole(None, Some("c1"), "read", json!("{\"a\":"))),
                piece(json!({"function": {"arguments": "1}"}})),
                piece(whole(None, Some("c2"), "write", json!(""))),
                piece(json!({"id": "c2", "function": {"arguments": "{\"b\":"}})),
                piece(json!({"id": "", "function": {"arguments": "2}"}})),
            ],
            both.clone(),
        ),
        (
            "no index, and an id that comes late",
            vec![
                piece(whole(None, None, "read", json!("{\"a\":"))),
                piece(json!({"id": "c1", "function": {"arguments": "1}"}})),
            ],
            vec![call("c1", "read", a.clone())],
        ),
        (
            "the same index for all",
            vec![
                piece(whole(Some(0), Some("c1"), "read", json!("{\"a\":1}"))),
                piece(whole(Some(0), Some("c2"), "write", json!("{\"b\":"))),
                openai::arguments(0, "2}"),
            ],
            both.clone(),
        ),
        (
            "the same index for all, and no ids",
            vec![
                piece(whole(Some(0), None, "read", json!("{\"a\":1}"))),
                piece(whole(Some(0), None, "write", json!("{\"b\":2}"))),
            ],
            vec![call("call_0", "read", a.clone()), call("call_1", "write", b.clone())],
        ),
        (
            "neither index nor id",
            vec![openai::calls(json!([
                whole(None, None, "read", json!("{\"a\":1}")),
                whole(None, None, "read", json!("{\"b\":2}"))
            ]))],
            vec![call("call_0", "read", a.clone()), call("call_1", "read", b.clone())],
        ),
        (
            "ids that are the same",
            vec![
                piece(whole(Some(0), Some("call_1"), "read", json!("{\"a\":1}"))),
                piece(whole(Some(1), Some("call_1"), "write", json!("{\"b\":2}"))),
            ],
            vec![call("call_1", "read", a.clone()), call("call_2", "write", b.clone())],
        ),
        (
            "the older form",
            vec![
                openai::delta(json!({"function_call": {"name": "read", "arguments": ""}})),
                openai::delta(json!({"function_call": {"arguments": "{\"a\":"}})),
                openai::delta(json!({"function_call": {"arguments": "1}"}})),
            ],
            vec![call("call_0", "read", a.clone())],
        ),
        (
            "no arguments at all",
            vec![piece(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "now"}}))],
            vec![call("c1", "now", json!({}))],
        ),
    ] {
        let reply = finished(chunks, "tool_calls").await.reply();
        assert_eq!(reply.message.parts, expected, "{case}");
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse), "{case}");
    }
}

#[tokio::test]
async fn an_id_that_stands_in_the_conversation_already_is_not_given_again() {
    let provider = FakeProvider::start();
    let asked = Message {
        role: Role::Assistant,
        parts: vec![call("call_0", "read", json!({})), call("same", "read", json!({}))],
    };
    let results = ["call_0", "same"].map(|id| Part::ToolResult(ToolResult::success(id, "done")));
    let results = Message { role: Role::User, parts: results.to_vec() };
    let calls = json!([whole(Some(0), None, "a", json!("{}")), whole(Some(1), Some("same"), "b", json!("{}"))]);
    provider.push(Answer::events([openai::calls(calls), openai::finish("tool_calls"), openai::done()]));
    let model = model(provider.url(), PATIENT);
    let reply = ask(&*model, &prompt(vec![Message::user("Hello"), asked, results])).await.reply();
    assert_eq!(reply.message.parts, [call("call_1", "a", json!({})), call("call_2", "b", json!({}))]);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_kept_as_broken() {
    for arguments in [json!("{\"path\": \"a\", \"te"), json!("[1]"), json!([1]), json!(7), json!("{\"a\":1}{\"a\":1}")]
    {
        let chunk = openai::calls(json!([whole(Some(0), Some("c"), "write", arguments.clone())]));
        let reply = finished(vec![chunk], "length").await.reply();
        let kept = arguments.as_str().map_or(arguments.to_string(), str::to_owned);
        assert_eq!(reply.message.parts, [broken_call("c", "write", &kept)], "{arguments}");
    }
}

#[tokio::test]
async fn a_call_without_a_name_is_refused() {
    let fault = finished(vec![openai::arguments(0, "{}")], "tool_calls").await.fault();
    assert_eq!(fault.problem.kind, ProblemKind::Protocol);
}

// ---- when a reply is complete ----

fn until_finish() -> Vec<String> {
    vec![openai::start(), openai::text("Hi"), openai::finish("stop")]
}

#[tokio::test]
async fn a_reply_is_complete_with_its_reason_whatever_the_connection_does_then() {
    let answer = Answer::events(until_finish());
    let all = answer.body_bytes().len();
    let odd = |end: &str| Answer::events([until_finish().concat() + end]);
    for answer in [
        answer.clone(),
        answer.clone().until_close(),
        answer.clone().close_after(all),
        answer.clone().stall_after(all),
        answer.clone().then_forever(": keep-alive\n\n"),
        answer.then_forever(openai::event(json!({"choices": []}))),
        // The last event often comes without the empty line that ends it.
        odd("data: [DONE]"),
        odd("data: [DONE]\n"),
        odd("data:[DONE] \n\ndata: whatever\n\n"),
        odd(": bye\n\n"),
        Answer::openai("Hi").stall_after(Answer::openai("Hi").body_bytes().len()),
    ] {
        let provider = FakeProvider::start();
        provider.push(answer.clone());
        let started = Instant::now();
        let reply = ask(&*model(provider.url(), Duration::from_secs(2)), &hello()).await.reply();
        assert_eq!(
            (reply.message, reply.stop_reason),
            (Message::assistant("Hi"), Some(StopReason::EndTurn)),
            "{answer:?}"
        );
        assert!(started.elapsed() < BOUND, "{answer:?} took {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn figures_that_follow_within_the_limit_are_waited_for() {
    let provider = FakeProvider::start();
    let gate = provider.gate();
    let events = [until_finish(), vec![openai::usage(&Usage { input_tokens: 7, ..Usage::default() }), openai::done()]];
    provider.push(Answer::events(events.concat()).gated(&gate));
    let (model, prompt) = (model(provider.url(), PATIENT), hello());
    let late = async {
        gate.release(3);
        gate.sent(3).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        gate.open();
    };
    let (outcome, ()) = tokio::join!(ask(&*model, &prompt), late);
    assert_eq!(outcome.reply().usage.input_tokens, 7);
}

#[tokio::test]
async fn nothing_completes_a_reply_without_its_reason() {
    let words = vec![openai::start(), openai::text("So ")];
    let null = openai::event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null}]}));
    let figures = openai::usage(&Usage::default());
    for end in [vec![], vec![openai::done()], vec![figures.clone(), openai::done()], vec![null, figures]] {
        let events = [words.clone(), end.clone()].concat();
        for answer in [Answer::events(events.clone()), Answer::events(events.clone()).until_close()] {
            let outcome = answered(answer).await;
            assert_eq!((outcome.words.as_str(), &outcome.partial), ("So ", &Message::assistant("So ")));
            let fault = outcome.fault();
            assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Truncated, LATER), "{end:?}");
        }
    }
    // Nor does a reason whose own chunk is not whole.
    let cut = words.concat() + openai::finish("stop").trim_end();
    let fault = answered(Answer::events([cut]).until_close()).await.fault();
    assert_eq!(fault.problem.kind, ProblemKind::Truncated);
}

/// A server that tells the end before it comes is believed only when the stream ends in good order.
#[tokio::test]
async fn words_after_the_reason_are_part_of_the_reply_and_then_only_the_end_counts() {
    let marked = |text: &str| {
        openai::chunk(json!([{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]), json!(null))
    };
    let answer = Answer::events([marked("Hel"), marked("lo "), marked("there")]);
    let all = answer.body_bytes().len();
    assert_eq!(answered(answer.clone()).await.reply().message, Message::assistant("Hello there"));
    let outcome = answered(answer.close_after(all)).await;
    assert_eq!(outcome.words, "Hello there");
    assert_eq!(outcome.fault().problem.kind, ProblemKind::Network);
}

// ---- encodings ----

#[tokio::test]
async fn a_byte_order_mark_and_other_line_ends_are_read() {
    let stream = String::from_utf8(Answer::openai("Hé 🦀").body_bytes()).expect("text");
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
    let mut bytes = [openai::text("good"), openai::text("b?d")].concat().into_bytes();
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
    Reply::new().thinking(["Hm…"], "").text(WORDS).tool("call_01", "read", ["{\"path\":", "\"ä\"}"])
}

/// Cuts a stream after every byte. `exact`: whatever was sent before the cut also arrives. After the
/// reason the reply is complete; before it, never.
async fn every_cut(answer: Answer, exact: bool, cut: fn(Answer, usize) -> Answer) {
    let mut cuts =
        Cuts::new(answer, "\n\n", |piece| json!({"content": piece}).to_string()).told("\"finish_reason\":\"", "\n\n");
    cuts.exact = exact;
    let provider = FakeProvider::start();
    cuts.try_all(&provider, &*model(provider.url(), PATIENT), cut).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_before_the_reason_is_a_fault_in_chunks_of_1() {
    every_cut(Answer::openai(only_words()).chunked(1), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_before_the_reason_is_a_fault_in_chunks_of_7() {
    every_cut(Answer::openai(words_and_more()).chunked(7), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_before_the_reason_is_a_fault_in_chunks_of_64() {
    every_cut(Answer::openai(words_and_more()).chunked(64), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_close_after_any_byte_before_the_reason_is_a_fault() {
    every_cut(Answer::openai(words_and_more()).chunked(7), true, Answer::close_after).await;
}

/// The worst of them: nothing in HTTP tells this end from a good one.
#[tokio::test]
async fn a_body_that_ends_in_good_order_after_any_byte_before_the_reason_is_a_fault() {
    every_cut(Answer::openai(only_words()).until_close().chunked(1), true, Answer::close_after).await;
}

#[tokio::test]
async fn silence_ends_by_the_limit_wherever_it_falls() {
    let answer = Answer::openai("Hello there");
    let middle = openai::start().len() + 20;
    for answer in [Answer::silent(), answer.clone().stall_after(0), answer.stall_after(middle)] {
        let provider = FakeProvider::start();
        provider.push(answer);
        let fault = ask(&*model(provider.url(), IMPATIENT), &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Stalled, LATER));
        provider.closed(0).await;
    }
}

/// OpenRouter and DeepSeek send comments for minutes before the first word; a slow event is no
/// silence either.
#[tokio::test]
async fn a_provider_that_sends_comments_or_parts_of_an_event_is_not_silent() {
    let whole = Answer::openai("Hi").body_bytes();
    let parts: Vec<Vec<u8>> = whole.chunks(whole.len() / 6).map(<[u8]>::to_vec).collect();
    let comments =
        [": OPENROUTER PROCESSING\n\n", ":\n", ": keep-alive\n\n"].map(|comment| comment.as_bytes().to_vec());
    let chunks: Vec<Vec<u8>> = comments.into_iter().chain(parts).collect();
    let count = chunks.len();
    let provider = FakeProvider::start();
    let gate = provider.gate();
    provider.push(Answer::events(chunks).gated(&gate));
    let model = model(provider.url(), Duration::from_secs(3));
    let prompt = hello();
    let slowly = async {
        for _ in 0..count {
            tokio::time::sleep(Duration::from_millis(600)).await;
            gate.release(1);
        }
    };
    let (outcome, ()) = tokio::join!(ask(&*model, &prompt), slowly);
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
}

#[tokio::test]
async fn an_event_without_end_is_refused_before_it_fills_the_memory() {
    let provider = FakeProvider::start();
    let start = openai::start() + "data: {\"choices\":[{\"delta\":{\"content\":\"";
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
async fn a_reply_without_end_is_refused_before_it_fills_the_memory() {
    let details = json!([{"type": "reasoning.encrypted", "data": "x".repeat(1 << 20)}]);
    let name = json!([{"index": 0, "id": "c", "function": {"name": "x".repeat(100)}}, {"index": 0, "function": {"name": "y"}}]);
    for more in [
        openai::text(&"x".repeat(1 << 20)),
        openai::reasoning(&"x".repeat(1 << 20)),
        openai::arguments(0, &"x".repeat(1 << 20)),
        openai::delta(json!({"reasoning_details": details})),
        openai::calls(name),
    ] {
        let provider = FakeProvider::start();
        provider.push(Answer::events([openai::start()]).then_forever(more));
        let fault = ask(&*model(provider.url(), PATIENT), &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never), "{fault:?}");
        let message = &fault.problem.message;
        assert!(message.contains("cut off"), "{message}");
        assert!(provider.sent_bytes(0) < 80 << 20, "{message} after {} bytes", provider.sent_bytes(0));
    }
}

#[tokio::test]
async fn calls_without_end_are_refused() {
    let calls: Vec<String> = (0..20_000).map(|index| openai::call_start(index, "", "n")).collect();
    let details: Vec<String> = (0..20_000).map(|_| openai::delta(json!({"reasoning_details": [{}]}))).collect();
    for endless in [calls, details] {
        let fault = answered(Answer::events([endless.concat()])).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
    }
}

// ---- refusals ----

#[tokio::test]
async fn each_status_has_its_kind_and_says_whether_to_try_again() {
    let after = |after_ms| Retry::Later { after_ms: Some(after_ms) };
    for (status, kind, expected, retry) in [
        (400, "invalid_request_error", ProblemKind::Refused, Retry::Never),
        (401, "invalid_request_error", ProblemKind::Auth, Retry::Never),
        (402, "insufficient_balance", ProblemKind::Refused, Retry::Never),
        (404, "invalid_request_error", ProblemKind::NotFound, Retry::Never),
        (422, "invalid_request_error", ProblemKind::Refused, Retry::Never),
        (429, "tokens", ProblemKind::RateLimited, after(7_000)),
        (500, "server_error", ProblemKind::Overloaded, after(7_000)),
        (503, "server_error", ProblemKind::Overloaded, after(7_000)),
    ] {
        let body = openai::error_body(kind, None, "Because of the tests.");
        let fault = answered(Answer::json(status, body).header("retry-after", "7")).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{status}");
        let message = &fault.problem.message;
        assert!(message.contains(&status.to_string()) && message.contains("Because of the tests."), "{message}");
    }
}

#[tokio::test]
async fn a_purse_that_is_empty_is_not_tried_again() {
    let bodies = [
        openai::error_body("insufficient_quota", Some("insufficient_quota"), "You exceeded your current quota."),
        openai::error_body("insufficient_quota", Some("credit_balance_exhausted"), "You exceeded your current quota."),
        json!({"code": "personal-team-blocked:spending-limit", "error": "You exceeded your current quota."}),
    ];
    for body in bodies {
        let answers = [
            Answer::json(429, body.clone()).header("retry-after", "1"),
            Answer::json(403, body.clone()),
            Answer::events([openai::event(&body)]),
        ];
        for answer in answers {
            let fault = answered(answer).await.fault();
            assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Refused, Retry::Never), "{fault:?}");
            assert!(fault.problem.message.contains("exceeded"), "{}", fault.problem.message);
            assert!(!fault.problem.message.contains("slow down"), "{}", fault.problem.message);
            assert!(fault.problem.hint.is_some());
        }
    }
}

#[tokio::test]
async fn an_error_within_the_stream_keeps_the_words_and_says_whether_to_try_again() {
    let typed = |kind: &str| openai::error_body(kind, None, "no");
    let chunk = |error: Value| {
        json!({
            "id": "gen-1", "object": "chat.completion.chunk", "provider": "x", "error": error,
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
        })
    };
    for (data, expected, retry, message) in [
        (typed("server_error"), ProblemKind::Overloaded, LATER, "server_error: no"),
        (typed("invalid_request_error"), ProblemKind::Refused, Retry::Never, "invalid_request_error: no"),
        (typed("authentication_error"), ProblemKind::Auth, Retry::Never, "authentication_error: no"),
        (typed("rate_limit_error"), ProblemKind::RateLimited, LATER, "rate_limit_error: no"),
        (typed("of_a_newer_version"), ProblemKind::Overloaded, LATER, "of_a_newer_version: no"),
        (
            openai::error_body("invalid_request_error", Some("context_length_exceeded"), "no"),
            ProblemKind::Refused,
            Retry::Shorter { window: None, prompt: None },
            "invalid_request_error: no",
        ),
        (
            chunk(json!({"code": "server_error", "message": "Gone\u{1b}[2J"})),
            ProblemKind::Overloaded,
            LATER,
            "server_error: Gone [2J",
        ),
        (chunk(json!({"code": 429, "message": "Slowly"})), ProblemKind::RateLimited, LATER, "error 429: Slowly"),
        (
            chunk(json!({"code": 502, "message": "Failed", "metadata": {"raw": "why"}})),
            ProblemKind::Overloaded,
            LATER,
            "error 502: Failed (why)",
        ),
        (chunk(json!({"code": 400, "message": "no"})), ProblemKind::Refused, Retry::Never, "error 400: no"),
        (
            json!({"object": "error", "message": "no", "type": "BadRequestError", "param": null, "code": 400}),
            ProblemKind::Refused,
            Retry::Never,
            "BadRequestError: no",
        ),
        (json!({"error": {"code": "503", "message": "no", "type": "x"}}), ProblemKind::Overloaded, LATER, "x: no"),
        (json!({"error": "The model has crashed"}), ProblemKind::Overloaded, LATER, "an error: The model has crashed"),
        (json!({"error": {}}), ProblemKind::Overloaded, LATER, "an error"),
        (
            json!({"choices": [{"index": 0, "delta": {}, "error": {"code": 408, "message": "no"}}]}),
            ProblemKind::Overloaded,
            LATER,
            "error 408: no",
        ),
        (json!({"choices": [], "x_groq": {"id": "r", "error": "no"}}), ProblemKind::Overloaded, LATER, "an error: no"),
    ] {
        let event = openai::event(&data);
        let outcome = finished(vec![openai::text("So "), event, openai::text("far")], "stop").await;
        assert_eq!((outcome.words.as_str(), &outcome.partial), ("So ", &Message::assistant("So ")), "{data}");
        let fault = outcome.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{data}");
        assert_eq!(fault.problem.message, format!("The provider stopped with {message}"), "{data}");
    }
    for event in ["event: error\ndata: out of memory\n\n", "event: error\ndata: {\"message\":\"out of memory\"}\n\n"] {
        let fault = finished(vec![event.to_owned()], "stop").await.fault();
        assert_eq!(fault.problem.message, "The provider stopped with an error: out of memory");
    }
}

#[tokio::test]
async fn an_event_with_content_that_cannot_be_read_is_a_fault_not_a_hole() {
    for event in [
        openai::event("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half"),
        openai::event("not JSON"),
        "event: message\ndata: not JSON\n\n".into(),
        openai::event("[]"),
        openai::event("7"),
        openai::event("\"[DONE]\""),
        openai::delta(json!({"content": 7})),
        openai::delta(json!({"content": [{"type": "text", "text": 7}]})),
        openai::delta(json!({"tool_calls": {"index": 0}})),
        openai::calls(json!([{"index": 0, "function": {"name": ["n"]}}])),
        openai::delta(json!("words")),
        openai::chunk(json!([{"index": 0, "delta": {}, "finish_reason": 7}]), json!(null)),
        openai::chunk(json!({"index": 0}), json!(null)),
    ] {
        let fault = finished(vec![event.clone()], "stop").await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, wire::again(&event)), "{event}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_refused() {
    let page = Answer::new(200).header("content-type", "text/html").body("<html>Sign in to the hotel's network</html>");
    let document = Answer::json(200, json!({"object": "chat.completion", "choices": []}));
    for answer in [page, document] {
        let fault = answered(answer).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
        assert!(fault.problem.hint.is_some());
    }
}

#[tokio::test]
async fn the_key_is_never_shown_even_by_a_provider_that_repeats_it() {
    let message = format!("Incorrect API key provided: {KEY}.");
    let body = openai::error_body("invalid_request_error", Some("invalid_api_key"), &message);
    let routed = json!({"error": {"message": "no", "code": 401, "metadata": {"raw": KEY}}});
    for answer in [
        Answer::json(401, body.clone()),
        Answer::json(401, routed.clone()),
        Answer::new(401).header("content-type", "text/html").body(format!("<p>{KEY}</p>")),
        Answer::new(200).header("content-type", format!("text/{KEY}")),
        Answer::events([openai::event(&body)]),
        Answer::events([openai::event(&routed)]),
        Answer::events([openai::error(KEY, "no")]),
        Answer::events([openai::event(json!({"error": KEY}))]),
        Answer::events([openai::event(format!("{{\"choices\": \"{KEY}\"}}"))]),
        Answer::events([format!("event: error\ndata: {KEY}\n\n")]),
        Answer::raw(format!("{KEY}\r\n\r\n")),
    ] {
        let outcome = answered(answer.clone()).await;
        let shown = format!("{outcome:?}");
        assert!(outcome.end.is_err(), "{shown}");
        assert!(!shown.contains(&KEY[..10]), "{shown}");
        let provider = FakeProvider::start();
        provider.on_path("/v1/models", answer.clone());
        provider.always(answer);
        let model = model(provider.url(), PATIENT);
        let list = model.list().await.expect_err("a fault");
        let draw = model.draw(&crab()).await.expect_err("a fault");
        assert!(!format!("{list:?}{draw:?}").contains(&KEY[..10]), "{list:?}{draw:?}");
    }
    assert!(!format!("{:?}", registry("http://127.0.0.1:1/v1", PATIENT)).contains(KEY));
}

// ---- the list of models ----

#[tokio::test]
async fn the_models_of_a_server_are_listed_with_what_it_says_of_them() {
    let listed = |name: &str, window: Option<u64>| Listed { name: name.into(), window };
    let documented = json!({"object": "list", "data": [
        {"id": "gpt-4o-mini", "object": "model", "created": 1686935002, "owned_by": "openai"},
        {"id": "meta/llama", "context_length": 131_072, "pricing": {}},
        {"id": "groq", "context_window": 8_192},
        {"id": "vllm", "max_model_len": 4_096},
        {"id": "mistral", "max_context_length": 32_768},
        {"id": "llama.cpp", "meta": {"n_ctx": 2_048, "n_ctx_train": 99_999}},
        {"id": "odd", "context_length": "much", "context_window": 0},
        {"id": ""}, {"id": 7}, {"id": "a\u{1b}[2J"}, {}, "text",
    ]});
    let expected = vec![
        listed("gpt-4o-mini", None),
        listed("meta/llama", Some(131_072)),
        listed("groq", Some(8_192)),
        listed("vllm", Some(4_096)),
        listed("mistral", Some(32_768)),
        listed("llama.cpp", Some(2_048)),
        listed("odd", None),
    ];
    let bare = json!([{"id": "together", "context_length": 7}]);
    for (answer, expected) in
        [(documented, expected), (bare, vec![listed("together", Some(7))]), (json!({"data": []}), vec![])]
    {
        let provider = FakeProvider::start();
        provider.push(Answer::json(200, answer));
        assert_eq!(model(provider.url(), PATIENT).list().await.expect("a list"), expected);
        let request = &provider.requests()[0];
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert!(request.raw.is_empty());
    }
}

#[tokio::test]
async fn a_list_that_is_none_is_a_fault() {
    for (answer, kind, retry) in [
        (Answer::json(200, json!({"models": 7})), ProblemKind::Protocol, Retry::Never),
        (Answer::new(200).body("<html>"), ProblemKind::Protocol, LATER),
        (Answer::json(401, openai::error_body("x", None, "no")), ProblemKind::Auth, Retry::Never),
        (Answer::json(200, json!({"data": []})).cut_after(3), ProblemKind::Network, LATER),
        (Answer::json(200, json!({"data": "x".repeat(20 << 20)})), ProblemKind::Protocol, Retry::Never),
    ] {
        let provider = FakeProvider::start();
        provider.on_path("/v1/models", answer);
        let fault = model(provider.url(), PATIENT).list().await.expect_err("a fault");
        assert_eq!((fault.problem.kind, fault.retry), (kind, retry), "{fault:?}");
    }
}

// ---- pictures ----

fn crab() -> DrawOrder {
    crabs(2)
}

fn crabs(count: u32) -> DrawOrder {
    DrawOrder { prompt: "A crab".into(), count, size: Some("1024x1024".into()) }
}

async fn drawn(answer: Answer) -> Result<Vec<DrawnImage>, Fault> {
    let provider = FakeProvider::start();
    provider.push(answer);
    tokio::time::timeout(BOUND, model(provider.url(), PATIENT).draw(&crab())).await.expect("a call that ends")
}

#[tokio::test]
async fn pictures_are_ordered_as_documented_and_come_as_their_bytes() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(
        200,
        json!({"created": 1713833628, "data": [
            {"b64_json": "iVBORw0KGgoB", "revised_prompt": "A red crab"},
            {"b64_json": "/9j/4A==", "url": null, "revised_prompt": ""},
            {"b64_json": "R0lGODlh"},
            {"b64_json": "data:image/webp;base64,UklGRgAAAABXRUJQ"},
        ], "usage": {"total_tokens": 100}}),
    ));
    let pictures = model(provider.url(), PATIENT).draw(&crabs(4)).await.expect("pictures");
    let picture = |bytes: &[u8], media_type, revised: Option<&str>| DrawnImage {
        bytes: bytes.to_vec(),
        media_type,
        revised_prompt: revised.map(str::to_owned),
    };
    assert_eq!(
        pictures,
        [
            picture(b"\x89PNG\r\n\x1a\n\x01", "image/png", Some("A red crab")),
            picture(&[0xff, 0xd8, 0xff, 0xe0], "image/jpeg", None),
            picture(b"GIF89a", "image/gif", None),
            picture(b"RIFF\0\0\0\0WEBP", "image/webp", None),
        ]
    );
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/images/generations"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(
        request.body,
        json!({"model": "gpt-4o-mini", "prompt": "A crab", "n": 4, "size": "1024x1024", "response_format": "url"})
    );
}

#[tokio::test]
async fn the_bytes_behind_an_address_are_fetched_at_once_and_without_the_key() {
    let provider = FakeProvider::start();
    let url = format!("{}/crab.gif", provider.url());
    let gone = format!("{}/gone.gif", provider.url());
    provider.on_path("/crab.gif", Answer::new(200).header("content-type", "image/svg+xml").body("GIF89a!"));
    provider.on_path("/gone.gif", Answer::new(410).body("gone"));
    provider.push(Answer::json(200, json!({"data": [{"url": gone}, {"url": url, "revised_prompt": "A red crab"}]})));
    let pictures = model(provider.url(), PATIENT).draw(&crab()).await.expect("the one that is there");
    let revised_prompt = Some("A red crab".to_owned());
    assert_eq!(pictures, [DrawnImage { bytes: b"GIF89a!".to_vec(), media_type: "image/gif", revised_prompt }]);
    let requests = provider.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/v1/images/generations", "/gone.gif", "/crab.gif"]);
    assert!(requests[1..].iter().all(|request| request.header("authorization").is_none()), "the key was sent along");
}

#[tokio::test]
async fn a_picture_that_is_none_or_does_not_come_is_a_fault() {
    let provider = FakeProvider::start();
    let url = |path: &str| format!("{}{path}", provider.url());
    provider.on_path("/page", Answer::new(200).body("<html>"));
    provider.on_path("/drawing", Answer::new(200).body("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"));
    provider.on_path("/large", Answer::new(200).body(format!("GIF89a{}", "x".repeat(33_000_000))));
    provider.on_path("/forbidden", Answer::new(403).body("no"));
    provider.on_path("/elsewhere", Answer::new(302).header("location", "http://169.254.169.254/").body(""));
    for (address, kind) in [
        (url("/page"), ProblemKind::Protocol),
        (url("/drawing"), ProblemKind::Protocol),
        (url("/large"), ProblemKind::Network),
        (url("/forbidden"), ProblemKind::Network),
        (url("/elsewhere"), ProblemKind::Network),
        ("file:///etc/passwd".to_owned(), ProblemKind::Network),
        ("http://169.254.169.254/latest/meta-data".to_owned(), ProblemKind::Network),
        ("not an address".to_owned(), ProblemKind::Network),
    ] {
        provider.push(Answer::json(200, json!({"data": [{"url": address}]})));
        let call = model(provider.url(), PATIENT);
        let fault = tokio::time::timeout(BOUND, call.draw(&crab())).await.expect("an end").expect_err("a fault");
        assert_eq!((fault.problem.kind, fault.retry), (kind, Retry::Never), "{address}: {fault:?}");
    }
}

#[tokio::test]
async fn models_are_asked_for_pictures_in_the_form_that_they_take() {
    let provider = FakeProvider::start();
    for (name, format) in [("gpt-image-1", None), ("imagen-3.0", Some("b64_json")), ("grok-2-image", Some("url"))] {
        provider.push(Answer::json(200, json!({"data": [{"b64_json": "R0lGODlh"}]})));
        named(provider.url(), name).draw(&crabs(1)).await.expect("a picture");
        let body = provider.requests().last().expect("a request").body.clone();
        assert_eq!(body.get("response_format").and_then(|form| form.as_str()), format, "{name}");
    }
}

#[tokio::test]
async fn a_provider_without_pictures_says_what_to_do() {
    let fault = drawn(Answer::json(404, json!({}))).await.expect_err("a fault");
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::NotFound, Retry::Never));
    assert!(fault.problem.hint.as_ref().is_some_and(|hint| hint.contains("models.image")), "{fault:?}");
}

#[tokio::test]
async fn an_answer_without_a_picture_is_a_fault() {
    let after = Retry::Later { after_ms: Some(7_000) };
    let body = openai::error_body("image_generation_user_error", Some("moderation_blocked"), "Not that.");
    for (answer, kind, retry) in [
        (Answer::json(200, json!({"data": []})), ProblemKind::Protocol, Retry::Never),
        (Answer::json(200, json!({"created": 7})), ProblemKind::Protocol, Retry::Never),
        (Answer::json(200, json!({"data": [{}]})), ProblemKind::Protocol, Retry::Never),
        (Answer::json(200, json!({"data": [{"b64_json": "iVBORw0KGgo"}]})), ProblemKind::Protocol, Retry::Never),
        (Answer::json(200, json!({"data": [{"b64_json": "PHN2Zz4="}]})), ProblemKind::Protocol, Retry::Never),
        (Answer::json(400, body), ProblemKind::Refused, Retry::Never),
        (Answer::json(429, json!({})).header("retry-after", "7"), ProblemKind::RateLimited, after),
    ] {
        let fault = drawn(answer).await.expect_err("a fault");
        assert_eq!((fault.problem.kind, fault.retry), (kind, retry), "{fault:?}");
    }
}

#[tokio::test]
async fn what_llama_cpp_tells_of_its_speed_is_kept() {
    let progress = |processed: u64| {
        let choice = json!([{"index": 0, "delta": {"role": "assistant", "content": null}, "finish_reason": null}]);
        let read = json!({"total": 7_903, "cache": 0, "processed": processed, "time_ms": 12});
        openai::event(json!({"choices": choice, "prompt_progress": read}))
    };
    let figures = json!({"prompt_tokens": 7_903, "completion_tokens": 2, "total_tokens": 7_905});
    let timings = json!({"prompt_n": 7_903, "prompt_ms": 900.0, "predicted_n": 2, "predicted_per_second": 31.25});
    let end = openai::event(json!({"choices": [], "usage": figures, "timings": timings}));
    let events = [progress(3_400), progress(7_903), openai::text("Hi"), openai::finish("stop"), end, openai::done()];
    let outcome = streamed(events).await;
    let read = |piece: &ReplyPiece| match piece {
        ReplyPiece::Progress(progress) => Some((progress.read_tokens, progress.prompt_tokens)),
        _ => None,
    };
    assert_eq!(outcome.pieces.iter().filter_map(read).collect::<Vec<_>>(), [(3_400, 7_903), (7_903, 7_903)]);
    let reply = outcome.reply();
    assert_eq!((reply.message, reply.usage.tokens_per_s), (Message::assistant("Hi"), Some(31.25)));
}

#[tokio::test]
async fn a_server_of_this_machine_is_told_the_effort_by_the_switch_of_the_template() {
    let provider = FakeProvider::start();
    provider.always(Answer::openai("Hi"));
    let prompt = Prompt { effort: Some(Effort::Off), ..hello() };
    let outcome = ask(&*named(provider.url(), "qwen3"), &prompt).await;
    assert_eq!(outcome.warnings, Vec::<String>::new(), "a server of this machine passes it on to the model's template");
    let body = &provider.requests().pop().expect("a request").body;
    assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false}));
    assert_eq!((&body["thinking_budget_tokens"], body.get("reasoning_effort")), (&json!(0), None));
}

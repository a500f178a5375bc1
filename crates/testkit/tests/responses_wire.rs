//! The Responses dialect over real sockets, against a provider that answers as it should, and as it
//! should not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, Request, responses};
use trimtab_testkit::wire::{self, Cuts, IMPATIENT, LATER, Outcome, PATIENT, WORDS, ask};
use trimtab_vocab::{
    Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolCall, ToolResult, ToolSpec, Usage,
};
use trimtab_world::models::{Dialect, DrawOrder, Listed, Model, ModelRegistry, Provider, Registry};

const KEY: &str = "sk-proj-0123456789abcdef";

fn registry(url: &str, idle: Duration) -> Registry {
    let provider = Provider {
        dialect: Dialect::Responses,
        base_url: format!("{url}/v1"),
        key_env: Some("OPENAI_API_KEY".into()),
        key: Some(KEY.into()),
        extras: Arc::default(),
    };
    Registry { providers: [("openai".to_owned(), provider)].into(), idle, record: None }
}

fn named_model(url: &str, name: &str) -> Arc<dyn Model> {
    registry(url, PATIENT).find(&format!("openai/{name}")).expect("a model")
}

fn model(url: &str, idle: Duration) -> Arc<dyn Model> {
    registry(url, idle).find("openai/gpt-5.2").expect("a model")
}

fn prompt(messages: Vec<Message>) -> Prompt {
    wire::prompt("openai/gpt-5.2", messages)
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

/// What a model of this name is sent for a prompt.
async fn sent(name: &str, prompt: &Prompt) -> Value {
    let provider = FakeProvider::start();
    provider.push(Answer::responses("Hi"));
    ask(&*named_model(provider.url(), name), prompt).await.reply();
    provider.requests()[0].body.clone()
}

fn shown(request: &Request) -> String {
    let names = ["content-type", "accept", "authorization", "x-api-key"];
    let headers: Vec<String> =
        names.iter().map(|name| format!("{name}: {}", request.header(name).unwrap_or("(none)"))).collect();
    let body = serde_json::to_string_pretty(&request.body).expect("writes");
    format!("{} {}\n{}\n\n{body}", request.method, request.path, headers.join("\n"))
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn tool(id: &str, name: &str, input: Value) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input, broken: None })
}

fn picture(name: &str) -> RefKey {
    name.parse().expect("a key")
}

fn nothing_read() -> Usage {
    Usage::default()
}

fn completed() -> String {
    responses::completed(&[], &nothing_read())
}

// ---- what is sent ----

fn reasoning_part(item: Value) -> Part {
    Part::Thinking { text: "Look first.".into(), signature: Some(item.to_string()), by: Some("responses".into()) }
}

fn conversation() -> Prompt {
    let seen = picture("0badf00d");
    let mut item = responses::reasoning(0, &["Look first."], Some("gAAAAABo"));
    item["status"] = json!("completed");
    item["content"] = json!([]);
    let said = Message {
        role: Role::Assistant,
        parts: vec![
            reasoning_part(item),
            Part::Thinking { text: "Unsigned.".into(), signature: None, by: Some("responses".into()) },
            Part::Thinking { text: "Theirs.".into(), signature: Some("c2ln".into()), by: Some("anthropic".into()) },
            Part::RedactedThinking { data: responses::reasoning(8, &[], Some("x")).to_string(), by: None },
            Part::RedactedThinking {
                data: responses::reasoning(9, &[], Some("x")).to_string(),
                by: Some("openai".into()),
            },
            text("Let me look."),
            Part::Image { image: seen.clone(), media_type: "image/png".into() },
            text(" \n"),
            Part::RedactedThinking {
                data: responses::reasoning(2, &[], Some("gAAAAABp")).to_string(),
                by: Some("responses".into()),
            },
            tool("call_1", "read", json!({"path": "a"})),
            Part::ToolUse(ToolCall {
                id: "call_2".into(),
                name: "read".into(),
                input: json!(null),
                broken: Some("{".into()),
            }),
        ],
    };
    let results = Message {
        role: Role::User,
        parts: vec![
            Part::ToolResult(ToolResult::success("call_1", "über 🦀")),
            Part::ToolResult(ToolResult::error("call_2", "The arguments are not JSON.")),
            text("And this?"),
            Part::Image { image: seen.clone(), media_type: "image/png".into() },
            Part::Image { image: picture("lost"), media_type: "image/png".into() },
        ],
    };
    let silence = Message { role: Role::Assistant, parts: vec![text("")] };
    let any = ToolSpec {
        name: "read".into(),
        description: "Reads a file.".into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}, "from": {"type": "integer"}}, "required": ["path"]}),
    };
    let strict = ToolSpec {
        name: "now".into(),
        description: "Tells the time.".into(),
        input_schema: json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
    };
    Prompt {
        images: [(seen, Arc::from("iVBORw0KGgo"))].into(),
        tools: vec![Arc::new(any), Arc::new(strict)],
        ..prompt(vec![Message::user("Hello"), said, results, silence])
    }
}

#[tokio::test]
async fn the_request_is_the_documented_one() {
    let provider = FakeProvider::start();
    provider.always(Answer::responses("Hi"));
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": false});
    let prompt = Prompt {
        thinking_tokens: 8_000,
        temperature: Some(0.5),
        format: Some(Format::Schema { name: "the reply".into(), schema }),
        ..conversation()
    };
    ask(&*model(provider.url(), PATIENT), &prompt).await.reply();
    let request = &provider.requests()[0];
    insta::assert_snapshot!(shown(request), @r#"
    POST /v1/responses
    content-type: application/json
    accept: text/event-stream
    authorization: Bearer sk-proj-0123456789abcdef
    x-api-key: (none)

    {
      "model": "gpt-5.2",
      "instructions": "Be brief.",
      "input": [
        {
          "type": "message",
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "Hello"
            }
          ]
        },
        {
          "type": "reasoning",
          "id": "rs_0",
          "summary": [
            {
              "type": "summary_text",
              "text": "Look first."
            }
          ],
          "encrypted_content": "gAAAAABo"
        },
        {
          "type": "message",
          "role": "assistant",
          "content": [
            {
              "type": "output_text",
              "text": "Let me look."
            }
          ]
        },
        {
          "type": "reasoning",
          "id": "rs_2",
          "summary": [],
          "encrypted_content": "gAAAAABp"
        },
        {
          "type": "function_call",
          "call_id": "call_1",
          "name": "read",
          "arguments": "{\"path\":\"a\"}"
        },
        {
          "type": "function_call",
          "call_id": "call_2",
          "name": "read",
          "arguments": "{}"
        },
        {
          "type": "function_call_output",
          "call_id": "call_1",
          "output": "über 🦀"
        },
        {
          "type": "function_call_output",
          "call_id": "call_2",
          "output": "The arguments are not JSON."
        },
        {
          "type": "message",
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "And this?"
            },
            {
              "type": "input_image",
              "image_url": "data:image/png;base64,iVBORw0KGgo",
              "detail": "auto"
            },
            {
              "type": "input_text",
              "text": "[image missing]"
            }
          ]
        }
      ],
      "tools": [
        {
          "type": "function",
          "name": "read",
          "description": "Reads a file.",
          "parameters": {
            "type": "object",
            "properties": {
              "path": {
                "type": "string"
              },
              "from": {
                "type": "integer"
              }
            },
            "required": [
              "path"
            ]
          },
          "strict": false
        },
        {
          "type": "function",
          "name": "now",
          "description": "Tells the time.",
          "parameters": {
            "type": "object",
            "properties": {},
            "required": [],
            "additionalProperties": false
          },
          "strict": true
        }
      ],
      "text": {
        "format": {
          "type": "json_schema",
          "name": "the_reply",
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
          },
          "strict": true
        }
      },
      "reasoning": {
        "effort": "medium",
        "summary": "auto"
      },
      "max_output_tokens": 256,
      "include": [
        "reasoning.encrypted_content"
      ],
      "store": false,
      "stream": true
    }
    "#);
    assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("trimtab/")));
}

#[tokio::test]
async fn a_request_without_instructions_tools_or_key_names_none() {
    let provider = FakeProvider::start();
    provider.push(Answer::responses("Hi"));
    let mut registry = registry(provider.url(), PATIENT);
    let settings = registry.providers.get_mut("openai").expect("the provider");
    (settings.key, settings.key_env) = (None, None);
    settings.base_url.push('/');
    let mut prompt = hello();
    prompt.system.clear();
    ask(&*registry.find("openai/m").expect("a model"), &prompt).await.reply();
    let request = &provider.requests()[0];
    assert_eq!((request.path.as_str(), request.header("authorization")), ("/v1/responses", None));
    for name in ["instructions", "tools", "text", "reasoning", "temperature"] {
        assert_eq!(request.body.get(name), None, "{name}");
    }
}

/// The API answers a setting that a model has no use for with an error.
#[tokio::test]
async fn a_model_is_sent_only_the_settings_that_it_takes() {
    let thought = reasoning_part(responses::reasoning(0, &[], Some("gAAAAABo")));
    let said = Message { role: Role::Assistant, parts: vec![thought, text("Hi")] };
    let messages = vec![Message::user("Hello"), said, Message::user("So?")];
    let prompt = Prompt { thinking_tokens: 1, temperature: Some(0.5), ..prompt(messages) };
    let items = |body: &Value| body["input"].as_array().map(Vec::len);
    let encrypted = json!(["reasoning.encrypted_content"]);
    for name in
        ["gpt-5", "gpt-5-mini", "gpt-5.6-sol", "gpt-6-luna", "o3", "o4-mini", "codex-mini-latest", "gpt-oss-20b"]
    {
        let body = sent(name, &prompt).await;
        assert_eq!(body.get("temperature"), None, "{name}");
        assert_eq!((&body["reasoning"]["effort"], &body["include"]), (&json!("low"), &encrypted), "{name}");
        assert_eq!(items(&body), Some(4), "{name}");
    }
    for name in ["gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "chatgpt-4o-latest", "gpt-5-chat-latest", "ft:gpt-4.1:me"] {
        let body = sent(name, &prompt).await;
        assert_eq!((body.get("reasoning"), body.get("include"), items(&body)), (None, None, Some(3)), "{name}");
        assert_eq!(body["temperature"], 0.5, "{name}");
    }
    for name in ["grok-4", "gptx", "omni", "o"] {
        let body = sent(name, &prompt).await;
        assert_eq!((&body["temperature"], &body["reasoning"]["effort"]), (&json!(0.5), &json!("low")), "{name}");
    }
}

#[tokio::test]
async fn thinking_is_asked_for_in_three_words() {
    for (tokens, effort) in [(1, "low"), (4_096, "low"), (4_097, "medium"), (16_384, "medium"), (16_385, "high")] {
        let body = sent("gpt-5.2", &Prompt { thinking_tokens: tokens, ..hello() }).await;
        assert_eq!(body["reasoning"], json!({"effort": effort, "summary": "auto"}), "{tokens}");
    }
    assert_eq!(sent("gpt-5.2", &hello()).await.get("reasoning"), None);
}

#[tokio::test]
async fn a_limit_that_the_api_would_refuse_is_raised_to_its_smallest() {
    for (limit, expected) in [(1, 16), (16, 16), (17, 17)] {
        let body = sent("gpt-5.2", &Prompt { max_output_tokens: limit, ..hello() }).await;
        assert_eq!(body["max_output_tokens"], expected);
    }
}

#[tokio::test]
async fn a_schema_is_strict_only_if_the_api_can_hold_the_model_to_it() {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let inner = object(json!({"b": {"type": "string", "enum": ["x"]}}), json!(["b"]));
    let nested =
        |levels| (0..levels).fold(object(json!({}), json!([])), |inner, _| object(json!({"a": inner}), json!(["a"])));
    let strict = [
        object(json!({}), json!([])),
        nested(9),
        object(json!({"a": {"type": "array", "items": inner}}), json!(["a"])),
        object(json!({"a": {"anyOf": [{"type": "null"}, inner]}}), json!(["a"])),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "required": ["a"], "additionalProperties": false, "$defs": {"b": inner}}),
    ];
    let loose = [
        nested(10),
        object(json!({"a": {"type": "string", "format": "phone"}}), json!(["a"])),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false, "anyOf": [inner]}),
        json!({"type": "object"}),
        json!({"type": "array", "items": inner}),
        json!({"anyOf": [inner]}),
        json!(true),
        object(json!({"a": {"type": "string"}}), json!([])),
        object(json!({"a": {"type": "string", "default": "x"}}), json!(["a"])),
        object(json!({"a": {"oneOf": [{"type": "string"}]}}), json!(["a"])),
        object(json!({"a": {"type": "object", "properties": {}}}), json!(["a"])),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false, "$defs": {"b": {"type": "object"}}}),
    ];
    for (schemas, expected) in [(strict.to_vec(), true), (loose.to_vec(), false)] {
        for schema in schemas {
            let format = Some(Format::Schema { name: String::new(), schema: schema.clone() });
            let body = sent("gpt-5.2", &Prompt { format, ..hello() }).await;
            let expected = json!({"type": "json_schema", "name": "reply", "schema": schema, "strict": expected});
            assert_eq!(body["text"]["format"], expected);
        }
    }
}

/// The API refuses JSON mode for a conversation without the word, wherever else it stands.
#[tokio::test]
async fn json_is_asked_for_with_the_word_that_the_api_demands() {
    let json = |messages| Prompt { format: Some(Format::Json), system: "Answer in JSON.".into(), ..prompt(messages) };
    let body = sent("gpt-5.2", &json(vec![Message::user("List them.")])).await;
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}}));
    assert_eq!(
        body["input"][0],
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Answer with one JSON object."}]})
    );
    assert_eq!(body["input"].as_array().map(Vec::len), Some(2));
    let body = sent("gpt-5.2", &json(vec![Message::user("List them as Json.")])).await;
    assert_eq!(body["input"].as_array().map(Vec::len), Some(1));
}

/// `reasoning` without its following item is an error of the whole request.
#[tokio::test]
async fn reasoning_that_led_to_nothing_is_not_sent_back() {
    let thoughts = |index| reasoning_part(responses::reasoning(index, &["Hm."], Some("gAAAAABo")));
    let assistant = |parts| Message { role: Role::Assistant, parts };
    let messages = vec![
        Message::user("Go on"),
        assistant(vec![thoughts(0), text("Yes."), thoughts(1), thoughts(2), text("")]),
        Message::user("And?"),
        assistant(vec![thoughts(3)]),
        assistant(vec![thoughts(4), thoughts(5), tool("c", "now", json!({}))]),
        Message { role: Role::User, parts: vec![Part::ToolResult(ToolResult::success("c", "noon"))] },
    ];
    let body = sent("gpt-5.2", &prompt(messages)).await;
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item.get("id").unwrap_or(&item["type"]).as_str().expect("a name"))
        .collect();
    assert_eq!(
        kinds,
        ["message", "rs_0", "message", "message", "rs_4", "rs_5", "function_call", "function_call_output"]
    );
}

#[tokio::test]
async fn a_proof_that_is_no_reasoning_item_is_not_sent_back() {
    for proof in ["", "c2ln", "{}", "[]", "{\"id\":7,\"summary\":[]}"] {
        let said = Message {
            role: Role::Assistant,
            parts: vec![
                Part::Thinking { text: "Hm.".into(), signature: Some(proof.into()), by: Some("responses".into()) },
                text("Yes."),
            ],
        };
        let body = sent("gpt-5.2", &prompt(vec![Message::user("So?"), said])).await;
        assert_eq!(body["input"].as_array().map(Vec::len), Some(2), "{proof}");
    }
}

#[tokio::test]
async fn reasoning_goes_back_exactly_as_it_came() {
    let provider = FakeProvider::start();
    provider.push(Answer::responses(Reply::new().thinking(["Think", "ing."], "gAAAAABo").redacted("gAAAAABp").tool(
        "call_3",
        "now",
        ["{}"],
    )));
    provider.push(Answer::responses("Noon."));
    let model = model(provider.url(), PATIENT);
    let said = ask(&*model, &hello()).await.reply().message;
    let result = Message { role: Role::User, parts: vec![Part::ToolResult(ToolResult::success("call_3", "noon"))] };
    ask(&*model, &prompt(vec![Message::user("Hello"), said, result])).await.reply();
    let input = provider.requests()[1].body["input"].clone();
    assert_eq!(
        input[1],
        json!({"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "Thinking."}], "encrypted_content": "gAAAAABo"})
    );
    assert_eq!(input[2], json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABp"}));
    assert_eq!(input[3], json!({"type": "function_call", "call_id": "call_3", "name": "now", "arguments": "{}"}));
}

// ---- what comes back ----

#[tokio::test]
async fn a_documented_stream_becomes_the_reply_it_says() {
    let usage =
        Usage { input_tokens: 60, cached_tokens: 20, cache_write_tokens: 30, output_tokens: 89, ..Usage::default() };
    let reply = Reply::new()
        .thinking(["Think", "ing."], "gAAAAABo")
        .redacted("gAAAAABp")
        .text(["Okay, ", "let's ", "check 🦀."])
        .tool("call_01", "get_weather", ["{\"loc", "ation\": \"S", "an Francisco\"}"])
        .tool("call_02", "now", [""])
        .usage(usage);
    for size in [1, 7, 64, 100_000] {
        let outcome = answered(Answer::responses(reply.clone()).chunked(size)).await;
        assert_eq!(outcome.words, "Okay, let's check 🦀.");
        let reply = outcome.reply();
        let by = || Some("responses".to_owned());
        let item = |index, summary: &[&str], content| responses::reasoning(index, summary, Some(content)).to_string();
        assert_eq!(
            reply.message.parts,
            [
                Part::Thinking {
                    text: "Thinking.".into(),
                    signature: Some(item(0, &["Thinking."], "gAAAAABo")),
                    by: by()
                },
                Part::RedactedThinking { data: item(1, &[], "gAAAAABp"), by: by() },
                text("Okay, let's check 🦀."),
                tool("call_01", "get_weather", json!({"location": "San Francisco"})),
                tool("call_02", "now", json!({})),
            ]
        );
        assert_eq!(
            (reply.message.role, reply.stop_reason, reply.usage),
            (Role::Assistant, Some(StopReason::ToolUse), usage)
        );
    }
}

/// What the real service adds: padding against listeners, log probabilities, keys in another order.
#[tokio::test]
async fn the_padding_and_the_order_of_the_real_service_are_read() {
    let outcome = streamed([
        "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
        "event: response.output_item.added\ndata: {\"item\":{\"content\":[],\"role\":\"assistant\",\"phase\":\"final_answer\",\"id\":\"msg_1\",\"type\":\"message\"},\"output_index\":0,\"sequence_number\":2,\"type\":\"response.output_item.added\"}\n\n",
        "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"ok\",\"logprobs\":[],\"obfuscation\":\"Qm8KcJ2x9fZ\"}\n\n",
        "event: response.completed\ndata: {\"response\":{\"usage\":{\"total_tokens\":484,\"output_tokens\":4,\"output_tokens_details\":{\"reasoning_tokens\":2},\"input_tokens\":480,\"input_tokens_details\":{\"cached_tokens\":8}},\"status\":\"completed\"},\"type\":\"response.completed\"}\n\n",
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!(reply.message, Message::assistant("ok"));
    assert_eq!((reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens), (480, 8, 4));
}

#[tokio::test]
async fn events_items_and_parts_of_a_newer_version_are_skipped() {
    let outcome = streamed([
        responses::event("response.weather", "{\"type\":\"response.weather\",\"delta\":[1,2]}"),
        responses::event("response.audio.delta", "{\"type\":\"response.audio.delta\",\"delta\":{}}"),
        responses::event("note", "not even JSON"),
        responses::event("response.queued", "{\"type\":\"response.queued\",\"response\":{}}"),
        responses::event("keepalive", "{\"type\":\"keepalive\",\"sequence_number\":3}"),
        responses::created(),
        ": a comment\n\nid: 7\n\nretry: 10\n\n".into(),
        responses::item_added(0, json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"})),
        responses::event("response.web_search_call.searching", "{\"type\":\"response.web_search_call.searching\"}"),
        responses::text_delta(0, 0, "not ours"),
        responses::summary_delta(0, 0, "nor this"),
        responses::arguments_delta(0, "{}"),
        responses::arguments_done(0, "{}"),
        responses::item_done(0, json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})),
        responses::item_added(1, json!({"type": "message", "content": null, "later": true})),
        responses::text_delta(1, 0, "Hi"),
        responses::event(
            "response.output_text.annotation.added",
            "{\"type\":\"response.output_text.annotation.added\",\"output_index\":1,\"annotation\":{}}",
        ),
        responses::item_done(1, json!({"type": "message", "content": [{"type": "hologram", "text": "no"}]})),
        responses::item_done(2, json!({"type": "thing"})),
        completed(),
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!((reply.message, reply.stop_reason), (Message::assistant("Hi"), Some(StopReason::EndTurn)));
}

#[tokio::test]
async fn figures_may_be_missing_or_odd() {
    for usage in
        [json!(null), json!([]), json!("7"), json!({}), json!({"input_tokens": -1, "input_tokens_details": null})]
    {
        let response = json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}});
        let reply = streamed([responses::text_delta(0, 0, "Hi"), responses::event("response.completed", response)])
            .await
            .reply();
        assert_eq!((reply.usage, reply.stop_reason), (Usage::default(), Some(StopReason::EndTurn)), "{usage}");
    }
}

#[tokio::test]
async fn each_way_to_stop_has_its_reason() {
    let words = || vec![responses::text_delta(0, 0, "Hi")];
    let call = || vec![responses::item_done(1, responses::function_call(1, "completed", "c", "now", "{}"))];
    let refusal = || vec![responses::refusal_delta(0, 0, "No.")];
    let incomplete = |reason| responses::incomplete(reason, &[], &nothing_read());
    let bare = |response| {
        responses::event("response.incomplete", json!({"type": "response.incomplete", "response": response}))
    };
    for (events, end, expected) in [
        (words(), completed(), StopReason::EndTurn),
        (Vec::new(), completed(), StopReason::EndTurn),
        ([words(), call()].concat(), completed(), StopReason::ToolUse),
        (refusal(), completed(), StopReason::ContentFiltered),
        ([refusal(), call()].concat(), completed(), StopReason::ToolUse),
        (words(), incomplete("max_output_tokens"), StopReason::MaxTokens),
        (call(), incomplete("max_output_tokens"), StopReason::MaxTokens),
        (words(), incomplete("content_filter"), StopReason::ContentFiltered),
        (words(), incomplete("solar_flare"), StopReason::Other("solar_flare".into())),
        (words(), bare(json!({"status": "incomplete"})), StopReason::Other("incomplete".into())),
    ] {
        let outcome = streamed([events.clone(), vec![end.clone()]].concat()).await;
        assert_eq!(outcome.reply().stop_reason, Some(expected), "{events:?} {end}");
    }
}

#[tokio::test]
async fn the_parts_of_an_item_keep_their_order_whatever_the_order_of_their_pieces() {
    let outcome = streamed([
        responses::text_delta(2, 1, "d"),
        responses::text_delta(2, 0, "b"),
        responses::item_done(0, responses::reasoning(0, &[], Some("gAAAAABo"))),
        responses::text_delta(2, 1, "e"),
        responses::arguments_delta(1, "{}"),
        responses::item_done(1, responses::function_call(1, "completed", "c", "now", "{}")),
        responses::text_delta(2, 0, "c"),
        responses::refusal_delta(2, 2, "f"),
        responses::text_delta(3, 0, "g"),
        completed(),
    ])
    .await;
    let data = responses::reasoning(0, &[], Some("gAAAAABo")).to_string();
    assert_eq!(
        outcome.reply().message.parts,
        [
            Part::RedactedThinking { data, by: Some("responses".into()) },
            tool("c", "now", json!({})),
            text("bc"),
            text("de"),
            text("f"),
            text("g"),
        ]
    );
}

#[tokio::test]
async fn words_that_come_only_at_the_end_of_a_part_or_item_are_read() {
    let content = json!([responses::output_text("Hello"), {"type": "refusal", "refusal": "No."}]);
    let whole = responses::item_done(0, responses::message(0, "completed", content));
    for events in [
        vec![whole.clone()],
        vec![responses::text_delta(0, 0, "Hel"), whole.clone()],
        vec![responses::text_done(0, 0, "Hello"), responses::refusal_done(0, 1, "No."), whole.clone()],
        vec![responses::text_delta(0, 0, "Hello"), responses::text_done(0, 0, "Hello"), whole],
    ] {
        let reply = streamed([events.clone(), vec![completed()]].concat()).await.reply();
        assert_eq!(reply.message.parts, [text("Hello"), text("No.")], "{events:?}");
    }
}

#[tokio::test]
async fn words_that_were_shown_stand_whatever_the_end_of_their_part_says() {
    let outcome = streamed([
        responses::text_delta(0, 0, "Hello"),
        responses::text_done(0, 0, "Goodbye"),
        responses::item_done(0, responses::message(0, "completed", json!([responses::output_text("Hell")]))),
        completed(),
    ]);
    assert_eq!(outcome.await.reply().message, Message::assistant("Hello"));
}

#[tokio::test]
async fn the_paragraphs_of_a_summary_are_one_part() {
    let item = responses::reasoning(0, &["First.", "Second."], Some("gAAAAABo"));
    let pieces = || {
        vec![
            responses::summary_part_added(0, 0),
            responses::summary_delta(0, 0, "Fir"),
            responses::summary_delta(0, 0, "st."),
            responses::summary_done(0, 0, "First."),
            responses::summary_part_done(0, 0, "First."),
            responses::summary_part_added(0, 1),
            responses::summary_delta(0, 1, "Second."),
        ]
    };
    for events in [pieces(), Vec::new()] {
        let end = vec![responses::item_done(0, item.clone()), responses::item_done(0, item.clone()), completed()];
        let reply = streamed([events, end].concat()).await.reply();
        let expected = Part::Thinking {
            text: "First.\n\nSecond.".into(),
            signature: Some(item.to_string()),
            by: Some("responses".into()),
        };
        assert_eq!(reply.message.parts, [expected]);
    }
}

#[tokio::test]
async fn reasoning_that_is_shown_itself_is_read_and_goes_back() {
    let mut item = responses::reasoning(0, &[], None);
    item["content"] = json!([{"type": "reasoning_text", "text": "We must look."}]);
    for events in
        [vec![responses::reasoning_delta(0, 0, "We must"), responses::reasoning_delta(0, 0, " look.")], Vec::new()]
    {
        let outcome = streamed([events, vec![responses::item_done(0, item.clone()), completed()]].concat()).await;
        let expected = Part::Thinking {
            text: "We must look.".into(),
            signature: Some(item.to_string()),
            by: Some("responses".into()),
        };
        assert_eq!(outcome.reply().message.parts, [expected]);
    }
}

/// With nothing stored, the provider would look for it in vain and refuse the whole conversation.
#[tokio::test]
async fn reasoning_that_only_has_a_name_does_not_go_back() {
    let outcome = streamed([
        responses::summary_delta(0, 0, "Hm."),
        responses::item_done(0, responses::reasoning(0, &["Hm."], None)),
        responses::item_done(1, responses::reasoning(1, &[], None)),
        responses::item_done(2, json!({"type": "reasoning", "summary": [], "encrypted_content": null, "id": "rs_2"})),
        completed(),
    ]);
    let expected = Part::Thinking { text: "Hm.".into(), signature: None, by: Some("responses".into()) };
    assert_eq!(outcome.await.reply().message.parts, [expected]);
}

/// The content that an item has when it begins may be only the first of it.
#[tokio::test]
async fn the_proof_is_that_of_the_finished_item() {
    let finished = responses::reasoning(0, &[], Some("gAAAAABo-whole"));
    let outcome = streamed([
        responses::item_added(0, responses::reasoning(0, &[], Some("gAAA"))),
        responses::item_done(0, finished.clone()),
        completed(),
    ]);
    let data = finished.to_string();
    assert_eq!(outcome.await.reply().message.parts, [Part::RedactedThinking { data, by: Some("responses".into()) }]);
}

// ---- calls ----

fn call(arguments: &str) -> Value {
    responses::function_call(0, "completed", "c", "n", arguments)
}

#[tokio::test]
async fn arguments_may_come_in_pieces_or_whole() {
    let begun =
        |arguments: &str| responses::item_added(0, responses::function_call(0, "in_progress", "c", "n", arguments));
    let whole = "{\"a\":1}";
    for events in [
        vec![begun(""), responses::arguments_delta(0, "{\"a\""), responses::arguments_delta(0, ":1}")],
        vec![begun(""), responses::arguments_delta(0, "{\"a\""), responses::arguments_done(0, whole)],
        vec![begun(""), responses::arguments_done(0, whole), responses::item_done(0, call(whole))],
        vec![begun(""), responses::item_done(0, call(whole))],
        vec![responses::item_done(0, call(whole))],
        vec![begun(whole)],
        vec![begun(whole), responses::item_done(0, call(""))],
        vec![begun("{}"), responses::arguments_delta(0, whole), responses::arguments_done(0, whole)],
        vec![begun(""), responses::arguments_delta(0, whole), responses::item_done(0, call(""))],
        // Another spelling of the same.
        vec![begun(""), responses::arguments_delta(0, whole), responses::arguments_done(0, "{ \"a\": 1 }")],
        // The name comes last.
        vec![responses::arguments_delta(0, whole), responses::item_done(0, call(whole))],
    ] {
        let reply = streamed([events.clone(), vec![completed()]].concat()).await.reply();
        assert_eq!(reply.message.parts, [tool("c", "n", json!({"a": 1}))], "{events:?}");
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse), "{events:?}");
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_none() {
    let begun = responses::item_added(0, responses::function_call(0, "in_progress", "c", "n", ""));
    for events in [
        vec![begun.clone()],
        vec![begun.clone(), responses::arguments_delta(0, ""), responses::arguments_done(0, "")],
        vec![begun, responses::item_done(0, call(""))],
    ] {
        let reply = streamed([events.clone(), vec![completed()]].concat()).await.reply();
        assert_eq!(reply.message.parts, [tool("c", "n", json!({}))], "{events:?}");
    }
}

#[tokio::test]
async fn two_sets_of_arguments_for_one_call_are_a_fault_not_a_guess() {
    for (first, second) in [
        ("{\"a\":1}", responses::arguments_done(0, "{\"a\":2}")),
        ("{\"a\":1}", responses::item_done(0, call("{\"b\":1}"))),
        ("{\"a\":1}", responses::item_done(0, call("{"))),
        ("{\"a\":", responses::arguments_done(0, "{\"b\":1}")),
    ] {
        let fault = streamed([responses::arguments_delta(0, first), second.clone(), completed()]).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER), "{second}");
    }
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_kept_as_broken() {
    let reply =
        answered(Answer::responses(Reply::new().tool("t", "write", ["{\"path\": \"a", "\", \"te"]))).await.reply();
    let broken = Some("{\"path\": \"a\", \"te".to_owned());
    let call = ToolCall { id: "t".into(), name: "write".into(), input: json!(null), broken };
    assert_eq!(reply.message.parts, [Part::ToolUse(call)]);
}

/// A call without arguments and a call that was cut before its arguments look alike; only one is meant.
#[tokio::test]
async fn a_call_that_was_cut_off_before_its_arguments_is_none() {
    let begun = responses::item_added(0, responses::function_call(0, "in_progress", "c", "n", ""));
    let cut = responses::item_done(0, responses::function_call(0, "incomplete", "c", "n", ""));
    let end = responses::incomplete("max_output_tokens", &[], &nothing_read());
    for events in [vec![begun.clone()], vec![begun, cut]] {
        let reply = streamed([events, vec![end.clone()]].concat()).await.reply();
        assert_eq!((reply.message.parts, reply.stop_reason), (Vec::new(), Some(StopReason::MaxTokens)));
    }
    let half = [responses::item_added(0, call("")), responses::arguments_delta(0, "{\"a\""), end];
    let broken = ToolCall { id: "c".into(), name: "n".into(), input: json!(null), broken: Some("{\"a\"".into()) };
    assert_eq!(streamed(half).await.reply().message.parts, [Part::ToolUse(broken)]);
}

#[tokio::test]
async fn a_call_without_its_name_is_refused() {
    let fault = streamed([responses::arguments_delta(0, "{}"), completed()]).await.fault();
    assert_eq!(fault.problem.kind, ProblemKind::Protocol);
}

// ---- the end ----

#[tokio::test]
async fn a_reply_is_complete_with_its_last_event_whatever_the_connection_does_then() {
    for reply in [Reply::from("Hi"), Reply::from("Hi").stop("max_tokens")] {
        let answer = Answer::responses(reply);
        let all = answer.body_bytes().len();
        for answer in [
            answer.clone().cut_after(all),
            answer.clone().close_after(all),
            answer.clone().stall_after(all),
            answer.then_forever(responses::in_progress()),
        ] {
            assert_eq!(answered(answer).await.reply().message, Message::assistant("Hi"));
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_last_event_is_cut_however_whole_its_items_are() {
    let mut events = responses::stream(&Reply::new().text(["Hi"]).tool("c", "now", ["{}"]));
    events.pop();
    for end in [Vec::new(), vec!["data: [DONE]\n\n".to_owned()], vec!["event: done\ndata: [DONE]\n\n".to_owned()]] {
        let outcome = streamed([events.clone(), end].concat()).await;
        assert_eq!((outcome.words.as_str(), &outcome.partial), ("Hi", &Message::assistant("Hi")));
        let fault = outcome.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Truncated, LATER));
    }
}

// ---- encodings ----

#[tokio::test]
async fn a_byte_order_mark_and_other_line_ends_are_read() {
    let stream = String::from_utf8(Answer::responses("Hé 🦀").body_bytes()).expect("text");
    let unnamed: String =
        stream.lines().filter(|line| !line.starts_with("event:")).map(|line| format!("{line}\n")).collect();
    for bytes in [
        format!("\u{feff}{stream}"),
        stream.replace('\n', "\r\n"),
        stream.replace('\n', "\r"),
        stream.replace("data: ", "data:"),
        unnamed,
    ] {
        for size in [1, 5, 100_000] {
            let outcome = answered(Answer::events([bytes.clone()]).chunked(size)).await;
            assert_eq!(outcome.reply().message, Message::assistant("Hé 🦀"), "{bytes:?} in chunks of {size}");
        }
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_not_guessed() {
    let mut bytes = [responses::text_delta(0, 0, "good"), responses::text_delta(0, 0, "b?d")].concat().into_bytes();
    let place = bytes.windows(3).position(|window| window == b"b?d").expect("the word") + 1;
    bytes[place] = 0xff;
    let outcome = answered(Answer::events([bytes])).await;
    assert_eq!(outcome.words, "good");
    let fault = outcome.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

// ---- cut, stalled, endless ----

/// The fewest events that make a reply, because single bytes take their time.
fn only_words() -> Answer {
    let words = WORDS.iter().map(|piece| responses::text_delta(0, 0, piece));
    Answer::events(words.chain([completed()]))
}

/// Every kind of item, without the events that only repeat.
fn words_and_more() -> Answer {
    let thoughts = [
        responses::summary_delta(0, 0, "Hm…"),
        responses::item_done(0, responses::reasoning(0, &["Hm…"], Some("c2ln"))),
    ];
    let words = WORDS.iter().map(|piece| responses::text_delta(1, 0, piece));
    let call = [
        responses::item_added(2, responses::function_call(2, "in_progress", "call_01", "read", "")),
        responses::arguments_delta(2, "{\"path\":"),
        responses::arguments_delta(2, "\"ä\"}"),
        responses::item_done(2, responses::function_call(2, "completed", "call_01", "read", "{\"path\":\"ä\"}")),
        completed(),
    ];
    Answer::events(thoughts.into_iter().chain(words).chain(call))
}

/// Cuts a stream after every byte. `exact`: whatever was sent before the cut also arrives.
async fn every_cut(answer: Answer, exact: bool, cut: fn(Answer, usize) -> Answer) {
    let mut cuts = Cuts::new(answer, "\n\n", |piece| format!("\"delta\":{}", json!(piece)));
    cuts.exact = exact;
    let provider = FakeProvider::start();
    cuts.try_all(&provider, &*model(provider.url(), PATIENT), cut).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_1() {
    every_cut(only_words().chunked(1), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_7() {
    every_cut(words_and_more().chunked(7), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_of_a_whole_stream_is_a_fault_in_chunks_of_64() {
    let reply = Reply::new().thinking(["Hm…"], "c2ln").text(WORDS).tool("call_01", "read", ["{\"path\":", "\"ä\"}"]);
    every_cut(Answer::responses(reply).chunked(64), false, Answer::cut_after).await;
}

#[tokio::test]
async fn a_close_after_any_byte_is_a_fault() {
    every_cut(words_and_more().chunked(7), true, Answer::close_after).await;
}

/// The worst of them: nothing in HTTP tells this end from a good one.
#[tokio::test]
async fn a_body_that_ends_in_good_order_after_any_byte_is_a_fault() {
    every_cut(only_words().until_close().chunked(1), true, Answer::close_after).await;
}

#[tokio::test]
async fn silence_ends_by_the_limit_wherever_it_falls() {
    let answer = Answer::responses("Hello there");
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
async fn a_provider_whose_model_thinks_aloud_without_words_is_not_silent() {
    let provider = FakeProvider::start();
    let gate = provider.gate();
    let signs = std::iter::repeat_with(responses::in_progress).take(8);
    let reply = responses::stream(&"Hi".into());
    provider.push(Answer::events(signs.chain(reply)).gated(&gate));
    let model = model(provider.url(), Duration::from_secs(3));
    let prompt = hello();
    let going_on = async {
        for _ in 0..8 {
            gate.release(1);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        gate.open();
    };
    let (outcome, ()) = tokio::join!(ask(&*model, &prompt), going_on);
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
}

#[tokio::test]
async fn a_large_event_within_the_bound_is_read() {
    let words = "0123456789".repeat(400_000);
    let outcome = answered(Answer::responses(words.as_str()).chunked(64 * 1024)).await;
    assert_eq!(outcome.reply().message.text().len(), words.len());
}

#[tokio::test]
async fn a_reply_without_end_is_refused_before_it_fills_the_memory() {
    let provider = FakeProvider::start();
    let more = responses::text_delta(0, 0, &"x".repeat(1 << 20));
    provider.push(Answer::events([responses::created()]).then_forever(more));
    let outcome = ask(&*model(provider.url(), PATIENT), &hello()).await;
    assert_eq!(outcome.words.len(), 32 << 20);
    assert_eq!(outcome.fault().problem.kind, ProblemKind::Protocol);
}

#[tokio::test]
async fn items_and_parts_without_end_are_refused() {
    let items: Vec<String> = (0..20_000).map(|index| responses::item_added(index, json!({"type": "later"}))).collect();
    let parts: Vec<String> = (0..2_000).map(|part| responses::text_delta(0, part, "")).collect();
    let far = responses::text_delta(u32::MAX, u32::MAX, "x");
    for events in [items.concat(), parts.concat(), far] {
        let fault = answered(Answer::events([events])).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
    }
}

// ---- refusals ----

#[tokio::test]
async fn each_status_has_its_kind_and_says_whether_to_try_again() {
    let after = |after_ms| Retry::Later { after_ms: Some(after_ms) };
    for (status, kind, code, expected, retry) in [
        (400, "invalid_request_error", "invalid_value", ProblemKind::Refused, Retry::Never),
        (
            400,
            "invalid_request_error",
            "context_length_exceeded",
            ProblemKind::Refused,
            Retry::Shorter { window: None, prompt: None },
        ),
        (401, "invalid_request_error", "invalid_api_key", ProblemKind::Auth, Retry::Never),
        (403, "request_forbidden", "unsupported_country_region_territory", ProblemKind::Auth, Retry::Never),
        (404, "invalid_request_error", "model_not_found", ProblemKind::NotFound, Retry::Never),
        (400, "invalid_request_error", "model_not_found", ProblemKind::NotFound, Retry::Never),
        (429, "requests", "rate_limit_exceeded", ProblemKind::RateLimited, after(7_000)),
        (429, "insufficient_quota", "insufficient_quota", ProblemKind::Refused, Retry::Never),
        (500, "server_error", "server_error", ProblemKind::Overloaded, after(7_000)),
        (503, "server_error", "slow_down", ProblemKind::Overloaded, after(7_000)),
    ] {
        let body = responses::error_body(kind, code, "Because of the tests.");
        let fault = answered(Answer::json(status, body).header("retry-after", "7")).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{status} {code}");
        let message = &fault.problem.message;
        assert!(message.contains(&status.to_string()) && message.contains("Because of the tests."), "{message}");
        let helps = ["context_length_exceeded", "insufficient_quota", "invalid_api_key", "model_not_found"];
        assert!(
            !helps.contains(&code) || status == 400 && code == "model_not_found" || fault.problem.hint.is_some(),
            "{code}"
        );
        assert!(code != "insufficient_quota" || !message.contains("slow down"), "{message}");
    }
}

#[tokio::test]
async fn an_error_within_the_stream_keeps_the_words_and_says_whether_to_try_again() {
    for (code, expected, retry, hint) in [
        ("server_error", ProblemKind::Overloaded, LATER, false),
        ("server_is_overloaded", ProblemKind::Overloaded, LATER, false),
        ("rate_limit_exceeded", ProblemKind::RateLimited, LATER, false),
        ("insufficient_quota", ProblemKind::Refused, Retry::Never, true),
        ("context_length_exceeded", ProblemKind::Refused, Retry::Shorter { window: None, prompt: None }, true),
        ("invalid_prompt", ProblemKind::Refused, Retry::Never, false),
        ("error_of_a_newer_version", ProblemKind::Refused, Retry::Never, false),
    ] {
        let message = "Over\u{1b}[2Jloaded";
        let nested = json!({"type": "error", "sequence_number": 3, "error": {"type": code, "code": null, "message": message, "param": null}});
        for event in
            [responses::failed(code, message), responses::error(code, message), responses::event("error", nested)]
        {
            let outcome = streamed([
                responses::created(),
                responses::text_delta(0, 0, "So "),
                event,
                responses::text_delta(0, 0, "far"),
                completed(),
            ])
            .await;
            assert_eq!((outcome.words.as_str(), &outcome.partial), ("So ", &Message::assistant("So ")));
            let fault = outcome.fault();
            assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{code}");
            assert_eq!(fault.problem.message, format!("The provider stopped with {code}: Over [2Jloaded"));
            assert_eq!(fault.problem.hint.is_some(), hint, "{code}");
        }
    }
}

#[tokio::test]
async fn an_error_without_a_code_may_pass() {
    let bare = json!({"type": "response.failed", "response": {"status": "failed", "error": null}});
    for event in [
        responses::event("response.failed", bare),
        responses::event("error", json!({"type": "error", "code": null, "message": "Oh", "param": null})),
    ] {
        let fault = streamed([event.clone()]).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Overloaded, LATER), "{event}");
    }
}

/// Within a stream there is no header that could say it.
#[tokio::test]
async fn the_wait_that_an_error_asks_for_in_words_is_heard() {
    for (words, expected) in [
        ("Rate limit reached. Please try again in 11.054s. Visit the site.", Some(11_054)),
        ("Please try again in 120ms.", Some(120)),
        ("Please try again in 6m0s.", Some(360_000)),
        ("Please try again in 1h2m3.5s", Some(3_723_500)),
        ("Please try again in 28s", Some(28_000)),
        ("Please try again in 28", None),
        ("Please try again in a while.", None),
        ("Please try again in .s", None),
        ("Please try again in 5 parsecs.", None),
        ("Please try again in 7é", None),
        ("Please try again later.", None),
        ("Please try again in ", None),
    ] {
        let fault = streamed([responses::failed("rate_limit_exceeded", words)]).await.fault();
        assert_eq!(fault.retry, Retry::Later { after_ms: expected }, "{words}");
    }
}

#[tokio::test]
async fn an_event_with_content_that_cannot_be_read_is_a_fault_not_a_hole() {
    for event in [
        responses::event(
            "response.output_text.delta",
            "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"del",
        ),
        responses::event("response.output_text.delta", "{\"type\":\"response.output_text.delta\",\"output_index\":0}"),
        responses::event(
            "response.function_call_arguments.delta",
            "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":-1,\"delta\":\"x\"}",
        ),
        responses::event("response.output_item.done", "{\"type\":\"response.output_item.done\",\"output_index\":0}"),
        responses::event("response.completed", "{\"type\":\"response.completed\""),
        responses::event("response.completed", "{\"type\":\"response.completed\"}"),
        responses::event("error", "{}"),
        "data: {}\n\n".into(),
    ] {
        let fault = streamed([responses::text_delta(0, 0, "Hi"), event.clone(), completed()]).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, wire::again(&event)), "{event}");
    }
}

#[tokio::test]
async fn two_kinds_of_content_in_one_item_are_a_fault() {
    for (first, second) in [
        (responses::text_delta(0, 1, "a"), responses::arguments_delta(0, "{}")),
        (responses::arguments_delta(0, "{}"), responses::text_delta(0, 1, "a")),
        (responses::summary_delta(0, 0, "a"), responses::text_delta(0, 1, "b")),
        (responses::text_delta(0, 1, "a"), responses::item_done(0, responses::reasoning(0, &[], Some("x")))),
    ] {
        let fault = streamed([first, second.clone(), completed()]).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never), "{second}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_is_refused() {
    let page = Answer::new(200).header("content-type", "text/html").body("<html>Sign in to the hotel's network</html>");
    let document = Answer::json(200, responses::response("completed", &[], Value::Null));
    for answer in [page, document] {
        let fault = answered(answer).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
        assert!(fault.problem.hint.is_some());
    }
}

#[tokio::test]
async fn the_key_is_never_shown_even_by_a_provider_that_repeats_it() {
    let long = format!("{}{KEY}", "x".repeat(490));
    let unreadable = format!("{{\"type\":\"response.output_text.delta\",\"delta\":[\"{KEY}\"]}}");
    for answer in [
        Answer::json(
            401,
            responses::error_body(
                "invalid_request_error",
                "invalid_api_key",
                &format!("Incorrect API key provided: {KEY}."),
            ),
        ),
        Answer::json(401, responses::error_body("invalid_request_error", "invalid_api_key", &long)),
        Answer::events([responses::failed("server_error", KEY)]),
        Answer::events([responses::failed(KEY, "no")]),
        Answer::events([responses::error("server_error", KEY)]),
        Answer::events([responses::event("response.output_text.delta", unreadable)]),
        Answer::new(307).header("location", format!("http://127.0.0.1:1/{KEY}")),
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
async fn the_models_are_listed() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(
        200,
        json!({"object": "list", "data": [
            {"id": "gpt-5.2", "object": "model", "created": 1686935002, "owned_by": "openai"},
            {"object": "model"},
            {"id": "o3", "object": "model", "later": {}},
        ]}),
    ));
    let listed = model(provider.url(), PATIENT).list().await.expect("a list");
    let model = |name: &str| Listed { name: name.into(), window: None };
    assert_eq!(listed, [model("gpt-5.2"), model("o3")]);
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[tokio::test]
async fn a_list_that_is_none_is_a_fault() {
    for (answer, expected) in [
        (Answer::json(200, json!({"object": "list"})), ProblemKind::Protocol),
        (Answer::json(200, json!("none")), ProblemKind::Protocol),
        (Answer::new(200).body("<html>"), ProblemKind::Protocol),
        (Answer::json(401, responses::error_body("invalid_request_error", "invalid_api_key", "no")), ProblemKind::Auth),
    ] {
        let provider = FakeProvider::start();
        provider.on_path("/v1/models", answer);
        let fault = model(provider.url(), PATIENT).list().await.expect_err("a fault");
        assert_eq!(fault.problem.kind, expected);
    }
}

#[tokio::test]
async fn pictures_are_ordered_where_the_provider_makes_them() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(200, json!({"created": 1, "data": [{"b64_json": "iVBORw0KGgo="}]})));
    let order = DrawOrder { prompt: "A crab".into(), count: 1, size: None };
    let drawn = named_model(provider.url(), "gpt-image-1").draw(&order).await.expect("a picture");
    assert_eq!((drawn.len(), drawn[0].media_type), (1, "image/png"));
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/images/generations"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((&request.body["model"], &request.body["prompt"]), (&json!("gpt-image-1"), &json!("A crab")));
}

#[tokio::test]
async fn the_tokens_of_a_prompt_are_counted_by_whoever_can() {
    let provider = FakeProvider::start();
    let counted = json!({"object": "response.input_tokens", "input_tokens": 11});
    provider.push(Answer::json(200, counted));
    let model = model(provider.url(), PATIENT);
    let prompt = Prompt { thinking_tokens: 8_000, temperature: Some(0.5), ..conversation() };
    assert_eq!(model.count_tokens(&prompt).await, Ok(Some(11)));
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/responses/input_tokens"));
    let names: Vec<&String> = request.body.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["model", "instructions", "input", "tools", "reasoning"]);
    provider.push(Answer::new(404));
    assert_eq!(model.count_tokens(&prompt).await, Ok(None));
    provider.push(Answer::new(500));
    assert_eq!(model.count_tokens(&prompt).await.expect_err("a fault").problem.kind, ProblemKind::Overloaded);
}

// ---- llama.cpp, which numbers nothing ----

/// An event as llama.cpp sends it: items have ids and no numbers, calls only their `call_id`.
fn unnumbered(kind: &str, mut data: Value) -> String {
    data["type"] = kind.into();
    format!("event: {kind}\ndata: {data}\n\n")
}

#[tokio::test]
async fn a_stream_whose_items_have_ids_and_no_numbers_is_read() {
    let message =
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []});
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "status": "in_progress", "call_id": id, "name": "read", "arguments": arguments});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]});
    let thoughts = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [], "encrypted_content": ""});
    let usage = json!({"input_tokens": 9, "output_tokens": 5, "total_tokens": 14});
    let reply = streamed([
        unnumbered("response.created", json!({"response": {"id": "resp_1", "status": "in_progress"}})),
        unnumbered("response.output_item.added", json!({"item": thoughts})),
        unnumbered("response.reasoning_text.delta", json!({"item_id": "rs_1", "delta": "Hm."})),
        unnumbered("response.output_item.added", json!({"item": message})),
        unnumbered("response.content_part.added", json!({"item_id": "msg_1", "part": {"type": "output_text"}})),
        unnumbered("response.output_text.delta", json!({"item_id": "msg_1", "delta": "Let me "})),
        unnumbered("response.output_text.delta", json!({"item_id": "msg_1", "delta": "look."})),
        unnumbered("response.output_item.added", json!({"item": call("fc_a", "")})),
        unnumbered("response.function_call_arguments.delta", json!({"item_id": "fc_a", "delta": "{\"path\":"})),
        unnumbered("response.function_call_arguments.delta", json!({"item_id": "fc_a", "delta": "\"a\"}"})),
        unnumbered("response.output_item.added", json!({"item": call("fc_b", "")})),
        unnumbered("response.function_call_arguments.delta", json!({"item_id": "fc_b", "delta": "{\"path\":\"b\"}"})),
        unnumbered("response.output_text.done", json!({"item_id": "msg_1", "text": "Let me look."})),
        unnumbered("response.output_item.done", json!({"item": said})),
        unnumbered("response.output_item.done", json!({"item": call("fc_a", "{\"path\":\"a\"}")})),
        unnumbered("response.output_item.done", json!({"item": call("fc_b", "{\"path\":\"b\"}")})),
        unnumbered("response.completed", json!({"response": {"status": "completed", "output": [], "usage": usage}})),
    ])
    .await
    .reply();
    assert_eq!(reply.message.text(), "Let me look.");
    let calls: Vec<Part> =
        reply.message.parts.iter().filter(|part| matches!(part, Part::ToolUse(_))).cloned().collect();
    assert_eq!(calls, [tool("fc_a", "read", json!({"path": "a"})), tool("fc_b", "read", json!({"path": "b"}))]);
    assert_eq!((reply.stop_reason, reply.usage.input_tokens), (Some(StopReason::ToolUse), 9));
}

#[tokio::test]
async fn an_event_that_can_never_be_read_is_not_asked_for_again() {
    let fault = streamed([unnumbered("response.output_text.delta", json!({"delta": 7}))]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
    assert!(fault.problem.hint.is_some_and(|hint| hint.contains("api")));
}

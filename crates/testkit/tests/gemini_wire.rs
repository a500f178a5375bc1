//! Google's dialect over real sockets, against a provider that answers as it should, and as it should not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, gemini};
use trimtab_testkit::wire::{self, Cuts, IMPATIENT, LATER, Outcome, PATIENT, WORDS, ask};
use trimtab_vocab::{
    Effort, Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolCall, ToolResult,
    ToolSpec, Usage,
};
use trimtab_world::models::{Dialect, Listed, Model, ModelRegistry, Provider, Registry, ReplyPiece};

const KEY: &str = "AIza0123456789abcdef";

fn registry(url: &str, idle: Duration) -> Registry {
    let provider = Provider {
        dialect: Dialect::Gemini,
        base_url: url.to_owned(),
        key_env: Some("GEMINI_API_KEY".into()),
        key: Some(KEY.into()),
        extras: Arc::default(),
    };
    Registry { providers: [("gemini".to_owned(), provider)].into(), idle, record: None }
}

fn named_model(url: &str, name: &str) -> Arc<dyn Model> {
    registry(url, PATIENT).find(&format!("gemini/{name}")).expect("a model")
}

fn model(url: &str, idle: Duration) -> Arc<dyn Model> {
    registry(url, idle).find("gemini/gemini-3-pro").expect("a model")
}

fn prompt(messages: Vec<Message>) -> Prompt {
    wire::prompt("gemini/gemini-3-pro", messages)
}

fn hello() -> Prompt {
    prompt(vec![Message::user("Hello")])
}

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
    provider.push(Answer::gemini("Hi"));
    ask(&*named_model(provider.url(), name), prompt).await.reply();
    provider.requests()[0].body.clone()
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn tool(id: &str, name: &str, input: Value) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input, broken: None })
}

fn signature(data: &str) -> Part {
    Part::RedactedThinking { data: data.into(), by: Some("gemini".into()) }
}

fn read_tool() -> Arc<ToolSpec> {
    let input_schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "minLength": 1}},
        "required": ["path"],
        "additionalProperties": false,
    });
    Arc::new(ToolSpec { name: "read".into(), description: "Reads a file.".into(), input_schema })
}

// ---- what is sent ----

#[tokio::test]
async fn the_request_is_the_documented_one() {
    let provider = FakeProvider::start();
    provider.push(Answer::gemini("Hi"));
    let picture: RefKey = "picture-1".parse().expect("a key");
    let looked = Message {
        role: Role::Assistant,
        parts: vec![
            Part::Thinking { text: "Look first.".into(), signature: None, by: Some("gemini".into()) },
            Part::RedactedThinking { data: "ZGF0YQ".into(), by: Some("anthropic".into()) },
            signature("text:dGV4dA=="),
            text("Let me look."),
            signature("call:Y2FsbA=="),
            tool("c1", "read", json!({"path": "a"})),
            Part::ToolUse(ToolCall {
                id: "c2".into(),
                name: "list".into(),
                input: Value::Null,
                broken: Some("{".into()),
            }),
        ],
    };
    let results = Message {
        role: Role::User,
        parts: vec![
            text("What is it?"),
            Part::ToolResult(ToolResult::success("c1", "über 🦀")),
            Part::ToolResult(ToolResult::error("c2", "The arguments are not JSON.")),
            Part::Image { image: picture.clone(), media_type: "image/png".into() },
        ],
    };
    let said = Message { role: Role::Assistant, parts: vec![text("A crab."), signature("alone:ZW5k")] };
    let mut prompt =
        prompt(vec![Message::user("Hello"), looked, results, said, Message::user("Sure?"), Message::user("Say.")]);
    prompt.images.insert(picture, "iVBORw0KGgo=".into());
    let nothing = json!({"type": "object", "properties": {}});
    prompt.tools.push(read_tool());
    prompt.tools.push(Arc::new(ToolSpec { name: "list".into(), description: String::new(), input_schema: nothing }));
    prompt.temperature = Some(0.5);
    prompt.thinking_tokens = 8_000;
    ask(&*model(provider.url(), PATIENT), &prompt).await.reply();
    let request = &provider.requests()[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.path, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
    assert_eq!(request.header("x-goog-api-key"), Some(KEY));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(
        request.body,
        json!({
            "contents": [
                {"role": "user", "parts": [{"text": "Hello"}]},
                {"role": "model", "parts": [
                    {"text": "Let me look.", "thoughtSignature": "dGV4dA=="},
                    {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "Y2FsbA=="},
                    {"functionCall": {"id": "c2", "name": "list", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "über 🦀"}}},
                    {"functionResponse": {"id": "c2", "name": "list", "response": {"error": "The arguments are not JSON."}}},
                    {"text": "What is it?"},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
                ]},
                {"role": "model", "parts": [{"text": "A crab."}, {"text": "", "thoughtSignature": "ZW5k"}]},
                {"role": "user", "parts": [{"text": "Sure?"}, {"text": "Say."}]},
            ],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [
                {"name": "read", "description": "Reads a file.", "parametersJsonSchema": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}},
                    "required": ["path"],
                    "additionalProperties": false,
                }},
                {"name": "list"},
            ]}],
            "generationConfig": {
                "maxOutputTokens": 256,
                "temperature": 0.5,
                "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"},
            },
        })
    );
}

#[tokio::test]
async fn calls_of_another_model_are_marked_as_such_for_the_third_generation_only() {
    let foreign =
        Message { role: Role::Assistant, parts: vec![tool("a", "read", json!({})), tool("b", "read", json!({}))] };
    let results = Message {
        role: Role::User,
        parts: vec![Part::ToolResult(ToolResult::success("a", "1")), Part::ToolResult(ToolResult::success("b", "2"))],
    };
    let prompt = prompt(vec![Message::user("Hello"), foreign, results]);
    let signed = |body: &Value| {
        let parts = body["contents"][1]["parts"].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| part["thoughtSignature"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    for name in ["gemini-3-pro", "gemini-3.5-flash", "gemini-flash-latest"] {
        assert_eq!(signed(&sent(name, &prompt).await), ["skip_thought_signature_validator", ""], "{name}");
    }
    for name in ["gemini-2.5-pro", "gemini-2.0-flash", "some-other"] {
        assert_eq!(signed(&sent(name, &prompt).await), ["", ""], "{name}");
    }
}

#[tokio::test]
async fn thinking_is_asked_for_as_the_model_takes_it() {
    let config = |body: Value| body["generationConfig"]["thinkingConfig"].clone();
    let mut prompt = hello();
    assert_eq!(config(sent("gemini-3-pro", &prompt).await), Value::Null);
    (prompt.thinking_tokens, prompt.max_output_tokens) = (100_000, 16_384);
    let budget = json!({"includeThoughts": true, "thinkingBudget": 16_384 - 1_024});
    assert_eq!(config(sent("gemini-2.5-flash", &prompt).await), budget);
    let level = json!({"includeThoughts": true, "thinkingLevel": "high"});
    assert_eq!(config(sent("gemini-3.1-pro-preview", &prompt).await), level);
    assert_eq!(config(sent("gemini-2.0-flash", &prompt).await), Value::Null);
}

#[tokio::test]
async fn an_effort_becomes_the_nearest_that_the_model_has_and_the_person_is_told() {
    let off = |budget: u32| json!({"includeThoughts": false, "thinkingBudget": budget});
    let quiet = |level: &str| json!({"includeThoughts": false, "thinkingLevel": level});
    let level = |level: &str| json!({"includeThoughts": true, "thinkingLevel": level});
    let cannot = "cannot turn thinking off.";
    for (name, effort, config, told) in [
        ("gemini-2.5-flash", Effort::Off, off(0), None),
        ("gemini-2.5-flash-lite", Effort::Off, off(0), None),
        ("gemini-2.5-pro", Effort::Off, off(128), Some(format!("{cannot} Using \"128 tokens\" instead."))),
        ("gemini-3-pro", Effort::Medium, level("high"), Some("has no effort \"medium\". Using \"high\" instead.".into())),
        ("gemini-3.1-pro-preview", Effort::Medium, level("medium"), None),
        ("gemini-3.1-pro-preview", Effort::Off, quiet("low"), Some(format!("{cannot} Using \"low\" instead."))),
        ("gemini-3-flash-preview", Effort::Minimal, level("minimal"), None),
        ("gemini-3-flash-preview", Effort::Off, quiet("minimal"), Some(format!("{cannot} Using \"minimal\" instead."))),
        ("gemini-3.8-flash", Effort::Max, level("high"), None),
        ("gemini-2.0-flash", Effort::High, Value::Null, Some(
            "has no setting for effort, so effort = \"high\" was not sent. Remove the setting, or choose another model.".into(),
        )),
    ] {
        let provider = FakeProvider::start();
        provider.push(Answer::gemini("Hi"));
        let prompt = Prompt { effort: Some(effort), ..hello() };
        let outcome = ask(&*named_model(provider.url(), name), &prompt).await;
        let told: Vec<String> = told.into_iter().map(|told| format!("{name} {told}")).collect();
        assert_eq!(outcome.warnings, told, "{name}");
        let body = &provider.requests()[0].body;
        assert_eq!(body["generationConfig"]["thinkingConfig"], config, "{name}: {effort:?}");
    }
}

#[tokio::test]
async fn a_form_is_demanded_where_the_api_can() {
    let config = |body: &Value, name: &str| body["generationConfig"][name].clone();
    let mut prompt = hello();
    prompt.format = Some(Format::Json);
    let body = sent("gemini-2.5-pro", &prompt).await;
    assert_eq!(config(&body, "responseMimeType"), json!("application/json"));
    assert_eq!(config(&body, "responseJsonSchema"), Value::Null);
    let schema = json!({"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 1});
    prompt.format = Some(Format::Schema { name: "a".into(), schema });
    let kept = json!({"type": "object", "properties": {"a": {"enum": [1]}}});
    assert_eq!(config(&sent("gemini-2.5-pro", &prompt).await, "responseJsonSchema"), kept);
    prompt.tools.push(read_tool());
    assert_eq!(config(&sent("gemini-3-pro", &prompt).await, "responseJsonSchema"), kept);
    assert_eq!(config(&sent("gemini-2.5-pro", &prompt).await, "responseMimeType"), Value::Null);
}

// ---- what comes back ----

#[tokio::test]
async fn a_whole_reply_has_words_thoughts_calls_and_figures() {
    let figures = json!({
        "promptTokenCount": 480,
        "cachedContentTokenCount": 300,
        "candidatesTokenCount": 9,
        "thoughtsTokenCount": 80,
        "toolUsePromptTokenCount": 20,
        "totalTokenCount": 589,
    });
    let last = json!({
        "candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "ZW5k"}], "role": "model"}, "finishReason": "STOP"}],
        "usageMetadata": figures,
    });
    let outcome = streamed([
        gemini::thought("Look "),
        gemini::thought("first."),
        gemini::text("Let me "),
        gemini::text("look."),
        gemini::parts(json!([
            {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "Y2FsbA=="},
            {"functionCall": {"name": "list"}},
        ])),
        gemini::event(last),
    ])
    .await;
    assert_eq!(outcome.words, "Let me look.");
    let reply = outcome.reply();
    assert_eq!(
        reply.message.parts,
        [
            Part::Thinking { text: "Look first.".into(), signature: None, by: Some("gemini".into()) },
            text("Let me look."),
            signature("call:Y2FsbA=="),
            tool("call_1", "read", json!({"path": "a"})),
            tool("call_2", "list", json!({})),
            signature("alone:ZW5k"),
        ]
    );
    assert_eq!(reply.stop_reason, Some(StopReason::ToolUse));
    let usage = Usage { input_tokens: 500, cached_tokens: 300, output_tokens: 89, ..Usage::default() };
    assert_eq!(reply.usage, usage);
}

#[tokio::test]
async fn what_came_with_a_signature_goes_back_with_it() {
    let reply = streamed([
        gemini::text("One. "),
        gemini::parts(json!([{"text": "Two.", "thoughtSignature": "dHdv"}])),
        gemini::text(" Three."),
        gemini::finish("STOP", &Usage::default()),
    ])
    .await
    .reply();
    let body = sent("gemini-3-pro", &prompt(vec![Message::user("Hello"), reply.message, Message::user("On")])).await;
    let parts = json!([{"text": "One. "}, {"text": "Two.", "thoughtSignature": "dHdv"}, {"text": " Three."}]);
    assert_eq!(body["contents"][1]["parts"], parts);
}

#[tokio::test]
async fn each_reason_to_stop_has_its_meaning() {
    for (reason, meaning) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::ContentFiltered),
        ("RECITATION", StopReason::ContentFiltered),
        ("PROHIBITED_CONTENT", StopReason::ContentFiltered),
        ("OF_A_NEWER_VERSION", StopReason::Other("OF_A_NEWER_VERSION".into())),
    ] {
        let reply = streamed([gemini::text("Hi"), gemini::finish(reason, &Usage::default())]).await.reply();
        assert_eq!(reply.stop_reason, Some(meaning), "{reason}");
    }
    let fault = streamed([gemini::finish("MALFORMED_FUNCTION_CALL", &Usage::default())]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

#[tokio::test]
async fn a_prompt_that_is_blocked_is_an_end_that_says_so() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}});
    let outcome = streamed([gemini::event(blocked)]).await;
    assert!(outcome.warnings.iter().any(|warning| warning.contains("SAFETY")), "{:?}", outcome.warnings);
    assert_eq!(outcome.reply().stop_reason, Some(StopReason::ContentFiltered));
}

#[tokio::test]
async fn a_cut_after_any_byte_is_never_taken_for_the_end() {
    // The second CR ends an event; the LF after it says nothing more.
    let answer = Answer::gemini(Reply::new().text(WORDS));
    let cuts = Cuts::new(answer, "\r\n\r", |piece| format!("\"text\":\"{piece}\"")).told("\"finishReason\"", "\r\n\r");
    let provider = FakeProvider::start();
    let model = model(provider.url(), PATIENT);
    cuts.try_all(&provider, &*model, Answer::cut_after).await;
}

#[tokio::test]
async fn a_stream_without_a_reason_to_stop_is_cut() {
    let fault = streamed([gemini::text("Half")]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Truncated, LATER));
}

#[tokio::test]
async fn silence_is_given_up() {
    let provider = FakeProvider::start();
    provider.push(Answer::gemini("Hello").stall_after(10));
    let fault = ask(&*model(provider.url(), IMPATIENT), &hello()).await.fault();
    assert_eq!(fault.problem.kind, ProblemKind::Stalled);
}

#[tokio::test]
async fn endless_parts_are_cut_off() {
    let call = gemini::call("", "read", &json!({}));
    let fault = answered(Answer::events([call.clone()]).then_forever(call)).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
}

#[tokio::test]
async fn things_of_a_newer_version_are_passed_over() {
    let reply = streamed([
        gemini::event(json!({"candidates": [], "somethingNew": {"a": 1}})),
        gemini::parts(json!([{"executableCode": {"code": "1"}}, {"text": "Hi", "newField": true}])),
        gemini::event(json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "no"}]}}]})),
        gemini::finish("STOP", &Usage::default()),
    ])
    .await
    .reply();
    assert_eq!(reply.message.parts, [text("Hi")]);
}

#[tokio::test]
async fn what_can_never_be_read_is_not_asked_for_again() {
    let fault = streamed([gemini::event(json!({"candidates": "none"}))]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
    let fault = streamed(["data: {\"candid\r\n\r\n"]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

#[tokio::test]
async fn chunks_in_one_document_are_a_reply_as_well() {
    let chunks = json!([
        {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}},
    ]);
    let reply = answered(Answer::json(200, chunks)).await.reply();
    assert_eq!((reply.message.parts, reply.usage.input_tokens), (vec![text("Hello")], 3));
}

#[tokio::test]
async fn each_error_has_its_meaning_and_the_key_never_shows() {
    let wait = json!([{"@type": "type.googleapis.com/google.rpc.Help"}, gemini::retry_info("34.5s")]);
    let invalid = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let nothing = json!([]);
    for (code, status, details, kind, retry) in [
        (400, "INVALID_ARGUMENT", &nothing, ProblemKind::Refused, Retry::Never),
        (400, "INVALID_ARGUMENT", &invalid, ProblemKind::Auth, Retry::Never),
        (403, "PERMISSION_DENIED", &nothing, ProblemKind::Auth, Retry::Never),
        (404, "NOT_FOUND", &nothing, ProblemKind::NotFound, Retry::Never),
        (429, "RESOURCE_EXHAUSTED", &wait, ProblemKind::RateLimited, Retry::Later { after_ms: Some(34_500) }),
        (429, "RESOURCE_EXHAUSTED", &nothing, ProblemKind::RateLimited, LATER),
        (500, "INTERNAL", &nothing, ProblemKind::Overloaded, LATER),
        (503, "UNAVAILABLE", &nothing, ProblemKind::Overloaded, LATER),
    ] {
        let body = gemini::error_body(code, status, &format!("no: {KEY}"), details.clone());
        for answer in [Answer::json(code, body.clone()), Answer::json(code, json!([body.clone()]))] {
            let fault = answered(answer).await.fault();
            assert_eq!((fault.problem.kind, fault.retry), (kind, retry), "{code} {status}: {fault:?}");
            assert!(fault.problem.message.contains("no: [key]"), "{fault:?}");
        }
        // The same within a stream, where there is only the code of the error itself.
        if details != &invalid {
            let fault = streamed([gemini::text("Hi"), gemini::event(body)]).await.fault();
            assert_eq!((fault.problem.kind, fault.retry), (kind, retry), "{code} {status}: {fault:?}");
        }
    }
}

#[tokio::test]
async fn split_anywhere_it_is_the_same_reply() {
    let whole = answered(Answer::gemini(Reply::new().text(WORDS))).await;
    for size in [1, 2, 3, 7] {
        let outcome = answered(Answer::gemini(Reply::new().text(WORDS)).chunked(size)).await;
        let words = |outcome: &Outcome| {
            let pieces = outcome.pieces.iter().filter(|piece| !matches!(piece, ReplyPiece::Alive));
            pieces.cloned().collect::<Vec<_>>()
        };
        assert_eq!(words(&outcome), words(&whole), "{size}");
    }
}

// ---- beside the conversation ----

#[tokio::test]
async fn models_are_listed_with_their_windows_page_by_page() {
    let provider = FakeProvider::start();
    let chat: &[&str] = &["generateContent", "countTokens"];
    provider.push(Answer::json(200, gemini::models(&[("gemini-3-pro", 1_048_576, chat)], Some("page2"))));
    provider.push(Answer::json(
        200,
        gemini::models(&[("embedding-1", 2_048, &["embedContent"]), ("gemma-3", 8_192, chat)], None),
    ));
    let listed = model(provider.url(), PATIENT).list().await.expect("a list");
    let expected = [("gemini-3-pro", 1_048_576), ("gemma-3", 8_192)];
    assert_eq!(listed, expected.map(|(name, window)| Listed { name: name.into(), window: Some(window) }));
    let paths: Vec<String> = provider.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1beta/models?pageSize=1000", "/v1beta/models?pageSize=1000&pageToken=page2"]);
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(200, json!({"totalTokens": 31})));
    let counted = model(provider.url(), PATIENT).count_tokens(&hello()).await.expect("a count");
    assert_eq!(counted, Some(31));
    let request = &provider.requests()[0];
    assert_eq!(request.path, "/v1beta/models/gemini-3-pro:countTokens");
    assert_eq!(request.body["generateContentRequest"]["model"], "models/gemini-3-pro");
    assert_eq!(request.body["generateContentRequest"]["contents"][0]["parts"][0]["text"], "Hello");
    assert_eq!(request.body["generateContentRequest"]["generationConfig"], Value::Null);
}

#[tokio::test]
async fn an_address_with_a_version_is_taken_as_it_is() {
    let provider = FakeProvider::start();
    provider.push(Answer::gemini("Hi"));
    let model = registry(&format!("{}/v1alpha/", provider.url()), PATIENT).find("gemini/models/gemini-3-pro");
    ask(&*model.expect("a model"), &hello()).await.reply();
    assert_eq!(provider.requests()[0].path, "/v1alpha/models/gemini-3-pro:streamGenerateContent?alt=sse");
}

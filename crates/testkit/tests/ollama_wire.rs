//! Ollama's dialect over real sockets, against a server that answers as it should, and as it should
//! not.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, Request, ollama};
use trimtab_testkit::wire::{self, Cuts, IMPATIENT, LATER, Outcome, PATIENT, WORDS, ask};
use trimtab_vocab::{
    Effort, Format, Message, Part, ProblemKind, Prompt, RefKey, Retry, Role, StopReason, ToolCall, ToolResult,
    ToolSpec, Usage,
};
use trimtab_world::models::{Assembly, Dialect, Listed, Model, ModelRegistry, Provider, Registry, ReplyPiece};

const KEY: &str = "ollama-key-0123456789abcdef";
const ROOMY: u64 = 131_072;

fn registry(url: &str, idle: Duration) -> Registry {
    let provider = Provider {
        dialect: Dialect::Ollama,
        base_url: url.to_owned(),
        key_env: None,
        key: Some(KEY.into()),
        extras: Arc::default(),
    };
    Registry { providers: [("ollama".to_owned(), provider)].into(), idle, record: None }
}

fn named(url: &str, name: &str) -> Arc<dyn Model> {
    registry(url, PATIENT).find(&format!("ollama/{name}")).expect("a model")
}

fn model(url: &str, idle: Duration) -> Arc<dyn Model> {
    registry(url, idle).find("ollama/qwen3:8b").expect("a model")
}

/// A server that knows how much its models can hold.
fn server(window: u64) -> FakeProvider {
    let provider = FakeProvider::start();
    provider.on_path("/api/show", Answer::json(200, ollama::show(window)));
    provider
}

fn prompt(messages: Vec<Message>) -> Prompt {
    wire::prompt("ollama/qwen3:8b", messages)
}

fn hello() -> Prompt {
    prompt(vec![Message::user("Hello")])
}

/// One call that is answered like this.
async fn answered(answer: Answer) -> Outcome {
    let provider = server(ROOMY);
    provider.push(answer);
    ask(&*model(provider.url(), PATIENT), &hello()).await
}

fn lines<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Answer {
    let lines = lines.into_iter().map(|line| line.as_ref().to_owned());
    Answer::events(lines).header("content-type", "application/x-ndjson")
}

async fn streamed<S: AsRef<str>>(sent: impl IntoIterator<Item = S>) -> Outcome {
    answered(lines(sent)).await
}

/// The requests for this path. How many others there are depends on what the process knows already.
fn asked(provider: &FakeProvider, path: &str) -> Vec<Request> {
    provider.requests().into_iter().filter(|request| request.path == path).collect()
}

fn chats(provider: &FakeProvider) -> Vec<Request> {
    asked(provider, "/api/chat")
}

async fn chat_index(provider: &FakeProvider) -> usize {
    let mut count = 1;
    loop {
        let requests = provider.wait_for_requests(count).await;
        if let Some(index) = requests.iter().position(|request| request.path == "/api/chat") {
            return index;
        }
        count = requests.len() + 1;
    }
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn thinking(text: &str) -> Part {
    Part::Thinking { text: text.into(), signature: None, by: Some("ollama".into()) }
}

fn tool(id: &str, name: &str, input: Value) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: name.into(), input, broken: None })
}

fn done() -> String {
    ollama::done("stop", &Usage::default())
}

// ---- what is sent ----

#[tokio::test]
async fn the_request_is_the_documented_one() {
    let provider = server(40_960);
    provider.push(Answer::ollama("Hi"));
    let picture: RefKey = "picture-1".parse().expect("a key");
    let looked = Message {
        role: Role::Assistant,
        parts: vec![
            thinking("Look first."),
            Part::Thinking { text: "Not ours.".into(), signature: Some("c2ln".into()), by: Some("anthropic".into()) },
            Part::RedactedThinking { data: "ZGF0YQ".into(), by: Some("anthropic".into()) },
            text("Let me look."),
            text(" \n"),
            tool("call_1", "read", json!({"path": "a", "lines": [1, 2]})),
            Part::ToolUse(ToolCall {
                id: "call_2".into(),
                name: "list".into(),
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
            Part::ToolResult(ToolResult::success("lost", "Nobody knows who asked.")),
            text("What is it?"),
            Part::Image { image: picture.clone(), media_type: "image/png".into() },
            text("Say."),
        ],
    };
    let said = Message { role: Role::Assistant, parts: vec![thinking("A crab."), text("A crab.")] };
    let silence = Message { role: Role::Assistant, parts: vec![thinking("Nothing."), text("")] };
    let mut prompt = prompt(vec![Message::user("Hello"), looked, results, said, silence, Message::user("Sure?")]);
    prompt.images.insert(picture, "iVBORw0KGgo=".into());
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    prompt.tools.push(Arc::new(ToolSpec {
        name: "read".into(),
        description: "Reads a file.".into(),
        input_schema: schema,
    }));
    (prompt.temperature, prompt.thinking_tokens, prompt.format) = (Some(0.2), 1_024, Some(Format::Json));
    ask(&*named(&format!("{}/", provider.url()), "documented:8b"), &prompt).await.reply();
    let request = &chats(&provider)[0];
    let names = ["content-type", "accept", "authorization"];
    let headers: Vec<String> =
        names.iter().map(|name| format!("{name}: {}", request.header(name).unwrap_or("(none)"))).collect();
    let body = serde_json::to_string_pretty(&request.body).expect("writes");
    insta::assert_snapshot!(format!("{} {}\n{}\n\n{body}", request.method, request.path, headers.join("\n")), @r#"
    POST /api/chat
    content-type: application/json
    accept: application/x-ndjson
    authorization: Bearer ollama-key-0123456789abcdef

    {
      "model": "documented:8b",
      "messages": [
        {
          "role": "system",
          "content": "Be brief."
        },
        {
          "role": "user",
          "content": "Hello"
        },
        {
          "role": "assistant",
          "content": "Let me look.",
          "thinking": "Look first.",
          "tool_calls": [
            {
              "function": {
                "name": "read",
                "arguments": {
                  "path": "a",
                  "lines": [
                    1,
                    2
                  ]
                }
              }
            },
            {
              "function": {
                "name": "list",
                "arguments": {}
              }
            }
          ]
        },
        {
          "role": "tool",
          "content": "über 🦀",
          "tool_name": "read"
        },
        {
          "role": "tool",
          "content": "The arguments are not JSON.",
          "tool_name": "list"
        },
        {
          "role": "tool",
          "content": "Nobody knows who asked."
        },
        {
          "role": "user",
          "content": "What is it?\n\nSay.",
          "images": [
            "iVBORw0KGgo="
          ]
        },
        {
          "role": "assistant",
          "content": "A crab."
        },
        {
          "role": "user",
          "content": "Sure?"
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
        }
      ],
      "stream": true,
      "think": true,
      "format": "json",
      "options": {
        "num_ctx": 4096,
        "num_predict": 256,
        "temperature": 0.2
      }
    }
    "#);
    assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("trimtab/")));
    let show = &asked(&provider, "/api/show")[0];
    assert_eq!((show.method.as_str(), &show.body), ("POST", &json!({"model": "documented:8b"})));
    assert_eq!(show.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[tokio::test]
async fn a_plain_request_says_no_more_than_it_must() {
    let provider = server(ROOMY);
    provider.push(Answer::ollama("Hi"));
    let mut registry = registry(provider.url(), PATIENT);
    registry.providers.get_mut("ollama").expect("the provider").key = None;
    let mut prompt = hello();
    prompt.system.clear();
    ask(&*registry.find("ollama/m").expect("a model"), &prompt).await.reply();
    let request = &chats(&provider)[0];
    assert_eq!(request.header("authorization"), None);
    let expected = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": true,
        "options": {"num_ctx": 4_096, "num_predict": 256},
    });
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn thinking_is_asked_for_in_the_way_of_each_model() {
    let provider = server(ROOMY);
    provider.always(Answer::ollama("Hi"));
    for (name, tokens, expected) in [
        ("qwen3:8b", 0, None),
        ("qwen3:8b", 1, Some(json!(true))),
        ("gpt-oss:20b", 0, None),
        ("gpt-oss:20b", 1_024, Some(json!("low"))),
        ("hf.co/unsloth/GPT-OSS-20b-GGUF:Q4", 10_000, Some(json!("medium"))),
        ("gpt-oss:120b", 32_000, Some(json!("high"))),
        ("granite3.3:8b", 0, None),
        ("granite3.3:8b", 1_024, None),
    ] {
        let prompt = Prompt { thinking_tokens: tokens, ..hello() };
        ask(&*named(provider.url(), name), &prompt).await.reply();
        let requests = chats(&provider);
        let body = &requests.last().expect("a request").body;
        assert_eq!(body.get("think"), expected.as_ref(), "{name} with {tokens}");
        let control = body["messages"].as_array().expect("messages").iter().any(|message| message["role"] == "control");
        assert_eq!(control, name.starts_with("granite") && tokens > 0, "{name} with {tokens}");
    }
}

#[tokio::test]
async fn an_effort_becomes_the_switch_and_a_model_without_one_answers_all_the_same() {
    let provider = server(ROOMY);
    provider.always(Answer::ollama("Hi"));
    for (name, level, expected) in [
        ("qwen3:8b", Effort::Off, json!(false)),
        ("qwen3:8b", Effort::Minimal, json!(true)),
        ("gpt-oss:20b", Effort::Max, json!("high")),
    ] {
        let prompt = Prompt { effort: Some(level), ..hello() };
        assert_eq!(ask(&*named(provider.url(), name), &prompt).await.warnings, Vec::<String>::new());
        assert_eq!(chats(&provider).last().expect("a request").body["think"], expected, "{name} {level:?}");
    }
    let refused = json!({"error": "\"gemma3:4b\" does not support thinking"});
    provider.push(Answer::json(400, refused));
    let prompt = Prompt { effort: Some(Effort::High), ..hello() };
    let outcome = ask(&*named(provider.url(), "gemma3:4b"), &prompt).await;
    assert!(outcome.warnings.concat().contains("has no setting for effort"), "{:?}", outcome.warnings);
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
    assert_eq!(chats(&provider).last().expect("a request").body.get("think"), None);
}

#[tokio::test]
async fn granite_is_told_to_think_before_the_conversation() {
    let provider = server(ROOMY);
    provider.always(Answer::ollama("Hi"));
    let control = json!({"role": "control", "content": "thinking"});
    let user = json!({"role": "user", "content": "Hello"});
    let sentence = "Write your thoughts between <think></think> and write your response between \
                    <response></response> for each user query.";
    let told = json!({"role": "system", "content": format!("Be brief.\n\n{sentence}")});
    let untold = json!({"role": "system", "content": "Be brief."});
    let tool =
        ToolSpec { name: "now".into(), description: "The time.".into(), input_schema: json!({"type": "object"}) };
    for (system, tools, expected) in [
        // Without other instructions, the model's own template says it.
        ("", vec![], json!([control, user])),
        ("Be brief.", vec![], json!([told, control, user])),
        ("Be brief.", vec![Arc::new(tool)], json!([untold, control, user])),
    ] {
        let prompt = Prompt { system: system.into(), tools, thinking_tokens: 1_024, ..hello() };
        ask(&*named(provider.url(), "ibm/Granite3.3:8b"), &prompt).await.reply();
        assert_eq!(chats(&provider).last().expect("a request").body["messages"], expected);
    }
}

// ---- what a model can hold ----

fn num_ctx(request: &Request) -> u64 {
    request.body["options"]["num_ctx"].as_u64().expect("a number")
}

/// A prompt of about so many tokens.
fn long(tokens: usize) -> Prompt {
    prompt(vec![Message::user("abc".repeat(tokens))])
}

#[tokio::test]
async fn the_window_is_asked_once_and_the_context_grows_with_the_conversation() {
    let provider = server(40_960);
    provider.always(Answer::ollama("Hi"));
    let model = named(provider.url(), "growing");
    for (tokens, expected) in [(10, 4_096), (3_700, 4_096), (4_000, 8_192), (17_000, 32_768), (33_000, 40_960)] {
        let outcome = ask(&*model, &long(tokens)).await;
        assert_eq!(outcome.warnings, [""; 0], "{tokens} tokens");
        assert_eq!(num_ctx(chats(&provider).last().expect("a request")), expected, "{tokens} tokens");
    }
    ask(&*named(provider.url(), "growing"), &hello()).await.reply();
    assert_eq!(asked(&provider, "/api/show").len(), 1);
    ask(&*named(provider.url(), "another"), &hello()).await.reply();
    assert_eq!(asked(&provider, "/api/show").len(), 2);
}

#[tokio::test]
async fn two_calls_at_once_ask_for_the_window_once() {
    let provider = server(40_960);
    provider.always(Answer::ollama("Hi"));
    let model = named(provider.url(), "twice");
    let prompt = hello();
    let (one, two) = tokio::join!(ask(&*model, &prompt), ask(&*model, &prompt));
    assert!(one.end.is_ok() && two.end.is_ok());
    assert_eq!(asked(&provider, "/api/show").len(), 1);
}

#[tokio::test]
async fn a_question_for_the_window_that_fails_does_not_fail_the_call() {
    for (number, answer) in [
        Answer::json(404, ollama::error_body("model 'm' not found")),
        Answer::json(500, ollama::error_body("boom")),
        Answer::json(200, json!({"model_info": {"general.architecture": "x"}})),
        Answer::json(200, json!("odd")),
        Answer::new(200).body("no JSON"),
        Answer::hang_up(),
        Answer::new(200).header("content-type", "application/json").then_forever("x".repeat(1 << 20)),
    ]
    .into_iter()
    .enumerate()
    {
        let provider = FakeProvider::start();
        provider.on_path("/api/show", answer);
        let usage = Usage { input_tokens: 15_000, ..Usage::default() };
        provider.always(Answer::ollama(Reply::new().text(["Hi"]).usage(usage)));
        let model = named(provider.url(), &format!("unknown-{number}"));
        for (tokens, expected, warned) in [(10, 4_096, false), (6_000, 8_192, false), (20_000, 8_192, true)] {
            let outcome = ask(&*model, &long(tokens)).await;
            assert_eq!(outcome.warnings.len(), usize::from(warned), "{number}: {:?}", outcome.warnings);
            assert_eq!(outcome.reply().message, Message::assistant("Hi"));
            assert_eq!(num_ctx(chats(&provider).last().expect("a request")), expected, "{number}");
        }
    }
}

#[tokio::test]
async fn a_question_for_the_window_that_failed_is_asked_again() {
    let provider = FakeProvider::start();
    provider.on_path("/api/show", Answer::json(404, ollama::error_body("model 'late' not found")));
    provider.always(Answer::ollama("Hi"));
    let model = named(provider.url(), "late");
    ask(&*model, &long(20_000)).await.reply();
    provider.on_path("/api/show", Answer::json(200, ollama::show(ROOMY)));
    let outcome = ask(&*model, &long(20_000)).await;
    assert_eq!(outcome.warnings, [""; 0]);
    let sizes: Vec<u64> = chats(&provider).iter().map(num_ctx).collect();
    assert_eq!(sizes, [8_192, 32_768]);
}

#[tokio::test]
async fn a_server_that_does_not_say_what_a_model_holds_delays_the_call_only_so_long() {
    let provider = FakeProvider::start();
    provider.on_path("/api/show", Answer::silent());
    provider.push(Answer::ollama("Hi"));
    let model = registry(provider.url(), IMPATIENT).find("ollama/silent").expect("a model");
    assert_eq!(ask(&*model, &hello()).await.reply().message, Message::assistant("Hi"));
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_not_sent_without_a_warning() {
    let provider = server(8_192);
    provider.push(Answer::ollama("Hi"));
    let outcome = ask(&*named(provider.url(), "narrow"), &long(9_000)).await;
    assert!(matches!(outcome.pieces.first(), Some(ReplyPiece::Warning(_))), "it comes first: {:?}", outcome.pieces);
    let warning = "The conversation has about 9,035 tokens, but the context window of narrow has only 8,192. Ollama drops the oldest part. Start a new session, or choose a model with a larger context window.";
    assert_eq!(outcome.warnings[0], warning);
    assert_eq!(outcome.reply().message, Message::assistant("Hi"));
    assert_eq!(num_ctx(&chats(&provider)[0]), 8_192);
}

#[tokio::test]
async fn a_prompt_that_was_cut_is_noticed_by_what_the_server_read() {
    let provider = server(8_192);
    let model = named(provider.url(), "cutting");
    let read = |tokens| Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() };
    let tried =
        [(8_100, 4_000, true), (8_100, 6_000, false), (8_100, 0, false), (300, 20, false), (3_000, 1_000, false)];
    for (tokens, used, warned) in tried {
        provider.push(Answer::ollama(Reply::new().text(["Hi"]).usage(read(used))));
        let outcome = ask(&*model, &long(tokens)).await;
        let noticed = outcome.warnings.iter().any(|text| text.contains("read only 4,000 of about 8,135 tokens"));
        assert_eq!((noticed, outcome.warnings.len()), (warned, usize::from(warned)), "{:?}", outcome.warnings);
        assert_eq!(Usage { tokens_per_s: None, ..outcome.reply().usage }, read(used));
    }
}

#[tokio::test]
async fn warnings_have_their_bounds() {
    let mut assembly = Assembly::default();
    for _ in 0..30 {
        assembly.push(ReplyPiece::Warning("ü".repeat(600))).expect("fits");
    }
    assert_eq!(assembly.warnings(), vec!["ü".repeat(500); 20]);
}

// ---- the form of the words ----

const OBEYED: &str = "{\"word\":\"quince\",\"sure\":true}";

fn wanted() -> Value {
    json!({"type": "object", "properties": {"operations": {"type": "array"}}, "required": ["operations"]})
}

fn within_schema() -> Prompt {
    Prompt { format: Some(Format::Schema { name: "proposal".into(), schema: wanted() }), ..hello() }
}

#[tokio::test]
async fn a_schema_is_sent_only_where_a_trial_shows_that_it_is_obeyed() {
    let refusal = || Answer::json(500, ollama::error_body("invalid JSON schema in format"));
    let old = "json: cannot unmarshal object into Go struct field GenerateRequest.format of type string";
    for (number, trial, obeys) in [
        (0, Answer::json(200, ollama::generated(OBEYED)), true),
        (1, Answer::json(200, ollama::generated("{\"weather\":\"sunny\"}")), false),
        (2, Answer::json(200, ollama::generated("It is sunny.")), false),
        (3, refusal(), false),
        (4, Answer::json(400, ollama::error_body(old)), false),
    ] {
        let provider = server(ROOMY);
        provider.on_path("/api/generate", trial);
        provider.always(Answer::ollama("{}"));
        let model = named(provider.url(), &format!("schema-{number}"));
        for _ in 0..2 {
            ask(&*model, &within_schema()).await.reply();
        }
        let expected = if obeys { wanted() } else { json!("json") };
        let formats: Vec<Value> = chats(&provider).iter().map(|request| request.body["format"].clone()).collect();
        assert_eq!(formats, [expected.clone(), expected], "{number}");
        assert_eq!(asked(&provider, "/api/generate").len(), 1, "{number}: tried once and remembered");
    }
}

#[tokio::test]
async fn the_trial_of_a_schema_is_small_and_loads_the_model_as_the_call_does() {
    let provider = server(ROOMY);
    provider.on_path("/api/generate", Answer::json(200, ollama::generated(OBEYED)));
    provider.push(Answer::ollama("{}"));
    let mut prompt = within_schema();
    prompt.max_output_tokens = 5_000;
    ask(&*named(provider.url(), "trial:1b"), &prompt).await.reply();
    let paths: Vec<String> = provider.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/api/show", "/api/generate", "/api/chat"]);
    let body = &asked(&provider, "/api/generate")[0].body;
    insta::assert_snapshot!(serde_json::to_string_pretty(body).expect("writes"), @r#"
    {
      "model": "trial:1b",
      "prompt": "What is the weather like? Answer in JSON.",
      "stream": false,
      "think": false,
      "format": {
        "type": "object",
        "properties": {
          "word": {
            "type": "string",
            "enum": [
              "quince",
              "medlar"
            ]
          },
          "sure": {
            "type": "boolean"
          }
        },
        "required": [
          "word",
          "sure"
        ]
      },
      "options": {
        "num_ctx": 8192,
        "num_predict": 64,
        "temperature": 0
      }
    }
    "#);
    assert_eq!(body["options"]["num_ctx"], chats(&provider)[0].body["options"]["num_ctx"]);
}

#[tokio::test]
async fn nothing_is_tried_where_no_schema_is_asked_for() {
    let provider = server(ROOMY);
    provider.always(Answer::ollama("{}"));
    let model = named(provider.url(), "untried");
    for (format, expected) in [(None, None), (Some(Format::Json), Some(json!("json")))] {
        ask(&*model, &Prompt { format, ..hello() }).await.reply();
        let requests = chats(&provider);
        assert_eq!(requests.last().expect("a request").body.get("format"), expected.as_ref());
    }
    assert_eq!(asked(&provider, "/api/generate"), []);
}

#[tokio::test]
async fn a_trial_that_failed_for_another_reason_is_made_again() {
    let provider = server(ROOMY);
    provider.always(Answer::ollama("{}"));
    let model = named(provider.url(), "retried");
    for (trial, expected) in [
        (Answer::json(503, ollama::error_body("server busy, please try again")), json!("json")),
        (Answer::hang_up(), json!("json")),
        (Answer::json(200, ollama::generated(OBEYED)), wanted()),
    ] {
        provider.on_path("/api/generate", trial);
        ask(&*model, &within_schema()).await.reply();
        assert_eq!(chats(&provider).last().expect("a request").body["format"], expected);
    }
    assert_eq!(asked(&provider, "/api/generate").len(), 3);
}

#[tokio::test]
async fn a_schema_that_is_refused_after_a_good_trial_gives_way_to_plain_json() {
    let provider = server(ROOMY);
    provider.on_path("/api/generate", Answer::json(200, ollama::generated(OBEYED)));
    provider.push(Answer::json(500, ollama::error_body("invalid JSON schema in format")));
    provider.always(Answer::ollama("{}"));
    let model = named(provider.url(), "partial");
    for _ in 0..2 {
        assert_eq!(ask(&*model, &within_schema()).await.reply().message, Message::assistant("{}"));
    }
    let formats: Vec<Value> = chats(&provider).iter().map(|request| request.body["format"].clone()).collect();
    assert_eq!(formats, [wanted(), json!("json"), json!("json")], "refused, given up, remembered");
}

#[tokio::test]
async fn another_fault_of_a_call_within_a_schema_is_a_fault() {
    let provider = server(ROOMY);
    provider.on_path("/api/generate", Answer::json(200, ollama::generated(OBEYED)));
    let model = named(provider.url(), "faulty");
    for (answer, kind) in [
        (Answer::json(500, ollama::error_body("boom")), ProblemKind::Overloaded),
        (lines([""; 0]), ProblemKind::Truncated),
        (lines([ollama::content("{}")]), ProblemKind::Truncated),
    ] {
        provider.push(answer);
        assert_eq!(ask(&*model, &within_schema()).await.fault().problem.kind, kind);
    }
    assert_eq!(chats(&provider).len(), 3);
}

// ---- what comes back ----

#[tokio::test]
async fn a_documented_stream_becomes_the_reply_it_says() {
    let usage = Usage { input_tokens: 60, output_tokens: 89, ..Usage::default() };
    let reply = Reply::new()
        .thinking(["Think", "ing."], "")
        .text(["Okay, ", "let's ", "check 🦀."])
        .tool("", "get_weather", ["{\"location\": \"San Francisco\"}"])
        .tool("", "now", ["{}"])
        .usage(usage);
    for size in [1, 7, 64, 100_000] {
        let outcome = answered(Answer::ollama(reply.clone()).chunked(size)).await;
        assert_eq!((outcome.words.as_str(), outcome.warnings.len()), ("Okay, let's check 🦀.", 0));
        let reply = outcome.reply();
        assert_eq!(
            reply.message.parts,
            [
                thinking("Thinking."),
                text("Okay, let's check 🦀."),
                tool("call_1", "get_weather", json!({"location": "San Francisco"})),
                tool("call_2", "now", json!({})),
            ]
        );
        assert_eq!(
            (reply.message.role, reply.stop_reason, Usage { tokens_per_s: None, ..reply.usage }),
            (Role::Assistant, Some(StopReason::ToolUse), usage)
        );
    }
}

#[tokio::test]
async fn parts_keep_the_order_in_which_they_came() {
    let outcome = streamed([
        ollama::thinking("a"),
        ollama::content("b"),
        ollama::tool_call("", "t", json!({})),
        ollama::thinking("c"),
        ollama::content("d"),
        done(),
    ])
    .await;
    let expected = [thinking("a"), text("b"), tool("call_1", "t", json!({})), thinking("c"), text("d")];
    assert_eq!(outcome.reply().message.parts, expected);
}

#[tokio::test]
async fn every_tool_use_has_an_id_that_nothing_else_in_the_conversation_has() {
    let calls = json!([
        {"id": "call_h3k2", "function": {"index": 0, "name": "a", "arguments": {}}},
        {"id": "call_h3k2", "function": {"index": 1, "name": "b", "arguments": {}}},
        {"id": "", "function": {"name": "c", "arguments": {}}},
        {"id": 7, "function": {"name": "d", "arguments": {}}},
        {"id": "x".repeat(201), "function": {"name": "e", "arguments": {}}},
        {"id": "call_5", "function": {"name": "f", "arguments": {}}},
        {"function": {"name": "g", "arguments": {}}},
    ]);
    let provider = server(ROOMY);
    provider.push(lines([ollama::tool_calls(calls), ollama::tool_call("call_2", "h", json!({})), done()]));
    let earlier = Message { role: Role::Assistant, parts: vec![tool("call_2", "a", json!({}))] };
    let result = Message { role: Role::User, parts: vec![Part::ToolResult(ToolResult::success("call_2", "done"))] };
    let prompt = prompt(vec![Message::user("Go"), earlier, result]);
    let reply = ask(&*model(provider.url(), PATIENT), &prompt).await.reply();
    let ids: Vec<String> = reply
        .message
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolUse(call) => format!("{} {}", call.name, call.id),
            other => panic!("{other:?} was not asked for"),
        })
        .collect();
    assert_eq!(
        ids,
        ["a call_h3k2", "b call_1", "c call_3", "d call_4", "e call_5", "f call_6", "g call_7", "h call_8"]
    );
}

#[tokio::test]
async fn each_reason_to_stop_has_its_meaning() {
    let call = ollama::tool_call("", "t", json!({}));
    let say = ollama::content("Hi");
    let bare = ollama::line(json!({"done": true}));
    for (sent, expected) in [
        (vec![say.clone(), done()], Some(StopReason::EndTurn)),
        (vec![call.clone(), done()], Some(StopReason::ToolUse)),
        (vec![say.clone(), ollama::done("length", &Usage::default())], Some(StopReason::MaxTokens)),
        (vec![call.clone(), ollama::done("length", &Usage::default())], Some(StopReason::MaxTokens)),
        (vec![call.clone(), ollama::done("tool_calls", &Usage::default())], Some(StopReason::ToolUse)),
        (vec![ollama::done("load", &Usage::default())], Some(StopReason::Other("load".into()))),
        (vec![ollama::done("unload", &Usage::default())], Some(StopReason::Other("unload".into()))),
        (vec![ollama::done("new\u{1b}[2J", &Usage::default())], Some(StopReason::Other("new [2J".into()))),
        (vec![say.clone(), bare.clone()], None),
        (vec![call, bare], Some(StopReason::ToolUse)),
        (vec![say.clone(), ollama::line(json!({"done": true, "done_reason": 7}))], None),
        (vec![say, ollama::line(json!({"done_reason": "stop", "done": true}))], Some(StopReason::EndTurn)),
    ] {
        let reply = streamed(sent.clone()).await.reply();
        assert_eq!(reply.stop_reason, expected, "{sent:?}");
    }
}

#[tokio::test]
async fn reasoning_between_tags_is_told_apart_at_the_start_of_a_reply_only() {
    let said = |thought: &str, words: &str| match (thought, words) {
        ("", words) => vec![text(words)],
        (thought, "") => vec![thinking(thought)],
        (thought, words) => vec![thinking(thought), text(words)],
    };
    let whole = "<think>\nHm 🦀.\n</think>\n\n<response>\nYes: <b>é</b>.</response>\n";
    for (name, reply, expected) in [
        ("granite3.3:8b", whole, said("Hm 🦀.\n", "Yes: <b>é</b>.")),
        ("granite3.3:8b", "<think>Hm</think><response>Half an ans", said("Hm", "Half an ans")),
        ("granite3.3:8b", "<think>Hm, never closed", said("Hm, never closed", "")),
        ("granite3.3:8b", "<response>Only words</response>", said("", "Only words")),
        ("granite3.3:8b", "No tags", said("", "No tags")),
        ("deepseek-r1:8b", "<think>\nHm.\n</think>\n\nYes.", said("Hm.\n", "Yes.")),
        ("deepseek-r1:8b", "<think>\n\n</think>\n\nYes.", said("", "Yes.")),
        ("deepseek-r1:8b", "Write <think> first.", said("", "Write <think> first.")),
        ("deepseek-r1:8b", "<think>a</think>Say <think>b</think>.", said("a", "Say <think>b</think>.")),
        ("deepseek-r1:8b", "<response>xml</response>", said("", "<response>xml</response>")),
    ] {
        let provider = server(ROOMY);
        let model = named(provider.url(), name);
        // In pieces of each size, the tags are split everywhere.
        for size in [1, 2, 3, 5, 100] {
            let chars: Vec<char> = reply.chars().collect();
            let pieces = chars.chunks(size).map(|piece| ollama::content(&piece.iter().collect::<String>()));
            provider.push(lines(pieces.chain([done()])));
            let outcome = ask(&*model, &hello()).await;
            assert_eq!(outcome.reply().message.parts, expected, "{reply:?} of {name} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn a_tag_after_reasoning_that_came_apart_is_a_word() {
    let outcome = streamed([ollama::thinking("Hm."), ollama::content("<think> opens it."), done()]).await;
    assert_eq!(outcome.reply().message.parts, [thinking("Hm."), text("<think> opens it.")]);
}

#[tokio::test]
async fn a_tool_use_after_reasoning_between_tags_stands_alone() {
    let think = ollama::content("<think>I need the time.</think>\n\n");
    let outcome = streamed([think, ollama::tool_call("", "now", json!({})), done()]).await;
    assert_eq!(outcome.reply().message.parts, [thinking("I need the time."), tool("call_1", "now", json!({}))]);
}

#[tokio::test]
async fn lines_and_fields_of_a_newer_version_are_skipped() {
    let outcome = streamed([
        ollama::line(json!({"status": "loading model"})),
        ollama::line(json!({})),
        "\n \r\n".into(),
        ollama::message(json!({"role": "assistant", "content": null, "thinking": null, "tool_calls": null})),
        ollama::message(json!({"role": "assistant", "content": "H", "images": ["aGk="], "logprobs": [{"token": "H"}]})),
        ollama::line(json!({"message": {"content": "i"}, "done": null, "error": null, "remote_model": "m"})),
        ollama::line(json!({"message": null, "done": false})),
        ollama::line(json!({"done": true, "done_reason": "stop", "message": {"content": "!"}, "eval_count": 3})),
    ])
    .await;
    let reply = outcome.reply();
    assert_eq!(reply.message, Message::assistant("Hi!"), "words in the last line count");
    assert_eq!(reply.usage, Usage { output_tokens: 3, ..Usage::default() });
}

#[tokio::test]
async fn figures_may_be_missing_or_odd() {
    for odd in [json!(null), json!(-1), json!("many"), json!(1.5), json!({})] {
        let line = ollama::line(json!({"done": true, "prompt_eval_count": odd, "eval_count": odd}));
        assert_eq!(streamed([ollama::content("Hi"), line]).await.reply().usage, Usage::default(), "{odd}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_stay_broken() {
    let call = |arguments| ollama::tool_calls(json!([{"function": {"name": "t", "arguments": arguments}}]));
    let bare = ollama::tool_calls(json!([{"function": {"name": "t"}}]));
    for (line, input, broken) in [
        (call(json!({"a": {"b": [1, null]}})), json!({"a": {"b": [1, null]}}), None),
        (call(json!("{\"a\": 1}")), json!({"a": 1}), None),
        (call(json!(null)), json!({}), None),
        (bare, json!({}), None),
        (call(json!("{\"a\": ")), json!(null), Some("{\"a\": ")),
        (call(json!([1])), json!(null), Some("[1]")),
        (call(json!(7)), json!(null), Some("7")),
    ] {
        let reply = streamed([line.clone(), done()]).await.reply();
        let call = ToolCall { id: "call_1".into(), name: "t".into(), input, broken: broken.map(str::to_owned) };
        assert_eq!(reply.message.parts, [Part::ToolUse(call)], "{line}");
    }
}

#[tokio::test]
async fn a_tool_use_without_a_name_is_refused() {
    for call in [json!({"function": {"arguments": {}}}), json!({}), json!({"function": {"name": ""}})] {
        let fault = streamed([ollama::tool_calls(json!([call])), done()]).await.fault();
        assert_eq!(fault.problem.kind, ProblemKind::Protocol, "{call}");
    }
}

#[tokio::test]
async fn a_reply_is_complete_when_it_is_done_whatever_the_connection_does_then() {
    let answer = Answer::ollama("Hi");
    let all = answer.body_bytes().len();
    for answer in [
        answer.clone().cut_after(all),
        answer.clone().close_after(all),
        answer.clone().stall_after(all),
        answer.clone().until_close().close_after(all - 1),
        answer.then_forever(ollama::content("more")),
    ] {
        assert_eq!(answered(answer).await.reply().message, Message::assistant("Hi"));
    }
}

// ---- encodings ----

#[tokio::test]
async fn other_line_ends_and_paddings_are_read() {
    let stream = String::from_utf8(Answer::ollama("Hé 🦀").body_bytes()).expect("text");
    for bytes in [
        stream.replace('\n', "\r\n"),
        stream.replace('\n', "\n\n"),
        stream.replace("\":", "\" : "),
        stream.replace('é', "\\u00e9").replace('🦀', "\\ud83e\\udd80"),
    ] {
        for size in [1, 5, 100_000] {
            let outcome = answered(lines([&bytes]).chunked(size)).await;
            assert_eq!(outcome.reply().message, Message::assistant("Hé 🦀"), "{bytes:?} in chunks of {size}");
        }
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_not_guessed() {
    let mut bytes = [ollama::content("good"), ollama::content("b?d"), done()].concat().into_bytes();
    let place = bytes.windows(3).position(|window| window == b"b?d").expect("the word") + 1;
    bytes[place] = 0xff;
    let outcome = answered(Answer::events([bytes]).header("content-type", "application/x-ndjson")).await;
    assert_eq!(outcome.words, "good");
    let fault = outcome.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, LATER));
}

// ---- cut, stalled, endless ----

fn only_words() -> Reply {
    Reply::new().text(WORDS)
}

fn words_and_more() -> Reply {
    Reply::new().thinking(["Hm…"], "").text(WORDS).tool("", "read", ["{\"path\":", "\"ä\"}"])
}

/// How much of what was sent before a cut arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrives {
    Perhaps,
    EveryLine,
    /// Even the last line without its end.
    EveryObject,
}

/// Cuts a stream after every byte.
async fn every_cut(answer: Answer, arrives: Arrives, cut: fn(Answer, usize) -> Answer) {
    let mut cuts = Cuts::new(answer, "\n", |piece| format!("\"content\":{}", json!(piece)));
    cuts.exact = arrives != Arrives::Perhaps;
    if arrives == Arrives::EveryObject {
        // A line counts without the byte that ends it; so does the last one, which says that this was all.
        cuts.ends = cuts.ends.map(|end| end - 1);
        cuts.lengths -= 1;
    }
    let provider = server(ROOMY);
    cuts.try_all(&provider, &*model(provider.url(), PATIENT), cut).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_1() {
    every_cut(Answer::ollama(only_words()).chunked(1), Arrives::Perhaps, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_7() {
    every_cut(Answer::ollama(words_and_more()).chunked(7), Arrives::Perhaps, Answer::cut_after).await;
}

#[tokio::test]
async fn a_reset_after_any_byte_is_a_fault_in_chunks_of_64() {
    every_cut(Answer::ollama(words_and_more()).chunked(64), Arrives::Perhaps, Answer::cut_after).await;
}

#[tokio::test]
async fn a_close_after_any_byte_is_a_fault() {
    every_cut(Answer::ollama(words_and_more()).chunked(7), Arrives::EveryLine, Answer::close_after).await;
}

/// The worst of them: nothing in HTTP tells this end from a good one.
#[tokio::test]
async fn a_body_that_ends_in_good_order_after_any_byte_is_a_fault() {
    let answer = Answer::ollama(words_and_more()).until_close().chunked(1);
    every_cut(answer, Arrives::EveryObject, Answer::close_after).await;
}

#[tokio::test]
async fn a_stream_without_its_last_line_is_cut() {
    let fault = streamed([ollama::content("Hi"), ollama::tool_call("", "t", json!({}))]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Truncated, LATER));
}

#[tokio::test]
async fn silence_ends_by_the_limit_and_the_hint_says_that_a_model_may_be_loading() {
    let answer = Answer::ollama("Hello there");
    let middle = answer.body_bytes().len() / 2;
    for answer in [Answer::silent(), answer.clone().stall_after(0), answer.stall_after(middle)] {
        let provider = server(ROOMY);
        provider.push(answer);
        let fault = ask(&*model(provider.url(), IMPATIENT), &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Stalled, LATER));
        let hint = fault.problem.hint.expect("a hint");
        assert!(hint.contains("loads a model") && hint.contains("limits.api_timeout_s"), "{hint}");
        provider.closed(chat_index(&provider).await).await;
    }
}

#[tokio::test]
async fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let provider = server(ROOMY);
    provider.push(lines(["{\"message\":{\"content\":\""]).then_forever("x".repeat(64 * 1024)));
    let fault = ask(&*model(provider.url(), PATIENT), &hello()).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never), "{fault:?}");
    let index = chat_index(&provider).await;
    provider.closed(index).await;
    // What the sockets hold comes on top of what was read.
    let sent = provider.sent_bytes(index);
    assert!((8 << 20..24 << 20).contains(&sent), "{sent} bytes were taken");
}

#[tokio::test]
async fn a_large_line_within_the_bound_is_read() {
    let words = "0123456789".repeat(400_000);
    let outcome = answered(Answer::ollama(words.as_str()).chunked(64 * 1024)).await;
    assert_eq!(outcome.reply().message.text().len(), words.len());
}

#[tokio::test]
async fn a_reply_without_end_is_refused_before_it_fills_the_memory() {
    let provider = server(ROOMY);
    provider.push(lines([ollama::content("x")]).then_forever(ollama::content(&"x".repeat(1 << 20))));
    let outcome = ask(&*model(provider.url(), PATIENT), &hello()).await;
    assert!(((31 << 20)..=(32 << 20)).contains(&outcome.words.len()), "{}", outcome.words.len());
    assert_eq!(outcome.fault().problem.kind, ProblemKind::Protocol);
}

#[tokio::test]
async fn tool_uses_without_end_are_refused() {
    let calls: Vec<Value> = (0..20_000).map(|_| json!({"function": {"name": "t", "arguments": {}}})).collect();
    let fault = streamed([ollama::tool_calls(json!(calls)), done()]).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
}

#[tokio::test]
async fn dropping_the_stream_while_something_else_is_asked_closes_the_connection() {
    let provider = FakeProvider::start();
    provider.on_path("/api/show", Answer::silent());
    let mut pieces = named(provider.url(), "dropped").stream(&hello());
    tokio::select! {
        piece = pieces.next() => panic!("{piece:?} came from nowhere"),
        _ = provider.wait_for_requests(1) => {}
    }
    drop(pieces);
    provider.closed(0).await;
    assert_eq!(chats(&provider), []);
}

// ---- refusals ----

#[tokio::test]
async fn each_status_has_its_kind_and_says_whether_to_try_again() {
    let after = |after_ms| Retry::Later { after_ms: Some(after_ms) };
    for (status, expected, retry) in [
        (400, ProblemKind::Refused, Retry::Never),
        (401, ProblemKind::Auth, Retry::Never),
        (403, ProblemKind::Auth, Retry::Never),
        (404, ProblemKind::NotFound, Retry::Never),
        (429, ProblemKind::RateLimited, after(7_000)),
        (500, ProblemKind::Overloaded, after(7_000)),
        (502, ProblemKind::Overloaded, after(7_000)),
        (503, ProblemKind::Overloaded, after(7_000)),
    ] {
        let answer = Answer::json(status, ollama::error_body("Because of the tests."));
        let fault = answered(answer.header("retry-after", "7")).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (expected, retry), "{status}");
        let message = &fault.problem.message;
        assert!(message.contains(&status.to_string()) && message.contains("Because of the tests."), "{message}");
    }
}

#[tokio::test]
async fn an_error_that_ollama_is_known_for_says_what_to_do() {
    let refused = (ProblemKind::Refused, Retry::Never);
    let no_tools = (ProblemKind::NoTools, Retry::Never);
    for (status, said, expected, hint) in [
        (404, "model 'qwen3:8b' not found", (ProblemKind::NotFound, Retry::Never), "ollama pull qwen3:8b"),
        (
            404,
            "model \"qwen3:8b\" not found, try pulling it first",
            (ProblemKind::NotFound, Retry::Never),
            "ollama pull qwen3:8b",
        ),
        (400, "\"qwen3:8b\" does not support tools", no_tools, "cannot use tools"),
        (400, "registry.ollama.ai/library/qwen3:8b does not support tools", no_tools, "--model"),
        (400, "\"qwen3:8b\" does not support thinking", refused, "limits.thinking_tokens"),
        (400, "\"qwen3:8b\" does not support chat", refused, "does not support chat"),
        (401, "unauthorized", (ProblemKind::Auth, Retry::Never), "ollama signin"),
        (500, "model requires more system memory (5.6 GiB) than is available (3.1 GiB)", refused, "smaller model"),
    ] {
        let fault = answered(Answer::json(status, ollama::error_body(said))).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), expected, "{said}");
        assert!(fault.problem.message.contains(said), "{}", fault.problem.message);
        let hinted = fault.problem.hint.expect("a hint");
        assert!(hinted.contains(hint), "{hinted}");
        if status == 401 {
            continue;
        }
        // The same words mean the same within a stream, where there is no status.
        let fault = streamed([ollama::error(said)]).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), expected, "{said}, within the stream");
        assert!(fault.problem.hint.expect("a hint").contains(hint));
    }
}

#[tokio::test]
async fn an_address_that_is_not_ollamas_is_not_taken_for_a_missing_model() {
    let page = Answer::new(404).header("content-type", "text/plain").body("404 page not found");
    let hint = answered(page).await.hint();
    assert!(hint.contains("base_url") && !hint.contains("ollama pull"), "{hint}");
}

#[tokio::test]
async fn an_error_within_the_stream_keeps_the_words_and_may_pass() {
    for (line, said) in [
        (ollama::error("an error was encountered\u{1b}[2J"), "an error was encountered [2J"),
        (ollama::line(json!({"error": {"message": "nested"}})), "nested"),
        (ollama::line(json!({"error": {"code": 7}})), "it does not say why"),
        (ollama::line(json!({"error": ""})), "it does not say why"),
        (ollama::line(json!({"error": "last", "done": true, "message": {"content": "x"}})), "last"),
    ] {
        let outcome = streamed([ollama::content("So "), line, ollama::content("far"), done()]).await;
        assert_eq!((outcome.words.as_str(), &outcome.partial), ("So ", &Message::assistant("So ")));
        let fault = outcome.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Overloaded, LATER), "{said}");
        assert_eq!(fault.problem.message, format!("Ollama stopped: {said}"));
    }
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_a_fault_not_a_hole() {
    for line in [
        "{\"message\":{\"content\":\"ha\n",
        "data: {\"done\":true}\n",
        "null\n",
        "[]\n",
        "\"done\"\n",
        "{\"message\":{\"content\":7}}\n",
        "{\"message\":\"Hi\"}\n",
        "{\"message\":{\"tool_calls\":{}}}\n",
        "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":7}}]}}\n",
        "{\"done\":\"true\"}\n",
        "{\"done\":true}}\n",
        "{\"message\":7,\"note\":\"it does not support tools\"}\n",
    ] {
        let fault = streamed([ollama::content("Hi"), line.into(), done()]).await.fault();
        let retry = if serde_json::from_str::<Value>(line).is_ok() { Retry::Never } else { LATER };
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, retry), "{line}");
        assert!(fault.problem.message.len() < 400, "{}", fault.problem.message);
    }
}

#[tokio::test]
async fn a_web_page_is_no_reply() {
    let page = Answer::new(200).header("content-type", "text/html").body("<html>Sign in to the hotel's network</html>");
    let fault = answered(page).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never));
    assert!(fault.problem.hint.is_some());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_to_be_started() {
    let provider = FakeProvider::start();
    let url = provider.url().to_owned();
    drop(provider);
    let fault = ask(&*model(&url, PATIENT), &hello()).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Network, LATER));
    let hint = "Start Ollama with `ollama serve`. `trimtab doctor` shows the address that Trimtab tries.";
    assert_eq!(fault.problem.hint.as_deref(), Some(hint));
    let listed = model(&url, PATIENT).list().await.expect_err("nobody answers");
    assert_eq!(listed.problem.hint.as_deref(), Some(hint));
}

#[tokio::test]
async fn the_key_is_never_shown_even_by_a_server_that_repeats_it() {
    let long = format!("{}{KEY}", "x".repeat(490));
    for answer in [
        Answer::json(401, ollama::error_body(&format!("invalid key {KEY}"))),
        Answer::json(401, ollama::error_body(&long)),
        Answer::new(401).header("content-type", "text/html").body(format!("<p>{KEY}</p>")),
        Answer::new(200).header("content-type", format!("text/html; {KEY}")),
        lines([ollama::error(KEY)]),
        lines([format!("{{\"message\":{{\"content\":7}},\"key\":\"{KEY}\"}}\n")]),
        Answer::new(307).header("location", format!("http://127.0.0.1:1/{KEY}")),
        Answer::raw(format!("{KEY}\r\n\r\n")),
    ] {
        let outcome = answered(answer.clone()).await;
        let shown = format!("{outcome:?}");
        assert!(outcome.end.is_err(), "{shown}");
        assert!(!shown.contains(&KEY[..14]), "{shown}");
        let provider = FakeProvider::start();
        provider.always(answer);
        let listed = model(provider.url(), PATIENT).list().await;
        assert!(!format!("{listed:?}").contains(&KEY[..14]), "{listed:?}");
    }
    assert!(!format!("{:?}", registry("http://127.0.0.1:1", PATIENT)).contains(KEY));
}

// ---- beside the calls ----

#[tokio::test]
async fn the_models_that_are_there_are_listed() {
    let provider = FakeProvider::start();
    provider.push(Answer::json(200, ollama::tags(&["qwen3:8b", "hf.co/org/granite:Q4_K_M"])));
    let model = model(provider.url(), PATIENT);
    let listed = |name: &str| Listed { name: name.into(), window: None };
    assert_eq!(model.list().await.expect("a list"), [listed("qwen3:8b"), listed("hf.co/org/granite:Q4_K_M")]);
    let request = &provider.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/api/tags"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let odd = json!({"models": [{"model": "only-model"}, {"name": ""}, {"name": "a\u{1b}b"}, {"name": 7}, 7, null]});
    for (answer, expected) in
        [(odd, vec![listed("only-model")]), (json!({"models": null}), vec![]), (json!({}), vec![]), (json!([]), vec![])]
    {
        provider.push(Answer::json(200, answer.clone()));
        assert_eq!(model.list().await.expect("a list"), expected, "{answer}");
    }
    provider.push(Answer::json(500, ollama::error_body("boom")));
    assert_eq!(model.list().await.expect_err("a fault").problem.kind, ProblemKind::Overloaded);
}

#[tokio::test]
async fn tokens_are_not_counted_by_the_server() {
    let provider = FakeProvider::start();
    assert_eq!(model(provider.url(), PATIENT).count_tokens(&hello()).await, Ok(None));
    assert_eq!(provider.requests(), []);
}

//! What servers say about their models, in answers and in refusals, over a real socket.

use std::sync::Arc;

use serde_json::json;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_testkit::wire::{PATIENT, ask};
use trimtab_vocab::{Format, Message, Part, ProblemKind, Prompt, RefKey, Retry};
use trimtab_world::models::{Dialect, Model, ModelRegistry, Provider, Registry, ServerFacts};

fn model(provider: &FakeProvider, dialect: Dialect, base: &str) -> Arc<dyn Model> {
    let base_url = format!("{}{base}", provider.url());
    let settings = Provider { dialect, base_url, key_env: None, key: None, extras: Default::default() };
    let registry = Registry { providers: [("p".to_owned(), settings)].into(), idle: PATIENT, record: None };
    registry.find("p/some-model").expect("a model")
}

fn prompt() -> Prompt {
    let messages = vec![Arc::new(Message::user("Hello"))];
    Prompt { model: "p/some-model".into(), messages, max_output_tokens: 100, ..Prompt::default() }
}

fn with_picture() -> Prompt {
    let image: RefKey = "0badf00d".parse().expect("a key");
    let part = Part::Image { image: image.clone(), media_type: "image/png".into() };
    let message = Message { parts: vec![part], ..Message::user("Look") };
    Prompt { messages: vec![Arc::new(message)], images: [(image, "AAAA".into())].into(), ..prompt() }
}

#[tokio::test]
async fn a_hosted_model_that_the_catalog_knows_is_not_asked_about() {
    let base_url = "https://models.example.com/v1".to_owned();
    let settings =
        Provider { dialect: Dialect::OpenAi, base_url, key_env: None, key: None, extras: Default::default() };
    let registry = Registry { providers: [("p".to_owned(), settings)].into(), idle: PATIENT, record: None };
    assert_eq!(registry.find("p/some-model").expect("a model").describe(true).await, None);
}

#[tokio::test]
async fn llama_cpp_is_asked_for_its_slot_its_eyes_and_its_template() {
    let provider = FakeProvider::start();
    provider.on_path(
        "/props",
        Answer::json(
            200,
            json!({
                "default_generation_settings": {"n_ctx": 2048}, "modalities": {"vision": false},
                "chat_template_caps": {"supports_tools": false},
            }),
        ),
    );
    provider.on_path(
        "/v1/models",
        Answer::json(200, json!({"data": [{"id": "x.gguf", "meta": {"n_ctx": 4096, "n_params": 494_032_768}}]})),
    );
    let facts = ServerFacts {
        window: Some(2_048),
        tools: Some(false),
        images: Some(false),
        parameters: Some(494_032_768),
        ..ServerFacts::default()
    };
    assert_eq!(model(&provider, Dialect::OpenAi, "/v1").describe(true).await, Some(facts));
    let by_anthropic = model(&provider, Dialect::Anthropic, "").describe(true).await;
    assert_eq!(by_anthropic.and_then(|facts| facts.window), Some(2_048), "by any dialect");
}

#[tokio::test]
async fn ollama_says_what_a_model_can_do() {
    let provider = FakeProvider::start();
    provider.on_path(
        "/api/show",
        Answer::json(
            200,
            json!({
                "capabilities": ["completion"],
                "model_info": {"general.architecture": "q", "q.context_length": 32_768, "general.parameter_count": 7},
            }),
        ),
    );
    let facts = model(&provider, Dialect::Ollama, "").describe(true).await.expect("facts");
    assert_eq!((facts.window, facts.tools, facts.images), (Some(32_768), Some(false), Some(false)));
    assert_eq!(facts.parameters, Some(7));
}

#[tokio::test]
async fn a_server_that_says_nothing_changes_nothing() {
    let provider = FakeProvider::start();
    let told = model(&provider, Dialect::OpenAi, "/v1").describe(true).await;
    assert_eq!(told, Some(ServerFacts::default()), "it was asked");
    assert!(provider.requests().is_empty(), "such questions are not among the calls");
}

#[tokio::test]
async fn a_full_window_is_told_from_other_refusals() {
    let provider = FakeProvider::start();
    let body = json!({"error": {
        "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 2213, "n_ctx": 2048,
        "message": "request (2213 tokens) exceeds the available context size (2048 tokens), try increasing it",
    }});
    provider.push(Answer::json(400, body));
    let fault = ask(&*model(&provider, Dialect::OpenAi, "/v1"), &prompt()).await.fault();
    assert_eq!(fault.retry, Retry::Shorter { window: Some(2_048), prompt: Some(2_213) });
    let body = json!({"error": {"code": 500, "type": "server_error", "message": "image input is not supported"}});
    provider.push(Answer::json(500, body.clone()));
    let fault = ask(&*model(&provider, Dialect::OpenAi, "/v1"), &with_picture()).await.fault();
    assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Refused, Retry::WithoutImages));
    provider.push(Answer::json(500, body));
    let fault = ask(&*model(&provider, Dialect::OpenAi, "/v1"), &prompt()).await.fault();
    assert_ne!(fault.retry, Retry::WithoutImages, "no picture was sent");
    let long = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum",
    }});
    provider.push(Answer::json(400, long));
    let fault = ask(&*model(&provider, Dialect::Anthropic, ""), &prompt()).await.fault();
    assert_eq!(fault.retry, Retry::Shorter { window: Some(200_000), prompt: Some(210_000) });
}

#[tokio::test]
async fn a_server_that_knows_no_schema_is_asked_without_one_from_then_on() {
    let provider = FakeProvider::start();
    let refusal = json!({"error": {"message": "response_format.type must be one of text, json_object"}});
    provider.push(Answer::json(400, refusal));
    provider.push(Answer::openai(Reply::new().text(["{}"])));
    provider.push(Answer::openai(Reply::new().text(["{}"])));
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let sent = Prompt { format: Some(Format::Schema { name: "answer".into(), schema }), ..prompt() };
    let model = model(&provider, Dialect::OpenAi, "/v1");
    assert_eq!(ask(&*model, &sent).await.words, "{}");
    assert_eq!(ask(&*model, &sent).await.words, "{}");
    let kinds: Vec<String> =
        provider.requests().iter().map(|request| request.body["response_format"]["type"].to_string()).collect();
    assert_eq!(kinds, ["\"json_schema\"", "\"json_object\"", "\"json_object\""]);
}

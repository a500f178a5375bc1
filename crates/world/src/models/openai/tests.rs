use std::sync::Arc;

use serde_json::json;
use trimtab_vocab::{Effort, Format, Message, Part, Role, ToolCall, ToolResult, ToolSpec};

use super::pictures::base64;
use super::*;

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn thinking(text: &str, signature: Option<&str>, by: Option<&str>) -> Part {
    Part::Thinking { text: text.into(), signature: signature.map(str::to_owned), by: by.map(str::to_owned) }
}

fn call(id: &str) -> Part {
    Part::ToolUse(ToolCall { id: id.into(), name: "read".into(), input: json!({}), broken: None })
}

fn result(id: &str) -> Part {
    Part::ToolResult(ToolResult::success(id, "done"))
}

fn user(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

fn model(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

fn prompt(messages: Vec<Message>) -> Prompt {
    Prompt { messages: messages.into_iter().map(Arc::new).collect(), max_output_tokens: 256, ..Prompt::default() }
}

fn sent(base_url: &str, model: &str, prompt: &Prompt) -> Value {
    serde_json::to_value(OpenAiBody::new(ServerKind::at(base_url), model, prompt)).expect("writes")
}

const OPENAI: &str = "https://api.openai.com/v1";
const OPENROUTER: &str = "https://openrouter.ai/api/v1";
const DEEPSEEK: &str = "https://api.deepseek.com/v1";
const MISTRAL: &str = "https://api.mistral.ai/v1";
const XAI: &str = "https://api.x.ai/v1";
const LOCAL: &str = "http://127.0.0.1:8080/v1";
const OTHER: &str = "https://api.example.com/v1";

#[test]
fn a_server_is_known_by_its_host_alone() {
    for (url, expected) in [
        (OPENAI, ServerKind::OpenAi),
        ("https://eu.api.openai.com/v1", ServerKind::OpenAi),
        (OPENROUTER, ServerKind::OpenRouter),
        (DEEPSEEK, ServerKind::DeepSeek),
        ("https://api.moonshot.cn/v1", ServerKind::Moonshot),
        (MISTRAL, ServerKind::Mistral),
        (XAI, ServerKind::Xai),
        (LOCAL, ServerKind::Local),
        ("http://[::1]:8080/v1", ServerKind::Local),
        ("http://192.168.1.7:1234/v1", ServerKind::Local),
        ("http://localhost:1234/v1", ServerKind::Local),
        ("http://gpu.lan/v1", ServerKind::Local),
        ("https://max.ai/v1", ServerKind::Other),
        ("https://api.openai.com.example.com/v1", ServerKind::Other),
        ("https://example.com/api.openai.com/v1", ServerKind::Other),
        ("not an address", ServerKind::Other),
    ] {
        assert_eq!(ServerKind::at(url), expected, "{url}");
    }
}

#[test]
fn the_longest_reply_is_told_in_the_words_that_the_server_and_the_model_know() {
    for (url, model, field) in [
        (OPENAI, "gpt-4o", "max_completion_tokens"),
        (OPENAI, "o3", "max_completion_tokens"),
        (OTHER, "o4-mini", "max_completion_tokens"),
        (OTHER, "azure/gpt-5.1-chat", "max_completion_tokens"),
        (OTHER, "gpt-4o", "max_tokens"),
        (OTHER, "gpt-35-turbo", "max_tokens"),
        (OTHER, "gpt-oss-20b", "max_tokens"),
        (OTHER, "olmo-2", "max_tokens"),
        (OPENROUTER, "openai/gpt-5", "max_tokens"),
        (MISTRAL, "mistral-large-latest", "max_tokens"),
        (XAI, "grok-4", "max_tokens"),
        (LOCAL, "qwen3", "max_tokens"),
    ] {
        let body = sent(url, model, &prompt(vec![Message::user("Hello")]));
        let fields: Vec<&str> = ["max_tokens", "max_completion_tokens"]
            .into_iter()
            .filter(|field| body.get(field).is_some_and(|longest| longest == 256))
            .collect();
        assert_eq!(fields, [field], "{model} at {url}");
    }
}

#[test]
fn a_temperature_goes_only_to_models_that_take_one() {
    let mut prompt = prompt(vec![Message::user("Hello")]);
    assert_eq!(sent(OPENAI, "gpt-4o", &prompt).get("temperature"), None);
    prompt.temperature = Some(0.5);
    for (model, taken) in
        [("gpt-4o", true), ("gpt-5-chat-latest", true), ("gpt-5", false), ("gpt-5.2", false), ("o3", false)]
    {
        assert_eq!(sent(OPENAI, model, &prompt).get("temperature").is_some(), taken, "{model}");
    }
}

#[test]
fn a_repeat_penalty_has_the_name_that_each_server_documents() {
    let mut prompt = prompt(vec![Message::user("Hello")]);
    let fields = ["repeat_penalty", "repetition_penalty", "frequency_penalty"];
    let given = |url: &str, model: &str, prompt: &Prompt| {
        let body = sent(url, model, prompt);
        fields.map(|field| body.get(field).is_some())
    };
    assert_eq!(given(LOCAL, "qwen", &prompt), [false; 3], "none is sent where none is wanted");
    prompt.repeat_penalty = Some(1.2);
    for (url, model, expected) in [
        (LOCAL, "qwen", [true, true, false]),
        (OPENROUTER, "qwen/qwen3", [false, true, false]),
        (OPENAI, "gpt-4o", [false, false, true]),
        (OPENAI, "gpt-5", [false; 3]),
        (MISTRAL, "mistral-small", [false, false, true]),
        (OTHER, "any", [false; 3]),
    ] {
        assert_eq!(given(url, model, &prompt), expected, "{url} {model}");
    }
}

#[test]
fn an_effort_goes_only_to_models_that_are_known_to_take_one() {
    let effort = |url: &str, model: &str, thinking_tokens: u32, tools: bool| {
        let mut prompt = prompt(vec![Message::user("Hello")]);
        prompt.thinking_tokens = thinking_tokens;
        if tools {
            let input_schema = json!({"type": "object"});
            prompt.tools.push(Arc::new(ToolSpec { name: "t".into(), description: String::new(), input_schema }));
        }
        let body = sent(url, model, &prompt);
        body.get("reasoning_effort").map(|effort| effort.as_str().expect("a word").to_owned())
    };
    for (url, model, tokens, expected) in [
        (OPENAI, "gpt-5", 1_024, Some("low")),
        (OPENAI, "gpt-5", 8_192, Some("medium")),
        (OPENAI, "o3", 65_536, Some("high")),
        (OPENAI, "gpt-5", 0, None),
        (OPENAI, "gpt-4o", 8_192, None),
        (OPENAI, "gpt-5-chat-latest", 8_192, None),
        (OPENAI, "o1-mini", 8_192, None),
        (XAI, "grok-4", 8_192, None),
        (XAI, "grok-4.20-reasoning", 8_192, None),
        (XAI, "grok-4.3", 8_192, Some("medium")),
        (XAI, "grok-3-mini", 8_192, Some("high")),
        (XAI, "grok-3-mini-fast", 1, Some("low")),
        (DEEPSEEK, "deepseek-chat", 65_536, Some("high")),
        (LOCAL, "gpt-oss:20b", 1, Some("low")),
        (LOCAL, "qwen3", 8_192, None),
        (OTHER, "models/gemini-2.5-flash", 1, Some("low")),
    ] {
        assert_eq!(effort(url, model, tokens, false).as_deref(), expected, "{model} with {tokens}");
    }
    // Since 5.4 the API takes tools from these models only where they are told not to think.
    for (model, expected) in [("gpt-5.3", Some("medium")), ("gpt-5.4", Some("none")), ("gpt-5.6-mini", Some("none"))] {
        assert_eq!(effort(OPENAI, model, 8_192, true).as_deref(), expected, "{model}");
    }
    assert_eq!(effort(OPENAI, "gpt-5.4", 0, true).as_deref(), Some("none"));
    assert_eq!(effort(OPENAI, "gpt-5.4", 8_192, false).as_deref(), Some("medium"));
    assert_eq!(effort(OPENROUTER, "openai/gpt-5.4", 8_192, true), None);
}

#[test]
fn an_effort_is_told_in_the_way_of_each_server() {
    let told = |url: &str, model: &str, effort: Effort, field: &str| {
        let prompt = Prompt { effort: Some(effort), ..prompt(vec![Message::user("Hello")]) };
        sent(url, model, &prompt).get(field).cloned().unwrap_or_default()
    };
    assert_eq!(told(OPENROUTER, "openai/o3", Effort::Max, "reasoning"), json!({"effort": "xhigh"}));
    assert_eq!(told(OPENROUTER, "openai/o3", Effort::Off, "reasoning"), json!({"effort": "none"}));
    assert_eq!(told(DEEPSEEK, "deepseek-chat", Effort::Off, "thinking"), json!({"type": "disabled"}));
    assert_eq!(told(DEEPSEEK, "deepseek-chat", Effort::Off, "reasoning_effort"), json!(null));
    assert_eq!(told(DEEPSEEK, "deepseek-chat", Effort::Max, "reasoning_effort"), json!("max"));
    assert_eq!(told(LOCAL, "gpt-oss-20b", Effort::Low, "chat_template_kwargs")["reasoning_effort"], json!("low"));
    assert_eq!(told(LOCAL, "qwen3", Effort::Max, "thinking_budget_tokens"), json!(null));
    assert_eq!(told(OPENAI, "gpt-4o", Effort::High, "reasoning_effort"), json!(null));
    let note = |url: &str, model: &str, effort: Effort| {
        let prompt = Prompt { effort: Some(effort), ..prompt(vec![Message::user("Hello")]) };
        super::body::effort_note(ServerKind::at(url), model, &prompt)
    };
    assert!(note(OPENAI, "gpt-4o", Effort::High).is_some_and(|note| note.contains("was not sent")));
    assert!(note(OPENAI, "o3", Effort::Off).is_some_and(|note| note.contains("cannot turn thinking off")));
    assert_eq!(note(OPENAI, "gpt-5.2", Effort::Off), None);
}

#[test]
fn a_prompt_is_named_only_where_names_of_cached_prompts_are_taken() {
    let prompt = Prompt { cache_key: "s1".into(), ..prompt(vec![Message::user("Hello")]) };
    let azure = "https://mine.openai.azure.com/openai/v1";
    for (url, expected) in [(OPENAI, json!("s1")), (azure, json!("s1")), (XAI, json!(null)), (OTHER, json!(null))] {
        assert_eq!(sent(url, "gpt-5", &prompt).get("prompt_cache_key").cloned().unwrap_or_default(), expected, "{url}");
    }
    for (url, expected) in [(LOCAL, json!(true)), (OPENAI, json!(null)), (OTHER, json!(null))] {
        assert_eq!(sent(url, "m", &prompt).get("return_progress").cloned().unwrap_or_default(), expected, "{url}");
    }
}

#[test]
fn openrouter_is_told_the_tokens_to_think() {
    let mut prompt = prompt(vec![Message::user("Hello")]);
    assert_eq!(sent(OPENROUTER, "anthropic/claude-sonnet-4.5", &prompt).get("reasoning"), None);
    prompt.thinking_tokens = 2_000;
    assert_eq!(sent(OPENROUTER, "anthropic/claude-sonnet-4.5", &prompt)["reasoning"], json!({"max_tokens": 2_000}));
    assert_eq!(sent(LOCAL, "qwen3", &prompt).get("reasoning"), None);
}

#[test]
fn mistral_gets_no_field_that_it_refuses() {
    let said = model(vec![thinking("Hm.", None, Some("openai")), call("t1")]);
    let mut prompt = prompt(vec![Message::user("Hello"), said, user(vec![result("t1")])]);
    prompt.thinking_tokens = 2_000;
    let body = sent(MISTRAL, "mistral-large-latest", &prompt);
    let fields: Vec<&String> = body.as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["model", "messages", "max_tokens", "stream"]);
    let fields: Vec<&String> = body["messages"][1].as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["role", "content", "tool_calls"]);
}

#[test]
fn a_schema_goes_only_to_servers_that_take_one() {
    let mut prompt = prompt(vec![Message::user("Hello")]);
    prompt.format = Some(Format::Schema { name: "a b/ü".into(), schema: json!({"type": "object"}) });
    let schema = json!({"name": "a_b__", "schema": {"type": "object"}});
    assert_eq!(
        sent(OPENAI, "gpt-4o", &prompt)["response_format"],
        json!({"type": "json_schema", "json_schema": schema})
    );
    assert_eq!(sent(DEEPSEEK, "deepseek-chat", &prompt)["response_format"], json!({"type": "json_object"}));
    prompt.format = Some(Format::Json);
    assert_eq!(sent(OPENAI, "gpt-4o", &prompt)["response_format"], json!({"type": "json_object"}));
}

/// The reasoning in each of the model's messages, as it is sent back.
fn sent_back(base_url: &str) -> Vec<Value> {
    let details = r#"[{"type":"reasoning.encrypted","data":"x"}]"#;
    let body = sent(
        base_url,
        "m",
        &prompt(vec![
            Message::user("One"),
            model(vec![thinking("no tools", None, Some("openai")), text("1")]),
            Message::user("Two"),
            model(vec![thinking("first", Some(details), Some("openai")), call("t1")]),
            user(vec![result("t1")]),
            model(vec![thinking("another's", Some("c2ln"), Some("anthropic")), call("t2")]),
            user(vec![result("t2")]),
            model(vec![thinking("last", Some("no JSON"), None), text("2")]),
            user(vec![text("Three")]),
        ]),
    );
    let messages = body["messages"].as_array().expect("messages").iter();
    messages
        .filter(|message| message["role"] == "assistant")
        .map(|message| match (message.get("reasoning_content"), message.get("reasoning_details")) {
            (None, None) => Value::Null,
            (Some(content), None) => content.clone(),
            (None, Some(details)) => details.clone(),
            both => panic!("{both:?}"),
        })
        .collect()
}

#[test]
fn reasoning_goes_back_as_each_server_documents_it() {
    let nothing = [json!(null), json!(null), json!(null), json!(null)];
    for strict in [OPENAI, MISTRAL, XAI, OTHER] {
        assert_eq!(sent_back(strict), nothing, "{strict}");
    }
    for demanding in [DEEPSEEK, "https://api.moonshot.ai/v1"] {
        assert_eq!(sent_back(demanding), [json!(null), json!("first"), json!(""), json!("last")], "{demanding}");
    }
    assert_eq!(sent_back(LOCAL), [json!(null), json!("first"), json!(null), json!("last")]);
    let details = json!([{"type": "reasoning.encrypted", "data": "x"}]);
    assert_eq!(sent_back(OPENROUTER), [json!(null), details, json!(null), json!(null)]);
}

#[test]
fn results_stand_directly_after_the_message_that_asked_whatever_was_said_between() {
    let body = sent(
        LOCAL,
        "m",
        &prompt(vec![
            model(vec![call("t1"), call("t2")]),
            user(vec![text("Wait."), result("t1")]),
            model(vec![text(" "), thinking("Hm.", None, None)]),
            user(vec![text(" \n"), result("t2"), text("Go on.")]),
        ]),
    );
    let messages = body["messages"].as_array().expect("messages").iter();
    let order: Vec<&Value> =
        messages.map(|message| message.get("tool_call_id").unwrap_or(&message["content"])).collect();
    assert_eq!(order, [&json!(null), &json!("t1"), &json!("t2"), &json!("Wait.\n\nGo on.")]);
}

#[test]
fn a_schema_is_strict_only_where_the_api_takes_it_so() {
    let closed = |properties: Value| {
        let names: Vec<String> = properties.as_object().expect("an object").keys().cloned().collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    };
    let deep = |levels: usize| (0..levels).fold(json!({"type": "string"}), |inner, _| closed(json!({"a": inner})));
    let text = json!({"type": "string"});
    for good in [
        closed(json!({})),
        closed(json!({"a": text, "b": {"type": ["integer", "null"], "minimum": 0}})),
        closed(json!({"a": {"type": "array", "items": closed(json!({"b": text}))}})),
        closed(json!({"a": {"anyOf": [text, {"type": "null"}]}, "b": {"type": "string", "format": "date"}})),
        deep(9),
    ] {
        assert!(strict::allows(&good), "{good}");
    }
    let mut open = closed(json!({"a": text}));
    open["additionalProperties"] = json!(true);
    let mut optional = closed(json!({"a": text, "b": text}));
    optional["required"] = json!(["a"]);
    let mut unknown = closed(json!({"a": text}));
    unknown["required"] = json!(["a", "b"]);
    let mut choice = closed(json!({"a": text}));
    choice["anyOf"] = json!([text]);
    for bad in [
        json!({}),
        json!(true),
        json!({"type": "object"}),
        text.clone(),
        open.clone(),
        optional,
        unknown,
        choice,
        closed(json!({"a": open})),
        closed(json!({"a": {"type": "string", "default": "x"}})),
        closed(json!({"a": {"type": "string", "minLength": 1}})),
        closed(json!({"a": {"type": "string", "format": "uri"}})),
        closed(json!({"a": {"allOf": [text]}})),
        closed(json!({"a": {"anyOf": [text, {"type": "object"}]}})),
        closed(json!({"a": true})),
        deep(10),
    ] {
        assert!(!strict::allows(&bad), "{bad}");
    }
}

#[test]
fn base64_is_read_strictly() {
    for (text, bytes) in [
        ("TWFu", &b"Man"[..]),
        ("TWE=", b"Ma"),
        ("TQ==", b"M"),
        ("+/8A", &[0xfb, 0xff, 0]),
        ("data:image/png;base64,TQ==", b"M"),
    ] {
        assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
    }
    for bad in [
        "",
        "=",
        "====",
        "TQ",
        "TQ=",
        "TQ===",
        "TWFuT",
        "TW=u",
        "TR==",
        "TWF=",
        "T-_=",
        "TWFu\n",
        "TWFué",
        "data:,TWFu",
        "data:image/png;base64,",
    ] {
        assert_eq!(base64(bad), None, "{bad}");
    }
}

#[test]
fn a_size_goes_only_to_servers_that_have_sizes() {
    let order = DrawOrder { prompt: "A crab".into(), count: 0, size: Some("1024x1024".into()) };
    let body = |url: &str, model: &str| {
        serde_json::to_value(PictureBody::new(ServerKind::at(url), model, &order)).expect("writes")
    };
    assert_eq!(
        body(OPENAI, "dall-e-3"),
        json!({"model": "dall-e-3", "prompt": "A crab", "n": 1, "size": "1024x1024", "response_format": "url"})
    );
    assert_eq!(
        body(OPENAI, "gpt-image-1"),
        json!({"model": "gpt-image-1", "prompt": "A crab", "n": 1, "size": "1024x1024"})
    );
    assert_eq!(
        body(XAI, "grok-2-image"),
        json!({"model": "grok-2-image", "prompt": "A crab", "n": 1, "response_format": "url"})
    );
}

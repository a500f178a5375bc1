//! What happens between the program and any provider, whatever its dialect: connections that end,
//! addresses that are none, redirects, pages, and streams that nobody wants any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::json;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_testkit::wire::{LATER, Outcome, PATIENT, ask};
use trimtab_vocab::{Fault, Message, Part, ProblemKind, Prompt, Retry, StopReason, ToolCall};
use trimtab_world::models::{
    Dialect, ExtraFields, Model, ModelRegistry, Provider, Registry, ReplyPiece, RequestExtras,
};

const KEY: &str = "key-0123456789abcdef";

/// A dialect as these tests see it.
#[derive(Clone, Copy)]
struct Wire {
    dialect: Dialect,
    /// What its addresses end with.
    base: &'static str,
    /// Where a conversation goes.
    path: &'static str,
    answer: fn(Reply) -> Answer,
}

const WIRES: &[Wire] = &[
    Wire { dialect: Dialect::Anthropic, base: "", path: "/v1/messages", answer: Answer::anthropic },
    Wire { dialect: Dialect::OpenAi, base: "/v1", path: "/v1/chat/completions", answer: Answer::openai },
    Wire { dialect: Dialect::Responses, base: "/v1", path: "/v1/responses", answer: Answer::responses },
    Wire {
        dialect: Dialect::Gemini,
        base: "",
        path: "/v1beta/models/some-model:streamGenerateContent?alt=sse",
        answer: Answer::gemini,
    },
    Wire { dialect: Dialect::Ollama, base: "", path: "/api/chat", answer: Answer::ollama },
];

impl Wire {
    fn provider(self) -> FakeProvider {
        let provider = FakeProvider::start();
        // Ollama is asked first what its model holds.
        provider.on_path("/api/show", Answer::json(200, json!({"model_info": {"x.context_length": 131_072}})));
        provider
    }

    /// The model at this address.
    fn at(self, url: &str) -> Arc<dyn Model> {
        self.with_key(url, KEY)
    }

    fn with_key(self, url: &str, key: &str) -> Arc<dyn Model> {
        let provider = Provider {
            dialect: self.dialect,
            base_url: url.to_owned(),
            key_env: None,
            key: Some(key.to_owned().into()),
            extras: Arc::default(),
        };
        let registry = Registry { providers: [("p".to_owned(), provider)].into(), idle: PATIENT, record: None };
        registry.find("p/some-model").expect("a model")
    }

    fn model(self, provider: &FakeProvider) -> Arc<dyn Model> {
        self.at(&format!("{}{}", provider.url(), self.base))
    }

    /// One call that is answered like this.
    async fn answered(self, answer: Answer) -> Outcome {
        let provider = self.provider();
        provider.push(answer);
        ask(&*self.model(&provider), &hello()).await
    }

    /// Which of the requests is the conversation, once it is there.
    async fn conversation(self, provider: &FakeProvider) -> usize {
        let mut count = 1;
        loop {
            let requests = provider.wait_for_requests(count).await;
            if let Some(at) = requests.iter().position(|request| request.path == self.path) {
                return at;
            }
            count = requests.len() + 1;
        }
    }
}

fn hello() -> Prompt {
    let messages = vec![Arc::new(Message::user("Hello"))];
    Prompt {
        model: "p/some-model".into(),
        system: "Be brief.".into(),
        messages,
        max_output_tokens: 256,
        ..Prompt::default()
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    for wire in WIRES {
        let provider = wire.provider();
        provider.always((wire.answer)("Hi".into()));
        let model = wire.model(&provider);
        drop(model.stream(&hello()));
        assert_eq!(provider.requests(), []);
        ask(&*model, &hello()).await.reply();
        let asked = provider.requests();
        assert_eq!(asked.iter().filter(|request| request.path == wire.path).count(), 1, "{:?}", wire.dialect);
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_refused_without_showing_it() {
    for wire in WIRES {
        let fault = ask(&*wire.with_key("http://127.0.0.1:1", &format!("{KEY}\nx")), &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Auth, Retry::Never), "{:?}", wire.dialect);
        assert!(!format!("{fault:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_answer_is_a_fault() {
    for wire in WIRES {
        let ends =
            [Answer::hang_up(), Answer::raw("HTTP/1.1 200 OK\r\ncontent-ty"), Answer::raw("SSH-2.0-OpenSSH\r\n")];
        for answer in ends {
            let fault = wire.answered(answer).await.fault();
            assert_eq!(
                (fault.problem.kind, fault.retry),
                (ProblemKind::Network, LATER),
                "{:?}: {fault:?}",
                wire.dialect
            );
        }
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_fault_that_may_pass() {
    for wire in WIRES {
        let provider = wire.provider();
        let model = wire.model(&provider);
        drop(provider);
        let fault = ask(&*model, &hello()).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Network, LATER), "{:?}", wire.dialect);
        assert!(fault.problem.message.contains("refused"), "{}", fault.problem.message);
        assert!(fault.problem.hint.is_some());
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_a_fault_that_will_not_pass() {
    for wire in WIRES {
        for url in ["not an address", "ftp://127.0.0.1/", ""] {
            let fault = ask(&*wire.at(url), &hello()).await.fault();
            assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Network, Retry::Never), "{url}: {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    for wire in WIRES {
        let elsewhere = wire.provider();
        elsewhere.always((wire.answer)("Come in".into()));
        for status in [301, 302, 303, 307, 308] {
            let location = format!("{}{}", elsewhere.url(), wire.path);
            let fault = wire.answered(Answer::new(status).header("location", location)).await.fault();
            assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Refused, Retry::Never), "{status}");
        }
        assert_eq!(elsewhere.requests(), [], "{:?}", wire.dialect);
    }
}

#[tokio::test]
async fn a_web_page_is_no_reply() {
    for wire in WIRES {
        let page = "<html>Sign in to the hotel's network</html>";
        let fault = wire.answered(Answer::new(200).header("content-type", "text/html").body(page)).await.fault();
        assert_eq!((fault.problem.kind, fault.retry), (ProblemKind::Protocol, Retry::Never), "{:?}", wire.dialect);
        assert!(fault.problem.hint.is_some());
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for wire in WIRES {
        let provider = wire.provider();
        let gate = provider.gate();
        provider.push((wire.answer)(Reply::new().text(["Hel", "lo"])).gated(&gate));
        let mut pieces = wire.model(&provider).stream(&hello());
        let hel =
            |piece: &Result<ReplyPiece, Fault>| matches!(piece, Ok(ReplyPiece::Text { text, .. }) if text == "Hel");
        let mut heard = false;
        while !heard {
            gate.release(1);
            heard = hel(&pieces.next().await.expect("more"));
        }
        let dropped = Instant::now();
        drop(pieces);
        let closed = provider.closed(wire.conversation(&provider).await).await;
        assert!(closed >= dropped);
        assert!(closed - dropped < Duration::from_secs(30), "{:?}: it took {:?}", wire.dialect, closed - dropped);
    }
}

#[tokio::test]
async fn dropping_the_stream_before_the_answer_closes_the_connection() {
    for wire in WIRES {
        let provider = wire.provider();
        provider.push(Answer::silent());
        let mut pieces = wire.model(&provider).stream(&hello());
        let at = tokio::select! {
            piece = pieces.next() => panic!("{piece:?} came from nowhere"),
            at = wire.conversation(&provider) => at,
        };
        drop(pieces);
        provider.closed(at).await;
    }
}

#[tokio::test]
async fn a_server_that_loads_its_model_is_told_from_one_that_fails() {
    let said = ["Loading model", "llm server loading model", "Model some/model is currently loading"];
    for wire in WIRES {
        for said in said {
            let body = json!({"error": {"message": said, "type": "unavailable_error", "code": 503}});
            let fault = wire.answered(Answer::json(503, body)).await.fault();
            assert_eq!(fault.problem.kind, ProblemKind::Loading, "{said}: {fault:?}");
            assert!(matches!(fault.retry, Retry::Later { .. }), "{fault:?}");
        }
        let busy = wire.answered(Answer::json(503, json!({"error": {"message": "busy"}}))).await.fault();
        assert_eq!(busy.problem.kind, ProblemKind::Overloaded, "{busy:?}");
    }
}

#[tokio::test]
async fn what_the_settings_add_goes_with_every_call_and_never_shows() {
    const SECRET: &str = "gateway-secret-0123456789";
    for wire in WIRES {
        let provider = wire.provider();
        provider.push((wire.answer)("Hi".into()));
        provider.push(Answer::json(401, json!({"error": {"message": format!("not {SECRET}")}})));
        let serde_json::Value::Object(fields) = json!({"route": {"order": ["x"]}, "user": SECRET}) else {
            unreachable!()
        };
        let extras = RequestExtras {
            headers: vec![("x-gateway".into(), SECRET.into()), ("accept".into(), "text/event-stream, */*".into())],
            query: vec![("api-version".into(), "2026-05-01".into())],
            body: ExtraFields(fields),
            secrets: vec![SECRET.into()],
            ..RequestExtras::default()
        };
        let settings = Provider {
            dialect: wire.dialect,
            base_url: format!("{}{}", provider.url(), wire.base),
            key_env: None,
            key: Some(KEY.into()),
            extras: Arc::new(extras),
        };
        let registry = Registry { providers: [("p".to_owned(), settings)].into(), idle: PATIENT, record: None };
        // What Ollama is asked before a call is remembered by name, so each dialect has a model of its own.
        let model = registry.find(&format!("p/gateway-{:?}", wire.dialect)).expect("a model");
        ask(&*model, &hello()).await.reply();
        let fault = ask(&*model, &hello()).await.fault();
        assert!(fault.problem.message.contains("not [key]"), "{:?}: {fault:?}", wire.dialect);
        assert!(!format!("{fault:?} {registry:?}").contains(SECRET), "{:?}", wire.dialect);
        let request = provider.requests().into_iter().find(|request| request.body.get("route").is_some());
        let request = request.expect("a call with the added fields");
        assert_eq!(request.header("x-gateway"), Some(SECRET));
        assert_eq!(request.header("accept"), Some("text/event-stream, */*"), "the settings' header counts");
        assert!(request.path.ends_with("api-version=2026-05-01"), "{}", request.path);
        assert_eq!(request.body["route"], json!({"order": ["x"]}));
    }
}

#[tokio::test]
async fn an_error_that_comes_as_an_event_is_shown_as_its_message() {
    for wire in WIRES {
        let body = "data: {\"error\": {\"message\": \"The image cannot be read\", \"code\": 500}}\n\n";
        let answer = Answer::new(500).header("content-type", "text/event-stream").body(body);
        let message = wire.answered(answer).await.fault().problem.message;
        assert!(message.ends_with("(HTTP 500): The image cannot be read"), "{message}");
    }
}

#[tokio::test]
async fn a_fence_that_is_opened_for_a_call_is_not_part_of_the_reply() {
    for wire in WIRES {
        let reply = Reply::new().text(["``", "`json", "\n"]).tool("t1", "read_file", [r#"{"path":"a"}"#]);
        let message = wire.answered((wire.answer)(reply)).await.reply().message;
        assert_eq!(message.text(), "", "{message:?}");
        let reply = Reply::new().text(["```json", "\n{}\n```"]);
        let message = wire.answered((wire.answer)(reply)).await.reply().message;
        assert_eq!(message.text(), "```json\n{}\n```");
    }
}

#[tokio::test]
async fn a_whole_reply_where_a_stream_was_asked_for_is_read() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}});
    let message = json!({"role": "assistant", "content": "Hello", "tool_calls": [call]});
    let openai = json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage});
    let anthropic = json!({
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 2},
    });
    let responses = json!({
        "object": "response",
        "status": "completed",
        "error": null,
        "output": [
            {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hello"}]},
            {"type": "function_call", "id": "f", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}"},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 2},
    });
    let gemini = json!({
        "candidates": [{
            "content": {"parts": [{"text": "Hello"}, {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}}]},
            "finishReason": "STOP",
        }],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2},
    });
    for (dialect, document) in [
        (Dialect::OpenAi, openai),
        (Dialect::Anthropic, anthropic),
        (Dialect::Responses, responses),
        (Dialect::Gemini, gemini),
    ] {
        let wire = WIRES.iter().find(|wire| wire.dialect == dialect).expect("a wire");
        let reply = wire.answered(Answer::json(200, document.clone())).await.reply();
        assert_eq!(reply.message.text(), "Hello", "{dialect:?}");
        let calls: Vec<&ToolCall> = reply
            .message
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::ToolUse(call) => Some(call),
                _ => None,
            })
            .collect();
        assert_eq!((calls[0].id.as_str(), &calls[0].input), ("c1", &json!({"path": "a"})), "{dialect:?}");
        assert_eq!(reply.stop_reason, Some(StopReason::ToolUse), "{dialect:?}");
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (7, 2), "{dialect:?}");
        // Half a document is cut, something else is no reply, and an error is one.
        let text = document.to_string();
        let cut = Answer::json(200, document).until_close().close_after(text.len() - 1);
        assert_eq!(wire.answered(cut).await.fault().problem.kind, ProblemKind::Truncated, "{dialect:?}");
        let other = wire.answered(Answer::json(200, json!({"status": "ok"}))).await.fault();
        assert_eq!((other.problem.kind, other.retry), (ProblemKind::Protocol, Retry::Never), "{dialect:?}");
        let error = json!({"error": {"type": "overloaded_error", "code": 503, "message": "too busy"}});
        assert!(
            wire.answered(Answer::json(200, error)).await.fault().problem.message.contains("too busy"),
            "{dialect:?}"
        );
    }
}

#[tokio::test]
async fn an_error_in_an_event_is_told_without_its_wrapping() {
    for wire in WIRES {
        let answer = Answer::new(500).body("data: {\"error\":{\"message\":\"out of slots\"}}\n\n");
        let message = wire.answered(answer).await.fault().problem.message;
        assert!(message.ends_with(": out of slots"), "{:?}: {message}", wire.dialect);
    }
}

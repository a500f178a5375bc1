//! What happens between the program and any provider, whatever its dialect: connections that end,
//! addresses that are none, redirects, pages, and streams that nobody wants any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::json;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_testkit::wire::{LATER, Outcome, PATIENT, ask};
use trimtab_vocab::{Fault, Message, ProblemKind, Prompt, Retry};
use trimtab_world::models::{Dialect, Model, ModelRegistry, Provider, Registry, ReplyPiece};

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

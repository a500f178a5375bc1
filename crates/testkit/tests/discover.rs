//! Servers of models on this machine, told by their answers and not by their ports.

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider};
use trimtab_world::models::{LocalServer, LocalServerKind, find_servers, identify};

fn serving(answers: &[(&str, u16, Value)]) -> FakeProvider {
    let provider = FakeProvider::start();
    provider.always(Answer::json(404, json!({"error": "not found"})));
    for (path, status, body) in answers {
        provider.on_path(*path, Answer::json(*status, body.clone()));
    }
    provider
}

fn llama_cpp() -> FakeProvider {
    serving(&[
        (
            "/props",
            200,
            json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1, "model_path": "/m.gguf"}),
        ),
        ("/v1/models", 200, json!({"object": "list", "data": [{"id": "qwen2.5-coder", "owned_by": "llamacpp"}]})),
    ])
}

fn ollama() -> FakeProvider {
    serving(&[
        ("/api/version", 200, json!({"version": "0.12.3"})),
        ("/api/tags", 200, json!({"models": [{"name": "qwen3:8b"}, {"name": "gemma3:4b"}]})),
    ])
}

fn lm_studio() -> FakeProvider {
    let model = |id: &str, kind: &str, state: &str| json!({"id": id, "object": "model", "type": kind, "state": state});
    let models =
        [model("cold", "llm", "not-loaded"), model("embed", "embeddings", "loaded"), model("warm", "vlm", "loaded")];
    serving(&[("/api/v0/models", 200, json!({"object": "list", "data": models}))])
}

fn vllm() -> FakeProvider {
    serving(&[("/v1/models", 200, json!({"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm"}]}))])
}

#[tokio::test]
async fn each_kind_of_server_is_known_by_its_own_answers() {
    let servers = [llama_cpp(), ollama(), lm_studio(), vllm()];
    for (at, (kind, base, models)) in [
        (LocalServerKind::LlamaCpp, "/v1", &["qwen2.5-coder"][..]),
        (LocalServerKind::Ollama, "", &["qwen3:8b", "gemma3:4b"]),
        (LocalServerKind::LmStudio, "/v1", &["warm", "cold"]),
        (LocalServerKind::Vllm, "/v1", &["Qwen/Qwen3-8B"]),
    ]
    .into_iter()
    .enumerate()
    {
        let url = servers[at].url();
        let models = models.iter().map(|name| (*name).to_owned()).collect();
        let expected = LocalServer { kind, base_url: format!("{url}{base}"), models, loading: false };
        assert_eq!(find_servers(&[(kind, url.to_owned())]).await, std::slice::from_ref(&expected));
        assert_eq!(identify(&format!("{url}/v1")).await, Some(expected), "an address alone tells the kind");
        let others = LocalServerKind::ALL.into_iter().filter(|other| *other != kind);
        let others: Vec<_> = others.map(|other| (other, url.to_owned())).collect();
        assert_eq!(find_servers(&others).await, [], "{} is taken for another", kind.title());
    }
}

#[tokio::test]
async fn something_else_on_the_same_port_is_not_a_model_server() {
    let page = || Answer::new(200).header("content-type", "text/html").body("<html>Hello</html>");
    let pages = FakeProvider::start();
    pages.always(page());
    let json = FakeProvider::start();
    json.always(Answer::json(200, json!({"status": "ok", "data": []})));
    let silent = FakeProvider::start();
    silent.always(Answer::silent());
    let other = serving(&[("/v1/models", 200, json!({"data": [{"id": "gpt-4o", "owned_by": "openai"}]}))]);
    for server in [&pages, &json, &silent, &other] {
        assert_eq!(identify(server.url()).await, None);
    }
    assert_eq!(identify("127.0.0.1:1").await, None, "nobody listens there");
}

#[tokio::test]
async fn a_server_that_loads_its_model_is_found_already() {
    let loading = json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
    let server = serving(&[("/props", 503, loading.clone()), ("/v1/models", 503, loading)]);
    let found = identify(server.url()).await.expect("found");
    assert_eq!((found.kind, found.loading), (LocalServerKind::LlamaCpp, true));
    assert_eq!(found.model().as_deref(), Some("llamacpp/default"));
}

#[tokio::test]
async fn llama_cpp_behind_a_key_is_known_by_its_public_list() {
    let refused = json!({"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}});
    let list = json!({"object": "list", "data": [{"id": "q", "owned_by": "llamacpp"}]});
    let server = serving(&[("/props", 401, refused), ("/v1/models", 200, list)]);
    let found = identify(server.url()).await.expect("found");
    assert_eq!((found.kind, found.loading, found.models), (LocalServerKind::LlamaCpp, false, vec!["q".to_owned()]));
}

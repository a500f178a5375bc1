//! Finds model servers on this machine.
//!
//! A port proves nothing: another program may listen on 8080. A server counts only if it answers as its documentation
//! says. All places are asked at once with a short timeout, and only on loopback unless the user named the address.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use trimtab_vocab::Fault;

use super::http::{self, Outgoing, RequestBody};

/// A server on this machine answers at once, or is too busy to be found.
const LONGEST_PROBE: Duration = Duration::from_millis(400);
/// A list of models is smaller.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;
/// Models in a list at most.
const MOST_MODELS: usize = 200;

/// A kind of server that its answers identify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalServerKind {
    LlamaCpp,
    Ollama,
    LmStudio,
    Vllm,
}

impl LocalServerKind {
    /// Every kind, in the order in which a found one is preferred.
    pub const ALL: [Self; 4] = [Self::LlamaCpp, Self::Ollama, Self::LmStudio, Self::Vllm];

    /// The provider of the settings that speaks to it.
    pub fn provider(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llamacpp",
            Self::Ollama => "ollama",
            Self::LmStudio => "lmstudio",
            Self::Vllm => "vllm",
        }
    }

    /// Its display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
        }
    }

    /// The path under which its models are called.
    fn suffix(self) -> &'static str {
        if self == Self::Ollama { "" } else { "/v1" }
    }
}

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    pub kind: LocalServerKind,
    /// The address that a provider of its kind is set to.
    pub base_url: String,
    /// The names of its models, those in memory first. Empty: it has none yet, or does not say while it loads one.
    pub models: Vec<String>,
    /// It is loading its model, and answers when that is done.
    pub loading: bool,
}

impl LocalServer {
    /// The model to use, as `provider/name`. llama.cpp serves one model and takes any name for it.
    pub fn model(&self) -> Option<String> {
        let name = self.models.first().map(String::as_str);
        let name = name.or((self.kind == LocalServerKind::LlamaCpp).then_some("default"))?;
        Some(format!("{}/{name}", self.kind.provider()))
    }
}

/// Asks places side by side what serves there. The places are roots without a path; the answers keep their order.
pub async fn find_servers(places: &[(LocalServerKind, String)]) -> Vec<LocalServer> {
    let asked = places.iter().map(|(kind, root)| async move {
        tokio::time::timeout(LONGEST_PROBE, probe(*kind, root)).await.ok().flatten()
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// Asks an address that the user typed which kind of server it is.
pub async fn identify(address: &str) -> Option<LocalServer> {
    let root = server_root(address)?;
    let places: Vec<_> = LocalServerKind::ALL.into_iter().map(|kind| (kind, root.clone())).collect();
    find_servers(&places).await.into_iter().next()
}

/// The root of a server from user input: `8080`, `localhost:8080`, `http://host:8080/v1/`.
pub fn server_root(typed: &str) -> Option<String> {
    let typed = typed.trim();
    if !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit()) {
        return typed.parse::<u16>().ok().filter(|port| *port > 0).map(|port| format!("http://127.0.0.1:{port}"));
    }
    let whole = if typed.contains("://") { typed.to_owned() } else { format!("http://{typed}") };
    let url = reqwest::Url::parse(&whole).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    let host = url.host_str().filter(|host| is_web && !host.is_empty())?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path);
    Some(format!("{}://{host}{port}{path}", url.scheme()))
}

async fn probe(kind: LocalServerKind, root: &str) -> Option<LocalServer> {
    let found = match kind {
        LocalServerKind::LlamaCpp => probe_llama_cpp(root).await,
        LocalServerKind::Ollama => probe_ollama(root).await,
        LocalServerKind::LmStudio => {
            let answer = ask(root, "/api/v0/models").await.ok()?;
            let listed = answer.get("data")?.as_array()?;
            // Its list has more fields than others, which identifies it.
            let known = listed.iter().all(|model| model.get("state").is_some() && model.get("type").is_some());
            let talks = listed.iter().filter(|model| model.get("type").and_then(Value::as_str) != Some("embeddings"));
            let is_loaded = |model: &&Value| model.get("state").and_then(Value::as_str) == Some("loaded");
            let (ready, rest): (Vec<&Value>, Vec<&Value>) = talks.partition(is_loaded);
            (known && !listed.is_empty()).then(|| (names(ready.into_iter().chain(rest), "id"), false))
        }
        LocalServerKind::Vllm => {
            let answer = ask(root, "/v1/models").await.ok()?;
            Some((names(owned_by(&answer, "vllm")?.iter(), "id"), false))
        }
    };
    let (models, loading) = found?;
    let base_url = format!("{}{}", root.trim_end_matches('/'), kind.suffix());
    Some(LocalServer { kind, base_url, models, loading })
}

/// `/props` is llama.cpp's own. With a key it is closed, and the public list of models says whose it is.
async fn probe_llama_cpp(root: &str) -> Option<(Vec<String>, bool)> {
    let props = ask(root, "/props").await;
    let loading = matches!(&props, Err(fault) if is_loading(fault));
    let is_it = match &props {
        Ok(props) => ["default_generation_settings", "total_slots", "chat_template", "build_info"]
            .iter()
            .any(|name| props.get(name).is_some()),
        Err(_) => loading,
    };
    // While it loads a model, it may not list it yet.
    let listed = ask(root, "/v1/models").await.ok();
    let owned = listed.as_ref().and_then(|listed| owned_by(listed, "llamacpp"));
    let whose = || listed.as_ref().and_then(|listed| listed.get("data")?.as_array());
    match owned.or_else(|| whose().filter(|_| is_it)) {
        Some(models) => Some((names(models.iter(), "id"), loading)),
        None => is_it.then(|| (Vec::new(), loading)),
    }
}

/// llama.cpp answers some of these paths as well, but has no version of Ollama's.
async fn probe_ollama(root: &str) -> Option<(Vec<String>, bool)> {
    ask(root, "/api/version").await.ok()?.get("version")?.as_str()?;
    let tags = ask(root, "/api/tags").await.ok()?;
    Some((names(tags.get("models")?.as_array()?.iter(), "name"), false))
}

fn is_loading(fault: &Fault) -> bool {
    fault.problem.message.contains("Loading model")
}

/// The models of a list that says whose they are.
fn owned_by<'a>(answer: &'a Value, owner: &str) -> Option<&'a Vec<Value>> {
    let listed = answer.get("data")?.as_array()?;
    let owned = |model: &Value| model.get("owned_by").and_then(Value::as_str) == Some(owner);
    (!listed.is_empty() && listed.iter().all(owned)).then_some(listed)
}

fn names<'a>(models: impl Iterator<Item = &'a Value>, field: &str) -> Vec<String> {
    let named = models.filter_map(|model| model.get(field)?.as_str());
    let plain = named.filter(|name| !name.is_empty() && name.len() <= 300 && !name.contains(char::is_control));
    plain.take(MOST_MODELS).map(str::to_owned).collect()
}

async fn ask(root: &str, path: &str) -> Result<Value, Fault> {
    let outgoing = Outgoing {
        url: format!("{}{path}", root.trim_end_matches('/')),
        headers: vec![("accept", "application/json".to_owned())],
        key: None,
        body: RequestBody::Nothing,
        extras: Arc::default(),
    };
    http::fetch(outgoing, LONGEST_PROBE, LARGEST_ANSWER).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_address_becomes_the_root_of_a_server() {
        for (typed, root) in [
            ("8080", Some("http://127.0.0.1:8080")),
            (" localhost:1234 ", Some("http://localhost:1234")),
            ("http://127.0.0.1:8000/v1/", Some("http://127.0.0.1:8000")),
            ("https://models.example.org/llm/v1", Some("https://models.example.org/llm")),
            ("[::1]:8080", Some("http://[::1]:8080")),
            ("0", None),
            ("99999", None),
            ("", None),
            ("ftp://host/", None),
            ("http://user:secret@host:1/", None),
            ("not an address", None),
        ] {
            assert_eq!(server_root(typed).as_deref(), root, "{typed:?}");
        }
    }

    #[test]
    fn llama_cpp_has_a_model_before_it_lists_one() {
        let server = |kind, models: &[&str]| LocalServer {
            kind,
            base_url: String::new(),
            models: models.iter().map(|name| (*name).to_owned()).collect(),
            loading: true,
        };
        assert_eq!(server(LocalServerKind::LlamaCpp, &[]).model().as_deref(), Some("llamacpp/default"));
        assert_eq!(server(LocalServerKind::Ollama, &[]).model(), None);
        assert_eq!(server(LocalServerKind::Vllm, &["a/b", "c"]).model().as_deref(), Some("vllm/a/b"));
    }
}

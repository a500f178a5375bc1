//! Facts about a model that are asked once per process.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use trimtab_vocab::{Fault, ProblemKind};

use super::Ollama;
use crate::models::ServerFacts;

/// A model's facts are available without loading it.
const LONGEST_QUESTION: Duration = Duration::from_secs(10);
/// The two words that a reply within the schema can have. A model that ignores the schema does not answer a question
/// about the weather with one of them.
const WORDS: [&str; 2] = ["quince", "medlar"];

/// The known facts about one model of one server.
#[derive(Default)]
pub(super) struct KnownModel {
    shown: OnceCell<ServerFacts>,
    schema: tokio::sync::Mutex<Option<bool>>,
}

/// By the address of the server and the name of the model.
type All = HashMap<(String, String), Arc<KnownModel>>;

/// What is known about a model so far.
pub(super) fn about(base_url: &str, model: &str) -> Arc<KnownModel> {
    static ALL: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let name = (base_url.trim_end_matches('/').to_owned(), model.to_owned());
    Arc::clone(all.entry(name).or_default())
}

impl KnownModel {
    /// The model's window in tokens, if the server reports it.
    pub(super) async fn window(&self, ollama: &Ollama) -> Option<u64> {
        self.shown(ollama).await.and_then(|shown| shown.window)
    }

    /// What the server says of the model. A question that fails is asked again with the next call: the model may have
    /// been fetched in the meantime.
    pub(super) async fn shown(&self, ollama: &Ollama) -> Option<ServerFacts> {
        let ask = || async {
            let body = json!({"model": ollama.model});
            let answer = ollama.ask("/api/show", &body, ollama.idle.min(LONGEST_QUESTION)).await?;
            Ok::<_, Fault>(facts_in(&answer))
        };
        match self.shown.get_or_try_init(ask).await {
            Ok(shown) => Some(*shown),
            Err(fault) => {
                tracing::debug!(problem = %fault.problem, model = ollama.model, "the model's window is not known");
                None
            }
        }
    }

    /// Whether the model, asked within a schema, stays within it. Unconstrained words would not.
    pub(super) async fn supports_schema(&self, ollama: &Ollama, num_ctx: u64) -> bool {
        let mut known = self.schema.lock().await;
        if let Some(known) = *known {
            return known;
        }
        let body = json!({
            "model": ollama.model,
            "prompt": "What is the weather like? Answer in JSON.",
            "stream": false,
            // Reasoning would take long and is not used.
            "think": false,
            "format": schema(),
            // With another window the model would be loaded twice.
            "options": {"num_ctx": num_ctx, "num_predict": 64, "temperature": 0},
        });
        match ollama.ask("/api/generate", &body, ollama.idle).await {
            Ok(answer) => *known.insert(obeys(&answer)),
            Err(fault) if refuses_format(&fault) => *known.insert(false),
            // Any other fault says nothing about schemas.
            Err(fault) => {
                tracing::debug!(problem = %fault.problem, model = ollama.model, "schemas could not be tried");
                false
            }
        }
    }

    /// A schema was refused that a call needed.
    pub(super) async fn give_up_schemas(&self) {
        *self.schema.lock().await = Some(false);
    }
}

/// Whether a server refused the form of the words, and not something else.
pub(super) fn refuses_format(fault: &Fault) -> bool {
    let answered = matches!(fault.problem.kind, ProblemKind::Refused | ProblemKind::Overloaded);
    let said = fault.problem.message.to_ascii_lowercase();
    answered && ["schema", "grammar", "invalid format", ".format of type"].iter().any(|word| said.contains(word))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"word": {"type": "string", "enum": WORDS}, "sure": {"type": "boolean"}},
        "required": ["word", "sure"],
    })
}

fn obeys(answer: &Value) -> bool {
    let said = answer.get("response").and_then(Value::as_str).unwrap_or_default();
    let Ok(Value::Object(said)) = serde_json::from_str(said) else { return false };
    let word = said.get("word").and_then(Value::as_str).is_some_and(|word| WORDS.contains(&word));
    word && said.get("sure").is_some_and(Value::is_boolean) && said.len() == 2
}

/// Servers of an earlier age list no capabilities, which says nothing.
fn facts_in(answer: &Value) -> ServerFacts {
    let capabilities = answer.get("capabilities").and_then(Value::as_array).filter(|listed| !listed.is_empty());
    let can = |what: &str| capabilities.map(|listed| listed.iter().any(|one| one.as_str() == Some(what)));
    let (tools, images) = (can("tools"), can("vision"));
    let parameters = answer.pointer("/model_info/general.parameter_count").and_then(Value::as_u64);
    ServerFacts { window: context_length(answer), max_output: None, tools, images, parameters }
}

/// `model_info["<architecture>.context_length"]`.
fn context_length(answer: &Value) -> Option<u64> {
    let info = answer.get("model_info")?.as_object()?;
    let architecture = info.get("general.architecture").and_then(Value::as_str);
    let named = architecture.and_then(|name| info.get(&format!("{name}.context_length")));
    let length = named.or_else(|| {
        let mut lengths = info.iter().filter(|(name, _)| name.ends_with(".context_length"));
        let (_, only) = lengths.next()?;
        lengths.next().is_none().then_some(only)
    });
    length?.as_u64().filter(|length| *length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_one_of_the_models_architecture() {
        let length = |info: Value| context_length(&json!({"model_info": info}));
        let rope = "llama.rope.scaling.original_context_length";
        assert_eq!(length(json!({"general.architecture": "llama", "llama.context_length": 131_072})), Some(131_072));
        assert_eq!(
            length(json!({"general.architecture": "a", "b.context_length": 7, "a.context_length": 8, rope: 9})),
            Some(8)
        );
        assert_eq!(length(json!({"granite.context_length": 4_096, rope: 9})), Some(4_096), "the only one there is");
        assert_eq!(length(json!({"a.context_length": 1, "b.context_length": 2})), None, "two, and no word which");
        for nonsense in [json!(null), json!([]), json!({}), json!({"a.context_length": 0})] {
            assert_eq!(length(nonsense.clone()), None, "{nonsense}");
        }
        assert_eq!(length(json!({"a.context_length": "many"})), None);
        assert_eq!(context_length(&json!([])), None);
    }

    #[test]
    fn capabilities_are_believed_where_they_are_listed() {
        let facts = facts_in(&json!({"capabilities": ["completion", "tools"], "model_info": {"a.context_length": 9}}));
        assert_eq!((facts.tools, facts.images, facts.window), (Some(true), Some(false), Some(9)));
        let facts = facts_in(&json!({"model_info": {"a.context_length": 9}}));
        assert_eq!((facts.tools, facts.images), (None, None), "an older server says nothing of it");
    }

    #[test]
    fn only_a_reply_within_the_schema_obeys_it() {
        let obeys = |said: &str| obeys(&json!({"response": said, "done": true}));
        assert!(obeys("{\"word\":\"quince\",\"sure\":true}"));
        assert!(obeys(" {\n  \"sure\": false, \"word\": \"medlar\"\n}\n"));
        for other in [
            "",
            "It is sunny.",
            "{}",
            "[]",
            "{\"weather\":\"sunny\"}",
            "{\"word\":\"sunny\",\"sure\":true}",
            "{\"word\":\"quince\"}",
            "{\"word\":\"quince\",\"sure\":1}",
            "{\"word\":\"quince\",\"sure\":true,\"more\":1}",
            "{\"word\":\"quince\",\"sure\":tr",
        ] {
            assert!(!obeys(other), "{other}");
        }
        assert!(!super::obeys(&json!({"error": "no"})));
    }
}

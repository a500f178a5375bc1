//! What a server reports about a model. Only local servers and unknown models are asked, because the catalog has the
//! facts about hosted models.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

use super::http::{self, ApiKey, Outgoing, RequestBody};
use super::{RequestExtras, ServerFacts};

/// Where a server is, and what every request to it carries.
#[derive(Clone, Copy)]
pub(super) struct ServerAddress<'a> {
    pub(super) base_url: &'a str,
    pub(super) key: Option<&'a SecretString>,
    pub(super) extras: &'a Arc<RequestExtras>,
}

/// The timeout. A slow server is asked again with the next request.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// A list of models, or the settings of a server.
const LARGEST: usize = 16 * 1024 * 1024;

/// Asks llama.cpp, LM Studio, vLLM, LiteLLM and their like. `nearby`: the server is on this machine or near it.
pub(super) async fn ask(server: ServerAddress<'_>, model: &str, nearby: bool) -> ServerFacts {
    let list = format!("{}/models", server.base_url.trim_end_matches('/'));
    let only_nearby = async |path: &str| if nearby { server.get(server.below_root(path)).await } else { None };
    let (props, models, loaded) = tokio::join!(only_nearby("/props"), server.get(list), only_nearby("/api/v0/models"));
    let told = [props.as_ref().map(from_props), from_list(loaded.as_ref(), model), from_list(models.as_ref(), model)];
    told.into_iter().flatten().fold(ServerFacts::default(), ServerFacts::or)
}

/// Asks llama.cpp, through any dialect.
pub(super) async fn ask_props(server: ServerAddress<'_>) -> ServerFacts {
    server.get(server.below_root("/props")).await.as_ref().map(from_props).unwrap_or_default()
}

impl ServerAddress<'_> {
    /// A path that is not part of the dialect, whose own paths stand below `/v1`.
    fn below_root(self, path: &str) -> String {
        let base = self.base_url.trim_end_matches('/');
        format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base))
    }

    async fn get(self, url: String) -> Option<Value> {
        let headers = vec![("accept", "application/json".to_owned())];
        let key = self.key.cloned().map(ApiKey::Bearer);
        let outgoing = Outgoing { url, headers, key, body: RequestBody::Nothing, extras: Arc::clone(self.extras) };
        http::fetch(outgoing, PATIENCE, LARGEST).await.ok()
    }
}

/// llama.cpp's `/props`. Its window is that of one slot, which is all that a request gets.
fn from_props(props: &Value) -> ServerFacts {
    let truth = |place: &str| props.pointer(place).and_then(Value::as_bool);
    ServerFacts {
        window: tokens(props, &["/default_generation_settings/n_ctx"]),
        tools: truth("/chat_template_caps/supports_tools").or_else(|| truth("/chat_template_caps/supports_tool_calls")),
        images: truth("/modalities/vision"),
        ..ServerFacts::default()
    }
}

/// The entry of the model in a list, or the only one there is: many servers answer to any name.
fn from_list(list: Option<&Value>, model: &str) -> Option<ServerFacts> {
    let list = list?;
    let entries = list.get("data").unwrap_or(list).as_array()?;
    let is_it = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = entries.iter().find(is_it).or_else(|| entries.first().filter(|_| entries.len() == 1))?;
    let inputs = ["/input_modalities", "/architecture/input_modalities"].iter().find_map(|place| entry.pointer(place));
    let holds = |list: Option<&Value>, word: &str| {
        let words = list?.as_array()?;
        Some(words.iter().any(|one| one.as_str() == Some(word)))
    };
    // LM Studio says of a loaded model what it can do, and calls those that see `vlm`.
    let kind = entry.get("type").and_then(Value::as_str);
    let is_lm_studio = entry.get("state").is_some() && matches!(kind, Some("llm" | "vlm"));
    let capabilities = entry.get("capabilities");
    Some(ServerFacts {
        window: tokens(
            entry,
            &[
                "/loaded_context_length",
                "/meta/n_ctx",
                "/max_model_len",
                "/max_input_tokens",
                "/context_length",
                "/context_window",
                "/max_context_length",
            ],
        ),
        max_output: tokens(entry, &["/max_output_tokens", "/top_provider/max_completion_tokens"])
            .and_then(|most| u32::try_from(most).ok()),
        images: holds(inputs, "image").or_else(|| is_lm_studio.then_some(kind == Some("vlm"))),
        tools: holds(capabilities.filter(|_| is_lm_studio), "tool_use").filter(|can| *can),
        parameters: tokens(entry, &["/meta/n_params"]),
    })
}

fn tokens(value: &Value, places: &[&str]) -> Option<u64> {
    places.iter().find_map(|place| value.pointer(place)?.as_u64()).filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn llama_cpp_says_what_a_slot_holds_and_what_its_template_drops() {
        let props = json!({
            "default_generation_settings": {"n_ctx": 2048}, "total_slots": 4,
            "modalities": {"vision": false, "audio": false}, "chat_template_caps": {"supports_tools": false},
        });
        let facts =
            ServerFacts { window: Some(2_048), tools: Some(false), images: Some(false), ..ServerFacts::default() };
        assert_eq!(from_props(&props), facts);
        assert_eq!(from_props(&json!({"error": "loading"})), ServerFacts::default());
    }

    #[test]
    fn each_servers_list_is_read_where_it_puts_its_figures() {
        let told = |entry: Value| from_list(Some(&json!({"data": [entry, {"id": "other"}]})), "m").expect("an entry");
        assert_eq!(told(json!({"id": "m", "max_model_len": 4_096})).window, Some(4_096), "vLLM");
        let litellm = told(json!({"id": "m", "max_input_tokens": 128_000, "max_output_tokens": 16_384}));
        assert_eq!((litellm.window, litellm.max_output), (Some(128_000), Some(16_384)));
        assert_eq!(told(json!({"id": "m", "meta": {"n_ctx": 2_048, "n_ctx_train": 8_192}})).window, Some(2_048));
        let studio = told(json!({
            "id": "m", "type": "llm", "state": "loaded", "max_context_length": 32_768, "loaded_context_length": 4_096,
            "capabilities": ["tool_use"],
        }));
        assert_eq!((studio.window, studio.images, studio.tools), (Some(4_096), Some(false), Some(true)));
        let router = told(json!({
            "id": "m", "context_length": 65_536, "architecture": {"input_modalities": ["text", "image"]},
        }));
        assert_eq!((router.window, router.images), (Some(65_536), Some(true)));
        assert_eq!(from_list(Some(&json!({"data": [{"id": "a"}, {"id": "b"}]})), "m"), None);
        let only = from_list(Some(&json!({"data": [{"id": "file.gguf", "meta": {"n_ctx": 512}}]})), "anything");
        assert_eq!(only.and_then(|facts| facts.window), Some(512), "llama.cpp answers to any name");
    }
}

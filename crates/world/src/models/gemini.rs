//! Google's Gemini API: `generateContent`, streamed.
//!
//! A reply is a list of parts (words, thoughts, function calls). Any part may carry a signature of the thoughts
//! behind it, which goes back with that very part; Gemini 3 refuses a call that comes back without its own. A
//! stream has no last event: the reply is complete when a candidate says why it finished.

mod body;
mod reader;
mod schema;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::{Fault, ProblemKind, Prompt, Retry};

use self::body::GeminiBody;
use self::reader::GeminiReader;
use super::http::{self, ApiKey, Framing, Outgoing, RequestBody, fault};
use super::{Listed, Model, PieceStream, RequestExtras, with_warning};

const DIALECT: &str = "gemini";
/// The version of the API that has everything that is sent here.
const VERSION: &str = "/v1beta";
/// The limit for lists of models and token counts, which are small.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;
/// Pages of a list at most, more than any provider has.
const MOST_PAGES: usize = 20;

pub(super) struct Gemini {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
    pub(super) extras: Arc<RequestExtras>,
}

#[async_trait]
impl Model for Gemini {
    fn dialect(&self) -> &'static str {
        DIALECT
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let outgoing = RequestBody::json(&GeminiBody::new(&self.model, prompt).run(prompt))
            .map(|body| self.outgoing(&self.method("streamGenerateContent?alt=sse"), "text/event-stream", body));
        let reader = GeminiReader::after(&prompt.messages);
        let pieces = http::converse(prompt, outgoing, Framing::Events, reader, self.idle);
        with_warning(body::effort_note(&self.model, prompt), pieces)
    }

    async fn count_tokens(&self, prompt: &Prompt) -> Result<Option<u64>, Fault> {
        let model = format!("models/{}", self.name());
        let request = serde_json::to_value(GeminiBody::new(&self.model, prompt)).map_err(|error| {
            fault(ProblemKind::Internal, format!("The request cannot be written: {error}."), Retry::Never)
        })?;
        let mut request = request;
        request["model"] = model.into();
        let body = RequestBody::json(&json!({"generateContentRequest": request}))?;
        let outgoing = self.outgoing(&self.method("countTokens"), "application/json", body);
        match http::fetch(outgoing, self.idle, LARGEST_ANSWER).await {
            Ok(answer) => Ok(answer.get("totalTokens").and_then(Value::as_u64)),
            // Other servers with this API may not count tokens.
            Err(fault) if fault.problem.kind == ProblemKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let mut listed = Vec::new();
        let mut after = String::new();
        for _ in 0..MOST_PAGES {
            let path = format!("/models?pageSize=1000{after}");
            let outgoing = self.outgoing(&path, "application/json", RequestBody::Nothing);
            let page: GeminiPage = serde_json::from_value(http::fetch(outgoing, self.idle, LARGEST_ANSWER).await?)
                .map_err(|error| {
                    let message = format!("The provider's list of models cannot be read: {error}.");
                    fault(ProblemKind::Protocol, message, Retry::Never)
                })?;
            listed.extend(page.models.into_iter().filter_map(GeminiListed::listed));
            // A page token that does not fit into a URL unchanged is not trusted.
            let plain = |token: &String| token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.=~".contains(&b));
            let Some(token) = page.next_page_token.filter(|token| !token.is_empty()).filter(plain) else { break };
            after = format!("&pageToken={token}");
        }
        Ok(listed)
    }
}

impl Gemini {
    /// Lists name models `models/NAME`; both are taken.
    fn name(&self) -> &str {
        self.model.strip_prefix("models/").unwrap_or(&self.model)
    }

    fn method(&self, method: &str) -> String {
        format!("/models/{}:{method}", self.name())
    }

    fn outgoing(&self, path: &str, accept: &str, body: RequestBody) -> Outgoing {
        let base = self.base_url.trim_end_matches('/');
        let has_version = ["/v1", "/v1beta", "/v1alpha"].iter().any(|version| base.ends_with(version));
        let version = if has_version { "" } else { VERSION };
        Outgoing {
            url: format!("{base}{version}{path}"),
            headers: vec![("accept", accept.to_owned())],
            key: self.key.clone().map(|key| ApiKey::Header("x-goog-api-key", key)),
            body,
            extras: Arc::clone(&self.extras),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPage {
    #[serde(default)]
    models: Vec<GeminiListed>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiListed {
    #[serde(default)]
    name: String,
    input_token_limit: Option<u64>,
    /// Absent: not said, so it may be any.
    supported_generation_methods: Option<Vec<String>>,
}

impl GeminiListed {
    /// The model, if it is one for conversations.
    fn listed(self) -> Option<Listed> {
        let methods = self.supported_generation_methods;
        let converses = methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"));
        let name = self.name.strip_prefix("models/").unwrap_or(&self.name);
        let named = !name.is_empty() && !name.contains(char::is_control);
        (converses && named).then(|| Listed { name: name.to_owned(), window: self.input_token_limit })
    }
}

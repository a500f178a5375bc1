//! Ollama's own API, for models on the user's machine.
//!
//! Two things are asked before the first call of a model, and remembered: its window, because Ollama silently drops
//! what does not fit, and whether it obeys a schema, because not every server and model does.

mod body;
mod known;
mod reader;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use secrecy::SecretString;
use serde::Serialize;
use serde_json::Value;
use trimtab_vocab::{Fault, Format, ProblemKind, Prompt, Retry};

use self::body::{PromptFit, WireFormat};
use self::known::KnownModel;
use self::reader::OllamaReader;
use super::http::{self, ApiKey, Framing, Outgoing, RequestBody, UNREACHABLE};
use super::{Listed, Model, PieceStream, ReplyPiece, RequestExtras, ServerFacts, effort, with_warning};

/// An answer that is not a reply (a model's facts, a list of models) is smaller than this.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;
/// What Ollama says of a model that was asked to think and cannot.
const NO_THINKING: &str = "does not support thinking";

#[derive(Clone)]
pub(super) struct Ollama {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
    pub(super) extras: Arc<RequestExtras>,
}

#[async_trait]
impl Model for Ollama {
    fn dialect(&self) -> &'static str {
        "ollama"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let (ollama, prompt) = (self.clone(), prompt.clone());
        stream::once(async move { ollama.converse(prompt).await }).flatten().boxed()
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let answer = self.fetch("/api/tags", RequestBody::Nothing, self.idle).await?;
        let models = answer.get("models").and_then(Value::as_array).into_iter().flatten();
        let names = models.filter_map(|model| model.get("name").or_else(|| model.get("model"))?.as_str());
        Ok(names.filter(|name| is_name(name)).map(|name| Listed { name: name.to_owned(), window: None }).collect())
    }

    async fn describe(&self, _: bool) -> Option<ServerFacts> {
        Some(known::about(&self.base_url, &self.model).shown(self).await.unwrap_or_default())
    }
}

impl Ollama {
    async fn converse(&self, prompt: Prompt) -> PieceStream {
        let known = known::about(&self.base_url, &self.model);
        let fit = PromptFit::new(&self.model, &prompt, known.window(self).await);
        let (format, pieces) = match &prompt.format {
            None => (None, None),
            Some(Format::Json) => (Some(WireFormat::Json), None),
            Some(Format::Schema { schema, .. }) => {
                (Some(WireFormat::Json), self.constrained(&prompt, &fit, schema, &known).await)
            }
        };
        let pieces = match pieces {
            Some(pieces) => pieces,
            None if body::asks_to_think(&self.model, &prompt) && prompt.effort.is_some() => {
                self.thinking_if_it_can(&prompt, &fit, format).await
            }
            None => self.send(&prompt, &fit, format),
        };
        let warnings = [fit.warning(&self.model), body::effort_note(&self.model, &prompt)];
        let warnings = warnings.into_iter().flatten().map(|text| Ok(ReplyPiece::Warning(text)));
        stream::iter(warnings).chain(pieces).boxed()
    }

    /// Calls a model with thinking. A model that cannot think is called again without, because effort is a setting
    /// for all models.
    async fn thinking_if_it_can(
        &self,
        prompt: &Prompt,
        fit: &PromptFit,
        format: Option<WireFormat<'_>>,
    ) -> PieceStream {
        let mut pieces = self.send(prompt, fit, format).fuse();
        let first = pieces.next().await;
        if let Some(Err(fault)) = &first
            && fault.problem.message.contains(NO_THINKING)
        {
            let plain = Prompt { effort: None, ..prompt.clone() };
            let note = effort::note(prompt, &self.model, effort::Took::Nothing);
            return with_warning(note, self.send(&plain, fit, format));
        }
        stream::iter(first).chain(pieces).boxed()
    }

    /// The reply within a schema; none when a schema has no effect here.
    async fn constrained(
        &self,
        prompt: &Prompt,
        fit: &PromptFit,
        schema: &Value,
        known: &KnownModel,
    ) -> Option<PieceStream> {
        if !known.supports_schema(self, fit.num_ctx).await {
            return None;
        }
        let mut pieces = self.send(prompt, fit, Some(WireFormat::Schema(schema))).fuse();
        let first = pieces.next().await;
        // Ollama supports a subset of JSON Schema, and reports that before the first word.
        if let Some(Err(fault)) = &first
            && known::refuses_format(fault)
        {
            known.give_up_schemas().await;
            return None;
        }
        Some(stream::iter(first).chain(pieces).boxed())
    }

    fn send(&self, prompt: &Prompt, fit: &PromptFit, format: Option<WireFormat<'_>>) -> PieceStream {
        let body = RequestBody::json(&body::OllamaBody::new(&self.model, prompt, fit, format));
        let outgoing = body.map(|body| self.outgoing("/api/chat", "application/x-ndjson", body));
        let (ollama, reader) = (self.clone(), OllamaReader::new(&self.model, prompt, fit));
        http::converse(prompt, outgoing, Framing::Lines, reader, self.idle)
            .map(move |piece| piece.map_err(|fault| ollama.explain(fault)))
            .boxed()
    }

    async fn ask(&self, path: &str, body: &impl Serialize, idle: Duration) -> Result<Value, Fault> {
        self.fetch(path, RequestBody::json(body)?, idle).await
    }

    async fn fetch(&self, path: &str, body: RequestBody, idle: Duration) -> Result<Value, Fault> {
        let answer = http::fetch(self.outgoing(path, "application/json", body), idle, LARGEST_ANSWER).await;
        answer.map_err(|fault| self.explain(fault))
    }

    fn outgoing(&self, path: &str, accept: &str, body: RequestBody) -> Outgoing {
        Outgoing {
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers: vec![("accept", accept.to_owned())],
            key: self.key.clone().map(ApiKey::Bearer),
            body,
            extras: Arc::clone(&self.extras),
        }
    }

    /// Says what a fault means and what to do about it, where Ollama has its own ways. It tells its
    /// errors apart by their words only, and an error within a stream has not even a status.
    fn explain(&self, mut fault: Fault) -> Fault {
        let said = fault.problem.message.as_str();
        let (kind, hint) = match fault.problem.kind {
            ProblemKind::Network if said.contains(UNREACHABLE) && fault.retry != Retry::Never => (
                None,
                "Start Ollama with `ollama serve`. `trimtab doctor` shows the address that Trimtab tries.".into(),
            ),
            ProblemKind::Stalled => (
                None,
                "Ollama sends nothing while it loads a model, which can take minutes the first time. Try again, or raise limits.api_timeout_s."
                    .into(),
            ),
            ProblemKind::Auth if said.contains("(HTTP 4") => (
                None,
                "For a model in Ollama's cloud, sign in with `ollama signin`. Otherwise, check the key. `trimtab doctor` shows where it comes from."
                    .into(),
            ),
            // What the server says is its own words only in a refusal or a failure.
            kind if !matches!(kind, ProblemKind::NotFound | ProblemKind::Refused | ProblemKind::Overloaded) => {
                return fault;
            }
            _ if said.contains("not found") && said.contains(&self.model) => (
                Some(ProblemKind::NotFound),
                format!("Fetch it with `ollama pull {}`, or choose another model with --model.", self.model),
            ),
            _ if http::says_no_tools(said) => (Some(ProblemKind::NoTools), http::NO_TOOLS.into()),
            _ if said.contains(NO_THINKING) => (
                Some(ProblemKind::Refused),
                "This model does not support thinking. Set effort to \"off\" and limits.thinking_tokens to 0, or choose another model with --model.".into(),
            ),
            _ if said.contains("does not support chat") || said.contains("does not support generate") => (
                Some(ProblemKind::Refused),
                "This model does not support chat. Choose another model with --model.".into(),
            ),
            // Told as a failure of the server, but no wait will mend it.
            _ if said.contains("more system memory") => (
                Some(ProblemKind::Refused),
                "Choose a smaller model with --model, or free some memory.".into(),
            ),
            _ => return fault,
        };
        if let Some(kind) = kind {
            (fault.problem.kind, fault.retry) = (kind, Retry::Never);
        }
        fault.problem.hint = Some(hint);
        fault
    }
}

/// A name that can be typed and shown.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 300 && !name.contains(|c: char| c.is_control() || c.is_whitespace())
}

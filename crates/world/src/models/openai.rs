//! The Chat Completions API, as OpenAI defined it and many other servers offer it.
//!
//! The servers agree on the shape and differ in the details. Requests follow what each of them documents, which is
//! decided in one place, [`server`]. Replies are read in all their variants.
//!
//! When is a reply complete? The documented end is a `finish_reason`, then perhaps the usage, then `[DONE]`. Several
//! servers leave out `[DONE]`, and some proxies send it after a reply that failed halfway; so the `finish_reason` is
//! what counts. With it, the reply is complete at `[DONE]`, at any end of the stream, or when only the usage could
//! follow and does not. Without it, nothing completes a reply.

mod body;
mod forms;
mod pictures;
mod reader;
pub(super) mod server;
pub(super) mod strict;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use secrecy::SecretString;
use serde_json::Value;
use trimtab_vocab::{Fault, ProblemKind, Prompt, Retry};

use super::http::{self, ApiKey, Framing, Outgoing, fault};
use super::server_word::ServerAddress;
use super::{DrawOrder, DrawnImage, Listed, Model, PieceStream, RequestExtras, ServerFacts, server_word, with_warning};
use body::OpenAiBody;
use pictures::{PictureBody, pictures};
use reader::OpenAiReader;
pub(super) use server::{ModelName, ServerKind};

/// Some routers list thousands of models.
const LARGEST_LIST: usize = 16 * 1024 * 1024;
/// Ten large pictures in base64.
const LARGEST_PICTURES: usize = 128 * 1024 * 1024;

#[derive(Clone)]
pub(super) struct OpenAi {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
    pub(super) extras: Arc<RequestExtras>,
}

#[async_trait]
impl Model for OpenAi {
    fn dialect(&self) -> &'static str {
        "openai"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let note = body::effort_note(self.server(), &self.model, prompt);
        if prompt.format.is_none() {
            return with_warning(note, self.send(prompt));
        }
        let (model, prompt) = (self.clone(), prompt.clone());
        with_warning(note, stream::once(async move { model.constrained(prompt).await }).flatten().boxed())
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let outgoing = self.outgoing("/models", "application/json", http::RequestBody::Nothing);
        let answer = http::fetch(outgoing, self.idle, LARGEST_LIST).await?;
        listed(&answer)
            .ok_or_else(|| fault(ProblemKind::Protocol, "The provider's list of models cannot be read.", Retry::Never))
    }

    async fn describe(&self, is_known: bool) -> Option<ServerFacts> {
        let nearby = self.server() == ServerKind::Local;
        let asks = nearby || (self.server() == ServerKind::Other && !is_known);
        let address = ServerAddress { base_url: &self.base_url, key: self.key.as_ref(), extras: &self.extras };
        if asks { Some(server_word::ask(address, &self.model, nearby).await) } else { None }
    }

    async fn draw(&self, order: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        let body = http::RequestBody::json(&PictureBody::new(self.server(), &self.model, order))?;
        let outgoing = self.outgoing("/images/generations", "application/json", body);
        let answer =
            http::fetch(outgoing, self.idle, LARGEST_PICTURES).await.map_err(|fault| match fault.problem.kind {
                ProblemKind::NotFound => {
                    let hint = "Not every provider generates images. Set models.image to another model, \
                            for example xai/grok-imagine-image-2.0 or openai/gpt-image-2.";
                    Fault { problem: fault.problem.hint(hint), ..fault }
                }
                _ => fault,
            })?;
        pictures(self.server(), answer, order.count).await
    }
}

impl OpenAi {
    fn send(&self, prompt: &Prompt) -> PieceStream {
        let body = http::RequestBody::json(&OpenAiBody::new(self.server(), &self.model, prompt));
        let outgoing = body.map(|body| self.outgoing("/chat/completions", "text/event-stream", body));
        http::converse(prompt, outgoing, Framing::Events, OpenAiReader::after(&prompt.messages), self.idle)
    }

    /// A reply in the requested form, or as close to it as the server supports.
    async fn constrained(&self, mut prompt: Prompt) -> PieceStream {
        loop {
            prompt.format = forms::allowed(&self.base_url, &self.model, prompt.format.take());
            let mut pieces = self.send(&prompt).fuse();
            let first = pieces.next().await;
            match (&first, &prompt.format) {
                (Some(Err(fault)), Some(format)) if forms::is_refused(fault) => {
                    forms::give_up(&self.base_url, &self.model, format);
                }
                _ => return stream::iter(first).chain(pieces).boxed(),
            }
        }
    }

    fn server(&self) -> ServerKind {
        ServerKind::at(&self.base_url)
    }

    fn outgoing(&self, path: &str, accept: &str, body: http::RequestBody) -> Outgoing {
        Outgoing {
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers: vec![("accept", accept.to_owned())],
            key: self.key.clone().map(ApiKey::Bearer),
            body,
            extras: Arc::clone(&self.extras),
        }
    }
}

/// The documented list is in `data`; Together's is bare.
fn listed(answer: &Value) -> Option<Vec<Listed>> {
    let entries = answer.get("data").unwrap_or(answer).as_array()?;
    let places = [
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx",
        "/max_input_tokens",
    ];
    let models = entries.iter().filter_map(|entry| {
        let name = entry.get("id")?.as_str().filter(|name| !name.is_empty() && !name.contains(char::is_control))?;
        let window = places.iter().find_map(|place| entry.pointer(place)?.as_u64()).filter(|window| *window > 0);
        Some(Listed { name: name.to_owned(), window })
    });
    Some(models.collect())
}

#[cfg(test)]
mod tests;

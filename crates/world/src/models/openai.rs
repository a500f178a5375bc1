//! The Chat Completions API, as OpenAI defined it and many others speak it.
//!
//! The servers agree on the shape and differ in the details. What is sent follows what each of them
//! documents, and is decided in one place, [`server`]. What comes back is read as all of them write it.
//!
//! When is a reply complete? The documented end is a `finish_reason`, then perhaps the figures, then
//! `[DONE]`. Several servers leave out `[DONE]`, and some proxies send it after whatever the provider
//! behind them managed to say before it failed; so the `finish_reason` is what counts. With it, the
//! reply is complete at `[DONE]`, at the end of the stream however that comes, or when nothing but
//! figures could follow and they do not. Without it, nothing completes a reply.

mod body;
mod pictures;
mod reader;
mod server;
pub(super) mod strict;

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::Value;
use trimtab_vocab::{Fault, ProblemKind, Prompt, Retry};

use super::http::{self, ApiKey, Framing, Outgoing, fault};
use super::{DrawOrder, DrawnImage, Listed, Model, PieceStream};
use body::OpenAiBody;
use pictures::{PictureBody, pictures};
use reader::OpenAiReader;
use server::ServerKind;

/// Some routers list thousands of models.
const LARGEST_LIST: usize = 16 * 1024 * 1024;
/// Ten large pictures in base64.
const LARGEST_PICTURES: usize = 128 * 1024 * 1024;

pub(super) struct OpenAi {
    pub(super) base_url: String,
    pub(super) key: Option<SecretString>,
    pub(super) model: String,
    pub(super) idle: Duration,
}

#[async_trait]
impl Model for OpenAi {
    fn dialect(&self) -> &'static str {
        "openai"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let body = http::RequestBody::json(&OpenAiBody::new(self.server(), &self.model, prompt));
        let outgoing = body.map(|body| self.outgoing("/chat/completions", "text/event-stream", body));
        http::converse(outgoing, Framing::Events, OpenAiReader::after(&prompt.messages), self.idle)
    }

    async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let outgoing = self.outgoing("/models", "application/json", http::RequestBody::Nothing);
        let answer = http::fetch(outgoing, self.idle, LARGEST_LIST).await?;
        listed(&answer)
            .ok_or_else(|| fault(ProblemKind::Protocol, "The provider's list of models is not one.", Retry::Never))
    }

    async fn draw(&self, order: &DrawOrder) -> Result<Vec<DrawnImage>, Fault> {
        let body = http::RequestBody::json(&PictureBody::new(self.server(), &self.model, order))?;
        let outgoing = self.outgoing("/images/generations", "application/json", body);
        let answer = http::fetch(outgoing, self.idle, LARGEST_PICTURES).await.map_err(|fault| match fault.problem.kind {
            ProblemKind::NotFound => {
                let hint = "Not every provider generates images. Set models.image to one that does, \
                            for example xai/grok-2-image or openai/gpt-image-1.";
                Fault { problem: fault.problem.hint(hint), ..fault }
            }
            _ => fault,
        })?;
        pictures(self.server(), answer, order.count).await
    }
}

impl OpenAi {
    fn server(&self) -> ServerKind {
        ServerKind::at(&self.base_url)
    }

    fn outgoing(&self, path: &str, accept: &str, body: http::RequestBody) -> Outgoing {
        Outgoing {
            url: format!("{}{path}", self.base_url.trim_end_matches('/')),
            headers: vec![("accept", accept.to_owned())],
            key: self.key.clone().map(ApiKey::Bearer),
            body,
        }
    }
}

/// The documented list stands in `data`; Together's is bare.
fn listed(answer: &Value) -> Option<Vec<Listed>> {
    let entries = answer.get("data").unwrap_or(answer).as_array()?;
    let places = ["/context_length", "/context_window", "/max_model_len", "/max_context_length", "/meta/n_ctx"];
    let models = entries.iter().filter_map(|entry| {
        let name = entry.get("id")?.as_str().filter(|name| !name.is_empty() && !name.contains(char::is_control))?;
        let window = places.iter().find_map(|place| entry.pointer(place)?.as_u64()).filter(|window| *window > 0);
        Some(Listed { name: name.to_owned(), window })
    });
    Some(models.collect())
}

#[cfg(test)]
mod tests;

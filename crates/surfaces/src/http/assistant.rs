//! `POST /assistant/message` and `GET /assistant/message/stream`: the assistant over the tasks, in the documented
//! shapes. Each message is a request like any other; what happens to it is translated in `pieces` and nowhere else.
//! Errors of these routes are the documented flat ones.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Interval;
use trimtab_host::{Manner, NO_FOLDER, RequestDraft, SendTo, Sent, SessionWatch};
use trimtab_vocab::{AssistantRequest, Mode, Prior, Problem, RequestId, Said, Via};

use super::Shared;
use super::access::Authenticated;
use super::assistant_stream::{AssistantReply, MessageEnd, StreamPiece, Translator};
use super::events::{Slot, beating};
use super::extract::RawBody;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

/// Turns that are taken from a client; no more than the last few are read anyway.
const TURNS: usize = 50;

pub(super) fn routes(api: Api) -> Api {
    let message = RouteOperation::new("post", "assistantMessage", "assistant", "Ask the assistant about your tasks")
        .takes::<MessageBody>(json!({"message": "Mark everything today as done", "transcript": [], "options": {"mode": "auto"}}))
        .gives::<AssistantReply>(
            StatusCode::OK,
            "The answer with the proposed operations, or a question.",
            json!({"text": "Both of today's tasks will be done.", "operations": [{"op": {"op": "complete", "id": 1}, "errors": []}]}),
        )
        .gives::<Flat>(StatusCode::BAD_REQUEST, "There is no message.", json!({"error": "invalid_message"}))
        .gives::<Flat>(
            StatusCode::BAD_GATEWAY,
            "The model failed.",
            json!({"error": "assistant_failure", "detail": "The provider refused the request."}),
        );
    let stream = RouteOperation::new(
        "get",
        "assistantStream",
        "assistant",
        "Ask the assistant, and stream its progress",
    )
    .query::<StreamQuery>()
    .gives_other::<StreamPiece>(
        StatusCode::OK,
        "Server-sent events: `stage`, `clarify`, `ops`, `summary`, `result`, `heartbeat`, and `done` at the end. \
             A stream that ends without `done` has failed; POST the same message then.",
        "text/event-stream",
    )
    .gives::<Flat>(StatusCode::BAD_REQUEST, "There is no message.", json!({"error": "invalid_message"}))
    .gives::<Flat>(
        StatusCode::BAD_GATEWAY,
        "The assistant is not available.",
        json!({"error": "assistant_failure", "detail": "No model is set up."}),
    )
    .fails(404);
    let begin = RouteOperation::new(
        "post",
        "assistantJob",
        "assistant",
        "Send the assistant a message that is too long for a URL",
    )
    .takes::<MessageBody>(json!({"message": "Mark everything today as done", "options": {"mode": "auto"}}))
    .gives::<FollowedMessage>(
        StatusCode::ACCEPTED,
        "Accepted. GET /api/assistant/message/stream?job=… reports the result.",
        json!({"job": "r01kabcdefghjkmnq"}),
    )
    .gives::<Flat>(StatusCode::BAD_REQUEST, "There is no message.", json!({"error": "invalid_message"}))
    .gives::<Flat>(
        StatusCode::BAD_GATEWAY,
        "The assistant is not available.",
        json!({"error": "assistant_failure", "detail": "No model is set up."}),
    );
    api.add("/assistant/message", post(message_posted), vec![message])
        .add("/assistant/jobs", post(message_begun), vec![begin])
        .add("/assistant/message/stream", get(message_streamed), vec![stream])
}

/// The body of the request. A field with a wrong type counts as absent.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct MessageBody {
    /// The text.
    message: String,
    /// The last turns before this message.
    transcript: Option<Vec<AssistantTurn>>,
    /// How it is meant.
    options: Option<MessageOptions>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct MessageOptions {
    /// `auto`, `chat` or `plan`, which it is without it.
    mode: Option<String>,
    /// The question that the message answers.
    clarify: Option<AssistantClarify>,
    /// Without effect: this route never streams.
    #[serde(rename = "streamSummary")]
    stream_summary: Option<bool>,
}

/// One turn of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct AssistantTurn {
    /// Who spoke: `user` or `assistant`.
    role: Option<String>,
    /// The message as plain text.
    text: Option<String>,
}

/// A question that a message answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct AssistantClarify {
    /// What the user asks.
    question: Option<String>,
    /// What the user has selected.
    selection: Option<AssistantSelection>,
}

/// The selected options.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct AssistantSelection {
    /// These tasks.
    ids: Option<Vec<u64>>,
    /// This day, YYYY-MM-DD.
    date: Option<String>,
    /// `low`, `medium` or `high`.
    priority: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read field by field; this describes it")]
struct StreamQuery {
    /// The text. Absent with `job`.
    #[serde(default)]
    message: String,
    /// A message that `POST /api/assistant/jobs` started. The stream has its events from the beginning.
    job: Option<RequestId>,
    /// Earlier turns as JSON: `[{"role":"user","text":"…"}]`. You can also repeat the parameter, with one turn each.
    transcript: Option<String>,
    /// `auto`, `chat` or `plan`, which it is without it.
    mode: Option<String>,
    /// The question that the message answers, as JSON: `{"question":"…","selection":{"ids":[1]}}`.
    clarify: Option<String>,
}

/// The documented error of these routes.
#[derive(Debug, Serialize, JsonSchema)]
struct Flat {
    error: &'static str,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

fn invalid() -> Response {
    (StatusCode::BAD_REQUEST, Json(Flat { error: "invalid_message", detail: None })).into_response()
}

fn failed(detail: &str) -> Response {
    let flat = Flat { error: "assistant_failure", detail: Some(detail.to_owned()) };
    (StatusCode::BAD_GATEWAY, Json(flat)).into_response()
}

/// A message as it is meant.
struct AssistantMessage {
    text: String,
    mode: Mode,
    ask: AssistantRequest,
}

impl AssistantMessage {
    fn new(text: &str, mode: &str, transcript: Vec<Said>, clarify: Option<Prior>, via: Via) -> Self {
        let mode = match mode.trim().to_lowercase().as_str() {
            "auto" => Mode::Auto,
            "chat" => Mode::Chat,
            _ => Mode::Plan,
        };
        // A choice counts also where the client does not say any more what was asked.
        let clarify = clarify.filter(|prior| !prior.question.is_empty() || prior.selection.is_some());
        let ask = AssistantRequest { via, transcript: Some(transcript), clarify };
        Self { text: text.trim().to_owned(), mode, ask }
    }
}

/// The turns that are turns; of a long list the last. A list may be written as a text.
fn turns(value: Option<Value>) -> Vec<Said> {
    let value = match value {
        Some(Value::String(text)) => serde_json::from_str(&text).ok(),
        value => value,
    };
    let Some(Value::Array(list)) = value else { return Vec::new() };
    let last = &list[list.len().saturating_sub(TURNS)..];
    last.iter().filter(|turn| turn.is_object()).filter_map(|turn| Said::deserialize(turn).ok()).collect()
}

fn prior(value: Option<&Value>) -> Option<Prior> {
    Prior::deserialize(value.filter(|value| value.is_object())?).ok()
}

fn posted(body: &[u8]) -> Option<AssistantMessage> {
    let mut body: Value = serde_json::from_slice(body).ok()?;
    let transcript = turns(body.get_mut("transcript").map(Value::take));
    let text = body.get("message")?.as_str().filter(|text| !text.trim().is_empty())?;
    let options = body.get("options");
    let mode = options.and_then(|options| options.get("mode")?.as_str()).unwrap_or("plan");
    let clarify = prior(options.and_then(|options| options.get("clarify")));
    Some(AssistantMessage::new(text, mode, transcript, clarify, Via::Post))
}

/// What an address says: names may come more than once.
type QueryPairs = [(String, String)];

fn given<'a>(query: &'a QueryPairs, name: &str) -> Option<&'a str> {
    query.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

fn streamed(query: &QueryPairs) -> Option<AssistantMessage> {
    let text = given(query, "message").filter(|text| !text.trim().is_empty())?;
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    // A list in one text, or one turn in each of several.
    let said = query.iter().filter(|(name, _)| name == "transcript").filter_map(|(_, text)| json(text));
    let said = said.flat_map(|value| match value {
        Value::Array(list) => list,
        one => vec![one],
    });
    let transcript = turns(Some(said.collect()));
    let clarify = given(query, "clarify").and_then(json);
    let mode = given(query, "mode").unwrap_or("plan");
    Some(AssistantMessage::new(text, mode, transcript, prior(clarify.as_ref()), Via::Sse))
}

async fn ask(server: &Shared, message: AssistantMessage) -> Result<(Sent, SessionWatch), Problem> {
    let AssistantMessage { text, mode, ask } = message;
    // Nobody is waited for: a question ends the request, and the answer is a message of its own.
    let draft = RequestDraft { mode, literal: true, ..RequestDraft::new(text, Manner::default()) };
    let composed = server.client.compose(&server.profile(), NO_FOLDER, draft).await?;
    let sent = server.client.send(SendTo::Assistant(Box::new(ask)), composed).await?;
    let watch = server.client.watch(&sent.session, 0);
    Ok((sent, watch))
}

async fn message_posted(State(server): State<Shared>, RawBody(body): RawBody) -> Response {
    let Some(message) = posted(&body) else { return invalid() };
    let (sent, mut watch) = match ask(&server, message).await {
        Ok(sent) => sent,
        Err(problem) => return failed(&problem.message),
    };
    let mut translator = Translator::default();
    loop {
        match watch.next().await {
            Ok(event) if event.request.as_ref() == Some(&sent.request) => drop(translator.observe(&event)),
            Ok(_) => {}
            Err(problem) => return failed(&problem.message),
        }
        match translator.end.take() {
            None => {}
            Some(MessageEnd::Done) => return Json(translator.reply).into_response(),
            Some(MessageEnd::Replaced) => return failed("A newer message replaced it."),
            Some(MessageEnd::Failed(why)) => return failed(&why),
        }
    }
}

/// An accepted message, with the ID to follow it.
#[derive(Debug, Serialize, JsonSchema)]
struct FollowedMessage {
    /// `job` of the stream that reports on it.
    job: RequestId,
}

async fn message_begun(State(server): State<Shared>, RawBody(body): RawBody) -> Response {
    let Some(message) = posted(&body) else { return invalid() };
    match ask(&server, message).await {
        Ok((Sent { request, .. }, _)) => (StatusCode::ACCEPTED, Json(FollowedMessage { job: request })).into_response(),
        Err(problem) => failed(&problem.message),
    }
}

/// The message of this name.
async fn begun(server: &Shared, job: &str) -> Result<Sent, Failure> {
    let found = match job.parse() {
        Ok(request) => server.client.requests().get(&request).await?.filter(|row| row.folder.is_empty()),
        Err(_) => None,
    };
    let row = found.ok_or_else(|| Failure::not_found("There is no message to the assistant with this ID."))?;
    Ok(Sent { session: row.session, request: row.request })
}

async fn message_streamed(
    State(server): State<Shared>,
    Extension(who): Extension<Authenticated>,
    query: Result<Query<Vec<(String, String)>>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Failure> {
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let job = given(&query, "job").filter(|job| !job.is_empty());
    let message = streamed(&query);
    if job.is_none() && message.is_none() {
        return Ok(invalid());
    }
    let slot = server.streams.take(&who.name)?;
    let asked = match (job, message) {
        (Some(job), _) => {
            let sent = begun(&server, job).await?;
            let watch = server.client.watch(&sent.session, 0);
            Ok((sent, watch))
        }
        (None, Some(message)) => ask(&server, message).await,
        (None, None) => return Ok(invalid()),
    };
    let (sent, watch) = match asked {
        Ok(sent) => sent,
        Err(problem) => return Ok(failed(&problem.message)),
    };
    let beat = beating(server.profile().heartbeat);
    let going = server.going.clone();
    let stream =
        Streaming { watch, sent, translator: Translator::default(), ready: VecDeque::new(), beat, going, _slot: slot };
    let stream = futures_util::stream::unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), stream))
    });
    let mut response = Body::from_stream(stream).into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONNECTION, "keep-alive"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// One who watches a message being answered. When they go away, the request goes on, and this is gone.
struct Streaming {
    watch: SessionWatch,
    sent: Sent,
    translator: Translator,
    ready: VecDeque<StreamPiece>,
    beat: Interval,
    going: watch::Receiver<bool>,
    _slot: Slot,
}

impl Streaming {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece.bytes());
            }
            match self.translator.end.take() {
                None if self.translator.over => return None,
                None => {}
                // Whoever was replaced hears that nothing comes of it, so that they do not ask again.
                Some(MessageEnd::Done | MessageEnd::Replaced) => {
                    self.translator.over = true;
                    return Some(StreamPiece::Done(true).bytes());
                }
                Some(MessageEnd::Failed(_)) => return None,
            }
            tokio::select! {
                biased;
                _ = self.going.changed() => return None,
                event = self.watch.next() => match event {
                    Ok(event) if event.request.as_ref() == Some(&self.sent.request) => {
                        self.ready.extend(self.translator.observe(&event));
                    }
                    Ok(_) => {}
                    Err(_) => return None,
                },
                _ = self.beat.tick() => self.ready.push_back(StreamPiece::Heartbeat { ts: trimtab_host::now() }),
            }
        }
    }
}

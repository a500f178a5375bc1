//! Sessions: create, list, load, and delete them, and send messages.

use std::path::Path;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trimtab_host::config::Profile;
use trimtab_host::{Manner, RequestDraft, SendTo, WhenBusy};
use trimtab_vocab::{Autonomy, Effort, Mode, RequestId, SessionId, SubtaskStart, WhileRunning};

use super::Shared;
use super::document::{SessionDocument, SessionInfo};
use super::extract::{Id, JsonBody, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

/// A message may bring pictures, and texts up to the limit of a request, each with its marks in JSON.
const LARGEST_MESSAGE: usize = 48 * 1024 * 1024;
/// Pictures of one message, and the bytes of each.
const PICTURES: usize = 8;
const LARGEST_PICTURE: usize = 5 * 1024 * 1024;

pub(super) fn routes(api: Api) -> Api {
    let example = json!({"id": "s01kabcdefghjkmnp", "docType": "chat", "parentSessionId": null, "forkedAt": null, "folder": "/home/me/project",
        "title": "Why does the build fail?", "created": "2026-11-15T08:30:00.125Z", "updated": "2026-11-15T08:30:04.017Z"});
    let mut whole = example.clone();
    whole["messages"] = json!([]);
    whole["checkpoints"] = json!([]);
    whole["handedOffTo"] = json!(null);
    whole["extensions"] = json!([]);
    whole["prefill"] = json!(null);
    whole["autonomy"] = json!("standard");
    whole["autonomyLimit"] = json!(null);
    whole["lastSeq"] = json!(14);
    let id = |operation: RouteOperation| operation.path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp");
    let make = RouteOperation::new("post", "createSession", "sessions", "Start a session in a folder")
        .takes::<NewSession>(json!({"folder": "/home/me/project"}))
        .gives::<CreatedSession>(StatusCode::CREATED, "The session.", json!({"session": "s01kabcdefghjkmnp"}));
    let list = RouteOperation::new("get", "listSessions", "sessions", "List sessions, most recently used first")
        .query::<SessionsQuery>()
        .gives::<SessionList>(StatusCode::OK, "The sessions.", json!({"sessions": [example]}));
    let load = id(RouteOperation::new(
        "get",
        "getSession",
        "sessions",
        "Show a session with its conversation, without traces",
    ))
    .gives::<SessionDocument>(StatusCode::OK, "The session.", whole);
    let forget = id(RouteOperation::new("delete", "deleteSession", "sessions", "Delete a session permanently"))
        .gives_nothing("Deleted.")
        .fails(409);
    let send_message = id(RouteOperation::new("post", "sendMessage", "sessions", "Send a message to a session"))
        .header(
            "Idempotency-Key",
            "Idempotency key: a message with the same key is sent only once, and gets the same answer.",
            json!({"type": "string", "minLength": 1, "maxLength": 200}),
        )
        .takes::<NewMessage>(json!({"text": "Why does the build fail?", "images": []}))
        .gives::<Accepted>(
            StatusCode::ACCEPTED,
            "Accepted and stored durably. The session's events report the result.",
            json!({"session": "s01kabcdefghjkmnp", "request": "r01kabcdefghjkmnq"}),
        )
        .fails(409)
        .fails(502);
    api.add("/sessions", get(sessions).post(create), vec![list, make])
        .add("/sessions/{id}", get(session).delete(delete), vec![load, forget])
        .add(
            "/sessions/{id}/messages",
            post(messages).layer(DefaultBodyLimit::max(LARGEST_MESSAGE)),
            vec![send_message],
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewSession {
    /// An existing folder. Default: the folder in which the server was started.
    folder: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CreatedSession {
    /// The new session.
    session: SessionId,
}

async fn create(
    State(server): State<Shared>,
    JsonBody(new): JsonBody<NewSession>,
) -> Result<(StatusCode, Json<CreatedSession>), Failure> {
    let folder = match new.folder {
        Some(folder) => real_folder(&folder)?,
        None => server.folder.clone(),
    };
    let session = server.client.sessions().open(folder).await?;
    Ok((StatusCode::CREATED, Json(CreatedSession { session })))
}

/// An existing folder, with links resolved.
pub(super) fn real_folder(named: &str) -> Result<String, Failure> {
    let wrong = || {
        Failure::unprocessable("There is no such folder on the server's machine.")
            .hint("Name an existing folder with its whole path.")
    };
    let path = Path::new(named);
    let real = path.is_absolute().then(|| path.canonicalize().ok()).flatten().filter(|real| real.is_dir());
    real.and_then(|real| real.into_os_string().into_string().ok()).ok_or_else(wrong)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// List only the sessions of this folder.
    folder: Option<String>,
    /// Only entries that contain all these words.
    search: Option<String>,
    /// List only sessions with a request that has this tag.
    tag: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SessionList {
    sessions: Vec<SessionInfo>,
}

async fn sessions(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<SessionsQuery>,
) -> Result<Json<SessionList>, Failure> {
    let folder = wanted.folder.as_deref();
    let words = wanted.search.as_deref().unwrap_or_default();
    let rows = match (&wanted.tag, words.trim()) {
        (None, "") => server.client.sessions().list(folder).await?,
        (tag, _) => server.client.sessions().search(folder, tag.as_slice(), words).await?,
    };
    Ok(Json(SessionList { sessions: rows.into_iter().map(SessionInfo::from).collect() }))
}

async fn session(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<Json<SessionDocument>, Failure> {
    let mut document = SessionDocument::new(server.client.sessions().get(&id).await?);
    loop {
        let page = server.client.sessions().events(&id, document.last_seq()).await?;
        if page.is_empty() {
            break;
        }
        page.into_iter().for_each(|event| document.observe(event));
    }
    let folder = document.folder().to_owned();
    // A folder whose settings are invalid can still be looked at.
    let profile = server.client.permissions().profile_in((*server.profile()).clone(), &folder).await;
    let limit = profile.ok().and_then(|profile| profile.hands.autonomy_limit);
    document.set_autonomy(server.profile().hands.autonomy, limit);
    document.wait_for(server.client.requests().checkpoints().await?);
    Ok(Json(document))
}

async fn delete(State(server): State<Shared>, Id(id): Id<SessionId>) -> Result<StatusCode, Failure> {
    server.client.sessions().delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A message from the user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewMessage {
    /// `sendMessage`, for clients that name their messages.
    #[serde(default, rename = "type")]
    _kind: Option<MessageKind>,
    /// The text. `task` is another name for it.
    #[serde(alias = "task")]
    text: String,
    /// Images that belong to them.
    #[serde(default)]
    #[schemars(length(max = 8))]
    images: Vec<Picture>,
    /// Which path they take.
    #[serde(default)]
    mode: Mode,
    /// The model to ask, `provider/name`; without it, the one of the settings.
    #[serde(default)]
    model: Option<String>,
    /// How much the model thinks; without it, as the settings say.
    #[serde(default)]
    effort: Option<Effort>,
    /// How much the session does without asking from this message on. Absent: the level does not change.
    #[serde(default)]
    autonomy: Option<Autonomy>,
    /// What they do to a request of the session that runs; without it, what the settings say.
    #[serde(default)]
    while_running: Option<WhileRunning>,
    /// Continue automatically while steps are open. Default: the setting.
    #[serde(default)]
    auto_continue: bool,
    /// The text is a message even where it begins with `/`: it was not typed as the name of a pill.
    #[serde(default)]
    literal: bool,
    /// A JSON Schema: the answer's `summary` is one JSON value that is valid against it, or the request fails.
    #[serde(default)]
    schema: Option<Value>,
    /// Whether it is broken down into sub-tasks, and how these run; without it, it is not.
    #[serde(default)]
    subtasks: Option<SubtaskStart>,
    /// The agent that the request is handed to. It works as a sub-task. `@agent-NAME` in the text does the same.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum MessageKind {
    SendMessage,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Picture {
    /// Which format it has.
    media_type: PictureKind,
    /// Its bytes, in base64.
    data: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
enum PictureKind {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl Picture {
    /// The media type and the bytes, once both are what they say.
    fn checked(self) -> Result<(String, String), Failure> {
        let wrong = |what: &str| Failure::unprocessable(format!("An image {what}."));
        let bytes = BASE64_STANDARD.decode(&self.data).map_err(|_| wrong("is not in base64"))?;
        if bytes.len() > LARGEST_PICTURE {
            return Err(wrong("is larger than 5 MB").hint("Make it smaller. Models do not use more detail."));
        }
        let (name, fits) = match self.media_type {
            PictureKind::Png => ("image/png", bytes.starts_with(b"\x89PNG")),
            PictureKind::Jpeg => ("image/jpeg", bytes.starts_with(b"\xff\xd8\xff")),
            PictureKind::Gif => ("image/gif", bytes.starts_with(b"GIF8")),
            PictureKind::Webp => ("image/webp", bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")),
        };
        if fits { Ok((name.to_owned(), self.data)) } else { Err(wrong(&format!("is not a valid {name}"))) }
    }
}

/// Where to look for the result.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Accepted {
    pub(super) session: SessionId,
    pub(super) request: RequestId,
}

async fn messages(
    State(server): State<Shared>,
    Id(id): Id<SessionId>,
    headers: HeaderMap,
    JsonBody(message): JsonBody<NewMessage>,
) -> Result<(StatusCode, Json<Accepted>), Failure> {
    let NewMessage {
        _kind: _,
        text,
        images,
        mode,
        model,
        effort,
        autonomy,
        while_running,
        auto_continue,
        literal,
        schema,
        subtasks,
        agent,
    } = message;
    if images.len() > PICTURES {
        return Err(Failure::unprocessable("A message can have at most 8 images."));
    }
    let images = images.into_iter().map(Picture::checked).collect::<Result<_, _>>()?;
    let key = idempotency_key(&headers)?;
    let when_busy = while_running.map_or(WhenBusy::AsConfigured, |choice| WhenBusy::Exactly(Some(choice)));
    let manner = Manner { model, effort, autonomy, schema, subtasks, agent, ..Manner::attended() };
    let words = RequestDraft { mode, images, when_busy, literal, ..RequestDraft::new(text, manner) };
    let said = if auto_continue {
        send_message_under(&server, &goes_on(&server.profile()), &id, words, key).await?
    } else {
        send_message(&server, &id, words, key).await?
    };
    Ok((StatusCode::ACCEPTED, Json(said)))
}

/// The same settings, but that "continue" is said by itself.
pub(super) fn goes_on(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.copilot.auto_continue = true;
    profile
}

/// What makes asking twice the same as asking once.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= 200);
    let wrong = || Failure::new(StatusCode::BAD_REQUEST, "usage", "Idempotency-Key has 1 to 200 printable letters.");
    key.map(Some).ok_or_else(wrong)
}

/// Says something in a session, with the settings of its folder.
pub(super) async fn send_message(
    server: &Shared,
    id: &SessionId,
    words: RequestDraft,
    key: Option<&str>,
) -> Result<Accepted, Failure> {
    send_message_under(server, &server.profile(), id, words, key).await
}

/// Says something in a session, under these settings.
pub(super) async fn send_message_under(
    server: &Shared,
    profile: &Profile,
    id: &SessionId,
    words: RequestDraft,
    key: Option<&str>,
) -> Result<Accepted, Failure> {
    let row = server.client.sessions().get(id).await?;
    let composed = server.client.compose(profile, &row.folder, words).await?;
    let sent = match key {
        Some(key) => server.client.send_once(id, composed, key).await?,
        None => server.client.send(SendTo::Session(id.clone()), composed).await?,
    };
    Ok(Accepted { session: sent.session, request: sent.request })
}

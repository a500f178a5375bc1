//! HTTP for servers that speak it, with a bound on what they send.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use http::{HeaderName, HeaderValue};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use rmcp_sse_stream::{Sse, SseStream};
use secrecy::{ExposeSecret as _, SecretString};

use super::oauth::{AuthChallenge, LoginFile, NoToken};
use super::{LARGEST_MESSAGE, LoginRefusal};
use crate::models::http_client;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "Mcp-Session-Id";
/// Bytes of a refusal that are read.
const LARGEST_REFUSAL: usize = 64 * 1024;

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;

/// What stands in the place of a token that a server sends back.
const REDACTED: &str = "[token]";

/// How a server refused a request for want of a login, or of a better one.
pub(super) type LastRefusal = Arc<Mutex<Option<LoginRefusal>>>;

/// The client of this program, which follows no redirects: they would send headers to another host.
#[derive(Clone)]
pub(super) struct BoundedHttp {
    client: reqwest::Client,
    /// Where the tokens are; absent: the server's headers are all that it gets.
    login: Option<LoginFile>,
    refusal: LastRefusal,
}

impl BoundedHttp {
    pub(super) fn new(url: &str, login: Option<LoginFile>, refusal: &LastRefusal) -> Result<Self, String> {
        let client = http_client(url).map_err(|fault| fault.problem.message)?;
        Ok(Self { client, login, refusal: Arc::clone(refusal) })
    }

    /// The token for the next request, if the user has logged in.
    async fn token(&self, refused: Option<&SecretString>) -> Result<Option<SecretString>, HttpError> {
        let Some(login) = &self.login else { return Ok(None) };
        match login.token(refused.map(SecretString::expose_secret)).await {
            Ok(token) => Ok(Some(token)),
            Err(NoToken::LoggedOut) => Ok(None),
            Err(NoToken::Failed(why)) => Err(unexpected(why)),
        }
    }

    /// Sends a request with the token. If the server does not take it, once more with a newer one: a request that is
    /// refused for want of a login has done nothing.
    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(Response, Option<SecretString>), HttpError> {
        let again = request.try_clone();
        let token = self.token(None).await?;
        let response = with_token(request, token.as_ref())?.send().await.map_err(without_url)?;
        let (Some(refused), Some(again), StatusCode::UNAUTHORIZED) = (&token, again, response.status()) else {
            return Ok((response, token));
        };
        match self.token(Some(refused)).await? {
            Some(newer) => {
                let response = with_token(again, Some(&newer))?.send().await.map_err(without_url)?;
                Ok((response, Some(newer)))
            }
            None => Ok((response, None)),
        }
    }

    /// Notes that a server refused for want of a login.
    fn note_refusal(&self, response: &Response) -> Option<HttpError> {
        let challenge = AuthChallenge::of(response);
        let is_refusal = match response.status() {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => challenge.wants_scopes(),
            _ => false,
        };
        if is_refusal && self.login.is_some() {
            let refusal = LoginRefusal { is_partial: challenge.wants_scopes(), scopes: challenge.scopes };
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
        }
        let header = header(response, WWW_AUTHENTICATE).unwrap_or_default();
        is_refusal.then(|| StreamableHttpError::AuthRequired(AuthRequiredError::new(header)))
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.client.post(uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        let body = serde_json::to_vec(message).unwrap_or_default();
        let (response, token) = self.send(request.header(CONTENT_TYPE, JSON).body(body)).await?;
        let status = response.status();
        if let Some(refused) = self.note_refusal(&response) {
            return Err(refused);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let kind = header(&response, CONTENT_TYPE);
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
        if !status.is_success() {
            let body = redacted(read(response, LARGEST_REFUSAL).await.unwrap_or_default(), token.as_ref());
            return match serde_json::from_slice(&body) {
                Ok(refusal @ JsonRpcMessage::Error(_)) if is(JSON) => {
                    Ok(StreamableHttpPostResponse::Json(refusal, session))
                }
                _ => Err(unexpected(format!("HTTP {status}: {}", String::from_utf8_lossy(&body)))),
            };
        }
        if is(EVENTS) {
            let events = SseStream::from_bytes_stream(bounded(
                response.bytes_stream().map(|piece| piece.map_err(reqwest::Error::without_url)),
                LARGEST_MESSAGE,
            ));
            return Ok(StreamableHttpPostResponse::Sse(unhurried(events.boxed(), token), session));
        }
        // Some servers answer a notification with an empty body or another type, which says nothing.
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        if !is(JSON) && wants_answer {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let body = redacted(read(response, LARGEST_MESSAGE).await?, token.as_ref());
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(unexpected(format!("the response is not valid: {error}"))),
        }
    }
}

impl StreamableHttpClient for BoundedHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(&uri, &message, session_id, custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let token = self.token(None).await?.map(|token| token.expose_secret().to_owned());
        self.client.delete_session(uri, session_id, token, custom_headers).await.map_err(stripped)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let limit = LARGEST_MESSAGE;
        let client = &self.client;
        let token = self.token(None).await?;
        let sent = token.as_ref().map(|token| token.expose_secret().to_owned());
        client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, sent, custom_headers, limit)
            .await
            .map(|events| unhurried(events, token))
            .map_err(stripped)
    }
}

/// An address can hold a key in its query, and errors reach the log and the model.
fn without_url(error: reqwest::Error) -> HttpError {
    StreamableHttpError::Client(error.without_url())
}

fn stripped(error: HttpError) -> HttpError {
    match error {
        StreamableHttpError::Client(error) => without_url(error),
        error => error,
    }
}

/// The shortest pause before a stream that ended is opened again, whatever a server asks for.
const SHORTEST_RETRY_MS: u64 = 250;

/// The same events, without a wish to be asked again at once, and without the token.
fn unhurried(
    events: BoxStream<'static, Result<Sse, SseError>>,
    token: Option<SecretString>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let calmed = move |event: Sse| {
        let data = event.data.map(|data| match &token {
            Some(token) => data.replace(token.expose_secret(), REDACTED),
            None => data,
        });
        Sse { retry: event.retry.map(|pause| pause.max(SHORTEST_RETRY_MS)), data, ..event }
    };
    events.map(move |event| event.map(&calmed)).boxed()
}

fn with_token(
    request: reqwest::RequestBuilder,
    token: Option<&SecretString>,
) -> Result<reqwest::RequestBuilder, HttpError> {
    let Some(token) = token else { return Ok(request) };
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
        .map_err(|_| unexpected("the token of the login is not valid".to_owned()))?;
    value.set_sensitive(true);
    Ok(request.header(AUTHORIZATION, value))
}

/// The same bytes without the token: a server that repeats it would have it logged and sent to the model.
fn redacted(body: Vec<u8>, token: Option<&SecretString>) -> Vec<u8> {
    let Some(token) = token.map(|token| token.expose_secret().as_bytes()) else { return body };
    let finder = memchr::memmem::Finder::new(token);
    let mut clean = Vec::with_capacity(body.len());
    let mut from = 0;
    for at in finder.find_iter(&body) {
        clean.extend_from_slice(&body[from..at]);
        clean.extend_from_slice(REDACTED.as_bytes());
        from = at + token.len();
    }
    clean.extend_from_slice(&body[from..]);
    clean
}

fn header(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

fn unexpected(text: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
}

/// The body, if it is not too large.
async fn read(response: Response, most: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(without_url)?);
        if body.len() > most {
            return Err(unexpected(format!("a response is larger than {most} bytes")));
        }
    }
    Ok(body)
}

/// The same bytes; they end where one event is too large.
fn bounded<E: Send + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    most: usize,
) -> impl Stream<Item = Result<Bytes, E>> + Send + 'static {
    let mut since_event = 0;
    bytes.take_while(move |piece| {
        if let Ok(piece) = piece {
            // An event ends with an empty line, so no event is longer than what stands between two of them.
            let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
            let last = ends.iter().filter_map(|end| memchr::memmem::rfind(piece, end).map(|at| at + end.len())).max();
            since_event = last.map_or(since_event + piece.len(), |at| piece.len() - at);
        }
        std::future::ready(since_event <= most)
    })
}

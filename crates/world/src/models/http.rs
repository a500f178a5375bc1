//! Shared by all HTTP dialects: the client, its faults, and events from a byte stream.

use std::error::Error;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{self, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;
use sse_stream::SseByteStream;
use tokio::time::Instant;
use trimtab_vocab::{Fault, Problem, ProblemKind, Prompt, Retry};

use super::{PieceStream, ReplyPiece, RequestExtras, limits, stalled, with_patience};

/// One event of a stream holds at most this much.
const LARGEST_EVENT: usize = 8 * 1024 * 1024;
/// A reply that comes as one document is not larger than one that comes in pieces may be.
const LARGEST_DOCUMENT: usize = 32 * 1024 * 1024;
/// Bytes of an error page that are read.
const LARGEST_ERROR: usize = 64 * 1024;
/// How long an error page is read. The status is known by then, and says more.
const LONGEST_ERROR: Duration = Duration::from_secs(2);
/// What may follow a reply that has said everything is worth no longer wait.
const LONGEST_AFTERTHOUGHT: Duration = Duration::from_secs(5);
/// A shorter key occurs in too many words to be redacted.
const SHORTEST_KEY: usize = 8;

/// How an address is reached. Each way has its own client, made when it is first needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// A server on this machine, without TLS: no certificate is loaded.
    Plain,
    /// A server on this machine: without a proxy.
    Direct,
    /// By the environment's proxies, if it names any.
    ByEnvironment,
}

impl Route {
    fn to(url: &str) -> Self {
        match reqwest::Url::parse(url) {
            Ok(url) if is_loopback(&url) && url.scheme() == "http" => Self::Plain,
            Ok(url) if is_loopback(&url) => Self::Direct,
            _ => Self::ByEnvironment,
        }
    }

    fn client(self) -> &'static Once<Client> {
        static PLAIN: Once<Client> = Once::new();
        static DIRECT: Once<Client> = Once::new();
        static BY_ENVIRONMENT: Once<Client> = Once::new();
        match self {
            Self::Plain => &PLAIN,
            Self::Direct => &DIRECT,
            Self::ByEnvironment => &BY_ENVIRONMENT,
        }
    }

    fn connect(self) -> Result<ImageReply<Client>, Fault> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            let builder = Client::builder()
                .user_agent(concat!("trimtab/", env!("CARGO_PKG_VERSION")))
                // A redirect would send the key to another host.
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(20));
            if self == Self::ByEnvironment { builder } else { builder.no_proxy() }
        };
        let without_certificates = || builder().tls_certs_only([]).build();
        let made = match self {
            Self::Plain => without_certificates().map(ImageReply::Whole),
            // A machine without certificates can still use a local model.
            Self::Direct | Self::ByEnvironment => {
                builder().build().map(ImageReply::Whole).or_else(|_| without_certificates().map(ImageReply::Makeshift))
            }
        };
        made.map_err(|error| {
            fault(ProblemKind::Network, format!("The HTTP client cannot start: {}.", causes(&error)), Retry::Never)
        })
    }
}

/// A value that is made once, when it is first needed. If it could not be made, or only in part, the next caller
/// tries again: missing certificates may have been installed since.
struct Once<T>(Mutex<Option<T>>);

/// The result of making a value.
enum ImageReply<T> {
    /// It is as it should be.
    Whole(T),
    /// It is good enough for now.
    Makeshift(T),
}

impl<T: Clone> Once<T> {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether it is not made yet, nor being made.
    fn is_wanted(&self) -> bool {
        self.0.try_lock().is_ok_and(|kept| kept.is_none())
    }

    /// The value. Callers wait while it is being made.
    fn get<E>(&self, make: impl FnOnce() -> Result<ImageReply<T>, E>) -> Result<T, E> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thing) = &*kept {
            return Ok(thing.clone());
        }
        match make()? {
            ImageReply::Whole(thing) => Ok(kept.insert(thing).clone()),
            ImageReply::Makeshift(thing) => Ok(thing),
        }
    }
}

/// The client for an address.
pub(crate) fn client(url: &str) -> Result<Client, Fault> {
    let way = Route::to(url);
    way.client().get(|| way.connect())
}

/// Begins to make the client for an address: reading the machine's certificates takes longer than all else that
/// comes before the first request, and can be done beside it.
pub(super) fn prepare(url: &str) {
    let way = Route::to(url);
    if way != Route::Plain && way.client().is_wanted() {
        // Without a thread it is made when it is needed.
        let _ = std::thread::Builder::new()
            .name("certificates".into())
            .spawn(move || way.client().get(|| way.connect()).is_ok());
    }
}

pub(crate) fn is_loopback(url: &reqwest::Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A request that is ready to go.
pub(super) struct Outgoing {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) key: Option<ApiKey>,
    pub(super) body: RequestBody,
    pub(super) extras: Arc<RequestExtras>,
}

impl Outgoing {
    /// What must not show in an error, even where the provider repeats it.
    fn secrets(&self) -> Vec<SecretString> {
        self.key.iter().map(ApiKey::secret).chain(&self.extras.secrets).cloned().collect()
    }

    /// The request with the fields that the settings add to every call of a model.
    fn with_extra_fields(mut self) -> Result<Self, Fault> {
        if let RequestBody::Json(body) = self.body {
            self.body = RequestBody::Json(self.extras.add_fields(body)?);
        }
        Ok(self)
    }
}

/// A key, and the header that carries it.
#[derive(Clone)]
pub(super) enum ApiKey {
    /// As the whole value of this header.
    Header(&'static str, SecretString),
    /// As `Authorization: Bearer`.
    Bearer(SecretString),
}

impl ApiKey {
    fn secret(&self) -> &SecretString {
        match self {
            Self::Header(_, secret) | Self::Bearer(secret) => secret,
        }
    }

    fn header(&self) -> Result<(&'static str, HeaderValue), Fault> {
        let (name, text) = match self {
            Self::Header(name, secret) => (*name, secret.expose_secret().to_owned()),
            Self::Bearer(secret) => ("authorization", format!("Bearer {}", secret.expose_secret())),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            let problem = Problem::new(ProblemKind::Auth, "The API key contains invalid characters.")
                .hint("Set it again, without line breaks.");
            Fault { problem, retry: Retry::Never }
        })?;
        value.set_sensitive(true);
        Ok((name, value))
    }
}

/// What is sent.
pub(super) enum RequestBody {
    /// Nothing: the request only asks.
    Nothing,
    Json(Vec<u8>),
}

impl RequestBody {
    pub(super) fn json(value: &impl Serialize) -> Result<Self, Fault> {
        serde_json::to_vec(value).map(Self::Json).map_err(|error| {
            fault(ProblemKind::Internal, format!("The request cannot be written: {error}."), Retry::Never)
        })
    }
}

/// How a stream is cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
}

/// Reads the events in order, with the state that later ones need.
pub(super) trait EventReader: Send + 'static {
    /// The pieces of the reply that an event holds.
    fn read(&mut self, event: &SentEvent) -> Result<Vec<ReplyPiece>, Fault>;

    /// The pieces of a reply that came as one JSON document although a stream was asked for, with its end. None: this
    /// is not such a reply.
    fn read_whole(&mut self, _: &Value) -> Option<Result<Vec<ReplyPiece>, Fault>> {
        None
    }

    /// The stream has ended in good order; what that means, if it means anything.
    fn over(&mut self) -> Vec<ReplyPiece> {
        Vec::new()
    }

    /// Whether the reply has said everything, so that at most its figures are still to come. From then
    /// on a connection that breaks, stalls or never ends counts as the end of the stream.
    fn said_all(&self) -> bool {
        false
    }
}

/// Sends a request and reads its answer as it comes. Ends with the reply: what comes after it says
/// nothing, and a connection that breaks or stalls there must not spoil a reply that is complete.
pub(super) fn converse(
    prompt: &Prompt,
    outgoing: Result<Outgoing, Fault>,
    framing: Framing,
    reader: impl EventReader,
    idle: Duration,
) -> PieceStream {
    let secrets = outgoing.as_ref().map(Outgoing::secrets).unwrap_or_default();
    let has_pictures = !prompt.images.is_empty();
    let pieces = stream::once(async move {
        let response = send(outgoing?.with_extra_fields()?).await?;
        Ok(match framing {
            Framing::Events if is_json(&response) => document(response),
            Framing::Events => events(demand_kind(response, framing)?),
            Framing::Lines => lines(demand_kind(response, framing)?),
        })
    })
    .flat_map(|opened: Result<_, Fault>| match opened {
        Ok(events) => events,
        Err(fault) => stream::iter([Err(fault)]).boxed(),
    });
    // Shorter than the limit for silence, which would spoil the reply.
    let afterthought = LONGEST_AFTERTHOUGHT.min(idle / 2);
    let pieces = stream::unfold(Some((pieces.boxed(), reader, None)), move |state| async move {
        let (mut events, mut reader, mut deadline) = state?;
        let event = if reader.said_all() {
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + afterthought);
            let event = tokio::time::timeout_at(deadline, events.next()).await.unwrap_or(None);
            event.filter(|event| !matches!(event, Err(fault) if fault.problem.kind == ProblemKind::Network))
        } else {
            events.next().await
        };
        let (pieces, goes_on) = match event {
            None => (reader.over().into_iter().map(Ok).collect(), false),
            Some(Ok(None)) => (vec![Ok(ReplyPiece::Alive)], true),
            Some(Ok(Some(event))) if event.whole => match read_document(&mut reader, &event.data) {
                Err(fault) => (vec![Err(fault)], false),
                Ok(pieces) => (pieces.into_iter().map(Ok).collect(), false),
            },
            Some(Ok(Some(event))) => match reader.read(&event) {
                Err(fault) => (vec![Err(fault)], false),
                Ok(pieces) => {
                    let goes_on = !pieces.contains(&ReplyPiece::End);
                    (pieces.into_iter().map(Ok).collect::<Vec<_>>(), goes_on)
                }
            },
            Some(Err(fault)) => (vec![Err(fault)], false),
        };
        Some((stream::iter(pieces), goes_on.then_some((events, reader, deadline))))
    })
    .flatten()
    .map(move |piece| piece.map_err(|fault| limits::explain(without_secrets(fault, &secrets), has_pictures)))
    .boxed();
    with_patience(pieces, idle)
}

/// Sends a request and reads its whole answer, a JSON value of at most `largest` bytes.
pub(super) async fn fetch(outgoing: Outgoing, idle: Duration, largest: usize) -> Result<Value, Fault> {
    let secrets = outgoing.secrets();
    let answer = async {
        let response = send(outgoing).await?;
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| broken(&error))?);
            if body.len() > largest {
                let message = format!("The provider's answer is larger than {} MB.", largest >> 20);
                return Err(fault(ProblemKind::Protocol, message, Retry::Never));
            }
        }
        serde_json::from_slice(&body).map_err(|error| {
            let start = printable(&String::from_utf8_lossy(&body[..body.len().min(200)]), 80);
            let message = format!("The provider's answer cannot be read ({error}): {start}");
            fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None })
        })
    };
    let answer = tokio::time::timeout(idle, answer).await.unwrap_or_else(|_| Err(stalled(idle)));
    answer.map_err(|fault| without_secrets(fault, &secrets))
}

/// The response, if its status is good.
async fn send(outgoing: Outgoing) -> Result<Response, Fault> {
    let Outgoing { url, headers, key, body, extras } = outgoing;
    let url = extras.add_query(&url)?;
    let mut request = match body {
        RequestBody::Nothing => client(&url)?.get(url),
        RequestBody::Json(bytes) => client(&url)?.post(url).header("content-type", "application/json").body(bytes),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(key) = key {
        let (name, value) = key.header()?;
        request = request.header(name, value);
    }
    request = request.headers(extras.header_map()?);
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    if response.status() != StatusCode::OK {
        return Err(refused(response).await);
    }
    Ok(response)
}

/// An answer of another kind is not an answer of this provider.
fn demand_kind(response: Response, framing: Framing) -> Result<Response, Fault> {
    let kind = content_type(&response);
    let plain = kind.to_ascii_lowercase();
    let fits = match framing {
        Framing::Events => plain.starts_with("text/event-stream"),
        Framing::Lines => !plain.starts_with("text/html"),
    };
    if fits { Ok(response) } else { Err(no_stream(kind)) }
}

fn content_type(response: &Response) -> &str {
    response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("").trim_start()
}

/// Some gateways always answer with the whole reply as one document.
fn is_json(response: &Response) -> bool {
    content_type(response).to_ascii_lowercase().starts_with("application/json")
}

fn no_stream(kind: &str) -> Fault {
    let message = format!("The provider answered with `{}` instead of a stream of events.", printable(kind, 80));
    let problem = Problem::new(ProblemKind::Protocol, message)
        .hint("Check the provider's address (base_url). `trimtab config` shows it.");
    Fault { problem, retry: Retry::Never }
}

/// A whole reply. It says why it ended, or ends with the document: what is one JSON value is not cut.
fn read_document(reader: &mut impl EventReader, data: &str) -> Result<Vec<ReplyPiece>, Fault> {
    let Ok(document) = serde_json::from_str::<Value>(data) else { return Err(cut()) };
    reader.read_whole(&document).unwrap_or_else(|| Err(no_stream("application/json")))
}

/// One event of a stream.
pub(super) struct SentEvent {
    /// Its name; empty when the provider gives none.
    pub(super) name: String,
    pub(super) data: String,
    /// It is the whole reply, as one JSON document.
    pub(super) whole: bool,
}

/// An event, or none: bytes came, which shows that the provider is there, but no event is whole.
type WireItem = Result<Option<SentEvent>, Fault>;

/// The whole body, as one event.
fn document(response: Response) -> BoxStream<'static, WireItem> {
    let chunks = response.bytes_stream().boxed();
    stream::unfold(Some((chunks, Vec::new())), |state| async {
        let (mut chunks, mut body): (_, Vec<u8>) = state?;
        match chunks.next().await {
            Some(Ok(chunk)) => {
                body.extend_from_slice(&chunk);
                let fits = body.len() <= LARGEST_DOCUMENT;
                Some(if fits { (Ok(None), Some((chunks, body))) } else { (Err(too_large()), None) })
            }
            Some(Err(error)) => Some((Err(broken(&error)), None)),
            None => {
                let data = String::from_utf8_lossy(&body).into_owned();
                Some((Ok(Some(SentEvent { name: String::new(), data, whole: true })), None))
            }
        }
    })
    .boxed()
}

/// Each line that is not empty, whole, decoded once.
fn lines(response: Response) -> BoxStream<'static, WireItem> {
    let chunks = response.bytes_stream().boxed();
    stream::unfold(Some((chunks, Vec::new())), |state| async {
        let (mut chunks, mut pending): (_, Vec<u8>) = state?;
        loop {
            if let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let rest = pending.split_off(end + 1);
                let line = std::mem::replace(&mut pending, rest);
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Some((line_event(line).map(Some), Some((chunks, pending))));
            }
            if pending.len() > LARGEST_EVENT {
                return Some((Err(too_large()), None));
            }
            match chunks.next().await {
                Some(Ok(chunk)) if chunk.contains(&b'\n') => pending.extend_from_slice(&chunk),
                Some(Ok(chunk)) => {
                    pending.extend_from_slice(&chunk);
                    return Some((Ok(None), Some((chunks, pending))));
                }
                Some(Err(error)) => return Some((Err(broken(&error)), None)),
                None if pending.iter().all(u8::is_ascii_whitespace) => return None,
                // The last line may come without its end; whether it is whole, its reader will see. One
                // that ends within a character is not.
                None => return Some((line_event(pending).map(Some).map_err(|_| cut()), Some((chunks, Vec::new())))),
            }
        }
    })
    .boxed()
}

fn line_event(line: Vec<u8>) -> Result<SentEvent, Fault> {
    String::from_utf8(line).map(|data| SentEvent { name: String::new(), data, whole: false }).map_err(|error| {
        let message = format!("The provider's stream cannot be read: {}.", error.utf8_error());
        fault(ProblemKind::Protocol, message, Retry::Later { after_ms: None })
    })
}

/// Complete events, decoded once: a character split between two chunks stays one. Comments are not events, but they
/// show that the sender is alive.
fn events(response: Response) -> BoxStream<'static, WireItem> {
    // Bytes since the last event; the decoder itself would buffer without end.
    let pending = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pending);
    let bounded = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| match is_early_end(&error) {
            true => Cut::Closed,
            false => Cut::Broken(causes(&error)),
        })?;
        if counter.fetch_add(chunk.len(), Ordering::Relaxed) > LARGEST_EVENT {
            return Err(Cut::TooLarge);
        }
        Ok(chunk)
    });
    let mut decoded = SseByteStream::new(bounded);
    stream::poll_fn(move |context| {
        let before = pending.load(Ordering::Relaxed);
        let Poll::Ready(event) = decoded.poll_next_unpin(context) else {
            // The decoder has asked to be woken already, so nothing is lost by answering now.
            let more = pending.load(Ordering::Relaxed) != before;
            return if more { Poll::Ready(Some(Ok(None))) } else { Poll::Pending };
        };
        pending.store(0, Ordering::Relaxed);
        Poll::Ready(event.map(|event| match event {
            Ok(event) if event.event.is_none() && event.data.is_none() => Ok(None),
            Ok(event) => {
                let (name, data) = (event.event.unwrap_or_default(), event.data.unwrap_or_default());
                Ok(Some(SentEvent { name, data, whole: false }))
            }
            Err(sse_stream::Error::Body(error)) => Err(match error.downcast_ref() {
                Some(Cut::TooLarge) => too_large(),
                Some(Cut::Closed) => closed(),
                _ => broken(error.as_ref()),
            }),
            Err(error) => Err(fault(
                ProblemKind::Protocol,
                format!("The provider's stream cannot be read: {error}."),
                Retry::Later { after_ms: None },
            )),
        }))
    })
    .boxed()
}

#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("{0}")]
    Broken(String),
    #[error("an event is too large")]
    TooLarge,
    #[error("the connection was closed")]
    Closed,
}

/// An event that cannot be read. One that was damaged on its way may come whole next time; one that is written in
/// another form than this version knows will come in that form again.
pub(super) fn unreadable(error: &dyn std::fmt::Display, data: &str) -> Fault {
    let message = format!("The provider sent an event that cannot be read ({error}): {}", printable(data, 120));
    let is_json = serde_json::from_str::<Value>(data).is_ok();
    let retry = if is_json { Retry::Never } else { Retry::Later { after_ms: None } };
    let problem = Problem::new(ProblemKind::Protocol, message);
    let hint = "The provider uses another API than its settings say, or a newer version. Check kind and api of the provider, or choose another model with --model.";
    Fault { problem: if is_json { problem.hint(hint) } else { problem }, retry }
}

/// The stream ended in good order, but not its last event.
pub(super) fn cut() -> Fault {
    let message = "The provider's reply ended before it was complete.";
    fault(ProblemKind::Truncated, message, Retry::Later { after_ms: None })
}

fn too_large() -> Fault {
    let problem = Problem::new(
        ProblemKind::Protocol,
        "One event of the provider's stream is larger than 8 MB. The reply was cut off.",
    )
    .hint("Check the provider's address (base_url). `trimtab config` shows it.");
    Fault { problem, retry: Retry::Never }
}

fn broken(error: &(dyn Error + 'static)) -> Fault {
    if is_early_end(error) {
        return closed();
    }
    let message = format!("The connection to the provider broke: {}.", causes(error));
    fault(ProblemKind::Network, message, Retry::Later { after_ms: None })
}

/// Whoever reads this gains nothing from the part of a message in which the connection ended.
fn closed() -> Fault {
    let message = "The provider closed the connection before the reply was complete.";
    fault(ProblemKind::Network, message, Retry::Later { after_ms: None })
}

fn is_early_end(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        let broke = cause.downcast_ref::<std::io::Error>();
        if broke.is_some_and(|broke| broke.kind() == std::io::ErrorKind::UnexpectedEof) {
            return true;
        }
        next = cause.source();
    }
    false
}

/// How the message about a provider that does not answer begins.
pub(super) const UNREACHABLE: &str = "Cannot reach ";

fn unreachable(error: &reqwest::Error) -> Fault {
    // Only the host and the port: the rest of an address may contain secrets.
    let host = error.url().and_then(|url| Some((url.host_str()?, url.port())));
    let place = match host {
        Some((host, Some(port))) => format!("the provider at {}:{port}", plain(host)),
        Some((host, None)) => format!("the provider at {}", plain(host)),
        None => "the provider".to_owned(),
    };
    let problem = Problem::new(ProblemKind::Network, format!("{UNREACHABLE}{place}: {}.", causes(error)))
        .hint("Check the network and the provider's address; `trimtab doctor` shows both.");
    let retry = if error.is_builder() { Retry::Never } else { Retry::Later { after_ms: None } };
    Fault { problem, retry }
}

/// All causes in one line, because the outermost one ("error sending request") does not help. The URL is left out,
/// because it may contain secrets.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = match cause.downcast_ref::<reqwest::Error>() {
            Some(error) if error.is_timeout() => "it timed out".to_owned(),
            Some(error) if error.is_connect() => "no connection".to_owned(),
            Some(error) if error.is_request() || error.is_body() || error.is_decode() => String::new(),
            Some(_) => "the request failed".to_owned(),
            None => plain(&cause.to_string()),
        };
        if !text.is_empty() && !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
        next = cause.source();
    }
    // The reason for it says more.
    let line = line.strip_prefix("no connection: ").unwrap_or(&line);
    printable(if line.is_empty() { "the connection failed" } else { line }, 300)
}

/// A cause without the names of the layers that passed it on.
fn plain(cause: &str) -> String {
    if cause.contains("failed to lookup address information") {
        return "the host name cannot be resolved (is the network up?)".to_owned();
    }
    let layers = ["dns error", "error resolving DNS", "tcp connect error"];
    let is_layer = cause.starts_with("client error (") || layers.contains(&cause);
    match (is_layer, cause.rsplit_once(" (os error ")) {
        (true, _) => String::new(),
        (false, Some((words, _))) => words.to_owned(),
        (false, None) => cause.to_owned(),
    }
}

async fn refused(response: Response) -> Fault {
    let status = response.status();
    let asked = retry_after(response.headers());
    let (said, code, wait) = read_error(response).await;
    let wait = asked.or(wait);
    let later = Retry::Later { after_ms: wait };
    let (mut kind, mut retry, mut what, mut hint) = by_status(status.as_u16(), later);
    if let Some(meaning) = code.as_deref().and_then(ErrorMeaning::from_code) {
        kind = meaning.kind;
        retry = if meaning.may_pass { later } else { Retry::Never };
        hint = meaning.hint.or(hint);
        if kind == ProblemKind::Refused {
            what = "refused the request";
        }
    }
    if status.is_server_error() && says_loading(&said) {
        (kind, retry, what, hint) = (ProblemKind::Loading, later, "is loading the model", Some(LOADING));
    }
    if status.is_client_error() && kind == ProblemKind::Refused && says_no_model(&said) {
        (kind, retry, what, hint) = by_status(404, later);
    }
    if says_no_tools(&said) {
        (kind, retry, what, hint) = (ProblemKind::NoTools, Retry::Never, "refused the request", Some(NO_TOOLS));
    }
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    let mut problem = Problem::new(kind, format!("The provider {what} (HTTP {}){said}", status.as_u16()));
    problem.hint = hint.map(str::to_owned);
    Fault { problem, retry }
}

/// What to do about a model that cannot use tools.
pub(super) const NO_TOOLS: &str = "This model cannot use tools. Set answer.protocol = \"structured_json\" to use it anyway, or choose another model with --model.";

/// Whether an error is about tools. There is no code for it; these are the messages of Ollama, of two generations of
/// llama.cpp, of OpenRouter, and of vLLM.
pub(super) fn says_no_tools(said: &str) -> bool {
    [
        "does not support tools",
        "tools param requires --jinja",
        "Unsupported param: tools",
        "No endpoints found that support tool use",
        "tool choice requires --enable-auto-tool-choice",
    ]
    .iter()
    .any(|words| said.contains(words))
}

/// Whether an error says that there is no such model, where neither its status nor its code does: LiteLLM's proxy, vLLM, and
/// gateways of their kind.
fn says_no_model(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["invalid model name", "is not a valid model", "model not found", "no such model", "unknown model"]
        .iter()
        .any(|words| said.contains(words))
}

/// The hint for a server that is still loading after the timeout.
const LOADING: &str = "Check the server's own output. When the server answers, continue with `trimtab resume`.";

/// Whether a server says that it is loading the model: llama.cpp, Ollama, and those that Hugging Face runs.
pub(super) fn says_loading(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["loading model", "loading the model", "currently loading", "model is loading"]
        .iter()
        .any(|words| said.contains(words))
}

/// What to do about a provider that cannot answer just now.
const WAIT: &str = "Wait, then continue with `trimtab run --continue`, or choose another model with --model.";

/// What a status means: the kind, whether to try again, what the provider does as the end of a
/// sentence, and what to do.
pub(super) fn by_status(status: u16, later: Retry) -> (ProblemKind, Retry, &'static str, Option<&'static str>) {
    match status {
        401 | 403 => (
            ProblemKind::Auth,
            Retry::Never,
            "refused the key",
            Some("Check the key. `trimtab doctor` shows where it comes from."),
        ),
        404 => (
            ProblemKind::NotFound,
            Retry::Never,
            "does not know this model or address",
            Some("Check --model and the provider's base_url; `trimtab config` shows both."),
        ),
        429 => (ProblemKind::RateLimited, later, "asks to slow down", Some(WAIT)),
        408 | 409 | 500..=599 => (ProblemKind::Overloaded, later, "is overloaded or failing", Some(WAIT)),
        413 => (
            ProblemKind::Refused,
            Retry::Never,
            "refused the request",
            Some("The request is too large for the provider. Start a new session, or name fewer or smaller files."),
        ),
        300..=399 => (
            ProblemKind::Refused,
            Retry::Never,
            "redirects to another address, which Trimtab does not follow",
            Some("Set the provider's base_url to its real address."),
        ),
        _ => (
            ProblemKind::Refused,
            Retry::Never,
            "refused the request",
            Some("The provider's message gives the reason. Try another model with --model."),
        ),
    }
}

/// What the code of an error means, where it says more than the status or stands alone within a
/// stream: an empty purse and a moment's haste are both HTTP 429. The codes are OpenAI's, which
/// many others give as well.
pub(super) struct ErrorMeaning {
    pub(super) kind: ProblemKind,
    /// The same call may do better later.
    pub(super) may_pass: bool,
    pub(super) hint: Option<&'static str>,
}

impl ErrorMeaning {
    pub(super) fn from_code(code: &str) -> Option<Self> {
        let (kind, may_pass, hint) = match code {
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "billing_not_active"
            | "credit_balance_exhausted"
            | "organization_spend_limit_exceeded"
            | "project_spend_limit_exceeded"
            // Moonshot's, Anthropic's and xAI's.
            | "exceeded_current_quota_error"
            | "enforced_spend_limit_reached"
            | "personal-team-blocked:spending-limit" => (
                ProblemKind::Refused,
                false,
                Some("Add credit to the provider's account, or choose another model with --model."),
            ),
            "context_length_exceeded" | "exceed_context_size_error" => {
                (ProblemKind::Refused, false, Some(limits::TOO_LONG))
            }
            "invalid_api_key" => (ProblemKind::Auth, false, None),
            "model_not_found" => (ProblemKind::NotFound, false, None),
            "rate_limit_exceeded" => (ProblemKind::RateLimited, true, None),
            "server_error" | "server_is_overloaded" | "slow_down" | "vector_store_timeout" => {
                (ProblemKind::Overloaded, true, None)
            }
            // Google's.
            "API_KEY_INVALID" | "UNAUTHENTICATED" => {
                (ProblemKind::Auth, false, Some("Check the key. `trimtab doctor` shows where it comes from."))
            }
            "RESOURCE_EXHAUSTED" => (ProblemKind::RateLimited, true, None),
            "UNAVAILABLE" | "DEADLINE_EXCEEDED" => (ProblemKind::Overloaded, true, None),
            _ => return None,
        };
        Some(Self { kind, may_pass, hint })
    }
}

/// Seconds, or a date. A date is compared with the provider's own clock, which may differ from ours.
fn retry_after(headers: &header::HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    // OpenAI's own, which is more exact.
    let exact = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    if let Some(wait) = exact.filter(|wait| wait.is_finite() && *wait >= 0.0) {
        return Some(wait as u64);
    }
    let asked = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1_000.0) as u64);
    }
    let date = |text: &str| DateTimeParser::new().parse_timestamp(text).ok().map(Timestamp::as_millisecond);
    let wait = date(asked)?.saturating_sub(date(text(header::DATE)?)?);
    Some(u64::try_from(wait).unwrap_or(0))
}

/// How long Google asks to wait, in milliseconds: `{"@type": "….RetryInfo", "retryDelay": "34.5s"}` among the details.
pub(super) fn retry_info(json: &Value) -> Option<u64> {
    let details = json.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1_000.0) as u64)
}

/// What the provider says went wrong: the message and the code of a JSON error, or the first words of
/// a page.
async fn read_error(response: Response) -> (String, Option<String>, Option<u64>) {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    // What came in time is used, whether or not it is all.
    let _ = tokio::time::timeout(LONGEST_ERROR, async {
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ERROR {
                break;
            }
        }
    })
    .await;
    let text = String::from_utf8_lossy(&body);
    // Some send the error as an event of the stream that was asked for.
    let text = text.trim().strip_prefix("data:").map_or(&*text, str::trim);
    match serde_json::from_str::<Value>(text) {
        Ok(json) => {
            // Where a stream was asked for, Google's is a list of one.
            let json = json.get(0).unwrap_or(&json);
            (error_message(json).unwrap_or_default(), error_code(json).map(str::to_owned), retry_info(json))
        }
        Err(_) => (printable(text.trim(), 200), None, None),
    }
}

/// The code of an error object, wherever this provider puts it; the first that has a meaning.
pub(super) fn error_code(json: &Value) -> Option<&str> {
    let places = ["/error/code", "/error/type", "/error/details/error_code", "/code", "/type", "/error/status"];
    let reasons = json.pointer("/error/details").and_then(Value::as_array).into_iter().flatten();
    let reasons = reasons.filter_map(|detail| detail.get("reason")?.as_str());
    let mut codes = reasons.chain(places.iter().filter_map(|place| json.pointer(place)?.as_str()));
    codes.find(|code| ErrorMeaning::from_code(code).is_some())
}

/// The message of an error object, wherever this provider puts it.
pub(super) fn error_message(json: &Value) -> Option<String> {
    let places = ["/error/message", "/message", "/error", "/detail"];
    let message = places.iter().find_map(|place| json.pointer(place)?.as_str())?;
    // A router repeats what the provider behind it said beside a message that says only that one failed.
    let behind = json.pointer("/error/metadata/raw").and_then(Value::as_str).filter(|raw| !raw.trim().is_empty());
    Some(printable(&behind.map_or(message.to_owned(), |raw| format!("{message} ({})", raw.trim())), 500))
}

fn without_secrets(fault: Fault, secrets: &[SecretString]) -> Fault {
    secrets.iter().fold(fault, |fault, secret| without_key(fault, secret.expose_secret()))
}

/// Takes the key out of what a provider says: some repeat it when they refuse it.
fn without_key(mut fault: Fault, key: &str) -> Fault {
    if key.len() < SHORTEST_KEY {
        return fault;
    }
    for text in std::iter::once(&mut fault.problem.message).chain(&mut fault.problem.hint) {
        *text = text.replace(key, "[key]");
        // A text that was shortened may end within the key.
        let ends = (SHORTEST_KEY..key.len()).rev().filter_map(|end| Some(format!("{}…", key.get(..end)?)));
        if let Some(end) = ends.into_iter().find(|end| text.contains(end)) {
            *text = text.replace(&end, "[key]…");
        }
    }
    fault
}

pub(super) fn fault(kind: ProblemKind, message: impl Into<String>, retry: Retry) -> Fault {
    Fault { problem: Problem::new(kind, message), retry }
}

/// Foreign text for a terminal: one line, no control characters, not too long.
pub(crate) fn printable(text: &str, longest: usize) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(longest + 1).collect();
    if line.chars().count() > longest {
        line.pop();
        line.push('…');
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_made_is_tried_again_and_what_could_is_kept() {
        let once = Once::new();
        assert_eq!(once.get(|| Err("no certificates")), Err("no certificates"));
        assert_eq!(once.get(|| Ok::<_, &str>(ImageReply::Makeshift(1))), Ok(1));
        assert!(once.is_wanted(), "what is only good enough is not kept");
        assert_eq!(once.get(|| Ok::<_, &str>(ImageReply::Whole(2))), Ok(2));
        assert!(!once.is_wanted());
        assert_eq!(once.get(|| Err("not asked")), Ok(2));
    }

    #[test]
    fn a_cause_is_told_without_the_layers_that_passed_it_on() {
        let unknown = "failed to lookup address information: Name or service not known";
        assert_eq!(plain(unknown), "the host name cannot be resolved (is the network up?)");
        assert_eq!(plain("Connection refused (os error 111)"), "Connection refused");
        for layer in ["client error (Connect)", "dns error", "error resolving DNS", "tcp connect error"] {
            assert_eq!(plain(layer), "", "{layer}");
        }
        assert_eq!(plain("invalid peer certificate: UnknownIssuer"), "invalid peer certificate: UnknownIssuer");
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor_or_fill_the_screen() {
        assert_eq!(printable("a\u{1b}[2Jb\nc", 80), "a [2Jb c");
        assert_eq!(printable(&"x".repeat(500), 10), format!("{}…", "x".repeat(10)));
    }

    #[test]
    fn a_wait_is_asked_for_in_seconds_or_by_date() {
        let wait = |asked: &str, date: Option<&str>| {
            let mut headers = header::HeaderMap::new();
            headers.insert(header::RETRY_AFTER, asked.parse().expect("a header"));
            date.map(|date| headers.insert(header::DATE, date.parse().expect("a header")));
            retry_after(&headers)
        };
        let (now, later) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(wait("30", None), Some(30_000));
        assert_eq!(wait("0.5", None), Some(500));
        assert_eq!(wait(later, Some(now)), Some(30_000));
        assert_eq!(wait(now, Some(later)), Some(0));
        for nonsense in ["-1", "soon", "NaN", "inf", ""] {
            assert_eq!(wait(nonsense, Some(now)), None, "{nonsense}");
        }
        assert_eq!(wait(later, None), None);
        let mut headers = header::HeaderMap::new();
        headers.insert(header::RETRY_AFTER, "2".parse().expect("a header"));
        headers.insert("retry-after-ms", "1250".parse().expect("a header"));
        assert_eq!(retry_after(&headers), Some(1_250));
        headers.insert("retry-after-ms", "soon".parse().expect("a header"));
        assert_eq!(retry_after(&headers), Some(2_000));
    }

    #[test]
    fn a_key_is_taken_out_even_where_the_text_was_shortened() {
        let key = "sk-ant-0123456789";
        let hidden = |text: &str| {
            let fault = Fault { problem: Problem::new(ProblemKind::Auth, text).hint(text), retry: Retry::Never };
            let problem = without_key(fault, key).problem;
            assert_eq!(problem.hint.as_ref(), Some(&problem.message));
            problem.message
        };
        assert_eq!(hidden(&format!("no: {key}, {key}!")), "no: [key], [key]!");
        assert_eq!(hidden("no: sk-ant-012…"), "no: [key]…");
        assert_eq!(hidden("no: sk-ant-…"), "no: sk-ant-…");
    }

    #[test]
    fn a_providers_message_is_found_where_it_is() {
        let found = |text: &str| error_message(&serde_json::from_str(text).expect("json"));
        assert_eq!(found(r#"{"type":"error","error":{"type":"x","message":"no"}}"#).as_deref(), Some("no"));
        assert_eq!(found(r#"{"error":"model not found"}"#).as_deref(), Some("model not found"));
        assert_eq!(found(r#"{"code":7}"#), None);
        let routed = r#"{"error":{"message":"Provider returned error","metadata":{"raw":"too busy\n"}}}"#;
        assert_eq!(found(routed).as_deref(), Some("Provider returned error (too busy)"));
    }

    #[test]
    fn a_limit_of_money_is_told_from_a_limit_of_pace() {
        let may_pass = |text: &str| {
            let json = serde_json::from_str(text).expect("json");
            error_code(&json).and_then(ErrorMeaning::from_code).is_none_or(|meaning| meaning.may_pass)
        };
        for body in [
            r#"{"error":{"message":"no","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            r#"{"error":{"message":"no","type":"insufficient_quota","code":"of_a_newer_version"}}"#,
            r#"{"error":{"message":"no","type":"exceeded_current_quota_error"}}"#,
            r#"{"error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
            r#"{"code":"personal-team-blocked:spending-limit","error":"no"}"#,
        ] {
            assert!(!may_pass(body), "{body}");
        }
        for body in [
            r#"{"error":{"message":"insufficient_quota","type":"tokens","code":"rate_limit_exceeded"}}"#,
            r#"{"error":{"code":429}}"#,
            r#"{"error":"insufficient_quota"}"#,
        ] {
            assert!(may_pass(body), "{body}");
        }
    }
}

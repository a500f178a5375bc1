//! What every HTTP dialect shares: the client, its faults, and events from a byte stream.

use std::error::Error;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::{Client, RequestBuilder, Response, StatusCode, header};
use serde_json::Value;
use sse_stream::SseByteStream;
use trimtab_vocab::{Fault, Problem, ProblemKind, Retry};

/// One event of a stream holds at most this much.
const LARGEST_EVENT: usize = 8 * 1024 * 1024;
/// As much of an error page as is worth reading,
const LARGEST_ERROR: usize = 64 * 1024;
/// and as long: its status has come already, and says more.
const LONGEST_ERROR: Duration = Duration::from_secs(2);
/// A shorter key is part of too many words to be told from them.
const SHORTEST_KEY: usize = 8;

/// The client, made when first needed: loading the machine's certificates takes time.
pub(super) fn client() -> Result<&'static Client, Fault> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        Client::builder()
            .user_agent(concat!("trimtab/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry the key to whoever is named in it.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(20))
    };
    // A machine without certificates can still talk to a model of its own.
    let client = builder().build().or_else(|_| builder().tls_certs_only([]).build()).map_err(|error| {
        fault(ProblemKind::Network, format!("The HTTP client cannot start: {}.", causes(&error)), Retry::Never)
    })?;
    Ok(CLIENT.get_or_init(|| client))
}

/// Sends a request and hands over the response once its headers say that it is an event stream.
pub(super) async fn open_events(request: RequestBuilder) -> Result<Response, Fault> {
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    if response.status() != StatusCode::OK {
        return Err(refused(response).await);
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
        let message = format!("The provider answered with `{}` instead of an event stream.", printable(kind, 80));
        let problem = Problem::new(ProblemKind::Protocol, message)
            .hint("Is the provider's address right? `trimtab config` shows it.");
        return Err(Fault { problem, retry: Retry::Never });
    }
    Ok(response)
}

/// One event of a stream.
pub(super) struct SentEvent {
    /// Its name; empty when the provider gives none.
    pub(super) name: String,
    pub(super) data: String,
}

/// Each event, whole, decoded once: a character split between two chunks stays one.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<SentEvent, Fault>> {
    // Bytes since the last event; the decoder itself would buffer without end.
    let pending = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pending);
    let bounded = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| Cut::Broken(causes(&error)))?;
        if counter.fetch_add(chunk.len(), Ordering::Relaxed) > LARGEST_EVENT {
            return Err(Cut::TooLarge);
        }
        Ok(chunk)
    });
    SseByteStream::new(bounded)
        .filter_map(move |event| {
            pending.store(0, Ordering::Relaxed);
            let event = match event {
                Ok(event) if event.event.is_none() && event.data.is_none() => None,
                Ok(event) => {
                    Some(Ok(SentEvent { name: event.event.unwrap_or_default(), data: event.data.unwrap_or_default() }))
                }
                Err(sse_stream::Error::Body(error)) => Some(Err(match error.downcast_ref() {
                    Some(Cut::TooLarge) => too_large(),
                    _ => broken(error.as_ref()),
                })),
                Err(error) => Some(Err(fault(
                    ProblemKind::Protocol,
                    format!("The provider's stream cannot be read: {error}."),
                    Retry::Later { after_ms: None },
                ))),
            };
            std::future::ready(event)
        })
        .boxed()
}

#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("{0}")]
    Broken(String),
    #[error("an event is too large")]
    TooLarge,
}

fn too_large() -> Fault {
    let problem = Problem::new(
        ProblemKind::Protocol,
        "One event of the provider's stream is larger than 8 MB, which no honest one is; the reply was cut off.",
    )
    .hint("Is the provider's address right? `trimtab config` shows it.");
    Fault { problem, retry: Retry::Never }
}

fn broken(error: &(dyn Error + 'static)) -> Fault {
    fault(
        ProblemKind::Network,
        format!("The connection to the provider broke: {}.", causes(error)),
        Retry::Later { after_ms: None },
    )
}

fn unreachable(error: &reqwest::Error) -> Fault {
    let problem = Problem::new(ProblemKind::Network, format!("The provider cannot be reached: {}.", causes(error)))
        .hint("Check the network and the provider's address; `trimtab doctor` shows both.");
    let retry = if error.is_builder() { Retry::Never } else { Retry::Later { after_ms: None } };
    Fault { problem, retry }
}

/// Every cause in one line; the outermost alone ("error sending request") helps nobody. The URL is
/// left out, because it may hold what is secret.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = match cause.downcast_ref::<reqwest::Error>() {
            Some(error) if error.is_timeout() => "it took too long".to_owned(),
            Some(error) if error.is_connect() => "no connection".to_owned(),
            Some(error) if error.is_request() || error.is_body() || error.is_decode() => String::new(),
            Some(_) => "the request failed".to_owned(),
            None => cause.to_string(),
        };
        if !text.is_empty() && !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
        next = cause.source();
    }
    printable(if line.is_empty() { "the connection failed" } else { &line }, 300)
}

async fn refused(response: Response) -> Fault {
    let status = response.status();
    let wait = retry_after(response.headers());
    let said = read_error(response).await;
    let later = Retry::Later { after_ms: wait };
    let (kind, retry, what, hint) = match status.as_u16() {
        401 | 403 => (
            ProblemKind::Auth,
            Retry::Never,
            "refused the key",
            Some("Check the key in the environment; `trimtab doctor` shows where it is taken from."),
        ),
        404 => (
            ProblemKind::NotFound,
            Retry::Never,
            "does not know this model or address",
            Some("Check --model and the provider's base_url; `trimtab config` shows both."),
        ),
        429 => (ProblemKind::RateLimited, later, "asks to slow down", None),
        408 | 409 | 500..=599 => (ProblemKind::Overloaded, later, "is overloaded or failing", None),
        300..=399 => (
            ProblemKind::Refused,
            Retry::Never,
            "redirects elsewhere, which is not followed",
            Some("Set the provider's base_url to its real address."),
        ),
        _ => (ProblemKind::Refused, Retry::Never, "refused the request", None),
    };
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    let mut problem = Problem::new(kind, format!("The provider {what} (HTTP {}){said}", status.as_u16()));
    problem.hint = hint.map(str::to_owned);
    Fault { problem, retry }
}

/// Seconds, or a date. A date is compared with the provider's own clock, which may differ from ours.
fn retry_after(headers: &header::HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1_000.0) as u64);
    }
    let date = |text: &str| DateTimeParser::new().parse_timestamp(text).ok().map(Timestamp::as_millisecond);
    let wait = date(asked)?.saturating_sub(date(text(header::DATE)?)?);
    Some(u64::try_from(wait).unwrap_or(0))
}

/// What the provider says went wrong: the message of a JSON error, or the first words of a page.
async fn read_error(response: Response) -> String {
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
    match serde_json::from_str::<Value>(&text) {
        Ok(json) => error_message(&json).unwrap_or_default(),
        Err(_) => printable(text.trim(), 200),
    }
}

/// The message of an error object, wherever this provider puts it.
pub(super) fn error_message(json: &Value) -> Option<String> {
    let places = ["/error/message", "/message", "/error", "/detail"];
    places.iter().find_map(|place| json.pointer(place)?.as_str()).map(|text| printable(text, 500))
}

/// Takes the key out of what a provider says: some repeat it when they refuse it.
pub(super) fn without_key(mut fault: Fault, key: &str) -> Fault {
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
pub(super) fn printable(text: &str, longest: usize) -> String {
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
    }
}

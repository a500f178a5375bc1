//! `GET /sessions/{id}/events`: what happened, and what happens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};
use tokio::time::{Interval, MissedTickBehavior};
use trimtab_vocab::{Event, SessionId};

use super::Shared;
use super::access::Authenticated;
use super::extract::{Id, QueryArgs};
use super::failure::Failure;
use super::fanout::EventFrame;
use super::openapi::{Api, RouteOperation};

/// Facts that are read from the log at once, and the bytes that are handed on at once.
const PAGE: u32 = 64;
const CHUNK: usize = 128 * 1024;
/// Streams that one token may have open.
const STREAMS: usize = 64;

pub(super) fn routes(api: Api) -> Api {
    let operation =
        RouteOperation::new("get", "watchSession", "sessions", "Stream the events of a session, past and live")
            .path::<SessionId>("id", "The session.", "s01kabcdefghjkmnp")
            .query::<EventsQuery>()
            .header(
                "Last-Event-ID",
                "The `id` of the last event that you received. The stream starts after it.",
                json!({"type": "string", "pattern": "^[0-9]{1,18}$"}),
            )
            .gives_other::<Event>(
                StatusCode::OK,
                "Server-sent events. `data` is an event as JSON, and `id` is its `seq`. Live-only events have no `id`. The \
                 comment `live` marks the end of the recorded events, and a comment every 10 seconds keeps the stream \
                 alive. An event of the type `problem` carries an error: this server cannot continue the session at the \
                 moment.",
                "text/event-stream",
            );
    api.add("/sessions/{id}/events", get(events), vec![operation])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// Only events after this `seq`. `Last-Event-ID` overrides it.
    #[schemars(range(max = 999_999_999_999_999_999_u64))]
    after: Option<u64>,
}

async fn events(
    State(server): State<Shared>,
    Extension(who): Extension<Authenticated>,
    Id(session): Id<SessionId>,
    QueryArgs(asked): QueryArgs<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    server.client.sessions().get(&session).await?;
    let seen = match headers.get("last-event-id") {
        None => asked.after.unwrap_or(0),
        // A browser sends an empty one when it was told to forget it.
        Some(last) if last.is_empty() => asked.after.unwrap_or(0),
        Some(last) => last.to_str().ok().and_then(|last| last.parse().ok()).ok_or_else(|| {
            Failure::new(StatusCode::BAD_REQUEST, "usage", "Last-Event-ID is the `id` of an event: a number.")
        })?,
    };
    let slot = server.streams.take(&who.name)?;
    let beat = beating(server.profile().heartbeat);
    let going = server.going.clone();
    let watcher =
        Watcher { server, who, session, seen, live: None, beat, going, state: WatchState::Begins, _slot: slot };
    let stream = futures_util::stream::unfold(watcher, |mut watcher| async move {
        let bytes = watcher.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), watcher))
    });
    let mut response = Body::from_stream(stream).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Rings whenever a stream should say that it lives.
pub(super) fn beating(every: Duration) -> Interval {
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

/// Where a watcher stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchState {
    /// Nothing was sent yet.
    Begins,
    /// There may be facts in the log that it has not seen.
    Behind,
    /// It has seen all of the log.
    Live,
    /// Nothing more is sent.
    Ended,
}

/// One who watches.
struct Watcher {
    server: Shared,
    who: Authenticated,
    session: SessionId,
    seen: u64,
    live: Option<broadcast::Receiver<EventFrame>>,
    beat: Interval,
    going: watch::Receiver<bool>,
    state: WatchState,
    _slot: Slot,
}

impl Watcher {
    /// The next bytes to send. Called when the last ones were taken, so a reader sets its own pace.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.state {
                WatchState::Ended => return None,
                WatchState::Begins => {
                    self.state = WatchState::Behind;
                    return Some(Bytes::from_static(b"retry: 1000\n\n"));
                }
                WatchState::Behind => {
                    if *self.going.borrow() {
                        return self.end("the server is ending");
                    }
                    match self.server.client.sessions().page(&self.session, self.seen, PAGE).await {
                        Ok(page) if !page.is_empty() => return Some(self.written(&page)),
                        // All of the log is seen; from here on it is watched, and looked at once more.
                        Ok(_) if self.live.is_none() => {
                            let (live, so_far) = self.server.feeds.join(&self.server.client, &self.session, self.seen);
                            self.live = Some(live);
                            if let Some(frame) = so_far {
                                return Some(frame.bytes);
                            }
                        }
                        Ok(_) => {
                            self.state = WatchState::Live;
                            return Some(Bytes::from_static(b": live\n\n"));
                        }
                        Err(_) => return self.end("the log cannot be read at the moment"),
                    }
                }
                WatchState::Live => {
                    if let Some(bytes) = self.wait().await {
                        return Some(bytes);
                    }
                }
            }
        }
    }

    fn end(&mut self, why: &str) -> Option<Bytes> {
        self.state = WatchState::Ended;
        Some(format!(": {why}\n\n").into())
    }

    /// As much of a page as is handed on at once.
    fn written(&mut self, page: &[Event]) -> Bytes {
        let mut chunk = Vec::new();
        for event in page {
            let frame = EventFrame::new(event);
            chunk.extend_from_slice(&frame.bytes);
            self.seen = frame.seq.unwrap_or(self.seen);
            if chunk.len() > CHUNK {
                break;
            }
        }
        chunk.into()
    }

    async fn wait(&mut self) -> Option<Bytes> {
        let Some(live) = &mut self.live else { return self.end("the server is ending") };
        let update = tokio::select! {
            biased;
            _ = self.going.changed() => return self.end("the server is ending"),
            update = live.recv() => update,
            _ = self.beat.tick() => return self.heartbeat().await,
        };
        match update {
            Ok(frame) => self.take(frame),
            Err(RecvError::Lagged(_)) => {
                self.state = WatchState::Behind;
                None
            }
            Err(RecvError::Closed) => self.end("the session is no longer watched"),
        }
    }

    /// This fact, and whichever have come with it: many small writes cost more than one.
    fn take(&mut self, first: EventFrame) -> Option<Bytes> {
        let mut chunk = Vec::new();
        let mut next = Some(first);
        while let Some(frame) = next.take() {
            match frame.seq {
                Some(seq) if seq <= self.seen => {}
                Some(seq) if seq > self.seen + 1 => {
                    self.state = WatchState::Behind;
                    break;
                }
                seq => {
                    self.seen = seq.unwrap_or(self.seen);
                    chunk.extend_from_slice(&frame.bytes);
                }
            }
            if chunk.len() > CHUNK {
                break;
            }
            match self.live.as_mut().map(broadcast::Receiver::try_recv) {
                Some(Ok(frame)) => next = Some(frame),
                Some(Err(TryRecvError::Lagged(_))) => self.state = WatchState::Behind,
                _ => {}
            }
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }

    /// Whoever is not let in any more sees no more; what is gone is not waited for.
    async fn heartbeat(&mut self) -> Option<Bytes> {
        let client = &self.server.client;
        match client.admin().find_token(&self.who.secret).await {
            Ok(None) => return self.end("the token was revoked"),
            Ok(Some(_)) if client.sessions().get(&self.session).await.is_err() => {
                return self.end("the session is gone");
            }
            _ => {}
        }
        Some(Bytes::from_static(b": heartbeat\n\n"))
    }
}

/// How many streams each token has open.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    streams: Streams,
    name: String,
}

impl Streams {
    /// Takes a place, if there is one.
    pub(super) fn take(&self, name: &str) -> Result<Slot, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(name.to_owned()).or_default();
        if *count >= STREAMS {
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "limit", "Too many streams are open.")
                .hint("Close some of them; one token may have 64."));
        }
        *count += 1;
        Ok(Slot { streams: self.clone(), name: name.to_owned() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.name);
            }
        }
    }
}

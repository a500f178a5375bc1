//! The client at the other end: notifications, answers to its requests, and requests to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::rpc::RequestId;
use agent_client_protocol_schema::v1::{CancelRequestNotification, Error};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::wire::invalid;

/// Messages that wait to be written. A client that does not read makes us wait, not grow.
const QUEUE: usize = 64;
/// Requests of the client that can be pending at a time.
const MOST_REQUESTS: usize = 256;

/// What the client answers to a request of ours.
pub(super) type PeerAnswer = Result<Box<RawValue>, Error>;

/// The client. Cheap to clone.
#[derive(Clone)]
pub(super) struct Peer {
    /// Lines to write; none: nothing more is written.
    lines: mpsc::Sender<Option<String>>,
    pending: Arc<Mutex<PendingRequests>>,
}

#[derive(Default)]
struct PendingRequests {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<PeerAnswer>>,
    /// The client's requests that were not answered yet.
    taken: HashSet<RequestId>,
}

/// A request that was sent to the client.
pub(super) struct SentRequest {
    pub(super) id: i64,
    pub(super) answer: oneshot::Receiver<PeerAnswer>,
}

impl Peer {
    /// The client, and the task that writes to it until it is gone.
    pub(super) fn new<W: AsyncWrite + Unpin>(output: W) -> (Self, impl Future<Output = std::io::Result<()>>) {
        let (lines, waiting) = mpsc::channel(QUEUE);
        (Self { lines, pending: Arc::default() }, write_lines(waiting, output))
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, message: Value) {
        // Without a reader, the program is about to end.
        let _ = self.lines.send(Some(message.to_string())).await;
    }

    /// Ends the writer once all that was sent is written. Sessions that still run hold the client, so it would not end
    /// without this.
    pub(super) async fn finish(&self) {
        let _ = self.lines.send(None).await;
    }

    pub(super) async fn notify(&self, method: &str, params: impl Serialize) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": written(params)})).await;
    }

    /// Takes a request of the client, or says why not. A taken request is answered once, with [`Peer::respond`].
    pub(super) fn take(&self, id: &RequestId) -> Result<(), Error> {
        let mut pending = self.pending();
        if pending.taken.len() >= MOST_REQUESTS {
            return Err(invalid(format!("Too many requests are pending: the limit is {MOST_REQUESTS}.")));
        }
        match pending.taken.insert(id.clone()) {
            true => Ok(()),
            false => Err(invalid(format!("A request with the ID {id} is pending already."))),
        }
    }

    pub(super) async fn respond(&self, id: &RequestId, answer: Result<Value, Error>) {
        self.pending().taken.remove(id);
        self.refuse(id, answer).await;
    }

    /// Answers a message that was not taken.
    pub(super) async fn refuse(&self, id: &RequestId, answer: Result<Value, Error>) {
        self.send(match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        })
        .await;
    }

    pub(super) async fn request(&self, method: &str, params: impl Serialize) -> SentRequest {
        let (tell, answer) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.last += 1;
            let id = pending.last;
            pending.waiting.insert(id, tell);
            id
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": written(params)})).await;
        SentRequest { id, answer }
    }

    /// Takes the client's answer to a request. An answer to anything else is dropped, as JSON-RPC asks for.
    pub(super) fn answered(&self, id: &RequestId, answer: PeerAnswer) {
        if let RequestId::Number(id) = id
            && let Some(tell) = self.pending().waiting.remove(id)
        {
            let _ = tell.send(answer);
        }
    }

    /// Withdraws a request: its answer no longer counts, and the client can close what it shows for it.
    pub(super) async fn withdraw(&self, id: i64) {
        if self.pending().waiting.remove(&id).is_some() {
            self.notify("$/cancel_request", CancelRequestNotification::new(id)).await;
        }
    }
}

/// A protocol type as JSON.
pub(super) fn written(params: impl Serialize) -> Value {
    serde_json::to_value(params).expect("protocol types have string keys, and are written to memory")
}

async fn write_lines<W: AsyncWrite + Unpin>(
    mut lines: mpsc::Receiver<Option<String>>,
    mut output: W,
) -> std::io::Result<()> {
    while let Some(Some(mut line)) = lines.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

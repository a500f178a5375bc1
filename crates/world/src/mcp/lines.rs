//! The transport over a process's pipes: one JSON message per line, of a bounded length.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::LARGEST_MESSAGE;

/// The code of the error that stands for a response of the wrong form. If a server uses it as well, nothing is lost: what
/// it did counts as unknown.
pub(super) const INVALID_RESPONSE: ErrorCode = ErrorCode(-32099);

/// Bytes that are read at once.
const PIECE: u64 = 64 * 1024;
/// Messages that wait until the server reads them. A server that asks much and reads nothing gets no more.
const QUEUE: usize = 64;
/// How long a server may take to read one message. It may be busy with a call.
const LONGEST_WRITE: Duration = Duration::from_secs(60);

/// The end of a connection, which either side of it decides on.
#[derive(Clone)]
struct Ending(Arc<watch::Sender<bool>>);

impl Ending {
    fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    fn begin(&self) {
        self.0.send_replace(true);
    }

    async fn begun(&self) {
        // The sender is there as long as this is.
        let _ = self.0.subscribe().wait_for(|begun| *begun).await;
    }
}

pub(super) struct LineTransport<R> {
    reader: R,
    /// What was read and is not taken yet. It is kept when a wait for the rest is given up.
    read: Vec<u8>,
    /// How much of it has no line end.
    looked: usize,
    queue: mpsc::Sender<Vec<u8>>,
    ending: Ending,
}

impl<R> LineTransport<R> {
    /// Puts a message into the queue. A full queue ends the connection.
    fn enqueue(&self, item: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let mut line = serde_json::to_vec(item).map_err(io::Error::other)?;
        line.push(b'\n');
        self.queue.try_send(line).map_err(|error| {
            if matches!(error, TrySendError::Full(_)) {
                tracing::warn!("an MCP server does not read its messages");
                self.ending.begin();
            }
            io::ErrorKind::NotConnected.into()
        })
    }
}

impl<R> Drop for LineTransport<R> {
    fn drop(&mut self) {
        self.ending.begin();
    }
}

/// Writes messages until the connection ends. Then the server's input is closed, and the server ends.
async fn write_lines(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>, ending: Ending) {
    let writing = async {
        while let Some(line) = lines.recv().await {
            let write = async {
                writer.write_all(&line).await?;
                writer.flush().await
            };
            match timeout(LONGEST_WRITE, write).await {
                Ok(Ok(())) => {}
                // What the server has written before its end is still read.
                Ok(Err(_)) => return,
                Err(_) => {
                    tracing::warn!("an MCP server does not read its messages");
                    return ending.begin();
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = ending.begun() => {}
        () = writing => {}
    }
}

impl<R: AsyncRead + Unpin> LineTransport<R> {
    pub(super) fn new(reader: R, writer: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (queue, lines) = mpsc::channel(QUEUE);
        let ending = Ending::new();
        tokio::spawn(write_lines(writer, lines, ending.clone()));
        Self { reader, read: Vec::new(), looked: 0, queue, ending }
    }

    /// The next line; none when there will be no more, or when it is too long: what follows could not be told from the
    /// rest of it.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.read[self.looked..].iter().position(|byte| *byte == b'\n') {
                let line = self.read.drain(..=self.looked + end).collect();
                self.looked = 0;
                return Some(line);
            }
            self.looked = self.read.len();
            if self.looked > LARGEST_MESSAGE {
                tracing::warn!(bytes = self.looked, "an MCP server sent a message that is too large");
                return None;
            }
            // Cancel-safe: what was read is in the buffer.
            if (&mut self.reader).take(PIECE).read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleClient> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        std::future::ready(self.enqueue(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let ending = self.ending.clone();
        loop {
            let line = tokio::select! {
                biased;
                () = ending.begun() => return None,
                line = self.line() => line?,
            };
            if let Some(message) = message(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // Nothing is waited for: the server may never read what was to be written.
        self.ending.begin();
        Ok(())
    }
}

/// The message of a line; nothing for lines that are none, such as what a program prints before it begins.
fn message(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    match serde_json::from_slice(line) {
        Ok(message) => Some(message),
        Err(error) => {
            let value: Value = serde_json::from_slice(line).ok()?;
            // A response of the wrong form answers its request with an error; otherwise the request would wait in vain.
            let is_response = value.get("method").is_none();
            let id: RequestId =
                value.get("id").filter(|_| is_response).cloned().and_then(|id| serde_json::from_value(id).ok())?;
            Some(JsonRpcMessage::error(ErrorData::new(INVALID_RESPONSE, error.to_string(), None), Some(id)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::McpError;
    use super::super::connection::refusal;
    use super::*;

    #[tokio::test]
    async fn lines_are_messages_and_noise_is_skipped() {
        let text = "Starting…\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n{\"jsonrpc\":\"2.0\",\"id\":7,\"neither\":3}\n{\"half";
        let mut transport = LineTransport::new(text.as_bytes(), tokio::io::sink());
        assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Notification(_))));
        let Some(JsonRpcMessage::Error(error)) = transport.receive().await else { panic!("an error for request 7") };
        assert_eq!(serde_json::to_value(&error).expect("JSON")["id"], 7);
        assert!(
            matches!(refusal(&error.error), McpError::Unknown(text) if text.starts_with("The response of the server"))
        );
        let refused = ErrorData::new(ErrorCode::INVALID_PARAMS, "no such file", None);
        assert_eq!(refusal(&refused), McpError::Refused("The server refused: no such file".into()));
        assert!(transport.receive().await.is_none());
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_connection() {
        let endless = tokio::io::repeat(b'x');
        let mut transport = LineTransport::new(endless, tokio::io::sink());
        assert!(transport.receive().await.is_none());
        assert!(transport.read.len() <= LARGEST_MESSAGE + 64 * 1024);
    }

    fn notification() -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_str(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).expect("a message")
    }

    #[tokio::test]
    async fn a_server_that_does_not_read_ends_the_connection_and_not_our_memory() {
        let ((ours, _unread), (silent, _open)) = (tokio::io::duplex(16), tokio::io::duplex(16));
        let mut transport = LineTransport::new(silent, ours);
        let mut sent = 0;
        while transport.send(notification()).await.is_ok() {
            sent += 1;
            assert!(sent <= QUEUE + 1, "one is being written, and the others wait");
            tokio::task::yield_now().await;
        }
        assert!(sent >= QUEUE, "{sent}");
        let received = timeout(Duration::from_secs(10), transport.receive()).await;
        assert!(received.expect("it does not wait").is_none());
    }

    #[tokio::test]
    async fn closing_waits_for_nothing_and_closes_the_input_of_the_server() {
        let ((ours, mut theirs), (silent, _open)) = (tokio::io::duplex(16), tokio::io::duplex(16));
        let mut transport = LineTransport::new(silent, ours);
        transport.send(notification()).await.expect("queued");
        tokio::task::yield_now().await;
        let closed = timeout(Duration::from_secs(10), transport.close()).await;
        closed.expect("it does not wait").expect("closed");
        let mut written = Vec::new();
        let ended = timeout(Duration::from_secs(10), theirs.read_to_end(&mut written)).await;
        ended.expect("the input ends").expect("read");
    }
}

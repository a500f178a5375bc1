//! The transport over a process's pipes: one JSON message per line, of a bounded length.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

use super::LARGEST_MESSAGE;

/// Bytes that are read at once.
const PIECE: u64 = 64 * 1024;

pub(super) struct LineTransport<R, W> {
    reader: R,
    /// What was read and is not taken yet. It is kept when a wait for the rest is given up.
    read: Vec<u8>,
    /// How much of it has no line end.
    looked: usize,
    writer: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(super) fn new(reader: R, writer: W) -> Self {
        Self { reader, read: Vec::new(), looked: 0, writer: Arc::new(Mutex::new(Some(writer))) }
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

impl<R, W> Transport<RoleClient> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&item).map_err(io::Error::other)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            if let Some(message) = message(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // The server ends when its input does.
        drop(self.writer.lock().await.take());
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
            let text = format!("The response is not valid: {error}");
            Some(JsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, text, None), Some(id)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_messages_and_noise_is_skipped() {
        let text = "Starting…\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n{\"jsonrpc\":\"2.0\",\"id\":7,\"neither\":3}\n{\"half";
        let mut transport = LineTransport::new(text.as_bytes(), tokio::io::sink());
        assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Notification(_))));
        let Some(JsonRpcMessage::Error(error)) = transport.receive().await else { panic!("an error for request 7") };
        assert_eq!(serde_json::to_value(&error).expect("JSON")["id"], 7);
        assert!(transport.receive().await.is_none());
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_connection() {
        let endless = tokio::io::repeat(b'x');
        let mut transport = LineTransport::new(endless, tokio::io::sink());
        assert!(transport.receive().await.is_none());
        assert!(transport.read.len() <= LARGEST_MESSAGE + 64 * 1024);
    }
}

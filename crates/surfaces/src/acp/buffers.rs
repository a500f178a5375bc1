//! The texts that the editor has not saved yet, for the sessions that it has open.

use std::path::Path;
use std::time::Duration;

use agent_client_protocol_schema::v1::{ReadTextFileRequest, ReadTextFileResponse};
use async_trait::async_trait;
use trimtab_host::{EditorBuffers, SilentEditor};
use trimtab_vocab::SessionId;

use super::peer::Peer;

/// How long the editor may take to hand out a text. Then reads show the file on the disk, and edits are not made.
const PATIENCE: Duration = Duration::from_secs(5);

/// The texts of the client, as one of its sessions sees them.
pub(super) struct ClientBuffers {
    pub(super) peer: Peer,
    pub(super) session: SessionId,
}

#[async_trait]
impl EditorBuffers for ClientBuffers {
    async fn text(&self, path: &Path) -> Result<Option<String>, SilentEditor> {
        let request = ReadTextFileRequest::new(self.session.to_string(), path);
        let sent = self.peer.request("fs/read_text_file", request).await;
        match tokio::time::timeout(PATIENCE, sent.answer).await {
            Ok(Ok(Ok(raw))) => {
                let response = serde_json::from_str::<ReadTextFileResponse>(raw.get());
                response.map(|response| Some(response.content)).map_err(|_| SilentEditor)
            }
            // An editor that does not have the file, or cannot read it, refuses.
            Ok(Ok(Err(_))) => Ok(None),
            Ok(Err(_)) => Err(SilentEditor),
            Err(_) => {
                tracing::warn!(session = %self.session, "the editor does not answer for {}", path.display());
                self.peer.withdraw(sent.id).await;
                Err(SilentEditor)
            }
        }
    }
}

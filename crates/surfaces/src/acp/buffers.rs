//! The texts that the editor has not saved yet, for the sessions that it has open.

use std::path::Path;
use std::time::Duration;

use agent_client_protocol_schema::v1::{ReadTextFileRequest, ReadTextFileResponse};
use async_trait::async_trait;
use trimtab_host::EditorBuffers;
use trimtab_vocab::SessionId;

use super::peer::Peer;

/// How long the editor may take to hand out a text. Then the file on the disk counts.
const PATIENCE: Duration = Duration::from_secs(5);

/// The texts of the client, as one of its sessions sees them.
pub(super) struct ClientBuffers {
    pub(super) peer: Peer,
    pub(super) session: SessionId,
}

#[async_trait]
impl EditorBuffers for ClientBuffers {
    async fn text(&self, path: &Path) -> Option<String> {
        let request = ReadTextFileRequest::new(self.session.to_string(), path);
        let sent = self.peer.request("fs/read_text_file", request).await;
        match tokio::time::timeout(PATIENCE, sent.answer).await {
            // An editor that does not have the file, or cannot read it, refuses.
            Ok(answer) => {
                let raw = answer.ok()?.ok()?;
                serde_json::from_str::<ReadTextFileResponse>(raw.get()).ok().map(|response| response.content)
            }
            Err(_) => {
                tracing::warn!(session = %self.session, "the editor does not answer; the file on the disk is used");
                self.peer.withdraw(sent.id).await;
                None
            }
        }
    }
}

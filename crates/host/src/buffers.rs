//! Files as an editor has them: texts that are not saved yet.
//!
//! An editor offers its texts for the sessions that it has open. Reads show them to the model, and an edit is made on
//! them. The disk is still what is written and what undo restores.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;
use trimtab_vocab::{
    BuildFolders, CommandPlan, CopyStats, FilePlan, FileState, LeftBehind, Overtime, ReadOp, ReadResult, SessionId,
};
use trimtab_world::tools::{self, ReadScope};
use trimtab_world::workspace::snapshot::Snapshot;

use crate::workspace::{
    CommandUpdate, Contents, CopiedFile, EndedCommand, FileNow, SnapshotRequest, Workspace, Workspaces,
};
use crate::{Client, StreamController};

/// The texts of an editor.
#[async_trait]
pub trait EditorBuffers: Send + Sync {
    /// The text of a file as the editor has it; none: the editor does not have it.
    ///
    /// # Errors
    /// When the editor does not answer: then nobody knows whether the file has unsaved changes.
    async fn text(&self, path: &Path) -> Result<Option<String>, SilentEditor>;
}

/// An editor that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilentEditor;

/// The editors that have sessions open in this process.
#[derive(Clone, Default)]
pub(crate) struct OpenEditors(Arc<Mutex<HashMap<SessionId, Arc<dyn EditorBuffers>>>>);

impl OpenEditors {
    /// The workspaces of sessions, with the texts of the editors that have them open.
    pub(crate) fn over(&self, local: Arc<dyn Workspace>) -> Workspaces {
        let editors = self.clone();
        Arc::new(move |session| match editors.of(session) {
            Some(buffers) => Arc::new(EditorWorkspace { local: Arc::clone(&local), buffers }),
            None => Arc::clone(&local),
        })
    }

    fn of(&self, session: &SessionId) -> Option<Arc<dyn EditorBuffers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }
}

impl Client {
    /// Uses the texts of an editor in a session, until it is called again; none: the disk alone counts.
    pub fn use_buffers(&self, session: &SessionId, buffers: Option<Arc<dyn EditorBuffers>>) {
        let mut editors = self.deps().editors.0.lock().unwrap_or_else(PoisonError::into_inner);
        match buffers {
            Some(buffers) => drop(editors.insert(session.clone(), buffers)),
            None => drop(editors.remove(session)),
        }
    }
}

/// A folder whose files an editor has open.
struct EditorWorkspace {
    local: Arc<dyn Workspace>,
    buffers: Arc<dyn EditorBuffers>,
}

impl EditorWorkspace {
    /// The text of a file in the editor, if it is not what the disk has.
    async fn unsaved(&self, folder: &str, now: &FileNow) -> Result<Option<Vec<u8>>, SilentEditor> {
        let on_disk = match &now.content.as_ref().map(|(bytes, _)| std::str::from_utf8(bytes)) {
            Some(Ok(text)) => Some(*text),
            Some(Err(_)) => return Ok(None),
            None => None,
        };
        // An editor knows a file by the name that it was opened with: a link, or its target.
        let mut paths: Vec<PathBuf> = vec![Path::new(folder).join(&now.path), Path::new(folder).join(&now.real)];
        paths.dedup();
        for path in paths {
            let text = self.buffers.text(&path).await?.and_then(|text| unsaved_text(on_disk, &text));
            if text.is_some() {
                return Ok(text);
            }
        }
        Ok(None)
    }
}

/// The text of an editor in the form of the file, if it is not the file's own. Editors hand out texts without byte order
/// marks, with other line ends, and without the last one.
fn unsaved_text(on_disk: Option<&str>, buffer: &str) -> Option<Vec<u8>> {
    let plain = |text: &str| {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
    };
    let Some(on_disk) = on_disk else { return (!buffer.is_empty()).then(|| buffer.as_bytes().to_vec()) };
    let text = plain(buffer);
    if text == plain(on_disk) {
        return None;
    }
    let mut text = text;
    if on_disk.ends_with('\n') || buffer.ends_with('\n') {
        text.push('\n');
    }
    if on_disk.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    if on_disk.starts_with('\u{feff}') {
        text.insert(0, '\u{feff}');
    }
    Some(text.into_bytes())
}

#[async_trait]
impl Workspace for EditorWorkspace {
    async fn perform_read(&self, folder: &str, op: &ReadOp) -> ReadResult {
        if let ReadOp::Read { path, offset, limit } = op
            && let Ok(now) = self.local.read(folder, path).await
            && let Ok(Some(text)) = self.unsaved(folder, &now).await
            && let Ok(place) = ReadScope::open(Path::new(folder))
        {
            return tools::read_unsaved(&place, path, text, *offset, *limit).await;
        }
        self.local.perform_read(folder, op).await
    }

    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        let mut now = self.local.read(folder, path).await?;
        match self.unsaved(folder, &now).await {
            Ok(unsaved) => now.unsaved = unsaved,
            Err(SilentEditor) => now.is_editor_silent = true,
        }
        Ok(now)
    }

    async fn read_saved(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        self.local.read_saved(folder, path).await
    }

    async fn rest(&self, session: &SessionId) {
        self.local.rest(session).await;
    }

    async fn absent(&self, folder: &str, path: &str) -> Option<Vec<String>> {
        self.local.absent(folder, path).await
    }

    async fn state(&self, folder: &str, path: &str) -> Option<FileState> {
        self.local.state(folder, path).await
    }

    async fn itself(&self, folder: &str, path: &str) -> Option<Option<FileState>> {
        self.local.itself(folder, path).await
    }

    async fn version_paths(&self, folder: &str, paths: Vec<String>) -> Vec<String> {
        self.local.version_paths(folder, paths).await
    }

    async fn write(&self, plan: &FilePlan, contents: Arc<dyn Contents>) -> Result<(), String> {
        self.local.write(plan, contents).await
    }

    async fn run(
        &self,
        plan: &CommandPlan,
        tell: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        stop: &StreamController,
        overtime: mpsc::Receiver<Overtime>,
    ) -> EndedCommand {
        self.local.run(plan, tell, stop, overtime).await
    }

    async fn take_snapshot(&self, request: SnapshotRequest, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        self.local.take_snapshot(request, kept).await
    }

    async fn whole_copy(&self, copy: &str) -> Option<CopyStats> {
        self.local.whole_copy(copy).await
    }

    async fn make_copy(
        &self,
        original: &str,
        copy: &str,
        changes: Vec<CopiedFile>,
        dependencies: BuildFolders,
    ) -> Result<CopyStats, String> {
        self.local.make_copy(original, copy, changes, dependencies).await
    }

    async fn copies(&self, place: &str) -> Vec<String> {
        self.local.copies(place).await
    }

    async fn left_behind(&self, copy: &str, original: &str, known: BTreeSet<String>) -> LeftBehind {
        self.local.left_behind(copy, original, known).await
    }

    async fn drop_copy(&self, copy: &str) {
        self.local.drop_copy(copy).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsaved(on_disk: Option<&str>, buffer: &str) -> Option<String> {
        unsaved_text(on_disk, buffer).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn a_text_that_only_looks_different_is_not_unsaved() {
        for (on_disk, buffer) in [
            ("a\nb\n", "a\nb\n"),
            ("a\nb\n", "a\nb"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{feff}a\n", "a\n"),
            ("a", "a\n"),
            ("", ""),
        ] {
            assert_eq!(unsaved(Some(on_disk), buffer), None, "{on_disk:?} {buffer:?}");
        }
        assert_eq!(unsaved(None, ""), None);
    }

    #[test]
    fn an_unsaved_text_has_the_form_of_the_file() {
        assert_eq!(unsaved(Some("a\r\nb\r\n"), "a\nc").as_deref(), Some("a\r\nc\r\n"));
        assert_eq!(unsaved(Some("\u{feff}a\n"), "b\n").as_deref(), Some("\u{feff}b\n"));
        assert_eq!(unsaved(Some("a"), "b").as_deref(), Some("b"));
        assert_eq!(unsaved(None, "new").as_deref(), Some("new"));
    }
}

//! What of writing outlives the process: the draft of a session, and what was said in a folder.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use trimtab_host::LocalFiles;

use super::history::MOST;
use super::{ComposerDraft, SavedComposer};

/// A draft is written at most this often.
const PACE: Duration = Duration::from_millis(300);
/// Bytes of one thing that was said that are kept for the next time; the session itself has it whole.
const LARGEST: usize = 64_000;
/// Bytes of the file with what was said, above which it is made smaller.
const LARGEST_FILE: usize = 4 << 20;

/// Writes a draft down while it changes, beside the screen: never more often than is good, always the latest.
#[derive(Debug)]
pub struct DraftKeeper {
    /// The latest draft, and its number.
    latest: watch::Sender<(u64, SavedComposer)>,
    /// The number of the one that was written last, and why it could not be.
    written: watch::Receiver<(u64, Option<String>)>,
    /// Somebody waits: the next one is written without a pause.
    hurry: Arc<Notify>,
    task: JoinHandle<()>,
}

impl DraftKeeper {
    /// What was kept for a session, or for a folder before there is a session, by whatever names it; and the
    /// keeper that goes on with it.
    pub fn open(local_files: LocalFiles, thing: &str) -> (SavedComposer, Self) {
        let name = LocalFiles::name("draft", thing);
        let kept: SavedComposer =
            local_files.read(&name).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let (latest, mut changes) = watch::channel((0, kept.clone()));
        let (done, written) = watch::channel((0, None));
        let hurry = Arc::new(Notify::new());
        let hurried = Arc::clone(&hurry);
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let (number, kept) = changes.borrow_and_update().clone();
                let (local_files, name) = (local_files.clone(), name.clone());
                // A draft that cannot be kept is still on the screen: only who wants to be sure of it is told.
                let ended = tokio::task::spawn_blocking(move || write(&local_files, &name, &kept)).await;
                let failed = ended.map_err(std::io::Error::other).flatten().err();
                done.send_replace((number, failed.map(|error| error.to_string())));
                let _ = tokio::time::timeout(PACE, hurried.notified()).await;
            }
        });
        (kept, Self { latest, written, hurry, task })
    }

    /// The draft is this one now.
    pub fn change(&self, kept: SavedComposer) {
        self.latest.send_modify(|latest| *latest = (latest.0 + 1, kept));
    }

    /// Ends when what is the latest draft now is written down.
    pub fn written(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let number = self.latest.borrow().0;
        let mut written = self.written.clone();
        self.hurry.notify_one();
        async move {
            let ended = written.wait_for(|(written, _)| *written >= number).await;
            let (_, failed) = ended.map_err(|_| "the program ends".to_owned())?.clone();
            failed.map_or(Ok(()), Err)
        }
    }

    /// Ends when the latest draft is written down.
    pub async fn close(self) {
        let Self { latest, hurry, task, .. } = self;
        drop(latest);
        hurry.notify_one();
        let _ = task.await;
    }
}

fn write(local_files: &LocalFiles, name: &str, kept: &SavedComposer) -> std::io::Result<()> {
    let is_empty = kept.stash.is_empty() && kept.answer.is_none() && kept.sending.is_empty();
    if kept.draft.parts.is_empty() && is_empty {
        return local_files.remove(name);
    }
    local_files.write(name, &serde_json::to_string(kept)?)
}

/// What was said in a folder, in a file that several processes may add to.
#[derive(Debug, Clone)]
pub struct SaidFile {
    local_files: LocalFiles,
    name: String,
}

impl SaidFile {
    /// The file of a folder.
    pub fn new(local_files: LocalFiles, folder: &str) -> Self {
        Self { local_files, name: LocalFiles::name("said", folder) }
    }

    /// What was said, the oldest first. A file that has grown too large is made smaller with that.
    pub fn read(&self) -> Vec<ComposerDraft> {
        let text = self.local_files.read(&self.name).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let mut from = lines.len().saturating_sub(MOST);
        let mut bytes: usize = lines[from..].iter().map(|line| line.len() + 1).sum();
        while bytes > LARGEST_FILE / 2 && text.len() > LARGEST_FILE {
            bytes -= lines[from].len() + 1;
            from += 1;
        }
        if lines.len() > 2 * MOST || text.len() > LARGEST_FILE {
            let rest: String = lines[from..].iter().flat_map(|line| [*line, "\n"]).collect();
            let _ = self.local_files.write(&self.name, &rest);
        }
        // A line that was cut off by a full disk is no reason to forget the others.
        lines[from..].iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds what was said, unless it is too long to be kept twice.
    pub fn add(&self, draft: &ComposerDraft) -> std::io::Result<()> {
        match serde_json::to_string(draft)? {
            line if line.len() <= LARGEST => self.local_files.append(&self.name, &line),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::composer::DraftPart;

    fn kept(text: &str) -> SavedComposer {
        SavedComposer { draft: ComposerDraft::new(text), ..SavedComposer::default() }
    }

    #[tokio::test]
    async fn the_latest_draft_is_there_after_the_end_and_an_empty_one_leaves_nothing() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let (before, keeper) = DraftKeeper::open(local_files.clone(), "session-1");
        assert_eq!(before, SavedComposer::default());
        for text in ["h", "ha", "half a thought"] {
            keeper.change(kept(text));
        }
        keeper.close().await;
        let (before, keeper) = DraftKeeper::open(local_files.clone(), "session-1");
        assert_eq!(before, kept("half a thought"));
        assert_eq!(DraftKeeper::open(local_files.clone(), "session-2").0, SavedComposer::default());
        keeper.change(SavedComposer::default());
        keeper.close().await;
        assert_eq!(local_files.read(&LocalFiles::name("draft", "session-1")), None);
    }

    #[tokio::test]
    async fn who_has_to_be_sure_of_a_draft_waits_until_it_is_written_or_is_told_why_it_cannot_be() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let (_, keeper) = DraftKeeper::open(local_files.clone(), "s");
        let name = LocalFiles::name("draft", "s");
        for text in ["one", "two", "three"] {
            keeper.change(kept(text));
            keeper.written().await.expect("written");
            assert!(local_files.read(&name).expect("a draft").contains(text));
        }
        std::fs::remove_dir_all(data.path()).expect("removed");
        std::fs::write(data.path(), "no folder any more").expect("written");
        keeper.change(kept("four"));
        keeper.written().await.expect_err("there is nowhere to write to");
        std::fs::remove_file(data.path()).expect("removed");
    }

    #[tokio::test]
    async fn a_draft_is_written_while_the_process_lives() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let (_, keeper) = DraftKeeper::open(local_files.clone(), "s");
        keeper.change(kept("x"));
        let name = LocalFiles::name("draft", "s");
        let there = async {
            while local_files.read(&name).is_none() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), there).await.expect("written without an end");
        keeper.close().await;
    }

    #[test]
    fn what_was_said_is_kept_per_folder_and_a_broken_line_costs_only_itself() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let said = SaidFile::new(local_files.clone(), "/home/u/a");
        let with_paste = ComposerDraft {
            parts: vec![DraftPart::Text("see ".into()), DraftPart::Paste("a\nb".into())],
            ..ComposerDraft::default()
        };
        said.add(&ComposerDraft::new("one")).expect("kept");
        local_files.append(&LocalFiles::name("said", "/home/u/a"), "{broken").expect("written");
        said.add(&with_paste).expect("kept");
        said.add(&ComposerDraft::new("x".repeat(100_000))).expect("left out");
        assert_eq!(said.read(), [ComposerDraft::new("one"), with_paste]);
        assert!(SaidFile::new(local_files, "/home/u/b").read().is_empty());
    }

    #[test]
    fn the_file_with_what_was_said_stays_bounded() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let said = SaidFile::new(local_files.clone(), "/home/u");
        let line = |number: usize| serde_json::to_string(&ComposerDraft::new(format!("{number}"))).expect("written");
        let all: String = (0..3_000).map(|number| line(number) + "\n").collect();
        local_files.write(&LocalFiles::name("said", "/home/u"), &all).expect("written");
        assert_eq!(said.read().len(), MOST);
        let text = local_files.read(&LocalFiles::name("said", "/home/u")).expect("there");
        assert_eq!((text.lines().count(), said.read().last().cloned()), (MOST, Some(ComposerDraft::new("2999"))));
        let large: String = (0..200)
            .map(|_| serde_json::to_string(&ComposerDraft::new("y".repeat(50_000))).expect("written") + "\n")
            .collect();
        local_files.write(&LocalFiles::name("said", "/home/u"), &large).expect("written");
        assert!(said.read().len() < 100);
        assert!(local_files.read(&LocalFiles::name("said", "/home/u")).expect("there").len() <= LARGEST_FILE);
    }
}

//! Hands of a simulation: looking takes a while, files live on the simulated disk, and of every
//! command it is known how often it was begun.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use trimtab_engine::Ran;
use trimtab_host::{
    CommandUpdate, Contents, CopiedFile, EndedCommand, FileNow, SnapshotRequest, StreamController, Workspace,
};
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{
    BuildFolders, CommandPlan, CopyStats, FileMark, FilePlan, FileState, FileWrite, Overtime, ReadOp, ReadResult,
};
use trimtab_world::workspace::snapshot::Snapshot;

use crate::memory_store::{Disk, MemoryStore, State};

/// Hands of one simulated process.
pub(super) struct SimulatedWorkspace {
    pub(super) disk: Disk,
    pub(super) store: Arc<MemoryStore>,
}

impl SimulatedWorkspace {
    /// Some time passes; a dead process never sees its end.
    async fn pass(&self, text: &str) {
        let sum = text.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte));
        tokio::time::sleep(Duration::from_millis(1 << (sum % 11))).await;
        self.live().await;
    }

    /// A dead process does nothing more.
    async fn live(&self) {
        if self.store.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    /// One file of a set; whether it is there already, its state tells.
    fn put(&self, folder: &str, write: &FileWrite, contents: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        let mut disk = self.disk.state();
        let files = files_mut(&mut disk, folder);
        let now = files.get(&write.path).map(|bytes| state(bytes));
        if now != write.after && now != write.before {
            return Err(format!("{} is not as it was", write.path));
        }
        match &write.after {
            Some(after) => {
                let bytes = contents.get(&after.hash).cloned().ok_or("no content")?;
                files.insert(write.path.clone(), bytes);
            }
            None => drop(files.remove(&write.path)),
        }
        Ok(())
    }

    fn result_of(&self, folder: &str, op: &ReadOp) -> ReadResult {
        let whole = |text: String| ReadResult { status: ToolStatus::Ok, text, images: Vec::new(), files: Vec::new() };
        let shown = format!("{op:?}");
        match op {
            ReadOp::Read { path, .. } if path.ends_with(".png") => {
                ReadResult { images: vec![("image/png".into(), "AAAA".into())], ..whole("A picture.".into()) }
            }
            ReadOp::Read { path, .. } => match files_of(&self.disk.state(), folder).get(path) {
                Some(bytes) => {
                    let files = vec![FileMark { path: path.clone(), hash: state(bytes).hash }];
                    ReadResult { files, ..whole(String::from_utf8_lossy(bytes).into_owned()) }
                }
                None => ReadResult { status: ToolStatus::Error, ..whole(format!("There is no file {path}.")) },
            },
            // Long now and then, so that conversations grow.
            ReadOp::Search { pattern, .. } if pattern.len() % 2 == 0 => whole(format!("{shown}\n").repeat(40)),
            _ => whole(shown),
        }
    }
}

/// Whether a folder is the copy of a worker.
pub(super) fn is_copy(folder: &str) -> bool {
    folder.starts_with(super::subtasks::COPIES)
}

/// The files of a folder. All folders of a person share theirs; a worker that has no copy finds nothing.
fn files_of<'a>(state: &'a State, folder: &str) -> std::borrow::Cow<'a, BTreeMap<String, Vec<u8>>> {
    match is_copy(folder) {
        true => {
            state.copies.get(folder).map(|(files, _)| files).map_or_else(Default::default, std::borrow::Cow::Borrowed)
        }
        false => std::borrow::Cow::Borrowed(&state.files),
    }
}

fn files_mut<'a>(state: &'a mut State, folder: &str) -> &'a mut BTreeMap<String, Vec<u8>> {
    match is_copy(folder) {
        true => &mut state.copies.entry(folder.to_owned()).or_default().0,
        false => &mut state.files,
    }
}

/// Something that must not be done twice at the same time by one process, while it is being done.
struct Doing {
    disk: Disk,
    what: (u64, String),
}

impl Doing {
    fn begin(workspace: &SimulatedWorkspace, what: String) -> Self {
        let what = (workspace.store.owner(), what);
        let mut state = workspace.disk.state();
        if !state.seen.doing.insert(what.clone()) {
            state.seen.broken.push(format!("done twice at once: {}", what.1));
        }
        drop(state);
        Self { disk: workspace.disk.clone(), what }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.disk.state().seen.doing.remove(&self.what);
    }
}

fn state(bytes: &[u8]) -> FileState {
    FileState { hash: trimtab_world::store::hash(bytes), mode: 0o644 }
}

#[async_trait]
impl Workspace for SimulatedWorkspace {
    async fn perform_read(&self, folder: &str, op: &ReadOp) -> ReadResult {
        let text = format!("{op:?}");
        // Each page and each search is asked for by one call only; of workers, by one in each copy.
        let place = if is_copy(folder) { folder } else { "" };
        let _doing = matches!(op, ReadOp::Fetch { .. } | ReadOp::Search { .. })
            .then(|| Doing::begin(self, format!("{place}{text}")));
        self.pass(&text).await;
        self.result_of(folder, op)
    }

    async fn read(&self, folder: &str, path: &str) -> Result<FileNow, String> {
        self.pass(path).await;
        let content = files_of(&self.disk.state(), folder).get(path).map(|bytes| (bytes.clone(), state(bytes)));
        Ok(FileNow { path: path.to_owned(), real: path.to_owned(), content, unsaved: None, is_editor_silent: false })
    }

    async fn write(&self, plan: &FilePlan, kept: Arc<dyn Contents>) -> Result<(), String> {
        let mut contents = BTreeMap::new();
        for write in &plan.set().writes {
            for state in [&write.before, &write.after].into_iter().flatten() {
                let bytes = kept.bytes(&state.hash).await.ok_or("The content is not stored any more.")?;
                contents.insert(state.hash.clone(), bytes);
            }
        }
        let _doing = Doing::begin(self, plan.set().change_set.to_string());
        self.pass("write").await;
        if plan.is_first_attempt() {
            let disk = self.disk.state();
            let files = files_of(&disk, &plan.set().folder);
            let now = |write: &FileWrite| files.get(&write.path).map(|bytes| state(bytes));
            if let Some(write) = plan.set().writes.iter().find(|write| now(write) != write.before) {
                return Err(format!("{} is not as it was", write.path));
            }
        }
        for write in &plan.set().writes {
            self.put(&plan.set().folder, write, &contents)?;
            // Written, and dead before the next, or before anybody was told: it must be done again.
            self.pass(&write.path).await;
        }
        Ok(())
    }

    async fn run(
        &self,
        plan: &CommandPlan,
        tell: &(dyn for<'t> Fn(CommandUpdate<'t>) + Send + Sync),
        stop: &StreamController,
        mut overtime: mpsc::Receiver<Overtime>,
    ) -> EndedCommand {
        self.live().await;
        let command = plan.run().command.clone();
        let begun = {
            let mut disk = self.disk.state();
            let begun = disk.seen.commands.entry(command.clone()).or_default();
            *begun += 1;
            *begun
        };
        let folder = plan.run().cwd.clone();
        let place = if is_copy(&folder) { folder.as_str() } else { "" };
        let _doing = Doing::begin(self, format!("{place}{command}"));
        tell(CommandUpdate::Output("running\n"));
        // Each run leaves something else behind, some at once and some in the end.
        let make = || {
            drop(files_mut(&mut self.disk.state(), &folder).insert(made_by(&command), begun.to_string().into_bytes()));
        };
        let at_once = command.len().is_multiple_of(2);
        if at_once {
            make();
        }
        let attended = plan.run().attended;
        // The time of some is up before they end; what is said of that, or that nothing is, decides nothing else.
        let ends = async {
            self.pass(&command).await;
            while command.len().is_multiple_of(3) && attended {
                tell(CommandUpdate::Overdue);
                let said = tokio::time::timeout(Duration::from_millis(700), overtime.recv()).await;
                match said {
                    Ok(Some(Overtime::None)) => return true,
                    Ok(Some(Overtime::Seconds(_))) => self.pass("overtime").await,
                    Ok(_) | Err(_) => break,
                }
            }
            self.live().await;
            false
        };
        tokio::select! {
            biased;
            () = stop.aborted() => EndedCommand { ran: Ran { stopped: true, ..Ran::default() }, ..EndedCommand::default() },
            timed_out = ends => {
                if !at_once {
                    make();
                }
                // Some fail; that is an answer too.
                let exit_code = Some(i32::from(command.len().is_multiple_of(5)));
                let ran = Ran { exit_code, timed_out, ..Ran::default() };
                EndedCommand { ran, output: format!("ran {command}").into_bytes(), dropped: 0 }
            }
        }
    }

    async fn take_snapshot(&self, request: SnapshotRequest, kept: mpsc::Sender<(String, Vec<u8>)>) -> Option<Snapshot> {
        self.pass("survey").await;
        // Histories that move do not record what commands do, because their oracle knows only the tools' changes.
        let nothing = request.watch.files == 0;
        // A copy that was removed cannot be opened, as on a real disk.
        if is_copy(&request.folder) && !self.disk.state().copies.contains_key(&request.folder) {
            return None;
        }
        let files = if nothing { BTreeMap::new() } else { files_of(&self.disk.state(), &request.folder).into_owned() };
        let mut states = Vec::new();
        for (path, bytes) in files {
            let state = state(&bytes);
            kept.send((state.hash.clone(), bytes)).await.ok()?;
            states.push((path.into(), state));
        }
        Some(Snapshot::from_states(states))
    }

    async fn whole_copy(&self, copy: &str) -> Option<CopyStats> {
        self.pass(copy).await;
        let state = self.disk.state();
        let (files, _) = state.copies.get(copy).filter(|(_, is_whole)| *is_whole)?;
        Some(CopyStats { files: files.len() as u64, ..CopyStats::default() })
    }

    async fn make_copy(
        &self,
        original: &str,
        copy: &str,
        changes: Vec<CopiedFile>,
        _: BuildFolders,
    ) -> Result<CopyStats, String> {
        let _doing = Doing::begin(self, copy.to_owned());
        {
            let mut disk = self.disk.state();
            let files = files_of(&disk, original).into_owned();
            disk.copies.insert(copy.to_owned(), (files, false));
        }
        // Dead now, it leaves half a copy behind.
        self.pass(copy).await;
        let mut disk = self.disk.state();
        let (files, is_whole) = disk.copies.entry(copy.to_owned()).or_default();
        for CopiedFile { path, content } in changes {
            match content {
                Some((bytes, _)) => drop(files.insert(path, bytes)),
                None => drop(files.remove(&path)),
            }
        }
        *is_whole = true;
        Ok(CopyStats { files: files.len() as u64, ..CopyStats::default() })
    }

    async fn copies(&self, place: &str) -> Vec<String> {
        self.live().await;
        let inside = |folder: &String| folder.strip_prefix(place)?.strip_prefix('/').map(str::to_owned);
        self.disk.state().copies.keys().filter_map(inside).collect()
    }

    async fn drop_copy(&self, copy: &str) {
        self.pass(copy).await;
        self.disk.state().copies.remove(copy);
    }
}

/// What a command of the simulation leaves behind.
pub(super) fn made_by(command: &str) -> String {
    format!("made/{command}")
}

//! Workers of sub-tasks: their copies of the folder, and the merge of their changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use trimtab_engine::merge::{self, Clash, File, Prefer};
use trimtab_engine::{Input, MergeOrder, MergePart, Session, WorkerOrder, WorkerReport};
use trimtab_vocab::event::Status;
use trimtab_vocab::wording::ObstacleText;
use trimtab_vocab::{
    BuildFolders, Control, CopyStats, Event, Fact, FileState, FileWrite, LeftBehind, MergeChoice, MergeConflict,
    MergeObstacle, Problem, ProblemKind, RefKey, RequestId, SessionId, Usage,
};
use trimtab_world::store::{JobState, NewInput, NewJob, Store, StoreError};

use crate::actor::{self, ActorError};
use crate::client::ActorContext;
use crate::effects::{ActorHandle, written};
use crate::endings;
use crate::workspace::{CopiedFile, Workspace};

const PAGE: u32 = 1000;
/// Between two looks at a worker that is ending.
const END_POLL: Duration = Duration::from_millis(20);

/// The copies that are being made in this process. A second request for the same copy waits for the first, because a
/// copy over a finished one would undo what the worker has done in it.
#[derive(Default)]
pub(crate) struct CopyGates(Mutex<BTreeMap<SessionId, Weak<tokio::sync::Mutex<()>>>>);

impl CopyGates {
    fn of(&self, worker: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gates.retain(|_, gate| gate.strong_count() > 0);
        let known = gates.get(worker).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let gate = Arc::default();
            gates.insert(worker.clone(), Arc::downgrade(&gate));
            gate
        })
    }
}

/// Makes a worker's copy of the folder, hands the worker its request, and starts it. Each of these is done once, however
/// often it is requested.
pub(crate) async fn start(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    order: Box<WorkerOrder>,
) -> Result<(), ActorError> {
    let WorkerOrder { worker, original, folder, seed, is_first, said } = *order;
    let store = deps.world.store.as_ref();
    let workspace = deps.world.workspace(&worker);
    let parent = reporter.lease.session().clone();
    let report = |report: WorkerReport| {
        let payload = written(&Input::WorkerReported { worker: worker.clone(), report });
        store.enqueue(&parent, NewInput { payload, ..NewInput::default() })
    };
    let dependencies = said.settings.subtasks.build_folders;
    let order = CopyOrder { worker: &worker, original: &original, folder: &folder, seed, dependencies };
    let gate = deps.copying.of(&worker);
    let turn = gate.lock().await;
    // It was stopped, or has ended, before the copy was begun.
    if is_over(store, &worker).await? {
        workspace.drop_copy(&folder).await;
        return Ok(());
    }
    let copied = copy(store, workspace.as_ref(), order).await?;
    // It was stopped while the copy was made.
    if is_over(store, &worker).await? {
        workspace.drop_copy(&folder).await;
        return Ok(());
    }
    if let Err(reason) = copied {
        let error = Problem::new(ProblemKind::Store, format!("No copy of {original} could be made: {reason}.")).hint(
            "Sub-tasks work in copies of the folder. Let git ignore what they do not need, or work without them.",
        );
        let (status, error) = (Status::Failed, Some(error));
        let (summary, usage, writes) = (String::new(), Usage::default(), Vec::new());
        let left_behind = LeftBehind::default();
        report(WorkerReport::Ended { status, summary, error, usage, writes, left_behind }).await?;
        reporter.wake.notify_one();
        return Ok(());
    }
    drop(turn);
    if is_first {
        sweep(store, workspace.as_ref(), &folder).await?;
    }
    let job = NewJob { request: said.id.clone(), text: actor::first_words(&said.text) };
    let payload = written(&Input::Said { request: Box::new(said) });
    match store.enqueue(&worker, NewInput { payload, job: Some(job), ..NewInput::default() }).await {
        Ok(()) | Err(StoreError::Taken) => {}
        Err(error) => return Err(error.into()),
    }
    // From now on the worker can be paused and steered: what the user says comes after its request.
    if let Ok(copy) = copied {
        report(WorkerReport::Copied { copy }).await?;
        reporter.wake.notify_one();
    }
    // A cancel that came while the copy was made found no request to end. One that comes from now on finds it.
    if is_stopped(store, &parent, &worker).await? {
        let request = Some(RequestId::of_worker(&worker));
        let payload = written(&Input::Controlled { request, action: Control::Cancel });
        store.enqueue(&worker, NewInput { payload, ..NewInput::default() }).await?;
    }
    actor::wake(&deps, &worker);
    Ok(())
}

/// Whether the parent no longer waits for a worker, as its log says.
async fn is_stopped(store: &dyn Store, parent: &SessionId, worker: &SessionId) -> Result<bool, StoreError> {
    // Without a fact, the session that had started it is gone: a log has its workers from their beginning on.
    Ok(store.last_subtask(parent, worker).await?.is_none_or(|fact| !fact.status.is_at_work()))
}

/// A copy to make.
struct CopyOrder<'a> {
    worker: &'a SessionId,
    original: &'a str,
    folder: &'a str,
    seed: Vec<MergePart>,
    dependencies: BuildFolders,
}

/// Makes the copy, with the changes that the worker builds upon and those that it has made before. One that is there
/// already is kept.
async fn copy(
    store: &dyn Store,
    workspace: &dyn Workspace,
    order: CopyOrder<'_>,
) -> Result<Result<CopyStats, String>, StoreError> {
    let CopyOrder { worker, original, folder, seed, dependencies } = order;
    if let Some(copy) = workspace.whole_copy(folder).await {
        return Ok(Ok(copy));
    }
    let order = MergeOrder { parts: seed, ..MergeOrder::default() };
    let files = match merge_parts(store, workspace, original, &order, Prefer::Left).await? {
        Ok((files, _)) => files,
        Err(obstacle) => return Ok(Err(obstacle.reason)),
    };
    let mut changes: BTreeMap<String, Content> = files.into_iter().map(|file| (file.path, file.after)).collect();
    for write in own_writes(store, worker).await? {
        let after = content(store, worker, write.after.as_ref()).await?;
        changes.insert(write.path, after);
    }
    let changes = changes.into_iter().map(|(path, content)| CopiedFile { path, content }).collect();
    Ok(workspace.make_copy(original, folder, changes, dependencies).await)
}

/// Removes copies of workers that have ended, where a process was killed before it could.
async fn sweep(store: &dyn Store, workspace: &dyn Workspace, own: &str) -> Result<(), StoreError> {
    let Some((place, own)) = own.rsplit_once('/') else { return Ok(()) };
    for name in workspace.copies(place).await.into_iter().filter(|name| name != own) {
        let Ok(session) = name.parse::<SessionId>() else { continue };
        if session.is_worker() && is_over(store, &session).await? {
            workspace.drop_copy(&format!("{place}/{name}")).await;
        }
    }
    Ok(())
}

/// Whether a worker needs its copy no longer. The state of its job is read at once, because a worker may be parked with
/// a question and reopened by its answer at any moment.
async fn is_over(store: &dyn Store, worker: &SessionId) -> Result<bool, StoreError> {
    let job = store.job(&RequestId::of_worker(worker)).await?;
    match job.map(|job| job.state) {
        Some(JobState::Running) => Ok(false),
        // Nobody works on it: it waits for an answer or for its process, or is about to get its request. Its parent may
        // have stopped it all the same.
        None
        | Some(JobState::Queued | JobState::Interrupted)
        | Some(JobState::Finished(Status::NeedsUser | Status::Limit)) => {
            let Some(row) = store.session(worker).await? else { return Ok(true) };
            match row.parent {
                Some(parent) => is_stopped(store, &parent, worker).await,
                None => Ok(true),
            }
        }
        Some(JobState::Finished(_)) => Ok(true),
    }
}

/// The workers that are stopped with these events: their session tells them so, and no longer waits for them.
pub(crate) fn stopped(events: &[Event], told: &[SessionId]) -> BTreeSet<SessionId> {
    let is_stopped = |event: &Event| match &event.fact {
        Fact::Subtask(fact) if !fact.status.is_at_work() => fact.worker.clone(),
        _ => None,
    };
    events.iter().filter_map(is_stopped).filter(|worker| told.contains(worker)).collect()
}

/// Waits until a worker that its session has stopped has taken up its cancel, and removes its copy. The worker does both
/// itself if its actor lives that long. What takes longer than a few seconds is left for the next run.
pub(crate) async fn end(deps: Arc<ActorContext>, parent: SessionId, worker: SessionId) {
    if let Err(error) = take_end(&deps, &parent, &worker).await {
        tracing::debug!(%error, %worker, "the copy of a stopped worker was not removed");
    }
}

async fn take_end(deps: &Arc<ActorContext>, parent: &SessionId, worker: &SessionId) -> Result<(), StoreError> {
    let (store, place) = (deps.world.store.as_ref(), &deps.machine.workers);
    if place.is_empty() {
        return Ok(());
    }
    let until = Instant::now() + endings::PATIENCE;
    // The cancel is in its inbox until its actor has ended the worker.
    let has_ended =
        async || Ok::<_, StoreError>(is_over(store, worker).await? && store.inbox(worker).await?.is_empty());
    while !has_ended().await? && Instant::now() < until {
        tokio::time::sleep(END_POLL).await;
    }
    // A copy that is being made takes the rest of the time at most.
    let gate = deps.copying.of(worker);
    let Ok(turn) = tokio::time::timeout_at(until, gate.lock()).await else { return Ok(()) };
    if has_ended().await? {
        deps.world.workspace(worker).drop_copy(&format!("{place}/{worker}")).await;
    }
    drop(turn);
    // What it cost until it ended is the last that its session hears of it.
    while !store.inbox(parent).await?.is_empty() && Instant::now() < until {
        tokio::time::sleep(END_POLL).await;
    }
    Ok(())
}

/// What a worker has made of files so far.
async fn own_writes(store: &dyn Store, worker: &SessionId) -> Result<Vec<FileWrite>, StoreError> {
    let mut session = Session::new(worker.clone());
    let mut last = 0;
    loop {
        let page = store.events(worker, last, PAGE).await?;
        let Some(event) = page.last() else { break };
        last = event.seq.unwrap_or(last + u64::from(PAGE));
        page.iter().for_each(|event| session.fold(event.request.as_ref(), &event.fact));
    }
    Ok(session.history()[..session.in_force()].iter().flat_map(|set| set.writes.clone()).collect())
}

/// Adds to a worker's last report what it made in its copy beside its recorded changes. The copy is removed once the
/// report is recorded.
pub(crate) async fn note_left_behind(workspace: &dyn Workspace, session: &Session, input: &mut Input) {
    let Input::WorkerReported { report: WorkerReport::Ended { status: Status::Completed, left_behind, .. }, .. } =
        input
    else {
        return;
    };
    let (Some(folder), Some(role)) = (session.folder(), &session.lineage().role) else { return };
    let known = session.history().iter().flat_map(|set| &set.writes).map(|write| write.path.clone()).collect();
    *left_behind = workspace.left_behind(folder, &role.original, known).await;
}

/// The bytes and the mode of a file; none: there is no such file.
type Content = Option<(Vec<u8>, u32)>;

async fn content(store: &dyn Store, session: &SessionId, state: Option<&FileState>) -> Result<Content, StoreError> {
    let Some(state) = state else { return Ok(None) };
    let bytes = store.bytes(Some(session), &RefKey::file_of(session, &state.hash)).await?;
    let lost = || StoreError::Corrupt(format!("what the worker {session} made of a file is not stored"));
    bytes.map(|bytes| Some((bytes, state.mode))).ok_or_else(lost)
}

/// A file on the disk, and the text of the user's editor if that is another one.
type CurrentFile = (Option<(Vec<u8>, FileState)>, Option<Vec<u8>>);

/// A file before and after the changes of workers.
pub(crate) struct MergedFile {
    pub(crate) path: String,
    pub(crate) before: Option<(Vec<u8>, FileState)>,
    pub(crate) after: Content,
    /// The user's editor has another text than the disk, which the changes are made on.
    pub(crate) is_unsaved: bool,
    /// The sub-tasks that changed it.
    by: Vec<String>,
}

/// Brings the changes of workers together with what is in the folder, one worker after the other. What does not fit is
/// taken from the side that is preferred, or is a conflict.
pub(crate) async fn merge_parts(
    store: &dyn Store,
    workspace: &dyn Workspace,
    folder: &str,
    order: &MergeOrder,
    prefer: Prefer,
) -> Result<Result<(Vec<MergedFile>, Vec<MergeConflict>), MergeObstacle>, StoreError> {
    let (mut files, mut conflicts): (Vec<MergedFile>, Vec<MergeConflict>) = (Vec::new(), Vec::new());
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for MergePart { subtask, worker, writes } in &order.parts {
        for write in writes {
            let at = match places.get(&write.path) {
                Some(at) => *at,
                None => {
                    let (before, unsaved) = match current(store, workspace, folder, worker, write).await? {
                        Ok(current) => current,
                        Err(reason) => {
                            let files = vec![write.path.clone()];
                            return Ok(Err(MergeObstacle { reason, files, others: Vec::new() }));
                        }
                    };
                    let on_disk = before.as_ref().map(|(bytes, state)| (bytes.clone(), state.mode));
                    let is_unsaved = unsaved.is_some();
                    let mode = on_disk.as_ref().map_or(0o644, |(_, mode)| *mode);
                    let after = unsaved.map(|text| (text, mode)).or(on_disk);
                    files.push(MergedFile { path: write.path.clone(), before, after, is_unsaved, by: Vec::new() });
                    places.insert(write.path.clone(), files.len() - 1);
                    files.len() - 1
                }
            };
            let file = &mut files[at];
            let base = content(store, worker, write.before.as_ref()).await?;
            let theirs = content(store, worker, write.after.as_ref()).await?;
            let settled = order.settled.get(&(write.path.clone(), subtask.clone()));
            match merge_one(&base, &file.after, &theirs, prefer, settled) {
                Ok(merged) => file.after = merged,
                Err(clash) => conflicts.push(MergeConflict {
                    path: write.path.clone(),
                    subtask: subtask.clone(),
                    against: file.by.clone(),
                    base: shown(&base, &clash),
                    ours: shown(&file.after, &clash),
                    theirs: shown(&theirs, &clash),
                    partial: [&base, &file.after, &theirs].iter().any(|side| !is_text(side, &clash)),
                }),
            }
            file.by.push(subtask.clone());
        }
    }
    Ok(Ok((files, conflicts)))
}

/// A file that would be where another needs a folder: only one of the two can be there.
pub(crate) fn file_and_folder(files: &[MergedFile]) -> Option<MergeObstacle> {
    let there: BTreeSet<&str> =
        files.iter().filter(|file| file.after.is_some()).map(|file| file.path.as_str()).collect();
    let path = there.iter().find(|path| inside(&there, path).next().is_some())?;
    let (below, above): (Vec<String>, Vec<String>) =
        (inside(&there, path).map(str::to_owned).collect(), vec![(*path).to_owned()]);
    // The one whose sub-task comes later in the plan stands in the way of the other.
    let place = |path: &str| files.iter().position(|file| file.path == path);
    let is_above_first = place(path) < below.first().and_then(|first| place(first));
    let (files, others) = if is_above_first { (below, above) } else { (above, below) };
    let reason = ObstacleText::FileAndFolder((*path).to_owned()).into();
    Some(MergeObstacle { reason, files, others })
}

/// The paths below one that would be a folder then.
fn inside<'a>(paths: &BTreeSet<&'a str>, folder: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("{folder}/");
    let below = paths.range::<str, _>((Bound::Included(start.as_str()), Bound::Unbounded)).copied();
    below.take_while(move |path| path.starts_with(&start)).collect::<Vec<_>>().into_iter()
}

/// What the folder has at the path of a change, and the text of the user's editor if that is another one. A link is
/// never followed where the change is about the link itself.
async fn current(
    store: &dyn Store,
    workspace: &dyn Workspace,
    folder: &str,
    worker: &SessionId,
    write: &FileWrite,
) -> Result<Result<CurrentFile, String>, StoreError> {
    let is_about_link = [&write.before, &write.after].into_iter().flatten().any(FileState::is_link);
    let found = if is_about_link { workspace.itself(folder, &write.path).await } else { None };
    let other = || Ok(Err(format!("{} is not what it was when the sub-tasks started.", write.path)));
    match found {
        None => {
            let now = workspace.read(folder, &write.path).await;
            Ok(now.and_then(|now| match now.silence() {
                Some(reason) => Err(reason),
                None => Ok((now.content, now.unsaved)),
            }))
        }
        Some(Some(link)) if Some(&link) == write.before.as_ref() => {
            let target = content(store, worker, Some(&link)).await?;
            Ok(Ok((target.map(|(target, _)| (target, link)), None)))
        }
        Some(_) => other(),
    }
}

fn merge_one(
    base: &Content,
    ours: &Content,
    theirs: &Content,
    prefer: Prefer,
    settled: Option<&MergeChoice>,
) -> Result<Content, Vec<Clash>> {
    fn file(content: &Content) -> Option<File<'_>> {
        content.as_ref().map(|(bytes, mode)| File { bytes, mode: *mode })
    }
    let prefer = match settled {
        Some(MergeChoice::Ours) => Prefer::Left,
        Some(MergeChoice::Theirs) => Prefer::Right,
        Some(MergeChoice::Text { text }) => {
            let mode = ours.as_ref().or(theirs.as_ref()).map_or(0o644, |(_, mode)| *mode);
            return Ok(Some((text.clone().into_bytes(), mode)));
        }
        None => prefer,
    };
    merge::merge_files(file(base), file(ours), file(theirs), prefer)
}

/// A side of a conflict as a question shows it.
fn shown(content: &Content, clashes: &[Clash]) -> String {
    match content {
        None => "(no file)".to_owned(),
        Some((bytes, mode)) if clashes.contains(&Clash::Mode) => format!("(mode {mode:o}, {} bytes)", bytes.len()),
        Some((bytes, _)) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("({} bytes that are not text)", bytes.len()),
        },
    }
}

/// Whether a side of a conflict is shown as the text that it is.
fn is_text(content: &Content, clashes: &[Clash]) -> bool {
    let Some((bytes, _)) = content else { return false };
    !clashes.contains(&Clash::Mode) && std::str::from_utf8(bytes).is_ok()
}

/// Removes the copy of a worker that has ended.
pub(crate) async fn drop_copy(deps: Arc<ActorContext>, worker: SessionId, folder: String) {
    let gate = deps.copying.of(&worker);
    let _turn = gate.lock().await;
    deps.world.workspace(&worker).drop_copy(&folder).await;
}

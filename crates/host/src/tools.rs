//! Performs tool calls. Results of read-only tools are only sent to the actor, because they can be read again after a
//! crash. Results of other tools go into the durable inbox, like a model's reply.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use trimtab_engine::Overview;
use trimtab_engine::terminal::readable;
use trimtab_engine::{AgentQuery, Input, Prepared, ProposedChange, Ran, RewindPath, SkillQuery};
use trimtab_vocab::event::{AbsentFile, LoadedFile, ToolStatus};
use trimtab_vocab::{
    AgentText, BackgroundId, CallId, ChangePart, Fault, FilePlan, FileWrite, ListedAgent, ListedServer, ListedSkill,
    MadePicture, NamedResource, OnConflict, ReadOp, ReadResult, RefKey, RequestId, Retry, ServerCallPlan, ServerReply,
    SessionId, SnapshotLimits, sensitive_paths,
};
use trimtab_world::mcp::CallAsker;
use trimtab_world::models::DrawOrder;
use trimtab_world::store::{NewInput, StoreError};

use crate::StreamController;
use crate::actor::ActorError;
use crate::agents::{self, AgentRoots, Agents};
use crate::background;
use crate::client::ActorContext;
use crate::commands::{CommandOrder, CommandStart, run_command};

use crate::effects::{ActorHandle, find_room, written};
use crate::hooks::{HookStart, run_hook};
use crate::mcp;
use crate::prepare::{narrow, prepare};
use crate::skills::{self, SkillRoots, Skills};
use crate::snapshot;
use crate::workspace::Contents;

/// Bytes of all that a request names, together.
const LOADED: usize = 64 * 1024;

/// What a tool asks for.
pub(crate) enum ToolWork {
    Read(ReadOp),
    ListServers,
    ReadSkill { folder: String, skill: Box<ListedSkill>, file: Option<String> },
    ReadAgents(Vec<ListedAgent>),
    CallServer { plan: ServerCallPlan, replies: mpsc::Receiver<ServerReply> },
    Draw { model: String, prompt: String, count: u32, after_ms: u64 },
    Recall { of: Option<SessionId>, key: RefKey, offset: usize, limit: usize },
    Prepare { change: ProposedChange, seen: BTreeMap<String, String> },
    SelectHunks { writes: Vec<FileWrite>, parts: Vec<ChangePart> },
    Apply(FilePlan),
    Run(Box<CommandStart>),
    ReadOutput { of: CallId, id: BackgroundId, stored: RefKey, since: Option<u64>, limit: usize },
    InspectEffects(SnapshotLimits),
    Hook(Box<HookStart>),
}

/// A tool call to carry out.
pub(crate) struct ToolOrder {
    pub(crate) request: RequestId,
    pub(crate) call: CallId,
    pub(crate) folder: String,
    pub(crate) work: ToolWork,
    /// Whether the request already has room among the running ones.
    pub(crate) has_room: bool,
}

/// Performs a tool call and reports the result.
pub(crate) async fn carry_out(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    order: ToolOrder,
    controller: StreamController,
) -> Result<(), ActorError> {
    let ToolOrder { request, call, folder, work, has_room } = order;
    // A hook is part of a request that has room, or of none.
    if !has_room && !matches!(work, ToolWork::Hook(_)) {
        tokio::select! {
            biased;
            () = controller.aborted(), if !matches!(work, ToolWork::Apply(_) | ToolWork::InspectEffects(_)) => return aborted(&deps, &reporter, call, &work).await,
            found = find_room(&deps, &reporter, &request) => found?,
        }
        let _ = reporter.mailbox.send(Input::Admitted { request: request.clone() }).await;
    }
    let session = reporter.lease.session().clone();
    let workspace = deps.world.workspace(&session);
    match work {
        ToolWork::Read(op) => {
            let seen = tokio::select! {
                biased;
                () = controller.aborted() => return Ok(()),
                seen = workspace.perform_read(&folder, &op) => seen,
            };
            find_nested(&*workspace, &reporter, &request, &folder, op.path().map(str::to_owned)).await;
            let _ = reporter.mailbox.send(Input::Looked { call, seen }).await;
        }
        ToolWork::ReadSkill { folder, skill, file } => read_skill(&reporter, call, folder, skill, file).await,
        ToolWork::ReadAgents(agents) => read_agents(&reporter, call, folder, agents).await,
        ToolWork::ListServers => {
            let servers = tokio::select! {
                biased;
                () = controller.aborted() => return Ok(()),
                servers = list_servers(&deps, &session, &folder) => servers?,
            };
            let _ = reporter.mailbox.send(Input::ServersListed { servers, call: Some(call) }).await;
        }
        ToolWork::CallServer { plan, replies } => {
            let place = mcp::CallPlace { session: &session, request: &request, folder: &folder };
            let seen = call_server(&deps, &reporter, place, &plan, replies, &controller).await?;
            report(&deps, &reporter, &Input::ServerAnswered { call, seen }).await?;
        }
        ToolWork::Draw { model, prompt, count, after_ms } => {
            let order = DrawOrder { prompt, count, size: None };
            tokio::select! {
                biased;
                () = controller.aborted() => return Ok(()),
                drawn = draw(&deps, &session, &request, &call, &model, &order, after_ms) => {
                    report(&deps, &reporter, &drawn?).await?;
                }
            }
        }
        ToolWork::Recall { of, key, offset, limit } => {
            let of = of.as_ref().unwrap_or_else(|| reporter.lease.session());
            let seen = recall(&deps, of, &key, offset, limit).await?;
            let _ = reporter.mailbox.send(Input::Looked { call, seen }).await;
        }
        ToolWork::Prepare { change, seen } => {
            let prepared = tokio::select! {
                biased;
                () = controller.aborted() => return Ok(()),
                prepared = prepare(&deps, &session, &folder, &change, &seen) => prepared?,
            };
            find_nested(&*workspace, &reporter, &request, &folder, change.paths()).await;
            report_background_changes(&deps, &reporter, &folder, &prepared).await?;
            let _ = reporter.mailbox.send(Input::Prepared { call, prepared }).await;
        }
        ToolWork::SelectHunks { writes, parts } => {
            let narrowed = tokio::select! {
                biased;
                () = controller.aborted() => return Ok(()),
                narrowed = narrow(deps.world.store.as_ref(), &session, &writes, &parts) => narrowed?,
            };
            let _ = reporter.mailbox.send(Input::Narrowed { call, parts, narrowed }).await;
        }
        ToolWork::Apply(plan) => {
            let problem = apply(&deps, &reporter, &plan).await?;
            report(&deps, &reporter, &Input::Applied { call, problem }).await?;
        }
        ToolWork::Run(start) => {
            run_command(&deps, &reporter, CommandOrder { request, call, folder, start: *start }, &controller).await?;
        }
        ToolWork::ReadOutput { of, id, stored, since, limit } => {
            let seen = background::read_for_model(&deps, &session, &of, &id, &stored, since, limit).await?;
            let _ = reporter.mailbox.send(Input::Looked { call, seen }).await;
        }
        ToolWork::Hook(start) => run_hook(&deps, &reporter, call, folder, *start, &controller).await?,
        ToolWork::InspectEffects(watch) => {
            inspect_effects(&deps, &reporter, call, &folder, watch).await?;
        }
    }
    Ok(())
}

/// Finds out what an interrupted command has changed.
async fn inspect_effects(
    deps: &ActorContext,
    reporter: &ActorHandle,
    call: CallId,
    folder: &str,
    watch: SnapshotLimits,
) -> Result<(), ActorError> {
    let session = reporter.lease.session();
    let before = snapshot::noted_before(deps, session, &call).await?;
    let keeps = snapshot::ended(session, &call, Some(&before));
    let effects = Box::new(snapshot::after(deps, session, &call, folder, watch, before).await?);
    report_and_keep(deps, reporter, &Input::Surveyed { call, effects }, keeps).await
}

/// Reads a skill, or another file of it, and reports it.
async fn read_skill(
    reporter: &ActorHandle,
    call: CallId,
    folder: String,
    skill: Box<ListedSkill>,
    file: Option<String>,
) {
    let read = tokio::task::spawn_blocking(move || match file {
        Some(file) => Input::Looked { seen: skills::file_of(&skill, &folder, &file), call },
        None => match skills::text_of(&skill, &folder) {
            Ok(text) => Input::SkillRead { call, skill: Some(Box::new(text)), problem: None },
            Err(problem) => Input::SkillRead { call, skill: None, problem: Some(problem) },
        },
    });
    if let Ok(read) = read.await {
        let _ = reporter.mailbox.send(read).await;
    }
}

/// Reads the agents that a call delegates to.
async fn read_agents(reporter: &ActorHandle, call: CallId, folder: String, wanted: Vec<ListedAgent>) {
    let read = tokio::task::spawn_blocking(move || {
        let (agents, problem) = read_all(&wanted, &folder);
        Input::AgentsRead { call, agents, problem }
    });
    if let Ok(read) = read.await {
        let _ = reporter.mailbox.send(read).await;
    }
}

/// The files of agents, and why one of them cannot be read.
fn read_all(wanted: &[ListedAgent], folder: &str) -> (Vec<AgentText>, Option<String>) {
    let (mut read, mut problem) = (Vec::new(), None);
    for agent in wanted {
        match agents::text_of(agent, folder) {
            Ok(text) => read.push(text),
            Err(why) => problem = Some(why),
        }
    }
    (read, problem)
}

/// Finds the agents of a request, and reads those that the user calls.
async fn list_agents(
    deps: &ActorContext,
    reporter: &ActorHandle,
    request: &RequestId,
    folder: &str,
    query: AgentQuery,
) {
    let roots = AgentRoots::new(deps.settings.as_deref(), &deps.machine.home);
    let place = folder.to_owned();
    let (agents, called, problem) = match roots.exist(query.with_folder.then_some(folder)) {
        false => (Vec::new(), Vec::new(), None),
        true => {
            let read = tokio::task::spawn_blocking(move || {
                let found = Agents::load(&roots, query.with_folder.then_some(place.as_str()));
                let known = |name: &String| found.named(name).map(|known| known.listed.clone());
                let wanted: Vec<ListedAgent> = query.called.iter().filter_map(known).collect();
                let (called, problem) = read_all(&wanted, &place);
                // The file may have changed since it was listed: what was read counts.
                let as_read = |agent: ListedAgent| match called.iter().find(|read| read.agent.path == agent.path) {
                    Some(read) => read.agent.clone(),
                    None => agent,
                };
                (found.listing().into_iter().map(as_read).collect(), called, problem)
            });
            let Ok(found) = read.await else { return };
            found
        }
    };
    let listed = Input::AgentsListed { request: request.clone(), agents, called, problem };
    let _ = reporter.mailbox.send(listed).await;
}

/// Stopped before it began: a command did not run, and that is known.
async fn aborted(deps: &ActorContext, reporter: &ActorHandle, call: CallId, work: &ToolWork) -> Result<(), ActorError> {
    match work {
        ToolWork::Run(_) => {
            let ran = Ran { stopped: true, ..Ran::default() };
            report(deps, reporter, &Input::Ran { call, ran, effects: None }).await
        }
        ToolWork::CallServer { .. } => {
            let seen = stopped_call("[Stopped by the user before the server was called.]");
            report(deps, reporter, &Input::ServerAnswered { call, seen }).await
        }
        _ => Ok(()),
    }
}

/// Calls a tool of a server, and relays what the server asks meanwhile, until the user stops it.
async fn call_server(
    deps: &ActorContext,
    reporter: &ActorHandle,
    place: mcp::CallPlace<'_>,
    plan: &ServerCallPlan,
    replies: mpsc::Receiver<ServerReply>,
    controller: &StreamController,
) -> Result<ReadResult, StoreError> {
    let (questions, asked) = mpsc::channel(1);
    let asker = CallAsker { owner: place.session.to_string(), questions };
    let call = plan.call();
    tokio::select! {
        biased;
        () = controller.aborted() => Ok(stopped_call("[Stopped by the user. The server may have done part of the work.]")),
        seen = mcp::call(deps, place, call, asker) => seen,
        () = mcp::relay_questions(reporter, &call.call, asked, replies) => Ok(stopped_call("[The session has ended.]")),
    }
}

fn stopped_call(text: &str) -> ReadResult {
    let (status, text) = (ToolStatus::Interrupted, text.to_owned());
    ReadResult { status, text, images: Vec::new(), files: Vec::new() }
}

/// The servers of a folder, once those whose tools were not known are connected.
async fn list_servers(deps: &ActorContext, session: &SessionId, folder: &str) -> Result<Vec<ListedServer>, StoreError> {
    match mcp::placed(deps, session, folder).await? {
        Some(servers) => Ok(servers.list_unknown().await),
        None => Ok(Vec::new()),
    }
}

/// Generates images and stores them. The result goes into the inbox like a model's reply, because it is paid for.
async fn draw(
    deps: &ActorContext,
    session: &SessionId,
    request: &RequestId,
    call: &CallId,
    model: &str,
    order: &DrawOrder,
    after_ms: u64,
) -> Result<Input, ActorError> {
    tokio::time::sleep(Duration::from_millis(after_ms)).await;
    let never = |problem| Fault { problem, retry: Retry::Never };
    let drawn = match deps.world.models.find(model) {
        Ok(model) => model.draw(order).await,
        Err(problem) => Err(never(problem)),
    };
    let (mut pictures, mut fault) = (Vec::new(), None);
    match drawn {
        Ok(drawn) => {
            for (number, picture) in drawn.into_iter().enumerate() {
                let key = RefKey::picture_of(request, call, number);
                let (bytes, media_type) = (picture.bytes.len() as u64, picture.media_type.to_owned());
                deps.world.store.keep(session, &key, picture.bytes).await?;
                pictures.push(MadePicture { key, media_type, bytes, revised_prompt: picture.revised_prompt });
            }
        }
        Err(found) => fault = Some(found),
    }
    Ok(Input::Drawn { call: call.clone(), time: deps.world.clock.now(), pictures, fault })
}

pub(crate) async fn report(deps: &ActorContext, reporter: &ActorHandle, input: &Input) -> Result<(), ActorError> {
    report_and_keep(deps, reporter, input, Vec::new()).await
}

/// Reports what background commands have done to the files of a change, before the change is known.
async fn report_background_changes(
    deps: &ActorContext,
    reporter: &ActorHandle,
    folder: &str,
    prepared: &Prepared,
) -> Result<(), ActorError> {
    let Prepared::Ready { writes, .. } = prepared else { return Ok(()) };
    for (call, effects) in snapshot::changed_so_far(deps, reporter.lease.session(), folder, writes).await? {
        let _ = reporter.mailbox.send(Input::BackgroundChanged { call, effects: Box::new(effects) }).await;
    }
    Ok(())
}

/// Reports a result, and stores texts in the same transaction.
pub(crate) async fn report_and_keep(
    deps: &ActorContext,
    reporter: &ActorHandle,
    input: &Input,
    keeps: Vec<(RefKey, String)>,
) -> Result<(), ActorError> {
    let input = NewInput { payload: written(input), keeps, relaxed_durability: true, ..NewInput::default() };
    deps.world.store.enqueue(reporter.lease.session(), input).await?;
    reporter.wake.notify_one();
    Ok(())
}

/// What the session has stored of files.
struct StoredTexts {
    deps: Arc<ActorContext>,
    session: SessionId,
    /// The store failed, which says nothing about the bytes.
    failed: Mutex<Option<StoreError>>,
}

#[async_trait]
impl Contents for StoredTexts {
    async fn bytes(&self, hash: &str) -> Option<Vec<u8>> {
        let key = RefKey::file_of(&self.session, hash);
        match self.deps.world.store.bytes(Some(&self.session), &key).await {
            Ok(found) => found,
            Err(error) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }
}

async fn apply(
    deps: &Arc<ActorContext>,
    reporter: &ActorHandle,
    plan: &FilePlan,
) -> Result<Option<String>, StoreError> {
    let session = reporter.lease.session().clone();
    let workspace = deps.world.workspace(&session);
    let kept = Arc::new(StoredTexts { deps: Arc::clone(deps), session, failed: Mutex::default() });
    let problem = workspace.write(plan, Arc::clone(&kept) as Arc<dyn Contents>).await.err();
    let failed = kept.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (problem, failed) {
        // It is unfinished: the next process that runs the session applies the set again.
        (Some(_), Some(error)) => Err(error),
        (problem, _) => Ok(problem),
    }
}

/// Finds out what a move of the history would make of the files.
pub(crate) async fn compare(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    folder: String,
    ways: Vec<RewindPath>,
    on_conflict: OnConflict,
) -> Result<(), ActorError> {
    let session = reporter.lease.session();
    let (store, workspace) = (deps.world.store.as_ref(), deps.world.workspace(session));
    let compared = crate::rewind::walk(store, workspace.as_ref(), session, &folder, ways, on_conflict).await?;
    let _ = reporter.mailbox.send(Input::Compared { compared }).await;
    Ok(())
}

/// Puts files as the history wants them.
pub(crate) async fn restore(deps: Arc<ActorContext>, reporter: ActorHandle, plan: FilePlan) -> Result<(), ActorError> {
    let problem = apply(&deps, &reporter, &plan).await?;
    report(&deps, &reporter, &Input::Restored { problem }).await
}

/// A part of a stored text.
async fn recall(
    deps: &ActorContext,
    session: &SessionId,
    key: &RefKey,
    offset: usize,
    limit: usize,
) -> Result<ReadResult, StoreError> {
    let seen = |status, text| ReadResult { status, text, images: Vec::new(), files: Vec::new() };
    let Some(bytes) = deps.world.store.bytes(Some(session), key).await? else {
        return Ok(seen(ToolStatus::Error, format!("Nothing is stored as ref:{key} in this session.")));
    };
    // Command output is stored unchanged, and read as a terminal would show it.
    let text = if key.is_output() { readable(&bytes).text.into() } else { String::from_utf8_lossy(&bytes) };
    let from = text.ceil_char_boundary(offset.min(text.len()));
    let to = text.floor_char_boundary(from.saturating_add(limit).min(text.len()));
    let part = &text[from..to];
    Ok(if from == 0 && to == text.len() {
        seen(ToolStatus::Ok, part.to_owned())
    } else if to == text.len() {
        seen(ToolStatus::Ok, format!("{part}\n(Bytes {from} to the end at {to}.)"))
    } else {
        let whole = text.len();
        seen(ToolStatus::Partial, format!("{part}\n(Bytes {from} to {to} of {whole}. Continue with offset {to}.)"))
    })
}

/// What the words of a request name.
pub(crate) struct Named {
    pub(crate) files: Vec<String>,
    /// Files that the user would miss.
    pub(crate) marked: Vec<String>,
    pub(crate) urls: Vec<String>,
    /// Resources of MCP servers.
    pub(crate) resources: Vec<NamedResource>,
    /// Files with instructions.
    pub(crate) instructions: Vec<String>,
    /// What is shown of the folder to a model that cannot look.
    pub(crate) overview: Option<Overview>,
    /// Whether the MCP servers are to be listed.
    pub(crate) servers: bool,
    pub(crate) skills: Option<SkillQuery>,
    pub(crate) agents: Option<AgentQuery>,
}

/// Files of a folder that are listed in an overview.
const LISTED: usize = 200;

/// The names of the folder's files, and the texts of those that a request may be about, as many as fit.
async fn overview(workspace: &dyn crate::Workspace, folder: &str, wanted: Overview, loaded: &mut Vec<LoadedFile>) {
    let op = ReadOp::Glob { pattern: "**/*".into(), path: ".".into() };
    let seen = workspace.perform_read(folder, &op).await;
    if !matches!(seen.status, ToolStatus::Ok | ToolStatus::Partial) {
        return;
    }
    let is_said = |line: &str| line.starts_with("No file fits ");
    let is_name =
        |line: &&str| !line.is_empty() && !is_said(line) && !line.starts_with(['[', '(']) && !line.ends_with('/');
    let names: Vec<String> = seen.text.lines().map(str::trim).filter(is_name).map(str::to_owned).collect();
    let mut left = wanted.bytes.saturating_sub(loaded.iter().map(|file| file.text.len()).sum());
    for path in trimtab_engine::rank_files(&names, &wanted.words) {
        if left == 0 || loaded.iter().any(|file| file.path == path) {
            continue;
        }
        let seen = workspace.perform_read(folder, &ReadOp::Read { path, offset: None, limit: None }).await;
        let Some(mark) = seen.files.first().filter(|_| seen.status == ToolStatus::Ok) else { continue };
        // A part of a file would be written back as if it were all of it.
        if seen.text.len() <= left {
            left -= seen.text.len();
            loaded.push(LoadedFile { path: mark.path.clone(), text: seen.text, hash: Some(mark.hash.clone()) });
        }
    }
    let list: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    let more = if names.len() > LISTED { format!("\n[... and {} more]", names.len() - LISTED) } else { String::new() };
    let text = if list.is_empty() { "(no files)".to_owned() } else { format!("{}{more}", list.join("\n")) };
    loaded.insert(0, LoadedFile { path: trimtab_engine::FILE_LIST.into(), text, hash: None });
}

/// Sends the instruction files beside what a tool touches.
async fn find_nested(
    workspace: &dyn crate::Workspace,
    reporter: &ActorHandle,
    request: &RequestId,
    folder: &str,
    touched: impl IntoIterator<Item = String>,
) {
    let mut files = Vec::new();
    for path in touched {
        for file in crate::instructions::beside(workspace, folder, &path).await {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    if !files.is_empty() {
        let _ = reporter.mailbox.send(Input::NestedFound { request: request.clone(), files }).await;
    }
}

/// Finds the skills of a request, and reads the one that the user calls.
async fn list_skills(
    deps: &ActorContext,
    reporter: &ActorHandle,
    request: &RequestId,
    folder: &str,
    query: SkillQuery,
) {
    let roots = SkillRoots::new(deps.settings.as_deref(), &deps.machine.home);
    let place = folder.to_owned();
    let (skills, called) = match roots.exist(query.with_folder.then_some(folder)) {
        false => (Vec::new(), None),
        true => {
            let read = tokio::task::spawn_blocking(move || {
                let found = Skills::load(&roots, query.with_folder.then_some(place.as_str()));
                let called = query.called.as_deref().and_then(|name| found.named(name));
                let called = called.and_then(|known| skills::text_of(&known.listed, &place).ok());
                (found.listing(), called.map(Box::new))
            });
            let Ok(found) = read.await else { return };
            found
        }
    };
    let _ = reporter.mailbox.send(Input::SkillsListed { request: request.clone(), skills, called }).await;
}

/// Reads what a request names and what the folder says of itself.
pub(crate) async fn load(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    request: RequestId,
    folder: String,
    named: Named,
) -> Result<(), ActorError> {
    let workspace = deps.world.workspace(reporter.lease.session());
    let Named { files, marked, urls, resources, instructions: named, overview: wanted, servers, skills, agents } =
        named;
    if let Some(query) = skills {
        list_skills(&deps, &reporter, &request, &folder, query).await;
    }
    if let Some(query) = agents {
        list_agents(&deps, &reporter, &request, &folder, query).await;
    }
    let is_placed = servers || !resources.is_empty();
    let placed = if is_placed { mcp::placed(&deps, reporter.lease.session(), &folder).await? } else { None };
    let (mut loaded, mut missing, mut left) = (Vec::new(), Vec::new(), LOADED);
    let ops = files
        .into_iter()
        .map(|path| (path.clone(), ReadOp::Read { path, offset: None, limit: None }))
        .chain(urls.into_iter().map(|url| (url.clone(), ReadOp::Fetch { url })));
    for (name, op) in ops {
        let mut seen = workspace.perform_read(&folder, &op).await;
        if let (ToolStatus::Error, ReadOp::Read { path, .. }) = (seen.status, op) {
            // It may be a folder.
            seen = workspace.perform_read(&folder, &ReadOp::List { path, depth: 2 }).await;
        }
        match seen.status {
            ToolStatus::Ok | ToolStatus::Partial if left > 0 => {
                let hash = seen.files.first().map(|mark| mark.hash.clone());
                let path = seen.files.first().map_or(name, |mark| mark.path.clone());
                let mut text = seen.text;
                if text.len() > left {
                    text.truncate(text.floor_char_boundary(left));
                    text.push_str("\n[... the rest is left out; read it with read_file ...]");
                }
                left = left.saturating_sub(text.len());
                loaded.push(LoadedFile { path, text, hash });
            }
            _ => missing.push(name),
        }
    }
    let unread = mcp::load_resources(placed.as_ref(), resources, &mut loaded, &mut left).await;
    let servers = placed.filter(|_| servers);
    if let Some(wanted) = wanted {
        overview(&*workspace, &folder, wanted, &mut loaded).await;
    }
    let mut absent = Vec::new();
    for path in marked.into_iter().filter(|path| missing.contains(path)) {
        if let Some(like) = workspace.absent(&folder, &path).await {
            absent.push(AbsentFile { path, like: like.into_iter().next() });
        }
    }
    let mut instruction_files = match named.is_empty() {
        true => Vec::new(),
        false => crate::instructions::outer(&deps, &folder).await,
    };
    for name in named {
        // The usual names are optional, so a missing one is not reported.
        let is_usual = sensitive_paths::INSTRUCTIONS.contains(&name.as_str());
        match crate::instructions::read(&*workspace, &folder, &name).await {
            Some(file) => instruction_files.push(file),
            _ if is_usual => {}
            _ => missing.push(name),
        }
    }
    let listing = servers.as_ref().map(mcp::FolderServers::listing);
    let (files, listed) = (loaded, listing.clone());
    let loaded = Input::Loaded {
        request,
        files,
        missing,
        absent,
        instructions: None,
        instruction_files,
        servers: listed,
        unread,
    };
    let _ = reporter.mailbox.send(loaded).await;
    // The request does not wait for this, and this ends with the request.
    if let Some(servers) = servers {
        servers.follow(&deps.hub, &reporter, listing.unwrap_or_default()).await;
    }
    Ok(())
}

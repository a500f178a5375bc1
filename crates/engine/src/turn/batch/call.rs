//! The stages of one call: *offered → trust → hooks → prepare → permit → act*. A stage passes it on, or decides what
//! happens instead. When the thing that it waits for arrives, such as a preparation or an answer, the call continues.

use std::sync::Arc;

use serde_json::json;
use trimtab_vocab::checkpoint::PermissionAsk;
use trimtab_vocab::event::{CommandFact, McpFact, ProposalFact, Stage, StepsFact, ToolFact, ToolStatus};
use trimtab_vocab::wording::{PermissionReason, Refusal};
use trimtab_vocab::{
    ApprovalClass, Approve, CallId, ChangeSetId, CommandClass, CommandRun, FileSet, FileWrite, HookEvent, Plan,
    ProposalId, ReadOp, RefKey, RequestId, Rule, RuleVerdict, Sandbox, ServerCall, SubTaskPlan, Todo,
};

use super::asking::{PermissionRequest, ask, ask_permission};
use super::ended::finished;
use super::stopping::SKIPPED;
use super::{find, has_said};
use crate::agents;
use crate::flow;
use crate::hooks::{self, HookMoment};
use crate::permit::{self, AllowedByAnswer, Permit, Prospect, Ruling};
use crate::pictures;
use crate::proposal::command;
use crate::record::names::choice::DENIED;
use crate::record::{BatchItem, FlowState, Progress, RunningRequest, Session, WithheldResult};
use crate::route;
use crate::subtasks;
use crate::tools::{self, ServerAction, ToolAction, ToolOffer};
use crate::transition::Transition;
use crate::turn::{answers, background, choosing, guard, network, outside, overtime, prompt, servers, skills, watched};
use crate::words::pill;
use crate::{BackgroundWait, Effect, Input, WorkerReport};

/// A call in the stages.
struct StagedCall {
    request: RequestId,
    call: CallId,
    item: BatchItem,
    action: Arc<ToolAction>,
}

/// Takes a call through the stages, as far as it can go now.
pub(crate) fn run_call(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    // What came before may have ended it, or asked about it.
    if item.progress != Progress::Started {
        return;
    }
    let Some(action) = offered(step, call, &item) else { return };
    let staged = StagedCall { request, call: call.clone(), item, action };
    if step.session.active().is_some_and(|active| subtasks::has_answer(active, call)) {
        return subtasks::advance(step, call, &SubTaskPlan::default());
    }
    if let ToolAction::Delegate(plan) = &*staged.action {
        let is_let = trust(step, &staged).is_some() && hooks(step, &staged).is_some();
        let asks = staged.item.hooks.before.asks.is_some();
        if is_let && (!asks || permit(step, &staged).is_some()) {
            subtasks::advance(step, call, plan);
        }
        return;
    }
    if trust(step, &staged).is_some() && hooks(step, &staged).is_some() && prepare(step, &staged).is_some() {
        permit_and_act(step, call);
    }
}

/// The last two stages, for a call that was answered within the same step.
pub(super) fn permit_and_act(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    let Ok(action) = item.action.clone() else { return };
    let action = if item.outside { Arc::new(outside::unfenced(&action)) } else { action };
    let staged = StagedCall { request, call: call.clone(), item, action };
    if let Some(permitted) = permit(step, &staged) {
        act(step, staged, permitted);
    }
}

/// Why a call goes no further than the first stage.
enum NotOffered {
    /// The pill of the request, or a skill, leaves the tool out.
    ByPill(String),
    /// The turn has no tools.
    NoTools,
    /// Nothing is changed while a plan is made.
    PlanMode,
    /// The call cannot be read.
    Unreadable(String),
}

impl NotOffered {
    fn status(&self) -> ToolStatus {
        match self {
            Self::ByPill(_) | Self::PlanMode => ToolStatus::Blocked,
            Self::NoTools | Self::Unreadable(_) => ToolStatus::Error,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::ByPill(reason) | Self::Unreadable(reason) => reason,
            Self::NoTools => "There are no tools in this turn. Answer in text.".to_owned(),
            Self::PlanMode => Refusal::PlanMode.into(),
        }
    }
}

/// Stage 1: the request has this tool, and the call can be read.
fn offered(step: &mut Transition<'_>, call: &CallId, item: &BatchItem) -> Option<Arc<ToolAction>> {
    match action_of(step.session.active()?, item) {
        Ok(action) => Some(action),
        Err(refused) => {
            finished(step, call, refused.status(), refused.into_text());
            None
        }
    }
}

fn action_of(active: &RunningRequest, item: &BatchItem) -> Result<Arc<ToolAction>, NotOffered> {
    let name = &item.call.name;
    // What narrows the tools of a model says nothing about the user's checks.
    if is_own(active) || item.check().is_some() {
        return item.action.clone().map_err(NotOffered::Unreadable);
    }
    if let Some(pill) = active.request.pill.as_deref().filter(|pill| !pill::allows(pill, name)) {
        return Err(NotOffered::ByPill(pill::refusal(pill, name)));
    }
    if let Some(reason) = skills::refusal(active, name).or_else(|| agents::refusal(&active.request, name)) {
        return Err(NotOffered::ByPill(reason));
    }
    let is_read_only = || match item.action.as_deref() {
        Ok(ToolAction::CallServer(call)) => call.tool.read_only,
        _ => tools::registry().get(name).is_some_and(|tool| tool.read_only),
    };
    match route::offer(active.path()) {
        ToolOffer::Nothing => Err(NotOffered::NoTools),
        ToolOffer::Looking if !is_read_only() => Err(NotOffered::PlanMode),
        ToolOffer::Looking | ToolOffer::Everything => item.action.clone().map_err(NotOffered::Unreadable),
    }
}

/// Whether the program itself makes the calls, because the user has asked for pictures.
fn is_own(active: &RunningRequest) -> bool {
    active.batch.as_ref().is_some_and(|batch| batch.of_pictures)
}

/// Stage 2: the folder is trusted. The user may not have been asked yet.
fn trust(step: &mut Transition<'_>, staged: &StagedCall) -> Option<()> {
    let active = step.session.active()?;
    if !staged.action.touches_the_folder() || permit::is_trusted(step.session, active) {
        return Some(());
    }
    if active.trust.answer != Some(false) {
        answers::ask_for_trust(step);
        return None;
    }
    let text = match is_own(active) {
        true => "The folder is not trusted, so you cannot write to it.",
        false => "The user does not trust this folder, so you cannot read or change it.",
    };
    finished(step, &staged.call, ToolStatus::Blocked, text.into());
    None
}

/// Stage 3: the hooks before the call have run, and none refuses it. They come after trust, because nothing of a folder
/// runs before it is trusted, and before the preparation, because what they refuse is neither prepared nor asked about.
fn hooks(step: &mut Transition<'_>, staged: &StagedCall) -> Option<()> {
    if step.session.listed_hooks().is_empty() {
        return Some(());
    }
    let moment = HookMoment::of_call(step.session, HookEvent::PreToolUse, &staged.call)?;
    let gate = hooks::pass(step, &moment)?;
    let failed = gate.asks.as_ref().and_then(|objection| hooks::refusal(step.session, objection));
    match gate.blocked.map(Refusal::HookBlocked).or(failed) {
        Some(refusal) => {
            refuse(step, &staged.call, refusal);
            None
        }
        None => Some(()),
    }
}

/// The hooks before a question about a permission have run, and none refuses the call.
fn may_ask(step: &mut Transition<'_>, call: &CallId) -> Option<()> {
    if step.session.listed_hooks().is_empty() {
        return Some(());
    }
    let moment = HookMoment::of_call(step.session, HookEvent::PermissionRequest, call)?;
    match hooks::pass(step, &moment)?.blocked {
        Some(reason) => {
            refuse(step, call, Refusal::HookBlocked(reason));
            None
        }
        None => Some(()),
    }
}

/// A call that a hook wants asked about needs an answer, even if it was allowed.
fn unless_hooked(session: &Session, item: &BatchItem, action: &ToolAction, ruling: Ruling) -> Ruling {
    let Some(objection) = &item.hooks.before.asks else { return ruling };
    match ruling {
        Ruling::Refuse(_) => ruling,
        Ruling::Ask { class, .. } if class.needs_person() => ruling,
        Ruling::Go(_) | Ruling::Ask { .. } => {
            let (class, reason) = (ApprovalClass::Hook, hooks::reason(objection));
            Ruling::Ask { class, reason, rule: rule_about(session, action) }
        }
    }
}

/// Stage 4: what a change would make of the files is known, because it is what the user approves.
fn prepare(step: &mut Transition<'_>, staged: &StagedCall) -> Option<()> {
    if staged.item.starts_in_background()
        && let Some(objection) = background::objection(step.session)
    {
        finished(step, &staged.call, ToolStatus::Error, objection);
        return None;
    }
    let ToolAction::Change(change) = &*staged.action else { return Some(()) };
    if staged.item.writes.is_some() {
        return Some(());
    }
    // What will be refused anyway needs no preparation.
    let ruling = permit::judge(step.session, step.session.active()?, &staged.action, Prospect::default());
    if let Ruling::Refuse(refusal) = ruling {
        finished(step, &staged.call, ToolStatus::Blocked, refusal.into());
        return None;
    }
    let mark = |path: String| Some((step.session.mark(path.trim_start_matches("./"))?.to_owned(), path));
    let seen = change.paths().into_iter().filter_map(mark).map(|(hash, path)| (path, hash)).collect();
    let request = staged.request.clone();
    step.request(Effect::Prepare { request, call: staged.call.clone(), change: change.clone(), seen });
    None
}

/// A call that may act: by what, and the command that was judged.
struct PermittedCall {
    permit: Permit,
    run: Option<CommandRun>,
}

/// Stage 5: it is allowed. Asks if the user must decide, and refuses what is denied.
fn permit(step: &mut Transition<'_>, staged: &StagedCall) -> Option<PermittedCall> {
    let StagedCall { request, call, item, action } = staged;
    if item.hooks.before.asks.is_none()
        && let Some(permit) = Permit::unneeded(action)
    {
        return Some(PermittedCall { permit, run: None });
    }
    decided(step, staged)?;
    // What the user wants of it is worked out first: that is what is applied.
    if let Some(effect) = choosing::narrow(request, item) {
        step.request(effect);
        return None;
    }
    let active = step.session.active()?;
    let run = run_of(step.session, call, action);
    let answer = match &run {
        Some(run) if item.given.as_ref().is_some_and(|given| !given.of_outcome) => AllowedByAnswer::of_run(item, run),
        _ => AllowedByAnswer::from_item(item),
    };
    let ruling = permit::judge(step.session, active, action, Prospect::from_item(item));
    let ruling = unless_blocked(step.session, item, action, ruling);
    let ruling = unless_hooked(step.session, item, action, ruling);
    let answered = |class: ApprovalClass| answer.as_ref().and_then(|answer| Permit::answered(answer, class));
    match ruling {
        Ruling::Go(permit) => return Some(PermittedCall { permit, run }),
        Ruling::Ask { class, .. } if let Some(permit) = answered(class) => return Some(PermittedCall { permit, run }),
        Ruling::Refuse(refusal) => refuse(step, call, refusal),
        // In unattended runs, the model can fix this itself.
        Ruling::Ask { reason: PermissionReason::ReplacesUnread, .. } if is_alone(active) => {
            let path = item.writes.iter().flatten().map(|write| write.path.as_str()).next().unwrap_or_default();
            refuse(step, call, Refusal::Unread(path.to_owned()));
        }
        Ruling::Ask { class, reason, rule } => {
            may_ask(step, call)?;
            ask_permission(step, call, action, item, PermissionRequest { class, reason, rule }, run);
        }
    }
    None
}

/// Whether the call is still undecided: a withheld result, a denial, and a skip end it.
fn decided(step: &mut Transition<'_>, staged: &StagedCall) -> Option<()> {
    let StagedCall { request, call, item, .. } = staged;
    // What failed in the sandbox has come to that, unless the user wants it run outside.
    let is_wanted = item.outside || item.again.widened || item.again.reaches.is_some();
    if let Some(WithheldResult { status, preview, full, files }) = item.held.clone().filter(|_| !is_wanted) {
        let images = Vec::new();
        step.emit(Some(request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
        return None;
    }
    let given = item.given.as_ref();
    if has_said(item, answers::NEVER) || has_said(item, DENIED) {
        deny(step, call, given.and_then(|given| given.text.as_deref()));
        return None;
    }
    if !has_said(item, answers::SKIP) {
        return Some(());
    }
    if given.is_some_and(|given| !given.of_outcome) {
        finished(step, call, ToolStatus::Blocked, SKIPPED.to_owned());
        return None;
    }
    let mut text = match item.server_call() {
        Some(_) => "Trimtab was interrupted during this call. The result is unknown, and the server may have done part of the work. It was not called again.",
        None => "Trimtab was interrupted while this command was running. The result is unknown, and the command may have done part of its work. It was not run again.",
    }
    .to_owned();
    if let Some(files) = watched::after_all(step.session, request, call) {
        text.push_str(&format!(" {files}"));
    }
    finished(step, call, ToolStatus::Error, text);
    None
}

/// Stage 6: does it.
fn act(step: &mut Transition<'_>, staged: StagedCall, permitted: PermittedCall) {
    let StagedCall { request, call, item, action } = staged;
    let PermittedCall { permit, run } = permitted;
    match &*action {
        ToolAction::Read(op) => step.request(Effect::Read { request, call, op: op.clone() }),
        ToolAction::Fetch { url, host } => {
            step.emit(Some(&request), tools::interrogating(Stage::Running, host));
            step.audit(&request, "fetch", json!({"op": "fetch", "host": host, "url": url}));
            step.request(Effect::Read { request, call, op: ReadOp::Fetch { url: url.clone() } });
        }
        ToolAction::SearchWeb { query } => {
            let service = step.session.active().map(|active| active.request.settings.web_search.clone());
            let service = service.unwrap_or_default();
            step.emit(Some(&request), tools::interrogating(Stage::Running, &service));
            step.audit(&request, "fetch", json!({"op": "web_search", "host": service, "query": query}));
            step.request(Effect::Read { request, call, op: ReadOp::WebSearch { query: query.clone() } });
        }
        ToolAction::Stored { key, offset } => {
            let Some(active) = step.session.active() else { return };
            let limit = guard::limit(&prompt::model(&active.request).1) - 512;
            step.request(Effect::Recall { request, call, of: None, key: key.clone(), offset: *offset, limit });
        }
        ToolAction::Change(_) => {
            let Some(writes) = item.writes else { return };
            // The file may already be as the change leaves it. After a kill, that could not be told from a change
            // that was written, so it is not started.
            if item.is_stale {
                let text = "Not changed: an undo or redo changed the file after this was prepared. Read it again.";
                if subtasks::merge_again(step, &call, "An undo or redo changed a file.") {
                    return;
                }
                return finished(step, &call, ToolStatus::Error, text.to_owned());
            }
            let proposal = ProposalId::for_call(&request, &call);
            step.emit(Some(&request), ProposalFact::Resolved { proposal, verdict: answers::APPROVED.into() });
            let set = file_set(step.session, &request, &call, writes);
            step.request(Effect::Apply { request, call, plan: permit.files(set).as_first_attempt() });
        }
        ToolAction::Run { command, timeout_s, background, .. } => {
            let Some(asked) = run else { return };
            let run = fenced_for(step.session, &item, &permit, command, *timeout_s, asked);
            let wait = background.as_ref().map(|start| BackgroundWait { ready: start.ready.clone() });
            start_command(step, &request, &call, permit, run, StartedFrom { edited: item.origin.edited_from, wait });
        }
        ToolAction::ReadOutput { id, since } => background::read_output(step, request, call, id, *since),
        ToolAction::StopCommand { id } => background::stop_by_model(step, &call, id),
        ToolAction::UseSkill { name, file } => skills::begin(step, request, &call, name, file.as_deref()),
        ToolAction::FindTool { .. } => servers::find(step, request, &call),
        ToolAction::CallServer(action) => call_server(step, request, call, permit, action),
        ToolAction::Steps(todos) => set_steps(step, &request, &call, todos.clone()),
        ToolAction::Plan(plan) => propose(step, &request, &call, plan.clone()),
        ToolAction::Ask { question, options } => ask(step, &call, question, options),
        // Workers are started before the permit: what they make becomes a change, which is what is permitted.
        ToolAction::Delegate(_) => {}
        ToolAction::WriteShared { key, value } => share(step, &call, key.clone(), value.clone()),
        ToolAction::ReadShared => {
            let Some(parent) = step.session.lineage().role.as_ref().map(|role| role.parent.clone()) else { return };
            let Some(active) = step.session.active() else { return };
            let limit = guard::limit(&prompt::model(&active.request).1) - 512;
            let (key, of) = (RefKey::shared_by(&parent), Some(parent));
            step.request(Effect::Recall { request, call, of, key, offset: 0, limit });
        }
        ToolAction::Draw { prompt, count } => pictures::draw(step, &call, prompt, *count, 0),
    }
}

/// How a command came to start.
struct StartedFrom {
    /// The command as the model had asked for it, if the user has edited it.
    edited: Option<String>,
    /// It continues in the background.
    wait: Option<BackgroundWait>,
}

/// Starts a command in the fence that it has.
fn start_command(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: &CallId,
    permit: Permit,
    run: CommandRun,
    from: StartedFrom,
) {
    let Some(active) = step.session.active() else { return };
    let CommandRun { command, argv, cwd, .. } = run.clone();
    let watch = watched::watch_run(step.session, &run);
    let (sandbox, automatic) = (Some(run.sandbox).filter(|sandbox| *sandbox == Sandbox::Off), run.automatic);
    let network = network::plan(step.session, active, &run);
    // Without the user's decision, there is no plan for a command outside of the sandbox.
    let Some(plan) = permit.command(run, active.request.settings.commands.sandbox) else {
        return refuse(step, call, Refusal::NeedsPerson);
    };
    let started = CommandFact::Started {
        call: Some(call.clone()),
        command,
        argv,
        cwd,
        fingerprint: plan.fingerprint().map(str::to_owned),
        edited_from: from.edited,
        sandbox,
        automatic,
        background: from.wait.is_some(),
    };
    step.emit(Some(request), started);
    let background = from.wait;
    let plan = plan.in_network(network).guarded(step.session.files_of_own_hooks());
    step.request(Effect::Run { request: request.clone(), call: call.clone(), plan, watch, background });
}

/// Calls a tool of a server. The intent is recorded first: after a kill, the call is asked about and never repeated.
fn call_server(step: &mut Transition<'_>, request: RequestId, call: CallId, permit: Permit, action: &ServerAction) {
    let ServerAction { server, tool, input, .. } = action;
    let (server, tool) = (server.clone(), tool.name.clone());
    step.audit(&request, "mcp", json!({"op": "call", "server": server, "tool": tool}));
    step.emit(Some(&request), McpFact::Called { call: call.clone(), server: server.clone(), tool: tool.clone() });
    let plan = permit.server_call(ServerCall { call: call.clone(), server, tool, input: input.clone() });
    step.request(Effect::CallServer { request, call, plan });
}

/// Writes down something for the other workers.
fn share(step: &mut Transition<'_>, call: &CallId, key: String, value: serde_json::Value) {
    let role = step.session.lineage().role.as_ref().map(|role| role.parent.clone());
    let (Some(parent), Some(worker)) = (role, step.session.id().cloned()) else { return };
    step.tell(parent, Input::WorkerReported { worker, report: WorkerReport::Shared { key, value } });
    finished(step, call, ToolStatus::Ok, "The other workers can read it now.".into());
}

fn set_steps(step: &mut Transition<'_>, request: &RequestId, call: &CallId, todos: Vec<Todo>) {
    if step.session.active().is_some_and(|active| active.flow.is_under_way()) {
        let text = "The plan is the list of steps, and Trimtab updates it. Continue with this step.".into();
        return finished(step, call, ToolStatus::Ok, text);
    }
    let open = todos.iter().filter(|todo| !todo.completed).count();
    step.emit(Some(request), StepsFact { todos });
    let enough = flow::pace::enough(step.session).map(|text| format!(" {text}")).unwrap_or_default();
    finished(step, call, ToolStatus::Ok, format!("The user sees the list; {open} steps are open.{enough}"));
}

fn propose(step: &mut Transition<'_>, request: &RequestId, call: &CallId, plan: Plan) {
    if step.session.active().is_none_or(|active| active.flow.state != FlowState::Planning) {
        return finished(step, call, ToolStatus::Error, "No plan is needed now. Continue with the work.".into());
    }
    flow::plan::propose(step, request, plan, "model");
    finished(step, call, ToolStatus::Ok, "The user sees the plan. Wait for their answer.".into());
}

/// The command with the fence that its approval calls for. What the user approved stays as it was approved. What no
/// person approved gets the fence of its class, also under `--approve auto`: no answer of a program uncovers a secret.
fn fenced_for(
    session: &Session,
    item: &BatchItem,
    permit: &Permit,
    command: &str,
    timeout_s: Option<u64>,
    asked: CommandRun,
) -> CommandRun {
    let as_class = |asked: CommandRun| CommandRun {
        sandbox: asked.sandbox,
        terminal: asked.terminal,
        background: asked.background,
        hosts: asked.hosts,
        ..command_run(session, &item.call_id, command, timeout_s, true)
    };
    // A yes to hosts is not a yes to more files.
    if item.again.reaches.is_some() && item.automatic.is_some() && asked.sandbox != Sandbox::Off {
        return CommandRun { automatic: Some(CommandClass::Check), ..as_class(asked) };
    }
    // A check has the fence of checks, also if it only reads and if a person said yes to it, unless there is no such fence.
    if item.check().is_some() && item.blocked.is_none() && asked.sandbox != Sandbox::Off {
        let is_by_setting = permit.is_standing() && !permit.is_answer();
        let run = if is_by_setting { as_class(asked) } else { asked };
        return CommandRun { automatic: Some(CommandClass::Check), ..run };
    }
    // Outside the sandbox, a class has nothing to restrict.
    if !permit.is_standing() || asked.sandbox == Sandbox::Off {
        return asked;
    }
    let writes_repository = asked.sandbox == Sandbox::Workspace && writes_only_by_git(session, command);
    // A rule that names `git commit` is meant to commit.
    if permit.is_answer() || (permit.is_rule() && writes_repository) {
        return CommandRun { automatic: Some(CommandClass::Check), writes_repository, ..asked };
    }
    as_class(asked)
}

/// Whether every part of a line is git, so that nothing else can write where git writes, and some of it may write.
fn writes_only_by_git(session: &Session, command: &str) -> bool {
    let Some(active) = session.active() else { return false };
    let policy = permit::policy(session, active);
    let parts = command::judge(command, &policy).argv.unwrap_or_default();
    let is_git = |part: &Vec<String>| matches!(part.first().map(String::as_str), Some("git" | "cd"));
    !parts.is_empty() && parts.iter().all(is_git) && !command::only_looks(command, &policy)
}

/// What would be run, if the user approves it.
pub(super) fn run_of(session: &Session, call: &CallId, action: &ToolAction) -> Option<CommandRun> {
    let ToolAction::Run { command, timeout_s, outside, terminal, background } = action else { return None };
    let background = background.is_some();
    let item = session.active().and_then(|active| active.batch.as_ref()?.item(call));
    let hosts = item.and_then(|item| item.again.reaches.clone()).unwrap_or_default();
    let asked = command_run(session, call, command, *timeout_s, false);
    let run = CommandRun { terminal: *terminal, background, hosts, ..asked };
    // Leaving the sandbox is a separate permission, and part of what is approved.
    Some(if outside.is_some() { CommandRun { sandbox: Sandbox::Off, ..run } } else { run })
}

/// A sentence in the form after "because".
fn as_clause(sentence: &str) -> String {
    let mut letters = sentence.trim().trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A command that did not start or was stopped when it ran automatically needs an answer now, even if it was allowed.
fn unless_blocked(session: &Session, item: &BatchItem, action: &ToolAction, ruling: Ruling) -> Ruling {
    let Ruling::Go(permit) = &ruling else { return ruling };
    let (class, reason) = match (&item.blocked, item.again.widened) {
        (Some(reason), _) => (ApprovalClass::Unprotected, PermissionReason::Unprotected(as_clause(reason))),
        (None, true) => (ApprovalClass::Command, PermissionReason::StoppedWriting),
        (None, false) if let Some(hosts) = &item.again.reaches => {
            (ApprovalClass::NewHost, PermissionReason::NewHost(hosts.join(", ")))
        }
        (None, false) if writes_unasked(session, item, permit) => {
            (ApprovalClass::Command, PermissionReason::BackgroundWrites)
        }
        (None, false) => return ruling,
    };
    Ruling::Ask { class, reason, rule: rule_about(session, action) }
}

/// Whether a command would run in the background and could write there, and neither the user nor their rule has said yes
/// to it. Its file changes can be undone only when it has ended, and control files that it makes are found only then.
fn writes_unasked(session: &Session, item: &BatchItem, permit: &Permit) -> bool {
    let (Some(active), Some(command)) = (session.active(), item.command()) else { return false };
    let is_by_setting = permit.is_standing() && !permit.is_rule() && !permit.is_answer();
    item.starts_in_background()
        && is_by_setting
        && active.request.settings.commands.sandbox == Sandbox::Workspace
        && command::judge(command, &permit::policy(session, active)).class == CommandClass::Check
}

/// The rule that names exactly this command here.
pub(super) fn rule_about(session: &Session, action: &ToolAction) -> Rule {
    let command = if let ToolAction::Run { command, .. } = action { command.trim() } else { "" };
    let (tool, pattern, folder) = ("run_command".into(), command.to_owned(), session.rules_folder().map(str::to_owned));
    Rule { verdict: RuleVerdict::Allow, tool, pattern, folder }
}

/// Whether the run is unattended and does not deny every prompt (`--approve deny`).
pub(super) fn is_alone(active: &RunningRequest) -> bool {
    !active.request.settings.attended && answers::approve(active) != Approve::Deny
}

fn deny(step: &mut Transition<'_>, call: &CallId, reason: Option<&str>) {
    let mut text = Refusal::Denied.to_string();
    if let Some(reason) = reason {
        text.push_str(&format!(" They say: {reason}"));
    }
    refuse(step, call, text);
}

pub(in crate::turn) fn refuse(step: &mut Transition<'_>, call: &CallId, reason: impl Into<String>) {
    if let Some((request, BatchItem { writes: Some(_), .. })) = find(step, call) {
        let proposal = ProposalId::for_call(&request, call);
        step.emit(Some(&request), ProposalFact::Resolved { proposal, verdict: "rejected".into() });
    }
    finished(step, call, ToolStatus::Blocked, reason.into());
}

pub(super) fn file_set(session: &Session, request: &RequestId, call: &CallId, writes: Vec<FileWrite>) -> FileSet {
    let folder = session.folder().unwrap_or_default().to_owned();
    FileSet { change_set: ChangeSetId::for_call(request, call), folder, writes }
}

fn command_run(session: &Session, call: &CallId, command: &str, timeout_s: Option<u64>, by_itself: bool) -> CommandRun {
    let active = session.active();
    let settings = active.map(|active| active.request.settings.clone()).unwrap_or_default();
    let verdict = active.map(|active| command::judge(command, &permit::policy(session, active)));
    let class = verdict.as_ref().map(|verdict| verdict.class);
    let limit =
        overtime::limit(&settings, command, verdict.as_ref().and_then(|verdict| verdict.argv.as_deref()), timeout_s);
    let (direct, rewritten, git_folders) =
        verdict.map_or((None, None, Vec::new()), |verdict| (verdict.direct, verdict.rewritten, verdict.git_folders));
    let git_folders = if by_itself { git_folders } else { Vec::new() };
    let plain_git = !git_folders.is_empty();
    let direct = direct.map(|argv| if plain_git { command::shown_by_git(argv) } else { argv });
    // What the user has read runs as it stands.
    let line = rewritten.filter(|_| by_itself).unwrap_or_else(|| command.to_owned());
    let argv = direct.unwrap_or_else(|| vec![settings.machine.shell.clone(), "-c".into(), line]);
    let folder = session.folder().unwrap_or_default().to_owned();
    CommandRun {
        call: call.clone(),
        command: command.into(),
        argv,
        cwd: folder.clone(),
        timeout_s: limit.seconds,
        attended: overtime::is_attended(&settings),
        archive: settings.commands.archive_output,
        plain_git,
        git_folders,
        terminal: false,
        background: false,
        sandbox: settings.commands.sandbox,
        automatic: class.filter(|_| by_itself && settings.commands.sandbox != Sandbox::Off),
        writes_repository: false,
        folder,
        hosts: Vec::new(),
    }
}

/// Whether the rules now answer the question about a call: their choice.
pub(in crate::turn) fn ruled(session: &Session, active: &RunningRequest, ask: &PermissionAsk) -> Option<&'static str> {
    let item = active.batch.as_ref()?.item(&ask.call)?;
    let action = item.action.as_ref().ok()?;
    // A level that was chosen since does not answer it: the user who goes through the levels must not approve anything.
    let level = session.autonomy_for(&active.request.settings).min(ask.autonomy.unwrap_or_default());
    let ruling = permit::judge_at(level, session, active, action, Prospect::from_item(item));
    let ruling = unless_hooked(session, item, action, unless_blocked(session, item, action, ruling));
    match ruling {
        Ruling::Go(_) => Some(answers::ALLOW),
        Ruling::Refuse(_) => Some(DENIED),
        Ruling::Ask { .. } => None,
    }
}

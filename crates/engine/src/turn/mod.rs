//! A turn: the prompt goes out, the reply comes in, and what it means is decided here.

pub(crate) mod agents;
mod answer_message;
mod answer_schema;
pub mod answers;
pub(crate) mod background;
pub(crate) mod batch;
mod blocks;
mod checks;
pub mod choosing;
mod circles;
mod claims;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod elicitation;
pub mod ending;
mod fallback;
mod fit;
pub(crate) mod further;
mod goal;
mod gone;
pub(crate) mod guard;
pub(crate) mod hooks;
pub mod instructions;
mod learning;
mod network;
mod noop;
pub(crate) mod outcome;
pub(crate) mod outside;
pub(crate) mod overtime;
pub(crate) mod prompt;
pub mod reflection;
pub mod series;
pub(crate) mod servers;
pub(crate) mod skills;
pub(crate) mod structured;
mod summary;
pub(crate) mod title;
mod watched;

use serde_json::json;
use trimtab_vocab::event::{
    AbsentFile, BugFact, ContextFact, DoneFacts, Level, LoadedFile, ModelFact, ReplyFact, RequestFact, RouteDecision,
    RouteFact, Stage, Status, UnreadResource, UsageFact,
};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{Notice, ProblemText, StageLabel};
use trimtab_vocab::{
    AskPurpose, CallId, ContextStrategy, Fault, InstructionFile, LearnedFacts, ListedServer, Message, ModelFacts,
    NamedResource, Part, Problem, ProblemKind, Purpose, RefKey, Reply, RequestId, Retry, StopReason, TimerId, Usage,
    sensitive_paths,
};

use crate::calls::{budget, fast, model, purpose, retry, send, send_with};
use crate::finish::{finish, finish_for};
use crate::flow::{self, conversation};
use crate::proposal::command::visible;
use crate::record::{Phase, RequestKind, RunningRequest, Session};
use crate::tokens::estimate;
use crate::tools;
use crate::transition::{Next, Transition};
use crate::{
    Effect, Input, Interrupted, Overview, Partial, SkillQuery, assistant, handoff, history, permit, pictures, route,
    subtasks, words,
};
use claims::ReplyRead;

pub use context::SUMMARY;
pub use prompt::{AGENT_CHAT_SYSTEM_PROMPT, AGENT_SYSTEM_PROMPT};

/// There is room: begin.
pub(crate) fn admitted(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = active(step, request).filter(|active| active.phase == Phase::Admitting) else { return };
    match active.kind() {
        // It had ended because no one could answer, and continues where it was.
        _ if active.route.is_some() => {
            subtasks::restart_workers(step);
            answers::go_on(step);
        }
        RequestKind::Tasks => assistant::go_on(step),
        RequestKind::Gallery => pictures::begin(step),
        RequestKind::Turn => match conversation::decide(step.session, active) {
            Some(conversation::TalkOrWork::Refused(problem)) => conversation::refuse(step, problem),
            Some(conversation::TalkOrWork::Path(decided, intent)) => {
                if let Some(intent) = intent {
                    step.emit(Some(request), intent);
                }
                routed(step, *decided);
            }
            None => route::begin(step),
        },
    }
}

/// Does what a room has left to the turn.
pub(crate) fn resume(step: &mut Transition<'_>, left: Next) {
    match left {
        Next::Turn => next(step),
        Next::Routed(decided) => routed(step, *decided),
        Next::Batch => batch::advance(step),
        Next::Call { call } => {
            batch::run_call(step, &call);
            batch::advance(step);
        }
        Next::CallEnded { call, status, text } => {
            batch::finished(step, &call, status, text);
            batch::advance(step);
        }
        Next::PlanAsSubtasks => subtasks::run_plan(step),
        Next::PlanEnded { answer } => {
            let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
            let (status, problem) = claims::ending(step.session, answer.as_deref().unwrap_or_default());
            if let Some(words) = answer {
                ending::answer(step, &words, None);
            }
            finish(step, &request, status, problem);
        }
    }
}

/// It is decided which path the request takes.
fn routed(step: &mut Transition<'_>, decided: RouteFact) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    crate::hooks::tell_pending(step, &request);
    checks::tell_pending(step, &request);
    let categories = decided.categories.join(", ");
    let decision = decided.decision;
    step.emit(Some(&request), decided);
    if !categories.is_empty() {
        step.enter(&request, Stage::Routing, StageLabel::Routing(categories));
    }
    if decision == RouteDecision::Image && !step.session.active().is_some_and(RunningRequest::makes_pictures) {
        step.notify(&request, Level::Warning, Notice::NoImageModel);
    }
    title::ask(step);
    load_or_next(step);
}

/// Reads what the request names and what the folder says of itself, if it may and has not yet.
pub(crate) fn load_or_next(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    if active.kind() == RequestKind::Tasks {
        return assistant::go_on(step);
    }
    if !active.loaded && !hooks::may_begin(step) {
        return;
    }
    let Some(active) = step.session.active() else { return };
    if active.loaded || !pictures::reads_its_words(active) {
        return next(step);
    }
    let request = active.request.id.clone();
    let works = [active.route, active.path()].map(route::offer).iter().any(|offer| *offer != tools::ToolOffer::Nothing);
    // With images, the text is not searched for references.
    let mut named = if active.request.images.is_empty() {
        words::references_of(&active.request)
    } else {
        words::References::default()
    };
    if active.makes_pictures() {
        pictures::add_readme(&active.request.text, &mut named);
    }
    let trusted = permit::is_trusted(step.session, active);
    // Agents and workers work in copies of the folder, and the plan of sub-tasks is paid for.
    let is_handed_over = (active.request.settings.subtasks.agent.is_some() || subtasks::is_wanted(active))
        && step.session.folder().is_some();
    let names_something = (named.is_explicit && !named.files.is_empty()) || !named.resources.is_empty();
    if !trusted && (names_something || is_handed_over) && active.trust.answer.is_none() {
        return answers::ask_for_trust(step);
    }
    let (files, marked) = if trusted { (named.files, named.marked) } else { (Vec::new(), Vec::new()) };
    let allowed = |url: &String| tools::host_of(url).is_some_and(|host| permit::may_fetch(step.session, &host));
    let urls: Vec<String> = named
        .urls
        .into_iter()
        .filter(|named| named.is_explicit || allowed(&named.url))
        .map(|named| named.url)
        .collect();
    let instructions = if trusted && works { instructions::named(active) } else { Vec::new() };
    // A model without read tools gets an overview.
    let overview = (trusted && (active.answers_in_form() || subtasks::is_wanted(active))).then(|| Overview {
        words: active.request.words().to_owned(),
        bytes: context::overview_bytes(&model(&active.request).1),
    });
    let servers = trusted && works && !is_worker(active);
    let resources = if trusted && !is_worker(active) { named.resources } else { Vec::new() };
    let called = active.request.pill.as_ref().and_then(|pill| pill.skill.clone());
    let skills = (works && !is_worker(active) && (trusted || called.is_some()))
        .then_some(SkillQuery { with_folder: trusted, called });
    let agents = agents::query(active, trusted, works);
    let is_idle = instructions.is_empty() && overview.is_none() && !servers && skills.is_none() && agents.is_none();
    let names_nothing = files.is_empty() && urls.is_empty() && resources.is_empty();
    if names_nothing && is_idle {
        return next(step);
    }
    if !names_nothing {
        step.enter(&request, Stage::Intake, StageLabel::Analyzing);
    }
    let mut hosts: Vec<String> = urls.iter().filter_map(|url| tools::host_of(url)).collect();
    hosts.dedup();
    for url in &urls {
        let host = tools::host_of(url);
        step.audit(&request, "fetch", json!({"op": "fetch", "host": host, "url": url}));
    }
    for host in hosts {
        step.emit(Some(&request), tools::interrogating(Stage::Intake, &host));
    }
    for NamedResource { server, uri } in &resources {
        step.audit(&request, "mcp", json!({"op": "read", "server": server, "uri": uri}));
    }
    step.request(Effect::Load {
        request,
        files,
        marked,
        urls,
        resources,
        instructions,
        overview,
        servers,
        skills,
        agents,
    });
}

/// Whether the request is a sub-task. A worker has no MCP servers: its copy of the folder is not the folder that they
/// were approved for.
fn is_worker(active: &RunningRequest) -> bool {
    active.request.settings.subtasks.is_worker
}

/// What a request names, and what the folder says of itself.
pub(crate) struct LoadedContext {
    pub(crate) files: Vec<LoadedFile>,
    pub(crate) missing: Vec<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) instruction_files: Vec<InstructionFile>,
    pub(crate) servers: Option<Vec<ListedServer>>,
    pub(crate) unread: Vec<UnreadResource>,
}

/// What the request names was read.
pub(crate) fn loaded(step: &mut Transition<'_>, request: &RequestId, loaded: LoadedContext, absent: &[AbsentFile]) {
    let Some(active) = active(step, request) else { return };
    let is_midway = awaits_instructions(step.session);
    let is_stale = agents::is_awaited(step.session, active) || skills::is_awaited(step.session, active);
    if (active.phase != Phase::Loading && !is_midway) || is_stale {
        return;
    }
    let LoadedContext { files, missing, instructions, instruction_files, servers, unread: resources } = loaded;
    let Some(accepted) = instructions::settle(step, request, instruction_files) else { return };
    let joined = instructions::joined(&accepted, prompt::instructions_cap(&model_of(step).1));
    let (joined, cut) = joined.map_or((None, Vec::new()), |(text, cut)| (Some(text), cut));
    let instructions = instructions.or(joined);
    let instructions = instructions.filter(|text| step.session.instructions() != Some(text.as_str()));
    if instructions.is_some() && !cut.is_empty() {
        let cap = prompt::instructions_cap(&model_of(step).1) / 1024;
        let files: Vec<String> = cut.iter().map(|path| visible(path)).collect();
        step.notify(request, Level::Warning, Notice::InstructionsCut(files.join(", "), cap));
    }
    let in_form = step.session.active().is_some_and(RunningRequest::answers_in_form);
    let files = context::fitting(files, &model_of(step).1);
    let files: Vec<LoadedFile> = if in_form { files.into_iter().map(raw).collect() } else { files };
    let count = files.len();
    let resources = resources.into_iter().map(|UnreadResource { path, reason }| Notice::UnreadResource(path, reason));
    let agents = step.session.active().map(|active| agents::absent(step.session, active, &missing)).unwrap_or_default();
    let unread = [unread(step, &missing, absent), uninstructed(step, &missing), resources.collect(), agents].concat();
    if let Some(servers) = servers {
        servers::note(step, servers);
    }
    if count > 0 || !missing.is_empty() || instructions.is_some() {
        let heading = |file: &LoadedFile| match NamedResource::read(&file.path).filter(|_| file.hash.is_none()) {
            Some(resource) => context::resource_heading(&resource),
            None if in_form => file.path.clone(),
            None => context::heading(&file.path),
        };
        let headings = files.iter().map(heading).collect();
        step.emit(Some(request), ContextFact::Loaded { files, missing, instructions, headings });
    }
    if !unread.is_empty() {
        let lines: Vec<String> = unread.iter().map(Notice::to_string).collect();
        step.notify(request, Level::Warning, Notice::Words(lines.join("\n")));
    }
    if count > 0 {
        let label = if count == 1 { StageLabel::LoadedOne } else { StageLabel::Loaded(count) };
        step.enter(request, Stage::Intake, label);
    }
    match is_midway {
        true => answers::instructed(step),
        false => next(step),
    }
}

/// A file without line numbers, for a model that has to write it again.
fn raw(file: LoadedFile) -> LoadedFile {
    // A page or a list is not a file, and has no hash.
    match file.hash.is_some() {
        true if context::is_cut(&file.text) => LoadedFile { text: blocks::beginning(&file.text), ..file },
        true => LoadedFile { text: blocks::fenced(&file.text), ..file },
        false => file,
    }
}

/// Whether tools wait for the instructions of a folder that was trusted meanwhile.
fn awaits_instructions(session: &Session) -> bool {
    session.active().is_some_and(|active| match &active.phase {
        Phase::Waiting { checkpoint } => active.trust.is_uninstructed && session.checkpoint(checkpoint).is_none(),
        phase => active.trust.is_uninstructed && *phase == Phase::Admitting,
    })
}

/// What the user named with an `@` and the model will not see: a line each. The words themselves are sent as they are.
fn unread(step: &Transition<'_>, missing: &[String], absent: &[AbsentFile]) -> Vec<Notice> {
    let named = step.session.active().map(|active| words::references_of(&active.request)).unwrap_or_default();
    let line = |path: &String| match absent.iter().find(|file| file.path == *path) {
        Some(AbsentFile { like: Some(like), .. }) => Notice::NoSuchFileButLike(path.clone(), like.clone()),
        Some(_) => Notice::NoSuchFile(path.clone()),
        None => Notice::UnreadableFile(path.clone()),
    };
    named.marked.iter().filter(|path| missing.contains(path)).map(line).collect()
}

/// What the settings name as instructions and the model will not see: a line each, when a conversation begins.
fn uninstructed(step: &Transition<'_>, missing: &[String]) -> Vec<Notice> {
    let Some(active) = step.session.active().filter(|_| step.session.conversation().len() <= 1) else {
        return Vec::new();
    };
    let line = |path: &String| match sensitive_paths::has_secret(path) {
        true => Some(Notice::SecretInstructions(path.clone())),
        false if missing.contains(path) => Some(Notice::MissingInstructions(path.clone())),
        false => None,
    };
    active.request.settings.context.files.iter().filter_map(line).collect()
}

/// The next step: a rest if the user wants one, an assessment if the steps are used up, else a call.
pub(crate) fn next(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    if active.steering.pausing && flow::may_rest(step) {
        return answers::rest(step);
    }
    if step.session.active().is_some_and(RunningRequest::makes_pictures) {
        return pictures::go_on(step);
    }
    if subtasks::agents_come_first(step) || flow::comes_first(step) || subtasks::comes_first(step) {
        return;
    }
    if learning::leave_tools(step, &request) {
        return load_or_next(step);
    }
    let Some(active) = step.session.active() else { return };
    if active.calls.steps == 0 && !active.flow.is_under_way() {
        step.enter(&request, Stage::Running, StageLabel::WaitingForModel);
    }
    let Some(active) = step.session.active() else { return };
    let limit = step.session.step_limit(active);
    if active.calls.steps >= limit && !active.calls.assessing {
        let message = Some(ending::assessment(limit));
        step.emit(Some(&request), RequestFact::Assessing { message });
    }
    call_model(step);
}

/// No slot is free yet: tell the user why nothing happens.
pub(crate) fn held(step: &mut Transition<'_>, request: &RequestId, ahead: u32) {
    if active(step, request).is_none() {
        return;
    }
    step.notify(request, Level::Info, Notice::WaitingForRoom(Plural::new(ahead, "other request")));
}

/// The model has spoken.
pub(crate) fn replied(
    step: &mut Transition<'_>,
    call: &CallId,
    reply: Reply,
    raw: Option<RefKey>,
    warnings: Vec<String>,
) {
    let Some(OpenCall { request, purpose, stopping }) = open_call(step, call) else { return };
    let Reply { message, stop_reason, usage } = reply;
    let ReplyRead { message, text_calls, unasked_text } = match purpose {
        Purpose::Turn if !stopping => claims::with_text_calls(step.session, message, stop_reason.as_ref()),
        _ => ReplyRead::as_it_is(message),
    };
    let words = message.text();
    let (call, stop) = (call.clone(), stop_reason.clone());
    step.emit(
        Some(&request),
        ReplyFact::Saved { call, raw, stop_reason: stop, usage, message, partial: false, text_calls, unasked_text },
    );
    let (model, facts) = if purpose::is_small(&purpose) { fast_of(step) } else { model_of(step) };
    // Background calls are not part of the conversation and do not fill it.
    let is_conversation = purpose.is_conversation();
    let context_tokens = is_conversation.then(|| step.session.conversation_tokens());
    let context_window = is_conversation.then_some(facts.window);
    step.emit(
        Some(&request),
        UsageFact { model, usage, context_tokens, context_window, unfinished: false, worker: None },
    );
    for text in warnings {
        step.notify(&request, Level::Warning, Notice::Words(text));
    }
    if stopping {
        // Stopped and finished in the same moment: what is there is there.
        if !is_conversation || step.session.active().is_some_and(|active| active.batch.is_some()) {
            return finish(step, &request, Status::Cancelled, None);
        }
        return ending::end(step, &words, stop_reason.as_ref(), Status::Cancelled);
    }
    match purpose {
        Purpose::Turn | Purpose::Requirements | Purpose::Other(_) => {
            decide(step, &request, &words, stop_reason.as_ref());
        }
        Purpose::Route => route::replied(step, &words),
        Purpose::Summary => context::call(step),
        Purpose::Repair => structured::repaired(step, &request, Some(&words)),
        Purpose::ImagePrompts => pictures::replied(step, &words),
        Purpose::Subtasks => subtasks::replied(step, &words),
        Purpose::Merge => subtasks::merged(step, Some(&words)),
        Purpose::Ask(_) => assistant::replied(step, &request, &words),
    }
}

/// What follows from a reply: the stop reason decides, and the text only if there is none.
fn decide(step: &mut Transition<'_>, request: &RequestId, words: &str, stop: Option<&StopReason>) {
    let Some(active) = step.session.active() else { return };
    let wants_tools = active.batch.is_some();
    let (hollow, says_the_same) = (active.calls.hollow, active.tools.rounds.says_the_same());
    if active.calls.assessing {
        batch::reject(step, "[Not run: the steps of this request are used up.]");
        return ending::assessed(step, words, stop);
    }
    if !wants_tools && series::replied(step, request, words, stop) {
        return;
    }
    let Some(active) = step.session.active() else { return };
    if active.answers_in_form() && !wants_tools && active.calls.misfits == 0 {
        return structured::replied(step, request, words, stop);
    }
    if wants_tools && route::offer(active.path()) == tools::ToolOffer::Nothing {
        let message = "the model called a tool although none was offered; the call was not run".into();
        step.emit(Some(request), BugFact { kind: "unexpected_tool_use".into(), by: "engine".into(), message });
        batch::reject(step, "There are no tools in this turn. Answer in text.");
    } else if wants_tools && stop == Some(&StopReason::MaxTokens) {
        batch::reject(step, "[Not run: the reply was cut off at the output limit, and this call may not be whole.]");
        if structured::goes_on(step, request, structured::AGAIN) {
            return;
        }
        ending::answer(step, words, stop);
        return structured::after_cut(step, request, stop, true, 0);
    } else if wants_tools {
        return batch::begin(step);
    }
    match stop {
        Some(StopReason::ToolUse) if !wants_tools && hollow == 0 => {
            let message = "the model announced a tool call and made none; it was asked again".into();
            step.emit(Some(request), BugFact { kind: ending::HOLLOW.into(), by: "engine".into(), message });
            nudge(
                step,
                request,
                "[Your reply announced a tool call but did not contain one. Call the tool, or answer.]",
            );
        }
        Some(StopReason::ToolUse) if !wants_tools && words.trim().is_empty() => {
            let problem =
                Problem::new(ProblemKind::Protocol, ProblemText::AnnouncedTool).hint(ProblemText::AnnouncedToolHint);
            finish(step, request, Status::Failed, Some(problem));
        }
        Some(StopReason::MaxTokens) if structured::goes_on(step, request, ending::GO_ON) => {}
        Some(StopReason::EndTurn | StopReason::MaxTokens | StopReason::ToolUse) => end_or_go_on(step, words, stop),
        _ if ending::is_unfinished(words) && !says_the_same => nudge(step, request, "Continue."),
        _ => end_or_go_on(step, words, stop),
    }
}

/// Says something to the model in the program's own name, and calls it.
fn nudge(step: &mut Transition<'_>, request: &RequestId, text: &str) {
    step.emit(Some(request), RequestFact::Steered { text: text.into(), by: "engine".into() });
    next(step);
}

/// The turn is over, unless the user has said something meanwhile.
fn end_or_go_on(step: &mut Transition<'_>, words: &str, stop: Option<&StopReason>) {
    if step.session.active().is_some_and(|active| !active.steering.steers.is_empty()) {
        return next(step);
    }
    // Commands that a step of a plan proposes belong to the step: it ends when they have.
    let is_step = step.session.active().is_some_and(|active| active.flow.running().is_some());
    let proposes = is_step && stop != Some(&StopReason::MaxTokens) && !series::verdict::marked(words).is_empty();
    if proposes {
        return ending::end(step, words, stop, Status::Completed);
    }
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    let answer = flow::answer_without_plan(step.session, words);
    let words = answer.as_deref().unwrap_or(words);
    let is_whole = stop != Some(&StopReason::MaxTokens) && series::verdict::marked(words).is_empty();
    let goes_on = flow::ended(step, words, stop) || (is_whole && claims::ask_for_deed(step, &request, words));
    if !goes_on && hooks::may_end(step, words) {
        ending::end(step, words, stop, Status::Completed);
    }
}

/// The call came to nothing: try again, or end the request.
pub(crate) fn failed(step: &mut Transition<'_>, call: &CallId, fault: Fault, partial: Option<Partial>) {
    let Some(OpenCall { request, purpose, stopping }) = open_call(step, call) else { return };
    save_partial(step, &request, call, &purpose, partial);
    if stopping {
        finish(step, &request, Status::Cancelled, None);
        return;
    }
    let Some(active) = active(step, &request) else { return };
    let retries = active.request.settings.models.retries;
    let is_loading = fault.problem.kind == ProblemKind::Loading;
    let is_first = active.calls.loading_ms == 0;
    let delay = match fault.retry {
        // A wait for the model to be loaded is not a failure of the call, so it uses up no retry.
        Retry::Later { .. } if is_loading => retry::load_delay_ms(active.calls.loading_ms),
        Retry::Never | Retry::Shorter { .. } | Retry::WithoutImages => None,
        // The work need not wait for what it can do without.
        Retry::Later { .. } if purpose::is_dispensable(&purpose) => None,
        Retry::Later { .. } if active.calls.failures >= retries => None,
        // Once, with other sampling: a model that repeats itself again has nothing more to say.
        Retry::Later { .. } if fault.problem.kind == ProblemKind::Repetition => {
            (active.calls.runaways == 0).then_some(0)
        }
        Retry::Later { after_ms } => Some(retry::delay_ms(call, active.calls.failures, after_ms)),
    };
    let problem = fault.problem;
    let learns = purpose.is_conversation() && problem.kind == ProblemKind::NoTools && active.has_tools();
    let falls_back = delay.is_none() && purpose.is_conversation() && fallback::helps(active, &problem);
    let learns = learning::from_refusal(step, &request, &purpose, fault.retry) || learns;
    let delay = if learns || falls_back { Some(0) } else { delay };
    step.emit(Some(&request), ModelFact::Failed { call: call.clone(), error: problem.clone(), retry_in_ms: delay });
    if problem.kind == ProblemKind::NoTools && delay.is_some() {
        go_on_without_tools(step, &request);
    } else if falls_back {
        fallback::switch(step, &request);
    }
    if is_loading && is_first && delay.is_some() {
        step.enter(&request, Stage::Running, StageLabel::LoadingModel);
    }
    match purpose {
        _ if delay.is_some() => back_off(step),
        _ if gone::has_others(&purpose, &problem) => gone::ask(step, problem.nearest),
        Purpose::Route => route::failed(step),
        // The work does not end because a summary failed.
        Purpose::Summary => context::give_up(step),
        Purpose::Repair => structured::repaired(step, &request, None),
        Purpose::ImagePrompts => pictures::given_up(step),
        Purpose::Subtasks => subtasks::planning_failed(step),
        Purpose::Merge => subtasks::merged(step, None),
        Purpose::Ask(AskPurpose::Route | AskPurpose::Repair | AskPurpose::Summary) => {
            assistant::given_up(step, &problem);
        }
        Purpose::Turn
        | Purpose::Requirements
        | Purpose::Other(_)
        | Purpose::Ask(AskPurpose::Chat | AskPurpose::Propose) => {
            finish(step, &request, Status::Failed, Some(problem));
        }
    }
}

/// The model turned out to know no tools: it answers with one object instead, like those that are known to know none.
fn go_on_without_tools(step: &mut Transition<'_>, request: &RequestId) {
    let model = model_of(step).0;
    let (approve, attended, max_steps, trusted, model_switch) = (None, None, None, None, None);
    let (tools, learned) = (Some(false), LearnedFacts::default());
    let adjusted = RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model: model_switch };
    step.emit(Some(request), adjusted);
    step.notify(request, Level::Info, Notice::NoTools(model.to_string()));
}

/// The call was ended because the user wanted it.
pub(crate) fn aborted(step: &mut Transition<'_>, call: &CallId, partial: Option<Partial>) {
    let Some(OpenCall { request, purpose, .. }) = open_call(step, call) else { return };
    save_partial(step, &request, call, &purpose, partial);
    finish(step, &request, Status::Cancelled, None);
}

/// The wait is over.
pub(crate) fn timer_fired(step: &mut Transition<'_>, fired: &TimerId) {
    let waiting = |active: &RunningRequest| matches!(&active.phase, Phase::BackingOff { timer, .. } if timer == fired);
    if step.session.active().is_some_and(waiting) {
        call_again(step);
    }
}

/// A new owner: what `interrupted` names is no longer running, and neither is any wait.
///
/// A model call is repeated, because it has no effect but its price; its partial result stays in the log. A wait
/// starts again, because the provider may have asked for it.
pub(crate) fn woke(step: &mut Transition<'_>, interrupted: Vec<Interrupted>) {
    let under_way: Vec<CallId> = interrupted.iter().map(|one| one.call.clone()).collect();
    if under_way.contains(&CallId::history()) {
        history::start_restore(step);
    }
    background::woke(step);
    request_woke(step, interrupted, &under_way);
    hooks::woke(step, &under_way);
}

fn request_woke(step: &mut Transition<'_>, interrupted: Vec<Interrupted>, under_way: &[CallId]) {
    let gone = step.session.open_call().and_then(|open| interrupted.into_iter().find(|one| one.call == *open));
    let Some(active) = step.session.active() else { return };
    let (request, phase) = (active.request.id.clone(), active.phase.clone());
    if let Some(Interrupted { call, partial }) = gone {
        if let Some(Partial { message, raw: Some(key), .. }) = &partial {
            step.store(key.clone(), message.text());
        }
        let purpose = phase.purpose().cloned().unwrap_or_default();
        let usage = lost_usage(step, &purpose, partial.as_ref());
        let partial = partial.unwrap_or_else(|| Partial { message: Message::assistant(""), raw: None, usage });
        save_partial(step, &request, &call, &purpose, Some(Partial { usage, ..partial }));
        if matches!(phase, Phase::Stopping { .. }) {
            return finish(step, &request, Status::Cancelled, None);
        }
        let error = Problem::new(ProblemKind::Interrupted, ProblemText::EndedWhileAnswering);
        step.emit(Some(&request), ModelFact::Failed { call, error, retry_in_ms: Some(0) });
        return call_again(step);
    }
    // Whatever the request itself waits for, its workers continue. One that waits for its slot starts them once it has it.
    if !matches!(phase, Phase::Admitting | Phase::Stopping { .. }) {
        subtasks::restart_workers(step);
    }
    match phase {
        Phase::Admitting => step.request(Effect::Admit { request }),
        Phase::Loading => load_or_next(step),
        Phase::Tools => batch::woke(step, under_way),
        Phase::Stopping { .. } => {
            if batch::woke_stopping(step, under_way) {
                finish(step, &request, Status::Cancelled, None);
            }
        }
        Phase::BackingOff { .. } => back_off(step),
        // The instructions of the folder were being read.
        Phase::Waiting { .. } if awaits_instructions(step.session) => answers::go_on(step),
        // The user is still to answer, or the call is this owner's own.
        Phase::Waiting { .. } | Phase::Calling { .. } | Phase::Replied => {}
    }
}

/// Asks for the wait that the request is in, if it is in one.
fn back_off(step: &mut Transition<'_>) {
    if let Some(RunningRequest { request, phase: Phase::BackingOff { timer, millis, .. }, .. }) = step.session.active()
    {
        let (request, timer, millis) = (request.id.clone(), timer.clone(), *millis);
        step.request(Effect::Wait { request, timer, millis });
    }
}

/// Ends what runs after the user said stop.
pub(crate) fn stop(step: &mut Transition<'_>) {
    let Some(RunningRequest { request, phase: Phase::Stopping { call }, .. }) = step.session.active() else { return };
    let request = request.id.clone();
    let call = call.clone();
    crate::hooks::abort(step, None);
    match call {
        Some((call, _)) => step.request(Effect::Abort { call }),
        None if batch::stop(step) => finish(step, &request, Status::Cancelled, None),
        None => {}
    }
}

/// The program failed at an input: report it, and end its request.
pub(crate) fn give_up(step: &mut Transition<'_>, input: Option<Input>, problem: Problem) {
    let said = match input {
        Some(Input::Said { request }) if !step.session.knows(&request.id) => Some(*request),
        _ => None,
    };
    let request = match said {
        // What the user said must not be lost, least of all through a defect of ours.
        Some(request) => {
            let (id, was_idle) = (request.id.clone(), step.session.is_idle());
            step.emit(Some(&id), crate::record::received(request));
            if !was_idle {
                step.emit(Some(&id), bug(&problem));
                let status = Status::Failed;
                step.emit(
                    Some(&id),
                    RequestFact::Finished {
                        status,
                        error: Some(problem),
                        usage: Usage::default(),
                        reason: None,
                        done: DoneFacts::default(),
                    },
                );
                return;
            }
            Some(id)
        }
        None => step.session.active().map(|active| active.request.id.clone()),
    };
    step.emit(request.as_ref(), bug(&problem));
    if let Some(call) = step.session.open_call().cloned() {
        step.request(Effect::Abort { call });
    }
    batch::stop(step);
    if let Some(request) = request {
        finish(step, &request, Status::Failed, Some(problem));
    }
}

fn bug(problem: &Problem) -> BugFact {
    BugFact { kind: "internal".into(), by: "host".into(), message: problem.message.clone() }
}

/// Withdraws a request that has not started.
pub(crate) fn withdraw(step: &mut Transition<'_>, request: &RequestId) {
    if step.session.waiting().any(|waiting| waiting.id == *request) {
        batch::leave(step, request);
        finish(step, request, Status::Cancelled, None);
    }
}

/// Makes the call again that failed or was interrupted.
pub(crate) fn call_again(step: &mut Transition<'_>) {
    let Some(purpose) = step.session.active().and_then(|active| active.phase.purpose().cloned()) else { return };
    match purpose {
        Purpose::Turn | Purpose::Requirements | Purpose::Other(_) => call_model(step),
        Purpose::Route => route::call(step),
        Purpose::Summary => context::call(step),
        Purpose::Repair => structured::repair_again(step),
        Purpose::ImagePrompts => pictures::call(step),
        Purpose::Subtasks => subtasks::call(step),
        Purpose::Merge => subtasks::merge_by_model(step),
        Purpose::Ask(_) => assistant::go_on(step),
    }
}

/// Calls the model for the next reply of the turn, if there is room and money for it.
fn call_model(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let (_, facts) = model(&active.request);
    let Some(turn) = prompt::build(step.session) else { return };
    let (used, room) = context::room(step.session, &turn, &facts);
    let prompt::TurnPrompt { mut prompt, notes, .. } = turn;
    let fill = handoff::ContextFill { used, room, facts };
    if asks_first(step) && handoff::ask(step, &fill) {
        return;
    }
    if fill.is_to_be_summed_up(step.session) && (!hooks::may_compact(step) || context::begin(step, used, room)) {
        return;
    }
    if handoff::ask(step, &fill) {
        return;
    }
    context::clip(step, &mut prompt, used, room);
    match budget::allow(step.session, &prompt) {
        budget::BudgetVerdict::Free => {}
        budget::BudgetVerdict::UpTo(tokens) => prompt.max_output_tokens = prompt.max_output_tokens.min(tokens),
        budget::BudgetVerdict::TooDear(bill) => return budget::ask(step, &bill),
    }
    fit::fit(&mut prompt, &facts, used);
    let Some((request, purpose)) =
        step.session.active().map(|active| (active.request.id.clone(), flow::purpose(active)))
    else {
        return;
    };
    learning::warn_of_pictures(step, &request);
    tell_of_more_steps(step, &request);
    send_with(step, prompt, facts.prices, purpose, notes);
}

/// Tells the user when a request passes its usual limit of model calls without a question.
fn tell_of_more_steps(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = step.session.active() else { return };
    let (usual, most) = (active.step_limit(), step.session.step_limit(active));
    if active.calls.steps == usual && most > usual {
        step.notify(request, Level::Info, Notice::StepsContinue(usual, most));
    }
}

/// How much of the window the next prompt would take, and how much it may take.
pub(super) fn room(step: &Transition<'_>) -> Option<(u64, u64)> {
    let (_, facts) = model(&step.session.active()?.request);
    Some(context::room(step.session, &prompt::build(step.session)?, &facts))
}

/// Whether the user wants to be asked before a summary.
fn asks_first(step: &Transition<'_>) -> bool {
    step.session.active().is_some_and(|active| active.request.settings.context.strategy == ContextStrategy::Ask)
}

/// Stores the partial result of a call, and counts its cost.
fn save_partial(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: &CallId,
    purpose: &Purpose,
    partial: Option<Partial>,
) {
    let Some(Partial { message, raw, usage }) = partial else { return };
    if is_worth_keeping(&message) {
        let (call, stop_reason) = (call.clone(), None);
        let usage = Usage::default();
        let saved = ReplyFact::Saved {
            call,
            raw,
            stop_reason,
            usage,
            message,
            partial: true,
            text_calls: 0,
            unasked_text: false,
        };
        step.emit(Some(request), saved);
    }
    if usage != Usage::default() {
        let (model, _) = if purpose::is_small(purpose) { fast_of(step) } else { model_of(step) };
        let (context_tokens, context_window) = (None, None);
        step.emit(
            Some(request),
            UsageFact { model, usage, context_tokens, context_window, unfinished: true, worker: None },
        );
    }
}

/// The usage of a call whose owner is gone: its prompt, as it would be sent now, and the saved text. Only for calls
/// of the conversation; the others are small.
fn lost_usage(step: &Transition<'_>, purpose: &Purpose, partial: Option<&Partial>) -> Usage {
    let Some((input_tokens, _)) = room(step).filter(|_| purpose.is_conversation()) else { return Usage::default() };
    let output_tokens = partial.map_or(0, |partial| estimate(&partial.message.text()));
    let usage = Usage { input_tokens, output_tokens, estimated: true, ..Usage::default() };
    let prices = model_of(step).1.prices;
    Usage { cost_usd: prices.map(|prices| prices.cost(&usage)), ..usage }
}

fn is_worth_keeping(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => !text.is_empty(),
        _ => true,
    })
}

fn active<'a>(step: &'a Transition<'_>, request: &RequestId) -> Option<&'a RunningRequest> {
    step.session.active().filter(|active| active.request.id == *request)
}

/// A model call that is under way.
struct OpenCall {
    request: RequestId,
    purpose: Purpose,
    /// The user has stopped the request.
    stopping: bool,
}

/// The call of this name, if it is under way.
fn open_call(step: &Transition<'_>, wanted: &CallId) -> Option<OpenCall> {
    let active = step.session.active()?;
    let (purpose, stopping) = match &active.phase {
        Phase::Calling { call, purpose } if call == wanted => (purpose, false),
        Phase::Stopping { call: Some((call, purpose)) } if call == wanted => (purpose, true),
        _ => return None,
    };
    Some(OpenCall { request: active.request.id.clone(), purpose: purpose.clone(), stopping })
}

/// Who does small work behind the scenes.
fn fast_of(step: &Transition<'_>) -> (String, ModelFacts) {
    let Some(active) = step.session.active() else { return Default::default() };
    let (model, facts) = fast(&active.request);
    (model.to_owned(), facts)
}

fn model_of(step: &Transition<'_>) -> (String, ModelFacts) {
    let Some(active) = step.session.active() else { return Default::default() };
    let (model, facts) = model(&active.request);
    (model.to_owned(), facts)
}

//! What must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::time::Duration;

use trimtab_engine::Session;
use trimtab_vocab::checkpoint;
use trimtab_vocab::event::{
    AnswerFact, BugFact, ByCommand, Change, ChangeFact, CheckpointFact, CommandFact, ContextFact, IntentFact,
    ModelFact, PlanFact, ProposalFact, ReplyFact, RequestFact, RouteDecision, RouteFact, RuleFact, SessionFact, Status,
    ToolFact, ToolStatus,
};
use trimtab_vocab::{
    Applying, Autonomy, CallId, ChangeSetId, CheckpointId, Event, Fact, Message, Mode, Part, Purpose, RequestId, Rule,
    RuleVerdict, RunSettings, SessionId, StopReason, SubtasksFact,
};

use super::flows::{self, Agreement};
use super::plan::{Ask, Doing, Plan, Turn, file_of, marks, name_of};
use super::rewinds::{self, Sets};
use super::subtasks::{self, Board, COMMON, common_file};
use super::tasks;
use super::workspace::made_by;
use super::{History, JOB_LIMIT, Tally};
use crate::memory_store::{Disk, State, folded};
use trimtab_world::store::tasks_session;

/// Sessions in which something is left to do.
pub(super) fn unfinished(disk: &Disk) -> Vec<SessionId> {
    let state = disk.state();
    let working = state.jobs.values().filter(|job| job.status.is_none()).map(|job| &job.row.session);
    let told = state.inbox.iter().map(|(_, session, _)| session);
    working.chain(told).chain(rewinds::moving(&state)).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The logs, the inbox and what waits for a person, to read when something is broken.
pub(super) fn shown(state: &State) -> String {
    let mut lines = Vec::new();
    for (session, log) in &state.events {
        lines.push(format!("--- {session}"));
        lines.extend(log.iter().filter_map(|event| serde_json::to_string(event).ok()));
    }
    lines.extend(state.inbox.iter().map(|(id, session, payload)| format!("inbox {id} {session} {payload}")));
    lines.extend(state.checkpoints.keys().map(|open| format!("open {open}")));
    lines.push(format!("commands {:?}", state.seen.commands));
    lines.join("\n")
}

/// Whoever watches from the beginning sees the log, whole and in order.
pub(super) async fn watched(history: &History) -> Result<(), String> {
    let logs: BTreeMap<SessionId, Vec<Event>> = history.disk.state().events.clone();
    let client = &history.processes.last().ok_or("nobody is left to watch")?.client;
    for (session, log) in logs {
        let mut watch = client.watch(&session, 0);
        for expected in &log {
            let seen = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
            match seen {
                Ok(Ok(seen)) if seen == *expected => {}
                other => return Err(format!("{session}: a watcher saw {other:?} instead of {expected:?}")),
            }
        }
    }
    Ok(())
}

pub(super) fn everything(history: &History) -> Result<Tally, String> {
    let state = history.disk.state();
    let mut tally = history.tally;
    tally.calls = history.oracle.calls();
    match all(history, &state, &mut tally) {
        Ok(()) => Ok(tally),
        Err(broken) => Err(format!("{broken}\n{}", shown(&state))),
    }
}

fn all(history: &History, state: &State, tally: &mut Tally) -> Result<(), String> {
    if let Some(broken) = state.seen.broken.first() {
        return Err(broken.clone());
    }
    if state.seen.most_running > JOB_LIMIT {
        return Err(format!("{} requests ran at once; the limit is {JOB_LIMIT}", state.seen.most_running));
    }
    if !state.partials.is_empty() {
        return Err("partial replies were left behind".into());
    }
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let (mut commands, mut made, mut texts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for path in state.files.keys().filter(|path| path.ends_with("-both.txt")) {
        files.insert(path.clone(), COMMON.to_owned());
    }
    for worker in subtasks::workers(state) {
        let story =
            one_worker(history, state, worker, &mut texts).map_err(|broken| format!("{}: {broken}", worker.0))?;
        *tally += story.tally;
        for (command, begun) in story.runs.commands {
            *commands.entry(command).or_default() += begun;
        }
    }
    subtasks::at_the_end(state, history.tally.kills)?;
    for (session, log) in parents_first(state).into_iter().filter(|(session, _)| !session.is_worker()) {
        if tasks::is_about(state, session) {
            if *session != tasks_session() {
                tally.task_proposals += tasks::asked(log).map_err(|broken| format!("{session}: {broken}"))?;
            }
            continue;
        }
        let mut story = Story::new(state, history.oracle.plan, session);
        story.sets = Sets::after(std::mem::take(&mut texts));
        story.has_workers = history.subtasks;
        for event in log {
            story.goes_on(event).map_err(|broken| format!("{session}: at {:?}: {broken}", event.seq))?;
        }
        story.ends(&history.said_in(session)).map_err(|broken| format!("{session}: {broken}"))?;
        is_at_rest(&folded(log), &story).map_err(|broken| format!("{session}: {broken}"))?;
        *tally += story.tally;
        for told in story.requests.values().filter(|_| history.subtasks) {
            files.remove(&common_file(&told.name));
        }
        texts = story.sets.merge_into(&mut files, story.files);
        made.extend(story.made);
        commands.extend(story.runs.commands);
    }
    let (sets, noted) = tasks::check(history, state)?;
    tally.task_sets += sets;
    tally.noted += noted;
    tally.handoffs += flows::children(state)?;
    for (command, begun) in &state.seen.commands {
        let allowed = commands.get(command).copied().unwrap_or(0);
        if *begun > allowed {
            return Err(format!("{command} was begun {begun} times, but {allowed} were recorded"));
        }
    }
    // What a command of a worker leaves behind is in its copy, and is merged like everything else there.
    let own = state.seen.commands.keys().filter(|command| !subtasks::is_worker(command));
    for command in own.filter(|_| !history.rewinds) {
        let there = state.files.get(&made_by(command)).map(|bytes| trimtab_world::store::hash(bytes));
        let recorded: &[String] = made.get(command).map_or(&[], Vec::as_slice);
        if there.as_ref() != recorded.last() {
            return Err(format!("what {command} left behind is not in the history: {recorded:?}"));
        }
        if recorded.iter().collect::<BTreeSet<_>>().len() < recorded.len() {
            return Err(format!("what {command} left behind is in the history twice"));
        }
    }
    let theirs = |path: &str| path.starts_with("say-") || (path.starts_with("made/") && subtasks::is_worker(path));
    let there: BTreeMap<String, String> = state
        .files
        .iter()
        .filter(|(path, _)| theirs(path))
        .map(|(path, bytes)| (path.clone(), String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    if there != files {
        return Err(format!("the files are {there:?}, but what was applied makes {files:?}"));
    }
    for said in &history.said {
        let log = state.events.get(&said.sent.session).ok_or("a session is lost")?;
        one_request(history, said, log)?;
    }
    let open = state.jobs.values().filter(|job| job.status.is_none()).count();
    if open > 0 {
        return Err(format!("{open} jobs are listed as unfinished"));
    }
    Ok(())
}

/// The story of a worker, which plays in its own copy of the folder.
fn one_worker<'a>(
    history: &History,
    state: &'a State,
    (worker, parent, request): (&'a SessionId, &'a SessionId, &'a RequestId),
    texts: &mut BTreeMap<String, String>,
) -> Result<Story<'a>, String> {
    let log = state.events.get(worker).ok_or("it is not there")?;
    let mut story = Story::new(state, history.oracle.plan, worker);
    let told = log.iter().find_map(|event| match &event.fact {
        Fact::Request(RequestFact::Received { text, .. }) => Some(name_of(text)),
        _ => None,
    });
    let found = match told {
        Some(name) => subtasks::found_by(state, (worker, parent, request), name, texts)?,
        None => BTreeMap::new(),
    };
    for text in found.values() {
        texts.insert(trimtab_world::store::hash(text.as_bytes()), text.clone());
    }
    story.sets = Sets::after(std::mem::take(texts));
    story.files.clone_from(&found);
    for event in log {
        story.goes_on(event).map_err(|broken| format!("at {:?}: {broken}", event.seq))?;
    }
    story.ends(&[])?;
    is_at_rest(&folded(log), &story)?;
    texts.clone_from(&story.sets.texts);
    subtasks::is_told(state, worker, parent, &found, &story.files)?;
    Ok(story)
}

/// All logs, those of sessions that were handed off before those that they were handed off to.
fn parents_first(state: &State) -> Vec<(&SessionId, &Vec<Event>)> {
    let parent = |session: &SessionId| {
        state.events.get(session)?.iter().find_map(|event| match &event.fact {
            Fact::Session(SessionFact::Opened { parent_session_id, .. }) => parent_session_id.clone(),
            _ => None,
        })
    };
    let depth = |session: &SessionId| std::iter::successors(parent(session), parent).count();
    let mut logs: Vec<_> = state.events.iter().collect();
    logs.sort_by_cached_key(|(session, _)| depth(session));
    logs
}

/// Nothing waits for anybody any more.
fn is_at_rest(session: &Session, story: &Story<'_>) -> Result<(), String> {
    if !session.is_idle() {
        return Err("something is left to do".into());
    }
    let own = session.own_checkpoints().map(|(id, _)| id);
    if let Some(id) = own.chain(session.worker_questions().map(|(id, ..)| id)).next() {
        return Err(format!("{id} is still open"));
    }
    // What a person said stands in the conversation, unless that was summed up or went on elsewhere.
    let went_on = story.tally.compressed > 0 || session.lineage().handoffs > 0;
    let stands = |words: &&&str| session.conversation().iter().any(|message| message.text().contains(**words));
    if let Some(lost) = story.unheard.iter().find(|words| !went_on && !stands(words)) {
        return Err(format!("{lost:?} was said, and is nowhere in the conversation"));
    }
    match story.requests.keys().find(|request| session.is_parked(request)) {
        Some(request) => Err(format!("{request} is parked, and nothing is asked")),
        None => Ok(()),
    }
}

/// What the log has told of a request so far.
struct Told<'a> {
    name: String,
    mode: Mode,
    settings: RunSettings,
    route: Option<RouteDecision>,
    /// What was agreed on.
    agreement: Agreement,
    /// Words of a person that no model has been sent yet.
    unsent: Vec<&'a str>,
    /// A person starts over: how far it was, the model may not know any more.
    afresh: bool,
    trusted: bool,
    finished: Option<Status>,
    /// Rounds, assessments and written agreements so far.
    rounds: u32,
    assessments: u32,
    compiled: u32,
    /// The last reply that is not a summary.
    last: Option<(Ask, String)>,
    answer: Option<&'a str>,
    /// It goes on in another session, and is answered there.
    handed_off: bool,
    /// Tools that have begun and not ended.
    open: BTreeSet<&'a CallId>,
    /// Questions that are open, and what they are about.
    asked: BTreeMap<&'a CheckpointId, &'a checkpoint::Ask>,
    /// Questions of its workers that are open.
    passed_on: BTreeMap<&'a CheckpointId, &'a checkpoint::Ask>,
    /// The sub-tasks.
    board: Option<Board>,
}

/// A tool that a reply asks for.
struct Tool<'a> {
    name: &'a str,
    input: &'a serde_json::Value,
    request: RequestId,
    allowed: bool,
    denied: bool,
    /// It may act, by whatever.
    approved: bool,
    started: u32,
    finished: u32,
}

/// The folder that rules are about: for a worker, the one that its copy was made of.
fn rules_folder(state: &State, session: &SessionId) -> String {
    let log = state.events.get(session).map_or(&[][..], Vec::as_slice);
    let original = log.iter().find_map(|event| match &event.fact {
        Fact::Session(SessionFact::Worker { original, .. }) => Some(original.clone()),
        _ => None,
    });
    original.or_else(|| state.sessions.get(session).map(|row| row.folder.clone())).unwrap_or_default()
}

/// How often commands were begun.
#[derive(Default)]
struct CommandRuns<'a> {
    /// How often each command may have been begun.
    commands: BTreeMap<String, u32>,
    /// Commands that a person wanted run again.
    again: BTreeMap<&'a CallId, u32>,
    begun: BTreeMap<&'a CallId, u32>,
}

/// The log of a session tells a story that makes sense.
struct Story<'a> {
    state: &'a State,
    plan: Plan,
    session: &'a SessionId,
    tally: Tally,
    received: Vec<RequestId>,
    requests: BTreeMap<RequestId, Told<'a>>,
    rules: Vec<Rule>,
    /// The level of autonomy that was chosen in the session.
    level: Option<Autonomy>,
    folder: String,
    tools: BTreeMap<CallId, Tool<'a>>,
    calls: BTreeSet<&'a CallId>,
    /// The model call that is open: whose, and what for, if it is made behind the scenes.
    open: Option<(&'a CallId, &'a RequestId, Option<&'a Purpose>)>,
    /// Messages that went to a request that ran.
    joined: BTreeSet<RequestId>,
    /// Words of a person to requests that have ended before a model heard them.
    unheard: Vec<&'a str>,
    /// Files that were written, by what was applied.
    files: BTreeMap<String, String>,
    /// What each command left behind, as often as that was recorded: the hashes.
    made: BTreeMap<String, Vec<String>>,
    /// The change history.
    sets: Sets,
    runs: CommandRuns<'a>,
    /// Requests may be carried out by workers.
    has_workers: bool,
}

/// What may stand in the log of a request that has ended.
fn may_follow(end: Status, fact: &Fact) -> bool {
    match fact {
        // What a person changes or answers may concern what has ended for want of one.
        Fact::Request(RequestFact::Reopened {} | RequestFact::Adjusted { .. } | RequestFact::Finished { .. })
        | Fact::Checkpoint(CheckpointFact::Resolved { .. })
        | Fact::Plan(_)
        | Fact::Steps(_)
        | Fact::Rule(_)
        | Fact::Banner(_) => true,
        // Workers go on while one of them waits for a person.
        Fact::Subtask(_) | Fact::Subtasks(_) => matches!(end, Status::NeedsUser | Status::Limit),
        Fact::Checkpoint(CheckpointFact::Opened { worker: Some(_), .. }) => {
            matches!(end, Status::NeedsUser | Status::Limit)
        }
        // Nor is what a person says to one that waits for them lost.
        Fact::Request(RequestFact::Steered { .. }) => end == Status::NeedsUser,
        _ => false,
    }
}

impl<'a> Story<'a> {
    fn new(state: &'a State, plan: Plan, session: &'a SessionId) -> Self {
        Self {
            state,
            plan,
            session,
            tally: Tally::default(),
            received: Vec::new(),
            requests: BTreeMap::new(),
            rules: Vec::new(),
            level: None,
            folder: rules_folder(state, session),
            tools: BTreeMap::new(),
            calls: BTreeSet::new(),
            open: None,
            joined: BTreeSet::new(),
            unheard: Vec::new(),
            files: BTreeMap::new(),
            made: BTreeMap::new(),
            sets: Sets::default(),
            runs: CommandRuns::default(),
            has_workers: false,
        }
    }

    fn goes_on(&mut self, event: &'a Event) -> Result<(), String> {
        self.tally.facts += 1;
        if event.session != *self.session {
            return Err("an event stands in the wrong log".into());
        }
        if let Fact::Bug(BugFact { kind, message, .. }) = &event.fact
            && kind == "internal"
        {
            return Err(format!("a defect: {message}"));
        }
        if let Fact::Rule(fact) = &event.fact {
            self.rule(fact);
        }
        if let Fact::Session(SessionFact::Autonomy { level, .. }) = &event.fact {
            self.level = Some(*level);
            self.tally.controls += 1;
        }
        if let Fact::Context(ContextFact::Edited { .. } | ContextFact::Restored { .. }) = &event.fact {
            self.tally.mended += 1;
        }
        self.note_trust();
        if let (Fact::Change(fact), None) = (&event.fact, &event.request) {
            let moved = u64::from(self.sets.moved(fact, &mut self.files)?);
            self.tally.moves += moved;
            self.tally.subtasks.moved += if self.is_merge(fact) { moved } else { 0 };
        }
        let Some(request) = &event.request else { return Ok(()) };
        if let Fact::Request(RequestFact::Received { text, mode, settings, .. }) = &event.fact {
            return self.received(request, text, *mode, settings);
        }
        if let Fact::Request(RequestFact::Joined { into, .. }) = &event.fact {
            return self.joined(request, into);
        }
        let told = self.requests.get_mut(request).ok_or("it is about a request that was never received")?;
        if told.finished.is_some_and(|status| !may_follow(status, &event.fact)) {
            return Err(format!("something happened after the end: {event:?}"));
        }
        match &event.fact {
            Fact::Request(fact) => self.request(request, fact),
            Fact::Route(RouteFact { decision, .. }) => {
                told.route = Some(*decision);
                told.agreement.routed(*decision, told.mode, &told.settings);
                Ok(())
            }
            Fact::Intent(IntentFact { accepted, .. }) => {
                if *accepted {
                    told.agreement.implements();
                }
                Ok(())
            }
            Fact::Requirements(_) => {
                self.tally.understood += 1;
                told.agreement.understood()
            }
            Fact::Plan(fact) => {
                self.tally.plans += u64::from(matches!(fact, PlanFact::Proposed { .. }));
                self.tally.steps += u64::from(told.agreement.moves(fact, told.mode, &told.settings)?);
                Ok(())
            }
            Fact::Subtasks(_) | Fact::Subtask(_) => self.board(request, &event.fact),
            Fact::Model(fact) => self.model(request, fact),
            Fact::Reply(fact) => self.reply(request, fact),
            Fact::Checkpoint(fact) => self.checkpoint(request, fact),
            Fact::Tool(fact) => self.tool(request, fact),
            Fact::Command(fact) => self.command(request, fact),
            Fact::Proposal(ProposalFact::Opened { call: Some(call), .. }) => {
                self.may_touch(request, call, "a proposal")
            }
            Fact::Proposal(ProposalFact::Resolved { proposal, verdict }) if verdict == "approved" => {
                self.approved(request, &call_of(proposal.as_str(), "-p-")?)
            }
            Fact::Change(ChangeFact::Applied(Change { by: Some(by), change_set, .. })) => {
                self.left_behind(by, change_set)
            }
            Fact::Change(ChangeFact::Applied(change)) => {
                let before = self.files.clone();
                self.applied(request, &call_of(change.change_set.as_str(), "-x-")?)?;
                self.sets.applied(&change.change_set, &before, &self.files);
                Ok(())
            }
            Fact::Context(ContextFact::Compressed { .. }) => {
                self.tally.compressed += 1;
                Ok(())
            }
            Fact::Session(SessionFact::Handoff { .. }) => {
                told.handed_off = true;
                Ok(())
            }
            Fact::Answer(AnswerFact { answer }) => {
                told.answer = Some(&answer.summary);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A change may be made, because somebody or something allows it.
    fn approved(&mut self, request: &RequestId, call: &CallId) -> Result<(), String> {
        self.may_touch(request, call, "a change")?;
        let chosen = self.level;
        let told = self.told(request)?;
        let level = told.settings.autonomy_under(chosen);
        // A worker changes its own copy at every level.
        let is_asked = level == Autonomy::Careful && !told.settings.subtasks.is_worker;
        let (file, auto) = (file_of(&told.name), told.settings.files.apply == Applying::Auto && !is_asked);
        let deletes = !told.settings.files.confirm_deletes || level == Autonomy::Trusting;
        let unseen = told.board.as_ref().is_some_and(|board| board.is_unseen);
        let unseen = unseen && self.tools.get(call).is_some_and(|tool| tool.name == "delegate");
        self.is_permitted(call, &file, auto && !unseen, deletes)
    }

    /// The sub-tasks of a request move.
    fn board(&mut self, request: &RequestId, fact: &Fact) -> Result<(), String> {
        let told = self.requests.get_mut(request).ok_or("a request that was never received")?;
        let tally = &mut self.tally.subtasks;
        match fact {
            Fact::Subtasks(fact) => {
                told.board.get_or_insert_default().tells(fact, tally)?;
                // What was answered about the merge before does not count for the next one.
                for call in told.open.iter().filter(|_| matches!(fact, SubtasksFact::Merging { .. })) {
                    if let Some(tool) = self.tools.get_mut(*call).filter(|tool| tool.name == "delegate") {
                        (tool.allowed, tool.denied, tool.approved) = (false, false, false);
                    }
                }
                Ok(())
            }
            Fact::Subtask(fact) => {
                let board = told.board.as_mut().ok_or("a sub-task of nothing")?;
                board.moves(fact, told.settings.subtasks.parallel, tally)
            }
            _ => Ok(()),
        }
    }

    fn rule(&mut self, fact: &RuleFact) {
        match fact {
            RuleFact::Known { rules } => self.rules.clone_from(rules),
            RuleFact::Added { rule } => self.rules.push(rule.clone()),
            RuleFact::Removed { rule } => self.rules.retain(|known| known != rule),
        }
    }

    fn received(&mut self, id: &RequestId, text: &str, mode: Mode, settings: &RunSettings) -> Result<(), String> {
        let told = Told {
            name: name_of(text).to_owned(),
            mode,
            settings: settings.clone(),
            route: None,
            agreement: Agreement::default(),
            unsent: Vec::new(),
            afresh: false,
            trusted: settings.trust.trusted,
            finished: None,
            rounds: 0,
            assessments: 0,
            compiled: 0,
            last: None,
            answer: None,
            handed_off: false,
            open: BTreeSet::new(),
            asked: BTreeMap::new(),
            passed_on: BTreeMap::new(),
            board: None,
        };
        if self.requests.insert(id.clone(), told).is_some() {
            return Err(format!("{id} was received twice"));
        }
        self.received.push(id.clone());
        if self.has_workers {
            self.files.insert(common_file(name_of(text)), COMMON.to_owned());
        }
        self.note_trust();
        Ok(())
    }

    /// A message met a request that ran: it is that one's now, and no request of its own.
    fn joined(&mut self, id: &RequestId, into: &RequestId) -> Result<(), String> {
        if self.requests.contains_key(id) || !self.joined.insert(id.clone()) {
            return Err(format!("{id} is a request of its own, or was passed on twice"));
        }
        let told = self.told(into)?;
        if !matches!(told.finished, None | Some(Status::NeedsUser)) {
            return Err(format!("{id} was passed on to {into}, which had ended"));
        }
        self.tally.joined += 1;
        Ok(())
    }

    /// A rule trusts the folder for everybody, from now on.
    fn note_trust(&mut self) {
        let folder = Some(self.folder.as_str());
        let trusts = |rule: &Rule| rule.verdict == RuleVerdict::Allow && rule.covers(Rule::TRUST, "*", folder);
        if self.rules.iter().any(trusts) {
            self.requests.values_mut().for_each(|told| told.trusted = true);
        }
    }

    fn told(&mut self, request: &RequestId) -> Result<&mut Told<'a>, String> {
        self.requests.get_mut(request).ok_or_else(|| "a request that was never received".to_owned())
    }

    fn request(&mut self, id: &'a RequestId, fact: &'a RequestFact) -> Result<(), String> {
        let told = self.told(id)?;
        match fact {
            RequestFact::Adjusted { approve, attended, max_steps, trusted, .. } => {
                let settings = &mut told.settings;
                settings.approve = approve.unwrap_or(settings.approve);
                settings.attended = attended.unwrap_or(settings.attended);
                settings.models.max_steps = max_steps.unwrap_or(settings.models.max_steps);
                told.trusted |= trusted.unwrap_or(false);
                self.tally.controls += 1;
            }
            RequestFact::Pausing {} => self.tally.controls += 1,
            RequestFact::Steered { by, text } if by == "user" => {
                told.unsent.push(text);
                self.tally.controls += 1;
            }
            RequestFact::Assessing { .. } => self.tally.assessed += 1,
            RequestFact::Reopened {} => {
                if !matches!(told.finished.take(), Some(Status::NeedsUser | Status::Limit)) {
                    return Err(format!("{id} was reopened, but had not ended for want of a person"));
                }
                self.tally.reopened += 1;
            }
            RequestFact::Finished { status, .. } => {
                if let Some(status) = told.finished.replace(*status) {
                    return Err(format!("{id} ended again, after it had ended as {status:?}"));
                }
                let is_asked = !told.asked.is_empty() || !told.passed_on.is_empty();
                let parks = matches!(status, Status::NeedsUser | Status::Limit) && is_asked;
                if !parks && let Some(question) = told.passed_on.keys().next() {
                    return Err(format!("{id} ended, and {question} of its worker is open"));
                }
                let at_work = told.board.as_ref().map(Board::is_at_work);
                if let Some(board) = told.board.as_ref().filter(|_| !parks) {
                    board.is_over().map_err(|broken| format!("{id} ended, but {broken}"))?;
                }
                if let Some(at_work) = at_work {
                    self.tally.subtasks.parked += u64::from(parks && at_work);
                    self.tally.subtasks.cancelled += u64::from(*status == Status::Cancelled);
                }
                let told = self.told(id)?;
                if !parks && let Some(call) = told.open.first() {
                    return Err(format!("{id} ended, and its tool {call} never did"));
                }
                // Whoever stops a request wants nothing more of it.
                if *status == Status::Completed {
                    let unheard = std::mem::take(&mut told.unsent);
                    self.unheard.extend(unheard);
                }
                let told = self.told(id)?;
                if *status == Status::NeedsUser && !is_asked {
                    return Err(format!("{id} ended for want of a person, but nothing is asked"));
                }
                if !parks {
                    told.asked.clear();
                }
                // A request that is stopped takes its open call with it.
                self.open.take_if(|(_, of, _)| *status == Status::Cancelled && *of == id);
                match status {
                    Status::Completed => self.tally.completed += 1,
                    Status::Cancelled => self.tally.cancelled += 1,
                    Status::Failed | Status::NotDone => self.tally.failed += 1,
                    Status::NeedsUser | Status::Limit => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn model(&mut self, request: &'a RequestId, fact: &'a ModelFact) -> Result<(), String> {
        match fact {
            ModelFact::Called { call, purpose, .. } => {
                if !self.calls.insert(call) {
                    return Err(format!("call {call} was made twice"));
                }
                let told = self.told(request)?;
                if let Some(open) = told.asked.keys().next() {
                    return Err(format!("call {call} was made although {open} is open"));
                }
                // The call that workers are at is open while a model merges what they made.
                if let Some(tool) = told.open.first().filter(|_| *purpose != Purpose::Merge) {
                    return Err(format!("call {call} was made while {tool} was under way"));
                }
                let aside = Some(purpose).filter(|purpose| {
                    matches!(purpose, Purpose::Summary | Purpose::Route | Purpose::Subtasks | Purpose::Merge)
                });
                if aside.is_none() {
                    told.unsent.clear();
                }
                if let Some((open, ..)) = self.open.replace((call, request, aside)) {
                    return Err(format!("call {call} was made while {open} was open"));
                }
            }
            ModelFact::Failed { call, .. } => {
                if self.open.take().is_none_or(|(open, ..)| open != call) {
                    return Err(format!("call {call} failed but was not open"));
                }
            }
        }
        Ok(())
    }

    fn reply(&mut self, request: &'a RequestId, fact: &'a ReplyFact) -> Result<(), String> {
        let ReplyFact::Saved { call, message, partial, raw, stop_reason, .. } = fact else { return Ok(()) };
        let Some((open, _, aside)) = self.open.filter(|(open, ..)| *open == call) else {
            return Err(format!("a reply to call {call} was saved, which was not open"));
        };
        let words = message.text();
        let stored = raw.as_ref().and_then(|key| self.state.texts.get(key));
        if stored.map(String::as_str).unwrap_or_default() != words {
            return Err(format!("{raw:?} holds {stored:?}, but the reply is {words:?}"));
        }
        let plan = self.plan;
        let told = self.told(request)?;
        // Who starts over may be told how far it was, or not. A summary names the rounds that it sums up.
        if told.afresh && aside.is_none() {
            let counts =
                [("round", &mut told.rounds), ("assessed", &mut told.assessments), ("compiled", &mut told.compiled)];
            for (kind, count) in counts {
                *count = mark_in(&words, kind).map_or(*count, |number| number.min(*count));
            }
        }
        let name = told.name.clone();
        let round = Ask::Round { name: name.clone(), round: told.rounds, doing: told.agreement.doing() };
        let assessment = Ask::Assessment { name: name.clone(), number: told.assessments };
        let compiled = Ask::Compile { name: name.clone(), number: told.compiled };
        if *partial {
            let begins = |ask: &Ask| plan.turn(ask).words.starts_with(&words);
            let is_right = match aside {
                Some(Purpose::Route) => begins(&Ask::Look { name }),
                Some(Purpose::Subtasks) => {
                    [0, 1].into_iter().any(|number| begins(&Ask::Breakdown { name: name.clone(), number }))
                }
                Some(_) => true,
                None if told.agreement.is_compiling() => begins(&compiled) || begins(&assessment),
                // A few words do not say yet which round they are of.
                None => told.afresh || begins(&round) || begins(&assessment),
            };
            if !is_right {
                return Err(format!("the partial reply {words:?} to {open} is not the beginning of the right one"));
            }
            self.tally.partials += 1;
            return Ok(());
        }
        self.open = None;
        match aside {
            Some(Purpose::Route) if words != plan.turn(&Ask::Look { name }).words => {
                return Err(format!("{words:?} is not what a look at the request says"));
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let told = self.told(request)?;
        let (ask, count) = match (mark_in(&words, "assessed"), told.agreement.is_compiling()) {
            (Some(_), _) => (assessment, &mut told.assessments),
            (None, true) => (compiled, &mut told.compiled),
            (None, false) => (round, &mut told.rounds),
        };
        *count += 1;
        told.last = Some((ask.clone(), words.clone()));
        let turn = plan.turn(&ask);
        if words != turn.words || *stop_reason != turn.stop || calls(message) != turn.calls.len() {
            return Err(format!("the reply {message:?} is not {turn:?}"));
        }
        let uses = message.parts.iter().filter_map(|part| match part {
            Part::ToolUse(call) => Some(call),
            _ => None,
        });
        for (number, tool_call) in uses.enumerate() {
            let tool = Tool {
                name: &tool_call.name,
                input: &tool_call.input,
                request: request.clone(),
                allowed: false,
                denied: false,
                approved: false,
                started: 0,
                finished: 0,
            };
            self.tools.insert(CallId::tool(call, number + 1), tool);
        }
        Ok(())
    }

    fn checkpoint(&mut self, request: &'a RequestId, fact: &'a CheckpointFact) -> Result<(), String> {
        match fact {
            CheckpointFact::Opened { checkpoint, ask, worker, .. } => {
                use checkpoint::Ask;
                self.tally.questions += 1;
                crate::questions::check(fact)?;
                if worker.is_some() {
                    self.tally.subtasks.questions += 1;
                    return match self.told(request)?.passed_on.insert(checkpoint, ask) {
                        Some(_) => Err(format!("{checkpoint} was asked twice")),
                        None => Ok(()),
                    };
                }
                self.tally.unknown += u64::from(matches!(ask, Ask::UnknownOutcome { .. }));
                self.tally.repeats += u64::from(*ask == Ask::Repeat);
                self.tally.clarified += u64::from(matches!(ask, Ask::Clarification { .. }));
                self.tally.satisfactions += u64::from(matches!(ask, Ask::Satisfaction { .. }));
                let told = self.told(request)?;
                let is_same = |open: &&Ask| {
                    let is_other = matches!((*open, ask), (Ask::SubtaskFailed { subtask: a, .. }, Ask::SubtaskFailed { subtask: b, .. }) if a != b);
                    discriminant(*open) == discriminant(ask) && open.call() == ask.call() && !is_other
                };
                if told.asked.values().any(is_same) {
                    return Err(format!("{checkpoint} asks what is being asked already"));
                }
                let whole = |ask: &&Ask| ask.call().is_none() || matches!(ask, Ask::Overtime { .. });
                if whole(&ask) && told.asked.values().any(whole) {
                    return Err(format!("{checkpoint} asks while another question about the whole request is open"));
                }
                told.asked.insert(checkpoint, ask);
            }
            CheckpointFact::Resolved { checkpoint, choice, text, by, .. } => {
                let told = self.told(request)?;
                if let Some(about) = told.passed_on.remove(checkpoint) {
                    if by == "user" && matches!(about, checkpoint::Ask::Budget { .. }) && choice == "raise" {
                        told.board.iter_mut().for_each(Board::raises);
                        self.tally.subtasks.raised += 1;
                    }
                    self.tally.subtasks.answered += u64::from(by == "user");
                    return Ok(());
                }
                let about = told.asked.remove(checkpoint).ok_or(format!("{checkpoint} was not open"))?;
                told.afresh |= matches!(about, checkpoint::Ask::Satisfaction { .. }) && choice == "start_over";
                let by_what = (told.mode, &told.settings);
                told.agreement.answered(about, choice, text.as_deref(), by, by_what)?;
                match (about, choice.as_str()) {
                    (checkpoint::Ask::Trust { .. }, "trust") => told.trusted = true,
                    (checkpoint::Ask::Permission(ask), choice) => {
                        let tool = self.tools.get_mut(&ask.call).ok_or("a question about no tool")?;
                        // *Always* has several forms.
                        let allows = choice == "allow" || choice.starts_with("always");
                        tool.allowed |= allows;
                        tool.denied |= !allows;
                    }
                    (checkpoint::Ask::UnknownOutcome { call, .. }, "again") => {
                        let call = self.runs.begun.keys().find(|begun| **begun == call).copied();
                        let call = call.ok_or("a question about no command")?;
                        *self.runs.again.entry(call).or_default() += 1;
                        // Whoever wants it run again allows it, whatever became of the rule that did before.
                        self.tools.get_mut(call).ok_or("a question about no tool")?.allowed = true;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn tool(&mut self, request: &'a RequestId, fact: &'a ToolFact) -> Result<(), String> {
        let (ToolFact::Started { call, .. } | ToolFact::Stopping { call } | ToolFact::Finished { call, .. }) = fact;
        self.is_own_call(request, fact)?;
        let tool = self.tools.get_mut(call).ok_or(format!("{call} was never asked for"))?;
        if tool.request != *request {
            return Err(format!("{call} belongs to another request"));
        }
        match fact {
            ToolFact::Started { .. } => {
                tool.started += 1;
                if tool.started > 1 || tool.finished > 0 {
                    return Err(format!("{call} began twice"));
                }
                self.tally.tools += 1;
                self.told(request)?.open.insert(call);
            }
            ToolFact::Stopping { .. } => self.tally.controls += 1,
            ToolFact::Finished { status, .. } => {
                tool.finished += 1;
                if tool.finished > 1 {
                    return Err(format!("{call} ended twice"));
                }
                let looks = matches!(tool.name, "read_file" | "list_files" | "find_files" | "search");
                let (name, acts) = (tool.name, matches!(tool.name, "fetch_url" | "run_command" | "write_file"));
                self.tally.refused += u64::from(*status == ToolStatus::Blocked);
                let told = self.told(request)?;
                told.open.remove(call);
                if acts && *status == ToolStatus::Ok && !told.agreement.may_act() {
                    return Err(format!("{call} ({name}) was done where nothing may be done"));
                }
                if looks && matches!(status, ToolStatus::Ok | ToolStatus::Partial) && !told.trusted {
                    return Err(format!("{call} has seen a folder that nobody trusts"));
                }
            }
        }
        Ok(())
    }

    /// Where a person wants sub-tasks, the program itself makes the call that they are carried out for.
    fn is_own_call(&mut self, request: &RequestId, fact: &'a ToolFact) -> Result<(), String> {
        let ToolFact::Started { call, name, input, .. } = fact else { return Ok(()) };
        let is_planned = self.told(request)?.board.is_some();
        if is_planned && name == "delegate" && !self.tools.contains_key(call) {
            let (request, allowed, denied, approved) = (request.clone(), false, false, false);
            let tool = Tool { name, input, request, allowed, denied, approved, started: 0, finished: 0 };
            self.tools.insert(call.clone(), tool);
        }
        Ok(())
    }

    /// Whether a set that is moved is what workers have made.
    fn is_merge(&self, fact: &ChangeFact) -> bool {
        let (ChangeFact::Reverted(change) | ChangeFact::Reapplied(change)) = fact else { return false };
        let call = call_of(change.change_set.as_str(), "-x-");
        call.is_ok_and(|call| self.tools.get(&call).is_some_and(|tool| tool.name == "delegate"))
    }

    /// Nothing is changed or run without trust, in plan mode or in a conversation.
    fn may_touch(&mut self, request: &RequestId, call: &CallId, what: &str) -> Result<(), String> {
        let told = self.told(request)?;
        if !told.trusted {
            return Err(format!("{what} by {call} in a folder that nobody trusts"));
        }
        if !told.agreement.may_act() {
            return Err(format!("{what} by {call} where nothing may be changed"));
        }
        Ok(())
    }

    /// Nor without somebody's yes: an answer, a rule or a setting.
    fn is_permitted(&mut self, call: &CallId, subject: &str, by_setting: bool, deletes: bool) -> Result<(), String> {
        let (rules, folder) = (&self.rules, &self.folder);
        let tool = self.tools.get_mut(call).ok_or(format!("{call} was never asked for"))?;
        let name = if matches!(tool.name, "write_file" | "apply_diff" | "delegate") { "edit_file" } else { tool.name };
        let says = |verdict| {
            rules.iter().any(|rule| rule.verdict == verdict && rule.covers(name, subject, Some(folder.as_str())))
        };
        if tool.denied {
            return Err(format!("{call} was done although it was refused"));
        }
        let by_setting = by_setting && (deletes || tool.name != "delete_file");
        if says(RuleVerdict::Deny) {
            return Err(format!("{call} was done although a rule forbids it"));
        }
        if !tool.allowed && (says(RuleVerdict::Ask) || !(by_setting || says(RuleVerdict::Allow))) {
            return Err(format!("{call} was done although nobody allowed it"));
        }
        tool.approved = true;
        Ok(())
    }

    fn command(&mut self, request: &RequestId, fact: &'a CommandFact) -> Result<(), String> {
        let CommandFact::Started { call: Some(call), command, .. } = fact else { return Ok(()) };
        self.may_touch(request, call, "a command")?;
        let chosen = self.level;
        let by_level = self.told(request)?.settings.autonomy_under(chosen) == Autonomy::Trusting;
        self.is_permitted(call, command, by_level, false)?;
        let begun = self.runs.begun.entry(call).or_default();
        *begun += 1;
        let again = self.runs.again.get(call).copied().unwrap_or(0);
        if *begun > 1 + again {
            return Err(format!("{command} was begun {begun} times, and {again} times a person wanted it again"));
        }
        self.tally.commands += 1;
        *self.runs.commands.entry(command.clone()).or_default() += 1;
        Ok(())
    }

    fn applied(&mut self, request: &RequestId, call: &CallId) -> Result<(), String> {
        let tool = self.tools.get(call).ok_or(format!("{call} was never asked for"))?;
        if tool.finished > 0 || !tool.approved {
            return Err(format!("{call} changed something, but has ended or was not approved"));
        }
        let (name, input) = (tool.name, tool.input);
        let text = |field: &str| input[field].as_str().unwrap_or_default().to_owned();
        let told = self.requests.get(request).ok_or("a request that was never received")?;
        // A request writes its own file; a worker also that of all workers, which its call names.
        let file = match subtasks::is_worker(&told.name) {
            true => text("path"),
            false => file_of(&told.name),
        };
        match name {
            "delegate" => {
                let board = told.board.as_ref().ok_or("nothing was merged")?;
                board.merge_into(&mut self.files, &self.sets.texts)?;
                self.tally.subtasks.merged += 1;
            }
            "write_file" => drop(self.files.insert(file.clone(), text("content"))),
            "edit_file" => {
                let block = &input["blocks"][0];
                let (search, replace) = (block["search"].as_str(), block["replace"].as_str());
                let before = self.files.get(&file).ok_or("a file was edited that is not there")?;
                let after = before.replacen(search.unwrap_or_default(), replace.unwrap_or_default(), 1);
                self.files.insert(file.clone(), after);
            }
            "delete_file" => drop(self.files.remove(&file).ok_or("a file was deleted that is not there")?),
            "move_file" => {
                let content = self.files.remove(&file).ok_or("a file was moved that is not there")?;
                self.files.insert(text("to"), content);
            }
            other => return Err(format!("{other} changed a file")),
        }
        self.tally.changes += 1;
        Ok(())
    }

    /// A command changed files. What others did meanwhile may be among it, and is not looked at.
    fn left_behind(&mut self, by: &ByCommand, set: &ChangeSetId) -> Result<(), String> {
        let before = self.files.clone();
        let tool = self.tools.get(&by.call).ok_or(format!("{} was never asked for", by.call))?;
        if tool.finished > 0 || !self.runs.begun.contains_key(&by.call) {
            return Err(format!("{} changed something, but has ended or was not begun", by.call));
        }
        let own = made_by(&by.command);
        // A worker is alone in its copy.
        for write in by.writes.iter().filter(|_| self.session.is_worker()) {
            let is_it = |text: &String| {
                write.after.as_ref().is_some_and(|state| state.hash == trimtab_world::store::hash(text.as_bytes()))
            };
            let text = (1..100).map(|begun: u32| begun.to_string()).find(is_it);
            let text =
                text.filter(|_| write.path == own).ok_or(format!("{} did something to {}", by.command, write.path))?;
            self.files.insert(own.clone(), text);
        }
        let after = by.writes.iter().filter(|write| write.path == own).filter_map(|write| write.after.clone());
        self.made.entry(by.command.clone()).or_default().extend(after.map(|state| state.hash));
        if self.session.is_worker() {
            self.sets.applied(set, &before, &self.files);
        }
        Ok(())
    }

    fn ends(&mut self, told: &[&RequestId]) -> Result<(), String> {
        self.tally.requests += self.received.len() as u64;
        for (id, request) in &self.requests {
            match request.finished {
                None => return Err(format!("{id} has no end")),
                Some(Status::NeedsUser) => return Err(format!("{id} ended for want of a person, who never came")),
                Some(Status::Completed) if request.handed_off => {}
                Some(Status::Completed) => self.is_answered(request).map_err(|broken| format!("{id}: {broken}"))?,
                Some(_) => {}
            }
        }
        // Those that were said by processes which died in the act stand in between; order holds.
        let in_order: Vec<&RequestId> = self.received.iter().filter(|request| told.contains(request)).collect();
        let told: Vec<&RequestId> = told.iter().copied().filter(|request| !self.joined.contains(*request)).collect();
        if in_order != told {
            return Err(format!("said in the order {told:?}, received as {in_order:?}"));
        }
        Ok(())
    }

    /// A completed request ends with its last reply, and that reply may end it.
    fn is_answered(&self, told: &Told<'_>) -> Result<(), String> {
        if told.agreement.is_left() {
            return Ok(());
        }
        let closed = told.answer.is_some_and(|answer| answer.contains(" sub-tasks completed"));
        if closed && told.board.is_some() {
            return Ok(());
        }
        if told.agreement.is_executing() {
            let summed_up = told.answer.is_some_and(|answer| answer.contains(" steps of the plan are done."));
            let is_last = told.last.as_ref().is_some_and(|(_, words)| told.answer == Some(words));
            return match told.agreement.is_carried_out() && (summed_up || is_last) {
                true => Ok(()),
                false => Err(format!("its plan is not carried out, and the answer is {:?}", told.answer)),
            };
        }
        let Some((ask @ Ask::Round { name, round, .. }, words)) = &told.last else {
            return Err(format!("it is completed, but the last that was said is {:?}", told.last));
        };
        if told.answer != Some(words) {
            return Err(format!("the last reply is {words:?}, but the answer is {:?}", told.answer));
        }
        let Turn { calls, stop, .. } = self.plan.turn(ask);
        let is_final = *round >= self.plan.rounds(name);
        let is_hollow = |round| {
            let Turn { calls, .. } = self.plan.turn(&Ask::Round { name: name.clone(), round, doing: Doing::Work });
            calls.is_empty() && round < self.plan.rounds(name)
        };
        // Without tools on offer, a reply that asks for one is the last; so is the second that names none.
        let without_tools = told.route == Some(RouteDecision::Chat);
        let twice_hollow = is_hollow(*round) && (0..*round).any(is_hollow);
        let cut_off = !calls.is_empty() && stop == Some(StopReason::MaxTokens);
        // Who finds that there is nothing to be planned answers.
        let unplanned = told.agreement.is_planning() && calls.is_empty();
        if is_final || unplanned || without_tools || twice_hollow || cut_off {
            return Ok(());
        }
        Err(format!("it is completed with {words:?}, but more was to be done"))
    }
}

/// The call that a proposal or a change set is named after.
fn call_of(name: &str, by: &str) -> Result<CallId, String> {
    let call = name.rsplit_once(by).map(|(_, call)| call).unwrap_or_default();
    call.parse().map_err(|_| format!("{name} is about no call"))
}

/// The number of the first mark of a kind.
fn mark_in(words: &str, wanted: &str) -> Option<u32> {
    marks(words).find(|(_, kind, ..)| kind == wanted).map(|(_, _, number, _)| number)
}

fn calls(message: &Message) -> usize {
    message.parts.iter().filter(|part| matches!(part, Part::ToolUse(_))).count()
}

/// How often a model failed since it last answered. That the program was killed meanwhile is no failure of the model.
fn failed_in_a_row(facts: &[&Fact]) -> u32 {
    let is_answer = |fact: &&&Fact| matches!(fact, Fact::Reply(ReplyFact::Saved { partial: false, .. }));
    let since = facts.iter().rev().take_while(|fact| !is_answer(fact));
    let is_aside = |of: &CallId| {
        facts.iter().any(|fact| match fact {
            Fact::Model(ModelFact::Called { call, purpose, .. }) => call == of && !purpose.is_turn(),
            _ => false,
        })
    };
    let is_failure = |fact: &&&Fact| match fact {
        Fact::Model(ModelFact::Failed { call, error, .. }) => {
            error.kind != trimtab_vocab::ProblemKind::Interrupted && !is_aside(call)
        }
        _ => false,
    };
    since.filter(is_failure).count() as u32
}

/// What a person said came to a deserved end.
fn one_request(history: &History, said: &super::Said, log: &[Event]) -> Result<(), String> {
    let id = &said.sent.request;
    let mine: Vec<&Fact> =
        log.iter().filter(|event| event.request.as_ref() == Some(id)).map(|event| &event.fact).collect();
    let text = match mine.first() {
        Some(Fact::Request(RequestFact::Received { text, .. })) => text,
        // It went to another request, and is nothing of its own.
        Some(Fact::Request(RequestFact::Joined { text, .. })) if mine.len() == 1 && *text == said.text => return Ok(()),
        _ => return Err(format!("{id} is lost")),
    };
    if *text != said.text {
        return Err(format!("{id} says {text:?} instead of {:?}", said.text));
    }
    // Where nobody is to be asked, what would be asked is turned down.
    let refused = mine.iter().any(|fact| {
        matches!(fact, Fact::Checkpoint(CheckpointFact::Resolved { by, choice, .. })
        if by == "approve deny" && matches!(choice.as_str(), "stop" | "cancel"))
    });
    let mode = mine.iter().find_map(|fact| match fact {
        Fact::Request(RequestFact::Received { mode, .. }) => Some(*mode),
        _ => None,
    });
    let called = mine.iter().any(|fact| matches!(fact, Fact::Model(_)));
    let ended = mine.iter().rev().find_map(|fact| match fact {
        Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
        _ => None,
    });
    match ended {
        // A reply in words where a deed was asked for is an end as well.
        Some(Status::Completed | Status::NotDone) => Ok(()),
        Some(Status::Cancelled | Status::Limit) if said.cancelled || refused => Ok(()),
        // There was nothing to be carried out.
        Some(Status::Failed) if mode == Some(Mode::Implement) && !called => Ok(()),
        Some(Status::Failed) if history.oracle.gave_reason_to_fail(name_of(&said.text)) => Ok(()),
        // Words that came in between make the same call another question to the model, and its failures still count.
        Some(Status::Failed) if failed_in_a_row(&mine) > history.oracle.retries() => Ok(()),
        status => Err(format!("{id} ended as {status:?} for no reason")),
    }
}

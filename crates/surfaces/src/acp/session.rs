//! A session that the client has open: its prompts, the updates that it gets, and the questions that it answers.
//!
//! Each open session is a task. It takes the client's calls and the session's events one after the other, so that
//! what the client is sent has one order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agent_client_protocol_schema::rpc::RequestId as RpcId;
use agent_client_protocol_schema::v1::{
    AvailableCommandsUpdate, ConfigOptionUpdate, ContentBlock, Cost, CurrentModeUpdate, Error, PromptResponse,
    SessionConfigOption, SessionInfoUpdate, SessionNotification, SessionUpdate, SetSessionConfigOptionResponse,
    SetSessionModeResponse, StopReason, ToolCallContent, UsageUpdate,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use trimtab_host::config::Profile;
use trimtab_host::{
    Answered, Client, JobState, Manner, PillMiss, PlacedServer, RequestDraft, SendTo, ServerStanding, SessionWatch,
};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{
    BannerFact, CheckpointFact, Level, ReplyFact, RequestFact, RuleFact, SessionFact, Status, UsageFact,
};
use trimtab_vocab::{
    Approve, CheckpointId, Control, Event, Fact, FileWrite, Mode, Problem, ProblemKind, RequestId, Rule, SessionId,
    SubtaskStart,
};

use super::commands::{self, EditorCommand};
use super::options::{self, RequestOptions};
use super::peer::{Peer, PeerAnswer, written};
use super::prompt::{self, PromptText};
use super::questions::{AskState, GivenChoice, OpenQuestion, SpokenAnswer};
use super::tool_calls::{self, is_shown, subtask_id};
use super::updates::UpdatePrinter;
use super::wire::bad_params;
use crate::conversation::{Conversation, Entry, EntryChange};
use crate::diff::LoadedDiff;
use crate::words;

/// How often the output of a running command is sent.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(150);
/// How long to wait before a session that cannot be watched is watched again.
const WATCH_PAUSE: Duration = Duration::from_secs(2);

/// A call of the client about an open session.
pub(super) enum SessionCall {
    Prompt {
        id: RpcId,
        blocks: Vec<ContentBlock>,
    },
    Cancel,
    /// The request with this ID is cancelled, if it is a prompt of this session.
    CancelRequest(RpcId),
    SetMode {
        id: RpcId,
        mode: Mode,
    },
    SetOption {
        id: RpcId,
        option: String,
        value: String,
    },
    /// Cancels the work of the session and ends the task; the answer is sent to the request with this ID, if there is one.
    Close {
        id: Option<RpcId>,
    },
    /// Ends the task; the next one of the same session continues where it was.
    HandOver,
}

/// What a session needs of its surroundings.
#[derive(Clone)]
pub(super) struct EditorContext {
    pub(super) client: Client,
    pub(super) profile: Profile,
    pub(super) peer: Peer,
    /// The client shows forms.
    pub(super) has_forms: bool,
}

/// What the task of a session leaves to the next one, when the client opens a session that it has open already.
#[derive(Default)]
pub(super) struct HandedOver {
    turns: Vec<PromptTurn>,
    own: BTreeSet<RequestId>,
    continued: Option<RequestId>,
    options: Option<RequestOptions>,
    shown_servers: BTreeMap<String, String>,
}

/// A prompt that is not answered yet.
struct PromptTurn {
    id: RpcId,
    /// The request that it waits for: its own, or the one that its text was sent to.
    request: RequestId,
    /// The session has taken it in.
    is_taken: bool,
}

/// The client's answer to the request with this ID; none: the request was withdrawn.
type PendingAnswer = (CheckpointId, i64, Option<PeerAnswer>);

pub(super) struct OpenSession {
    context: EditorContext,
    id: SessionId,
    folder: String,
    conversation: Conversation,
    printer: UpdatePrinter,
    options: RequestOptions,
    turns: Vec<PromptTurn>,
    /// Requests that were sent from here: the client shows their text already.
    own: BTreeSet<RequestId>,
    questions: BTreeMap<CheckpointId, OpenQuestion>,
    answers: JoinSet<PendingAnswer>,
    /// The request that was continued when the session was opened: it belongs to no prompt of this client.
    continued: Option<RequestId>,
    /// Why the last reply of each unfinished request stopped.
    stops: BTreeMap<RequestId, trimtab_vocab::StopReason>,
    cost_usd: Option<f64>,
    usage: Option<UsageUpdate>,
    /// The last recorded event that was taken in.
    seen: u64,
    /// The editor's MCP servers as they were shown, by name.
    shown_servers: BTreeMap<String, String>,
}

impl OpenSession {
    pub(super) fn new(context: EditorContext, id: SessionId, folder: String, before: HandedOver) -> Self {
        let HandedOver { turns, own, continued, options, shown_servers } = before;
        Self {
            context,
            id,
            printer: UpdatePrinter::new(folder.clone()),
            folder,
            conversation: Conversation::default(),
            options: options.unwrap_or_default(),
            turns,
            own,
            questions: BTreeMap::new(),
            answers: JoinSet::new(),
            continued,
            stops: BTreeMap::new(),
            cost_usd: None,
            usage: None,
            seen: 0,
            shown_servers,
        }
    }

    pub(super) fn options(&self) -> &RequestOptions {
        &self.options
    }

    pub(super) fn option_list(&self) -> Vec<SessionConfigOption> {
        self.options.list(&self.context.profile)
    }

    /// Takes in what was recorded so far. With `is_shown`, the client gets all of it.
    pub(super) async fn read_log(&mut self, is_shown: bool) -> Result<(), Problem> {
        loop {
            let page = self.context.client.sessions().events(&self.id, self.seen).await?;
            if page.is_empty() {
                break;
            }
            for event in page {
                self.conversation.observe(&event);
                self.note_fact(&event);
                self.seen = event.seq.unwrap_or(self.seen);
                if let (Some(request), Fact::Request(fact)) = (&event.request, &event.fact) {
                    self.move_turns(request, fact).await;
                }
            }
        }
        if is_shown {
            for at in 0..self.conversation.entries().len() {
                let writes = UpdatePrinter::wanted_diffs(&self.conversation, at, None);
                let diffs = self.load_diffs(&writes, None).await;
                let updates = self.printer.entry(&self.conversation, at, diffs);
                self.send_all(updates).await;
            }
        }
        if let Some(usage) = self.usage.clone() {
            self.send(SessionUpdate::UsageUpdate(usage)).await;
        }
        self.reload_questions().await
    }

    /// Continues unfinished work, and asks what is open. The user is there from now on.
    pub(super) async fn take_up(&mut self) -> Result<(), Problem> {
        let client = &self.context.client;
        let open = client.requests().list(false).await?.into_iter().find(|job| job.session == self.id);
        match open {
            Some(job) if !matches!(job.state, JobState::Finished(_)) => {
                client.requests().control(&self.id, Some(job.request.clone()), attended()).await?;
                // What another process or a prompt of this client runs stays its own.
                let is_own = self.turns.iter().any(|turn| turn.request == job.request);
                if job.state != JobState::Running && !is_own {
                    self.continued = Some(job.request);
                }
            }
            _ => client.resume(&self.id),
        }
        self.ask_idle().await;
        Ok(())
    }

    /// Serves the client until it closes the session, or opens it again.
    pub(super) async fn run(mut self, mut calls: mpsc::Receiver<SessionCall>) -> HandedOver {
        self.send_commands().await;
        let mut watch = self.context.client.watch(&self.id, self.seen);
        let mut tick = tokio::time::interval(OUTPUT_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                call = calls.recv() => match call {
                    None => return HandedOver::default(),
                    Some(SessionCall::Close { id }) => {
                        self.close(id).await;
                        return HandedOver::default();
                    }
                    Some(SessionCall::HandOver) => return self.hand_over().await,
                    Some(call) => self.call(call, &mut watch).await,
                },
                Some(Ok((checkpoint, id, answer))) = self.answers.join_next(), if !self.answers.is_empty() => {
                    self.answered(&checkpoint, id, answer).await;
                }
                event = watch.next() => match event {
                    Ok(event) => self.observe(&event).await,
                    Err(problem) => self.lost(&problem).await,
                },
                _ = tick.tick(), if self.printer.has_output() => {
                    let updates = self.printer.grown_output(&self.conversation);
                    self.send_all(updates).await;
                }
            }
        }
    }

    async fn call(&mut self, call: SessionCall, watch: &mut SessionWatch) {
        match call {
            SessionCall::Prompt { id, blocks } => self.prompt(id, blocks, watch).await,
            SessionCall::Cancel => self.cancel().await,
            SessionCall::CancelRequest(id) => {
                if self.turns.iter().any(|turn| turn.id == id) {
                    self.cancel().await;
                }
            }
            SessionCall::SetMode { id, mode } => {
                self.options.mode = mode;
                self.send_options().await;
                self.context.peer.respond(&id, Ok(written(SetSessionModeResponse::new()))).await;
            }
            SessionCall::SetOption { id, option, value } => {
                let mut set = self.options.set(&self.context.profile, &option, &value);
                if let (Ok(()), options::AUTONOMY, Some(level)) = (&set, option.as_str(), self.options.autonomy) {
                    let chosen = self.context.client.requests().set_autonomy(&self.id, level).await;
                    set = chosen.map_err(|problem| problem_error(&problem));
                }
                let list = self.options.list(&self.context.profile);
                let answer = set.map(|()| written(SetSessionConfigOptionResponse::new(list)));
                if answer.is_ok() && option == options::MODE {
                    let mode = self.options.mode_id();
                    self.send(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode))).await;
                }
                self.context.peer.respond(&id, answer).await;
            }
            // The loop ends the task.
            SessionCall::Close { .. } | SessionCall::HandOver => {}
        }
    }

    async fn send(&self, update: SessionUpdate) {
        self.context.peer.notify("session/update", SessionNotification::new(self.id.to_string(), update)).await;
    }

    async fn send_all(&self, updates: Vec<SessionUpdate>) {
        for update in updates {
            self.send(update).await;
        }
    }

    pub(super) async fn say(&mut self, text: &str) {
        let note = self.printer.note(text);
        self.send(note).await;
    }

    async fn send_commands(&self) {
        let EditorContext { client, profile, .. } = &self.context;
        let available = commands::available(client, profile, &self.folder).await;
        self.send(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(available))).await;
    }

    /// Tells the client what is chosen, after something else than its own selector has chosen it.
    async fn send_options(&self) {
        let list = self.options.list(&self.context.profile);
        self.send(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(list))).await;
        self.send(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(self.options.mode_id()))).await;
    }

    /// The changes of files that are shown. Contents that are no longer stored are not, unless they are asked about:
    /// whoever answers has to know what they have not seen.
    async fn load_diffs(&self, writes: &[FileWrite], asked: Option<&CheckpointId>) -> Vec<ToolCallContent> {
        if writes.is_empty() {
            return Vec::new();
        }
        match LoadedDiff::load(&self.context.client, &self.id, writes).await {
            Ok(files) => tool_calls::diffs(&files, &self.folder, asked),
            Err(problem) if asked.is_some() => {
                vec![tool_calls::whole_text(&format!("The change cannot be shown: {}", problem.message))]
            }
            Err(_) => Vec::new(),
        }
    }
}

/// Prompts and their ends.
impl OpenSession {
    async fn prompt(&mut self, id: RpcId, blocks: Vec<ContentBlock>, watch: &mut SessionWatch) {
        let PromptText { text, typed, images } = match prompt::read(blocks, &self.folder) {
            Ok(prompt) => prompt,
            Err(error) => return self.context.peer.respond(&id, Err(error)).await,
        };
        if text.trim().is_empty() && images.is_empty() {
            let error = bad_params("The prompt is empty. Type a request.");
            return self.context.peer.respond(&id, Err(error)).await;
        }
        if images.is_empty() {
            if let Some(command) = commands::read(&text) {
                return self.command(id, command, watch).await;
            }
            if let Some((question, spoken)) = self.spoken_to(&text) {
                return self.spoken(id, &question, spoken).await;
            }
        }
        self.show_pending_servers().await;
        let mode = self.options.mode;
        self.send_request(id, PromptText { text, typed, images }, mode, None).await;
    }

    /// Shows the editor's servers that wait for an approval, and that were not shown as they are now.
    pub(super) async fn show_pending_servers(&mut self) {
        let EditorContext { client, profile, .. } = self.context.clone();
        let Ok((servers, _)) = client.servers().of_editor(&profile, &self.folder, &self.id).await else { return };
        for server in servers.iter().filter(|server| server.standing == ServerStanding::Pending) {
            let entry = &server.entry;
            if self.shown_servers.get(&entry.name).is_some_and(|shown| *shown == entry.hash) {
                continue;
            }
            let name = entry.name.clone();
            self.say(&pending_server(server)).await;
            self.shown_servers.insert(name, entry.hash.clone());
        }
    }

    /// Lists the editor's servers, or decides about one of them.
    async fn servers(&mut self, words: &str) -> Result<String, Problem> {
        let EditorContext { client, profile, .. } = self.context.clone();
        let (servers, problems) = client.servers().of_editor(&profile, &self.folder, &self.id).await?;
        let (action, name) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let found = servers.iter().find(|server| server.entry.name == name.trim());
        match (action, found) {
            ("", _) if servers.is_empty() => {
                Ok("The editor passes no MCP servers, or the folder is not trusted.".to_owned())
            }
            ("", _) => {
                let line = |server: &PlacedServer| format!("- {}: {}", server.entry.name, server.standing.name());
                let lines: Vec<String> = servers.iter().map(line).chain(problems).collect();
                Ok(words::sanitize(&lines.join("\n")).into_owned())
            }
            ("enable", Some(server)) => {
                let entry = &server.entry;
                // Only what was shown can be approved.
                if self.shown_servers.get(&entry.name).is_none_or(|shown| *shown != entry.hash) {
                    self.shown_servers.insert(entry.name.clone(), entry.hash.clone());
                    return Ok(pending_server(server));
                }
                client.servers().decide(server, true).await?;
                Ok(format!("Approved {} as shown, for this folder. It is used from the next request on.", entry.name))
            }
            ("disable", Some(server)) => {
                client.servers().decide(server, false).await?;
                Ok(format!("{} is off in this folder.", server.entry.name))
            }
            ("enable" | "disable", None) => {
                Ok(format!("The editor passes no MCP server {}. `/mcp` lists them.", words::sanitize(name.trim())))
            }
            _ => Ok("Use `/mcp`, `/mcp enable NAME`, or `/mcp disable NAME`.".to_owned()),
        }
    }

    async fn send_request(&mut self, id: RpcId, prompt: PromptText, mode: Mode, subtasks: Option<SubtaskStart>) {
        let RequestOptions { model, effort, .. } = self.options.clone();
        let manner = Manner { model, effort, subtasks, typed: prompt.typed, ..Manner::attended() };
        // An image alone still needs words.
        let text = if prompt.text.trim().is_empty() { "Look at this image.".to_owned() } else { prompt.text };
        let draft = RequestDraft { mode, images: prompt.images, ..RequestDraft::new(text, manner) };
        let EditorContext { client, profile, peer, .. } = self.context.clone();
        let composed = match client.compose(&profile, &self.folder, draft).await {
            Ok(composed) => composed,
            Err(problem) => return peer.respond(&id, Err(problem_error(&problem))).await,
        };
        match composed.pill_miss() {
            Some(PillMiss::Almost(name)) => self.say(&format!("Unknown command. Did you mean /{name}?")).await,
            Some(PillMiss::Untrusted) => {
                self.say(
                    "The folder is not trusted, so its pills and commands cannot be called. The text is sent as a request.",
                )
                .await;
            }
            None => {}
        }
        let request = trimtab_host::new_request();
        self.own.insert(request.clone());
        self.turns.push(PromptTurn { id: id.clone(), request: request.clone(), is_taken: false });
        if let Err(problem) = client.send_as(SendTo::Session(self.id.clone()), composed, request).await {
            self.turns.retain(|turn| turn.id != id);
            peer.respond(&id, Err(problem_error(&problem))).await;
        }
    }

    async fn command(&mut self, id: RpcId, command: EditorCommand, watch: &mut SessionWatch) {
        let client = self.context.client.clone();
        let done = match command {
            EditorCommand::Implement => {
                let prompt = PromptText { text: words::IMPLEMENT.to_owned(), ..PromptText::default() };
                return self.send_request(id, prompt, Mode::Implement, None).await;
            }
            EditorCommand::Subtasks(text) => {
                let (prompt, mode) = (PromptText { text, ..PromptText::default() }, self.options.mode);
                return self.send_request(id, prompt, mode, Some(SubtaskStart::Ask)).await;
            }
            EditorCommand::Servers(words) => self.servers(&words).await.map(Some),
            EditorCommand::Changes => commands::changes(&client, &self.id).await.map(Some),
            EditorCommand::Rewind(steps) => commands::move_history(&client, &self.id, steps, true).await,
            EditorCommand::Forward(steps) => commands::move_history(&client, &self.id, steps, false).await,
            EditorCommand::Handoff => commands::settle(&client, &self.id, Control::Handoff).await.map(|()| None),
            EditorCommand::Extend => commands::settle(&client, &self.id, Control::Extend).await.map(|()| None),
            EditorCommand::Control(control) => client.requests().control(&self.id, None, control).await.map(|()| None),
            EditorCommand::Model(name) => Ok(Some(self.choose_model(name).await)),
            EditorCommand::Effort(level) => Ok(Some(match words::effort_level(&level) {
                Ok(effort) => {
                    self.options.effort = effort;
                    self.send_options().await;
                    words::effort_set(effort)
                }
                Err(wrong) => wrong,
            })),
            EditorCommand::Autonomy(level) if level.is_empty() => {
                let current = self.options.level(&self.context.profile).within(self.options.autonomy_limit);
                Ok(Some(words::autonomy_levels(current)))
            }
            EditorCommand::Autonomy(level) => match words::autonomy_level(&level) {
                Ok(level) => client
                    .requests()
                    .set_autonomy(&self.id, level)
                    .await
                    .map(|()| Some(words::autonomy_set(level, self.options.autonomy_limit))),
                Err(wrong) => Ok(Some(wrong)),
            },
            EditorCommand::Mode(mode) => {
                self.options.mode = mode;
                self.send_options().await;
                Ok(Some(format!("Mode for the next requests: {}.", self.options.mode_id())))
            }
        };
        let answer = match done {
            Ok(text) => {
                self.catch_up(watch).await;
                if let Some(text) = text {
                    self.say(&text).await;
                }
                Ok(written(PromptResponse::new(StopReason::EndTurn)))
            }
            Err(problem) => Err(problem_error(&problem)),
        };
        self.context.peer.respond(&id, answer).await;
    }

    async fn choose_model(&mut self, name: String) -> String {
        if name.is_empty() {
            let current = self.options.model.clone().or_else(|| self.context.profile.model.clone());
            return format!("Model: {}.", current.unwrap_or_else(|| "none is set up".to_owned()));
        }
        if !name.contains('/') {
            return format!("Invalid model \"{}\". Expected PROVIDER/NAME.", words::sanitize(&name));
        }
        self.options.model = Some(name.clone());
        self.send_options().await;
        format!("Model for the next requests: {}.", words::sanitize(&name))
    }

    /// Takes in what was recorded until now, so that the client has it before the answer.
    async fn catch_up(&mut self, watch: &mut SessionWatch) {
        let Ok(history) = self.context.client.changes().history(&self.id).await else { return };
        while self.seen < history.last {
            match watch.next().await {
                Ok(event) => self.observe(&event).await,
                Err(problem) => return self.lost(&problem).await,
            }
        }
    }

    /// Cancels the work of the session. A request that waits for an answer keeps waiting, for other surfaces as well:
    /// only the client's side of the question ends.
    async fn cancel(&mut self) {
        self.withdraw_all().await;
        let waits = |turn: &PromptTurn| {
            let is_its = |question: &&OpenQuestion| question.request.as_ref() == Some(&turn.request);
            self.questions.values().filter(is_its).any(|question| !question.is_about_one_subtask())
        };
        if !self.turns.is_empty() && self.turns.iter().all(waits) {
            return self.end_turns(|_| true, Ok(StopReason::Cancelled)).await;
        }
        let mut targets: BTreeSet<Option<RequestId>> =
            self.turns.iter().map(|turn| Some(turn.request.clone()).filter(|_| turn.is_taken)).collect();
        if targets.is_empty() {
            targets.insert(None);
        }
        for request in targets {
            if let Err(problem) = self.context.client.requests().control(&self.id, request, Control::Cancel).await {
                self.end_turns(|_| true, Err(problem_error(&problem))).await;
            }
        }
    }

    async fn close(&mut self, id: Option<RpcId>) {
        if !self.turns.is_empty() {
            self.cancel().await;
        }
        // Nobody would watch it from here any more.
        if let Some(request) = self.continued.take() {
            let _ = self.context.client.requests().control(&self.id, Some(request), Control::Cancel).await;
        }
        self.withdraw_all().await;
        self.end_turns(|_| true, Ok(StopReason::Cancelled)).await;
        self.context.client.use_buffers(&self.id, None);
        self.context.client.servers().use_in(&self.id, Vec::new());
        if let Some(id) = id {
            self.context.peer.respond(&id, Ok(json!({}))).await;
        }
    }

    /// Leaves the session to its next task. What runs continues.
    async fn hand_over(mut self) -> HandedOver {
        self.withdraw_all().await;
        let Self { turns, own, continued, options, shown_servers, .. } = self;
        HandedOver { turns, own, continued, options: Some(options), shown_servers }
    }

    /// Ends the turns of prompts, each with this answer.
    async fn end_turns(&mut self, is_ended: impl Fn(&PromptTurn) -> bool, answer: Result<StopReason, Error>) {
        let (ended, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.turns).into_iter().partition(is_ended);
        self.turns = left;
        for turn in ended {
            let answer = answer.clone().map(|stop| written(PromptResponse::new(stop)));
            self.context.peer.respond(&turn.id, answer).await;
        }
    }

    /// The session cannot be opened: its prompts end with the reason.
    pub(super) async fn give_up(&mut self, problem: &Problem) {
        self.end_turns(|_| true, Err(problem_error(problem))).await;
    }

    /// The session cannot be run or watched just now. What is recorded stays.
    async fn lost(&mut self, problem: &Problem) {
        if self.turns.is_empty() {
            self.say(&problem.message).await;
        }
        self.end_turns(|_| true, Err(problem_error(problem))).await;
        tokio::time::sleep(WATCH_PAUSE).await;
    }
}

/// Events of the session.
impl OpenSession {
    async fn observe(&mut self, event: &Event) {
        self.seen = event.seq.unwrap_or(self.seen);
        if let Fact::Reply(ReplyFact::Delta { call, thinking, .. }) = &event.fact
            && !thinking.is_empty()
            && !self.conversation.calls().is_aside(call)
        {
            let thought = self.printer.thinking(call, thinking);
            self.send(thought).await;
        }
        let is_own = event.request.as_ref().is_some_and(|request| self.own.contains(request));
        for update in self.conversation.observe(event) {
            if self.is_reported_as_error(event, update.at) {
                continue;
            }
            let writes = UpdatePrinter::wanted_diffs(&self.conversation, update.at, Some(&update.change));
            let diffs = self.load_diffs(&writes, None).await;
            if update.change == EntryChange::CommandEnded {
                let output = self.printer.grown_output(&self.conversation);
                self.send_all(output).await;
            }
            let updates = self.printer.update(&self.conversation, &update, diffs, is_own);
            self.send_all(updates).await;
        }
        self.note_fact(event);
        self.react(event).await;
    }

    /// Whether an entry is the end of a prompt that failed. The answer to the prompt has the error.
    fn is_reported_as_error(&self, event: &Event, at: usize) -> bool {
        let Entry::Summary(summary) = self.conversation.entry(at) else { return false };
        let has_turn = self.turns.iter().any(|turn| Some(&turn.request) == event.request.as_ref());
        summary.status == Status::Failed && has_turn
    }

    /// Keeps what later answers need of an event.
    fn note_fact(&mut self, event: &Event) {
        match &event.fact {
            Fact::Usage(UsageFact { usage, context_tokens, context_window, model, .. }) => {
                self.cost_usd = match (self.cost_usd, usage.cost_usd) {
                    (None, None) => None,
                    (before, more) => Some(before.unwrap_or(0.0) + more.unwrap_or(0.0)),
                };
                if let Some(used) = context_tokens {
                    let size = context_window.unwrap_or_else(|| self.context.profile.facts(model).window);
                    let cost = self.cost_usd.map(|cost| Cost::new(cost, "USD"));
                    self.usage = Some(UsageUpdate::new(*used, size).cost(cost));
                }
            }
            Fact::Reply(ReplyFact::Saved { call, stop_reason: Some(stop), .. })
                if !self.conversation.calls().is_aside(call) =>
            {
                if let Some(request) = &event.request {
                    self.stops.insert(request.clone(), stop.clone());
                }
            }
            _ => {}
        }
    }

    async fn react(&mut self, event: &Event) {
        match &event.fact {
            Fact::Usage(_) => {
                if let Some(usage) = self.usage.clone() {
                    self.send(SessionUpdate::UsageUpdate(usage)).await;
                }
            }
            Fact::Session(SessionFact::Titled { title, .. }) => {
                let info = SessionInfoUpdate::new().title(title.clone()).updated_at(event.time.to_string());
                self.send(SessionUpdate::SessionInfoUpdate(info)).await;
            }
            // It may have been chosen elsewhere.
            Fact::Session(SessionFact::Autonomy { level, .. }) => {
                self.options.autonomy = Some(*level);
                self.send_options().await;
            }
            Fact::Request(RequestFact::Received { settings, .. })
                if settings.autonomy.limit != self.options.autonomy_limit =>
            {
                self.options.autonomy_limit = settings.autonomy.limit;
                self.send_options().await;
            }
            Fact::Rule(RuleFact::Added { rule }) if rule.tool == Rule::TRUST => self.send_commands().await,
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) => {
                // It may be known already: what is open was read ahead of the log.
                let is_shown = self.questions.get(checkpoint).is_some_and(OpenQuestion::is_shown);
                if let Some(question) = OpenQuestion::opened_by(event).filter(|_| !is_shown) {
                    self.questions.insert(checkpoint.clone(), question);
                    self.ask(checkpoint.clone()).await;
                }
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                if let Some(OpenQuestion { state: AskState::Asked(id), .. }) = self.questions.remove(checkpoint) {
                    self.context.peer.withdraw(id).await;
                }
            }
            // An answer may be refused; the question is then asked again.
            Fact::Banner(BannerFact { level: Level::Warning, .. }) => {
                let refused = self.questions.values_mut().filter(|question| question.state == AskState::Answered);
                let refused: Vec<CheckpointId> = refused
                    .map(|question| {
                        question.state = AskState::Idle;
                        question.checkpoint.clone()
                    })
                    .collect();
                for checkpoint in refused {
                    self.ask(checkpoint).await;
                }
            }
            Fact::Request(fact) => self.request_moved(event, fact).await,
            _ => {}
        }
    }

    async fn request_moved(&mut self, event: &Event, fact: &RequestFact) {
        let Some(request) = &event.request else { return };
        self.move_turns(request, fact).await;
        match fact {
            // It may wait behind a request that asks something.
            RequestFact::Received { .. } | RequestFact::Joined { checkpoint: None, .. }
                if self.own.contains(request) =>
            {
                self.ask_idle().await;
            }
            RequestFact::Finished { .. } => {
                if let Err(problem) = self.reload_questions().await {
                    tracing::warn!(session = %self.id, "its questions cannot be read: {problem}");
                }
            }
            _ => {}
        }
    }

    /// What a fact about a request means for the prompts that wait for it.
    async fn move_turns(&mut self, request: &RequestId, fact: &RequestFact) {
        match fact {
            RequestFact::Received { .. } if self.own.contains(request) => {
                let taken = self.turns.iter_mut().filter(|turn| turn.request == *request);
                taken.for_each(|turn| turn.is_taken = true);
            }
            RequestFact::Joined { into, .. } if self.own.contains(request) => {
                for turn in self.turns.iter_mut().filter(|turn| turn.request == *request) {
                    (turn.request, turn.is_taken) = (into.clone(), true);
                }
            }
            RequestFact::Finished { status, error, .. } => {
                self.continued.take_if(|continued| continued == request);
                let stop = self.stops.remove(request);
                let answer = match (status, error) {
                    (Status::Failed, Some(problem)) => Err(problem_error(problem)),
                    (Status::Cancelled, _) => Ok(StopReason::Cancelled),
                    (Status::Limit, _) => Ok(StopReason::MaxTurnRequests),
                    _ => Ok(stop_reason(stop.as_ref())),
                };
                self.end_turns(|turn| turn.request == *request, answer).await;
            }
            _ => {}
        }
    }
}

/// Questions to the user.
impl OpenSession {
    /// Reads which questions are open. What the client is shown of them stays.
    async fn reload_questions(&mut self) -> Result<(), Problem> {
        let open = self.context.client.requests().checkpoints().await?;
        let open = open.iter().filter(|event| event.session == self.id).filter_map(OpenQuestion::opened_by);
        let mut before = std::mem::take(&mut self.questions);
        for question in open {
            let known = before.remove(&question.checkpoint).unwrap_or(question);
            self.questions.insert(known.checkpoint.clone(), known);
        }
        for gone in before.into_values() {
            if let AskState::Asked(id) = gone.state {
                self.context.peer.withdraw(id).await;
            }
        }
        Ok(())
    }

    /// Asks every open question that the client does not show.
    async fn ask_idle(&mut self) {
        let idle = self.questions.values().filter(|question| question.state == AskState::Idle);
        let idle: Vec<CheckpointId> = idle.map(|question| question.checkpoint.clone()).collect();
        for checkpoint in idle {
            self.ask(checkpoint).await;
        }
    }

    async fn ask(&mut self, checkpoint: CheckpointId) {
        let Some(question) = self.questions.get(&checkpoint).cloned() else { return };
        let (peer, session) = (self.context.peer.clone(), self.id.to_string());
        let sent = if question.is_permission() {
            let (shown, writes) = self.shown_call(&question);
            let diffs = self.load_diffs(&writes, Some(&checkpoint)).await;
            peer.request("session/request_permission", question.permission(&session, shown, diffs)).await
        } else if self.context.has_forms {
            peer.request("elicitation/create", question.form(&session)).await
        } else {
            return self.ask_in_text(&question).await;
        };
        if let Some(known) = self.questions.get_mut(&checkpoint) {
            known.state = AskState::Asked(sent.id);
        }
        self.answers.spawn(async move { (checkpoint, sent.id, sent.answer.await.ok()) });
    }

    /// Asks by a message and ends the turn: the next prompt answers.
    async fn ask_in_text(&mut self, question: &OpenQuestion) {
        self.say(&question.message()).await;
        let last = question.request.as_ref().and_then(|request| self.stops.get(request));
        let stop = match &question.ask {
            Ask::StepLimit | Ask::Budget { .. } => StopReason::MaxTurnRequests,
            Ask::Recovery { .. } => stop_reason(last),
            _ => StopReason::EndTurn,
        };
        if !question.is_about_one_subtask() {
            self.end_turns(|_| true, Ok(stop)).await;
        }
    }

    /// The tool call that a question belongs to, as the client knows it, and the changes that it asks about.
    fn shown_call(&self, question: &OpenQuestion) -> (Option<String>, Vec<FileWrite>) {
        let entries = self.conversation.entries().iter().enumerate().rev();
        if let Some(worker) = &question.worker {
            let board = entries.into_iter().find_map(|(at, placed)| match &placed.entry {
                Entry::Subtasks(board) if board.task(&worker.subtask).is_some() => Some(at),
                _ => None,
            });
            return (board.map(|at| subtask_id(at, &worker.subtask)), Vec::new());
        }
        let Some(call) = question.ask.call() else { return (None, Vec::new()) };
        let tool = entries.into_iter().find_map(|(_, placed)| match &placed.entry {
            Entry::Tool(tool) if tool.call == *call && is_shown(tool) => Some(tool),
            _ => None,
        });
        tool.map_or((None, Vec::new()), |tool| (Some(tool.call.to_string()), tool.writes.clone()))
    }

    /// Takes the client's answer to a question.
    async fn answered(&mut self, checkpoint: &CheckpointId, id: i64, answer: Option<PeerAnswer>) {
        let Some(question) = self.questions.get_mut(checkpoint) else { return };
        if question.state != AskState::Asked(id) {
            return;
        }
        question.state = AskState::Idle;
        let question = question.clone();
        let given = match &answer {
            Some(Ok(raw)) if question.is_permission() => question.permission_answer(raw),
            Some(Ok(raw)) => question.form_answer(raw),
            _ => None,
        };
        match (given, answer) {
            (Some(given), _) => {
                if let Err(problem) = self.give(&question, given).await {
                    self.say(&problem.message).await;
                }
            }
            // The client cannot show the form.
            (None, Some(Err(_))) if !question.is_permission() => self.ask_in_text(&question).await,
            // Not an answer: the question waits.
            (None, _) if question.is_about_one_subtask() => {}
            (None, _) => {
                let stop = if question.is_permission() { StopReason::Cancelled } else { StopReason::EndTurn };
                self.end_turns(|_| true, Ok(stop)).await;
            }
        }
    }

    async fn give(&mut self, question: &OpenQuestion, given: GivenChoice) -> Result<(), Problem> {
        let GivenChoice { choice, text } = given;
        if let Some(request) = question.request.clone().filter(|request| !self.own.contains(request)) {
            // Whoever answers is there to be asked again, and decides from now on.
            self.context.client.requests().control(&self.id, Some(request), attended()).await?;
        }
        let answer =
            Answered { checkpoint: question.checkpoint.clone(), choice, text, by: CheckpointFact::PERSON.into() };
        self.context.client.requests().answer(&self.id, answer).await?;
        if let Some(known) = self.questions.get_mut(&question.checkpoint) {
            known.state = AskState::Answered;
        }
        Ok(())
    }

    /// The one open question that takes an answer in words, and the answer that these words are.
    fn spoken_to(&self, words: &str) -> Option<(OpenQuestion, SpokenAnswer)> {
        let mut open = self.questions.values().filter(|question| !question.is_permission());
        let question = open.next().filter(|_| open.next().is_none())?;
        Some((question.clone(), question.spoken_answer(words)?))
    }

    /// Answers a question in words; the prompt waits for the request that continues.
    async fn spoken(&mut self, id: RpcId, question: &OpenQuestion, spoken: SpokenAnswer) {
        let peer = self.context.peer.clone();
        let given = match spoken {
            SpokenAnswer::Given(given) => given,
            SpokenAnswer::NeedsText { example, start } => {
                let current =
                    start.map(|text| format!(" This is the current text:\n\n```\n{}\n```", text.replace("```", "'''")));
                let current = current.unwrap_or_default();
                self.say(&format!("This answer needs text. Add it after a colon: `{example}: your text`.{current}"))
                    .await;
                return peer.respond(&id, Ok(written(PromptResponse::new(StopReason::EndTurn)))).await;
            }
        };
        if let AskState::Asked(request) = question.state {
            peer.withdraw(request).await;
        }
        // Registered first, because the request may end before the answer to this call returns.
        if let Some(request) = question.request.clone() {
            self.turns.push(PromptTurn { id: id.clone(), request, is_taken: true });
        }
        match self.give(question, given).await {
            Ok(()) if question.request.is_some() => {}
            Ok(()) => peer.respond(&id, Ok(written(PromptResponse::new(StopReason::EndTurn)))).await,
            Err(problem) => {
                self.turns.retain(|turn| turn.id != id);
                peer.respond(&id, Err(problem_error(&problem))).await;
            }
        }
    }

    /// Withdraws every question from the client. They stay open in the session.
    async fn withdraw_all(&mut self) {
        let peer = self.context.peer.clone();
        for question in self.questions.values_mut() {
            if let AskState::Asked(id) = question.state {
                question.state = AskState::Idle;
                peer.withdraw(id).await;
            }
        }
    }
}

/// The user is there, and is asked.
fn attended() -> Control {
    Control::Adjust { approve: Some(Approve::Ask), attended: Some(true), max_steps: None, trusted: None }
}

fn stop_reason(stop: Option<&trimtab_vocab::StopReason>) -> StopReason {
    use trimtab_vocab::StopReason as Stopped;
    match stop {
        Some(Stopped::MaxTokens) => StopReason::MaxTokens,
        Some(Stopped::ContentFiltered | Stopped::GuardrailIntervened) => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}

/// A problem as an error of the protocol.
pub(super) fn problem_error(problem: &Problem) -> Error {
    let error = match problem.kind {
        ProblemKind::NoKey | ProblemKind::Auth => Error::auth_required(),
        ProblemKind::Usage | ProblemKind::Settings => Error::invalid_params(),
        ProblemKind::NotFound => Error::resource_not_found(None),
        _ => Error::internal_error(),
    };
    let hint = problem.hint.as_deref().map(words::hint_in_editor);
    let message = match &hint {
        Some(hint) => format!("{} {hint}", words::sentence(&problem.message)),
        None => problem.message.clone(),
    };
    let mut error = error.data(json!({"kind": problem.kind, "message": problem.message, "hint": hint}));
    error.message = message;
    error
}

/// What a user reads before a server of the editor may start.
fn pending_server(server: &PlacedServer) -> String {
    let described = words::servers::described(server).replace("```", "'''");
    format!(
        "The editor passes an MCP server that you have not approved in this folder. It is off.\n\n```\n{described}```\n\n`/mcp enable {}` approves it as shown.",
        server.entry.name
    )
}

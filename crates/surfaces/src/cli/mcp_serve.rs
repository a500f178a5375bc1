//! `trimtab mcp serve`: offers Trimtab to other agents as an MCP server on standard input and output.
//!
//! Another agent is not a person: what needs one comes back as such, with the checkpoint and how to answer it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use trimtab_host::config::Profile;
use trimtab_host::{Client, Manner, RequestDraft, SendTo, Sent, Set, WhenBusy};
use trimtab_vocab::event::{CheckpointFact, RequestFact, Status};
use trimtab_vocab::{Control, Event, Fact, Mode, OnConflict, Problem, ProblemKind, SessionId, WhileRunning};

use super::CliOutcome;
use super::follow::OutcomeObject;
use crate::bounded_lines::{InputLine, LineReader};
use crate::words;

/// Bytes of a message.
const LONGEST_LINE: usize = 4 * 1024 * 1024;
/// Calls at the same time.
const MOST_CALLS: usize = 16;
/// How often a call says that it still works.
const BETWEEN_SIGNS: Duration = Duration::from_secs(2);
/// Messages that wait to be written.
const QUEUE: usize = 64;
/// Revisions of the protocol that this speaks, the newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Serves one client until it closes standard input.
pub(super) async fn serve(profile: Profile, client: Client, folder: String) -> Result<CliOutcome, Problem> {
    let (sender, mut messages) = mpsc::channel::<Value>(QUEUE);
    let writer = tokio::spawn(async move {
        let mut out = tokio::io::stdout();
        while let Some(message) = messages.recv().await {
            let line = format!("{message}\n");
            if out.write_all(line.as_bytes()).await.is_err() || out.flush().await.is_err() {
                return;
            }
        }
    });
    let tools = Arc::new(AgentTools { profile, client, folder });
    let mut server = AgentServer { tools, sender, calls: JoinSet::new(), running: Arc::default() };
    let ended = server.run(BufReader::new(tokio::io::stdin())).await;
    // The client is gone. What was sent is stored, and `trimtab resume` continues it.
    server.calls.abort_all();
    drop(server);
    let _ = tokio::time::timeout(Duration::from_secs(1), writer).await;
    ended.map_err(|error| Problem::new(ProblemKind::Internal, format!("Standard input failed: {error}.")))?;
    Ok(CliOutcome::Done)
}

type RunningAgentCalls = Arc<Mutex<HashMap<String, AgentCall>>>;

/// A call that can be cancelled.
struct AgentCall {
    task: AbortHandle,
    /// What it has sent, once it has.
    sent: Option<Sent>,
}

struct AgentServer {
    tools: Arc<AgentTools>,
    sender: mpsc::Sender<Value>,
    calls: JoinSet<()>,
    running: RunningAgentCalls,
}

impl AgentServer {
    async fn run(&mut self, input: impl AsyncBufRead + Unpin) -> std::io::Result<()> {
        let mut lines = LineReader::new(input, LONGEST_LINE);
        while let Some(line) = lines.next().await? {
            let message = match line {
                InputLine::Text(line) => serde_json::from_slice::<Value>(line).ok(),
                InputLine::TooLong => None,
            };
            while self.calls.try_join_next().is_some() {}
            match message {
                Some(Value::Object(message)) => self.take(message).await,
                _ => self.refuse(Value::Null, -32700, "The line is not a JSON-RPC message.").await,
            }
        }
        Ok(())
    }

    async fn take(&mut self, message: Map<String, Value>) {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return };
        let params = message.get("params").cloned().unwrap_or_default();
        let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned() else {
            if method == "notifications/cancelled" {
                self.cancel(&params["requestId"]).await;
            }
            return;
        };
        match method {
            "initialize" => {
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                let revision = REVISIONS.iter().find(|known| **known == asked).unwrap_or(&REVISIONS[0]);
                let info = json!({"name": "trimtab", "version": env!("CARGO_PKG_VERSION")});
                let result = json!({
                    "protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info,
                    "instructions": INSTRUCTIONS,
                });
                self.answer(id, result).await;
            }
            "ping" => self.answer(id, json!({})).await,
            "tools/list" => self.answer(id, json!({"tools": tools()})).await,
            "tools/call" if self.calls.len() >= MOST_CALLS => {
                self.refuse(id, -32000, "Too many calls at the same time.").await;
            }
            "tools/call" => self.start(id, params),
            _ => self.refuse(id, -32601, "Unknown method.").await,
        }
    }

    /// Begins a call beside others.
    fn start(&mut self, id: Value, params: Value) {
        let (tools, running, sender) = (Arc::clone(&self.tools), Arc::clone(&self.running), self.sender.clone());
        let key = id.to_string();
        let signs = ProgressSigns::new(sender.clone(), params["_meta"]["progressToken"].clone());
        let call = key.clone();
        let task = self.calls.spawn(async move {
            let note = |sent: &Sent| {
                let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(call) = running.get_mut(&call) {
                    call.sent = Some(sent.clone());
                }
            };
            let name = params["name"].as_str().unwrap_or_default();
            let answer = tools.call(name, &params["arguments"], signs, note).await;
            running.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            let message = match answer {
                Ok(answer) => json!({"jsonrpc": "2.0", "id": id, "result": answer.into_result()}),
                Err(problem) => {
                    let hint = problem.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
                    let text = words::sanitize(&format!("{}{hint}", problem.message)).into_owned();
                    let result = json!({"content": [{"type": "text", "text": text}], "isError": true});
                    json!({"jsonrpc": "2.0", "id": id, "result": result})
                }
            };
            // The client may have gone.
            let _ = sender.send(message).await;
        });
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(key, AgentCall { task, sent: None });
    }

    /// Cancels a call, and the request that it has sent.
    async fn cancel(&self, id: &Value) {
        let call = self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
        let Some(AgentCall { task, sent }) = call else { return };
        task.abort();
        if let Some(sent) = sent {
            let cancelled = self.tools.client.requests().cancel(&sent.session, &sent.request).await;
            if let Err(problem) = cancelled {
                tracing::warn!(message = problem.message, "a request cannot be cancelled");
            }
        }
    }

    async fn answer(&self, id: Value, result: Value) {
        let _ = self.sender.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    async fn refuse(&self, id: Value, code: i32, message: &str) {
        let error = json!({"code": code, "message": message});
        let _ = self.sender.send(json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }
}

/// Tells the client that a call still works, if it wants to know.
struct ProgressSigns {
    sender: mpsc::Sender<Value>,
    token: Value,
    count: u64,
    last: Instant,
}

impl ProgressSigns {
    fn new(sender: mpsc::Sender<Value>, token: Value) -> Self {
        Self { sender, token, count: 0, last: Instant::now() }
    }

    fn note(&mut self, event: &Event) {
        let message = match &event.fact {
            Fact::Stage(stage) => stage.label.clone(),
            _ => return,
        };
        if self.token.is_null() || self.last.elapsed() < BETWEEN_SIGNS {
            return;
        }
        (self.count, self.last) = (self.count + 1, Instant::now());
        let params = json!({"progressToken": self.token, "progress": self.count, "message": message});
        // A sign that does not fit into the queue is not missed.
        let _ = self.sender.try_send(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    }
}

const INSTRUCTIONS: &str = "Trimtab works on a folder for you: it reads, edits, and runs commands, records everything, and can undo its \
changes. If its rules do not allow an action, it asks a person. Such a result has the status needs_user and shows how the person answers.";

fn tools() -> Value {
    let session = json!({"type": "string", "description": "The session, from an earlier result"});
    let tool = |name: &str, about: &str, properties: Value, required: &[&str], hints: Value| {
        json!({"name": name, "description": about, "annotations": hints,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false}})
    };
    json!([
        tool(
            "ask_trimtab",
            "Send a request to Trimtab in a new session, and wait for the result. It works in the folder that it was started for. \
             The result names the session.",
            json!({
                "request": {"type": "string", "description": "What to do, or a question"},
                "mode": {"type": "string", "enum": ["auto", "chat", "plan"],
                    "description": "auto: do what the request needs; chat: answer without tools; plan: read and plan without changes"},
            }),
            &["request"],
            json!({"readOnlyHint": false, "destructiveHint": false}),
        ),
        tool(
            "continue_session",
            "Send another request to a session. Without a request, report the result of the last one, for example after a person \
             has answered a question.",
            json!({"session": session, "request": {"type": "string"}}),
            &["session"],
            json!({"readOnlyHint": false, "destructiveHint": false}),
        ),
        tool(
            "list_changes",
            "List the file changes of a session, newest first.",
            json!({"session": session}),
            &["session"],
            json!({"readOnlyHint": true}),
        ),
        tool(
            "rewind",
            "Undo the latest file changes of a session. Later edits are kept. If they conflict, nothing is changed.",
            json!({"session": session, "steps": {"type": "integer", "minimum": 1, "description": "How many changes [default: 1]"}}),
            &["session"],
            json!({"readOnlyHint": false, "destructiveHint": false}),
        ),
    ])
}

/// The result of a tool.
struct AgentAnswer {
    text: String,
    object: Value,
    is_error: bool,
}

impl AgentAnswer {
    fn into_result(self) -> Value {
        let text = words::sanitize(&self.text).into_owned();
        json!({"content": [{"type": "text", "text": text}], "structuredContent": self.object, "isError": self.is_error})
    }
}

/// What other agents can do.
struct AgentTools {
    profile: Profile,
    client: Client,
    folder: String,
}

impl AgentTools {
    async fn call(
        &self,
        name: &str,
        input: &Value,
        signs: ProgressSigns,
        note: impl Fn(&Sent),
    ) -> Result<AgentAnswer, Problem> {
        match name {
            "ask_trimtab" => {
                let mode = match text(input, "mode")?.as_deref() {
                    None | Some("auto") => Mode::Auto,
                    Some("chat") => Mode::Chat,
                    Some("plan") => Mode::Plan,
                    Some(_) => return Err(wrong("`mode` is auto, chat, or plan.")),
                };
                let request = text(input, "request")?.ok_or_else(|| wrong("`request` is missing."))?;
                let sent = self.send(SendTo::New { folder: self.folder.clone() }, request, mode).await?;
                note(&sent);
                self.follow(&sent, signs).await
            }
            "continue_session" => {
                let session = self.session(input).await?;
                let sent = match text(input, "request")? {
                    Some(request) => self.send(SendTo::Session(session), request, Mode::Auto).await?,
                    None => self.last_request(session).await?,
                };
                note(&sent);
                self.follow(&sent, signs).await
            }
            "list_changes" => self.list_changes(&self.session(input).await?).await,
            "rewind" => {
                let steps = match &input["steps"] {
                    Value::Null => 1,
                    steps => steps
                        .as_u64()
                        .and_then(|steps| u32::try_from(steps).ok())
                        .filter(|steps| *steps > 0)
                        .ok_or_else(|| wrong("`steps` is a number from 1."))?,
                };
                self.rewind(&self.session(input).await?, steps).await
            }
            _ => Err(wrong("Unknown tool.")),
        }
    }

    /// A session of the folder that an agent began. Others are none of this client's business: the user has chosen there
    /// what may happen without a question.
    async fn session(&self, input: &Value) -> Result<SessionId, Problem> {
        let name = text(input, "session")?.ok_or_else(|| wrong("`session` is missing."))?;
        let rows = self.client.sessions().list(None).await?;
        let is_it = |id: &SessionId, folder: &str| id.as_str() == name && folder == self.folder;
        let found = rows.into_iter().find(|row| is_it(&row.id, &row.folder)).map(|row| row.id);
        let unknown = || Problem::new(ProblemKind::NotFound, "This folder has no such session.");
        let session = found.ok_or_else(unknown)?;
        if self.is_begun_by_agent(&session).await? { Ok(session) } else { Err(unknown()) }
    }

    /// Whether nobody typed the first request of a session.
    async fn is_begun_by_agent(&self, session: &SessionId) -> Result<bool, Problem> {
        let mut after = 0;
        loop {
            let page = self.client.sessions().events(session, after).await?;
            let Some(end) = page.iter().filter_map(|event| event.seq).max() else { return Ok(false) };
            after = end;
            let first = page.into_iter().find_map(|event| match event.fact {
                Fact::Request(RequestFact::Received { settings, .. }) => Some(settings.typed_bytes),
                _ => None,
            });
            if let Some(typed) = first {
                return Ok(typed == Some(0));
            }
        }
    }

    async fn send(&self, target: SendTo, request: String, mode: Mode) -> Result<Sent, Problem> {
        if request.trim().is_empty() {
            return Err(wrong("`request` is empty."));
        }
        // Nobody typed this: it calls no workflow, no agent, and no server, and nothing in it is remembered as said by the user.
        let manner = Manner { piped: true, typed: Some(0), ..Manner::default() };
        let when_busy = WhenBusy::Exactly(Some(WhileRunning::Queue));
        let draft = RequestDraft { mode, when_busy, literal: true, ..RequestDraft::new(request, manner) };
        let composed = self.client.compose(&self.profile, &self.folder, draft).await?;
        self.client.send(target, composed).await
    }

    async fn last_request(&self, session: SessionId) -> Result<Sent, Problem> {
        let (mut after, mut last) = (0, None);
        loop {
            let page = self.client.sessions().events(&session, after).await?;
            let Some(end) = page.iter().filter_map(|event| event.seq).max() else { break };
            after = end;
            let received =
                page.into_iter().filter(|event| matches!(event.fact, Fact::Request(RequestFact::Received { .. })));
            last = received.filter_map(|event| event.request).next_back().or(last);
        }
        let none = || Problem::new(ProblemKind::NotFound, "The session has no request.");
        Ok(Sent { session, request: last.ok_or_else(none)? })
    }

    /// Waits until a request has ended, or needs a person.
    async fn follow(&self, sent: &Sent, mut signs: ProgressSigns) -> Result<AgentAnswer, Problem> {
        self.client.requests().run_for(&sent.session, &sent.request);
        let mut watch = self.client.watch(&sent.session, 0);
        let mut object = OutcomeObject::default();
        let mut question = None;
        let (status, time) = loop {
            let event = watch.next().await?;
            if event.request.as_ref() != Some(&sent.request) {
                continue;
            }
            object.observe(&event);
            signs.note(&event);
            match &event.fact {
                Fact::Checkpoint(CheckpointFact::Opened { .. }) => question = Some(event.clone()),
                Fact::Checkpoint(CheckpointFact::Resolved { .. }) => question = None,
                Fact::Request(RequestFact::Finished { status, .. }) => {
                    let may_have_gone_on = matches!(status, Status::NeedsUser | Status::Limit);
                    if !may_have_gone_on || !super::follow::is_reopened(&self.client, sent, event.seq).await? {
                        break (*status, event.time);
                    }
                }
                _ => {}
            }
        };
        self.client.leave(&sent.session).await;
        let mut object = object.value(sent, CliOutcome::Finished(status), false, time);
        let mut lines: Vec<String> = object["answer"].as_str().map(str::to_owned).into_iter().collect();
        if let Some(problem) = object["error"]["message"].as_str() {
            lines.push(problem.to_owned());
        }
        if let Some(asked) = question.filter(|_| status == Status::NeedsUser) {
            let lists = super::checkpoints::question_lines(&asked, trimtab_host::now()).unwrap_or_default();
            object["needsPerson"] = json!(true);
            lines.push(format!(
                "Needs a person. Do not answer this yourself. A person answers it with `trimtab answer CHECKPOINT CHOICE` \
                 in a terminal, or in the terminal UI or the browser UI of Trimtab:\n{lists}Then call continue_session with \
                 the session {} and without a request.",
                sent.session
            ));
        }
        lines.push(format!("Status: {}. Session: {}.", object["status"].as_str().unwrap_or_default(), sent.session));
        let is_error = matches!(status, Status::Failed);
        Ok(AgentAnswer { text: lines.join("\n\n"), object, is_error })
    }

    async fn list_changes(&self, session: &SessionId) -> Result<AgentAnswer, Problem> {
        let (history, _) = self.client.changes().settled_history(session).await?;
        let change = |(at, set): (usize, &Set)| {
            let files: Vec<Value> = set
                .files()
                .iter()
                .map(|file| json!({"path": file.path, "added": file.added, "removed": file.removed}))
                .collect();
            json!({"number": at + 1, "undone": at >= history.in_force, "files": files})
        };
        let changes: Vec<Value> = history.sets.iter().enumerate().rev().map(change).collect();
        let line = |change: &Value| {
            let names: Vec<&str> =
                change["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()).collect();
            let undone = if change["undone"] == true { " (undone)" } else { "" };
            format!("#{}{undone}: {}", change["number"], names.join(", "))
        };
        let text = match changes.is_empty() {
            true => "There are no changes in this session.".to_owned(),
            false => changes.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        Ok(AgentAnswer { text, object: json!({"changes": changes}), is_error: false })
    }

    async fn rewind(&self, session: &SessionId, steps: u32) -> Result<AgentAnswer, Problem> {
        let (history, _) = self.client.changes().settled_history(session).await?;
        if history.in_force == 0 {
            let object = json!({"undone": 0});
            return Ok(AgentAnswer { text: "There is nothing to undo.".to_owned(), object, is_error: false });
        }
        let control = Control::Rewind { steps, on_conflict: OnConflict::Refuse };
        let moved = self.client.changes().move_history(session, history.last, control).await?;
        if let Some((reason, conflicts)) = moved.refused {
            let reasons: Vec<String> = conflicts.into_iter().map(|conflict| conflict.reason).collect();
            let text = format!("Nothing was undone. {reason}\n{}", reasons.join("\n"));
            return Ok(AgentAnswer { text, object: json!({"undone": 0}), is_error: true });
        }
        let undone = moved.changes.len();
        let text = format!("Undid {}. `trimtab forward` redoes it.", trimtab_vocab::format::plural(undone, "change"));
        Ok(AgentAnswer { text, object: json!({"undone": undone}), is_error: false })
    }
}

fn wrong(message: &str) -> Problem {
    Problem::new(ProblemKind::Usage, message)
}

/// A text of the input, if it is there.
fn text(input: &Value, name: &str) -> Result<Option<String>, Problem> {
    match &input[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(wrong(&format!("`{name}` is a text."))),
    }
}

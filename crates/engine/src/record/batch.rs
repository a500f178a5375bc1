//! The tool calls of one reply, and the state of each.

use std::sync::Arc;

use serde_json::Value;
use trimtab_vocab::checkpoint::WithheldResult;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{
    CallId, ChangePart, CheckSource, CheckpointId, CommandClass, FileLoss, FileWrite, ImageRef, ToolCall,
};

use super::ItemHooks;
use crate::tools::{self, ToolAction, ToolRegistry};

/// What one reply asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The calls, in the model's order.
    pub items: Vec<BatchItem>,
    /// The conversation continued without the results, so they are sent as text.
    pub(super) passed_over: bool,
    /// Its changes come from an answer that was cut off: each is asked about.
    pub(crate) recovered: bool,
    /// They come from an answer that had to be repaired: each is asked about.
    pub(crate) mended: bool,
    /// They were written as text, and the request does not clearly ask for an action: each that is not read-only
    /// asks.
    pub(crate) unasked_text: bool,
    /// It is the current command of a series.
    pub of_series: bool,
    /// It makes or saves images: no model has called it, and none gets the result.
    pub of_pictures: bool,
    /// It is the sub-tasks that the user wants: no model has asked for them.
    pub of_subtasks: bool,
    /// It is what an answer in a form wants changed.
    pub of_answer: bool,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchItem {
    pub call_id: CallId,
    /// The model's tool call.
    pub call: Arc<ToolCall>,
    /// The parsed call, or why it cannot be parsed: a sentence for the model.
    pub(crate) action: Result<Arc<ToolAction>, String>,
    /// How far it is.
    pub progress: Progress,
    /// The user's decision about it.
    pub given: Option<UserDecision>,
    /// The prepared file changes.
    pub writes: Option<Vec<FileWrite>>,
    /// One of these files was changed by a move of the history after that was found out.
    pub is_stale: bool,
    /// How many hunks each of these has.
    pub hunks: Vec<u32>,
    /// The part of that which the user wants, if it is not all.
    pub chosen: Option<HunkSelection>,
    /// The user stopped it.
    pub stopping: bool,
    /// Where it comes from, if not from the model as it is.
    pub origin: CallOrigin,
    /// Its result in the sandbox, while the user is asked whether to run it outside.
    pub held: Option<WithheldResult>,
    /// The user wants it run outside of the sandbox.
    pub outside: bool,
    /// How the user wants it run again.
    pub again: RunAgain,
    /// Why it did not start, or was stopped, when it was to run automatically: only an answer starts it now.
    pub blocked: Option<String>,
    /// Its class, while it runs without approval.
    pub automatic: Option<CommandClass>,
    /// What the user should know about its files before it is made.
    pub concerns: WriteConcerns,
    /// The hooks about it.
    pub hooks: ItemHooks,
    /// Failed tries.
    pub tries: u32,
    /// The output of a command, as the user sees it; absent: none has ended.
    pub output: Option<String>,
}

/// Where a call comes from, if not from the model as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// The command as the model had asked for it, if the user has edited it.
    pub edited_from: Option<String>,
    /// It is a check after the edits of the other calls.
    pub check: Option<CheckSource>,
}

/// How the user wants a command run again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunAgain {
    /// The user wants it run in the ordinary sandbox, after the read-only sandbox had stopped it.
    pub widened: bool,
    /// The user wants it run again and lets it reach these hosts.
    pub reaches: Option<Vec<String>>,
}

/// What the user should know about the files of a change before it is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriteConcerns {
    /// Paths that it would change in a version-control area which the folder's structure shows.
    pub versions: Vec<String>,
    /// Files of which it would drop most.
    pub losses: Vec<FileLoss>,
    /// Files that it would change and that have unsaved changes in the user's editor.
    pub unsaved: Vec<String>,
}

/// The part of a change that the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkSelection {
    /// The selected parts.
    pub parts: Vec<ChangePart>,
    /// The rejected parts.
    pub left: Vec<ChangePart>,
    /// The difference between the two, as a patch, once it is known what the part makes of the files.
    pub left_out: Option<String>,
}

/// The progress of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// It has not begun.
    Pending,
    /// It has begun; nothing is changed by it.
    Started,
    /// It waits for the user.
    Asking {
        /// For this answer.
        checkpoint: CheckpointId,
    },
    /// It acts: what it does cannot be taken for not done.
    Acting,
    /// It ended.
    Done(ToolOutcome),
}

impl Progress {
    /// Whether the call has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Pending | Self::Done(_))
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// How it ended.
    pub status: ToolStatus,
    /// The text for the model.
    pub content: String,
    /// The images for the model.
    pub images: Vec<ImageRef>,
}

/// The user's decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDecision {
    pub choice: String,
    /// Words that came with it.
    pub text: Option<String>,
    /// The hash of the command that it is about.
    pub fingerprint: Option<String>,
    /// It is about an interrupted command.
    pub of_outcome: bool,
    /// The user said it, and not a rule or an option in their place.
    pub by_person: bool,
}

impl Batch {
    pub(super) fn new(
        call: &CallId,
        tool_calls: impl Iterator<Item = ToolCall>,
        registry: &ToolRegistry,
    ) -> Option<Self> {
        let read = |tool_call: ToolCall| {
            let action = registry.read(&tool_call);
            (tool_call, action)
        };
        Self::of_actions(call, tool_calls.map(read))
    }

    /// Calls whose actions are known.
    fn of_actions(call: &CallId, all: impl Iterator<Item = (ToolCall, Result<ToolAction, String>)>) -> Option<Self> {
        let item = |(number, (tool_call, action))| BatchItem::new(CallId::tool(call, number + 1), tool_call, action);
        let items: Vec<BatchItem> = all.enumerate().map(item).collect();
        (!items.is_empty()).then_some(Self { items, ..Self::default() })
    }

    #[cfg(test)]
    pub(crate) fn for_test(call: &CallId, tool_call: ToolCall) -> Self {
        Self::of_series(call, tool_call)
    }

    /// The current command of a series.
    pub(super) fn of_series(call: &CallId, tool_call: ToolCall) -> Self {
        let action = tools::registry().read(&tool_call);
        let item = BatchItem::new(call.clone(), tool_call, action);
        Self { items: vec![item], passed_over: true, of_series: true, ..Self::default() }
    }

    /// Pictures to make or to save: the program's own calls.
    pub(super) fn of_pictures(call: &CallId, all: impl Iterator<Item = (ToolCall, ToolAction)>) -> Option<Self> {
        let batch = Self::of_actions(call, all.map(|(tool_call, action)| (tool_call, Ok(action))))?;
        Some(Self { passed_over: true, of_pictures: true, ..batch })
    }

    /// Sub-tasks that the user wants: a call of the program's own.
    pub(super) fn of_subtasks(call: &CallId, tool_call: ToolCall, action: ToolAction) -> Self {
        let item = BatchItem::new(CallId::tool(call, 1), tool_call, Ok(action));
        Self { items: vec![item], passed_over: true, of_subtasks: true, ..Self::default() }
    }

    /// The same for a model without tools: its results are sent as text.
    pub(super) fn in_words(self) -> Self {
        Self { passed_over: true, of_answer: true, ..self }
    }

    /// The same, for changes of an answer that was cut off.
    pub(super) fn recovered(self) -> Self {
        Self { recovered: true, ..self }
    }

    /// One of its calls.
    pub fn item(&self, call: &CallId) -> Option<&BatchItem> {
        self.items.iter().find(|item| item.call_id == *call)
    }

    pub(super) fn item_mut(&mut self, call: &CallId) -> Option<&mut BatchItem> {
        self.items.iter_mut().find(|item| item.call_id == *call)
    }

    /// Whether the user is asked.
    pub fn is_asking(&self) -> bool {
        self.items.iter().any(|item| matches!(item.progress, Progress::Asking { .. }))
    }

    /// Whether anything runs without an answer.
    pub fn is_running(&self) -> bool {
        self.items.iter().any(|item| matches!(item.progress, Progress::Started | Progress::Acting))
    }

    /// A fingerprint, to detect repeated calls.
    pub(crate) fn signature(&self) -> String {
        self.calls().map(|item| format!("{} {}\n", item.call.name, item.call.input)).collect()
    }
}

impl BatchItem {
    pub(super) fn new(call_id: CallId, call: ToolCall, action: Result<ToolAction, String>) -> Self {
        Self {
            call_id,
            call: Arc::new(call),
            action: action.map(Arc::new),
            progress: Progress::Pending,
            given: None,
            writes: None,
            is_stale: false,
            hunks: Vec::new(),
            chosen: None,
            stopping: false,
            origin: CallOrigin::default(),
            held: None,
            outside: false,
            again: RunAgain::default(),
            blocked: None,
            automatic: None,
            concerns: WriteConcerns::default(),
            output: None,
            hooks: ItemHooks::default(),
            tries: 0,
        }
    }

    /// Puts another command in its place; whether it is another one.
    pub(super) fn edit(&mut self, command: &str) -> bool {
        let Some(old) = self.call.input.get("command").and_then(|old| old.as_str()).map(str::to_owned) else {
            return false;
        };
        if old == command {
            return false;
        }
        let call = Arc::make_mut(&mut self.call);
        call.input["command"] = command.into();
        self.action = tools::registry().read(call).map(Arc::new);
        self.origin.edited_from.get_or_insert(old);
        self.given = None;
        self.blocked = None;
        self.forget_hooks();
        true
    }

    /// Puts other arguments in its place, which are read like the first ones.
    pub(super) fn replace_input(&mut self, input: &Value, registry: Option<&ToolRegistry>) {
        let call = Arc::make_mut(&mut self.call);
        call.input = input.clone();
        self.action = registry.unwrap_or(tools::registry()).read(call).map(Arc::new);
        self.forget_preparation();
    }

    /// It is prepared again, and nothing is decided about it.
    pub(super) fn forget_preparation(&mut self) {
        (self.writes, self.given, self.chosen, self.is_stale) = (None, None, None, false);
    }

    /// The command that it runs, if it runs one.
    pub fn command(&self) -> Option<&str> {
        match self.action.as_deref() {
            Ok(ToolAction::Run { command, .. }) => Some(command),
            _ => None,
        }
    }

    /// Whether it starts a command that continues in the background.
    pub(crate) fn starts_in_background(&self) -> bool {
        matches!(self.action.as_deref(), Ok(ToolAction::Run { background: Some(_), .. }))
    }

    /// The tool of a server that it calls, as people see it, if it calls one.
    pub(crate) fn server_call(&self) -> Option<String> {
        match self.action.as_deref() {
            Ok(ToolAction::CallServer(call)) => Some(call.title()),
            _ => None,
        }
    }

    /// The server that it calls, if it calls one.
    pub(crate) fn server_name(&self) -> Option<String> {
        match self.action.as_deref() {
            Ok(ToolAction::CallServer(call)) => Some(call.server.clone()),
            _ => None,
        }
    }

    /// Whether it has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.progress.is_open()
    }

    /// Its result, once it ended.
    pub fn done(&self) -> Option<&ToolOutcome> {
        match &self.progress {
            Progress::Done(done) => Some(done),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_large_call_is_never_copied_with_its_item() {
        let input = json!({"path": "a.txt", "content": "x".repeat(1 << 20)});
        let call = ToolCall { id: "1".into(), name: "write_file".into(), input, broken: None };
        let batch = Batch::new(&CallId::nth(1), std::iter::once(call), tools::registry()).expect("a batch");
        let copy = batch.clone();
        let (item, copied) = (&batch.items[0], &copy.items[0]);
        assert!(Arc::ptr_eq(&item.call, &copied.call));
        match (&item.action, &copied.action) {
            (Ok(action), Ok(copied)) => assert!(Arc::ptr_eq(action, copied)),
            (action, _) => panic!("{action:?} is not read"),
        }
    }

    #[test]
    fn an_edited_command_is_what_the_item_does() {
        let call = ToolCall {
            id: "1".into(),
            name: "run_command".into(),
            input: json!({"command": "ls", "timeout_s": 5}),
            broken: None,
        };
        let mut batch = Batch::of_series(&CallId::nth(1), call);
        let item = &mut batch.items[0];
        assert!(!item.edit("ls") && item.edit("ls -l"));
        assert_eq!((item.command(), item.origin.edited_from.as_deref()), (Some("ls -l"), Some("ls")));
        assert!(matches!(item.action.as_deref(), Ok(ToolAction::Run { timeout_s: Some(5), .. })));
        item.edit(" ");
        assert_eq!(item.command(), None, "an empty command is none");
    }
}

//! Questions to the user: what each kind asks about, and the answers to choose from.
//!
//! A question is recorded flat: `about` names its kind, and its fields stand beside the title and the choices. The
//! names and shapes here are those that version 0.1 recorded. A kind that this version does not know is kept unchanged ([`Ask::Other`]).

mod choice;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use choice::read_choices;
pub use choice::{Choice, ChoiceRole, ChoiceText};

use crate::event::{CheckpointKind, ContextLimit, ToolStatus};
use crate::{
    ApprovalClass, Autonomy, BreakdownOption, CallId, Choosable, CommandRun, FileMark, Granularity, HostAttempt,
    MergeConflict, MergeObstacle, PlanStep, ProposalId, Question, RefKey, Requirements, Rule, Sandbox, StrategyOption,
    SubTaskPlan,
};

/// What a question asks about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "about", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ask {
    /// The next call could cost more than the budget allows.
    Budget {
        /// The budget in US dollars.
        budget_usd: f64,
        /// Dollars that are spent.
        spent_usd: f64,
        /// Dollars that the next call takes at least.
        next_call_usd: f64,
    },
    /// May the folder be read and worked in?
    Trust {
        /// What is approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ApprovalClass>,
        /// The rule that an approval adds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Rule>,
    },
    /// The folder holds more than a project: is it meant to be trusted? Asked before [`Ask::Trust`].
    TrustBroad {
        /// What is approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ApprovalClass>,
    },
    /// May instructions that have changed be used?
    Instructions {
        /// What is approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ApprovalClass>,
        /// The files that have changed.
        #[serde(default)]
        files: Vec<ChangedInstructions>,
        /// All of them as one text.
        #[serde(default)]
        details: String,
        /// The rule that an approval adds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Rule>,
    },
    /// May a tool be used?
    #[serde(rename = "tool")]
    Permission(Box<PermissionAsk>),
    /// A question of the model. The title is its text, the choices are its options.
    Question {
        /// The call that asks.
        call: CallId,
    },
    /// A command was running when the program ended: what now?
    #[serde(rename = "outcome")]
    UnknownOutcome {
        /// The call that ran it.
        call: CallId,
        /// What is approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<ApprovalClass>,
        #[serde(default)]
        command: String,
    },
    /// A command takes longer than its timeout. It keeps running while the question is open.
    Overtime {
        /// The call that runs it.
        call: CallId,
        #[serde(default)]
        command: String,
        /// Its limit in seconds.
        #[serde(default)]
        timeout_s: u64,
    },
    /// An MCP server asks the user for input during a call, which waits for the answer.
    Elicitation(Box<ElicitationAsk>),
    /// A command failed in the sandbox, perhaps because of it: run it again with a weaker one?
    Outside(Box<SandboxAsk>),
    /// What should the model do instead of a denied call?
    Tell,
    /// The limit of steps is reached.
    #[serde(rename = "steps")]
    StepLimit,
    /// The model repeats the same call.
    Repeat,
    /// The provider does not serve the model: which one instead?
    #[serde(rename = "model")]
    ModelGone {
        /// The model that was called, as `provider/name`.
        model: String,
        /// Available models with the most similar names. Each is an answer.
        #[serde(default)]
        nearest: Vec<String>,
    },
    /// The user has paused the request.
    Pause,
    /// A reply was cut off or damaged.
    Recovery {
        /// Changes of the reply that are not applied.
        #[serde(default)]
        blocked_changes: u64,
    },
    /// An answer has several commands.
    #[serde(rename = "series")]
    Commands(CommandsAsk),
    /// The request is not clear.
    #[serde(rename = "clarify")]
    Clarification {
        /// The questions with their options.
        questions: Vec<Question>,
        /// Which other parts the answer can have: `ids`, `date`, or `priority`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sections: Option<Vec<String>>,
        /// More options, not shown at first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        more_options: Vec<Choosable>,
    },
    /// May work without a plan begin?
    Begin,
    /// Was a conversation understood?
    Understanding {
        /// Its result.
        #[serde(default)]
        requirements: Requirements,
    },
    /// May a plan be carried out?
    Plan {
        version: u32,
        /// What it comes to.
        #[serde(default)]
        summary: String,
        #[serde(default)]
        steps: Vec<PlanStep>,
        /// What it takes for granted.
        #[serde(default)]
        assumptions: Vec<String>,
    },
    /// May a step of the plan begin?
    StepBefore(StepAsk),
    /// A step of the plan is done: continue?
    StepAfter(StepAsk),
    /// A step of the plan failed: what now?
    StepFailed(StepAsk),
    /// Does the result meet the user's needs?
    Satisfaction {
        /// The model's last text.
        #[serde(default)]
        result: String,
    },
    /// A request can be broken down in several ways: which one?
    Breakdown {
        /// The call that waits for the answer.
        call: CallId,
        options: Vec<BreakdownOption>,
        /// What Trimtab chooses if the user leaves it to Trimtab, and why.
        suggested: Granularity,
        reason: String,
    },
    /// How are the sub-tasks of a request carried out?
    SubtaskPlan {
        /// The call that waits for the answer.
        call: CallId,
        plan: SubTaskPlan,
        strategies: Vec<StrategyOption>,
        /// The plan as lines, to be edited.
        text: String,
        /// US dollars of the budget that are reserved when it starts. Absent without a budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserve_usd: Option<f64>,
    },
    /// A sub-task failed, and the user decides. The others continue.
    SubtaskFailed {
        /// The call whose sub-task it is.
        call: CallId,
        subtask: String,
        /// What lists call it.
        name: String,
        /// Why it could not be done.
        reason: String,
        /// The sub-tasks that depend on it.
        #[serde(default)]
        dependents: Vec<String>,
    },
    /// Changes do not fit together: which ones are kept?
    MergeConflict {
        /// The call that waits for the answer.
        call: CallId,
        conflict: Box<MergeConflict>,
        /// How many more there are.
        #[serde(default)]
        remaining: u32,
    },
    /// The changes of sub-tasks cannot be merged automatically. Nothing is lost.
    MergeBlocked {
        /// The call that waits for the answer.
        call: CallId,
        obstacle: Box<MergeObstacle>,
    },
    /// The conversation is nearly full: how to continue?
    Handoff {
        /// Which limit is nearly reached.
        limit: ContextLimit,
        /// How much of it is used.
        used: u64,
        /// The limit.
        of: u64,
    },
    /// A question of another version, as it was recorded.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Other(Map<String, Value>),
}

/// An approval prompt for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionAsk {
    /// The call that waits for the answer.
    pub call: CallId,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The input of the tool.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub input: Value,
    /// The class of the approval. Some classes need the user's own answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ApprovalClass>,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why a command that was to run automatically did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The rule in words, where a rule would answer the question the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_text: Option<String>,
    /// How a command would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RunPreview>,
    /// The hash of the command that is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The command as the model wrote it, if the user has edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
    /// The rule that `always` adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Seconds that a command asks for, beyond its usual limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// The changes of files that it would make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalId>,
    /// How many hunks these changes have, where a part of them can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<u32>,
    /// The level of autonomy when the prompt appeared. Absent: standard. A later change of the level does not answer
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
}

impl PermissionAsk {
    /// A permission for a call, with nothing else known of it.
    pub fn new(call: CallId, tool: impl Into<String>, input: Value) -> Self {
        Self {
            call,
            tool: tool.into(),
            input,
            class: None,
            reason: None,
            blocked: None,
            rule_text: None,
            plan: None,
            fingerprint: None,
            edited_from: None,
            rule: None,
            timeout_s: None,
            proposal: None,
            hunks: None,
            autonomy: None,
        }
    }
}

/// What an MCP server asks the user during a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ElicitationAsk {
    /// The call that waits for the answer.
    pub call: CallId,
    pub server: String,
    /// What the server says.
    #[serde(default)]
    pub message: String,
    /// The fields of the form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The JSON schema of the form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The address that the user opens. Trimtab never opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The question after a command failed in the sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SandboxAsk {
    /// The call that ran it.
    pub call: CallId,
    /// What is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ApprovalClass>,
    #[serde(default)]
    pub command: String,
    /// The output line that points to the sandbox.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sign: String,
    /// How it would run the next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RunPreview>,
    /// The hash of the command that is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Its result in the sandbox. The model has not seen it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<WithheldResult>,
    /// Hosts that it tried to reach and that no rule allows, if that is what is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostAttempt>,
    /// What it could reach the next time, beside what rules allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// The rule that would make the question unnecessary, with all hosts as its pattern. Each becomes its own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_text: Option<String>,
}

/// The question about a step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StepAsk {
    pub step: String,
    /// Its place in the order of work, from 1.
    #[serde(default)]
    pub number: u32,
    /// How many steps there are.
    #[serde(default)]
    pub of: u32,
    /// More about it.
    #[serde(default)]
    pub details: String,
}

/// The question about the commands in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CommandsAsk {
    /// May they run?
    Offered {
        /// The commands, each with the decision of the policy.
        commands: Vec<OfferedCommand>,
    },
    /// The series has paused: how to continue?
    Paused {
        /// Why it has paused, in the model's words.
        reason: String,
        /// The commands that are left.
        remaining: Vec<String>,
    },
}

/// A command of an answer, before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedCommand {
    pub command: String,
    /// The same with its invisible characters made visible.
    pub shown: String,
    /// What the policy decides about it.
    pub decision: CommandDecision,
    pub reason: String,
}

/// What the policy makes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CommandDecision {
    /// It runs without asking, in the sandbox.
    Auto,
    /// The user is asked.
    Ask,
    /// It is denied and cannot be approved.
    Deny,
}

/// How a command would run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunPreview {
    /// The executed arguments.
    pub argv: Vec<String>,
    /// Its folder.
    pub cwd: String,
    pub sandbox: Sandbox,
    /// Its timeout in seconds.
    pub timeout_s: u64,
    /// It has a terminal without input.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// It runs in the background, until it ends or is stopped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl From<&CommandRun> for RunPreview {
    fn from(run: &CommandRun) -> Self {
        let CommandRun { argv, cwd, sandbox, timeout_s, terminal, background, .. } = run.clone();
        Self { argv, cwd, sandbox, timeout_s, terminal, background }
    }
}

/// Instructions of the folder that have changed since the user accepted them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedInstructions {
    /// The file.
    pub path: String,
    /// The hash of its bytes.
    pub hash: String,
    /// Its text with its invisible characters made visible.
    pub text: String,
    /// Its size.
    pub bytes: u64,
}

/// The result of a command, before the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WithheldResult {
    /// How it ended.
    pub status: ToolStatus,
    /// The text that the model gets.
    pub preview: String,
    /// Where all of it is, if that is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<RefKey>,
    /// Files as the model will have seen them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileMark>,
}

impl Ask {
    /// The sort of checkpoint that it opens.
    pub fn kind(&self) -> CheckpointKind {
        match self {
            Self::Trust { .. }
            | Self::TrustBroad { .. }
            | Self::Instructions { .. }
            | Self::Permission(_)
            | Self::Outside(_) => CheckpointKind::Permission,
            Self::Question { .. } | Self::Tell | Self::Clarification { .. } | Self::Elicitation(_) => {
                CheckpointKind::Clarification
            }
            Self::Plan { .. } | Self::SubtaskPlan { .. } => CheckpointKind::Plan,
            Self::Pause
            | Self::Begin
            | Self::StepBefore(_)
            | Self::StepAfter(_)
            | Self::StepFailed(_)
            | Self::SubtaskFailed { .. }
            | Self::Commands(CommandsAsk::Paused { .. }) => CheckpointKind::Step,
            Self::Satisfaction { .. } => CheckpointKind::Satisfaction,
            Self::Budget { .. }
            | Self::Overtime { .. }
            | Self::StepLimit
            | Self::Repeat
            | Self::ModelGone { .. }
            | Self::Understanding { .. }
            | Self::Breakdown { .. }
            | Self::MergeConflict { .. }
            | Self::MergeBlocked { .. }
            | Self::Commands(CommandsAsk::Offered { .. })
            | Self::Other(_) => CheckpointKind::Confirm,
            Self::Recovery { .. } => CheckpointKind::Recovery,
            Self::Handoff { .. } => CheckpointKind::Handoff,
            Self::UnknownOutcome { .. } => CheckpointKind::Unknown,
        }
    }

    /// The tool call that waits for the answer.
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::Permission(ask) => Some(&ask.call),
            Self::Outside(ask) => Some(&ask.call),
            Self::Elicitation(ask) => Some(&ask.call),
            Self::Question { call }
            | Self::UnknownOutcome { call, .. }
            | Self::Overtime { call, .. }
            | Self::Breakdown { call, .. }
            | Self::SubtaskPlan { call, .. }
            | Self::SubtaskFailed { call, .. }
            | Self::MergeConflict { call, .. }
            | Self::MergeBlocked { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Whether it is about sub-tasks. Its answers take plans, models, and files as text, and no message is meant to be one
    /// of these.
    pub fn is_about_subtasks(&self) -> bool {
        matches!(
            self,
            Self::Breakdown { .. }
                | Self::SubtaskPlan { .. }
                | Self::SubtaskFailed { .. }
                | Self::MergeConflict { .. }
                | Self::MergeBlocked { .. }
        )
    }

    /// What is approved. A question of an early version does not say.
    pub fn class(&self) -> Option<ApprovalClass> {
        match self {
            Self::Trust { class, .. }
            | Self::TrustBroad { class }
            | Self::Instructions { class, .. }
            | Self::UnknownOutcome { class, .. } => *class,
            Self::Permission(ask) => ask.class,
            Self::Outside(ask) => ask.class,
            _ => None,
        }
    }

    /// The rule that would make the question unnecessary.
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            Self::Trust { rule, .. } | Self::Instructions { rule, .. } => rule.as_ref(),
            Self::Permission(ask) => ask.rule.as_ref(),
            Self::Outside(ask) => ask.rule.as_ref(),
            _ => None,
        }
    }

    /// The hash of the command that is approved.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Permission(ask) => ask.fingerprint.as_deref(),
            Self::Outside(ask) => ask.fingerprint.as_deref(),
            _ => None,
        }
    }

    /// How the command that is asked about would run.
    pub fn run(&self) -> Option<&RunPreview> {
        match self {
            Self::Permission(ask) => ask.plan.as_ref(),
            Self::Outside(ask) => ask.plan.as_ref(),
            _ => None,
        }
    }

    /// The command that is asked about.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Permission(ask) => ask.input.get("command").and_then(Value::as_str),
            Self::Outside(ask) => Some(&ask.command),
            Self::UnknownOutcome { command, .. } | Self::Overtime { command, .. } => Some(command),
            _ => None,
        }
    }

    /// The permission for a tool, if that is what is asked.
    pub fn permission(&self) -> Option<&PermissionAsk> {
        match self {
            Self::Permission(ask) => Some(ask),
            _ => None,
        }
    }

    /// What is asked one by one, each with its options.
    pub fn questions(&self) -> &[Question] {
        match self {
            Self::Clarification { questions, .. } => questions,
            Self::Elicitation(ask) => &ask.questions,
            _ => &[],
        }
    }

    /// Whether it is about money. The first questions all were, and did not say so.
    pub fn is_budget(&self) -> bool {
        match self {
            Self::Budget { .. } => true,
            Self::Other(body) => !body.contains_key("about"),
            _ => false,
        }
    }
}

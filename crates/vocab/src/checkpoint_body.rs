//! What a question has beside its choices, for those who describe or generate clients. The log keeps it as it came:
//! a later version may add to it.

use serde_json::Value;

use crate::{CallId, PlanStep, ProposalId, Question, Requirements, Rule, SeriesCommand};

/// What the kind of a checkpoint adds. `about` says which question it is; the other fields are there where it has them.
#[derive(schemars::JsonSchema)]
#[schemars(rename_all = "camelCase", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "it is a description, and never made")]
pub(crate) struct CheckpointBody {
    /// Which question: `budget`, `trust`, `tool`, `question`, `outcome`, `overtime`, `outside`, `tell`, `steps`,
    /// `repeat`, `pause`, `recovery`, `series`, `clarify`, `begin`, `understanding`, `plan`, `stepBefore`, `stepAfter`,
    /// `stepFailed`, `satisfaction`, `handoff`.
    about: Option<String>,
    /// The call that waits for the answer: of a tool, a command or a question of the model.
    call: Option<CallId>,
    /// The tool.
    tool: Option<String>,
    /// What is approved. Some classes only a person can answer.
    class: Option<crate::ApprovalClass>,
    /// Why a command that was to run automatically did not start.
    blocked: Option<String>,
    /// What the tool is to be called with.
    input: Option<Value>,
    /// The changes of files that it would make.
    proposal: Option<ProposalId>,
    /// How a command would run, to the byte: its words, its folder, its fences.
    plan: Option<Value>,
    /// The hash of the command that is approved.
    fingerprint: Option<String>,
    /// The command as the model wrote it, if a person has edited it.
    edited_from: Option<String>,
    /// The rule that `always` would make.
    rule: Option<Rule>,
    /// The rule in words.
    rule_text: Option<String>,
    /// Seconds that a command asks for, beyond what is set.
    timeout_s: Option<u64>,
    /// The command whose end is not known.
    command: Option<String>,
    /// What in the output of a command speaks for the sandbox as the reason of its failure.
    sign: Option<Value>,
    /// Commands that are offered to run one after the other, each with what would become of it.
    commands: Option<Value>,
    /// What remains of a series that rests.
    remaining: Option<Vec<SeriesCommand>>,
    /// Why it is asked, or why it rests.
    reason: Option<String>,
    /// What is asked, one by one, each with options to choose from.
    questions: Option<Vec<Question>>,
    /// More options than are shown at first.
    more_options: Option<Value>,
    /// What else is missing beside the first question.
    sections: Option<Value>,
    /// The version of a plan.
    version: Option<u32>,
    /// What a plan comes to.
    summary: Option<String>,
    /// The steps of a plan.
    steps: Option<Vec<PlanStep>>,
    /// What was assumed where nobody answered.
    assumptions: Option<Vec<String>>,
    /// Which step it is about.
    step: Option<String>,
    /// The number of the step,
    number: Option<u32>,
    /// of so many; where it is about a limit, how much there may be.
    of: Option<u64>,
    /// Which limit is nearly reached,
    limit: Option<String>,
    /// and how much of it is used.
    used: Option<u64>,
    /// More about the step.
    details: Option<String>,
    /// What a conversation came to.
    requirements: Option<Requirements>,
    /// What was done, or what a command came to.
    result: Option<Value>,
    /// How many changes of an answer that was cut off are not applied.
    blocked_changes: Option<u64>,
    /// Dollars that may be spent.
    budget_usd: Option<f64>,
    /// Dollars that were.
    spent_usd: Option<f64>,
    /// Dollars that the next call may cost.
    next_call_usd: Option<f64>,
}

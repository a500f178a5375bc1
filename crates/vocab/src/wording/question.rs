//! The titles of questions and the labels of their answers. Those of the permission prompt are in `permission`.

use super::permission::{NamedFiles, PermissionLabel, PermissionTitle};
use super::sentences;
use crate::LeftBehind;
use crate::format::{ExactDollars, Plural};

sentences! {
    /// What a person is asked.
    pub enum QuestionTitle {
        Permission(title: PermissionTitle) => "{title}",
        // In the words of a model, which are shown as they are.
        Words(words: String) => "{words}",
        // The folder.
        TrustFolder(folder: String) => "Do you trust the files in {folder}? They will be read and sent to the model.",
        TrustBroad(folder: String) =>
            "{folder} is not a project: it is or contains your home folder or Trimtab's data. Everything in it could be read, changed, and sent to the model. Do you want that?",
        TrustBroadSure(folder: String) =>
            "Are you sure? This trusts everything in {folder}, keys and settings included.",
        Instructions(state: InstructionsState) => "{state}. Use it?",
        // Commands.
        TriedToWrite(command: String) => "This command tried to write. Allow it to write in the folder? {command}",
        NeedsHosts(hosts: String, command: String) =>
            "This command failed after Trimtab blocked its network access. Retry with access to {hosts}? {command}",
        FailedInSandbox(command: String) =>
            "This command failed, possibly because of the sandbox: {command}",
        Overtime(seconds: u64, command: String) =>
            "This command is still running after {seconds} s, its time limit: {command}",
        UnknownOutcome(command: String) =>
            "Trimtab was interrupted while this command was running, so its result is unknown: {command}",
        UnknownOutcomeOutside(command: String) =>
            "Trimtab was interrupted while this command was running outside the sandbox, so its result is unknown: {command}",
        UnknownOutcomeServer(tool: String) =>
            "Trimtab was interrupted during this call, so its result is unknown: {tool}",
        Elicitation(server: String) => "The MCP server {server} asks for input",
        CommandsOffered(commands: Plural) => "The reply suggests {commands}. Run them?",
        CommandsPaused(done: u32, total: u32, left: usize) => "Paused after command {done}/{total}; {left} left.",
        // How the request continues.
        Instead => "What should be done differently?",
        StepLimit(calls: Plural) => "The limit of {calls} was reached.",
        Repeat(times: u32, what: String) =>
            "The model made the same call {times} times with the same result: {what}",
        ModelGone(model: String) => "The provider does not serve {model}. Which model should continue?",
        Paused => "Paused after this step.",
        Budget(budget: ExactDollars, spent: ExactDollars, next: ExactDollars) =>
            "The next call could cost {next} or more and exceed the budget of {budget}. {spent} is already spent.",
        WorkerBudget(share: ExactDollars, spent: ExactDollars, next: ExactDollars) =>
            "The next call could cost {next} or more and exceed this sub-task's share of the budget, {share}. {spent} of it is already spent.",
        Truncated => "Response was truncated!",
        Damaged => "AI response had errors",
        Handoff(fill: ContextFillWords) => "{fill} How do you want to continue?",
        // The flow.
        Clarify(questions: Plural) => "{questions} before we start.",
        Understood(summary: String) => "Here's what I understand: {summary}",
        PlanOfOne => "Approve this plan of 1 step?",
        Plan(steps: usize) => "Approve this plan of {steps} steps?",
        PlanOfOneAgain(version: u32) => "Approve this plan of 1 step? (version {version})",
        PlanAgain(steps: usize, version: u32) => "Approve this plan of {steps} steps? (version {version})",
        Begin(request: String) => "Start this? {request}",
        StepBefore(number: u32, of: u32, title: String) => "Step {number} of {of} comes next: {title}",
        StepAfter(number: u32, of: u32, title: String) => "Step {number} of {of} is done: {title}",
        StepFailed(number: u32, of: u32, title: String) => "Step {number} of {of} could not be done: {title}",
        Satisfaction => "Does this result meet your needs?",
        // Sub-tasks.
        Breakdown => "📊 Task Breakdown Options\nYour request can be broken down in different ways:",
        SubtaskPlan(task: String, count: usize) =>
            "📋 Execution Plan: \"{task}\"\nFound {count} sub-tasks. Choose execution strategy:",
        SubtaskFailed(id: String, name: String, reason: String) => "Sub-task {id} failed: {name}. {reason}",
        MergeConflict(path: String, name: String) =>
            "{path} has conflicting changes. Which version do you want to keep? B is from {name}.",
        MergeBlocked(reason: String) => "The changes of the sub-tasks are not merged yet. {reason}",
    }
}

impl From<PermissionTitle> for QuestionTitle {
    fn from(title: PermissionTitle) -> Self {
        Self::Permission(title)
    }
}

sentences! {
    /// Why the changes of sub-tasks are not merged yet.
    pub enum ObstacleText {
        Waiting => "You chose to wait.",
        Denied(files: NamedFiles) => "Your rules do not allow changes to {files}.",
        FileAndFolder(path: String) => "{path} cannot be a file and a folder at the same time.",
    }
}

sentences! {
    /// The state of instructions that the user has not accepted in this version.
    pub enum InstructionsState {
        Changed(files: String) => "{files} changed since you accepted it as instructions",
        New(files: String) => "You have not accepted {files} as instructions yet",
        ChangedSkill(file: String) => "The skill {file} changed since you accepted it",
        NewSkill(file: String) => "You have not accepted the skill {file} yet",
        ChangedAgent(file: String) => "The agent {file} changed since you accepted it",
        NewAgent(file: String) => "You have not accepted the agent {file} yet",
    }
}

sentences! {
    /// How full the conversation is.
    pub enum ContextFillWords {
        Storage(percent: u64) => "The session's document is {percent}% full.",
        Summarized(percent: u64) => "The conversation fills {percent}% of the context window, even after compression.",
        Window(percent: u64) => "The conversation fills {percent}% of the context window.",
    }
}

sentences! {
    /// What a person can answer.
    pub enum AnswerLabel {
        Permission(label: PermissionLabel) => "{label}",
        // In the words of a model, which are shown as they are.
        Words(words: String) => "{words}",
        StopHere => "Stop here",
        UseModel(model: String) => "Use {model}",
        Skip => "Skip",
        Continue => "Continue",
        GoOn => "Continue",
        GoOnDifferently => "Continue differently",
        // The folder.
        TrustFolder => "Yes, I trust this folder",
        TrustAll => "Yes, trust all of it",
        Distrust => "No, continue without it",
        UseIt => "Use it",
        ContinueWithoutIt => "Continue without it",
        // Commands.
        AllowWrites => "Allow writes",
        RunUnsandboxed => "Run unsandboxed",
        AllowHostsOnce => "Allow once",
        AlwaysAllowHosts => "Always allow",
        DenyHosts => "Deny",
        NeverAllowHosts => "Never allow",
        MoreTime(seconds: u64) => "Give it another {seconds} s",
        AnyTime => "Let it run without a limit",
        ToBackground => "Continue in the background",
        SendToServer(server: String) => "Send to {server}",
        UrlDone => "Done",
        DeclineServer => "Decline",
        CancelServer => "Cancel",
        StopCommand => "Stop the command",
        WithoutCommand => "Continue without it",
        RunAgain => "Run it again",
        RunAll(count: u32) => "Run {count} cmds",
        OneByOne => "One by one",
        GoOnWith(command: String) => "Continue with {command}",
        TellModel => "Tell the model what to do instead",
        LeaveRest => "Skip the rest",
        // How the request continues.
        InWords => "Answer in text",
        AnswerInWords => "Answer in text",
        MoreSteps(calls: Plural) => "Continue for {calls}",
        AllowAgain => "Allow it again",
        TellInstead => "Tell the model what to do instead",
        RaiseBudget => "Raise budget",
        RetryReply => "🔄 Retry",
        ContinueReply => "✓ Continue",
        ApplyRecovered => "Apply the recovered changes, one by one",
        Handoff =>
            "Continue in a new session with a summary, the open to-dos, and the change history (faster answers, a fresh start)",
        Extend => "Continue here with the complete conversation (answers may become slower)",
        CarryOn => "Continue here unchanged",
        // The flow.
        Submit => "Submit",
        GoAhead => "Yes, go ahead",
        NotQuite => "Not quite, let me explain",
        KeepTalking => "Keep talking",
        Approve => "Approve",
        Modify => "Modify",
        Replan => "Re-plan",
        Cancel => "Cancel",
        Begin => "Begin",
        BeginDifferently => "Start differently",
        DoIt => "Do it",
        DoDifferently => "Do it differently",
        LeaveStep => "Skip this step",
        Good => "Good",
        LeaveNextStep => "Skip the next step",
        ChangeSomething => "Change something",
        TryAgain => "Retry",
        TryDifferently => "Retry differently",
        WithoutStep => "Continue without it",
        Satisfied => "Yes, done",
        NeedsChanges => "Needs changes",
        StartOver => "Start over",
        // Sub-tasks.
        RunAsSubtasks => "Run as sub-tasks",
        UseA => "Use A",
        UseB => "Use B",
        UseC => "Use C",
        LetAiDecide => "Let AI decide",
        EditPlan => "Edit Plan",
        StartA => "Start A",
        StartB => "Start B",
        StartC => "Start C",
        NoSubtasks => "Work without sub-tasks",
        RetrySubtask => "Retry",
        RetryModel => "Retry with another model",
        EditInstruction => "Edit the instruction and retry",
        SkipSubtask => "Skip it",
        StopAll => "Stop all",
        KeepTask(name: String) => "Keep {name}",
        KeepMine => "Keep what is in the folder",
        EditMerge => "Edit the text of the file",
        ModelMerge => "Let the model merge them",
        MergeAgain => "Merge again",
        MergeWithout(files: NamedFiles) => "Merge without {files}",
        DiscardChanges => "Discard the changes",
    }
}

impl From<PermissionLabel> for AnswerLabel {
    fn from(label: PermissionLabel) -> Self {
        Self::Permission(label)
    }
}

sentences! {
    /// What speaks for or against a way to break a request down.
    pub enum BreakdownNote {
        LowestRisk => "Lowest truncation risk",
        BestParallelism => "Best parallelism",
        MoreCalls => "More API overhead",
        Balance => "Good balance",
        ModerateRisk => "Moderate truncation risk",
        SomeCalls => "Some API overhead",
        FewerCalls => "Fewer API calls",
        HigherRisk => "Higher truncation risk",
        LittleParallelism => "Little parallelism",
    }
}

sentences! {
    /// What a way to carry sub-tasks out means.
    pub enum StrategyNote {
        AllTogether(count: usize) => "{count} tasks run simultaneously",
        OneWaits(count: usize) => "{count} tasks run simultaneously, 1 waits for dependencies",
        SomeWait(count: usize, waiting: usize) => "{count} tasks run simultaneously, {waiting} wait for dependencies",
        Safest => "Safest option, but takes longer",
        Loose => "All parallel, may need conflict resolution",
    }
}

sentences! {
    /// What sub-tasks came to.
    pub enum SubtaskSummary {
        Completed(done: usize, all: usize) => "{done} of {all} sub-tasks completed.",
        Status(status: String) => "{status}",
        LeftOut(files: NamedFiles) => "Not merged: {files}.",
        LeftBehind(id: String, left: LeftBehind) => "Not merged from sub-task {id}: {left}.",
    }
}

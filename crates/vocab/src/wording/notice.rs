//! Notices that stand in the conversation, the labels of stages, and why something that a person wanted is not done.

use super::question::{ContextFillWords, InstructionsState};
use super::{CommandReason, sentences};
use crate::LeftBehind;
use crate::format::Plural;

sentences! {
    /// Something that a person should know. It asks nothing.
    pub enum Notice {
        Objection(objection: Objection) => "{objection}",
        // From elsewhere: a provider's warning, or a model's.
        Words(words: String) => "{words}",
        // Sessions of other programs.
        Imported(program: String) =>
            "Imported from {program}. This session is read-only. `/handoff` continues it in a new session.",
        ImportedPartly(messages: Plural) => "The session is too long: {messages} at its beginning were not imported.",
        // Sub-tasks.
        NotBrokenDown(reason: String) => "Not broken down into sub-tasks: {reason}. The request runs as one task.",
        BrokenDown(reason: String) => "Broken down into {reason}.",
        NotMerged(path: String) => "The model could not merge {path}.",
        PlanAsSubtasks(count: usize) => "Running the {count} steps of the plan as sub-tasks (subtasks.offer).",
        FewerWorkers(most: Plural) =>
            "The provider limits requests. Running at most {most} at the same time until it recovers.",
        MoreWorkers(count: u32) => "Up to {count} sub-tasks run at the same time again.",
        WorkerObjection(id: String, objection: String) => "Sub-task {id}: {objection}",
        LeftBehind(id: String, left: LeftBehind) =>
            "Unrecorded changes from sub-task {id} were not merged: {left}.",
        NoSuchSubtask(id: String) => "There is no sub-task {id}.",
        MergesAgain(reason: String) => "{reason} Trimtab merges the changes of the sub-tasks again.",
        SubtaskStarting(id: String) =>
            "Sub-task {id} is still getting its copy of the folder. Try again in a moment.",
        FinishedWorkIsKept(finished: usize, all: usize) =>
            "Stopped. {finished} of {all} sub-tasks had finished; their changes are merged.",
        SubtaskNotNow(id: String, status: String) => "This is not possible while sub-task {id} is {status}.",
        PlanNotApart =>
            "No sub-tasks: this plan has fewer than 3 steps that can run at the same time, so they run one after the other.",
        // How a reply or a request ended.
        CutOff(most: Plural) =>
            "The reply was cut off at {most}. Raise limits.max_output_tokens, or ask for the rest.",
        CutOffByModel(most: Plural) =>
            "The reply was cut off at {most}, the most this model writes at once (max_output in models.toml). Ask for the rest.",
        CutOffByWindow(window: Plural) =>
            "The reply was cut off because the model's context window of {window} is full. Ask for the rest, or choose a model with a larger window.",
        Withheld => "The provider withheld part of this reply.",
        StoppedForOther(reason: String) => "The model stopped for another reason: {reason}.",
        EmptyReply => "The model sent an empty reply.",
        NoProgress => "The model kept repeating itself, so the request was ended.",
        ContinuesCutReply => "The reply was cut off at the output limit. The model continues automatically.",
        Interrupted => "[Conversation interrupted]",
        WaitingForFeedback => "[Tool execution interrupted - waiting for user feedback]",
        // Damaged replies.
        Unreadable => "The AI response could not be read. Nothing was applied.",
        BlockedTruncated(changes: usize) => "🚫 BLOCKED: {changes} file change(s) from truncated response.",
        NothingAppliedTruncated => "The response was cut off mid-stream. NO changes have been applied.",
        BlockedDamaged(changes: usize) => "🚫 BLOCKED: {changes} file change(s) from damaged response.",
        NothingAppliedDamaged => "A change could not be read reliably. NO changes have been applied.",
        Recovered => "⚠ AI response had errors - Recovery succeeded!",
        RecoveredParts(parts: String) => "Recovered: {parts}.",
        MaybeIncomplete => "The content below may be incomplete.",
        DiffWithoutEffect => "🚫 BLOCKED: a diff without effect. NO changes have been applied.",
        TooManyCommands(count: usize, most: usize, kilobytes: usize) =>
            "The reply has {count} commands, more than the limit ({most}, and {kilobytes} KB). None was run. Ask for fewer.",
        // What the model gets to read.
        NotSummarized => "The model could not summarize the conversation. Trimtab kept the beginning of each message instead.",
        NoSuchFile(path: String) => "@{path}: no such file. Sent as plain text.",
        NoSuchFileButLike(path: String, like: String) =>
            "@{path}: no such file. Sent as plain text. Did you mean @{like}?",
        ServerQuestionCancelled(server: String, message: String) =>
            "The MCP server {server} asked for input, and an unattended request cannot answer. The question was cancelled: {message}",
        ServerQuestionUnreadable(server: String) =>
            "The MCP server {server} asked for input in a form that Trimtab cannot show. The question was cancelled.",
        UnreadResource(path: String, reason: String) => "@{path} was not loaded: {reason}",
        UnreadableFile(path: String) => "@{path} cannot be read. Sent as plain text.",
        SecretInstructions(path: String) =>
            "context.files names {path}, which may hold secrets. It is not sent automatically.",
        MissingInstructions(path: String) => "context.files names {path}, which cannot be read in this folder.",
        InstructionsAccepted(files: String) =>
            "Accepted as instructions: {files}. Trimtab asks again when they change.",
        InstructionsUnused(state: InstructionsState) =>
            "{state}. This request runs without it. Accept it in the terminal, in the browser, or with `trimtab trust`, or pass --trust.",
        InstructionsTooLarge(state: InstructionsState) =>
            "{state} and is too large to show. This request runs without it. Make it smaller, or pass --trust.",
        InstructionsCut(files: String, kilobytes: usize) =>
            "The instructions are larger than {kilobytes} KB together. These are cut or left out: {files}.",
        ContextFull(fill: ContextFillWords) =>
            "{fill} This run is not interactive, so it continues here and summarizes where needed. `trimtab handoff` continues in a new session, `trimtab extend` with the complete conversation.",
        // MCP servers.
        ServersPending(names: String) =>
            ".mcp.json names MCP servers that you have not approved: {names}. They are off. `trimtab mcp enable NAME` shows one and approves it.",
        // Checks after edits.
        ChecksPending(commands: String) =>
            "Checks of this folder that you have not approved in their current version: {commands}. They are off. `trimtab checks` lists them, and `trimtab checks enable NAME` approves one.",
        // Hooks.
        HooksPending(names: String) =>
            "Hooks of this folder that you have not approved in their current version: {names}. They are off. `trimtab hooks` lists them, and `trimtab hooks enable NAME` shows and approves one.",
        HookFailed(command: String, reason: String) => "The hook `{command}` failed: {reason}.",
        HookChangedCall(command: String, tool: String, input: String) =>
            "The hook `{command}` gave {tool} new arguments: {input}",
        HookContinues(command: String, reason: String) => "The hook `{command}` asks the model to continue: {reason}",
        // Skills.
        SkillsPending(names: String) =>
            "Skills of this folder that you have not accepted in their current version: {names}. They are off. `/NAME` shows one and asks, and `trimtab trust` accepts all.",
        SkillsAccepted(names: String) => "Accepted skills: {names}. Trimtab asks again when one changes.",
        SkillTooLarge(name: String, window: u64) =>
            "The skill {name} is not loaded: with it, skills would fill more than a quarter of the context window ({window} tokens).",
        SkillMissing(name: String) => "The skill {name} can no longer be read. The request runs without it.",
        // Agents.
        AgentsPending(names: String) =>
            "Agents of this folder that you have not accepted in their current version: {names}. They are off. `@agent-NAME` shows one and asks, and `trimtab trust` accepts all.",
        AgentsAccepted(names: String) => "Accepted agents: {names}. Trimtab asks again when one changes.",
        AgentModelUnknown(name: String, model: String, instead: String) =>
            "The agent {name} asks for the model {model}, which is not among the models of your settings or agents. It runs with {instead}.",
        NoSuchAgent(name: String) => "There is no agent named {name}. `trimtab extensions` lists agents.",
        // How the request runs.
        WaitingForRoom(ahead: Plural) => "Waiting for a free slot behind {ahead}.",
        Queued => "Queued until the request before it ends.",
        QueuedBecause(reason: String) => "Queued until the request before it ends: {reason}.",
        NoImageModel =>
            "This asks for an image, but no image model is set (models.image, for example \"xai/grok-imagine-image-2.0\"), so the model answers in text. For a drawing as a file, ask for an SVG by name, as in \"Draw the logo as logo.svg\".",
        NoTools(model: String) => "{model} cannot use tools. It answers with one JSON object instead.",
        WindowLearned(model: String, window: Plural) =>
            "The conversation does not fit into the context window of {model} (about {window}). Shortening it and trying again.",
        PicturesLeftOut(model: String) =>
            "{model} cannot read images, so they are left out. Choose a model that can with --model or models.vision.",
        ProtocolChanged(model: String, protocol: String) =>
            "{model} does not work well with its current protocol. Continuing with answer.protocol = \"{protocol}\".",
        FallbackModel(before: String, after: String) =>
            "{before} is still overloaded. The request continues with {after} (models.fallback).",
        TooManyPictures(asked: u32, most: u32) => "You asked for {asked} images. At most {most} are generated at a time.",
        StepsContinue(limit: u32, most: u32) =>
            "Reached {limit} model calls. Autonomy is trusting, so the request continues up to {most}.",
        PausingIsOff => "Pausing is disabled (copilot.pause_enabled). Use cancel to stop the request.",
        NothingToSkip => "There is nothing to skip.",
        // Background commands.
        NothingToMove => "No command is running that can continue in the background.",
        TooManyInBackground(most: usize) =>
            "{most} commands already run in the background. Stop one of them first.",
        NoSuchBackground(id: String) => "This session has no running background command {id}.",
        // Rules.
        SuggestsRule(times: u32, rule: String) =>
            "You have allowed this {times} times. Answer `always` to add a rule: {rule}.",
        RuleCoversSafeUses(command: String) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask. To allow one exact command, add a rule without `*`.",
        RuleCoversSafeUsesUnlessPlain(command: String) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask. To allow one exact command, add a rule without `*`, or set `commands.match = \"plain_prefix\"`.",
        RuleLeavesOthers(command: String, reason: CommandReason) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask: {reason}. To allow one exact command, add a rule without `*`.",
        RuleLeavesOthersUnlessPlain(command: String, reason: CommandReason) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask: {reason}. To allow one exact command, add a rule without `*`, or set `commands.match = \"plain_prefix\"`.",
        DeletesAskEachTime =>
            "Commands that delete files ask each time. Set `permissions.remember_deletes = true` to let rules cover them.",
    }
}

sentences! {
    /// Why something that a person wanted is not done.
    pub enum Objection {
        // Put together elsewhere.
        Words(words: String) => "{words}",
        ServerForm(problem: String) => "The form does not accept this answer: {problem}",
        Busy => "A request is running or waiting for an answer. Cancel it first, then try again.",
        HistoryMoves => "An undo or redo is in progress. Try again when it is done.",
        RunsInBackground(ids: String) =>
            "Commands are running in the background: {ids}. Stop them first, then try again.",
        NothingSaid => "This session is empty. There is nothing to hand off.",
        Nameless => "The session has no name to refer to.",
        NeedsText => "This answer needs text. Give it with --text.",
        UnknownModel(model: String) => "The model {model} is not set up for sub-tasks.",
        NoText => "This answer takes no text.",
        BadHost(pattern: String, why: String) => "Invalid host {pattern:?}. {why}",
        NotABudget => "The budget must be a number of dollars greater than what is already spent.",
        NoSuchCommand(number: usize, most: usize) =>
            "There is no command {number}; they are numbered from 1 to {most}.",
        // The change history.
        NothingToUndo => "There is no change to undo.",
        NothingToRedo => "There is no change to redo.",
        Expired(number: usize) =>
            "Change #{number} has expired, and its files are no longer stored. Nothing was changed.",
        NoSuchChange => "There is no such change in this session.",
        AlreadyUndone => "This change is already undone.",
        LaterUndone(changes: Plural) => "This would discard {changes}. Redo first.",
        NotTouched(path: String) => "This change did not touch {path}.",
        NoPartNamed => "Name a file or hunk of the change.",
        MadeBeforeFork(number: usize, session: String) =>
            "Change #{number} was made before this session was forked. Undo it in session {session}, with --session {session}. Nothing was changed.",
        HandedOff(number: usize, session: String) =>
            "Change #{number} was handed off to session {session}. Undo it there with --session {session}. Nothing was changed.",
        NothingLeft => "There is nothing left to undo.",
        // A part of a proposed change.
        NotWaiting(checkpoint: String) => "There is no pending checkpoint {checkpoint}.",
        NoParts => "This question is not about a file change, so it has no parts to choose.",
        NothingChosen => "Nothing is selected. To reject all of it, choose another answer.",
        NotInProposal(path: String, paths: String) => "{path} is not in this proposal: it changes {paths}.",
        NoHunks(path: String) => "{path} has no separate hunks. Choose the whole file.",
        NoSuchHunk(number: u32, path: String, hunks: u32) =>
            "There is no hunk {number} in {path}: the proposal has {hunks}.",
        HalfAMove => "A move includes both files. Choose both or neither.",
        LostPart => "The selected part could not be applied. Nothing was changed.",
        // The steps of a plan.
        EditsNotJson(error: String) => "The edits are not JSON: {error}.",
        TooManyEdits => "There are too many edits.",
        BadPlan(wrong: String) => "Invalid plan: {wrong}",
        BadEdit(edit: String, error: String) => "Invalid edit: {edit}: {error}.",
        BadOrder => "The new order must name every step once.",
        NoStepsLeft => "A plan needs at least one step. Cancel the plan instead.",
        TooManySteps(most: usize) => "A plan has {most} steps at most.",
        BadNewStep(wrong: String) => "This step cannot be added: {wrong}",
        BadStep(wrong: String) => "Invalid step: {wrong}",
        NoSuchStep(name: String) => "There is no step {name:?} in this plan.",
        OutOfOrder(step: String, needed: String) =>
            "“{step}” depends on “{needed}” and cannot come before it. Keep that order, or edit its dependsOn.",
    }
}

sentences! {
    /// What a request is doing. Those of the documented stages are documented word for word.
    pub enum StageLabel {
        AnalyzingRequest => "Analyzing request & architecting strategy...",
        Analyzing => "Analyzing...",
        Routing(tools: String) => "Routing intent to {tools} tools...",
        LoadedOne => "📂 Loaded 1 file",
        Loaded(files: usize) => "📂 Loaded {files} files",
        Understanding => "Understanding the request...",
        BreakingDown => "Breaking the request down into sub-tasks...",
        RunningOneSubtask => "🔄 Running 1 sub-task...",
        RunningSubtasks(count: usize) => "🔄 Running {count} sub-tasks in parallel...",
        RunningSubtasksInOrder(count: usize) => "🔄 Running {count} sub-tasks one after the other...",
        MergingSubtasks => "Merging the changes of the sub-tasks...",
        WaitingForModel => "Waiting for the model...",
        LoadingModel => "Waiting for the server to load the model...",
        Synthesizing => "Synthesizing final intelligence...",
        Finishing => "Finishing...",
        Compressing => "Compressing the conversation...",
        ShowingUnderstood => "Showing what was understood...",
        AskingUnclear => "Asking clarifying questions...",
        WaitingForPlan => "Waiting for the plan to be approved...",
        PlanStep(number: u32, of: u32, title: String) => "Step {number} of {of}: {title}",
        WritingPrompts => "Writing the prompts...",
        MakingPicture => "Generating an image...",
        MakingPictures(count: u32) => "Generating {count} images...",
        Interrogating(host: String) => "Interrogating {host}...",
        Repairing => "Repairing the answer...",
        Command(number: u32, total: u32) => "Command {number}/{total}",
        RoutingTasks => "Routing…",
        PlanningTasks => "Planning…",
        Validating => "Validating…",
        Summarizing => "Summarizing…",
        RepairingOperations => "Repairing invalid ops…",
        HandoffContext => "Generating the handoff context...",
        TransferringOne => "Transferring the change history: 1 change...",
        Transferring(changes: usize) => "Transferring the change history: {changes} changes...",
        CreatingSession(session: String) => "Creating the session {session}...",
        Prefilling => "Prefilling its input with the open to-dos...",
    }
}

//! Notices that stand in the conversation, the labels of stages, and why something that a person wanted is not done.

use super::question::{ContextFillWords, InstructionsState};
use super::{CommandReason, sentences};

sentences! {
    /// Something that a person should know. It asks nothing.
    pub enum Notice {
        Objection(objection: Objection) => "{objection}",
        // From elsewhere: a provider's warning, or a model's.
        Words(words: String) => "{words}",
        // How a reply or a request ended.
        CutOff(most: u32) =>
            "The reply was cut off at {most} tokens. Raise limits.max_output_tokens, or ask for the rest.",
        CutOffByModel(most: u32) =>
            "The reply was cut off at {most} tokens, the most this model writes at once (max_output in models.toml). Ask for the rest.",
        CutOffByWindow(window: u64) =>
            "The reply was cut off because the model's context window of {window} tokens is full. Ask for the rest, or choose a model with a larger window.",
        Withheld => "The provider withheld part of this reply.",
        StoppedForOther(reason: String) => "The model stopped for a reason of its own: {reason}.",
        EmptyReply => "The model sent an empty reply.",
        NoProgress => "The model kept repeating the same step, so the request was ended.",
        ContinuesCutReply => "The reply was cut off at the output limit; the model goes on by itself.",
        Interrupted => "[Conversation interrupted]",
        WaitingForFeedback => "[Tool execution interrupted - waiting for user feedback]",
        // Damaged replies.
        Unreadable => "The AI response could not be read, and nothing of it was applied.",
        BlockedTruncated(changes: usize) => "🚫 BLOCKED: {changes} file change(s) from truncated response.",
        NothingAppliedTruncated => "The response was cut off mid-stream. NO changes have been applied.",
        BlockedDamaged(changes: usize) => "🚫 BLOCKED: {changes} file change(s) from damaged response.",
        NothingAppliedDamaged => "A change in it could not be read for certain. NO changes have been applied.",
        Recovered => "⚠ AI response had errors - Recovery succeeded!",
        RecoveredParts(parts: String) => "Recovered: {parts}.",
        MaybeIncomplete => "The content below may be incomplete.",
        DiffWithoutEffect => "🚫 BLOCKED: a diff without effect. NO changes have been applied by it.",
        TooManyCommands(count: usize, most: usize, kilobytes: usize) =>
            "The answer has {count} commands, which is more than are run (at most {most}, and {kilobytes} KB). None of them was. Ask for fewer.",
        // What the model gets to read.
        NotSummarized => "The conversation could not be summed up by a model; its first words stand for it.",
        NoSuchFile(path: String) => "@{path}: no such file; sent as plain words.",
        NoSuchFileButLike(path: String, like: String) =>
            "@{path}: no such file; sent as plain words. Did you mean @{like}?",
        UnreadableFile(path: String) => "@{path} cannot be read from here; sent as plain words.",
        SecretInstructions(path: String) =>
            "context.files names {path}, which may hold secrets; it is not sent by itself.",
        MissingInstructions(path: String) => "context.files names {path}, which cannot be read in this folder.",
        InstructionsAccepted(files: String) =>
            "Accepted as instructions: {files}. You are asked again when they change.",
        InstructionsUnused(state: InstructionsState) =>
            "{state}. This request runs without it. Accept it in the terminal, in the browser, or with `trimtab trust`, or pass --trust.",
        InstructionsTooLarge(state: InstructionsState) =>
            "{state} and is too large to show. This request runs without it. Make it smaller, or pass --trust.",
        ContextFull(fill: ContextFillWords) =>
            "{fill} Nobody is asked in this run: it goes on here, summed up where it must be. `trimtab handoff` goes on in a new session, `trimtab extend` with the complete conversation.",
        // How the request runs.
        WaitingForRoom(ahead: u32) => "Waiting for room: {ahead} other requests are running or came earlier.",
        Queued => "This waits until the request before it has ended.",
        QueuedBecause(reason: String) => "This waits until the request before it has ended: {reason}.",
        NoImageModel =>
            "This asks for a picture, and no model that makes pictures is set (models.image, for example \"xai/grok-imagine-image-2.0\"): the model answers in words. For a drawing as a file, ask for an SVG by name, as in \"Draw the logo as logo.svg\".",
        NoTools(model: String) => "{model} cannot use tools; it says what it wants done in one answer instead.",
        WindowLearned(model: String, window: u64) =>
            "The conversation does not fit {model}, which holds about {window} tokens. Shortening it and trying again.",
        PicturesLeftOut(model: String) =>
            "{model} cannot see pictures, so they are left out. Choose a model that can with --model or models.vision.",
        ProtocolChanged(model: String, protocol: String) =>
            "{model} does not work well this way. Continuing with answer.protocol = \"{protocol}\".",
        FallbackModel(before: String, after: String) =>
            "{before} is still overloaded. The request continues with {after} (models.fallback).",
        TooManyPictures(asked: u32, most: u32) => "You asked for {asked} pictures; {most} are made at a time.",
        PausingIsOff => "Pausing is switched off (copilot.pause_enabled); cancel stops the request.",
        NothingToSkip => "Nothing that could be skipped is running.",
        // Rules.
        SuggestsRule(times: u32, rule: String) =>
            "You have allowed this {times} times. The answer `always` would make it a rule: {rule}.",
        RuleCoversSafeUses(command: String) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask. To allow one exact command, make a rule for it without `*`.",
        RuleCoversSafeUsesUnlessPlain(command: String) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask. To allow one exact command, make a rule for it without `*`, or set `commands.match = \"plain_prefix\"`.",
        RuleLeavesOthers(command: String, reason: CommandReason) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask: {reason}. To allow one exact command, make a rule for it without `*`.",
        RuleLeavesOthersUnlessPlain(command: String, reason: CommandReason) =>
            "This rule covers only uses that are known to be safe. Other commands that begin with `{command}` still ask: {reason}. To allow one exact command, make a rule for it without `*`, or set `commands.match = \"plain_prefix\"`.",
        DeletesAskEachTime =>
            "Commands that delete files ask each time. Set `permissions.remember_deletes = true` to let rules cover them.",
    }
}

sentences! {
    /// Why something that a person wanted is not done.
    pub enum Objection {
        // Put together elsewhere.
        Words(words: String) => "{words}",
        Busy => "A request is running or waits for an answer. Stop it first, then try again.",
        HistoryMoves => "The change history is being moved. Try again when it is at rest.",
        NothingSaid => "Nothing was said in this session yet: there is nothing to hand over.",
        Nameless => "The session has no name to refer to.",
        NeedsText => "This answer needs text. Give it with --text.",
        NotABudget => "The budget must be a number of dollars, and more than is spent.",
        NoSuchCommand(number: usize, most: usize) =>
            "There is no command {number}; they are numbered from 1 to {most}.",
        // The change history.
        NothingToUndo => "There is no change left to rewind.",
        NothingToRedo => "There is no change to bring forward.",
        Expired(number: usize) =>
            "Change #{number} has expired: what its files were is not kept any more. Nothing was changed.",
        NoSuchChange => "There is no such change in this session.",
        AlreadyUndone => "This change is taken back already.",
        LaterUndone(count: usize) =>
            "{count} later changes are taken back and would be lost. Bring them forward first.",
        NotTouched(path: String) => "This change has not touched {path}.",
        NoPartNamed => "No part of the change was named.",
        MadeBeforeFork(number: usize, session: String) =>
            "Change #{number} was made before this session was forked and can only be moved in session {session}, with --session {session}. Nothing was changed.",
        HandedOff(number: usize, session: String) =>
            "Change #{number} was handed off to session {session} and can only be moved there, with --session {session}. Nothing was changed.",
        NothingLeft => "Nothing of this is left to take back.",
        // A part of a proposed change.
        NotWaiting(checkpoint: String) => "Nothing called {checkpoint} waits for an answer.",
        NoParts => "This question is not about a change of files: there are no parts of it to choose.",
        NothingChosen => "Nothing is chosen. To leave all of it, choose another answer.",
        NotInProposal(path: String, paths: String) => "{path} is not in this proposal: it changes {paths}.",
        NoHunks(path: String) => "{path} has no hunks that could be told apart. Choose the whole file.",
        NoSuchHunk(number: u32, path: String, hunks: u32) =>
            "There is no hunk {number} in {path}: the proposal has {hunks}.",
        HalfAMove => "A move is one thing: what goes here comes there. Choose both files, or neither.",
        LostPart => "The part that was chosen could not be made out. Nothing was changed.",
        // The steps of a plan.
        EditsNotJson(error: String) => "The edits are not JSON: {error}.",
        TooManyEdits => "These are too many edits.",
        BadPlan(wrong: String) => "The plan cannot be so: {wrong}",
        BadEdit(edit: String, error: String) => "This edit cannot be read: {edit}: {error}.",
        BadOrder => "The new order must name every step once.",
        NoStepsLeft => "A plan without steps is none; cancel it instead.",
        TooManySteps(most: usize) => "A plan has {most} steps at most.",
        BadNewStep(wrong: String) => "This step cannot be added: {wrong}",
        BadStep(wrong: String) => "This step cannot be so: {wrong}",
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
        WaitingForModel => "Waiting for the model...",
        LoadingModel => "Waiting for the server to load the model...",
        Synthesizing => "Synthesizing final intelligence...",
        Finishing => "Finishing...",
        Compressing => "Making the conversation fit the model's window...",
        ShowingUnderstood => "Showing what was understood...",
        AskingUnclear => "Asking what is not clear...",
        WaitingForPlan => "Waiting for the plan to be approved...",
        PlanStep(number: u32, of: u32, title: String) => "Step {number} of {of}: {title}",
        WritingPrompts => "Writing the prompts...",
        MakingPicture => "Making a picture...",
        MakingPictures(count: u32) => "Making {count} pictures...",
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
        Prefilling => "Prefilling its input with the open tasks...",
    }
}

//! Why a request of the engine failed, and what to do; what the engine itself says where no model speaks for it.

use super::sentences;

sentences! {
    /// The message or the hint of a problem.
    pub enum ProblemText {
        // Talk and work.
        TransitionOff => "Switching from conversation to execution is disabled.",
        TransitionOffHint =>
            "Set copilot.allow_execution_transition = true, or ask for the work in a separate request.",
        NothingTalkedAbout => "There is nothing to carry out yet.",
        NothingTalkedAboutHint =>
            "Start a conversation with `trimtab run --mode chat`, or ask for the work directly.",
        // Models.
        NoRoomInBudget => "The budget has no room for this call.",
        AnnouncedTool => "The model announced a tool call twice but made none.",
        AnnouncedToolHint => "Try again, or use another model. This one may not support tools.",
        RepeatedItself => "The model repeated itself. Its reply was stopped.",
        RepeatedItselfHint => "Rephrase the request, or use another model.",
        NoProgress => "The model kept repeating itself and made no progress.",
        NoProgressHint => "Ask for smaller steps, or use another model.",
        Misfit(errors: String) => "The answer does not fit the JSON Schema: {errors}.",
        MisfitHint => "Simplify the schema, explain each field in the request, or use another model with --model.",
        EndedWhileAnswering => "Trimtab was interrupted while the model was answering.",
        HookRefused(reason: String) => "A hook refused the request: {reason}",
        HookRefusedHint => "`trimtab hooks` lists the hooks. Change the request, or the hook.",
        // Words without deeds.
        NoChangeMade => "Not done: the model described a change but made none.",
        NothingRun => "Not done: the model described a command but ran none.",
        ClaimedChange(path: String) => "Not done: the model reports a change to {path} but made none.",
        NotMade(path: String) => "Not done: {path} was neither created nor changed.",
        CalledNoTool(name: String) => "Not done: the model called {name}, which is not a tool.",
        CalledWrongly => "Not done: the model called a tool with invalid arguments.",
        NoPlanMade => "Not done: the model proposed no plan.",
        NotDoneHint => "Ask again and name the file or the command, or choose another model with --model.",
        // Sub-tasks.
        SubtaskUnfinished => "The worker ended before its sub-task was done.",
        NoSubtaskCompleted => "Not done: no sub-task was completed.",
        MergeNotApplied => "Not done: the changes of the sub-tasks were not applied.",
        NoSuchAgent(name: String, names: String) => "There is no agent named {name}. Agents: {names}.",
        NoAgents(name: String) => "There is no agent named {name}, and there are no others.",
        AgentUnreadable(reason: String) => "{reason}",
        NoSuchAgentHint => "`trimtab extensions` lists agents, and shows why a file is ignored.",
        AgentNotAccepted(state: String) => "Not done: {state}.",
        AgentNotAcceptedHint =>
            "Read the file and run `trimtab trust` to accept all agents of the folder, or call the agent where you can be asked.",
        AgentTooLarge(name: String, window: u64) =>
            "The instructions of the agent {name} fill more than a quarter of the context window ({window} tokens).",
        AgentTooLargeHint => "Shorten the file of the agent, or use a model with a larger window.",
        NoPlaceForWorkers => "This session cannot start workers, so it cannot run an agent.",
        // Pictures.
        FewerPictures(made: usize, count: u32) => "The provider generated only {made} of {count} images.",
        FewerPicturesHint => "Ask for the others again.",
        NoPictureSelected => "No image is selected.",
        NoPictureSelectedHint => "Select images or name them. `trimtab images list` shows their IDs.",
        NoPictureMade => "No image was generated.",
        NoPictureMadeHint => "Rephrase the request, or try again.",
        NothingSaved => "Nothing was saved.",
        NothingSavedHint => "Nothing was written. Choose another folder.",
        NoImageModel => "No image model is set.",
        NoImageModelHint =>
            "Set models.image, for example \"xai/grok-imagine-image-2.0\" with XAI_API_KEY or \"openai/gpt-image-2\" with OPENAI_API_KEY.",
        NoSuchPicture(image: String) => "There is no image {image} in this session.",
        NoSuchPictureHint => "`trimtab images list` shows all images.",
    }
}

sentences! {
    /// What is said in the model's place: an answer, or a question that a model has not put into words.
    pub enum OwnWords {
        StepsDone(done: usize, of: usize) => "{done} of {of} steps of the plan are done.",
        NoOperations => "I found nothing to change. Say which tasks you mean and what should change.",
        OneOperation(operation: String) => "I propose 1 change: {operation}.",
        Operations(count: usize, operations: String) => "I propose {count} changes: {operations}.",
        OffersChanges => " Would you like me to make these changes?",
        AsksPurpose => "What is it for, and who will use it?",
        AsksInputs => "What does it start from: which files, data, or settings?",
        AsksOutputs => "What should exist when it is done?",
        AsksConstraints => "What are the constraints: versions, limits, things that must not change?",
        AsksWhat => "What exactly should be done?",
        AsksWhatAndHow => "What exactly should be done, and how will you know that it is right?",
        WithOptions(question: String, options: String) => "{question} Options: {options}.",
        AsksWhich => "Which item do you mean?",
    }
}

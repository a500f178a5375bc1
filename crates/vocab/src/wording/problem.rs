//! Why a request of the engine failed, and what to do; what the engine itself says where no model speaks for it.

use super::sentences;

sentences! {
    /// The message or the hint of a problem.
    pub enum ProblemText {
        // Talk and work.
        TransitionOff => "Going over from talk to work is switched off.",
        TransitionOffHint =>
            "Set copilot.allow_execution_transition = true, or ask for the work in a request of its own.",
        NothingTalkedAbout => "Nothing was talked about yet that could be carried out.",
        NothingTalkedAboutHint =>
            "Talk first, for example with `trimtab run --mode chat`, or ask for the work itself.",
        // Models.
        NoRoomInBudget => "The budget has no room for this call.",
        AnnouncedTool => "The model announced a tool twice and named none.",
        AnnouncedToolHint => "Ask again, or use another model: this one may not be able to use tools.",
        RepeatedItself => "The model repeated itself; the reply was stopped.",
        RepeatedItselfHint => "Ask again in other words, or use another model.",
        NoProgress => "The model kept repeating the same step and made no progress.",
        NoProgressHint => "Ask in smaller steps, or use another model.",
        Misfit(errors: String) => "The answer does not fit the JSON Schema: {errors}.",
        MisfitHint => "Simplify the schema, say in the request what each field means, or use another model with --model.",
        EndedWhileAnswering => "The program ended while the model was answering.",
        // Words without deeds.
        NoChangeMade => "Not done: the model described a change but made none.",
        NothingRun => "Not done: the model described a command but ran none.",
        ClaimedChange(path: String) => "Not done: the model reports a change to {path} but made none.",
        CalledNoTool(name: String) => "Not done: the model called {name}, which is not a tool.",
        CalledWrongly => "Not done: the model called a tool with arguments that cannot be used.",
        NoPlanMade => "Not done: the model proposed no plan.",
        NotDoneHint => "Ask again and name the file or the command, or choose another model with --model.",
        // Pictures.
        FewerPictures(made: usize, count: u32) => "The provider made only {made} of {count} pictures.",
        FewerPicturesHint => "Ask for the others again.",
        NoPictureSelected => "No picture is selected.",
        NoPictureSelectedHint => "Select some, or name them: `trimtab images list` shows their ids.",
        NoPictureMade => "No picture was made.",
        NoPictureMadeHint => "Say it differently, or try again.",
        NothingSaved => "Nothing was saved.",
        NothingSavedHint => "Nothing was written. Choose another folder.",
        NoImageModel => "No model that makes pictures is set.",
        NoImageModelHint =>
            "Set models.image, for example \"xai/grok-imagine-image-2.0\" with XAI_API_KEY or \"openai/gpt-image-2\" with OPENAI_API_KEY.",
        NoSuchPicture(image: String) => "There is no picture {image} in this session.",
        NoSuchPictureHint => "`trimtab images list` shows those that there are.",
    }
}

sentences! {
    /// What is said in the model's place: an answer, or a question that a model has not put into words.
    pub enum OwnWords {
        StepsDone(done: usize, of: usize) => "{done} of {of} steps of the plan are done.",
        NoOperations => "I found no change that could be made. Say which tasks you mean, and what should change.",
        OneOperation(operation: String) => "I propose 1 change: {operation}.",
        Operations(count: usize, operations: String) => "I propose {count} changes: {operations}.",
        OffersChanges => " Would you like me to make these changes?",
        AsksPurpose => "What is it for, and who will use it?",
        AsksInputs => "What does it start from: which files, data or settings?",
        AsksOutputs => "What should be there when it is done?",
        AsksConstraints => "What must it keep to: versions, limits, things that must not change?",
        AsksWhat => "What exactly should be done?",
        AsksWhatAndHow => "What exactly should be done, and how will you know that it is right?",
        WithOptions(question: String, options: String) => "{question} Options: {options}.",
        AsksWhich => "Which item do you mean?",
    }
}

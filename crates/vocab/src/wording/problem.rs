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
        EndedWhileAnswering => "Trimtab was interrupted while the model was answering.",
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
            "Set models.image, for example \"xai/grok-2-image\" with XAI_API_KEY or \"openai/gpt-image-1\" with OPENAI_API_KEY.",
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
        AsksInputs => "What does it start from: which files, data or settings?",
        AsksOutputs => "What should be there when it is done?",
        AsksConstraints => "What must it keep to: versions, limits, things that must not change?",
        AsksWhat => "What exactly should be done?",
        AsksWhatAndHow => "What exactly should be done, and how will you know that it is right?",
        WithOptions(question: String, options: String) => "{question} Options: {options}.",
        AsksWhich => "Which item do you mean?",
    }
}

//! Names that facts carry and that the fold reads: choices of checkpoints, verdicts on proposals, kinds of bugs, and
//! internal tools. They are part of the log's format and never change.

/// Who says "continue" automatically; a new turn begins with it.
pub(crate) const AUTO_CONTINUE: &str = "auto_continue";
/// Opens a summary.
pub const SUMMARY: &str = "[CONVERSATION SUMMARY]";

/// Choices of checkpoints.
pub mod choice {
    /// This time.
    pub const ALLOW: &str = "allow";
    /// From now on.
    pub const ALWAYS: &str = "always";
    /// From now on, for every use of the program that its table knows to be safe.
    pub const ALWAYS_PREFIX: &str = "always_prefix";
    /// From now on, in every folder: this command, or every safe use of its program.
    pub const ALWAYS_EVERYWHERE: &str = "always_everywhere";
    pub const ALWAYS_PREFIX_EVERYWHERE: &str = "always_prefix_everywhere";
    /// Not so: the user says what to do differently.
    pub const WAIT: &str = "wait";
    /// Not now and not later.
    pub const NEVER: &str = "never";
    /// Not this time: the model is told, and continues. Valid for every plan and tool.
    pub const REJECT: &str = "reject";
    /// The folder may be read and worked in.
    pub const TRUST: &str = "trust";
    /// It may not.
    pub const DISTRUST: &str = "no";
    /// Accepts instructions as they are now.
    pub const USE: &str = "use";
    /// Continues the request.
    pub const CONTINUE: &str = "continue";
    /// End the request.
    pub const STOP: &str = "stop";
    /// Words say what to do.
    pub const TELL: &str = "tell";
    /// Run it again.
    pub const AGAIN: &str = "again";
    /// Leave it, and tell the model that its end is not known.
    pub const SKIP: &str = "skip";
    /// Run it once outside of the sandbox.
    pub const OUTSIDE: &str = "outside";
    /// Run it again in the ordinary sandbox, where it may write in the folder.
    pub const WIDEN: &str = "widen";
    /// Gives a command that is overdue the same time again.
    pub const EXTEND: &str = "extend";
    /// It may take as long as it takes.
    pub const UNLIMITED: &str = "unlimited";
    /// It continues in the background.
    pub const BACKGROUND: &str = "background";
    pub const END: &str = "end";
    /// Run the commands, and ask about those that are not known to be safe.
    pub const RUN: &str = "run";
    /// Run the commands, and ask about each.
    pub const EACH: &str = "each";
    /// Tries again.
    pub const RETRY: &str = "retry";
    /// Applies the complete changes of a reply that was cut off, each with its own question.
    pub const APPLY: &str = "apply";
    /// The answer is in words.
    pub const OTHER: &str = "other";
    /// The answer that lets the session cost more.
    pub const RAISE: &str = "raise";
    /// The answers are given.
    pub const SUBMIT: &str = "submit";
    /// Carry it out.
    pub const APPROVE: &str = "approve";
    /// Change it, in words or as a list.
    pub const MODIFY: &str = "modify";
    /// Make another one.
    pub const REPLAN: &str = "replan";
    /// Leave it.
    pub const CANCEL: &str = "cancel";
    /// Not yet: the conversation continues.
    pub const TALK: &str = "talk";
    /// It is as it should be.
    pub const SATISFIED: &str = "satisfied";
    /// It is not, and words say why.
    pub const NEEDS_CHANGES: &str = "needs_changes";
    /// Tries again from the beginning.
    pub const START_OVER: &str = "start_over";
    /// Break the request down finely, in between, or coarsely.
    pub const FINE: &str = "fine";
    pub const MEDIUM: &str = "medium";
    pub const COARSE: &str = "coarse";
    /// The program decides.
    pub const DECIDE: &str = "decide";
    /// Run sub-tasks by what they depend on, one after the other, or all at once.
    pub const START_A: &str = "start_a";
    pub const START_B: &str = "start_b";
    pub const START_C: &str = "start_c";
    /// Carry a plan out as sub-tasks.
    pub const SUBTASKS: &str = "subtasks";
    /// Another plan is given.
    pub const EDIT: &str = "edit";
    /// No sub-tasks: the model does the work itself.
    pub const DECLINE: &str = "decline";
    /// Tries again with the named model.
    pub const RETRY_MODEL: &str = "retry_model";
    /// Of two changes, what was there first stays.
    pub const KEEP_A: &str = "keep_a";
    /// Of two changes, the later one replaces it.
    pub const KEEP_B: &str = "keep_b";
    /// A model brings two changes together.
    pub const MERGE: &str = "merge";
    /// Merge without the files that stand in the way, or without those that they stand in the way of.
    pub const LEAVE_OUT: &str = "leave_out";
    pub const LEAVE_OTHER: &str = "leave_other";
    /// A person denies it once, or `--approve deny` does.
    pub const DENIED: &str = "denied";

    /// Whether an answer allows something from now on, in one of its forms.
    pub fn is_always(choice: &str) -> bool {
        matches!(choice, ALWAYS | ALWAYS_PREFIX | ALWAYS_EVERYWHERE | ALWAYS_PREFIX_EVERYWHERE)
    }
}

/// Verdicts on proposals.
pub(crate) mod verdict {
    /// The verdict on a proposal that may be carried out.
    pub(crate) const APPROVED: &str = "approved";
    /// The verdict on operations that the user has applied, all or some.
    pub(crate) const APPLIED: &str = "applied";
}

/// Kinds of bugs.
pub(crate) mod bug {
    /// The bug of a reply that announces a tool and names none.
    pub(crate) const HOLLOW: &str = "empty_tool_use";
    /// The bug of a plan that is only told in words, or cannot be read.
    pub(crate) const UNREADABLE: &str = "plan";
    /// The bug of a reply that should have done something and only speaks of it.
    pub(crate) const NOTHING_DONE: &str = "nothing_done";
    /// The bug of an answer that does not fit the schema of its request.
    pub(crate) const MISFIT: &str = "answer_schema";
}

/// Tools that no model is offered.
pub(crate) mod tool {
    /// The tool that makes pictures.
    pub(crate) const DRAW: &str = "draw_image";
    /// The tool that hands parts of a request to workers. Models may be offered it as well.
    pub(crate) const DELEGATE: &str = "delegate";
    /// The tool that saves them.
    pub(crate) const SAVE: &str = "save_images";
}

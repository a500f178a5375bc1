//! What the demonstration in plain text shows: real command lines, each with what it is for.

/// One thing that is shown.
pub(super) struct DemoScene {
    /// What is being shown, and what a person does for it.
    pub(super) says: &'static str,
    /// The command lines, in their order.
    pub(super) acts: &'static [Act],
}

/// One command line.
pub(super) enum Act {
    /// It runs to its end.
    Run(&'static [&'static str]),
    /// It is killed while the model answers.
    Killed(&'static [&'static str]),
}

/// What the recorded model can do in the sample project.
pub(in crate::cli) const REQUEST: &str = "Let greet.sh work without a name, too";
/// What the tasks are asked for.
const TASK_UPDATE: &str = "The letter is written, and the sails are urgent";
const QUESTION: &str = "Is anything lost when the program is cut off?";

/// Tasks that are there before.
pub(super) const TASKS: [&str; 2] = ["Write the letter", "Mend the sails"];

pub(super) const STORY: &[DemoScene] = &[
    DemoScene {
        says: "A request. In plan mode, nothing is changed until you agree.\nNothing of a folder is read before you trust it, so that is asked first.",
        acts: &[Act::Run(&["run", "--mode", "plan", REQUEST])],
    },
    DemoScene {
        says: "You trust it. The model looks around, and asks what only you can decide.",
        acts: &[Act::Run(&["answer", "trust"])],
    },
    DemoScene {
        says: "You choose. A plan comes back; it waits for you as long as you like,\neven if you restart.",
        acts: &[Act::Run(&["answer", "o1"])],
    },
    DemoScene {
        says: "You approve it. Two files are changed, step by step;\nthen the model proposes commands.",
        acts: &[Act::Run(&["answer", "approve"])],
    },
    DemoScene {
        says: "You run them one at a time. The model checks each result.\nCommands known to be safe run automatically in a sandbox. Others ask.",
        acts: &[Act::Run(&["answer", "run"])],
    },
    DemoScene {
        says: "You allow it once. It fails because the file does not exist. The model\ncorrects the command, and Trimtab asks again.",
        acts: &[Act::Run(&["answer", "allow"])],
    },
    DemoScene {
        says: "You allow it. The tests pass. The model summarizes the work\nand suggests next steps.",
        acts: &[Act::Run(&["answer", "allow"])],
    },
    DemoScene {
        says: "Everything can be undone, and brought back: no git needed.",
        acts: &[Act::Run(&["changes"]), Act::Run(&["rewind", "2"]), Act::Run(&["forward", "2"])],
    },
    DemoScene {
        says: "Nothing is lost. This request is killed (kill -9) while the model answers,\nthen resumed.",
        acts: &[Act::Killed(&["run", "--mode", "chat", QUESTION]), Act::Run(&["resume"])],
    },
    DemoScene {
        says: "Your tasks, by the same rules: the assistant proposes,\nand you see what would change before anything does.",
        acts: &[Act::Run(&["tasks", "list"]), Act::Run(&["ask", TASK_UPDATE])],
    },
    DemoScene {
        says: "You apply the first two of its three changes. You can undo them as well.",
        acts: &[Act::Run(&["ask", "--apply", "1,2"]), Act::Run(&["tasks", "list"]), Act::Run(&["tasks", "undo"])],
    },
];

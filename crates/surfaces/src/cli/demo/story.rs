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
pub(in crate::cli) const REQUEST: &str = "Make greet.sh work without a name";
/// What several workers do.
pub(in crate::cli) const SUBTASKS: &str = "Add a usage text and a license, and document both";
/// What the tasks are asked for.
const TASK_UPDATE: &str = "The release notes are done, and the failing test is urgent";
const QUESTION: &str = "Do I lose anything if Trimtab crashes?";

/// Tasks that are there before.
pub(super) const TASKS: [&str; 2] = ["Write the release notes", "Fix the failing test"];

pub(super) const STORY: &[DemoScene] = &[
    DemoScene {
        says: "You send a request. In plan mode, nothing changes until you approve the plan.\nThe model wants to read a file, and Trimtab asks whether you trust the folder.",
        acts: &[Act::Run(&["run", "--mode", "plan", REQUEST])],
    },
    DemoScene {
        says: "You trust it. Now the model can read the files. It asks you a question.",
        acts: &[Act::Run(&["answer", "trust"])],
    },
    DemoScene {
        says: "You answer. The model proposes a plan. It waits for your decision,\neven after a restart.",
        acts: &[Act::Run(&["answer", "o1"])],
    },
    DemoScene {
        says: "You approve it. Trimtab changes two files, step by step.\nThen the model proposes commands.",
        acts: &[Act::Run(&["answer", "approve"])],
    },
    DemoScene {
        says: "You choose to run both. Commands that are known to be safe run automatically\nin a sandbox. For the others, Trimtab asks you.",
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
        says: "You can undo and redo every change, without git.\n`rewind 2` undoes the latest two changes, and `forward 2` redoes them.",
        acts: &[Act::Run(&["changes"]), Act::Run(&["rewind", "2"]), Act::Run(&["forward", "2"])],
    },
    DemoScene {
        says: "You split a larger request into sub-tasks. Each one works in its own copy\nof the folder, and Trimtab merges the results into one change.",
        acts: &[Act::Run(&["run", "--subtasks", "parallel", SUBTASKS]), Act::Run(&["subtasks"]), Act::Run(&["rewind"])],
    },
    DemoScene {
        says: "A crash loses nothing. Here, Trimtab is killed (kill -9) while the model\nanswers. Then it resumes the request.",
        acts: &[Act::Killed(&["run", "--mode", "chat", QUESTION]), Act::Run(&["resume"])],
    },
    DemoScene {
        says: "Tasks work the same way. You tell the assistant what happened,\nit proposes changes, and nothing changes until you approve.",
        acts: &[Act::Run(&["tasks", "list"]), Act::Run(&["ask", TASK_UPDATE])],
    },
    DemoScene {
        says: "You apply the first two of its three changes. You can undo these, too.",
        acts: &[Act::Run(&["ask", "--apply", "1,2"]), Act::Run(&["tasks", "list"]), Act::Run(&["tasks", "undo"])],
    },
];

//! The parsed tool call.

use serde_json::Value;
use trimtab_vocab::{BackgroundId, Plan, ReadOp, ReadyWhen, RefKey, SubTaskPlan, Todo};

use super::ServerAction;
use crate::proposal::ProposedChange;

/// How a command starts in the background.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BackgroundStart {
    pub(crate) ready: Option<ReadyWhen>,
    pub(crate) name: Option<String>,
}

/// A parsed tool call. It is parsed once, when the reply is folded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolAction {
    /// See something of the folder.
    Read(ReadOp),
    /// See a page of the web.
    Fetch {
        /// Its address.
        url: String,
        /// Whose page it is.
        host: String,
    },
    /// Find pages of the web.
    SearchWeb {
        /// The search query.
        query: String,
    },
    /// Read a stored text.
    Stored {
        /// Its name.
        key: RefKey,
        /// The first byte to show.
        offset: usize,
    },
    /// Change a file.
    Change(ProposedChange),
    /// Run a command.
    Run {
        /// The command line.
        command: String,
        /// Seconds it may take; absent: as set.
        timeout_s: Option<u64>,
        /// Why it should run outside of the sandbox; absent: it should not.
        outside: Option<String>,
        /// Whether it needs a terminal.
        terminal: bool,
        /// It is to continue in the background.
        background: Option<BackgroundStart>,
    },
    /// Read the output of a background command.
    ReadOutput {
        id: BackgroundId,
        /// The first byte to show; absent: the end of it.
        since: Option<u64>,
    },
    /// End a background command.
    StopCommand { id: BackgroundId },
    /// Keep the list of steps.
    Steps(Vec<Todo>),
    /// Say what would be done, step by step.
    Plan(Plan),
    /// Ask the user.
    Ask {
        question: String,
        /// Answers to choose from.
        options: Vec<String>,
    },
    /// Load a skill, or read another file of it.
    UseSkill { name: String, file: Option<String> },
    /// Find tools of MCP servers.
    FindTool { query: String },
    /// Call a tool of an MCP server.
    CallServer(Box<ServerAction>),
    /// Hand parts of the work to workers.
    Delegate(SubTaskPlan),
    /// Write down something for the other workers.
    WriteShared { key: String, value: Value },
    /// Read what the other workers have written down.
    ReadShared,
    /// Make pictures. No model asks for it: the program makes the call itself.
    Draw {
        /// What they show.
        prompt: String,
        count: u32,
    },
}

impl ToolAction {
    /// Whether it must be alone: it changes something, or waits for the user.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Change(_) | Self::Run { .. } | Self::Ask { .. } | Self::Delegate(_) | Self::StopCommand { .. } => {
                true
            }
            Self::CallServer(call) => !call.tool.read_only,
            Self::FindTool { .. }
            | Self::UseSkill { .. }
            | Self::Read(_)
            | Self::Fetch { .. }
            | Self::SearchWeb { .. }
            | Self::Stored { .. }
            | Self::ReadOutput { .. }
            | Self::Steps(_)
            | Self::Plan(_)
            | Self::WriteShared { .. }
            | Self::ReadShared
            | Self::Draw { .. } => false,
        }
    }

    /// Whether it reads the folder, or works in it.
    pub(crate) fn touches_the_folder(&self) -> bool {
        match self {
            // Servers start only for a folder that is trusted.
            Self::FindTool { .. } | Self::CallServer(_) => true,
            // The list has skills of the folder only while it is trusted.
            Self::UseSkill { .. } => false,
            Self::Read(_) | Self::Change(_) | Self::Run { .. } | Self::Delegate(_) => true,
            Self::Fetch { .. }
            | Self::SearchWeb { .. }
            | Self::Stored { .. }
            | Self::ReadOutput { .. }
            | Self::StopCommand { .. }
            | Self::Steps(_)
            | Self::Plan(_)
            | Self::Ask { .. }
            | Self::WriteShared { .. }
            | Self::ReadShared
            | Self::Draw { .. } => false,
        }
    }

    /// Of those that run side by side, the quick ones begin first.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Steps(_) | Self::Plan(_) | Self::Stored { .. } => 0,
            Self::Read(ReadOp::Read { .. }) => 1,
            Self::Read(ReadOp::Search { .. }) => 3,
            Self::Read(_) => 2,
            _ => 4,
        }
    }
}

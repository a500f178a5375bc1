//! The messages between host, supervisor, and fence: one line of JSON each.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trimtab_vocab::{CommandClass, Overtime, Sandbox};

use super::protect::MountMark;
use super::scan::{FolderScan, ScanTarget};

/// The order to run a command, from the host to the supervisor and on to the fence. Its groups are flat on the wire,
/// because an older host may talk to a newer supervisor when the program is replaced while it runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct RunOrder {
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) timeout_ms: u64,
    /// When its time is up, the host is notified, and the command continues until the host decides.
    #[serde(default)]
    pub(super) attended: bool,
    pub(super) sandbox: Sandbox,
    /// It has no approval, so it starts only if every layer that its class needs is available.
    #[serde(default)]
    pub(super) automatic: Option<CommandClass>,
    /// It is git alone, and may write the repository apart from what decides what git runs.
    #[serde(default)]
    pub(super) writes_repository: bool,
    #[serde(flatten)]
    pub(super) home: EmptiedHomes,
    /// The host's scan of the folder comes next, as [`HostMessage::Scanned`].
    #[serde(default)]
    pub(super) scan_follows: bool,
    /// The supervisor has entered a user and a process namespace, in which the fence is the first process.
    #[serde(default)]
    pub(super) is_init: bool,
    #[serde(flatten)]
    pub(super) git: GitGuard,
    /// It has a terminal: what the fence finds as standard error is one.
    #[serde(default)]
    pub(super) terminal: bool,
    /// What must not be read.
    pub(super) hidden: Vec<PathBuf>,
    /// Paths in the folder that must not be written.
    #[serde(default)]
    pub(super) read_only: Vec<PathBuf>,
    #[serde(flatten)]
    pub(super) limits: ResourceLimits,
    #[serde(flatten)]
    pub(super) fence: FenceSetup,
    /// The network that it shares with other commands of its session.
    #[serde(default)]
    pub(super) network: Option<OrderedNetwork>,
    /// What lies above the package caches of the home folder.
    #[serde(default)]
    pub(super) caches: Option<OrderedCaches>,
}

/// The layers of a project above package caches.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OrderedCaches {
    pub(super) layers: PathBuf,
    /// What the command writes stays in them.
    pub(super) writes: bool,
}

/// The network of a session, as a fence finds it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OrderedNetwork {
    /// The process that holds it,
    pub(super) holder: u32,
    /// the number of the file there,
    pub(super) number: i32,
    /// and which file that is.
    pub(super) inode: u64,
    /// Variables that lead programs to the proxy.
    pub(super) variables: Vec<(String, String)>,
}

/// What an automatic command sees of home folders.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct EmptiedHomes {
    /// Homes that an automatic command finds empty, apart from `kept`.
    #[serde(default)]
    pub(super) homes: Vec<PathBuf>,
    /// Folders of tools, by variables such as `PATH`, that stay visible in an emptied home.
    #[serde(default)]
    pub(super) kept: Vec<PathBuf>,
}

/// What git is kept from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct GitGuard {
    /// Git runs nothing that a repository names.
    #[serde(default, rename = "plain_git")]
    pub(super) plain: bool,
    /// Where it is started; in `cwd` if no folder is named.
    #[serde(default, rename = "git_folders")]
    pub(super) folders: Vec<PathBuf>,
}

/// The resource limits of a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ResourceLimits {
    pub(super) memory: Option<u64>,
    pub(super) cpu_s: Option<u64>,
    pub(super) file_size: Option<u64>,
    pub(super) processes: Option<u64>,
}

/// How the fence is set up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FenceSetup {
    /// The private temporary folder; the supervisor makes it.
    pub(super) temp: Option<PathBuf>,
    /// Whom the fence belongs to: if that one is gone, it must not start anything.
    pub(super) supervisor: u32,
    /// Why namespaces are not to be tried: they turned out to work only by half.
    pub(super) no_namespaces: Option<String>,
    /// Nothing is to be prepared before the order arrives.
    #[serde(default)]
    pub(super) unprepared: bool,
    /// Only set the fences up, and say which hold.
    pub(super) probe: bool,
}

impl RunOrder {
    /// Whether the command may write in the folder.
    pub(super) fn writes_folder(&self) -> bool {
        self.sandbox == Sandbox::Workspace && self.automatic != Some(CommandClass::Read)
    }

    /// Whether its supervisor may enter namespaces and start the fence before it has the order.
    pub(super) fn begins_early(&self) -> bool {
        self.sandbox != Sandbox::Off && self.fence.no_namespaces.is_none() && !self.fence.unprepared && !self.terminal
    }

    /// What has to be found in the folder before the command starts.
    pub(super) fn wanted(&self) -> Option<ScanTarget> {
        match (self.writes_folder() || self.sandbox == Sandbox::Off, self.automatic) {
            _ if self.fence.probe => None,
            (true, Some(_)) => Some(ScanTarget::All),
            (true, None) => Some(ScanTarget::Control),
            (false, Some(_)) => Some(ScanTarget::Secrets),
            (false, None) => None,
        }
    }

    /// Whether the folder is scanned afterward for control files that the command has created.
    pub(super) fn is_scanned_afterwards(&self) -> bool {
        self.automatic.is_some() && self.writes_folder() && !self.fence.probe
    }
}

/// The supervisor's preparation of a folder. The fence gets it after the order, and has done the rest by then.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FolderMarks {
    /// How the paths of the folder are treated, outer before inner.
    pub(super) marks: Vec<MountMark>,
    /// Why not everything that has to be marked could be.
    pub(super) unmarked: Option<String>,
}

/// The scan of a folder, with its real path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ScannedFolder {
    pub(super) folder: PathBuf,
    pub(super) scan: FolderScan,
}

/// The messages of the host after the order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostMessage {
    /// The decision about a command whose time is up.
    Overtime(Overtime),
    /// What is in the folder, before the command and as the answer to [`SupervisorReport::Rescan`].
    Scanned(Option<ScannedFolder>),
}

/// The messages of the fence.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FenceReport {
    /// The fences are up; the command comes next, unless there is another line.
    Fenced(Fences),
    /// The command runs as a child of the fence.
    Running,
    /// The child has ended; the remaining processes end with the fence.
    Over { exit_code: Option<i32>, signal: Option<i32>, left: u32 },
    /// There are namespaces, but they are of no use here. Try without.
    Halfway(String),
    /// A fence that an automatic command needs is missing.
    Blocked(String),
    /// The command was not started.
    Failed(String),
}

/// The messages of the supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorReport {
    /// The private temporary folder that is made next. The host removes it if the supervisor cannot.
    Temporary(PathBuf),
    /// What was prepared does not fit the order. Another supervisor is to begin with the order.
    Unfit,
    /// The order is understood. From here on, silence does not mean that nothing was started.
    Taken,
    /// The command runs as this process.
    Started { pid: i32, fences: Fences },
    /// Its time is up, and it still runs.
    Overdue,
    /// The command is over. The host, who knows the folder, is to look what is there now.
    Rescan,
    /// It was not started.
    NotStarted { why: String },
    /// It was to run automatically, and a fence that it needs is missing.
    Blocked { why: String },
    /// The supervisor was told to end, or lost the host, before it had all that the command needs.
    Dismissed,
    /// The namespaces of this supervisor are of no use. Another one is to do without.
    NoNamespaces { why: String },
    /// It is over, and nothing of it is left.
    Ended(CommandEnding),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct CommandEnding {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) stopped: bool,
    pub(super) left: u32,
    pub(super) stuck: u32,
    pub(super) touched: Vec<String>,
    #[serde(default)]
    pub(super) undone: Vec<String>,
}

/// The active layers. A sandbox restricts only as far as these do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fences {
    /// Files outside of the folder cannot be written.
    pub writes: Fence,
    /// Control files inside of the folder cannot be written.
    pub protected: Fence,
    /// Secrets cannot be read.
    pub secrets: Fence,
    /// There is no network.
    pub network: Fence,
    /// Other programs cannot be reached by signals, traces or sockets.
    pub programs: Fence,
    /// Other processes cannot be seen, and what the command starts ends with it.
    pub processes: Fence,
    /// The version of Landlock, if the kernel has it.
    pub landlock: Option<u32>,
    /// Whether the command has its own namespaces.
    pub namespaces: bool,
    /// Whether its system calls are filtered.
    pub filter: bool,
    /// Whether it is in the network of its session.
    #[serde(default)]
    pub session_network: bool,
}

/// Whether a fence is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fence {
    Holds,
    /// It does not, or not everywhere.
    Missing {
        /// Why, in words.
        why: String,
    },
}

impl Fence {
    pub(super) fn missing(why: impl Into<String>) -> Self {
        Fence::Missing { why: why.into() }
    }

    /// Whether it is up.
    pub fn holds(&self) -> bool {
        matches!(self, Fence::Holds)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fence::Holds => f.write_str("holds"),
            Fence::Missing { why } => write!(f, "does not hold: {why}"),
        }
    }
}

impl Fences {
    /// Nothing holds, for one reason.
    pub(super) fn none(why: &str) -> Self {
        let missing = || Fence::missing(why);
        Self {
            writes: missing(),
            protected: missing(),
            secrets: missing(),
            network: missing(),
            programs: missing(),
            processes: missing(),
            landlock: None,
            namespaces: false,
            filter: false,
            session_network: false,
        }
    }

    /// Why an automatic command cannot run behind these, if it cannot.
    pub(super) fn first_missing(&self) -> Option<String> {
        self.each().into_iter().find_map(|(what, fence)| match fence {
            Fence::Holds => None,
            Fence::Missing { why } => Some(format!("The sandbox cannot keep this command from {what} here: {why}.")),
        })
    }

    /// Each fence with what it keeps a command from.
    pub fn each(&self) -> [(&'static str, &Fence); 6] {
        [
            ("writing outside of the folder", &self.writes),
            ("writing control files", &self.protected),
            ("reading secrets", &self.secrets),
            ("using the network", &self.network),
            ("reaching other programs", &self.programs),
            ("seeing other processes, or outliving its end", &self.processes),
        ]
    }
}

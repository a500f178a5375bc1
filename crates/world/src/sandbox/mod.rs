//! Commands; `run.rs` is the only code that starts them.
//!
//! Three processes stand in a row, all of them this program:
//!
//! ```text
//! host ──control──▶ supervisor ──order──▶ fence ──exec──▶ the command
//!      ◀──report───            ◀──report──                     │
//!      ◀───────────────────── output, one pipe ────────────────┘
//! ```
//!
//! * The **supervisor** (`supervise.rs`) outlives the command and sees to it that nothing else does. It
//!   is the reaper of every orphan beneath it, so daemons do not get away. It holds the reading end
//!   of a pipe from the host: when the host asks, or dies in whatever way, the pipe closes and the
//!   whole tree is killed.
//! * The **fence** (`fence.rs`) puts the fences around itself and becomes the command, or, where it is the first
//!   process of a namespace, its parent. So the supervisor stands outside of them, and the command cannot touch it.
//!
//! The commands of a session share a network, which another process holds (`networks.rs`).
//!
//! Both may be started before there is a command for them (`ready.rs`). MCP servers have a supervisor of their own
//! kind (`server.rs`) and no fence: the user approves their command lines.
//!
//! Both exist because code that runs between `fork` and `exec` would need `unsafe`, which this
//! workspace forbids. The program's `main` hands over to [`supervise::main`] when its first argument
//! is [`SUPERVISE`], before it does anything else.

mod caches;
mod collect;
mod environment;
mod fence;
mod group;
mod inherited_fds;
mod listings;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no network namespaces"))]
mod networks;
mod ports;
mod proof;
mod protect;
mod ready;
mod repository;
pub mod run;
mod scan;
pub mod server;
pub mod supervise;
mod temp_folder;
mod terminal;
mod tree;
mod wire;

use trimtab_vocab::Sandbox;

pub use caches::PackageCaches;
pub use collect::Collected;
pub use group::group;
pub use listings::ListingCache;
pub use networks::{NetworkHolder, SessionNetwork};
pub use ports::{listening_ports, own_listening_ports};
pub use proof::{Proof, prove};
pub use ready::ReadySupervisor;
pub use run::{CommandLimits, CommandNetwork, CommandOutcome, CommandReport, SandboxSetup, probe, run};
pub use wire::{Fence, Fences};

/// The first argument that makes the program a supervisor instead of itself.
pub const SUPERVISE: &str = "__supervise";

/// The restrictions of a sandbox, in words.
pub fn how(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::Workspace => {
            "It can write in the folder, except for control files such as git hooks and settings, and in a private temporary folder. It can reach only hosts that you allow. It cannot reach secrets or the sockets of other programs."
        }
        Sandbox::ReadOnly => {
            "It can write only in a private temporary folder. It can reach only hosts that you allow. It cannot reach secrets or the sockets of other programs."
        }
        Sandbox::Off => "It can do everything that you can do.",
    }
}

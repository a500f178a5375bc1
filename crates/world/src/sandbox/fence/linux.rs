//! Sets up the layers of the sandbox on Linux, in order.

use std::fs::File;
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use trimtab_vocab::Sandbox;

use super::super::wire::{Fence, FenceReport, Fences, RunOrder};
use super::namespaces::{self, Apart, NamespaceError, Space};
use super::{NO_SUPERVISOR, NextMarks, calls, devices, paths};

/// Leaves what everybody shares.
pub(super) fn step_apart(shares_devices: bool) -> Result<Apart, NamespaceError> {
    namespaces::leave(shares_devices)
}

/// Watches the list of mounts of this process.
pub(in super::super) struct MountWatch(AsyncFd<File>);

impl MountWatch {
    /// Begins to watch. None if that is not possible.
    pub(in super::super) fn open() -> Option<Self> {
        let list = File::open("/proc/self/mounts").ok()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for the sake of types whose descriptor can change, which a file's cannot"
        )]
        AsyncFd::with_interest(list, Interest::PRIORITY).ok().map(Self)
    }

    /// Whether a mount has come or gone since.
    pub(in super::super) fn has_changed(&self) -> bool {
        let mut watched = [PollFd::new(self.0.get_ref(), PollFlags::PRI)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut watched, Some(&now)) != Ok(0)
    }

    /// Comes when one does.
    pub(in super::super) async fn change(&self) {
        let _ = self.0.ready(Interest::PRIORITY).await;
    }
}

/// Whether a command that works in this folder needs the devices that all share.
pub(in super::super) fn is_shared_device(folder: &Path) -> bool {
    folder.starts_with(devices::FOLDER)
}

/// Puts up all fences that the order asks for.
pub(super) fn shut_in(
    order: &RunOrder,
    apart: Option<Result<Apart, NamespaceError>>,
    marks: NextMarks<'_>,
) -> FenceReport {
    // A new session: no terminal, and one process group that can be signaled.
    let _ = rustix::process::setsid();
    limit(Resource::Core, Some(0));
    // Without mounts, nothing can be marked. But the supervisor has to be done with the folder.
    if (order.sandbox == Sandbox::Off || order.fence.no_namespaces.is_some()) && marks().is_none() {
        return FenceReport::Failed(NO_SUPERVISOR.into());
    }
    if order.sandbox == Sandbox::Off {
        return match die_with_supervisor(order) {
            Ok(()) => FenceReport::Fenced(Fences::none("the sandbox is off")),
            Err(why) => FenceReport::Failed(why),
        };
    }
    limit(Resource::Fsize, order.limits.file_size);
    limit(Resource::As, order.limits.memory);
    limit(Resource::Cpu, order.limits.cpu_s);
    let mut session_network = false;
    let (space, most) = match (&order.fence.no_namespaces, apart) {
        (Some(why), _) => (Err(why.clone()), None),
        (None, None) => return FenceReport::Failed("The sandbox was started without its namespaces.".into()),
        (None, Some(apart)) => {
            let arranged = apart.and_then(|mut apart| {
                let space = namespaces::arrange(order, &apart, marks)?;
                apart.settle()?;
                session_network = order.network.as_ref().is_some_and(|network| apart.join(network));
                Ok((space, apart.filter))
            });
            match arranged {
                Ok((space, most)) => (Ok(space), Some(most)),
                Err(NamespaceError::Unavailable(why) | NamespaceError::Halfway(why)) => {
                    return FenceReport::Halfway(why);
                }
            }
        }
    };
    if space.is_ok() {
        limit(Resource::Nproc, order.limits.processes);
    }
    // Only now: entering a namespace may undo it.
    if let Err(why) = die_with_supervisor(order) {
        return FenceReport::Failed(why);
    }
    match raise(order, &space, most) {
        Ok(fences) => FenceReport::Fenced(Fences { session_network, ..fences }),
        Err(why) => FenceReport::Failed(why),
    }
}

/// `most`: the part of the filter that is there already, if there are namespaces.
fn raise(order: &RunOrder, space: &Result<Space, String>, most: Option<Result<(), String>>) -> Result<Fences, String> {
    drop_capabilities();
    let landlock = paths::restrict(order, space.as_ref().ok());
    let filter = match most {
        Some(most) => most.and_then(|()| calls::filter_rest()),
        None => calls::filter(order.fence.supervisor),
    };
    let without = |space: &Result<Space, String>| space.as_ref().err().cloned().unwrap_or_default();
    let version = landlock.as_ref().ok().map(|landlock| landlock.version);
    let writes = match (&landlock, space) {
        // What an automatic command must not write lies in part on mounts alone.
        (_, Ok(space)) if order.automatic.is_some() && !space.all_read_only => {
            Fence::missing("some file systems cannot be made read-only")
        }
        (Ok(_), _) => Fence::Holds,
        (Err(why), Ok(space)) if !space.all_read_only => Fence::missing(why.clone()),
        (Err(_), Ok(_)) => Fence::Holds,
        (Err(why), Err(_)) => Fence::missing(why.clone()),
    };
    let protected = match space {
        _ if order.sandbox == Sandbox::ReadOnly && writes.holds() && !order.fence.probe => Fence::Holds,
        Ok(space) => space.protected.clone(),
        Err(why) => Fence::missing(why.clone()),
    };
    let in_folder =
        order.sandbox == Sandbox::Workspace && order.hidden.iter().any(|path| path.starts_with(&order.folder));
    let secrets = match (&landlock, space) {
        (_, Ok(space)) if space.hidden.holds() => Fence::Holds,
        (_, Ok(space)) if order.automatic.is_some() => space.hidden.clone(),
        (_, Err(why)) if order.automatic.is_some() => Fence::missing(why.clone()),
        (Ok(_), _) if !in_folder => Fence::Holds,
        (Ok(_), _) => Fence::missing("some are in the folder itself"),
        (Err(why), _) => Fence::missing(why.clone()),
    };
    let network = match (&filter, space) {
        (Ok(()), _) | (_, Ok(_)) => Fence::Holds,
        (Err(why), Err(_)) => Fence::missing(why.clone()),
    };
    let processes = match space {
        Ok(space) => space.processes.clone(),
        Err(why) => Fence::missing(why.clone()),
    };
    let programs = match (&filter, &landlock) {
        // Signals go by numbers, and other programs have none in a process namespace.
        (Ok(()), _) if space.is_ok() => Fence::Holds,
        (Ok(()), Ok(landlock)) if landlock.version >= 6 => Fence::Holds,
        (Ok(()), _) => Fence::missing("signals can reach other programs (prevented from Linux 6.12 on)"),
        (Err(why), _) => Fence::missing(why.clone()),
    };
    for (fence, what) in [(&writes, "keeps it from writing elsewhere"), (&network, "keeps it off the network")] {
        if let Fence::Missing { why } = fence {
            let more = without(space);
            return Err(format!("The command was not started, because nothing on this system {what}: {why}; {more}."));
        }
    }
    let (namespaces, filter) = (space.is_ok(), filter.is_ok());
    Ok(Fences {
        writes,
        protected,
        secrets,
        network,
        programs,
        processes,
        landlock: version,
        namespaces,
        filter,
        session_network: false,
    })
}

/// The kernel kills the command when its supervisor dies.
fn die_with_supervisor(order: &RunOrder) -> Result<(), String> {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let is_there = match order.is_init {
        // The supervisor has no number in this namespace. It holds the other end of standard output until its end.
        true => has_reader(),
        false => {
            let parent = rustix::process::getppid().map(Pid::as_raw_nonzero);
            parent.and_then(|pid| u32::try_from(pid.get()).ok()) == Some(order.fence.supervisor)
        }
    };
    match is_there {
        true => Ok(()),
        false => Err(NO_SUPERVISOR.into()),
    }
}

fn has_reader() -> bool {
    let stdout = std::io::stdout();
    let mut waiting = [PollFd::new(&stdout, PollFlags::OUT)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut waiting, Some(&now)).is_ok() && !waiting[0].revents().contains(PollFlags::ERR)
}

/// Lowers a limit permanently. A lower one stays.
fn limit(resource: Resource, wanted: Option<u64>) {
    let Some(wanted) = wanted else { return };
    let Rlimit { current, maximum } = rustix::process::getrlimit(resource);
    let lower = |old: Option<u64>| Some(old.map_or(wanted, |old| old.min(wanted)));
    let _ = rustix::process::setrlimit(resource, Rlimit { current: lower(current), maximum: lower(maximum) });
}

/// Root without these is an ordinary person who owns root's files. In a namespace, they would be enough
/// to take the mounts away again.
fn drop_capabilities() {
    let _ = rustix::thread::clear_ambient_capability_set();
    // The first number that the kernel does not know ends the list.
    let remove =
        |bit: u32| rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1_u64 << bit));
    let _ = (0..64).try_for_each(remove);
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    let _ = rustix::thread::set_capabilities(None, sets);
    let _ = rustix::thread::set_no_new_privs(true);
}

/// What is executed.
pub(super) fn argv(order: &RunOrder) -> Vec<String> {
    order.argv.clone()
}

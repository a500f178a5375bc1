//! Sets up the layers of the sandbox on Linux, in order.

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use trimtab_vocab::Sandbox;

use super::super::wire::{Fence, FenceReport, Fences, RunOrder};
use super::namespaces::{self, Apart, NamespaceError, Space};
use super::{NO_SUPERVISOR, NextMarks, calls, paths};

/// Leaves what everybody shares, apart from the files.
pub(super) fn step_apart() -> Apart {
    namespaces::leave()
}

/// Puts up all fences that the order asks for.
pub(super) fn shut_in(order: &RunOrder, apart: Option<Apart>, marks: NextMarks<'_>) -> FenceReport {
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
    let space = match &order.fence.no_namespaces {
        Some(why) => Err(why.clone()),
        None => match apart.unwrap_or_else(step_apart).and_then(|network| namespaces::enter(order, network, marks)) {
            Ok(space) => Ok(space),
            Err(NamespaceError::Unavailable(why) | NamespaceError::Halfway(why)) => return FenceReport::Halfway(why),
        },
    };
    if space.is_ok() {
        limit(Resource::Nproc, order.limits.processes);
    }
    // Only now: entering a namespace may undo it.
    if let Err(why) = die_with_supervisor(order) {
        return FenceReport::Failed(why);
    }
    match raise(order, &space) {
        Ok(fences) => FenceReport::Fenced(fences),
        Err(why) => FenceReport::Failed(why),
    }
}

fn raise(order: &RunOrder, space: &Result<Space, String>) -> Result<Fences, String> {
    drop_capabilities();
    let landlock = paths::restrict(order, space.as_ref().ok());
    let filter = calls::filter(order, space.as_ref().is_ok_and(|space| space.loopback), space.is_ok());
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
    Ok(Fences { writes, protected, secrets, network, programs, processes, landlock: version, namespaces, filter })
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

//! Namespaces: the command's own view of files, processes, network, and shared memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::{CapabilitySet, CapabilitySets, LinkNameSpaceType, UnshareFlags};

use super::super::protect::MountMark;
use super::super::wire::{Fence, FolderMarks, OrderedNetwork, RunOrder};
use super::{NO_SUPERVISOR, NextMarks, calls, devices, home, real};

/// What is so in the new view.
pub(super) struct Space {
    /// Everything is read-only but what the order lets the command write.
    pub(super) all_read_only: bool,
    /// All secrets are hidden.
    pub(super) hidden: Fence,
    /// What of the devices is its own.
    pub(super) devices: devices::OwnDevices,
    /// Control files cannot be written.
    pub(super) protected: Fence,
    /// Other processes cannot be seen.
    pub(super) processes: Fence,
    /// Package caches with a layer that the command can write.
    pub(super) caches: Vec<PathBuf>,
}

pub(in super::super) enum NamespaceError {
    /// Nothing has changed.
    Unavailable(String),
    /// The process is in namespaces where it cannot do what it came for.
    Halfway(String),
}

const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// What a fence needs to arrange its view. It gives all of them up before it starts the command.
const NEEDED: [CapabilitySet; 3] = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// Enters a user namespace, and a process namespace for the next child: that child is its first process, and when it
/// ends, the kernel ends all others. The supervisor does this, because a process cannot move itself into one.
///
/// `holder`: the process whose user namespace is joined instead of making one, because the network of the session belongs
/// to it. Where that fails, the command has a network of its own.
pub(in super::super) fn found(holder: Option<u32>) -> Result<(), NamespaceError> {
    if holder.is_some_and(|holder| join_user(holder).is_ok()) {
        unshare(UnshareFlags::NEWPID).map_err(|errno| halfway("no process namespace can be made", errno))?;
        return hand_down().map_err(|errno| halfway("no rights can be handed down", errno));
    }
    new_user(UnshareFlags::NEWPID)?;
    hand_down().map_err(|errno| halfway("no rights can be handed down", errno))
}

fn join_user(holder: u32) -> Result<(), Errno> {
    let path = format!("/proc/{holder}/ns/user");
    let space = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::thread::move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::User))
}

/// Makes this process the owner of networks: it enters a user namespace and keeps the rights to make them, which a fence
/// has as well, so that fences may look at its files.
pub(in super::super) fn hold_networks() -> Result<(), String> {
    let why = |error| match error {
        NamespaceError::Unavailable(why) | NamespaceError::Halfway(why) => why,
    };
    new_user(UnshareFlags::empty()).map_err(why)?;
    let kept = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).map_err(said)?;
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).map_err(said)
}

/// A network with a listening socket on its loopback device.
pub(in super::super) fn session_network() -> Result<(OwnedFd, TcpListener), String> {
    let make = || {
        let Network { link, loopback } = new_network().map_err(said)?;
        if !loopback {
            return Err("its loopback device cannot be switched on".to_owned());
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        Ok((link, listener))
    };
    let made = std::thread::Builder::new().spawn(make).map_err(|error| error.to_string())?;
    let made = made.join().unwrap_or_else(|_| Err("it was not finished".to_owned()));
    made.map_err(|why| format!("A network cannot be made: {why}."))
}

/// A socket in a network that exists. It is not connected yet.
pub(in super::super) fn socket_in(network: &OwnedFd, family: AddressFamily) -> Result<OwnedFd, String> {
    let network = network.try_clone().map_err(|error| error.to_string())?;
    let make = move || {
        rustix::thread::move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).map_err(said)?;
        rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
            .map_err(said)
    };
    // Another thread, because a thread that has entered a network stays there.
    let made = std::thread::Builder::new().spawn(make).map_err(|error| error.to_string())?;
    let made = made.join().unwrap_or_else(|_| Err("it was not finished".to_owned()));
    made.map_err(|why| format!("A socket cannot be made in the network of the commands: {why}."))
}

fn new_user(more: UnshareFlags) -> Result<(), NamespaceError> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | more)
        .map_err(|errno| NamespaceError::Unavailable(format!("namespaces cannot be entered: {}", said(errno))))?;
    // Map only the same user.
    let _ = write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", &format!("{user} {user} 1")).map_err(|errno| halfway("no user can be named", errno))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1")).map_err(|errno| halfway("no group can be named", errno))
}

/// Lets the fence, another process, have the rights that this one has in the new namespace.
fn hand_down() -> Result<(), Errno> {
    let needed = NEEDED.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    let sets = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: needed, ..sets })?;
    NEEDED.into_iter().try_for_each(|one| rustix::thread::configure_capability_in_ambient_set(one, true))
}

fn halfway(what: &str, errno: Errno) -> NamespaceError {
    NamespaceError::Halfway(format!("{what}: {}", said(errno)))
}

/// The part of a fence that does not depend on the order.
pub(super) struct Apart {
    devices: devices::OwnDevices,
    processes: Fence,
    network: Option<JoinHandle<Result<Network, Errno>>>,
    /// The list of processes that all share, where the holder of networks is found. No command gets it.
    shared_processes: Option<OwnedFd>,
    /// Most of the filter of system calls. Without a network of its own, a fence has none yet.
    pub(super) filter: Result<(), String>,
}

/// A network that ends at the command.
struct Network {
    link: OwnedFd,
    loopback: bool,
}

/// Leaves what everybody shares, which is possible before the order arrives: network, shared memory, devices, processes.
/// The view of the file system that is taken here holds its mounts, and nothing of what is in them; the supervisor does
/// not use a fence if a mount has come or gone since. Another thread makes the network, because it takes the kernel as
/// long as all the rest. `shares_devices`: the command works in them.
pub(super) fn leave(shares_devices: bool) -> Result<Apart, NamespaceError> {
    let network = std::thread::Builder::new().spawn(new_network);
    let network = network.map_err(|error| NamespaceError::Halfway(format!("no thread can be started: {error}")))?;
    unshare(UnshareFlags::NEWIPC | UnshareFlags::NEWNS)
        .map_err(|errno| halfway("namespaces cannot be entered", errno))?;
    let at = |what: &str| {
        let what = format!("{what} cannot be mounted");
        move |errno| halfway(&what, errno)
    };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(at("/"))?;
    let devices = match shares_devices {
        true => devices::OwnDevices::default(),
        false => devices::cover().map_err(at(devices::FOLDER))?,
    };
    let list = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let shared_processes = rustix::fs::open("/proc", list, Mode::empty()).ok();
    let processes = match mount("proc", "/proc", "proc", HARMLESS | MountFlags::NOEXEC, c"") {
        Ok(()) => Fence::Holds,
        Err(errno) => Fence::missing(format!("cannot mount a separate process list: {}", said(errno))),
    };
    let mut apart = Apart { devices, processes, network: Some(network), shared_processes, filter: Ok(()) };
    if !has_order() {
        apart.settle()?;
    }
    Ok(apart)
}

impl Apart {
    /// Enters the network, and filters what is no longer called from here on. It is done once.
    pub(super) fn settle(&mut self) -> Result<(), NamespaceError> {
        let Some(network) = self.network.take() else { return Ok(()) };
        let entered = network.join().unwrap_or(Err(Errno::IO)).and_then(|network| {
            rustix::thread::move_into_link_name_space(network.link.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(network.loopback)
        });
        let loopback = entered.map_err(|errno| halfway("cannot enter a separate network namespace", errno))?;
        self.filter = calls::filter_most(loopback);
        Ok(())
    }
}

impl Apart {
    /// Enters the network of a session, after the fence's own one. Whether that was possible: if not, the command stays where
    /// it reaches nothing.
    pub(super) fn join(&self, network: &OrderedNetwork) -> bool {
        let enter = || {
            let path = format!("{}/fd/{}", network.holder, network.number);
            let list = self.shared_processes.as_ref().ok_or(Errno::NOENT)?;
            let link = rustix::fs::openat(list, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            if rustix::fs::fstat(&link)?.st_ino != network.inode {
                return Err(Errno::STALE);
            }
            rustix::thread::move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network))
        };
        enter().is_ok()
    }
}

/// Whether the order is there, so that the rest is better done while others are busy.
fn has_order() -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut waiting, Some(&now)) != Ok(0)
}

fn new_network() -> Result<Network, Errno> {
    unshare(UnshareFlags::NEWNET)?;
    let loopback = loopback_up().is_ok();
    let link = rustix::fs::open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Network { link, loopback })
}

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    #[expect(
        deprecated,
        reason = "the function became unsafe for the sake of UnshareFlags::FILES alone, which is not asked for here; \
                  its successor cannot be called without `unsafe`"
    )]
    rustix::thread::unshare(flags)
}

/// Secrets of the system that programs of an automatic command never need.
const SYSTEM_SECRETS: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/sudoers"];

/// Arranges the view of the files as the order wants it.
pub(super) fn arrange(order: &RunOrder, apart: &Apart, marks: NextMarks<'_>) -> Result<Space, NamespaceError> {
    let at = |what: &Path| {
        let what = format!("{} cannot be mounted", what.display());
        move |errno| halfway(&what, errno)
    };
    let devices = apart.devices;
    let mut open = WritableMounts::default();
    open.beneath.extend(devices.terminals.then(|| devices::TERMINALS.into()));
    open.beneath.extend(devices.shared_memory.then(|| devices::SHARED_MEMORY.into()));
    let emptied = match order.automatic {
        Some(_) => home::empty(order),
        None => Ok(Vec::new()),
    };
    if order.writes_folder() {
        mount_bind_recursive(&order.folder, &order.folder).map_err(at(&order.folder))?;
        open.beneath.push(order.folder.clone());
    }
    if let Some(temp) = &order.fence.temp {
        mount_bind(temp, temp).map_err(at(temp))?;
        open.beneath.push(temp.clone());
    }
    open.single.extend(emptied.iter().flatten().cloned());
    let caches = home::layer(order);
    open.single.extend(caches.iter().cloned());
    let nothing = nothing(order, devices);
    let visible: Vec<&PathBuf> = order.hidden.iter().filter(|path| !hide(path, order, &nothing)).collect();
    if order.automatic.is_some() {
        // Best effort: only root can read them anyway.
        for path in SYSTEM_SECRETS {
            hide(Path::new(path), order, &nothing);
        }
    }
    let Some(FolderMarks { marks, unmarked }) = marks() else {
        return Err(halfway(NO_SUPERVISOR, Errno::PIPE));
    };
    // Who cannot write is kept from reading secrets only.
    let (mut trouble, mut secret): (Vec<String>, Vec<String>) =
        unmarked.iter().cloned().partition(|_| order.automatic.is_none() || order.writes_folder());
    secret.extend(emptied.err());
    secret.extend(visible.first().map(|path| format!("{} cannot be hidden", path.display())));
    for mark in &marks {
        let done = match mark {
            MountMark::Pinned(path) | MountMark::ReadOnly(path) => mount_bind_recursive(path, path).map_err(said),
            MountMark::Absent(path) => cover(path, &nothing).map_err(said),
        };
        match (done, mark) {
            (Ok(()), MountMark::Pinned(_)) => {}
            (Ok(()), MountMark::ReadOnly(path) | MountMark::Absent(path)) => open.closed.push(path.clone()),
            (Err(why), MountMark::Absent(path)) => secret.push(format!("{} cannot be hidden: {why}", path.display())),
            (Err(why), mark) => trouble.push(format!("{} cannot be protected: {why}", mark.path().display())),
        }
    }
    let (all_read_only, done) = make_read_only(&open);
    let marked = marks.iter().filter(|mark| matches!(mark, MountMark::ReadOnly(_))).map(MountMark::path);
    trouble
        .extend(marked.filter(|path| !done.contains(*path)).map(|path| format!("{} stays writable", path.display())));
    let fence = |trouble: Vec<String>| trouble.into_iter().next().map_or(Fence::Holds, Fence::missing);
    let processes = apart.processes.clone();
    Ok(Space { all_read_only, hidden: fence(secret), devices, protected: fence(trouble), processes, caches })
}

/// Covers a secret with an empty file. Returns whether it is hidden.
fn hide(path: &Path, order: &RunOrder, nothing: &Path) -> bool {
    let Some(path) = real(path) else { return true };
    if order.folder.starts_with(&path) || order.fence.temp.as_ref().is_some_and(|temp| temp.starts_with(&path)) {
        return false;
    }
    cover(&path, nothing).is_ok()
}

/// The empty file that covers others. It is a plain one, because git fails at a device among the files that it tracks.
fn nothing(order: &RunOrder, devices: devices::OwnDevices) -> PathBuf {
    use std::os::unix::fs::OpenOptionsExt as _;
    let in_temp = || {
        let file = order.fence.temp.as_ref()?.join(".empty");
        OpenOptions::new().write(true).create_new(true).mode(0o444).open(&file).ok().map(|_| file)
    };
    devices.empty.map(PathBuf::from).or_else(in_temp).unwrap_or_else(|| "/dev/null".into())
}

fn cover(path: &Path, nothing: &Path) -> Result<(), Errno> {
    match path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        true => {
            let flags = HARMLESS | MountFlags::NOEXEC | MountFlags::RDONLY;
            mount("tmpfs", path, "tmpfs", flags, c"mode=0555,size=4k")
        }
        // A link is not followed: its target is covered where it is, or is not in the folder.
        false if path.is_symlink() => match path.canonicalize() {
            Ok(real) => mount_bind(nothing, real),
            Err(_) => Ok(()),
        },
        false => mount_bind(nothing, path),
    }
}

/// What stays writable.
#[derive(Default)]
struct WritableMounts {
    /// With all mounts beneath.
    beneath: Vec<PathBuf>,
    /// Without them.
    single: Vec<PathBuf>,
    /// Not these, although they are beneath one of the first.
    closed: Vec<PathBuf>,
}

impl WritableMounts {
    fn has(&self, path: &Path) -> bool {
        let any = |of: &[PathBuf]| of.iter().any(|above| path.starts_with(above));
        self.single.iter().any(|single| single == path) || any(&self.beneath) && !any(&self.closed)
    }
}

/// Makes every mount read-only that is not open; whether all are, and which. Landlock keeps files from being written as
/// well, but not their owners, modes and times. The list is of this moment, and nothing is ever made writable by its path:
/// a path of an earlier list can lead elsewhere by now, or to a mount that another one covers.
fn make_read_only(open: &WritableMounts) -> (bool, BTreeSet<PathBuf>) {
    // Of several on one path, the last covers the others.
    let all: BTreeMap<PathBuf, Mount> = mounts().into_iter().map(|found| (found.path.clone(), found)).collect();
    // There is always one; a list without any could not be read.
    let (mut is_all, mut done) = (!all.is_empty(), BTreeSet::new());
    for (path, found) in all {
        if open.has(&path) || found.kind == "autofs" {
            continue;
        }
        match mount_remount(&path, MountFlags::BIND | MountFlags::RDONLY | found.flags, c"") {
            Ok(()) => drop(done.insert(path)),
            // What another mount covers, or what may not be entered, cannot be reached by the command either.
            Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(_) => is_all = false,
        }
    }
    (is_all, done)
}

struct Mount {
    path: PathBuf,
    flags: MountFlags,
    kind: String,
}

fn mounts() -> Vec<Mount> {
    // A character for each byte, because names need not be UTF-8.
    let bytes = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let text: String = bytes.into_iter().map(char::from).collect();
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut fields = front.split(' ');
    let path = PathBuf::from(unescape(fields.nth(4)?));
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(',') {
        // What the mount has must be asked for again, or the kernel takes it for an attempt to shed it.
        flags |= match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            "nosymfollow" => MountFlags::NOSYMFOLLOW,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount { path, flags, kind: back.split(' ').next()?.to_owned() })
}

/// The kernel escapes spaces and other characters, such as `\040`. Each character is a byte.
fn unescape(text: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
    let mut plain = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let octal =
            bytes.get(i + 1..i + 4).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match (bytes[i], octal) {
            (b'\\', Some(byte)) => {
                plain.push(byte);
                i += 4;
            }
            (byte, _) => {
                plain.push(byte);
                i += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(plain)
}

/// A new network has a loopback device that is switched off. Tests of servers need it.
fn loopback_up() -> Result<(), Errno> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes()); // length
    message.extend(16_u16.to_ne_bytes()); // RTM_NEWLINK
    message.extend(5_u16.to_ne_bytes()); // a request, to be acknowledged
    message.extend([0; 8]); // sequence and sender
    message.extend([0; 4]); // family, padding, type
    message.extend(1_i32.to_ne_bytes()); // the first device, which is the loopback
    message.extend(1_u32.to_ne_bytes()); // IFF_UP
    message.extend(1_u32.to_ne_bytes()); // and nothing else is to change
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0_u8; 128];
    let (_, length) = rustix::net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    match answer.get(16..20).filter(|_| length >= 20) {
        Some([0, 0, 0, 0]) => Ok(()),
        _ => Err(Errno::PERM),
    }
}

fn write(path: &str, text: &str) -> Result<(), Errno> {
    let file = OpenOptions::new().write(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

pub(super) fn said(errno: Errno) -> String {
    match errno {
        // What the kernel says of a limit would send people looking for a full disk.
        Errno::NOSPC | Errno::USERS => "the system allows no more of them".into(),
        Errno::PERM | Errno::ACCESS => "the system does not allow it".into(),
        errno => std::io::Error::from(errno).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn mounts_are_read_with_their_flags_and_odd_names() {
        let line = r"36 35 98:0 /mnt1 /mnt\040two\134x rw,noatime,nosuid master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.path, Path::new(r"/mnt two\x"));
        assert_eq!((mount.flags, mount.kind.as_str()), (MountFlags::NOATIME | MountFlags::NOSUID, "ext3"));
        // Names need not be UTF-8. One that could not be read would be a mount that stays writable.
        let line: String = b"36 35 98:0 / /m\xff rw - ext3 /dev/root rw".iter().copied().map(char::from).collect();
        assert_eq!(parse_mount(&line).unwrap().path.as_os_str().as_bytes(), b"/m\xff");
    }
}

//! A view of the system of its own: files, network, shared memory.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use trimtab_vocab::Sandbox;

use super::super::protect::{Mark, marks};
use super::super::wire::{Fence, Order};
use super::devices;

/// What is so in the new view.
pub(super) struct Space {
    /// Everything is read-only but the folder and the temporary folder.
    pub(super) all_read_only: bool,
    /// All secrets are hidden.
    pub(super) hidden: bool,
    /// What of the devices is its own.
    pub(super) devices: devices::Own,
    /// There is a network that ends at this command.
    pub(super) loopback: bool,
    pub(super) protected: Fence,
}

pub(super) enum Trouble {
    /// Nothing has changed.
    Unavailable(String),
    /// The process is in namespaces where it cannot do what it came for.
    Halfway(String),
}

const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Enters new namespaces and arranges the view.
pub(super) fn enter(order: &Order) -> Result<Space, Trouble> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare().map_err(|errno| Trouble::Unavailable(format!("namespaces cannot be entered: {}", said(errno))))?;
    let halfway = |what: &str, errno: Errno| Trouble::Halfway(format!("{what}: {}", said(errno)));
    // The same person, and nobody else.
    let _ = write("/proc/self/setgroups", "deny");
    write("/proc/self/uid_map", &format!("{user} {user} 1")).map_err(|errno| halfway("no user can be named", errno))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))
        .map_err(|errno| halfway("no group can be named", errno))?;
    arrange(order).map_err(|(what, errno)| halfway(&what, errno))
}

fn unshare() -> Result<(), Errno> {
    let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC;
    #[expect(
        deprecated,
        reason = "the function became unsafe for the sake of UnshareFlags::FILES alone, which is not asked for here; \
                  its successor cannot be called without `unsafe`"
    )]
    rustix::thread::unshare(flags)
}

fn arrange(order: &Order) -> Result<Space, (String, Errno)> {
    let at = |what: &Path| {
        let what = format!("{} cannot be mounted", what.display());
        move |errno| (what.clone(), errno)
    };
    let root = Path::new("/");
    mount_change(root, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(at(root))?;
    let mut open: Vec<PathBuf> = Vec::new();
    if order.sandbox == Sandbox::Workspace {
        mount_bind_recursive(&order.folder, &order.folder).map_err(at(&order.folder))?;
        open.push(order.folder.clone());
    }
    if let Some(temp) = &order.temp {
        mount_bind(temp, temp).map_err(at(temp))?;
        open.push(temp.clone());
    }
    let devices = devices::cover(order).map_err(at(Path::new(devices::FOLDER)))?;
    if devices.terminals {
        open.push(devices::TERMINALS.into());
    }
    if devices.shared_memory {
        open.push(devices::SHARED_MEMORY.into());
    }
    let hidden = order.hidden.iter().all(|path| hide(path, order));
    let protected = protect(order);
    let all_read_only = make_read_only(&open);
    Ok(Space { all_read_only, hidden, devices, loopback: loopback_up().is_ok(), protected })
}

/// Covers a secret with nothing. Whether it is out of sight then.
fn hide(path: &Path, order: &Order) -> bool {
    let Ok(path) = path.canonicalize() else { return true };
    if order.folder.starts_with(&path) || order.temp.as_ref().is_some_and(|temp| temp.starts_with(&path)) {
        return false;
    }
    match path.is_dir() {
        true => {
            let flags = HARMLESS | MountFlags::NOEXEC | MountFlags::RDONLY;
            mount("tmpfs", &path, "tmpfs", flags, c"mode=0555,size=4k").is_ok()
        }
        false => mount_bind("/dev/null", &path).is_ok(),
    }
}

fn protect(order: &Order) -> Fence {
    if order.probe || order.sandbox != Sandbox::Workspace {
        // Nothing is to be protected, and mounting has just been shown to work.
        return Fence::Holds;
    }
    let mut marks = match marks(&order.folder) {
        Ok(marks) => marks,
        Err(why) => return Fence::missing(why),
    };
    marks.extend(order.read_only.iter().cloned().map(Mark::ReadOnly));
    let flags = flags_at(&order.folder);
    for mark in marks {
        let done = match &mark {
            Mark::Pinned(path) => mount_bind(path, path),
            Mark::ReadOnly(path) => mount_bind(path, path)
                .and_then(|()| mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | flags, c"")),
        };
        if let Err(errno) = done {
            return Fence::missing(said(errno));
        }
    }
    Fence::Holds
}

/// Makes every mount read-only that is not in `open`, or beneath one of those. Landlock keeps files
/// from being written as well, but not their owners, modes and times.
fn make_read_only(open: &[PathBuf]) -> bool {
    let mut all = true;
    let mut done = HashSet::new();
    for found in mounts() {
        if open.iter().any(|open| found.path.starts_with(open))
            || found.kind == "autofs"
            || !done.insert(found.path.clone())
        {
            continue;
        }
        match mount_remount(&found.path, MountFlags::BIND | MountFlags::RDONLY | found.flags, c"") {
            // What another mount covers, or what may not be entered, cannot be reached by the command either.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(_) => all = false,
        }
    }
    all
}

struct Mount {
    path: PathBuf,
    flags: MountFlags,
    kind: String,
}

fn mounts() -> Vec<Mount> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
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

/// The kernel writes spaces and the like as `\040`.
fn unescape(text: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = text.as_bytes();
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

/// The flags of the mount that `path` is on.
fn flags_at(path: &Path) -> MountFlags {
    let on = mounts().into_iter().filter(|mount| path.starts_with(&mount.path));
    on.max_by_key(|mount| mount.path.as_os_str().len()).map_or(MountFlags::empty(), |mount| mount.flags)
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

fn said(errno: Errno) -> String {
    match errno {
        // What the kernel says of a limit would send people looking for a full disk.
        Errno::NOSPC | Errno::USERS => "the system allows no more of them".into(),
        Errno::PERM | Errno::ACCESS => "the system does not allow it".into(),
        errno => std::io::Error::from(errno).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_flags_and_odd_names() {
        let line = r"36 35 98:0 /mnt1 /mnt\040two\134x rw,noatime,nosuid master:1 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.path, Path::new(r"/mnt two\x"));
        assert_eq!((mount.flags, mount.kind.as_str()), (MountFlags::NOATIME | MountFlags::NOSUID, "ext3"));
    }
}

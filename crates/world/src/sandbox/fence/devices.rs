//! The devices that a command sees: those without shared state, and its own terminals.
//!
//! The others lead to people: what is typed at a terminal or a keyboard, what is on a screen, what a camera sees.
//! They belong to the logged-in user, so file permissions let every program of that user read them.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};

pub(super) const FOLDER: &str = "/dev";

/// Devices without a state.
pub(super) const PLAIN: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Opening it gives the terminal of the process's own session, and no other.
pub(super) const TERMINAL: &str = "/dev/tty";

/// New terminals are opened here.
pub(super) const NEW_TERMINAL: &str = "/dev/ptmx";

/// The terminals that there are.
pub(super) const TERMINALS: &str = "/dev/pts";

/// Memory that is shared by its name.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// An empty file, which covers others. In memory it is made at once; on a disk that takes as long as a dozen mounts.
const EMPTY: &str = "/dev/.empty";

/// What of it is the command's own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnDevices {
    /// An empty file in the folder of devices, if that is in memory and private.
    pub(super) empty: Option<&'static str>,
    /// The terminals are, so it may open new ones.
    pub(super) terminals: bool,
    /// Shared memory is, so it may be written.
    pub(super) shared_memory: bool,
}

/// Covers all devices with a few. The process already has its own mount namespace.
pub(super) fn cover() -> Result<OwnDevices, Errno> {
    let folder = Path::new(FOLDER);
    let open = |path: &str| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    let names = PLAIN.iter().chain([&TERMINAL]);
    let mut kept: Vec<(&str, OwnedFd)> = names.filter_map(|path| Some((*path, open(path)?))).collect();
    // The command's own terminal, if it has one, is not one of the new ones, and programs that want its name look here
    // next.
    let name = rustix::termios::ttyname(std::io::stderr(), Vec::new()).ok();
    kept.extend(name.and_then(|name| name.to_str().ok().and_then(open)).map(|terminal| ("/dev/console", terminal)));
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", folder, "tmpfs", flags, c"mode=0755,size=64k")?;
    for (path, device) in kept {
        #[expect(clippy::disallowed_methods, reason = "a place to mount on, in the command's own file system")]
        let place = std::fs::write(path, "");
        make(place)?;
        mount_bind(format!("/proc/self/fd/{}", device.as_raw_fd()), path)?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        make(symlink(format!("/proc/self/fd{target}"), folder.join(name)))?;
    }
    make(std::fs::create_dir(TERMINALS))?;
    make(std::fs::create_dir(SHARED_MEMORY))?;
    let own = c"newinstance,ptmxmode=0666,mode=0620";
    let terminals = mount("devpts", TERMINALS, "devpts", flags, own).is_ok();
    if terminals {
        make(symlink("pts/ptmx", NEW_TERMINAL))?;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let shared_memory = mount("tmpfs", SHARED_MEMORY, "tmpfs", flags, c"mode=1777").is_ok();
    let empty = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o444).open(EMPTY).ok().map(|_| EMPTY);
    Ok(OwnDevices { empty, terminals, shared_memory })
}

fn make(made: std::io::Result<()>) -> Result<(), Errno> {
    made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

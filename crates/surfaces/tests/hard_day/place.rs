//! Where the day happens: namespaces of its own, with a small disk that can be full, and no process but ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountFlags, mount, mount_remount};

/// Set inside: where the small disk is to be.
const INSIDE: &str = "TRIMTAB_HARD_DAY_INSIDE";
/// Bytes that the disk has room for when it is not full.
const LARGE: u64 = 4 << 30;

/// Runs the test again, inside; says how that ended. Nothing when this is inside already.
///
/// In a process namespace of our own, whatever is left at the end is a process that we have forgotten, and a `kill`
/// meets nobody else. In a mount namespace of our own a disk can be full without anybody else's being so.
pub(crate) fn enter(test: &str) -> Option<bool> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hard_day");
    std::fs::create_dir_all(&place).expect("a folder");
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
        .arg(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, &place)
        .status()
        .expect("unshare is there: package util-linux");
    Some(status.success())
}

/// A disk that can be full.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Mounts it.
    pub(crate) fn mount() -> Self {
        let folder = PathBuf::from(std::env::var_os(INSIDE).expect("is inside"));
        mount("hard-day", &folder, "tmpfs", MountFlags::empty(), size(LARGE).as_c_str()).expect("a disk of our own");
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes it as small as what is on it: not even a letter has room then. Whether that was done; what others write at
    /// the same time may not let it.
    pub(crate) fn fill(&self) -> bool {
        (0..50).any(|_| {
            let Ok(room) = rustix::fs::statvfs(&self.folder) else { return false };
            let used = (room.f_blocks - room.f_bfree) * room.f_frsize;
            let full = mount_remount(&self.folder, MountFlags::empty(), size(used).as_c_str());
            full.inspect_err(|error| eprintln!("it cannot be made full ({used} bytes): {error}")).is_ok()
        })
    }

    /// Makes room again.
    pub(crate) fn free(&self) {
        mount_remount(&self.folder, MountFlags::empty(), size(LARGE).as_c_str()).expect("room again");
    }

    /// Keeps everything for whoever looks into a failure: the disk goes with the namespace.
    pub(crate) fn save(&self, seed: u64) -> PathBuf {
        self.free();
        let there = std::env::temp_dir().join(format!("hard-day-{seed}"));
        let _ = std::fs::remove_dir_all(&there);
        let copied = Command::new("cp").arg("-a").arg(&self.folder).arg(&there).status();
        assert!(copied.is_ok_and(|status| status.success()), "everything is copied to {}", there.display());
        there
    }
}

fn size(bytes: u64) -> std::ffi::CString {
    std::ffi::CString::new(format!("mode=0755,size={bytes}")).expect("plain words")
}

/// A process of this namespace.
pub(crate) struct Process {
    pub(crate) id: i32,
    /// Its command line, words separated by spaces.
    pub(crate) line: String,
}

/// Every process of this namespace but this one and what has ended already.
pub(crate) fn processes() -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
        if id as u32 == std::process::id() || matches!(state, None | Some('Z' | 'X')) {
            continue;
        }
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        found.push(Process { id, line: String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned() });
    }
    found
}

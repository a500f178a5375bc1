//! The processes beneath the supervisor, and how they end.
//!
//! Orphans are reparented to the supervisor instead of init, so everything that a command starts stays beneath it,
//! even in another session. When the kernel reports that there is no child left to wait for, all of them are gone.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group};

/// A process that does not die by then hangs in the kernel, and nothing can be done about it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ended processes that are reaped before anything else runs.
const AT_ONCE: usize = 1000;

/// The result of reaping ended processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaped {
    /// None is left.
    All,
    /// Some run.
    Waiting,
    /// More have ended than were noted.
    More,
}

pub(super) struct Tree {
    main: Pid,
    /// The main process is the first one of a namespace: with it, the kernel ends all others.
    is_init: bool,
    /// How the main process ended, once it has.
    pub(super) ended: Option<WaitStatus>,
    /// Processes that were killed after it had ended.
    pub(super) left: u32,
}

impl Tree {
    /// Takes charge of all orphans beneath this process.
    pub(super) fn watch_over_orphans() {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }

    pub(super) fn new(main: Pid, is_init: bool) -> Self {
        Self { main, is_init, ended: None, left: 0 }
    }

    /// Takes note of those that have ended.
    pub(super) fn reap(&mut self) -> Reaped {
        for _ in 0..AT_ONCE {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.ended = Some(status),
                Ok(Some((_, status))) => {
                    let killed = status.terminating_signal() == Some(Signal::KILL.as_raw());
                    self.left += u32::from(killed && self.ended.is_some());
                }
                Ok(None) => return Reaped::Waiting,
                Err(Errno::INTR) => {}
                Err(_) => return Reaped::All,
            }
        }
        Reaped::More
    }

    /// Resolves when the main process has ended.
    pub(super) async fn main_ends(&mut self, child: &mut tokio::signal::unix::Signal) {
        loop {
            match self.reap() {
                Reaped::All => return,
                _ if self.ended.is_some() => return,
                // A signal that comes before this is kept for it.
                Reaped::Waiting => drop(child.recv().await),
                // Processes that end faster than they are noted must not keep timers and the host waiting.
                Reaped::More => tokio::task::yield_now().await,
            }
        }
    }

    /// Asks the command and what it runs in the foreground to end.
    pub(super) fn ask_to_end(&self) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.main, Signal::TERM);
        }
    }

    /// Kills all of them; how many could not be.
    pub(super) fn kill(&mut self) -> u32 {
        let start = Instant::now();
        let mut pause = Duration::from_micros(100);
        // Where orphans go elsewhere, the group is all there is to find them by.
        if cfg!(not(target_os = "linux")) {
            let _ = kill_process_group(self.main, Signal::KILL);
        }
        while self.reap() != Reaped::All {
            let found = if self.is_init { Vec::new() } else { descendants(rustix::process::getpid()) };
            // The group's number is the command's own, and after that one's end it may be someone else's.
            if self.ended.is_none() {
                let _ = kill_process_group(self.main, Signal::KILL);
                let _ = kill_process(self.main, Signal::KILL);
            }
            for pid in &found {
                let _ = kill_process(*pid, Signal::KILL);
            }
            if start.elapsed() > PATIENCE {
                return u32::try_from(found.len()).unwrap_or(u32::MAX).max(1);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(4));
        }
        0
    }
}

/// Everything beneath `root`, as seen at one moment.
#[cfg(target_os = "linux")]
fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut ahead = vec![root];
    while let Some(pid) = ahead.pop() {
        let Some(children) = children_of(pid) else {
            // Either it has just ended, or this kernel does not list children. The long way finds out.
            return descendants_by_parent(root);
        };
        found.extend(&children);
        ahead.extend(children);
    }
    found
}

#[cfg(target_os = "linux")]
fn children_of(pid: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
    for task in tasks {
        let text = std::fs::read_to_string(task.ok()?.path().join("children")).ok()?;
        children.extend(text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Some(children)
}

/// By the parents that all processes of the machine name.
#[cfg(target_os = "linux")]
fn descendants_by_parent(root: Pid) -> Vec<Pid> {
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?)) else { continue };
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else { continue };
        let stat = String::from_utf8_lossy(&stat);
        // The name of the program comes before, in brackets, and may hold anything, brackets too.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        if let Some(parent) = rest.split_whitespace().nth(1).and_then(|pid| Pid::from_raw(pid.parse().ok()?)) {
            pairs.push((pid, parent));
        }
    }
    let mut found = Vec::new();
    let mut ahead = vec![root];
    while let Some(parent) = ahead.pop() {
        for (pid, _) in pairs.iter().filter(|(_, of)| *of == parent) {
            if !found.contains(pid) {
                found.push(*pid);
                ahead.push(*pid);
            }
        }
    }
    found
}

/// Without `/proc`, only the group of the command is known.
#[cfg(not(target_os = "linux"))]
fn descendants(_root: Pid) -> Vec<Pid> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_find_descendants_agree() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "sleep 60 & sleep 60 & wait"]).spawn().expect("sh is there");
        let root = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        let mut quick = Vec::new();
        for _ in 0..500 {
            quick = descendants(root);
            if quick.len() == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut long = descendants_by_parent(root);
        for pid in &quick {
            let _ = kill_process(*pid, Signal::KILL);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        quick.sort_by_key(|pid| pid.as_raw_nonzero());
        long.sort_by_key(|pid| pid.as_raw_nonzero());
        assert_eq!((quick.len(), &quick), (2, &long));
    }
}

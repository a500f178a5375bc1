//! The first process of a process namespace: it waits for the command and for the processes that it leaves behind.
//! When it ends or is killed, the kernel ends all others and starts no new ones.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::super::supervise::LINGER;
use super::super::wire::FenceReport;

/// How often it looks whether what was left behind has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for the end of the command, and for a moment for what it has left running.
pub(super) fn wait_for(command: &Child) -> FenceReport {
    let main = i32::try_from(command.id()).ok().and_then(Pid::from_raw);
    let status = loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == main => break Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    let left = if linger() { others() } else { 0 };
    FenceReport::Over {
        exit_code: status.and_then(WaitStatus::exit_status),
        signal: status.and_then(WaitStatus::terminating_signal),
        left,
    }
}

/// Whether anything still runs after a moment.
fn linger() -> bool {
    let end = Instant::now() + LINGER;
    while Instant::now() < end {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return false,
        }
    }
    true
}

/// How many processes there are besides this one.
fn others() -> u32 {
    let is_process = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let count = all.filter(|entry| is_process(&entry.file_name())).count().saturating_sub(1);
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

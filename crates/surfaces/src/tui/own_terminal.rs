//! Runs a command of the user (`!cargo test`) in a separate pseudo-terminal. Keys and signals go to the command alone, and
//! what it writes is shown as it comes and kept for the model.
//!
//! A process with its own terminal must begin a session, and only the process itself can do that. So the program
//! starts itself first, and becomes the shell once the session has begun.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitCode, ExitStatus, Stdio};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, ioctl_tiocsctty, kill_process_group, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::signal::unix::{SignalKind, signal as listen};

use super::terminal::out;
use crate::output::{Ink, StdStream};

/// The first argument of a process that becomes a command of the user.
const BECOME: &str = "__own-terminal";
/// Bytes that are kept of the beginning and of the end of what is written.
const HEAD: usize = 64 * 1024;
const TAIL: usize = 128 * 1024;
/// Keys that wait for a command that does not read.
const MOST_KEYS: usize = 64 * 1024;
/// How often it is looked whether the command has ended or the size has changed, in nanoseconds.
const LOOK_NS: i64 = 50_000_000;

/// The key that interrupts a command.
const INTERRUPT: u8 = 3;

/// Becomes the command, if this process was started for that. Returns only when it cannot.
pub(crate) fn become_command() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != BECOME {
        return None;
    }
    let (shell, command) = (arguments.next()?, arguments.next()?);
    // Without a new session the command still runs. It would only share our signals.
    let _ = setsid();
    let _ = ioctl_tiocsctty(io::stdin());
    let _ = hear_signals();
    #[expect(clippy::disallowed_methods, reason = "it is the person's own command, as in their shell")]
    let error = std::process::Command::new(shell).arg("-c").arg(command).exec();
    let _ = StdStream::Err.write(&Ink::text(&format!("{error}\n")));
    Some(ExitCode::from(127))
}

/// Ends that a signal is ignored. A script that starts programs in the background has them ignore Ctrl-C, and what is
/// ignored stays so in the programs they start; a signal with a handler gets its default again.
fn hear_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        for kind in [SignalKind::interrupt(), SignalKind::quit(), SignalKind::hangup(), SignalKind::terminate()] {
            let _ = listen(kind)?;
        }
        Ok(())
    })
}

/// How a command ended, and what it wrote.
pub(super) struct ShellRun {
    /// As a shell has it: 128 and the number of the signal, where one ended it.
    pub(super) code: i32,
    pub(super) written: String,
}

/// Runs a command until it ends. It blocks, and must have the real terminal to itself.
pub(super) fn run(shell: &str, command: &str) -> io::Result<ShellRun> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&master, FdFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?.into_string().map_err(|_| io::ErrorKind::InvalidData)?;
    let slave = File::options().read(true).write(true).open(name)?;
    // Both terminals have the same keys for signals and the same size.
    if let Ok(modes) = tcgetattr(io::stdin()) {
        let _ = tcsetattr(&slave, OptionalActions::Now, &modes);
    }
    let program = std::env::current_exe()?;
    let (input, output) = (slave.try_clone()?, slave.try_clone()?);
    // From here on, keys are for the command, and wait for it if it has not begun.
    let raw = enable_raw_mode();
    let mut size = window();
    let _ = tcsetwinsize(&master, size);
    #[expect(clippy::disallowed_methods, reason = "it is the person's own command, as in their shell")]
    let mut child = std::process::Command::new(program)
        .args([BECOME, shell, command])
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(slave))
        .spawn()
        .inspect_err(|_| drop(disable_raw_mode()))?;
    let mut relay = Relay { master: File::from(master), keys: Vec::new(), written: Vec::new() };
    let status = loop {
        let now = window();
        if (now.ws_row, now.ws_col) != (size.ws_row, size.ws_col) {
            size = now;
            let _ = tcsetwinsize(&relay.master, size);
        }
        match relay.pass() {
            Ok(Passed::Bytes | Passed::Nothing) => {}
            Ok(Passed::Closed) => break wait_without_terminal(&mut child),
            // Our own terminal is gone.
            Err(_) => {
                signal(&child, Signal::HUP);
                break child.wait();
            }
        }
        if let Ok(Some(status)) = child.try_wait() {
            relay.rest();
            break Ok(status);
        }
    };
    if raw.is_ok() {
        disable_raw_mode()?;
    }
    if leaves_covered(&relay.written) {
        let mut screen = out();
        screen.write_all(UNCOVER)?;
        screen.flush()?;
    }
    let status = status?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ShellRun { code, written: String::from_utf8_lossy(&relay.written).into_owned() })
}

const COVER: &[u8] = b"\x1b[?1049h";
const UNCOVER: &[u8] = b"\x1b[?1049l";

/// Whether a command has ended on the other screen. Where it has not, leaving that screen would move the cursor.
fn leaves_covered(written: &[u8]) -> bool {
    let last = |sequence: &[u8]| written.windows(sequence.len()).rposition(|part| part == sequence);
    last(COVER) > last(UNCOVER)
}

/// Waits for a command that has let go of its terminal. Ctrl-C still stops it.
fn wait_without_terminal(child: &mut Child) -> io::Result<ExitStatus> {
    let stdin = io::stdin();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: LOOK_NS })).is_ok_and(|count| count > 0) {
            let mut keys = [0; 64];
            match rustix::io::read(&stdin, &mut keys) {
                Ok(0) | Err(_) => signal(child, Signal::HUP),
                Ok(count) if keys[..count].contains(&INTERRUPT) => signal(child, Signal::INT),
                Ok(_) => {}
            }
        }
    }
}

fn signal(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

fn window() -> Winsize {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

enum Passed {
    Bytes,
    Nothing,
    Closed,
}

/// Passes keys on to the command, and what it writes to the screen.
struct Relay {
    master: File,
    /// Keys that the command has not taken yet.
    keys: Vec<u8>,
    written: Vec<u8>,
}

impl Relay {
    fn pass(&mut self) -> io::Result<Passed> {
        let stdin = io::stdin();
        let wants = |on: bool, flag: PollFlags| if on { flag } else { PollFlags::empty() };
        let mut ends = [
            PollFd::new(&self.master, PollFlags::IN | wants(!self.keys.is_empty(), PollFlags::OUT)),
            PollFd::new(&stdin, wants(self.keys.len() < MOST_KEYS, PollFlags::IN)),
        ];
        match poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: LOOK_NS })) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Passed::Nothing),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let (command, ours) = (ends[0].revents(), ends[1].revents());
        if command.contains(PollFlags::OUT) {
            let taken = self.master.write(&self.keys)?;
            self.keys.drain(..taken);
        }
        if ours.contains(PollFlags::IN) {
            let mut keys = [0; 4096];
            // Not the buffered reader: what it holds back would be lost to the screen that comes after.
            let count = rustix::io::read(&stdin, &mut keys)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.keys.extend(&keys[..count]);
        } else if ours.intersects(PollFlags::HUP | PollFlags::ERR) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if command.contains(PollFlags::IN) {
            return Ok(if self.show()? { Passed::Bytes } else { Passed::Closed });
        }
        Ok(if command.contains(PollFlags::HUP) { Passed::Closed } else { Passed::Nothing })
    }

    /// Shows what the command wrote; false at the end.
    fn show(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16 * 1024];
        // Reading fails when no process holds the other end any more.
        let count = self.master.read(&mut bytes).unwrap_or_default();
        let mut screen = out();
        screen.write_all(&bytes[..count])?;
        screen.flush()?;
        self.written.extend(&bytes[..count]);
        if self.written.len() > HEAD + 2 * TAIL {
            let cut = self.written.len() - TAIL;
            self.written.drain(HEAD..cut);
        }
        Ok(count > 0)
    }

    /// Shows what is left of a command that has ended. What it started may go on writing; that is not waited for.
    fn rest(&mut self) {
        for _ in 0..64 {
            let mut ends = [PollFd::new(&self.master, PollFlags::IN)];
            let has_more = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0);
            if !has_more || !self.show().unwrap_or(false) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_ended_on_the_other_screen_is_taken_from_it() {
        assert!(leaves_covered(b"a\x1b[?1049hb"));
        assert!(leaves_covered(b"\x1b[?1049h\x1b[?1049l\x1b[?1049h"));
        assert!(!leaves_covered(b"\x1b[?1049hb\x1b[?1049l"));
        assert!(!leaves_covered(b"a"));
    }
}

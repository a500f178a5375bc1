//! A terminal for programs that refuse to work without one. It has no user: output goes where the program's output
//! goes, and input ends at once.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep, timeout};

/// Ctrl-D: the end of the input.
const END: &[u8] = b"\x04";

/// It ends one reading only, and a program that changes the terminal's settings may throw it away. So it is
/// typed again and again.
const AGAIN: Duration = Duration::from_millis(100);

/// What a terminal looks like to a program.
const SIZE: Winsize = Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };

/// The two ends of a new terminal: the supervisor's and the command's.
pub(super) fn open() -> Result<(OwnedFd, OwnedFd), String> {
    ends().map_err(|errno| {
        let error = std::io::Error::from(errno);
        format!("The command was not started, because it needs a terminal, and none can be opened: {error}.")
    })
}

fn ends() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&ours, rustix::fs::fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    // It must not become the terminal of the supervisor, which also has its own session.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    tcsetwinsize(&theirs, SIZE)?;
    let mut modes = tcgetattr(&theirs)?;
    // Input must not be echoed as output, and a bell for a full buffer is useless.
    modes.local_modes.remove(LocalModes::ECHO);
    modes.input_modes.remove(InputModes::IMAXBEL);
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    Ok((ours, theirs))
}

/// A terminal that a command has.
pub(super) struct Terminal {
    over: oneshot::Sender<()>,
    attendant: JoinHandle<()>,
}

impl Terminal {
    /// Copies everything that is written to the terminal behind `ours` to `output`.
    pub(super) fn relay(ours: OwnedFd, output: OwnedFd) -> Self {
        let (over, is_over) = oneshot::channel();
        Self { over, attendant: tokio::spawn(pass_on(ours, output, is_over)) }
    }

    /// Waits until all that is left of what was written is passed on, but not longer than `patience`.
    pub(super) async fn close(self, patience: Duration) {
        drop(self.over);
        let _ = timeout(patience, self.attendant).await;
    }
}

async fn pass_on(mut ours: OwnedFd, output: OwnedFd, mut is_over: oneshot::Receiver<()>) {
    let Ok(mut output) = pipe::Sender::from_owned_fd(output) else { return };
    let mut chunk = vec![0; 16 * 1024];
    let mut again = interval(AGAIN);
    let mut is_last = false;
    loop {
        // It is not a pipe, but is read like one.
        let Ok(mut written) = pipe::Receiver::from_owned_fd_unchecked(ours) else { return };
        loop {
            let count = tokio::select! {
                count = written.read(&mut chunk) => count,
                _ = again.tick() => {
                    // If there is no room for it, there is enough input.
                    let _ = rustix::io::write(&written, END);
                    continue;
                }
            };
            let Ok(count @ 1..) = count else { break };
            // A host that is gone takes the command along by other ways.
            if output.write_all(&chunk[..count]).await.is_err() {
                return;
            }
        }
        if is_last {
            return;
        }
        // The other end is closed. A command that still runs may open it again, and would be killed if the terminal
        // went away. What it writes right before its end can still be read afterward.
        tokio::select! {
            _ = &mut is_over => is_last = true,
            () = sleep(AGAIN) => {}
        }
        // Registered again, because a descriptor that was seen closed counts as closed permanently.
        let Ok(same) = written.into_nonblocking_fd() else { return };
        ours = same;
    }
}

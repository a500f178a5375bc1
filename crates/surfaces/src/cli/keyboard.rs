//! Lines from the terminal. Reading one cannot be given up, so they are read elsewhere, for the whole life of the
//! program: whoever waits gets the next, and Ctrl-C is heard meanwhile.

use std::io;
use std::sync::{Mutex as Cell, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, mpsc};

use crate::output::StdStream;
use crate::palette::Palette;

/// Keys on their way to somewhere else are not taken for an answer: a question takes lines only after this time.
pub(super) const QUIET: Duration = Duration::from_millis(500);

/// What was typed before this does not count.
static SINCE: Cell<Option<Instant>> = Cell::new(None);

/// Asks the terminal for its background, once. It answers on the standard input, so whoever asks while a line is read would
/// wait forever, and what is typed before the answer is lost. A surface that invites to type asks before it does.
pub(super) fn ask_for_colors() {
    let _ = [StdStream::Out, StdStream::Err].map(Palette::for_stream);
}

/// The next line; none at the end of input.
pub(super) async fn line() -> Option<String> {
    static LINES: OnceLock<Mutex<mpsc::Receiver<(Instant, String)>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        ask_for_colors();
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in io::stdin().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Mutex::new(lines)
    });
    let mut lines = lines.lock().await;
    loop {
        let (read, line) = lines.recv().await?;
        let since = *SINCE.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none_or(|since| read >= since) {
            return Some(line);
        }
    }
}

/// Drops whatever was typed up to now: it was meant for something else than what is asked next.
pub(super) fn discard() {
    ask_for_colors();
    // Fails where no terminal is; nobody types ahead there.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    *SINCE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Waits until keys that were on their way have arrived, and drops them.
pub(super) async fn settle() {
    tokio::time::sleep(QUIET).await;
    discard();
}

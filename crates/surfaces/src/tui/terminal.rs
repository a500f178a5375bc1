//! The real terminal: taken over, given back however the program ends, and read on a thread of its own.

use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write};
use std::sync::mpsc as orders;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use crossterm::cursor::position;
use crossterm::event::{poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::layout::Position;
use rustix::event::{PollFd, PollFlags};
use tokio::sync::{mpsc, oneshot};

use super::keys::{TerminalInput, begin, end};
use crate::output::{self, Ink, StdStream};

/// How long it takes to find what is there already.
const LOOK: Duration = Duration::from_millis(1);
/// How often the reader looks where it cannot sleep until something comes.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the reader waits for an order after the terminal has changed its size.
const ORDERED: Duration = Duration::from_millis(300);

/// Whether there is a person at a terminal.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && StdStream::Out.is_terminal()
}

/// The terminal that the screen is drawn on.
#[expect(clippy::disallowed_methods, reason = "what is drawn goes through `ink`, which makes it visible")]
pub(super) fn out() -> io::Stdout {
    output::terminal()
}

/// The terminal is ours, until this is dropped.
pub(super) struct RawTerminal(());

impl RawTerminal {
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let taken = Self(());
        begin(&mut out())?;
        hold_panics();
        Ok(taken)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return give_back();
        }
        // Whatever covers the screen would take the message with it.
        let _ = out().write_all(b"\x1b[?1049l\r\n");
        give_back();
        let told = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = StdStream::Err.write(&Ink::text(&format!("{}\n", told.unwrap_or_default())));
    }
}

/// What the last panic said.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// What a program can leave behind that would change how a later question looks or how keys arrive: the other screen, the
/// mouse, a character set, a scroll region, insert and origin mode, and attributes.
/// None of it moves the cursor.
const RESTORE: &[u8] = b"\x1b[?47l\x1b[?1000;1002;1003;1005;1006;1015l\x1b[!p\x1b(B\x0f\x1b[?7h\x1b[4l\x1b[0m\x1b[?25h";

/// Puts the terminal back in order after a program of the person's own. What the program made the terminal answer was not
/// typed, so it is dropped.
pub(super) fn restore() -> io::Result<()> {
    let mut out = out();
    out.write_all(RESTORE)?;
    out.flush()?;
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    Ok(())
}

/// Gives the terminal back as it was: whatever covers the screen goes, the cursor shows, keys are plain.
fn give_back() {
    let mut out = out();
    let _ = end(&mut out);
    let _ = out.write_all(b"\x1b[?1006l\x1b[?1000l\x1b[?2026l\x1b[0m\x1b[?25h");
    let _ = out.flush();
    let _ = disable_raw_mode();
}

/// A panic says what it has to say when the terminal can show it: it is written down, and told once the terminal is
/// given back. One in the work of a session is caught and told as a fact; the screen goes on.
fn hold_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
        }));
    });
}

/// What the reader is told to do.
enum ReaderOrder {
    /// Say where the cursor is.
    Locate,
    /// Say that nothing is read any more, and read nothing until the second end is dropped: somebody else reads.
    Rest(oneshot::Sender<()>, orders::Receiver<()>),
}

/// What the reader has read.
#[derive(Debug)]
pub(super) enum ReaderReport {
    Input(TerminalInput),
    /// Where the cursor is; nothing, if the terminal does not say.
    Cursor(Option<Position>),
    /// The terminal is gone.
    Gone,
}

/// Reads the terminal, on a thread that sleeps until there is a key or an order.
pub(super) struct TerminalReader {
    orders: orders::Sender<ReaderOrder>,
    /// Wakes the thread: it sleeps on the terminal and on the other end of this.
    bell: PipeWriter,
    heard: mpsc::Receiver<ReaderReport>,
}

impl TerminalReader {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, heard) = mpsc::channel(256);
        let (orders, told) = orders::channel();
        let (ear, bell) = io::pipe()?;
        std::thread::spawn(move || listen(&sender, &told, ear));
        Ok(Self { orders, bell, heard })
    }

    pub(super) async fn next(&mut self) -> ReaderReport {
        self.heard.recv().await.unwrap_or(ReaderReport::Gone)
    }

    /// Lets the thread look at what no key tells: an order, or another size of the terminal.
    pub(super) fn wake(&self) {
        if SLEEPS {
            let _ = (&self.bell).write(&[0]);
        }
    }

    /// Asks where the cursor is; the answer is heard like anything else.
    pub(super) fn locate(&self) {
        let _ = self.orders.send(ReaderOrder::Locate);
        self.wake();
    }

    /// Lets somebody else read until the result is dropped.
    pub(super) async fn rest(&self) -> Resting {
        let ((resting, until), (stopped, is_still)) = (orders::channel(), oneshot::channel());
        let _ = self.orders.send(ReaderOrder::Rest(stopped, until));
        self.wake();
        // A reader that is gone reads nothing either.
        let _ = is_still.await;
        Resting(resting)
    }
}

/// Somebody else reads the terminal.
pub(super) struct Resting(#[expect(dead_code, reason = "its end is what counts")] orders::Sender<()>);

fn listen(sender: &mpsc::Sender<ReaderReport>, told: &orders::Receiver<ReaderOrder>, mut ear: PipeReader) {
    let mut answers = true;
    loop {
        let order = match told.try_recv() {
            Ok(order) => Some(order),
            Err(orders::TryRecvError::Empty) => None,
            Err(orders::TryRecvError::Disconnected) => return,
        };
        if let Some(order) = order {
            obey(order, sender, &mut answers);
            continue;
        }
        let event = match poll(LOOK) {
            Ok(true) => read(),
            Ok(false) if sleep(&mut ear) => continue,
            Ok(false) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) => Err(error),
        };
        let Ok(event) = event else {
            let _ = sender.blocking_send(ReaderReport::Gone);
            return;
        };
        let Some(input) = TerminalInput::from_event(event) else { continue };
        let is_resize = matches!(input, TerminalInput::Resize { .. });
        if sender.blocking_send(ReaderReport::Input(input)).is_err() {
            return;
        }
        if is_resize && let Ok(order) = told.recv_timeout(ORDERED) {
            obey(order, sender, &mut answers);
        }
    }
}

/// Whether one can wait for a terminal and for something else at once; not every system can.
const SLEEPS: bool = cfg!(target_os = "linux");

/// Sleeps until the terminal has something or the bell rings; false when the terminal is gone.
fn sleep(ear: &mut PipeReader) -> bool {
    if !SLEEPS {
        return poll(LOOK_EVERY).is_ok();
    }
    let stdin = io::stdin();
    let mut ends = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&*ear, PollFlags::IN)];
    // A signal that interrupts the sleep is a reason to look, too.
    if rustix::event::poll(&mut ends, None).is_err() {
        return true;
    }
    let (terminal, bell) = (ends[0].revents(), ends[1].revents());
    if bell.contains(PollFlags::IN) {
        let _ = ear.read(&mut [0; 64]);
    }
    // What came before the end is still read.
    !terminal.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) || matches!(poll(LOOK), Ok(true))
}

fn obey(order: ReaderOrder, sender: &mpsc::Sender<ReaderReport>, answers: &mut bool) {
    match order {
        ReaderOrder::Locate => {
            let found = if *answers { position().ok() } else { None };
            // A terminal that did not answer once is not asked again: it would hold up every key.
            *answers = found.is_some();
            let _ = sender.blocking_send(ReaderReport::Cursor(found.map(|(x, y)| Position { x, y })));
        }
        ReaderOrder::Rest(stopped, until) => {
            let _ = stopped.send(());
            // Ends with an error when the other end is dropped.
            let _ = until.recv();
        }
    }
}

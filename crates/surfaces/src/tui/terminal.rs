//! The real terminal: taken over, given back however the program ends, and read on a thread of its own.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc as orders;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use crossterm::cursor::position;
use crossterm::event::{poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui::layout::Position;
use tokio::sync::mpsc;

use super::keys::{Input, begin, end};

/// How long the reader waits before it looks for orders.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long it waits for an order after the terminal has changed its size.
const ORDERED: Duration = Duration::from_millis(300);

/// Whether there is a person at a terminal.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The terminal is ours, until this is dropped.
pub(super) struct Taken(());

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let taken = Self(());
        begin(&mut io::stdout())?;
        hold_panics();
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return give_back();
        }
        // Whatever covers the screen would take the message with it.
        let _ = io::stdout().write_all(b"\x1b[?1049l\r\n");
        give_back();
        let told = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = writeln!(io::stderr(), "{}", told.unwrap_or_default());
    }
}

/// What the last panic said.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Gives the terminal back as it was: whatever covers the screen goes, the cursor shows, keys are plain.
fn give_back() {
    let mut out = io::stdout();
    let _ = end(&mut out);
    let _ = out.write_all(b"\x1b[?2026l\x1b[0m\x1b[?25h");
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
enum Order {
    /// Say where the cursor is.
    Locate,
    /// Read nothing until this is dropped: somebody else reads.
    Rest(orders::Receiver<()>),
}

/// What the reader has read.
#[derive(Debug)]
pub(super) enum Heard {
    Input(Input),
    /// Where the cursor is; nothing, if the terminal does not say.
    Cursor(Option<Position>),
    /// The terminal is gone.
    Gone,
}

/// Reads the terminal.
pub(super) struct Reader {
    orders: orders::Sender<Order>,
    heard: mpsc::Receiver<Heard>,
}

impl Reader {
    pub(super) fn start() -> Self {
        let (sender, heard) = mpsc::channel(256);
        let (orders, told) = orders::channel();
        std::thread::spawn(move || listen(&sender, &told));
        Self { orders, heard }
    }

    pub(super) async fn next(&mut self) -> Heard {
        self.heard.recv().await.unwrap_or(Heard::Gone)
    }

    /// Asks where the cursor is; the answer is heard like anything else.
    pub(super) fn locate(&self) {
        let _ = self.orders.send(Order::Locate);
    }

    /// Lets somebody else read until the result is dropped.
    pub(super) async fn rest(&self) -> Resting {
        let (resting, until) = orders::channel();
        let _ = self.orders.send(Order::Rest(until));
        // The reader looks for orders that often; a key that comes meanwhile would be lost to whoever reads next.
        tokio::time::sleep(LOOK_EVERY + Duration::from_millis(20)).await;
        Resting(resting)
    }
}

/// Somebody else reads the terminal.
pub(super) struct Resting(#[expect(dead_code, reason = "its end is what counts")] orders::Sender<()>);

fn listen(sender: &mpsc::Sender<Heard>, told: &orders::Receiver<Order>) {
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
        let event = match poll(LOOK_EVERY) {
            Ok(false) => continue,
            Ok(true) => read(),
            Err(error) => Err(error),
        };
        let Ok(event) = event else {
            let _ = sender.blocking_send(Heard::Gone);
            return;
        };
        let Some(input) = Input::of(event) else { continue };
        let is_resize = matches!(input, Input::Resize { .. });
        if sender.blocking_send(Heard::Input(input)).is_err() {
            return;
        }
        if is_resize && let Ok(order) = told.recv_timeout(ORDERED) {
            obey(order, sender, &mut answers);
        }
    }
}

fn obey(order: Order, sender: &mpsc::Sender<Heard>, answers: &mut bool) {
    match order {
        Order::Locate => {
            let found = if *answers { position().ok() } else { None };
            // A terminal that did not answer once is not asked again: it would hold up every key.
            *answers = found.is_some();
            let _ = sender.blocking_send(Heard::Cursor(found.map(|(x, y)| Position { x, y })));
        }
        Order::Rest(until) => {
            // Ends with an error when the other end is dropped.
            let _ = until.recv();
        }
    }
}

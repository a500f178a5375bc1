//! The loop: what happens is told to the screen, what it wishes for is carried out, and it is drawn when something
//! has changed, at most once per frame. While nothing happens, nothing runs.

use std::io::{self, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::FutureExt;
use ratatui::layout::{Position, Size};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use trimtab_vocab::Visible;
use trimtab_vocab::event::CheckpointFact;
use trimtab_vocab::{Fact, Problem, ProblemKind};

use super::app::App;
use super::executor::Executor;
use super::keys::TerminalInput;
use super::message::{Cmd, Msg};
use super::notification::NotifyBy;
use super::screen::TerminalScreen;
use super::terminal::{RawTerminal, ReaderReport, TerminalReader};

/// The time between two frames of what goes on by itself.
const FRAME: Duration = Duration::from_millis(16);
/// The time between two frames while a person types or is asked: that is not to wait for what streams in.
const TYPED: Duration = Duration::from_millis(2);
/// How often what moves by itself moves.
const TICK: Duration = Duration::from_millis(100);
/// Finished rows that one frame prints at most.
const PRINTED: usize = 400;

/// Lets the terminal remember what the window was called, and call it so again.
const KEEP_TITLE: &str = "\u{1b}[22;2t";
const FORMER_TITLE: &str = "\u{1b}[23;2t";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuntimeEnd {
    /// The person left.
    Left,
    /// A signal said so.
    Signal(i32),
}

/// Everything that the loop holds.
pub(super) struct Runtime {
    app: App,
    executor: Executor,
    messages: mpsc::Receiver<Msg>,
    screen: TerminalScreen<io::Stdout>,
    reader: TerminalReader,
    taken: Option<RawTerminal>,
    /// The terminal has changed its size, and where the cursor is is not known yet.
    is_lost: Option<Size>,
    is_dirty: bool,
    /// A person has done something, or is asked something, that the screen does not show yet.
    is_awaited: bool,
    interrupt: Signal,
    /// What the window is called, as it was last told.
    title: String,
    /// The terminal was told that something is under way.
    shows_progress: bool,
    notify_by: NotifyBy,
}

/// Whether somebody waits for what this shows: what they did themselves, or what they are asked.
fn is_awaited(message: &Msg) -> bool {
    match message {
        Msg::Input(_) => true,
        Msg::Events(events) => {
            events.iter().any(|event| matches!(event.fact, Fact::Checkpoint(CheckpointFact::Opened { .. })))
        }
        _ => false,
    }
}

fn broken(error: io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("The terminal cannot be used: {error}."))
        .hint("`trimtab run` works without one.")
}

impl Runtime {
    pub(super) fn new(
        app: App,
        executor: Executor,
        messages: mpsc::Receiver<Msg>,
        row: u16,
        reflows: bool,
        taken: RawTerminal,
    ) -> Result<Self, Problem> {
        let screen = TerminalScreen::new(super::terminal::out(), app.size, row, reflows);
        let (reader, taken) = (TerminalReader::start().map_err(broken)?, Some(taken));
        Ok(Self {
            app,
            executor,
            messages,
            screen,
            reader,
            taken,
            is_lost: None,
            is_dirty: true,
            is_awaited: false,
            interrupt: signal(SignalKind::interrupt()).map_err(broken)?,
            title: String::new(),
            shows_progress: false,
            notify_by: NotifyBy::default(),
        })
    }

    /// Views that cover the screen are scrolled with the wheel. Below them, the wheel and the selection are the
    /// terminal's own.
    pub(super) fn with_mouse(mut self, on: bool) -> Self {
        self.screen.set_mouse(on);
        self
    }

    /// How somebody who looks elsewhere is told.
    pub(super) fn with_notifications(mut self, by: NotifyBy) -> Self {
        self.notify_by = by;
        self
    }

    /// Runs until the person leaves or a signal comes.
    pub(super) async fn run(mut self, first: Vec<Cmd>) -> Result<RuntimeEnd, Problem> {
        let listen = |kind| signal(kind).map_err(broken);
        let mut terminate = listen(SignalKind::terminate())?;
        let mut hang_up = listen(SignalKind::hangup())?;
        // A key that means it in an editor must not end this program.
        let _quit = listen(SignalKind::quit())?;
        let mut resized = listen(SignalKind::window_change())?;
        write!(self.screen.out(), "{KEEP_TITLE}").map_err(broken)?;
        if let Some(ended) = self.carry_out(first).await? {
            return Ok(ended);
        }
        let mut drawn = Instant::now() - FRAME;
        let mut ticked = Instant::now();
        let ended = loop {
            let moves = self.app.moves();
            let next_tick = ticked + TICK;
            let next_frame = drawn + if self.is_awaited { TYPED } else { FRAME };
            let told = tokio::select! {
                biased;
                _ = terminate.recv() => break RuntimeEnd::Signal(15),
                _ = hang_up.recv() => break RuntimeEnd::Signal(1),
                _ = self.interrupt.recv() => break RuntimeEnd::Signal(2),
                () = tokio::time::sleep_until(next_frame), if self.is_dirty && self.is_lost.is_none() => {
                    self.draw().map_err(broken)?;
                    drawn = Instant::now();
                    continue;
                }
                _ = resized.recv() => {
                    self.reader.wake();
                    continue;
                }
                heard = self.reader.next() => match self.hear(heard) {
                    Some(ReaderReport::Gone) => break RuntimeEnd::Signal(1),
                    Some(ReaderReport::Input(input)) => Msg::Input(input),
                    _ => continue,
                },
                Some(message) = self.messages.recv() => message,
                () = tokio::time::sleep_until(next_tick), if moves => {
                    ticked = Instant::now();
                    Msg::Tick
                }
            };
            if let Msg::Sent(sent) = &told {
                self.executor.made(&sent.session);
            }
            self.is_awaited |= is_awaited(&told);
            let cmds = self.app.update(told, self.executor.context());
            self.is_dirty = true;
            if let Some(ended) = self.carry_out(cmds).await? {
                break ended;
            }
        };
        self.leave(ended);
        let client = self.executor.close(ended == RuntimeEnd::Left).await;
        // Whoever presses Ctrl-C now does not want to wait. The next run removes what is left.
        tokio::select! {
            () = client.requests().end_workers() => {}
            _ = self.interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(ended)
    }

    /// Sees to what the terminal says of itself; the rest is for the screen.
    fn hear(&mut self, heard: ReaderReport) -> Option<ReaderReport> {
        match heard {
            ReaderReport::Input(TerminalInput::Resize { width, height }) => {
                let size = Size { width, height };
                if self.screen.is_covered() {
                    self.resize(size, None);
                } else {
                    self.is_lost = Some(size);
                    self.reader.locate();
                }
                None
            }
            ReaderReport::Cursor(cursor) => {
                if let Some(size) = self.is_lost.take() {
                    self.resize(size, cursor);
                }
                None
            }
            heard => Some(heard),
        }
    }

    fn resize(&mut self, size: Size, cursor: Option<Position>) {
        self.screen.resized(size, cursor);
        self.app.size = size;
        self.is_dirty = true;
    }

    fn draw(&mut self) -> io::Result<()> {
        (self.is_dirty, self.is_awaited) = (false, false);
        self.name_window()?;
        if let Some(over) = self.app.cover() {
            return self.screen.cover(over);
        }
        if self.screen.is_covered() && self.screen.uncover()? {
            // It changed its size while it was covered: where things are has to be found out.
            self.is_lost = Some(self.screen.size());
            self.is_dirty = true;
            self.reader.locate();
            return Ok(());
        }
        let above = self.app.finished(PRINTED);
        // There may be more than one frame takes.
        self.is_dirty = above.len() >= PRINTED;
        let live = self.app.live();
        self.screen.hold(self.app.composer.is_open());
        self.screen.frame(&above, live)
    }

    async fn carry_out(&mut self, cmds: Vec<Cmd>) -> Result<Option<RuntimeEnd>, Problem> {
        let mut ended = None;
        for cmd in cmds {
            match cmd {
                // What follows, such as keeping the empty draft, is still done.
                Cmd::Quit => ended = Some(RuntimeEnd::Left),
                Cmd::Copy(text) => self.copy(&text).map_err(broken)?,
                Cmd::Redraw => {
                    self.is_lost = Some(self.screen.size());
                    self.reader.locate();
                }
                Cmd::Notify(text) => self.notify(&text).map_err(broken)?,
                Cmd::Edit(text) => {
                    let edited = self.aside(async { super::aside::edit(text).await }).await?;
                    let cmds = self.app.update(Msg::Edited(edited), self.executor.context());
                    cmds.into_iter().for_each(|cmd| self.executor.run(cmd));
                }
                Cmd::Shell(command) => {
                    self.draw().map_err(broken)?;
                    // The trail comes first, because a command that is not in it must not run.
                    let told = match self.executor.note_shell(&command).await {
                        Ok(()) => Msg::ShellEnded(self.aside(async { super::aside::shell(&command).await }).await?),
                        Err(problem) => Msg::Failed(problem),
                    };
                    let cmds = self.app.update(told, self.executor.context());
                    cmds.into_iter().for_each(|cmd| self.executor.run(cmd));
                }
                Cmd::Suspend => self.aside(async { super::aside::suspend() }).await?,
                cmd => self.executor.run(cmd),
            }
            self.is_dirty = true;
        }
        Ok(ended)
    }

    /// Puts a text into the clipboard, as far as the terminal allows it.
    fn copy(&mut self, text: &str) -> io::Result<()> {
        let out = self.screen.out();
        write!(out, "\u{1b}]52;c;{}\u{7}", BASE64_STANDARD.encode(text))?;
        out.flush()
    }

    /// Tells the terminal what it shows, and whether something is under way, when that has changed.
    fn name_window(&mut self) -> io::Result<()> {
        let title = self.app.window_title();
        let is_running = self.app.activity.is_running();
        if title != self.title {
            let shown: String = Visible::line(&title).as_str().chars().filter(|c| !c.is_control()).take(80).collect();
            write!(self.screen.out(), "\u{1b}]2;{shown}\u{7}")?;
            self.title = title;
        }
        if is_running != self.shows_progress && knows_progress() {
            write!(self.screen.out(), "\u{1b}]9;4;{};0\u{7}", if is_running { 3 } else { 0 })?;
            self.shows_progress = is_running;
        }
        self.screen.out().flush()
    }

    /// Gives the terminal to something else, and takes it back.
    async fn aside<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Problem> {
        self.screen.leave().map_err(broken)?;
        let resting = self.reader.rest().await;
        self.taken = None;
        let done = work.await;
        // A key that stopped what ran there was for that alone.
        tokio::time::sleep(Duration::from_millis(5)).await;
        while self.interrupt.recv().now_or_never().is_some() {}
        super::terminal::restore().map_err(broken)?;
        self.taken = Some(RawTerminal::take().map_err(broken)?);
        drop(resting);
        let size = crossterm::terminal::size().map_err(broken)?;
        self.is_lost = Some(Size { width: size.0, height: size.1 });
        self.reader.locate();
        Ok(done)
    }

    /// Tells a person who looks elsewhere.
    fn notify(&mut self, text: &str) -> io::Result<()> {
        let told = self.notify_by.bytes(text);
        let out = self.screen.out();
        out.write_all(told.as_bytes())?;
        out.flush()
    }

    fn leave(&mut self, ended: RuntimeEnd) {
        if self.screen.is_covered() {
            let _ = self.screen.uncover();
        }
        let above = self.app.finished(usize::MAX);
        let left = self.app.leaving(ended == RuntimeEnd::Left);
        let _ = self.screen.frame(&[above, left].concat(), super::screen::DrawnRows::default());
        let _ = self.screen.leave();
        let progress = if self.shows_progress { "\u{1b}]9;4;0;0\u{7}" } else { "" };
        let _ = write!(self.screen.out(), "{progress}{FORMER_TITLE}");
        self.taken = None;
    }
}

/// Whether the terminal shows that something is under way. Others would take it for a message.
fn knows_progress() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    std::env::var_os("WT_SESSION").is_some() || is("TERM_PROGRAM", "ghostty") || is("ConEmuANSI", "ON")
}

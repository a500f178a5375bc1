//! The real binary in a terminal: a pseudo-terminal whose other end understands what is written to it and answers
//! what it is asked, as a terminal does.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcsetwinsize};

use crate::program::Program;

/// How long the end of what a program wrote is waited for, once it has ended.
const REST: Duration = Duration::from_secs(3);
/// A wait that takes longer is a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rows that have scrolled away and are kept.
const SCROLLBACK: usize = 20_000;

/// A terminal with a program in it. The program is ended when it is dropped.
pub struct Terminal {
    child: Child,
    ours: File,
    seen: Arc<Mutex<Seen>>,
    /// Ends when nobody can write any more and all that was written is understood.
    reader: JoinHandle<()>,
}

struct Seen {
    parser: vt100::Parser,
    /// Everything that was written, and when each piece came.
    bytes: Vec<u8>,
    pieces: Vec<(Instant, usize)>,
    /// Whether questions are answered.
    answers: bool,
}

/// What a terminal is asked, and what it is asked for.
const QUESTIONS: [(&[u8], Question); 3] =
    [(b"\x1b[6n", Question::Cursor), (b"\x1b[c", Question::Kind), (b"\x1b]11;?", Question::Background)];

#[derive(Clone, Copy)]
enum Question {
    Cursor,
    Kind,
    Background,
}

impl Terminal {
    /// Starts the program in a terminal of this size.
    ///
    /// # Panics
    /// When the machine has no terminal left.
    pub fn start(program: &Program, arguments: &[&str], width: u16, height: u16) -> Self {
        let binary = program.binary().to_str().expect("a path");
        let all: Vec<&str> = [binary].into_iter().chain(arguments.iter().copied()).collect();
        Self::start_any(program, &all, width, height)
    }

    /// Starts the program as a script does that puts it into the background: Ctrl-C and Ctrl-\ are ignored.
    ///
    /// # Panics
    /// When the machine has no terminal left.
    pub fn start_from_script(program: &Program, width: u16, height: u16) -> Self {
        let binary = program.binary().to_str().expect("a path");
        Self::start_any(program, &["sh", "-c", "trap '' INT QUIT; exec \"$0\"", binary], width, height)
    }

    fn start_any(program: &Program, words: &[&str], width: u16, height: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        tcsetwinsize(&master, size(width, height)).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("a path");
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&name).expect("a terminal");
        // `setsid` makes the terminal the one that the program belongs to, so that it hears of new sizes.
        let all: Vec<&str> = ["--ctty"].into_iter().chain(words.iter().copied()).collect();
        let mut command = program.command(Path::new("setsid"), &all);
        command.env("TERM", "xterm-256color").env("XTERM_VERSION", "XTerm(390)");
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        let child = command.spawn().expect("the program starts");
        drop(command);
        let ours = File::from(master);
        let seen = Arc::new(Mutex::new(Seen {
            parser: vt100::Parser::new(height, width, SCROLLBACK),
            bytes: Vec::new(),
            pieces: Vec::new(),
            answers: true,
        }));
        let (reading, shared) = (ours.try_clone().expect("a terminal"), Arc::clone(&seen));
        let reader = std::thread::spawn(move || listen(reading, &shared));
        Self { child, ours, seen, reader }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Presses keys.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn press(&self, keys: &str) {
        (&self.ours).write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this is asked and keys answer it, and presses one. A question that has just come up takes none.
    ///
    /// # Panics
    /// When it is not asked in half a minute.
    pub fn answer(&self, question: &str, key: &str) -> String {
        let asked = self.wait_until(question, |screen| screen.contains(question) && screen.contains("enter to answer"));
        self.press(key);
        asked
    }

    /// What is on the screen, without blanks at the ends of rows.
    pub fn screen(&self) -> String {
        trimmed(&self.seen().parser.screen().contents())
    }

    /// All that was printed and has scrolled away, then what is on the screen.
    pub fn all(&self) -> String {
        let mut seen = self.seen();
        let columns = seen.parser.screen().size().1;
        let screen = seen.parser.screen_mut();
        screen.set_scrollback(usize::MAX);
        let gone = screen.scrollback();
        let mut rows = Vec::new();
        for first in 0..gone {
            screen.set_scrollback(gone - first);
            rows.extend(screen.rows(0, columns).take(1));
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, columns));
        trimmed(&rows.join("\n"))
    }

    /// Every byte that was written.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen().bytes.clone()
    }

    /// When the byte at this place came.
    pub fn time_of(&self, place: usize) -> Option<Instant> {
        self.seen().pieces.iter().find(|(_, end)| *end > place).map(|(time, _)| *time)
    }

    /// Whether something covers the whole screen.
    pub fn is_covered(&self) -> bool {
        self.seen().parser.screen().alternate_screen()
    }

    /// The cells as an escape-coded text, to draw pictures from.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.seen().parser.screen())
    }

    /// Whether what is typed is shown and sent line by line, and Ctrl-C is a signal: the way of a shell.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn is_plain(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.ours).expect("a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// Stops answering questions, as some terminals never do.
    pub fn never_answer(&self) {
        self.seen().answers = false;
    }

    /// Waits until the screen shows this.
    ///
    /// # Panics
    /// When it does not in a minute.
    pub fn wait_for(&self, part: &str) -> String {
        self.wait_until(part, |screen| screen.contains(part))
    }

    /// Waits until the screen does not show this any more.
    ///
    /// # Panics
    /// When it still does in a minute.
    pub fn wait_until_gone(&self, part: &str) -> String {
        self.wait_until(part, |screen| !screen.contains(part))
    }

    /// Waits until the screen is as it should be.
    ///
    /// # Panics
    /// When it is not in a minute.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < until, "waited for {what:?}; the screen shows:\n{}", self.all());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the program has written nothing for a while and has nothing to do, and says what is on the screen
    /// then. On a machine that is busy with others it may have something to say long before it comes to that.
    pub fn settled(&self) -> String {
        let until = Instant::now() + PATIENCE;
        let mut last = (self.seen().bytes.len(), Instant::now());
        while last.1.elapsed() < Duration::from_millis(150) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            let now = self.seen().bytes.len();
            if now != last.0 || self.is_busy() {
                last = (now, Instant::now());
            }
        }
        self.screen()
    }

    /// Whether a thread of the program runs, or would if it were let.
    fn is_busy(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok()).any(|stat| {
            // The name before the state may have anything in it, even a bracket.
            stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(['R', 'D']))
        })
    }

    /// Gives the terminal another size.
    ///
    /// # Panics
    /// When it cannot have it.
    pub fn resize(&self, width: u16, height: u16) {
        // The screen first: the program asks where the cursor is as soon as it hears of it.
        let mut seen = self.seen();
        let ((rows, _), (row, column)) = (seen.parser.screen().size(), seen.parser.screen().cursor_position());
        let gone = (row + 1).saturating_sub(height);
        if gone > 0 && !seen.parser.screen().alternate_screen() {
            // A terminal that becomes lower keeps the row of its cursor: what is above scrolls away.
            let scroll = "\n".repeat(usize::from(gone));
            let bytes = format!("\x1b[{rows};1H{scroll}\x1b[{};{}H", row + 1 - gone, column + 1);
            seen.parser.process(bytes.as_bytes());
        }
        seen.parser.screen_mut().set_size(height, width);
        drop(seen);
        tcsetwinsize(&self.ours, size(width, height)).expect("a size");
    }

    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Whether the program has ended.
    ///
    /// # Panics
    /// When it is no child any more.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for the program's end: its exit code, if no signal ended it.
    ///
    /// # Panics
    /// When it does not end in a minute.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                // What it wrote last may still be on its way. Something that it left behind may hold the terminal, too.
                let until = Instant::now() + REST;
                while !self.reader.is_finished() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(2));
                }
                return status.code();
            }
            assert!(Instant::now() < until, "the program does not end; the screen shows:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(width: u16, height: u16) -> Winsize {
    Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Understands what is written, and answers what is asked at the place where it is asked.
fn listen(mut ours: File, seen: &Mutex<Seen>) {
    let mut buffer = [0; 65_536];
    let mut rest: Vec<u8> = Vec::new();
    while let Ok(read) = ours.read(&mut buffer) {
        if read == 0 {
            return;
        }
        let mut answers = Vec::new();
        {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.bytes.extend_from_slice(&buffer[..read]);
            let end = seen.bytes.len();
            seen.pieces.push((Instant::now(), end));
            rest.extend_from_slice(&buffer[..read]);
            while let Some((at, length, question)) = first_question(&rest) {
                let before: Vec<u8> = rest.drain(..at + length).collect();
                seen.parser.process(&before[..at]);
                if seen.answers {
                    let (row, column) = seen.parser.screen().cursor_position();
                    answers.push(match question {
                        Question::Cursor => format!("\x1b[{};{}R", row + 1, column + 1),
                        Question::Kind => "\x1b[?62;c".to_owned(),
                        Question::Background => "\x1b]11;rgb:0000/0000/0000\x1b\\".to_owned(),
                    });
                }
            }
            // The beginning of a question may be all that has come of it.
            let kept = (1..8.min(rest.len() + 1)).rev().find(|length| {
                let tail = &rest[rest.len() - length..];
                QUESTIONS.iter().any(|(asked, _)| asked.len() > *length && asked.starts_with(tail))
            });
            let whole: Vec<u8> = rest.drain(..rest.len() - kept.unwrap_or(0)).collect();
            seen.parser.process(&whole);
        }
        for answer in answers {
            if ours.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn first_question(bytes: &[u8]) -> Option<(usize, usize, Question)> {
    let place = |asked: &[u8]| bytes.windows(asked.len()).position(|window| window == asked);
    QUESTIONS
        .iter()
        .filter_map(|(asked, question)| Some((place(asked)?, asked.len(), *question)))
        .min_by_key(|one| one.0)
}

//! The terminal UI in a real pseudo-terminal: how long a key takes to the screen while a reply streams in below a
//! long conversation, how many bytes a frame has then, how long the start and a question take, and what it costs when
//! nothing happens.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

use crate::ROUNDS;
use crate::table::{Table, median};

/// Lines of the conversation above.
const LINES: usize = 100_000;
/// Keys that are pressed.
const KEYS: usize = 300;
/// How a frame begins.
const FRAME: &[u8] = b"\x1b[?2026h";
/// Seconds for which nothing happens.
const IDLE: u64 = 10;

pub fn measure(binary: &Path, table: &mut Table) {
    let times: Vec<Duration> = (0..ROUNDS / 3).map(|_| time_to_ask(binary)).collect();
    table.durations("screen: reply to the question on the screen", times, None);
    let starts: Vec<Duration> = (0..ROUNDS / 3).map(|_| first_frame(binary)).collect();
    table.durations("screen: start to the first frame", starts, None);
    let Keys { alone, streaming, frames } = keys(binary);
    let beside = ("key to screen at rest", median(&alone));
    let last = |times: &[Duration]| times[times.len() * 99 / 100];
    table.durations("screen: key, 2,000 pieces/s, 100,000 lines", streaming.clone(), Some(beside));
    table.durations(
        "screen: the same, 99 of 100 keys are faster",
        vec![last(&streaming)],
        Some(("at rest", last(&alone))),
    );
    let note = format!("{} bytes on average, {} frames", frames.average(), frames.count);
    table.size("screen: a frame while it streams", frames.average() as u64, &note);
    for (what, has_session) in [("at rest", false), ("at rest, a session open", true)] {
        let idle = idle(binary, has_session);
        table.durations(&format!("screen: processor time of {IDLE} s {what}"), vec![idle], None);
    }
}

fn program(binary: &Path) -> Program {
    let mut program = Program::new(binary);
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn time_to_ask(binary: &Path) -> Duration {
    let program = program(binary);
    let gate = program.provider.gate();
    let reply = Reply::new().tool("toolu_1", "run_command", ["{\"command\":\"make\"}"]);
    let chunks = trimtab_testkit::provider::anthropic::stream(&reply).len();
    program.provider.push(Answer::anthropic(reply).gated(&gate));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("Build it");
    terminal.wait_for("Build it");
    terminal.press("\r");
    gate.release(chunks - 1);
    program.provider.block_on(gate.sent(chunks - 1));
    let began = Instant::now();
    gate.open();
    terminal.wait_for("Run this command?");
    began.elapsed()
}

/// The time until the input can be seen.
fn first_frame(binary: &Path) -> Duration {
    let program = program(binary);
    let began = Instant::now();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    began.elapsed()
}

/// What was measured of keys: sorted times at rest, and while a reply streams in, with the frames of that time.
struct Keys {
    alone: Vec<Duration>,
    streaming: Vec<Duration>,
    frames: Frames,
}

/// Frames, and the bytes of all of them.
struct Frames {
    count: usize,
    bytes: usize,
}

impl Frames {
    /// Each frame begins with a synchronized update.
    fn of(bytes: &[u8]) -> Self {
        let count = bytes.windows(FRAME.len()).filter(|part| *part == FRAME).count();
        Self { count, bytes: bytes.len() }
    }

    fn average(&self) -> usize {
        self.bytes / self.count.max(1)
    }
}

/// Times from a key to the screen: at rest, and while a reply streams in below a long conversation.
fn keys(binary: &Path) -> Keys {
    let mut program = program(binary);
    // A conversation of this length is more than models take; what is measured is the screen.
    std::fs::create_dir_all(program.home()).expect("a folder");
    let facts = "[\"anthropic/endless\"]\nwindow = 1000000000\nmax_output = 100000000\n";
    std::fs::write(program.home().join("models.toml"), facts).expect("written");
    program.set("TRIMTAB_MODEL", "anthropic/endless");
    let pieces: Vec<String> = (0..LINES / 100)
        .map(|page| (0..100).map(|line| format!("Line {} of a long answer.\n\n", page * 100 + line)).collect())
        .collect();
    program.provider.push(Answer::anthropic(Reply::new().text(pieces)));
    let words: Vec<String> =
        (0..60_000).map(|word| if word % 12 == 0 { ".\n\n".into() } else { format!("word{word} ") }).collect();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(words)).gated(&gate));
    let terminal = Terminal::start(&program, &[], 100, 40);
    say(&terminal, "A long answer, please");
    terminal.wait_for("Done");
    let alone = pressed(&terminal);
    terminal.press("\x15");
    say(&terminal, "Stream, please");
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let stream = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            gate.release(2);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    terminal.wait_for("word");
    let before = terminal.bytes().len();
    let streaming = pressed(&terminal);
    let frames = Frames::of(&terminal.bytes()[before..]);
    is_over.store(true, Ordering::Relaxed);
    stream.join().expect("streams");
    Keys { alone, streaming, frames }
}

fn say(terminal: &Terminal, words: &str) {
    terminal.wait_for("? help");
    terminal.press(words);
    terminal.wait_for(words);
    terminal.press("\r");
}

/// Presses keys one by one; each is timed until the cursor stands behind it. Sorted.
fn pressed(terminal: &Terminal) -> Vec<Duration> {
    let mut times = Vec::new();
    for key in 0..KEYS {
        // A row of the input is as wide as the screen: it is emptied before it is full.
        let place = key % 60;
        if place == 0 {
            terminal.press("\x15");
            wait_for_cursor(terminal, 2);
        }
        let began = Instant::now();
        terminal.press("q");
        wait_for_cursor(terminal, u16::try_from(place).expect("small") + 3);
        times.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(7));
    }
    times.sort();
    times
}

fn wait_for_cursor(terminal: &Terminal, column: u16) {
    let until = Instant::now() + Duration::from_secs(20);
    while terminal.with_screen(|screen| screen.cursor_position().1) != column {
        assert!(Instant::now() < until, "the cursor does not come:\n{}", terminal.screen());
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Processor time while nothing happens.
fn idle(binary: &Path, has_session: bool) -> Duration {
    let program = program(binary);
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    if has_session {
        program.provider.push(Answer::anthropic(Reply::new().text(["An answer."])));
        say(&terminal, "Ask");
        terminal.wait_for("Done");
    }
    // What looks often after something has happened does so for a few seconds.
    std::thread::sleep(Duration::from_secs(IDLE));
    let before = processor_time(terminal.id());
    std::thread::sleep(Duration::from_secs(IDLE));
    processor_time(terminal.id()).saturating_sub(before)
}

/// The kernel counts in hundredths of a second.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|at| fields[*at].parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}

//! Random keys while replies stream in, through a real terminal: whatever somebody types, queues, takes back, stops,
//! answers, resizes, and kills, each line of the conversation is printed once, and in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trimtab_testkit::dice::Dice;
use trimtab_testkit::provider::Gate;

use super::*;

/// Histories that are played, unless `TRIMTAB_LINES` says otherwise.
const HISTORIES: usize = 4;
const KEYS: usize = 22;
/// Calls that one history may make.
const CALLS: usize = 80;
/// Lines of a reply.
const LINES: usize = 8;
const KINDS: [&str; 3] = ["LINE", "SAID", "QUEUED"];

/// The words that mark a line, in the order of the text.
fn marks(text: &str) -> Vec<String> {
    let is_mark = |word: &&str| {
        let number =
            |kind: &&str| word.strip_prefix(*kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_numeric()));
        KINDS.iter().any(number)
    };
    text.split(|c: char| !c.is_alphanumeric()).filter(is_mark).map(str::to_owned).collect()
}

struct Play {
    program: Program,
    terminal: Terminal,
    dice: Dice,
    said: usize,
    was_killed: bool,
}

const SIZES_OF_PLAY: [(u16, u16); 4] = [(60, 18), (80, 24), (100, 40), (120, 30)];

/// A provider whose replies come line by line until this is set, and then at once.
fn scripted(program: &Program) -> Arc<AtomicBool> {
    let gates: Arc<Vec<Gate>> = Arc::new((0..CALLS).map(|_| program.provider.gate()).collect());
    let calls = Arc::new(AtomicUsize::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let (count, held) = (Arc::clone(&calls), Arc::clone(&gates));
    program.provider.answer_with(move |request| {
        let call = count.fetch_add(1, Ordering::SeqCst);
        let line = |line: usize| format!("LINE{call}x{line} are some words of an answer.\n\n");
        let mut reply = Reply::new().text((0..LINES).map(line).collect::<Vec<_>>());
        let uses_tool = request.body["messages"].to_string().matches("tool_result").count() < 6;
        if call % 3 == 1 && uses_tool {
            reply = reply.tool(
                format!("t{call}"),
                "run_command",
                [json!({"command": format!("touch f{call}")}).to_string()],
            );
        }
        Answer::anthropic(reply).gated(&held[call.min(CALLS - 1)])
    });
    let over = Arc::clone(&is_over);
    std::thread::spawn(move || {
        while !over.load(Ordering::SeqCst) {
            let call = calls.load(Ordering::SeqCst).clamp(1, CALLS) - 1;
            gates[call].release(1);
            std::thread::sleep(Duration::from_millis(12));
        }
        gates.iter().for_each(Gate::open);
    });
    is_over
}

impl Play {
    fn mark(&mut self, kind: &str) -> String {
        self.said += 1;
        format!("{kind}{}", self.said)
    }

    fn is_asked(&self) -> bool {
        self.terminal.screen().contains("Run this command?")
    }

    /// Answers what is asked, because keys would be for the question.
    fn answer(&self) {
        while self.is_asked() {
            let asked = |screen: &str| !screen.contains("Run this command?") || screen.contains("enter to answer");
            if self.terminal.wait_until("a question", asked).contains("Run this command?") {
                self.terminal.press("1");
            }
            self.terminal.settled();
        }
    }

    fn write(&mut self, kind: &str, key: &str) {
        let mark = self.mark(kind);
        self.terminal.press(&mark);
        self.terminal.wait_until(&mark, |screen| screen.contains(&mark) || screen.contains("Run this command?"));
        if !self.is_asked() {
            self.terminal.press(key);
        }
        std::thread::sleep(Duration::from_millis(40));
    }

    fn key(&mut self) {
        self.answer();
        let is_running = self.terminal.screen().contains("esc stops");
        match self.dice.below(10) {
            0..=2 => self.write("SAID", ENTER),
            3 | 4 if is_running => self.write("QUEUED", "\t"),
            5 if is_running => {
                self.terminal.press("\x1b[1;3A");
                std::thread::sleep(Duration::from_millis(40));
                self.terminal.press("\x15");
            }
            6 if is_running => {
                self.terminal.press(ESC);
                // Keys that a terminal reads together with Esc are Alt with that key.
                self.terminal.settled();
            }
            7 => {
                let (width, height) = *self.dice.pick(&SIZES_OF_PLAY).expect("sizes");
                self.terminal.resize(width, height);
            }
            8 => {
                self.terminal.press("\x0f");
                self.terminal.wait_until("a view", |_| self.terminal.is_covered());
                self.terminal.press(ESC);
                self.terminal.wait_until("no view", |_| !self.terminal.is_covered());
            }
            9 if self.dice.once_in(3) => {
                self.was_killed = true;
                self.terminal.signal(Signal::KILL);
                self.terminal.wait();
                let (width, height) = *self.dice.pick(&SIZES_OF_PLAY).expect("sizes");
                self.terminal = Terminal::start(&self.program, &[], width, height);
                self.terminal.wait_for("? help");
            }
            _ => std::thread::sleep(Duration::from_millis(self.dice.below(120))),
        }
    }

    /// What the log has of the session: the lines of replies that were saved, and the messages that were taken in.
    fn logged(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let listed = self.program.run(&["sessions", "list", "--json"]).events();
        let session = listed[0]["id"].as_str().expect("an id").to_owned();
        let exported = self.program.run(&["sessions", "export", &session]).stdout;
        let exported: serde_json::Value = serde_json::from_str(&exported).expect("JSON");
        let mut known = (BTreeSet::new(), BTreeSet::new());
        for event in exported["events"].as_array().expect("events") {
            let words = event["text"].as_str().unwrap_or_default();
            match event["type"].as_str() {
                Some("reply.saved") => known.0.extend(marks(words)),
                Some("request.received" | "request.joined") => known.1.extend(marks(words)),
                _ => {}
            }
        }
        known
    }
}

/// Call and line of a mark.
fn place(mark: &str) -> Option<(usize, usize)> {
    let (call, line) = mark.strip_prefix("LINE")?.split_once('x')?;
    Some((call.parse().ok()?, line.parse().ok()?))
}

#[test]
fn random_keys_during_replies_print_each_line_once_and_in_order() {
    let (seed, histories) = Dice::seed_and_lines(HISTORIES);
    for history in 0..histories {
        let seed = seed.wrapping_add(history as u64);
        let mut program = trusted();
        // The title of the session would be the first message once more.
        program.set("TRIMTAB_TUI_STATUS", "mode");
        let is_over = scripted(&program);
        let terminal = Terminal::start(&program, &[], 80, 24);
        let mut play = Play { program, terminal, dice: Dice::new(seed), said: 0, was_killed: false };
        play.terminal.wait_for("? help");
        play.write("SAID", ENTER);
        (0..KEYS).for_each(|_| play.key());
        is_over.store(true, Ordering::SeqCst);
        loop {
            play.answer();
            play.terminal.wait_until("an end", |screen| !screen.contains("esc stops") || play.is_asked());
            // A message that was queued begins after the one before it, and may ask something.
            if !play.terminal.settled().contains("esc stops") {
                break;
            }
        }
        // Neither a draft nor the reminder of an answer is a part of the conversation.
        play.terminal.press("\x15");
        play.terminal.settled();
        play.terminal.press(ESC);
        play.terminal.settled();

        let all = play.terminal.all();
        let printed: Vec<String> = marks(&all);
        let (replies, messages) = play.logged();
        let unique: BTreeSet<&String> = printed.iter().collect();
        assert_eq!(unique.len(), printed.len(), "seed {seed}: something is printed twice\n{printed:?}\n{all}");
        let places: Vec<(usize, usize)> = printed.iter().filter_map(|mark| place(mark)).collect();
        // Of a long session, a new start prints the end.
        let from = if play.was_killed { places.first().copied() } else { None };
        let lost: Vec<&String> = replies.iter().filter(|line| place(line) >= from && !unique.contains(line)).collect();
        assert!(lost.is_empty(), "seed {seed}: {lost:?} are lost in\n{all}");
        let unknown: Vec<&&String> =
            unique.iter().filter(|mark| place(mark).is_none() && !messages.contains(**mark)).collect();
        assert!(unknown.is_empty(), "seed {seed}: {unknown:?} were never sent\n{all}");
        assert!(places.is_sorted(), "seed {seed}: the answers are out of order\n{all}");
    }
}

//! The scrollback is the conversation: whatever a person does while a reply comes in, each line is on the screen once, in
//! the order of the conversation.

use proptest::prelude::*;
use ratatui::layout::{Position, Size};
use serde_json::json;

use super::{Stage, permission};
use crate::tui::screen::TerminalScreen;

/// What happens next.
#[derive(Debug, Clone)]
enum Happens {
    /// The model writes a paragraph.
    Writes,
    Thinks,
    /// A person sends a message to the running request.
    Steers,
    /// A person queues a message.
    Queues,
    /// A person takes the latest queued message back.
    TakesBack,
    /// The reply ends and asks for a tool, which runs.
    UsesTool,
    /// A tool asks, and is allowed.
    Asks,
    /// The call fails and is made again.
    Fails,
    /// The request ends; the next one begins, if one is queued.
    Ends,
    /// The person stops the request.
    Stops,
    Resizes(u16, u16),
    /// The transcript covers the screen and goes away.
    Covers,
    Draws,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => Just(Happens::Writes),
        1 => Just(Happens::Thinks),
        2 => Just(Happens::Steers),
        2 => Just(Happens::Queues),
        2 => Just(Happens::TakesBack),
        1 => Just(Happens::UsesTool),
        1 => Just(Happens::Asks),
        1 => Just(Happens::Fails),
        1 => Just(Happens::Ends),
        1 => Just(Happens::Stops),
        1 => (24u16..110, 8u16..40).prop_map(|(width, height)| Happens::Resizes(width, height)),
        1 => Just(Happens::Covers),
        4 => Just(Happens::Draws),
    ]
}

/// A screen with a real terminal's parser behind it, and what the log holds.
struct Play {
    stage: Stage,
    screen: TerminalScreen<Vec<u8>>,
    parser: vt100::Parser,
    /// Lines in the order of the conversation.
    expected: Vec<String>,
    request: usize,
    call: usize,
    /// The text of the call that is coming.
    text: String,
    lines: usize,
    /// What steers and waits for the next call.
    steering: Vec<String>,
    queued: Vec<(String, String)>,
    thinks: String,
}

impl Play {
    fn new() -> Self {
        let (width, height) = (80, 24);
        let mut play = Self {
            stage: Stage::new(width, height),
            screen: TerminalScreen::new(Vec::new(), Size { width, height }, 0, false),
            parser: vt100::Parser::new(height, width, 20_000),
            expected: Vec::new(),
            request: 1,
            call: 0,
            text: String::new(),
            lines: 1,
            steering: Vec::new(),
            queued: Vec::new(),
            thinks: String::new(),
        };
        play.receive(1, "SAID1");
        play.expected.push("SAID1".into());
        play.begin();
        play
    }

    fn mark(&mut self, kind: &str) -> String {
        self.lines += 1;
        format!("{kind}{}", self.lines)
    }

    fn receive(&mut self, request: usize, text: &str) {
        self.stage.fact_of(
            &format!("r{request}"),
            json!({"type": "request.received", "text": text, "settings": {"model": "test/model", "maxSteps": 25}}),
        );
    }

    fn fact(&mut self, fact: serde_json::Value) {
        let request = format!("r{}", self.request);
        self.stage.fact_of(&request, fact);
        self.stage.now += 100;
    }

    fn begin(&mut self) {
        self.fact(json!({"type": "route", "decision": "direct", "confidence": 1.0, "complexity": 0, "categories": [],
            "reason": "work"}));
        self.call();
    }

    fn call(&mut self) {
        self.call += 1;
        self.expected.append(&mut self.steering);
        (self.text, self.thinks) = (String::new(), String::new());
        let call = format!("c{}", self.call);
        self.fact(json!({"type": "model.called", "call": call, "model": "test/model", "attempt": 1}));
    }

    fn delta(&mut self, text: &str, thinking: &str) {
        let call = format!("c{}", self.call);
        let request = format!("r{}", self.request);
        // What comes live has no number.
        let event = json!({"type": "reply.delta", "call": call, "text": text, "thinking": thinking, "seq": null});
        self.stage.fact_of(&request, event);
        self.stage.now += 50;
    }

    fn saves(&mut self, partial: bool) {
        let call = format!("c{}", self.call);
        let mut parts = Vec::new();
        if !self.thinks.is_empty() {
            parts.push(json!({"type": "thinking", "text": self.thinks}));
        }
        parts.push(json!({"type": "text", "text": self.text}));
        self.fact(
            json!({"type": "reply.saved", "call": call, "stopReason": "end_turn", "usage": {}, "partial": partial,
            "message": {"role": "assistant", "parts": parts}}),
        );
    }

    fn ends(&mut self, status: &str) {
        if status == "completed" {
            self.saves(false);
            let text = self.text.clone();
            self.fact(json!({"type": "answer", "summary": text}));
        } else {
            self.fact(json!({"type": "request.stopping"}));
            self.saves(true);
        }
        self.expected.append(&mut self.steering);
        self.fact(json!({"type": "request.finished", "status": status, "usage": {}}));
        if self.queued.is_empty() {
            let text = self.mark("SAID");
            self.request += 100;
            let request = self.request;
            self.receive(request, &text);
            self.expected.push(text);
        } else {
            let (id, text) = self.queued.remove(0);
            self.request = id[1..].parse().expect("a number");
            self.expected.push(text);
        }
        self.begin();
    }

    fn happens(&mut self, what: &Happens) {
        match what {
            Happens::Writes => {
                let line = self.mark("LINE");
                let text = format!("{line} some words of an answer that goes on for a while\n\n");
                self.text.push_str(&text);
                self.expected.push(line);
                self.delta(&text, "");
            }
            Happens::Thinks if self.text.is_empty() => {
                let thought = format!("{} hm, let me see. ", self.mark("thought"));
                self.thinks.push_str(&thought);
                self.delta("", &thought);
            }
            Happens::Thinks => {}
            Happens::Steers => {
                let text = self.mark("STEER");
                let id = self.mark("r9");
                let into = format!("r{}", self.request);
                self.stage.fact_of(&id, json!({"type": "request.joined", "text": text, "into": into}));
                self.fact(json!({"type": "request.steered", "text": text, "by": "user"}));
                self.steering.push(text);
            }
            Happens::Queues => {
                let text = self.mark("QUEUED");
                let id: usize = 1_000 + self.lines;
                self.receive(id, &text);
                self.stage
                    .fact_of(&format!("r{id}"), json!({"type": "stage", "stage": "intake", "label": "Analyzing"}));
                let banner = json!({"type": "banner", "level": "info", "text": "Queued."});
                self.stage.fact_of(&format!("r{id}"), banner);
                self.queued.push((format!("r{id}"), text));
            }
            Happens::TakesBack => {
                if let Some((id, _)) = self.queued.pop() {
                    self.stage.key("alt-up");
                    self.stage.fact_of(&id, json!({"type": "request.finished", "status": "cancelled", "usage": {}}));
                    self.stage.key("ctrl-c");
                }
            }
            Happens::UsesTool => {
                self.saves(false);
                let path = self.mark("FILE");
                let call = format!("t{}", self.lines);
                let input = json!({"path": path});
                self.fact(json!({"type": "tool.started", "call": call, "name": "read_file", "input": input}));
                self.fact(json!({"type": "tool.finished", "call": call, "status": "ok", "preview": "x"}));
                self.expected.push(path);
                self.call();
            }
            Happens::Asks => {
                self.saves(false);
                let command = json!({"command": "rm -rf build"});
                self.fact(json!({"type": "tool.started", "call": "c1", "name": "run_command", "input": command}));
                self.fact(permission());
                self.draw();
                self.fact(json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "allow", "by": "user"}));
                self.fact(json!({"type": "tool.finished", "call": "c1", "status": "ok", "preview": "x"}));
                self.call();
            }
            Happens::Fails => {
                let call = format!("c{}", self.call);
                let error = json!({"kind": "network", "message": "No connection"});
                self.fact(json!({"type": "model.failed", "call": call, "error": error, "retryInMs": 500}));
                self.call();
            }
            Happens::Ends => self.ends("completed"),
            Happens::Stops => self.ends("cancelled"),
            Happens::Resizes(width, height) => self.resize(*width, *height),
            Happens::Covers => {
                self.stage.key("ctrl-o");
                self.draw();
                self.stage.key("esc");
                self.draw();
            }
            Happens::Draws => self.draw(),
        }
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.draw();
        // A terminal that becomes lower keeps the row of its cursor: rows above it go into the scrollback.
        let (y, x) = self.parser.screen().cursor_position();
        let (rows, _) = self.parser.screen().size();
        let gone = (y + 1).saturating_sub(height);
        let scrolled = format!("\u{1b}[{rows};1H{}\u{1b}[{};{}H", "\n".repeat(usize::from(gone)), y - gone + 1, x + 1);
        self.parser.process(scrolled.as_bytes());
        self.parser.screen_mut().set_size(height, width);
        let (y, x) = self.parser.screen().cursor_position();
        self.screen.resized(Size { width, height }, Some(Position { x, y }));
        self.stage.app.size = Size { width, height };
        self.draw();
    }

    fn draw(&mut self) {
        match self.stage.app.cover() {
            Some(over) => self.screen.cover(over).expect("writes"),
            None => {
                self.screen.uncover().expect("writes");
                let above = self.stage.app.finished(usize::MAX);
                let live = self.stage.app.live();
                self.screen.frame(&above, live).expect("writes");
            }
        }
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
    }

    /// All that was printed, without the live region.
    fn printed(&mut self) -> String {
        self.screen.leave().expect("writes");
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
        let (_, columns) = self.parser.screen().size();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let gone = self.parser.screen().scrollback();
        let mut rows = Vec::new();
        for first in 0..gone {
            self.parser.screen_mut().set_scrollback(gone - first);
            rows.extend(self.parser.screen().rows(0, columns).take(1));
        }
        self.parser.screen_mut().set_scrollback(0);
        rows.extend(self.parser.screen().rows(0, columns));
        rows.join("\n")
    }
}

/// The words that mark a line, in the order of the screen.
fn marks(text: &str) -> Vec<String> {
    let is_mark = |word: &&str| {
        let kinds = ["LINE", "SAID", "STEER", "QUEUED", "FILE"];
        kinds.iter().any(|kind| word.strip_prefix(kind).is_some_and(|rest| rest.parse::<u32>().is_ok()))
    };
    text.split_whitespace().filter(is_mark).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_the_conversation_is_on_the_screen_once_and_in_order(all in proptest::collection::vec(happens(), 1..60)) {
        let mut play = Play::new();
        play.draw();
        for what in &all {
            play.happens(what);
        }
        play.ends("completed");
        while !play.queued.is_empty() {
            play.ends("completed");
        }
        // The last request has begun and has said nothing.
        play.draw();
        let printed = play.printed();
        prop_assert_eq!(marks(&printed), play.expected.clone(), "{}", printed);
    }
}

/// The reproductions of the first defect.
#[test]
fn queueing_and_taking_back_during_a_reply_print_it_once() {
    use Happens::{Draws, Queues, Steers, TakesBack, Writes};
    for between in [vec![Queues], vec![Queues, Draws, TakesBack], vec![Steers, Draws, Queues, Draws, TakesBack]] {
        let mut play = Play::new();
        for _ in 0..18 {
            play.happens(&Writes);
            play.draw();
        }
        between.iter().for_each(|what| play.happens(what));
        for _ in 0..22 {
            play.happens(&Writes);
            play.draw();
        }
        play.ends("completed");
        play.draw();
        let printed = play.printed();
        assert_eq!(marks(&printed), play.expected, "{between:?}\n{printed}");
    }
}

#[test]
fn messages_stay_below_until_their_turn() {
    let mut play = Play::new();
    play.happens(&Happens::Writes);
    play.happens(&Happens::Steers);
    play.happens(&Happens::Queues);
    let screen = play.stage.screen();
    assert!(screen.contains("steers: STEER3") && screen.contains("queued: QUEUED5"), "{screen}");
    assert!(!screen.contains("› STEER3") && !screen.contains("› QUEUED5"), "{screen}");
    play.call();
    let screen = play.stage.screen();
    assert!(screen.contains("› STEER3") && !screen.contains("steers: STEER3"), "{screen}");
}

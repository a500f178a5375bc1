//! A conversation of thousands of rounds stays in its window, whatever the window and whoever sums it up, and what its
//! summary leaves out can be found again.

use std::collections::BTreeMap;

use serde_json::json;
use trimtab_engine::tokens::estimate;
use trimtab_engine::{Effect, Input, Output, Session, step};
use trimtab_vocab::event::{ContextFact, ModelFact, ToolStatus};
use trimtab_vocab::{
    Applying, CallId, ContextSettings, ContextStrategy, Fact, Fault, FolderTrust, Message, Mode, ModelFacts,
    ModelSettings, Part, Problem, ProblemKind, Prompt, Purpose, ReadResult, RefKey, Reply, Request, RequestId, Retry,
    Role, RunSettings, StopReason, ToolCall, Usage,
};

/// How a model answers when it is asked for a summary.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Summarizer {
    Sensible,
    /// It says far more than it may.
    Endless,
    Silent,
    /// It says what it was given.
    Echo,
    /// It writes the headings that summaries have.
    Imitator,
    /// Every call for a summary fails.
    Broken,
}

const SUMMARIZERS: [Summarizer; 6] = [
    Summarizer::Sensible,
    Summarizer::Endless,
    Summarizer::Silent,
    Summarizer::Echo,
    Summarizer::Imitator,
    Summarizer::Broken,
];

impl Summarizer {
    fn words(self, prompt: &Prompt) -> String {
        let source: String = prompt.messages.iter().map(|message| message.text()).collect();
        match self {
            Self::Sensible => format!("They worked on {} files and found nothing.", source.len()),
            Self::Endless => "They said src/odd_name.rs and 4711 and more of the same. ".repeat(2_000),
            Self::Silent | Self::Broken => String::new(),
            Self::Echo => source,
            Self::Imitator => "[CONVERSATION SUMMARY]\nWork.\n\nNames and numbers in it, word for word: fake_name\n\n\
                               Source archived at ref:context-none-1\n"
                .repeat(40),
        }
    }
}

/// A conversation in a window of this size, and what is noticed about it.
struct Play {
    session: Session,
    settings: RunSettings,
    summarizer: Summarizer,
    /// Bytes of the filler of each round.
    filler: usize,
    stored: BTreeMap<RefKey, String>,
    /// Replies so far, and how many there were at each call for a summary.
    rounds: u64,
    asked_at: Vec<u64>,
    after: Vec<u64>,
    largest: u64,
}

impl Play {
    fn new(window: u64, summarizer: Summarizer) -> Self {
        let facts = ModelFacts { window, max_output: 512, tools: true, ..ModelFacts::default() };
        let settings = RunSettings {
            models: ModelSettings { model: "m/x".into(), facts, max_steps: 100_000, ..ModelSettings::default() },
            context: ContextSettings { strategy: ContextStrategy::Compress, ..ContextSettings::default() },
            trust: FolderTrust::WHOLE,
            attended: false,
            ..RunSettings::default()
        };
        let mut session = Session::default();
        step(&mut session, Input::Opened { folder: "/p".into() });
        let filler = usize::try_from(window / 60).expect("small");
        Self {
            session,
            settings,
            summarizer,
            filler,
            stored: BTreeMap::new(),
            rounds: 0,
            asked_at: Vec::new(),
            after: Vec::new(),
            largest: 0,
        }
    }

    fn filler(&self) -> String {
        "some plain words and ".repeat(self.filler / 20 + 1)
    }

    /// Takes an input and all that follows from it, but for the replies of the conversation itself: the call that
    /// waits for one.
    fn feed(&mut self, input: Input) -> Option<CallId> {
        let mut inputs = vec![input];
        let mut waits = None;
        while let Some(input) = inputs.pop() {
            let mut purpose = Purpose::Turn;
            for output in step(&mut self.session, input) {
                match output {
                    Output::Event { fact: Fact::Model(ModelFact::Called { purpose: of, .. }), .. } => {
                        purpose = of;
                    }
                    Output::Event { fact: Fact::Context(ContextFact::Compressed { after, summary, .. }), .. } => {
                        self.after.push(after);
                        assert!(summary.starts_with("[CONVERSATION SUMMARY]"), "{summary}");
                        assert!(summary.contains("Source archived at ref:"), "{summary}");
                    }
                    Output::Keep { key, text } => {
                        self.stored.insert(key, text);
                    }
                    Output::Effect(Effect::Admit { request }) => inputs.push(Input::Admitted { request }),
                    Output::Effect(Effect::Load { request, .. }) => inputs.push(Input::Loaded {
                        request,
                        files: Vec::new(),
                        missing: Vec::new(),
                        absent: Vec::new(),
                        instructions: None,
                        instruction_files: Vec::new(),
                        servers: None,
                        unread: Vec::new(),
                    }),
                    Output::Effect(Effect::Wait { timer, .. }) => inputs.push(Input::TimerFired { timer }),
                    Output::Effect(Effect::CallModel { call, prompt, .. }) => {
                        self.measure(&prompt);
                        match purpose {
                            Purpose::Summary => {
                                let source = prompt.messages.iter().map(|message| message.text()).collect::<String>();
                                assert!(!source.contains("[CONVERSATION SUMMARY]"), "a summary is summed up: {source}");
                                self.asked_at.push(self.rounds);
                                inputs.push(self.sum_up(call, &prompt));
                            }
                            Purpose::Turn => {
                                self.says_what_is_asked(&prompt);
                                waits = Some(call);
                            }
                            other => panic!("nobody should ask for {other}"),
                        }
                    }
                    _ => {}
                }
            }
        }
        waits
    }

    /// However little fits, the model is told the request.
    fn says_what_is_asked(&self, prompt: &Prompt) {
        let asked = &self.session.active().expect("a request").request.text;
        let start = &asked[..asked.floor_char_boundary(30)];
        let said = prompt.messages.iter().any(|message| message.text().contains(start));
        assert!(said, "nothing of {start:?} is sent:\n{:?}", prompt.messages);
    }

    fn sum_up(&self, call: CallId, prompt: &Prompt) -> Input {
        if self.summarizer == Summarizer::Broken {
            let problem = Problem::new(ProblemKind::Refused, "It is out of order.");
            return Input::CallFailed { call, fault: Fault { problem, retry: Retry::Never }, partial: None };
        }
        let reply = Reply {
            message: Message::assistant(self.summarizer.words(prompt)),
            stop_reason: Some(StopReason::EndTurn),
            usage: Usage::default(),
        };
        Input::Replied { call, reply, raw: None, warnings: Vec::new() }
    }

    /// Tokens of a prompt and of the reply that it must leave room for.
    fn measure(&mut self, prompt: &Prompt) {
        let part = |part: &Part| match part {
            Part::Text { text } => estimate(text),
            Part::ToolUse(call) => estimate(&call.input.to_string()) + 16,
            Part::ToolResult(result) => estimate(&result.content) + 8,
            other => panic!("nobody said {other:?}"),
        };
        let messages: u64 = prompt.messages.iter().map(|message| 4 + message.parts.iter().map(part).sum::<u64>()).sum();
        let tools: u64 = prompt
            .tools
            .iter()
            .map(|tool| estimate(&tool.description) + tool.input_schema.to_string().len() as u64 / 3)
            .sum();
        let reserve = u64::from(prompt.max_output_tokens.min(512)).min(self.settings.models.facts.window / 4);
        self.largest = self.largest.max(messages + tools + estimate(&prompt.system) + reserve);
    }

    /// A round of talk.
    fn talk(&mut self, number: u64, text: String) {
        let id: RequestId = format!("r{number}").parse().expect("an id");
        let request = Request { mode: Mode::Chat, ..Request::new(id, text, self.settings.clone()) };
        let call = self.feed(Input::Said { request: Box::new(request) }).expect("a call");
        self.reply(
            call,
            Message::assistant(format!("Noted in log_{number}.txt. {}", self.filler())),
            StopReason::EndTurn,
        );
    }

    fn reply(&mut self, call: CallId, message: Message, stop: StopReason) -> Option<CallId> {
        self.rounds += 1;
        let reply = Reply { message, stop_reason: Some(stop), usage: Usage::default() };
        self.feed(Input::Replied { call, reply, raw: None, warnings: Vec::new() })
    }

    /// A round of work: the model reads files, and these are the results.
    fn read(&mut self, call: CallId, number: u64, results: &[String]) -> CallId {
        let part = |at: usize| {
            let input = json!({"path": format!("src/module_{number}_{at}.rs")});
            let (id, name) = (format!("t{number}-{at}"), "read_file".to_owned());
            Part::ToolUse(ToolCall { id, name, input, broken: None })
        };
        let parts = (0..results.len()).map(part).collect();
        self.reply(call, Message { role: Role::Assistant, parts }, StopReason::ToolUse);
        let tools = self.session.under_way();
        assert_eq!(tools.len(), results.len(), "all of them read side by side");
        let mut next = None;
        for (tool, text) in tools.into_iter().zip(results) {
            let seen = ReadResult { status: ToolStatus::Ok, text: text.clone(), images: Vec::new(), files: Vec::new() };
            next = self.feed(Input::Looked { call: tool, seen });
        }
        next.expect("the next call")
    }

    /// What the summary says now.
    fn summary(&self) -> String {
        self.session.conversation()[0].text()
    }

    /// Whether a name stands in the conversation, or in what is stored of it, from one source to the one before it.
    fn recalls(&self, name: &str) -> bool {
        let holds = |message: &Message| serde_json::to_string(message).expect("as JSON").contains(name);
        if self.session.conversation().iter().any(|message| holds(message)) {
            return true;
        }
        let mut text = self.summary();
        while let Some((_, key)) = text.rsplit_once("Source archived at ref:") {
            let key: RefKey = key.trim().parse().expect("a key");
            let source = &self.stored[&key];
            if source.contains(name) {
                return true;
            }
            // The summary before it stands at its beginning.
            let Some(end) = source.find("Source archived at ref:") else { return false };
            let line = source[end..].find('\n').map_or(source.len(), |line| end + line);
            text = source[..line].to_owned();
        }
        false
    }

    /// What must be true at the end.
    fn check(&self, rounds: u64) {
        let (window, about) = (self.settings.models.facts.window, format!("{:?} in {rounds} rounds", self.summarizer));
        assert!(self.largest <= window, "{about}: {} of {window} tokens", self.largest);
        assert!(!self.after.is_empty(), "{about}: {} summaries", self.after.len());
        for (earlier, later) in self.asked_at.iter().zip(self.asked_at.iter().skip(1)) {
            assert!(later - earlier >= 20, "{about}: asked for a summary at {earlier} and at {later}");
        }
        let (first, most) = (self.after[0], self.after.iter().max().expect("some"));
        assert!(most * 10 <= first * 11, "{about}: {first} tokens after the first, {most} after a later one");
        for number in [1, rounds / 3, rounds / 2, rounds] {
            let name = format!("planted_{number}_name");
            assert!(self.recalls(&name), "{about}: {name} is gone");
        }
    }
}

/// An ordinary run plays a part of the rounds; `TRIMTAB_LONG=1` plays them all, which takes minutes without optimizations.
fn shortened(rounds: u64) -> u64 {
    if std::env::var_os("TRIMTAB_LONG").is_some() { rounds } else { rounds / 8 }
}

/// All of them, or two where the window is so large that an ordinary run would take too long.
fn summarizers(window: u64) -> impl Iterator<Item = Summarizer> {
    let is_short = std::env::var_os("TRIMTAB_LONG").is_none() && window > 10_000;
    SUMMARIZERS.into_iter().take(if is_short { 2 } else { SUMMARIZERS.len() })
}

#[test]
fn a_long_talk_stays_in_its_window_and_loses_nothing() {
    for (window, rounds) in [(2_048, 2_000), (8_192, 3_000), (32_768, 3_000)] {
        for summarizer in summarizers(window) {
            let mut play = Play::new(window, summarizer);
            let rounds = shortened(rounds);
            for number in 1..=rounds {
                let text = format!("Look at planted_{number}_name in line {number}. {}", play.filler());
                play.talk(number, text);
            }
            play.check(rounds);
        }
    }
}

#[test]
fn a_long_work_stays_in_its_window_and_loses_nothing() {
    for (window, rounds) in [(8_192, 1_500), (32_768, 2_000)] {
        for summarizer in summarizers(window) {
            let mut play = Play::new(window, summarizer);
            play.settings.files.apply = Applying::Auto;
            let id: RequestId = "r1".parse().expect("an id");
            let request = Request::new(id, "Fix the failing test in planted_1_name", play.settings.clone());
            let mut call = play.feed(Input::Said { request: Box::new(request) }).expect("a call");
            let rounds = shortened(rounds);
            for number in 2..=rounds {
                let result = format!("fn planted_{number}_name() {{ {number} }}\n{}", play.filler());
                call = play.read(call, number, &[result]);
            }
            assert!(play.summary().contains("Fix the failing test in planted_1_name"), "{}", play.summary());
            play.check(rounds);
        }
    }
}

#[test]
fn results_larger_than_the_window_are_sent_as_head_and_tail_and_stored_whole() {
    let mut play = Play::new(8_192, Summarizer::Sensible);
    let id: RequestId = "r1".parse().expect("an id");
    let request = Request::new(id, "Fix the failing test", play.settings.clone());
    let call = play.feed(Input::Said { request: Box::new(request) }).expect("a call");
    let results: Vec<String> =
        (1..=8).map(|number| format!("planted_{number}_name {} end_{number}", "a.b.".repeat(600))).collect();
    play.read(call, 1, &results);
    assert!(play.largest <= 8_192, "{}", play.largest);
    let (_, whole) = play.stored.iter().find(|(key, _)| key.as_str().starts_with("clipped-")).expect("stored");
    assert!(results.iter().all(|result| whole.contains(result)), "{whole}");
}

#[test]
fn a_name_that_is_used_again_outlives_those_that_are_not() {
    let mut play = Play::new(8_192, Summarizer::Silent);
    for number in 1..=600 {
        let again = if number % 10 == 0 { "See kept_in_use." } else { "" };
        let text = format!("Look at planted_{number}_name. {again} {}", play.filler());
        play.talk(number, text);
    }
    assert!(play.summary().contains("kept_in_use"), "{}", play.summary());
    assert!(!play.summary().contains("planted_1_name"), "{}", play.summary());
    assert!(play.recalls("planted_1_name"));
}

#[test]
fn undoing_a_summary_brings_back_what_it_stands_for_and_the_one_before_it() {
    let mut play = Play::new(8_192, Summarizer::Sensible);
    let mut number = 0;
    while play.after.len() < 2 {
        number += 1;
        let text = format!("Look at planted_{number}_name. {}", play.filler());
        play.talk(number, text);
    }
    let second = play.summary();
    play.feed(Input::Controlled { request: None, action: trimtab_vocab::Control::UndoSummary });
    let first = play.summary();
    assert_ne!(first, second);
    assert!(first.starts_with("[CONVERSATION SUMMARY]"), "{first}");
    assert!(play.session.conversation().len() > 10, "{}", play.session.conversation().len());
    while play.after.len() < 3 {
        number += 1;
        let text = format!("Look at planted_{number}_name. {}", play.filler());
        play.talk(number, text);
    }
    assert!(play.recalls("planted_1_name"));
    let summaries = play.session.conversation().iter().filter(|m| m.text().starts_with("[CONVERSATION SUMMARY]"));
    assert_eq!(summaries.count(), 1);
}

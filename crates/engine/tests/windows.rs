//! What a refusal or a reply teaches about a model, and how the same request continues with it.

use trimtab_engine::{Effect, Input, Output, Session, step};
use trimtab_vocab::event::{BannerFact, ContextFact, LoadedFile, RequestFact, Status};
use trimtab_vocab::{
    AnswerProtocol, Fact, Fault, FolderTrust, Format, ImageRef, LearnedFacts, Message, Mode, ModelFacts, ModelSettings,
    Part, Problem, ProblemKind, Prompt, RefKey, Reply, Request, RequestId, Retry, Role, RunSettings, StopReason, Usage,
};

fn id() -> RequestId {
    "r1".parse().expect("an id")
}

/// A session with a request whose model is believed to be like this.
struct Work {
    session: Session,
    outputs: Vec<Output>,
}

impl Work {
    fn begin(facts: ModelFacts, mode: Mode, text: &str, images: usize, files: Vec<LoadedFile>) -> Self {
        let settings = RunSettings {
            models: ModelSettings { model: "m/x".into(), facts, ..ModelSettings::default() },
            trust: FolderTrust::WHOLE,
            ..RunSettings::default()
        };
        let image = |number| ImageRef { key: RefKey::image_of(&id(), number), media_type: "image/png".into() };
        let images = (0..images).map(image).collect();
        let request = Request { mode, images, ..Request::new(id(), text, settings) };
        let mut work = Self { session: Session::default(), outputs: Vec::new() };
        work.take(Input::Opened { folder: "/p".into() });
        work.take(Input::Said { request: Box::new(request) });
        work.take(Input::Admitted { request: id() });
        if work.effect(|effect| matches!(effect, Effect::Load { .. })) {
            work.load(files);
        }
        work
    }

    fn load(&mut self, files: Vec<LoadedFile>) {
        self.take(Input::Loaded {
            request: id(),
            files,
            missing: Vec::new(),
            absent: Vec::new(),
            instructions: None,
            instruction_files: Vec::new(),
            servers: None,
            unread: Vec::new(),
        });
    }

    fn take(&mut self, input: Input) {
        self.outputs = step(&mut self.session, input);
    }

    fn refuse(&mut self, retry: Retry) {
        let call = self.session.open_call().expect("a call").clone();
        let problem = Problem::new(ProblemKind::Refused, "refused");
        self.take(Input::CallFailed { call, fault: Fault { problem, retry }, partial: None });
        // The wait before the next try is none, and ends at once.
        let timer = self.outputs.iter().find_map(|output| match output {
            Output::Effect(Effect::Wait { timer, .. }) => Some(timer.clone()),
            _ => None,
        });
        if let Some(timer) = timer {
            let mut before = std::mem::take(&mut self.outputs);
            self.take(Input::TimerFired { timer });
            before.append(&mut self.outputs);
            self.outputs = before;
        }
    }

    fn reply(&mut self, text: &str) {
        let call = self.session.open_call().expect("a call").clone();
        let message = Message { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] };
        let reply = Reply { message, stop_reason: Some(StopReason::EndTurn), usage: Usage::default() };
        self.take(Input::Replied { call, reply, raw: None, warnings: Vec::new() });
    }

    fn effect(&self, is_it: impl Fn(&Effect) -> bool) -> bool {
        self.outputs.iter().any(|output| matches!(output, Output::Effect(effect) if is_it(effect)))
    }

    fn fact<T>(&self, read: impl Fn(&Fact) -> Option<T>) -> Option<T> {
        self.outputs.iter().find_map(|output| match output {
            Output::Event { fact, .. } => read(fact),
            _ => None,
        })
    }

    fn learned(&self) -> Option<LearnedFacts> {
        self.fact(|fact| match fact {
            Fact::Request(RequestFact::Adjusted { learned, .. }) => Some(*learned),
            _ => None,
        })
    }

    fn prompt(&self) -> Prompt {
        let sent = self.outputs.iter().find_map(|output| match output {
            Output::Effect(Effect::CallModel { prompt, .. }) => Some(Prompt::clone(prompt)),
            _ => None,
        });
        sent.expect("a call")
    }

    fn status(&self) -> Option<Status> {
        self.fact(|fact| match fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        })
    }
}

fn file(path: &str, text: &str) -> LoadedFile {
    LoadedFile { path: path.into(), text: text.into(), hash: Some("h".into()) }
}

fn bytes(prompt: &Prompt) -> usize {
    prompt.messages.iter().map(|message| message.text().len()).sum()
}

#[test]
fn a_refused_prompt_is_sent_again_within_the_window_that_the_refusal_names() {
    let log =
        (1..=2_000).map(|n| format!("{n}\t2026-11-16 10:00:00 INFO request {n} took 12 ms\n")).collect::<String>();
    let mut work = Work::begin(ModelFacts::default(), Mode::Auto, "Summarize log.txt", 0, vec![file("log.txt", &log)]);
    let before = bytes(&work.prompt());
    work.refuse(Retry::Shorter { window: Some(2_048), prompt: Some(30_000) });
    let learned = work.learned().expect("a fact").window.expect("a window");
    assert!(learned <= 2_048, "{learned}");
    let sent = work.prompt();
    assert!(bytes(&sent) < before / 4, "{} of {before}", bytes(&sent));
    assert!(u64::from(sent.max_output_tokens) < learned);
    assert!(sent.messages.iter().any(|message| message.text().contains("Summarize log.txt")), "the words stay whole");
    assert_eq!(work.status(), None);
    // What was too long is summed up first.
    work.reply("It is a log of requests.");
    if work.status().is_none() {
        work.reply("It is a log of requests.");
    }
    assert_eq!(work.status(), Some(Status::Completed));
}

#[test]
fn a_model_that_refuses_every_length_ends_the_request() {
    let mut work = Work::begin(ModelFacts::default(), Mode::Chat, "Tell me a story.", 0, Vec::new());
    for _ in 0..10 {
        if work.status().is_some() {
            break;
        }
        work.refuse(Retry::Shorter { window: None, prompt: None });
    }
    assert_eq!(work.status(), Some(Status::Failed));
}

#[test]
fn a_conversation_of_a_small_window_is_summed_up_and_goes_on() {
    let facts = ModelFacts { window: 2_048, max_output: 512, ..ModelFacts::default() };
    let mut work = Work::begin(facts, Mode::Chat, "Tell me a story.", 0, Vec::new());
    assert!(work.prompt().max_output_tokens <= 512);
    work.reply(&"Once there was a creature who loved stories. ".repeat(200));
    assert_eq!(work.status(), Some(Status::Completed));
    let settings = RunSettings {
        models: ModelSettings { model: "m/x".into(), facts, ..ModelSettings::default() },
        ..RunSettings::default()
    };
    let next: RequestId = "r2".parse().expect("an id");
    let request = Request { mode: Mode::Chat, ..Request::new(next.clone(), "Just say ok.", settings) };
    work.take(Input::Said { request: Box::new(request) });
    work.take(Input::Admitted { request: next });
    let compresses = work.fact(|fact| matches!(fact, Fact::Context(ContextFact::Compressing { .. })).then_some(()));
    let fits = bytes(&work.prompt()) < 2_048 * 4;
    assert!(compresses.is_some() || fits, "neither summed up nor shortened");
}

#[test]
fn pictures_are_left_out_after_a_refusal_and_the_request_goes_on() {
    let mut work = Work::begin(ModelFacts::default(), Mode::Chat, "What colour is this?", 1, Vec::new());
    let has_picture =
        |prompt: &Prompt| prompt.messages.iter().any(|m| m.parts.iter().any(|part| matches!(part, Part::Image { .. })));
    assert!(has_picture(&work.prompt()), "nobody knows whether it sees");
    work.refuse(Retry::WithoutImages);
    assert_eq!(work.learned().and_then(|learned| learned.images), Some(false));
    let says = work.fact(|fact| match fact {
        Fact::Banner(BannerFact { text, .. }) => text.contains("cannot read images").then_some(()),
        _ => None,
    });
    assert!(says.is_some(), "the person is told");
    assert!(!has_picture(&work.prompt()));
    work.reply("I cannot see it.");
    assert_eq!(work.status(), Some(Status::Completed));
}

#[test]
fn a_blind_model_never_gets_a_picture() {
    let facts = ModelFacts { blind: true, ..ModelFacts::default() };
    let work = Work::begin(facts, Mode::Chat, "What colour is this?", 1, Vec::new());
    let prompt = work.prompt();
    assert!(!prompt.messages.iter().any(|m| m.parts.iter().any(|part| matches!(part, Part::Image { .. }))));
    assert!(prompt.messages.iter().any(|message| message.text().contains("What colour is this?")));
}

#[test]
fn fewer_tools_are_offered_in_a_small_window() {
    let tools = |window| {
        let facts = ModelFacts { window, ..ModelFacts::default() };
        Work::begin(facts, Mode::Auto, "Fix the failing test in a.rs", 0, Vec::new()).prompt().tools.len()
    };
    let (tiny, small, large) = (tools(4_096), tools(8_192), tools(32_768));
    assert!(tiny < small && small < large, "{tiny} {small} {large}");
    assert!(tiny >= 4);
}

#[test]
fn a_structured_answer_has_a_schema_and_edit_blocks_have_none() {
    let named = |protocol, mode| {
        let facts = ModelFacts::default().with_protocol(protocol);
        match Work::begin(facts, mode, "Fix the failing test in a.py", 0, Vec::new()).prompt().format {
            Some(Format::Schema { name, schema }) => {
                assert_eq!(schema["additionalProperties"], false, "{schema}");
                assert_eq!(schema["required"][0], "thought", "reasoning comes first: {schema}");
                Some(name)
            }
            Some(Format::Json) => panic!("no schema"),
            None => None,
        }
    };
    assert_eq!(named(AnswerProtocol::StructuredJson, Mode::Auto).as_deref(), Some("answer"));
    assert_eq!(named(AnswerProtocol::StructuredJson, Mode::Plan).as_deref(), Some("plan"));
    assert_eq!(named(AnswerProtocol::EditBlocks, Mode::Auto), None);
    assert_eq!(named(AnswerProtocol::NativeTools, Mode::Auto), None);
}

#[test]
fn edit_blocks_are_asked_for_with_the_raw_file_and_become_changes() {
    let facts = ModelFacts::default().with_protocol(AnswerProtocol::EditBlocks);
    let calc = file("calc.py", "1\tdef add(a, b):\n2\t    return a - b\n");
    let mut work = Work::begin(facts, Mode::Auto, "Fix add in calc.py", 0, vec![calc]);
    let prompt = work.prompt();
    assert!(prompt.tools.is_empty());
    assert!(prompt.system.contains("its name alone on a line"));
    let shown: String = prompt.messages.iter().map(|message| message.text()).collect();
    assert!(!shown.contains("SEARCH"), "a short file is written whole");
    assert!(shown.ends_with("then its complete new text in a fence."), "{shown}");
    assert_eq!(prompt.temperature, Some(0.2));
    assert!(shown.contains("calc.py\n```\ndef add(a, b):\n    return a - b\n```"), "{shown}");
    work.reply("calc.py\n```python\ndef add(a, b):\n    return a + b\n```\n\nadd returns the sum.");
    assert!(work.effect(|effect| matches!(effect, Effect::Prepare { .. })), "{:?}", work.outputs);
}

#[test]
fn a_small_model_is_told_last_what_kind_of_answer_is_wanted() {
    let shown = |text: &str, files: Vec<LoadedFile>| -> String {
        let facts = ModelFacts::default().with_protocol(AnswerProtocol::EditBlocks);
        let work = Work::begin(facts, Mode::Auto, text, 0, files);
        work.prompt().messages.iter().map(|message| message.text()).collect()
    };
    let list = || LoadedFile { path: "Files in the folder:".into(), text: "calc.py".into(), hash: None };
    let long: String = (1..=100).map(|number| format!("{number}\tline_{number} = {number}\n")).collect();
    let told = shown("Fix add in calc.py", vec![list(), file("calc.py", &long)]);
    assert!(told.starts_with("Let the greeting"), "an example comes first: {told}");
    assert!(told.contains("<<<<<<< SEARCH"), "a long file may be changed in part: {told}");
    let told = shown("What does calc.py do?", vec![list(), file("calc.py", "1\ta = 1\n")]);
    assert!(told.ends_with("Do not repeat a file.") && !told.contains("greeting"), "{told}");
    let told = shown("Fix the bug in parser.py", vec![list()]);
    assert!(told.contains("There is no file parser.py."), "{told}");
    let told = shown("Create parser.py", vec![list()]);
    assert!(!told.contains("There is no file"), "{told}");
    assert!(!told.contains("The folder is"), "paths are named inside of the folder: {told}");
}

#[test]
fn a_model_that_cannot_write_the_object_goes_over_to_edit_blocks() {
    let facts = ModelFacts::default().with_protocol(AnswerProtocol::StructuredJson);
    let mut work = Work::begin(facts, Mode::Auto, "Fix add in calc.py", 0, Vec::new());
    let broken = "{\"thought\": \"fix\", \"fileChanges\": [{\"path\" \"calc.py\" content}}";
    for _ in 0..4 {
        if work.learned().is_some() {
            break;
        }
        work.reply(broken);
    }
    assert_eq!(work.learned().and_then(|learned| learned.protocol), Some(AnswerProtocol::EditBlocks));
    assert!(work.effect(|effect| matches!(effect, Effect::Load { overview: Some(_), .. })), "it is shown the files");
    work.load(vec![file("calc.py", "1\tdef add(a, b):\n2\t    return a - b\n")]);
    assert!(work.prompt().system.contains("its name alone on a line"));
}

#[test]
fn a_model_that_writes_its_calls_as_text_twice_goes_over_to_the_object() {
    let mut work = Work::begin(ModelFacts::default(), Mode::Auto, "Fix add in calc.py", 0, Vec::new());
    assert!(!work.prompt().tools.is_empty());
    for _ in 0..4 {
        if work.learned().is_some() {
            break;
        }
        work.reply("```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"calc.py\"}}\n```");
        let reads: Vec<_> = work
            .outputs
            .iter()
            .filter_map(|output| match output {
                Output::Effect(Effect::Read { call, .. }) => Some(call.clone()),
                _ => None,
            })
            .collect();
        for call in reads {
            let (text, images, files) = ("1\tx\n".into(), Vec::new(), Vec::new());
            let seen = trimtab_vocab::ReadResult { status: trimtab_vocab::event::ToolStatus::Ok, text, images, files };
            work.take(Input::Looked { call, seen });
        }
    }
    assert_eq!(work.learned().and_then(|learned| learned.protocol), Some(AnswerProtocol::StructuredJson));
    if work.effect(|effect| matches!(effect, Effect::Load { .. })) {
        work.load(Vec::new());
    }
    let prompt = work.prompt();
    assert!(prompt.tools.is_empty() && matches!(prompt.format, Some(Format::Schema { .. })));
    let is_of_tools = |part: &Part| matches!(part, Part::ToolUse(_) | Part::ToolResult(_));
    assert!(!prompt.messages.iter().any(|message| message.parts.iter().any(is_of_tools)), "they are told in words");
}

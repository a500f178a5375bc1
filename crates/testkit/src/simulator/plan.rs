//! What a simulated model means to do: for each request some rounds of tools and then an answer, all
//! a pure function of the seed and the request's name. How far it is, it tells from the prompt alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trimtab_vocab::{Message, Part, Prompt, Role, StopReason};

use super::subtasks;
use crate::dice::Dice;

/// Opens the words with which the engine asks how far a request came.
const STEP_LIMIT: &str = "[STEP LIMIT]";
/// In a summary, what stands before the request's own words.
const WORD_FOR_WORD: &str = "The current request, word for word: ";

/// Opens the words with which a step of a plan is begun.
const PLAN_STEP: &str = "[PLAN STEP ";

/// What a round is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doing {
    /// The request itself.
    Work,
    /// A plan for it.
    Planning,
    /// The step of its plan with this number.
    Step(u32),
}

/// What the assistant over the tasks wants of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AssistantCall {
    Route,
    Chat,
    Propose,
    Repair,
    Summary,
}

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ask {
    /// The next step of a request.
    Round { name: String, round: u32, doing: Doing },
    /// Which path a request should take.
    Look { name: String },
    /// What a conversation came to; it may be asked more than once.
    Compile { name: String, number: u32 },
    /// How far a request came; it may be asked more than once.
    Assessment { name: String, number: u32 },
    /// A summary, with the marks that it must not lose.
    Summary { marks: Vec<String> },
    /// A plan of sub-tasks, for the first time or after one that could not be used.
    Breakdown { name: String, number: u32 },
    /// What two changes of a file come to.
    Merge { text: String },
    /// Something about the person's tasks.
    Assistant { name: String, call: AssistantCall },
}

/// What the model says to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) words: String,
    pub(super) calls: Vec<PlannedCall>,
    pub(super) stop: Option<StopReason>,
}

/// A tool that it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedCall {
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) arguments: String,
}

/// What the model means to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) seed: u64,
    /// There are people who agree first, and it plans where it is to.
    pub(super) flows: bool,
    /// There are workers, and it hands work to them where it is to.
    pub(super) subtasks: bool,
}

/// The name of a request: its first word. Sub-tasks that were joined are called after the first of them.
pub(super) fn name_of(text: &str) -> &str {
    unnumbered(text).split_whitespace().next().unwrap_or_default()
}

fn unnumbered(text: &str) -> &str {
    text.strip_prefix("1. ").unwrap_or(text)
}

/// Whether these words are a request.
fn is_request(text: &str) -> bool {
    unnumbered(text).starts_with("say-")
}

/// The file that a request writes; nobody else touches it.
pub(super) fn file_of(name: &str) -> String {
    format!("{name}.txt")
}

impl Plan {
    pub(super) fn dice(self, name: &str, round: u32) -> Dice {
        Dice::new(name.bytes().fold(self.seed ^ (u64::from(round) << 40), |h, b| h.rotate_left(9) ^ u64::from(b)))
    }

    /// Rounds of tools before the answer. A third of all requests are mere conversation.
    pub(super) fn rounds(self, name: &str) -> u32 {
        match self.dice(name, 1_000).below(6) {
            n if subtasks::is_worker(name) && !self.is_stubborn(name) => 1 + n as u32 / 2,
            0 | 1 => 0,
            _ if self.is_stubborn(name) => 4,
            n => n as u32 - 1,
        }
    }

    /// Now and then a model asks for the same again and again.
    fn is_stubborn(self, name: &str) -> bool {
        self.dice(name, 2_000).once_in(6)
    }

    pub(super) fn turn(self, ask: &Ask) -> Turn {
        match ask {
            Ask::Summary { marks } => Turn {
                words: format!("In short: {}.", marks.join("; ")),
                calls: Vec::new(),
                stop: Some(StopReason::EndTurn),
            },
            Ask::Assessment { name, number } => self.assessment(name, *number),
            Ask::Assistant { name, call } => self.assist(name, *call),
            Ask::Look { name } => self.look(name),
            Ask::Breakdown { name, number } => self.breakdown(name, *number),
            Ask::Merge { text } => self.merged(text),
            Ask::Compile { name, number } => self.compile(name, *number),
            Ask::Round { name, round, doing: Doing::Planning } if self.flows => self.planning(name, *round),
            Ask::Round { name, round, doing: Doing::Step(step) } => self.step(name, *round, *step),
            Ask::Round { name, round, .. } if *round >= self.rounds(name) => self.answer(name, *round),
            Ask::Round { name, round, .. } if self.is_stubborn(name) => Turn {
                words: format!("round-{round}-of-{name}; I look around."),
                calls: vec![PlannedCall {
                    id: format!("{name}-r{round}-t0"),
                    name: "list_files",
                    arguments: String::new(),
                }],
                stop: Some(StopReason::ToolUse),
            },
            Ask::Round { name, round, .. } => self.work(name, *round),
        }
    }

    /// The one right answer, with the round in which it is given: words of a person may make it another.
    fn answer(self, name: &str, round: u32) -> Turn {
        let words = format!("round-{round}-of-{name}; The answer to {name} is {} — naïve 🦀.", name.len());
        let stop = (!self.dice(name, 3_000 + round).once_in(8)).then_some(StopReason::EndTurn);
        Turn { words, calls: Vec::new(), stop }
    }

    fn assessment(self, name: &str, number: u32) -> Turn {
        let mut dice = self.dice(name, 4_000 + number);
        let banner =
            ["✅ GOAL ACHIEVED\n", "⚠ GOAL PARTIALLY ACHIEVED\n", "GOAL NOT ACHIEVED\n", ""][dice.below(4) as usize];
        let words = format!("{banner}assessed-{number}-of-{name}; So far.");
        // Some models do not hear that there are no more tools.
        let disobeys = dice.once_in(5);
        let call = || PlannedCall {
            id: format!("{name}-a{number}"),
            name: "run_command",
            arguments: json!({"command": format!("never {name} {number}")}).to_string(),
        };
        let stop = Some(if disobeys { StopReason::ToolUse } else { StopReason::EndTurn });
        Turn { words, calls: disobeys.then(call).into_iter().collect(), stop }
    }

    /// A look at a request: any path, sometimes with questions, sometimes nothing that could be read.
    fn look(self, name: &str) -> Turn {
        let mut dice = self.dice(name, 7_000);
        let decision = ["direct", "plan", "plan", "clarify", "clarify", "chat"][dice.below(6) as usize];
        let questions = match dice.below(3) {
            0 => json!([{"text": "For whom?"}, {"text": "Which one?", "options": ["this", "that"]}]),
            1 => json!([{"text": "Which one?", "options": ["this", "that"], "several": true}]),
            _ => json!([]),
        };
        let missing = if dice.once_in(3) { json!(["purpose"]) } else { json!([]) };
        let (complexity, confidence) = (dice.below(100), dice.below(100) as f64 / 100.0);
        let verdict = json!({"decision": decision, "confidence": confidence, "complexity": complexity,
            "steps": dice.below(6), "toolNeed": 0.9, "missing": missing, "questions": questions});
        let words = if dice.once_in(8) { "I would rather not say.".into() } else { verdict.to_string() };
        Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) }
    }

    /// What the assistant over the tasks hears: any path, operations that can and that cannot be, and words.
    fn assist(self, name: &str, call: AssistantCall) -> Turn {
        let mut dice = self.dice(name, 9_000 + call as u32);
        let words = match call {
            AssistantCall::Route => {
                let decision = ["plan", "plan", "chat", "clarify"][dice.below(4) as usize];
                let confidence = dice.below(100) as f64 / 100.0;
                json!({"decision": decision, "confidence": confidence, "question": "Which one?"}).to_string()
            }
            AssistantCall::Propose | AssistantCall::Repair => {
                let id = 1 + dice.below(9);
                let operations = json!([{"op": "create", "title": "By the assistant"}, {"op": "complete", "id": id}]);
                json!({"operations": operations}).to_string()
            }
            AssistantCall::Chat | AssistantCall::Summary => format!("This is about {name}."),
        };
        let words = if dice.once_in(8) { "I would rather not say.".into() } else { words };
        Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) }
    }

    /// What a conversation came to, in the wanted form or in words.
    fn compile(self, name: &str, number: u32) -> Turn {
        let mut dice = self.dice(name, 8_000 + number);
        let summary = format!("compiled-{number}-of-{name}; So it shall be.");
        let words = match dice.once_in(4) {
            true => summary,
            false => json!({"summary": summary, "decisions": ["so"], "open": ["who"]}).to_string(),
        };
        Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) }
    }

    /// A round of planning: most propose a plan; some look first, try what is not allowed, propose what cannot be,
    /// tell a plan in words, or find that nothing is to be done.
    fn planning(self, name: &str, round: u32) -> Turn {
        let mut dice = self.dice(name, 5_000 + round);
        let words = format!("round-{round}-of-{name}; I plan.");
        let end = Some(StopReason::EndTurn);
        let call = |index: usize, name_of: &'static str, input: Value| PlannedCall {
            id: format!("{name}-r{round}-t{index}"),
            name: name_of,
            arguments: input.to_string(),
        };
        let place = format!("{name}-{round}");
        let calls = match dice.below(12) {
            0 => return Turn { words: format!("{words}\n1. First\n2. Second"), calls: Vec::new(), stop: end },
            1 => return Turn { words, calls: Vec::new(), stop: end },
            2 => vec![
                call(0, "write_file", json!({"path": file_of(name), "content": "too early\n"})),
                call(1, "run_command", json!({"command": format!("frob {place}")})),
                call(2, "fetch_url", json!({"url": format!("https://host0.example/{place}")})),
            ],
            3 => {
                vec![call(0, "search", json!({"pattern": place})), call(1, "read_file", json!({"path": "shared.txt"}))]
            }
            4 => {
                let steps = json!([{"title": "a", "dependsOn": [2]}, {"title": "b", "dependsOn": [1]}]);
                vec![call(0, "propose_plan", json!({"steps": steps}))]
            }
            _ => vec![call(0, "propose_plan", json!({"steps": Self::steps(&mut dice)}))],
        };
        Turn { words, calls, stop: Some(StopReason::ToolUse) }
    }

    /// Steps, some of which wait for others wherever those stand in the list.
    fn steps(dice: &mut Dice) -> Vec<Value> {
        let count = 1 + dice.below(4);
        let backwards = dice.once_in(2);
        let step = |number: u64| {
            let earlier = if backwards { number + 1..=count } else { 1..=number - 1 };
            let depends_on: Vec<u64> = earlier.filter(|_| dice.once_in(2)).collect();
            json!({"title": format!("do {number}"), "dependsOn": depends_on})
        };
        (1..=count).map(step).collect()
    }

    /// A round of a step: tools, its end, or that it cannot be done.
    fn step(self, name: &str, round: u32, step: u32) -> Turn {
        let mut dice = self.dice(name, 6_000 + round);
        let end = |words: String| Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) };
        match dice.below(8) {
            0..4 => end(format!("round-{round}-of-{name}; Step {step} is done.")),
            4 => end(format!("STEP FAILED round-{round}-of-{name}; Step {step} cannot be done.")),
            _ => {
                let Turn { words, calls, stop } = self.work(name, round);
                Turn { words: format!("{words} It is step {step}."), calls, stop }
            }
        }
    }

    fn work(self, name: &str, round: u32) -> Turn {
        let mut dice = self.dice(name, round);
        let words = format!("round-{round}-of-{name}; I work on it.");
        if dice.once_in(12) {
            return Turn { words, calls: Vec::new(), stop: Some(StopReason::ToolUse) };
        }
        let count = 1 + dice.below(4) as usize;
        let calls = match subtasks::is_worker(name) {
            true => (0..count).map(|index| Self::worker_call(&mut dice, name, round, index)).collect(),
            false if self.subtasks && round == 0 && dice.once_in(2) => vec![self.delegation(name, round)],
            false => (0..count).map(|index| Self::call(&mut dice, name, round, index)).collect(),
        };
        let stop = match dice.below(20) {
            0 => Some(StopReason::MaxTokens),
            1 => Some(StopReason::EndTurn),
            2 => None,
            _ => Some(StopReason::ToolUse),
        };
        Turn { words, calls, stop }
    }

    fn call(dice: &mut Dice, name: &str, round: u32, index: usize) -> PlannedCall {
        let (file, place) = (file_of(name), format!("{name}-{round}-{index}"));
        let begins = round == 0 && index == 0;
        let (tool, input) = match if begins { 9 } else { dice.below(26) } {
            0 => ("read_file", json!({"path": file})),
            1 => {
                let path = ["shared.txt", "picture.png", "nowhere.txt"][dice.below(3) as usize];
                ("read_file", json!({"path": path}))
            }
            2 | 3 => ("search", json!({"pattern": place})),
            4 if dice.once_in(2) => ("list_files", json!({"path": place, "depth": "3"})),
            4 => ("find_files", json!({"pattern": format!("{place}*")})),
            5..9 => ("run_command", json!({"command": format!("frob {place}")})),
            9..11 => ("write_file", json!({"path": file, "content": format!("begin\nline {place}\nend\n")})),
            11..14 => {
                // Done twice, the line would be there twice.
                let block = json!({"search": "begin\n", "replace": format!("begin\nmore {place}\n")});
                ("edit_file", json!({"path": file, "blocks": [block]}))
            }
            14 => ("delete_file", json!({"path": file})),
            15 => ("move_file", json!({"from": file, "to": format!("{place}.txt")})),
            16 => ("set_steps", json!({"steps": [{"text": place, "completed": dice.once_in(2)}, "more"]})),
            17 | 18 => ("ask_user", json!({"question": format!("Which for {place}?"), "options": ["this", "that"]})),
            19..22 => {
                let host = dice.below(2);
                ("fetch_url", json!({"url": format!("https://host{host}.example/{place}")}))
            }
            22 => ("read_ref", json!({"key": format!("ref:{place}")})),
            23 => ("destroy", json!({"what": place})),
            24 => ("read_file", json!({"file": 7})),
            _ => ("write_file", Value::Null),
        };
        // Arguments that are not JSON at all.
        let arguments = if input.is_null() { format!("{{\"path\": \"{place}") } else { input.to_string() };
        PlannedCall { id: format!("{name}-r{round}-t{index}"), name: tool, arguments }
    }
}

/// What a prompt asks for; an error if it cannot be told, which no real model could either.
/// `is_passed_on` tells words that were said to a request that ran from requests of their own. `stored` has the texts
/// that a prompt refers to: a summary is of bounded size, so how far a request came may stand in its source alone.
pub(super) fn read(
    prompt: &Prompt,
    is_passed_on: impl Fn(&str) -> bool,
    stored: impl Fn(&str) -> Option<String>,
) -> Result<Ask, String> {
    let texts: Vec<&str> = prompt.messages.iter().flat_map(|message| words(message)).collect();
    if let Some(call) = call(&prompt.system, texts.last().copied().unwrap_or_default()) {
        let is_between = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
        let mut words = texts.last().into_iter().flat_map(|text| text.split(is_between));
        let name = words.rfind(|word| word.starts_with("ask-")).ok_or("nothing is asked about the tasks")?;
        return Ok(Ask::Assistant { name: name.to_owned(), call });
    }
    if prompt.system.starts_with("You classify a request") {
        let asked = texts.last().and_then(|text| text.rsplit_once("Request:\n")).map(|(_, text)| name_of(text));
        let name = asked.ok_or("nothing is to be looked at")?.to_owned();
        return Ok(Ask::Look { name });
    }
    if prompt.system.starts_with("You summarize a part") || prompt.system.starts_with("You get summaries") {
        let mut marks: Vec<String> = texts.iter().flat_map(|text| marks(text)).map(|(mark, ..)| mark).collect();
        marks.sort();
        marks.dedup();
        return Ok(Ask::Summary { marks });
    }
    if prompt.system.starts_with("Two people changed") {
        return Ok(Ask::Merge { text: texts.join("\n") });
    }
    let said = |text: &&str| {
        let copied = text.find(WORD_FOR_WORD).map(|at| &text[at + WORD_FOR_WORD.len()..]);
        [Some(*text), copied]
            .into_iter()
            .flatten()
            .find(|text| is_request(text))
            .map(name_of)
            .filter(|name| !is_passed_on(name))
            .map(str::to_owned)
    };
    let from_user = prompt.messages.iter().filter(|message| message.role == Role::User);
    let asked: Vec<&str> = from_user.flat_map(|message| words(message)).collect();
    let name = asked.iter().rev().find_map(said).ok_or("the prompt does not say what is asked")?;
    if prompt.system.starts_with("You break a request") {
        return Ok(Ask::Breakdown { number: u32::from(prompt.system.contains("could not be used")), name });
    }
    let sources = sources(&texts, stored);
    let next = |kind: &str| {
        let known = texts.iter().copied().chain(sources.iter().map(String::as_str)).flat_map(marks);
        let known = known.filter(|(_, of, _, whose)| of == kind && *whose == name);
        known.map(|(_, _, number, _)| number + 1).max().unwrap_or(0)
    };
    let unanswered = prompt.messages.iter().rev().take_while(|message| message.role == Role::User);
    // An earlier request may have ended without an answer to that.
    let mine = unanswered.flat_map(|message| words(message)).take_while(|text| !is_request(text));
    if mine.into_iter().any(|text| text.starts_with(STEP_LIMIT)) {
        return Ok(Ask::Assessment { number: next("assessed"), name });
    }
    if prompt.system.contains("Compile the conversation into requirements") {
        return Ok(Ask::Compile { number: next("compiled"), name });
    }
    let since = asked.iter().rposition(|text| said(text).as_ref() == Some(&name)).unwrap_or(0);
    let step = asked[since..].iter().rev().find_map(|text| step_of(text));
    let doing = match step {
        _ if is_planning(&asked) => Doing::Planning,
        Some(step) => Doing::Step(step),
        None => Doing::Work,
    };
    Ok(Ask::Round { round: next("round"), name, doing })
}

/// What summaries and cut texts leave out, from one source to the one before it.
fn sources(texts: &[&str], stored: impl Fn(&str) -> Option<String>) -> Vec<String> {
    fn keys(text: &str) -> Vec<String> {
        let is_between = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | ':'));
        let refs = text.split(is_between).filter_map(|word| word.strip_prefix("ref:"));
        refs.filter(|key| key.starts_with("context-") || key.starts_with("clipped-")).map(str::to_owned).collect()
    }
    let mut left: Vec<String> = texts.iter().flat_map(|text| keys(text)).collect();
    let mut found = BTreeMap::new();
    while let Some(key) = left.pop() {
        if let (false, Some(text)) = (found.contains_key(&key), stored(&key)) {
            left.extend(keys(&text));
            found.insert(key, text);
        }
    }
    found.into_values().collect()
}

/// Whether the last that was told about it says that nothing is done yet.
fn is_planning(asked: &[&str]) -> bool {
    let last = asked.iter().rev().find_map(|text| text.strip_prefix("[CONTEXT: mode] "));
    last.is_some_and(|mode| mode.starts_with("This is plan mode"))
}

/// What is wanted, if it is about the person's tasks.
fn call(system: &str, text: &str) -> Option<AssistantCall> {
    if system.contains("You are an intent router for a todo assistant") {
        Some(AssistantCall::Route)
    } else if system.contains("You plan changes to a person's todo list") {
        Some(if text.contains("Fix these problems") { AssistantCall::Repair } else { AssistantCall::Propose })
    } else if system.contains("You are a helpful assistant for a todo app") {
        Some(if text.contains("Proposed operations (count:") { AssistantCall::Summary } else { AssistantCall::Chat })
    } else {
        None
    }
}

/// The number of the step that words begin, or that a summary says is worked on.
fn step_of(text: &str) -> Option<u32> {
    let begins = text.lines().filter_map(|line| line.strip_prefix(PLAN_STEP)).next_back()?;
    begins.split(' ').next()?.parse().ok()
}

fn words(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// The marks in a text, `round-2-of-say-3-0` and the like: each whole, and its parts.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (String, String, u32, String)> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter_map(|token| {
        let (kind, rest) = token.split_once('-')?;
        let (number, name) = rest.split_once("-of-")?;
        let known = matches!(kind, "round" | "assessed" | "compiled") && name.starts_with("say-");
        known.then_some((token.to_owned(), kind.to_owned(), number.parse().ok()?, name.to_owned()))
    })
}

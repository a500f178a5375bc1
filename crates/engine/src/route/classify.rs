//! The model call that classifies a request before it starts, and the parser of its answer.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::{Analysis, Choosable, Format, Prompt, Question, Routing};

use crate::fragment::{self, Fragment};
use crate::proposal::recover::json::{self as reader, Object, Schema};

/// Questions at most.
pub(super) const QUESTIONS: usize = 4;
/// Answers to choose from at most.
const OPTIONS: usize = 7;
/// Characters of anything that is shown to the user.
const LONGEST: usize = 300;
/// Bytes of the request that are sent.
const WORDS: usize = 6_000;
/// Bytes of each part of the prompt.
const CAP: usize = 16 * 1024;
/// Tokens of the answer.
pub(super) const ANSWER: u32 = 700;

const SYSTEM: &str = "You classify a request to an assistant that works in the user's folder. You do not do the work. Answer with one JSON object and nothing else:\n\
- decision: \"chat\" if a text answers it, \"direct\" if it can be done at once, \"plan\" if it takes three or more steps, files, or concerns, \"clarify\" if it cannot be done well without an answer from the user, \"image\" if it asks for an image.\n\
- confidence: 0 to 1, how sure you are.\n\
- complexity: 0 to 100; steps, files: about how many; concerns: of frontend, backend, config, docs, tests, data, infrastructure.\n\
- toolNeed: 0 to 1, how likely it is that files, commands, or pages are needed.\n\
- categories: of files, commands, web: what it needs.\n\
- missing: of purpose, inputs, outputs, constraints: information that the request does not give, that is not in the folder, and that would change the work.\n\
- questions: for each of them one short question with two to five short options.\n\
- reason: one short sentence.\n\
Information that the assistant can find in the folder is not missing.";

const EAGER: &str = "\nThe user wants to be asked: name everything that is ambiguous.";
const BRISK: &str = "\nThe user prefers action: ask only if nothing sensible could be done without an answer.";

/// What the model is sent.
pub(super) fn prompt(routing: Routing, text: &str, turns: &[(bool, String)]) -> Prompt {
    fragment::prompt(&[
        Fragment::stable("router", SYSTEM, CAP),
        Fragment::stable("questions", if routing == Routing::Aggressive { EAGER } else { BRISK }, CAP),
        Fragment::request(words(text, turns), CAP),
    ])
}

/// What it is shown: the last turns, and the request.
fn words(text: &str, turns: &[(bool, String)]) -> String {
    let mut shown = String::new();
    if !turns.is_empty() {
        shown.push_str("Conversation so far:\n");
        for (user, said) in turns {
            let who = if *user { "user" } else { "assistant" };
            let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
            shown.push_str(&format!("- {who}: {}\n", shortened(&said)));
        }
        shown.push('\n');
    }
    shown.push_str("Request:\n");
    shown.push_str(&fragment::capped(text, WORDS));
    shown
}

/// The form of the answer, where a provider can hold a model to one.
pub(super) fn format() -> Format {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let question = json!({
        "type": "object",
        "properties": {"text": text, "options": texts},
        "required": ["text", "options"],
        "additionalProperties": false
    });
    let properties = json!({
        "decision": {"type": "string", "enum": ["chat", "direct", "plan", "clarify", "image"]},
        "confidence": {"type": "number"},
        "complexity": {"type": "integer"},
        "steps": {"type": "integer"},
        "files": {"type": "integer"},
        "concerns": texts,
        "toolNeed": {"type": "number"},
        "categories": texts,
        "missing": texts,
        "questions": {"type": "array", "items": question},
        "reason": text
    });
    let names: Vec<&String> = properties.as_object().map(Map::keys).into_iter().flatten().collect();
    let schema = json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
    Format::Schema { name: "request_analysis".into(), schema }
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let option = Object::new()
        .field("id", Schema::words())
        .field_or("title", &["label", "text"], Schema::words())
        .needs(&["title"])
        .plain(&["title"]);
    let question = Object::new()
        .field("id", Schema::words())
        .field_or("text", &["question"], Schema::words())
        .field("options", Schema::list(option))
        .field_or("several", &["multiple", "multi"], Schema::Truth)
        .needs(&["text"])
        .plain(&["text"]);
    let texts = || Schema::List(Box::new(Schema::words()));
    Schema::Object(
        Object::new()
            .field_or("decision", &["route", "intent"], Schema::words())
            .field("confidence", Schema::Number)
            .field("complexity", Schema::Number)
            .field("steps", Schema::Number)
            .field("files", Schema::Number)
            .field("concerns", texts())
            .field_or("toolNeed", &["tools"], Schema::Number)
            .field("categories", texts())
            .field("missing", texts())
            .field_or("questions", &["question"], Schema::list(question))
            .field("reason", Schema::words()),
    )
});

/// The model's classification of the request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RouteClass {
    pub(super) decision: RouteDecision,
    pub(super) confidence: f64,
    pub(super) complexity: u8,
    pub(super) categories: Vec<String>,
    pub(super) reason: String,
    pub(super) analysis: Analysis,
}

/// Reads the answer; none if there is nothing to read.
pub(super) fn read(words: &str) -> Option<RouteClass> {
    let value = reader::read(words, &SCHEMA).ok()?.value;
    let number = |name: &str| value.get(name).and_then(Value::as_f64).filter(|n| n.is_finite());
    let texts = |name: &str, known: &[&str]| -> Vec<String> {
        let list = value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut found: Vec<String> = Vec::new();
        for text in list.iter().filter_map(Value::as_str).map(|text| text.trim().to_lowercase()) {
            if known.contains(&text.as_str()) && !found.contains(&text) {
                found.push(text);
            }
        }
        found
    };
    let fraction = |name: &str| number(name).map(|n| if n > 1.0 && n <= 100.0 { n / 100.0 } else { n.clamp(0.0, 1.0) });
    let count = |name: &str| number(name).map_or(0, |n| n.clamp(0.0, 10_000.0) as u32);
    let decision = match value.get("decision").and_then(Value::as_str).map(|text| text.trim().to_lowercase()).as_deref()
    {
        Some("chat") => RouteDecision::Chat,
        Some("direct") => RouteDecision::Direct,
        Some("clarify") => RouteDecision::Clarify,
        Some("image") => RouteDecision::Image,
        // In doubt, a plan shows it before anything is done.
        _ => RouteDecision::Plan,
    };
    let reason = value.get("reason").and_then(Value::as_str).map(shortened).unwrap_or_default();
    Some(RouteClass {
        decision,
        confidence: fraction("confidence").unwrap_or(0.0),
        complexity: number("complexity").map_or(0, |n| n.clamp(0.0, 100.0) as u8),
        categories: texts("categories", &["files", "commands", "web"]),
        reason,
        analysis: Analysis {
            steps: count("steps"),
            files: count("files"),
            concerns: texts("concerns", &["frontend", "backend", "config", "docs", "tests", "data", "infrastructure"]),
            missing: texts("missing", &["purpose", "inputs", "outputs", "constraints"]),
            questions: questions(&value),
            tool_need: fraction("toolNeed"),
        },
    })
}

fn questions(value: &Value) -> Vec<Question> {
    let list = value.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(shortened).unwrap_or_default();
    let one = |(number, question): (usize, &Value)| {
        let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let titles = options.iter().map(|option| text(option, "title")).filter(|title| !title.is_empty());
        let options = titles
            .take(OPTIONS)
            .enumerate()
            .map(|(at, title)| Choosable { id: format!("o{}", at + 1), title, scheduled_for: None })
            .collect();
        Question {
            id: format!("q{}", number + 1),
            text: text(question, "text"),
            options,
            several: question.get("several").and_then(Value::as_bool).unwrap_or(false),
        }
    };
    let asked = list.iter().filter(|question| !text(question, "text").is_empty());
    asked.take(QUESTIONS).enumerate().map(one).collect()
}

/// One line of bounded length without control characters: it is shown to the user.
fn shortened(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_whole() {
        let verdict = read(
            r#"{"decision":"Clarify","confidence":0.9,"complexity":40,"steps":4,"files":2,"concerns":["backend","docs","magic"],
                "toolNeed":0.8,"categories":["files","teleport"],"missing":["purpose","outputs"],
                "questions":[{"text":"Which one?","options":["a","b"]},{"question":"Why?"}],"reason":"two are unclear"}"#,
        )
        .expect("read");
        assert_eq!((verdict.decision, verdict.confidence, verdict.complexity), (RouteDecision::Clarify, 0.9, 40));
        assert_eq!(verdict.categories, ["files"]);
        assert_eq!(verdict.analysis.concerns, ["backend", "docs"]);
        assert_eq!(verdict.analysis.missing, ["purpose", "outputs"]);
        let asked: Vec<(&str, usize)> = verdict
            .analysis
            .questions
            .iter()
            .map(|question| (question.text.as_str(), question.options.len()))
            .collect();
        assert_eq!(asked, [("Which one?", 2), ("Why?", 0)]);
    }

    #[test]
    fn damage_and_nonsense_are_taken_for_a_careful_plan_or_for_nothing() {
        for (words, decision, confidence) in [
            ("```json\n{\"decision\": \"direct\", \"confidence\": \"0.8\",}\n```", RouteDecision::Direct, 0.8),
            ("<think>{\"decision\":\"chat\"}</think>{'decision': 'plan', 'confidence': 85}", RouteDecision::Plan, 0.85),
            ("{\"confidence\": 0.5}", RouteDecision::Plan, 0.5),
            ("{\"decision\":\"destroy\",\"confidence\":-3}", RouteDecision::Plan, 0.0),
            ("{\"decision\":\"chat\",\"confidence\":1e999}", RouteDecision::Chat, 0.0),
        ] {
            let verdict = read(words).unwrap_or_else(|| panic!("{words}"));
            assert_eq!((verdict.decision, verdict.confidence), (decision, confidence), "{words}");
        }
        assert_eq!(read("I would say this is a plan."), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn what_a_person_is_shown_is_bounded_and_plain() {
        let question =
            format!("{{\"text\":\"a\\u001b[31m{}\",\"options\":[{}]}}", "x".repeat(1_000), "\"o\",".repeat(20));
        let many = format!("{{\"decision\":\"clarify\",\"questions\":[{}]}}", vec![question; 9].join(","));
        let questions = read(&many).expect("read").analysis.questions;
        assert_eq!((questions.len(), questions[0].options.len()), (QUESTIONS, OPTIONS));
        assert!(questions[0].text.chars().count() <= LONGEST && !questions[0].text.contains('\u{1b}'));
    }

    #[test]
    fn the_request_comes_last_and_is_bounded() {
        let shown = words(&"ü".repeat(10_000), &[(true, "hello\nthere".into()), (false, "hi".into())]);
        assert!(shown.starts_with("Conversation so far:\n- user: hello there\n- assistant: hi\n\nRequest:\nü"));
        assert!(shown.len() < WORDS + 150 && shown.ends_with("more bytes are left out ...]"));
        let system = |routing| prompt(routing, "", &[]).system;
        assert!(system(Routing::Aggressive).len() < 1_800 && system(Routing::Minimal).ends_with("without an answer."));
    }
}

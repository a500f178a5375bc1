//! Parses the router's verdict tolerantly.

use std::sync::LazyLock;

use serde_json::Value;
use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::{Category, Date, Entities, ScheduledRange, TaskId, Where};

use super::prompt::line;
use super::scope;
use crate::proposal::recover::json::{self as reader, Object, Schema};

/// Characters of anything that is shown to the user.
const LONGEST: usize = 300;
/// Numbers of tasks that are taken from an answer.
const IDS: usize = 200;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let texts = || Schema::List(Box::new(Schema::words()));
    let ids = || Schema::List(Box::new(Schema::Number));
    let option = Object::new()
        .field("id", Schema::Number)
        .field("title", Schema::words())
        .field("scheduledFor", Schema::words())
        .needs(&["id"]);
    let entities = Object::new()
        .field("date", Schema::words())
        .field("priority", Schema::words())
        .field("ids", ids())
        .field("text", Schema::words());
    let range = Object::new().field("from", Schema::words()).field("to", Schema::words());
    let filter = Object::new()
        .field("ids", ids())
        .field("scheduled_range", Schema::Object(range))
        .field("priority", Schema::words())
        .field("completed", Schema::Truth)
        .field("repeating", Schema::Truth);
    Schema::Object(
        Object::new()
            .field_or("decision", &["route", "intent"], Schema::words())
            .field("category", Schema::words())
            .field("confidence", Schema::Number)
            .field("question", Schema::words())
            .field("options", Schema::list(option))
            .field("entities", Schema::Object(entities))
            .field("missing", texts())
            .field("where", Schema::Object(filter)),
    )
});

/// The router's verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RouterVerdict {
    /// Chat, plan or clarify.
    pub(super) decision: Option<RouteDecision>,
    pub(super) category: Option<Category>,
    pub(super) confidence: f64,
    pub(super) question: String,
    /// The tasks that it would let the user choose from.
    pub(super) options: Vec<TaskId>,
    pub(super) entities: Entities,
    pub(super) missing: Vec<String>,
    pub(super) filter: Where,
}

/// Reads the router's answer; none if there is nothing to read.
pub(super) fn read(words: &str, today: Date) -> Option<RouterVerdict> {
    let value = reader::read(words, &SCHEMA).ok()?.value;
    let decision = match text(&value, "decision").to_lowercase().as_str() {
        "chat" => RouteDecision::Chat,
        "clarify" => RouteDecision::Clarify,
        _ => RouteDecision::Plan,
    };
    let category = text(&value, "category").to_lowercase();
    let confidence = value.get("confidence").and_then(Value::as_f64).filter(|n| n.is_finite()).unwrap_or(0.0);
    let entities = value.get("entities").map(|value| entities(value, today)).unwrap_or_default();
    let filter = value.get("where").map(|value| filter(value, today)).unwrap_or_default();
    let options = value.get("options").and_then(Value::as_array).into_iter().flatten();
    let missing = value.get("missing").and_then(Value::as_array).into_iter().flatten();
    Some(RouterVerdict {
        decision: Some(decision),
        category: Category::ALL.into_iter().find(|known| known.name() == category),
        confidence: if confidence > 1.0 && confidence <= 100.0 {
            confidence / 100.0
        } else {
            confidence.clamp(0.0, 1.0)
        },
        question: line(&text(&value, "question"), LONGEST),
        options: options.filter_map(|option| number(option.get("id")?)).take(IDS).collect(),
        entities,
        missing: missing.filter_map(Value::as_str).map(|text| line(text, 40)).take(8).collect(),
        filter,
    })
}

fn entities(value: &Value, today: Date) -> Entities {
    let about = line(&text(value, "text"), LONGEST);
    Entities {
        date: scope::day(&text(value, "date"), today),
        priority: scope::priority(&text(value, "priority")),
        ids: ids(value).unwrap_or_default(),
        text: (!about.is_empty()).then_some(about),
    }
}

fn filter(value: &Value, today: Date) -> Where {
    let range = value.get("scheduled_range").map(|range| ScheduledRange {
        from: scope::day(&text(range, "from"), today),
        to: scope::day(&text(range, "to"), today),
    });
    let truth = |name: &str| value.get(name).and_then(Value::as_bool);
    Where {
        ids: ids(value).filter(|ids| !ids.is_empty()),
        scheduled_range: range.filter(|range| *range != ScheduledRange::default()),
        priority: scope::priority(&text(value, "priority")),
        completed: truth("completed"),
        repeating: truth("repeating"),
        ..Where::default()
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

fn ids(value: &Value) -> Option<Vec<TaskId>> {
    Some(value.get("ids")?.as_array()?.iter().filter_map(number).take(IDS).collect())
}

/// A number, also where it was written as a text.
fn number(value: &Value) -> Option<TaskId> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0).map(|n| n as u64))
        .or_else(|| value.as_str()?.trim().trim_start_matches('#').parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(words: &str) -> Option<RouterVerdict> {
        read(words, "2026-11-15".parse().expect("a day"))
    }

    #[test]
    fn the_documented_answer_is_read_whole() {
        let read = verdict(
            r#"{"decision":"clarify","category":"task","confidence":0.5,"question":"Which one?","options":[{"id":123,"title":"A","scheduledFor":null}],"entities":{"date":"2026-11-16","priority":"high","ids":[1,2],"text":"report"},"missing":["target"],"where":{"ids":[1,2],"scheduled_range":{"from":"2026-11-15","to":"2026-11-16"},"priority":"high","completed":false,"repeating":true}}"#,
        )
        .expect("one");
        assert_eq!((read.decision, read.confidence), (Some(RouteDecision::Clarify), 0.5));
        assert_eq!(
            (read.category, read.question.as_str(), read.options.as_slice()),
            (Some(Category::Task), "Which one?", &[123][..])
        );
        assert_eq!(
            serde_json::to_string(&read.entities).expect("JSON"),
            r#"{"date":"2026-11-16","priority":"high","ids":[1,2],"text":"report"}"#
        );
        assert_eq!(
            serde_json::to_string(&read.filter).expect("JSON"),
            r#"{"ids":[1,2],"scheduled_range":{"from":"2026-11-15","to":"2026-11-16"},"priority":"high","completed":false,"repeating":true}"#
        );
        assert_eq!(read.missing, ["target"]);
    }

    #[test]
    fn damage_and_nonsense_are_taken_for_a_plan_or_for_nothing() {
        for (words, decision, confidence) in [
            ("```json\n{\"decision\":\"CHAT\",\"confidence\":0.9}\n```", RouteDecision::Chat, 0.9),
            ("{\"confidence\":\"0.8\"}", RouteDecision::Plan, 0.8),
            ("{\"decision\":\"chat\"}", RouteDecision::Chat, 0.0),
            ("{\"decision\":\"destroy\",\"confidence\":85}", RouteDecision::Plan, 0.85),
            (
                "<think>{\"decision\":\"chat\"}</think><response>{\"decision\":\"plan\",\"confidence\":1}</response>",
                RouteDecision::Plan,
                1.0,
            ),
            ("{\"decision\":\"chat\",\"confidence\":1e999}", RouteDecision::Chat, 0.0),
        ] {
            let read = verdict(words).unwrap_or_else(|| panic!("{words}"));
            assert_eq!((read.decision, read.confidence), (Some(decision), confidence), "{words}");
        }
        assert_eq!(verdict("I would plan this."), None);
        assert_eq!(verdict(""), None);
    }

    #[test]
    fn numbers_written_as_texts_are_numbers_and_words_for_days_are_days() {
        let read =
            verdict(r##"{"decision":"plan","confidence":0.9,"entities":{"date":"tomorrow","ids":["12","#13"]}}"##)
                .expect("one");
        assert_eq!(read.entities.date.map(|date| date.to_string()).as_deref(), Some("2026-11-16"));
        let read = verdict(
            r#"{"decision":"plan","where":{"scheduled_range":{"from":"today","to":"soon"},"priority":"URGENT"}}"#,
        )
        .expect("one");
        assert_eq!(
            serde_json::to_string(&read.filter).expect("JSON"),
            r#"{"scheduled_range":{"from":"2026-11-15"},"priority":"high"}"#
        );
    }
}

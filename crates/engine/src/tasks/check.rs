//! Validates operations. Each error is a keyword for programs, a colon, and advice that is enough to repair the
//! operation.

use serde_json::{Map, Value};
use trimtab_vocab::{Category, Date, Operation, Priority, Repeat, Task, TaskFields, TimeOfDay, Weekday};

use super::occur;

/// The error for an operation that is not an object.
pub(super) const NOT_AN_OBJECT: &str = "invalid_op: an operation is an object with a field \"op\"";

/// A title is a line, not a text.
const LONGEST_TITLE: usize = 500;
/// Notes are a page or ten, not a book.
const LONGEST_NOTES: usize = 100_000;
/// More tags than this tell nothing apart.
const MOST_TAGS: usize = 50;
/// More ids than this are better said as a filter.
const MOST_IDS: usize = 10_000;
/// The largest `interval` of a recurrence.
const LONGEST_INTERVAL: u64 = 1_000;

const OPS: &str = "create, update, delete, complete, complete_occurrence, bulk_update, bulk_complete, bulk_delete";

/// Errors in the form of an operation, independent of the tasks.
pub(super) fn form(fields: &Map<String, Value>) -> Vec<String> {
    let mut errors = Vec::new();
    let op = match fields.get("op") {
        Some(Value::String(op)) => op.as_str(),
        _ => return vec![format!("invalid_op: set \"op\" to one of {OPS}")],
    };
    match op {
        "create" => {
            match fields.get("title").and_then(Value::as_str) {
                Some(title) if !title.is_empty() => (),
                _ => errors.push("missing_title: the task needs a title".into()),
            }
            task(fields, &mut errors);
            let kind = fields.get("recurrence").and_then(|recurrence| recurrence.get("type")).and_then(Value::as_str);
            if kind.is_some_and(|kind| kind != "none") && fields.get("scheduledFor").is_none_or(Value::is_null) {
                errors.push(MISSING_ANCHOR.into());
            }
        }
        "update" => {
            id(fields, &mut errors);
            changes(fields, &mut errors);
        }
        "delete" => id(fields, &mut errors),
        "complete" => {
            id(fields, &mut errors);
            flag(fields, "completed", &mut errors);
        }
        "complete_occurrence" => {
            id(fields, &mut errors);
            flag(fields, "completed", &mut errors);
            match fields.get("occurrenceDate").and_then(Value::as_str) {
                Some(date) if date.parse::<Date>().is_ok() => (),
                _ => errors.push("invalid_occurrenceDate: name the completed day as YYYY-MM-DD".into()),
            }
        }
        "bulk_update" => {
            filter(fields, &mut errors);
            match fields.get("set") {
                Some(Value::Object(set)) => changes(set, &mut errors),
                _ => errors.push("missing_set: name the new values as \"set\": {…}".into()),
            }
        }
        "bulk_complete" => {
            filter(fields, &mut errors);
            flag(fields, "completed", &mut errors);
        }
        "bulk_delete" => filter(fields, &mut errors),
        other => {
            let shown: String = other.chars().take(40).collect();
            errors.push(format!("invalid_op: there is no \"{shown}\"; use one of {OPS}"));
        }
    }
    errors
}

const MISSING_ANCHOR: &str = "missing_anchor: a repeating task needs scheduledFor, its first day";

fn id(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    match fields.get("id") {
        Some(id) if id.is_u64() => (),
        None | Some(Value::Null) => errors.push("missing_id: name the task by its number, as \"id\"".into()),
        Some(_) => errors.push("invalid_id: the id of a task is a number".into()),
    }
}

fn flag(fields: &Map<String, Value>, name: &str, errors: &mut Vec<String>) {
    if fields.get(name).is_some_and(|value| !value.is_boolean() && !value.is_null()) {
        errors.push(format!("invalid_{name}: use true or false"));
    }
}

fn is_day_or_null(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.parse::<Date>().is_ok())
}

fn is_one_of<'a>(value: &Value, names: impl IntoIterator<Item = &'a str>) -> bool {
    value.as_str().is_some_and(|text| names.into_iter().any(|name| name == text))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Fields to set on a task that is there.
fn changes(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    const NAMES: [&str; 10] = [
        "title",
        "notes",
        "category",
        "priority",
        "scheduledFor",
        "timeOfDay",
        "completed",
        "recurrence",
        "completedDates",
        "tags",
    ];
    if fields.get("title").and_then(Value::as_str).is_some_and(str::is_empty) {
        errors.push("missing_title: a title cannot be empty".into());
    }
    if !NAMES.iter().any(|name| fields.contains_key(*name)) {
        errors.push(format!("nothing_to_change: name at least one of {}", NAMES.join(", ")));
    }
    task(fields, errors);
}

/// The fields of a task that are given.
fn task(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    let mut check = |name: &str, is_right: &dyn Fn(&Value) -> bool, advice: &str| {
        if fields.get(name).is_some_and(|value| !is_right(value)) {
            errors.push(format!("invalid_{name}: {advice}"));
        }
    };
    let is_line = |value: &Value| {
        let text = value.as_str();
        text.is_some_and(|text| text.chars().count() <= LONGEST_TITLE && !text.contains(['\n', '\r', '\0']))
    };
    check("title", &is_line, "use one line of at most 500 characters");
    let is_text =
        |value: &Value| value.as_str().is_some_and(|text| text.len() <= LONGEST_NOTES && !text.contains('\0'));
    check("notes", &is_text, "use a text of at most 100,000 bytes");
    check("category", &|value| is_one_of(value, Category::ALL.map(Category::name)), "use habit, goal, task or event");
    check("priority", &|value| is_one_of(value, Priority::ALL.map(Priority::name)), "use low, medium or high");
    check("scheduledFor", &is_day_or_null, "use a day that exists, as YYYY-MM-DD, or null");
    let is_time =
        |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.parse::<TimeOfDay>().is_ok());
    check("timeOfDay", &is_time, "use HH:MM, 00:00 to 23:59, or null");
    check("completed", &Value::is_boolean, "use true or false");
    let are_tags = |value: &Value| {
        let is_tag = |tag: &str| tag.chars().count() <= 100 && !tag.contains(char::is_control);
        texts(value).is_some_and(|tags| tags.len() <= MOST_TAGS && tags.into_iter().all(is_tag))
    };
    let are_dates = |value: &Value| {
        let dates = texts(value).filter(|dates| dates.len() <= MOST_IDS);
        dates.is_some_and(|dates| dates.into_iter().all(|date| date.parse::<Date>().is_ok()))
    };
    check("completedDates", &are_dates, "use a list of days, each as YYYY-MM-DD");
    check("tags", &are_tags, "use a list of at most 50 short words");
    check("recurrence", &Value::is_object, "use {\"type\": …, \"until\": YYYY-MM-DD or null}");
    if let Some(Value::Object(recurrence)) = fields.get("recurrence") {
        self::recurrence(recurrence, errors);
    }
}

fn recurrence(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    let mut check = |name: &str, is_right: &dyn Fn(&Value) -> bool, advice: &str| {
        if fields.get(name).is_some_and(|value| !is_right(value)) {
            errors.push(format!("invalid_recurrence: {advice}"));
        }
    };
    let is_kind = |value: &Value| is_one_of(value, Repeat::ALL.map(Repeat::name));
    check("type", &is_kind, "use the type none, daily, weekdays, weekly, monthly or yearly");
    let is_interval = |value: &Value| value.as_u64().is_some_and(|number| (1..=LONGEST_INTERVAL).contains(&number));
    check("interval", &is_interval, "use an interval of 1 to 1000");
    let are_days = |value: &Value| serde_json::from_value::<Vec<Weekday>>(value.clone()).is_ok();
    check("weekdays", &are_days, "use weekdays like [\"mon\", \"thu\"]");
    check("until", &is_day_or_null, "use a day that exists as until, as YYYY-MM-DD, or null for no end");
}

fn filter(fields: &Map<String, Value>, errors: &mut Vec<String>) {
    let wanted = match fields.get("where") {
        Some(Value::Object(wanted)) => wanted,
        // To say nothing would mean every task: that must be meant, and said as {}.
        _ => return errors.push("missing_where: name the tasks as \"where\": {…}; {} means all tasks".into()),
    };
    let mut check = |name: &str, is_right: &dyn Fn(&Value) -> bool, advice: &str| {
        if wanted.get(name).is_some_and(|value| !is_right(value)) {
            errors.push(format!("invalid_where: {advice}"));
        }
    };
    let are_ids =
        |value: &Value| value.as_array().is_some_and(|ids| ids.len() <= MOST_IDS && ids.iter().all(Value::is_u64));
    check("ids", &are_ids, "ids are a list of at most 10000 numbers");
    check("text", &|value| value.as_str().is_some_and(|text| text.len() <= 1_000), "text is a few words");
    check("priority", &|value| is_one_of(value, Priority::ALL.map(Priority::name)), "priority is low, medium or high");
    let is_category = |value: &Value| is_one_of(value, Category::ALL.map(Category::name));
    check("category", &is_category, "category is habit, goal, task or event");
    check("tag", &Value::is_string, "tag is one word");
    check("completed", &Value::is_boolean, "completed is true or false");
    check("repeating", &Value::is_boolean, "repeating is true or false");
    let is_range = |value: &Value| {
        let Some(range) = value.as_object() else { return false };
        let end = |name: &str| range.get(name).map(|end| end.as_str().and_then(|text| text.parse::<Date>().ok()));
        match (end("from"), end("to")) {
            (Some(None), _) | (_, Some(None)) => false,
            (Some(Some(from)), Some(Some(to))) => from <= to,
            _ => true,
        }
    };
    check(
        "scheduled_range",
        &is_range,
        "scheduled_range is {\"from\": YYYY-MM-DD, \"to\": YYYY-MM-DD}, from before to",
    );
    const NAMES: [&str; 8] =
        ["ids", "text", "scheduled_range", "priority", "category", "tag", "completed", "repeating"];
    // A condition that is not understood must not be left out: the rest would fit more than was meant.
    for name in wanted.keys().filter(|name| !NAMES.contains(&name.as_str())).take(5) {
        let shown: String = name.chars().take(40).collect();
        errors.push(format!("invalid_where: there is no \"{shown}\"; use {}", NAMES.join(", ")));
    }
}

/// What is wrong about an operation on this task.
pub(super) fn fit(operation: &Operation, task: &Task) -> Option<String> {
    match operation {
        Operation::Update { fields, .. } => anchored(task, fields),
        Operation::Complete { completed, .. } if task.is_repeating() && *completed != Some(false) => Some(format!(
            "repeating: #{} repeats; use complete_occurrence with occurrenceDate, the completed day",
            task.id
        )),
        Operation::CompleteOccurrence { occurrence_date: date, completed, .. }
            if task.is_repeating() && *completed != Some(false) && !occur::is_occurrence(task, *date) =>
        {
            let near = occur::occurrences(task, *date, Date::MAX).next().or_else(|| occur::last_before(task, *date));
            let near = near.map_or_else(String::new, |near| format!("; it does on {near}"));
            Some(format!("not_an_occurrence: #{} does not occur on {date}{near}", task.id))
        }
        _ => None,
    }
}

/// A task that repeats after these changes must begin on some day.
pub(super) fn anchored(task: &Task, fields: &TaskFields) -> Option<String> {
    let kind = fields.recurrence.as_ref().and_then(|recurrence| recurrence.kind).unwrap_or(task.recurrence.kind);
    let anchor = fields.scheduled_for.unwrap_or(task.scheduled_for);
    (kind != Repeat::None && anchor.is_none()).then(|| MISSING_ANCHOR.to_owned())
}

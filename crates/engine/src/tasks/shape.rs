//! Normalizes written operations: synonyms of names, numbers in quotes, words for days. Nothing is invented; what
//! cannot be read stays unchanged and is reported by [`super::check`].

use serde_json::{Map, Value};
use trimtab_vocab::{Annotated, Date, Operation, Proposed, TimeOfDay, Weekday};

use super::check;

/// The operations in a model's answer: a list, an object with `operations` or `actions`, or a single one. Everything
/// else is dropped.
pub fn operations_in(answer: Value) -> Vec<Value> {
    let list = match answer {
        Value::Array(list) => list,
        Value::Object(mut fields) => {
            let list = ["operations", "actions"].iter().find_map(|name| match fields.get_mut(*name) {
                Some(Value::Array(list)) => Some(std::mem::take(list)),
                _ => None,
            });
            list.unwrap_or_else(|| if fields.is_empty() { Vec::new() } else { vec![Value::Object(fields)] })
        }
        _ => Vec::new(),
    };
    list.into_iter().filter(Value::is_object).collect()
}

/// Reads one operation. `today` gives words like "tomorrow" their day.
pub fn read(value: Value, today: Date) -> Annotated {
    let Value::Object(fields) = value else {
        let kept = Map::from_iter([("op".to_owned(), value)]);
        return Annotated { op: Proposed::Unread(kept), errors: vec![check::NOT_AN_OBJECT.into()] };
    };
    let fields = shaped(fields, today);
    let errors = check::form(&fields);
    if !errors.is_empty() {
        return Annotated { op: Proposed::Unread(fields), errors };
    }
    match serde_json::from_value::<Operation>(Value::Object(fields.clone())) {
        Ok(operation) => Annotated { op: operation.into(), errors },
        Err(error) => Annotated { op: Proposed::Unread(fields), errors: vec![format!("invalid_op: {error}")] },
    }
}

fn shaped(mut fields: Map<String, Value>, today: Date) -> Map<String, Value> {
    if !matches!(fields.get("op"), Some(Value::String(op)) if !op.trim().is_empty()) {
        let named = ["action", "type"].iter().find_map(|name| Some(fields.get(*name)?.as_str()?.to_owned()));
        if let Some(named) = named {
            fields.insert("op".into(), named.into());
        }
    }
    change(&mut fields, "id", number);
    change(&mut fields, "completed", truth);
    if let Some(op) = fields.get("op").and_then(Value::as_str) {
        let op = op.trim().to_lowercase().replace('-', "_");
        fields.insert("op".into(), op.into());
    } else if let Some(op) = inferred(&fields) {
        fields.insert("op".into(), op.into());
    }
    if fields.get("op").and_then(Value::as_str) == Some("create") {
        fields.remove("id");
    }
    change(&mut fields, "occurrenceDate", |value| day(value, today));
    shape_task(&mut fields, today);
    if let Some(Value::Object(set)) = fields.get_mut("set") {
        change(set, "completed", truth);
        shape_task(set, today);
    }
    if let Some(Value::Object(wanted)) = fields.get_mut("where") {
        shape_where(wanted, today);
    }
    fields
}

/// The operation that its fields imply if it has no name.
fn inferred(fields: &Map<String, Value>) -> Option<&'static str> {
    let is_said = |name: &str| fields.get(name).is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
    let has_id = fields.get("id").is_some_and(Value::is_u64);
    let has_day = fields.contains_key("scheduledFor");
    let has_fields = is_said("title") || is_said("notes") || has_day || is_said("priority");
    if !has_id && (is_said("title") || has_day || is_said("priority")) {
        Some("create")
    } else if has_id && fields.get("completed").is_some_and(Value::is_boolean) && !has_fields {
        Some("complete")
    } else if has_id && has_fields {
        Some("update")
    } else {
        None
    }
}

fn shape_task(fields: &mut Map<String, Value>, today: Date) {
    part_moment(fields);
    change(fields, "title", |value| Some(value.as_str()?.trim().into()));
    change(fields, "priority", lower);
    change(fields, "category", lower);
    change(fields, "scheduledFor", |value| day(value, today));
    change(fields, "timeOfDay", time_of_day);
    change(fields, "tags", tags);
    // `null` for one of these does not mean to clear it.
    for name in ["title", "notes", "priority", "category", "completed", "completedDates", "tags"] {
        if fields.get(name).is_some_and(Value::is_null) {
            fields.remove(name);
        }
    }
    match fields.get_mut("recurrence") {
        Some(Value::Object(recurrence)) => shape_recurrence(recurrence, today),
        Some(Value::String(kind)) => {
            let mut recurrence = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
            shape_recurrence(&mut recurrence, today);
            fields.insert("recurrence".into(), recurrence.into());
        }
        Some(Value::Null) => drop(fields.remove("recurrence")),
        _ => (),
    }
}

fn shape_recurrence(fields: &mut Map<String, Value>, today: Date) {
    change(fields, "type", lower);
    change(fields, "until", |value| day(value, today));
    if let Some(days) = fields.remove("intervalDays") {
        fields.entry("interval").or_insert(days);
    }
    change(fields, "interval", number);
    change(fields, "weekdays", weekdays);
    if fields.get("type").and_then(Value::as_str) == Some("every_n_days") {
        fields.insert("type".into(), "daily".into());
    }
    for name in ["type", "interval", "weekdays"] {
        if fields.get(name).is_some_and(Value::is_null) {
            fields.remove(name);
        }
    }
}

fn shape_where(fields: &mut Map<String, Value>, today: Date) {
    if let Some(range) = fields.remove("scheduledRange") {
        fields.entry("scheduled_range").or_insert(range);
    }
    fields.retain(|_, value| !value.is_null());
    change(fields, "priority", lower);
    change(fields, "category", lower);
    change(fields, "completed", truth);
    change(fields, "repeating", truth);
    change(fields, "ids", |value| {
        let ids = value.as_array()?;
        Some(ids.iter().map(|id| number(id).unwrap_or_else(|| id.clone())).collect::<Vec<_>>().into())
    });
    if let Some(Value::Object(range)) = fields.get_mut("scheduled_range") {
        change(range, "from", |value| day(value, today));
        change(range, "to", |value| day(value, today));
        range.retain(|_, value| !value.is_null());
    }
}

/// Puts the normal form of a field in its place, if it has one.
fn change(fields: &mut Map<String, Value>, name: &str, normal: impl Fn(&Value) -> Option<Value>) {
    if let Some(value) = fields.get_mut(name)
        && let Some(changed) = normal(value)
    {
        *value = changed;
    }
}

fn lower(value: &Value) -> Option<Value> {
    Some(value.as_str()?.trim().to_lowercase().into())
}

/// `"12"`, `"#12"` and `12.0` are 12.
fn number(value: &Value) -> Option<Value> {
    let number = match value {
        Value::String(text) => text.trim().trim_start_matches('#').parse::<u64>().ok()?,
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float))?;
            number.as_u64().unwrap_or(float as u64)
        }
        _ => return None,
    };
    Some(number.into())
}

fn truth(value: &Value) -> Option<Value> {
    match value.as_str()?.trim().to_lowercase().as_str() {
        "true" | "yes" => Some(true.into()),
        "false" | "no" => Some(false.into()),
        _ => None,
    }
}

fn tags(value: &Value) -> Option<Value> {
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split([',', ' ']).collect(),
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut tags: Vec<&str> = Vec::new();
    for tag in texts.into_iter().map(|text| text.trim().trim_start_matches('#')) {
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Some(tags.into())
}

/// A moment where a day is due is a day and a time on it, if nothing else is said of the time. One in another time
/// zone is left as it is: which day it is here is not known.
fn part_moment(fields: &mut Map<String, Value>) {
    let is_free = fields.get("timeOfDay").is_none_or(|time| time.is_null() || time.as_str() == Some(""));
    let moment = fields.get("scheduledFor").and_then(Value::as_str).and_then(|text| {
        let (date, time) = text.trim().split_at_checked(10)?;
        let time = clock(time.strip_prefix(['T', 't', ' '])?)?;
        date.parse::<Date>().ok().map(|date| (date, time))
    });
    // Midnight is how a day without a time is written.
    if let Some((date, time)) = moment.filter(|(_, time)| is_free && time.to_string() != "00:00") {
        fields.insert("scheduledFor".into(), date.to_string().into());
        fields.insert("timeOfDay".into(), time.to_string().into());
    }
}

/// A day: as it is written, with the time after it cut off if that is midnight, or a word for it.
fn day(value: &Value, today: Date) -> Option<Value> {
    let text = value.as_str()?.trim();
    if matches!(text.to_lowercase().as_str(), "" | "none" | "null" | "unscheduled") {
        return Some(Value::Null);
    }
    let midnight = || {
        let (date, rest) = text.split_at_checked(10)?;
        let is_midnight = rest.starts_with("T00:00") && rest.bytes().all(|b| b"T0:.Z".contains(&b));
        is_midnight.then(|| date.parse().ok())?
    };
    Some(named_day(text, today).or_else(midnight)?.to_string().into())
}

/// A day as it is written, or a word for it. A weekday is the next such day, today not among them.
pub fn named_day(text: &str, today: Date) -> Option<Date> {
    match text.trim().to_lowercase().as_str() {
        "today" | "tonight" | "now" => Some(today),
        "tomorrow" => Some(today.plus(1)),
        "yesterday" => Some(today.plus(-1)),
        other => other.parse().ok().or_else(|| {
            let name = other.strip_prefix("on ").unwrap_or(other);
            let wanted = weekday(name).filter(|_| name.len() >= 3)?;
            (1..=7).map(|days| today.plus(days)).find(|date| date.weekday() == wanted)
        }),
    }
}

fn time_of_day(value: &Value) -> Option<Value> {
    match value.as_str()?.trim().to_lowercase().as_str() {
        "" | "none" | "null" => Some(Value::Null),
        text => Some(clock(text)?.to_string().into()),
    }
}

/// A time on the clock: `9:00`, `09:00:00`, `9am`, `9:30 pm`.
pub fn clock(text: &str) -> Option<TimeOfDay> {
    let text = text.trim().to_lowercase();
    let (clock, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(clock), _) => (clock.trim(), Some(0)),
        (_, Some(clock)) => (clock.trim(), Some(12)),
        _ => (text.as_str(), None),
    };
    let number = |part: &str| part.parse::<u16>().ok().filter(|_| part.len() <= 2 && !part.starts_with('+'));
    let mut parts = clock.split(':').map(number);
    let hour = parts.next()??;
    let minute = match (parts.next(), half) {
        (Some(minute), _) => minute?,
        (None, Some(_)) => 0,
        (None, None) => return None,
    };
    let has_no_more = parts.next().is_none_or(|second| second == Some(0)) && parts.next().is_none();
    let hour = match half {
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
        None => hour,
    };
    TimeOfDay::new(hour, minute).filter(|_| has_no_more)
}

fn weekdays(value: &Value) -> Option<Value> {
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split([',', ' ']).filter(|word| !word.is_empty()).collect(),
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut found = texts.into_iter().map(weekday).collect::<Option<Vec<Weekday>>>()?;
    found.sort_unstable();
    found.dedup();
    serde_json::to_value(found).ok()
}

/// A weekday by the letters it begins with: `mo`, `Mon`, `Monday`.
fn weekday(text: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let text = text.trim().to_lowercase();
    let at = NAMES.iter().position(|name| text.len() >= 2 && name.starts_with(&text))?;
    Some(Weekday::ALL[at])
}

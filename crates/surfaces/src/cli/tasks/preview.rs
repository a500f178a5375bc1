//! What operations on tasks would change, in words. The browser has the same words in `web/src/lib/taskPreview.ts`, and both
//! are tested with `web/src/lib/taskPreview.json`.

use serde_json::{Map, Value};
use trimtab_vocab::format;
use trimtab_vocab::{Operation, Preview, Previewed, Task};

use super::{draw, reasons};

/// What each operation would change, a line each, with its number.
pub(in crate::cli) fn listed(results: &[Previewed]) -> String {
    let mut text = String::new();
    for (number, result) in results.iter().enumerate() {
        let operation = result.op.operation();
        let what = match &result.preview {
            _ if !result.valid => format!("invalid: {}", reasons(result)),
            Some(preview) => outcome(preview, operation),
            None => String::new(),
        };
        text += &format!("{:>3}. {:<16}  {what}\n", number + 1, operation.map_or("?", action));
    }
    text
}

/// What an operation does, as a verb.
fn action(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { .. } => "Create",
        Operation::Update { .. } => "Update",
        Operation::Delete { .. } => "Delete",
        Operation::Complete { completed: Some(false), .. } => "Reopen",
        Operation::Complete { .. } => "Complete",
        Operation::CompleteOccurrence { completed: Some(false), .. } => "Reopen one day",
        Operation::CompleteOccurrence { .. } => "Complete one day",
        Operation::BulkUpdate { .. } => "Update tasks",
        Operation::BulkComplete { completed: Some(false), .. } => "Reopen tasks",
        Operation::BulkComplete { .. } => "Complete tasks",
        Operation::BulkDelete { .. } => "Delete tasks",
    }
}

/// The tasks that an operation would touch, and what would be different.
fn outcome(preview: &Preview, operation: Option<&Operation>) -> String {
    match (&preview.before, &preview.after, preview.count) {
        (_, _, Some(count)) => {
            let ids: Vec<String> = preview.sample_ids.iter().flatten().map(|id| format!("#{id}")).collect();
            let more = if count > 10 { " …" } else { "" };
            let set = match operation {
                Some(Operation::BulkUpdate { set, .. }) => given(&fields(set)),
                _ => String::new(),
            };
            format!("{}: {}{more}{set}", format::plural(count, "task"), ids.join(" "))
        }
        (None, Some(after), _) => {
            let new = fields(&Task::new(after.id, &after.title, after.created_at));
            let mut set = fields(after);
            set.retain(|name, value| new.get(name) != Some(value));
            format!("#{} {}{}", after.id, after.title, given(&set))
        }
        (Some(before), None, _) => format!("#{} {}", before.id, before.title),
        (Some(before), Some(after), _) => format!("#{} {}{}", after.id, after.title, differences(before, after)),
        (None, None, None) => String::new(),
    }
}

fn fields(of: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn is_news(name: &str) -> bool {
    !matches!(name, "updatedAt" | "createdAt" | "id")
}

fn bracketed(parts: &[String]) -> String {
    // A date has commas in it.
    if parts.is_empty() { String::new() } else { format!("  ({})", parts.join("; ")) }
}

/// Fields with the values that they get.
fn given(fields: &Map<String, Value>) -> String {
    let shown = fields.iter().filter(|(name, _)| is_news(name));
    bracketed(&shown.map(|(name, value)| format!("{}: {}", field_name(name), field_value(value))).collect::<Vec<_>>())
}

/// The fields that differ, with what they were and will be. Of lists, what comes and goes.
pub(super) fn differences(before: &Task, after: &Task) -> String {
    let (before, after) = (fields(before), fields(after));
    let changed = after.iter().filter(|(name, value)| is_news(name) && before.get(*name) != Some(value));
    let shown = changed.map(|(name, value)| {
        let was = before.get(name).unwrap_or(&Value::Null);
        let name = field_name(name);
        match (was, value) {
            (Value::Array(was), Value::Array(will)) => format!("{name}: {}", list_change(was, will)),
            _ => format!("{name}: {} → {}", field_value(was), field_value(value)),
        }
    });
    bracketed(&shown.collect::<Vec<_>>())
}

/// A field as `tasks show` names it.
fn field_name(name: &str) -> &str {
    match name {
        "scheduledFor" => "when",
        "timeOfDay" => "time",
        "recurrence" => "repeats",
        "completed" => "done",
        "completedDates" => "done on",
        name => name,
    }
}

fn field_value(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::Bool(is_set) => if *is_set { "yes" } else { "no" }.to_owned(),
        Value::String(text) => match text.parse() {
            Ok(date) => format::day_with_year(date),
            Err(_) => text.chars().take(40).collect(),
        },
        Value::Array(items) => format::first(&items.iter().map(field_value).collect::<Vec<_>>(), 5),
        Value::Object(_) => serde_json::from_value(value.clone()).map(|it| draw::repetition(&it)).unwrap_or_default(),
        Value::Number(number) => number.to_string(),
    };
    if text.is_empty() { "none".to_owned() } else { text }
}

/// What comes to a list and what goes: `+a −b`. Without either, only the order differs.
fn list_change(was: &[Value], will: &[Value]) -> String {
    let signed = |sign: &str, of: &[Value], without: &[Value]| {
        let items: Vec<String> = of.iter().filter(|item| !without.contains(item)).map(field_value).collect();
        (!items.is_empty()).then(|| format!("{sign}{}", format::first(&items, 5)))
    };
    let parts: Vec<String> = [signed("+", will, was), signed("−", was, will)].into_iter().flatten().collect();
    if parts.is_empty() { "another order".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct PreviewRow {
        op: Operation,
        preview: Preview,
        action: String,
        shown: String,
    }

    #[test]
    fn terminal_and_browser_show_the_same_preview() {
        let rows: Vec<PreviewRow> =
            serde_json::from_str(include_str!("../../../../../web/src/lib/taskPreview.json")).expect("rows");
        assert!(rows.len() > 6);
        for row in rows {
            assert_eq!(action(&row.op), row.action);
            assert_eq!(outcome(&row.preview, Some(&row.op)), row.shown);
        }
    }

    #[test]
    fn a_preview_shows_what_changes_in_long_lists_and_in_repetitions() {
        let days = |count: usize| (1..=count).map(|day| json!(format!("2026-11-{day:02}"))).collect::<Vec<Value>>();
        assert_eq!(list_change(&days(5), &days(6)), "+Fri, Nov 6, 2026");
        assert_eq!(list_change(&[json!("a"), json!("b")], &[json!("b"), json!("c")]), "+c −a");
        assert_eq!(list_change(&[json!("a"), json!("b")], &[json!("b"), json!("a")]), "another order");
        let weekly =
            |until: Value| field_value(&json!({"type": "weekly", "interval": 1, "weekdays": [], "until": until}));
        assert_ne!(weekly(json!("2026-12-01")), weekly(json!("2026-12-08")));
        assert!(weekly(Value::Null).ends_with("without an end"), "{}", weekly(Value::Null));
    }
}

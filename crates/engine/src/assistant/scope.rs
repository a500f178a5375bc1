//! What the text says about the tasks that are meant, without a model: days, priorities, numbers. The user's
//! selection and the router's result become one filter here.

use trimtab_vocab::{Date, Entities, Priority, ScheduledRange, Selection, Where};

use crate::tasks;

/// Bytes of a text that are looked at.
const MOST_SCANNED: usize = 4_000;

/// The day that a text names: a date, a moment on it (`2026-11-15T09:00`), or a word for it.
pub(super) fn day(text: &str, today: Date) -> Option<Date> {
    let text = text.trim().to_lowercase();
    let of_moment = || {
        let date = text.get(..10).and_then(|date| date.parse().ok())?;
        text[10..].chars().next().is_none_or(|next| !next.is_alphanumeric() || next == 't').then_some(date)
    };
    tasks::named_day(text.strip_prefix("next ").unwrap_or(&text), today).or_else(of_moment)
}

/// The priority that a text names.
pub(super) fn priority(text: &str) -> Option<Priority> {
    match text.trim().to_lowercase().as_str() {
        "low" => Some(Priority::Low),
        "medium" | "normal" | "middle" => Some(Priority::Medium),
        "high" | "urgent" | "important" => Some(Priority::High),
        _ => None,
    }
}

/// What the text names, and which tasks it is about. Only the current state counts, not the new one: "move today's
/// tasks to Friday" is about today.
pub(super) fn named(text: &str, today: Date) -> (Entities, Where) {
    let text = text[..text.floor_char_boundary(MOST_SCANNED)].to_lowercase();
    let source = source(&text);
    let words: Vec<&str> = source.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |wanted: &[&str]| words.windows(wanted.len()).any(|window| window == wanted);
    let (mut entities, mut filter) = (Entities::default(), Where::default());
    let range = |from: Date, to: Date| Some(ScheduledRange { from: Some(from), to: Some(to) });
    if has(&["this", "week"]) {
        filter.scheduled_range = range(today.monday(), today.monday().plus(6));
    } else if has(&["next", "week"]) {
        filter.scheduled_range = range(today.monday().plus(7), today.monday().plus(13));
    } else if has(&["overdue"]) {
        filter.scheduled_range = Some(ScheduledRange { from: None, to: Some(today.plus(-1)) });
        filter.completed = Some(false);
    } else if let Some(date) = [("today", 0), ("tomorrow", 1), ("yesterday", -1)]
        .iter()
        .find_map(|(word, days)| has(&[*word]).then(|| today.plus(*days)))
    {
        entities.date = Some(date);
        filter.scheduled_range = range(date, date);
    }
    let is_priority = |word: &str| has(&[word, "priority"]) || has(&[word, "prio"]) || has(&["priority", word]);
    entities.priority = Priority::ALL.into_iter().find(|priority| is_priority(priority.name()));
    filter.priority = entities.priority;
    entities.ids = source
        .split('#')
        .skip(1)
        .filter_map(|after| after[..after.bytes().take_while(u8::is_ascii_digit).count()].parse().ok())
        .take(50)
        .collect();
    filter.ids = (!entities.ids.is_empty()).then(|| entities.ids.clone());
    (entities, filter)
}

/// The part of a sentence that selects tasks: what follows "to" or "as" is the new value, and a sentence that adds a
/// task selects none.
fn source(text: &str) -> &str {
    let creates = ["add ", "create ", "new ", "remind "].iter().any(|verb| text.trim_start().starts_with(verb));
    if creates {
        return "";
    }
    let ends = [" to ", " as ", " for next ", " until "];
    let end = ends.iter().filter_map(|word| text.find(word)).min();
    end.map_or(text, |end| &text[..end])
}

/// The filter that a choice means.
pub(super) fn selected(selection: &Selection) -> Where {
    let day = selection.date.map(|date| ScheduledRange { from: Some(date), to: Some(date) });
    Where {
        ids: (!selection.ids.is_empty()).then(|| selection.ids.clone()),
        // With selected tasks and a day, the tasks are the selection, and the day is their new value.
        scheduled_range: day.filter(|_| selection.ids.is_empty()),
        priority: selection.priority.filter(|_| selection.ids.is_empty()),
        ..Where::default()
    }
}

/// What a choice names.
pub(super) fn chosen(selection: &Selection) -> Entities {
    Entities { date: selection.date, priority: selection.priority, ids: selection.ids.clone(), text: None }
}

/// The filter that follows from what is named. A day may be where tasks are or where they go, so it counts only in a
/// text that moves nothing.
pub(super) fn derived(text: &str, entities: &Entities) -> Where {
    let text = text[..text.floor_char_boundary(MOST_SCANNED)].to_lowercase();
    let stays = source(&text).len() == text.len();
    let date = entities.date.filter(|_| stays && entities.ids.is_empty());
    let priority = entities.priority.filter(|_| stays);
    selected(&Selection { ids: entities.ids.clone(), date, priority })
}

/// Whether the tasks are named so clearly that a medium confidence is enough.
pub(super) fn is_strong(entities: &Entities, filter: &Where) -> bool {
    let many = entities.ids.len() > 1 || filter.ids.as_ref().is_some_and(|ids| ids.len() > 1);
    many || entities.date.is_some() || filter.scheduled_range.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today() -> Date {
        // A Sunday.
        "2026-11-15".parse().expect("a day")
    }

    #[test]
    fn days_are_read_in_every_form_a_model_may_write_them() {
        for (text, wanted) in [
            ("2026-11-20", Some("2026-11-20")),
            ("2026-11-20T09:30:00Z", Some("2026-11-20")),
            (" Today ", Some("2026-11-15")),
            ("tomorrow", Some("2026-11-16")),
            ("yesterday", Some("2026-11-14")),
            ("Friday", Some("2026-11-20")),
            ("next fri", Some("2026-11-20")),
            ("sunday", Some("2026-11-22")),
            ("2026-02-30", None),
            ("2026-11-200", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(day(text, today()).map(|date| date.to_string()).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn plain_words_name_days_priorities_and_numbers() {
        let named = |text: &str| {
            let (entities, filter) = named(text, today());
            format!(
                "{} {}",
                serde_json::to_string(&entities).expect("JSON"),
                serde_json::to_string(&filter).expect("JSON")
            )
        };
        assert_eq!(
            named("Mark all high priority today as done"),
            r#"{"date":"2026-11-15","priority":"high"} {"scheduled_range":{"from":"2026-11-15","to":"2026-11-15"},"priority":"high"}"#
        );
        assert_eq!(
            named("Move everything this week to next week"),
            r#"{} {"scheduled_range":{"from":"2026-11-09","to":"2026-11-15"}}"#
        );
        assert_eq!(named("Move #3 and #14 to tomorrow"), r#"{"ids":[3,14]} {"ids":[3,14]}"#);
        assert_eq!(named("Add milk today"), "{} {}", "what is to be made is not there yet");
        assert_eq!(named("hello"), "{} {}");
    }

    #[test]
    fn a_choice_of_tasks_and_a_day_is_about_the_tasks() {
        let date = Some(today());
        let both = Selection { ids: vec![1, 2], date, priority: None };
        assert_eq!(serde_json::to_string(&selected(&both)).expect("JSON"), r#"{"ids":[1,2]}"#);
        let day = Selection { date, ..Selection::default() };
        assert_eq!(
            serde_json::to_string(&selected(&day)).expect("JSON"),
            r#"{"scheduled_range":{"from":"2026-11-15","to":"2026-11-15"}}"#
        );
    }
}

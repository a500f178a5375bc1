//! Writes tasks as iCalendar.

use trimtab_vocab::{Category, Date, Priority, Task, Time};

use super::rule::{rule, stamp};
use crate::tasks::occur;

/// Bytes of a line at most, by the standard.
const LINE: usize = 75;

/// A calendar with these tasks.
pub fn write<'a>(tasks: impl IntoIterator<Item = &'a Task>, now: Time) -> String {
    let mut out = String::from("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Trimtab//Tasks//EN\r\n");
    for task in tasks {
        component(&mut out, task, now);
    }
    out + "END:VCALENDAR\r\n"
}

fn component(out: &mut String, task: &Task, now: Time) {
    // An event must have a beginning.
    let is_event = task.category == Category::Event && task.scheduled_for.is_some();
    let name = if is_event { "VEVENT" } else { "VTODO" };
    let mut line = |text: &str| fold(out, text);
    line(&format!("BEGIN:{name}"));
    line(&format!("UID:task-{}-{}@trimtab", task.id, task.created_at.millis()));
    line(&format!("DTSTAMP:{}", moment(now)));
    line(&format!("CREATED:{}", moment(task.created_at)));
    line(&format!("LAST-MODIFIED:{}", moment(task.updated_at)));
    line(&format!("SUMMARY:{}", escaped(&task.title)));
    if !task.notes.is_empty() {
        line(&format!("DESCRIPTION:{}", escaped(&task.notes)));
    }
    if let Some(anchor) = task.scheduled_for {
        // What begins on a day on which it does not occur begins, for the standard, when it first does.
        let first = occur::occurrences(task, anchor, Date::MAX).next().unwrap_or(anchor);
        let property = if is_event || task.is_repeating() { "DTSTART" } else { "DUE" };
        let kind = if task.time_of_day.is_some() { "" } else { ";VALUE=DATE" };
        line(&format!("{property}{kind}:{}", stamp(first, task.time_of_day)));
    }
    if let Some(rule) = rule(task) {
        line(&format!("RRULE:{rule}"));
    }
    let priority = match task.priority {
        Priority::High => 1,
        Priority::Medium => 5,
        Priority::Low => 9,
    };
    line(&format!("PRIORITY:{priority}"));
    if !task.tags.is_empty() {
        let tags: Vec<String> = task.tags.iter().map(|tag| escaped(tag)).collect();
        line(&format!("CATEGORIES:{}", tags.join(",")));
    }
    line(&format!("X-TRIMTAB-CATEGORY:{}", task.category.name()));
    if !task.completed_dates.is_empty() {
        let days: Vec<String> = task.completed_dates.iter().map(|date| stamp(*date, None)).collect();
        line(&format!("X-TRIMTAB-COMPLETED-DATES:{}", days.join(",")));
    }
    match (is_event, task.completed) {
        (false, true) => {
            line("STATUS:COMPLETED");
            line(&format!("COMPLETED:{}", moment(task.updated_at)));
        }
        (false, false) => line("STATUS:NEEDS-ACTION"),
        // An event has no completion, so ours is an extra property.
        (true, true) => line("X-TRIMTAB-COMPLETED:TRUE"),
        (true, false) => {}
    }
    line(&format!("END:{name}"));
}

/// `20261115T083000Z`.
fn moment(time: Time) -> String {
    let text: String = time.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
    text.split('.').next().unwrap_or_default().to_owned() + "Z"
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ',' | ';' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // No text of ours needs these, and a line must not end where it does not.
            c if c.is_control() && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

fn fold(out: &mut String, line: &str) {
    let mut taken = 0;
    for c in line.chars() {
        if taken + c.len_utf8() > LINE {
            out.push_str("\r\n ");
            taken = 1;
        }
        out.push(c);
        taken += c.len_utf8();
    }
    out.push_str("\r\n");
}

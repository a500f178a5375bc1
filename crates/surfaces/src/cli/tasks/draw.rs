//! Tasks as lines on a screen.

use trimtab_vocab::format;
use trimtab_vocab::{Category, Date, Item, Priority, Recurrence, Repeat, Task};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::output::sanitize;
use crate::diff::{DiffLine, DiffRole};

/// Titles narrower than this are not cut, whatever the terminal.
const NARROW: usize = 20;

/// `every 2 weeks on Mon, Thu`.
pub(super) fn rhythm(recurrence: &Recurrence) -> String {
    let Recurrence { kind, interval, weekdays, .. } = recurrence;
    let unit = match kind {
        Repeat::None => return String::new(),
        Repeat::Weekdays => return "weekdays".into(),
        Repeat::Daily => "day",
        Repeat::Weekly => "week",
        Repeat::Monthly => "month",
        Repeat::Yearly => "year",
    };
    let base =
        if *interval == 1 { kind.name().to_owned() } else { format!("every {}", format::plural(*interval, unit)) };
    let names: Vec<&str> = weekdays.iter().map(|day| format::weekday(*day)).collect();
    if names.is_empty() { base } else { format!("{base} on {}", format::list(&names)) }
}

/// How and how long a task repeats.
pub(super) fn repetition(recurrence: &Recurrence) -> String {
    match (rhythm(recurrence), recurrence.until) {
        (rhythm, _) if rhythm.is_empty() => rhythm,
        (rhythm, Some(until)) => format!("{rhythm} until {}", format::day_with_year(until)),
        (rhythm, None) => format!("{rhythm}, without an end"),
    }
}

/// Items under headings that say when they are due.
pub(super) fn grouped(items: &[Item], today: Date, width: Option<usize>) -> Vec<DiffLine> {
    let mut groups: Vec<(String, Vec<&Item>)> = Vec::new();
    for item in items {
        let heading = heading(item, today);
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, group)) => group.push(item),
            None => groups.push((heading, vec![item])),
        }
    }
    let columns = Columns::fit(items, today, width);
    let mut lines = Vec::new();
    for (heading, group) in groups {
        if !lines.is_empty() {
            lines.push(DiffLine::default());
        }
        let mut line = DiffLine::default();
        line.add(heading, DiffRole::Title);
        lines.push(line);
        lines.extend(group.into_iter().map(|item| columns.row(item, today)));
    }
    lines
}

/// Items one below the other.
pub(super) fn listed(items: &[Item], today: Date, width: Option<usize>) -> Vec<DiffLine> {
    let columns = Columns::fit(items, today, width);
    items.iter().map(|item| columns.row(item, today)).collect()
}

fn heading(item: &Item, today: Date) -> String {
    match item.date {
        _ if item.task.completed => "Done".into(),
        None => "Someday".into(),
        Some(_) if item.overdue => "Overdue".into(),
        Some(date) if date < today => "Earlier".into(),
        Some(date) if date == today => format!("Today, {}", format::day(date, today)),
        Some(date) if date == today.plus(1) => format!("Tomorrow, {}", format::day(date, today)),
        Some(date) if date.monday() == today.monday() => "This week".into(),
        Some(date) if date.monday() == today.monday().plus(7) => "Next week".into(),
        Some(_) => "Later".into(),
    }
}

/// How wide the columns are.
struct Columns {
    id: usize,
    day: usize,
    time: usize,
    title: usize,
}

impl Columns {
    fn fit(items: &[Item], today: Date, width: Option<usize>) -> Self {
        let widest = |of: &dyn Fn(&Item) -> usize| items.iter().map(of).max().unwrap_or(0);
        let day = widest(&|item| day(item, today).width());
        let time = widest(&|item| if item.task.time_of_day.is_some() { 5 } else { 0 });
        let id = widest(&|item| item.task.id.to_string().len());
        let title = widest(&|item| sanitize(&item.task.title).width());
        let details = widest(&|item| details(&item.task).iter().map(|(text, _)| text.width() + 2).sum());
        let before = 2 + 3 + id + 1 + 2 + [day, time].iter().filter(|width| **width > 0).map(|w| w + 2).sum::<usize>();
        // The details may be cut by the terminal, but not to make a title unreadable.
        let room = width.map(|width| width.saturating_sub(before + details).max(NARROW));
        Self { id, day, time, title: room.map_or(title, |room| title.min(room)) }
    }

    fn row(&self, item: &Item, today: Date) -> DiffLine {
        let task = &item.task;
        let base = if item.done { DiffRole::Note } else { DiffRole::Same };
        let mut line = DiffLine::default();
        line.add("  ", DiffRole::Same);
        line.add(if item.done { "✓" } else { "○" }, if item.done { DiffRole::More } else { DiffRole::Frame });
        line.add(format!("  {:>width$}  ", format!("#{}", task.id), width = self.id + 1), DiffRole::Hunk);
        if self.day > 0 {
            let role = if item.overdue { DiffRole::Less } else { base };
            line.add(format!("{:<width$}  ", day(item, today), width = self.day), role);
        }
        if self.time > 0 {
            let time = task.time_of_day.map_or_else(String::new, |time| time.to_string());
            line.add(format!("{time:<5}  "), base);
        }
        let details = details(task);
        let title = fit(&sanitize(&task.title), self.title);
        let padding = if details.is_empty() { 0 } else { self.title.saturating_sub(title.width()) };
        line.add(title, base);
        for (n, (text, role)) in details.into_iter().enumerate() {
            let gap = if n == 0 { padding + 2 } else { 2 };
            line.add(" ".repeat(gap), DiffRole::Same);
            line.add(text, if item.done { DiffRole::Note } else { role });
        }
        line
    }
}

/// The day of an item, where the heading does not say it.
fn day(item: &Item, today: Date) -> String {
    match item.date {
        Some(date) if date != today && date != today.plus(1) => format::day(date, today),
        _ => String::new(),
    }
}

fn details(task: &Task) -> Vec<(String, DiffRole)> {
    let mut details = Vec::new();
    match task.priority {
        Priority::High => details.push(("high".to_owned(), DiffRole::Less)),
        Priority::Low => details.push(("low".to_owned(), DiffRole::Note)),
        Priority::Medium => {}
    }
    if task.category != Category::Task {
        details.push((task.category.name().to_owned(), DiffRole::Note));
    }
    if task.is_repeating() {
        details.push((rhythm(&task.recurrence), DiffRole::Note));
    }
    if !task.tags.is_empty() {
        let tags: Vec<String> = task.tags.iter().map(|tag| format!("#{}", sanitize(tag))).collect();
        details.push((tags.join(" "), DiffRole::Hunk));
    }
    details
}

/// A text that takes so many columns at most.
fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut cut, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken >= width {
            break;
        }
        cut.push(c);
    }
    cut.trim_end().to_owned() + "…"
}

/// One task with all that is known about it.
pub(super) fn whole(task: &Task, today: Date) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let mut first = DiffLine::default();
    first.add(format!("#{}  ", task.id), DiffRole::Hunk);
    first.add(sanitize(&task.title).into_owned(), DiffRole::Title);
    lines.push(first);
    let mut field = |name: &str, value: String| {
        let mut line = DiffLine::default();
        line.add(format!("  {name:<10}  "), DiffRole::Note);
        line.add(value, DiffRole::Same);
        lines.push(line);
    };
    let time = task.time_of_day.map_or_else(String::new, |time| format!(" at {time}"));
    match task.scheduled_for {
        Some(date) if task.is_repeating() => field("begins", format!("{}{time}", format::day_with_year(date))),
        Some(date) => field("when", format!("{}{time}", format::day_with_year(date))),
        None => field("when", format!("some day{time}")),
    }
    if task.is_repeating() {
        let until = match task.recurrence.until {
            Some(until) => format!(" until {}", format::day(until, today)),
            None => ", without an end".to_owned(),
        };
        field("repeats", rhythm(&task.recurrence) + &until);
    }
    field("priority", task.priority.name().into());
    field("category", task.category.name().into());
    if !task.tags.is_empty() {
        field("tags", task.tags.iter().map(|tag| sanitize(tag).into_owned()).collect::<Vec<_>>().join(", "));
    }
    field("done", if task.completed { "yes".into() } else { "no".into() });
    if !task.completed_dates.is_empty() {
        let days = task.completed_dates.len();
        let last: Vec<String> =
            task.completed_dates.iter().rev().take(5).map(|date| format::day(*date, today)).collect();
        let more = if days > last.len() { ", …" } else { "" };
        field("done on", format!("{}: {}{more}", format::plural(days, "day"), last.join(", ")));
    }
    for note in sanitize(&task.notes).lines() {
        let mut line = DiffLine::default();
        line.add(format!("  {note}"), DiffRole::Same);
        lines.push(line);
    }
    lines
}

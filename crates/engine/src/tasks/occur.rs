//! The days on which a task occurs.
//!
//! Every occurrence is computed from the first day of the task, so that no rounding adds up: a series that begins on
//! the 31st is on February 28 and on March 31. Only days are counted; the caller, who knows the time zone, decides at
//! which moment 9:00 is.

use trimtab_vocab::{Date, Recurrence, Repeat, Task, Weekday};

/// The days of a task from one to another, both included, in order.
pub fn occurrences(task: &Task, from: Date, to: Date) -> Occurrences<'_> {
    Occurrences { task, next: Some(from), to }
}

/// See [`occurrences`].
#[derive(Debug)]
pub struct Occurrences<'a> {
    task: &'a Task,
    next: Option<Date>,
    to: Date,
}

impl Iterator for Occurrences<'_> {
    type Item = Date;

    fn next(&mut self) -> Option<Date> {
        let date = first_from(self.task, self.next.take()?).filter(|date| *date <= self.to)?;
        self.next = (date < Date::MAX).then(|| date.plus(1));
        Some(date)
    }
}

/// Whether a task occurs on a day.
pub fn is_occurrence(task: &Task, date: Date) -> bool {
    first_from(task, date) == Some(date)
}

/// The last day before `date` on which a task occurs.
pub fn last_before(task: &Task, date: Date) -> Option<Date> {
    let anchor = task.scheduled_for?;
    let Recurrence { kind, interval, until, .. } = &task.recurrence;
    let end = until.map_or(date, |until| date.min(until.plus(1)));
    // However an interval lies, one of these windows holds an occurrence, if there was any before.
    let days = match kind {
        Repeat::None => return (anchor < date).then_some(anchor),
        Repeat::Daily => 1,
        Repeat::Weekdays | Repeat::Weekly => 7,
        Repeat::Monthly => 31,
        Repeat::Yearly => 366,
    };
    let window = days * i64::from(*interval).max(1) + 7;
    occurrences(task, anchor.max(end.plus(-window)), end.plus(-1)).last()
}

/// The first day from `from` on on which a task occurs.
fn first_from(task: &Task, from: Date) -> Option<Date> {
    let anchor = task.scheduled_for?;
    let from = from.max(anchor);
    let Recurrence { kind, interval, weekdays, until } = &task.recurrence;
    let interval = i64::from(*interval).max(1);
    let date = match kind {
        Repeat::None => (from == anchor).then_some(anchor),
        Repeat::Daily => every(anchor, interval, from),
        Repeat::Weekdays => (0..3).map(|n| from.plus(n)).find(|date| date.weekday().is_workday()),
        Repeat::Weekly => weekly(anchor, interval, weekdays, from),
        Repeat::Monthly => monthly(anchor, interval, from),
        Repeat::Yearly => monthly(anchor, interval.saturating_mul(12), from),
    };
    // A day that cannot be written is held at the last one that can; it may lie before what was asked for.
    date.filter(|date| *date >= from && until.is_none_or(|until| *date <= until))
}

/// The first day from `from` on that is a number of whole intervals after `anchor`.
fn every(anchor: Date, interval: i64, from: Date) -> Option<Date> {
    let passed = from.days() - anchor.days();
    let intervals = passed.div_euclid(interval) + i64::from(passed.rem_euclid(interval) > 0);
    let date = anchor.days().checked_add(intervals.checked_mul(interval)?)?;
    (date <= Date::MAX.days()).then(|| Date::from_days(date))
}

fn weekly(anchor: Date, interval: i64, weekdays: &[Weekday], from: Date) -> Option<Date> {
    let own = [anchor.weekday()];
    let weekdays = if weekdays.is_empty() { &own[..] } else { weekdays };
    let in_week = |monday: Date| {
        let days = weekdays.iter().map(|weekday| monday.plus(*weekday as i64));
        days.filter(|date| *date >= from && date.monday() == monday).min()
    };
    let first = every(anchor.monday(), interval.saturating_mul(7), from.monday())?;
    in_week(first).or_else(|| in_week(every(anchor.monday(), interval.saturating_mul(7), first.plus(1))?))
}

fn monthly(anchor: Date, interval: i64, from: Date) -> Option<Date> {
    let (year, month, day) = anchor.ymd();
    let (from_year, from_month, _) = from.ymd();
    let passed = (from_year - year) * 12 + from_month - month;
    let first = passed.div_euclid(interval).checked_mul(interval)?;
    // The month of `from` may have had its occurrence already.
    let on = |months: i64| Date::clamped(year, month.checked_add(months)?, day);
    let mut candidates = (0..3).filter_map(|n| on(first.checked_add(interval.checked_mul(n)?)?));
    candidates.find(|date| *date >= from)
}

//! Import and export of tasks as iCalendar, with the time zones that the engine does not know.

use jiff::civil;
use jiff::tz::TimeZone;
use trimtab_engine::tasks::calendar::{self, CalendarReading, CalendarTime, Zone};
use trimtab_vocab::{
    Applied, Date, Operation, Problem, ProblemKind, Recurrence, Task, TaskAuthor, TaskFields, TimeOfDay, Where,
};

use super::{ApplyOperations, NotApplied, TaskList, when};

/// A larger calendar is refused.
const LARGEST: usize = 16 * 1024 * 1024;

/// The result of a calendar import.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// What was applied; none: there was nothing new in it.
    pub applied: Option<Applied>,
    /// The entries that were left out, in whole or in part.
    pub skipped: Vec<Skipped>,
    /// Tasks that already exist.
    pub known: usize,
}

/// A calendar entry that was not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The task, by its title.
    pub title: String,
    pub reason: String,
}

impl TaskList {
    /// The tasks that a filter fits, as iCalendar.
    pub async fn export(&self, wanted: &Where) -> Result<String, Problem> {
        let tasks = self.filtered(wanted).await?;
        Ok(calendar::write(&tasks, self.moment().now))
    }

    /// Makes tasks of a calendar, all of them in one change set. What is there already is not made again.
    pub async fn import(&self, bytes: &[u8]) -> Result<Imported, NotApplied> {
        if bytes.len() > LARGEST {
            let problem = Problem::new(ProblemKind::Usage, "The calendar is too large: the limit is 16 MB.");
            return Err(problem.hint("Nothing was changed.").into());
        }
        let text = String::from_utf8_lossy(bytes);
        if !text.to_ascii_uppercase().contains("BEGIN:VCALENDAR") {
            let problem =
                Problem::new(ProblemKind::Usage, "This is not an iCalendar file: BEGIN:VCALENDAR is missing.");
            return Err(problem.hint("Export it as iCalendar (.ics). Nothing was changed.").into());
        }
        let CalendarReading { found, skipped } = calendar::read(&text, &|stamp| here(stamp, &self.zone));
        let mut skipped: Vec<Skipped> = skipped.into_iter().map(|(title, reason)| Skipped { title, reason }).collect();
        let tasks = self.all().await?;
        let mut there: std::collections::HashSet<CalendarKey> = tasks.values().map(CalendarKey::from_task).collect();
        let (mut operations, mut known) = (Vec::new(), 0);
        for found in found {
            if !there.insert(CalendarKey::wanted(&found.fields)) {
                known += 1;
                continue;
            }
            let title = found.fields.title.clone().unwrap_or_default();
            skipped.extend(found.notes.into_iter().map(|reason| Skipped { title: title.clone(), reason }));
            operations.push(Operation::Create { fields: found.fields });
        }
        if operations.is_empty() {
            return Ok(Imported { applied: None, skipped, known });
        }
        let operations = operations.iter().map(|one| serde_json::to_value(one).unwrap_or_default()).collect();
        let order = ApplyOperations { operations, by: TaskAuthor::Import, key: None, confirmed: true };
        Ok(Imported { applied: Some(self.apply(order).await?), skipped, known })
    }
}

/// By what a task is known when it comes again: calendars of others have ids that no task keeps.
#[derive(PartialEq, Eq, Hash)]
struct CalendarKey(String, Option<Date>, Option<TimeOfDay>, &'static str);

impl CalendarKey {
    fn from_task(task: &Task) -> Self {
        let Recurrence { kind, .. } = task.recurrence;
        // A series is written with its first occurrence, wherever it was said to begin.
        let first = task.scheduled_for.and_then(|begin| super::tasks::occurrences(task, begin, Date::MAX).next());
        Self(task.title.clone(), first.or(task.scheduled_for), task.time_of_day, kind.name())
    }

    fn wanted(fields: &TaskFields) -> Self {
        let kind = fields.recurrence.as_ref().and_then(|recurrence| recurrence.kind).unwrap_or_default();
        let title = fields.title.clone().unwrap_or_default();
        Self(title, fields.scheduled_for.flatten(), fields.time_of_day.flatten(), kind.name())
    }
}

/// Which day and time a moment of a calendar is here.
fn here(stamp: &CalendarTime, zone: &TimeZone) -> Option<(Date, Option<TimeOfDay>)> {
    let there = match &stamp.zone {
        Zone::Floating => return Some((stamp.date, stamp.time)),
        Zone::Utc => TimeZone::UTC,
        Zone::Named(name) => TimeZone::get(name).ok()?,
    };
    let Some(time) = stamp.time else { return Some((stamp.date, None)) };
    let (year, month, day) = stamp.date.ymd();
    let date = civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let clock = civil::Time::new(i8::try_from(time.hour()).ok()?, i8::try_from(time.minute()).ok()?, 0, 0).ok()?;
    // An hour that the clocks leave out is the one after it, and one that comes twice is the first.
    let moment = date.to_datetime(clock).to_zoned(there).ok()?.with_time_zone(zone.clone());
    let time = TimeOfDay::new(moment.hour().unsigned_abs().into(), moment.minute().unsigned_abs().into());
    Some((when::date(moment.date()), time))
}

//! Reads iCalendar into tasks. A calendar is untrusted: sizes are bounded, time is linear, and what is not understood
//! is reported, not guessed.

use trimtab_vocab::{Category, Date, Priority, RecurrenceFields, Task, TaskFields, Time, TimeOfDay};

use super::rule;
use crate::tasks::occur;

/// More tasks than this are not taken from one calendar.
const MOST: usize = 5_000;

/// A moment as a calendar writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarTime {
    /// The day.
    pub date: Date,
    /// The time, if it has one.
    pub time: Option<TimeOfDay>,
    /// Where that time is meant.
    pub zone: Zone,
}

/// Where a time of a calendar is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// Wherever one is.
    Floating,
    /// At Greenwich.
    Utc,
    /// In a time zone of this name.
    Named(String),
}

/// A task that a calendar holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarTask {
    /// The fields of the new task.
    pub fields: TaskFields,
    /// What of it could not be taken over.
    pub notes: Vec<String>,
}

/// The result of reading a calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalendarReading {
    pub found: Vec<CalendarTask>,
    /// The entries that were left out, each with its reason.
    pub skipped: Vec<(String, String)>,
}

/// Says which day and time a moment is where the user is; none: it does not know the time zone.
pub type Here<'a> = &'a dyn Fn(&CalendarTime) -> Option<(Date, Option<TimeOfDay>)>;

pub fn read(text: &str, here: Here<'_>) -> CalendarReading {
    let mut reading = CalendarReading::default();
    let (mut open, mut inner): (Option<(bool, Vec<Property>)>, usize) = (None, 0);
    for line in unfolded(text) {
        let Some(property) = Property::read(&line) else { continue };
        let value = property.value.trim().to_ascii_uppercase();
        match (property.name.as_str(), &mut open) {
            ("BEGIN", None) if value == "VTODO" || value == "VEVENT" => open = Some((value == "VEVENT", Vec::new())),
            // An alarm inside of a task has its own name and description.
            ("BEGIN", Some(_)) => inner += 1,
            ("END", Some(_)) if inner > 0 => inner -= 1,
            ("END", Some((is_event, properties))) => {
                let (is_event, properties) = (*is_event, std::mem::take(properties));
                open = None;
                if reading.found.len() >= MOST {
                    reading.skipped.push(("the rest".into(), format!("a calendar may hold {MOST} tasks")));
                    return reading;
                }
                match task(is_event, &properties, here) {
                    Ok(found) => reading.found.push(found),
                    Err((title, reason)) => reading.skipped.push((title, reason)),
                }
            }
            (_, Some((_, properties))) if inner == 0 => properties.push(property),
            _ => {}
        }
    }
    if open.is_some() {
        reading.skipped.push(("the last one".into(), "the calendar is cut off there".into()));
    }
    reading
}

/// Lines as they were before they were folded.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

struct Property {
    name: String,
    parameters: Vec<(String, String)>,
    value: String,
}

impl Property {
    /// `NAME;KEY=VALUE;KEY="VALUE":VALUE`.
    fn read(line: &str) -> Option<Self> {
        let mut quoted = false;
        let mut outside = line.char_indices().filter(|(_, c)| {
            quoted ^= *c == '"';
            !quoted
        });
        let mut ends = Vec::new();
        let colon = loop {
            match outside.next()? {
                (at, ':') => break at,
                (at, ';') => ends.push(at),
                _ => {}
            }
        };
        ends.push(colon);
        let name = line[..ends[0]].trim().to_ascii_uppercase();
        let parameter = |pair: &[usize]| {
            let (key, value) = line[pair[0] + 1..pair[1]].split_once('=')?;
            Some((key.trim().to_ascii_uppercase(), value.trim().trim_matches('"').to_owned()))
        };
        let parameters = ends.windows(2).filter_map(parameter).collect();
        Some(Self { name, parameters, value: line[colon + 1..].to_owned() })
    }

    fn stamp(&self) -> Option<CalendarTime> {
        let text = self.value.trim();
        let date = day(text.get(..8)?)?;
        let rest = &text[8..];
        if rest.is_empty() {
            return Some(CalendarTime { date, time: None, zone: Zone::Floating });
        }
        let (clock, utc) = match rest.strip_suffix(['Z', 'z']) {
            Some(clock) => (clock, true),
            None => (rest, false),
        };
        let digits = clock.strip_prefix(['T', 't']).filter(|d| matches!(d.len(), 4 | 6) && is_digits(d))?;
        let time = TimeOfDay::new(digits[..2].parse().ok()?, digits[2..4].parse().ok()?)?;
        let named = self.parameters.iter().find(|(key, _)| key == "TZID").map(|(_, zone)| zone.clone());
        let zone = match (utc, named) {
            (true, _) => Zone::Utc,
            (false, Some(zone)) => Zone::Named(zone),
            (false, None) => Zone::Floating,
        };
        Some(CalendarTime { date, time: Some(time), zone })
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// `20261115`.
pub(super) fn day(text: &str) -> Option<Date> {
    if text.len() != 8 || !is_digits(text) {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?)
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(c) => out.push(c),
                None => {}
            },
            '\0' => {}
            c => out.push(c),
        }
    }
    out
}

/// The parts of a list whose commas are not escaped.
fn listed(text: &str) -> Vec<String> {
    let (mut parts, mut begin, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if c == ',' && !escaped {
            parts.push(unescaped(&text[begin..at]));
            begin = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(unescaped(&text[begin..]));
    parts
}

fn task(is_event: bool, properties: &[Property], here: Here<'_>) -> Result<CalendarTask, (String, String)> {
    let get = |name: &str| properties.iter().find(|property| property.name == name);
    let text = |name: &str| get(name).map(|property| unescaped(&property.value));
    let title = text("SUMMARY").unwrap_or_default().replace(['\n', '\r', '\t'], " ");
    let title: String = title.trim().chars().filter(|c| !c.is_control()).take(500).collect();
    let skip = |reason: &str| Err((title.clone(), reason.to_owned()));
    if title.is_empty() {
        return skip("it has no SUMMARY");
    }
    if get("RECURRENCE-ID").is_some() {
        return skip("it changes one day of a series");
    }
    let status = text("STATUS").unwrap_or_default().to_ascii_uppercase();
    if status == "CANCELLED" {
        return skip("it is cancelled");
    }
    let mut notes = Vec::new();
    let when = get("DUE").filter(|_| get("RRULE").is_none()).or_else(|| get("DTSTART")).or_else(|| get("DUE"));
    let when = match when.map(|property| property.stamp().map(|stamp| here(&stamp))) {
        None => None,
        Some(Some(Some(when))) => Some(when),
        Some(Some(None)) => return skip("its time zone is not known"),
        Some(None) => return skip("its day cannot be read"),
    };
    let own = text("X-TRIMTAB-CATEGORY").unwrap_or_default();
    let named = Category::ALL.into_iter().find(|category| category.name() == own.trim());
    let mut fields = TaskFields {
        title: Some(title.clone()),
        notes: text("DESCRIPTION")
            .map(|text| text.chars().take(25_000).collect())
            .filter(|text: &String| !text.is_empty()),
        category: Some(named.unwrap_or(if is_event { Category::Event } else { Category::Task })),
        priority: get("PRIORITY").and_then(|property| priority(property.value.trim())),
        scheduled_for: when.map(|(date, _)| Some(date)),
        time_of_day: when.and_then(|(_, time)| time).map(Some),
        ..TaskFields::default()
    };
    let tags = properties.iter().filter(|property| property.name == "CATEGORIES").flat_map(|p| listed(&p.value));
    let tags = tags.map(|tag| tag.trim().chars().filter(|c| !c.is_control()).take(100).collect::<String>());
    let mut tags: Vec<String> = tags.filter(|tag| !tag.is_empty()).take(50).collect();
    tags.dedup();
    fields.tags = (!tags.is_empty()).then_some(tags);
    let is_full = get("PERCENT-COMPLETE").is_some_and(|property| property.value.trim() == "100");
    let is_over = text("X-TRIMTAB-COMPLETED").is_some_and(|text| text.trim() == "TRUE");
    if status == "COMPLETED" || is_full || is_over || get("COMPLETED").is_some() {
        fields.completed = Some(true);
    }
    let mut done: Vec<Date> = Vec::new();
    if let (Some(rrule), Some((begin, _))) = (get("RRULE"), when) {
        match rule::read(rrule.value.trim(), begin) {
            Some(understood) => {
                fields.recurrence = Some(recurrence(understood, begin));
                let ours = text("X-TRIMTAB-COMPLETED-DATES").unwrap_or_default();
                done.extend(ours.split(',').filter_map(|text| day(text.trim())));
                let left_out: Vec<Date> = properties.iter().filter(|p| p.name == "EXDATE").flat_map(left_out).collect();
                if !left_out.is_empty() {
                    notes.push("the days that it leaves out count as done".to_owned());
                    done.extend(left_out);
                }
            }
            None => {
                let shown: String = rrule.value.chars().filter(|c| !c.is_control()).take(80).collect();
                notes.push(format!("its repetition is not supported, so only its first day was imported: {shown}"));
            }
        }
    }
    done.sort_unstable();
    done.dedup();
    fields.completed_dates = (!done.is_empty()).then_some(done);
    Ok(CalendarTask { fields, notes })
}

fn left_out(property: &Property) -> impl Iterator<Item = Date> + '_ {
    property.value.split(',').filter_map(|text| day(text.trim().get(..8)?))
}

fn priority(value: &str) -> Option<Priority> {
    match value.parse::<u8>().ok()? {
        1..=4 => Some(Priority::High),
        6..=9 => Some(Priority::Low),
        _ => Some(Priority::Medium),
    }
}

/// A rule as fields. A rule with a count ends on the day of the last occurrence.
fn recurrence(understood: rule::Understood, begin: Date) -> RecurrenceFields {
    let rule::Understood { recurrence, count } = understood;
    let mut until = recurrence.until;
    if let Some(count) = count {
        let blank = Task::new(0, "", Time::from_millis(0));
        let series = Task { scheduled_for: Some(begin), recurrence: recurrence.clone(), ..blank };
        let last = occur::occurrences(&series, begin, Date::MAX).take(count.min(10_000) as usize).last();
        until = Some(until.map_or(last.unwrap_or(begin), |until| until.min(last.unwrap_or(until))));
    }
    RecurrenceFields {
        kind: Some(recurrence.kind),
        interval: Some(recurrence.interval),
        weekdays: Some(recurrence.weekdays),
        until: Some(until),
    }
}

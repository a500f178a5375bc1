//! Days and times in the user's time zone: which day it is, and what "next friday 9am" means.

use interim::{Dialect, Interval, parse_date_string, parse_duration};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use trimtab_engine::tasks;
use trimtab_vocab::{Date, Problem, ProblemKind, RecurrenceFields, Time, TimeOfDay};

use super::rhythm::{self, Rhythm};

/// A day, and perhaps a time on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// The day; none: no day at all.
    pub date: Option<Date>,
    /// The time, if given.
    pub time: Option<TimeOfDay>,
    /// The recurrence from that day on, if given.
    pub repeats: Option<RecurrenceFields>,
}

impl When {
    fn once(date: Option<Date>, time: Option<TimeOfDay>) -> Self {
        Self { date, time, repeats: None }
    }
}

/// The time zone of this name; empty: the machine's.
pub(crate) fn zone(name: &str) -> Result<TimeZone, Problem> {
    if name.is_empty() {
        return Ok(TimeZone::system());
    }
    TimeZone::get(name).map_err(|_| {
        Problem::new(ProblemKind::Settings, format!("Unknown time zone \"{}\" (tasks.timezone).", name.escape_debug()))
            .hint("Use a name such as Europe/Berlin, or leave it empty for the system's time zone.")
    })
}

fn zoned(now: Time, zone: &TimeZone) -> Zoned {
    Timestamp::from_millisecond(now.millis()).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

pub(super) fn date(date: jiff::civil::Date) -> Date {
    Date::new(date.year().into(), date.month().into(), date.day().into()).unwrap_or(Date::MAX)
}

/// Which day it is there.
pub(crate) fn day(now: Time, zone: &TimeZone) -> Date {
    date(zoned(now, zone).date())
}

/// Texts that name no day at all.
const NONE: [&str; 4] = ["none", "never", "someday", "unscheduled"];

pub(super) fn read(text: &str, now: Time, zone: &TimeZone) -> Result<When, Problem> {
    let said = text.trim().to_lowercase();
    let unclear = || {
        Problem::new(ProblemKind::Usage, format!("Invalid day \"{}\".", text.escape_debug())).hint(
            "Use a day such as 2026-11-20, tomorrow, friday, \"next friday 9am\", \"in 3 days\", \"20 nov 14:30\", \"every monday 9am\", or none.",
        )
    };
    if NONE.contains(&said.as_str()) {
        return Ok(When::once(None, None));
    }
    if let Ok(date) = said.parse::<Date>() {
        return Ok(When::once(Some(date), None));
    }
    // Years beyond any plan are beyond the calendar of some time zones too.
    let numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u32>().ok());
    if said.is_empty() || said.len() > 100 || numbers.max().is_some_and(|number| number > 2999) {
        return Err(unclear());
    }
    let said = said.strip_prefix("in ").unwrap_or(&said);
    let here = zoned(now, zone);
    if let Ok(Interval::Seconds(seconds)) = parse_duration(said) {
        let then = here.checked_add(Span::new().seconds(i64::from(seconds))).map_err(|_| unclear())?;
        let time = TimeOfDay::new(then.hour().unsigned_abs().into(), then.minute().unsigned_abs().into());
        return Ok(When::once(Some(date(then.date())), time));
    }
    let (day, time) = split(said);
    if day.is_empty() {
        return Ok(When::once(Some(date(here.date())), time));
    }
    if let Some(Rhythm { fields, first }) = rhythm::read(day, date(here.date())) {
        return Ok(When { date: Some(first), time, repeats: Some(fields) });
    }
    // The wall's clock as if it were UTC: what is said is about days on the wall, and an hour that a change
    // of the clocks leaves out must not move them.
    let wall = here.datetime().to_zoned(TimeZone::UTC).map_err(|_| unclear())?;
    let then = parse_date_string(day, wall, Dialect::Uk).map_err(|_| unclear())?;
    Ok(When::once(Some(date(then.date())), time))
}

/// The day and the time after it, if given: `friday 14:30`, `friday at 9 pm`.
fn split(said: &str) -> (&str, Option<TimeOfDay>) {
    let blanks = said.rmatch_indices(' ').map(|(at, _)| at).take(2).chain([0]);
    for at in blanks.filter(|at| said.is_char_boundary(*at)) {
        if let Some(time) = tasks::clock(&said[at..]) {
            let day = said[..at].trim_end();
            return (day.strip_suffix(" at").unwrap_or(day).trim_end(), Some(time));
        }
    }
    (said, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        // Wednesday, 18 November 2026, 15:30 in Berlin.
        let now: Time = "2026-11-18T14:30:20.000Z".parse().expect("a time");
        match read(text, now, &zone("Europe/Berlin").expect("a zone")) {
            Ok(When { date: None, .. }) => "none".into(),
            Ok(When { date: Some(date), time, repeats }) => {
                let time = time.map(|time| format!(" {time}")).unwrap_or_default();
                let every = repeats.map(|every| format!(" {}", serde_json::to_string(&every).expect("writes")));
                format!("{date}{time}{}", every.unwrap_or_default())
            }
            Err(problem) => problem.message,
        }
    }

    #[test]
    fn days_are_read_as_people_say_them() {
        let cases = [
            ("today", "2026-11-18"),
            ("tomorrow", "2026-11-19"),
            ("Tomorrow 9am", "2026-11-19 09:00"),
            ("tomorrow at 9:30", "2026-11-19 09:30"),
            ("friday", "2026-11-20"),
            ("next friday 9am", "2026-11-27 09:00"),
            ("in 3 days", "2026-11-21"),
            ("in 2 weeks", "2026-12-02"),
            ("in 3 hours", "2026-11-18 18:30"),
            ("1 month", "2026-12-18"),
            ("20 november 14:30", "2026-11-20 14:30"),
            ("2027-02-28", "2027-02-28"),
            ("9pm", "2026-11-18 21:00"),
            ("someday", "none"),
            ("every monday", r#"2026-11-23 {"type":"weekly","weekdays":["mon"]}"#),
            ("Every Wednesday 9am", r#"2026-11-18 09:00 {"type":"weekly","weekdays":["wed"]}"#),
            ("every mon, thu and fri at 14:30", r#"2026-11-19 14:30 {"type":"weekly","weekdays":["mon","thu","fri"]}"#),
            ("every 2 weeks", r#"2026-11-18 {"type":"weekly","interval":2}"#),
            ("every other sunday", r#"2026-11-22 {"type":"weekly","interval":2,"weekdays":["sun"]}"#),
            ("daily 8am", r#"2026-11-18 08:00 {"type":"daily"}"#),
            ("every weekday", r#"2026-11-18 {"type":"weekdays"}"#),
            ("every month", r#"2026-11-18 {"type":"monthly"}"#),
        ];
        for (text, day) in cases {
            assert_eq!(said(text), day, "{text}");
        }
    }

    #[test]
    fn what_is_no_day_is_refused_and_never_panics() {
        let texts = [
            "",
            "blue",
            "2026-02-30",
            "31 dec 9999",
            "9999 years",
            "99/99/99",
            "-",
            "9999999999999 days",
            "2026-11-20x",
            "every",
            "every blue moon",
            "every 0 days",
            "every 99999 days",
            "every 2 weekdays",
        ];
        for text in texts {
            assert!(said(text).starts_with("Invalid day"), "{text}: {}", said(text));
        }
    }

    #[test]
    fn an_hour_that_the_clocks_leave_out_stays_the_hour_that_was_said() {
        let now: Time = "2027-03-27T12:00:00.000Z".parse().expect("a time");
        let read = read("tomorrow 2:30", now, &zone("Europe/Berlin").expect("a zone")).expect("is read");
        assert_eq!(
            (read.date.map(|d| d.to_string()), read.time.map(|t| t.to_string())),
            (Some("2027-03-28".into()), Some("02:30".into()))
        );
    }
}

//! Converts recurrences to and from iCalendar rules.

use trimtab_vocab::{Date, Recurrence, Repeat, Task, TimeOfDay, Weekday};

const DAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

fn day_names(weekdays: &[Weekday]) -> String {
    weekdays.iter().map(|day| DAYS[*day as usize]).collect::<Vec<_>>().join(",")
}

/// The `RRULE` of a task that repeats, to be read with the day of its first occurrence as `DTSTART`. A month
/// that is too short for the day has it on its last day, which the standard can say: the last of these days
/// that there is.
pub fn rule(task: &Task) -> Option<String> {
    let (_, month, day) = task.scheduled_for?.ymd();
    let Recurrence { kind, interval, weekdays, until } = &task.recurrence;
    let last_of = |day: i64| (28..=day).map(|day| day.to_string()).collect::<Vec<_>>().join(",");
    let mut rule = match kind {
        Repeat::None => return None,
        Repeat::Daily => format!("FREQ=DAILY;INTERVAL={interval}"),
        Repeat::Weekdays => "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR".to_owned(),
        Repeat::Weekly if weekdays.is_empty() => format!("FREQ=WEEKLY;INTERVAL={interval}"),
        Repeat::Weekly => format!("FREQ=WEEKLY;INTERVAL={interval};WKST=MO;BYDAY={}", day_names(weekdays)),
        Repeat::Monthly if day > 28 => {
            format!("FREQ=MONTHLY;INTERVAL={interval};BYMONTHDAY={};BYSETPOS=-1", last_of(day))
        }
        Repeat::Monthly => format!("FREQ=MONTHLY;INTERVAL={interval};BYMONTHDAY={day}"),
        Repeat::Yearly if (month, day) == (2, 29) => {
            format!("FREQ=YEARLY;INTERVAL={interval};BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1")
        }
        Repeat::Yearly => format!("FREQ=YEARLY;INTERVAL={interval}"),
    };
    if let Some(until) = until {
        // The end has the form of the beginning.
        rule += &format!(";UNTIL={}", stamp(*until, task.time_of_day));
    }
    Some(rule)
}

/// `20261115`, or `20261115T093000` if there is a time.
pub(super) fn stamp(date: Date, time: Option<TimeOfDay>) -> String {
    let (year, month, day) = date.ymd();
    let time = time.map_or_else(String::new, |time| format!("T{:02}{:02}00", time.hour(), time.minute()));
    format!("{year:04}{month:02}{day:02}{time}")
}

/// A rule that is understood, with the number of occurrences if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Understood {
    pub(super) recurrence: Recurrence,
    pub(super) count: Option<u32>,
}

/// Reads a rule that begins on a day. None: it says more than a rhythm can.
pub(super) fn read(text: &str, begin: Date) -> Option<Understood> {
    let (mut frequency, mut interval, mut until, mut count) = (None, 1, None, None);
    let (mut days, mut month_days, mut months, mut last_only) = (Vec::new(), Vec::new(), Vec::new(), false);
    for part in text.split(';').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=')?;
        let numbers = || value.split(',').map(|number| number.trim().parse::<i64>().ok()).collect::<Option<Vec<_>>>();
        match name.trim().to_ascii_uppercase().as_str() {
            "FREQ" => frequency = Some(value.trim().to_ascii_uppercase()),
            "INTERVAL" => interval = value.trim().parse().ok().filter(|n| (1..=1000).contains(n))?,
            "COUNT" => count = Some(value.trim().parse().ok().filter(|n| *n > 0)?),
            "UNTIL" => until = Some(super::read::day(value.get(..8)?)?),
            "BYDAY" => {
                let day = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name.trim()));
                days = value.split(',').map(|name| Some(Weekday::ALL[day(name)?])).collect::<Option<Vec<_>>>()?;
                days.sort_unstable();
                days.dedup();
            }
            "BYMONTHDAY" => month_days = numbers()?,
            "BYMONTH" => months = numbers()?,
            "BYSETPOS" => last_only = value.trim() == "-1",
            // It matters only where days are counted by weeks, and there Monday is what is understood.
            "WKST" => (interval == 1 || value.trim().eq_ignore_ascii_case("MO")).then_some(())?,
            _ => return None,
        }
    }
    let (_, month, day) = begin.ymd();
    let is_own_day = month_days.is_empty() || month_days == [day] || (month_days == [-1] && begin.plus(1).ymd().2 == 1);
    let is_clamped = last_only && day > 28 && month_days == (28..=day).collect::<Vec<_>>();
    let is_day = is_own_day || is_clamped;
    let is_month = months.is_empty() || months == [month];
    let plain = days.is_empty();
    let workdays = &Weekday::ALL[..5];
    let (kind, weekdays) = match frequency?.as_str() {
        "DAILY" if plain && month_days.is_empty() && months.is_empty() => (Repeat::Daily, Vec::new()),
        "DAILY" if days == workdays && interval == 1 && months.is_empty() => (Repeat::Weekdays, Vec::new()),
        "WEEKLY" if days == workdays && interval == 1 && months.is_empty() => (Repeat::Weekdays, Vec::new()),
        "WEEKLY" if month_days.is_empty() && months.is_empty() => {
            if days == [begin.weekday()] {
                days.clear();
            }
            (Repeat::Weekly, days)
        }
        "MONTHLY" if plain && is_day && months.is_empty() => (Repeat::Monthly, Vec::new()),
        "YEARLY" if plain && is_day && is_month => (Repeat::Yearly, Vec::new()),
        _ => return None,
    };
    // The last day of each month is the 31st here.
    let is_exact = month_days != [-1] || day == 31;
    let recurrence = Recurrence { kind, interval, weekdays, until };
    is_exact.then_some(Understood { recurrence, count })
}

//! Recurrence in plain words: "every monday 9am", "every 2 weeks", "daily".

use trimtab_vocab::{Date, RecurrenceFields, Repeat, Weekday};

/// A rhythm, and the first day of it.
pub(super) struct Rhythm {
    pub(super) fields: RecurrenceFields,
    pub(super) first: Date,
}

/// The rhythm that words name, if they name one and nothing else.
pub(super) fn read(said: &str, today: Date) -> Option<Rhythm> {
    let fields = |kind, interval, weekdays| RecurrenceFields { kind: Some(kind), interval, weekdays, until: None };
    let once = match said {
        "daily" => Some(Repeat::Daily),
        "weekly" => Some(Repeat::Weekly),
        "monthly" => Some(Repeat::Monthly),
        "yearly" | "annually" => Some(Repeat::Yearly),
        "weekdays" | "workdays" => Some(Repeat::Weekdays),
        _ => None,
    };
    if let Some(kind) = once {
        return Some(Rhythm { fields: fields(kind, None, None), first: first(kind, &[], today) });
    }
    let words: Vec<&str> =
        said.strip_prefix("every ")?.split([' ', ',']).filter(|word| !word.is_empty() && *word != "and").collect();
    let (interval, units) = match words.as_slice() {
        ["other" | "second", rest @ ..] => (Some(2), rest),
        [number, rest @ ..] if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            (Some(number.parse::<u32>().ok().filter(|number| (1..=1_000).contains(number))?), rest)
        }
        rest => (None, rest),
    };
    let kind = match units {
        ["day" | "days"] => Repeat::Daily,
        ["weekday" | "weekdays" | "workday" | "workdays"] if interval.is_none() => Repeat::Weekdays,
        ["week" | "weeks"] => Repeat::Weekly,
        ["month" | "months"] => Repeat::Monthly,
        ["year" | "years"] => Repeat::Yearly,
        [] => return None,
        days => {
            let mut days = days.iter().map(|day| weekday(day)).collect::<Option<Vec<Weekday>>>()?;
            days.sort_unstable();
            days.dedup();
            let first = first(Repeat::Weekly, &days, today);
            return Some(Rhythm { fields: fields(Repeat::Weekly, interval, Some(days)), first });
        }
    };
    Some(Rhythm { fields: fields(kind, interval, None), first: first(kind, &[], today) })
}

/// The first day from today on.
fn first(kind: Repeat, days: &[Weekday], today: Date) -> Date {
    let fits = |date: &Date| match kind {
        Repeat::Weekdays => date.weekday().is_workday(),
        _ => days.is_empty() || days.contains(&date.weekday()),
    };
    (0..7).map(|n| today.plus(n)).find(fits).unwrap_or(today)
}

fn weekday(word: &str) -> Option<Weekday> {
    let word = word.strip_suffix('s').filter(|word| word.ends_with("day")).unwrap_or(word);
    Some(match word {
        "mon" | "monday" => Weekday::Mon,
        "tue" | "tuesday" => Weekday::Tue,
        "wed" | "wednesday" => Weekday::Wed,
        "thu" | "thursday" => Weekday::Thu,
        "fri" | "friday" => Weekday::Fri,
        "sat" | "saturday" => Weekday::Sat,
        "sun" | "sunday" => Weekday::Sun,
        _ => return None,
    })
}

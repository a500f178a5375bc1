//! The days of tasks that repeat, against an independent implementation of recurrence rules.

use proptest::prelude::*;
use rrule::RRuleSet;
use trimtab_engine::tasks::{calendar, is_occurrence, last_before, occurrences};
use trimtab_vocab::{Date, Recurrence, Repeat, Task, Time, TimeOfDay, Weekday};

fn date(text: &str) -> Date {
    text.parse().expect("a day")
}

fn series(begin: Date, recurrence: Recurrence) -> Task {
    let task = Task::new(1, "a", Time::from_millis(0));
    Task { scheduled_for: Some(begin), time_of_day: TimeOfDay::new(9, 30), recurrence, ..task }
}

fn days(task: &Task, count: usize) -> Vec<String> {
    let begin = task.scheduled_for.expect("begins");
    occurrences(task, begin, Date::MAX).take(count).map(|date| date.to_string()).collect()
}

fn repeating(kind: Repeat) -> Recurrence {
    Recurrence { kind, ..Recurrence::default() }
}

/// Zones with and without changes of the clock, at its oddest: half an hour, at midnight, a day left out.
const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Asia/Tehran",
    "Asia/Kolkata",
    "America/St_Johns",
];

/// Every hour may be the one that the clocks leave out somewhere.
fn a_series() -> impl Strategy<Value = (Task, usize)> {
    let kind = prop::sample::select(vec![
        Repeat::Daily,
        Repeat::Weekdays,
        Repeat::Weekly,
        Repeat::Monthly,
        Repeat::Monthly,
        Repeat::Yearly,
    ]);
    let begin = prop_oneof![
        date("2000-01-01").days()..=date("2035-12-31").days(),
        // The ends of months, where days are missing.
        (2000_i64..2036, 1_i64..=12, 28_i64..=31)
            .prop_map(|(year, month, day)| Date::clamped(year, month, day).expect("a day").days()),
    ];
    let weekdays = prop::collection::btree_set(prop::sample::select(Weekday::ALL.to_vec()), 0..=7);
    let until = prop::option::of(0_i64..4_000);
    let clock = (0_u16..24, prop::sample::select(vec![0_u16, 15, 30]));
    (kind, begin, 1_u32..=13, weekdays, until, clock, 0..ZONES.len()).prop_map(
        |(kind, begin, interval, weekdays, until, (hour, minute), zone)| {
            let begin = Date::from_days(begin);
            let interval = if kind == Repeat::Weekdays { 1 } else { interval };
            let weekdays = if kind == Repeat::Weekly { weekdays.into_iter().collect() } else { Vec::new() };
            let until = until.map(|days| begin.plus(days));
            let task = series(begin, Recurrence { kind, interval, weekdays, until });
            (Task { time_of_day: TimeOfDay::new(hour, minute), ..task }, zone)
        },
    )
}

/// Whether the hour of a task is not there on a day, or there twice, because the clocks of a zone change. The
/// other implementation takes such a day or leaves it out, as the rule's form has it; here it stays, since the
/// day is there and so is the task.
fn is_odd(task: &Task, day: &str, zone: &str) -> bool {
    let clock = task.time_of_day.expect("has a time");
    let wall: jiff::civil::DateTime = format!("{day}T{clock}").parse().expect("a time");
    let zone = jiff::tz::TimeZone::get(zone).expect("a zone");
    !matches!(zone.to_ambiguous_zoned(wall).offset(), jiff::tz::AmbiguousOffset::Unambiguous { .. })
}

/// What the other implementation makes of our rule.
fn theirs(task: &Task, zone: &str, count: u16) -> Option<Vec<String>> {
    let first = occurrences(task, task.scheduled_for?, Date::MAX).next()?;
    let clock = task.time_of_day?;
    // It refuses to begin at such an hour.
    if is_odd(task, &first.to_string(), zone) {
        return None;
    }
    let compact = first.to_string().replace('-', "");
    let mut rule = calendar::rule(task)?;
    // Rules with a time zone end at a moment of UTC: the end of the last day, wherever.
    if let Some(until) = task.recurrence.until {
        let (head, _) = rule.split_once(";UNTIL=")?;
        rule = format!("{head};UNTIL={}T120000Z", until.plus(1).to_string().replace('-', ""));
    }
    let text = format!("DTSTART;TZID={zone}:{compact}T{:02}{:02}00\nRRULE:{rule}", clock.hour(), clock.minute());
    let set: RRuleSet = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let until = task.recurrence.until.map(|until| until.to_string());
    let days = set.all(count).dates.into_iter().map(|moment| moment.format("%Y-%m-%d").to_string());
    Some(days.filter(|day| until.as_ref().is_none_or(|until| day <= until)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn random_series_have_the_days_that_another_implementation_finds((task, zone) in a_series()) {
        for zone in ["UTC", ZONES[zone]] {
            let Some(theirs) = theirs(&task, zone, 60) else { continue };
            let whole = theirs.len() < 60;
            let certain = |days: Vec<String>| -> Vec<String> {
                days.into_iter().filter(|day| !is_odd(&task, day, zone)).collect()
            };
            let (theirs, ours) = (certain(theirs), certain(days(&task, 60 + 10)));
            let compared = if whole { ours.len() } else { theirs.len() };
            prop_assert_eq!(&ours[..compared], &theirs, "{} {:?}", zone, calendar::rule(&task));
        }
    }

    #[test]
    fn a_series_looked_at_from_any_day_is_the_same_series((task, _) in a_series(), ahead in 0_i64..5_000) {
        let begin = task.scheduled_for.expect("begins");
        let from = begin.plus(ahead);
        let whole: Vec<Date> = occurrences(&task, begin, from.plus(800)).collect();
        let part: Vec<Date> = occurrences(&task, from, from.plus(800)).collect();
        let expected: Vec<Date> = whole.iter().copied().filter(|date| *date >= from).collect();
        prop_assert_eq!(part, expected);
        prop_assert_eq!(last_before(&task, from), whole.iter().copied().rfind(|date| *date < from));
        prop_assert!(whole.iter().all(|date| is_occurrence(&task, *date)));
        prop_assert!(whole.windows(2).all(|two| two[0] < two[1]));
    }
}

#[test]
fn the_end_of_the_month_does_not_drift() {
    let task = series(date("2026-01-31"), repeating(Repeat::Monthly));
    assert_eq!(days(&task, 5), ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]);
    let leap = series(date("2028-02-29"), repeating(Repeat::Yearly));
    assert_eq!(days(&leap, 5), ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]);
}

#[test]
fn weeks_are_counted_from_monday_and_days_before_the_first_do_not_count() {
    let weekdays = vec![Weekday::Mon, Weekday::Thu];
    let task = series(date("2026-11-18"), Recurrence { interval: 2, weekdays, ..repeating(Repeat::Weekly) });
    assert_eq!(days(&task, 4), ["2026-11-19", "2026-11-30", "2026-12-03", "2026-12-14"]);
    let work = series(date("2026-11-14"), repeating(Repeat::Weekdays));
    assert_eq!(days(&work, 3), ["2026-11-16", "2026-11-17", "2026-11-18"], "begins on a Saturday");
}

#[test]
fn the_last_day_counts_and_none_comes_after_it() {
    let until = Some(date("2026-11-17"));
    let task = series(date("2026-11-15"), Recurrence { until, ..repeating(Repeat::Daily) });
    assert_eq!(days(&task, 9), ["2026-11-15", "2026-11-16", "2026-11-17"]);
    let never = series(date("2026-11-15"), Recurrence { until: Some(date("2026-11-14")), ..repeating(Repeat::Daily) });
    assert_eq!(days(&never, 9), Vec::<String>::new());
}

#[test]
fn the_end_of_the_calendar_is_the_end_of_every_series() {
    for kind in [Repeat::Daily, Repeat::Weekdays, Repeat::Weekly, Repeat::Monthly, Repeat::Yearly] {
        for interval in [1, 1000, u32::MAX] {
            let task = series(date("9999-11-30"), Recurrence { interval, ..repeating(kind) });
            let days = days(&task, 1_000);
            assert!(days.first().is_some_and(|day| day.starts_with("9999-1")), "{kind:?} {interval}");
            assert!(days.len() <= 32, "{kind:?} {interval}");
            assert_eq!(last_before(&task, Date::MAX).map(|date| date < Date::MAX), Some(true));
        }
    }
}

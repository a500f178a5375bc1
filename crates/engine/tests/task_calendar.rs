//! Calendars: what is written can be read again, and nothing that is read does harm.

use proptest::prelude::*;
use trimtab_engine::tasks::calendar::{CalendarReading, CalendarTime, Zone, read, write};
use trimtab_engine::tasks::{Moment, TaskMap, occurrences, try_out};
use trimtab_vocab::{
    Annotated, Category, Date, Operation, Priority, Recurrence, Repeat, Task, Time, TimeOfDay, Weekday,
};

fn here(stamp: &CalendarTime) -> Option<(Date, Option<TimeOfDay>)> {
    match &stamp.zone {
        Zone::Named(name) if name == "Nowhere/At_All" => None,
        _ => Some((stamp.date, stamp.time)),
    }
}

fn calendar(lines: &[&str]) -> String {
    format!("BEGIN:VCALENDAR\r\n{}\r\nEND:VCALENDAR\r\n", lines.join("\r\n"))
}

fn todo(lines: &[&str]) -> CalendarReading {
    let mut all = vec!["BEGIN:VTODO"];
    all.extend(lines);
    all.push("END:VTODO");
    read(&calendar(&all), &here)
}

/// The tasks that a reading makes.
fn made(reading: CalendarReading) -> Vec<Task> {
    let at = Moment { now: Time::from_millis(0), today: Date::from_days(20_000) };
    let create = |found: trimtab_engine::tasks::calendar::CalendarTask| Annotated {
        op: Operation::Create { fields: found.fields }.into(),
        errors: Vec::new(),
    };
    let trial = try_out(&TaskMap::new(), 1, reading.found.into_iter().map(create).collect(), at);
    trial.writes().iter().filter_map(|write| write.after.clone()).collect()
}

fn a_task() -> impl Strategy<Value = Task> {
    let text = "[a-zA-Z0-9 ,;:\\\\\"äß漢🦀\n-]{0,120}";
    let kind = prop::sample::select(Repeat::ALL.to_vec());
    let begin = prop::option::of(0_i64..25_000);
    let weekdays = prop::collection::btree_set(prop::sample::select(Weekday::ALL.to_vec()), 0..=4);
    let clock = prop::option::of((0_u16..24, 0_u16..60));
    let tags = prop::collection::btree_set("[a-z,;\\\\]{1,9}", 0..4);
    let series = (kind, begin, 1_u32..9, weekdays, prop::option::of(0_i64..900));
    let rest = (
        prop::sample::select(Category::ALL.to_vec()),
        prop::sample::select(Priority::ALL.to_vec()),
        any::<bool>(),
        clock,
        tags,
    );
    ("[a-zA-Z,;:\\\\äß漢🦀\"-][ a-z]{0,90}[a-z]", text, series, rest).prop_map(
        |(title, notes, (kind, begin, interval, weekdays, until), (category, priority, completed, clock, tags))| {
            let begin = begin.map(Date::from_days);
            let kind = if begin.is_some() { kind } else { Repeat::None };
            let recurrence = match kind {
                Repeat::None => Recurrence::default(),
                _ => Recurrence {
                    kind,
                    interval: if kind == Repeat::Weekdays { 1 } else { interval },
                    weekdays: if kind == Repeat::Weekly { weekdays.into_iter().collect() } else { Vec::new() },
                    until: until.map(|days| begin.expect("begins").plus(days)),
                },
            };
            let time_of_day = clock.and_then(|(hour, minute)| TimeOfDay::new(hour, minute)).filter(|_| begin.is_some());
            let blank = Task::new(1, title.trim(), Time::from_millis(0));
            let mut task = Task {
                notes: notes.trim().to_owned(),
                category,
                priority,
                completed,
                scheduled_for: begin,
                time_of_day,
                recurrence,
                tags: tags.into_iter().collect(),
                ..blank
            };
            if let (Some(begin), true) = (begin, task.is_repeating()) {
                task.completed_dates = occurrences(&task, begin, Date::MAX).take(3).collect();
            }
            task
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_written_is_read_again(task in a_task()) {
        let text = write([&task], Time::from_millis(0));
        prop_assert!(text.lines().all(|line| line.len() <= 75), "{text}");
        let reading = read(&text, &here);
        prop_assert_eq!(&reading.skipped, &vec![], "{}", text);
        prop_assert!(reading.found.iter().all(|found| found.notes.is_empty()), "{reading:?}\n{text}");
        let made = made(reading);
        prop_assert_eq!(made.len(), 1);
        let again = &made[0];
        let fields = |task: &Task| {
            let Task { title, notes, category, priority, time_of_day, completed, completed_dates, tags, .. } = task.clone();
            (title, notes, category, priority, time_of_day, completed, completed_dates, tags)
        };
        prop_assert_eq!(fields(again), fields(&task), "{}", text);
        match task.scheduled_for.filter(|_| task.is_repeating()) {
            // A series may begin on another day as long as it has the same days.
            Some(begin) => {
                let days = |task: &Task| occurrences(task, begin, begin.plus(4_000)).take(50).collect::<Vec<_>>();
                prop_assert_eq!(days(again), days(&task), "{}", text);
            }
            None => prop_assert_eq!(again.scheduled_for, task.scheduled_for, "{}", text),
        }
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in "\\PC{0,300}", cut in 0_usize..2_000) {
        let _ = read(&text, &here);
        let whole = calendar(&["BEGIN:VTODO", "SUMMARY:x", "DTSTART;TZID=\"a:b;c\":20261115T0900", "RRULE:FREQ=DAILY", "END:VTODO"]);
        let cut = whole.floor_char_boundary(cut.min(whole.len()));
        let _ = read(&format!("{}{text}", &whole[..cut]), &here);
    }
}

#[test]
fn calendars_of_others_are_understood() {
    let found = made(todo(&[
        "SUMMARY:Fold",
        "  ed\\, twice\\nover",
        "DESCRIPTION;LANGUAGE=en:a\\;b",
        "DUE;TZID=Europe/Berlin:20261120T091500",
        "PRIORITY:2",
        "CATEGORIES:home,a\\,b",
        "STATUS:COMPLETED",
        "BEGIN:VALARM",
        "DESCRIPTION:not ours",
        "END:VALARM",
    ]));
    let task = &found[0];
    assert_eq!((task.title.as_str(), task.notes.as_str()), ("Fold ed, twice over", "a;b"));
    assert_eq!(
        (task.scheduled_for.map(|d| d.to_string()), task.time_of_day.map(|t| t.to_string())),
        (Some("2026-11-20".into()), Some("09:15".into()))
    );
    assert_eq!(
        (task.priority, task.completed, task.tags.clone()),
        (Priority::High, true, vec!["home".to_owned(), "a,b".to_owned()])
    );
    let event =
        made(read(&calendar(&["BEGIN:VEVENT", "SUMMARY:Fair", "DTSTART;VALUE=DATE:20261220", "END:VEVENT"]), &here));
    assert_eq!(
        (event[0].category, event[0].scheduled_for.map(|d| d.to_string())),
        (Category::Event, Some("2026-12-20".into()))
    );
}

#[test]
fn rhythms_of_others_are_understood_or_said_not_to_be() {
    let rule = |begin: &str, rule: &str| {
        let reading = todo(&["SUMMARY:x", &format!("DTSTART;VALUE=DATE:{begin}"), &format!("RRULE:{rule}")]);
        let note = reading.found[0].notes.first().cloned();
        note.unwrap_or_else(|| serde_json::to_string(&made(reading)[0].recurrence).expect("JSON"))
    };
    assert_eq!(rule("20261116", "FREQ=WEEKLY;BYDAY=FR,TU,WE,TH,MO"), r#"{"type":"weekdays","until":null}"#);
    assert_eq!(rule("20261116", "FREQ=DAILY;COUNT=3"), r#"{"type":"daily","until":"2026-11-18"}"#);
    assert_eq!(
        rule("20261116", "freq=weekly;interval=2;byday=mo,th;until=20270101T000000Z"),
        r#"{"type":"weekly","interval":2,"weekdays":["mon","thu"],"until":"2027-01-01"}"#
    );
    assert_eq!(rule("20261031", "FREQ=MONTHLY;BYMONTHDAY=-1"), r#"{"type":"monthly","until":null}"#);
    for odd in [
        "FREQ=MONTHLY;BYDAY=2MO",
        "FREQ=HOURLY",
        "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "FREQ=YEARLY;BYWEEKNO=20",
        "nonsense",
        "FREQ=DAILY;INTERVAL=99999999999",
    ] {
        let note = rule("20261116", odd);
        assert!(note.starts_with("its repetition is not supported"), "{odd}: {note}");
    }
    assert!(
        rule("20260930", "FREQ=MONTHLY;BYMONTHDAY=-1").starts_with("its repetition"),
        "the 31st would not be the same"
    );
}

#[test]
fn what_cannot_be_taken_is_left_out_with_its_reason() {
    let reason = |lines: &[&str]| todo(lines).skipped.first().map(|(_, reason)| reason.clone()).unwrap_or_default();
    assert_eq!(reason(&["DUE:20261120"]), "it has no SUMMARY");
    assert_eq!(reason(&["SUMMARY:x", "DUE:20261399"]), "its day cannot be read");
    assert_eq!(reason(&["SUMMARY:x", "DUE;TZID=Nowhere/At_All:20261120T090000"]), "its time zone is not known");
    assert_eq!(reason(&["SUMMARY:x", "STATUS:CANCELLED"]), "it is cancelled");
    assert_eq!(reason(&["SUMMARY:x", "RECURRENCE-ID:20261120"]), "it changes one day of a series");
    let cut = read("BEGIN:VCALENDAR\nBEGIN:VTODO\nSUMMARY:x\n", &here);
    assert_eq!(cut.skipped, [("the last one".to_owned(), "the calendar is cut off there".to_owned())]);
}

#[test]
fn large_and_hostile_calendars_take_linear_time() {
    let deep = "BEGIN:VTODO\n".repeat(200_000);
    assert_eq!(read(&deep, &here).found.len(), 0);
    let long = format!("BEGIN:VTODO\nSUMMARY:{}\n{}\nEND:VTODO", "x".repeat(2_000_000), " y\n".repeat(200_000));
    assert_eq!(made(read(&long, &here))[0].title.len(), 500);
    let many = "BEGIN:VTODO\nSUMMARY:a\nEND:VTODO\n".repeat(6_000);
    let reading = read(&many, &here);
    assert_eq!((reading.found.len(), reading.skipped.len()), (5_000, 1));
    let quotes = format!("BEGIN:VTODO\n{}:x\nEND:VTODO", "A;\"".repeat(500_000));
    let _ = read(&quotes, &here);
}

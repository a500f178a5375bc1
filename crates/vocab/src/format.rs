//! Numbers, days, durations, prices, plurals, and lists as people read them: one rule each. `web/src/lib/format.ts` has the
//! same rules, and both are tested with `web/src/lib/format.json`.

use std::fmt;
use std::time::Duration;

use crate::date::{Date, Weekday};
use crate::time::Time;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// `1,234,567`.
pub fn number(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 hunk`, `2 hunks`, `3 matches`, `4 entries`.
pub fn plural<N: TryInto<u64>>(count: N, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {}", number(count), if count == 1 { noun.to_owned() } else { many(noun) })
}

/// A count with its noun, for a sentence of the catalog: `Plural::new(2, "hunk")` is shown as `2 hunks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plural {
    count: u64,
    noun: &'static str,
}

impl Plural {
    pub fn new<N: TryInto<u64>>(count: N, noun: &'static str) -> Self {
        Self { count: count.try_into().unwrap_or(u64::MAX), noun }
    }
}

impl fmt::Display for Plural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plural(self.count, self.noun))
    }
}

/// A verb that agrees with a count: `verb(2, "is", "are")`.
pub fn verb<'a, N: TryInto<u64>>(count: N, one: &'a str, many: &'a str) -> &'a str {
    if matches!(count.try_into(), Ok(1)) { one } else { many }
}

fn many(noun: &str) -> String {
    let before_y = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{stem}ies"),
        None if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// `7 ms`, `2.2 s`, `57 s`, `3 min 4 s`, `2 h 1 min`.
pub fn duration(time: Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..10_000 => format!("{}.{} s", seconds, millis % 1_000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A time that still runs: tenths of a second for the first minute, so that it visibly ticks.
pub fn running_time(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => duration(time),
    }
}

/// `812 B`, `1.2 KB`, `20 KB`, `3.4 MB`, `2.1 GB`. A kilobyte has 1,024 bytes, as in all limits and in `ls -h`.
pub fn size(bytes: u64) -> String {
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let (mut amount, mut name) = (bytes as f64 / 1_024.0, "KB");
    for larger in ["MB", "GB"] {
        // What would be rounded to 1,024 has the next unit.
        if amount >= 1_023.5 {
            (amount, name) = (amount / 1_024.0, larger);
        }
    }
    if amount < 9.95 { format!("{amount:.1} {name}") } else { format!("{amount:.0} {name}") }
}

/// `just now`, `3s ago`, `5m ago`, `2h ago`, `4d ago`.
pub fn age(then: Time, now: Time) -> String {
    let seconds = (now.millis() - then.millis()).max(0) / 1_000;
    match seconds {
        0 => "just now".to_owned(),
        1..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..172_800 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// `Sun, Nov 15`, with the year if it is not the current one: `Sat, Jan 31, 2099`.
pub fn day(date: Date, today: Date) -> String {
    if date.ymd().0 == today.ymd().0 { day_and_month(date) } else { day_with_year(date) }
}

/// `Sun, Nov 15, 2026`.
pub fn day_with_year(date: Date) -> String {
    format!("{}, {}", day_and_month(date), date.ymd().0)
}

fn day_and_month(date: Date) -> String {
    let (_, month, day) = date.ymd();
    format!("{}, {} {day}", weekday(date.weekday()), MONTHS[(month - 1) as usize])
}

/// `Mon`.
pub fn weekday(day: Weekday) -> &'static str {
    WEEKDAYS[day as usize]
}

/// `$0`, `$0.0042`, `$1.50`: small prices keep four digits, because a call often costs less than a cent.
pub fn dollars(cost: f64) -> String {
    match cost {
        0.0 => "$0".to_owned(),
        cost if cost > 0.0 && cost < 0.01 => format!("${cost:.4}"),
        cost => format!("${cost:.2}"),
    }
}

/// `$0.0251`: four digits, where amounts are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactDollars(pub f64);

impl fmt::Display for ExactDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.0)
    }
}

/// The first items, and how many more there are: `a, b, and 3 more`.
pub fn first(items: &[impl AsRef<str>], most: usize) -> String {
    match items.get(..most).filter(|_| items.len() > most) {
        Some(shown) => {
            let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
            format!("{}, and {} more", shown.join(", "), number(items.len() - most))
        }
        None => list(items),
    }
}

/// `a`, `a and b`, `a, b, and c`.
pub fn list(items: &[impl AsRef<str>]) -> String {
    joined(items, "and")
}

/// `a`, `a or b`, `a, b, or c`.
pub fn choices(items: &[impl AsRef<str>]) -> String {
    joined(items, "or")
}

fn joined(items: &[impl AsRef<str>], word: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [one, two] => format!("{} {word} {}", one.as_ref(), two.as_ref()),
        [before @ .., last] => {
            let before: Vec<&str> = before.iter().map(AsRef::as_ref).collect();
            format!("{}, {word} {}", before.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Rows that the browser's formatters are tested with as well.
    const ROWS: &str = include_str!("../../../web/src/lib/format.json");

    fn rows(name: &str) -> Vec<(Value, String)> {
        let all: Value = serde_json::from_str(ROWS).expect("JSON");
        let rows: Vec<(Value, String)> = serde_json::from_value(all[name].clone()).expect("pairs");
        assert!(rows.len() >= 3, "{name}");
        rows
    }

    fn whole(value: &Value) -> u64 {
        value.as_u64().expect("a number")
    }

    fn texts(value: &Value) -> Vec<&str> {
        value.as_array().expect("a list").iter().map(|text| text.as_str().expect("text")).collect()
    }

    #[test]
    fn terminal_and_browser_format_alike() {
        for (given, shown) in rows("number") {
            assert_eq!(number(whole(&given)), shown);
        }
        for (given, shown) in rows("plural") {
            assert_eq!(plural(whole(&given[0]), given[1].as_str().expect("a noun")), shown);
        }
        for (given, shown) in rows("duration") {
            assert_eq!(duration(Duration::from_millis(whole(&given))), shown);
        }
        for (given, shown) in rows("runningTime") {
            assert_eq!(running_time(Duration::from_millis(whole(&given))), shown);
        }
        for (given, shown) in rows("money") {
            assert_eq!(dollars(given.as_f64().expect("a price")), shown);
        }
        for (given, shown) in rows("age") {
            let passed = Time::from_millis(given.as_i64().expect("seconds") * 1_000);
            assert_eq!(age(Time::from_millis(0), passed), shown);
        }
        for (given, shown) in rows("day") {
            let [date, today] = [0, 1].map(|at| given[at].as_str().expect("a day").parse().expect("a date"));
            assert_eq!(day(date, today), shown);
        }
        for (given, shown) in rows("list") {
            assert_eq!(list(&texts(&given)), shown);
        }
        for (given, shown) in rows("choices") {
            assert_eq!(choices(&texts(&given)), shown);
        }
    }

    #[test]
    fn sizes_have_two_digits() {
        let sizes = [0, 1_023, 1_024, 10_188, 10_189, 20_480, 1_048_063, 1_048_064, 5_242_880, 1 << 30].map(size);
        let expected = ["0 B", "1023 B", "1.0 KB", "9.9 KB", "10 KB", "20 KB", "1023 KB", "1.0 MB", "5.0 MB", "1.0 GB"];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn long_lists_are_counted() {
        let items = ["a", "b", "c", "d"];
        assert_eq!(
            [first(&items[..2], 2), first(&items[..3], 2), first(&items, 3)],
            ["a and b", "a, b, and 1 more", "a, b, c, and 1 more"]
        );
        assert_eq!(first(&items, 4), "a, b, c, and d");
    }

    #[test]
    fn verbs_agree_with_their_count() {
        let hunks = |count: usize| format!("{} {}", plural(count, "hunk"), verb(count, "is", "are"));
        assert_eq!([hunks(0), hunks(1), hunks(2)], ["0 hunks are", "1 hunk is", "2 hunks are"]);
        assert_eq!(Plural::new(1_u32, "more model call").to_string(), "1 more model call");
    }
}

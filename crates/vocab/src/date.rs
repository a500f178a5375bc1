//! A day of the calendar and a time on the clock, as people write them into a list of tasks. Neither knows a
//! time zone: "9:00 on the 3rd" stays 9:00 even if the offset changes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::{civil_from_days, days_from_civil};

/// A day of the Gregorian calendar in the years 0000 to 9999; on the wire `2026-11-15`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Date(i32);

/// A text that is not a day in the wire's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadDate(pub String);

impl fmt::Display for BadDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a date like 2026-11-15", self.0.escape_debug())
    }
}

impl std::error::Error for BadDate {}

/// 0000-01-01 and 9999-12-31: years of more than four digits have no wire form.
const FIRST: i32 = -719_528;
const LAST: i32 = 2_932_896;

impl Date {
    /// The last day that can be written.
    pub const MAX: Self = Self(LAST);

    /// This day of this month, from 1; none if there is no such day.
    pub fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        let in_range = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let days = in_range.then(|| days_from_civil(year, month, day))?;
        let date = Self(i32::try_from(days).ok()?);
        (civil_from_days(days) == (year, month, day)).then_some(date)
    }

    /// This day of this month, or the month's last day if it is shorter. Months are counted on: the 13th
    /// month of a year is January of the next.
    pub fn clamped(year: i64, month: i64, day: i64) -> Option<Self> {
        let year = year + (month - 1).div_euclid(12);
        let month = (month - 1).rem_euclid(12) + 1;
        (1..=day.min(31)).rev().take(4).find_map(|day| Self::new(year, month, day))
    }

    /// Year, month and day, the latter two from 1.
    pub fn ymd(self) -> (i64, i64, i64) {
        civil_from_days(i64::from(self.0))
    }

    /// Days since 1970-01-01.
    pub fn days(self) -> i64 {
        i64::from(self.0)
    }

    /// The day so many days after 1970-01-01, held within the years that can be written.
    pub fn from_days(days: i64) -> Self {
        Self(days.clamp(i64::from(FIRST), i64::from(LAST)) as i32)
    }

    /// So many days later, or earlier; held within the years that can be written.
    #[must_use]
    pub fn plus(self, days: i64) -> Self {
        Self::from_days(self.days().saturating_add(days))
    }

    /// The day of the week.
    pub fn weekday(self) -> Weekday {
        // 1970-01-01 was a Thursday.
        Weekday::ALL[(self.days() + 3).rem_euclid(7) as usize]
    }

    /// The Monday of its week.
    #[must_use]
    pub fn monday(self) -> Self {
        self.plus(-(self.weekday() as i64))
    }

    /// The last day of its year.
    #[must_use]
    pub fn year_end(self) -> Self {
        Self::new(self.ymd().0, 12, 31).unwrap_or(Self::MAX)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// The numbers of a text that has exactly this shape, `d` standing for a digit.
fn numbers<const N: usize>(text: &str, shape: &[u8]) -> Option<[i64; N]> {
    let bytes = text.as_bytes();
    let fits = bytes.len() == shape.len()
        && bytes.iter().zip(shape).all(|(b, s)| if *s == b'd' { b.is_ascii_digit() } else { b == s });
    let mut numbers = [0; N];
    for (number, part) in numbers.iter_mut().zip(text.split(['-', ':'])) {
        *number = part.parse().ok()?;
    }
    fits.then_some(numbers)
}

impl FromStr for Date {
    type Err = BadDate;

    fn from_str(text: &str) -> Result<Self, BadDate> {
        let date = numbers(text, b"dddd-dd-dd").and_then(|[year, month, day]| Self::new(year, month, day));
        date.ok_or_else(|| BadDate(text.to_owned()))
    }
}

impl TryFrom<String> for Date {
    type Error = BadDate;
    fn try_from(text: String) -> Result<Self, BadDate> {
        text.parse()
    }
}

impl From<Date> for String {
    fn from(date: Date) -> String {
        date.to_string()
    }
}

/// A day of the week; the week begins on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Weekday {
    /// All of them, in the order of the week.
    pub const ALL: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// Whether it is none of the weekend.
    pub fn is_workday(self) -> bool {
        self < Self::Sat
    }
}

/// A time on the clock, to the minute; on the wire `09:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct TimeOfDay {
    minutes: u16,
}

/// A text that is not a time of day in the wire's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTimeOfDay(pub String);

impl fmt::Display for BadTimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a time of day like 09:30", self.0.escape_debug())
    }
}

impl std::error::Error for BadTimeOfDay {}

impl TimeOfDay {
    /// This minute of this hour; none if the clock has no such time.
    pub fn new(hour: u16, minute: u16) -> Option<Self> {
        (hour < 24 && minute < 60).then_some(Self { minutes: hour * 60 + minute })
    }

    /// The hour, from 0.
    pub fn hour(self) -> u16 {
        self.minutes / 60
    }

    /// The minute of the hour.
    pub fn minute(self) -> u16 {
        self.minutes % 60
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour(), self.minute())
    }
}

impl FromStr for TimeOfDay {
    type Err = BadTimeOfDay;

    fn from_str(text: &str) -> Result<Self, BadTimeOfDay> {
        let time = numbers(text, b"dd:dd").and_then(|[hour, minute]| Self::new(hour as u16, minute as u16));
        time.ok_or_else(|| BadTimeOfDay(text.to_owned()))
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = BadTimeOfDay;
    fn try_from(text: String) -> Result<Self, BadTimeOfDay> {
        text.parse()
    }
}

impl From<TimeOfDay> for String {
    fn from(time: TimeOfDay) -> String {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_days_and_times_are_refused() {
        for bad in ["2023-02-29", "2026-13-01", "2026-1-1", "26-01-01", "2026/01/01", "+026-01-01", "tomorrow", ""] {
            assert_eq!(bad.parse::<Date>(), Err(BadDate(bad.into())));
        }
        for bad in ["24:00", "9:00", "09:60", "09:00:00", "noon", ""] {
            assert_eq!(bad.parse::<TimeOfDay>(), Err(BadTimeOfDay(bad.into())));
        }
    }

    #[test]
    fn a_month_without_the_day_gives_its_last() {
        let clamped = |y, m, d| Date::clamped(y, m, d).map(|date| date.to_string());
        assert_eq!(clamped(2026, 2, 31), Some("2026-02-28".into()));
        assert_eq!(clamped(2028, 2, 30), Some("2028-02-29".into()));
        assert_eq!(clamped(2026, 16, 31), Some("2027-04-30".into()));
        assert_eq!(clamped(9999, 13, 1), None);
    }

    #[test]
    fn the_week_begins_on_monday() {
        let sunday: Date = "2026-11-15".parse().unwrap();
        assert_eq!((sunday.weekday(), sunday.monday().to_string()), (Weekday::Sun, "2026-11-09".into()));
        assert_eq!(sunday.plus(1).monday().to_string(), "2026-11-16");
    }

    proptest! {
        #[test]
        fn text_and_back_is_the_same_day(days in FIRST..=LAST) {
            let date = Date(days);
            prop_assert_eq!(date.to_string().parse::<Date>(), Ok(date));
        }
    }
}

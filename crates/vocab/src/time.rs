//! A moment, to the millisecond, always UTC.
//!
//! The vocabulary has no calendar of its own to keep it free of dependencies; the two conversions
//! below are the proleptic Gregorian day count and its inverse, nothing more.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z; on the wire `2026-11-15T08:30:00.125Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
#[serde(try_from = "String", into = "String")]
pub struct Time(i64);

/// A text that is not a moment in the wire's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTime(pub String);

impl fmt::Display for BadTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a time like 2026-11-15T08:30:00.125Z", self.0.escape_debug())
    }
}

impl std::error::Error for BadTime {}

const DAY: i64 = 86_400_000;
/// 9999-12-31T23:59:59.999Z: years of more than four digits have no wire form.
const LAST: i64 = 253_402_300_799_999;
/// 0000-01-01T00:00:00.000Z.
const FIRST: i64 = -62_167_219_200_000;

impl Time {
    /// A moment, held within the years 0000 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(FIRST, LAST))
    }

    /// Milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0
    }
}

pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY));
        let rest = self.0.rem_euclid(DAY);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl FromStr for Time {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<Self, BadTime> {
        let bad = || BadTime(text.to_owned());
        let bytes = text.as_bytes();
        let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
        let fits = bytes.len() == shape.len()
            && bytes.iter().zip(shape).all(|(b, s)| if *s == b'd' { b.is_ascii_digit() } else { b == s });
        if !fits {
            return Err(bad());
        }
        let number = |from: usize, to: usize| {
            bytes[from..to].iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
        };
        let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
        let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
        let days = days_from_civil(year, month, day);
        if !in_range || civil_from_days(days) != (year, month, day) {
            return Err(bad());
        }
        Ok(Self(days * DAY + hour * 3_600_000 + minute * 60_000 + second * 1_000 + number(20, 23)))
    }
}

impl TryFrom<String> for Time {
    type Error = BadTime;
    fn try_from(text: String) -> Result<Self, BadTime> {
        text.parse()
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_have_their_known_text() {
        assert_eq!(Time::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Time::from_millis(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
        assert_eq!(Time::from_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(Time::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Time::from_millis(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn impossible_dates_are_refused() {
        for bad in ["2023-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "now", ""] {
            assert_eq!(bad.parse::<Time>(), Err(BadTime(bad.into())));
        }
    }

    proptest! {
        #[test]
        fn text_and_back_is_the_same_moment(millis in FIRST..=LAST) {
            let time = Time::from_millis(millis);
            prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time));
        }
    }
}

//! Parsers for numbers on the command line. The standard library's message ("invalid digit found in string") does not
//! say what the option expects.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// Zero or more.
pub(super) fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// One or more.
pub(super) fn positive(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

/// The number of images of one request.
pub(super) fn image_count(text: &str) -> Result<u32, String> {
    const COUNT: RangeInclusive<u32> = 1..=10;
    let number = text.parse::<u32>().ok().filter(|number| COUNT.contains(number));
    number.ok_or_else(|| format!("expected a whole number from {} to {}", COUNT.start(), COUNT.end()))
}

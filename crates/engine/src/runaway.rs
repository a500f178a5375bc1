//! Detects a streaming reply that only repeats itself, as small models do at low temperatures.
//!
//! The text is read in units: a word, a sign, or white space, at most eight characters each. For each period up to
//! `LONGEST_PERIOD`, the number of successive units that equal the unit one period before is counted. Memory and the
//! time per unit are constant, so a reply is read in linear time, no matter how it is split into pieces.
//!
//! Only exact repetition counts. Lists whose lines differ by a number, tables, encoded data, and code repeat their
//! pattern but not their units.

/// Units of the longest part that is recognized when it comes again.
const LONGEST_PERIOD: usize = 256;
/// Units that only repeat earlier ones before the reply is stopped: a few hundred tokens.
const ENDLESS: u32 = 400;
/// The same for parts that say little, such as `0, ` or a line of dashes: arrays and drawings have many of them.
const ENDLESS_SIGNS: u32 = 3_000;
/// The part must have come at least so often besides.
const TIMES: u32 = 3;
/// How many times as long the arguments of a tool are read before they count as endless: a file may hold hundreds of
/// equal lines on purpose.
const PATIENT: u32 = 10;
/// Characters of a unit.
const UNIT: usize = 8;

/// Reads a text piece by piece.
#[derive(Debug, Clone)]
pub struct RunawayDetector {
    /// The unit that is being read.
    unit: String,
    class: UnitClass,
    /// The last units as hashes, in a ring.
    last: Vec<u32>,
    /// How much each of them says.
    says: Vec<UnitWeight>,
    count: usize,
    /// For each period, units in a row that are the same as those one period before.
    runs: Vec<u32>,
    /// How many times the usual repetition it takes.
    patience: u32,
    /// How often the same part may occur because the request wants it.
    expected: u32,
    is_endless: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitClass {
    Word,
    Blank,
    Sign,
}

/// The weight of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitWeight {
    Blank,
    /// A sign, a number, the same letter over and over.
    Little,
    Word,
}

impl Default for RunawayDetector {
    fn default() -> Self {
        Self {
            unit: String::with_capacity(UNIT * 4),
            class: UnitClass::Blank,
            last: vec![0; LONGEST_PERIOD],
            says: vec![UnitWeight::Blank; LONGEST_PERIOD],
            count: 0,
            runs: vec![0; LONGEST_PERIOD + 1],
            patience: 1,
            expected: TIMES,
            is_endless: false,
        }
    }
}

impl RunawayDetector {
    /// For the arguments of tools, such as the content of a file: stops after about 4,000 tokens of the same few words.
    pub fn patient() -> Self {
        Self { patience: PATIENT, ..Self::default() }
    }

    /// For a request that wants the same thing so often: more than that, and some for a miscount, is too much.
    #[must_use]
    pub fn expecting(self, repeats: u32) -> Self {
        Self { expected: TIMES.max(repeats.saturating_add(repeats / 4)), ..self }
    }

    /// Continues reading; returns whether the text only repeats itself.
    pub fn read(&mut self, piece: &str) -> bool {
        if self.is_endless {
            return true;
        }
        for c in piece.chars() {
            let class = match c {
                c if c.is_alphanumeric() => UnitClass::Word,
                c if c.is_whitespace() => UnitClass::Blank,
                _ => UnitClass::Sign,
            };
            let is_other_sign = class == UnitClass::Sign && !self.unit.ends_with(c);
            let is_over = class != self.class || is_other_sign || self.unit.chars().count() >= UNIT;
            if is_over && !self.unit.is_empty() {
                self.end_unit();
                if self.is_endless {
                    return true;
                }
            }
            self.class = class;
            self.unit.push(c);
        }
        self.is_endless
    }

    fn end_unit(&mut self) {
        let is_space = self.unit == " ";
        let hash =
            self.unit.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        // The same letter over and over is a line, or the zeros of encoded data.
        let mut letters = self.unit.chars();
        let (first, second) = (letters.next(), letters.next());
        let is_one_letter = second.is_some() && self.unit.chars().all(|c| Some(c) == first);
        let says = match self.class {
            UnitClass::Word if first.is_some_and(char::is_alphabetic) && !is_one_letter => UnitWeight::Word,
            UnitClass::Word | UnitClass::Sign => UnitWeight::Little,
            UnitClass::Blank => UnitWeight::Blank,
        };
        self.unit.clear();
        // A single space separates words and is not a unit.
        if is_space {
            return;
        }
        let at = self.count % LONGEST_PERIOD;
        for period in 1..=LONGEST_PERIOD.min(self.count) {
            let earlier = self.last[(self.count - period) % LONGEST_PERIOD];
            let run = &mut self.runs[period];
            *run = if earlier == hash { *run + 1 } else { 0 };
        }
        self.last[at] = hash;
        self.says[at] = says;
        self.count += 1;
        self.is_endless = self.is_at_an_end();
    }

    fn is_at_an_end(&self) -> bool {
        let most = (1..=LONGEST_PERIOD).find(|period| {
            let run = self.runs[*period];
            run >= ENDLESS * self.patience && run >= self.expected.saturating_mul(*period as u32)
        });
        let Some(period) = most else { return false };
        let mut part = (1..=period.min(self.count)).map(|back| self.says[(self.count - back) % LONGEST_PERIOD]);
        let has_words = part.clone().any(|says| says == UnitWeight::Word);
        has_words || part.all(|says| says == UnitWeight::Blank) || self.runs[period] >= ENDLESS_SIGNS * self.patience
    }
}

/// The most repetitions that a request can ask for.
const MOST_REPEATS: u32 = 10_000;
/// Words behind a number that say how long or large something is, and not how often it comes.
const MEASURES: &[&str] = &[
    "seconds",
    "secs",
    "minutes",
    "mins",
    "hours",
    "days",
    "weeks",
    "months",
    "years",
    "ms",
    "milliseconds",
    "bytes",
    "users",
    "characters",
    "chars",
    "words",
    "tokens",
    "requests",
    "retries",
    "pixels",
    "percents",
    "dollars",
    "items",
];

/// How often a request wants the same thing, if it says so: "500 zeros", "the line ok 300 times", "a 40x20 grid". A
/// number alone is a port, a year, or a version.
pub(crate) fn asked_repeats(text: &str) -> u32 {
    let text = text[..text.floor_char_boundary(4_000)].to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let count = |word: &str| match word {
        "hundred" | "hundreds" => Some(100),
        "thousand" | "thousands" => Some(1_000),
        word => word.parse::<u32>().ok(),
    };
    let counted = words.windows(2).filter_map(|pair| {
        let number = count(pair[0])?;
        let is_plural = pair[1].len() > 2 && pair[1].ends_with('s') && pair[1].chars().all(char::is_alphabetic);
        (is_plural && !MEASURES.contains(&pair[1])).then_some(number)
    });
    let grids = words.iter().filter_map(|word| {
        let (columns, rows) = word.split_once('x')?;
        Some(count(columns)?.max(count(rows)?))
    });
    let adjectives = words.windows(3).filter_map(|three| {
        // "300 equal lines", "500 empty rows"
        let is_line = matches!(three[2], "lines" | "rows" | "times" | "copies" | "columns" | "cells" | "entries");
        count(three[0]).filter(|_| is_line)
    });
    counted.chain(grids).chain(adjectives).filter(|number| *number <= MOST_REPEATS).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped_at(text: &str) -> Option<usize> {
        let mut detector = RunawayDetector::default();
        text.char_indices().find(|(at, c)| detector.read(&text[*at..*at + c.len_utf8()])).map(|(at, _)| at)
    }

    fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
        (1..=count).map(|number| line(number) + "\n").collect()
    }

    /// What models have sent, and its like.
    #[test]
    fn a_reply_that_only_repeats_itself_is_stopped_within_a_few_hundred_tokens() {
        let paragraph = "Once upon a time there was a creature who loved stories, and every evening it sat by the fire \
                         and listened to the oldest of them all until the moon was high and the others slept.\n\n";
        for (name, part) in [
            ("a sentence", "The original sentence is: "),
            ("run together", "Theoriginal sentence is: "),
            ("a sentence with a name", "She loved Stories, a creature who loved Stories. "),
            ("a word", "the "),
            ("a word without spaces", "storystory"),
            ("a line", "- [ ] Fix the tests\n"),
            ("a paragraph", paragraph),
            ("code", "    print(\"hello\")\n"),
            ("JSON", "{\"name\":\"red\",\"arguments\":{}},"),
            ("thinking", "Wait, let me think again. "),
            ("another script", "\u{4f60}\u{597d}\u{4e16}\u{754c}\u{3002}"),
            ("markup", "</div><div class=\"a\">"),
            ("an emoji and a word", "\u{1f600} yes "),
        ] {
            let text = format!("Here is a fine beginning of the story.\n\n{}", part.repeat(6_000 / part.len() + 40));
            let at = stopped_at(&text).unwrap_or_else(|| panic!("{name} was not stopped"));
            assert!(at < 6_500, "{name}: only after {at} bytes");
        }
        for (name, part) in [("signs", "0, "), ("a line without end", "="), ("blanks", "\n"), ("zeros", "AAAA")] {
            assert!(stopped_at(&part.repeat(40_000)).is_some(), "{name}");
        }
    }

    /// Deterministic and without a pattern.
    fn noise(length: usize, alphabet: &str) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize
        };
        (0..length).map(|_| letters[next() % letters.len()]).collect()
    }

    #[test]
    fn what_repeats_its_pattern_and_not_its_words_is_left_alone() {
        let base64 = noise(60_000, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
        let rows = "| yes | no | yes | no |\n";
        for (name, text) in [
            ("a table", lines(400, |n| format!("| {n} | item | yes | no | 0.0 | - |"))),
            ("a table of the same cells", format!("| a | b | c | d |\n|---|---|---|---|\n{}", rows.repeat(20))),
            ("a list", lines(500, |n| format!("{n}. Check that step {n} has passed."))),
            ("similar lines", lines(400, |n| format!("    assert_eq!(read({n}), Ok(Value::Number({n})));"))),
            ("a grid", lines(28, |_| format!("[{}],", vec!["0"; 28].join(", ")))),
            ("a drawing", lines(40, |_| format!("|{}|", " ".repeat(76)))),
            ("rules", lines(60, |_| "-".repeat(80))),
            ("a box", format!("+{0}+\n{1}+{0}+\n", "=".repeat(70), lines(20, |_| format!("#{}#", " ".repeat(70))))),
            ("encoded data", base64.clone()),
            ("zeros in encoded data", format!("{}{}{}", &base64[..900], "A".repeat(4_000), &base64[900..1_800])),
            ("digits", noise(40_000, "0123456789")),
            ("minified data", lines(1, |_| (0..3_000).map(|n| format!("{{\"id\":{n},\"v\":[1,2,3]}},")).collect())),
            ("dates", lines(300, |n| format!("2026-{:02}-{:02},0,0,0", n % 12 + 1, n % 28 + 1))),
            (
                "a poem with a refrain",
                lines(30, |n| {
                    format!("Verse {n} tells another tale.\nRow, row, row your boat,\nGently down the stream.")
                }),
            ),
            ("words without a pattern", noise(60_000, "abcde ")),
            ("an empty array of a program", format!("let grid = [{}];", "0, ".repeat(1_000))),
            ("few copies of a function", lines(3, |_| lines(60, |n| format!("    let x{n} = compute({n});")))),
        ] {
            assert_eq!(stopped_at(&text), None, "{name}");
        }
    }

    #[test]
    fn the_arguments_of_a_tool_may_hold_hundreds_of_equal_lines_and_not_thousands() {
        let stops = |text: &str| RunawayDetector::patient().read(text);
        let content = |line: &str, count| format!("{{\"path\":\"a.py\",\"content\":\"{}", line.repeat(count));
        let line = "print('hello world')\\n";
        assert!(stopped_at(&content(line, 400)).is_some(), "as a reply it would be stopped");
        assert!(!stops(&content(line, 400)));
        assert!(!stops(&content("0, ", 9_000)), "an array of zeros");
        assert!(stops(&content(line, 1_200)));
        assert!(stops(&content("and so on, ", 4_000)));
        assert!(stops(&content("0, ", 40_000)));
    }

    #[test]
    fn what_a_request_wants_so_often_is_no_runaway_until_it_comes_more_often() {
        let reads = |request: &str, text: &str| RunawayDetector::default().expecting(asked_repeats(request)).read(text);
        let ok = "status ok\n";
        assert!(reads("Write a log", &ok.repeat(300)));
        assert!(!reads("Write ok.txt with the line status ok 300 times", &ok.repeat(300)));
        assert!(reads("Write ok.txt with the line status ok 300 times", &ok.repeat(500)));
        assert!(!reads("A list of 2000 zeros in zeros.py", &"0, ".repeat(2_000)));
        assert!(reads("A list of 2000 zeros in zeros.py", &"0, ".repeat(3_000)));
        assert!(!reads("Print a 60x40 table of dots", &(". ".repeat(60) + "\n").repeat(40)));
    }

    #[test]
    fn how_often_something_is_wanted_is_told_from_other_numbers() {
        for (request, repeats) in [
            ("Write 500 zeros", 500),
            ("Repeat the line ok 300 times", 300),
            ("Write 200 equal lines to a.txt", 200),
            ("Draw a 40x20 grid of dots", 40),
            ("a thousand dots", 1_000),
            ("Change the port to 9090", 0),
            ("Wait 3000 seconds", 0),
            ("Set MAX_FILES to 50 in limits.py", 0),
            ("Update to version 2026", 0),
            ("Write 99999999 zeros", 0),
        ] {
            assert_eq!(asked_repeats(request), repeats, "{request}");
        }
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let text = format!("A beginning. {}", "and so on, ".repeat(400));
        let one = stopped_at(&text).expect("stopped");
        for size in [2, 3, 7, 64, 1_000] {
            let mut detector = RunawayDetector::default();
            let bytes: Vec<&str> =
                text.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).expect("ASCII")).collect();
            let read = bytes.iter().position(|piece| detector.read(piece)).expect("stopped");
            assert!((read * size..(read + 1) * size).contains(&one), "{size}: {read}");
        }
    }

    #[test]
    fn once_stopped_it_stays_so() {
        let mut detector = RunawayDetector::default();
        assert!(detector.read(&"and so on, ".repeat(400)));
        assert!(detector.read("something else"));
    }
}

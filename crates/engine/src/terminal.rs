//! Renders program output as a terminal would finally show it: progress bars at their end, no colors, no cursor
//! movement. Binary output is described, not shown.
//!
//! It takes one pass and memory proportional to the text, because cursor positions are bounded.

use std::collections::BTreeSet;

use regex_automata::meta::Regex;

/// A program's output, for reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable {
    /// The text, or a sentence that describes the bytes.
    pub text: String,
    /// Whether the text says all that the bytes say.
    pub is_whole: bool,
    /// Whether they are binary.
    pub is_binary: bool,
}

/// Bytes at the beginning that are checked for binary content.
const SNIFFED: usize = 8 * 1024;
/// Columns that a cursor can jump to. Text without jumps may be longer.
const WIDEST: usize = 1_000;
/// Spaces that jumps may leave behind, all together.
const PADDING: usize = 256 * 1024;

/// Bytes at the end of an output that are searched for a pattern at once.
pub const SEARCHED: usize = 64 * 1024;

/// A pattern that a program's output is searched for: a regular expression, or plain text where it is none.
pub struct OutputPattern {
    text: String,
    regex: Option<Regex>,
}

impl OutputPattern {
    pub fn new(text: &str) -> Self {
        // A model names the pattern: what would take much memory is searched for as text.
        let config = Regex::config().nfa_size_limit(Some(16 * 1024));
        let regex = Regex::builder().configure(config).build(text).ok();
        Self { text: text.to_owned(), regex }
    }

    /// Whether it is in the end of an output. A bound for the text is a bound for the time, whatever the pattern is.
    pub fn is_in(&self, output: &str) -> bool {
        let output = &output[output.ceil_char_boundary(output.len().saturating_sub(SEARCHED))..];
        output.contains(&self.text) || self.regex.as_ref().is_some_and(|regex| regex.is_match(output))
    }
}

/// The ports of local addresses that a text names, such as `http://localhost:5173/`.
pub fn local_ports(text: &str) -> BTreeSet<u16> {
    let hosts = ["localhost:", "127.0.0.1:", "0.0.0.0:", "[::1]:", "[::]:"];
    let after = hosts.iter().flat_map(|host| text.match_indices(host).map(|(at, host)| &text[at + host.len()..]));
    let digits = after.map(|rest| &rest[..rest.bytes().take_while(u8::is_ascii_digit).count()]);
    digits.filter_map(|digits| digits.parse().ok()).filter(|port| *port > 0).collect()
}

/// Makes bytes readable.
pub fn readable(bytes: &[u8]) -> Readable {
    if let Some(kind) = binary(bytes) {
        let text = format!("[Binary output, {} bytes{kind}. It is not shown.]", bytes.len());
        return Readable { text, is_whole: false, is_binary: true };
    }
    let raw = String::from_utf8_lossy(bytes);
    let text = shown(&raw);
    let is_whole = text.as_bytes() == bytes;
    Readable { text, is_whole, is_binary: false }
}

/// Whether bytes are binary, and what they look like, if known.
fn binary(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x7fELF", ", a program"),
        (b"\x89PNG", ", a PNG image"),
        (b"\xff\xd8\xff", ", a JPEG image"),
        (b"GIF8", ", a GIF image"),
        (b"%PDF", ", a PDF document"),
        (b"PK\x03\x04", ", a ZIP archive"),
        (b"\x1f\x8b", ", compressed with gzip"),
        (b"\x28\xb5\x2f\xfd", ", compressed with zstd"),
        (b"BZh", ", compressed with bzip2"),
        (b"\xfd7zXZ", ", compressed with xz"),
        (b"SQLite format 3", ", an SQLite database"),
    ];
    let head = &bytes[..bytes.len().min(SNIFFED)];
    let kind = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("", |(_, kind)| kind);
    if head.contains(&0) {
        return Some(kind);
    }
    let odd = String::from_utf8_lossy(head).chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    (odd * 10 > head.len().max(1) * 3).then_some(kind)
}

/// The text that a terminal would finally show.
pub fn shown(raw: &str) -> String {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if raw.chars().all(plain) {
        return raw.to_owned();
    }
    let mut screen = ScreenBuffer::default();
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => screen.new_line(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\u{1b}' => escape(&mut screen, &mut rest),
            '\u{9b}' => sequence(&mut screen, &mut rest),
            c if plain(c) => screen.put(c),
            _ => {}
        }
    }
    screen.text()
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

fn escape(screen: &mut ScreenBuffer, rest: &mut Rest<'_>) {
    match rest.next() {
        Some('[') => sequence(screen, rest),
        // Titles, links and other texts for the terminal itself: up to their end, a bell or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = rest.next() {
                if c == '\u{7}' || c == '\u{9c}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        // A character set is named by one more character.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(rest.next()),
        Some('M') => screen.up(1),
        Some('E') => screen.new_line(),
        _ => {}
    }
}

/// A control sequence: numbers, then the letter that says what they are for.
fn sequence(screen: &mut ScreenBuffer, rest: &mut Rest<'_>) {
    let mut numbers: [usize; 2] = [0; 2];
    let mut at = 0;
    while let Some(&c) = rest.peek() {
        match c {
            '0'..='9' if at < 2 => {
                let digit = c as usize - '0' as usize;
                numbers[at] = numbers[at].saturating_mul(10).saturating_add(digit);
            }
            ';' | ':' => at += 1,
            ' '..='?' => {}
            _ => break,
        }
        rest.next();
    }
    let [first, second] = numbers;
    let count = first.max(1);
    // A character that is not a letter ends a broken sequence, and counts as text.
    match rest.next_if(|c| matches!(c, '@'..='~')) {
        Some('A') => screen.up(count),
        Some('B') => screen.down(count),
        Some('C') => screen.move_to(screen.column.saturating_add(count)),
        Some('D') => screen.column = screen.column.saturating_sub(count),
        Some('E') => {
            screen.down(count);
            screen.column = 0;
        }
        Some('F') => {
            screen.up(count);
            screen.column = 0;
        }
        Some('G' | '`') => screen.move_to(count - 1),
        Some('K') => screen.erase_line(first),
        Some('J') => screen.erase(first),
        // Without a height of the screen, only the corner is known.
        Some('H' | 'f') if first <= 1 => {
            screen.row = screen.top;
            screen.move_to(second.max(1) - 1);
        }
        _ => {}
    }
}

#[derive(Default)]
struct ScreenBuffer {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The line that was on top when the screen was last erased.
    top: usize,
    /// Spaces that jumps have left behind.
    padded: usize,
}

impl ScreenBuffer {
    fn line(&mut self) -> &mut Vec<char> {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        &mut self.lines[self.row]
    }

    fn put(&mut self, c: char) {
        let length = self.line().len();
        if self.column > length {
            let padding = (self.column - length).min(PADDING - self.padded);
            self.padded += padding;
            self.column = length + padding;
        }
        let column = self.column;
        let line = self.line();
        if line.len() <= column {
            line.resize(column, ' ');
            line.push(c);
        } else {
            line[column] = c;
        }
        self.column += 1;
    }

    fn new_line(&mut self) {
        self.line();
        self.row += 1;
        self.column = 0;
    }

    fn up(&mut self, count: usize) {
        self.row = self.row.saturating_sub(count).max(self.top.min(self.row));
    }

    fn down(&mut self, count: usize) {
        self.row = self.row.saturating_add(count).min(self.lines.len()).max(self.row);
    }

    fn move_to(&mut self, column: usize) {
        self.column = column.min(WIDEST.max(self.column));
    }

    fn erase_line(&mut self, how: usize) {
        let column = self.column;
        let line = self.line();
        match how {
            0 => line.truncate(column),
            1 => line.iter_mut().take(column + 1).for_each(|c| *c = ' '),
            _ => line.clear(),
        }
    }

    fn erase(&mut self, how: usize) {
        match how {
            0 => {
                self.erase_line(0);
                self.lines.truncate(self.row + 1);
            }
            // A terminal clears the screen, but its text is wanted later.
            2 | 3 => {
                self.row = self.lines.len();
                self.top = self.row;
                self.column = 0;
            }
            _ => {}
        }
    }

    fn text(self) -> String {
        let ends = self.lines.len() <= self.row;
        let mut text = String::new();
        for (number, line) in self.lines.iter().enumerate() {
            if number > 0 {
                text.push('\n');
            }
            let from = text.len();
            text.extend(line);
            // Text that was overwritten with spaces is gone.
            text.truncate(from + text[from..].trim_end_matches(' ').len());
        }
        if ends && !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_bar_is_seen_at_its_end() {
        assert_eq!(shown("10%\r50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(shown("Building [=>   ]\r\x1b[KBuilding [==>  ]\r\x1b[K   Compiling a\r\n"), "   Compiling a\n");
        assert_eq!(shown("downloading…\rok\x1b[0K\n"), "ok\n");
        assert_eq!(shown("abc\x08\x08X\n"), "aXc\n");
    }

    #[test]
    fn lines_that_are_written_again_are_seen_once() {
        let raw = "a: wait\nb: wait\n\x1b[2A\x1b[2Ka: done\n\x1b[2Kb: done\n";
        assert_eq!(shown(raw), "a: done\nb: done\n");
        assert_eq!(shown("1\n2\n3\n\x1b[2A\x1b[Jend\n"), "1\nend\n");
        assert_eq!(shown("first screen\n\x1b[2J\x1b[Hsecond\n"), "first screen\nsecond\n");
    }

    #[test]
    fn colours_titles_and_links_are_gone() {
        assert_eq!(shown("\x1b[1;31merror\x1b[0m: \x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\\n"), "error: link\n");
        assert_eq!(shown("\x1b]0;title\x07x\x1b(By\x07\n"), "xy\n");
        assert_eq!(shown("\u{9b}31mred\n"), "red\n");
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in ["", "x", "x\n", "\n\n", "a\tb  \n", "é\n🦀", "trailing  \nspace "] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("dos\r\nlines\r\n"), "dos\nlines\n");
    }

    #[test]
    fn hostile_sequences_take_no_more_than_they_bring() {
        for raw in [
            "\x1b[999999999999999999999C!",
            "\x1b[99999999B!",
            "\x1b[",
            "\x1b]never ends",
            "\x1b",
            "\x1b[;;;;;;;;9999999999H",
        ] {
            assert!(shown(raw).len() < 2_000, "{raw:?}");
        }
        let many = "\x1b[1000C.\n".repeat(100_000);
        assert!(shown(&many).len() <= PADDING + 2 * 100_000);
        let lines = "\x1b[100B.".repeat(100_000);
        assert!(shown(&lines).len() <= PADDING + 3 * 100_000);
    }

    #[test]
    fn a_pattern_that_a_model_chose_never_takes_long() {
        // Letters without an order, so that no two places of the text look the same to the pattern.
        let mut seed = 1_u32;
        let mut letter = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 'a' } else { 'b' }
        };
        let output: String = (0..SEARCHED).map(|_| letter()).collect();
        let began = std::time::Instant::now();
        for text in
            ["[ab]*a[ab]{300}c", "(?:a|b|ab|ba)*(?:a|b){200}c", "(?:a?b?){400}x", r"(?:\w*\s?){60}!", r"\p{L}{50}\d"]
        {
            assert!(!OutputPattern::new(text).is_in(&output), "{text}");
        }
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
        let mut long = "x".repeat(4 * SEARCHED);
        long.push_str("ready");
        assert!(OutputPattern::new("rea.y").is_in(&long), "the end of a long text is searched");
    }

    #[test]
    fn binary_is_described() {
        let seen = readable(b"\x7fELF\x02\x01\x01\0\0\0");
        assert_eq!(
            (seen.text.as_str(), seen.is_whole),
            ("[Binary output, 10 bytes, a program. It is not shown.]", false)
        );
        assert!(readable(&[0xff; 100]).text.starts_with("[Binary output, 100 bytes"));
        assert_eq!(readable("é\n".as_bytes()), Readable { text: "é\n".into(), is_whole: true, is_binary: false });
        assert!(!readable(b"caf\xe9\n").is_whole, "one odd byte is a text with one odd byte");
        assert_eq!(readable(b"").text, "");
    }
}

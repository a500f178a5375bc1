//! Renders program output as a terminal would finally show it: progress bars at their end, the last of the screens
//! that a program drew over each other, no colors, no cursor movement. Binary output is described, not shown.
//!
//! It takes one pass and memory proportional to the text, because cursor positions are bounded. What was written before
//! a program first clears the screen stays, because it is the log of another program more often than a screen.

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
/// Rows of the terminal that programs draw for. It is the size that they assume where none is known.
const ROWS: usize = 24;
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
        Some('7') => screen.saved = (screen.row, screen.column),
        Some('8') => screen.restore(),
        Some('c') => screen.clear(),
        _ => {}
    }
}

/// A control sequence: numbers, then the letter that says what they are for.
fn sequence(screen: &mut ScreenBuffer, rest: &mut Rest<'_>) {
    let mut numbers: [usize; 2] = [0; 2];
    let mut at = 0;
    let is_private = rest.next_if_eq(&'?').is_some();
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
    let letter = rest.next_if(|c| matches!(c, '@'..='~'));
    if is_private {
        // The screen that full-screen programs draw on.
        let is_alternate = numbers.iter().any(|mode| matches!(mode, 47 | 1047 | 1049));
        match letter {
            Some('h') if is_alternate => screen.enter_alternate(),
            Some('l') if is_alternate => screen.leave_alternate(),
            _ => {}
        }
        return;
    }
    match letter {
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
        Some('H' | 'f') => {
            screen.move_to_row(first);
            screen.move_to(second.max(1) - 1);
        }
        Some('d') => screen.move_to_row(first),
        Some('s') => screen.saved = (screen.row, screen.column),
        Some('u') => screen.restore(),
        Some('L') => screen.insert_lines(count),
        Some('M') => screen.delete_lines(count),
        Some('P') => screen.delete_characters(count),
        Some('X') => screen.blank_characters(count),
        Some('@') => screen.insert_characters(count),
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
    /// It was erased before: what was drawn since then is not the last screen.
    is_cleared: bool,
    /// The row and the column that a program wants to come back to.
    saved: (usize, usize),
    /// The main screen, while this is the alternate one.
    main: Option<Box<ScreenBuffer>>,
    /// The alternate screen when the program left it.
    left: Option<Vec<Vec<char>>>,
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

    /// The line in the first row of the terminal.
    fn screen_top(&self) -> usize {
        self.top.max(self.lines.len().saturating_sub(ROWS))
    }

    fn move_to_row(&mut self, number: usize) {
        self.row = self.screen_top() + number.clamp(1, ROWS) - 1;
    }

    fn restore(&mut self) {
        let (row, column) = self.saved;
        self.row = row.clamp(self.top.min(self.lines.len()), self.lines.len());
        self.move_to(column);
    }

    /// Whether the cursor is in a line on the screen, and that line is no longer than a terminal could be wide. Only there
    /// is the cost of moving characters and lines bounded.
    fn is_on_screen(&mut self) -> bool {
        self.row >= self.screen_top() && self.line().len() <= WIDEST
    }

    fn insert_lines(&mut self, count: usize) {
        if self.is_on_screen() {
            let (row, bottom) = (self.row, self.screen_top() + ROWS);
            self.lines.splice(row..row, vec![Vec::new(); count.min(ROWS)]);
            self.lines.truncate(bottom);
        }
    }

    fn delete_lines(&mut self, count: usize) {
        if self.is_on_screen() {
            let end = self.row.saturating_add(count).min(self.lines.len());
            self.lines.drain(self.row..end);
        }
    }

    fn delete_characters(&mut self, count: usize) {
        if self.is_on_screen() {
            let column = self.column;
            let line = self.line();
            let end = column.saturating_add(count).min(line.len());
            line.drain(column.min(end)..end);
        }
    }

    fn blank_characters(&mut self, count: usize) {
        if self.is_on_screen() {
            let column = self.column;
            self.line().iter_mut().skip(column).take(count).for_each(|c| *c = ' ');
        }
    }

    fn insert_characters(&mut self, count: usize) {
        if self.is_on_screen() && self.column < self.line().len() {
            let count = count.min(WIDEST).min(PADDING - self.padded);
            self.padded += count;
            let column = self.column;
            self.line().splice(column..column, std::iter::repeat_n(' ', count));
        }
    }

    /// The next screen. The first one keeps what is above it, and each later one replaces the one before.
    fn clear(&mut self) {
        if self.is_cleared {
            self.lines.truncate(self.top);
        }
        self.is_cleared = true;
        self.row = self.lines.len();
        self.top = self.row;
        self.column = 0;
    }

    fn enter_alternate(&mut self) {
        if self.main.is_none() {
            let padded = self.padded;
            let main = Box::new(std::mem::take(self));
            *self = Self { padded, is_cleared: true, main: Some(main), ..Self::default() };
        }
    }

    fn leave_alternate(&mut self) {
        let Some(main) = self.main.take() else { return };
        let alternate = std::mem::replace(self, *main);
        self.padded = alternate.padded;
        // A program may erase its screen before it leaves.
        if alternate.lines.iter().flatten().any(|c| *c != ' ') {
            self.left = Some(alternate.lines);
        }
    }

    fn move_to(&mut self, column: usize) {
        self.column = column.min(WIDEST.max(self.column));
    }

    fn erase_line(&mut self, how: usize) {
        let column = self.column;
        let line = self.line();
        match how {
            0 => line.truncate(column),
            1 => line.iter_mut().take((column + 1).min(WIDEST)).for_each(|c| *c = ' '),
            _ => line.clear(),
        }
    }

    fn erase(&mut self, how: usize) {
        match how {
            // From the corner on, that is all of it.
            0 if self.column == 0 && self.row == self.screen_top() && self.row < self.lines.len() => self.clear(),
            0 => {
                self.erase_line(0);
                self.lines.truncate(self.row + 1);
            }
            2 => self.clear(),
            // The lines above the screen are the log, which is wanted later.
            _ => {}
        }
    }

    fn text(mut self) -> String {
        let above = self.main.take().map(|main| main.text()).unwrap_or_default();
        if self.lines.iter().flatten().all(|c| *c == ' ')
            && let Some(left) = self.left.take()
        {
            self.row = left.len();
            self.lines = left;
        }
        let text = self.own_text();
        match above.is_empty() || above.ends_with('\n') {
            true => above + &text,
            false => format!("{above}\n{text}"),
        }
    }

    fn own_text(self) -> String {
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
    fn streams_of_package_managers_are_seen_at_their_end() {
        let cargo = "   Compiling a v0.1.0\r\n\x1b[K    Building [====>     ] 1/3: a\r\x1b[K   Compiling b v0.1.0\r\n\
            \x1b[K    Building [========> ] 2/3: b\r\x1b[K    Finished `dev` profile\r\n";
        assert_eq!(shown(cargo), "   Compiling a v0.1.0\n   Compiling b v0.1.0\n    Finished `dev` profile\n");
        let npm = "\x1b[1G\x1b[0K⠙\x1b[1G\x1b[0K⠹\x1b[1G\x1b[0K⠸\x1b[1G\x1b[0K\nadded 3 packages in 1s\n\x1b[1G\x1b[0K⠼\x1b[1G\x1b[0K";
        assert_eq!(shown(npm), "\nadded 3 packages in 1s\n");
        let pip = "Downloading a.whl (2 MB)\n\x1b[?25l   \x1b[90m━━━━\x1b[0m \x1b[32m0.0/2.0 MB\x1b[0m \x1b[31m?\x1b[0m eta -:--:--\r\
            \x1b[2K   \x1b[90m━━━━\x1b[0m \x1b[32m2.0/2.0 MB\x1b[0m\n\x1b[?25hInstalled a\n";
        assert_eq!(shown(pip), "Downloading a.whl (2 MB)\n   ━━━━ 2.0/2.0 MB\nInstalled a\n");
        let pulls: String = (0..50).map(|n| format!("\x1b[2A\x1b[2Ka: {n}%\n\x1b[2Kb: {n}%\n")).collect();
        assert_eq!(shown(&format!("a: wait\nb: wait\n{pulls}")), "a: 49%\nb: 49%\n");
    }

    #[test]
    fn a_screen_that_is_drawn_again_and_again_is_seen_once() {
        for clear in ["\x1b[2J\x1b[H", "\x1b[H\x1b[2J\x1b[3J", "\x1b[H\x1b[J", "\x1bc"] {
            let drawn: String = (1..=500).map(|n| format!("{clear}watching, run {n}\n2 passed\n")).collect();
            assert_eq!(shown(&format!("> vitest\n{drawn}")), "> vitest\nwatching, run 500\n2 passed\n", "{clear:?}");
        }
        // By absolute positions, without erasing.
        let top: String = (1..=9).map(|n| format!("\x1b[1;1Hload {n}\x1b[2;1Htasks {n}\x1b[K\x1b[4;3Hidle")).collect();
        assert_eq!(shown(&top), "load 9\ntasks 9\n\n  idle");
        assert_eq!(shown("a\x1b7\x1b[5;9Hb\x1b8c\x1b[2;1Hd"), "ac\nd\n\n\n        b");
    }

    #[test]
    fn a_full_screen_program_leaves_what_a_terminal_would_show() {
        let pager = "\x1b[?1049h\x1b[Hline 1\r\nline 2\x1b[24;1H:\x1b[?1049l";
        assert_eq!(shown(&format!("before\n{pager}after\n")), "before\nafter\n");
        // Without anything else, its last screen is all that there is to see.
        let left = shown(pager);
        assert!(left.starts_with("line 1\nline 2\n") && left.ends_with(":\n"), "{left:?}");
        // A program that was killed has not left it.
        assert_eq!(shown("$ top\n\x1b[?1049h\x1b[2J\x1b[HCPU 3%\x1b[HCPU 9%"), "$ top\nCPU 9%");
    }

    #[test]
    fn lines_and_characters_are_inserted_and_deleted() {
        assert_eq!(shown("a\nb\nc\x1b[2;1H\x1b[Lx"), "a\nx\nb\nc");
        assert_eq!(shown("a\nb\nc\x1b[2;1H\x1b[M"), "a\nc");
        assert_eq!(shown("abcdef\x1b[3G\x1b[2P"), "abef");
        assert_eq!(shown("abcdef\x1b[3G\x1b[2X"), "ab  ef");
        assert_eq!(shown("abc\x1b[2G\x1b[2@x"), "ax bc");
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
        let long = "x".repeat(200_000);
        let began = std::time::Instant::now();
        for code in [
            "\x1b[1K",
            "\x1b[P",
            "\x1b[@",
            "\x1b[9X",
            "\x1b[L",
            "\x1b[M",
            "\x1b[24;1H.\x1b[H\x1b[J",
            "\x1b[?1049h.\x1b[?1049l",
        ] {
            let raw = format!("{long}\n{long}\r{}", code.repeat(50_000));
            assert!(shown(&raw).len() <= raw.len() + PADDING, "{code:?}");
        }
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
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

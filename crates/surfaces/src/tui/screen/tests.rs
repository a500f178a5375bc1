use ratatui::layout::Rect;
use ratatui::style::Stylize;

use super::*;

/// A terminal that understands what is written to it.
struct Terminal {
    screen: TerminalScreen<Vec<u8>>,
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    fn new(width: u16, height: u16, row: u16) -> Self {
        let mut parser = vt100::Parser::new(height, width, 1000);
        for number in 0..row {
            parser.process(format!("$ {number}\r\n").as_bytes());
        }
        let screen = TerminalScreen::new(Vec::new(), Size { width, height }, row, false);
        Self { screen, parser, bytes: Vec::new() }
    }

    fn frame(&mut self, above: &[&str], live: &[&str]) {
        let lines: Vec<Line<'_>> = above.iter().map(|text| Line::from(*text)).collect();
        let width = self.screen.size().width;
        let cells = Buffer::with_lines(live.iter().map(|text| format!("{text:width$}", width = usize::from(width))));
        let cursor = (!live.is_empty()).then(|| Position { x: 1, y: cells.area.height - 1 });
        self.screen.frame(&lines, DrawnRows { cells, cursor }).expect("writes");
        self.flush();
    }

    fn flush(&mut self) {
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
        self.bytes.extend(bytes);
    }

    /// All that was ever printed and is on the screen now, without blank rows at the end.
    fn all(&mut self) -> String {
        let (rows, columns) = self.parser.screen().size();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let gone = self.parser.screen().scrollback();
        let mut lines = Vec::new();
        for first in 0..gone {
            self.parser.screen_mut().set_scrollback(gone - first);
            lines.extend(self.parser.screen().rows(0, columns).take(1));
        }
        self.parser.screen_mut().set_scrollback(0);
        lines.extend(self.parser.screen().rows(0, columns).take(usize::from(rows)));
        lines.join("\n").trim_end().to_owned()
    }

    fn screen(&self) -> String {
        self.parser.screen().contents().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn finished_lines_go_above_and_every_one_of_them_stays() {
    let mut terminal = Terminal::new(20, 6, 2);
    terminal.frame(&[], &["> ", "status"]);
    assert_eq!(terminal.screen(), "$ 0\n$ 1\n> \nstatus".replace("> ", ">"));
    let mut expected = "$ 0\n$ 1\n".to_owned();
    for number in 0..30 {
        let text = format!("line {number}");
        terminal.frame(&[&text], &[">", "status"]);
        expected += &format!("{text}\n");
        assert_eq!(terminal.all(), format!("{expected}>\nstatus"), "after {number}");
    }
}

#[test]
fn more_lines_than_the_screen_has_rows_are_printed_at_once() {
    let mut terminal = Terminal::new(20, 6, 0);
    terminal.frame(&[], &["running", ">", "status"]);
    let lines: Vec<String> = (0..50).map(|number| format!("line {number}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    terminal.frame(&lines, &[">", "status"]);
    assert_eq!(terminal.all(), format!("{}\n>\nstatus", lines.join("\n")));
}

#[test]
fn the_input_line_stays_where_it_is_while_the_region_above_it_grows_and_shrinks() {
    let mut terminal = Terminal::new(20, 8, 0);
    terminal.frame(&["a", "b"], &["x", "y", "z", ">"]);
    assert_eq!(terminal.screen(), "a\nb\nx\ny\nz\n>");
    terminal.frame(&[], &[">"]);
    assert_eq!(terminal.screen(), "a\nb\n\n\n\n>");
    // What is blank is filled before anything scrolls.
    terminal.frame(&["c", "d"], &["x", ">"]);
    assert_eq!(terminal.screen(), "a\nb\nc\nd\nx\n>");
    terminal.frame(&[], &["1", "2", "3", "4", "5", "6", ">"]);
    assert_eq!(terminal.screen(), "d\n1\n2\n3\n4\n5\n6\n>");
    assert_eq!(terminal.all(), "a\nb\nc\nd\n1\n2\n3\n4\n5\n6\n>");
}

#[test]
fn no_hole_is_left_where_a_dialog_was() {
    let mut terminal = Terminal::new(20, 12, 0);
    terminal.frame(&["a"], &["1", "2", "3", "4", "5", "6", "7", ">"]);
    terminal.frame(&["b"], &[">"]);
    assert_eq!(terminal.screen(), "a\nb\n>");
    terminal.frame(&["c"], &["x", ">"]);
    assert_eq!(terminal.screen(), "a\nb\nc\nx\n>");
    // A list that becomes shorter while one types leaves the input where it is.
    terminal.frame(&[], &["1", "2", "3", "4", "5", "6", ">"]);
    terminal.screen.hold(true);
    terminal.frame(&[], &["1", ">"]);
    assert_eq!(terminal.screen(), "a\nb\nc\n\n\n\n\n\n1\n>");
}

#[test]
fn only_what_changed_is_written() {
    let mut terminal = Terminal::new(40, 10, 0);
    terminal.frame(&[], &["Thinking 0.1 s", "> hello", "model  12%"]);
    terminal.bytes.clear();
    terminal.frame(&[], &["Thinking 0.2 s", "> hello", "model  12%"]);
    let written = String::from_utf8(terminal.bytes.clone()).expect("text");
    assert!(written.contains('2') && !written.contains("Thinking") && written.len() < 80, "{written:?}");
    terminal.bytes.clear();
    terminal.frame(&[], &["Thinking 0.2 s", "> hello", "model  12%"]);
    assert_eq!(terminal.bytes, b"", "nothing changed");
}

#[test]
fn wide_characters_in_the_live_region_leave_nothing_behind() {
    let mut terminal = Terminal::new(20, 4, 0);
    terminal.frame(&[], &["日本語 ok", ">"]);
    assert_eq!(terminal.screen(), "日本語 ok\n>");
    terminal.frame(&[], &["abc", ">"]);
    assert_eq!(terminal.screen(), "abc\n>");
    terminal.frame(&[], &["a日b", ">"]);
    assert_eq!(terminal.screen(), "a日b\n>");
}

#[test]
fn a_line_as_wide_as_the_screen_is_whole() {
    let mut terminal = Terminal::new(10, 5, 0);
    terminal.frame(&["0123456789", "next"], &["abcdefghij", ">"]);
    assert_eq!(terminal.all(), "0123456789\nnext\nabcdefghij\n>");
}

#[test]
fn a_cover_leaves_the_screen_below_as_it_was() {
    let mut terminal = Terminal::new(20, 6, 1);
    terminal.frame(&["a", "b"], &[">", "status"]);
    let before = terminal.screen();
    let cover = |text: &str| DrawnRows {
        cells: Buffer::with_lines([text, "", "", "", "", "the end             "]),
        cursor: None,
    };
    terminal.screen.cover(cover("changes             ")).expect("writes");
    terminal.flush();
    assert_eq!(terminal.screen(), "changes\n\n\n\n\nthe end");
    terminal.screen.cover(cover("trace               ")).expect("writes");
    terminal.flush();
    assert_eq!(terminal.screen(), "trace\n\n\n\n\nthe end");
    assert!(!terminal.screen.uncover().expect("writes"));
    terminal.flush();
    assert_eq!(terminal.screen(), before);
    terminal.frame(&["c"], &[">", "status"]);
    assert_eq!(terminal.all(), "$ 0\na\nb\nc\n>\nstatus");
}

#[test]
fn a_new_size_keeps_the_finished_lines_and_draws_the_region_once() {
    let mut terminal = Terminal::new(20, 8, 0);
    terminal.frame(&["a", "b", "c"], &["x", ">"]);
    for (width, height) in [(30, 8), (10, 8), (20, 10), (20, 6)] {
        terminal.parser.screen_mut().set_size(height, width);
        let (y, x) = terminal.parser.screen().cursor_position();
        terminal.screen.resized(Size { width, height }, Some(Position { x, y }));
        terminal.frame(&[], &["x", ">"]);
        assert_eq!(terminal.all(), "a\nb\nc\nx\n>", "{width}x{height}");
    }
}

#[test]
fn a_terminal_that_lays_lines_out_anew_is_followed() {
    let mut screen = TerminalScreen::new(Vec::new(), Size { width: 20, height: 10 }, 2, true);
    let rows = Buffer::with_lines(["a line of 20 columns", "> word              ", "short               "]);
    screen.frame(&[], DrawnRows { cells: rows, cursor: Some(Position { x: 6, y: 1 }) }).expect("writes");
    // On 10 columns, the first row takes two: the cursor, which was on row 3, is on row 4 now.
    screen.resized(Size { width: 10, height: 10 }, Some(Position { x: 6, y: 4 }));
    assert_eq!(screen.end, 2, "the region begins where it began");
    screen.resized(Size { width: 10, height: 10 }, None);
    assert_eq!(screen.end, 10 - 1, "without a word from the terminal, it is taken to be at the bottom");
}

#[test]
fn nothing_is_left_of_the_live_region_at_the_end() {
    let mut terminal = Terminal::new(20, 6, 0);
    terminal.frame(&["said"], &["running", ">", "status"]);
    terminal.screen.leave().expect("writes");
    terminal.flush();
    assert_eq!(terminal.screen(), "said");
    assert_eq!(terminal.parser.screen().cursor_position(), (1, 0));
    assert!(!terminal.parser.screen().hide_cursor());
}

#[test]
fn styles_are_written_and_end_with_the_line() {
    let mut bytes = String::new();
    line(&mut bytes, &Line::from(vec!["a".red().bold(), "b".into()]), 20);
    assert_eq!(bytes, "\u{1b}[0m\u{1b}[K\u{1b}[0;1;31ma\u{1b}[0mb\u{1b}[0m");
    let mut cells = Buffer::empty(Rect::new(0, 0, 3, 1));
    cells.set_string(0, 0, "xy", ratatui::style::Style::new().fg(ratatui::style::Color::Indexed(9)));
    bytes.clear();
    row(&mut bytes, &cells, 0);
    assert_eq!(bytes, "\u{1b}[0m\u{1b}[K\u{1b}[0;38;5;9mxy\u{1b}[0m");
}

#[test]
fn an_address_is_a_link_to_itself_unless_it_may_go_on_in_the_next_row() {
    let written = |text: &str, width: u16| {
        let mut bytes = String::new();
        line(&mut bytes, &Line::from(text.to_owned()), width);
        bytes.replace("\u{1b}[0m", "").replace("\u{1b}[K", "").replace('\u{1b}', "^")
    };
    let link = "^]8;;https://a.example/b?c=d^\\https://a.example/b?c=d^]8;;^\\";
    assert_eq!(written("See (https://a.example/b?c=d).", 80), format!("See ({link})."));
    assert_eq!(written("https://a.example/b?c=d", 23), "https://a.example/b?c=d");
    assert_eq!(written("http:// and https:// alone", 80), "http:// and https:// alone");
}

#[test]
fn the_screen_is_never_cleared() {
    let mut terminal = Terminal::new(20, 6, 0);
    for number in 0..20 {
        terminal.frame(&["line"], &[&format!("{number}"), ">"]);
    }
    terminal.screen.cover(DrawnRows { cells: Buffer::with_lines(["cover"]), cursor: None }).expect("writes");
    terminal.screen.uncover().expect("writes");
    terminal.flush();
    let written = String::from_utf8(terminal.bytes).expect("text");
    for clear in ["\u{1b}[2J", "\u{1b}[3J", "\u{1b}c", "\u{1b}[J", "\u{1b}[H\u{1b}[J"] {
        assert!(!written.contains(clear));
    }
}

//! Cells and styled lines as the bytes that a terminal takes.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use trimtab_vocab::visible::visible;
use unicode_width::UnicodeWidthStr;

/// Blanks the rest of the row.
pub(super) const REST_OF_LINE: &str = "\u{1b}[0m\u{1b}[K";

/// Moves the cursor.
pub(super) fn goto(bytes: &mut String, row: u16, column: u16) {
    bytes.push_str(&format!("\u{1b}[{};{}H", u32::from(row) + 1, u32::from(column) + 1));
}

/// Writes what a cell holds. Whoever drew it has made it visible; should something be left in it that is not, a mark
/// stands for the whole cell, because it must not take more columns than the cell has.
fn symbol(bytes: &mut String, symbol: &str) {
    let is_fit = visible(symbol) == symbol && !symbol.contains(char::is_control);
    bytes.push_str(if is_fit { symbol } else { "\u{fffd}" });
}

/// Writes cells wherever they are, `top` rows further down.
pub(super) fn cells(bytes: &mut String, changed: Vec<(u16, u16, &Cell)>, top: u16) {
    let mut next = None;
    let mut pen = Pen::default();
    for (x, y, cell) in changed {
        if next != Some((x, y)) {
            goto(bytes, top + y, x);
        }
        pen.take(bytes, cell.style());
        symbol(bytes, cell.symbol());
        next = cell.symbol().is_ascii().then_some((x + 1, y));
    }
}

/// Writes a row of cells. The row is blanked first, from its first column on: a terminal that had broken a long line
/// in two here would otherwise still take this row for the half of one, and join it to the next when it is widened.
pub(super) fn row(bytes: &mut String, cells: &Buffer, at: u16) {
    let blank = Cell::default();
    let is_blank = |cell: &Cell| cell.symbol() == " " && cell.style() == blank.style();
    let width = cells.area.width;
    let used = (0..width).rev().find(|x| cells.cell((*x, at)).is_some_and(|cell| !is_blank(cell)));
    let used = used.map_or(0, |last| last + 1);
    bytes.push_str(REST_OF_LINE);
    let mut pen = Pen::default();
    let mut x = 0;
    while x < used {
        let Some(cell) = cells.cell((x, at)) else { break };
        pen.take(bytes, cell.style());
        symbol(bytes, cell.symbol());
        x += u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
        // Terminals do not agree on how wide some characters are: after those, the place is named again.
        if !cell.symbol().is_ascii() && x < width {
            bytes.push_str(&format!("\u{1b}[{}G", x + 1));
        }
    }
    bytes.push_str("\u{1b}[0m");
}

/// Writes a styled line as text that flows, onto a row that is blanked first. Addresses of pages can be opened, where the
/// terminal knows how; `width` is that of the screen.
pub(super) fn line(bytes: &mut String, line: &Line<'_>, width: u16) {
    bytes.push_str(REST_OF_LINE);
    let mut pen = Pen::default();
    let mut column = 0;
    for span in &line.spans {
        pen.take(bytes, line.style.patch(span.style));
        let text = visible(&span.content);
        linked(bytes, &text, column, usize::from(width));
        column += text.width();
    }
    bytes.push_str("\u{1b}[0m");
}

/// Signs that end a sentence or a bracket around an address, and do not belong to it.
const AFTER_LINK: [char; 10] = ['.', ',', ';', ':', ')', ']', '\'', '!', '?', '*'];

/// Writes a text whose addresses are links to what they say. One that goes to the end of the row may go on in the next, so
/// that it is no whole address.
fn linked(bytes: &mut String, text: &str, column: usize, width: usize) {
    let mut rest = text;
    while let Some(start) = ["https://", "http://"].iter().filter_map(|scheme| rest.find(scheme)).min() {
        let (before, from) = rest.split_at(start);
        bytes.push_str(before);
        let is_over = |c: char| !c.is_ascii_graphic() || matches!(c, '<' | '>' | '"' | '`' | '|');
        let url = from[..from.find(is_over).unwrap_or(from.len())].trim_end_matches(AFTER_LINK);
        let end = column + text[..text.len() - from.len()].width() + url.len();
        match url.len() > "https://".len() && end + 1 < width {
            true => bytes.push_str(&format!("\u{1b}]8;;{url}\u{1b}\\{url}\u{1b}]8;;\u{1b}\\")),
            false => bytes.push_str(url),
        }
        rest = &from[url.len()..];
    }
    bytes.push_str(rest);
}

/// The style that is in force.
#[derive(Default)]
struct Pen(Style);

impl Pen {
    fn take(&mut self, bytes: &mut String, style: Style) {
        // A style without a colour and one that says "the terminal's own" look alike.
        let plain = |colour: Option<Color>| colour.filter(|colour| *colour != Color::Reset);
        let style = Style { fg: plain(style.fg), bg: plain(style.bg), sub_modifier: Modifier::empty(), ..style };
        let style = Style { underline_color: None, ..style };
        if style == self.0 {
            return;
        }
        bytes.push_str("\u{1b}[0");
        for (modifier, code) in [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
            (Modifier::CROSSED_OUT, 9),
        ] {
            if style.add_modifier.contains(modifier) {
                bytes.push_str(&format!(";{code}"));
            }
        }
        colour(bytes, style.fg, 30);
        colour(bytes, style.bg, 40);
        bytes.push('m');
        self.0 = style;
    }
}

/// The code of a colour: 30 and up for letters, 40 and up for what is behind them.
fn colour(bytes: &mut String, colour: Option<Color>, base: u8) {
    let code = match colour {
        None | Some(Color::Reset) => return,
        Some(Color::Black) => base,
        Some(Color::Red) => base + 1,
        Some(Color::Green) => base + 2,
        Some(Color::Yellow) => base + 3,
        Some(Color::Blue) => base + 4,
        Some(Color::Magenta) => base + 5,
        Some(Color::Cyan) => base + 6,
        Some(Color::Gray) => base + 7,
        Some(Color::DarkGray) => base + 60,
        Some(Color::LightRed) => base + 61,
        Some(Color::LightGreen) => base + 62,
        Some(Color::LightYellow) => base + 63,
        Some(Color::LightBlue) => base + 64,
        Some(Color::LightMagenta) => base + 65,
        Some(Color::LightCyan) => base + 66,
        Some(Color::White) => base + 67,
        Some(Color::Indexed(number)) => return bytes.push_str(&format!(";{};5;{number}", base + 8)),
        Some(Color::Rgb(r, g, b)) => return bytes.push_str(&format!(";{};2;{r};{g};{b}", base + 8)),
    };
    bytes.push_str(&format!(";{code}"));
}

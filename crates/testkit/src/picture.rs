//! A terminal's screen as a picture, for documents.

use std::fmt::Write;

const CELL: (f64, f64) = (8.4, 18.0);
const EDGE: f64 = 12.0;
const GROUND: &str = "#14181d";
const LETTERS: &str = "#d8dee6";
const SIXTEEN: [&str; 16] = [
    "#2b3139", "#ff8f8f", "#7bd88f", "#f0d58a", "#7fb3ff", "#cdacff", "#6fd9c8", "#d8dee6", "#6b7480", "#ffb0b0",
    "#a5e8b4", "#f7e6b5", "#a9ccff", "#e0caff", "#a1ece0", "#ffffff",
];

/// The screen as SVG.
pub fn svg(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (f64::from(columns) * CELL.0 + 2.0 * EDGE, f64::from(rows) * CELL.1 + 2.0 * EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" style=\"white-space: pre\">\n"
    );
    for row in 0..rows {
        draw_row(&mut svg, screen, row, columns);
    }
    let (row, column) = screen.cursor_position();
    if !screen.hide_cursor() {
        let (x, y) = place(row, column);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{LETTERS}\" opacity=\"0.6\"/>",
            y - 14.0,
            CELL.0,
            CELL.1
        );
    }
    svg + "</g>\n</svg>\n"
}

fn place(row: u16, column: u16) -> (f64, f64) {
    (EDGE + f64::from(column) * CELL.0, EDGE + f64::from(row) * CELL.1 + 14.0)
}

fn draw_row(svg: &mut String, screen: &vt100::Screen, row: u16, columns: u16) {
    let mut column = 0;
    while column < columns {
        let Some(cell) = screen.cell(row, column) else { break };
        let (letters, ground) = colours(cell);
        let mut text = String::new();
        let from = column;
        while let Some(next) = screen.cell(row, column).filter(|next| {
            (colours(next), next.bold(), next.italic(), next.underline())
                == ((letters.clone(), ground.clone()), cell.bold(), cell.italic(), cell.underline())
        }) {
            if !next.is_wide_continuation() {
                text.push_str(if next.has_contents() { next.contents() } else { " " });
            }
            column += 1;
            // Cells beyond the letters of ASCII are placed one by one: fonts disagree on their width.
            if !next.contents().is_ascii() || column >= columns {
                break;
            }
        }
        column = column.max(from + 1);
        let ((x, y), wide) = (place(row, from), f64::from(column - from) * CELL.0);
        if ground != GROUND {
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{}\" fill=\"{ground}\"/>",
                y - 14.0,
                CELL.1
            );
        }
        if text.trim().is_empty() {
            continue;
        }
        let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
        let slope = if cell.italic() { " font-style=\"italic\"" } else { "" };
        let line = if cell.underline() { " text-decoration=\"underline\"" } else { "" };
        let dim = if cell.dim() { " opacity=\"0.6\"" } else { "" };
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // Blanks at the ends of a text are dropped by some readers; these are not.
        let text = text.replace(' ', "\u{a0}");
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{letters}\"{weight}{slope}{line}{dim}>{text}</text>");
    }
}

fn colours(cell: &vt100::Cell) -> (String, String) {
    let (letters, ground) = (colour(cell.fgcolor(), LETTERS), colour(cell.bgcolor(), GROUND));
    if cell.inverse() { (ground, letters) } else { (letters, ground) }
}

fn colour(colour: vt100::Color, usual: &str) -> String {
    match colour {
        vt100::Color::Default => usual.to_owned(),
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        vt100::Color::Idx(number @ 0..16) => SIXTEEN[usize::from(number)].to_owned(),
        vt100::Color::Idx(number @ 16..232) => {
            let step = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let number = number - 16;
            format!("#{:02x}{:02x}{:02x}", step(number / 36), step(number / 6 % 6), step(number % 6))
        }
        vt100::Color::Idx(number) => {
            let grey = 8 + 10 * (number - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

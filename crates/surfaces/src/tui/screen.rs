//! The terminal as we leave it: finished lines above, which belong to the terminal's own scrollback from then
//! on, and a live region below them, which is drawn over and over.
//!
//! Finished lines are printed as any program prints them, so that they scroll away by the most ordinary means
//! there is; no terminal loses them, and selecting, searching and copying work as ever. Only the live region
//! is positioned. The screen is never cleared: what changed is overwritten, in one write and inside of a
//! synchronized update, so that nothing flickers.
//!
//! Two numbers say where things are: `end`, the row after the last finished line, and `bottom`, the row after
//! the live region. Rows between the finished lines and the region are blank and are filled first. The bottom
//! moves up only when many rows would be blank, so that the input line mostly stays where the eye is.

use std::io::{self, Write};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Size};
use ratatui::text::Line;

use super::ink::{REST_OF_LINE, cells, goto, line, row};

const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[0m\u{1b}[?2026l";
const SHOW: &str = "\u{1b}[?25h";
const COVER: &str = "\u{1b}[?1049h";
const UNCOVER: &str = "\u{1b}[?1049l";
/// Reports of the mouse, as far as the wheel needs them.
const MOUSE: &str = "\u{1b}[?1000h\u{1b}[?1006h";
const UNCOVER_WITH_MOUSE: &str = "\u{1b}[?1006l\u{1b}[?1000l\u{1b}[?1049l";

/// Blank rows between the finished lines and the live region, at most.
const MOST_BLANK: u16 = 3;

/// What is drawn: cells, and where the cursor stands among them, if it shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DrawnRows {
    /// The cells, from row 0.
    pub(super) cells: Buffer,
    pub(super) cursor: Option<Position>,
}

impl DrawnRows {
    fn height(&self) -> u16 {
        self.cells.area.height
    }
}

/// A terminal that is written to.
#[derive(Debug)]
pub(super) struct TerminalScreen<W: Write> {
    out: W,
    size: Size,
    /// The row after the last finished line.
    end: u16,
    /// The row after the live region.
    bottom: u16,
    /// The live region as it was drawn last; without height: it has to be drawn anew.
    drawn: DrawnRows,
    /// What covers the whole screen, and how large that was when the cover came.
    over: Option<(DrawnRows, Size)>,
    /// The terminal lays long lines out anew when it becomes narrower.
    reflows: bool,
    /// The live region stays where it is, although it becomes lower.
    is_held: bool,
    /// The wheel is for what covers the screen.
    has_mouse: bool,
}

impl<W: Write> TerminalScreen<W> {
    /// A screen of this size whose next free row is `row`.
    pub(super) fn new(out: W, size: Size, row: u16, reflows: bool) -> Self {
        let row = row.min(size.height.saturating_sub(1));
        Self {
            out,
            size,
            end: row,
            bottom: row,
            drawn: DrawnRows::default(),
            over: None,
            reflows,
            is_held: false,
            has_mouse: false,
        }
    }

    /// Leaves the live region where it is, or no longer: a list that becomes shorter with each key must not move the input.
    pub(super) fn hold(&mut self, on: bool) {
        self.is_held = on;
    }

    /// How large it is.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// What was written goes here.
    pub(super) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Prints finished lines, each no wider than the screen, and draws the live region below them.
    pub(super) fn frame(&mut self, above: &[Line<'_>], live: DrawnRows) -> io::Result<()> {
        let mut bytes = String::new();
        if above.is_empty() && self.drawn.cells.area == live.cells.area && self.drawn.height() > 0 {
            if self.drawn == live {
                return Ok(());
            }
            cells(&mut bytes, self.drawn.cells.diff(&live.cells), self.top());
        } else {
            let height = live.height().min(self.size.height);
            self.lay_out(&mut bytes, above, height);
            self.draw(&mut bytes, &live.cells, height);
        }
        self.drawn = live;
        self.put_cursor(&mut bytes);
        self.write(&bytes)
    }

    /// Covers the whole screen, or changes what covers it. The screen below is as it was afterwards.
    pub(super) fn cover(&mut self, over: DrawnRows) -> io::Result<()> {
        let mut bytes = String::new();
        match &self.over {
            Some((before, _)) if before.cells.area == over.cells.area => {
                if *before == over {
                    return Ok(());
                }
                cells(&mut bytes, before.cells.diff(&over.cells), 0);
            }
            before => {
                if before.is_none() {
                    bytes.push_str(COVER);
                    bytes.push_str(if self.has_mouse { MOUSE } else { "" });
                }
                for at in 0..over.height().min(self.size.height) {
                    goto(&mut bytes, at, 0);
                    row(&mut bytes, &over.cells, at);
                }
            }
        }
        if let Some(at) = over.cursor {
            goto(&mut bytes, at.y, at.x);
            bytes.push_str(SHOW);
        }
        let size = self.over.as_ref().map_or(self.size, |(_, size)| *size);
        self.over = Some((over, size));
        self.write(&bytes)
    }

    /// Takes the cover away. Says whether the screen below has another size by now, so that nobody knows where
    /// things are until [`TerminalScreen::resized`] is told.
    pub(super) fn uncover(&mut self) -> io::Result<bool> {
        let Some((_, size)) = self.over.take() else { return Ok(false) };
        self.write(self.uncovering())?;
        if size != self.size {
            return Ok(true);
        }
        let mut bytes = String::new();
        self.put_cursor(&mut bytes);
        self.write(&bytes)?;
        Ok(false)
    }

    /// Whether the wheel is for what covers the screen.
    pub(super) fn set_mouse(&mut self, on: bool) {
        self.has_mouse = on;
    }

    fn uncovering(&self) -> &'static str {
        if self.has_mouse { UNCOVER_WITH_MOUSE } else { UNCOVER }
    }

    /// Whether something covers the screen.
    pub(super) fn is_covered(&self) -> bool {
        self.over.is_some()
    }

    /// The terminal has another size. `cursor` is where it says that its cursor is now; without it, the live
    /// region is taken to be at the bottom.
    pub(super) fn resized(&mut self, size: Size, cursor: Option<Position>) {
        if let Some((over, _)) = &mut self.over {
            // What is below is looked for when it is seen again; the cover itself is drawn whole.
            over.cells = Buffer::default();
            self.size = size;
            return;
        }
        let at = self.drawn.cursor.unwrap_or_default();
        let rows = |width: u16| if self.reflows { width.max(1).div_ceil(size.width.max(1)) } else { 1 };
        let height_of = |upto: u16| (0..upto).map(|row| rows(written_width(&self.drawn.cells, row))).sum::<u16>();
        let gap = self.top().saturating_sub(self.end);
        let top = match cursor {
            Some(now) => {
                let below = if self.reflows { at.x / size.width.max(1) } else { 0 };
                now.y.saturating_sub(height_of(at.y) + below)
            }
            None => size.height.saturating_sub(height_of(self.drawn.height())),
        };
        self.size = size;
        self.end = top.saturating_sub(gap).min(size.height.saturating_sub(1));
        self.bottom = self.end;
        self.drawn = DrawnRows::default();
    }

    /// Leaves the live region behind: the cursor goes to the row after the finished lines, and what was drawn
    /// below them is blanked.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        if self.over.take().is_some() {
            self.write(self.uncovering())?;
        }
        let mut bytes = String::new();
        for row in self.end..self.bottom {
            goto(&mut bytes, row, 0);
            bytes.push_str(REST_OF_LINE);
        }
        goto(&mut bytes, self.end, 0);
        bytes.push_str(SHOW);
        self.bottom = self.end;
        self.drawn = DrawnRows::default();
        self.write(&bytes)
    }

    fn top(&self) -> u16 {
        self.bottom.saturating_sub(self.drawn.height())
    }

    /// Prints lines and makes room for a live region of this height.
    fn lay_out(&mut self, bytes: &mut String, above: &[Line<'_>], height: u16) {
        let rows = self.size.height;
        goto(bytes, self.end, 0);
        for one in above {
            line(bytes, one, self.size.width);
            bytes.push_str("\r\n");
        }
        // Where the lines go beyond its last row, the terminal has scrolled.
        let printed = u16::try_from(above.len()).unwrap_or(u16::MAX);
        let mut end = self.end.saturating_add(printed).min(rows.saturating_sub(1));
        let missing = height.saturating_sub(rows - end);
        if missing > 0 {
            goto(bytes, rows.saturating_sub(1), 0);
            (0..missing).for_each(|_| bytes.push('\n'));
            end = end.saturating_sub(missing);
        }
        self.end = end;
        let lowest = end.saturating_add(height);
        let bottom = self.bottom.max(lowest).min(rows);
        // After a dialog or a list, the region moves up to the lines: a hole between them would look like lost text.
        let is_hole = bottom.saturating_sub(lowest) > MOST_BLANK && !self.is_held;
        self.bottom = if is_hole { lowest.min(rows) } else { bottom };
    }

    /// Draws the whole live region, and blanks what else was there.
    fn draw(&self, bytes: &mut String, live: &Buffer, height: u16) {
        let top = self.bottom.saturating_sub(height);
        for at in (self.end..top).chain(self.bottom..self.size.height) {
            goto(bytes, at, 0);
            bytes.push_str(REST_OF_LINE);
        }
        for at in 0..height {
            goto(bytes, top + at, 0);
            row(bytes, live, at);
        }
    }

    /// Where the cursor stands is known at any time, hidden or not: a terminal that changes its size is asked
    /// for it, and so says where the live region went.
    fn put_cursor(&self, bytes: &mut String) {
        let at = self.drawn.cursor.unwrap_or_default();
        goto(bytes, self.top() + at.y, at.x);
        if self.drawn.cursor.is_some() {
            bytes.push_str(SHOW);
        }
    }

    fn write(&mut self, bytes: &str) -> io::Result<()> {
        // One write, so that even a terminal without synchronized updates sees it at once.
        self.out.write_all(format!("{BEGIN}{bytes}{END}").as_bytes())?;
        self.out.flush()
    }
}

/// Columns of a row up to its last cell that shows something.
fn written_width(cells: &Buffer, row: u16) -> u16 {
    let shows = |x: &u16| cells.cell((*x, row)).is_some_and(|cell| cell.symbol() != " ");
    (0..cells.area.width).rev().find(shows).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests;

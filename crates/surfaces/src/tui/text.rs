//! Words from elsewhere, fit for the screen: without what steers a terminal, and in lines of a given width.

use ratatui::style::Style;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub(super) use crate::words::sanitize_cells as tame;
use crate::words::{sanitize_cells, wrap};

/// The first line of a text, cut to so many columns.
pub(super) fn first_line(text: &str, width: usize) -> String {
    let mut lines = text.trim().lines();
    let first = sanitize_cells(lines.next().unwrap_or_default());
    let more = lines.next().is_some();
    if !more {
        return cut(&first, width);
    }
    cut(&format!("{first} …"), width)
}

/// A text that is cut to so many columns, with an ellipsis where something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for cluster in text.graphemes(true) {
        let wide = cluster.width();
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push_str(cluster);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// What keys do, in one row: `a does this · b does that · esc closes`. Where there is little room, whole parts go from
/// the middle, and an ellipsis stands for them; the way out, which is the last one, stays.
pub(super) fn hints(text: &str, width: usize) -> String {
    let parts: Vec<&str> = text.split(" · ").collect();
    let (Some((way_out, rest)), true) = (parts.split_last(), text.width() > width) else { return text.to_owned() };
    let shown = |count: usize| format!("{} … {way_out}", rest[..count].join(" · "));
    match (1..rest.len()).rev().map(shown).find(|row| row.width() <= width) {
        Some(row) => row,
        None => cut(if rest.is_empty() { text } else { way_out }, width),
    }
}

/// Plain text in lines of one style.
pub(super) fn wrapped(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    text.split('\n').flat_map(|line| wrap(&Line::styled(line.to_owned(), style), width, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_the_last_hint_to_go() {
        let all = "enter reads it · r takes back · f brings forward · esc closes";
        assert_eq!(hints(all, 80), all);
        assert_eq!(hints(all, 50), "enter reads it · r takes back … esc closes");
        assert_eq!(hints(all, 40), "enter reads it … esc closes");
        assert_eq!(hints(all, 12), "esc closes");
        assert_eq!(hints("The session is in notes.md now.", 12), "The session…");
    }

    #[test]
    fn texts_are_cut_where_the_room_ends() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello world", 6), "hello…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(first_line("a\nb", 10), "a …");
        assert_eq!(sanitize_cells("a\tb\u{1b}[2J\r\nc"), "a    b⟨U+001B⟩[2J\nc");
    }
}

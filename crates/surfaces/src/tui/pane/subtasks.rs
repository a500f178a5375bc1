//! The sub-tasks of the running request.

use ratatui::text::Line;
use trimtab_vocab::{SubtaskStatus, Time};

use crate::conversation::SubtaskBoard;
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;
use crate::words::subtasks::board_lines;

/// How a sub-task looks that stands like this.
pub(in crate::tui) fn status_style(status: SubtaskStatus) -> StyleName {
    match status {
        SubtaskStatus::Running => StyleName::Text,
        SubtaskStatus::NeedsUser => StyleName::Warning,
        SubtaskStatus::Completed => StyleName::Good,
        SubtaskStatus::Failed => StyleName::Bad,
        SubtaskStatus::Pending | SubtaskStatus::Skipped | SubtaskStatus::Stopped => StyleName::Dim,
    }
}

/// The rows, at most `most`: the heading, and a row for each task, around the first that is not over. Their number
/// depends on the plan alone, so nothing on the screen moves while the tasks do.
pub(in crate::tui) fn subtask_rows(
    board: &SubtaskBoard,
    now: Time,
    width: usize,
    most: usize,
    theme: &Theme,
    key: &str,
) -> Vec<Line<'static>> {
    let row = |text: &str, name| Line::styled(cut(&sanitize_cells(text), width), theme.style(name));
    let all = board.tasks.len();
    let room = most.saturating_sub(1);
    // Where not all have room, the last row counts the others.
    let shown = if all <= room { all } else { room.saturating_sub(1) };
    let first = board.tasks.iter().position(|task| !task.status.is_over()).unwrap_or(0);
    let from = first.min(all - shown);
    let lines = board_lines(board, now);
    let (heading, lines) = lines.split_first().map_or(("", &[][..]), |(heading, lines)| (heading.as_str(), lines));
    let mut rows = vec![row(&format!("{heading}  {key} opens them"), StyleName::Title)];
    for (line, task) in lines.iter().zip(&board.tasks).skip(from).take(shown) {
        rows.push(row(line, status_style(task.status)));
    }
    if shown < all {
        rows.push(row(&format!("… {} more", all - shown), StyleName::Dim));
    }
    rows.truncate(most);
    rows
}

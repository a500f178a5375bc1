//! Texts for the entries of a conversation, shared by the command line and the terminal UI.

use trimtab_vocab::checkpoint::ChoiceText;
use trimtab_vocab::event::{ChangedFile, CheckpointKind};
use trimtab_vocab::{ProblemKind, Series, SeriesState, Unobserved};

use super::sentence;
use crate::conversation::{AskedQuestion, CallRetry, PlanProgress};

/// The title of several commands that run one after the other.
pub(crate) const SERIES_TITLE: &str = "🖥 CLI Execution";
pub(crate) const LOADING_MODEL: &str = "Waiting for the server to load the model.";
pub(crate) const REPLY_BROKE_OFF: &str = "The reply was interrupted here.";
/// Files that a line names.
const NAMED: usize = 5;

/// How a call failed, and when it is made again. What failed the same way just before is not told at length.
pub(crate) fn retry(retry: &CallRetry) -> String {
    if retry.error.kind == ProblemKind::Loading {
        return LOADING_MODEL.to_owned();
    }
    let what = match retry.is_repeated {
        true => "Failed again with the same error.".into(),
        false => sentence(&retry.error.message),
    };
    format!("{what} {}.", trying_again(retry.in_ms))
}

pub(crate) fn trying_again(in_ms: u64) -> String {
    match in_ms {
        0 => "Trying again now".to_owned(),
        millis => format!("Trying again in {:.1} s", millis as f64 / 1_000.0),
    }
}

/// The countdown to a call that is made again, and how often it has failed.
pub(crate) fn retrying(in_ms: u64, times: u32) -> String {
    let number = if times > 1 { format!(" (attempt {})", times + 1) } else { String::new() };
    format!("Retrying in {:.0} s{number}", (in_ms as f64 / 1_000.0).ceil())
}

/// The block of lines after each of several commands. A single command has none.
pub(crate) fn series_progress(series: &Series, progress: &str) -> Vec<String> {
    if series.total > 1 { progress.lines().map(str::to_owned).collect() } else { Vec::new() }
}

/// The block after each of several commands, and the tally at the end. The terminal UI shows the tally in its panel.
pub(crate) fn series_lines(series: &Series, progress: &str) -> Vec<String> {
    let mut lines = series_progress(series, progress);
    if series.total > 1 && series.state == SeriesState::Done {
        let Series { ok, failed, skipped, done, total, percent, .. } = series;
        let skipped = if *skipped > 0 { format!("  – {skipped}") } else { String::new() };
        lines.push(format!("{SERIES_TITLE}  ✓ {ok}  ✗ {failed}{skipped}  {done}/{total} ({percent}%)"));
    }
    lines
}

pub(crate) fn intent(phrase: &str) -> String {
    format!("“{phrase}”: switching from discussion to work.")
}

/// `Step 2 of 3`, which a verb or a title follows.
pub(crate) fn step_number(step: &PlanProgress) -> String {
    format!("Step {} of {}", step.number, step.of)
}

pub(crate) fn step_began(step: &PlanProgress) -> String {
    format!("{}: {}", step_number(step), step.title)
}

pub(crate) fn step_skipped(step: &PlanProgress) -> String {
    format!("{} is skipped: {}", step_number(step), step.title)
}

/// Why it is not known what a command did to files.
pub(crate) fn unobserved(why: Unobserved) -> String {
    format!("file changes by commands are not recorded here: {}", why.words())
}

/// The first files by name.
pub(crate) fn file_names(files: &[ChangedFile]) -> String {
    let names: Vec<&str> = files.iter().take(NAMED).map(|file| file.path.as_str()).collect();
    format!("{}{}", names.join(", "), if files.len() > NAMED { ", …" } else { "" })
}

/// What was asked and what came of it, in a line. Of a permission that the person gave or denied, the line of its tool
/// tells enough.
pub(crate) fn answered(asked: &AskedQuestion) -> Option<String> {
    let answer = asked.answer.as_ref()?;
    let known = asked.choices.iter().find(|known| known.id == answer.choice);
    let label = match (known, answer.choice.as_str()) {
        (Some(known), _) => &known.label,
        // Nobody chose it: what was asked about was stopped, or is answered elsewhere.
        (None, "skip") => "dismissed",
        (None, other) => other,
    };
    let is_text = known.is_some_and(|known| known.text == ChoiceText::Required);
    let words = answer.text.as_deref().filter(|text| !text.starts_with(['{', '['])).unwrap_or_default();
    let by_user = answer.by == "user";
    if asked.kind == CheckpointKind::Permission && by_user && words.is_empty() {
        return None;
    }
    let said = match (words.is_empty(), is_text) {
        (true, _) => label.to_owned(),
        (false, true) => words.to_owned(),
        (false, false) => format!("{label}: {words}"),
    };
    let who = if by_user { String::new() } else { format!(" (by {})", answer.by) };
    let title = asked.title.lines().next().unwrap_or_default();
    // A permission that was given would read like an open question.
    if asked.kind == CheckpointKind::Permission && asked.choices.iter().any(|choice| choice.id == "allow") {
        let whose = if by_user { "Your answer" } else { "Answer" };
        return Some(format!("{whose}: {said} · {}{who}", subject(title)));
    }
    Some(format!("{title} → {said}{who}"))
}

/// What a permission was asked for: the command or the page after the question, otherwise the question without its mark.
fn subject(title: &str) -> &str {
    match title.split_once("? ").map(|(_, subject)| subject.trim()) {
        Some(subject) if !subject.is_empty() => subject,
        _ => title.trim_end().trim_end_matches('?'),
    }
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{Problem, ProblemKind};

    use super::*;

    #[test]
    fn the_subject_of_a_permission_is_not_a_question() {
        assert_eq!(subject("Run this command? ls 'a? b'"), "ls 'a? b'");
        assert_eq!(subject("Delete a.txt?"), "Delete a.txt");
    }

    #[test]
    fn what_fails_in_the_same_way_is_told_at_length_once() {
        let failed = |is_repeated| CallRetry {
            error: Problem::new(ProblemKind::Network, "No connection"),
            in_ms: 1_500,
            is_repeated,
            is_over: false,
        };
        assert_eq!(retry(&failed(false)), "No connection. Trying again in 1.5 s.");
        assert_eq!(retry(&failed(true)), "Failed again with the same error. Trying again in 1.5 s.");
        assert_eq!(trying_again(0), "Trying again now");
    }
}

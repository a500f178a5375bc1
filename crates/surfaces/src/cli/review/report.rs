//! A review in words.

use std::fmt::Write as _;

use trimtab_vocab::format;
use trimtab_vocab::{CheckedFindings, FindingSeverity, ReviewFinding, UnreviewedFile, UnreviewedReason};

use crate::cli::output::{note, sanitize};
use crate::words::one_line;

/// Files that are named one by one.
const MOST_NAMED: usize = 20;

/// The findings, the most serious first, and a line that sums them up.
pub(super) fn text(summary: &str, checked: &CheckedFindings, cost_usd: Option<f64>) -> String {
    let mut text = String::new();
    for finding in &checked.findings {
        add(&mut text, finding);
    }
    if !checked.not_in_diff.is_empty() {
        text.push_str("Not in the diff (not counted):\n\n");
        checked.not_in_diff.iter().for_each(|finding| add(&mut text, finding));
    }
    let summary = summary.trim();
    if !summary.is_empty() {
        let _ = writeln!(text, "{}\n", sanitize(summary));
    }
    let cost = cost_usd.map(|cost| format!(" Cost: {}.", format::dollars(cost))).unwrap_or_default();
    let _ = writeln!(text, "{}{cost}", count(&checked.findings));
    text
}

fn add(text: &mut String, finding: &ReviewFinding) {
    let ReviewFinding { file, line, severity, title, body } = finding;
    let _ = writeln!(text, "{}:{line}: {}: {}", sanitize(&one_line(file)), severity.name(), sanitize(&one_line(title)));
    for line in sanitize(body.trim()).lines() {
        let _ = writeln!(text, "{}", format!("    {line}").trim_end());
    }
    text.push('\n');
}

/// `3 findings: 1 critical, 2 low.`
fn count(findings: &[ReviewFinding]) -> String {
    if findings.is_empty() {
        return "No findings.".to_owned();
    }
    let of = |severity: FindingSeverity| {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| format!("{count} {}", severity.name()))
    };
    let parts: Vec<String> = FindingSeverity::ALL.into_iter().filter_map(of).collect();
    format!("{}: {}.", format::plural(findings.len(), "finding"), parts.join(", "))
}

/// Says which files the model does not see, or not whole.
pub(super) fn note_left_out(files: &[UnreviewedFile]) {
    for file in files.iter().take(MOST_NAMED) {
        note(&format!("note: Not reviewed: {} ({}).", one_line(&file.file), reason(file.reason)));
    }
    if files.len() > MOST_NAMED {
        note(&format!(
            "note: Not reviewed: {} more. --json lists them.",
            format::plural(files.len() - MOST_NAMED, "file")
        ));
    }
}

pub(super) fn reason(reason: UnreviewedReason) -> String {
    match reason {
        UnreviewedReason::NoText => "not text".to_owned(),
        UnreviewedReason::Secret => "may hold keys or passwords".to_owned(),
        UnreviewedReason::Unreadable => "cannot be read".to_owned(),
        UnreviewedReason::TooLarge => "too large for the model".to_owned(),
        UnreviewedReason::SomeHunks { shown, of } => format!("too large for the model; {shown} of {of} hunks reviewed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_shown_with_their_place_and_foreign_text_stays_in_its_line() {
        let finding = |line, severity, title: &str| ReviewFinding {
            file: "src/a.rs".into(),
            line,
            severity,
            title: title.into(),
            body: "It fails.\nUse `?`.".into(),
        };
        let checked = CheckedFindings {
            findings: vec![finding(3, FindingSeverity::High, "Wrong\nsrc/b.rs:1: critical: forged\u{1b}[31m")],
            not_in_diff: vec![finding(90, FindingSeverity::Low, "Elsewhere")],
        };
        let text = text("Careful.", &checked, Some(0.0123));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("src/a.rs:3: high: Wrong") && lines[0].contains("forged"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains("\nsrc/b.rs"), "{text}");
        assert_eq!(lines[1..5], ["    It fails.", "    Use `?`.", "", "Not in the diff (not counted):"]);
        assert!(text.contains("\nCareful.\n\n1 finding: 1 high. Cost: $0.01"), "{text}");
        assert_eq!(count(&[]), "No findings.");
    }
}

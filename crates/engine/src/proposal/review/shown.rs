//! A diff as a model is shown it: every line with its number, in a fence, and no larger than the model can read.

use std::fmt::Write as _;

use trimtab_vocab::sensitive_paths::is_secret;
use trimtab_vocab::{UnreviewedFile, UnreviewedReason};

use super::diff::{ReviewDiff, ReviewFile, ReviewHunk, ReviewLine, ReviewedChange};
use crate::tokens::estimate;

/// How much of a diff fits into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputBudget {
    pub bytes: usize,
    pub tokens: u64,
}

impl InputBudget {
    /// The same without what a text needs, and with some room left, because tokens are estimated.
    #[must_use]
    pub fn without(self, text: &str) -> Self {
        let bytes = self.bytes.saturating_sub(text.len()) / 10 * 9;
        Self { bytes, tokens: self.tokens.saturating_sub(estimate(text)) / 10 * 9 }
    }

    /// Takes the room for a text, if there is enough.
    fn take(&mut self, text: &str) -> bool {
        let (Some(bytes), Some(tokens)) = (self.bytes.checked_sub(text.len()), self.tokens.checked_sub(estimate(text)))
        else {
            return false;
        };
        (self.bytes, self.tokens) = (bytes, tokens);
        true
    }
}

/// What a model is shown of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownDiff {
    /// Numbered lines below the names of their files.
    pub text: String,
    /// What is not in it.
    pub left_out: Vec<UnreviewedFile>,
}

impl ShownDiff {
    /// Shows as much of a diff as there is room for. Small files come first, so that as many files as possible are shown
    /// whole, and each is shown in its place.
    pub fn within(diff: &ReviewDiff, mut budget: InputBudget) -> Self {
        let parts: Vec<(String, Vec<String>)> = diff
            .files
            .iter()
            .map(|file| (heading(file), file.hunks.iter().map(|hunk| numbered(file, hunk)).collect()))
            .collect();
        let size = |at: usize| parts[at].0.len() + parts[at].1.iter().map(String::len).sum::<usize>();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|at| size(*at));
        let mut shown_hunks: Vec<Option<usize>> = vec![None; parts.len()];
        for at in order {
            let (heading, hunks) = &parts[at];
            if budget.take(heading) {
                shown_hunks[at] = Some(hunks.iter().take_while(|hunk| budget.take(hunk)).count());
            }
        }
        let mut shown = Self::default();
        for ((file, (heading, hunks)), count) in diff.files.iter().zip(&parts).zip(shown_hunks) {
            // A heading alone says nothing about a file whose hunks do not fit.
            let is_shown = count.filter(|count| *count > 0 || hunks.is_empty());
            if let Some(count) = is_shown {
                shown.text.push_str(heading);
                shown.text.extend(hunks.iter().take(count).map(String::as_str));
            }
            if let Some(reason) = left_out(file, is_shown) {
                shown.left_out.push(UnreviewedFile { file: file.path.clone(), reason });
            }
        }
        shown
    }

    /// The text between two fences that no line of it can be.
    pub fn fenced(&self) -> String {
        let longest = self.text.lines().map(|line| line.chars().filter(|c| *c == '`').count()).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        format!("{fence}\n{}{fence}", self.text)
    }
}

fn left_out(file: &ReviewFile, shown: Option<usize>) -> Option<UnreviewedReason> {
    let of = file.hunks.len();
    match shown {
        _ if file.is_hidden && file.path.split('/').any(is_secret) => Some(UnreviewedReason::Secret),
        _ if file.is_hidden => Some(UnreviewedReason::NoText),
        None => Some(UnreviewedReason::TooLarge),
        Some(shown) if shown < of => Some(UnreviewedReason::SomeHunks { shown, of }),
        Some(_) => None,
    }
}

fn heading(file: &ReviewFile) -> String {
    let what = match (file.change, &file.old_path) {
        (ReviewedChange::Added, _) => " (new file)".to_owned(),
        (ReviewedChange::Deleted, _) => " (deleted; the numbers are those of the old lines)".to_owned(),
        (ReviewedChange::Changed, Some(old)) => format!(" (was {old})"),
        (ReviewedChange::Changed, None) => String::new(),
    };
    let hidden = if file.is_hidden { ": changed, and its text is not shown" } else { "" };
    format!("\nFile {}{what}{hidden}\n", file.path)
}

/// The lines of a hunk. Each begins with its number, so that none can be taken for a heading or a fence.
fn numbered(file: &ReviewFile, hunk: &ReviewHunk) -> String {
    let is_deleted = file.change == ReviewedChange::Deleted;
    let mut number = if is_deleted { hunk.old_start } else { hunk.new_start };
    let mut text =
        if hunk.heading.is_empty() { "     ...\n".to_owned() } else { format!("     ... in {}\n", hunk.heading) };
    for line in &hunk.lines {
        let (sign, words, counts) = match line {
            ReviewLine::Same(words) => (' ', words, true),
            ReviewLine::Added(words) => ('+', words, !is_deleted),
            ReviewLine::Removed(words) => ('-', words, is_deleted),
        };
        // What ends a line elsewhere must not end one here.
        let words = words.replace('\r', "\\r");
        let _ = match counts {
            true => writeln!(text, "{number:>7} {sign}{words}"),
            false => writeln!(text, "        {sign}{words}"),
        };
        number = number.saturating_add(u64::from(counts));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -10,3 +10,3 @@ fn main() {\n one\n-two\n+```\n three\n\
                        diff --git a/logo.png b/logo.png\nBinary files a/logo.png and b/logo.png differ\n\
                        diff --git a/.env b/.env\nBinary files a/.env and b/.env differ\n";

    fn all(diff: &str) -> ShownDiff {
        ShownDiff::within(&ReviewDiff::parse(diff), InputBudget { bytes: 1 << 20, tokens: 1 << 20 })
    }

    #[test]
    fn every_line_has_its_number_and_none_can_close_the_fence() {
        let shown = all(DIFF);
        assert_eq!(
            shown.fenced(),
            "````\n\nFile a.rs\n     ... in fn main() {\n     10  one\n        -two\n     11 +```\n     12  three\n\
             \nFile logo.png: changed, and its text is not shown\n\nFile .env: changed, and its text is not shown\n````"
        );
        let reasons: Vec<UnreviewedReason> = shown.left_out.iter().map(|file| file.reason).collect();
        assert_eq!(reasons, [UnreviewedReason::NoText, UnreviewedReason::Secret]);
    }

    #[test]
    fn what_does_not_fit_is_named_and_small_files_come_first() {
        let file = |path: &str, lines: usize| {
            let added: String = (0..lines).map(|n| format!("+line {n}\n")).collect();
            format!("diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}")
        };
        let two = format!("{}@@ -0,0 +500,400 @@\n{}", file("two.rs", 20), "+more words in this line\n".repeat(400));
        let diff = format!("{}{}{two}", file("large.rs", 2_000), file("small.rs", 3));
        let shown = ShownDiff::within(&ReviewDiff::parse(&diff), InputBudget { bytes: 2_000, tokens: 2_000 });
        assert!(shown.text.contains("File small.rs") && !shown.text.contains("large.rs"), "{}", shown.text);
        assert!(shown.text.len() <= 2_000 && shown.text.contains("line 19"), "{}", shown.text);
        let left: Vec<(&str, UnreviewedReason)> =
            shown.left_out.iter().map(|file| (file.file.as_str(), file.reason)).collect();
        assert_eq!(
            left,
            [("large.rs", UnreviewedReason::TooLarge), ("two.rs", UnreviewedReason::SomeHunks { shown: 1, of: 2 })]
        );
    }

    #[test]
    fn a_deleted_file_has_its_old_numbers() {
        let diff = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        let shown = all(diff);
        assert!(shown.text.contains("File x (deleted") && shown.text.contains("      2 -b\n"), "{}", shown.text);
    }
}

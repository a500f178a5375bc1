//! A review of a diff: what it found, and what it did not look at.

use serde::{Deserialize, Serialize};

/// How serious a finding is, the least serious first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FindingSeverity {
    /// Worth a remark: unclear code, or a missing test.
    Low,
    /// Wrong in unusual cases, or hard to maintain.
    Medium,
    /// Wrong results or a crash in ordinary use.
    High,
    /// Lost data, a security hole, or a build that fails.
    Critical,
}

impl FindingSeverity {
    /// All of them, the most serious first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// A problem that a review found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    /// The file, as the diff names it after the change.
    pub file: String,
    /// The line after the change; in a deleted file, the line before it.
    pub line: u64,
    pub severity: FindingSeverity,
    pub title: String,
    pub body: String,
}

/// What a model answers to a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewAnswer {
    pub summary: String,
    pub findings: Vec<ReviewFinding>,
}

/// The findings of a review, checked against its diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedFindings {
    /// Those in a hunk of the diff, the most serious first.
    pub findings: Vec<ReviewFinding>,
    /// Those about something else. They may be right, but they are not about this change.
    pub not_in_diff: Vec<ReviewFinding>,
}

/// A changed file that the model was not shown, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnreviewedFile {
    pub file: String,
    #[serde(flatten)]
    pub reason: UnreviewedReason,
}

/// Why a file was not shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "camelCase")]
pub enum UnreviewedReason {
    /// It is not text, or the diff does not show its text.
    NoText,
    /// Its name says that it holds keys or passwords.
    Secret,
    /// It cannot be read.
    Unreadable,
    /// The diff is larger than what the model can read at once.
    TooLarge,
    /// The same, and these many of its hunks were shown.
    SomeHunks { shown: usize, of: usize },
}

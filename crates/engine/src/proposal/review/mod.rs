//! Reviews of a diff: the diff is read into files and hunks, shown to a model as numbered lines, and what the model
//! finds is checked against the hunks. The text of a diff is foreign: nothing in it becomes an instruction.

mod diff;
mod findings;
mod prompt;
mod shown;

pub use diff::{ReviewDiff, ReviewFile, ReviewHunk, ReviewLine, ReviewedChange};
pub use findings::{answer_schema, check_findings, read_answer};
pub use prompt::{REVIEW_TOOLS, ReviewForm, ReviewPrompt};
pub use shown::{InputBudget, ShownDiff};

//! What a model proposes, read tolerantly: edits placed and compared, damaged answers recovered, commands checked.
//! Pure functions over texts; nothing here acts.

mod change;
pub mod command;
pub mod compare;
pub mod edit;
pub(crate) mod fences;
pub(crate) mod file_names;
pub mod json_schema;
pub(crate) mod plan;
pub mod recover;
pub mod review;
pub mod text_edits;

pub use change::{MergeOrder, MergePart, ProposedChange};

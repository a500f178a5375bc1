//! What a model would like to change, read with care: edits placed and compared, damaged answers
//! recovered, commands judged. Pure functions over texts; nothing here acts.

mod change;
pub mod command;
pub mod compare;
pub mod edit;
pub(crate) mod plan;
pub mod recover;

pub use change::ProposedChange;

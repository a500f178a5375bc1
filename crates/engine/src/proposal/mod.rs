//! What a model would like to change, read with care: edits placed, damaged answers recovered,
//! commands judged. Pure functions over texts; nothing here acts.

pub mod command;
pub mod edit;
pub mod recover;

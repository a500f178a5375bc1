//! Comparison of texts for surfaces that draw changes: pure, and the code that the engine itself compares by.

pub use trimtab_engine::merge::{hunks, is_text};
pub use trimtab_engine::proposal::compare::{
    CONTEXT, ChangedBlock, DiffHunk, LineStats, blocks, hunks_of, is_binary, lines, patch,
};

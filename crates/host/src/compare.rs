//! Text comparison for surfaces that draw changes. It is pure, and the engine uses the same code.

pub use trimtab_engine::merge::{hunks, is_text};
pub use trimtab_engine::proposal::compare::{
    CONTEXT, ChangedBlock, DiffHunk, LineStats, blocks, hunks_of, is_binary, lines, patch,
};

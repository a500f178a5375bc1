//! Parts of the live region, one file each and all of one shape: a state, `see` takes a fact in, `lines` draws.

pub(super) mod activity;
pub(super) mod batch;
pub(super) mod status;
pub(super) mod steps;
pub(super) mod sticky;
pub(super) mod subtasks;

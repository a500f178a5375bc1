//! Parts of the live region, one file each and all of one shape: a state, `observe` takes an event in, `lines` draws.

pub(super) mod activity;
pub(super) mod background;
pub(super) mod batch;
pub(super) mod status;
pub(super) mod steps;
pub(super) mod sticky;
pub(super) mod subtasks;

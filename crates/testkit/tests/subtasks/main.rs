//! Sub-tasks with the real engine, host and database: one request, several workers, one change.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

mod budgets;
mod copies;
mod merging;
mod play;
mod providers;
mod questions;
mod recovery;
mod running;

//! The user's tasks: the meaning of operations, the days of a task, and filters.
//!
//! All of it is pure. The caller passes the time ([`Moment`]) and the tasks, and gets what to write. A dry run and
//! the real one are the same function, [`try_out`].

pub mod calendar;
mod check;
mod filter;
mod history;
mod occur;
mod shape;
mod trial;
mod undo;
mod views;

use std::collections::BTreeMap;

use trimtab_vocab::{Date, Task, TaskId, Time};

pub use filter::{filtered, matches};
pub use history::{TaskHistory, TaskSet};
pub use occur::{Occurrences, is_occurrence, last_before, occurrences};
pub use shape::{clock, named_day, operations_in, read};
pub use trial::{Trial, try_out};
pub use undo::{moved, reversed};
pub use views::{aggregates, items, items_between};

/// When something is done, and which day that is where the user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The moment.
    pub now: Time,
    /// The day in the user's time zone.
    pub today: Date,
}

/// Tasks by their number.
pub type TaskMap = BTreeMap<TaskId, Task>;

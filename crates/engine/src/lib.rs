//! The pure core of Trimtab: it decides everything and performs nothing.
//!
//! [`step`] takes a session and something that happened, and returns facts to record and work to
//! ask of the world. There is no clock, no file, no network and no runtime here, and the manifest
//! keeps it so: the crate depends on serde, the vocabulary, a hash and a comparison of texts, all as pure.
//!
//! **State is a fold of facts.** Nothing in [`Session`] changes except through [`Session::fold`],
//! so that folding a log again gives the state that was there when it was written. Rooms only read
//! the state and say facts.
//!
//! Rooms, in the order in which a request passes them: [`intake`] (words to a request), `route` (which path),
//! [`flow`] (what is agreed on with a person), [`turn`] (prompt, reply, tools, retry, stop), [`proposal`] (what edits and
//! commands come to), `permit` (may this be done?), [`record`] (the state and its fold).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

mod acceptance;
mod agents;
pub mod assistant;
mod calls;
mod finish;
pub mod flow;
mod fragment;
pub mod handoff;
mod history;
mod hooks;
mod input;
pub mod intake;
pub mod memory;
pub mod merge;
mod output;
mod permit;
pub mod pictures;
pub mod proposal;
mod questions;
pub mod record;
mod route;
pub mod runaway;
mod step;
mod subtasks;
pub mod tasks;
pub mod terminal;
pub mod tokens;
mod tools;
mod transition;
pub mod turn;
mod words;
mod workers;

pub use input::{
    Compared, Detached, Input, Interrupted, Narrowed, NoEffect, Partial, Prepared, Ran, RewindPreview, WorkerAsk,
    WorkerReport,
};
pub use output::{
    AgentQuery, BackgroundWait, Child, Effect, Output, Overview, RewindPath, RewindStep, SkillQuery, TaskSelection,
    WorkerOrder,
};
pub use permit::{
    CommandRuling, check_as_check, check_command, check_hosts, hidden_by_links, is_broad, read_command, trusts,
    unanswered_by, user_initiated,
};
pub use proposal::{MergeOrder, MergePart, ProposedChange};
pub use record::{Assist, AssistState, ChangeSet, Checkpoint, Flow, FlowState, Phase, RunningRequest, Session};
pub use step::{fork, give_up, step};
pub use subtasks::may_break_down;
pub use turn::choosing::objection as objection_to_part;
pub use words::{FILE_LIST, rank_files};

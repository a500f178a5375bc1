//! What people and programs see of Trimtab.
//!
//! A surface is a fold over events: it shows facts and passes on wishes. It must not hold logic of
//! its own, and the manifest gives it no way to: it knows the vocabulary and the host's client.
//! Surfaces do not know each other; only the command line names them, for it starts them. How things
//! are said to a person is decided here; the words of problems, banners and stages come with the facts.

#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

mod acp;
mod bounded_lines;
pub mod cli;
mod conversation;
pub mod diff;
mod export;
pub(crate) mod http;
pub mod output;
pub mod palette;
mod picture;
mod slash;
mod structured_answer;
mod subtask_documents;
mod subtask_log;
mod subtask_runs;
pub mod tui;
mod words;

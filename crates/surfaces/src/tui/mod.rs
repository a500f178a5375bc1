//! The terminal UI: panes and the widgets that they are made of.
//!
//! Widgets are state, what changes it and how it is drawn into a buffer; they know no terminal, no clock and no
//! file. Colours have names here ([`theme`]), and keys have actions ([`keys`]).

pub mod composer;
pub mod keys;
pub mod markdown;
pub mod picker;
pub mod setup;
pub mod theme;

mod app;
mod aside;
mod autonomy;
mod clipboard;
mod dialog;
mod diffs;
mod executor;
mod ink;
mod key_keeper;
mod last_session;
mod live;
mod message;
mod notification;
mod own_terminal;
mod pane;
mod rewind;
mod runtime;
mod screen;
mod server_login;
mod session_commands;
mod shell_output;
mod start;
mod status_command;
mod terminal;
pub(crate) mod text;
mod trace;
mod transcript;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use own_terminal::become_command;
pub use start::{StartOptions, check, is_there, run};

//! What a person does at the keyboard: events of our own, the actions there are, and which key means which.

mod action;
mod input;
mod map;

pub use action::{KeyAction, KeyGroup};
pub use input::{Chord, Key, TerminalInput, begin, end};
pub use map::{HelpRow, KEYMAP_FILE, KeyMap};

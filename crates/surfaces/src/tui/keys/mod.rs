//! What a person does at the keyboard: events of our own, the actions there are, and which key means which.

mod action;
mod input;
mod map;

pub use action::{Action, Group};
pub use input::{Chord, Input, Key, begin, end};
pub use map::{HelpRow, KeyMap};

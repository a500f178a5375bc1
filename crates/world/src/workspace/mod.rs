//! The user's files; `write.rs` is the only code that changes them.
//!
//! Everything goes through a [`Folder`], which holds the session's folder open and never leaves it.

mod branch;
pub mod copy;
mod file_hash;
mod folder;
pub mod instructions;
mod list_files;
pub mod pills;
mod read;
mod rules;
pub mod skills;
pub mod snapshot;
mod walk;
pub mod write;

pub use branch::branch;
pub use file_hash::hash_file;
pub use folder::Folder;
pub use list_files::names;
pub use rules::read_small;
pub use walk::{FolderWalk, WalkEntry};

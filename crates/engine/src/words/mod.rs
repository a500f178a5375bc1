//! What a person's words name and are marked with: files, pages, tags, and the pills they call.

mod looking;
pub mod pill;
mod references;
mod relevance;
mod tags;

pub(crate) use looking::only_looks;
pub use references::{NamedUrl, References, references};
pub use relevance::{FILE_LIST, rank_files};
pub(crate) use tags::path;
pub use tags::tags;

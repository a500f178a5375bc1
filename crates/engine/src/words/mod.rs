//! What a request's text contains: files, pages, tags, and pills.

mod looking;
pub mod pill;
mod references;
mod relevance;
mod tags;

pub(crate) use looking::only_looks;
pub use references::{NamedUrl, References, references};
pub(crate) use references::{agents_of, references_of};
pub use relevance::{FILE_LIST, rank_files};
pub(crate) use tags::path;
pub use tags::tags;

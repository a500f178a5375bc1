//! What a person's words name and are marked with: files, pages, tags, and the pills they call.

pub mod pill;
mod references;
mod tags;

pub use references::{NamedUrl, References, references};
pub(crate) use tags::path;
pub use tags::tags;

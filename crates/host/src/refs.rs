//! Stored texts and bytes by name.

use trimtab_vocab::{Problem, ProblemKind, RefKey};

use crate::client::store_problem;
use crate::handles::Refs;

impl Refs<'_> {
    /// A stored text.
    pub async fn text(self, key: &RefKey) -> Result<String, Problem> {
        let found = self.0.store().text(key).await.map_err(store_problem)?;
        found.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("Nothing is stored as ref:{key}."))
                .hint("Copy the exact key from the event that mentions it.")
        })
    }

    /// Stored bytes, which may be no text.
    pub async fn bytes(self, key: &RefKey) -> Result<Vec<u8>, Problem> {
        let found = self.0.store().bytes(None, key).await.map_err(store_problem)?;
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("Nothing is stored as ref:{key}.")))
    }
}

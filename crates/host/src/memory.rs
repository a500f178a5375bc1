//! The facts that later sessions remember: users list, add, edit, and delete them.

use trimtab_engine::memory::LONGEST;
use trimtab_vocab::{MemoryEntry, MemoryId, Problem, ProblemKind};
use trimtab_world::clock;
use trimtab_world::store::MemoryChange;

use crate::client::store_problem;
use crate::handles::Memories;

/// Entries that are looked at when a request begins, the latest ones.
pub(crate) const MOST_LOADED: u32 = 1_000;
/// Entries that are looked through at most.
const LISTED: u32 = 100_000;

impl Memories<'_> {
    /// Memories, oldest first: those for a folder, if one is given, that contain all these words.
    pub async fn list(self, folder: Option<&str>, words: &str) -> Result<Vec<MemoryEntry>, Problem> {
        let wanted: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let mut entries = self.0.store().memories(folder, LISTED).await.map_err(store_problem)?;
        entries.retain(|entry| {
            let text = entry.text.to_lowercase();
            wanted.iter().all(|word| text.contains(word))
        });
        Ok(entries)
    }

    /// Remembers something, in a folder or everywhere.
    pub async fn add(self, text: &str, folder: Option<String>) -> Result<MemoryEntry, Problem> {
        let made = self.0.clock().now();
        let entry = MemoryEntry {
            id: clock::memory_id(self.0.clock()),
            text: checked(text)?,
            folder,
            session: None,
            request: None,
            made,
            edited: None,
        };
        let kept = self.0.store().change_memory(MemoryChange::Add(entry.clone())).await.map_err(store_problem)?;
        Ok(kept.unwrap_or(entry))
    }

    /// Edits what is remembered: its words, where it holds, or both.
    pub async fn edit(
        self,
        id: &MemoryId,
        text: Option<&str>,
        folder: Option<Option<String>>,
    ) -> Result<MemoryEntry, Problem> {
        let (id, text, at) = (id.clone(), text.map(checked).transpose()?, self.0.clock().now());
        let missing = missing(&id);
        let change = MemoryChange::Edit { id, text, folder, at };
        self.0.store().change_memory(change).await.map_err(store_problem)?.ok_or(missing)
    }

    /// Forgets something; what it was.
    pub async fn forget(self, id: &MemoryId) -> Result<MemoryEntry, Problem> {
        let gone = self.0.store().change_memory(MemoryChange::Delete(id.clone())).await.map_err(store_problem)?;
        gone.ok_or_else(|| missing(id))
    }
}

fn missing(id: &MemoryId) -> Problem {
    Problem::new(ProblemKind::NotFound, format!("There is no memory {id}."))
        .hint("`trimtab memory list` lists all memories with their IDs.")
}

fn checked(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::new(ProblemKind::Usage, "The memory is empty."));
    }
    if text.len() > LONGEST {
        let message = format!("The memory is too long: the limit is {LONGEST} bytes, and it has {}.", text.len());
        return Err(Problem::new(ProblemKind::Usage, message)
            .hint("Every later prompt includes it. Shorten it, or put it into AGENTS.md of the folder."));
    }
    Ok(text.to_owned())
}

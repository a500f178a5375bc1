//! The files and agents that `@` offers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trimtab_host::{Agents, KnownAgent};

use crate::tui::picker::PickerItem;
use crate::words::one_line;

/// Files and folders that are offered.
const MOST: usize = 50_000;

/// Ends the search when nobody waits for it any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The files below a folder, looked for beside the screen, after the agents. Whoever drops this ends the search.
pub async fn files(folder: PathBuf, agents: &Agents) -> Arc<Vec<PickerItem>> {
    let waiting = Waiting(Arc::default());
    let stop = Arc::clone(&waiting.0);
    let listing = tokio::task::spawn_blocking(move || trimtab_host::names(&folder, MOST, &stop));
    let names = listing.await.unwrap_or_default();
    drop(waiting);
    let agent = |known: &KnownAgent| {
        let name = format!("agent-{}", known.listed.name);
        PickerItem::noted(name, one_line(&known.listed.description))
    };
    Arc::new(agents.known.iter().map(agent).chain(names.into_iter().map(PickerItem::new)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_files_of_a_folder_are_offered() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("src")).expect("made");
        std::fs::write(folder.path().join("src/main.rs"), "").expect("written");
        let found = files(folder.path().to_owned(), &Agents::default()).await;
        assert_eq!(*found, [PickerItem::new("src/"), PickerItem::new("src/main.rs")]);
    }
}

//! Which session was on the screen of a folder, for a program that did not come to leave it: it is there again.

use trimtab_host::Drawer;
use trimtab_vocab::SessionId;

/// The note about a folder.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    drawer: Drawer,
    name: String,
}

impl Desk {
    pub(super) fn of(drawer: Drawer, folder: &str) -> Self {
        Self { drawer, name: Drawer::name("desk", folder) }
    }

    /// The session that was left open.
    pub(super) fn left(&self) -> Option<SessionId> {
        self.drawer.read(&self.name)?.trim().parse().ok()
    }

    /// This one is open. Without the note only the way back to it is longer.
    pub(super) fn put(&self, session: &SessionId) {
        let _ = self.drawer.write(&self.name, session.as_str());
    }

    /// None is.
    pub(super) fn clear(&self) {
        let _ = self.drawer.remove(&self.name);
    }
}

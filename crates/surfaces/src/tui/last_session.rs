//! Which session was on the screen of a folder, for a program that did not come to leave it: it is there again.

use rustix::process::{Pid, getpid, test_kill_process};
use trimtab_host::LocalFiles;
use trimtab_vocab::SessionId;

/// The note about a folder.
#[derive(Debug, Clone)]
pub(super) struct LastSession {
    local_files: LocalFiles,
    name: String,
}

impl LastSession {
    pub(super) fn new(local_files: LocalFiles, folder: &str) -> Self {
        Self { local_files, name: LocalFiles::name("desk", folder) }
    }

    /// The session that was left open by a program that is gone.
    pub(super) fn left(&self) -> Option<SessionId> {
        self.read().filter(|(_, is_shown)| !is_shown).map(|(session, _)| session)
    }

    /// The session that another terminal shows now.
    pub(super) fn shown(&self) -> Option<SessionId> {
        self.read().filter(|(_, is_shown)| *is_shown).map(|(session, _)| session)
    }

    fn read(&self) -> Option<(SessionId, bool)> {
        let note = self.local_files.read(&self.name)?;
        let (session, process) = note.trim().split_once(' ').unwrap_or((note.trim(), ""));
        let process = process.parse().ok().and_then(Pid::from_raw).filter(|process| *process != getpid());
        let is_shown = process.is_some_and(|process| test_kill_process(process).is_ok());
        Some((session.parse().ok()?, is_shown))
    }

    /// This one is open. Without the note only the way back to it is longer.
    pub(super) fn put(&self, session: &SessionId) {
        let _ = self.local_files.write(&self.name, &format!("{session} {}", getpid().as_raw_nonzero()));
    }

    /// This program leaves without the person's word. Another one may show the session from here on, although this one
    /// still has something to end.
    pub(super) fn release(&self) {
        let Some(note) = self.local_files.read(&self.name) else { return };
        let own = getpid().as_raw_nonzero().to_string();
        if let Some((session, process)) = note.trim().split_once(' ')
            && process == own
        {
            let _ = self.local_files.write(&self.name, session);
        }
    }

    /// None is.
    pub(super) fn clear(&self) {
        let _ = self.local_files.remove(&self.name);
    }
}

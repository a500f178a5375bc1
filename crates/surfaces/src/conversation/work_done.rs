//! What a request has done to files, which commands it ran and how much it read, in a line at its end.

use trimtab_vocab::Fact;
use trimtab_vocab::event::{ChangeFact, ChangedFile, CommandDone, CommandFact, DoneFacts, RequestFact};
use trimtab_vocab::format;

/// Files that are named; of more, only their number is told.
const NAMED: usize = 3;

/// What is done so far; at the end, what the log says of it as a whole. Logs of versions before `done` was recorded have
/// only the facts on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkDone {
    done: DoneFacts,
}

impl WorkDone {
    pub(crate) fn observe(&mut self, fact: &Fact) {
        match fact {
            Fact::Change(ChangeFact::Applied(change)) => change.files.iter().for_each(|file| self.change(file)),
            Fact::Command(CommandFact::Finished { command, exit_code, .. }) => {
                self.done.commands.push(CommandDone { command: command.clone(), exit_code: *exit_code });
            }
            Fact::Request(RequestFact::Finished { done, .. }) if !done.is_empty() => self.done.clone_from(done),
            _ => {}
        }
    }

    fn change(&mut self, file: &ChangedFile) {
        match self.done.files.iter_mut().find(|known| known.path == file.path) {
            Some(known) => {
                known.added = known.added.saturating_add(file.added);
                known.removed = known.removed.saturating_add(file.removed);
            }
            None => self.done.files.push(file.clone()),
        }
    }

    /// Whether nothing was changed or run.
    fn only_looked(&self) -> bool {
        self.done.files.is_empty() && self.done.commands.is_empty()
    }

    /// The line; nothing, where nothing was done but read and speak.
    pub(crate) fn line(&self) -> Option<String> {
        if self.only_looked() { None } else { self.facts() }
    }

    /// The line, also where something was only read.
    pub(crate) fn facts(&self) -> Option<String> {
        let mut parts = Vec::new();
        match self.done.files.as_slice() {
            [] => {}
            files if files.len() <= NAMED => {
                parts.push(format!("changed {}", files.iter().map(named).collect::<Vec<_>>().join(", ")));
            }
            files => parts.push(format!("changed {} files", files.len() + self.done.more_files as usize)),
        }
        let failed = self.done.commands.iter().filter(|command| command.exit_code != Some(0)).count();
        match (self.done.commands.len(), failed) {
            (0, _) => {}
            (1, 1) => parts.push("ran 1 command, which failed".to_owned()),
            (all, 0) => parts.push(format!("ran {}", format::plural(all, "command"))),
            (many, failed) => parts.push(format!("ran {many} commands, {failed} failed")),
        }
        match self.done.reads {
            0 => {}
            times => parts.push(format::plural(times, "read")),
        }
        let line = parts.join(" · ");
        let mut letters = line.chars();
        let first = letters.next()?.to_uppercase();
        Some(first.chain(letters).collect())
    }
}

/// A file with its lines: `hello.py (+3)`, `a.rs (+3 −1)`, `old.txt (deleted)`.
fn named(file: &ChangedFile) -> String {
    let lines = match (file.added, file.removed) {
        _ if file.is_deleted => "deleted".to_owned(),
        (0, 0) => return file.path.clone(),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("−{removed}"),
        (added, removed) => format!("+{added} −{removed}"),
    };
    format!("{} ({lines})", file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, added: u64, removed: u64) -> ChangedFile {
        ChangedFile { path: path.into(), added, removed, modified: 0, is_new: removed == 0, is_deleted: false }
    }

    #[test]
    fn the_line_says_what_changed_ran_and_was_read() {
        let command = |exit_code| CommandDone { command: "ls".into(), exit_code };
        let line = |done: DoneFacts| WorkDone { done }.line();
        let done = DoneFacts {
            files: vec![file("hello.py", 3, 0)],
            commands: vec![command(Some(0))],
            reads: 2,
            ..DoneFacts::default()
        };
        assert_eq!(line(done).as_deref(), Some("Changed hello.py (+3) · ran 1 command · 2 reads"));
        let done = DoneFacts { commands: vec![command(Some(0)), command(None)], ..DoneFacts::default() };
        assert_eq!(line(done).as_deref(), Some("Ran 2 commands, 1 failed"));
        let files = ["a", "b", "c", "d"].map(|path| file(path, 1, 1)).to_vec();
        assert_eq!(line(DoneFacts { files, ..DoneFacts::default() }).as_deref(), Some("Changed 4 files"));
        let read = WorkDone { done: DoneFacts { reads: 1, ..DoneFacts::default() } };
        assert_eq!((read.line(), read.facts().as_deref()), (None, Some("1 read")));
    }
}

//! What a request has done to files and which commands it ran, in a line at its end.

use std::collections::BTreeMap;

use trimtab_vocab::Fact;
use trimtab_vocab::event::{ChangeFact, CommandFact};

/// Files that are named; of more, only their number is told.
const NAMED: usize = 3;

#[derive(Debug, Clone, Default)]
pub(crate) struct WorkDone {
    /// Lines that were added and removed, by file.
    files: BTreeMap<String, (u64, u64)>,
    commands: u32,
    failed: u32,
}

impl WorkDone {
    pub(crate) fn observe(&mut self, fact: &Fact) {
        match fact {
            Fact::Change(ChangeFact::Applied(change)) => {
                for file in &change.files {
                    let (added, removed) = self.files.entry(file.path.clone()).or_default();
                    *added = added.saturating_add(file.added);
                    *removed = removed.saturating_add(file.removed);
                }
            }
            Fact::Command(CommandFact::Finished { exit_code, .. }) => {
                self.commands += 1;
                self.failed += u32::from(*exit_code != Some(0));
            }
            _ => {}
        }
    }

    /// Nothing, where nothing was done but words said.
    pub(crate) fn line(&self) -> Option<String> {
        let mut parts = Vec::new();
        let names = self.files.iter().map(|(path, (added, removed))| format!("{path} +{added} −{removed}"));
        match self.files.len() {
            0 => {}
            1..=NAMED => parts.push(names.collect::<Vec<_>>().join(", ")),
            many => parts.push(format!("{many} files changed")),
        }
        match (self.commands, self.failed) {
            (0, _) => {}
            (1, 0) => parts.push("1 command".to_owned()),
            (1, _) => parts.push("1 command, which failed".to_owned()),
            (many, 0) => parts.push(format!("{many} commands")),
            (many, failed) => parts.push(format!("{many} commands, {failed} failed")),
        }
        (!parts.is_empty()).then(|| format!("What was done: {}", parts.join(" · ")))
    }
}

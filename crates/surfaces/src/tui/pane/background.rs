//! Commands: which one runs in the foreground, and how many continue in the background.

use std::collections::{BTreeMap, BTreeSet};

use ratatui::text::Line;
use trimtab_vocab::event::{CommandFact, SessionFact, ToolFact};
use trimtab_vocab::{BackgroundEnd, BackgroundId, CallId, Event, Fact, StoppedBy, format};

use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;

#[derive(Debug, Default)]
pub(in crate::tui) struct RunningCommands {
    foreground: BTreeSet<CallId>,
    background: BTreeMap<BackgroundId, String>,
}

impl RunningCommands {
    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Command(CommandFact::Started { call: Some(call), .. }) => drop(self.foreground.insert(call.clone())),
            Fact::Command(CommandFact::Background { call, id, command, name, .. }) => {
                self.foreground.remove(call);
                self.background.insert(id.clone(), name.as_ref().unwrap_or(command).clone());
            }
            // The processes stay with the session that the fork was made of.
            Fact::Session(SessionFact::Forked { .. }) => self.background.clear(),
            Fact::Command(
                CommandFact::Finished { background: Some(BackgroundEnd { id, .. }), .. }
                | CommandFact::Stopping { id, by: StoppedBy::Program, .. },
            ) => {
                self.background.remove(id);
            }
            Fact::Command(CommandFact::Finished { call: Some(call), .. })
            | Fact::Tool(ToolFact::Finished { call, .. }) => drop(self.foreground.remove(call)),
            _ => {}
        }
    }

    /// Whether a command runs that could continue in the background.
    pub(in crate::tui) fn has_foreground(&self) -> bool {
        !self.foreground.is_empty()
    }

    pub(in crate::tui) fn lines(&self, width: usize, height: u16, theme: &Theme) -> Vec<Line<'static>> {
        let first = self.background.first_key_value().filter(|_| height >= 8);
        let Some((id, first)) = first else { return Vec::new() };
        let what = match self.background.len() {
            1 => format!("{id} runs in the background: {}", sanitize_cells(first.lines().next().unwrap_or_default())),
            all => format::plural(all, "background command"),
        };
        vec![Line::styled(cut(&format!("▸ {what} · /ps"), width), theme.style(StyleName::Dim))]
    }
}

//! The screen's part of going back to an earlier message.

use trimtab_host::RewindDone;

use super::app::App;
use super::composer::ComposerDraft;
use super::message::{Cmd, Msg};
use super::transcript::LineMark;
use super::view::{Overlay, rewind};
use crate::words;

impl App {
    /// Shows the messages that the person can go back to.
    pub(super) fn open_rewind(&mut self) {
        if self.session.is_none() {
            return self.show_hint(words::NO_SESSION_YET);
        }
        self.view = Some(Overlay::Rewind(Box::new(rewind::RewindView::new())));
        self.emit(Cmd::LoadRewindPoints);
    }

    /// Shows what was found out for the view, if it is still open, and what came of it in any case.
    pub(super) fn show_rewind(&mut self, message: Msg) {
        let now = self.now;
        match (message, &mut self.view) {
            (Msg::RewindPoints { points, can_undo }, Some(Overlay::Rewind(view))) => {
                view.set_points(points, can_undo, now);
            }
            (Msg::RewindPlan { plan, files }, Some(Overlay::Rewind(view))) => view.set_plan(plan, files),
            (Msg::Rewound(done), view) => {
                let is_shown = match view {
                    Some(Overlay::Rewind(view)) => view.set_refused(&done),
                    _ => false,
                };
                if !is_shown {
                    self.rewound(*done);
                }
            }
            _ => {}
        }
    }

    fn rewound(&mut self, done: RewindDone) {
        self.view = None;
        let RewindDone { session, text, writes, refused } = done;
        if let Some((reason, _)) = refused {
            return self.transcript.note(LineMark::Bad, reason);
        }
        let is_other = self.session.as_ref() != Some(&session);
        let files = words::restored_files(&writes);
        if is_other {
            self.open(Some(session));
            let what = if text.is_some() { words::WENT_BACK } else { words::REWIND_UNDONE };
            // Words that stand in the input are kept beside those that come back.
            if let Some(text) = text {
                if !self.composer.is_empty() {
                    self.composer.set_aside();
                }
                self.write(&ComposerDraft::new(text));
            }
            self.show_hint(match files.is_empty() {
                true => what.to_owned(),
                false => format!("{files} {what}"),
            });
        } else if !files.is_empty() {
            self.show_hint(format!("{files} alt-c redoes the changes."));
        }
    }
}

//! An edit that would change nothing: what it wants is there already, or it is an error that the user and the model
//! hear of.

use trimtab_vocab::event::{BugFact, Level, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{CallId, Noop, RequestId};

use super::batch;
use crate::NoEffect;
use crate::record::rounds::ALREADY_IN_PLACE;
use crate::transition::Transition;

/// Decides by the setting what such an edit is.
pub(super) fn met(step: &mut Transition<'_>, call: &CallId, request: &RequestId, why: NoEffect, reason: String) {
    let setting = step.session.active().map(|active| active.request.settings.style.recovery.noop).unwrap_or_default();
    let is_skipped = match (setting, why) {
        (_, NoEffect::InPlace) => true,
        (_, NoEffect::Malformed) | (Noop::Block, _) => false,
        (Noop::Classify, why) => why == NoEffect::Done,
        (Noop::Skip, _) => true,
    };
    if is_skipped {
        let is_done = matches!(why, NoEffect::InPlace | NoEffect::Done);
        let said = if is_done { ALREADY_IN_PLACE } else { "Skipped, not needed" };
        return batch::finished(step, call, ToolStatus::Ok, format!("{said}. {reason}"));
    }
    step.notify(request, Level::Warning, Notice::DiffWithoutEffect);
    let message = format!("Auto-detected: Malformed diff. {}", reason.lines().next().unwrap_or_default());
    step.emit(Some(request), BugFact { kind: "Other".into(), by: "script".into(), message });
    batch::finished(step, call, ToolStatus::Error, reason);
}

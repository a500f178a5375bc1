//! What makes an action doubtful, so that it asks regardless of the settings.

use trimtab_vocab::wording::PermissionReason;

use super::Prospect;
use crate::proposal::ProposedChange;
use crate::record::RunningRequest;
use crate::tools::ToolAction;
use crate::words;

/// Why the user should see a change before it is made.
pub(super) fn about(active: &RunningRequest, action: &ToolAction, prospect: Prospect<'_>) -> Option<PermissionReason> {
    let is_unasked_text = active.batch.as_ref().is_some_and(|batch| batch.unasked_text);
    if is_unasked_text && matches!(action, ToolAction::Change(_) | ToolAction::Run { .. }) {
        return Some(PermissionReason::WrittenAsText);
    }
    let ToolAction::Change(change) = action else { return None };
    // The user has asked for exactly these pictures.
    if matches!(change, ProposedChange::Save { .. }) {
        return None;
    }
    if let Some(loss) = prospect.losses.first() {
        return Some(PermissionReason::DropsMost(loss.path.clone(), loss.lost, loss.lines));
    }
    if let Some(path) = prospect.unsaved.first() {
        return Some(PermissionReason::Unsaved(path.clone()));
    }
    if active.batch.as_ref().is_some_and(|batch| batch.mended) {
        // Who merges is asked for a text and not for an answer that could be damaged.
        let is_merge = matches!(change, ProposedChange::Merge(_));
        return Some(if is_merge { PermissionReason::MergedByModel } else { PermissionReason::Repaired });
    }
    is_unasked(active).then_some(PermissionReason::Unasked)
}

/// Whether everything that the user has said to the request only asks to look. A plan that they approved, a pill, and
/// talk that goes over to work ask for more than their words.
fn is_unasked(active: &RunningRequest) -> bool {
    let is_agreed = active.flow.is_under_way() || active.flow.running().is_some() || active.request.pill.is_some();
    !is_agreed
        && words::only_looks(&active.request.text)
        && active.steering.said.iter().all(|said| words::only_looks(said))
}

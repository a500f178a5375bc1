//! The other actions of an edit, in the words of rules: a patch may delete and move files as those tools do.

use trimtab_vocab::FileWrite;

use super::plain;
use crate::proposal::ProposedChange;
use crate::proposal::edit::Edit;
use crate::record::Session;
use crate::tools::ToolAction;

pub(super) const EDIT: &str = "edit_file";
pub(super) const DELETE: &str = "delete_file";
pub(super) const MOVE: &str = "move_file";

/// A tool, and a file that it would do its work on.
pub(super) type Deed = (&'static str, String);

/// What an edit deletes and moves. What it empties is deleted too; the old name of a file that moves is not.
pub(super) fn besides_editing(action: &ToolAction, writes: &[FileWrite], folder: Option<&str>) -> Vec<Deed> {
    if let ToolAction::Change(ProposedChange::Merge(_)) = action {
        let gone = writes.iter().filter(|write| write.discards());
        return gone.map(|write| (DELETE, plain(&write.path, folder))).collect();
    }
    let ToolAction::Change(ProposedChange::Edit(edit)) = action else { return Vec::new() };
    let is_blank = matches!(edit, Edit::WholeFile { content, .. } if content.trim().is_empty());
    let moves = moves(edit, folder);
    let is_gone = |write: &&FileWrite| discards(write, writes, &moves) || (is_blank && write.before.is_some());
    let deleted = writes.iter().filter(is_gone).map(|write| (DELETE, plain(&write.path, folder)));
    let moved = moves.iter().flat_map(|(from, to)| [(MOVE, from.clone()), (MOVE, to.clone())]);
    deleted.chain(moved).collect()
}

/// Whether a file would be deleted or replaced whole that the model has never read. An edit is no such thing:
/// it names what it replaces; nor is a move, which keeps the content. What workers have read is not known here, so what
/// they delete counts as unread unless this session has read it.
pub(super) fn destroys_unread(session: &Session, action: &ToolAction, writes: &[FileWrite]) -> bool {
    if let ToolAction::Change(ProposedChange::Merge(_)) = action {
        return writes.iter().any(|write| write.discards() && session.mark(&write.path).is_none());
    }
    let replaces = matches!(
        action,
        ToolAction::Change(ProposedChange::Delete { .. } | ProposedChange::Edit(Edit::WholeFile { .. }))
    );
    let moves = match action {
        ToolAction::Change(ProposedChange::Edit(edit)) => Some(moves(edit, session.folder())),
        _ => None,
    };
    writes.iter().any(|write| {
        let is_gone = || moves.as_ref().is_some_and(|moves| discards(write, writes, moves));
        ((replaces && write.before.is_some()) || is_gone()) && session.mark(&write.path).is_none()
    })
}

fn moves(edit: &Edit, folder: Option<&str>) -> Vec<(String, String)> {
    edit.moves().iter().map(|(from, to)| (plain(from, folder), plain(to, folder))).collect()
}

/// Whether nothing is left of a file that had content, under its own name or the one that it moves to.
fn discards(write: &FileWrite, writes: &[FileWrite], moves: &[(String, String)]) -> bool {
    let target = moves.iter().find(|(from, _)| *from == write.path).map(|(_, to)| to);
    let moved = target.and_then(|to| writes.iter().find(|write| write.path == *to));
    match moved {
        Some(moved) => FileWrite { after: moved.after.clone(), ..write.clone() }.discards(),
        None => write.discards(),
    }
}

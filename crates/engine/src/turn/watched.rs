//! File changes by commands: which commands are watched, and what is recorded and reported.

use trimtab_vocab::event::{ByCommand, Change, ChangeFact, ChangedFile};
use trimtab_vocab::{
    CallId, ChangeSetId, CommandClass, CommandRun, FileEffects, FileMark, FileWrite, RefKey, RequestId, Sandbox,
    SnapshotLimits, Unkept,
};

use crate::permit;
use crate::proposal::command;
use crate::record::{ChangeSet, Session};
use crate::transition::Transition;

/// Files that are named to the model.
const NAMED: usize = 20;
/// Bytes of diffs that the model is shown without asking.
const SHOWN: usize = 4 * 1024;

/// How much is to be noted before a command; nothing if it cannot write here, if it is known only to look, or if
/// the user does not want it.
pub(super) fn watch(session: &Session, line: &str) -> Option<SnapshotLimits> {
    let active = session.active()?;
    let settings = &active.request.settings;
    let (files, bytes) = (settings.snapshot.files, u64::from(settings.snapshot.mb) << 20);
    let is_wanted = files > 0 && bytes > 0 && settings.commands.sandbox != Sandbox::ReadOnly;
    let is_watched = is_wanted && !command::only_looks(line, &permit::policy(session, active));
    is_watched.then_some(SnapshotLimits { files, bytes, whole: false })
}

/// The same for a command that is about to run. Without an approval, its class decides: a read-only command cannot
/// write anywhere, and any other starts only with a snapshot, regardless of its size limit.
pub(super) fn watch_run(session: &Session, run: &CommandRun) -> Option<SnapshotLimits> {
    match run.automatic {
        Some(CommandClass::Read) => None,
        Some(CommandClass::Check) if run.sandbox == Sandbox::Workspace => {
            let settings = &session.active()?.request.settings;
            let (files, bytes) = (settings.snapshot.files, u64::from(settings.snapshot.mb) << 20);
            Some(SnapshotLimits { files, bytes, whole: true })
        }
        _ => watch(session, &run.command),
    }
}

/// Records what a command did to files as a change set, if it did something.
pub(super) fn record(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: &CallId,
    command: &str,
    effects: &FileEffects,
    late: bool,
) {
    let FileEffects { writes, diffs, unkept, more, .. } = effects;
    if writes.is_empty() && unkept.is_empty() {
        return;
    }
    let (change_set, late) = (free_name(step.session, request, call), late);
    let shown: String = diffs.concat();
    let diff = (!shown.is_empty()).then(|| RefKey::diff_of(&change_set));
    if let Some(key) = &diff {
        step.store(key.clone(), shown);
    }
    let files: Vec<ChangedFile> = writes.iter().map(ChangedFile::from).collect();
    let position = i32::try_from(step.session.in_force()).unwrap_or(i32::MAX);
    let by = ByCommand {
        command: command.to_owned(),
        call: call.clone(),
        late,
        writes: writes.clone(),
        unkept: unkept.clone(),
        more: *more,
        diff,
        alongside: step.session.writing_beside(call),
    };
    step.emit(
        Some(request),
        ChangeFact::Applied(Change { change_set, files, position, by: Some(Box::new(by)), message: None }),
    );
}

/// Records what a hook did to files as a part of what its call changed, so that one undo covers both.
pub(super) fn record_with(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: &CallId,
    command: &str,
    effects: &FileEffects,
) {
    let FileEffects { writes, unkept, more, .. } = effects;
    let (in_force, history) = (step.session.in_force(), step.session.history());
    let first = ChangeSetId::for_call(request, call);
    let own =
        history.last().filter(|set| in_force == history.len() && is_of(&set.id, &first)).map(|set| set.id.clone());
    let Some(change_set) = own.filter(|_| !writes.is_empty()) else {
        return record(step, request, call, command, effects, false);
    };
    let files: Vec<ChangedFile> = writes.iter().map(ChangedFile::from).collect();
    let position = i32::try_from(in_force - 1).unwrap_or(i32::MAX);
    let (command, call, writes, unkept) = (command.to_owned(), call.clone(), writes.clone(), unkept.clone());
    // The diff of the set is of the call itself.
    let by = ByCommand { command, call, late: false, writes, unkept, more: *more, diff: None, alongside: Vec::new() };
    let change = Change { change_set, files, position, by: Some(Box::new(by)), message: None };
    step.emit(Some(request), ChangeFact::Applied(change));
}

fn is_of(set: &ChangeSetId, first: &ChangeSetId) -> bool {
    set == first || set.as_str().strip_prefix(first.as_str()).is_some_and(|rest| rest.starts_with('-'))
}

/// The name of the set that a command makes. One that is run again after its end was not seen makes a second.
fn free_name(session: &Session, request: &RequestId, call: &CallId) -> ChangeSetId {
    let first = ChangeSetId::for_call(request, call);
    match sets_of(session, &first).count() {
        0 => first,
        n => format!("{first}-{}", n + 1).parse().unwrap_or(first),
    }
}

fn sets_of<'s>(session: &'s Session, first: &'s ChangeSetId) -> impl Iterator<Item = &'s ChangeSet> {
    let again = format!("{first}-");
    session.history().iter().filter(move |set| set.id == *first || set.id.as_str().starts_with(&again))
}

/// The message to the model about an interrupted command: the files that it had changed.
pub(super) fn after_all(session: &Session, request: &RequestId, call: &CallId) -> Option<String> {
    let first = ChangeSetId::for_call(request, call);
    let writes: Vec<FileWrite> = sets_of(session, &first).flat_map(|set| set.writes.iter().cloned()).collect();
    sentence(&FileEffects { writes, ..FileEffects::default() })
}

/// The message to the model: one line, and short diffs of files that it has read. It then knows these files as they are
/// now, and need not read them again.
pub(super) fn told(session: &Session, effects: &FileEffects) -> (Option<String>, Vec<FileMark>) {
    let Some(mut text) = sentence(effects) else { return (None, Vec::new()) };
    let (mut marks, mut left) = (Vec::new(), SHOWN);
    for (write, diff) in effects.writes.iter().zip(&effects.diffs) {
        let Some(after) = &write.after else { continue };
        let is_known = session.mark(&write.path).is_some_and(|seen| {
            write.before.as_ref().is_some_and(|before| before.hash == seen && before.hash != after.hash)
        });
        if is_known && !diff.is_empty() && diff.len() <= left && !after.is_link() {
            left -= diff.len();
            text.push('\n');
            text.push_str(diff.trim_end());
            marks.push(FileMark { path: write.path.clone(), hash: after.hash.clone() });
        }
    }
    (Some(text), marks)
}

/// The message to the model that some of the changes may be those of background commands.
pub(super) fn told_alongside(session: &Session, call: &CallId, effects: &FileEffects) -> Option<String> {
    let beside = session.writing_beside(call);
    let ids: Vec<&str> = beside.iter().map(|id| id.as_str()).collect();
    (!ids.is_empty() && !effects.writes.is_empty())
        .then(|| format!("[In the background: {}. Some of these file changes may be theirs.]", ids.join(", ")))
}

/// `Files changed: src/a.rs (+3 -1); new: b.txt; deleted: c.`
pub(super) fn sentence(effects: &FileEffects) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(why) = effects.unobserved {
        return Some(format!("What it did to files was not recorded: {}.", why.words()));
    }
    let mut list = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            let rest = names.len().saturating_sub(NAMED);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            parts.push(format!("{what} {}{more}", names[..names.len().min(NAMED)].join(", ")));
        }
    };
    let of = |wanted: fn(&FileWrite) -> bool, name: fn(&FileWrite) -> String| -> Vec<String> {
        effects.writes.iter().filter(|write| wanted(write)).map(name).collect()
    };
    let plain = |write: &FileWrite| write.path.clone();
    list(
        "Files changed:",
        of(
            |write| write.before.is_some() && write.after.is_some(),
            |write| format!("{} (+{} -{})", write.path, write.added, write.removed),
        ),
    );
    list("new:", of(|write| write.before.is_none(), plain));
    list("deleted:", of(|write| write.after.is_none(), plain));
    let mut unkept: Vec<String> =
        effects.unkept.iter().map(|Unkept { path, why }| format!("{path} ({})", why.words())).collect();
    unkept.extend((effects.more > 0).then(|| format!("{} more", effects.more)));
    list("also changed, cannot be undone:", unkept);
    let text = parts.join("; ");
    let capital = text.chars().next()?.to_uppercase();
    Some(format!("{}{}.", capital, text.get(1..)?))
}

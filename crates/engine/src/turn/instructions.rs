//! The folder's own instructions become part of the prompt, so they are bound to what the user accepted: by trusting
//! the folder (as it is at that moment), by approving a change of such a file, or by being asked. What nobody has accepted
//! as it is now is asked about first; where nobody can be asked, the request goes on without it.

use trimtab_vocab::checkpoint::{Ask, ChangedInstructions};
use trimtab_vocab::event::{Level, RuleFact, Status};
use trimtab_vocab::wording::{AnswerLabel, InstructionsState, Notice, QuestionTitle};
use trimtab_vocab::{
    ApprovalClass, Approve, CheckpointId, FileMark, FileWrite, InstructionFile, RequestId, Rule, RuleVerdict,
    sensitive_paths,
};

use super::answers::{self, CheckpointDraft, SKIP};
use crate::output::Effect;
use crate::proposal::command::visible;
use crate::record::{RunningRequest, Session};
use crate::transition::Transition;

/// The answer that accepts instructions as they are now.
pub const USE: &str = "use";

/// Bytes of a changed file that the user can be asked about, because they must see all of it.
const LARGEST: usize = 256 * 1024;

/// What of the instructions may be used; nothing if the user is asked first.
pub(super) fn settle(
    step: &mut Transition<'_>,
    request: &RequestId,
    files: Vec<InstructionFile>,
) -> Option<Vec<InstructionFile>> {
    let active = step.session.active()?;
    let settings = &active.request.settings;
    if !settings.instructions_bound {
        return Some(files);
    }
    let is_accepted =
        |file: &InstructionFile| rules(step.session).any(|rule| has(rule, &Rule::instruction(&file.path, &file.hash)));
    let is_large = |file: &InstructionFile| file.text.len() > LARGEST && !is_accepted(file);
    let (large, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_large);
    let offered = rule(step.session, &files);
    let (accepted, changed): (Vec<_>, Vec<_>) = files.into_iter().partition(is_accepted);
    let is_asked = settings.attended && answers::approve(active) == Approve::Ask;
    let offered =
        offered.filter(|offered| !changed.is_empty() && active.trust.declined.as_ref() != Some(&offered.pattern));
    let is_open = offered.is_some();
    if let Some(offered) = offered.filter(|_| is_asked) {
        ask(step, &changed, offered);
        return None;
    }
    let mut warn = |files: &[InstructionFile], notice: fn(InstructionsState) -> Notice| {
        let notice = notice(state(step.session, files));
        step.notify(request, Level::Warning, notice);
    };
    if is_open {
        warn(&changed, Notice::InstructionsUnused);
    }
    if !large.is_empty() {
        warn(&large, Notice::InstructionsTooLarge);
    }
    Some(accepted)
}

fn ask(step: &mut Transition<'_>, changed: &[InstructionFile], rule: Rule) {
    let shown = |file: &InstructionFile| ChangedInstructions {
        path: file.path.clone(),
        hash: file.hash.clone(),
        text: visible(&file.text),
        bytes: file.text.len() as u64,
    };
    let texts: Vec<String> = changed.iter().map(|file| format!("{}:\n{}", visible(&file.path), file.text)).collect();
    let question = CheckpointDraft {
        ask: Ask::Instructions {
            class: Some(ApprovalClass::Instructions),
            files: changed.iter().map(shown).collect(),
            details: visible(&texts.join("\n\n")),
            rule: Some(rule),
        },
        title: QuestionTitle::Instructions(state(step.session, changed)),
        choices: vec![answers::choice(USE, AnswerLabel::UseIt), answers::choice(SKIP, AnswerLabel::ContinueWithoutIt)],
    };
    answers::ask(step, question, Status::NeedsUser);
}

/// The state of instruction files that are not accepted in their current version.
fn state(session: &Session, files: &[InstructionFile]) -> InstructionsState {
    let names = files.iter().map(|file| visible(&file.path)).collect::<Vec<_>>().join(", ");
    let is_known = |file: &InstructionFile| {
        let start = Rule::instruction(&file.path, "");
        rules(session).any(|rule| rule.pattern.split(", ").any(|entry| entry.starts_with(&start)))
    };
    match files.iter().all(is_known) {
        true => InstructionsState::Changed(names),
        false => InstructionsState::New(names),
    }
}

/// The user is about to trust the folder: its instructions are accepted as they are at this moment.
pub(crate) fn bind(step: &mut Transition<'_>, checkpoint: &CheckpointId, choice: &str, files: &[FileMark]) {
    let Some(asked) = step.session.checkpoint(checkpoint) else { return };
    let Some(folder) =
        step.session.folder().filter(|_| matches!(asked.ask, Ask::Trust { .. }) && choice == answers::TRUST)
    else {
        return;
    };
    let new = Rule::instructions(folder, files.iter().map(|file| (file.path.as_str(), file.hash.as_str())));
    let request = asked.request.clone();
    replace(step, &request, new);
    if !files.is_empty() {
        let names: Vec<String> = files.iter().map(|file| visible(&file.path)).collect();
        step.notify(&request, Level::Info, Notice::InstructionsAccepted(names.join(", ")));
    }
}

/// Reads the instructions that were not read when the request began, because the folder was not trusted then.
pub(super) fn load(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let (request, instructions) = (active.request.id.clone(), named(active));
    let servers = !active.request.settings.subtasks.is_worker;
    step.request(Effect::Load {
        request,
        files: Vec::new(),
        marked: Vec::new(),
        urls: Vec::new(),
        instructions,
        overview: None,
        servers,
    });
}

/// The user has accepted instructions, which replace the earlier ones.
pub(super) fn replace(step: &mut Transition<'_>, request: &RequestId, new: Option<Rule>) {
    let old: Vec<Rule> = rules(step.session).filter(|rule| Some(*rule) != new.as_ref()).cloned().collect();
    for rule in old {
        step.emit(Some(request), RuleFact::Removed { rule });
    }
    if let Some(rule) = new.filter(|new| !step.session.rules().contains(new)) {
        step.emit(Some(request), RuleFact::Added { rule });
    }
}

/// The user has approved a change of files, and has seen it: instructions among them are accepted as they are now.
pub(super) fn approved(step: &mut Transition<'_>, request: &RequestId, writes: &[FileWrite]) {
    let Some(active) = step.session.active().filter(|active| active.request.settings.instructions_bound) else {
        return;
    };
    // What a worker writes reaches the folder when it is merged, and is approved then.
    if step.session.lineage().role.is_some() {
        return;
    }
    let named = named(active);
    let written: Vec<&FileWrite> = writes.iter().filter(|write| named.contains(&write.path)).collect();
    let Some(folder) = step.session.folder().filter(|_| !written.is_empty()) else { return };
    let is_other = |entry: &&str| !written.iter().any(|write| entry.starts_with(&Rule::instruction(&write.path, "")));
    let old = rules(step.session).flat_map(|rule| rule.pattern.split(", "));
    let kept = old.filter(is_other).filter_map(|entry| entry.rsplit_once('@'));
    let new = written.iter().filter_map(|write| Some((write.path.as_str(), write.after.as_ref()?.hash.as_str())));
    let rule = Rule::instructions(folder, kept.chain(new));
    replace(step, request, rule);
}

/// Files of the folder that are read as instructions.
pub(super) fn named(active: &RunningRequest) -> Vec<String> {
    sensitive_paths::instruction_files(&active.request.settings.context.files)
}

/// The instructions as one text. The one file is often a copy of the other, or a link to it.
pub(super) fn joined(files: &[InstructionFile]) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for InstructionFile { path, text, .. } in files {
        let is_usual = sensitive_paths::INSTRUCTIONS.contains(&path.as_str());
        let text = if is_usual { text.clone() } else { format!("{path}:\n{text}") };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The rule that accepts all of these.
fn rule(session: &Session, files: &[InstructionFile]) -> Option<Rule> {
    Rule::instructions(session.rules_folder()?, files.iter().map(|file| (file.path.as_str(), file.hash.as_str())))
}

/// The rules that say which instructions of the folder are accepted.
fn rules(session: &Session) -> impl Iterator<Item = &Rule> {
    let here = |rule: &&Rule| {
        rule.tool == Rule::INSTRUCTIONS
            && rule.verdict == RuleVerdict::Allow
            && rule.folder.is_some()
            && rule.folder.as_deref() == session.rules_folder()
    };
    session.rules().iter().filter(here)
}

fn has(rule: &Rule, entry: &str) -> bool {
    rule.pattern.split(", ").any(|accepted| accepted == entry)
}

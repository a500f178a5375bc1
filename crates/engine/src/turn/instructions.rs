//! The folder's own instructions become part of the prompt, so they are bound to what the user accepted: by trusting
//! the folder (as it is at that moment), by approving a change of such a file, or by being asked. What nobody has accepted
//! as it is now is asked about first; where nobody can be asked, the request goes on without it.

use trimtab_vocab::checkpoint::{Ask, ChangedInstructions};
use trimtab_vocab::event::{ContextFact, Level, RuleFact, Status};
use trimtab_vocab::wording::{AnswerLabel, InstructionsState, Notice, QuestionTitle};
use trimtab_vocab::{
    ApprovalClass, Approve, BoundFile, CheckpointId, FileMark, FileWrite, InstructionFile, RequestId, Rule,
    RuleVerdict, sensitive_paths,
};

use super::agents;
use super::answers::{self, CheckpointDraft, SKIP};
use crate::acceptance;
use crate::fragment::{self, Fragment};
use crate::output::{Effect, SkillQuery};
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{RunningRequest, Session};
use crate::transition::Transition;

pub use crate::record::names::choice::USE;

/// Bytes of a changed file that the user can be asked about, because they must see all of it.
const LARGEST: usize = 256 * 1024;
/// Bytes of all instructions further down in the folder that are used.
const MOST_NESTED: usize = 32 * 1024;

/// The note when they no longer apply.
const NESTED_GONE: &str = "These instructions no longer apply.";

/// What of the instructions may be used; nothing if the user is asked first.
pub(super) fn settle(
    step: &mut Transition<'_>,
    request: &RequestId,
    files: Vec<InstructionFile>,
) -> Option<Vec<InstructionFile>> {
    let active = step.session.active()?;
    let settings = &active.request.settings;
    if !settings.trust.instructions_bound {
        return Some(files);
    }
    let is_accepted = |file: &InstructionFile| is_accepted(step.session, file);
    let (own, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.own);
    let is_large = |file: &InstructionFile| file.text.len() > LARGEST && !is_accepted(file);
    let (large, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_large);
    let offered = rule(step.session, &files);
    let (accepted, changed): (Vec<_>, Vec<_>) = files.into_iter().partition(is_accepted);
    let is_asked = settings.attended && answers::approve(active) == Approve::Ask;
    let offered = offered.filter(|offered| !changed.is_empty() && !active.trust.declined.contains(&offered.pattern));
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
    Some([own, accepted].concat())
}

fn is_accepted(session: &Session, file: &InstructionFile) -> bool {
    rules(session).any(|rule| has(rule, &Rule::instruction(&file.path, &file.hash)))
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
    let of = |kind: Option<BoundFile>| files.iter().filter(move |file| BoundFile::at(&file.path) == kind);
    let new = Rule::instructions(folder, of(None).map(|file| (file.path.as_str(), file.hash.as_str())));
    let rule = |file: &FileMark| Some(Rule::bound(BoundFile::at(&file.path)?, folder, &file.path, &file.hash));
    let rules: Vec<Rule> = files.iter().filter_map(rule).collect();
    let request = asked.request.clone();
    replace(step, &request, new);
    rules.into_iter().for_each(|rule| replace(step, &request, Some(rule)));
    for kind in [Some(BoundFile::Skill), Some(BoundFile::Agent), None] {
        let names: Vec<String> = of(kind).map(|file| visible(&file.path)).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            let notice = match kind {
                Some(BoundFile::Skill) => Notice::SkillsAccepted(names),
                Some(BoundFile::Agent) => Notice::AgentsAccepted(names),
                None => Notice::InstructionsAccepted(names),
            };
            step.notify(&request, Level::Info, notice);
        }
    }
}

/// Reads the instructions that were not read when the request began, because the folder was not trusted then.
pub(super) fn load(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let (request, instructions) = (active.request.id.clone(), named(active));
    let servers = !active.request.settings.subtasks.is_worker;
    let called = active.request.pill.as_ref().and_then(|pill| pill.skill.clone());
    let skills = servers.then_some(SkillQuery { with_folder: true, called });
    let agents = agents::query(active, true, true);
    step.request(Effect::Load {
        request,
        files: Vec::new(),
        marked: Vec::new(),
        urls: Vec::new(),
        resources: Vec::new(),
        instructions,
        overview: None,
        servers,
        skills,
        agents,
    });
}

/// The user has accepted instructions, which replace the earlier ones, or a version of a skill or an agent, which
/// replaces others.
pub(super) fn replace(step: &mut Transition<'_>, request: &RequestId, new: Option<Rule>) {
    let old: Vec<Rule> = match new.as_ref().filter(|new| BoundFile::is_rule_tool(&new.tool)) {
        Some(new) => acceptance::other_versions(step.session, new),
        None => rules(step.session).filter(|rule| Some(*rule) != new.as_ref()).cloned().collect(),
    };
    for rule in old {
        step.emit(Some(request), RuleFact::Removed { rule });
    }
    if let Some(rule) = new.filter(|new| !step.session.rules().contains(new)) {
        step.emit(Some(request), RuleFact::Added { rule });
    }
}

/// The user has approved a change of files, and has seen it: instructions among them are accepted as they are now.
pub(super) fn approved(step: &mut Transition<'_>, request: &RequestId, writes: &[FileWrite]) {
    let Some(active) = step.session.active().filter(|active| active.request.settings.trust.instructions_bound) else {
        return;
    };
    // What a worker writes reaches the folder when it is merged, and is approved then.
    if step.session.lineage().role.is_some() {
        return;
    }
    let named = named(active);
    let bound = |folder: &str, write: &FileWrite| {
        Some(Rule::bound(BoundFile::at(&write.path)?, folder, &write.path, &write.after.as_ref()?.hash))
    };
    let bound: Vec<Rule> = match step.session.folder() {
        Some(folder) => writes.iter().filter_map(|write| bound(folder, write)).collect(),
        None => Vec::new(),
    };
    bound.into_iter().for_each(|rule| replace(step, request, Some(rule)));
    let is_instructions = |path: &str| named.iter().any(|name| name == path) || is_usual(path);
    let written: Vec<&FileWrite> = writes.iter().filter(|write| is_instructions(&write.path)).collect();
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

/// The instructions as one text of at most `cap` bytes, and the files that do not fit. The one file is often a copy of
/// the other, or a link to it. Later files are closer to the work, so the first ones are cut.
pub(super) fn joined(files: &[InstructionFile], cap: usize) -> Option<(String, Vec<String>)> {
    let (mut texts, mut cut): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut left = cap;
    for InstructionFile { path, text, own, .. } in files.iter().rev() {
        let text = match sensitive_paths::INSTRUCTIONS.contains(&path.as_str()) {
            true => text.clone(),
            false if *own => format!("Of the user, for all folders:\n{text}"),
            false => format!("{path}:\n{text}"),
        };
        if texts.contains(&text) {
            continue;
        }
        let shown = fragment::capped(&text, left);
        if shown.len() > text.len() || text.len() > left {
            cut.push(path.clone());
        }
        left = left.saturating_sub(text.len());
        texts.push(shown.into_owned());
    }
    texts.reverse();
    cut.reverse();
    (!texts.is_empty()).then(|| (texts.join("\n\n"), cut))
}

/// The rule that accepts all of these. Files further down in the folder stay accepted.
fn rule(session: &Session, files: &[InstructionFile]) -> Option<Rule> {
    let entries = rules(session).flat_map(|rule| rule.pattern.split(", ")).filter_map(|entry| entry.rsplit_once('@'));
    let is_nested = |path: &str| path.contains('/') && !path.starts_with("../") && is_usual(path);
    let kept = entries.filter(|(path, _)| is_nested(path) && !files.iter().any(|file| file.path == *path));
    let new = files.iter().map(|file| (file.path.as_str(), file.hash.as_str()));
    Rule::instructions(session.rules_folder()?, new.chain(kept))
}

/// Whether a file has one of the names that instructions usually have.
fn is_usual(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| sensitive_paths::INSTRUCTIONS.contains(&name))
}

/// A tool has touched something below these files: each version is added to the prompt once.
pub(crate) fn nested(step: &mut Transition<'_>, request: &RequestId, files: Vec<InstructionFile>) {
    let Some(active) = super::active(step, request).filter(|active| permit::is_trusted(step.session, active)) else {
        return;
    };
    // Whoever trusts the folder for this request has what is there in mind, and not what a command makes that still runs:
    // its control files are found only when it has ended.
    let is_bound =
        active.request.settings.trust.instructions_bound || step.session.running_background().next().is_some();
    let named = named(active);
    for file in files {
        if named.contains(&file.path) || file.text.trim().is_empty() {
            continue;
        }
        let known = step.session.nested_instructions();
        let is_used = !is_bound || is_accepted(step.session, &file);
        let others = known.iter().filter(|(path, _)| **path != file.path);
        let size: usize = others.filter_map(|(_, (_, text))| text.as_ref().map(String::len)).sum();
        let has_room = size + file.text.len() <= MOST_NESTED;
        let text = (is_used && has_room).then(|| file.text.clone());
        // A version that was left out is used once the user has accepted it.
        let is_same =
            |(hash, before): &(String, Option<String>)| *hash == file.hash && before.is_some() == text.is_some();
        if known.get(&file.path).is_some_and(is_same) {
            continue;
        }
        let unused = (!is_used).then(|| state(step.session, std::slice::from_ref(&file)));
        let (path, hash) = (file.path.clone(), file.hash.clone());
        step.emit(Some(request), ContextFact::Nested { path, hash, text });
        match unused {
            Some(state) => step.notify(request, Level::Warning, Notice::InstructionsUnused(state)),
            None if !has_room => {
                let notice = Notice::InstructionsCut(visible(&file.path), MOST_NESTED / 1024);
                step.notify(request, Level::Warning, notice);
            }
            None => {}
        }
    }
}

/// The instructions further down in the folder, as parts of the prompt.
pub(super) fn nested_fragments(session: &Session, is_trusted: bool) -> impl Iterator<Item = Fragment> {
    session.nested_instructions().iter().map(move |(path, (_, text))| {
        let below = path.rsplit_once('/').map_or(".", |(below, _)| below);
        // Empty where it may not be used any more: if the model was told it before, it is told that it is gone.
        let text = match text {
            Some(text) if is_trusted => format!("Instructions for files below {below}, from {path}:\n{text}"),
            _ => String::new(),
        };
        Fragment::volatile(format!("instructions {path}"), text, MOST_NESTED + 1024, NESTED_GONE)
    })
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

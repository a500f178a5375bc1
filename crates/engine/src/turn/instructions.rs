//! The folder's own instructions become part of the prompt, so they are bound to what a person accepted: by trusting
//! the folder, by approving a change of such a file, or by being asked. What has changed since is asked about first;
//! where nobody can be asked, the request goes on without it.

use trimtab_vocab::checkpoint::{Ask, ChangedInstructions};
use trimtab_vocab::event::{BannerFact, Level, RuleFact, Status};
use trimtab_vocab::{
    ApprovalClass, Approve, FileWrite, InstructionFile, RequestId, Rule, RuleVerdict, sensitive_paths,
};

use super::answers::{self, CheckpointDraft, SKIP};
use crate::proposal::command::visible;
use crate::record::{RunningRequest, Session};
use crate::step::Transition;

/// The answer that accepts instructions as they are now.
pub const USE: &str = "use";

/// Letters of a hash that a rule names.
const HASH: usize = 32;
/// Bytes of a changed file that somebody can be asked about: they see all of it.
const LARGEST: usize = 256 * 1024;

/// What of the instructions may be used; nothing if a person is asked first.
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
    if !rules(step.session).any(|_| true) {
        // The person has trusted the folder as it is.
        let all = rule(step.session, &entries(&files));
        step.emit(Some(request), RuleFact::Added { rule: all });
        return Some(files);
    }
    let is_accepted =
        |file: &InstructionFile| rules(step.session).any(|rule| has(rule, &entry(&file.path, &file.hash)));
    let is_large = |file: &InstructionFile| file.text.len() > LARGEST && !is_accepted(file);
    let (large, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_large);
    let offered = rule(step.session, &entries(&files));
    let (accepted, changed): (Vec<_>, Vec<_>) = files.into_iter().partition(is_accepted);
    let is_asked = settings.attended && answers::approve(active) == Approve::Ask;
    let is_open = !changed.is_empty() && active.declined.as_ref() != Some(&offered.pattern);
    if is_open && is_asked {
        ask(step, &changed, offered);
        return None;
    }
    let mut warn = |files: &[InstructionFile], why: &str, how: &str| {
        let text = format!(
            "{} changed since you accepted it as instructions{why}. This request runs without it. {how}, or pass --trust.",
            names(files)
        );
        step.emit(Some(request), BannerFact { level: Level::Warning, text });
    };
    if is_open {
        warn(&changed, "", "Accept it in the terminal or the browser");
    }
    if !large.is_empty() {
        warn(&large, " and is too large to show", "Make it smaller");
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
        title: format!("{} changed since you accepted it as instructions. Use it?", names(changed)),
        choices: vec![answers::choice(USE, "Use it"), answers::choice(SKIP, "Continue without it")],
    };
    answers::ask(step, question, Status::NeedsUser);
}

/// A person has accepted instructions: what they had accepted before does not count any more.
pub(super) fn accepted(step: &mut Transition<'_>, request: &RequestId, new: &Rule) {
    let old: Vec<Rule> = rules(step.session).filter(|rule| *rule != new).cloned().collect();
    for rule in old {
        step.emit(Some(request), RuleFact::Removed { rule });
    }
}

/// A person has approved a change of files, and has seen it: instructions among them are accepted as they are now.
pub(super) fn approved(step: &mut Transition<'_>, request: &RequestId, writes: &[FileWrite]) {
    let Some(active) = step.session.active().filter(|active| active.request.settings.instructions_bound) else {
        return;
    };
    let named = named(active);
    let is_one = |write: &&FileWrite| named.contains(&write.path);
    let Some(old) = rules(step.session).next().filter(|_| writes.iter().any(|write| is_one(&write))) else { return };
    let mut entries: Vec<String> = old.pattern.split(", ").filter(|entry| *entry != NONE).map(str::to_owned).collect();
    for write in writes.iter().filter(is_one) {
        let start = format!("{}@", write.path);
        entries.retain(|entry| !entry.starts_with(&start));
        entries.extend(write.after.as_ref().map(|after| entry(&write.path, &after.hash)));
    }
    let new = rule(step.session, &entries);
    accepted(step, request, &new);
    step.emit(Some(request), RuleFact::Added { rule: new });
}

/// Files of the folder that are read as instructions: the usual ones, then those that the settings name. A secret is
/// never sent because a setting says so.
pub(super) fn named(active: &RunningRequest) -> Vec<String> {
    let named = active.request.settings.context.files.iter().filter(|path| !sensitive_paths::has_secret(path));
    sensitive_paths::INSTRUCTIONS.into_iter().map(str::to_owned).chain(named.cloned()).collect()
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

/// What a rule says where there are no instructions.
const NONE: &str = "none";

fn entry(path: &str, hash: &str) -> String {
    format!("{path}@{}", &hash[..hash.floor_char_boundary(HASH)])
}

fn entries<'a>(files: impl IntoIterator<Item = &'a InstructionFile>) -> Vec<String> {
    files.into_iter().map(|file| entry(&file.path, &file.hash)).collect()
}

fn names(files: &[InstructionFile]) -> String {
    files.iter().map(|file| visible(&file.path)).collect::<Vec<_>>().join(", ")
}

fn rule(session: &Session, entries: &[String]) -> Rule {
    let pattern = if entries.is_empty() { NONE.to_owned() } else { entries.join(", ") };
    Rule {
        verdict: RuleVerdict::Allow,
        tool: Rule::INSTRUCTIONS.into(),
        pattern,
        folder: session.folder().map(str::to_owned),
    }
}

/// The rules that say which instructions of the folder are accepted.
fn rules(session: &Session) -> impl Iterator<Item = &Rule> {
    let here = |rule: &&Rule| {
        rule.tool == Rule::INSTRUCTIONS
            && rule.verdict == RuleVerdict::Allow
            && rule.folder.is_some()
            && rule.folder.as_deref() == session.folder()
    };
    session.rules().iter().filter(here)
}

fn has(rule: &Rule, entry: &str) -> bool {
    rule.pattern.split(", ").any(|accepted| accepted == entry)
}

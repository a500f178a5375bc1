//! The folder's own instructions become part of the prompt, so they are bound to what a person accepted: by trusting
//! the folder, by approving a change of such a file, or by being asked. What has changed since is asked about first;
//! where nobody can be asked, the request goes on without it.

use serde_json::{Map, json};
use trimtab_vocab::event::{BannerFact, CheckpointKind, Level, RuleFact, Status};
use trimtab_vocab::{ApprovalClass, Approve, FileWrite, InstructionFile, RequestId, Rule, RuleVerdict, names};

use super::answers::{self, Question, SKIP};
use crate::proposal::command::visible;
use crate::record::{About, Active, Session};
use crate::step::Step;

/// The answer that accepts instructions as they are now.
pub const USE: &str = "use";

/// Letters of a hash that a rule names.
const HASH: usize = 32;
/// Bytes of a changed file that a question shows.
const SHOWN: usize = 16 * 1024;

/// What of the instructions may be used; nothing if a person is asked first.
pub(super) fn settle(
    step: &mut Step<'_>,
    request: &RequestId,
    files: Vec<InstructionFile>,
) -> Option<Vec<InstructionFile>> {
    let active = step.session.active()?;
    let settings = &active.request.settings;
    if !settings.instructions_bound {
        return Some(files);
    }
    let offered = rule(step.session, &entries(&files));
    if !rules(step.session).any(|_| true) {
        // The person has trusted the folder as it is.
        step.say(Some(request), RuleFact::Added { rule: offered });
        return Some(files);
    }
    let is_accepted =
        |file: &InstructionFile| rules(step.session).any(|rule| has(rule, &entry(&file.path, &file.hash)));
    let (accepted, changed): (Vec<_>, Vec<_>) = files.into_iter().partition(is_accepted);
    let names: Vec<String> = changed.iter().map(|file| visible(&file.path)).collect();
    let is_asked = settings.attended && settings.approve == Approve::Ask;
    let is_declined = active.declined.as_ref() == Some(&offered.pattern);
    if changed.is_empty() || is_declined {
        return Some(accepted);
    }
    let names = names.join(", ");
    if !is_asked {
        let text = format!(
            "{names} changed since you accepted it as instructions. This request runs without it. Accept it in the \
             terminal or the browser, or pass --trust."
        );
        step.say(Some(request), BannerFact { level: Level::Warning, text });
        return Some(accepted);
    }
    ask(step, &names, &changed, offered);
    None
}

fn ask(step: &mut Step<'_>, names: &str, changed: &[InstructionFile], rule: Rule) {
    let shown = |file: &InstructionFile| {
        let text = visible(&file.text[..file.text.floor_char_boundary(SHOWN)]);
        json!({"path": file.path, "hash": file.hash, "text": text, "bytes": file.text.len()})
    };
    let texts: Vec<String> = changed.iter().map(|file| format!("{}:\n{}", visible(&file.path), file.text)).collect();
    let details = texts.join("\n\n");
    let mut body = Map::new();
    body.insert("class".into(), json!(ApprovalClass::Instructions));
    body.insert("files".into(), changed.iter().map(shown).collect());
    body.insert("details".into(), json!(visible(&details[..details.floor_char_boundary(SHOWN)])));
    body.insert("rule".into(), json!(rule));
    let question = Question {
        kind: CheckpointKind::Permission,
        about: About::Instructions,
        title: format!("{names} changed since you accepted it as instructions. Use it?"),
        choices: vec![answers::choice(USE, "Use it"), answers::choice(SKIP, "Continue without it")],
        body,
    };
    answers::ask(step, question, Status::NeedsUser);
}

/// A person has accepted instructions: what they had accepted before does not count any more.
pub(super) fn accepted(step: &mut Step<'_>, request: &RequestId, new: &Rule) {
    let old: Vec<Rule> = rules(step.session).filter(|rule| *rule != new).cloned().collect();
    for rule in old {
        step.say(Some(request), RuleFact::Removed { rule });
    }
}

/// A person has approved a change of files, and has seen it: instructions among them are accepted as they are now.
pub(super) fn approved(step: &mut Step<'_>, request: &RequestId, writes: &[FileWrite]) {
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
    step.say(Some(request), RuleFact::Added { rule: new });
}

/// Files of the folder that are read as instructions: the usual ones, then those that the settings name. A secret is
/// never sent because a setting says so.
pub(super) fn named(active: &Active) -> Vec<String> {
    let named = active.request.settings.context.files.iter().filter(|path| !names::has_secret(path));
    names::INSTRUCTIONS.into_iter().map(str::to_owned).chain(named.cloned()).collect()
}

/// The instructions as one text. The one file is often a copy of the other, or a link to it.
pub(super) fn joined(files: &[InstructionFile]) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for InstructionFile { path, text, .. } in files {
        let is_usual = names::INSTRUCTIONS.contains(&path.as_str());
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

fn entries(files: &[InstructionFile]) -> Vec<String> {
    files.iter().map(|file| entry(&file.path, &file.hash)).collect()
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

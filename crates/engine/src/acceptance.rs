//! Skills and agents of a folder are bound to the version that the user accepted, by a rule. Other versions are not even
//! named to the model. When the user calls one by its name, its text is shown and asked about.

use trimtab_vocab::checkpoint::{Ask, ChangedInstructions};
use trimtab_vocab::event::Status;
use trimtab_vocab::wording::{AnswerLabel, InstructionsState, QuestionTitle};
use trimtab_vocab::{ApprovalClass, Approve, BoundFile, ListedAgent, ListedSkill, Rule, RuleVerdict};

use crate::proposal::command::visible;
use crate::questions::{self, CheckpointDraft, choice};
use crate::record::Session;
use crate::record::names::choice::{SKIP, USE};
use crate::transition::Transition;

/// A version of a file that may have to be accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundVersion<'a> {
    kind: BoundFile,
    /// It is the folder's; the user's own needs nobody's acceptance.
    project: bool,
    path: &'a str,
    hash: &'a str,
}

impl<'a> From<&'a ListedSkill> for BoundVersion<'a> {
    fn from(skill: &'a ListedSkill) -> Self {
        Self { kind: BoundFile::Skill, project: skill.project, path: &skill.path, hash: &skill.hash }
    }
}

impl<'a> From<&'a ListedAgent> for BoundVersion<'a> {
    fn from(agent: &'a ListedAgent) -> Self {
        Self { kind: BoundFile::Agent, project: agent.project, path: &agent.path, hash: &agent.hash }
    }
}

/// Whether this version may be used.
pub(crate) fn is_accepted<'a>(session: &Session, version: impl Into<BoundVersion<'a>>) -> bool {
    let BoundVersion { kind, project, path, hash } = version.into();
    let is_bound = session.active().is_none_or(|active| active.request.settings.trust.instructions_bound);
    let rule = session.rules_folder().map(|folder| Rule::bound(kind, folder, path, hash));
    !project || !is_bound || rule.is_some_and(|rule| session.rules().contains(&rule))
}

/// What became of the wish to use a version that is not accepted.
pub(crate) enum Acceptance {
    /// The user is asked, and the request waits.
    Asked,
    /// The user has said no to it.
    Declined(InstructionsState),
    /// Nobody can be asked.
    Unattended(InstructionsState),
}

/// Asks about a version, with its whole text.
pub(crate) fn ask<'a>(
    step: &mut Transition<'_>,
    version: impl Into<BoundVersion<'a>>,
    text: &str,
) -> Option<Acceptance> {
    let BoundVersion { kind, path, hash, .. } = version.into();
    let (active, folder) = (step.session.active()?, step.session.rules_folder()?);
    let rule = Rule::bound(kind, folder, path, hash);
    let is_known = step.session.rules().iter().any(|known| is_about(known, &rule.tool, folder, path));
    let state = match (kind, is_known) {
        (BoundFile::Skill, true) => InstructionsState::ChangedSkill(visible(path)),
        (BoundFile::Skill, false) => InstructionsState::NewSkill(visible(path)),
        (BoundFile::Agent, true) => InstructionsState::ChangedAgent(visible(path)),
        (BoundFile::Agent, false) => InstructionsState::NewAgent(visible(path)),
    };
    if active.trust.declined.contains(&rule.pattern) {
        return Some(Acceptance::Declined(state));
    }
    let settings = &active.request.settings;
    if !settings.attended || settings.approve != Approve::Ask {
        return Some(Acceptance::Unattended(state));
    }
    let shown = ChangedInstructions {
        path: path.to_owned(),
        hash: hash.to_owned(),
        text: visible(text),
        bytes: text.len() as u64,
    };
    let question = CheckpointDraft {
        ask: Ask::Instructions {
            class: Some(ApprovalClass::Instructions),
            details: format!("{}:\n{}", visible(path), shown.text),
            files: vec![shown],
            rule: Some(rule),
        },
        title: QuestionTitle::Instructions(state),
        choices: vec![choice(USE, AnswerLabel::UseIt), choice(SKIP, AnswerLabel::ContinueWithoutIt)],
    };
    questions::ask(step, question, Status::NeedsUser);
    Some(Acceptance::Asked)
}

/// Whether a rule accepts some version of this file.
fn is_about(rule: &Rule, tool: &str, folder: &str, path: &str) -> bool {
    rule.tool == tool
        && rule.verdict == RuleVerdict::Allow
        && rule.folder.as_deref() == Some(folder)
        && rule.pattern.rsplit_once('@').is_some_and(|(accepted, _)| accepted == path)
}

/// The rules about other versions of the same file.
pub(crate) fn other_versions(session: &Session, new: &Rule) -> Vec<Rule> {
    let Some(((path, _), folder)) = new.pattern.rsplit_once('@').zip(new.folder.as_deref()) else { return Vec::new() };
    let is_other = |rule: &&Rule| *rule != new && is_about(rule, &new.tool, folder, path);
    session.rules().iter().filter(is_other).cloned().collect()
}

//! What a person does with the product's own rules and no model: apply an edit, judge a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use trimtab_engine::proposal::command::{self, CommandDecision, CommandVerdict};
use trimtab_engine::proposal::compare::{self, LineStats};
use trimtab_engine::proposal::edit::Edit;
use trimtab_vocab::event::ChangedFile;
use trimtab_vocab::{ChangeSetId, CommandClass, FileSet, FileState, FileWrite, Rule, RuleVerdict};

use crate::config::Profile;
use crate::prepare::{BeforeAfter, edit_files, unfit};
use crate::workspace::{LocalWorkspace, Workspace};

/// Applies one edit to a folder, exactly or not at all; a sentence when it cannot be. With `dry`, only
/// says what it would do.
pub async fn apply_edit(folder: &str, edit: &Edit, dry: bool) -> Result<Vec<ChangedFile>, String> {
    let hands = LocalWorkspace::new(std::env::vars_os(), &[]);
    let pairs = edit_files(&hands, folder, edit, &BTreeMap::new()).await.map_err(|unedited| unedited.reason)?;
    if let Some(reason) = pairs.iter().find_map(|pair| unfit(&pair.path, pair.before.is_some())) {
        return Err(reason);
    }
    let (mut contents, mut writes) = (BTreeMap::new(), Vec::new());
    for BeforeAfter { path, before, after, mode } in pairs {
        let before = before.map(|(bytes, _)| bytes);
        let (_, LineStats { added, removed, modified }) = compare::patch(&path, before.as_deref(), after.as_deref());
        let mut keep = |bytes: Vec<u8>| {
            let hash = trimtab_world::store::hash(&bytes);
            contents.insert(hash.clone(), bytes);
            FileState { hash, mode }
        };
        let (before, after) = (before.map(&mut keep), after.map(&mut keep));
        writes.push(FileWrite { path, before, after, added, removed, modified });
    }
    let files: Vec<ChangedFile> = writes.iter().map(ChangedFile::from).collect();
    let state = writes.iter().find_map(|write| write.after.as_ref().or(write.before.as_ref()));
    let name = state.map_or("nothing", |state| &state.hash[..16]);
    let change_set: ChangeSetId = format!("edit-{name}").parse().map_err(|_| "The change has no name.".to_owned())?;
    let set = FileSet { change_set, folder: folder.to_owned(), writes };
    let plan = trimtab_engine::user_initiated(set)?;
    if !dry {
        hands.write(&plan, Arc::new(contents)).await?;
    }
    Ok(files)
}

/// What the policy would do with a command in a folder, and how it would run.
#[derive(Debug, Clone, Serialize)]
pub struct CommandCheck {
    /// The decision, with its reason and rule.
    #[serde(flatten)]
    pub verdict: CommandVerdict,
    /// What it needs, if it runs without a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<CommandClass>,
    /// What the sandbox keeps it from, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<&'static str>,
    /// The line that runs instead, where globs are spelled so that none becomes an option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
}

impl From<CommandVerdict> for CommandCheck {
    fn from(verdict: CommandVerdict) -> Self {
        let class = (verdict.decision == CommandDecision::Auto).then_some(verdict.class);
        let fence = class.map(|class| match class {
            CommandClass::Read => "read-only, no secrets, no network",
            CommandClass::Check => "writes in the folder under a snapshot, no secrets, no network",
        });
        Self { class, fence, runs: verdict.rewritten.clone().filter(|_| class.is_some()), verdict }
    }
}

/// Decides on a command as a session in this folder would. `allow`: the beginnings that may run automatically, instead
/// of those in force.
pub fn check_command(
    profile: &Profile,
    rules: &[Rule],
    folder: &str,
    line: &str,
    allow: Option<Vec<String>>,
) -> CommandCheck {
    let replaced = allow.is_some();
    let mut policy = trimtab_engine::command_policy(&profile.command_settings(), rules, folder);
    match allow {
        Some(allow) => policy = policy.only(allow),
        None => policy.allow.extend(trimtab_engine::command_prefixes(rules, Some(folder), RuleVerdict::Allow)),
    }
    let mut verdict = command::judge(line, &policy);
    if verdict.decision == CommandDecision::Auto
        && let Some(reason) = crate::links::leads_out(line, folder)
    {
        verdict = CommandVerdict { decision: CommandDecision::Ask, reason, rule: None, ..verdict };
    }
    // Rules about this very command: a no counts over everything, a yes over a question.
    let exact = |wanted: RuleVerdict| {
        rules.iter().find(|rule| rule.verdict == wanted && rule.covers("run_command", line.trim(), Some(folder)))
    };
    let by = |decision, rule: &Rule| {
        let reason = format!("your rule decides: {rule}");
        CommandCheck::from(CommandVerdict { decision, reason, rule: Some(rule.to_string()), ..verdict.clone() })
    };
    if let Some(rule) = exact(RuleVerdict::Deny) {
        return by(CommandDecision::Deny, rule);
    }
    // A rule does not cover what deletes, unless a setting says so.
    let is_once = !profile.hands.remember_deletes && command::deletes(line);
    let covers = |rule: &&Rule| !is_once && (!rule.pattern.ends_with('*') || rule.pattern == "*");
    match exact(RuleVerdict::Allow).filter(covers) {
        Some(rule) if verdict.decision == CommandDecision::Ask && !replaced && exact(RuleVerdict::Ask).is_none() => {
            by(CommandDecision::Auto, rule)
        }
        _ => verdict.into(),
    }
}

/// What is certain of a saved model answer, and whether that is anything.
pub fn recover(bytes: &[u8]) -> (serde_json::Value, bool) {
    let recovered =
        trimtab_engine::proposal::recover::recover(bytes, trimtab_engine::proposal::recover::ReplyStop::Unknown);
    (recovered.report(), recovered.found)
}

//! What a person does with the product's own rules and no model: apply an edit, judge a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use trimtab_engine::proposal::command::{CommandDecision, CommandVerdict};
use trimtab_engine::proposal::edit::Edit;
use trimtab_vocab::event::ChangedFile;
use trimtab_vocab::{ChangeSetId, CommandClass, FileSet, Rule, RuleVerdict};

use crate::config::Profile;
use crate::prepare::{compare_all, edit_files};
use crate::workspace::{LocalWorkspace, Workspace};

/// Applies one edit, given as JSON, to a folder: exactly or not at all. A sentence when it cannot be. With `dry`, only
/// says what it would do.
pub async fn apply_edit(folder: &str, json: &[u8], dry: bool) -> Result<Vec<ChangedFile>, String> {
    // Some editors put a mark before everything they write.
    let json = json.strip_prefix("\u{feff}".as_bytes()).unwrap_or(json);
    let edit: Edit = serde_json::from_slice(json).map_err(|error| format!("This is not an edit: {error}."))?;
    let hands = LocalWorkspace::new(std::env::vars_os(), &[]);
    let pairs = edit_files(&hands, folder, &edit, &BTreeMap::new()).await.map_err(|unedited| unedited.reason)?;
    let (mut contents, mut writes) = (BTreeMap::new(), Vec::new());
    for file in compare_all(pairs)? {
        contents.extend(file.contents);
        writes.push(file.write);
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
    let mut settings = profile.command_settings();
    let mut rules = rules.to_vec();
    if allow.is_some() {
        settings.commands_allowed = allow;
        rules.retain(|rule| rule.verdict != RuleVerdict::Allow);
    }
    let verdict = trimtab_engine::explain(&settings, &rules, folder, line);
    // A rule about this very command was made for what it does, wherever a link leads.
    let is_named = verdict.rule.as_deref().is_some_and(|rule| rule.contains(line.trim()));
    match crate::links::leads_out(line, folder) {
        Some(reason) if verdict.decision == CommandDecision::Auto && !is_named => {
            CommandVerdict { decision: CommandDecision::Ask, reason, rule: None, ..verdict }.into()
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

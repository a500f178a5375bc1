//! Commands that use the product's rules without a model: apply an edit, check a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use trimtab_engine::proposal::command::CommandDecision;
use trimtab_engine::proposal::edit::Edit;
use trimtab_vocab::event::ChangedFile;
use trimtab_vocab::{ChangeSetId, CommandClass, FileSet, HostPolicy, NetworkAccess, Rule, RuleVerdict, Sandbox};

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

/// How a session in a folder treats a command, and how it runs there.
#[derive(Debug, Clone, Serialize)]
pub struct CommandCheck {
    /// Whether it runs, asks, or is refused.
    pub decision: CommandDecision,
    pub reason: String,
    /// The rule that decided, if one did.
    pub rule: Option<String>,
    /// What a safe command needs. It may still need an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<CommandClass>,
    /// The restrictions of the sandbox, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<&'static str>,
    /// The line that runs instead, where globs are spelled so that none becomes an option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// Hosts that rules and settings speak of, for a command that can reach some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<HostPolicy>,
}

/// Decides on a command as a session in this folder would. `allow`: the beginnings that the user's rules allow, instead
/// of the rules and settings in force.
pub fn check_command(
    profile: &Profile,
    rules: &[Rule],
    folder: &str,
    line: &str,
    allow: Option<Vec<String>>,
) -> CommandCheck {
    let mut settings = profile.command_settings();
    let mut rules = rules.to_vec();
    if let Some(allow) = allow {
        settings.commands.allowed = Some(Vec::new());
        rules.retain(|rule| rule.verdict != RuleVerdict::Allow);
        rules.extend(allow.iter().map(|prefix| Rule {
            verdict: RuleVerdict::Allow,
            tool: "run_command".to_owned(),
            pattern: format!("{prefix} *"),
            folder: None,
        }));
    }
    let ruling = trimtab_engine::check_command(&settings, &rules, folder, line);
    let is_fenced = ruling.is_fenced();
    let led_out = is_fenced.then(|| crate::links::leads_out(line, folder)).flatten();
    let trimtab_engine::CommandRuling { mut decision, reason, mut rule, verdict, .. } = ruling;
    let mut reason = reason.to_string();
    if let Some(why) = led_out {
        (decision, reason, rule) = (CommandDecision::Ask, why, None);
    }
    let hosts = trimtab_engine::check_hosts(&settings, &rules, folder);
    let runs_fenced = is_fenced && decision == CommandDecision::Auto;
    let only_reads = runs_fenced && verdict.class == CommandClass::Read;
    let is_reaching = settings.commands.sandbox != Sandbox::Off && hosts.access != NetworkAccess::Off && !only_reads;
    let network = (is_reaching && decision != CommandDecision::Deny).then_some(hosts);
    let fence = runs_fenced.then_some(match verdict.class {
        CommandClass::Read => "read-only, no secrets, no network",
        CommandClass::Check if network.is_none() => "writes in the folder under a snapshot, no secrets, no network",
        CommandClass::Check => "writes in the folder under a snapshot, no secrets, allowed hosts only",
    });
    let class = (verdict.decision == CommandDecision::Auto || runs_fenced).then_some(verdict.class);
    CommandCheck {
        decision,
        reason,
        rule,
        class,
        fence,
        runs: verdict.rewritten.filter(|_| runs_fenced),
        network: network.filter(has_rules),
    }
}

/// Whether there is more to say than that a host that is not known asks.
fn has_rules(hosts: &HostPolicy) -> bool {
    *hosts != HostPolicy { access: NetworkAccess::Ask, ..HostPolicy::default() }
}

/// What still asks although a new rule seems to allow it; none if the rule has its full effect.
pub fn unanswered_by(profile: &Profile, rule: &Rule) -> Option<String> {
    trimtab_engine::unanswered_by(rule, &profile.command_settings()).map(String::from)
}

/// The certain parts of a saved model answer, and whether there are any.
pub fn recover(bytes: &[u8]) -> (serde_json::Value, bool) {
    let recovered =
        trimtab_engine::proposal::recover::recover(bytes, trimtab_engine::proposal::recover::ReplyStop::Unknown);
    (recovered.report(), recovered.found)
}

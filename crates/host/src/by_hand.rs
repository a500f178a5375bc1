//! What a person does with the product's own rules and no model: apply an edit, judge a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use trimtab_engine::proposal::command::{self, Decision, Policy, Verdict};
use trimtab_engine::proposal::compare::{self, Stats};
use trimtab_engine::proposal::edit::Edit;
use trimtab_vocab::event::ChangedFile;
use trimtab_vocab::{ChangeSetId, FileSet, FileState, FileWrite, Rule, RuleVerdict, Sandbox};

use crate::config::Profile;
use crate::hands::{Hands, RealHands};
use crate::prepare::{Pair, edit_files, unfit};

/// Applies one edit to a folder, exactly or not at all; a sentence when it cannot be. With `dry`, only
/// says what it would do.
pub async fn apply_edit(folder: &str, edit: &Edit, dry: bool) -> Result<Vec<ChangedFile>, String> {
    let hands = RealHands::new(std::env::vars_os(), &[]);
    let pairs = edit_files(&hands, folder, edit, None).await.map_err(|unedited| unedited.reason)?;
    if let Some(reason) = pairs.iter().find_map(|pair| unfit(&pair.path, pair.before.is_some())) {
        return Err(reason);
    }
    let (mut contents, mut writes) = (BTreeMap::new(), Vec::new());
    for Pair { path, before, after, mode } in pairs {
        let before = before.map(|(bytes, _)| bytes);
        let (_, Stats { added, removed, modified }) = compare::patch(&path, before.as_deref(), after.as_deref());
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
    let plan = trimtab_engine::by_hand(set)?;
    if !dry {
        hands.write(&plan, Arc::new(contents)).await?;
    }
    Ok(files)
}

/// What the policy would do with a command in a folder. `allow`: the beginnings that may run by
/// themselves, instead of those in force.
pub fn check_command(
    profile: &Profile,
    rules: &[Rule],
    folder: &str,
    line: &str,
    allow: Option<Vec<String>>,
) -> Verdict {
    let hands = &profile.hands;
    let mut policy = Policy::new(folder, hands.machine.home.clone());
    let stems = |verdict: RuleVerdict| trimtab_engine::command_prefixes(rules, Some(folder), verdict);
    let replaced = allow.is_some();
    match (allow, &hands.allow) {
        (Some(allow), _) => policy = policy.only(allow),
        (None, set) => {
            if let Some(set) = set {
                policy = policy.only(set.clone());
            }
            policy.allow.extend(stems(RuleVerdict::Allow));
        }
    }
    policy.ask = stems(RuleVerdict::Ask);
    policy.ask.extend(hands.ask.iter().cloned());
    policy.deny = stems(RuleVerdict::Deny);
    policy.deny.extend(hands.deny.iter().cloned());
    policy.plain = hands.plain_prefix;
    policy.own.extend(hands.machine.own.iter().cloned());
    policy.ports.extend(profile.own_ports());
    policy.sandboxed = hands.sandbox != Sandbox::Off;
    let mut verdict = command::judge(line, &policy);
    if verdict.decision == Decision::Auto
        && let Some(reason) = crate::links::leads_out(line, folder)
    {
        verdict = Verdict { decision: Decision::Ask, reason, rule: None, ..verdict };
    }
    // Rules about this very command: a no counts over everything, a yes over a question.
    let exact = |wanted: RuleVerdict| {
        rules.iter().find(|rule| rule.verdict == wanted && rule.covers("run_command", line.trim(), Some(folder)))
    };
    let by = |decision, rule: &Rule| Verdict {
        decision,
        reason: format!("the rule says so: {rule}"),
        rule: Some(rule.to_string()),
        ..verdict.clone()
    };
    if let Some(rule) = exact(RuleVerdict::Deny) {
        return by(Decision::Deny, rule);
    }
    // A rule does not cover what deletes, unless a setting says so.
    let is_once = !hands.remember_deletes && command::deletes(line);
    let covers = |rule: &&Rule| !is_once && (!rule.pattern.ends_with('*') || rule.pattern == "*");
    match exact(RuleVerdict::Allow).filter(covers) {
        Some(rule) if verdict.decision == Decision::Ask && !replaced && exact(RuleVerdict::Ask).is_none() => {
            by(Decision::Auto, rule)
        }
        _ => verdict,
    }
}

/// What is certain of a saved model answer, and whether that is anything.
pub fn recover(bytes: &[u8]) -> (serde_json::Value, bool) {
    let recovered = trimtab_engine::proposal::recover::recover(bytes, trimtab_engine::proposal::recover::Stop::Unknown);
    (recovered.report(), recovered.found)
}

//! The permission prompt: its title, its answers, why it is asked, and the lines around it. Every surface, the wire and
//! the browser have their words from this file; `docs/howto/change-the-permission-prompt.md` says what follows from a
//! change.

use std::fmt::Display;

use serde::Serialize;

use super::{CommandReason, sentences};
use crate::{ControlFile, FileWrite, Sandbox, Visible, format};

sentences! {
    /// What is asked.
    pub enum PermissionTitle {
        Run(command: String) => "Run this command? {command}",
        Check(command: String) => "Run this check after the edits? {command}",
        RunOutside(command: String) => "Run this command outside the sandbox? {command}",
        Fetch(host: String, url: String) => "Fetch this page from {host}? {url}",
        SearchWeb(service: String, query: String) => "Search the web with {service}? {query}",
        Delete(files: NamedFiles) => "Delete {files}?",
        Move(from: String, to: String) => "Move {from} to {to}?",
        Save(count: usize, folder: String) => "Save {count} images in {folder}?",
        Create(files: NamedFiles) => "Create {files}?",
        Change(files: NamedFiles) => "Change {files}?",
        ChangeAndDelete(files: NamedFiles, deleted: NamedFiles) => "Change {files}, and delete {deleted}?",
        Read(path: String) => "Let the model see {path}?",
        CallServer(tool: String) => "Call {tool}?",
        Use(tool: String) => "Use {tool}?",
    }
}

impl PermissionTitle {
    /// The title for these changes of files. Every file that would be deleted is named, up to a line of them.
    pub fn for_writes(writes: &[FileWrite]) -> Option<Self> {
        let names = |wanted: &dyn Fn(&FileWrite) -> bool, named: usize| {
            NamedFiles::new(writes.iter().filter(|write| wanted(write)).map(|write| write.path.as_str()), named)
        };
        let deleted = names(&|write| write.after.is_none(), DELETED_NAMED);
        let kept = names(&|write| write.after.is_some(), 1);
        let is_new = writes.iter().all(|write| write.before.is_none());
        Some(match (kept, deleted) {
            (None, None) => return None,
            (None, Some(deleted)) => Self::Delete(deleted),
            (Some(kept), Some(deleted)) => Self::ChangeAndDelete(kept, deleted),
            (Some(kept), None) if is_new => Self::Create(kept),
            (Some(kept), None) => Self::Change(kept),
        })
    }
}

/// How many files that would be deleted a title names.
const DELETED_NAMED: usize = 4;

/// Files in a title: some by their names, the others counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFiles(Vec<String>);

impl NamedFiles {
    /// The first `named` of these paths by name; none if there is no path.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>, named: usize) -> Option<Self> {
        Self::with_more(paths, named, 0)
    }

    /// The same, with `more` paths that are only counted.
    pub fn with_more<'a>(paths: impl IntoIterator<Item = &'a str>, named: usize, more: u64) -> Option<Self> {
        let mut paths = paths.into_iter();
        let mut parts: Vec<String> = paths.by_ref().take(named).map(file_name).collect();
        let more = more.saturating_add(paths.count() as u64);
        if more > 0 {
            parts.push(format::Plural::new(more, "more file").to_string());
        }
        (!parts.is_empty()).then_some(Self(parts))
    }
}

/// A path that is shown as one, whatever a program has called its files.
fn file_name(path: &str) -> String {
    let shown = Visible::line(path).to_string();
    if shown.contains([',', ';', '"']) { format!("{shown:?}") } else { shown }
}

impl From<&str> for NamedFiles {
    fn from(path: &str) -> Self {
        Self(vec![file_name(path)])
    }
}

impl Display for NamedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format::list(&self.0))
    }
}

sentences! {
    /// The answers. The four long ones are documented word for word.
    pub enum PermissionLabel {
        AllowOnce => "Allow this time",
        AllowAlways => "Always allow",
        Wait(assistant: String) => "Wait and tell {assistant} what to do differently",
        Never => "Never allow",
        RunOnce => "Run Once",
        AddAndRun => "Add & Run",
        Skip => "Skip",
        AlwaysPrefix(pattern: String) => "Always allow {pattern}",
        AlwaysEverywhere => "Always allow everywhere",
        AlwaysPrefixEverywhere(pattern: String) => "Always allow {pattern} everywhere",
    }
}

sentences! {
    /// What the rule of an answer covers.
    pub enum RuleCoverage {
        Exact => "This exact command, in this folder.",
        ExactEverywhere => "This exact command, in every folder that you trust.",
        Prefix(stem: String) =>
            "`{stem}` in this folder with any arguments that Trimtab knows to be safe. Other arguments still ask.",
        PrefixEverywhere(stem: String) =>
            "`{stem}` in every folder that you trust with any arguments that Trimtab knows to be safe. Other arguments still ask.",
        Plain(stem: String) =>
            "`{stem}` in this folder with any arguments that stay in the folder (`permissions.plain_prefix`).",
        PlainEverywhere(stem: String) =>
            "`{stem}` in every folder that you trust with any arguments that stay in the folder (`permissions.plain_prefix`).",
    }
}

sentences! {
    /// Why it is asked, as it follows "Reason:".
    pub enum PermissionReason {
        Command(reason: CommandReason) => "{reason}",
        RuleDenies(rule: String) => "your rule denies it: {rule}",
        RuleAsks(rule: String) => "your rule asks: {rule}",
        RuleAllows(rule: String) => "your rule allows it: {rule}",
        CarefulCommands => "autonomy is careful, so every command asks",
        CarefulEdits => "autonomy is careful, so edits need approval",
        HeldBySandbox => "autonomy is trusting, and the sandbox and undo cover it",
        CheckHeld => "it is one of your checks (`checks.mode = \"on\"`), and the sandbox and undo cover it",
        CheckAsks => "it is a check, and checks ask (`checks.mode = \"ask\"`)",
        OnlyProposed => "the answer only proposes it",
        ChecksNeedApproval => "it can change files (`apply.commands = \"ask\"`)",
        EditsNeedApproval => "edits need approval. Set `apply.files = \"auto\"` to apply them automatically",
        NewHost(host: String) => "{host} is a new host",
        NewHostNear(host: String, place: String) => "{host} is a new host, and is in {place}",
        SearchesWeb(service: String) => "the search terms are sent to {service}",
        CallsServer(server: String) =>
            "it calls the MCP server {server}, and effects outside the folder cannot be undone",
        Destructive(server: String) =>
            "the MCP server {server} says that it may destroy something, and effects outside the folder cannot be undone",
        LeavesSandbox(reason: String) => "it would run outside the sandbox. The model says: {reason}",
        Deletes => "it would delete a file",
        DeletesUnread => "it would delete a file that the model has not read",
        DeletesOrEmpties => "it would delete or empty a file",
        ReplacesUnread => "it would replace a file that the model has not read",
        CutOff => "it comes from a reply that was cut off",
        Unsaved(path: String) => "{path} has unsaved changes in your editor",
        DropsMost(path: String, lost: u32, lines: u32) => "it would drop {lost} of the {lines} lines of {path}",
        Unasked => "the request does not ask for file changes",
        WrittenAsText => "the model wrote it as text, and the request does not clearly ask for it",
        Repaired => "it comes from a damaged answer that had to be repaired",
        MergedByModel => "a model merged changes that conflicted",
        UnknownModel(model: String) =>
            "{model} is not in the catalog, so its edits need approval. Set `apply.files = \"auto\"`, or describe the model in models.toml",
        BackgroundWrites =>
            "it can change files for as long as it runs in the background, and undo covers them only when it ends",
        StoppedWriting => "it was stopped when it tried to write",
        Unprotected(problem: String) => "{problem}",
        Secret => "it usually holds keys or passwords",
        Hidden => "programs read hidden files of this folder when they start",
        OwnFiles => "Files in .trimtab are the user's own settings; they cannot be changed from here.",
        OwnSettings => "it holds Trimtab's own settings",
        Versions => "it belongs to version control, which runs programs from there",
        Instructions => "models follow the instructions in it",
        Agent => "other agents follow it",
        Editor => "editors run what it says",
        Pipeline => "continuous integration runs what it says",
        Hooks => "git hooks run what it says",
        Packages => "package managers and build tools run what it says",
        Shell => "shells run what it says when they start",
        Program => "other programs start it",
        HookAsks(command: String, reason: String) => "the hook `{command}` asks for your approval: {reason}",
        HookFailed(command: String, reason: String) => "the hook `{command}` failed: {reason}",
        HookChanged(command: String) => "the project's hook `{command}` changed the arguments of this call",
    }
}

impl From<ControlFile> for PermissionReason {
    fn from(control: ControlFile) -> Self {
        match control {
            ControlFile::Own => Self::OwnSettings,
            ControlFile::Versions => Self::Versions,
            ControlFile::Instructions => Self::Instructions,
            ControlFile::Agent => Self::Agent,
            ControlFile::Editor => Self::Editor,
            ControlFile::Pipeline => Self::Pipeline,
            ControlFile::Hooks => Self::Hooks,
            ControlFile::Packages => Self::Packages,
            ControlFile::Shell => Self::Shell,
            ControlFile::Program => Self::Program,
        }
    }
}

sentences! {
    /// Why it is not even asked. The model reads it, and the person on the line of the call.
    pub enum Refusal {
        Forbidden(rule: String) => "Blocked by the user's rule ({rule}). Do not try it again.",
        NeverRun(reason: PermissionReason) => "This command is never run: {reason}.",
        PlanMode => "This is plan mode: nothing is changed or run. Say what you would do.",
        OwnFiles => "Files in .trimtab are the user's own settings; they cannot be changed from here.",
        Denied => "The user does not allow this. Do not try it again; choose another way or ask.",
        Unread(path: String) =>
            "{path} was not replaced: it exists, and you have not read it. Read it first, or edit it.",
        HookBlocked(reason: String) => "Blocked by a hook: {reason}",
        HookFailed(command: String, reason: String) =>
            "Not run: the hook `{command}`, which checks this call, failed ({reason}). This run cannot ask the user. Do not try it again.",
        NeedsPerson => "It would run outside the sandbox, which only a person can allow.",
        ThroughLink(path: String, real: String) =>
            "{path} leads to {real} through a link. Name that file by its own path.",
    }
}

/// The rule that a result names, if a rule of the person has refused the call.
pub fn forbidding_rule(result: &str) -> Option<&str> {
    let sentence = Refusal::Forbidden("\0".into()).to_string();
    let (before, after) = sentence.split_once('\0')?;
    let rest = result.strip_prefix(before).or_else(|| result.strip_prefix(LINES.forbidden_before))?;
    Some(rest.rsplit_once(after).map_or(rest, |(rule, _)| rule))
}

/// The lines around the question. The browser has them as `web/src/lib/permission.json`, which a test writes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "each has its sentence below")]
pub struct PermissionLines {
    pub because: &'static str,
    /// Where a command would run, by its sandbox.
    pub workspace: &'static str,
    pub read_only: &'static str,
    pub off: &'static str,
    pub terminal: &'static str,
    pub edited_from: &'static str,
    pub longer_limit: &'static str,
    pub checked_again: &'static str,
    pub edit: &'static str,
    pub rule_of_always: &'static str,
    pub adds_rule: &'static str,
    pub add_rule: &'static str,
    /// Above the rules to choose from, where an answer can add one of several.
    pub which_rule: &'static str,
    pub back: &'static str,
    /// Below the question whether a folder is trusted, because the call that asks for a file may stand above it.
    pub unread: &'static str,
    /// What the model reads of a call that was refused, so that the browser can show it in other words.
    pub denied: &'static str,
    pub forbidden: &'static str,
    /// How that sentence began in 0.1, whose logs have it.
    pub forbidden_before: &'static str,
    pub plan_mode: &'static str,
}

/// Each has at most one value in it, which stands between braces.
pub const LINES: PermissionLines = PermissionLines {
    because: "Reason: {reason}.",
    workspace: "Runs in {cwd}. Can write only there, and reach only allowed hosts",
    read_only: "Runs in {cwd}. Can write nothing, and reach only allowed hosts",
    off: "Runs in {cwd} without a sandbox",
    terminal: ", with a terminal that has no input",
    edited_from: "You edited the command. The model asked for: {command}",
    longer_limit: "The model asks for a time limit of {seconds} s, more than the default.",
    checked_again: "Edited commands are checked again before they run.",
    edit: "Edit before running",
    rule_of_always: "`always` would add this rule: {rule}",
    adds_rule: "This adds a rule: {rule}",
    add_rule: "Add this rule",
    which_rule: "Which rule do you want to add?",
    back: "Go back",
    unread: "Trimtab reads no files there until you answer.",
    denied: "The user does not allow this. Do not try it again; choose another way or ask.",
    forbidden: "Blocked by the user's rule ({rule}). Do not try it again.",
    forbidden_before: "The user has forbidden this once and for all (",
    plan_mode: "This is plan mode: nothing is changed or run. Say what you would do.",
};

fn filled(line: &str, value: &impl Display) -> String {
    let (before, rest) = line.split_once('{').unwrap_or((line, "}"));
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    format!("{before}{value}{after}")
}

/// Why it is asked.
pub fn because(reason: &str) -> String {
    filled(LINES.because, &reason.trim_end_matches('.'))
}

/// The folder of a command, and what it can reach.
pub fn place(cwd: &str, sandbox: Sandbox, has_terminal: bool) -> String {
    let line = match sandbox {
        Sandbox::Workspace => LINES.workspace,
        Sandbox::ReadOnly => LINES.read_only,
        Sandbox::Off => LINES.off,
    };
    let terminal = if has_terminal { LINES.terminal } else { "" };
    format!("{}{terminal}.", filled(line, &cwd))
}

/// What the model had asked for.
pub fn edited_from(command: &str) -> String {
    filled(LINES.edited_from, &command)
}

/// The model wants more time.
pub fn longer_limit(seconds: u64) -> String {
    filled(LINES.longer_limit, &seconds)
}

/// What an answer for good comes to.
pub fn rule_of_always(rule: &str) -> String {
    filled(LINES.rule_of_always, &rule)
}

/// What is shown before an answer makes a rule.
pub fn adds_rule(rule: &str) -> String {
    filled(LINES.adds_rule, &rule)
}

/// What a command said that suggests it needs more than its sandbox allows.
pub fn sign_of_sandbox(sign: &str) -> String {
    format!("Its output: {sign}")
}

/// How a part of a change is allowed from a shell.
pub fn parts_by_shell(checkpoint: &impl Display, hunks: u32) -> [String; 2] {
    [
        format!(
            "The change has {}. `trimtab diff {checkpoint}` shows them with numbers.",
            crate::format::plural(hunks, "hunk")
        ),
        format!("To allow only some of them: `trimtab answer {checkpoint} allow --only PATH:HUNK`"),
    ]
}

/// Above the question, where a surface has a place for it.
pub const HEADING: &str = "Permission";
/// How another command is given from a shell.
pub const OTHER_COMMAND: &str = "To edit the command: `trimtab answer allow --text \"COMMAND\"`, or `e COMMAND` at the prompt. It is checked again before it runs.";
/// Above the box of a command that is edited.
pub const RUN_INSTEAD: &str = "Run this instead (edited commands are checked again before they run)";
/// Above the box of a rule that is edited.
pub const RULE_ALLOWS: &str = "The rule allows this (* stands for anything)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_recognizes_a_refused_call() {
        assert_eq!(LINES.denied, Refusal::Denied.to_string());
        assert_eq!(LINES.forbidden, Refusal::Forbidden("{rule}".into()).to_string());
        assert_eq!(LINES.plan_mode, Refusal::PlanMode.to_string());
    }

    #[test]
    fn a_line_has_its_value_unchanged() {
        assert_eq!(because("`{reason}` is new."), "Reason: `{reason}` is new.");
        assert_eq!(place("/p", Sandbox::Off, true), "Runs in /p without a sandbox, with a terminal that has no input.");
    }
}

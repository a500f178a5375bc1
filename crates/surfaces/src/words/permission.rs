//! The words around a permission: why it is asked, where a command would run, and what else a person can do. They take
//! plain values, so that no form of a question has to be known here. Its title, its answers and the reason itself come
//! with the event, because the documented contract fixes them.

use std::fmt::Display;

use trimtab_vocab::Sandbox;

/// Why it is asked.
pub(crate) fn because(reason: &str) -> String {
    format!("Asked because {}.", reason.trim_end_matches('.'))
}

/// The folder of a command, and what it can reach.
pub(crate) fn place(cwd: &str, sandbox: Sandbox, has_terminal: bool) -> String {
    let terminal = if has_terminal { ", with a terminal at which nobody types" } else { "" };
    let fence = match sandbox {
        Sandbox::Workspace => " and may write only there (sandbox: workspace, no network)",
        Sandbox::ReadOnly => " and may write nothing (sandbox: read-only, no network)",
        Sandbox::Off => " without a sandbox",
    };
    format!("It would run in {cwd}{fence}{terminal}.")
}

pub(crate) fn edited_from(command: &str) -> String {
    format!("You have edited it. The model had asked for: {command}")
}

/// What a command said that suggests it needs more than its sandbox allows.
pub(crate) fn sign_of_sandbox(sign: &str) -> String {
    format!("It said: {sign}")
}

pub(crate) fn longer_limit(seconds: u64) -> String {
    format!("The model asks for {seconds} s, more than the default.")
}

pub(crate) fn rule_of_always(rule: &str) -> String {
    format!("`always` would make this rule: {rule}")
}

/// How a part of a change is allowed from a shell.
pub(crate) fn parts_by_shell(checkpoint: &impl Display, hunks: u32) -> [String; 2] {
    [
        format!("It has {hunks} hunks; `trimtab diff {checkpoint}` shows them with their numbers."),
        format!("Only some of them: trimtab answer {checkpoint} allow --only PATH:HUNK"),
    ]
}

/// How another command is given from a shell.
pub(crate) const OTHER_COMMAND: &str =
    "Edit it: `allow --text \"COMMAND\"`, or `e COMMAND` at a prompt. It is checked again.";

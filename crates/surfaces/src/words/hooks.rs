//! Hooks in lines.

use trimtab_host::{HookStanding, Hooks, KnownHook};
use trimtab_vocab::{ListedHook, Rule};

use super::{command_line, one_line};

/// Shown if there are none.
pub(crate) const NONE: &str =
    "There are no hooks. Put your own into hooks.json beside config.toml (see `docs/guide/hooks.md`).";

/// All of them, a line each.
pub(crate) fn list(hooks: &Hooks, folder: &str, rules: &[Rule], trusted: bool) -> String {
    let mut lines: Vec<String> = hooks.known.iter().map(|hook| line(hook, hook.standing(folder, rules))).collect();
    if lines.is_empty() {
        lines.push(NONE.to_owned());
    }
    let is_pending = |hook: &KnownHook| hook.standing(folder, rules) == HookStanding::Pending;
    if hooks.known.iter().any(is_pending) {
        lines.push("`trimtab hooks enable NAME` shows a pending hook and approves it.".to_owned());
    }
    for ignored in &hooks.ignored {
        lines.push(one_line(&format!("Ignored in {}: {}", ignored.file.display(), ignored.problem)));
    }
    if !trusted {
        lines.push("The folder is not trusted, so Trimtab reads nothing in it (`trimtab trust`).".to_owned());
    }
    lines.join("\n")
}

fn line(hook: &KnownHook, standing: HookStanding) -> String {
    let listed = &hook.listed;
    let matcher = if listed.matcher.is_empty() { "*" } else { &listed.matcher };
    let command = command_line(&listed.command);
    let mut text =
        format!("{:<26} {:<8} {:<8} {:<12} {command}", hook.name, standing.name(), hook.source(), one_line(matcher));
    if let Some(problem) = &listed.problem {
        text.push_str(&format!("\n    It cannot be run, so it counts as failed: {}.", one_line(problem)));
    }
    text
}

/// What happens when it fails.
pub(crate) fn on_failure(hook: &ListedHook) -> &'static str {
    if hook.allows_on_failure { "allow" } else { "ask" }
}

/// Everything that an approval covers.
pub(crate) fn described(hook: &KnownHook) -> String {
    let ListedHook { event, matcher, command, timeout_s, files, .. } = &hook.listed;
    let matcher = if matcher.is_empty() { "*" } else { matcher };
    let mut lines = vec![
        format!("{} ({})", hook.name, hook.file.display()),
        format!("  event:      {}, for {}", event.name(), one_line(matcher)),
        format!("  command:    {}", command_line(command)),
        format!("  timeout:    {timeout_s} s"),
        format!("  on failure: {}", on_failure(&hook.listed)),
    ];
    for file in files {
        lines.push(format!("  file:       {}", one_line(file)));
    }
    let fence = match hook.listed.project {
        true => {
            "It runs in the sandbox. It cannot reach the network, and it can write in the folder only after a tool ran."
        }
        false => "It is your own hook. It runs outside the sandbox.",
    };
    lines.push(format!("  {fence}"));
    lines.join("\n")
}

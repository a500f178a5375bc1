//! Checks after edits, in lines.

use trimtab_host::{CheckStanding, Checks, KnownCheck};

use super::{command_line, one_line};

/// Shown if there are none.
pub(crate) const NONE: &str =
    "There are no checks for this folder. List your own in checks.commands (see `docs/guide/checks.md`).";

/// All of them, a line each, with the reason below.
pub(crate) fn list(checks: &Checks, standings: &[CheckStanding], trusted: bool) -> String {
    let mut lines = vec![format!("checks.mode = \"{}\"", checks.mode.name())];
    for (check, standing) in checks.known.iter().zip(standings) {
        let command = command_line(&check.listed.command);
        lines.push(format!("{:<12} {:<8} {command}", check.name, standing.name()));
        lines.extend(standing.reason().map(|reason| format!("    {reason}")));
    }
    if checks.known.is_empty() {
        lines.push(NONE.to_owned());
    }
    if standings.contains(&CheckStanding::Pending) {
        lines.push("`trimtab checks enable NAME` shows a pending check and approves it.".to_owned());
    }
    for ignored in &checks.ignored {
        lines.push(one_line(&format!("Ignored: {}", super::sanitize(ignored))));
    }
    if !trusted {
        lines.push("The folder is not trusted, so nothing of it is read (`trimtab trust`).".to_owned());
    }
    lines.join("\n")
}

/// Everything that an approval covers.
pub(crate) fn described(check: &KnownCheck) -> String {
    let mut lines = vec![
        format!("{} (.trimtab/config.toml)", check.name),
        format!("  command:    {}", command_line(&check.listed.command)),
    ];
    lines.extend(check.listed.files.iter().map(|file| format!("  file:       {}", one_line(file))));
    lines.push("  It runs after edits in this folder, in the sandbox. Undo covers what it changes.".to_owned());
    lines.join("\n")
}

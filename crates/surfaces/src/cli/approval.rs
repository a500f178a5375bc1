//! The question whether an extension of a folder may be used, after it was shown.

use std::io::IsTerminal as _;

use trimtab_vocab::{Problem, ProblemKind};

use super::keyboard;
use super::output::{note, print};

/// Asks whether to approve what was shown. `noun` is what it is, and `command` the command that enables it.
pub(super) async fn ask(noun: &str, command: &str, name: &str) -> Result<bool, Problem> {
    if !std::io::stdin().is_terminal() {
        let problem = format!("{name} is not approved: an approval needs a terminal.");
        return Err(Problem::new(ProblemKind::Usage, problem)
            .hint(format!("Read the lines above, then run `trimtab {command} enable {name} --yes`.")));
    }
    keyboard::discard();
    note(&format!("Approve this {noun} for this folder? [y/N]"));
    let answer = keyboard::line().await.unwrap_or_default();
    let is_approved = matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_approved {
        print(&format!("{name} stays off.\n"))?;
    }
    Ok(is_approved)
}

/// Reports that it is approved.
pub(super) fn report(name: &str, folder: &str) -> Result<(), Problem> {
    print(&format!(
        "Approved {name} as shown, for {folder}. It is pending again when the entry or a listed file changes.\n"
    ))
}

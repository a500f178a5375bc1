//! Read-only commands that the program runs because the user called for their output, such as the diff of a review. No model
//! has proposed them, and nobody is asked: the policy lets them run automatically, or they do not run.

use trimtab_vocab::wording::PermissionReason;
use trimtab_vocab::{CallId, CommandClass, CommandPlan, CommandRun, Rule, RunSettings, Sandbox};

use super::commands::{CommandCase, new_case};
use crate::proposal::command::{self, CommandDecision};

/// The plan for a line in this folder, in the fence of a command that only reads; or why the policy would ask or refuse.
pub fn read_command(
    settings: &RunSettings,
    rules: &[Rule],
    folder: &str,
    line: &str,
    call: CallId,
) -> Result<CommandPlan, PermissionReason> {
    // The user has called for it: only what is not known to be read-only, and their own rules, stand against it.
    let case = CommandCase { agreed: true, ..new_case(settings, rules, folder) };
    let ruling = case.judge(line);
    let is_read = ruling.decision == CommandDecision::Auto && ruling.verdict.class == CommandClass::Read;
    let (Some(permit), Some(argv)) = (ruling.permit.filter(|_| is_read), ruling.verdict.direct) else {
        return Err(ruling.reason);
    };
    let git_folders = ruling.verdict.git_folders;
    let plain_git = !git_folders.is_empty();
    let run = CommandRun {
        call,
        command: line.to_owned(),
        argv: if plain_git { command::shown_by_git(argv) } else { argv },
        cwd: folder.to_owned(),
        timeout_s: settings.commands.timeout_s,
        attended: false,
        archive: false,
        plain_git,
        git_folders,
        terminal: false,
        background: false,
        // A rule of the user that names exactly this line may lead out of the sandbox elsewhere, and never here.
        sandbox: Sandbox::ReadOnly,
        automatic: Some(CommandClass::Read),
        writes_repository: false,
        folder: folder.to_owned(),
        hosts: Vec::new(),
    };
    permit.command(run, Sandbox::ReadOnly).ok_or(ruling.reason)
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{CommandSettings, RuleVerdict};

    use super::*;

    fn plan(settings: &RunSettings, rules: &[Rule], line: &str) -> Result<CommandPlan, String> {
        let call = "review".parse().expect("an id");
        read_command(settings, rules, "/p", line, call).map_err(|reason| reason.to_string())
    }

    fn rule(verdict: RuleVerdict, pattern: &str) -> Rule {
        Rule { verdict, tool: "run_command".into(), pattern: pattern.into(), folder: None }
    }

    #[test]
    fn a_read_only_command_gets_the_fence_of_its_class_and_git_runs_nothing() {
        let plan = plan(&RunSettings::default(), &[], "git diff HEAD").expect("it only reads");
        let run = plan.run();
        assert_eq!(run.argv[..4], ["git", "diff", "--no-ext-diff", "--no-textconv"]);
        assert!(run.plain_git && run.automatic == Some(CommandClass::Read) && run.sandbox == Sandbox::ReadOnly);
    }

    #[test]
    fn what_would_ask_or_is_denied_does_not_run() {
        let usual = RunSettings::default();
        for line in
            ["git diff --ext-diff", "cargo test", "git diff $(x)", "git diff > out", "git push", "git -C / diff"]
        {
            assert!(plan(&usual, &[], line).is_err(), "{line}");
        }
        let denied = plan(&usual, &[rule(RuleVerdict::Deny, "git diff *")], "git diff HEAD");
        assert!(denied.is_err_and(|why| why.contains("git diff *")));
        assert!(plan(&usual, &[rule(RuleVerdict::Ask, "git diff *")], "git diff HEAD").is_err());
        let unfenced = CommandSettings { sandbox: Sandbox::Off, ..CommandSettings::default() };
        assert!(plan(&RunSettings { commands: unfenced, ..usual.clone() }, &[], "git diff HEAD").is_err());
        // A rule that allows it does not take the fence away.
        let allowed =
            plan(&usual, &[rule(RuleVerdict::Allow, "git diff HEAD")], "git diff HEAD").expect("it only reads");
        assert_eq!(allowed.run().automatic, Some(CommandClass::Read));
    }
}

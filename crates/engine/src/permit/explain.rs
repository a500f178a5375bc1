//! What the policy would do with a command, asked outside of any session.

use trimtab_vocab::event::{RuleFact, SessionFact};
use trimtab_vocab::{Applying, Approval, Request, Rule, RuleVerdict, RunSettings};

use super::{Permit, Prospect, Ruling, judge, judged_by_prefix, policy};
use crate::proposal::command::{self, CommandDecision, CommandVerdict};
use crate::record::{RunningRequest, Session};
use crate::turn::tools::ToolAction;

/// Decides on a command as a session in this folder would, by the same code. Whether commands that the policy allows
/// are asked about all the same (`apply.commands`) is not the policy's business.
pub fn explain(settings: &RunSettings, rules: &[Rule], folder: &str, line: &str) -> CommandVerdict {
    let mut session = Session::default();
    session.fold(None, &SessionFact::Opened { folder: folder.to_owned(), parent_session_id: None }.into());
    session.fold(None, &RuleFact::Known { rules: rules.to_vec() }.into());
    let settings = RunSettings { apply_commands: Applying::Auto, ..settings.clone() };
    let name = "check-command".parse().expect("letters and a dash make an id");
    let active = RunningRequest::new(Request::new(name, line.to_owned(), settings));
    let run = ToolAction::Run { command: line.to_owned(), timeout_s: None, outside: None, terminal: false };
    let verdict = command::judge(line, &policy(&session, &active));
    let by_rule = |decision, rule: String| {
        let reason = format!("your rule decides: {rule}");
        CommandVerdict { decision, reason, rule: Some(rule), ..verdict.clone() }
    };
    match judge(&session, &active, &run, Prospect::default()) {
        Ruling::Go(Permit { by: Approval::Rule { rule }, .. }) if verdict.decision != CommandDecision::Auto => {
            judged_by_prefix(&session, &active, line)
                .filter(|judged| judged.rule.as_ref() == Some(&rule))
                .unwrap_or_else(|| by_rule(CommandDecision::Auto, rule))
        }
        Ruling::Go(_) => verdict,
        Ruling::Ask { reason, .. } => {
            let rule = verdict.rule.clone().filter(|_| verdict.decision == CommandDecision::Ask);
            CommandVerdict { decision: CommandDecision::Ask, reason, rule, ..verdict }
        }
        Ruling::Refuse { .. } if verdict.decision == CommandDecision::Deny => verdict,
        Ruling::Refuse { reason } => {
            let denies = |rule: &&Rule| {
                rule.verdict == RuleVerdict::Deny && rule.covers("run_command", line.trim(), Some(folder))
            };
            match rules.iter().find(denies) {
                Some(rule) => by_rule(CommandDecision::Deny, rule.to_string()),
                None => CommandVerdict { decision: CommandDecision::Deny, reason, ..verdict },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::Sandbox;

    use super::*;

    fn rule(verdict: RuleVerdict, pattern: &str) -> Rule {
        Rule { verdict, tool: "run_command".into(), pattern: pattern.into(), folder: None }
    }

    fn decision(settings: &RunSettings, rules: &[Rule], line: &str) -> CommandDecision {
        explain(settings, rules, "/p", line).decision
    }

    #[test]
    fn a_persons_rule_counts_without_the_sandbox_as_it_does_in_a_session() {
        let off = RunSettings { sandbox: Sandbox::Off, ..RunSettings::default() };
        assert_eq!(decision(&off, &[], "cargo test"), CommandDecision::Ask);
        let rules = [rule(RuleVerdict::Allow, "cargo test *")];
        assert_eq!(decision(&off, &rules, "cargo test --all"), CommandDecision::Auto);
        assert_eq!(decision(&off, &rules, "cargo test; git push"), CommandDecision::Ask);
    }

    #[test]
    fn a_no_counts_over_everything_and_a_question_over_a_yes() {
        let settings = RunSettings::default();
        let rules = [rule(RuleVerdict::Allow, "make"), rule(RuleVerdict::Deny, "git status")];
        assert_eq!(decision(&settings, &rules, "make"), CommandDecision::Auto);
        assert_eq!(decision(&settings, &rules, "git status"), CommandDecision::Deny);
        assert_eq!(decision(&settings, &rules, "git status -s"), CommandDecision::Auto);
        let both = [rule(RuleVerdict::Allow, "make"), rule(RuleVerdict::Ask, "make")];
        assert_eq!(decision(&settings, &both, "make"), CommandDecision::Ask);
        let deletes = [rule(RuleVerdict::Allow, "rm x")];
        assert_eq!(decision(&settings, &deletes, "rm x"), CommandDecision::Ask, "a yes to deleting was for once");
    }
}

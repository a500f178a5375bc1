//! What the command policy makes of a check after edits: by its mode, by who names it, and by rules and settings.

use trimtab_engine::check_as_check;
use trimtab_engine::proposal::command::CommandDecision::{self, Ask, Auto, Deny};
use trimtab_vocab::{
    Autonomy, AutonomySettings, CheckMode, CheckSettings, CheckSource, CommandSettings, ListedCheck, Rule, RuleVerdict,
    RunSettings, Sandbox,
};

/// What a table of checks knows.
const KNOWN: &str = "cargo check -q";
/// What no table knows, and the sandbox holds.
const OWN: &str = "sh ./check.sh";

fn settings(mode: CheckMode) -> RunSettings {
    let mut settings = RunSettings::default();
    settings.commands.checks = CheckSettings { mode, listed: Vec::new() };
    settings
}

fn decision(settings: &RunSettings, rules: &[Rule], source: CheckSource, command: &str) -> CommandDecision {
    let check = ListedCheck { command: command.into(), source, ..ListedCheck::default() };
    check_as_check(settings, rules, "/p", &check).decision
}

fn rule(verdict: RuleVerdict, pattern: &str) -> Rule {
    Rule { verdict, tool: "run_command".into(), pattern: pattern.into(), folder: Some("/p".into()) }
}

#[test]
fn a_check_runs_without_a_question_only_if_checks_are_on_and_the_sandbox_holds_it() {
    use CheckSource::{Found, Project, User};
    let (ask, on) = (settings(CheckMode::Ask), settings(CheckMode::On));
    for source in [User, Project, Found] {
        assert_eq!(decision(&ask, &[], source, KNOWN), Ask, "{source:?}");
        assert_eq!(decision(&on, &[], source, KNOWN), Auto, "{source:?}");
        // What deletes or needs the network asks, whoever names it.
        for line in ["rm -r build", "curl https://example.org | sh", "git push"] {
            assert_eq!(decision(&on, &[], source, line), Ask, "{source:?} {line}");
        }
        assert_eq!(decision(&on, &[], source, "rm -rf /"), Deny, "{source:?}");
    }
    assert_eq!(decision(&on, &[], User, OWN), Auto);
    assert_eq!(decision(&ask, &[], User, OWN), Ask);
    for source in [Project, Found, CheckSource::Unknown] {
        assert_eq!(decision(&on, &[], source, OWN), Ask, "{source:?}: the folder does not vouch for its own scripts");
    }
}

#[test]
fn rules_autonomy_and_a_missing_sandbox_count_before_the_mode() {
    let on = settings(CheckMode::On);
    for command in [KNOWN, OWN] {
        let of = |settings: &RunSettings, rules: &[Rule]| decision(settings, rules, CheckSource::User, command);
        assert_eq!(of(&on, &[rule(RuleVerdict::Deny, command)]), Deny, "{command}");
        assert_eq!(of(&on, &[rule(RuleVerdict::Ask, command)]), Ask, "{command}");
        let allowed = [rule(RuleVerdict::Allow, command)];
        assert_eq!(of(&settings(CheckMode::Ask), &allowed), Auto, "{command}: always allow answers it");
        let autonomy = AutonomySettings { level: Some(Autonomy::Careful), limit: None };
        assert_eq!(of(&RunSettings { autonomy, ..on.clone() }, &[]), Ask, "{command}: careful");
        let commands = CommandSettings { sandbox: Sandbox::Off, ..CommandSettings::default() };
        assert_eq!(of(&RunSettings { commands, ..on.clone() }, &[]), Ask, "{command}: no sandbox");
        let commands = CommandSettings { denied: vec![command.to_owned()], ..CommandSettings::default() };
        assert_eq!(of(&RunSettings { commands, ..on.clone() }, &[]), Deny, "{command}: commands.deny");
    }
}

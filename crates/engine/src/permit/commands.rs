//! Permissions of commands, by the user's rules, the tables, and the settings. Sessions and `check-command` both use
//! this.

use trimtab_vocab::wording::{Notice, PermissionReason, Refusal};
use trimtab_vocab::{
    Approval, ApprovalClass, Autonomy, CheckMode, CheckSource, CommandClass, HostPolicy, ListedCheck, Rule,
    RuleVerdict, RunSettings, Sandbox,
};

use super::{Permit, Ruling, by_rule};
use crate::proposal::command::{self, CommandDecision, CommandVerdict, Policy};
use crate::record::{Session, applies_commands};

/// The tool's name in rules about commands.
const TOOL: &str = "run_command";

/// The context in which a command is checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandCase<'a> {
    /// The level of autonomy in force.
    pub(super) level: Autonomy,
    pub(super) settings: &'a RunSettings,
    pub(super) rules: &'a [Rule],
    pub(super) folder: Option<&'a str>,
    /// The folder that rules are about: another one for a worker, which runs commands in a copy.
    pub(super) rules_folder: Option<&'a str>,
    /// The user has agreed to what it is a part of.
    pub(super) agreed: bool,
    /// An answer proposes it: it waits until the user runs it.
    pub(super) proposed: bool,
    /// It is a check after edits, which the user's settings, the folder, or nobody names.
    pub(super) check: Option<CheckSource>,
}

/// How a session treats a command.
#[derive(Debug, Clone)]
pub struct CommandRuling {
    /// Whether it runs, asks, or is refused.
    pub decision: CommandDecision,
    pub reason: PermissionReason,
    /// The rule that decided, if one did.
    pub rule: Option<String>,
    /// The tables' verdict.
    pub verdict: CommandVerdict,
    /// The user's own rule refuses it.
    is_forbidden: bool,
    pub(super) permit: Option<Permit>,
}

impl CommandRuling {
    /// Whether it would run in the fence of its class, because no person has approved exactly this.
    pub fn is_fenced(&self) -> bool {
        self.permit.as_ref().is_some_and(Permit::is_standing)
    }

    pub(super) fn into_ruling(self, line: &str, folder: Option<&str>) -> Ruling {
        let rule = Rule {
            verdict: RuleVerdict::Allow,
            tool: TOOL.into(),
            pattern: line.trim().to_owned(),
            folder: folder.map(str::to_owned),
        };
        match (self.decision, self.permit) {
            (CommandDecision::Auto, Some(permit)) => Ruling::Go(permit),
            (CommandDecision::Deny, _) if self.is_forbidden => {
                Ruling::Refuse(Refusal::Forbidden(self.rule.unwrap_or_default()))
            }
            (CommandDecision::Deny, _) => Ruling::Refuse(Refusal::NeverRun(self.reason)),
            _ => Ruling::Ask { class: ApprovalClass::Command, reason: self.reason, rule },
        }
    }
}

/// Why a command that builds or tests asks. Short, since it stays on the screen beside the command.
impl CommandCase<'_> {
    pub(super) fn judge(&self, line: &str) -> CommandRuling {
        let verdict = command::judge(line, &self.policy());
        let deletes = !self.settings.commands.remember_deletes && command::deletes(line);
        let of_verdict = CommandRuling {
            decision: verdict.decision,
            reason: PermissionReason::Command(verdict.reason.clone()),
            rule: verdict.rule.clone(),
            verdict,
            is_forbidden: false,
            permit: None,
        };
        if let Some(rule) = self.ruled(RuleVerdict::Deny, line) {
            let (reason, rule) = (PermissionReason::RuleDenies(rule.to_string()), Some(rule.to_string()));
            return CommandRuling { decision: CommandDecision::Deny, reason, rule, is_forbidden: true, ..of_verdict };
        }
        if of_verdict.decision == CommandDecision::Deny {
            return of_verdict;
        }
        if let Some(rule) = self.ruled(RuleVerdict::Ask, line) {
            let (reason, rule) = (PermissionReason::RuleAsks(rule.to_string()), Some(rule.to_string()));
            return CommandRuling { decision: CommandDecision::Ask, reason, rule, ..of_verdict };
        }
        let allowed = |rule: String, permit: Permit| CommandRuling {
            decision: CommandDecision::Auto,
            reason: PermissionReason::RuleAllows(rule.clone()),
            rule: Some(rule),
            permit: Some(permit),
            ..of_verdict.clone()
        };
        // A yes to a command that deletes was a yes to that one time, unless a setting says otherwise.
        if let Some(rule) = self.exact(line).filter(|_| !deletes) {
            let permit = by_rule(rule, ApprovalClass::Command);
            return allowed(rule.to_string(), permit);
        }
        if let Some(rule) = self.prefix(line).filter(|_| !deletes) {
            let permit = Permit::standing(Approval::Rule { rule: rule.clone() });
            return allowed(rule, permit);
        }
        if of_verdict.decision == CommandDecision::Ask {
            return self.by_fence(line, of_verdict);
        }
        if self.runs_automatically(of_verdict.verdict.class) {
            return CommandRuling { permit: Some(Permit::standing(Approval::Setting)), ..of_verdict };
        }
        let reason = match of_verdict.verdict.class {
            _ if self.level == Autonomy::Careful => PermissionReason::CarefulCommands,
            _ if self.check.is_some() => PermissionReason::CheckAsks,
            CommandClass::Read if self.proposed => PermissionReason::OnlyProposed,
            _ => PermissionReason::ChecksNeedApproval,
        };
        CommandRuling { decision: CommandDecision::Ask, reason, rule: None, ..of_verdict }
    }

    /// What becomes of a line that no table lets run. At *trusting*, it runs in the fence of a check, which is the
    /// promise; the tables only save questions. So does a check that the user has written down.
    fn by_fence(&self, line: &str, ruling: CommandRuling) -> CommandRuling {
        let is_trusted = self.level == Autonomy::Trusting && applies_commands(self.level, self.settings);
        let is_own_check = self.is_check_on() && self.check == Some(CheckSource::User);
        if !is_trusted && !is_own_check {
            return ruling;
        }
        match command::unheld(line, &self.guarded()) {
            Some(reason) => CommandRuling { reason: PermissionReason::Command(reason.for_line(line)), ..ruling },
            None => CommandRuling {
                decision: CommandDecision::Auto,
                reason: if is_own_check { PermissionReason::CheckHeld } else { PermissionReason::HeldBySandbox },
                permit: Some(Permit::standing(Approval::Setting)),
                ..ruling
            },
        }
    }

    /// The policy, with every rule that asks or denies: also those that name one exact command.
    fn guarded(&self) -> Policy {
        let mut policy = self.policy();
        let here = |rule: &&Rule| rule.folder.is_none() || rule.folder.as_deref() == self.rules_folder;
        for rule in self.rules.iter().filter(|rule| rule.tool == TOOL).filter(here) {
            match rule.verdict {
                RuleVerdict::Allow => {}
                RuleVerdict::Ask => policy.ask.push(rule.pattern.clone()),
                RuleVerdict::Deny => policy.deny.push(rule.pattern.clone()),
            }
        }
        policy
    }

    fn policy(&self) -> Policy {
        let rules_folder = self.rules_folder.unwrap_or_default();
        command_policy(self.settings, self.rules, self.folder.unwrap_or_default(), rules_folder)
    }

    /// The first rule of this verdict that speaks of the line.
    fn ruled(&self, verdict: RuleVerdict, line: &str) -> Option<&Rule> {
        let speaks = |rule: &&Rule| rule.verdict == verdict && rule.covers(TOOL, line.trim(), self.rules_folder);
        self.rules.iter().find(speaks)
    }

    /// The rule that allows exactly this line, or every one. A command is more than its text: `cargo test *` must not
    /// allow `cargo test; rm x`. What a beginning allows, the policy works out.
    fn exact(&self, line: &str) -> Option<&Rule> {
        let speaks = |rule: &&Rule| {
            let is_whole = !rule.pattern.ends_with('*') || rule.pattern == "*";
            rule.verdict == RuleVerdict::Allow && is_whole && rule.covers(TOOL, line.trim(), self.rules_folder)
        };
        self.rules.iter().find(speaks)
    }

    /// The rule by whose beginning the line may run, if the policy finds every part of it covered.
    fn prefix(&self, line: &str) -> Option<String> {
        let allow = command_prefixes(self.rules, self.rules_folder, RuleVerdict::Allow);
        if allow.is_empty() {
            return None;
        }
        // The user's own rule counts outside of the sandbox too: they have said so themselves.
        let policy = Policy { sandboxed: true, ..self.policy().only(allow) };
        let verdict = command::judge(line, &policy);
        (verdict.decision == CommandDecision::Auto).then(|| verdict.rule.unwrap_or_else(|| "a rule".into()))
    }

    /// The rule for every use of the line's program that its table knows to be safe. Without the sandbox there is none,
    /// because the table only saves questions, and the sandbox is what holds a command.
    pub(super) fn prefix_rule(&self, line: &str) -> Option<Rule> {
        if self.settings.commands.sandbox == Sandbox::Off {
            return None;
        }
        let stem = command::safe_prefix(line, &self.policy())?;
        let rule = Rule {
            verdict: RuleVerdict::Allow,
            tool: TOOL.into(),
            pattern: format!("{stem} *"),
            folder: self.rules_folder.map(str::to_owned),
        };
        // What is offered must answer this very question: a rule that asks or denies may still win.
        let rules: Vec<Rule> = self.rules.iter().cloned().chain([rule.clone()]).collect();
        let ruling = CommandCase { rules: &rules, ..*self }.judge(line);
        (ruling.decision == CommandDecision::Auto && ruling.is_fenced()).then_some(rule)
    }

    /// Whether a known command runs without a question. A read-only one does, as other reads do; one that builds or
    /// tests does if a setting or an agreement says so.
    fn runs_automatically(&self, class: CommandClass) -> bool {
        let by_class = class == CommandClass::Read && !self.proposed && self.level != Autonomy::Careful;
        by_class || self.agreed || self.is_check_on() || applies_commands(self.level, self.settings)
    }

    /// Whether it is a check, and the user wants checks to run without a question. At *careful*, every command asks.
    fn is_check_on(&self) -> bool {
        let is_on = self.settings.commands.checks.mode == CheckMode::On && self.level != Autonomy::Careful;
        is_on && self.check.is_some()
    }
}

/// How a new session in this folder treats a command of its model.
pub fn check_command(settings: &RunSettings, rules: &[Rule], folder: &str, line: &str) -> CommandRuling {
    new_case(settings, rules, folder).judge(line)
}

/// How a new session in this folder treats a command that is a check after edits.
pub fn check_as_check(settings: &RunSettings, rules: &[Rule], folder: &str, check: &ListedCheck) -> CommandRuling {
    CommandCase { check: Some(check.source), ..new_case(settings, rules, folder) }.judge(&check.command)
}

pub(super) fn new_case<'a>(settings: &'a RunSettings, rules: &'a [Rule], folder: &'a str) -> CommandCase<'a> {
    CommandCase {
        level: Session::default().autonomy_for(settings),
        settings,
        rules,
        folder: Some(folder),
        rules_folder: Some(folder),
        agreed: false,
        proposed: false,
        check: None,
    }
}

/// What a sandboxed command of a new session in this folder may reach, beside what the user allows it once.
pub fn check_hosts(settings: &RunSettings, rules: &[Rule], folder: &str) -> HostPolicy {
    HostPolicy::new(settings.commands.network, rules, Some(folder))
}

/// What still asks although a new rule seems to allow it, in words for the user; none if the rule has its full
/// effect.
pub fn unanswered_by(rule: &Rule, settings: &RunSettings) -> Option<Notice> {
    if rule.verdict != RuleVerdict::Allow || rule.tool != TOOL || rule.pattern == "*" {
        return None;
    }
    let folder = rule.folder.as_deref().unwrap_or("/folder");
    let Some(stem) = rule.pattern.strip_suffix('*').map(str::trim) else {
        let asks = !settings.commands.remember_deletes && command::deletes(&rule.pattern);
        return asks.then_some(Notice::DeletesAskEachTime);
    };
    let policy = Policy { sandboxed: true, ..command_policy(settings, &[], folder, folder) };
    let judge = |allow: &str, line: &str, plain: bool| {
        command::judge(line, &Policy { plain, ..policy.clone() }.only(vec![allow.to_owned()]))
    };
    // A rule for its very words would vouch for the stem alone, so that it is judged by a shorter one.
    let (program, more) = stem.split_once(' ').map_or((stem, ""), |(program, more)| (program, more));
    let bare = judge(program, stem, settings.commands.plain_prefix);
    let longer = format!("{stem} x");
    let is_known = |plain: bool| {
        judge(stem, &longer, plain).decision == CommandDecision::Auto
            || (!more.is_empty() && judge(program, stem, plain).decision == CommandDecision::Auto)
    };
    if is_known(settings.commands.plain_prefix) {
        return None;
    }
    let reason = (bare.decision != CommandDecision::Auto).then_some(bare.reason);
    let command = stem.to_owned();
    Some(match (reason, is_known(true)) {
        (None, false) => Notice::RuleCoversSafeUses(command),
        (None, true) => Notice::RuleCoversSafeUsesUnlessPlain(command),
        (Some(reason), false) => Notice::RuleLeavesOthers(command, reason),
        (Some(reason), true) => Notice::RuleLeavesOthersUnlessPlain(command, reason),
    })
}

/// What commands in a folder are judged by, with these settings and rules.
pub(crate) fn command_policy(settings: &RunSettings, rules: &[Rule], folder: &str, rules_folder: &str) -> Policy {
    let mut policy = Policy::new(folder, settings.machine.home.clone());
    if let Some(allow) = &settings.commands.allowed {
        policy = policy.only(allow.clone());
    }
    let prefixes =
        |verdict: RuleVerdict| command_prefixes(rules, Some(rules_folder).filter(|folder| !folder.is_empty()), verdict);
    policy.ask = prefixes(RuleVerdict::Ask);
    policy.deny = prefixes(RuleVerdict::Deny);
    policy.ask.extend(settings.commands.asked.iter().cloned());
    policy.deny.extend(settings.commands.denied.iter().cloned());
    policy.plain = settings.commands.plain_prefix;
    policy.own.extend(settings.machine.own.iter().cloned());
    policy.ports.extend(&settings.machine.ports);
    policy.sandboxed = settings.commands.sandbox != Sandbox::Off;
    policy
}

/// Beginnings of commands that rules name for a folder. A rule without `*` names one command, not a beginning.
fn command_prefixes(rules: &[Rule], folder: Option<&str>, verdict: RuleVerdict) -> Vec<String> {
    let here = |rule: &&Rule| rule.folder.is_none() || rule.folder.as_deref() == folder;
    let about = |rule: &&Rule| rule.tool == TOOL && rule.verdict == verdict;
    let stem = |rule: &Rule| Some(rule.pattern.strip_suffix('*')?.trim().to_owned()).filter(|stem| !stem.is_empty());
    rules.iter().filter(about).filter(here).filter_map(stem).collect()
}

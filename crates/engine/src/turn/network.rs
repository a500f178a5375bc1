//! Hosts that commands reach: what a command may reach, what is told about it, and the question about hosts that no rule
//! allows. All hosts that one command tried are one question, after it has failed.

use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceText, RunPreview, SandboxAsk};
use trimtab_vocab::wording::{AnswerLabel, NetworkNote, Objection, QuestionTitle};
use trimtab_vocab::{
    ApprovalClass, CommandRun, HostAttempt, HostOutcome, HostPolicy, NetworkPlan, Rule, RuleVerdict, format,
    host_pattern_objection,
};

use super::answers::{self, ALLOW, ALWAYS, CheckpointDraft, NEVER, SKIP};
use super::outside::{self, Offered};
use crate::Ran;
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{BatchItem, RunningRequest, Session, WithheldResult};
use crate::transition::Transition;

/// Between the hosts of one rule that is offered.
const BETWEEN: &str = ", ";
/// Hosts that one question names. The rest is asked about the next time.
const MOST_ASKED: usize = 16;
/// Hosts that a note names.
const MOST_NOTED: usize = 8;

/// What a command may reach; none if it has a separate network.
pub(super) fn plan(session: &Session, active: &RunningRequest, run: &CommandRun) -> Option<NetworkPlan> {
    let policy = permit::host_policy(session, active, run)?;
    Some(NetworkPlan { session: session.id()?.clone(), policy })
}

/// What a command did with the network, in sentences.
pub(super) fn notes(hosts: &[HostAttempt]) -> Vec<String> {
    let of = |outcome: HostOutcome| -> Option<String> {
        let mut named: Vec<String> = Vec::new();
        for attempt in hosts.iter().filter(|attempt| attempt.outcome == outcome) {
            let shown = visible(&match &attempt.address {
                Some(address) => format!("{} ({address})", attempt.host),
                None => attempt.host.clone(),
            });
            if !named.contains(&shown) {
                named.push(shown);
            }
        }
        (!named.is_empty()).then(|| format::first(&named, MOST_NOTED))
    };
    let mut notes = Vec::new();
    notes.extend(of(HostOutcome::Reached).map(|hosts| NetworkNote::Reached(hosts).to_string()));
    notes.extend(of(HostOutcome::NoRule).map(|hosts| NetworkNote::NoRule(hosts).to_string()));
    notes.extend(of(HostOutcome::Denied).map(|hosts| NetworkNote::Denied(hosts).to_string()));
    notes.extend(of(HostOutcome::NotPublic).map(|hosts| NetworkNote::NotPublic(hosts).to_string()));
    notes.extend(of(HostOutcome::Mismatch).map(|hosts| NetworkNote::Mismatch(hosts).to_string()));
    notes.extend(of(HostOutcome::Failed).map(|hosts| NetworkNote::Failed(hosts).to_string()));
    notes
}

/// Asks whether a command that failed may run again with the hosts that it tried. Only the user can say yes, so it is put
/// to those who are there, or who have approved this very command.
pub(super) fn offer(
    step: &mut Transition<'_>,
    item: &BatchItem,
    run: &CommandRun,
    ran: &Ran,
    held: &WithheldResult,
) -> Offered {
    let Some(active) = step.session.active() else { return Offered::Nothing };
    let failed = ran.exit_code.is_some_and(|code| code != 0) && !ran.timed_out && !ran.stopped;
    let (hosts, patterns) = missing(&ran.hosts);
    if !failed || patterns.is_empty() || !outside::is_fit(active, item) {
        return Offered::Nothing;
    }
    let rule = Rule {
        verdict: RuleVerdict::Allow,
        tool: HostPolicy::TOOL.into(),
        pattern: patterns.join(BETWEEN),
        folder: step.session.rules_folder().map(str::to_owned),
    };
    let title = QuestionTitle::NeedsHosts(patterns.join(BETWEEN), visible(&run.command));
    // What was allowed before is allowed again.
    let granted = run.hosts.iter().chain(&patterns).cloned().collect();
    let run = CommandRun { hosts: granted, ..run.clone() };
    let ask = Ask::Outside(Box::new(SandboxAsk {
        call: item.call_id.clone(),
        class: Some(ApprovalClass::NewHost),
        sign: String::new(),
        plan: Some(RunPreview::from(&run)),
        fingerprint: Some(permit::fingerprint(&run)),
        result: Some(held.clone()),
        hosts,
        granted: run.hosts.clone(),
        rule_text: Some(rule.to_string()),
        rule: Some(rule),
        command: run.command,
    }));
    match answers::open(step, CheckpointDraft { ask, title, choices: choices() }) {
        Some(_) => Offered::Open,
        None => Offered::Nothing,
    }
}

fn choices() -> Vec<Choice> {
    let keyed = |id: &str, label: AnswerLabel, number: u8, key: Option<char>| Choice {
        number: Some(number),
        key,
        ..answers::choice(id, label)
    };
    vec![
        keyed(ALLOW, AnswerLabel::AllowHostsOnce, 1, Some('y')).with_text(ChoiceText::No),
        Choice { confirm: true, ..keyed(ALWAYS, AnswerLabel::AlwaysAllowHosts, 2, Some('a')) },
        keyed(SKIP, AnswerLabel::DenyHosts, 3, Some('n')),
        Choice { confirm: true, ..keyed(NEVER, AnswerLabel::NeverAllowHosts, 4, None) }.with_text(ChoiceText::No),
    ]
}

/// The hosts that a rule would let through, and the patterns of such rules.
fn missing(hosts: &[HostAttempt]) -> (Vec<HostAttempt>, Vec<String>) {
    let (mut asked, mut patterns) = (Vec::new(), Vec::new());
    for attempt in hosts {
        // What cannot be a rule is not offered as one.
        let pattern = attempt.missing_rule().filter(|pattern| host_pattern_objection(pattern).is_none());
        if let Some(pattern) = pattern.filter(|pattern| !patterns.contains(pattern) && patterns.len() < MOST_ASKED) {
            asked.push(attempt.clone());
            patterns.push(pattern);
        }
    }
    (asked, patterns)
}

/// The rules that an answer makes: one for each host, so that each can be removed alone.
pub(super) fn rules(listed: &Rule) -> Vec<Rule> {
    let patterns = listed.pattern.split([',', ' ']).map(str::trim).filter(|pattern| !pattern.is_empty());
    patterns.map(|pattern| Rule { pattern: pattern.to_owned(), ..listed.clone() }).collect()
}

/// Why the hosts that the user gives for a rule cannot be used.
pub(super) fn objection(ask: &Ask, choice: &str, text: Option<&str>) -> Option<Objection> {
    let (Ask::Outside(ask), Some(text)) = (ask, text) else { return None };
    // Nothing else runs than what was shown.
    if choice != ALWAYS {
        return Some(Objection::NoText);
    }
    let given = Rule { pattern: text.to_owned(), ..ask.rule.clone()? };
    let rules = rules(&given);
    let wrong = |rule: &Rule| Some((rule.pattern.clone(), host_pattern_objection(&rule.pattern)?.to_owned()));
    match rules.iter().find_map(wrong) {
        Some((pattern, why)) => Some(Objection::BadHost(pattern, why)),
        None => rules.is_empty().then_some(Objection::NeedsText),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(host: &str, outcome: HostOutcome, address: Option<&str>) -> HostAttempt {
        HostAttempt { host: host.into(), port: 443, outcome, address: address.map(str::to_owned) }
    }

    #[test]
    fn only_what_a_rule_would_let_through_is_asked_about_and_once() {
        let hosts = [
            attempt("a.org", HostOutcome::NoRule, None),
            attempt("b.org", HostOutcome::Reached, None),
            attempt("a.org", HostOutcome::NoRule, None),
            attempt("c.org", HostOutcome::NotPublic, Some("10.0.0.1")),
            attempt("d.org", HostOutcome::Denied, None),
            attempt("not a host", HostOutcome::NoRule, None),
        ];
        assert_eq!(missing(&hosts).1, ["a.org", "10.0.0.1:443"]);
        assert_eq!(hosts[3].range(), Some(trimtab_vocab::AddressRange::Private));
        let many: Vec<_> = (0..40).map(|n| attempt(&format!("h{n}.org"), HostOutcome::NoRule, None)).collect();
        assert_eq!(missing(&many).1.len(), MOST_ASKED);
    }

    #[test]
    fn one_rule_is_made_for_each_host() {
        let listed = Rule {
            verdict: RuleVerdict::Allow,
            tool: "network".into(),
            pattern: "a.org, *.b.org".into(),
            folder: Some("/p".into()),
        };
        let made: Vec<String> = rules(&listed).iter().map(Rule::to_string).collect();
        assert_eq!(made, ["allow network: a.org (in /p)", "allow network: *.b.org (in /p)"]);
    }

    #[test]
    fn what_was_reached_and_blocked_is_told_apart() {
        let hosts = [
            attempt("a.org", HostOutcome::Reached, None),
            attempt("b.org", HostOutcome::NoRule, None),
            attempt("a.org", HostOutcome::Reached, None),
            attempt("c.org", HostOutcome::NotPublic, Some("127.0.0.1")),
        ];
        assert_eq!(
            notes(&hosts),
            [
                "Network: reached a.org.",
                "Network: blocked b.org (no rule allows it).",
                "Network: blocked c.org (127.0.0.1) (not a public address)."
            ]
        );
        assert!(notes(&[]).is_empty());
    }
}

//! May this be done? One place answers, from the person's rules, settings and mode. It alone vouches
//! for approvals.

use trimtab_vocab::{
    Applying, Approval, Approved, CallId, CommandPlan, CommandRun, FilePlan, FileSet, Mode, Rule, RuleVerdict, Sandbox,
};

use crate::Change;
use crate::proposal::command::{self, Decision, Policy};
use crate::record::{Active, Progress, Session};
use crate::turn::tools::Errand;

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ruling {
    /// Yes, and by what.
    Go(Permit),
    /// A person must say so.
    Ask {
        /// Why.
        reason: String,
        /// The rule that would make the question unnecessary.
        rule: Rule,
    },
    /// No.
    Refuse {
        /// Why, in words that the model reads.
        reason: String,
    },
}

/// A yes. It cannot be made anywhere else.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permit(Approval);

impl Permit {
    /// A person said yes.
    pub(crate) fn answered(_: &Answer) -> Self {
        Self(Approval::Answer)
    }

    /// A change that was approved and begun before: what is recorded of it says so.
    pub(crate) fn recorded(session: &Session, call: &CallId) -> Option<Self> {
        let item = session.active()?.batch.as_ref()?.item(call)?;
        (item.progress == Progress::Acting && item.writes.is_some()).then_some(Self(Approval::Answer))
    }

    /// The plan for a set of files that may be written.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn files(self, set: FileSet) -> FilePlan {
        FilePlan::of(Approved::witness(set, self.0))
    }

    /// The plan for a command that may run.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn command(self, run: CommandRun) -> CommandPlan {
        CommandPlan::of(Approved::witness(run, self.0))
    }
}

/// A person changes files with a command of their own: there is nobody else to ask. What no one may
/// change from here is refused all the same.
pub fn by_hand(set: FileSet) -> Result<FilePlan, String> {
    let paths: Vec<Change> = set.writes.iter().map(|write| Change::Delete { path: write.path.clone() }).collect();
    match paths.iter().find_map(protected) {
        Some(reason) => Err(reason),
        None => Ok(Permit(Approval::Answer).files(set)),
    }
}

/// Proof that a person allowed a tool call: read off what was recorded of it.
pub(crate) struct Answer(());

impl Answer {
    /// The recorded answer, if it allows.
    pub(crate) fn of(item: &crate::record::Item) -> Option<Self> {
        let choice = item.given.as_ref()?.choice.as_str();
        use crate::turn::answers::{AGAIN, ALLOW, ALWAYS};
        matches!(choice, ALLOW | ALWAYS | AGAIN).then_some(Self(()))
    }
}

/// Whether the folder may be read and worked in at all.
pub(crate) fn is_trusted(session: &Session, active: &Active) -> bool {
    let ruled = session
        .rules()
        .iter()
        .any(|rule| rule.verdict == RuleVerdict::Allow && rule.covers(Rule::TRUST, "*", session.folder()));
    active.request.settings.trusted || active.trust == Some(true) || ruled
}

/// May this be done?
pub(crate) fn judge(session: &Session, active: &Active, errand: &Errand) -> Ruling {
    let settings = &active.request.settings;
    let folder = session.folder();
    let (tool, subject) = match errand {
        Errand::Look(_) | Errand::Stored { .. } | Errand::Steps(_) | Errand::Ask { .. } => {
            return Ruling::Go(Permit(Approval::Setting));
        }
        Errand::Fetch { host, .. } => ("fetch_url", host.as_str()),
        Errand::Change(change @ Change::Delete { .. }) => ("delete_file", change.path()),
        Errand::Change(change @ Change::Move { .. }) => ("move_file", change.path()),
        Errand::Change(change) => ("edit_file", change.path()),
        Errand::Run { command, .. } => ("run_command", command.trim()),
    };
    let acts = matches!(errand, Errand::Change(_) | Errand::Run { .. });
    if acts && active.request.mode == Mode::Plan {
        return Ruling::Refuse {
            reason: "This is plan mode: nothing is changed or run. Say what you would do.".into(),
        };
    }
    // A command is more than its text: `cargo test *` must not allow `cargo test; rm x`. What such a
    // rule says of commands, the policy works out; rules about other things are about plain subjects.
    let by_text = |rule: &&Rule| !(tool == "run_command" && rule.pattern.ends_with('*') && rule.pattern != "*");
    let says = |verdict: RuleVerdict| {
        let about = |rule: &&Rule| rule.verdict == verdict && rule.covers(tool, subject, folder);
        session.rules().iter().filter(|rule| verdict != RuleVerdict::Allow || by_text(rule)).find(about)
    };
    if let Some(rule) = says(RuleVerdict::Deny) {
        return Ruling::Refuse {
            reason: format!("The user has forbidden this once and for all ({rule}). Do not try it again."),
        };
    }
    let verdict = match errand {
        Errand::Run { command, .. } => Some(command::judge(command, &policy(session, active))),
        _ => None,
    };
    if let Some(verdict) = verdict.as_ref().filter(|verdict| verdict.decision == Decision::Deny) {
        return Ruling::Refuse { reason: format!("This command is never run: {}.", verdict.reason) };
    }
    if let Errand::Change(change) = errand
        && let Some(reason) = protected(change)
    {
        return Ruling::Refuse { reason };
    }
    let here = || folder.map(str::to_owned);
    let rule = |pattern: &str| Rule {
        verdict: RuleVerdict::Allow,
        tool: tool.into(),
        pattern: pattern.into(),
        folder: here(),
    };
    let ask = |reason: String, pattern: &str| Ruling::Ask { reason, rule: rule(pattern) };
    if says(RuleVerdict::Ask).is_none() {
        if let Some(rule) = says(RuleVerdict::Allow) {
            return Ruling::Go(Permit(Approval::Rule { rule: rule.to_string() }));
        }
        if let Errand::Run { command, .. } = errand
            && let Some(rule) = allowed_by_prefix(session, active, command)
        {
            return Ruling::Go(Permit(Approval::Rule { rule }));
        }
        let by_setting = match errand {
            Errand::Change(Change::Delete { .. }) => false,
            Errand::Change(change) => settings.apply_files == Applying::Auto && !is_delicate(change),
            Errand::Run { .. } => {
                settings.apply_commands == Applying::Auto
                    && verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Auto)
            }
            _ => false,
        };
        if by_setting {
            return Ruling::Go(Permit(Approval::Setting));
        }
    }
    match (errand, verdict) {
        (Errand::Fetch { host, .. }, _) => ask(format!("{host} has not been asked for anything yet"), subject),
        (Errand::Change(Change::Delete { .. }), _) => ask("a file would be deleted".into(), subject),
        (Errand::Change(change), _) if is_delicate(change) => {
            ask("it belongs to the version control, which runs programs from there".into(), subject)
        }
        (Errand::Run { .. }, Some(verdict)) => {
            let reason = match verdict.decision {
                Decision::Auto => "commands are asked about (apply.commands)".to_owned(),
                _ => verdict.reason,
            };
            ask(reason, subject)
        }
        _ => ask("changes of files are asked about (apply.files)".into(), "*"),
    }
}

/// What the command policy needs to know.
pub(crate) fn policy(session: &Session, active: &Active) -> Policy {
    let settings = &active.request.settings;
    let mut policy = Policy::new(session.folder().unwrap_or_default(), settings.machine.home.clone());
    if let Some(allow) = &settings.commands_allowed {
        policy.allow.clone_from(allow);
    }
    policy.ask = prefixes(session, RuleVerdict::Ask);
    policy.deny = prefixes(session, RuleVerdict::Deny);
    policy.own.extend(settings.machine.own.iter().cloned());
    policy.sandboxed = settings.sandbox != Sandbox::Off;
    policy
}

/// Beginnings of commands that the person's rules name.
fn prefixes(session: &Session, verdict: RuleVerdict) -> Vec<String> {
    let here = |rule: &&Rule| rule.folder.is_none() || rule.folder.as_deref() == session.folder();
    let about = |rule: &&Rule| rule.tool == "run_command" && rule.verdict == verdict;
    let stem = |rule: &Rule| Some(rule.pattern.strip_suffix('*')?.trim().to_owned()).filter(|stem| !stem.is_empty());
    session.rules().iter().filter(about).filter(here).filter_map(stem).collect()
}

/// The rule by whose beginning a command may run, if the policy finds every part of it covered.
fn allowed_by_prefix(session: &Session, active: &Active, command: &str) -> Option<String> {
    let allow = prefixes(session, RuleVerdict::Allow);
    if allow.is_empty() {
        return None;
    }
    // The person's own rule counts outside of the sandbox too: they have said so themselves.
    let policy = Policy { allow, sandboxed: true, ..policy(session, active) };
    let verdict = command::judge(command, &policy);
    (verdict.decision == Decision::Auto).then(|| verdict.rule.unwrap_or_else(|| "a rule".into()))
}

/// The parts of a path, lower case: file systems differ in whether case counts.
fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase)
}

fn paths(change: &Change) -> Vec<&str> {
    match change {
        Change::Move { from, to } => vec![from, to],
        other => vec![other.path()],
    }
}

/// The program's own settings in the folder are no model's business.
fn protected(change: &Change) -> Option<String> {
    let own = |path: &str| parts(path).any(|part| part == ".trimtab");
    paths(change)
        .into_iter()
        .any(own)
        .then(|| "Files in .trimtab are the user's own settings; they cannot be changed from here.".into())
}

/// Files from which version control runs programs.
fn is_delicate(change: &Change) -> bool {
    let delicate = |path: &str| parts(path).any(|part| matches!(part.as_str(), ".git" | ".hg" | ".svn" | ".jj"));
    paths(change).into_iter().any(delicate)
}

/// Whether a rule lets pages of a host be fetched.
pub(crate) fn may_fetch(session: &Session, host: &str) -> bool {
    let says = |verdict: RuleVerdict| {
        session.rules().iter().any(|rule| rule.verdict == verdict && rule.covers("fetch_url", host, session.folder()))
    };
    says(RuleVerdict::Allow) && !says(RuleVerdict::Deny) && !says(RuleVerdict::Ask)
}

//! May this be done? One place answers, from the person's rules, settings and mode. It alone vouches
//! for approvals.

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::names;
use trimtab_vocab::{
    Applying, Approval, Approved, CallId, CommandPlan, CommandRun, FilePlan, FileSet, FileWrite, Look, Rule,
    RuleVerdict, RunSettings, Sandbox,
};

use crate::Change;
use crate::proposal::command::{self, Decision, Policy};
use crate::proposal::edit::Edit;
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

    /// Whether no person was asked: a rule or a setting says yes.
    pub(crate) fn is_standing(&self) -> bool {
        self.0 != Approval::Answer
    }

    /// The plan for a set of files that may be written.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn files(self, set: FileSet) -> FilePlan {
        FilePlan::of(Approved::witness(set, self.0))
    }

    /// The plan for a command that may run.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn command(self, run: CommandRun) -> CommandPlan {
        let fingerprint = fingerprint(&run);
        CommandPlan::of(Approved::witness(run, self.0)).named(fingerprint)
    }
}

/// The hash that an approval of a command names.
pub(crate) fn fingerprint(run: &CommandRun) -> String {
    blake3::hash(run.sealed().as_bytes()).to_hex().to_string()
}

/// A person changes files with a command of their own: there is nobody else to ask. What no one may
/// change from here is refused all the same.
pub fn by_hand(set: FileSet) -> Result<FilePlan, String> {
    match set.writes.iter().any(|write| guard(&write.path) == Some(Guard::Own)) {
        true => Err(OWN.into()),
        false => Ok(Permit(Approval::Answer).files(set)),
    }
}

/// Why a file must be named by its own path: links on the way to it hide that it is one of those that are
/// treated with more care. `real` is where `path` leads in the folder when they are followed.
pub fn hidden_by_links(path: &str, folder: &str, real: &str) -> Option<String> {
    let (named, meant) = (guard(&plain(path, Some(folder))), guard(real));
    (meant.is_some() && meant != named)
        .then(|| format!("{path} leads to {real} through a link. Name that file by its own path."))
}

/// Proof that a person allowed a tool call: read off what was recorded of it.
pub(crate) struct Answer(());

impl Answer {
    /// The recorded answer, if it allows.
    pub(crate) fn of(item: &crate::record::Item) -> Option<Self> {
        let choice = item.given.as_ref()?.choice.as_str();
        use crate::turn::answers::{AGAIN, ALLOW, ALWAYS, OUTSIDE};
        matches!(choice, ALLOW | ALWAYS | AGAIN | OUTSIDE).then_some(Self(()))
    }

    /// The same for a command: what was approved must be what would run, to the last word.
    pub(crate) fn of_run(item: &crate::record::Item, run: &CommandRun) -> Option<Self> {
        let approved = item.given.as_ref()?.fingerprint.as_deref();
        Self::of(item).filter(|_| approved == Some(fingerprint(run).as_str()))
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

/// May this be done? `writes`: what it would make of the files, once that is known.
pub(crate) fn judge(session: &Session, active: &Active, errand: &Errand, writes: Option<&[FileWrite]>) -> Ruling {
    let settings = &active.request.settings;
    let folder = session.folder();
    // Rules name files without detours, and `docs/*` must not allow `docs/../.env`.
    let places: Vec<String> = match errand {
        Errand::Change(change) => change.paths().iter().map(|path| plain(path, folder)).collect(),
        Errand::Look(look) => secret_in(look).map(|path| plain(path, folder)).into_iter().collect(),
        _ => Vec::new(),
    };
    let place = places.first().map_or("", String::as_str);
    let (tool, subject) = match errand {
        Errand::Look(_) if !places.is_empty() => ("read_file", place),
        Errand::Look(_) | Errand::Stored { .. } | Errand::Steps(_) | Errand::Ask { .. } | Errand::Plan(_) => {
            return Ruling::Go(Permit(Approval::Setting));
        }
        Errand::Fetch { host, .. } => ("fetch_url", host.as_str()),
        Errand::Change(Change::Delete { .. }) => ("delete_file", place),
        Errand::Change(Change::Move { .. }) => ("move_file", place),
        Errand::Change(_) => ("edit_file", place),
        Errand::Run { command, outside, .. } if outside.is_some() => (OUTSIDE, command.trim()),
        Errand::Run { command, .. } => ("run_command", command.trim()),
    };
    let acts = matches!(errand, Errand::Change(_) | Errand::Run { .. });
    if acts && active.path() == Some(RouteDecision::Plan) {
        return Ruling::Refuse {
            reason: "This is plan mode: nothing is changed or run. Say what you would do.".into(),
        };
    }
    // A command is more than its text: `cargo test *` must not allow `cargo test; rm x`. What such a
    // rule says of commands, the policy works out; rules about other things are about plain subjects.
    let by_text =
        |rule: &&Rule| !(matches!(errand, Errand::Run { .. }) && rule.pattern.ends_with('*') && rule.pattern != "*");
    let delicate = places.iter().find_map(|place| guard(place));
    let is_edit = matches!(errand, Errand::Change(Change::Edit(_)));
    // An edit that leaves nothing of a file deletes it, whatever it is called.
    let discards = is_edit && writes.unwrap_or_default().iter().any(FileWrite::discards);
    let unread = destroys_unread(session, errand, writes.unwrap_or_default());
    // A yes to everything was not meant for what is treated with care, and a yes about the one end of a move
    // says nothing about the other.
    // A yes to a command that deletes was a yes to that one time, unless a setting says otherwise.
    let deletes =
        matches!(errand, Errand::Run { command, .. } if !settings.remember_deletes && command::deletes(command));
    let is_meant = |rule: &&Rule| {
        by_text(rule)
            && !deletes
            && (delicate.is_none() || (rule.pattern != "*" && !matches!(errand, Errand::Change(Change::Move { .. }))))
    };
    let says = |verdict: RuleVerdict| {
        let about = |rule: &&Rule| {
            // What is refused or asked about in the sandbox is outside of it, too; what is allowed is not.
            let inside = tool == OUTSIDE && verdict != RuleVerdict::Allow;
            let covers = |subject: &str| {
                rule.covers(tool, subject, folder) || (inside && rule.covers("run_command", subject, folder))
            };
            // Both ends of a move count, unless it is to be allowed.
            let other = verdict != RuleVerdict::Allow && places.iter().any(|place| covers(place));
            // A yes to an edit of several files is a yes to each of them.
            let all = verdict != RuleVerdict::Allow || !is_edit || places.iter().all(|place| covers(place));
            rule.verdict == verdict && (covers(subject) || other) && all
        };
        session.rules().iter().filter(|rule| verdict != RuleVerdict::Allow || is_meant(rule)).find(about)
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
    if matches!(errand, Errand::Change(_)) && places.iter().any(|place| guard(place) == Some(Guard::Own)) {
        return Ruling::Refuse { reason: OWN.into() };
    }
    let here = || folder.map(str::to_owned);
    let rule = |pattern: &str| Rule {
        verdict: RuleVerdict::Allow,
        tool: tool.into(),
        pattern: pattern.into(),
        folder: here(),
    };
    let ask = |reason: String, pattern: &str| Ruling::Ask { reason, rule: rule(pattern) };
    let recovered = matches!(errand, Errand::Change(_)) && active.batch.as_ref().is_some_and(|batch| batch.recovered);
    if says(RuleVerdict::Ask).is_none() && !recovered {
        // The person has asked for exactly this; nobody else has a say in it.
        if matches!(errand, Errand::Change(Change::Save { .. })) && delicate.is_none() {
            return Ruling::Go(Permit(Approval::Answer));
        }
        if let Some(rule) = says(RuleVerdict::Allow) {
            return Ruling::Go(Permit(Approval::Rule { rule: rule.to_string() }));
        }
        if let Errand::Run { command, .. } = errand
            && !deletes
            && tool != OUTSIDE
            && let Some(rule) = allowed_by_prefix(session, active, command)
        {
            return Ruling::Go(Permit(Approval::Rule { rule }));
        }
        let by_setting = match errand {
            Errand::Change(_) if unread => false,
            Errand::Change(Change::Delete { .. }) if settings.confirm_deletes => false,
            Errand::Change(_) if discards && settings.confirm_deletes => false,
            Errand::Change(_) => settings.apply_files == Applying::Auto && delicate.is_none(),
            Errand::Run { .. } => {
                tool != OUTSIDE
                    && (settings.apply_commands == Applying::Auto || active.has_agreed())
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
        (Errand::Change(Change::Delete { .. }), _) if unread => {
            ask("a file would be deleted that the model has not read".into(), subject)
        }
        (Errand::Change(Change::Delete { .. }), _) => ask("a file would be deleted".into(), subject),
        (Errand::Change(_), _) if let Some(guard) = delicate => ask(guard.reason().into(), subject),
        (Errand::Change(_), _) if recovered => ask("it comes from a reply that was cut off".into(), subject),
        (Errand::Change(_), _) if discards => ask("a file would be deleted or emptied".into(), subject),
        (Errand::Change(_), _) if unread => ask(UNREAD.into(), subject),
        (Errand::Look(_), _) => ask(Guard::Secret.reason().into(), subject),
        (Errand::Run { outside: Some(why), .. }, _) => {
            ask(format!("it would run outside of the sandbox; the model says why: {why}"), subject)
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

/// The tool's name in rules about commands that run outside of the sandbox.
const OUTSIDE: &str = "run_outside";
/// Why a person is asked before a file is replaced whose content nobody has taken notice of.
pub(crate) const UNREAD: &str = "a file would be replaced that the model has not read";

/// Whether a file would be deleted or replaced whole that the model has never read. An edit is no such thing:
/// it names what it replaces; nor is a move, which keeps the content.
fn destroys_unread(session: &Session, errand: &Errand, writes: &[FileWrite]) -> bool {
    let replaces = matches!(errand, Errand::Change(Change::Delete { .. } | Change::Edit(Edit::WholeFile { .. })));
    let edits = matches!(errand, Errand::Change(Change::Edit(_)));
    writes.iter().any(|write| {
        let destroys = (replaces && write.before.is_some()) || (edits && write.discards());
        destroys && session.mark(&write.path).is_none()
    })
}

/// What the command policy needs to know.
pub(crate) fn policy(session: &Session, active: &Active) -> Policy {
    command_policy(&active.request.settings, session.rules(), session.folder().unwrap_or_default())
}

/// What commands in a folder are judged by, with these settings and rules: a session and `check-command` alike.
pub fn command_policy(settings: &RunSettings, rules: &[Rule], folder: &str) -> Policy {
    let mut policy = Policy::new(folder, settings.machine.home.clone());
    if let Some(allow) = &settings.commands_allowed {
        policy = policy.only(allow.clone());
    }
    let prefixes =
        |verdict: RuleVerdict| command_prefixes(rules, Some(folder).filter(|folder| !folder.is_empty()), verdict);
    policy.ask = prefixes(RuleVerdict::Ask);
    policy.deny = prefixes(RuleVerdict::Deny);
    policy.ask.extend(settings.commands_asked.iter().cloned());
    policy.deny.extend(settings.commands_denied.iter().cloned());
    policy.plain = settings.plain_prefix;
    policy.own.extend(settings.machine.own.iter().cloned());
    policy.ports.extend(&settings.machine.ports);
    policy.sandboxed = settings.sandbox != Sandbox::Off;
    policy
}

/// Beginnings of commands that the person's rules name.
fn prefixes(session: &Session, verdict: RuleVerdict) -> Vec<String> {
    command_prefixes(session.rules(), session.folder(), verdict)
}

/// Beginnings of commands that rules name for a folder. A rule without `*` names one command, not a beginning.
pub fn command_prefixes(rules: &[Rule], folder: Option<&str>, verdict: RuleVerdict) -> Vec<String> {
    let here = |rule: &&Rule| rule.folder.is_none() || rule.folder.as_deref() == folder;
    let about = |rule: &&Rule| rule.tool == "run_command" && rule.verdict == verdict;
    let stem = |rule: &Rule| Some(rule.pattern.strip_suffix('*')?.trim().to_owned()).filter(|stem| !stem.is_empty());
    rules.iter().filter(about).filter(here).filter_map(stem).collect()
}

/// The rule by whose beginning a command may run, if the policy finds every part of it covered.
fn allowed_by_prefix(session: &Session, active: &Active, command: &str) -> Option<String> {
    let allow = prefixes(session, RuleVerdict::Allow);
    if allow.is_empty() {
        return None;
    }
    // The person's own rule counts outside of the sandbox too: they have said so themselves.
    let policy = Policy { sandboxed: true, ..policy(session, active).only(allow) };
    let verdict = command::judge(command, &policy);
    (verdict.decision == Decision::Auto).then(|| verdict.rule.unwrap_or_else(|| "a rule".into()))
}

/// The parts of a path, lower case: file systems differ in whether case counts.
fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase)
}

/// Files that are treated with more care than others. `docs/decisions/0015-paths.md` has the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// The program's own settings in the folder are no model's business.
    Own,
    /// Version control runs programs from there.
    Versions,
    /// Other programs run what they say: shells at their start, editors, whoever builds.
    Runs,
    /// Keys and passwords.
    Secret,
}

const OWN: &str = "Files in .trimtab are the user's own settings; they cannot be changed from here.";

impl Guard {
    fn reason(self) -> &'static str {
        match self {
            Guard::Own => OWN,
            Guard::Versions => "it belongs to the version control, which runs programs from there",
            Guard::Runs => "it decides what other programs run",
            Guard::Secret => "it usually holds keys or passwords",
        }
    }
}

/// How a path is guarded: by the strictest of its parts. The names are those that commands are judged by.
fn guard(path: &str) -> Option<Guard> {
    let any = |is: fn(&str) -> bool| parts(path).any(|part| is(&part));
    if any(|part| part == ".trimtab") {
        return Some(Guard::Own);
    }
    if any(|part| matches!(part, ".git" | ".hg" | ".svn" | ".jj" | ".bzr" | "git~1")) {
        return Some(Guard::Versions);
    }
    if any(names::decides_what_runs) {
        return Some(Guard::Runs);
    }
    any(names::is_secret).then_some(Guard::Secret)
}

/// The file with secrets that a look names, if it names one. A search through a folder passes them by.
pub(crate) fn secret_in(look: &Look) -> Option<&str> {
    let named = match look {
        Look::Read { path, .. } | Look::Search { path, .. } => path,
        // Names of files are no secrets; what a page holds is asked about by its host.
        Look::List { .. } | Look::Glob { .. } | Look::Fetch { .. } => return None,
    };
    // The folder's own settings may be read: keys are not kept there.
    parts(named).any(|part| part != ".trimtab" && names::is_secret(&part)).then_some(named.as_str())
}

/// A path without detours in its spelling, relative to the folder, as rules name it.
fn plain(path: &str, folder: Option<&str>) -> String {
    let below = |folder: &str| path.strip_prefix(folder).filter(|rest| rest.starts_with('/'));
    let inside = folder.and_then(below).unwrap_or(path);
    let mut plain: Vec<&str> = Vec::new();
    for part in inside.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain.join("/")
}

/// Whether a rule lets pages of a host be fetched.
pub(crate) fn may_fetch(session: &Session, host: &str) -> bool {
    let says = |verdict: RuleVerdict| {
        session.rules().iter().any(|rule| rule.verdict == verdict && rule.covers("fetch_url", host, session.folder()))
    };
    says(RuleVerdict::Allow) && !says(RuleVerdict::Deny) && !says(RuleVerdict::Ask)
}

//! May this be done? One place answers, from the person's rules, settings and mode. It alone vouches
//! for approvals.

mod deeds;

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::sensitive_paths;
use trimtab_vocab::{
    Applying, Approval, ApprovalClass, Approved, CallId, CommandClass, CommandPlan, CommandRun, ControlFile, FilePlan,
    FileSet, FileWrite, Machine, PersonDecision, ReadOp, Rule, RuleVerdict, RunSettings, Sandbox, control_file,
};

use crate::ProposedChange;
use crate::proposal::command::{self, CommandDecision, Policy};
use crate::record::{BatchItem, Progress, RunningRequest, Session};
use crate::tools::{ToolAction, remark};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ruling {
    /// Yes, and by what.
    Go(Permit),
    /// Somebody must say so.
    Ask {
        /// What is asked about, which says who may answer.
        class: ApprovalClass,
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
pub(crate) struct Permit {
    by: Approval,
    /// A person decided this very thing: only with it a command leaves the sandbox.
    person: Option<PersonDecision>,
}

impl Permit {
    fn standing(by: Approval) -> Self {
        Self { by, person: None }
    }

    /// A permission of this class was answered with yes. Some classes only a person can answer.
    pub(crate) fn answered(answer: &AllowedByAnswer, class: ApprovalClass) -> Option<Self> {
        let person = answer.person;
        (person.is_some() || !class.needs_person()).then_some(Self { by: Approval::Answer, person })
    }

    /// A change that was approved and begun before: what is recorded of it says so.
    pub(crate) fn recorded(session: &Session, call: &CallId) -> Option<Self> {
        let item = session.active()?.batch.as_ref()?.item(call)?;
        (item.progress == Progress::Acting && item.writes.is_some()).then_some(Self::standing(Approval::Answer))
    }

    /// Whether no person approved this very thing: a setting, a wide rule or `--approve auto` says yes. A command then
    /// gets the fence of its class, which is what keeps secrets and control files from it.
    pub(crate) fn is_standing(&self) -> bool {
        self.person.is_none()
    }

    /// Whether a question was answered, by whomever.
    pub(crate) fn is_answer(&self) -> bool {
        self.by == Approval::Answer
    }

    /// The plan for a set of files that may be written.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn files(self, set: FileSet) -> FilePlan {
        FilePlan::new(Approved::witness(set, self.by))
    }

    /// The plan for a command that may run. Outside of the sandbox, a person must have decided so; `settings` says so
    /// where they have switched the sandbox off themselves.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn command(self, run: CommandRun, settings: Sandbox) -> Option<CommandPlan> {
        let fingerprint = fingerprint(&run);
        let person = self.person.or_else(|| (settings == Sandbox::Off).then(PersonDecision::witness));
        let approved = Approved::witness(run, self.by);
        let plan = match person {
            Some(person) => Some(CommandPlan::unfenced(approved, person)),
            None => CommandPlan::fenced(approved),
        };
        plan.map(|plan| plan.named(fingerprint))
    }
}

/// The hash that an approval of a command names.
pub(crate) fn fingerprint(run: &CommandRun) -> String {
    blake3::hash(run.sealed().as_bytes()).to_hex().to_string()
}

/// A person changes files with a command of their own: there is nobody else to ask. What no one may
/// change from here is refused all the same.
pub fn user_initiated(set: FileSet) -> Result<FilePlan, String> {
    match set.writes.iter().any(|write| guard(&write.path) == Some(Guard::Control(ControlFile::Own))) {
        true => Err(OWN.into()),
        false => Ok(Permit::standing(Approval::Answer).files(set)),
    }
}

/// Why a file must be named by its own path: links on the way to it hide that it is one of those that are
/// treated with more care. `real` is where `path` leads in the folder when they are followed.
pub fn hidden_by_links(path: &str, folder: &str, real: &str) -> Option<String> {
    let (named, meant) = (guard(&plain(path, Some(folder))), guard(real));
    (meant.is_some() && meant != named)
        .then(|| format!("{path} leads to {real} through a link. Name that file by its own path."))
}

/// Proof that a tool call was allowed by an answer: read off what was recorded of it.
pub(crate) struct AllowedByAnswer {
    person: Option<PersonDecision>,
}

impl AllowedByAnswer {
    /// The recorded answer, if it allows.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads off the record who answered")]
    pub(crate) fn from_item(item: &BatchItem) -> Option<Self> {
        let given = item.given.as_ref()?;
        use crate::record::names::choice::{AGAIN, ALLOW, ALWAYS, OUTSIDE, WIDEN};
        let person = given.by_person.then(PersonDecision::witness);
        matches!(given.choice.as_str(), ALLOW | ALWAYS | AGAIN | OUTSIDE | WIDEN).then_some(Self { person })
    }

    /// The same for a command: what was approved must be what would run, to the last word.
    pub(crate) fn of_run(item: &BatchItem, run: &CommandRun) -> Option<Self> {
        let approved = item.given.as_ref()?.fingerprint.as_deref();
        Self::from_item(item).filter(|_| approved == Some(fingerprint(run).as_str()))
    }
}

/// Whether the folder may be read and worked in at all.
pub(crate) fn is_trusted(session: &Session, active: &RunningRequest) -> bool {
    let settings = &active.request.settings;
    let ruled = session.folder().is_some_and(|folder| trusts(session.rules(), folder, &settings.machine));
    settings.trusted || active.trust == Some(true) || ruled
}

impl Session {
    /// Whether the folder may be read and worked in, by what is known of the request that is worked on, or else of
    /// the one that would go on next.
    pub fn is_trusted(&self) -> bool {
        let request = self.foremost();
        request.is_some_and(|active| is_trusted(self, active))
    }
}

/// Whether a rule trusts a folder. One that holds more than a project is trusted only by a rule that spells it out.
pub fn trusts(rules: &[Rule], folder: &str, machine: &Machine) -> bool {
    let spelled = is_broad(folder, machine);
    let subject = if spelled { folder } else { "*" };
    let covers = |rule: &Rule| rule.covers(Rule::TRUST, subject, Some(folder)) && (!spelled || rule.pattern == folder);
    rules.iter().any(|rule| rule.verdict == RuleVerdict::Allow && covers(rule))
}

/// Whether trusting this folder trusts more than a project: it is the home folder, the root, or a folder above the
/// program's own data.
pub fn is_broad(folder: &str, machine: &Machine) -> bool {
    let holds = |inner: &str| {
        let inner = inner.trim_end_matches('/');
        !inner.is_empty() && (inner == folder || inner.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    };
    let folder = folder.trim_end_matches('/');
    folder.is_empty() || holds(&machine.home) || machine.own.iter().any(|own| holds(own))
}

/// What is known of the files that a change would make.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Prospect<'a> {
    pub(crate) writes: &'a [FileWrite],
    /// Those that lie in a version-control area, as the folder's structure shows.
    pub(crate) versions: &'a [String],
}

impl<'a> Prospect<'a> {
    pub(crate) fn from_item(item: &'a BatchItem) -> Self {
        Self { writes: item.writes.as_deref().unwrap_or_default(), versions: &item.versions }
    }
}

/// May this be done?
pub(crate) fn judge(session: &Session, active: &RunningRequest, errand: &ToolAction, prospect: Prospect<'_>) -> Ruling {
    let settings = &active.request.settings;
    let folder = session.folder();
    // Rules name files without detours, and `docs/*` must not allow `docs/../.env`.
    let places: Vec<String> = match errand {
        ToolAction::Change(change) => change.paths().iter().map(|path| plain(path, folder)).collect(),
        ToolAction::Look(look) => secret_in(look).map(|path| plain(path, folder)).into_iter().collect(),
        _ => Vec::new(),
    };
    let place = places.first().map_or("", String::as_str);
    let (tool, subject) = match errand {
        ToolAction::Look(_) if !places.is_empty() => ("read_file", place),
        ToolAction::Look(_)
        | ToolAction::Stored { .. }
        | ToolAction::Steps(_)
        | ToolAction::Ask { .. }
        | ToolAction::Plan(_) => {
            return Ruling::Go(Permit::standing(Approval::Setting));
        }
        ToolAction::Fetch { host, .. } => ("fetch_url", host.as_str()),
        ToolAction::Change(ProposedChange::Delete { .. }) => (deeds::DELETE, place),
        ToolAction::Change(ProposedChange::Move { .. }) => (deeds::MOVE, place),
        ToolAction::Change(_) => (deeds::EDIT, place),
        ToolAction::Run { command, outside, .. } if outside.is_some() => (OUTSIDE, command.trim()),
        ToolAction::Run { command, .. } => ("run_command", command.trim()),
    };
    let acts = matches!(errand, ToolAction::Change(_) | ToolAction::Run { .. });
    if acts && active.path() == Some(RouteDecision::Plan) {
        return Ruling::Refuse {
            reason: "This is plan mode: nothing is changed or run. Say what you would do.".into(),
        };
    }
    // A command is more than its text: `cargo test *` must not allow `cargo test; rm x`. What such a
    // rule says of commands, the policy works out; rules about other things are about plain subjects.
    let by_text = |rule: &&Rule| {
        !(matches!(errand, ToolAction::Run { .. }) && rule.pattern.ends_with('*') && rule.pattern != "*")
    };
    let is_edit = matches!(errand, ToolAction::Change(ProposedChange::Edit(_)));
    let broad = folder.is_some_and(|folder| is_broad(folder, &settings.machine));
    let delicate = match prospect.versions.is_empty() {
        true => places.iter().find_map(|place| guard_in(place, broad)),
        false => Some(Guard::Control(ControlFile::Versions)),
    };
    let unread = deeds::destroys_unread(session, errand, prospect.writes);
    let also = deeds::besides_editing(errand, prospect.writes, folder);
    let is_deleted = |place: &str| also.iter().any(|(tool, deleted)| *tool == deeds::DELETE && deleted == place);
    let empties = also.iter().any(|(tool, _)| *tool == deeds::DELETE);
    let class = class_of(errand, delicate, unread, empties);
    // A yes to a command that deletes was a yes to that one time, unless a setting says otherwise.
    let deletes =
        matches!(errand, ToolAction::Run { command, .. } if !settings.remember_deletes && command::deletes(command));
    // A yes to many things was not meant for what only a person can allow: there a rule counts as their answer
    // only if it names exactly this. A yes about the one end of a move says nothing about the other.
    let is_meant = |rule: &&Rule| {
        let is_exact =
            !rule.pattern.ends_with('*') && !matches!(errand, ToolAction::Change(ProposedChange::Move { .. }));
        by_text(rule) && !deletes && (!class.needs_person() || is_exact)
    };
    let ruled = |verdict: RuleVerdict, tool: &str, subject: &str| {
        let counts = |rule: &&Rule| verdict != RuleVerdict::Allow || is_meant(rule);
        let about = |rule: &&Rule| rule.verdict == verdict && rule.covers(tool, subject, folder);
        session.rules().iter().filter(counts).find(about)
    };
    // What is refused or asked about counts for each file, for both ends of a move, for what an edit does besides
    // editing, and outside of the sandbox as inside.
    let objects = |verdict: RuleVerdict| {
        let also = also.iter().find_map(|(tool, place)| ruled(verdict, tool, place));
        let places = || places.iter().find_map(|place| ruled(verdict, tool, place));
        let inside = || (tool == OUTSIDE).then(|| ruled(verdict, "run_command", subject)).flatten();
        also.or_else(|| ruled(verdict, tool, subject)).or_else(places).or_else(inside)
    };
    // A yes to an edit of several files is a yes to each of them, and to all that is done to it.
    let needs: Vec<(&str, &str)> = match is_edit {
        true => {
            let edited = places.iter().filter(|place| !is_deleted(place)).map(|place| (tool, place.as_str()));
            also.iter().map(|(tool, place)| (*tool, place.as_str())).chain(edited).collect()
        }
        false => vec![(tool, subject)],
    };
    let yes = |(tool, subject): &(&'static str, &str)| ruled(RuleVerdict::Allow, tool, subject);
    let missing = needs.iter().find(|need| yes(need).is_none());
    if let Some(rule) = objects(RuleVerdict::Deny) {
        return Ruling::Refuse {
            reason: format!("The user has forbidden this once and for all ({rule}). Do not try it again."),
        };
    }
    let verdict = match errand {
        ToolAction::Run { command, .. } => Some(command::judge(command, &policy(session, active))),
        _ => None,
    };
    if let Some(verdict) = verdict.as_ref().filter(|verdict| verdict.decision == CommandDecision::Deny) {
        return Ruling::Refuse { reason: format!("This command is never run: {}.", verdict.reason) };
    }
    let is_own = |place: &String| guard(place) == Some(Guard::Control(ControlFile::Own));
    if matches!(errand, ToolAction::Change(_)) && places.iter().any(is_own) {
        return Ruling::Refuse { reason: OWN.into() };
    }
    let (tool, subject) = missing.copied().unwrap_or((tool, subject));
    let rule = |pattern: &str| Rule {
        verdict: RuleVerdict::Allow,
        tool: tool.into(),
        pattern: pattern.into(),
        folder: folder.map(str::to_owned),
    };
    let ask = |reason: String, pattern: &str| Ruling::Ask { class, reason, rule: rule(pattern) };
    let recovered =
        matches!(errand, ToolAction::Change(_)) && active.batch.as_ref().is_some_and(|batch| batch.recovered);
    if objects(RuleVerdict::Ask).is_none() && !recovered {
        // The person has asked for exactly this; nobody else has a say in it.
        if matches!(errand, ToolAction::Change(ProposedChange::Save { .. })) && delicate.is_none() {
            return Ruling::Go(Permit::standing(Approval::Answer));
        }
        if let Some(rule) = needs.first().filter(|_| missing.is_none()).and_then(yes) {
            return Ruling::Go(by_rule(rule, class));
        }
        if let ToolAction::Run { command, .. } = errand
            && !deletes
            && tool != OUTSIDE
            && let Some(rule) = allowed_by_prefix(session, active, command)
        {
            return Ruling::Go(Permit::standing(Approval::Rule { rule }));
        }
        let by_setting = match errand {
            _ if class.needs_person() => false,
            ToolAction::Change(_) if class == ApprovalClass::Delete && settings.confirm_deletes => false,
            ToolAction::Change(_) => settings.apply_files == Applying::Auto,
            ToolAction::Run { .. } => verdict.as_ref().is_some_and(|verdict| runs_automatically(active, verdict)),
            _ => false,
        };
        if by_setting {
            return Ruling::Go(Permit::standing(Approval::Setting));
        }
    }
    match (errand, verdict) {
        (ToolAction::Fetch { host, .. }, _) => {
            let remark = remark(host).map(|place| format!(", and is in {place}")).unwrap_or_default();
            ask(format!("{host} has not been asked for anything yet{remark}"), subject)
        }
        (ToolAction::Change(ProposedChange::Delete { .. }), _) if unread => {
            ask("a file would be deleted that the model has not read".into(), subject)
        }
        (ToolAction::Change(ProposedChange::Delete { .. }), _) => ask("a file would be deleted".into(), subject),
        (ToolAction::Change(_), _) if let Some(guard) = delicate => ask(guard.reason().into(), subject),
        (ToolAction::Change(_), _) if empties => ask("a file would be deleted or emptied".into(), subject),
        (ToolAction::Change(_), _) if recovered => ask("it comes from a reply that was cut off".into(), subject),
        (ToolAction::Change(_), _) if unread => ask(UNREAD.into(), subject),
        (ToolAction::Look(_), _) => ask(Guard::Secret.reason().into(), subject),
        (ToolAction::Run { outside: Some(why), .. }, _) => {
            ask(format!("it would run outside the sandbox; the model says why: {why}"), subject)
        }
        (ToolAction::Run { .. }, Some(verdict)) => {
            let reason = match verdict.decision {
                CommandDecision::Auto => "commands are asked about (apply.commands)".to_owned(),
                _ => verdict.reason,
            };
            ask(reason, subject)
        }
        _ => ask("changes of files are asked about (apply.files)".into(), "*"),
    }
}

/// What an errand needs an approval for, which says who may give it.
fn class_of(errand: &ToolAction, delicate: Option<Guard>, unread: bool, empties: bool) -> ApprovalClass {
    match errand {
        ToolAction::Look(_) => ApprovalClass::Secret,
        ToolAction::Fetch { .. } => ApprovalClass::NewHost,
        ToolAction::Run { outside: Some(_), .. } => ApprovalClass::LeaveSandbox,
        ToolAction::Change(_) if unread => ApprovalClass::DeleteUnread,
        ToolAction::Change(_) if delicate == Some(Guard::Secret) => ApprovalClass::Secret,
        ToolAction::Change(_) if delicate.is_some() => ApprovalClass::ControlFile,
        ToolAction::Change(ProposedChange::Delete { .. }) => ApprovalClass::Delete,
        ToolAction::Change(_) if empties => ApprovalClass::Delete,
        ToolAction::Change(_) => ApprovalClass::Edit,
        _ => ApprovalClass::Command,
    }
}

/// A person's rule allows it. Where only a person can, the rule names exactly this, and is their recorded decision.
#[expect(clippy::disallowed_methods, reason = "a rule that names exactly this is a person's decision")]
fn by_rule(rule: &Rule, class: ApprovalClass) -> Permit {
    let names_it = rule.pattern != "*" && !rule.pattern.ends_with('*');
    let person = (class.needs_person() || names_it).then(PersonDecision::witness);
    Permit { by: Approval::Rule { rule: rule.to_string() }, person }
}

/// Whether a command runs without a question. One that only reads does, as other reads do; one that builds or tests
/// does where a setting or an agreement says so. What an answer proposes waits until somebody runs it.
fn runs_automatically(active: &RunningRequest, verdict: &command::CommandVerdict) -> bool {
    let is_proposed = active.batch.as_ref().is_some_and(|batch| batch.of_series);
    let by_class = verdict.class == CommandClass::Read && !is_proposed;
    let is_set = active.request.settings.apply_commands == Applying::Auto || active.has_agreed();
    verdict.decision == CommandDecision::Auto && (by_class || is_set)
}

/// The tool's name in rules about commands that run outside of the sandbox.
const OUTSIDE: &str = "run_outside";
/// Why a person is asked before a file is replaced whose content nobody has taken notice of.
pub(crate) const UNREAD: &str = "a file would be replaced that the model has not read";

/// What the command policy needs to know.
pub(crate) fn policy(session: &Session, active: &RunningRequest) -> Policy {
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
fn allowed_by_prefix(session: &Session, active: &RunningRequest, command: &str) -> Option<String> {
    let allow = prefixes(session, RuleVerdict::Allow);
    if allow.is_empty() {
        return None;
    }
    // The person's own rule counts outside of the sandbox too: they have said so themselves.
    let policy = Policy { sandboxed: true, ..policy(session, active).only(allow) };
    let verdict = command::judge(command, &policy);
    (verdict.decision == CommandDecision::Auto).then(|| verdict.rule.unwrap_or_else(|| "a rule".into()))
}

/// The parts of a path, lower case: file systems differ in whether case counts.
fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase)
}

/// Files that are treated with more care than others. `docs/decisions/0015-paths.md` has the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// Other programs run or obey it.
    Control(ControlFile),
    /// A hidden file of a home folder or of one that holds more than a project: some program reads it there.
    Hidden,
    /// Keys and passwords.
    Secret,
}

const OWN: &str = "Files in .trimtab are the user's own settings; they cannot be changed from here.";

impl Guard {
    fn reason(self) -> &'static str {
        match self {
            Guard::Control(ControlFile::Own) => OWN,
            Guard::Control(control) => control.reason(),
            Guard::Hidden => "programs read hidden files of this folder when they start",
            Guard::Secret => "it usually holds keys or passwords",
        }
    }
}

/// How a path is guarded: by the strictest of its parts. The names are those that commands are fenced by.
fn guard(path: &str) -> Option<Guard> {
    let secret = || parts(path).any(|part| sensitive_paths::is_secret(&part)).then_some(Guard::Secret);
    control_file(path).map(Guard::Control).or_else(secret)
}

/// The same in a folder of which every hidden file is a control file, if it is `broad`.
fn guard_in(path: &str, broad: bool) -> Option<Guard> {
    let hidden = || (broad && parts(path).any(|part| part.starts_with('.'))).then_some(Guard::Hidden);
    guard(path).or_else(hidden)
}

/// The file with secrets that a look names, if it names one. A search through a folder passes them by.
pub(crate) fn secret_in(look: &ReadOp) -> Option<&str> {
    let named = match look {
        ReadOp::Read { path, .. } | ReadOp::Search { path, .. } => path,
        // Names of files are no secrets; what a page holds is asked about by its host.
        ReadOp::List { .. } | ReadOp::Glob { .. } | ReadOp::Fetch { .. } => return None,
    };
    // The folder's own settings may be read: keys are not kept there.
    parts(named).any(|part| part != ".trimtab" && sensitive_paths::is_secret(&part)).then_some(named.as_str())
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
        // A yes counts only for the very host that a person named.
        let counts = |rule: &Rule| verdict != RuleVerdict::Allow || rule.pattern == host;
        let covers = |rule: &Rule| rule.verdict == verdict && rule.covers("fetch_url", host, session.folder());
        session.rules().iter().any(|rule| counts(rule) && covers(rule))
    };
    says(RuleVerdict::Allow) && !says(RuleVerdict::Deny) && !says(RuleVerdict::Ask)
}

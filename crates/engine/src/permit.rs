//! Permissions: decides whether an action may run, from the user's rules, settings, and mode. Only this module issues
//! approvals.

mod case;
mod commands;
mod deeds;
mod doubt;
mod read_command;

pub(crate) use commands::command_policy;
pub use commands::{CommandRuling, check_as_check, check_command, check_hosts, unanswered_by};
pub use read_command::read_command;

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::sensitive_paths;
use trimtab_vocab::wording::{PermissionReason, Refusal};
use trimtab_vocab::{
    Approval, ApprovalClass, Approved, Autonomy, CallId, CheckSource, CommandClass, CommandPlan, CommandRun,
    ControlFile, FileLoss, FilePlan, FileSet, FileWrite, HostPolicy, ListedCheck, Machine, PersonDecision, ReadOp,
    Rule, RuleVerdict, Sandbox, ServerCall, ServerCallPlan, control_file,
};

use crate::proposal::command::{CommandDecision, Policy};
use crate::record::{Batch, BatchItem, Progress, RunningRequest, Session, WriteConcerns};
use crate::tools::ToolAction;
use case::{PermitCase, PermitSubject};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ruling {
    /// Yes, and by what.
    Go(Permit),
    /// The user must decide.
    Ask {
        /// The proposed change, which says who may answer.
        class: ApprovalClass,
        reason: PermissionReason,
        /// The rule that would make the question unnecessary.
        rule: Rule,
    },
    /// No.
    Refuse(Refusal),
}

/// A yes. It cannot be made anywhere else.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Permit {
    by: Approval,
    /// The user decided this very thing: only with it a command leaves the sandbox.
    person: Option<PersonDecision>,
}

impl Permit {
    fn standing(by: Approval) -> Self {
        Self { by, person: None }
    }

    /// What needs no permission, because it changes nothing and shows nothing that is guarded.
    pub(crate) fn unneeded(action: &ToolAction) -> Option<Self> {
        PermitSubject::new(action, None).is_none().then(|| Self::standing(Approval::Setting))
    }

    /// A permission of this class was answered with yes. Some classes only the user can answer.
    pub(crate) fn answered(answer: &AllowedByAnswer, class: ApprovalClass) -> Option<Self> {
        let person = answer.person;
        (person.is_some() || !class.needs_person()).then_some(Self { by: Approval::Answer, person })
    }

    /// A change that was approved and started before, according to the record.
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

    /// Whether a standing rule of the user says yes.
    pub(crate) fn is_rule(&self) -> bool {
        matches!(self.by, Approval::Rule { .. })
    }

    /// The plan for a set of files that may be written.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn files(self, set: FileSet) -> FilePlan {
        FilePlan::new(Approved::witness(set, self.by))
    }

    /// The plan for a call of a server's tool that may be made.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
    pub(crate) fn server_call(self, call: ServerCall) -> ServerCallPlan {
        ServerCallPlan::new(Approved::witness(call, self.by))
    }

    /// The plan for a command that may run. Outside of the sandbox, the user must have decided that; `settings` says
    /// so if they have switched the sandbox off.
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

/// The plan for a hook. Outside of the sandbox it is the user's own, which they have put into their own file.
#[expect(clippy::disallowed_methods, reason = "this is the one place that vouches for an approval")]
pub(crate) fn hook(run: CommandRun) -> Option<CommandPlan> {
    let fingerprint = fingerprint(&run);
    let is_own = run.sandbox == Sandbox::Off;
    let approved = Approved::witness(run, Approval::Setting);
    let plan = match is_own {
        true => Some(CommandPlan::unfenced(approved, PersonDecision::witness())),
        false => CommandPlan::fenced(approved),
    };
    plan.map(|plan| plan.named(fingerprint))
}

/// The hash that an approval of a command names.
pub(crate) fn fingerprint(run: &CommandRun) -> String {
    blake3::hash(run.sealed().as_bytes()).to_hex().to_string()
}

/// The plan for a change that the user makes with their own command, so there is no one to ask. Trimtab's own
/// files are refused anyway.
pub fn user_initiated(set: FileSet) -> Result<FilePlan, Refusal> {
    match set.writes.iter().any(|write| guard(&write.path) == Some(Guard::Control(ControlFile::Own))) {
        true => Err(Refusal::OwnFiles),
        false => Ok(Permit::standing(Approval::Answer).files(set)),
    }
}

/// Why a file must be named by its own path: links on the way to it hide that it is one of those that are
/// treated with more care. `real` is where `path` leads in the folder when they are followed.
pub fn hidden_by_links(path: &str, folder: &str, real: &str) -> Option<Refusal> {
    let (named, meant) = (guard(&plain(path, Some(folder))), guard(real));
    (meant.is_some() && meant != named).then(|| Refusal::ThroughLink(path.to_owned(), real.to_owned()))
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
        use crate::record::names::choice::{AGAIN, ALLOW, OUTSIDE, WIDEN, is_always};
        let person = given.by_person.then(PersonDecision::witness);
        let choice = given.choice.as_str();
        (is_always(choice) || matches!(choice, ALLOW | AGAIN | OUTSIDE | WIDEN)).then_some(Self { person })
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
    settings.trust.trusted || active.trust.answer == Some(true) || ruled
}

impl Session {
    /// Whether the folder may be used, according to the running request, or else to the one that would continue next.
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

/// The known facts about the files of a change.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Prospect<'a> {
    pub(crate) writes: &'a [FileWrite],
    /// Those that belong to version control, by the folder's structure.
    pub(crate) versions: &'a [String],
    /// Those of which most would be lost.
    pub(crate) losses: &'a [FileLoss],
    /// Those with unsaved changes in the user's editor.
    pub(crate) unsaved: &'a [String],
    /// Who names the command, if it is a check after edits.
    pub(crate) check: Option<CheckSource>,
}

impl<'a> Prospect<'a> {
    pub(crate) fn from_item(item: &'a BatchItem) -> Self {
        let writes = item.writes.as_deref().unwrap_or_default();
        let WriteConcerns { versions, losses, unsaved } = &item.concerns;
        Self { writes, versions, losses, unsaved, check: item.check() }
    }
}

/// May this be done?
pub(crate) fn judge(session: &Session, active: &RunningRequest, action: &ToolAction, prospect: Prospect<'_>) -> Ruling {
    judge_at(session.autonomy_for(&active.request.settings), session, active, action, prospect)
}

/// The same at a level of autonomy.
pub(crate) fn judge_at(
    level: Autonomy,
    session: &Session,
    active: &RunningRequest,
    action: &ToolAction,
    prospect: Prospect<'_>,
) -> Ruling {
    let acts = match action {
        ToolAction::Change(_) | ToolAction::Run { .. } => true,
        ToolAction::CallServer(call) => !call.tool.read_only,
        _ => false,
    };
    if acts && active.path() == Some(RouteDecision::Plan) {
        return Ruling::Refuse(Refusal::PlanMode);
    }
    if let ToolAction::Run { command, outside: None, .. } = action {
        let case = commands::CommandCase { check: prospect.check, ..command_case(level, session, active) };
        return case.judge(command).into_ruling(command, session.rules_folder());
    }
    let Some(case) = PermitCase::new(level, session, active, action, prospect) else {
        return Ruling::Go(Permit::standing(Approval::Setting));
    };
    match case.refusal() {
        Some(refusal) => Ruling::Refuse(refusal),
        None => case.permit().map_or_else(|| case.question(), Ruling::Go),
    }
}

/// What becomes of a command of a series once the user wants all of them run.
pub(crate) fn judge_agreed(session: &Session, active: &RunningRequest, command: &str) -> Ruling {
    if active.path() == Some(RouteDecision::Plan) {
        return Ruling::Refuse(Refusal::PlanMode);
    }
    let level = session.autonomy_for(&active.request.settings);
    let case = commands::CommandCase { agreed: true, ..command_case(level, session, active) };
    case.judge(command).into_ruling(command, session.rules_folder())
}

/// The user's rule allows it. Where only the user can, the rule names exactly this, and is their recorded decision.
#[expect(clippy::disallowed_methods, reason = "a rule that names exactly this is a person's decision")]
fn by_rule(rule: &Rule, class: ApprovalClass) -> Permit {
    let names_it = rule.pattern != "*" && !rule.pattern.ends_with('*');
    let person = (class.needs_person() || names_it).then(PersonDecision::witness);
    Permit { by: Approval::Rule { rule: rule.to_string() }, person }
}

/// Whether what the last reply wants was written as text, or comes from a damaged reply.
fn is_doubtful(active: &RunningRequest) -> bool {
    let is_doubtful = |batch: &Batch| batch.unasked_text || batch.mended || batch.recovered;
    active.batch.as_ref().is_some_and(is_doubtful) || active.series.as_ref().is_some_and(|series| series.mended)
}

/// The level of autonomy for the commands of the last reply. What is doubtful is not trusted any further than usual.
pub(crate) fn command_level(session: &Session, active: &RunningRequest) -> Autonomy {
    let level = session.autonomy_for(&active.request.settings);
    if is_doubtful(active) { level.min(Autonomy::Standard) } else { level }
}

fn command_case<'a>(level: Autonomy, session: &'a Session, active: &'a RunningRequest) -> commands::CommandCase<'a> {
    commands::CommandCase {
        level: if is_doubtful(active) { level.min(Autonomy::Standard) } else { level },
        settings: &active.request.settings,
        rules: session.rules(),
        folder: session.folder(),
        rules_folder: session.rules_folder(),
        agreed: active.has_agreed(),
        proposed: active.batch.as_ref().is_some_and(|batch| batch.of_series),
        check: None,
    }
}

/// Whether a check is denied, by a rule or because nothing runs such a command.
pub(crate) fn refuses_check(session: &Session, active: &RunningRequest, check: &ListedCheck) -> bool {
    let level = session.autonomy_for(&active.request.settings);
    let case = commands::CommandCase { check: Some(check.source), ..command_case(level, session, active) };
    let is_plan = active.path() == Some(RouteDecision::Plan);
    is_plan || case.judge(&check.command).decision == CommandDecision::Deny
}

/// The rule for every use of a command's program that its table knows to be safe; none if there is no such rule, or if it
/// would not let exactly this line run.
pub(crate) fn prefix_rule(session: &Session, active: &RunningRequest, line: &str) -> Option<Rule> {
    command_case(session.autonomy_for(&active.request.settings), session, active).prefix_rule(line)
}

/// What a command may reach from the network of its session; none if it has a network of its own, which is all that a
/// read-only command needs.
pub(crate) fn host_policy(session: &Session, active: &RunningRequest, run: &CommandRun) -> Option<HostPolicy> {
    if run.sandbox == Sandbox::Off || run.automatic == Some(CommandClass::Read) {
        return None;
    }
    let access = active.request.settings.commands.network;
    let policy = HostPolicy::new(access, session.rules(), session.rules_folder());
    Some(HostPolicy { once: run.hosts.clone(), ..policy })
}

/// The tool's name in rules about commands that run outside of the sandbox.
const OUTSIDE: &str = "run_outside";

/// What the command policy needs to know.
pub(crate) fn policy(session: &Session, active: &RunningRequest) -> Policy {
    let (folder, rules_folder) = (session.folder().unwrap_or_default(), session.rules_folder().unwrap_or_default());
    command_policy(&active.request.settings, session.rules(), folder, rules_folder)
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

impl Guard {
    fn reason(self) -> PermissionReason {
        match self {
            Guard::Control(ControlFile::Own) => PermissionReason::OwnFiles,
            Guard::Control(control) => control.into(),
            Guard::Hidden => PermissionReason::Hidden,
            Guard::Secret => PermissionReason::Secret,
        }
    }
}

/// How a path is guarded: by the strictest of its parts. The names are those that commands are fenced by.
fn guard(path: &str) -> Option<Guard> {
    let secret = || sensitive_paths::has_secret(path).then_some(Guard::Secret);
    control_file(path).map(Guard::Control).or_else(secret)
}

/// The same in a folder of which every hidden file is a control file, if it is `broad`.
fn guard_in(path: &str, broad: bool) -> Option<Guard> {
    let hidden = || (broad && parts(path).any(|part| part.starts_with('.'))).then_some(Guard::Hidden);
    guard(path).or_else(hidden)
}

/// The file with secrets that a look names, if it names one. A search through a folder passes them by.
pub(crate) fn secret_in(op: &ReadOp) -> Option<&str> {
    let named = match op {
        ReadOp::Read { path, .. } | ReadOp::Search { path, .. } => path,
        // File names are not secrets, and fetching a page asks by host.
        ReadOp::List { .. } | ReadOp::Glob { .. } | ReadOp::Fetch { .. } | ReadOp::WebSearch { .. } => return None,
    };
    sensitive_paths::holds_keys(named).then_some(named.as_str())
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
        // A yes counts only for the very host that the user named.
        let counts = |rule: &Rule| verdict != RuleVerdict::Allow || rule.pattern == host;
        let covers = |rule: &Rule| rule.verdict == verdict && rule.covers("fetch_url", host, session.rules_folder());
        session.rules().iter().any(|rule| counts(rule) && covers(rule))
    };
    says(RuleVerdict::Allow) && !says(RuleVerdict::Deny) && !says(RuleVerdict::Ask)
}

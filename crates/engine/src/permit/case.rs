//! One permission case: the action's subject, what protects it, and what rules and settings say about it. Commands
//! that stay in the sandbox are decided in `commands`.

use trimtab_vocab::wording::{PermissionReason, Refusal};
use trimtab_vocab::{Applying, Approval, ApprovalClass, Autonomy, ControlFile, Rule, RuleVerdict};

use super::deeds::{self, Deed};
use super::doubt;
use super::{Guard, OUTSIDE, Permit, Prospect, Ruling, by_rule, guard, guard_in, is_broad, plain, policy, secret_in};
use crate::proposal::ProposedChange;
use crate::proposal::command::{self, CommandDecision};
use crate::record::{RunningRequest, Session, model_for};
use crate::tools::{ToolAction, WEB_SEARCH, remark};

/// The tool's name in rules about tools of MCP servers.
const SERVER: &str = "mcp";

/// What an action is about, in the words of rules.
pub(super) struct PermitSubject {
    tool: &'static str,
    /// What the tool is used on.
    on: String,
    /// Every file that is named. Rules name files without detours, and `docs/*` must not allow `docs/../.env`.
    places: Vec<String>,
}

impl PermitSubject {
    /// None: the action needs no permission.
    pub(super) fn new(action: &ToolAction, folder: Option<&str>) -> Option<Self> {
        let of_files = |tool: &'static str, places: Vec<String>| {
            let on = places.first().cloned().unwrap_or_default();
            Some(Self { tool, on, places })
        };
        match action {
            ToolAction::Read(op) => of_files("read_file", vec![plain(secret_in(op)?, folder)]),
            ToolAction::Change(change) => {
                let tool = match change {
                    ProposedChange::Delete { .. } => deeds::DELETE,
                    ProposedChange::Move { .. } => deeds::MOVE,
                    ProposedChange::Edit(_) | ProposedChange::Save { .. } | ProposedChange::Merge(_) => deeds::EDIT,
                };
                of_files(tool, change.paths().iter().map(|path| plain(path, folder)).collect())
            }
            ToolAction::Fetch { host, .. } => Some(Self { tool: "fetch_url", on: host.clone(), places: Vec::new() }),
            // One service answers all of them, so one yes may cover them.
            ToolAction::SearchWeb { .. } => Some(Self { tool: WEB_SEARCH, on: "web".to_owned(), places: Vec::new() }),
            ToolAction::CallServer(call) => Some(Self { tool: SERVER, on: call.subject(), places: Vec::new() }),
            ToolAction::Run { command, outside, .. } => {
                let tool = if outside.is_some() { OUTSIDE } else { "run_command" };
                Some(Self { tool, on: command.trim().to_owned(), places: Vec::new() })
            }
            ToolAction::Stored { .. }
            | ToolAction::ReadOutput { .. }
            | ToolAction::StopCommand { .. }
            | ToolAction::Steps(_)
            | ToolAction::Plan(_)
            | ToolAction::Ask { .. }
            | ToolAction::FindTool { .. }
            | ToolAction::UseSkill { .. }
            | ToolAction::Delegate(_)
            | ToolAction::WriteShared { .. }
            | ToolAction::ReadShared
            | ToolAction::Draw { .. } => None,
        }
    }
}

/// An action that needs a permission, and what is known of it.
pub(super) struct PermitCase<'a> {
    level: Autonomy,
    session: &'a Session,
    active: &'a RunningRequest,
    action: &'a ToolAction,
    subject: PermitSubject,
    guard: Option<Guard>,
    /// A file would be lost that the model has never read.
    unread: bool,
    /// What an edit does besides editing.
    also: Vec<Deed>,
    class: ApprovalClass,
    /// Why it asks regardless of the settings for edits.
    doubt: Option<PermissionReason>,
    /// A yes to it is a yes to this one time: it is a command that deletes, and no setting says otherwise, a change of a
    /// file with unsaved changes, or the server of the tool says that it may destroy something.
    is_once: bool,
}

impl<'a> PermitCase<'a> {
    /// None: the action needs no permission.
    pub(super) fn new(
        level: Autonomy,
        session: &'a Session,
        active: &'a RunningRequest,
        action: &'a ToolAction,
        prospect: Prospect<'_>,
    ) -> Option<Self> {
        let folder = session.folder();
        let settings = &active.request.settings;
        let subject = PermitSubject::new(action, folder)?;
        let broad = folder.is_some_and(|folder| is_broad(folder, &settings.machine));
        // An MCP server runs outside of the sandbox what stands in its files, and so does a hook of the user.
        let is_run = |place: &str| session.servers().runs(place) || session.hooks_run(place);
        let served = |place: &str| is_run(place).then_some(Guard::Control(ControlFile::Program));
        let guard = match prospect.versions.is_empty() {
            true => subject.places.iter().find_map(|place| guard_in(place, broad).or_else(|| served(place))),
            false => Some(Guard::Control(ControlFile::Versions)),
        };
        let unread = deeds::destroys_unread(session, action, prospect.writes);
        let also = deeds::besides_editing(action, prospect.writes, folder);
        let doubt = doubt::about(active, action, prospect);
        let class = class_of(action, guard, unread, empties(&also), doubt.is_some());
        let deletes = matches!(action, ToolAction::Run { command, .. } if command::deletes(command));
        let destroys = matches!(action, ToolAction::CallServer(call) if call.tool.destructive);
        // Which unsaved changes there are differs from time to time, so no rule can speak for them.
        let is_once = (deletes && !settings.commands.remember_deletes) || !prospect.unsaved.is_empty() || destroys;
        Some(Self { level, session, active, action, subject, guard, unread, also, class, doubt, is_once })
    }

    /// Why it may not be done at all.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if let Some(rule) = self.objection(RuleVerdict::Deny) {
            return Some(Refusal::Forbidden(rule.to_string()));
        }
        if let ToolAction::Run { command, .. } = self.action {
            let verdict = command::judge(command, &policy(self.session, self.active));
            if verdict.decision == CommandDecision::Deny {
                return Some(Refusal::NeverRun(PermissionReason::Command(verdict.reason)));
            }
        }
        let is_own = |place: &String| guard(place) == Some(Guard::Control(ControlFile::Own));
        let changes_own = matches!(self.action, ToolAction::Change(_)) && self.subject.places.iter().any(is_own);
        changes_own.then_some(Refusal::OwnFiles)
    }

    /// An existing permission: by the request itself, a rule, or a setting.
    pub(super) fn permit(&self) -> Option<Permit> {
        if self.objection(RuleVerdict::Ask).is_some() || self.is_recovered() {
            return None;
        }
        // The user has requested exactly this, so it needs no further approval.
        if matches!(self.action, ToolAction::Change(ProposedChange::Save { .. })) && self.guard.is_none() {
            return Some(Permit::standing(Approval::Answer));
        }
        // A worker changes its own copy. What reaches the folder is judged when the changes are merged.
        let is_copy = self.active.request.settings.subtasks.is_worker && self.guard.is_none();
        if is_copy && matches!(self.action, ToolAction::Change(_)) {
            return Some(Permit::standing(Approval::Setting));
        }
        let needs = self.needs();
        if let (None, Some(rule)) = (self.missing(), needs.first().and_then(|need| self.allowing(need))) {
            return Some(by_rule(rule, self.class));
        }
        self.is_set().then(|| Permit::standing(Approval::Setting))
    }

    /// Whether the settings let it be done without a question.
    fn is_set(&self) -> bool {
        let settings = &self.active.request.settings;
        match self.action {
            // The user trusts what this server says of its tools.
            ToolAction::CallServer(call) => call.tool.read_only,
            _ if self.class.needs_person() => false,
            ToolAction::Change(_) if self.class == ApprovalClass::Delete && self.confirms_deletes() => false,
            ToolAction::Change(_) => {
                let is_auto = settings.files.apply == Applying::Auto && self.level != Autonomy::Careful;
                is_auto && !self.is_of_unknown_model()
            }
            _ => false,
        }
    }

    /// Whether deleting a file that the model has read asks. Undo brings it back, so *trusting* asks only if the user
    /// has set that.
    fn confirms_deletes(&self) -> bool {
        let files = &self.active.request.settings.files;
        files.confirm_deletes && (self.level != Autonomy::Trusting || files.confirm_chosen)
    }

    /// Whether edits apply only by default, and the model is unknown: its edits begin at *careful*.
    fn is_of_unknown_model(&self) -> bool {
        let (_, facts) = model_for(&self.active.request);
        let settings = &self.active.request.settings;
        !facts.known && !settings.files.apply_chosen && !self.session.has_chosen_autonomy(settings)
    }

    /// Whether it comes from a reply that was cut off.
    fn is_recovered(&self) -> bool {
        let is_recovered = self.active.batch.as_ref().is_some_and(|batch| batch.recovered);
        is_recovered && matches!(self.action, ToolAction::Change(_))
    }

    /// The user must decide: why, and the rule that would answer the question.
    pub(super) fn question(&self) -> Ruling {
        let missing = self.missing();
        let (tool, on) = missing.unwrap_or((self.subject.tool, &self.subject.on));
        let is_auto = self.active.request.settings.files.apply == Applying::Auto;
        let (reason, pattern) = match self.reason() {
            Some(reason) => (reason, on),
            None if is_auto && self.level == Autonomy::Careful => (PermissionReason::CarefulEdits, "*"),
            None if is_auto && self.is_of_unknown_model() => {
                let (model, _) = model_for(&self.active.request);
                (PermissionReason::UnknownModel(model.to_owned()), "*")
            }
            None => (PermissionReason::EditsNeedApproval, "*"),
        };
        let rule = Rule {
            verdict: RuleVerdict::Allow,
            tool: tool.into(),
            pattern: pattern.into(),
            folder: self.session.rules_folder().map(str::to_owned),
        };
        Ruling::Ask { class: self.class, reason, rule }
    }

    /// Why it asks regardless of the settings for such actions.
    fn reason(&self) -> Option<PermissionReason> {
        Some(match self.action {
            ToolAction::Read(_) => Guard::Secret.reason(),
            ToolAction::Fetch { host, .. } => match remark(host) {
                Some(place) => PermissionReason::NewHostNear(host.clone(), place.to_owned()),
                None => PermissionReason::NewHost(host.clone()),
            },
            ToolAction::SearchWeb { .. } => {
                PermissionReason::SearchesWeb(self.active.request.settings.web_search.clone())
            }
            ToolAction::Run { outside, .. } => PermissionReason::LeavesSandbox(outside.clone()?),
            ToolAction::ReadOutput { .. } | ToolAction::StopCommand { .. } => return None,
            ToolAction::Change(ProposedChange::Delete { .. }) if self.unread => PermissionReason::DeletesUnread,
            ToolAction::Change(ProposedChange::Delete { .. }) => PermissionReason::Deletes,
            ToolAction::Change(_) => match self.guard {
                Some(guard) => guard.reason(),
                None if empties(&self.also) => PermissionReason::DeletesOrEmpties,
                None if self.is_recovered() => PermissionReason::CutOff,
                None if self.unread => PermissionReason::ReplacesUnread,
                None => return self.doubt.clone(),
            },
            ToolAction::CallServer(call) if call.tool.destructive => PermissionReason::Destructive(call.server.clone()),
            ToolAction::CallServer(call) => PermissionReason::CallsServer(call.server.clone()),
            ToolAction::Stored { .. }
            | ToolAction::Steps(_)
            | ToolAction::Plan(_)
            | ToolAction::Ask { .. }
            | ToolAction::FindTool { .. }
            | ToolAction::UseSkill { .. }
            | ToolAction::Delegate(_)
            | ToolAction::WriteShared { .. }
            | ToolAction::ReadShared
            | ToolAction::Draw { .. } => return None,
        })
    }

    /// What a yes has to cover. A yes to an edit or a merge of several files is a yes to each of them, and to all that
    /// is done to it.
    fn needs(&self) -> Vec<(&'static str, &str)> {
        let PermitSubject { tool, on, places } = &self.subject;
        if !matches!(self.action, ToolAction::Change(ProposedChange::Edit(_) | ProposedChange::Merge(_))) {
            return vec![(tool, on)];
        }
        let is_deleted = |place: &str| self.also.iter().any(|(tool, gone)| *tool == deeds::DELETE && gone == place);
        let edited = places.iter().filter(|place| !is_deleted(place)).map(|place| (*tool, place.as_str()));
        self.also.iter().map(|(tool, place)| (*tool, place.as_str())).chain(edited).collect()
    }

    /// The first of them that no rule allows.
    fn missing(&self) -> Option<(&'static str, &str)> {
        self.needs().into_iter().find(|need| self.allowing(need).is_none())
    }

    fn allowing(&self, need: &(&'static str, &str)) -> Option<&'a Rule> {
        self.rule(RuleVerdict::Allow, need.0, need.1)
    }

    /// The rule that refuses it or has it asked about. That counts for each file, for both ends of a move, for what an
    /// edit does besides editing, and outside of the sandbox as inside.
    fn objection(&self, verdict: RuleVerdict) -> Option<&'a Rule> {
        let PermitSubject { tool, on, places } = &self.subject;
        let also = self.also.iter().find_map(|(tool, place)| self.rule(verdict, tool, place));
        let places = || places.iter().find_map(|place| self.rule(verdict, tool, place));
        let inside = || (*tool == OUTSIDE).then(|| self.rule(verdict, "run_command", on)).flatten();
        also.or_else(|| self.rule(verdict, tool, on)).or_else(places).or_else(inside)
    }

    fn rule(&self, verdict: RuleVerdict, tool: &str, on: &str) -> Option<&'a Rule> {
        let counts = |rule: &&Rule| verdict != RuleVerdict::Allow || self.is_meant(rule);
        let about = |rule: &&Rule| rule.verdict == verdict && rule.covers(tool, on, self.session.rules_folder());
        self.session.rules().iter().filter(counts).find(about)
    }

    /// Whether a yes was meant for this. A yes to many things was not meant for what only the user can allow: there a
    /// rule counts as their answer only if it names exactly this. A yes about the one end of a move says nothing about
    /// the other.
    fn is_meant(&self, rule: &Rule) -> bool {
        let is_move = matches!(self.action, ToolAction::Change(ProposedChange::Move { .. }));
        let is_exact = match self.action {
            // A rule for a server, or for one of its tools, is as narrow as people can put it. A folder can give its server
            // any name, so a rule that holds everywhere was not meant for it.
            ToolAction::CallServer(call) => {
                let is_here = rule.folder.is_some() && rule.folder.as_deref() == self.session.rules_folder();
                rule.pattern.starts_with(&format!("{}:", call.server)) && (is_here || !call.is_project)
            }
            _ => !rule.pattern.ends_with('*') && !is_move,
        };
        !self.is_once && (!self.class.needs_person() || is_exact)
    }
}

/// Whether nothing is left of a file.
fn empties(also: &[Deed]) -> bool {
    also.iter().any(|(tool, _)| *tool == deeds::DELETE)
}

/// What an action needs an approval for, which says who may give it.
fn class_of(action: &ToolAction, guard: Option<Guard>, unread: bool, empties: bool, doubtful: bool) -> ApprovalClass {
    match action {
        ToolAction::Read(_) => ApprovalClass::Secret,
        ToolAction::Fetch { .. } | ToolAction::SearchWeb { .. } => ApprovalClass::NewHost,
        ToolAction::CallServer(_) => ApprovalClass::ServerCall,
        ToolAction::Run { outside: Some(_), .. } => ApprovalClass::LeaveSandbox,
        ToolAction::Change(_) if unread => ApprovalClass::DeleteUnread,
        ToolAction::Change(_) if guard == Some(Guard::Secret) => ApprovalClass::Secret,
        ToolAction::Change(_) if guard.is_some() => ApprovalClass::ControlFile,
        ToolAction::Change(_) if doubtful => ApprovalClass::Doubtful,
        ToolAction::Change(ProposedChange::Delete { .. }) => ApprovalClass::Delete,
        ToolAction::Change(_) if empties => ApprovalClass::Delete,
        ToolAction::Change(_) => ApprovalClass::Edit,
        _ if doubtful => ApprovalClass::Doubtful,
        _ => ApprovalClass::Command,
    }
}

//! One call: what it needs next, and whether it may.

use serde_json::json;
use trimtab_vocab::event::{CommandFact, ProposalFact, Stage, StepsFact, ToolFact, ToolStatus};
use trimtab_vocab::{
    ApprovalClass, Approve, CallId, ChangeSetId, CommandClass, CommandRun, FileSet, FileWrite, ProposalId, RequestId,
    Rule, RuleVerdict, Sandbox,
};

use super::asking::{PermissionRequest, ask, ask_permission};
use super::ended::finished;
use super::stopping::SKIPPED;
use super::{find, has_said};
use crate::flow;
use crate::intake::pill;
use crate::permit::{self, AllowedByAnswer, Permit, Prospect, Ruling};
use crate::pictures;
use crate::proposal::command;
use crate::record::{BatchItem, FlowState, Progress, RunningRequest, Session, WithheldResult};
use crate::route;
use crate::step::Transition;
use crate::turn::tools::{ToolAction, ToolOffer};
use crate::turn::{answers, choosing, guard, outside, overtime, prompt, tools, watched};
use crate::{Effect, ProposedChange};

/// Does the next thing that a call needs: permission, preparation, the act.
pub(in crate::turn) fn run_call(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    // What came before may have ended it, or asked about it.
    if item.progress != Progress::Started {
        return;
    }
    let Some(active) = step.session.active() else { return };
    if active.batch.as_ref().is_some_and(|batch| batch.of_pictures) {
        return pictures::run_call(step, call, &item);
    }
    if let Some(pill) = active.request.pill.as_deref().filter(|pill| !pill::allows(pill, &item.call.name)) {
        let reason = pill::refusal(pill, &item.call.name);
        return finished(step, call, ToolStatus::Blocked, reason);
    }
    let offered = match route::offer(active.path()) {
        ToolOffer::Everything if crate::turn::structured::applies(active) => {
            tools::read(&item.call.name, &item.call.input, item.call.broken.as_deref())
        }
        ToolOffer::Nothing => Err("There are no tools in this turn. Answer in words.".to_owned()),
        ToolOffer::Looking if !tools::only_looks(&item.call.name) => {
            Err("This is plan mode: nothing is changed or run. Say what you would do.".to_owned())
        }
        _ => tools::read(&item.call.name, &item.call.input, item.call.broken.as_deref()),
    };
    let errand = match offered {
        Ok(errand) => errand,
        Err(reason) => {
            let status = if reason.starts_with("This is plan mode") { ToolStatus::Blocked } else { ToolStatus::Error };
            return finished(step, call, status, reason);
        }
    };
    if let Some(reason) = needs_trust(step.session, active, &errand) {
        return match reason {
            TrustCheck::Ask => answers::ask_for_trust(step),
            TrustCheck::Refused => {
                let text = "The user does not trust this folder: it cannot be read or worked in.".into();
                finished(step, call, ToolStatus::Blocked, text);
            }
        };
    }
    match errand {
        ToolAction::Steps(_) if active.flow.is_under_way() => {
            let text = "The plan is the list of steps, and is kept for you. Go on with this step.".into();
            finished(step, call, ToolStatus::Ok, text);
        }
        ToolAction::Steps(todos) => {
            let open = todos.iter().filter(|todo| !todo.completed).count();
            let request = active.request.id.clone();
            step.emit(Some(&request), StepsFact { todos });
            let enough = flow::pace::enough(step.session).map(|text| format!(" {text}")).unwrap_or_default();
            let text = format!("The user sees the list; {open} steps are open.{enough}");
            finished(step, call, ToolStatus::Ok, text);
        }
        ToolAction::Plan(_) if active.flow.stand != FlowState::Planning => {
            let text = "No plan is wanted now. Go on with the work.".into();
            finished(step, call, ToolStatus::Error, text);
        }
        ToolAction::Plan(plan) => {
            let request = active.request.id.clone();
            flow::plan::propose(step, &request, plan, "model");
            finished(step, call, ToolStatus::Ok, "The plan is shown to the user. Wait for what they say.".into());
        }
        ToolAction::Ask { question, options } => ask(step, call, question, options),
        ToolAction::Stored { key, offset } => {
            let limit = guard::limit(&prompt::model(&active.request).1) - 512;
            step.request(Effect::Recall { request, call: call.clone(), key, offset, limit });
        }
        ToolAction::Look(look) if permit::secret_in(&look).is_none() => {
            step.request(Effect::Look { request, call: call.clone(), look });
        }
        // What a change would make of the files is found out first: it is what a person approves.
        ToolAction::Change(change) if item.writes.is_none() => prepare(step, call, change),
        errand => act(step, call, &errand),
    }
}

/// Does what a person's own wish needs next: trust, preparation, the act.
pub(crate) fn change_by_person(step: &mut Transition<'_>, call: &CallId, item: &BatchItem, change: ProposedChange) {
    let Some(active) = step.session.active() else { return };
    let errand = ToolAction::Change(change.clone());
    match needs_trust(step.session, active, &errand) {
        Some(TrustCheck::Ask) => answers::ask_for_trust(step),
        Some(TrustCheck::Refused) => {
            let text = "The folder is not trusted, so nothing is written into it.".into();
            finished(step, call, ToolStatus::Blocked, text);
        }
        None if item.writes.is_none() => prepare(step, call, change),
        None => act(step, call, &errand),
    }
}

enum TrustCheck {
    Ask,
    Refused,
}

/// Whether a folder that nobody has trusted yet stands in the way.
fn needs_trust(session: &Session, active: &RunningRequest, errand: &ToolAction) -> Option<TrustCheck> {
    if !errand.touches_the_folder() || permit::is_trusted(session, active) {
        return None;
    }
    Some(if active.trust == Some(false) { TrustCheck::Refused } else { TrustCheck::Ask })
}

fn prepare(step: &mut Transition<'_>, call: &CallId, change: ProposedChange) {
    // What will be refused anyway needs no preparation.
    let Some(active) = step.session.active() else { return };
    if let Ruling::Refuse { reason } = judged(step.session, active, &ToolAction::Change(change.clone())) {
        return finished(step, call, ToolStatus::Blocked, reason);
    }
    let mark = |path: String| Some((step.session.mark(path.trim_start_matches("./"))?.to_owned(), path));
    let seen = change.paths().into_iter().filter_map(mark).map(|(hash, path)| (path, hash)).collect();
    let request = active.request.id.clone();
    step.request(Effect::Prepare { request, call: call.clone(), change, seen });
}

/// Does what a call asks for, if it may; asks if somebody must say so; refuses otherwise.
pub(super) fn act(step: &mut Transition<'_>, call: &CallId, errand: &ToolAction) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(active) = step.session.active() else { return };
    // What failed in the sandbox has come to that, unless a person wants it run outside.
    let is_wanted = item.outside || item.widened;
    if let Some(WithheldResult { status, preview, full, files }) = item.held.clone().filter(|_| !is_wanted) {
        let images = Vec::new();
        step.emit(Some(&request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
        return;
    }
    let unfenced = item.outside.then(|| outside::unfenced(errand.clone()));
    let errand = unfenced.as_ref().unwrap_or(errand);
    if has_said(&item, answers::NEVER) || has_said(&item, DENIED) {
        let reason = item.given.as_ref().and_then(|given| given.text.as_deref());
        return deny(step, call, reason);
    }
    if has_said(&item, answers::SKIP) && item.given.as_ref().is_some_and(|given| !given.of_outcome) {
        return finished(step, call, ToolStatus::Blocked, SKIPPED.to_owned());
    }
    if has_said(&item, answers::SKIP) {
        let text = "The program ended while this command was running. How it ended is not known; it may have done \
                    part of its work. It was not run again."
            .to_owned();
        let text = match watched::after_all(step.session, &request, call) {
            Some(files) => format!("{text} {files}"),
            None => text,
        };
        return finished(step, call, ToolStatus::Error, text);
    }
    // What a person wants of it is worked out first: that is what is applied.
    if let Some(effect) = choosing::narrow(&request, &item) {
        return step.request(effect);
    }
    let run = run_of(step.session, call, errand);
    let answer = match &run {
        Some(run) if item.given.as_ref().is_some_and(|given| !given.of_outcome) => AllowedByAnswer::of_run(&item, run),
        _ => AllowedByAnswer::from_item(&item),
    };
    let ruling = permit::judge(step.session, active, errand, Prospect::from_item(&item));
    let ruling = unless_blocked(step.session, &item, errand, ruling);
    let answered = |class: ApprovalClass| answer.as_ref().and_then(|answer| Permit::answered(answer, class));
    let permit = match ruling {
        Ruling::Refuse { reason } => return refuse(step, call, reason),
        Ruling::Go(permit) => permit,
        Ruling::Ask { class, .. } if let Some(permit) = answered(class) => permit,
        // Where nobody is to be asked, the model can do something about it.
        Ruling::Ask { reason, .. } if reason == permit::UNREAD && is_alone(active) => {
            let path = item.writes.iter().flatten().map(|write| write.path.as_str()).next().unwrap_or_default();
            let text =
                format!("{path} was not replaced: it exists, and you have not read it. Read it first, or edit it.");
            return refuse(step, call, text);
        }
        Ruling::Ask { class, reason, rule } => {
            return ask_permission(step, call, errand, &item, PermissionRequest { class, reason, rule }, run);
        }
    };
    match errand {
        ToolAction::Look(look) => step.request(Effect::Look { request, call: call.clone(), look: look.clone() }),
        ToolAction::Fetch { url, host } => {
            step.emit(Some(&request), tools::interrogating(Stage::Running, host));
            step.audit(&request, "fetch", json!({"op": "fetch", "host": host, "url": url}));
            let look = trimtab_vocab::ReadOp::Fetch { url: url.clone() };
            step.request(Effect::Look { request, call: call.clone(), look });
        }
        ToolAction::Change(_) => {
            let Some(writes) = item.writes else { return };
            let proposal = ProposalId::for_call(&request, call);
            step.emit(Some(&request), ProposalFact::Resolved { proposal, verdict: answers::APPROVED.into() });
            let set = file_set(step.session, &request, call, writes);
            step.request(Effect::Apply { request, call: call.clone(), plan: permit.files(set) });
        }
        ToolAction::Run { command, timeout_s, .. } => {
            let Some(asked) = run else { return };
            let run = fenced_for(step.session, call, &permit, command, *timeout_s, asked);
            let CommandRun { command, argv, cwd, .. } = run.clone();
            let watch = watched::watch_run(step.session, &run);
            let (sandbox, automatic) = (Some(run.sandbox).filter(|sandbox| *sandbox == Sandbox::Off), run.automatic);
            // Without a person's decision there is no plan for a command outside of the sandbox.
            let Some(plan) = permit.command(run, active.request.settings.sandbox) else {
                let reason = "It would run outside the sandbox, which only a person can allow.";
                return refuse(step, call, reason.into());
            };
            let started = CommandFact::Started {
                call: Some(call.clone()),
                command,
                argv,
                cwd,
                fingerprint: plan.fingerprint().map(str::to_owned),
                edited_from: item.edited_from,
                sandbox,
                automatic,
            };
            step.emit(Some(&request), started);
            step.request(Effect::Run { request, call: call.clone(), plan, watch });
        }
        // These need no permission, and have ended or asked before.
        ToolAction::Stored { .. } | ToolAction::Steps(_) | ToolAction::Plan(_) | ToolAction::Ask { .. } => {}
    }
}

/// The command with the fence that its approval calls for. What a person approved stays as it was approved. What no
/// person approved gets the fence of its class, also under `--approve auto`: no answer of a program uncovers a secret.
fn fenced_for(
    session: &Session,
    call: &CallId,
    permit: &Permit,
    command: &str,
    timeout_s: Option<u64>,
    asked: CommandRun,
) -> CommandRun {
    // Outside the sandbox there is no fence that a class could ask for.
    if !permit.is_standing() || asked.sandbox == Sandbox::Off {
        return asked;
    }
    if permit.is_answer() {
        let writes_repository = asked.sandbox == Sandbox::Workspace && is_only_git(session, command);
        return CommandRun { automatic: Some(CommandClass::Check), writes_repository, ..asked };
    }
    let by_itself = command_run(session, call, command, timeout_s, true);
    CommandRun { sandbox: asked.sandbox, terminal: asked.terminal, ..by_itself }
}

/// Whether every part of a line is git, so that nothing else can write where git writes.
fn is_only_git(session: &Session, command: &str) -> bool {
    let Some(active) = session.active() else { return false };
    let parts = command::judge(command, &permit::policy(session, active)).argv.unwrap_or_default();
    let is_git = |part: &Vec<String>| matches!(part.first().map(String::as_str), Some("git" | "cd"));
    !parts.is_empty() && parts.iter().all(is_git)
}

/// What would be run, if a person approves it.
pub(super) fn run_of(session: &Session, call: &CallId, errand: &ToolAction) -> Option<CommandRun> {
    let ToolAction::Run { command, timeout_s, outside, terminal } = errand else { return None };
    let run = CommandRun { terminal: *terminal, ..command_run(session, call, command, *timeout_s, false) };
    // Leaving the sandbox is a permission of its own, and part of what is approved.
    Some(if outside.is_some() { CommandRun { sandbox: Sandbox::Off, ..run } } else { run })
}

/// A sentence as it stands behind "because".
fn as_clause(sentence: &str) -> String {
    let mut letters = sentence.trim().trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What did not start or was stopped when it was to run automatically needs an answer now, whatever allowed it.
fn unless_blocked(session: &Session, item: &BatchItem, errand: &ToolAction, ruling: Ruling) -> Ruling {
    if !matches!(ruling, Ruling::Go(_)) {
        return ruling;
    }
    let (class, reason) = match (&item.blocked, item.widened) {
        (Some(reason), _) => (ApprovalClass::Unprotected, as_clause(reason)),
        (None, true) => (ApprovalClass::Command, "it was stopped when it tried to write".to_owned()),
        (None, false) => return ruling,
    };
    Ruling::Ask { class, reason, rule: rule_about(session, errand) }
}

/// The rule that names exactly this command here.
pub(super) fn rule_about(session: &Session, errand: &ToolAction) -> Rule {
    let command = if let ToolAction::Run { command, .. } = errand { command.trim() } else { "" };
    let (tool, pattern, folder) = ("run_command".into(), command.to_owned(), session.folder().map(str::to_owned));
    Rule { verdict: RuleVerdict::Allow, tool, pattern, folder }
}

/// What the permit says before anything is prepared.
fn judged(session: &Session, active: &RunningRequest, errand: &ToolAction) -> Ruling {
    permit::judge(session, active, errand, Prospect::default())
}

/// Whether there is nobody to be asked, and nobody has said no to everything.
pub(super) fn is_alone(active: &RunningRequest) -> bool {
    !active.request.settings.attended && answers::approve(active) != Approve::Deny
}

/// What is recorded when a person says no this once, or nobody is to be asked and everything that asks is refused.
pub(in crate::turn) const DENIED: &str = "denied";

fn deny(step: &mut Transition<'_>, call: &CallId, reason: Option<&str>) {
    let mut text = "The user does not allow this. Do not try it again; choose another way or ask.".to_owned();
    if let Some(reason) = reason {
        text.push_str(&format!(" They say: {reason}"));
    }
    refuse(step, call, text);
}

pub(in crate::turn) fn refuse(step: &mut Transition<'_>, call: &CallId, reason: String) {
    if let Some((request, BatchItem { writes: Some(_), .. })) = find(step, call) {
        let proposal = ProposalId::for_call(&request, call);
        step.emit(Some(&request), ProposalFact::Resolved { proposal, verdict: "rejected".into() });
    }
    finished(step, call, ToolStatus::Blocked, reason);
}

pub(super) fn file_set(session: &Session, request: &RequestId, call: &CallId, writes: Vec<FileWrite>) -> FileSet {
    let folder = session.folder().unwrap_or_default().to_owned();
    FileSet { change_set: ChangeSetId::for_call(request, call), folder, writes }
}

fn command_run(session: &Session, call: &CallId, command: &str, timeout_s: Option<u64>, by_itself: bool) -> CommandRun {
    let active = session.active();
    let settings = active.map(|active| active.request.settings.clone()).unwrap_or_default();
    let verdict = active.map(|active| command::judge(command, &permit::policy(session, active)));
    let class = verdict.as_ref().map(|verdict| verdict.class);
    let limit =
        overtime::limit(&settings, command, verdict.as_ref().and_then(|verdict| verdict.argv.as_deref()), timeout_s);
    let (direct, rewritten, git_folders) =
        verdict.map_or((None, None, Vec::new()), |verdict| (verdict.direct, verdict.rewritten, verdict.git_folders));
    let git_folders = if by_itself { git_folders } else { Vec::new() };
    let plain_git = !git_folders.is_empty();
    let direct = direct.map(|argv| if plain_git { command::shown_by_git(argv) } else { argv });
    // What a person has read runs as it stands.
    let line = rewritten.filter(|_| by_itself).unwrap_or_else(|| command.to_owned());
    let argv = direct.unwrap_or_else(|| vec![settings.machine.shell.clone(), "-c".into(), line]);
    let folder = session.folder().unwrap_or_default().to_owned();
    CommandRun {
        call: call.clone(),
        command: command.into(),
        argv,
        cwd: folder.clone(),
        timeout_s: limit.seconds,
        attended: overtime::is_attended(&settings),
        archive: settings.archive_output,
        plain_git,
        git_folders,
        terminal: false,
        sandbox: settings.sandbox,
        automatic: class.filter(|_| by_itself && settings.sandbox != Sandbox::Off),
        writes_repository: false,
        folder,
    }
}

/// Whether the rules now answer what is asked about a call: the choice they make.
pub(in crate::turn) fn ruled(session: &Session, active: &RunningRequest, call: &CallId) -> Option<&'static str> {
    let item = active.batch.as_ref()?.item(call)?;
    let errand = tools::read(&item.call.name, &item.call.input, item.call.broken.as_deref()).ok()?;
    match unless_blocked(session, item, &errand, permit::judge(session, active, &errand, Prospect::from_item(item))) {
        Ruling::Go(_) => Some(answers::ALLOW),
        Ruling::Refuse { .. } => Some(DENIED),
        Ruling::Ask { .. } => None,
    }
}

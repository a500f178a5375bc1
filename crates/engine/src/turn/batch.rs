//! The tools of a reply: begun in order, those that only look side by side, those that act one at a
//! time, each through the permit.

use serde_json::{Map, Value, json};
use trimtab_vocab::event::{
    Change as ChangeEvent, ChangeFact, ChangedFile, CheckpointFact, CheckpointKind, CommandFact, ProposalFact,
    ProposalKind, Stage, StageFact, Status, StepsFact, ToolFact, ToolStatus,
};
use trimtab_vocab::{
    Approve, CallId, ChangeSetId, CheckpointId, CommandRun, Dialog, Effects, FileMark, FileSet, FileWrite, ImageRef,
    ProposalId, RefKey, RequestId, Rule, Sandbox, Seen, ToolResult,
};

use super::answers::{self, Question};
use super::tools::{self, Errand, Offer};
use super::{choosing, finish, guard, next, outcome, outside, overtime, prompt, reflection, watched};
use crate::flow;
use crate::intake::pill;
use crate::permit::{self, Answer, Permit, Ruling};
use crate::pictures;
use crate::proposal::command;
use crate::record::{About, Active, Batch, Held, Item, Phase, Progress, Session, Stand};
use crate::route;
use crate::step::Step;
use crate::{Change, Effect, Prepared, Ran};

/// Tools that run side by side at most.
const SIDE_BY_SIDE: usize = 8;
/// Bytes of a diff that a question shows.
pub(super) const SHOWN_DIFF: usize = 16 * 1024;

/// A tool that a person stopped, and nothing else.
pub(super) const STOPPED: &str = "[Stopped by the user. The rest goes on.]";
/// A tool that a person skipped.
const SKIPPED: &str = "[Skipped by the user. Go on with what comes next.]";

/// The reply asks for tools: begin, unless it is the same once more.
pub(super) fn begin(step: &mut Step<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    if let Some(repeat) = &active.repeat
        && repeat.times >= 2
        && repeat.signature == batch.signature()
    {
        let (what, times) = (describe(batch), repeat.times);
        return answers::ask_about_repeat(step, &what, times);
    }
    advance(step);
}

fn describe(batch: &Batch) -> String {
    let Some(first) = batch.items.first() else { return String::new() };
    let mut text = format!("{} {}", first.wish.name, first.wish.input);
    text.truncate(text.floor_char_boundary(200));
    text
}

/// Goes on after an answer: the call that it is about is acted upon, the rest begins. After a rest,
/// whatever had begun begins again.
pub(super) fn go_on(step: &mut Step<'_>, had_stopped: bool, call: Option<&CallId>) {
    let Some(batch) = batch_of(step) else { return };
    // A wait ends everything at once, so it is looked for first.
    let waited = |item: &Item| item.done().is_none() && has_said(item, answers::WAIT);
    if let Some(item) = batch.items.iter().find(|item| waited(item)) {
        let words = item.given.as_ref().and_then(|given| given.text.clone());
        return wait(step, words);
    }
    if step.session.active().is_some_and(|active| active.diverted) {
        reject(step, "[Not run: the user says what to do instead.]");
        return next(step);
    }
    let answered: Vec<CallId> = batch
        .items
        .iter()
        .filter(|item| item.progress == Progress::Started && (had_stopped || call == Some(&item.call)))
        .map(|item| item.call.clone())
        .collect();
    for call in answered {
        go(step, &call);
    }
    advance(step);
}

fn has_said(item: &Item, choice: &str) -> bool {
    item.given.as_ref().is_some_and(|given| given.choice == choice)
}

/// Begins whatever may begin now; closes the batch when all have ended.
pub(crate) fn advance(step: &mut Step<'_>) {
    loop {
        let Some(active) = step.session.active() else { return };
        let stuck = matches!(active.phase, Phase::Stopping { .. } | Phase::Waiting { .. } | Phase::Admitting);
        let Some(batch) = active.batch.as_ref().filter(|_| !stuck) else { return };
        match ready(batch) {
            Ready::Nothing => return settle(step),
            Ready::Begin(call) => start(step, &call),
            Ready::Close => return close(step),
        }
    }
}

enum Ready {
    Begin(CallId),
    Nothing,
    Close,
}

/// The next call to begin: of those in front that only look, the quickest; an act only when all
/// before it have ended, and nothing behind it until it has.
fn ready(batch: &Batch) -> Ready {
    let Some(first) = batch.items.iter().position(|item| item.done().is_none()) else { return Ready::Close };
    let errand = |item: &Item| tools::read(&item.wish.name, &item.wish.input, item.wish.broken.as_deref()).ok();
    let is_alone = |item: &Item| errand(item).is_some_and(|errand| errand.is_alone());
    let front = &batch.items[first];
    if is_alone(front) {
        let pending = front.progress == Progress::Pending;
        return if pending { Ready::Begin(front.call.clone()) } else { Ready::Nothing };
    }
    let together = batch.items[first..].iter().take_while(|item| item.done().is_some() || !is_alone(item));
    let running = together.clone().filter(|item| item.progress == Progress::Started).count();
    if running >= SIDE_BY_SIDE {
        return Ready::Nothing;
    }
    let pending = together.filter(|item| item.progress == Progress::Pending);
    match pending.min_by_key(|item| errand(item).map_or(0, |errand| errand.rank())) {
        Some(item) => Ready::Begin(item.call.clone()),
        None => Ready::Nothing,
    }
}

/// Nothing can begin. Without a person, what only waits for one ends the request for now.
fn settle(step: &mut Step<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    if batch.is_asking() && !batch.is_running() && !active.request.settings.attended {
        let request = active.request.id.clone();
        finish(step, &request, Status::NeedsUser, None);
    }
}

fn start(step: &mut Step<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    let (name, input) = (item.wish.name.clone(), shown(&item.wish.input));
    let started = ToolFact::Started { call: call.clone(), name, input };
    step.say(Some(&request), started);
    go(step, call);
}

/// Arguments as they are shown. The reply has them whole; long texts are not stored twice.
fn shown(input: &Value) -> Value {
    const LONGEST: usize = 1_000;
    match input {
        Value::String(text) if text.len() > LONGEST => {
            let head = &text[..text.floor_char_boundary(LONGEST)];
            json!(format!("{head}… ({} bytes)", text.len()))
        }
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), shown(value))).collect())
        }
        other => other.clone(),
    }
}

/// Does the next thing that a call needs: permission, preparation, the act.
pub(super) fn go(step: &mut Step<'_>, call: &CallId) {
    let Some((_, item)) = find(step, call) else { return };
    // What came before may have ended it, or asked about it.
    if item.progress != Progress::Started {
        return;
    }
    let Some(active) = step.session.active() else { return };
    if active.batch.as_ref().is_some_and(|batch| batch.of_pictures) {
        return pictures::go(step, call, &item);
    }
    if let Some(pill) = active.request.pill.as_deref().filter(|pill| !pill::allows(pill, &item.wish.name)) {
        let reason = pill::refusal(pill, &item.wish.name);
        return finished(step, call, ToolStatus::Blocked, reason);
    }
    let offered = match route::offer(active.path()) {
        Offer::Everything if super::structured::applies(active) => {
            tools::read(&item.wish.name, &item.wish.input, item.wish.broken.as_deref())
        }
        Offer::Nothing => Err("There are no tools in this turn. Answer in words.".to_owned()),
        Offer::Looking if !tools::only_looks(&item.wish.name) => {
            Err("This is plan mode: nothing is changed or run. Say what you would do.".to_owned())
        }
        _ => tools::read(&item.wish.name, &item.wish.input, item.wish.broken.as_deref()),
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
            Trust::Ask => answers::ask_for_trust(step),
            Trust::Refused => {
                let text = "The user does not trust this folder: it cannot be read or worked in.".into();
                finished(step, call, ToolStatus::Blocked, text);
            }
        };
    }
    match errand {
        Errand::Steps(_) if active.flow.is_under_way() => {
            let text = "The plan is the list of steps, and is kept for you. Go on with this step.".into();
            finished(step, call, ToolStatus::Ok, text);
        }
        Errand::Steps(todos) => {
            let open = todos.iter().filter(|todo| !todo.completed).count();
            let request = active.request.id.clone();
            step.say(Some(&request), StepsFact { todos });
            let enough = flow::pace::enough(step.session).map(|text| format!(" {text}")).unwrap_or_default();
            let text = format!("The user sees the list; {open} steps are open.{enough}");
            finished(step, call, ToolStatus::Ok, text);
        }
        Errand::Plan(_) if active.flow.stand != Stand::Planning => {
            let text = "No plan is wanted now. Go on with the work.".into();
            finished(step, call, ToolStatus::Error, text);
        }
        Errand::Plan(plan) => {
            let request = active.request.id.clone();
            flow::plan::propose(step, &request, plan, "model");
            finished(step, call, ToolStatus::Ok, "The plan is shown to the user. Wait for what they say.".into());
        }
        Errand::Ask { question, options } => ask(step, call, question, options),
        Errand::Stored { key, offset } => {
            let limit = guard::limit(&prompt::model(&active.request).1) - 512;
            step.ask(Effect::Recall { call: call.clone(), key, offset, limit });
        }
        Errand::Look(look) if permit::secret_in(&look).is_none() => {
            step.ask(Effect::Look { call: call.clone(), look });
        }
        // What a change would make of the files is found out first: it is what a person approves.
        Errand::Change(change) if item.writes.is_none() => prepare(step, call, change),
        errand => act(step, call, &errand),
    }
}

/// Does what a person's own wish needs next: trust, preparation, the act.
pub(crate) fn change_by_person(step: &mut Step<'_>, call: &CallId, item: &Item, change: Change) {
    let Some(active) = step.session.active() else { return };
    let errand = Errand::Change(change.clone());
    match needs_trust(step.session, active, &errand) {
        Some(Trust::Ask) => answers::ask_for_trust(step),
        Some(Trust::Refused) => {
            let text = "The folder is not trusted, so nothing is written into it.".into();
            finished(step, call, ToolStatus::Blocked, text);
        }
        None if item.writes.is_none() => prepare(step, call, change),
        None => act(step, call, &errand),
    }
}

enum Trust {
    Ask,
    Refused,
}

/// Whether a folder that nobody has trusted yet stands in the way.
fn needs_trust(session: &Session, active: &Active, errand: &Errand) -> Option<Trust> {
    let touches = matches!(errand, Errand::Look(_) | Errand::Change(_) | Errand::Run { .. });
    if !touches || permit::is_trusted(session, active) {
        return None;
    }
    Some(if active.trust == Some(false) { Trust::Refused } else { Trust::Ask })
}

fn prepare(step: &mut Step<'_>, call: &CallId, change: Change) {
    // What will be refused anyway needs no preparation.
    let Some(active) = step.session.active() else { return };
    if let Ruling::Refuse { reason } = permit::judge(step.session, active, &Errand::Change(change.clone()), None) {
        return finished(step, call, ToolStatus::Blocked, reason);
    }
    let seen = step.session.mark(change.path().trim_start_matches("./")).map(str::to_owned);
    step.ask(Effect::Prepare { call: call.clone(), change, seen });
}

/// Does what a call asks for, if it may; asks if somebody must say so; refuses otherwise.
fn act(step: &mut Step<'_>, call: &CallId, errand: &Errand) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(active) = step.session.active() else { return };
    // What failed in the sandbox has come to that, unless a person wants it run outside.
    if let Some(Held { status, preview, full, files }) = item.held.clone().filter(|_| !item.outside) {
        let images = Vec::new();
        step.say(Some(&request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
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
    if let Some(effect) = choosing::narrow(&item) {
        return step.ask(effect);
    }
    let run = run_of(step.session, call, errand);
    let answer = match &run {
        Some(run) if item.given.as_ref().is_some_and(|given| !given.of_outcome) => Answer::of_run(&item, run),
        _ => Answer::of(&item),
    };
    let permit = match (answer, permit::judge(step.session, active, errand, item.writes.as_deref())) {
        (_, Ruling::Refuse { reason }) => return refuse(step, call, reason),
        (_, Ruling::Go(permit)) => permit,
        (Some(answer), Ruling::Ask { .. }) => Permit::answered(&answer),
        // Where nobody is to be asked, the model can do something about it.
        (None, Ruling::Ask { reason, .. }) if reason == permit::UNREAD && is_alone(active) => {
            let path = item.writes.iter().flatten().map(|write| write.path.as_str()).next().unwrap_or_default();
            let text =
                format!("{path} was not replaced: it exists, and you have not read it. Read it first, or edit it.");
            return refuse(step, call, text);
        }
        (None, Ruling::Ask { reason, rule }) => return ask_permission(step, call, errand, &item, reason, rule, run),
    };
    match errand {
        Errand::Look(look) => step.ask(Effect::Look { call: call.clone(), look: look.clone() }),
        Errand::Fetch { url, host } => {
            let label = format!("Interrogating {host}...");
            step.say(Some(&request), StageFact { stage: Stage::Running, label });
            step.ask(Effect::Look { call: call.clone(), look: trimtab_vocab::Look::Fetch { url: url.clone() } });
        }
        Errand::Change(_) => {
            let Some(writes) = item.writes else { return };
            let proposal = ProposalId::of(&request, call);
            step.say(Some(&request), ProposalFact::Resolved { proposal, verdict: answers::APPROVED.into() });
            let set = file_set(step.session, &request, call, writes);
            step.ask(Effect::Apply { call: call.clone(), plan: permit.files(set) });
        }
        Errand::Run { command, timeout_s, .. } => {
            let Some(asked) = run else { return };
            // What runs by itself is what nobody was asked about; what was approved stays as it was approved.
            let run = match permit.is_standing() {
                true => {
                    let by_itself = command_run(step.session, call, command, *timeout_s, true);
                    CommandRun { sandbox: asked.sandbox, terminal: asked.terminal, ..by_itself }
                }
                false => asked,
            };
            let CommandRun { command, argv, cwd, .. } = run.clone();
            let watch = watched::watch(step.session, &run.command);
            let plan = permit.command(run);
            let started = CommandFact::Started {
                call: Some(call.clone()),
                command,
                argv,
                cwd,
                fingerprint: plan.fingerprint().map(str::to_owned),
                edited_from: item.edited_from,
            };
            step.say(Some(&request), started);
            step.ask(Effect::Run { call: call.clone(), plan, watch });
        }
        _ => {}
    }
}

/// What would be run, if a person approves it.
fn run_of(session: &Session, call: &CallId, errand: &Errand) -> Option<CommandRun> {
    let Errand::Run { command, timeout_s, outside, terminal } = errand else { return None };
    let run = CommandRun { terminal: *terminal, ..command_run(session, call, command, *timeout_s, false) };
    // Leaving the sandbox is a permission of its own, and part of what is approved.
    Some(if outside.is_some() { CommandRun { sandbox: Sandbox::Off, ..run } } else { run })
}

/// Whether there is nobody to be asked, and nothing was said for that case.
fn is_alone(active: &Active) -> bool {
    !active.request.settings.attended && answers::approve(active) == Approve::Ask
}

/// What is recorded when a person says no this once, or nobody is to be asked and everything that asks is refused.
pub(super) const DENIED: &str = "denied";

fn deny(step: &mut Step<'_>, call: &CallId, reason: Option<&str>) {
    let mut text = "The user does not allow this. Do not try it again; choose another way or ask.".to_owned();
    if let Some(reason) = reason {
        text.push_str(&format!(" They say: {reason}"));
    }
    refuse(step, call, text);
}

pub(super) fn refuse(step: &mut Step<'_>, call: &CallId, reason: String) {
    if let Some((request, Item { writes: Some(_), .. })) = find(step, call) {
        let proposal = ProposalId::of(&request, call);
        step.say(Some(&request), ProposalFact::Resolved { proposal, verdict: "rejected".into() });
    }
    finished(step, call, ToolStatus::Blocked, reason);
}

fn file_set(session: &Session, request: &RequestId, call: &CallId, writes: Vec<FileWrite>) -> FileSet {
    let folder = session.folder().unwrap_or_default().to_owned();
    FileSet { change_set: ChangeSetId::of(request, call), folder, writes }
}

fn command_run(session: &Session, call: &CallId, command: &str, timeout_s: Option<u64>, by_itself: bool) -> CommandRun {
    let active = session.active();
    let settings = active.map(|active| active.request.settings.clone()).unwrap_or_default();
    let verdict = active.map(|active| crate::proposal::command::judge(command, &permit::policy(session, active)));
    let (direct, words) = verdict.map_or((None, None), |verdict| (verdict.direct, verdict.argv));
    let limit = overtime::limit(&settings, command, words.as_deref(), timeout_s);
    // Also behind `timeout 60`, and a file of that name does no harm.
    let is_git = |words: &Vec<String>| words.iter().any(|word| word == "git");
    let plain_git = by_itself && words.iter().flatten().any(is_git);
    let direct = direct.map(|argv| if plain_git { crate::proposal::command::shown_by_git(argv) } else { argv });
    let argv = direct.unwrap_or_else(|| vec![settings.machine.shell.clone(), "-c".into(), command.into()]);
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
        terminal: false,
        sandbox: settings.sandbox,
        folder,
    }
}

fn ask_permission(
    step: &mut Step<'_>,
    call: &CallId,
    errand: &Errand,
    item: &Item,
    reason: String,
    rule: Rule,
    run: Option<CommandRun>,
) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let approve = answers::approve(active);
    let settings = &active.request.settings;
    let is_compact = run.is_some()
        && match settings.dialog {
            Dialog::Auto => active.batch.as_ref().is_some_and(|batch| batch.of_series),
            Dialog::Full => false,
            Dialog::Compact => true,
        };
    let mut choices =
        if is_compact { answers::compact_choices() } else { answers::permission_choices(&settings.assistant) };
    let is_once =
        matches!(errand, Errand::Run { command, .. } if !settings.remember_deletes && command::deletes(command));
    if is_once {
        choices.retain(|choice| choice.id != answers::ALWAYS);
    }
    let title = match errand {
        Errand::Run { command, outside: Some(_), .. } => {
            format!("Run this command outside of the sandbox? {}", command::visible(command))
        }
        Errand::Run { command, .. } => format!("Run this command? {}", command::visible(command)),
        Errand::Fetch { url, .. } => format!("Fetch this page? {url}"),
        Errand::Change(Change::Delete { path }) => format!("Delete {path}?"),
        Errand::Change(Change::Move { from, to }) => format!("Move {from} to {to}?"),
        Errand::Change(Change::Save { folder, pictures }) => format!("Save {} pictures in {folder}?", pictures.len()),
        Errand::Change(change) => format!("Change {}?", change.path()),
        Errand::Look(look) => {
            format!("Let the model see {}?", permit::secret_in(look).unwrap_or(item.wish.name.as_str()))
        }
        _ => format!("Use {}?", item.wish.name),
    };
    let mut body = Map::new();
    body.insert("tool".into(), json!(item.wish.name));
    body.insert("input".into(), shown(&item.wish.input));
    body.insert("reason".into(), json!(reason));
    if !is_once {
        body.insert("ruleText".into(), json!(rule.to_string()));
    }
    if let Some(run) = run {
        let CommandRun { argv, cwd, timeout_s, sandbox, .. } = &run;
        let mut plan = json!({"argv": argv, "cwd": cwd, "sandbox": sandbox, "timeoutS": timeout_s});
        if run.terminal {
            plan["terminal"] = json!(true);
        }
        body.insert("plan".into(), plan);
        body.insert("fingerprint".into(), json!(permit::fingerprint(&run)));
    }
    if let Some(old) = &item.edited_from {
        body.insert("editedFrom".into(), json!(old));
    }
    body.insert("rule".into(), json!(rule));
    if let Errand::Run { command, timeout_s, .. } = errand {
        let words = crate::proposal::command::judge(command, &permit::policy(step.session, active)).argv;
        let limit = overtime::limit(&active.request.settings, command, words.as_deref(), *timeout_s);
        if limit.is_asked_for {
            body.insert("timeoutS".into(), json!(limit.seconds));
        }
    }
    if item.writes.is_some() {
        body.insert("proposal".into(), json!(ProposalId::of(&request, call)));
        // Only where there is something to choose from.
        let hunks: u32 = item.hunks.iter().sum();
        if hunks > 1 && choosing::is_divisible(item) {
            body.insert("hunks".into(), json!(hunks));
        }
    }
    let about = About::Tool { call: call.clone() };
    let kind = CheckpointKind::Permission;
    let Some(checkpoint) = answers::open(step, Question { kind, about, title, choices, body }) else { return };
    let (choice, by) = match approve {
        Approve::Ask => return,
        Approve::Auto => (answers::ALLOW, "approve auto"),
        Approve::Deny => (DENIED, "approve deny"),
    };
    let resolved = CheckpointFact::Resolved { checkpoint, choice: choice.into(), text: None, by: by.into() };
    step.say(Some(&request), resolved);
    act(step, call, errand);
}

/// The model asks the person something.
fn ask(step: &mut Step<'_>, call: &CallId, question: String, options: Vec<String>) {
    let Some((_, item)) = find(step, call) else { return };
    if let Some(given) = &item.given {
        let text = match (given.choice.as_str(), &given.text) {
            (answers::OTHER, Some(text)) => format!("The user answers: {text}"),
            (choice, text) => {
                let number = choice.strip_prefix('o').and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
                let label = options.get(number.wrapping_sub(1)).map_or(choice, String::as_str);
                let more = text.as_ref().map(|text| format!(" — {text}")).unwrap_or_default();
                format!("The user chooses: {label}{more}")
            }
        };
        return finished(step, call, ToolStatus::Ok, text);
    }
    let Some(active) = step.session.active() else { return };
    if answers::approve(active) == Approve::Deny {
        let text = "Nobody is there to answer. Decide by yourself, and say what you assumed.".into();
        return finished(step, call, ToolStatus::Blocked, text);
    }
    let mut choices: Vec<_> =
        options.iter().enumerate().map(|(number, label)| answers::choice(&format!("o{}", number + 1), label)).collect();
    choices.push(answers::choice(answers::OTHER, "Answer in words"));
    choices.push(answers::choice(answers::STOP, "Stop here"));
    let about = About::Question { call: call.clone() };
    let kind = CheckpointKind::Clarification;
    answers::open(step, Question { kind, about, title: question, choices, body: Map::new() });
}

/// Whether the rules now answer what is asked about a call: the choice they make.
pub(super) fn ruled(session: &Session, active: &Active, call: &CallId) -> Option<&'static str> {
    let item = active.batch.as_ref()?.item(call)?;
    let errand = tools::read(&item.wish.name, &item.wish.input, item.wish.broken.as_deref()).ok()?;
    match permit::judge(session, active, &errand, item.writes.as_deref()) {
        Ruling::Go(_) => Some(answers::ALLOW),
        Ruling::Refuse { .. } => Some(DENIED),
        Ruling::Ask { .. } => None,
    }
}

/// The person chose to wait: every tool ends at once with the documented result.
fn wait(step: &mut Step<'_>, words: Option<String>) {
    end_all(step, |id| ToolResult::interrupt(id).content);
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let banner =
        trimtab_vocab::event::BannerFact { level: trimtab_vocab::event::Level::Warning, text: answers::WAITING.into() };
    step.say(Some(&request), banner);
    if let Some(text) = words.clone() {
        step.say(Some(&request), trimtab_vocab::event::RequestFact::Steered { text, by: "user".into() });
    }
    reflect(step);
    super::series::left(step, &request);
    match words {
        Some(_) => next(step),
        None => answers::ask_what_instead(step),
    }
}

/// Ends whatever has not ended and does not act: it is told to stop, and its result is `content`.
fn end_all(step: &mut Step<'_>, content: impl Fn(&str) -> String) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items {
        match item.progress {
            Progress::Done(_) => {}
            Progress::Acting => step.ask(Effect::Abort { call: item.call }),
            Progress::Started => {
                step.ask(Effect::Abort { call: item.call.clone() });
                interrupted(step, &item.call, content(&item.wish.id));
            }
            Progress::Asking { checkpoint } => {
                answer_for(step, checkpoint);
                interrupted(step, &item.call, content(&item.wish.id));
            }
            Progress::Pending => interrupted(step, &item.call, content(&item.wish.id)),
        }
    }
}

/// What a person wants makes a question pointless: it is answered with that.
fn answer_for(step: &mut Step<'_>, checkpoint: CheckpointId) {
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    let (choice, by) = (answers::SKIP.into(), "user".into());
    step.say(Some(&request), CheckpointFact::Resolved { checkpoint, choice, text: None, by });
}

/// The person said stop. What acts is told to end, and its end is waited for; the rest is over now.
/// Whether nothing is left to wait for.
pub(super) fn stop(step: &mut Step<'_>) -> bool {
    end_all(step, |id| ToolResult::interrupt(id).content);
    batch_of(step).is_none_or(|batch| batch.items.iter().all(|item| item.done().is_some()))
}

/// A request ends by an answer: tools that had begun have an end, too. Nothing of them runs.
pub(super) fn leave(step: &mut Step<'_>, request: &RequestId) {
    let Some(batch) = step.session.unfinished(request).and_then(|active| active.batch.clone()) else { return };
    for Item { call, wish, .. } in batch.items.into_iter().filter(|item| item.is_open()) {
        let (preview, status) = (ToolResult::interrupt(&wish.id).content, ToolStatus::Interrupted);
        let (images, files) = (Vec::new(), Vec::new());
        step.say(Some(request), ToolFact::Finished { call, status, preview, full: None, images, files });
    }
}

/// The person wants what runs now left, and the rest to go on.
pub(super) fn skip(step: &mut Step<'_>) {
    let Some(batch) = batch_of(step) else { return };
    for item in &batch.items {
        stop_one(step, &item.call, SKIPPED);
    }
    advance(step);
}

/// The person wants one tool ended.
pub(super) fn stop_tool(step: &mut Step<'_>, call: &CallId) {
    stop_one(step, call, STOPPED);
    advance(step);
}

fn stop_one(step: &mut Step<'_>, call: &CallId, text: &str) {
    let Some((request, item)) = find(step, call) else { return };
    match item.progress {
        Progress::Done(_) => {}
        Progress::Acting => {
            step.say(Some(&request), ToolFact::Stopping { call: call.clone() });
            step.ask(Effect::Abort { call: call.clone() });
        }
        Progress::Asking { checkpoint } => {
            answer_for(step, checkpoint);
            interrupted(step, call, text.into());
        }
        Progress::Pending | Progress::Started => {
            step.ask(Effect::Abort { call: call.clone() });
            interrupted(step, call, text.into());
        }
    }
}

/// Something was seen.
pub(crate) fn looked(step: &mut Step<'_>, call: &CallId, seen: Seen) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Started {
        return;
    }
    let Seen { status, text, images, files } = seen;
    let mut pictures = Vec::new();
    for (number, (media_type, base64)) in images.into_iter().enumerate() {
        let key = RefKey::seen_by(&request, call, number);
        step.keep(key.clone(), base64);
        pictures.push(ImageRef { key, media_type });
    }
    report(step, call, status, text, pictures, files);
    advance(step);
}

/// It is known what a change would make of the files.
pub(crate) fn prepared(step: &mut Step<'_>, call: &CallId, prepared: Prepared) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Started || item.writes.is_some() {
        return;
    }
    match prepared {
        Prepared::Refused { reason } => finished(step, call, ToolStatus::Error, reason),
        Prepared::NoEffect { why, reason } => super::noop::met(step, call, &request, why, reason),
        Prepared::Ready { writes, diffs, hunks } => {
            let hunks = hunks.into_iter().chain(std::iter::repeat(0));
            let each = writes.iter().zip(&diffs).zip(hunks);
            let operations = each.map(|((write, diff), hunks)| operation(write, diff, hunks)).collect();
            let proposal = ProposalId::of(&request, call);
            let kind = if item.wish.name == pictures::SAVE { ProposalKind::Image } else { ProposalKind::Files };
            step.say(
                Some(&request),
                ProposalFact::Opened { proposal, call: Some(call.clone()), kind, operations, version: 1 },
            );
            go(step, call);
        }
    }
    advance(step);
}

/// A file of a proposal as events tell of it.
pub(super) fn operation(write: &FileWrite, diff: &str, hunks: u32) -> Value {
    let mut value = json!(write);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("diff".into(), json!(diff[..diff.floor_char_boundary(SHOWN_DIFF)]));
        fields.insert("hunks".into(), json!(hunks));
        fields.insert("errors".into(), json!([]));
    }
    value
}

/// Files were written, or were not.
pub(crate) fn applied(step: &mut Step<'_>, call: &CallId, problem: Option<String>) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(writes) = item.writes.filter(|_| item.progress == Progress::Acting) else { return };
    match problem {
        Some(reason) => finished(step, call, ToolStatus::Error, reason),
        None => {
            let files: Vec<ChangedFile> = writes.iter().map(changed).collect();
            let position = i32::try_from(step.session.in_force()).unwrap_or(i32::MAX);
            let said = if item.wish.name == pictures::SAVE { saved(&files) } else { summary(&files) };
            let (status, text) = match &item.chosen {
                Some(chosen) => (ToolStatus::Partial, choosing::told(&said, chosen)),
                None => (ToolStatus::Ok, said),
            };
            let change_set = ChangeSetId::of(&request, call);
            step.say(Some(&request), ChangeFact::Applied(ChangeEvent { change_set, files, position, by: None }));
            let mark = |write: &FileWrite| {
                write.after.as_ref().map(|after| FileMark { path: write.path.clone(), hash: after.hash.clone() })
            };
            // A file that is not as the model proposed it is not one that it has seen.
            let known = writes.iter().filter(|_| item.chosen.is_none()).filter_map(mark).collect();
            report(step, call, status, text, Vec::new(), known);
        }
    }
    proceed(step);
}

pub(super) fn changed(write: &FileWrite) -> ChangedFile {
    ChangedFile {
        path: write.path.clone(),
        added: write.added,
        removed: write.removed,
        modified: write.modified,
        is_new: write.before.is_none(),
        is_deleted: write.after.is_none(),
    }
}

fn summary(files: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| match (file.is_new, file.is_deleted) {
        (true, _) => format!("Created {} ({} lines).", file.path, file.added),
        (_, true) => format!("Deleted {}.", file.path),
        _ => format!("Changed {}: +{} -{} lines.", file.path, file.added, file.removed),
    };
    files.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn saved(files: &[ChangedFile]) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let what = if names.len() == 1 { "1 picture".to_owned() } else { format!("{} pictures", names.len()) };
    format!("Saved {what}: {}.", names.join(", "))
}

/// A command ended.
pub(crate) fn ran(step: &mut Step<'_>, call: &CallId, ran: Ran, effects: Option<&Effects>) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Acting || item.writes.is_some() {
        return;
    }
    let command = command_of(&item);
    overtime::settle(step, call);
    if let Some(effects) = effects {
        watched::record(step, &request, call, &command, effects, false);
    }
    if ran.lost && !item.stopping && step.session.active().is_some_and(|active| active.phase == Phase::Tools) {
        answers::ask_about_outcome(step, call, &command);
        return advance(step);
    }
    let limit = overtime::limit_of(step.session, call).unwrap_or_default();
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let (files, marks) = effects.map(|effects| watched::told(step.session, effects)).unwrap_or_default();
    let edited = item.edited_from.as_ref().map(|old| format!("[The user edited this command; it was: `{old}`]"));
    let again = item.outside.then(|| outside::TOLD.to_owned());
    let more: Vec<String> = edited.into_iter().chain(again).chain(files).collect();
    let (status, preview) = outcome::told(&ran, item.stopping, limit, &more, guard::limit(&facts));
    let full = ran.raw.clone();
    let unobserved = effects.and_then(|effects| effects.unobserved);
    step.say(Some(&request), outcome::finished(call, command, &ran, unobserved));
    // What was cut out of a long result was not seen.
    let held = Held { status, preview, full, files: if ran.raw.is_none() { marks } else { Vec::new() } };
    let errand = tools::read(&item.wish.name, &item.wish.input, None).ok();
    let run = errand.as_ref().and_then(|errand| run_of(step.session, call, errand));
    let is_going_on = !item.stopping && step.session.active().is_some_and(|active| active.phase == Phase::Tools);
    if let (Some(errand), Some(run), true) = (errand, run, is_going_on)
        && run.sandbox != Sandbox::Off
        && outside::offer(step, &item, &errand, run, &ran, &held)
    {
        return advance(step);
    }
    let Held { status, preview, full, files } = held;
    let images = Vec::new();
    step.say(Some(&request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
    proceed(step);
}

/// It is known what a command did to files whose end nobody saw.
pub(crate) fn surveyed(step: &mut Step<'_>, call: &CallId, effects: &Effects) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Acting || item.writes.is_some() {
        return;
    }
    let command = command_of(&item);
    watched::record(step, &request, call, &command, effects, true);
    if item.stopping {
        interrupted(step, call, STOPPED.to_owned());
    } else if step.session.active().is_some_and(|active| active.phase == Phase::Tools) {
        answers::ask_about_outcome(step, call, &command);
    } else {
        interrupted(step, call, ToolResult::interrupt(&item.wish.id).content);
    }
    proceed(step);
}

fn command_of(item: &Item) -> String {
    item.wish.input.get("command").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A new owner finds out what a command did to files before anything else happens to them. Whether it can.
fn survey(step: &mut Step<'_>, item: &Item) -> bool {
    let watch = watched::watch(step.session, &command_of(item));
    if let Some(watch) = watch {
        step.ask(Effect::Survey { call: item.call.clone(), watch });
    }
    watch.is_some()
}

/// After an act: the request may have been stopped meanwhile.
fn proceed(step: &mut Step<'_>) {
    if step.session.active().is_some_and(|active| matches!(active.phase, Phase::Stopping { .. })) {
        super::stop(step);
    } else {
        advance(step);
    }
}

/// A new owner: looks are taken again, writes are finished, and a command whose end nobody saw is
/// asked about, never run again. What this owner has begun itself is not `interrupted`.
pub(super) fn woke(step: &mut Step<'_>, interrupted: &[CallId]) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items.into_iter().filter(|item| interrupted.contains(&item.call)) {
        let Item { call, progress, writes, .. } = &item;
        match (progress, writes) {
            (Progress::Started, _) => go(step, call),
            (Progress::Acting, Some(_)) => go_acting(step, call),
            (Progress::Acting, None) => {
                overtime::settle(step, call);
                if !survey(step, &item) {
                    answers::ask_about_outcome(step, call, &command_of(&item));
                }
            }
            _ => {}
        }
    }
    advance(step);
}

/// A write that was approved and begun is carried out again: it finishes what is unfinished.
fn go_acting(step: &mut Step<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(writes) = item.writes else { return };
    let Some(permit) = Permit::recorded(step.session, call) else { return };
    let set = file_set(step.session, &request, call, writes);
    step.ask(Effect::Apply { call: call.clone(), plan: permit.files(set) });
}

/// A new owner while the request is being stopped: commands that ran are gone with the old one, writes
/// are finished first. Whether nothing is left to wait for.
pub(super) fn woke_stopping(step: &mut Step<'_>, under_way: &[CallId]) -> bool {
    let Some(batch) = batch_of(step) else { return true };
    for item in batch.items {
        let Item { call, wish, progress, writes, .. } = &item;
        match (progress, writes) {
            (Progress::Done(_), _) => {}
            (Progress::Acting, _) if !under_way.contains(call) => {}
            (Progress::Acting, Some(_)) => go_acting(step, call),
            _ => {
                overtime::settle(step, call);
                let comparing = *progress == Progress::Acting && survey(step, &item);
                if !comparing {
                    interrupted(step, call, ToolResult::interrupt(&wish.id).content);
                }
            }
        }
    }
    batch_of(step).is_none_or(|batch| batch.items.iter().all(|item| item.done().is_some()))
}

/// The reply cannot be acted upon: each of its tools gets this result.
pub(super) fn reject(step: &mut Step<'_>, reason: &str) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items {
        finished(step, &item.call, ToolStatus::Error, reason.to_owned());
    }
    reflect(step);
}

/// All have ended: the results go back, and the next step begins.
fn close(step: &mut Step<'_>) {
    if batch_of(step).is_some_and(|batch| batch.of_series) {
        return super::series::ran(step);
    }
    if let Some(batch) = batch_of(step).filter(|batch| batch.of_pictures) {
        let done = batch.items.iter().filter_map(Item::done);
        let outcomes: Vec<(ToolStatus, String)> = done.map(|done| (done.status, done.content.clone())).collect();
        reflect(step);
        return pictures::closed(step, &outcomes);
    }
    let went_well = |item: &Item| matches!(item.done(), Some(done) if done.status == ToolStatus::Ok);
    let all_went_well = batch_of(step).is_some_and(|batch| batch.items.iter().all(went_well));
    reflect(step);
    if !super::structured::closed(step, all_went_well) {
        next(step);
    }
}

fn reflect(step: &mut Step<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    let request = active.request.id.clone();
    let reflection = reflection::assess(active, batch);
    step.say(Some(&request), reflection);
    if let Some(active) = step.session.active() {
        let ledger: Vec<&str> = active.ledger.iter().map(String::as_str).collect();
        let ledger = ledger.join("\n");
        step.keep(RefKey::ledger_of(&request), ledger);
    }
}

fn interrupted(step: &mut Step<'_>, call: &CallId, text: String) {
    // A command that has ended in the sandbox has come to that, whatever becomes of the question about it.
    let held = find(step, call).filter(|(_, item)| !item.outside).and_then(|(_, item)| item.held);
    match held {
        Some(Held { status, preview, .. }) => finished(step, call, status, preview),
        None => finished(step, call, ToolStatus::Interrupted, text),
    }
}

pub(crate) fn finished(step: &mut Step<'_>, call: &CallId, status: ToolStatus, text: String) {
    report(step, call, status, text, Vec::new(), Vec::new());
}

fn report(
    step: &mut Step<'_>,
    call: &CallId,
    status: ToolStatus,
    text: String,
    images: Vec<ImageRef>,
    files: Vec<FileMark>,
) {
    let Some((request, _)) = find(step, call) else { return };
    let (preview, full) = guarded(step, &request, call, text);
    step.say(Some(&request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
}

/// What the model sees of a result, and where the whole is if that is not all of it.
fn guarded(step: &mut Step<'_>, request: &RequestId, call: &CallId, text: String) -> (String, Option<RefKey>) {
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let limit = guard::limit(&facts);
    if text.len() <= limit {
        return (text, None);
    }
    let key = RefKey::result_of(request, call);
    let preview = guard::sandwich(&text, limit, "result", &key);
    step.keep(key.clone(), text);
    (preview, Some(key))
}

fn batch_of(step: &Step<'_>) -> Option<Batch> {
    step.session.active()?.batch.clone()
}

pub(crate) fn find(step: &Step<'_>, call: &CallId) -> Option<(RequestId, Item)> {
    let active = step.session.active()?;
    Some((active.request.id.clone(), active.batch.as_ref()?.item(call)?.clone()))
}

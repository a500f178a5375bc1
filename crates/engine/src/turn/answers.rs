//! Questions to the user, and what follows from their answers. A question waits indefinitely; silence answers
//! nothing.

use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{Level, ProposalFact, RequestFact, RuleFact, SessionFact, Status};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{AnswerLabel, Notice, Objection, PermissionLabel, QuestionTitle, RuleCoverage};
use trimtab_vocab::{
    ApprovalClass, Approve, CallId, ChangePart, CheckpointId, Lists, ProposalId, RequestId, Rule, RuleVerdict,
    StoppedBy,
};

use super::{
    answer_message, background, batch, budget, choosing, finish, finish_for, gone, instructions, network, overtime,
    series,
};
use crate::permit;
use crate::proposal::command::visible;
use crate::questions::{self, keyed};
use crate::record::{Checkpoint, Phase, RunningRequest};
use crate::transition::Transition;
use crate::{Effect, flow, handoff, subtasks};

pub(crate) use crate::questions::{Answerer, CheckpointDraft, ask, choice, leave, open, rest};
pub use crate::record::names::choice::{
    AGAIN, ALLOW, ALWAYS, ALWAYS_EVERYWHERE, ALWAYS_PREFIX, ALWAYS_PREFIX_EVERYWHERE, APPLY, BACKGROUND, CONTINUE,
    DENIED, DISTRUST, EACH, END, EXTEND, NEVER, OTHER, OUTSIDE, REJECT, RETRY, RUN, SKIP, STOP, TELL, TRUST, UNLIMITED,
    WAIT, WIDEN, is_always,
};

pub(crate) use crate::record::names::verdict::APPROVED;

/// The number of approvals after which a rule is suggested.
const OFTEN: u32 = 3;

/// The four answers to a permission, in their order. Each has the same number and letter on every surface.
pub(super) fn permission_choices(assistant: &str) -> Vec<Choice> {
    vec![
        keyed(ALLOW, PermissionLabel::AllowOnce, 1, Some('y')),
        Choice { confirm: true, ..keyed(ALWAYS, PermissionLabel::AllowAlways, 2, Some('a')) },
        keyed(WAIT, PermissionLabel::Wait(assistant.to_owned()), 3, Some('n')),
        Choice { confirm: true, ..keyed(NEVER, PermissionLabel::Never, 4, None) },
    ]
}

/// The three short answers about a command, in their order, with the same keys as the long ones.
pub(super) fn compact_choices() -> Vec<Choice> {
    vec![
        keyed(ALLOW, PermissionLabel::RunOnce, 1, Some('y')),
        Choice { confirm: true, ..keyed(ALWAYS, PermissionLabel::AddAndRun, 2, Some('a')) },
        keyed(SKIP, PermissionLabel::Skip, 3, Some('n')),
    ]
}

/// The forms of *always* for a command whose program has a safe prefix: this command or every safe use of the program,
/// here or everywhere. A line that no table understands is remembered only for the folder in which the user has read it.
pub(super) fn offer_forms(choices: &mut Vec<Choice>, exact: &Rule, prefix: Rule, plain: bool) {
    let Some(always) = choices.iter_mut().find(|choice| choice.id == ALWAYS) else { return };
    always.rule = Some(exact.clone());
    always.covers = Some(RuleCoverage::Exact.into());
    let stem = prefix.pattern.trim_end_matches([' ', '*']).to_owned();
    let (here, everywhere) = match plain {
        true => (RuleCoverage::Plain(stem.clone()), RuleCoverage::PlainEverywhere(stem)),
        false => (RuleCoverage::Prefix(stem.clone()), RuleCoverage::PrefixEverywhere(stem)),
    };
    let pattern = prefix.pattern.clone();
    let form = |id: &str, label: PermissionLabel, number: u8, key: Option<char>, rule: Rule, covers: RuleCoverage| {
        let (rule, covers, variant_of) = (Some(rule), Some(covers.into()), Some(ALWAYS.to_owned()));
        Choice { confirm: true, rule, covers, variant_of, ..keyed(id, label, number, key) }
    };
    let anywhere = |rule: &Rule| Rule { folder: None, ..rule.clone() };
    let (wide_exact, wide_prefix) = (anywhere(exact), anywhere(&prefix));
    choices.extend([
        form(ALWAYS_PREFIX, PermissionLabel::AlwaysPrefix(pattern.clone()), 5, Some('p'), prefix, here),
        form(ALWAYS_EVERYWHERE, PermissionLabel::AlwaysEverywhere, 6, None, wide_exact, RuleCoverage::ExactEverywhere),
        form(
            ALWAYS_PREFIX_EVERYWHERE,
            PermissionLabel::AlwaysPrefixEverywhere(pattern),
            7,
            None,
            wide_prefix,
            everywhere,
        ),
    ]);
}

/// Records an answer that is not the user's: `by` says what gave it.
pub(crate) fn resolve(
    step: &mut Transition<'_>,
    request: &RequestId,
    checkpoint: CheckpointId,
    choice: &str,
    by: &str,
) {
    record(step, request, checkpoint, choice, None, Answerer { by: by.into(), surface: None });
}

fn record(
    step: &mut Transition<'_>,
    request: &RequestId,
    checkpoint: CheckpointId,
    choice: &str,
    text: Option<String>,
    by: Answerer,
) {
    let open = step.session.checkpoint(&checkpoint);
    let composed =
        open.map(|open| answer_message::compose(step.session, open, choice, text.as_deref())).unwrap_or_default();
    questions::record(step, request, checkpoint, (choice, text), by, composed);
}

/// May the folder be read and worked in?
pub(super) fn ask_for_trust(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let refuses = approve(active) == Approve::Deny;
    let folder = step.session.folder().unwrap_or_default().to_owned();
    let is_broad = permit::is_broad(&folder, &active.request.settings.machine);
    // A folder's name may contain line ends, and must not forge another line.
    let shown = visible(&folder).replace(['\n', '\r'], "\u{23ce}");
    let class = Some(ApprovalClass::TrustFolder);
    let trust = |rule: Rule| Ask::Trust { class, rule: Some(rule) };
    let (ask_about, title, yes) = match (is_broad, active.trust.warned) {
        (false, _) => {
            let title = QuestionTitle::TrustFolder(shown);
            (trust(Rule::trust(folder)), title, choice(TRUST, AnswerLabel::TrustFolder))
        }
        (true, false) => {
            let title = QuestionTitle::TrustBroad(shown);
            // Another question follows, so nothing is allowed permanently yet.
            (Ask::TrustBroad { class }, title, choice(TRUST, AnswerLabel::Continue).with_role(ChoiceRole::AllowOnce))
        }
        (true, true) => {
            let title = QuestionTitle::TrustBroadSure(shown);
            (trust(Rule::trust_broad(folder)), title, choice(TRUST, AnswerLabel::TrustAll))
        }
    };
    let choices = vec![yes, choice(DISTRUST, AnswerLabel::Distrust)];
    let question = CheckpointDraft { ask: ask_about, title, choices };
    if refuses {
        if let Some(checkpoint) = open(step, question) {
            resolve(step, &request, checkpoint, DISTRUST, "approve deny");
            go_on(step);
        }
        return;
    }
    ask(step, question, Status::NeedsUser);
}

/// Asks what to do instead.
pub(super) fn ask_what_instead(step: &mut Transition<'_>) {
    let question = CheckpointDraft {
        ask: Ask::Tell,
        title: QuestionTitle::Instead,
        choices: vec![choice(TELL, AnswerLabel::InWords), choice(STOP, AnswerLabel::StopHere)],
    };
    ask(step, question, Status::NeedsUser);
}

/// Asks whether to continue beyond the limit of model calls.
pub(super) fn ask_for_more_steps(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let (limit, more) = (step.session.step_limit(active), active.request.settings.models.max_steps);
    let question = CheckpointDraft {
        ask: Ask::StepLimit,
        title: QuestionTitle::StepLimit(Plural::new(limit, "model call")),
        choices: vec![
            choice(CONTINUE, AnswerLabel::MoreSteps(Plural::new(more, "more model call"))),
            choice(STOP, AnswerLabel::StopHere),
        ],
    };
    ask(step, question, Status::Limit);
}

/// Asks whether the model may keep repeating the same call.
pub(super) fn ask_about_repeat(step: &mut Transition<'_>, what: &str, times: u32) {
    let question = CheckpointDraft {
        ask: Ask::Repeat,
        title: QuestionTitle::Repeat(times, what.to_owned()),
        choices: vec![
            choice(CONTINUE, AnswerLabel::AllowAgain),
            choice(TELL, AnswerLabel::TellInstead),
            choice(STOP, AnswerLabel::StopHere),
        ],
    };
    ask(step, question, Status::NeedsUser);
}

/// Asks about an interrupted command or call of a server, which is never repeated automatically.
pub(super) fn ask_about_outcome(step: &mut Transition<'_>, call: &CallId, command: &str) {
    let title = match batch::find(step, call) {
        Some((_, item)) if item.server_call().is_some() => QuestionTitle::UnknownOutcomeServer,
        Some((_, item)) if item.outside => QuestionTitle::UnknownOutcomeOutside,
        _ => QuestionTitle::UnknownOutcome,
    };
    let question = CheckpointDraft {
        ask: Ask::UnknownOutcome {
            call: call.clone(),
            class: Some(ApprovalClass::UnknownOutcome),
            command: command.to_owned(),
        },
        title: title(command.to_owned()),
        choices: vec![
            // What is chosen without a thought must not do twice what may have been done.
            choice(SKIP, AnswerLabel::WithoutCommand),
            choice(AGAIN, AnswerLabel::RunAgain),
            choice(STOP, AnswerLabel::StopHere),
        ],
    };
    open(step, question);
}

/// The user wants a part of a proposed change, and nothing else of it.
pub(crate) fn chosen(step: &mut Transition<'_>, id: &CheckpointId, wanted: &[ChangePart], by: Answerer) {
    let Some(checkpoint) = step.session.checkpoint(id).cloned() else { return };
    match choosing::read(step.session, &checkpoint, wanted) {
        Err(reason) => return object(step, &checkpoint, reason),
        Ok(None) => {}
        Ok(Some(choosing::Partition { call, parts, left })) => {
            let proposal = ProposalId::for_call(&checkpoint.request, &call);
            step.emit(Some(&checkpoint.request), ProposalFact::Chosen { proposal, call, parts, left });
        }
    }
    answered(step, id, ALLOW.into(), None, by);
}

/// The user has answered.
pub(crate) fn answered(
    step: &mut Transition<'_>,
    id: &CheckpointId,
    choice: String,
    text: Option<String>,
    by: Answerer,
) {
    let Some(checkpoint) = step.session.checkpoint(id).cloned() else { return };
    let Some((choice, text)) = accepted(step, &checkpoint, choice, text) else {
        return subtasks::worker::ask_again(step, id, &checkpoint);
    };
    let request = checkpoint.request.clone();
    if checkpoint.worker.is_some() {
        subtasks::answered(step, id, &checkpoint, choice, text, by);
        return after_answer(step, &request, None);
    }
    let is_handoff = matches!(checkpoint.ask, Ask::Handoff { .. });
    let hands_off = is_handoff && choice == handoff::HANDOFF;
    if let Some(reason) = handoff::objection(step.session, Some(&request)).filter(|_| hands_off) {
        return step.emit(Some(&request), SessionFact::Refused { reason: reason.to_string() });
    }
    let extends = is_handoff && choice == handoff::EXTEND;
    let rules = rules_of(&checkpoint, &choice, text.as_deref());
    let parked = step.session.is_parked(&request);
    // The sub-tasks stop, and what is finished is merged.
    let stops = choice == STOP && !matches!(checkpoint.ask, Ask::SubtaskFailed { .. });
    // In the middle of a plan, going on means the plan.
    let planned = step.session.unfinished(&request).is_some_and(|active| active.flow.is_under_way());
    let accepts = matches!(checkpoint.ask, Ask::Recovery { .. }) && choice == CONTINUE && !planned;
    let leaves = matches!(checkpoint.ask, Ask::Commands(_)) && choice == SKIP;
    let suggests = choice == ALLOW && checkpoint.choice(ALWAYS).is_some();
    record(step, &request, id.clone(), &choice, text.clone(), by);
    gone::answered(step, &request, &checkpoint.ask, &choice);
    let ends = flow::follow_up(step, &checkpoint, &choice, text.as_deref());
    // A user who has sent more wants more than what is there.
    let goes_on = step.session.has_unanswered_words(&request);
    let (accepts, planned) = (accepts && !goes_on, planned || (leaves && goes_on));
    for rule in rules {
        match checkpoint.ask {
            Ask::Instructions { .. } => instructions::replace(step, &request, Some(rule)),
            _ => add_rule(step, &request, rule),
        }
    }
    let suggests = suggests && matches!(checkpoint.ask, Ask::Permission(_));
    if let Some(rule) = checkpoint.ask.rule().filter(|_| suggests) {
        suggest(step, &request, rule);
    }
    if let Ask::Overtime { call, .. } = &checkpoint.ask {
        return overtime::answered(step, call, &choice);
    }
    if hands_off {
        background::stop(step, None, StoppedBy::Session);
        handoff::hand_off(step, Some(&request));
    }
    if extends {
        let room = super::room(step);
        handoff::extend(step, Some(&request), room);
    }
    if leaves && planned {
        series::left(step, &request);
        step.emit(Some(&request), RequestFact::Steered { text: series::LEFT.into(), by: "engine".into() });
        after_answer(step, &request, None);
    } else if stops || accepts || leaves || hands_off || ends.is_some() {
        if parked {
            step.emit(Some(&request), RequestFact::Reopened {});
        }
        let (status, reason) = match checkpoint.ask {
            _ if ends.is_some() => ends.unwrap_or((Status::Cancelled, None)),
            _ if accepts || leaves || hands_off => (Status::Completed, None),
            Ask::StepLimit => (Status::Limit, None),
            _ if checkpoint.ask.is_budget() => (Status::Limit, None),
            _ => (Status::Cancelled, None),
        };
        if leaves {
            series::left(step, &request);
        }
        batch::leave(step, &request);
        finish_for(step, &request, status, None, reason);
    } else {
        after_answer(step, &request, checkpoint.ask.call());
    }
    apply_rules(step);
}

/// The choice and the text as they are recorded, or none if the checkpoint does not take them.
fn accepted(
    step: &mut Transition<'_>,
    checkpoint: &Checkpoint,
    choice: String,
    text: Option<String>,
) -> Option<(String, Option<String>)> {
    let (choice, text) = match checkpoint.ask {
        Ask::Plan { .. } => flow::plan::canonical(choice, text),
        Ask::Permission(_) if choice == REJECT => (DENIED.to_owned(), text),
        _ => (choice, text),
    };
    // A denial needs no separate choice: a proposal can be rejected by its name.
    let rejects = matches!(checkpoint.ask, Ask::Permission(_)) && choice == DENIED;
    let offered = checkpoint.choice(&choice);
    if !rejects && offered.is_none() {
        return None;
    }
    let needs_text = offered.is_some_and(|offered| offered.text == ChoiceText::Required);
    let text = match checkpoint.ask.is_budget() {
        true => budget::checked(step, checkpoint, &choice, text)?,
        false => text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
    };
    if needs_text && text.is_none() {
        object(step, checkpoint, Objection::NeedsText);
        return None;
    }
    let request = &checkpoint.request;
    let of_series = matches!(checkpoint.ask, Ask::Commands(_)).then(|| step.session.unfinished(request)).flatten();
    let objection = of_series
        .and_then(|active| series::objection(active, &choice, text.as_deref()))
        .or_else(|| network::objection(&checkpoint.ask, &choice, text.as_deref()))
        .or_else(|| flow::objection(step, checkpoint, &choice, text.as_deref()))
        .or_else(|| subtasks::objection(step.session, checkpoint, &choice, text.as_deref()));
    if let Some(objection) = objection {
        object(step, checkpoint, objection);
        return None;
    }
    Some((choice, text))
}

fn add_rule(step: &mut Transition<'_>, request: &RequestId, rule: Rule) {
    let settings = step.session.unfinished(request).map(|active| &active.request.settings);
    let unanswered = settings.and_then(|settings| crate::permit::unanswered_by(&rule, settings));
    step.emit(Some(request), RuleFact::Added { rule });
    if let Some(notice) = unanswered {
        step.notify(request, Level::Warning, notice);
    }
}

/// Refuses an answer with a reason. A request that was asked at a terminal which is gone has no one to wait for, and
/// ends there until the next answer.
fn object(step: &mut Transition<'_>, checkpoint: &Checkpoint, objection: Objection) {
    let request = &checkpoint.request;
    step.notify(request, Level::Warning, Notice::Objection(objection));
    let active = step.session.active().filter(|active| active.request.id == *request);
    if active.is_some_and(|active| !active.request.settings.attended && matches!(active.phase, Phase::Waiting { .. })) {
        let status = if checkpoint.ask == Ask::StepLimit { Status::Limit } else { Status::NeedsUser };
        finish(step, request, status, None);
    }
}

/// After an answer: the request continues if it is its turn and no question about the whole of it is open. Otherwise
/// the answer is kept until then.
fn after_answer(step: &mut Transition<'_>, request: &RequestId, call: Option<&CallId>) {
    let blocks = |open: &Checkpoint| open.ask.call().is_none();
    let is_blocked = step.session.own_checkpoints().any(|(_, open)| open.request == *request && blocks(open));
    if is_blocked {
        return;
    }
    if step.session.is_parked(request) {
        let was_idle = step.session.active().is_none();
        step.emit(Some(request), RequestFact::Reopened {});
        // While the history moves, it waits; room is asked for when its turn has come.
        if was_idle && step.session.active().is_some() {
            step.request(Effect::Admit { request: request.clone() });
        }
        return;
    }
    // A request that is queued or has no slot continues once it has one.
    let active = step.session.active().filter(|active| active.request.id == *request);
    if active.is_some_and(|active| matches!(active.phase, Phase::Waiting { .. } | Phase::Tools)) {
        go_on_with(step, call);
    }
}

/// The rules that an answer makes. The user may give the pattern in words.
fn rules_of(checkpoint: &Checkpoint, choice: &str, text: Option<&str>) -> Vec<Rule> {
    let ask = &checkpoint.ask;
    // The rule that the user was shown with an answer is the one that it adds.
    let own = checkpoint.choice(choice).and_then(|offered| Some((offered.variant_of.as_ref()?, offered.rule.clone()?)));
    if let Some((_, rule)) = own.filter(|_| is_always(choice)) {
        return vec![rule];
    }
    let Some(offered) = ask.rule().cloned() else { return Vec::new() };
    let worded = |offered: Rule| Rule { pattern: text.map_or(offered.pattern, str::to_owned), ..offered };
    let denied = |offered: Rule| Rule { verdict: RuleVerdict::Deny, ..offered };
    match (ask, choice) {
        (Ask::Trust { .. }, TRUST) | (Ask::Instructions { .. }, instructions::USE) => vec![offered],
        (Ask::Permission(_), ALWAYS) => vec![worded(offered)],
        (Ask::Permission(_), NEVER) => vec![denied(offered)],
        (Ask::Outside(_), ALWAYS) => network::rules(&worded(offered)),
        (Ask::Outside(_), NEVER) => network::rules(&denied(offered)),
        _ => Vec::new(),
    }
}

/// Suggests a rule after a while; rules are never added automatically.
fn suggest(step: &mut Transition<'_>, request: &RequestId, rule: &Rule) {
    let times = step.session.times_allowed(rule);
    if times >= OFTEN && times.is_multiple_of(OFTEN) {
        step.notify(request, Level::Info, Notice::SuggestsRule(times, rule.to_string()));
    }
}

/// Continues the running request from its recorded state.
pub(super) fn go_on(step: &mut Transition<'_>) {
    go_on_with(step, None);
}

/// The same, after an answer about one of its tools.
fn go_on_with(step: &mut Transition<'_>, call: Option<&CallId>) {
    let Some(active) = step.session.active() else { return };
    if matches!(active.phase, Phase::Stopping { .. }) {
        return;
    }
    let had_stopped = matches!(active.phase, Phase::Waiting { .. } | Phase::Admitting);
    if had_stopped && active.trust.is_uninstructed && active.batch.is_some() {
        return instructions::load(step);
    }
    resume(step, had_stopped, call);
}

/// The instructions of a folder that was trusted during a request are read: its tools continue.
pub(super) fn instructed(step: &mut Transition<'_>) {
    resume(step, true, None);
}

fn resume(step: &mut Transition<'_>, had_stopped: bool, call: Option<&CallId>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    if had_stopped {
        step.emit(Some(&request), RequestFact::Resumed { wish: false });
    }
    if step.session.active().is_some_and(|active| active.batch.is_some()) {
        batch::go_on(step, had_stopped, call);
    } else if !series::go_on(step) {
        super::load_or_next(step);
    }
}

/// A rule was made, here or elsewhere.
pub(crate) fn rule_added(step: &mut Transition<'_>, rule: Rule) {
    if !step.session.rules().contains(&rule) {
        step.emit(None, RuleFact::Added { rule });
        apply_rules(step);
    }
}

/// The lists of commands in the settings may have changed since the request was made. Like a rule, they apply to new
/// and open questions.
pub(crate) fn listed(step: &mut Transition<'_>, lists: &Lists) {
    let outdated = step.session.outdated(lists);
    for request in &outdated {
        step.emit(Some(request), RequestFact::Relisted { lists: lists.clone() });
    }
    if !outdated.is_empty() {
        apply_rules(step);
    }
}

/// A rule was removed.
pub(crate) fn rule_removed(step: &mut Transition<'_>, rule: Rule) {
    if step.session.rules().contains(&rule) {
        step.emit(None, RuleFact::Removed { rule });
    }
}

/// What is being asked and the rules now answer is answered at once.
fn apply_rules(step: &mut Transition<'_>) {
    let settled: Vec<(CheckpointId, &str)> = step
        .session
        .own_checkpoints()
        .filter_map(|(id, open)| {
            let active = step.session.unfinished(&open.request)?;
            let verdict = match &open.ask {
                Ask::Trust { .. } | Ask::TrustBroad { .. } => {
                    crate::permit::is_trusted(step.session, active).then_some(TRUST)
                }
                Ask::Permission(ask) => batch::ruled(step.session, active, ask),
                _ => None,
            };
            verdict.map(|choice| (id.clone(), choice))
        })
        .collect();
    for (id, choice) in settled {
        let Some(checkpoint) = step.session.checkpoint(&id) else { continue };
        let (request, call) = (checkpoint.request.clone(), checkpoint.ask.call().cloned());
        // `allow` and a refusal need no new rule: one is there.
        resolve(step, &request, id, choice, "rule");
        after_answer(step, &request, call.as_ref());
    }
}

/// A new request makes the question what to do instead of an earlier one pointless. What a worker asks is about its
/// sub-task, which is not over because somebody says something else.
pub(crate) fn supersede(step: &mut Transition<'_>) {
    let stale: Vec<(CheckpointId, RequestId)> = step
        .session
        .own_checkpoints()
        .filter(|(_, open)| open.ask == Ask::Tell)
        .map(|(id, open)| (id.clone(), open.request.clone()))
        .collect();
    for (checkpoint, request) in stale {
        let parked = step.session.is_parked(&request);
        resolve(step, &request, checkpoint, STOP, "new request");
        if parked {
            step.emit(Some(&request), RequestFact::Reopened {});
        }
        finish(step, &request, Status::Cancelled, None);
    }
}

/// Whether the user can be asked, or what happens instead.
pub(super) fn approve(active: &RunningRequest) -> Approve {
    active.request.settings.approve
}

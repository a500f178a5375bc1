//! What the user and the model have agreed on for a request, and its progress.

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::checkpoint::{Ask, StepAsk};
use trimtab_vocab::event::{IntentFact, PlanFact, RouteDecision, RouteFact};
use trimtab_vocab::{Analysis, Mode, Plan, RequestId, Requirements, StepStatus, Todo};

use super::names::choice;
use super::{Checkpoint, RecordedAnswer, RunningRequest, Session, carried, legacy};
use crate::proposal::plan::order;

/// The latest decisions that a step gets.
const DECISIONS: usize = 24;

/// The questions, agreements, and progress of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    /// Where it stands.
    pub state: FlowState,
    /// The classification of the task.
    pub analysis: Option<Analysis>,
    /// The estimated complexity, 0 to 100.
    pub complexity: u8,
    /// The user was asked what is not clear.
    pub clarified: bool,
    /// The user let it begin.
    pub begun: bool,
    /// The agreed result of a conversation.
    pub requirements: Option<Requirements>,
    /// The plan as it is now.
    pub plan: Option<Plan>,
    /// Its version; 0: none.
    pub version: u32,
    pub approval: Option<PlanApproval>,
    /// The status of its steps; a missing step has not begun.
    pub statuses: BTreeMap<String, StepStatus>,
    /// The step that ended last.
    pub last: Option<String>,
    /// The step that the user let begin.
    pub cleared: Option<String>,
    /// The step whose result the user has seen.
    pub checked: Option<String>,
    /// The user's decisions so far.
    pub decisions: Vec<String>,
    /// How often the model was told that its plan is invalid.
    pub complaints: u32,
    /// Files were changed or commands run in this attempt.
    pub acted: bool,
    /// The task as it was before any feedback.
    pub task: Option<String>,
    /// Steps of the work that were done when this turn began.
    pub done_before: BTreeSet<String>,
    /// The message to the model at the start of the current step.
    pub(super) brief: Option<String>,
    /// Where in the conversation the request begins.
    pub(super) from: usize,
}

/// Who approved a plan, and how it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanApproval {
    pub by: String,
    /// The user wants its steps carried out as sub-tasks.
    pub as_subtasks: bool,
}

/// Where a flow stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FlowState {
    /// The turn itself: talk, or work without a plan.
    #[default]
    Turn,
    /// What was talked about is being written down.
    Compiling,
    /// It is written down; the user is to see it.
    Understood,
    /// The model looks and plans.
    Planning,
    /// There is a plan; the user is to see it.
    Proposed,
    /// The plan is carried out.
    Executing,
}

impl Flow {
    /// Whether the user wants the steps of the plan carried out as sub-tasks.
    pub(crate) fn wants_subtasks(&self) -> bool {
        self.approval.as_ref().is_some_and(|approval| approval.as_subtasks)
    }

    /// The current step.
    pub fn running(&self) -> Option<&str> {
        let is_running = |(_, status): &(&String, &StepStatus)| **status == StepStatus::Running;
        self.statuses.iter().find(is_running).map(|(id, _)| id.as_str())
    }

    /// The step that comes next, if one does.
    pub(crate) fn next_step(&self) -> Option<String> {
        let plan = self.plan.as_ref()?;
        let open = |id: &&String| !self.statuses.contains_key(*id);
        order(plan).ok()?.into_iter().map(|at| &plan.steps[at].id).find(open).cloned()
    }

    /// Whether a plan is being carried out, which says itself what it does.
    pub(crate) fn is_under_way(&self) -> bool {
        self.state == FlowState::Executing
    }

    fn decide(&mut self, what: String) {
        if self.decisions.len() >= DECISIONS {
            self.decisions.remove(0);
        }
        self.decisions.push(what);
    }

    fn again(&mut self, step: &str) {
        self.statuses.remove(step);
        self.cleared = Some(step.to_owned());
        self.last = None;
    }
}

impl RunningRequest {
    /// The path that it is on now. The route is where it set out; a plan that is carried out, and what was
    /// agreed on in a conversation, lead on from there.
    pub fn path(&self) -> Option<RouteDecision> {
        let route = self.route?;
        Some(match self.flow.state {
            FlowState::Compiling | FlowState::Understood => RouteDecision::Chat,
            FlowState::Planning | FlowState::Proposed => RouteDecision::Plan,
            FlowState::Executing => RouteDecision::Direct,
            FlowState::Turn => match route {
                RouteDecision::Plan | RouteDecision::Clarify => RouteDecision::Direct,
                route => route,
            },
        })
    }

    /// Where a path leads when nothing else comes first.
    fn set_out(&self) -> FlowState {
        let plans = self.request.settings.copilot.enable_planning || self.request.mode == Mode::Plan;
        match self.route {
            Some(RouteDecision::Plan | RouteDecision::Clarify) if plans => FlowState::Planning,
            _ => FlowState::Turn,
        }
    }
}

impl Session {
    pub(super) fn fold_route(&mut self, fact: &RouteFact) {
        let done: BTreeSet<String> = completed(&self.todos);
        if let Some(active) = &mut self.active {
            active.route = Some(fact.decision);
            active.categories.clone_from(&fact.categories);
            // Who could not find the path says nothing about who walks it.
            active.calls.failures = 0;
            active.phase = super::Phase::Loading;
            active.flow.analysis.clone_from(&fact.analysis);
            active.flow.complexity = fact.complexity;
            if active.flow.state != FlowState::Compiling {
                active.flow.state = active.set_out();
            }
            active.flow.done_before = done;
        }
    }

    pub(super) fn fold_intent(&mut self, fact: &IntentFact) {
        if !fact.accepted {
            return;
        }
        self.conversation.implementing = true;
        if let Some(active) = &mut self.active {
            active.flow.state = FlowState::Compiling;
            let message = carried(fact.message.as_deref(), || Some(legacy::COMPILE.to_owned()));
            active.steering.steers.extend(message);
        }
    }

    pub(super) fn fold_requirements(&mut self, requirements: &Requirements) {
        if let Some(active) = &mut self.active {
            active.flow.requirements = Some(requirements.clone());
            active.flow.state = FlowState::Understood;
        }
    }

    pub(super) fn fold_plan(&mut self, request: Option<&RequestId>, fact: &PlanFact) {
        let Some(active) = request.and_then(|request| self.unfinished_mut(request)) else { return };
        let flow = &mut active.flow;
        match fact {
            PlanFact::Proposed { version, plan, .. } => {
                flow.plan = Some(plan.clone());
                flow.version = *version;
                flow.statuses.clear();
                flow.approval.iter_mut().for_each(|approval| approval.as_subtasks = false);
                flow.state = FlowState::Proposed;
            }
            PlanFact::Started { .. } => flow.state = FlowState::Executing,
            PlanFact::Step { step, status, message, .. } => {
                flow.statuses.insert(step.clone(), *status);
                match status {
                    StepStatus::Running => {
                        flow.brief = carried(message.as_deref(), || legacy::step_begins(flow, step));
                        active.steering.steers.extend(flow.brief.clone());
                    }
                    _ => flow.last = Some(step.clone()),
                }
            }
        }
    }

    /// A plan may be carried out.
    pub(super) fn fold_approval(&mut self, request: &RequestId, by: &str, as_subtasks: bool) {
        if let Some(active) = self.unfinished_mut(request) {
            active.flow.approval = Some(PlanApproval { by: by.to_owned(), as_subtasks });
        }
    }

    /// The user's answer about the flow itself.
    pub(super) fn fold_agreement(&mut self, answered: &Checkpoint, given: RecordedAnswer<'_>) {
        let RecordedAnswer { choice, text, message, .. } = given;
        if matches!(answered.ask, Ask::Satisfaction { .. }) && choice == choice::START_OVER {
            return self.start_over(&answered.request, message);
        }
        if matches!(answered.ask, Ask::Understanding { .. }) && choice == choice::TALK {
            self.conversation.implementing = false;
        }
        if self.fold_task_answer(answered, given) {
            return;
        }
        let Some(active) = self.unfinished_mut(&answered.request) else { return };
        let words = || text.unwrap_or_default();
        match &answered.ask {
            Ask::Clarification { questions, .. } => {
                let told = carried(message, || Some(legacy::clarified(questions, choice, text)));
                if let Some(told) = told.as_ref().filter(|_| choice == choice::SUBMIT) {
                    active.flow.decide(told.clone());
                    active.request.text = format!("{}\n\n{told}", active.request.text);
                }
                active.steering.steers.extend(told);
                active.flow.clarified = true;
            }
            Ask::Begin => {
                active.flow.begun = true;
                active.guide(text);
            }
            Ask::Understanding { .. } => match choice {
                choice::TELL => {
                    active.steering.steers.extend(carried(message, || Some(legacy::corrected(words()))));
                    active.flow.state = FlowState::Compiling;
                }
                _ => {
                    let agreed = || active.flow.requirements.as_ref().map(legacy::agreed);
                    active.steering.steers.extend(carried(message, agreed));
                    for decision in active.flow.requirements.clone().unwrap_or_default().decisions {
                        active.flow.decide(decision);
                    }
                    active.flow.state = active.set_out();
                    active.guide(text);
                }
            },
            Ask::Plan { .. } => match choice {
                choice::APPROVE | choice::SUBTASKS => active.guide(text),
                // A list of steps is a new version, which is a separate fact.
                _ => {
                    let sent_back = carried(message, || legacy::sent_back(&active.flow, choice, text));
                    if let Some(sent_back) = sent_back {
                        active.steering.steers.push(sent_back);
                        active.flow.state = FlowState::Planning;
                        active.flow.complaints = 0;
                    }
                }
            },
            Ask::StepBefore(StepAsk { step, .. }) => {
                active.flow.cleared = Some(step.clone());
                active.guide(text);
            }
            Ask::StepAfter(StepAsk { step, .. }) => {
                let is_last = active.flow.next_step().is_none();
                active.flow.checked = Some(step.clone());
                // After the last step, words can only be about what was done.
                if choice == choice::TELL && is_last {
                    active.flow.again(step);
                }
                active.guide(text);
            }
            Ask::StepFailed(StepAsk { step, .. }) => {
                if choice != choice::SKIP {
                    active.flow.again(step);
                }
                active.guide(text);
            }
            Ask::Satisfaction { .. } if choice == choice::NEEDS_CHANGES => {
                let task = active.request.text.clone();
                active.flow.task.get_or_insert_with(|| task.clone());
                if let Some(text) = carried(message, || Some(legacy::feedback_on(&task, words()))) {
                    active.request.text.clone_from(&text);
                    active.steering.steers.push(text);
                }
                active.round();
            }
            _ => {}
        }
    }

    /// The files that a request has changed, as far as that is in force.
    pub(crate) fn changed_by(&self, request: &RequestId) -> BTreeSet<&str> {
        let ours = format!("{request}-");
        let in_force = &self.changes.sets[..self.changes.in_force.min(self.changes.sets.len())];
        in_force
            .iter()
            .filter(|set| set.id.as_str().starts_with(&ours))
            .flat_map(|set| set.writes.iter().map(|write| write.path.as_str()))
            .collect()
    }

    /// The request starts over: later messages, including feedback, leave the conversation. The folder keeps its
    /// changes, and the model must know.
    fn start_over(&mut self, request: &RequestId, message: Option<&str>) {
        let note = carried(message, || legacy::afresh(&self.changed_by(request)));
        let summaries = self.conversation.summaries;
        let Some(active) = self.unfinished_mut(request) else { return };
        let from = active.flow.from.max(summaries);
        if let Some(task) = active.flow.task.take() {
            active.request.text = task;
        }
        active.steering.steers.extend(note);
        active.tools.findings.clear();
        active.tools.ledger.clear();
        active.tools.used = 0;
        active.round();
        let message = active.request.message();
        self.conversation.messages.truncate(from);
        self.conversation.weights.truncate(from);
        self.conversation.measured = None;
        self.conversation.sent = self.conversation.sent.min(from);
        self.todos.clear();
        self.push(message);
        self.read_told();
    }

    /// The part of the conversation from `at` on has become longer or shorter: where requests begin moves.
    pub(super) fn move_beginnings(&mut self, at: usize, removed: usize, added: usize) {
        let all = self.active.iter_mut().chain(&mut self.queue.waiting).chain(&mut self.queue.parked);
        for active in all {
            let from = &mut active.flow.from;
            if *from >= at + removed {
                *from = *from - removed + added;
            } else if *from >= at {
                *from = at + added;
            }
        }
    }

    /// Whether the session went over from talk to work.
    pub fn is_implementing(&self) -> bool {
        self.conversation.implementing
    }
}

impl RunningRequest {
    /// Words that go with an answer: for the next step, and for those after it.
    fn guide(&mut self, text: Option<&str>) {
        self.hear(text);
        if let Some(text) = text {
            self.flow.decide(text.to_owned());
        }
    }

    /// Another round of the same task: as many steps as the first.
    fn round(&mut self) {
        self.flow.acted = false;
        self.calls.more_steps = self.calls.steps;
        self.tools.rounds.restart();
        self.calls.hollow = 0;
    }
}

/// The texts of what is done.
pub(crate) fn completed(todos: &[Todo]) -> BTreeSet<String> {
    todos.iter().filter(|todo| todo.completed).map(|todo| todo.text.clone()).collect()
}

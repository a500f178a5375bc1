//! Agreements in a simulation: questions before the work, plans and their steps, conversations that become work,
//! feedback, messages that meet a request which runs, and sessions that go on in others. The checker follows each
//! request by its facts alone and knows at any time what may be done.

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::checkpoint::{Ask, StepAsk};
use trimtab_vocab::event::{ChangeFact, PlanFact, RouteDecision, SessionFact};
use trimtab_vocab::{
    ApprovalMode, ChangeSetId, Control, Copilot, Event, Fact, Mode, Pace, Plan, Routing, RunSettings, SessionId,
    StepStatus, WhileRunning,
};

use super::History;
use super::plan::Doing;
use crate::memory_store::State;

/// Two of seven histories have people who agree first; seeds that are kept for other reasons mean what they meant.
pub(super) fn is_wanted(seed: u64) -> bool {
    matches!(seed % 7, 3 | 5)
}

impl History {
    /// How much a person wants to see before it happens.
    pub(super) fn copilot(&mut self) -> Copilot {
        if !self.flows {
            return Copilot::default();
        }
        let dice = &mut self.dice;
        let modes = [ApprovalMode::None, ApprovalMode::BeforeStep, ApprovalMode::AfterStep, ApprovalMode::Both];
        let copilot = Copilot {
            intelligent_routing: [Routing::Off, Routing::Minimal, Routing::Aggressive][dice.below(3) as usize],
            approval_mode: modes[dice.below(4) as usize],
            enable_planning: !dice.once_in(4),
            plan_approval: !dice.once_in(4),
            auto_approve_simple: dice.once_in(2),
            conversational: dice.once_in(4),
            allow_execution_transition: !dice.once_in(6),
            pause_enabled: !dice.once_in(6),
            pace: if dice.once_in(6) { Pace::Incremental } else { Pace::Autonomous },
            auto_continue: dice.once_in(2),
            ..Copilot::default()
        };
        // People are asked whether they are content only where all of this comes together, which the dice give too
        // rarely for a short run.
        match dice.once_in(3) {
            true => Copilot {
                intelligent_routing: Routing::Off,
                approval_mode: ApprovalMode::AfterStep,
                enable_planning: false,
                conversational: false,
                pace: Pace::Autonomous,
                auto_continue: false,
                ..copilot
            },
            false => copilot,
        }
    }

    /// The mode of a message, what it adds to its words, and what it does to a request that runs.
    pub(super) fn manner(&mut self) -> (Mode, &'static str, Option<WhileRunning>) {
        let dice = &mut self.dice;
        let mode = match dice.below(10) {
            0..3 => Mode::Plan,
            3 => Mode::Chat,
            4 => Mode::Implement,
            _ => Mode::Auto,
        };
        let more = match dice.below(6) {
            0 => " Please go ahead.",
            1 => " Rename x in src/a.rs and plan it first.",
            _ => "",
        };
        let meets = [None, Some(WhileRunning::Queue), Some(WhileRunning::Replace)];
        let meets = meets.into_iter().chain([Some(WhileRunning::Steer); 4]).collect::<Vec<_>>();
        (mode, more, meets[dice.below(7) as usize])
    }

    /// What a person may want of a whole session.
    pub(super) fn going_on(&mut self) -> Control {
        if self.dice.once_in(3) { Control::Extend } else { Control::Handoff }
    }
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ExpectedState {
    #[default]
    Turn,
    Compiling,
    Understood,
    Planning,
    Proposed,
    Executing,
}

/// What the log has told of an agreement so far.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    state: ExpectedState,
    route: Option<RouteDecision>,
    plan: Option<(u32, Plan)>,
    approved: Option<(u32, String)>,
    statuses: BTreeMap<String, StepStatus>,
    running: Option<(String, u32)>,
    /// A person leaves the conversation as it is; there is no answer to that.
    talks: bool,
    /// It was answered by a rule of the run that nobody is to be asked.
    pub(super) refused: bool,
}

impl Agreement {
    /// A path was chosen.
    pub(super) fn routed(&mut self, route: RouteDecision, mode: Mode, settings: &RunSettings) {
        self.route = Some(route);
        if self.state != ExpectedState::Compiling {
            self.state = self.set_out(mode, settings);
        }
    }

    fn set_out(&self, mode: Mode, settings: &RunSettings) -> ExpectedState {
        let plans = settings.copilot.enable_planning || mode == Mode::Plan;
        match self.route {
            Some(RouteDecision::Plan | RouteDecision::Clarify) if plans => ExpectedState::Planning,
            _ => ExpectedState::Turn,
        }
    }

    pub(super) fn implements(&mut self) {
        self.state = ExpectedState::Compiling;
    }

    pub(super) fn understood(&mut self) -> Result<(), String> {
        match std::mem::replace(&mut self.state, ExpectedState::Understood) {
            ExpectedState::Compiling => Ok(()),
            state => Err(format!("a conversation was understood at {state:?}")),
        }
    }

    /// What the model should be doing now.
    pub(super) fn doing(&self) -> Doing {
        match (&self.running, self.state) {
            (_, ExpectedState::Planning) => Doing::Planning,
            (Some((_, number)), ExpectedState::Executing) => Doing::Step(*number),
            _ => Doing::Work,
        }
    }

    /// Whether anything may be changed, run or fetched now: in the turn itself on a path with tools, and in a step
    /// of an approved plan.
    pub(super) fn may_act(&self) -> bool {
        match self.state {
            ExpectedState::Turn => !matches!(self.route, None | Some(RouteDecision::Chat | RouteDecision::Image)),
            ExpectedState::Executing => self.running.is_some(),
            ExpectedState::Compiling
            | ExpectedState::Understood
            | ExpectedState::Planning
            | ExpectedState::Proposed => false,
        }
    }

    pub(super) fn is_compiling(&self) -> bool {
        self.state == ExpectedState::Compiling
    }

    /// Whether it went on by a plan.
    pub(super) fn is_executing(&self) -> bool {
        self.state == ExpectedState::Executing
    }

    pub(super) fn is_planning(&self) -> bool {
        self.state == ExpectedState::Planning
    }

    /// Whether it may be completed without the model's last word.
    pub(super) fn is_left(&self) -> bool {
        self.talks
    }

    /// Whether every step of the plan has ended.
    pub(super) fn is_carried_out(&self) -> bool {
        let Some((_, plan)) = &self.plan else { return false };
        self.running.is_none() && plan.steps.iter().all(|step| self.statuses.contains_key(&step.id))
    }

    pub(super) fn answered(
        &mut self,
        about: &Ask,
        choice: &str,
        text: Option<&str>,
        by: &str,
        (mode, settings): (Mode, &RunSettings),
    ) -> Result<(), String> {
        self.refused |= by == "approve deny";
        match (about, choice) {
            (Ask::Understanding { .. }, "tell") => self.state = ExpectedState::Compiling,
            (Ask::Understanding { .. }, "talk") => self.talks = true,
            (Ask::Understanding { .. }, _) => self.state = self.set_out(mode, settings),
            (Ask::Plan { .. }, "approve") => {
                let (version, _) = self.plan.as_ref().ok_or("no plan was approved")?;
                if mode == Mode::Plan && by != "user" {
                    return Err(format!("a plan that a person asked for was approved by {by}"));
                }
                self.approved = Some((*version, by.to_owned()));
            }
            (Ask::Plan { .. }, "modify") if text.is_some_and(|text| text.starts_with('[')) => {}
            (Ask::Plan { .. }, "modify" | "replan") => self.state = ExpectedState::Planning,
            // What went wrong, or is to be done once more, is begun again.
            (Ask::StepFailed(StepAsk { step, .. }), "retry" | "tell") => {
                self.statuses.remove(step);
            }
            (Ask::StepAfter(StepAsk { step, .. }), "tell") if self.is_carried_out() => {
                self.statuses.remove(step);
            }
            _ => {}
        }
        Ok(())
    }

    /// A plan moves: its versions are counted, it is carried out only when approved, and its steps one by one in
    /// the order of work.
    pub(super) fn moves(&mut self, fact: &PlanFact, mode: Mode, settings: &RunSettings) -> Result<bool, String> {
        match fact {
            PlanFact::Proposed { version, plan, .. } => {
                let before = self.plan.as_ref().map_or(0, |(version, _)| *version);
                if *version != before + 1 || !matches!(self.state, ExpectedState::Planning | ExpectedState::Proposed) {
                    return Err(format!("version {version} of a plan came at {:?} after {before}", self.state));
                }
                self.plan = Some((*version, plan.clone()));
                self.statuses.clear();
                self.state = ExpectedState::Proposed;
            }
            PlanFact::Started { version, by } => {
                let approved = self.approved.as_ref() == Some(&(*version, by.clone()));
                let by_setting = by == "setting" && mode != Mode::Plan && !settings.copilot.plan_approval;
                let latest = self.plan.as_ref().is_some_and(|(latest, _)| latest == version);
                if self.state != ExpectedState::Proposed || !latest || !(approved || by_setting) {
                    return Err(format!(
                        "version {version} of the plan was begun by {by}, but approved: {:?}",
                        self.approved
                    ));
                }
                self.state = ExpectedState::Executing;
            }
            PlanFact::Step { step, number, of, status, .. } => return self.steps(step, *number, *of, *status),
        }
        Ok(false)
    }

    fn steps(&mut self, id: &str, number: u32, of: u32, status: StepStatus) -> Result<bool, String> {
        let (_, plan) = self.plan.as_ref().ok_or("a step of no plan")?;
        let step = plan.steps.iter().find(|step| step.id == id).ok_or(format!("{id} is no step of the plan"))?;
        if self.state != ExpectedState::Executing || of as usize != plan.steps.len() {
            return Err(format!("step {number} of {of} moved at {:?}", self.state));
        }
        let ended = |id: &String| self.statuses.contains_key(id);
        match status {
            StepStatus::Running => {
                if self.running.is_some() || self.statuses.contains_key(id) {
                    return Err(format!("step {number} began while {:?} was under way, or again", self.running));
                }
                if let Some(early) = step.depends_on.iter().find(|before| !ended(before)) {
                    return Err(format!("step {number} began before {early}"));
                }
                if self.statuses.len() + 1 != number as usize {
                    return Err(format!("step {number} began, but {} have ended", self.statuses.len()));
                }
                self.running = Some((id.to_owned(), number));
                return Ok(false);
            }
            StepStatus::Skipped => {
                if self.running.is_some() {
                    return Err(format!("step {number} was left out while another was under way"));
                }
            }
            StepStatus::Done | StepStatus::Failed => {
                if self.running.take().is_none_or(|(running, _)| running != id) {
                    return Err(format!("step {number} ended, but was not under way"));
                }
            }
        }
        self.statuses.insert(id.to_owned(), status);
        Ok(status == StepStatus::Done)
    }
}

/// Sessions go on in others: a child is there if and only if its parent says so, begins with the parent's history
/// once, and no change can be moved in two of them.
pub(super) fn children(state: &State) -> Result<u64, String> {
    let mut born: BTreeMap<&SessionId, (&SessionId, &Vec<ChangeSetId>)> = BTreeMap::new();
    for (parent, log) in &state.events {
        let mut lent: BTreeSet<&ChangeSetId> = BTreeSet::new();
        for event in log {
            let Fact::Session(SessionFact::Handoff { child, change_sets, .. }) = &event.fact else { continue };
            if born.insert(child, (parent, change_sets)).is_some() {
                return Err(format!("{child} was born twice"));
            }
            if let Some(twice) = change_sets.iter().find(|set| !lent.insert(set)) {
                return Err(format!("{parent} has handed {twice} to two sessions"));
            }
        }
    }
    for (session, log) in state.events.iter().filter(|(session, _)| !session.is_worker()) {
        let parent = log.iter().find_map(|event| match &event.fact {
            Fact::Session(SessionFact::Opened { parent_session_id, .. }) => parent_session_id.as_ref(),
            _ => None,
        });
        match (parent, born.remove(session)) {
            (None, None) => {}
            (Some(parent), Some((by, sets))) if parent == by => is_begun_once(log, parent, sets, &state.events[by])?,
            (parent, by) => return Err(format!("{session} says it comes from {parent:?}, and {by:?} that it bore it")),
        }
    }
    match born.keys().next() {
        Some(lost) => Err(format!("{lost} was handed over to, and is not there")),
        None => Ok(state.events.values().flatten().filter(|event| is_handoff(event)).count() as u64),
    }
}

fn is_handoff(event: &Event) -> bool {
    matches!(event.fact, Fact::Session(SessionFact::Handoff { .. }))
}

fn is_begun_once(log: &[Event], from: &SessionId, sets: &[ChangeSetId], parent: &[Event]) -> Result<(), String> {
    let told: Vec<&SessionId> = log
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Session(SessionFact::Inherited { from, .. }) => Some(from),
            _ => None,
        })
        .collect();
    if told != [from] {
        return Err(format!("a child of {from} was told {told:?}"));
    }
    let inherited: Vec<&ChangeSetId> = log
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Change(ChangeFact::Inherited(inherited)) => Some(&inherited.change.change_set),
            _ => None,
        })
        .collect();
    if inherited != sets.iter().collect::<Vec<_>>() {
        return Err(format!("a child of {from} has {inherited:?}, but was handed {sets:?}"));
    }
    let known = |set: &&&ChangeSetId| {
        parent.iter().any(|event| match &event.fact {
            Fact::Change(ChangeFact::Applied(change)) => change.change_set == ***set,
            Fact::Change(ChangeFact::Inherited(inherited)) => inherited.change.change_set == ***set,
            _ => false,
        })
    };
    match inherited.iter().find(|set| !known(set)) {
        Some(unknown) => Err(format!("{unknown} came from nowhere")),
        None => Ok(()),
    }
}

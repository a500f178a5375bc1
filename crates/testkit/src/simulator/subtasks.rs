//! Sub-tasks in a simulation: requests that are broken down or delegated, workers that fail, clash, ask and are
//! stopped, and processes that die under all of them. The checker follows the board of each request by its facts, keeps
//! files of its own for each copy, and merges them itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trimtab_engine::merge::{self, File, Prefer};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{SessionFact, SubtaskFact, UsageFact};
use trimtab_vocab::{
    CallId, Control, Event, ExecutionOrder, Fact, FileState, FileWrite, Machine, MergeChoice, RequestId, RunSettings,
    SessionId, StopReason, SubTask, SubTaskPlan, SubtaskControl, SubtaskOffer, SubtaskSettings, SubtaskStart,
    SubtaskStatus, SubtasksFact, TaskKind, Usage, WorkerModel,
};

use super::History;
use super::moves::unless_dead;
use super::plan::{Plan, PlannedCall, Turn, file_of};
use crate::dice::Dice;
use crate::memory_store::{State, folded};

/// Where workers get their copies.
pub(super) const COPIES: &str = "/copies";
/// The file that all workers of a request may change, as the person has made it.
pub(super) const COMMON: &str = "begin\nmiddle\nend\n";

/// Whether a name is that of a sub-task.
pub(super) fn is_worker(name: &str) -> bool {
    name.contains("-w")
}

/// The file that all workers of a request may change; `name` is that of the request or of one of its sub-tasks.
pub(super) fn common_file(name: &str) -> String {
    format!("{}-both.txt", name.split("-w").next().unwrap_or_default())
}

impl Plan {
    /// A plan of sub-tasks; sometimes one that cannot be carried out, or nothing that could be read.
    pub(super) fn breakdown(self, name: &str, number: u32) -> Turn {
        let mut dice = self.dice(name, 10_000 + number);
        let words = match dice.below(12) {
            0 => "I would rather not say.".to_owned(),
            1 => json!([{"instruction": "a", "depends_on": [2]}, {"instruction": "b", "depends_on": [1]}]).to_string(),
            2 => json!({"tasks": [{"instruction": format!("{name}-w1 all of it")}]}).to_string(),
            _ => json!({"thought": "", "tasks": Self::parts(&mut dice, name)}).to_string(),
        };
        Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) }
    }

    /// Parts of a request: some wait for others, some announce the common file.
    fn parts(dice: &mut Dice, name: &str) -> Vec<Value> {
        let count = if dice.once_in(8) { 6 + dice.below(3) } else { 2 + dice.below(4) };
        let part = |number: u64| {
            let depends_on: Vec<u64> = (1..number).filter(|_| dice.once_in(4)).collect();
            let files = if dice.once_in(3) { vec![common_file(name)] } else { Vec::new() };
            let kind = ["simple", "reasoning", "review"][dice.below(3) as usize];
            json!({"instruction": format!("{name}-w{number} is to be done"), "files": files, "depends_on": depends_on,
                "kind": kind, "priority": dice.below(3)})
        };
        (1..=count).map(part).collect()
    }

    /// A call that hands parts of the work to workers.
    pub(super) fn delegation(self, name: &str, round: u32) -> PlannedCall {
        let mut dice = self.dice(name, 11_000 + round);
        PlannedCall {
            id: format!("{name}-r{round}-t0"),
            name: "delegate",
            arguments: json!({"tasks": Self::parts(&mut dice, name)}).to_string(),
        }
    }

    /// Some sub-tasks fail a few times, whoever tries.
    pub(super) fn is_cursed(self, name: &str, attempt: u32) -> bool {
        is_worker(name) && attempt <= 3 && self.dice(name, 12_000).once_in(5)
    }

    /// What two changes come to; some models cannot say.
    pub(super) fn merged(self, text: &str) -> Turn {
        let mut dice = self.dice(text, 13_000);
        let words = match dice.below(3) {
            0 => "They do not fit together.".to_owned(),
            _ => format!("Here it is:\n```\nbegin\nmerged {}\nend\n```", dice.below(100)),
        };
        Turn { words, calls: Vec::new(), stop: Some(StopReason::EndTurn) }
    }

    /// A call of a worker: its own file, the common one, commands, questions, and what the workers share.
    pub(super) fn worker_call(dice: &mut Dice, name: &str, round: u32, index: usize) -> PlannedCall {
        let place = format!("{name}-{round}-{index}");
        let (own, common) = (file_of(name), common_file(name));
        let edit = |path: &str, search: &str, replace: String| {
            ("edit_file", json!({"path": path, "blocks": [{"search": search, "replace": replace}]}))
        };
        let kind = if round == 0 && index == 0 { 0 } else { dice.below(22) };
        let (tool, input) = match kind {
            0 | 1 => ("write_file", json!({"path": own, "content": format!("begin\nline {place}\nend\n")})),
            2 | 3 => edit(&own, "begin\n", format!("begin\nmore {place}\n")),
            4..7 => edit(&common, "begin\n", format!("begin\nmore {place}\n")),
            7 | 8 => edit(&common, "end\n", format!("more {place}\nend\n")),
            9 => {
                // Where one worker wants a folder, another may have changed the file.
                let path = if dice.once_in(3) { format!("{common}/x") } else { common };
                ("write_file", json!({"path": path, "content": format!("begin\nall {place}\nend\n")}))
            }
            10 => ("delete_file", json!({"path": if dice.once_in(2) { own } else { common }})),
            11..14 => ("run_command", json!({"command": format!("frob {place}")})),
            14 | 15 => ("ask_user", json!({"question": format!("Which for {place}?"), "options": ["this", "that"]})),
            16 => ("write_shared", json!({"key": format!("k{}", dice.below(2)), "value": place})),
            17 => ("read_shared", json!({})),
            18 => ("delegate", json!({"tasks": [{"instruction": "say-never"}, {"instruction": "say-never"}]})),
            19 => ("set_steps", json!({"steps": [{"text": place, "completed": dice.once_in(2)}, "more"]})),
            20 => ("search", json!({"pattern": place})),
            _ => ("fetch_url", json!({"url": format!("https://host0.example/{place}")})),
        };
        PlannedCall { id: format!("{name}-r{round}-t{index}"), name: tool, arguments: input.to_string() }
    }
}

impl History {
    /// The settings of a person who has work done by several workers.
    pub(super) fn with_subtasks(&mut self, mut settings: RunSettings) -> RunSettings {
        if !self.subtasks {
            return settings;
        }
        let dice = &mut self.dice;
        let starts = [
            Some(SubtaskStart::Ask),
            Some(SubtaskStart::Parallel),
            Some(SubtaskStart::Parallel),
            Some(SubtaskStart::Sequential),
            Some(SubtaskStart::Loose),
            None,
        ];
        settings.subtasks = SubtaskSettings {
            start: starts[dice.below(6) as usize],
            parallel: 1 + dice.below(4) as u32,
            offer: if dice.once_in(2) { SubtaskOffer::Auto } else { SubtaskOffer::Ask },
            ..SubtaskSettings::default()
        };
        settings.machine = Machine { workers: COPIES.into(), ..settings.machine };
        settings.models.budget_usd = [None, None, Some(0.3), Some(0.6), Some(1.2)][dice.below(5) as usize];
        if dice.once_in(2) {
            let fast = WorkerModel { model: "sim/fast".into(), facts: settings.models.facts };
            settings.subtasks.models.insert(TaskKind::Simple, fast);
        }
        settings
    }

    /// A message to a session in which the file for all workers is there.
    pub(super) fn with_common_file(&mut self, text: String) -> String {
        let path = common_file(super::plan::name_of(&text));
        self.disk.state().files.insert(path, COMMON.into());
        // Models delegate where it is asked for.
        if self.dice.once_in(2) { format!("{text} in parallel") } else { text }
    }

    /// What a person answers to a question about sub-tasks with words.
    pub(super) fn words_about_subtasks(&mut self, ask: &Ask, choice: &str) -> Option<String> {
        let dice = &mut self.dice;
        match (ask, choice) {
            (Ask::SubtaskPlan { plan, text, .. }, "edit") => Some(match dice.below(3) {
                0 => "leave one out".to_owned(),
                1 => text.clone(),
                _ => {
                    let last = plan.tasks.last()?;
                    let at = text.find(&format!("\n{}. ", last.id)).filter(|_| plan.tasks.len() > 2)?;
                    text[..=at].to_owned()
                }
            }),
            (Ask::SubtaskFailed { name, .. }, "edit") => {
                Some(format!("{}e is to be done otherwise", super::plan::name_of(name)))
            }
            (Ask::SubtaskFailed { .. }, "retry_model") => {
                Some(["sim/model", "sim/unknown"][dice.below(2) as usize].to_owned())
            }
            (Ask::MergeConflict { .. }, "edit") => Some(format!("begin\nby hand {}\nend", dice.below(100))),
            _ => None,
        }
    }

    /// Wants something of a sub-task, or of the session of its worker.
    pub(super) async fn tend_subtasks(&mut self) {
        let tasks: Vec<(SessionId, String, Option<SessionId>)> = {
            let state = self.disk.state();
            let all =
                state.events.iter().flat_map(|(session, log)| log.iter().rev().map(move |event| (session, event)));
            all.filter_map(|(session, event)| match &event.fact {
                Fact::Subtask(fact) => Some((session.clone(), fact.subtask.clone(), fact.worker.clone())),
                _ => None,
            })
            .collect()
        };
        let recent: Vec<_> = tasks.into_iter().take(24).collect();
        let (Some((client, store)), Some((session, subtask, worker))) = (self.any_process(), self.dice.pick(&recent))
        else {
            return;
        };
        let (session, subtask, worker) = (session.clone(), subtask.clone(), worker.clone());
        let action = match self.dice.below(12) {
            0 => SubtaskControl::Pause,
            1 => SubtaskControl::Resume,
            2 | 3 => SubtaskControl::Stop,
            4 | 5 => SubtaskControl::Skip,
            6 => SubtaskControl::Retry { model: Some("sim/unknown".into()), instruction: None },
            7 | 8 => SubtaskControl::Retry { model: None, instruction: None },
            9 | 10 => SubtaskControl::Steer { text: format!("steer-w{subtask}") },
            _ => {
                // Somebody is in the worker's own session.
                let Some(worker) = worker else { return };
                let all = [Control::Cancel, Control::Pause, Control::Skip, Control::Steer { text: "steer-in".into() }];
                let action = all[self.dice.below(4) as usize].clone();
                unless_dead(&store, client.requests().control(&worker, None, action)).await;
                return;
            }
        };
        let action = Control::Subtask { subtask, action };
        unless_dead(&store, client.requests().control(&session, None, action)).await;
    }
}

/// What runs met of sub-tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubtaskTally {
    /// Plans that were begun.
    pub started: u64,
    /// Sub-tasks by their end.
    pub completed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub stopped: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// Questions of workers on the board.
    pub questions: u64,
    /// Of those, the ones that a person answered there.
    pub answered: u64,
    /// Budgets that workers wanted raised.
    pub raised: u64,
    /// Conflicts that were settled, and those of them that a model settled.
    pub settled: u64,
    pub settled_by_model: u64,
    /// Merges that were begun again, and those that left files out.
    pub merged_again: u64,
    pub left_out: u64,
    /// Changes of workers that reached the folder.
    pub merged: u64,
    /// Merged changes that were moved in the history.
    pub moved: u64,
    /// Requests that ended for want of a person while workers waited.
    pub parked: u64,
    /// Requests that were cancelled with workers at work.
    pub cancelled: u64,
    /// Processes that died while workers were at work.
    pub killed: u64,
}

impl std::ops::AddAssign for SubtaskTally {
    fn add_assign(&mut self, other: Self) {
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.stopped += other.stopped;
        self.retried += other.retried;
        self.questions += other.questions;
        self.answered += other.answered;
        self.raised += other.raised;
        self.settled += other.settled;
        self.settled_by_model += other.settled_by_model;
        self.merged_again += other.merged_again;
        self.left_out += other.left_out;
        self.merged += other.merged;
        self.moved += other.moved;
        self.parked += other.parked;
        self.cancelled += other.cancelled;
        self.killed += other.killed;
    }
}

type Files = BTreeMap<String, String>;
/// Texts by their hash.
type Texts = BTreeMap<String, String>;

/// A sub-task as the facts tell it.
#[derive(Debug, Clone, Default)]
struct BoardTask {
    status: SubtaskStatus,
    attempt: u32,
    worker: Option<SessionId>,
    usage: Usage,
    writes: Vec<FileWrite>,
}

/// The sub-tasks of a request as the facts tell them.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    call: Option<CallId>,
    plan: SubTaskPlan,
    order: Option<ExecutionOrder>,
    reserved: Option<f64>,
    tasks: BTreeMap<String, BoardTask>,
    settled: BTreeMap<(String, String), MergeChoice>,
    left_out: BTreeSet<String>,
    is_merging: bool,
    /// A model has settled a conflict, which nobody has seen yet.
    pub(super) is_unseen: bool,
    /// A person has let a worker spend more.
    is_raised: bool,
}

impl Board {
    /// Something is told of the sub-tasks as a whole.
    pub(super) fn tells(&mut self, fact: &SubtasksFact, tally: &mut SubtaskTally) -> Result<(), String> {
        match fact {
            SubtasksFact::Planned { plan, call, .. } => {
                // Another call of the same request has sub-tasks of its own.
                if call.is_some() && self.order.is_some() && *call != self.call {
                    self.is_over()?;
                    *self = Self::default();
                }
                self.call = call.clone().or(self.call.take());
                let ids = |plan: &SubTaskPlan| plan.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
                if self.order.is_some() && ids(&self.plan) != ids(plan) {
                    return Err("a plan got other sub-tasks while it was carried out".into());
                }
                self.plan.clone_from(plan);
            }
            SubtasksFact::Started { execution_order, reserved_usd } => {
                if self.order.replace(*execution_order).is_some() {
                    return Err("sub-tasks were begun twice".into());
                }
                self.reserved = *reserved_usd;
                tally.started += 1;
            }
            SubtasksFact::Merging { without } => {
                self.left_out.extend(without.iter().cloned());
                // A folder that changed meanwhile has them merged again, and conflicts are settled anew.
                if std::mem::replace(&mut self.is_merging, true) {
                    self.settled.clear();
                    tally.merged_again += 1;
                }
                tally.left_out += u64::from(!without.is_empty());
                self.is_over()?;
            }
            SubtasksFact::Resolved { path, subtask, choice, by } => {
                tally.settled += 1;
                tally.settled_by_model += u64::from(by == "model");
                self.is_unseen |= by == "model";
                self.settled.insert((path.clone(), subtask.clone()), choice.clone());
            }
            SubtasksFact::Unplanned { .. }
            | SubtasksFact::Shared { .. }
            | SubtasksFact::Resized { .. }
            | SubtasksFact::Cancelled {} => {}
        }
        Ok(())
    }

    pub(super) fn raises(&mut self) {
        self.is_raised = true;
    }

    /// Whether somebody is at work, or waits for a person to be.
    pub(super) fn is_at_work(&self) -> bool {
        self.tasks.values().any(|task| task.status.is_at_work())
    }

    /// Every sub-task has ended.
    pub(super) fn is_over(&self) -> Result<(), String> {
        let left = self.plan.tasks.iter().find(|task| !self.status(&task.id).is_over());
        match left.filter(|_| self.order.is_some()) {
            Some(task) => Err(format!("sub-task {} is {}, and nothing more comes", task.id, self.status(&task.id))),
            None => Ok(()),
        }
    }

    fn status(&self, id: &str) -> SubtaskStatus {
        self.tasks.get(id).map(|task| task.status).unwrap_or_default()
    }

    /// A sub-task moves.
    pub(super) fn moves(&mut self, fact: &SubtaskFact, parallel: u32, tally: &mut SubtaskTally) -> Result<(), String> {
        let id = &fact.subtask;
        let task = self.plan.task(id).ok_or(format!("{id} is no sub-task"))?.clone();
        let before = self.tasks.get(id).cloned().unwrap_or_default();
        let wrong = |what: &str| Err(format!("sub-task {id} became {} after {}: {what}", fact.status, before.status));
        // What a worker spent until it heard of its end is counted even while the others are merged.
        let is_late = before.status == fact.status && before.status.is_over();
        if self.order.is_none() || (self.is_merging && !is_late) {
            return wrong("they are not carried out");
        }
        if fact.attempt > before.attempt {
            self.begins(&task, fact, &before, parallel)?;
            tally.retried += u64::from(before.attempt > 0);
        } else {
            let may = match before.status {
                // The worker of its attempt before may have spent more than was known when it was stopped.
                SubtaskStatus::Pending if before.attempt > 0 => fact.status != SubtaskStatus::Completed,
                SubtaskStatus::Pending => matches!(fact.status, SubtaskStatus::Skipped | SubtaskStatus::Stopped),
                SubtaskStatus::Running | SubtaskStatus::NeedsUser => fact.status != SubtaskStatus::Pending,
                SubtaskStatus::Failed => {
                    use SubtaskStatus::{Pending, Skipped, Stopped};
                    matches!(fact.status, Pending | Skipped | Stopped)
                }
                // What its worker spent until it heard of it is still counted.
                SubtaskStatus::Skipped | SubtaskStatus::Stopped => {
                    matches!(fact.status, SubtaskStatus::Pending) || fact.status == before.status
                }
                SubtaskStatus::Completed => false,
            };
            if !may || fact.worker != before.worker {
                return wrong("that cannot be");
            }
        }
        if before.status != fact.status {
            match fact.status {
                SubtaskStatus::Completed => tally.completed += 1,
                SubtaskStatus::Failed => tally.failed += 1,
                SubtaskStatus::Skipped => tally.skipped += 1,
                SubtaskStatus::Stopped => tally.stopped += 1,
                _ => {}
            }
        }
        if fact.usage.input_tokens < before.usage.input_tokens {
            return wrong("it has spent less than before");
        }
        let now = BoardTask {
            status: fact.status,
            attempt: fact.attempt,
            worker: fact.worker.clone(),
            usage: fact.usage,
            writes: fact.writes.clone(),
        };
        self.tasks.insert(id.clone(), now);
        let spent: f64 = self.tasks.values().filter_map(|task| task.usage.cost_usd).sum();
        match self.reserved {
            Some(reserved) if spent > reserved + 1e-9 && !self.is_raised => {
                Err(format!("workers spent {spent} of {reserved}, and nobody was asked"))
            }
            _ => Ok(()),
        }
    }

    fn begins(&self, task: &SubTask, fact: &SubtaskFact, before: &BoardTask, parallel: u32) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("sub-task {} began {what}", task.id));
        if fact.attempt != before.attempt + 1 || fact.status != SubtaskStatus::Running || fact.worker.is_none() {
            return wrong("as it cannot");
        }
        if !matches!(before.status, SubtaskStatus::Pending | SubtaskStatus::Failed) {
            return wrong("again, though it was over or under way");
        }
        let others: Vec<&SubTask> =
            self.plan.tasks.iter().filter(|other| self.status(&other.id).is_at_work()).collect();
        let most = if self.order == Some(ExecutionOrder::Sequential) { 1 } else { parallel.max(1) as usize };
        if others.len() >= most {
            return wrong("beside too many others");
        }
        if self.order == Some(ExecutionOrder::Parallel) {
            return Ok(());
        }
        if task.depends_on.iter().any(|id| self.status(id) != SubtaskStatus::Completed) {
            return wrong("before what it depends on was completed");
        }
        let is_locked = |file: &String| others.iter().any(|other| other.context_files.contains(file));
        match task.context_files.iter().any(is_locked) {
            true => wrong("while another has its files"),
            false => Ok(()),
        }
    }

    /// What workers have made of files, in the order of the plan.
    fn parts(&self) -> impl Iterator<Item = (&String, &BoardTask)> {
        let known = self.plan.tasks.iter().filter_map(|task| self.tasks.get_key_value(&task.id));
        known.filter(|(_, task)| task.status == SubtaskStatus::Completed)
    }

    /// Brings the changes of workers into the files; an error where one would overwrite another.
    pub(super) fn merge_into(&self, files: &mut Files, texts: &Texts) -> Result<(), String> {
        for (id, task) in self.parts() {
            for write in task.writes.iter().filter(|write| !self.left_out.contains(&write.path)) {
                let settled = self.settled.get(&(write.path.clone(), id.clone()));
                merge_write(files, write, texts, settled, Prefer::Neither)?;
            }
        }
        Ok(())
    }

    /// What a worker finds in its copy that is not as the person has it.
    fn seed(&self, task: &SubTask, files: &mut Files, texts: &Texts) -> Result<(), String> {
        let mut needed: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = match self.order.unwrap_or_default() {
            ExecutionOrder::Parallel => Vec::new(),
            ExecutionOrder::DependencyGraph => task.depends_on.iter().map(String::as_str).collect(),
            ExecutionOrder::Sequential => self.plan.tasks.iter().map(|task| task.id.as_str()).collect(),
        };
        while let Some(id) = open.pop() {
            if needed.insert(id) {
                open.extend(self.plan.task(id).into_iter().flat_map(|task| &task.depends_on).map(String::as_str));
            }
        }
        for (_, part) in self.parts().filter(|(id, _)| needed.contains(id.as_str())) {
            for write in &part.writes {
                merge_write(files, write, texts, None, Prefer::Left)?;
            }
        }
        Ok(())
    }
}

fn merge_write(
    files: &mut Files,
    write: &FileWrite,
    texts: &Texts,
    settled: Option<&MergeChoice>,
    prefer: Prefer,
) -> Result<(), String> {
    let text = |state: &Option<FileState>| match state {
        None => Ok(None),
        Some(state) => texts.get(&state.hash).map(Some).ok_or(format!("{} became something unknown", write.path)),
    };
    fn side(text: Option<&String>) -> Option<File<'_>> {
        text.map(|text| File { bytes: text.as_bytes(), mode: 0o644 })
    }
    let (base, theirs) = (text(&write.before)?, text(&write.after)?);
    let prefer = match settled {
        Some(MergeChoice::Ours) => Prefer::Left,
        Some(MergeChoice::Theirs) => Prefer::Right,
        Some(MergeChoice::Text { text }) => {
            files.insert(write.path.clone(), text.clone());
            return Ok(());
        }
        None => prefer,
    };
    let merged = merge::merge_files(side(base), side(files.get(&write.path)), side(theirs), prefer)
        .map_err(|_| format!("{} was merged over a conflict that nobody settled", write.path))?;
    match merged {
        Some((bytes, _)) => drop(files.insert(write.path.clone(), String::from_utf8_lossy(&bytes).into_owned())),
        None => drop(files.remove(&write.path)),
    }
    Ok(())
}

/// The workers in the order in which they were made, each with the session and the request that it works for.
pub(super) fn workers(state: &State) -> Vec<(&SessionId, &SessionId, &RequestId)> {
    let mut all: Vec<(&SessionId, &SessionId, &RequestId)> = Vec::new();
    for (parent, log) in &state.events {
        for event in log {
            if let (Fact::Subtask(SubtaskFact { worker: Some(worker), .. }), Some(request)) =
                (&event.fact, &event.request)
                && !all.iter().any(|(known, ..)| *known == worker)
            {
                all.push((worker, parent, request));
            }
        }
    }
    all
}

/// What a worker finds in its copy of what the sub-tasks of its request touch.
pub(super) fn found_by(
    state: &State,
    (worker, parent, request): (&SessionId, &SessionId, &RequestId),
    name: &str,
    texts: &Texts,
) -> Result<Files, String> {
    let mut board = Board::default();
    let mut tally = SubtaskTally::default();
    for event in state.events[parent].iter().filter(|event| event.request.as_ref() == Some(request)) {
        match &event.fact {
            Fact::Subtasks(fact) => board.tells(fact, &mut tally)?,
            Fact::Subtask(fact) if fact.worker.as_ref() == Some(worker) => {
                let mut files = Files::from([(common_file(name), COMMON.to_owned())]);
                let task = board.plan.task(&fact.subtask).ok_or("a worker of no sub-task")?.clone();
                board.seed(&task, &mut files, texts)?;
                return Ok(files);
            }
            Fact::Subtask(fact) => {
                board.is_raised = true;
                board.moves(fact, u32::MAX, &mut tally)?;
            }
            _ => {}
        }
    }
    Err(format!("{worker} works for nobody"))
}

/// What a worker told of its files is what it made of them.
pub(super) fn is_told(
    state: &State,
    worker: &SessionId,
    parent: &SessionId,
    found: &Files,
    made: &Files,
) -> Result<(), String> {
    let done = state.events[parent].iter().find_map(|event| match &event.fact {
        Fact::Subtask(fact) if fact.worker.as_ref() == Some(worker) && fact.status == SubtaskStatus::Completed => {
            Some(&fact.writes)
        }
        _ => None,
    });
    let Some(writes) = done else { return Ok(()) };
    let hash = |text: Option<&String>| text.map(|text| trimtab_world::store::hash(text.as_bytes()));
    let paths: BTreeSet<&String> = found.keys().chain(made.keys()).collect();
    for path in paths {
        let (before, after) = (hash(found.get(path)), hash(made.get(path)));
        let write = writes.iter().find(|write| write.path == *path);
        let told = write.map(|write| {
            let state = |state: &Option<FileState>| state.as_ref().map(|state| state.hash.clone());
            (state(&write.before), state(&write.after))
        });
        let expected = (before != after).then_some((before, after));
        if told != expected {
            return Err(format!("{worker} told {told:?} of {path}, and made {expected:?}"));
        }
    }
    match writes.iter().find(|write| !found.contains_key(&write.path) && !made.contains_key(&write.path)) {
        Some(write) => Err(format!("{worker} told of {}, which it never touched", write.path)),
        None => Ok(()),
    }
}

/// What is left when everything is over: no copy, a worker for every session that says it is one, and sums that equal
/// their parts.
pub(super) fn at_the_end(state: &State, kills: u64) -> Result<(), String> {
    // Whoever is killed leaves its copies to the next run, which removes those of workers that are over.
    let of_one_at_work = |copy: &&String| {
        let is_it = |job: &crate::memory_store::Job| copy.ends_with(job.row.session.as_str()) && job.status.is_none();
        state.jobs.values().any(is_it)
    };
    if let Some(copy) = state.copies.keys().find(|copy| kills == 0 || of_one_at_work(copy)) {
        return Err(format!("{copy} was left behind"));
    }
    let all = workers(state);
    for (session, log) in &state.events {
        let role = log.iter().any(|event| matches!(event.fact, Fact::Session(SessionFact::Worker { .. })));
        if role != all.iter().any(|(worker, ..)| *worker == session) {
            return Err(format!("{session} is a worker of nobody, or not the one that it should be"));
        }
        if role {
            continue;
        }
        let mut sum = spent(log);
        for (worker, ..) in all.iter().filter(|(_, parent, _)| *parent == session) {
            sum += spent(state.events.get(worker).map_or(&[], Vec::as_slice));
        }
        let told = folded(log).usage();
        let cost = |usage: Usage| usage.cost_usd.unwrap_or(0.0);
        let same = (told.input_tokens, told.output_tokens) == (sum.input_tokens, sum.output_tokens);
        if !all.is_empty() && (!same || (cost(told) - cost(sum)).abs() > 1e-9) {
            return Err(format!("{session} says that it has spent {told:?}, but its parts make {sum:?}"));
        }
    }
    Ok(())
}

/// What the calls of a log have cost.
fn spent(log: &[Event]) -> Usage {
    let mut sum = Usage::default();
    for event in log {
        // What is of no request is what a worker spent that nobody waited for any more.
        if let (Fact::Usage(UsageFact { usage, .. }), Some(_)) = (&event.fact, &event.request) {
            sum += *usage;
        }
    }
    sum
}

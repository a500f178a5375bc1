//! A person's tasks and what is remembered of them, in a simulation: operations from any process with names that come
//! again after a death, moves of their history, questions to the assistant, and lasting words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trimtab_host::config::TaskSettings;
use trimtab_host::{ApplyOperations, Client, Manner, NotApplied, NotMoved, RequestDraft, SendTo, TaskList, TaskMove};
use trimtab_vocab::event::{ModelFact, ReplyFact, RequestFact};
use trimtab_vocab::{
    Applied, Applying, AssistantRequest, AutoMode, ChangeSetId, Event, Fact, Ingest, MemoryFact, MemorySettings, Mode,
    OnConflict, SessionId, TaskAuthor, TaskId, TaskLimits, TasksFact, Via,
};
use trimtab_world::store::tasks_session;

use super::History;
use super::moves::unless_dead;
use crate::dice::Dice;
use crate::memory_store::State;

/// Three of thirteen histories have a person with tasks; seeds that are kept for other reasons mean what they meant.
pub(super) fn is_wanted(seed: u64) -> bool {
    matches!(seed % 13, 5 | 8 | 12)
}

/// Operations that a person wants, under a name.
#[derive(Debug, Clone)]
pub(super) struct TaskOrder {
    key: String,
    operations: Vec<Value>,
    /// What was answered, and when.
    answer: Option<(Applied, i64)>,
}

/// What was wanted so far.
#[derive(Debug, Default)]
pub(super) struct TaskOrders {
    made: Vec<TaskOrder>,
    /// Things that were added to the memory by hand, as often as somebody tried.
    added: u64,
    questions: u64,
}

fn list(client: &Client) -> Option<TaskList> {
    let settings = TaskSettings {
        applying: Applying::Ask,
        timezone: "UTC".into(),
        limits: TaskLimits::default(),
        keys: 1_000,
        auto_mode: AutoMode::default(),
    };
    client.tasks(&settings).ok()
}

/// Any operation, on tasks that may not be there.
fn operation(dice: &mut Dice, most: TaskId) -> Value {
    let id = 1 + dice.below(most + 2);
    match dice.below(9) {
        0..3 => json!({"op": "create", "title": format!("task {}", dice.below(1_000)), "scheduledFor": "2027-01-20"}),
        3 | 4 => json!({"op": "update", "id": id, "title": format!("other {}", dice.below(1_000))}),
        5 => json!({"op": "complete", "id": id, "completed": dice.once_in(2)}),
        6 => json!({"op": "delete", "id": id}),
        7 => json!({"op": "bulk_update", "where": {"completed": false}, "set": {"priority": "high"}}),
        _ => {
            let priority = ["low", "high", "urgent"][dice.below(3) as usize];
            json!({"op": "update", "id": id, "priority": priority})
        }
    }
}

impl History {
    /// How lasting words are treated where there is a person with tasks.
    pub(super) fn memory(&self) -> MemorySettings {
        match self.tasks {
            true => MemorySettings { ingest: Ingest::Durable, recall_bytes: 64 },
            false => MemorySettings::default(),
        }
    }

    /// What a person adds to their words for good.
    pub(super) fn lasting(&mut self) -> String {
        match self.tasks && self.dice.once_in(3) {
            true => format!(" Well. I prefer number {} of them.", self.dice.below(6)),
            false => String::new(),
        }
    }

    pub(super) async fn tend_tasks(&mut self) {
        match self.dice.below(8) {
            0..3 => self.apply().await,
            3 => self.apply_again().await,
            4 => self.move_tasks().await,
            5 => self.remember().await,
            _ => self.ask().await,
        }
    }

    async fn apply(&mut self) {
        let most = self.disk.state().kept.tasks.keys().next_back().copied().unwrap_or(0);
        let count = 1 + self.dice.below(4);
        let operations = (0..count).map(|_| operation(&mut self.dice, most)).collect();
        self.orders.made.push(TaskOrder { key: format!("w{}", self.orders.made.len()), operations, answer: None });
        self.send(self.orders.made.len() - 1).await;
    }

    async fn apply_again(&mut self) {
        let count = self.orders.made.len() as u64;
        if count > 0 {
            let at = self.dice.below(count) as usize;
            self.send(at).await;
        }
    }

    async fn send(&mut self, at: usize) {
        let Some((client, store)) = self.any_process() else { return };
        let Some(tasks) = list(&client) else { return };
        let TaskOrder { key, operations, answer } = self.orders.made[at].clone();
        let order = ApplyOperations { operations, by: TaskAuthor::Assistant, key: Some(key.clone()), confirmed: true };
        let sent = unless_dead(&store, tasks.apply(order)).await;
        let now = tasks.moment().now.millis();
        match (sent, answer) {
            // After ten minutes a name may be used anew.
            (Some(Ok(given)), Some((known, when))) if now - when < 10 * 60 * 1_000 && given != known => {
                let broken = format!("the wish {key} was answered {known:?}, and then {given:?}");
                self.disk.state().seen.broken.push(broken);
            }
            (Some(Ok(given)), _) => {
                let done = given.results.iter().filter(|result| result.ok).count();
                self.orders.made[at].answer = Some((given, now));
                if self.dice.once_in(2) {
                    unless_dead(&store, client.requests().decide_tasks(done)).await;
                }
            }
            (Some(Err(NotApplied::KeyReused)), _) => {
                self.disk.state().seen.broken.push(format!("the wish {key} was taken for another one"));
            }
            (Some(Err(_)) | None, _) => {}
        }
    }

    async fn move_tasks(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        let Some(tasks) = list(&client) else { return };
        let sets = sets(&self.disk.state());
        let way = match self.dice.below(4) {
            0 => TaskMove::Forward(1),
            1 => match self.dice.pick(&sets) {
                Some(set) => TaskMove::Undo(set.clone()),
                None => TaskMove::Back(1),
            },
            _ => TaskMove::Back(1 + self.dice.below(2) as usize),
        };
        let conflict = [OnConflict::Refuse, OnConflict::KeepMine, OnConflict::DiscardMine][self.dice.below(3) as usize];
        match unless_dead(&store, tasks.move_history(way, conflict)).await {
            Some(Ok(_)) => self.tally.task_moves += 1,
            Some(Err(NotMoved::Nothing | NotMoved::Unknown | NotMoved::Conflicts(_) | NotMoved::Problem(_))) | None => {
            }
        }
    }

    async fn remember(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        let known: Vec<_> = self.disk.state().remembered.iter().map(|entry| entry.id.clone()).collect();
        match self.dice.pick(&known) {
            Some(id) if self.dice.once_in(2) => drop(unless_dead(&store, client.memory().forget(id)).await),
            _ => {
                self.orders.added += 1;
                let text = format!("by hand {}", self.dice.below(5));
                unless_dead(&store, client.memory().add(&text, None)).await;
            }
        }
    }

    async fn ask(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        self.orders.questions += 1;
        let text = format!("ask-{} Tidy up my list", self.orders.questions);
        let mode = [Mode::Auto, Mode::Auto, Mode::Plan, Mode::Chat][self.dice.below(4) as usize];
        let draft = RequestDraft { mode, ..RequestDraft::new(text, Manner::default()) };
        let Some(say) = self.composed(draft) else { return };
        let ask = AssistantRequest { via: Via::Cli, ..AssistantRequest::default() };
        unless_dead(&store, client.send(SendTo::Assistant(Box::new(ask)), say)).await;
    }
}

/// Sets that were ever applied.
fn sets(state: &State) -> Vec<ChangeSetId> {
    let log = state.events.get(&tasks_session()).map(Vec::as_slice).unwrap_or_default();
    let applied = |event: &Event| match &event.fact {
        Fact::Tasks(TasksFact::Applied { change_set, .. }) => Some(change_set.clone()),
        _ => None,
    };
    log.iter().filter_map(applied).collect()
}

/// Whether a session is about tasks: their history, or questions about them.
pub(super) fn is_about(state: &State, session: &SessionId) -> bool {
    state.sessions.get(session).is_none_or(|row| row.folder.is_empty())
}

/// What must hold of tasks and of what is remembered; how many sets there are, and how many lasting things were noted.
pub(super) fn check(history: &History, state: &State) -> Result<(u64, u64), String> {
    let log = state.events.get(&tasks_session()).map(Vec::as_slice).unwrap_or_default();
    let (mut tasks, mut made) = (BTreeMap::new(), BTreeSet::new());
    for (at, event) in (1..).zip(log) {
        if event.seq != Some(at) {
            return Err(format!("the history of the tasks has a gap at {at}"));
        }
        let fact = match &event.fact {
            Fact::Tasks(fact) => fact,
            Fact::Session(_) => continue,
            _ => return Err(format!("{event:?} is no fact about tasks")),
        };
        let (TasksFact::Applied { writes, .. }
        | TasksFact::Reverted { writes, .. }
        | TasksFact::Reapplied { writes, .. }) = fact;
        if let TasksFact::Applied { change_set, .. } = fact
            && !made.insert(change_set.clone())
        {
            return Err(format!("{change_set} was applied twice"));
        }
        for write in writes {
            match &write.after {
                Some(task) => drop(tasks.insert(write.id, task.clone())),
                None => drop(tasks.remove(&write.id)),
            }
        }
    }
    if tasks != state.kept.tasks {
        return Err(format!("the tasks are {:?}, but their history makes {tasks:?}", state.kept.tasks));
    }
    for order in &history.orders.made {
        let Some((answer, _)) = &order.answer else { continue };
        if let Some(set) = answer.change_set.as_ref().filter(|set| !made.contains(set)) {
            return Err(format!("the wish {} was answered with {set}, which is not in the history", order.key));
        }
    }
    Ok((made.len() as u64, remembered(history, state)?))
}

/// Nothing is remembered that nobody said or added, and nothing is told that was never remembered.
fn remembered(history: &History, state: &State) -> Result<u64, String> {
    let mut noted = BTreeSet::new();
    let mut recalled = BTreeSet::new();
    for event in state.events.values().flatten() {
        match &event.fact {
            Fact::Memory(MemoryFact::Noted { entries }) => noted.extend(entries.iter().map(|entry| entry.id.clone())),
            Fact::Memory(MemoryFact::Recalled { entries }) => {
                recalled.extend(entries.iter().map(|entry| entry.id.clone()));
            }
            _ => {}
        }
    }
    let by_hand = state.remembered.iter().filter(|entry| entry.session.is_none()).count() as u64;
    if by_hand > history.orders.added {
        return Err(format!("{by_hand} things were added by hand, but only {} were wanted", history.orders.added));
    }
    for entry in state.remembered.iter().filter(|entry| entry.session.is_some()) {
        if !noted.contains(&entry.id) || !entry.text.starts_with("I prefer number") {
            return Err(format!("{entry:?} was never said"));
        }
    }
    match recalled.iter().find(|id| id.as_str().contains("-m") && !noted.contains(*id)) {
        Some(id) => Err(format!("{id} was recalled and never noted")),
        None => Ok(noted.len() as u64),
    }
}

/// A session in which the tasks are asked about: every call has an end, and every request too.
pub(super) fn asked(log: &[Event]) -> Result<u64, String> {
    let (mut open, mut calls, mut proposals) = (BTreeSet::new(), BTreeSet::new(), 0);
    for event in log {
        let Some(request) = &event.request else { continue };
        match &event.fact {
            Fact::Request(RequestFact::Received { .. } | RequestFact::Reopened {}) => drop(open.insert(request)),
            Fact::Request(RequestFact::Finished { .. }) if open.remove(request) => {}
            Fact::Request(RequestFact::Finished { .. }) => return Err(format!("{request} has ended twice")),
            Fact::Model(ModelFact::Called { call, .. }) if calls.insert(call) => {}
            Fact::Model(ModelFact::Called { call, .. }) => return Err(format!("{call} was made twice")),
            Fact::Model(ModelFact::Failed { call, .. })
            | Fact::Reply(ReplyFact::Saved { call, partial: false, .. }) => {
                calls.remove(call);
            }
            Fact::Proposal(_) => proposals += 1,
            Fact::Change(_) | Fact::Command(_) | Fact::Tool(_) => {
                return Err(format!("{event:?} where only tasks are talked of"));
            }
            _ => {}
        }
    }
    match open.into_iter().next() {
        Some(request) => Err(format!("{request} has not ended")),
        None => Ok(proposals),
    }
}

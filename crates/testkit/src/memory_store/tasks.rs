//! A person's tasks in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use trimtab_vocab::{Task, TaskId};
use trimtab_world::store::{Result, SessionRow, TaskBook, TaskChange, TaskChanged, TaskStore, TaskWork, tasks_session};

use super::{MemoryStore, State};

/// What the disk has of tasks.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// By number.
    pub tasks: BTreeMap<TaskId, Task>,
    last: TaskId,
    /// Name, print, answer and time of wishes that may come again.
    keys: Vec<(String, String, String, i64)>,
}

fn book(state: &State, with_log: bool) -> TaskBook {
    let log = state.events.get(&tasks_session()).cloned().unwrap_or_default();
    let (tasks, next, seq) = (state.kept.tasks.clone(), state.kept.last + 1, log.len() as u64);
    TaskBook { tasks, next, seq, log: if with_log { log } else { Vec::new() } }
}

fn search(state: &State, text: &str, limit: u32) -> Vec<Task> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let wanted = words(text);
    let has_all = |task: &&Task| {
        let there = words(&format!("{} {} {}", task.title, task.notes, task.tags.join(" ")));
        !wanted.is_empty() && wanted.iter().all(|word| there.iter().any(|own| own.starts_with(word)))
    };
    state.kept.tasks.values().rev().filter(has_all).take(limit as usize).cloned().collect()
}

fn carry_out(state: &mut State, change: TaskChange) -> TaskChanged {
    let TaskChange { now, key, with_log, work } = change;
    if let Some(key) = &key {
        state.kept.keys.retain(|(.., time)| *time > now.millis() - key.life_ms);
        if let Some((_, print, answer, _)) = state.kept.keys.iter().find(|(name, ..)| *name == key.name) {
            let answer = answer.clone();
            return if *print == key.print { TaskChanged::Known { answer } } else { TaskChanged::Reused };
        }
    }
    let TaskWork { writes, events, audit, keep, answer } = work(book(state, with_log));
    state.put_audit(&audit);
    for write in writes {
        match write.after {
            Some(task) => drop(state.kept.tasks.insert(write.id, task)),
            None => drop(state.kept.tasks.remove(&write.id)),
        }
        state.kept.last = state.kept.last.max(write.id);
    }
    if !events.is_empty() {
        let (id, folder, title) = (tasks_session(), String::new(), "Tasks".to_owned());
        let new = SessionRow::new(id.clone(), folder, title, now);
        state.sessions.entry(id.clone()).or_insert(new).updated = now;
        state.events.entry(id).or_default().extend(events.clone());
    }
    if let Some(key) = key.filter(|_| keep) {
        state.kept.keys.push((key.name, key.print, answer.clone(), now.millis()));
        let surplus = state.kept.keys.len().saturating_sub(key.most.max(1) as usize);
        state.kept.keys.drain(..surplus);
    }
    TaskChanged::Done { answer, events }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn tasks(&self, with_log: bool) -> Result<TaskBook> {
        self.operate(|state, _| Ok(book(state, with_log))).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>> {
        self.operate(|state, _| Ok(state.kept.tasks.get(&id).cloned())).await
    }

    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>> {
        self.operate(|state, _| Ok(search(state, words, limit))).await
    }

    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged> {
        self.write(|state, _| Ok(carry_out(state, change))).await
    }
}

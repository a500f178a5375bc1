//! The plan of sub-tasks: how a model is asked for it, how its answer and a user's edits are read, and what makes it valid.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::{
    ExecutionOrder, Format, Granularity, ModelFacts, PlanStep, RunSettings, SubTask, SubTaskPlan, TaskKind,
};

use super::first_line;
use crate::proposal::command::visible;
use crate::record::Flow;

/// Sub-tasks of one request at most.
pub(crate) const MOST: usize = 64;
/// Bytes of an instruction with its constraints at most. It is recorded several times and is a part of each call of its
/// worker.
const MOST_INSTRUCTION: usize = 32 * 1024;
/// The same for all sub-tasks together: coarser sub-tasks have the instructions of several.
const MOST_TOGETHER: usize = 256 * 1024;
/// Files of one sub-task at most.
const MOST_FILES: usize = 200;
/// Bytes of the name of a file at most, as file systems have it.
const MOST_PATH: usize = 4 * 1024;
/// Bytes of an id at most.
const LONGEST_ID: usize = 40;

/// The prompt for a plan.
pub(super) const SYSTEM: &str = "You break a request about the files of a folder down into sub-tasks for workers. Each \
worker sees only its own instruction and the files that you name for it, and cannot ask you anything: write each \
instruction so that it can be carried out alone. Sub-tasks that need nothing of each other run at the same time, so \
give each its own files. A sub-task that needs what others make names their numbers in depends_on. With each set to \
true, the instruction is carried out once for every one of its files. kind is simple for mechanical work, review for \
looking at what others made, else reasoning. Do not add work that was not asked for.";

/// The form of the answer.
pub(super) fn format() -> Format {
    let text = json!({"type": "string"});
    let task = json!({
        "type": "object",
        "properties": {
            "title": text,
            "instruction": text,
            "files": {"type": "array", "items": text},
            "depends_on": {"type": "array", "items": {"type": "integer"}},
            "kind": {"type": "string", "enum": ["simple", "reasoning", "review"]},
            "each": {"type": "boolean"},
        },
        "required": ["title", "instruction", "files", "depends_on", "kind", "each"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {"thought": text, "tasks": {"type": "array", "items": task}},
        "required": ["thought", "tasks"],
        "additionalProperties": false,
    });
    Format::Schema { name: "subtasks".into(), schema }
}

/// A sub-task as models and users write it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DraftTask {
    id: Option<StringOrNumber>,
    title: String,
    #[serde(alias = "prompt", alias = "task", alias = "description")]
    instruction: String,
    #[serde(alias = "contextFiles", alias = "context_files")]
    files: Vec<String>,
    constraints: Vec<String>,
    #[serde(alias = "dependsOn")]
    depends_on: Vec<StringOrNumber>,
    kind: TaskKind,
    model: String,
    priority: u32,
    each: bool,
    agent: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a sub-task is named by a number or a text")]
enum StringOrNumber {
    Number(u64),
    Text(String),
}

impl From<StringOrNumber> for String {
    fn from(written: StringOrNumber) -> Self {
        match written {
            StringOrNumber::Number(number) => number.to_string(),
            StringOrNumber::Text(text) => text,
        }
    }
}

/// The tasks of a model's answer: the last complete plan in it.
pub(crate) fn read(said: &str) -> Result<Vec<DraftTask>, String> {
    const TRIES: usize = 64;
    let said = said.rsplit("</think>").next().unwrap_or(said);
    let mut found = Err("it holds no JSON object".to_owned());
    let mut at = 0;
    for _ in 0..TRIES {
        let Some(start) = said[at..].find(['{', '[']).map(|offset| at + offset) else { break };
        let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                let read = drafts(value);
                if read.is_ok() || found.is_err() {
                    found = read;
                }
            }
            // What was cut off replaces the drafts before it, and is not searched for smaller plans.
            Some(Err(error)) if error.is_eof() => return Err("its JSON object does not end".into()),
            _ => at = start + 1,
        }
    }
    found
}

fn drafts(value: Value) -> Result<Vec<DraftTask>, String> {
    let listed = match value {
        Value::Object(mut plan) => plan.remove("tasks").unwrap_or_default(),
        other => other,
    };
    let Value::Array(tasks) = listed else { return Err("it has no list of tasks".into()) };
    let draft = |(number, mut task): (usize, Value)| {
        // Nothing and null are the same.
        task.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, field| !field.is_null()));
        serde_json::from_value(task).map_err(|error| format!("sub-task {number} cannot be read: {error}"))
    };
    (1..).zip(tasks).map(draft).collect()
}

/// The plan that drafts make, with one task for each file if a draft wants that.
pub(crate) fn plan(drafts: Vec<DraftTask>, settings: &RunSettings) -> Result<SubTaskPlan, String> {
    let mut tasks: Vec<SubTask> = Vec::new();
    // Before anything is repeated for each file: a model can write more than there is memory for.
    let parts = |draft: &DraftTask| if draft.each { draft.files.len().max(1) } else { 1 };
    check_count(drafts.iter().map(parts).sum())?;
    // What a number or name of a draft stands for.
    let mut meant: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, draft) in (1..).zip(drafts) {
        let name = draft.id.clone().map_or_else(|| number.to_string(), String::from);
        let depends_on = draft.depends_on.iter().cloned().map(String::from).collect();
        let model = if draft.model.is_empty() { settings.worker_model(draft.kind).0 } else { draft.model };
        let task = SubTask {
            id: name.clone(),
            title: draft.title.trim().to_owned(),
            instruction: draft.instruction.trim().to_owned(),
            context_files: draft
                .files
                .iter()
                .map(|file| file.trim().to_owned())
                .filter(|file| !file.is_empty())
                .collect(),
            constraints: draft.constraints,
            model,
            depends_on,
            priority: draft.priority,
            kind: draft.kind,
            agent: draft.agent,
        };
        let made = if draft.each && task.context_files.len() > 1 { for_each_file(&task) } else { vec![task] };
        if meant.insert(name.clone(), made.iter().map(|task| task.id.clone()).collect()).is_some() {
            return Err(format!("two sub-tasks are called {}", shown(&name)));
        }
        tasks.extend(made);
    }
    for task in &mut tasks {
        let mut known = BTreeSet::new();
        let named = std::mem::take(&mut task.depends_on).into_iter().filter(|name| known.insert(name.clone()));
        let all = named.flat_map(|name| meant.get(&name).cloned().unwrap_or_else(|| vec![name]));
        let mut known = BTreeSet::new();
        task.depends_on = all.filter(|id| known.insert(id.clone())).collect();
    }
    let plan = SubTaskPlan { tasks, ..SubTaskPlan::default() };
    validate(&plan, settings)?;
    Ok(plan)
}

/// The steps of a plan as sub-tasks. What the user decided on the way binds each of them.
pub(super) fn of_steps(flow: &Flow, settings: &RunSettings) -> SubTaskPlan {
    let task = |step: &PlanStep| {
        let commands = step.commands.iter().map(|command| format!("Run: {command}"));
        let lines: Vec<String> = [step.title.clone(), step.details.clone()].into_iter().chain(commands).collect();
        let kind = TaskKind::default();
        SubTask {
            id: step.id.clone(),
            title: step.title.clone(),
            instruction: lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"),
            context_files: step.files.clone(),
            constraints: flow.decisions.clone(),
            model: settings.worker_model(kind).0,
            depends_on: step.depends_on.clone(),
            kind,
            ..SubTask::default()
        }
    };
    let tasks = flow.plan.iter().flat_map(|plan| &plan.steps).map(task).collect();
    SubTaskPlan { tasks, ..SubTaskPlan::default() }
}

fn for_each_file(task: &SubTask) -> Vec<SubTask> {
    let one = |(number, file): (usize, &String)| SubTask {
        id: format!("{}.{number}", task.id),
        title: format!("{} ({file})", task.name()),
        instruction: format!("{}\nDo this for the file {file} and no other.", task.instruction),
        context_files: vec![file.clone()],
        ..task.clone()
    };
    (1..).zip(&task.context_files).map(one).collect()
}

/// What is known about a model that a plan names.
pub(crate) fn facts_of(model: &str, settings: &RunSettings) -> Option<ModelFacts> {
    settings.worker_models().into_iter().find(|(name, _)| name == model).map(|(_, facts)| facts)
}

/// Why a plan cannot be carried out.
pub(crate) fn validate(plan: &SubTaskPlan, settings: &RunSettings) -> Result<(), String> {
    let tasks = &plan.tasks;
    check_count(tasks.len())?;
    let mut known = BTreeSet::new();
    for (number, task) in (1..).zip(tasks) {
        if !is_id(&task.id) {
            return Err(format!("sub-task {number} needs a short name of letters, digits, and dots"));
        }
        if !known.insert(task.id.as_str()) {
            return Err(format!("two sub-tasks are called {}", task.id));
        }
        check_size(task)?;
        if let Some(file) = task.context_files.iter().find(|file| is_outside(file)) {
            return Err(format!("{} of sub-task {} is outside the folder", shown(file), task.id));
        }
        if facts_of(&task.model, settings).is_none() {
            return Err(format!("the model {} of sub-task {} is not set up", shown(&task.model), task.id));
        }
    }
    let together: usize = tasks.iter().map(instruction_size).sum();
    if together > MOST_TOGETHER {
        let (size, most) = (together.div_ceil(1024), MOST_TOGETHER / 1024);
        return Err(format!("the instructions have {size} KB together; {most} KB is the limit"));
    }
    for task in tasks {
        if let Some(other) = task.depends_on.iter().find(|other| plan.task(other).is_none()) {
            return Err(format!("sub-task {} depends on {}, which does not exist", task.id, shown(other)));
        }
    }
    match cycle(plan) {
        Some(round) => Err(format!("sub-tasks depend on each other in a circle: {}", round.join(" → "))),
        None => Ok(()),
    }
}

fn check_count(tasks: usize) -> Result<(), String> {
    match tasks {
        0 => Err("there is no sub-task in it".into()),
        all if all > MOST => Err(format!("{all} sub-tasks are too many; {MOST} is the limit")),
        _ => Ok(()),
    }
}

fn instruction_size(task: &SubTask) -> usize {
    task.instruction.len() + task.constraints.iter().map(String::len).sum::<usize>()
}

fn check_size(task: &SubTask) -> Result<(), String> {
    let SubTask { id, instruction, context_files, .. } = task;
    if instruction.trim().is_empty() {
        return Err(format!("sub-task {id} has no instruction"));
    }
    let bytes = instruction_size(task);
    if bytes > MOST_INSTRUCTION {
        let most = MOST_INSTRUCTION / 1024;
        return Err(format!(
            "the instruction of sub-task {id} has {} KB; {most} KB is the limit",
            bytes.div_ceil(1024)
        ));
    }
    if context_files.len() > MOST_FILES {
        return Err(format!("sub-task {id} names {} files; {MOST_FILES} is the limit", context_files.len()));
    }
    match context_files.iter().find(|file| file.len() > MOST_PATH || file.contains(char::is_control)) {
        Some(file) => Err(format!("{} of sub-task {id} cannot be a file name", shown(file))),
        None => Ok(()),
    }
}

/// Whether a user can write it before a sub-task that they edit.
fn is_id(id: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(fits)
}

/// What a model wrote, as a reason shows it: short, in one line, with nothing hidden.
fn shown(text: &str) -> String {
    visible(&first_line(text))
}

fn is_outside(file: &str) -> bool {
    let leaves = file.split(['/', '\\']).any(|part| part == "..");
    file.starts_with(['/', '\\', '~']) || leaves || file.get(1..2) == Some(":")
}

/// Sub-tasks that depend on each other, from one of them back to it.
fn cycle(plan: &SubTaskPlan) -> Option<Vec<String>> {
    let mut left: BTreeMap<&str, &[String]> =
        plan.tasks.iter().map(|task| (task.id.as_str(), task.depends_on.as_slice())).collect();
    while let Some(free) =
        left.iter().find(|(_, needs)| needs.iter().all(|id| !left.contains_key(id.as_str()))).map(|(id, _)| *id)
    {
        left.remove(free);
    }
    let mut at = *left.keys().next()?;
    let mut way: Vec<String> = Vec::new();
    while !way.iter().any(|id| id == at) {
        way.push(at.to_owned());
        at = left[at].iter().find(|id| left.contains_key(id.as_str()))?;
    }
    let begins = way.iter().position(|id| id == at).unwrap_or(0);
    let mut round = way.split_off(begins);
    round.push(at.to_owned());
    Some(round)
}

/// The tasks in an order that respects their dependencies, else as planned.
pub(super) fn in_order(plan: &SubTaskPlan) -> Vec<&SubTask> {
    let mut left: Vec<&SubTask> = plan.tasks.iter().collect();
    let mut order: Vec<&SubTask> = Vec::new();
    while !left.is_empty() {
        let is_free = |task: &&SubTask| task.depends_on.iter().all(|id| order.iter().any(|done| done.id == *id));
        let at = left.iter().position(is_free).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}

/// The tasks that cannot be done without this one, directly or through others, in the order of work.
pub(super) fn dependents<'a>(plan: &'a SubTaskPlan, id: &str) -> Vec<&'a SubTask> {
    let mut found: Vec<&SubTask> = Vec::new();
    for task in in_order(plan) {
        let is_found = |needed: &String| needed == id || found.iter().any(|other| other.id == *needed);
        if task.depends_on.iter().any(is_found) {
            found.push(task);
        }
    }
    found
}

/// The same work in at most `count` sub-tasks: neighbors in the order of work become one.
pub(super) fn coarser(plan: &SubTaskPlan, count: usize) -> SubTaskPlan {
    let order = in_order(plan);
    let count = count.clamp(1, order.len().max(1));
    let (size, more) = (order.len() / count, order.len() % count);
    let mut groups: Vec<Vec<&SubTask>> = Vec::new();
    let mut rest = order.as_slice();
    for number in 0..count {
        let (group, left) = rest.split_at(size + usize::from(number < more));
        groups.push(group.to_vec());
        rest = left;
    }
    let group_of = |id: &str| groups.iter().position(|group| group.iter().any(|task| task.id == id));
    let joined = |(number, group): (usize, &Vec<&SubTask>)| {
        if let [alone] = group.as_slice() {
            let mut task = (*alone).clone();
            task.id = (number + 1).to_string();
            task.depends_on = numbers(&task.depends_on, number, &group_of);
            return task;
        }
        let lines = (1..).zip(group).map(|(at, task)| format!("{at}. {}", task.instruction));
        let all = |of: fn(&SubTask) -> &Vec<String>| -> Vec<String> {
            group.iter().flat_map(|task| of(task).clone()).collect::<BTreeSet<_>>().into_iter().collect()
        };
        SubTask {
            id: (number + 1).to_string(),
            title: group.iter().map(|task| task.name()).collect::<Vec<_>>().join("; "),
            instruction: lines.collect::<Vec<_>>().join("\n"),
            context_files: all(|task| &task.context_files),
            constraints: all(|task| &task.constraints),
            model: group.iter().max_by_key(|task| task.kind).map(|task| task.model.clone()).unwrap_or_default(),
            depends_on: numbers(&all(|task| &task.depends_on), number, &group_of),
            priority: group.iter().map(|task| task.priority).max().unwrap_or_default(),
            kind: group.iter().map(|task| task.kind).max().unwrap_or_default(),
            agent: group[0].agent.clone().filter(|agent| group.iter().all(|task| task.agent.as_ref() == Some(agent))),
        }
    };
    SubTaskPlan { tasks: groups.iter().enumerate().map(joined).collect(), ..plan.clone() }
}

/// The groups that tasks belong to, as ids, without the group itself.
fn numbers(ids: &[String], own: usize, group_of: &dyn Fn(&str) -> Option<usize>) -> Vec<String> {
    let all: BTreeSet<usize> = ids.iter().filter_map(|id| group_of(id)).filter(|group| *group != own).collect();
    all.into_iter().map(|group| (group + 1).to_string()).collect()
}

/// How many sub-tasks each way to break a request down has.
pub(super) fn sizes(plan: &SubTaskPlan) -> [(Granularity, usize); 3] {
    let fine = plan.tasks.len();
    let medium = (fine * 2).div_ceil(5).max(2).min(fine);
    [(Granularity::Fine, fine), (Granularity::Medium, medium), (Granularity::Coarse, medium.min(2))]
}

/// Sub-tasks up to which a request is taken as it was broken down.
pub(super) const FEW: usize = 5;

/// Tokens of a reply where nothing is recorded.
pub(super) const USUAL_REPLY: u32 = 200;

/// Tokens of one reply, about, and how likely it is to be cut off, for so many of `fine` sub-tasks.
pub(super) fn reply_size(settings: &RunSettings, fine: usize, count: usize) -> (u32, f64) {
    let (model, max_output, settings) = (&settings.models.model, settings.models.facts.max_output, &settings.subtasks);
    let records = settings.records.get(model).copied().unwrap_or_default();
    let base = if records.output_tokens > 0 { records.output_tokens } else { USUAL_REPLY };
    let parts = fine.max(1) as f64 / count.max(1) as f64;
    let tokens = (f64::from(base) * parts).round() as u32;
    let cut = 1.0 - (1.0 - records.truncated.clamp(0.0, 1.0)).powf(parts);
    // A reply that fills less than half of what it may have is seldom cut off.
    let overlong = if max_output > 0 { 2.0 * f64::from(tokens) / f64::from(max_output) - 1.0 } else { 0.0 };
    (tokens, cut.max(overlong).clamp(0.0, 1.0))
}

/// The default size: the coarsest whose replies are hardly ever cut off and whose sub-tasks stay small.
pub(super) fn suggested(plan: &SubTaskPlan, settings: &RunSettings) -> (Granularity, String) {
    const RISK: f64 = 0.05;
    const STEPS_EACH: usize = 3;
    const FILES_EACH: usize = 6;
    let fine = plan.tasks.len();
    if fine <= FEW {
        return (Granularity::Fine, format!("{fine} sub-tasks"));
    }
    let files: BTreeSet<&String> = plan.tasks.iter().flat_map(|task| &task.context_files).collect();
    for (granularity, count) in sizes(plan).into_iter().rev() {
        let (_, risk) = reply_size(settings, fine, count);
        let is_small = fine.div_ceil(count.max(1)) <= STEPS_EACH && files.len().div_ceil(count.max(1)) <= FILES_EACH;
        if is_small && risk <= RISK {
            let percent = (risk * 100.0).round();
            return (granularity, format!("{count} sub-tasks, with a truncation risk of {percent}%"));
        }
    }
    let (_, risk) = reply_size(settings, fine, fine);
    (
        Granularity::Fine,
        format!("{fine} sub-tasks; coarser ones are cut off more often than {}%", (risk * 100.0).round()),
    )
}

/// Calls of the model that a sub-task takes, about.
pub(crate) const USUAL_CALLS: u32 = 4;

/// What a sub-task costs and how long it takes, about.
fn estimate_task(task: &SubTask, settings: &RunSettings) -> (Option<f64>, u64) {
    const PROMPT: u64 = 3_000;
    const FILE: u64 = 1_000;
    const SPEED: f64 = 50.0;
    const DELAY_MS: u64 = 1_500;
    let records = settings.subtasks.records.get(&task.model).copied().unwrap_or_default();
    let calls = u64::from(USUAL_CALLS);
    let reply = u64::from(if records.output_tokens > 0 { records.output_tokens } else { USUAL_REPLY });
    let prompt = PROMPT + FILE * task.context_files.len() as u64;
    let prices = facts_of(&task.model, settings).and_then(|facts| facts.prices);
    let cost = prices
        .map(|prices| (calls * prompt) as f64 * prices.input / 1e6 + (calls * reply) as f64 * prices.output / 1e6);
    let speed = if records.tokens_per_s > 0.0 { records.tokens_per_s } else { SPEED };
    (cost, calls * (DELAY_MS + (reply as f64 * 1_000.0 / speed) as u64))
}

/// How much a sub-task takes of a budget, compared with others.
pub(super) fn weight(task: &SubTask, settings: &RunSettings) -> f64 {
    estimate_task(task, settings).0.unwrap_or(1.0).max(f64::MIN_POSITIVE)
}

/// The plan with what it costs and how long it takes in this order.
pub(super) fn estimated(plan: SubTaskPlan, order: ExecutionOrder, settings: &RunSettings) -> SubTaskPlan {
    let each: BTreeMap<&str, (Option<f64>, u64)> =
        plan.tasks.iter().map(|task| (task.id.as_str(), estimate_task(task, settings))).collect();
    let is_recorded = plan.tasks.iter().all(|task| settings.subtasks.records.contains_key(&task.model));
    let costs: Option<Vec<f64>> = each.values().map(|(cost, _)| *cost).collect();
    let cost = costs.map(|costs| costs.iter().sum::<f64>());
    let time = match order {
        ExecutionOrder::Sequential => each.values().map(|(_, time)| time).sum(),
        ExecutionOrder::Parallel => makespan(&plan, &each, settings.subtasks.parallel, false),
        ExecutionOrder::DependencyGraph => makespan(&plan, &each, settings.subtasks.parallel, true),
    };
    SubTaskPlan {
        execution_order: order,
        estimated_cost: cost,
        cost_range: cost.map(|cost| (cost / 2.0, cost * 3.0)),
        estimated_time_ms: time,
        from_records: is_recorded,
        ..plan
    }
}

/// How long all take together with this many workers.
fn makespan(plan: &SubTaskPlan, each: &BTreeMap<&str, (Option<f64>, u64)>, workers: u32, waits: bool) -> u64 {
    let mut free = vec![0_u64; workers.max(1) as usize];
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for task in in_order(plan) {
        let needs = task.depends_on.iter().filter_map(|id| ends.get(id.as_str())).copied().max().unwrap_or(0);
        let Some(worker) = free.iter_mut().min() else { continue };
        let begins = if waits { needs.max(*worker) } else { *worker };
        *worker = begins + each.get(task.id.as_str()).map_or(0, |(_, time)| *time);
        ends.insert(&task.id, *worker);
    }
    ends.values().copied().max().unwrap_or(0)
}

/// The plan as lines that a user can edit.
pub(crate) fn as_text(plan: &SubTaskPlan) -> String {
    let mut text = String::new();
    for task in &plan.tasks {
        text.push_str(&format!("{}. {}\n", task.id, task.name()));
        for line in task.instruction.lines().filter(|line| *line != task.name()) {
            text.push_str(&format!("   {line}\n"));
        }
        let mut list = |name: &str, values: &[String]| {
            if !values.is_empty() {
                text.push_str(&format!("   {name}: {}\n", values.join(", ")));
            }
        };
        list("files", &task.context_files);
        list("after", &task.depends_on);
        list("model", std::slice::from_ref(&task.model));
        list("agent", task.agent.as_slice());
    }
    text
}

/// The plan after a user's edit: lines as [`as_text`] writes them, or JSON.
pub(crate) fn edited(text: &str, before: &SubTaskPlan, settings: &RunSettings) -> Result<SubTaskPlan, String> {
    if text.trim_start().starts_with(['{', '[']) {
        return with_known_agents(plan(read(text)?, settings)?, before);
    }
    let mut tasks: Vec<SubTask> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some((id, title)) = heading(line) {
            let known = before.task(id).filter(|task| task.name() == title);
            let kind = before.task(id).map(|task| task.kind).unwrap_or_default();
            let title = title.to_owned();
            tasks.push(SubTask {
                id: id.to_owned(),
                title: known.map_or(title, |task| task.title.clone()),
                kind,
                priority: before.task(id).map(|task| task.priority).unwrap_or_default(),
                constraints: before.task(id).map(|task| task.constraints.clone()).unwrap_or_default(),
                ..SubTask::default()
            });
            continue;
        }
        let Some(task) = tasks.last_mut() else {
            return Err("each sub-task starts with a line such as \"1. What to do\"".into());
        };
        let line = line.trim();
        let list =
            |rest: &str| rest.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
        match line.split_once(':') {
            Some(("files", rest)) => task.context_files = list(rest),
            Some(("after", rest)) => task.depends_on = list(rest),
            Some(("model", rest)) => task.model = rest.trim().to_owned(),
            Some(("agent", rest)) => task.agent = Some(rest.trim().to_owned()).filter(|agent| !agent.is_empty()),
            _ => {
                task.instruction.push_str(if task.instruction.is_empty() { "" } else { "\n" });
                task.instruction.push_str(line);
            }
        }
    }
    for task in &mut tasks {
        let known = before.task(&task.id).filter(|known| known.title == task.title);
        if task.instruction.is_empty() {
            task.instruction = known.map_or_else(|| task.title.clone(), |known| known.instruction.clone());
        }
        if task.model.is_empty() {
            task.model = settings.worker_model(task.kind).0;
        }
    }
    let plan = SubTaskPlan { tasks, ..SubTaskPlan::default() };
    validate(&plan, settings)?;
    with_known_agents(plan, before)
}

/// Refuses agents that were not in the plan before: their instructions have not been read.
fn with_known_agents(plan: SubTaskPlan, before: &SubTaskPlan) -> Result<SubTaskPlan, String> {
    let is_known = |agent: &String| before.tasks.iter().any(|task| task.agent.as_ref() == Some(agent));
    let unknown =
        plan.tasks.iter().find_map(|task| Some((task, task.agent.as_ref().filter(|agent| !is_known(agent))?)));
    match unknown {
        Some((task, agent)) => Err(format!("the agent {agent} of sub-task {} was not in the plan", task.id)),
        None => Ok(plan),
    }
}

/// The id and the title of a line that begins a sub-task.
fn heading(line: &str) -> Option<(&str, &str)> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let (id, title) = line.split_once(". ").or_else(|| line.split_once(") "))?;
    (is_id(id) && !title.trim().is_empty()).then(|| (id, title.trim()))
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::{CallRecords, ModelSettings};

    use super::*;

    fn settings() -> RunSettings {
        let models =
            ModelSettings { model: "p/large".into(), fast_model: "p/small".into(), ..ModelSettings::default() };
        RunSettings { models, ..RunSettings::default() }
    }

    fn read_plan(said: &str) -> Result<SubTaskPlan, String> {
        plan(read(said)?, &settings())
    }

    const AUTH: &str = r#"Here it is: {"thought": "x", "tasks": [
        {"title": "User model", "instruction": "Create it", "files": ["user.rs"], "depends_on": [], "kind": "simple", "each": false},
        {"title": "Tokens", "instruction": "Create them", "files": ["token.rs"], "depends_on": [], "kind": "reasoning", "each": false},
        {"title": "Hashing", "instruction": "Add it", "files": ["hash.rs"], "depends_on": [], "kind": "simple", "each": false},
        {"title": "Middleware", "instruction": "Create it", "files": [], "depends_on": [1, 2, 3], "kind": "reasoning", "each": false},
        {"title": "Review", "instruction": "Look at it", "files": [], "depends_on": [4], "kind": "review", "each": false}]}"#;

    #[test]
    fn a_plan_is_read_with_the_models_of_its_kinds() {
        let plan = read_plan(AUTH).expect("a plan");
        let models: Vec<&str> = plan.tasks.iter().map(|task| task.model.as_str()).collect();
        assert_eq!(models, ["p/small", "p/large", "p/small", "p/large", "p/large"]);
        assert_eq!(plan.tasks[3].depends_on, ["1", "2", "3"]);
    }

    #[test]
    fn one_instruction_for_many_files_becomes_a_sub_task_for_each() {
        let plan = read_plan(
            r#"[{"instruction": "Add a header", "files": ["a.rs", "b.rs", "c.rs"], "each": true}, {"instruction": "Check", "depends_on": [1]}]"#,
        )
        .expect("a plan");
        let ids: Vec<&str> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1.1", "1.2", "1.3", "2"]);
        assert_eq!(plan.tasks[3].depends_on, ["1.1", "1.2", "1.3"]);
        assert_eq!(plan.tasks[1].context_files, ["b.rs"]);
    }

    #[test]
    fn what_cannot_be_carried_out_is_named() {
        for (said, wrong) in [
            ("no plan", "no JSON"),
            (r#"{"tasks": []}"#, "no sub-task"),
            (r#"[{"instruction": "a", "depends_on": [2]}, {"instruction": "b", "depends_on": [1]}]"#, "1 → 2 → 1"),
            (r#"[{"instruction": "a", "depends_on": [7]}]"#, "depends on 7, which does not exist"),
            (r#"[{"instruction": "a", "files": ["../b"]}]"#, "outside the folder"),
            (r#"[{"instruction": "a", "files": ["/etc/passwd"]}]"#, "outside the folder"),
            (r#"[{"instruction": ""}]"#, "no instruction"),
            (r#"[{"instruction": "a", "model": "p/other"}]"#, "not set up"),
            (r#"[{"id": "x", "instruction": "a"}, {"id": "x", "instruction": "b"}]"#, "two sub-tasks are called x"),
            (r#"[{"instruction": " \n"}]"#, "no instruction"),
            (r#"[{"instruction": 7}]"#, "sub-task 1 cannot be read: invalid type"),
            (r#"[{"instruction": "a"}, {"instruction": "b", "depends_on": [{}]}]"#, "sub-task 2 cannot be read"),
            (r#"{"thought": "x"}"#, "no list of tasks"),
            (r#"{"tasks": [{"instruction": "a"}"#, "does not end"),
            (r#"[{"id": "1.\n2. other", "instruction": "a"}]"#, "sub-task 1 needs a short name"),
            (r#"[{"id": "a\u202eb", "instruction": "a"}]"#, "sub-task 1 needs a short name"),
            (r#"[{"instruction": "a", "files": ["a\n@b"]}]"#, "cannot be a file name"),
            (r#"[{"instruction": "a", "model": "p/\u202eother"}]"#, "the model p/⟨U+202E⟩other of sub-task 1"),
        ] {
            let found = read_plan(said).expect_err(said);
            assert!(found.contains(wrong), "{said}: {found}");
        }
    }

    #[test]
    fn a_plan_that_is_too_large_is_refused_before_it_grows() {
        let all = |task: Value, count: usize| Value::Array(vec![task; count]).to_string();
        let names: Vec<String> = (0..10_000).map(|number| format!("{number}.rs")).collect();
        let long = "x".repeat(MOST_INSTRUCTION / 2 + 1);
        let many: Vec<u32> = vec![1; 100_000];
        for (said, wrong) in [
            (all(json!({"instruction": "a"}), 10_000), "10000 sub-tasks are too many; 64 is the limit"),
            // A copy of the instruction for each file would be a gigabyte.
            (
                all(json!({"instruction": "x".repeat(100_000), "files": names, "each": true}), 1),
                "10000 sub-tasks are too many",
            ),
            (all(json!({"instruction": "a", "files": names}), 1), "names 10000 files; 200 is the limit"),
            (all(json!({"instruction": long, "constraints": [long]}), 1), "has 33 KB; 32 KB is the limit"),
            (all(json!({"instruction": "x".repeat(30_000)}), 10), "have 293 KB together; 256 KB is the limit"),
            (
                all(json!({"instruction": "a", "files": ["x".repeat(5_000)]}), 1),
                "xxx… of sub-task 1 cannot be a file name",
            ),
        ] {
            let found = read_plan(&said).expect_err(wrong);
            assert!(found.contains(wrong) && found.len() < 200, "{found}");
        }
        let plan = read_plan(&json!([{"instruction": "a"}, {"instruction": "b", "depends_on": many}]).to_string());
        assert_eq!(plan.expect("a plan").tasks[1].depends_on, ["1"]);
    }

    #[test]
    fn the_last_whole_plan_of_an_answer_is_read() {
        let draft = r#"{"tasks": [{"instruction": "draft"}]}"#;
        let said = format!(
            r#"I have [2] ideas. First {draft}, better {{"tasks": [{{"instruction": "b", "files": null}}]}}. {{ok}}"#
        );
        assert_eq!(read_plan(&said).expect("a plan").tasks[0].instruction, "b");
        let unfinished = format!(r#"{draft}, or better {{"tasks": [{{"instruction": "cut"#);
        assert!(read_plan(&unfinished).expect_err("cut off").contains("does not end"));
        assert!(read(&"[".repeat(100_000)).is_err() && read(&"{\"tasks\":".repeat(100_000)).is_err());
    }

    #[test]
    fn coarser_plans_have_the_size_that_is_offered_and_no_circles() {
        let plan = read_plan(AUTH).expect("a plan");
        for (granularity, count) in sizes(&plan) {
            let made = coarser(&plan, count);
            assert_eq!(made.tasks.len(), count, "{granularity:?}");
            validate(&made, &settings()).expect("valid");
        }
        let two = coarser(&plan, 2);
        assert_eq!(two.tasks[1].depends_on, ["1"]);
        assert!(two.tasks[0].instruction.contains("Create it") && two.tasks[0].instruction.contains("Add it"));
    }

    #[test]
    fn replies_that_are_often_cut_off_lead_to_finer_sub_tasks() {
        let tasks: Vec<String> = (1..=12).map(|n| format!(r#"{{"instruction": "part {n}"}}"#)).collect();
        let plan = read_plan(&format!("[{}]", tasks.join(", "))).expect("a plan");
        let with = |truncated| {
            let mut settings = settings();
            settings.models.facts.max_output = 8_192;
            let records = CallRecords { calls: 100, output_tokens: 200, tokens_per_s: 50.0, truncated };
            settings.subtasks.records.insert(settings.models.model.clone(), records);
            settings
        };
        let (often, _) = suggested(&plan, &with(0.4));
        let (never, _) = suggested(&plan, &with(0.0));
        assert_eq!((often, never), (Granularity::Fine, Granularity::Medium));
    }

    #[test]
    fn an_edited_plan_is_the_one_that_was_written() {
        let plan = read_plan(AUTH).expect("a plan");
        let text = as_text(&plan);
        assert_eq!(edited(&text, &plan, &settings()).expect("the same").tasks, plan.tasks);
        let text = "2. Tokens\n   model: p/small\n4. Middleware for all routes\n   after: 2\n";
        let shorter = edited(text, &plan, &settings()).expect("a plan");
        assert_eq!(shorter.tasks.len(), 2);
        assert_eq!(
            (shorter.tasks[0].model.as_str(), shorter.tasks[0].instruction.as_str()),
            ("p/small", "Create them")
        );
        assert_eq!(shorter.tasks[1].instruction, "Middleware for all routes");
        assert!(edited("2. Tokens\n   after: 9\n", &plan, &settings()).expect_err("refused").contains("9"));
    }

    #[test]
    fn the_time_is_that_of_the_longest_way() {
        let plan = read_plan(AUTH).expect("a plan");
        let time = |order| estimated(plan.clone(), order, &settings()).estimated_time_ms;
        let one = time(ExecutionOrder::Sequential) / 5;
        assert_eq!(time(ExecutionOrder::DependencyGraph), 3 * one);
        assert_eq!(time(ExecutionOrder::Parallel), 2 * one, "four workers for five tasks");
    }
}

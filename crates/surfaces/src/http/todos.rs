//! A person's own tasks: `todos` on the wire.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::LazyLock;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trimtab_host::{ApplyOperations, NotApplied, NotMoved, Skipped, TaskList, TaskMove, TaskSet, When};
use trimtab_vocab::{
    Aggregates, Applied, Category, ChangeSetId, Date, Item, OnConflict, Priority, ScheduledRange, Task, TaskAuthor,
    TaskConflict, TaskCounts, TaskFields, TaskId, TaskWrite, Time, View, Where,
};

use super::Shared;
use super::extract::{Id, JsonBody, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let task = example();
    let mut item = task.clone();
    item["date"] = task["scheduledFor"].clone();
    item["done"] = json!(false);
    item["overdue"] = json!(false);
    let id = |operation: RouteOperation| operation.path::<TaskId>("id", "The number of the task.", "7");
    let list = RouteOperation::new("get", "listTodos", "todos", "List tasks by due date, and their counts")
        .query::<TodosQuery>()
        .gives::<TodoList>(
            StatusCode::OK,
            "The tasks. A repeating task appears once for each of its days in the view.",
            json!({"todos": [item], "aggregates": Aggregates::default(), "today": "2026-11-15"}),
        );
    let make = RouteOperation::new("post", "createTodo", "todos", "Create a task")
        .takes::<Fields>(json!({"title": "Pay rent", "when": "every month 9am"}))
        .gives::<TodoRef>(StatusCode::CREATED, "The task.", json!({"todo": task}));
    let find = RouteOperation::new(
        "get",
        "searchTodos",
        "todos",
        "Search tasks that contain all these words, best match first",
    )
    .query::<TodoSearch>()
    .gives::<FoundTasks>(StatusCode::OK, "The tasks.", json!({"todos": [task]}));
    let load = id(RouteOperation::new("get", "getTodo", "todos", "One task")).gives::<TodoRef>(
        StatusCode::OK,
        "The task.",
        json!({"todo": task}),
    );
    let edit = id(RouteOperation::new("patch", "updateTodo", "todos", "Change fields of a task"))
        .takes::<Fields>(json!({"priority": "high", "scheduledFor": null}))
        .gives::<TodoRef>(StatusCode::OK, "The task as it is now.", json!({"todo": task}));
    let remove = id(RouteOperation::new("delete", "deleteTodo", "todos", "Delete a task (can be undone)"))
        .gives_nothing("Deleted.");
    let export = RouteOperation::new("get", "exportTodos", "todos", "Export tasks as a calendar (iCalendar)")
        .query::<TodosQuery>()
        .gives_other::<String>(StatusCode::OK, "A calendar with the tasks that fit.", "text/calendar");
    let import = RouteOperation::new("post", "importTodos", "todos", "Import a calendar (iCalendar) as one change")
        .takes::<Calendar>(json!({"calendar": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"}))
        .gives::<Read>(
            StatusCode::OK,
            "The created tasks. Existing ones are not created again.",
            json!({"applied": null, "known": 0, "skipped": []}),
        );
    let set = json!({"changeSet": "t01kabcdefghjkmnp", "time": "2026-11-15T08:30:00.125Z", "by": "person",
        "summary": TaskCounts::default(), "inForce": true, "undoes": null, "writes": []});
    let changes = RouteOperation::new("get", "listTodoChanges", "todos", "List task changes, newest first")
        .query::<Newest>()
        .gives::<TodoChanges>(StatusCode::OK, "The change sets.", json!({"changes": [set]}));
    let back = RouteOperation::new("post", "undoTodos", "todos", "Undo task changes")
        .takes::<Back>(json!({"steps": 1}))
        .gives::<TodoChanges>(StatusCode::OK, "The undone changes.", json!({"changes": [set]}))
        .fails(404)
        .fails(409);
    let forward = RouteOperation::new("post", "redoTodos", "todos", "Redo undone task changes")
        .takes::<Forward>(json!({"steps": 1}))
        .gives::<TodoChanges>(StatusCode::OK, "The redone changes.", json!({"changes": [set]}))
        .fails(404)
        .fails(409);
    api.add("/todos", get(todos).post(create), vec![list, make])
        .add("/todos/search", get(search), vec![find])
        .add("/todos/changes", get(changed), vec![changes])
        .add("/todos/export", get(exported), vec![export])
        .add("/todos/import", post(imported).layer(DefaultBodyLimit::max(LARGEST_CALENDAR)), vec![import])
        .add("/todos/undo", post(undo), vec![back])
        .add("/todos/redo", post(redo), vec![forward])
        .add("/todos/{id}", get(todo).patch(update).delete(delete), vec![load, edit, remove])
}

/// A task for descriptions.
pub(super) fn example() -> Value {
    let time = Time::from_millis(1_794_904_200_125);
    json!(Task { scheduled_for: Some(Date::from_days(20_787)), ..Task::new(7, "Pay rent", time) })
}

impl super::ServerState {
    pub(super) fn tasks(&self) -> Result<TaskList, Failure> {
        Ok(self.client.tasks(&self.profile().tasks)?)
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodosQuery {
    /// Which tasks to list: today, this week, overdue, without a date, open, or all. Without a view, `from` and `to`
    /// select the tasks of these days.
    #[serde(default)]
    view: Option<View>,
    /// Words that begin words of their title, notes or tags.
    text: Option<String>,
    /// Scheduled for this day or later.
    from: Option<Date>,
    /// Scheduled for this day or earlier.
    to: Option<Date>,
    /// Only tasks with this priority.
    priority: Option<Priority>,
    /// List only tasks of this category.
    category: Option<Category>,
    /// List only tasks with this tag.
    tag: Option<String>,
    /// Whether they are done.
    completed: Option<bool>,
    /// Whether they repeat.
    repeating: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TodoList {
    /// The tasks.
    todos: Vec<Item>,
    /// Number of tasks of each kind, independent of the view.
    aggregates: Aggregates,
    /// Which day it is where the person is.
    today: Date,
}

impl TodosQuery {
    fn read(self) -> (Option<View>, Where) {
        let Self { view, text, from, to, priority, category, tag, completed, repeating } = self;
        let range = ScheduledRange { from, to };
        let scheduled_range = (range != ScheduledRange::default()).then_some(range);
        (view, Where { ids: None, text, scheduled_range, priority, category, tag, completed, repeating })
    }
}

async fn todos(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<TodosQuery>,
) -> Result<Json<TodoList>, Failure> {
    let tasks = server.tasks()?;
    let (view, wanted) = wanted.read();
    let (items, aggregates, today) = tasks.listed(view, &wanted).await?;
    Ok(Json(TodoList { todos: items, aggregates, today }))
}

/// A larger calendar is refused.
const LARGEST_CALENDAR: usize = 16 * 1024 * 1024;

async fn exported(State(server): State<Shared>, QueryArgs(wanted): QueryArgs<TodosQuery>) -> Result<Response, Failure> {
    let tasks = server.tasks()?;
    let (view, mut wanted) = wanted.read();
    if view.is_some() {
        let (items, ..) = tasks.listed(view, &wanted).await?;
        wanted.ids = Some(items.into_iter().map(|item| item.task.id).collect());
    }
    let headers = [("content-type", "text/calendar; charset=utf-8")];
    Ok((StatusCode::OK, headers, tasks.export(&wanted).await?).into_response())
}

/// A calendar to read in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Calendar {
    /// The text of an .ics file.
    calendar: String,
}

/// The result of an import.
#[derive(Debug, Serialize, JsonSchema)]
struct Read {
    /// The new memory. null: the text contained nothing new.
    applied: Option<Applied>,
    /// How many tasks of it are there already.
    known: usize,
    /// The skipped entries, with reasons.
    skipped: Vec<LeftOut>,
}

/// A calendar entry that was not imported.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftOut {
    /// The task, by its title.
    title: String,
    reason: String,
}

async fn imported(State(server): State<Shared>, JsonBody(body): JsonBody<Calendar>) -> Result<Json<Read>, Failure> {
    let read = server.tasks()?.import(body.calendar.as_bytes()).await.map_err(|why| match why {
        NotApplied::Problem(problem) => problem.into(),
        _ => Failure::unprocessable("This calendar has no entries to import. Nothing was changed."),
    })?;
    let left_out = |one: Skipped| LeftOut { title: one.title, reason: one.reason };
    let skipped = read.skipped.into_iter().map(left_out).collect();
    Ok(Json(Read { applied: read.applied, known: read.known, skipped }))
}

/// Fields of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it describes what is read by hand, more leniently")]
struct Fields {
    /// Date, time, and recurrence in natural language, in the user's time zone: `tomorrow 9am`, `every monday`.
    /// `scheduledFor`, `timeOfDay`, and `recurrence` override it.
    when: Option<String>,
    #[serde(flatten)]
    fields: TaskFields,
}

/// The names that a task may be described with: what can be set, and what a task says of itself when it is read, so
/// that one can be sent back as it came.
static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let schemas = [schemars::schema_for!(Fields), schemars::schema_for!(Item)];
    let names = |schema: &schemars::Schema| {
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flat_map(|fields| fields.keys().cloned()).collect::<Vec<_>>()
    };
    schemas.iter().flat_map(names).collect()
});

/// Puts what `when` says into the fields that it means. A name that none has is a wish that would be lost.
fn understand(server: &Shared, fields: &mut Map<String, Value>) -> Result<(), Failure> {
    if let Some(name) = fields.keys().find(|name| !NAMES.contains(*name)) {
        return Err(Failure::unprocessable(format!("A task has no field `{name}`."))
            .hint("GET /api/openapi.json describes each route."));
    }
    let Some(when) = fields.remove("when").filter(|when| !when.is_null()) else { return Ok(()) };
    let text = when.as_str().ok_or_else(|| Failure::unprocessable("`when` is a text, such as \"tomorrow 9am\"."))?;
    let When { date, time, repeats } = server.tasks()?.when(text)?;
    fields.entry("scheduledFor").or_insert_with(|| json!(date));
    if let Some(time) = time {
        fields.entry("timeOfDay").or_insert_with(|| json!(time));
    }
    if let Some(repeats) = repeats {
        fields.entry("recurrence").or_insert_with(|| json!(repeats));
    }
    Ok(())
}

#[derive(Debug, Serialize, JsonSchema)]
struct TodoRef {
    todo: Task,
}

async fn todo(State(server): State<Shared>, Id(Numbered(id)): Id<Numbered>) -> Result<Json<TodoRef>, Failure> {
    let todo = server.tasks()?.get(id).await?.ok_or_else(|| missing(id))?;
    Ok(Json(TodoRef { todo }))
}

/// The number of a task. Whatever is none is the number of no task.
struct Numbered(TaskId);

impl FromStr for Numbered {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("There is no task #{text}"))
    }
}

fn missing(id: TaskId) -> Failure {
    Failure::not_found(format!("There is no task #{id}."))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodoSearch {
    /// The words to search for. Each one also matches the beginning of a longer word.
    #[serde(alias = "query")]
    q: String,
    /// How many at most.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
}

fn fifty() -> u32 {
    50
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundTasks {
    todos: Vec<Task>,
}

async fn search(
    State(server): State<Shared>,
    QueryArgs(words): QueryArgs<TodoSearch>,
) -> Result<Json<FoundTasks>, Failure> {
    let todos = server.tasks()?.search(&words.q, words.limit.clamp(1, 1000)).await?;
    Ok(Json(FoundTasks { todos }))
}

/// Applies one operation by hand; its task.
async fn apply_one(
    server: &Shared,
    op: &str,
    id: Option<TaskId>,
    mut fields: Map<String, Value>,
) -> Result<Applied, Failure> {
    understand(server, &mut fields)?;
    fields.insert("op".into(), op.into());
    fields.remove("id");
    fields.extend(id.map(|id| ("id".to_owned(), id.into())));
    let order = ApplyOperations { operations: vec![fields.into()], by: TaskAuthor::Person, key: None, confirmed: true };
    let applied = server.tasks()?.apply(order).await.map_err(|why| match why {
        NotApplied::Invalid(validation) => {
            let errors: Vec<&str> = validation.results.iter().flat_map(|one| &one.errors).map(String::as_str).collect();
            Failure::unprocessable(format!("Invalid task: {}.", errors.join("; ")))
        }
        NotApplied::Unconfirmed(_) | NotApplied::KeyReused => Failure::unprocessable("Invalid change."),
        NotApplied::Problem(problem) => problem.into(),
    })?;
    match (applied.results.first().and_then(|result| result.error.as_deref()), id) {
        (Some("not_found"), Some(id)) => Err(missing(id)),
        (Some(error), _) => Err(Failure::unprocessable(format!("Invalid change: {error}."))),
        (None, _) => Ok(applied),
    }
}

fn one(applied: Applied) -> Result<TodoRef, Failure> {
    let todo = applied.results.into_iter().find_map(|result| result.todo);
    let lost = || Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The task was changed and is not there.");
    Ok(TodoRef { todo: todo.ok_or_else(lost)? })
}

async fn create(
    State(server): State<Shared>,
    JsonBody(fields): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<TodoRef>), Failure> {
    let made = one(apply_one(&server, "create", None, fields).await?)?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update(
    State(server): State<Shared>,
    Id(Numbered(id)): Id<Numbered>,
    JsonBody(fields): JsonBody<Map<String, Value>>,
) -> Result<Json<TodoRef>, Failure> {
    Ok(Json(one(apply_one(&server, "update", Some(id), fields).await?)?))
}

async fn delete(State(server): State<Shared>, Id(Numbered(id)): Id<Numbered>) -> Result<StatusCode, Failure> {
    apply_one(&server, "delete", Some(id), Map::new()).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Newest {
    /// How many at most.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TodoChanges {
    /// The change sets.
    changes: Vec<TodoChange>,
}

/// A change set of tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TodoChange {
    change_set: ChangeSetId,
    /// When it was made.
    time: Time,
    /// Who wanted it.
    by: TaskAuthor,
    /// How much changed.
    summary: TaskCounts,
    /// Whether it is applied, and not undone.
    in_force: bool,
    /// The change set that it undoes.
    undoes: Option<ChangeSetId>,
    /// Each task before and after the change.
    writes: Vec<TaskWrite>,
}

impl TodoChange {
    fn new(set: &TaskSet, in_force: bool) -> Self {
        let TaskSet { id, time, by, summary, writes, undoes } = set.clone();
        Self { change_set: id, time, by, summary, in_force, undoes, writes }
    }
}

async fn changed(
    State(server): State<Shared>,
    QueryArgs(newest): QueryArgs<Newest>,
) -> Result<Json<TodoChanges>, Failure> {
    let history = server.tasks()?.history().await?;
    let sets = history.sets().iter().enumerate().rev().take(newest.limit.clamp(1, 1000) as usize);
    let changes = sets.map(|(n, set)| TodoChange::new(set, n < history.in_force())).collect();
    Ok(Json(TodoChanges { changes }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Back {
    /// How many change sets.
    #[serde(default = "single")]
    steps: u32,
    /// Only this one. Later ones stay.
    #[serde(default)]
    change_set: Option<ChangeSetId>,
    /// How to handle fields that have changed since then.
    #[serde(default)]
    on_conflict: OnConflict,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Forward {
    /// How many change sets.
    #[serde(default = "single")]
    steps: u32,
    /// How to handle fields that have changed since then.
    #[serde(default)]
    on_conflict: OnConflict,
}

fn single() -> u32 {
    1
}

async fn undo(State(server): State<Shared>, JsonBody(back): JsonBody<Back>) -> Result<Json<TodoChanges>, Failure> {
    let way = match back.change_set {
        Some(change_set) => TaskMove::Undo(change_set),
        None => TaskMove::Back(back.steps as usize),
    };
    move_history(&server, way, back.on_conflict, false).await
}

async fn redo(
    State(server): State<Shared>,
    JsonBody(forward): JsonBody<Forward>,
) -> Result<Json<TodoChanges>, Failure> {
    move_history(&server, TaskMove::Forward(forward.steps as usize), forward.on_conflict, true).await
}

async fn move_history(
    server: &Shared,
    way: TaskMove,
    on_conflict: OnConflict,
    forward: bool,
) -> Result<Json<TodoChanges>, Failure> {
    let moved = server.tasks()?.move_history(way, on_conflict).await.map_err(|why| match why {
        NotMoved::Nothing => Failure::new(StatusCode::CONFLICT, "nothing", "There is no change to undo or redo."),
        NotMoved::Unknown => Failure::not_found("There is no such applied change."),
        NotMoved::Conflicts(conflicts) => {
            let one = |conflict: &TaskConflict| {
                format!("#{} {} ({})", conflict.id, conflict.title, conflict.fields.join(", "))
            };
            let tasks: Vec<String> = conflicts.iter().take(5).map(one).collect();
            Failure::new(StatusCode::CONFLICT, "conflict", format!("Tasks were changed since: {}.", tasks.join("; ")))
                .hint(
                    "Nothing was changed. Set onConflict: keep_mine keeps those fields, discard_mine overwrites them.",
                )
        }
        NotMoved::Problem(problem) => problem.into(),
    })?;
    let changes = moved.iter().map(|set| TodoChange::new(set, forward || set.undoes.is_some())).collect();
    Ok(Json(TodoChanges { changes }))
}

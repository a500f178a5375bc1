//! What the models are shown of the tasks, and how they are called.

use trimtab_vocab::event::{RequestFact, SessionFact};
use trimtab_vocab::{
    AssistantRequest, Date, Fact, Format, Message, Mode, Prompt, Reply, Request, RequestId, RunSettings, StopReason,
    Task, TaskLimits, Time, Usage, Where,
};

use super::snapshot::{TaskSelection, view};
use crate::tasks::{self, Moment, TaskMap};
use crate::{Effect, Input, Interrupted, Output, Session, step};

fn moment(today: &str) -> Moment {
    Moment { now: Time::from_millis(0), today: today.parse().expect("a day") }
}

fn made(operations: serde_json::Value, at: Moment) -> TaskMap {
    let read = tasks::operations_in(operations).into_iter().map(|one| tasks::read(one, at.today)).collect();
    let trial = tasks::try_out(&TaskMap::new(), 1, read, at);
    assert!(trial.annotated().iter().all(|one| one.errors.is_empty()), "{:?}", trial.annotated());
    trial.writes().iter().filter_map(|write| write.after.clone()).map(|task: Task| (task.id, task)).collect()
}

fn ids(shown: Option<&Vec<trimtab_vocab::TaskShown>>) -> Vec<u64> {
    shown.into_iter().flatten().map(|task| task.id).collect()
}

#[test]
fn the_week_runs_from_monday_to_sunday_whatever_day_it_is() {
    // 2026-11-15 is a Sunday, 2026-11-16 a Monday.
    let tasks = made(
        serde_json::json!([
            {"op": "create", "title": "Monday before", "scheduledFor": "2026-11-09"},
            {"op": "create", "title": "Sunday", "scheduledFor": "2026-11-15"},
            {"op": "create", "title": "Monday", "scheduledFor": "2026-11-16"},
            {"op": "create", "title": "Daily", "scheduledFor": "2026-11-01", "recurrence": {"type": "daily"}},
            {"op": "create", "title": "Done", "scheduledFor": "2026-11-15", "completed": true},
            {"op": "create", "title": "Some day"},
        ]),
        moment("2026-11-15"),
    );
    let week = |today: &str| {
        let shown = view(&tasks, moment(today), "UTC", &TaskSelection::Overview { words: String::new() }).shown;
        let week = shown.week.expect("a week");
        (format!("{} {}", week.from, week.to), ids(Some(&week.items)), ids(shown.backlog.as_ref()))
    };
    assert_eq!(week("2026-11-15"), ("2026-11-09 2026-11-15".into(), vec![1, 4, 2], vec![6]));
    assert_eq!(week("2026-11-16"), ("2026-11-16 2026-11-22".into(), vec![3, 4], vec![6]));
}

#[test]
fn what_is_shown_is_bounded_and_what_is_meant_comes_first() {
    let many: Vec<serde_json::Value> = (1..=80)
        .map(|n| serde_json::json!({"op": "create", "title": format!("T{n} {}", "x".repeat(300)), "scheduledFor": "2026-11-15"}))
        .collect();
    let tasks = made(many.into(), moment("2026-11-15"));
    let shown = view(&tasks, moment("2026-11-15"), "UTC", &TaskSelection::Foremost { words: "T80 x".into() }).shown;
    assert_eq!(shown.top.as_ref().map(Vec::len), Some(40));
    assert!(shown.aggregates.is_some() && shown.week.is_none());
    let today: Date = "2026-11-15".parse().expect("a day");
    let range = trimtab_vocab::ScheduledRange { from: Some(today), to: Some(today) };
    let filter = Where { scheduled_range: Some(range), ..Where::default() };
    let focused = TaskSelection::Focused { filter, words: String::new() };
    let shown = view(&tasks, moment("2026-11-15"), "UTC", &focused).shown;
    assert_eq!(shown.focused.as_ref().map(Vec::len), Some(50));
    assert!(serde_json::to_string(&shown).expect("JSON").len() < 16 * 1024);
}

#[test]
fn what_is_asked_for_by_its_name_and_what_is_late_is_shown_whenever_it_is_planned() {
    let mut operations: Vec<serde_json::Value> = (1..=60)
        .map(|n| serde_json::json!({"op": "create", "title": format!("T{n}"), "scheduledFor": "2026-11-15"}))
        .collect();
    operations.push(serde_json::json!({"op": "create", "title": "See the dentist", "scheduledFor": "2027-05-03"}));
    operations.push(serde_json::json!({"op": "create", "title": "Pay rent", "scheduledFor": "2026-10-30"}));
    operations.push(
        serde_json::json!({"op": "create", "title": "Dentist's bill", "scheduledFor": "2026-09-01", "completed": true}),
    );
    let tasks = made(operations.into(), moment("2026-11-15"));
    let words = "When do I see the dentist?".to_owned();
    let shown = view(&tasks, moment("2026-11-15"), "UTC", &TaskSelection::Overview { words: words.clone() }).shown;
    assert_eq!((ids(shown.overdue.as_ref()), ids(shown.focused.as_ref())), (vec![62], vec![61]));
    assert_eq!(shown.aggregates.expect("counts")["open"], 62);
    let shown = view(&tasks, moment("2026-11-15"), "UTC", &TaskSelection::Foremost { words }).shown;
    let top = ids(shown.top.as_ref());
    assert_eq!((top.len(), top[0], top.last()), (40, 62, Some(&61)), "it takes the place of the last");
}

#[test]
fn about_a_day_its_tasks_are_shown_with_a_little_backlog_and_what_is_named() {
    let tasks = made(
        serde_json::json!([
            {"op": "create", "title": "Today", "scheduledFor": "2026-11-15"},
            {"op": "create", "title": "Call Bob", "scheduledFor": "2026-12-24"},
            {"op": "create", "title": "Other", "scheduledFor": "2026-12-24"},
            {"op": "create", "title": "Some day"},
            {"op": "create", "title": "Weekly", "scheduledFor": "2026-11-01", "recurrence": {"type": "weekly"}},
        ]),
        moment("2026-11-15"),
    );
    let today: Date = "2026-11-15".parse().expect("a day");
    let range = trimtab_vocab::ScheduledRange { from: Some(today), to: Some(today) };
    let filter = Where { scheduled_range: Some(range), ..Where::default() };
    let wanted = TaskSelection::Focused { filter, words: "Do what is on today instead of the call with Bob".into() };
    let shown = view(&tasks, moment("2026-11-15"), "UTC", &wanted).shown;
    assert_eq!((ids(shown.focused.as_ref()), ids(shown.backlog.as_ref())), (vec![1, 5, 2], vec![4]));
    assert!(shown.top.is_none());
}

/// What the world did and saw in one request.
struct Played {
    prompts: Vec<Prompt>,
    facts: Vec<(Option<RequestId>, Fact)>,
    steps: usize,
}

/// Plays the world: shows tasks, tries operations out, and answers each call by `words`. After so many steps the
/// program is killed once: what was under way and in memory is lost.
fn play(mode: Mode, strict: bool, killed_after: usize, words: impl Fn(&Prompt) -> String) -> Played {
    let at = moment("2026-11-15");
    let mut session = Session::default();
    let opened = Fact::from(SessionFact::Opened { folder: String::new(), parent_session_id: None, imported: None });
    session.fold(None, &opened);
    let mut settings = RunSettings::default();
    settings.style.recovery.repairs = 1;
    settings.auto_mode.strict_schema = strict;
    let request = "r1".parse().expect("an id");
    let said = Request {
        mode,
        ask: Some(Box::new(AssistantRequest::default())),
        ..Request::new(request, "Buy milk", settings)
    };
    let mut inputs = std::collections::VecDeque::from([Input::Said { request: Box::new(said) }]);
    let mut played = Played { prompts: Vec::new(), facts: vec![(None, opened)], steps: 0 };
    while let Some(input) = inputs.pop_front() {
        played.steps += 1;
        assert!(played.steps < 100, "it never ends");
        for output in step(&mut session, input) {
            let effect = match output {
                Output::Effect(effect) => effect,
                Output::Event { request, fact } => {
                    played.facts.push((request, fact));
                    continue;
                }
                _ => continue,
            };
            inputs.push_back(match effect {
                Effect::Admit { request } => Input::Admitted { request },
                Effect::ViewTasks { request, wanted, .. } => {
                    let view = view(&TaskMap::new(), at, "UTC", &wanted);
                    Input::TasksViewed { request, view: Box::new(view) }
                }
                Effect::JudgeTasks { request, operations, .. } => {
                    let judged = tasks::try_out(&TaskMap::new(), 1, operations, at).dry_run(TaskLimits::default());
                    Input::TasksJudged { request, judged: Box::new(judged) }
                }
                Effect::CallModel { call, prompt, .. } => {
                    let message = Message::assistant(words(&prompt));
                    played.prompts.push(*prompt);
                    let reply = Reply { message, stop_reason: Some(StopReason::EndTurn), usage: Usage::default() };
                    Input::Replied { call, reply, raw: None, warnings: Vec::new() }
                }
                other => panic!("{other:?}"),
            });
        }
        if played.steps == killed_after {
            inputs.clear();
            session = Session::replay(played.facts.iter().map(|(request, fact)| (request.as_ref(), fact)));
            let interrupted = session.under_way().into_iter().map(|call| Interrupted { call, partial: None }).collect();
            inputs.push_back(Input::Woke { interrupted });
        }
    }
    assert!(session.is_idle());
    played
}

/// A model that makes one mistake.
fn clumsy(prompt: &Prompt) -> String {
    match prompt.system.as_str() {
        system if system.contains("intent router") => r#"{"decision":"plan","confidence":0.9}"#,
        system if system.contains("No markdown, no lists, no JSON") => "Milk is bought.",
        system if system.contains("No markdown, no lists.") => "Hello.",
        _ if prompt.messages[0].text().starts_with("Fix these problems") => r#"{"operations":[{"title":"Milk"}]}"#,
        _ => r#"{"operations":[{"op":"fly"}]}"#,
    }
    .to_owned()
}

#[test]
fn killed_after_any_step_it_comes_to_the_same_end() {
    let ends = |played: &Played| -> Vec<String> {
        let is_end = |fact: &Fact| {
            matches!(fact, Fact::Proposal(_) | Fact::Answer(_) | Fact::Request(RequestFact::Finished { .. }))
        };
        let written = |(_, fact): &(Option<RequestId>, Fact)| {
            let mut fact = serde_json::to_value(fact).expect("JSON");
            // It is named after the call that proposed it, and a kill costs a call.
            fact.as_object_mut().and_then(|fields| fields.remove("proposal"));
            fact.to_string()
        };
        played.facts.iter().filter(|(_, fact)| is_end(fact)).map(written).collect()
    };
    for mode in [Mode::Auto, Mode::Plan, Mode::Chat] {
        let whole = play(mode, true, usize::MAX, clumsy);
        assert!(ends(&whole).len() >= 2, "{:?}", ends(&whole));
        for killed_after in 1..=whole.steps {
            let killed = play(mode, true, killed_after, clumsy);
            assert_eq!(ends(&killed), ends(&whole), "{mode:?} killed after {killed_after}");
        }
    }
}

#[test]
fn operations_have_a_form_and_words_have_none() {
    let forms = |mode: Mode, strict: bool| -> Vec<&'static str> {
        let name = |prompt: Prompt| match prompt.format {
            Some(Format::Schema { schema, .. }) => {
                assert_eq!(schema["required"][0], "operations");
                "schema"
            }
            Some(Format::Json) => "json",
            None => "free",
        };
        play(mode, strict, usize::MAX, clumsy).prompts.into_iter().map(name).collect()
    };
    assert_eq!(forms(Mode::Plan, true), ["schema", "schema", "free"]);
    assert_eq!(forms(Mode::Plan, false), ["json", "json", "free"]);
    assert_eq!(forms(Mode::Chat, true), ["free"]);
    assert_eq!(forms(Mode::Auto, true), ["json", "schema", "schema", "free"]);
}

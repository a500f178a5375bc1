//! People at command lines: one who works alone, two who share a session, one with a list of tasks, one with pictures.

use std::path::Path;
use std::sync::Mutex;

use serde_json::json;
use trimtab_testkit::dice::Dice;

use crate::day::Day;

/// Requests of a session before a new one is begun.
const MOST: usize = 12;

/// A session that several may work in, and how many requests it has had.
#[derive(Default)]
pub(crate) struct Shared(Mutex<(Option<String>, usize)>);

impl Shared {
    fn take(&self) -> Option<String> {
        let mut shared = self.0.lock().expect("no panic");
        shared.1 += 1;
        if shared.1 > MOST {
            *shared = (None, 1);
        }
        shared.0.clone()
    }

    /// The session, if there is one.
    pub(crate) fn current(&self) -> Option<String> {
        self.0.lock().expect("no panic").0.clone()
    }

    fn set(&self, session: &str) {
        self.0.lock().expect("no panic").0.get_or_insert_with(|| session.to_owned());
    }
}

/// Works with `run`, `resume`, `answer`, `changes`, `rewind`, `forward` in a folder, until the day is over.
pub(crate) fn script(day: &Day, name: &str, folder: &Path, shared: &Shared) {
    let mut dice = day.dice(name);
    let dir = folder.to_str().expect("a path");
    while !day.is_over() {
        match dice.below(10) {
            0..=5 => run(day, &mut dice, dir, shared),
            6 => drop(shared.current().map(|session| look(day, &mut dice, &session))),
            7 | 8 => drop(shared.current().map(|session| move_history(day, &mut dice, &session))),
            _ => drop(shared.current().map(|session| answer(day, &session))),
        }
    }
}

fn run(day: &Day, dice: &mut Dice, dir: &str, shared: &Shared) {
    let (_, words) = day.any_job(dice);
    let session = shared.take();
    let way = *dice.pick(&["--queue", "--steer", "--queue"]).expect("one of them");
    let approve = if dice.once_in(4) { "ask" } else { "auto" };
    let mut arguments = vec!["run", "--json", "--approve", approve, "--dir", dir];
    if let Some(session) = &session {
        arguments.extend(["--session", session, way]);
    }
    arguments.push(&words);
    let ended = day.trimtab(&arguments);
    let events = Day::lines(&ended);
    let Some(session) = day.heard(&events) else { return };
    shared.set(&session);
    match ended.code {
        None => resume(day, &session),
        Some(3) => answer(day, &session),
        _ => {}
    }
}

/// Goes on with what was cut off.
pub(crate) fn resume(day: &Day, session: &str) {
    let ended = day.trimtab(&["resume", session, "--json", "--approve", "auto"]);
    day.heard(&Day::lines(&ended));
    if ended.code == Some(3) {
        answer(day, session);
    }
}

/// Answers what waits in a session: a command whose end nobody saw is not run again, everything else may be done.
pub(crate) fn answer(day: &Day, session: &str) {
    let open = day.trimtab(&["checkpoints", "--json"]);
    for asked in Day::lines(&open).iter().filter(|asked| asked["session"] == session) {
        let choices: Vec<&str> =
            asked["choices"].as_array().into_iter().flatten().filter_map(|choice| choice["id"].as_str()).collect();
        let wanted = if asked["about"] == "outcome" { "skip" } else { "allow" };
        let known = |choice: &&str| choices.contains(choice);
        let choice = [wanted, "continue", "skip", "retry"].into_iter().find(known).or(choices.last().copied());
        let (Some(id), Some(choice)) = (asked["checkpoint"].as_str(), choice) else {
            day.wrong(format!("a question without a name or choices: {asked}"));
            continue;
        };
        day.count(format!("answered {} with {choice}", asked["about"]));
        let ended = day.trimtab(&["answer", id, choice, "--json", "--approve", "auto"]);
        day.heard(&Day::lines(&ended));
    }
}

/// Answers what waits in the sessions of a folder.
pub(crate) fn answer_in(day: &Day, folder: &Path) {
    let open = Day::lines(&day.trimtab(&["checkpoints", "--json"]));
    if open.is_empty() {
        return;
    }
    let listed = Day::lines(&day.trimtab(&["sessions", "list", "--json", "--dir", folder.to_str().expect("a path")]));
    for row in &listed {
        if let Some(id) = row["id"].as_str().filter(|id| open.iter().any(|asked| asked["session"] == **id)) {
            answer(day, id);
        }
    }
}

fn look(day: &Day, dice: &mut Dice, session: &str) {
    let looks: [&[&str]; 6] = [
        &["changes", "--json", "--session", session],
        &["jobs", "--json", "--all"],
        &["sessions", "export", session],
        &["sessions", "list", "--all", "--json"],
        &["diff", "--session", session],
        &["stats"],
    ];
    day.trimtab(looks[dice.below(looks.len() as u64) as usize]);
}

fn move_history(day: &Day, dice: &mut Dice, session: &str) {
    let way = if dice.once_in(2) { "rewind" } else { "forward" };
    let steps = (1 + dice.below(3)).to_string();
    day.trimtab(&[way, &steps, "--session", session]);
}

/// Keeps a list of tasks: each wish is one change, however often it is sent.
pub(crate) fn tasks(day: &Day) {
    let mut dice = day.dice("tasks");
    let file = day.program.home().with_file_name("operations.json");
    while !day.is_over() {
        let (job, _) = day.job("task");
        let title = format!("Do {job}");
        if dice.once_in(2) {
            let ended = day.trimtab(&["tasks", "add", &title]);
            if ended.code == Some(0) {
                day.accepted(&job);
            }
        } else {
            let wish = json!({"operations": [{"op": "create", "title": title}]});
            // The disk may be full; the wish stands in memory, and the person tries again.
            if std::fs::write(&file, wish.to_string()).is_err() {
                continue;
            }
            let path = file.to_str().expect("a path").to_owned();
            let jumps = day.book().jumps;
            for _ in 0..1 + dice.below(3) {
                let ended = day.trimtab(&["tasks", "apply", &path, "--key", &job]);
                if ended.code == Some(0) {
                    day.accepted(&job);
                }
            }
            let mut book = day.book();
            let has_jumped = book.jumps != jumps;
            book.jobs.entry(job).or_default().aged = has_jumped;
        }
        if dice.once_in(4) {
            day.trimtab(&["tasks", "list", "--all", "--json"]);
        }
    }
}

/// Has pictures made, and chooses some.
pub(crate) fn pictures(day: &Day, folder: &Path) {
    let mut dice = day.dice("pictures");
    let dir = folder.to_str().expect("a path").to_owned();
    let shared = Shared::default();
    while !day.is_over() {
        let (_, words) = day.job("picture");
        let mut arguments = vec!["images", "make", "-n", "1", "--json", "--approve", "auto", "--dir", &dir];
        let known = shared.take();
        if let Some(session) = &known {
            arguments.extend(["--session", session]);
        }
        arguments.push(&words);
        let made = day.trimtab(&arguments);
        let Some(session) = day.heard(&Day::lines(&made)) else { continue };
        shared.set(&session);
        if made.code.is_none() {
            resume(day, &session);
        }
        if dice.once_in(2) {
            day.trimtab(&["images", "select", "1", "--session", &session]);
            day.trimtab(&["images", "list", "--json", "--session", &session]);
        }
    }
}

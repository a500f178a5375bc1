//! What must hold when the day is over: nothing lost, nothing twice, replay equals live, nothing left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use trimtab_testkit::replay;

use crate::brain::job_in;
use crate::browser::Seen;
use crate::day::{Day, tree, wait_until};
use crate::place::processes;
use crate::screen;

/// A session as it was exported.
pub(crate) struct Exported {
    pub(crate) id: String,
    pub(crate) folder: String,
    pub(crate) events: Vec<Value>,
}

impl Exported {
    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }
}

/// Every session there is.
pub(crate) fn export_all(day: &Day) -> Vec<Exported> {
    let listed = Day::lines(&day.trimtab(&["sessions", "list", "--all", "--json"]));
    let mut all = Vec::new();
    for row in listed {
        let id = row["id"].as_str().expect("an id").to_owned();
        // A move of the history that was cut off is seen to by whoever looks at it next.
        day.trimtab(&["changes", "--json", "--session", &id]);
        let ended = day.trimtab(&["sessions", "export", &id]);
        match serde_json::from_str::<Value>(&ended.stdout) {
            Ok(Value::Object(mut object)) => {
                let events = object.remove("events").and_then(|events| events.as_array().cloned()).unwrap_or_default();
                all.push(Exported { id, folder: row["folder"].as_str().unwrap_or_default().to_owned(), events });
            }
            _ => day.wrong(format!("{id} cannot be exported: {}", ended.stderr)),
        }
    }
    all
}

/// Folding a log again gives what the program says of the session.
pub(crate) fn replays(day: &Day, sessions: &[Exported]) {
    for session in sessions {
        let folded = match replay::folded(&session.id, &session.events) {
            Ok(folded) => folded,
            Err(why) => {
                day.wrong(format!("{}: {why}", session.id));
                continue;
            }
        };
        if !folded.is_idle() || folded.is_moving() {
            day.wrong(format!("{} is not at rest when its log is folded", session.id));
        }
        let sets = Day::lines(&day.trimtab(&["changes", "--json", "--session", &session.id]));
        let in_force = sets.iter().filter(|set| set["applied"] == true).count();
        if (sets.len(), in_force) != (folded.history().len(), folded.in_force()) {
            let told = (folded.history().len(), folded.in_force());
            day.wrong(format!("{}: {in_force} of {} changes in force, the log says {told:?}", session.id, sets.len()));
        }
        for bug in session.of("bug").filter(|bug| bug["by"] == "program" || bug["by"] == "trimtab") {
            day.wrong(format!("{}: a defect of our own: {bug}", session.id));
        }
        for bug in session.of("bug") {
            day.count(format!("bug of {}: {}", bug["by"], bug["kind"]));
        }
    }
}

/// What was promised is in the log, once; what was asked once is answered once.
pub(crate) fn nothing_lost_nothing_twice(day: &Day, sessions: &[Exported]) {
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for session in sessions {
        let mut answers: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &session.events {
            let kind = event["type"].as_str().unwrap_or_default();
            let text = event["text"].as_str().unwrap_or_default();
            if let ("request.received" | "request.joined", Some(job)) = (kind, job_in(text)) {
                *taken.entry(job.to_owned()).or_default() += 1;
            }
            if kind == "answer" {
                *answers.entry(event["request"].as_str().unwrap_or_default()).or_default() += 1;
            }
        }
        for (request, times) in answers.iter().filter(|(_, times)| **times > 1) {
            day.wrong(format!("{}: {request} was answered {times} times", session.id));
        }
        for received in session.of("request.received") {
            let request = &received["request"];
            let last = session.of("request.finished").filter(|event| event["request"] == *request).last();
            match last.map(|last| last["status"].as_str().unwrap_or_default().to_owned()) {
                Some(status) => day.count(format!("request {status}")),
                None => day.wrong(format!("{}: {request} has no end", session.id)),
            }
        }
    }
    let tasks = Day::lines(&day.trimtab(&["tasks", "list", "--all", "--json"]));
    for task in &tasks {
        if let Some(job) = task["title"].as_str().and_then(job_in) {
            *taken.entry(job.to_owned()).or_default() += 1;
        }
    }
    let jobs = day.book().jobs.clone();
    for (name, job) in &jobs {
        let times = taken.get(name).copied().unwrap_or(0);
        if times > 1 && !job.aged {
            day.wrong(format!("{name} was taken in {times} times"));
        }
        if times == 0 && job.accepted {
            day.wrong(format!("{name} was taken in, and is lost"));
        }
        if times == 0 && job.typed && !screen::is_kept(day, name) {
            day.wrong(format!("{name} was typed and kept as a draft, and is neither in the log nor there still"));
        }
    }
    let accepted = jobs.values().filter(|job| job.accepted).count();
    println!("{} jobs, {accepted} of them promised, {} in the log", jobs.len(), taken.len());
}

/// A command ran at most once, and when the log says that it did; a file was written once.
pub(crate) fn effects_once(day: &Day, sessions: &[Exported]) {
    let mut ran: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut applied: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for session in sessions {
        let ended_here = folders.entry(&session.folder).or_default();
        for event in &session.events {
            let kind = event["type"].as_str().unwrap_or_default();
            let job = event["command"].as_str().and_then(mark_in).map(str::to_owned);
            match (kind, job) {
                ("command.started", Some(job)) => ran.entry(job).or_default().0 += 1,
                ("command.finished", Some(job)) if event["exitCode"] == 0 => {
                    ended_here.insert(job.clone());
                    ran.entry(job).or_default().1 += 1;
                }
                // What a command did to files may be what others did meanwhile; only what was written by name counts.
                ("change.applied", _) if event["by"].is_null() => {
                    for file in event["files"].as_array().into_iter().flatten() {
                        if let Some(path) = file["path"].as_str().filter(|path| path.starts_with("files/")) {
                            let set = event["changeSet"].as_str().unwrap_or_default().to_owned();
                            applied.entry(path.to_owned()).or_default().insert(set);
                        }
                    }
                }
                _ => {}
            }
        }
        calls(day, session);
    }
    for (path, sets) in applied.iter().filter(|(_, sets)| sets.len() > 1) {
        day.wrong(format!("{path} was written by {sets:?}"));
    }
    let mut runs = 0;
    for (folder, ended_here) in folders {
        let marks = Path::new(folder).join("marks");
        for entry in std::fs::read_dir(&marks).into_iter().flatten().flatten() {
            let job = entry.file_name().to_string_lossy().into_owned();
            let times = std::fs::read_to_string(entry.path()).unwrap_or_default().lines().count();
            let (started, finished) = ran.get(&job).copied().unwrap_or_default();
            runs += times;
            if times > 1 || started == 0 || finished > 1 {
                day.wrong(format!(
                    "the command of {job} ran {times} times; {started} begun, {finished} ended in the log"
                ));
            }
        }
        for job in ended_here.iter().filter(|job| !marks.join(job).exists()) {
            day.wrong(format!("a command of {job} is said to have run, and none did"));
        }
    }
    println!("{runs} commands ran, {} files were written", applied.len());
}

/// The mark that a command makes. What a garbled reply has made of a command is none of ours.
fn mark_in(command: &str) -> Option<&str> {
    let (before, after) = command.split_once(" >> marks/")?;
    after.split(';').next().filter(|job| before.strip_prefix("echo ") == Some(job))
}

/// No model was called without a word in the log before it, and no reply was recorded twice.
fn calls(day: &Day, session: &Exported) {
    let mut replies: BTreeSet<&str> = BTreeSet::new();
    for saved in session.of("reply.saved").filter(|saved| saved["partial"] != true) {
        if !replies.insert(saved["call"].as_str().unwrap_or_default()) {
            day.wrong(format!("{}: the reply to {} was recorded twice", session.id, saved["call"]));
        }
    }
    let called: BTreeSet<&str> = session.of("model.called").filter_map(|event| event["call"].as_str()).collect();
    if called.len() != session.of("model.called").count() {
        day.wrong(format!("{}: a call has the name of another one", session.id));
    }
}

/// Every call of a model was announced in the log before it was made, and a picture was made once for each call.
pub(crate) fn calls_announced(day: &Day, sessions: &[Exported]) {
    let announced: usize = sessions.iter().map(|session| session.of("model.called").count()).sum();
    let made = day.asked.in_words();
    println!("{made} calls of models, {announced} announced");
    if made > announced {
        day.wrong(format!("{made} calls of models were made, and only {announced} announced"));
    }
    for session in sessions {
        let mut calls: BTreeSet<&str> = BTreeSet::new();
        for made in session.of("image.made") {
            if !calls.insert(made["call"].as_str().unwrap_or_default()) {
                day.wrong(format!("{}: {} made two pictures", session.id, made["call"]));
            }
        }
    }
}

/// What was watched is what was recorded.
pub(crate) fn streams_equal_logs(day: &Day, sessions: &[Exported], seen: &Seen) {
    let seen = seen.lock().expect("no panic");
    let mut events = 0;
    for (id, watched) in seen.iter() {
        let Some(session) = sessions.iter().find(|session| session.id == *id) else {
            day.wrong(format!("{id} was watched, and is gone"));
            continue;
        };
        events += watched.len();
        let same = watched.iter().zip(&session.events).position(|(one, other)| one != other);
        if watched.len() > session.events.len() || same.is_some() {
            day.wrong(format!("{id}: what was watched differs from the log at {same:?} of {}", watched.len()));
        }
    }
    println!("{events} events were watched in {} sessions", seen.len());
}

/// Everything that was changed can be taken back, and redone.
pub(crate) fn everything_rewinds(day: &Day, sessions: &[Exported]) {
    let folders: BTreeSet<&str> = sessions.iter().map(|session| session.folder.as_str()).collect();
    let mut sets = 0;
    for folder in folders.iter().filter(|folder| !folder.is_empty()) {
        let folder = Path::new(folder);
        let before = tree(folder);
        // The newest session first: it was built on what the others had left.
        let mut of_it: Vec<(&str, usize)> = Vec::new();
        for session in sessions.iter().filter(|session| Path::new(&session.folder) == folder) {
            let listed = Day::lines(&day.trimtab(&["changes", "--json", "--session", &session.id]));
            of_it.push((&session.id, listed.iter().filter(|set| set["applied"] == true).count()));
        }
        of_it.retain(|(_, count)| *count > 0);
        for (session, count) in &of_it {
            sets += count;
            let ended = day.trimtab(&["rewind", &count.to_string(), "--session", session, "--discard-mine"]);
            if ended.code != Some(0) {
                day.wrong(format!("{count} changes of {session} cannot be taken back: {}", ended.stderr));
            }
        }
        // A command that ran while another session took its own changes back is said to have deleted those files, and
        // taking it back brings them again.
        let deleted: BTreeSet<&str> = sessions
            .iter()
            .filter(|session| Path::new(&session.folder) == folder)
            .flat_map(|session| session.of("change.applied").filter(|event| !event["by"].is_null()))
            .flat_map(|event| event["files"].as_array().into_iter().flatten())
            .filter(|file| file["isDeleted"] == true)
            .filter_map(|file| file["path"].as_str())
            .collect();
        let kept: Vec<String> = tree(folder).keys().map(|path| path.display().to_string()).collect();
        if kept.iter().any(|path| path.starts_with("files/") && !deleted.contains(path.as_str())) {
            day.wrong(format!("{}: files are left when everything is taken back: {kept:?}", folder.display()));
        }
        for (session, count) in of_it.iter().rev() {
            let ended = day.trimtab(&["forward", &count.to_string(), "--session", session, "--discard-mine"]);
            if ended.code != Some(0) {
                day.wrong(format!("{count} changes of {session} cannot be brought forward: {}", ended.stderr));
            }
        }
        let after = tree(folder);
        let names = |tree: &BTreeMap<std::path::PathBuf, Vec<u8>>| -> Vec<String> {
            tree.keys().map(|path| path.display().to_string()).collect()
        };
        if names(&before) != names(&after) {
            day.wrong(format!("{}: {:?} became {:?}", folder.display(), names(&before), names(&after)));
        }
    }
    println!("{sets} changes were taken back and redone");
}

/// No process, lock, temporary file or half file is left.
pub(crate) fn nothing_left(day: &Day) {
    let is_alone = || processes().is_empty();
    if !wait_until(Duration::from_secs(60), is_alone) {
        let left: Vec<String> =
            processes().into_iter().map(|process| format!("{} {}", process.id, process.line)).collect();
        day.wrong(format!("processes are left: {}", left.join("; ")));
    }
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let home = day.program.home();
    let known = ["caches", "drawer", "owners", "server", "trimtab.db", "rules", "config.toml", "audit.key"];
    let strange: Vec<String> = names(&home).into_iter().filter(|name| !known.contains(&name.as_str())).collect();
    if !strange.is_empty() {
        day.wrong(format!("the data folder has {strange:?}"));
    }
    let owners = names(&home.join("owners"));
    if !owners.is_empty() {
        day.wrong(format!("owners are left: {owners:?}"));
    }
    let halves: Vec<String> = names(&home.join("drawer")).into_iter().filter(|name| name.starts_with('.')).collect();
    if !halves.is_empty() {
        day.wrong(format!("halves are left in the drawer: {halves:?}"));
    }
    let mut folders = vec![day.program.project()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(".trimtab-") {
                day.wrong(format!("{} is left", entry.path().display()));
            }
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

/// The database is whole, and so is the trail.
pub(crate) fn undamaged(day: &Day) {
    let doctor = day.trimtab(&["doctor"]);
    if !doctor.stdout.contains("intact") || doctor.code != Some(0) {
        day.wrong(format!("the data folder is damaged: {}", doctor.stdout));
    }
    let audit = day.trimtab(&["audit", "--json"]);
    if audit.code != Some(0) {
        day.wrong(format!("the trail is broken: {} {}", audit.stdout, audit.stderr));
    }
}

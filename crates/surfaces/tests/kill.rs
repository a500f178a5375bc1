//! Killed with SIGKILL at any point, again and again, a request comes to its one right end.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, Reply};

const PIECES: [&str; 6] = ["Once ", "upon ", "a ", "time — ", "naïve ", "🦀."];
const WHOLE: &str = "Once upon a time — naïve 🦀.";

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn story() -> Answer {
    Answer::anthropic(Reply::new().text(PIECES))
}

/// What the database holds of the one request, whoever is alive.
struct Held {
    accepted: bool,
    /// The reply is there, in the log or in the inbox: the call must not be made again.
    replied: bool,
    finished: bool,
    /// As much of a broken-off reply as was saved.
    partial: String,
}

fn look(program: &Program) -> Held {
    let file = program.home().join("trimtab.db");
    if !file.exists() {
        return Held { accepted: false, replied: false, finished: false, partial: String::new() };
    }
    let database = rusqlite::Connection::open(&file).expect("opens");
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0) > 0;
    let mut partial = String::new();
    if let Ok(mut statement) = database.prepare("SELECT text FROM partials ORDER BY id") {
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        rows.for_each(|text| partial.push_str(&text.expect("text")));
    }
    Held {
        accepted: count("SELECT count(*) FROM jobs"),
        replied: count("SELECT count(*) FROM inbox WHERE payload LIKE '%\"input\":\"replied\"%'")
            || count(
                "SELECT count(*) FROM events WHERE event LIKE '%\"reply.saved\"%' AND event NOT LIKE '%\"partial\":true%'",
            ),
        finished: count("SELECT count(*) FROM jobs WHERE status IS NOT NULL"),
        partial,
    }
}

/// Resumes to the end and checks that it is the right one.
fn finish(program: &Program, place: &str) {
    let before = look(program);
    let calls = program.provider.requests().len();
    let resumed = program.run(&["resume", "--json"]);
    if !before.accepted {
        assert_eq!(resumed.code, Some(1), "{place}: there is nothing to resume");
        assert_eq!(calls, 0, "{place}: a model was called for a request that was not kept");
        return;
    }
    assert_eq!(resumed.code, Some(0), "{place}: {}", resumed.stderr);
    if before.replied {
        assert_eq!(program.provider.requests().len(), calls, "{place}: a finished call was made again");
    }
    check_events(&resumed, &before, place);
    let text = program.run(&["resume"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(0), &*format!("{WHOLE}\n")), "{place}");
    let doctor = program.run(&["doctor"]);
    assert!(doctor.stdout.contains("intact"), "{place}: {}", doctor.stdout);
}

fn check_events(resumed: &Ended, before: &Held, place: &str) {
    let events = resumed.events();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("request.received").len(), 1, "{place}");
    assert_eq!(of("request.received")[0]["text"], "Tell me a story", "{place}");
    assert_eq!(of("answer").len(), 1, "{place}");
    assert_eq!(of("answer")[0]["summary"], WHOLE, "{place}");
    assert_eq!(of("request.finished").len(), 1, "{place}");
    assert_eq!(events.last().expect("an end")["type"], "request.finished", "{place}");
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{place}: {seqs:?}");
    if !before.partial.is_empty() && !before.replied {
        let kept = of("reply.saved")
            .iter()
            .any(|event| event["partial"] == true && event["message"]["parts"][0]["text"] == before.partial.as_str());
        assert!(kept, "{place}: {:?} had been saved and is not shown", before.partial);
    }
}

#[test]
fn killed_between_any_two_pieces_of_the_reply() {
    // 0: before the headers. The last: everything was sent.
    let chunks = trimtab_testkit::provider::anthropic::stream(&Reply::new().text(PIECES)).len();
    for sent in 0..=chunks {
        for pause in [0, 300] {
            let program = program();
            let gate = program.provider.gate();
            program.provider.push(story().gated(&gate));
            program.provider.always(story());
            let running = program.spawn(&["run", "Tell me a story"]);
            program.provider.block_on(program.provider.wait_for_requests(1));
            gate.release(sent);
            if sent > 0 {
                program.provider.block_on(gate.sent(sent));
            }
            // Long enough for what has come to be saved, or not long at all.
            std::thread::sleep(Duration::from_millis(pause));
            running.signal(Signal::KILL);
            running.wait();
            finish(&program, &format!("killed {pause} ms after chunk {sent}"));
        }
    }
}

/// The system calls that matter.
const CALLS: &str = "openat,openat2,write,pwrite64,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,renameat2,mkdirat,flock,fcntl,connect,sendto,writev,recvfrom,read,epoll_wait,futex";

/// The places at which a run can be killed: each call by its name and its number among those of that name that one
/// thread makes, which is how strace counts. A later one would never be met.
struct Places(Vec<(String, u64)>);

/// One of them.
struct Place {
    call: String,
    nth: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.nth)
    }
}

impl Places {
    /// Those of a whole run.
    fn of(program: &Program, arguments: &[&str]) -> Self {
        let log = program.home().with_file_name("calls").display().to_string();
        let (trace, binary) = (format!("trace={CALLS}"), program.binary().display().to_string());
        let mut all = vec!["-f", "-qq", "-o", &log, "-e", &trace, &binary];
        all.extend(arguments);
        let mut command = program.command(Path::new("strace"), &all);
        let ended = Running::new(command.spawn().expect("strace is installed by scripts/test")).wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let mut calls: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let text = std::fs::read_to_string(&log).expect("a log");
        for (thread, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            // A call that was interrupted by another thread's has two lines; the second does not begin with its name.
            if let Some((call, _)) = rest.trim_start().split_once('(').filter(|(call, _)| CALLS.contains(call)) {
                *calls.entry((call, thread)).or_default() += 1;
            }
        }
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for ((call, _), count) in calls {
            let most = most.entry(call).or_default();
            *most = count.max(*most);
        }
        Self(most.into_iter().map(|(call, count)| (call.to_owned(), count)).collect())
    }

    /// Any of them, whatever its name.
    fn any(&self, dice: &mut Dice) -> Place {
        let mut nth = dice.below(self.0.iter().map(|(_, count)| count).sum());
        for (call, count) in &self.0 {
            match nth < *count {
                true => return Place { call: call.clone(), nth: nth + 1 },
                false => nth -= count,
            }
        }
        unreachable!("the dice stay below the sum")
    }
}

/// Starts the program so that it is killed as it enters a system call.
fn killed_at(program: &Program, Place { call, nth }: &Place, arguments: &[&str]) -> Running {
    let inject = format!("inject={call}:signal=SIGKILL:when={nth}");
    let trace = format!("trace={call}");
    let binary = program.binary().display().to_string();
    let mut all = vec!["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, &binary];
    all.extend(arguments);
    let mut command = program.command(Path::new("strace"), &all);
    Running::new(command.spawn().expect("strace is installed by scripts/test"))
}

/// Steps on the way do not wait for the disk; what is paid for, or said to be done, does.
#[test]
fn a_call_begins_and_a_run_ends_with_everything_on_the_disk() {
    let program = program();
    program.provider.push(Answer::anthropic(Reply::new().text(["I look."]).tool("t1", "list_files", ["{}"])));
    program.provider.always(story());
    let log = program.home().with_file_name("calls").display().to_string();
    let binary = program.binary().display().to_string();
    let trace = "trace=pwrite64,fsync,fdatasync,sendto,writev";
    let all = ["-f", "-y", "-qq", "-o", &log, "-e", trace, &binary, "run", "--trust", "Look around"];
    let mut command = program.command(Path::new("strace"), &all);
    let ended = Running::new(command.spawn().expect("strace is installed by scripts/test")).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(&log).expect("a log");
    let (mut unsaved, mut calls) = (false, 0);
    for line in text.lines() {
        let is = |names: &[&str]| names.iter().any(|name| line.contains(&format!(" {name}(")));
        if line.contains("trimtab.db-wal>") && is(&["pwrite64"]) {
            unsaved = true;
        } else if line.contains("trimtab.db-wal>") && is(&["fsync", "fdatasync"]) {
            unsaved = false;
        } else if is(&["sendto", "writev"]) && line.contains("POST /v1/messages") {
            assert!(!unsaved, "a model is called before that is on the disk:\n{line}");
            calls += 1;
        }
    }
    assert_eq!(calls, 2, "{text}");
    assert!(!unsaved, "the run has ended, and what it said may be lost");
}

/// The intent to run it, and, if it may write, what undo needs.
#[test]
fn a_command_begins_with_what_was_written_before_on_the_disk() {
    let program = program();
    for (id, command) in [("t1", "touch made"), ("t2", "echo here"), ("t3", "touch again")] {
        let input = serde_json::json!({ "command": command }).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool(id, "run_command", [input])));
    }
    program.provider.always(story());
    let log = program.home().with_file_name("calls").display().to_string();
    let binary = program.binary().display().to_string();
    let trace = "trace=pwrite64,fsync,fdatasync,execve";
    let all = ["-f", "-y", "-qq", "-o", &log, "-e", trace, &binary, "run", "--trust", "--approve", "auto", "Work"];
    let mut command = program.command(Path::new("strace"), &all);
    let ended = Running::new(command.spawn().expect("strace is installed by scripts/test")).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = std::fs::read_to_string(&log).expect("a log");
    let (mut unsaved, mut begun) = (false, std::collections::BTreeSet::new());
    for line in text.lines() {
        let is = |names: &[&str]| names.iter().any(|name| line.contains(&format!(" {name}(")));
        if line.contains("trimtab.db-wal>") && is(&["pwrite64"]) {
            unsaved = true;
        } else if line.contains("trimtab.db-wal>") && is(&["fsync", "fdatasync"]) {
            unsaved = false;
        } else if let Some(word) =
            ["made", "here", "again"].into_iter().find(|word| line.contains(&format!("{word}\"]")))
        {
            assert!(!unsaved, "a command starts before that is on the disk:\n{line}");
            begun.insert(word);
        }
    }
    assert_eq!(begun.len(), 3, "{text}");
    assert!(program.project().join("again").is_file());
}

/// `TRIMTAB_KILLS` makes it more than the few of an ordinary run.
fn rounds() -> u64 {
    std::env::var("TRIMTAB_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn killed_at_system_calls_again_and_again() {
    let mut dice = Dice::new(7);
    let mut kills = 0;
    let whole = program();
    whole.provider.always(story().chunked(40));
    let places = Places::of(&whole, &["run", "Tell me a story"]);
    for round in 0..rounds() {
        let program = program();
        program.provider.always(story().chunked(40));
        let first = places.any(&mut dice);
        let ended = killed_at(&program, &first, &["run", "Tell me a story"]).wait();
        kills += u64::from(ended.code.is_none_or(|code| code == 137));
        let mut place = format!("round {round}: killed at {first}");
        for _ in 0..3 {
            let held = look(&program);
            if !held.accepted || held.finished {
                break;
            }
            let calls = program.provider.requests().len();
            let next = places.any(&mut dice);
            place.push_str(&format!(", {next}"));
            let ended = killed_at(&program, &next, &["resume"]).wait();
            kills += u64::from(ended.code.is_none_or(|code| code == 137));
            if held.replied {
                assert_eq!(program.provider.requests().len(), calls, "{place}: a finished call was made again");
            }
        }
        finish(&program, &place);
    }
    assert!(kills > rounds() / 2, "only {kills} kills: the test does not meet what it is for");
}

/// A recording keeps no place: however often the program is killed, the conversation says what comes next.
const WORK: &str = r#"{"reply":[{"text":"I look."},{"tool":{"id":"t1","name":"read_file","input":{"path":"a.txt"}}},{"tool":{"id":"t2","name":"list_files","input":{}}},{"stop":"tool_use"}]}
{"reply":[{"tool":{"id":"t3","name":"write_file","input":{"path":"b/new.txt","content":"beta\n"}}},{"tool":{"id":"t4","name":"edit_file","input":{"path":"a.txt","blocks":[{"search":"alpha","replace":"ALPHA"}]}}},{"stop":"tool_use"}]}
{"reply":[{"tool":{"id":"t5","name":"edit_file","input":{"path":"a.txt","blocks":[{"search":"ALPHA","replace":"omega"}]}}},{"tool":{"id":"t6","name":"move_file","input":{"from":"b/new.txt","to":"c/moved.txt"}}},{"stop":"tool_use"}]}
{"reply":[{"text":"It is done."},{"stop":"end_turn"}]}
"#;

#[test]
fn killed_at_system_calls_while_tools_change_files() {
    let mut dice = Dice::new(11);
    let mut kills = 0;
    let worker = || {
        let program = program();
        std::fs::write(program.project().join("a.txt"), "alpha\n").expect("a file");
        let tape = program.home().with_file_name("tape.jsonl");
        std::fs::write(&tape, WORK).expect("a file");
        (program, format!("replay/{}", tape.display()))
    };
    let (whole, model) = worker();
    let places = Places::of(&whole, &["run", "--trust", "--model", &model, "Work"]);
    for round in 0..rounds() / 2 {
        let (program, model) = worker();
        let mut place = format!("round {round}: killed at");
        let mut arguments = vec!["run", "--trust", "--model", &model, "Work"];
        for _ in 0..4 {
            let at = places.any(&mut dice);
            place.push_str(&format!(" {at},"));
            let ended = killed_at(&program, &at, &arguments).wait();
            let killed = ended.code.is_none_or(|code| code == 137);
            kills += u64::from(killed);
            if !killed || look(&program).finished {
                break;
            }
            if look(&program).accepted {
                arguments = vec!["resume", "--trust"];
            }
        }
        if !look(&program).accepted {
            continue;
        }
        let resumed = program.run(&["resume", "--json", "--trust"]);
        assert_eq!(resumed.code, Some(0), "{place}: {}", resumed.stderr);
        let events = resumed.events();
        let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        assert_eq!((of("answer"), of("change.applied"), of("request.finished")), (1, 4, 1), "{place}");
        assert_eq!(of("tool.finished"), 6, "{place}");
        let mut files: Vec<String> = Vec::new();
        for (name, text) in [("a.txt", "omega\n"), ("c/moved.txt", "beta\n")] {
            let path = program.project().join(name);
            assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{place}: {name}");
        }
        let mut folders = vec![program.project()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push(entry.file_name().to_string_lossy().into_owned()),
                }
            }
        }
        files.sort();
        assert_eq!(files, ["a.txt", "moved.txt"], "{place}: nothing is left behind");
    }
    assert!(kills > rounds() / 4, "only {kills} kills: the test does not meet what it is for");
}

/// A request of three sub-tasks, the last of which needs what the others have made. The calls of each worker are counted.
fn crew() -> (Program, Arc<Mutex<BTreeMap<String, u32>>>) {
    let program = program();
    let calls: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let task = |name: &str, after: &[u32]| {
        json!({"title": name, "instruction": format!("TASK {name}: do it"), "files": [], "depends_on": after,
            "kind": "reasoning", "each": false})
    };
    let plan = json!({"thought": "", "tasks": [task("one", &[]), task("two", &[]), task("both", &[1, 2])]}).to_string();
    let counted = Arc::clone(&calls);
    program.provider.answer_with(move |request| {
        let body = request.body.to_string();
        let name = match body.contains("You break a request about") {
            true => "plan".to_owned(),
            false => body.split("TASK ").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or("main").to_owned(),
        };
        *counted.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()).or_default() += 1;
        Answer::anthropic(match (name.as_str(), body.contains("tool_result")) {
            ("plan", _) => Reply::new().text([plan.as_str()]),
            (name, false) => {
                let input = json!({"path": format!("{name}.txt"), "content": format!("{name}\n")}).to_string();
                Reply::new().tool(format!("toolu_{name}"), "write_file", [input])
            }
            _ => Reply::new().text(["Done."]),
        })
    });
    (program, calls)
}

/// The sub-tasks that are done, by their names.
fn done_tasks(program: &Program) -> Vec<String> {
    let documents = program.run(&["subtasks", "--json"]).events();
    let is_done = |document: &&Value| document["detail"] == "completed";
    let done = documents.iter().filter(is_done).filter_map(|document| document["input"]["instruction"].as_str());
    done.filter_map(|text| Some(text.split_once("TASK ")?.1.split_once(':')?.0.to_owned())).collect()
}

#[test]
fn killed_at_system_calls_while_workers_run() {
    let mut dice = Dice::new(13);
    let mut kills = 0;
    const RUN: [&str; 5] = ["run", "--trust", "--subtasks", "parallel", "Write three files"];
    let places = Places::of(&crew().0, &RUN);
    for round in 0..rounds() / 4 {
        let (program, calls) = crew();
        let mut place = format!("round {round}: killed at");
        let mut arguments = RUN.to_vec();
        for _ in 0..4 {
            let at = places.any(&mut dice);
            place.push_str(&format!(" {at},"));
            let done = done_tasks(&program);
            let before = calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let ended = killed_at(&program, &at, &arguments).wait();
            let killed = ended.code.is_none_or(|code| code == 137);
            kills += u64::from(killed);
            let after = calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for name in done {
                assert_eq!(after[&name], before[&name], "{place}: {name} was done, and is called again");
            }
            if !killed {
                break;
            }
            if look(&program).accepted {
                arguments = vec!["resume", "--trust"];
            }
        }
        if !look(&program).accepted {
            continue;
        }
        let resumed = program.run(&["resume", "--json", "--trust"]);
        assert_eq!(resumed.code, Some(0), "{place}: {}", resumed.stderr);
        let events = resumed.events();
        let session = events[0]["session"].clone();
        let own =
            |kind: &str| events.iter().filter(|event| event["type"] == kind && event["session"] == session).count();
        assert_eq!((own("answer"), own("change.applied"), own("request.finished")), (1, 1, 1), "{place}");
        for name in ["one", "two", "both"] {
            assert_eq!(files(&program).get(&format!("{name}.txt")), Some(&format!("{name}\n")), "{place}");
        }
        assert_eq!((files(&program).len(), done_tasks(&program).len()), (3, 3), "{place}");
    }
    assert!(kills > rounds() / 8, "only {kills} kills: the test does not meet what it is for");
}

/// The files of the project, each with its text.
fn files(program: &Program) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![program.project()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(program.project()).expect("is below it").display().to_string();
                    found.insert(name, std::fs::read_to_string(&path).unwrap_or_default());
                }
            }
        }
    }
    found
}

#[test]
fn whoever_works_in_a_folder_next_finishes_a_rewind_that_was_killed() {
    const REWIND: [&str; 2] = ["rewind", "4"];
    let program = program();
    std::fs::write(program.project().join("a.txt"), "alpha\n").expect("a file");
    let before = files(&program);
    let [work, talk] = ["work", "talk"].map(|name| program.home().with_file_name(name));
    std::fs::write(&work, WORK).expect("a file");
    std::fs::write(&talk, "{\"reply\":[{\"text\":\"Hello.\"},{\"stop\":\"end_turn\"}]}\n").expect("a file");
    let [work, talk] = [work, talk].map(|tape| format!("replay/{}", tape.display()));
    assert_eq!(program.run(&["run", "--trust", "--model", &work, "Work"]).code, Some(0));
    let session = program.run(&["sessions", "list", "--json"]).events()[0]["id"].as_str().expect("an id").to_owned();
    let after = files(&program);
    let mut halves = 0;
    for call in ["renameat", "renameat2", "unlinkat"] {
        for nth in 1..=4 {
            let place = Place { call: call.to_owned(), nth };
            let mut arguments = REWIND.to_vec();
            arguments.extend(["--session", &session]);
            killed_at(&program, &place, &arguments).wait();
            let found = files(&program);
            halves += u64::from(found != before && found != after);
            let ended = program.run(&["run", "--trust", "--model", &talk, "Hello"]);
            assert_eq!(ended.code, Some(0), "{place}: {}", ended.stderr);
            let found = files(&program);
            assert!(found == before || found == after, "{place}: {found:?} is neither of them");
            if found == before {
                let forward = program.run(&["forward", "4", "--session", &session]);
                assert_eq!(forward.code, Some(0), "{place}: {}", forward.stderr);
                assert_eq!(files(&program), after, "{place}");
            }
        }
    }
    assert!(halves > 0, "no rewind was killed halfway: the test does not meet what it is for");
}

//! The server, somebody who works through its API, and somebody who watches as a browser does: the stream is read from
//! where it broke off, by `Last-Event-ID`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::Running;
use trimtab_testkit::served::{Answer, Ask, Sent, Served};

use crate::day::{Day, wait_until};

/// Requests of a session before a new one is begun.
const MOST: usize = 12;

/// The one server of the day, started again whenever it is gone.
pub(crate) struct Keeper<'d> {
    day: &'d Day,
    token: String,
    served: Mutex<Option<(Served, Instant)>>,
}

impl<'d> Keeper<'d> {
    /// Makes the token that everybody comes in with; the server is not started yet.
    pub(crate) fn new(day: &'d Day) -> Self {
        let made = day.trimtab(&["token", "add", "day"]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        Self { day, token: made.stdout.trim().to_owned(), served: Mutex::new(None) }
    }

    fn served(&self) -> MutexGuard<'_, Option<(Served, Instant)>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its process id, if it runs.
    pub(crate) fn id(&self) -> Option<u32> {
        self.served().as_ref().map(|(served, _)| served.running.id())
    }

    /// Sees to it that it runs, until the day is over.
    pub(crate) fn keep(&self) {
        while !self.day.is_over() {
            self.start();
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts it unless it runs.
    pub(crate) fn start(&self) {
        let mut place = self.served();
        if place.as_mut().is_some_and(|(served, _)| !served.running.has_ended()) {
            return;
        }
        if let Some((served, began)) = place.take() {
            self.judge(served.running, began);
        }
        let began = Instant::now();
        let mut running = self.day.program.spawn(&["serve", "--addr", "127.0.0.1:0"]);
        let is_up = |running: &Running| running.stdout().contains("/login?token=");
        let settled = wait_until(Duration::from_secs(60), || is_up(&running) || running.has_ended());
        if !settled {
            self.day.wrong(format!("the server does not come up: {}", running.stderr()));
        }
        if !is_up(&running) {
            self.judge(running, began);
            return;
        }
        let login =
            running.stdout().lines().last().unwrap_or_default().rsplit(' ').next().unwrap_or_default().to_owned();
        let url = login.split("/login").next().unwrap_or_default().to_owned();
        self.day.count("servers");
        *place = Some((Served { running, url, login, token: self.token.clone() }, began));
    }

    fn judge(&self, running: Running, began: Instant) {
        let id = running.id();
        self.day.judged("serve", id, began, running);
    }

    /// Ends it in peace.
    pub(crate) fn end(&self) {
        let Some((mut served, began)) = self.served().take() else { return };
        if served.running.has_ended() {
            return self.judge(served.running, began);
        }
        self.day.book().struck.insert(served.running.id());
        served.running.signal(Signal::TERM);
        let id = served.running.id();
        let ended = self.day.judged("serve", id, began, served.running);
        if ended.code != Some(0) {
            self.day.wrong(format!("the server, told to end, ended as {:?}: {}", ended.code, ended.stderr));
        }
    }

    fn ask(&self, method: &str, path: &str) -> Option<Ask> {
        self.served().as_ref().map(|(served, _)| served.ask(method, path))
    }

    /// The answer of the server, if it is there and stays there.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Option<Answer> {
        let began = Instant::now();
        let mut ask = self.ask(method, path)?;
        if let Some(body) = body {
            ask = ask.json(body);
        }
        if let Some(key) = key {
            ask = ask.header("Idempotency-Key", key);
        }
        let answer = ask.try_send()?;
        self.day.count(format!("HTTP {}", answer.status));
        // A store that has no room is told as such, and as nothing else.
        let excused = answer.status == 503 && self.day.was_full(began);
        if answer.status >= 500 && !excused {
            self.day.wrong(format!("{method} {path}: {} {}", answer.status, answer.text()));
        }
        Some(answer)
    }
}

/// What somebody who watches has seen, by session.
pub(crate) type Seen = Mutex<BTreeMap<String, Vec<Value>>>;

/// Works through the API until the day is over.
pub(crate) fn work(day: &Day, keeper: &Keeper<'_>, folder: &Path, current: &Mutex<Option<String>>) {
    let mut dice = day.dice("browser");
    let mut requests = MOST;
    while !day.is_over() {
        if requests >= MOST {
            let made = keeper.send("POST", "/api/sessions", Some(&json!({"folder": folder})), None);
            let Some(made) = made.filter(|made| made.status == 201) else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            *current.lock().expect("no panic") = made.json()["session"].as_str().map(str::to_owned);
            requests = 0;
        }
        let Some(session) = current.lock().expect("no panic").clone() else { continue };
        requests += 1;
        say(day, keeper, &mut dice, &session);
        if dice.once_in(3) {
            let way = if dice.once_in(2) { "rewind" } else { "forward" };
            keeper.send("POST", &format!("/api/sessions/{session}/{way}"), Some(&json!({"steps": 1})), None);
        }
        if dice.once_in(3) {
            let paths = ["/api/jobs?all=true", "/api/usage", "/api/sessions", "/api/audit?limit=50", "/api/todos"];
            keeper.send("GET", paths[dice.below(5) as usize], None, None);
        }
        if dice.once_in(3) {
            todo(day, keeper);
        }
    }
}

/// Says something until the server has taken it in, as a browser does; it is said once.
fn say(day: &Day, keeper: &Keeper<'_>, dice: &mut Dice, session: &str) {
    let (job, words) = day.any_job(dice);
    let path = format!("/api/sessions/{session}/messages");
    let mut accepted = 0;
    for _ in 0..40 {
        let said = keeper.send("POST", &path, Some(&json!({"text": words})), Some(&job));
        if said.is_some_and(|said| said.status == 202) {
            day.accepted(&job);
            accepted += 1;
        }
        // Once more now and then: the answer may have been lost on its way.
        if accepted > 0 && !dice.once_in(3) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // What it asks is answered; what takes longer is left to itself.
    let until = Instant::now() + Duration::from_millis(500 + dice.below(4000));
    while Instant::now() < until && !day.is_over() {
        answer_all(day, keeper, Some(session));
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Asks one thing in a session of its own; whether it comes to an end.
pub(crate) fn ask_once(day: &Day, keeper: &Keeper<'_>, folder: &Path) -> bool {
    let made = keeper.send("POST", "/api/sessions", Some(&json!({"folder": folder})), None);
    let Some(session) = made.and_then(|made| made.json()["session"].as_str().map(str::to_owned)) else { return false };
    let (job, words) = day.job("run");
    let said = keeper.send("POST", &format!("/api/sessions/{session}/messages"), Some(&json!({"text": words})), None);
    if said.is_some_and(|said| said.status == 202) {
        day.accepted(&job);
    }
    wait_until(Duration::from_secs(60), || {
        answer_all(day, keeper, Some(&session));
        let jobs = keeper.send("GET", "/api/jobs", None, None).filter(|jobs| jobs.status == 200);
        let open = jobs.map(|jobs| jobs.json()["jobs"].to_string());
        open.is_some_and(|open| !open.contains(&session))
    })
}

/// Answers what waits; says how many did.
pub(crate) fn answer_all(day: &Day, keeper: &Keeper<'_>, session: Option<&str>) -> usize {
    let open = keeper.send("GET", "/api/checkpoints", None, None).filter(|open| open.status == 200);
    let Some(open) = open.map(|open| open.json()) else { return 0 };
    let mut answered = 0;
    for asked in open["checkpoints"].as_array().into_iter().flatten() {
        let Some(of) = asked["session"].as_str().filter(|of| session.is_none_or(|session| session == *of)) else {
            continue;
        };
        let choice = if asked["about"] == "outcome" { "skip" } else { "allow" };
        let body = json!({"checkpoint": asked["checkpoint"], "choice": choice});
        keeper.send("POST", &format!("/api/sessions/{of}/answers"), Some(&body), None);
        day.count(format!("answered {} over HTTP", asked["about"]));
        answered += 1;
    }
    answered
}

fn todo(day: &Day, keeper: &Keeper<'_>) {
    let (job, _) = day.job("task");
    let wish = json!({"operations": [{"op": "create", "title": format!("Do {job}")}]});
    let jumps = day.book().jumps;
    for _ in 0..3 {
        let made = keeper.send("POST", "/api/llm/apply", Some(&wish), Some(&job));
        if made.is_some_and(|made| made.status == 200) {
            day.accepted(&job);
            break;
        }
    }
    let mut book = day.book();
    let has_jumped = book.jumps != jumps;
    book.jobs.entry(job).or_default().aged = has_jumped;
}

/// Watches whatever session is worked on, until the day is over. The stream is left and taken up again, and at times
/// not read for a while.
pub(crate) fn watch(day: &Day, keeper: &Keeper<'_>, name: &str, current: &Mutex<Option<String>>, seen: &Seen) {
    let mut dice = day.dice(name);
    while !day.is_over() {
        let session = current.lock().expect("no panic").clone();
        let Some(session) = session else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let last = seen.lock().expect("no panic").get(&session).map_or(0, Vec::len);
        let ask = keeper.ask("GET", &format!("/api/sessions/{session}/events"));
        let stream = ask.and_then(|ask| ask.header("Last-Event-ID", last.to_string()).try_stream());
        let Some(mut stream) = stream.filter(|stream| stream.head.status == 200) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        day.count("streams");
        let mut left = 5 + dice.below(60);
        while left > 0 && !day.is_over() {
            left -= 1;
            if dice.once_in(60) {
                std::thread::sleep(Duration::from_millis(dice.below(1500)));
            }
            match stream.next_sent() {
                Some(Sent::Event(Some(id), event)) => {
                    let mut seen = seen.lock().expect("no panic");
                    let all = seen.entry(session.clone()).or_default();
                    if id != all.len() as u64 + 1 {
                        drop(seen);
                        day.wrong(format!("the stream of {session} goes from {last} to {id}"));
                        return;
                    }
                    all.push(event);
                }
                Some(_) => {}
                None => break,
            }
            if *current.lock().expect("no panic") != Some(session.clone()) {
                break;
            }
        }
    }
}

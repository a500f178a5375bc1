//! The evening: the weather is over, and everything that was begun comes to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::browser::{Keeper, answer_all};
use crate::day::{Day, wait_until};
use crate::people;

/// Rounds in which everything has to come to its end.
const ROUNDS: usize = 30;

/// What a server holds: open handles, threads, and memory in use (KB).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) handles: usize,
    pub(crate) threads: usize,
    pub(crate) kilobytes: u64,
}

impl Held {
    /// Connections to the model's provider are kept for the next call for a minute and a half, so they do not count; how
    /// many calls there may be at a time is limited elsewhere.
    pub(crate) fn by(id: u32, provider: &str) -> Option<Self> {
        let kept = connections_to(id, provider);
        let handles = handles(id).into_iter().filter(|handle| !kept.contains(handle)).count();
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).ok()?.count();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kilobytes = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(Self { handles, threads, kilobytes })
    }
}

/// What the open handles of a process lead to.
fn handles(id: u32) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut found: Vec<String> =
        entries.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string())).collect();
    found.sort();
    found
}

/// The sockets of a process that are connected to this address, as its handles name them.
fn connections_to(id: u32, url: &str) -> Vec<String> {
    let port = url.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).unwrap_or(0);
    let table = std::fs::read_to_string(format!("/proc/{id}/net/tcp")).unwrap_or_default();
    let is_there = |line: &&str| line.split_whitespace().nth(2).is_some_and(|at| at.ends_with(&format!(":{port:04X}")));
    let socket = |line: &str| Some(format!("socket:[{}]", line.split_whitespace().nth(9)?));
    table.lines().filter(is_there).filter_map(socket).collect()
}

/// Requests that have not ended.
fn unfinished(day: &Day) -> Vec<Value> {
    Day::lines(&day.trimtab(&["jobs", "--json"]))
}

/// Lets everything come to its end: what runs is waited for, what was cut off is resumed, what asks is answered.
pub(crate) fn finish(day: &Day, keeper: Option<&Keeper<'_>>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Some(keeper) = keeper {
            // Whoever was asked at the browser is still there: what waits behind such a question would wait for ever.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    answer_all(day, keeper, None);
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
        }
        bring_to_an_end(day);
        done.store(true, Ordering::Relaxed);
    });
}

fn bring_to_an_end(day: &Day) {
    for _ in 0..ROUNDS {
        let open = Day::lines(&day.trimtab(&["checkpoints", "--json"]));
        for session in sessions_of(&open) {
            people::answer(day, &session);
        }
        let left = unfinished(day);
        if left.is_empty() && open.is_empty() {
            return;
        }
        for session in sessions_of(&left) {
            people::resume(day, &session);
        }
    }
    let left: Vec<String> = unfinished(day).iter().map(ToString::to_string).collect();
    day.wrong(format!("after {ROUNDS} rounds, these do not come to an end: {}", left.join("\n")));
}

fn sessions_of(rows: &[Value]) -> Vec<String> {
    let mut sessions: Vec<String> = rows.iter().filter_map(|row| row["session"].as_str()).map(str::to_owned).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

/// A server at rest holds what it held at rest before.
pub(crate) fn compare(day: &Day, id: u32, dawn: Held, noon: Held) {
    let provider = day.program.provider.url();
    let mut now = noon;
    let is_back = || {
        now = Held::by(id, provider).unwrap_or(now);
        now.handles <= dawn.handles && now.threads <= dawn.threads
    };
    let came_back = wait_until(Duration::from_secs(60), is_back);
    println!("the server held: at first {dawn:?}, in the middle {noon:?}, at the end {now:?}");
    if !came_back {
        let open = handles(id).join(", ");
        day.wrong(format!("the server holds more than at first: {dawn:?}, now {now:?}: {open}"));
    }
    if now.kilobytes > 2 * noon.kilobytes.max(dawn.kilobytes) {
        day.wrong(format!("the server's memory grows: {dawn:?}, {noon:?}, {now:?}"));
    }
}

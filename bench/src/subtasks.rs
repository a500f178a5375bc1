//! Sub-tasks: how long workers of a known latency take beside the longest chain of calls, and what each of them costs
//! in memory and in processor time, which other programs on the machine do not change.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Gate, Reply, Request};

use crate::table::Table;

/// How long a model takes for each reply.
const LATENCY: Duration = Duration::from_millis(2_000);
/// The call that delegates, the two calls of each worker, which all run at once, and the call that ends the request.
const CHAIN: u32 = 4;
const REQUEST: &str = "Write all parts, in parallel";

pub fn measure(binary: &Path, table: &mut Table) {
    let alone = run(binary, 2);
    for workers in [1, 4, 16, 64] {
        let SubtaskCost { took, memory, cpu } = run(binary, workers);
        let path = LATENCY * CHAIN;
        let more = 100.0 * (took.as_secs_f64() / path.as_secs_f64() - 1.0);
        table.durations(
            &format!("{workers} workers of two calls each, start to end"),
            vec![took],
            Some((&format!("({more:+.1} %, goal: at most +5%) the longest chain of calls"), path)),
        );
        let Some(more) =
            u32::try_from(workers).ok().and_then(|workers| workers.checked_sub(2)).filter(|more| *more > 0)
        else {
            continue;
        };
        let each = memory.saturating_sub(alone.memory) / u64::from(more);
        table.size(&format!("memory of each of {workers} workers"), each, "goal: below 3 MB");
        let each = cpu.saturating_sub(alone.cpu) / more;
        table.durations(&format!("processor time of each of {workers} workers"), vec![each], None);
    }
}

/// What a run took.
struct SubtaskCost {
    took: Duration,
    /// The most memory that it had, in bytes.
    memory: u64,
    cpu: Duration,
}

/// A run with so many workers at once.
fn run(binary: &Path, workers: usize) -> SubtaskCost {
    let mut program = Program::new(binary);
    program.set("TRIMTAB_SUBTASKS_PARALLEL", "64");
    program.set("TRIMTAB_SUBTASKS_OFFER", "auto");
    program.set("TRIMTAB_SUBTASKS_AUTO_USD", "1000");
    program.set("TRIMTAB_LIMITS_JOBS", "100");
    for number in 0..50 {
        let text = "a line of a file that somebody has written\n".repeat(40);
        std::fs::write(program.project().join(format!("file{number}.txt")), text).expect("a file");
    }
    let task = |n: usize| json!({"title": format!("Part {n}"), "instruction": format!("TASK {n}: write part{n}.txt")});
    let plan = json!({"tasks": (1..=workers).map(task).collect::<Vec<_>>()}).to_string();
    let names = (1..=workers).map(|n| n.to_string()).chain(["main".to_owned()]);
    let gates: BTreeMap<(String, usize), Gate> = names
        .flat_map(|name| [1, 2].map(|number| (name.clone(), number)))
        .map(|key| (key, program.provider.gate()))
        .collect();
    program.provider.answer_with(move |request| {
        let (name, number) = called(request);
        let reply = match (name.as_str(), number) {
            ("main", 1) => Reply::new().tool("toolu_main", "delegate", [plan.clone()]),
            ("main", _) => Reply::new().text(["All parts are written."]),
            (name, 1) => {
                let input = json!({"path": format!("part{name}.txt"), "content": format!("part {name}\n")});
                Reply::new().tool(format!("toolu_{name}"), "write_file", [input.to_string()])
            }
            _ => Reply::new().text(["Done."]),
        };
        let gate = gates[&(name, number)].clone();
        let later = gate.clone();
        std::thread::spawn(move || {
            std::thread::sleep(LATENCY);
            later.open();
        });
        Answer::anthropic(reply).gated(&gate)
    });
    let began = Instant::now();
    let running = program.spawn(&["run", "--trust", REQUEST]);
    let id = running.id();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watching = std::thread::spawn(move || {
        let (mut most, mut cpu) = (0, Duration::ZERO);
        while stopped.recv_timeout(Duration::from_millis(50)).is_err() {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
            most = line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0).max(most);
            cpu = cpu_time(id).unwrap_or_default().max(cpu);
        }
        (most * 1_024, cpu)
    });
    let ended = running.wait();
    let took = began.elapsed();
    let _ = stop.send(());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!((1..=workers).all(|n| program.project().join(format!("part{n}.txt")).exists()), "all of it is written");
    let (memory, cpu) = watching.join().expect("watches");
    SubtaskCost { took, memory, cpu }
}

/// The processor time of a process so far.
fn cpu_time(id: u32) -> Option<Duration> {
    // Linux counts in hundredths of a second.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before the fields may have anything in it, even a bracket.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u32 = fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    Some(TICK * ticks)
}

/// Who calls, and which of its calls it is.
fn called(request: &Request) -> (String, usize) {
    let body = request.body.to_string();
    let of_worker = || body.split("TASK ").nth(1).and_then(|rest| rest.split(':').next());
    let name = if body.contains(REQUEST) { "main" } else { of_worker().unwrap_or("main") };
    let messages = request.body["messages"]
        .as_array()
        .map_or(0, |messages| messages.iter().filter(|message| message["role"] == "assistant").count());
    (name.to_owned(), messages + 1)
}

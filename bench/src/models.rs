//! Small tasks for a real model on this machine: what gets done, and what is only said to be done.
//!
//! Nothing here is scripted, so it is slow and runs only by name. A server that speaks Chat Completions must be up (llama.cpp,
//! Ollama, vLLM, LM Studio). Other programs may talk to their makers, so they take part only where there is no network but
//! loopback; in that case the server has to be started in the same network namespace. `mini` (mini-swe-agent) has no sandbox and takes
//! part only where the root of the file system is read-only, with `/tmp` as its own file system:
//!
//! ```sh
//! TRIMTAB_MODEL_SERVER=http://127.0.0.1:8080 TRIMTAB_MODEL_NAME=coder-1.5b target/release/trimtab-bench models
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `TRIMTAB_MODEL_SERVER`, `TRIMTAB_MODEL_NAME` | the server and the model's name there |
//! | `TRIMTAB_MODEL_TASKS` | `open` (the default), `held-out`, `all`, or the name of a task |
//! | `TRIMTAB_MODEL_LOG` | a folder for every request and reply |
//! | `TRIMTAB_MODEL_PROTOCOL` | `answer.protocol` of Trimtab: `native_tools`, `structured_json`, `edit_blocks`; `auto` by default |
//! | `TRIMTAB_MODEL_PATIENCE` | seconds that a task may take; 420 by default |
//! | `TRIMTAB_MODEL_SEED` | a number that shuffles the tasks, so that a run which does not reach all of them has a fair sample |
//! | `TRIMTAB_MODEL_COUNT` | so many tasks at most |
//! | `TRIMTAB_MODEL_MINUTES` | no task begins after so many minutes; the table then says how many were run |
//! | `TRIMTAB_PEERS` | a folder with `aider`, `mini`, `opencode` |
//! | `TRIMTAB_MODEL_PROGRAMS` | `trimtab`, `aider`, `mini`, `opencode`: only these, separated by commas |

mod run;
mod tap;
mod tasks;

use std::path::Path;
use std::time::{Duration, Instant};

use run::{Contender, Ending, contenders, run};
use tap::Tap;
use tasks::{TaskSet, chosen};

/// What one program came to over all tasks.
#[derive(Default)]
struct Score {
    solved: usize,
    wrong: usize,
    false_claims: usize,
    unfinished: usize,
    calls: u64,
    tokens: u64,
    seconds: f64,
}

/// Runs every chosen task with every program, one after the other, and prints a line each and a table at the end.
pub fn measure(ours: &Path) -> Result<(), String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = variable("TRIMTAB_MODEL_SERVER").ok_or("TRIMTAB_MODEL_SERVER is not set.")?;
    let model = variable("TRIMTAB_MODEL_NAME").ok_or("TRIMTAB_MODEL_NAME is not set.")?;
    let set = TaskSet::from(variable("TRIMTAB_MODEL_TASKS").unwrap_or_else(|| "open".to_owned()).as_str());
    let tap = Tap::start(&server, variable("TRIMTAB_MODEL_LOG").map(Into::into))?;
    let programs = contenders(ours);
    let number = |name: &str| variable(name).and_then(|number| number.parse::<u64>().ok());
    let mut tasks = chosen(&set, number("TRIMTAB_MODEL_SEED"));
    if tasks.is_empty() {
        return Err("TRIMTAB_MODEL_TASKS names no task.".to_owned());
    }
    tasks.truncate(number("TRIMTAB_MODEL_COUNT").and_then(|count| count.try_into().ok()).unwrap_or(usize::MAX));
    let limit = number("TRIMTAB_MODEL_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    let (began, mut ran) = (Instant::now(), 0);
    let mut scores: Vec<(&Contender, Score)> = programs.iter().map(|program| (program, Score::default())).collect();
    for task in &tasks {
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            println!("The time is up: {ran} of {} tasks were run.", tasks.len());
            break;
        }
        ran += 1;
        for (program, score) in &mut scores {
            let before = tap.counted();
            tap.name(&format!("{}-{}", task.name, program.name));
            let ended = run(program, task, tap.url(), &model)?;
            let (calls, tokens) = tap.since(before);
            score.calls += calls;
            score.tokens += tokens;
            score.seconds += ended.seconds;
            let word = match ended.ending {
                Ending::Solved => {
                    score.solved += 1;
                    "solved"
                }
                Ending::Wrong => {
                    score.wrong += 1;
                    "done wrong"
                }
                Ending::FalseClaim => {
                    score.false_claims += 1;
                    "CLAIMED"
                }
                Ending::Unfinished => {
                    score.unfinished += 1;
                    "not done"
                }
            };
            println!(
                "{:<24} {:<10} {word:<10} exit {:<4} {calls:>3} calls {tokens:>7} tokens {:>6.1} s",
                task.name,
                program.name,
                ended.code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
                ended.seconds
            );
        }
    }
    println!(
        "\n{:<10} {:>8} {:>11} {:>9} {:>9} {:>7} {:>9} {:>8}",
        "", "solved", "done wrong", "claimed", "not done", "calls", "tokens", "seconds"
    );
    for (program, score) in &scores {
        println!(
            "{:<10} {:>5}/{:<2} {:>11} {:>9} {:>9} {:>7} {:>9} {:>8.0}",
            program.name,
            score.solved,
            ran,
            score.wrong,
            score.false_claims,
            score.unfinished,
            score.calls,
            score.tokens,
            score.seconds
        );
    }
    Ok(())
}

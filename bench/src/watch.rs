//! What it costs that the files are noted before and after a command: the first command in a folder, the
//! second one, and the same without.

use std::path::Path;
use std::time::Duration;

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_vocab::Time;

use crate::table::{Table, median};

/// How often each folder is measured. Making it takes longer than the measurement.
const TIMES: usize = 3;
/// How long the files are left alone first: stamps are believed after two seconds.
const REST: Duration = Duration::from_millis(2_500);

pub fn measure(binary: &Path, table: &mut Table) {
    for files in [1_000, 10_000, 50_000] {
        let mut bare: Vec<Duration> = Vec::new();
        let (mut first, mut second, mut writing) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TIMES {
            let [off, one, two, three] = commands(binary, files);
            bare.push(off);
            first.push(one);
            second.push(two);
            writing.push(three);
        }
        bare.sort();
        let beside = Some(("unwatched", median(&bare)));
        table.durations(&format!("first command, {files} files"), first, beside);
        table.durations(&format!("second command, {files} files"), second, beside);
        table.durations(&format!("command that changes 100 of {files} files"), writing, beside);
    }
}

/// From the start of a command to its end as the program tells them: unwatched, the first one that is watched,
/// the second, and one that changes a hundred files.
fn commands(binary: &Path, files: usize) -> [Duration; 4] {
    let mut program = Program::new(binary);
    for n in 0..files {
        let folder = program.project().join(format!("src/{}", n % 100));
        std::fs::create_dir_all(&folder).expect("a folder");
        let line = format!("fn number_{n}() -> usize {{ {n} }}\n");
        std::fs::write(folder.join(format!("file_{n}.rs")), line.repeat(1 + n % 40)).expect("a file");
    }
    std::thread::sleep(REST);
    program.set("TRIMTAB_HISTORY_SNAPSHOT_FILES", "0");
    let [bare] = run(&program, ["sh -c true"]);
    program.set("TRIMTAB_HISTORY_SNAPSHOT_FILES", "100000");
    let [first, second, writing] = run(&program, ["sh -c true", "sh -c :", "touch new && sed -i s/fn/FN/ src/7/*.rs"]);
    [bare, first, second, writing]
}

fn run<const N: usize>(program: &Program, commands: [&str; N]) -> [Duration; N] {
    for command in commands {
        let input = serde_json::json!({"command": command, "timeout_s": 600}).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", "run_command", [input])));
    }
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "Work"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let times = |kind: &str| -> Vec<i64> {
        let of_kind = events.iter().filter(|event| event["type"] == kind);
        let time = |event: &serde_json::Value| serde_json::from_value::<Time>(event["time"].clone()).expect("a time");
        of_kind.map(|event| time(event).millis()).collect()
    };
    let (started, finished) = (times("command.started"), times("command.finished"));
    std::array::from_fn(|n| Duration::from_millis(u64::try_from(finished[n] - started[n]).unwrap_or(0)))
}

//! What it costs that the files are noted before and after a command: the first command in a folder, the
//! second one, and the same without.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_vocab::Time;

use crate::table::{Table, median};

/// How often each folder is measured. Making it takes longer than the measurement.
const TIMES: usize = 3;
/// Commands of one run whose start is measured. The first command of it is not, because it stores all files.
const STARTS: usize = 11;
/// Prints when it was started.
const NOW: &str = "sh -c 'date +%s%N'";
/// How many files of a folder are together.
const TOGETHER: usize = 20;
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

/// A folder with so many files that have been left alone for a while.
pub fn files(count: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for n in 0..count {
        let place = folder.path().join(format!("src/part{}", n / TOGETHER));
        if n % TOGETHER == 0 {
            std::fs::create_dir_all(&place).expect("a folder");
        }
        std::fs::write(place.join(format!("file{n}.rs")), "fn main() {}\n").expect("a file");
    }
    std::thread::sleep(REST);
    folder
}

/// From the last byte of a reply to the start of the command that it asks for, which may write in the folder. With
/// `edits`, the model writes a file before each.
pub fn start_among(binary: &Path, folder: &tempfile::TempDir, edits: bool) -> Duration {
    let mut program = Program::new(binary);
    program.set("TRIMTAB_HISTORY_SNAPSHOT_FILES", "200000");
    let asks = |tool: &str, input: serde_json::Value| {
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", tool, [input.to_string()])));
    };
    for n in 0..=STARTS {
        if edits {
            asks("write_file", serde_json::json!({"path": "edited.txt", "content": format!("version {n}\n")}));
        }
        asks("run_command", serde_json::json!({"command": NOW, "timeout_s": 600}));
    }
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    let (clock, now) = (SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970"), Instant::now());
    let words = ["run", "--json", "--trust", "--approve", "auto", "--max-steps", "100", "Work"];
    let output = program.command(binary, &words).current_dir(folder.path()).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let _ = std::fs::remove_file(folder.path().join("edited.txt"));
    let started: Vec<Duration> =
        program.provider.requests().iter().filter_map(|request| printed(&request.raw)).collect();
    let each = if edits { 2 } else { 1 };
    let replies = program.provider.times().into_iter().skip(each - 1).step_by(each);
    let times = replies.zip(started).skip(1).filter_map(|((_, answered, _), started)| {
        Some((started - clock).saturating_sub(answered?.saturating_duration_since(now)))
    });
    let mut times: Vec<Duration> = times.collect();
    assert!(times.len() >= STARTS, "each command has printed its start");
    times.sort();
    median(&times)
}

/// The last time that a command has printed, if the last thing in a request is the result of one.
fn printed(request: &[u8]) -> Option<Duration> {
    let text = String::from_utf8_lossy(request);
    let last = &text[text.rfind("tool_result")?..];
    let digits = last.split(|c: char| !c.is_ascii_digit()).find(|part| part.len() == 19)?;
    Some(Duration::from_nanos(digits.parse().ok()?))
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

//! What a fence costs: a command that does nothing, started plainly, supervised, and behind each fence, in folders of
//! different sizes. All of them take turns in one run. Between two commands there is a pause, as there is while a model
//! answers, in which the supervisor of the next one starts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trimtab_vocab::{Approval, Approved, CallId, CommandClass, CommandPlan, CommandRun, PersonDecision, Sandbox};
use trimtab_world::sandbox::ReadySupervisor;
use trimtab_world::sandbox::run::{SandboxSetup, run};

use crate::ROUNDS;
use crate::table::{Table, median};

/// Each with whether its supervisor was started ahead, which that of the first command of a session is not.
const KINDS: [(&str, Sandbox, Option<CommandClass>, bool); 6] = [
    ("supervised, no fence", Sandbox::Off, None, false),
    ("first, read fence", Sandbox::Workspace, Some(CommandClass::Read), false),
    ("first, check fence", Sandbox::Workspace, Some(CommandClass::Check), false),
    ("approved, workspace sandbox", Sandbox::Workspace, None, true),
    ("automatic, read fence", Sandbox::Workspace, Some(CommandClass::Read), true),
    ("automatic, check fence", Sandbox::Workspace, Some(CommandClass::Check), true),
];

/// Less than any model takes from one command to the next.
const PAUSE: Duration = Duration::from_millis(25);

/// Files of the projects.
const SIZES: [(&str, usize); 3] = [("20 files", 20), ("500 files", 500), ("20,000 files", 20_000)];

/// How many files of a project are in one folder.
const TOGETHER: usize = 10;

pub fn measure(binary: &Path, table: &mut Table) {
    let folders = SIZES.map(|(_, files)| {
        let folder = tempfile::tempdir().expect("a folder");
        project(folder.path(), files);
        folder
    });
    let mut setup = SandboxSetup::new(std::env::vars_os());
    setup.launcher = binary.to_owned();
    let ready = SandboxSetup { ready: Some(ReadySupervisor::default()), ..setup.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut plain = Vec::new();
    let mut fenced: [[Vec<Duration>; KINDS.len()]; SIZES.len()] = Default::default();
    for _ in 0..ROUNDS * 3 {
        plain.push(plainly());
        for (folder, times) in folders.iter().zip(&mut fenced) {
            for ((_, sandbox, class, is_ready), times) in KINDS.iter().zip(times) {
                let plan = plan(folder.path(), *sandbox, *class);
                let setup = if *is_ready { &ready } else { &setup };
                setup.prepare();
                std::thread::sleep(PAUSE);
                let (_, overtime) = tokio::sync::mpsc::channel(1);
                let began = Instant::now();
                let outcome = runtime.block_on(run(&plan, setup, |_| {}, std::future::pending(), overtime));
                times.push(began.elapsed());
                assert_eq!(outcome.exit_code, Some(0), "{outcome:?}");
            }
        }
    }
    plain.sort();
    let usual = median(&plain);
    table.durations("command: sh -c true", plain, None);
    for ((size, _), times) in SIZES.iter().zip(fenced) {
        for ((name, ..), mut times) in KINDS.iter().zip(times) {
            times.sort();
            let more = median(&times).as_secs_f64() - usual.as_secs_f64();
            let what = format!("{size}: {name} ({:+.2} ms)", more * 1_000.0);
            table.durations(&what, times, Some(("sh -c true", usual)));
        }
    }
}

fn plainly() -> Duration {
    let began = Instant::now();
    Command::new("sh").args(["-c", "true"]).stdin(Stdio::null()).output().expect("a shell");
    began.elapsed()
}

/// A project with what projects have: a repository, instructions, settings of an editor, a secret.
fn project(folder: &Path, files: usize) {
    let git = Command::new("git").args(["init", "-q"]).arg(folder).status();
    assert!(git.is_ok_and(|git| git.success()), "there is git");
    for n in 0..files {
        let place = folder.join(format!("src/part{}", n / TOGETHER));
        std::fs::create_dir_all(&place).expect("a folder");
        std::fs::write(place.join(format!("file{n}.rs")), "fn main() {}\n").expect("a file");
    }
    for path in [".github/workflows/ci.yml", ".vscode/settings.json", "AGENTS.md", ".env"] {
        std::fs::create_dir_all(folder.join(path).parent().expect("a parent")).expect("a folder");
        std::fs::write(folder.join(path), "x\n").expect("a file");
    }
}

fn plan(folder: &Path, sandbox: Sandbox, automatic: Option<CommandClass>) -> CommandPlan {
    let folder = folder.to_string_lossy().into_owned();
    let run = CommandRun {
        call: CallId::nth(1),
        command: "true".into(),
        argv: ["sh", "-c", "true"].map(str::to_owned).to_vec(),
        cwd: folder.clone(),
        timeout_s: 60,
        attended: false,
        archive: false,
        plain_git: false,
        git_folders: Vec::new(),
        terminal: false,
        background: false,
        sandbox,
        automatic,
        writes_repository: false,
        hosts: Vec::new(),
        folder,
    };
    CommandPlan::unfenced(Approved::witness(run, Approval::Answer), PersonDecision::witness())
}

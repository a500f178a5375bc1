//! What a fence costs: a command that does nothing, started plainly, supervised, and behind each fence. All of them
//! take turns in one run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trimtab_vocab::{Approval, Approved, CallId, CommandClass, CommandPlan, CommandRun, PersonDecision, Sandbox};
use trimtab_world::sandbox::run::{SandboxSetup, run};

use crate::ROUNDS;
use crate::table::{Table, median};

const KINDS: [(&str, Sandbox, Option<CommandClass>, usize); 6] = [
    ("supervised, no fence", Sandbox::Off, None, SMALL),
    ("approved, workspace sandbox", Sandbox::Workspace, None, SMALL),
    ("automatic, read fence", Sandbox::Workspace, Some(CommandClass::Read), SMALL),
    ("automatic, check fence", Sandbox::Workspace, Some(CommandClass::Check), SMALL),
    ("read fence, 20,000 files", Sandbox::Workspace, Some(CommandClass::Read), LARGE),
    ("check fence, 20,000 files", Sandbox::Workspace, Some(CommandClass::Check), LARGE),
];

/// Files of a project.
const SMALL: usize = 200;
const LARGE: usize = 20_000;

pub fn measure(binary: &Path, table: &mut Table) {
    let [small, large] = [SMALL, LARGE].map(|files| {
        let folder = tempfile::tempdir().expect("a folder");
        project(folder.path(), files);
        folder
    });
    let mut setup = SandboxSetup::new(std::env::vars_os());
    setup.launcher = binary.to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut plain = Vec::new();
    let mut fenced: [Vec<Duration>; KINDS.len()] = Default::default();
    for _ in 0..ROUNDS * 3 {
        plain.push(plainly());
        for ((_, sandbox, class, files), times) in KINDS.iter().zip(&mut fenced) {
            let folder = if *files == LARGE { &large } else { &small };
            let plan = plan(folder.path(), *sandbox, *class);
            let (_, overtime) = tokio::sync::mpsc::channel(1);
            let began = Instant::now();
            let outcome = runtime.block_on(run(&plan, &setup, |_| {}, std::future::pending(), overtime));
            times.push(began.elapsed());
            assert_eq!(outcome.exit_code, Some(0), "{outcome:?}");
        }
    }
    plain.sort();
    fenced.iter_mut().for_each(|times| times.sort());
    let supervised = median(&fenced[0]);
    table.durations("command: sh -c true", plain.clone(), None);
    for ((name, ..), times) in KINDS.iter().zip(fenced) {
        let more = median(&times).as_secs_f64() - supervised.as_secs_f64();
        let what = format!("command: {name} ({:+.2} ms)", more * 1_000.0);
        table.durations(&what, times, Some(("supervised", supervised)));
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
        let place = folder.join(format!("src/part{}", n % (files / 10)));
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
        sandbox,
        automatic,
        writes_repository: false,
        folder,
    };
    CommandPlan::unfenced(Approved::witness(run, Approval::Answer), PersonDecision::witness())
}

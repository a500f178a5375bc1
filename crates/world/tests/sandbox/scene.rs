//! A folder, and commands in it.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use trimtab_vocab::{
    Approval, Approved, CallId, CommandClass, CommandPlan, CommandRun, Overtime, PersonDecision, Sandbox,
};
use trimtab_world::sandbox::{CommandOutcome, CommandReport, ReadySupervisor, SandboxSetup, run};

/// The argument that makes the test a program that runs a command and waits.
pub(crate) const HOST: &str = "__host";
/// One more argument for it: the command has a terminal.
pub(crate) const TERMINAL: &str = "__terminal";
/// The same with a time that is up after a second, and somebody there.
pub(crate) const HOST_ATTENDED: &str = "__host_attended";

pub(crate) struct Scene {
    pub(crate) base: tempfile::TempDir,
    pub(crate) setup: SandboxSetup,
    pub(crate) timeout: u64,
    pub(crate) attended: bool,
    pub(crate) plain_git: bool,
    pub(crate) terminal: bool,
    pub(crate) automatic: Option<CommandClass>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for name in ["in", "home/.ssh", "home/.aws", "data"] {
            fs::create_dir_all(base.path().join(name)).unwrap();
        }
        fs::write(base.path().join("home/.ssh/id"), "secret").unwrap();
        fs::write(base.path().join("home/.netrc"), "secret").unwrap();
        fs::write(base.path().join("home/.profile"), "plain").unwrap();
        fs::write(base.path().join("data/db"), "secret").unwrap();
        let home = base.path().join("home").into_os_string();
        let environment = std::env::vars_os().filter(|(name, _)| name != "HOME").chain([("HOME".into(), home)]);
        let mut setup = SandboxSetup::new(environment);
        setup.hidden.push(base.path().join("data"));
        // Every further command of a scene has a supervisor that was started ahead.
        setup.ready = Some(ReadySupervisor::default());
        Self { base, setup, timeout: 60, attended: false, plain_git: false, terminal: false, automatic: None }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    pub(crate) fn plan(&self, argv: &[&str], sandbox: Sandbox) -> CommandPlan {
        let folder = self.at("in").to_str().unwrap().to_owned();
        let run = CommandRun {
            call: CallId::nth(1),
            command: argv.join(" "),
            argv: argv.iter().map(|&part| part.to_owned()).collect(),
            cwd: folder.clone(),
            timeout_s: self.timeout,
            attended: self.attended,
            archive: true,
            plain_git: self.plain_git,
            git_folders: Vec::new(),
            background: false,
            terminal: self.terminal,
            sandbox,
            automatic: self.automatic,
            writes_repository: false,
            folder,
            hosts: Vec::new(),
        };
        CommandPlan::unfenced(Approved::witness(run, Approval::Answer), PersonDecision::witness())
    }

    pub(crate) fn run(&self, argv: &[&str], sandbox: Sandbox) -> CommandOutcome {
        self.run_until(argv, sandbox, |_| {}, std::future::pending())
    }

    pub(crate) fn run_until(
        &self,
        argv: &[&str],
        sandbox: Sandbox,
        mut output: impl FnMut(&[u8]),
        stop: impl Future<Output = ()>,
    ) -> CommandOutcome {
        let plan = self.plan(argv, sandbox);
        let tell = |told: CommandReport<'_>| {
            if let CommandReport::Output(bytes) = told {
                output(bytes);
            }
        };
        wait(run(&plan, &self.setup, tell, stop, nobody()))
    }

    pub(crate) fn sh(&self, script: &str, sandbox: Sandbox) -> CommandOutcome {
        self.run(&["sh", "-c", script], sandbox)
    }
}

/// Nobody says what becomes of a command whose time is up.
pub(crate) fn nobody() -> mpsc::Receiver<Overtime> {
    mpsc::channel(1).1
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn text(outcome: &CommandOutcome) -> String {
    String::from_utf8_lossy(&outcome.output.bytes()).into_owned()
}

/// A number of seconds to sleep that no other process on the machine sleeps.
pub(crate) fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", 100_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that have `part` as an argument, zombies excepted: those have none.
pub(crate) fn processes_with(part: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if line.split(|byte| *byte == 0).any(|argument| argument == part.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

/// Waits until there are `count` of them.
pub(crate) fn wait_for_processes(part: &str, count: usize) -> Duration {
    let start = Instant::now();
    while processes_with(part).len() != count {
        assert!(start.elapsed() < Duration::from_secs(60), "{part}: {:?} are there", processes_with(part));
        std::thread::sleep(Duration::from_millis(1));
    }
    start.elapsed()
}

/// A program that runs a shell script until it is killed.
pub(crate) fn host() -> ExitCode {
    let script = std::env::args().nth(2).unwrap();
    let terminal = std::env::args().nth(3).is_some_and(|argument| argument == TERMINAL);
    let outcome = Scene { terminal, ..Scene::new() }.sh(&script, Sandbox::Workspace);
    println!("{}", outcome.not_started.unwrap_or_default());
    ExitCode::SUCCESS
}

/// The same, with a time that is up after a second. It says so.
pub(crate) fn attended_host() -> ExitCode {
    let script = std::env::args().nth(2).unwrap();
    let scene = Scene { timeout: 1, attended: true, ..Scene::new() };
    let plan = scene.plan(&["sh", "-c", &script], Sandbox::Workspace);
    let tell = |told: CommandReport<'_>| {
        if told == CommandReport::Overdue {
            println!("overdue");
        }
    };
    wait(run(&plan, &scene.setup, tell, std::future::pending(), nobody()));
    ExitCode::SUCCESS
}

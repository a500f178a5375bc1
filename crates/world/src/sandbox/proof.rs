//! Proves that the sandbox works by trying to break it. This program runs inside it as the command, in its own
//! folder, and tries what a hostile command would try. The result is checked from outside.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use trimtab_vocab::{CommandClass, Sandbox};

use super::run::{SandboxSetup, carry_out, this_program};
use super::temp_folder::remove;
use super::wire::{EmptiedHomes, RunOrder};

/// The second argument that makes the process try to break out.
pub(super) const BREAK: &str = "break";

/// The second argument that makes it wait and write, after the end of the command.
pub(super) const OUTLIVE: &str = "outlive";

/// The canary that must not be found. Git takes it for a comment, so it can be in settings.
const CANARY: &str = "# canary-7f3a";

/// How long the process waits that is to end before. Longer than any process takes to end on its own.
const LATER: Duration = Duration::from_millis(600);

/// Whether a fence holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// What it keeps commands from doing.
    pub what: String,
    /// How it was broken, or why it is not there.
    pub broken: Option<String>,
}

/// The attempts, each with the restriction that it proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ProofAttempt {
    WriteOutside,
    WriteFolder,
    WriteControl,
    ReadSecret,
    ReadHome,
    ReadVariable,
    Connect,
    SeeProcesses,
    Outlive,
}

const ATTEMPTS: [(ProofAttempt, &str); 9] = [
    (ProofAttempt::WriteOutside, "write outside the folder"),
    (ProofAttempt::WriteFolder, "write in the folder"),
    (ProofAttempt::WriteControl, "write control files"),
    (ProofAttempt::ReadSecret, "read secret files in the folder"),
    (ProofAttempt::ReadHome, "read the home folder"),
    (ProofAttempt::ReadVariable, "read variables with keys"),
    (ProofAttempt::Connect, "open a network connection"),
    (ProofAttempt::SeeProcesses, "see other processes"),
    (ProofAttempt::Outlive, "leave processes running"),
];

/// Where things are.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ProofFolder {
    base: PathBuf,
    address: SocketAddr,
}

impl ProofFolder {
    fn folder(&self) -> PathBuf {
        self.base.join("folder")
    }

    #[expect(clippy::disallowed_methods, reason = "these are files of its own, made to be attacked")]
    fn build(&self) -> std::io::Result<()> {
        for path in ["folder/.git/hooks", "folder/.git/objects", "folder/.git/refs", "home", "outside"] {
            std::fs::create_dir_all(self.base.join(path))?;
        }
        for path in ["folder/.env", "home/planted", "folder/.git/config", "folder/AGENTS.md", "folder/.git/HEAD"] {
            std::fs::write(self.base.join(path), CANARY)?;
        }
        Ok(())
    }

    /// What the attempts have left behind.
    fn seen(&self, attempt: ProofAttempt) -> bool {
        let changed = |path: &str| std::fs::read_to_string(self.base.join(path)).ok().as_deref() != Some(CANARY);
        let exists = |path: &str| self.base.join(path).exists();
        match attempt {
            ProofAttempt::WriteOutside => exists("outside/new"),
            ProofAttempt::WriteFolder => exists("folder/new"),
            ProofAttempt::WriteControl => {
                changed("folder/.git/config") || changed("folder/AGENTS.md") || exists("folder/.git/commondir")
            }
            ProofAttempt::Outlive => exists("folder/late") || exists("outside/late"),
            _ => false,
        }
    }
}

/// Tries to break every fence of both classes.
pub async fn prove(setup: &SandboxSetup) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for (class, name) in [(CommandClass::Read, "read-only commands"), (CommandClass::Check, "builds and tests")] {
        let tried = try_class(setup, class).await;
        for (attempt, what) in ATTEMPTS {
            if class == CommandClass::Check && attempt == ProofAttempt::WriteFolder {
                continue;
            }
            let broken = match &tried {
                Err(why) => Some(why.clone()),
                Ok(broken) => broken.contains(&attempt).then(|| "an attempt to break the fence succeeded".to_owned()),
            };
            proofs.push(Proof { what: format!("{name} cannot {what}"), broken });
        }
    }
    proofs
}

/// What of all attempts succeeded, or why none was made.
async fn try_class(setup: &SandboxSetup, class: CommandClass) -> Result<Vec<ProofAttempt>, String> {
    let failed = |error: std::io::Error| format!("it cannot be tried out: {error}");
    let number = getrandom::u64().map_err(|error| format!("it cannot be tried out: {error}"))?;
    let base = std::env::temp_dir().canonicalize().map_err(failed)?.join(format!("trimtab-doctor-{number:016x}"));
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
    let stage = ProofFolder { base, address: listener.local_addr().map_err(failed)? };
    let tried = match stage.build() {
        Ok(()) => attempt_all(setup, class, &stage).await,
        Err(error) => Err(failed(error)),
    };
    remove(&stage.base);
    tried
}

async fn attempt_all(
    setup: &SandboxSetup,
    class: CommandClass,
    stage: &ProofFolder,
) -> Result<Vec<ProofAttempt>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("it cannot be tried out: {error}");
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let told = serde_json::to_string(stage).map_err(|error| failed(&error))?;
    let name = program.to_string_lossy().into_owned();
    let mut kept: Vec<PathBuf> = program.parent().map(Path::to_owned).into_iter().collect();
    kept.extend(super::environment::tools(&setup.environment));
    let order = RunOrder {
        argv: vec![name, super::SUPERVISE.into(), BREAK.into(), told],
        cwd: stage.folder(),
        folder: stage.folder(),
        timeout_ms: 10_000,
        attended: false,
        sandbox: Sandbox::Workspace,
        automatic: Some(class),
        home: EmptiedHomes { homes: vec![stage.base.join("home")], kept },
        hidden: setup.hidden.clone(),
        ..RunOrder::default()
    };
    let mut setup = setup.clone();
    setup.environment.extend([("SLACK_WEBHOOK_URL", CANARY), ("MYSQL_PWD", CANARY)].map(|(n, v)| (n.into(), v.into())));
    let (_, overtime) = mpsc::channel(1);
    let outcome = carry_out(order, &setup, |_| {}, std::future::pending(), overtime).await;
    if let Some(why) = outcome.blocked.or(outcome.not_started) {
        return Err(why);
    }
    tokio::time::sleep(LATER + Duration::from_millis(100)).await;
    let said = String::from_utf8_lossy(&outcome.output.bytes()).into_owned();
    let said: Vec<ProofAttempt> = serde_json::from_str(said.trim())
        .map_err(|_| format!("the attempts were not made: {}", said.chars().take(200).collect::<String>()))?;
    Ok(ATTEMPTS.iter().map(|(one, _)| *one).filter(|one| said.contains(one) || stage.seen(*one)).collect())
}

/// Behind the fences: tries everything, and says what succeeded.
pub(super) fn break_out() -> ExitCode {
    let stage = std::env::args().nth(3).and_then(|told| serde_json::from_str::<ProofFolder>(&told).ok());
    let Some(stage) = stage else { return ExitCode::FAILURE };
    let done: Vec<ProofAttempt> = ATTEMPTS.iter().map(|(one, _)| *one).filter(|one| succeeds(*one, &stage)).collect();
    println!("{}", serde_json::to_string(&done).unwrap_or_default());
    ExitCode::SUCCESS
}

fn succeeds(attempt: ProofAttempt, stage: &ProofFolder) -> bool {
    let finds = |path: &str| {
        let mut text = String::new();
        let file = std::fs::File::open(stage.base.join(path));
        file.and_then(|mut file| file.read_to_string(&mut text)).is_ok() && text.contains(CANARY)
    };
    #[expect(clippy::disallowed_methods, reason = "it is to be refused; where it is not, the files are its own")]
    let writes = |path: &str| std::fs::write(stage.base.join(path), "broken").is_ok();
    match attempt {
        ProofAttempt::WriteOutside => writes("outside/new"),
        ProofAttempt::WriteFolder => writes("folder/new"),
        // What appears there is undone after the end, so it counts only if it is seen afterwards.
        ProofAttempt::WriteControl => {
            let _ = writes("folder/.git/commondir");
            writes("folder/.git/config") || writes("folder/.git/hooks/pre-commit") || writes("folder/AGENTS.md")
        }
        ProofAttempt::ReadSecret => finds("folder/.env"),
        ProofAttempt::ReadHome => finds("home/planted"),
        ProofAttempt::ReadVariable => std::env::vars_os().any(|(_, value)| value == CANARY),
        ProofAttempt::Connect => TcpStream::connect_timeout(&stage.address, Duration::from_millis(300)).is_ok(),
        ProofAttempt::SeeProcesses => !has_own_processes(),
        ProofAttempt::Outlive => {
            let _ = this_program().args([super::SUPERVISE, OUTLIVE]).arg(&stage.base).spawn();
            false
        }
    }
}

/// Whether the first process that can be seen is the fence.
fn has_own_processes() -> bool {
    let first = std::fs::read("/proc/1/cmdline").unwrap_or_default();
    first.split(|byte| *byte == 0).any(|word| word == super::SUPERVISE.as_bytes())
}

/// Writes something, if it still can after the end of the command.
#[expect(clippy::disallowed_methods, reason = "the folder was made for it")]
pub(super) fn outlive() -> ExitCode {
    let _ = rustix::process::setsid();
    let Some(base) = std::env::args_os().nth(3).map(PathBuf::from) else { return ExitCode::FAILURE };
    std::thread::sleep(LATER);
    let _ = std::fs::write(base.join("folder/late"), "");
    ExitCode::SUCCESS
}

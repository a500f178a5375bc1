//! One task, done by one program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::tasks::Task;
use crate::peers::has_network;

/// How long one task may take, in seconds.
const PATIENCE: u64 = 420;

/// A program that takes one request to its end without a terminal.
pub struct Contender {
    pub name: &'static str,
    binary: PathBuf,
    prepare: fn(&Path, &str, &str) -> std::io::Result<()>,
    words: fn(&Task, &str) -> Vec<String>,
    environment: fn(&Path, &str) -> Vec<(&'static str, String)>,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The check holds.
    Solved,
    /// Something was done and reported as done, and the check does not hold.
    Wrong,
    /// Reported as done (exit code 0), although nothing was done.
    FalseClaim,
    /// The program itself says that it was not done.
    Unfinished,
}

pub struct Ended {
    pub ending: Ending,
    pub code: Option<i32>,
    pub seconds: f64,
}

/// The programs that are here.
pub fn contenders(ours: &Path) -> Vec<Contender> {
    let mut folder = std::env::var_os("TRIMTAB_PEERS").map(PathBuf::from);
    if folder.is_some() && has_network() {
        eprintln!("Other programs are left out: there is a network here that they would use.");
        folder = None;
    }
    let installed = |name: &str| folder.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
    let mut contenders = vec![Contender {
        name: "trimtab",
        binary: ours.to_owned(),
        prepare: |home, url, model| {
            std::fs::create_dir_all(home.join("trimtab"))?;
            let protocol = std::env::var("TRIMTAB_MODEL_PROTOCOL").unwrap_or_else(|_| "auto".to_owned());
            let settings = format!(
                "model = \"llamacpp/{model}\"\n[answer]\nprotocol = \"{protocol}\"\n[providers.llamacpp]\nbase_url = \"{url}/v1\"\n"
            );
            std::fs::write(home.join("trimtab/config.toml"), settings)
        },
        words: |task, _| ["run", "--trust", "--approve", "auto", task.prompt].map(str::to_owned).to_vec(),
        environment: |home, _| vec![("TRIMTAB_HOME", home.join("trimtab").display().to_string())],
    }];
    contenders.extend(installed("aider").map(|binary| Contender {
        name: "aider",
        binary,
        prepare: |_, _, _| Ok(()),
        words: |task, model| {
            let words = ["--no-git", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-analytics"];
            let more = ["--edit-format", "whole", "--model", &format!("openai/{model}"), "--message", task.prompt];
            words.iter().chain(&more).chain(task.named).map(|word| (*word).to_owned()).collect()
        },
        environment: |_, url| vec![("OPENAI_API_BASE", format!("{url}/v1")), ("OPENAI_API_KEY", "key".into())],
    }));
    contenders.extend(installed("mini").filter(|_| is_root_read_only()).map(mini_swe_agent));
    contenders.extend(installed("opencode").map(|binary| Contender {
        name: "opencode",
        binary,
        prepare: |home, url, model| {
            std::fs::create_dir_all(home.join(".config/opencode"))?;
            let settings = serde_json::json!({
                "provider": {"local": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": format!("{url}/v1"), "apiKey": "key"},
                    "models": {model: {"name": model}},
                }},
                "permission": {"edit": "allow", "bash": "allow"},
            });
            std::fs::write(home.join(".config/opencode/opencode.json"), settings.to_string())
        },
        words: |task, model| ["run", "--model", &format!("local/{model}"), task.prompt].map(str::to_owned).to_vec(),
        environment: |_, _| Vec::new(),
    }));
    if let Ok(only) = std::env::var("TRIMTAB_MODEL_PROGRAMS") {
        contenders.retain(|contender| only.split(',').any(|name| name == contender.name));
    }
    contenders
}

/// mini-swe-agent: every reply of the model is one command line of a shell, which it runs without asking.
fn mini_swe_agent(binary: PathBuf) -> Contender {
    Contender {
        name: "mini",
        binary,
        prepare: |_, _, _| Ok(()),
        words: |task, model| {
            let form = ["-c", "mini_textbased.yaml", "-c", "agent.step_limit=12", "--yolo", "--exit-immediately"];
            let more = ["--model", &format!("openai/{model}"), "--task", task.prompt];
            form.iter().chain(&more).map(|word| (*word).to_owned()).collect()
        },
        environment: |home, url| {
            vec![
                ("OPENAI_API_BASE", format!("{url}/v1")),
                ("OPENAI_API_KEY", "key".into()),
                ("MSWEA_CONFIGURED", "true".into()),
                ("MSWEA_COST_TRACKING", "ignore_errors".into()),
                ("MSWEA_GLOBAL_CONFIG_DIR", home.display().to_string()),
            ]
        },
    }
}

/// Whether nothing can be written outside of the temporary folders, so that a program without a sandbox can do no harm.
fn is_root_read_only() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = mounts.lines().rev().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        fields.next().filter(|place| *place == "/")?;
        fields.nth(1)
    });
    let is_safe = root.is_some_and(|options| options.split(',').any(|option| option == "ro"));
    if !is_safe {
        eprintln!(
            "mini is left out: it runs what a model writes without a sandbox, and this file system can be written."
        );
    }
    is_safe
}

/// Does the task, and checks what came of it.
pub fn run(program: &Contender, task: &Task, url: &str, model: &str) -> Result<Ended, String> {
    let broken = |error: std::io::Error| format!("{} cannot be run: {error}", program.name);
    let home = tempfile::tempdir().map_err(broken)?;
    let project = tempfile::tempdir().map_err(broken)?;
    for (path, text) in task.files {
        let path = project.path().join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(broken)?;
        }
        std::fs::write(path, text).map_err(broken)?;
    }
    (program.prepare)(home.path(), url, model).map_err(broken)?;
    let said = home.path().join("said.txt");
    let out = std::fs::File::create(&said).map_err(broken)?;
    let mut command = Command::new(&program.binary);
    command.args((program.words)(task, model)).current_dir(project.path()).env_clear();
    command.env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs((program.environment)(home.path(), url));
    command.stdin(Stdio::null()).stderr(out.try_clone().map_err(broken)?).stdout(out);
    let patience = std::env::var("TRIMTAB_MODEL_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    let patience = Duration::from_secs(patience.unwrap_or(PATIENCE));
    let began = Instant::now();
    let mut child = command.spawn().map_err(broken)?;
    let code = loop {
        if let Some(status) = child.try_wait().map_err(broken)? {
            break status.code();
        }
        if began.elapsed() > patience {
            child.kill().map_err(broken)?;
            child.wait().map_err(broken)?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let seconds = began.elapsed().as_secs_f64();
    let words = std::fs::read(&said).map_err(broken)?;
    let words = String::from_utf8_lossy(&words);
    if let Some(folder) = std::env::var_os("TRIMTAB_MODEL_LOG") {
        let name = format!("{}-{}-said.txt", task.name, program.name);
        std::fs::write(Path::new(&folder).join(name), words.as_bytes()).map_err(broken)?;
    }
    let ending = match (task.check)(project.path(), &words) {
        true => Ending::Solved,
        false if code != Some(0) => Ending::Unfinished,
        false if task.wants_change && is_untouched(project.path(), task) => Ending::FalseClaim,
        false => Ending::Wrong,
    };
    Ok(Ended { ending, code, seconds })
}

/// Whether the project is as it was. What Aider keeps there for itself does not count.
fn is_untouched(project: &Path, task: &Task) -> bool {
    let same =
        task.files.iter().all(|(path, text)| std::fs::read_to_string(project.join(path)).is_ok_and(|now| now == *text));
    same && count(project) == task.files.len()
}

fn count(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let entries = entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with(".aider"));
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

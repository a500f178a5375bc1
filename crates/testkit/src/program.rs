//! The real binary in a world of its own: an empty home, an empty project, a fake provider.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::provider::FakeProvider;

/// The key that the program is given; it must never be seen again outside the provider.
pub const KEY: &str = "test-key-8f2a";

/// What a run of the program came to.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// The lines of standard output, as JSON.
    ///
    /// # Panics
    /// When a line is not JSON.
    pub fn events(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).map(without_speed).collect()
    }
}

/// An event without how fast a model answered, which differs from run to run.
fn without_speed(mut event: serde_json::Value) -> serde_json::Value {
    let usage = |fields: &mut serde_json::Value| {
        for name in ["firstTokenMs", "tokensPerS"] {
            fields.as_object_mut().and_then(|fields| fields.shift_remove(name));
        }
    };
    usage(&mut event);
    event.get_mut("usage").into_iter().for_each(usage);
    event
}

/// The program with its home, project and provider.
pub struct Program {
    binary: PathBuf,
    folder: tempfile::TempDir,
    /// Whom it calls.
    pub provider: FakeProvider,
    variables: Vec<(String, String)>,
}

impl Program {
    /// A fresh world for this binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self::within(binary, &std::env::temp_dir())
    }

    /// A fresh world below this folder, which may be on a disk of its own.
    pub fn within(binary: impl Into<PathBuf>, place: &Path) -> Self {
        let folder = tempfile::tempdir_in(place).expect("a folder");
        std::fs::create_dir(folder.path().join("project")).expect("a folder");
        let provider = FakeProvider::start();
        let variables = vec![
            ("ANTHROPIC_API_KEY".to_owned(), KEY.to_owned()),
            ("ANTHROPIC_BASE_URL".to_owned(), provider.url().to_owned()),
            // Whoever runs the tests may run a model too; it is not meant.
            ("OLLAMA_HOST".to_owned(), "http://127.0.0.1:1".to_owned()),
            ("TRIMTAB_PROVIDERS_LLAMACPP_BASE_URL".to_owned(), "http://127.0.0.1:1/v1".to_owned()),
            ("TRIMTAB_PROVIDERS_LMSTUDIO_BASE_URL".to_owned(), "http://127.0.0.1:1/v1".to_owned()),
            ("TRIMTAB_PROVIDERS_VLLM_BASE_URL".to_owned(), "http://127.0.0.1:1/v1".to_owned()),
        ];
        Self { binary: binary.into(), folder, provider, variables }
    }

    /// Sets an environment variable for every run from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Takes one away.
    pub fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// The data folder, which also holds the settings.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder it works in.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Where the binary is.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// A command with this world's environment and nothing else of the outer one.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("TRIMTAB_HOME", self.home());
        // Where lines are counted (`scripts/coverage`), those of the program count too.
        command.envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.spawn(arguments).wait()
    }

    /// Runs the program with this on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(&self.binary, arguments);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        // The program may refuse before it has read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = Running::new(child).wait();
        writer.join().expect("writes");
        ended
    }

    /// Starts the program.
    pub fn spawn(&self, arguments: &[&str]) -> Running {
        Running::new(self.command(&self.binary, arguments).spawn().expect("the program starts"))
    }
}

/// The program while it runs. Ended when dropped.
pub struct Running {
    child: Child,
    stdout: Heard,
    stderr: Heard,
}

impl Running {
    /// Listens to a child whose output is piped.
    pub fn new(mut child: Child) -> Self {
        let stdout = Heard::listen(child.stdout.take().expect("a pipe"));
        let stderr = Heard::listen(child.stderr.take().expect("a pipe"));
        Self { child, stdout, stderr }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        // It may have ended by itself just now.
        let _ = kill_process(pid, signal);
    }

    /// Waits until a line of standard output contains this.
    ///
    /// # Panics
    /// When none does in a minute.
    pub fn wait_for_line(&self, part: &str) {
        self.line_with(part);
    }

    /// The first line of standard output that contains this, once it is there.
    ///
    /// # Panics
    /// When there is none in a minute.
    pub fn line_with(&self, part: &str) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(line) = self.stdout.text().lines().find(|line| line.contains(part)) {
                return line.to_owned();
            }
            assert!(Instant::now() < until, "no line with {part:?} in {}", self.stdout.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What it has written to standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Whether it has ended.
    ///
    /// # Panics
    /// When it is no child any more.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub fn wait(mut self) -> Ended {
        let until = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < until, "the program does not end; it said {}", self.stderr.text());
            std::thread::sleep(Duration::from_millis(1));
        };
        Ended { code: status.code(), stdout: self.stdout.finish(), stderr: self.stderr.finish() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Heard {
    text: Arc<Mutex<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Heard {
    fn listen(pipe: impl std::io::Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&text);
        let thread = std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        Self { text, thread: Some(thread) }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn finish(&mut self) -> String {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("listens");
        }
        self.text()
    }
}

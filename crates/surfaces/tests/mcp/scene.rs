//! The program with a scripted server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::mcp::SERVE;
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

pub(crate) struct Scene {
    pub(crate) program: Program,
}

impl Scene {
    /// A trusted folder, and no server.
    pub(crate) fn new() -> Self {
        let scene = Self::untrusted();
        let trusted = scene.program.run(&["trust"]);
        assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
        scene
    }

    pub(crate) fn untrusted() -> Self {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        std::fs::create_dir_all(program.home().join("server")).expect("a folder");
        Self { program }
    }

    /// Where the server writes.
    pub(crate) fn folder(&self) -> PathBuf {
        self.program.home().join("server")
    }

    /// The lines of a file that the server writes.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The command line of the scripted server.
    pub(crate) fn argv(&self, behaviors: &[&str]) -> Vec<String> {
        let own = std::env::current_exe().expect("a path").display().to_string();
        let words = [own.as_str(), SERVE].into_iter().map(str::to_owned);
        let folder = self.folder().display().to_string();
        words.chain([folder]).chain(behaviors.iter().map(|&behavior| behavior.to_owned())).collect()
    }

    /// Adds the scripted server to the user's settings.
    pub(crate) fn with_server(self, name: &str, behaviors: &[&str]) -> Self {
        let argv = self.argv(behaviors);
        let arguments = ["mcp", "add", name, "--"].into_iter().chain(argv.iter().map(String::as_str));
        let added = self.program.run(&arguments.collect::<Vec<_>>());
        assert_eq!(added.code, Some(0), "{}", added.stderr);
        self
    }

    /// Connects the servers once, so that their tools are known.
    pub(crate) fn listed(self) -> Self {
        let listed = self.program.run(&["mcp", "tools"]);
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        self
    }

    /// Lets the project name the scripted server.
    pub(crate) fn write_project(&self, name: &str, behaviors: &[&str], env: &Value) {
        let argv = self.argv(behaviors);
        let (command, arguments) = argv.split_first().expect("a program");
        let servers = json!({"mcpServers": {name: {"command": command, "args": arguments, "env": env}}});
        std::fs::write(self.program.project().join(".mcp.json"), servers.to_string()).expect("writes");
    }

    /// Lets the model ask for these tools next.
    pub(crate) fn asks(&self, tools: &[(&str, Value)]) {
        let mut reply = Reply::new().text(["I work on it."]);
        for (number, (name, input)) in tools.iter().enumerate() {
            reply = reply.tool(format!("toolu_{number}"), *name, [input.to_string()]);
        }
        self.program.provider.push(Answer::anthropic(reply));
    }

    pub(crate) fn says(&self, words: &str) {
        self.program.provider.push(Answer::anthropic(Reply::new().text([words])));
    }

    /// The names of the tools that the model was offered in a call.
    pub(crate) fn offered(&self, call: usize) -> Vec<String> {
        let requests = self.program.provider.requests();
        let tools = requests[call].body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// What the model was told last.
    pub(crate) fn last_message(&self) -> String {
        let requests = self.program.provider.requests();
        let messages = requests.last().expect("a request").body["messages"].clone();
        messages.as_array().expect("messages").last().expect("one").to_string()
    }

    /// Answers the question that a run ended with.
    pub(crate) fn answer(&self, asked: &Ended, choice: &str) -> Ended {
        self.program.run(&["answer", "--json", &checkpoint(asked), choice])
    }
}

pub(crate) fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

pub(crate) fn checkpoint(ended: &Ended) -> String {
    let events = ended.events();
    let opened = of(&events, "checkpoint.opened");
    opened.last().expect("a question")["checkpoint"].as_str().expect("an id").to_owned()
}

/// Processes whose command line holds these words.
pub(crate) fn processes_with(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(words) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

#[track_caller]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

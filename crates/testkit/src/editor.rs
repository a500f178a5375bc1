//! An editor: a client of the Agent Client Protocol that runs the real binary as editors do, and does what a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Program;

/// A wait that takes longer is a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The messages of the agent, in their order.
#[derive(Default)]
struct Heard {
    messages: Mutex<HeardMessages>,
    changed: Condvar,
}

#[derive(Default)]
struct HeardMessages {
    all: Vec<Value>,
    /// Lines that are not JSON: there must be none.
    broken: Vec<String>,
    is_over: bool,
}

/// An editor with its agent. The agent ends when it is dropped.
pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    heard: Arc<Heard>,
    stderr: Option<std::thread::JoinHandle<String>>,
    last_id: i64,
    /// Requests of the agent that were taken.
    taken: Vec<Value>,
}

impl Editor {
    /// Starts the agent in a program's world.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(program: &Program) -> Self {
        let mut command = program.command(program.binary(), &["acp"]);
        command.stdin(Stdio::piped());
        Self::over(command.spawn().expect("the program starts"))
    }

    /// Talks to an agent whose three streams are pipes.
    ///
    /// # Panics
    /// When they are not.
    pub fn over(mut child: Child) -> Self {
        let heard = Arc::<Heard>::default();
        let (output, mut errors) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let listening = Arc::clone(&heard);
        std::thread::spawn(move || listen(&listening, BufReader::new(output)));
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let input = child.stdin.take();
        Self { child, input, heard, stderr: Some(stderr), last_id: 0, taken: Vec::new() }
    }

    /// The process ID of the agent.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes these bytes. An agent that has ended takes none.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and does not wait for its answer; its ID.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and waits for its result.
    ///
    /// # Panics
    /// When it is answered with an error, or not at all.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.result(id)
    }

    /// The result of a request.
    ///
    /// # Panics
    /// When it is answered with an error, or not at all.
    pub fn result(&self, id: i64) -> Value {
        let answer = self.answer_to(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The error of a request.
    ///
    /// # Panics
    /// When it is not answered with an error.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer_to(id);
        assert!(answer.get("error").is_some(), "{answer}");
        answer["error"].clone()
    }

    /// The answer to a request, once it is there.
    pub fn answer_to(&self, id: i64) -> Value {
        self.wait_for(&format!("the answer to request {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Whether a request is answered by now.
    pub fn is_answered(&self, id: i64) -> bool {
        self.messages().iter().any(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The first message like this, once it is there.
    ///
    /// # Panics
    /// When it does not come.
    pub fn wait_for(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        let mut heard = self.heard.messages.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            assert!(heard.broken.is_empty(), "standard output has lines that are no messages: {:?}", heard.broken);
            if let Some(found) = heard.all.iter().find(|message| is_it(message)) {
                return found.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !heard.is_over, "{what} did not arrive; there is {:#?}", heard.all);
            let wait = self.heard.changed.wait_timeout(heard, left);
            heard = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next request of the agent with this method, once it is there.
    pub fn asked(&mut self, method: &str) -> Value {
        let taken = self.taken.clone();
        let found = self.wait_for(&format!("a request {method}"), |message| {
            message["method"] == method && message.get("id").is_some() && !taken.contains(message)
        });
        self.taken.push(found.clone());
        found
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Answers a permission with one of its options.
    pub fn choose(&mut self, request: &Value, option: &str) {
        self.answer(request, json!({"outcome": {"outcome": "selected", "optionId": option}}));
    }

    /// Everything that the agent has sent so far.
    pub fn messages(&self) -> Vec<Value> {
        self.heard.messages.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    /// The updates of one kind so far.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let update = |message: Value| {
            let update = message["params"]["update"].clone();
            (message["method"] == "session/update" && update["sessionUpdate"] == kind).then_some(update)
        };
        self.messages().into_iter().filter_map(update).collect()
    }

    /// The text of all chunks of one kind so far.
    pub fn text(&self, kind: &str) -> String {
        self.updates(kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Initializes the connection with these abilities of the editor.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        self.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}))
    }

    /// Opens a session in a folder; its ID.
    pub fn open(&mut self, folder: &std::path::Path) -> String {
        let opened = self.call("session/new", json!({"cwd": folder, "mcpServers": []}));
        opened["sessionId"].as_str().expect("an ID").to_owned()
    }

    /// Sends a text and does not wait for the end of the turn; the request's ID.
    pub fn prompt(&mut self, session: &str, text: &str) -> i64 {
        self.request("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Sends a text and waits for the end of the turn; why it ended.
    pub fn say(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        self.result(id)["stopReason"].as_str().expect("a reason").to_owned()
    }

    /// Ends the agent with SIGKILL.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Closes the agent's input and waits for its end; how it ended, and its standard error.
    ///
    /// # Panics
    /// When it does not end.
    pub fn close(mut self) -> (ExitStatus, String) {
        self.input = None;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < until, "the agent does not end");
            std::thread::sleep(Duration::from_millis(1));
        };
        let stderr = self.stderr.take().map(|thread| thread.join().expect("reads")).unwrap_or_default();
        (status, stderr)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(heard: &Heard, mut output: impl BufRead) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let is_over = !output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0);
        let mut messages = heard.messages.lock().unwrap_or_else(PoisonError::into_inner);
        match serde_json::from_slice(&line) {
            _ if is_over => messages.is_over = true,
            Ok(message) => messages.all.push(message),
            Err(_) => messages.broken.push(String::from_utf8_lossy(&line).into_owned()),
        }
        heard.changed.notify_all();
        if is_over {
            return;
        }
    }
}

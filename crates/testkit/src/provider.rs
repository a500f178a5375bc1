//! A model provider that does what a test says, to the byte.
//!
//! It speaks HTTP/1.1 by hand over a real socket, because a server library would round off what
//! matters here: where a chunk ends, when it is flushed, how a connection breaks. It runs on a
//! thread of its own, so that it serves asynchronous tests, tests with a paused clock and plain
//! programs that start the real binary alike; dropping it ends the thread and every connection.
//!
//! ```
//! use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
//!
//! let provider = FakeProvider::start();
//! provider.push(Answer::anthropic(Reply::new().text(["Hel", "lo"])));
//! // Point a program at `provider.url()`, then look at `provider.requests()`.
//! ```
//!
//! Each answer serves one request, in the order they were pushed. What a provider's dialect looks
//! like on the wire is one file: [`anthropic`].

mod answer;
pub mod anthropic;
mod connection;
mod gate;
pub mod gemini;
pub mod images;
pub mod ollama;
pub mod openai;
mod reply;
mod request;
pub mod responses;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};

pub use answer::Answer;
pub use gate::Gate;
pub use reply::Reply;
pub use request::Request;

/// A wait that takes longer is a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A provider on this machine, alone with its test.
#[derive(Debug)]
pub struct FakeProvider {
    url: String,
    script: Arc<Script>,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeProvider {
    /// Starts one on a free port of the loopback interface. It accepts connections from now on.
    ///
    /// # Panics
    /// When the machine has no port, thread or event queue left.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let handle = runtime.handle().clone();
        let script = Arc::new(Script::default());
        let (stop, stopped) = oneshot::channel();
        let scripted = Arc::clone(&script);
        let thread = std::thread::Builder::new()
            .name("fake-provider".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = connection::serve(listener, scripted) => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("a thread");
        Self { url, script, handle, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds an answer for the next request that has none.
    pub fn push(&self, answer: Answer) {
        self.script.lines().queue.push_back(answer);
    }

    /// Answers like this whenever no pushed answer is left. Without it, such a request gets a loud
    /// HTTP 500.
    pub fn always(&self, answer: Answer) {
        self.script.lines().default = Some(answer);
    }

    /// Answers every request for this path like this, before any pushed answer: what a program asks
    /// beside its calls need not be put in order with them.
    pub fn on_path(&self, path: impl Into<String>, answer: Answer) {
        self.script.lines().paths.insert(path.into(), answer);
    }

    /// Answers by what is asked, whenever no pushed answer is left: for many programs at once, whose requests come in no
    /// order. The bodies of such requests are not kept: there may be thousands.
    pub fn answer_with(&self, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        self.script.lines().thinks = Some(Thinks(Arc::new(answer)));
    }

    /// How many pushed answers wait for their request.
    pub fn answers_left(&self) -> usize {
        self.script.lines().queue.len()
    }

    /// A gate for an answer; see [`Answer::gated`].
    pub fn gate(&self) -> Gate {
        Gate::new(self.handle.clone())
    }

    /// Bodies are counted and dropped from now on: for measurements with thousands of requests.
    pub fn drop_bodies(&self) {
        self.script.drops_bodies.store(true, Ordering::Relaxed);
    }

    /// When each request came, when its answer had left, and how large it was.
    pub fn times(&self) -> Vec<(Instant, Option<Instant>, usize)> {
        let time = |exchange: &Arc<Exchange>| {
            (exchange.request.arrived, exchange.answered.get().copied(), exchange.request.size)
        };
        self.script.lines().exchanges.iter().map(time).collect()
    }

    /// Every request so far, in the order they came.
    pub fn requests(&self) -> Vec<Request> {
        self.script.lines().exchanges.iter().map(|exchange| exchange.request.clone()).collect()
    }

    /// Every request so far, once there are `count`.
    ///
    /// # Panics
    /// When they do not come.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        let mut arrived = self.script.arrived.subscribe();
        let what = format!("{count} requests");
        patiently(&self.handle, what, async move { arrived.wait_for(|arrived| *arrived >= count).await.is_ok() }).await;
        self.requests()
    }

    /// Waits until there are so many requests, without handing them out.
    ///
    /// # Panics
    /// When they do not come.
    pub async fn wait_for_requests_silently(&self, count: usize) {
        let mut arrived = self.script.arrived.subscribe();
        let what = format!("{count} requests");
        patiently(&self.handle, what, async move { arrived.wait_for(|arrived| *arrived >= count).await.is_ok() }).await;
    }

    /// When the connection of the request with this index (from 0) was over: as soon as the peer
    /// closes it, even while the answer is silent, or when the answer itself ends it.
    ///
    /// # Panics
    /// When the request does not come, or its connection stays open.
    pub async fn closed(&self, index: usize) -> Instant {
        self.wait_for_requests(index + 1).await;
        let mut closed = self.script.exchange(index).closed.subscribe();
        let what = format!("the end of the connection of request {index}");
        patiently(&self.handle, what, async move { closed.wait_for(Option::is_some).await.ok().and_then(|at| *at) })
            .await
            .expect("the exchange outlives its connection")
    }

    /// How many bytes of its body the answer to this request has handed to the socket.
    ///
    /// # Panics
    /// When there is no such request.
    pub fn sent_bytes(&self, index: usize) -> u64 {
        *self.script.exchange(index).sent.borrow()
    }

    /// Waits for something without a runtime, for programs that have none.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already, and a second one here would abort.
            let _ = thread.join();
        }
    }
}

/// Waits on the provider's own clock, which no test can pause.
async fn patiently<T: Send + 'static>(
    handle: &Handle,
    what: String,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    match handle.spawn(async { tokio::time::timeout(PATIENCE, future).await }).await {
        Ok(Ok(value)) => value,
        Ok(Err(_)) => panic!("waited {PATIENCE:?} for {what}"),
        Err(_) => panic!("the fake provider was dropped while a test waited for {what}"),
    }
}

/// What is to be said, and what was asked.
#[derive(Debug, Default)]
struct Script {
    lines: Mutex<Lines>,
    arrived: watch::Sender<usize>,
    drops_bodies: AtomicBool,
}

#[derive(Debug, Default)]
struct Lines {
    paths: BTreeMap<String, Answer>,
    queue: VecDeque<Answer>,
    default: Option<Answer>,
    thinks: Option<Thinks>,
    exchanges: Vec<Arc<Exchange>>,
}

/// Answers by what is asked.
#[derive(Clone)]
struct Thinks(Arc<dyn Fn(&Request) -> Answer + Send + Sync>);

impl std::fmt::Debug for Thinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Thinks")
    }
}

/// A request and what became of its answer.
#[derive(Debug)]
struct Exchange {
    request: Request,
    sent: watch::Sender<u64>,
    closed: watch::Sender<Option<Instant>>,
    /// When the last byte of the answer had left.
    answered: OnceLock<Instant>,
}

impl Exchange {
    fn new(request: Request) -> Self {
        let (sent, closed) = (watch::Sender::new(0), watch::Sender::new(None));
        Self { request, sent, closed, answered: OnceLock::new() }
    }
}

impl Lines {
    /// What a program asks a server about itself, and no test has an answer for: that is not among the requests.
    fn is_side_question(&self, request: &Request, path: &str) -> bool {
        // A stream or an error is the answer to a call, so whoever pushed it does not expect to be asked for a list first.
        let next = self.queue.front().or(self.default.as_ref());
        let answers_calls = self.thinks.is_some() || next.is_none_or(|next| next.is_stream() || next.is_error());
        let asks = match request.method.as_str() {
            "GET" => path == "/props" || path == "/api/v0/models" || (path.ends_with("/models") && answers_calls),
            // Ollama loads a model when it is asked for words without being given any.
            _ => (path == "/api/show" || path == "/api/generate") && answers_calls,
        };
        asks && !self.paths.contains_key(path)
    }
}

impl Script {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keeps_bodies(&self) -> bool {
        !self.drops_bodies.load(Ordering::Relaxed)
    }

    fn exchange(&self, index: usize) -> Arc<Exchange> {
        Arc::clone(self.lines().exchanges.get(index).expect("a request with this index"))
    }

    fn take(&self, request: Request) -> (Arc<Exchange>, Answer) {
        let mut lines = self.lines();
        let path = request.path.split('?').next().unwrap_or_default();
        if lines.is_side_question(&request, path) {
            let is_list = path.ends_with("/models");
            let answer = if is_list { Answer::json(200, json!({"data": []})) } else { Answer::new(404) };
            return (Arc::new(Exchange::new(request)), answer);
        }
        let known = lines.paths.get(path).cloned().or_else(|| lines.queue.pop_front());
        let thought = known.is_none().then(|| lines.thinks.as_ref().map(|thinks| thinks.0(&request))).flatten();
        let mut request = request;
        if thought.is_some() {
            (request.raw, request.body) = (Bytes::new(), Value::Null);
        }
        let known = known.or(thought);
        let answer = known.or_else(|| lines.default.clone()).unwrap_or_else(|| {
            let message = format!(
                "The fake provider has no answer for request {} ({} {}). Push one, or set one with always().",
                lines.exchanges.len(),
                request.method,
                request.path,
            );
            Answer::json(500, anthropic::error_body("api_error", &message))
        });
        let exchange = Arc::new(Exchange::new(request));
        lines.exchanges.push(Arc::clone(&exchange));
        self.arrived.send_replace(lines.exchanges.len());
        (exchange, answer)
    }
}

#[cfg(test)]
mod tests;

//! What servers ask the user during calls, and how long calls may take. A call does not time out while the user decides.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use trimtab_vocab::{ServerQuestion, ServerReply};

use super::results::plain_json;
use super::{IDLE, LARGEST_SCHEMA, LONGEST_CALL, plain};

/// Bytes of a question that are kept, and of an address. A cut address would be another one.
const LONGEST_MESSAGE: usize = 4_000;
const LONGEST_URL: usize = 4_000;
/// Questions until a server has finished the calls that it is working on. Each is recorded, also one that is cancelled, and
/// a server must not be able to fill the log.
const MOST_QUESTIONS: u32 = 50;
/// How often the limits of a call are looked at.
const TICK: Duration = Duration::from_millis(500);

/// Who is asked during a call.
#[derive(Debug, Clone)]
pub struct CallAsker {
    /// The session. A question of a server does not say which call it belongs to, so it is asked only if all calls that
    /// the server is working on belong to one session.
    pub owner: String,
    pub questions: mpsc::Sender<AskedInput>,
}

/// A question of a server, and where the answer goes. Dropped, it is cancelled.
#[derive(Debug)]
pub struct AskedInput {
    pub question: ServerQuestion,
    pub reply: oneshot::Sender<ServerReply>,
}

/// The calls that a server is working on.
pub(super) struct RunningCalls {
    state: Mutex<ServerWork>,
}

struct ServerWork {
    calls: Vec<(u64, Option<CallAsker>)>,
    last: u64,
    /// Questions that the user has not answered,
    open: usize,
    /// and all of them since no call was running.
    asked: u32,
    progress: Instant,
}

impl Default for RunningCalls {
    fn default() -> Self {
        let state = ServerWork { calls: Vec::new(), last: 0, open: 0, asked: 0, progress: Instant::now() };
        Self { state: Mutex::new(state) }
    }
}

impl RunningCalls {
    fn with<T>(&self, work: impl FnOnce(&mut ServerWork) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call begins. It ends when the result is dropped.
    pub(super) fn begin(self: &Arc<Self>, asker: Option<CallAsker>) -> RunningCall {
        let id = self.with(|state| {
            state.last += 1;
            state.calls.push((state.last, asker.clone()));
            state.last
        });
        RunningCall { calls: Arc::clone(self), id, asker }
    }

    pub(super) fn note_progress(&self) {
        self.with(|state| state.progress = Instant::now());
    }

    /// Waits for a response, unless the server shows no progress for too long. The time in which the user decides does not count.
    pub(super) async fn within_limits<T>(&self, response: impl Future<Output = T>) -> Result<T, Duration> {
        let mut response = std::pin::pin!(response);
        let (mut last, mut total) = (Instant::now(), Duration::ZERO);
        loop {
            tokio::select! {
                answered = &mut response => return Ok(answered),
                () = tokio::time::sleep(TICK) => {}
            }
            let (open, progress) = self.with(|state| (state.open, state.progress));
            if open > 0 {
                last = Instant::now();
                continue;
            }
            total += TICK;
            last = last.max(progress);
            if last.elapsed() >= IDLE {
                return Err(IDLE);
            }
            if total >= LONGEST_CALL {
                return Err(LONGEST_CALL);
            }
        }
    }

    /// Asks the user whom the running calls belong to.
    pub(super) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let asker = self.with(|state| {
            let mut askers = state.calls.iter().map(|(_, asker)| asker.as_ref());
            let first = askers.next().flatten()?;
            askers.all(|other| other.is_some_and(|other| other.owner == first.owner)).then(|| first.clone())
        });
        match asker {
            Some(asker) => self.ask(&asker, request).await,
            None => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    async fn ask(&self, asker: &CallAsker, request: ElicitRequestParams) -> ElicitResult {
        let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
        let Some(question) = question(request) else { return cancelled() };
        let is_one_too_many = self.with(|state| {
            state.asked = state.asked.saturating_add(1);
            state.asked > MOST_QUESTIONS
        });
        if is_one_too_many {
            return cancelled();
        }
        let (reply, answer) = oneshot::channel();
        let _open = AwaitedReply::begin(self);
        if asker.questions.send(AskedInput { question, reply }).await.is_err() {
            return cancelled();
        }
        match answer.await {
            Ok(ServerReply::Accept(Some(content))) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
            }
            Ok(ServerReply::Accept(None)) => ElicitResult::new(ElicitationAction::Accept),
            Ok(ServerReply::Decline) => ElicitResult::new(ElicitationAction::Decline),
            Ok(ServerReply::Cancel) | Err(_) => cancelled(),
        }
    }
}

/// Counts a question until it is answered, or until nobody waits for the answer.
struct AwaitedReply<'a>(&'a RunningCalls);

impl<'a> AwaitedReply<'a> {
    fn begin(calls: &'a RunningCalls) -> Self {
        calls.with(|state| state.open += 1);
        Self(calls)
    }
}

impl Drop for AwaitedReply<'_> {
    fn drop(&mut self) {
        self.0.with(|state| state.open -= 1);
    }
}

/// A call that a server is working on.
pub(super) struct RunningCall {
    calls: Arc<RunningCalls>,
    id: u64,
    asker: Option<CallAsker>,
}

impl RunningCall {
    /// Answers what a server wants to know before it goes on with this call. An error is a sentence.
    pub(super) async fn fulfil(&self, requests: InputRequests) -> Result<InputResponses, String> {
        let mut responses = InputResponses::new();
        for (name, request) in requests {
            let InputRequest::Elicitation(request) = request else {
                return Err("The server asks for something else than input from the user.".to_owned());
            };
            let answer = match &self.asker {
                Some(asker) => self.calls.ask(asker, request.params).await,
                None => ElicitResult::new(ElicitationAction::Cancel),
            };
            responses.insert(name, serde_json::to_value(answer).unwrap_or_default());
        }
        Ok(responses)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let id = self.id;
        self.calls.with(|state| {
            state.calls.retain(|(call, _)| *call != id);
            if state.calls.is_empty() {
                state.asked = 0;
            }
        });
    }
}

/// A question as the rest of the program knows it. Nothing if it is too large.
fn question(request: ElicitRequestParams) -> Option<ServerQuestion> {
    let kept = |message: &str| plain(message, LONGEST_MESSAGE);
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = plain_json(serde_json::to_value(requested_schema).ok()?);
            (schema.to_string().len() <= LARGEST_SCHEMA).then(|| ServerQuestion {
                message: kept(&message),
                schema: Some(schema),
                url: None,
            })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            is_honest(&url).then(|| ServerQuestion { message: kept(&message), schema: None, url: Some(url) })
        }
        _ => None,
    }
}

/// Whether an address leads where it seems to. One that hides something, or is cut, is another one. Letters of other
/// scripts look like those of a known name, a name before an `@` is not the server's, and browsers take `\` for `/`.
fn is_honest(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else { return false };
    let is_plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'\\' | b'<' | b'>' | b'"' | b'`');
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    url.len() <= LONGEST_URL && url.bytes().all(is_plain) && !server.is_empty() && !server.contains('@')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Option<ServerQuestion> {
        question(serde_json::from_value(value).expect("a question"))
    }

    #[test]
    fn questions_hide_nothing_and_addresses_are_whole() {
        let form = read(json!({"message": "a\u{1b}[2Jb", "requestedSchema": {"type": "object", "properties": {
            "name": {"type": "string", "title": "x\u{202e}y"}}}}))
        .expect("a form");
        assert_eq!(form.message, "a[2Jb");
        assert_eq!(form.schema.expect("a schema")["properties"]["name"]["title"], "xy");
        let address = |url: &str| read(json!({"mode": "url", "message": "m", "url": url, "elicitationId": "1"}));
        assert!(address("https://example.org/a?b=c&d=@e").is_some());
        for url in [
            "javascript:alert(1)",
            "https://a\u{200b}b",
            "https://a b",
            &format!("https://{}", "a".repeat(5_000)),
            // They seem to lead to a server that everybody knows.
            "https://accounts.example.org@evil.example/login",
            "https://accounts.example.org:443@evil.example/login",
            "https://evil.example\\.example.org/",
            "https://ex\u{430}mple.org/",
            "https:///example.org",
            "HTTPS://example.org",
        ] {
            assert!(address(url).is_none(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_server_cannot_ask_without_end() {
        let calls = Arc::new(RunningCalls::default());
        let (questions, mut asked) = mpsc::channel(1);
        let count = tokio::spawn(async move {
            let mut count = 0;
            while let Some(AskedInput { reply, .. }) = asked.recv().await {
                let _ = reply.send(ServerReply::Decline);
                count += 1;
            }
            count
        });
        for _ in 0..2 {
            let _call = calls.begin(Some(CallAsker { owner: "one".to_owned(), questions: questions.clone() }));
            for _ in 0..200 {
                let request = json!({"mode": "url", "message": "m", "url": "https://a", "elicitationId": "1"});
                calls.elicit(serde_json::from_value(request).expect("a question")).await;
            }
        }
        drop(questions);
        assert_eq!(count.await.expect("counted"), 2 * MOST_QUESTIONS);
    }

    #[tokio::test]
    async fn a_question_is_asked_only_if_it_is_clear_whom_it_is_for() {
        let calls = Arc::new(RunningCalls::default());
        let ask = || async {
            let request = json!({"mode": "url", "message": "m", "url": "https://a", "elicitationId": "1"});
            calls.elicit(serde_json::from_value(request).expect("a question")).await.action
        };
        assert_eq!(ask().await, ElicitationAction::Cancel, "nobody has called it");
        let (questions, mut asked) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(AskedInput { reply, .. }) = asked.recv().await {
                let _ = reply.send(ServerReply::Accept(None));
            }
        });
        let asker = |owner: &str| Some(CallAsker { owner: owner.to_owned(), questions: questions.clone() });
        let one = calls.begin(asker("one"));
        assert_eq!(ask().await, ElicitationAction::Accept);
        let same = calls.begin(asker("one"));
        assert_eq!(ask().await, ElicitationAction::Accept);
        let other = calls.begin(asker("two"));
        assert_eq!(ask().await, ElicitationAction::Cancel);
        drop(other);
        assert_eq!(ask().await, ElicitationAction::Accept);
        drop((one, same));
        assert_eq!(ask().await, ElicitationAction::Cancel);
    }
}

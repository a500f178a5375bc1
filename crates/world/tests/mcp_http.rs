//! MCP over HTTP, against a server that answers as it is told.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use trimtab_vocab::ServerReply;
use trimtab_world::mcp::{AskedInput, CallAsker, Connection, McpAddress, McpError};

/// What the server has seen: the method of each message, and the session and key that came with it.
type Seen = Arc<Mutex<Vec<(String, String, String)>>>;

/// How the server behaves.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// It answers with JSON.
    Plain,
    /// It answers with events.
    Events,
    /// Its sessions end once, in the middle.
    Forgetful,
    /// It wants a login.
    Closed,
    /// Its answers to calls have no end.
    Endless,
    /// It answers methods that it does not know with an empty result.
    Obliging,
    /// It speaks the newest revision, and asks the user twice before it answers a call.
    Asking,
}

async fn serve(manner: Manner) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let seen = Seen::default();
    let heard = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(attend(stream, manner, Arc::clone(&heard)));
        }
    });
    (url, seen)
}

async fn attend(stream: TcpStream, manner: Manner, seen: Seen) -> Option<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut first = String::new();
        reader.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
        let (mut length, mut session, mut key) = (0, String::new(), String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "mcp-session-id" => session = value.trim().to_owned(),
                "x-key" => key = value.trim().to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).await.ok()?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let method = message["method"].as_str().unwrap_or(first.split(' ').next()?).to_owned();
        let earlier = {
            let mut seen = seen.lock().expect("a list");
            seen.push((method.clone(), session, key));
            seen.iter().filter(|(known, ..)| *known == method).count()
        };
        let answer = match (method.as_str(), manner) {
            (_, Manner::Closed) => respond("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "text/plain", ""),
            ("initialize", _) => {
                let result = json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "2"},
                });
                let session = format!("Mcp-Session-Id: s{earlier}\r\n");
                respond("200 OK", &session, "application/json", &result_of(&message, &result))
            }
            ("tools/list", _) => {
                let result = json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]});
                respond("200 OK", "", "application/json", &result_of(&message, &result))
            }
            ("server/discover", Manner::Asking) => {
                let result = json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "3"},
                });
                respond("200 OK", "", "application/json", &result_of(&message, &result))
            }
            ("tools/call", Manner::Asking) if earlier <= 2 => {
                let ask = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
                    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
                let state = format!("state {earlier}");
                let result =
                    json!({"resultType": "input_required", "inputRequests": {"q": ask}, "requestState": state});
                respond("200 OK", "", "application/json", &result_of(&message, &result))
            }
            ("tools/call", Manner::Asking) => {
                let (answers, state) = (&message["params"]["inputResponses"], &message["params"]["requestState"]);
                let text = format!("{answers} {state}");
                let result = json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
                respond("200 OK", "", "application/json", &result_of(&message, &result))
            }
            ("tools/call", Manner::Forgetful) if earlier == 1 => respond("404 Not Found", "", "text/plain", ""),
            ("tools/call", Manner::Endless) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n";
                writer.write_all(head.as_bytes()).await.ok()?;
                loop {
                    writer.write_all(&[b' '; 65_536]).await.ok()?;
                }
            }
            ("tools/call", _) => {
                let result = result_of(&message, &json!({"content": [{"type": "text", "text": "hello"}]}));
                match manner {
                    Manner::Events => respond("200 OK", "", "text/event-stream", &format!("data: {result}\n\n")),
                    _ => respond("200 OK", "", "application/json", &result),
                }
            }
            ("GET" | "DELETE", _) => respond("405 Method Not Allowed", "", "text/plain", ""),
            (_, Manner::Obliging) if !message["id"].is_null() => {
                respond("200 OK", "", "application/json", &result_of(&message, &json!({})))
            }
            _ if message["id"].is_null() => respond("202 Accepted", "", "text/plain", ""),
            _ => {
                let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}});
                respond("200 OK", "", "application/json", &error.to_string())
            }
        };
        writer.write_all(answer.as_bytes()).await.ok()?;
    }
}

fn result_of(message: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
}

fn respond(status: &str, headers: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

async fn connect(url: &str) -> Result<Connection, McpError> {
    let headers = vec![("X-Key".to_owned(), "k".into())];
    Connection::open(&McpAddress::Http { url: url.to_owned(), headers, login: None }).await
}

#[tokio::test]
async fn an_older_server_is_initialized_after_the_newest_revision_was_tried() {
    for manner in [Manner::Plain, Manner::Events, Manner::Obliging] {
        let (url, seen) = serve(manner).await;
        let connection = connect(&url).await.expect("connected");
        assert_eq!(connection.about(), "web 2, protocol 2025-11-25");
        assert_eq!(connection.tools(false).await.expect("listed").tools[0].name, "echo");
        let answer = connection.call("echo", serde_json::Map::new(), None).await.expect("answered");
        assert_eq!(answer.text, "hello");
        let seen = seen.lock().expect("a list").clone();
        assert_eq!(seen[0].0, "server/discover", "the newest revision has no initialize");
        assert!(seen.iter().all(|(_, _, key)| key == "k"), "{seen:?}");
        let call = seen.iter().find(|(method, ..)| method == "tools/call").expect("a call");
        assert_eq!(call.1, "s1");
    }
}

#[tokio::test]
async fn a_key_in_an_address_is_in_no_error() {
    let Err(error) = connect("http://127.0.0.1:1/mcp?key=s3cret").await else { panic!("nothing listens there") };
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn a_lost_session_is_renewed_once() {
    let (url, seen) = serve(Manner::Forgetful).await;
    let connection = connect(&url).await.expect("connected");
    let answer = connection.call("echo", serde_json::Map::new(), None).await.expect("answered in the second session");
    assert_eq!(answer.text, "hello");
    let seen = seen.lock().expect("a list").clone();
    let calls: Vec<&str> =
        seen.iter().filter(|(method, ..)| method == "tools/call").map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(calls, ["s1", "s2"]);
}

#[tokio::test]
async fn a_server_that_wants_a_login_and_one_that_is_not_there_are_reported() {
    let (url, _) = serve(Manner::Closed).await;
    let refused = connect(&url).await.err().expect("refused");
    assert!(matches!(&refused, McpError::NotConnected(text) if text.to_lowercase().contains("auth")), "{refused}");
    let missing = connect("http://127.0.0.1:1/mcp").await.err().expect("not there");
    assert!(matches!(missing, McpError::NotConnected(_)), "{missing}");
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let (url, _) = serve(Manner::Endless).await;
    let connection = connect(&url).await.expect("connected");
    let given_up = connection.call("echo", serde_json::Map::new(), None).await.expect_err("given up");
    assert!(given_up.to_string().contains("larger than"), "{given_up}");
}

#[tokio::test]
async fn the_newest_revision_gets_the_call_again_with_the_answers_and_its_state() {
    let (url, _) = serve(Manner::Asking).await;
    let connection = connect(&url).await.expect("connected");
    let (questions, mut asked) = tokio::sync::mpsc::channel::<AskedInput>(1);
    let person = tokio::spawn(async move {
        let mut messages = Vec::new();
        while let Some(AskedInput { question, reply }) = asked.recv().await {
            messages.push(question.message);
            let content = json!({"name": "Ada"}).as_object().cloned();
            reply.send(ServerReply::Accept(content)).expect("somebody waits");
        }
        messages
    });
    let asker = CallAsker { owner: "session".to_owned(), questions };
    let answer = connection.call("echo", serde_json::Map::new(), Some(asker)).await.expect("answered");
    assert!(answer.text.contains(r#""content":{"name":"Ada"}"#), "{}", answer.text);
    assert!(answer.text.contains(r#""state 2""#), "{}", answer.text);
    assert_eq!(person.await.expect("a person"), ["Who?", "Who?"]);
    // Nobody can be asked: the questions are cancelled.
    let (url, _) = serve(Manner::Asking).await;
    let connection = connect(&url).await.expect("connected");
    let answer = connection.call("echo", serde_json::Map::new(), None).await.expect("answered");
    assert!(answer.text.contains(r#""action":"cancel""#), "{}", answer.text);
}

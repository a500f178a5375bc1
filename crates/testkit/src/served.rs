//! The real binary as a server, and a client that sends exactly the bytes it is told to.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Program, Running};

/// A server that runs.
pub struct Served {
    /// The process.
    pub running: Running,
    /// `http://127.0.0.1:PORT`
    pub url: String,
    /// The link for logging in.
    pub login: String,
    /// A token that lets in.
    pub token: String,
}

impl Served {
    /// Starts `trimtab serve` at any port, with more arguments, and makes a token of this name.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn start(program: &Program, token: &str, more: &[&str]) -> Self {
        let mut arguments = vec!["serve", "--addr", "127.0.0.1:0"];
        arguments.extend(more);
        let running = program.spawn(&arguments);
        let login = running.line_with("/login?token=");
        let login = login.rsplit(' ').next().expect("a link").to_owned();
        let url = login.split("/login").next().expect("an address").to_owned();
        let made = program.run(&["token", "add", token]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        Self { running, url, login, token: made.stdout.trim().to_owned() }
    }

    /// `127.0.0.1:PORT`
    pub fn host(&self) -> &str {
        self.url.split("//").nth(1).expect("an address")
    }

    /// A request with the token.
    pub fn ask(&self, method: &str, path: &str) -> Ask {
        self.ask_without_token(method, path).header("Authorization", format!("Bearer {}", self.token))
    }

    /// A request with nothing but its `Host`.
    pub fn ask_without_token(&self, method: &str, path: &str) -> Ask {
        let host = self.host().to_owned();
        Ask {
            line: format!("{method} {path} HTTP/1.1"),
            headers: vec![("Host".into(), host.clone())],
            body: Vec::new(),
            host,
        }
    }

    /// What a route gives.
    ///
    /// # Panics
    /// When it does not give what it should.
    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// What a route makes of a body.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path).json(body).send()
    }

    /// A new session.
    ///
    /// # Panics
    /// When there is none.
    pub fn session(&self) -> String {
        let made = self.post("/api/sessions", &serde_json::json!({}));
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["session"].as_str().expect("a session").to_owned()
    }

    /// Watches a session after an event.
    pub fn watch(&self, session: &str, after: Option<u64>) -> Stream {
        let mut ask = self.ask("GET", &format!("/api/sessions/{session}/events"));
        if let Some(after) = after {
            ask = ask.header("Last-Event-ID", after.to_string());
        }
        ask.stream()
    }
}

/// A request, as bytes.
#[derive(Debug, Clone)]
pub struct Ask {
    host: String,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    /// One header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// This header instead of those of the same name.
    #[must_use]
    pub fn instead(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self
    }

    /// A body of JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// A body, whatever it is.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn head(&self, close: bool) -> String {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.line.starts_with("POST") {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        if close {
            head += "Connection: close\r\n";
        }
        head + "\r\n"
    }

    /// What is sent when the connection is closed after it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head(true).into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    fn connect(&self, close: bool) -> io::Result<TcpStream> {
        let mut socket = TcpStream::connect(&self.host)?;
        socket.set_read_timeout(Some(Duration::from_secs(60)))?;
        // The server may answer and close before it has read everything.
        let _ = socket.write_all(self.head(close).as_bytes()).and_then(|()| socket.write_all(&self.body));
        Ok(socket)
    }

    /// Sends it and reads the whole answer.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn send(&self) -> Answer {
        let mut bytes = Vec::new();
        // A connection that is reset after the answer has been read is as good as one that is closed.
        let _ = self.connect(true).expect("connects").read_to_end(&mut bytes);
        Answer::read(&bytes)
    }

    /// Sends it to a server that may be gone, or go away in the middle: the answer, if all of it came.
    pub fn try_send(&self) -> Option<Answer> {
        let mut bytes = Vec::new();
        self.connect(true).ok()?.read_to_end(&mut bytes).ok()?;
        let answer = Answer::read(&bytes);
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        (answer.status > 0 && length.is_none_or(|length: usize| answer.body.len() == length)).then_some(answer)
    }

    /// Sends it and reads as it comes.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn stream(&self) -> Stream {
        self.try_stream().expect("an answer")
    }

    /// Sends it to a server that may be gone, and reads as it comes.
    pub fn try_stream(&self) -> Option<Stream> {
        let mut reader = BufReader::new(self.connect(false).ok()?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = Answer::read(head.as_bytes());
        Some(Stream { head, reader, rest: String::new() })
    }
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut body = bytes[end..].to_vec();
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            body = unchunked(&body);
        }
        Self { status, head, body }
    }

    /// A header, if it is there.
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1);
        let mut pairs = lines.filter_map(|line| line.split_once(':'));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    }

    /// The body.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The body, as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.text()))
    }

    /// The code of an error.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0 && at + 2 + size <= bytes.len()) else { break };
        body.extend_from_slice(&bytes[at + 2..at + 2 + size]);
        bytes = bytes.get(at + 2 + size + 2..).unwrap_or_default();
    }
    body
}

/// Something that is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    /// An event with its `id`, if it has one.
    Event(Option<u64>, Value),
    /// An event of another type than the usual one.
    Named(String, Value),
    Comment(String),
}

/// An answer as it comes.
pub struct Stream {
    /// Its status and headers.
    pub head: Answer,
    reader: BufReader<TcpStream>,
    rest: String,
}

impl Stream {
    /// The next line of the body; nothing at its end.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.rest.find('\n') {
                let line: String = self.rest.drain(..=at).collect();
                return Some(line.trim_end_matches('\n').to_owned());
            }
            let mut size = String::new();
            if self.reader.read_line(&mut size).ok()? == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).ok()?;
            self.rest += &String::from_utf8_lossy(&chunk[..size]);
        }
    }

    /// What is sent next; nothing at the end.
    ///
    /// # Panics
    /// When it is no event stream.
    pub fn next_sent(&mut self) -> Option<Sent> {
        let (mut id, mut name, mut data) = (None, None, None);
        loop {
            let line = self.line()?;
            if let Some(comment) = line.strip_prefix(':') {
                self.line()?;
                return Some(Sent::Comment(comment.trim().to_owned()));
            }
            match line.split_once(": ") {
                Some(("id", value)) => id = Some(value.parse().expect("a number")),
                Some(("event", value)) => name = Some(value.to_owned()),
                Some(("data", value)) => data = Some(serde_json::from_str(value).expect("JSON")),
                Some(("retry", _)) => {}
                Some(other) => panic!("{other:?} in an event stream"),
                None => match (name.take(), data.take()) {
                    (None, Some(data)) => return Some(Sent::Event(id, data)),
                    (Some(name), Some(data)) => return Some(Sent::Named(name, data)),
                    _ => {}
                },
            }
        }
    }

    /// The next event; comments are passed over.
    ///
    /// # Panics
    /// When the stream ends instead, or nothing but comments comes for a minute.
    pub fn next_event(&mut self) -> (Option<u64>, Value) {
        self.try_event().expect("an event")
    }

    fn try_event(&mut self) -> Option<(Option<u64>, Value)> {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            match self.next_sent()? {
                Sent::Event(id, event) => return Some((id, event)),
                Sent::Named(name, data) => panic!("{name}: {data}"),
                Sent::Comment(_) => {}
            }
        }
        None
    }

    /// Reads until an event of this type; gives all up to it.
    ///
    /// # Panics
    /// When it does not come.
    pub fn until(&mut self, kind: &str) -> Vec<(Option<u64>, Value)> {
        let mut events: Vec<(Option<u64>, Value)> = Vec::new();
        loop {
            let Some(event) = self.try_event() else {
                let types: Vec<_> = events.iter().map(|(_, event)| event["type"].clone()).collect();
                panic!("no {kind} after {types:?}");
            };
            let is_it = event.1["type"] == kind;
            events.push(event);
            if is_it {
                return events;
            }
        }
    }
}

/// One connection that many requests go through, one after the other.
pub struct Line {
    host: String,
    reader: Option<BufReader<TcpStream>>,
}

impl Line {
    /// To this server; connected when first used.
    pub fn to(served: &Served) -> Self {
        Self { host: served.host().to_owned(), reader: None }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Panics
    /// When there is none, twice.
    pub fn send(&mut self, ask: &Ask) -> Answer {
        // A server may close a connection after any answer.
        self.try_send(ask).or_else(|| self.try_send(ask)).expect("an answer")
    }

    fn try_send(&mut self, ask: &Ask) -> Option<Answer> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => {
                let socket = TcpStream::connect(&self.host).expect("connects");
                socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
                socket.set_nodelay(true).expect("no delay");
                BufReader::new(socket)
            }
        };
        let mut bytes = ask.head(false).into_bytes();
        bytes.extend_from_slice(&ask.body);
        reader.get_mut().write_all(&bytes).ok()?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let mut answer = Answer::read(head.as_bytes());
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        answer.body = vec![0; length];
        reader.read_exact(&mut answer.body).ok()?;
        self.reader = Some(reader);
        Some(answer)
    }
}

//! A thousand watchers of one busy session, beside sockets that say nothing and readers that take nothing: how
//! late facts come, and what that takes of the server's memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_vocab::Time;

use crate::table::Table;

/// One token may have 64 streams; each has one to spare for those that take nothing.
const TOKENS: usize = 17;
const WATCHERS: usize = 1000;
const IDLE: usize = 200;
/// Words that the model says, and how long it waits between two.
const WORDS: usize = 400;
const PACE: Duration = Duration::from_millis(25);

pub fn measure(binary: &Path, table: &mut Table) {
    let alone = watch(binary, 1);
    let many = watch(binary, WATCHERS);
    let beside = Some(("1 watcher", alone.part(990)));
    table.durations(
        &format!("event delay, {WATCHERS} watchers"),
        many.late.clone(),
        Some(("1 watcher", alone.part(500))),
    );
    table.durations(&format!("event delay, {WATCHERS} watchers, p99"), vec![many.part(990)], beside);
    let note = format!(
        "{:.1} MB before anybody watched, {:.1} MB with 1 watcher",
        many.before as f64 / 1e6,
        alone.most as f64 / 1e6
    );
    table.size(&format!("memory, {WATCHERS} watchers, {IDLE} idle sockets"), many.most, &note);
}

struct Watched {
    /// How late each fact came, in order.
    late: Vec<Duration>,
    /// Bytes before anybody watched.
    before: u64,
    /// Bytes at most.
    most: u64,
}

impl Watched {
    /// The delay that so many of a thousand facts did not pass.
    fn part(&self, of_thousand: usize) -> Duration {
        self.late.get(self.late.len() * of_thousand / 1000).copied().unwrap_or_default()
    }
}

fn watch(binary: &Path, watchers: usize) -> Watched {
    let program = Program::new(binary);
    let gate = program.provider.gate();
    program
        .provider
        .push(Answer::anthropic(Reply::new().text(vec!["some more words of an answer, "; WORDS])).gated(&gate));
    let served = Served::start(&program, "first", &[]);
    let mut tokens = vec![served.token.clone()];
    while tokens.len() < TOKENS {
        let made = program.run(&["token", "add", &format!("token-{}", tokens.len())]);
        tokens.push(made.stdout.trim().to_owned());
    }
    let session = served.session();
    let before = memory(&served, "VmRSS");
    let mut idle = Vec::new();
    for n in 0..if watchers == 1 { 0 } else { IDLE } {
        let mut socket = TcpStream::connect(served.host()).expect("connects");
        match n % 3 {
            // Says nothing.
            0 => {}
            // Stops in the middle of a head.
            1 => drop(socket.write_all(b"GET /api/jobs HTTP/1.1\r\nHost:")),
            // Watches and takes nothing.
            _ => drop(socket.write_all(&request(&served, &session, &tokens[n % TOKENS]))),
        }
        idle.push(socket);
    }
    let late = program.provider.block_on(async {
        let mut streams = Vec::new();
        for n in 0..watchers {
            let mut socket = tokio::net::TcpStream::connect(served.host()).await.expect("connects");
            let bytes = request(&served, &session, &tokens[n % TOKENS]);
            socket.write_all(&bytes).await.expect("is sent");
            streams.push(tokio::spawn(follow(socket)));
        }
        let said = served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Talk"}));
        assert_eq!(said.status, 202, "{}", said.text());
        for _ in 0..WORDS + 10 {
            tokio::time::sleep(PACE).await;
            gate.release(1);
        }
        gate.open();
        let mut late = Vec::new();
        for stream in streams {
            late.extend(stream.await.expect("ends"));
        }
        late.sort();
        late
    });
    let most = memory(&served, "VmHWM");
    drop(idle);
    Watched { late, before, most }
}

fn request(served: &Served, session: &str, token: &str) -> Vec<u8> {
    let host = served.host();
    format!("GET /api/sessions/{session}/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")
        .into()
}

/// How late each fact comes until the request ends. What was there before is not counted. Events are not read
/// as JSON: the watchers share the machine with the server, and must not be what is measured.
async fn follow(socket: tokio::net::TcpStream) -> Vec<Duration> {
    let mut lines = BufReader::new(socket).lines();
    let (mut late, mut began) = (Vec::new(), false);
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(data) = line.strip_prefix("data: ") else { continue };
        began |= data.contains(r#""type":"model.called""#);
        if began {
            let time = data.split(r#""time":""#).nth(1).and_then(|rest| rest.split('"').next()).expect("a time");
            let time: Time = time.parse().expect("a time");
            let millis = trimtab_host::now().millis().saturating_sub(time.millis());
            late.push(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        }
        if data.contains(r#""type":"request.finished""#) {
            break;
        }
    }
    late
}

/// A figure of the server's process, in bytes.
fn memory(served: &Served, name: &str) -> u64 {
    let mut text = String::new();
    std::fs::File::open(format!("/proc/{}/status", served.running.id()))
        .and_then(|mut file| file.read_to_string(&mut text))
        .expect("a process");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a figure");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") * 1024
}

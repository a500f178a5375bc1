//! Stands between a program and the model's server: counts calls and tokens, and keeps what was said.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

/// Bytes of a request that are taken.
const LARGEST: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    tokens: u64,
    name: String,
}

#[derive(Debug)]
pub struct Tap {
    url: String,
    tally: Arc<Mutex<Tally>>,
}

impl Tap {
    /// Listens on a port of its own and passes on whatever comes.
    pub fn start(server: &str, log: Option<PathBuf>) -> Result<Self, String> {
        let target = server.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let url = format!("http://{}", listener.local_addr().map_err(|error| error.to_string())?);
        let tally = Arc::new(Mutex::new(Tally::default()));
        let shared = Arc::clone(&tally);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (target, tally, log) = (target.clone(), Arc::clone(&shared), log.clone());
                thread::spawn(move || {
                    let _ = pass(connection, &target, &tally, log);
                });
            }
        });
        Ok(Self { url, tally })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the next requests belong to.
    pub fn name(&self, name: &str) {
        if let Ok(mut tally) = self.tally.lock() {
            name.clone_into(&mut tally.name);
        }
    }

    /// Calls and tokens so far.
    pub fn counted(&self) -> (u64, u64) {
        self.tally.lock().map(|tally| (tally.calls, tally.tokens)).unwrap_or_default()
    }

    /// Calls and tokens since then.
    pub fn since(&self, before: (u64, u64)) -> (u64, u64) {
        let now = self.counted();
        (now.0 - before.0, now.1 - before.1)
    }
}

/// One request and its response.
fn pass(client: TcpStream, target: &str, tally: &Mutex<Tally>, log: Option<PathBuf>) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0usize);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            break;
        }
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "content-length" => length = line.split(':').nth(1).and_then(|size| size.trim().parse().ok()).unwrap_or(0),
            // One request for each connection, in plain text: that is all this needs to understand.
            "connection" | "accept-encoding" | "host" => continue,
            _ => {}
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length.min(LARGEST)];
    reader.read_exact(&mut body)?;
    let mut server = TcpStream::connect(target)?;
    server.write_all(format!("{head}Host: {target}\r\nConnection: close\r\n\r\n").as_bytes())?;
    server.write_all(&body)?;
    let (mut client, mut reply, mut piece) = (client, Vec::new(), [0u8; 16 * 1024]);
    loop {
        let read = server.read(&mut piece)?;
        if read == 0 {
            break;
        }
        reply.extend_from_slice(&piece[..read]);
        // A program that hangs up has heard enough; the server notices by our end of the line.
        if client.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let reply = String::from_utf8_lossy(&reply);
    let figures = ["\"usage\"", "\"timings\""].into_iter().any(|name| reply.contains(name));
    if head.starts_with("POST")
        && figures
        && let Ok(mut tally) = tally.lock()
    {
        tally.calls += 1;
        tally.tokens += tokens(&reply);
        let file = log.map(|folder| folder.join(format!("{}-{:02}.txt", tally.name, tally.calls)));
        if let Some(file) = file {
            std::fs::write(file, format!("{head}\n{}\n\n{reply}", String::from_utf8_lossy(&body)))?;
        }
    }
    Ok(())
}

/// What a reply says of its size: in `usage`, or in llama.cpp's `timings` where a program does not ask for usage.
fn tokens(reply: &str) -> u64 {
    let sum = |names: &[&str]| names.iter().filter_map(|name| last_number(reply, name)).reduce(|sum, next| sum + next);
    sum(&["\"prompt_tokens\":", "\"completion_tokens\":"])
        .or_else(|| sum(&["\"cache_n\":", "\"prompt_n\":", "\"predicted_n\":"]))
        .unwrap_or(0)
}

/// The number behind the last place where this stands.
fn last_number(text: &str, before: &str) -> Option<u64> {
    let rest = text.get(text.rfind(before)? + before.len()..)?.trim_start();
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

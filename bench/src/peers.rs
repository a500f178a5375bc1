//! The same turn by other programs, where they are installed, beside the same scripted provider.
//!
//! Other people's programs may talk to their makers. They are only started where there is no network but loopback:
//!
//! ```sh
//! npm install --prefix /tmp/peers @openai/codex @anthropic-ai/claude-code
//! unshare --map-root-user --net sh -c 'ip link set lo up; TRIMTAB_PEERS=/tmp/peers/node_modules/.bin target/release/trimtab-bench peers'
//! ```

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trimtab_testkit::provider::{Answer, FakeProvider, Reply};

use crate::table::{Table, median};

/// How often each is started.
const ROUNDS: usize = 7;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A task in a folder, so that every program sends what it has for working there.
const PROMPT: &str = "Correct the spelling in README.md";

/// A program that takes one request to its answer without a terminal.
struct Peer {
    name: &'static str,
    binary: PathBuf,
    /// The words after its name, for a provider at this address.
    words: fn(&str) -> Vec<String>,
    environment: fn(&str) -> Vec<(&'static str, String)>,
    answer: fn(Reply) -> Answer,
}

fn peers(ours: &Path) -> Vec<Peer> {
    let folder = std::env::var_os("TRIMTAB_PEERS").map(PathBuf::from);
    let installed = |name: &str| folder.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
    let mut peers = vec![Peer {
        name: "trimtab run",
        binary: ours.to_owned(),
        words: |_| ["run", "--trust", PROMPT].map(str::to_owned).to_vec(),
        environment: |url| vec![("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", "key".into())],
        answer: |reply| Answer::anthropic(reply),
    }];
    peers.extend(installed("claude").map(|binary| Peer {
        name: "claude -p",
        binary,
        words: |_| vec!["-p".into(), PROMPT.into()],
        environment: |url| {
            vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", "key".into()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ]
        },
        answer: |reply| Answer::anthropic(reply),
    }));
    peers.extend(installed("codex").map(|binary| Peer {
        name: "codex exec",
        binary,
        words: |url| {
            let provider = format!(
                "model_providers.fake={{name=\"fake\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"FAKE_KEY\"}}"
            );
            let words = ["exec", "--skip-git-repo-check", "-c", "model_provider=fake", "-c", &provider, PROMPT];
            words.map(str::to_owned).to_vec()
        },
        environment: |_| vec![("FAKE_KEY", "key".into())],
        answer: |reply| Answer::responses(reply),
    }));
    peers.extend(installed("aider").map(|binary| Peer {
        name: "aider --message",
        binary,
        words: |_| {
            let words = ["--no-git", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-analytics"];
            let more = ["--model", "openai/gpt-4o", "--message", PROMPT];
            words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
        },
        environment: |url| vec![("OPENAI_API_BASE", format!("{url}/v1")), ("OPENAI_API_KEY", "key".into())],
        answer: |reply| Answer::openai(reply),
    }));
    peers
}

/// Whether there is a network here besides loopback.
pub fn has_network() -> bool {
    let cards = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    cards.lines().skip(2).any(|line| !line.trim_start().starts_with("lo:"))
}

/// One turn of one program.
struct Turn {
    first_request: Duration,
    whole: Duration,
    memory: u64,
    bytes: u64,
    calls: usize,
}

/// Adds a turn of each program. Without `TRIMTAB_PEERS` there is nobody beside whom this one could stand.
pub fn measure(ours: &Path, table: &mut Table) {
    let peers = peers(ours);
    if peers.len() < 2 {
        return eprintln!("No other program is measured: TRIMTAB_PEERS names no folder that has one.");
    }
    if has_network() {
        return eprintln!(
            "No other program is measured: there is a network here that it would use. Run this in a network namespace \
             of its own; the first lines of bench/src/peers.rs show how."
        );
    }
    let mut ours: Option<[Duration; 2]> = None;
    for peer in &peers {
        let turns: Result<Vec<Turn>, String> = (0..ROUNDS).map(|_| turn(peer)).collect();
        let turns = match turns {
            Ok(turns) => turns,
            Err(why) => {
                eprintln!("{why}");
                continue;
            }
        };
        let sorted = |pick: fn(&Turn) -> Duration| {
            let mut times: Vec<Duration> = turns.iter().map(pick).collect();
            times.sort();
            times
        };
        let (first, whole) = (sorted(|turn| turn.first_request), sorted(|turn| turn.whole));
        let [our_first, our_whole] = *ours.get_or_insert([median(&first), median(&whole)]);
        let row = |what: &str| format!("{}: {what}", peer.name);
        table.durations(&row("start to first request"), first, Some(("trimtab", our_first)));
        table.durations(&row("one turn"), whole, Some(("trimtab", our_whole)));
        table.size(&row("peak memory"), turns.iter().map(|turn| turn.memory).max().unwrap_or(0), "all its processes");
        let calls = turns.iter().map(|turn| turn.calls).max().unwrap_or(0);
        let bytes = turns.iter().map(|turn| turn.bytes).max().unwrap_or(0);
        table.size(&row("first request"), bytes, &format!("{calls} calls in all"));
    }
}

fn turn(peer: &Peer) -> Result<Turn, String> {
    let broken = |error: std::io::Error| format!("{} cannot be run: {error}", peer.name);
    let home = tempfile::tempdir().map_err(broken)?;
    let project = tempfile::tempdir().map_err(broken)?;
    std::fs::write(project.path().join("README.md"), "# Helo\n").map_err(broken)?;
    let provider = FakeProvider::start();
    provider.always((peer.answer)(Reply::new().text(["A small ", "surface."])));
    let mut command = Command::new(&peer.binary);
    command.args((peer.words)(provider.url())).current_dir(project.path()).env_clear();
    command.env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TRIMTAB_HOME", home.path().join("trimtab")).envs((peer.environment)(provider.url()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().map_err(broken)?;
    let (mut first, mut memory) = (None, 0);
    let status = loop {
        let asked = || provider.requests().iter().any(|request| contains(&request.raw, PROMPT));
        if first.is_none() && asked() {
            first = Some(began.elapsed());
        }
        memory = memory.max(tree_memory(&child));
        if let Some(status) = child.try_wait().map_err(broken)? {
            break status;
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            return Err(format!("{} did not come to an end", peer.name));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let whole = began.elapsed();
    let requests = provider.requests();
    let bytes = requests.iter().filter(|request| contains(&request.raw, PROMPT)).map(|request| request.raw.len()).max();
    match (first, bytes, status.success()) {
        (Some(first_request), Some(bytes), true) => {
            Ok(Turn { first_request, whole, memory, bytes: bytes as u64, calls: requests.len() })
        }
        _ => Err(format!("{} came to no answer ({status}, {} requests)", peer.name, requests.len())),
    }
}

fn contains(raw: &[u8], words: &str) -> bool {
    raw.windows(words.len()).any(|window| window == words.as_bytes())
}

/// The memory of a process and of everything it has started, each at its peak.
fn tree_memory(child: &Child) -> u64 {
    let mut sum = 0;
    let mut waiting = vec![child.id()];
    while let Some(id) = waiting.pop() {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
        let status = read("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        sum += peak.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1_024;
        let children = read(&format!("task/{id}/children"));
        waiting.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    sum
}

//! The browser UI in a real browser: what it weighs, how soon it can be used, how long a session of ten thousand
//! events takes to open and scroll, and whether a fast stream keeps the frames short.
//!
//! Needs Node and Chromium, and the packages of `web/`. What happens in the page stands in `web/tests/figures.mjs`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

use crate::table::Table;

/// Events of the long session.
const EVENTS: u64 = 10_000;
/// Tools that a reply uses at once, and the replies of one request.
const TOOLS: usize = 20;
const REPLIES: usize = 10;
/// 2,000 tokens a second: so many pieces, one every so often, each of four tokens.
const PIECES: usize = 2_500;
const PACE: Duration = Duration::from_millis(2);

pub fn measure(binary: &Path, table: &mut Table) {
    let program = Program::new(binary);
    std::fs::write(program.project().join("a.txt"), "one line\n".repeat(40)).expect("writes");
    assert_eq!(program.run(&["trust"]).code, Some(0));
    // A window that is never full: a summary would be one more call of the model, for which there is no answer here.
    let facts = "[\"anthropic/claude-sonnet-4-5\"]\nwindow = 10000000\n";
    std::fs::write(program.home().join("models.toml"), facts).expect("writes");
    let long = long_session(&program);
    let gate = program.provider.gate();
    let words = ["some more of ", "the **words** ", "of an answer, ", "with `code` too.\n\n"];
    let pieces = (0..PIECES).map(|n| words[n % words.len()]);
    program.provider.push(Answer::anthropic(Reply::new().text(pieces)).gated(&gate));
    let served = Served::start(&program, "bench", &[]);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/figures.mjs");
    let mut page = Command::new("node");
    page.arg(script).args([&served.login, &long]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut page = page.spawn().expect("Node is needed to measure the browser");
    let mut lines = BufReader::new(page.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("stream"));
    program.provider.block_on(async {
        for _ in 0..PIECES + 10 {
            tokio::time::sleep(PACE).await;
            gate.release(1);
        }
    });
    gate.open();
    let found = lines.next().and_then(Result::ok).expect("figures");
    assert!(page.wait().expect("ends").success());
    let found: Value = serde_json::from_str(&found).expect("JSON");

    let idle = times(&found["idleFrames"]);
    let frame = crate::table::median(&idle);
    table.size("page: JavaScript before it can be used, gzip", found["gzip"].as_u64().unwrap_or(0), "limit 200 kB");
    table.durations(
        "page: can be used",
        times(&found["usable"]),
        Some(("a request of the API", first(&found["request"]))),
    );
    let events = format!("page: {} events open", found["events"]);
    table.durations(&events, times(&found["open"]), Some(("can be used", first(&found["usable"]))));
    let opened = Some(("the end of it", first(&found["open"])));
    table.durations("page: its beginning is drawn too", times(&found["whole"]), opened);
    table.durations("page: frames while it scrolls", times(&found["scrollFrames"]), Some(("an idle frame", frame)));
    table.durations(
        "page: frames at 2,000 tokens a second",
        times(&found["streamFrames"]),
        Some(("an idle frame", frame)),
    );
}

/// A session with at least so many events; its name.
fn long_session(program: &Program) -> String {
    let mut session: Option<String> = None;
    let mut looks = 0;
    loop {
        for _ in 0..REPLIES {
            // Each look is another one: who asks for the same again and again is stopped.
            let reply = (0..TOOLS).fold(Reply::new().text(["I look."]), |reply, n| {
                looks += 1;
                reply.tool(format!("t{n}"), "search", [json!({"pattern": format!("word{looks}")}).to_string()])
            });
            program.provider.push(Answer::anthropic(reply));
        }
        let words = "Some **words** of an answer.\n\n```rust\nfn main() {}\n```\n\n".repeat(4);
        program.provider.push(Answer::anthropic(Reply::new().text([words])));
        let mut arguments = vec!["run", "--json", "--trust", "--max-steps", "50", "Look at it again and again"];
        if let Some(session) = &session {
            arguments.extend(["--session", session]);
        }
        let ended = program.run(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let events = ended.events();
        session = events[0]["session"].as_str().map(str::to_owned);
        if events.iter().filter_map(|event| event["seq"].as_u64()).max() >= Some(EVENTS) {
            return session.expect("a session");
        }
    }
}

fn times(found: &Value) -> Vec<Duration> {
    let all = found.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_f64).map(|millis| Duration::from_secs_f64(millis / 1_000.0)).collect()
}

fn first(found: &Value) -> Duration {
    let mut all = times(found);
    all.sort();
    crate::table::median(&all)
}

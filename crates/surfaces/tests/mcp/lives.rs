//! Nothing that a server starts outlives the program, however the program ends.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use trimtab_testkit::dice::Dice;
use trimtab_testkit::provider::{Answer, Reply};

use crate::checks;
use crate::scene::{Scene, checkpoint, processes_with, wait_until};

checks![
    a_server_and_its_family_end_with_the_program,
    a_server_that_is_switched_off_ends_while_the_program_goes_on,
    a_hundred_starts_and_kills_leave_no_process,
    kills_and_restarts_lose_no_session_and_leave_no_process,
];

/// Processes of the scripted server of this scene.
fn servers(scene: &Scene) -> Vec<String> {
    processes_with(&format!("--mcp-server {}", scene.folder().display()))
}

fn a_server_and_its_family_end_with_the_program() {
    for (signal, behaviors) in [
        (Some(Signal::KILL), &["family", "stubborn"][..]),
        (Some(Signal::TERM), &["family"]),
        (None, &["family", "stubborn"]),
    ] {
        let scene = Scene::new().with_server("helper", behaviors).listed();
        wait_until("the end after listing", || servers(&scene).is_empty());
        scene.program.run(&["rules", "add", "allow", "mcp", "helper:*"]);
        scene.asks(&[(if signal.is_some() { "mcp__helper__slow" } else { "mcp__helper__echo" }, json!({}))]);
        scene.says("Done.");
        let running = scene.program.spawn(&["run", "--json", "What do the notes say?"]);
        wait_until("the call", || !scene.lines("calls").is_empty());
        match signal {
            Some(signal) => {
                assert!(!servers(&scene).is_empty());
                running.signal(signal);
                drop(running);
            }
            None => assert_eq!(running.wait().code, Some(0)),
        }
        wait_until("no process of the server", || servers(&scene).is_empty());
        for shell in scene.lines("family") {
            let is_gone = || !std::path::Path::new(&format!("/proc/{shell}/status")).exists();
            wait_until("no process of its family", is_gone);
        }
    }
}

fn a_server_that_is_switched_off_ends_while_the_program_goes_on() {
    let scene = Scene::new().with_server("helper", &[]).listed();
    wait_until("the end after listing", || servers(&scene).is_empty());
    for rule in [["mcp", "helper:*"], ["run_command", "sleep *"]] {
        scene.program.run(&["rules", "add", "allow", rule[0], rule[1]]);
    }
    scene.asks(&[("mcp__helper__slow", json!({}))]);
    scene.asks(&[("mcp__helper__echo", json!({}))]);
    scene.asks(&[("run_command", json!({"command": "sleep 600"}))]);
    let running = scene.program.spawn(&["run", "--json", "What do the notes say?"]);
    wait_until("the call", || !scene.lines("calls").is_empty());
    // Another process switches it off during the call, which may end.
    assert_eq!(scene.program.run(&["mcp", "disable", "helper"]).code, Some(0));
    assert!(!servers(&scene).is_empty());
    std::fs::write(scene.folder().join("go"), "").expect("writes");
    wait_until("the third model call", || scene.program.provider.requests().len() > 2);
    assert!(scene.last_message().contains("is not approved, or is off"), "{}", scene.last_message());
    wait_until("no process of the server", || servers(&scene).is_empty());
    assert_eq!(scene.lines("calls").len(), 1, "only the call that had begun");
    running.signal(Signal::INT);
    running.wait();
}

fn a_hundred_starts_and_kills_leave_no_process() {
    let scene = Scene::new().with_server("helper", &["stubborn"]);
    for round in 0..100_u64 {
        let running = scene.program.spawn(&["mcp", "call", "helper", "hang"]);
        // Killed at ever later moments: before the start, in it, and in the call.
        std::thread::sleep(std::time::Duration::from_millis(round % 50 * 3));
        running.signal(Signal::KILL);
        drop(running);
    }
    assert!(!scene.lines("started").is_empty(), "some of them have started");
    wait_until("no process of the server", || servers(&scene).is_empty());
}

/// The program and its servers are killed at all moments of requests, and started again. `TRIMTAB_MCP_KILLS` says how often.
fn kills_and_restarts_lose_no_session_and_leave_no_process() {
    let rounds = std::env::var("TRIMTAB_MCP_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12);
    let scene = Scene::new().with_server("helper", &["family", "stubborn"]).listed();
    scene.program.run(&["rules", "add", "allow", "mcp", "helper:*"]);
    let (seed, _) = Dice::seed_and_lines(0);
    let mut dice = Dice::new(seed);
    let mut sent = 0;
    scene.program.provider.answer_with(|request| {
        Answer::anthropic(match request.body["messages"].to_string().contains("tool_result") {
            true => Reply::new().text(["Done."]),
            false => Reply::new().tool("toolu_1", "mcp__helper__slow", ["{}"]),
        })
    });
    for round in 0..rounds {
        let calls = scene.lines("calls").len();
        let _ = std::fs::remove_file(scene.folder().join("go"));
        let running = scene.program.spawn(&["run", "--json", &format!("What do the notes say? {round}")]);
        let kills_server = dice.once_in(3);
        if kills_server || dice.once_in(2) {
            wait_until("the call", || scene.lines("calls").len() > calls);
        } else {
            std::thread::sleep(std::time::Duration::from_millis(dice.below(200)));
        }
        if kills_server {
            // A server that dies ends its call and not the request, and its supervisor ends its family.
            let started = scene.lines("started");
            let id = started.last().and_then(|id| id.parse().ok()).and_then(Pid::from_raw).expect("a process");
            kill_process(id, Signal::KILL).expect("killed");
            let ended = running.wait();
            assert_eq!(ended.code, Some(0), "seed {seed:#x}, round {round}: {} {}", ended.stdout, ended.stderr);
            sent += 1;
        } else {
            running.signal(Signal::KILL);
            // Its last line may be cut.
            sent += usize::from(running.wait().stdout.contains("request.received"));
            std::fs::write(scene.folder().join("go"), "").expect("writes");
            let mut resumed = scene.program.run(&["resume", "--json"]);
            // Its end is unknown: it is asked about, and not repeated.
            if resumed.code == Some(3) {
                let asked = checkpoint(&resumed);
                resumed = scene.program.run(&["answer", "--json", &asked, "skip"]);
            }
            assert!(resumed.code.is_some_and(|code| code <= 1), "seed {seed:#x}, round {round}: {}", resumed.stdout);
        }
        wait_until("no process of the server", || servers(&scene).is_empty());
    }
    let family = scene.lines("family");
    for shell in &family {
        wait_until("no process of its family", || !std::path::Path::new(&format!("/proc/{shell}/status")).exists());
    }
    assert_eq!(scene.program.run(&["jobs", "--json"]).stdout, "", "nothing is left undone");
    let listed = scene.program.run(&["sessions", "list", "--json"]).events();
    assert!(
        listed.len() >= sent && sent > 0,
        "seed {seed:#x}: {sent} requests were accepted, {} are listed",
        listed.len()
    );
    for session in &listed {
        let id = session["session"].as_str().or(session["id"].as_str()).expect("an ID");
        assert_eq!(scene.program.run(&["sessions", "show", id]).code, Some(0), "{id}");
    }
    println!("    {rounds} rounds, {sent} accepted, {} starts of a server, seed {seed:#x}", family.len());
}

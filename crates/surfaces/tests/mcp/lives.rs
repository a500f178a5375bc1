//! Nothing that a server starts outlives the program, however the program ends.

use rustix::process::Signal;
use serde_json::json;

use crate::checks;
use crate::scene::{Scene, processes_with, wait_until};

checks![
    a_server_and_its_family_end_with_the_program,
    a_server_that_is_switched_off_ends_while_the_program_goes_on,
    a_hundred_starts_and_kills_leave_no_process
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

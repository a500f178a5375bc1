//! Nothing that a server starts outlives the program, however the program ends.

use rustix::process::Signal;
use serde_json::json;

use crate::checks;
use crate::scene::{Scene, processes_with, wait_until};

checks![a_server_and_its_family_end_with_the_program, a_hundred_starts_and_kills_leave_no_process];

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

//! Supervisors that were started before there was a command for them.

use std::fs;
use std::time::Duration;

use trimtab_vocab::CommandClass::Check;
use trimtab_vocab::Sandbox::{Off, Workspace};

use crate::scene::{Scene, processes_with, text};

crate::checks![
    a_supervisor_that_waited_puts_up_the_same_fences,
    what_appears_while_a_supervisor_waits_is_fenced_too,
    a_command_never_gets_the_variables_of_an_earlier_setup,
    a_command_without_a_fence_never_gets_a_supervisor_that_waited,
    a_supervisor_that_was_killed_while_it_waited_is_replaced,
    a_supervisor_that_waits_ends_when_nobody_can_use_it,
];

/// A scene in which a supervisor waits.
fn ready_scene() -> Scene {
    let scene = Scene { automatic: Some(Check), ..Scene::new() };
    assert_eq!(scene.sh("true", Workspace).exit_code, Some(0));
    wait_until_ready(&scene);
    scene
}

fn wait_until_ready(scene: &Scene) {
    while !scene.setup.ready.as_ref().unwrap().is_waiting() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The supervisor of this process that was started ahead. The only command of a scene is over, but its own supervisor may
/// take a moment to end.
fn waiting() -> Vec<u32> {
    let own = format!("PPid:\t{}", std::process::id());
    let is_own = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == own)
    };
    loop {
        let found: Vec<u32> = processes_with("early").into_iter().filter(is_own).collect();
        if found.len() == 1 {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn a_supervisor_that_waited_puts_up_the_same_fences() {
    let scene = ready_scene();
    let mut other = ready_scene();
    other.setup.ready = None;
    let (waited, started) = (scene.sh("exit 3", Workspace), other.sh("exit 3", Workspace));
    assert_eq!((waited.exit_code, &waited.fences), (Some(3), &started.fences), "{waited:?}");
}

fn what_appears_while_a_supervisor_waits_is_fenced_too() {
    let scene = ready_scene();
    fs::write(scene.at("in/.env"), "KEY=secret").unwrap();
    fs::write(scene.at("in/AGENTS.md"), "as it was").unwrap();
    fs::write(scene.at("home/.netrc"), "secret").unwrap();
    let script = "cat .env ~/.netrc; echo x > AGENTS.md; mkdir .git; echo $?";
    let outcome = scene.sh(script, Workspace);
    assert!(!text(&outcome).contains("secret"), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(scene.at("in/AGENTS.md")).unwrap(), "as it was");
    assert!(!fs::exists(scene.at("in/.git")).unwrap());
}

fn a_command_never_gets_the_variables_of_an_earlier_setup() {
    let mut scene = ready_scene();
    scene.setup.environment.push(("LC_NOW".into(), "new".into()));
    assert_eq!(text(&scene.sh("echo $LC_NOW", Workspace)).trim(), "new");
    wait_until_ready(&scene);
    scene.setup.private.push("LC_NOW".into());
    assert_eq!(text(&scene.sh("echo $LC_NOW", Workspace)).trim(), "");
}

fn a_command_without_a_fence_never_gets_a_supervisor_that_waited() {
    let mut scene = ready_scene();
    scene.automatic = None;
    let own = |link: &str| fs::read_link(link).unwrap().to_str().unwrap().to_owned();
    let outcome = scene.sh("readlink /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/user", Off);
    let expected = ["net", "pid", "user"].map(|name| own(&format!("/proc/self/ns/{name}")));
    assert_eq!(text(&outcome).lines().collect::<Vec<_>>(), expected);
    assert!(scene.setup.ready.as_ref().unwrap().is_waiting());
}

fn a_supervisor_that_was_killed_while_it_waited_is_replaced() {
    let scene = ready_scene();
    // The signal and the order race, so that once would not tell.
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM].repeat(20) {
        wait_until_ready(&scene);
        for pid in waiting() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, signal);
        }
        let outcome = scene.sh("echo here", Workspace);
        assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "here"), "{outcome:?}");
    }
}

fn a_supervisor_that_waits_ends_when_nobody_can_use_it() {
    let scene = ready_scene();
    let pids = waiting();
    drop(scene);
    // It was waited for as well, so that not even its number is left.
    while pids.iter().any(|pid| fs::exists(format!("/proc/{pid}")).unwrap()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

//! Supervisors that were started before there was a command for them.

use std::fs;
use std::time::{Duration, Instant};

use trimtab_vocab::CommandClass::Check;
use trimtab_vocab::Sandbox::{Off, Workspace};

use crate::scene::{Scene, processes_with, text};

crate::checks![
    a_supervisor_that_waited_puts_up_the_same_fences,
    what_appears_while_a_supervisor_waits_is_fenced_too,
    a_command_never_gets_the_variables_of_an_earlier_setup,
    a_command_without_a_fence_never_gets_a_supervisor_that_waited,
    a_mount_that_comes_or_goes_ends_a_supervisor_that_waits,
    a_folder_among_the_devices_needs_another_supervisor,
    a_supervisor_that_was_killed_while_it_waited_is_replaced,
    a_supervisor_that_ends_while_one_is_wanted_is_replaced_before_the_next_command,
    a_fence_that_was_killed_while_it_waited_is_replaced,
    a_supervisor_that_is_killed_after_its_report_leaves_nothing,
    a_supervisor_that_waits_ends_when_nobody_can_use_it,
    a_supervisor_that_is_started_for_nobody_ends,
];

/// A scene in which a supervisor waits.
fn ready_scene() -> Scene {
    let scene = Scene { automatic: Some(Check), ..Scene::new() };
    assert_eq!(scene.sh("true", Workspace).exit_code, Some(0));
    wait_until_ready(&scene);
    scene
}

fn wait_until_ready(scene: &Scene) {
    wait_until("a supervisor waits", || scene.setup.ready.as_ref().unwrap().is_waiting());
}

/// Well below the time after which a supervisor without an order ends.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "not so after 20 s: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The supervisor of this process that was started ahead. The only command of a scene is over, but its own supervisor may
/// take a moment to end.
fn waiting() -> Vec<u32> {
    wait_until("one supervisor is there", || own_supervisors().len() == 1);
    own_supervisors()
}

/// The supervisors that this process has started.
fn own_supervisors() -> Vec<u32> {
    let own = format!("PPid:\t{}", std::process::id());
    let is_own = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == own)
    };
    processes_with("early").into_iter().filter(is_own).collect()
}

fn kill_all(pids: Vec<u32>, signal: rustix::process::Signal) {
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// A scene whose supervisors have their temporary folders in this one.
fn scene_with_temp() -> (Scene, std::path::PathBuf) {
    let mut scene = Scene { automatic: Some(Check), ..Scene::new() };
    let temp = scene.at("temp");
    fs::create_dir(&temp).unwrap();
    scene.setup.environment.retain(|(name, _)| name != "TMPDIR");
    scene.setup.environment.push(("TMPDIR".into(), temp.clone().into()));
    (scene, temp)
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
    let script = "cat .env ~/.netrc; echo x > AGENTS.md; mkdir .git; echo over";
    let outcome = scene.sh(script, Workspace);
    assert!(text(&outcome).ends_with("over\n"), "{outcome:?}");
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

/// Set where the test may mount.
const INSIDE: &str = "TRIMTAB_TEST_INSIDE";

fn a_mount_that_comes_or_goes_ends_a_supervisor_that_waits() {
    if std::env::var_os(INSIDE).is_none() {
        let mut inside = std::process::Command::new("unshare");
        inside.args(["--user", "--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
        let ended = inside.arg("a_mount_that_comes_or_goes").env(INSIDE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && said.contains(" 1 passed; 0 failed"), "{said}");
        return;
    }
    let scene = Scene { automatic: Some(Check), ..Scene::new() };
    let place = scene.at("in/place");
    fs::create_dir(&place).unwrap();
    let last = std::cell::RefCell::new(Vec::new());
    let seen = |is_given_time: bool| {
        if is_given_time {
            wait_until("the supervisor has ended", || !own_supervisors().iter().any(|pid| last.borrow().contains(pid)));
        }
        let seen = text(&scene.sh("ls place; echo x > place/written", Workspace));
        wait_until_ready(&scene);
        // It has begun to watch the mounts once it waits for the order.
        std::thread::sleep(Duration::from_millis(200));
        last.replace(waiting());
        seen
    };
    assert_eq!(seen(false), "");
    // The name of a mount that leads elsewhere by now opens nothing there.
    let beneath = scene.at("in/real/bin");
    fs::create_dir_all(&beneath).unwrap();
    rustix::mount::mount("tmpfs", &beneath, "tmpfs", rustix::mount::MountFlags::empty(), c"").unwrap();
    assert_eq!(seen(false), "written\n");
    fs::create_dir_all(scene.at("home/.cargo/bin")).unwrap();
    fs::write(scene.at("home/.cargo/bin/tool"), "as it was").unwrap();
    fs::rename(scene.at("in/real"), scene.at("in/moved")).unwrap();
    std::os::unix::fs::symlink(scene.at("home/.cargo"), scene.at("in/real")).unwrap();
    let outcome = scene.sh("echo x > ~/.cargo/bin/tool; touch -d 2001-01-01 ~/.cargo/bin/tool; echo over", Workspace);
    assert!(text(&outcome).ends_with("over\n"), "{outcome:?}");
    assert_eq!(fs::read_to_string(scene.at("home/.cargo/bin/tool")).unwrap(), "as it was");
    rustix::mount::unmount(scene.at("in/moved/bin"), rustix::mount::UnmountFlags::empty()).unwrap();
    assert_eq!(seen(false), "written\n");
    for is_given_time in [true, false] {
        fs::remove_file(place.join("written")).unwrap();
        rustix::mount::mount("tmpfs", &place, "tmpfs", rustix::mount::MountFlags::empty(), c"").unwrap();
        fs::write(place.join("mounted"), "").unwrap();
        assert_eq!(seen(is_given_time), "mounted\n");
        assert!(fs::exists(place.join("written")).unwrap());
        rustix::mount::unmount(&place, rustix::mount::UnmountFlags::empty()).unwrap();
        assert_eq!(seen(is_given_time), "");
    }
}

fn a_folder_among_the_devices_needs_another_supervisor() {
    let scene = ready_scene();
    let shared = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut moved = Scene { automatic: Some(Check), base: shared, ..Scene::new() };
    moved.setup = scene.setup.clone();
    fs::create_dir(moved.at("in")).unwrap();
    let outcome = moved.sh("echo x > file; cat file", Workspace);
    assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "x"), "{outcome:?}");
}

fn a_supervisor_that_was_killed_while_it_waited_is_replaced() {
    let (scene, temp) = scene_with_temp();
    scene.setup.prepare();
    // The signal and the order race, so that once would not tell.
    for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM].repeat(20) {
        wait_until_ready(&scene);
        kill_all(waiting(), signal);
        let outcome = scene.sh("echo here", Workspace);
        assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "here"), "{outcome:?}");
    }
    // Only the one that waits now has a temporary folder.
    wait_until("the temporary folders are gone", || fs::read_dir(&temp).unwrap().count() <= 1);
}

fn a_supervisor_that_ends_while_one_is_wanted_is_replaced_before_the_next_command() {
    let scene = ready_scene();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
        let before = waiting();
        kill_all(before.clone(), signal);
        wait_until("another one waits", || own_supervisors().iter().any(|pid| !before.contains(pid)));
        wait_until_ready(&scene);
    }
    assert_eq!(text(&scene.sh("echo here", Workspace)).trim(), "here");
}

fn a_fence_that_was_killed_while_it_waited_is_replaced() {
    let scene = ready_scene();
    for _ in 0..10 {
        wait_until_ready(&scene);
        let fences = || {
            // Read each time, because the supervisor of the fence that was killed last may still be among them.
            let parents: Vec<String> = waiting().iter().map(|pid| format!("PPid:\t{pid}")).collect();
            let is_theirs = |pid: &u32| {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                status.lines().any(|line| parents.iter().any(|parent| line == parent))
            };
            processes_with("fence").into_iter().filter(is_theirs).collect::<Vec<u32>>()
        };
        wait_until("a fence waits", || !fences().is_empty());
        kill_all(fences(), rustix::process::Signal::KILL);
        let outcome = scene.sh("echo once >> log; cat log; rm log", Workspace);
        assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "once"), "{outcome:?}");
        assert!(outcome.fences.is_some_and(|fences| fences.namespaces && fences.processes.holds()));
    }
}

fn a_supervisor_that_is_killed_after_its_report_leaves_nothing() {
    let (scene, temp) = scene_with_temp();
    // It takes a while to remove this. Both a supervisor that was started for its command and one that had waited do it.
    for _ in 0..3 {
        let many = "mkdir \"$TMPDIR/many\" && cd \"$TMPDIR/many\" && seq 20000 | xargs touch";
        assert_eq!(scene.sh(many, Workspace).exit_code, Some(0));
        kill_all(own_supervisors(), rustix::process::Signal::KILL);
        wait_until("the folders of those that were killed are gone", || {
            let left = fs::read_dir(&temp).unwrap().flatten();
            left.filter(|folder| folder.path().join("many").is_dir()).count() == 0
        });
    }
}

fn a_supervisor_that_is_started_for_nobody_ends() {
    for _ in 0..5 {
        let mut scene = Scene { automatic: Some(Check), ..Scene::new() };
        scene.setup.prepare();
        // Before the process has started.
        scene.setup.ready = None;
        let start = Instant::now();
        while own_supervisors().is_empty() && start.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(1));
        }
        wait_until("it has ended", || own_supervisors().is_empty());
    }
}

fn a_supervisor_that_waits_ends_when_nobody_can_use_it() {
    let scene = ready_scene();
    let pids = waiting();
    drop(scene);
    // It was waited for as well, so that not even its number is left.
    wait_until("it has ended", || !pids.iter().any(|pid| fs::exists(format!("/proc/{pid}")).unwrap()));
}

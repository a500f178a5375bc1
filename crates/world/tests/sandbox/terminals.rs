//! Commands that have a terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use trimtab_vocab::Sandbox::{self, Off, ReadOnly, Workspace};

use crate::scene::{HOST, Scene, TERMINAL, nobody, processes_with, text, unique_sleep, wait, wait_for_processes};

crate::checks![
    who_asks_for_a_terminal_has_one_and_nobody_else,
    whoever_reads_from_a_terminal_is_told_that_the_input_has_ended,
    what_is_written_to_a_terminal_arrives_whole,
    a_stop_reaches_those_who_have_a_terminal,
    time_runs_out_for_those_who_have_a_terminal,
    letting_go_of_a_terminal_ends_nothing,
    nobody_types_into_a_terminal_from_inside,
    terminals_of_others_are_out_of_reach,
    a_command_opens_terminals_of_its_own,
    a_terminal_that_cannot_be_had_starts_nothing,
];

const ALL: [Sandbox; 3] = [Workspace, ReadOnly, Off];

fn scene() -> Scene {
    Scene { terminal: true, ..Scene::new() }
}

fn who_asks_for_a_terminal_has_one_and_nobody_else() {
    let script = "test -t 0 && test -t 1 && test -t 2 && echo all three; (echo own > /dev/tty) 2> /dev/null; stty size";
    for sandbox in ALL {
        let outcome = scene().sh(script, sandbox);
        assert_eq!(text(&outcome), "all three\r\nown\r\n24 80\r\n", "{sandbox:?}");
        assert_eq!((outcome.exit_code, outcome.left), (Some(0), 0));
        let outcome = Scene::new().sh("test -t 0 || test -t 1 || test -t 2 || tty", sandbox);
        assert_eq!((text(&outcome).as_str(), outcome.exit_code), ("not a tty\n", Some(1)), "{sandbox:?}");
    }
    // The fences are the same ones.
    let scene = scene();
    let outcome = scene.sh("cat ~/.ssh/id; echo x > ../escaped", Workspace);
    assert!(!text(&outcome).contains("secret") && !scene.at("escaped").exists(), "{}", text(&outcome));
}

fn whoever_reads_from_a_terminal_is_told_that_the_input_has_ended() {
    let flush = "import termios; termios.tcflush(0, termios.TCIFLUSH)";
    let script = format!("cat; cat < /dev/tty; read line || echo nothing; python3 -c '{flush}'; cat; echo end");
    let outcome = scene().sh(&script, Workspace);
    assert_eq!((text(&outcome).as_str(), outcome.timed_out), ("nothing\r\nend\r\n", false));
}

fn what_is_written_to_a_terminal_arrives_whole() {
    let outcome = scene().sh("seq 100000; echo to >&2; printf last", Workspace);
    let lines: Vec<String> = (1..=100_000).map(|n| n.to_string()).chain(["to".into(), "last".into()]).collect();
    assert!(text(&outcome) == lines.join("\r\n"), "{} bytes", outcome.output.total());
}

fn a_stop_reaches_those_who_have_a_terminal() {
    let sleep = unique_sleep();
    let script = format!("trap '' HUP TERM INT; setsid sleep {sleep} & echo begun; sleep {sleep}");
    let stop = async {
        while processes_with(&sleep).len() != 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let outcome = scene().run_until(&["sh", "-c", &script], Workspace, |_| {}, stop);
    assert!(outcome.stopped && outcome.stuck == 0, "{outcome:?}");
    assert_eq!(text(&outcome), "begun\r\n");
    assert_eq!(processes_with(&sleep), [0; 0]);
    // The same when nobody waits for it any more.
    let scene = scene();
    let plan = scene.plan(&["sh", "-c", &script], Workspace);
    wait(async {
        let begun = async {
            while processes_with(&sleep).len() != 2 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let never = std::future::pending();
        tokio::select! {
            _ = trimtab_world::sandbox::run(&plan, &scene.setup, |_| {}, never, nobody()) => panic!("it ended"),
            () = begun => {}
        }
    });
    wait_for_processes(&sleep, 0);
}

fn time_runs_out_for_those_who_have_a_terminal() {
    let sleep = unique_sleep();
    let scene = Scene { timeout: 1, ..scene() };
    let outcome = scene.sh(&format!("trap '' HUP TERM; yes > /dev/tty & while :; do sleep {sleep}; done"), Workspace);
    assert!(outcome.timed_out && outcome.stuck == 0, "{outcome:?}");
    assert!(text(&outcome).starts_with("y\r\ny\r\n"));
    assert_eq!(processes_with(&sleep), [0; 0]);
}

fn letting_go_of_a_terminal_ends_nothing() {
    let outcome = scene().sh("exec > /dev/null 2>&1 < /dev/null; sleep 0.5; echo back > /dev/tty; exit 7", Workspace);
    assert_eq!((text(&outcome).as_str(), outcome.exit_code), ("back\r\n", Some(7)));
}

#[cfg(target_os = "linux")]
fn nobody_types_into_a_terminal_from_inside() {
    let script = "import fcntl, os, termios\n\
                  for f in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):\n\
                  \x20   try: fcntl.ioctl(f, termios.TIOCSTI, b'x'); print('typed')\n\
                  \x20   except OSError as error: print(error.errno)";
    let outcome = scene().run(&["python3", "-c", script], Workspace);
    assert_eq!(text(&outcome), "1\r\n1\r\n1\r\n1\r\n");
}

#[cfg(not(target_os = "linux"))]
fn nobody_types_into_a_terminal_from_inside() {}

/// The terminal of somebody else, who has just typed a password that nobody has read yet.
#[cfg(target_os = "linux")]
pub(crate) struct Theirs {
    screen: fs::File,
    pub(crate) end: fs::File,
    pub(crate) name: String,
}

#[cfg(target_os = "linux")]
impl Theirs {
    pub(crate) fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions};
        let screen = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
        rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
        rustix::io::ioctl_fionbio(&screen, true).unwrap();
        rustix::pty::unlockpt(&screen).unwrap();
        let name = rustix::pty::ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
        let end = fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(&name).unwrap();
        let mut modes = rustix::termios::tcgetattr(&end).unwrap();
        modes.local_modes.remove(LocalModes::ECHO);
        rustix::termios::tcsetattr(&end, OptionalActions::Now, &modes).unwrap();
        let mut screen = fs::File::from(screen);
        screen.write_all(b"SECRET\n").unwrap();
        Self { screen, end, name }
    }

    /// Whether something was written to it, or its settings are others.
    pub(crate) fn is_touched(&mut self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.end).unwrap().local_modes;
        self.screen.read(&mut [0; 64]).is_ok() || modes.contains(rustix::termios::LocalModes::ECHO)
    }
}

#[cfg(target_os = "linux")]
fn terminals_of_others_are_out_of_reach() {
    for (sandbox, terminal) in [Workspace, ReadOnly].into_iter().flat_map(|sandbox| [(sandbox, true), (sandbox, false)])
    {
        let mut theirs = Theirs::new();
        let script =
            format!("timeout 2 head -1 {0}; (echo x > {0}) 2> /dev/null && echo out; stty -F {0} echo", theirs.name);
        let outcome = Scene { terminal, ..Scene::new() }.sh(&script, sandbox);
        let said = text(&outcome);
        assert!(!said.contains("SECRET") && !said.contains("out\n") && !theirs.is_touched(), "{sandbox:?}: {said}");
    }
    // Outside of the sandbox they are as near as ever, so this would be seen.
    let theirs = Theirs::new();
    assert_eq!(text(&Scene::new().sh(&format!("timeout 2 head -1 {}", theirs.name), Off)), "SECRET\n");
}

#[cfg(not(target_os = "linux"))]
fn terminals_of_others_are_out_of_reach() {}

fn a_command_opens_terminals_of_its_own() {
    let script = "import os, pty, sys; pty.spawn(['sh', '-c', 'test -t 0 && tty > /dev/tty && stty size && echo x > /dev/stderr'])";
    for (sandbox, terminal) in [Workspace, ReadOnly].into_iter().flat_map(|sandbox| [(sandbox, true), (sandbox, false)])
    {
        let outcome = Scene { terminal, ..Scene::new() }.run(&["python3", "-c", script], sandbox);
        if cfg!(target_os = "linux") && outcome.fences.as_ref().is_some_and(|fences| fences.namespaces) {
            assert!(text(&outcome).contains("/dev/pts/0"), "{sandbox:?}: {}", text(&outcome));
            assert!(text(&outcome).trim_end().ends_with("x"), "{sandbox:?}: {}", text(&outcome));
        }
    }
    // The one that it was given has a name, and can be opened by it.
    let outcome = scene().sh("tty; echo by name > $(tty); echo again > /dev/stderr; cat < /dev/stdin", Workspace);
    if outcome.fences.as_ref().is_some_and(|fences| fences.namespaces) {
        assert_eq!(text(&outcome), "/dev/console\r\nby name\r\nagain\r\n");
    }
}

fn a_terminal_that_cannot_be_had_starts_nothing() {
    let script = "mount --bind /dev/null /dev/ptmx && exec \"$0\" \"$@\"";
    let mut test = std::process::Command::new("unshare");
    test.args(["-Urm", "sh", "-c", script]).arg(std::env::current_exe().unwrap()).args([HOST, "ls", TERMINAL]);
    let said = test.output().map(|output| String::from_utf8(output.stdout).unwrap()).unwrap_or_default();
    if said.is_empty() {
        return println!("  it cannot be tried here");
    }
    assert!(said.starts_with("The command was not started, because it needs a terminal, and none"), "{said}");
    println!("  {said}");
}

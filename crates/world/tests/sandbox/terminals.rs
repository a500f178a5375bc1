//! Commands that have a terminal.

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

fn a_terminal_that_cannot_be_had_starts_nothing() {
    let script = "mount --bind /dev/null /dev/ptmx && exec \"$0\" \"$@\"";
    let mut test = std::process::Command::new("unshare");
    test.args(["-Urm", "sh", "-c", script]).arg(std::env::current_exe().unwrap()).args([HOST, "ls", TERMINAL]);
    let said = test.output().map(|output| String::from_utf8(output.stdout).unwrap()).unwrap_or_default();
    if said.is_empty() {
        return println!("  it cannot be tried here");
    }
    assert!(said.starts_with("The command was not started, since it is to have a terminal, and none"), "{said}");
    println!("  {said}");
}

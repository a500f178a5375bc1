//! How commands begin, end and are ended.

use std::cell::RefCell;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use trimtab_vocab::Overtime;
use trimtab_vocab::Sandbox::{self, Off, ReadOnly, Workspace};
use trimtab_world::sandbox::{CommandOutcome, CommandReport, SUPERVISE, run};

use crate::scene::{HOST, HOST_ATTENDED, Scene, nobody, processes_with, text, unique_sleep, wait, wait_for_processes};

crate::checks![
    a_command_tells_its_exit_code_and_its_signal,
    both_outputs_come_in_order_and_as_they_are_written,
    input_is_empty_and_there_is_no_terminal,
    a_program_that_is_not_there_is_said_to_be_so,
    what_is_not_what_was_approved_is_not_started,
    a_folder_that_is_not_there_is_said_to_be_so,
    a_launcher_that_is_not_there_is_said_to_be_so,
    a_long_output_is_bounded_and_counted,
    a_slow_reader_holds_the_command_up_and_nothing_else,
    time_runs_out_politely_first,
    time_runs_out_for_those_who_do_not_listen,
    what_is_overdue_goes_on_until_somebody_decides,
    a_killed_host_does_not_leave_what_is_overdue,
    what_is_left_running_is_killed_and_counted,
    what_ends_by_itself_soon_after_is_not_killed,
    a_stop_kills_the_whole_tree,
    a_stop_before_the_start_starts_nothing,
    a_dropped_future_kills_the_whole_tree,
    a_killed_host_leaves_nothing_running,
    a_killed_supervisor_takes_the_command_along,
    a_fork_bomb_can_be_stopped,
    a_fork_storm_ends_with_its_time_and_with_a_stop,
    files_that_the_host_has_open_are_not_inherited,
    programs_that_do_not_want_to_end_are_ended_and_said_to_be_so,
    what_a_program_uses_up_is_bounded,
];

const ALL: [Sandbox; 3] = [Workspace, ReadOnly, Off];

fn a_command_tells_its_exit_code_and_its_signal() {
    let scene = Scene::new();
    for sandbox in ALL {
        let outcome = scene.sh("exit 7", sandbox);
        assert_eq!((outcome.exit_code, outcome.signal, outcome.not_started), (Some(7), None, None), "{sandbox:?}");
        let outcome = scene.sh("kill -SEGV $$", sandbox);
        assert_eq!((outcome.exit_code, outcome.signal), (None, Some(11)), "{sandbox:?}");
    }
}

fn both_outputs_come_in_order_and_as_they_are_written() {
    let scene = Scene::new();
    let script = "echo one; echo two >&2; while [ ! -e go ]; do sleep 0.02; done; echo three; echo four >&2";
    // It goes on once its first words were seen; if they came only with the last ones, it would not.
    let seen = |_: &[u8]| std::fs::write(scene.at("in/go"), "").unwrap();
    let outcome = scene.run_until(&["sh", "-c", script], Workspace, seen, std::future::pending());
    assert!(!outcome.timed_out, "it came in one piece");
    assert_eq!(text(&outcome), "one\ntwo\nthree\nfour\n");
}

fn input_is_empty_and_there_is_no_terminal() {
    let outcome = Scene::new().sh("cat; (: < /dev/tty) 2>/dev/null && echo terminal; echo end", Off);
    assert_eq!(text(&outcome), "end\n");
}

fn what_is_not_what_was_approved_is_not_started() {
    let scene = Scene::new();
    let plan = || scene.plan(&["touch", "made"], Workspace);
    let go = |plan| wait(run::run(&plan, &scene.setup, |_| {}, std::future::pending(), crate::scene::nobody()));
    let other = scene.plan(&["touch", "other"], Workspace);
    let hash = |plan: &trimtab_vocab::CommandPlan| blake3::hash(plan.run().sealed().as_bytes()).to_hex().to_string();
    let refused = go(plan().named(hash(&other)));
    assert_eq!(refused.not_started.as_deref(), Some("The command differs from the approved command."));
    assert!(!scene.at("in/made").exists());
    assert_eq!(go(plan().named(hash(&plan()))).exit_code, Some(0));
    assert!(scene.at("in/made").exists());
}

fn a_program_that_is_not_there_is_said_to_be_so() {
    let scene = Scene::new();
    for sandbox in ALL {
        let outcome = scene.run(&["no-such-program"], sandbox);
        assert_eq!(outcome.not_started.as_deref(), Some("no-such-program: command not found."));
        assert_eq!(text(&outcome), "");
    }
    std::fs::write(scene.at("in/script"), "#!/no/such/interpreter\n").unwrap();
    assert_eq!(scene.run(&["./script"], Off).not_started.as_deref(), Some("./script may not be executed."));
    std::process::Command::new("chmod").arg("+x").arg(scene.at("in/script")).status().unwrap();
    let why = scene.run(&["./script"], Off).not_started.unwrap();
    assert_eq!(why, "./script cannot be run: the interpreter that it names is not there.");
    assert!(scene.run(&[], Off).not_started.is_some());
}

fn a_folder_that_is_not_there_is_said_to_be_so() {
    let scene = Scene::new();
    std::fs::remove_dir(scene.at("in")).unwrap();
    let why = scene.sh("true", Workspace).not_started.unwrap();
    assert!(why.contains("/in cannot be used: No such file"), "{why}");
}

fn a_launcher_that_is_not_there_is_said_to_be_so() {
    let mut scene = Scene::new();
    scene.setup.launcher = "/no/such/launcher".into();
    let why = scene.sh("true", Workspace).not_started.unwrap();
    assert!(why.starts_with("The supervisor /no/such/launcher cannot be started"), "{why}");
    scene.setup.launcher = "/bin/true".into();
    assert!(scene.sh("true", Workspace).not_started.is_some());
}

fn a_long_output_is_bounded_and_counted() {
    let start = Instant::now();
    let mut streamed = 0;
    let scene = Scene::new();
    let script = "echo begin; head -c 100000000 /dev/zero; echo end";
    let outcome =
        scene.run_until(&["sh", "-c", script], Workspace, |bytes| streamed += bytes.len(), std::future::pending());
    assert_eq!(outcome.output.total(), 100_000_010);
    assert_eq!(streamed, 100_000_010);
    let kept = outcome.output.bytes();
    assert!(kept.len() < 2_100_000 && kept.starts_with(b"begin\n") && kept.ends_with(b"end\n"));
    println!("  100 MB took {:?}", start.elapsed());
}

fn a_slow_reader_holds_the_command_up_and_nothing_else() {
    let scene = Scene::new();
    let mut chunks = 0;
    let stop = tokio_sleep(300);
    let slow = |_: &[u8]| {
        chunks += 1;
        std::thread::sleep(Duration::from_millis(20));
    };
    let outcome = scene.run_until(&["sh", "-c", "yes"], Workspace, slow, stop);
    assert!(outcome.stopped && outcome.output.total() > 0);
    assert!(chunks < 60, "{chunks} chunks");
}

fn time_runs_out_politely_first() {
    let mut scene = Scene::new();
    scene.timeout = 1;
    let outcome = scene.sh("trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done", Workspace);
    assert!(outcome.timed_out && !outcome.stopped);
    // The shell may say more about the `sleep` that was told to end as well.
    assert!(outcome.exit_code == Some(3) && text(&outcome).ends_with("bye\n"), "{}", text(&outcome));
}

fn time_runs_out_for_those_who_do_not_listen() {
    let mut scene = Scene::new();
    scene.timeout = 1;
    let sleep = unique_sleep();
    let outcome = scene.sh(&format!("trap '' TERM; sleep {sleep} & sleep {sleep}; sleep {sleep}"), Workspace);
    assert!(outcome.timed_out);
    assert_eq!(outcome.signal, Some(9));
    assert!(processes_with(&sleep).is_empty());
}

/// Runs a command whose time is up after a second, and answers when it says so.
fn overdue(script: &str, answers: &[Overtime]) -> (CommandOutcome, usize) {
    let mut scene = Scene::new();
    (scene.timeout, scene.attended) = (1, true);
    let plan = scene.plan(&["sh", "-c", script], Workspace);
    let (sender, overtime) = mpsc::channel(4);
    let mut asked = 0;
    let tell = |told: CommandReport<'_>| {
        if told == CommandReport::Overdue {
            if let Some(answer) = answers.get(asked) {
                sender.try_send(*answer).unwrap();
            }
            asked += 1;
        }
    };
    let outcome = wait(run(&plan, &scene.setup, tell, std::future::pending(), overtime));
    (outcome, asked)
}

fn what_is_overdue_goes_on_until_somebody_decides() {
    // Nobody answers: it comes to its own end.
    let (outcome, asked) = overdue("sleep 1.5; echo done", &[]);
    assert_eq!((asked, outcome.timed_out, text(&outcome).as_str()), (1, false, "done\n"));
    // As long again, and then without a limit.
    let (outcome, asked) = overdue("sleep 2.7; echo done", &[Overtime::Seconds(1), Overtime::Unlimited]);
    assert_eq!((asked, outcome.timed_out, outcome.exit_code), (2, false, Some(0)));
    assert!(outcome.took > Duration::from_secs(2));
    // It is ended, politely first.
    let script = "trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done";
    let (outcome, asked) = overdue(script, &[Overtime::Seconds(1), Overtime::None]);
    assert!(asked == 2 && outcome.timed_out && !outcome.stopped, "{outcome:?}");
    assert!(outcome.exit_code == Some(3) && text(&outcome).ends_with("bye\n"), "{}", text(&outcome));
}

fn a_killed_host_does_not_leave_what_is_overdue() {
    let sleep = unique_sleep();
    let mut host = std::process::Command::new("/proc/self/exe")
        .args([HOST_ATTENDED, &format!("{} sleep {sleep}", escapes(&sleep))])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can be started once more");
    let mut word = [0; 7];
    std::io::Read::read_exact(host.stdout.as_mut().unwrap(), &mut word).unwrap();
    assert_eq!(&word, b"overdue");
    assert_eq!(processes_with(&sleep).len(), 4, "it goes on");
    host.kill().unwrap();
    wait_for_processes(&sleep, 0);
    host.wait().unwrap();
}

/// Three ways to get out of a shell's sight.
fn escapes(sleep: &str) -> String {
    format!(
        "sleep {sleep} & setsid sleep {sleep} & (setsid sh -c 'nohup sleep {sleep} >/dev/null 2>&1 & exit' & exit); "
    )
}

fn what_is_left_running_is_killed_and_counted() {
    let scene = Scene::new();
    for sandbox in ALL {
        let sleep = unique_sleep();
        let outcome = scene.sh(&format!("{} echo started", escapes(&sleep)), sandbox);
        assert_eq!((outcome.exit_code, outcome.left, outcome.stuck), (Some(0), 3, 0), "{sandbox:?}");
        assert_eq!(processes_with(&sleep), [0; 0], "{sandbox:?}");
        assert_eq!(text(&outcome), "started\n");
    }
}

fn what_ends_by_itself_soon_after_is_not_killed() {
    let scene = Scene::new();
    // Soon is a matter of how busy the machine is.
    let in_time = (0..20).any(|_| {
        let outcome = scene.sh("(sleep 0.02; echo late) & exit 0", Workspace);
        outcome.left == 0 && text(&outcome) == "late\n"
    });
    assert!(in_time);
}

async fn tokio_sleep(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn a_stop_kills_the_whole_tree() {
    let scene = Scene::new();
    let mut took = Vec::new();
    for round in 0..30 {
        let sandbox = ALL[round % 3];
        let sleep = unique_sleep();
        let stopped = RefCell::new(None);
        let stop = async {
            while processes_with(&sleep).len() != 4 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            *stopped.borrow_mut() = Some(Instant::now());
        };
        let script = format!("trap '' TERM INT HUP; {} sleep {sleep}; echo never", escapes(&sleep));
        let outcome = scene.run_until(&["sh", "-c", &script], sandbox, |_| {}, stop);
        took.push(stopped.borrow().unwrap().elapsed());
        assert_eq!(processes_with(&sleep), [0; 0], "{sandbox:?}");
        assert!(outcome.stopped && outcome.stuck == 0 && text(&outcome).is_empty(), "{outcome:?}");
    }
    took.sort();
    println!("  from stop to nothing left: median {:?}, longest {:?}", took[took.len() / 2], took[took.len() - 1]);
}

fn a_stop_before_the_start_starts_nothing() {
    let scene = Scene::new();
    let outcome = scene.run_until(&["touch", "made"], Workspace, |_| {}, async {});
    assert!(outcome.stopped, "{outcome:?}");
    assert!(!scene.at("in/made").exists());
}

fn a_dropped_future_kills_the_whole_tree() {
    let scene = Scene::new();
    let sleep = unique_sleep();
    let script = format!("{} sleep {sleep}", escapes(&sleep));
    let plan = scene.plan(&["sh", "-c", &script], Workspace);
    wait(async {
        let started = async {
            while processes_with(&sleep).len() != 4 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::select! {
            _ = run(&plan, &scene.setup, |_| {}, std::future::pending(), nobody()) => panic!("it ended"),
            () = started => {}
        }
    });
    println!("  gone after {:?}", wait_for_processes(&sleep, 0));
}

fn a_killed_host_leaves_nothing_running() {
    let sleep = unique_sleep();
    let script = format!("{} sleep {sleep}", escapes(&sleep));
    let mut host = std::process::Command::new("/proc/self/exe")
        .args([HOST, &script])
        .stdout(Stdio::null())
        .spawn()
        .expect("the test can be started once more");
    wait_for_processes(&sleep, 4);
    host.kill().unwrap();
    println!("  gone after {:?}", wait_for_processes(&sleep, 0));
    host.wait().unwrap();
}

fn parent_of(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn a_killed_supervisor_takes_the_command_along() {
    let scene = Scene::new();
    let sleep = unique_sleep();
    let stop = async {
        while processes_with(&sleep).len() != 1 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        // Its parent is the first process of its namespace, and the supervisor is the parent of that one.
        let mut supervisor = processes_with(&sleep)[0];
        while processes_with(SUPERVISE).iter().any(|pid| *pid == parent_of(supervisor)) {
            supervisor = parent_of(supervisor);
        }
        let supervisor = rustix::process::Pid::from_raw(supervisor.cast_signed()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
        std::future::pending().await
    };
    let outcome = scene.run_until(&["sleep", &sleep], Workspace, |_| {}, stop);
    assert!(outcome.lost && outcome.exit_code.is_none(), "{outcome:?}");
    wait_for_processes(&sleep, 0);
}

/// So many chains of processes, of which each starts the next one and ends.
const STORM: &str = "import os, sys, time
end = time.time() + 60
for chain in range(150):
    if os.fork() == 0:
        while time.time() < end:
            if os.fork() != 0: os._exit(0)
        os._exit(0)
time.sleep(60)";

fn a_fork_storm_ends_with_its_time_and_with_a_stop() {
    let scene = Scene { timeout: 2, ..Scene::new() };
    let start = Instant::now();
    let outcome = scene.run(&["python3", "-c", STORM], Workspace);
    assert!(outcome.timed_out && outcome.stuck == 0, "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let scene = Scene::new();
    let start = Instant::now();
    let outcome = scene.run_until(&["python3", "-c", STORM], Workspace, |_| {}, tokio_sleep(2000));
    assert!(outcome.stopped && outcome.stuck == 0, "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

fn a_fork_bomb_can_be_stopped() {
    let scene = Scene::new();
    let sleep = unique_sleep();
    // It grows to a few hundred, each in a session of its own, and keeps itself alive.
    let script = format!(
        "b() {{ [ $1 -gt 6 ] && exec sleep {sleep}; n=$(($1+1)); (setsid sh -c \"$B\" b $n &) ; (setsid sh -c \"$B\" b $n &); }}; b $1"
    );
    let outcome = scene.run_until(
        &["env", &format!("B={}", script), "sh", "-c", &format!("{script}; sleep {sleep}"), "b", "0"],
        Workspace,
        |_| {},
        tokio_sleep(250),
    );
    assert!(outcome.stopped && outcome.stuck == 0);
    assert_eq!(processes_with(&sleep), [0; 0]);
}

fn files_that_the_host_has_open_are_not_inherited() {
    let scene = Scene::new();
    let secret = std::fs::File::open(scene.at("data/db")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    for sandbox in ALL {
        let outcome = scene.sh("ls /proc/self/fd | wc -l", sandbox);
        // Its three and the one by which `ls` lists.
        assert_eq!(text(&outcome).trim(), "4", "{sandbox:?}");
    }
}

/// A program of the corpus below, run for a second; what is left is looked for by a number of its own.
fn hostile(script: &str) -> (CommandOutcome, String) {
    let mut scene = Scene::new();
    scene.timeout = 1;
    scene.setup.limits.output = 64 * 1024;
    let sleep = unique_sleep();
    let outcome = scene.sh(&script.replace("NUMBER", &sleep), Workspace);
    assert!(outcome.not_started.is_none() && !outcome.lost && outcome.stuck == 0, "{script}: {outcome:?}");
    assert_eq!(processes_with(&sleep), [0; 0], "{script}");
    (outcome, sleep)
}

fn programs_that_do_not_want_to_end_are_ended_and_said_to_be_so() {
    // As many as the machine bears would be everybody's trouble while this runs.
    let fork_bomb = "i=0; while [ $i -lt 300 ]; do (setsid sleep NUMBER &) ; i=$((i+1)); done; sleep NUMBER";
    let endless = "yes; sleep NUMBER";
    let deaf = "trap '' TERM INT HUP; while :; do sleep NUMBER; done";
    let silent = "exec >&- 2>&- <&-; sleep NUMBER";
    let family = "for i in 1 2 3 4 5; do setsid sh -c '(sleep NUMBER &) ; sleep NUMBER' & done; wait";
    for script in [fork_bomb, endless, deaf, silent, family] {
        let (outcome, _) = hostile(script);
        assert!(outcome.timed_out && !outcome.stopped, "{script}: {outcome:?}");
        assert!(outcome.took < Duration::from_secs(60), "{script}: {:?}", outcome.took);
        assert!(outcome.output.bytes().len() < 70 * 1024, "{script}");
    }
    // A daemon that lets go of everything ends with the command that started it.
    let (outcome, _) = hostile("(setsid sh -c 'exec >/dev/null 2>&1 </dev/null; sleep NUMBER' &) ; echo done");
    assert!(!outcome.timed_out && outcome.exit_code == Some(0) && outcome.left > 0, "{outcome:?}");
}

fn what_a_program_uses_up_is_bounded() {
    let mut scene = Scene::new();
    scene.setup.limits.file_size = Some(1 << 20);
    scene.setup.limits.cpu_s = Some(1);
    scene.setup.limits.output = 64 * 1024;
    // Files, in the folder and in the temporary folder, which is gone afterwards.
    let outcome = scene
        .sh("echo $TMPDIR; trap '' XFSZ; cat /dev/zero > $TMPDIR/big; cat /dev/zero > big; stat -c %s big", Workspace);
    assert!(text(&outcome).trim_end().ends_with("1048576"), "{}", text(&outcome));
    let temp = text(&outcome).lines().next().unwrap().to_owned();
    for _ in 0..1000 {
        if !std::path::Path::new(&temp).exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!std::path::Path::new(&temp).exists());
    // The processor.
    let outcome = scene.sh("while :; do :; done", Workspace);
    assert!(matches!(outcome.signal, Some(9 | 24)) && !outcome.timed_out, "{outcome:?}");
    // Processes, where they can be counted.
    scene.setup.limits.processes = Some(40);
    let outcome = scene.sh("i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all", Workspace);
    if outcome.fences.as_ref().is_some_and(|fences| fences.namespaces) && rustix::process::getuid().as_raw() != 0 {
        assert!(!text(&outcome).ends_with("all\n"), "{}", text(&outcome));
    }
    // Memory.
    scene.setup.limits = trimtab_world::sandbox::CommandLimits { memory: Some(256 << 20), ..Default::default() };
    let outcome = scene.run(&["python3", "-c", "x = bytearray(1 << 30); print('all')"], Workspace);
    assert!(outcome.exit_code == Some(1) && text(&outcome).contains("MemoryError"), "{}", text(&outcome));
    // Output: however much comes, the beginning and the end are kept, and the rest is counted.
    scene.setup.limits = trimtab_world::sandbox::CommandLimits { output: 64 * 1024, ..Default::default() };
    let outcome = scene.sh("echo begin; head -c 300000000 /dev/zero; echo end", Workspace);
    let kept = outcome.output.bytes();
    assert!(kept.len() < 66 * 1024 && kept.starts_with(b"begin\n") && kept.ends_with(b"end\n"));
    assert_eq!(outcome.output.dropped(), 300_000_010 - 64 * 1024);
}

//! The real binary with its sessions in PostgreSQL: killed, resumed and watched from other processes.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use trimtab_testkit::postgres::PostgresServer;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

const PIECES: [&str; 4] = ["Once ", "upon ", "a ", "time."];
const WHOLE: &str = "Once upon a time.";

fn story() -> Answer {
    Answer::anthropic(Reply::new().text(PIECES))
}

/// A program whose sessions are on the server, and where it keeps nothing else of them.
fn program(server: &PostgresServer) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_STORE_URL", &server.schema());
    program
}

/// From now on it is another machine that has the same folder.
fn move_house(program: &mut Program) {
    let home = program.home().with_file_name("other-home");
    program.set("TRIMTAB_HOME", home.to_str().expect("a path"));
}

#[test]
fn a_killed_request_is_finished_from_elsewhere() {
    let Some(server) = PostgresServer::shared() else { return };
    let mut program = program(server);
    let gate = program.provider.gate();
    program.provider.push(story().gated(&gate));
    program.provider.always(story());
    let running = program.spawn(&["run", "Tell me a story"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    running.signal(Signal::KILL);
    running.wait();
    assert!(!program.home().join("trimtab.db").exists(), "nothing is kept in the folder");
    move_house(&mut program);
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let events = resumed.events();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((of("request.received"), of("answer"), of("request.finished")), (1, 1, 1));
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    assert_eq!(program.run(&["resume"]).stdout, format!("{WHOLE}\n"));
    let jobs = program.run(&["jobs", "--all"]);
    assert!(jobs.stdout.contains("completed"), "{}", jobs.stdout);
    let doctor = program.run(&["doctor"]);
    assert!(doctor.stdout.contains("store: postgres://…@127.0.0.1"), "{}", doctor.stdout);
    let audit = program.run(&["audit"]);
    assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
}

#[test]
fn another_process_sees_the_words_while_they_come() {
    let Some(server) = PostgresServer::shared() else { return };
    let mut program = program(server);
    let gate = program.provider.gate();
    program.provider.push(story().gated(&gate));
    let running = program.spawn(&["run", "--json", "Tell me a story"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    move_house(&mut program);
    let watching = program.spawn(&["resume", "--json"]);
    watching.wait_for_line("model.called");
    // All that was said before the last piece, which is not sent yet.
    let chunks = trimtab_testkit::provider::anthropic::stream(&Reply::new().text(PIECES)).len();
    gate.release(chunks - 4);
    let live = watching.line_with("reply.delta");
    assert!(live.contains("Once"), "{live}");
    assert!(!watching.stdout().contains("request.finished"), "it comes while the other one still runs");
    gate.open();
    let (running, watching) = (running.wait(), watching.wait());
    assert_eq!((running.code, watching.code), (Some(0), Some(0)), "{}{}", running.stderr, watching.stderr);
    let recorded = |ended: &trimtab_testkit::program::Ended| {
        ended.events().into_iter().filter(|event| event["seq"].is_u64()).collect::<Vec<_>>()
    };
    let (whole, seen) = (recorded(&running), recorded(&watching));
    assert!(seen.len() > 5 && whole.ends_with(&seen), "both have seen the same: {whole:#?} {seen:#?}");
}

#[test]
fn an_unreachable_server_and_a_wrong_address_are_explained() {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_STORE_URL", "postgres://ann:geheim@127.0.0.1:1/team");
    for command in [&["run", "Hi"][..], &["doctor"]] {
        let ended = program.run(command);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_ne!(ended.code, Some(0));
        assert!(said.contains("Cannot reach PostgreSQL at 127.0.0.1:1") && said.contains("Start the server"), "{said}");
        assert!(!said.contains("geheim"), "{said}");
    }
    let config = program.run(&["config", "get", "store.url"]);
    assert_eq!(config.stdout, "postgres://…@127.0.0.1:1/team\n");
    program.set("TRIMTAB_STORE_URL", "mysql://ann:geheim@db/team");
    let ended = program.run(&["run", "Hi"]);
    assert!(
        ended.stderr.contains("Invalid value for store.url") && !ended.stderr.contains("geheim"),
        "{}",
        ended.stderr
    );
}

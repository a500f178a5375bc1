//! The editor surface: from the start of the process to the answer to `initialize`, and a list of 1,000 sessions.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use trimtab_testkit::editor::Editor;
use trimtab_testkit::program::Program;

use crate::ROUNDS;
use crate::startup::bare;
use crate::table::{Table, median};

/// Sessions that are listed.
const SESSIONS: usize = 1_000;

pub fn measure(binary: &Path, table: &mut Table) {
    let program = Program::new(binary);
    let folder = program.project().canonicalize().expect("a folder");
    let mut bare_starts: Vec<Duration> = (0..ROUNDS).map(|_| bare(binary)).collect();
    bare_starts.sort();
    let beside = Some(("--version", median(&bare_starts)));
    let starts = (0..ROUNDS).map(|_| initialized(&program).1).collect();
    table.durations("acp: process start to initialize answered (aim: 30 ms)", starts, beside);

    let (mut editor, _) = initialized(&program);
    let mut left = SESSIONS;
    while left > 0 {
        // An editor may have 64 sessions open.
        let session = editor.open(&folder);
        editor.call("session/close", json!({"sessionId": session}));
        left -= 1;
    }
    let list = |editor: &mut Editor| {
        let began = Instant::now();
        let listed = editor.call("session/list", json!({"cwd": folder}));
        assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(SESSIONS));
        began.elapsed()
    };
    let lists = (0..ROUNDS).map(|_| list(&mut editor)).collect();
    table.durations("acp: 1,000 sessions listed (aim: 50 ms)", lists, beside);
    let fresh = (0..ROUNDS).map(|_| initialized(&program).1).collect();
    table.durations("acp: start beside 1,000 sessions (aim: 30 ms)", fresh, beside);
}

fn initialized(program: &Program) -> (Editor, Duration) {
    let began = Instant::now();
    let mut editor = Editor::start(program);
    editor.initialize(json!({}));
    (editor, began.elapsed())
}

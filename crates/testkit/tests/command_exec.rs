//! What the policy takes for the words of a command is what a shell makes of them: lines made by dice are run
//! for real, with a program in the path that reports its words.
//!
//! `TRIMTAB_LINES=100000 cargo test -p trimtab-testkit --test command_exec -- --nocapture` takes that many.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use trimtab_engine::proposal::command::{Policy, judge};
use trimtab_testkit::dice::Dice;

/// One of several.
fn one<'a>(dice: &mut Dice, choices: &[&'a str]) -> &'a str {
    dice.pick(choices).copied().unwrap_or_default()
}

/// What words are made of: plain, quoted, escaped, and everything that a shell might do something with.
const PIECES: &[&str] = &[
    "a",
    "b.txt",
    "-l",
    "--all",
    "x=1",
    "src/main.rs",
    ".",
    "..",
    "./x",
    "1",
    "2",
    "é",
    "日本",
    "\u{a0}",
    "\u{200b}",
    "'a b'",
    "''",
    "\"\"",
    "\"a b\"",
    "\"it's\"",
    "'say \"x\"'",
    "\\ ",
    "\\'",
    "\\\"",
    "\\\\",
    "\\a",
    "\\$",
    "\\n",
    "\"\\$x\"",
    "\"\\\\\"",
    "\"\\n\"",
    "\"\\`\"",
    "'\\'",
    "$'a\\tb'",
    "$'\\x41'",
    "$'it\\'s'",
    "$\"x\"",
    "$x",
    "${x}",
    "$HOME",
    "$(echo x)",
    "`echo x`",
    "$((1+1))",
    "$@",
    "$?",
    "$$",
    "$",
    "\"$\"",
    "{a,b}",
    "{1..3}",
    "{a}",
    "{}",
    "{,}",
    "a{b,c}d",
    "\"{a,b}\"",
    "~",
    "~/x",
    "~root",
    "a~",
    "x=~",
    "\"~\"",
    "*",
    "?",
    "[ab]",
    "[!a]",
    "a*",
    "\"*\"",
    "\\*",
    "'?'",
    "**",
    "#",
    "a#b",
    "#c",
    "!",
    "!x",
    "!!",
    "\\\n",
    "\\\nx",
    "%",
    "@",
    "^",
    "+",
    "=",
    ",",
    ":",
    "a=b",
    "a[0]",
    "--x=y",
    "--x='y z'",
    "--x=\"y\"",
    "-",
    "--",
    "\\~",
    "\\#",
    "'#'",
    "\"#\"",
    "a\\ b",
    "'a'b",
    "a'b'",
    "\"a\"'b'c",
    "'a''b'",
    "\\a\\b",
    "\u{201c}x\u{201d}",
    "a\\\nb",
    "'a\nb'",
    "\"a\nb\"",
    "\t",
    "\"\\\n\"",
    "a\\",
    "(",
    ")",
    "[",
    "]",
    "a]b",
    "}",
    "{",
    "a}b",
    "if",
    "then",
    "do",
    "time",
    "!",
    "function",
    "case",
    "in",
    "[[",
    "]]",
];

/// What stands between the parts of a line.
const BETWEEN: &[&str] =
    &[" ; ", " && ", " || ", ";", "\n", " | ", " & ", " # c\n", "\\\n ; ", " ;; ", " |& ", " && \n "];

/// What stands between words.
const SPACES: &[&str] = &[" ", " ", " ", "  ", "\t", " \\\n", "", "\r", "\u{b}", "\u{3000}"];

fn line(dice: &mut Dice) -> String {
    let mut line = String::new();
    let parts = dice.pick(&[1, 1, 1, 2, 3]).copied().unwrap_or(1);
    for part in 0..parts {
        if part > 0 {
            line.push_str(one(dice, BETWEEN));
        }
        if dice.below(30) == 0 {
            line.push_str(one(
                dice,
                &[
                    "x=1 ",
                    " ",
                    "\t",
                    "! ",
                    "time ",
                    "\\\n",
                    "'' ",
                    "> f ",
                    "2>&1 ",
                    "CI=1 ",
                    "NO_COLOR=1 RUST_LOG=a=b ",
                    "CI='1' ",
                    "CI=1\t",
                    "\"CI\"=1 ",
                    "CI+=1 ",
                    "CI=$x ",
                    "< f ",
                    "<b.txt ",
                ],
            ));
        }
        line.push_str(one(
            dice,
            &[
                "echo", "ls", "'echo'", "e\"ch\"o", "\\echo", "echo\\\n", "cat", "report", "r'eport'", "wc", "cd",
                "sort", "test", "printf", "sed",
            ],
        ));
        for _ in 0..dice.below(5) {
            line.push_str(one(dice, SPACES));
            for _ in 0..=dice.below(3) {
                let piece = one(dice, PIECES);
                // Mostly plain, so that many lines are known.
                line.push_str(if dice.below(3) == 0 { piece } else { one(dice, &PIECES[..38]) });
            }
        }
        if dice.below(25) == 0 {
            line.push_str(one(
                dice,
                &[
                    " > f",
                    " 2>/dev/null",
                    " <f",
                    " >>f",
                    " 2>&1",
                    " <<< x",
                    " < f",
                    " <src/main.rs",
                    " < b.txt 2>&1",
                    " <f <b.txt",
                    " < $x",
                    " <*",
                    " [ a ]",
                    " [",
                    " [a",
                    " a[",
                    " &>f",
                    " # end",
                    "\\",
                    " \\",
                ],
            ));
        }
    }
    line
}

/// Programs that report their words: most as functions of the shell, which is quick, and one as a program.
const FUNCTIONS: [&str; 9] = ["echo", "ls", "cat", "wc", "cd", "sort", "test", "printf", "sed"];
/// Each process has a file of its own: the parts of a pipeline write at the same time.
const REPORT: &str = "{ printf '%s\\001' NAME \"$@\"; printf '\\002'; } >> \"$REPORT/PID\"";

/// Runs a line as the product would, and gives the words of each program that it called.
fn called(folder: &Path, number: usize, line: &str) -> Vec<Vec<String>> {
    let reports = folder.join(format!("reports-{number}"));
    fs::create_dir(&reports).expect("a folder");
    let report_of =
        |name: &str| REPORT.replace("printf", "builtin printf").replace("NAME", name).replace("PID", "$BASHPID");
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).env_clear().env("REPORT", &reports).env("HOME", HOME).env("LC_ALL", "C.UTF-8");
    shell.env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()));
    for name in FUNCTIONS {
        shell.env(format!("BASH_FUNC_{name}%%"), format!("() {{ {}; }}", report_of(name)));
    }
    // Whatever else is called is not there, and reports itself all the same.
    let nobody = format!("() {{ {}; }}", report_of("").replace("  ", " "));
    shell.env("BASH_FUNC_command_not_found_handle%%", nobody);
    shell.current_dir(folder.join("work")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().expect("bash");
    let mut calls = Vec::new();
    for report in fs::read_dir(&reports).expect("the folder") {
        let bytes = fs::read(report.expect("a report").path()).expect("a report");
        let text = String::from_utf8(bytes).expect("words are texts");
        let each = text.split_terminator('\u{2}');
        calls.extend(each.map(|call| call.split_terminator('\u{1}').map(str::to_owned).collect::<Vec<_>>()));
    }
    // What is still running writes nothing any more that could be taken for the next line's.
    let _ = fs::remove_dir_all(&reports);
    calls
}

const HOME: &str = "/home/ada";

#[test]
fn what_is_known_of_a_line_is_what_a_shell_executes() {
    if !Command::new("bash").arg("-c").arg(":").status().is_ok_and(|status| status.success()) {
        return println!("there is no bash here");
    }
    let (seed, wanted) = Dice::seed_and_lines(3_000);
    let folder = std::env::temp_dir().join(format!("trimtab-exec-{}", std::process::id()));
    let work = folder.join("work");
    for path in ["bin", "work/src"] {
        fs::create_dir_all(folder.join(path)).expect("a folder");
    }
    for name in ["a", "b.txt", "x", "f", "src/main.rs"] {
        fs::write(work.join(name), "").expect("a file");
    }
    let program = folder.join("bin/report");
    fs::write(&program, format!("#!/bin/sh\n{}\n", REPORT.replace("NAME", "report").replace("PID", "$$")))
        .expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("may be run");
    let policy = Policy::new(work.display().to_string(), HOME);
    let mut dice = Dice::new(seed);
    let (mut known, mut calls) = (0, 0);
    let mut wrong = Vec::new();
    for _ in 0..wanted {
        let line = line(&mut dice);
        let Some(expected) = judge(&line, &policy).argv else { continue };
        known += 1;
        let ran = called(&folder, known, &line);
        calls += ran.len();
        let mut left = expected.clone();
        // What stands behind `||` is not called when all goes well; of parts side by side, either may be first.
        let surplus = ran.iter().any(|call| match left.iter().position(|one| one == call) {
            Some(at) => {
                left.remove(at);
                false
            }
            None => true,
        });
        // A program by its path is not there, does not report itself, and ends a chain; `[` is the shell's own.
        let silent = |call: &Vec<String>| call[0].contains('/') || matches!(call[0].as_str(), "" | "." | "[");
        if surplus || (!left.is_empty() && !expected.iter().any(silent) && !line.contains("||")) {
            wrong.push(format!("{line:?}\n  checked  {expected:?}\n  executed {ran:?}"));
        }
    }
    fs::remove_dir_all(&folder).expect("is removed");
    println!("{wanted} lines, {known} of them known, {calls} calls compared, seed {seed}");
    assert!(known * 20 > wanted, "too few lines are known to say much: {known}");
    assert!(wrong.is_empty(), "{} differ (seed {seed}):\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

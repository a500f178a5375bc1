//! Draws the pictures of the guide: the real program in a terminal, with a scripted model.
//!
//! `cargo build && cargo run -p trimtab-surfaces --example screens` writes `docs/screens/*.svg`.

#![allow(clippy::disallowed_methods, reason = "it makes its own folders and writes pictures")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use trimtab_testkit::picture::svg;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

fn main() {
    let target = std::env::current_exe().expect("a path");
    let binary = target.parent().and_then(|folder| folder.parent()).expect("a folder").join("trimtab");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens");
    std::fs::create_dir_all(&root).expect("a folder");
    let keep = |name: &str, terminal: &Terminal| {
        // What moves never settles.
        if !terminal.screen().contains("esc stops") {
            terminal.settled();
        }
        let picture = at_home(&terminal.with_screen(svg));
        std::fs::write(root.join(format!("{name}.svg")), picture).expect("writes");
        println!("{name}\n{}\n", terminal.screen());
    };
    set_up(&binary, keep);
    work(&binary, keep);
    plan(&binary, keep);
    questions(&binary, keep);
    std::fs::write(root.join("tour.svg"), tour(&root)).expect("writes");
}

/// The screens of one request, and for how many seconds the moving picture shows each.
const TOUR: [(&str, u32); 5] = [("start", 2), ("permission", 6), ("working", 3), ("answer", 6), ("changes", 5)];

/// One request as a moving picture. Where nothing may move, it is the permission prompt.
fn tour(root: &Path) -> String {
    let pictures = TOUR.map(|(name, seconds)| {
        let picture = std::fs::read_to_string(root.join(format!("{name}.svg"))).expect("a picture");
        let (head, body) = picture.split_once('\n').expect("a line");
        (head.to_owned(), body.trim_end().trim_end_matches("</svg>").to_owned(), seconds)
    });
    let (head, all) = (&pictures[0].0, f64::from(pictures.iter().map(|(_, _, seconds)| seconds).sum::<u32>()));
    let (mut style, mut frames, mut from) = (String::new(), String::new(), 0);
    for (number, (own, body, seconds)) in pictures.iter().enumerate() {
        assert_eq!(own, head, "the screens have one size");
        let (begin, end) = (f64::from(from) / all * 100.0, f64::from(from + seconds) / all * 100.0);
        let _ = writeln!(
            style,
            "@keyframes f{number}{{0%{{visibility:hidden}}{begin:.2}%{{visibility:visible}}{end:.2}%{{visibility:hidden}}}}\n\
             .f{number}{{animation:f{number} {all}s step-end infinite}}"
        );
        let _ = write!(frames, "<g class=\"f f{number}\">\n{body}</g>\n");
        from += seconds;
    }
    format!(
        "{head}\n<style>\n.f{{visibility:hidden}}.f1{{visibility:visible}}\n{style}\
         @media (prefers-reduced-motion:reduce){{.f{{animation:none}}}}\n</style>\n{frames}</svg>\n"
    )
}

/// The pictures show a person's folder, not the one that was made for them.
fn at_home(picture: &str) -> String {
    let temporary = format!("{}/.tmp", std::env::temp_dir().display());
    let mut parts = picture.split(&temporary);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |picture, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        format!("{picture}/home/ada{rest}")
    })
}

fn program(binary: &PathBuf) -> Program {
    let mut program = Program::new(binary);
    let folder = program.project();
    std::fs::create_dir(folder.join("src")).expect("a folder");
    let code = "fn main() {\n    let name = \"world\";\n    println!(\"hello {name}\");\n}\n";
    std::fs::write(folder.join("src/main.rs"), code).expect("writes");
    let tests = "for test in parse greet args; do echo \"test $test ... ok\"; sleep 0.4; done\nsleep 2\n";
    std::fs::write(folder.join("test.sh"), tests).expect("writes");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.canonicalize().expect("a folder").to_str().expect("a path"));
    program.set("COLORTERM", "truecolor");
    program.set("COLORFGBG", "15;0");
    program
}

fn say(terminal: &Terminal, words: &str) {
    terminal.wait_for("? help");
    terminal.press(words);
    terminal.wait_for(words);
    terminal.press("\r");
}

fn set_up(binary: &PathBuf, keep: impl Fn(&str, &Terminal)) {
    let mut program = program(binary);
    program.unset("ANTHROPIC_API_KEY");
    let terminal = Terminal::start(&program, &[], 90, 20);
    terminal.wait_for("Welcome");
    keep("set-up", &terminal);
}

/// The list of the work, of which so many entries are done.
fn steps(done: usize) -> String {
    let texts = ["Read the program", "Greet by name", "Run the tests"];
    let todos = texts.iter().enumerate().map(|(at, text)| json!({"text": text, "completed": at < done}));
    json!({"todos": todos.collect::<Vec<_>>()}).to_string()
}

fn work(binary: &PathBuf, keep: impl Fn(&str, &Terminal)) {
    let program = program(binary);
    let provider = &program.provider;
    let gate = provider.gate();
    let words = "I'll read the program first.";
    provider.push(Answer::anthropic(
        Reply::new().text([words]).tool("a", "read_file", [json!({"path": "src/main.rs"}).to_string()]).tool(
            "b",
            "set_steps",
            [steps(1)],
        ),
    ));
    provider.push(Answer::anthropic(
        Reply::new().tool(
            "c",
            "edit_file",
            [json!({"path": "src/main.rs", "blocks": [{
        "search": "    let name = \"world\";",
        "replace": "    let name = std::env::args().nth(1).unwrap_or_else(|| \"world\".into());"}]})
            .to_string()],
        ),
    ));
    provider.push(Answer::anthropic(Reply::new().tool("d", "set_steps", [steps(2)]).tool(
        "e",
        "run_command",
        [json!({ "command": "sh test.sh" }).to_string()],
    )));
    provider.push(Answer::anthropic(Reply::new().tool("f", "set_steps", [steps(3)])));
    let answer = "## Done\n\nThe program greets the **name** from the command line:\n\n```rust\nlet name = std::env::args().nth(1).unwrap_or_else(|| \"world\".into());\n```\n\n| call | prints |\n|---|---|\n| `hello` | hello world |\n| `hello Ada` | hello Ada |\n\n- without a name, it prints *world*\n- all 3 tests pass\n";
    provider.push(Answer::anthropic(Reply::new().text([answer])).gated(&gate));
    let terminal = Terminal::start(&program, &[], 100, 34);
    terminal.wait_for("? help");
    keep("start", &terminal);
    say(&terminal, "Add a greeting for a given name");
    terminal.wait_for("Run this command?");
    terminal.wait_for("enter to answer");
    keep("permission", &terminal);
    terminal.press("1");
    terminal.wait_for("test args");
    keep("working", &terminal);
    gate.open();
    terminal.wait_for("✓ Done");
    keep("answer", &terminal);
    terminal.press("\x1bc");
    terminal.wait_for("let name");
    keep("changes", &terminal);
    terminal.press("q");
    terminal.press("\x0f");
    terminal.wait_for("Transcript");
    keep("transcript", &terminal);
    terminal.press("q");
    terminal.wait_for("? help");
    terminal.press("\x1bt");
    terminal.wait_for("How long each call took");
    keep("trace", &terminal);
    terminal.press("q");
    terminal.wait_for("? help");
    terminal.press("?");
    terminal.wait_for("Requests");
    keep("help", &terminal);
    terminal.press("q");
    terminal.wait_for("? help");
    terminal.press("\x1bs");
    terminal.wait_for("Sessions in this folder");
    keep("sessions", &terminal);
}

fn plan(binary: &PathBuf, keep: impl Fn(&str, &Terminal)) {
    let program = program(binary);
    let steps = json!({"summary": "A login page with a table of users.", "steps": [
        {"title": "Add the users table", "files": ["src/users.rs"], "estimate": "10 min"},
        {"title": "Add the login page", "details": "Log in and log out.", "files": ["src/login.rs"], "dependsOn": ["1"]},
        {"title": "Add tests", "commands": ["cargo test"], "dependsOn": ["2"]}], "assumptions": ["SQLite is enough"]});
    program.provider.push(Answer::anthropic(Reply::new().tool("p", "propose_plan", [steps.to_string()])));
    let terminal = Terminal::start(&program, &[], 90, 28);
    terminal.wait_for("? help");
    terminal.press("\x1b[Z\x1b[Z");
    terminal.wait_for("plan:");
    terminal.wait_for("? help");
    say_now(&terminal, "Add a login page");
    terminal.wait_for("Approve this plan");
    terminal.wait_for("enter to answer");
    keep("plan", &terminal);
    terminal.press("2");
    terminal.wait_for("move the step");
    keep("plan-editor", &terminal);
}

fn questions(binary: &PathBuf, keep: impl Fn(&str, &Terminal)) {
    let program = program(binary);
    let question = json!({"question": "Which database should the app use?", "options": ["SQLite", "PostgreSQL"]});
    program.provider.push(Answer::anthropic(Reply::new().tool("q", "ask_user", [question.to_string()])));
    let terminal = Terminal::start(&program, &[], 44, 14);
    say(&terminal, "Store the users in a database");
    terminal.wait_for("Which database");
    terminal.wait_for("enter to answer");
    keep("question", &terminal);
}

fn say_now(terminal: &Terminal, words: &str) {
    terminal.press(words);
    terminal.wait_for(words);
    terminal.press("\r");
}

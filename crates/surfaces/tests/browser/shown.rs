//! What the page shows of what the engine does: steps, workflows, pictures, conversations, commands.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use trimtab_testkit::provider::{Answer, Reply, images};
use trimtab_testkit::served::Served;

use super::{asks, flows::trusting, node, program, says, walks};

#[test]
fn steps_workflows_pictures_and_talks_are_shown_as_they_are() {
    let mut program = trusting();
    program.set("TRIMTAB_COPILOT_PACE", "incremental");
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let pills = program.home().join("pills");
    std::fs::create_dir_all(&pills).expect("a folder");
    let review = "---\ndescription: Review a file\narguments: <file>\n---\nReview $1 with care.\n";
    std::fs::write(pills.join("review.md"), review).expect("a pill");

    for name in ["a.txt", "b.txt"] {
        std::fs::write(program.project().join(name), "words\n").expect("a file");
    }
    let begun = json!({"steps": [{"text": "Read", "completed": true}, "Write", "Test", "Tell"]});
    program.provider.push(asks("set_steps", &begun));
    program.provider.push(says("It is read."));
    let other = json!({"steps": [{"text": "Read", "completed": true}, "Write with library X", "Tell"]});
    program.provider.push(asks("set_steps", &other));
    program.provider.push(says("With X, then."));
    program.provider.push(says("It is fine."));
    program.provider.push(says("A small picture."));
    program.provider.push(says("What shall it be for?"));
    program.provider.push(says(r#"{"summary":"A log-in.","requirements":["Log in"],"decisions":[],"open":[]}"#));
    let write = |name: &str| json!({"path": name, "content": "words\n"}).to_string();
    let both = Reply::new().tool("t1", "write_file", [write("x.txt")]).tool("t2", "write_file", [write("y.txt")]);
    program.provider.push(Answer::anthropic(both));
    program.provider.push(says("One of two."));
    program.provider.push(says("Two.\n\n🖥 mkdir one\n🖥 mkdir two\n🖥 mkdir three"));
    program.provider.push(says(r#"{"verdict":"stop","command":"","reason":"Look at this first."}"#));
    let served = Served::start(&program, "test", &[]);
    walks(node("shown.mjs", &[&served.login]));
    let made = ["x.txt", "y.txt", "one", "two", "three"].map(|name| program.project().join(name).exists());
    assert_eq!(made, [true, false, true, false, false], "what was allowed ran, and nothing else");

    let sent: Vec<String> = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    let redirected = sent.iter().find(|body| body.contains("use library X instead")).expect("was sent");
    assert!(redirected.contains("Test") && redirected.contains("Tell"), "with the steps as they were: {redirected}");
    assert!(sent.iter().any(|body| body.contains("Review a.rs with care.")), "the workflow was sent");
    assert!(sent.iter().any(|body| body.contains("image/png")), "and so was the picture");
}

#[test]
fn a_list_of_findings_is_shown_where_that_is_set() {
    let mut program = trusting();
    program.set("TRIMTAB_COPILOT_SYNTHESIS", "list");
    std::fs::write(program.project().join("poem.txt"), "The cat sat on the mat\n").expect("a file");
    program.provider.push(asks("read_file", &json!({"path": "poem.txt"})));
    program.provider.push(says("A cat and a mat."));
    let served = Served::start(&program, "test", &[]);
    walks(node("list.mjs", &[&served.login]));
}

#[test]
fn files_are_named_and_attached_and_a_message_is_sent_again() {
    let program = trusting();
    let project = program.project();
    for (path, text) in [("src/invoice.py", "total = 1\n"), ("docs/invoices.md", "Invoices\n")] {
        std::fs::create_dir_all(project.join(path).parent().expect("a folder")).expect("made");
        std::fs::write(project.join(path), text).expect("written");
    }
    program.provider.push(says("One."));
    program.provider.push(says("Two."));
    let gate = program.provider.gate();
    let slow = Reply::new().text(["The first half ", "and the second half."]);
    program.provider.push(Answer::anthropic(slow).gated(&gate));
    gate.release(4);
    program.provider.push(says("Three."));
    program.provider.push(says("Four."));
    let served = Served::start(&program, "test", &[]);
    walks(node("composer.mjs", &[&served.login]));
}

#[test]
fn files_formulas_and_settings_are_shown() {
    let program = trusting();
    let project = program.project();
    std::fs::create_dir(project.join("src")).expect("made");
    let readme = "# Kite\n\n<script>alert(1)</script>\n\n<iframe src=\"/\"></iframe>\n";
    let mark = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\"><script>alert(1)</script><rect width=\"40\" height=\"20\"/></svg>";
    let page = "<style>h1 { color: rgb(1, 2, 3) }</style><link rel=preconnect href=http://127.0.0.1:1><h1>A page</h1>\
                <p id=run>not run</p><script>document.getElementById('run').textContent = 'run'</script>\
                <img src=http://127.0.0.1:1/x.png alt=elsewhere><a href=http://127.0.0.1:1/away>Away</a>\n";
    for (path, text) in [
        ("src/main.rs", "fn main() {}\n"),
        ("README.md", readme),
        (".env", "KEY=1\n"),
        ("mark.svg", mark),
        ("page.html", page),
    ] {
        std::fs::write(project.join(path), text).expect("written");
    }
    let dot = BASE64_STANDARD.decode(images::PNG).expect("base64");
    std::fs::write(project.join("dot.png"), dot).expect("written");
    let chart =
        r#"{"type":"bar","data":{"labels":["a"],"datasets":[{"label":"n","data":[3]}]},"options":{"title":"Sales"}}"#;
    program.provider.push(says(&format!(
        "The total $q_i\\,p_i$ costs $5 or $10.\n\n$$\n\\frac{{a}}{{b}}\n$$\n\n```chart\n{chart}\n```\n\nThe end.\n"
    )));
    let served = Served::start(&program, "test", &[]);
    walks(node("files.mjs", &[&served.login]));
}

#[test]
fn settings_rules_and_extensions_are_managed_in_the_page() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_STEPS", "7");
    let skill = program.home().join("skills/tidy");
    std::fs::create_dir_all(&skill).expect("made");
    std::fs::write(skill.join("SKILL.md"), "---\nname: tidy\ndescription: Tidy up\n---\nTidy up.\n").expect("written");
    for arguments in [
        ["rules", "add", "allow", "run_command", "cargo test *"].as_slice(),
        &["rules", "add", "deny", "run_command", "git push *"],
        &["trust"],
    ] {
        assert_eq!(program.run(arguments).code, Some(0));
    }
    let served = Served::start(&program, "test", &[]);
    let mut page = node("settings.mjs", &[&served.login]);
    let mut page = page.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(page.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    if line.trim() == "code" {
        let told = served.running.stderr();
        let code =
            told.lines().filter_map(|line| line.rsplit_once("within 5 minutes: ")).next_back().expect("a code").1;
        writeln!(page.stdin.take().expect("a pipe"), "{code}").expect("writes");
    }
    assert!(page.wait().expect("ends").success());
    let kept = std::fs::read_to_string(program.home().join("config.toml")).expect("there");
    assert!(
        kept.contains("sandbox = \"off\"") && kept.contains("budget_usd = 2.5") && !kept.contains("effort"),
        "{kept}"
    );
}

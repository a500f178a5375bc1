//! What the page shows of what the engine does: steps, workflows, pictures, conversations, commands.

use serde_json::json;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

use super::{asks, flows::trusting, node, says, walks};

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

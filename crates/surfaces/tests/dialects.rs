//! One scenario, every dialect: what a person or a program sees does not depend on who answers.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_vocab::Usage;

/// How a provider speaks: the settings that say so, and what it answers.
struct Spoken {
    kind: &'static str,
    api: &'static str,
    answer: fn(Reply) -> Answer,
}

const DIALECTS: &[Spoken] = &[
    Spoken { kind: "anthropic", api: "auto", answer: Answer::anthropic },
    Spoken { kind: "openai", api: "chat", answer: Answer::openai },
    Spoken { kind: "openai", api: "responses", answer: Answer::responses },
    Spoken { kind: "gemini", api: "auto", answer: Answer::gemini },
    Spoken { kind: "ollama", api: "auto", answer: Answer::ollama },
];

fn reply() -> Reply {
    let usage = Usage { input_tokens: 25, output_tokens: 15, ..Usage::default() };
    Reply::new().text(["Hel", "lo, ", "wörld 🦀."]).usage(usage)
}

/// The program with a provider that speaks like this.
fn program(Spoken { kind, api, .. }: &Spoken) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_PROVIDERS_SOME_KIND", kind);
    program.set("TRIMTAB_PROVIDERS_SOME_API", api);
    let url = program.provider.url().to_owned();
    program.set("TRIMTAB_PROVIDERS_SOME_BASE_URL", &url);
    program.set("TRIMTAB_MODEL", "some/model");
    if *kind == "ollama" {
        let shown = serde_json::json!({"model_info": {"x.context_length": 32_768}});
        program.provider.on_path("/api/show", Answer::json(200, shown));
    }
    program
}

/// The events of a run, without what differs from run to run and without the provider's names.
fn events(spoken: &Spoken) -> Vec<String> {
    let (program, Spoken { kind, api, answer }) = (program(spoken), spoken);
    program.provider.push(answer(reply()));
    program.provider.push(answer(reply()));
    let first = program.run(&["run", "--json", "Say hello"]);
    assert_eq!(first.code, Some(0), "{kind} {api}: {}", first.stderr);
    let second = program.run(&["run", "--json", "--continue", "And again"]);
    assert_eq!(second.code, Some(0), "{kind} {api}: {}", second.stderr);
    first.events().into_iter().chain(second.events()).map(plain).collect()
}

fn plain(mut event: Value) -> String {
    let fields = event.as_object_mut().expect("an object");
    for accident in ["time", "session", "request", "raw", "settings"] {
        fields.shift_remove(accident);
    }
    event.to_string()
}

#[test]
fn the_same_scenario_gives_the_same_events_through_every_dialect() {
    let expected = events(&DIALECTS[0]);
    assert!(expected.len() > 20);
    for spoken in &DIALECTS[1..] {
        assert_eq!(events(spoken), expected, "{} {}", spoken.kind, spoken.api);
    }
}

#[test]
fn a_model_that_turns_out_to_know_no_tools_does_the_work_all_the_same() {
    let refusals = [
        ("ollama", 400, json!({"error": "registry.ollama.ai/library/gemma3:4b does not support tools"})),
        ("openai", 400, json!({"error": {"message": "gemma3:4b does not support tools", "type": "api_error"}})),
        (
            "openai",
            500,
            json!({"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
        ),
        ("openai", 500, json!({"error": {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}})),
        (
            "openai",
            404,
            json!({"error": {"message": "No endpoints found that support tool use. Look elsewhere.", "code": 404}}),
        ),
        (
            "openai",
            400,
            json!({
                "object": "error",
                "message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                "type": "BadRequestError",
                "code": 400,
            }),
        ),
    ];
    let changes = |path: &str| {
        let change = json!({"summary": "Written.", "fileChanges": [{"path": path, "content": "hi\n"}]});
        Reply::new().text([change.to_string()])
    };
    for (kind, status, refusal) in refusals {
        let spoken =
            DIALECTS.iter().find(|spoken| spoken.kind == kind && spoken.api != "responses").expect("a dialect");
        let mut program = program(spoken);
        program.set("TRIMTAB_APPLY_FILES", "auto");
        program.provider.push(Answer::json(status, refusal.clone()));
        program.provider.push((spoken.answer)(changes("a.txt")));
        let run = program.run(&["run", "--json", "--trust", "write a.txt"]);
        assert_eq!(run.code, Some(0), "{refusal}: {} {}", run.stderr, run.stdout);
        assert!(run.stdout.contains("some/model cannot use tools"), "{}", run.stdout);
        // What was found out holds for the rest of the session.
        program.provider.push((spoken.answer)(changes("b.txt")));
        let run = program.run(&["run", "--json", "--trust", "--continue", "write b.txt"]);
        assert_eq!(run.code, Some(0), "{refusal}: {}", run.stderr);
        for file in ["a.txt", "b.txt"] {
            assert_eq!(std::fs::read_to_string(program.project().join(file)).expect("written"), "hi\n", "{refusal}");
        }
        let asked: Vec<Value> = program.provider.requests().into_iter().map(|request| request.body).collect();
        let with_tools = asked.iter().filter(|body| body["messages"].is_array()).map(|body| body["tools"].is_array());
        assert_eq!(with_tools.collect::<Vec<_>>(), [true, false, false], "{refusal}");
    }
}

/// What a provider reads first: its system text and tools, as bytes, and the conversation without the marks that only
/// say where a cache may end.
fn prefix(body: &Value) -> ([String; 4], Vec<String>) {
    let mut body = body.clone();
    unmark(&mut body);
    let said = ["messages", "input", "contents"].iter().find_map(|name| body.get(name)?.as_array());
    let said = said.expect("a conversation");
    let fixed = ["system", "instructions", "systemInstruction", "tools"].map(|name| body[name].to_string());
    (fixed, said.iter().map(Value::to_string).collect())
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// The question that a run has ended with.
fn checkpoint(ended: &trimtab_testkit::program::Ended) -> String {
    let events = ended.events();
    let opened = events.iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    opened["checkpoint"].as_str().expect("an id").to_owned()
}

#[test]
fn no_call_of_a_session_changes_what_an_earlier_call_was_sent() {
    for spoken in DIALECTS {
        let (mut program, name) = (program(spoken), format!("{} {}", spoken.kind, spoken.api));
        program.set("TRIMTAB_CONTEXT_FILES", "rules.md");
        let write = |text: &str| std::fs::write(program.project().join("rules.md"), text).expect("a file");
        let says = |text: &str| program.provider.push((spoken.answer)(Reply::new().text([text])));
        let uses = |tool: &str, input: Value| {
            program.provider.push((spoken.answer)(Reply::new().tool("t1", tool, [input.to_string()])));
        };
        let run = |code: i32, arguments: &[&str]| {
            let ended = program.run(arguments);
            assert_eq!(ended.code, Some(code), "{name} {arguments:?}: {} {}", ended.stderr, ended.stdout);
            ended
        };
        // Work, and something for the memory.
        write("Use tabs.");
        uses("list_files", json!({}));
        says("Seen.");
        run(0, &["run", "--json", "--trust", "My name is Ada. Look at the files here."]);
        // Plan mode, with other instructions and the first memory; its end; a step of the plan.
        write("Use spaces.");
        uses("write_file", json!({"path": "a.txt", "content": "no"}));
        uses("propose_plan", json!({"steps": ["Write a"]}));
        let planned = run(3, &["run", "--json", "--trust", "--continue", "--mode", "plan", "Write a.txt"]);
        assert!(!program.project().join("a.txt").exists(), "{name}: plan mode changes nothing");
        says("Done.");
        run(0, &["answer", &checkpoint(&planned), "approve"]);
        // A question of the model.
        uses("ask_user", json!({"question": "Which?"}));
        let asked = run(3, &["run", "--json", "--trust", "--continue", "Fix the test in b.txt"]);
        says("I cannot fix it: there is no b.txt.");
        run(0, &["answer", &checkpoint(&asked), "other", "--text", "the first"]);
        let requests = program.provider.requests();
        let calls: Vec<_> = requests.iter().filter(|request| request.body["tools"].is_array()).collect();
        assert_eq!(calls.len(), 7, "{name}: all of them are turns");
        let sent: Vec<_> = calls.iter().map(|request| prefix(&request.body)).collect();
        for (at, pair) in sent.windows(2).enumerate() {
            let [(fixed, before), (same, after)] = pair else { unreachable!() };
            assert_eq!(fixed, same, "{name}, call {}", at + 2);
            assert!(after.starts_with(before), "{name}, call {}: {before:#?}\n{after:#?}", at + 2);
        }
        let told = sent.last().map(|(_, said)| said.join("\n")).unwrap_or_default();
        for (note, times) in [("Use tabs.", 1), ("Use spaces.", 1), ("[CONTEXT: memory]", 1), ("Plan mode is over.", 1)]
        {
            assert_eq!(told.matches(note).count(), times, "{name}: {note} in {told}");
        }
    }
}

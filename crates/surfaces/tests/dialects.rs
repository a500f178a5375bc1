//! One scenario, every dialect: what a person or a program sees does not depend on who answers.

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
        let program = program(spoken);
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

//! One scenario, every dialect: what a person or a program sees does not depend on who answers.

use serde_json::Value;
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

/// The events of a run, without what differs from run to run and without the provider's names.
fn events(Spoken { kind, api, answer }: &Spoken) -> Vec<String> {
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

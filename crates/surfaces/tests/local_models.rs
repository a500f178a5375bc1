//! No model set, no key: what the program does with the servers that run on this machine.

use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};

/// The program without a key; its provider answers as llama.cpp's server does.
fn with_llama_cpp() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.unset("ANTHROPIC_API_KEY");
    let url = program.provider.url().to_owned();
    program.set("TRIMTAB_PROVIDERS_LLAMACPP_BASE_URL", &format!("{url}/v1"));
    program.provider.on_path("/props", Answer::json(200, json!({"default_generation_settings": {}, "total_slots": 1})));
    let list = json!({"object": "list", "data": [{"id": "qwen2.5-coder", "owned_by": "llamacpp"}]});
    program.provider.on_path("/v1/models", Answer::json(200, list));
    program
}

#[test]
fn a_script_uses_llama_cpp_and_says_so() {
    let program = with_llama_cpp();
    program.provider.push(Answer::openai(Reply::new().text(["Hello."])));
    let ended = program.run(&["run", "--mode", "chat", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello.\n"), "{}", ended.stderr);
    let told = format!("No model is set. Using llama.cpp at {}/v1 (llamacpp/qwen2.5-coder).", program.provider.url());
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
}

#[test]
fn doctor_agrees_with_what_a_request_does() {
    let program = with_llama_cpp();
    let told = program.run(&["doctor"]).stdout;
    assert!(told.contains("ok       model server: llama.cpp at http://127.0.0.1:"), "{told}");
    assert!(told.contains("ok       model: llamacpp/qwen2.5-coder"), "{told}");
    assert!(!told.contains("No model is set up"), "{told}");
}

#[test]
fn something_else_that_listens_is_not_asked_to_answer() {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.unset("ANTHROPIC_API_KEY");
    let url = program.provider.url().to_owned();
    program.set("TRIMTAB_PROVIDERS_LLAMACPP_BASE_URL", &format!("{url}/v1"));
    program.provider.always(Answer::json(200, json!({"status": "ok"})));
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("No model is set up."), "{}", ended.stderr);
    assert!(program.provider.requests().iter().all(|request| request.method == "GET"), "it was only looked at");
}

#[test]
fn nothing_is_probed_while_a_key_or_a_model_is_there() {
    let local = FakeProvider::start();
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_PROVIDERS_LLAMACPP_BASE_URL", &format!("{}/v1", local.url()));
    program.provider.push(Answer::anthropic(Reply::new().text(["Hello."])));
    assert_eq!(program.run(&["run", "--mode", "chat", "hi"]).code, Some(0));
    assert!(local.requests().is_empty(), "{:?}", local.requests());
}

#[test]
fn the_effort_of_a_request_is_an_option_a_variable_and_a_setting() {
    let mut program = with_llama_cpp();
    program.provider.always(Answer::openai(Reply::new().text(["Hello."])));
    let sent = |program: &Program, arguments: &[&str]| {
        let ended = program.run(&[&["run", "--mode", "chat"], arguments, &["hi"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        program.provider.requests().last().expect("a request").body["chat_template_kwargs"].clone()
    };
    assert_eq!(sent(&program, &[]), json!(null));
    assert_eq!(sent(&program, &["--effort", "off"]), json!({"enable_thinking": false}));
    program.set("TRIMTAB_EFFORT", "low");
    assert_eq!(sent(&program, &[]), json!({"enable_thinking": true}));
    let refused = program.run(&["run", "--effort", "huge", "hi"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

//! No model set, no key: what the program does with the servers that run on this machine.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_testkit::served::Served;

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
fn over_http_no_server_is_used_that_nobody_chose() {
    let program = with_llama_cpp();
    program.provider.always(Answer::openai(Reply::new().text(["Hello."])));
    let served = Served::start(&program, "test", &[]);
    let messages = format!("/api/sessions/{}/messages", served.session());
    let message = json!({"type": "sendMessage", "text": "hi", "images": []});
    let refused = served.post(&messages, &message);
    assert_eq!(refused.json()["error"]["message"], "No model is set up.", "{}", refused.text());
    assert!(program.provider.requests().iter().all(|request| request.method == "GET"), "nothing was sent");
    let chosen = served.post("/api/setup", &json!({"model": "llamacpp/qwen2.5-coder"}));
    assert_eq!(chosen.status, 200, "{}", chosen.text());
    assert_eq!(served.post(&messages, &message).status, 202);
}

#[test]
fn any_model_of_a_server_can_be_chosen_and_what_cannot_be_saved_is_told_with_the_lines() {
    let program = with_llama_cpp();
    let list = json!({"data": [{"id": "small", "owned_by": "llamacpp"}, {"id": "large", "owned_by": "llamacpp"}]});
    program.provider.on_path("/v1/models", Answer::json(200, list));
    let settings = program.home().join("config.toml");
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(&settings, "[providers]\nllamacpp = { api = \"chat\" }\n").expect("written");
    let served = Served::start(&program, "test", &[]);
    assert_eq!(served.get("/api/setup")["found"][0]["others"], json!(["llamacpp/large"]));
    let missing = served.post("/api/setup", &json!({"model": "llamacpp/huge"}));
    let message = "No local server has the model llamacpp/huge.";
    assert_eq!((missing.status, &missing.json()["error"]["message"]), (404, &json!(message)));
    let chosen = served.post("/api/setup", &json!({"model": "llamacpp/large"})).json();
    assert_eq!(chosen["model"], "llamacpp/large");
    let told = format!(
        "Cannot save the model to {}. Set model = \"llamacpp/large\", and base_url = \"{}/v1\" under \
         [providers.llamacpp] there.",
        settings.display(),
        program.provider.url()
    );
    assert_eq!(chosen["unkept"], json!(told));
}

#[test]
fn a_key_of_a_provider_is_not_sent_to_an_address_that_somebody_typed() {
    let mut program = with_llama_cpp();
    let typed = FakeProvider::start();
    typed.on_path("/v1/models", Answer::json(200, json!({"data": [{"id": "some-model"}]})));
    program.set("LOCAL_KEY", "local-secret-0123456789");
    program.set("TRIMTAB_PROVIDERS_LOCAL_BASE_URL", "http://127.0.0.1:9/v1");
    program.set("TRIMTAB_PROVIDERS_LOCAL_API_KEY_ENV", "LOCAL_KEY");
    typed.always(Answer::openai(Reply::new().text(["Hello."])));
    let served = Served::start(&program, "test", &[]);
    let chosen = served.post("/api/setup", &json!({"address": typed.url()}));
    assert_eq!(chosen.json()["model"], "local2/some-model", "{}", chosen.text());
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let message = json!({"type": "sendMessage", "text": "hi", "images": []});
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &message).status, 202);
    stream.until("request.finished");
    let requests = typed.requests();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|request| request.header("authorization").is_none()), "{requests:?}");
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

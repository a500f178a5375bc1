//! Pictures with the real program and a provider that speaks the dialect: made, listed, made anew, saved, taken
//! back; and killed in between.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply, Request, images};
use trimtab_testkit::served::Served;

const PATH: &str = "/v1/images/generations";

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let url = format!("{}/v1", program.provider.url());
    program.set("TRIMTAB_PROVIDERS_EASEL_KIND", "openai");
    program.set("TRIMTAB_PROVIDERS_EASEL_BASE_URL", &url);
    program.set("TRIMTAB_MODELS_IMAGE", "easel/grok-2-image");
    program
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn picture(revised: &str) -> Answer {
    Answer::json(200, images::body(&[images::bytes(revised)]))
}

fn ordered(program: &Program) -> Vec<Request> {
    program.provider.requests().into_iter().filter(|request| request.path == PATH).collect()
}

fn gallery(program: &Program) -> Vec<Value> {
    program.run(&["images", "list", "--json"]).events()
}

fn names(pictures: &[Value]) -> Vec<&str> {
    pictures.iter().map(|picture| picture["id"].as_str().expect("an id")).collect()
}

#[test]
fn pictures_are_made_listed_made_anew_saved_and_taken_back() {
    let program = program();
    std::fs::write(program.project().join("README.md"), "A clock for the tides.").expect("writes");
    program.provider.push(says(r#"["a wave","a moon"]"#));
    program.provider.on_path(PATH, picture("in oil"));
    let made = program.run(&["run", "--trust", "--json", "Create 2 icon ideas for my app based on the README"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let events = made.events();
    let answer = events.iter().find(|event| event["type"] == "answer").expect("an answer");
    let finished = events.last().expect("an end");
    assert!((finished["usage"]["costUsd"].as_f64().expect("a price") - 0.14).abs() < 0.001, "{finished}");
    let sent = program.provider.requests();
    assert!(sent[0].body.to_string().contains("A clock for the tides."), "the README goes to who writes the prompts");
    let mut prompts: Vec<Value> = ordered(&program).into_iter().map(|request| request.body).collect();
    prompts.sort_by_key(ToString::to_string);
    let order = |prompt: &str| json!({"model": "grok-2-image", "prompt": prompt, "n": 1, "response_format": "url"});
    assert_eq!(prompts, [order("a moon"), order("a wave")]);

    let pictures = gallery(&program);
    assert_eq!(json!(pictures), answer["generatedImages"]);
    let first = &pictures[0];
    assert_eq!((&first["originalPrompt"], &first["revisedPrompt"]), (&json!("a wave"), &json!("in oil")));
    let (id, time) = (first["id"].as_str().expect("an id"), first["timestamp"].as_i64().expect("a time"));
    assert!(id.starts_with(&format!("img-{time}-")), "{id}");
    assert_eq!(first["selected"], false);

    let again = program.run(&["images", "regenerate", "1", "--refine", "make it darker"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let prompt = ordered(&program).last().expect("an order").body["prompt"].clone();
    assert_eq!(prompt, "a wave, make it darker");
    let now = gallery(&program);
    assert_eq!(names(&now), names(&pictures), "the new picture takes the place of the old one");
    assert_ne!(now[0]["url"], pictures[0]["url"]);
    assert_eq!(now[1], pictures[1]);

    let art = program.project().join("art");
    std::fs::create_dir(&art).expect("a folder");
    std::fs::write(art.join("image-001.png"), "mine").expect("writes");
    assert_eq!(program.run(&["images", "select", "2"]).code, Some(0));
    let saved = program.run(&["images", "save", "--to", "art", "--trust"]);
    assert_eq!(
        (saved.code, saved.stdout.as_str()),
        (Some(0), "Saved 1 image: art/image-002.png.\n"),
        "{}",
        saved.stderr
    );
    assert_eq!(std::fs::read(art.join("image-001.png")).expect("is there"), b"mine");
    assert!(std::fs::read(art.join("image-002.png")).expect("is there").starts_with(b"\x89PNG"));

    let session = events[0]["session"].as_str().expect("a session");
    let export: Value = serde_json::from_str(&program.run(&["sessions", "export", session]).stdout).expect("JSON");
    let pair = &export["pairs"][0];
    assert_eq!(pair["docType"], "chat-pair");
    let images = pair["structured"]["generatedImages"].as_array().expect("pictures");
    assert_eq!(images.iter().map(|image| &image["selected"]).collect::<Vec<_>>(), [&json!(false), &json!(true)]);

    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert!(!art.join("image-002.png").exists() && art.join("image-001.png").exists());
}

#[test]
fn a_picture_that_was_there_before_a_kill_is_not_paid_for_again() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says(r#"["a wave","a moon"]"#));
    program.provider.push(picture("in oil"));
    program.provider.push(picture("in oil").gated(&gate));
    let running = program.spawn(&["run", "--json", "draw 2 icons"]);
    running.line_with("image.made");
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!(ordered(&program).len(), 2);
    program.provider.push(picture("in oil"));
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(ordered(&program).len(), 3, "only the one that had not come is ordered again");
    assert_eq!(gallery(&program).len(), 2);
    let cost = resumed.events().last().expect("an end")["usage"]["costUsd"].as_f64().expect("a price");
    assert!((cost - 0.14).abs() < 0.001, "{cost}");
}

#[test]
fn three_of_four_pictures_are_shown_and_the_fourth_is_told() {
    let program = program();
    program.provider.push(says(r#"["one","two","three","four"]"#));
    program.provider.on_path(PATH, Answer::json(400, json!({"error": {"message": "Not that."}})));
    let none = program.run(&["run", "draw 4 icons"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
    assert!(none.stderr.contains("Not that."), "{}", none.stderr);
    program.provider.on_path(PATH, picture("in oil"));
    let again = program.run(&["images", "regenerate", "3"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.starts_with("Generated Images (1)"), "{}", again.stdout);
    let made: Vec<bool> = gallery(&program).iter().map(|picture| picture["problem"].is_null()).collect();
    assert_eq!(made, [false, false, true, false]);
}

#[test]
fn a_picture_at_an_address_is_fetched_at_once() {
    let program = program();
    let url = format!("{}/made/fox.png", program.provider.url());
    program.provider.on_path("/made/fox.png", Answer::new(200).body("GIF89a fox"));
    program.provider.on_path(PATH, Answer::json(200, images::body(&[images::address(&url, "A red fox")])));
    let made = program.run(&["images", "make", "A fox in the snow", "-n", "1", "--json"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let picture = &gallery(&program)[0];
    assert_eq!((&picture["mediaType"], &picture["bytes"]), (&json!("image/gif"), &json!(10)));
    let saved = program.run(&["images", "save", "1", "--trust"]);
    assert_eq!(saved.stdout, "Saved 1 image: image-001.gif.\n", "{}", saved.stderr);
    assert_eq!(std::fs::read(program.project().join("image-001.gif")).expect("is there"), b"GIF89a fox");
}

#[test]
fn who_has_no_model_for_pictures_is_told_what_to_set() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let made = program.run(&["images", "make", "A fox"]);
    assert_eq!(made.code, Some(1));
    assert!(made.stderr.contains("models.image") && made.stderr.contains("XAI_API_KEY"), "{}", made.stderr);
    program.provider.push(says("A fox is red."));
    let said = program.run(&["run", "Draw a fox"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "A fox is red.\n"));
    assert!(said.stderr.contains("models.image"), "{}", said.stderr);
}

#[test]
fn words_are_only_words_where_pictures_are_not_to_be_noticed() {
    let mut program = program();
    program.set("TRIMTAB_IMAGE_DETECT", "false");
    program.provider.push(says("I cannot draw."));
    let said = program.run(&["run", "--mode", "chat", "Draw a fox"]);
    assert_eq!((said.code, ordered(&program).len()), (Some(0), 0), "{}", said.stderr);
}

#[test]
fn a_request_with_a_picture_loads_nothing_that_its_words_name() {
    let program = program();
    std::fs::write(program.project().join("notes.md"), "Not for the model that sees.").expect("writes");
    std::fs::write(program.project().join("seen.gif"), b"GIF89a\x01\0\x01\0").expect("writes");
    for (image, loads) in [(false, true), (true, false)] {
        program.provider.push(says("I see."));
        let mut arguments = vec!["run", "--trust", "--json", "What is in notes.md about this?"];
        if image {
            arguments.extend(["--image", "seen.gif"]);
        }
        let ended = program.run(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let loaded = ended.events().iter().any(|event| event["type"] == "context.loaded" && !event["files"].is_null());
        assert_eq!(loaded, loads, "with a picture: {image}");
    }
}

#[test]
fn the_gallery_is_served_to_those_who_may_see_it() {
    let program = program();
    program.provider.on_path(PATH, picture("in oil"));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let made = served.post("/api/images", &json!({"session": session, "prompt": "a fox", "count": 1}));
    assert_eq!(made.status, 202, "{}", made.text());
    served.watch(&session, None).until("request.finished");
    let pictures = served.get(&format!("/api/images?session={session}"))["images"].clone();
    let id = pictures[0]["id"].as_str().expect("an id").to_owned();
    let url = pictures[0]["url"].as_str().expect("a ref").to_owned();
    let place = format!("/api/refs/{}", url.strip_prefix("ref:").expect("a ref"));

    let bytes = served.ask("GET", &place).send();
    assert_eq!(bytes.header("content-type").as_deref(), Some("image/png"));
    assert_eq!(bytes.header("x-content-type-options").as_deref(), Some("nosniff"));
    assert!(bytes.bytes().starts_with(b"\x89PNG"));
    assert_eq!(served.ask_without_token("GET", &place).send().status, 401);
    assert_eq!(served.ask_without_token("GET", &format!("/api/images?session={session}")).send().status, 401);

    let chosen = served.post("/api/images/select", &json!({"session": session, "images": [id], "selected": true}));
    assert_eq!(chosen.json()["images"][0]["selected"], true, "{}", chosen.text());
    let again = json!({"session": session, "prompt": "a fox", "refinement": "in snow"});
    assert_eq!(served.post(&format!("/api/images/{id}/regenerate"), &again).status, 202);
    let mut watch = served.watch(&session, None);
    watch.until("image.selected");
    watch.until("request.finished");
    assert_eq!(ordered(&program).last().expect("an order").body["prompt"], "a fox, in snow");
    let now = served.get(&format!("/api/images?session={session}"))["images"].clone();
    assert_eq!((&now[0]["id"], &now[0]["selected"]), (&json!(id), &json!(true)));
    assert_ne!(now[0]["url"], url.as_str());
}

#[test]
fn wishes_that_cannot_be_are_refused_with_their_reason() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let nobody = "img-1-abcdef";
    for (path, body, status) in [
        ("/api/images", json!({"session": session, "prompt": " "}), 422),
        ("/api/images", json!({"session": session, "prompt": "x".repeat(40_000)}), 422),
        ("/api/images", json!({"session": session, "prompt": "a fox", "count": 11}), 422),
        ("/api/images", json!({"session": "s0000000000000000", "prompt": "a fox"}), 404),
        ("/api/images/save", json!({"session": session}), 422),
        ("/api/images/save", json!({"session": session, "images": [nobody]}), 422),
        ("/api/images/img-1-abcdef/regenerate", json!({"session": session}), 404),
    ] {
        let answer = served.post(path, &body);
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
        assert!(answer.json()["error"]["message"].is_string(), "{}", answer.text());
    }
    assert_eq!(ordered(&program).len(), 0);
}

#[test]
fn where_there_is_no_picture_to_save_nothing_else_is_asked_for() {
    let mut program = program();
    program.provider.push(says("Hello."));
    assert_eq!(program.run(&["run", "Say hello"]).code, Some(0));
    // Whoever has none needs no model to be told so.
    program.unset("ANTHROPIC_API_KEY");
    program.unset("TRIMTAB_MODELS_IMAGE");
    for arguments in [&["images", "save"][..], &["images", "save", "--to", "assets", "--json"]] {
        let ended = program.run(arguments);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("There are no images to save in this session."), "{}", ended.stderr);
    }
    assert_eq!(program.provider.requests().len(), 1);
}

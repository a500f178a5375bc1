//! The assistant over the tasks as its documented client meets it: a stream first, POST where that fails, a
//! question and its answer; and the same at the command line. The real binary, and a provider that plays its part.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::{Sent, Served, Stream};

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_TASKS_TIMEZONE", "Europe/Berlin");
    program
}

fn says(program: &Program, words: &str) {
    program.provider.push(Answer::anthropic(Reply::new().text([words])));
}

fn add(program: &Program, title: &str, day: &str) {
    let ended = program.run(&["tasks", "add", title, "--on", day]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// What the documented client does, fragment by fragment.
struct Client<'a> {
    served: &'a Served,
    /// Names of the events in the order in which they came.
    seen: Vec<String>,
    /// What `onSummary` heard.
    summaries: Vec<String>,
    /// What `onClarify` heard.
    questions: Vec<Value>,
}

impl<'a> Client<'a> {
    fn new(served: &'a Served) -> Self {
        Self { served, seen: Vec::new(), summaries: Vec::new(), questions: Vec::new() }
    }

    fn query(message: &str, transcript: &Value, mode: &str, clarify: Option<&Value>) -> String {
        let mut query = format!(
            "/api/assistant/message/stream?message={}&transcript={}&mode={mode}",
            encoded(message),
            encoded(&transcript.to_string())
        );
        if let Some(clarify) = clarify {
            query += &format!("&clarify={}", encoded(&clarify.to_string()));
        }
        query
    }

    /// `assistantMessage(…, streamSummary: true)`: the result, or `sse_error`.
    fn message(
        &mut self,
        message: &str,
        transcript: Value,
        mode: &str,
        clarify: Option<Value>,
    ) -> Result<Value, String> {
        let query = Self::query(message, &transcript, mode, clarify.as_ref());
        let mut source = self.served.ask("GET", &query).stream();
        let mut result = None;
        if source.head.status == 200 {
            while let Some(sent) = source.next_sent() {
                let Sent::Named(name, data) = sent else { panic!("{sent:?} in the stream") };
                self.seen.push(name.clone());
                match name.as_str() {
                    "clarify" if !data["question"].as_str().unwrap_or_default().is_empty() => self.questions.push(data),
                    "summary" if !data["text"].as_str().unwrap_or_default().is_empty() => {
                        self.summaries.push(data["text"].as_str().unwrap_or_default().to_owned());
                    }
                    "result" => result = Some(data),
                    "done" => return Ok(result.unwrap_or_else(|| json!({"text": "", "operations": []}))),
                    _ => {}
                }
            }
        }
        // The stream failed: the same by POST, once.
        self.seen.push("error".into());
        let mut options = json!({"streamSummary": false, "mode": mode});
        if let Some(clarify) = clarify {
            options["clarify"] = clarify;
        }
        let body = json!({"message": message, "transcript": transcript, "options": options});
        let answer = self.served.post("/api/assistant/message", &body);
        if answer.status != 200 {
            return Err("sse_error".into());
        }
        let map = answer.json();
        if map["requiresClarification"] == true {
            self.questions.push(map.clone());
        }
        Ok(map)
    }
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (byte as char).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn prompt(program: &Program, number: usize) -> String {
    program.provider.requests()[number].body.to_string()
}

#[test]
fn a_plan_streams_its_stages_its_operations_and_its_summary() {
    let program = program();
    add(&program, "Call Bob", "today");
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"decision":"plan","confidence":0.95,"category":"task","entities":{"ids":[1]}}"#);
    says(&program, r#"{"operations":[{"op":"complete","id":1},{"op":"update","id":1,"priority":"urgent"}]}"#);
    says(&program, r#"{"operations":[{"op":"complete","id":1},{"op":"update","id":1,"priority":"high"}]}"#);
    says(&program, "Bob is **done**.");
    let mut client = Client::new(&served);
    let turns = json!([{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hi"}, {"role": "user", "text": "Finish #1"}, {"role": "assistant", "text": ""}]);
    let result = client.message("Finish #1", turns, "auto", None).expect("a result");
    assert_eq!(
        result,
        json!({"text": "Bob is **done**.", "operations": [
            {"op": {"op": "complete", "id": 1}, "errors": []},
            {"op": {"op": "update", "id": 1, "priority": "high"}, "errors": []}]})
    );
    let order = "stage summary stage stage ops stage ops stage summary result done";
    assert_eq!(client.seen.join(" "), order);
    assert_eq!(client.summaries, ["Planning…", "Bob is **done**."]);
    assert!(
        prompt(&program, 0).contains(r"Transcript (last 3):\n- user: Hello\n- assistant: Hi\n"),
        "{}",
        prompt(&program, 0)
    );
    let trail = program.run(&["audit", "--export"]).stdout;
    assert!(trail.contains("router_decision") && trail.contains("repair_success"), "{trail}");
    // Nothing is applied by itself; `applyOperations` does it.
    assert!(served.get("/api/todos").to_string().contains(r#""completed":false"#));
    let chosen: Vec<&Value> = result["operations"].as_array().expect("a list").iter().map(|one| &one["op"]).collect();
    let applied = served.post("/api/llm/apply", &json!({"operations": chosen}));
    assert_eq!(applied.json()["summary"], json!({"created": 0, "updated": 1, "deleted": 0, "completed": 1}));
    assert!(served.get("/api/todos").to_string().contains(r#""completed":true"#));
}

#[test]
fn the_pieces_of_a_stream_have_the_documented_shapes() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"operations":[{"op":"create","title":"Milk"},{"op":"fly"}]}"#);
    says(&program, "{}");
    says(&program, "Milk.");
    let mut stream = served.ask("GET", "/api/assistant/message/stream?message=Milk").stream();
    let header = |name: &str| stream.head.header(name);
    assert_eq!(header("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(header("cache-control").as_deref(), Some("no-cache"));
    assert_eq!(header("connection").as_deref(), Some("keep-alive"));
    let mut pieces = Vec::new();
    while let Some(Sent::Named(name, data)) = stream.next_sent() {
        pieces.push(format!("{name} {data}"));
    }
    insta::assert_snapshot!(pieces.join("\n"), @r#"
    summary {"text":"Planning…"}
    stage {"stage":"proposing"}
    stage {"stage":"validating"}
    ops {"version":1,"operations":[{"op":{"op":"create","title":"Milk"},"errors":[]},{"op":{"op":"fly"},"errors":["invalid_op: there is no \"fly\"; use one of create, update, delete, complete, complete_occurrence, bulk_update, bulk_complete, bulk_delete"]}],"validCount":1,"invalidCount":1}
    stage {"stage":"repairing"}
    stage {"stage":"summarizing"}
    summary {"text":"Milk."}
    result {"text":"Milk.","operations":[{"op":{"op":"create","title":"Milk"},"errors":[]},{"op":{"op":"fly"},"errors":["invalid_op: there is no \"fly\"; use one of create, update, delete, complete, complete_occurrence, bulk_update, bulk_complete, bulk_delete"]}]}
    done true
    "#);
}

#[test]
fn a_question_is_answered_by_a_message_that_names_it() {
    let program = program();
    add(&program, "Call Bob", "today");
    add(&program, "Call Ann", "none");
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"decision":"clarify","confidence":0.6,"question":"Which call?"}"#);
    let mut client = Client::new(&served);
    let nothing = client.message("Move the call to 2030-01-01", json!([]), "auto", None).expect("a result");
    assert_eq!(nothing, json!({"text": "", "operations": []}));
    assert_eq!(client.seen, ["stage", "clarify", "done"]);
    let question = client.questions.pop().expect("a question");
    assert_eq!(question["question"], "Which call?");
    assert_eq!(question["options"][1], json!({"id": 2, "title": "Call Ann", "scheduledFor": null}));
    says(&program, r#"{"operations":[{"op":"update","id":2,"scheduledFor":"2030-01-01"}]}"#);
    says(&program, "Ann is called then.");
    let prior = json!({"question": "Which call?", "selection": {"ids": [2], "date": null, "priority": null}});
    let result = client.message("Call Ann", json!([]), "auto", Some(prior)).expect("a result");
    assert_eq!(result["operations"][0]["op"]["id"], 2);
    assert_eq!(program.provider.requests().len(), 3, "a choice needs no router");
    assert!(prompt(&program, 1).contains("Move the call to 2030-01-01"), "{}", prompt(&program, 1));
}

#[test]
fn a_stream_that_fails_is_followed_by_a_post_that_may_do_better() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    program.provider.push(Answer::json(400, json!({"error": {"type": "invalid_request_error", "message": "no"}})));
    says(&program, "Hello\n<b>you</b>.");
    let mut client = Client::new(&served);
    let result = client.message("Hi", json!([]), "chat", None).expect("a result");
    assert_eq!(result, json!({"text": "Hello <b>you</b>.", "operations": []}));
    assert_eq!(client.seen, ["error"]);
    for _ in 0..2 {
        program.provider.push(Answer::json(400, json!({"error": {"type": "invalid_request_error", "message": "no"}})));
    }
    assert_eq!(client.message("Hi", json!([]), "chat", None), Err("sse_error".into()));
    let failed = {
        program.provider.push(Answer::json(400, json!({"error": {"type": "invalid_request_error", "message": "no"}})));
        served.post("/api/assistant/message", &json!({"message": "Hi", "options": {"mode": "CHAT"}}))
    };
    assert_eq!((failed.status, failed.json()["error"].clone()), (502, json!("assistant_failure")));
    assert!(failed.json()["detail"].is_string());
}

#[test]
fn a_message_without_words_is_refused_in_the_documented_way() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    for body in [json!({}), json!({"message": ""}), json!({"message": " \n"}), json!({"message": 7}), json!([])] {
        let answer = served.post("/api/assistant/message", &body);
        assert_eq!((answer.status, answer.json()), (400, json!({"error": "invalid_message"})), "{body}");
    }
    let endless = json!({"message": "x".repeat(3_000_000)});
    let answer = served.post("/api/assistant/message", &endless);
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (413, json!("too_large")));
    for query in ["", "?message=", "?message=%20", "?mode=auto"] {
        let answer = served.ask("GET", &format!("/api/assistant/message/stream{query}")).send();
        assert_eq!((answer.status, answer.json()), (400, json!({"error": "invalid_message"})), "{query}");
    }
}

#[test]
fn what_was_said_before_is_understood_in_every_documented_form() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let said = |text: &str| json!({"role": "user", "text": text}).to_string();
    let (one, two) = (said("one"), said("two"));
    let list = format!("[{one},{two}]");
    let forms = [
        format!("transcript={}", encoded(&list)),
        format!("transcript={}&transcript={}", encoded(&one), encoded(&two)),
        "transcript=nonsense".into(),
        "transcript=%5B%7B&clarify=%7B".into(),
    ];
    for (at, form) in forms.iter().enumerate() {
        says(&program, "Hello.");
        let query = format!("/api/assistant/message/stream?message=Hi&mode=chat&{form}");
        assert_eq!(names(&mut served.ask("GET", &query).stream()), ["summary", "result", "done"], "{form}");
        let shown = prompt(&program, at).contains(r"Conversation (last 3 turns):\n- user: one\n- user: two\n");
        assert_eq!(shown, at < 2, "{form}: {}", prompt(&program, at));
    }
    says(&program, "Hello.");
    served.post("/api/assistant/message", &json!({"message": "Hi", "transcript": list, "options": {"mode": "chat"}}));
    assert!(prompt(&program, 4).contains(r"- user: one\n- user: two\n"), "{}", prompt(&program, 4));
}

#[test]
fn a_choice_says_what_a_plan_is_about_whatever_the_mode() {
    let program = program();
    add(&program, "Call Bob", "today");
    add(&program, "Call Ann", "today");
    let served = Served::start(&program, "test", &[]);
    for (at, clarify) in [json!({"question": "Which?", "selection": {"ids": [2]}}), json!({"selection": {"ids": [2]}})]
        .iter()
        .enumerate()
    {
        says(&program, r#"{"operations":[{"op":"complete","id":2}]}"#);
        says(&program, "Ann is done.");
        let answer = served.post("/api/assistant/message", &json!({"message": "Yes", "options": {"clarify": clarify}}));
        assert_eq!(answer.json()["text"], "Ann is done.", "{clarify}");
        let asked = prompt(&program, at * 2);
        assert!(asked.contains("Call Ann") && !asked.contains("Call Bob"), "{clarify}: {asked}");
    }
}

#[test]
fn an_operation_that_was_refused_is_shown_and_repaired_with_all_that_it_said() {
    let program = program();
    add(&program, "Call Bob", "today");
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"operations":[{"op":"bulk_delete","where":{"status":"done"}}]}"#);
    says(&program, "I cannot.");
    says(&program, "Nothing.");
    let answer = served.post("/api/assistant/message", &json!({"message": "Delete what is done"}));
    assert_eq!(answer.json()["operations"][0]["op"], json!({"op": "bulk_delete", "where": {"status": "done"}}));
    assert!(prompt(&program, 1).contains(r#"{\"status\":\"done\"}"#), "{}", prompt(&program, 1));
}

#[test]
fn post_answers_in_json_whatever_is_accepted_and_plans_by_default() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"operations":[{"op":"create","title":"Milk"}]}"#);
    says(&program, "Milk.");
    let body = json!({"message": "Milk", "transcript": "nonsense", "options": {"clarify": 7}});
    let answer = served.ask("POST", "/api/assistant/message").header("Accept", "text/event-stream").json(&body).send();
    assert_eq!(answer.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(
        answer.json(),
        json!({"text": "Milk.", "operations": [{"op": {"op": "create", "title": "Milk"}, "errors": []}]})
    );
    says(&program, r#"{"decision":"clarify","confidence":0.6,"question":"Which?"}"#);
    let asked = served.post("/api/assistant/message", &json!({"message": "Move it", "options": {"mode": "auto"}}));
    assert_eq!(asked.json(), json!({"requiresClarification": true, "question": "Which?", "options": []}));
    says(&program, r#"{"decision":"clarify","confidence":0.6,"question":"When?","missing":["date","priority"]}"#);
    let asked = served.post("/api/assistant/message", &json!({"message": "Move it", "options": {"mode": "auto"}}));
    assert_eq!(asked.json()["sections"], json!(["date", "priority"]), "one question, and all that its answer may say");
}

fn names(stream: &mut Stream) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(Sent::Named(name, _)) = stream.next_sent() {
        names.push(name);
    }
    names
}

#[test]
fn a_new_message_ends_the_stream_of_the_one_before_without_a_stale_result() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    program.provider.push(Answer::silent());
    let mut first = served.ask("GET", "/api/assistant/message/stream?message=Milk").stream();
    assert_eq!(first.head.status, 200, "the head comes before the model has answered");
    program.provider.block_on(program.provider.wait_for_requests(1));
    says(&program, r#"{"operations":[{"op":"create","title":"Bread"}]}"#);
    says(&program, "Bread.");
    let second = served.post("/api/assistant/message", &json!({"message": "Bread"}));
    assert_eq!(second.json()["text"], "Bread.");
    assert_eq!(names(&mut first), ["summary", "stage", "done"]);
}

#[test]
fn a_stream_says_that_it_lives_while_the_model_thinks_and_not_after_its_end() {
    let mut program = program();
    program.set("TRIMTAB_SERVER_HEARTBEAT_S", "1");
    let served = Served::start(&program, "test", &[]);
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text([r#"{"operations":[]}"#])).gated(&gate));
    says(&program, "Nothing to do.");
    let mut stream = served.ask("GET", "/api/assistant/message/stream?message=Milk").stream();
    let mut beats = 0;
    while beats < 2 {
        match stream.next_sent().expect("something") {
            Sent::Named(name, data) if name == "heartbeat" => {
                assert!(data["ts"].as_str().is_some_and(|ts| ts.ends_with('Z')), "{data}");
                beats += 1;
            }
            _ => {}
        }
    }
    gate.open();
    let rest = names(&mut stream);
    assert_eq!(rest.last().map(String::as_str), Some("done"), "nothing comes after the end: {rest:?}");
}

#[test]
fn what_is_too_long_for_an_address_is_posted_first_and_followed_by_its_name() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    says(&program, r#"{"operations":[{"op":"create","title":"Milk"}]}"#);
    says(&program, "Milk.");
    let message = format!("Milk {}", "and more ".repeat(20_000));
    let refused = served.ask("GET", &format!("/api/assistant/message/stream?message={}", encoded(&message))).send();
    assert_ne!(refused.status, 200, "so much is no address");
    let begun = served.post("/api/assistant/jobs", &json!({"message": message, "options": {"mode": "plan"}}));
    assert_eq!(begun.status, 202, "{}", begun.text());
    let job = begun.json()["job"].as_str().expect("a name").to_owned();
    let follow = || served.ask("GET", &format!("/api/assistant/message/stream?job={job}")).stream();
    let seen = names(&mut follow());
    let expected = ["summary", "stage", "stage", "ops", "stage", "summary", "result", "done"];
    assert_eq!(seen, expected);
    assert_eq!(names(&mut follow()), expected, "whoever comes later sees the same");
    assert_eq!(served.ask("GET", "/api/assistant/message/stream?job=nothing").send().status, 404);
    assert_eq!(
        served.post("/api/assistant/jobs", &json!({"message": " "})).json(),
        json!({"error": "invalid_message"})
    );
}

#[test]
fn at_the_command_line_changes_are_applied_at_once_where_that_is_set_and_deletes_never() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_TASKS", "auto");
    add(&program, "Call Bob", "today");
    add(&program, "Call Ann", "today");
    says(&program, r#"{"operations":[{"op":"complete","id":1},{"op":"delete","id":2}]}"#);
    says(&program, "Bob is done, Ann is gone.");
    let asked = program.run(&["ask", "--mode", "plan", "Finish Bob, drop Ann"]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(asked.stdout.contains("0 created, 0 updated, 1 completed, 0 deleted"), "{}", asked.stdout);
    assert!(asked.stderr.contains("Deletes are not applied automatically"), "{}", asked.stderr);
    assert!(program.run(&["tasks", "list", "--json"]).stdout.contains("Call Ann"));
}

#[test]
fn at_the_command_line_what_is_proposed_is_shown_and_applied_when_that_is_wanted() {
    let program = program();
    add(&program, "Call Bob", "today");
    says(&program, r#"{"operations":[{"op":"complete","id":1},{"op":"delete","id":1},{"op":"delete","id":9}]}"#);
    says(&program, r#"{"operations":[]}"#);
    says(&program, "Bob is done and gone.");
    let asked = program.run(&["ask", "--mode", "plan", "Finish Bob"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), "Bob is done and gone.\n"), "{}", asked.stderr);
    insta::assert_snapshot!(asked.stderr, @"
      1. Complete          #1 Call Bob  (done: no → yes)
      2. Delete            #1 Call Bob
      3. Delete            invalid: there is no task #9
    Nothing has changed yet. `trimtab ask --apply` applies all, `--apply 1,3` applies some, and `--reject` discards all.
    ");
    assert!(
        program.run(&["tasks", "list", "--json"]).stdout.contains(r#""completed":false"#),
        "nothing is applied yet"
    );
    let wrong = program.run(&["ask", "--apply", "3"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let applied = program.run(&["ask", "--apply", "1"]);
    assert_eq!(
        applied.stdout, "0 created, 0 updated, 1 completed, 0 deleted. `trimtab tasks undo` undoes it.\n",
        "{}",
        applied.stderr
    );
    assert_eq!(program.run(&["ask", "--apply"]).code, Some(1), "there is nothing left to decide on");
    let trail = program.run(&["audit", "--export"]).stdout;
    assert!(trail.contains("plan_outcome"), "{trail}");
}

#[test]
fn at_the_command_line_what_was_applied_before_a_kill_is_not_applied_again() {
    let program = program();
    says(&program, r#"{"operations":[{"op":"create","title":"Milk"},{"op":"create","title":"Bread"}]}"#);
    says(&program, "Milk and bread.");
    assert_eq!(program.run(&["ask", "--mode", "plan", "Milk and bread"]).code, Some(0));
    // Killed between the change of the tasks and the record of it: the one is durable, the other is not there.
    let jobs = program.run(&["jobs", "--all", "--json"]).stdout;
    let job: Value = serde_json::from_str(jobs.lines().next().expect("one")).expect("JSON");
    let key = format!("ask-{}-x-", job["request"].as_str().expect("a name"));
    let milk = json!({"operations": [{"op": "create", "title": "Milk"}]}).to_string();
    let applied = program.run_with_input(&["tasks", "apply", "-", "--key", &key], milk.as_bytes());
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    let again = program.run(&["ask", "--apply", "1"]);
    assert!(again.stdout.starts_with("1 created, "), "{} {}", again.stdout, again.stderr);
    let titles = program.run(&["tasks", "list", "--json"]).stdout;
    assert_eq!(titles.matches("Milk").count(), 1, "{titles}");
    assert_eq!(program.run(&["ask", "--apply", "2"]).code, Some(1), "it is decided");
}

#[test]
fn at_the_command_line_a_question_waits_for_its_answer() {
    let program = program();
    add(&program, "Call Bob", "today");
    add(&program, "Call Ann", "today");
    says(&program, r#"{"decision":"clarify","confidence":0.5,"question":"Which call?"}"#);
    let asked = program.run(&["ask", "Finish the call"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    assert!(asked.stderr.contains("Which call?") && asked.stderr.contains("2  Call Ann"), "{}", asked.stderr);
    let open: Value = serde_json::from_str(program.run(&["checkpoints", "--json"]).stdout.lines().next().expect("one"))
        .expect("JSON");
    let checkpoint = open["checkpoint"].as_str().expect("a name");
    says(&program, r#"{"operations":[{"op":"complete","id":2}]}"#);
    says(&program, "Ann is done.");
    let answered = program.run(&["answer", checkpoint, "submit", "--text", "2", "--approve", "auto"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert!(answered.stdout.contains("1 completed"), "{}\n{}", answered.stdout, answered.stderr);
}

//! What real small models have sent, played back to the real binary: every request ends after a bounded number of calls, and
//! its status is true. Each line of `small_models/replies.jsonl` is one task that a model was given by `bench models`, with
//! every reply that it sent. What comes after them is the last of them, again and again.

#![allow(clippy::disallowed_methods, reason = "tests look into the folder")]

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

/// Calls that a request makes at most, whatever the model sends.
const MOST_CALLS: usize = 30;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Transcript {
    task: String,
    model: String,
    protocol: String,
    request: String,
    files: Vec<(String, String)>,
    wants_change: bool,
    replies: Vec<RecordedReply>,
}

#[derive(Debug, Deserialize)]
struct RecordedReply {
    text: String,
    #[serde(default)]
    calls: Vec<RecordedCall>,
    #[serde(default)]
    stop: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RecordedCall {
    name: String,
    arguments: String,
}

fn answer(recorded: &RecordedReply) -> Answer {
    let mut reply = Reply::new().text([recorded.text.clone()]);
    for (at, call) in recorded.calls.iter().enumerate() {
        reply = reply.tool(format!("call_{at}"), call.name.clone(), [call.arguments.clone()]);
    }
    Answer::openai(match &recorded.stop {
        Some(stop) => reply.stop(stop.clone()),
        None => reply,
    })
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    };
    entries.map(read).collect()
}

/// Plays one, and says what is wrong with its end.
fn play(transcript: &Transcript) -> Result<(), String> {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let url = program.provider.url().to_owned();
    program.set("TRIMTAB_PROVIDERS_LLAMACPP_BASE_URL", &format!("{url}/v1"));
    program.set("TRIMTAB_MODEL", "llamacpp/small");
    program.set("TRIMTAB_ANSWER_PROTOCOL", &transcript.protocol);
    let list = json!({"data": [{"id": "small", "meta": {"n_params": 500_000_000, "n_ctx": 8_192}}]});
    program.provider.on_path("/v1/models", Answer::json(200, list));
    for (path, text) in &transcript.files {
        let path = program.project().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    for reply in &transcript.replies {
        program.provider.push(answer(reply));
    }
    program.provider.always(answer(transcript.replies.last().expect("a reply")));
    let before = files(&program.project());
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", &transcript.request]);
    let asked = program.provider.requests().iter().filter(|request| request.path.ends_with("/completions")).count();
    let events = ended.events();
    let status = events.last().and_then(|event| event["status"].as_str()).unwrap_or("none").to_owned();
    let is_changed = before != files(&program.project());
    let code = match status.as_str() {
        "completed" => Some(0),
        "not_done" | "failed" => Some(1),
        "needs_user" => Some(3),
        _ => None,
    };
    let wrong = if asked > MOST_CALLS {
        "it takes too many calls"
    } else if code.is_none() || ended.code != code {
        "its end is unclear"
    } else if status == "completed" && transcript.wants_change && !is_changed {
        "it claims to be done"
    } else {
        return Ok(());
    };
    Err(format!("{wrong}: {status}, exit {:?}, {asked} calls\n{}", ended.code, ended.stderr))
}

#[test]
fn what_small_models_send_comes_to_a_true_end() {
    let transcripts: Vec<Transcript> = include_str!("small_models/replies.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a transcript"))
        .collect();
    assert!(transcripts.len() >= 100, "{} transcripts", transcripts.len());
    let wrong: Vec<String> = transcripts
        .iter()
        .enumerate()
        .filter_map(|(at, transcript)| {
            let Transcript { task, model, protocol, .. } = transcript;
            play(transcript).err().map(|wrong| format!("line {}: {task}, {model}, {protocol}: {wrong}", at + 1))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} transcripts:\n{}", wrong.len(), transcripts.len(), wrong.join("\n"));
}

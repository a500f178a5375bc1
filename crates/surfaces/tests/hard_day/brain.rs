//! The model of the day: it answers by what the words ask for, and stumbles by the dice.
//!
//! Whatever it wants done has a name of its own, which it never gives twice: what happens twice shows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::provider::{Answer, Reply, Request, images};

/// Where pictures are ordered.
pub(crate) const PICTURES: &str = "/v1/images/generations";

/// What it was asked, by job and step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<BTreeMap<(String, usize), usize>>>);

impl Asked {
    fn note(&self, job: &str, step: usize) {
        *self.0.lock().expect("no panic").entry((job.to_owned(), step)).or_default() += 1;
    }

    /// How often anything but a picture was asked for.
    pub(crate) fn in_words(&self) -> usize {
        let asked = self.0.lock().expect("no panic");
        asked.iter().filter(|((job, _), _)| !job.starts_with("picture")).map(|(_, times)| times).sum()
    }
}

/// The model, with one throw in `stumbles` going wrong.
pub(crate) fn model(seed: u64, stumbles: u64, asked: Asked) -> impl Fn(&Request) -> Answer + Send + Sync + 'static {
    let dice = Mutex::new(Dice::new(seed));
    let wants = AtomicU64::new(1);
    move |request| {
        let throw = dice.lock().expect("no panic").throw();
        let mut dice = Dice::new(throw);
        if request.path == PICTURES {
            let prompt = request.body["prompt"].as_str().unwrap_or_default();
            asked.note(&format!("picture of {}", job_in(prompt).unwrap_or("nothing")), 0);
            let picture = Answer::json(200, images::body(&[images::bytes("in oil")]));
            return if dice.once_in(stumbles) { stumble(picture, &mut dice) } else { picture };
        }
        if request.method == "GET" {
            return Answer::json(200, json!({"data": []}));
        }
        let (job, step) = place(&request.body);
        asked.note(job, step);
        let name = format!("{job}-{}", wants.fetch_add(1, Ordering::Relaxed));
        let answer = Answer::anthropic(reply(&name, &words(&request.body, job), step));
        if dice.once_in(stumbles) { stumble(answer, &mut dice) } else { answer }
    }
}

/// How an answer goes wrong: cut, ended too early, silent, slow down, broken, garbled, not there.
fn stumble(answer: Answer, dice: &mut Dice) -> Answer {
    let length = answer.body_bytes().len() as u64;
    let at = dice.below(length + 1) as usize;
    match dice.below(8) {
        0 => answer.cut_after(at),
        1 => answer.close_after(at),
        2 => answer.stall_after(at),
        3 => Answer::silent(),
        4 => Answer::hang_up(),
        5 => Answer::json(529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "Later."}})),
        6 => {
            let mut bytes = answer.body_bytes();
            let length = bytes.len().max(1);
            for byte in bytes.iter_mut().skip(at.min(length - 1)).take(20) {
                *byte ^= 0x15;
            }
            Answer::events([bytes])
        }
        _ => answer.chunked(1 + dice.below(40) as usize),
    }
}

/// The name of a job in a text.
pub(crate) fn job_in(text: &str) -> Option<&str> {
    let at = text.rfind("job-")?;
    text.get(at..at + "job-00000".len()).filter(|name| name[4..].bytes().all(|byte| byte.is_ascii_digit()))
}

/// Which job is meant, and how many replies it has had: those after the words that name it last.
fn place(body: &Value) -> (&str, usize) {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut replies = 0;
    for message in messages.iter().rev() {
        if message["role"] == "assistant" {
            replies += 1;
            continue;
        }
        if let Some(job) = texts(message).rev().find_map(job_in) {
            return (job, replies);
        }
    }
    ("none", replies)
}

fn texts(message: &Value) -> impl DoubleEndedIterator<Item = &str> {
    let whole = message["content"].as_str();
    let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    whole.into_iter().chain(parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()))
}

/// The words of the job itself.
fn words(body: &Value, job: &str) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said =
        messages.iter().rev().filter(|message| message["role"] == "user").flat_map(|message| texts(message).rev());
    said.filter(|text| text.contains(job)).map(str::to_owned).next().unwrap_or_default()
}

fn reply(name: &str, words: &str, step: usize) -> Reply {
    let file = json!({"path": format!("files/{name}.txt"), "content": format!("{name}\n")});
    let line = json!({"path": "list.txt", "blocks": [{"search": "END", "replace": format!("{name}\nEND")}]});
    // The mark stands in an ignored file: no rewind takes it back, so it counts how often the command ran.
    let command = json!({"command": format!("echo {name} >> marks/{name}; sleep 0.2")});
    let write = || {
        Reply::new().text(["I write."]).tool("w", "write_file", [file.to_string()]).tool(
            "e",
            "edit_file",
            [line.to_string()],
        )
    };
    let run = || Reply::new().text(["I run."]).tool("r", "run_command", [command.to_string()]);
    let pieces: Vec<String> =
        format!("It is done: {name} is as it should be.").split_inclusive(' ').map(str::to_owned).collect();
    let steps: Vec<Reply> = match words {
        words if words.contains("[write]") => vec![write()],
        words if words.contains("[run]") => vec![run()],
        words if words.contains("[both]") => vec![write(), run()],
        _ => Vec::new(),
    };
    steps.into_iter().nth(step).unwrap_or_else(|| Reply::new().text(pieces))
}

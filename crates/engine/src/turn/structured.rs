//! Models without tool calls answer with one JSON object. It is read with all the care of
//! `proposal::recover`; what it wants changed or run becomes the same proposals that tools make.

use serde_json::{Map, json};
use trimtab_vocab::event::{AnswerFact, BannerFact, BugFact, CheckpointKind, Level, Status};
use trimtab_vocab::{Answer, CommandProposal, FileChange, RequestId, StopReason, ToolCall};

use super::answers::{self, Question};
use super::{batch, end_or_go_on, finish, prompt};
use crate::proposal::recover::{Stop, recover};
use crate::record::{About, Active};
use crate::route;
use crate::step::Step;
use crate::turn::tools::Offer;

/// What the model is told about the form of its answer.
pub(super) const FORM: &str = r#"You are Trimtab, a copilot for people who work with files, commands and tasks. Be brief; say when you are not sure.
You have no tools. Answer with one JSON object and nothing else:
{"summary":"what you say to the user","sections":[{"heading":"…","content":"…","codeBlocks":[{"language":"…","code":"…"}]}],"todos":[{"text":"…","completed":false}],"fileChanges":[{"path":"…","content":"the whole new file"},{"path":"…","diff":"a unified diff"},{"path":"…","delete":true}],"commands":[{"command":"…","description":"…"}],"nextSteps":[{"html":"…","inputText":"…"}]}
Leave out what you do not need. Change only files whose content you were shown. The user sees every change and command before it counts; their results come back to you."#;

/// Whether this request is answered in that form.
pub(crate) fn applies(active: &Active) -> bool {
    let (_, facts) = prompt::model(&active.request);
    !facts.tools && route::offer(active.route) != Offer::Nothing
}

/// The reply is there: read it, and propose what it wants.
pub(super) fn replied(step: &mut Step<'_>, request: &RequestId, words: &str, stop: Option<&StopReason>) {
    let read = recover(words.as_bytes(), stop.map_or(Stop::Unknown, Stop::from));
    if !read.found {
        return end_or_go_on(step, words, stop);
    }
    let mut answer = Answer { truncated: read.truncated, ..read.answer };
    if !read.repairs.is_empty() {
        let message = "Auto-detected: Response required JSON cleanup".into();
        step.say(Some(request), BugFact { kind: "JSON".into(), by: "script".into(), message });
        answer.recovered = Some(read.repairs);
    }
    if read.truncated || read.blocked {
        return cut(step, request, answer);
    }
    let acts = !answer.file_changes.is_empty() || !answer.commands.is_empty();
    step.say(Some(request), AnswerFact { answer });
    // Folding the answer has made its wishes a batch.
    if acts { batch::begin(step) } else { finish(step, request, Status::Completed, None) }
}

/// The answer was cut off: nothing of it is applied, what was whole is shown, and the person decides.
fn cut(step: &mut Step<'_>, request: &RequestId, answer: Answer) {
    let message = "Response was truncated!".into();
    step.say(Some(request), BugFact { kind: "Other".into(), by: "script".into(), message });
    let changes = answer.file_changes.len();
    let count = |number: usize, what: &str| (number > 0).then(|| format!("{number} {what}(s)"));
    let recovered: Vec<String> = [
        count(answer.todos.len(), "todo"),
        count(changes, "file change"),
        count(answer.commands.len(), "command"),
        count(answer.next_steps.len(), "next step"),
        count(answer.sections.len(), "section"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut warn = |text: String| step.say(Some(request), BannerFact { level: Level::Warning, text });
    if !recovered.is_empty() {
        warn("⚠ AI response had errors - Recovery succeeded!".into());
        warn(format!("Recovered: {}.", recovered.join(", ")));
        warn("The content below may be incomplete.".into());
    }
    if changes > 0 {
        warn(format!("🚫 BLOCKED: {changes} file change(s) from truncated response."));
        warn("The response was cut off mid-stream. NO changes have been applied.".into());
    }
    step.say(Some(request), AnswerFact { answer: Answer { truncated: true, ..answer } });
    ask(step, changes);
}

/// Retry or Continue.
pub(super) fn ask(step: &mut Step<'_>, blocked: usize) {
    let mut body = Map::new();
    body.insert("blockedChanges".into(), json!(blocked));
    let question = Question {
        kind: CheckpointKind::Recovery,
        about: About::Recovery,
        title: "Response was truncated!".into(),
        choices: vec![answers::choice(answers::RETRY, "🔄 Retry"), answers::choice(answers::CONTINUE, "✓ Continue")],
        body,
    };
    answers::ask(step, question, Status::NeedsUser);
}

/// What the model is told when the person wants another try.
pub(crate) const AGAIN: &str =
    "[Your last reply was cut off, and nothing of it was applied. Send it again, whole; in smaller parts if need be.]";

/// What an answer wants changed and run, as the tools that would do it.
pub(crate) fn wishes(answer: &Answer) -> impl Iterator<Item = ToolCall> {
    let change = |change: &FileChange| {
        let path = &change.path;
        match (&change.delete, &change.diff, &change.content) {
            (Some(true), ..) => Some(("delete_file", json!({"path": path}))),
            (_, Some(diff), _) => Some(("apply_diff", json!({"path": path, "diff": diff}))),
            (_, _, Some(content)) => Some(("write_file", json!({"path": path, "content": content}))),
            _ => None,
        }
    };
    let run = |run: &CommandProposal| ("run_command", json!({"command": run.command}));
    let all: Vec<_> = answer.file_changes.iter().filter_map(change).chain(answer.commands.iter().map(run)).collect();
    all.into_iter().enumerate().map(|(number, (name, input))| ToolCall {
        id: format!("{WISH}{}", number + 1),
        name: name.into(),
        input,
        broken: None,
    })
}

/// How the wishes of an answer are named.
const WISH: &str = "wish";

/// Whether it is the name of one.
pub(crate) fn is_wish(id: &str) -> bool {
    id.strip_prefix(WISH).is_some_and(|number| number.parse::<usize>().is_ok())
}

/// The wishes of an answer have all ended: done, unless there is something that the model should hear of:
/// what went wrong, what commands have written, what the person said.
pub(super) fn closed(step: &mut Step<'_>, all_went_well: bool, has_run: bool) -> bool {
    let Some(active) = step.session.active().filter(|active| applies(active)) else { return false };
    if !all_went_well || has_run || !active.steers.is_empty() {
        return false;
    }
    let request = active.request.id.clone();
    finish(step, &request, Status::Completed, None);
    true
}

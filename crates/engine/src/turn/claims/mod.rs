//! Makes the status true: what a model only claims is not done. Calls and files that a reply contains as text are
//! read as the calls that they are. If a request asked for an action and the reply has none, the model is told once
//! which call is missing. A request that still ends without it ends as not done.

mod said;

pub(super) use said::is_file;

use serde_json::{Value, json};
use trimtab_vocab::event::{BugFact, RouteDecision, Status};
use trimtab_vocab::wording::ProblemText;
use trimtab_vocab::{
    FileChange, Message, Mode, Pace, Part, Problem, ProblemKind, RequestId, Role, StepStatus, StopReason, ToolCall,
};

use super::{nudge, prompt};
use crate::proposal::edit::{Edit, SearchReplace};
use crate::proposal::text_edits::{self, NamedPaths, ShownFile, TextEdits};
use crate::record::names::bug::NOTHING_DONE;
use crate::record::{FlowState, RequestKind, RunningRequest, Session};
use crate::route::{self, AskedDeeds};
use crate::tools::text_calls;
use crate::transition::Transition;
use crate::words;

/// A requested action that was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MissingDeed {
    Change,
    Command,
    /// A change of this file, which the model says to have made.
    Claimed(String),
    /// This file, which the request asks to be made; others were changed.
    File(String),
    /// A change of this file, which the request names as well; others were changed.
    Left(String),
    /// A tool of this name, which there is not.
    Tool(String),
    /// The arguments of a call in text cannot be used, for this reason.
    Arguments(String),
    Plan,
}

/// A reply as it is recorded.
pub(super) struct ReplyRead {
    pub(super) message: Message,
    /// Calls that it held as text.
    pub(super) text_calls: u32,
    /// The request does not clearly ask for what these do.
    pub(super) unasked_text: bool,
}

impl ReplyRead {
    /// A reply that is what it is.
    pub(super) fn as_it_is(message: Message) -> Self {
        Self { message, text_calls: 0, unasked_text: false }
    }
}

/// A reply with the calls and files in its text turned into calls. Only for a complete reply without calls.
pub(super) fn with_text_calls(session: &Session, message: Message, stop: Option<&StopReason>) -> ReplyRead {
    let calls = text_calls_of(session, &message, stop);
    let Some((calls, rest)) = calls.filter(|(calls, _)| !calls.is_empty()) else {
        return ReplyRead::as_it_is(message);
    };
    let unasked_text = session.active().is_some_and(|active| !asked(active).any() && active.flow.running().is_none());
    let text_calls = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    let kept = message.parts.into_iter().filter(|part| !matches!(part, Part::Text { .. }));
    let words = (!rest.is_empty()).then_some(Part::Text { text: rest });
    let parts = kept.chain(words).chain(calls.into_iter().map(Part::ToolUse)).collect();
    ReplyRead { message: Message { role: message.role, parts }, text_calls, unasked_text }
}

fn text_calls_of(session: &Session, message: &Message, stop: Option<&StopReason>) -> Option<(Vec<ToolCall>, String)> {
    let active = session.active().filter(|active| is_judged(active) && !active.answers_in_form())?;
    let is_cut =
        matches!(stop, Some(StopReason::MaxTokens | StopReason::ContentFiltered | StopReason::GuardrailIntervened));
    if is_cut || active.calls.assessing || message.parts.iter().any(|part| matches!(part, Part::ToolUse(_))) {
        return None;
    }
    let text = message.text();
    let offered = prompt::offered(session, active);
    let found = text_calls::read(&text, &offered);
    let found: Vec<_> = found.into_iter().filter(|call| !is_quoted(session, &text[call.range.clone()])).collect();
    let number = session.next_call() - 1;
    let named = |at: usize, name: String, input: Value| {
        // Nine letters and digits are what the strictest provider takes.
        let id = format!("t{:05}{:03}", number % 100_000, (at + 1) % 1_000);
        ToolCall { id, name, input, broken: None }
    };
    if !found.is_empty() {
        let rest = text_calls::without(&text, found.iter().map(|call| call.range.clone()));
        let is_offered = |name: &str| offered.iter().any(|spec| spec.name == name);
        let calls = found.into_iter().enumerate().map(|(at, call)| named(at, call.name, call.input));
        let calls: Vec<ToolCall> = calls.collect();
        let is_valid = |call: &ToolCall| is_offered(&call.name) && session.tools().read(call).is_ok();
        // One that is valid is carried out; its wrong neighbors are answered like wrong calls.
        return calls.iter().any(is_valid).then_some((calls, rest));
    }
    let read = edits_of(session, active, &text)?;
    let is_offered = |name: &str| offered.iter().any(|spec| spec.name == name);
    let calls: Vec<ToolCall> = read
        .edits
        .into_iter()
        .map(call_of)
        .enumerate()
        .map(|(at, (name, input))| named(at, name.into(), input))
        .collect();
    let all_offered = calls.iter().all(|call| is_offered(&call.name));
    let rest = text_calls::without(&text, read.ranges.into_iter());
    all_offered.then_some((calls, rest))
}

/// The call that makes an edit.
fn call_of(edit: Edit) -> (&'static str, Value) {
    match edit {
        Edit::WholeFile { path, content } => ("write_file", json!({"path": path, "content": content})),
        Edit::UnifiedDiff { path, diff } => ("apply_diff", json!({"path": path, "diff": diff})),
        Edit::SearchReplace { path, blocks } => ("edit_file", json!({"path": path, "blocks": blocks})),
    }
}

/// The changes that a reply in words holds, for models that answer with an object and did not.
pub(super) fn file_changes(session: &Session, words: &str) -> Option<(Vec<FileChange>, String)> {
    let active = session.active().filter(|active| is_judged(active))?;
    let read = edits_of(session, active, words).filter(|read| !read.edits.is_empty())?;
    let rest = text_calls::without(words, read.ranges.into_iter());
    let change = |edit: Edit| match edit {
        Edit::WholeFile { path, content } => FileChange { path, content: Some(content), ..FileChange::default() },
        Edit::UnifiedDiff { path, diff } => FileChange { path, diff: Some(diff), ..FileChange::default() },
        Edit::SearchReplace { path, blocks } => {
            FileChange { diff: Some(as_diff(&path, &blocks)), path, ..FileChange::default() }
        }
    };
    Some((read.edits.into_iter().map(change).collect(), rest))
}

/// Search blocks as a diff: each is a hunk whose lines say where it goes.
fn as_diff(path: &str, blocks: &[SearchReplace]) -> String {
    let side = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let hunk = |block: &SearchReplace| format!("@@\n{}{}", side('-', &block.search), side('+', &block.replace));
    format!("--- a/{path}\n+++ b/{path}\n{}", blocks.iter().map(hunk).collect::<String>())
}

/// The edits in the text of a reply, if the request asks for a change and no call has made one: a model that calls
/// tools shows code to explain it.
fn edits_of(session: &Session, active: &RunningRequest, text: &str) -> Option<TextEdits> {
    if active.path() != Some(RouteDecision::Direct) || !asked(active).change {
        return None;
    }
    let done = &active.done.facts.files;
    if !done.is_empty() && active.calls.text_calls == 0 {
        return None;
    }
    let named = words::references(&active.request.text).files;
    let names = NamedPaths { named: &named, folder: session.folder() };
    let mut read = text_edits::read(text, names, |path| seen_text(session, path));
    // What was changed already is shown again, not changed again.
    if read.edits.iter().any(|edit| done.iter().any(|file| file.path == edit.path())) {
        read.edits.clear();
    }
    Some(read)
}

/// What the model was shown of a file last.
fn seen_text(session: &Session, path: &str) -> Option<ShownFile> {
    let heading = super::context::heading(path);
    let reads = |part: &Part| match part {
        Part::ToolUse(call) if call.name == "read_file" => {
            (call.input.get("path")?.as_str()? == path).then(|| call.id.clone())
        }
        _ => None,
    };
    let mut parts = session.conversation().iter().rev().flat_map(|message| message.parts.iter().rev());
    let read = session.conversation().iter().rev().flat_map(|message| &message.parts).find_map(reads);
    let shown = parts.find_map(|part| match part {
        Part::Text { text } => text.strip_prefix(heading.as_str())?.strip_prefix('\n'),
        Part::ToolResult(result) if Some(&result.tool_use_id) == read.as_ref() => Some(result.content.as_str()),
        _ => None,
    })?;
    Some(match is_whole(shown) {
        true => ShownFile::Whole(super::blocks::without_numbers(shown)),
        false => ShownFile::Part,
    })
}

/// Whether a text with line numbers is a complete file: it begins with the first line, and no note between or after
/// the lines says that some are missing.
fn is_whole(numbered: &str) -> bool {
    let is_next = |(at, line): (usize, &str)| {
        line.split_once('\t').is_some_and(|(number, text)| number == (at + 1).to_string() && !text.ends_with("… [cut]"))
    };
    numbered.lines().enumerate().all(is_next)
}

/// Whether a text was shown to the model before, in a file, a result, or the words of the user: then the reply quotes
/// it. Spaces, numbers of lines, and the marks of a fence do not count.
fn is_quoted(session: &Session, text: &str) -> bool {
    let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let text = text.trim();
    let body = match text.strip_prefix("```") {
        Some(fence) => fence.split_once('\n').map_or("", |(_, body)| body).trim_end().trim_end_matches('`'),
        None => text,
    };
    let wanted = dense(body);
    session.conversation().iter().filter(|message| message.role == Role::User).any(|message| {
        message.parts.iter().any(|part| {
            let shown = match part {
                Part::ToolResult(result) => &result.content,
                Part::Text { text } => text,
                _ => return false,
            };
            dense(shown).contains(&wanted) || dense(&super::blocks::without_numbers(shown)).contains(&wanted)
        })
    })
}

/// Whether the engine says how a request of this sort ended.
fn is_judged(active: &RunningRequest) -> bool {
    active.kind() == RequestKind::Turn && !active.makes_pictures() && active.flow.state != FlowState::Compiling
}

/// Whether the request has no tool to change or run anything with: then none of its words ask for that, and what its answer
/// says to be changed is what it reviewed.
fn only_reads(active: &RunningRequest) -> bool {
    active.request.pill.as_deref().is_some_and(words::pill::only_reads)
}

/// The actions that a request asks for, including the user's later messages.
pub(super) fn asked(active: &RunningRequest) -> AskedDeeds {
    let text = &active.request.text;
    if only_reads(active) {
        return AskedDeeds::default();
    }
    let mut asked = route::deeds(text);
    // Models that write edit blocks are small: a statement about a file is taken for a request, not believed done.
    asked.change |= active.writes_blocks() && !words::only_looks(text) && route::is_unclear_about_a_file(text);
    // A plan that is carried out asks for what it names, whatever words it began with.
    if let Some(plan) = active.flow.plan.as_ref().filter(|_| active.flow.is_under_way() && !words::only_looks(text)) {
        asked.change |= plan.steps.iter().any(|step| !step.files.is_empty());
        asked.run |= plan.steps.iter().any(|step| !step.commands.is_empty());
    }
    active.steering.said.iter().fold(asked, |asked, said| match route::deeds(said) {
        _ if route::wants_only_words(said) => AskedDeeds::default(),
        more => AskedDeeds { change: asked.change || more.change, run: asked.run || more.run },
    })
}

/// What the request asked for and has not got, now that the model has said its last words.
pub(super) fn missing(session: &Session, words: &str) -> Option<MissingDeed> {
    let words = &words.replace(SAY_WHY, "");
    let active = session.active().filter(|active| is_judged(active) && !only_reads(active))?;
    // At this pace a turn is a part of the work.
    let is_partial =
        active.request.settings.copilot.pace == Pace::Incremental && session.todos().iter().any(|todo| !todo.completed);
    if is_partial || active.steering.pausing {
        return None;
    }
    let asked = asked(active);
    match active.path() {
        Some(RouteDecision::Plan) => missing_plan(active, words, asked),
        Some(RouteDecision::Direct) => {
            missing_call(session, active, words).or_else(|| missing_effect(session, active, words, asked))
        }
        Some(RouteDecision::Chat) => false_claim(session, active, words, asked),
        _ => None,
    }
}

/// A plan was asked for, and words came.
fn missing_plan(active: &RunningRequest, words: &str, asked: AskedDeeds) -> Option<MissingDeed> {
    let wanted = active.request.mode != Mode::Plan || asked.any() || route::words(&active.request.text).plan;
    let is_question = route::words(&active.request.text).question && !asked.any();
    let is_answer = said::refuses(words) || said::asks_back(words) || said::finds_in_place(words);
    (wanted && !is_question && !is_answer).then_some(MissingDeed::Plan)
}

/// A call in text that cannot be carried out. Who has done something, or was only asked, may show one to explain it.
fn missing_call(session: &Session, active: &RunningRequest, words: &str) -> Option<MissingDeed> {
    let done = &active.done;
    let has_done = !done.facts.files.is_empty() || !done.facts.commands.is_empty() || done.in_place;
    let is_question = route::words(&active.request.text).question && !asked(active).any();
    if active.answers_in_form() || has_done || is_question {
        return None;
    }
    let offered = prompt::offered(session, active);
    let mut calls = text_calls::read(words, &offered).into_iter();
    let call = calls.find(|call| !is_quoted(session, &words[call.range.clone()]))?;
    if offered.iter().all(|spec| spec.name != call.name) {
        // An unknown tool name may belong to the request.
        return asked(active).any().then_some(MissingDeed::Tool(call.name));
    }
    let call = ToolCall { id: String::new(), name: call.name, input: call.input, broken: None };
    session.tools().read(&call).err().map(MissingDeed::Arguments)
}

fn missing_effect(session: &Session, active: &RunningRequest, words: &str, asked: AskedDeeds) -> Option<MissingDeed> {
    let done = &active.done;
    // A denial is an answer.
    let is_skipped = active.flow.statuses.values().any(|status| *status == StepStatus::Skipped);
    if (done.declined || is_skipped) && !said::reports_a_deed(words) {
        return None;
    }
    let asked = AskedDeeds { change: asked.change || only_shows_code(active, words, asked), ..asked };
    let changed = !done.facts.files.is_empty() || done.in_place || done.acted;
    let ran = !done.facts.commands.is_empty() || done.backgrounded;
    let claimed = said::claims(words);
    // A small model that finds everything in place is not believed, because it says this about text that it has only
    // copied.
    let finds_in_place = !active.writes_blocks() && said::finds_in_place(words) && (done.facts.reads > 0 || ran);
    let is_explained = || {
        !said::reports_a_deed(words) && (said::refuses(words) || said::asks_back(words) || finds_in_place)
            || (finds_in_place && claimed.files.is_empty())
    };
    if asked.change && !changed {
        return (!is_explained()).then_some(MissingDeed::Change);
    }
    if asked.run && !asked.change && !ran {
        return (!is_explained()).then_some(MissingDeed::Command);
    }
    if asked.run && !ran && claimed.ran {
        return Some(MissingDeed::Command);
    }
    let missing_file = || missing_file(session, active).filter(|_| !is_explained());
    false_claim(session, active, words, asked).or_else(missing_file)
}

/// Whether a request about a file, which is not a question and has no known verb, was answered with a block of code
/// and no tool at all: models that cannot call tools show what they should have written.
fn only_shows_code(active: &RunningRequest, words: &str, asked: AskedDeeds) -> bool {
    let text = &active.request.text;
    !asked.any()
        && active.tools.used == 0
        && words.contains("```")
        && !words::only_looks(text)
        && route::is_unclear_about_a_file(text)
}

/// A file that was to be made, that the model has not seen, and that nothing has written; or one that was to be changed
/// beside others, and was not.
fn missing_file(session: &Session, active: &RunningRequest) -> Option<MissingDeed> {
    if active.done.acted || active.done.in_place {
        return None;
    }
    let text = &active.request.text;
    let asked = route::asked_files(text, &words::references(text).files);
    let is_unmade = |path: &&String| {
        !session.changed_paths().any(|known| is_same_file(path, known)) && seen_text(session, path).is_none()
    };
    let is_left = |path: &&String| !active.done.facts.files.iter().any(|file| is_same_file(path, &file.path));
    let unmade = asked.made.iter().find(is_unmade).cloned().map(MissingDeed::File);
    // Where more files changed than are listed, it cannot be told.
    let mut changed = asked.changed.iter().filter(|_| active.done.facts.more_files == 0);
    unmade.or_else(|| changed.find(is_left).cloned().map(MissingDeed::Left))
}

/// Whether a named file is this one.
fn is_same_file(named: &str, path: &str) -> bool {
    let (named, path) = (named.trim_start_matches("./").to_lowercase(), path.to_lowercase());
    path == named || path.ends_with(&format!("/{named}")) || named.ends_with(&format!("/{path}"))
}

/// A file that the model says to have changed, and that nothing has changed in this session.
fn false_claim(session: &Session, active: &RunningRequest, words: &str, asked: AskedDeeds) -> Option<MissingDeed> {
    // What a command changes need not be in the history; and who is only asked tells what was before.
    let signals = route::words(&active.request.text);
    let only_looks = signals.question || words::only_looks(&active.request.text);
    if active.done.acted || active.done.in_place || (only_looks && !asked.any()) {
        return None;
    }
    // Who has changed something may name other files beside it: only what was asked for is missing then.
    let named = words::references(&active.request.text).files;
    let counts =
        |path: &String| active.done.facts.files.is_empty() || named.iter().any(|named| is_same_file(path, named));
    let mut claimed = said::claims(words).files.into_iter().filter(counts);
    claimed.find(|path| !session.changed_paths().any(|known| is_same_file(path, known))).map(MissingDeed::Claimed)
}

/// Tells the model once which call is missing. Returns whether it did.
pub(super) fn ask_for_deed(step: &mut Transition<'_>, request: &RequestId, words: &str) -> bool {
    let Some(missing) = missing(step.session, words) else { return false };
    let Some(active) = step.session.active().filter(|active| active.done.nudges == 0) else { return false };
    // A conversation has no tools to ask for, and the model may have been reminded of the plan already.
    let is_told = active.path() == Some(RouteDecision::Chat) || active.flow.complaints > 0;
    if is_told || active.calls.steps >= step.session.step_limit(active) {
        return false;
    }
    let text = reminder(step.session, active, &missing);
    let message =
        "the request asks for an action, and the reply has none; the model was reminded which call is missing".into();
    step.emit(Some(request), BugFact { kind: NOTHING_DONE.into(), by: "engine".into(), message });
    nudge(step, request, &text);
    true
}

/// The end of every reminder. Small models repeat it, which does not count as a reason.
const SAY_WHY: &str = "If it cannot be done, say why.";

/// The reminder: what is missing, and the right call, in the form that the model answers in.
fn reminder(session: &Session, active: &RunningRequest, missing: &MissingDeed) -> String {
    let named = words::references(&active.request.text).files;
    // No name stands for one that is not known: it would be copied.
    let path = match missing {
        MissingDeed::Claimed(path) | MissingDeed::File(path) | MissingDeed::Left(path) => Some(path),
        _ => named.first(),
    };
    let in_form = active.answers_in_form();
    let change = match in_form {
        true if active.writes_blocks() => {
            let path = path.map_or("the name of the file", String::as_str);
            format!("Write {path} alone on a line, then the complete new text of the file in a fence.")
        }
        true => format!(
            "Answer with the JSON object: in \"fileChanges\" an entry with {} and the whole new text of the file as \
             \"content\".",
            path.map_or("the file's \"path\"".to_owned(), |path| format!("\"path\": {}", json!(path)))
        ),
        false => format!(
            "Call the tool write_file with {} and the whole new text of the file as \"content\", or edit_file with the lines \
             to replace. Do not write the call or the file into your answer.",
            path.map_or("the file's \"path\"".to_owned(), |path| format!("\"path\": {}", json!(path)))
        ),
    };
    let run = match in_form {
        true if active.writes_blocks() => "Write the command in a ```sh fence.".to_owned(),
        true => "Answer with the JSON object, with the command in \"commands\".".to_owned(),
        false => "Call the tool run_command with the command line as \"command\".".to_owned(),
    };
    let names: Vec<String> = prompt::offered(session, active).iter().map(|spec| spec.name.clone()).collect();
    let text = match missing {
        MissingDeed::Change => match &active.done.echoed {
            Some(path) => {
                format!("Nothing was changed: what you sent for {path} is the same as the file is now. {change}")
            }
            None => format!("Nothing was changed: your reply only describes it. {change}"),
        },
        MissingDeed::Claimed(path) => format!("{path} was not changed, although your reply says that it was. {change}"),
        MissingDeed::File(path) => format!("{path} is still missing. {change}"),
        MissingDeed::Left(path) => format!("{path} is still as it was. {change}"),
        MissingDeed::Command => format!("Nothing was run: your reply only describes it. {run}"),
        MissingDeed::Tool(name) => format!(
            "There is no tool named {name}. The tools are: {}. {} If no tool is needed, answer in words.",
            names.join(", "),
            if asked(active).change { change } else { String::new() },
        ),
        MissingDeed::Arguments(reason) => reason.clone(),
        MissingDeed::Plan if in_form => {
            "No plan was made. Answer with the JSON object of a plan and nothing else.".into()
        }
        MissingDeed::Plan => "No plan was proposed. Call the tool propose_plan with its steps.".into(),
    };
    format!("[{} {SAY_WHY}]", text.trim())
}

/// The status of a request that ends with this text.
pub(super) fn ending(session: &Session, words: &str) -> (Status, Option<Problem>) {
    let Some(missing) = missing(session, words) else { return (Status::Completed, None) };
    let message = match missing {
        MissingDeed::Change => ProblemText::NoChangeMade,
        MissingDeed::Command => ProblemText::NothingRun,
        MissingDeed::Claimed(path) => ProblemText::ClaimedChange(path),
        MissingDeed::File(path) | MissingDeed::Left(path) => ProblemText::NotMade(path),
        MissingDeed::Tool(name) => ProblemText::CalledNoTool(name),
        MissingDeed::Arguments(_) => ProblemText::CalledWrongly,
        MissingDeed::Plan => ProblemText::NoPlanMade,
    };
    let problem = Problem::new(ProblemKind::NotDone, message).hint(ProblemText::NotDoneHint);
    (Status::NotDone, Some(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_view_from_the_first_line_to_the_last_is_all_of_a_file() {
        assert!(is_whole("1\ta\n2\tb\n"));
        for part in ["2\tb\n3\tc\n", "1\ta\n[Lines 1 to 1 of 9; go on with offset 2.]", "1\ta… [cut]\n2\tb\n"] {
            assert!(!is_whole(part), "{part}");
        }
    }
}

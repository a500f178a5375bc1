//! Replies of models that work better with fenced text than with tool calls: whole files and replacements in fences.
//! What is certain becomes the same proposals that tools make; the rest is requested once more.

use std::sync::Arc;

use trimtab_vocab::event::{BugFact, RequestFact};
use trimtab_vocab::{Answer, CommandProposal, FileChange, Message, Part, RequestId, Role, StopReason, TextReplacement};

use super::{claims, end_or_go_on, ending, next};
use crate::proposal::edit::Edit;
use crate::proposal::fences::{fences, without_thoughts};
use crate::proposal::recover::Recovered;
use crate::proposal::text_edits::{self, NamedPaths, ShownFile, TextEdits, Uncertainty};
use crate::record::{RunningRequest, Session};
use crate::route;
use crate::tokens::estimate;
use crate::transition::Transition;
use crate::words;

/// The file of the example. No project has it, so a copied example changes nothing.
const EXAMPLE: &str = "example_greeting.py";

/// The form of an answer. It has no path, because small models copy what they see.
pub(super) const FORM: &str = r#"You are Trimtab, a copilot that edits the files of a project. You have no tools. You are shown files, and answer with the complete new text of every file that has to change.

Write each file like this: its name alone on a line, then its complete text in a fence. Use the name that you were shown, and nothing before it.

- Never leave a part of a file out, and never write "..." in its place.
- Change only what the request needs, and keep the rest as it is.
- Use only what comes with the language, unless the project uses more.
- If the user wants a command run, put it in a ```sh fence.
- If the user only asks something, answer in words, without a file.
- Then say in one sentence what you changed."#;

/// How a part of a long file is changed.
pub(super) const SEARCH_FORM: &str = r#"You do not have to write a long file whole. Write its name alone on a line, then the lines to find and the lines that take their place:

```
<<<<<<< SEARCH
lines exactly as they are in the file
=======
the new lines
>>>>>>> REPLACE
```"#;

/// What an answer looks like, as an exchange: small models follow an example better than a rule.
const EXAMPLE_REQUEST: &str = "Let the greeting end with an exclamation mark.\n\nexample_greeting.py\n```\nname = \"Ann\"\n\
print(\"Hello, \" + name)\n```";
const EXAMPLE_ANSWER: &str = "example_greeting.py\n```\nname = \"Ann\"\nprint(\"Hello, \" + name + \"!\")\n```\nThe greeting \
ends with an exclamation mark.";
/// Comes after the files, because a small model follows what it read last.
const REMINDER: &str = "Answer with each file that you change or create: its name alone on a line, then its complete new \
text in a fence.";
const RUN_REMINDER: &str = "Answer with the command in a ```sh fence.";
const ANSWER_REMINDER: &str = "Answer in a few words. Do not repeat a file.";
const ABSENT_REMINDER: &str = "Say so in one sentence, and write no file.";
/// Bytes of a request that are repeated.
const LONGEST_REMINDER: usize = 1_000;
/// Lines of a file that is worth a search block.
const LONG_FILE: usize = 80;

/// Whether a file is shown that is too long to be written whole.
fn shows_a_long_file(messages: &[Arc<Message>]) -> bool {
    let is_long = |part: &Part| match part {
        Part::Text { text } => {
            let shown = text.split_once('\n').map_or("", |(_, shown)| shown);
            shown.starts_with(BEGINNING) || (shown.starts_with("```") && shown.lines().count() > LONG_FILE)
        }
        _ => false,
    };
    messages.iter().flat_map(|message| &message.parts).any(is_long)
}

/// A conversation with the form of the answer at its end, and an example before it if a change is wanted; and the
/// tokens that this adds. A question gets no example, because the model would imitate it and answer with a file;
/// neither does a retry, because the model may have copied it. After an action, the model gets only its results.
pub(super) fn framed(active: &RunningRequest, messages: Vec<Arc<Message>>) -> (Vec<Arc<Message>>, u64) {
    let done = &active.done.facts;
    if !done.files.is_empty() || !done.commands.is_empty() || active.series.is_some() || active.calls.assessing {
        return (messages, 0);
    }
    let asked = claims::asked(active);
    let text = said(active);
    let absent = if route::only_mends(&text) { absent_files(&messages, &text) } else { Vec::new() };
    let reminder = match absent.as_slice() {
        [] if asked.change && shows_a_long_file(&messages) => Some(format!("{REMINDER}\n\n{SEARCH_FORM}")),
        [] if asked.change => Some(REMINDER.to_owned()),
        [] if asked.run => Some(RUN_REMINDER.to_owned()),
        [] if only_asks(&text) => Some(ANSWER_REMINDER.to_owned()),
        [] => None,
        absent => Some(format!("There is no file {}. {ABSENT_REMINDER}", absent.join(" and no file "))),
    };
    // A small model answers the last message, and has forgotten what it is about.
    let reminder = match is_asked_again(active) {
        true if text.len() <= LONGEST_REMINDER => {
            reminder.map(|form| format!("The request is still: {text}\n\n{form}"))
        }
        _ => reminder,
    };
    let has_example = asked.change && absent.is_empty() && !is_asked_again(active);
    let example = [Message::user(EXAMPLE_REQUEST), Message::assistant(EXAMPLE_ANSWER)].map(Arc::new);
    let example = example.into_iter().filter(|_| has_example);
    let mut messages: Vec<_> = example.chain(messages).collect();
    let added = [EXAMPLE_REQUEST, EXAMPLE_ANSWER].into_iter().filter(|_| has_example).chain(reminder.as_deref());
    let tokens = added.map(estimate).sum();
    if let Some((last, text)) = messages.last_mut().filter(|last| last.role == Role::User).zip(reminder) {
        Arc::make_mut(last).parts.push(Part::Text { text });
    }
    (messages, tokens)
}

/// The text of a request, with the user's later messages.
fn said(active: &RunningRequest) -> String {
    let said = active.steering.said.iter().map(String::as_str);
    std::iter::once(active.request.words()).chain(said).collect::<Vec<_>>().join("\n")
}

/// Whether a reply came to nothing, and another one was asked for.
pub(super) fn is_asked_again(active: &RunningRequest) -> bool {
    active.done.nudges > 0 || active.calls.hollow > 0
}

/// The files that a request names, where none of them is shown or in the list of the folder.
fn absent_files(messages: &[Arc<Message>], asked: &str) -> Vec<String> {
    let parts = messages.iter().rev().filter(|message| message.role == Role::User);
    let mut parts = parts.flat_map(|message| &message.parts);
    let list = parts.find_map(|part| match part {
        Part::Text { text } => text.strip_prefix(words::FILE_LIST)?.strip_prefix('\n'),
        _ => None,
    });
    let Some(list) = list.filter(|list| !list.contains("[... ")) else { return Vec::new() };
    let named = words::references(asked).files;
    let is_there = |path: &String| {
        let path = path.trim_start_matches("./");
        let is_listed = list.lines().any(|line| line == path || line.ends_with(&format!("/{path}")));
        is_listed || path.starts_with(['/', '~', '.']) || shown_in(messages, path).is_some()
    };
    if named.iter().any(is_there) {
        return Vec::new();
    }
    named.into_iter().filter(|path| claims::is_file(path)).collect()
}

/// Whether only an answer is wanted. A model shows code in it to explain.
fn only_asks(asked: &str) -> bool {
    let asks = route::words(asked).question && !route::deeds(asked).any();
    asks || words::only_looks(asked)
}

/// Commands of one answer at most.
const MOST_COMMANDS: usize = 10;
/// Words of a request to run something. Otherwise, a fence that shows how to start a program is not a proposal.
const RUNS: [&str; 12] =
    ["run", "execute", "test", "tests", "install", "build", "start", "launch", "compile", "commit", "format", "lint"];
const SHELLS: [&str; 6] = ["sh", "bash", "shell", "zsh", "console", "terminal"];

/// The changes and commands in the fences of a reply.
pub(super) struct BlockAnswer {
    pub(super) read: Recovered,
    /// What is not certain, in words for the model.
    complaint: Option<String>,
}

/// Reads a reply of a request. `cut`: it ended at the output limit.
pub(super) fn read(session: &Session, reply: &str, cut: bool) -> BlockAnswer {
    let active = session.active();
    let asked = active.map(said).unwrap_or_default();
    if only_asks(&asked) {
        return BlockAnswer { read: Recovered::default(), complaint: None };
    }
    let named = words::references(&asked).files;
    let names = NamedPaths { named: &named, folder: session.folder() };
    answer_in(
        reply,
        names,
        &|path| shown_in(session.conversation(), path),
        ReplyManner { spaces: is_about_spaces(&asked), runs: wants_command(&asked), cut },
    )
}

/// How a reply is to be taken.
#[derive(Clone, Copy)]
struct ReplyManner {
    /// The request is about spaces and lines.
    spaces: bool,
    /// The request wants something run.
    runs: bool,
    /// It ended at the output limit.
    cut: bool,
}

fn answer_in(
    reply: &str,
    names: NamedPaths<'_>,
    shown: &dyn Fn(&str) -> Option<ShownFile>,
    ReplyManner { spaces, runs, cut }: ReplyManner,
) -> BlockAnswer {
    let reply = without_thoughts(reply);
    let TextEdits { edits, ranges, unplaced } = text_edits::read(&reply, names, shown);
    let (same, edits): (Vec<Edit>, Vec<Edit>) = edits
        .into_iter()
        .filter(|edit| edit.path() != EXAMPLE)
        .partition(|edit| !spaces && differs_only_in_blank_lines(edit, shown));
    let file_changes: Vec<FileChange> = edits.into_iter().map(change).collect();
    let (commands, spoken) = if runs { commands_in(&reply) } else { (Vec::new(), Vec::new()) };
    let unplaced: Vec<_> = unplaced.into_iter().filter(|block| block.path.as_deref() != Some(EXAMPLE)).collect();
    let truncated = cut && unplaced.iter().any(|block| block.why == Uncertainty::Cut);
    let complaint = unplaced.first().filter(|_| file_changes.is_empty() && !truncated).map(|block| {
        let path = block.path.as_deref().unwrap_or("the file");
        match (block.why, shown(path)) {
            (Uncertainty::Part, Some(ShownFile::Part)) => {
                format!("[Nothing was changed: {path} is too long. {SEARCH_FORM}]")
            }
            _ => complaint(path, block.why, lacked(path, &reply, shown).as_deref()),
        }
    });
    let echo = |edit: &Edit| {
        let path = edit.path();
        format!("[Nothing was changed: what you sent for {path} is the same as the file is now. Send its new text.]")
    };
    let complaint = complaint.or_else(|| same.first().filter(|_| file_changes.is_empty()).map(echo));
    let summary = without(&reply, ranges.into_iter().chain(spoken));
    let found = !file_changes.is_empty() || !commands.is_empty() || truncated;
    let answer = Answer { summary, file_changes, commands, ..Answer::default() };
    BlockAnswer { read: Recovered { answer, found, truncated, blocked: truncated, ..Recovered::default() }, complaint }
}

fn change(edit: Edit) -> FileChange {
    match edit {
        Edit::WholeFile { path, content } => FileChange { path, content: Some(content), ..FileChange::default() },
        Edit::UnifiedDiff { path, diff } => FileChange { path, diff: Some(diff), ..FileChange::default() },
        Edit::SearchReplace { path, blocks } => {
            let replacement = |block: crate::proposal::edit::SearchReplace| TextReplacement {
                search: block.search,
                replace: block.replace,
            };
            let blocks = Some(blocks.into_iter().map(replacement).collect());
            FileChange { path, blocks, ..FileChange::default() }
        }
    }
}

/// The last line of a file that a reply does not have. The first may be the one that was to be changed.
fn lacked(path: &str, reply: &str, shown: &dyn Fn(&str) -> Option<ShownFile>) -> Option<String> {
    let Some(ShownFile::Whole(known)) = shown(path) else { return None };
    let is_lacked = |line: &&str| !line.trim().is_empty() && line.len() <= 120 && !reply.contains(line.trim());
    known.lines().rev().find(is_lacked).map(|line| line.trim().to_owned())
}

fn complaint(path: &str, why: Uncertainty, lacked: Option<&str>) -> String {
    let what = match why {
        Uncertainty::NoPath => {
            "nothing says which file the block is. Write its path alone on the line before the fence".into()
        }
        Uncertainty::Cut => format!("the block for {path} has no end. Send it again, whole"),
        Uncertainty::Elided => format!("a part of {path} is left out. Send its complete text, or a SEARCH block"),
        Uncertainty::Part => {
            let lacked = lacked.map(|line| format!(", for example `{line}`")).unwrap_or_default();
            format!("{path} has more lines than that{lacked}. Send all of its lines, also the unchanged ones")
        }
        Uncertainty::Damaged => format!("the SEARCH block for {path} cannot be read. Use the form that you were shown"),
    };
    format!("[Nothing was changed: {what}.]")
}

/// Whether a whole file was sent again with other blank lines, and nothing else: it was meant to be changed.
fn differs_only_in_blank_lines(edit: &Edit, shown: &dyn Fn(&str) -> Option<ShownFile>) -> bool {
    let Edit::WholeFile { path, content } = edit else { return false };
    let Some(ShownFile::Whole(known)) = shown(path) else { return false };
    let lines =
        |text: &str| text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
    let (sent, there): (Vec<String>, Vec<String>) = (lines(content), lines(&known));
    sent == there && *content != known
}

/// Whether a request is about what is between the lines.
fn is_about_spaces(asked: &str) -> bool {
    const ABOUT: [&str; 10] =
        ["blank", "empty line", "newline", "line ", "space", "format", "lint", "pep", "separate", "style"];
    let asked = asked.to_lowercase();
    ABOUT.iter().any(|word| asked.contains(word))
}

/// Whether a request wants something run.
fn wants_command(asked: &str) -> bool {
    let asked = asked.to_lowercase();
    asked.split(|c: char| !c.is_alphanumeric()).any(|word| RUNS.contains(&word))
}

/// The lines of shell fences, and where these stand.
fn commands_in(reply: &str) -> (Vec<CommandProposal>, Vec<std::ops::Range<usize>>) {
    let (mut commands, mut places) = (Vec::new(), Vec::new());
    for fence in fences(reply) {
        if !fence.is_closed || !SHELLS.contains(&fence.language().to_ascii_lowercase().as_str()) {
            continue;
        }
        let lines = fence.body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned());
        commands.extend(lines.map(|command| CommandProposal { command, ..CommandProposal::default() }));
        places.push(fence.range.clone());
    }
    commands.truncate(MOST_COMMANDS);
    (commands, places)
}

/// A text without some of its places.
fn without(text: &str, places: impl Iterator<Item = std::ops::Range<usize>>) -> String {
    let mut places: Vec<_> = places.collect();
    places.sort_by_key(|place| place.start);
    let (mut left, mut at) = (String::new(), 0);
    for place in places {
        left.push_str(text.get(at..place.start.max(at)).unwrap_or_default());
        at = at.max(place.end);
    }
    left.push_str(text.get(at..).unwrap_or_default());
    // The line that names a file says nothing without its block.
    let lines: Vec<&str> = left.lines().filter(|line| !is_bare_path(line)).collect();
    lines.join("\n").trim().to_owned()
}

fn is_bare_path(line: &str) -> bool {
    let line = line.trim().trim_matches(['*', '`', '#', ':', ' ']);
    !line.is_empty() && !line.contains(char::is_whitespace) && line.contains('.') && !line.ends_with(['.', '!', '?'])
}

/// The reply has no action: asks again if one was meant, else it is the answer.
pub(super) fn ask_again(
    step: &mut Transition<'_>,
    request: &RequestId,
    answer: &BlockAnswer,
    words: &str,
    stop: Option<&StopReason>,
) {
    let hollow = step.session.active().map_or(0, |active| active.calls.hollow);
    let Some(complaint) = answer.complaint.clone().filter(|_| hollow == 0) else {
        return end_or_go_on(step, words, stop);
    };
    let message = format!("a block in the reply could not be placed; {complaint}");
    step.emit(Some(request), BugFact { kind: ending::HOLLOW.into(), by: "engine".into(), message });
    step.emit(Some(request), RequestFact::Steered { text: complaint, by: "engine".into() });
    next(step);
}

/// The text of a file as the model was shown it.
fn shown_in(messages: &[Arc<Message>], path: &str) -> Option<ShownFile> {
    let heading = format!("{path}\n");
    let shown = messages.iter().rev().filter(|message| message.role == Role::User);
    let mut parts = shown.flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        Part::Text { text } => match text.strip_prefix(&heading)? {
            beginning if beginning.starts_with(BEGINNING) => Some(ShownFile::Part),
            whole => unfenced(whole).map(ShownFile::Whole),
        },
        _ => None,
    })
}

/// The note above a file that does not fit.
const BEGINNING: &str = "Only its beginning is shown, so change it with SEARCH blocks and never write it whole:";

/// The beginning of a file, as it is shown.
pub(super) fn beginning(numbered: &str) -> String {
    format!("{BEGINNING}\n{}", fenced(numbered))
}

/// A file as it is shown: raw, in a fence that is longer than any in it.
pub(super) fn fenced(numbered: &str) -> String {
    let text = without_numbers(numbered);
    let mut mark = "```".to_owned();
    while text.contains(&mark) {
        mark.push('`');
    }
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{mark}\n{text}{end}{mark}")
}

fn unfenced(text: &str) -> Option<String> {
    let mark = &text[..text.find(|c| c != '`')?];
    let body = text.strip_prefix(mark)?.strip_prefix('\n')?;
    (mark.len() >= 3).then(|| body.strip_suffix(mark).unwrap_or(body).to_owned())
}

/// A text that tools show with the number of each line, as it is in the file.
pub(super) fn without_numbers(numbered: &str) -> String {
    let mut number = 0_u64;
    let mut raw = |line: &str| {
        let (before, rest) = line.split_once('\t')?;
        number = before.parse().ok().filter(|found| number == 0 || *found == number + 1)?;
        Some(rest.to_owned())
    };
    numbered.split_inclusive('\n').map(|line| raw(line).unwrap_or_else(|| line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(reply: &str, named: &[&str], runs: bool) -> BlockAnswer {
        let named: Vec<String> = named.iter().map(|path| (*path).to_owned()).collect();
        answer_in(
            reply,
            NamedPaths { named: &named, folder: None },
            &|_| None,
            ReplyManner { spaces: false, runs, cut: false },
        )
    }

    #[test]
    fn whole_files_and_replacements_become_changes_and_the_words_stay() {
        let reply = "I add the file.\n\nhello.py\n```python\nprint('Hello')\n```\n\ncalc.py\n```\n<<<<<<< SEARCH\n    \
                     return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n\nAdded hello.py and fixed add.";
        let read = answer(reply, &["hello.py", "calc.py"], false).read;
        let changes = &read.answer.file_changes;
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert_eq!(changes[0].content.as_deref(), Some("print('Hello')\n"));
        assert_eq!(changes[1].blocks.as_ref().map(Vec::len), Some(1));
        assert_eq!(read.answer.summary, "I add the file.\n\n\n\nAdded hello.py and fixed add.");
    }

    #[test]
    fn the_examples_change_nothing_when_they_are_copied() {
        for text in [FORM, EXAMPLE_REQUEST, EXAMPLE_ANSWER] {
            let read = answer(text, &[], true);
            assert!(read.read.answer.file_changes.is_empty(), "{:?}", read.read.answer.file_changes);
            assert!(read.read.answer.commands.is_empty(), "{:?}", read.read.answer.commands);
            assert!(read.complaint.is_none(), "{:?}", read.complaint);
        }
        assert!(answer(EXAMPLE_ANSWER, &["greeting.py"], false).read.answer.file_changes.is_empty());
    }

    #[test]
    fn commands_are_proposed_only_where_the_request_wants_something_run() {
        let reply = "Start it so:\n```sh\n$ python3 hello.py\n# that is all\n```\n";
        let commands = |runs| -> Vec<String> {
            answer(reply, &[], runs).read.answer.commands.into_iter().map(|proposal| proposal.command).collect()
        };
        assert_eq!(commands(true), ["python3 hello.py"]);
        assert!(commands(false).is_empty());
        assert!(wants_command("Fix add, then run the tests."));
        assert!(!wants_command("Change the port to 9090 in config.toml"));
    }

    #[test]
    fn a_file_is_shown_raw_in_a_fence_that_holds_it() {
        let shown = fenced("1\ta = 1\n2\t\n3\t```\n");
        assert_eq!(shown, "````\na = 1\n\n```\n````");
        assert_eq!(unfenced(&shown).as_deref(), Some("a = 1\n\n```\n"));
        assert_eq!(without_numbers("7\tx\n8\ty\n[lines 7 to 8]"), "x\ny\n[lines 7 to 8]");
        assert_eq!(
            without_numbers("plain\n5\tnot a number of ours after all"),
            "plain\nnot a number of ours after all"
        );
    }

    #[test]
    fn a_block_without_a_place_is_asked_for_once_more() {
        let reply = "Here:\n```python\ndef add(a, b):\n    return a + b\n```\n";
        let read = answer(reply, &["a.py", "b.py"], false);
        assert!(!read.read.found);
        assert!(read.complaint.is_some_and(|complaint| complaint.contains("which file")), "two files are named");
    }
}

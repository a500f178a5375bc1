//! Models that know fenced text better than calls of tools answer in words, with whole files and replacements in fences.
//! What is certain of it becomes the same proposals that tools make; what is not is asked for once more.

use trimtab_vocab::event::{BugFact, RequestFact};
use trimtab_vocab::{Answer, CommandProposal, FileChange, Part, RequestId, StopReason, TextReplacement};

use super::{end_or_go_on, ending, next};
use crate::proposal::edit::Edit;
use crate::proposal::fences::{fences, without_thoughts};
use crate::proposal::recover::Recovered;
use crate::proposal::text_edits::{self, NamedFile, ShownFile, TextEdits, Uncertainty};
use crate::record::Session;
use crate::route;
use crate::transition::Transition;
use crate::words;

/// The file of the examples. Nobody means it, so a copied example changes nothing.
const EXAMPLE: &str = "path/to/file.txt";

/// What the model is told about the form of its answer.
pub(super) const FORM: &str = r#"You are Trimtab, a copilot that works on the files of the user's folder. You have no tools: you are shown files, and answer with their new text.

To create a file or to replace a whole file, write its path alone on a line, then its complete text in a fence:

path/to/file.txt
```
the complete text of the file
```

To change a part of a file that you were shown, write its path alone on a line, then the lines to find and the lines that take their place:

path/to/file.txt
```
<<<<<<< SEARCH
lines exactly as they are in the file
=======
the new lines
>>>>>>> REPLACE
```

- Give the whole file if it is short. Never leave a part of it out, and never write "..." in its place.
- Change only what the request needs, and keep the rest as it is.
- If the user wants a command run, put it in a ```sh fence.
- If the user only asks something, answer in words, without a path line.
- Then say in one sentence what you changed."#;

/// Commands of one answer at most.
const MOST_COMMANDS: usize = 10;
/// Words of a request that wants something run. A fence that only shows how to start a program is no proposal.
const RUNS: [&str; 12] =
    ["run", "execute", "test", "tests", "install", "build", "start", "launch", "compile", "commit", "format", "lint"];
const SHELLS: [&str; 6] = ["sh", "bash", "shell", "zsh", "console", "terminal"];

/// What the fences of a reply come to.
pub(super) struct BlockAnswer {
    pub(super) read: Recovered,
    /// What is not certain, in words for the model.
    complaint: Option<String>,
}

/// Reads a reply of a request. `cut`: it ended at the output limit.
pub(super) fn read(session: &Session, reply: &str, cut: bool) -> BlockAnswer {
    let active = session.active();
    let asked = active.map(|active| active.request.words().to_owned()).unwrap_or_default();
    // Who is only asked shows code to explain it.
    if route::words(&asked).question && !route::deeds(&asked).any() {
        return BlockAnswer { read: Recovered::default(), complaint: None };
    }
    let named = words::references(&asked).files;
    let named: Vec<NamedFile<'_>> = named.iter().map(|path| NamedFile { path }).collect();
    answer_in(reply, &named, &|path| shown_text(session, path), ReplyManner { runs: wants_command(&asked), cut })
}

/// How a reply is to be taken.
#[derive(Clone, Copy)]
struct ReplyManner {
    /// The request wants something run.
    runs: bool,
    /// It ended at the output limit.
    cut: bool,
}

fn answer_in(
    reply: &str,
    named: &[NamedFile<'_>],
    shown: &dyn Fn(&str) -> Option<ShownFile>,
    ReplyManner { runs, cut }: ReplyManner,
) -> BlockAnswer {
    let reply = without_thoughts(reply);
    let TextEdits { edits, ranges, unplaced } = text_edits::read(&reply, named, shown);
    let file_changes: Vec<FileChange> = edits.into_iter().filter(|edit| edit.path() != EXAMPLE).map(change).collect();
    let (commands, spoken) = if runs { commands_in(&reply) } else { (Vec::new(), Vec::new()) };
    let unplaced: Vec<_> = unplaced.into_iter().filter(|block| block.path.as_deref() != Some(EXAMPLE)).collect();
    let truncated = cut && unplaced.iter().any(|block| block.why == Uncertainty::Cut);
    let complaint = unplaced.first().filter(|_| file_changes.is_empty() && !truncated).map(|block| {
        let path = block.path.as_deref().unwrap_or("the file");
        complaint(path, block.why)
    });
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

fn complaint(path: &str, why: Uncertainty) -> String {
    let what = match why {
        Uncertainty::NoPath => {
            "nothing says which file the block is. Write its path alone on the line before the fence".into()
        }
        Uncertainty::Cut => format!("the block for {path} has no end. Send it again, whole"),
        Uncertainty::Elided => format!("a part of {path} is left out. Send its complete text, or a SEARCH block"),
        Uncertainty::Part => format!("{path} has more lines than that. Send its complete text, or a SEARCH block"),
        Uncertainty::Damaged => format!("the SEARCH block for {path} cannot be read. Use the form that you were shown"),
    };
    format!("[Nothing was changed: {what}.]")
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

/// The reply is there, and nothing in it acts: asks once more where something was meant, else it is the answer.
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
fn shown_text(session: &Session, path: &str) -> Option<ShownFile> {
    let heading = format!("{path}\n");
    let mut parts = session.conversation().iter().rev().flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        Part::Text { text } => match text.strip_prefix(&heading)? {
            beginning if beginning.starts_with(BEGINNING) => Some(ShownFile::Part),
            whole => unfenced(whole).map(ShownFile::Whole),
        },
        _ => None,
    })
}

/// Stands above a file of which there is no room for more.
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
        let named: Vec<NamedFile<'_>> = named.iter().map(|path| NamedFile { path }).collect();
        answer_in(reply, &named, &|_| None, ReplyManner { runs, cut: false })
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
        let read = answer(FORM, &[], true);
        assert!(read.read.answer.file_changes.is_empty(), "{:?}", read.read.answer.file_changes);
        assert!(read.read.answer.commands.is_empty(), "{:?}", read.read.answer.commands);
        assert!(read.complaint.is_none(), "{:?}", read.complaint);
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

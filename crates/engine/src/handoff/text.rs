//! The text that a new session gets from the session that it continues, in the documented form. Names and texts in it
//! come from models and files, so none of them may begin a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::record::{RememberedExchange, Session};

/// Lines of a list at most.
const LINES: usize = 200;
/// Bytes of a line at most.
const LINE: usize = 400;
/// Bytes of the words that a prefilled input repeats.
const REPEATED: usize = 4 * 1024;

const INSTRUCTIONS: &str = "### INSTRUCTIONS
1. Continue working on CURRENT TASKS in priority order
2. Read the FILES MODIFIED if you need context on what was changed
3. Read the FILES REFERENCED if you need the source content
4. Check RECENT ERRORS if there are issues to address
5. IMPORTANT: When outputting fileChanges, use the EXACT file paths listed above
";

/// The handoff text of a session.
pub fn context(session: &Session) -> String {
    let (memory, usage) = (session.memory(), session.usage());
    let id = session.id().map_or("unknown", |id| id.as_str());
    let project = session.folder().map(project).unwrap_or_default();
    let mut text = format!(
        "## HANDOFF CONTEXT\n\n**Parent Session:** {id}\n**Project:** {}\n**Total Exchanges:** {}\n\
         **Tokens Used:** {} in / {} out\n",
        line(project),
        memory.exchanges,
        usage.input_tokens,
        usage.output_tokens
    );
    let summary = if memory.summary.is_empty() { session.title().unwrap_or("(none)") } else { &memory.summary };
    let _ = write!(text, "\n### SESSION SUMMARY\n{}\n", block(summary));
    let files = modified(session);
    let lines = files.iter().map(|(path, (added, removed))| format!("- `{}` (+{added}/-{removed})", line(path)));
    section(&mut text, &format!("FILES MODIFIED ({} files)", files.len()), lines);
    let lines = memory.referenced.iter().map(|path| format!("- `{}`", line(path)));
    section(&mut text, "FILES REFERENCED (context attached during session)", lines);
    let (done, open): (Vec<_>, Vec<_>) = session.todos().iter().partition(|todo| todo.completed);
    let lines = open.iter().enumerate().map(|(at, todo)| format!("{}. [ ] {}", at + 1, line(&todo.text)));
    section(&mut text, "CURRENT TASKS (continue these - priority order)", lines);
    section(&mut text, "COMPLETED TASKS", done.iter().map(|todo| format!("- [x] {}", line(&todo.text))));
    section(&mut text, "RECENT CONVERSATION", memory.pairs.iter().map(pair));
    let lines = memory.troubles.iter().map(|(kind, what)| format!("- {}: {}", line(kind), line(what)));
    section(&mut text, "RECENT ERRORS/ISSUES", lines);
    let lines = memory.failed_commands.iter().map(|(command, why)| format!("- `{}`: {}", line(command), line(why)));
    section(&mut text, "FAILED CLI COMMANDS", lines);
    text.push('\n');
    text.push_str(INSTRUCTIONS);
    text
}

/// The initial input of the new session: the last request, if it is not done, and the open to-dos.
pub fn prefill(session: &Session) -> Option<String> {
    let open = session.todos().iter().filter(|todo| !todo.completed).take(LINES);
    let tasks: String = (1..).zip(open).map(|(n, todo)| format!("{n}. {}\n", line(&todo.text))).collect();
    let asked = session.active().or_else(|| session.parked().last()).map(|active| {
        let said =
            std::iter::once(active.request.text.trim()).chain(active.steering.untold.iter().map(|said| said.trim()));
        said.collect::<Vec<_>>().join("\n\n")
    });
    let asked = asked.map(|text| match text.floor_char_boundary(REPEATED) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text,
    });
    match (asked, tasks.trim_end()) {
        (None, "") => None,
        (Some(asked), "") => Some(asked),
        (Some(asked), tasks) => Some(format!("{asked}\n\nStill to do:\n{tasks}")),
        (None, tasks) => Some(format!("Continue with the open to-dos:\n{tasks}")),
    }
}

/// The files that the changes in force have touched, with all lines that they added and removed.
fn modified(session: &Session) -> BTreeMap<&str, (u64, u64)> {
    let mut files: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for write in session.history().iter().take(session.in_force()).flat_map(|set| &set.writes) {
        let (added, removed) = files.entry(&write.path).or_default();
        (*added, *removed) = (*added + write.added, *removed + write.removed);
    }
    files
}

fn section(text: &mut String, heading: &str, lines: impl ExactSizeIterator<Item = String>) {
    let _ = write!(text, "\n### {heading}\n");
    let all = lines.len();
    if all == 0 {
        text.push_str("(none)\n");
    }
    for line in lines.take(LINES) {
        text.push_str(&line);
        text.push('\n');
    }
    if all > LINES {
        let _ = writeln!(text, "- … and {} more", all - LINES);
    }
}

fn pair(pair: &RememberedExchange) -> String {
    let answer = pair.answer.as_deref().unwrap_or("(not answered yet)");
    format!("User: {}\nAI: {}", block(&pair.user), block(answer))
}

/// The last part of a path.
fn project(folder: &str) -> &str {
    folder.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(folder)
}

/// A text as one line, not too long.
fn line(text: &str) -> String {
    let text = text.trim();
    let short = &text[..text.floor_char_boundary(LINE)];
    let words: String = short.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() { format!("{words}…") } else { words }
}

/// A text whose further lines are set in, so that none of them reads as a heading.
fn block(text: &str) -> String {
    text.trim().lines().map(str::trim_end).collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::event::{
        AnswerFact, BugFact, ChangeFact, ChangedFile, CommandFact, ContextFact, Inherited, LoadedFile, ReplyFact,
        RequestFact, SessionFact, StepsFact,
    };
    use trimtab_vocab::{Answer, Fact, FileState, FileWrite, Message, Mode, RequestId, RunSettings, Todo, Usage};

    use super::*;

    fn set(session: &mut Session, number: i32, path: &str, added: u64, removed: u64) {
        let state = Some(FileState { hash: "0".into(), mode: 0o644 });
        let write = FileWrite { path: path.into(), before: state.clone(), after: state, added, removed, modified: 0 };
        let file = ChangedFile { path: path.into(), added, removed, modified: 0, is_new: false, is_deleted: false };
        let id = format!("cs-{number}").parse().expect("an id");
        let change = trimtab_vocab::event::Change {
            change_set: id,
            files: vec![file],
            position: number,
            by: None,
            message: None,
        };
        let inherited =
            Inherited { change, writes: vec![write], expired: false, made: None, cost_usd: None, undoes: None };
        session.fold(None, &ChangeFact::Inherited(Box::new(inherited)).into());
    }

    fn exchange(session: &mut Session, number: u32, user: &str, answer: Option<&str>) {
        let request: RequestId = format!("r{number}").parse().expect("an id");
        let said = RequestFact::Received {
            tags: Vec::new(),
            pill: None,
            ask: None,
            picture: None,
            while_running: None,
            pause_s: None,
            text: user.into(),
            refs: Vec::new(),
            images: Vec::new(),
            mode: Mode::Auto,
            settings: Box::new(RunSettings::default()),
        };
        session.fold(Some(&request), &said.into());
        let Some(answer) = answer else { return };
        let usage = Usage { input_tokens: 1_000, output_tokens: 100, ..Usage::default() };
        let saved = ReplyFact::Saved {
            call: "c1".parse().expect("an id"),
            raw: None,
            stop_reason: None,
            usage,
            message: Message::assistant(answer),
            partial: false,
            text_calls: 0,
            unasked_text: false,
        };
        session.fold(Some(&request), &saved.into());
        let answer = Answer { summary: answer.into(), ..Answer::default() };
        session.fold(Some(&request), &AnswerFact { answer }.into());
        let status = trimtab_vocab::event::Status::Completed;
        session.fold(
            Some(&request),
            &RequestFact::Finished {
                status,
                error: None,
                usage,
                reason: None,
                done: trimtab_vocab::event::DoneFacts::default(),
            }
            .into(),
        );
    }

    fn known() -> Session {
        let mut session = Session::new("s1".parse().expect("an id"));
        session.fold(
            None,
            &SessionFact::Opened { folder: "/home/u/tools".into(), parent_session_id: None, imported: None }.into(),
        );
        set(&mut session, 0, "src/utils.ts", 40, 10);
        set(&mut session, 1, "src/config.json", 10, 0);
        set(&mut session, 2, "src/utils.ts", 5, 2);
        for (number, user) in (1..).zip(["the fourth last", "the third last", "Add type hints to all functions"]) {
            exchange(&mut session, number, user, Some("Added type hints to calculate_area.\n## HANDOFF CONTEXT"));
        }
        exchange(&mut session, 4, "Now the rest", None);
        let loaded = |path: &str| LoadedFile { path: path.into(), text: "x".into(), hash: None };
        let files = vec![loaded("README.md"), loaded("package.json"), loaded("README.md")];
        session.fold(
            None,
            &ContextFact::Loaded { files, missing: Vec::new(), instructions: None, headings: Vec::new() }.into(),
        );
        let todo = |text: &str, completed| Todo { text: text.into(), completed };
        let todos = vec![
            todo("Add type hints to calculate_area", true),
            todo("Add type hints to fibonacci", false),
            todo("Run final tests\n### INSTRUCTIONS", false),
        ];
        session.fold(None, &StepsFact { todos }.into());
        let message = "Auto-detected: Response required JSON cleanup".into();
        session.fold(None, &BugFact { kind: "JSON".into(), by: "script".into(), message }.into());
        for (command, exit_code, preview) in
            [("true", Some(0), ""), ("python test.py", Some(127), "pyenv: python: command not found\n")]
        {
            let ended: Fact = serde_json::from_value(serde_json::json!({
                "type": "command.finished", "command": command, "exitCode": exit_code, "timedOut": false,
                "preview": preview,
            }))
            .expect("a fact");
            assert!(matches!(ended, Fact::Command(CommandFact::Finished { .. })));
            session.fold(None, &ended);
        }
        session
    }

    #[test]
    fn the_text_has_every_documented_part_and_only_the_last_three_pairs() {
        insta::assert_snapshot!(context(&known()), @"
        ## HANDOFF CONTEXT

        **Parent Session:** s1
        **Project:** tools
        **Total Exchanges:** 3
        **Tokens Used:** 3000 in / 300 out

        ### SESSION SUMMARY
        Added type hints to calculate_area.
          ## HANDOFF CONTEXT

        ### FILES MODIFIED (2 files)
        - `src/config.json` (+10/-0)
        - `src/utils.ts` (+45/-12)

        ### FILES REFERENCED (context attached during session)
        - `README.md`
        - `package.json`

        ### CURRENT TASKS (continue these - priority order)
        1. [ ] Add type hints to fibonacci
        2. [ ] Run final tests ### INSTRUCTIONS

        ### COMPLETED TASKS
        - [x] Add type hints to calculate_area

        ### RECENT CONVERSATION
        User: the third last
        AI: Added type hints to calculate_area.
          ## HANDOFF CONTEXT
        User: Add type hints to all functions
        AI: Added type hints to calculate_area.
          ## HANDOFF CONTEXT
        User: Now the rest
        AI: (not answered yet)

        ### RECENT ERRORS/ISSUES
        - JSON: Auto-detected: Response required JSON cleanup

        ### FAILED CLI COMMANDS
        - `python test.py`: pyenv: python: command not found

        ### INSTRUCTIONS
        1. Continue working on CURRENT TASKS in priority order
        2. Read the FILES MODIFIED if you need context on what was changed
        3. Read the FILES REFERENCED if you need the source content
        4. Check RECENT ERRORS if there are issues to address
        5. IMPORTANT: When outputting fileChanges, use the EXACT file paths listed above
        ");
    }

    #[test]
    fn the_input_begins_with_what_was_asked_and_what_is_open() {
        let mut session = known();
        insta::assert_snapshot!(prefill(&session).expect("words"), @"
        Now the rest

        Still to do:
        1. Add type hints to fibonacci
        2. Run final tests ### INSTRUCTIONS
        ");
        session.fold(None, &StepsFact { todos: Vec::new() }.into());
        assert_eq!(prefill(&session).as_deref(), Some("Now the rest"));
        assert_eq!(prefill(&Session::default()), None);
    }

    #[test]
    fn a_session_without_anything_has_all_headings_too() {
        let text = context(&Session::default());
        assert_eq!(text.matches("(none)").count(), 8, "{text}");
        assert_eq!(text.matches("\n### ").count(), 9);
    }
}

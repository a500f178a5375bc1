//! What any surface of a terminal says in the same words, and breaks in the same way.

pub(crate) mod answers;
mod asked;
mod background;
pub(crate) mod checks;
pub(crate) mod conversation;
pub(crate) mod effects;
pub(crate) mod extensions;
pub(crate) mod hooks;
pub(crate) mod servers;
pub(crate) mod subtasks;
mod wrap;

use std::borrow::Cow;

use trimtab_host::{LoginState, PlacedServer, ServerStanding};
use trimtab_vocab::event::{ChangedFile, PromptProgress, ReplyFact, Status};
use trimtab_vocab::format;
use trimtab_vocab::visible::visible;
use trimtab_vocab::wording::{Refusal, permission};
use trimtab_vocab::{Autonomy, CheckOutcome, Effort, FileWrite, INTERRUPT_TOOL, ImageFact, SessionId, Usage, Visible};

pub(crate) use asked::{asked, details, reasons, server_says, shell_hints, starting_text, text_label, title};
pub(crate) use background::{
    NONE_RUNNING, WHICH_COMMAND, background_line, background_notice, background_state, ended_with_program,
};
pub(crate) use wrap::wrap;

/// What an extension means.
pub(crate) const EXTENDED: &str = "The session is extended. It keeps its complete conversation as long as it fits into the context window. Summarized text stays readable with `trimtab ref`.";

/// How many lines of a file changed, after its name. A picture has none.
pub(crate) fn line_counts(file: &ChangedFile) -> String {
    match (file.added, file.removed) {
        (0, 0) => String::new(),
        (added, removed) => format!(" (+{added} −{removed})"),
    }
}

/// The request that carries out what was discussed, where the user gives no text.
pub(crate) const IMPLEMENT: &str = "Implement what we have talked about.";

/// The entry of the list that undoes the last rewind.
pub(crate) const UNDO_REWIND: &str = "Undo the rewind";

pub(crate) const WENT_BACK: &str = "Edit the message and send it.";

pub(crate) const REWIND_UNDONE: &str = "Undid the rewind.";

/// Where the rest of a conversation is after the user went back in it.
pub(crate) fn rewound_from(from: &SessionId) -> String {
    format!("You went back to this point. The messages after it are in session {from}. /rewind can undo this.")
}

/// The files that went back, in a sentence; empty if there are none.
pub(crate) fn restored_files(writes: &[FileWrite]) -> String {
    let names: Vec<String> = writes.iter().map(|write| sanitize_cells(&write.path)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("Restored {}.", format::first(&names, 3)),
    }
}

/// A hint for somebody at the screen, where commands begin with a slash and a message is sent with Enter.
pub(crate) fn hint_on_screen(hint: &str) -> String {
    let screen = hint_in_editor(hint).replace("`trimtab config` shows", "/config shows");
    screen.replace("`trimtab ps` lists", "/ps lists")
}

/// The same for an editor, which has fewer commands.
pub(crate) fn hint_in_editor(hint: &str) -> String {
    let here = [
        ("continue with `trimtab run --continue`", "send \"continue\""),
        ("with --model", "with /model"),
        ("Check --model", "Check /model"),
    ];
    here.iter().fold(hint.to_owned(), |hint, (shell, screen)| hint.replace(shell, screen))
}

pub(crate) const NO_SESSION_YET: &str = "There is no session yet.";
pub(crate) const NO_SESSION_HERE: &str = "There is no session in this folder.";
pub(crate) const NO_SESSION_TO_CONTINUE: &str = "There is no session in this folder to continue.";

pub(crate) fn no_session(name: impl std::fmt::Display) -> String {
    format!("Unknown session {name}.")
}

/// The MCP servers, a line each, and what to do about those that are not on.
pub(crate) fn servers(servers: &[(PlacedServer, LoginState)], problems: &[String]) -> String {
    let line = |(server, login): &(PlacedServer, LoginState)| {
        format!("{}{}", server_line(server), servers::login_mark(*login))
    };
    let mut lines: Vec<String> = servers.iter().map(line).collect();
    if servers.is_empty() {
        lines.push(NO_SERVERS.to_owned());
    }
    if servers.iter().any(|(server, _)| server.standing == ServerStanding::Pending) {
        lines.push("`trimtab mcp enable NAME` shows a pending server and approves it.".to_owned());
    }
    if servers.iter().any(|(_, login)| *login == LoginState::Needed) {
        lines.push("`/mcp login NAME` logs you in to a server that needs it.".to_owned());
    }
    lines.extend(problems.iter().cloned());
    lines.join("\n")
}

/// Shown if no MCP server is set up.
pub(crate) const NO_SERVERS: &str = "There are no MCP servers. `trimtab mcp add` adds one.";

/// An MCP server in one line.
pub(crate) fn server_line(server: &PlacedServer) -> String {
    let entry = &server.entry;
    let shown = command_line(&entry.shown);
    format!("{:<16} {:<8} {:<8} {shown}", entry.name, server.standing.name(), entry.source.name())
}

/// A text that a person approves, in one line, with everything spelled out that could pass for something else.
pub(crate) fn command_line(text: &str) -> Visible {
    Visible::command(Visible::line(text).as_str())
}

/// A tool call in one line.
pub(crate) fn tool_line(name: &str, input: &serde_json::Value) -> String {
    let main = ["command", "path", "pattern", "url", "query", "from", "question", "key", "id", "name"];
    let what = main.iter().find_map(|field| input.get(*field)?.as_str());
    let what = what.map(|what| what.lines().next().unwrap_or_default().to_owned()).unwrap_or_default();
    let mut line = format!("{name} {what}");
    if line.chars().count() > 160 {
        line = line.chars().take(159).collect();
        line.push('…');
    }
    line.trim_end().to_owned()
}

/// What is told of pictures while a request runs.
pub(crate) fn of_picture(fact: &ImageFact) -> Option<String> {
    match fact {
        ImageFact::Made { image, key, media_type, bytes, cost_usd, original_prompt, .. } => {
            let (size, prompt) = (format::size(*bytes), one_line(original_prompt));
            Some(format!("  made {image} (ref:{key}, {media_type}, {size}, {}): {prompt}", format::dollars(*cost_usd)))
        }
        ImageFact::Failed { error, retry_in_ms: Some(wait), .. } => {
            Some(format!("  {} {}.", sentence(&error.message), conversation::trying_again(*wait)))
        }
        ImageFact::Failed { image: Some(image), error, .. } => Some(format!("  not made: {image}: {error}")),
        _ => None,
    }
}

/// A text without line ends and needless blanks.
pub(crate) fn one_line(prompt: &str) -> String {
    prompt.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a tool's result says to a person, in one line; nothing where the line of the tool says it all. The text itself
/// is written for the model, and tells it what to do.
pub(crate) fn result_for_person(preview: &str) -> Option<String> {
    let preview = CheckOutcome::rest_of(preview).unwrap_or(preview);
    let first = preview.lines().next().unwrap_or_default();
    if first.starts_with(INTERRUPT_TOOL) || first.starts_with("[Not run: ") {
        return None;
    }
    if let Some(rest) = first.strip_prefix(&Refusal::Denied.to_string()) {
        let said = rest.trim().replacen("They say:", "You said:", 1);
        return (!said.is_empty()).then_some(said);
    }
    let first = whole_result_for_person(first);
    (!first.trim().is_empty()).then_some(first)
}

/// A tool's result as a person reads it whole. `web/src/lib/results.json` has rows for this and for the browser.
pub(crate) fn whole_result_for_person(preview: &str) -> String {
    let preview = CheckOutcome::rest_of(preview).unwrap_or(preview);
    if preview.starts_with(INTERRUPT_TOOL) {
        return "You stopped it.".to_owned();
    }
    if let Some(rule) = permission::forbidding_rule(preview) {
        return format!("Blocked by your rule: {rule}");
    }
    if preview.starts_with(&Refusal::PlanMode.to_string()) {
        return "Plan mode: nothing is changed or run.".to_owned();
    }
    let told = match preview.strip_prefix(&Refusal::Denied.to_string()) {
        Some(rest) => format!("You denied it.{}", rest.replacen("They say:", "You said:", 1)),
        None => preview.to_owned(),
    };
    match told.rsplit_once("[Full result saved as ref:") {
        Some((before, key)) => format!("{before}Complete result: trimtab ref {}", key.replace(']', "")),
        None => told,
    }
}

/// The lines below a heading of the handoff's text.
fn section<'a>(text: &'a str, name: &'static str) -> impl Iterator<Item = &'a str> {
    let lines =
        text.lines().skip_while(move |line| line.strip_prefix("### ").is_none_or(|rest| !rest.starts_with(name)));
    lines.skip(1).take_while(|line| !line.starts_with("### ")).map(str::trim).filter(|line| !line.is_empty())
}

/// What a session took over, for a person: the model reads all of the text, with its instructions.
pub(crate) fn handoff_summary(text: &str) -> Vec<String> {
    let parent = text.lines().find_map(|line| line.strip_prefix("**Parent Session:** "));
    let mut lines = vec![match parent {
        Some(parent) => format!("Continues session {parent}."),
        None => "Continues an earlier session.".to_owned(),
    }];
    lines.extend(section(text, "SESSION SUMMARY").take(3).map(|line| format!("  {line}")));
    let files: Vec<&str> = section(text, "FILES MODIFIED").filter_map(|line| line.strip_prefix("- ")).collect();
    lines.extend(
        (!files.is_empty()).then(|| format!("  Changed {}: {}", format::plural(files.len(), "file"), files.join(", "))),
    );
    let todo = |line: &str| format!("  To do: {}", line.split_once("[ ] ").map_or(line, |(_, todo)| todo));
    lines.extend(section(text, "CURRENT TASKS").filter(|line| *line != "(none)").map(todo));
    lines
}

/// A text whose long runs of blank lines are counted instead of shown, so that they push nothing out of sight.
pub(crate) fn fold_blank_lines(text: &str) -> String {
    let mut rows: Vec<String> = Vec::new();
    let mut blank = 0;
    let flush = |blank: &mut usize, rows: &mut Vec<String>| {
        match *blank {
            0..=2 => rows.extend(std::iter::repeat_n(String::new(), *blank)),
            many => rows.push(format!("… {many} blank lines")),
        }
        *blank = 0;
    };
    for line in text.lines() {
        if line.trim().is_empty() {
            blank += 1;
        } else {
            flush(&mut blank, &mut rows);
            rows.push(line.to_owned());
        }
    }
    flush(&mut blank, &mut rows);
    rows.join("\n")
}

/// What a next step sends, as it is shown and as it is sent: one line, so that nothing of it can be out of sight.
pub(crate) fn step_text(input: &str) -> String {
    one_line(&visible(input))
}

/// A text as one word of a shell that no program takes for an option.
pub(crate) fn quoted(text: &str) -> String {
    let dashes = if text.starts_with('-') { "-- " } else { "" };
    format!("{dashes}'{}'", text.replace('\'', "'\\''"))
}

/// Words of others as a sentence, so that another one may follow.
pub(crate) fn sentence(text: &str) -> Cow<'_, str> {
    let ends = text.trim_end().ends_with(['.', '!', '?', '…']);
    if ends { Cow::Borrowed(text) } else { Cow::Owned(format!("{}.", text.trim_end())) }
}

/// Text from elsewhere, fit for a terminal: control characters could move the cursor, change the
/// title or worse.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    visible(text)
}

/// The same for a grid of cells, where a tab has no width of its own.
pub(crate) fn sanitize_cells(text: &str) -> String {
    let text = sanitize(text);
    if text.contains('\t') { text.replace('\t', "    ") } else { text.into_owned() }
}

/// Earlier turns were replaced by a summary.
pub(crate) fn compressed(before: u64, after: u64) -> String {
    format!("Compressed earlier turns: {} → {}", format::number(before), format::plural(after, "token"))
}

/// What a model is doing while its reply comes.
pub(crate) fn reply_label(fact: &ReplyFact) -> Option<String> {
    match fact {
        ReplyFact::Delta { text, .. } if !text.is_empty() => Some("Writing...".to_owned()),
        ReplyFact::Delta { thinking, .. } if !thinking.is_empty() => Some("Thinking...".to_owned()),
        ReplyFact::Delta { progress: Some(PromptProgress { read_tokens, prompt_tokens }), .. } => {
            Some(format!("Reading {} of {} tokens", format::number(read_tokens), format::number(prompt_tokens)))
        }
        _ => None,
    }
}

/// What a notification says when a request has ended.
pub(crate) fn notified_end(status: Status, title: &str) -> String {
    let word = match status {
        Status::Completed => "Done",
        Status::NotDone => "Not done",
        Status::Failed => "Failed",
        Status::Cancelled => "Stopped",
        Status::NeedsUser => "Waiting for your answer",
        Status::Limit => "Reached a limit",
    };
    if title.is_empty() { word.to_owned() } else { format!("{word}: {title}") }
}

/// How fast a call was, as far as it is known.
pub(crate) fn speed(usage: &Usage) -> Option<String> {
    let first = usage.first_token_ms.map(|wait| format!("first token after {:.1} s", wait as f64 / 1_000.0));
    let rate = usage.tokens_per_s.map(|rate| format!("{rate:.0} tokens/s"));
    let told: Vec<String> = first.into_iter().chain(rate).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// The effort that a person typed; `auto` and nothing leave it to the provider. Otherwise, what would do.
pub(crate) fn effort_level(typed: &str) -> Result<Option<Effort>, String> {
    match typed.trim() {
        "" | "auto" => Ok(None),
        name => Effort::named(name).map(Some).ok_or_else(|| {
            let levels = Effort::ALL.map(Effort::name).join(", ");
            format!("Invalid effort \"{name}\". Expected auto, {levels}.")
        }),
    }
}

/// What is said once an effort is chosen.
pub(crate) fn effort_set(effort: Option<Effort>) -> String {
    match effort {
        Some(level) => format!("Effort for the next request: {}.", level.name()),
        None => "Effort for the next request: the provider's default.".to_owned(),
    }
}

/// The level of autonomy that a person typed. Otherwise, what would do.
pub(crate) fn autonomy_level(typed: &str) -> Result<Autonomy, String> {
    let typed = typed.trim();
    Autonomy::named(typed).ok_or_else(|| {
        let levels = format::choices(&Autonomy::ALL.map(Autonomy::name));
        format!("Invalid autonomy \"{}\". Expected {levels}.", sanitize(typed))
    })
}

/// A level of autonomy with what it does, and why it is not the one that was chosen.
pub(crate) fn autonomy_set(chosen: Autonomy, limit: Option<Autonomy>) -> String {
    let level = chosen.within(limit);
    let limited = if level == chosen { "" } else { " The project's settings allow no more." };
    format!("Autonomy: {}. {}{limited}", level.name(), level.sentence())
}

/// The same in a few words, for a line that shows more.
pub(crate) fn autonomy_hint(chosen: Autonomy, limit: Option<Autonomy>) -> &'static str {
    match chosen.within(limit) {
        Autonomy::Careful if chosen != Autonomy::Careful => "careful: the project allows no more",
        Autonomy::Standard if chosen != Autonomy::Standard => "standard: the project allows no more",
        Autonomy::Careful => "careful: asks before edits and commands",
        Autonomy::Standard => "standard: applies edits, asks before most commands",
        Autonomy::Trusting => "trusting: runs commands in the sandbox",
    }
}

/// All levels of autonomy, and which one is in force.
pub(crate) fn autonomy_levels(current: Autonomy) -> String {
    let line = |level: Autonomy| {
        let mark = if level == current { "*" } else { " " };
        format!("{mark} {:<9} {}", level.name(), level.sentence())
    };
    Autonomy::ALL.map(line).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(sanitize("a\u{1b}]0;x\u{7}b"), "a⟨U+001B⟩]0;x⟨U+0007⟩b");
        assert_eq!(sanitize("two\n\tlines é 🦀"), "two\n\tlines é 🦀");
        assert_eq!(sanitize("x\u{202e}txt.exe"), "x⟨U+202E⟩txt.exe");
    }

    #[test]
    fn blank_lines_push_nothing_out_of_sight() {
        let text = format!("echo harmless{}rm -rf victim", "\n".repeat(80));
        assert_eq!(fold_blank_lines(&text), "echo harmless\n… 79 blank lines\nrm -rf victim");
        assert_eq!(fold_blank_lines("a\n\nb\n \t\n\nc"), "a\n\nb\n\n\nc");
    }

    #[test]
    fn a_next_step_is_one_visible_line() {
        assert_eq!(step_text("!id #\n\n\nRun\u{200b} it"), "!id # Run⟨U+200B⟩ it");
        assert_eq!(quoted("it's $(id)"), r"'it'\''s $(id)'");
    }

    #[test]
    fn what_is_written_for_the_model_is_not_shown_to_the_person() {
        assert_eq!(result_for_person("[Request interrupted by user for tool use]\n\nThe user doesn't"), None);
        let denied =
            "The user has forbidden this once and for all (deny run_command: x (everywhere)). Do not try it again.";
        let told = "Blocked by your rule: deny run_command: x (everywhere)";
        assert_eq!(result_for_person(denied).as_deref(), Some(told), "a log of 0.1");
        let denied = "Blocked by the user's rule (deny run_command: x (everywhere)). Do not try it again.";
        assert_eq!(result_for_person(denied).as_deref(), Some(told));
        assert_eq!(result_for_person("No such file.\nmore").as_deref(), Some("No such file."));
        let whole = whole_result_for_person("line\n[Full result saved as ref:output-r1]");
        assert_eq!(whole, "line\nComplete result: trimtab ref output-r1");
    }

    #[test]
    fn terminal_and_browser_show_the_same_words_for_a_result() {
        let rows: Vec<(String, String)> =
            serde_json::from_str(include_str!("../../../../web/src/lib/results.json")).expect("pairs");
        for (written, shown) in rows {
            assert_eq!(whole_result_for_person(&written), shown);
        }
    }

    #[test]
    fn a_handoff_is_summarized_for_the_person() {
        let text = "## HANDOFF CONTEXT\n\n**Parent Session:** s1\n**Project:** tools\n\n### SESSION SUMMARY\nAdded type hints.\n\n\
                    ### FILES MODIFIED (2 files)\n- `a.ts` (+10/-0)\n- `b.ts` (+4/-1)\n\n\
                    ### CURRENT TASKS (continue these - priority order)\n1. [ ] Run the tests\n\n\
                    ### INSTRUCTIONS\n5. IMPORTANT: When outputting fileChanges";
        let shown = [
            "Continues session s1.",
            "  Added type hints.",
            "  Changed 2 files: `a.ts` (+10/-0), `b.ts` (+4/-1)",
            "  To do: Run the tests",
        ];
        assert_eq!(handoff_summary(text), shown);
        assert_eq!(handoff_summary("other words"), ["Continues an earlier session."]);
    }
}

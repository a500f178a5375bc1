//! Commands that were written for other programs, read as pills.

use trimtab_engine::intake::pill::{self, Definition};
use trimtab_vocab::Mode;

use crate::front_matter::{FrontMatter, tools_named};

/// Where a folder keeps commands of other programs.
pub(crate) const COMMAND_FOLDERS: [&str; 3] = [".claude/commands", ".opencode/command", ".opencode/commands"];
/// The same for the user, in the home folder.
pub(crate) const USER_COMMANDS: [&str; 3] =
    [".claude/commands", ".config/opencode/command", ".config/opencode/commands"];

/// Keys that other programs know and this one does not follow.
const UNUSED: [&str; 3] = ["subtask", "hooks", "context"];

/// Parses the file of a command, and says what of it is not followed. `stem` is its name without `.md`. The error is
/// a sentence.
pub(crate) fn read(stem: &str, text: &str, is_own: bool) -> Result<(Definition, Vec<String>), String> {
    let front = FrontMatter::read(text)?;
    let body = text.get(front.body_from..).unwrap_or_default().trim();
    if body.is_empty() {
        return Err("It has no text for the model below its header.".to_owned());
    }
    let mut notes = front.notes.clone();
    let name = stem.to_ascii_lowercase().replace([' ', '.'], "-");
    if !pill::is_name(&name) {
        let shown: String = stem.chars().filter(|c| !c.is_control()).take(40).collect();
        return Err(format!(
            "Invalid name `{shown}`: a name begins with a letter and has only letters, digits, `-`, and `_`."
        ));
    }
    let tools = front.list("allowed-tools").map(|names| {
        let (tools, unknown) = tools_named(&names);
        if !unknown.is_empty() {
            notes.push(format!("allowed-tools names unknown tools: {}.", unknown.join(", ")));
        }
        tools
    });
    let mode = match front.text("agent").as_deref() {
        Some("plan") => Mode::Plan,
        Some("build") | None => Mode::Auto,
        Some(_) => {
            notes.push("The key agent is not used.".to_owned());
            Mode::Auto
        }
    };
    let model = front.text("model");
    if model.is_some() && !is_own {
        notes.push("The key model is not used: a folder does not choose the model.".to_owned());
    }
    // Other programs have short names of their own for models.
    let model = model.filter(|_| is_own);
    let named = model.clone().filter(|model| model.contains('/'));
    if let (Some(model), None) = (&model, &named)
        && model != "inherit"
    {
        notes.push("The key model is not used: expected PROVIDER/NAME.".to_owned());
    }
    if body.contains("!`") {
        notes.push("Commands in !`…` are not run. The model reads them as text.".to_owned());
    }
    let unused: Vec<&str> = UNUSED.into_iter().filter(|key| front.has(key)).collect();
    if !unused.is_empty() {
        notes.push(format!("These keys are not used: {}.", unused.join(", ")));
    }
    let first = body.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    let description = front.text("description").unwrap_or_else(|| first.chars().take(100).collect());
    let definition = Definition {
        name,
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        arguments: front.text("argument-hint").unwrap_or_default(),
        // A list without a known tool leaves only the tools that touch nothing.
        tools: tools
            .map(|tools| if tools.is_empty() { vec!["set_steps".to_owned()] } else { tools })
            .unwrap_or_default(),
        mode,
        categories: Vec::new(),
        body: body.to_owned(),
        model: named,
        is_hint: true,
    };
    Ok((definition, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_other_programs_are_pills() {
        let text = "---\nallowed-tools: Bash(git add:*), Bash(git status:*), Read\nargument-hint: [issue] [level]\n\
                    description: Fix an issue: quickly\nmodel: openai/gpt-5.2\n---\nFix $1 as $ARGUMENTS.\n- Status: !`git status`";
        let (own, notes) = read("Fix.Issue", text, true).expect("a command");
        assert_eq!((own.name.as_str(), own.arguments.as_str()), ("fix-issue", "[issue] [level]"));
        assert_eq!(own.description, "Fix an issue: quickly");
        assert_eq!(own.tools, ["run_command", "read_output", "stop_command", "read_file", "list_files"]);
        assert_eq!(own.model.as_deref(), Some("openai/gpt-5.2"));
        assert!(notes.iter().any(|note| note.contains("are not run")), "{notes:?}");
        let (short, notes) = read("fix", &text.replace("openai/gpt-5.2", "sonnet"), true).expect("a command");
        assert_eq!(short.model, None, "a short name of another program is no model here");
        assert!(notes.iter().any(|note| note.contains("expected PROVIDER/NAME")), "{notes:?}");
        let (theirs, notes) = read("fix", text, false).expect("a command");
        assert_eq!(theirs.model, None);
        assert!(notes.iter().any(|note| note.contains("does not choose the model")), "{notes:?}");
        let (plain, notes) = read("hello", "Say hello to $ARGUMENTS", false).expect("a command");
        assert_eq!((plain.description.as_str(), notes.len()), ("Say hello to $ARGUMENTS", 0));
        let (opencode, _) =
            read("test", "---\ndescription: Run tests\nagent: plan\nmodel: x\n---\nRun.", true).expect("read");
        assert_eq!(opencode.mode, Mode::Plan);
        assert_eq!(read("none", "---\nallowed-tools: Teleport\n---\nx", true).expect("read").0.tools, ["set_steps"]);
        for (stem, text) in [("größe", "x"), ("a", "---\ndescription: x\n---\n"), ("a", "---\nopen: 1\n")] {
            assert!(read(stem, text, true).is_err(), "{stem}");
        }
    }
}

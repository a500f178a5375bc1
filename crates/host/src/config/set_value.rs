//! Changes one setting in the user's settings file, and leaves everything else in it unchanged, including comments.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};
use trimtab_vocab::{Problem, ProblemKind};

use super::keep_model::write;
use super::keys::{self, SettingKind};
use super::raw::{self, Origin, RawSettings};
use super::{extras, places};

/// A setting that was changed, or that already was as wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    pub path: String,
    /// The new value, as TOML; absent: the default counts again.
    pub value: Option<String>,
    pub file: PathBuf,
    /// The file had to be written.
    pub is_written: bool,
}

/// Sets a setting in the user's file. The text is written as in the environment, or as TOML where that has brackets.
pub fn set_value(variables: &BTreeMap<String, String>, path: &str, text: &str) -> Result<SettingChange, Problem> {
    let key = known(path)?;
    let value = parsed(path, key.kind, text)?;
    let by_hand = format!("Set {path} = {} by hand.", extras::shown(path, &value));
    let (file, is_written) = change(variables, &by_hand, |before| with_value(before, path, &value))?;
    Ok(SettingChange { path: path.to_owned(), value: Some(extras::shown(path, &value).to_string()), file, is_written })
}

/// The value that a text stands for.
pub(super) fn parsed(path: &str, kind: SettingKind, text: &str) -> Result<Value, Problem> {
    let mut raw = RawSettings::default();
    match bracketed(kind, text) {
        Some(value) => raw.add_value(path, kind, value, Origin::CommandLine)?,
        None => raw.add_text(path, kind, text, Origin::CommandLine)?,
    }
    raw.get(path).map(|(value, _)| value.clone()).ok_or_else(|| raw::unknown(path, &Origin::CommandLine))
}

/// Removes a setting from the user's file, so that its default counts again.
pub fn unset_value(variables: &BTreeMap<String, String>, path: &str) -> Result<SettingChange, Problem> {
    known(path)?;
    let (file, is_written) =
        change(variables, &format!("Remove {path} by hand."), |before| without_value(before, path))?;
    Ok(SettingChange { path: path.to_owned(), value: None, file, is_written })
}

fn known(path: &str) -> Result<&'static keys::SettingKey, Problem> {
    keys::find(path).ok_or_else(|| raw::unknown(path, &Origin::CommandLine))
}

/// A list or a table that is written as TOML.
fn bracketed(kind: SettingKind, text: &str) -> Option<Value> {
    let takes_brackets = match kind {
        SettingKind::List | SettingKind::Phrases | SettingKind::Rules => text.trim_start().starts_with('['),
        SettingKind::Numbers(..) | SettingKind::Texts | SettingKind::Headers | SettingKind::Fields => {
            text.trim_start().starts_with('{')
        }
        _ => false,
    };
    let table: Table = takes_brackets.then(|| format!("v = {}", text.trim()).parse().ok()).flatten()?;
    (table.len() == 1).then(|| table.get("v").cloned()).flatten()
}

/// Changes the file, if the result is a file that Trimtab can read; whether anything was written.
fn change(
    variables: &BTreeMap<String, String>,
    by_hand: &str,
    change: impl Fn(&str) -> Option<String>,
) -> Result<(PathBuf, bool), Problem> {
    let (file, _) = places(variables)?;
    let wrong = |why: String| Problem::new(ProblemKind::Settings, format!("Cannot change {}: {why}.", file.display()));
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => String::new(),
        Err(error) => return Err(wrong(error.to_string()).hint("Check its permissions.")),
    };
    // A broken file is reported as such, with the line.
    text.parse::<Table>().map(drop).or_else(|_| readable(&text, &file))?;
    let changed = change(&text)
        .ok_or_else(|| wrong("it is written in a form that cannot be changed safely".into()).hint(by_hand))?;
    if changed == text {
        return Ok((file, false));
    }
    readable(&changed, &file)?;
    write(&file, &changed)
        .map_err(|error| wrong(error.to_string()).hint("Check the owner and the permissions of the file."))?;
    Ok((file, true))
}

fn readable(text: &str, file: &Path) -> Result<(), Problem> {
    let mut raw = RawSettings::defaults();
    raw.add_file(text, file)?;
    raw.check_together()
}

/// A settings file with this value in it; none where it is written in a way that cannot be changed safely.
fn with_value(text: &str, path: &str, value: &Value) -> Option<String> {
    let mut expected: Table = text.parse().ok()?;
    let changed = match place(text, path) {
        Some(found) => format!("{}{value}{}", &text[..found.value_start], &text[found.value_end..]),
        None => inserted(text, path, value),
    };
    let (section, name) = path.rsplit_once('.').map_or((None, path), |(section, name)| (Some(section), name));
    let mut table = &mut expected;
    for part in section.into_iter().flat_map(|section| section.split('.')) {
        table = table.entry(part).or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
    }
    table.insert(name.to_owned(), value.clone());
    (changed.parse::<Table>().ok()? == expected).then_some(changed)
}

/// A settings file without this setting.
fn without_value(text: &str, path: &str) -> Option<String> {
    let mut expected: Table = text.parse().ok()?;
    let Some(found) = place(text, path) else { return Some(text.to_owned()) };
    let start = text[..found.key_start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[found.value_end..].find('\n').map_or(text.len(), |at| found.value_end + at + 1);
    let changed = format!("{}{}", &text[..start], &text[end..]);
    remove(&mut expected, path)?;
    // A section that was only dotted keys is gone with its last one.
    let mut kept: Table = changed.parse().ok()?;
    prune(&mut expected);
    prune(&mut kept);
    (kept == expected).then_some(changed)
}

fn remove(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        Some((section, rest)) if !table.contains_key(path) => remove(table.get_mut(section)?.as_table_mut()?, rest),
        _ => table.remove(path),
    }
}

/// Empty sections say nothing.
fn prune(table: &mut Table) {
    table.iter_mut().filter_map(|(_, value)| value.as_table_mut()).for_each(prune);
    table.retain(|_, value| value.as_table().is_none_or(|inner| !inner.is_empty()));
}

/// Where a setting stands in a file, in bytes.
struct SettingPlace {
    key_start: usize,
    value_start: usize,
    value_end: usize,
}

fn place(text: &str, path: &str) -> Option<SettingPlace> {
    let table = DeTable::parse(text).ok()?;
    let mut inner = table.get_ref();
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let (key, value) = inner.iter().find(|(key, _)| key.get_ref().as_ref() == part)?;
        if parts.peek().is_none() {
            let (value_start, value_end) = (value.span().start, value.span().end);
            return Some(SettingPlace { key_start: key.span().start, value_start, value_end });
        }
        let DeValue::Table(next) = value.get_ref() else { return None };
        inner = next;
    }
    None
}

/// A file with a new line for a setting: in its section, or in a new one at the end.
fn inserted(text: &str, path: &str, value: &Value) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_header = |line: &String| line.trim_start().starts_with('[');
    let Some((section, name)) = path.rsplit_once('.') else {
        // After the other settings without a section, and before the comments of the first section.
        let first = lines.iter().position(is_header);
        let mut at = first.unwrap_or(lines.len());
        while first.is_some() && at > 0 && matches!(lines[at - 1].trim_start().chars().next(), None | Some('#')) {
            at -= 1;
        }
        lines.insert(at, format!("{path} = {value}"));
        return lines.join("\n") + "\n";
    };
    let header = format!("[{section}]");
    let is_section = |line: &String| line.split('#').next().is_some_and(|line| line.trim() == header);
    match lines.iter().position(is_section) {
        Some(at) => {
            let mut end = lines[at + 1..].iter().position(is_header).map_or(lines.len(), |next| at + 1 + next);
            while end > at + 1 && matches!(lines[end - 1].trim_start().chars().next(), None | Some('#')) {
                end -= 1;
            }
            lines.insert(end, format!("{name} = {value}"));
        }
        None => {
            if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                lines.push(String::new());
            }
            lines.push(header);
            lines.push(format!("{name} = {value}"));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::String(value.to_owned())
    }

    #[test]
    fn a_value_is_changed_where_it_stands_and_comments_stay() {
        for (before, path, value, after) in [
            ("", "model", text("a/b"), "model = \"a/b\"\n"),
            ("", "commands.sandbox", text("off"), "[commands]\nsandbox = \"off\"\n"),
            (
                "# mine\nmodel = \"a/b\" # fast\n\n# bounds\n[limits]\nsteps = 3 # few\n",
                "model",
                text("c/d"),
                "# mine\nmodel = \"c/d\" # fast\n\n# bounds\n[limits]\nsteps = 3 # few\n",
            ),
            (
                "# mine\n\n# bounds\n[limits] # here\nsteps = 3\n\n# more\n[commands]\n",
                "limits.retries",
                Value::Integer(2),
                "# mine\n\n# bounds\n[limits] # here\nsteps = 3\nretries = 2\n\n# more\n[commands]\n",
            ),
            ("a = 1\n\n# b\n[b]\n", "model", text("x/y"), "a = 1\nmodel = \"x/y\"\n\n# b\n[b]\n"),
            (
                "[commands]\nallow = [\n  \"ls\", # look\n  \"pwd\",\n]\nsandbox = \"off\"\n",
                "commands.allow",
                Value::Array(vec![text("ls")]),
                "[commands]\nallow = [\"ls\"]\nsandbox = \"off\"\n",
            ),
            ("limits.steps = 3 # dotted\n", "limits.steps", Value::Integer(9), "limits.steps = 9 # dotted\n"),
            ("limits = { steps = 3 }\n", "limits.steps", Value::Integer(9), "limits = { steps = 9 }\n"),
        ] {
            assert_eq!(with_value(before, path, &value).as_deref(), Some(after), "{path}");
        }
        assert_eq!(with_value("limits = { steps = 3 }\n", "limits.retries", &Value::Integer(9)), None);
        assert_eq!(with_value("text = \"\"\"\n[limits]\n\"\"\"\n", "limits.steps", &Value::Integer(9)), None);
    }

    #[test]
    fn a_value_is_removed_with_its_lines() {
        for (before, path, after) in [
            ("model = \"a/b\" # fast\n[limits]\nsteps = 3\n", "model", "[limits]\nsteps = 3\n"),
            ("[limits]\nsteps = 3\n", "limits.steps", "[limits]\n"),
            ("limits.steps = 3\n", "limits.steps", ""),
            ("[commands]\nallow = [\n  \"ls\",\n]\ndeny = []\n", "commands.allow", "[commands]\ndeny = []\n"),
            ("[limits]\nsteps = 3\n", "limits.retries", "[limits]\nsteps = 3\n"),
        ] {
            assert_eq!(without_value(before, path).as_deref(), Some(after), "{path}");
        }
        assert_eq!(without_value("limits = { steps = 3, retries = 1 }\n", "limits.steps"), None);
    }

    #[test]
    fn only_a_file_that_can_be_read_is_written() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        let variables = super::super::tests::environment(home.path(), &[]);
        let set = |path: &str, text: &str| set_value(&variables, path, text);
        let first = set("commands.sandbox", "read-only").expect("set");
        assert_eq!((first.value.as_deref(), first.is_written), (Some("\"read-only\""), true));
        assert!(!set("commands.sandbox", "read-only").expect("set").is_written);
        let kept = std::fs::read_to_string(&file).expect("there");
        let problem = set("commands.sandbox", "none").expect_err("invalid");
        assert_eq!(problem.message, "Invalid value \"none\" for commands.sandbox (command line).");
        let problem = set("commands.sandbx", "off").expect_err("unknown");
        assert!(problem.hint.is_some_and(|hint| hint.starts_with("Did you mean commands.sandbox?")));
        assert!(set("copilot.unsure_below", "0.9").is_err(), "it does not fit another setting");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), kept, "nothing was written");
        set("commands.allow", "ls, git log").expect("set");
        set("commands.deny", "[\"git push\"]").expect("set");
        set("commands.timeouts", "{ \"cargo test\" = 600 }").expect("set");
        let profile = crate::config::load_from(&variables, &[]).expect("loads");
        let shown = |path: &str| profile.shown().into_iter().find(|one| one.path == path).expect("shown").value;
        assert_eq!(shown("commands.allow"), "[\"ls\", \"git log\"]");
        assert_eq!(shown("commands.deny"), "[\"git push\"]");
        assert_eq!(shown("commands.timeouts"), "{ \"cargo test\" = 600 }");
        assert_eq!(unset_value(&variables, "commands.allow").expect("unset").value, None);
        assert!(!unset_value(&variables, "commands.allow").expect("unset").is_written);
        // A value that cannot be read can be replaced.
        std::fs::write(&file, "[commands]\nsandbox = \"none\"\n").expect("written");
        set("commands.sandbox", "workspace").expect("set");
        std::fs::write(&file, "autoApplyCli = true\n").expect("written");
        let problem = set("apply.commands", "ask").expect_err("twice");
        assert!(problem.message.contains("under another name"), "{}", problem.message);
    }
}

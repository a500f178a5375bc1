//! Pills: workflows that the user writes as Markdown files and calls by name. The world reads the files; their
//! meaning, and what a call does, is decided here.

use trimtab_vocab::{Mode, Pill};

use crate::tools;

/// Bytes of a pill's file at most.
pub const LARGEST: usize = 64 * 1024;
/// Characters of a name at most.
const LONGEST_NAME: usize = 64;
/// The groups of tools there are.
const CATEGORIES: [&str; 3] = ["files", "commands", "web"];
const KEYS: [&str; 6] = ["name", "description", "arguments", "tools", "mode", "categories"];

/// The content of a pill's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The name that calls it.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
    /// What may follow the name: `<needed> [optional]`.
    pub arguments: String,
    /// The only tools that it can use. Empty: all tools of its groups.
    pub tools: Vec<String>,
    /// The path it takes.
    pub mode: Mode,
    /// The groups of tools that it needs. Empty: the groups of its route.
    pub categories: Vec<String>,
    /// The text for the model, with placeholders for arguments.
    pub body: String,
    /// The model that it asks for.
    pub model: Option<String>,
    /// What follows the name is only a hint: nothing of it is needed.
    pub is_hint: bool,
}

/// Words that may call a pill: `/name`, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PillCall<'a> {
    /// The called name, without the slash.
    pub name: &'a str,
    /// The rest of the words.
    pub arguments: &'a str,
}

/// Parses a text as a call: it begins with a slash and a name, and white space follows. A path such as `/etc/hosts`
/// is not a call. Whether the pill exists is not checked.
pub fn call(text: &str) -> Option<PillCall<'_>> {
    let rest = text.trim_start().strip_prefix('/')?;
    let (name, arguments) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let plain = ["project:", "user:", "skill:"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name);
    let plain = plain.strip_prefix("project:").unwrap_or(plain);
    is_name(plain).then_some(PillCall { name, arguments: arguments.trim() })
}

/// Whether a name can call a pill.
pub fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
}

/// Whether a built-in tool has this name.
pub fn is_tool(name: &str) -> bool {
    tools::registry().get(name).is_some()
}

/// Parses a pill's file. `stem` is its name without `.md`. The error is a sentence.
pub fn read(stem: &str, text: &str) -> Result<Definition, String> {
    if text.len() > LARGEST {
        return Err(format!("It is larger than {} KB.", LARGEST / 1024));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Err("It does not begin with a header between two lines `---`.".into());
    }
    let mut fields: Vec<(&str, PillValue)> = Vec::new();
    let mut closed = false;
    for (number, line) in lines.by_ref().enumerate() {
        let line = line.trim_end();
        if line == "---" {
            closed = true;
            break;
        }
        // The first line is the opening `---`.
        read_line(line, &mut fields).map_err(|wrong| format!("Line {}: {wrong}", number + 2))?;
    }
    if !closed {
        return Err("Its header does not end with a line `---`.".into());
    }
    define(stem, fields, lines.collect::<String>().trim())
}

#[derive(Debug)]
enum PillValue {
    Text(String),
    List(Vec<String>),
}

fn read_line<'a>(line: &'a str, fields: &mut Vec<(&'a str, PillValue)>) -> Result<(), String> {
    let plain = line.trim_start();
    if plain.is_empty() || plain.starts_with('#') {
        return Ok(());
    }
    if let Some(item) = plain.strip_prefix("- ") {
        let Some((_, value)) = fields.last_mut() else { return Err("a list item has no list above it.".into()) };
        match value {
            PillValue::List(items) => items.push(unquoted(item)),
            PillValue::Text(text) if text.is_empty() => *value = PillValue::List(vec![unquoted(item)]),
            PillValue::Text(_) => return Err("a list item has no list above it.".into()),
        }
        return Ok(());
    }
    let Some((key, value)) = line.split_once(':').filter(|_| plain == line) else {
        return Err("it is neither `key: value` nor a list item.".into());
    };
    let key = key.trim_end();
    if !KEYS.contains(&key) {
        return Err(format!("unknown key `{}`. The keys are {}.", shown(key), KEYS.join(", ")));
    }
    if fields.iter().any(|(known, _)| *known == key) {
        return Err(format!("`{key}` is set twice."));
    }
    let value = value.trim();
    let list = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let value = match list.filter(|_| matches!(key, "tools" | "categories")) {
        Some(items) => PillValue::List(items.split(',').map(unquoted).filter(|item| !item.is_empty()).collect()),
        None => PillValue::Text(unquoted(value)),
    };
    fields.push((key, value));
    Ok(())
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text).to_owned()
}

/// Words of a file in a message: short, and on one line.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn define(stem: &str, fields: Vec<(&str, PillValue)>, body: &str) -> Result<Definition, String> {
    if body.is_empty() {
        return Err("It has no text for the model below its header.".into());
    }
    let first = body.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    let mut definition = Definition {
        name: stem.to_owned(),
        description: first.chars().take(100).collect(),
        arguments: String::new(),
        tools: Vec::new(),
        mode: Mode::Auto,
        categories: Vec::new(),
        body: body.to_owned(),
        model: None,
        is_hint: false,
    };
    for (key, value) in fields {
        let text = |value: PillValue| match value {
            PillValue::Text(text) => Ok(text),
            PillValue::List(_) => Err(format!("`{key}` is a text, not a list.")),
        };
        let list = |value: PillValue, known: &[&str]| {
            let items = match value {
                PillValue::List(items) => items,
                PillValue::Text(text) => text.split(',').map(unquoted).filter(|item| !item.is_empty()).collect(),
            };
            match items.iter().find(|item| !known.contains(&item.as_str())) {
                Some(other) => {
                    Err(format!("`{key}` has the unknown value `{}`. Use {}.", shown(other), known.join(", ")))
                }
                None => Ok(items),
            }
        };
        match key {
            "name" => definition.name = text(value)?,
            "description" => definition.description = text(value)?,
            "arguments" => definition.arguments = text(value)?,
            "tools" => definition.tools = list(value, &tools::registry().names())?,
            "categories" => definition.categories = list(value, &CATEGORIES)?,
            _ => {
                definition.mode = match text(value)?.as_str() {
                    "auto" => Mode::Auto,
                    "chat" => Mode::Chat,
                    "plan" => Mode::Plan,
                    other => return Err(format!("`mode` is auto, chat or plan, not `{}`.", shown(other))),
                }
            }
        }
    }
    if !is_name(&definition.name) {
        return Err(format!(
            "Invalid name `{}`: a name begins with a lower-case letter and has only lower-case letters, digits, `-`, and `_`.",
            shown(&definition.name)
        ));
    }
    Ok(definition)
}

/// The pill as a request runs it: the file's text with the arguments in their places.
pub fn expand(definition: &Definition, called: PillCall<'_>, from: String) -> Result<Pill, String> {
    let words = split(called.arguments);
    let needed = if definition.is_hint { 0 } else { definition.arguments.matches('<').count() };
    if words.len() < needed {
        return Err(format!("It needs more arguments: /{} {}", called.name, definition.arguments));
    }
    Ok(Pill {
        name: called.name.to_owned(),
        from,
        text: fill(&definition.body, called.arguments, &words),
        mode: definition.mode,
        categories: definition.categories.clone(),
        tools: definition.tools.clone(),
        skill: None,
    })
}

/// Fills in arguments: `$ARGUMENTS`, and `$1` to `$9`; a backslash keeps one literally. Inserted text is not expanded
/// again. Arguments without a placeholder are appended, so that nothing typed is lost.
fn fill(body: &str, all: &str, words: &[&str]) -> String {
    let mut filled = String::with_capacity(body.len() + all.len());
    let (mut has_all, mut highest) = (false, 0);
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, place) = rest.split_at(at);
        let behind = &place[1..];
        let digit = behind.bytes().next().filter(|byte| (b'1'..=b'9').contains(byte));
        let digit = digit.filter(|_| !behind[1..].starts_with(|c: char| c.is_ascii_digit()));
        let length = match digit {
            Some(_) => 2,
            None if behind.starts_with("ARGUMENTS") => 10,
            None => 0,
        };
        match before.strip_suffix('\\').filter(|_| length > 0) {
            Some(before) => {
                filled.push_str(before);
                filled.push_str(&place[..length]);
            }
            None => {
                filled.push_str(before);
                match digit {
                    Some(digit) => {
                        let number = usize::from(digit - b'0');
                        highest = highest.max(number);
                        filled.push_str(words.get(number - 1).copied().unwrap_or_default());
                    }
                    None if length > 0 => {
                        has_all = true;
                        filled.push_str(all);
                    }
                    None => filled.push('$'),
                }
            }
        }
        rest = &place[length.max(1)..];
    }
    filled.push_str(rest);
    let more: Vec<&str> = words.iter().skip(highest).copied().collect();
    if highest == 0 && !has_all && !all.is_empty() {
        filled.push_str("\n\n");
        filled.push_str(all);
    } else if !has_all && !more.is_empty() {
        filled.push_str("\n\n");
        filled.push_str(&more.join(" "));
    }
    filled
}

/// The words of arguments; quotes hold several together.
pub fn split(arguments: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = arguments.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'').then(|| rest[1..].find(first)).flatten();
        let (word, behind) = match quoted {
            Some(end) => (&rest[1..=end], &rest[end + 2..]),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

/// Whether a pill allows a tool. It only narrows: the permission check still applies. Tools that touch nothing, such
/// as the list of steps, are always allowed.
pub(crate) fn allows(pill: &Pill, tool: &str) -> bool {
    // A name that no tool has is refused like one of the folder's own.
    let group = match tools::registry().get(tool) {
        Some(definition) => definition.category.as_deref(),
        None if tool.starts_with("mcp__") => Some("mcp"),
        None => Some("files"),
    };
    let Some(group) = group else { return true };
    (pill.tools.is_empty() || pill.tools.iter().any(|known| known == tool))
        && (pill.categories.is_empty() || pill.categories.iter().any(|known| known == group))
}

/// Whether a pill leaves only tools that read, so that nothing can be changed or run.
pub(crate) fn only_reads(pill: &Pill) -> bool {
    let acts = |name: &str| tools::registry().get(name).is_some_and(|tool| !tool.read_only);
    !tools::registry().names().into_iter().any(|name| acts(name) && allows(pill, name))
}

/// The message to the model when it calls another tool.
pub(crate) fn refusal(pill: &Pill, tool: &str) -> String {
    let allowed: Vec<&str> = tools::registry().names().into_iter().filter(|name| allows(pill, name)).collect();
    format!("The user's workflow /{} does not allow {tool}. It allows: {}.", pill.name, allowed.join(", "))
}

#[cfg(test)]
#[path = "pill_tests.rs"]
mod tests;

//! The front matter of skills and commands: YAML between two lines `---`. The files were written for other programs,
//! so what is not quite YAML is read as it was meant, and a note says so.

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;

/// Bytes of a header.
const LARGEST: usize = 16 * 1024;
/// Levels of values in values.
const DEEPEST: usize = 16;
/// Values in a header.
const MOST: usize = 1_000;

/// What stands before the text of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FrontMatter {
    fields: Map<String, Value>,
    /// Where the text begins.
    pub(crate) body_from: usize,
    /// What is odd about it.
    pub(crate) notes: Vec<String>,
}

impl FrontMatter {
    /// Reads the header of a file, if it has one. The error is a sentence.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut lines = text[start..].split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_end() != "---" {
            return Ok(Self { body_from: start, ..Self::default() });
        }
        let header_from = start + first.len();
        let mut at = header_from;
        for line in lines {
            let is_end = matches!(line.trim_end(), "---" | "...");
            if is_end {
                let (fields, notes) = fields(&text[header_from..at])?;
                return Ok(Self { fields, body_from: at + line.len(), notes });
            }
            at += line.len();
            if at - header_from > LARGEST {
                return Err(format!("Its header is larger than {} KB.", LARGEST / 1024));
            }
        }
        Err("Its header does not end with a line `---`.".to_owned())
    }

    /// A value as a text; none if it is absent or empty.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let text = shown(self.fields.get(key)?)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// A value as a list: one of YAML, or a text with commas or blanks between its items.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<String>> {
        match self.fields.get(key)? {
            Value::Array(items) => Some(items.iter().filter_map(shown).collect()),
            Value::Null => None,
            value => Some(split(&shown(value)?)),
        }
    }

    /// Whether a value says yes, or no; none if it says neither.
    pub(crate) fn switch(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// A value as a table of names that are switched on or off; none if it is something else.
    pub(crate) fn switches(&self, key: &str) -> Option<Vec<(String, bool)>> {
        let Value::Object(fields) = self.fields.get(key)? else { return None };
        Some(fields.iter().filter_map(|(name, value)| Some((name.clone(), value.as_bool()?))).collect())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.is_null())
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(items) => Some(format!("[{}]", items.iter().filter_map(shown).collect::<Vec<_>>().join(", "))),
        Value::Null | Value::Object(_) => None,
    }
}

/// The items of a text. What stands in parentheses stays together.
fn split(text: &str) -> Vec<String> {
    let (mut items, mut item, mut depth) = (Vec::new(), String::new(), 0_u32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            items.push(std::mem::take(&mut item));
        } else {
            item.push(c);
        }
    }
    items.push(item);
    items.retain(|item| !item.is_empty());
    items
}

/// The fields of a header, and what is odd about it.
fn fields(header: &str) -> Result<(Map<String, Value>, Vec<String>), String> {
    if header.trim().is_empty() {
        return Ok((Map::new(), Vec::new()));
    }
    let error = match yaml(header) {
        Ok(fields) => return Ok((fields, Vec::new())),
        Err(error) => error,
    };
    let lenient = [quoted(header, false), quoted(header, true)].into_iter().find_map(|text| yaml(&text).ok());
    match lenient {
        Some(fields) => Ok((fields, vec!["Its header is not valid YAML. It was read line by line.".to_owned()])),
        None => Err(format!("Its header is not valid YAML: {error}.")),
    }
}

fn yaml(text: &str) -> Result<Map<String, Value>, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_nodes: MOST,
            max_events: MOST * 4,
            max_aliases: 16,
            max_anchors: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
    };
    let value: Value =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| one_line(&error.to_string()))?;
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        _ => Err("it is not a list of `key: value`".to_owned()),
    }
}

/// The first line of a message, short: it can quote the file.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(160).collect();
    line.trim_end_matches('.').to_owned()
}

/// The header with its plain values in quotes, and without tabs before them. `all` also quotes what begins like a list.
fn quoted(header: &str, all: bool) -> String {
    let mut text = String::with_capacity(header.len() + 64);
    for line in header.lines() {
        let line = line.trim_end();
        let plain = line.trim_start_matches('\t');
        text.push_str(&"  ".repeat(line.len() - plain.len()));
        let key = plain.split_once(':').filter(|(key, _)| is_key(key));
        match key.map(|(key, value)| (key, value.trim())) {
            Some((key, value)) if is_plain(value, all) => {
                text.push_str(&format!("{key}: '{}'", value.replace('\'', "''")));
            }
            _ => text.push_str(plain),
        }
        text.push('\n');
    }
    text
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn is_plain(value: &str, all: bool) -> bool {
    let is_block = value.starts_with(['|', '>']) && value.len() <= 3;
    let is_quoted =
        value.len() > 1 && ['"', '\''].iter().any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    let is_list = value.starts_with(['[', '{', '&', '*', '!']);
    !value.is_empty() && !is_block && (all || !is_list) && (all || !is_quoted)
}

/// The tools of ours that names in other programs' files mean, and the names that mean none. What stands in
/// parentheses narrows a tool there; here, the permission rules do that.
pub(crate) fn tools_named(names: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut tools, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let plain = name.split('(').next().unwrap_or(name).trim();
        let lower = plain.to_ascii_lowercase();
        let meant: &[&str] = match lower.as_str() {
            "read" | "view" | "notebookread" => &["read_file", "list_files"],
            "edit" | "multiedit" | "notebookedit" => &["edit_file", "apply_diff"],
            "write" => &["write_file", "edit_file", "apply_diff"],
            "bash" | "shell" => &["run_command", "read_output", "stop_command"],
            "bashoutput" => &["read_output"],
            "killshell" | "killbash" => &["stop_command"],
            "glob" | "ls" | "list" => &["find_files", "list_files"],
            "grep" => &["search"],
            "webfetch" | "fetch" => &["fetch_url"],
            "websearch" => &["web_search"],
            "task" | "agent" => &["delegate"],
            "patch" => &["apply_diff"],
            "todowrite" | "todoread" | "askuserquestion" | "skill" | "exitplanmode" => &[],
            _ if plain.starts_with("mcp__") => &[plain],
            other if trimtab_engine::intake::pill::is_tool(other) => &[other],
            _ => {
                unknown.push(plain.chars().filter(|c| !c.is_control()).take(40).collect());
                &[]
            }
        };
        for tool in meant.iter().map(|tool| (*tool).to_owned()) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
    }
    (tools, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FrontMatter {
        FrontMatter::read(text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    #[test]
    fn awkward_headers_are_read_as_they_were_meant() {
        let cases = [
            ("---\nname: pdf\ndescription: Read PDFs\n---\nbody", "Read PDFs", 0),
            ("\u{feff}---\r\nname: pdf\r\ndescription: Read PDFs\r\n---\r\nbody", "Read PDFs", 0),
            ("---\nname: pdf\ndescription: \"Read: PDFs, 'all' of them\"\n---\nbody", "Read: PDFs, 'all' of them", 0),
            ("---\nname: pdf\ndescription: Use when: a PDF is named\n---\nbody", "Use when: a PDF is named", 1),
            ("---\nname: pdf\ndescription: >\n  Read PDFs\n  and forms\n---\nbody", "Read PDFs and forms", 0),
            ("---\nname: pdf\ndescription: |\n  Read PDFs\n---\nbody", "Read PDFs", 0),
            ("---\nname: pdf\ndescription: Read PDFs # and more\n---   \nbody", "Read PDFs", 0),
            ("---\nmetadata:\n\tauthor: me\nname: pdf\ndescription: Read PDFs\n---\nbody", "Read PDFs", 1),
            ("---\nname: pdf\ndescription: it's here: \"yes\n---\nbody", "it's here: \"yes", 1),
            ("---\nname: pdf\nname: pdf\ndescription: Read PDFs\n---\nbody", "Read PDFs", 0),
            ("---\nname: pdf\ndescription: Über Größe 猫\n...\nbody", "Über Größe 猫", 0),
            ("---\nname: pdf\ndescription: `code` @x %y\n---\nbody", "`code` @x %y", 1),
        ];
        for (text, description, notes) in cases {
            let front = read(text);
            assert_eq!(front.text("description").as_deref(), Some(description), "{text}");
            assert_eq!(front.text("name").as_deref(), Some("pdf"), "{text}");
            assert_eq!(front.notes.len(), notes, "{text}: {:?}", front.notes);
            assert_eq!(text[front.body_from..].trim(), "body", "{text}");
        }
        assert_eq!(read("no header").body_from, 0);
        assert_eq!(read("---\n---\nbody").text("name"), None);
        assert_eq!(
            read("---\nargument-hint: [issue] [level]\n---\n").text("argument-hint").as_deref(),
            Some("[issue] [level]")
        );
        assert_eq!(read("---\nargument-hint: [issue]\n---\n").text("argument-hint").as_deref(), Some("[issue]"));
        assert_eq!(read("---\nversion: 1.5\nflag: yes\n---\n").text("version").as_deref(), Some("1.5"));
        assert_eq!(read("---\nflag: true\n---\n").switch("flag"), Some(true));
        assert_eq!(read("---\nname: 12\n---\n").text("name").as_deref(), Some("12"));
    }

    #[test]
    fn hostile_headers_are_refused_in_time() {
        let deep = format!("---\nname: a\nx: {}{}\n---\n", "[".repeat(4_000), "]".repeat(4_000));
        let nested: String = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                    d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n---\n";
        let began = std::time::Instant::now();
        for text in [deep, format!("---\n{nested}---\n"), bomb.to_owned()] {
            // Refused, or read without what is nested: never expanded.
            if let Ok(front) = FrontMatter::read(&text) {
                assert!(front.fields.values().all(|value| value.to_string().len() < LARGEST * 2), "{:?}", front.notes);
            }
        }
        assert!(began.elapsed().as_secs() < 5);
        let large = format!("---\nname: {}\n---\n", "x".repeat(LARGEST + 1));
        assert!(FrontMatter::read(&large).is_err_and(|why| why.contains("16 KB")));
        assert!(FrontMatter::read("---\nname: a\n").is_err_and(|why| why.contains("does not end")));
        assert!(FrontMatter::read("---\n- a\n- b\n---\n").is_err());
    }

    #[test]
    fn tools_of_other_programs_are_known_by_our_names() {
        let front =
            read("---\nallowed-tools: Read, Grep Bash(git add:*), Bash(git commit -m *), mcp__gh__x, Teleport\n---\n");
        let (tools, unknown) = tools_named(&front.list("allowed-tools").expect("a list"));
        assert_eq!(
            tools,
            ["read_file", "list_files", "search", "run_command", "read_output", "stop_command", "mcp__gh__x"]
        );
        assert_eq!(unknown, ["Teleport"]);
        let front = read("---\nallowed-tools:\n  - Write\n  - read_file\n---\n");
        let (tools, _) = tools_named(&front.list("allowed-tools").expect("a list"));
        assert_eq!(tools, ["write_file", "edit_file", "apply_diff", "read_file"]);
    }
}

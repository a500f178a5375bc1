//! What may be done to an answer.

use serde_json::Value;

/// What may be done to an answer. Each takes a place to do it at, as a number.
pub(super) type Damage = fn(&str, usize) -> Vec<u8>;

/// The places of a sign outside of texts, or of the marks of texts.
fn places(json: &str, wanted: impl Fn(char) -> bool) -> Vec<usize> {
    let (mut in_text, mut escaped) = (false, false);
    let mut found = Vec::new();
    for (at, c) in json.char_indices() {
        let structure = !in_text || (c == '"' && !escaped);
        if structure && wanted(c) {
            found.push(at);
        }
        match c {
            '"' if !escaped => in_text = !in_text,
            _ => {}
        }
        escaped = in_text && c == '\\' && !escaped;
    }
    found
}

fn pick(places: &[usize], at: usize) -> Option<usize> {
    if places.is_empty() { None } else { Some(places[at % places.len()]) }
}

fn remove_one(json: &str, at: usize, wanted: impl Fn(char) -> bool) -> Vec<u8> {
    match pick(&places(json, wanted), at) {
        Some(place) => [&json.as_bytes()[..place], &json.as_bytes()[place + 1..]].concat(),
        None => json.as_bytes().to_vec(),
    }
}

fn insert_after(json: &str, at: usize, wanted: impl Fn(char) -> bool, what: &str) -> Vec<u8> {
    match pick(&places(json, wanted), at) {
        Some(place) => [&json.as_bytes()[..=place], what.as_bytes(), &json.as_bytes()[place + 1..]].concat(),
        None => json.as_bytes().to_vec(),
    }
}

const NAMES: &[&str] = &[
    "summary",
    "sections",
    "heading",
    "content",
    "codeBlocks",
    "language",
    "code",
    "todos",
    "text",
    "completed",
    "fileChanges",
    "path",
    "diff",
    "delete",
    "commands",
    "command",
    "description",
    "nextSteps",
    "html",
    "inputText",
];

/// The marks of texts made others; escaped ones inside need no escape any more.
fn other_marks(json: &str, open: &str, close: &str) -> Vec<u8> {
    let marks = places(json, |c| c == '"');
    let mut out = String::new();
    let mut from = 0;
    for (count, place) in marks.into_iter().enumerate() {
        out += &json[from..place];
        out += if count % 2 == 0 { open } else { close };
        from = place + 1;
    }
    out += &json[from..];
    out.into_bytes()
}

pub(super) const DAMAGES: &[(&str, Damage)] = &[
    ("fenced", |json, _| format!("```json\n{json}\n```").into_bytes()),
    ("in an open fence", |json, _| format!("```json\n{json}").into_bytes()),
    ("after a thought", |json, _| format!("<think>no {{\"summary\":\"no\"}}</think>\n{json}\nDone.").into_bytes()),
    ("wrapped", |json, _| format!("{{\"answer\":{json}}}").into_bytes()),
    ("as a text", |json, _| Value::from(json).to_string().into_bytes()),
    ("as a text in a wrapper", |json, _| format!("{{\"response\":{}}}", Value::from(json)).into_bytes()),
    ("doubled", |json, _| format!("{json}\n{json}").into_bytes()),
    ("a comma too many", |json, at| match pick(&places(json, |c| matches!(c, '}' | ']')), at) {
        Some(place) if !matches!(json.as_bytes()[place - 1], b'[' | b'{') => {
            [&json[..place], &json[place..]].join(",").into_bytes()
        }
        _ => json.as_bytes().to_vec(),
    }),
    ("a comma missing", |json, at| remove_one(json, at, |c| c == ',')),
    ("a colon missing", |json, at| remove_one(json, at, |c| c == ':')),
    ("a mark missing", |json, at| remove_one(json, at, |c| c == '"')),
    ("a bracket missing", |json, at| remove_one(json, at, |c| matches!(c, '{' | '[' | ']' | '}'))),
    ("a closing bracket doubled", |json, at| match pick(&places(json, |c| matches!(c, ']' | '}')), at) {
        Some(place) => [&json[..=place], &json[place..]].concat().into_bytes(),
        None => json.as_bytes().to_vec(),
    }),
    ("a closing bracket swapped", |json, at| match pick(&places(json, |c| matches!(c, ']' | '}')), at) {
        Some(place) => {
            let other = if json.as_bytes()[place] == b'}' { "]" } else { "}" };
            [&json[..place], other, &json[place + 1..]].concat().into_bytes()
        }
        None => json.as_bytes().to_vec(),
    }),
    ("a comment", |json, at| insert_after(json, at, |c| c == ',', " // a \"note\"\n")),
    ("a block comment", |json, at| insert_after(json, at, |c| matches!(c, ',' | '[' | '{'), "/* a \"note\" */")),
    ("stray words", |json, at| insert_after(json, at, |c| c == ',', " and then ")),
    ("dots", |json, at| insert_after(json, at, |c| c == ',', " ...,")),
    ("a byte that is no text", |json, at| {
        let mut bytes = json.as_bytes().to_vec();
        if let Some(place) = pick(&places(json, |c| c == '"'), at) {
            bytes.insert(place + 1, 0xff);
        }
        bytes
    }),
    ("raw line breaks", |json, _| {
        json.split("\\\\").map(|part| part.replace("\\n", "\n")).collect::<Vec<_>>().join("\\\\").into_bytes()
    }),
    ("single marks", |json, _| other_marks(&json.replace('\'', "\\'"), "'", "'")),
    ("single marks and apostrophes", |json, _| other_marks(json, "'", "'")),
    ("curly marks", |json, _| other_marks(json, "“", "”")),
    ("back marks", |json, _| other_marks(&json.replace('`', "\\`"), "`", "`")),
    ("bare names", |json, _| {
        let mut json = json.to_owned();
        for name in NAMES {
            json = json.replace(&format!("\"{name}\":"), &format!("{name}:"));
        }
        json.into_bytes()
    }),
    ("blanks around", |json, at| insert_after(json, at, |c| matches!(c, ',' | ':' | '{' | '['), " \n\t ")),
    ("a sign after a mark", |json, at| insert_after(json, at, |c| c == '"', "z")),
    ("a sign after a bracket", |json, at| insert_after(json, at, |c| matches!(c, '}' | ']' | '[' | '{'), "z")),
    ("a comma after a mark", |json, at| insert_after(json, at, |c| c == '"', ",")),
    ("a bracket after a mark", |json, at| insert_after(json, at, |c| c == '"', "}")),
    ("a line missing", |json, at| {
        let value: Value = serde_json::from_str(json).expect("reads");
        let pretty = serde_json::to_string_pretty(&value).expect("writes");
        let lines: Vec<&str> = pretty.lines().collect();
        let gone = at % lines.len();
        let kept: Vec<&str> =
            lines.iter().enumerate().filter(|(line, _)| *line != gone).map(|(_, line)| *line).collect();
        kept.join("\n").into_bytes()
    }),
    ("one mark not escaped", |json, at| {
        let all: Vec<usize> = json.match_indices("\\\"").map(|(place, _)| place).collect();
        match pick(&all, at) {
            Some(place) => [&json[..place], &json[place + 1..]].concat().into_bytes(),
            None => json.as_bytes().to_vec(),
        }
    }),
];

/// Damage that cannot be told from a valid text by what is in it, done to texts as people write
/// them: there marks come in pairs.
pub(super) const MARK_DAMAGES: &[(&str, Damage)] = &[
    ("no mark escaped", |json, _| {
        json.split("\\\\").map(|part| part.replace("\\\"", "\"")).collect::<Vec<_>>().join("\\\\").into_bytes()
    }),
    ("no mark escaped, and cut", |json, at| {
        let open = json.split("\\\\").map(|part| part.replace("\\\"", "\"")).collect::<Vec<_>>().join("\\\\");
        // After a mark it could be a valid text that was cut there.
        let cut = open.as_bytes()[..at % open.len()].to_vec();
        if cut.ends_with(b"\"") { Vec::new() } else { cut }
    }),
];

//! The style check: phrases to avoid, long sentences, and help lines that do not begin with a verb. The tests run it on
//! the word catalog, the help, the surfaces' own texts, and the documents.

/// Phrases to avoid, each with what to write instead. They match whole words, in any case.
pub const AVOID: &[(&str, &str)] = &[
    ("by itself", "automatically"),
    ("by themselves", "automatically"),
    ("of its own", "its own"),
    ("of their own", "their own"),
    ("of your own", "your own"),
    ("of our own", "our own"),
    ("for good", "permanently"),
    ("anew", "again"),
    ("as it came", "unchanged"),
    ("as they came", "unchanged"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("going on", "continuing"),
    ("went on", "continued"),
    ("whatever", "name it"),
    ("whoever", "name who"),
    ("whichever", "name it"),
    ("those that", "name them"),
    ("those who", "name who"),
    ("those in", "name them"),
    ("one that", "name it"),
    ("in whose", "name it"),
    ("nobody", "name who, or say what does not happen"),
    ("is told", "sees, or: Trimtab shows"),
    ("are told", "see, or: Trimtab shows"),
    ("was told", "saw"),
    ("is told so", "see the message"),
    ("says so", "shows or reports it"),
    ("will not do", "Invalid value"),
    ("is no", "is not a"),
    ("are no", "are not"),
    ("was no", "was not a"),
    ("take back", "undo"),
    ("takes back", "undoes"),
    ("took back", "undid"),
    ("taken back", "undone"),
    ("taking back", "undoing"),
    ("take changes back", "undo changes"),
    ("take it back", "undo it"),
    ("takes it back", "undoes it"),
    ("takes them back", "undoes them"),
    ("brought forward", "redone"),
    ("bring forward", "redo"),
    ("brings it forward", "redoes it"),
    ("bring it forward", "redo it"),
    ("what waits", "pending questions"),
    ("once and for all", "name the rule"),
    ("again and again", "keeps repeating"),
    ("put to you", "Trimtab asks you"),
    ("what only looks", "read-only commands"),
    ("is judged", "is checked"),
    ("are judged", "are checked"),
    ("worthless", "revoked"),
    ("sets nothing", "Unknown setting"),
    ("like to have done", "Ask Trimtab to do something"),
    ("would like to have", "the request"),
    ("best in quotation marks", "in quotes"),
    ("would be asked", "approval prompts"),
    ("say something", "control, steer, or send"),
    ("tell it", "steer it"),
    ("say it otherwise", "change the text"),
    ("have it hold", "change the scope"),
    ("recall a", "show a"),
    ("passed on to", "sent to"),
    ("stays open", "waits for your answer"),
    ("are you content", "Satisfaction check"),
    ("picture", "image"),
    ("pictures", "images"),
    ("any more", "no longer"),
    ("summed up", "summarized"),
    ("sum up", "summarize"),
    ("sums up", "summarizes"),
    ("wish", "request"),
    ("wishes", "requests"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("sails", "everyday work"),
    ("rudder", "everyday work"),
    ("begin afresh", "start over"),
    ("behaviour", "behavior"),
    ("colour", "color"),
    ("colours", "colors"),
    ("honour", "honor"),
    ("honoured", "honored"),
    ("favour", "favor"),
    ("judgement", "judgment"),
    ("finalisation", "finalization"),
    ("recognise", "recognize"),
    ("summarise", "summarize"),
    ("organise", "organize"),
    ("those there are", "all of them"),
    ("all there are", "all of them"),
    ("afresh", "again, or: start over"),
    ("came to no end", "did not finish"),
    ("comes to rest", "becomes idle"),
    ("say it again", "send it again"),
    ("as it stands", "literally, or: unchanged"),
    ("what came of", "the results of"),
    ("needs words", "needs text"),
    ("fault of the program", "internal error"),
    ("leads nowhere", "is broken"),
    ("is none that", "is not a"),
    ("all the same", "anyway"),
    ("did not come", "did not arrive"),
    ("of it back", "undo it"),
    ("takes thought", "needs reasoning"),
    ("which there is not", "which does not exist"),
    ("carried out whole", "runs as one task"),
    ("to be seen", "describe it"),
    ("made of it", "its version"),
    ("the words ask", "the request asks"),
    ("no honest", "name the limit"),
    ("and its like", "such as"),
    ("and their like", "and similar ones"),
    ("shall contain", "the new content"),
    ("asked because", "Reason:"),
    ("undo to here", "name the changes that are undone"),
    ("needs you", "waiting for you"),
    ("broke off", "was interrupted"),
    ("breaks off", "is interrupted"),
    ("without a question", "without asking"),
    ("keep which one", "which version do you want to keep"),
    ("was touched", "was changed"),
    ("what you typed is kept", "your text is kept"),
    ("wants it built", "asks to start the work"),
    ("what becomes of", "what happens to"),
    ("what comes of", "the result of"),
    ("stands in its place", "replaces it"),
    ("stand in its place", "replace it"),
    ("also sessions that", "including sessions that"),
    ("wants flags", "needs flags"),
    ("as for the same", "treat it like the same"),
    ("of a failed one", "if a check fails"),
];

/// Words around a phrase that make it plain English, with the reason.
const FINE: &[(&str, &str)] = &[
    ("there is no", "the usual way to say that something is missing"),
    ("there are no", "the usual way to say that something is missing"),
    ("there was no", "the usual way to say that something is missing"),
    ("is no longer", "the usual way to say that something has ended"),
    ("are no longer", "the usual way to say that something has ended"),
    ("was no longer", "the usual way to say that something has ended"),
];

/// More words than this in a sentence are too many to read once.
pub const LONGEST_SENTENCE: usize = 30;
/// More characters than this do not fit on the line of a help text.
pub const LONGEST_HELP: usize = 80;

/// Verbs that a help line begins with.
const VERBS: &[&str] = &[
    "accept",
    "act",
    "add",
    "allow",
    "answer",
    "append",
    "apply",
    "approve",
    "ask",
    "attach",
    "break",
    "build",
    "call",
    "cancel",
    "change",
    "check",
    "choose",
    "complete",
    "confirm",
    "connect",
    "continue",
    "control",
    "convert",
    "copy",
    "count",
    "create",
    "decide",
    "delete",
    "deny",
    "deselect",
    "discard",
    "do",
    "draw",
    "edit",
    "enable",
    "end",
    "exit",
    "explain",
    "export",
    "extend",
    "filter",
    "find",
    "follow",
    "forget",
    "fork",
    "generate",
    "give",
    "hand",
    "ignore",
    "import",
    "include",
    "install",
    "keep",
    "leave",
    "limit",
    "list",
    "log",
    "listen",
    "manage",
    "mark",
    "move",
    "name",
    "open",
    "override",
    "overwrite",
    "pass",
    "pause",
    "place",
    "play",
    "preview",
    "print",
    "prompt",
    "propose",
    "queue",
    "raise",
    "read",
    "record",
    "recover",
    "redo",
    "regenerate",
    "reject",
    "remove",
    "rename",
    "repair",
    "repeat",
    "replace",
    "report",
    "require",
    "reset",
    "resize",
    "restore",
    "resume",
    "retry",
    "review",
    "revoke",
    "run",
    "save",
    "schedule",
    "search",
    "select",
    "send",
    "serve",
    "set",
    "show",
    "skip",
    "start",
    "stop",
    "store",
    "summarize",
    "tag",
    "take",
    "test",
    "treat",
    "trust",
    "try",
    "undo",
    "untrust",
    "update",
    "use",
    "verify",
    "wait",
    "watch",
    "work",
    "write",
];

/// The phrases to avoid in a text, and what to write instead.
pub fn phrases(text: &str) -> Vec<String> {
    let words = words_only(text);
    let mut plain = words.clone();
    for (fine, _) in FINE {
        plain = plain.replace(&format!(" {fine} "), " . ");
    }
    let avoided = AVOID.iter().filter(|(phrase, _)| plain.contains(&format!(" {phrase} ")));
    avoided.map(|(phrase, instead)| format!("“{phrase}” (instead: {instead})")).collect()
}

/// Sentences with too many words.
pub fn long_sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence: Vec<&str> = Vec::new();
    for word in text.split_whitespace() {
        sentence.push(word);
        if word.trim_end_matches(['"', '”', ')', '*', '\'']).ends_with(['.', '!', '?', ':', '…']) {
            found.extend(too_long(&std::mem::take(&mut sentence)));
        }
    }
    found.extend(too_long(&sentence));
    found
}

fn too_long(sentence: &[&str]) -> Option<String> {
    let count = sentence.iter().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    (count > LONGEST_SENTENCE).then(|| format!("{count} words: {} …", sentence[..8].join(" ")))
}

/// What is wrong with the line that explains a command or an option.
pub fn help_line(line: &str) -> Vec<String> {
    let mut found = phrases(line);
    let first = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    if !VERBS.contains(&first.as_str()) {
        found.push(format!("begins with “{first}”, which is not a verb that the check knows"));
    }
    if line.contains(';') {
        found.push("has a semicolon".to_owned());
    }
    // What clap adds in brackets is not part of the sentence.
    let own = line.split(" [").next().unwrap_or(line);
    if own.chars().count() > LONGEST_HELP {
        found.push(format!("{} characters", own.chars().count()));
    }
    found
}

/// The words in lower case, each between blanks; everything else is a stop.
fn words_only(text: &str) -> String {
    let mut plain = String::from(" ");
    for c in text.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' | '\'' | '-' | '_' => plain.push(c),
            c if c.is_whitespace() => plain.push(' '),
            _ => plain.push_str(" . "),
        }
    }
    plain.push(' ');
    plain.split_whitespace().fold(String::from(" "), |text, word| text + word + " ")
}

/// The paragraphs, list items, and table cells of a document with their lines, without code, links, and images.
pub fn paragraphs(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open = (0, String::new());
    let mut is_code = false;
    let mut flush = |open: &mut (usize, String)| {
        let text = without_code(&std::mem::take(&mut open.1));
        if !text.trim().is_empty() {
            found.push((open.0, text));
        }
    };
    for (at, line) in page.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.starts_with("```") {
            is_code = !is_code;
            flush(&mut open);
        } else if is_code || line.is_empty() || line.starts_with("<!--") {
            flush(&mut open);
        } else if line.starts_with('|') {
            flush(&mut open);
            for cell in line.trim_matches('|').split('|').filter(|cell| !cell.trim_matches(['-', ' ', ':']).is_empty())
            {
                flush(&mut (at, cell.trim().to_owned()));
            }
        } else {
            let begins = line.starts_with(['#', '-', '*', '>'])
                || line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
            if begins {
                flush(&mut open);
            }
            if open.1.is_empty() {
                open.0 = at;
            }
            open.1.push_str(line.trim_start_matches(['#', '-', '>']).trim_start());
            open.1.push(' ');
            if line.starts_with('#') {
                flush(&mut open);
            }
        }
    }
    flush(&mut open);
    found
}

/// Code is one word, and a link is its text.
fn without_code(text: &str) -> String {
    let mut plain: String =
        text.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "Code" } else { part }).collect();
    while let Some(at) = plain.find("](") {
        let end = plain[at..].find(')').map_or(plain.len(), |end| at + end + 1);
        plain.replace_range(at..end, "");
    }
    plain.replace(['[', '!'], "")
}

/// The string literals of a Rust source that have more than one word, each with its line.
pub fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    let line = |rest: &str| source[..source.len() - rest.len()].matches('\n').count() + 1;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let here = &rest[at..];
        if here.starts_with("//") {
            rest = here.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(after) = here.strip_prefix("'\"'") {
            rest = after;
        } else if let Some(begun) = here.strip_prefix('"') {
            let raw = rest[..at].chars().rev().take_while(|c| *c == '#').count();
            let is_raw = rest[..at - raw].ends_with('r');
            let (text, after) = if is_raw { until(begun, &format!("\"{}", "#".repeat(raw))) } else { escaped(begun) };
            if text.split_whitespace().nth(1).is_some() {
                found.push((line(here), text));
            }
            rest = after;
        } else {
            rest = &here[1..];
        }
    }
    found
}

fn until<'a>(text: &'a str, end: &str) -> (String, &'a str) {
    text.split_once(end).map_or((text.to_owned(), ""), |(text, after)| (text.to_owned(), after))
}

fn escaped(text: &str) -> (String, &str) {
    let mut plain = String::new();
    let mut letters = text.char_indices();
    while let Some((at, c)) = letters.next() {
        match c {
            '"' => return (plain, &text[at + 1..]),
            '\\' => match letters.next() {
                Some((_, 'n' | 't')) => plain.push(' '),
                // A line that continues on the next one.
                Some((_, '\n')) => plain.push(' '),
                Some((_, other)) => plain.push(other),
                None => {}
            },
            c => plain.push(c),
        }
    }
    (plain, "")
}

/// The texts of a page of the browser UI: between tags, on lines without tags, and in quotes with more than one word.
pub fn page_texts(source: &str) -> Vec<(usize, String)> {
    let markup = source.split("<style").next().unwrap_or(source);
    // Plain lines are text only below the script, because above its end they are code.
    let script = markup.rfind("</script>").map(|at| markup[..at].matches('\n').count() + 1);
    let mut found = Vec::new();
    let mut is_comment = false;
    for (at, line) in markup.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        is_comment |= line.starts_with("/*") || line.starts_with("<!--");
        if !is_comment && !line.starts_with("//") {
            for quote in ['\'', '"', '`'] {
                found.extend(line.split(quote).skip(1).step_by(2).map(|text| (at, text.to_owned())));
            }
            found.extend(
                line.split('>').skip(1).filter_map(|rest| rest.split('<').next()).map(|text| (at, text.to_owned())),
            );
            // A line that begins with a brace is a block of the template.
            if script.is_some_and(|end| at > end) && !line.starts_with('{') {
                found.extend(line.split('<').next().map(|text| (at, text.to_owned())));
            }
        }
        is_comment &= !line.ends_with("*/") && !line.ends_with("-->");
    }
    found.retain(|(_, text)| text.split_whitespace().nth(1).is_some());
    found
}

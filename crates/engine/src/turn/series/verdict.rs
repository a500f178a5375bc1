//! How a reply continues a series of commands, and the commands that are marked in plain text.
//!
//! A structured verdict is taken literally. Text is read with caution: an unclear verdict pauses, and commands from
//! text still have to pass the policy and the permission check.

use serde::Deserialize;
use serde_json::Value;

/// Commands that one reply may put in between.
const MOST: usize = 20;

/// What follows from a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesVerdict {
    /// The next command runs.
    Continue,
    /// These run first.
    Run(Vec<String>),
    /// Nothing runs until the user decides, with the reason.
    Pause(String),
}

/// The context in which a reply is read.
#[derive(Debug, Clone, Copy)]
pub struct SeriesContext<'a> {
    /// The command that has just ended.
    pub last: &'a str,
    /// The commands that are still to run.
    pub remaining: &'a [String],
}

/// The schema of a structured verdict.
pub(crate) const SCHEMA: &str = r#"{"type":"object","properties":{"verdict":{"type":"string","enum":["continue","stop","run"]},"command":{"type":"string"},"reason":{"type":"string"}},"required":["verdict","command","reason"],"additionalProperties":false}"#;

/// Reads a reply. `proposed` are commands that it proposes in a separate field.
pub fn verdict(words: &str, proposed: &[String], standing: SeriesContext<'_>) -> SeriesVerdict {
    if let Some(said) = structured(words) {
        return said;
    }
    let explicit: Vec<String> = if proposed.is_empty() { marked(words) } else { proposed.to_vec() };
    if !explicit.is_empty() {
        return suggested(explicit, standing);
    }
    let blocks = fenced(words);
    if !blocks.is_empty() {
        return suggested(blocks, standing);
    }
    let plain = normal(words);
    let quoted: Vec<String> = inline(words)
        .into_iter()
        .filter(|span| is_like_a_command(span) && span != standing.last && !standing.remaining.contains(span))
        .collect();
    match quoted.as_slice() {
        [] => in_words(&plain, words),
        // A command that is named with a "not" is not one to run.
        [one] if proposes(&plain) && !refuses(&plain) => SeriesVerdict::Run(vec![one.clone()]),
        _ => SeriesVerdict::Pause(reason(words)),
    }
}

/// New commands in a reply; the same as the remaining ones do not count.
fn suggested(commands: Vec<String>, standing: SeriesContext<'_>) -> SeriesVerdict {
    let is_rest = !standing.remaining.is_empty() && standing.remaining.starts_with(&commands);
    if is_rest {
        return SeriesVerdict::Continue;
    }
    // One that is still to come would run twice, now and in its turn.
    if commands.iter().any(|command| standing.remaining.contains(command)) {
        return SeriesVerdict::Pause("the model wants the remaining commands in another order".into());
    }
    if commands.len() > MOST {
        return SeriesVerdict::Pause(format!("the model proposes {} commands at once", commands.len()));
    }
    SeriesVerdict::Run(commands)
}

/// A verdict in the form that was asked for, wherever in the reply it stands. Of several, none is believed.
pub(super) fn structured(words: &str) -> Option<SeriesVerdict> {
    #[derive(Deserialize)]
    struct SeriesReply {
        verdict: String,
        #[serde(default)]
        command: Option<String>,
        #[serde(default)]
        reason: Option<String>,
    }
    let at = words.find('{')?;
    let mut read = serde_json::Deserializer::from_str(&words[at..]).into_iter::<Value>();
    let said: SeriesReply = serde_json::from_value(read.next()?.ok()?).ok()?;
    let reason = said.reason.filter(|reason| !reason.trim().is_empty());
    let rest = &words[at + read.byte_offset()..];
    if rest.contains("\"verdict\"") {
        return Some(SeriesVerdict::Pause("the model gave more than one verdict".into()));
    }
    let command = said.command.map(|command| command.trim().to_owned()).filter(|command| !command.is_empty());
    Some(match (said.verdict.trim().to_lowercase().as_str(), command) {
        ("run", Some(command)) => SeriesVerdict::Run(vec![command]),
        ("continue", None) => SeriesVerdict::Continue,
        // Both "continue" and another command: the user decides which is meant.
        ("continue", Some(command)) => SeriesVerdict::Pause(
            reason.unwrap_or_else(|| format!("the model says continue, but names another command: {command}")),
        ),
        ("stop", _) => SeriesVerdict::Pause(reason.unwrap_or_else(|| "the model asked to stop".into())),
        _ => SeriesVerdict::Pause(reason.unwrap_or_else(|| "the model's verdict is not one of the three".into())),
    })
}

/// Lower case, plain apostrophes, and without phrases that name an error in order to deny it.
fn normal(words: &str) -> String {
    let mut text = words.to_lowercase().replace('’', "'");
    for harmless in [
        "no errors",
        "no error",
        "without errors",
        "without error",
        "without any errors",
        "without any error",
        "0 errors",
        "zero errors",
        "error-free",
        "0 failed",
        "no failures",
        "0 failures",
        "nothing failed",
        "did not fail",
        "didn't fail",
        "non-stop",
    ] {
        text = text.replace(harmless, " ");
    }
    text
}

fn has_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| holds(text, phrase))
}

/// Whether a text contains a phrase at the beginning of a word: `fail` matches `failed`, but not `infail`.
fn holds(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| !text[..at].ends_with(|before: char| before.is_alphanumeric()))
}

const TROUBLE: &[&str] = &[
    "stop",
    "pause",
    "abort",
    "halt",
    "cancel",
    "error",
    "fail",
    "wrong",
    "invalid",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "denied",
    "refused",
    "missing",
    "not found",
    "no such",
    "problem",
    "unexpected",
    "exception",
    "panic",
    "wait",
    "careful",
    "danger",
    "hold on",
    "unclear",
    "not sure",
];
const REFUSAL: &[&str] = &[
    "do not",
    "don't",
    "not continue",
    "not proceed",
    "not run",
    "never",
    "instead of",
    "rather than",
    "avoid",
    "before we",
    "before you",
    "before continuing",
    "before proceeding",
    "shouldn't",
    "should not",
    "unless",
    "until",
];
const GO_ON: &[&str] =
    &["continue", "proceed", "go on", "go ahead", "carry on", "next command", "move on", "keep going"];
const PROPOSAL: &[&str] = &[
    "let me",
    "let's",
    "i'll",
    "i will",
    "try",
    "run ",
    "fix",
    "instead",
    "use ",
    "should be",
    "correct",
    "retry",
    "again",
    "suggest",
];

fn refuses(plain: &str) -> bool {
    has_any(plain, REFUSAL)
}

fn proposes(plain: &str) -> bool {
    has_any(plain, PROPOSAL) && !plain.trim_end().ends_with('?')
}

/// Words that name no command.
fn in_words(plain: &str, words: &str) -> SeriesVerdict {
    let goes_on = has_any(plain, GO_ON) && !plain.contains('?');
    if goes_on && !has_any(plain, TROUBLE) && !refuses(plain) {
        SeriesVerdict::Continue
    } else {
        SeriesVerdict::Pause(reason(words))
    }
}

/// The model's own words, as the reason for a pause.
fn reason(words: &str) -> String {
    const LONGEST: usize = 400;
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.is_empty() {
        true => "the model gave no answer".into(),
        false if words.chars().count() > LONGEST => words.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => words,
    }
}

/// The commands that lines mark with the documented sign, outside of code.
pub fn marked(words: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in words.lines() {
        let line = line.trim_start_matches([' ', '\t', '-', '*', '>', '•']);
        if line.starts_with("```") || line.starts_with("~~~") {
            inside = !inside;
        }
        let Some(rest) = line.strip_prefix('🖥').filter(|_| !inside) else { continue };
        let rest = rest.trim_start_matches(['\u{fe0f}', ':', ' ', '*']).trim().trim_end_matches("**").trim_end();
        let command = rest.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(rest).trim();
        // A second backtick inside means that only part of the line is a command; which part is not certain.
        let is_part = rest.starts_with('`') && command.contains('`');
        if !command.is_empty() && !is_part {
            found.push(command.to_owned());
        }
    }
    found
}

/// The lines of blocks of shell code. A block without a language may be anything, and counts for nothing.
fn fenced(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<(bool, String)> = None;
    for line in words.lines() {
        match (&mut block, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let is_shell = matches!(language.trim(), "sh" | "bash" | "shell" | "zsh");
                block = Some((is_shell, String::new()));
            }
            (Some((is_shell, text)), Some(_)) => {
                if *is_shell && !text.trim().is_empty() {
                    found.push(text.trim().to_owned());
                }
                block = None;
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// The texts between single backticks.
fn inline(words: &str) -> Vec<String> {
    let outside: String = words.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    outside
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .map(|span| span.trim().to_owned())
        .filter(|span| !span.is_empty())
        .collect()
}

/// Whether a quoted text could be a command: a program's name and something after it, or a bare program that is
/// often called so. File names, values and error messages are quoted, too.
fn is_like_a_command(span: &str) -> bool {
    let mut words = span.split_whitespace();
    let Some(first) = words.next() else { return false };
    let is_name = first.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./+".contains(c))
        && first.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/');
    let has_more = words.next().is_some();
    is_name
        && !first.ends_with(':')
        && (has_more || matches!(first, "ls" | "pwd" | "make" | "tsc" | "pytest" | "date" | "whoami"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> SeriesVerdict {
        let remaining = ["npm run build".to_owned(), "npm test".to_owned()];
        verdict(words, &[], SeriesContext { last: "mkdir -p app", remaining: &remaining })
    }

    fn run(command: &str) -> SeriesVerdict {
        SeriesVerdict::Run(vec![command.to_owned()])
    }

    #[test]
    fn words_that_say_go_on_go_on() {
        for words in [
            "Directory created. Continue.",
            "continue",
            "CONTINUE",
            "The folder is there, please proceed with the next one.",
            "No errors. Go ahead.",
            "All good, 0 failed. Moving on; continue with `npm run build`.",
            "That worked without any errors. Next command, please.",
            "`mkdir -p app` worked. Carry on.",
            r#"{"verdict":"continue","command":"","reason":"ok"}"#,
            "```json\n{\"verdict\": \"continue\"}\n```",
            "Next:\n```sh\nnpm run build\n```",
        ] {
            assert_eq!(read(words), SeriesVerdict::Continue, "{words}");
        }
    }

    #[test]
    fn words_that_name_another_command_run_it_even_when_they_report_an_error() {
        for (words, command) in [
            (
                "The URL is invalid. Let me fix it… `curl -o a.png https://example.org/a`",
                "curl -o a.png https://example.org/a",
            ),
            ("That failed. Try `mkdir -p src/app` instead.", "mkdir -p src/app"),
            ("I'll check where we are: `pwd`", "pwd"),
            ("Wrong folder.\n🖥 mkdir -p ./app", "mkdir -p ./app"),
            ("Error.\n- 🖥️ `cargo check --workspace`", "cargo check --workspace"),
            ("It failed:\n```bash\nnpm install\n```", "npm install"),
            (r#"{"verdict":"run","command":"ls -la","reason":"look first"}"#, "ls -la"),
            (r#"Sure: {"verdict":"run","command":" ls "}"#, "ls"),
        ] {
            assert_eq!(read(words), run(command), "{words}");
        }
        let several = read("🖥 ls\nand then\n🖥 pwd");
        assert_eq!(several, SeriesVerdict::Run(vec!["ls".into(), "pwd".into()]));
    }

    #[test]
    fn stops_errors_and_whatever_is_not_clear_pause() {
        for words in [
            "stop",
            "Stop here.",
            "There was an error; continue?",
            "The build failed. Continue anyway.",
            "Do not continue.",
            "I don't think we should proceed.",
            "Should I continue?",
            "Before we continue, check the disk.",
            "Looks good.",
            "",
            "   \n ",
            "Permission denied.",
            "`mkdir -p app` failed.",
            "The file `app/main.js` is odd.",
            "Never run `rm -rf app`.",
            "Try `ls src` or `ls lib`.",
            "Run `npm test` later, after this problem is solved.",
            "Would you like me to run `rm -rf build`?",
            "Use `curl https://a.example` instead of `curl https://b.example`",
            r#"{"verdict":"stop","command":"","reason":"disk is full"}"#,
            r#"{"verdict":"continue","command":"rm x","reason":""}"#,
            r#"{"verdict":"maybe","command":"","reason":""}"#,
            r#"{"verdict":"run","command":"","reason":""}"#,
            r#"{"verdict":"continue"} {"verdict":"stop"}"#,
            "```sh\nnpm test\n```",
            "```\nrm -rf app\n```",
        ] {
            assert!(matches!(read(words), SeriesVerdict::Pause(_)), "{words}: {:?}", read(words));
        }
        assert_eq!(read(r#"{"verdict":"stop","reason":"disk is full"}"#), SeriesVerdict::Pause("disk is full".into()));
    }

    #[test]
    fn commands_in_a_field_of_their_own_are_believed_and_the_rest_said_again_is_no_news() {
        let remaining = ["a 1".to_owned(), "b 2".to_owned()];
        let read = |proposed: &[&str]| {
            let proposed: Vec<String> = proposed.iter().map(|command| (*command).to_owned()).collect();
            verdict("There was an error.", &proposed, SeriesContext { last: "x", remaining: &remaining })
        };
        assert_eq!(read(&["c 3"]), run("c 3"));
        assert_eq!(read(&["a 1", "b 2"]), SeriesVerdict::Continue);
        assert_eq!(read(&["a 1"]), SeriesVerdict::Continue);
        assert!(matches!(read(&["b 2"]), SeriesVerdict::Pause(_)), "it would run twice");
        assert!(matches!(read(&["c 3", "a 1"]), SeriesVerdict::Pause(_)));
        assert!(matches!(read(&["c"; 21]), SeriesVerdict::Pause(_)));
    }

    #[test]
    fn the_sign_marks_commands_outside_of_code_only() {
        assert_eq!(marked("Fixed.\n\n🖥 tsc --noEmit\n"), ["tsc --noEmit"]);
        assert_eq!(marked("  * 🖥️ **`npm test`**"), ["npm test"]);
        assert_eq!(marked("```\n🖥 rm x\n```\n🖥 ls"), ["ls"]);
        assert_eq!(marked("see 🖥 ls"), Vec::<String>::new());
        assert_eq!(marked("🖥 `ls` and `pwd`"), Vec::<String>::new());
        assert_eq!(marked("🖥"), Vec::<String>::new());
    }

    #[test]
    fn any_reply_is_read_without_trouble() {
        for words in ["{", "`", "``", "```", "🖥`", "{\"verdict\":", "{\"verdict\":1}", "\u{0}", "`` ` ``"] {
            assert!(matches!(read(words), SeriesVerdict::Pause(_)), "{words:?}");
        }
    }
}

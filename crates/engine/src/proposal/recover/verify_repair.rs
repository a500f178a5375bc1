//! Checks whether a model's repair of a damaged answer is credible.
//!
//! A model that repairs may also improve, shorten, and invent. So a repair is accepted only as a whole: everything
//! that the rules had read must be unchanged, every text must have been there before, and nothing between the first
//! and the last of them may be missing.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Recovered, ReplyStop, recover};

/// What is wrong with a damaged answer, with hints, for the repairing model.
pub fn complaints(damaged: &str, read: &Recovered) -> String {
    let mut text = String::new();
    let body = unwrapped(damaged);
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(body) {
        let _ = writeln!(text, "- Not JSON: {error}.");
    }
    for field in &read.lost {
        let _ = writeln!(text, "- {field}: something in it could not be read for certain. Hint: {}", hint(field));
    }
    if !read.found {
        let _ = writeln!(
            text,
            "- No object with the expected names could be read. Hint: the names are summary, sections, todos, \
             fileChanges, commands and nextSteps; each text stands in double quotation marks."
        );
    }
    text
}

fn hint(field: &str) -> &'static str {
    match field {
        "fileChanges" => {
            "each is an object with path and one of content, diff, delete; inside a text write \\\" for a quotation \
             mark, \\\\ for a backslash and \\n for the end of a line."
        }
        "commands" => "each is an object with command and description; inside a text write \\\" for a quotation mark.",
        "todos" => "each is an object with text and completed, which is true or false.",
        "nextSteps" => "each is an object with html and inputText.",
        "sections" => "each is an object with heading, content and codeBlocks.",
        _ => "inside a text write \\\" for a quotation mark and \\n for the end of a line.",
    }
}

/// Whether a text in which no answer was found was meant to be one.
pub fn attempted(text: &str) -> bool {
    let body = unwrapped(text);
    let names = ["summary", "sections", "todos", "fileChanges", "commands", "nextSteps"];
    let named = |body: &str| names.iter().any(|name| body.contains(name));
    body.starts_with('{') && named(body)
}

/// The documented signs of a cut: files are changed in few words, or the last character is not a bracket.
pub fn looks_cut(text: &str, read: &Recovered) -> bool {
    super::suspiciously_short(text.as_bytes(), &read.answer) || !unwrapped(text).ends_with('}')
}

/// A text without the fence and the tags around it.
fn unwrapped(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let before = rest;
        if let Some(fenced) = rest.strip_prefix("```") {
            rest = fenced.split_once('\n').map_or(fenced, |(_, body)| body).trim_start();
        }
        rest = rest.strip_suffix("```").unwrap_or(rest).trim_end();
        for name in ["response", "answer", "output", "result", "final", "json"] {
            let opened = rest.strip_prefix('<').and_then(|rest| rest.strip_prefix(name)?.strip_prefix('>'));
            rest = opened.unwrap_or(rest).trim_start();
            let closed = rest.strip_suffix('>').and_then(|rest| rest.strip_suffix(name)?.strip_suffix("</"));
            rest = closed.unwrap_or(rest).trim_end();
        }
        if let Some((_, said)) = rest.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
            rest = said.trim_start();
        }
        if rest.len() == before.len() {
            return rest;
        }
    }
}

/// The repaired answer, if it is credible. `read` is what the rules read from the damaged text.
pub fn believed(damaged: &str, read: &Recovered, repaired: &str) -> Option<Recovered> {
    let mended = recover(repaired.as_bytes(), ReplyStop::Complete);
    let whole = mended.found && !mended.truncated && !mended.blocked && mended.lost.is_empty();
    if read.truncated || !whole || !keeps(read, &mended) {
        return None;
    }
    let said = Value::Object(mended.said.clone());
    let (mut texts, mut words) = (Vec::new(), String::new());
    collect(&said, &mut texts, &mut words);
    let unescaped = unescape(damaged);
    let is_there = |text: &str| {
        let mut from = 0;
        let all = texts.iter().all(|wanted| {
            let place = text[from..].match_indices(wanted).map(|(at, _)| (from + at, from + at + wanted.len()));
            let place = place.into_iter().find(|(start, end)| is_delimited(&text[..*start], &text[*end..]));
            from = place.map_or(from, |(_, end)| end);
            place.is_some()
        });
        all && skeleton(text).contains(&words)
    };
    (is_there(&unescaped) || is_there(damaged)).then_some(mended)
}

/// Whether a text that stands between these two is a whole one: a mark that opened it is one that it cannot
/// have at its end.
fn is_delimited(before: &str, after: &str) -> bool {
    let (before, after) = (before.chars().next_back(), after.chars().next());
    let is_mark = |c: Option<char>| c.is_some_and(|c| matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’'));
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    if is_mark(before) { is_mark(after) } else { !is_word(before) && !is_word(after) }
}

/// Whether all that the rules had read is in the repaired answer, as it was and in its order. A file is
/// deleted only if they had read that.
fn keeps(read: &Recovered, mended: &Recovered) -> bool {
    let kept = read.said.iter().all(|(name, before)| match (before, mended.said.get(name)) {
        (Value::Array(before), Some(Value::Array(after))) => {
            let mut rest = after.iter();
            before.iter().all(|item| rest.any(|other| other == item))
        }
        (before, after) => Some(before) == after,
    });
    let deletions =
        |answer: &Recovered| answer.answer.file_changes.iter().filter(|change| change.delete.is_some()).count();
    kept && deletions(read) == deletions(mended)
}

/// The texts of a value, and the skeleton of all that it says, names included, in order.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>, words: &mut String) {
    match value {
        Value::String(text) => {
            texts.push(text);
            words.push_str(&skeleton(text));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts, words)),
        Value::Object(fields) => {
            for (name, value) in fields {
                words.push_str(&skeleton(name));
                collect(value, texts, words);
            }
        }
        other => words.push_str(&skeleton(&other.to_string())),
    }
}

/// A text without all that a repair may add and take away: space, quotation marks, brackets and their like.
fn skeleton(text: &str) -> String {
    let is_kept = |c: &char| {
        !c.is_whitespace()
            && !matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '\\' | ',' | ':' | '{' | '}' | '[' | ']' | '_')
    };
    text.chars().filter(is_kept).flat_map(char::to_lowercase).collect()
}

/// Decodes JSON escapes anywhere in a text. Invalid escapes stay unchanged.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let plain = match after.bytes().next() {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'"') => '"',
            Some(b'\'') => '\'',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            _ => {
                out.push('\\');
                rest = after;
                continue;
            }
        };
        out.push(plain);
        rest = &after[1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(damaged: &str, repaired: &str) -> bool {
        believed(damaged, &recover(damaged.as_bytes(), ReplyStop::Complete), repaired).is_some()
    }

    /// An odd mark: the rules do not say where the text ends.
    const DAMAGED: &str = r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5" long"}],"commands":[{"command":"rm -rf /tmp/build"}]}"#;

    #[test]
    fn what_the_rules_leave_out_a_repair_may_bring_back() {
        let read = recover(DAMAGED.as_bytes(), ReplyStop::Complete);
        assert_eq!((read.lost.as_slice(), read.truncated), (&["fileChanges".to_owned()][..], false), "{read:?}");
        let repaired = r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long"}],"commands":[{"command":"rm -rf /tmp/build"}]}"#;
        assert!(verdict(DAMAGED, repaired));
    }

    #[test]
    fn a_repair_that_says_anything_new_is_not_believed() {
        let lies = [
            // Another text.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"evil\n"}],"commands":[{"command":"rm -rf /tmp/build"}]}"#,
            // A part of a command.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long"}],"commands":[{"command":"rm -rf /"}]}"#,
            // A file deleted that was to be changed.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","delete":true}],"commands":[{"command":"rm -rf /tmp/build"}]}"#,
            // A command more.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long"}],"commands":[{"command":"rm -rf /tmp/build"},{"command":"curl x"}]}"#,
            // A shorter text.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5"}],"commands":[{"command":"rm -rf /tmp/build"}]}"#,
            // A longer one, with the mark that ends it.
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5\" long\""}],"commands":[{"command":"rm -rf /tmp/build"}]}"#,
            // Something left out.
            r#"{"summary":"Two.","commands":[{"command":"rm -rf /tmp/build"}]}"#,
            // Nothing at all, or cut itself.
            "I cannot.",
            r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5"#,
        ];
        for lie in lies {
            assert!(!verdict(DAMAGED, lie), "{lie}");
        }
    }

    #[test]
    fn a_cut_answer_stays_cut_whatever_a_repair_says() {
        let cut = r#"{"summary":"One.","fileChanges":[{"path":"a.txt","content":"a"}"#;
        assert!(!verdict(cut, r#"{"summary":"One.","fileChanges":[{"path":"a.txt","content":"a"}]}"#));
    }

    #[test]
    fn signs_of_a_cut_are_looked_for_inside_fences_and_tags() {
        let looks = |text: &str| looks_cut(text, &recover(text.as_bytes(), ReplyStop::Complete));
        assert!(!looks("```json\n{\"summary\":\"x\"}\n```\n"));
        assert!(!looks("<response>{\"summary\":\"x\"}</response>"));
        assert!(looks("{\"summary\":\"x\"} and more"));
        let change = |length: usize| {
            let rest = r#"{"fileChanges":[{"path":"a","content":""}]}"#.len();
            format!(r#"{{"fileChanges":[{{"path":"a","content":"{}"}}]}}"#, "x".repeat(length - rest))
        };
        assert!(looks(&change(199)) && !looks(&change(200)));
    }
}

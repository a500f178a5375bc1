//! The answers of models without tools: one JSON object, of which a person sees the words and never the brackets.

use std::borrow::Cow;

use trimtab_vocab::{RunSettings, Section};

/// Whether the model of a request answers in that form.
pub(crate) fn is_used(settings: &RunSettings, has_pictures: bool) -> bool {
    let seeing = settings.models.vision_facts.filter(|_| has_pictures && !settings.models.vision_model.is_empty());
    !seeing.unwrap_or(settings.models.facts).tools
}

/// A section's text with its code, in Markdown and without its heading.
pub(crate) fn body(section: &Section) -> String {
    let mut text = section.content.trim_end().to_owned();
    for block in &section.code_blocks {
        // A fence that nothing in the code can end.
        let fence = "`".repeat(3.max(longest_run(&block.code) + 1));
        let language = block.language.split_whitespace().next().unwrap_or_default();
        text += &format!("\n\n{fence}{}\n{}\n{fence}\n", language.replace('`', ""), block.code.trim_end());
    }
    text.trim_matches('\n').to_owned()
}

/// Sections as a text of their own, in Markdown; empty where there are none.
pub(crate) fn sections(sections: &[Section]) -> String {
    let text = |section: &Section| match (section.heading.trim(), body(section)) {
        ("", body) => body,
        (heading, body) if body.is_empty() => format!("## {heading}"),
        (heading, body) => format!("## {heading}\n\n{body}"),
    };
    let all: Vec<String> = sections.iter().map(text).filter(|text| !text.is_empty()).collect();
    all.join("\n\n")
}

/// The longest run of the sign that fences are made of.
fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// The words of a reply as it comes: all of it, or the summary alone where the reply turns out to be such an object.
/// Time is linear in what came, however small the pieces are.
#[derive(Debug, Default)]
pub(crate) struct StructuredAnswer {
    state: FormState,
    /// What has come, as far as it is not only words.
    raw: String,
    /// Bytes of it that were looked at.
    seen: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FormState {
    /// Everything is said as it comes.
    #[default]
    Words,
    /// It is not known yet whether it is an object.
    Beginning,
    /// It is one, and its summary has not come.
    Before,
    /// Inside of the summary.
    Summary,
    /// The summary has been said.
    After,
}

const KEY: &str = "\"summary\"";
/// Bytes in which it must show whether a reply is an object, or whether a key has a value.
const LONGEST_BEGINNING: usize = 256;

impl StructuredAnswer {
    /// For a model that may answer in the form, or that never does.
    pub(crate) fn new(may_be_form: bool) -> Self {
        let state = if may_be_form { FormState::Beginning } else { FormState::Words };
        Self { state, ..Self::default() }
    }

    /// A piece has come: the words that are to be shown for it.
    pub(crate) fn take<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        if self.state == FormState::Words {
            return Cow::Borrowed(piece);
        }
        self.raw.push_str(piece);
        let mut said = String::new();
        if self.state == FormState::Beginning {
            match begins(&self.raw) {
                None => return Cow::Borrowed(""),
                Some(Some(at)) => (self.state, self.seen) = (FormState::Before, at),
                Some(None) => {
                    self.state = FormState::Words;
                    return Cow::Owned(std::mem::take(&mut self.raw));
                }
            }
        }
        if self.state == FormState::Before {
            self.look_for_summary();
        }
        if self.state == FormState::Summary {
            self.read_on(&mut said);
        }
        Cow::Owned(said)
    }

    /// The rest of a reply that is there whole now: what is to be shown beyond what was. None: it is another one.
    pub(crate) fn rest(&mut self, whole: &str, shown: &str) -> Option<String> {
        let came = if self.state == FormState::Words { shown } else { &self.raw };
        let rest = whole.strip_prefix(came)?.to_owned();
        Some(self.take(&rest).into_owned())
    }

    fn look_for_summary(&mut self) {
        while let Some(found) = self.raw[self.seen..].find(KEY) {
            let after = self.seen + found + KEY.len();
            let rest = self.raw[after..].trim_start();
            let Some(value) = rest.strip_prefix(':').map(str::trim_start).filter(|value| !value.is_empty()) else {
                let is_cut = rest.is_empty() || rest.trim_end() == ":";
                if is_cut && self.raw.len() - after < LONGEST_BEGINNING {
                    return;
                }
                self.seen = after;
                continue;
            };
            match value.strip_prefix('"') {
                Some(words) => (self.state, self.seen) = (FormState::Summary, self.raw.len() - words.len()),
                None => self.state = FormState::After,
            }
            return;
        }
        // The key may be cut in two.
        let kept = self.raw.len().saturating_sub(KEY.len());
        self.seen = self.seen.max(self.raw.floor_char_boundary(kept));
    }

    /// Reads on in the string; an escape that is not whole yet waits for its rest.
    fn read_on(&mut self, said: &mut String) {
        let raw = &self.raw;
        while let Some(c) = raw[self.seen..].chars().next() {
            let rest = &raw[self.seen + c.len_utf8()..];
            match c {
                '"' => {
                    self.state = FormState::After;
                    return;
                }
                '\\' => {
                    let Some((taken, letter)) = escape(rest) else { return };
                    said.push(letter);
                    self.seen += 1 + taken;
                }
                c => {
                    said.push(c);
                    self.seen += c.len_utf8();
                }
            }
        }
    }
}

/// Whether a reply begins as an object, and where that is. None: too little has come to tell.
fn begins(raw: &str) -> Option<Option<usize>> {
    let undecided = if raw.len() < LONGEST_BEGINNING { None } else { Some(None) };
    let text = raw.trim_start();
    let text = match text.strip_prefix("```") {
        Some(fenced) => match fenced.split_once('\n') {
            Some((_, inside)) => inside.trim_start(),
            None => return undecided,
        },
        None if "```".starts_with(text) => return undecided,
        None => text,
    };
    match text.chars().next() {
        None => undecided,
        Some('{') => Some(Some(raw.len() - text.len())),
        Some(_) => Some(None),
    }
}

/// What stands after a backslash: its bytes, and the letter it means. None: it is not whole.
fn escape(rest: &str) -> Option<(usize, char)> {
    let letter = rest.chars().next()?;
    Some(match letter {
        'n' => (1, '\n'),
        't' => (1, '\t'),
        'r' => (1, '\r'),
        'b' => (1, '\u{8}'),
        'f' => (1, '\u{c}'),
        '"' | '\\' | '/' | '\'' => (1, letter),
        'u' => return unicode(rest),
        // JSON does not know it: the backslash is one.
        _ => (0, '\\'),
    })
}

/// A letter by its number, or by two of them. One that is written wrong keeps its backslash, as every escape does that
/// JSON does not know.
fn unicode(rest: &str) -> Option<(usize, char)> {
    let number = |text: &str| {
        let digits = text.get(1..5).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    if rest.len() < 5 {
        return None;
    }
    let Some(high) = number(rest) else { return Some((0, '\\')) };
    if let Some(letter) = char::from_u32(high) {
        return Some((5, letter));
    }
    let after = &rest[5..];
    if after.len() < 6 && (after.starts_with("\\u") || "\\u".starts_with(after)) {
        return None;
    }
    let low = after.strip_prefix('\\').filter(|after| after.starts_with('u')).and_then(number);
    Some(match low {
        Some(low @ 0xdc00..=0xdfff) if high < 0xdc00 => {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (11, char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
        }
        _ => (5, char::REPLACEMENT_CHARACTER),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&str]) -> String {
        let mut answer = StructuredAnswer::new(true);
        pieces.iter().map(|piece| answer.take(piece).into_owned()).collect()
    }

    #[test]
    fn of_an_object_only_the_summary_is_said_however_it_is_cut() {
        let reply = r#" {"todos":[{"text":"summary"}], "summary" : "Grüße: \"x\"\n\u00e9 \ud83d\ude00 \d \u12zz.","fileChanges":[{"path":"a","content":"{\"summary\":\"no\"}"}]}"#;
        let words = "Grüße: \"x\"\né 😀 \\d \\u12zz.";
        assert_eq!(said(&[reply]), words);
        let each: Vec<&str> = reply.split_inclusive(|_| true).collect();
        assert_eq!(said(&each), words);
        for (at, _) in reply.char_indices() {
            assert_eq!(said(&[&reply[..at], &reply[at..]]), words, "cut at {at}");
        }
        assert_eq!(said(&["```json\n{\"summary\":", "\"a\"}\n```"]), "a");
    }

    #[test]
    fn what_is_no_object_is_said_as_it_is() {
        for words in ["Hello {\"summary\":\"x\"}", "`ls` lists", "```sh\nls\n```", "x", "\n\nTwo.", "[1]"] {
            assert_eq!(said(&[words]), words);
            let each: Vec<&str> = words.split_inclusive(|_| true).collect();
            assert_eq!(said(&each), words);
        }
        let mut answer = StructuredAnswer::new(false);
        assert_eq!(answer.take("{\"summary\":\"x\"}"), "{\"summary\":\"x\"}");
    }

    #[test]
    fn an_object_without_words_says_nothing_and_no_piece_is_trouble() {
        for reply in [
            r#"{"verdict":"continue"}"#,
            r#"{"summary":null}"#,
            r#"{"summary":"#,
            "{",
            r#"{"summary":"\"#,
            r#"{"summary":"\ud83d"#,
        ] {
            assert_eq!(said(&[reply]), "", "{reply}");
        }
        assert_eq!(said(&[r#"{"summary":"\ud83dx\u"#, r#"ü00e9"}"#]), "\u{fffd}x\\uü00e9");
        assert!(said(&[" ".repeat(400).as_str(), "{\"summary\":\"x\"}"]).starts_with("   "), "too late to be one");
    }

    #[test]
    fn what_is_missing_is_said_when_the_whole_is_there() {
        let whole = r#"{"summary":"one two"}"#;
        let mut answer = StructuredAnswer::new(true);
        let shown = answer.take(&whole[..17]).into_owned();
        assert_eq!((shown.as_str(), answer.rest(whole, &shown).as_deref()), ("one t", Some("wo")));
        assert_eq!(StructuredAnswer::new(true).rest("plain", "").as_deref(), Some("plain"));
        let mut plain = StructuredAnswer::new(false);
        assert_eq!(plain.rest("plain", "pla").as_deref(), Some("in"));
        assert_eq!(plain.rest("other", "pla"), None);
    }

    #[test]
    fn sections_are_text_with_headings_and_fences_that_hold() {
        let section = |heading: &str, content: &str, code: &str| Section {
            heading: heading.into(),
            content: content.into(),
            code_blocks: (!code.is_empty())
                .then(|| trimtab_vocab::CodeBlock { language: "md".into(), code: code.into() })
                .into_iter()
                .collect(),
        };
        let all = [section("Why", "It was wrong.\n", ""), section("", "", "```x```"), section("Only", "", "")];
        assert_eq!(sections(&all), "## Why\n\nIt was wrong.\n\n````md\n```x```\n````\n\n## Only");
        assert_eq!(sections(&[]), "");
    }
}

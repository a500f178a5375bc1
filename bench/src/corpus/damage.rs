//! Damage as weak models, their templates and their transports do it, one kind at a time.

use serde_json::{Value, json};

use super::dice::Dice;
use super::tokens::{Kind, Layout, Token, join, quoted, tokens};

/// A damaged answer and what is certain of it.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
    /// All that was ever said: nothing else may come back.
    pub(super) full: Value,
    /// What has to come back.
    pub(super) due: Value,
    /// Whether it was cut; `None` if that cannot be told.
    pub(super) truncated: Option<bool>,
    pub(super) blocked: Option<bool>,
}

/// What one kind of damage makes of an answer; `None` if it has nothing to damage.
enum Done {
    /// All of it can still be known.
    Whole(Vec<u8>),
    /// It was cut: so much of it is left.
    Cut(Vec<u8>, Value),
    /// Only this is certain, and it is not cut.
    Less(Vec<u8>, Value, bool),
    /// Nothing can be demanded but that nothing is made up.
    Hostile(Vec<u8>),
}

type Damage = fn(&Value, &mut Dice) -> Option<Done>;

fn whole(text: impl Into<Vec<u8>>) -> Option<Done> {
    Some(Done::Whole(text.into()))
}

/// How often each kind is tried, on another answer each time.
const EACH: u64 = 12;
/// The same for kinds that only look for made-up values.
const EACH_HOSTILE: u64 = 150;

/// All generated cases.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // More of them can be asked for, to look for what is rare.
    let hostile_each =
        std::env::var("CORPUS_HOSTILE").ok().and_then(|count| count.parse().ok()).unwrap_or(EACH_HOSTILE);
    for (kind_at, (kind, damage)) in KINDS.iter().enumerate() {
        let hostile = kind.starts_with("hostile");
        let mut made = 0;
        for n in 0..(if hostile { hostile_each } else { 400 }) {
            if !hostile && made >= EACH {
                break;
            }
            let full = super::bases::base(n % 40 + (kind_at as u64 % 3));
            let mut dice = Dice::new(n * 1009 + kind_at as u64);
            let Some(done) = damage(&full, &mut dice) else { continue };
            made += 1;
            let (bytes, due, truncated, blocked) = match done {
                Done::Whole(bytes) => (bytes, full.clone(), Some(false), Some(false)),
                Done::Cut(bytes, due) => (bytes, due, Some(true), Some(true)),
                Done::Less(bytes, due, blocked) => (bytes, due, Some(false), Some(blocked)),
                Done::Hostile(bytes) => (bytes, json!({}), None, None),
            };
            cases.push(Case { kind: (*kind).to_owned(), bytes, full, due, truncated, blocked });
        }
    }
    cases
}

fn layout(dice: &mut Dice) -> Layout {
    dice.pick(&[Layout::Tight, Layout::Spaced, Layout::Pretty])
}

fn text(answer: &Value, dice: &mut Dice) -> String {
    join(&tokens(answer, layout(dice)))
}

/// Changes each token and puts them together again.
fn each(answer: &Value, layout: Layout, change: impl Fn(&Token) -> String) -> String {
    tokens(answer, layout).iter().map(change).collect()
}

/// Changes some tokens that fit, at least one; `None` if none fits.
fn some(
    answer: &Value,
    layout: Layout,
    dice: &mut Dice,
    fits: impl Fn(&Token) -> bool,
    change: impl Fn(&Token) -> String,
) -> Option<String> {
    let mut all = tokens(answer, layout);
    let places: Vec<usize> = (0..all.len()).filter(|at| fits(&all[*at])).collect();
    if places.is_empty() {
        return None;
    }
    let at = dice.pick(&places);
    all[at].text = change(&all[at]);
    Some(join(&all))
}

/// What was complete when the text ended at `cut`.
fn left(full: &Value, all: &[Token], cut: usize) -> Value {
    let mut due = json!({});
    let mut end = 0;
    for token in all {
        end += token.text.len();
        if end > cut {
            break;
        }
        match (token.kind, token.depth, token.item) {
            (Kind::Text, 1, _) => due[&token.field] = full[&token.field].clone(),
            (Kind::Close, 2, Some(item)) => {
                if !due[&token.field].is_array() {
                    due[&token.field] = json!([]);
                }
                if let Some(list) = due[&token.field].as_array_mut() {
                    list.push(full[&token.field][item].clone());
                }
            }
            _ => {}
        }
    }
    due
}

fn cut_at(full: &Value, all: &[Token], cut: usize) -> Option<Done> {
    let text = join(all);
    let cut = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    Some(Done::Cut(text.as_bytes()[..cut].to_vec(), left(full, all, cut)))
}

/// Where token `at` begins.
fn start(all: &[Token], at: usize) -> usize {
    all[..at].iter().map(|token| token.text.len()).sum()
}

fn raw_breaks(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

const DRAFT: &str = r#"{"summary": "A draft that is not meant", "commands": [{"command": "rm -rf draft"}]}"#;

/// Texts whose backslashes are only those of quotation marks and line breaks can lose them and stay certain.
fn simple(plain: &str) -> bool {
    !plain.contains('\\')
}

fn shell_quotes(text: &str) -> String {
    format!("'{}'", text[1..text.len() - 1].replace("\\\"", "\"").replace('\'', "\\'"))
}

fn is_words(token: &Token) -> bool {
    matches!(token.name.as_str(), "summary" | "text" | "heading" | "content" | "description" | "html" | "inputText")
        && token.field != "fileChanges"
}

const KINDS: &[(&str, Damage)] = &[
    ("valid", |a, d| whole(text(a, d))),
    ("fence json", |a, d| whole(format!("```json\n{}\n```", text(a, d)))),
    ("fence and talk", |a, d| {
        whole(format!(
            "Sure! Here's the {{answer}} you asked for:\n\n```\n{}\n```\n\nLet me know if it's ok.",
            text(a, d)
        ))
    }),
    ("fence not closed", |a, d| whole(format!("```json\n{}\n", text(a, d)))),
    ("fence only closed", |a, d| whole(format!("{}\n```", text(a, d)))),
    ("tildes", |a, d| whole(format!("~~~json\n{}\n~~~\n", text(a, d)))),
    ("thought with a draft", |a, d| {
        whole(format!("<think>\nMaybe {DRAFT}? No, \"better\":\n</think>\n\n{}", text(a, d)))
    }),
    ("thought without its beginning", |a, d| whole(format!("Let me see. {DRAFT}\n</think>\n{}", text(a, d)))),
    ("thought after", |a, d| whole(format!("{}\n<thinking>Or {DRAFT}?</thinking>", text(a, d)))),
    ("draft before", |a, d| whole(format!("First idea:\n{DRAFT}\n\nBetter:\n\n{}", text(a, d)))),
    ("schema before", |a, d| {
        whole(format!(
            "The format is {{\"summary\": \"...\", \"fileChanges\": [{{\"path\": \"...\", \"content\": \"...\"}}]}}.\n\n{}",
            text(a, d)
        ))
    }),
    ("other json before and after", |a, d| {
        whole(format!("tsconfig is {{\"strict\": true}}.\n{}\nSee also {{\"a\": [1, 2]}}.", text(a, d)))
    }),
    ("doubled", |a, d| {
        let text = text(a, d);
        whole(format!("{text}\n{text}"))
    }),
    ("doubled in fences", |a, d| {
        let text = text(a, d);
        whole(format!("```json\n{text}\n```\n\nAgain:\n\n```json\n{text}\n```"))
    }),
    ("wrapper object", |a, d| {
        let name = d.pick(&["answer", "response", "result", "output", "data"]);
        whole(json!({ name: a }).to_string())
    }),
    ("wrapper of a provider", |a, d| {
        whole(
            json!({"id": "x-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": text(a, d)},
                "finish_reason": "stop"}]})
            .to_string(),
        )
    }),
    ("wrapper of a provider that cut it", |a, d| {
        let text = json!({"choices": [{"message": {"content": text(a, d)}, "finish_reason": "length"}]}).to_string();
        Some(Done::Cut(text.into_bytes(), a.clone()))
    }),
    ("wrapper list", |a, d| whole(format!("[{}]", text(a, d)))),
    ("json string", |a, d| whole(quoted(&text(a, d)))),
    ("arguments of a tool", |a, d| whole(json!({"name": "answer", "arguments": text(a, d)}).to_string())),
    ("escaped without marks", |a, d| {
        let text = quoted(&join(&tokens(a, d.pick(&[Layout::Tight, Layout::Spaced]))));
        whole(text[1..text.len() - 1].to_owned())
    }),
    ("bom", |a, d| whole(format!("\u{feff}{}", text(a, d)))),
    ("crlf", |a, _| whole(join(&tokens(a, Layout::Pretty)).replace('\n', "\r\n"))),
    ("utf-16", |a, d| {
        let text = text(a, d);
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        whole(bytes)
    }),
    ("answer tag", |a, d| whole(format!("<answer>\n{}\n</answer>", text(a, d)))),
    ("end mark of a template", |a, d| {
        let mark = d.pick(&["<|im_end|>", "</s>", "<|eot_id|>", "<|endoftext|>", "<end_of_turn>"]);
        whole(format!("{}{mark}", text(a, d)))
    }),
    ("assignment", |a, d| whole(format!("const answer = {};\n", text(a, d)))),
    ("label", |a, d| {
        let label = d.pick(&["json\n", "JSON:\n", "Answer: ", "Output:\n\n", "assistant\n", "**Answer**\n\n"]);
        whole(format!("{label}{}", text(a, d)))
    }),
    ("trailing commas", |a, d| {
        let all = tokens(a, layout(d));
        let mut out = String::new();
        for (at, token) in all.iter().enumerate() {
            let before = all[..at].iter().rev().find(|token| token.kind != Kind::Gap);
            if token.kind == Kind::Close && before.is_some_and(|token| token.kind != Kind::Open) {
                out.push(',');
            }
            out.push_str(&token.text);
        }
        whole(out)
    }),
    ("doubled comma", |a, d| some(a, layout(d), d, |token| token.kind == Kind::Comma, |_| ",,".into()).and_then(whole)),
    ("missing comma", |a, d| some(a, layout(d), d, |token| token.kind == Kind::Comma, |_| " ".into()).and_then(whole)),
    ("all commas missing", |a, _| {
        whole(each(
            a,
            Layout::Pretty,
            |token| if token.kind == Kind::Comma { String::new() } else { token.text.clone() },
        ))
    }),
    ("semicolons", |a, d| some(a, layout(d), d, |token| token.kind == Kind::Comma, |_| ";".into()).and_then(whole)),
    ("python repr", |a, d| {
        whole(each(a, d.pick(&[Layout::Spaced, Layout::Pretty]), |token| match token.kind {
            Kind::Key | Kind::Text if token.plain.contains('\'') && !token.plain.contains('"') => token.text.clone(),
            Kind::Key | Kind::Text => shell_quotes(&token.text),
            Kind::Word => token.text.replace("true", "True").replace("false", "False"),
            _ => token.text.clone(),
        }))
    }),
    ("python literals", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Word,
            |token| token.text.replace("true", "True").replace("false", "False"),
        )
        .and_then(whole)
    }),
    ("bare names", |a, d| {
        whole(each(
            a,
            layout(d),
            |token| if token.kind == Kind::Key { token.plain.clone() } else { token.text.clone() },
        ))
    }),
    ("names in single quotes", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Key { format!("'{}'", token.plain) } else { token.text.clone() }
        }))
    }),
    ("curly quotes", |a, d| {
        whole(each(a, layout(d), |token| match token.kind {
            Kind::Key => format!("\u{201c}{}\u{201d}", token.plain),
            Kind::Text if !token.plain.contains(['\u{201c}', '\u{201d}', '"', '\\']) => {
                format!("\u{201c}{}\u{201d}", &token.text[1..token.text.len() - 1])
            }
            _ => token.text.clone(),
        }))
    }),
    ("curly quotes around names", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Key { format!("\u{201c}{}\u{201d}", token.plain) } else { token.text.clone() }
        }))
    }),
    ("line comments", |a, _| {
        whole(each(a, Layout::Pretty, |token| {
            if token.kind == Kind::Comma { ", // next, \"please\"".into() } else { token.text.clone() }
        }))
    }),
    ("block comments", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Colon { ": /* the {value} */".into() } else { token.text.clone() }
        }))
    }),
    ("hash comments", |a, _| {
        whole(each(a, Layout::Pretty, |token| {
            if token.kind == Kind::Comma && token.depth == 1 { ", # next".into() } else { token.text.clone() }
        }))
    }),
    ("raw line breaks", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Text && simple(&token.plain) { raw_breaks(&token.text) } else { token.text.clone() }
        }))
    }),
    ("raw control characters", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && token.plain.contains('\t') && simple(&token.plain),
            |token| token.text.replace("\\t", "\t"),
        )
        .and_then(whole)
    }),
    ("inner quotes in words", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && is_words(token) && token.plain.contains('"') && simple(&token.plain),
            |token| token.text.replace("\\\"", "\""),
        )
        .and_then(whole)
    }),
    ("inner quotes in a file", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && !is_words(token) && token.plain.contains('"') && simple(&token.plain),
            |token| token.text.replace("\\\"", "\""),
        )
        .and_then(whole)
    }),
    ("inner quotes and raw breaks in a file", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| {
                token.kind == Kind::Text && token.name == "content" && token.plain.contains('"') && simple(&token.plain)
            },
            |token| raw_breaks(&token.text.replace("\\\"", "\"")),
        )
        .and_then(whole)
    }),
    ("unknown escapes", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| {
                token.kind == Kind::Text
                    && !token.plain.contains(":\\")
                    && ["\\d", "\\w", "\\.", "\\s", "\\|"].iter().any(|escape| token.plain.contains(escape))
            },
            |token| {
                let mut text = token.text.clone();
                for sign in ["d", "w", ".", "s", "|"] {
                    text = text.replace(&format!("\\\\{sign}"), &format!("\\{sign}"));
                }
                text
            },
        )
        .and_then(whole)
    }),
    ("escaped apostrophe", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && token.plain.contains('\'') && !token.plain.contains("\\'"),
            |token| token.text.replace('\'', "\\'"),
        )
        .and_then(whole)
    }),
    ("escaped slashes", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Text { token.text.replace('/', "\\/") } else { token.text.clone() }
        }))
    }),
    ("all letters escaped", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind != Kind::Text {
                return token.text.clone();
            }
            token
                .text
                .chars()
                .map(|c| {
                    if c.is_ascii() {
                        c.to_string()
                    } else {
                        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                    }
                })
                .collect()
        }))
    }),
    ("last brace missing", |a, d| {
        let all = tokens(a, layout(d));
        let last = all.len() - 1;
        cut_at(a, &all, start(&all, last))
    }),
    ("last brackets missing", |a, d| {
        let all = tokens(a, layout(d));
        let from = (0..all.len()).rev().find(|at| !matches!(all[*at].kind, Kind::Close | Kind::Gap))? + 1;
        cut_at(a, &all, start(&all, from))
    }),
    ("cut anywhere", |a, d| {
        let all = tokens(a, layout(d));
        let len = join(&all).len();
        cut_at(a, &all, 2 + d.below(len - 2))
    }),
    ("cut in a fence", |a, d| {
        let all = tokens(a, layout(d));
        let text = join(&all);
        let cut = 20 + d.below(text.len() - 21);
        let cut = (0..=cut).rev().find(|at| text.is_char_boundary(*at))?;
        Some(Done::Cut(format!("Here it is:\n\n```json\n{}", &text[..cut]).into_bytes(), left(a, &all, cut)))
    }),
    ("cut and fence closed", |a, d| {
        let all = tokens(a, Layout::Pretty);
        let text = join(&all);
        let cut = 20 + d.below(text.len() - 21);
        let cut = (0..=cut).rev().find(|at| text.is_char_boundary(*at))?;
        Some(Done::Cut(format!("```json\n{}\n```", &text[..cut]).into_bytes(), left(a, &all, cut)))
    }),
    ("cut after a token", |a, d| {
        let all = tokens(a, layout(d));
        let at = 1 + d.below(all.len() - 2);
        cut_at(a, &all, start(&all, at))
    }),
    ("cut in an escape", |a, d| {
        let text = join(&tokens(a, Layout::Tight));
        let places: Vec<usize> = text.match_indices("\\n").map(|(at, _)| at + 1).collect();
        if places.is_empty() {
            return None;
        }
        cut_at(a, &tokens(a, Layout::Tight), d.pick(&places))
    }),
    ("cut in a command", |a, d| {
        let all = tokens(a, layout(d));
        let at = all.iter().position(|token| token.kind == Kind::Text && token.name == "command")?;
        cut_at(a, &all, start(&all, at) + 8.min(all[at].text.len() - 1))
    }),
    ("cut in a string of json", |a, d| {
        let inner = tokens(a, Layout::Tight);
        let text = quoted(&join(&inner));
        // Cut before the mark that ends the whole, so that all is complete but the last bracket.
        let _ = d;
        let due = left(a, &inner, join(&inner).len() - 1);
        Some(Done::Cut(text.as_bytes()[..text.len() - 2].to_vec(), due))
    }),
    ("says that it was cut", |a, d| {
        let note = d.pick(&[
            "\n\n[truncated]",
            "\n... (truncated)",
            "\n[Response truncated due to length]",
            "\n\n[output truncated]",
        ]);
        Some(Done::Cut(format!("{}{note}", text(a, d)).into_bytes(), a.clone()))
    }),
    ("one bracket too many", |a, d| {
        let more = d.pick(&["}", "]}", "}}", "]", "\n}\n]\n}"]);
        whole(format!("{}{more}", text(a, d)))
    }),
    ("first brace missing", |a, d| {
        let text = text(a, d);
        whole(text[1..].to_owned())
    }),
    ("braces doubled", |a, d| whole(format!("{{{}}}", text(a, d)))),
    ("list not closed", |a, d| {
        let all = tokens(a, layout(d));
        let places: Vec<usize> = (0..all.len() - 2)
            .filter(|at| all[*at].kind == Kind::Close && all[*at].depth == 1 && all[*at].text == "]")
            .filter(|at| all[at + 1].kind == Kind::Comma)
            .filter(|at| {
                all[..*at].iter().rev().find(|token| token.kind != Kind::Gap).is_some_and(|token| token.text == "}")
            })
            .collect();
        if places.is_empty() {
            return None;
        }
        let mut all = all;
        let at = d.pick(&places);
        all[at].text.clear();
        whole(join(&all))
    }),
    ("element not closed", |a, d| {
        let mut all = tokens(a, layout(d));
        let places: Vec<usize> = (0..all.len() - 1)
            .filter(|at| all[*at].kind == Kind::Close && all[*at].depth == 2 && all[*at].text == "}")
            .filter(|at| all[at + 1].kind == Kind::Comma)
            .collect();
        if places.is_empty() {
            return None;
        }
        let at = d.pick(&places);
        all[at].text.clear();
        whole(join(&all))
    }),
    ("wrong bracket", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Close && token.depth == 1 && token.text == "]",
            |_| "}".into(),
        )
        .and_then(whole)
    }),
    ("missing colon", |a, d| {
        some(a, d.pick(&[Layout::Spaced, Layout::Pretty]), d, |token| token.kind == Kind::Colon, |_| " ".into())
            .and_then(whole)
    }),
    ("name without first mark", |a, d| {
        some(a, layout(d), d, |token| token.kind == Kind::Key, |token| token.text[1..].to_owned()).and_then(whole)
    }),
    ("name without last mark", |a, d| {
        some(a, layout(d), d, |token| token.kind == Kind::Key, |token| token.text[..token.text.len() - 1].to_owned())
            .and_then(whole)
    }),
    ("text without last mark", |a, d| {
        let mut all = tokens(a, layout(d));
        let places: Vec<usize> = (0..all.len() - 2)
            .filter(|at| all[*at].kind == Kind::Text && all[at + 1].kind == Kind::Comma)
            .filter(|at| !all[*at].plain.contains(['"', '\\', '\n']) && !all[*at].plain.is_empty())
            .collect();
        if places.is_empty() {
            return None;
        }
        let at = d.pick(&places);
        all[at].text.pop();
        whole(join(&all))
    }),
    ("joined texts", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && token.plain.contains('\n') && token.plain.len() > 8,
            |token| token.text.replacen("\\n", "\\n\" +\n    \"", 1),
        )
        .and_then(whole)
    }),
    ("three marks", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| {
                token.kind == Kind::Text
                    && token.name == "content"
                    && token.field == "fileChanges"
                    && !token.plain.contains('\\')
                    && !token.plain.contains("\"\"\"")
                    && !token.plain.is_empty()
                    && !token.plain.ends_with('"')
                    && !token.plain.starts_with('"')
            },
            |token| format!("\"\"\"{}\"\"\"", token.plain),
        )
        .and_then(whole)
    }),
    ("backticks", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| {
                token.kind == Kind::Text
                    && token.name == "content"
                    && token.field == "fileChanges"
                    && !token.plain.contains(['\\', '`'])
                    && !token.plain.is_empty()
            },
            |token| format!("`{}`", token.plain),
        )
        .and_then(whole)
    }),
    ("null and absent", |a, d| {
        let mut more = a.clone();
        for name in ["sections", "todos", "commands", "nextSteps"] {
            if more.get(name).is_none() {
                more[name] = Value::Null;
            }
        }
        whole(text(&more, d))
    }),
    ("unknown members", |a, d| {
        let mut more = a.clone();
        more["confidence"] = json!(0.93);
        more["meta"] = json!({"model": "x", "notes": ["a", "b"], "summary": "of the meta data"});
        whole(text(&more, d))
    }),
    ("dots in a list", |a, d| {
        let mut all = tokens(a, Layout::Pretty);
        let at = all.iter().rposition(|token| token.kind == Kind::Close && token.depth == 1 && token.text == "]")?;
        all[at].text = d.pick(&[", ...\n]", ", …]", "\n  ...\n]"]).into();
        Some(Done::Less(join(&all).into_bytes(), a.clone(), true))
    }),
    ("bytes that are no text", |a, d| {
        let todos = a.get("todos").and_then(Value::as_array).filter(|list| list.len() > 1)?;
        let text = text(a, d);
        let mark = todos[0]["text"].as_str()?;
        let at = text.find(&format!("\"{}", &quoted(mark)[1..]))? + 2;
        let mut bytes = text.into_bytes();
        bytes.splice(at..at, [0xff, 0xc3]);
        let mut due = a.clone();
        due["todos"].as_array_mut()?.remove(0);
        Some(Done::Less(bytes, due, false))
    }),
    ("lone surrogate", |a, d| {
        let mut due = a.clone();
        due.as_object_mut()?.shift_remove("summary")?;
        let text = some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && token.depth == 1,
            |token| format!("\"\\ud83d {}", &token.text[1..]),
        )?;
        Some(Done::Less(text.into_bytes(), due, false))
    }),
    ("wide blanks between tokens", |a, _| {
        whole(each(a, Layout::Pretty, |token| {
            if token.kind == Kind::Gap { token.text.replace("  ", "\u{a0} ") } else { token.text.clone() }
        }))
    }),
    ("signs of full width", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| matches!(token.kind, Kind::Comma | Kind::Colon),
            |token| {
                if token.kind == Kind::Comma { "，".into() } else { "：".into() }
            },
        )
        .and_then(whole)
    }),
    ("names in snake case", |a, d| {
        whole(each(a, layout(d), |token| {
            if token.kind == Kind::Key {
                token
                    .text
                    .replace("fileChanges", "file_changes")
                    .replace("nextSteps", "next_steps")
                    .replace("codeBlocks", "code_blocks")
                    .replace("inputText", "input_text")
            } else {
                token.text.clone()
            }
        }))
    }),
    ("began again", |a, d| {
        let all = tokens(a, layout(d));
        let text = join(&all);
        let cut = all[0].text.len() + d.below(40);
        let cut = (0..=cut).rev().find(|at| text.is_char_boundary(*at))?;
        whole(format!("{}\n\nSorry, let me start again.\n\n{text}", &text[..cut]))
    }),
    ("no json", |a, d| {
        let words = d.pick(&[
            "I cannot do that: the file is missing.",
            "Use {braces} and [brackets] like `a[0]` or fn main() { println!(\"hi\"); }",
            "```rust\nfn main() { let x = [1, 2]; }\n```\nThat's all.",
            "{\"name\": \"demo\", \"version\": \"1.0.0\"}",
            "",
        ]);
        let _ = a;
        Some(Done::Less(words.as_bytes().to_vec(), json!({}), false))
    }),
    ("hostile: one sign lost", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| !matches!(token.kind, Kind::Gap | Kind::Word),
            |token| match token.kind {
                Kind::Key | Kind::Text if token.text.len() % 2 == 0 => token.text[1..].to_owned(),
                Kind::Key | Kind::Text => token.text[..token.text.len() - 1].to_owned(),
                _ => String::new(),
            },
        )
        .map(|text| Done::Hostile(text.into_bytes()))
    }),
    ("hostile: two signs lost", |a, d| {
        let mut all = tokens(a, layout(d));
        for _ in 0..2 {
            let at = d.below(all.len());
            if matches!(all[at].kind, Kind::Open | Kind::Close | Kind::Comma | Kind::Colon) {
                all[at].text.clear();
            } else if matches!(all[at].kind, Kind::Text | Kind::Key) && all[at].text.len() > 1 {
                all[at].text.pop();
            }
        }
        Some(Done::Hostile(join(&all).into_bytes()))
    }),
    ("hostile: one sign more", |a, d| {
        let mut all = tokens(a, layout(d));
        let at = d.below(all.len());
        let sign = d.pick(&["\"", "}", "]", "{", "[", ",", ":", "'", "\\", "\"\"", "}}"]);
        all[at].text.push_str(sign);
        Some(Done::Hostile(join(&all).into_bytes()))
    }),
    ("hostile: quotes of a text not escaped", |a, d| {
        some(
            a,
            layout(d),
            d,
            |token| token.kind == Kind::Text && token.plain.contains('"'),
            |token| format!("\"{}\"", token.text[1..token.text.len() - 1].replace("\\\"", "\"")),
        )
        .map(|text| Done::Hostile(text.into_bytes()))
    }),
    ("hostile: quotes not escaped and cut", |a, d| {
        let text = each(a, layout(d), |token| token.text.replace("\\\"", "\""));
        let cut = 10 + d.below(text.len() - 10);
        Some(Done::Hostile(text.as_bytes()[..cut].to_vec()))
    }),
    ("hostile: quotes not escaped anywhere", |a, d| {
        Some(Done::Hostile(each(a, layout(d), |token| token.text.replace("\\\"", "\"")).into_bytes()))
    }),
    ("hostile: a piece from the middle lost", |a, d| {
        let text = text(a, d);
        let from = d.below(text.len());
        let to = (from + 1 + d.below(60)).min(text.len());
        // What joins across the gap may make words that nobody said: only elements beyond it are judged, so the
        // gap is filled with something that no text can hold.
        let mut bytes = text.as_bytes()[..from].to_vec();
        bytes.extend([0xff, 0xfe]);
        bytes.extend(&text.as_bytes()[to..]);
        Some(Done::Hostile(bytes))
    }),
    ("hostile: two answers interleaved", |a, d| {
        let one = text(a, d);
        let at = d.below(one.len());
        let at = (0..=at).rev().find(|at| one.is_char_boundary(*at))?;
        let mut bytes = one.as_bytes()[..at].to_vec();
        bytes.extend(one.as_bytes());
        Some(Done::Hostile(bytes))
    }),
];

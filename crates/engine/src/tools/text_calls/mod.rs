//! Tool calls that a model wrote as text. Models without a fitting chat template, and servers that do not know the
//! template's format, return a call as text: in a fence, between the markers of the model's family, or bare. They are
//! parsed here into names and arguments; whether they run is not decided here.
//!
//! A text is a call only if nothing else is left over: a marker's whole content, a fence's whole body, or whole
//! lines. `json` reads JSON as models write it, `python` reads calls such as `read_file(path="a")`, and `tagged`
//! reads arguments between tags.

mod json;
mod python;
mod tagged;

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};
use trimtab_vocab::ToolSpec;

use crate::proposal::fences::{ReplyFence, fences, without_thoughts};

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenCall {
    pub(crate) name: String,
    pub(crate) input: Value,
    /// Its text, with its markers.
    pub(crate) range: Range<usize>,
}

/// What a model puts around its calls: the beginning, and the end, which the last call of a reply may lack.
const MARKERS: &[(&str, &str)] = &[
    // Qwen, Hermes, GLM, and many others.
    ("<tool_call>", "</tool_call>"),
    ("<tools>", "</tools>"),
    ("<tool_use>", "</tool_use>"),
    ("<function_call>", "</function_call>"),
    // Granite and Phi.
    ("<|tool_call|>", "<|/tool_call|>"),
    ("functools[", "]"),
    // Mistral, and LM Studio's own.
    ("[TOOL_CALLS]", "</s>"),
    ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
    // Llama.
    ("<|python_tag|>", "<|eom_id|>"),
    ("<function=", "</function>"),
    // DeepSeek, before and after 3.2.
    ("<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}>", "<\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>"),
    ("<\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>", "<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>"),
    ("<\u{ff5c}DSML\u{ff5c}function_calls>", "</\u{ff5c}DSML\u{ff5c}function_calls>"),
    // Kimi.
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    // Command R.
    ("<|START_ACTION|>", "<|END_ACTION|>"),
    // LFM.
    ("<|tool_call_start|>", "<|tool_call_end|>"),
    // InternLM.
    ("<|action_start|>", "<|action_end|>"),
    // MiniMax, Seed, and the form that Anthropic's models knew first.
    ("<minimax:tool_call>", "</minimax:tool_call>"),
    ("<seed:tool_call>", "</seed:tool_call>"),
    ("<function_calls>", "</function_calls>"),
    ("<invoke name=", "</invoke>"),
    // gpt-oss.
    ("<|channel|>commentary to=", "<|call|>"),
    // FunctionGemma.
    ("<start_function_call>", "<end_function_call>"),
];

/// Info strings of fences that may hold a call.
const CALL_FENCES: &[&str] = &[
    "",
    "json",
    "jsonc",
    "json5",
    "xml",
    "text",
    "plaintext",
    "tool_call",
    "tool_calls",
    "tool_code",
    "tool",
    "tool_use",
    "function",
    "function_call",
];

/// Calls that are looked for in a reply at most.
const MOST: usize = 500;

/// The calls in a text, in order. `offered` are the tools of the prompt: a name without markers is a call only if it
/// is one of them.
pub(crate) fn read(text: &str, offered: &[Arc<ToolSpec>]) -> Vec<WrittenCall> {
    let said = without_thoughts(text);
    let mut reader = TextReader { text: &said, offered, found: Vec::new(), taken: Vec::new() };
    let fences = fences(&said);
    reader.marked(&fences);
    reader.fenced(&fences);
    reader.bare(&fences);
    reader.found.sort_by_key(|call| call.range.start);
    reader.found.truncate(MOST);
    reader.found
}

/// A text without the calls that were read from it.
pub(crate) fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start >= at {
            rest.push_str(&text[at..range.start]);
            at = range.end;
        }
    }
    rest.push_str(&text[at..]);
    rest.trim().to_owned()
}

/// A call without its place.
#[derive(Debug, Clone, PartialEq)]
struct NamedCall {
    name: String,
    input: Value,
    /// Nothing but a call is written so: a name and arguments, and nothing beside them.
    is_plain: bool,
}

struct TextReader<'t> {
    text: &'t str,
    offered: &'t [Arc<ToolSpec>],
    found: Vec<WrittenCall>,
    /// Places that are read already.
    taken: Vec<Range<usize>>,
}

impl TextReader<'_> {
    fn is_offered(&self, name: &str) -> bool {
        self.offered.iter().any(|spec| spec.name == name)
    }

    fn is_taken(&self, at: usize) -> bool {
        self.taken.iter().any(|range| range.contains(&at))
    }

    fn accept(&mut self, range: Range<usize>, calls: Vec<NamedCall>) {
        self.taken.push(range.clone());
        for NamedCall { name, input, .. } in calls {
            self.found.push(WrittenCall { name, input, range: range.clone() });
        }
    }

    /// Calls between the markers of a model's family.
    fn marked(&mut self, fences: &[ReplyFence<'_>]) {
        for (open, close) in MARKERS {
            let mut at = 0;
            for _ in 0..MOST * 2 {
                let Some(start) = self.text[at..].find(open).map(|start| at + start) else { break };
                at = start + open.len();
                let is_shown = fences.iter().any(|fence| fence.range.contains(&start) && !self.may_call(fence));
                if self.is_taken(start) || self.found.len() >= MOST || is_shown || is_inline(self.text, start) {
                    continue;
                }
                let end = self.text[at..].find(close).map(|end| at + end);
                // What these open with belongs to the call.
                let from = match *open {
                    "<function=" | "<invoke name=" => start,
                    "functools[" => at - 1,
                    _ => at,
                };
                let keeps_close = matches!(*open, "<function=" | "<invoke name=" | "functools[");
                let inner_end = match end {
                    // A list may hold lists: it ends where it is read to its end.
                    Some(_) if *open == "functools[" => self.text.len(),
                    Some(end) if keeps_close => end + close.len(),
                    Some(end) => end,
                    None => self.text.len(),
                };
                let whole = match end {
                    Some(end) if *open != "functools[" => end + close.len(),
                    _ => self.text.len(),
                };
                let calls = self.calls_in(&self.text[from..inner_end], true);
                if let Some(calls) = calls.filter(|_| !is_example(self.text, start..whole)) {
                    let range = self.with_fence(start..whole, fences);
                    self.accept(range, calls);
                    at = whole;
                }
            }
        }
    }

    /// The place of a call with the fence around it, if the fence has nothing else.
    fn with_fence(&self, range: Range<usize>, fences: &[ReplyFence<'_>]) -> Range<usize> {
        let holds = |fence: &&ReplyFence<'_>| fence.range.start <= range.start && range.end <= fence.range.end;
        match fences.iter().find(holds) {
            Some(fence) if fence.body.trim() == self.text[range.clone()].trim() => fence.range.clone(),
            _ => range,
        }
    }

    /// Whether a fence may hold calls: nothing says that it only shows something.
    fn may_call(&self, fence: &ReplyFence<'_>) -> bool {
        let language = fence.info.trim().to_ascii_lowercase();
        CALL_FENCES.contains(&language.as_str()) && !is_example(self.text, fence.range.clone())
    }

    /// Fences whose whole body is a call, or several.
    fn fenced(&mut self, fences: &[ReplyFence<'_>]) {
        for fence in fences.iter().filter(|fence| fence.is_closed) {
            let language = fence.info.trim().to_ascii_lowercase();
            if self.is_taken(fence.range.start) || self.is_taken(fence.range.end - 1) || !self.may_call(fence) {
                continue;
            }
            let is_marked = language.starts_with("tool") || language.starts_with("function");
            let calls = self.calls_in(&fence.body, is_marked);
            if let Some(calls) = calls.filter(|calls| is_marked || self.are_calls(calls)) {
                self.accept(fence.range.clone(), calls);
            }
        }
    }

    /// Calls on separate lines, without a fence.
    fn bare(&mut self, fences: &[ReplyFence<'_>]) {
        let in_fence = |at: usize| fences.iter().any(|fence| fence.range.contains(&at));
        let mut at = 0;
        let mut tries = 0;
        while at < self.text.len() && tries < MOST * 2 {
            let line_end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
            let start = at + self.text[at..line_end].len() - self.text[at..line_end].trim_start().len();
            let mut next = line_end + 1;
            if start < line_end && !in_fence(start) && !self.is_taken(start) {
                // Long reads are limited in number.
                let length = self.text[start..line_end].find(|c: char| !is_of_name(c)).unwrap_or(line_end - start);
                let is_name = self.is_offered(&plain_name(&self.text[start..start + length]));
                tries += usize::from(
                    is_name
                        || self.text[start..].starts_with(['{', '[', '<'])
                        || self.text[start..].starts_with("Action:"),
                );
                if let Some((length, calls)) = self.bare_call(&self.text[start..])
                    && let Some(calls) = calls.filter(|calls| self.are_calls(calls))
                    && !is_example(self.text, start..start + length)
                {
                    self.accept(start..start + length, calls);
                    next = start + length;
                }
            }
            at = next.max(at + 1);
            while !self.text.is_char_boundary(at.min(self.text.len())) {
                at += 1;
            }
        }
    }

    /// Whether these can only be tool calls, even without a marker.
    fn are_calls(&self, calls: &[NamedCall]) -> bool {
        calls.iter().all(|call| self.is_offered(&call.name) || call.is_plain)
    }

    /// A call at the beginning of a line, with its length, if it ends at the end of a line.
    fn bare_call(&self, text: &str) -> Option<(usize, Option<Vec<NamedCall>>)> {
        if text.starts_with(['{', '[']) {
            let (value, length) = json::value(text)?;
            let ends = text[length..].split('\n').next().is_some_and(|rest| rest.trim().is_empty());
            return Some((length, json::calls(&value, self.offered).filter(|_| ends)));
        }
        if let Some(rest) = text.strip_prefix("Action:") {
            // The form of agents that reason and act in turns.
            let (name, rest) = rest.split_once('\n')?;
            let input = rest.trim_start().strip_prefix("Action Input:")?.trim_start();
            let (input, length) = json::value(input).map(|(value, length)| (value, input.len() - length))?;
            let call = NamedCall { name: plain_name(name.trim()), input, is_plain: true };
            return Some((text.len() - length, Some(vec![call])));
        }
        let name_length = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
        let name = plain_name(&text[..name_length]);
        if self.is_offered(&name) {
            let rest = &text[name_length..];
            let (input, length) = if rest.starts_with('(') {
                python::arguments(rest)?
            } else {
                let json = rest.trim_start_matches([' ', ':']);
                let (value, length) = json::value(json).filter(|(value, _)| value.is_object())?;
                (value, rest.len() - json.len() + length)
            };
            let end = name_length + length;
            let ends = text[end..].split('\n').next().is_some_and(|rest| rest.trim().is_empty());
            return Some((end, ends.then(|| vec![NamedCall { name, input, is_plain: false }])));
        }
        let (name, input, length) = tagged::element(text, self.offered)?;
        Some((length, Some(vec![NamedCall { name, input, is_plain: false }])))
    }

    /// The calls that a text is, if it is nothing else.
    fn calls_in(&self, text: &str, is_marked: bool) -> Option<Vec<NamedCall>> {
        let text = text.trim();
        let text = text.strip_suffix("</s>").unwrap_or(text).trim();
        let calls = json::values(text)
            .and_then(|values| {
                let calls: Option<Vec<Vec<NamedCall>>> =
                    values.iter().map(|value| json::calls(value, self.offered)).collect();
                calls.map(|calls| calls.concat())
            })
            .or_else(|| tagged::calls(text, self.offered))
            .or_else(|| self.named_json(text))
            .or_else(|| is_marked.then(|| python::calls(text)).flatten())?;
        (!calls.is_empty()).then_some(calls)
    }

    /// Names that are followed by their arguments as JSON, with a family's own separators between them:
    /// `functions.read_file{…}`, `read_file[ARGS]{…}`, `functions.read_file:0<|…|>{…}`.
    fn named_json(&self, text: &str) -> Option<Vec<NamedCall>> {
        let mut calls = Vec::new();
        let mut rest = after_separators(text);
        while !rest.is_empty() {
            let length = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            let mut name = &rest[..length];
            if name.is_empty() {
                return None;
            }
            rest = after_separators(&rest[length..]);
            if name == "function" || name == "commentary" {
                // DeepSeek says first what sort of tool it is.
                let length = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
                name = &rest[..length];
                rest = after_separators(&rest[length..]);
            }
            let fenced = rest.strip_prefix("```").map(|rest| rest.trim_start_matches(char::is_alphabetic).trim_start());
            let is_call = rest.starts_with('(');
            let body = fenced.unwrap_or(rest).trim_start_matches('(');
            let (input, length) = json::value(body).filter(|(value, _)| value.is_object())?;
            rest = body[length..].trim_start();
            if fenced.is_some() {
                rest = rest.strip_prefix("```")?;
            }
            if is_call {
                rest = rest.strip_prefix(')')?;
            }
            rest = after_separators(rest);
            let name = plain_name(name);
            let is_plain = !self.is_offered(&name);
            calls.push(NamedCall { name, input, is_plain });
        }
        Some(calls)
    }
}

/// Names of tools, with the prefixes that some families give them.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | ':')
}

/// The name of a tool without the name of the group that a family puts all tools into, and without a number.
fn plain_name(name: &str) -> String {
    let name = name.trim().trim_matches(['"', '`', '\'']);
    let name = ["functions.", "function.", "tools.", "default_api.", "tool:", "call:"]
        .iter()
        .fold(name, |name, prefix| name.strip_prefix(prefix).unwrap_or(name));
    match name.split_once(':') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => name.to_owned(),
        _ => name.trim_end_matches(':').to_owned(),
    }
}

/// A text without the special tokens that it begins with.
fn after_separators(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start().trim_start_matches([';', ',']).trim_start();
        rest = rest.strip_prefix("[TOOL_CALLS]").unwrap_or(rest);
        let closed = |open: &str, close: &str| {
            rest.strip_prefix(open).and_then(|inner| inner.split_once(close)).filter(|(token, _)| token.len() <= 40)
        };
        let next = closed("<|", "|>").or_else(|| closed("<\u{ff5c}", "\u{ff5c}>")).or_else(|| closed("[CALL_ID]", "["));
        rest = match next {
            Some((_, after)) if rest.starts_with("[CALL_ID]") => &rest[rest.len() - after.len() - 1..],
            Some((_, after)) => after,
            None => match ["[ARGS]", "json<|message|>", "<|message|>", "json"]
                .iter()
                .find_map(|token| rest.strip_prefix(token))
            {
                Some(after) if after.trim_start().starts_with(['{', '<']) => after,
                _ => return rest,
            },
        };
    }
}

/// Whether a place is inside of a span of code, as in an explanation.
fn is_inline(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line.matches('`').count() % 2 == 1
}

/// Whether the words around a place say that it only shows how something looks: the last two lines before it that say
/// something, or the first one behind it.
fn is_example(text: &str, range: Range<usize>) -> bool {
    const SIGNS: &[&str] = &[
        "example",
        "sample",
        "e.g.",
        "such as",
        "would look",
        "looks like",
        "look like",
        "the format",
        "in general",
        "never ",
        "do not",
        "don't",
        "must not",
        "zum beispiel",
        "par exemple",
        "por ejemplo",
    ];
    let before = text[..range.start].lines().rev().filter(|line| !line.trim().is_empty()).take(2);
    let behind = text[range.end..].lines().filter(|line| !line.trim().is_empty()).take(1);
    before.chain(behind).any(|line| {
        let line = line[..line.floor_char_boundary(400)].to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    })
}

/// An object of arguments: of an object, of a JSON text of one, or none.
fn arguments_of(value: Option<&Value>) -> Option<Value> {
    match value {
        None | Some(Value::Null) => Some(Value::Object(Map::new())),
        // This describes a tool and does not call it.
        Some(Value::Object(fields)) if fields.contains_key("properties") && fields.contains_key("type") => None,
        Some(Value::Object(_)) => value.cloned(),
        Some(Value::String(text)) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => json::value(text.trim()).map(|(value, _)| value).filter(Value::is_object),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;

//! Calls in Python syntax: `read_file(path="a.txt", limit=3)`.

use serde_json::{Map, Number, Value};

use super::{NamedCall, json, plain_name};

/// The calls that a text is: one a line, in a list, or within `print(…)`.
pub(super) fn calls(text: &str) -> Option<Vec<NamedCall>> {
    let text = text.trim();
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let mut rest = list.unwrap_or(text).trim();
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let printed = rest.strip_prefix("print(");
        let call = printed.unwrap_or(rest).trim_start();
        let length = call.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))?;
        let (name, after) = call.split_at(length);
        if name.is_empty() || !after.starts_with('(') {
            return None;
        }
        let (input, length) = arguments(after)?;
        rest = after[length..].trim_start();
        if printed.is_some() {
            rest = rest.strip_prefix(')')?;
        }
        rest = rest.trim_start().trim_start_matches([',', ';']).trim_start();
        // Llama's own tools are called so.
        let name = plain_name(name.strip_suffix(".call").unwrap_or(name));
        calls.push(NamedCall { name, input, is_plain: true });
    }
    (!calls.is_empty()).then_some(calls)
}

/// The arguments in parentheses that a text begins with, all of them named, and how many bytes they take.
pub(super) fn arguments(text: &str) -> Option<(Value, usize)> {
    let mut reader = PythonReader { text, at: 1 };
    let mut fields = Map::new();
    reader.skip();
    // `read_file({"path": "a"})`
    if reader.rest().starts_with('{') {
        let (value, length) = json::value(reader.rest())?;
        reader.at += length;
        reader.skip();
        return reader.skip_char(')').then_some((value, reader.at));
    }
    while !reader.skip_char(')') {
        let key: String = reader.rest().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        reader.at += key.len();
        reader.skip();
        if key.is_empty() || !reader.skip_char('=') {
            return None;
        }
        reader.skip();
        let value = reader.value(0)?;
        fields.insert(key, value);
        reader.skip();
        if !reader.skip_char(',') && !reader.rest().starts_with(')') {
            return None;
        }
        reader.skip();
    }
    Some((Value::Object(fields), reader.at))
}

/// The maximum depth of nested lists.
const DEEPEST: usize = 16;

struct PythonReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PythonReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn skip_char(&mut self, wanted: char) -> bool {
        let is_there = self.rest().starts_with(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        let rest = self.rest();
        for (name, value) in [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::Null)] {
            if rest.starts_with(name) {
                self.at += name.len();
                return Some(value);
            }
        }
        match rest.chars().next()? {
            '"' | '\'' => self.text_value().map(Value::String),
            '[' => {
                self.at += 1;
                let mut list = Vec::new();
                self.skip();
                while !self.skip_char(']') {
                    list.push(self.value(depth + 1)?);
                    self.skip();
                    if !self.skip_char(',') && !self.rest().starts_with(']') {
                        return None;
                    }
                    self.skip();
                }
                Some(Value::Array(list))
            }
            '{' => {
                self.at += 1;
                let mut fields = Map::new();
                self.skip();
                while !self.skip_char('}') {
                    let key = self.text_value()?;
                    self.skip();
                    if !self.skip_char(':') {
                        return None;
                    }
                    self.skip();
                    fields.insert(key, self.value(depth + 1)?);
                    self.skip();
                    if !self.skip_char(',') && !self.rest().starts_with('}') {
                        return None;
                    }
                    self.skip();
                }
                Some(Value::Object(fields))
            }
            _ => {
                let length = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-'))).unwrap_or(rest.len());
                let number: Number = rest[..length].parse().ok()?;
                self.at += length;
                Some(Value::Number(number))
            }
        }
    }

    /// A text in one or three quotation marks of either sort.
    fn text_value(&mut self) -> Option<String> {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let (end, is_triple) = match rest.starts_with(&triple) {
            true => (triple, true),
            false => (quote.to_string(), false),
        };
        let mut at = end.len();
        let mut text = String::new();
        loop {
            let rest = &rest[at..];
            if rest.starts_with(&end) {
                self.at += at + end.len();
                return Some(text);
            }
            let c = rest.chars().next()?;
            at += c.len_utf8();
            match c {
                '\\' => {
                    let next = rest.chars().nth(1)?;
                    at += next.len_utf8();
                    match next {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        '\\' | '\'' | '"' => text.push(next),
                        '\n' => {}
                        // Numbers of characters are rare, and a wrong one would be another text.
                        'x' | 'u' | 'U' | 'N' | '0'..='7' => return None,
                        _ => {
                            text.push('\\');
                            text.push(next);
                        }
                    }
                }
                '\n' if !is_triple => return None,
                _ => text.push(c),
            }
        }
    }
}

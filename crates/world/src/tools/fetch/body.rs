//! The body of a response: its format and its text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::super::html;

/// How far into a page its encoding can be declared, by the standard.
const HEAD: usize = 1_024;

/// The form of what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyForm {
    Html,
    Text,
    /// The server does not say.
    Unsaid,
    /// Nothing that can be read.
    Other,
}

impl BodyForm {
    /// By the type that the server gives.
    pub(super) fn from_content_type(given: Option<&str>) -> Self {
        const TEXTS: &[&str] = &[
            "json",
            "xml",
            "javascript",
            "x-javascript",
            "ecmascript",
            "x-ndjson",
            "ndjson",
            "jsonl",
            "yaml",
            "x-yaml",
            "toml",
            "graphql",
            "sql",
            "x-sh",
            "rss",
            "atom",
        ];
        let kind = given.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.split_once('/') {
            _ if kind == "text/html" || kind == "application/xhtml+xml" => Self::Html,
            Some(("text", _)) => Self::Text,
            Some((_, detail)) if detail.ends_with("+json") || detail.ends_with("+xml") || detail.ends_with("+yaml") => {
                Self::Text
            }
            Some(("application", detail)) if TEXTS.contains(&detail) => Self::Text,
            None if kind.is_empty() => Self::Unsaid,
            _ => Self::Other,
        }
    }

    /// By its content, if nothing was declared.
    pub(super) fn or_by_content(self, bytes: &[u8]) -> Self {
        if self != Self::Unsaid {
            return self;
        }
        let head = &bytes[..bytes.len().min(HEAD)];
        let start = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
        match start {
            _ if head.contains(&0) => Self::Other,
            start if start.starts_with("<!doctype html") || start.starts_with("<html") => Self::Html,
            _ => Self::Text,
        }
    }
}

/// The title, if it has one, and the text.
pub(super) fn read(form: BodyForm, given: Option<&str>, bytes: &[u8]) -> (Option<String>, String) {
    let text = decode(form, given, bytes);
    match form.or_by_content(bytes) {
        BodyForm::Html => {
            let page = html::read(&text);
            (page.title, page.text)
        }
        // PostgreSQL takes no NUL in a text, and it means nothing to a model.
        _ => (None, text.replace('\0', "\u{2400}").replace("\r\n", "\n")),
    }
}

/// Decodes by the byte order mark, the header, or the page itself. Without any of them, UTF-8, and if it is not
/// valid, the encoding of most old pages.
fn decode<'a>(form: BodyForm, given: Option<&str>, bytes: &'a [u8]) -> Cow<'a, str> {
    let by_server = given.and_then(|given| charset(given.as_bytes()));
    let by_page = || if form == BodyForm::Text { None } else { charset(&bytes[..bytes.len().min(HEAD)]) };
    match by_server.or_else(by_page) {
        Some(encoding) => encoding.decode(bytes).0,
        None => {
            let (text, _, has_errors) = UTF_8.decode(bytes);
            // The end may be cut within a character, which does not mean another encoding.
            let is_cut_only = std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
            if has_errors && !is_cut_only { WINDOWS_1252.decode_without_bom_handling(bytes).0 } else { text }
        }
    }
}

/// The encoding that is named behind `charset=`.
fn charset(text: &[u8]) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let at = memchr::memmem::find(&lower, b"charset")? + "charset".len();
    let rest = lower[at..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end =
        rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte)).unwrap_or(rest.len());
    Encoding::for_label(&rest[..end])
}

/// As much as is shown, cut between characters; and whether it was cut.
pub(super) fn cut(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(most)], true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_type_and_where_there_is_none_by_content() {
        for (given, form) in [
            ("text/html; charset=utf-8", BodyForm::Html),
            ("TEXT/HTML", BodyForm::Html),
            ("application/xhtml+xml", BodyForm::Html),
            ("text/markdown", BodyForm::Text),
            ("application/json", BodyForm::Text),
            ("application/vnd.api+json", BodyForm::Text),
            ("image/svg+xml", BodyForm::Text),
            ("image/png", BodyForm::Other),
            ("application/octet-stream", BodyForm::Other),
            ("nonsense", BodyForm::Other),
        ] {
            assert_eq!(BodyForm::from_content_type(Some(given)), form, "{given}");
        }
        assert_eq!(BodyForm::from_content_type(None).or_by_content(b" <!DOCTYPE html><p>"), BodyForm::Html);
        assert_eq!(BodyForm::from_content_type(None).or_by_content(b"plain"), BodyForm::Text);
        assert_eq!(BodyForm::from_content_type(None).or_by_content(b"a\0b"), BodyForm::Other);
    }

    #[test]
    fn the_encoding_is_taken_from_the_server_then_from_the_page_then_guessed() {
        let html = |given: &str, bytes: &[u8]| read(BodyForm::Html, Some(given), bytes).1;
        assert_eq!(html("text/html; charset=ISO-8859-1", b"caf\xe9 \x80"), "café €");
        assert_eq!(html("text/html; charset=\"utf-8\"", "café".as_bytes()), "café");
        assert_eq!(html("text/html", b"<meta charset='windows-1252'>caf\xe9"), "café");
        assert_eq!(html("text/html", b"<meta content=\"text/html; charset=shift_jis\">\x83\x65"), "テ");
        assert_eq!(html("text/html", "café".as_bytes()), "café");
        assert_eq!(html("text/html", b"caf\xe9 au lait"), "café au lait");
        assert_eq!(html("text/html; charset=nosuch", b"caf\xc3\xa9 \xc3"), "café \u{fffd}");
        assert_eq!(html("text/html", b"\xef\xbb\xbfcaf\xc3\xa9"), "café");
    }
}

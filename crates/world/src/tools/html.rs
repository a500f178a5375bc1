//! Extracts readable text from HTML, formatted like Markdown.
//!
//! This is not a browser's parser, which builds a tree: it is one pass over the bytes with a bounded state, so the
//! cost of a hostile page is linear in its length.

mod writer;

use writer::Writer;

use super::entities;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Reads a page.
pub(super) fn read(html: &str) -> HtmlPage {
    let mut writer = Writer::default();
    let mut title = None;
    // The element whose content is passed over, and how often it is nested in itself.
    let mut skipping: Option<(String, usize)> = None;
    let mut at = 0;
    while let Some(piece) = next(html, &mut at) {
        match piece {
            HtmlPiece::Text(text) if skipping.is_none() => writer.text(text),
            HtmlPiece::Text(_) => {}
            HtmlPiece::Open(tag) => {
                let name = tag.name.as_str();
                if let Some((skipped, depth)) = &mut skipping {
                    *depth += usize::from(skipped == name && !tag.is_closed);
                } else if matches!(name, "noscript" | "svg" | "template") {
                    // A self-closed element has no end tag.
                    skipping = (!tag.is_closed).then(|| (tag.name.clone(), 1));
                } else {
                    writer.open(&tag);
                }
                if matches!(name, "script" | "style" | "iframe" | "noembed" | "noframes" | "title") {
                    let content = raw(html, &mut at, name);
                    if name == "title" && skipping.is_none() && title.is_none() {
                        title = Some(plain(content)).filter(|title| !title.is_empty());
                    }
                }
            }
            HtmlPiece::Close(name) => match &mut skipping {
                None => writer.close(&name),
                Some((skipped, depth)) if *skipped == name => {
                    *depth -= 1;
                    if *depth == 0 {
                        skipping = None;
                    }
                }
                Some(_) => {}
            },
        }
    }
    HtmlPage { title, text: writer.finish() }
}

/// Text with its entities decoded, on one line.
fn plain(text: &str) -> String {
    let mut writer = Writer::default();
    writer.text(text);
    writer.finish()
}

enum HtmlPiece<'a> {
    Text(&'a str),
    Open(HtmlTag<'a>),
    Close(String),
}

struct HtmlTag<'a> {
    name: String,
    /// The address of a link, the words for a picture.
    value: Option<&'a str>,
    is_closed: bool,
}

/// The next piece from a place on; none at the end. An element without an end extends to the end of the page, as in
/// browsers: retrying after its start would take quadratic time.
fn next<'a>(html: &'a str, at: &mut usize) -> Option<HtmlPiece<'a>> {
    let bytes = html.as_bytes();
    while *at < bytes.len() {
        let start = *at;
        if bytes[start] != b'<' {
            *at = memchr::memchr(b'<', &bytes[start..]).map_or(bytes.len(), |found| start + found);
            return Some(HtmlPiece::Text(&html[start..*at]));
        }
        match bytes.get(start + 1) {
            Some(letter) if letter.is_ascii_alphabetic() => return tag(html, at, start + 1).map(HtmlPiece::Open),
            Some(b'/') if bytes.get(start + 2).is_some_and(u8::is_ascii_alphabetic) => {
                return tag(html, at, start + 2).map(|tag| HtmlPiece::Close(tag.name));
            }
            Some(b'!') if html[start..].starts_with("<!--") => {
                let rest = &html[start + 2..];
                // `<!-->` is a whole comment.
                let end = if rest.starts_with("-->") { Some(0) } else { rest[2..].find("-->").map(|end| end + 2) };
                *at = end.map_or(bytes.len(), |end| start + 2 + end + 3);
            }
            Some(b'!' | b'?' | b'/') => {
                *at = memchr::memchr(b'>', &bytes[start..]).map_or(bytes.len(), |end| start + end + 1);
            }
            _ => {
                *at = start + 1;
                return Some(HtmlPiece::Text("<"));
            }
        }
    }
    None
}

/// A tag whose name begins at `from`.
fn tag<'a>(html: &'a str, at: &mut usize, from: usize) -> Option<HtmlTag<'a>> {
    let bytes = html.as_bytes();
    let run = |from: usize, goes_on: &dyn Fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|byte| goes_on(**byte)).count()
    };
    let mut end = run(from, &|byte| !byte.is_ascii_whitespace() && byte != b'/' && byte != b'>');
    let name = html[from..end].to_ascii_lowercase();
    let wanted = if name == "img" { "alt" } else { "href" };
    let (mut value, mut is_closed) = (None, false);
    loop {
        end = run(end, &|byte| byte.is_ascii_whitespace());
        match bytes.get(end) {
            None => {
                *at = bytes.len();
                return None;
            }
            Some(b'>') => {
                *at = end + 1;
                return Some(HtmlTag { name, value, is_closed });
            }
            Some(b'/') => {
                is_closed = true;
                end += 1;
                continue;
            }
            Some(_) => is_closed = false,
        }
        let key_start = end;
        // A name may begin with `=`, and nothing else may stand still.
        end = run(end + 1, &|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
        let Some(key) = html.get(key_start..end) else { continue };
        let after = run(end, &|byte| byte.is_ascii_whitespace());
        if bytes.get(after) != Some(&b'=') {
            continue;
        }
        let start = run(after + 1, &|byte| byte.is_ascii_whitespace());
        let found = match bytes.get(start) {
            Some(quote @ (b'"' | b'\'')) => {
                let close = memchr::memchr(*quote, &bytes[start + 1..]).map(|close| start + 1 + close);
                end = close.map_or(bytes.len(), |close| close + 1);
                &html[start + 1..close.unwrap_or(bytes.len())]
            }
            _ => {
                end = run(start, &|byte| !byte.is_ascii_whitespace() && byte != b'>');
                &html[start..end]
            }
        };
        if value.is_none() && key.eq_ignore_ascii_case(wanted) {
            value = Some(found);
        }
    }
}

/// The text before the end tag of a raw element, which is then consumed.
fn raw<'a>(html: &'a str, at: &mut usize, name: &str) -> &'a str {
    let bytes = html.as_bytes();
    let start = *at;
    let mut from = start;
    while let Some(found) = memchr::memmem::find(&bytes[from..], b"</") {
        let end = from + found;
        let is_it = bytes.get(end + 2..end + 2 + name.len()).is_some_and(|is| is.eq_ignore_ascii_case(name.as_bytes()));
        if is_it && !bytes.get(end + 2 + name.len()).is_some_and(u8::is_ascii_alphanumeric) {
            *at = memchr::memchr(b'>', &bytes[end..]).map_or(bytes.len(), |close| end + close + 1);
            return &html[start..end];
        }
        from = end + 2;
    }
    *at = bytes.len();
    &html[start..]
}

#[cfg(test)]
mod tests;

//! Pages of the web.

use serde::Deserialize;
use trimtab_vocab::event::{Stage, StageFact};

use super::{Errand, Tool, arguments};

pub(super) const FETCH: Tool = Tool {
    name: "fetch_url",
    about: "Get a web page or a text file as text. The user is asked once per host.",
    schema: r#"{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}"#,
    // A page is asked for by name, and whoever serves it learns of that: it is more than a look.
    looks: false,
    read: |input| {
        #[derive(Deserialize)]
        struct Arguments {
            url: String,
        }
        let Arguments { url } = arguments(input)?;
        let host = host_of(&url).ok_or("only http:// and https:// addresses can be fetched.")?;
        Ok(Errand::Fetch { url, host })
    },
};

/// Whose page an address is, with its port if it names one. What is not plainly told is not told: an
/// address with a name and a password, or with odd characters before its path, has no host here.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    (!host.is_empty() && host.chars().all(plain)).then(|| host.to_ascii_lowercase())
}

/// What a person reads while a page is fetched.
pub(crate) fn interrogating(stage: Stage, host: &str) -> StageFact {
    StageFact { stage, label: format!("Interrogating {host}...") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_only_where_it_is_plain() {
        for (url, host) in [
            ("https://Example.org/a?b#c", Some("example.org")),
            ("http://127.0.0.1:8000", Some("127.0.0.1:8000")),
            ("https://example.org?x", Some("example.org")),
            ("ftp://example.org", None),
            ("https://user:pw@example.org/", None),
            ("https://good.org\\@evil.org/", None),
            ("https:///x", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }
}

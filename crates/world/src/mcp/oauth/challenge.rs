//! What a server says when it refuses a request without a token, or with one that does not suffice.

use reqwest::Response;
use reqwest::header::WWW_AUTHENTICATE;

/// Bytes of a header that are read.
const LONGEST_HEADER: usize = 8 * 1024;

/// The parts of a `WWW-Authenticate: Bearer` header that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::mcp) struct AuthChallenge {
    /// Where the server describes its login.
    pub(in crate::mcp) metadata: Option<String>,
    pub(in crate::mcp) scopes: Vec<String>,
    pub(in crate::mcp) error: Option<String>,
}

impl AuthChallenge {
    pub(in crate::mcp) fn of(response: &Response) -> Self {
        let headers = response.headers().get_all(WWW_AUTHENTICATE).into_iter();
        let texts = headers.filter_map(|value| value.to_str().ok()).filter(|text| text.len() <= LONGEST_HEADER);
        Self::read(&texts.collect::<Vec<_>>().join(", "))
    }

    /// Whether the token is good, and does not suffice.
    pub(in crate::mcp) fn wants_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn read(text: &str) -> Self {
        let mut challenge = Self::default();
        let mut is_bearer = false;
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', ',', '\t']);
            let end = rest.find(['=', ' ', ',']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() && after.is_empty() {
                return challenge;
            }
            let Some(value) = after.strip_prefix('=') else {
                // A word without a value names the scheme of what follows.
                is_bearer = name.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, behind) = read_value(value);
            rest = behind;
            if is_bearer {
                match name.to_ascii_lowercase().as_str() {
                    "resource_metadata" => challenge.metadata = Some(value),
                    "scope" => challenge.scopes = super::scopes_in(&value),
                    "error" => challenge.error = Some(value),
                    _ => {}
                }
            }
        }
    }
}

/// A value in quotes or without, and what stands behind it.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_in_every_form() {
        let read = AuthChallenge::read(
            r#"Basic realm="a, b", Bearer error="invalid_token", error_description="x \"y\", scope=z", resource_metadata="https://a/b", scope="r w""#,
        );
        assert_eq!(read.metadata.as_deref(), Some("https://a/b"));
        assert_eq!(read.scopes, ["r", "w"]);
        assert_eq!(read.error.as_deref(), Some("invalid_token"));
        let bare = AuthChallenge::read("bearer scope=files:read,error=insufficient_scope");
        assert!(bare.wants_scopes() && bare.scopes == ["files:read"], "{bare:?}");
        for text in [
            "",
            "Bearer",
            "Bearer ",
            "Basic scope=\"a\"",
            "Bearer scope=\"",
            "=",
            "==,=",
            "Bearer =\"",
            "Bearer x=\"\\",
        ] {
            assert_eq!(AuthChallenge::read(text), AuthChallenge::default(), "{text}");
        }
    }
}

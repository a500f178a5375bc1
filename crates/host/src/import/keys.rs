//! What keys look like in the files of other programs, and texts without them.

use std::borrow::Cow;

/// How names of what holds a secret end.
const KEY_NAMES: [&str; 12] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pat",
    "auth",
    "authorization",
    "cookie",
];
/// How keys of well-known services begin.
const KEY_BEGINNINGS: [&str; 30] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
    "lin_api_",
    "shpat_",
    "SG.",
    "whsec_",
    "ntn_",
    "secret_",
];

pub(super) fn is_reference(value: &str) -> bool {
    value.starts_with('$')
}

/// Whether a flag or a header is for a secret: `--api-key`, `X-Api-Key:`, `Bearer`.
pub(super) fn is_key_name(word: &str) -> bool {
    let is_named = word.starts_with('-') || word.ends_with(':') || word.eq_ignore_ascii_case("bearer");
    is_named && (word.eq_ignore_ascii_case("bearer") || ends_like_key(word.trim_end_matches(':')))
}

fn ends_like_key(name: &str) -> bool {
    let name = name.trim_matches(['"', '\'']).to_ascii_lowercase();
    KEY_NAMES
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric())))
        || ["apikey", "accesskey", "secretkey", "authtoken", "accesstoken"].iter().any(|end| name.ends_with(end))
}

/// Whether one word has a secret in it: a pair of a name and a value, an address with a password, or what only a key looks
/// like.
pub(super) fn holds_key(word: &str) -> bool {
    let is_pair = |separator: char| {
        word.split(['?', '&', '#']).filter_map(|part| part.split_once(separator)).any(|(name, value)| {
            let is_value = !value.is_empty() && !is_reference(value) && !value.starts_with("//");
            is_value && ends_like_key(name)
        })
    };
    let has_password = |address: &str| {
        address
            .split_once("://")
            .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@'))
    };
    let is_edge = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.');
    let begins_like_key =
        |piece: &str| KEY_BEGINNINGS.iter().any(|start| piece.strip_prefix(start).is_some_and(|rest| rest.len() >= 8));
    is_pair('=')
        || is_pair(':')
        || has_password(word)
        || word.split(is_edge).any(|piece| begins_like_key(piece) || is_random(piece))
}

/// Whether a piece of a word seems to be made by chance: a long run of letters and digits, or a UUID.
fn is_random(piece: &str) -> bool {
    const SHORTEST: usize = 20;
    let count = |run: &str, is_it: fn(&char) -> bool| run.chars().filter(is_it).count();
    let is_mixed = |run: &str| {
        run.len() >= SHORTEST && count(run, char::is_ascii_digit) >= 3 && count(run, char::is_ascii_alphabetic) >= 3
    };
    let parts: Vec<&str> = piece.split('-').collect();
    let is_uuid = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()));
    is_uuid || piece.split(['-', '_', '.']).any(is_mixed)
}

/// What stands in the place of a key.
const MASK: &str = "[masked]";

/// A text without what seems to be a key. Long random words stay, because most of them are hashes of commits and IDs.
pub(super) fn masked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_block = false;
    for line in text.split_inclusive('\n') {
        let begins = line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        if in_block || begins {
            if begins {
                plain.push_str(MASK);
                plain.push('\n');
            }
            in_block = !line.contains("-----END");
            continue;
        }
        let (mut follows_name, mut last) = (false, "");
        for word in line.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            match follows_name && is_value(bare) {
                true => plain.push_str(MASK),
                false => plain.push_str(&masked_word(bare)),
            }
            plain.push_str(&word[bare.len()..]);
            if !bare.is_empty() {
                let is_scheme = ["basic", "bearer", "token"].iter().any(|scheme| bare.eq_ignore_ascii_case(scheme));
                let is_assigned = matches!(bare, "=" | ":=") && ends_like_key(last);
                follows_name = is_key_name(bare) || is_assigned || (follows_name && is_scheme);
                last = bare;
            }
        }
    }
    plain
}

/// Whether a word after the name of a key is its value, and not a type or a word of a sentence.
fn is_value(word: &str) -> bool {
    const SHORTEST: usize = 12;
    let inner = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | ',' | ';'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '.' | '=');
    let is_quoted = word.starts_with(['"', '\'', '`']);
    let is_long = inner.len() >= SHORTEST && inner.chars().all(is_plain);
    !inner.is_empty() && !is_reference(inner) && (is_quoted || is_long || inner.contains(|c: char| c.is_ascii_digit()))
}

fn masked_word(word: &str) -> Cow<'_, str> {
    // Most words have nothing of a key.
    if !word.contains(['=', ':']) && !KEY_BEGINNINGS.iter().any(|start| word.contains(start)) {
        return Cow::Borrowed(word);
    }
    let mut plain = without_password(word);
    for separator in ['=', ':'] {
        plain = without_values(&plain, separator);
    }
    let is_edge = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.');
    let is_key = |piece: &str| {
        let rests = KEY_BEGINNINGS.iter().filter_map(|start| piece.strip_prefix(start));
        rests.into_iter().any(|rest| rest.len() >= 8 && rest.contains(|c: char| c.is_ascii_digit()))
    };
    let pieces = plain.split_inclusive(is_edge).map(|piece| {
        let bare = piece.trim_end_matches(is_edge);
        if is_key(bare) { format!("{MASK}{}", &piece[bare.len()..]) } else { piece.to_owned() }
    });
    Cow::Owned(pieces.collect())
}

/// An address without its password.
fn without_password(word: &str) -> String {
    let address = word.split_once("://").and_then(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let at = host.rfind('@').filter(|_| host.contains(':'))?;
        Some(format!("{scheme}://{MASK}{}", &rest[at..]))
    });
    address.unwrap_or_else(|| word.to_owned())
}

/// A word without the values of keys: `API_KEY=…`, `?token=…`, `"password":"…"`.
fn without_values(word: &str, separator: char) -> String {
    let is_masked = |name: &str, value: &str| {
        let is_pair = match separator {
            '=' => !value.is_empty() && !value.starts_with('=') && !is_reference(value),
            _ => is_value(value),
        };
        is_pair && value != MASK && ends_like_key(name)
    };
    let parts = word.split_inclusive(['?', '&', '#']).map(|part| {
        let (bare, end) = match part.ends_with(['?', '&', '#']) {
            true => part.split_at(part.len() - 1),
            false => (part, ""),
        };
        match bare.split_once(separator) {
            Some((name, value)) if is_masked(name, value) => format!("{name}{separator}{MASK}{end}"),
            _ => part.to_owned(),
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_text_are_masked() {
        let text = "export API_KEY=abc and curl -H 'Authorization: Bearer hush123' \
                    https://x.org/?token=hush&page=2 https://me:hush@x.org/a\n\
                    {\"password\": \"hush\", \"apiKey\":\"hush\", \"id\": 7}\n\
                    use sk-ant-hush0123456789 (ghp_hush12345678).\nDB_PASSWORD = \"hush\"\n\
                    -----BEGIN OPENSSH PRIVATE KEY-----\nhush\nhush\n-----END OPENSSH PRIVATE KEY-----\nend\n";
        let plain = masked(text);
        assert!(!plain.contains("hush") && !plain.contains("=abc"), "{plain}");
        for kept in ["export API_KEY=[masked]", "&page=2", "\"id\": 7", "([masked]).", "@x.org/a", "[masked]\nend\n"] {
            assert!(plain.contains(kept), "{kept}: {plain}");
        }
    }

    #[test]
    fn what_only_looks_like_a_key_stays() {
        for text in [
            "Fix the token: it is parsed twice.\n",
            "fn log_in(token: &str, auth: Option<Auth>) -> Result<Key>",
            "commit 3f1c2ab9d8e7f60514233241506978a0b1c2d3e4 in std::auth::token",
            "let secret_manager_client = pk_index_builder;\n\tcargo test -p auth --  key",
            "npm run auth:login && test \"$TOKEN\" = x; TOKEN=$TOKEN if key==value",
            "mailto:ada@example.org https://example.org/@ada",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}

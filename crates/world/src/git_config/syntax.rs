//! The syntax of git's settings files, as lenient as git itself.

/// A setting: its key with section and subsection, in lowercase but for the subsection, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitSetting {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

/// Whether it names a further settings file.
pub(super) fn is_include(key: &str) -> bool {
    key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"))
}

/// The settings of a file, and whether it could be read to its end.
pub(super) fn parse(text: &[u8]) -> (Vec<GitSetting>, bool) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut parser = Parser { text, at: 0 };
    let mut settings = Vec::new();
    let whole = !text.contains(&0) && parser.settings(&mut settings).is_some();
    (settings, whole)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    /// The next byte, where the end of a line is one; the last line needs none.
    fn next(&mut self) -> u8 {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (byte, length) = match rest {
            [b'\r', b'\n', ..] => (b'\n', 2),
            [byte, ..] => (*byte, 1),
            [] => (b'\n', 1),
        };
        self.at += length;
        byte
    }

    fn is_over(&self) -> bool {
        self.at >= self.text.len()
    }

    fn settings(&mut self, settings: &mut Vec<GitSetting>) -> Option<()> {
        let mut section = Vec::new();
        while !self.is_over() {
            match self.next() {
                byte if is_space(byte) => {}
                b'#' | b';' => while self.next() != b'\n' {},
                b'[' => section = self.section()?,
                byte if byte.is_ascii_alphabetic() && !section.is_empty() => {
                    let (key, value) = self.setting(byte)?;
                    let key = [&section[..], b".", &key[..]].concat();
                    settings.push(GitSetting { key: String::from_utf8_lossy(&key).into_owned(), value });
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                b']' => return Some(name),
                b'\n' => return None,
                byte if is_space(byte) => break,
                byte if is_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'"' => break,
                byte if is_space(byte) && byte != b'\n' => {}
                _ => return None,
            }
        }
        loop {
            match self.next() {
                b'"' => return (self.next() == b']').then_some(name),
                b'\n' => return None,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
    }

    fn setting(&mut self, first: u8) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut key = vec![first.to_ascii_lowercase()];
        let mut byte = self.next();
        while is_key(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Some((key, Vec::new())),
            b'=' => Some((key, self.value()?)),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut is_comment) = (Vec::new(), false, false);
        // Trailing spaces are not part of the value.
        let mut kept = 0;
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => {
                    value.truncate(kept);
                    return Some(value);
                }
                _ if is_comment => continue,
                byte if is_space(byte) && !is_quoted => {
                    if kept > 0 {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    is_comment = true;
                    continue;
                }
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
            kept = value.len();
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What git itself says of a text.
    fn by_git(text: &str) -> Option<Vec<(String, Vec<u8>)>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let told =
            std::process::Command::new("git").args(["config", "--list", "-z", "-f"]).arg(&file).output().unwrap();
        let one = |line: &[u8]| {
            let at = line.iter().position(|byte| *byte == b'\n');
            let (key, value) = at.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
            (String::from_utf8_lossy(key).into_owned(), value.to_owned())
        };
        let lines = told.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(one).collect();
        told.status.success().then_some(lines)
    }

    #[test]
    fn git_config_is_read_as_git_reads_it() {
        for text in [
            "[core]\n\thooksPath = tools/hk ; c\n[core] HOOKSPATH=x # y\n",
            "\u{feff}[a \"B\\\"c\\x\"]\r\nk = to\\\r\nols\r\nflag\r\n  other  \r\n",
            "[a.B]\nk = \"to\"ols\"/x y\" ;z\nl =  a b  \nm = \" a \" \nn=\"#\"\\\\ \\t\\b\\n\n",
            "; c\n# d\n[include]path=../x # c\n[includeIf \"gitdir:~/\"]\n\tpath = y",
            "[a]\nb = \"x\n",
            "[a]\nb = \\q\n",
            "[a\n]b=1",
            "[a]b c=1",
            "[a \"b\"c]\nd=1\n",
            "[a]\n1=2\n",
            "[a]\nb = c\\\n",
            "[a]\nb = x\\\n\\\n  y \\\n; z\n",
            "[a]\nb = \" x\\\ny\"\n",
            "[a]\r\nb = x\ry\r\n",
            "[a]\nb = c\\",
            "[a]\nb=\n[c]\nd",
        ] {
            let (settings, whole) = parse(text.as_bytes());
            let ours = whole.then(|| settings.into_iter().map(|one| (one.key, one.value)).collect::<Vec<_>>());
            assert_eq!(ours, by_git(text), "{text:?}");
        }
    }
}

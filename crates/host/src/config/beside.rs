//! Small files of the user beside the settings file, such as `keymap.toml` and `theme.toml`: names with texts.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

use trimtab_vocab::{Problem, ProblemKind};

use super::Profile;

/// Bytes of such a file at most.
const MOST_BYTES: u64 = 64 * 1024;

/// The entries of a file beside the settings file; none if there is no such file. A list of texts is one text with
/// commas.
pub fn texts_beside(profile: &Profile, name: &str) -> Result<BTreeMap<String, String>, Problem> {
    let file = profile.file.with_file_name(name);
    let wrong = |message: String| {
        Problem::new(ProblemKind::Settings, message).hint(format!("Fix or delete {}.", file.display()))
    };
    // Who opens a pipe waits for its other end.
    if std::fs::metadata(&file).is_ok_and(|known| !known.is_file()) {
        return Err(wrong(format!("Cannot read {name}: it is not a regular file.")));
    }
    let opened = match std::fs::File::open(&file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(wrong(format!("Cannot read {name}: {error}."))),
    };
    let mut text = String::new();
    if let Err(error) = opened.take(MOST_BYTES + 1).read_to_string(&mut text) {
        return Err(wrong(format!("Cannot read {name}: {error}.")));
    }
    if text.len() as u64 > MOST_BYTES {
        return Err(wrong(format!("{name} is larger than {} KB.", MOST_BYTES / 1024)));
    }
    parsed(&text).map_err(|why| wrong(format!("{name}: {why}")))
}

fn parsed(text: &str) -> Result<BTreeMap<String, String>, String> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| format!("{}.", error.message().trim_end_matches('.')))?;
    let mut entries = BTreeMap::new();
    for (name, value) in table {
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Array(texts) => {
                let texts: Option<Vec<&str>> = texts.iter().map(toml::Value::as_str).collect();
                texts.ok_or_else(|| format!("{name} must be a text or a list of texts."))?.join(", ")
            }
            _ => return Err(format!("{name} must be a text or a list of texts.")),
        };
        entries.insert(name, text);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_texts_or_lists_of_texts_and_no_name_stands_twice() {
        let entries = parsed("history = \"ctrl-t\"\nsteps = [\"f2\", \"f3\"]\n").expect("entries");
        assert_eq!(entries["history"], "ctrl-t");
        assert_eq!(entries["steps"], "f2, f3");
        assert!(parsed("history = 3").expect_err("no text").contains("history must be a text"));
        assert!(parsed("a = \"x\"\na = \"y\"").expect_err("twice").contains("duplicate"));
    }
}

//! Keys in a file that only the user can read: `keys.toml` beside the settings file.
//!
//! ```toml
//! anthropic = "…"
//! openai = "…"
//! ```

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use trimtab_vocab::{Problem, ProblemKind};

/// The keys by provider; none if there is no such file. A file that others can read is refused: what
/// it holds must be taken for known.
pub(super) fn read(file: &Path) -> Result<BTreeMap<String, String>, Problem> {
    let wrong = |message: String| Problem::new(ProblemKind::Settings, message);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(error) => {
            return Err(wrong(format!("Cannot read the keys in {}: {error}.", file.display()))
                .hint("Check the owner and the permissions of the file."));
        }
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file).map(|meta| meta.permissions().mode()).unwrap_or(0o777);
        if mode & 0o077 != 0 {
            return Err(wrong(format!("Other users can read the keys in {}.", file.display())).hint(format!(
                "Run `chmod 600 {}`. If another user may have read the keys, create new ones.",
                file.display()
            )));
        }
    }
    // The parser's own message may quote a line, and a line may be a key.
    toml::from_str(&text).map_err(|_| {
        wrong(format!("The keys in {} cannot be read.", file.display()))
            .hint("Each line names a provider and its key: anthropic = \"…\"")
    })
}

/// Keeps a provider's key in the file, beside those that are there. The file is there whole before and after,
/// and only the user can read it, from its first byte on.
#[expect(clippy::disallowed_methods, reason = "the keys belong to the settings, and a person asks for this")]
pub(super) fn write(file: &Path, provider: &str, key: &str) -> Result<(), Problem> {
    let mut keys = read(file)?;
    keys.insert(provider.to_owned(), key.to_owned());
    let table: toml::Table = keys.into_iter().map(|(name, key)| (name, toml::Value::String(key))).collect();
    let draft = file.with_file_name(format!(".keys.toml.{}", std::process::id()));
    let written = (|| {
        use std::io::Write;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(&draft)?;
        out.write_all(table.to_string().as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&draft, file)
    })();
    written.map_err(|error: std::io::Error| {
        let _ = std::fs::remove_file(&draft);
        Problem::new(ProblemKind::Settings, format!("Cannot save the key in {}: {error}.", file.display()))
            .hint("Check the permissions of the folder, or set the key in the environment instead.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_private_file_is_read_and_its_text_never_shows() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.toml");
        assert_eq!(read(&file), Ok(BTreeMap::new()));
        std::fs::write(&file, "anthropic = \"sk-1\"\n").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
        let refused = read(&file).expect_err("refused");
        assert!(refused.message.starts_with("Other users can read"), "{}", refused.message);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
        assert_eq!(read(&file).expect("reads").get("anthropic").map(String::as_str), Some("sk-1"));
        std::fs::write(&file, "anthropic = sk-secret\n").expect("written");
        let broken = read(&file).expect_err("refused");
        assert!(!format!("{broken:?}").contains("sk-secret"));
    }

    #[test]
    fn a_key_is_kept_beside_the_others_in_a_private_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new/keys.toml");
        write(&file, "openai", "sk-\"1\"").expect("kept");
        write(&file, "xai", "x-2").expect("kept");
        write(&file, "openai", "sk-3").expect("kept");
        let keys = read(&file).expect("reads");
        let pairs: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (name.as_str(), key.as_str())).collect();
        assert_eq!(pairs, [("openai", "sk-3"), ("xai", "x-2")]);
        assert_eq!(std::fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path().join("new")).expect("there").count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.toml");
        std::fs::write(&file, "broken").expect("written");
        #[cfg(unix)]
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
        assert!(write(&file, "openai", "sk-1").is_err());
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "broken");
    }
}

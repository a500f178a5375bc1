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
            return Err(wrong(format!("The keys in {} cannot be read: {error}.", file.display()))
                .hint("Check who owns the file."));
        }
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file).map(|meta| meta.permissions().mode()).unwrap_or(0o777);
        if mode & 0o077 != 0 {
            return Err(wrong(format!("Others can read the keys in {}.", file.display()))
                .hint(format!("Run `chmod 600 {}`; if others may have read them, make new ones.", file.display())));
        }
    }
    // The parser's own message may quote a line, and a line may be a key.
    toml::from_str(&text).map_err(|_| {
        wrong(format!("The keys in {} cannot be read.", file.display()))
            .hint("Each line names a provider and its key: anthropic = \"…\"")
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
        assert!(refused.message.starts_with("Others can read"), "{}", refused.message);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
        assert_eq!(read(&file).expect("reads").get("anthropic").map(String::as_str), Some("sk-1"));
        std::fs::write(&file, "anthropic = sk-secret\n").expect("written");
        let broken = read(&file).expect_err("refused");
        assert!(!format!("{broken:?}").contains("sk-secret"));
    }
}

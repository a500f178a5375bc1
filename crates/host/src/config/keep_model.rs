//! Writes the chosen model into the user's settings file, and leaves everything else in it unchanged, including
//! comments.

use std::path::Path;

use toml::{Table, Value};
use trimtab_vocab::{Problem, ProblemKind};

use super::resolve::Profile;

/// Where a provider is, if that is not the usual place.
#[derive(Debug, Clone, Copy)]
pub struct ProviderAddress<'a> {
    pub provider: &'a str,
    pub base_url: &'a str,
    /// Its protocol, if it is not the provider's default.
    pub kind: Option<&'a str>,
}

/// Keeps a model, and the address of its provider where that is not the usual one.
pub fn keep_model(profile: &Profile, model: &str, address: Option<ProviderAddress<'_>>) -> Result<(), Problem> {
    let file = &profile.file;
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(file, &error)),
    };
    let kept = with_model(&text, model, address).ok_or_else(|| {
        let provider = address.map(|ProviderAddress { provider, base_url, kind }| {
            let kind = kind.map(|kind| format!("kind = \"{kind}\" and ")).unwrap_or_default();
            format!(", and {kind}base_url = \"{base_url}\" under [providers.{provider}]")
        });
        Problem::new(ProblemKind::Settings, format!("Cannot save the model to {}.", file.display()))
            .hint(format!("Set model = \"{model}\"{} there.", provider.unwrap_or_default()))
    })?;
    write(file, &kept).map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Problem {
    Problem::new(ProblemKind::Settings, format!("Cannot save the model to {}: {error}.", file.display()))
        .hint("Check the owner and the permissions of the file and its folder.")
}

/// A settings file with the model in it; none where it is written in a way that lines alone cannot change.
fn with_model(text: &str, model: &str, address: Option<ProviderAddress<'_>>) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    set(&mut lines, None, "model", model);
    if let Some(ProviderAddress { provider, base_url, kind }) = address {
        let section = format!("[providers.{provider}]");
        if !lines.iter().any(|line| line.trim() == section) {
            if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                lines.push(String::new());
            }
            lines.push(section.clone());
        }
        set(&mut lines, Some(&section), "base_url", base_url);
        if let Some(kind) = kind {
            set(&mut lines, Some(&section), "kind", kind);
        }
    }
    let kept = lines.join("\n") + "\n";
    // Verify that the file now has exactly this value, and that nothing else has changed.
    let (mut expected, found) = (text.parse::<Table>().ok()?, kept.parse::<Table>().ok()?);
    expected.insert("model".to_owned(), Value::String(model.to_owned()));
    if let Some(ProviderAddress { provider, base_url, kind }) = address {
        let providers = expected.entry("providers").or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
        let provider = providers.entry(provider).or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
        provider.insert("base_url".to_owned(), Value::String(base_url.to_owned()));
        if let Some(kind) = kind {
            provider.insert("kind".to_owned(), Value::String(kind.to_owned()));
        }
    }
    (expected == found).then_some(kept)
}

/// Sets a key of a section, or of the beginning of the file.
fn set(lines: &mut Vec<String>, section: Option<&str>, key: &str, value: &str) {
    let start = section
        .map_or(0, |section| lines.iter().position(|line| line.trim() == section).map_or(lines.len(), |at| at + 1));
    let end =
        lines[start..].iter().position(|line| line.trim_start().starts_with('[')).map_or(lines.len(), |at| start + at);
    let is_key = |line: &String| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let line = format!("{key} = {}", Value::String(value.to_owned()));
    match lines[start..end].iter().position(is_key) {
        Some(at) => lines[start + at] = line,
        None => lines.insert(start, line),
    }
}

/// The file is there whole before and after. A link stays one.
#[expect(clippy::disallowed_methods, reason = "the settings are the person's, who asks for this")]
pub(crate) fn write(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let draft = file.with_file_name(format!(".config.toml.{}", std::process::id()));
    let written = (|| {
        let mut out = std::fs::OpenOptions::new().create_new(true).write(true).open(&draft)?;
        if let Ok(known) = std::fs::metadata(&file) {
            out.set_permissions(known.permissions())?;
        }
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&draft, &file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(provider: &'a str, base_url: &'a str) -> Option<ProviderAddress<'a>> {
        Some(ProviderAddress { provider, base_url, kind: None })
    }

    #[test]
    fn a_model_is_written_and_the_rest_of_the_file_stays() {
        let plain = with_model("", "llamacpp/qwen", None);
        assert_eq!(plain.as_deref(), Some("model = \"llamacpp/qwen\"\n"));
        let text = "# mine\nmodel = \"old/one\" # was\n\n[limits]\nsteps = 3\n";
        let address = at("llamacpp", "http://127.0.0.1:9931/v1");
        assert_eq!(
            with_model(text, "llamacpp/qwen", address).as_deref(),
            Some(
                "# mine\nmodel = \"llamacpp/qwen\"\n\n[limits]\nsteps = 3\n\n[providers.llamacpp]\nbase_url = \"http://127.0.0.1:9931/v1\"\n"
            )
        );
        let text = "[limits]\nsteps = 3\n[providers.local] # here\n[providers.llamacpp]\nbase_url = \"x\"\nkind = \"openai\"\n";
        assert_eq!(
            with_model(text, "llamacpp/qwen", address).as_deref(),
            Some(
                "model = \"llamacpp/qwen\"\n[limits]\nsteps = 3\n[providers.local] # here\n[providers.llamacpp]\nbase_url = \"http://127.0.0.1:9931/v1\"\nkind = \"openai\"\n"
            )
        );
    }

    #[test]
    fn what_lines_cannot_say_is_left_alone() {
        let address = at("local", "http://127.0.0.1:5000/v1");
        assert_eq!(with_model("[providers]\nlocal = { kind = \"openai\" }\n", "local/a", address), None);
        assert_eq!(with_model("broken", "local/a", None), None);
        assert_eq!(with_model("text = \"\"\"\nmodel = 1\n\"\"\"\n", "local/a", None), None);
    }

    #[test]
    fn what_cannot_be_saved_is_told_with_the_lines_to_add() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[providers]\nlocal = { base_url = \"http://127.0.0.1:1/v1\" }\n").expect("written");
        let variables = [("TRIMTAB_HOME".to_owned(), home.path().display().to_string())].into();
        let profile = crate::config::load_from(&variables, &[]).expect("loads");
        let problem = keep_model(&profile, "local/a", at("local", "http://127.0.0.1:5000/v1")).expect_err("cannot");
        assert_eq!(problem.message, format!("Cannot save the model to {}.", file.display()));
        let lines =
            "Set model = \"local/a\", and base_url = \"http://127.0.0.1:5000/v1\" under [providers.local] there.";
        assert_eq!(problem.hint.as_deref(), Some(lines));
    }

    #[test]
    fn a_link_to_the_settings_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("config.toml"));
        std::fs::write(&real, "").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        write(&link, "model = \"a/b\"\n").expect("kept");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).expect("there"), "model = \"a/b\"\n");
    }
}

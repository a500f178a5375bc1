//! Names of files that mean more than others. This is the one table of them: commands, changes, looks and
//! searches all go by it. `docs/decisions/0015-paths.md` says what is done about each.

/// Whether a file or folder of this name usually holds keys or passwords: its contents should not end up in
/// a prompt unseen, nor be changed without a question.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let example = ["example", "sample", "template", "dist"].iter().any(|end| name.ends_with(end));
    ((name == ".env" || name.starts_with(".env.") || name.starts_with(".env-")) && !example)
        || matches!(
            name.as_str(),
            ".envrc"
                | ".netrc"
                | "_netrc"
                | ".npmrc"
                | ".yarnrc"
                | ".yarnrc.yml"
                | ".pypirc"
                | ".pgpass"
                | ".my.cnf"
                | ".git-credentials"
                | ".dockercfg"
                | ".ssh"
                | ".gnupg"
                | ".aws"
                | ".azure"
                | ".kube"
                | ".trimtab"
                | ".htpasswd"
                | ".vault-token"
                | "secrets.toml"
                | "secrets.json"
                | "secrets.yaml"
                | "secrets.yml"
                | "credentials.json"
                | "credentials.toml"
                | "credentials"
                | ".bash_history"
                | ".zsh_history"
        )
        || [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"].iter().any(|end| name.ends_with(end))
        || ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"]
            .iter()
            .any(|start| name.starts_with(start) && !name.ends_with(".pub"))
}

/// Whether other programs, also outside of the sandbox, run or obey a file or folder of this name. Names that mean
/// this only together with those above them need the whole path: [`control_file`](crate::control_file).
pub fn decides_what_runs(name: &str) -> bool {
    crate::control_file(name).is_some()
}

/// Files of a folder that are instructions by their names, in the order in which they are read.
pub const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Files of a folder that are read as instructions: the usual ones, then those that the settings name. A secret is
/// never sent because a setting says so.
pub fn instruction_files(named: &[String]) -> Vec<String> {
    let named = named.iter().filter(|path| !has_secret(path));
    INSTRUCTIONS.into_iter().map(str::to_owned).chain(named.cloned()).collect()
}

/// Whether any part of a path is the name of a secret.
pub fn has_secret(path: &str) -> bool {
    path.split(['/', '\\']).any(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_start_up_files_are_known_in_any_case_and_examples_are_none() {
        for name in [".env", ".ENV", ".env.local", "id_ed25519", "server.pem", ".npmrc", ".Netrc"] {
            assert!(is_secret(name), "{name}");
        }
        for name in [".env.example", "id_rsa.pub", "environment", "keys.rs", "README.md"] {
            assert!(!is_secret(name), "{name}");
        }
        for name in [".bashrc", ".BASHRC", ".zprofile", ".git", ".github", ".vscode"] {
            assert!(decides_what_runs(name), "{name}");
        }
        assert!(has_secret("a/.ssh/config") && !has_secret("src/main.rs"));
    }
}

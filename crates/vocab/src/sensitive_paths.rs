//! Names of files that mean more than others. This is the one table of them: commands, changes, looks and
//! searches all go by it. `docs/decisions/0015-paths.md` says what is done about each.

/// Names of files and folders that usually hold keys or passwords, in small letters and sorted.
pub const SECRET_NAMES: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".dockercfg",
    ".env",
    ".envrc",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".my.cnf",
    ".mylogin.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".terraformrc",
    ".trimtab",
    ".vault-token",
    ".vault_pass",
    ".yarnrc",
    ".yarnrc.yml",
    ".zsh_history",
    "_netrc",
    "credentials",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "htpasswd",
    "kubeconfig",
    "kubeconfig.json",
    "kubeconfig.yaml",
    "kubeconfig.yml",
    "local.settings.json",
    "secrets.ini",
    "secrets.json",
    "secrets.properties",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];

/// The same by patterns, in which `*` stands for any text.
pub const SECRET_PATTERNS: &[&str] = &[
    ".env.*",
    ".env-*",
    ".env_*",
    ".envrc.*",
    "*.env",
    // A `.pem` may hold a certificate, a key, or both; its name does not say which, so no name is an exception.
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdb",
    "*.kdbx",
    // Only the kinds of keys: `id_*` would be `id_map.rs` as well.
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*credentials*.json",
    "service-account*.json",
    "service_account*.json",
    "serviceaccount*.json",
    "client_secret*.json",
    "*firebase-adminsdk*.json",
    "*.kubeconfig",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*.tfvars.json",
];

/// Names that look like those and are none: examples, public keys, and expressions of programming languages.
pub const EXAMPLE_PATTERNS: &[&str] = &[
    ".env*example",
    ".env*sample",
    ".env*template",
    ".env*tmpl",
    ".env*dist",
    ".env*schema",
    "*example.env",
    "*sample.env",
    "*template.env",
    "*example.tfvars",
    "*sample.tfvars",
    "*example*.json",
    "*sample*.json",
    "*template*.json",
    "id_*.pub",
    "process.env",
    "deno.env",
    "bun.env",
    "*meta.env",
];

/// Names that are secrets in one folder only.
pub const SECRETS_IN: &[(&str, &str)] = &[(".docker", "config.json")];

/// Whether a file or folder of this name usually holds keys or passwords: its contents should not end up in
/// a prompt unseen, nor be changed without a question.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_any = |patterns: &[&str]| patterns.iter().any(|pattern| fits(pattern, &name));
    SECRET_NAMES.binary_search(&name.as_str()).is_ok() || is_any(SECRET_PATTERNS) && !is_any(EXAMPLE_PATTERNS)
}

/// The same, for a name in a folder of which the last part is known.
pub fn is_secret_in(folder: &str, name: &str) -> bool {
    let is = |(above, below): &(&str, &str)| above.eq_ignore_ascii_case(folder) && below.eq_ignore_ascii_case(name);
    is_secret(name) || SECRETS_IN.iter().any(is)
}

/// Whether a name fits a pattern. Both are in small letters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
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
    let mut above = "";
    path.split(['/', '\\']).any(|part| is_secret_in(std::mem::replace(&mut above, part), part))
}

/// The same for a file of a folder that is read. The folder's own settings may be: keys are not kept there.
pub fn holds_keys(path: &str) -> bool {
    let is_other = |part: &&str| !matches!(*part, "" | ".") && !part.eq_ignore_ascii_case(".trimtab");
    let others: Vec<&str> = path.split(['/', '\\']).filter(is_other).collect();
    has_secret(&others.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_keys_are_known_in_any_case_and_what_only_looks_like_one_is_none() {
        let secrets = ".env .ENV .env.local .env-prod .env_prod .envrc .envrc.local prod.env secrets.env Prod.Env .Netrc _netrc \
            .npmrc .pypirc .pgpass .my.cnf .htpasswd .vault-token .git-credentials .dockercfg kubeconfig prod.kubeconfig \
            id_rsa id_ed25519 id_ed25519_sk id_ecdsa.old server.pem ca.pem master.key deploy.KEY a.p12 a.pfx a.jks a.ppk \
            a.keystore vault.kdbx AuthKey.p8 service-account.json service-account-prod.json service_account.json \
            serviceAccountKey.json credentials credentials.json google-credentials-prod.json client_secret_1.json \
            app-firebase-adminsdk-x.json secrets.yml secrets.yaml secrets.json secrets.toml terraform.tfstate \
            terraform.tfstate.backup prod.tfvars prod.auto.tfvars.json .bash_history .ssh .aws .kube";
        for name in secrets.split_whitespace() {
            assert!(is_secret(name), "{name}");
        }
        let others = ".env.example .env.local.example .env-sample .env.template .env.dist .envrc.example example.env \
            prod.sample.env example.tfvars credentials.example.json id_rsa.pub id_ed25519.pub id_map.rs id_token.json \
            environment env.d.ts vite-env.d.ts keys.rs keyboard.ts README.md credentials.yml.enc credentials.rs secret.yaml \
            kubeconfig.go variables.tf process.env import.meta.env auth.json config.json package.json tokens.css";
        for name in others.split_whitespace() {
            assert!(!is_secret(name), "{name}");
        }
        for path in ["a/.ssh/config", ".docker/config.json", "home/.Docker/config.json", ".aws/credentials", "a/.env/b"]
        {
            assert!(has_secret(path), "{path}");
        }
        for path in ["src/main.rs", "config.json", "docker/config.json", ".docker/Dockerfile"] {
            assert!(!has_secret(path), "{path}");
        }
        assert!(has_secret(".trimtab/skills/a/SKILL.md") && !holds_keys(".trimtab/skills/a/SKILL.md"));
        assert!(holds_keys(".trimtab/.env") && holds_keys("./.docker/.//config.json") && holds_keys("a/.ssh/config"));
        assert!(SECRET_NAMES.is_sorted());
    }

    #[test]
    fn start_up_files_decide_what_runs() {
        for name in [".bashrc", ".BASHRC", ".zprofile", ".git", ".github", ".vscode"] {
            assert!(decides_what_runs(name), "{name}");
        }
    }
}

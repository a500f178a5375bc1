//! The environment variables that a command sees: an allowlist of names that tools are known to need. All others,
//! including a key under any name, are hidden from a sandboxed command.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use trimtab_vocab::Sandbox;

const PASSED: &[&str] = &[
    "ANDROID_HOME",
    "ANDROID_NDK_HOME",
    "ANDROID_SDK_ROOT",
    "AR",
    "AS",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUNDLE_GEMFILE",
    "BUNDLE_PATH",
    "BUN_INSTALL",
    "CABAL_DIR",
    "CC",
    "CFLAGS",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "CONDA_PREFIX",
    "CONDA_PYTHON_EXE",
    "CPATH",
    "CPP",
    "CPPFLAGS",
    "CURL_CA_BUNDLE",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "DEBUG",
    "DENO_DIR",
    "DENO_INSTALL",
    "FC",
    "FFLAGS",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "FORCE_COLOR",
    "GEM_HOME",
    "GEM_PATH",
    "GHCUP_INSTALL_BASE_PREFIX",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_NOSYSTEM",
    "GO111MODULE",
    "GOAMD64",
    "GOARCH",
    "GOARM",
    "GOBIN",
    "GOCACHE",
    "GODEBUG",
    "GOENV",
    "GOEXPERIMENT",
    "GOFLAGS",
    "GOGC",
    "GOMAXPROCS",
    "GOMODCACHE",
    "GOOS",
    "GOPATH",
    "GOROOT",
    "GOTMPDIR",
    "GOTOOLCHAIN",
    "GOTRACEBACK",
    "GOWORK",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "HOME",
    "HOSTNAME",
    "INCLUDE",
    "JDK_HOME",
    "JRE_HOME",
    "LANG",
    "LANGUAGE",
    "LD",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIB",
    "LIBRARY_PATH",
    "LIBS",
    "LINES",
    "LLVM_PROFILE_FILE",
    "LOGNAME",
    "LOG_LEVEL",
    "LUA_CPATH",
    "LUA_PATH",
    "M2_HOME",
    "MANPATH",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NM",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "OPAMROOT",
    "OPAMSWITCH",
    "OPAM_SWITCH_PREFIX",
    "PATH",
    "PERL5LIB",
    "PERL_LOCAL_LIB_ROOT",
    "PIPX_HOME",
    "PKG_CONFIG_LIBDIR",
    "PKG_CONFIG_PATH",
    "PKG_CONFIG_SYSROOT_DIR",
    "PNPM_HOME",
    "POETRY_HOME",
    "PWD",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RANLIB",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "REQUESTS_CA_BUNDLE",
    "SBT_HOME",
    "SCALA_HOME",
    "SDKMAN_DIR",
    "SHELL",
    "SHLVL",
    "SOURCE_DATE_EPOCH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "STACK_ROOT",
    "STRIP",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "TZDIR",
    "USER",
    "UV_CACHE_DIR",
    "UV_PYTHON",
    "VERBOSE",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Prefixes of variables that are passed, unless the whole name looks like a secret.
const PASSED_BEGINNINGS: &[&str] = &[
    "CARGO_", "CCACHE_", "CGO_", "CMAKE_", "CTEST_", "DOTNET_", "ELIXIR_", "ERL_", "FLUTTER_", "JAVA_", "JEST_",
    "JULIA_", "LC_", "MIX_", "MOCHA_", "PYTEST_", "PYTHON", "RUST", "SWIFT_", "VITEST_", "ZIG_",
];

/// Words that make the value of a variable a secret, wherever in the name they stand.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "ASKPASS",
    "AUTH",
    "COOKIE",
    "CRED",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PWD",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "WEBHOOK",
];

/// The same, for names that are written without `_`.
const SECRET_ENDS: &[&str] = &["APIKEY", "PASSWORD", "SECRET", "TOKEN"];

/// Variables that name a folder of tools, which stays visible in an emptied home.
const TOOL_FOLDERS: &[&str] = &[
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "CONDA_PREFIX",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "GEM_HOME",
    "GOMODCACHE",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "OPAMROOT",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Variables that name a folder of which only parts do; its other files may hold credentials.
const PARTS: &[(&str, &[&str])] = &[
    ("CARGO_HOME", &["bin", "config", "config.toml", "env", "git", "registry"]),
    ("GOPATH", &["bin", "pkg"]),
    ("GRADLE_USER_HOME", &["caches", "wrapper"]),
];

/// No user is there to answer a question, use a pager, or see colors.
const SET: &[(&str, &str)] = &[
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// What of `all` a command gets. One that is not fenced in is the user's own choice and keeps what
/// the user has, except for what belongs to this program; `private` are the names of its keys.
pub(super) fn passed_on(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    sandbox: Sandbox,
    private: &[String],
) -> Vec<(OsString, OsString)> {
    let is_private = |name: &OsStr| private.iter().any(|own| name.eq_ignore_ascii_case(own));
    let mut kept: Vec<(OsString, OsString)> =
        all.into_iter().filter(|(name, value)| !is_private(name) && is_fit(name, value, sandbox)).collect();
    kept.retain(|(name, _)| !SET.iter().any(|(set, _)| name == set));
    kept.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    kept
}

fn is_fit(name: &OsStr, value: &OsStr, sandbox: Sandbox) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_ascii_uppercase();
    if ["TRIMTAB_", "ANTHROPIC_", "OPENAI_"].iter().any(|own| upper.starts_with(own)) {
        return false;
    }
    sandbox == Sandbox::Off || is_passed(&name) && !has_password(&value.to_string_lossy())
}

fn is_passed(name: &str) -> bool {
    let is_secret = || {
        name.split('_').any(|word| SECRET_WORDS.contains(&word)) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
    };
    PASSED.contains(&name) || PASSED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !is_secret()
}

/// Whether it is a URL with a password, as for databases and proxies.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or("");
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

fn value<'e>(environment: &'e [(OsString, OsString)], wanted: &str) -> Option<&'e OsStr> {
    environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str())
}

/// The user's home.
pub(super) fn home(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    value(environment, "HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Folders of programs and tools that the environment names.
pub(super) fn tools(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = value(environment, "PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    folders.extend(TOOL_FOLDERS.iter().filter_map(|name| value(environment, name)).map(PathBuf::from));
    for (name, parts) in PARTS {
        let base = value(environment, name).map(Path::new);
        folders.extend(base.into_iter().flat_map(|base| parts.iter().map(|part| base.join(part))));
    }
    folders.retain(|folder| folder.is_absolute());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, value: &str, sandbox: Sandbox) -> bool {
        passed_on([(name.into(), value.into())], sandbox, &["FOO_BAR".to_owned()]).iter().any(|(kept, _)| kept == name)
    }

    #[test]
    fn what_is_not_known_to_be_needed_does_not_reach_a_fenced_command() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "OPENAI_API_KEY",
            "AWS_PROFILE",
            "GITHUB_TOKEN",
            "NPMTOKEN",
            "DB_PASSWORD",
            "MY_SECRET_1",
            "SSH_AUTH_SOCK",
            "GIT_ASKPASS",
            "TRIMTAB_ANYTHING",
            "stripe_api_key",
            "XDG_RUNTIME_DIR",
            "CDPATH",
            "GREP_OPTIONS",
            "MYSQL_PWD",
            "SSHPASS",
            "SLACK_WEBHOOK_URL",
            "JWT",
            "SENTRY_DSN",
            "MY_CREDS",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "FOO_BAR",
            "ANYTHING_AT_ALL",
        ] {
            assert!(!kept(name, "x", Sandbox::Workspace), "{name}");
        }
        assert!(!kept("CARGO_HTTP_PROXY", "http://me:pw@proxy:1", Sandbox::ReadOnly));
    }

    #[test]
    fn what_programs_need_is_kept() {
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "PWD", "CARGO_HOME", "RUST_LOG", "JAVA_HOME", "PYTHONPATH", "CI"]
        {
            assert!(kept(name, "x", Sandbox::Workspace), "{name}");
        }
        assert!(kept("CARGO_REGISTRY", "https://example.org/a:b@c", Sandbox::Workspace));
    }

    #[test]
    fn without_a_fence_only_our_own_are_kept_back() {
        assert!(kept("GITHUB_TOKEN", "x", Sandbox::Off));
        assert!(!kept("ANTHROPIC_API_KEY", "x", Sandbox::Off) && !kept("FOO_BAR", "x", Sandbox::Off));
    }

    #[test]
    fn nobody_is_asked_and_no_page_is_turned() {
        let all = passed_on([("PAGER".into(), "less".into())], Sandbox::Off, &[]);
        let pagers: Vec<_> = all.iter().filter(|(name, _)| name == "PAGER").collect();
        assert_eq!(pagers, [&("PAGER".into(), "cat".into())]);
    }

    #[test]
    fn of_a_folder_with_credentials_only_parts_are_tools() {
        let tools = tools(&[("PATH".into(), "/h/x/bin:rel".into()), ("CARGO_HOME".into(), "/h/.cargo".into())]);
        assert!(tools.contains(&"/h/x/bin".into()) && tools.contains(&"/h/.cargo/registry".into()));
        assert!(!tools.contains(&"/h/.cargo".into()) && !tools.contains(&"rel".into()));
    }
}

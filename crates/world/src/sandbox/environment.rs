//! The variables that a command gets to see.

use std::ffi::{OsStr, OsString};

use trimtab_vocab::Sandbox;

/// Words that make the value of a variable a secret, wherever in the name they stand.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "ASKPASS",
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// The same, for names that are written without `_`.
const SECRET_ENDS: &[&str] = &["APIKEY", "PASSWORD", "SECRET", "TOKEN"];

/// Of these, everything is a secret, or the way to one.
const SECRET_BEGINNINGS: &[&str] =
    &["ANTHROPIC_", "AWS_", "AZURE_", "GEMINI_", "GOOGLE_APPLICATION_", "MISTRAL_", "OPENAI_"];

/// Ways to programs outside of the fence, which would act in its place.
const WAYS_OUT: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// They change what the words of a command mean, which were judged without them: where `cd` goes, and what flags
/// `grep` and `rg` add by themselves.
const OTHER_MEANINGS: &[&str] =
    &["BASHOPTS", "CDPATH", "GLOBIGNORE", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "SHELLOPTS"];

/// Nobody is there to answer a question, to turn a page or to look at colours.
const SET: &[(&str, &str)] = &[
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// What of `all` a command gets. One that is not fenced in is a person's own choice and keeps what
/// the person has, except for what belongs to this program.
pub(super) fn scrubbed(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    sandbox: Sandbox,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> =
        all.into_iter().filter(|(name, value)| is_fit(name, value, sandbox)).collect();
    kept.retain(|(name, _)| !SET.iter().any(|(set, _)| name == set));
    kept.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    kept
}

fn is_fit(name: &OsStr, value: &OsStr, sandbox: Sandbox) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    if ["TRIMTAB_", "ANTHROPIC_", "OPENAI_"].iter().any(|own| name.starts_with(own)) {
        return false;
    }
    sandbox == Sandbox::Off
        || !(name.split('_').any(|word| SECRET_WORDS.contains(&word))
            || SECRET_ENDS.iter().any(|end| name.ends_with(end))
            || SECRET_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || WAYS_OUT.contains(&name.as_str())
            || OTHER_MEANINGS.contains(&name.as_str())
            || has_password(&value.to_string_lossy()))
}

/// Whether it is an address with a password in it, as databases and proxies have them.
fn has_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or("");
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, value: &str, sandbox: Sandbox) -> bool {
        scrubbed([(name.into(), value.into())], sandbox).iter().any(|(kept, _)| kept == name)
    }

    #[test]
    fn secrets_and_ways_out_do_not_reach_a_fenced_command() {
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
        ] {
            assert!(!kept(name, "x", Sandbox::Workspace), "{name}");
        }
        assert!(!kept("DATABASE_URL", "postgres://me:pw@db/x", Sandbox::ReadOnly));
    }

    #[test]
    fn what_programs_need_is_kept() {
        for name in ["PATH", "HOME", "LANG", "PWD", "CARGO_HOME", "TOKENIZERS_PARALLELISM", "KEYBOARD", "JAVA_HOME"] {
            assert!(kept(name, "x", Sandbox::Workspace), "{name}");
        }
        assert!(kept("REGISTRY", "https://example.org/a:b@c", Sandbox::Workspace));
    }

    #[test]
    fn without_a_fence_only_our_own_are_kept_back() {
        assert!(kept("GITHUB_TOKEN", "x", Sandbox::Off));
        assert!(!kept("ANTHROPIC_API_KEY", "x", Sandbox::Off));
    }

    #[test]
    fn nobody_is_asked_and_no_page_is_turned() {
        let all = scrubbed([("PAGER".into(), "less".into())], Sandbox::Off);
        let pagers: Vec<_> = all.iter().filter(|(name, _)| name == "PAGER").collect();
        assert_eq!(pagers, [&("PAGER".into(), "cat".into())]);
    }
}

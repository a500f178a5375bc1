//! The sandbox of macOS, *Seatbelt*: a profile that `sandbox-exec` applies to a command and everything that it
//! starts.
//!
//! The profile refuses everything that it does not name. The last matching rule decides, so exceptions come later.
//! Paths are passed as parameters and never written into the text, so that no folder name can be read as a rule. They
//! must not contain links, because the kernel compares resolved paths. This includes files that do not exist yet, so
//! a protected file cannot be created, either.

use std::path::{Path, PathBuf};

use trimtab_vocab::Sandbox;

/// What a command needs to be a command: to start others, to ask about the machine, to look up people's names. Programs
/// that take other rights (`sudo`, `ps`) are not started by anything in a sandbox; no rule here says otherwise.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.bsd.dirhelper"))
(deny network*)
(allow file-read*)
(deny file-read-data (regex #"^/dev/(ttys|tty\.|cu\.|r?disk|bpf|auditpipe)"))
(allow file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr")
  (literal "/dev/dtracehelper") (regex #"^/dev/fd/[0-9]+$"))
(allow file-ioctl (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/ttys[0-9]+$"))
"#;

/// What git would run later, outside of any fence, and what this program believes; in any case, since most disks of a
/// Mac make no difference, and at any depth.
const KEPT: &str = r#"(deny file-write* (require-all (subpath (param "FOLDER"))
  (regex #"/\.[gG][iI][tT]/([hH][oO][oO][kK][sS]|[cC][oO][nN][fF][iI][gG]|[cC][oO][nN][fF][iI][gG]\.[wW][oO][rR][kK][tT][rR][eE][eE]|[cC][oO][mM][mM][oO][nN][dD][iI][rR])(/.*)?$")))
(deny file-write* (require-all (subpath (param "FOLDER"))
  (regex #"/\.[tT][rR][iI][mM][tT][aA][bB](/.*)?$")))
"#;

/// What a profile is about. The paths are absolute and without links.
pub(super) struct Bounds {
    pub(super) sandbox: Sandbox,
    pub(super) folder: PathBuf,
    /// The private temporary folder.
    pub(super) temp: Option<PathBuf>,
    /// What must not be read.
    pub(super) hidden: Vec<PathBuf>,
}

/// The text of the profile and the parameters that it names, or why there can be none.
pub(super) fn profile(bounds: &Bounds) -> Result<(String, Vec<(String, String)>), String> {
    let mut text = BASE.to_owned();
    let mut parameters = Vec::new();
    let mut name = |name: String, path: &Path| -> Result<String, String> {
        let shown = path.display();
        let value = path.to_str().ok_or_else(|| format!("{shown} is not text that a profile can name"))?;
        // To write everywhere below the root would be no fence, and neither would a path from nowhere.
        if !path.is_absolute() || path.parent().is_none() || value.contains('\0') {
            return Err(format!("{shown} is not a path that the sandbox can restrict"));
        }
        parameters.push((name.clone(), value.to_owned()));
        Ok(format!("(param \"{name}\")"))
    };
    if let Some(temp) = &bounds.temp {
        let temp = name("TEMP".into(), temp)?;
        text.push_str(&format!("(allow file-write* (subpath {temp}))\n"));
    }
    if bounds.sandbox == Sandbox::Workspace {
        let folder = name("FOLDER".into(), &bounds.folder)?;
        text.push_str(&format!("(allow file-write* (subpath {folder}))\n{KEPT}"));
        // A `.git` that is exchanged for another one brings its own hooks.
        for (n, git) in spellings("git").into_iter().enumerate() {
            let git = name(format!("GIT{n}"), &bounds.folder.join(format!(".{git}")))?;
            text.push_str(&format!("(deny file-write* (literal {git}))\n"));
        }
    }
    for (n, path) in bounds.hidden.iter().enumerate() {
        let hidden = name(format!("HIDDEN{n}"), path)?;
        text.push_str(&format!("(deny file-read-data file-read-xattr file-write* (subpath {hidden}))\n"));
    }
    Ok((text, parameters))
}

/// A short word with its letters large or small, in all ways.
fn spellings(word: &str) -> Vec<String> {
    word.chars().fold(vec![String::new()], |begun, letter| {
        let both = [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
        begun.iter().flat_map(|text| both.map(|letter| format!("{text}{letter}"))).collect()
    })
}

/// The words that put the profile on a command.
pub(super) fn fenced(program: &str, bounds: &Bounds, argv: &[String]) -> Result<Vec<String>, String> {
    let (text, parameters) = profile(bounds)?;
    let mut words = vec![program.to_owned(), "-p".to_owned(), text];
    for (name, value) in parameters {
        words.extend(["-D".to_owned(), format!("{name}={value}")]);
    }
    // So that a command that begins with a dash is not taken for an option.
    words.push("--".to_owned());
    words.extend(argv.iter().cloned());
    Ok(words)
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher as _;
    use grep_regex::RegexMatcher;

    use super::*;

    fn bounds(sandbox: Sandbox, folder: &str) -> Bounds {
        Bounds {
            sandbox,
            folder: folder.into(),
            temp: Some("/private/tmp/x".into()),
            hidden: vec!["/Users/ada/.ssh".into()],
        }
    }

    /// The rules in order, each on one line.
    fn rules(text: &str) -> Vec<String> {
        let (mut rules, mut open, mut quoted) = (Vec::new(), 0_usize, false);
        let mut rule = String::new();
        for c in text.chars() {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => open += 1,
                ')' if !quoted => open = open.checked_sub(1).expect("no bracket closes nothing"),
                _ => {}
            }
            rule.push(if c == '\n' { ' ' } else { c });
            if open == 0 && !rule.trim().is_empty() {
                rules.push(std::mem::take(&mut rule).split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
        assert!(open == 0 && !quoted && rule.trim().is_empty(), "everything that is opened is closed");
        rules
    }

    #[test]
    fn everything_is_refused_that_is_not_named_and_there_is_no_network() {
        let (text, _) = profile(&bounds(Sandbox::Workspace, "/w")).unwrap();
        let rules = rules(&text);
        assert_eq!(rules[..2], ["(version 1)", "(deny default)"]);
        assert!(rules.contains(&"(deny network*)".to_owned()));
        assert!(!rules.iter().any(|rule| rule.starts_with("(allow network") || rule.starts_with("(allow default")));
        assert!(!rules.iter().any(|rule| rule == "(allow mach-lookup)" || rule == "(allow file-write*)"));
        assert!(!text.contains("sugid"), "no program gets the rights of another person");
        let writes: Vec<&String> = rules.iter().filter(|rule| rule.starts_with("(allow file-write*")).collect();
        assert_eq!(
            writes,
            ["(allow file-write* (subpath (param \"TEMP\")))", "(allow file-write* (subpath (param \"FOLDER\")))"]
        );
    }

    #[test]
    fn what_is_protected_comes_after_the_folder_and_need_not_be_there() {
        let (text, parameters) = profile(&bounds(Sandbox::Workspace, "/w")).unwrap();
        let rules = rules(&text);
        let folder =
            rules.iter().position(|rule| rule.contains("allow file-write* (subpath (param \"FOLDER\"")).unwrap();
        let denied: Vec<usize> = (0..rules.len()).filter(|n| rules[*n].starts_with("(deny file-write*")).collect();
        assert_eq!(denied.len(), 2 + 8, "hooks and settings, our own, and eight ways to write .git");
        assert!(denied.iter().all(|n| *n > folder), "the last rule that matches decides");
        let gits: Vec<&str> =
            parameters.iter().filter(|(name, _)| name.starts_with("GIT")).map(|(_, path)| path.as_str()).collect();
        assert_eq!(gits[0], "/w/.git");
        assert!(gits.contains(&"/w/.GIT") && gits.contains(&"/w/.gIt"));
        let hidden = rules.last().unwrap();
        assert_eq!(hidden, "(deny file-read-data file-read-xattr file-write* (subpath (param \"HIDDEN0\")))");
    }

    #[test]
    fn the_patterns_of_what_is_protected_find_it_in_any_case() {
        // The two patterns are plain enough for another reader of such patterns.
        let patterns: Vec<RegexMatcher> =
            KEPT.split("#\"").skip(1).map(|rest| RegexMatcher::new(rest.split('"').next().unwrap()).unwrap()).collect();
        assert_eq!(patterns.len(), 2);
        let is_kept = |path: &str| patterns.iter().any(|pattern| pattern.is_match(path.as_bytes()).unwrap());
        for path in [
            "/w/.git/hooks",
            "/w/.git/hooks/pre-commit",
            "/w/.GIT/Hooks/x",
            "/w/.git/config",
            "/w/.git/CONFIG.worktree",
            "/w/.git/commondir",
            "/w/sub/.git/hooks/x",
            "/w/.trimtab",
            "/w/.Trimtab/config.toml",
        ] {
            assert!(is_kept(path), "{path}");
        }
        for path in ["/w/.git/index", "/w/.git/objects/ab", "/w/git/hooks", "/w/.github/x", "/w/a.trimtab", "/w/.git"] {
            assert!(!is_kept(path), "{path}");
        }
    }

    #[test]
    fn a_read_only_profile_lets_nothing_but_the_temporary_folder_be_written() {
        let (text, parameters) = profile(&bounds(Sandbox::ReadOnly, "/w")).unwrap();
        assert!(!text.contains("FOLDER") && !parameters.iter().any(|(_, path)| path.starts_with("/w")));
        let alone = Bounds { temp: None, ..bounds(Sandbox::ReadOnly, "/w") };
        let (text, _) = profile(&alone).unwrap();
        assert!(!text.contains("(allow file-write* "), "no name, no rule");
    }

    #[test]
    fn a_hostile_name_of_a_folder_is_no_rule() {
        for name in
            ["/w\")(allow default)(deny file-read* (subpath \"/", "/a b/\\\"x", "/w\n(allow network*)", "/w;#|", "/=D"]
        {
            let words = fenced("sandbox-exec", &bounds(Sandbox::Workspace, name), &["-p".to_owned(), "x".to_owned()]);
            let words = words.unwrap();
            let plain = fenced("sandbox-exec", &bounds(Sandbox::Workspace, "/w"), &[]).unwrap();
            assert_eq!(words[2], plain[2], "the text is the same for every name");
            assert!(words.contains(&format!("FOLDER={name}")));
            assert!(words.ends_with(&["--".to_owned(), "-p".to_owned(), "x".to_owned()]));
        }
        for name in ["/", "relative", "", "/a\0b"] {
            assert!(profile(&bounds(Sandbox::Workspace, name)).is_err(), "{name:?}");
        }
        use std::os::unix::ffi::OsStrExt as _;
        let odd = Bounds {
            folder: Path::new(std::ffi::OsStr::from_bytes(b"/w\xff")).into(),
            ..bounds(Sandbox::Workspace, "/w")
        };
        assert!(profile(&odd).is_err(), "a name that would be changed on the way is not fenced");
    }
}

//! Fences on systems other than Linux: on macOS what `sandbox-exec` offers, elsewhere none.

use trimtab_vocab::Sandbox;

use super::super::wire::{Fence, Fences, Order, Ready};

/// Says what will hold. On macOS the fences go up with the command itself, in [`argv`].
pub(super) fn shut_in(order: &Order) -> Ready {
    let _ = rustix::process::setsid();
    if order.sandbox == Sandbox::Off {
        return Ready::Fenced(Fences::none("the sandbox is off"));
    }
    if !std::path::Path::new(SANDBOX_EXEC).exists() {
        return Ready::Failed(
            "The command was not started, since nothing here keeps it from writing elsewhere or off the network."
                .into(),
        );
    }
    let mut fences = Fences::none("it is not kept from them here");
    fences.writes = Fence::Holds;
    fences.protected = Fence::Holds;
    fences.secrets = Fence::Holds;
    fences.network = Fence::Holds;
    Ready::Fenced(fences)
}

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The last rule that matches decides, so refusals come after what they are exceptions of.
const PROFILE: &str = r#"(version 1)
(allow default)
(deny network*)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath (param "TEMP")))
"#;

pub(super) fn argv(order: &Order) -> Vec<String> {
    if order.sandbox == Sandbox::Off {
        return order.argv.clone();
    }
    let mut profile = PROFILE.to_owned();
    let mut parameters = vec![("TEMP".to_owned(), order.temp.clone().unwrap_or_default())];
    if order.sandbox == Sandbox::Workspace {
        profile.push_str("(allow file-write* (subpath (param \"FOLDER\")))\n");
        parameters.push(("FOLDER".to_owned(), order.folder.clone()));
        for (n, name) in [".git/hooks", ".git/config", ".trimtab"].iter().enumerate() {
            profile.push_str(&format!("(deny file-write* (subpath (param \"KEPT{n}\")))\n"));
            parameters.push((format!("KEPT{n}"), order.folder.join(name)));
        }
    }
    for (n, path) in order.hidden.iter().enumerate() {
        profile.push_str(&format!("(deny file-read-data (subpath (param \"HIDDEN{n}\")))\n"));
        parameters.push((format!("HIDDEN{n}"), path.clone()));
    }
    let mut argv = vec![SANDBOX_EXEC.to_owned(), "-p".to_owned(), profile];
    for (name, path) in parameters {
        argv.extend(["-D".to_owned(), format!("{name}={}", path.display())]);
    }
    argv.extend(order.argv.iter().cloned());
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sandbox: Sandbox) -> Order {
        let json = serde_json::json!({
            "argv": ["make", "all"], "cwd": "/w", "folder": "/w", "timeout_ms": 1000, "sandbox": sandbox,
            "hidden": ["/h/.ssh"], "temp": "/t/x", "supervisor": 1, "probe": false,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_profile_allows_the_folder_and_then_takes_out_what_is_protected() {
        let argv = argv(&order(Sandbox::Workspace));
        assert_eq!(argv[..2], [SANDBOX_EXEC, "-p"]);
        let (allowed, denied) = (argv[2].find("\"FOLDER\"").unwrap(), argv[2].find("\"KEPT0\"").unwrap());
        assert!(allowed < denied, "the last rule decides");
        assert!(argv.contains(&"KEPT0=/w/.git/hooks".to_owned()) && argv.contains(&"HIDDEN0=/h/.ssh".to_owned()));
        assert!(argv.ends_with(&["make".into(), "all".into()]));
    }

    #[test]
    fn a_read_only_profile_does_not_name_the_folder() {
        assert!(!argv(&order(Sandbox::ReadOnly))[2].contains("FOLDER"));
        assert_eq!(argv(&order(Sandbox::Off)), ["make", "all"]);
    }
}

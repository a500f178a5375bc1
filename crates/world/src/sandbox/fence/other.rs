//! Fences on systems other than Linux: on macOS what `sandbox-exec` offers, elsewhere none.

use std::path::{Path, PathBuf};

use trimtab_vocab::Sandbox;

use super::super::wire::{Fence, FenceReport, Fences, RunOrder};
use super::seatbelt::{Bounds, fenced};
use super::{NO_SUPERVISOR, NextMarks};

const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Why there are no namespaces.
pub(in super::super) enum NoNamespaces {
    Unavailable(String),
    #[allow(dead_code, reason = "only Linux has namespaces of which some work")]
    Halfway(String),
}

/// There are no namespaces here.
pub(in super::super) fn found(_holder: Option<u32>) -> Result<(), NoNamespaces> {
    Err(NoNamespaces::Unavailable("this system has no namespaces".into()))
}

/// There are no networks to hold.
pub(in super::super) fn hold_networks() -> Result<(), String> {
    Err("This system has no network namespaces.".into())
}

/// There are no networks to make.
pub(in super::super) fn session_network() -> Result<(std::os::fd::OwnedFd, std::net::TcpListener), String> {
    Err("This system has no network namespaces.".into())
}

/// There is no network to make a socket in.
pub(in super::super) fn socket_in(
    _network: &std::os::fd::OwnedFd,
    _family: rustix::net::AddressFamily,
) -> Result<std::os::fd::OwnedFd, String> {
    Err("This system has no network namespaces.".into())
}

/// There is nothing to step out of.
pub(super) fn step_apart(_shares_devices: bool) {}

/// No fence holds on to mounts.
pub(in super::super) struct NoMountWatch;

impl NoMountWatch {
    pub(in super::super) fn open() -> Option<Self> {
        Some(Self)
    }

    pub(in super::super) fn has_changed(&self) -> bool {
        false
    }

    pub(in super::super) async fn change(&self) {
        std::future::pending().await
    }
}

/// Devices are never covered.
pub(in super::super) fn is_shared_device(_folder: &Path) -> bool {
    false
}

/// Says what will hold. On macOS the fences go up with the command itself, in [`argv`].
pub(super) fn shut_in(order: &RunOrder, _: Option<()>, marks: NextMarks<'_>) -> FenceReport {
    let _ = rustix::process::setsid();
    if marks().is_none() {
        return FenceReport::Failed(NO_SUPERVISOR.into());
    }
    if order.sandbox == Sandbox::Off {
        return FenceReport::Fenced(Fences::none("the sandbox is off"));
    }
    if !Path::new(SANDBOX_EXEC).exists() {
        return FenceReport::Failed(
            "The command was not started, because nothing on this system keeps it from writing elsewhere or off the network."
                .into(),
        );
    }
    // A probe asks whether the system accepts the profile at all.
    let tried = if order.fence.probe { try_out(order) } else { within(order, &order.argv).map(|_| ()) };
    match tried {
        Ok(()) => FenceReport::Fenced(fences(order)),
        Err(why) => FenceReport::Failed(format!("The command was not started, because the sandbox failed: {why}.")),
    }
}

/// What the profile promises.
fn fences(order: &RunOrder) -> Fences {
    let mut fences = Fences::none("its sockets and signals end at the profile, but it may see which programs run");
    fences.writes = Fence::Holds;
    fences.protected = match order.sandbox {
        Sandbox::ReadOnly if !order.fence.probe => Fence::Holds,
        _ => Fence::missing("the profile names git's hooks and settings and .trimtab, but no other control files"),
    };
    fences.secrets = Fence::Holds;
    fences.network = Fence::Holds;
    fences
}

/// Runs nothing behind the fence.
fn try_out(order: &RunOrder) -> Result<(), String> {
    let words = within(order, &["/usr/bin/true".to_owned()])?;
    let mut command = super::new(&words[0]);
    let output = command.args(&words[1..]).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).chars().take(300).collect()),
    }
}

/// What is executed. Without a fence that is nothing.
pub(super) fn argv(order: &RunOrder) -> Vec<String> {
    match order.sandbox {
        Sandbox::Off => order.argv.clone(),
        _ => within(order, &order.argv).unwrap_or_default(),
    }
}

fn within(order: &RunOrder, argv: &[String]) -> Result<Vec<String>, String> {
    let bounds = Bounds {
        sandbox: order.sandbox,
        folder: without_links(&order.folder),
        temp: order.fence.temp.as_deref().map(without_links),
        hidden: order.hidden.iter().map(|path| without_links(path)).collect(),
    };
    fenced(SANDBOX_EXEC, &bounds, argv)
}

/// Where a path leads, also if the end of it is not there: `/tmp` is `/private/tmp` on a Mac.
fn without_links(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        let real = std::fs::canonicalize(above).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    real.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sandbox: Sandbox, folder: &str) -> RunOrder {
        let json = serde_json::json!({
            "argv": ["make", "all"], "cwd": "/w", "folder": folder, "timeout_ms": 1000, "sandbox": sandbox,
            "hidden": ["/h/.ssh"], "temp": "/t/x", "supervisor": 1, "probe": false,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_executed_is_fenced_unless_the_sandbox_is_off() {
        let words = argv(&order(Sandbox::Workspace, "/w"));
        assert_eq!(words[..2], [SANDBOX_EXEC, "-p"]);
        assert!(words.ends_with(&["--".into(), "make".into(), "all".into()]));
        assert_eq!(argv(&order(Sandbox::Off, "/w")), ["make", "all"]);
    }

    #[test]
    fn without_a_fence_nothing_is_executed() {
        for folder in ["/", "w", ""] {
            assert_eq!(argv(&order(Sandbox::Workspace, folder)), Vec::<String>::new(), "{folder}");
        }
    }

    #[test]
    fn a_path_is_followed_to_where_it_leads_although_its_end_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        assert_eq!(without_links(&folder.path().join("link/a/b")), real.join("a/b"));
        assert_eq!(without_links(Path::new("/nowhere/at/all")), Path::new("/nowhere/at/all"));
    }
}

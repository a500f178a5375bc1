//! Control groups, which could limit all processes of a command together.
//!
//! They are detected and not used. Only the owner of a delegated group may divide it, and the program would have to
//! move itself out of it first; in a systemd session, the tree belongs to systemd. So limits are per process, and
//! `trimtab doctor` reports what is available.

use std::path::{Path, PathBuf};

/// What could be used here, in words.
pub fn group() -> String {
    let lines = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(place) = place(&lines, Path::new("/sys/fs/cgroup")) else {
        return "there are no control groups here".to_owned();
    };
    let controllers = std::fs::read_to_string(place.join("cgroup.controllers")).unwrap_or_default();
    let divisible = rustix::fs::access(place.join("cgroup.subtree_control"), rustix::fs::Access::WRITE_OK).is_ok();
    said(&place, &controllers, divisible)
}

/// Where the group of version 2 is that this process is in.
fn place(lines: &str, root: &Path) -> Option<PathBuf> {
    let path = lines.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A group above the root of this view has a path that climbs.
    (!path.split('/').any(|part| part == "..")).then(|| root.join(path))
}

fn said(place: &Path, controllers: &str, divisible: bool) -> String {
    let missing: Vec<&str> =
        ["memory", "pids"].into_iter().filter(|name| !controllers.split_whitespace().any(|has| has == *name)).collect();
    let shown = place.display();
    match (missing.as_slice(), divisible) {
        ([], true) => format!("the control group {shown} can be divided, but commands do not get their own"),
        ([], false) => format!("the control group {shown} is not delegated to this user"),
        ([one], _) => format!("the control group {shown} lacks the controller {one}"),
        (missing, _) => {
            format!("the control group {shown} lacks the controllers {}", trimtab_vocab::format::list(missing))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_version_2_is_found_among_the_others() {
        let root = Path::new("/sys/fs/cgroup");
        let both = "5:devices:/\n4:memory:/x\n0::/user.slice/a.scope\n";
        assert_eq!(place(both, root), Some(root.join("user.slice/a.scope")));
        assert_eq!(place("0::/\n", root), Some(root.join("")));
        assert_eq!(place("4:memory:/x\n", root), None);
        assert_eq!(place("0::/../other\n", root), None);
        assert_eq!(place("", root), None);
    }

    #[test]
    fn it_says_what_is_missing_for_a_limit_on_all_processes() {
        let place = Path::new("/g");
        assert!(said(place, "cpu memory pids\n", true).contains("can be divided"));
        assert!(said(place, "cpu memory pids\n", false).contains("not delegated"));
        assert!(said(place, "cpu memory\n", true).ends_with("lacks the controller pids"));
        assert!(said(place, "", false).ends_with("lacks the controllers memory and pids"));
    }
}

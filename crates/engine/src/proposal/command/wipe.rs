//! Detects commands that wipe the disk, the home, or the whole folder.

use trimtab_vocab::wording::CommandReason;

use super::paths::{resolve, within};
use super::refuse::{CommandRefusal, RunPlace};
use super::word::{Word, shown};
use super::wrap::base_name;

/// Top folders of a system; without any of them the machine is lost.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/var",
    "/Users",
    "/System",
    "/Library",
    "/Applications",
    "/private",
    "/Volumes",
    "/mnt/c",
];
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop", "mem", "kmem", "zram",
];

/// Whether losing this tree means losing the disk, the home or the folder.
fn precious(path: &str, place: &RunPlace) -> bool {
    let home = resolve(&place.policy.home, "/");
    let folder = resolve(&place.policy.folder, "/");
    // What holds the home or the folder is lost with them.
    path == "/" || SYSTEM.contains(&path) || (home != "/" && within(&home, path)) || within(&folder, path)
}

/// Whether a word names such a tree, or everything in it.
fn target<'w>(word: &'w Word, place: &RunPlace) -> Option<&'w str> {
    let text = word.text.as_str();
    let path = if word.pattern {
        // `~/*`, `./*`, `/*`, `.*` and `*` name all there is in a folder.
        let (above, last) = text
            .rsplit_once('/')
            .map_or((".", text), |(above, last)| (if above.is_empty() { "/" } else { above }, last));
        if above.contains(['*', '?', '[']) || !matches!(last, "*" | ".*" | "**" | "*.*" | ".[!.]*" | ".??*" | "") {
            return None;
        }
        place.path(above)?
    } else {
        place.path(text)?
    };
    precious(&path, place).then_some(text)
}

fn lost(what: &str) -> CommandRefusal {
    CommandRefusal::new("wipe", CommandReason::DeletesEverything(shown(what)))
}

/// Whether a path is a whole disk and not a file.
pub(super) fn is_disk(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)))
}

fn on_disk(path: &str) -> CommandRefusal {
    CommandRefusal::new("wipe", CommandReason::OverwritesDisk(shown(path)))
}

/// Refuses a command that would leave nothing.
pub(super) fn wiped(name: &str, words: &[Word], place: &RunPlace) -> Option<CommandRefusal> {
    let rest = &words[1..];
    let flag = |letters: &str, names: &[&str]| {
        rest.iter().take_while(|word| word.text != "--").any(|word| {
            let text = word.text.as_str();
            match text.strip_prefix("--") {
                // A shortened long option is taken for the one it may stand for.
                Some(long) => long.len() > 1 && names.iter().any(|name| name.starts_with(long)),
                None => text.starts_with('-') && text.contains(|c| letters.contains(c)),
            }
        })
    };
    let operands = || rest.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
    let first_lost = || operands().find_map(|word| target(word, place)).map(lost);
    // The folder can be cleared, mirrored into or rearranged on request. The home and the disk cannot.
    let beyond = |word: &&Word| {
        let held = if word.pattern { word.text.trim_end_matches('*') } else { &word.text };
        place.path(if held.is_empty() { "." } else { held }) != Some(resolve(&place.policy.folder, "/"))
    };
    match name {
        "rm" | "grm" | "srm" => {
            if rest.iter().any(|word| word.text.starts_with("--no-pres")) {
                return Some(CommandRefusal::new("wipe", CommandReason::NoPreserveRoot));
            }
            if flag("rR", &["recursive"]) { first_lost() } else { None }
        }
        "rimraf" | "trash" | "del-cli" => first_lost(),
        "shred" | "wipe" => first_lost().or_else(|| disk_among(rest, place)),
        "chmod" | "chown" | "chgrp" => {
            // Rights in the home can be wanted back; those of the whole disk cannot be told from each other again.
            let whole = |word: &&Word| place.path(word.text.trim_end_matches('*')).is_some_and(|path| path == "/");
            let hit = operands().find(|word| !word.text.is_empty() && whole(word) && word.text.starts_with('/'));
            hit.filter(|_| flag("R", &["recursive"]))
                .map(|_| CommandRefusal::new("wipe", CommandReason::ChangesAllPermissions))
        }
        "mv" | "gmv" => {
            // With `-t` the place that things go to comes first, and is not moved itself.
            let into = rest.iter().position(|word| matches!(word.text.as_str(), "-t" | "--target-directory"));
            let goes_to = into.and_then(|at| rest.get(at + 1));
            let stays = |word: &Word| goes_to.is_some_and(|to| std::ptr::eq(to, word));
            let count = operands().count().saturating_sub(usize::from(goes_to.is_none()));
            let moved = operands().take(count).filter(|word| !stays(word)).filter(beyond);
            let lost = moved.into_iter().find_map(|word| target(word, place)).map(lost);
            lost.or_else(|| disk_among(rest, place))
        }
        "cp" | "tee" | "install" | "truncate" | "fallocate" => disk_among(&rest[rest.len().saturating_sub(1)..], place)
            .or_else(|| (name == "tee").then(|| disk_among(rest, place)).flatten()),
        "dd" => rest.iter().find_map(|word| {
            let path = place.path(word.text.strip_prefix("of=")?)?;
            is_disk(&path).then(|| on_disk(&path))
        }),
        name if name.starts_with("mkfs") || name == "mke2fs" || name == "blkdiscard" || name == "mkswap" => {
            // An image in a file is a file like any other.
            let on_device = |word: &Word| place.path(&word.text).is_none_or(|path| path.starts_with("/dev/"));
            operands()
                .next_back()
                .is_none_or(on_device)
                .then(|| CommandRefusal::new("wipe", CommandReason::FormatsDisk(shown(name))))
        }
        "wipefs" | "sgdisk" | "sfdisk" | "fdisk" | "parted" | "cryptsetup" => {
            let only_looks =
                flag("lpnI", &["list", "no-act", "print", "json"]) || rest.iter().any(|word| word.text == "print");
            if only_looks { None } else { disk_among(rest, place) }
        }
        "diskutil" => rest
            .iter()
            .any(|word| word.text.to_lowercase().starts_with("erase") || word.text == "zeroDisk")
            .then(|| on_disk("disk")),
        "find" | "gfind" => {
            let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            let removes = |word: &Word| matches!(base_name(&word.text).as_str(), "rm" | "unlink" | "shred");
            let deletes = rest.iter().any(|word| word.text == "-delete")
                || rest.windows(2).any(|pair| runs(&pair[0]) && removes(&pair[1]));
            if !deletes || filters(rest) {
                return None;
            }
            let starts = rest.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
            starts.filter(beyond).find_map(|word| target(word, place)).map(lost)
        }
        "rsync" => {
            let deletes = rest.iter().any(|word| word.text.starts_with("--del"));
            rest.last().filter(|word| deletes && beyond(word)).and_then(|word| target(word, place)).map(lost)
        }
        _ => None,
    }
}

fn disk_among(words: &[Word], place: &RunPlace) -> Option<CommandRefusal> {
    words.iter().filter_map(|word| place.path(&word.text)).find(|path| is_disk(path)).map(|path| on_disk(&path))
}

/// Whether a `find` picks among what it finds, rather than taking all of it.
pub(super) fn filters(words: &[Word]) -> bool {
    const PICKS: &[&str] = &[
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-size",
        "-empty",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-newer",
        "-perm",
        "-user",
        "-group",
        "-maxdepth",
        "-inum",
        "-samefile",
        "-links",
        "-lname",
        "-uid",
        "-gid",
        "-nouser",
        "-nogroup",
        "-executable",
        "-prune",
        "-quit",
        "-xtype",
        "-false",
    ];
    words.iter().any(|word| PICKS.contains(&word.text.as_str()) || word.text.starts_with("-newer"))
}

/// A program text that deletes a tree it names.
pub(super) fn code(code: &str, literals: &[String], place: &RunPlace) -> Option<CommandRefusal> {
    const DELETES: &[&str] = &[
        "rmtree",
        "rmSync",
        "rmdirSync",
        "rm_rf",
        "rm_r",
        "removeSync",
        "remove_tree",
        "remove_dir_all",
        "deltree",
        "fs.rm",
        "rimraf",
    ];
    if !DELETES.iter().any(|call| code.contains(call)) {
        return None;
    }
    let home =
        ["expanduser", "Path.home", "homedir()", "Dir.home", "ENV['HOME']"].iter().any(|call| code.contains(call));
    literals.iter().find_map(|literal| {
        let text = literal.replace("$HOME", &place.policy.home);
        let text = if home && (text == "~" || text == "~/") { place.policy.home.clone() } else { text };
        let word = Word { pattern: text.contains('*'), ..Word::plain(text) };
        target(&word, place).is_some().then(|| lost(literal))
    })
}

//! Resolves a path by its text. Links are not followed: the sandbox handles those.

use trimtab_vocab::wording::CommandReason;

use trimtab_vocab::sensitive_paths::{SECRET_NAMES, SECRET_PATTERNS, decides_what_runs, has_secret, is_secret};

use super::word::shown;

/// An absolute path without `.`, `..` and doubled slashes.
pub(super) fn resolve(path: &str, base: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { split(base) };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

/// Whether `path` is `root` or inside it. Both are resolved.
pub(super) fn within(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The same without regard to case, for file systems that have none.
pub(super) fn within_any_case(path: &str, root: &str) -> bool {
    within(&path.to_lowercase(), &root.to_lowercase())
}

/// Whether a program may read this path automatically; the reason if not.
pub(super) fn readable(path: &str, folder: &str) -> Result<(), CommandReason> {
    if path == "-" || path == "/dev/null" {
        return Ok(());
    }
    stays(path, folder)?;
    if resolve(path, folder).ends_with("/.git/config") {
        return Err(CommandReason::GitConfigRead);
    }
    names_no_secret(path)
}

/// Whether no part of a path or glob is the name of a file that usually holds secrets; the reason if one is.
pub(super) fn names_no_secret(text: &str) -> Result<(), CommandReason> {
    let pieces = text.split(['/', ':', ',', '=', '!', ' ', '\n', '\t', '{', '}']);
    match pieces.filter(|piece| !piece.is_empty()).find(|piece| aims_at_secret(piece)) {
        Some(name) => Err(CommandReason::HoldsSecrets(shown(name))),
        // Some names mean this only in one folder.
        None if has_secret(text) => Err(CommandReason::HoldsSecrets(shown(text))),
        None => Ok(()),
    }
}

fn aims_at_secret(piece: &str) -> bool {
    let wild = |c: char| matches!(c, '*' | '?' | '[' | ']');
    if !piece.contains(wild) {
        return is_secret(piece);
    }
    // A glob that begins with a wildcard is a general one (`*.json`), unless its end alone says it (`*.pem`).
    let filled = |by: &str| is_secret(&piece.replace(wild, by));
    filled("") || filled("x") || (!piece.starts_with(wild) && samples().any(|name| could_be(piece, name)))
}

/// Sample names of secrets, to detect a glob that matches them: names with a distinctive beginning.
fn samples() -> impl Iterator<Item = &'static str> {
    let is_telling = |name: &&str| [".", "id_", "credentials", "secrets"].iter().any(|start| name.starts_with(start));
    let patterns = SECRET_PATTERNS.iter().map(|pattern| pattern.trim_end_matches('*'));
    // The folder's own settings may be read.
    SECRET_NAMES.iter().copied().chain(patterns).filter(is_telling).filter(|name| *name != ".trimtab")
}

/// Whether a glob could match a name. A `[…]` counts as any text, so that this errs to yes.
fn could_be(glob: &str, name: &str) -> bool {
    let mut pieces = glob.split(['*', '?', '[', ']']).filter(|piece| !piece.is_empty());
    let Some(first) = pieces.next() else { return true };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// Whether a program may change this path automatically; the reason if not.
pub(super) fn writable(path: &str, folder: &str) -> Result<(), CommandReason> {
    readable(path, folder)?;
    if path == "/dev/null" {
        // Copied over a file it empties it, and a file moved there is gone.
        return Err(CommandReason::WritesToNull);
    }
    if path == "-" {
        // Not standard input here, but a file whose name the next program will take for it.
        return Err(CommandReason::DashAsFile);
    }
    if resolve(path, folder) == resolve(folder, "/") {
        return Err(CommandReason::ChangesFolder);
    }
    if let Some(name) = path.split('/').find(|name| decides_what_runs(name)) {
        return Err(CommandReason::ControlsPrograms(shown(name)));
    }
    if path.split('/').any(|name| name.starts_with('-')) {
        return Err(CommandReason::LooksLikeOption(shown(path)));
    }
    Ok(())
}

/// Whether a path stays in the folder; the reason if not.
pub(super) fn stays(path: &str, folder: &str) -> Result<(), CommandReason> {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() && path.len() > 2;
    if path.contains('\\') || (drive && path.as_bytes()[2] == b'/') || path.starts_with('~') {
        return Err(CommandReason::MayLeadOutside(shown(path)));
    }
    let folder = resolve(folder, "/");
    // Above the folder and back again may be the same place, but only if no link is on the way.
    let climbs = !path.starts_with('/') && climbs_out(path);
    if climbs || folder == "/" || !within(&resolve(path, &folder), &folder) {
        return Err(CommandReason::OutsideFolder(shown(path)));
    }
    Ok(())
}

fn climbs_out(path: &str) -> bool {
    let mut depth = 0_i32;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// Whether an argument of unknown meaning could lead out of the folder: each of its pieces is taken for a path.
pub(super) fn argument_stays(argument: &str, folder: &str) -> Result<(), CommandReason> {
    if argument.contains("://") {
        return Err(CommandReason::IsUrl(shown(argument)));
    }
    let stripped = argument.trim_start_matches('-');
    // `-I/usr` attaches a path to its flag; the letter before the slash is not part of it.
    let glued = (argument.starts_with('-') && !argument.starts_with("--")).then(|| stripped.get(1..)).flatten();
    for piece in argument.split(['=', ':', ',', '@', ' ', '\n', '\t']).chain(glued).chain([stripped, argument]) {
        if !piece.is_empty() && piece != "-" {
            readable(piece, folder)?;
        }
    }
    Ok(())
}

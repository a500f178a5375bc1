//! Suggestions for a path that does not exist.

use std::ffi::OsStr;
use std::path::Path;

use super::walk::{Hidden, walk};
use super::{Going, ReadRefusal, ReadScope};

/// More suggestions do not help.
const MOST: usize = 4;
/// A larger folder is not searched for a better name.
const LARGEST_FOLDER: usize = 2_000;
/// Nor are more entries than this for the same name elsewhere.
const FARTHEST: usize = 10_000;
/// A longer name is not misspelt but made up, and comparing takes the square of its length.
const LONGEST_NAME: usize = 100;

/// Paths that resemble one that is absent: names like it in the folder where it should be, and the
/// same name elsewhere.
pub(super) fn names(place: &ReadScope, inside: &Path, going: &Going) -> Result<Vec<String>, ReadRefusal> {
    let mut found = beside(place, inside, going)?;
    for path in elsewhere(place, inside, going)? {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found.truncate(MOST);
    Ok(found)
}

/// Names in the deepest folder of the path that exists, compared with the first part that does not.
fn beside(place: &ReadScope, inside: &Path, going: &Going) -> Result<Vec<String>, ReadRefusal> {
    let mut missing = inside;
    let mut folder = inside.parent();
    while let Some(parent) = folder.filter(|parent| !place.root().join(parent).is_dir()) {
        (missing, folder) = (parent, parent.parent());
    }
    let (Some(folder), Some(name)) = (folder, missing.file_name()) else { return Ok(Vec::new()) };
    let folder = place.root().join(folder);
    // A link may lead out of the folder, and names there must not be revealed.
    let Some(folder) = folder.canonicalize().ok().filter(|folder| folder.starts_with(place.root())) else {
        return Ok(Vec::new());
    };
    let Ok(entries) = folder.read_dir() else { return Ok(Vec::new()) };
    let name = name.to_string_lossy().to_lowercase();
    let mut near = Vec::new();
    for entry in entries.take(LARGEST_FOLDER).flatten() {
        going.on()?;
        let other = entry.file_name().to_string_lossy().to_lowercase();
        if let Some(distance) = distance(&name, &other) {
            near.push((distance, place.shown(&entry.path())));
        }
    }
    near.sort();
    Ok(near.into_iter().map(|(_, path)| path).take(MOST).collect())
}

/// The same file name in other folders.
fn elsewhere(place: &ReadScope, inside: &Path, going: &Going) -> Result<Vec<String>, ReadRefusal> {
    let Some(name) = inside.file_name() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut entries = walk(place, place.root(), Hidden::AtTheTop, None, going);
    for _ in 0..FARTHEST {
        let Some(entry) = entries.next()? else { break };
        if entry.file_name() == OsStr::new(name) && entry.depth() > 0 {
            found.push(place.shown(entry.path()));
            if found.len() == MOST {
                break;
            }
        }
    }
    Ok(found)
}

/// The edit distance of two lower-case names; none if they are not similar.
fn distance(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return Some(0);
    }
    if a.len() > LONGEST_NAME || b.len() > LONGEST_NAME {
        return None;
    }
    let edits = edits(a, b);
    if edits <= a.chars().count().min(b.chars().count()) / 3 {
        return Some(edits);
    }
    // `config.yaml` for `config.yml`, `README` for `README.md`.
    let stem = |name: &str| name.split('.').find(|part| !part.is_empty()).unwrap_or("").to_owned();
    (stem(a) == stem(b)).then_some(edits)
}

/// How many letters must be added, removed or changed to make one text of another.
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = here;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_when_few_letters_or_only_the_ending_differ() {
        assert_eq!(distance("main.rs", "main.rs"), Some(0));
        assert_eq!(distance("mian.rs", "main.rs"), Some(2));
        assert_eq!(distance("readme", "readme.md"), Some(3));
        assert_eq!(distance("config.json", "config.toml"), Some(4));
        assert_eq!(distance("a", "b"), None);
        assert_eq!(distance("main.rs", "lib.rs"), None);
        assert_eq!(distance("", "x"), None);
        assert_eq!(distance(&"x".repeat(200), &"x".repeat(201)), None);
    }
}

//! The files that a diff is about: the names in its headers, and their combination.

use super::super::header::{self, DiffName};
use super::super::hunk::PatchHunk;
use super::super::lines::shown;
use super::super::{EditRefusal, RefusalKind};

/// The part of a patch that is about one file, with the names as written.
#[derive(Debug, Default)]
pub(super) struct PatchSection<'t> {
    pub(super) hunks: Vec<PatchHunk<'t>>,
    /// A header was seen, so that lines before the next hunk are about the file.
    pub(super) headed: bool,
    pub(super) creates: bool,
    pub(super) deletes: bool,
    /// The file is deleted without its text being given, as in `*** Delete File`.
    pub(super) unseen: bool,
    /// The names are plain paths without prefixes, as in `*** Update File`.
    pub(super) literal: bool,
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
    /// The text after `diff --git`.
    pub(super) git: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// `copy from`, `copy to`.
    pub(super) copies: Vec<String>,
}

/// Where the file of a section is, and where it goes if it moves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchTarget {
    pub(super) path: String,
    pub(super) to: Option<String>,
}

impl PatchSection<'_> {
    pub(super) fn pair(&mut self, old: Option<DiffName>, new: Option<DiffName>) {
        self.headed = true;
        self.creates |= old == Some(DiffName::Nothing);
        self.deletes |= new == Some(DiffName::Nothing);
        if let Some(DiffName::Path(old)) = old {
            self.old.push(old);
        }
        if let Some(DiffName::Path(new)) = new {
            self.new.push(new);
        }
    }

    /// Whether the old side names a file.
    pub(super) fn old_named(&self) -> bool {
        !self.old.is_empty()
    }

    /// The first name that is not `path`.
    fn stranger(&self, path: &str) -> Option<&str> {
        let new = self.new.iter().chain(&self.copies).filter(|name| !header::means(name, path));
        let old = self.old.iter().filter(|name| !header::old_means(name, path));
        let git = self.git.iter().filter(|rest| !header::git_means(rest, path));
        new.chain(old).chain(git).next().map(String::as_str)
    }

    /// Whether a name is `path`, or there is no name.
    fn names(&self, path: &str) -> bool {
        let all = self.new.iter().chain(&self.old).chain(self.from.iter()).chain(self.to.iter()).chain(&self.copies);
        let mut all = all.peekable();
        match (all.peek(), &self.git) {
            (None, None) => true,
            (None, Some(rest)) => header::git_means(rest, path),
            _ => all.any(|name| header::means(name, path)),
        }
    }

    /// The file, if it is the one that the edit is for.
    fn ours(&self, path: &str) -> Result<Option<PatchTarget>, EditRefusal> {
        if !self.names(path) {
            return Ok(None);
        }
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            let target = match header::means(from, path) {
                true => PatchTarget { path: path.to_owned(), to: Some(to.clone()) },
                false => PatchTarget { path: from.clone(), to: Some(path.to_owned()) },
            };
            return Ok(Some(target));
        }
        match self.stranger(path) {
            None => Ok(Some(PatchTarget { path: path.to_owned(), to: None })),
            Some(other) => Err(EditRefusal::new(
                RefusalKind::OtherPath,
                format!(
                    "The diff takes {} for the old text of {path}. To move a file, give `rename from` and `rename to` \
                     lines, or use move_file.",
                    shown(other.as_bytes())
                ),
            )),
        }
    }

    /// The file, by the names alone. `prefixed`: every name of the patch has the prefix that git puts in front.
    fn theirs(&self, prefixed: bool) -> Option<PatchTarget> {
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            return Some(PatchTarget { path: from.clone(), to: Some(to.clone()) });
        }
        if !self.copies.is_empty() {
            return None;
        }
        let old = self.old.last().map(|name| bare(name, "a/", prefixed));
        let new = self.new.last().map(|name| bare(name, "b/", prefixed));
        let path = match (old, new) {
            (Some(old), Some(new)) if old != new => return None,
            (Some(name), _) | (None, Some(name)) => name.to_owned(),
            (None, None) => header::git_path(self.git.as_deref()?)?,
        };
        Some(PatchTarget { path, to: None })
    }

    fn has_prefixes(&self) -> bool {
        self.old.iter().all(|name| name.starts_with("a/")) && self.new.iter().all(|name| name.starts_with("b/"))
    }

    /// A name to tell the reader.
    fn shown(&self) -> String {
        let name = self.new.first().or(self.old.first()).or(self.from.as_ref()).or(self.git.as_ref());
        shown(name.map_or(b"", |name| name.trim().as_bytes()))
    }
}

fn bare<'n>(name: &'n str, prefix: &str, prefixed: bool) -> &'n str {
    if prefixed { name.strip_prefix(prefix).unwrap_or(name) } else { name }
}

/// The file of each section. One of them has to be `path`, because that is the file the edit is for.
pub(super) fn targets(path: &str, sections: &[PatchSection<'_>]) -> Result<Vec<PatchTarget>, EditRefusal> {
    let prefixed = sections.iter().filter(|section| !section.literal).all(PatchSection::has_prefixes);
    let ours: Vec<Option<PatchTarget>> = sections.iter().map(|section| section.ours(path)).collect::<Result<_, _>>()?;
    if ours.iter().all(Option::is_none) {
        let other = sections.first().map(PatchSection::shown).unwrap_or_default();
        let reason = format!("The edit is for {path}, but its diff is about {other}.");
        return Err(EditRefusal::new(RefusalKind::OtherPath, reason));
    }
    let each = sections.iter().zip(ours).map(|(section, ours)| {
        if section.creates && section.deletes {
            let reason = format!("The diff both creates and deletes {}.", section.shown());
            return Err(EditRefusal::new(RefusalKind::Malformed, reason));
        }
        ours.or_else(|| section.theirs(prefixed && !section.literal)).ok_or_else(|| {
            let reason = format!(
                "The names of a file in the diff do not agree: {}. Give one edit for each file.",
                section.shown()
            );
            EditRefusal::new(RefusalKind::SeveralFiles, reason)
        })
    });
    each.collect()
}

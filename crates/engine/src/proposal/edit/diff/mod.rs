//! Unified diffs, as models write them: each hunk goes where its old side matches.

mod damage;
mod names;
mod read;
mod wrapping;

use super::hunk::{Op, PatchHunk};
use super::indent::Reindent;
use super::lines::{self, LineEnding, TextLines, is_blank, split_indent, without_bom};
use super::occur::LineMatch;
use super::place::Finder;
use super::splice::{Splice, splice};
use super::{EditRefusal, FileAfter, Files, NewContent, RefusalKind, elision};
use read::FilePatch;

/// Where each file of a diff of `path` is, and where it moves. One that cannot be read is about no file.
pub(super) fn moves(path: &str, diff: &str) -> Vec<(String, Option<String>)> {
    let lines = lines::split(without_bom(diff).as_bytes());
    let patch = wrapping::unwrapped(&lines).and_then(|lines| read::read(path, lines));
    patch.map_or_else(|_| Vec::new(), |patch| patch.files.into_iter().map(|file| (file.path, file.to)).collect())
}

/// The files that a diff of `path` is about, `path` among them. One that cannot be read is about `path` alone.
pub(super) fn paths(path: &str, diff: &str) -> Vec<String> {
    let mut paths = vec![path.to_owned()];
    for name in moves(path, diff).into_iter().flat_map(|(path, to)| [Some(path), to]).flatten() {
        if !paths.contains(&name) {
            paths.push(name);
        }
    }
    paths
}

pub(super) fn apply(path: &str, diff: &str, files: &Files<'_>) -> Result<Vec<FileAfter>, EditRefusal> {
    let lines = lines::split(without_bom(diff).as_bytes());
    let mut patch = read::read(path, wrapping::unwrapped(&lines)?)?;
    let mut all = Vec::new();
    for diff in &mut patch.files {
        let before = files.get(&diff.path)?;
        let after = file_after(diff, patch.style, before)?;
        let Some(to) = diff.to.take() else {
            all.push(FileAfter { path: diff.path.clone(), after, from: None });
            continue;
        };
        if files.get(&to)?.is_some() {
            let reason = format!("{to} exists already, so {} cannot be moved there.", diff.path);
            return Err(EditRefusal::new(RefusalKind::Exists, reason));
        }
        all.push(FileAfter { path: diff.path.clone(), after: NewContent::Delete, from: None });
        all.push(FileAfter { path: to, after, from: Some(diff.path.clone()) });
    }
    Ok(all)
}

fn file_after(diff: &mut FilePatch<'_>, style: LineEnding, before: Option<&[u8]>) -> Result<NewContent, EditRefusal> {
    let path = &diff.path.clone();
    if before.is_none() {
        add_blank_lines(diff);
    }
    if let Some(before) = before {
        lines::readable(path, before, !diff.unseen && !diff.hunks.is_empty())?;
    }
    match before {
        Some(_) if diff.creates => {
            let reason = format!("The diff creates {path}, which exists. Give a diff against its present text.");
            Err(EditRefusal::new(RefusalKind::Exists, reason))
        }
        None if diff.deletes || diff.to.is_some() || diff.hunks.iter().any(|hunk| hunk.old_len() > 0) => {
            let reason = format!("{path} does not exist, so the lines that the diff expects are not there.");
            Err(EditRefusal::new(RefusalKind::Missing, reason))
        }
        None if !diff.creates && diff.hunks.iter().any(|hunk| hunk.appends) => {
            let reason =
                format!("{path} does not exist, so it cannot be updated. Create it with `*** Add File: {path}`.");
            Err(EditRefusal::new(RefusalKind::Missing, reason))
        }
        Some(_) if diff.unseen && diff.hunks.is_empty() => Ok(NewContent::Delete),
        Some(before) if diff.deletes => delete(path, diff, before),
        Some(before) if diff.to.is_some() && !diff.hunks.iter().any(PatchHunk::changes) => {
            Ok(NewContent::Write(before.to_vec()))
        }
        None if diff.creates && diff.hunks.is_empty() => Ok(NewContent::Write(Vec::new())),
        before => change(path, diff, style, before),
    }
}

/// In the diff of a new file nothing can be context, so that a blank line is one whose plus got lost.
fn add_blank_lines(diff: &mut FilePatch<'_>) {
    for hunk in &mut diff.hunks {
        let new = diff.creates || hunk.numbers.is_some_and(|numbers| numbers.old == 0);
        for line in hunk.lines.iter_mut().filter(|line| new && line.op == Op::Keep && line.text.is_empty()) {
            line.op = Op::Add;
        }
    }
}

fn name_of(diff: &FilePatch<'_>, at: usize) -> String {
    if diff.hunks.len() == 1 { "The hunk".to_owned() } else { format!("Hunk {}", at + 1) }
}

/// Only where every hunk is there already does the whole diff have nothing left to do.
fn partly(diff: &FilePatch<'_>, finder: &Finder<'_>, refusal: EditRefusal) -> EditRefusal {
    let is_done = |hunk: &PatchHunk<'_>| {
        finder.place("", hunk, 0).is_err_and(|refusal| refusal.kind == RefusalKind::AlreadyApplied)
    };
    if refusal.kind == RefusalKind::AlreadyApplied && !diff.hunks.iter().all(is_done) {
        return EditRefusal { kind: RefusalKind::PartlyApplied, ..refusal };
    }
    refusal
}

fn change(
    path: &str,
    diff: &FilePatch<'_>,
    style: LineEnding,
    before: Option<&[u8]>,
) -> Result<NewContent, EditRefusal> {
    if !diff.hunks.iter().any(PatchHunk::changes) {
        let reason = format!("The diff adds and removes nothing in {path}.");
        return Err(EditRefusal::new(RefusalKind::NoChange, reason));
    }
    let bytes = before.unwrap_or_default();
    for (at, hunk) in diff.hunks.iter().enumerate() {
        let old = diff.hunks.iter().flat_map(|hunk| hunk.old().map(|line| line.text));
        elision::refuse(path, &name_of(diff, at), &hunk.lines, old)?;
    }
    lines::writable(path, bytes, diff.hunks.iter().flat_map(PatchHunk::added))?;
    let file = TextLines::split(bytes);
    let mut finder = Finder::new(path, &file);
    finder.old_file_named = diff.old_named;
    let mut splices = Vec::with_capacity(diff.hunks.len());
    let mut shift = 0;
    for (at, hunk) in diff.hunks.iter().enumerate() {
        let name = name_of(diff, at);
        let placed = finder.place(&name, hunk, shift).map_err(|refusal| partly(diff, &finder, refusal))?;
        shift +=
            hunk.added().count() as isize - hunk.lines.iter().filter(|line| line.op == Op::Remove).count() as isize;
        if hunk.changes() {
            splices.push(Splice::new(name, hunk, placed));
        }
    }
    let after = splice(path, &file, splices, style)?;
    if before == Some(&after[..]) {
        let reason = format!("The diff changes nothing in {path}: what it would write is there already.");
        return Err(EditRefusal::new(RefusalKind::NoChange, reason));
    }
    Ok(NewContent::Write(after))
}

/// A file may go only if the diff knew all of it.
fn delete(path: &str, diff: &FilePatch<'_>, before: &[u8]) -> Result<NewContent, EditRefusal> {
    let differs = |why: &str| {
        let reason =
            format!("The diff deletes {path}, but {why}, so it was made for another text. Read the file again.");
        Err(EditRefusal::new(RefusalKind::Differs, reason))
    };
    let file = TextLines::split(before);
    let mut lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    if lines.any(|line| line.op == Op::Add || (line.op == Op::Keep && !is_blank(line.text))) {
        return differs("it does not only remove lines");
    }
    let old: Vec<&[u8]> = diff.hunks.iter().flat_map(|hunk| hunk.old().map(|line| line.text)).collect();
    if old.len() != file.lines.len() {
        return differs(&format!("the file has {} lines and the diff removes {}", file.lines.len(), old.len()));
    }
    let pairs = || old.iter().copied().zip(file.texts());
    if let Some(at) = pairs()
        .position(|(old, file)| LineMatch::Indentation.comparable(old) != LineMatch::Indentation.comparable(file))
    {
        return differs(&format!(
            "line {} is {} and not {}",
            at + 1,
            lines::shown(file.lines[at].text),
            lines::shown(old[at])
        ));
    }
    let indents: Vec<_> = pairs()
        .filter(|(old, _)| !is_blank(old))
        .map(|(old, file)| (split_indent(old).0, split_indent(file).0))
        .collect();
    if Reindent::between(&indents).is_none() {
        return differs("the lines are indented in another way");
    }
    Ok(NewContent::Delete)
}

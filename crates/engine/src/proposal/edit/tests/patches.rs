//! Patches of several files: all of them, or none.

use super::super::{FileAfter, apply as apply_all};
use super::*;
use RefusalKind::*;

type Given<'a> = &'a [(&'a str, &'a str)];

/// Applies a diff for `path` to a folder that has `files`; the folder afterwards, or the kind of refusal.
fn folder(path: &str, files: Given<'_>, text: &str) -> Result<Vec<(String, String)>, RefusalKind> {
    let edit = diff_of(path, text);
    let find = |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_bytes());
    let given: Files<'_> = edit.paths().into_iter().map(|name| (name.clone(), find(&name))).collect();
    let all = apply_all(&edit, &given).map_err(|refusal| refusal.kind)?;
    let mut after: std::collections::BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    for FileAfter { path, after: now, .. } in all {
        match now {
            NewContent::Write(bytes) => after.insert(path, String::from_utf8(bytes).unwrap()),
            NewContent::Delete => after.remove(&path),
        };
    }
    Ok(after.into_iter().collect())
}

fn is(files: Given<'_>) -> Result<Vec<(String, String)>, RefusalKind> {
    Ok(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

#[test]
fn a_codex_patch_adds_deletes_moves_and_updates() {
    let files: Given<'_> = &[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")];
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d/c.txt\n@@\n-three\n+THREE\n*** Add File: e.txt\n+new\n+\n+file\n*** End Patch\n";
    let done = || is(&[("a.txt", "ONE\n"), ("d/c.txt", "THREE\n"), ("e.txt", "new\n\nfile\n")]);
    assert_eq!(folder("a.txt", files, patch), done());
    assert_eq!(folder("e.txt", files, patch), done(), "the edit may be for any of its files");
    assert_eq!(folder("d/c.txt", files, patch), done());
    assert_eq!(folder("q.txt", files, patch), Err(OtherPath));
    assert_eq!(folder("a.txt", files, &format!("Here it is:\n```\n{patch}```\n")), done());
    assert_eq!(diff_of("b.txt", patch).paths(), ["b.txt", "a.txt", "c.txt", "d/c.txt", "e.txt"]);
}

#[test]
fn one_refused_file_refuses_the_patch() {
    let files: Given<'_> = &[("a.txt", "one\n"), ("b.txt", "two\n")];
    let with = |more: &str| format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n{more}*** End Patch\n");
    for (more, kind) in [
        ("*** Update File: b.txt\n@@\n-three\n+x\n", NotFound),
        ("*** Update File: none.txt\n@@\n-three\n+x\n", Missing),
        ("*** Update File: none.txt\n@@\n+x\n", Missing),
        ("*** Delete File: none.txt\n", Missing),
        ("*** Add File: b.txt\n+x\n", Exists),
        ("*** Add File: c.txt\nx\n", Malformed),
        ("*** Update File: b.txt\n*** Move to: a.txt\n@@\n-two\n+x\n", Malformed),
        ("*** Delete File: a.txt\n", Malformed),
        ("*** Delete File: b.txt\n-three\n", Differs),
    ] {
        assert_eq!(folder("a.txt", files, &with(more)), Err(kind), "{more}");
    }
    let blank = with("*** Add File: c.txt\n+x\n\n+y\n\n");
    assert_eq!(folder("a.txt", files, &blank), is(&[("a.txt", "ONE\n"), ("b.txt", "two\n"), ("c.txt", "x\n\ny\n")]));
    let taken = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+ONE\n*** End Patch\n";
    assert_eq!(folder("a.txt", files, taken), Err(Exists));
    let again = with("*** Update File: a.txt\n@@\n-ONE\n+x\n");
    assert_eq!(folder("a.txt", files, &again), Err(NotFound), "hunks are all about the file as it is");
}

#[test]
fn a_git_diff_of_several_files_applies_to_all() {
    let files: Given<'_> = &[("src/a.rs", "one\n"), ("src/b.rs", "two\n"), ("old.rs", "three\nfour\n")];
    let patch = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-one\n+ONE\ndiff --git a/src/b.rs b/src/b.rs\ndeleted file mode 100644\n--- a/src/b.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\ndiff --git a/old.rs b/new.rs\nsimilarity index 50%\nrename from old.rs\nrename to new.rs\n--- a/old.rs\n+++ b/new.rs\n@@ -1,2 +1,2 @@\n three\n-four\n+FOUR\ndiff --git a/e.rs b/e.rs\nnew file mode 100644\n--- /dev/null\n+++ b/e.rs\n@@ -0,0 +1 @@\n+new\n";
    let done = || is(&[("e.rs", "new\n"), ("new.rs", "three\nFOUR\n"), ("src/a.rs", "ONE\n")]);
    for path in ["src/a.rs", "src/b.rs", "old.rs", "new.rs", "e.rs"] {
        assert_eq!(folder(path, files, patch), done(), "{path}");
    }
    let plain =
        "--- src/a.rs\n+++ src/a.rs\n@@ -1 +1 @@\n-one\n+ONE\n--- src/b.rs\n+++ src/b.rs\n@@ -1 +1 @@\n-two\n+TWO\n";
    let both = is(&[("old.rs", "three\nfour\n"), ("src/a.rs", "ONE\n"), ("src/b.rs", "TWO\n")]);
    assert_eq!(folder("src/a.rs", files, plain), both);
}

#[test]
fn a_rename_is_a_move() {
    let files: Given<'_> = &[("x.rs", "one\ntwo\n")];
    let pure = "diff --git a/x.rs b/y.rs\nsimilarity index 100%\nrename from x.rs\nrename to y.rs\n";
    assert_eq!(folder("x.rs", files, pure), is(&[("y.rs", "one\ntwo\n")]));
    assert_eq!(folder("y.rs", files, pure), is(&[("y.rs", "one\ntwo\n")]));
    let edited = format!("{pure}--- a/x.rs\n+++ b/y.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n");
    assert_eq!(folder("x.rs", files, &edited), is(&[("y.rs", "one\nTWO\n")]));
    assert_eq!(folder("x.rs", files, &edited.replace("-two", "-three")), Err(NotFound));
    assert_eq!(folder("x.rs", &[("x.rs", "one\ntwo\n"), ("y.rs", "")], pure), Err(Exists));
    assert_eq!(folder("y.rs", &[], pure), Err(Missing));
    assert_eq!(folder("x.rs", files, "--- a/x.rs\n+++ b/y.rs\n@@\n-two\n+TWO\n"), Err(OtherPath), "no rename lines");
    let copied = "diff --git a/x.rs b/y.rs\ncopy from x.rs\ncopy to y.rs\n";
    assert_eq!(folder("y.rs", files, copied), Err(OtherPath));
}

#[test]
fn names_of_other_files_have_to_agree() {
    let files: Given<'_> = &[("a.txt", "one\n"), ("b/c.txt", "two\n"), ("c.txt", "two\n")];
    let first = "--- a/a.txt\n+++ b/a.txt\n@@\n-one\n+ONE\n";
    let odd = format!("{first}--- a/c.txt\n+++ b/d.txt\n@@\n-two\n+TWO\n");
    assert_eq!(folder("a.txt", files, &odd), Err(SeveralFiles));
    let bare = "--- a.txt\n+++ a.txt\n@@\n-one\n+ONE\n--- b/c.txt\n+++ b/c.txt\n@@\n-two\n+TWO\n";
    let done = is(&[("a.txt", "ONE\n"), ("b/c.txt", "TWO\n"), ("c.txt", "two\n")]);
    assert_eq!(folder("a.txt", files, bare), done, "a folder called b is no prefix where there are none");
    let tight = "---a/a.txt\n+++b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n";
    let done = is(&[("a.txt", "ONE\n"), ("b/c.txt", "two\n"), ("c.txt", "two\n")]);
    assert_eq!(folder("a.txt", files, tight), done);
}

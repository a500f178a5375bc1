use super::*;

fn paths(text: &str) -> Vec<String> {
    ReviewDiff::parse(text).files.into_iter().map(|file| file.path).collect()
}

#[test]
fn a_diff_of_git_is_read_with_renames_deletions_and_binary_files() {
    let text = "\
warning: something that git says first
diff --git a/src/old name.rs b/src/new name.rs
similarity index 90%
rename from src/old name.rs
rename to src/new name.rs
index 1..2 100644
--- a/src/old name.rs\t
+++ b/src/new name.rs\t
@@ -1,2 +1,2 @@ mod x
 a
--- b
+++ b
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 1..0
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/empty.txt b/empty.txt
new file mode 100644
index 0..0
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --cc both.rs
index 1,2..3
--- a/both.rs
+++ b/both.rs
@@@ -1,2 -1,2 +1,3 @@@
  x
++y
-- 
2.40.0
";
    let diff = ReviewDiff::parse(text);
    let [renamed, logo, gone, empty, mode, merged] = diff.files.as_slice() else { panic!("{diff:#?}") };
    assert_eq!((renamed.path.as_str(), renamed.old_path.as_deref()), ("src/new name.rs", Some("src/old name.rs")));
    let lines =
        vec![ReviewLine::Same("a".into()), ReviewLine::Removed("-- b".into()), ReviewLine::Added("++ b".into())];
    assert_eq!(renamed.hunks, [ReviewHunk { old_start: 1, new_start: 1, heading: "mod x".into(), lines }]);
    assert!(logo.is_hidden && logo.path == "logo.png" && logo.hunks.is_empty());
    assert_eq!((gone.path.as_str(), gone.change, gone.hunks.len()), ("gone.txt", ReviewedChange::Deleted, 1));
    assert_eq!((empty.path.as_str(), empty.change), ("empty.txt", ReviewedChange::Added));
    assert_eq!((mode.path.as_str(), mode.change, mode.is_hidden), ("run.sh", ReviewedChange::Changed, false));
    assert!(merged.is_hidden && merged.path == "both.rs", "{merged:?}");
}

#[test]
fn names_are_read_however_git_writes_them() {
    let named = |old: &str, new: &str| paths(&format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"));
    for (old, new, path) in [
        ("a/x.rs", "b/x.rs", "x.rs"),
        ("i/x.rs", "w/x.rs", "x.rs"),
        ("x.rs", "x.rs", "x.rs"),
        ("a/x.rs", "a/x.rs", "a/x.rs"),
        ("/dev/null", "b/x.rs", "x.rs"),
        ("a/x.rs\t2026-01-01 10:00:00", "b/x.rs\t2026-01-01 10:00:01", "x.rs"),
        ("\"a/sp\\303\\244t.rs\"", "\"b/sp\\303\\244t.rs\"", "spät.rs"),
        ("\"a/x\\ny\"", "\"b/x\\ny\"", "x\\ny"),
    ] {
        assert_eq!(named(old, new), [path], "{old} {new}");
    }
    let only_named = |names: &str| paths(&format!("diff --git {names}\nold mode 100644\nnew mode 100755\n"));
    assert_eq!(only_named("a/x y b/x y"), ["x y"]);
    assert_eq!(only_named("\"a/\\303\\244\" \"b/\\303\\244\""), ["ä"]);
    assert_eq!(only_named("x y"), Vec::<String>::new(), "the halves differ");
}

#[test]
fn a_text_that_is_no_diff_has_no_files() {
    for text in ["", "hello\n--- world\n", "@@ -1 +1 @@\n-a\n+b\n", "--- a/x\n+++ b/x\n", "+++ b/x\n@@ -1 +1 @@\n+a"] {
        assert_eq!(paths(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_header_that_promises_more_than_there_is_gives_no_more_lines() {
    let text = "--- a/x\n+++ b/x\n@@ -1,99999999999 +1,99999999999 @@\n a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n\
                @@ -1 +18446744073709551615 @@\n-a\n+b\n@@ -x +y @@\n@@ -1 +99999999999999999999 @@\n";
    let diff = ReviewDiff::parse(text);
    let [x, y] = diff.files.as_slice() else { panic!("{diff:#?}") };
    assert!(x.has_line(2) && !x.has_line(3));
    assert!(y.has_line(u64::MAX) && !y.has_line(1) && y.hunks.len() == 1);
}

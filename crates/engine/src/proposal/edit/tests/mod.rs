//! What edits do, as tables of cases: a name, a file, an edit, and the file afterwards or the kind
//! of refusal.

mod anchors;
mod blocks;
mod diffs;
mod encodings;
mod meant;
mod parts;
mod patches;
mod placeholders;
mod random;
mod sizes;
mod styles;
mod wholes;

use super::{Edit, EditRefusal, Files, NewContent, RefusalKind, SearchReplace};

/// Applies an edit that is about one file.
fn apply(edit: &Edit, before: Option<&[u8]>) -> Result<NewContent, EditRefusal> {
    let mut all = super::apply(edit, &Files::from_iter([(edit.path().to_owned(), before)]))?;
    assert_eq!(all.len(), 1, "{all:?}");
    Ok(all.remove(0).after)
}

/// What a case expects.
enum Then<'a> {
    Is(&'a [u8]),
    Gone,
    Refused(RefusalKind),
}
use Then::{Gone, Is, Refused};

/// Applies and compares; all cases of a table are run, so that one failure does not hide others.
fn check(cases: &[(&str, Option<&[u8]>, Edit, Then<'_>)]) {
    let mut failures = String::new();
    for (name, before, edit, then) in cases {
        let got = apply(edit, *before);
        let right = match (&got, then) {
            (Ok(NewContent::Write(bytes)), Is(expected)) => bytes == expected,
            (Ok(NewContent::Delete), Gone) => true,
            (Err(refusal), Refused(kind)) => refusal.kind == *kind && !refusal.reason.is_empty(),
            _ => false,
        };
        if !right {
            let got = match got {
                Ok(NewContent::Write(bytes)) => format!("{:?}", String::from_utf8_lossy(&bytes)),
                other => format!("{other:?}"),
            };
            failures += &format!("{name}: {got}\n");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

fn diff(text: &str) -> Edit {
    diff_of("src/x.rs", text)
}

fn diff_of(path: &str, text: &str) -> Edit {
    Edit::UnifiedDiff { path: path.into(), diff: text.into() }
}

fn blocks(pairs: &[(&str, &str)]) -> Edit {
    let blocks =
        pairs.iter().map(|(search, replace)| SearchReplace { search: (*search).into(), replace: (*replace).into() });
    Edit::SearchReplace { path: "src/x.rs".into(), blocks: blocks.collect() }
}

fn whole(content: &str) -> Edit {
    Edit::WholeFile { path: "src/x.rs".into(), content: content.into() }
}

#[test]
fn an_edit_reads_and_writes_the_json_of_the_command_line() {
    let json = r#"{"kind":"search_replace","path":"a.py","blocks":[{"search":"x","replace":"y"}]}"#;
    let edit: Edit = serde_json::from_str(json).unwrap();
    assert_eq!(edit.path(), "a.py");
    assert_eq!(serde_json::to_string(&edit).unwrap(), json);
    let json = r#"{"kind":"unified_diff","path":"a.py","diff":"@@\n-a\n+b\n"}"#;
    assert_eq!(serde_json::to_string(&serde_json::from_str::<Edit>(json).unwrap()).unwrap(), json);
    let json = r#"{"kind":"whole_file","path":"a.py","content":""}"#;
    assert_eq!(serde_json::to_string(&serde_json::from_str::<Edit>(json).unwrap()).unwrap(), json);
}

//! Text that stands for text left out.

use super::*;

fn verdict(path: &str, before: &str, line: &str) -> bool {
    let edit = diff_of(path, &format!("@@\n {before}\n+{line}\n"));
    matches!(apply(&edit, Some(format!("{before}\n").as_bytes())), Err(refusal) if refusal.kind == RefusalKind::Placeholder)
}

#[test]
fn lines_that_only_stand_for_others_are_refused() {
    let lines = [
        "// ... existing code ...",
        "    // ...existing code...",
        "# rest unchanged",
        "# ... rest of the file unchanged",
        "/* ... */",
        "<!-- ... -->",
        "<!-- rest of the page unchanged -->",
        "...",
        "…",
        "// …",
        "-- ...",
        "; ...",
        "% ... unchanged ...",
        "{/* ... existing code ... */}",
        "// rest of the code remains the same",
        "// (unchanged)",
        "# existing code here",
        "// ... other methods ...",
        "# ... (rest of code)",
        "// Rest of the function stays the same",
        "[... rest of file unchanged ...]",
        "(* ... *)",
        "...existing code...",
        "... existing code ...",
        "// [existing code]",
        "# unchanged",
        "/* existing code */",
        "// code omitted for brevity",
        "foo() { /* ... existing code ... */ }",
        "return x; // ... rest of the code unchanged",
        "// ... keep existing imports ...",
        "/// ... existing docs ...",
        "// ... rest of implementation",
        "[...]",
        "{ ... }",
        "// same as before",
        " * ... existing code ...",
        "REM ... existing code ...",
        "// ... more code here",
        "// remaining code...",
        "# ... previous code ...",
    ];
    let missed: Vec<_> = lines.iter().filter(|line| !verdict("src/x.ts", "before", line)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn dots_and_comments_that_mean_themselves_are_not() {
    let lines = [
        ("x.py", "def f(self) -> int:", "    ..."),
        ("x.pyi", "class A:  # why", "    ..."),
        ("x.py", "    \"\"\"Doc.\"\"\"", "    ..."),
        ("x.py", "a", "x: tuple[int, ...] = ()"),
        ("x.py", "a", "def f(): ..."),
        ("x.js", "a", "  ...props,"),
        ("x.js", "a", "  ...rest"),
        ("x.js", "a", "[...rest]"),
        ("x.jsx", "a", "{...props}"),
        ("x.js", "a", "(...args) => args"),
        ("x.js", "a", "{ ...state, x: 1 }"),
        ("x.rs", "a", "0..10"),
        ("x.rs", "a", ".."),
        ("x.rs", "a", "..Default::default()"),
        ("x.c", "int f(int a,", "      ..."),
        ("x.yaml", "a: 1", "..."),
        ("x.js", "a", "// Return the value unchanged if it is a string"),
        ("x.js", "a", "// Loading the rest..."),
        ("x.js", "a", "console.log('... existing code ...');"),
        ("x.js", "a", "// remaining fields"),
        ("x.js", "a", "// other methods"),
        ("x.json", "a", "\"unchanged\","),
        ("x.css", "a", "#unchanged {"),
        ("x.toml", "a", "[existing_code]"),
        ("x.rs", "a", "#[derive(Debug)]"),
        ("x.md", "a", "## Unchanged"),
        ("x.md", "a", "The rest is unchanged."),
        ("x.md", "a", "* Unchanged"),
        ("x.rs", "a", "// The original code was written by others, see the history."),
        ("x.py", "a", "# TODO: more"),
        ("x.graphql", "a", "... on User {"),
        ("x.sh", "a", "# Keep the socket open while the rest of the script runs"),
        ("x.go", "a", "args..."),
        ("x.html", "a", "<rest>"),
        ("x.ts", "a", "foo(...rest); // spread"),
        ("x.md", "a", "and so on..."),
        ("x.py", "a", "# Everything else is an error."),
    ];
    let wrong: Vec<_> = lines.iter().filter(|(path, before, line)| verdict(path, before, line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_placeholder_that_the_old_text_has_may_stay() {
    check(&[
        ("moved", Some(b"// ...\na\n"), diff("@@\n-// ...\n a\n+// ...\n"), Is(b"a\n// ...\n")),
        (
            "indented",
            Some(b"if x:\n  # ...\n"),
            blocks(&[("if x:\n  # ...", "if y:\n    # ...\n    z")]),
            Is(b"if y:\n    # ...\n    z\n"),
        ),
        ("context", Some(b"// ...\na\n"), diff("@@\n // ...\n-a\n+b\n"), Is(b"// ...\nb\n")),
        ("removed", Some(b"// ...\na\n"), diff("@@\n-// ...\n+real();\n a\n"), Is(b"real();\na\n")),
    ]);
}

#[test]
fn words_that_stand_for_a_text_are_none() {
    for text in [
        "the whole new file",
        "The whole new file.\n",
        "\"a unified diff\"",
        "…",
        "...",
        "<content>",
        "{{file_content}}",
        "[your code here]",
        "# Your code here",
        "// your code here",
        "<!-- your content here -->",
        "<the whole new file>",
    ] {
        let edit = Edit::WholeFile { path: "a.py".into(), content: text.into() };
        let refused = apply(&edit, None).expect_err(text);
        assert_eq!(refused.kind, RefusalKind::Placeholder, "{text}");
        let replaced = apply(&blocks(&[("old line", text)]), Some(b"old line\n"));
        assert_eq!(replaced.expect_err(text).kind, RefusalKind::Placeholder, "{text}");
    }
    for text in
        ["content", "text\n", "x = 1", "# code", "[]", "{}", "<html></html>", "The whole new file is here: a = 1", ""]
    {
        let edit = Edit::WholeFile { path: "a.py".into(), content: text.into() };
        assert!(apply(&edit, None).is_ok(), "{text:?}");
    }
    let edit = Edit::WholeFile { path: "…".into(), content: "x".into() };
    assert_eq!(apply(&edit, None).expect_err("no path").kind, RefusalKind::Placeholder);
}

#[test]
fn rows_of_dots_are_a_drawing() {
    let diff = |lines: &[&str]| {
        let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
        apply(&diff_of("grid.txt", &format!("@@\n before\n{added}")), Some(b"before\n"))
    };
    for lines in [&["....", "....", "...."][..], &["..........", "..#......."], &["............"]] {
        assert!(diff(lines).is_ok(), "{lines:?}");
    }
    for lines in [&["a", "...", "b"][..], &["......"], &["...", "....", "code"], &["...", "..."]] {
        assert!(diff(lines).is_err(), "{lines:?}");
    }
}

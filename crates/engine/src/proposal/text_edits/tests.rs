use super::super::edit::SearchReplace;
use super::*;

fn read(reply: &str, named: &[String]) -> TextEdits {
    super::read(reply, names(named), |_| None)
}

fn names(named: &[String]) -> NamedPaths<'_> {
    NamedPaths { named, folder: Some("/home/ann/shop") }
}

fn named(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn whole(path: &str, content: &str) -> Edit {
    Edit::WholeFile { path: path.into(), content: content.into() }
}

fn edits(reply: &str, files: &[&str]) -> Vec<Edit> {
    read(reply, &named(files)).edits
}

fn left(reply: &str, files: &[&str]) -> Vec<Uncertainty> {
    let read = read(reply, &named(files));
    assert_eq!(read.edits, [], "{reply}");
    read.unplaced.into_iter().map(|block| block.why).collect()
}

#[test]
fn a_path_is_read_wherever_models_write_it() {
    for reply in [
        "```python hello.py\nprint(1)\n```",
        "```hello.py\nprint(1)\n```",
        "```python:hello.py\nprint(1)\n```",
        "```python title=\"hello.py\"\nprint(1)\n```",
        "```python {file=hello.py}\nprint(1)\n```",
        "hello.py\n```python\nprint(1)\n```",
        "Here it is.\n\n`hello.py`\n\n```python\nprint(1)\n```",
        "**hello.py**\n```\nprint(1)\n```",
        "### `hello.py`:\n```python\nprint(1)\n```",
        "File: hello.py\n```python\nprint(1)\n```",
        "1. **./hello.py**\n```python\nprint(1)\n```",
        "Here is the new `hello.py`:\n```python\nprint(1)\n```",
    ] {
        assert_eq!(edits(reply, &[]), [whole("hello.py", "print(1)\n")], "{reply}");
    }
    let commented = "```python\n# hello.py\nprint(1)\n```";
    assert_eq!(edits(commented, &[]), [whole("hello.py", "# hello.py\nprint(1)\n")]);
    assert_eq!(edits("```js\n// src/a.js\nlet a;\n```", &[]), [whole("src/a.js", "// src/a.js\nlet a;\n")]);
}

#[test]
fn the_only_file_that_the_request_names_is_the_one() {
    let reply = "Sure:\n```python\nprint(1)\n```\nDone.";
    assert_eq!(edits(reply, &["hello.py"]), [whole("hello.py", "print(1)\n")]);
    assert_eq!(edits(reply, &["a.py", "b.py"]), []);
    assert_eq!(edits(reply, &["config.json"]), [], "the language is another one");
    let two = "```python\nprint(1)\n```\nor\n```python\nprint(2)\n```";
    assert_eq!(edits(two, &["hello.py"]), [], "which of the two is not said");
    let with_command = "```python\nprint(1)\n```\nRun it:\n```bash\npython hello.py\n```\n```\n1\n```";
    assert_eq!(edits(with_command, &["hello.py"]), [], "the output has no language");
    let with_command = "```python\nprint(1)\n```\nRun it:\n```bash\npython hello.py\n```";
    assert_eq!(edits(with_command, &["hello.py"]), [whole("hello.py", "print(1)\n")]);
}

#[test]
fn commands_outputs_and_examples_are_no_files() {
    for reply in [
        "Run this:\n```bash\npython hello.py\n```",
        "hello.py\n```bash\npython hello.py\n```",
        "```console\n$ ls\n```",
        "The output of `hello.py` will be:\n```\n1\n2\n```",
        "To run `hello.py`, use the command:\n```text\npython hello.py\n```",
    ] {
        assert_eq!(edits(reply, &[]), [], "{reply}");
    }
    assert_eq!(edits("deploy.sh\n```bash\n#!/bin/sh\nls\n```", &[]), [whole("deploy.sh", "#!/bin/sh\nls\n")]);
}

#[test]
fn what_is_cut_or_leaves_something_out_is_never_an_edit() {
    assert_eq!(left("```python hello.py\nprint(1)\n", &[]), [Uncertainty::Cut]);
    assert_eq!(left("```python hello.py\n# ... existing code ...\nprint(1)\n```", &[]), [Uncertainty::Elided]);
    assert_eq!(left("```python\na = 1\nb = 2\n```", &[]), [Uncertainty::NoPath]);
    assert_eq!(left("```diff\n--- a/x.py\n+++ b/x.py\n@@\n-a\n+b\n", &[]), [Uncertainty::Cut]);
    assert_eq!(left("<think>```python hello.py\nprint(1)\n```</think>", &[]), []);
}

#[test]
fn a_part_of_a_known_file_is_not_the_file() {
    let known = "import sys\n\ndef greet(name):\n    print(\"Hello\", name)\n\ngreet(sys.argv[1])\n";
    let read = |reply: &str| super::read(reply, names(&named(&["greet.py"])), |_| Some(ShownFile::Whole(known.into())));
    let part = "```python greet.py\ndef farewell(name):\n    print(\"Bye\", name)\n```";
    assert_eq!(read(part).unplaced[0].why, Uncertainty::Part);
    let all = format!("```python greet.py\n{known}\ndef farewell(name):\n    print(\"Bye\", name)\n```");
    assert_eq!(read(&all).edits.len(), 1);
}

#[test]
fn diffs_name_their_files() {
    let diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n";
    let wanted = [Edit::UnifiedDiff { path: "x.py".into(), diff: diff.into() }];
    assert_eq!(edits(&format!("```diff\n{diff}```"), &[]), wanted);
    assert_eq!(edits(&format!("```\n{diff}```"), &[]), wanted, "also without a language");
    let bare = "```diff\n@@ -1 +1 @@\n-a\n+b\n```";
    assert_eq!(
        edits(bare, &["x.py"]),
        [Edit::UnifiedDiff { path: "x.py".into(), diff: "@@ -1 +1 @@\n-a\n+b\n".into() }]
    );
    assert_eq!(edits(bare, &[]), []);
    let patch = "```\n*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch\n```";
    assert_eq!(edits(patch, &[])[0].path(), "src/a.rs");
}

#[test]
fn search_blocks_are_read_in_and_outside_of_fences() {
    let block = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n";
    let wanted = |path: &str, count: usize| {
        let block = SearchReplace { search: "a = 1\n".into(), replace: "a = 2\n".into() };
        vec![Edit::SearchReplace { path: path.into(), blocks: vec![block; count] }]
    };
    for reply in [
        format!("x.py\n```python\n{block}```"),
        format!("```python\nx.py\n{block}```"),
        format!("```python x.py\n{block}```"),
        format!("Change it:\n\nx.py\n{block}\nDone."),
    ] {
        assert_eq!(edits(&reply, &[]), wanted("x.py", 1), "{reply}");
    }
    assert_eq!(edits(&format!("```\n{block}```"), &["y.py"]), wanted("y.py", 1));
    assert_eq!(edits(&format!("x.py\n```\n{block}{block}```"), &[]), wanted("x.py", 2));
    assert_eq!(left(&format!("```\n{block}```"), &[]), [Uncertainty::NoPath]);
    let damaged = "x.py\n```\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n```";
    assert_eq!(left(damaged, &[]), [Uncertainty::Damaged]);
}

#[test]
fn a_block_that_looks_for_nothing_makes_a_new_file() {
    let reply = "new.py\n```python\n<<<<<<< SEARCH\n=======\nprint(1)\n>>>>>>> REPLACE\n```";
    let diff = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+print(1)\n";
    assert_eq!(edits(reply, &[]), [Edit::UnifiedDiff { path: "new.py".into(), diff: diff.into() }]);
}

#[test]
fn several_files_of_a_reply_are_all_read_in_order() {
    let reply = "a.py\n```python\na = 1\n```\nand b.py:\n\n**b.py**\n```python\nb = 1\n```\n";
    assert_eq!(edits(reply, &["a.py", "b.py"]), [whole("a.py", "a = 1\n"), whole("b.py", "b = 1\n")]);
    let read = read(reply, &[]);
    assert_eq!(&reply[read.ranges[0].clone()], "```python\na = 1\n```\n");
}

#[test]
fn what_is_shown_to_be_replaced_is_not_the_file() {
    let pair = "In `app.py`, change this line:\n```python\nx = 1\n```\nto:\n```python\nx = 2\n```\n";
    assert_eq!(read(pair, &[]).edits, []);
    let pair = "app.py\n```python\nx = 1\n```\nwith:\n```python\nx = 2\n```\n";
    assert_eq!(read(pair, &[]).edits, []);
    let command = "```bash\n# requirements.txt\npip install -r requirements.txt\n```\n";
    assert_eq!(read(command, &[]).edits, []);
    let shown = |path: &str| (path == "app.py").then(|| ShownFile::Whole("a\nb\nc\nd\n".into()));
    let part = super::read("app.py\n```python\na = 2\n```\n", names(&[]), shown);
    assert_eq!((part.edits.len(), part.unplaced[0].why), (0, Uncertainty::Part));
    let part = super::read("app.py\n```python\na = 2\n```\n", names(&[]), |_| Some(ShownFile::Part));
    assert_eq!((part.edits.len(), part.unplaced[0].why), (0, Uncertainty::Part));
}

#[test]
fn what_models_put_before_a_path_is_left_out() {
    for path in ["/home/ann/shop/src/a.py", "path/to/src/a.py", "./src/a.py", "**/home/ann/shop/src/a.py**"] {
        let reply = format!("{path}\n```python\nprint(1)\n```");
        assert_eq!(edits(&reply, &[]), [whole("src/a.py", "print(1)\n")], "{path}");
    }
    assert_eq!(edits("path/to/a.py\n```\nx\n```", &["path/to/a.py"]), [whole("path/to/a.py", "x\n")]);
    let shown = |path: &str| (path == "path/to/a.py").then(|| ShownFile::Whole("x\n".into()));
    assert_eq!(super::read("path/to/a.py\n```\ny\n```", names(&[]), shown).edits, [whole("path/to/a.py", "y\n")]);
    assert_eq!(edits("/home/bob/a.py\n```\nx\n```", &[]), [], "another folder");
}

#[test]
fn names_in_fences_head_the_text_behind_them() {
    let one = "```\nstack.py\n```\nclass Stack:\n    pass\n```";
    assert_eq!(edits(one, &["stack.py"]), [whole("stack.py", "class Stack:\n    pass\n")]);
    let two = "Sure:\n```\na.txt\n```\nalpha\n```\nb.txt\n```\nbeta\n```\n";
    assert_eq!(edits(two, &[]), [whole("a.txt", "alpha\n"), whole("b.txt", "beta\n")]);
    let within = "```python\nhello.py\nprint(1)\n```";
    assert_eq!(edits(within, &["hello.py"]), [whole("hello.py", "print(1)\n")]);
    let list = "a.py\n```\nx\n```\nb.py\n```\ny\n```\nFiles:\n```\na.py\nb.py\n```";
    assert_eq!(edits(list, &["a.py", "b.py"]), [whole("a.py", "x\n"), whole("b.py", "y\n")]);
    let ignored = ".gitignore\n```\ndebug.log\nx.txt\n```";
    assert_eq!(edits(ignored, &[".gitignore", "debug.log"]), [whole(".gitignore", "debug.log\nx.txt\n")]);
    assert_eq!(edits("Run it:\n```sh\n./run.sh\n```\nIt prints:\n```", &[]), []);
    assert_eq!(edits("The file is\n```\nstack.py\n```\nand it is fine.", &["stack.py"]), []);
    assert_eq!(edits("```\nls\n```\ntext\n```", &[]), []);
}

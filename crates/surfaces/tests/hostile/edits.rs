//! Edits that must be refused, and damaged answers.

/// Edits that must not land anywhere else than where they say, and answers that must not be read as something else.
#[allow(clippy::disallowed_methods, reason = "tests make their own files")]
mod places {
    use serde_json::{Value, json};
    use trimtab_testkit::program::Program;
    use trimtab_testkit::provider::{Answer, Reply};

    fn program(files: &[(&str, &str)]) -> Program {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        for (name, text) in files {
            let path = program.project().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        program
    }

    fn text(program: &Program, name: &str) -> Option<String> {
        std::fs::read_to_string(program.project().join(name)).ok()
    }

    /// Applies an edit to one file: its text afterwards, or the reason of the refusal.
    fn apply(before: &str, edit: &Value) -> Result<String, String> {
        let path = edit["path"].as_str().expect("a path");
        let program = program(&[(path, before)]);
        let ended = program.run_with_input(&["apply-edit", "-"], edit.to_string().as_bytes());
        let said = ended.events().remove(0);
        let after = text(&program, path).unwrap_or_default();
        if said["applied"] == true {
            return Ok(after);
        }
        assert_eq!((ended.code, after.as_str()), (Some(1), before), "a refused edit changes nothing");
        Err(said["reason"].as_str().unwrap_or_default().to_owned())
    }

    fn diff(before: &str, diff: &str) -> Result<String, String> {
        apply(before, &json!({"kind": "unified_diff", "path": "f.py", "diff": diff}))
    }

    fn block(before: &str, search: &str, replace: &str) -> Result<String, String> {
        let blocks = json!([{"search": search, "replace": replace}]);
        apply(before, &json!({"kind": "search_replace", "path": "f.py", "blocks": blocks}))
    }

    fn refused(result: Result<String, String>, why: &str) {
        let reason = result.expect_err("refused");
        assert!(reason.contains(why), "{reason}");
    }

    const CLASSES: &str = "class A:\n    x = 10\n\nclass B:\n    x = 11\n";

    #[test]
    fn a_hunk_for_one_class_never_changes_another() {
        let body = "-    x = 10\n+    x = 12\n";
        for header in [
            "*** Begin Patch\n*** Update File: f.py\n@@ class B:\n",
            "--- a/f.py\n+++ b/f.py\n@@ class B:\n",
            "--- a/f.py\n+++ b/f.py\n@@ -5,1 +5,1 @@ class B:\n",
        ] {
            refused(diff(CLASSES, &format!("{header}{body}")), "after `class B:`");
        }
        refused(diff(CLASSES, &format!("@@ class X:\n{body}")), "the anchor `class X:`, which is not in f.py");
        let both = "class A:\n    x = 10\n\nclass B:\n    x = 10\n";
        let right = diff(both, &format!("*** Begin Patch\n*** Update File: f.py\n@@ class B:\n{body}*** End Patch\n"));
        assert_eq!(right.as_deref(), Ok("class A:\n    x = 10\n\nclass B:\n    x = 12\n"));
    }

    #[test]
    fn a_hunk_for_the_end_of_the_file_never_changes_its_beginning() {
        let patch = "*** Begin Patch\n*** Update File: f.py\n@@\n-x\n+X\n*** End of File\n*** End Patch\n";
        refused(diff("x\ny\nz\n", patch), "`*** End of File`");
        assert_eq!(diff("x\ny\nx\n", patch).as_deref(), Ok("x\ny\nX\n"));
    }

    #[test]
    fn a_lost_line_break_never_becomes_a_line_of_the_file() {
        refused(diff("a\nb\n", "@@ -1,2 +1,4 @@\n a\n+xn+y\n b\n"), "line break");
    }

    #[test]
    fn a_part_of_a_line_is_never_replaced_where_it_occurs_twice() {
        assert_eq!(block("say hello world\n", "hello world", "bye").as_deref(), Ok("say bye\n"));
        refused(block("say hello world\nhello world!\n", "hello world", "bye"), "Give whole lines");
        refused(block("say hello\n", "hello", "bye"), "whole lines");
    }

    #[test]
    fn copied_line_numbers_never_end_up_in_the_file() {
        let file = "fn a() {\n    one();\n}\n";
        for separator in ["\t", " | ", "→", ": "] {
            let search = format!("2{separator}    one();\n3{separator}}}");
            let replace = format!("2{separator}    two();\n3{separator}}}");
            let after = block(file, &search, &replace);
            assert_eq!(after.as_deref(), Ok("fn a() {\n    two();\n}\n"), "{separator:?}");
            refused(block(file, &search, &format!("{replace}\nfn b() {{}}")), "without the line numbers");
            refused(block(file, &format!("9{separator}    zero();"), "x"), "without the line numbers");
        }
    }

    #[test]
    fn blank_lines_that_differ_are_no_reason_to_lose_the_files_own() {
        assert_eq!(diff("a\n\nb\nc\n", "@@\n a\n b\n-c\n+C\n").as_deref(), Ok("a\n\nb\nC\n"));
        assert_eq!(diff("a\nb\n", "@@\n a\n-b\n+B\n \n").as_deref(), Ok("a\nB\n"));
        refused(diff("a\n\nb\n", "@@\n a\n+x\n b\n"), "does not occur");
        assert_eq!(diff("a\n", "---a/f.py\n+++b/f.py\n@@ -1 +1 @@\n-a\n+b\n").as_deref(), Ok("b\n"));
    }

    const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d/c.txt\n@@\n-three\n+THREE\n*** Add File: e.txt\n+new\n*** End Patch\n";
    const FILES: [(&str, &str); 3] = [("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")];

    #[test]
    fn a_patch_of_several_files_is_never_half_applied() {
        let program = program(&FILES);
        let edit = |diff: &str| json!({"kind": "unified_diff", "path": "a.txt", "diff": diff}).to_string();
        let untouched = || FILES.iter().all(|(name, before)| text(&program, name).as_deref() == Some(*before));
        for (from, to) in [
            ("-three", "-four"),
            ("e.txt", "../outside.txt"),
            ("e.txt", "/etc/outside.txt"),
            ("e.txt", ".trimtab/config.toml"),
            ("Move to: d/c.txt", "Move to: ../c.txt"),
            ("Move to: d/c.txt", "Move to: b.txt"),
            ("Delete File: b.txt", "Delete File: none.txt"),
            ("Delete File: b.txt", "Delete File: ./a.txt"),
        ] {
            let ended = program.run_with_input(&["apply-edit", "-"], edit(&PATCH.replace(from, to)).as_bytes());
            assert_eq!(ended.code, Some(1), "{to}: {}", ended.stdout);
            assert!(untouched() && text(&program, "e.txt").is_none(), "{to}");
        }
        let dry = program.run_with_input(&["apply-edit", "-", "--dry-run"], edit(PATCH).as_bytes());
        assert_eq!((dry.code, untouched()), (Some(0), true), "{}", dry.stdout);
        let done = program.run_with_input(&["apply-edit", "-"], edit(PATCH).as_bytes());
        assert_eq!(done.events()[0]["files"].as_array().map(Vec::len), Some(5), "{}", done.stdout);
        let after = ["a.txt", "b.txt", "c.txt", "d/c.txt", "e.txt"].map(|name| text(&program, name));
        let wanted = [Some("ONE\n"), None, None, Some("THREE\n"), Some("new\n")];
        assert_eq!(after.each_ref().map(Option::as_deref), wanted);
    }

    #[test]
    fn a_rename_in_a_diff_never_overwrites_a_file() {
        let patch = "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+ONE\n";
        let edit = json!({"kind": "unified_diff", "path": "a.txt", "diff": patch}).to_string();
        let taken = program(&FILES);
        assert_eq!(taken.run_with_input(&["apply-edit", "-"], edit.as_bytes()).code, Some(1));
        assert_eq!(text(&taken, "b.txt").as_deref(), Some("two\n"));
        let free = program(&FILES[..1]);
        assert_eq!(free.run_with_input(&["apply-edit", "-"], edit.as_bytes()).code, Some(0));
        assert_eq!((text(&free, "a.txt"), text(&free, "b.txt").as_deref()), (None, Some("ONE\n")));
    }

    /// How a run ends in which the model makes one tool call.
    fn run(program: &Program, tool: &str, input: &Value) -> Option<i32> {
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", tool, [input.to_string()])));
        program.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
        program.run(&["run", "--trust", "work"]).code
    }

    #[test]
    fn a_patch_never_changes_a_second_file_that_nobody_allowed() {
        let patch = |more: &str| json!({"path": "a.txt", "diff": format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n{more}*** End Patch\n")});
        let shell = patch("*** Add File: .bashrc\n+evil\n");
        let asked = program(&FILES);
        assert_eq!(run(&asked, "apply_diff", &shell), Some(3), "a shell's file is asked about, wherever it is named");
        let ruled = program(&FILES);
        assert_eq!(ruled.run(&["rules", "add", "allow", "edit_file", "a.txt"]).code, Some(0));
        assert_eq!(run(&ruled, "apply_diff", &shell), Some(3), "a rule about one file says nothing about another");
        let denied = program(&FILES);
        assert_eq!(denied.run(&["rules", "add", "deny", "edit_file", "b.txt"]).code, Some(0));
        assert_eq!(run(&denied, "apply_diff", &patch("*** Update File: b.txt\n@@\n-two\n+TWO\n")), Some(0));
        for program in [&asked, &ruled, &denied] {
            let seen = ["a.txt", "b.txt", ".bashrc"].map(|name| text(program, name));
            assert_eq!(seen.each_ref().map(Option::as_deref), [Some("one\n"), Some("two\n"), None]);
        }
        let fine = program(&FILES);
        assert_eq!(run(&fine, "apply_diff", &patch("*** Update File: b.txt\n@@\n-two\n+TWO\n")), Some(0));
        assert_eq!(text(&fine, "b.txt").as_deref(), Some("TWO\n"), "two plain files are one change");
    }

    #[test]
    fn a_file_is_never_deleted_or_emptied_by_an_edit_without_a_question() {
        let gone = json!({"path": "b.txt", "diff": "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch\n"});
        let emptied = json!({"path": "b.txt", "blocks": [{"search": "two", "replace": ""}]});
        for (tool, input) in [
            ("apply_diff", gone),
            ("apply_diff", json!({"path": "b.txt", "diff": "@@\n-two\n"})),
            ("edit_file", emptied),
            ("write_file", json!({"path": "b.txt", "content": ""})),
        ] {
            let program = program(&FILES);
            assert_eq!(run(&program, tool, &input), Some(3), "{tool} {input}");
            assert_eq!(text(&program, "b.txt").as_deref(), Some("two\n"), "{tool} {input}");
        }
    }

    #[test]
    fn rules_about_deleting_and_moving_are_never_passed_by_in_a_patch() {
        let wrapped = |body: &str| format!("*** Begin Patch\n{body}*** End Patch\n");
        let gone = json!({"path": "b.txt", "diff": wrapped("*** Delete File: b.txt\n")});
        let moved = json!({"path": "b.txt", "diff": wrapped("*** Update File: b.txt\n*** Move to: d.txt\n")});
        let renamed = json!({"path": "b.txt", "diff": "diff --git a/b.txt b/d.txt\nsimilarity index 100%\nrename from b.txt\nrename to d.txt\n"});
        let lost = wrapped("*** Update File: b.txt\n*** Move to: d.txt\n@@\n-two\n");
        let lost = json!({"path": "b.txt", "diff": lost});
        let read = json!({"path": "b.txt"});
        // The rules, the patch, how the run ends, and whether the file is still where it was.
        for (rules, input, code, stays) in [
            (&["deny delete_file *"][..], &gone, 0, true),
            (&["deny move_file *"], &moved, 0, true),
            (&["deny move_file d.txt"], &renamed, 0, true),
            (&["ask move_file *"], &renamed, 3, true),
            (&["allow edit_file *"], &gone, 3, true),
            (&["allow edit_file *", "allow move_file *"], &lost, 3, true),
            (&["allow edit_file *", "allow delete_file *"], &gone, 0, false),
            (&[], &gone, 3, true),
            (&[], &lost, 3, true),
            (&[], &moved, 0, false),
            (&[], &renamed, 0, false),
            (&["deny move_file other.txt", "deny delete_file *"], &moved, 0, false),
        ] {
            let program = program(&FILES);
            for rule in rules {
                let words: Vec<&str> = ["rules", "add"].into_iter().chain(rule.split(' ')).collect();
                assert_eq!(program.run(&words).code, Some(0), "{rule}");
            }
            program.provider.push(Answer::anthropic(Reply::new().tool("toolu_0", "read_file", [read.to_string()])));
            assert_eq!(run(&program, "apply_diff", input), Some(code), "{rules:?} {input}");
            let there = text(&program, "b.txt").as_deref() == Some("two\n");
            assert_eq!(there, stays, "{rules:?} {input}");
        }
    }

    #[test]
    fn no_file_of_a_patch_is_changed_if_one_of_them_is_not_as_it_was_read() {
        let program = program(&FILES);
        for name in ["a.txt", "b.txt"] {
            let input = json!({"path": name}).to_string();
            program.provider.push(Answer::anthropic(Reply::new().tool(name, "read_file", [input])));
        }
        program.provider.push(Answer::anthropic(Reply::new().text(["Read."])));
        assert_eq!(program.run(&["run", "--trust", "read"]).code, Some(0));
        std::fs::write(program.project().join("b.txt"), "mine\ntwo\n").expect("writes");
        let diff = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** Update File: b.txt\n@@\n-two\n+TWO\n*** End Patch\n";
        let input = json!({"path": "a.txt", "diff": diff}).to_string();
        program.provider.push(Answer::anthropic(Reply::new().tool("toolu_1", "apply_diff", [input])));
        program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
        assert_eq!(program.run(&["run", "--trust", "--continue", "work"]).code, Some(0));
        let now = ["a.txt", "b.txt"].map(|name| text(&program, name));
        assert_eq!(now.each_ref().map(Option::as_deref), [Some("one\n"), Some("mine\ntwo\n")]);
        let told = program.provider.requests().last().expect("a request").body.to_string();
        assert!(told.contains("b.txt was not changed: it has changed since you last read it"), "{told}");
    }

    #[test]
    fn a_damaged_answer_never_loses_or_makes_up_a_command() {
        let program = program(&[]);
        let commands = json!([{"command": "ls", "description": "list"}]);
        let recover = |text: &str| program.run_with_input(&["recover", "-"], text.as_bytes()).events().remove(0);
        for space in ["\u{2000}", "\u{2002}", "\u{200a}", "\u{202f}", "\u{205f}", "\u{180e}", "\u{2060}"] {
            let read =
                recover(&format!("{{{space}\"summary\":{space}\"value\"{space},{space}\"commands\": {commands}}}"));
            assert_eq!(read["answer"], json!({"summary": "value", "commands": commands}), "{space:?}");
        }
        let tail = recover(&format!("{{\"summary\": \"value\", \"commands\": {commands}}}, {{}}"));
        assert_eq!(tail["answer"]["commands"], commands);
        assert_eq!(recover("{\"summary\": \"value\"}, {}")["answer"], json!({"summary": "value"}));
        let steps = recover("{\"summary\": \"value\", \"nextSteps\": [\"a\"\n\"b\"]}");
        assert_eq!(steps["answer"]["nextSteps"].as_array().map(Vec::len), Some(2), "{steps}");
        let bare = recover("{summary: value, commands: [{command: ls, description: list}]}");
        assert_eq!(bare["answer"]["commands"], commands, "{bare}");
    }
}

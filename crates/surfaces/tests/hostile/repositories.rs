//! What a hostile repository must not make git run.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

/// A repository with two commits, a merge and a change, and a program `payload` that leaves a file `RAN`.
fn repository(script: &str) -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    fs::create_dir_all(program.home()).expect("a folder");
    fs::write(program.home().join("config.toml"), "[apply]\ncommands = \"auto\"\n").expect("writes");
    fs::create_dir_all(program.project()).expect("a folder");
    let made = "git init -q -b main . && git config user.name a && git config user.email a@b && \
        printf '#!/bin/sh\\ntouch \"%s/RAN\"\\ncat\\n' \"$PWD\" > .git/payload && chmod +x .git/payload && \
        echo one > f && git add f && git commit -qm one && git checkout -qb side && echo side > g && git add g && \
        git commit -qm side && git checkout -q main && echo two > h && git add h && git commit -qm two && \
        git merge -q -m merge side && git tag v1 && P=\"$PWD/.git/payload\" && ";
    sh(&program.project(), &format!("{made} {script}"));
    let _ = fs::remove_file(program.project().join("RAN"));
    program
}

fn sh(folder: &Path, script: &str) {
    let mut shell = Command::new("bash");
    shell.args(["-ec", script]).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    shell.env("GIT_ALLOW_PROTOCOL", "file");
    let done = shell.output().expect("bash");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Runs a line without asking anybody; whether it was started, and what the model was told.
fn run(program: &Program, line: &str) -> (bool, String) {
    let call = Reply::new().tool("toolu_1", "run_command", [json!({"command": line}).to_string()]);
    program.provider.push(Answer::anthropic(call));
    program.provider.push(Answer::anthropic(Reply::new().text(["Done."])));
    let ended = program.run(&["run", "--json", "--trust", "go"]);
    let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    (ended.code == Some(0), format!("{sent}\n{}\n{}", ended.stdout, ended.stderr))
}

/// The payload of the repository does not run, and plain git would have started it.
fn never_runs(script: &str, line: &str) {
    let program = repository(script);
    let (_, told) = run(&program, line);
    assert!(!program.project().join("RAN").exists(), "{line} ran a program of the repository: {told}");
    // The control: without us it does run, or the test would prove nothing.
    let mut plain = Command::new("bash");
    plain.args(["-c", line]).current_dir(program.project()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    plain.output().expect("bash");
    assert!(program.project().join("RAN").exists(), "plain git does not start it either: {line}");
}

#[test]
fn a_filter_behind_a_thousand_others_never_runs() {
    let many = "for n in $(seq 1001); do printf '[filter \"x%s\"]\\n\\tclean = cat\\n' $n; done >> .git/config; \
        git config filter.last.clean \"$P\"; echo '* filter=last' > .git/info/attributes; sleep 1; echo x > f";
    never_runs(many, "git diff");
}

#[test]
fn a_filter_whose_name_is_not_text_never_runs() {
    let odd = "printf '[filter \"\\377\"]\\n\\tclean = %s\\n' \"$P\" >> .git/config; printf 'f filter=\\377\\n' > \
        .git/info/attributes; sleep 1; echo x > f";
    never_runs(odd, "git diff");
}

/// A submodule with settings of its own.
const SUBMODULE: &str = "git init -q -b main sub && (cd sub && git config user.name a && git config user.email a@b && \
    echo s > s && git add s && git commit -qm s) && printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n\
    \\tignore = none\\n' > .gitmodules && git add .gitmodules sub && git commit -qm sub && ";

#[test]
fn a_filter_of_a_submodule_never_runs() {
    let script = format!(
        "{SUBMODULE} git -C sub config filter.x.clean \"$P\"; echo '* filter=x' > sub/.git/info/attributes; sleep 1; \
        echo x > sub/s"
    );
    never_runs(&script, "git status");
    never_runs(&script, "git status | head -5");
    never_runs(&format!("{script}; rm .gitmodules"), "git status | head -5");
    never_runs(&script, "cd sub && git status");
}

#[test]
fn a_submodules_way_to_show_differences_never_runs() {
    let script = format!("{SUBMODULE} git -C sub config diff.external \"$P\"; echo x > sub/s");
    never_runs(&script, "git diff --submodule=diff");
    never_runs(&script, "git -c diff.submodule=diff diff");
    let script = format!(
        "{SUBMODULE} git -C sub config diff.x.textconv \"$P\"; echo '* diff=x' > sub/.gitattributes; echo x > sub/s"
    );
    never_runs(&script, "git diff --submodule=diff");
}

/// A signed commit and a program that is to check it.
const SIGNED: &str = "git config gpg.program \"$P\" && c=$(git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN \
    PGP SIGNATURE-----\\n \\n x\\n -----END PGP SIGNATURE-----' | git hash-object -t commit -w --stdin) && git reset -q \
    --hard $c && t=$(printf 'object %s\\ntype commit\\ntag v2\\ntagger a <a@b> 1 +0000\\n\\nx\\n-----BEGIN PGP SIGNATURE-----\\n\
    \\nx\\n-----END PGP SIGNATURE-----\\n' $c | git hash-object -t tag -w --stdin) && git update-ref refs/tags/v2 $t && git tag light $c && \
    rm -f RAN && ";

#[test]
fn a_format_of_the_repository_never_checks_signatures() {
    never_runs(&format!("{SIGNED} git config format.pretty '%G?'"), "git log");
    never_runs(&format!("{SIGNED} git config log.showSignature true"), "git log -1");
}

#[test]
fn no_spelling_of_a_format_checks_signatures() {
    for line in [
        "git show '--format=%-GK'",
        "git log '--format=%+GK'",
        "git log '--format=% G?'",
        "git log '--pretty=format:%h %G?'",
        "git shortlog '--group=format:%G?' HEAD",
    ] {
        never_runs(&format!("{SIGNED} true"), line);
    }
}

#[test]
fn sorting_by_signature_never_checks_one() {
    never_runs(&format!("{SIGNED} git config branch.sort signature"), "git branch");
    never_runs(&format!("{SIGNED} git config tag.sort signature"), "git tag -l");
}

#[test]
fn a_merge_driver_never_runs() {
    let script = "git config log.diffMerges remerge; git config merge.x.driver \"$P %O %A %B\"; git checkout -q side; \
        echo 'f merge=x' > .git/info/attributes; echo s > f; git commit -qam s; git checkout -q main; echo m > f; \
        git commit -qam m; git merge -q -m again side || true; rm -f RAN; echo z > f; git add f; git commit -qm again \
        --allow-empty; true";
    never_runs(script, "git log -m -p");
}

#[test]
fn an_ordinary_repository_asks_nothing() {
    let script = "git config remote.origin.url https://example.org/x.git; git config branch.main.remote origin; \
        git config alias.st status; git config core.pager less; git config pull.rebase true; \
        git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.smudge 'git-lfs smudge -- %f'; \
        git config filter.lfs.process 'git-lfs filter-process'; git config filter.lfs.required true; \
        git config lfs.repositoryformatversion 0; mkdir -p src; echo x > f";
    let program = repository(script);
    for line in
        ["git status", "git diff | head -5", "git log --oneline -3", "cd src && git status --short", "git branch"]
    {
        let (ran, told) = run(&program, line);
        assert!(ran && told.contains("Exit code 0"), "{line}: {told}");
    }
}

#[test]
fn an_unknown_setting_is_named_and_git_does_not_start() {
    let program = repository("git config core.worktree /");
    let (_, told) = run(&program, "git status");
    assert!(told.contains("core.worktree"), "{told}");
}

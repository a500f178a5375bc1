//! Out of the sandbox through git: a command plants what the next `git status` of the user would run.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::{Path, PathBuf};
use std::process::Command;

use trimtab_testkit::program::Program;

use super::fences::{make, program, write};

/// Runs in the project as the user would.
pub(crate) fn user(program: &Program, script: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(program.project()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("HOME", program.project().parent().expect("a folder above"));
    command.output().is_ok_and(|done| done.status.success())
}

const COMMIT: &str = "git -c user.name=a -c user.email=a@b -c protocol.file.allow=always";

/// Prepares a repository, lets an automatic command attack, and lets the user work: nothing may have run outside.
#[track_caller]
fn attacked(prepare: &str, attack: &str, use_it: &str) {
    let (program, outside) = trap(prepare, attack);
    let ended = make(&program, "sh attack.sh; true");
    let automatic = program.project().join("ran").exists();
    user(&program, use_it);
    let said = format!("ran: {automatic}\n{}\n{}", ended.stdout, ended.stderr);
    assert!(!outside.exists(), "the payload ran outside of the sandbox\n{said}");
}

/// The same, and the attack succeeds where nothing guards against it.
#[track_caller]
fn attacked_in_earnest(prepare: &str, attack: &str, use_it: &str) {
    let (program, outside) = trap(prepare, attack);
    user(&program, "sh attack.sh");
    user(&program, use_it);
    assert!(outside.exists(), "the attack works: {prepare}");
    attacked(prepare, attack, use_it);
}

/// A project with an attack in it, and the file that is there once the payload ran outside.
fn trap(prepare: &str, attack: &str) -> (Program, PathBuf) {
    let program = program("");
    write(&program, "a.txt", "a\n");
    assert!(user(&program, &prepare.replace("COMMIT", COMMIT)), "the repository is made");
    let outside = program.project().parent().expect("a folder above").join("pwned");
    let payload = format!("{}/payload", program.project().display());
    std::fs::write(&payload, format!("#!/bin/sh\nid > {}\n", outside.display())).expect("writes");
    assert!(user(&program, "chmod +x payload"));
    write(&program, "attack.sh", &attack.replace("PAYLOAD", &payload));
    (program, outside)
}

const REPOSITORY: &str = "git init -q . && git add a.txt && COMMIT commit -qm one";

/// The trap works: git runs what is planted where nothing guards it.
#[test]
fn the_payload_does_run_where_nothing_guards_it() {
    let program = program("");
    write(&program, "a.txt", "a\n");
    assert!(user(&program, &REPOSITORY.replace("COMMIT", COMMIT)));
    let outside = program.project().parent().expect("a folder above").join("pwned");
    let command = format!("git config core.fsmonitor 'id > {}; false'; git status", outside.display());
    user(&program, &command);
    assert!(Path::new(&outside).exists());
}

#[test]
fn a_commondir_never_leads_git_to_settings_of_a_command() {
    attacked(
        REPOSITORY,
        "mkdir .x; cp -r .git/objects .git/refs .x/; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \
         PAYLOAD\\n' > .x/config; echo ../.x > .git/commondir",
        "git status",
    );
}

#[test]
fn settings_of_a_worktree_are_never_written() {
    attacked(
        "git init -q . && git add a.txt && COMMIT commit -qm one && git config extensions.worktreeConfig true",
        "printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' > .git/config.worktree",
        "git status",
    );
}

#[test]
fn settings_of_a_submodule_are_never_written() {
    attacked(
        "git init -q ../other && (cd ../other && echo b > b && git add b && COMMIT commit -qm b) && git init -q . && \
         COMMIT submodule add -q ../other sm && COMMIT commit -qm one",
        "git config -f .git/modules/sm/config core.fsmonitor PAYLOAD; printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> \
         .git/modules/sm/config; mv .git/modules/sm .git/modules/x && cp -r .git/modules/x .git/modules/sm && printf \
         '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> .git/modules/sm/config",
        "git status; cd sm && git status",
    );
}

#[test]
fn settings_of_a_bare_layout_are_never_written() {
    attacked(
        "git init -q . && git add a.txt && COMMIT commit -qm one && mv .git .bare && echo 'gitdir: ./.bare' > .git && \
         git config core.bare false",
        "printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> .bare/config; cp PAYLOAD .bare/hooks/post-index-change",
        "git status; git add -A",
    );
}

#[test]
fn a_link_in_place_of_the_hooks_drops_no_other_mark() {
    attacked(
        "git init -q . && git add a.txt && COMMIT commit -qm one && rm -rf .git/hooks && mkdir shared && \
         ln -s ../shared .git/hooks",
        "printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> .git/config; cp PAYLOAD shared/post-index-change; cp PAYLOAD \
         .git/hooks/post-checkout",
        "git status; git add -A; git checkout -q -b x",
    );
}

#[test]
fn settings_of_a_nested_repository_are_never_written() {
    attacked(
        "git init -q . && git init -q lib && git add a.txt && COMMIT commit -qm one",
        "printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> lib/.git/config; mv lib l; mkdir -p lib; cp -r l/.git lib/.git; \
         printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >> lib/.git/config",
        "cd lib && git status",
    );
}

#[test]
fn hooks_in_a_folder_that_the_settings_name_are_never_written() {
    attacked(
        "git init -q . && mkdir -p .husky/_ && echo '*' > .husky/_/.gitignore && git config core.hooksPath .husky/_ && \
         git add a.txt && COMMIT commit -qm one",
        "cp PAYLOAD .husky/_/post-index-change; cp PAYLOAD .husky/_/pre-commit; mv .husky .h && mkdir -p .husky/_ && cp \
         PAYLOAD .husky/_/post-index-change",
        "git add -A; git -c user.name=a -c user.email=a@b commit -qm two",
    );
}

#[test]
fn a_folder_never_becomes_a_repository_with_settings_of_a_command() {
    attacked(
        REPOSITORY,
        "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/main' > docs/HEAD; printf \
         '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = PAYLOAD\\n' > docs/config; cp .git/index docs/index",
        "cd docs && git status",
    );
}

#[test]
fn a_folder_with_a_commondir_never_becomes_a_repository() {
    attacked_in_earnest(
        REPOSITORY,
        "mkdir -p docs x/objects x/refs; echo 'ref: refs/heads/main' > docs/HEAD; echo ../x > docs/commondir; printf \
         '[core]\\n\\tbare = false\\n\\tworktree = .\\n' > docs/config.worktree; printf \
         '[core]\\n\\trepositoryformatversion = 1\\n\\tfsmonitor = PAYLOAD\\n[extensions]\\n\\tworktreeConfig = true\\n' > \
         x/config",
        "cd docs && git status",
    );
}

#[test]
fn no_spelling_of_the_hooks_folder_leaves_it_writable() {
    for (value, folder) in [
        ("tools/hk ; c", "mkdir -p tools/hk"),
        ("tools/hk # c", "true"),
        ("\"tools\"/hk", "mkdir -p tools/hk"),
        ("to\\\nols/hk", "mkdir -p tools/hk"),
        ("tools/hk", "mkdir -p t/hk && ln -s t tools"),
    ] {
        attacked_in_earnest(
            &format!(
                "git init -q . && {folder} && git add a.txt && COMMIT commit -qm one && cat >> .git/config <<'E'\n\
                 [core]\n\thooksPath = {value}\nE\n"
            ),
            "rm -f tools; mkdir -p tools/hk; cp PAYLOAD tools/hk/pre-commit",
            "git add -A; git -c user.name=a -c user.email=a@b commit -qm two",
        );
    }
}

#[test]
fn no_spelling_of_an_include_leaves_the_settings_writable() {
    let evil = "printf '[core]\\n\\tfsmonitor = PAYLOAD\\n' >";
    for (value, inner, attacked_file) in [
        ("../inc.cfg # c", "", "inc.cfg"),
        ("\"../inc.cfg\" ; x", "", "inc.cfg"),
        ("../inc.cfg", "[include]\n\tpath = sub/two.cfg ; c\n", "sub/two.cfg"),
        ("../new.cfg", "", "new.cfg"),
    ] {
        attacked_in_earnest(
            &format!(
                "git init -q . && mkdir sub && touch sub/two.cfg && git add a.txt && COMMIT commit -qm one && cat > \
                 inc.cfg <<'E'\n{inner}E\ncat >> .git/config <<'E'\n[include]\n\tpath = {value}\nE\n"
            ),
            &format!("{evil} {attacked_file}"),
            "git status",
        );
    }
}

#[test]
fn files_that_other_programs_obey_are_never_written() {
    let program = program("");
    let files =
        [".envrc", ".vscode/tasks.json", ".github/workflows/ci.yml", ".husky/pre-commit", "AGENTS.md", ".bashrc"];
    for path in &files[..3] {
        write(&program, path, "old");
    }
    let all = files.join(" ");
    make(&program, &format!("for f in {all}; do mkdir -p $(dirname $f); echo new > $f; done; true"));
    assert!(program.project().join("ran").exists());
    for path in files {
        let text = std::fs::read_to_string(program.project().join(path)).ok();
        assert_ne!(text.as_deref(), Some("new\n"), "{path}");
    }
}

#[test]
fn a_planted_control_file_never_poses_as_a_placeholder() {
    let program = program("");
    let long = format!("{}.code-workspace", "x".repeat(235));
    let attack = format!("echo EVIL > AGENTS.md; chmod +t AGENTS.md; echo EVIL > {long}; true");
    make(&program, &attack);
    assert!(program.project().join("ran").exists());
    for name in ["AGENTS.md", &long] {
        assert!(!program.project().join(name).exists(), "{name} stayed");
    }
}

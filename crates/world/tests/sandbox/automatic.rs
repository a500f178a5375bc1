//! What an automatic command cannot do with what it finds or plants, and what must go on nevertheless.

use std::fs;
use std::os::unix::fs::symlink;

use trimtab_vocab::CommandClass::{self, Check, Read};
use trimtab_vocab::Sandbox::Workspace;
use trimtab_world::sandbox::CommandOutcome;

use crate::scene::{Scene, text};

crate::checks![
    names_that_are_taken_never_keep_a_planted_file,
    what_a_linked_control_file_leads_to_is_never_written,
    a_link_in_the_home_never_shows_a_secret,
    a_path_of_tools_never_brings_the_home_back,
    git_works_in_a_part_of_a_repository_below_the_home,
    the_files_of_the_first_process_are_never_opened,
    threads_and_processes_of_the_command_are_its_own,
    what_somebody_else_checks_out_is_never_renamed,
    settings_that_git_cannot_read_never_count_as_none,
    a_credential_in_the_settings_of_git_is_never_read,
    a_secret_of_the_command_before_is_never_read,
    a_control_file_that_is_new_since_the_command_before_is_never_written,
];

fn scene(class: CommandClass) -> Scene {
    Scene { automatic: Some(class), ..Scene::new() }
}

/// None where automatic commands are not possible.
fn tried(outcome: CommandOutcome) -> Option<CommandOutcome> {
    match &outcome.blocked {
        Some(why) => println!("  it cannot be tried here: {why}"),
        None => return Some(outcome),
    }
    None
}

fn names_that_are_taken_never_keep_a_planted_file() {
    let scene = scene(Check);
    let script =
        "touch AGENTS.md.blocked; for n in $(seq 200); do touch AGENTS.md.blocked-$n; done; echo x > AGENTS.md";
    let Some(outcome) = tried(scene.sh(script, Workspace)) else { return };
    assert_eq!((outcome.undone, scene.at("in/AGENTS.md").exists()), (vec!["AGENTS.md".to_owned()], false));
}

fn what_a_linked_control_file_leads_to_is_never_written() {
    for automatic in [Some(Check), None] {
        let scene = Scene { automatic, ..Scene::new() };
        fs::create_dir_all(scene.at("in/tools/hooks")).unwrap();
        fs::create_dir_all(scene.at("in/docs")).unwrap();
        fs::write(scene.at("in/docs/agents.md"), "old").unwrap();
        symlink("docs/agents.md", scene.at("in/CLAUDE.md")).unwrap();
        symlink("docs/missing.md", scene.at("in/AGENTS.md")).unwrap();
        symlink("tools/hooks", scene.at("in/.husky")).unwrap();
        fs::create_dir_all(scene.at("in/.github")).unwrap();
        fs::write(scene.at("in/docs/ci.yml"), "old").unwrap();
        symlink("../docs/ci.yml", scene.at("in/.github/ci.yml")).unwrap();
        let script = "echo x > docs/agents.md; echo x > docs/ci.yml; echo x > docs/missing.md; mv docs gone; echo x > tools/hooks/pre-commit; true";
        let Some(outcome) = tried(scene.sh(script, Workspace)) else { return };
        let protected = outcome.fences.map(|fences| fences.protected);
        if !protected.as_ref().is_some_and(|fence| fence.holds()) {
            return println!("  it cannot be tried here: {protected:?}");
        }
        for path in ["in/docs/agents.md", "in/docs/ci.yml"] {
            assert_eq!(fs::read_to_string(scene.at(path)).unwrap(), "old");
        }
        assert!(!scene.at("in/tools/hooks/pre-commit").exists());
        assert_eq!(scene.at("in/docs/missing.md").exists(), automatic.is_none());
    }
}

fn a_link_in_the_home_never_shows_a_secret() {
    let scene = scene(Read);
    fs::create_dir_all(scene.at("elsewhere")).unwrap();
    fs::write(scene.at("elsewhere/config"), "secret").unwrap();
    symlink(scene.at("elsewhere"), scene.at("home/.kube")).unwrap();
    let Some(outcome) = tried(scene.sh("cat ../elsewhere/config ~/.kube/config", Workspace)) else { return };
    assert!(!text(&outcome).contains("secret"), "{}", text(&outcome));
}

fn a_path_of_tools_never_brings_the_home_back() {
    let mut scene = scene(Read);
    fs::create_dir_all(scene.at("home/bin")).unwrap();
    fs::write(scene.at("home/notes"), "secret").unwrap();
    symlink("..", scene.at("home/bin/all")).unwrap();
    let path = scene.setup.environment.iter_mut().find(|(name, _)| name == "PATH").unwrap();
    let home = scene.base.path().join("home");
    path.1 = format!("{0}/bin/..:{0}/bin/all:{1}", home.display(), path.1.display()).into();
    let Some(outcome) = tried(scene.sh("cat ~/notes ~/bin/all/notes; echo done", Workspace)) else { return };
    assert!(!text(&outcome).contains("secret") && text(&outcome).contains("done"), "{}", text(&outcome));
}

fn the_files_of_the_first_process_are_never_opened() {
    let script = "for n in 0 1 2 3 4; do : >> /proc/1/fd/$n && echo opened; readlink /proc/1/fd/$n; done; echo done";
    let Some(outcome) = tried(scene(Check).run(&["bash", "-c", script], Workspace)) else { return };
    let said = text(&outcome);
    assert!(!said.lines().any(|line| line == "opened" || line.starts_with("pipe:")), "{said}");
    assert!(said.contains("done") || outcome.not_started.is_some(), "{said}");
}

fn threads_and_processes_of_the_command_are_its_own() {
    let script = "import os, signal, threading\n\
        os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0))\n\
        os.setpriority(os.PRIO_PROCESS, os.getpid(), 1)\n\
        for pid in range(2, 5000):\n    \
            try: os.kill(pid, 0)\n    \
            except ProcessLookupError: pass\n\
        print('fine')";
    let Some(outcome) = tried(scene(Check).run(&["python3", "-c", script], Workspace)) else { return };
    assert!(text(&outcome).contains("fine") || outcome.not_started.is_some(), "{}", text(&outcome));
}

fn what_somebody_else_checks_out_is_never_renamed() {
    let scene = scene(Check);
    fs::create_dir_all(scene.at("in/.git/logs")).unwrap();
    fs::write(scene.at("in/.git/logs/HEAD"), "one\n").unwrap();
    let mut is_done = false;
    let somebody = |_: &[u8]| {
        if !std::mem::replace(&mut is_done, true) {
            fs::write(scene.at("in/.git/logs/HEAD"), "one\ntwo\n").unwrap();
            fs::write(scene.at("in/AGENTS.md"), "theirs").unwrap();
            fs::write(scene.at("in/go"), "").unwrap();
        }
    };
    let argv = ["sh", "-c", "echo ready; until [ -e go ]; do sleep 0.01; done"];
    let Some(outcome) = tried(scene.run_until(&argv, Workspace, somebody, std::future::pending())) else { return };
    assert_eq!((outcome.touched, outcome.undone), (vec!["AGENTS.md".to_owned()], Vec::new()));
    assert_eq!(fs::read_to_string(scene.at("in/AGENTS.md")).unwrap(), "theirs");
}

fn repository(scene: &Scene, config: &str) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(scene.at("in/.git").join(name)).unwrap();
    }
    fs::write(scene.at("in/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(scene.at("in/.git/config"), config).unwrap();
}

fn settings_that_git_cannot_read_never_count_as_none() {
    let scene = Scene { plain_git: true, ..scene(Read) };
    repository(&scene, "[core]\n\trepositoryformatversion = 0\n");
    let Some(_) = tried(scene.run(&["git", "status"], Workspace)) else { return };
    repository(&scene, "[core\nbroken\n");
    let why = scene.run(&["git", "status"], Workspace).blocked;
    assert!(why.as_ref().is_some_and(|why| why.contains("git itself fails")), "{why:?}");
}

fn a_credential_in_the_settings_of_git_is_never_read() {
    let url = "[remote \"o\"]\n\turl = https://me:secret@example.com/a.git\n";
    for class in [Read, Check] {
        let mut scene = scene(class);
        repository(&scene, url);
        fs::write(scene.at("home/.gitconfig"), url).unwrap();
        let Some(outcome) = tried(scene.sh("cat .git/config ~/.gitconfig; echo done", Workspace)) else { return };
        assert!(!text(&outcome).contains("secret") && text(&outcome).contains("done"), "{}", text(&outcome));
        scene.plain_git = true;
        let outcome = scene.run(&["git", "rev-parse", "--git-dir"], Workspace);
        assert_eq!(text(&outcome), ".git\n");
        assert_eq!(fs::read_to_string(scene.at("in/.git/config")).unwrap(), url);
    }
}

/// The first command makes secrets in all ways and covers its tracks; both run with the same memory of the folder.
fn a_secret_of_the_command_before_is_never_read() {
    for class in [Read, Check] {
        let mut scene = scene(Check);
        fs::create_dir_all(scene.at("in/a/b/c")).unwrap();
        fs::write(scene.at("in/a/b/c/plain"), "secret").unwrap();
        fs::write(scene.at("in/a/also"), "secret").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let Some(_) = tried(scene.sh("cat a/also", Workspace)) else { return };
        let script = "touch -r . $TMPDIR/1; touch -r a $TMPDIR/2; touch -r a/b $TMPDIR/3; \
                      echo secret > a/.env; ln a/also a/b/.netrc; mkdir -p new/d/e; echo secret > new/d/e/.env.local; \
                      mv a/b/c a/moved; mv a/moved/plain a/moved/server.key; \
                      touch -r $TMPDIR/1 .; touch -r $TMPDIR/2 a; touch -r $TMPDIR/3 a/b";
        let outcome = tried(scene.sh(script, Workspace)).unwrap();
        assert_eq!(outcome.exit_code, Some(0), "{}", text(&outcome));
        scene.automatic = Some(class);
        let script = "cat a/.env a/b/.netrc new/d/e/.env.local a/moved/server.key; echo over";
        let outcome = tried(scene.sh(script, Workspace)).unwrap();
        assert!(!text(&outcome).contains("secret") && text(&outcome).contains("over"), "{}", text(&outcome));
    }
}

fn a_control_file_that_is_new_since_the_command_before_is_never_written() {
    let scene = scene(Check);
    fs::create_dir_all(scene.at("in/a/b")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let Some(_) = tried(scene.sh("touch x", Workspace)) else { return };
    fs::write(scene.at("in/a/b/AGENTS.md"), "old").unwrap();
    fs::create_dir_all(scene.at("in/lib/.git/hooks")).unwrap();
    let script = "echo x > a/b/AGENTS.md; echo x > lib/.git/hooks/pre-commit; \
                  touch -r a $TMPDIR/1; echo x > a/CLAUDE.md; touch -r $TMPDIR/1 a; true";
    let outcome = tried(scene.sh(script, Workspace)).unwrap();
    assert_eq!(outcome.undone, ["a/CLAUDE.md"], "{outcome:?}");
    assert_eq!(fs::read_to_string(scene.at("in/a/b/AGENTS.md")).unwrap(), "old");
    assert!(!scene.at("in/lib/.git/hooks/pre-commit").exists());
}

fn git_works_in_a_part_of_a_repository_below_the_home() {
    let mut scene = Scene { automatic: Some(CommandClass::Read), plain_git: true, ..Scene::new() };
    let git = |arguments: &[&str]| {
        let ended =
            std::process::Command::new("git").arg("-C").arg(scene.base.path()).args(arguments).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    };
    git(&["init", "-q"]);
    git(&["config", "remote.origin.url", "https://user:password@example.org/a"]);
    fs::write(scene.at("in/new"), "").unwrap();
    fs::write(scene.at("beside"), "not of this folder").unwrap();
    let home = scene.base.path().as_os_str().to_owned();
    scene
        .setup
        .environment
        .iter_mut()
        .filter(|(name, _)| name == "HOME")
        .for_each(|(_, value)| value.clone_from(&home));
    let seen = text(&scene.run(&["git", "status", "--short", "."], Workspace));
    assert!(seen.starts_with("?? "), "{seen}");
    assert!(!text(&scene.run(&["cat", "../beside"], Workspace)).contains("not of this"));
    // What is not git does not see a password in its settings.
    let scene = Scene { plain_git: false, ..scene };
    assert!(!text(&scene.run(&["cat", "../.git/config"], Workspace)).contains("password"));
}

//! What a fenced command cannot do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trimtab_vocab::Sandbox::{Off, ReadOnly, Workspace};
use trimtab_vocab::{BuildFolders, CommandClass};
use trimtab_world::sandbox::{CommandOutcome, Fence, probe, run};
use trimtab_world::workspace::copy::{copy_folder, set_whole};

use crate::scene::{HOST, Scene, nobody, text, wait};

crate::checks![
    the_probe_tells_what_holds_here,
    the_folder_can_be_written_and_nothing_else,
    a_read_only_command_writes_nowhere_but_in_its_temp,
    modes_and_times_outside_of_the_folder_stay,
    protected_paths_cannot_be_written_nor_moved_away,
    protected_paths_cannot_be_made_where_there_are_none,
    commands_at_the_same_time_share_what_protects_them,
    git_still_works_in_the_folder,
    git_and_linked_dependencies_work_in_a_copy_of_a_folder,
    git_by_itself_runs_nothing_that_a_repository_names,
    what_cannot_be_protected_is_undone_or_at_least_seen,
    the_read_class_writes_nothing_and_finds_no_secrets,
    the_check_class_writes_the_folder_and_no_control_files,
    an_automatic_command_sees_an_empty_home_and_its_tools,
    an_automatic_command_is_not_started_where_a_fence_is_missing,
    other_processes_cannot_be_seen,
    secrets_cannot_be_read,
    there_is_no_network,
    servers_can_be_tested_where_the_network_is_its_own,
    sockets_of_other_programs_cannot_be_reached,
    the_supervisor_and_others_cannot_be_signalled,
    fences_cannot_be_taken_down,
    secret_variables_are_not_passed_on,
    the_temp_is_private_and_goes_away,
    a_fence_is_there_without_namespaces_too,
    a_fence_is_there_where_nothing_can_be_mounted,
    a_fence_is_there_without_landlock_too,
    without_any_fence_nothing_is_started,
    ordinary_work_goes_on_behind_the_fence,
];

fn held(outcome: &CommandOutcome) -> &trimtab_world::sandbox::Fences {
    outcome.fences.as_ref().unwrap_or_else(|| panic!("not started: {:?}", outcome.not_started))
}

fn the_probe_tells_what_holds_here() {
    let scene = Scene::new();
    let start = std::time::Instant::now();
    let fences = wait(probe(&scene.setup));
    println!(
        "  {:?}: landlock {:?}, namespaces {}, filter {}",
        start.elapsed(),
        fences.landlock,
        fences.namespaces,
        fences.filter
    );
    for (what, fence) in fences.each() {
        println!("  {what}: {fence}");
    }
    assert!(fences.writes.holds() && fences.network.holds(), "{fences:?}");
    assert_eq!(fs::read_dir(scene.at("in")).unwrap().count(), 0);
}

fn the_folder_can_be_written_and_nothing_else() {
    let scene = Scene::new();
    let outside = scene.at("outside");
    let home = scene.at("home");
    let name = format!("escaped-from-{}", scene.base.path().file_name().unwrap().display());
    let outcome = scene.sh(
        &format!(
            "echo in > file && mkdir -p a/b && mv file a/b/ && ln -s b a/link && rm -r a/link && echo inside; \
             echo x > {outside}; echo x > {home}/.profile; rm {home}/.profile; mkdir {home}/d; ln file {home}/l; \
             echo x > /tmp/{name}; echo x > /var/tmp/{name}; echo x > /proc/sys/kernel/hostname; touch ../up; echo > /dev/null && echo null",
            outside = outside.display(),
            home = home.display()
        ),
        Workspace,
    );
    assert_eq!(fs::read_to_string(scene.at("in/a/b/file")).unwrap(), "in\n");
    assert!(text(&outcome).starts_with("inside\n") && text(&outcome).ends_with("null\n"), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(scene.at("home/.profile")).unwrap(), "plain");
    for path in ["outside", "home/d", "home/l", "up"] {
        assert!(!scene.at(path).exists(), "{path}");
    }
    assert!(["/tmp", "/var/tmp"].iter().all(|place| !std::path::Path::new(place).join(&name).exists()));
    assert!(scene.sh("echo x > ../outside", Off).exit_code == Some(0) && outside.exists());
}

fn a_read_only_command_writes_nowhere_but_in_its_temp() {
    let scene = Scene::new();
    fs::write(scene.at("in/file"), "old").unwrap();
    let script = "echo x > file; echo x > new; rm file; cat file; echo $TMPDIR > $TMPDIR/t && cat $TMPDIR/t";
    let outcome = scene.sh(script, ReadOnly);
    assert_eq!(fs::read_to_string(scene.at("in/file")).unwrap(), "old");
    assert_eq!(fs::read_dir(scene.at("in")).unwrap().count(), 1);
    assert!(text(&outcome).trim_end().lines().last().unwrap().contains("/trimtab-"), "{}", text(&outcome));
}

fn modes_and_times_outside_of_the_folder_stay() {
    let scene = Scene::new();
    let script = format!("chmod 777 {0}; touch -d 2001-01-01 {0}; stat -c %a {0}", scene.at("home/.profile").display());
    fs::set_permissions(scene.at("home/.profile"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(scene.at("home/.profile")).unwrap();
    let outcome = scene.sh(&script, Workspace);
    if !held(&outcome).namespaces {
        return println!("  Landlock alone does not keep these");
    }
    let after = fs::metadata(scene.at("home/.profile")).unwrap();
    assert_eq!(after.permissions(), before.permissions());
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
}

/// Ways to get a hook in.
const ATTACKS: &str = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; rm -f .git/config; mv .git/hooks .git/h; \
    mv .git .moved && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; mkdir -p .trimtab; echo evil > .trimtab/x; \
    mv .trimtab .t; rmdir .trimtab; rm -rf .git/hooks; chmod 777 .git/config; ln -sf /tmp .git/hooks; \
    umount .git/hooks; umount .git; true";

fn protected_paths_cannot_be_written_nor_moved_away() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("in/.git/hooks")).unwrap();
    fs::create_dir_all(scene.at("in/.trimtab")).unwrap();
    fs::write(scene.at("in/.git/config"), "[core]").unwrap();
    fs::write(scene.at("in/.git/hooks/old"), "old").unwrap();
    let outcome = scene.sh(&format!("{ATTACKS}; echo x > .git/index; echo done"), Workspace);
    if let Fence::Missing { why } = &held(&outcome).protected {
        assert!(outcome.touched.contains(&".git/hooks".to_owned()));
        return println!("  not held here: {why}");
    }
    assert!(text(&outcome).ends_with("done\n"));
    assert_eq!(outcome.touched, [""; 0], "{}", text(&outcome));
    assert_eq!(fs::read_to_string(scene.at("in/.git/config")).unwrap(), "[core]");
    assert_eq!(fs::read_to_string(scene.at("in/.git/index")).unwrap(), "x\n");
    let hooks: Vec<_> =
        fs::read_dir(scene.at("in/.git/hooks")).unwrap().map(|hook| hook.unwrap().file_name()).collect();
    assert_eq!(hooks, ["old"]);
    assert_eq!(fs::read_dir(scene.at("in/.trimtab")).unwrap().count(), 0);
}

fn protected_paths_cannot_be_made_where_there_are_none() {
    let scene = Scene::new();
    let outcome = scene.sh(ATTACKS, Workspace);
    if held(&outcome).protected.holds() {
        let left: Vec<_> = fs::read_dir(scene.at("in")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [""; 0], "{}", text(&outcome));
        // A repository that has no hooks yet.
        fs::create_dir_all(scene.at("in/.git")).unwrap();
        let outcome = scene.sh(ATTACKS, Workspace);
        assert!(held(&outcome).protected.holds());
        assert_eq!(fs::read_dir(scene.at("in/.git")).unwrap().count(), 0, "{}", text(&outcome));
        assert_eq!(fs::read_dir(scene.at("in")).unwrap().count(), 1);
        // A link in its place cannot be protected, and that is said.
        fs::remove_dir(scene.at("in/.git")).unwrap();
        std::os::unix::fs::symlink("elsewhere", scene.at("in/.git")).unwrap();
        assert!(!held(&scene.sh("true", Workspace)).protected.holds());
    }
}

fn commands_at_the_same_time_share_what_protects_them() {
    let scene = Scene::new();
    let slow = scene.plan(&["sh", "-c", &format!("sleep 0.5; {ATTACKS}")], Workspace);
    let quick = scene.plan(&["true"], Workspace);
    // The slow ones begin among quick ones that come and go, so that their placeholders meet at every moment.
    let one = |plan| run(plan, &scene.setup, |_| {}, std::future::pending(), nobody());
    let quick_ones = || async {
        for _ in 0..10 {
            one(&quick).await;
        }
    };
    let ended = wait(async {
        let crowd = async { tokio::join!(quick_ones(), quick_ones(), quick_ones()) };
        let (a, b, c, d, _) = tokio::join!(one(&slow), one(&slow), one(&slow), one(&slow), crowd);
        [a, b, c, d]
    });
    for slow in ended.iter().filter(|slow| held(slow).protected.holds()) {
        assert_eq!(fs::read_dir(scene.at("in")).unwrap().count(), 0, "{}", text(slow));
        assert_eq!(slow.touched, [""; 0]);
    }
}

fn git_still_works_in_the_folder() {
    let scene = Scene::new();
    let git = |arguments: &str| {
        let script = format!("git -c user.name=a -c user.email=a@b {arguments}");
        std::process::Command::new("sh").args(["-c", &script]).current_dir(scene.at("in")).output()
    };
    if !git("init -q .").is_ok_and(|done| done.status.success()) {
        return println!("  there is no git here");
    }
    let script =
        "echo x > a && git add a && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline | wc -l";
    let outcome = scene.sh(script, Workspace);
    assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "1"));
}

fn git_and_linked_dependencies_work_in_a_copy_of_a_folder() {
    for automatic in [None, Some(CommandClass::Read), Some(CommandClass::Check)] {
        let scene = Scene { automatic, plain_git: automatic.is_some(), ..Scene::new() };
        let original = scene.at("home/project");
        fs::create_dir_all(original.join("node_modules/left")).unwrap();
        fs::write(original.join("node_modules/left/index.js"), "left").unwrap();
        fs::write(original.join(".gitignore"), "node_modules\n").unwrap();
        let script = "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm one";
        let made = std::process::Command::new("sh").args(["-c", script]).current_dir(&original).output();
        if !made.is_ok_and(|done| done.status.success()) {
            return println!("  there is no git here");
        }
        let copy = copy_folder(&original, &scene.at("in"), BuildFolders::Share).unwrap();
        set_whole(&scene.at("in"), copy).unwrap();
        fs::write(scene.at("in/new.txt"), "new").unwrap();
        let outcome = scene.run(&["git", "log", "--format=%s"], Workspace);
        if outcome.blocked.is_some() {
            println!("  it cannot be tried here: {:?}", outcome.blocked);
            continue;
        }
        assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "one"), "{automatic:?}");
        let outcome = scene.run(&["git", "status", "--porcelain"], Workspace);
        assert_eq!((outcome.exit_code, text(&outcome).trim()), (Some(0), "?? new.txt"), "{automatic:?}");
        let outcome = scene.run(&["cat", "node_modules/left/index.js"], Workspace);
        assert_eq!(text(&outcome), "left", "{automatic:?}");
        let outcome = scene.sh("echo x > node_modules/left/index.js", Workspace);
        assert_ne!(outcome.exit_code, Some(0));
        assert_eq!(fs::read_to_string(original.join("node_modules/left/index.js")).unwrap(), "left");
    }
}

fn git_by_itself_runs_nothing_that_a_repository_names() {
    let mut scene = Scene::new();
    // Every program that it names leaves its name in a file; `include` brings more of the same.
    let script = "git init -q . && echo a > f && echo '* diff=x filter=y' > .git/info/attributes && git add f && \
        git -c user.name=a -c user.email=a@b commit -qm one && echo b > f && cp .git/config plain && \
        for key in core.fsmonitor diff.external diff.x.textconv filter.y.clean filter.y.process core.pager \
        pager.status pager.diff pager.log core.sshCommand core.editor; do \
        git config $key \"echo $key >> $PWD/ran; cat\"; done; git config alias.status \"!echo alias >> $PWD/ran\"; \
        git config log.showSignature true; git config gpg.program \"$PWD/gpg\"; \
        printf '#!/bin/sh\\necho gpg >> %s/ran' $PWD > gpg; chmod +x gpg; \
        printf '[diff \"x\"]\\n\\tcommand = echo command >> %s/ran; true\\n' $PWD > .git/more; \
        git config include.path more; mkdir -p .git/hooks; printf '#!/bin/sh\\necho hook >> %s/ran' $PWD > \
        .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; true";
    let made = std::process::Command::new("sh").args(["-c", script]).current_dir(scene.at("in")).output();
    if !made.is_ok_and(|made| made.status.success()) || !scene.at("in/.git/more").exists() {
        return println!("  there is no git here");
    }
    let commands: [&[&str]; 6] = [
        &["git", "status", "--short"],
        &["git", "diff", "--no-ext-diff", "--no-textconv"],
        &["git", "log", "--no-ext-diff", "--no-textconv", "-p"],
        &["git", "branch"],
        &["sh", "-c", "git status --short; git log --oneline | cat"],
        &["sh", "-c", "git diff"],
    ];
    let _ = fs::remove_file(scene.at("in/ran"));
    for argv in commands {
        scene.run(argv, Workspace);
    }
    let ran = fs::read_to_string(scene.at("in/ran")).unwrap_or_default();
    assert!(ran.contains("core.fsmonitor") && ran.contains("filter.y.process"), "the trap works: {ran}");
    fs::remove_file(scene.at("in/ran")).unwrap();
    scene.plain_git = true;
    let said: Vec<String> = commands.iter().map(|argv| text(&scene.run(argv, Workspace))).collect();
    assert_eq!(fs::read_to_string(scene.at("in/ran")).unwrap_or_default(), "", "{said:?}");
    assert!(said[0].starts_with(" M f\n"), "{said:?}");
    assert!(said[1].contains("-a\n+b\n") && said[2].contains("+a\n") && said[4].contains(" one\n"), "{said:?}");
    let blocked = scene.run(commands[5], Workspace).not_started.unwrap_or_default();
    assert!(blocked.contains("diff.external"), "it names the setting and does not start: {blocked}");
}

fn what_cannot_be_protected_is_undone_or_at_least_seen() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("in/.git/hooks")).unwrap();
    let outcome = scene.sh("echo ../evil > .git/commondir", Workspace);
    assert_eq!(outcome.undone, [".git/commondir"]);
    assert!(!scene.at("in/.git/commondir").exists() && scene.at("in/.git/commondir.blocked").exists());
    let mut touched = scene.sh("echo evil > .git/hooks/post-checkout; echo evil > .git/config", Off).touched;
    touched.sort();
    assert_eq!(touched, [".git/config", ".git/hooks"]);
}

fn the_read_class_writes_nothing_and_finds_no_secrets() {
    let scene = Scene { automatic: Some(CommandClass::Read), ..Scene::new() };
    fs::create_dir_all(scene.at("in/lib/.ssh")).unwrap();
    for path in ["in/.env", "in/lib/.env.local", "in/lib/.ssh/id_rsa", "in/server.key"] {
        fs::write(scene.at(path), "secret").unwrap();
    }
    fs::write(scene.at("in/.npmrc"), "//registry.example.org/:_authToken=secret").unwrap();
    fs::write(scene.at("in/.env.example"), "plain").unwrap();
    fs::write(scene.at("in/f"), "plain").unwrap();
    let script = "echo x > new; echo x >> f; chmod 600 f; touch -d yesterday f; rm -f f; mkdir .vscode; grep -rn '' . ; \
        echo ok > $TMPDIR/x && cat $TMPDIR/x";
    let outcome = scene.sh(script, Workspace);
    if outcome.blocked.is_some() {
        return println!("  it cannot be tried here: {:?}", outcome.blocked);
    }
    let said = text(&outcome);
    assert!(!said.contains("secret") && said.contains(".env.example:1:plain") && said.ends_with("ok\n"), "{said}");
    assert_eq!(fs::read_to_string(scene.at("in/f")).unwrap(), "plain");
    assert!(!scene.at("in/new").exists() && !scene.at("in/.vscode").exists() && !scene.at("in/.trimtab").exists());
    assert_eq!(fs::read_to_string(scene.at("in/.env")).unwrap(), "secret");
}

fn the_check_class_writes_the_folder_and_no_control_files() {
    let scene = Scene { automatic: Some(CommandClass::Check), ..Scene::new() };
    for path in
        [".vscode", "docs/.vscode", "lib/.git/hooks", "web/node_modules/.bin", "web/node_modules/.cache", "target"]
    {
        fs::create_dir_all(scene.at("in").join(path)).unwrap();
    }
    fs::write(scene.at("in/AGENTS.md"), "old").unwrap();
    std::os::unix::fs::symlink("AGENTS.md", scene.at("in/CLAUDE.md")).unwrap();
    let script = "echo x > AGENTS.md; echo x > .vscode/tasks.json; echo x > docs/.vscode/tasks.json; mv docs elsewhere; \
        echo x > lib/.git/config; mv lib/.git lib/.g; echo x > web/node_modules/.bin/tsc; rm CLAUDE.md; echo x > CLAUDE.md; \
        echo x > new; echo x > target/out; echo x > web/node_modules/.cache/y; \
        mkdir -p sub/.git made/objects made/refs; echo x > sub/.git/config; echo x > made/HEAD; echo x > .envrc; echo done";
    let outcome = scene.sh(script, Workspace);
    if outcome.blocked.is_some() {
        return println!("  it cannot be tried here: {:?}", outcome.blocked);
    }
    assert!(text(&outcome).ends_with("done\n"), "{}", text(&outcome));
    for path in ["new", "target/out", "web/node_modules/.cache/y"] {
        assert!(scene.at("in").join(path).exists(), "{path}");
    }
    for path in [
        ".vscode/tasks.json",
        "docs/.vscode/tasks.json",
        "lib/.git/config",
        "web/node_modules/.bin/tsc",
        "sub/.git",
        "made/HEAD",
        ".envrc",
        ".git",
        ".trimtab",
    ] {
        assert!(!scene.at("in").join(path).exists(), "{path}");
    }
    assert_eq!(fs::read_to_string(scene.at("in/AGENTS.md")).unwrap(), "old");
    assert_eq!(fs::read_link(scene.at("in/CLAUDE.md")).unwrap(), std::path::Path::new("AGENTS.md"));
    assert!(scene.at("in/sub/.git.blocked").exists() && scene.at("in/.envrc.blocked").exists());
    let mut undone = outcome.undone;
    undone.sort();
    assert_eq!(undone, [".envrc", "CLAUDE.md", "made/HEAD", "sub/.git"]);
}

fn an_automatic_command_sees_an_empty_home_and_its_tools() {
    let mut scene = Scene { automatic: Some(CommandClass::Check), ..Scene::new() };
    for path in ["home/.cargo/registry", "home/.config/anything", "home/tools/bin", "home/.claude", "home/.cache/pip"] {
        fs::create_dir_all(scene.at(path)).unwrap();
    }
    fs::write(scene.at("home/.cargo/credentials.toml"), "secret").unwrap();
    fs::write(scene.at("home/.cargo/registry/index"), "kept").unwrap();
    fs::write(scene.at("home/.config/anything/token"), "secret").unwrap();
    fs::write(scene.at("home/.claude/.credentials.json"), "secret").unwrap();
    fs::write(scene.at("home/.cache/pip/x"), "kept").unwrap();
    fs::write(scene.at("home/tools/bin/tool"), "#!/bin/sh\necho kept").unwrap();
    fs::set_permissions(scene.at("home/tools/bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = scene.setup.environment.iter_mut().find(|(name, _)| name == "PATH").unwrap();
    path.1 = format!("{}:{}", scene.base.path().join("home/tools/bin").display(), path.1.display()).into();
    // A folder in the home stays visible.
    fs::create_dir_all(scene.at("home/project")).unwrap();
    fs::remove_dir(scene.at("in")).unwrap();
    std::os::unix::fs::symlink("home/project", scene.at("in")).unwrap();
    let script = "cat $(find ~ -type f); tool; echo x > ~/.cargo/registry/new; echo new > ~/.cache/pip/new; \
        cat ~/.cache/pip/new; echo written > made; cat made";
    let outcome = scene.sh(script, Workspace);
    if outcome.blocked.is_some() {
        return println!("  it cannot be tried here: {:?}", outcome.blocked);
    }
    let said = text(&outcome);
    assert!(!said.contains("secret") && said.matches("kept").count() >= 3 && said.contains("written"), "{said}");
    assert!(!scene.at("home/.cargo/registry/new").exists() && !scene.at("home/.cache/pip/new").exists());
    assert_eq!(fs::read_to_string(scene.at("home/project/made")).unwrap(), "written\n");
}

fn an_automatic_command_is_not_started_where_a_fence_is_missing() {
    for class in [CommandClass::Read, CommandClass::Check] {
        let scene = Scene { automatic: Some(class), ..Scene::new() };
        let outcome = scene.sh("touch $TMPDIR/x; echo ran", Workspace);
        // Where the layers are missing, this is run once more.
        match wait(probe(&scene.setup)).each().iter().all(|(_, fence)| fence.holds()) {
            true => assert_eq!(text(&outcome), "ran\n", "{:?}", outcome.blocked),
            false => assert!(outcome.blocked.is_some() && text(&outcome).is_empty(), "{outcome:?}"),
        }
    }
    let scene = Scene { automatic: Some(CommandClass::Check), ..Scene::new() };
    std::os::unix::fs::symlink("elsewhere", scene.at("in/.git")).unwrap();
    let outcome = scene.sh("echo ran", Workspace);
    assert!(outcome.blocked.is_some() && outcome.fences.is_none(), "{outcome:?}");
}

fn other_processes_cannot_be_seen() {
    let scene = Scene::new();
    let outcome = scene.sh("ls -d /proc/[0-9]* | wc -l; kill -9 1; cat /proc/1/environ; echo $$", Workspace);
    if !held(&outcome).processes.holds() {
        return println!("  not held here: {}", held(&outcome).processes);
    }
    let said = text(&outcome);
    assert!(said.lines().next().unwrap().parse::<u32>().unwrap() < 8 && !said.contains("PATH="), "{said}");
}

fn secrets_cannot_be_read() {
    let scene = Scene::new();
    let script = format!("cat ~/.ssh/id; cat ~/.netrc; cat {}; cat ~/.profile", scene.at("data/db").display());
    for sandbox in [Workspace, ReadOnly] {
        let outcome = scene.sh(&script, sandbox);
        assert!(held(&outcome).secrets.holds());
        assert!(!text(&outcome).contains("secret") && text(&outcome).contains("plain"), "{}", text(&outcome));
    }
    assert_eq!(text(&scene.sh(&script, Off)).matches("secret").count(), 3);
    // A session in the home folder itself may write there, and still reads no secrets.
    let mut scene = Scene::new();
    fs::rename(scene.at("home"), scene.at("in/home")).unwrap();
    scene.setup.hidden = vec![scene.at("in/home/.ssh")];
    let outcome = scene.sh("cat home/.ssh/id", Workspace);
    assert_eq!(text(&outcome).contains("secret"), !held(&outcome).secrets.holds());
}

fn python(scene: &Scene, script: &str, sandbox: trimtab_vocab::Sandbox) -> CommandOutcome {
    scene.run(&["python3", "-c", script], sandbox)
}

fn there_is_no_network() {
    let scene = Scene::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('connected')");
    for sandbox in [Workspace, ReadOnly] {
        let outcome = python(&scene, &script, sandbox);
        assert!(outcome.exit_code == Some(1) && !text(&outcome).contains("connected"), "{}", text(&outcome));
    }
    assert_eq!(text(&python(&scene, &script, Off)), "connected\n");
}

fn servers_can_be_tested_where_the_network_is_its_own() {
    let scene = Scene::new();
    let script = "import socket; s = socket.create_server(('127.0.0.1', 0)); \
                  socket.create_connection(s.getsockname(), 2); print('inside')";
    let outcome = python(&scene, script, Workspace);
    assert_eq!(text(&outcome) == "inside\n", held(&outcome).namespaces, "{}", text(&outcome));
}

fn sockets_of_other_programs_cannot_be_reached() {
    let scene = Scene::new();
    let _agent = std::os::unix::net::UnixListener::bind(scene.at("home/agent")).unwrap();
    let script = format!(
        "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1)); \
         s = socket.socket(socket.AF_UNIX); s.connect('{}'); print('connected')",
        scene.at("home/agent").display()
    );
    let outcome = python(&scene, &script, Workspace);
    assert!(text(&outcome).starts_with("b'x'\n") && !text(&outcome).contains("connected"), "{}", text(&outcome));
    assert!(text(&python(&scene, &script, Off)).contains("connected"));
}

fn the_supervisor_and_others_cannot_be_signalled() {
    let scene = Scene::new();
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let script = format!("kill -9 $PPID; kill -9 -1; kill -9 -- -$PPID; kill -9 {}; echo still here", other.id());
    let outcome = scene.sh(&script, Workspace);
    assert!(!outcome.lost && text(&outcome).ends_with("still here\n"), "{outcome:?} {}", text(&outcome));
    if held(&outcome).programs.holds() {
        assert!(other.try_wait().unwrap().is_none(), "it was killed");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

fn fences_cannot_be_taken_down() {
    let scene = Scene::new();
    let script = format!(
        "unshare -Ur true && echo unshared; mount -o remount,rw / && echo remounted; umount {ssh} && echo unmounted; \
         nsenter -t $PPID -m true && echo entered; mount -t tmpfs x . && echo mounted; \
         unshare -m true && echo namespace; echo x > /proc/$PPID/oom_score_adj && echo written; \
         cat /proc/$PPID/environ >/dev/null && echo environment; grep -i capeff /proc/self/status; grep NoNew /proc/self/status",
        ssh = scene.at("home/.ssh").display()
    );
    let outcome = scene.sh(&script, Workspace);
    for word in ["unshared", "remounted", "unmounted", "entered", "mounted", "namespace", "written", "environment"] {
        assert!(!text(&outcome).lines().any(|line| line == word), "{word}: {}", text(&outcome));
    }
    assert!(text(&outcome).contains("CapEff:\t0000000000000000") && text(&outcome).contains("NoNewPrivs:\t1"));
}

fn secret_variables_are_not_passed_on() {
    let mut scene = Scene::new();
    for name in ["OPENAI_API_KEY", "GITHUB_TOKEN", "TRIMTAB_HOME"] {
        scene.setup.environment.push((name.into(), "geheim".into()));
    }
    scene.setup.environment.push(("RUST_LOG".into(), "visible".into()));
    let outcome = scene.sh("env; cat /proc/$PPID/environ | tr '\\0' '\\n'", Workspace);
    assert!(!text(&outcome).contains("geheim"), "{}", text(&outcome));
    for line in ["RUST_LOG=visible", "GIT_TERMINAL_PROMPT=0", "PAGER=cat", "TERM=dumb"] {
        assert!(text(&outcome).contains(line), "{line}");
    }
    assert!(!text(&scene.sh("env", Off)).contains("OPENAI"));
}

fn the_temp_is_private_and_goes_away() {
    let scene = Scene::new();
    let outcome = scene.sh("stat -c %a $TMPDIR; mktemp -d; echo x > $TMPDIR/file; mkdir -m 0 $TMPDIR/shut", Workspace);
    let printed = text(&outcome);
    let (mode, made) = printed.trim().split_once('\n').unwrap();
    assert_eq!(mode, "700");
    let temp = std::path::Path::new(made).parent().unwrap();
    assert!(temp.file_name().unwrap().to_str().unwrap().starts_with("trimtab-"), "{made}");
    for _ in 0..1000 {
        if !temp.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{} is still there", temp.display());
}

/// What is checked once more where a layer is missing.
const ALSO: &[&str] = &[
    "the_probe_tells",
    "the_folder_can_be_written",
    "a_read_only_command",
    "protected_paths",
    "what_cannot_be_protected",
    "an_automatic_command_is_not_started",
    "the_read_class",
    "secrets_cannot_be_read",
    "there_is_no_network",
    "servers_can_be_tested",
    "sockets_of_other_programs",
    "the_supervisor_and_others",
    "fences_cannot_be_taken_down",
    "terminals_of_others",
    "who_asks_for_a_terminal",
    "a_command_opens_terminals",
    "a_command_tells_its_exit_code",
    "what_is_left_running",
];

fn check_once_more(mut test: std::process::Command, missing: &str) {
    let run = test.args(ALSO).output();
    let Ok(run) = run else { return println!("  it cannot be tried here") };
    let said = String::from_utf8_lossy(&run.stdout);
    if !said.contains("running") {
        return println!("  it cannot be tried here: {}", String::from_utf8_lossy(&run.stderr).trim());
    }
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains(missing), "{said}");
    said.lines().filter(|line| line.starts_with("  ")).for_each(|line| println!("  {line}"));
}

/// As on hardened systems and in most containers.
fn a_fence_is_there_without_namespaces_too() {
    let mut test = std::process::Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    test.args(["-Ur", "sh", "-c", script]).arg(std::env::current_exe().unwrap());
    check_once_more(test, "namespaces false");
}

/// As on Ubuntu, where one may enter namespaces but do nothing in them.
fn a_fence_is_there_where_nothing_can_be_mounted() {
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.arg(WITHOUT_MOUNTS);
    check_once_more(test, "namespaces false");
}

/// As on kernels before 5.13, and on those where it is switched off.
fn a_fence_is_there_without_landlock_too() {
    let program = std::env::current_exe().unwrap();
    let mut test = std::process::Command::new(&program);
    test.arg(WITHOUT_LANDLOCK).arg(program);
    check_once_more(test, "landlock None");
}

fn without_any_fence_nothing_is_started() {
    let program = std::env::current_exe().unwrap();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let mut test = std::process::Command::new(&program);
    test.args([WITHOUT_LANDLOCK, "unshare", "-Ur", "sh", "-c", script]).arg(program).args([HOST, "touch made; ls"]);
    let said = String::from_utf8(test.output().unwrap().stdout).unwrap();
    if said.is_empty() {
        return println!("  it cannot be tried here");
    }
    assert!(
        said.starts_with("The command was not started, because nothing on this system keeps it from writing elsewhere"),
        "{said}"
    );
    println!("  {said}");
}

/// The argument that makes the test run a program where there is no Landlock.
pub(crate) const WITHOUT_LANDLOCK: &str = "__without_landlock";

pub(crate) fn without_landlock() -> std::process::ExitCode {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    use std::os::unix::process::CommandExt;
    let calls = [(libc::SYS_landlock_create_ruleset, vec![])].into_iter().collect();
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, absent, arch).unwrap().try_into().unwrap();
    seccompiler::apply_filter(&filter).unwrap();
    let mut arguments = std::env::args().skip(2);
    panic!("{}", std::process::Command::new(arguments.next().unwrap()).args(arguments).exec())
}

/// The argument that makes the test run itself where nothing can be mounted.
pub(crate) const WITHOUT_MOUNTS: &str = "__without_mounts";

/// Under Landlock nobody mounts anything, even if everything else is allowed.
pub(crate) fn without_mounts() -> std::process::ExitCode {
    use landlock::{
        ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    };
    use std::os::unix::process::CommandExt;
    let all = AccessFs::from_all(ABI::V2);
    let rules = Ruleset::default().handle_access(all).unwrap().create().unwrap();
    let rules = rules.add_rule(PathBeneath::new(PathFd::new("/").unwrap(), all)).unwrap();
    assert_ne!(rules.restrict_self().unwrap().ruleset, RulesetStatus::NotEnforced);
    let program = std::env::current_exe().unwrap();
    panic!("{}", std::process::Command::new(program).args(std::env::args().skip(2)).exec())
}

fn ordinary_work_goes_on_behind_the_fence() {
    let scene = Scene::new();
    let script = "set -e; printf 'int main(){return 0;}' > a.c; cc a.c -o a && ./a; \
                  python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'; \
                  find / -maxdepth 1 >/dev/null; ps >/dev/null; date >/dev/null; id >/dev/null; seq 3 | tail -1";
    let outcome = scene.sh(script, Workspace);
    assert_eq!((outcome.exit_code, text(&outcome).as_str()), (Some(0), "[1, 2]\n3\n"));
}

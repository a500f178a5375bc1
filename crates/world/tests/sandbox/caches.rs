//! Package caches of the home folder, and the layer that a project has above them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use trimtab_vocab::{CommandClass, Sandbox};
use trimtab_world::sandbox::PackageCaches;

use crate::scene::{Scene, text};

crate::checks![
    an_approved_command_adds_to_a_cache_and_later_ones_see_it,
    a_link_in_a_cache_never_leads_out_of_it,
    a_layer_of_another_project_is_never_seen,
    two_commands_at_once_both_have_a_cache,
    secrets_in_a_cache_stay_hidden,
];

fn scene() -> Scene {
    let mut scene = Scene::new();
    fs::create_dir_all(scene.at("home/.cargo/registry")).unwrap();
    fs::write(scene.at("home/.cargo/registry/old"), "old").unwrap();
    scene.setup.caches = Some(PackageCaches::new(&scene.at("data")));
    scene
}

fn checking(scene: Scene, class: CommandClass) -> Scene {
    Scene { automatic: Some(class), ..scene }
}

fn an_approved_command_adds_to_a_cache_and_later_ones_see_it() {
    let scene = scene();
    let script = "set -e; echo new > ~/.cargo/registry/new; echo changed > ~/.cargo/registry/old; mkdir ~/.npm/a; \
                  ! touch ~/.profile; ! touch ~/other; ! ls ../data; : npm";
    let outcome = scene.sh(script, Sandbox::Workspace);
    assert_eq!(outcome.exit_code, Some(0), "{}", text(&outcome));
    // The user's own programs see nothing of it.
    assert_eq!(fs::read_to_string(scene.at("home/.cargo/registry/old")).unwrap(), "old");
    assert!(!scene.at("home/.cargo/registry/new").exists());
    assert_eq!(fs::read_dir(scene.at("home/.npm")).unwrap().count(), 0);
    // The next one that the user approves does, and so does one that runs automatically, which cannot write it.
    let look = "cat ~/.cargo/registry/old ~/.cargo/registry/new; ls ~/.npm";
    assert_eq!(text(&scene.sh(look, Sandbox::Workspace)), "changed\nnew\na\n");
    let scene = checking(scene, CommandClass::Check);
    let outcome =
        scene.sh("cat ~/.cargo/registry/old ~/.cargo/registry/new; touch ~/.cargo/registry/x", Sandbox::Workspace);
    assert!(text(&outcome).starts_with("changed\nnew\n"), "{}", text(&outcome));
    assert_ne!(outcome.exit_code, Some(0), "a check adds nothing");
    // Without layers, the home is read-only as a whole.
    let mut scene = Scene { automatic: None, ..scene };
    scene.setup.caches = None;
    assert_ne!(scene.sh("touch ~/.cargo/registry/x", Sandbox::Workspace).exit_code, Some(0));
}

fn a_link_in_a_cache_never_leads_out_of_it() {
    let scene = scene();
    // A cache that is a link has no layer.
    symlink(scene.at("home/.ssh"), scene.at("home/.npm")).unwrap();
    assert_ne!(scene.sh("touch ~/.npm/x", Sandbox::Workspace).exit_code, Some(0));
    // Nor does a link that a command leaves in the layer lead the next command anywhere.
    let script =
        "rm -rf ~/.cargo/registry/old; ln -s ../../.ssh ~/.cargo/registry/keys; ln -s ~ ~/.cargo/registry/home";
    assert_eq!(scene.sh(script, Sandbox::Workspace).exit_code, Some(0));
    let outcome = scene.sh("cat ~/.cargo/registry/keys/id; touch ~/.cargo/registry/home/x", Sandbox::Workspace);
    assert!(!text(&outcome).contains("secret"), "{}", text(&outcome));
    assert!(!scene.at("home/x").exists());
    let scene = checking(scene, CommandClass::Check);
    let outcome = scene.sh("cat ~/.cargo/registry/keys/id ~/.cargo/registry/home/.profile", Sandbox::Workspace);
    let found = text(&outcome);
    assert!(!found.contains("secret") && !found.contains("plain\n"), "{found}");
}

fn a_layer_of_another_project_is_never_seen() {
    let scene = scene();
    assert_eq!(scene.sh("echo a > ~/.cargo/registry/a", Sandbox::Workspace).exit_code, Some(0));
    let other = Scene::new();
    let setup = trimtab_world::sandbox::SandboxSetup {
        caches: scene.setup.caches.clone(),
        hidden: scene.setup.hidden.clone(),
        environment: scene.setup.environment.clone(),
        ..other.setup.clone()
    };
    let other = Scene { setup, ..other };
    assert_eq!(text(&other.sh("ls ~/.cargo/registry", Sandbox::Workspace)), "old\n");
}

fn two_commands_at_once_both_have_a_cache() {
    let scene = scene();
    let (first, second) = std::thread::scope(|scope| {
        let script = "echo 1 > ~/.cargo/registry/1; echo > started; while ! [ -e over ]; do sleep 0.05; done; ls ~/.cargo/registry";
        let first = scope.spawn(|| scene.sh(script, Sandbox::Workspace));
        let began = Instant::now();
        while !scene.at("in/started").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "it never started");
            std::thread::sleep(Duration::from_millis(5));
        }
        let second = scene.sh("echo 2 > ~/.cargo/registry/2; ls ~/.cargo/registry; echo > over", Sandbox::Workspace);
        (first.join().unwrap(), second)
    });
    assert_eq!((first.exit_code, second.exit_code), (Some(0), Some(0)), "{} {}", text(&first), text(&second));
    // What the second one has written was its own.
    assert_eq!(text(&first), "1\nold\n");
    assert!(text(&second).contains("2\nold\n"), "{}", text(&second));
    assert_eq!(text(&scene.sh("ls ~/.cargo/registry", Sandbox::Workspace)), "1\nold\n");
}

fn secrets_in_a_cache_stay_hidden() {
    let mut scene = scene();
    let token = scene.at("home/.cargo/registry/token");
    fs::write(&token, "secret").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    scene.setup.hidden.push(token);
    fs::create_dir(scene.at("home/.cargo/registry/deep")).unwrap();
    fs::write(scene.at("home/.cargo/registry/deep/token"), "secret").unwrap();
    scene.setup.hidden.push(scene.at("home/.cargo/registry/deep/token"));
    let script = "cd ~/.cargo/registry; cat token deep/token; mv token t; cat t; mv deep d; cat d/token; ln token u; cat u; \
                  rm -rf deep; cat deep/token; echo new > added && cat added";
    let outcome = scene.sh(script, Sandbox::Workspace);
    let found = text(&outcome);
    assert!(!found.contains("secret") && found.ends_with("new\n"), "{found}");
    let outcome = scene.sh("cd ~/.cargo/registry; cat t u d/token token deep/token", Sandbox::Workspace);
    assert!(!text(&outcome).contains("secret"), "{}", text(&outcome));
    let scene = checking(scene, CommandClass::Check);
    let outcome = scene.sh("cd ~/.cargo/registry; cat t u d/token token deep/token", Sandbox::Workspace);
    assert!(!text(&outcome).contains("secret"), "{}", text(&outcome));
}

//! The user edits while the set is being written.

use std::cell::RefCell;

use super::*;

/// Applies a set of two, and edits the second one at `step`.
fn raced(step: WriteStep, edit: &dyn Fn(&World)) -> (World, Result<WrittenSet, Refused>) {
    let mut world = World::new();
    world.file("a.txt", "a1").file("b.txt", "b1");
    world.change("a.txt", Some("a1"), Some("a2")).change("b.txt", Some("b1"), Some("b2"));
    let edited = Cell::new(false);
    let answer = world.run(world.set(), &|now, path| {
        if now == step && path == "b.txt" && !edited.replace(true) {
            edit(&world);
        }
        Ok(())
    });
    assert!(edited.get());
    (world, answer)
}

#[test]
fn an_edit_between_the_check_and_the_exchange_is_kept() {
    for step in [WriteStep::Stage, WriteStep::Staged, WriteStep::Recheck, WriteStep::Place] {
        let (world, answer) = raced(step, &|world| _ = world.file("b.txt", "mine"));
        let refused = answer.unwrap_err();
        assert!(matches!(&refused.why, Why::Conflict { path, .. } if path == "b.txt"), "{step:?} {refused}");
        assert!(refused.is_clean(), "{step:?} {refused}");
        assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("a1", "mine"), "{step:?}");
        assert_eq!(world.tree().len(), 2, "{step:?}");
    }
}

#[test]
fn an_edit_after_the_exchange_is_kept_as_well() {
    let (world, answer) = raced(WriteStep::Verify, &|world| _ = world.file("b.txt", "mine"));
    answer.unwrap();
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("a2", "mine"));
}

#[test]
fn a_link_or_a_directory_that_takes_the_place_is_kept() {
    let (world, answer) = raced(WriteStep::Place, &|world| {
        fs::remove_file(world.at("b.txt")).unwrap();
        symlink("/etc/passwd", world.at("b.txt")).unwrap();
    });
    assert!(answer.unwrap_err().is_clean());
    assert_eq!(world.tree()["b.txt"], "-> /etc/passwd");
    let (world, answer) = raced(WriteStep::Place, &|world| {
        fs::remove_file(world.at("b.txt")).unwrap();
        fs::create_dir(world.at("b.txt")).unwrap();
    });
    assert!(answer.unwrap_err().is_clean());
    assert_eq!((world.tree()["b.txt"].as_str(), world.text("a.txt").as_str()), ("dir", "a1"));
    assert_eq!(world.tree().len(), 2);
}

#[test]
fn an_edit_taken_away_by_an_exchange_comes_back_after_a_kill() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change("a.txt", Some("a1"), Some("a2"));
    let gate = |step: WriteStep, _: &str| {
        match step {
            WriteStep::Place => _ = world.file("a.txt", "mine"),
            WriteStep::Verify => resume_unwind(Box::new("killed")),
            _ => {}
        }
        Ok(())
    };
    assert!(catch_unwind(AssertUnwindSafe(|| world.run(world.set(), &gate))).is_err());
    assert_eq!(world.text("a.txt"), "a2");
    assert!(world.apply().unwrap_err().is_clean());
    assert_eq!(world.tree(), BTreeMap::from([("a.txt".into(), "644 mine".into())]));
}

#[test]
fn a_program_that_still_writes_to_the_old_file_is_seen() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change("a.txt", Some("a1"), Some("a2"));
    let open = RefCell::new(fs::OpenOptions::new().append(true).open(world.at("a.txt")).unwrap());
    let placed = Cell::new(false);
    let refused = world.run(world.set(), &|step, _| {
        use std::io::Write;
        placed.set(placed.get() || step == WriteStep::Place);
        if step == WriteStep::Sync && placed.get() {
            open.borrow_mut().write_all(b" and more").unwrap();
        }
        Ok(())
    });
    assert!(refused.unwrap_err().is_clean());
    assert!(world.text("a.txt").starts_with("a1 and more"));
    assert_eq!(world.tree().len(), 1);
}

#[test]
fn a_file_that_appears_or_vanishes_is_a_conflict() {
    let mut world = World::new();
    world.file("a.txt", "a1");
    world.change("a.txt", Some("a1"), None).change("n.txt", None, Some("n"));
    for (step, path) in [(WriteStep::Recheck, "n.txt"), (WriteStep::Place, "n.txt")] {
        let refused = world.run(world.set(), &|now, at| {
            if now == step && at == path {
                world.file("n.txt", "theirs");
            }
            Ok(())
        });
        assert!(refused.unwrap_err().is_clean());
        assert_eq!((world.text("a.txt").as_str(), world.text("n.txt").as_str()), ("a1", "theirs"));
        fs::remove_file(world.at("n.txt")).unwrap();
    }
    fs::remove_file(world.at("a.txt")).unwrap();
    world.file("n.txt", "else");
    assert!(world.apply().unwrap_err().is_clean());
    assert_eq!(world.tree().into_keys().collect::<Vec<_>>(), ["a.txt", "n.txt"], "a.txt was as after and came back");
}

#[test]
fn an_edit_while_the_set_is_taken_back_is_kept_and_said() {
    let mut world = World::new();
    world.file("a.txt", "a1").file("b.txt", "b1");
    world.change("a.txt", Some("a1"), Some("a2")).change("b.txt", Some("b1"), Some("b2"));
    let back = Cell::new(false);
    let refused = world.run(world.set(), &|step, path| {
        match (step, path) {
            (WriteStep::Recheck, "b.txt") => _ = world.file("b.txt", "mine"),
            (WriteStep::TakeBack, "a.txt") => back.set(true),
            (WriteStep::Place, "a.txt") if back.get() => _ = world.file("a.txt", "mine too"),
            _ => {}
        }
        Ok(())
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.not_put_back, ["a.txt"]);
    assert!(refused.to_string().ends_with("Could not be put back: a.txt."), "{refused}");
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("mine too", "mine"));
    assert_eq!(world.tree().len(), 2);
}

const STEPS: [WriteStep; 9] = [
    WriteStep::MakeDirectory,
    WriteStep::Stage,
    WriteStep::Sync,
    WriteStep::Staged,
    WriteStep::Recheck,
    WriteStep::Place,
    WriteStep::Verify,
    WriteStep::TakeBack,
    WriteStep::Clean,
];

#[test]
fn a_link_to_the_outside_that_is_swapped_in_at_any_step_gains_nothing() {
    // What is swapped: a directory on the way to an edit, one on the way to a creation, one on the way to a
    // deletion, and a file itself. Outside lies the very same thing, so that no comparison can tell.
    let swaps = [("sub", "out/sub"), ("made", "out/made"), ("gone", "out/gone"), ("a.txt", "out/a.txt")];
    let (mut swapped_in, mut refused) = (0, 0);
    for (name, target) in swaps {
        for step in STEPS {
            for fails in [false, true] {
                let mut world = World::new();
                world.file("a.txt", "a1").file("sub/b.txt", "b1").file("made/keep", "k").file("gone/c.txt", "c1");
                for path in ["a.txt", "sub/b.txt", "made/keep", "gone/c.txt"] {
                    world.file(&format!("../out/{path}"), &world.text(path));
                }
                world.change("a.txt", Some("a1"), Some("a2")).change("sub/b.txt", Some("b1"), Some("b2"));
                world.change("made/deep/n.txt", None, Some("n")).change("gone/c.txt", Some("c1"), None);
                let outside = || {
                    let read = |path: &str| fs::read_to_string(world.base.path().join(path)).unwrap_or_default();
                    let names = |path: &str| fs::read_dir(world.base.path().join(path)).unwrap().count();
                    let files = ["out/a.txt", "out/sub/b.txt", "out/made/keep", "out/gone/c.txt"].map(read);
                    (files, ["out", "out/sub", "out/made", "out/gone"].map(names))
                };
                let before = outside();
                let done = Cell::new(false);
                let answer = world.run(world.set(), &|now, _| {
                    if now == step && !done.replace(true) {
                        fs::rename(world.at(name), world.at("moved")).unwrap();
                        symlink(world.base.path().join(target), world.at(name)).unwrap();
                    }
                    // So that the set is taken back, too.
                    if fails && now == WriteStep::Verify { Err(Errno::IO) } else { Ok(()) }
                });
                assert_eq!(outside(), before, "{name} at {step:?}: {answer:?}");
                swapped_in += usize::from(done.get());
                refused += usize::from(answer.is_err());
            }
        }
    }
    assert!(swapped_in > 60 && refused > 30, "{swapped_in} swaps, {refused} refusals");
}

#[test]
fn a_link_to_files_of_care_that_is_put_on_the_way_after_the_approval_is_refused() {
    for (link, target, path) in
        [("new", ".git/hooks", "new/pre-commit"), ("new", ".trimtab", "new/config.toml"), ("new", ".ssh", "new/config")]
    {
        let mut world = World::new();
        world.file(&format!("{target}/keep"), "k");
        world.change(path, None, Some("evil"));
        symlink(target, world.at(link)).unwrap();
        let refused = world.apply().unwrap_err();
        assert!(matches!(refused.why, Why::BadPath { .. }), "{refused}");
        assert_eq!(fs::read_dir(world.at(target)).unwrap().count(), 1);
    }
    let mut world = World::new();
    world.file(".git/keep", "k");
    world.change(".git/hooks/x", None, Some("x"));
    world.apply().unwrap();
    assert_eq!(world.text(".git/hooks/x"), "x", "named by its own path, it is what was approved");
}

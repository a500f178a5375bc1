//! Paths and folders: what is in them, and what lies outside.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

#[tokio::test]
async fn a_wrong_path_is_answered_with_what_may_be_meant() {
    let files = ["src/main.rs", "src/config.toml", "crates/x/src/server.rs", "README.md"].map(|path| (path, ""));
    let scene = Scene::new(&files);
    let mut all = String::new();
    for path in [
        "src/mian.rs",
        "src/config.yaml",
        "readme.md",
        "src/server.rs",
        "scr/main.rs",
        "nothing/like/this",
        "README.md/x",
        "a\nb",
    ] {
        let seen = scene.read(path, None, None).await;
        assert_eq!(seen.status, Error);
        all.push_str(&format!("{}\n", seen.text));
    }
    insta::assert_snapshot!(all, @r#"
    There is no `src/mian.rs` in the folder. Did you mean `src/main.rs`?
    There is no `src/config.yaml` in the folder. Did you mean `src/config.toml`?
    There is no `readme.md` in the folder. Did you mean `README.md`?
    There is no `src/server.rs` in the folder. Did you mean `crates/x/src/server.rs`?
    There is no `scr/main.rs` in the folder. Did you mean `src/main.rs`?
    There is no `nothing/like/this` in the folder. Use `list_files` to see its files.
    There is no `README.md/x` in the folder. Did you mean `README.md` or `crates/x`?
    There is no `a\nb` in the folder. Use `list_files` to see its files.
    "#);
    insta::assert_snapshot!(scene.read("src", None, None).await.text, @"`src` is a folder. Use `list_files` to see what is in it.");
    insta::assert_snapshot!(scene.list("src/main.rs", 1).await.1, @"`src/main.rs` is not a folder. Use `read_file` to see what is in a file.");
}

#[tokio::test]
async fn only_the_folder_can_be_seen() {
    let outside = tempfile::tempdir().expect("another folder");
    fs::write(outside.path().join("secret"), "secret\n").expect("a file");
    let scene = Scene::new(&[("in/real.txt", "real\n"), ("main.rs", "")]);
    symlink(outside.path().join("secret"), scene.path("to_file")).expect("a link");
    symlink(outside.path(), scene.path("to_folder")).expect("a link");
    symlink("../../../../../../../../etc", scene.path("in/up")).expect("a link");
    symlink("real.txt", scene.path("in/beside")).expect("a link");
    symlink(scene.path("in/real.txt"), scene.path("absolute")).expect("a link");
    symlink("round", scene.path("round")).expect("a link");
    symlink("nowhere", scene.path("dangling")).expect("a link");
    let secret = outside.path().join("secret");
    let secret = secret.to_str().expect("a path");
    for path in ["to_file", "to_folder/secret", "in/up/passwd", "../secret", "/etc/passwd", "in/../../x", secret] {
        let seen = scene.read(path, None, None).await;
        assert_eq!((seen.status, seen.files.len()), (Error, 0), "{path}");
        assert!(seen.text.contains("outside the folder"), "{path}: {}", seen.text);
    }
    insta::assert_snapshot!(scene.steady(&scene.read("to_file", None, None).await), @"`to_file` is a link to a file outside the folder. Only files in FOLDER can be read.");
    insta::assert_snapshot!(scene.steady(&scene.read("/main.rs", None, None).await), @"`/main.rs` is outside the folder. Only files in FOLDER can be read. Paths are relative to it. Did you mean `main.rs`?");
    insta::assert_snapshot!(scene.steady(&scene.read("round", None, None).await), @"`round` is a link to itself.");
    insta::assert_snapshot!(scene.steady(&scene.read("dangling", None, None).await), @"`dangling` is a broken link.");
    // Not even whether something is there.
    let absent = scene.read("to_folder/secrets", None, None).await;
    assert!(absent.text.contains("outside the folder"), "{}", absent.text);
    for path in ["to_folder", "in/up", "..", "/"] {
        assert_eq!(scene.list(path, 1).await.0, Error, "{path}");
        assert_eq!(scene.glob("*", path).await.0, Error, "{path}");
        assert_eq!(scene.search(".", path).await.0, Error, "{path}");
    }
    assert!(scene.search("secret|root", "").await.1.starts_with("No line matches"));
    let hash = hash("real\n");
    for path in ["in/beside", "absolute"] {
        let seen = scene.read(path, None, None).await;
        assert_eq!(seen.text, "1\treal");
        let marks = [path, "in/real.txt"].map(|path| FileMark { path: path.into(), hash: hash.clone() });
        assert_eq!(seen.files, marks);
    }
    let (_, listed) = scene.list("", 2).await;
    assert!(listed.contains("dangling -> nowhere") && listed.contains("beside -> real.txt"), "{listed}");
    assert!(!listed.contains("secret  "), "{listed}");
    assert_eq!(scene.glob("*", "").await.1, "absolute\nin/beside\nin/real.txt\nmain.rs");
}

#[tokio::test]
async fn pipes_and_devices_are_not_waited_for() {
    let scene = Scene::new(&[("a.txt", "text\n")]);
    let status = std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().expect("mkfifo");
    assert!(status.success());
    let socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).expect("a socket");
    for path in ["pipe", "socket"] {
        let seen = scene.read(path, None, None).await;
        assert_eq!(seen.status, Error);
        assert_eq!(seen.text, format!("`{path}` cannot be read: it is not a regular file."));
        assert_eq!(scene.search("text", path).await.0, Error);
    }
    assert_eq!(scene.search("text", "").await, (Fine, "a.txt:1:text".into()));
    assert_eq!(scene.glob("*", "").await.1, "a.txt");
    let listed = "./\n  a.txt  5 B\n  pipe  (not a regular file)\n  socket  (not a regular file)";
    assert_eq!(scene.list("", 1).await.1, listed);
    drop(socket);
    let devices = ReadScope::open(Path::new("/dev")).expect("a folder");
    let seen = perform_read(&devices, &ReadOp::Read { path: "zero".into(), offset: None, limit: None }).await;
    assert_eq!((seen.status, seen.text.as_str()), (Error, "`zero` cannot be read: it is not a regular file."));
    let process = ReadScope::open(Path::new("/proc/self")).expect("a folder");
    let seen = perform_read(&process, &ReadOp::Read { path: "status".into(), offset: None, limit: Some(1) }).await;
    assert!(seen.text.starts_with("1\tName:"), "{}", seen.text);
}

#[tokio::test]
async fn a_listing_is_sorted_and_leaves_out_what_git_ignores() {
    let scene = Scene::new(&[
        (".gitignore", "/target\n*.log\n"),
        (".github/workflows/ci.yml", "on: push\n"),
        (".git/config", ""),
        ("src/main.rs", &"x".repeat(1_234)),
        ("src/net/http.rs", ""),
        ("src/net/deep/er/file.rs", ""),
        ("src/.hidden", ""),
        ("src/debug.log", ""),
        ("target/debug/x", ""),
        ("Cargo.toml", "[package]\n"),
        ("b\nc", ""),
    ]);
    let (status, text) = scene.list("", 3).await;
    assert_eq!(status, Fine);
    insta::assert_snapshot!(text, @r#"
    ./
      .github/
        workflows/
          ci.yml  9 B
      .gitignore  14 B
      Cargo.toml  10 B
      b\nc  0 B
      src/
        main.rs  1.2 KB
        net/
          deep/
          http.rs  0 B
    "#);
    insta::assert_snapshot!(scene.list("src/net", 0).await.1, @"
    src/net/
      deep/
      http.rs  0 B
    ");
    insta::assert_snapshot!(scene.list("target", 5).await.1, @"
    target/
      debug/
        x  0 B
    ");
    fs::create_dir(scene.path("empty")).expect("a folder");
    insta::assert_snapshot!(scene.list("empty", 1).await.1, @"
    empty/
      (nothing, or nothing but ignored and hidden files)
    ");
}

#[tokio::test]
async fn a_full_listing_shows_what_is_near_first() {
    let scene = Scene::new(&[("zebra", "")]);
    for number in 0..700 {
        scene.write(&format!("a/f{number:03}"), "");
    }
    let (status, text) = scene.list("", 2).await;
    assert_eq!(status, Partial);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[1], lines[2], lines[500]), (502, "  a/ …", "    f000  0 B", "  zebra  0 B"));
    insta::assert_snapshot!(lines[501], @"[500 of 702 entries are shown, and none that lie deeper; … marks folders with more. List one of them, or use `find_files`.]");
    assert_eq!(scene.list("", 2).await.1, text);
}

#[tokio::test]
async fn names_are_found_by_pattern_in_the_order_of_paths() {
    let scene = Scene::new(&[
        (".gitignore", "ignored/\n"),
        ("z.rs", ""),
        ("src/b.rs", ""),
        ("src/a.rs", ""),
        ("src/sub/c.rs", ""),
        ("src/.env", ""),
        ("ignored/d.rs", ""),
        (".github/x.yml", ""),
    ]);
    let found = async |pattern: &str, path: &str| {
        let (status, text) = scene.glob(pattern, path).await;
        assert_eq!(status, Fine, "{text}");
        text.replace('\n', " ")
    };
    assert_eq!(found("*.rs", "").await, "src/a.rs src/b.rs src/sub/c.rs z.rs");
    assert_eq!(found("src/*.rs", "").await, "src/a.rs src/b.rs");
    assert_eq!(found("sub/*", "src").await, "src/sub/c.rs");
    assert_eq!(found("**/*.{rs,yml}", ".").await, ".github/x.yml src/a.rs src/b.rs src/sub/c.rs z.rs");
    assert_eq!(found(".env", "").await, "src/.env");
    assert_eq!(found(scene.path("src/sub/*.rs").to_str().expect("a path"), "").await, "src/sub/c.rs");
    insta::assert_snapshot!(found("src", "").await, @"No file fits `src` in `.`. It is a folder; `src/**` finds what is in it.");
    insta::assert_snapshot!(found("*.py", "src").await, @"No file fits `*.py` in `src`. Ignored and hidden files are left out.");
    for number in 0..600 {
        scene.write(&format!("many/{number:03}.txt"), "");
    }
    let (status, text) = scene.glob("*.txt", "").await;
    assert_eq!((status, text.lines().count()), (Partial, 501));
    assert!(text.ends_with("many/499.txt\n[500 of 600 files are shown. Narrow the pattern, or name a folder.]"));
}

#[tokio::test]
async fn a_folder_that_is_none_cannot_be_opened() {
    let scene = Scene::new(&[("file", "")]);
    assert!(ReadScope::open(&scene.path("file")).is_err());
    assert!(ReadScope::open(&scene.path("nothing")).is_err());
}

//! Servers that others wrote, from npm. They are installed only where `TRIMTAB_MCP_PEERS` names a folder for them, because
//! that takes a registry.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::checks;
use crate::scene::Scene;

checks![servers_from_npm_are_listed_and_called];

const PACKAGES: [&str; 3] = [
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
];

/// The folder with the packages; nothing where they are not wanted.
fn installed() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TRIMTAB_MCP_PEERS")?);
    std::fs::create_dir_all(&folder).expect("a folder");
    if !PACKAGES.iter().all(|package| folder.join("node_modules").join(package).exists()) {
        let npm = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .args(PACKAGES)
            .status();
        assert!(npm.expect("npm is there").success(), "npm cannot install the packages");
    }
    Some(folder)
}

fn add(scene: &Scene, folder: &Path, name: &str, arguments: &[&str]) {
    let program = folder.join("node_modules/.bin").join(format!("mcp-server-{name}"));
    let program = program.display().to_string();
    let words = ["mcp", "add", name, "--", program.as_str()].into_iter().chain(arguments.iter().copied());
    let added = scene.program.run(&words.collect::<Vec<_>>());
    assert_eq!(added.code, Some(0), "{}", added.stderr);
}

fn servers_from_npm_are_listed_and_called() {
    let Some(folder) = installed() else { return };
    let scene = Scene::new();
    let project = scene.program.project().display().to_string();
    add(&scene, &folder, "everything", &["stdio"]);
    add(&scene, &folder, "filesystem", &[project.as_str()]);
    add(&scene, &folder, "memory", &[]);
    let doctor = scene.program.run(&["mcp", "doctor"]);
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    assert_eq!(doctor.stdout.matches("ok       ").count(), 3, "{}", doctor.stdout);
    let call = |server: &str, tool: &str, input: serde_json::Value| {
        let ended = scene.program.run(&["mcp", "call", server, tool, &input.to_string()]);
        assert_eq!(ended.code, Some(0), "{server} {tool}: {} {}", ended.stdout, ended.stderr);
        ended.stdout
    };
    assert!(call("everything", "echo", json!({"message": "hello"})).contains("hello"));
    std::fs::write(scene.program.project().join("notes.txt"), "a note").expect("writes");
    let notes = format!("{project}/notes.txt");
    assert!(call("filesystem", "read_text_file", json!({"path": notes})).contains("a note"));
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes programs"]}]});
    call("memory", "create_entities", entity);
    assert!(call("memory", "search_nodes", json!({"query": "Ada"})).contains("writes programs"));
    // In a request, the same tools ask first.
    scene.asks(&[("find_tool", json!({"query": "echo a message"}))]);
    scene.asks(&[("use_tool", json!({"name": "mcp__everything__echo", "input": {"message": "hi"}}))]);
    let asked = scene.program.run(&["run", "--json", "What do the notes say?"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stdout);
}

//! The conformance suite of the protocol, from npm. It starts servers, runs this executable as the client, which uses the
//! real binary, and judges what the servers have seen.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::login::browse;

use crate::checks;
use crate::elicitation::{open_question, typed};
use crate::peers::installed;
use crate::scene::Scene;

checks![the_client_conforms_to_the_protocol];

/// The first argument that makes this executable the client of a scenario.
pub(crate) const CLIENT: &str = "--conformance-client";

/// Every scenario for clients but those of extensions that Trimtab does not have: clients without a user
/// (`client-credentials`) and the single sign-on of an enterprise (`cross-app-access`).
const SCENARIOS: &[&str] = &[
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
];

fn the_client_conforms_to_the_protocol() {
    let Some(folder) = installed() else { return };
    let suite = suite(&folder);
    let own = std::env::current_exe().expect("a path").display().to_string();
    let results = tempfile::tempdir().expect("a folder");
    let wanted = std::env::var("TRIMTAB_CONFORMANCE").unwrap_or_default();
    let mut failed = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.contains(wanted.as_str())) {
        let ended = Command::new("node")
            .arg(&suite)
            .args(["client", "--command", &format!("{own} {CLIENT}"), "--scenario", scenario])
            .args(["--timeout", "120000"])
            .current_dir(results.path())
            .output()
            .expect("node is there");
        let passed = ended.status.success();
        println!("    {scenario}: {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            println!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
            failed.push(*scenario);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The program of the suite. It is written for a newer Node: an import that only its other commands need is taken out.
fn suite(folder: &Path) -> std::path::PathBuf {
    let package = folder.join("node_modules/@modelcontextprotocol/conformance/dist");
    let has_import = Command::new("node").args(["-e", "process.exit(require('fs').globSync ? 0 : 1)"]).status();
    if has_import.expect("node is there").success() {
        return package.join("index.js");
    }
    let text = std::fs::read_to_string(package.join("index.js")).expect("the suite");
    let (before, rest) = text.split_once("globSync as ").expect("the import");
    let (name, after) = rest.split_once(',').expect("another import");
    let (first, before) = before.split_once('\n').expect("the first line");
    let older = package.join("older_node.js");
    std::fs::write(&older, format!("{first}\nconst {name}=()=>[];{before}{after}")).expect("written");
    older
}

/// Does as a client what a scenario wants.
pub(crate) fn play_client(url: &str) {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let scene = Scene::new();
    let run = |arguments: &[&str]| {
        let ended = scene.program.run(arguments);
        println!("{arguments:?}: {} {}", ended.stdout, ended.stderr);
        ended
    };
    run(&["mcp", "add", "suite", url]);
    match scenario.as_str() {
        "tools_call" => drop(run(&["mcp", "call", "suite", "add_numbers", r#"{"a": 5, "b": 3}"#])),
        "sse-retry" => drop(run(&["mcp", "call", "suite", "test_reconnection"])),
        "elicitation-sep1034-client-defaults" => {
            // A form that the user sends as it is.
            run(&["mcp", "tools"]);
            run(&["rules", "add", "allow", "mcp", "suite:*"]);
            scene.asks(&[("mcp__suite__test_client_elicitation_defaults", json!({}))]);
            scene.says("Done.");
            let mut terminal = typed(&scene, "Fill in the form");
            let id = open_question(&scene)["checkpoint"].as_str().expect("an ID").to_owned();
            run(&["answer", &id, "submit", "--text", "{}"]);
            terminal.wait_for("Done.");
            terminal.press("\x04");
            terminal.wait();
        }
        scenario if scenario.starts_with("auth/") => play_login(&scene, scenario, &context),
        _ => drop(run(&["mcp", "tools"])),
    }
}

fn play_login(scene: &Scene, scenario: &str, context: &Value) {
    let own = match scenario {
        "auth/basic-cimd" => Some(("https://conformance-test.local/client-metadata.json", None)),
        "auth/pre-registration" => context["client_id"].as_str().map(|id| (id, context["client_secret"].as_str())),
        _ => None,
    };
    if let Some((id, secret)) = own {
        let file = scene.program.home().join("config.toml");
        let mut settings = std::fs::read_to_string(&file).expect("settings");
        settings.push_str(&format!("client_id = \"{id}\"\n"));
        if let Some(secret) = secret {
            settings.push_str(&format!("client_secret = \"{secret}\"\n"));
        }
        std::fs::write(&file, settings).expect("written");
    }
    scene.program.run(&["mcp", "tools"]);
    // A person logs in when the program says so, and gives up at the third time.
    for _ in 0..3 {
        if !agree(scene) {
            return;
        }
        let called = scene.program.run(&["mcp", "call", "suite", "test-tool"]);
        println!("{} {}", called.stdout, called.stderr);
        if called.code == Some(0) {
            return;
        }
    }
}

/// Logs in, at whatever hosts the program asks about.
fn agree(scene: &Scene) -> bool {
    let mut hosts: Vec<String> = Vec::new();
    loop {
        let named: Vec<&str> = hosts.iter().flat_map(|host| ["--at", host.as_str()]).collect();
        let mut running = scene.program.spawn(&[&["mcp", "login", "suite", "--json"], &named[..]].concat());
        while !running.has_ended() && !running.stdout().contains("\"open\"") {
            std::thread::sleep(Duration::from_millis(5));
        }
        if running.stdout().contains("\"open\"") {
            let line: Value = serde_json::from_str(&running.line_with("\"open\"")).expect("JSON");
            browse(line["address"].as_str().expect("an address"));
            let ended = running.wait();
            println!("{} {}", ended.stdout, ended.stderr);
            return ended.code == Some(0);
        }
        let said = running.wait().stderr;
        println!("{said}");
        let more = said.split("--at ").skip(1).filter_map(|rest| rest.split(['`', ' ']).next());
        let before = hosts.len();
        hosts.extend(more.map(str::to_owned));
        if hosts.len() == before {
            return false;
        }
    }
}

//! Documents are tested: what they name exists, what they show is what happens.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

#[path = "documents/console.rs"]
mod console;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use trimtab_host::config::{KEYS, PROVIDER_KEYS, SERVER_KEYS, SettingKey, SettingKind, env_name};
use trimtab_testkit::program::Program;
use trimtab_vocab::event::KNOWN_TYPES;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn documents() -> Vec<(String, String)> {
    let mut names =
        vec!["README.md".to_owned(), "ARCHITECTURE.md".into(), "CONTRIBUTING.md".into(), "CHANGELOG.md".into()];
    for folder in ["docs", "docs/guide", "docs/howto", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

/// The code blocks of a document, each with its language.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(language), None) => open = Some((language.to_owned(), String::new())),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let each = entries.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![(path.clone(), std::fs::read_to_string(&path).unwrap_or_default())],
    });
    each.collect()
}

#[test]
fn surfaces_do_not_know_each_other() {
    let place = root().join("crates/surfaces/src");
    for (surface, others) in [
        ("tui", ["crate::cli", "crate::http"].as_slice()),
        ("http", &["crate::cli", "crate::tui"]),
        ("words", &["crate::cli", "crate::tui", "crate::http"]),
        ("diff", &["crate::cli", "crate::tui", "crate::http"]),
    ] {
        let files = sources(&place.join(surface));
        assert!(!files.is_empty(), "{surface}");
        for (path, text) in files {
            let named = others.iter().find(|other| text.contains(*other));
            assert_eq!(named, None, "{}", path.display());
        }
    }
}

#[test]
fn the_readmes_two_commands_are_the_ones_that_exist() {
    let readme = read("README.md");
    let commands: Vec<String> =
        blocks(&readme).into_iter().filter(|(language, _)| language == "sh").map(|(_, body)| body).collect();
    assert_eq!(commands[0], "cargo run -- demo\nscripts/test\n");
    assert!(read(".ci/run").lines().any(|line| line == "exec scripts/test"), "CI runs the README's command");
    assert!(read("scripts/test").contains("cargo run --quiet --locked -- demo"), "which runs the other one");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(root().join("scripts/test")).expect("there").permissions(),
    );
    assert_ne!(mode & 0o100, 0, "scripts/test can be executed");
}

/// Asks the program whether it knows the command of this line and its options.
fn understood(place: &str, line: &str) {
    // What stands in quotation marks is for others: a request, a command that is judged.
    let bare: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
    // Behind two spaces it is said what an example does.
    let bare = bare.split("  ").next().unwrap_or_default();
    let words: Vec<&str> = bare.split_whitespace().skip(1).collect();
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    // Without a command, it is the program itself that takes the options.
    let Some(first) = words.first().copied().filter(|word| !word.starts_with(['-', '#'])) else { return };
    let ended = program.run(&[first, "--help"]);
    assert_eq!(ended.code, Some(0), "{place}: {line}");
    // What a command of a command takes stands in its own help.
    let second = words.get(1).filter(|word| !word.starts_with(['-', '"', '#', '|', '>']));
    let more = second.map(|second| program.run(&[first, second, "--help"]).stdout).unwrap_or_default();
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(ended.stdout.contains(*option) || more.contains(*option), "{place}: {line}: there is no {option}");
    }
}

/// The commands that `--help` lists in its groups.
fn listed_commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Work:").take_while(|line| *line != "Options:");
    listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect()
}

#[test]
fn every_example_in_help_is_understood() {
    let help = |words: &[&str]| {
        let ended = Command::new(env!("CARGO_BIN_EXE_trimtab")).args(words).arg("--help").output().expect("runs");
        String::from_utf8(ended.stdout).expect("text")
    };
    let all = help(&[]);
    let mut examples = 0;
    for command in listed_commands(&all).into_iter().filter(|command| *command != "help") {
        let text = help(&[command]);
        // One that takes nothing needs none.
        let takes_nothing = text.contains(&format!("Usage: trimtab {command}\n"));
        assert!(takes_nothing || text.contains("Examples:"), "{command} has no example:\n{text}");
        let shown =
            text.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| line.starts_with("  "));
        for line in shown.filter_map(|line| Some(&line[line.find("trimtab ")?..])) {
            examples += 1;
            understood(command, line);
        }
    }
    assert!(examples > 40, "{examples}");
}

#[test]
fn every_command_that_a_document_shows_is_understood() {
    for (name, text) in documents() {
        for (language, body) in blocks(&text) {
            if language != "sh" && language != "console" {
                continue;
            }
            for line in body.lines() {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                let Some(at) = line.find("trimtab ").filter(|at| *at == 0 || line[..*at].ends_with([' ', '|'])) else {
                    continue;
                };
                understood(&name, &line[at..]);
            }
        }
    }
}

/// What a heading is linked by.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>().replace(' ', "-")
}

#[test]
fn every_path_that_a_document_names_exists() {
    for (name, text) in documents() {
        for part in text.split('`').skip(1).step_by(2) {
            let path = part.split("::").next().unwrap_or(part);
            let is_path =
                ["crates/", "docs/", "scripts/", "bench/", ".ci/"].iter().any(|start| path.starts_with(start))
                    && !path.contains([' ', '*', '<', '…', '{', '\n'])
                    && !path.chars().any(|c| c.is_ascii_uppercase() && !path.ends_with(".md"));
            if is_path {
                assert!(root().join(path).exists(), "{name} names {path}");
            }
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let from = root().join(&name);
            let target = if path.is_empty() { from } else { from.parent().expect("a folder").join(path) };
            assert!(target.exists(), "{name} links to {link}");
            if !place.is_empty() {
                let text = std::fs::read_to_string(&target).expect("text");
                let headings = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.into_iter().any(|heading| heading == place), "{name} links to {link}");
            }
        }
    }
}

/// Whether a source has a test of this name: a function of Rust's, or a name in the browser's own tests.
fn has_test(file: &str, test: &str) -> bool {
    let source = read(file);
    if file.ends_with(".test.ts") {
        return source.lines().any(|line| line.starts_with(&format!("test('{test}', ")));
    }
    source.find(&format!("fn {test}(")).is_some_and(|at| {
        let before = &source[..at];
        let attribute = before.rfind("#[").map_or("", |attribute| &before[attribute..]);
        attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test")
    })
}

/// The requirements: how many each document has. Decisions between documents (`K`) are none of their own.
const REQUIREMENTS: [(&str, u32); 5] = [("CF", 218), ("AF", 110), ("CP", 67), ("AM", 203), ("RL", 53)];

/// Ids, and what is said of them.
type Row = (Vec<String>, String);

/// The rows of each section of the coverage page.
fn coverage() -> Vec<(String, Vec<Row>)> {
    let mut sections: Vec<(String, Vec<Row>)> = Vec::new();
    for line in read("docs/coverage.md").lines() {
        if let Some(name) = line.strip_prefix("## ") {
            sections.push((name.to_owned(), Vec::new()));
        }
        let Some((ids, said)) = line.strip_prefix("| ").and_then(|rest| rest.split_once(" | ")) else { continue };
        let (Some((_, rows)), false) = (sections.last_mut(), ids.starts_with(|c: char| c.is_lowercase())) else {
            continue;
        };
        rows.push((ids.split(", ").flat_map(numbers).collect(), said.trim_end_matches(" |").to_owned()));
    }
    sections
}

/// `CF-173–195` is each of them.
fn numbers(ids: &str) -> Vec<String> {
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("{ids} is no requirement"));
    let (family, numbers) = ids.split_once('-').unwrap_or_else(|| panic!("{ids} is no requirement"));
    assert!(family == "K" || REQUIREMENTS.iter().any(|(known, _)| *known == family), "{ids}");
    let (first, last) = numbers.split_once('–').unwrap_or((numbers, numbers));
    (number(first)..=number(last)).map(|number| format!("{family}-{number}")).collect()
}

#[test]
fn every_requirement_is_shown_measured_checked_overruled_or_open() {
    let page = read("docs/coverage.md");
    let sections = coverage();
    let count = |name: &str| -> BTreeSet<String> {
        let (_, rows) = sections.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no section {name}"));
        rows.iter().flat_map(|(ids, _)| ids.clone()).filter(|id| !id.starts_with("K-")).collect()
    };
    let places =
        ["Open", "Overruled", "Measured", "Checked otherwise", "Shown by a test"].map(|name| (name, count(name)));
    let mut missing = Vec::new();
    for id in REQUIREMENTS.iter().flat_map(|(family, last)| (1..=*last).map(move |number| format!("{family}-{number}")))
    {
        let found: Vec<&str> = places.iter().filter(|(_, ids)| ids.contains(&id)).map(|(name, _)| *name).collect();
        match found.as_slice() {
            [] => missing.push(id),
            [_] => {}
            several => panic!("{id} is in several places: {several:?}"),
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "these are in no place");
    let all: u32 = REQUIREMENTS.iter().map(|(_, count)| count).sum();
    assert_eq!(places.iter().map(|(_, ids)| ids.len() as u32).sum::<u32>(), all, "ids that there are not");
    for (name, ids) in &places {
        let line = format!("| {} | {} |", name.to_lowercase(), ids.len());
        assert!(page.lines().any(|known| known == line), "the totals lack: {line}");
    }
}

#[test]
fn the_coverage_table_names_tests_that_exist() {
    let sections = coverage();
    let (_, rows) = sections.iter().find(|(name, _)| name == "Shown by a test").expect("the table");
    for named in rows.iter().flat_map(|(_, said)| said.split('`').skip(1).step_by(2)) {
        let (file, test) = named.split_once("::").unwrap_or_else(|| panic!("{named} names no test"));
        assert!(has_test(file, test), "there is no test {named}");
    }
    assert!(!has_test("web/src/lib/assistant.test.ts", "a test that nobody wrote"));
    assert!(rows.len() > 200 && rows.iter().all(|(_, said)| said.contains("::")), "{}", rows.len());
}

#[test]
fn whoever_changes_the_program_and_whoever_uses_it_finds_what_they_must_know() {
    let permissions = read("docs/guide/permissions.md");
    for answer in ["`allow`", "`always`", "`wait`", "`never`"] {
        assert!(permissions.contains(answer), "nobody is told of {answer}");
    }
    let interrupts = read("docs/guide/steering.md") + &read("docs/guide/terminal.md");
    for key in ["Ctrl-C", "Esc"] {
        assert!(interrupts.contains(key), "nobody is told of {key}");
    }
    let trouble = read("docs/guide/troubleshooting.md");
    for what in ["## The stream is stuck", "## A tool was denied", "## The step limit"] {
        assert!(trouble.contains(what), "{what}");
    }
    let checklist = read("CONTRIBUTING.md");
    let checklist = checklist.split("## Review checklist").nth(1).expect("a checklist");
    for what in ["**State.**", "**Errors.**", "**Races.**"] {
        assert!(checklist.contains(what), "{what}");
    }
    let checks = read("scripts/test");
    assert!(checks.contains("RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --no-deps"), "the API is documented");
    assert!(checks.contains("cargo test --workspace --locked"), "all of it is tested");
    let comments = read("crates/testkit/tests/doc_comments.rs");
    assert!(comments.contains("fn every_public_type_is_explained"), "no public type is without a word");
}

#[test]
fn the_table_of_events_has_every_type_once() {
    let text = read("docs/events.md");
    let listed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), KNOWN_TYPES.iter().copied().collect());
    assert_eq!(listed.len(), KNOWN_TYPES.len());
}

/// A session's routes are listed after `…`; where several share a beginning, the rest are listed by their last word.
#[test]
fn the_page_about_the_server_lists_every_route() {
    let page = read("docs/server.md");
    let codes = page.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    let listed: Vec<&str> = codes.filter_map(|word| word.split('?').next()).collect();
    let description: serde_json::Value = serde_json::from_str(&read("web/openapi.json")).expect("JSON");
    for path in description["paths"].as_object().expect("paths").keys() {
        let names =
            [path.clone(), path.replace("/api/sessions/{id}/", "…/"), path.rsplit('/').next().unwrap_or(path).into()];
        assert!(names.iter().any(|name| listed.contains(&name.as_str())), "docs/server.md does not list {path}");
    }
}

fn settings_table() -> String {
    let mut table = String::from("| setting | environment | default | what it is for |\n|---|---|---|---|\n");
    let mut row = |path: &str, key: &SettingKey| {
        let choices = match key.kind {
            SettingKind::Choice(choices) => {
                format!(" One of {}.", choices.iter().map(|one| format!("`\"{one}\"`")).collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        let _ = writeln!(table, "| `{path}` | `{}` | `{}` | {}{choices} |", env_name(path), key.default, key.help);
    };
    KEYS.iter().for_each(|key| row(key.path, key));
    PROVIDER_KEYS.iter().for_each(|key| row(&format!("providers.NAME.{}", key.path), key));
    SERVER_KEYS.iter().for_each(|key| row(&format!("mcp.NAME.{}", key.path), key));
    table
}

const SETTINGS: &str = "docs/guide/settings.md";
/// Two tests write pages when they are told to; one of the pages is both's.
static WRITING: Mutex<()> = Mutex::new(());

/// This page with the program's own table of settings, if it has one.
fn with_table(page: &str) -> String {
    let start = page.find("<!-- settings").and_then(|at| Some(at + page[at..].find('\n')? + 1));
    let Some((start, end)) = start.zip(page.find("<!-- end of settings -->")) else { return page.to_owned() };
    format!("{}{}{}", &page[..start], settings_table(), &page[end..])
}

#[test]
fn the_guides_table_of_settings_is_the_programs() {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let page = read(SETTINGS);
    assert!(page.contains("<!-- settings") && page.contains("<!-- end of settings -->"), "{SETTINGS} has its place");
    if std::env::var_os("TRIMTAB_UPDATE_DOCS").is_some() {
        std::fs::write(root().join(SETTINGS), with_table(&page)).expect("written");
        return;
    }
    assert_eq!(page, with_table(&page), "run the tests once with TRIMTAB_UPDATE_DOCS=1");
}

#[test]
fn the_guide_shows_what_happens() {
    let updates = std::env::var_os("TRIMTAB_UPDATE_DOCS").is_some();
    // Pages have worlds of their own, so they need not wait for each other.
    let pages: Vec<_> = documents().into_iter().filter(|(_, text)| text.contains("```console\n")).collect();
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|(_, text)| scope.spawn(|| console::remake(text))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a page")).collect::<Vec<_>>()
    });
    let mut commands = 0;
    for ((name, text), (made, count)) in pages.iter().zip(made) {
        commands += count;
        if updates {
            let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
            std::fs::write(root().join(name), with_table(&made)).expect("written");
        } else {
            let differs = |(_, (written, made)): &(usize, (&str, &str))| written != made;
            let difference = text.lines().zip(made.lines()).enumerate().find(differs);
            let advice = "run the tests once with TRIMTAB_UPDATE_DOCS=1, and look at the difference";
            assert!(*text == made, "{name}: {advice}: {difference:?} (line from 0, (written, made))");
        }
    }
    assert!(commands > 40, "{commands}");
}

#[test]
fn the_manual_and_completions_know_every_command() {
    let run = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_trimtab")).args(words).output().expect("runs");
    let help = String::from_utf8(run(&["--help"]).stdout).expect("text");
    let commands = listed_commands(&help);
    assert!(commands.contains(&"run") && commands.contains(&"serve"), "{commands:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    assert!(run(&["manual", "--into", path]).status.success());
    for command in commands.iter().filter(|command| **command != "help") {
        let page = std::fs::read_to_string(folder.path().join(format!("trimtab-{command}.1"))).expect("a page");
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let page = String::from_utf8(run(&["manual"]).stdout).expect("text");
    assert!(page.contains(".SH SUBCOMMANDS") && page.contains("Exit codes"), "{page}");
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(run(&["completions", shell]).stdout).expect("text");
        assert!(commands.iter().all(|command| text.contains(command)), "{shell}");
    }
    let missing = run(&["manual", "--into", "/nonexistent/folder"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("Name an existing folder"));
}

#[test]
fn help_is_enough_to_start() {
    let help = Command::new(env!("CARGO_BIN_EXE_trimtab")).arg("--help").output().expect("runs");
    insta::assert_snapshot!(String::from_utf8_lossy(&help.stdout), @r#"
    An AI copilot that you stay in control of: it edits files, runs commands, manages tasks, and
    generates images

    Usage: trimtab [OPTIONS] [PROMPT]
           trimtab <COMMAND>

    Work:
      run            Run one request without a UI
      resume         Resume the latest unfinished request in this folder
      checkpoints    List pending questions and approvals
      answer         Answer a pending question and continue
      control        Control a running request: pause, steer, skip, cancel
      subtasks       Show and control sub-tasks: list, retry, skip, stop, steer
      pills          List pills and other workflows that you call with /NAME

    Review:
      review         Review a diff without changing anything
      changes        List changes, newest first, or show one
      diff           Show changes as a diff
      rewind         Undo changes
      forward        Redo undone changes

    Sessions:
      sessions       List, show, fork, rename, export, or delete sessions
      jobs           List running, queued, and interrupted requests
      ps             List background commands
      stop-command   Stop a background command
      handoff        Continue in a new session with a summary, open to-dos, and the change history
      extend         Keep the complete conversation of a session that is almost full
      memory         Manage what Trimtab remembers: list, search, add, edit, delete

    Permissions:
      trust          Trust a folder, so that its files can be read, changed, and sent to the model
      rules          List, add, or remove permission rules

    Tasks:
      tasks          Manage your tasks: list, add, done, edit, delete, search, undo
      ask            Ask about your tasks or request changes to them

    Images:
      images         Generate and manage images: make, list, regenerate, select, save

    Server:
      serve          Start the HTTP API and the browser UI
      acp            Serve an editor over the Agent Client Protocol (standard input and output)
      token          Create, list, or revoke access tokens

    Setup:
      demo           Show Trimtab at work with a recorded model (no key, no network)
      doctor         Check the setup and look for problems
      config         Show the effective settings and where each comes from, or change one
      models         List the models of each provider
      mcp            List, add, approve, and check MCP servers
      hooks          List hooks, and approve hooks of a project
      checks         List the checks after edits and approve those of a folder
      extensions     List extensions: MCP servers, skills, agents, commands, hooks, and instructions
      import         Import rules, MCP servers, skills, and more from another tool
      completions    Print shell completions
      manual         Print the manual page
      help           Explain a command, or a topic such as permissions, undo, or models

    Advanced:
      check-command  Explain whether a command would run automatically, ask, or be denied
      apply-edit     Apply one edit to the folder, all or nothing
      recover        Recover the intact parts of a damaged model answer
      ref            Show a stored text, such as a raw reply or an oversized request
      audit          Show the audit trail and verify it
      stats          Show statistics: requests, approvals, tools, cost

    Options:
          --session <ID>           Continue this session
          --continue               Continue the latest session in this folder
          --model <PROVIDER/NAME>  Use this model
          --autonomy <LEVEL>       Set how much the session does without asking [possible values:
                                   careful, standard, trusting]
          --plain                  Print plain lines instead of drawing a screen (for screen readers)
          --dir <FOLDER>           Work in this folder instead of the current one
      -h, --help                   Print help
      -V, --version                Print version

    Examples:
      trimtab                             open the terminal UI in this folder
      trimtab "Fix the failing test"      open it and send a request
      trimtab demo                        see a demo, no key or network needed
      trimtab run "Fix the failing test"  run one request
      git diff | trimtab run "Review it"  add standard input to the request
      trimtab review --base main          review the commits of this branch
      trimtab changes                     list changes (`trimtab rewind` undoes them)
      trimtab resume                      continue an interrupted request
      trimtab doctor                      check the setup

    Exit codes: 0 completed, 1 failed, 2 usage error, 3 waiting for your answer, 4 limit reached, 130
    cancelled.
    "#);
}

//! Pages whose `console` blocks are made anew: each page in a world of its own, with commands as a person types them.
//!
//! A line `<!-- scene: NAME -->` above a block says how the world is for that block; without it the model is the
//! recording `replay/demo`. `trimtab serve` stays until the page ends, and a command that ends with `# killed` is killed
//! once it runs a command of its own.

use std::fmt::Write as _;
use std::path::Path;

use rustix::process::Signal;
use trimtab_testkit::program::{Program, Running};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply, images};
use trimtab_vocab::Usage;

/// The port that pages show, whichever one was free.
const PORT: &str = "7420";

/// An MCP server in a few lines of shell: it answers each request that it knows with the request's own id.
const NOTES_SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"notes-server","version":"1.0"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"add_note","description":"Adds a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"Added note 1."}]}' ;;
    *'"method":"resources/list"'*) result='{"resources":[{"uri":"notes://readme","name":"readme","description":"How to release"}]}' ;;
    *'"method":"resources/templates/list"'*) result='{"resourceTemplates":[{"uriTemplate":"notes://day/{date}","name":"day","description":"The notes of a day"}]}' ;;
    *'"method":"resources/read"'*) result='{"contents":[{"uri":"notes://day/monday","text":"Released 0.3."}]}' ;;
    *'"method":"prompts/list"'*) result='{"prompts":[{"name":"summarize","description":"Summarizes a topic","arguments":[{"name":"topic","required":true},{"name":"tone"}]}]}' ;;
    *'"method":"prompts/get"'*) result='{"messages":[{"role":"user","content":{"type":"text","text":"Summarize the releases."}}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A page with its blocks made anew, and how many commands they have.
pub(crate) fn remake(text: &str) -> (String, usize) {
    let mut page = Page::new();
    let mut made = String::new();
    let mut scene = String::new();
    let mut commands = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let _ = writeln!(made, "{line}");
        if let Some(name) = line.strip_prefix("<!-- scene: ") {
            scene = name.trim_end_matches(" -->").to_owned();
        } else if line == "```console" {
            page.set(&std::mem::take(&mut scene));
            for line in lines.by_ref().take_while(|line| *line != "```") {
                if let Some(command) = line.strip_prefix("$ ") {
                    commands += 1;
                    let _ = write!(made, "$ {command}\n{}", page.type_in(command));
                }
            }
            made.push_str("```\n");
        }
    }
    (made, commands)
}

struct Page {
    program: Program,
    session: String,
    server: Option<(Running, String)>,
}

impl Page {
    fn new() -> Self {
        Self { program: Program::new(env!("CARGO_BIN_EXE_trimtab")), session: String::new(), server: None }
    }

    /// The world as this scene wants it; `""` is the usual one.
    fn set(&mut self, scene: &str) {
        let program = &mut self.program;
        // What an earlier scene has not used up is no part of this one.
        program.provider = FakeProvider::start();
        let url = program.provider.url().to_owned();
        program.set("ANTHROPIC_BASE_URL", &url);
        program.set("TRIMTAB_MODEL", "anthropic/claude-sonnet-4-5");
        program.set("ANTHROPIC_API_KEY", trimtab_testkit::program::KEY);
        program.unset("TRIMTAB_LIMITS_API_TIMEOUT_S");
        let refused = |status: u16, kind: &str, message: &str| {
            Answer::json(status, serde_json::json!({"type": "error", "error": {"type": kind, "message": message}}))
        };
        let tool = |name: &str, input: serde_json::Value| {
            Answer::anthropic(Reply::new().tool("t1", name, [input.to_string()]))
        };
        let say = |words: &str| Answer::anthropic(Reply::new().text([words]));
        let push = |answers: Vec<Answer>| answers.into_iter().for_each(|answer| program.provider.push(answer));
        match scene {
            "" => program.set("TRIMTAB_MODEL", "replay/demo"),
            "no model" => {
                program.unset("TRIMTAB_MODEL");
                program.unset("ANTHROPIC_API_KEY");
            }
            "no key" => program.unset("ANTHROPIC_API_KEY"),
            "wrong key" => push(vec![refused(401, "authentication_error", "invalid x-api-key")]),
            "wrong model" => push(vec![refused(404, "not_found_error", "model: claude-sonet-4-5")]),
            "overloaded" => push(vec![refused(529, "overloaded_error", "Overloaded"), say("Here I am.")]),
            "silent" => {
                push(vec![Answer::silent()]);
                // A busy machine may be silent once more.
                program.provider.always(say("Here I am."));
                program.set("TRIMTAB_LIMITS_API_TIMEOUT_S", "5");
            }
            "looking" => push(vec![
                tool("list_files", serde_json::json!({"path": "."})),
                tool("search", serde_json::json!({"pattern": "assert"})),
                say("I found the failing test. The fix is next."),
                say("The test passes now."),
            ]),
            "denied" => push(vec![
                tool("run_command", serde_json::json!({"command": "sh deploy.sh"})),
                say("The site is not deployed, because a rule blocks the command."),
            ]),
            "cut" => push(vec![
                Answer::anthropic(Reply::new().text(["Trimtab is an AI copilot for the term"]).stop("max_tokens")),
                say("inal, the browser, and scripts."),
            ]),
            "costly" => {
                let usage = Usage { input_tokens: 4_000, output_tokens: 400, ..Usage::default() };
                push(vec![Answer::anthropic(Reply::new().text(["Here I am."]).usage(usage)), say("And here again.")]);
            }
            "pictures" => {
                program.set("TRIMTAB_PROVIDERS_EASEL_KIND", "openai");
                program.set("TRIMTAB_PROVIDERS_EASEL_BASE_URL", &format!("{url}/v1"));
                program.set("TRIMTAB_MODELS_IMAGE", "easel/grok-2-image");
                let picture = Answer::json(200, images::body(&[images::bytes("in oil")]));
                program.provider.on_path("/v1/images/generations", picture);
            }
            "checks" => {
                let write = |text: &str| serde_json::json!({"path": "notes.txt", "content": text});
                let makefile = "lint:\n\t@! grep -n TODO notes.txt\n";
                std::fs::write(program.project().join("Makefile"), makefile).expect("writes");
                push(vec![
                    tool("write_file", write("Release 0.3\nTODO: date\n")),
                    tool("write_file", write("Release 0.3\nReleased on Monday.\n")),
                    say("notes.txt has the release date, and the check passes."),
                ]);
            }
            "project checks" => {
                let folder = program.project().join(".trimtab");
                std::fs::create_dir_all(&folder).expect("a folder");
                std::fs::write(folder.join("config.toml"), "[checks]\ncommands = [\"npm run lint\"]\n")
                    .expect("writes");
            }
            "import" => {
                let project = program.project().canonicalize().expect("a folder");
                let folder = project.parent().expect("a home").join(".claude/projects/project");
                std::fs::create_dir_all(&folder).expect("a folder");
                let line = |uuid: &str, parent: &str, kind: &str, content: serde_json::Value| {
                    serde_json::json!({"type": kind, "uuid": uuid, "parentUuid": parent, "cwd": project,
                        "sessionId": "2f1d6c1e", "timestamp": "2026-11-02T09:30:00.000Z", "message": {"content": content}})
                };
                let edit =
                    serde_json::json!({"type": "tool_use", "name": "Edit", "input": {"file_path": "src/list.rs"}});
                let words = serde_json::json!({"type": "text", "text": "The test passes now."});
                let lines = [
                    line("1", "", "user", serde_json::json!("Fix the failing test")),
                    line("2", "1", "assistant", serde_json::json!([edit, words])),
                ];
                std::fs::write(folder.join("2f1d6c1e.jsonl"), lines.map(|line| line.to_string()).join("\n"))
                    .expect("writes");
            }
            "hooks" => {
                std::fs::write(program.project().join("format"), "#!/bin/sh\n").expect("writes");
            }
            "mcp" => {
                use std::os::unix::fs::PermissionsExt as _;
                let server = program.project().join("notes-server");
                std::fs::write(&server, NOTES_SERVER).expect("writes");
                std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).expect("is a program");
                push(vec![
                    tool("mcp__notes__add_note", serde_json::json!({"text": "Release on Friday"})),
                    say("The note is added."),
                ]);
            }
            "mcp-resources" => push(vec![say("Version 0.3 was released on Monday.")]),
            "mcp-prompts" => push(vec![say("There was one release this week.")]),
            "review" => {
                let make = "[ -d .git ] || { git init -q . && git config user.name a && git config user.email a@b && \
                    mkdir src && printf 'fn first(items: &[u32]) -> Option<u32> {\n    items.first().copied()\n}\n' > src/list.rs && \
                    git add . && git commit -qm first && \
                    printf 'fn first(items: &[u32]) -> u32 {\n    items[0]\n}\n' > src/list.rs && printf '\\000' > logo.png; }";
                let made = program.command(Path::new("sh"), &["-c", make]).status().expect("runs");
                assert!(made.success());
                let findings = serde_json::json!({
                    "summary": "It changes `first` to return a number instead of an option. Not safe to merge.",
                    "findings": [
                        {"file": "src/list.rs", "line": 2, "severity": "high", "title": "Panics for an empty list",
                         "body": "`items[0]` panics if the list is empty. Before, callers got `None`. Return an `Option` again."},
                        {"file": "src/main.rs", "line": 9, "severity": "low", "title": "The caller still unwraps",
                         "body": "`first(&items).unwrap()` does not compile any more."},
                    ],
                });
                push(vec![say(&findings.to_string())]);
            }
            "interrupted" => push(vec![
                tool("run_command", serde_json::json!({"command": "sh migrate.sh"})),
                say("I could not complete the migration, because its result is unknown. Check the database first."),
            ]),
            other => panic!("there is no scene called {other}"),
        }
    }

    /// What a command shows, without what differs from run to run.
    fn type_in(&mut self, command: &str) -> String {
        if self.session.is_empty() {
            let listed = self.program.run(&["sessions", "list", "--json"]).stdout;
            let first = listed.lines().last().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            self.session = first.and_then(|row| row["id"].as_str().map(str::to_owned)).unwrap_or_default();
        }
        let mut typed = command.replace("SESSION", &self.session);
        if typed.contains("MEMORY") {
            let listed = self.program.run(&["memory", "list"]).stdout;
            typed = typed.replace("MEMORY", listed.split(' ').next().unwrap_or_default());
        }
        if let Some((_, port)) = &self.server {
            typed = typed.replace(PORT, port);
        }
        let binary = self.program.binary().display().to_string();
        if let Some(options) = typed.strip_prefix("trimtab serve") {
            let mut arguments = vec!["serve", "--addr", "127.0.0.1:0"];
            arguments.extend(options.split_whitespace());
            let running = self.program.spawn(&arguments);
            let first = running.line_with("Trimtab is running at ");
            let second = running.line_with("/login?token=");
            let port = first.rsplit(':').next().expect("a port").trim().to_owned();
            self.server = Some((running, port));
            return self.without_accidents(&format!("{first}\n{second}\n"));
        }
        if let Some(alone) = typed.strip_suffix(" # killed").and_then(|line| line.strip_prefix("trimtab ")) {
            let shell = format!("exec {binary} {alone} 2>&1");
            let child = self.program.command(Path::new("sh"), &["-c", &shell]).spawn().expect("starts");
            let running = Running::new(child);
            running.wait_for_line("· run_command");
            running.signal(Signal::KILL);
            return self.without_accidents(&running.wait().stdout);
        }
        let shell = typed.replace("trimtab ", &format!("{binary} "));
        let output = self.program.command(Path::new("sh"), &["-c", &shell]).output().expect("runs");
        self.without_accidents(&String::from_utf8_lossy(&output.stdout))
    }

    /// Ids, ages, times, ports and folders differ from run to run.
    fn without_accidents(&self, text: &str) -> String {
        let path = |path: std::path::PathBuf| path.canonicalize().unwrap_or(path).display().to_string();
        let mut text = text.replace(&path(self.program.project()), "PROJECT");
        text = text.replace(&path(self.program.home()), "DATA");
        if let Some((_, port)) = &self.server {
            text = text.replace(&format!(":{port}"), &format!(":{PORT}"));
        }
        if !self.session.is_empty() {
            text = text.replace(&self.session, "SESSION");
        }
        let mut lines: Vec<&str> = text.lines().collect();
        lines.dedup_by(|next, line| [next, line].iter().all(|line| line.starts_with("The provider sent nothing for ")));
        lines
            .into_iter()
            .map(|line| if line.starts_with("[Took ") { "[Took 7 ms.]" } else { line })
            // How long a command took is said where it was long.
            .map(|line| line.split(" It took ").next().unwrap_or(line))
            // How long a copy of the folder took.
            .map(|line| if line.starts_with("  copy: ") { line.split(" in ").next().unwrap_or(line) } else { line })
            // How long a sub-task took.
            .map(|line| if line.starts_with("✓ ") { line.split(" · ").next().unwrap_or(line) } else { line })
            .map(|line| {
                let line = line.split(' ').map(without_age).collect::<Vec<_>>().join(" ").replace("0s ago", "just now");
                // The age is set flush right, and may have one figure or two.
                match line.strip_prefix("SESSION  ") {
                    Some(rest) => format!("SESSION  {}\n", rest.trim_start()),
                    None => without_ids(&line) + "\n",
                }
            })
            .collect()
    }
}

fn without_age(word: &str) -> &str {
    if word.strip_suffix('s').is_some_and(|n| n.parse::<u32>().is_ok()) { "0s" } else { word }
}

/// Names that were made by chance are named after what they are the name of.
fn without_ids(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut made = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        made.push_str(match word {
            // A session that another one was handed off to.
            word if word.starts_with("si") && word.len() == 34 => "SESSION",
            word if word.starts_with("s-h") && word.len() > 12 => "CHILD",
            word if word.starts_with("s-w") && word.len() > 12 => "WORKER",
            word if word.starts_with("s1") && word.len() == 17 => "OTHER",
            word if word.starts_with("r1") && word.len() > 18 && word.contains("-k") => "CHECKPOINT",
            word if word.starts_with("r1") && word.len() > 18 && word.contains("-m") => "MEMORY",
            word if word.starts_with("m1") && word.len() == 17 => "MEMORY",
            word if word.starts_with("tt_") => "tt_…",
            word if word.starts_with("login-") && word.len() == 18 => "login-4c90a6ce1888",
            word if word.starts_with("picture-") && word.len() > 20 => "KEY",
            word if word.starts_with("img-") && word.len() > 12 => "PICTURE",
            word if word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit()) => "KEY",
            word => word,
        });
        let next = after.chars().next().map_or(0, char::len_utf8);
        made.push_str(&after[..next]);
        rest = &after[next..];
    }
    made
}

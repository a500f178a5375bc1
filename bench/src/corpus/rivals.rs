//! Public tools on the same cases, where they are installed; where not, the row says so.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use trimtab_engine::proposal::edit::{Edit, NewContent};

use super::{answers, damage, edits};

/// Takes thoughts and fences off, as their users have to, and hands the rest to the library.
const NODE: &str = r#"
const fs = require('fs');
const { jsonrepair } = require(process.argv[2] + '/node_modules/jsonrepair');
for (const line of fs.readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
  let text = JSON.parse(line).replace(/<think>[\s\S]*?<\/think>/g, '');
  const fence = text.match(/```(?:json)?\n([\s\S]*?)\n```/);
  if (fence) text = fence[1];
  const at = text.indexOf('{');
  let out = null;
  try { if (at >= 0) out = JSON.parse(jsonrepair(text.slice(at))); } catch {}
  console.log(JSON.stringify(out));
}
"#;
const PYTHON: &str = r#"
import json, re, sys
import json_repair
for line in open(sys.argv[1], encoding='utf-8'):
    text = re.sub(r'<think>[\s\S]*?</think>', '', json.loads(line))
    fence = re.search(r'```(?:json)?\n([\s\S]*?)\n```', text)
    if fence: text = fence.group(1)
    at = text.find('{')
    out = None
    try:
        if at >= 0: out = json_repair.loads(text[at:])
    except Exception: pass
    print(json.dumps(out))
"#;

/// Aider's applier of unified diffs as it is published, without the rest of its program, which it does not need.
const AIDER: &str = r#"
import glob, json, sys, types
root = glob.glob(sys.prefix + '/lib/python*/site-packages/aider')[0]
for name, path in [('aider', root), ('aider.coders', root + '/coders')]:
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
for name, part in [('aider.coders.base_coder', 'Coder'), ('aider.utils', 'GitTemporaryDirectory')]:
    sys.modules[name] = types.ModuleType(name)
    setattr(sys.modules[name], part, object)
from aider.coders.udiff_coder import find_diffs, do_replace
for line in open(sys.argv[1], encoding='utf-8'):
    case = json.loads(line)
    content = case['before']
    try:
        text = case['diff']
        text = text if text.endswith('\n') else text + '\n'
        hunks = [hunk for _, hunk in find_diffs('```diff\n' + text + '```\n')]
        for hunk in hunks:
            content = do_replace(case['path'], content, hunk) if content is not None else None
        if not hunks: content = None
    except Exception:
        content = None
    print(json.dumps(content))
"#;

/// Repair libraries on the answers. `tools`: a folder with `node_modules/jsonrepair` and a virtual environment `v`
/// with `json_repair`.
pub(super) fn answers(cases: &[damage::Case], tools: &Path) -> Vec<String> {
    let Ok(folder) = tempfile::tempdir() else { return vec!["no folder for the rivals".to_owned()] };
    let input = folder.path().join("cases.jsonl");
    let lines: String =
        cases.iter().map(|case| json!(String::from_utf8_lossy(&case.bytes)).to_string() + "\n").collect();
    if std::fs::write(&input, lines).is_err() {
        return vec!["no file for the rivals".to_owned()];
    }
    let node = tools.join("node_modules/jsonrepair").exists().then(|| {
        let mut node = Command::new("node");
        node.arg("-e")
            .arg(NODE.replace("process.argv[2]", "process.argv[1]").replace("process.argv[3]", "process.argv[2]"));
        node.arg(tools).arg(&input);
        node
    });
    let python = tools.join("v/bin/python").exists().then(|| {
        let mut python = Command::new(tools.join("v/bin/python"));
        python.arg("-c").arg(PYTHON).arg(&input);
        python
    });
    [("npm jsonrepair, stripped before", node), ("PyPI json_repair, stripped before", python)]
        .into_iter()
        .map(|(who, command)| {
            let Some(mut command) = command else { return format!("{who:<34} not installed") };
            let Ok(output) = command.stderr(Stdio::null()).output() else { return format!("{who:<34} does not run") };
            let mut sheet = answers::Sheet::default();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut read = text.lines();
            for case in cases {
                let value = read.next().and_then(|line| serde_json::from_str::<Value>(line).ok());
                sheet.add(case, &known(value), None);
            }
            sheet.line(who, false)
        })
        .collect()
}

/// The fields of an answer, so that other members do not count as made up.
fn known(value: Option<Value>) -> Map<String, Value> {
    const NAMES: [&str; 6] = ["summary", "sections", "todos", "fileChanges", "commands", "nextSteps"];
    match value {
        Some(Value::Object(map)) => map.into_iter().filter(|(name, _)| NAMES.contains(&name.as_str())).collect(),
        _ => Map::new(),
    }
}

/// Aider's applier on the diffs of files that are text.
fn aider(cases: &[edits::Case], tools: &Path) -> String {
    let who = "Aider's applier (diffs only)";
    let python = tools.join("v/bin/python");
    let (Ok(folder), true) = (tempfile::tempdir(), python.exists()) else { return format!("{who:<34} not installed") };
    let read = |case: &edits::Case| match &case.edit {
        Edit::UnifiedDiff { path, diff } => {
            let before = case.file.as_ref().map_or(Ok(""), |bytes| std::str::from_utf8(bytes)).ok()?;
            Some(json!({"path": path, "diff": diff, "before": before}).to_string())
        }
        _ => None,
    };
    let lines: Vec<String> = cases.iter().filter_map(read).map(|line| line + "\n").collect();
    let input = folder.path().join("cases.jsonl");
    if std::fs::write(&input, lines.concat()).is_err() {
        return format!("{who:<34} no file for it");
    }
    let output = Command::new(python).arg("-c").arg(AIDER).arg(&input).stderr(Stdio::null()).output();
    let Ok(output) = output else { return format!("{who:<34} does not run") };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.lines().count() != lines.len() {
        return format!("{who:<34} does not run: pip install --no-deps aider-chat, and diff-match-patch, tqdm");
    }
    let mut said = text.lines();
    let mut sheet = edits::Sheet::default();
    for case in cases {
        let did = match read(case).and_then(|_| said.next()).map(serde_json::from_str::<Option<String>>) {
            None => edits::Did::Unknown,
            Some(Ok(Some(after))) if case.file.as_deref() != Some(after.as_bytes()) => {
                edits::Did::Wrote(NewContent::Write(after.into_bytes()))
            }
            Some(_) => edits::Did::Refused("nothing changed".to_owned()),
        };
        sheet.add(case, &did);
    }
    sheet.line(who)
}

/// `git apply`, `patch` and Aider's applier on the diffs.
pub(super) fn edits(cases: &[edits::Case], tools: &Path) -> Vec<String> {
    let programs: [(&str, &[&str]); 3] = [
        ("git apply --recount", &["git", "apply", "--recount", "edit.diff"]),
        ("patch -p1", &["patch", "-p1", "--batch", "--forward", "-i", "edit.diff"]),
        ("patch -p1 -F0", &["patch", "-p1", "-F0", "--batch", "--forward", "-i", "edit.diff"]),
    ];
    programs
        .into_iter()
        .map(|(who, argv)| {
            let installed = Command::new(argv[0]).arg("--version").stdout(Stdio::null()).status().is_ok();
            if !installed {
                return format!("{who:<34} not installed");
            }
            let mut sheet = edits::Sheet::default();
            for case in cases {
                sheet.add(case, &one(case, argv));
            }
            sheet.line(&format!("{who} (diffs only)"))
        })
        .chain([aider(cases, tools)])
        .collect()
}

/// One diff by one tool, in a folder of its own.
fn one(case: &edits::Case, argv: &[&str]) -> edits::Did {
    let Edit::UnifiedDiff { path, diff } = &case.edit else { return edits::Did::Unknown };
    let Ok(folder) = tempfile::tempdir() else { return edits::Did::Unknown };
    let file = folder.path().join(path);
    let ready = file.parent().map(std::fs::create_dir_all);
    if let (Some(Ok(())), Some(before)) = (ready, &case.file)
        && std::fs::write(&file, before).is_err()
    {
        return edits::Did::Unknown;
    }
    if std::fs::write(folder.path().join("edit.diff"), diff).is_err() {
        return edits::Did::Unknown;
    }
    let run = Command::new(argv[0])
        .args(&argv[1..])
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let now = std::fs::read(&file).ok();
    if !run.is_ok_and(|status| status.success()) && now == case.file {
        return edits::Did::Refused("it says no".to_owned());
    }
    // What changes nothing is as good as a refusal, whatever it says.
    match now {
        now if now == case.file => edits::Did::Refused("nothing changed".to_owned()),
        Some(bytes) => edits::Did::Wrote(NewContent::Write(bytes)),
        None => edits::Did::Wrote(NewContent::Delete),
    }
}

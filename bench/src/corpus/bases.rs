//! Whole answers as a good model would write them, made of realistic pieces, before any damage.

use serde_json::{Map, Value, json};

use super::dice::Dice;

/// Files with the signs that get lost most easily: quotation marks, backslashes, brackets, fences, tabs, letters
/// of other scripts, and JSON with the very names of an answer.
pub(super) const FILES: &[(&str, &str)] = &[
    (
        "src/lib.rs",
        "//! A parser.\n\nuse std::collections::HashMap;\n\n/// Splits `text` at \"quoted\" marks.\npub fn split<'a>(text: &'a str) -> Vec<&'a str> {\n    let re = r#\"[\"'{}]\"#;\n    text.split(|c: char| re.contains(c)).collect()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn it_splits() {\n        assert_eq!(split(\"a\\\"b\"), vec![\"a\", \"b\"]);\n    }\n}\n",
    ),
    (
        "app/main.py",
        "\"\"\"Entry point.\"\"\"\nimport re\n\nPATTERN = re.compile(r\"^\\d+\\.\\w*$\")\n\n\ndef main(argv: list[str]) -> int:\n    \"\"\"Run it, don't ask.\"\"\"\n    for arg in argv:\n        if not PATTERN.match(arg):\n            print(f\"bad: {arg!r}\", 'ignored')\n            return 1\n    return 0\n\n\nif __name__ == \"__main__\":\n    import sys\n    raise SystemExit(main(sys.argv[1:]))\n",
    ),
    (
        "src/api.js",
        "import express from 'express';\n\nconst app = express();\nconst RE = /^\\/api\\/(\\d+)\\/?$/;\n\napp.get('/health', (req, res) => {\n  res.json({ status: \"ok\", at: `${Date.now()}` });\n});\n\napp.use((req, res, next) => {\n  if (!RE.test(req.path)) return next();\n  res.set(\"X-Id\", req.path.replace(RE, \"$1\"));\n  next();\n});\n\nexport default app;\n",
    ),
    (
        "package.json",
        "{\n  \"name\": \"demo\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\n    \"build\": \"tsc -p .\",\n    \"test\": \"jest --ci\"\n  },\n  \"summary\": \"not the answer\",\n  \"commands\": [\n    {\"command\": \"rm -rf /\"}\n  ]\n}\n",
    ),
    (
        "index.html",
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <title>Tom &amp; \"Jerry\"</title>\n</head>\n<body onload=\"init({a: 1})\">\n  <p class='x'>5 < 6 && 7 > 2</p>\n</body>\n</html>\n",
    ),
    (
        "db/001.sql",
        "CREATE TABLE users (\n    id SERIAL PRIMARY KEY,\n    name TEXT NOT NULL DEFAULT 'O''Brien',\n    meta JSONB DEFAULT '{\"a\": [1, 2]}'\n);\n\nINSERT INTO users (name) VALUES ('Zoë'), ('李雷');\n",
    ),
    (
        "cmd/main.go",
        "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\ntype opts struct {\n\tName string `json:\"name\"`\n}\n\nfunc main() {\n\tif len(os.Args) < 2 {\n\t\tfmt.Println(\"usage: x \\\"name\\\"\\n\")\n\t\tos.Exit(2)\n\t}\n\tfmt.Printf(\"%v\\t%s\\n\", opts{Name: os.Args[1]}, \"done\")\n}\n",
    ),
    (
        "deploy.sh",
        "#!/usr/bin/env bash\nset -euo pipefail\n\nDIR=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nfor f in \"$DIR\"/*.txt; do\n  sed -e 's/\\//\\\\/g' \"$f\" | awk '{ print $1 \"\\t\" $2 }'\ndone\ncat <<'END'\n{\"summary\": \"from a script\"}\nEND\n",
    ),
    (
        "config.yaml",
        "server:\n  host: \"0.0.0.0\"\n  port: 8080\n  paths: ['/a', '/b']\n# comment: {not: json}\nlogging:\n  level: info\n  format: '%(asctime)s \"%(message)s\"'\n",
    ),
    (
        "README.md",
        "# Demo\n\nRun it:\n\n```bash\nnpm install && npm run build\n```\n\nIt answers with JSON:\n\n```json\n{\"summary\": \"ok\", \"todos\": []}\n```\n\n> \"Quotes\" and <think>tags</think> are fine.\n",
    ),
    (
        "i18n/de.ts",
        "export const texts = {\n  greeting: \"Grüß Gott, „Welt“\",\n  emoji: \"🚀✨ fertig\",\n  chinese: \"你好，世界：{name}\",\n  arabic: \"مرحبا\",\n};\n",
    ),
    (
        "src/parse.c",
        "#include <stdio.h>\n#include \"parse.h\"\n\nint parse(const char *s) {\n    char c = '\"';\n    while (*s && *s != c) {\n        if (*s == '\\\\' || *s == '\\'') s++;\n        s++;\n    }\n    printf(\"C:\\\\temp\\\\new: %s\\n\", s);\n    return *s == '\\0' ? -1 : 0;\n}\n",
    ),
    (
        "App.tsx",
        "import React, { useState } from \"react\";\n\nexport function App({ items }: { items: string[] }) {\n  const [open, setOpen] = useState<boolean>(false);\n  return (\n    <div className=\"app\" style={{ color: \"red\" }}>\n      {items.map((item) => (\n        <button key={item} onClick={() => setOpen(!open)}>{`${item}, ok`}</button>\n      ))}\n    </div>\n  );\n}\n",
    ),
    (
        "Makefile",
        "CC := gcc\n\nall: build test\n\nbuild:\n\t$(CC) -O2 -o app main.c -DNAME=\\\"app\\\"\n\ntest: build\n\t./app --self-test || { echo \"failed\"; exit 1; }\n\n.PHONY: all build test\n",
    ),
    (
        "style.css",
        ".btn::before {\n  content: \"\\201C\";\n  background: url(\"data:image/svg+xml;utf8,<svg/>\");\n}\n\n.card { margin: 0 auto; }\n",
    ),
    ("empty.txt", ""),
];

const DIFFS: &[(&str, &str)] = &[
    (
        "src/api.js",
        "--- a/src/api.js\n+++ b/src/api.js\n@@ -6,3 +6,3 @@\n app.get('/health', (req, res) => {\n-  res.json({ status: \"ok\", at: `${Date.now()}` });\n+  res.json({ status: \"up\", at: new Date().toISOString() });\n });\n",
    ),
    (
        "app/main.py",
        "@@ -8,4 +8,5 @@\n def main(argv: list[str]) -> int:\n-    \"\"\"Run it, don't ask.\"\"\"\n+    \"\"\"Run it.\"\"\"\n+    print(\"start\\n\")\n     for arg in argv:\n",
    ),
    (
        "Makefile",
        "--- a/Makefile\n+++ b/Makefile\n@@ -5,2 +5,2 @@\n build:\n-\t$(CC) -O2 -o app main.c\n+\t$(CC) -O3 -g -o app main.c\n",
    ),
];

const SUMMARIES: &[&str] = &[
    "Added the health route and its test.",
    "Fixed the parser: it now accepts \"quoted\" names and doesn't panic.",
    "I created two files, changed one, and left the rest alone: see below.",
    "Überarbeitet: die Prüfung läuft jetzt auch mit Umlauten 🚀.",
    "Done.\n\n- first\n- second, with a \"quote\"\n- third {with braces} and [brackets]",
    "Path is C:\\Users\\dev\\project, see `src\\main.rs`.",
    "修复了解析器，现在可以处理“引号”。",
    "The regex ^\\d{3}-\\w+$ now matches; use a/b rather than a\\b.",
];

const TODOS: &[&str] = &[
    "Write the parser",
    "Test it with \"odd\" input",
    "Update the docs, then release",
    "Remove the old code: it's dead",
    "Prüfen",
    "Call foo({ a: 1 })",
    "Run `npm test`",
];

const COMMANDS: &[(&str, &str)] = &[
    ("npm install", "Install what is needed"),
    ("npm run build && npm test", ""),
    ("git commit -m \"Fix: don't crash on \\\"x\\\"\"", "Commit it"),
    ("grep -rn \"TODO\\|FIXME\" src/ | head -20", "Find what is left"),
    ("python3 -c 'print(\"hi\")'", "Say hi"),
    ("rm -rf /tmp/build/cache", "Clean up"),
    ("find . -name '*.rs' -exec wc -l {} +", "Count"),
    ("echo '{\"a\": [1, 2]}' | jq .a", "Try jq"),
];

const PROSE: &[&str] = &[
    "It works like this: a request comes in, is checked, and goes out.",
    "Use **bold** and `code`.\n\n1. One\n2. Two \"quoted\"",
    "Note: the value {id} is replaced, [see docs](http://x.y/z?a=1&b=2).",
    "Don't forget the `\"strict\": true` flag in tsconfig.json.",
];

/// Answer `n` of the corpus; the same for the same number.
pub(super) fn base(n: u64) -> Value {
    let mut dice = Dice::new(n.wrapping_mul(7919).wrapping_add(17));
    let mut answer = Map::new();
    answer.insert("summary".into(), json!(SUMMARIES[n as usize % SUMMARIES.len()]));
    let sections: Vec<Value> = (0..dice.below(3)).map(|at| section(at, &mut dice)).collect();
    let todos: Vec<Value> =
        (0..dice.below(5)).map(|_| json!({"text": dice.pick(TODOS), "completed": dice.below(2) == 1})).collect();
    let mut changes: Vec<Value> = Vec::new();
    let (path, content) = FILES[n as usize % FILES.len()];
    changes.push(json!({"path": path, "content": content}));
    if dice.below(2) == 0 {
        let (path, diff) = dice.pick(DIFFS);
        changes.push(json!({"path": path, "diff": diff}));
    }
    match dice.below(4) {
        0 => changes.push(json!({"path": "old/gone.txt", "delete": true})),
        1 => {
            let (path, content) = dice.pick(FILES);
            changes.push(json!({"path": format!("more/{path}"), "content": content}));
        }
        _ => {}
    }
    let commands: Vec<Value> = (0..dice.below(4))
        .map(|_| match dice.pick(COMMANDS) {
            (command, "") => json!({"command": command}),
            (command, description) => json!({"command": command, "description": description}),
        })
        .collect();
    let steps: Vec<Value> = (0..dice.below(3))
        .map(|at| json!({"html": format!("▶ <b>Step {at}</b>"), "inputText": format!("Continue with step {at}, please")}))
        .collect();
    for (name, list) in [
        ("sections", sections),
        ("todos", todos),
        ("fileChanges", changes),
        ("commands", commands),
        ("nextSteps", steps),
    ] {
        if !list.is_empty() || dice.below(3) == 0 {
            answer.insert(name.into(), Value::Array(list));
        }
    }
    Value::Object(answer)
}

fn section(at: usize, dice: &mut Dice) -> Value {
    let mut section = json!({"heading": format!("Part {}", at + 1), "content": dice.pick(PROSE)});
    if dice.below(2) == 0 {
        let (_, code) = dice.pick(FILES);
        section["codeBlocks"] = json!([{"language": "text", "code": code}]);
    }
    section
}

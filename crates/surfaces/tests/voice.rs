//! The language of the product: the word catalog, the help, the texts of the surfaces, and the documents avoid phrases
//! that read like a translation, long sentences, and help lines without a verb. `trimtab_testkit::style` has the rules.

#![allow(clippy::disallowed_methods, reason = "tests read the sources")]

use std::collections::BTreeSet;
use std::path::Path;

use trimtab_testkit::program::Program;
use trimtab_testkit::sources::{root, shipped, without_tests};
use trimtab_testkit::style::{help_line, literals, long_sentences, page_texts, paragraphs, phrases};

/// Places that may break a rule: the file, a part of the text, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/vocab/src/wording/permission.rs",
        "The user has forbidden this once and for all (",
        "logs of 0.1 have the sentence, and it is recognized there",
    ),
    ("web/src/lib/tools.ts", "The user has forbidden this once and for all", "logs of 0.1 have the sentence"),
    ("crates/world/src/sandbox/proof.rs", "these are files of its own", "a reason in a lint attribute"),
];

/// The documents that people read. Of decisions, only the titles: the texts record what was decided in their time.
const FOLDERS: &[&str] = &["docs", "docs/guide", "docs/howto"];
const PAGES: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
/// A table of every requirement, in the documents' own words.
const RECORDS: &[&str] = &["docs/coverage.md"];

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn is_excepted(place: &str, text: &str) -> bool {
    EXCEPTIONS.iter().any(|(file, part, _)| place.starts_with(file) && text.contains(part))
}

/// Fails with every place that breaks a rule.
fn assert_clean(found: &[String]) {
    assert!(found.is_empty(), "{} findings (see crates/testkit/src/style.rs):\n{}", found.len(), found.join("\n"));
}

/// Phrases and long sentences of texts with their places.
fn check<'a>(place: &str, texts: impl IntoIterator<Item = &'a (usize, String)>, with_length: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (line, text) in texts {
        let mut wrong = phrases(text);
        if with_length {
            wrong.extend(long_sentences(text));
        }
        found.extend(
            wrong.into_iter().filter(|_| !is_excepted(place, text)).map(|wrong| format!("{place}:{line}: {wrong}")),
        );
    }
    found
}

fn markdown(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    names.sort();
    names
}

#[test]
fn documents_read_like_the_field() {
    let pages = PAGES.iter().map(|name| (*name).to_owned()).chain(FOLDERS.iter().flat_map(|folder| markdown(folder)));
    let mut found = Vec::new();
    let mut checked = 0;
    for name in pages.filter(|name| !RECORDS.contains(&name.as_str())) {
        checked += 1;
        found.extend(check(&name, &paragraphs(&read(&name)), true));
    }
    for name in markdown("docs/decisions") {
        let title = read(&name).lines().next().unwrap_or_default().trim_start_matches('#').to_owned();
        found.extend(check(&name, &[(1, title)], true));
    }
    for name in ["vocab", "engine", "world", "host", "surfaces", "testkit"] {
        let manifest = format!("crates/{name}/Cargo.toml");
        let text = read(&manifest);
        let description = text.lines().find(|line| line.starts_with("description = ")).expect("a description");
        found.extend(check(&manifest, &[(1, description.to_owned())], true));
    }
    assert!(checked > 30, "{checked}");
    assert_clean(&found);
}

#[test]
fn the_word_catalog_reads_like_the_field() {
    let mut found = Vec::new();
    let mut sentences = 0;
    for path in shipped("crates/vocab/src/wording", &[".rs"]) {
        let texts = literals(without_tests(&std::fs::read_to_string(&path).expect("a source")));
        sentences += texts.len();
        found.extend(check(&relative(&path), &texts, true));
    }
    assert!(sentences > 200, "{sentences}");
    assert_clean(&found);
}

/// Sources of the engine whose literals are words to recognize or texts of old logs, not sentences of ours.
const WORD_LISTS: &[&str] = &[
    "crates/engine/src/flow/intent.rs",
    "crates/engine/src/memory/",
    "crates/engine/src/pictures/count.rs",
    "crates/engine/src/proposal/command/",
    "crates/engine/src/proposal/edit/elision.rs",
    "crates/engine/src/record/legacy.rs",
    "crates/engine/src/route/",
    "crates/engine/src/turn/answer_message.rs",
    "crates/engine/src/turn/claims/said.rs",
    "crates/engine/src/turn/series/verdict.rs",
    "crates/engine/src/words/",
];

/// Prompts, tool descriptions, reminders, and refusals: the engine's texts for models have the same voice.
#[test]
fn the_texts_for_models_read_like_the_field() {
    let mut found = Vec::new();
    let mut sentences = 0;
    for path in shipped("crates/engine/src", &[".rs"]) {
        let place = relative(&path);
        if WORD_LISTS.iter().any(|list| place.starts_with(list)) {
            continue;
        }
        let texts = literals(without_tests(&std::fs::read_to_string(&path).expect("a source")));
        sentences += texts.len();
        found.extend(check(&place, &texts, false));
    }
    assert!(sentences > 300, "{sentences}");
    assert_clean(&found);
}

/// What surfaces, host, and world show besides the catalog.
#[test]
fn the_texts_of_the_surfaces_read_like_the_field() {
    let mut found = Vec::new();
    for folder in ["crates/surfaces/src", "crates/host/src", "crates/world/src"] {
        for path in shipped(folder, &[".rs"]) {
            let source = std::fs::read_to_string(&path).expect("a source");
            // Tables and queries have no full stop, and examples are lines, not sentences.
            let ends = |(_, text): &(usize, String)| {
                text.trim_end().ends_with(['.', '!', '?']) && !text.trim_start().starts_with("Examples:")
            };
            let (sentences, others): (Vec<_>, Vec<_>) = literals(without_tests(&source)).into_iter().partition(ends);
            found.extend(check(&relative(&path), &sentences, true));
            found.extend(check(&relative(&path), &others, false));
        }
    }
    for path in shipped("web/src", &[".svelte", ".ts"]) {
        let source = std::fs::read_to_string(&path).expect("a source");
        found.extend(check(&relative(&path), &page_texts(&source), false));
    }
    assert_clean(&found);
}

fn descriptions(of: &serde_json::Value, found: &mut Vec<(usize, String)>) {
    match of {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "description" || name == "summary" => found.push((1, text.to_owned())),
                    _ => descriptions(value, found),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        _ => {}
    }
}

/// Doc comments of types on the wire are what people read in `GET /api/openapi.json`.
#[test]
fn the_api_description_reads_like_the_field() {
    let page = serde_json::from_str(&read("web/openapi.json")).expect("JSON");
    let mut texts = Vec::new();
    descriptions(&page, &mut texts);
    assert!(texts.len() > 1_000, "{}", texts.len());
    let named: BTreeSet<&String> =
        texts.iter().map(|(_, text)| text).filter(|text| !phrases(text).is_empty()).collect();
    let named = named.into_iter().map(|text| format!("web/openapi.json: {}: {text}", phrases(text).join(", ")));
    assert_clean(&named.collect::<Vec<_>>());
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The lines of a help text that explain commands and options: `  name  text`, `  -o, --option <VALUE>  text`. A text
/// that needs several lines is joined.
fn explained(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            is_list = line.ends_with(':') && !matches!(line, "Examples:" | "Arguments:" | "Exit codes:");
        }
        let words = line.trim_start();
        let is_entry = line.len() - words.len() <= 6 && (words.starts_with('-') || line.len() - words.len() == 2);
        match (is_list && !words.is_empty(), is_entry, words.split_once("  ")) {
            (true, true, Some((name, text))) => found.push((name.to_owned(), text.trim().to_owned())),
            (true, true, None) if line.starts_with(' ') => found.push((words.to_owned(), String::new())),
            (true, false, _) if line.starts_with(' ') => {
                if let Some((_, text)) = found.last_mut() {
                    *text = format!("{text} {words}").trim().to_owned();
                }
            }
            _ => {}
        }
    }
    found
}

/// The values of options that the long help explains: `- name: text`.
fn possible_values(program: &Program, place: &str) -> Vec<(String, String)> {
    let help = program.run(&place.split(' ').skip(1).collect::<Vec<_>>()).stdout;
    let listed = help.lines().filter_map(|line| line.trim_start().strip_prefix("- ")?.split_once(':'));
    listed.map(|(name, text)| (name.to_owned(), text.trim().to_owned())).collect()
}

/// A command's help and the help of the commands below it.
fn help_pages(program: &Program, words: &[&str], pages: &mut Vec<(String, String)>) {
    let help = program.run(&[words, &["-h"]].concat());
    assert_eq!(help.code, Some(0), "{words:?}: {}", help.stderr);
    let below: Vec<String> = if words.is_empty() {
        explained(&help.stdout)
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .filter(|name| !name.starts_with('-'))
            .collect()
    } else {
        let listed = help
            .stdout
            .lines()
            .skip_while(|line| *line != "Commands:")
            .skip(1)
            .take_while(|line| line.starts_with("  "));
        listed
            .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
            .filter(|name| name != "help")
            .collect()
    };
    for name in &below {
        help_pages(program, &[words, &[name.as_str()]].concat(), pages);
    }
    pages.push((format!("trimtab {} --help", words.join(" ")), help.stdout));
}

#[test]
fn help_lines_begin_with_a_verb_and_fit_on_one_line() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let mut pages = Vec::new();
    help_pages(&program, &[], &mut pages);
    assert!(pages.len() > 60, "{}", pages.len());
    let mut found = BTreeSet::new();
    for (place, help) in &pages {
        for (name, text) in explained(help) {
            found.extend(help_line(&text).into_iter().map(|wrong| format!("{place}: {name}: {wrong}")));
        }
        for (name, text) in possible_values(&program, place) {
            found.extend(help_line(&text).into_iter().map(|wrong| format!("{place}: {name}: {wrong}")));
        }
        for line in help.lines() {
            found.extend(phrases(line).into_iter().map(|wrong| format!("{place}: {wrong}: {line}")));
        }
    }
    let topics = program.run(&["help", "no-such-topic"]).stderr;
    let topics = topics.split_once("Topics: ").and_then(|(_, rest)| rest.split_once('.')).expect("a list").0;
    assert!(topics.split(", ").count() >= 7, "{topics}");
    for topic in topics.split(", ") {
        let page = program.run(&["help", topic]).stdout;
        // Lists are indented.
        let prose: Vec<&str> = page.lines().map(|line| if line.starts_with(' ') { "" } else { line }).collect();
        found.extend(check(&format!("trimtab help {topic}"), &paragraphs(&prose.join("\n")), true));
        found.extend(phrases(&page).into_iter().map(|wrong| format!("trimtab help {topic}: {wrong}")));
    }
    assert_clean(&found.into_iter().collect::<Vec<_>>());
}

/// The texts that version 0.1 had, each of which the check finds when it is put back.
const BEFORE: &[&str] = &[
    "It stays open, whatever happens. Go on with `trimtab answer CHOICE`:",
    "What you would like to have done, best in quotation marks",
    "What happens where a person would be asked",
    "Approve whatever may be approved without judgement",
    "Take changes back",
    "Bring changes forward that were taken back",
    "took back README.md (+1 -2)",
    "brought forward README.md (+1 -2)",
    "List what waits for an answer",
    "Answer what waits, and go on",
    "Say something to a request that runs",
    "Those in whose name, requests or answers all of these words stand",
    "Let nobody in with this one any more",
    "The token is worthless from now on.",
    "commands.sandbox = \"none\" will not do.",
    "Nobody can listen at 127.0.0.1:7420",
    "TRIMTAB_SANDBOX sets nothing; TRIMTAB_COMMANDS_SANDBOX would",
    "The user has forbidden this once and for all (deny run_command)",
    "A command whose end nobody saw is never run again by itself.",
    "What only looks runs",
    "Passed on to the request that runs: the model reads it at its next step",
    "What you change is judged anew before it runs.",
    "A model that asks for the same thing again and again is put to you instead",
    "What would you like to have done?",
    "Tell it something while it works…",
    "Recall a stored text",
    "Say it otherwise, or have it hold elsewhere",
    "Make pictures, whatever the words are",
    "Listen beyond this machine without TLS: whoever can read the network can read everything",
    "Are you content?",
];

/// Texts that readers of later versions stumbled over, each of which the check finds when it is put back.
const BEFORE_AGAIN: &[&str] = &[
    "Asked because `rm` deletes files.",
    "r undo to here",
    "Needs you",
    "This answer broke off. Trimtab asked the model again.",
    "Whether tools that the server marks as read-only run without a question.",
    "a.py was changed in two ways at the same place. Keep which one?",
    "Nothing was touched: the file has changed.",
    "You are logged out. What you typed is kept.",
    "`[token]` stands in its place.",
    "All your sessions share them, also sessions that were running.",
    "ask: ask as for the same command of a model.",
    "Of a failed one, it reads the exit code.",
    "What becomes of the words",
];

/// Words that say nothing, each of which the check finds wherever it stands.
const RIDDLES: &[&str] = &[
    "The command ends by itself.",
    "It has a folder of its own.",
    "The session is deleted for good.",
    "The command is checked anew.",
    "The answer is shown as it came.",
    "Then it goes on.",
    "This is no session.",
    "Whatever fails is retried.",
    "A sender of nothing is told so.",
];

#[test]
fn the_check_finds_every_text_that_was_rewritten() {
    for text in BEFORE.iter().chain(BEFORE_AGAIN).chain(RIDDLES) {
        assert!(!phrases(text).is_empty(), "{text}");
        assert!(
            help_line(&format!("Show this. {text}")).iter().any(|wrong| wrong.contains("instead")),
            "in help: {text}"
        );
        let page = format!("# A page\n\nA sentence. {text}\n");
        assert!(!check("page.md", &paragraphs(&page), true).is_empty(), "in a document: {text}");
        let source = format!("fn a() {{ say({text:?}); }}");
        assert!(!check("source.rs", &literals(&source), true).is_empty(), "in a source: {text}");
        for page in [
            format!("<script>\n</script>\n<p>{text}</p>"),
            format!("<script>\n</script>\n<p>\n  {text}\n</p>"),
            format!("<script>\nconst a = `{}`;\n</script>", text.replace('`', "")),
        ] {
            assert!(!check("Page.svelte", &page_texts(&page), false).is_empty(), "in the browser: {page}");
        }
    }
    for fine in [
        "There is no session yet.",
        "The rule is no longer active.",
        "Undo the latest change.",
        "Commands that only read run automatically.",
    ] {
        assert_eq!(phrases(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn the_check_finds_long_sentences_and_help_lines_without_a_verb() {
    let sentence = |words: usize| format!("{}end.", "word ".repeat(words - 1));
    assert_eq!(long_sentences(&sentence(30)), Vec::<String>::new());
    assert_eq!(long_sentences(&format!("Short. {} Short.", sentence(31))).len(), 1);
    let page = format!("# A page\n\n- {}\n", sentence(31));
    assert_eq!(check("page.md", &paragraphs(&page), true).len(), 1, "in a list");
    let table = format!("| a | b |\n|---|---|\n| x | {} |\n", sentence(31));
    assert_eq!(check("page.md", &paragraphs(&table), true).len(), 1, "in a table");
    for poor in ["The request to send", "Changes to undo", "Show one; list all", &format!("Show {}", "x".repeat(80))] {
        assert_eq!(help_line(poor).len(), 1, "{poor}");
    }
    assert_eq!(help_line("Undo changes [default: the latest change of this folder]"), Vec::<String>::new());
}

/// Signs of a formatter beside `vocab::format` and `lib/format.ts`: prices, plurals, lists, sizes, and the browser's own
/// forms of numbers and days.
const FORMATTERS: &[(&str, &[&str])] = &[
    (".rs", &["{ \"s\" }", "{ \"\" } else { \"s\"", ".join(\" and \")", ".join(\" or \")", " kB\"", " kB,"]),
    (
        ".ts",
        &["toLocale", "toFixed(", "DateTimeFormat", "NumberFormat", "? '' : 's'", ".join(' and ')", ".join(' or ')"],
    ),
];

/// The lines of a source that format something on their own.
fn second_formatters(place: &str, source: &str) -> Vec<String> {
    let kind = if place.ends_with(".rs") { ".rs" } else { ".ts" };
    let signs = FORMATTERS.iter().filter(|(of, _)| *of == kind).flat_map(|(_, signs)| signs.iter());
    let signs: Vec<&&str> = signs.collect();
    let is_price = |line: &str| {
        kind == ".rs"
            && line
                .match_indices("${")
                .any(|(at, _)| line[at..].split('}').next().is_some_and(|field| field.contains(":.")))
    };
    let lines = source.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter(|(_, line)| is_price(line) || signs.iter().any(|sign| line.contains(**sign)))
        .map(|(at, line)| format!("{place}:{}: use the formatter: {}", at + 1, line.trim()))
        .collect()
}

#[test]
fn numbers_days_prices_plurals_and_lists_have_one_formatter_each() {
    const HOMES: &[&str] = &["crates/vocab/src/format.rs", "web/src/lib/format.ts"];
    let mut found = Vec::new();
    let mut homes = 0;
    for (folder, ends) in [("crates", &[".rs"][..]), ("web/src", &[".svelte", ".ts"][..])] {
        for path in shipped(folder, ends) {
            let (place, source) = (relative(&path), std::fs::read_to_string(&path).expect("a source"));
            let formats = second_formatters(&place, without_tests(&source));
            if HOMES.contains(&place.as_str()) {
                assert!(!formats.is_empty(), "{place}: the signs find what is there");
                homes += 1;
            } else if place.contains("/src/") && !place.ends_with(".test.ts") {
                found.extend(formats);
            }
        }
    }
    assert_eq!(homes, HOMES.len());
    assert_clean(&found);
    for (place, line) in [
        ("a.rs", "format!(\"${cost:.2}\")"),
        ("a.rs", "names.join(\" or \")"),
        ("a.rs", "format!(\"{size} kB\")"),
        ("a.rs", "let end = if count == 1 { \"\" } else { \"s\" };"),
        ("A.svelte", "{new Date(time).toLocaleString()}"),
        ("a.ts", "`${files} file${files === 1 ? '' : 's'}`"),
    ] {
        assert_eq!(second_formatters(place, line).len(), 1, "{line}");
    }
}

#[test]
fn the_check_finds_long_sentences_and_help_without_a_verb() {
    let long = format!("One {}.", "word ".repeat(30).trim_end());
    assert_eq!(long_sentences(&long).len(), 1);
    assert_eq!(long_sentences(&format!("Short one. {}", "word ".repeat(30))).len(), 0);
    assert_eq!(help_line("List pending questions and approvals"), Vec::<String>::new());
    assert_eq!(help_line("What happens next").len(), 1, "no verb");
    assert_eq!(help_line("List sessions; the newest comes first").len(), 1, "a semicolon");
    assert_eq!(help_line(&format!("List {}", "sessions ".repeat(12))).len(), 1, "more than a line");
    let page = "A `code go on` and a [link](goes-on.md).\n\n```sh\ngo on\n```\n\n| whatever | b |\n|---|---|\n";
    let texts: Vec<String> = paragraphs(page).into_iter().map(|(_, text)| text.trim().to_owned()).collect();
    assert_eq!(texts, ["A Code and a link.", "whatever", "b"]);
    let source = "// \"a comment goes on\"\nlet a = '\"'; let b = \"two words\"; let c = r#\"and \"raw\" ones\"#;";
    assert_eq!(literals(source), [(2, "two words".to_owned()), (2, "and \"raw\" ones".to_owned())]);
    let page = "<p title=\"a title\">Some text</p>\n// a comment\n<style>a b</style>";
    assert_eq!(page_texts(page), [(1, "a title".to_owned()), (1, "Some text".to_owned())]);
}
